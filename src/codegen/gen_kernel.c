/* codegen/gen_kernel.c: a whole kernel over verbs: its frame, its segments, its row loops around
 * the phases of gen_loops.c. After: the target finishes the bytes. */
#include "../dync.in.h"
#include "gen_reduce.h"
#include "gen_streams.h"
#include "gen_transpose.h"
DYNC__LEAN
#if DYNC__JIT

/* ---- the kernel ------------------------------------------------------------------------------ */

static void dync__gen_columns(dync__gen *g, bool masked)
{
    int phases = g->b->n_phases;
    g->single = false;
    for (int p = 0; p < phases && !g->ends; p++) {
        g->masked = masked;
        dync__gen_row_list(g, 1 + 2 * p);
        dync__gen_column_phase(g, p);
    }
    if (g->ends) {
        dync__gen_begin_list(g, 2);
        g->pinned = 0;
        g->pos = 0;
        dync__gen_reduce_pin(g, 0);
        dync__gen_reset(g);
        dync__gen_reduce_end(g, 0, 0);
        g->masked = masked;
    }
    if (!g->tall || g->ends) dync__gen_row_list(g, 1 + 2 * phases);
    if (g->tall) DYNC__A(&g->a, ADD_N, .y = dync__gen_at(g->state), .n = 3 * 64 * g->U * g->red.n);
    g->masked = false;
}

/* END lanes are left. most: vectors at once; those of fewer lanes never leave half. */
static void dync__gen_vertical_tail(dync__gen *g, int most, int done)
{
    int all = g->U, more = dync__a_label(&g->a);
    if (all > 1 && most > 3 && !g->tall) {
        g->U = all / 2;
        DYNC__A(&g->a, JUMP_IF_N, .op = DYNC__IF_GT, .y = dync__a_reg(DYNC__G_END),
                .n = g->U * g->V, .label = more);
        dync__gen_tail_masks(g);
        dync__gen_columns(g, true);
        DYNC__A(&g->a, JUMP, .label = done);
        DYNC__A(&g->a, LABEL, .label = more);
        g->U = all;
    }
    dync__gen_tail_masks(g);
    dync__gen_columns(g, true);
}

static void dync__gen_vertical(dync__gen *g, int most)
{
    dync__asm *a = &g->a;
    int body = dync__a_label(a), tail = dync__a_label(a), done = dync__a_label(a),
        step = g->U * g->V;
    dync__place lanes = dync__gen_arg(8 * DYNC__GW_LANES);
    if (g->tall) {
        DYNC__A(a, GET, .to = DYNC__G_T0, .y = dync__gen_arg(8 * DYNC__GW_IN));
        DYNC__A(a, PUT, .x = DYNC__G_T0, .y = dync__gen_at(g->state));
    }
    DYNC__A(a, SET, .to = DYNC__G_LANE, .n = 0);
    DYNC__A(a, LABEL, .label = body);
    DYNC__A(a, ADDRESS, .to = DYNC__G_T0, .y = dync__a_mem(DYNC__G_LANE, step));
    DYNC__A(a, JUMP_IF, .op = DYNC__IF_GT, .x = DYNC__G_T0, .y = lanes, .label = tail);
    dync__gen_columns(g, false);
    DYNC__A(a, ADD_N, .y = dync__a_reg(DYNC__G_LANE), .n = step);
    DYNC__A(a, JUMP, .label = body);
    DYNC__A(a, LABEL, .label = tail);
    DYNC__A(a, GET, .to = DYNC__G_END, .y = lanes);
    DYNC__A(a, LESS_JUMP, .op = DYNC__IF_LE, .to = DYNC__G_END, .y = dync__a_reg(DYNC__G_LANE),
            .label = done);
    dync__gen_vertical_tail(g, most, done);
    DYNC__A(a, LABEL, .label = done);
}

/* What is transposed, V rows from lane LANE on of a stream, to registers, or to the frame. */
static void dync__gen_transpose(dync__gen *g, int stream)
{
    dync__asm *a = &g->a;
    dync__gen_stream *st = &g->stream.at[stream];
    dync__vt v = dync__gen_vt(g, st->bytes == 8 ? DYNC_I64 : DYNC_I32);
    dync__place step = dync__gen_arg(dync__gen_record(g, stream, DYNC__GW_LANE));
    DYNC__A(a, GET, .to = DYNC__G_T0, .y = step);
    DYNC__A(a, ADDRESS, .to = DYNC__G_T2, .y = dync__a_index(DYNC__G_T0, DYNC__G_T0, 2, 0));
    DYNC__A(a, GET, .to = DYNC__G_T1, .y = dync__a_reg(DYNC__G_LANE));
    DYNC__A(a, MUL, .to = DYNC__G_T1, .y = step);
    DYNC__A(a, ADD, .to = DYNC__G_T1, .y = dync__gen_arg(dync__gen_record(g, stream, DYNC__GW_AT)));
    dync__tr_square(a, st->bytes, DYNC__G_T1, DYNC__G_T0, DYNC__G_T2, true, g->transposed);
    if (!g->transposed_once && st->pointer < 0) st->pointer = dync__gen_frame(g, 64 * g->V);
    for (int i = 0; i < g->V && !g->transposed_once; i++)
        DYNC__A(a, STORE, .v = v, .x = g->transposed[i], .y = dync__gen_at(st->pointer + 64 * i));
}

/* Kernels that transpose loads only and are short: V rows at a time, for V lanes at a time
 * transposed in registers, row after row. ROWS counts V rows, LANES is a multiple of V. Each cache
 * line is read whole and once, and what is read, transposed and stored is in flight together:
 * whatever goes by way of memory waits. */
static void dync__gen_squares(dync__gen *g)
{
    dync__asm *a = &g->a;
    int rows = dync__a_label(a), lanes = dync__a_label(a), transposed = 0;
    g->U = 1;
    g->single = g->masked = false;
    g->in_phase = true;
    dync__gen_begin_list(g, 2);
    for (int p = 0; p < g->list[2].n; p++)
        transposed += g->stream_of[g->list[2].at[p]] >= 0 &&
                      g->stream.at[g->stream_of[g->list[2].at[p]]].transposed;
    g->transposed_once = transposed == 1;
    g->pinned = (1u << DYNC__TR_SQUARE) - 1;
    g->pos = 0;
    dync__gen_reset(g);
    dync__gen_hoist(g);
    uint32_t hoisted = g->pinned & ~((1u << DYNC__TR_SQUARE) - 1);
    DYNC__A(a, LABEL, .label = rows);
    DYNC__A(a, SET, .to = DYNC__G_LANE, .n = 0);
    DYNC__A(a, LABEL, .label = lanes);
    dync__gen_phase_streams(g);
    for (int s = 0; s < g->stream.n; s++)
        if (g->stream.at[s].transposed) dync__gen_transpose(g, s);
    for (g->row = 0; g->row < g->V; g->row++) {
        g->pinned = hoisted;
        for (int i = g->row; i < g->V && g->transposed_once; i++)
            g->pinned |= 1u << g->transposed[i];
        dync__gen_emit_list(g);
        for (int s = 0; s < g->stream.n && g->row + 1 < g->V; s++)
            if (g->stream.at[s].gpr >= 0)
                DYNC__A(a, ADD, .to = g->stream.at[s].gpr,
                        .y = dync__gen_arg(dync__gen_record(g, s, DYNC__GW_STEP)));
    }
    DYNC__A(a, ADD_N, .y = dync__a_reg(DYNC__G_LANE), .n = g->V);
    DYNC__A(a, JUMP_IF, .op = DYNC__IF_LT, .x = DYNC__G_LANE,
            .y = dync__gen_arg(8 * DYNC__GW_LANES), .label = lanes);
    for (int s = 0; s < g->stream.n; s++) {
        DYNC__A(a, GET, .to = DYNC__G_T0,
                .y = dync__gen_arg(dync__gen_record(g, s, DYNC__GW_STEP)));
        DYNC__A(a, SHL_N, .y = dync__a_reg(DYNC__G_T0), .n = g->V == 16 ? 4 : 3);
        DYNC__A(a, ADD_TO, .x = DYNC__G_T0,
                .y = dync__gen_arg(dync__gen_record(g, s, DYNC__GW_AT)));
    }
    DYNC__A(a, SUB_JUMP, .op = DYNC__IF_NE, .y = dync__gen_arg(8 * DYNC__GW_ROWS), .n = 1,
            .label = rows);
}

static void dync__gen_enter(dync__gen *g)
{
    DYNC__A(&g->a, ENTER, .n = DYNC__GEN_SAVED);
    DYNC__A(&g->a, FRAME_IN, .y = dync__gen_arg(8 * DYNC__GW_FRAME), .n = g->saved_sp);
}

static void dync__gen_leave(dync__gen *g)
{
    bool nontemporal = false;
    for (int i = 0; i < g->stream.n; i++) nontemporal |= g->stream.at[i].nontemporal;
    if (nontemporal) DYNC__A(&g->a, DRAIN, .n = 0);
    DYNC__A(&g->a, FRAME_OUT, .n = g->saved_sp);
    DYNC__A(&g->a, LEAVE, .n = DYNC__GEN_SAVED);
}

/* Jumps if the segment to run is less than (equal to, ...) s. */
static void dync__gen_if_segment(dync__gen *g, int op, int s, int label)
{
    DYNC__A(&g->a, GET, .to = DYNC__G_T0, .y = dync__gen_arg(8 * DYNC__GW_SEGMENT));
    DYNC__A(&g->a, JUMP_IF_N, .op = op, .y = dync__a_reg(DYNC__G_T0), .n = s, .label = label);
}

static void dync__gen_copy_slots(dync__gen *g, bool in)
{
    DYNC__A(&g->a, GET, .to = DYNC__G_T1,
            .y = dync__gen_arg(8 * (in ? DYNC__GW_IN : DYNC__GW_OUT)));
    int bytes = DYNC__MIN(g->a.t->vector_bytes, 32);
    dync__vt v = dync__vt_of(DYNC_I32, bytes / 4);
    for (int at = 0; at < g->slot_bytes; at += bytes) {
        DYNC__A(&g->a, LOAD, .v = v, .to = 0,
                .y = in ? dync__a_mem(DYNC__G_T1, at) : dync__gen_at(g->slots + at));
        DYNC__A(&g->a, STORE, .v = v, .x = 0,
                .y = in ? dync__gen_at(g->slots + at) : dync__a_mem(DYNC__G_T1, at));
    }
}

/* g->U on entry: the most vectors at once. */
DYNC__FN void dync__gen_emit(dync__gen *g)
{
    int all = g->U, most = all, phases = g->b->n_phases;
    g->saved_sp = dync__gen_frame(g, 8);
    g->stage = dync__gen_frame(g, 64);
    g->stage2 = dync__gen_frame(g, 64 + 8);
    g->tail_count = dync__gen_frame(g, 8);
    g->place = dync__gen_frame(g, 8);
    g->state = dync__gen_frame(g, 8);
    g->lead = dync__gen_frame(g, 8);
    g->cone_now = -1;
    g->tail_mask = dync__gen_frame(g, 64 * DYNC__GEN_UNROLL);
    g->tail_mask64 = dync__gen_frame(g, 64 * DYNC__GEN_UNROLL);
    dync__gen_unhoist(g);
    g->slots = g->frame;
    if (g->vertical)
        for (int l = 1; l < g->n_lists; l++) most = DYNC__MIN(most, dync__gen_unroll(g, l, most));
    for (int i = 0; i < g->b->k->inst.n; i++) {
        if (g->slot[i] >= 0 && !(g->strip && g->b->level[i] > 0))
            g->slot[i] = dync__gen_frame(g, 64 * (g->vertical && g->b->level[i] == 1 ? most
                                                  : g->split                         ? 2
                                                                                     : 1));
    }
    g->slot_bytes = g->frame - g->slots;
    dync__gen_strip_room(g);
    int labels[2 * DYNC__GEN_PHASES + 2], in = 0;
    dync__gen_enter(g);
    /* the last one: out */
    for (int s = 0; g->split && s < 2 * phases + 2; s++) labels[s] = dync__a_label(&g->a);
    if (g->split) {
        in = dync__a_label(&g->a);
        dync__gen_if_segment(g, DYNC__IF_LT, 0, in);
        dync__gen_copy_slots(g, true);
        DYNC__A(&g->a, LABEL, .label = in);
    }
    if (g->b->k->uses_random) dync__gen_random_keys(g);
    g->single = true;
    g->U = 1;
    g->kept = false;
    dync__gen_row_list(g, 0);
    if (g->square) {
        dync__gen_squares(g);
        dync__gen_leave(g);
        return;
    }
    g->top = dync__a_label(&g->a);
    g->late = phases == 1 && !g->vertical && !g->split && !g->tall && !g->b->has_scan &&
              g->red.n == 0 && g->list[1].n == 0 && g->list[2].n > 0 && g->list[3].n == 0;
    dync__gen_keep_rows(g);
    if (!g->late) DYNC__A(&g->a, LABEL, .label = g->top);
    g->U = most;
    int end = dync__a_label(&g->a), out = dync__a_label(&g->a);
    if (g->tall) dync__gen_if_segment(g, DYNC__IF_EQ, 1, end);
    if (g->vertical) dync__gen_vertical(g, all);
    if (g->tall) DYNC__A(&g->a, JUMP, .label = out);
    DYNC__A(&g->a, LABEL, .label = end);
    g->ends = g->tall;
    if (g->tall) dync__gen_vertical(g, all);
    DYNC__A(&g->a, LABEL, .label = out);
    for (int s = 1; g->split && s <= 2 * phases; s++)
        dync__gen_if_segment(g, DYNC__IF_EQ, s, labels[s]);
    if (g->strip) dync__gen_strips(g, most);
    for (int p = 0; !g->vertical && !g->strip && p <= phases; p++) {
        g->single = true;
        g->U = 1;
        if (g->split) DYNC__A(&g->a, LABEL, .label = labels[2 * p]);
        dync__gen_row_list(g, 1 + 2 * p);
        if (g->split) dync__gen_if_segment(g, DYNC__IF_GE, 0, labels[2 * phases + 1]);
        if (p == phases) break;
        if (g->split) DYNC__A(&g->a, LABEL, .label = labels[2 * p + 1]);
        dync__gen_row_phase(g, p, most);
        if (g->split) dync__gen_if_segment(g, DYNC__IF_GE, 0, labels[2 * phases + 1]);
    }
    if (!g->strip) dync__gen_next_row(g, g->top);
    dync__gen_leave(g);
    if (g->split) {
        DYNC__A(&g->a, LABEL, .label = labels[2 * phases + 1]);
        dync__gen_copy_slots(g, false);
        dync__gen_leave(g);
    }
    g->U = most;
    g->kept = false;
}
#endif
