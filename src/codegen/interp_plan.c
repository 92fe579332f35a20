/* codegen/interp_plan.c: what the tile interpreter asks of a plan beyond what every user asks: do
 * the lanes of a tile lie side by side, may a value be computed straight into memory. Between
 * plan_loops.c and interp_emit.c. */
#include "../dync.in.h"
#include "interp_build.h"
DYNC__LEAN

/* Do the lanes of a level lie side by side in memory? */
DYNC__FN bool dync__ib_is_dense(const dync__ib *b, int access, int level)
{
    dync__lp_dim dims[DYNC__LOOP_MAX_DIMS];
    int from = b->p.mode == DYNC__LP_CHUNK && level == 2 ? b->p.split : 0;
    int to = level == 2 && b->p.mode != DYNC__LP_VERTICAL ? b->p.k->n_dims : b->p.split;
    if (level == 2 &&
        (DYNC__LP_IS_SQUARE(b->p.mode) || (b->p.mode == DYNC__LP_VERTICAL && b->p.inner > 1)))
        return false;
    if (level == 1 && b->p.rows == 1) return false; /* scalars are stored one by one */
    int n = dync__lp_merge(&b->p, access, from, to, dims);
    return n == 0 ? dync__lp_product(&b->p, from, to) == 1 : n == 1 && dims[0].stride == 1;
}

/* A value may be computed straight into output memory when no load of that buffer is used after
 * it was made. */
DYNC__FN bool dync__ib_may_direct(const dync__ib *b, int store)
{
    const dync__inst *st = dync__lp_inst(&b->p, store), *in = dync__lp_inst(&b->p, st->arg[0]);
    const dync__buf *buf = &b->p.k->buf.at[st->buf];
    int v = st->arg[0];
    if (st->prim != DYNC__P_store || buf->dtype != in->type || b->p.level[v] != b->p.level[store] ||
        b->p.keep[v])
        return false;
    if (in->prim == DYNC__P_const_ || in->prim == DYNC__P_reduce || in->prim == DYNC__P_load ||
        in->prim == DYNC__P_loadx || in->prim == DYNC__P_bitcast)
        return false;
    if (dync__lp_list(&b->p, v) != dync__lp_list(&b->p, store) ||
        !dync__ib_is_dense(b, st->access, b->p.level[v]))
        return false;
    for (int i = 0; i < b->p.k->inst.n; i++) {
        int32_t arg[3];
        const dync__inst *other = dync__lp_inst(&b->p, i);
        if (!b->p.needed[i] || i == store) continue;
        if (!dync__inst_has_value(other) && other->buf == st->buf) return false;
        for (int a = i > v ? dync__lp_operands(&b->p, i, arg) - 1 : -1; a >= 0; a--)
            if (dync__lp_reads(&b->p, arg[a], st->buf)) return false;
    }
    return true;
}
