/* kernel/sort.c: stable sorting along one dim. Before: runtime/run.c.
 *
 *   sort    x, values, index   NaN is the greatest; equal elements keep their order; the first k
 *                              where values and index are only k long
 *
 * A dense array is [outer, length, inner] around the dim. Sorting maps elements to unsigned keys of
 * the same order and merges (key, position) pairs bottom up: one routine for every dtype. */
#include "../dync.in.h"
#include "../codegen/target.h"
#include "operand.h"
DYNC__BESIDE_JIT

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

typedef struct dync__sort_item {
    uint64_t key;
    int64_t position;
} dync__sort_item;

/* Unsigned order is the dtype's order. -0 equals 0; every NaN is the greatest. Tested by bits: no
 * flag changes it. */
static uint64_t dync__sort_float_key(uint64_t bits, int width)
{
    uint64_t sign = (uint64_t)1 << (width - 1), mag = bits & (sign - 1),
             inf = width == 32 ? 0x7f800000u : 0x7ff0000000000000u;
    if (mag > inf) return UINT64_MAX;
    if (mag == 0) return sign;
    return bits & sign ? sign - mag : sign + mag;
}

static uint64_t dync__sort_key(const void *p, int dtype)
{
    uint32_t narrow;
    uint64_t wide;
    if (dtype == DYNC_F32) {
        memcpy(&narrow, p, sizeof narrow);
        return dync__sort_float_key(narrow, 32);
    }
    if (dtype == DYNC_F64) {
        memcpy(&wide, p, sizeof wide);
        return dync__sort_float_key(wide, 64);
    }
    return (uint64_t)dync__load_i64(p, dtype) ^ (uint64_t)1 << 63;
}

/* Runs of eight by insertion, then merging passes from one array into the other; returns where the
 * result is. */
static dync__sort_item *dync__sort_items(dync__sort_item *a, dync__sort_item *b, int64_t n)
{
    for (int64_t start = 0; start < n; start += DYNC__SORT_RUN)
        for (int64_t i = start + 1; i < DYNC__MIN(start + DYNC__SORT_RUN, n); i++) {
            dync__sort_item x = a[i];
            int64_t j = i;
            for (; j > start && a[j - 1].key > x.key; j--) a[j] = a[j - 1];
            a[j] = x;
        }
    for (int64_t width = DYNC__SORT_RUN; width < n; width *= 2) {
        for (int64_t left = 0; left < n; left += 2 * width) {
            int64_t middle = DYNC__MIN(left + width, n), right = DYNC__MIN(left + 2 * width, n),
                    i = left, j = middle;
            for (int64_t k = left; k < right; k++)
                b[k] = j >= right || (i < middle && a[i].key <= a[j].key) ? a[i++] : a[j++];
        }
        dync__sort_item *t = a;
        a = b;
        b = t;
    }
    return a;
}

/* a[0..best) is in order, a[best..n) came later: the first k of all go to a[0..k). */
static void dync__sort_join(dync__sort_item *a, dync__sort_item *b, int64_t best, int64_t n,
                            int64_t k)
{
    const dync__sort_item *late = dync__sort_items(a + best, b, n - best);
    dync__sort_item *out = b + n - best;
    for (int64_t at = 0, i = 0, j = 0; at < k; at++)
        out[at] = j >= n - best || (i < best && a[i].key <= late[j].key) ? a[i++] : late[j++];
    memcpy(a, out, (size_t)k * sizeof *a);
}

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

/* Where few of many are wanted, those that come before the last of the best so far are gathered,
 * and joined to them now and then. */
static void dync__sort_line(const dync__sorting *s, int64_t line, dync__sort_item *items)
{
    int64_t bytes = dync__dtype_info(s->dtype)->bytes, n = s->lines.length, k = s->k,
            step = s->lines.inner, have = 0, best = 0;
    int64_t first = line / step * n * step + line % step,
            room = k <= n / DYNC__SORT_FEW && n >= DYNC__SORT_LONG
                       ? k + DYNC__MAX(k, DYNC__SORT_ROOM)
                       : n + 1;
    const dync__sort_item *sorted = items;
    for (int64_t i = 0; i < n; i++) {
        uint64_t key = dync__sort_key(s->x + (first + i * step) * bytes, s->dtype);
        if (s->descending) key = ~key;
        if (best && key >= items[k - 1].key) continue;
        items[have].key = key;
        items[have++].position = i;
        if (have == room) {
            dync__sort_join(items, items + n, best, have, k);
            have = best = k;
        }
    }
    if (room > n)
        sorted = dync__sort_items(items, items + n, n);
    else
        dync__sort_join(items, items + n, best, have, k);
    const char *from = s->x + first * bytes;
    first = line / step * k * step + line % step;
    for (int64_t i = 0; i < k; i++) {
        memcpy(s->values + (first + i * step) * bytes, from + sorted[i].position * step * bytes,
               (size_t)bytes);
        s->index[first + i * step] = sorted[i].position;
    }
}

static void dync__sort_part(void *user, int part, int n_parts)
{
    dync__sorting *s = user;
    int64_t lines = s->lines.outer * s->lines.inner;
    size_t bytes = 2 * (size_t)s->lines.length * sizeof(dync__sort_item);
    dync__sort_item *items = dync__alloc_data(bytes);
    if (!items) {
        DYNC__ATOMIC_STORE(&s->failed, 1);
        return;
    }
    for (int64_t i = lines * part / n_parts; i < lines * (part + 1) / n_parts; i++)
        dync__sort_line(s, i, items);
    dync__free_data(items, bytes);
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
    c->run_bytes = 2 * (size_t)dync__operand_numel(&c->operand[0]) * sizeof(dync__sort_item);
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
    dync_status status = dync__dense_in(&op[0], data[0], s.dtype, &x);
    if (status == DYNC_OK) status = dync__dense_out(&op[1], data[1], s.dtype, &values);
    if (status == DYNC_OK) status = dync__dense_out(&op[2], data[2], DYNC_I64, &index);
    s.x = x.data;
    s.values = values.data;
    s.index = index.data;
    if (status == DYNC_OK) {
        int threads = dync__pool_threads();
        bool many = s.lines.outer * s.lines.inner >= threads &&
                    dync__operand_numel(&op[0]) > DYNC__SORT_PARALLEL;
        if (threads > 1 && many)
            dync__pool_run(dync__sort_part, &s, threads);
        else
            dync__sort_part(&s, 0, 1);
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
