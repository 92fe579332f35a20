/* codegen/x86_seldom.c: what only a seldom-taken select needs, such as the reduction of large
 * arguments of sin, stands apart: code goes round it where no lane wants it. Before: jit.c asks for
 * the cones; x86_gen.c comes here at the first select of one.
 *
 * A cone is the instructions that lead from one value (its input) to the first choices of selects
 * on one condition, and to nothing else. The list around it has the selects alone, with the input
 * for an operand in the place of the first choice. At the first of them all become their second
 * choices; then, if the condition holds in any lane:
 *   registers and inputs to the frame; a loop over the inputs, with vectors as narrow as the widest
 *   type of the cone asks (V may
 *   differ from the list's); its results into the lanes that want them, where the selects stand in
 *   the frame; registers back.
 * Invariant: around the block no register changes but those of the selects, so the list's
 * allocation knows nothing of it. */
#include "../dync.in.h"
#include "x86_gen.h"
#if DYNC__JIT_X86

/* ---- finding --------------------------------------------------------------------------------- */

static bool dync__xs_may(const dync__xg *g, int i, int list)
{
    const dync__loop_plan *b = g->b;
    const dync__inst *in = dync__xg_inst(g, i);
    /* takes rbp */
    bool divides = (in->prim == DYNC__P_div || in->prim == DYNC__P_rem) &&
                   !dync__xg_type_float(in->type);
    return in->prim != DYNC__P_const_ && dync__prim_is_pure(in->prim) && !divides && !b->keep[i] &&
           dync__lp_list(b, i) == list && g->cone_of[i] < 0;
}

/* The cone of select `first` and those after it on the same condition; false: there is none worth
 * it. mark: 1 wanted by it, 2 by others too. */
static bool dync__xs_cone(dync__xg *g, int first, uint8_t *mark, dync__xcone *c)
{
    const dync__loop_plan *b = g->b;
    int n = b->k->inst.n, list = dync__lp_list(b, first), last = first, code = 0;
    int bytes = dync__xg_type_wide(dync__xg_inst(g, first)->type) ? 8 : 4;
    int32_t arg[3];
    memset(c, 0, sizeof *c);
    memset(mark, 0, (size_t)n);
    c->input = -1;
    for (int i = first; i < n && c->n_outs < DYNC__COUNT_OF(c->out); i++) {
        const dync__inst *in = dync__xg_inst(g, i);
        if (in->prim != DYNC__P_select || !in->imm.i || !b->needed[i] || b->clamp[i] ||
            dync__lp_list(b, i) != list || in->type == DYNC_BOOL ||
            in->arg[0] != dync__xg_inst(g, first)->arg[0] ||
            (dync__xg_type_wide(in->type) ? 8 : 4) != bytes || in->arg[1] > first ||
            in->arg[2] > first)
            continue;
        c->out[c->n_outs++] = last = i;
    }
    for (int i = n - 1; i >= 0; i--) {
        bool member = false;
        if (!b->needed[i]) continue;
        for (int o = 0; o < c->n_outs; o++) member |= c->out[o] == i;
        bool inside = !member && mark[i] == 1 && i < first && dync__xs_may(g, i, list);
        for (int a = dync__lp_operands(b, i, arg) - 1; a >= 0; a--)
            mark[arg[a]] |= inside || (member && a == 1) ? 1 : 2;
        if (mark[i] == 1 && !inside && dync__xg_inst(g, i)->prim != DYNC__P_const_) mark[i] = 3;
        if (inside) code++;
    }
    for (int i = 0; i < first && code > 0; i++)
        if (b->needed[i] && mark[i] == 1 && dync__xg_inst(g, i)->prim != DYNC__P_const_ &&
            !dync__avec_push(b->arena, &c->list, i))
            g->a.failed = true;
    code = 0;
    for (int p = 0; p < c->list.n; p++) {
        int i = c->list.at[p];
        for (int a = dync__lp_operands(b, i, arg) - 1; a >= 0; a--) {
            int v = dync__xg_root(g, arg[a]), type = dync__xg_inst(g, v)->type;
            if (dync__xg_inst(g, v)->prim == DYNC__P_const_ || (mark[v] == 1 && mark[arg[a]] == 1))
                continue;
            if ((c->input >= 0 && c->input != v) || type == DYNC_BOOL ||
                (dync__xg_type_wide(type) ? 8 : 4) != bytes)
                return false;
            c->input = v;
        }
        c->wide |= dync__xg_type_wide(dync__xg_inst(g, i)->type);
        code += dync__xg_inst(g, i)->prim != DYNC__P_bitcast;
    }
    for (int o = 0; o < c->n_outs; o++) {
        int far = dync__xg_inst(g, c->out[o])->arg[1];
        if (mark[far] != 1 || mark[dync__xg_root(g, far)] != 1 ||
            dync__xg_inst(g, far)->prim == DYNC__P_const_)
            return false;
    }
    return last >= first && c->input >= 0 && code >= 8;
}

DYNC__FN void dync__xg_find_cones(dync__xg *g)
{
    const dync__loop_plan *b = g->b;
    int n = b->k->inst.n;
    dync__xcone c;
    uint8_t *mark = NULL;
    for (int i = 0; i < n; i++) {
        const dync__inst *in = dync__xg_inst(g, i);
        if (in->prim != DYNC__P_select || !in->imm.i || !b->needed[i] || g->cone_of[i] >= 0 ||
            g->n_cones == DYNC__XG_CONES)
            continue;
        if (!mark && !(mark = dync__arena_alloc(b->arena, (size_t)n))) g->a.failed = true;
        if (!mark || !dync__xs_cone(g, i, mark, &c)) continue;
        for (int p = 0; p < c.list.n; p++) g->cone_of[c.list.at[p]] = DYNC__XG_CONES;
        for (int o = 0; o < c.n_outs; o++) g->cone_of[c.out[o]] = g->n_cones;
        g->cone[g->n_cones++] = c;
    }
}

/* ---- where values are ------------------------------------------------------------------------ */

static dync__xrm dync__xs_place(dync__xg *g, int v, int u)
{
    g->u = u;
    if (dync__xg_is_here(g, v) && g->val[v * DYNC__XG_UNROLL + u].reg >= 0)
        return dync__xg_at(g->saved_regs + 64 * g->val[v * DYNC__XG_UNROLL + u].reg);
    return dync__xg_home(g, v);
}

/* The selects of this list become their second choices: in the same registers where nothing else
 * wants these. */
static void dync__xs_take_near(dync__xg *g, const dync__xcone *c)
{
    for (int u = 0; u < g->U; u++) {
        g->u = u;
        for (int o = 0; o < c->n_outs; o++) {
            int m = c->out[o], v = dync__xg_root(g, dync__xg_inst(g, m)->arg[2]);
            if (g->in_list[m] != g->cur) continue;
            bool own = g->hoist[v] < 0 && dync__xg_is_here(g, v) && g->n_uses[v] == 1;
            int from = dync__xg_src(g, v);
            if (own)
                dync__xg_adopt(g, m, v);
            else
                dync__x_v(&g->a, DYNC__X_MOVAPS, dync__xg_vl(g, dync__xg_inst(g, m)->type),
                          dync__xg_def(g, m), 0, dync__x_reg(from), 0, 0);
            dync__xg_drop_temps(g);
        }
        if (dync__xg_is_here(g, c->input)) dync__xg_src(g, c->input); /* it may not be loaded yet */
        dync__xg_drop_temps(g);
    }
}

/* Zero flag: the condition holds nowhere. Its registers stay locked. */
static void dync__xs_test(dync__xg *g, int condition, int8_t *mask)
{
    dync__xasm *a = &g->a;
    bool k = g->isa == 2;
    for (int u = 0; u < g->U; u++) {
        g->u = u;
        mask[u] = (int8_t)(k ? dync__xg_src_k(g, condition) : dync__xg_src(g, condition));
    }
    int any = mask[0];
    if (g->U > 1) any = k ? dync__xg_temp_k(g) : dync__xg_temp(g);
    for (int u = 1; u < g->U; u++) {
        if (k)
            dync__x_k(a, DYNC__X_KORW, any, u == 1 ? mask[0] : any, dync__x_reg(mask[u]), 0);
        else
            dync__x_v(a, DYNC__X_ORPS, dync__xg_vl(g, DYNC_BOOL), any, u == 1 ? mask[0] : any,
                      dync__x_reg(mask[u]), 0, 0);
    }
    if (k) {
        dync__x_k(a, DYNC__X_KMOVW_GK, DYNC__RAX, 0, dync__x_reg(any), 0);
        dync__x_i(a, DYNC__X_TESTI, 0, dync__x_reg(DYNC__RAX), 0xffff);
    } else {
        dync__x_v(a, DYNC__X_PTEST, dync__xg_vl(g, DYNC_BOOL), any, 0, dync__x_reg(any), 0, 0);
    }
}

static void dync__xs_registers(dync__xg *g, bool save)
{
    for (int r = 0; r < g->n_regs; r++)
        if (g->owner[r] >= 0 || g->locked >> r & 1)
            dync__x_v(&g->a, save ? DYNC__X_MOVUPS_M : DYNC__X_MOVUPS, g->isa, r, 0,
                      dync__xg_at(g->saved_regs + 64 * r), 0, 0);
    for (int r = 1; r < 8; r++)
        if (g->owner_k[r] >= 0 || g->locked_k >> r & 1)
            dync__x_k(&g->a, save ? DYNC__X_KMOVW_M : DYNC__X_KMOVW, r, 0,
                      dync__xg_at(g->saved_regs + 64 * 32 + 8 * r), 0);
}

/* ---- the cone -------------------------------------------------------------------------------- */

static dync__xrm dync__xs_area(const dync__xg *g, int which)
{
    return dync__x_index(DYNC__RSP, DYNC__RBP, 1, g->cone_areas + 64 * DYNC__XG_UNROLL * which);
}

/* All of the inputs in the frame; g comes back as it was, but for what was emitted. */
static void dync__xs_loop(dync__xg *g, int number, int bytes)
{
    const dync__xcone *c = &g->cone[number];
    dync__xg before = *g;
    dync__xasm *a = &g->a;
    int top = dync__x_label(a), end = g->U * g->V * bytes, hoist = g->hoist[c->input];
    g->V = c->wide ? (g->isa == 2 ? 8 : 4) : g->V;
    g->U = 1;
    g->u = 0;
    g->cone_input = c->input;
    g->hoist[c->input] = -1;
    g->list[g->n_lists + number] = c->list;
    memset(&g->uses, 0, sizeof g->uses);
    dync__xg_begin_list(g, g->n_lists + number);
    dync__xg_reset(g);
    dync__x_i(a, DYNC__X_MOVI, 0, dync__x_reg(DYNC__RBP), 0);
    dync__x_bind(a, top);
    for (g->pos = 0; g->pos < c->list.n && !a->failed; g->pos++) {
        int i = c->list.at[g->pos];
        if (dync__xg_inst(g, i)->prim != DYNC__P_bitcast) dync__xg_prim(g, i);
        for (int o = 0; o < c->n_outs; o++)
            if (dync__xg_root(g, dync__xg_inst(g, c->out[o])->arg[1]) == i)
                dync__x_v(a, DYNC__X_MOVUPS_M, dync__xg_vl(g, dync__xg_inst(g, i)->type),
                          g->val[i * DYNC__XG_UNROLL].reg, 0, dync__xs_area(g, 1 + o), 0, 0);
        dync__xg_end(g);
    }
    dync__x_i(a, DYNC__X_ADDI, 0, dync__x_reg(DYNC__RBP), g->V * bytes);
    dync__x_i(a, DYNC__X_CMPI, 0, dync__x_reg(DYNC__RBP), end);
    dync__x_jump(a, DYNC__CC_L, top);
    before.a = g->a;
    before.frame = g->frame;
    before.free_spill = g->free_spill;
    *g = before;
    g->hoist[c->input] = (int8_t)hoist;
}

/* The results into the lanes of select m that want them. t, x: registers to use. */
static void dync__xs_blend(dync__xg *g, int m, int o, int u, int mask, int t, int x)
{
    dync__xasm *a = &g->a;
    int type = dync__xg_inst(g, m)->type, vl = dync__xg_vl(g, type);
    bool wide = dync__xg_type_wide(type);
    dync__xrm at = dync__xs_place(g, m, u),
              far = dync__xg_at(g->cone_areas + 64 * DYNC__XG_UNROLL * (1 + o) +
                                u * g->V * (wide ? 8 : 4));
    dync__x_v(a, DYNC__X_MOVUPS, vl, t, 0, at, 0, 0);
    if (g->isa == 2) {
        dync__x_v(a, wide ? DYNC__X_MOVUPD : DYNC__X_MOVUPS, vl, t, 0, far, 0, mask);
    } else {
        dync__x_v(a, wide ? DYNC__X_PMOVSXDQ : DYNC__X_MOVUPS, vl, x, 0,
                  dync__xg_at(g->saved_regs + 64 * mask), 0, 0);
        dync__x_v(a, wide ? DYNC__X_BLENDVPD : DYNC__X_BLENDVPS, vl, t, t, far, x << 4, 0);
    }
    dync__x_v(a, DYNC__X_MOVUPS_M, vl, t, 0, at, 0, 0);
}

DYNC__FN void dync__xg_seldom(dync__xg *g, int select)
{
    const dync__xcone *c = &g->cone[g->cone_of[select]];
    dync__xasm *a = &g->a;
    int skip = dync__x_label(a), bytes = dync__xg_type_wide(dync__xg_inst(g, select)->type) ? 8 : 4,
        vl = dync__xg_vl_bytes(g->V * bytes);
    int8_t mask[DYNC__XG_UNROLL] = {0};
    if (!g->saved_regs) {
        g->saved_regs = dync__xg_frame(g, 64 * 33);
        g->cone_areas = dync__xg_frame(g, 64 * DYNC__XG_UNROLL * (1 + DYNC__COUNT_OF(c->out)));
    }
    dync__xs_take_near(g, c);
    dync__xs_test(g, dync__xg_inst(g, select)->arg[0], mask);
    dync__x_jump(a, DYNC__CC_E, skip);
    dync__xs_registers(g, true);
    int t = __builtin_ctz(~g->pinned), x = __builtin_ctz(~g->pinned & ~(1u << t));
    for (int u = 0; u < g->U; u++) {
        dync__xrm from = g->hoist[c->input] >= 0 ? dync__x_reg(g->hoist[c->input])
                                                 : dync__xs_place(g, c->input, u);
        dync__x_v(a, from.is_mem ? DYNC__X_MOVUPS : DYNC__X_MOVAPS, vl, t, 0, from, 0, 0);
        dync__x_v(a, DYNC__X_MOVUPS_M, vl, t, 0, dync__xg_at(g->cone_areas + u * g->V * bytes), 0,
                  0);
    }
    dync__xs_loop(g, g->cone_of[select], bytes);
    for (int r = 1; r < 8 && g->isa == 2; r++)
        if (g->locked_k >> r & 1)
            dync__x_k(a, DYNC__X_KMOVW, r, 0, dync__xg_at(g->saved_regs + 64 * 32 + 8 * r), 0);
    for (int u = 0; u < g->U; u++)
        for (int o = 0; o < c->n_outs; o++)
            if (g->in_list[c->out[o]] == g->cur) dync__xs_blend(g, c->out[o], o, u, mask[u], t, x);
    dync__xs_registers(g, false);
    dync__x_bind(a, skip);
    dync__xg_drop_temps(g);
    g->u = 0;
}
#endif
