/* codegen/jit_blocks.c: kernels that memory crosses, block by block: loads are transposed into
 * tiles, the code runs on these, tiles are transposed into stores. Before: jit_part.c, which sizes
 * the blocks; after: jit_run.c. */
#include "../dync.in.h"
#include "jit.h"
#include "gemm_code.h"
DYNC__WARM
#if DYNC__JIT

/* Part i of n, all but the last `block` long; the last from half of it to one and a half. */
static int64_t dync__jit_cuts(int64_t n, int64_t block)
{
    return DYNC__MAX((n + block / 2) / block, 1);
}
static int64_t dync__jit_cut(int64_t n, int64_t block, int64_t i, int64_t *length)
{
    *length = i + 1 == dync__jit_cuts(n, block) ? n - i * block : block;
    return i * block;
}

/* Lanes and rows of a block; by squares: larger blocks, of which the second cache holds the cache
 * lines. */
static int64_t dync__jit_across(const dync__jit *jit)
{
    return jit->side ? DYNC__MAX(jit->block_lanes, DYNC__SIDE_LANES) : jit->block_lanes;
}
static int64_t dync__jit_down(const dync__jit *jit)
{
    return jit->side ? DYNC__MAX(jit->block_rows, DYNC__SIDE_ROWS) : jit->block_rows;
}

DYNC__FN int64_t dync__jit_n_blocks(const dync__jit *jit, int64_t rows)
{
    int64_t n = dync__jit_cuts(rows, dync__jit_down(jit)) *
                dync__jit_cuts(jit->lanes, dync__jit_across(jit));
    for (int d = 0; d < jit->n_over; d++) n *= jit->over[d];
    return rows > 0 && jit->lanes > 0 ? n : 0;
}

/* Prefetches to the second cache what a block reads as it lies and where it stores, while its loads
 * are transposed: the runs are too short for the processor's own prefetching. */
static void dync__jit_fetch(const dync__jit *jit, char *const *at, int64_t rows, int64_t lanes)
{
    for (int s = 0; s < jit->n_streams; s++) {
        const dync__jit_stream *st = dync__jit_stream_at(jit, s);
        bool along = !st->transposed;
        if (st->buf < 0 || st->transposed == DYNC__JIT_TRANSPOSE_LOAD ||
            st->transposed == DYNC__JIT_COLLECT || (along && st->lane != st->bytes))
            continue;
        for (int64_t i = 0, n = along ? rows : lanes; i < n; i++)
            for (int64_t byte = 0; byte < (along ? lanes : rows) * st->bytes; byte += 64)
                __builtin_prefetch(at[s] + i * (along ? st->step[0] : st->lane) + byte, 0, 2);
    }
}

/* From row to row of a tile. */
static int64_t dync__jit_tile_step(int64_t lanes, int bytes, bool flat)
{
    return flat ? lanes * bytes : dync__jit_tile_bytes(1, lanes, bytes);
}

/* Does each row of so many lanes begin where the one before it ends, in memory as in tiles? Then
 * all of a block are one, of which only the last vector is not full. (Of long rows most are.) */
static bool dync__jit_is_flat(const dync__jit *jit, int64_t lanes)
{
    bool flat = !jit->sectioned && lanes * jit->most <= DYNC__BLOCK_FLAT;
    for (int s = 0; s < jit->n_streams && flat; s++) {
        const dync__jit_stream *st = dync__jit_stream_at(jit, s);
        flat = st->transposed ? st->transposed != DYNC__JIT_COLLECT
                              : st->step[0] == lanes * st->lane;
    }
    return flat;
}

DYNC__OFTEN DYNC__FN bool dync__jit_whole_lines(const dync__jit *jit, const int64_t *record)
{
    int64_t bits = 0;
    for (int s = 0; s < jit->n_streams; s++, record += jit->record)
        for (int w = 0; w < jit->record && dync__jit_stream_at(jit, s)->nontemporal; w++)
            bits |= w == DYNC__GW_LANE ? 0 : record[w];
    return !(bits & 63);
}

/* n elements of `bytes` bytes, `step` apart, side by side. */
static void dync__jit_line(char *to, const char *from, int64_t step, int64_t n, int bytes)
{
    for (int64_t i = 0; i < n && bytes == 1; i++) to[i] = from[i * step];
    for (int64_t i = 0; i < n && bytes == 2; i++) memcpy(to + 2 * i, from + i * step, 2);
    for (int64_t i = 0; i < n && bytes == 4; i++) memcpy(to + 4 * i, from + i * step, 4);
    for (int64_t i = 0; i < n && bytes == 8; i++) memcpy(to + 8 * i, from + i * step, 8);
}

/* Lanes [lane, lane + n) of one row of a load, which are at `from`, side by side. What repeats
 * itself is what was there a round before. */
static void dync__jit_collect(const dync__jit_stream *st, char *to, const char *from, int64_t lane,
                              int64_t n)
{
    int64_t period = st->period ? st->period : n, begun = st->period ? lane % period : 0,
            done = DYNC__MIN(period - begun, n), more = DYNC__MIN(n - done, begun);
    dync__jit_line(to, from, st->lane, done, st->bytes);
    dync__jit_line(to + done * st->bytes, from - begun * st->lane, st->lane, more, st->bytes);
    for (done += more; done < n; done += more) {
        more = DYNC__MIN(done / period * period, n - done);
        int64_t back = done / period * period;
        memcpy(to + done * st->bytes, to + (done - back) * st->bytes, (size_t)(more * st->bytes));
    }
}

/* One block: at[s] is where stream s has its first row and lane. Loads are transposed into tiles,
 * the code runs on `rows` by `lanes`, tiles are transposed into stores. lane: the first one's
 * number; again: what all rows share is in its tile from the block before. */
static void dync__jit_block(const dync__jit *jit, char *const *at, int64_t *words, int64_t rows,
                            int64_t lane, int64_t lanes, bool again, char *scratch)
{
    dync__kernel_code entry;
    int64_t *record = words + jit->n_words - jit->n_streams * jit->record;
    if (jit->fetches && !jit->side) dync__jit_fetch(jit, at, rows, lanes);
    if (jit->copies) {
        char *stage = jit->side ? NULL : scratch;
        const dync__jit_stream *t = dync__jit_stream_at(jit, jit->copies - 1),
                               *other = dync__jit_stream_at(jit, 2 - jit->copies);
        char *here = at[jit->copies - 1], *there = at[2 - jit->copies];
        if (t->transposed == DYNC__JIT_TRANSPOSE_LOAD)
            dync__gt_swap(there, other->step[0], here, t->lane, lanes, rows, t->bytes, jit->fetches,
                          stage);
        else
            dync__gt_swap(here, t->lane, there, other->step[0], rows, lanes, t->bytes, jit->fetches,
                          stage);
        return;
    }
    bool flat = dync__jit_is_flat(jit, lanes);
    words[DYNC__GW_ROWS] = words[DYNC__GW_FIXED] = words[DYNC__GW_FIXED + 1] = flat ? 1 : rows;
    words[DYNC__GW_FRAME] = jit->form->frame;
    DYNC__CODE_FRAME(jit->form->frame);
    words[DYNC__GW_LANES] = flat ? rows * lanes : lanes;
    for (int s = 0; s < jit->n_streams; s++, record += jit->record) {
        const dync__jit_stream *st = dync__jit_stream_at(jit, s);
        int64_t step = dync__jit_tile_step(lanes, st->bytes, flat);
        char *tile = scratch + st->tile;
        bool collects = st->transposed == DYNC__JIT_COLLECT, one = collects && !st->step[0];
        record[DYNC__GW_AT] = (int64_t)(intptr_t)(st->transposed ? tile : at[s]);
        record[DYNC__GW_STEP] = st->transposed && !one ? step : st->step[0];
        for (int64_t r = 0; r < (one ? 1 : rows) && collects && !(one && again); r++)
            dync__jit_collect(st, tile + r * step, at[s] + r * st->step[0], lane, lanes);
        if (st->transposed == DYNC__JIT_TRANSPOSE_LOAD)
            dync__gt_swap(tile, step, at[s], st->lane, lanes, rows, st->bytes, jit->fetches,
                          scratch);
    }
    record = words + jit->n_words - jit->n_streams * jit->record;
    bool nontemporal = jit->nontemporal && dync__jit_whole_lines(jit, record);
    memcpy(&entry, nontemporal ? &jit->nontemporal->block.exec : &jit->form->block.exec,
           sizeof entry);
    entry(words);
    for (int s = 0; s < jit->n_streams; s++) {
        const dync__jit_stream *st = dync__jit_stream_at(jit, s);
        if (st->transposed == DYNC__JIT_TRANSPOSE_STORE)
            dync__gt_swap(at[s], st->lane, scratch + st->tile,
                          dync__jit_tile_step(lanes, st->bytes, flat), rows, lanes, st->bytes,
                          false, scratch);
    }
}

/* Rows [row, rows) and lanes [lane, lanes) of a large block by blocks. */
static void dync__jit_rest(const dync__jit *jit, char *const *at, int64_t *words, int64_t row,
                           int64_t rows, int64_t lane, int64_t lanes, char *scratch)
{
    char *from[DYNC__JIT_WORDS];
    for (int64_t r = row; r < rows; r += jit->block_rows)
        for (int64_t l = lane; l < lanes; l += jit->block_lanes) {
            for (int s = 0; s < jit->n_streams; s++)
                from[s] = (char *)((uintptr_t)at[s] +
                                   (uintptr_t)(r * dync__jit_stream_at(jit, s)->step[0] +
                                               l * dync__jit_stream_at(jit, s)->lane));
            dync__jit_block(jit, from, words, DYNC__MIN(rows - r, jit->block_rows), l,
                            DYNC__MIN(lanes - l, jit->block_lanes), false, scratch);
        }
}

/* A large block: squares in registers, then what is left of rows and lanes. */
static void dync__jit_square(const dync__jit *jit, char *const *at, int64_t *words, int64_t rows,
                             int64_t lanes, char *scratch)
{
    dync__kernel_code entry;
    int64_t *record = words + jit->n_words - jit->n_streams * jit->record, row = rows & -jit->side,
            lane = lanes & -jit->side;
    bool part = lane < lanes && 8 * (lanes - lane) >= lanes && lanes <= jit->block_lanes;
    if (row == 0 || lane == 0 || (part && dync__jit_is_flat(jit, lanes))) row = lane = 0;
    memcpy(&entry, &jit->squares->block.exec, sizeof entry);
    words[DYNC__GW_FRAME] = jit->squares->frame;
    DYNC__CODE_FRAME(jit->squares->frame);
    words[DYNC__GW_ROWS] = row / jit->side;
    words[DYNC__GW_LANES] = lane;
    for (int s = 0; s < jit->n_streams; s++, record += jit->record) {
        record[DYNC__GW_AT] = (int64_t)(intptr_t)at[s];
        record[DYNC__GW_STEP] = dync__jit_stream_at(jit, s)->step[0];
    }
    if (row) entry(words);
    dync__jit_rest(jit, at, words, 0, row, lane, lanes, scratch);
    dync__jit_rest(jit, at, words, row, rows, 0, lanes, scratch);
}

/* Do lanes from `to` on have in the tiles what those from `from` on have? */
static bool dync__jit_as_before(const dync__jit *jit, int64_t from, int64_t to)
{
    bool same = true;
    for (int s = 0; s < jit->n_streams && from != to; s++) {
        const dync__jit_stream *st = dync__jit_stream_at(jit, s);
        if (st->transposed == DYNC__JIT_COLLECT)
            same &= st->period && (to - from) % st->period == 0;
    }
    return same;
}

/* Blocks [begin, end) of those that rows [first, first + n_rows) have. */
DYNC__FN dync_status dync__jit_blocks(const dync__jit *jit, void *const *buffers,
                                      const uint64_t rng[2], int64_t first, int64_t n_rows,
                                      int64_t begin, int64_t end)
{
    int64_t words[DYNC__JIT_WORDS], across = dync__jit_cuts(jit->lanes, dync__jit_across(jit)),
                                    down = dync__jit_cuts(n_rows, dync__jit_down(jit));
    int64_t first_lane = 0, around = -1, had = 0;
    char *at[DYNC__JIT_WORDS], *scratch = dync__alloc_data((size_t)jit->keep_bytes);
    if (!scratch) return DYNC_ERR_MEMORY;
    memcpy(words, jit->words, (size_t)jit->n_words * sizeof *words);
    words[DYNC__GW_SEED] = (int64_t)rng[0];
    words[DYNC__GW_OFFSET] = (int64_t)rng[1];
    for (int64_t n = begin; n < end; n++) {
        int64_t rows, lanes, left = n / (jit->side ? down : across);
        int64_t row = first + dync__jit_cut(n_rows, dync__jit_down(jit),
                                            jit->side ? n % down : left % down, &rows);
        int64_t lane = dync__jit_cut(jit->lanes, dync__jit_across(jit),
                                     jit->side ? left % across : n % across, &lanes);
        left /= jit->side ? across : down;
        bool again = left == around && lanes <= had && dync__jit_as_before(jit, first_lane, lane);
        first_lane = lane, around = left, had = lanes;
        for (int s = 0; s < jit->n_streams; s++) {
            const dync__jit_stream *st = dync__jit_stream_at(jit, s);
            int64_t to = st->at + row * st->step[0] +
                         (st->period ? lane % st->period : lane) * st->lane,
                    rest = left;
            for (int d = jit->n_over - 1; d >= 0; rest /= jit->over[d--])
                to += rest % jit->over[d] * st->step[1 + d];
            at[s] = (char *)((uintptr_t)(st->buf >= 0    ? buffers[st->buf]
                                         : st->buf == -1 ? scratch
                                                         : NULL) +
                             (uintptr_t)to);
        }
        if (jit->squares)
            dync__jit_square(jit, at, words, rows, lanes, scratch + jit->tiles);
        else
            dync__jit_block(jit, at, words, rows, lane, lanes, again, scratch + jit->tiles);
    }
    dync__free_data(scratch, (size_t)jit->keep_bytes);
    return DYNC_OK;
}
#endif
