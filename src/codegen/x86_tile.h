/* codegen/x86_tile.h: a step of the sums of convolutions' tiles (x86_conv.c). After gen.h. */
#ifndef DYNC__X86_TILE_H
#define DYNC__X86_TILE_H
#include "x86_enc.h"
#if DYNC__JIT_X86

/* Sums of rows x vectors registers from 0 on: one step adds element i of a, in all lanes, times
 * vector v of b. Where those lie only the tile knows (`of`), u is the number of the step. load:
 * vector v to a register. fold: as an operand, where a single row uses it but once; *k: under
 * which mask. */
typedef struct dync__xsum {
    int vl, rows, vectors, mul, spread; /* the last two: instructions */
    int b, a, n_a;                      /* registers: b's vectors; a's elements, so many in turn */
    void *of;
    dync__place (*element)(void *of, int i, int u);
    void (*load)(void *of, int reg, int v, int u);
    dync__place (*fold)(void *of, int v, int u, int *k);
} dync__xsum;
DYNC__FN void dync__xsum_step(dync__asm *, const dync__xsum *, int u);
#endif
#endif
