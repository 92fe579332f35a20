/* codegen/interp_run.c: runs what interp.c compiled. Before: interp.c; after: runtime/run.c calls
 * dync__code_run.
 *
 * For every block of rows: row code, then each phase tile by tile, row code again, and so on. A
 * worker owns scratch, a table of pointers (one per value) and five counters that say where the
 * tile starts; all else is read-only. Work is cut into equal ranges of rows, or of inner indices
 * where rows are few and nothing is reduced (few long rows in parts: jit_run.c), by index: the same
 * thread count gives the same bits. Nothing is allocated for kernels that need no scratch, and else
 * from the calling thread's cache. */
#include "../dync.in.h"
#include "interp.h"
#include "jit.h"

typedef struct dync__irun {
    const dync__code *c;
    void *const *buffers;
    char *scratch, *keep;
    char **ptr;
    int64_t from[DYNC__FROM_N];
    int64_t rows, inner, n; /* of the tile; n = rows * inner */
    uint64_t seed, offset;
    dync_status status;
} dync__irun;

/* ---- addresses ------------------------------------------------------------------------------- */

static DYNC__NOINLINE int64_t dync__irun_nest_deep(const dync__lp_dim *d, int n, int64_t index)
{
    int64_t off = 0;
    for (int i = n - 1; i > 0; i--) {
        off += index % d[i].extent * d[i].stride;
        index /= d[i].extent;
    }
    return off + index * d[0].stride;
}

DYNC__INLINE int64_t dync__irun_nest(const dync__code *c, dync__interp_nest nest, int64_t index)
{
    if (nest.n == 0 || index == 0) return 0;
    const dync__lp_dim *d = c->dims + nest.at;
    return nest.n == 1 ? index * d->stride : dync__irun_nest_deep(d, nest.n, index);
}

/* Element offset of everything but the lanes. */
static int64_t dync__irun_fixed(const dync__irun *r, const dync__interp_stream *s)
{
    return s->offset + dync__irun_nest(r->c, s->fixed, r->from[s->fixed_from]);
}

static char *dync__irun_address(const dync__irun *r, const dync__interp_step *s)
{
    const dync__interp_stream *st = &r->c->streams[s->stream];
    int64_t off = dync__irun_fixed(r, st) +
                  dync__irun_nest(r->c, st->lanes, r->from[st->lanes_from]);
    return (char *)r->buffers[s->buf] + off * s->bytes;
}

DYNC__RARE static dync_status dync__irun_bad_index(dync__irun *r, int64_t at, int64_t size)
{
    if (r->status == DYNC_OK)
        r->status = dync__fail(DYNC_ERR_INDEX, "%s: index reaches element %lld of a buffer of %lld",
                               r->c->name, (long long)at, (long long)size);
    return r->status;
}

/* The index that a load along one line adds to its access; false where the line would leave the
 * buffer. */
static bool dync__irun_line_index(dync__irun *r, const dync__interp_step *s, int64_t n,
                                  int64_t *index)
{
    const dync__interp_stream *st = &r->c->streams[s->stream];
    memcpy(index, r->ptr[s->a], sizeof *index);
    int64_t stride = st->lanes.n ? r->c->dims[st->lanes.at].stride : 0,
            start = r->from[st->lanes_from];
    int64_t first = (int64_t)((uint64_t)dync__irun_fixed(r, st) + (uint64_t)(start * stride) +
                              (uint64_t)*index),
            last = first + (n - 1) * stride;
    if (s->imm < 0 || (first >= 0 && first < s->imm && last >= 0 && last < s->imm)) return true;
    dync__irun_bad_index(r, first < 0 || first >= s->imm ? first : last, s->imm);
    return false;
}

/* ---- moving elements ------------------------------------------------------------------------- */

#define DYNC__IRUN_MOVE(T, name)                                                             \
    static void dync__irun_in_##name(void *to, const void *from, int64_t n, int64_t stride)  \
    {                                                                                        \
        T *d = to;                                                                           \
        const T *s = from;                                                                   \
        if (stride == 1 && n >= 16) {                                                        \
            memcpy(d, s, (size_t)n * sizeof(T));                                             \
            return;                                                                          \
        }                                                                                    \
        for (int64_t i = 0; i < n; i++) d[i] = s[i * stride];                                \
    }                                                                                        \
    static void dync__irun_out_##name(void *to, const void *from, int64_t n, int64_t stride) \
    {                                                                                        \
        T *d = to;                                                                           \
        const T *s = from;                                                                   \
        if (stride == 1 && n >= 16) {                                                        \
            memmove(d, s, (size_t)n * sizeof(T));                                            \
            return;                                                                          \
        }                                                                                    \
        for (int64_t i = 0; i < n; i++) d[i * stride] = s[i];                                \
    }
DYNC__IRUN_MOVE(uint8_t, 1)
DYNC__IRUN_MOVE(uint16_t, 2)
DYNC__IRUN_MOVE(uint32_t, 4)
DYNC__IRUN_MOVE(uint64_t, 8)

static void dync__irun_in(void *to, const void *from, int64_t n, int64_t stride, int bytes)
{
    switch (bytes) {
    case 1: dync__irun_in_1(to, from, n, stride); break;
    case 2: dync__irun_in_2(to, from, n, stride); break;
    case 4: dync__irun_in_4(to, from, n, stride); break;
    default: dync__irun_in_8(to, from, n, stride); break;
    }
}

static void dync__irun_out(void *to, const void *from, int64_t n, int64_t stride, int bytes)
{
    switch (bytes) {
    case 1: dync__irun_out_1(to, from, n, stride); break;
    case 2: dync__irun_out_2(to, from, n, stride); break;
    case 4: dync__irun_out_4(to, from, n, stride); break;
    default: dync__irun_out_8(to, from, n, stride); break;
    }
}

/* An odometer over a nest of two loops or more: pieces along the last one. */
typedef struct dync__irun_walk {
    const dync__lp_dim *d;
    int n;
    int64_t index[2 * DYNC__LOOP_MAX_DIMS], offset;
} dync__irun_walk;

static void dync__irun_walk_start(dync__irun_walk *w, const dync__code *c, dync__interp_nest nest,
                                  int64_t index)
{
    w->d = c->dims + nest.at;
    w->n = nest.n;
    w->offset = 0;
    for (int i = nest.n - 1; i >= 0; i--) {
        w->index[i] = i > 0 ? index % w->d[i].extent : index;
        index /= w->d[i].extent;
        w->offset += w->index[i] * w->d[i].stride;
    }
}

/* Leaves `done` elements of the last loop behind. */
static void dync__irun_walk_on(dync__irun_walk *w, int64_t done)
{
    int i = w->n - 1;
    w->index[i] += done;
    w->offset += done * w->d[i].stride;
    while (i > 0 && w->index[i] == w->d[i].extent) {
        w->offset += w->d[i - 1].stride - w->d[i].extent * w->d[i].stride;
        w->index[i] = 0;
        w->index[--i]++;
    }
}

static int64_t dync__irun_walk_piece(const dync__irun_walk *w, int64_t left)
{
    int64_t piece = w->d[w->n - 1].extent - w->index[w->n - 1];
    return DYNC__MIN(piece, left);
}

/* Rows x inner elements between memory and a tile, along whichever loop memory is dense in. */
#define DYNC__IRUN_SQUARE(T, name)                                                               \
    static void dync__irun_square_in_##name(const dync__irun *r, T *to, const T *from,           \
                                            int64_t row, int64_t inner)                          \
    {                                                                                            \
        int64_t pitch = r->inner;                                                                \
        if (inner == 1) {                                                                        \
            for (int64_t i = 0; i < r->rows; i++)                                                \
                memcpy(to + i * pitch, from + i * row, (size_t)pitch * sizeof(T));               \
            return;                                                                              \
        }                                                                                        \
        for (int64_t j = 0; j < pitch; j++)                                                      \
            for (int64_t i = 0; i < r->rows; i++) to[i * pitch + j] = from[i * row + j * inner]; \
    }                                                                                            \
    static void dync__irun_square_out_##name(const dync__irun *r, T *to, const T *from,          \
                                             int64_t row, int64_t inner)                         \
    {                                                                                            \
        int64_t pitch = r->inner;                                                                \
        if (inner == 1) {                                                                        \
            for (int64_t i = 0; i < r->rows; i++)                                                \
                memcpy(to + i * row, from + i * pitch, (size_t)pitch * sizeof(T));               \
            return;                                                                              \
        }                                                                                        \
        for (int64_t j = 0; j < pitch; j++)                                                      \
            for (int64_t i = 0; i < r->rows; i++) to[i * row + j * inner] = from[i * pitch + j]; \
    }
DYNC__IRUN_SQUARE(uint8_t, 1)
DYNC__IRUN_SQUARE(uint16_t, 2)
DYNC__IRUN_SQUARE(uint32_t, 4)
DYNC__IRUN_SQUARE(uint64_t, 8)

static bool dync__irun_is_square(const dync__irun *r, int level)
{
    return level == 2 && r->c->mode == DYNC__LP_SQUARE;
}

static void dync__irun_square_in(const dync__irun *r, void *to, const void *from,
                                 const dync__lp_dim *d, int bytes)
{
    switch (bytes) {
    case 1: dync__irun_square_in_1(r, to, from, d[0].stride, d[1].stride); break;
    case 2: dync__irun_square_in_2(r, to, from, d[0].stride, d[1].stride); break;
    case 4: dync__irun_square_in_4(r, to, from, d[0].stride, d[1].stride); break;
    default: dync__irun_square_in_8(r, to, from, d[0].stride, d[1].stride); break;
    }
}

static void dync__irun_square_out(const dync__irun *r, void *to, const void *from,
                                  const dync__lp_dim *d, int bytes)
{
    switch (bytes) {
    case 1: dync__irun_square_out_1(r, to, from, d[0].stride, d[1].stride); break;
    case 2: dync__irun_square_out_2(r, to, from, d[0].stride, d[1].stride); break;
    case 4: dync__irun_square_out_4(r, to, from, d[0].stride, d[1].stride); break;
    default: dync__irun_square_out_8(r, to, from, d[0].stride, d[1].stride); break;
    }
}

static void dync__irun_gather(const dync__irun *r, char *to, const char *from, int level,
                              dync__interp_nest nest, int64_t start, int64_t n, int bytes)
{
    const dync__lp_dim *d = r->c->dims + nest.at;
    if (dync__irun_is_square(r, level)) {
        dync__irun_square_in(r, to, from + start * d[1].stride * bytes, d, bytes);
        return;
    }
    if (nest.n <= 1) {
        int64_t stride = nest.n ? d->stride : 0;
        dync__irun_in(to, from + start * stride * bytes, n, stride, bytes);
        return;
    }
    dync__irun_walk w;
    dync__irun_walk_start(&w, r->c, nest, start);
    int64_t stride = d[nest.n - 1].stride;
    for (int64_t left = n; left > 0;) {
        int64_t piece = dync__irun_walk_piece(&w, left);
        dync__irun_in(to, from + w.offset * bytes, piece, stride, bytes);
        dync__irun_walk_on(&w, piece);
        to += piece * bytes;
        left -= piece;
    }
}

static void dync__irun_scatter(const dync__irun *r, char *to, const char *from, int level,
                               dync__interp_nest nest, int64_t start, int64_t n, int bytes)
{
    const dync__lp_dim *d = r->c->dims + nest.at;
    if (dync__irun_is_square(r, level)) {
        dync__irun_square_out(r, to + start * d[1].stride * bytes, from, d, bytes);
        return;
    }
    if (nest.n <= 1) {
        int64_t stride = nest.n ? d->stride : 0;
        dync__irun_out(to + start * stride * bytes, from, n, stride, bytes);
        return;
    }
    dync__irun_walk w;
    dync__irun_walk_start(&w, r->c, nest, start);
    int64_t stride = d[nest.n - 1].stride;
    for (int64_t left = n; left > 0;) {
        int64_t piece = dync__irun_walk_piece(&w, left);
        dync__irun_out(to + w.offset * bytes, from, piece, stride, bytes);
        dync__irun_walk_on(&w, piece);
        from += piece * bytes;
        left -= piece;
    }
}

static void dync__irun_iota(int64_t *to, int64_t first, int64_t step, int64_t n)
{
    for (int64_t i = 0; i < n; i++) to[i] = first + i * step;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void dync__irun_load(dync__irun *r, const dync__interp_step *s, int64_t n)
{
    const dync__interp_stream *st = &r->c->streams[s->stream];
    int64_t index = 0;
    if (s->a >= 0 && !dync__irun_line_index(r, s, n, &index)) return;
    const char *from = (const char *)r->buffers[s->buf] +
                       (dync__irun_fixed(r, st) + index) * s->bytes;
    char *to = r->ptr[s->dst];
    int64_t start = r->from[st->lanes_from];
    bool dense = st->lanes.n == 1 && r->c->dims[st->lanes.at].stride == 1;
    if (!s->fn) {
        dync__irun_gather(r, to, from, s->level, st->lanes, start, n, s->bytes);
    } else if (dense) {
        s->fn(to, from + start * s->bytes, NULL, NULL, n, 0);
    } else {
        char *raw = r->scratch + r->c->raw_at;
        dync__irun_gather(r, raw, from, s->level, st->lanes, start, n, s->bytes);
        s->fn(to, raw, NULL, NULL, n, 0);
    }
}

static void dync__irun_store(const dync__irun *r, const dync__interp_step *s, int64_t n)
{
    const dync__interp_stream *st = &r->c->streams[s->stream];
    char *to = (char *)r->buffers[s->buf] + dync__irun_fixed(r, st) * s->bytes;
    const char *from = r->ptr[s->a];
    int64_t start = r->from[st->lanes_from];
    bool dense = st->lanes.n == 1 && r->c->dims[st->lanes.at].stride == 1;
    if (!s->fn) {
        dync__irun_scatter(r, to, from, s->level, st->lanes, start, n, s->bytes);
    } else if (dense) {
        s->fn(to + start * s->bytes, from, NULL, NULL, n, 0);
    } else {
        char *raw = r->scratch + r->c->raw_at;
        s->fn(raw, from, NULL, NULL, n, 0);
        dync__irun_scatter(r, to, raw, s->level, st->lanes, start, n, s->bytes);
    }
}

static void dync__irun_index(const dync__irun *r, const dync__interp_step *s, int64_t n)
{
    const dync__interp_stream *st = &r->c->streams[s->stream];
    int64_t *to = (int64_t *)(void *)r->ptr[s->dst], base = dync__irun_fixed(r, st),
            start = r->from[st->lanes_from];
    if (dync__irun_is_square(r, s->level)) {
        const dync__lp_dim *d = r->c->dims + st->lanes.at;
        for (int64_t i = 0; i < r->rows; i++)
            dync__irun_iota(to + i * r->inner, base + i * d[0].stride + start * d[1].stride,
                            d[1].stride, r->inner);
        return;
    }
    if (st->lanes.n <= 1) {
        int64_t stride = st->lanes.n ? r->c->dims[st->lanes.at].stride : 0;
        dync__irun_iota(to, base + start * stride, stride, n);
        return;
    }
    dync__irun_walk w;
    dync__irun_walk_start(&w, r->c, st->lanes, start);
    int64_t stride = w.d[w.n - 1].stride;
    for (int64_t left = n; left > 0;) {
        int64_t piece = dync__irun_walk_piece(&w, left);
        dync__irun_iota(to, base + w.offset, stride, piece);
        dync__irun_walk_on(&w, piece);
        to += piece;
        left -= piece;
    }
}

/* The access' offset (c) plus the index, checked where the size is known. */
static bool dync__irun_element(dync__irun *r, const dync__interp_step *s, int64_t offset,
                               int64_t index, int64_t *at)
{
    *at = (int64_t)((uint64_t)offset + (uint64_t)index);
    if (s->imm < 0 || (*at >= 0 && *at < s->imm)) return true;
    dync__irun_bad_index(r, *at, s->imm);
    return false;
}

static void dync__irun_loadx(dync__irun *r, const dync__interp_step *s, int64_t n)
{
    const char *from = r->buffers[s->buf];
    char *to = s->fn ? r->scratch + r->c->raw_at : r->ptr[s->dst];
    const int64_t *index = (const int64_t *)(void *)r->ptr[s->a],
                  *offset = (const int64_t *)(void *)r->ptr[s->c];
    int64_t at;
    for (int64_t i = 0; i < n; i++) {
        if (!dync__irun_element(r, s, offset[i], index[i], &at)) return;
        switch (s->bytes) {
        case 1: ((uint8_t *)to)[i] = ((const uint8_t *)from)[at]; break;
        case 2: ((uint16_t *)(void *)to)[i] = ((const uint16_t *)(const void *)from)[at]; break;
        case 4: ((uint32_t *)(void *)to)[i] = ((const uint32_t *)(const void *)from)[at]; break;
        default: ((uint64_t *)(void *)to)[i] = ((const uint64_t *)(const void *)from)[at]; break;
        }
    }
    if (s->fn) s->fn(r->ptr[s->dst], to, NULL, NULL, n, 0);
}

static void dync__irun_storex(dync__irun *r, const dync__interp_step *s, int64_t n)
{
    char *to = r->buffers[s->buf];
    const char *from = r->ptr[s->a];
    const int64_t *index = (const int64_t *)(void *)r->ptr[s->b],
                  *offset = (const int64_t *)(void *)r->ptr[s->c];
    int64_t at;
    if (s->fn) {
        s->fn(r->scratch + r->c->raw_at, from, NULL, NULL, n, 0);
        from = r->scratch + r->c->raw_at;
    }
    for (int64_t i = 0; i < n; i++) {
        if (!dync__irun_element(r, s, offset[i], index[i], &at)) return;
        memcpy(to + at * s->bytes, from + i * s->bytes, s->bytes);
    }
}

static void dync__irun_random(const dync__irun *r, const dync__interp_step *s, int64_t n)
{
    const int64_t *index = (const int64_t *)(void *)r->ptr[s->a];
    const uint64_t seed[2] = {r->seed, r->offset};
    s->fn(r->ptr[s->dst], index, seed, NULL, n, 0);
}

/* Row vector to tile: each row's value along its inner indices, or (vertical) the vector once
 * per inner index. */
static void dync__irun_expand(const dync__irun *r, const dync__interp_step *s)
{
    char *to = r->ptr[s->dst];
    const char *from = r->ptr[s->a];
    int bytes = (int)dync__type_bytes(s->type);
    if (r->c->mode == DYNC__LP_VERTICAL) {
        for (int64_t j = 0; j < r->inner; j++)
            memcpy(to + j * r->rows * bytes, from, (size_t)(r->rows * bytes));
        return;
    }
    for (int64_t i = 0; i < r->rows; i++)
        dync__irun_in(to + i * r->inner * bytes, from + i * bytes, r->inner, 0, bytes);
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* Horizontal state: int64 count, then one partial result per set bit of it, eight bytes apart:
 * partials are combined as the digits of a binary counter carry, which sums pairwise. */
static void dync__irun_push(const dync__interp_reduce *red, char *acc, const void *partial)
{
    int64_t count;
    char *level = acc + sizeof count;
    memcpy(&count, acc, sizeof count);
    uint64_t x;
    memcpy(&x, partial, red->bytes);
    for (int64_t bits = count; bits & 1; bits >>= 1, level += 8)
        red->combine(&x, level, &x, NULL, 1, 0);
    memcpy(level, &x, red->bytes);
    count++;
    memcpy(acc, &count, sizeof count);
}

static void dync__irun_pushed(const dync__interp_reduce *red, const char *acc, void *out)
{
    int64_t count;
    const char *level = acc + sizeof count;
    bool first = true;
    memcpy(&count, acc, sizeof count);
    if (count == 0) memcpy(out, &red->identity, red->bytes);
    for (; count; count >>= 1, level += 8) {
        if (!(count & 1)) continue;
        if (first)
            memcpy(out, level, red->bytes);
        else
            red->combine(out, level, out, NULL, 1, 0);
        first = false;
    }
}

/* Vertical state: DYNC__REDUCE_LEVELS counts, then as many row vectors: sixteen additions into
 * one level, then it goes into the next. The tile is first folded to one vector, halves onto
 * each other. */
static void dync__irun_flush(const dync__irun *r, const dync__interp_reduce *red, int level)
{
    int64_t *count = (int64_t *)(void *)(r->scratch + red->acc);
    size_t bytes = (size_t)r->c->tile_rows * red->bytes;
    char *at = r->scratch + red->acc + DYNC__REDUCE_LEVELS * sizeof *count + (size_t)level * bytes;
    if (count[level] == 0) return;
    if (count[level + 1] == 0)
        memcpy(at + bytes, at, (size_t)r->rows * red->bytes);
    else
        red->combine(at + bytes, at + bytes, at, NULL, r->rows, 0);
    count[level + 1]++;
    count[level] = 0;
}

static void dync__irun_vertical(const dync__irun *r, const dync__interp_reduce *red,
                                const char *tile)
{
    int64_t *count = (int64_t *)(void *)(r->scratch + red->acc), row = r->rows * red->bytes;
    char *level = r->scratch + red->acc + DYNC__REDUCE_LEVELS * sizeof *count,
         *fold = r->scratch + red->partial;
    for (int64_t j = r->inner; j > 1;) {
        int64_t half = j / 2;
        red->combine(fold, tile, tile + (j - half) * row, NULL, half * r->rows, 0);
        if (tile != fold && j % 2) memcpy(fold + half * row, tile + half * row, (size_t)row);
        tile = fold;
        j -= half;
    }
    if (count[0] == 0)
        memcpy(level, tile, (size_t)row);
    else
        red->combine(level, level, tile, NULL, r->rows, 0);
    count[0]++;
    for (int l = 0; l < DYNC__REDUCE_LEVELS - 1 && count[l] == DYNC__REDUCE_RADIX; l++)
        dync__irun_flush(r, red, l);
}

static void dync__irun_vertical_end(const dync__irun *r, const dync__interp_reduce *red, char *out)
{
    int64_t *count = (int64_t *)(void *)(r->scratch + red->acc);
    const int top = DYNC__REDUCE_LEVELS - 1;
    for (int l = 0; l < top; l++) dync__irun_flush(r, red, l);
    if (count[top])
        memcpy(out,
               r->scratch + red->acc + (size_t)DYNC__REDUCE_LEVELS * sizeof *count +
                   (size_t)(top * r->c->tile_rows) * red->bytes,
               (size_t)r->rows * red->bytes);
    else
        dync__irun_in(out, (const char *)&red->identity, r->rows, 0, red->bytes);
}

/* argmax, argmin. State per row: the position (-1: none yet), and after all positions the value. */
#define DYNC__IRUN_ARG(T, name)                                                            \
    static void dync__irun_arg_##name(const T *x, T *best, int64_t *where, bool least,     \
                                      int64_t rows, int64_t inner, int64_t row_step,       \
                                      int64_t inner_step, int64_t first)                   \
    {                                                                                      \
        for (int64_t i = 0; i < rows; i++) {                                               \
            T b = best[i];                                                                 \
            int64_t at = where[i];                                                         \
            for (int64_t j = 0; j < inner; j++) {                                          \
                T v = x[i * row_step + j * inner_step];                                    \
                if (at >= 0 && (b != b || (v == v && !(least ? v < b : v > b)))) continue; \
                b = v;                                                                     \
                at = first + j;                                                            \
            }                                                                              \
            best[i] = b;                                                                   \
            where[i] = at;                                                                 \
        }                                                                                  \
    }
DYNC__STRICT_FP_BEGIN
DYNC__IRUN_ARG(float, f)
DYNC__IRUN_ARG(double, d)
DYNC__IRUN_ARG(int32_t, i)
DYNC__IRUN_ARG(int64_t, l)
DYNC__IRUN_ARG(uint8_t, b)
DYNC__STRICT_FP_END

/* Takes rows x inner values, the first at position `first`, into best and where. */
static void dync__irun_arg_take(const dync__interp_reduce *red, const void *x, void *best,
                                int64_t *where, int64_t rows, int64_t inner, int64_t row_step,
                                int64_t inner_step, int64_t first)
{
    bool least = red->kind == DYNC__R_ARGMIN;
    switch (red->type) {
    case DYNC_F32:
        dync__irun_arg_f(x, best, where, least, rows, inner, row_step, inner_step, first);
        break;
    case DYNC_F64:
        dync__irun_arg_d(x, best, where, least, rows, inner, row_step, inner_step, first);
        break;
    case DYNC_I32:
        dync__irun_arg_i(x, best, where, least, rows, inner, row_step, inner_step, first);
        break;
    case DYNC_I64:
        dync__irun_arg_l(x, best, where, least, rows, inner, row_step, inner_step, first);
        break;
    default:
        dync__irun_arg_b(x, best, where, least, rows, inner, row_step, inner_step, first);
        break;
    }
}

static void dync__irun_arg(const dync__irun *r, const dync__interp_reduce *red, const void *tile)
{
    bool vertical = r->c->mode == DYNC__LP_VERTICAL;
    int64_t *where = (int64_t *)(void *)(r->scratch + red->acc);
    dync__irun_arg_take(red, tile, where + r->c->tile_rows, where, r->rows, r->inner,
                        vertical ? 1 : r->inner, vertical ? r->rows : 1, r->from[DYNC__FROM_INNER]);
}

static void dync__irun_reduce_begin(const dync__irun *r, const dync__interp_reduce *red)
{
    int64_t *acc = (int64_t *)(void *)(r->scratch + red->acc);
    int64_t n = red->kind >= DYNC__R_ARGMAX       ? r->rows
                : r->c->mode == DYNC__LP_VERTICAL ? DYNC__REDUCE_LEVELS
                                                  : 1;
    for (int64_t i = 0; i < n; i++) acc[i] = red->kind >= DYNC__R_ARGMAX ? -1 : 0;
}

static void dync__irun_reduce(const dync__irun *r, const dync__interp_reduce *red, const char *tile)
{
    char *acc = r->scratch + red->acc, *partial = r->scratch + red->partial;
    if (red->kind >= DYNC__R_ARGMAX) {
        dync__irun_arg(r, red, tile);
        return;
    }
    if (r->c->mode == DYNC__LP_VERTICAL) {
        dync__irun_vertical(r, red, tile);
        return;
    }
    int64_t grains = (r->inner + DYNC__TILE_GRAIN - 1) / DYNC__TILE_GRAIN;
    if (r->c->mode == DYNC__LP_CHUNK) {
        red->partials(partial, tile, NULL, &r->inner, r->n, 0);
        for (int64_t g = 0; g < grains; g++) dync__irun_push(red, acc, partial + g * red->bytes);
        return;
    }
    char *out = r->ptr[red->dst];
    red->partials(grains == 1 ? out : partial, tile, NULL, &r->inner, r->n, 0);
    for (int64_t i = 0; grains > 1 && i < r->rows; i++) {
        memset(acc, 0, sizeof(int64_t));
        for (int64_t g = 0; g < grains; g++)
            dync__irun_push(red, acc, partial + (i * grains + g) * red->bytes);
        dync__irun_pushed(red, acc, out + i * red->bytes);
    }
}

static void dync__irun_reduce_end(const dync__irun *r, const dync__interp_reduce *red)
{
    char *out = r->ptr[red->dst], *acc = r->scratch + red->acc;
    if (red->kind >= DYNC__R_ARGMAX) {
        for (int64_t i = 0; i < r->rows; i++) {
            int64_t at = ((int64_t *)(void *)acc)[i];
            ((int64_t *)(void *)out)[i] = at < 0 ? 0 : at;
        }
    } else if (r->c->mode == DYNC__LP_VERTICAL) {
        dync__irun_vertical_end(r, red, out);
    } else if (r->c->mode == DYNC__LP_CHUNK) {
        dync__irun_pushed(red, acc, out);
    }
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void dync__irun_other_step(dync__irun *r, const dync__interp_step *s, int64_t n)
{
    switch (s->kind) {
    case DYNC__STEP_GATHER: dync__irun_load(r, s, n); break;
    case DYNC__STEP_VIEW: {
        int64_t index;
        if (dync__irun_line_index(r, s, n, &index))
            r->ptr[s->dst] = dync__irun_address(r, s) + index * s->bytes;
        break;
    }
    case DYNC__STEP_SCATTER: dync__irun_store(r, s, n); break;
    case DYNC__STEP_FILL:
        dync__irun_in(r->ptr[s->dst], r->ptr[s->a], n, 0, (int)dync__type_bytes(s->type));
        break;
    case DYNC__STEP_EXPAND: dync__irun_expand(r, s); break;
    case DYNC__STEP_INDEX: dync__irun_index(r, s, n); break;
    case DYNC__STEP_LOADX: dync__irun_loadx(r, s, n); break;
    case DYNC__STEP_STOREX: dync__irun_storex(r, s, n); break;
    case DYNC__STEP_RANDOM: dync__irun_random(r, s, n); break;
    case DYNC__STEP_REDUCE: dync__irun_reduce(r, &r->c->reduces[s->reduce], r->ptr[s->a]); break;
    case DYNC__STEP_SCAN:
        dync__tile_scan(s->type, r->c->mode == DYNC__LP_VERTICAL, r->rows, r->inner, r->ptr[s->a],
                        r->ptr[s->dst], r->ptr[s->b]);
        break;
    default: /* KEEP: rows side by side when vertical, one row else */
        r->ptr[s->dst] = r->keep +
                         (s->imm + r->from[DYNC__FROM_INNER] * (int64_t)dync__type_bytes(s->type)) *
                             r->c->tile_rows;
    }
}

/* An operator with operands that are one element each. */
static void dync__irun_spread(const dync__interp_step *s, void *to, const void *a, const void *b,
                              const void *c, int64_t n)
{
    _Alignas(64) uint64_t lanes[3][DYNC__TILE_LANES];
    const void *arg[3] = {a, b, c};
    for (int i = 0; i < 3; i++) {
        if (!(s->spread >> i & 1)) continue;
        dync__tile_spread(arg[i], s->bytes, lanes[i]);
        arg[i] = lanes[i];
    }
    s->fn(to, arg[0], arg[1], arg[2], n, s->scalars);
}

static void dync__irun_op(char *const *ptr, const dync__interp_step *s, int64_t n)
{
    const void *b = s->b >= 0 ? ptr[s->b] : NULL, *c = s->c >= 0 ? ptr[s->c] : NULL;
    if (s->spread)
        dync__irun_spread(s, ptr[s->dst], ptr[s->a], b, c, n);
    else
        s->fn(ptr[s->dst], ptr[s->a], b, c, n, s->scalars);
}

static bool dync__irun_any(const uint8_t *lane, int64_t n)
{
    uint8_t any = 0;
    for (int64_t i = 0; i < n; i++) any |= lane[i];
    return any != 0;
}

static void dync__irun_steps(dync__irun *r, int list, int64_t n)
{
    const dync__interp_step *s = r->c->steps + r->c->section[list],
                            *end = r->c->steps + r->c->section[list + 1];
    char **ptr = r->ptr;
    for (; s < end && r->status == DYNC_OK; s++) {
        if (s->kind == DYNC__STEP_OP)
            dync__irun_op(ptr, s, n);
        else if ((s->kind == DYNC__STEP_VIEW || s->kind == DYNC__STEP_DIRECT) && s->a < 0)
            ptr[s->dst] = dync__irun_address(r, s);
        else if (s->kind == DYNC__STEP_SKIP)
            s += dync__irun_any((const uint8_t *)ptr[s->a], n) ? 0 : s->imm;
        else
            dync__irun_other_step(r, s, n);
    }
}

static void dync__irun_phase(dync__irun *r, int phase, int64_t begin, int64_t end)
{
    const dync__code *c = r->c;
    for (int i = 0; i < c->n_reduces; i++)
        if (c->reduces[i].phase == phase) dync__irun_reduce_begin(r, &c->reduces[i]);
    for (int64_t j = begin; j < end; j += c->tile_inner) {
        r->inner = DYNC__MIN(c->tile_inner, end - j);
        r->n = r->rows * r->inner;
        r->from[DYNC__FROM_INNER] = j;
        r->from[DYNC__FROM_INNER_ROW] = j * c->n_rows;
        dync__irun_steps(r, 2 + 2 * phase, r->n);
    }
    for (int i = 0; i < c->n_reduces; i++)
        if (c->reduces[i].phase == phase) dync__irun_reduce_end(r, &c->reduces[i]);
}

static void dync__irun_range(dync__irun *r, int64_t row_begin, int64_t row_end, int64_t inner_begin,
                             int64_t inner_end)
{
    const dync__code *c = r->c;
    dync__irun_steps(r, 0, 1);
    for (int64_t row = row_begin; row < row_end && r->status == DYNC_OK; row += r->rows) {
        r->rows =
            DYNC__MIN(DYNC__MIN(c->tile_rows, row_end - row), c->row_group - row % c->row_group);
        r->from[DYNC__FROM_ROW] = row;
        r->from[DYNC__FROM_ROW_INNER] = row * c->n_inner;
        for (int p = 0; p < c->n_phases; p++) {
            dync__irun_steps(r, 1 + 2 * p, r->rows);
            dync__irun_phase(r, p, inner_begin, inner_end);
        }
        dync__irun_steps(r, 1 + 2 * c->n_phases, r->rows);
    }
}

static void dync__irun_pointers(dync__irun *r)
{
    const dync__code *c = r->c;
    for (int i = 0; i < c->n_values; i++) {
        const dync__interp_value *v = &c->values[i];
        r->ptr[i] = v->home == DYNC__HOME_CONST ? (char *)(void *)&c->consts[v->at]
                                                : r->scratch + v->at;
    }
}

static size_t dync__irun_bytes(const dync__code *c)
{
    return ((size_t)c->n_values * sizeof(char *) + 63) / 64 * 64 + c->scratch_bytes + c->keep_bytes;
}

/* A worker's memory: pointer table, scratch, row buffers. */
static void dync__irun_setup(dync__irun *r, char *memory)
{
    r->ptr = (char **)(void *)memory;
    r->scratch = memory + ((size_t)r->c->n_values * sizeof(char *) + 63) / 64 * 64;
    r->keep = r->scratch + r->c->scratch_bytes;
    dync__irun_pointers(r);
}

/* ---- threads --------------------------------------------------------------------------------- */

static int64_t dync__irun_tiles(int64_t n, int64_t tile) { return (n + tile - 1) / tile; }

typedef struct dync__irun_job {
    const dync__irun *base;
    bool by_inner;
    dync_status status;
} dync__irun_job;

static void dync__irun_part(void *user, int part, int n_parts)
{
    dync__irun_job *job = user;
    dync__irun r = *job->base;
    const dync__code *c = r.c;
    size_t bytes = dync__irun_bytes(c);
    char *memory = dync__alloc_data(bytes);
    if (!memory) {
        DYNC__ATOMIC_STORE(&job->status, DYNC_ERR_MEMORY);
        return;
    }
    dync__irun_setup(&r, memory);
    int64_t tile = job->by_inner ? c->tile_inner : c->tile_rows,
            all = job->by_inner ? c->n_inner : c->n_rows;
    int64_t tiles = dync__irun_tiles(all, tile);
    int64_t begin = DYNC__MIN(tiles * part / n_parts * tile, all),
            end = DYNC__MIN(tiles * (part + 1) / n_parts * tile, all);
    if (job->by_inner)
        dync__irun_range(&r, 0, c->n_rows, begin, end);
    else
        dync__irun_range(&r, begin, end, 0, c->n_inner);
    if (r.status != DYNC_OK) DYNC__ATOMIC_STORE(&job->status, r.status);
    dync__free_data(memory, bytes);
}

/* Rows where there are enough of them, else inner indices; false: not worth it. */
DYNC__RARE static bool dync__irun_in_parallel(dync__irun *r, dync_status *status)
{
    const dync__code *c = r->c;
    int threads = dync__pool_worth(c->ns);
    if (threads < 2) return false;
    int64_t row_tiles = dync__irun_tiles(c->n_rows, c->tile_rows),
            inner_tiles = dync__irun_tiles(c->n_inner, c->tile_inner);
    dync__irun_job job = {r, row_tiles < 2 * threads && !c->has_reduce && !c->stores_rows, DYNC_OK};
    int64_t parts = DYNC__MIN(job.by_inner ? inner_tiles : row_tiles, threads);
    if (parts < 2) return false;
    dync__pool_run(dync__irun_part, &job, (int)parts);
    *status = job.status;
    return true;
}

DYNC__FN dync_status dync__interp_run(const dync__code *c, void *const *buffers,
                                      const uint64_t rng[2])
{
    _Alignas(64) char stack[DYNC__IRUN_STACK];
    dync__irun r;
    r.c = c;
    r.buffers = buffers;
    r.seed = rng[0];
    r.offset = rng[1];
    r.from[DYNC__FROM_ZERO] = 0;
    r.status = DYNC_OK;
    if (!c->serial && dync__irun_in_parallel(&r, &r.status)) return r.status;
    size_t bytes = dync__irun_bytes(c);
    char *memory = bytes <= sizeof stack ? stack : dync__alloc_data(bytes);
    if (!memory) return DYNC_ERR_MEMORY;
    dync__irun_setup(&r, memory);
    dync__irun_range(&r, 0, c->n_rows, 0, c->n_inner);
    if (memory != stack) dync__free_data(memory, bytes);
    return r.status;
}
