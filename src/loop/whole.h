/* loop/whole.h: floor, ceil, trunc and rint: of libm, or bit by bit where doubles are functions
 * anyway and the program is small, as those of libm are 1.4 kB. After loop.h; used by eval.c, which
 * defines them, the tiles of the interpreter, and numbers of graphs. */
#ifndef DYNC__WHOLE_H
#define DYNC__WHOLE_H
#include "loop.h"

/* prim: DYNC__P_floor, _ceil, _trunc, _rint */
DYNC__FN double dync__whole_bits(int prim, double);
DYNC__FN float dync__whole_bits32(int prim, float);
#if defined(DYNC_SMALL) && defined(__GNUC__) &&                      \
    ((defined(__arm__) && !(defined(__ARM_FP) && (__ARM_FP & 8))) || \
     (defined(__riscv) && !defined(__riscv_flen)))
#define DYNC__WHOLE_BITS 1
#define dync__floorf(x) dync__whole_bits32(DYNC__P_floor, x)
#define dync__ceilf(x) dync__whole_bits32(DYNC__P_ceil, x)
#define dync__truncf(x) dync__whole_bits32(DYNC__P_trunc, x)
#define dync__rintf(x) dync__whole_bits32(DYNC__P_rint, x)
#define dync__floor(x) dync__whole_bits(DYNC__P_floor, x)
#define dync__ceil(x) dync__whole_bits(DYNC__P_ceil, x)
#define dync__trunc(x) dync__whole_bits(DYNC__P_trunc, x)
#define dync__rint(x) dync__whole_bits(DYNC__P_rint, x)
#else
#define DYNC__WHOLE_BITS 0
#define dync__floorf floorf
#define dync__ceilf ceilf
#define dync__truncf truncf
#define dync__rintf rintf
#define dync__floor floor
#define dync__ceil ceil
#define dync__trunc trunc
#define dync__rint rint
#endif
#endif
