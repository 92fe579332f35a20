/* codegen/x86_reg.c: registers of a list of instructions. Before: x86_gen.c begins a list;
 * x86_prim.c and its kin ask for operands and results.
 *
 * A list is straight code, so one pass forward allocates: a value takes a register when it is made
 * and gives it back at its last use; where none is free, the value whose next use is furthest away
 * goes to the frame (Belady 1966). Constants and values of other lists are read from memory where
 * they stand, the most used ones from registers that x86_gen.c pins for the whole loop. Loads from
 * buffers that the kernel does not write wait for their first use, which often takes them as its
 * memory operand. Invariant: registers read by the instruction in hand are locked until
 * dync__xg_end. */
#include "../dync.in.h"
#include "x86_gen.h"
#if DYNC__JIT_X86

DYNC__FN int dync__xg_frame(dync__xg *g, int bytes)
{
    int at = g->frame;
    g->frame += (bytes + 63) & ~63;
    return at;
}

DYNC__FN bool dync__xg_alloc_values(dync__xg *g, dync__arena *arena, int count)
{
    size_t n = (size_t)count;
    int32_t *ints = dync__arena_alloc(arena, 10 * n * sizeof *ints);
    g->scan = dync__arena_alloc(arena, n * sizeof *g->scan);
    g->val = dync__arena_alloc(arena, n * DYNC__XG_UNROLL * sizeof *g->val);
    g->hoist = dync__arena_alloc(arena, n);
    g->leads = dync__arena_alloc(arena, n);
    g->list = dync__arena_alloc(arena, (size_t)(g->n_lists + DYNC__XG_CONES) * sizeof *g->list);
    if (!ints || !g->scan || !g->val || !g->hoist || !g->leads || !g->list) return false;
    g->stream_of = ints;
    g->keep_stream = ints + n;
    g->slot = ints + 2 * n;
    g->in_list = ints + 3 * n;
    g->n_uses = ints + 4 * n;
    g->next_use = ints + 5 * n;
    g->last_use = ints + 6 * n;
    g->first_use = ints + 7 * n;
    g->pool_at = ints + 8 * n;
    g->cone_of = ints + 9 * n;
    memset(g->cone_of, 0xff, n * sizeof *ints);
    memset(g->pool_at, 0xff, n * sizeof *ints);
    memset(g->slot, 0xff, n * sizeof *ints);
    memset(g->in_list, 0xff, n * sizeof *ints);
    return true;
}

/* Operands in this list: a value read back from its row buffer has none. */
static int dync__xg_operands(const dync__xg *g, int list, int i, int32_t out[3])
{
    const dync__loop_plan *b = g->b;
    if (b->keep[i] && dync__lp_list(b, i) != list) return 0;
    int n = dync__xg_args(g, i, out);
    for (int a = 0; a < n; a++) out[a] = dync__xg_root(g, out[a]);
    return n;
}

DYNC__FN void dync__xg_begin_list(dync__xg *g, int list)
{
    const dync__xlist *l = &g->list[list];
    int32_t arg[3];
    g->cur = list;
    g->uses.n = 0;
    for (int p = 0; p < l->n; p++) {
        g->in_list[l->at[p]] = list;
        g->n_uses[l->at[p]] = 0;
        g->last_use[l->at[p]] = -1;
    }
    for (int p = 0; p < l->n; p++)
        for (int a = dync__xg_operands(g, list, l->at[p], arg) - 1; a >= 0; a--)
            if (g->in_list[arg[a]] == list) g->n_uses[arg[a]]++;
    for (int p = 0, at = 0; p < l->n; p++) {
        g->first_use[l->at[p]] = g->next_use[l->at[p]] = at;
        at += g->n_uses[l->at[p]];
        for (int k = 0; k < g->n_uses[l->at[p]]; k++)
            if (!dync__avec_push(g->b->arena, &g->uses, 0)) g->a.failed = true;
    }
    if (g->a.failed) return;
    for (int p = 0; p < l->n; p++)
        for (int a = dync__xg_operands(g, list, l->at[p], arg) - 1; a >= 0; a--) {
            if (g->in_list[arg[a]] != list) continue;
            g->uses.at[g->next_use[arg[a]]++] = p;
            g->last_use[arg[a]] = p;
        }
}

DYNC__FN int dync__xg_pressure(dync__xg *g, int list)
{
    const dync__xlist *l = &g->list[list];
    int live = 0, most = 0;
    int32_t arg[3];
    for (int p = 0; p < l->n; p++) {
        int i = l->at[p], n = dync__xg_operands(g, list, i, arg);
        bool small_load = dync__xg_inst(g, i)->prim == DYNC__P_load && g->n_uses[i] <= 1;
        for (int a = 0; a < n; a++) {
            int v = arg[a];
            bool again = false;
            for (int c = 0; c < a; c++) again |= arg[c] == v;
            if (!again && g->in_list[v] == list && g->last_use[v] == p &&
                !(dync__xg_inst(g, v)->prim == DYNC__P_load && g->n_uses[v] <= 1) &&
                !dync__xg_in_k(g, dync__xg_inst(g, v)->type))
                live--;
        }
        if (g->n_uses[i] > 0 && !small_load && !dync__xg_in_k(g, dync__xg_inst(g, i)->type)) live++;
        most = DYNC__MAX(most, live + (small_load ? 1 : 0));
    }
    return most + 1;
}

DYNC__FN void dync__xg_reset(dync__xg *g)
{
    const dync__xlist *l = &g->list[g->cur];
    g->free_regs = (g->n_regs == 32 ? 0xffffffffu : 0xffffu) & ~g->pinned;
    g->free_k = g->isa == 2 ? 0xfe : 0;
    g->locked = g->temps = g->locked_k = g->temps_k = 0;
    for (int r = 0; r < 32; r++) g->owner[r] = -1;
    for (int r = 0; r < 8; r++) g->owner_k[r] = -1;
    for (int p = 0; p < l->n; p++) {
        g->next_use[l->at[p]] = g->first_use[l->at[p]];
        for (int u = 0; u < DYNC__XG_UNROLL; u++)
            g->val[l->at[p] * DYNC__XG_UNROLL + u] = (dync__xval){-1, false, -1};
    }
}

/* ---- spilling -------------------------------------------------------------------------------- */

static int dync__xg_spill_slot(dync__xg *g)
{
    if (g->free_spill.n > 0) return g->free_spill.at[--g->free_spill.n];
    return dync__xg_frame(g, 64);
}

static void dync__xg_free_spill(dync__xg *g, int slot)
{
    if (slot >= 0 && !dync__avec_push(g->b->arena, &g->free_spill, slot)) g->a.failed = true;
}

/* Where in the list a value is wanted next; the vectors after u still need what this instruction
 * reads. */
static int dync__xg_next(dync__xg *g, int owner)
{
    int v = owner / DYNC__XG_UNROLL, u = owner % DYNC__XG_UNROLL,
        end = g->first_use[v] + g->n_uses[v];
    while (g->next_use[v] < end && g->uses.at[g->next_use[v]] < g->pos) g->next_use[v]++;
    int at = g->next_use[v];
    while (u <= g->u && at < end && g->uses.at[at] == g->pos) at++;
    return at < end ? g->uses.at[at] : 1 << 30;
}

static int dync__xg_evict(dync__xg *g, int n_regs, const int32_t *owner, uint32_t locked)
{
    int best = -1, far = -1;
    for (int r = 0; r < n_regs; r++) {
        if (owner[r] < 0 || locked >> r & 1) continue;
        int next = dync__xg_next(g, owner[r]);
        if (next > far) {
            far = next;
            best = r;
        }
    }
    if (best < 0) g->a.failed = true;
    return best < 0 ? 1 : best;
}

static int dync__xg_vl_of(const dync__xg *g, int v)
{
    return dync__xg_vl(g, dync__xg_inst(g, v)->type);
}

static int dync__xg_alloc(dync__xg *g)
{
    uint32_t could = g->free_regs & ~g->locked;
    int r = could ? __builtin_ctz(could) : -1;
    if (r < 0) {
        r = dync__xg_evict(g, g->n_regs, g->owner, g->locked | g->pinned);
        if (g->owner[r] >= 0) {
            dync__xval *x = &g->val[g->owner[r]];
            if (x->spill < 0) {
                x->spill = dync__xg_spill_slot(g);
                dync__x_v(&g->a, DYNC__X_MOVUPS_M, dync__xg_vl_of(g, g->owner[r] / DYNC__XG_UNROLL),
                          r, 0, dync__xg_at(x->spill), 0, 0);
            }
            x->reg = -1;
            g->owner[r] = -1;
        }
    }
    g->free_regs &= ~(1u << r);
    g->locked |= 1u << r;
    return r;
}

static int dync__xg_alloc_k(dync__xg *g)
{
    uint32_t could = g->free_k & ~g->locked_k;
    int r = could ? __builtin_ctz(could) : -1;
    if (r < 0) {
        r = dync__xg_evict(g, 8, g->owner_k, g->locked_k);
        if (g->owner_k[r] >= 0) {
            dync__xval *x = &g->val[g->owner_k[r]];
            if (x->spill < 0) {
                x->spill = dync__xg_spill_slot(g);
                dync__x_k(&g->a, DYNC__X_KMOVW_M, r, 0, dync__xg_at(x->spill), 0);
            }
            x->reg = -1;
            g->owner_k[r] = -1;
        }
    }
    g->free_k &= ~(1u << r);
    g->locked_k |= 1u << r;
    return r;
}

DYNC__FN int dync__xg_pin(dync__xg *g)
{
    uint32_t all = g->n_regs == 32 ? 0xffffffffu : 0xffffu, could = all & ~g->pinned;
    if (!could) {
        g->a.failed = true;
        return 0;
    }
    int r = 31 - __builtin_clz(could);
    g->pinned |= 1u << r;
    return r;
}

DYNC__FN int dync__xg_temp(dync__xg *g)
{
    int r = dync__xg_alloc(g);
    g->temps |= 1u << r;
    return r;
}

DYNC__FN int dync__xg_temp_k(dync__xg *g)
{
    int r = dync__xg_alloc_k(g);
    g->temps_k |= 1u << r;
    return r;
}

/* ---- operands -------------------------------------------------------------------------------- */

DYNC__FN dync__xrm dync__xg_const(dync__xg *g, int type, double f, int64_t i)
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
    return dync__x_constant(&g->a, bits, dync__xg_type_wide(type) ? 8 : 4);
}

/* Memory of a value that no register holds: a constant, a slot of another list, a spilled or
 * unloaded one. */
DYNC__FN dync__xrm dync__xg_home(dync__xg *g, int v)
{
    const dync__inst *in = dync__xg_inst(g, v);
    if (v == g->cone_input) return dync__x_index(DYNC__RSP, DYNC__RBP, 1, g->cone_areas);
    if (in->prim == DYNC__P_const_) {
        if (g->pool_at[v] < 0) {
            dync__scalar x = dync__const_scalar(in);
            g->pool_at[v] =
                dync__xg_const(g, in->type, in->type == DYNC_F32 ? (double)x.f : x.d, x.i).disp;
        }
        return dync__x_mem(DYNC__X_POOL, g->pool_at[v]);
    }
    if (g->in_list[v] == g->cur) {
        dync__xval *x = &g->val[v * DYNC__XG_UNROLL + g->u];
        return x->lazy ? dync__xg_element(g, g->stream_of[v]) : dync__xg_at(x->spill);
    }
    return dync__xg_at(g->slot[v] + (g->vertical && g->b->level[v] == 1 ? 64 * g->u : 0));
}

DYNC__FN bool dync__xg_is_here(const dync__xg *g, int v)
{
    return g->in_list[v] == g->cur && dync__xg_inst(g, v)->prim != DYNC__P_const_;
}

DYNC__FN int dync__xg_src(dync__xg *g, int value)
{
    int v = dync__xg_root(g, value), r;
    if (g->hoist[v] >= 0) return g->hoist[v];
    if (!dync__xg_is_here(g, v)) {
        r = dync__xg_temp(g);
        dync__x_v(&g->a, DYNC__X_MOVUPS, dync__xg_vl_of(g, v), r, 0, dync__xg_home(g, v), 0, 0);
        return r;
    }
    dync__xval *x = &g->val[v * DYNC__XG_UNROLL + g->u];
    if (x->reg < 0) {
        r = dync__xg_alloc(g);
        if (x->lazy)
            dync__xg_load_now(g, v, r);
        else
            dync__x_v(&g->a, DYNC__X_MOVUPS, dync__xg_vl_of(g, v), r, 0, dync__xg_home(g, v), 0, 0);
        x->lazy = false;
        x->reg = (int8_t)r;
        g->owner[r] = v * DYNC__XG_UNROLL + g->u;
    }
    g->locked |= 1u << x->reg;
    return x->reg;
}

DYNC__FN bool dync__xg_in_memory(const dync__xg *g, int value)
{
    int v = dync__xg_root(g, value);
    if (g->hoist[v] >= 0) return false;
    if (!dync__xg_is_here(g, v)) return true;
    return g->val[v * DYNC__XG_UNROLL + g->u].reg < 0 && g->last_use[v] == g->pos;
}

DYNC__FN dync__xrm dync__xg_src_rm(dync__xg *g, int value)
{
    if (!dync__xg_in_memory(g, value)) return dync__x_reg(dync__xg_src(g, value));
    return dync__xg_home(g, dync__xg_root(g, value));
}

DYNC__FN int dync__xg_src_k(dync__xg *g, int value)
{
    int v = dync__xg_root(g, value), r;
    const dync__inst *in = dync__xg_inst(g, v);
    if (in->prim == DYNC__P_const_) {
        r = dync__xg_temp_k(g);
        dync__x_k(&g->a, dync__const_scalar(in).i ? DYNC__X_KXNORW : DYNC__X_KXORW, r, r,
                  dync__x_reg(r), 0);
        return r;
    }
    if (!dync__xg_is_here(g, v)) {
        r = dync__xg_temp_k(g);
        dync__x_k(&g->a, DYNC__X_KMOVW, r, 0, dync__xg_home(g, v), 0);
        return r;
    }
    dync__xval *x = &g->val[v * DYNC__XG_UNROLL + g->u];
    if (x->reg < 0) {
        r = dync__xg_alloc_k(g);
        dync__x_k(&g->a, DYNC__X_KMOVW, r, 0, dync__xg_at(x->spill), 0);
        x->reg = (int8_t)r;
        g->owner_k[r] = v * DYNC__XG_UNROLL + g->u;
    }
    g->locked_k |= 1u << x->reg;
    return x->reg;
}

/* ---- results --------------------------------------------------------------------------------- */

static void dync__xg_drop(dync__xg *g, int v)
{
    dync__xval *x = &g->val[v * DYNC__XG_UNROLL + g->u];
    bool k = dync__xg_in_k(g, dync__xg_inst(g, v)->type);
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
    dync__xg_free_spill(g, x->spill);
    x->spill = -1;
}

DYNC__FN bool dync__xg_dies(const dync__xg *g, int value)
{
    int v = dync__xg_root(g, value);
    return g->hoist[v] < 0 && dync__xg_is_here(g, v) && g->last_use[v] == g->pos &&
           g->val[v * DYNC__XG_UNROLL + g->u].reg >= 0;
}

DYNC__FN void dync__xg_release(dync__xg *g)
{
    int32_t arg[3];
    for (int a = dync__xg_operands(g, g->cur, g->list[g->cur].at[g->pos], arg) - 1; a >= 0; a--)
        if (dync__xg_dies(g, arg[a])) dync__xg_drop(g, arg[a]);
}

DYNC__FN int dync__xg_def(dync__xg *g, int inst)
{
    int r = dync__xg_alloc(g);
    g->owner[r] = inst * DYNC__XG_UNROLL + g->u;
    g->val[inst * DYNC__XG_UNROLL + g->u].reg = (int8_t)r;
    return r;
}

DYNC__FN int dync__xg_def_k(dync__xg *g, int inst)
{
    int r = dync__xg_alloc_k(g);
    g->owner_k[r] = inst * DYNC__XG_UNROLL + g->u;
    g->val[inst * DYNC__XG_UNROLL + g->u].reg = (int8_t)r;
    return r;
}

DYNC__FN void dync__xg_adopt(dync__xg *g, int inst, int value)
{
    int v = dync__xg_root(g, value);
    dync__xval *from = &g->val[v * DYNC__XG_UNROLL + g->u],
               *to = &g->val[inst * DYNC__XG_UNROLL + g->u];
    to->reg = from->reg;
    g->owner[to->reg] = inst * DYNC__XG_UNROLL + g->u;
    from->reg = -1;
}

DYNC__FN void dync__xg_set(dync__xg *g, int inst, int reg)
{
    g->pinned &= ~(1u << reg);
    g->locked |= 1u << reg;
    g->owner[reg] = inst * DYNC__XG_UNROLL + g->u;
    g->val[inst * DYNC__XG_UNROLL + g->u].reg = (int8_t)reg;
}

DYNC__FN void dync__xg_drop_temps(dync__xg *g)
{
    g->free_regs |= g->temps;
    g->free_k |= g->temps_k;
    g->locked = g->temps = g->locked_k = g->temps_k = 0;
}

DYNC__FN void dync__xg_end(dync__xg *g)
{
    int32_t arg[3];
    int i = g->list[g->cur].at[g->pos];
    for (int a = dync__xg_operands(g, g->cur, i, arg) - 1; a >= 0; a--)
        if (dync__xg_is_here(g, arg[a]) && g->last_use[arg[a]] == g->pos) dync__xg_drop(g, arg[a]);
    if (g->n_uses[i] == 0) dync__xg_drop(g, i);
    dync__xg_drop_temps(g);
}
#endif
