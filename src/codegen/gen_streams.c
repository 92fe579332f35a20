/* codegen/gen_streams.c: addresses of streams in registers, for a phase or for all rows. What a row
 * adds to an address in memory the next row waits for, behind all stores of the row; so does what
 * reads an index that the row has stored. After gen_load.c, before gen_store.c. */
#include "../dync.in.h"
#include "gen_streams.h"
DYNC__LEAN
#if DYNC__JIT

/* What a phase may keep addresses in. */
static const int8_t dync__gen_bases[] = {DYNC__G_A0, DYNC__G_A1, DYNC__G_A2, DYNC__G_A3, DYNC__G_A4,
                                         DYNC__G_A5, DYNC__G_A6, DYNC__G_A7, DYNC__G_A8};

static bool dync__gen_uses_stream(const dync__gen *g, int list, int s)
{
    const dync__gen_list *l = &g->list[list];
    for (int p = 0; p < l->n; p++)
        if (g->stream_of[l->at[p]] == s || g->keep_stream[l->at[p]] == s) return true;
    return false;
}

static void dync__gen_forget_streams(dync__gen *g)
{
    for (int s = 0; s < g->stream.n; s++) {
        dync__gen_stream *st = &g->stream.at[s];
        st->gpr = st->led = -1;
        st->pointer = -1;
    }
}

DYNC__FN void dync__gen_phase_streams(dync__gen *g)
{
    int next = 0, most = DYNC__COUNT_OF(dync__gen_bases) - (g->strip > 0); /* GEN_ROW */
    dync__gen_forget_streams(g);
    for (int s = 0; s < g->stream.n; s++) {
        dync__gen_stream *st = &g->stream.at[s];
        if (!dync__gen_uses_stream(g, g->cur, s) || (g->square && st->transposed)) continue;
        dync__place at = dync__gen_address(g, s);
        if (next < most) {
            st->gpr = dync__gen_bases[next++];
            DYNC__A(&g->a, GET, .to = st->gpr, .y = at);
        } else if (g->n_inner_dims > 0) {
            st->pointer = dync__gen_frame(g, 8);
            DYNC__A(&g->a, GET, .to = DYNC__G_T0, .y = at);
            DYNC__A(&g->a, PUT, .x = DYNC__G_T0, .y = dync__gen_at(st->pointer));
        }
    }
}

/* ---- from row to row ------------------------------------------------------------------------- */

/* The row index by which the phase finds what stream s gathers; -1: none, or one a lane. */
static int dync__gen_leader(const dync__gen *g, int s)
{
    const dync__gen_stream *st = &g->stream.at[s];
    if (st->kind != DYNC__GS_GATHER || dync__lp_list(g->b, st->inst) != 2) return -1;
    int index = dync__gen_root(g, dync__gen_inst(g, st->inst)->arg[0]);
    bool leads = dync__lp_list(g->b, index) == 1 && g->slot[index] >= 0 &&
                 dync__gen_inst(g, index)->type == DYNC_I64 && dync__gen_is_even(g, index, 0);
    return leads ? index : -1;
}

/* Are the rows loops of lanes and row code alone, which leave address registers as they are? */
static bool dync__gen_rows_are_plain(const dync__gen *g)
{
    bool plain = g->b->n_phases == 1 && !g->vertical && !g->split && !g->tall && !g->strip &&
                 !g->b->has_scan && !g->b->k->uses_random && g->red.n == 0 && g->n_cones == 0 &&
                 g->n_inner_dims == 0 && g->n_row_dims > 0;
    for (int s = 0; s < g->stream.n && plain; s++) plain = g->stream.at[s].kind != DYNC__GS_KEEP;
    return plain;
}

DYNC__FN void dync__gen_keep_rows(dync__gen *g)
{
    int next = 0, most = DYNC__COUNT_OF(dync__gen_bases);
    g->kept = dync__gen_rows_are_plain(g);
    dync__gen_forget_streams(g);
    for (int s = 0; s < g->stream.n && g->kept; s++) {
        bool used = false;
        for (int list = 1; list <= 3; list++) used |= dync__gen_uses_stream(g, list, s);
        if (used && next < most) g->stream.at[s].gpr = dync__gen_bases[next++];
        g->kept = !used || g->stream.at[s].gpr >= 0;
    }
    if (!g->kept) {
        dync__gen_forget_streams(g);
        return;
    }
    for (int s = 0; s < g->stream.n; s++) {
        dync__gen_stream *st = &g->stream.at[s];
        if (st->gpr < 0) continue;
        DYNC__A(&g->a, GET, .to = st->gpr, .y = dync__gen_address(g, s));
        if (next < most && dync__gen_leader(g, s) >= 0) st->led = dync__gen_bases[next++];
    }
}

DYNC__FN void dync__gen_lead(dync__gen *g, int i, int r)
{
    for (int s = 0; s < g->stream.n; s++) {
        const dync__gen_stream *st = &g->stream.at[s];
        if (st->led < 0 || dync__gen_leader(g, s) != i) continue;
        DYNC__A(&g->a, FIRST_TO, .v = dync__gen_vt(g, DYNC_I64), .x = r, .y = dync__a_reg(st->led));
        DYNC__A(&g->a, ADDRESS, .to = st->led, .y = dync__a_index(st->gpr, st->led, st->bytes, 0));
    }
}
#endif
