/* codegen/gen_transpose.h: transposes in registers, over the verbs of target.h. Before
 * gen_loops.c (kernels that transpose what they load) and the forms of gemm_code.h. */
#ifndef DYNC__GEN_TRANSPOSE_H
#define DYNC__GEN_TRANSPOSE_H
#include "target.h"
#if DYNC__JIT

/* Rows of elements of 1, 2, 4 or 8 bytes; which elements does not matter. */
DYNC__INLINE int dync__tr_type(int bytes)
{
    return bytes == 8 ? DYNC_I64 : bytes == 4 ? DYNC_I32 : bytes == 2 ? DYNC_I16 : DYNC_U8;
}
/* Can a target transpose squares of whole cache lines? Of elements of 4 or 8 bytes. */
DYNC__INLINE bool dync__tr_has_squares(const dync__target *t) { return t->vector_bytes >= 64; }
enum { DYNC__TR_SQUARE = 17 }; /* registers that a square takes, the first ones */
/* A square: the 64 / bytes rows from base on, step apart (step3: three times that), transposed,
 * come to the registers `to`. fetch: their next cache lines but one go to the second cache.
 * Destroys base. */
DYNC__FN void dync__tr_square(dync__asm *, int bytes, int base, int step, int step3, bool fetch,
                              int8_t to[16]);

/* Whole functions of dync__gt_args. */
/* k groups of columns, of 16 bytes (square: of a cache line), `blocks` times the rows that fill
 * `pieces` times 16 bytes of c. b_step: bytes of c from one group to the next. */
DYNC__FN void dync__tr_blocks(dync__asm *, int bytes, int pieces, bool square, bool fetch);
/* Rows whose steps fall into few sets of the cache, in two halves with a stage between them, so
 * that both sides are runs of cache lines. */
DYNC__FN void dync__tr_stage(dync__asm *, int bytes, bool second, bool fetch);
/* n rows whose elements are interleaved without gaps on the other side (woven), or the reverse;
 * `blocks` times dync__tr_woven bytes of each row. */
DYNC__FN void dync__tr_weave(dync__asm *, int bytes, int n, bool woven);
DYNC__INLINE int dync__tr_woven(const dync__target *t) { return DYNC__MIN(t->vector_bytes, 32); }
#endif
#endif
