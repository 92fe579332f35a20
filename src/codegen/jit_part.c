/* codegen/jit_part.c: what a kernel has beside its code, which others may share: extents, strides,
 * blocks, and what is taken by an index. Before: plan_code.c, jit_settle.c; after: jit_run.c fills
 * it in. */
#include "../dync.in.h"
#include "gemm_code.h"
#include "plan_code.h"
DYNC__LEAN
#if DYNC__JIT

DYNC__FN int64_t dync__jb_keep_bytes(const dync__jb *j, int inst, int unroll)
{
    int64_t one = (int64_t)dync__type_bytes(dync__lp_inst(j->b, inst)->type);
    int64_t n = j->g->vertical ? dync__sz_mul(j->b->n_inner, unroll * j->g->V)
                               : dync__sz_add(j->b->n_inner, DYNC__GEN_UNROLL * j->g->V);
    return dync__sz_mul(dync__sz_div(dync__sz_add(dync__sz_mul(one, n), 63), 64), 64);
}

/* Bytes that all of loop d goes over. */
static int64_t dync__jb_round(const dync__jb *j, const dync__gen_stream *st,
                              const dync__jit_loops *l, int d)
{
    return dync__sz_mul(dync__sz_mul(dync__jb_stride(j, st->access, l->loop[d]), l->extent[d]),
                        st->bytes);
}

static void dync__jb_record(const dync__jb *j, const dync__jit *jit, int s, int64_t *keep)
{
    const dync__gen_stream *st = &j->g->stream.at[s];
    int64_t *w = jit->words + jit->n_words - (jit->n_streams - s) * jit->record, bytes = st->bytes;
    dync__jit_stream *out = dync__jit_stream_at(jit, s);
    int D = j->rows.n, K = j->inner.n;
    memset(out, 0, jit->stream_bytes);
    out->buf = st->kind == DYNC__GS_KEEP ? -1 : st->kind == DYNC__GS_INDEX ? -2 : st->buf;
    if (st->kind == DYNC__GS_KEEP) {
        out->at = *keep;
        *keep = dync__sz_add(*keep, dync__jb_keep_bytes(j, st->inst, jit->form->unroll));
        if (j->g->split) w[DYNC__GW_LANE] = bytes;
        if (K > 0)
            w[DYNC__GW_STEP + D + K - 1] =
                dync__sz_mul(bytes, jit->vertical ? jit->form->unroll * j->g->V : j->lanes);
        return;
    }
    out->at = dync__sz_mul(j->b->k->access.at[st->access].offset, bytes);
    out->nontemporal = st->nontemporal;
    out->transposed = st->transposed;
    out->bytes = st->bytes;
    if (j->b->repeats && st->kind == DYNC__GS_MEM)
        out->period = dync__lp_period(j->b, st->inst, j->b->split);
    out->lane = w[DYNC__GW_LANE] =
        dync__sz_mul(dync__jb_stride(j, st->access, j->lane_loop), bytes);
    for (int d = 0; d < j->over.n; d++)
        out->step[1 + d] = dync__sz_mul(dync__jb_stride(j, st->access, j->over.loop[d]), bytes);
    for (int d = 0; d < D; d++) {
        out->step[d] = dync__sz_mul(dync__jb_stride(j, st->access, j->rows.loop[d]), bytes);
        w[DYNC__GW_STEP + d] = out->step[d];
        if (d + 1 < D)
            w[DYNC__GW_STEP + d] =
                dync__sz_sub(out->step[d], dync__jb_round(j, st, &j->rows, d + 1));
    }
    for (int d = 0; d < K; d++) {
        int64_t *to = &w[DYNC__GW_STEP + D + d];
        *to = dync__sz_mul(dync__jb_stride(j, st->access, j->inner.loop[d]), bytes);
        if (d + 1 < K) *to = dync__sz_sub(*to, dync__jb_round(j, st, &j->inner, d + 1));
    }
}

/* Each row of a strip has row buffers of its own. */
static void dync__jb_strip_buffers(const dync__jb *j, dync__jit *jit)
{
    for (int s = 0; s < jit->n_streams; s++)
        if (j->g->stream.at[s].kind == DYNC__GS_KEEP)
            jit->words[jit->n_words - (jit->n_streams - s) * jit->record + DYNC__GW_STEP] =
                jit->keep_bytes;
    jit->keep_bytes = dync__sz_mul(jit->keep_bytes, j->g->strip);
}

/* What makes a kernel in blocks, sizes apart. A load that is stored as it is needs no tile. */
static void dync__jb_block(const dync__jb *j, dync__jit *jit)
{
    const dync__gen_stream *s = j->g->stream.at;
    int code = 0, loads = 0;
    jit->blocks = true;
    jit->sectioned = j->b->sectioned;
    jit->n_over = j->over.n;
    memcpy(jit->over, j->over.extent, sizeof jit->over);
    for (int i = 0; i < j->b->k->inst.n; i++) {
        code += dync__jb_is_code(j->b, i);
        loads += dync__lp_inst(j->b, i)->prim == DYNC__P_load;
    }
    if (code == 2 && loads == 1 && jit->n_streams == 2 && s[0].lane == DYNC__GL_DENSE &&
        s[1].lane == DYNC__GL_DENSE && !j->b->repeats && !s[0].transposed != !s[1].transposed &&
        j->b->k->buf.at[s[0].buf].dtype == j->b->k->buf.at[s[1].buf].dtype)
        jit->copies = s[0].transposed ? 1 : 2;
    jit->collects = true;
    jit->least = 8;
    jit->most = 1;
    for (int i = 0; i < jit->n_streams; i++) {
        jit->collects &= !s[i].transposed || s[i].transposed == DYNC__JIT_COLLECT;
        jit->moved += s[i].kind == DYNC__GS_MEM ? s[i].bytes : 0;
        if (s[i].transposed && (s[i].transposed != DYNC__JIT_COLLECT || j->b->repeats))
            jit->most = DYNC__MAX(jit->most, (int)s[i].bytes),
            jit->least = DYNC__MIN(jit->least, (int)s[i].bytes);
    }
}

/* Instructions that there is code for among the value i and what it is made of, each once: sizes
 * that are one (a row of n - 1, of n rows) are one number. -1: no memory. */
static int dync__jb_code_of(const dync__jb *j, int i)
{
    bool *of = dync__arena_alloc(j->b->arena, (size_t)i + 1);
    int n = 0;
    if (!of) return -1;
    of[i] = true;
    for (int k = i; k >= 0; k--) {
        const int32_t *arg = dync__lp_inst(j->b, k)->arg;
        n += of[k] && dync__jb_is_code(j->b, k);
        for (int a = 0; of[k] && a < 3; a++)
            if (arg[a] >= 0) of[arg[a]] = true;
    }
    return n;
}

/* The store of value i, or -1; *alone: the kernel does nothing else. */
static int dync__jb_store_of(const dync__jb *j, int i, bool *alone)
{
    int code = 0, store = -1;
    for (int s = 0; s < j->b->k->inst.n; s++) {
        const dync__inst *in = dync__lp_inst(j->b, s);
        code += dync__jb_is_code(j->b, s);
        if (j->b->needed[s] && in->prim == DYNC__P_store && dync__gen_root(j->g, in->arg[0]) == i)
            store = s;
    }
    *alone = store >= 0 && code == dync__jb_code_of(j, i) + 1;
    return store;
}

/* The gather by rows that instruction i may be; false: it is none. */
static bool dync__jb_gather(const dync__jb *j, const dync__jit *jit, int i, dync__jit_by_row *g)
{
    const dync__loop_plan *b = j->b;
    const dync__inst *gather = dync__lp_inst(b, i);
    const dync__access *rows = &b->k->access.at[gather->access];
    int by = rows->rows ? dync__gen_root(j->g, (int)gather->imm.i - 1) : -1;
    if (by < 0 || !b->needed[by] || dync__lp_inst(b, by)->prim != DYNC__P_load || j->blocks)
        return false;
    bool alone;
    int store = dync__jb_store_of(j, i, &alone);
    memset(g, 0, sizeof *g);
    g->stream[0] = j->g->stream_of[by];
    g->stream[1] = j->g->stream_of[i];
    g->stream[2] = store < 0 ? 0 : j->g->stream_of[store];
    const dync__buf *buf = b->k->buf.at, *index = &buf[dync__jit_stream_at(jit, g->stream[0])->buf],
                    *table = &buf[dync__jit_stream_at(jit, g->stream[1])->buf],
                    *to = store < 0 ? NULL : &buf[dync__jit_stream_at(jit, g->stream[2])->buf];
    if ((index->dtype != DYNC_I64 && index->dtype != DYNC_I32) || index->mode != DYNC__BUF_IN ||
        table->mode != DYNC__BUF_IN)
        return false;
    g->bytes = alone && j->inner.n == 0 && table->dtype == to->dtype && to->mode == DYNC__BUF_OUT;
    g->rows = rows->rows;
    g->row_stride = rows->row_stride;
    for (int d = 0; d < j->rows.n + j->inner.n; d++) {
        int loop = d < j->rows.n ? j->rows.loop[d] : j->inner.loop[d - j->rows.n];
        g->index[d] = dync__jb_stride(j, dync__lp_inst(b, by)->access, loop);
        g->table[d] = dync__jb_stride(j, gather->access, loop);
    }
    return true;
}

/* The kernel's gathers, decided at once where sizes are numbers, else kept; false: no memory. */
static bool dync__jb_gathers(const dync__jb *j, dync__jit *jit)
{
    bool sized = dync__kernel_has_sizes(j->b->k);
    dync__jit_by_row g;
    int n = 0;
    for (int i = 0; i < j->b->k->inst.n; i++)
        n += j->b->needed[i] && dync__lp_inst(j->b, i)->prim == DYNC__P_loadx;
    if (sized && n && !(jit->gather = dync__alloc((size_t)n * sizeof *jit->gather))) return false;
    jit->n_gathers = sized ? n : 0;
    n = 0;
    for (int i = 0; i < j->b->k->inst.n; i++) {
        if (!j->b->needed[i] || dync__lp_inst(j->b, i)->prim != DYNC__P_loadx) continue;
        bool is = dync__jb_gather(j, jit, i, &g);
        if (!is) memset(&g, 0, sizeof g); /* no rows */
        if (sized)
            jit->gather[n++] = g;
        else if (is)
            dync__jit_settle_gather(jit, &g);
    }
    return true;
}

DYNC__FN bool dync__code_looks(dync__code *c, int index, int64_t offset, int64_t n, int64_t size)
{
    dync__jit *jit = c->jit;
    const dync__jit_stream *s = jit ? dync__jit_stream_at(jit, jit->take.stream[0]) : NULL;
    if (!jit || c->empty || size <= 0 || jit->take.size != size || s->buf != index ||
        s->at != offset * s->bytes)
        return false;
    return jit->take.checks = n == jit->take.covers && (!jit->take.each || jit->take.far);
}

DYNC__FN dync__jit *dync__jb_finish(dync__jb *j, dync__jit_form *form)
{
    int D = j->rows.n, K = j->inner.n, n = j->g->stream.n, record = DYNC__GW_STEP + D + K,
        m = j->g->split || j->g->tall ? j->g->red.n : 0,
        words = DYNC__GW_FIXED + 2 * D + K + n * record;
    size_t stream = sizeof(dync__jit_stream) +
                    (size_t)dync__jit_steps(D, j->over.n) * sizeof(int64_t),
           bytes = sizeof(dync__jit) + (size_t)n * stream + (size_t)words * sizeof(int64_t) +
                   (size_t)m * sizeof(dync__jit_reduce);
    dync__jit *jit = dync__calloc(bytes);
    if (!jit) return NULL;
    jit->form = form;
    jit->bytes = bytes;
    jit->stream_bytes = stream;
    jit->stream = (char *)(jit + 1);
    jit->words = (int64_t *)(void *)dync__jit_stream_at(jit, n);
    jit->n_words = words;
    jit->reduce = (dync__jit_reduce *)(void *)(jit->words + words);
    jit->split = j->g->split;
    jit->state_lanes = form->unroll * j->g->V;
    jit->state_bytes = j->g->tall ? 3 * 64 * form->unroll * j->g->red.n : 0;
    jit->n_phases = j->b->n_phases;
    jit->n_reduces = m;
    jit->slot_bytes = form->slot_bytes;
    for (int i = 0, at = 0; i < j->b->k->inst.n; i++) { /* as gen_kernel.c gives slots out */
        if (j->g->slot[i] < 0) continue;
        for (int r = 0; r < m; r++)
            if (j->g->red.at[r].inst == i)
                jit->reduce[r] = (dync__jit_reduce){j->g->red.at[r].phase, at, j->g->red.at[r].kind,
                                                    j->g->red.at[r].type};
        at += 128;
    }
    jit->n_streams = n;
    jit->n_row_dims = D;
    jit->n_inner_dims = K;
    jit->record = record;
    jit->vertical = j->g->vertical;
    jit->lanes = j->lanes;
    jit->rows = 1;
    for (int d = 0; d < D; d++) {
        jit->rows = dync__sz_mul(jit->rows, j->rows.extent[d]);
        jit->words[DYNC__GW_FIXED + 2 * d] = jit->words[DYNC__GW_FIXED + 2 * d + 1] =
            j->rows.extent[d];
    }
    for (int d = 0; d < K; d++) jit->words[DYNC__GW_FIXED + 2 * D + d] = j->inner.extent[d];
    jit->words[DYNC__GW_ROWS] = jit->rows;
    jit->words[DYNC__GW_LANES] = jit->lanes;
    jit->words[DYNC__GW_FRAME] = form->frame;
    jit->words[DYNC__GW_SEGMENT] = -1;
    for (int s = 0; s < n; s++) dync__jb_record(j, jit, s, &jit->keep_bytes);
    if (j->g->strip) dync__jb_strip_buffers(j, jit);
    if (j->blocks) dync__jb_block(j, jit);
    if (j->blocks && !dync__kernel_has_sizes(j->b->k)) dync__jit_settle_blocks(jit);
    if (!dync__jb_gathers(j, jit)) {
        dync__free(jit, bytes);
        return NULL;
    }
    if (j->g->a.listing && !j->g->a.listing->failed) {
        jit->listing = dync__strdup(dync__str_get(j->g->a.listing));
    }
    return jit;
}
#else
DYNC__FN bool dync__code_looks(dync__code *c, int index, int64_t offset, int64_t n, int64_t size)
{
    return (void)c, (void)index, (void)offset, (void)n, (void)size, false;
}
#endif
