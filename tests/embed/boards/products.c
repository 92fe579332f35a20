/* The ways of products that DYNC_SMALL has (DYNC__GEMM_BRIEF): random shapes, either factor turned,
 * f32 and f64, with a row added and without, three times each (the third runs what the first
 * planned), against sums by hand. Small whole numbers: every order of a sum gives the same. The
 * exit status is 0, or 1 + the number of the first wrong product modulo 100. */
#include "dync.h"
#ifdef BOARD
enum { PRODUCTS = 105 };
#else
enum { PRODUCTS = 420 };
#endif
enum { M = 90, N = 200, K = 400 };

static _Alignas(64) unsigned char memory[3 << 20];
static float a[M * K], b[K * N], c[N];
static unsigned seed = 7;

static int below(int n)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)(seed >> 8) % n;
}
static void fill(float *to, int n)
{
    for (int i = 0; i < n; i++) to[i] = (float)(below(17) - 8);
}
/* rows x columns in memory as said, or as its transpose. */
static dync_tensor *factor(const float *from, int rows, int columns, int turned)
{
    return turned ? dync_transpose(dync_from(from, dync_shape(columns, rows)), 0, 1)
                  : dync_from(from, dync_shape(rows, columns));
}

typedef struct product {
    int m, n, k, a_turned, b_turned, wide, adds;
} product;

static int right(const product *p, const float *got)
{
    for (int i = 0; i < p->m; i++)
        for (int j = 0; j < p->n; j++) {
            int64_t sum = p->adds ? (int64_t)c[j] : 0;
            for (int l = 0; l < p->k; l++)
                sum += (int64_t)(p->a_turned ? a[l * p->m + i] : a[i * p->k + l]) *
                       (int64_t)(p->b_turned ? b[j * p->k + l] : b[l * p->n + j]);
            if (got[i * p->n + j] != (float)sum) return 0;
        }
    return 1;
}

static int one(const product *p)
{
    fill(a, p->m * p->k), fill(b, p->k * p->n), fill(c, p->n);
    dync_tensor *x = factor(a, p->m, p->k, p->a_turned), *y = factor(b, p->k, p->n, p->b_turned);
    dync_tensor *z = dync_from(c, dync_shape(p->n));
    if (p->wide) {
        x = dync_to_dtype(x, DYNC_F64), y = dync_to_dtype(y, DYNC_F64);
        z = dync_to_dtype(z, DYNC_F64);
    }
    for (int again = 0; again < 3; again++) DYNC_SCOPE {
        dync_tensor *r = p->adds ? dync_addmm(z, x, y) : dync_matmul(x, y);
        const float *got = dync_data(dync_contiguous(dync_to_dtype(r, DYNC_F32)));
        if (!got || !right(p, got)) return 0;
    }
    return 1;
}

int main(void)
{
    dync_init_options options = {.memory = memory, .memory_size = sizeof memory};
    if (dync_init(options)) return 101;
    for (int i = 0; i < PRODUCTS; i++) DYNC_SCOPE {
        product p = {1 + below(i % 7 ? 20 : M),
                     1 + below(i % 5 ? 40 : N),
                     1 + below(i % 3 ? 30 : K),
                     below(2),
                     below(2),
                     below(3) == 0,
                     below(2)};
        if (!one(&p)) return 1 + i % 100;
    }
    dync_shutdown();
    return dync_error() ? 102 : 0;
}
