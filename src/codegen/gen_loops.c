/* codegen/gen_loops.c: the phases of a kernel over verbs (target.h). Before: jit.c has made streams
 * and lists; after: gen_kernel.c, which puts them together.
 *
 *   rows one at a time             rows side by side (vertical)
 *     list 0                         list 0
 *     for each row                   for each value of the other row loops
 *       list 1, phase 0, list 3...     for U vectors of rows, the last ones masked
 *                                        list 1, phase 0, list 3...
 *   phase: for the outer of the      phase: for all inner loops
 *     inner loops: the last one's
 *     lanes (gen_lanes.c)
 *
 * A phase's addresses stand in registers as far as they go, else in the frame; so do its
 * accumulators and most used constants. */
#include "../dync.in.h"
#include "gen_reduce.h"
#include "gen_streams.h"
#include "gen_transpose.h"
DYNC__LEAN
#if DYNC__JIT

/* ---- lists ----------------------------------------------------------------------------------- */

DYNC__FN void dync__gen_row_list(dync__gen *g, int list)
{
    g->in_phase = false;
    g->pinned = 0;
    dync__gen_begin_list(g, list);
    if (g->list[list].n > 0) dync__gen_emit_list(g);
}

/* ---- rows ------------------------------------------------------------------------------------ */

DYNC__FN void dync__gen_next_row(dync__gen *g, int top)
{
    dync__asm *a = &g->a;
    int end = dync__a_label(a);
    DYNC__A(a, SUB_JUMP, .op = DYNC__IF_EQ, .y = dync__gen_arg(8 * DYNC__GW_ROWS), .n = 1,
            .label = end);
    for (int d = g->n_row_dims - 1; d >= 0; d--) {
        for (int s = 0; s < g->stream.n; s++) {
            dync__place step = dync__gen_arg(dync__gen_record(g, s, DYNC__GW_STEP + d));
            if (g->stream.at[s].kind == DYNC__GS_KEEP) continue;
            if (g->kept && g->stream.at[s].gpr >= 0) {
                DYNC__A(a, ADD, .to = g->stream.at[s].gpr, .y = step);
                continue;
            }
            DYNC__A(a, GET, .to = DYNC__G_T0, .y = step);
            DYNC__A(a, ADD_TO, .x = DYNC__G_T0,
                    .y = dync__gen_arg(dync__gen_record(g, s, DYNC__GW_AT)));
        }
        if (d == 0) break;
        dync__place left = dync__gen_arg(8 * (DYNC__GW_FIXED + 2 * d)),
                    extent = dync__gen_arg(8 * (DYNC__GW_FIXED + 2 * d + 1));
        DYNC__A(a, SUB_JUMP, .op = DYNC__IF_NE, .y = left, .n = 1, .label = top);
        DYNC__A(a, GET, .to = DYNC__G_T0, .y = extent);
        DYNC__A(a, PUT, .x = DYNC__G_T0, .y = left);
    }
    DYNC__A(a, JUMP, .label = top);
    DYNC__A(a, LABEL, .label = end);
}

/* ---- phases ---------------------------------------------------------------------------------- */

/* Vectors at once: as many as registers allow. */
DYNC__FN int dync__gen_unroll(dync__gen *g, int list, int most)
{
    dync__gen_begin_list(g, list);
    int each = dync__gen_pressure(g, list), u = most;
    while (u > 1 && u * each + 2 > g->n_regs) u = (u + 1) / 2;
    return u;
}

static int32_t dync__gen_inner_extent(const dync__gen *g, int d)
{
    return 8 * (DYNC__GW_FIXED + 2 * g->n_row_dims + d);
}

static void dync__gen_step_streams(dync__gen *g, int d)
{
    for (int s = 0; s < g->stream.n; s++) {
        const dync__gen_stream *st = &g->stream.at[s];
        dync__place step = dync__gen_arg(dync__gen_record(g, s, DYNC__GW_STEP + g->n_row_dims + d));
        if (st->gpr >= 0) {
            DYNC__A(&g->a, ADD, .to = st->gpr, .y = step);
        } else if (st->pointer >= 0) {
            DYNC__A(&g->a, GET, .to = DYNC__G_T0, .y = step);
            DYNC__A(&g->a, ADD_TO, .x = DYNC__G_T0, .y = dync__gen_at(st->pointer));
        }
    }
}

/* The inner loops that are no lane loop: an odometer. */
static int dync__gen_inner_begin(dync__gen *g, int32_t counts)
{
    for (int d = 0; d < g->n_inner_dims; d++) {
        DYNC__A(&g->a, GET, .to = DYNC__G_T0, .y = dync__gen_arg(dync__gen_inner_extent(g, d)));
        DYNC__A(&g->a, PUT, .x = DYNC__G_T0, .y = dync__gen_at(counts + 8 * d));
    }
    int top = dync__a_label(&g->a);
    DYNC__A(&g->a, LABEL, .label = top);
    return top;
}

static void dync__gen_inner_end(dync__gen *g, int32_t counts, int top)
{
    for (int d = g->n_inner_dims - 1; d >= 0; d--) {
        dync__gen_step_streams(g, d);
        DYNC__A(&g->a, SUB_JUMP, .op = DYNC__IF_NE, .y = dync__gen_at(counts + 8 * d), .n = 1,
                .label = top);
        if (d == 0) break;
        DYNC__A(&g->a, GET, .to = DYNC__G_T0, .y = dync__gen_arg(dync__gen_inner_extent(g, d)));
        DYNC__A(&g->a, PUT, .x = DYNC__G_T0, .y = dync__gen_at(counts + 8 * d));
    }
}

static bool dync__gen_has_ordered(const dync__gen *g, int phase)
{
    for (int i = 0; i < g->red.n; i++)
        if (g->red.at[i].phase == phase && g->red.at[i].ordered) return true;
    return false;
}

static void dync__gen_clear(dync__gen *g, int32_t at)
{
    DYNC__A(&g->a, SET, .to = DYNC__G_T0, .n = 0);
    DYNC__A(&g->a, PUT, .x = DYNC__G_T0, .y = dync__gen_at(at));
}

/* A row: the last inner loop in lanes; sums grain by grain, what is read from memory page by
 * page. */
DYNC__FN void dync__gen_row_phase(dync__gen *g, int phase, int most)
{
    dync__asm *a = &g->a;
    int list = 2 + 2 * phase;
    if (g->list[list].n == 0) return;
    bool sums = dync__gen_has_ordered(g, phase), ordered = sums && !g->brief,
         far = dync__gen_far(g, phase, most) && !g->brief;
    int32_t counts = dync__gen_frame(g, 8 * DYNC__GEN_DIMS), grains = dync__gen_frame(g, 16);
    g->single = false;
    /* a scan takes eight lanes at once */
    g->U =
        DYNC__MAX(dync__gen_unroll(g, list, most), g->V == 4 && g->b->has_scan && most > 1 ? 2 : 1);
    /* sums in registers: what one accumulator takes is told when the code is made */
    g->turns = sums && 2 * g->U * g->V == DYNC__GEN_LANES ? 2 : 1;
    g->in_phase = true;
    g->pinned = 0;
    g->pos = 0;
    dync__gen_reduce_pin(g, phase);
    dync__gen_reset(g);
    dync__gen_scan_begin(g);
    dync__gen_hoist(g);
    if (g->late) DYNC__A(a, LABEL, .label = g->top);
    if (!g->kept) dync__gen_phase_streams(g);
    dync__gen_reset(g);
    dync__gen_reduce_init(g, phase, false, false);
    if (sums && !ordered) dync__gen_reduce_init(g, phase, true, false);
    if (ordered) dync__gen_clear(g, grains);
    bool places = dync__gen_has_places(g, phase);
    if (places) dync__gen_clear(g, g->place);
    int top = dync__gen_inner_begin(g, counts);
    dync__place lanes = dync__gen_arg(8 * DYNC__GW_LANES);
    DYNC__A(a, SET, .to = DYNC__G_LANE, .n = 0);
    if (!ordered && !far) {
        dync__gen_lanes(g, lanes, most);
    } else {
        int grain = dync__a_label(a);
        DYNC__A(a, LABEL, .label = grain);
        dync__gen_reset(g);
        if (far) dync__gen_prefetch_page(g, list);
        if (ordered) dync__gen_reduce_init(g, phase, true, false);
        dync__gen_lanes_of(g, ordered ? DYNC__GEN_GRAIN : 1024, most, lanes,
                           dync__gen_at(grains + 8));
        if (ordered) dync__gen_grain_end(g, phase, grains);
        DYNC__A(a, JUMP_IF, .op = DYNC__IF_LT, .x = DYNC__G_LANE, .y = lanes, .label = grain);
    }
    if (places) {
        DYNC__A(a, GET, .to = DYNC__G_T0, .y = lanes);
        DYNC__A(a, ADD_TO, .x = DYNC__G_T0, .y = dync__gen_at(g->place));
    }
    dync__gen_inner_end(g, counts, top);
    dync__gen_reset(g);
    dync__gen_reduce_end(g, phase, grains);
    dync__gen_unhoist(g);
    g->in_phase = false;
    g->turns = 1;
}

/* Rows side by side: all inner loops, one index at a time. */
DYNC__FN void dync__gen_column_phase(dync__gen *g, int phase)
{
    int list = 2 + 2 * phase;
    bool masked = g->masked, ordered = dync__gen_has_ordered(g, phase);
    if (g->list[list].n == 0) return;
    int32_t counts = dync__gen_frame(g, 8 * DYNC__GEN_DIMS), added = dync__gen_frame(g, 8);
    dync__gen_begin_list(g, list);
    g->in_phase = true;
    g->pinned = 0;
    g->pos = 0;
    dync__gen_reduce_pin(g, phase);
    dync__gen_reset(g);
    dync__gen_scan_begin(g);
    dync__gen_hoist(g);
    dync__gen_phase_streams(g);
    dync__gen_reset(g);
    dync__gen_reduce_init(g, phase, false, false);
    dync__gen_reduce_init(g, phase, true, !g->tall && !g->brief);
    if (ordered && !g->brief) dync__gen_clear(g, added);
    dync__gen_clear(g, g->place);
    if (g->tall && dync__gen_has_places(g, phase)) { /* the first of these rows */
        DYNC__A(&g->a, GET, .to = DYNC__G_T0, .y = dync__gen_arg(8 * DYNC__GW_OUT));
        DYNC__A(&g->a, PUT, .x = DYNC__G_T0, .y = dync__gen_at(g->place));
    }
    int top = dync__gen_inner_begin(g, counts);
    g->masked = masked;
    dync__gen_emit_list(g);
    dync__gen_reset(g);
    if (ordered && !g->tall && !g->brief) dync__gen_vertical_carry(g, phase, added);
    if (dync__gen_has_places(g, phase)) DYNC__A(&g->a, ADD_N, .y = dync__gen_at(g->place), .n = 1);
    dync__gen_inner_end(g, counts, top);
    dync__gen_reset(g);
    if (g->tall && ordered) dync__gen_vertical_carry(g, phase, added);
    if (g->tall)
        dync__gen_vertical_rest(g, phase);
    else
        dync__gen_reduce_end(g, phase, 0);
    dync__gen_unhoist(g);
    g->in_phase = false;
}
#endif
