/* loop/cost.c: what things cost, for fuse.c and schedule.c to compare. Rough on purpose: only the
 * order of choices matters. */
#include "../dync.in.h"
#include "loop.h"

/* One addition is 1. Functions such as exp are many primitives by now and need no weight of their
 * own. */
DYNC__FN int dync__cost_inst(const dync__inst *in)
{
    switch (in->prim) {
    case DYNC__P_const_:
    case DYNC__P_index:
    case DYNC__P_bitcast: return 0;
    case DYNC__P_div:
    case DYNC__P_sqrt: return 4;
    case DYNC__P_rem: return 6;
    case DYNC__P_random: return 24; /* ten rounds of Philox */
    default: return 1;
    }
}

/* Of stepping through memory by `stride` elements, in bytes of cache line used up per step. */
DYNC__FN int64_t dync__cost_stride(int64_t stride, int element_bytes)
{
    int64_t bytes = llabs(stride) > 4096 ? 4096 : llabs(stride) * element_bytes;
    if (bytes <= 64) return bytes;
    return bytes >= 4096 ? 192 : 64 + bytes / 64; /* a line each; then a page each */
}
