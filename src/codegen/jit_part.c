/* codegen/jit_part.c: what a kernel has beside its code, which others may share: extents, strides,
 * blocks, and what is taken by an index. Before: plan_code.c; after: jit_run.c fills it in. */
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
    dync__jit_stream *out = &jit->stream[s];
    int D = j->rows.n, K = j->inner.n;
    memset(out, 0, sizeof *out);
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

/* Blocks of whole rows where sections follow each other, else of 1 KB a lane row, as what runs
 * along the rows is prefetched, and a cache line of what runs across, or 16 KB where lanes are
 * few; half a block is still 16 bytes of each transposed stream. A load that is stored as it is
 * needs no tile. */
static void dync__jb_block(const dync__jb *j, dync__jit *jit)
{
    const dync__gen_stream *s = j->g->stream.at;
    int bytes = 1, least = 8, code = 0, loads = 0;
    double all = 0; /* beyond 64 bits where many indices have one place */
    bool crowds = false;
    jit->blocks = true;
    jit->n_over = j->over.n;
    memcpy(jit->over, j->over.extent, sizeof jit->over);
    for (int i = 0; i < jit->n_streams; i++)
        if (s[i].kind == DYNC__GS_MEM)
            all += (double)j->b->n_rows * (double)j->b->n_inner * (double)s[i].bytes;
    jit->fetches = all >= DYNC__JIT_PAST / 2;
    for (int i = 0; i < j->b->k->inst.n; i++) {
        code += dync__jb_is_code(j->b, i);
        loads += dync__lp_inst(j->b, i)->prim == DYNC__P_load;
    }
    if (code == 2 && loads == 1 && jit->n_streams == 2 && s[0].lane == DYNC__GL_DENSE &&
        s[1].lane == DYNC__GL_DENSE && !s[0].transposed != !s[1].transposed &&
        j->b->k->buf.at[s[0].buf].dtype == j->b->k->buf.at[s[1].buf].dtype)
        jit->copies = s[0].transposed ? 1 : 2;
    for (int i = 0; i < jit->n_streams; i++)
        if (s[i].transposed)
            bytes = DYNC__MAX(bytes, (int)s[i].bytes), least = DYNC__MIN(least, (int)s[i].bytes);
    for (int i = 0; i < jit->n_streams; i++)
        crowds |= (s[i].transposed || jit->copies) &&
                  dync__gt_crowds(s[i].transposed ? jit->stream[i].lane : jit->stream[i].step[0],
                                  s[i].bytes);
    bool squares = dync__gt_squares(least) &&
                   (!crowds || DYNC__MIN(jit->rows, jit->lanes) * least >= DYNC__BLOCK_LANE_BYTES);
    int run = crowds && !squares ? DYNC__CROWDED_RUN
                                 : DYNC__COST_LINE; /* bytes of a row at a time: gemm_run.c */
    jit->block_lanes = DYNC__MAX(run == DYNC__CROWDED_RUN
                                     ? DYNC__CROWDED_LANES
                                     : DYNC__MIN(DYNC__BLOCK_LANE_BYTES / bytes, DYNC__BLOCK_LANES),
                                 DYNC__BLOCK_BYTES / bytes / jit->rows);
    if (j->b->sectioned) jit->block_lanes = jit->lanes;
    jit->block_rows =
        DYNC__MAX(run / least, DYNC__BLOCK_BYTES / bytes / DYNC__MIN(jit->block_lanes, jit->lanes));
    jit->tiles = jit->keep_bytes;
    jit->keep_bytes += DYNC__GT_SCRATCH;
    for (int i = 0; i < jit->n_streams; i++) {
        jit->stream[i].tile = jit->keep_bytes - jit->tiles;
        if (s[i].transposed)
            jit->keep_bytes +=
                dync__jit_tile_bytes(jit->block_rows * 3 / 2, jit->block_lanes * 3 / 2, s[i].bytes);
    }
    /* more than a second cache */
    if (jit->copies && squares) jit->side = 64 / bytes, jit->fetches = all > DYNC__SECOND_CACHE;
}

/* Instructions that there is code for among the value i and what it is made of. */
static int dync__jb_code_of(const dync__jb *j, int i)
{
    int n = dync__jb_is_code(j->b, i);
    for (int a = 0; a < 3; a++) {
        int arg = dync__lp_inst(j->b, i)->arg[a];
        if (arg >= 0) n += dync__jb_code_of(j, arg);
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

/* How many indices lie side by side, each met by the rows and lanes; 0: they do not. *apart: the
 * rows have different ones. */
static int64_t dync__jb_covers(const dync__jb *j, const dync__jit_stream *index, bool *apart)
{
    int64_t covers = 1, end = 0;
    for (int d = 0; d <= j->rows.n; d++) { /* then lanes */
        int64_t step = d < j->rows.n ? index->step[d] : index->lane,
                n = d < j->rows.n ? j->rows.extent[d] : j->lanes;
        *apart |= step && d < j->rows.n;
        if (step) covers *= n, end += (n - 1) * step;
        if (step < 0) end = -1;
    }
    return end == (covers - 1) * index->bytes ? covers : 0;
}

/* Do the indices lie as the rows and inner loops do, and the table's rows along none of them?
 * *dense: how many. */
static bool dync__jb_lies(const dync__jb *j, int index, int table, int64_t *dense)
{
    bool lies = true;
    *dense = 1;
    for (int d = j->rows.n + j->inner.n - 1; d >= 0; d--) { /* innermost first */
        const dync__jit_loops *l = d < j->rows.n ? &j->rows : &j->inner;
        int loop = l->loop[d < j->rows.n ? d : d - j->rows.n];
        lies &= dync__jb_stride(j, index, loop) == *dense && !dync__jb_stride(j, table, loop);
        *dense *= l->extent[d < j->rows.n ? d : d - j->rows.n];
    }
    return lies;
}

/* How the gather by rows, instruction i, is done. Stored and no more, with one index for all lanes,
 * or one each of a few, it is bytes to be copied: longer rows of what needs no conversion are as
 * well loaded by the code. Else the table's rows can be prefetched. */
static void dync__jb_plan_take(const dync__jb *j, dync__jit *jit, int i)
{
    const dync__loop_plan *b = j->b;
    const dync__inst *gather = dync__lp_inst(b, i);
    const dync__access *rows = &b->k->access.at[gather->access];
    int by = rows->rows ? dync__gen_root(j->g, (int)gather->imm.i - 1) : -1;
    if (by < 0 || !b->needed[by] || dync__lp_inst(b, by)->prim != DYNC__P_load || j->blocks) return;
    bool alone, apart = false;
    int store = dync__jb_store_of(j, i, &alone);
    dync__jit_take t = {.stream = {j->g->stream_of[by], j->g->stream_of[i],
                                   store < 0 ? 0 : j->g->stream_of[store]}};
    const dync__jit_stream *index = &jit->stream[t.stream[0]], *table = &jit->stream[t.stream[1]],
                           *out = &jit->stream[t.stream[2]];
    const dync__buf *buf = b->k->buf.at, *to = store < 0 ? NULL : &buf[out->buf];
    if ((buf[index->buf].dtype != DYNC_I64 && buf[index->buf].dtype != DYNC_I32) ||
        buf[index->buf].mode != DYNC__BUF_IN || buf[table->buf].mode != DYNC__BUF_IN)
        return;
    t.covers = dync__jb_covers(j, index, &apart);
    bool copies =
        alone && j->inner.n == 0 && !jit->keep_bytes && buf[table->buf].dtype == to->dtype &&
        to->mode == DYNC__BUF_OUT && out->lane == out->bytes &&
        (index->lane ? index->lane == index->bytes &&
                           j->lanes <= (apart ? DYNC__JIT_PICKED_APART : DYNC__JIT_PICKED)
                     : table->lane == table->bytes &&
                           (out->bytes < 4 || j->lanes * out->bytes <= DYNC__JIT_PICKED_ROW));
    int64_t dense;
    bool lies = dync__jb_lies(j, dync__lp_inst(b, by)->access, gather->access, &dense) &&
                !index->lane && table->lane == table->bytes && !jit->split && !jit->state_bytes;
    t.stride = rows->row_stride * table->bytes;
    t.size = rows->rows;
    t.far = t.size * t.stride > DYNC__JIT_FAR;
    if (!copies)
        t.covers = dense, t.each = dense / jit->rows,
        t.some = DYNC__MAX(DYNC__JIT_LED / (t.each * j->lanes * table->bytes), 1);
    if (copies || (lies && t.size * t.stride > jit->take.size * jit->take.stride)) jit->take = t;
}

DYNC__FN bool dync__code_looks(dync__code *c, int index, int64_t offset, int64_t n, int64_t size)
{
    dync__jit *jit = c->jit;
    const dync__jit_stream *s = jit ? &jit->stream[jit->take.stream[0]] : NULL;
    if (!jit || c->empty || size <= 0 || jit->take.size != size || s->buf != index ||
        s->at != offset * s->bytes)
        return false;
    return jit->take.checks = n == jit->take.covers && (!jit->take.each || jit->take.far);
}

DYNC__FN dync__jit *dync__jb_finish(dync__jb *j, dync__jit_form *form)
{
    int D = j->rows.n, K = j->inner.n, n = j->g->stream.n, record = DYNC__GW_STEP + D + K,
        m = j->g->split ? j->g->red.n : 0, words = DYNC__GW_FIXED + 2 * D + K + n * record;
    size_t bytes = sizeof(dync__jit) + (size_t)n * sizeof(dync__jit_stream) +
                   (size_t)words * sizeof(int64_t) + (size_t)m * sizeof(dync__jit_reduce);
    dync__jit *jit = dync__calloc(bytes);
    if (!jit) return NULL;
    jit->form = form;
    jit->bytes = bytes;
    jit->stream = (dync__jit_stream *)(void *)(jit + 1);
    jit->words = (int64_t *)(void *)(jit->stream + n);
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
    if (j->blocks) dync__jb_block(j, jit);
    for (int i = 0; i < j->b->k->inst.n; i++)
        if (j->b->needed[i] && dync__lp_inst(j->b, i)->prim == DYNC__P_loadx)
            dync__jb_plan_take(j, jit, i);
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
