/* onnx/map_index.c: ONNX operators that read and write by index. After map_shape.c.
 *
 * An index below 0 counts from the end (dync__oi_index). d: the sizes of the data, at: those of the
 * index; both may be symbolic. */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

static bool dync__oi_from_front(const dync__onnx_call *c)
{
    for (int i = 0; i < c->node->metadata_props.n; i++)
        if (strcmp(c->node->metadata_props.at[i]->key, DYNC__ONNX_FROM_FRONT) == 0) return true;
    return false;
}

DYNC__FN dync_tensor *dync__oi_index(const dync__onnx_call *c, dync_tensor *index, int64_t size)
{
    if (!index) return NULL;
    index = dync_to_dtype(index, DYNC_I64);
    if (dync__oi_from_front(c)) return index;
    return index ? dync_where(dync_lt(index, 0), dync_add(index, dync__value_of_size(size)), index)
                 : NULL;
}

/* Elements of dims from .. to - 1; 1 of none. */
static int64_t dync__oi_product(dync_dims d, int from, int to)
{
    int64_t n = 1;
    for (int i = from; i < to; i++) n = dync__sz_mul(n, d.d[i]);
    return n;
}

/* An index of one number that is known: a view. */
static bool dync__oi_one_place(const dync__onnx_call *c, dync_tensor *index, int64_t *out)
{
    const dync__tensor *t = dync__peek(index);
    return t && t->lay.ndim == 0 && !(t->flags & DYNC__T_FAKE) &&
           dync__oi_read_sizes(c, index, 1, out) == 1 && !dync__is_token(*out);
}

/* Output 0: slices of x along axis, by an index of any shape, which takes the place of that dim. By
 * an index [4, 6] along axis 1 of [2, 5, 3] it is [2, 4, 6, 3]. */
DYNC__FN dync_status dync__oi_gathered(dync__onnx_call *c, dync_tensor *x, dync_tensor *index,
                                       int axis)
{
    dync_dims d = dync__oi_sizes(x), at = dync__oi_sizes(index), out = {0, {0}};
    if (d.n + at.n - 1 > DYNC_MAX_DIMS)
        return dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "more than %d dimensions", DYNC_MAX_DIMS);
    int64_t place;
    if (dync__oi_one_place(c, index, &place))
        return dync__oi_out(c, 0, dync_select(x, axis, place));
    if (dync_error()) return dync_error();
    index = dync__oi_shaped(dync__oi_index(c, index, d.d[axis]),
                            dync_shape(dync__oi_product(at, 0, at.n)));
    dync_tensor *y = index ? dync_index_select(x, axis, index) : NULL;
    for (int i = 0; i < axis; i++) out.d[out.n++] = d.d[i];
    for (int i = 0; i < at.n; i++) out.d[out.n++] = at.d[i];
    for (int i = axis + 1; i < d.n; i++) out.d[out.n++] = d.d[i];
    return dync__oi_out(c, 0, dync__oi_shaped(y, out));
}

DYNC__FN dync_status dync__oi_gather(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    int axis;
    if (!dync__oi_axis(c, dync__oi_int(c, "axis"), dync__oi_rank(x), &axis)) return dync_error();
    return dync__oi_gathered(c, x, dync__oi_in(c, 1), axis);
}

/* y[i][j][k] = x[index[i][j][k]][j][k] for axis 0: the index has the shape of the result. */
DYNC__FN dync_status dync__oi_gather_elements(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *index;
    int axis;
    if (!dync__oi_axis(c, dync__oi_int(c, "axis"), dync__oi_rank(x), &axis)) return dync_error();
    index = dync__oi_index(c, dync__oi_in(c, 1), dync__oi_extent(x, axis));
    return dync__oi_out(c, 0, index ? dync_gather(x, axis, index) : NULL);
}

/* index [..., k] over dims from `first` on as one number a row, flat and row major: the index 1 2
 * of dims 3 4 is 1 * 4 + 2. NULL + error. */
static dync_tensor *dync__oi_flat_index(const dync__onnx_call *c, dync_tensor *index, dync_dims d,
                                        int first)
{
    int rank = dync__oi_rank(index), k = (int)dync__oi_size(index, rank - 1);
    dync_tensor *flat = NULL;
    for (int i = 0; i < k; i++) {
        dync_tensor *one = dync__oi_index(c, dync_select(index, rank - 1, i), d.d[first + i]);
        flat = flat ? dync_add(dync_mul(flat, dync__value_of_size(d.d[first + i])), one) : one;
    }
    if (!flat) return NULL;
    return dync_reshape(flat, dync_shape(dync__oi_product(dync__oi_sizes(flat), 0, rank - 1)));
}

/* The last dim of the index, of k numbers, names a slice of x behind the first batch_dims dims,
 * which both have. x is a table of [batches * rows, rest], in which batch i begins at row i * rows.
 */
DYNC__FN dync_status dync__oi_gather_nd(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *index = dync__oi_in(c, 1);
    dync_dims d = dync__oi_sizes(x), at = dync__oi_sizes(index), out = {0, {0}};
    int b = (int)dync__oi_int(c, "batch_dims");
    if (at.n > 0) at.d[at.n - 1] = dync__oi_number(at.d[at.n - 1]);
    if (at.n < 1 || b < 0 || b >= at.n || b > d.n || at.d[at.n - 1] < 1 || at.d[at.n - 1] > d.n - b)
        return dync__oi_fail(c, DYNC_ERR_SHAPE, "the indices do not fit the data");
    int k = (int)at.d[at.n - 1];
    int64_t batches = dync__oi_product(d, 0, b), rows = dync__oi_product(d, b, b + k),
            rest = dync__oi_product(d, b + k, d.n);
    dync_tensor *flat = dync__oi_flat_index(c, index, d, b);
    if (flat && b) {
        int64_t each = dync__oi_product(at, b, at.n - 1);
        dync_tensor *from = dync_unsqueeze(dync__oi_arange(0, batches, rows, DYNC_I64), 1);
        flat = dync_add(dync_reshape(flat, dync_shape(batches, each)), from);
        if (flat) flat = dync_reshape(flat, dync_shape(dync__sz_mul(batches, each)));
    }
    dync_dims table = dync_shape(dync__sz_mul(batches, rows), rest);
    dync_tensor *y = flat ? dync_index_select(dync_reshape(x, table), 0, flat) : NULL;
    for (int i = 0; i < at.n - 1; i++) out.d[out.n++] = at.d[i];
    for (int i = b + k; i < d.n && out.n < DYNC_MAX_DIMS; i++) out.d[out.n++] = d.d[i];
    return dync__oi_out(c, 0, y ? dync_reshape(y, out) : NULL);
}

/* ---- writing --------------------------------------------------------------------------------- */

enum { DYNC__OI_IN_A_ROW = 8 };

/* x where updates meet at the index's places along axis: slices of the index along it have no place
 * twice, so they are written one after another. For a few. */
static dync_tensor *dync__oi_scatter_in_a_row(dync_tensor *x, dync_tensor *index,
                                              dync_tensor *updates, int axis,
                                              dync_tensor *(*join)(dync_tensor *, dync_tensor *))
{
    int64_t n = dync__oi_extent(index, axis);
    for (int64_t i = 0; i < n && x; i++) {
        dync_tensor *at = dync__oi_narrow(index, axis, i, 1),
                    *u = dync__oi_narrow(updates, axis, i, 1);
        dync_tensor *now = join(dync_gather(x, axis, at), u);
        x = now ? dync_scatter(x, axis, at, now) : NULL;
    }
    return x;
}

static dync_tensor *dync__oi_in_order(dync_tensor **with, dync_tensor *of, int axis, bool down)
{
    dync_tensor *order = dync_argsort(of, axis, down);
    if (order) *with = dync_gather(*with, axis, order);
    return order ? dync_gather(of, axis, order) : NULL;
}

/* Any number of updates, of which the greatest (or the least) counts: in order of value, then of
 * place, the last one of each place is the one. The others go to one more place behind x. */
static dync_tensor *dync__oi_scatter_greatest(dync_tensor *x, dync_tensor *index,
                                              dync_tensor *updates, int axis, bool least)
{
    int64_t rows = dync__oi_extent(x, axis), n = dync__oi_extent(index, axis);
    bool negate = least && dync__oi_is_float(x); /* NaN is the last one either way */
    if (negate) updates = dync_neg(updates);
    updates = updates ? dync__oi_in_order(&index, updates, axis, least && !negate) : NULL;
    index = updates && index ? dync__oi_in_order(&updates, index, axis, false) : NULL;
    if (negate) updates = dync_neg(updates);
    if (!index || !updates) return NULL;
    dync_tensor *part[2] = {dync__oi_narrow(index, axis, 1, dync__sz_sub(n, 1)),
                            dync__oi_narrow(index, axis, 0, dync__sz_sub(n, 1))};
    dync_tensor *ends = dync_logical_not(dync_eq(part[0], part[1])), *all[2] = {ends, NULL};
    dync_dims last = dync__oi_sizes(index);
    last.d[axis] = 1;
    all[1] = dync__oi_full(last, 1, DYNC_BOOL);
    ends = dync__oi_list(2, all, axis, false);
    dync_tensor *place = dync_where(ends, index, dync__value_of_size(rows));
    dync_tensor *now = dync_gather(x, axis, index), *more[2] = {x, dync__oi_narrow(x, axis, 0, 1)};
    now = least ? dync_minimum(now, updates) : dync_maximum(now, updates);
    dync_tensor *wide = place && now ? dync__oi_list(2, more, axis, false) : NULL;
    wide = wide ? dync_scatter(wide, axis, place, now) : NULL;
    return wide ? dync__oi_narrow(wide, axis, 0, rows) : NULL;
}

static dync_tensor *dync__oi_join_mul(dync_tensor *a, dync_tensor *b) { return dync_mul(a, b); }
static dync_tensor *dync__oi_join_min(dync_tensor *a, dync_tensor *b) { return dync_minimum(a, b); }
static dync_tensor *dync__oi_join_max(dync_tensor *a, dync_tensor *b) { return dync_maximum(a, b); }

/* One round of dync__oi_scatter_products: user is the axis; args are x, then the index and the
 * update, which have no such dim. */
static dync_value dync__oi_scatter_round(const dync_value *args, int nargs, void *user)
{
    int axis = *(const int *)user;
    dync_tensor *x = dync_as_tensor(dync_at(args[0], 0)),
                *at = dync_unsqueeze(dync_as_tensor(dync_at(args[1], 0)), axis),
                *u = dync_unsqueeze(dync_as_tensor(dync_at(args[1], 1)), axis);
    (void)nargs;
    u = at && u ? dync_mul(dync_gather(x, axis, at), u) : NULL;
    x = u ? dync_scatter(x, axis, at, u) : NULL;
    dync_value both = dync__list_new(2), next = dync__list_new(1);
    if (!x || both.kind != DYNC_KIND_LIST || next.kind != DYNC_KIND_LIST) return DYNC_NONE;
    dync__list_set(next, 0, dync_v_tensor(x));
    dync__list_set(both, 0, next);
    dync__list_set(both, 1, dync__list_new(0));
    return both;
}

/* Any number of products, in order: rounds of one operator. */
static dync_tensor *dync__oi_scatter_products(dync_tensor *x, dync_tensor *index,
                                              dync_tensor *updates, int axis)
{
    dync_callee round = dync_fnv(dync__oi_scatter_round);
    dync_value init = dync__list_new(1), xs = dync__list_new(2);
    round.user = &axis;
    index = dync_movedim(index, dync_shape(axis), dync_shape(0));
    updates = dync_movedim(updates, dync_shape(axis), dync_shape(0));
    if (!index || !updates || init.kind != DYNC_KIND_LIST || xs.kind != DYNC_KIND_LIST) return NULL;
    dync__list_set(init, 0, dync_v_tensor(x));
    dync__list_set(xs, 0, dync_v_tensor(index));
    dync__list_set(xs, 1, dync_v_tensor(updates));
    dync_value r = dync_scan_values(round, init, xs, false, dync__tls.at);
    return dync_len(r) == 2 ? dync_as_tensor(dync_at(dync_at(r, 0), 0)) : NULL;
}

static dync_tensor *dync__oi_scatter_with(const dync__onnx_call *c, dync_tensor *x,
                                          dync_tensor *index, dync_tensor *updates, int axis)
{
    bool mul = dync__oi_is(c, "reduction", "mul"), low = dync__oi_is(c, "reduction", "min");
    int64_t n = dync__oi_extent(index, axis);
    if (!dync__is_token(n) && n <= DYNC__OI_IN_A_ROW)
        return dync__oi_scatter_in_a_row(x, index, updates, axis,
                                         mul   ? dync__oi_join_mul
                                         : low ? dync__oi_join_min
                                               : dync__oi_join_max);
    return mul ? dync__oi_scatter_products(x, index, updates, axis)
               : dync__oi_scatter_greatest(x, index, updates, axis, low);
}

/* Scatter with the node's `reduction`. x, index, updates have one rank; without a reduction an
 * index that is there twice has no defined winner in ONNX. index and updates may be NULL. */
static dync_tensor *dync__oi_scattered(const dync__onnx_call *c, dync_tensor *x, dync_tensor *index,
                                       dync_tensor *updates, int axis)
{
    if (!index || !updates) return NULL;
    if (!dync__oi_has(c, "reduction") || dync__oi_is(c, "reduction", "none"))
        return dync_scatter(x, axis, index, updates);
    if (dync__oi_is(c, "reduction", "add")) return dync_scatter_add(x, axis, index, updates);
    return dync__oi_scatter_with(c, x, index, updates, axis);
}

DYNC__FN dync_status dync__oi_scatter_elements(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    int axis;
    if (!dync__oi_axis(c, dync__oi_int(c, "axis"), dync__oi_rank(x), &axis)) return dync_error();
    dync_tensor *index = dync__oi_index(c, dync__oi_in(c, 1), dync__oi_extent(x, axis));
    return dync__oi_out(c, 0, dync__oi_scattered(c, x, index, dync__oi_in(c, 2), axis));
}

/* Each index of k numbers names a slice of x, which a slice of the updates replaces or joins: rows
 * of the table [rows, rest], whose flat index is repeated over the columns. */
DYNC__FN dync_status dync__oi_scatter_nd(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *index = dync__oi_in(c, 1), *u = dync__oi_in(c, 2);
    dync_dims d = dync__oi_sizes(x), at = dync__oi_sizes(index);
    int k = at.n ? (int)dync__oi_number(at.d[at.n - 1]) : 0;
    if (k < 1 || k > d.n) return dync__oi_fail(c, DYNC_ERR_SHAPE, "the indices do not fit");
    int64_t rows = dync__oi_product(d, 0, k), rest = dync__oi_product(d, k, d.n),
            n = dync__oi_product(at, 0, at.n - 1);
    dync_tensor *flat = dync__oi_flat_index(c, index, d, 0);
    if (flat) flat = dync_expand(dync_reshape(flat, dync_shape(n, 1)), dync_shape(n, rest));
    x = dync_reshape(x, dync_shape(rows, rest));
    u = dync_reshape(u, dync_shape(n, rest));
    x = x ? dync__oi_scattered(c, x, flat, u, 0) : NULL;
    return dync__oi_out(c, 0, x ? dync_reshape(x, d) : NULL);
}

/* A cache x [B, .., most, ..] written at a place of each batch: linear, or around its end. Update
 * [B, .., L, ..]; from [B]: the first place along axis, NULL: 0. */
DYNC__FN dync_status dync__oi_tensor_scatter(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *u = dync__oi_in(c, 1), *from = dync__oi_in(c, 2);
    dync_dims d = dync__oi_sizes(u), one = {0, {0}};
    int axis;
    if (!dync__oi_axis(c, dync__oi_int(c, "axis"), d.n, &axis)) return dync_error();
    int64_t size = dync__oi_extent(x, axis);
    dync_tensor *at = dync__oi_arange(0, d.d[axis], 1, DYNC_I64);
    one.n = d.n;
    for (int i = 0; i < d.n; i++) one.d[i] = i == axis ? d.d[axis] : 1;
    at = dync_reshape(at, one);
    if (from) {
        for (int i = 0; i < d.n; i++) one.d[i] = i == 0 ? d.d[0] : 1;
        at = dync_add(at, dync_reshape(dync_to_dtype(from, DYNC_I64), one));
    }
    if (dync__oi_is(c, "mode", "circular")) at = dync_remainder(at, dync__value_of_size(size));
    return dync__oi_out(c, 0, at ? dync_scatter(x, axis, dync_expand(at, d), u) : NULL);
}

/* values: [off, on]. An index out of -depth .. depth - 1 is nowhere: all of its places are off. */
DYNC__FN dync_status dync__oi_one_hot(dync__onnx_call *c)
{
    dync_tensor *index = dync__oi_in(c, 0), *values = dync__oi_in(c, 2);
    dync_dims d = dync__oi_sizes(index), one = {0, {0}};
    int64_t depth;
    int axis;
    if (dync__oi_is_data(dync__oi_in(c, 1))) {
        if ((depth = dync__oi_data_number(dync__oi_in(c, 1))) == -1) return dync_error();
    } else if (dync__oi_read_sizes(c, dync__oi_in(c, 1), 1, &depth) != 1) {
        return dync_error() ? dync_error() : dync__oi_fail(c, DYNC_ERR_FORMAT, "no depth");
    }
    if (d.n + 1 > DYNC_MAX_DIMS || !dync__oi_axis(c, dync__oi_int(c, "axis"), d.n + 1, &axis))
        return dync_error();
    one.n = d.n + 1;
    for (int i = 0; i <= d.n; i++) one.d[i] = i == axis ? depth : 1;
    index = dync_unsqueeze(dync__oi_index(c, index, depth), axis);
    dync_tensor *on = dync_eq(index, dync_reshape(dync__oi_arange(0, depth, 1, DYNC_I64), one));
    dync_tensor *y = on ? dync_where(on, dync_select(values, 0, 1), dync_select(values, 0, 0))
                        : NULL;
    return dync__oi_out_typed(c, 0, y, dync__oi_in_type(c, 2));
}

/* ---- what data choose ------------------------------------------------------------------------ */

/* ONNX has the places as [rank, count], dync as [count, rank]; a scalar counts as one dim here. */
DYNC__FN dync_status dync__oi_non_zero(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    if (dync__oi_rank(x) == 0) x = dync_reshape(x, dync_shape(1));
    dync_tensor *y = dync_nonzero(x);
    return dync__oi_out_typed(c, 0, y ? dync_contiguous(dync_t(y)) : NULL, DYNC__ONNX_INT64);
}

/* What a list of bools keeps along an axis, or of all elements in a row. The list may be shorter
 * than the axis: what lies behind it goes. */
DYNC__FN dync_status dync__oi_compress(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *keep = dync__oi_in(c, 1);
    int axis = 0;
    if (!dync__oi_has(c, "axis"))
        x = dync_flatten(x, 0, -1);
    else if (!dync__oi_axis(c, dync__oi_int(c, "axis"), dync__oi_rank(x), &axis))
        return dync_error();
    dync_tensor *at = dync_nonzero(keep);
    at = at ? dync_select(at, 1, 0) : NULL;
    return dync__oi_out(c, 0, at ? dync_index_select(x, axis, at) : NULL);
}

/* The first len[b] elements of batch b along the time axis backwards, the others as they are:
 * element t comes from len - 1 - t where t < len. */
DYNC__FN dync_status dync__oi_reverse_sequence(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *len = dync__oi_in(c, 1);
    dync_dims d = dync__oi_sizes(x), along = d, by = d;
    int64_t time = dync__oi_int(c, "time_axis"), batch = dync__oi_int(c, "batch_axis");
    if (d.n < 2 || time == batch || time < 0 || time > 1 || batch < 0 || batch > 1)
        return dync__oi_fail(c, DYNC_ERR_FORMAT, "axes %lld and %lld", (long long)time,
                             (long long)batch);
    for (int i = 0; i < d.n; i++) {
        along.d[i] = i == time ? d.d[i] : 1;
        by.d[i] = i == batch ? d.d[i] : 1;
    }
    dync_tensor *t = dync_reshape(dync__oi_arange(0, d.d[time], 1, DYNC_I64), along);
    len = dync_reshape(dync_to_dtype(len, DYNC_I64), by);
    dync_tensor *at = dync_where(dync_lt(t, len), dync_sub(dync_sub(len, 1), t), t);
    return dync__oi_out(c, 0, at ? dync_gather(x, (int)time, dync_expand(at, d)) : NULL);
}
