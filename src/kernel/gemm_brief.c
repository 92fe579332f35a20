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
static void dync__gb_dense(const float *a, int64_t a_col, const float *b, int64_t b_row, int64_t k,
                           float *sum)
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
static void dync__gb_apart(const float *a, int64_t a_col, const float *b, int64_t b_row,
                           int64_t b_col, int columns, int64_t k, float *sum)
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

/* Rows [0, m); d_col: from column to column of d. */
static void dync__gb_f32(const dync__gemm *g, int64_t d_col)
{
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0, n; j < g->n; j += n) {
            float sum[8], *c = (float *)(void *)g->c + i * g->c_row;
            const float *a = (const float *)(const void *)g->a + i * g->a_row,
                        *b = (const float *)(const void *)g->b + j * g->b_col,
                        *d = (const float *)(const void *)g->d;
            n = DYNC__MIN(g->n - j, 4);
            if (g->b_col == 1 && g->n - j >= 8)
                dync__gb_dense(a, g->a_col, b, g->b_row, g->k, sum), n = 8;
            else
                dync__gb_apart(a, g->a_col, b, g->b_row, g->b_col, (int)n, g->k, sum);
            for (int64_t l = 0; l < n; l++)
                c[(j + l) * g->c_col] = d ? sum[l] + d[i * g->d_row + (j + l) * d_col] : sum[l];
        }
}

/* Of any dtype, all of one. Integers wrap. */
static void dync__gb_each(const dync__gemm *g, int dtype, int64_t d_col)
{
    int64_t bytes = dync__dtype_info(dtype)->bytes;
    bool real = dync__dtype_info(dtype)->kind == 'f';
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->n; j++) {
            const char *a = g->a + i * g->a_row * bytes, *b = g->b + j * g->b_col * bytes,
                       *d = g->d ? g->d + (i * g->d_row + j * d_col) * bytes : NULL;
            char *c = g->c + (i * g->c_row + j * g->c_col) * bytes;
            double sum = real && d ? dync__load_f64(d, dtype) : 0;
            uint64_t count = !real && d ? (uint64_t)dync__load_i64(d, dtype) : 0;
            for (int64_t p = 0; p < g->k; p++, a += g->a_col * bytes, b += g->b_row * bytes)
                if (real)
                    sum += dync__load_f64(a, dtype) * dync__load_f64(b, dtype);
                else
                    count += (uint64_t)dync__load_i64(a, dtype) *
                             (uint64_t)dync__load_i64(b, dtype);
            if (real)
                dync__store_f64(c, dtype, sum);
            else
                dync__store_i64(c, dtype, (int64_t)count);
        }
}

DYNC__FN void dync__gemm_brief(const dync__gemm *given, int dtype)
{
    dync__gemm g = *given;
    int64_t d_col = g.d == g.c ? g.c_col : g.bias ? 0 : 1;
    if (g.n < 4 && g.m > g.n) { /* few columns: the transposed product */
        g.a = given->b, g.a_row = given->b_col, g.a_col = given->b_row;
        g.b = given->a, g.b_row = given->a_col, g.b_col = given->a_row;
        g.c_row = given->c_col, g.c_col = given->c_row;
        g.m = given->n, g.n = given->m;
        g.d_row = d_col, d_col = given->d_row;
    }
    if (dtype == DYNC_F32)
        dync__gb_f32(&g, d_col);
    else
        dync__gb_each(&g, dtype, d_col);
    if (g.done && given->m > 0 && given->n > 0) g.done(g.user, 0, given->m);
}
