/* codegen/gen_store.c: stores, numbers of indices, row buffers. After gen_mem.c, before
 * gen_loops.c. */
#include "../dync.in.h"
#include "gen_streams.h"
DYNC__LEAN
#if DYNC__JIT

/* ---- stores ---------------------------------------------------------------------------------- */

/* The value in its storage form, the last lane that there is first if `back`; returns the
 * register. */
static int dync__gen_narrow(dync__gen *g, int dtype, int value, bool back)
{
    dync__asm *a = &g->a;
    int compute = dync__dtype_info(dtype)->compute, from = dync__gen_src(g, value), t;
    dync__vt v = dync__gen_vt(g, compute);
    if (back) {
        t = dync__gen_temp(g);
        DYNC__A(a, LOAD, .v = v, .to = t, .y = dync__a_reg(from));
        from = t;
        if (g->masked)
            dync__gen_back_pick(g, compute, t);
        else
            DYNC__A(a, REVERSE, .v = v, .to = t);
    }
    if (compute == dtype && dtype != DYNC_BOOL) return from;
    t = dync__gen_temp(g);
    DYNC__A(a, NARROW, .v = v, .to = t, .x = from, .n = dtype);
    return t;
}

/* V elements some steps apart: as many vectors, each picked from r and stored without what lies
 * between. */
static void dync__gen_store_apart(dync__gen *g, int stream, int r)
{
    dync__asm *a = &g->a;
    int bytes = g->stream.at[stream].bytes, apart = g->stream.at[stream].lane - DYNC__GL_TWO + 2,
        words = bytes / 4;
    dync__vt v = dync__gen_raw_vt(g, bytes);
    int t = dync__gen_temp(g), k = dync__gen_temp_k(g);
    dync__gen_strided(g, stream, 0);
    for (int j = 0; j < apart; j++) {
        int32_t index[16] = {0}, mask = 0;
        for (int l = 0; l < g->V; l++) {
            for (int w = 0; w < words; w++)
                index[l * words + w] = (j * g->V + l) / apart * words + w;
            if ((j * g->V + l) % apart == 0) mask |= 1 << l;
        }
        DYNC__A(a, LOAD, .v = v, .to = t, .y = dync__a_constant64(a, index));
        DYNC__A(a, PICK, .v = v, .to = t, .z = t, .y = dync__a_reg(r));
        DYNC__A(a, SET, .to = DYNC__G_T1, .n = mask);
        DYNC__A(a, MASK_FROM, .v = v, .to = k, .x = DYNC__G_T1);
        DYNC__A(a, STORE_PART, .v = v, .x = t, .y = dync__a_mem(DYNC__G_T0, j * g->V * bytes),
                .z = k);
    }
}

/* Prefetches the first cache line of the next page of 4 KB of each load and non-temporal store, so
 * that its address is known when the processor's own prefetching, which ends with a page, comes
 * there. */
DYNC__FN void dync__gen_prefetch_page(dync__gen *g, int list)
{
    dync__asm *a = &g->a;
    for (int p = 0; p < g->list[list].n; p++) {
        int i = g->list[list].at[p], stream = g->stream_of[i];
        const dync__gen_stream *s = stream < 0 ? NULL : &g->stream.at[stream];
        if (!s || s->kind != DYNC__GS_MEM || s->lane != DYNC__GL_DENSE ||
            (dync__gen_inst(g, i)->prim != DYNC__P_load && !s->nontemporal))
            continue;
        DYNC__A(a, ADDRESS, .to = DYNC__G_T1,
                .y = dync__a_index(dync__gen_base(g, stream), DYNC__G_LANE, s->bytes, 0));
        DYNC__A(a, AND_N, .y = dync__a_reg(DYNC__G_T1), .n = -4096);
        DYNC__A(a, PREFETCH, .y = dync__a_mem(DYNC__G_T1, 4096), .n = 1);
    }
}

/* The lanes that the tail has of vector u, to T0 on, in halves: where masks have no registers, a
 * masked store takes longer than the row before it. */
static void dync__gen_store_halves(dync__gen *g, int stream, int r)
{
    dync__asm *a = &g->a;
    int bytes = g->stream.at[stream].bytes, type = bytes == 8 ? DYNC_I64 : DYNC_I32,
        t = dync__gen_temp(g), part = dync__a_label(a), done = dync__a_label(a);
    dync__vt v = dync__vt_of(type, g->V);
    dync__place to = dync__a_mem(DYNC__G_T0, 0), left = dync__a_reg(DYNC__G_T2);
    DYNC__A(a, GET, .to = DYNC__G_T2, .y = dync__gen_at(g->tail_count));
    if (g->u) DYNC__A(a, SUB_N, .y = left, .n = g->u * g->V);
    DYNC__A(a, JUMP_IF_N, .op = DYNC__IF_LE, .y = left, .n = 0, .label = done);
    DYNC__A(a, JUMP_IF_N, .op = DYNC__IF_LT, .y = left, .n = g->V, .label = part);
    DYNC__A(a, STORE, .v = v, .x = r, .y = to);
    DYNC__A(a, JUMP, .label = done);
    DYNC__A(a, LABEL, .label = part);
    DYNC__A(a, LOAD, .v = v, .to = t, .y = dync__a_reg(r));
    dync__a_halves(a, v, t, DYNC__G_T0, DYNC__G_T2);
    DYNC__A(a, LABEL, .label = done);
}

DYNC__FN void dync__gen_store(dync__gen *g, int i)
{
    const dync__inst *in = dync__gen_inst(g, i);
    dync__asm *a = &g->a;
    int stream = g->stream_of[i], bytes = g->stream.at[stream].bytes;
    const dync__gen_stream *s = &g->stream.at[stream];
    dync__vt v = dync__gen_raw_vt(g, bytes), one = dync__vt_of(v.type, 1);
    bool back = s->lane == DYNC__GL_BACK && !g->single && !dync__gen_is_staged(g, s);
    if (back && g->masked) dync__gen_back_left(g);
    int r = dync__gen_narrow(g, g->b->k->buf.at[in->buf].dtype, in->arg[0], back);
    if (dync__gen_is_same(g, s)) {
        if (bytes >= 4) {
            DYNC__A(a, STORE, .v = one, .x = r, .y = dync__gen_element(g, stream));
            return;
        }
        DYNC__A(a, FIRST_TO, .v = dync__vt_of(DYNC_I32, 1), .x = r, .y = dync__a_reg(DYNC__G_T1));
        DYNC__A(a, PUT_AS, .v = v, .x = DYNC__G_T1, .y = dync__gen_element(g, stream));
    } else if (dync__gen_is_staged(g, s)) {
        DYNC__A(a, STORE, .v = v, .x = r, .y = dync__gen_at(g->stage));
        dync__gen_stage(g, stream, false);
    } else if (back && !g->masked) {
        dync__gen_strided(g, stream, g->V - 1);
        DYNC__A(a, STORE, .v = v, .x = r, .y = dync__a_mem(DYNC__G_T0, 0));
    } else if (s->lane >= DYNC__GL_TWO) {
        dync__gen_store_apart(g, stream, r);
    } else if (!g->masked) {
        DYNC__A(a, STORE, .v = v, .x = r, .y = dync__gen_element(g, stream), .op = s->nontemporal);
    } else {
        dync__place to = back ? dync__gen_back_at(g, stream) : dync__gen_element(g, stream);
        if (a->t->n_masks == 0) {
            if (!back) DYNC__A(a, ADDRESS, .to = DYNC__G_T0, .y = to);
            dync__gen_store_halves(g, stream, r);
        } else {
            int z = dync__gen_tail(g, bytes == 8);
            DYNC__A(a, STORE_PART, .v = v, .x = r, .y = to, .z = z);
        }
    }
}

/* ---- the rest -------------------------------------------------------------------------------- */

/* r += lane * stride, by the bits of the lane's number. (Lanes written one by one and read as a
 * vector wait for memory each time.) */
static void dync__gen_index_lanes(dync__gen *g, dync__vt v, int r, dync__place stride)
{
    dync__asm *a = &g->a;
    int words = dync__gen_type_wide(v.type) ? 2 : 1;
    int times = dync__gen_temp(g), part = dync__gen_temp(g);
    DYNC__A(a, SPREAD, .v = v, .to = times, .y = stride);
    for (int bit = 1; bit < g->V; bit *= 2) {
        int32_t mask[16] = {0};
        for (int w = 0; w < words * g->V; w++) mask[w] = w / words & bit ? -1 : 0;
        DYNC__A(a, OP2, .op = DYNC__P_and_, .v = v, .to = part, .x = times,
                .y = dync__a_constant64(a, mask));
        DYNC__A(a, OP2, .op = DYNC__P_add, .v = v, .to = r, .x = r, .y = dync__a_reg(part));
        if (2 * bit < g->V)
            DYNC__A(a, OP2, .op = DYNC__P_add, .v = v, .to = times, .x = times,
                    .y = dync__a_reg(times));
    }
}

/* As I64, or I32 where the instruction is a cast to it. */
DYNC__FN void dync__gen_index(dync__gen *g, int i)
{
    dync__asm *a = &g->a;
    int stream = g->stream_of[i];
    dync__vt v = dync__gen_vt(g, dync__gen_inst(g, i)->type);
    const dync__gen_stream *s = &g->stream.at[stream];
    int base = dync__gen_base(g, stream), r;
    dync__place stride = dync__gen_arg(dync__gen_record(g, stream, DYNC__GW_LANE));
    if (dync__gen_is_same(g, s)) {
        DYNC__A(a, PUT, .x = base, .y = dync__gen_at(g->stage));
        r = dync__gen_def(g, i);
        DYNC__A(a, SPREAD, .v = v, .to = r, .y = dync__gen_at(g->stage));
        return;
    }
    DYNC__A(a, ADDRESS, .to = DYNC__G_T1, .y = dync__a_mem(DYNC__G_LANE, g->u * g->V));
    DYNC__A(a, MUL, .to = DYNC__G_T1, .y = stride);
    DYNC__A(a, ADD, .to = DYNC__G_T1, .y = dync__a_reg(base));
    DYNC__A(a, PUT, .x = DYNC__G_T1, .y = dync__gen_at(g->stage));
    r = dync__gen_def(g, i);
    DYNC__A(a, SPREAD, .v = v, .to = r, .y = dync__gen_at(g->stage));
    dync__gen_index_lanes(g, v, r, stride);
}

/* Whole vectors: a row buffer has room behind it. */
DYNC__FN void dync__gen_keep(dync__gen *g, int i, bool load)
{
    int stream = g->keep_stream[i];
    dync__vt v = dync__gen_vt(g, dync__gen_inst(g, i)->type);
    int r = load ? dync__gen_def(g, i) : g->val[i * DYNC__GEN_UNROLL + g->u].reg;
    if (load)
        DYNC__A(&g->a, LOAD, .v = v, .to = r, .y = dync__gen_element(g, stream));
    else
        DYNC__A(&g->a, STORE, .v = v, .x = r, .y = dync__gen_element(g, stream));
}

/* Each vector of rows side by side has a slot of its own; what leads is made once and fills them
 * all. */
DYNC__FN void dync__gen_slot_store(dync__gen *g, int i)
{
    int type = dync__gen_inst(g, i)->type, r = g->val[i * DYNC__GEN_UNROLL + g->u].reg;
    bool each = g->vertical && g->b->level[i] == 1;
    if (g->kept) dync__gen_lead(g, i, r);
    for (int u = each ? g->u : 0, end = each && g->leads[i] ? g->U : u + 1; u < end; u++) {
        DYNC__A(&g->a, STORE, .v = dync__gen_vt(g, type), .x = r, .y = dync__gen_slot(g, i, u));
    }
}
#endif
