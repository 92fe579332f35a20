/* codegen/jit_settle.c: kernels of symbolic sizes, and what of a kernel beside its code is no
 * expression of its sizes: how large the blocks are that it crosses memory in, and whether what is
 * taken by an index is bytes to be copied. Decided where sizes are numbers: by jit_part.c, or here,
 * for each set of sizes. After plan_code.c, before jit_part.c. */
#include "../dync.in.h"
#include "jit.h"
#include "gemm_code.h"
DYNC__LEAN
#if DYNC__JIT

/* ---- blocks ---------------------------------------------------------------------------------- */
/* Is some stream met at whole pages, so that its cache lines fall into one set? */
static bool dync__jit_crowds(const dync__jit *jit)
{
    bool crowds = false;
    for (int i = 0; i < jit->n_streams; i++) {
        const dync__jit_stream *s = dync__jit_stream_at(jit, i);
        crowds |= ((s->transposed && s->transposed != DYNC__JIT_COLLECT) || jit->copies) &&
                  dync__gt_crowds(s->transposed ? s->lane : s->step[0], s->bytes);
    }
    return crowds;
}

/* Blocks of whole rows where sections follow each other, else of 1 KB a lane row, as what runs
 * along the rows is prefetched, and a cache line of what runs across, or 16 KB where lanes are
 * few; half a block is still 16 bytes of each transposed stream. */
DYNC__FN void dync__jit_settle_blocks(dync__jit *jit)
{
    int64_t rows = DYNC__MAX(jit->rows, 1), lanes = DYNC__MAX(jit->lanes, 1);
    int bytes = jit->most, least = jit->least;
    double all = (double)rows * (double)lanes * (double)jit->moved; /* beyond 64 bits where many
                                                                     * indices have one place */
    for (int d = 0; d < jit->n_over; d++) all *= (double)jit->over[d];
    bool crowds = dync__jit_crowds(jit),
         squares = dync__gt_squares(least) &&
                   (!crowds || DYNC__MIN(rows, lanes) * least >= DYNC__BLOCK_LANE_BYTES);
    int run = crowds && !squares ? DYNC__CROWDED_RUN
                                 : DYNC__COST_LINE; /* bytes of a row at a time: gemm_run.c */
    jit->fetches = !jit->collects && all >= DYNC__JIT_NONTEMPORAL / 2;
    jit->block_lanes = DYNC__MAX(run == DYNC__CROWDED_RUN
                                     ? DYNC__CROWDED_LANES
                                     : DYNC__MIN(DYNC__BLOCK_LANE_BYTES / bytes, DYNC__BLOCK_LANES),
                                 DYNC__BLOCK_BYTES / bytes / rows);
    for (int i = 0; i < jit->n_streams; i++) { /* whole rounds: the next block has the same */
        int64_t period = dync__jit_stream_at(jit, i)->period;
        if (!period) continue;
        while (period % 64) period *= 2; /* and whole cache lines */
        jit->block_lanes = DYNC__MIN(jit->block_lanes, DYNC__REPEAT_LANES);
        if (jit->block_lanes > period) jit->block_lanes -= jit->block_lanes % period;
    }
    if (jit->sectioned) jit->block_lanes = lanes;
    jit->block_rows =
        DYNC__MAX(run / least, DYNC__BLOCK_BYTES / bytes / DYNC__MIN(jit->block_lanes, lanes));
    jit->tiles = jit->keep_bytes;
    jit->keep_bytes += DYNC__GT_SCRATCH;
    for (int i = 0; i < jit->n_streams; i++) {
        dync__jit_stream_at(jit, i)->tile = jit->keep_bytes - jit->tiles;
        const dync__jit_stream *st = dync__jit_stream_at(jit, i);
        bool one = st->transposed == DYNC__JIT_COLLECT && !st->step[0];
        if (st->transposed)
            jit->keep_bytes += dync__jit_tile_bytes(one ? 1 : jit->block_rows * 3 / 2,
                                                    jit->block_lanes * 3 / 2, st->bytes);
    }
    /* more than a second cache */
    if (jit->copies && squares) jit->side = 64 / bytes, jit->fetches = all > DYNC__SECOND_CACHE;
}

/* ---- rows by an index ------------------------------------------------------------------------ */
/* How often row loop d runs; of inner loop d: behind those. */
static int64_t dync__jit_extent(const dync__jit *jit, int d)
{
    int D = jit->n_row_dims;
    return jit->words[DYNC__GW_FIXED + (d < D ? 2 * d + 1 : D + d)];
}

/* How many indices lie side by side, each met by the rows and lanes; 0: they do not. *apart: the
 * rows have different ones. */
static int64_t dync__jit_covers(const dync__jit *jit, const dync__jit_stream *index, bool *apart)
{
    int64_t covers = 1, end = 0;
    for (int d = 0; d <= jit->n_row_dims; d++) { /* then lanes */
        bool row = d < jit->n_row_dims;
        int64_t step = row ? index->step[d] : index->lane,
                n = row ? dync__jit_extent(jit, d) : jit->lanes;
        *apart |= step && row;
        if (step) covers *= n, end += (n - 1) * step;
        if (step < 0) end = -1;
    }
    return end == (covers - 1) * index->bytes ? covers : 0;
}

/* Do the indices lie as the rows and inner loops do, and the table's rows along none of them?
 * *dense: how many. */
static bool dync__jit_lies(const dync__jit *jit, const dync__jit_by_row *g, int64_t *dense)
{
    bool lies = true;
    *dense = 1;
    for (int d = jit->n_row_dims + jit->n_inner_dims - 1; d >= 0; d--) { /* innermost first */
        lies &= g->index[d] == *dense && !g->table[d];
        *dense *= dync__jit_extent(jit, d);
    }
    return lies;
}

/* How the gather is done. Stored and no more, with one index for all lanes, or one each of a few,
 * it is bytes to be copied: longer rows of what needs no conversion are as well loaded by the code.
 * Else the table's rows can be prefetched. */
DYNC__FN void dync__jit_settle_gather(dync__jit *jit, const dync__jit_by_row *g)
{
    bool apart = false;
    dync__jit_take t = {.stream = {g->stream[0], g->stream[1], g->stream[2]}};
    const dync__jit_stream *index = dync__jit_stream_at(jit, t.stream[0]),
                           *table = dync__jit_stream_at(jit, t.stream[1]),
                           *out = dync__jit_stream_at(jit, t.stream[2]);
    if (!g->rows || jit->rows <= 0 || jit->lanes <= 0) return;
    t.covers = dync__jit_covers(jit, index, &apart);
    bool copies = g->bytes && !jit->keep_bytes && out->lane == out->bytes &&
                  (index->lane
                       ? index->lane == index->bytes &&
                             jit->lanes <= (apart ? DYNC__JIT_PICKED_APART : DYNC__JIT_PICKED)
                       : table->lane == table->bytes &&
                             (out->bytes < 4 || jit->lanes * out->bytes <= DYNC__JIT_PICKED_ROW));
    int64_t dense;
    bool lies = dync__jit_lies(jit, g, &dense) && !index->lane && table->lane == table->bytes &&
                !jit->split && !jit->state_bytes;
    t.stride = g->row_stride * table->bytes;
    t.size = g->rows;
    t.far = t.size * t.stride > DYNC__JIT_FAR;
    if (!copies)
        t.covers = dense, t.each = dense / jit->rows,
        t.some = DYNC__MAX(DYNC__JIT_LED / (t.each * jit->lanes * table->bytes), 1);
    if (copies || (lies && t.size * t.stride > jit->take.size * jit->take.stride)) jit->take = t;
}

/* ---- of all sizes ---------------------------------------------------------------------------- */
DYNC__FN bool dync__jit_is_shared(const dync__jit *jit) { return jit->form->key != NULL; }

static void dync__jit_map_gather(dync__jit_by_row *g, const dync__sz_map *m)
{
    dync__sz_map_to(m, &g->rows);
    dync__sz_map_to(m, &g->row_stride);
    for (int d = 0; d < 2 * DYNC__GEN_DIMS; d++) {
        dync__sz_map_to(m, &g->index[d]);
        dync__sz_map_to(m, &g->table[d]);
    }
}

DYNC__FN void dync__jit_map(dync__jit *jit, const dync__sz_map *m)
{
    dync__sz_map_to(m, &jit->rows);
    dync__sz_map_to(m, &jit->lanes);
    dync__sz_map_to(m, &jit->keep_bytes);
    for (int s = 0; s < jit->n_streams; s++) {
        dync__sz_map_to(m, &dync__jit_stream_at(jit, s)->at);
        dync__sz_map_to(m, &dync__jit_stream_at(jit, s)->lane);
        dync__sz_map_to(m, &dync__jit_stream_at(jit, s)->period);
        for (int d = 0; d < dync__jit_steps(jit->n_row_dims, jit->n_over); d++)
            dync__sz_map_to(m, &dync__jit_stream_at(jit, s)->step[d]);
    }
    for (int d = 0; d < jit->n_over; d++) dync__sz_map_to(m, &jit->over[d]);
    for (int w = 0; w < jit->n_words; w++) dync__sz_map_to(m, &jit->words[w]);
    for (int i = 0; i < jit->n_gathers; i++) dync__jit_map_gather(&jit->gather[i], m);
}

DYNC__FN dync__jit *dync__jit_lay(const dync__jit *from, int n_numbers, dync__sz_image *im)
{
    const dync__sz_map map = {NULL, im};
    size_t bytes = from->bytes + (size_t)n_numbers * sizeof(int64_t),
           gathers = (size_t)from->n_gathers * sizeof *from->gather;
    dync__jit *jit = dync__sz_image_put(im, NULL, bytes);
    if (!jit) return NULL;
    memcpy(jit, from, from->bytes);
    jit->bytes = bytes;
    jit->stream = (char *)(jit + 1);
    jit->words = (int64_t *)(void *)dync__jit_stream_at(jit, jit->n_streams);
    jit->reduce = (dync__jit_reduce *)(void *)(jit->words + jit->n_words);
    jit->listing = jit->other = NULL;
    if (gathers && !(jit->gather = dync__sz_image_put(im, from->gather, gathers))) return NULL;
    dync__jit_map(jit, &map);
    dync__sz_image_link(im, &jit->stream);
    dync__sz_image_link(im, &jit->words);
    dync__sz_image_link(im, &jit->reduce);
    if (gathers) dync__sz_image_link(im, &jit->gather);
    return jit;
}

DYNC__FN bool dync__jit_settles(const dync__jit *jit)
{
    return (jit->blocks && !jit->block_rows) || jit->n_gathers;
}

/* What is left to decide now that sizes are numbers. */
DYNC__OFTEN DYNC__FN void dync__jit_settle(dync__jit *jit, int n_bufs, int n_numbers,
                                           const int64_t *number)
{
    char *numbers = (char *)jit + jit->bytes - (size_t)n_numbers * sizeof *number;
    /* of a kernel without sizes they are settled */
    if (jit->blocks && !jit->block_rows) dync__jit_settle_blocks(jit);
    for (int i = 0; i < jit->n_gathers; i++) dync__jit_settle_gather(jit, &jit->gather[i]);
    jit->gather = NULL;
    jit->n_gathers = 0;
    if (n_numbers) memcpy(numbers, number, (size_t)n_numbers * sizeof *number);
    for (int s = 0; s < jit->n_streams && n_numbers; s++) {
        dync__jit_stream *st = dync__jit_stream_at(jit, s);
        if (st->buf < n_bufs) continue;
        st->at += (int64_t)(intptr_t)(numbers + (size_t)(st->buf - n_bufs) * sizeof *number);
        st->buf = -2; /* its base is nothing */
    }
}

/* Forms that are listed are made anew for each kernel: they have no key. */
static bool dync__jit_same_form(const dync__jit_form *x, const dync__jit_form *y)
{
    return x == y || (x && y && !x->key && !y->key && x->hash == y->hash);
}

/* Where sizes make two accesses equal, y, made with numbers, has one stream for both. Behind x may
 * stand numbers that its code has no use for. */
DYNC__FN bool dync__jit_same(const dync__jit *x, const dync__jit *y)
{
    if (x->n_streams > y->n_streams) return true;
    dync__jit a = *x, b = *y;
    size_t rest = b.bytes - sizeof b;
    if (a.bytes < b.bytes || !dync__jit_same_form(a.form, b.form) ||
        !dync__jit_same_form(a.nontemporal, b.nontemporal) ||
        !dync__jit_same_form(a.squares, b.squares))
        return false;
    a.bytes = b.bytes;
    a.form = b.form, a.nontemporal = b.nontemporal, a.squares = b.squares;
    a.stream = b.stream = NULL;
    a.words = b.words = NULL;
    a.reduce = b.reduce = NULL;
    a.listing = b.listing = a.other = b.other = NULL;
    return memcmp(&a, &b, sizeof a) == 0 && memcmp(x + 1, y + 1, rest) == 0;
}
#else
DYNC__FN bool dync__jit_is_shared(const dync__jit *jit) { return (void)jit, false; }
DYNC__FN void dync__jit_map(dync__jit *jit, const dync__sz_map *m) { (void)jit, (void)m; }
DYNC__FN dync__jit *dync__jit_lay(const dync__jit *jit, int n_numbers, dync__sz_image *im)
{
    return (void)jit, (void)n_numbers, (void)im, NULL;
}
DYNC__FN bool dync__jit_settles(const dync__jit *jit) { return jit != NULL; }
DYNC__FN void dync__jit_settle(dync__jit *jit, int n_bufs, int n_numbers, const int64_t *number)
{
    (void)jit, (void)n_bufs, (void)n_numbers, (void)number;
}
DYNC__FN bool dync__jit_same(const dync__jit *x, const dync__jit *y) { return x == y; }
#endif
