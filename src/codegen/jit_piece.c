/* codegen/jit_piece.c: one run of a kernel's machine code, over some of its rows and lanes. After
 * jit_take.c, before jit_run.c.
 *
 * A run copies the words of the argument block, adds the buffers' addresses and calls. Allocates
 * only for row buffers, from the thread's cache. */
#include "../dync.in.h"
#include "jit.h"
DYNC__WARM
#if DYNC__JIT

/* Where the streams of a whole kernel begin. */
DYNC__OFTEN static void dync__jit_begin(const dync__jit *jit, void *const *buffers, char *keep,
                                        int64_t *record)
{
    const char *at = jit->stream;
    for (int s = 0; s < jit->n_streams; s++, record += jit->record, at += jit->stream_bytes) {
        const dync__jit_stream *st = (const dync__jit_stream *)(const void *)at;
        const char *base = st->buf >= 0 ? buffers[st->buf] : st->buf == -1 ? keep : NULL;
        record[DYNC__GW_AT] = (int64_t)((uint64_t)(uintptr_t)base + (uint64_t)st->at);
    }
}

/* The same for what begins at `row` and `lane`, with what is left of the loops around. */
DYNC__OFTEN static void dync__jit_begin_at(const dync__jit *jit, int64_t *words, int64_t *record,
                                           int64_t row, int64_t lane,
                                           const dync__jit_segment *segment)
{
    int64_t index[DYNC__GEN_DIMS] = {0};
    const char *place = jit->stream;
    for (int d = jit->n_row_dims - 1; d >= 0 && row > 0; d--) {
        int64_t extent = words[DYNC__GW_FIXED + 2 * d + 1];
        index[d] = row % extent;
        row /= extent;
        words[DYNC__GW_FIXED + 2 * d] = extent - index[d];
    }
    for (int s = 0; s < jit->n_streams; s++, record += jit->record, place += jit->stream_bytes) {
        const dync__jit_stream *st = (const dync__jit_stream *)(const void *)place;
        int64_t at = lane * record[DYNC__GW_LANE];
        for (int d = 0; d < jit->n_row_dims; d++) at += index[d] * st->step[d];
        if (segment && segment->n) at += segment->from * record[DYNC__GW_STEP + jit->n_row_dims];
        record[DYNC__GW_AT] = (int64_t)((uint64_t)record[DYNC__GW_AT] + (uint64_t)at);
    }
}

DYNC__OFTEN DYNC__FN dync_status dync__jit_piece(const dync__jit *jit, void *const *buffers,
                                                 const uint64_t rng[2], int64_t row,
                                                 int64_t row_end, int64_t lane, int64_t lane_end,
                                                 const dync__jit_segment *segment)
{
    int64_t words[DYNC__JIT_WORDS];
    dync__kernel_code entry;
    char *keep = NULL;
    memcpy(words, jit->words, (size_t)jit->n_words * sizeof *words);
    if (segment)
        keep = segment->keep;
    else if (jit->keep_bytes && !(keep = dync__alloc_data((size_t)jit->keep_bytes)))
        return DYNC_ERR_MEMORY;
    words[DYNC__GW_ROWS] = row_end - row;
    words[DYNC__GW_LANES] = lane_end - lane;
    words[DYNC__GW_SEED] = (int64_t)rng[0];
    words[DYNC__GW_OFFSET] = (int64_t)rng[1];
    if (segment) {
        words[DYNC__GW_SEGMENT] = segment->number;
        words[DYNC__GW_IN] = (int64_t)(intptr_t)segment->in;
        words[DYNC__GW_OUT] = segment->n ? segment->from : (int64_t)(intptr_t)segment->out;
        if (segment->n) words[DYNC__GW_FIXED + 2 * jit->n_row_dims] = segment->n;
    }
    int64_t *record = words + jit->n_words - jit->n_streams * jit->record;
    dync__jit_begin(jit, buffers, keep, record);
    if (segment || row || lane) dync__jit_begin_at(jit, words, record, row, lane, segment);
    if (jit->take.size && !jit->take.each)
        return dync__jit_take_rows(jit, words) || !jit->take.checks ? DYNC_OK : DYNC_ERR_INDEX;
    bool nontemporal = jit->nontemporal && dync__jit_whole_lines(jit, record);
    memcpy(&entry, nontemporal ? &jit->nontemporal->block.exec : &jit->form->block.exec,
           sizeof entry);
    DYNC__CODE_FRAME(jit->form->frame);
    entry(words);
    if (keep && !segment) dync__free_data(keep, (size_t)jit->keep_bytes);
    return DYNC_OK;
}
#endif
