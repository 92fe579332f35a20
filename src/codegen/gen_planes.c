/* codegen/gen_planes.c: moves between planes and blocks of channels (conv_code.h) over the verbs of
 * target.h. conv_code.c keeps the code, kernel/conv_blocks.c calls it.
 *
 * Quads of channels; in each groups of a vector of pixels, the last one overlapping the one before
 * where it would not fit. LANE: from plane to plane, END three times that; T1 planes, A1 blocks;
 * A2: pixels left. */
#include "../dync.in.h"
#include "gen_conv.h"
DYNC__LEAN
#if DYNC__JIT

/* Registers 0 .. 3, each 4 x 4 in every 16 bytes, transposed, into 8 .. 11. */
static void dync__cb_transpose(dync__ct *c)
{
    static const struct {
        int bytes, high, to, x, y;
    } step[8] = {{4, 0, 4, 0, 1}, {4, 1, 5, 0, 1}, {4, 0, 6, 2, 3},  {4, 1, 7, 2, 3},
                 {8, 0, 8, 4, 6}, {8, 1, 9, 4, 6}, {8, 0, 10, 5, 7}, {8, 1, 11, 5, 7}};
    dync__vt four = dync__vt_of(DYNC_I32, c->v.lanes),
             eight = dync__vt_of(DYNC_I64, c->v.lanes / 2);
    for (int i = 0; i < 8; i++)
        DYNC__A(c->a, ZIP, .v = step[i].bytes == 4 ? four : eight, .to = step[i].to, .x = step[i].x,
                .y = dync__a_reg(step[i].y), .n = step[i].high);
}

/* One group of pixels of four channels. */
static void dync__cb_group(dync__ct *c, bool to_blocks)
{
    dync__place plane[4] = {dync__a_mem(DYNC__G_T1, 0),
                            dync__a_index(DYNC__G_T1, DYNC__G_LANE, 1, 0),
                            dync__a_index(DYNC__G_T1, DYNC__G_LANE, 2, 0),
                            dync__a_index(DYNC__G_T1, DYNC__G_END, 1, 0)};
    dync__vt piece = dync__vt_of(DYNC_F32, 4);
    int pieces = c->v.lanes / 4, pixel = 4 * c->t->K;
    if (to_blocks)
        for (int i = 0; i < 4; i++) dync__ct_load(c, i, plane[i]);
    for (int i = 0; !to_blocks && i < 4; i++)
        for (int l = 0; l < pieces; l++) {
            dync__place from = dync__a_mem(DYNC__G_A1, (4 * l + i) * pixel);
            if (l == 0)
                DYNC__A(c->a, LOAD, .v = piece, .to = i, .y = from);
            else
                DYNC__A(c->a, JOIN, .v = c->v, .to = i, .x = i, .y = from, .n = l);
        }
    dync__cb_transpose(c);
    for (int i = 0; i < 4; i++) {
        if (!to_blocks) dync__ct_put(c, 8 + i, plane[i]);
        for (int l = 0; to_blocks && l < pieces; l++) {
            dync__place to = dync__a_mem(DYNC__G_A1, (4 * l + i) * pixel);
            if (l == 0)
                DYNC__A(c->a, STORE, .v = piece, .x = 8 + i, .y = to);
            else
                DYNC__A(c->a, PIECE_TO, .v = c->v, .x = 8 + i, .y = to, .n = l);
        }
    }
}

DYNC__FN void dync__cb_emit(dync__ct *c, bool to_blocks)
{
    dync__asm *a = c->a;
    int quads = dync__a_label(a), groups = dync__a_label(a), fits = dync__a_label(a),
        done = dync__a_label(a);
    int planes = to_blocks ? DYNC__CB_FROM : DYNC__CB_TO,
        blocks = to_blocks ? DYNC__CB_TO : DYNC__CB_FROM, width = c->v.lanes;
    DYNC__A(a, GET, .to = DYNC__G_LANE, .y = dync__ct_arg(DYNC__CB_PLANE));
    DYNC__A(a, ADDRESS, .to = DYNC__G_END, .y = dync__a_index(DYNC__G_LANE, DYNC__G_LANE, 2, 0));
    DYNC__A(a, LABEL, .label = quads);
    DYNC__A(a, GET, .to = DYNC__G_T1, .y = dync__ct_arg(planes));
    DYNC__A(a, GET, .to = DYNC__G_A1, .y = dync__ct_arg(blocks));
    DYNC__A(a, GET, .to = DYNC__G_A2, .y = dync__ct_arg(DYNC__CB_N));
    DYNC__A(a, LABEL, .label = groups);
    dync__cb_group(c, to_blocks);
    DYNC__A(a, SUB_JUMP, .op = DYNC__IF_LE, .y = dync__a_reg(DYNC__G_A2), .n = width,
            .label = done);
    DYNC__A(a, SET, .to = DYNC__G_T0, .n = width);
    DYNC__A(a, JUMP_IF_N, .op = DYNC__IF_GE, .y = dync__a_reg(DYNC__G_A2), .n = width,
            .label = fits);
    DYNC__A(a, GET, .to = DYNC__G_T0, .y = dync__a_reg(DYNC__G_A2));
    DYNC__A(a, SET, .to = DYNC__G_A2, .n = width);
    DYNC__A(a, LABEL, .label = fits);
    DYNC__A(a, ADDRESS, .to = DYNC__G_T1, .y = dync__a_index(DYNC__G_T1, DYNC__G_T0, 4, 0));
    DYNC__A(a, SHL_N, .y = dync__a_reg(DYNC__G_T0), .n = c->t->K == 16 ? 6 : c->t->K == 8 ? 5 : 4);
    DYNC__A(a, ADD, .to = DYNC__G_A1, .y = dync__a_reg(DYNC__G_T0));
    DYNC__A(a, JUMP, .label = groups);
    DYNC__A(a, LABEL, .label = done);
    DYNC__A(a, GET, .to = DYNC__G_T0, .y = dync__ct_arg(planes));
    DYNC__A(a, ADDRESS, .to = DYNC__G_T0, .y = dync__a_index(DYNC__G_T0, DYNC__G_LANE, 4, 0));
    DYNC__A(a, PUT, .x = DYNC__G_T0, .y = dync__ct_arg(planes));
    DYNC__A(a, ADD_N, .y = dync__ct_arg(blocks), .n = 16);
    DYNC__A(a, SUB_JUMP, .op = DYNC__IF_NE, .y = dync__ct_arg(DYNC__CB_QUADS), .n = 1,
            .label = quads);
    DYNC__A(a, LEAVE, .n = 0);
}
#endif
