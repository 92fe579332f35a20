/* codegen/plan_levels.c: what of a kernel is needed, and how often each value is computed: once,
 * per row or per index. Before plan_loops.c, which cuts the loops accordingly. */
#include "../dync.in.h"
#include "plan_loops.h"
DYNC__LEAN

DYNC__FN size_t dync__type_bytes(int compute_type) { return dync__dtype_info(compute_type)->bytes; }

static int dync__lp_args(const dync__inst *in) { return dync__prim_info(in->prim)->n_args; }
DYNC__FN int dync__lp_phase(const dync__loop_plan *b, int i)
{
    return b->sectioned ? dync__lp_inst(b, i)->section / 2 : 0;
}

/* The section list an instruction's steps go to: 0 prologue, 1 + 2p row code before phase p, 2 +
 * 2p phase p. */
DYNC__FN int dync__lp_list(const dync__loop_plan *b, int i)
{
    int p = dync__lp_phase(b, i);
    if (dync__lp_inst(b, i)->prim == DYNC__P_reduce || b->level[i] == 2) return 2 + 2 * p;
    return b->level[i] == 1 ? 1 + 2 * p : 0;
}

/* ---- levels ---------------------------------------------------------------------------------- */

/* select(lt(p, q), s, t) with the same two values is one minimum or maximum. */
static int dync__lp_clamp(const dync__loop_plan *b, const dync__inst *in)
{
    if (in->prim != DYNC__P_select || (in->type != DYNC_F32 && in->type != DYNC_F64)) return 0;
    const dync__inst *lt = dync__lp_inst(b, in->arg[0]);
    if (lt->prim != DYNC__P_lt) return 0;
    if (lt->arg[0] == in->arg[2] && lt->arg[1] == in->arg[1]) return 1;
    if (lt->arg[0] == in->arg[1] && lt->arg[1] == in->arg[2]) return 2;
    return 0;
}

/* The instruction's real operands: those of a clamp are its comparison's. */
DYNC__FN int dync__lp_operands(const dync__loop_plan *b, int i, int32_t out[3])
{
    const dync__inst *in = dync__lp_inst(b, i);
    if (b->clamp[i]) {
        const dync__inst *lt = dync__lp_inst(b, in->arg[0]);
        out[0] = lt->arg[b->clamp[i] == 1 ? 0 : 1];
        out[1] = lt->arg[b->clamp[i] == 1 ? 1 : 0];
        return 2;
    }
    int n = dync__lp_args(in);
    for (int a = 0; a < n; a++) out[a] = in->arg[a];
    return n;
}

DYNC__FN dync__size dync__lp_product(const dync__loop_plan *b, int from, int to)
{
    dync__size n = 1;
    for (int d = from; d < to; d++) n = (dync__size)dync__sz_mul(n, b->k->extent[d]);
    return n;
}

/* From the stores up; what stands in phases without indices stores nothing. */
DYNC__FN void dync__lp_mark_needed(dync__loop_plan *b)
{
    bool no_phases = dync__lp_product(b, b->k->n_outer, b->k->n_dims) == 0;
    for (int i = b->k->inst.n - 1; i >= 0; i--) {
        int32_t arg[3];
        if (!dync__inst_has_value(dync__lp_inst(b, i)))
            b->needed[i] = !(no_phases && (dync__lp_inst(b, i)->section & 1));
        b->clamp[i] = (uint8_t)dync__lp_clamp(b, dync__lp_inst(b, i));
        if (!b->needed[i]) continue;
        b->has_scan |= dync__lp_inst(b, i)->prim == DYNC__P_scan;
        b->has_reduce |= b->has_scan || dync__lp_inst(b, i)->prim == DYNC__P_reduce;
        b->sectioned |= b->has_reduce || (!dync__inst_has_value(dync__lp_inst(b, i)) &&
                                          !(dync__lp_inst(b, i)->section & 1));
        for (int a = dync__lp_operands(b, i, arg) - 1; a >= 0; a--) b->needed[arg[a]] = 1;
    }
}

static int dync__lp_access_level(const dync__loop_plan *b, int access)
{
    const dync__access *acc = &b->k->access.at[access];
    int level = 0;
    for (int d = 0; d < b->k->n_dims; d++)
        if (b->k->extent[d] > 1 && !dync__sz_eq(acc->stride[d], 0))
            level = DYNC__MAX(level, d < b->split ? 1 : 2);
    return level;
}

DYNC__FN int dync__lp_level_of(const dync__loop_plan *b, int i)
{
    const dync__inst *in = dync__lp_inst(b, i);
    int32_t arg[3];
    int level = in->access >= 0 ? dync__lp_access_level(b, in->access) : 0;
    if (in->prim == DYNC__P_reduce || in->prim == DYNC__P_scan)
        return in->prim == DYNC__P_scan ? 2 : 1;
    for (int a = dync__lp_operands(b, i, arg) - 1; a >= 0; a--)
        level = DYNC__MAX(level, (int)b->level[arg[a]]);
    /* what the kernel both reads and writes is read and written where it stands */
    if (!dync__inst_has_value(in))
        return (in->section & 1) && (b->k->buf.at[in->buf].mode & DYNC__BUF_IN)
                   ? 2
                   : DYNC__MAX(level, 1);
    if (in->buf >= 0 && (b->k->buf.at[in->buf].mode & DYNC__BUF_OUT))
        return in->section & 1 ? 2 : DYNC__MAX(level, 1);
    return level;
}

/* Loops [from, to) of an access after merging neighbours and dropping loops of one; returns how
 * many are left. */
DYNC__FN int dync__lp_merge(const dync__loop_plan *b, int access, int from, int to,
                            dync__lp_dim *out)
{
    const dync__access *acc = &b->k->access.at[access];
    int n = 0;
    for (int d = from; d < to; d++) {
        if (b->k->extent[d] == 1) continue;
        dync__size extent = (dync__size)b->k->extent[d], stride = (dync__size)acc->stride[d];
        if (n > 0 && dync__sz_eq(out[n - 1].stride, dync__sz_mul(stride, extent))) {
            out[n - 1].extent = (dync__size)dync__sz_mul(out[n - 1].extent, extent);
            out[n - 1].stride = stride;
            continue;
        }
        out[n].extent = extent;
        out[n++].stride = stride;
    }
    if (n == 1 && dync__sz_eq(out[0].stride, 0)) n = 0;
    return n;
}
