/* codegen/gen_hoist.c: what a phase keeps in registers beside accumulators. After gen_fold.c and
 * before gen_loops.c. */
#include "../dync.in.h"
#include "gen.h"
DYNC__LEAN
#if DYNC__JIT

/* Is there a draw that takes a block for each number? */
static bool dync__gen_draws_alone(const dync__gen *g)
{
    const dync__gen_list *l = &g->list[g->cur];
    bool any = false;
    for (int p = 0; p < l->n && !any; p++)
        any = dync__gen_inst(g, l->at[p])->prim == DYNC__P_random && !g->pooled[l->at[p]];
    return any;
}

/* The most used constants and row values into the registers that are left. */
DYNC__FN void dync__gen_hoist(dync__gen *g)
{
    const dync__gen_list *l = &g->list[g->cur];
    const dync__loop_plan *b = g->b;
    DYNC__VEC(int32_t) seen = {NULL, 0, 0};
    int32_t arg[DYNC__GEN_ARGS],
        *count = dync__arena_alloc(b->arena, (size_t)b->k->inst.n * sizeof *count);
    int left = g->n_regs - __builtin_popcount(g->pinned) - g->U * dync__gen_pressure(g, g->cur) -
               (g->b->has_scan             ? 7
                : dync__gen_draws_alone(g) ? DYNC__DRAW_REGS
                                           : 2);
    if (!count) {
        g->a.failed = true;
        return;
    }
    for (int p = 0; p < l->n && left > 0; p++) {
        if (b->keep[l->at[p]] && dync__lp_list(b, l->at[p]) != g->cur) continue;
        for (int n = dync__gen_args(g, l->at[p], arg) - 1; n >= 0; n--) {
            int v = dync__gen_root(g, arg[n]), type = dync__gen_inst(g, v)->type;
            bool constant = dync__gen_inst(g, v)->prim == DYNC__P_const_;
            /* from memory */
            bool leads = dync__gen_inst(g, l->at[p])->prim == DYNC__P_loadx &&
                         dync__gen_is_even(g, v, 0);
            if ((g->in_list[v] == g->cur && !constant) || type == DYNC_BOOL ||
                (g->vertical && b->level[v] == 1) || leads)
                continue;
            if (count[v]++ == 0 && !dync__avec_push(b->arena, &seen, v)) g->a.failed = true;
        }
    }
    for (; left > 0 && seen.n > 0 && !g->a.failed; left--) {
        int best = 0;
        for (int s = 1; s < seen.n; s++)
            if (count[seen.at[s]] > count[seen.at[best]]) best = s;
        int v = seen.at[best], r = dync__gen_src(g, v); /* read into any register, */
        int home = dync__gen_pin(g);                    /* kept in one from the top */
        DYNC__A(&g->a, LOAD, .v = dync__gen_vt(g, dync__gen_inst(g, v)->type), .to = home,
                .y = dync__a_reg(r));
        g->hoist[v] = (int8_t)home;
        dync__gen_drop_temps(g);
        g->free_regs &= ~g->pinned;
        seen.at[best] = seen.at[--seen.n];
    }
}

DYNC__FN void dync__gen_unhoist(dync__gen *g) { memset(g->hoist, 0xff, (size_t)g->b->k->inst.n); }
#endif
