/* cuda/takes.c: which loop kernels a product or a convolution does along with itself: to its
 * operands on their way, or to its result. After gemm_call.c and conv_forward.c, before calls.c. */
#include "../dync.in.h"
#include "gemm.h"
DYNC__COLD

/* Is k better done to an operand on its way than by a launch before? Thin products read the long
 * side once, and the short one by every block. */
static bool dync__gm_takes_side(int device, const dync__kcall *call, const dync__kernel *k, int s)
{
    for (int i = 0; i < k->inst.n; i++) {
        int prim = k->inst.at[i].prim;
        if (prim == DYNC__P_storex || prim == DYNC__P_loadx || prim == DYNC__P_reduce ||
            prim == DYNC__P_random)
            return false;
    }
    dync__cuda_code code = {.device = device};
    dync__gm g, with;
    bool conv = dync__kcall_is(call, DYNC__K_conv2d),
         ok = (conv || dync__gm_open(&g, &code, call)) && k->buf.n < 20;
    dync__gm_pre *pre = ok && !conv ? dync__gm_pre_open(&code.arena, &call->operand[s], k, 0)
                                    : NULL;
    ok = conv ? ok && dync__cuda_conv_takes_side(&code, call, k, s) : pre != NULL;
    if (pre) {
        with = g;
        dync__gm_pre_set(&with.side[s], pre);
        double cost = dync__gm_plan(&with, true), apart = dync__gm_plan(&g, true),
               elements = (double)(s ? g.n : g.m) * (double)g.k;
        for (int d = 0; d < g.n_batch; d++) elements *= g.side[s].batch[d] ? (double)g.batch[d] : 1;
        if (with.thin != g.thin) ok = !g.thin;
        bool is_long = s == (with.swapped ? 0 : 1);
        if (with.thin)
            cost = is_long ? 0 : dync__gm_pre_cost(&with, &with.tile, with.chunk) / with.tile.n;
        else if (dync__gm_wgmma_suits(&g))
            apart = DYNC__GM_START +
                    (double)g.m * (double)g.n * (double)g.k * (double)g.batches /
                        ((double)dync__cuda_unit_of(device >> 8)->units * DYNC__GM_WGMMA);
        ok = ok && dync__gm_pre_worth(pre, g.dtype, cost, apart, elements);
    }
    dync__arena_free(&code.arena);
    return ok;
}

/* May the epilogue be done on the sums as they are? It is pointwise, in the order of the result. */
static bool dync__gm_takes_result(int device, const dync__kcall *call, const dync__kernel *k)
{
    dync__cuda_code code = {.device = device};
    dync__gm g;
    bool conv = dync__kcall_is(call, DYNC__K_conv2d);
    bool ok = !dync__ptx_has_reduce(k) && !k->uses_random && k->buf.n < 40 &&
              k->n_dims < DYNC__LOOP_MAX_DIMS && (conv || dync__gm_open(&g, &code, call));
    for (int i = 0; i < k->inst.n && ok; i++) ok = k->inst.at[i].section <= 2;
    for (int i = 0; i < k->buf.n && ok; i++)
        ok = k->buf.at[i].mode != (DYNC__BUF_IN | DYNC__BUF_OUT);
    ok = ok && (conv ? dync__cuda_conv_takes(&code, call, k) : dync__gm_end_of(&g, call, k, false));
    dync__arena_free(&code.arena);
    return ok;
}

DYNC__FN int dync__gm_takes(int device, const dync__kcall *call, const dync__kernel *k)
{
    int operand = -1, stores = 0, reads = 0;
    for (int i = 0; i < k->inst.n; i++) {
        if (k->inst.at[i].prim != DYNC__P_store) continue;
        stores++;
        for (int o = 0; o + 1 < call->n; o++)
            if (call->operand[o].slot == k->buf.at[k->inst.at[i].buf].id) reads++, operand = o;
    }
    if (reads == 0) return dync__gm_takes_result(device, call, k) ? 0 : -1;
    return stores == 1 && reads == 1 && operand < 2 && dync__gm_takes_side(device, call, k, operand)
               ? 1 + operand
               : -1;
}
