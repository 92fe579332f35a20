/* kernel/gemm.h: matrix products for kernels (gemm.c). After kernel.h. */
#ifndef DYNC__GEMM_H
#define DYNC__GEMM_H
#include "kernel.h"
#include "../codegen/gemm_code.h"

/* Ways to a product, as gemm.c has them. */
enum {
    DYNC__GEMM_PLAIN,
    DYNC__GEMM_DOTS,
    DYNC__GEMM_LINES,
    DYNC__GEMM_DIRECT,
    DYNC__GEMM_BLOCKS,
    DYNC__GEMM_TRANSPOSED
};
/* Ways, tiles and panels serve caches and vectors: a small program has gemm_brief.c. */
enum { DYNC__GEMM_BRIEF = DYNC__SMALLER(1, 0) };

/* c[m, n] = d[m, n] + a[m, k] b[k, n]; strides in elements. d NULL: nothing; c: accumulates; d_row
 * 0: a bias. d's columns are dense. packed: b as dync__gemm_pack_b made it, or NULL; panels: sums
 * are made as with a packed b, which other runs have. done: told of rows [begin, end) of c that are
 * final, on any thread; dync__gemm_run returns whether it was told of every row (once) or of none.
 */
/* after: flags of gemm_code.h for what follows a whole sum, without d and with it (flags[1];
 * there d, or what c held, is operand 0); its other operands, their steps from row to row in
 * elements, and whether a row has but one. */
typedef struct dync__gemm_after {
    int flags[2];
    const char *more[DYNC__AFTER_MORE];
    int64_t row[DYNC__AFTER_MORE];
    bool same[DYNC__AFTER_MORE];
} dync__gemm_after;
typedef struct dync__gemm {
    /* DYNC__GT_; narrow ones count k in pairs and fours, strides in words, c's columns are dense */
    int type;
    int64_t m, n, k;
    const char *a, *b, *d, *packed;
    /* where this is a share of columns: those of the whole packed b, those before the share's */
    int64_t packed_n, packed_first;
    char *c;
    int64_t a_row, a_col, b_row, b_col, c_row, c_col, d_row;
    void (*done)(void *user, int64_t begin, int64_t end);
    void *user;
    bool panels;
    bool bias;    /* d: one element for each row, d_row apart */
    uint8_t path; /* set by dync__gemm_run */
    /* f32 and f64, without bias; the tiles do it where they can, and dync__gemm_run says so in
     * followed */
    dync__gemm_after after;
    bool followed;
} dync__gemm;
DYNC__FN bool dync__gemm_run(dync__gemm *);
/* gemm_brief.c: the same of operands of any one dtype, for any strides; type, packed, panels and
 * after do not count. done is told of all rows at once. _apart: d has columns d_col apart. */
DYNC__FN void dync__gemm_brief(const dync__gemm *, int dtype);
DYNC__FN void dync__gemm_brief_apart(const dync__gemm *, int dtype, int64_t d_col);
/* A small product for once and all: what tiles run where; NULL: not small, or no machine code
 * (never an error). many: it will be run for many at once, best without calls between (no d).
 * run: false where the code is gone (dync_shutdown); d as in g; NULL: one product. */
typedef struct dync__gemm_fixed dync__gemm_fixed;
DYNC__FN dync__gemm_fixed *dync__gemm_fix(const dync__gemm *, bool many);
/* Products behind each other: how many, and bytes from one's operands to the next's. */
typedef struct dync__gemm_many {
    int64_t n, a, b, c, more[DYNC__AFTER_MORE];
} dync__gemm_many;
DYNC__FN bool dync__gemm_fixed_run(const dync__gemm_fixed *, const char *a, const char *b, char *c,
                                   const char *d, const char *const *more, const dync__gemm_many *);
DYNC__FN void dync__gemm_fixed_free(dync__gemm_fixed *);
/* Would a b that is multiplied many times better be packed? */
DYNC__FN bool dync__gemm_wants_packed(int type, int64_t m, int64_t n, int64_t k, int64_t b_row,
                                      int64_t b_col);
/* ---- gemm_pack.c ----------------------------------------------------------------------------- */
/* Bytes of a packed b, and packing it: panels of so many columns as this machine takes, by blocks
 * of k. */
DYNC__FN int64_t dync__gemm_packed_bytes(int type, int64_t n, int64_t k);
DYNC__FN void dync__gemm_pack_b(int type, int64_t n, int64_t k, const void *b, int64_t b_row,
                                int64_t b_col, void *to);
/* Packs `lines` rows (of a) or columns (of b): to[p, line] = from[line, p], p < k, rows of `to`
 * dense; to_step, line_step, k_step in bytes, any. */
DYNC__FN void dync__gemm_pack_rows(int type, void *to, int64_t to_step, const void *from,
                                   int64_t lines, int64_t line_step, int64_t k, int64_t k_step);
/* The panels of steps [p, p + k), one block, of g->packed. */
DYNC__FN const char *dync__gemm_panels_at(const dync__gemm *g, int64_t p, int64_t k);
/* Columns of a panel. */
DYNC__FN int64_t dync__gemm_panel(int type);
/* Rows [0, k) and n columns of b as panels behind each other, each [k, columns] dense; of the last
 * one only columns up to n are written. */
DYNC__FN void dync__gemm_pack_panels(int type, char *to, const char *b, int64_t n, int64_t k,
                                     int64_t b_row, int64_t b_col);
/* Where share i of m in `parts` even ones begins. */
DYNC__BRIEF int64_t dync__gemm_share(int64_t m, int64_t parts, int64_t i)
{
    return m / parts * i + DYNC__MIN(i, m % parts);
}

/* ---- gemm_transposed.c ----------------------------------------------------------------------- */
/* Is it for up to `most` rows, and for these sizes? */
DYNC__FN bool dync__gemm_transposes(int type, int64_t m, int64_t n, int64_t most);
/* False: no memory for a's transpose. */
DYNC__FN bool dync__gemm_transposed(const dync__gemm *);
#endif
