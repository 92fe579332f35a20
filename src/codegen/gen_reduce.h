/* codegen/gen_reduce.h: reductions and scans of a kernel on its way to machine code. After
 * gen.h. */
#ifndef DYNC__GEN_REDUCE_H
#define DYNC__GEN_REDUCE_H
#include "gen.h"
#if DYNC__JIT

/* ---- gen_reduce.c ---------------------------------------------------------------------------- */
/* argmax or argmin: g->place counts */
DYNC__FN bool dync__gen_has_places(const dync__gen *, int phase);
/* registers or memory for the accumulators */
DYNC__FN void dync__gen_reduce_pin(dync__gen *, int phase);
/* what accumulators hold; their bytes in the frame, where they lie side by side */
DYNC__FN int dync__acc_type(const dync__gen_red *);
DYNC__FN int dync__acc_bytes(const dync__gen_red *); /* of a lane */
DYNC__FN bool dync__acc_is_arg(const dync__gen_red *);
DYNC__FN int dync__acc_size(const dync__gen *, const dync__gen_red *);
/* acc = acc op x, in so many lanes; a NaN stays */
DYNC__FN void dync__acc_op(dync__gen *, const dync__gen_red *, int lanes, int acc, dync__place x);
/* the place of the first extreme in lane 0 (rows side by side: of accumulator u, in each lane) */
DYNC__FN int dync__acc_found(dync__gen *, const dync__gen_red *, int u);
/* level l of vector u, in the frame or (tall) where T1 leads */
DYNC__FN dync__place dync__acc_level(const dync__gen *, const dync__gen_red *, int l, int u);
/* x, key and place, becomes y where y is greater, or equal and before it; m: masks to use */
DYNC__FN void dync__acc_better(dync__gen *, int lanes, const int *x, const int *y, const int *m);
/* all accumulators to what their operation begins with */
DYNC__FN void dync__acc_set(dync__gen *, const dync__gen_red *, dync__vt);
/* ---- gen_fold.c ------------------------------------------------------------------------------ */
/* takes vector u into the accumulator */
DYNC__FN void dync__gen_reduce(dync__gen *, int inst);
DYNC__FN void dync__gen_reduce_init(dync__gen *, int phase, bool ordered, bool levels);
/* rows one at a time: folds a grain, adds it to its binary counter */
DYNC__FN void dync__gen_grain_end(dync__gen *, int phase, int32_t count);
/* rows side by side: every 16 additions go up a level */
DYNC__FN void dync__gen_vertical_carry(dync__gen *, int phase, int32_t count);
/* Tall: accumulators of reductions without levels, into the state. */
DYNC__FN void dync__gen_vertical_rest(dync__gen *, int phase);
DYNC__FN void dync__gen_reduce_end(dync__gen *, int phase, int32_t count);
/* the scans of this list: zero, in a register where there are enough */
DYNC__FN void dync__gen_scan_begin(dync__gen *);
DYNC__FN void dync__gen_scan(dync__gen *, int inst);
#endif
#endif
