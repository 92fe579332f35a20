/* onnx/map_unique.c: Unique: the elements, or the rows along an axis, each once. After map_index.c.
 *
 * Sorted, equal rows stand side by side, in the order of x; where one differs from the row before
 * it a group begins, and NonZero of these places is all that data decide.
 *
 *   x 2 1 1 3: sorted 1 1 2 3, of rows 1 2 0 3, groups begin at 0 2 3
 *   indices (the first of each group) 1 0 3, inverse 1 0 0 2, counts 2 1 1
 *   not sorted, the groups stand as their first rows do: indices 0 1 3, inverse 0 1 1 2 */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

enum { DYNC__OI_COLUMNS = 64 }; /* of rows that a graph sorts, a sort each */

/* Rows that differ, found on the host: for rows of many elements. */
typedef struct dync__oi_rows {
    const char *at;
    int64_t n, each; /* rows, elements of one */
    int dtype;
} dync__oi_rows;

static int dync__oi_compare_rows(const dync__oi_rows *r, int64_t a, int64_t b)
{
    int bytes = dync__dtype_info(r->dtype)->bytes;
    bool real = dync__dtype_info(r->dtype)->kind == 'f';
    for (int64_t i = 0; i < r->each; i++) {
        const char *x = r->at + (a * r->each + i) * bytes, *y = r->at + (b * r->each + i) * bytes;
        double f = real ? dync__load_f64(x, r->dtype) : 0,
               g = real ? dync__load_f64(y, r->dtype) : 0;
        int64_t m = real ? 0 : dync__load_i64(x, r->dtype),
                n = real ? 0 : dync__load_i64(y, r->dtype);
        if (f != g) return f < g ? -1 : 1;
        if (m != n) return m < n ? -1 : 1;
    }
    return 0;
}

/* The places of the rows as they stand sorted, equal ones in their order: merges of runs of 1, 2,
 * 4, ... Both have room for n; the result is one of them. */
static int64_t *dync__oi_sort_rows(const dync__oi_rows *r, int64_t *a, int64_t *b)
{
    for (int64_t i = 0; i < r->n; i++) a[i] = i;
    for (int64_t run = 1; run < r->n; run *= 2) {
        for (int64_t from = 0; from < r->n; from += 2 * run) {
            int64_t middle = DYNC__MIN(from + run, r->n), end = DYNC__MIN(from + 2 * run, r->n);
            for (int64_t i = from, j = middle, k = from; k < end; k++) {
                bool left = j >= end || (i < middle && dync__oi_compare_rows(r, a[i], a[j]) <= 0);
                b[k] = left ? a[i++] : a[j++];
            }
        }
        int64_t *t = a;
        a = b, b = t;
    }
    return a;
}

/* What Unique is made of: by place in the sorted order, the row there, and does a group begin. */
typedef struct dync__oi_groups {
    dync_tensor *row, *begins;
} dync__oi_groups;

/* By the data, which are read: a trace is cut. rows [n, each] */
static dync_status dync__oi_groups_read(dync_tensor *rows, dync__oi_groups *g)
{
    rows = dync_contiguous(rows);
    void *data = rows ? dync_data(rows) : NULL;
    int64_t n = rows ? dync__oi_size(rows, 0) : 0, *room;
    if (!rows || dync_error() != DYNC_OK) return dync_error();
    if (!(room = dync__scope_alloc((size_t)(2 * n + 1) * sizeof *room))) return DYNC_ERR_MEMORY;
    dync__oi_rows r = {data, n, dync__oi_size(rows, 1), dync__oi_type(rows)};
    int64_t *at = dync__oi_sort_rows(&r, room, room + n), *begins = at == room ? room + n : room;
    g->row = dync__oi_tensor_i(DYNC_I64, 1, &n, at);
    for (int64_t i = 0; i < n; i++) begins[i] = !i || dync__oi_compare_rows(&r, at[i - 1], at[i]);
    g->begins = dync__oi_tensor_i(DYNC_BOOL, 1, &n, begins);
    return g->row && g->begins ? DYNC_OK : dync_error();
}

/* By operators: sorts of the columns from the last to the first, each keeps the order of equals.
 * rows [n, each], each a number; n at least 1 */
static dync_status dync__oi_groups_sorted(dync_tensor *rows, int64_t each, dync__oi_groups *g)
{
    int64_t n = dync__oi_extent(rows, 0), less = dync__sz_sub(n, 1);
    g->row = NULL;
    for (int64_t k = each - 1; k >= 0; k--) {
        dync_tensor *column = dync_select(rows, 1, k);
        if (g->row) column = dync_index_select(column, 0, g->row);
        dync_tensor *at = column ? dync_as_tensor(dync_at(dync_sort(column, 0, false), 1)) : NULL;
        g->row = g->row && at ? dync_index_select(g->row, 0, at) : at;
        if (!g->row) return dync_error();
    }
    rows = dync_index_select(rows, 0, g->row);
    dync_tensor *differ =
        dync_ne(dync__oi_narrow(rows, 0, 1, less), dync__oi_narrow(rows, 0, 0, less));
    differ = differ ? dync_any(differ, dync_shape(1), false) : NULL;
    dync_tensor *part[2] = {dync__oi_full(dync_shape(1), 1, DYNC_BOOL), differ};
    g->begins = differ ? dync__oi_list(2, part, 0, false) : NULL;
    return g->begins ? DYNC_OK : dync_error();
}

/* Outputs Y, indices, inverse_indices, counts, of x along axis. */
static dync_status dync__oi_unique_out(dync__onnx_call *c, dync_tensor *x, int axis,
                                       const dync__oi_groups *g)
{
    dync_tensor *at = dync_nonzero(g->begins), *order = NULL, *which, *first, *count;
    at = at ? dync_select(at, 1, 0) : NULL;
    first = at ? dync_index_select(g->row, 0, at) : NULL;
    which = dync_sub(dync_cumsum(dync_to_dtype(g->begins, DYNC_I64), 0), 1);
    if (!first || !which) return dync_error();
    which = dync_scatter(dync_zeros_like(g->row), 0, g->row, which);
    if (!dync__oi_int(c, "sorted")) { /* the groups by their first rows */
        dync_value by = dync_sort(first, 0, false);
        first = dync_as_tensor(dync_at(by, 0));
        order = dync_as_tensor(dync_at(by, 1));
        if (!first || !order) return dync_error();
        which = dync_index_select(dync_argsort(order, 0, false), 0, which);
    }
    DYNC__TRY(dync__oi_out_typed(c, 0, dync_index_select(x, axis, first), dync__oi_in_type(c, 0)));
    DYNC__TRY(dync__oi_out_typed(c, 1, first, DYNC__ONNX_INT64));
    DYNC__TRY(dync__oi_out_typed(c, 2, which, DYNC__ONNX_INT64));
    if (c->n_out < 4) return DYNC_OK;
    count = dync_index_add(dync_zeros_like(first), 0, which, dync_ones_like(which));
    return dync__oi_out_typed(c, 3, count, DYNC__ONNX_INT64);
}

DYNC__FN dync_status dync__oi_unique(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *rows;
    dync__oi_groups g = {NULL, NULL};
    int axis = 0;
    int64_t each = 1;
    if (!dync__oi_has(c, "axis"))
        x = dync_flatten(x, 0, -1);
    else if (!dync__oi_axis(c, dync__oi_int(c, "axis"), dync__oi_rank(x), &axis))
        return dync_error();
    rows = dync_movedim(x, dync_shape(axis), dync_shape(0));
    if (!rows) return dync_error();
    dync_dims d = dync__oi_sizes(rows);
    for (int i = 1; i < d.n; i++) each = dync__sz_mul(each, d.d[i]);
    rows = dync_reshape(rows, dync_shape(d.d[0], each));
    if (!rows) return dync_error();
    bool plain = !dync__is_token(each) && each > 0 && each <= DYNC__OI_COLUMNS && d.d[0] != 0;
    DYNC__TRY(plain ? dync__oi_groups_sorted(rows, each, &g) : dync__oi_groups_read(rows, &g));
    return dync__oi_unique_out(c, x, axis, &g);
}
