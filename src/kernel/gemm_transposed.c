/* kernel/gemm_transposed.c: few rows of a against a b that is dense along k, as tiles of c's
 * transpose: their rows are b's columns where they lie, their columns the rows of a, transposed
 * beforehand. The sums are those of gemm.c's blocks, KC steps of k at a time, bit by bit. After
 * gemm_pack.c, before gemm.c, whose plain form takes any strides. */
#include "../dync.in.h"
#include "gemm.h"
DYNC__BESIDE_JIT

DYNC__FN bool dync__gemm_transposes(int type, int64_t m, int64_t n, int64_t most)
{
    return type <= DYNC__GT_F64 && m > 1 && m <= most && n >= DYNC__GEMM_TRANSPOSED_N &&
           m * dync__gt_bytes(type) <= DYNC__GEMM_TRANSPOSED_ROW;
}

/* What d holds for columns [j, j + n) of b, as rows of c's transpose. */
static void dync__gemm_transposed_start(const dync__gemm *g, char *to, int64_t step, int64_t j,
                                        int64_t n)
{
    int64_t bytes = dync__gt_bytes(g->type), column = g->d == g->c ? g->c_col : g->bias ? 0 : 1;
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t l = 0; l < n; l++)
            memcpy(to + l * step + i * bytes, g->d + (i * g->d_row + (j + l) * column) * bytes,
                   (size_t)bytes);
}

/* Rows of a tile, which are columns of b: few where their lines would fall into one set of the
 * cache. */
static int dync__gemm_transposed_rows(const dync__gemm *g, int flags)
{
    int64_t bytes = dync__gt_bytes(g->type);
    int rows = dync__gt_most_rows(g->type, flags, (int)g->m);
    bool crowd = dync__gt_crowds(g->b_col * bytes, (int)bytes);
    if (rows == 0) rows = 4; /* in C, of any width */
    return DYNC__MIN(rows, crowd ? DYNC__GEMM_TRANSPOSED_CROWD : DYNC__GEMM_ROWS);
}

DYNC__RARE DYNC__FN bool dync__gemm_transposed(const dync__gemm *g)
{
    _Alignas(64) char stack[DYNC__GEMM_STACK];
    int64_t bytes = dync__gt_bytes(g->type);
    int flags = DYNC__GT_A_ROWS | (g->m * bytes <= 32 ? DYNC__GT_HALF : 0);
    int64_t step = (g->m * bytes + 31) / 32 * 32,
            some = DYNC__MIN((int64_t)sizeof stack / step, DYNC__GEMM_TRANSPOSED_SOME),
            most = dync__gemm_transposed_rows(g, flags), end;
    size_t total = (size_t)(step * g->k);
    char *a = dync__alloc_data(total);
    if (!a) return false;
    dync__gemm_pack_rows(g->type, a, step, g->a, g->m, g->a_row * bytes, g->k, g->a_col * bytes);
    for (int64_t j = 0; j < g->n; j += some) {
        some = DYNC__MIN(some, g->n - j);
        int64_t parts = (some + most - 1) / most;
        if (g->d) dync__gemm_transposed_start(g, stack, step, j, some);
        for (int64_t i = 0, row = 0; i < parts; i++, row = end) {
            end = dync__gemm_share(some, parts, i + 1);
            for (int64_t p = 0; p < g->k; p += DYNC__GEMM_KC) {
                dync__gt_args x = {.a = g->b + ((j + row) * g->b_col + p * g->b_row) * bytes,
                                   .b = a + p * step,
                                   .c = stack + row * step,
                                   .d = stack + row * step,
                                   .k = DYNC__MIN(DYNC__GEMM_KC, g->k - p),
                                   .a_step = g->b_col * bytes,
                                   .b_step = step,
                                   .c_step = step,
                                   .d_step = step,
                                   .blocks = 1};
                dync__gt_do(DYNC__GT_TILE, g->type, flags | (p || g->d ? DYNC__GT_ADD : 0),
                            (int)(end - row), (int)g->m, &x);
            }
        }
        dync__gemm_pack_rows(g->type, g->c + j * bytes, g->c_row * bytes, stack, some, step, g->m,
                             bytes);
    }
    dync__free_data(a, total);
    if (g->done) g->done(g->user, 0, g->m);
    return true;
}
