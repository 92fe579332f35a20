/* loop/cost.c: what things cost, for fuse.c and schedule.c to compare. Rough on purpose: only the
 * order of choices matters. */
#include "../dync.in.h"
#include "loop.h"
DYNC__COLD

/* One addition is 1. Functions such as exp are many primitives by now and need no weight of their
 * own. */
DYNC__FN int dync__cost_inst(const dync__inst *in)
{
    switch (in->prim) {
    case DYNC__P_const_:
    case DYNC__P_index:
    case DYNC__P_bitcast: return 0;
    case DYNC__P_div:
    case DYNC__P_sqrt: return DYNC__COST_DIV;
    case DYNC__P_rem: return DYNC__COST_REM;
    case DYNC__P_random: return DYNC__COST_RANDOM;
    default: return 1;
    }
}

DYNC__FN const bool *dync__kernel_numbers(const dync__kernel *k, dync__arena *arena)
{
    bool *number = dync__arena_alloc(arena, (size_t)k->inst.n + 1);
    for (int v = 0; number && v < k->inst.n; v++) {
        const dync__inst *in = &k->inst.at[v];
        number[v] = in->prim == DYNC__P_const_ ||
                    (in->buf < 0 && in->arg[0] >= 0 && in->prim != DYNC__P_reduce &&
                     in->prim != DYNC__P_scan && in->prim != DYNC__P_random);
        for (int a = 0; a < 3; a++)
            if (in->arg[a] >= 0 && !number[in->arg[a]]) number[v] = false;
    }
    return number;
}

/* Of stepping through memory by `stride` elements, in bytes of cache line used up per step. */
DYNC__FN int64_t dync__cost_stride(int64_t stride, int element_bytes)
{
    int64_t step = dync__sz_abs(stride), bytes = DYNC__COST_PAGE;
    if (!dync__sz_lt(DYNC__COST_PAGE, step)) bytes = dync__sz_mul(step, element_bytes);
    if (!dync__sz_lt(DYNC__COST_LINE, bytes)) return bytes;
    return dync__sz_lt(bytes, DYNC__COST_PAGE)
               ? dync__sz_add(DYNC__COST_LINE, dync__sz_div(bytes, DYNC__COST_LINE))
               : DYNC__COST_PAGE_STEP;
}
