/* kernel/gemm_pack.c: the operands of products made dense: rows of a, panels of b. Before:
 * gemm_transposed.c, gemm.c and conv.c; under it COPY and SWAP of codegen/gemm_code.h. */
#include "../dync.in.h"
#include "gemm.h"
DYNC__BESIDE_JIT

/* k rows of n bytes, 8 to 64, by two moves each, which overlap. */
static void dync__gemm_pack_short(char *to, int64_t to_step, const char *from, int64_t from_step,
                                  int64_t k, int64_t n)
{
    char x[64];
#define DYNC__GEMM_MOVES(most)                                            \
    for (; n >= (most) && k > 0; k--, to += to_step, from += from_step) { \
        memcpy(x, from, (most));                                          \
        memcpy(x + 32, from + n - (most), (most));                        \
        memcpy(to, x, (most));                                            \
        memcpy(to + n - (most), x + 32, (most));                          \
    }
    DYNC__GEMM_MOVES(32)
    DYNC__GEMM_MOVES(16)
    DYNC__GEMM_MOVES(8)
#undef DYNC__GEMM_MOVES
}

/* Is a part of a vector slow to store? */
static bool dync__gemm_short(int64_t bytes)
{
    const dync__target *t = dync__target_now();
    return t && !t->n_masks && bytes >= 8 && bytes <= 64 && bytes % t->vector_bytes;
}

DYNC__FN void dync__gemm_pack_rows(int type, void *to_, int64_t to_step, const void *from_,
                                   int64_t lines, int64_t line_step, int64_t k, int64_t k_step)
{
    char *to = to_;
    const char *from = from_;
    int64_t bytes = dync__gt_bytes(type), lanes = dync__gt_lanes(type, 0);
    if (type > DYNC__GT_F64) type = DYNC__GT_F32; /* pairs and fours move as words */
    if (!DYNC__GEMM_BRIEF && k_step == bytes && line_step != bytes) {
        dync__gt_swap(to, to_step, from, line_step, lines, k, (int)bytes, false, NULL);
        return;
    }
    if (!DYNC__GEMM_BRIEF && line_step == bytes && dync__gemm_short(lines * bytes)) {
        dync__gemm_pack_short(to, to_step, from, k_step, k, lines * bytes);
        return;
    }
    while (!DYNC__GEMM_BRIEF && line_step == bytes && lines > 0 && k > 0) {
        int64_t n = DYNC__MIN(lines, 2 * lanes);
        dync__gt_args x = {
            .a = from, .c = to, .k = k, .a_step = k_step, .c_step = to_step, .blocks = 1};
        dync__gt_do(DYNC__GT_COPY, type, 0, 1, (int)n, &x);
        to += n * bytes;
        from += n * line_step;
        lines -= n;
    }
    for (int64_t p = 0; p < k; p++)
        for (int64_t l = 0; l < lines; l++)
            memcpy(to + p * to_step + l * bytes, from + l * line_step + p * k_step, (size_t)bytes);
}

DYNC__FN int64_t dync__gemm_panel(int type) { return 2 * (int64_t)dync__gt_lanes(type, 0); }

DYNC__FN void dync__gemm_pack_panels(int type, char *to, const char *b, int64_t n, int64_t k,
                                     int64_t b_row, int64_t b_col)
{
    int64_t bytes = dync__gt_bytes(type), nr = dync__gemm_panel(type);
    for (int64_t j = 0; j < n; j += nr, to += nr * k * bytes)
        dync__gemm_pack_rows(type, to, nr * bytes, b + j * b_col * bytes, DYNC__MIN(nr, n - j),
                             b_col * bytes, k, b_row * bytes);
}

DYNC__RARE DYNC__ONCE DYNC__FN int64_t dync__gemm_packed_bytes(int type, int64_t n, int64_t k)
{
    int64_t nr = dync__gemm_panel(type);
    return (n + nr - 1) / nr * nr * k * dync__gt_bytes(type);
}

DYNC__RARE DYNC__FN const char *dync__gemm_panels_at(const dync__gemm *g, int64_t p, int64_t k)
{
    return g->packed + dync__gemm_packed_bytes(g->type, g->packed_n ? g->packed_n : g->n, p) +
           g->packed_first * k * dync__gt_bytes(g->type);
}

DYNC__FN void dync__gemm_pack_b(int type, int64_t n, int64_t k, const void *b, int64_t b_row,
                                int64_t b_col, void *to)
{
    for (int64_t p = 0; p < k; p += DYNC__GEMM_KC)
        dync__gemm_pack_panels(type, (char *)to + dync__gemm_packed_bytes(type, n, p),
                               (const char *)b + p * b_row * dync__gt_bytes(type), n,
                               DYNC__MIN(DYNC__GEMM_KC, k - p), b_row, b_col);
}
