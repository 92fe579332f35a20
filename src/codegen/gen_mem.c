/* codegen/gen_mem.c: how memory is reached. Between gen_value.c and gen_load.c.
 *
 * Storage dtypes widen to compute types in registers and are rounded on the way back. Lanes that
 * lie side by side are one access, masked where fewer than a vector are left; what is the same in
 * all lanes is spread; other strides, and what the target cannot mask, go element by element
 * through a vector in the frame. T0, T1, T2 (and END in masked code) are free here; LANE counts
 * lanes. */
#include "../dync.in.h"
#include "gen.h"
DYNC__LEAN
#if DYNC__JIT

DYNC__FN int dync__gen_tail(dync__gen *g, bool wide)
{
    if (g->tile) return g->tile->mask;
    int r = dync__gen_temp_k(g);
    DYNC__A(&g->a, TAIL_GET, .v = dync__gen_vt(g, wide ? DYNC_I64 : DYNC_I32), .to = r,
            .y = dync__gen_at(g->tail_mask + 64 * g->u));
    return r;
}

/* A dtype of so many bytes, none of whose bits mean anything. */
static int dync__gen_raw_type(int bytes)
{
    return bytes == 1 ? DYNC_U8 : bytes == 2 ? DYNC_F16 : bytes == 4 ? DYNC_F32 : DYNC_I64;
}
DYNC__FN dync__vt dync__gen_raw_vt(const dync__gen *g, int bytes)
{
    return dync__gen_vt(g, dync__gen_raw_type(bytes));
}

DYNC__FN void dync__gen_elements(dync__asm *a, dync__vt v, int reg, dync__place y, int left,
                                 bool store)
{
    int done = dync__a_label(a), bytes = dync__dtype_info(v.type)->bytes;
    if (!store) DYNC__A(a, ZERO, .v = v, .to = reg);
    for (int l = 0; l + 1 < v.lanes; l++, y.disp += bytes) {
        if (l)
            DYNC__A(a, JUMP_IF_N, .op = DYNC__IF_LE, .y = dync__a_reg(left), .n = l, .label = done);
        if (store && l) DYNC__A(a, DOWN, .v = v, .to = reg, .x = reg, .n = 1);
        if (store)
            DYNC__A(a, FIRST_TO, .v = v, .x = reg, .y = y);
        else
            DYNC__A(a, INSERT, .v = v, .to = reg, .y = y, .n = l);
    }
    DYNC__A(a, LABEL, .label = done);
}

DYNC__FN int dync__gen_base(dync__gen *g, int stream)
{
    const dync__gen_stream *s = &g->stream.at[stream];
    bool held = (g->in_phase || g->kept) && s->gpr >= 0;
    int base = g->in_phase && s->led >= 0 ? s->led : held ? s->gpr : DYNC__G_T0;
    bool framed = g->in_phase && s->pointer >= 0;
    if (base == DYNC__G_T0)
        DYNC__A(&g->a, GET, .to = DYNC__G_T0,
                .y = framed ? dync__gen_at(s->pointer) : dync__gen_address(g, stream));
    if (!g->line.is_mem) return base;
    DYNC__A(&g->a, GET, .to = DYNC__G_T1, .y = g->line);
    DYNC__A(&g->a, ADDRESS, .to = DYNC__G_T0, .y = dync__a_index(base, DYNC__G_T1, s->bytes, 0));
    return DYNC__G_T0;
}

DYNC__FN dync__place dync__gen_element(dync__gen *g, int stream)
{
    if (g->tile) return g->tile->at(g->tile, stream);
    const dync__gen_stream *s = &g->stream.at[stream];
    if (g->square && s->transposed) return dync__gen_at(s->pointer + 64 * g->row);
    int base = dync__gen_base(g, stream), ahead = g->u * g->V * s->bytes;
    if (g->single || s->lane == DYNC__GL_SAME) return dync__a_mem(base, 0);
    if (s->kind == DYNC__GS_KEEP && g->vertical) return dync__a_mem(base, ahead);
    return dync__a_index(base, DYNC__G_LANE, s->bytes, ahead);
}

/* ---- element by element ---------------------------------------------------------------------- */

/* Lanes backwards that a tail has: one access under a mask, and the lanes picked from it. */
static bool dync__gen_backs(const dync__gen *g, const dync__gen_stream *s)
{
    if (s->lane != DYNC__GL_BACK || g->tile) return false;
    int compute = dync__dtype_info(g->b->k->buf.at[s->buf].dtype)->compute;
    return g->a.t->part(g->a.t, s->bytes) && g->V * dync__dtype_info(compute)->bytes >= 32;
}

DYNC__FN bool dync__gen_is_staged(const dync__gen *g, const dync__gen_stream *s)
{
    return !g->single && (s->lane == DYNC__GL_STRIDED ||
                          (s->lane > DYNC__GL_STRIDED && g->masked && !dync__gen_backs(g, s)) ||
                          (s->lane == DYNC__GL_DENSE && g->masked && !g->tile &&
                           !g->a.t->part(g->a.t, s->bytes)));
}

DYNC__FN void dync__gen_copy_one(dync__gen *g, int bytes, dync__place to, dync__place from)
{
    dync__vt v = dync__gen_raw_vt(g, bytes);
    DYNC__A(&g->a, GET_AS, .v = v, .to = DYNC__G_T1, .y = from);
    DYNC__A(&g->a, PUT_AS, .v = v, .x = DYNC__G_T1, .y = to);
}

/* A loop over those of vector u's lanes that the tail has: T2 counts to END. Returns the label
 * behind it. */
DYNC__FN int dync__gen_some_begin(dync__gen *g)
{
    dync__asm *a = &g->a;
    int done = dync__a_label(a), few = dync__a_label(a);
    DYNC__A(a, GET, .to = DYNC__G_END, .y = dync__gen_at(g->tail_count));
    DYNC__A(a, SUB_JUMP, .op = DYNC__IF_LE, .y = dync__a_reg(DYNC__G_END), .n = g->u * g->V,
            .label = done);
    DYNC__A(a, JUMP_IF_N, .op = DYNC__IF_LE, .y = dync__a_reg(DYNC__G_END), .n = g->V,
            .label = few);
    DYNC__A(a, SET, .to = DYNC__G_END, .n = g->V);
    DYNC__A(a, LABEL, .label = few);
    DYNC__A(a, SET, .to = DYNC__G_T2, .n = 0);
    return done;
}

DYNC__FN void dync__gen_some_end(dync__gen *g, int more, int done)
{
    DYNC__A(&g->a, ADD_N, .y = dync__a_reg(DYNC__G_T2), .n = 1);
    DYNC__A(&g->a, JUMP_IF, .op = DYNC__IF_LT, .x = DYNC__G_T2, .y = dync__a_reg(DYNC__G_END),
            .label = more);
    DYNC__A(&g->a, LABEL, .label = done);
}

/* The address of lane `lane` of vector u, by the stride, to T0. */
DYNC__FN void dync__gen_strided(dync__gen *g, int stream, int lane)
{
    int base = dync__gen_base(g, stream);
    DYNC__A(&g->a, ADDRESS, .to = DYNC__G_T1, .y = dync__a_mem(DYNC__G_LANE, g->u * g->V + lane));
    DYNC__A(&g->a, MUL, .to = DYNC__G_T1,
            .y = dync__gen_arg(dync__gen_record(g, stream, DYNC__GW_LANE)));
    DYNC__A(&g->a, ADDRESS, .to = DYNC__G_T0, .y = dync__a_index(base, DYNC__G_T1, 1, 0));
}

DYNC__FN void dync__gen_back_left(dync__gen *g)
{
    dync__asm *a = &g->a;
    int few = dync__a_label(a);
    dync__place left = dync__a_reg(DYNC__G_T2);
    DYNC__A(a, GET, .to = DYNC__G_T2, .y = dync__gen_at(g->tail_count));
    if (g->u) DYNC__A(a, SUB_N, .y = left, .n = g->u * g->V);
    DYNC__A(a, JUMP_IF_N, .op = DYNC__IF_LE, .y = left, .n = g->V, .label = few);
    DYNC__A(a, SET, .to = DYNC__G_T2, .n = g->V);
    DYNC__A(a, LABEL, .label = few);
    DYNC__A(a, PUT, .x = DYNC__G_T2, .y = dync__gen_at(g->stage));
}

DYNC__FN dync__place dync__gen_back_at(dync__gen *g, int stream)
{
    dync__asm *a = &g->a;
    DYNC__A(a, GET, .to = DYNC__G_T2, .y = dync__gen_at(g->stage));
    int base = dync__gen_base(g, stream);
    DYNC__A(a, ADDRESS, .to = DYNC__G_T1,
            .y = dync__a_index(DYNC__G_LANE, DYNC__G_T2, 1, g->u * g->V - 1));
    DYNC__A(a, MUL, .to = DYNC__G_T1,
            .y = dync__gen_arg(dync__gen_record(g, stream, DYNC__GW_LANE)));
    DYNC__A(a, ADDRESS, .to = DYNC__G_T0, .y = dync__a_index(base, DYNC__G_T1, 1, 0));
    return dync__a_mem(DYNC__G_T0, 0);
}

DYNC__FN void dync__gen_back_pick(dync__gen *g, int type, int r)
{
    dync__asm *a = &g->a;
    int words = dync__gen_type_wide(type) ? 2 : 1, t = dync__gen_temp(g);
    dync__vt v = dync__vt_of(DYNC_I32, g->V * words);
    int32_t index[16] = {0};
    for (int l = 0; l < g->V * words; l++) index[l] = l % words - (1 + l / words) * words;
    DYNC__A(a, SPREAD, .v = v, .to = t, .y = dync__gen_at(g->stage));
    if (words == 2)
        DYNC__A(a, OP2, .op = DYNC__P_add, .v = v, .to = t, .x = t, .y = dync__a_reg(t));
    DYNC__A(a, OP2, .op = DYNC__P_add, .v = v, .to = t, .x = t, .y = dync__a_constant64(a, index));
    DYNC__A(a, PICK, .v = v, .to = t, .z = t, .y = dync__a_reg(r));
    DYNC__A(a, LOAD, .v = v, .to = r, .y = dync__a_reg(t));
}

/* V elements into r one by one, by way of no memory, as a load of what several stores wrote would
 * wait for them. T0: the first one's address, or with `indexed` what the stage's numbers count
 * from; moves: it goes on by the stride. */
DYNC__FN void dync__gen_collect(dync__gen *g, int stream, int r, bool indexed, bool moves)
{
    dync__asm *a = &g->a;
    int bytes = g->stream.at[stream].bytes, each = DYNC__MIN(16 / bytes, g->V),
        t = g->V > each ? dync__gen_temp(g) : r;
    dync__vt v = dync__gen_raw_vt(g, bytes);
    dync__place stride = dync__gen_arg(dync__gen_record(g, stream, DYNC__GW_LANE));
    if (!indexed) {
        DYNC__A(a, GET, .to = DYNC__G_T1, .y = stride);
        DYNC__A(a, ADDRESS, .to = DYNC__G_T2, .y = dync__a_index(DYNC__G_T1, DYNC__G_T1, 2, 0));
    }
    for (int l = 0; l < g->V; l++) {
        int to = l < each ? r : t;
        dync__place from = l % 4 == 0   ? dync__a_mem(DYNC__G_T0, 0)
                           : l % 4 == 3 ? dync__a_index(DYNC__G_T0, DYNC__G_T2, 1, 0)
                                        : dync__a_index(DYNC__G_T0, DYNC__G_T1, l % 4, 0);
        if (indexed) {
            DYNC__A(a, GET, .to = DYNC__G_T1, .y = dync__gen_at(g->stage + 8 * l));
            from = dync__a_index(DYNC__G_T0, DYNC__G_T1, bytes, 0);
        } else if (l > 0 && l % 4 == 0) {
            DYNC__A(a, ADDRESS, .to = DYNC__G_T0, .y = dync__a_index(DYNC__G_T0, DYNC__G_T1, 4, 0));
        }
        if (l % each == 0 && bytes < 4) DYNC__A(a, ZERO, .v = dync__vt_of(DYNC_I32, 4), .to = to);
        if (l % each == 0 && bytes >= 4)
            DYNC__A(a, FIRST, .v = v, .to = to, .y = from);
        else
            DYNC__A(a, INSERT, .v = v, .to = to, .y = from, .n = l % each);
        if (l >= each && l % each == each - 1)
            DYNC__A(a, JOIN, .v = v, .to = r, .x = r, .y = dync__a_reg(t), .n = l / each);
        if (indexed && moves && l + 1 < g->V) DYNC__A(a, ADD, .to = DYNC__G_T0, .y = stride);
    }
}

/* Between memory and the stage: V elements, or those of the tail. */
DYNC__FN void dync__gen_stage(dync__gen *g, int stream, bool load)
{
    const dync__gen_stream *s = &g->stream.at[stream];
    dync__asm *a = &g->a;
    bool strided = s->lane >= DYNC__GL_STRIDED;
    dync__place stride = dync__gen_arg(dync__gen_record(g, stream, DYNC__GW_LANE)),
                memory = dync__a_mem(DYNC__G_T0, 0);
    int bytes = s->bytes;
    if (strided) {
        dync__gen_strided(g, stream, 0);
    } else {
        DYNC__A(a, ADDRESS, .to = DYNC__G_T0, .y = dync__gen_element(g, stream));
    }
    if (!g->masked) {
        for (int l = 0; l < g->V; l++) {
            dync__place stage = dync__gen_at(g->stage + l * bytes);
            dync__gen_copy_one(g, bytes, load ? stage : memory, load ? memory : stage);
            if (l + 1 < g->V) DYNC__A(a, ADD, .to = DYNC__G_T0, .y = stride);
        }
        return;
    }
    int more = dync__a_label(a), done = dync__gen_some_begin(g);
    dync__place stage = dync__a_index(DYNC__G_FRAME, DYNC__G_T2, bytes, g->stage);
    DYNC__A(a, LABEL, .label = more);
    dync__gen_copy_one(g, bytes, load ? stage : memory, load ? memory : stage);
    if (strided)
        DYNC__A(a, ADD, .to = DYNC__G_T0, .y = stride);
    else
        DYNC__A(a, ADD_N, .y = dync__a_reg(DYNC__G_T0), .n = bytes);
    dync__gen_some_end(g, more, done);
}

DYNC__FN bool dync__gen_far(const dync__gen *g, int phase, int most)
{
    bool far = false;
    for (int i = 0; i < g->red.n; i++) far |= g->red.at[i].phase == phase;
    for (int i = 0; i < g->stream.n; i++) far |= g->stream.at[i].nontemporal;
    return far && most > 2 && g->list[2 + 2 * phase].n < 64;
}
#endif
