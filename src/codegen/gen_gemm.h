/* codegen/gen_gemm.h: what the forms of products are made of. gen_parts.c has their vectors and
 * rows, gen_dots.c inner products and packing, gen_gemm.c tiles and what asks for all of them.
 * After gen.h. */
#ifndef DYNC__GEN_GEMM_H
#define DYNC__GEN_GEMM_H
#include "gemm_code.h"
#include "gen.h"
#if DYNC__JIT
#include <stddef.h>

/* A form on its way to code. vt: of the sums; v: vector of the row at hand; bytes: of a vector;
 * wide: elements of 8 bytes; words: fours of bytes as pairs of words. */
typedef struct dync__gtx {
    dync__gen_tile tile; /* first */
    dync__asm *a;
    dync__gen *after;
    dync__vt vt;
    int v, type, rows, vectors, flags, bytes, given; /* given: of COPY's scratch */
    bool wide, words;
} dync__gtx;
#define DYNC__GT_ARG(field) dync__gt_arg(offsetof(dync__gt_args, field))
DYNC__INLINE dync__place dync__gt_arg(size_t at) { return dync__a_mem(DYNC__G_ARGS, (int32_t)at); }
/* Bytes of a vector of b in memory. */
DYNC__INLINE int dync__gt_wide(const dync__gtx *g)
{
    return g->bytes >> (g->type >= DYNC__GT_AS_F16);
}
/* The dtype of DOT; 0: FMA. */
DYNC__INLINE int dync__gt_dot(int type)
{
    return type == DYNC__GT_BF16 ? DYNC_BF16 : type == DYNC__GT_U8 ? DYNC_U8 : 0;
}

/* The dtype of b of types AS. */
DYNC__INLINE int dync__gt_as(int type) { return type == DYNC__GT_AS_F16 ? DYNC_F16 : DYNC_BF16; }

/* ---- gen_parts.c ----------------------------------------------------------------------------- */
DYNC__FN void dync__gt_get(dync__gtx *g, int reg, dync__place from);
DYNC__FN void dync__gt_add(dync__gtx *g, int reg, int with);
DYNC__FN void dync__gt_addi(dync__gtx *g, int reg, int n);
DYNC__FN void dync__gt_bind(dync__gtx *g, int label);
DYNC__FN void dync__gt_op2(dync__gtx *g, int op, dync__vt v, int to, int x, dync__place y);
DYNC__FN bool dync__gt_part(const dync__gtx *g, int v);
DYNC__FN int dync__gt_saved(const dync__gtx *g);
DYNC__FN void dync__gt_mask(dync__gtx *g);
DYNC__FN void dync__gt_load(dync__gtx *g, int reg, dync__place from, bool part);
DYNC__FN void dync__gt_load_b(dync__gtx *g, int reg, dync__place from, bool part);
DYNC__FN void dync__gt_store(dync__gtx *g, int reg, dync__place to, bool part);
DYNC__FN void dync__gt_three_steps(dync__gtx *g);
DYNC__FN void dync__gt_lines(dync__gtx *g, dync__place from);
DYNC__FN dync__place dync__gt_line(int i, int32_t disp);
DYNC__FN void dync__gt_lines_on(dync__gtx *g, int bytes);
DYNC__FN void dync__gt_apart(dync__gtx *g, int even, int odd);
DYNC__FN void dync__gt_by_pairs(dync__gtx *g, int acc, int a, int even, int odd, int t);
/* ---- gen_dots.c ------------------------------------------------------------------------------ */
DYNC__FN void dync__gt_dots(dync__gtx *g);
DYNC__FN void dync__gt_copy(dync__gtx *g, bool pair);
#endif
#endif
