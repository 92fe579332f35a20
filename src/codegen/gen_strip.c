/* codegen/gen_strip.c: short rows a few at a time, each phase for all of them before the next.
 * After gen_loops.c, before gen_kernel.c.
 *
 * A phase waits for what the phase before it folded. In a row of a few vectors that is most of the
 * time: a processor looks some 300 instructions ahead, so by the time a row's phases are long it
 * finds nothing else to do. Here the next thing to do is the same phase of the next row.
 *
 *   for each strip of rows
 *     for each of its rows: where its streams stand
 *     for each phase: for each of its rows: row code, phase
 *
 * Each row of a strip has a block in the frame, at GEN_ROW: addresses, then the slots of its
 * values. A row buffer is as many as the strip has rows. */
#include "../dync.in.h"
#include "gen.h"
DYNC__LEAN
#if DYNC__JIT

/* Room for the rows, behind the slots that all rows share. */
DYNC__FN void dync__gen_strip_room(dync__gen *g)
{
    int32_t bytes = (8 * g->stream.n + 63) & ~63;
    if (!g->strip) return;
    for (int i = 0; i < g->b->k->inst.n; i++) {
        if (g->slot[i] < 0 || g->b->level[i] == 0) continue;
        g->slot[i] = bytes;
        bytes += 64;
    }
    g->strip_bytes = bytes;
    g->strip_at = dync__gen_frame(g, g->strip * bytes);
    g->strip_limit = dync__gen_frame(g, 16);
}

/* Once: row buffers do not move with the rows. */
static void dync__gen_strip_buffers(dync__gen *g)
{
    dync__asm *a = &g->a;
    for (int s = 0; s < g->stream.n; s++) {
        if (g->stream.at[s].kind != DYNC__GS_KEEP) continue;
        DYNC__A(a, GET, .to = DYNC__G_T0, .y = dync__gen_arg(dync__gen_record(g, s, DYNC__GW_AT)));
        for (int r = 0; r < g->strip; r++) {
            if (r)
                DYNC__A(a, ADD, .to = DYNC__G_T0,
                        .y = dync__gen_arg(dync__gen_record(g, s, DYNC__GW_STEP)));
            DYNC__A(a, PUT, .x = DYNC__G_T0,
                    .y = dync__gen_at(g->strip_at + r * g->strip_bytes + 8 * s));
        }
    }
}

/* Where the next rows stand, as many as are left or the strip has. */
static void dync__gen_strip_rows(dync__gen *g)
{
    dync__asm *a = &g->a;
    int row = dync__a_label(a), more = dync__a_label(a), all = dync__a_label(a);
    DYNC__A(a, ADDRESS, .to = DYNC__GEN_ROW, .y = dync__gen_at(g->strip_at));
    DYNC__A(a, LABEL, .label = row);
    for (int s = 0; s < g->stream.n; s++) {
        if (g->stream.at[s].kind == DYNC__GS_KEEP) continue;
        DYNC__A(a, GET, .to = DYNC__G_T0, .y = dync__gen_arg(dync__gen_record(g, s, DYNC__GW_AT)));
        DYNC__A(a, PUT, .x = DYNC__G_T0, .y = dync__a_mem(DYNC__GEN_ROW, 8 * s));
    }
    DYNC__A(a, ADD_N, .y = dync__a_reg(DYNC__GEN_ROW), .n = g->strip_bytes);
    dync__gen_next_row(g, more);
    DYNC__A(a, JUMP, .label = all);
    DYNC__A(a, LABEL, .label = more);
    DYNC__A(a, JUMP_IF, .op = DYNC__IF_LT, .x = DYNC__GEN_ROW, .y = dync__gen_at(g->strip_limit),
            .label = row);
    DYNC__A(a, LABEL, .label = all);
    DYNC__A(a, PUT, .x = DYNC__GEN_ROW, .y = dync__gen_at(g->strip_limit + 8));
}

DYNC__FN void dync__gen_strips(dync__gen *g, int most)
{
    dync__asm *a = &g->a;
    int strip = dync__a_label(a), phases = g->b->n_phases;
    DYNC__A(a, ADDRESS, .to = DYNC__G_T0,
            .y = dync__gen_at(g->strip_at + g->strip * g->strip_bytes));
    DYNC__A(a, PUT, .x = DYNC__G_T0, .y = dync__gen_at(g->strip_limit));
    dync__gen_strip_buffers(g);
    DYNC__A(a, LABEL, .label = strip);
    dync__gen_strip_rows(g);
    for (int p = 0; p <= phases; p++) {
        int row = dync__a_label(a);
        if (p == phases && g->list[1 + 2 * p].n == 0) break;
        DYNC__A(a, ADDRESS, .to = DYNC__GEN_ROW, .y = dync__gen_at(g->strip_at));
        DYNC__A(a, LABEL, .label = row);
        g->single = true;
        g->U = 1;
        dync__gen_row_list(g, 1 + 2 * p);
        if (p < phases) dync__gen_row_phase(g, p, most);
        DYNC__A(a, ADD_N, .y = dync__a_reg(DYNC__GEN_ROW), .n = g->strip_bytes);
        DYNC__A(a, JUMP_IF, .op = DYNC__IF_LT, .x = DYNC__GEN_ROW,
                .y = dync__gen_at(g->strip_limit + 8), .label = row);
    }
    DYNC__A(a, GET, .to = DYNC__G_T0, .y = dync__gen_arg(8 * DYNC__GW_ROWS));
    DYNC__A(a, JUMP_IF_N, .op = DYNC__IF_GT, .y = dync__a_reg(DYNC__G_T0), .n = 0, .label = strip);
}
#endif
