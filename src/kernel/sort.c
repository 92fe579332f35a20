/* kernel/sort.c: stable sorting along one dim. Before: runtime/run.c.
 *
 *   sort    x, values, index   NaN is the greatest; equal elements keep their order; the first k
 *                              where values and index are only k long
 *
 * A dense array is [outer, length, inner] around the dim. Elements become unsigned keys of the same
 * order: one routine for every dtype (sort_order.c). */
#include "../dync.in.h"
#include "../codegen/target.h"
#include "operand.h"
#include "sort_order.h"
DYNC__HOT

/* of a dense array around dim */
typedef struct dync__lines {
    int64_t outer, length, inner;
} dync__lines;

static void dync__lines_of(const dync__operand *o, int64_t dim, dync__lines *l)
{
    l->outer = l->inner = 1;
    for (int d = 0; d < o->lay.ndim; d++) {
        if (d < dim) l->outer *= o->lay.shape[d];
        if (d > dim) l->inner *= o->lay.shape[d];
    }
    l->length = o->lay.shape[dim];
}

/* cumsum: the CPU runs loops (op/lower_reduce.c), the row names it for devices. */
DYNC__FN dync_status dync__k_cumsum_prepare(dync__kcall *c)
{
    return dync__kcall_expect(c, c->n == 2, "x and y");
}
DYNC__FN dync_status dync__k_cumsum(const dync__kcall *c, void *const *data, void *scratch)
{
    return (void)data, (void)scratch,
           dync__kcall_expect(c, false,
                              "a device that has a text for "
                              "it");
}

/* ---- sort ------------------------------------------------------------------------------------ */

enum { DYNC__SORT_BYTES = 3 * 8 + 2 * 4 }; /* that ordering an element of a line takes */

typedef struct dync__sorting {
    dync__lines lines;
    int64_t k; /* wanted of each run along the dim */
    const char *x;
    char *values;
    int64_t *index;
    int dtype;
    bool descending;
    int32_t failed;
} dync__sorting;

/* Unsigned order is the dtype's order. -0 equals 0; every NaN is the greatest. Tested by bits: no
 * flag changes it. */
static uint64_t dync__sort_float_key(uint64_t bits, int width)
{
    uint64_t sign = (uint64_t)1 << (width - 1), mag = bits & (sign - 1),
             negative = bits >> (width - 1), inf = width == 32 ? 0x7f800000u : 0x7ff0000000000000u;
    uint64_t key = sign + ((mag ^ (0 - negative)) + negative); /* sign + mag or sign - mag */
    return mag > inf ? UINT64_MAX >> (64 - width) : key;
}
static uint64_t dync__sort_key_f32(uint32_t x) { return dync__sort_float_key(x, 32); }
static uint64_t dync__sort_key_f64(uint64_t x) { return dync__sort_float_key(x, 64); }
static uint64_t dync__sort_key_int(int64_t x) { return (uint64_t)x ^ (uint64_t)1 << 63; }
static uint64_t dync__sort_key_bool(uint8_t x) { return x != 0; }

/* A line that is put in order, by one thread or by as many as o->threads. */
typedef struct dync__sort_line {
    const dync__sorting *s;
    const char *x;  /* its first element */
    int64_t first;  /* of the results: where its first one goes */
    dync__order *o; /* o->b: the range of each part's keys */
} dync__sort_line;

/* The keys of a part of a line whose elements lie step apart, and their range. */
#define DYNC__SORT_KEYS(type, to_key)                           \
    for (int64_t i = n * part / parts; i < end; i++) {          \
        type v;                                                 \
        memcpy(&v, x + i * step * (int64_t)sizeof v, sizeof v); \
        uint64_t key = to_key(v) ^ flip;                        \
        o->key[i] = key;                                        \
        least = DYNC__MIN(least, key);                          \
        most = DYNC__MAX(most, key);                            \
    }                                                           \
    break
static void dync__sort_keys(void *user, int part, int parts)
{
    const dync__sort_line *line = user;
    const dync__sorting *s = line->s;
    const dync__order *o = line->o;
    const char *x = line->x;
    int64_t n = s->lines.length, end = n * (part + 1) / parts, step = s->lines.inner;
    uint64_t flip = s->descending ? UINT64_MAX : 0, least = UINT64_MAX, most = 0;
    switch (s->dtype) {
    case DYNC_F32: DYNC__SORT_KEYS(uint32_t, dync__sort_key_f32);
    case DYNC_F64: DYNC__SORT_KEYS(uint64_t, dync__sort_key_f64);
    case DYNC_I64: DYNC__SORT_KEYS(int64_t, dync__sort_key_int);
    case DYNC_I32: DYNC__SORT_KEYS(int32_t, dync__sort_key_int);
    case DYNC_I16: DYNC__SORT_KEYS(int16_t, dync__sort_key_int);
    case DYNC_I8: DYNC__SORT_KEYS(int8_t, dync__sort_key_int);
    case DYNC_U8: DYNC__SORT_KEYS(uint8_t, dync__sort_key_int);
    default: DYNC__SORT_KEYS(uint8_t, dync__sort_key_bool);
    }
    o->b[2 * part] = least;
    o->b[2 * part + 1] = most;
}

/* The first k of a few keys that were gathered, with the places they came from. */
static void dync__sort_best(dync__order *few, uint32_t *from, int64_t n, int64_t k)
{
    dync__order_keys(few, n);
    uint32_t *place = few->before;
    for (int64_t i = 0; i < k; i++) {
        few->a[i] = few->key[few->place[i]];
        place[i] = from[few->place[i]];
    }
    memcpy(few->key, few->a, (size_t)k * sizeof *few->key);
    memcpy(from, place, (size_t)k * sizeof *from);
}

/* Where few of many are wanted: what is gathered before it is put in order, of a long row. */
static bool dync__sort_is_few(const dync__sorting *s)
{
    return s->k <= s->lines.length / DYNC__SORT_FEW && s->lines.length >= DYNC__SORT_LONG;
}
static int64_t dync__sort_room(int64_t k) { return k + DYNC__MAX(k, DYNC__SORT_ROOM); }

/* From element i on: the keys up to most and where they came from, until the room is full or n are
 * over; returns how many there are then. */
#define DYNC__SORT_GATHER(type, to_key)                         \
    for (; i < n && have < room; i++) {                         \
        type v;                                                 \
        memcpy(&v, x + i * step * (int64_t)sizeof v, sizeof v); \
        uint64_t key = to_key(v) ^ flip;                        \
        to[have] = key;                                         \
        from[have] = (uint32_t)i;                               \
        have += key <= most;                                    \
    }                                                           \
    break
static int64_t dync__sort_gather(const dync__sorting *s, const char *x, const dync__order *few,
                                 int64_t *at, int64_t n, int64_t have)
{
    int64_t step = s->lines.inner, i = *at, room = dync__sort_room(s->k);
    uint64_t flip = s->descending ? UINT64_MAX : 0, most = few->most, *to = few->key;
    uint32_t *from = few->place;
    switch (s->dtype) {
    case DYNC_F32: DYNC__SORT_GATHER(uint32_t, dync__sort_key_f32);
    case DYNC_F64: DYNC__SORT_GATHER(uint64_t, dync__sort_key_f64);
    case DYNC_I64: DYNC__SORT_GATHER(int64_t, dync__sort_key_int);
    case DYNC_I32: DYNC__SORT_GATHER(int32_t, dync__sort_key_int);
    case DYNC_I16: DYNC__SORT_GATHER(int16_t, dync__sort_key_int);
    case DYNC_I8: DYNC__SORT_GATHER(int8_t, dync__sort_key_int);
    case DYNC_U8: DYNC__SORT_GATHER(uint8_t, dync__sort_key_int);
    default: DYNC__SORT_GATHER(uint8_t, dync__sort_key_bool);
    }
    *at = i;
    return have;
}

/* Of `have` gathered keys and places the first k, in order; most: before the last of them. */
static void dync__sort_join(dync__order *few, int64_t have, int64_t k)
{
    uint32_t *place = few->place;
    few->place += dync__sort_room(k);
    few->most = 0, few->least = UINT64_MAX;
    for (int64_t j = 0; j < have; j++) {
        few->least = DYNC__MIN(few->least, few->key[j]);
        few->most = DYNC__MAX(few->most, few->key[j]);
    }
    dync__sort_best(few, place, have, k);
    few->place = place;
    few->most = few->key[k - 1] - 1;
}

/* The memory of a part of a line, of which there are as many as threads. */
static dync__order dync__sort_few_of(const dync__sort_line *line, int part)
{
    int64_t from = part * 2 * dync__sort_room(line->s->k);
    const dync__order *o = line->o;
    return (dync__order){.key = o->key + from,
                         .a = o->a + from,
                         .b = o->b + from,
                         .place = o->place + from,
                         .before = o->before + from,
                         .most = UINT64_MAX,
                         .threads = 1};
}

/* A part's key[] and place[] are left with its first k: those that come before the last of the best
 * so far are gathered, and joined to them now and then. */
static void dync__sort_few(void *user, int part, int parts)
{
    const dync__sort_line *line = user;
    const dync__sorting *s = line->s;
    int64_t i = s->lines.length * part / parts, n = s->lines.length * (part + 1) / parts, have = 0;
    dync__order few = dync__sort_few_of(line, part);
    for (;;) {
        have = dync__sort_gather(s, line->x, &few, &i, n, have);
        if (have == s->k) return; /* no more than were in order already */
        dync__sort_join(&few, have, s->k);
        have = s->k;
        if (i == n || few.key[have - 1] == 0) return; /* nothing comes before that */
    }
}

/* o->place is left with the first k of a line: of equal ones those of earlier parts come first. */
static void dync__sort_first(dync__sort_line *line)
{
    int64_t k = line->s->k;
    int parts = line->o->threads;
    dync__order few = dync__sort_few_of(line, 0);
    dync__pool_run(dync__sort_few, line, parts);
    for (int part = 1; part < parts; part++) {
        dync__order more = dync__sort_few_of(line, part);
        memcpy(few.key + k, more.key, (size_t)k * sizeof *few.key);
        memcpy(few.place + k, more.place, (size_t)k * sizeof *few.place);
        dync__sort_join(&few, 2 * k, k);
    }
}

/* A part of the first k in order, and their places. */
#define DYNC__SORT_MOVE(type)                                                                      \
    for (int64_t i = begin; i < end; i++)                                                          \
        memcpy(to + i * step * (int64_t)sizeof(type), x + place[i] * step * (int64_t)sizeof(type), \
               sizeof(type));                                                                      \
    break
static void dync__sort_move(void *user, int part, int parts)
{
    const dync__sort_line *line = user;
    const dync__sorting *s = line->s;
    int64_t bytes = dync__dtype_info(s->dtype)->bytes, step = s->lines.inner,
            begin = s->k * part / parts, end = s->k * (part + 1) / parts;
    const char *x = line->x;
    char *to = s->values + line->first * bytes;
    const uint32_t *place = line->o->place;
    switch (bytes) {
    case 8: DYNC__SORT_MOVE(uint64_t);
    case 4: DYNC__SORT_MOVE(uint32_t);
    case 2: DYNC__SORT_MOVE(uint16_t);
    default: DYNC__SORT_MOVE(uint8_t);
    }
    for (int64_t i = begin; i < end; i++) s->index[line->first + i * step] = place[i];
}

static void dync__sort_one(const dync__sorting *s, int64_t at, dync__order *o)
{
    int64_t n = s->lines.length, step = s->lines.inner;
    dync__sort_line line = {s, s->x, at / step * s->k * step + at % step, o};
    line.x += (at / step * n * step + at % step) * dync__dtype_info(s->dtype)->bytes;
    if (dync__sort_is_few(s)) {
        dync__sort_first(&line);
    } else {
        dync__pool_run(dync__sort_keys, &line, o->threads);
        o->least = o->b[0], o->most = o->b[1];
        for (int part = 1; part < o->threads; part++) {
            o->least = DYNC__MIN(o->least, o->b[2 * part]);
            o->most = DYNC__MAX(o->most, o->b[2 * part + 1]);
        }
        dync__order_keys(o, n);
    }
    dync__pool_run(dync__sort_move, &line, o->threads);
}

/* Part of the lines, each by so many threads. */
static void dync__sort_lines(dync__sorting *s, int part, int n_parts, int threads)
{
    int64_t lines = s->lines.outer * s->lines.inner;
    size_t n = (size_t)(dync__sort_is_few(s) ? threads * 2 * dync__sort_room(s->k)
                                             : s->lines.length),
           bytes = n * DYNC__SORT_BYTES; /* no more for few than for all */
    uint64_t *words = dync__alloc_data(bytes);
    if (!words) {
        DYNC__ATOMIC_STORE(&s->failed, 1);
        return;
    }
    dync__order order = {.key = words, .a = words + n, .b = words + 2 * n, .threads = threads};
    order.place = (uint32_t *)(words + 3 * n);
    order.before = order.place + n;
    for (int64_t i = lines * part / n_parts; i < lines * (part + 1) / n_parts; i++)
        dync__sort_one(s, i, &order);
    dync__free_data(words, bytes);
}

static void dync__sort_part(void *user, int part, int n_parts)
{
    dync__sort_lines(user, part, n_parts, 1);
}

/* As many lines as threads or more: some for each of them. Fewer: one after another, each by all,
 * where they are long. */
static void dync__sort_all(dync__sorting *s, int64_t elements)
{
    int threads = dync__pool_threads();
    int64_t lines = s->lines.outer * s->lines.inner,
            slice = dync__sort_is_few(s)
                        ? DYNC__MAX(2 * dync__sort_room(s->k), DYNC__SORT_FEW_SLICE)
                        : DYNC__SORT_SLICE,
            shared = s->lines.length / slice;
    if (threads == 1 || elements <= DYNC__SORT_PARALLEL)
        dync__sort_lines(s, 0, 1, 1);
    else if (lines < threads && shared > 1)
        dync__sort_lines(s, 0, 1, (int)DYNC__MIN(threads, shared));
    else
        dync__pool_run(dync__sort_part, s, (int)DYNC__MIN(threads, lines));
}

DYNC__RARE DYNC__FN dync_status dync__k_sort_prepare(dync__kcall *c)
{
    const dync__layout *x = &c->operand[0].lay, *values = &c->operand[1].lay;
    int64_t dim = c->attr.sort.dim;
    DYNC__TRY(
        dync__kcall_expect(c, c->n == 3 && dim >= 0 && dim < x->ndim, "a dim of the operand"));
    for (int i = 1; i < 3; i++)
        for (int d = 0; d < x->ndim; d++)
            DYNC__TRY(dync__kcall_expect(c,
                                         c->operand[i].lay.ndim == x->ndim &&
                                             c->operand[i].lay.shape[d] ==
                                                 (d == dim ? values : x)->shape[d] &&
                                             values->shape[d] <= x->shape[d],
                                         "operands of one shape"));
    /* of a line; at most */
    c->run_bytes = (size_t)dync__operand_numel(&c->operand[0]) * DYNC__SORT_BYTES;
    return dync__kcall_expect(
        c, c->operand[1].dtype == c->operand[0].dtype && c->operand[2].dtype == DYNC_I64,
        "operands of one dtype and an I64 index");
}

DYNC__RARE DYNC__FN dync_status dync__k_sort(const dync__kcall *c, void *const *data, void *scratch)
{
    const dync__operand *op = c->operand;
    dync__dense x = {0}, values = {0}, index = {0};
    dync__sorting s;
    (void)scratch;
    memset(&s, 0, sizeof s);
    s.dtype = dync__operand_working(op[0].dtype);
    s.descending = c->attr.sort.descending;
    dync__lines_of(&op[0], (int)c->attr.sort.dim, &s.lines);
    s.k = op[1].lay.shape[c->attr.sort.dim];
    if (dync__operand_numel(&op[1]) == 0) return DYNC_OK;
    if (s.lines.length > UINT32_MAX) return dync__kcall_expect(c, false, "less than 2^32 elements");
    dync_status status = dync__dense_in(&op[0], data[0], s.dtype, &x);
    if (status == DYNC_OK) status = dync__dense_out(&op[1], data[1], s.dtype, &values);
    if (status == DYNC_OK) status = dync__dense_out(&op[2], data[2], DYNC_I64, &index);
    s.x = x.data;
    s.values = values.data;
    s.index = index.data;
    if (status == DYNC_OK) {
        dync__sort_all(&s, dync__operand_numel(&op[0]));
        if (s.failed) status = dync__fail_memory(0);
    }
    if (status == DYNC_OK) {
        dync__dense_finish(&op[1], data[1], &values);
        dync__dense_finish(&op[2], data[2], &index);
    }
    dync__dense_drop(&x);
    dync__dense_drop(&values);
    dync__dense_drop(&index);
    return status;
}
