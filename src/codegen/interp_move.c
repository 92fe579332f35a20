/* codegen/interp_move.c: the tile interpreter's loads and stores: between memory, as a stream's
 * loops walk it, and tiles, which are dense. Before: interp_run.c calls; elements of other storage
 * dtypes pass the tile conversions on the way. */
#include "../dync.in.h"
#include "interp_build.h"
#include "interp_run.h"
#include "target.h"
DYNC__SPARE

/* ---- addresses ------------------------------------------------------------------------------- */

static dync__size dync__irun_nest(const dync__interp *c, dync__interp_nest nest, dync__size index)
{
    const dync__lp_dim *d = c->dims + nest.at;
    dync__size off = 0;
    if (nest.n == 0 || index == 0) return 0;
    for (int i = nest.n - 1; i > 0; i--) {
        off += index % d[i].extent * d[i].stride;
        index /= d[i].extent;
    }
    return off + index * d[0].stride;
}

/* Element offset of everything but the lanes. */
static dync__size dync__irun_fixed(const dync__irun *r, const dync__interp_stream *s)
{
    return s->offset + dync__irun_nest(r->c, s->fixed, r->from[s->fixed_from]);
}

DYNC__FN char *dync__irun_address(const dync__irun *r, const dync__interp_step *s)
{
    const dync__interp_stream *st = &r->c->streams[s->stream];
    dync__size off = dync__irun_fixed(r, st) +
                     dync__irun_nest(r->c, st->lanes, r->from[st->lanes_from]);
    return (char *)r->buffers[s->buf] + off * s->bytes;
}

DYNC__RARE static dync_status dync__irun_bad_index(dync__irun *r, int64_t at, int64_t size)
{
    if (r->status == DYNC_OK)
        r->status = dync__fail(DYNC_ERR_INDEX, "%s: index reaches element %lld of a buffer of %lld",
                               r->name, (long long)at, (long long)size);
    return r->status;
}

DYNC__FN bool dync__irun_line_index(dync__irun *r, const dync__interp_step *s, dync__size n,
                                    int64_t *index)
{
    const dync__interp_stream *st = &r->c->streams[s->stream];
    memcpy(index, r->ptr[s->a], sizeof *index);
    int64_t stride = st->lanes.n ? r->c->dims[st->lanes.at].stride : 0,
            start = r->from[st->lanes_from];
    int64_t first = (int64_t)((uint64_t)(int64_t)dync__irun_fixed(r, st) +
                              (uint64_t)(start * stride) + (uint64_t)*index),
            last = first + (n - 1) * stride;
    if (s->imm < 0 || (first >= 0 && first < s->imm && last >= 0 && last < s->imm)) return true;
    dync__irun_bad_index(r, first < 0 || first >= s->imm ? first : last, s->imm);
    return false;
}

/* ---- moving elements ------------------------------------------------------------------------- */

/* Copies of strided elements, the whole in rows: those along which memory is dense go inside. */
#define DYNC__IRUN_COPY(T, name)                                                            \
    DYNC__BUSY static void dync__irun_copy_##name(T *to, dync__size to_step, const T *from, \
                                                  dync__size from_step, dync__size n)       \
    {                                                                                       \
        for (dync__size i = 0; i < n; i++) to[i * to_step] = from[i * from_step];           \
    }
DYNC__IRUN_COPY(uint8_t, 1)
DYNC__IRUN_COPY(uint16_t, 2)
DYNC__IRUN_COPY(uint32_t, 4)
DYNC__IRUN_COPY(uint64_t, 8)

DYNC__FN void dync__irun_copy(void *to, dync__size to_step, const void *from, dync__size from_step,
                              dync__size n, int bytes)
{
    if (to_step == 1 && from_step == 1 && n >= 16) {
        memmove(to, from, (size_t)(n * bytes));
        return;
    }
    switch (bytes) {
    case 1: dync__irun_copy_1(to, to_step, from, from_step, n); break;
    case 2: dync__irun_copy_2(to, to_step, from, from_step, n); break;
    case 4: dync__irun_copy_4(to, to_step, from, from_step, n); break;
    default: dync__irun_copy_8(to, to_step, from, from_step, n); break;
    }
}

/* An odometer over a nest of two loops or more: pieces along the last one. */
typedef struct dync__irun_walk {
    const dync__lp_dim *d;
    int n;
    dync__size index[2 * DYNC__LOOP_MAX_DIMS], offset;
} dync__irun_walk;

static void dync__irun_walk_start(dync__irun_walk *w, const dync__interp *c, dync__interp_nest nest,
                                  dync__size index)
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
static void dync__irun_walk_on(dync__irun_walk *w, dync__size done)
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

static dync__size dync__irun_walk_piece(const dync__irun_walk *w, dync__size left)
{
    dync__size piece = w->d[w->n - 1].extent - w->index[w->n - 1];
    return DYNC__MIN(piece, left);
}

static bool dync__irun_is_square(const dync__irun *r, int level)
{
    return level == 2 && DYNC__LP_IS_SQUARE(r->c->mode);
}

/* A stream's lanes from number `start` on: its memory, and how a tile of n of them is walked. */
typedef struct dync__irun_lanes {
    char *memory;
    dync__interp_nest nest;
    dync__size start, n;
    int level, bytes;
    bool store; /* from the tile to memory */
} dync__irun_lanes;

static void dync__irun_piece(const dync__irun_lanes *l, dync__size offset, dync__size stride,
                             char *tile, dync__size tile_step, dync__size n)
{
    char *at = l->memory + offset * l->bytes;
    if (l->store)
        dync__irun_copy(at, stride, tile, tile_step, n, l->bytes);
    else
        dync__irun_copy(tile, tile_step, at, stride, n, l->bytes);
}

/* Rows x inner elements, row after row in the tile, along whichever loop memory is dense in. */
static void dync__irun_square(const dync__irun *r, const dync__irun_lanes *l, char *tile)
{
    const dync__lp_dim *d = r->c->dims + l->nest.at; /* the rows, the inner loop */
    dync__size first = l->start * d[1].stride;
    if (d[1].stride == 1)
        for (dync__size i = 0; i < r->rows; i++)
            dync__irun_piece(l, first + i * d[0].stride, 1, tile + i * r->inner * l->bytes, 1,
                             r->inner);
    else
        for (dync__size j = 0; j < r->inner; j++)
            dync__irun_piece(l, first + j * d[1].stride, d[0].stride, tile + j * l->bytes, r->inner,
                             r->rows);
}

static void dync__irun_move(const dync__irun *r, const dync__irun_lanes *l, char *tile)
{
    const dync__lp_dim *d = r->c->dims + l->nest.at;
    dync__size stride = l->nest.n ? d[l->nest.n - 1].stride : 0;
    dync__irun_walk w;
    if (dync__irun_is_square(r, l->level)) {
        dync__irun_square(r, l, tile);
        return;
    }
    if (l->nest.n <= 1) {
        dync__irun_piece(l, l->start * stride, stride, tile, 1, l->n);
        return;
    }
    dync__irun_walk_start(&w, r->c, l->nest, l->start);
    for (dync__size left = l->n; left > 0;) {
        dync__size piece = dync__irun_walk_piece(&w, left);
        dync__irun_piece(l, w.offset, stride, tile, 1, piece);
        dync__irun_walk_on(&w, piece);
        tile += piece * l->bytes;
        left -= piece;
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

static dync__irun_lanes dync__irun_lanes_of(const dync__irun *r, const dync__interp_step *s,
                                            dync__size n, dync__size index, bool store)
{
    const dync__interp_stream *st = &r->c->streams[s->stream];
    char *memory = (char *)r->buffers[s->buf] + (dync__irun_fixed(r, st) + index) * s->bytes;
    dync__irun_lanes l = {memory, st->lanes, r->from[st->lanes_from], n, s->level, s->bytes, store};
    return l;
}

static bool dync__irun_is_dense(const dync__irun *r, const dync__irun_lanes *l)
{
    return l->nest.n == 1 && r->c->dims[l->nest.at].stride == 1;
}

DYNC__FN void dync__irun_load(dync__irun *r, const dync__interp_step *s, dync__size n)
{
    int64_t index = 0;
    if (s->a >= 0 && !dync__irun_line_index(r, s, n, &index)) return;
    dync__irun_lanes l = dync__irun_lanes_of(r, s, n, index, false);
    char *to = r->ptr[s->dst], *raw = r->scratch + r->c->raw_at;
    if (!s->tile.fn) {
        dync__irun_move(r, &l, to);
    } else if (dync__irun_is_dense(r, &l)) {
        dync__tile_run(&s->tile, to, l.memory + l.start * s->bytes, NULL, NULL, n, 0);
    } else {
        dync__irun_move(r, &l, raw);
        dync__tile_run(&s->tile, to, raw, NULL, NULL, n, 0);
    }
}

DYNC__FN void dync__irun_store(const dync__irun *r, const dync__interp_step *s, dync__size n)
{
    dync__irun_lanes l = dync__irun_lanes_of(r, s, n, 0, true);
    char *from = r->ptr[s->a], *raw = r->scratch + r->c->raw_at;
    if (!s->tile.fn) {
        dync__irun_move(r, &l, from);
    } else if (dync__irun_is_dense(r, &l)) {
        dync__tile_run(&s->tile, l.memory + l.start * s->bytes, from, NULL, NULL, n, 0);
    } else {
        dync__tile_run(&s->tile, raw, from, NULL, NULL, n, 0);
        dync__irun_move(r, &l, raw);
    }
}

static void dync__irun_iota(int64_t *to, dync__size first, dync__size step, dync__size n)
{
    for (dync__size i = 0; i < n; i++) to[i] = first + i * step;
}

static void dync__irun_indices(dync__irun *r, const dync__interp_step *s, dync__size n)
{
    const dync__interp_stream *st = &r->c->streams[s->stream];
    const dync__lp_dim *d = r->c->dims + st->lanes.at;
    int64_t *to = (int64_t *)(void *)r->ptr[s->dst];
    dync__size base = dync__irun_fixed(r, st), start = r->from[st->lanes_from];
    if (dync__irun_is_square(r, s->level)) {
        for (dync__size i = 0; i < r->rows; i++)
            dync__irun_iota(to + i * r->inner, base + i * d[0].stride + start * d[1].stride,
                            d[1].stride, r->inner);
        return;
    }
    dync__size stride = st->lanes.n ? d[st->lanes.n - 1].stride : 0;
    if (st->lanes.n <= 1) {
        dync__irun_iota(to, base + start * stride, stride, n);
        return;
    }
    dync__irun_walk w;
    dync__irun_walk_start(&w, r->c, st->lanes, start);
    for (dync__size left = n; left > 0;) {
        dync__size piece = dync__irun_walk_piece(&w, left);
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

static void dync__irun_loads(dync__irun *r, const dync__interp_step *s, dync__size n)
{
    const char *from = r->buffers[s->buf];
    char *to = s->tile.fn ? r->scratch + r->c->raw_at : r->ptr[s->dst];
    const int64_t *index = (const int64_t *)(void *)r->ptr[s->a],
                  *offset = (const int64_t *)(void *)r->ptr[s->c];
    int64_t at;
    for (dync__size i = 0; i < n; i++) {
        if (!dync__irun_element(r, s, offset[i], index[i], &at)) return;
        switch (s->bytes) {
        case 1: ((uint8_t *)to)[i] = ((const uint8_t *)from)[at]; break;
        case 2: ((uint16_t *)(void *)to)[i] = ((const uint16_t *)(const void *)from)[at]; break;
        case 4: ((uint32_t *)(void *)to)[i] = ((const uint32_t *)(const void *)from)[at]; break;
        default: ((uint64_t *)(void *)to)[i] = ((const uint64_t *)(const void *)from)[at]; break;
        }
    }
    if (s->tile.fn) dync__tile_run(&s->tile, r->ptr[s->dst], to, NULL, NULL, n, 0);
}

static void dync__irun_stores(dync__irun *r, const dync__interp_step *s, dync__size n)
{
    char *to = r->buffers[s->buf];
    const char *from = r->ptr[s->a];
    const int64_t *index = (const int64_t *)(void *)r->ptr[s->b],
                  *offset = (const int64_t *)(void *)r->ptr[s->c];
    int64_t at;
    if (s->tile.fn) {
        dync__tile_run(&s->tile, r->scratch + r->c->raw_at, from, NULL, NULL, n, 0);
        from = r->scratch + r->c->raw_at;
    }
    for (dync__size i = 0; i < n; i++) {
        if (!dync__irun_element(r, s, offset[i], index[i], &at)) return;
        memcpy(to + at * s->bytes, from + i * s->bytes, s->bytes);
    }
}

/* Linked by who builds such instructions. */
typedef void (*dync__irun_by)(dync__irun *, const dync__interp_step *, dync__size n);
static dync__irun_by DYNC__BY_NEED dync__irun_by_index = DYNC__AT_FIRST(dync__irun_indices),
                                   dync__irun_by_load = DYNC__AT_FIRST(dync__irun_loads),
                                   dync__irun_by_store = DYNC__AT_FIRST(dync__irun_stores);
DYNC__FN void dync__interp_indexes(void) { DYNC__PUT(dync__irun_by_index, dync__irun_indices); }
DYNC__FN void dync__interp_gathers(void)
{
    dync__expand_rows();
    dync__ib_gathers();
    dync__interp_indexes();
    DYNC__PUT(dync__irun_by_load, dync__irun_loads);
    DYNC__PUT(dync__irun_by_store, dync__irun_stores);
}

DYNC__FN void dync__irun_indexed(dync__irun *r, const dync__interp_step *s, dync__size n)
{
    dync__irun_by by = s->kind == DYNC__STEP_INDEX   ? dync__irun_by_index
                       : s->kind == DYNC__STEP_LOADX ? dync__irun_by_load
                                                     : dync__irun_by_store;
    if (by)
        by(r, s, n);
    else
        r->status = DYNC_ERR_INTERNAL;
}

/* Row vector to tile: each row's value along its inner indices, or (vertical) the vector once
 * per inner index. */
DYNC__FN void dync__irun_expand(const dync__irun *r, const dync__interp_step *s)
{
    char *to = r->ptr[s->dst];
    const char *from = r->ptr[s->a];
    int bytes = (int)dync__type_bytes(s->type);
    if (r->c->mode == DYNC__LP_VERTICAL) {
        for (dync__size j = 0; j < r->inner; j++)
            memcpy(to + j * r->rows * bytes, from, (size_t)(r->rows * bytes));
        return;
    }
    for (dync__size i = 0; i < r->rows; i++)
        dync__irun_copy(to + i * r->inner * bytes, 1, from + i * bytes, 0, r->inner, bytes);
}
