/* codegen/gen_value.c: where the values of a list are: operands in registers or memory, results in
 * registers that gen_reg.c gives, let go of at their last use. After gen_reg.c, before gen_mem.c.
 * */
#include "../dync.in.h"
#include "gen.h"
DYNC__LEAN
#if DYNC__JIT

/* ---- operands -------------------------------------------------------------------------------- */

DYNC__FN dync__place dync__gen_const(dync__gen *g, int type, double f, int64_t i)
{
    uint64_t bits = 0;
    float f32 = (float)f;
    if (type == DYNC_F32)
        memcpy(&bits, &f32, sizeof f32);
    else if (type == DYNC_F64)
        memcpy(&bits, &f, sizeof f);
    else if (type == DYNC_BOOL)
        bits = i ? 0xffffffffu : 0;
    else
        bits = (uint64_t)i;
    return dync__a_constant(&g->a, bits, dync__gen_type_wide(type) ? 8 : 4);
}

DYNC__FN dync__place dync__gen_slot(const dync__gen *g, int value, int u)
{
    int level = g->b->level[value];
    return dync__a_mem(g->strip && level > 0 ? (int)DYNC__GEN_ROW : (int)DYNC__G_FRAME,
                       g->slot[value] + (g->vertical && level == 1 ? 64 * u : 0));
}

DYNC__FN dync__place dync__gen_address(const dync__gen *g, int stream)
{
    return g->strip && g->cur > 0 ? dync__a_mem(DYNC__GEN_ROW, 8 * stream)
                                  : dync__gen_arg(dync__gen_record(g, stream, DYNC__GW_AT));
}

/* Memory of a value that no register holds: a constant, a slot of another list, a spilled or
 * unloaded one. */
DYNC__FN dync__place dync__gen_home(dync__gen *g, int v)
{
    const dync__inst *in = dync__gen_inst(g, v);
    const dync__gen_cone *cone = g->cone_now < 0 ? NULL : &g->cone[g->cone_now];
    for (int k = 0; cone && k < cone->n_inputs; k++)
        if (v == cone->input[k])
            return dync__a_index(DYNC__G_FRAME, DYNC__G_T2, 1,
                                 g->cone_areas + 64 * DYNC__GEN_UNROLL * k);
    if (in->prim == DYNC__P_const_) {
        if (g->pool_at[v] < 0) {
            dync__scalar x = dync__const_scalar(in);
            g->pool_at[v] =
                dync__gen_const(g, in->type, in->type == DYNC_F32 ? (double)x.f : x.d, x.i).disp;
        }
        return dync__a_mem(DYNC__PLACE_POOL, g->pool_at[v]);
    }
    if (g->in_list[v] == g->cur) {
        dync__gen_val *x = &g->val[v * DYNC__GEN_UNROLL + g->u];
        return x->lazy ? dync__gen_element(g, g->stream_of[v]) : dync__gen_at(x->spill);
    }
    return dync__gen_slot(g, v, g->u);
}

DYNC__FN bool dync__gen_is_here(const dync__gen *g, int v)
{
    return g->in_list[v] == g->cur && dync__gen_inst(g, v)->prim != DYNC__P_const_;
}

static int dync__gen_src_k(dync__gen *g, int value)
{
    int v = dync__gen_root(g, value), r;
    const dync__inst *in = dync__gen_inst(g, v);
    if (in->prim == DYNC__P_const_) {
        r = dync__gen_temp_k(g);
        DYNC__A(&g->a, MASK_SET, .v = dync__gen_vt(g, DYNC_BOOL), .to = r,
                .n = dync__const_scalar(in).i != 0);
        return r;
    }
    if (!dync__gen_is_here(g, v)) {
        r = dync__gen_temp_k(g);
        DYNC__A(&g->a, LOAD, .v = dync__gen_vt(g, DYNC_BOOL), .to = r, .y = dync__gen_home(g, v));
        return r;
    }
    dync__gen_val *x = &g->val[v * DYNC__GEN_UNROLL + g->u];
    if (x->reg < 0) {
        r = dync__gen_alloc_k(g);
        DYNC__A(&g->a, LOAD, .v = dync__gen_vt(g, DYNC_BOOL), .to = r, .y = dync__gen_at(x->spill));
        x->reg = (int8_t)r;
        g->owner_k[r] = v * DYNC__GEN_UNROLL + g->u;
    }
    g->locked_k |= 1u << x->reg;
    return x->reg;
}

DYNC__FN int dync__gen_src(dync__gen *g, int value)
{
    int v = dync__gen_root(g, value), r;
    if (dync__gen_in_k(g, dync__gen_inst(g, v)->type)) return dync__gen_src_k(g, v);
    if (g->hoist[v] >= 0) return g->hoist[v];
    if (!dync__gen_is_here(g, v)) {
        r = dync__gen_temp(g);
        DYNC__A(&g->a, LOAD, .v = dync__gen_vt_of(g, v), .to = r, .y = dync__gen_home(g, v));
        return r;
    }
    dync__gen_val *x = &g->val[v * DYNC__GEN_UNROLL + g->u];
    if (x->reg < 0) {
        r = dync__gen_alloc(g);
        if (x->lazy)
            dync__gen_load_now(g, v, r);
        else
            DYNC__A(&g->a, LOAD, .v = dync__gen_vt_of(g, v), .to = r, .y = dync__gen_home(g, v));
        x->lazy = false;
        x->reg = (int8_t)r;
        g->owner[r] = v * DYNC__GEN_UNROLL + g->u;
    }
    g->locked |= 1u << x->reg;
    return x->reg;
}

DYNC__FN bool dync__gen_in_memory(const dync__gen *g, int value)
{
    int v = dync__gen_root(g, value);
    if (g->hoist[v] >= 0 || dync__gen_in_k(g, dync__gen_inst(g, v)->type)) return false;
    if (!dync__gen_is_here(g, v)) return true;
    return g->val[v * DYNC__GEN_UNROLL + g->u].reg < 0 && g->last_use[v] == g->pos;
}

DYNC__FN dync__place dync__gen_src_rm(dync__gen *g, int value)
{
    if (!dync__gen_in_memory(g, value)) return dync__a_reg(dync__gen_src(g, value));
    return dync__gen_home(g, dync__gen_root(g, value));
}

/* ---- results --------------------------------------------------------------------------------- */

static void dync__gen_drop(dync__gen *g, int v)
{
    dync__gen_val *x = &g->val[v * DYNC__GEN_UNROLL + g->u];
    bool k = dync__gen_in_k(g, dync__gen_inst(g, v)->type);
    if (x->reg >= 0 && k) {
        g->owner_k[x->reg] = -1;
        g->free_k |= 1u << x->reg;
        g->locked_k &= ~(1u << x->reg);
    } else if (x->reg >= 0) {
        g->owner[x->reg] = -1;
        g->free_regs |= 1u << x->reg;
        g->locked &= ~(1u << x->reg);
    }
    x->reg = -1;
    dync__gen_free_spill(g, x->spill);
    x->spill = -1;
}

DYNC__FN bool dync__gen_dies(const dync__gen *g, int value)
{
    int v = dync__gen_root(g, value);
    return g->hoist[v] < 0 && dync__gen_is_here(g, v) && g->last_use[v] == g->pos &&
           g->val[v * DYNC__GEN_UNROLL + g->u].reg >= 0;
}

DYNC__FN void dync__gen_release(dync__gen *g)
{
    int32_t arg[DYNC__GEN_ARGS];
    for (int a = dync__gen_operands(g, g->cur, g->list[g->cur].at[g->pos], arg) - 1; a >= 0; a--)
        if (dync__gen_dies(g, arg[a])) dync__gen_drop(g, arg[a]);
}

DYNC__FN int dync__gen_def(dync__gen *g, int inst)
{
    bool k = dync__gen_in_k(g, dync__gen_inst(g, inst)->type);
    int r = k ? dync__gen_alloc_k(g) : dync__gen_alloc(g);
    (k ? g->owner_k : g->owner)[r] = inst * DYNC__GEN_UNROLL + g->u;
    g->val[inst * DYNC__GEN_UNROLL + g->u].reg = (int8_t)r;
    return r;
}

DYNC__FN void dync__gen_adopt(dync__gen *g, int inst, int value)
{
    int v = dync__gen_root(g, value);
    dync__gen_val *from = &g->val[v * DYNC__GEN_UNROLL + g->u],
                  *to = &g->val[inst * DYNC__GEN_UNROLL + g->u];
    to->reg = from->reg;
    g->owner[to->reg] = inst * DYNC__GEN_UNROLL + g->u;
    from->reg = -1;
}

DYNC__FN void dync__gen_set(dync__gen *g, int inst, int reg)
{
    g->pinned &= ~(1u << reg);
    g->locked |= 1u << reg;
    g->owner[reg] = inst * DYNC__GEN_UNROLL + g->u;
    g->val[inst * DYNC__GEN_UNROLL + g->u].reg = (int8_t)reg;
}

DYNC__FN void dync__gen_drop_temps(dync__gen *g)
{
    g->free_regs |= g->temps;
    g->free_k |= g->temps_k;
    g->locked = g->temps = g->locked_k = g->temps_k = 0;
}

DYNC__FN void dync__gen_end(dync__gen *g)
{
    int32_t arg[DYNC__GEN_ARGS];
    int i = g->list[g->cur].at[g->pos];
    for (int a = dync__gen_operands(g, g->cur, i, arg) - 1; a >= 0; a--)
        if (dync__gen_is_here(g, arg[a]) && g->last_use[arg[a]] == g->pos)
            dync__gen_drop(g, arg[a]);
    if (g->n_uses[i] == 0) dync__gen_drop(g, i);
    dync__gen_drop_temps(g);
}
#endif
