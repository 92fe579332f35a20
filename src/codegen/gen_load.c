/* codegen/gen_load.c: loads of one vector: dense, strided, backwards, every second element, by an
 * index. After gen_mem.c, before gen_store.c. */
#include "../dync.in.h"
#include "gen.h"
DYNC__LEAN
#if DYNC__JIT

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
    bool back = s->lane == DYNC__GL_BACK;
    if (back) dync__gen_back_left(g);
    DYNC__A(&g->a, LOAD_PART, .v = dync__gen_raw_vt(g, s->bytes), .to = r,
            .y = back ? dync__gen_back_at(g, stream) : dync__gen_element(g, stream), .z = z);
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
    if (g->single || lane <= DYNC__GL_STRIDED) return;
    if (g->masked && dync__gen_is_staged(g, &g->stream.at[s])) return;
    if (lane != DYNC__GL_BACK)
        dync__gen_pick_second(g, dtype, r);
    else if (g->masked)
        dync__gen_back_pick(g, dync__dtype_info(dtype)->compute, r);
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
    int32_t arg[DYNC__GEN_ARGS];
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
        if (g->in_phase && s->led >= 0)
            g->line.is_mem = false;
        else if (!dync__gen_is_here(g, index))
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
