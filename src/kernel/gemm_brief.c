/* kernel/gemm_brief.c: C[m,n] = (D +) A[m,k] B[k,n] for any strides, without panels, memory or
 * tiles for machine code: what a small program has in place of gemm.c and the files under it.
 * Before: gemm.c, matmul.c.
 *
 * Each element's sum runs over k in one order: f32 in four sums at a time (eight where B's columns
 * are dense, as many as a core with 32 scalar registers keeps), other dtypes one element at a time,
 * floats in double, rounded once. */
#include "../dync.in.h"
#include "gemm.h"
DYNC__BESIDE_JIT

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("fp-contract=fast")
#endif
#define DYNC__GB_FOUR(X) X(0) X(1) X(2) X(3)
#define DYNC__GB_EIGHT(X) DYNC__GB_FOUR(X) X(4) X(5) X(6) X(7)
#define DYNC__GB_ZERO(i) float s##i = 0;
#define DYNC__GB_STORE(i) sum[i] = s##i;
/* Sums of a row of a with eight dense columns of b. */
static void dync__gb_dense(const float *a, dync__size a_col, const float *b, dync__size b_row,
                           dync__size k, float *sum)
{
    DYNC__GT_CONTRACT
    DYNC__GB_EIGHT(DYNC__GB_ZERO)
    for (; k > 0; k--, a += a_col, b += b_row) {
        float x = *a;
#define DYNC__GB_STEP(i) s##i += x * b[i];
        DYNC__GB_EIGHT(DYNC__GB_STEP)
#undef DYNC__GB_STEP
    }
    DYNC__GB_EIGHT(DYNC__GB_STORE)
}

/* With the first `columns` of four columns of b, the others computed as the last of them. */
static void dync__gb_apart(const float *a, dync__size a_col, const float *b, dync__size b_row,
                           dync__size b_col, int columns, dync__size k, float *sum)
{
    DYNC__GT_CONTRACT
    const float *b0 = b, *b1 = columns > 1 ? b0 + b_col : b0, *b2 = columns > 2 ? b1 + b_col : b1,
                *b3 = columns > 3 ? b2 + b_col : b2;
    DYNC__GB_FOUR(DYNC__GB_ZERO)
    for (; k > 0; k--, a += a_col) {
        float x = *a;
#define DYNC__GB_STEP(i) s##i += x * *b##i, b##i += b_row;
        DYNC__GB_FOUR(DYNC__GB_STEP)
#undef DYNC__GB_STEP
    }
    DYNC__GB_FOUR(DYNC__GB_STORE)
}
#undef DYNC__GB_FOUR
#undef DYNC__GB_EIGHT
#undef DYNC__GB_ZERO
#undef DYNC__GB_STORE
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif

/* A product whose sizes are of elements that exist. */
typedef struct dync__gb {
    const char *a, *b, *d;
    char *c;
    dync__size m, n, k, a_row, a_col, b_row, b_col, c_row, c_col, d_row, d_col;
} dync__gb;

static void dync__gb_f32(const dync__gb *g)
{
    for (dync__size i = 0; i < g->m; i++)
        for (dync__size j = 0, n; j < g->n; j += n) {
            float sum[8], *c = (float *)(void *)g->c + i * g->c_row + j * g->c_col;
            const float *a = (const float *)(const void *)g->a + i * g->a_row,
                        *b = (const float *)(const void *)g->b + j * g->b_col,
                        *d = (const float *)(const void *)g->d;
            n = DYNC__MIN(g->n - j, 4);
            if (g->b_col == 1 && g->n - j >= 8)
                dync__gb_dense(a, g->a_col, b, g->b_row, g->k, sum), n = 8;
            else
                dync__gb_apart(a, g->a_col, b, g->b_row, g->b_col, (int)n, g->k, sum);
            for (dync__size l = 0; l < n; l++, c += g->c_col)
                *c = d ? sum[l] + d[i * g->d_row + (j + l) * g->d_col] : sum[l];
        }
}

/* An element of any dtype; integers wrap. Steps in bytes. */
static void dync__gb_one(const dync__gb *g, int dtype, bool real, dync__size a_step,
                         dync__size b_step, const char *a, const char *b, const char *d, char *c)
{
    double sum = real && d ? dync__load_f64(d, dtype) : 0;
    uint64_t count = !real && d ? (uint64_t)dync__load_i64(d, dtype) : 0;
    for (dync__size p = 0; p < g->k; p++, a += a_step, b += b_step)
        if (real)
            sum += dync__load_f64(a, dtype) * dync__load_f64(b, dtype);
        else
            count += (uint64_t)dync__load_i64(a, dtype) * (uint64_t)dync__load_i64(b, dtype);
    if (real)
        dync__store_f64(c, dtype, sum);
    else
        dync__store_i64(c, dtype, (int64_t)count);
}

static void dync__gb_each(const dync__gb *g, int dtype)
{
    const dync__size bytes = dync__dtype_info(dtype)->bytes;
    for (dync__size i = 0; i < g->m; i++)
        for (dync__size j = 0; j < g->n; j++)
            dync__gb_one(g, dtype, dync__dtype_info(dtype)->kind == 'f', g->a_col * bytes,
                         g->b_row * bytes, g->a + i * g->a_row * bytes, g->b + j * g->b_col * bytes,
                         g->d ? g->d + (i * g->d_row + j * g->d_col) * bytes : NULL,
                         g->c + (i * g->c_row + j * g->c_col) * bytes);
}

DYNC__FN void dync__gemm_brief_apart(const dync__gemm *of, int dtype, int64_t d_col)
{
    dync__gb g = {.a = of->a, .b = of->b, .c = of->c, .d = of->d, .k = of->k};
    if (of->n >= 4 || of->m <= of->n) {
        g.m = of->m, g.a_row = of->a_row, g.a_col = of->a_col;
        g.n = of->n, g.b_row = of->b_row, g.b_col = of->b_col;
        g.c_row = of->c_row, g.c_col = of->c_col, g.d_row = of->d_row, g.d_col = d_col;
    } else { /* few columns: the transposed product */
        g.a = of->b, g.m = of->n, g.a_row = of->b_col, g.a_col = of->b_row;
        g.b = of->a, g.n = of->m, g.b_row = of->a_col, g.b_col = of->a_row;
        g.c_row = of->c_col, g.c_col = of->c_row, g.d_row = d_col, g.d_col = of->d_row;
    }
    if (dtype == DYNC_F32)
        dync__gb_f32(&g);
    else
        dync__gb_each(&g, dtype);
    if (of->done && of->m > 0 && of->n > 0) of->done(of->user, 0, of->m);
}

DYNC__FN void dync__gemm_brief(const dync__gemm *g, int dtype)
{
    dync__gemm_brief_apart(g, dtype, g->d == g->c ? g->c_col : g->bias ? 0 : 1);
}
