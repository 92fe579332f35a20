/* codegen/gen_cold.c: cold paths: what only a rarely taken select needs, such as the reduction of
 * large arguments of sin, stands apart: code goes round it where no lane wants it. Before: jit.c
 * asks for the cones; gen_loops.c comes here at the first select of one.
 *
 * A cone is the instructions that lead from a few values (its inputs) to the first choices of
 * selects on one condition, and to nothing else. The list around it has the selects alone, with the
 * inputs for operands in the place of the first choice. At the first of them all become their
 * second choices; then, if the condition holds in any lane:
 *   registers and inputs to the frame; a loop over the inputs, with vectors as narrow as the widest
 *   type of the cone asks (V may
 *   differ from the list's); its results into the lanes that want them, where the selects stand in
 *   the frame; registers back.
 * Invariant: around the block no register changes but those of the selects, so the list's
 * allocation knows nothing of it. */
#include "../dync.in.h"
#include "gen.h"
DYNC__LEAN
#if DYNC__JIT

/* ---- finding --------------------------------------------------------------------------------- */

static bool dync__cone_may(const dync__gen *g, int i, int list)
{
    const dync__loop_plan *b = g->b;
    const dync__inst *in = dync__gen_inst(g, i);
    /* takes T2 */
    bool divides = (in->prim == DYNC__P_div || in->prim == DYNC__P_rem) &&
                   !dync__gen_type_float(in->type);
    return in->prim != DYNC__P_const_ && dync__prim_is_pure(in->prim) && !divides &&
           in->prim != DYNC__P_random && !b->keep[i] && dync__lp_list(b, i) == list &&
           g->cone_of[i] < 0;
}

/* v is one of its inputs; false: there are too many. */
static bool dync__cone_input(dync__gen_cone *c, int v)
{
    for (int k = 0; k < c->n_inputs; k++)
        if (c->input[k] == v) return true;
    if (c->n_inputs == DYNC__COUNT_OF(c->input)) return false;
    c->input[c->n_inputs++] = v;
    return true;
}

/* The cone of select `first` and those after it on the same condition; false: there is none worth
 * it. mark: 1 wanted by it, 2 by others too. */
static bool dync__cone_cone(dync__gen *g, int first, uint8_t *mark, dync__gen_cone *c)
{
    const dync__loop_plan *b = g->b;
    int n = b->k->inst.n, list = dync__lp_list(b, first), last = first, code = 0;
    int bytes = dync__gen_type_wide(dync__gen_inst(g, first)->type) ? 8 : 4;
    int32_t arg[3];
    memset(c, 0, sizeof *c);
    memset(mark, 0, (size_t)n);
    for (int i = first; i < n && c->n_outs < DYNC__COUNT_OF(c->out); i++) {
        const dync__inst *in = dync__gen_inst(g, i);
        if (in->prim != DYNC__P_select || !in->imm.i || !b->needed[i] || b->clamp[i] ||
            dync__lp_list(b, i) != list || in->type == DYNC_BOOL ||
            in->arg[0] != dync__gen_inst(g, first)->arg[0] ||
            (dync__gen_type_wide(in->type) ? 8 : 4) != bytes || in->arg[1] > first ||
            in->arg[2] > first)
            continue;
        c->out[c->n_outs++] = last = i;
    }
    for (int i = n - 1; i >= 0; i--) {
        bool member = false;
        if (!b->needed[i]) continue;
        for (int o = 0; o < c->n_outs; o++) member |= c->out[o] == i;
        bool inside = !member && mark[i] == 1 && i < first && dync__cone_may(g, i, list);
        for (int a = dync__lp_operands(b, i, arg) - 1; a >= 0; a--)
            mark[arg[a]] |= inside || (member && a == 1) ? 1 : 2;
        if (mark[i] == 1 && !inside && dync__gen_inst(g, i)->prim != DYNC__P_const_) mark[i] = 3;
        if (inside) code++;
    }
    for (int i = 0; i < first && code > 0; i++)
        if (b->needed[i] && mark[i] == 1 && dync__gen_inst(g, i)->prim != DYNC__P_const_ &&
            !dync__avec_push(b->arena, &c->list, i))
            g->a.failed = true;
    code = 0;
    for (int p = 0; p < c->list.n; p++) {
        int i = c->list.at[p];
        for (int a = dync__lp_operands(b, i, arg) - 1; a >= 0; a--) {
            int v = dync__gen_root(g, arg[a]), type = dync__gen_inst(g, v)->type;
            if (dync__gen_inst(g, v)->prim == DYNC__P_const_ || (mark[v] == 1 && mark[arg[a]] == 1))
                continue;
            if (type == DYNC_BOOL || (dync__gen_type_wide(type) ? 8 : 4) != bytes ||
                !dync__cone_input(c, v))
                return false;
        }
        c->wide |= dync__gen_type_wide(dync__gen_inst(g, i)->type);
        code += dync__gen_inst(g, i)->prim != DYNC__P_bitcast;
    }
    for (int o = 0; o < c->n_outs; o++) {
        int far = dync__gen_inst(g, c->out[o])->arg[1];
        if (mark[far] != 1 || mark[dync__gen_root(g, far)] != 1 ||
            dync__gen_inst(g, far)->prim == DYNC__P_const_)
            return false;
    }
    return last >= first && c->n_inputs > 0 && code >= 8;
}

DYNC__FN void dync__gen_find_cones(dync__gen *g)
{
    const dync__loop_plan *b = g->b;
    int n = b->k->inst.n;
    dync__gen_cone c;
    uint8_t *mark = NULL;
    for (int i = 0; i < n; i++) {
        const dync__inst *in = dync__gen_inst(g, i);
        if (in->prim != DYNC__P_select || !in->imm.i || !b->needed[i] || g->cone_of[i] >= 0 ||
            g->n_cones == DYNC__GEN_CONES)
            continue;
        if (!mark && !(mark = dync__arena_alloc(b->arena, (size_t)n))) g->a.failed = true;
        if (!mark || !dync__cone_cone(g, i, mark, &c)) continue;
        for (int p = 0; p < c.list.n; p++) g->cone_of[c.list.at[p]] = DYNC__GEN_CONES;
        for (int o = 0; o < c.n_outs; o++) g->cone_of[c.out[o]] = g->n_cones;
        g->cone[g->n_cones++] = c;
    }
}

/* ---- where values are ------------------------------------------------------------------------ */

static dync__place dync__cone_place(dync__gen *g, int v, int u)
{
    g->u = u;
    if (dync__gen_is_here(g, v) && g->val[v * DYNC__GEN_UNROLL + u].reg >= 0)
        return dync__gen_at(g->saved_regs + 64 * g->val[v * DYNC__GEN_UNROLL + u].reg);
    return dync__gen_home(g, v);
}

/* The selects of this list become their second choices: in the same registers where nothing else
 * wants these. */
static void dync__cone_take_near(dync__gen *g, const dync__gen_cone *c)
{
    for (int u = 0; u < g->U; u++) {
        g->u = u;
        for (int o = 0; o < c->n_outs; o++) {
            int m = c->out[o], v = dync__gen_root(g, dync__gen_inst(g, m)->arg[2]);
            if (g->in_list[m] != g->cur) continue;
            bool own = g->hoist[v] < 0 && dync__gen_is_here(g, v) && g->n_uses[v] == 1;
            int from = dync__gen_src(g, v);
            if (own)
                dync__gen_adopt(g, m, v);
            else
                DYNC__A(&g->a, LOAD, .v = dync__gen_vt(g, dync__gen_inst(g, m)->type),
                        .to = dync__gen_def(g, m), .y = dync__a_reg(from));
            dync__gen_drop_temps(g);
        }
        for (int k = 0; k < c->n_inputs; k++) {
            if (dync__gen_is_here(g, c->input[k]))
                dync__gen_src(g, c->input[k]); /* it may not be loaded yet */
            dync__gen_drop_temps(g);
        }
    }
}

/* To `skip` where the condition holds nowhere. Its registers stay locked. */
static void dync__cone_test(dync__gen *g, int condition, int8_t *mask, int skip)
{
    dync__asm *a = &g->a;
    dync__vt v = dync__gen_vt(g, g->a.t->n_masks ? DYNC_BOOL : DYNC_I32);
    for (int u = 0; u < g->U; u++) {
        g->u = u;
        mask[u] = (int8_t)dync__gen_src(g, condition);
    }
    int any = mask[0];
    if (g->U > 1) any = dync__gen_temp_k(g);
    for (int u = 1; u < g->U; u++)
        DYNC__A(a, OP2, .v = v, .op = DYNC__P_or_, .to = any, .x = u == 1 ? mask[0] : any,
                .y = dync__a_reg(mask[u]));
    DYNC__A(a, MASK_JUMP, .v = v, .x = any, .label = skip);
}

/* Mask register r to the frame, or back. */
static void dync__cone_mask(dync__gen *g, int r, bool save)
{
    dync__place at = dync__gen_at(g->saved_regs + 64 * 32 + 8 * r);
    if (save)
        DYNC__A(&g->a, STORE, .v = dync__gen_vt(g, DYNC_BOOL), .x = r, .y = at);
    else
        DYNC__A(&g->a, LOAD, .v = dync__gen_vt(g, DYNC_BOOL), .to = r, .y = at);
}

static void dync__cone_registers(dync__gen *g, bool save)
{
    dync__vt v = dync__vt_of(DYNC_I32, g->a.t->vector_bytes / 4);
    for (int r = 0; r < g->n_regs; r++) {
        if (g->owner[r] < 0 && !(g->locked >> r & 1)) continue;
        if (save)
            DYNC__A(&g->a, STORE, .v = v, .x = r, .y = dync__gen_at(g->saved_regs + 64 * r));
        else
            DYNC__A(&g->a, LOAD, .v = v, .to = r, .y = dync__gen_at(g->saved_regs + 64 * r));
    }
    for (int r = 1; r < 8; r++)
        if (g->owner_k[r] >= 0 || g->locked_k >> r & 1) dync__cone_mask(g, r, save);
}

/* ---- the cone -------------------------------------------------------------------------------- */

static dync__place dync__cone_area(const dync__gen *g, int which)
{
    return dync__a_index(DYNC__G_FRAME, DYNC__G_T2, 1,
                         g->cone_areas + 64 * DYNC__GEN_UNROLL * which);
}

/* All of the inputs in the frame; g comes back as it was, but for what was emitted. */
static void dync__cone_loop(dync__gen *g, int number, int bytes)
{
    const dync__gen_cone *c = &g->cone[number];
    dync__gen before = *g;
    dync__asm *a = &g->a;
    int top = dync__a_label(a), end = g->U * g->V * bytes;
    int8_t hoist[DYNC__GEN_CONE_INPUTS];
    g->V = c->wide ? g->a.t->vector_bytes / 8 : g->V;
    g->U = 1;
    g->u = 0;
    g->cone_now = number;
    for (int k = 0; k < c->n_inputs; k++) {
        hoist[k] = g->hoist[c->input[k]];
        g->hoist[c->input[k]] = -1;
    }
    g->list[g->n_lists + number] = c->list;
    memset(&g->uses, 0, sizeof g->uses);
    dync__gen_begin_list(g, g->n_lists + number);
    dync__gen_reset(g);
    DYNC__A(a, SET, .to = DYNC__G_T2, .n = 0);
    DYNC__A(a, LABEL, .label = top);
    for (g->pos = 0; g->pos < c->list.n && !a->failed; g->pos++) {
        int i = c->list.at[g->pos];
        if (dync__gen_inst(g, i)->prim != DYNC__P_bitcast) dync__gen_prim(g, i);
        for (int o = 0; o < c->n_outs; o++)
            if (dync__gen_root(g, dync__gen_inst(g, c->out[o])->arg[1]) == i)
                DYNC__A(a, STORE, .v = dync__gen_vt(g, dync__gen_inst(g, i)->type),
                        .x = g->val[i * DYNC__GEN_UNROLL].reg,
                        .y = dync__cone_area(g, DYNC__GEN_CONE_INPUTS + o));
        dync__gen_end(g);
    }
    DYNC__A(a, ADD_N, .y = dync__a_reg(DYNC__G_T2), .n = g->V * bytes);
    DYNC__A(a, JUMP_IF_N, .op = DYNC__IF_LT, .y = dync__a_reg(DYNC__G_T2), .n = end, .label = top);
    before.a = g->a;
    before.frame = g->frame;
    before.free_spill = g->free_spill;
    *g = before;
    for (int k = 0; k < c->n_inputs; k++) g->hoist[c->input[k]] = hoist[k];
}

/* The results into the lanes of select m that want them. t, x: registers to use. */
static void dync__cone_blend(dync__gen *g, int m, int o, int u, int mask, int t, int x)
{
    dync__asm *a = &g->a;
    int type = dync__gen_inst(g, m)->type;
    dync__vt v = dync__gen_vt(g, type);
    bool wide = dync__gen_type_wide(type);
    dync__place at = dync__cone_place(g, m, u),
                far = dync__gen_at(g->cone_areas +
                                   64 * DYNC__GEN_UNROLL * (DYNC__GEN_CONE_INPUTS + o) +
                                   u * g->V * (wide ? 8 : 4));
    DYNC__A(a, LOAD, .v = v, .to = t, .y = at);
    if (!g->a.t->n_masks) {
        dync__place saved = dync__gen_at(g->saved_regs + 64 * mask);
        if (wide)
            DYNC__A(a, MASK_WIDEN, .v = v, .to = x, .y = saved);
        else
            DYNC__A(a, LOAD, .v = v, .to = x, .y = saved);
        mask = x;
    }
    DYNC__A(a, MERGE, .v = v, .to = t, .y = far, .z = mask);
    DYNC__A(a, STORE, .v = v, .x = t, .y = at);
}

DYNC__FN void dync__gen_cold(dync__gen *g, int select)
{
    const dync__gen_cone *c = &g->cone[g->cone_of[select]];
    dync__asm *a = &g->a;
    int skip = dync__a_label(a),
        bytes = dync__gen_type_wide(dync__gen_inst(g, select)->type) ? 8 : 4,
        type = bytes == 8 ? DYNC_I64 : DYNC_I32;
    dync__vt v = dync__gen_vt(g, type);
    int8_t mask[DYNC__GEN_UNROLL] = {0};
    if (!g->saved_regs) {
        g->saved_regs = dync__gen_frame(g, 64 * 33);
        g->cone_areas = dync__gen_frame(g, 64 * DYNC__GEN_UNROLL *
                                               (DYNC__GEN_CONE_INPUTS + DYNC__COUNT_OF(c->out)));
    }
    dync__cone_take_near(g, c);
    dync__cone_test(g, dync__gen_inst(g, select)->arg[0], mask, skip);
    dync__cone_registers(g, true);
    int t = __builtin_ctz(~g->pinned), x = __builtin_ctz(~g->pinned & ~(1u << t));
    for (int k = 0; k < c->n_inputs; k++)
        for (int u = 0; u < g->U; u++) {
            int i = c->input[k], to = 64 * DYNC__GEN_UNROLL * k + u * g->V * bytes;
            DYNC__A(a, LOAD, .v = v, .to = t,
                    .y = g->hoist[i] >= 0 ? dync__a_reg(g->hoist[i]) : dync__cone_place(g, i, u));
            DYNC__A(a, STORE, .v = v, .x = t, .y = dync__gen_at(g->cone_areas + to));
        }
    dync__cone_loop(g, g->cone_of[select], bytes);
    for (int r = 1; r < 8; r++)
        if (g->locked_k >> r & 1) dync__cone_mask(g, r, false);
    for (int u = 0; u < g->U; u++)
        for (int o = 0; o < c->n_outs; o++)
            if (g->in_list[c->out[o]] == g->cur)
                dync__cone_blend(g, c->out[o], o, u, mask[u], t, x);
    dync__cone_registers(g, false);
    DYNC__A(a, LABEL, .label = skip);
    dync__gen_drop_temps(g);
    g->u = 0;
}
#endif
