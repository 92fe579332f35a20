/* codegen/gen_lanes.c: a list of instructions over lanes: for U vectors at once, then for what is
 * left of a row. After gen_hoist.c; before gen_loops.c, which makes phases of it.
 *
 *   U vectors, `turns` times in turn, while they are whole
 *   half as many, ..., one vector
 *   the last one, masked; where masks have registers the last two, or one */
#include "../dync.in.h"
#include "gen_reduce.h"
DYNC__LEAN
#if DYNC__JIT

/* ---- a list ---------------------------------------------------------------------------------- */

static void dync__gen_emit_inst(dync__gen *g, int i)
{
    const dync__loop_plan *b = g->b;
    const dync__inst *in = dync__gen_inst(g, i);
    bool back = b->keep[i] && dync__lp_list(b, i) != g->cur;
    if (back) {
        dync__gen_keep(g, i, true);
        dync__gen_end(g);
        return;
    }
    switch (in->prim) {
    case DYNC__P_load: dync__gen_load(g, i); break;
    case DYNC__P_loadx: dync__gen_gather(g, i); break;
    case DYNC__P_store: dync__gen_store(g, i); break;
    case DYNC__P_index: dync__gen_index(g, i); break;
    case DYNC__P_reduce: dync__gen_reduce(g, i); break;
    case DYNC__P_scan: dync__gen_scan(g, i); break;
    default:
        /* made with its cone */
        if (g->val[i * DYNC__GEN_UNROLL + g->u].reg >= 0 ||
            g->val[i * DYNC__GEN_UNROLL + g->u].spill >= 0)
            dync__gen_src(g, i);
        else if (in->prim == DYNC__P_cast && g->pooled[i])
            dync__gen_index(g, i);
        else
            dync__gen_prim(g, i);
        break;
    }
    if (dync__inst_has_value(in) && in->prim != DYNC__P_reduce) {
        if (g->slot[i] >= 0) dync__gen_slot_store(g, i);
        if (b->keep[i]) dync__gen_keep(g, i, false);
    }
    dync__gen_end(g);
}

DYNC__FN void dync__gen_emit_list(dync__gen *g)
{
    const dync__gen_list *l = &g->list[g->cur];
    dync__gen_reset(g);
    for (g->pos = 0; g->pos < l->n && !g->a.failed; g->pos++) {
        int i = l->at[g->pos];
        if (g->a.listing) {
            const dync__inst *in = dync__gen_inst(g, i);
            dync__str_addf(g->a.listing, "  ; v%d %s%s%s\n", i, dync__prim_info(in->prim)->name,
                           in->origin ? " of " : "", in->origin ? in->origin : "");
        }
        int cone = g->cone_of[i];
        if (cone >= 0 && g->val[i * DYNC__GEN_UNROLL].reg < 0 &&
            g->val[i * DYNC__GEN_UNROLL].spill < 0)
            dync__gen_cold(g, i);
        for (g->u = 0; g->u < (g->leads[i] ? 1 : g->U); g->u++) dync__gen_emit_inst(g, i);
    }
    g->u = 0;
}

/* END lanes are left: what masks need. */
DYNC__FN void dync__gen_tail_masks(dync__gen *g)
{
    DYNC__A(&g->a, PUT, .x = DYNC__G_END, .y = dync__gen_at(g->tail_count));
    g->pos = 0;
    dync__gen_reset(g);
    DYNC__A(&g->a, TAIL, .v = dync__gen_vt(g, g->wide ? DYNC_I64 : DYNC_I32), .n = g->U,
            .m = g->tail_mask, .y = dync__gen_at(g->tail_count));
}

/* ---- lanes ----------------------------------------------------------------------------------- */

/* The list for each turn: U vectors, from LANE on. */
static void dync__gen_turns(dync__gen *g)
{
    for (g->turn = 0; g->turn < g->turns; g->turn++) {
        dync__gen_emit_list(g);
        DYNC__A(&g->a, ADD_N, .y = dync__a_reg(DYNC__G_LANE), .n = g->U * g->V);
    }
    g->turn = 0;
}

/* Behind U vectors at a time: half as many, ..., one, and the last one masked. Not where the rest
 * takes all of them anyway, nor where half a group of a running sum would be left. */
static bool dync__gen_rest_halves(const dync__gen *g, int most)
{
    return g->U * g->turns > 1 && most > 2 && !(g->V == 4 && g->b->has_scan);
}

/* What is left of U * turns vectors, but for the last ones, masked. END: where U * turns may begin
 * at the last. */
static void dync__gen_rest(dync__gen *g)
{
    dync__asm *a = &g->a;
    int n = g->U * g->turns / 2;
    g->turns = 1;
    /* where a mask costs little, a whole vector and a part of one are done at once */
    g->parts = a->t->n_masks && n > 1 ? 2 : 1;
    for (; n >= g->parts; n /= 2) {
        int next = dync__a_label(a);
        g->U = n;
        DYNC__A(a, ADD_N, .y = dync__a_reg(DYNC__G_END), .n = n * g->V);
        DYNC__A(a, JUMP_IF, .op = DYNC__IF_GT, .x = DYNC__G_LANE, .y = dync__a_reg(DYNC__G_END),
                .label = next);
        dync__gen_turns(g);
        DYNC__A(a, LABEL, .label = next);
    }
    g->U = 1;
}

/* The last vectors, masked: U, `turns` times in turn; of what is halved one, or two. */
static void dync__gen_last(dync__gen *g, dync__place end, int done)
{
    dync__asm *a = &g->a;
    g->masked = true;
    for (g->turn = 0; g->turn < g->turns; g->turn++) {
        if (g->turn) DYNC__A(a, ADD_N, .y = dync__a_reg(DYNC__G_LANE), .n = g->U * g->V);
        DYNC__A(a, GET, .to = DYNC__G_END, .y = end);
        DYNC__A(a, LESS_JUMP, .op = DYNC__IF_LE, .to = DYNC__G_END, .y = dync__a_reg(DYNC__G_LANE),
                .label = done);
        if (g->parts > 1) {
            int one = dync__a_label(a);
            DYNC__A(a, JUMP_IF_N, .op = DYNC__IF_LE, .y = dync__a_reg(DYNC__G_END), .n = g->V,
                    .label = one);
            g->U = g->parts;
            dync__gen_tail_masks(g);
            dync__gen_emit_list(g);
            DYNC__A(a, JUMP, .label = done);
            DYNC__A(a, LABEL, .label = one);
            g->U = 1;
        }
        dync__gen_tail_masks(g);
        dync__gen_emit_list(g);
    }
    g->turn = 0;
}

DYNC__FN void dync__gen_lanes(dync__gen *g, dync__place end, int most)
{
    dync__asm *a = &g->a;
    int body = dync__a_label(a), tail = dync__a_label(a), done = dync__a_label(a), U = g->U,
        turns = g->turns;
    DYNC__A(a, GET, .to = DYNC__G_END, .y = end);
    DYNC__A(a, SUB_N, .y = dync__a_reg(DYNC__G_END), .n = g->U * g->V * g->turns);
    DYNC__A(a, JUMP_IF, .op = DYNC__IF_GT, .x = DYNC__G_LANE, .y = dync__a_reg(DYNC__G_END),
            .label = tail);
    DYNC__A(a, LABEL, .label = body);
    g->masked = false;
    dync__gen_turns(g);
    DYNC__A(a, JUMP_IF, .op = DYNC__IF_LE, .x = DYNC__G_LANE, .y = dync__a_reg(DYNC__G_END),
            .label = body);
    DYNC__A(a, LABEL, .label = tail);
    if (dync__gen_rest_halves(g, most)) dync__gen_rest(g);
    dync__gen_last(g, end, done);
    DYNC__A(a, LABEL, .label = done);
    g->U = U;
    g->turns = turns;
    g->masked = false;
    g->parts = 0;
}

DYNC__FN void dync__gen_lanes_of(dync__gen *g, int span, int most, dync__place lanes,
                                 dync__place limit)
{
    dync__asm *a = &g->a;
    int step = g->U * g->V * g->turns, rest = dync__a_label(a), done = dync__a_label(a);
    bool out = span <= DYNC__GEN_GRAIN && g->list[g->cur].n <= DYNC__GEN_WRITTEN_OUT;
    g->masked = false;
    DYNC__A(a, ADDRESS, .to = DYNC__G_END, .y = dync__a_mem(DYNC__G_LANE, span));
    DYNC__A(a, JUMP_IF, .op = out ? DYNC__IF_GT : DYNC__IF_LE, .x = DYNC__G_END, .y = lanes,
            .label = rest);
    for (int at = 0; out && at < span; at += step) dync__gen_turns(g);
    if (out) {
        DYNC__A(a, JUMP, .label = done);
        DYNC__A(a, LABEL, .label = rest);
        dync__gen_reset(g);
    }
    DYNC__A(a, GET, .to = DYNC__G_END, .y = lanes);
    if (!out) DYNC__A(a, LABEL, .label = rest);
    DYNC__A(a, PUT, .x = DYNC__G_END, .y = limit);
    dync__gen_lanes(g, limit, most);
    DYNC__A(a, GET, .to = DYNC__G_LANE, .y = limit);
    DYNC__A(a, LABEL, .label = done);
    dync__gen_reset(g);
}
#endif
