/* codegen/gen_mem.c: loads, and how memory is reached. Between gen_reg.c and gen_store.c.
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
    int base = g->in_phase && s->gpr >= 0 ? s->gpr : DYNC__G_T0;
    bool framed = g->in_phase && s->pointer >= 0;
    if (base == DYNC__G_T0)
        DYNC__A(&g->a, GET, .to = DYNC__G_T0,
                .y = framed ? dync__gen_at(s->pointer)
                            : dync__gen_arg(dync__gen_record(g, stream, DYNC__GW_AT)));
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

DYNC__FN bool dync__gen_is_staged(const dync__gen *g, const dync__gen_stream *s)
{
    return !g->single &&
           (s->lane == DYNC__GL_STRIDED || (s->lane > DYNC__GL_STRIDED && g->masked) ||
            (s->lane == DYNC__GL_DENSE && g->masked && !g->tile &&
             !g->a.t->part(g->a.t, s->bytes)));
}

static void dync__gen_copy_one(dync__gen *g, int bytes, dync__place to, dync__place from)
{
    dync__vt v = dync__gen_raw_vt(g, bytes);
    DYNC__A(&g->a, GET_AS, .v = v, .to = DYNC__G_T1, .y = from);
    DYNC__A(&g->a, PUT_AS, .v = v, .x = DYNC__G_T1, .y = to);
}

/* A loop over those of vector u's lanes that the tail has: T2 counts to END. Returns the label
 * behind it. */
static int dync__gen_some_begin(dync__gen *g)
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

static void dync__gen_some_end(dync__gen *g, int more, int done)
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

/* V elements into r one by one, by way of no memory, as a load of what several stores wrote would
 * wait for them. T0: the first one's address, or with `indexed` what the stage's numbers count
 * from; moves: it goes on by the stride. */
static void dync__gen_collect(dync__gen *g, int stream, int r, bool indexed, bool moves)
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

/* ---- loads ----------------------------------------------------------------------------------- */

/* V elements as they are stored: memory, or register r where they had to be loaded with a mask. */
static dync__place dync__gen_raw(dync__gen *g, int stream, int r)
{
    const dync__gen_stream *s = &g->stream.at[stream];
    if (s->lane >= DYNC__GL_STRIDED && !g->masked) {
        dync__gen_strided(g, stream, s->lane == DYNC__GL_BACK ? g->V - 1 : 0);
        if (s->lane != DYNC__GL_STRIDED) return dync__a_mem(DYNC__G_T0, 0);
        dync__gen_collect(g, stream, r, false, true);
        return dync__a_reg(r);
    }
    if (dync__gen_is_staged(g, s)) {
        dync__gen_stage(g, stream, true);
        return dync__gen_at(g->stage);
    }
    if (!g->masked || s->kind == DYNC__GS_KEEP) return dync__gen_element(g, stream);
    if (g->tile && g->tile->left) {
        dync__gen_elements(&g->a, dync__gen_raw_vt(g, s->bytes), r, dync__gen_element(g, stream),
                           g->tile->left, false);
        return dync__a_reg(r);
    }
    int z = dync__gen_tail(g, s->bytes == 8);
    DYNC__A(&g->a, LOAD_PART, .v = dync__gen_raw_vt(g, s->bytes), .to = r,
            .y = dync__gen_element(g, stream), .z = z);
    return dync__a_reg(r);
}

static void dync__gen_widen(dync__gen *g, int dtype, int r, dync__place from)
{
    dync__vt v = dync__gen_vt(g, dync__dtype_info(dtype)->compute);
    DYNC__A(&g->a, WIDEN, .v = v, .to = r, .y = from, .n = dtype);
}

/* One element in every lane. */
static void dync__gen_spread(dync__gen *g, int dtype, int r, dync__place from)
{
    dync__vt v = dync__gen_vt(g, dync__dtype_info(dtype)->compute);
    if (dync__dtype_info(dtype)->bytes >= 4) {
        DYNC__A(&g->a, SPREAD, .v = v, .to = r, .y = from);
        return;
    }
    DYNC__A(&g->a, GET_AS, .v = dync__vt_of(dtype, 1), .to = DYNC__G_T1, .y = from);
    if (dtype == DYNC_BF16) DYNC__A(&g->a, SHL_N, .y = dync__a_reg(DYNC__G_T1), .n = 16);
    DYNC__A(&g->a, FIRST, .v = v, .to = r, .y = dync__a_reg(DYNC__G_T1));
    if (dtype == DYNC_F16)
        DYNC__A(&g->a, WIDEN, .v = dync__vt_of(DYNC_F32, 4), .to = r, .y = dync__a_reg(r),
                .n = DYNC_F16);
    DYNC__A(&g->a, SPREAD, .v = v, .to = r, .y = dync__a_reg(r));
}

DYNC__FN bool dync__gen_is_same(const dync__gen *g, const dync__gen_stream *s)
{
    return g->single || s->lane == DYNC__GL_SAME;
}

/* The same where a table is one vector of 32 bytes: half of the result from each. */
static void dync__gen_pick_halves(dync__gen *g, int dtype, int r)
{
    int type = dync__dtype_info(dtype)->compute, words = dync__gen_type_wide(type) ? 2 : 1;
    dync__vt v = dync__gen_vt(g, type);
    int low = dync__gen_temp(g), high = dync__gen_temp(g);
    for (int half = 0; half < 2; half++) {
        int to = half ? high : low;
        int32_t index[16] = {0};
        for (int l = 0; l < g->V / 2 * words; l++)
            index[l] = (l / words * 2 + half) * words + l % words;
        if (half)
            dync__gen_widen(g, dtype, r,
                            dync__a_mem(DYNC__G_T0, (g->V - 1) * dync__dtype_info(dtype)->bytes));
        DYNC__A(&g->a, LOAD, .v = v, .to = to, .y = dync__a_constant64(&g->a, index));
        DYNC__A(&g->a, PICK, .v = v, .to = to, .z = to, .y = dync__a_reg(r));
    }
    DYNC__A(&g->a, JOIN, .v = v, .to = r, .x = low, .y = dync__a_reg(high), .n = 1);
}

/* Every second lane of r and of the vector in memory that starts with r's last element. */
static void dync__gen_pick_second(dync__gen *g, int dtype, int r)
{
    int type = dync__dtype_info(dtype)->compute, words = dync__gen_type_wide(type) ? 2 : 1;
    dync__vt v = dync__gen_vt(g, type);
    int32_t index[16] = {0};
    if (g->a.t->n_masks == 0) {
        dync__gen_pick_halves(g, dtype, r);
        return;
    }
    for (int l = 0; l < g->V * words; l++) {
        int from = l / words * 2;
        index[l] = (from < g->V ? from : from + 1) * words + l % words;
    }
    int at = dync__gen_temp(g);
    DYNC__A(&g->a, LOAD, .v = v, .to = at, .y = dync__a_constant64(&g->a, index));
    int more = dync__gen_temp(g);
    dync__gen_widen(g, dtype, more,
                    dync__a_mem(DYNC__G_T0, (g->V - 1) * dync__dtype_info(dtype)->bytes));
    DYNC__A(&g->a, PICK, .v = v, .to = r, .z = at, .y = dync__a_reg(more));
}

DYNC__FN void dync__gen_load_now(dync__gen *g, int i, int r)
{
    const dync__inst *in = dync__gen_inst(g, i);
    int s = g->stream_of[i], dtype = g->b->k->buf.at[in->buf].dtype, lane = g->stream.at[s].lane;
    if (dync__gen_is_same(g, &g->stream.at[s]))
        dync__gen_spread(g, dtype, r, dync__gen_element(g, s));
    else
        dync__gen_widen(g, dtype, r, dync__gen_raw(g, s, r));
    if (g->single || g->masked || lane <= DYNC__GL_STRIDED) return;
    if (lane != DYNC__GL_BACK)
        dync__gen_pick_second(g, dtype, r);
    else
        DYNC__A(&g->a, REVERSE, .v = dync__gen_vt(g, dync__dtype_info(dtype)->compute), .to = r);
}

static void dync__gen_load_bool(dync__gen *g, int i)
{
    int s = g->stream_of[i], t = 0, r;
    dync__asm *a = &g->a;
    dync__vt v = dync__gen_vt(g, DYNC_BOOL);
    if (dync__gen_is_same(g, &g->stream.at[s])) {
        DYNC__A(a, GET_AS, .v = v, .to = DYNC__G_T1, .y = dync__gen_element(g, s));
        DYNC__A(a, ONES, .to = DYNC__G_T1);
        r = dync__gen_def(g, i);
        DYNC__A(a, MASK_FROM, .v = v, .to = r, .x = DYNC__G_T1);
        return;
    }
    if (a->t->n_masks) t = dync__gen_temp(g);
    r = dync__gen_def(g, i);
    dync__place raw = dync__gen_raw(g, s, a->t->n_masks ? t : r);
    DYNC__A(a, WIDEN, .v = v, .to = r, .y = raw, .n = DYNC_BOOL, .x = t);
}

/* May the load wait for its use, as a memory operand? */
static bool dync__gen_waits(const dync__gen *g, int i)
{
    const dync__inst *in = dync__gen_inst(g, i);
    const dync__buf *buf = &g->b->k->buf.at[in->buf];
    return !g->masked && !g->single && !(buf->mode & DYNC__BUF_OUT) && buf->dtype == in->type &&
           in->type != DYNC_BOOL && g->stream.at[g->stream_of[i]].lane == DYNC__GL_DENSE &&
           g->slot[i] < 0 && !g->b->keep[i];
}

DYNC__FN void dync__gen_load(dync__gen *g, int i)
{
    if (g->transposed_once && g->stream.at[g->stream_of[i]].transposed)
        dync__gen_set(g, i, g->transposed[g->row]);
    else if (g->b->k->buf.at[dync__gen_inst(g, i)->buf].dtype == DYNC_BOOL)
        dync__gen_load_bool(g, i);
    else if (dync__gen_waits(g, i))
        g->val[i * DYNC__GEN_UNROLL + g->u].lazy = true;
    else
        dync__gen_load_now(g, i, dync__gen_def(g, i));
}

DYNC__FN bool dync__gen_is_even(const dync__gen *g, int v, int depth)
{
    const dync__inst *in = dync__gen_inst(g, v);
    int32_t arg[3];
    bool even = depth < 8 && in->prim != DYNC__P_random && in->prim != DYNC__P_scan &&
                (g->stream_of[v] < 0 || g->stream.at[g->stream_of[v]].lane == DYNC__GL_SAME);
    if (in->prim == DYNC__P_reduce) return !g->vertical;
    for (int n = dync__gen_args(g, v, arg); even && n > 0; n--)
        even = dync__gen_is_even(g, arg[n - 1], depth + 1);
    return even;
}

/* Between constants, as gathers' indices are: also that of a lane past the last one. */
static bool dync__gen_is_clamped(const dync__gen *g, const dync__inst *in)
{
    if (in->prim == DYNC__P_mul && dync__gen_inst(g, in->arg[1])->prim == DYNC__P_const_)
        in = dync__gen_inst(g, in->arg[0]);
    const dync__inst *high = in->prim == DYNC__P_max &&
                                     dync__gen_inst(g, in->arg[0])->prim == DYNC__P_const_
                                 ? dync__gen_inst(g, in->arg[1])
                                 : in;
    return high->prim == DYNC__P_min && high != in &&
           dync__gen_inst(g, high->arg[1])->prim == DYNC__P_const_;
}

/* Elements at the access plus an index: one index for all lanes moves the stream; else lane by
 * lane, through the frame. */
DYNC__FN void dync__gen_gather(dync__gen *g, int i)
{
    const dync__inst *in = dync__gen_inst(g, i);
    dync__asm *a = &g->a;
    int stream = g->stream_of[i], index = dync__gen_root(g, in->arg[0]);
    const dync__gen_stream *s = &g->stream.at[stream];
    if (!g->single && dync__gen_is_even(g, index, 0)) {
        g->line = dync__gen_at(g->lead);
        if (!dync__gen_is_here(g, index))
            g->line = dync__gen_home(g, index);
        else if (!g->leads[index] || g->u == 0)
            DYNC__A(a, FIRST_TO, .v = dync__gen_vt(g, DYNC_I64), .x = dync__gen_src(g, index),
                    .y = g->line);
        dync__gen_load_now(g, i, dync__gen_def(g, i));
        g->line.is_mem = false;
        return;
    }
    DYNC__A(a, STORE, .v = dync__gen_vt(g, DYNC_I64), .x = dync__gen_src(g, index),
            .y = dync__gen_at(g->stage));
    int base = dync__gen_base(g, stream);
    bool moves = !dync__gen_is_same(g, s);
    dync__place stride = dync__gen_arg(dync__gen_record(g, stream, DYNC__GW_LANE)),
                memory = dync__a_index(DYNC__G_T0, DYNC__G_T1, s->bytes, 0);
    if (moves) {
        DYNC__A(a, ADDRESS, .to = DYNC__G_T1, .y = dync__a_mem(DYNC__G_LANE, g->u * g->V));
        DYNC__A(a, MUL, .to = DYNC__G_T1, .y = stride);
        DYNC__A(a, ADDRESS, .to = DYNC__G_T0, .y = dync__a_index(base, DYNC__G_T1, 1, 0));
    } else if (base != DYNC__G_T0) {
        DYNC__A(a, GET, .to = DYNC__G_T0, .y = dync__a_reg(base));
    }
    int dtype = g->b->k->buf.at[in->buf].dtype, to = dync__gen_def(g, i);
    if (g->single) {
        DYNC__A(a, GET, .to = DYNC__G_T1, .y = dync__gen_at(g->stage));
        dync__gen_copy_one(g, s->bytes, dync__gen_at(g->stage2), memory);
        dync__gen_spread(g, dtype, to, dync__gen_at(g->stage2));
    } else if (!g->masked || (!moves && dync__gen_is_clamped(g, dync__gen_inst(g, index)))) {
        dync__gen_collect(g, stream, to, true, moves);
        dync__gen_widen(g, dtype, to, dync__a_reg(to));
    } else {
        int more = dync__a_label(a), done = dync__gen_some_begin(g);
        DYNC__A(a, LABEL, .label = more);
        DYNC__A(a, GET, .to = DYNC__G_T1,
                .y = dync__a_index(DYNC__G_FRAME, DYNC__G_T2, 8, g->stage));
        dync__gen_copy_one(g, s->bytes,
                           dync__a_index(DYNC__G_FRAME, DYNC__G_T2, s->bytes, g->stage2), memory);
        if (moves) DYNC__A(a, ADD, .to = DYNC__G_T0, .y = stride);
        dync__gen_some_end(g, more, done);
        dync__gen_widen(g, dtype, to, dync__gen_at(g->stage2));
    }
}
#endif
