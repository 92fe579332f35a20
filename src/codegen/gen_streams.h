/* codegen/gen_streams.h: where a kernel's loops have the addresses of its streams. After gen.h. */
#ifndef DYNC__GEN_STREAMS_H
#define DYNC__GEN_STREAMS_H
#include "gen.h"
#if DYNC__JIT

/* addresses at the start of a phase: registers, then the frame if inner loops move them */
DYNC__FN void dync__gen_phase_streams(dync__gen *);
/* before the first row: addresses in registers for all rows (g->kept), where there is room and
 * nothing but lanes and code of rows */
DYNC__FN void dync__gen_keep_rows(dync__gen *);
/* row value i in register r leads gathers of the phase: their addresses of this row */
DYNC__FN void dync__gen_lead(dync__gen *, int i, int r);
#endif
#endif
