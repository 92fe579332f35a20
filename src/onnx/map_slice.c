/* onnx/map_slice.c: ONNX operators that take parts, repeat, or count: Slice, Expand, Tile, Range,
 * EyeLike, Trilu, TopK. After map_shape.c; sizes may be symbolic as there. */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

/* Where a slice begins or ends, counted from the front; below -size: -1. Exporters write "as far as
 * it goes" as the largest or least integer: those are no tokens and stop at the size or before 0.
 */
static int64_t dync__oi_slice_edge(int64_t at, int64_t size)
{
    if (!dync__is_token(at) && (at >= DYNC__SZ_MOST || at <= -DYNC__SZ_MOST))
        return at > 0 ? size : -1;
    if (!dync__sz_lt(at, 0)) return at;
    at = dync__sz_add(at, size);
    return dync__sz_lt(at, 0) ? -1 : at;
}

/* A negative step goes over the flipped tensor: elements from, from + step, .. > to are those of
 * the part that begins behind `to` and ends with `from`, flipped, of which every -step-th is kept.
 * Size 5 from -1 to the least integer by -2: flipped 4 3 2 1 0, of it 4 2 0. */
static dync_tensor *dync__oi_slice_back(dync_tensor *x, int axis, int64_t from, int64_t to,
                                        int64_t step)
{
    int64_t size = dync__oi_extent(x, axis);
    if ((from == -1 || (from >= DYNC__SZ_MOST && !dync__is_token(from))) && to <= -DYNC__SZ_MOST &&
        step > -DYNC__SZ_MOST) { /* all of it */
        x = dync_flip(x, dync_shape(axis));
        return step == -1 || !x ? x : dync_slice(x, axis, 0, size, dync__sz_min(-step, size));
    }
    bool before = from < -1; /* of the first element, it is held there: ONNX's text, not NumPy's */
    from = dync__sz_min(dync__oi_slice_edge(from, size), dync__sz_sub(size, 1));
    if (before) from = dync__sz_max(from, 0);
    to = dync__sz_max(dync__oi_slice_edge(to, size), -1);
    int64_t n = dync__sz_sub(from, to);
    if (before) n = dync__sz_min(n, size);
    if (!dync__sz_lt(0, n)) return dync__oi_narrow(x, axis, 0, 0);
    x = dync__oi_narrow(x, axis, dync__sz_add(to, 1), n);
    if (x) x = dync_flip(x, dync_shape(axis));
    return step == -1 || !x
               ? x
               : dync_slice(x, axis, 0, n, step < -DYNC__SZ_MOST ? n : dync__sz_min(-step, n));
}

/* One axis of a slice: both ends are held in 0 .. size, and the end behind the begin. NULL + error.
 */
static dync_tensor *dync__oi_slice_axis(dync_tensor *x, int axis, int64_t from, int64_t to,
                                        int64_t step)
{
    if (step < 0) return dync__oi_slice_back(x, axis, from, to, step);
    int64_t size = dync__oi_extent(x, axis);
    from = dync__sz_min(dync__sz_max(dync__oi_slice_edge(from, size), 0), size);
    to = dync__sz_min(dync__sz_max(dync__oi_slice_edge(to, size), from), size);
    if (from == 0 && to == size && step == 1) return x;
    return dync_slice(x, axis, from, to, step == 1 ? 1 : dync__sz_min(step, dync__sz_add(size, 1)));
}

/* Where a slice that data bound begins or ends: number i of a vector, counted from the front;
 * known: it is `edge`, a size. */
static dync_value dync__oi_slice_bound(dync_tensor *t, int i, bool known, int64_t edge,
                                       int64_t size)
{
    if (known) return dync__value_of_size(edge);
    t = dync_to_dtype(dync_select(t, 0, i), DYNC_I64);
    return dync_v_tensor(t ? dync_where(dync_lt(t, 0), dync_add(t, dync__value_of_size(size)), t)
                           : NULL);
}

/* One axis of a slice by inputs 1 and 2, number i of each, as data say: NonZero of the places
 * inside it. from, to: the numbers of those that are known. */
static dync_tensor *dync__oi_slice_open(const dync__onnx_call *c, dync_tensor *x, int axis, int i,
                                        int64_t from, int64_t to, int64_t step)
{
    bool known[2] = {!dync__oi_is_open(dync__oi_in(c, 1)), !dync__oi_is_open(dync__oi_in(c, 2))};
    int64_t size = dync__oi_extent(x, axis);
    if (step < 1) {
        dync__oi_fail(c, DYNC_ERR_DATA_PTR, "data bound a slice that goes back");
        return NULL;
    }
    if (known[0]) from = dync__sz_max(dync__oi_slice_edge(from, size), 0);
    if (known[1]) to = dync__oi_slice_edge(to, size);
    dync_tensor *at = dync__oi_arange(0, size, 1, DYNC_I64), *inside;
    dync_value first = dync__oi_slice_bound(dync__oi_in(c, 1), i, known[0], from, size),
               end = dync__oi_slice_bound(dync__oi_in(c, 2), i, known[1], to, size);
    if (!known[0]) first = dync_v_tensor(dync_maximum(first.as.t, 0));
    inside = at ? dync_logical_and(dync_ge(at, first), dync_lt(at, end)) : NULL;
    if (step > 1 && inside)
        inside = dync_logical_and(inside, dync_eq(dync_remainder(dync_sub(at, first), step), 0));
    at = inside ? dync_nonzero(inside) : NULL;
    return at ? dync_index_select(x, axis, dync_select(at, 1, 0)) : NULL;
}

/* Inputs (until opset 9 attributes) starts, ends, axes, steps, one number an axis. Without axes
 * they are the first ones; without steps 1. One axis after another. */
DYNC__FN dync_status dync__oi_slice(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    dync_dims part[4] = {{0, {0}}, {0, {0}}, {0, {0}}, {0, {0}}}; /* starts ends axes steps */
    static const char *const name[] = {"starts", "ends", "axes"};
    bool open = false;
    for (int k = 0; k < 4; k++) {
        const int64_t *at;
        if (c->version < 10 && k < 3) {
            part[k].n = DYNC__MIN(dync__oi_ints(c, name[k], &at), DYNC_MAX_DIMS);
            for (int i = 0; i < part[k].n; i++) part[k].d[i] = at[i];
        } else if (k < 2 && dync__oi_is_open(dync__oi_in(c, 1 + k))) {
            part[k] = (dync_dims){(int)dync__oi_size(dync__oi_in(c, 1 + k), 0), {0}};
            open = true;
        } else if (dync__oi_in(c, 1 + k) &&
                   !dync__oi_read_dims(c, dync__oi_in(c, 1 + k), &part[k])) {
            return dync_error();
        }
    }
    int n = part[0].n;
    if (part[1].n != n || (part[2].n && part[2].n != n) || (part[3].n && part[3].n != n))
        return dync__oi_fail(c, DYNC_ERR_FORMAT, "starts, ends, axes and steps of several lengths");
    for (int i = 0; i < n && x; i++) {
        int axis;
        int64_t step = part[3].n ? dync__oi_number(part[3].d[i]) : 1;
        if (step == 0) return dync__oi_fail(c, DYNC_ERR_FORMAT, "a step of 0");
        if (!dync__oi_axis(c, part[2].n ? dync__oi_number(part[2].d[i]) : i, dync__oi_rank(x),
                           &axis))
            return dync_error();
        x = open ? dync__oi_slice_open(c, x, axis, i, part[0].d[i], part[1].d[i], step)
                 : dync__oi_slice_axis(x, axis, part[0].d[i], part[1].d[i], step);
    }
    return dync__oi_out(c, 0, x);
}

/* To what x and the shape broadcast to: a 1 in the shape keeps x's size. A size that data decide
 * stands where x is 1 or has no dim; elsewhere it is 1 or x's. */
DYNC__FN dync_status dync__oi_expand(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    dync_dims in = dync__oi_sizes(x), to;
    int64_t out[DYNC_MAX_DIMS], told[DYNC_MAX_DIMS] = {0};
    if (!dync__oi_data_dims(c, 1, &to)) return dync_error();
    for (int d = 0; d < to.n; d++) {
        int at = d + in.n - to.n;
        if (!dync__oi_is_data_size(to.d[d])) continue;
        if (at < 0 || dync__sz_eq(in.d[at], 1))
            told[d] = to.d[d];
        else if (!dync__is_token(in.d[at]))
            DYNC__TRY((dync_check)(dync__value_of_size(to.d[d]), 1, in.d[at]));
        to.d[d] = 1;
    }
    int more = DYNC__MAX(in.n - to.n, 0);
    DYNC__TRY(dync__broadcast(in.n, in.d, to.n, to.d, &to.n, out));
    for (int d = 0; d < to.n; d++) to.d[d] = d >= more && told[d - more] ? told[d - more] : out[d];
    return dync__oi_out(c, 0, dync_expand(x, to));
}

DYNC__FN dync_status dync__oi_tile(dync__onnx_call *c)
{
    dync_dims repeats;
    if (!dync__oi_data_dims(c, 1, &repeats)) return dync_error();
    return dync__oi_out(c, 0, dync_repeat(dync__oi_in(c, 0), repeats));
}

/* From w[0] to w[1] by w[2], as there are symbolic sizes among them: ceil(span / step) numbers.
 * DYNC_ERR_DATA_PTR for a step that is none: no graph then, the model is walked. */
static dync_status dync__oi_range_sized(dync__onnx_call *c, const int64_t *w)
{
    int64_t step = dync__oi_number(w[2]), by = step < 0 ? dync__sz_sub(0, step) : step;
    int64_t span = step < 0 ? dync__sz_sub(w[0], w[1]) : dync__sz_sub(w[1], w[0]);
    if (by < 1) return dync__oi_fail(c, DYNC_ERR_DATA_PTR, "a range by a symbolic step");
    if (dync__sz_lt(span, 0)) span = 0;
    int64_t n = dync__sz_div(dync__sz_add(span, by - 1), by);
    dync_tensor *t = dync__oi_arange(w[0], n, step, DYNC_I64);
    int dtype = dync__oi_type(dync__oi_in(c, 0));
    return dync__oi_out(c, 0, t && dtype != DYNC_I64 ? dync_to_dtype(t, (dync_dtype)dtype) : t);
}

/* Integers of a range of which one at least is a symbolic size; false: none is, or there are
 * fractions, or an error was recorded. */
static bool dync__oi_range_is_sized(const dync__onnx_call *c, int64_t *w)
{
    bool sized = false;
    for (int i = 0; i < 3 && dync__tls.syms; i++) {
        dync_tensor *t = dync__oi_in(c, i);
        double x = 0;
        if (dync__oi_type(t) == DYNC_I64 || dync__onnx_whole(t)) {
            if (dync__oi_read_sizes(c, t, 1, &w[i]) != 1) return false;
            sized = sized || dync__is_token(w[i]);
        } else if (dync__oi_read_reals(c, t, 1, &x) != 1 || x != floor(x) || fabs(x) > 1e9) {
            return false;
        } else {
            w[i] = (int64_t)x;
        }
    }
    return sized;
}

/* Is it known, one integer, and n? Sizes stay open. */
static bool dync__oi_range_known(const dync__onnx_call *c, dync_tensor *t, int64_t n)
{
    int64_t w;
    return t && !dync__oi_is_data(t) && dync__dtype_info(dync__oi_type(t))->kind == 'i' &&
           dync_numel(t) == 1 && dync__oi_read_sizes(c, t, 1, &w) == 1 && w == n;
}

/* From 0 on by 1, as many integers as data say: the count as it was before it was given another
 * shape, at least 0, which a maximum has made it already where the writer wrote it. */
static dync_status dync__oi_range_count(dync__onnx_call *c)
{
    dync_tensor *n = dync__oi_in(c, 1);
    const dync__onnx_step *s = dync__onnx_maker(c, 1);
    while (s && s->row && (!strcmp(s->row->name, "Reshape") || !strcmp(s->row->name, "Squeeze"))) {
        int at = s->in[0].up || s->in[0].at < 0 ? -1 : c->frame->body->maker[s->in[0].at];
        n = dync__onnx_value_at(c->frame, s->in[0]).t;
        s = at < 0 ? NULL : &c->frame->body->step[at];
    }
    bool least = s && s->row && strcmp(s->row->name, "Max") == 0 && s->node->input.n == 2 &&
                 dync__oi_range_known(c, dync__onnx_value_at(c->frame, s->in[1]).t, 0);
    if (n && dync__oi_rank(n)) n = dync_reshape(n, DYNC_SCALAR);
    n = n && !least ? dync_maximum(n, 0) : n;
    int64_t size = dync__oi_data_number(n);
    if (size == -1) return dync_error();
    dync_tensor *y = dync__oi_arange(0, size, 1, DYNC_I64);
    int dtype = dync__oi_type(dync__oi_in(c, 0));
    return dync__oi_out(c, 0, y && dtype != DYNC_I64 ? dync_to_dtype(y, (dync_dtype)dtype) : y);
}

/* max(ceil((limit - start) / delta), 0) numbers, as data say: ceil(a / b) is -floor(-a / b). */
static dync_status dync__oi_range_data(dync__onnx_call *c)
{
    dync_dtype dtype = (dync_dtype)dync__oi_type(dync__oi_in(c, 0));
    bool real = dync__dtype_info((int)dtype)->kind == 'f';
    if (!real && dync__oi_range_known(c, dync__oi_in(c, 0), 0) &&
        dync__oi_range_known(c, dync__oi_in(c, 2), 1))
        return dync__oi_range_count(c);
    dync_tensor *v[3], *n, *y;
    for (int i = 0; i < 3; i++) {
        v[i] = dync__oi_in(c, i) ? dync_reshape(dync__oi_in(c, i), DYNC_SCALAR) : NULL;
        v[i] = v[i] ? dync_to_dtype(v[i], real ? DYNC_F64 : DYNC_I64) : NULL;
        if (!v[i]) return dync_error() ? dync_error() : DYNC_ERR_FORMAT;
    }
    n = dync_sub(v[0], v[1]);
    n = dync_neg(real ? dync_floor(dync_div(n, v[2])) : dync_floor_divide(n, v[2]));
    int64_t size = dync__oi_data_number(dync_maximum(n, 0));
    if (size == -1) return dync_error();
    y = dync_to_dtype(dync__oi_arange(0, size, 1, DYNC_I64), real ? dtype : DYNC_I64);
    for (int i = 0; i < 3 && real; i++) v[i] = dync_to_dtype(v[i], dtype);
    y = y ? dync_add(dync_mul(y, v[2]), v[0]) : NULL;
    return dync__oi_out(c, 0, y ? dync_to_dtype(y, dtype) : NULL);
}

/* start, limit, delta of one type: max(ceil((limit - start) / delta), 0) numbers start + i * delta.
 * The count is worked out in doubles, w holds the integers themselves. */
DYNC__FN dync_status dync__oi_range(dync__onnx_call *c)
{
    double v[3];
    int64_t w[3];
    int dtype = dync__oi_type(dync__oi_in(c, 0));
    for (int i = 0; i < 3; i++)
        if (dync__oi_is_data(dync__oi_in(c, i))) return dync__oi_range_data(c);
    if (dync__oi_range_is_sized(c, w)) return dync__oi_range_sized(c, w);
    if (dync_error()) return dync_error();
    for (int i = 0; i < 3; i++)
        if (dync__oi_read_reals(c, dync__oi_in(c, i), 1, &v[i]) != 1 ||
            dync__oi_read(c, dync__oi_in(c, i), 1, &w[i]) != 1)
            return dync_error() ? dync_error() : dync__oi_fail(c, DYNC_ERR_FORMAT, "no number");
    if (v[2] == 0) return dync__oi_fail(c, DYNC_ERR_FORMAT, "a step of 0");
    double n = ceil((v[1] - v[0]) / v[2]);
    if (!(n > 0)) n = 0;
    if (n > 9e15)
        return dync__oi_fail(c, DYNC_ERR_FORMAT, "a range of %g numbers", dync__float_shown(n));
    if (dync__dtype_info(dtype)->kind != 'f')
        return dync__oi_out(c, 0, dync__oi_arange(w[0], (int64_t)n, w[2], dtype));
    dync_tensor *t = dync_to_dtype(dync_arange(0.0, n, 1.0), (dync_dtype)dtype);
    return dync__oi_out(c, 0, t ? dync_add(dync_mul(t, v[2]), v[0]) : NULL);
}

/* 1 where column = row + k: row counts from k. */
DYNC__FN dync_status dync__oi_eye_like(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    int64_t type = dync__oi_has(c, "dtype") ? dync__oi_int(c, "dtype") : dync__oi_in_type(c, 0);
    int dtype = dync__onnx_dtype(type);
    if (dync__oi_rank(x) != 2 || dtype < 0)
        return dync__oi_fail(c, DYNC_ERR_SHAPE, "expected a matrix");
    int64_t rows = dync__oi_extent(x, 0), columns = dync__oi_extent(x, 1), k = dync__oi_int(c, "k");
    dync_tensor *row = dync_unsqueeze(dync__oi_arange(k, rows, 1, DYNC_I64), 1);
    dync_tensor *on = dync_eq(row, dync__oi_arange(0, columns, 1, DYNC_I64));
    return dync__oi_out_typed(c, 0, on ? dync_to_dtype(on, (dync_dtype)dtype) : NULL, (int)type);
}

/* Where column - row is at most (lower) or at least k, which is a size: x, else 0. */
static dync_tensor *dync__oi_trilu_open(dync_tensor *x, int64_t k, bool lower)
{
    int rank = dync__oi_rank(x);
    dync_dims one = {0, {0}};
    dync_tensor *row = dync__oi_arange(k, dync__oi_extent(x, rank - 2), 1, DYNC_I64),
                *column = dync__oi_arange(0, dync__oi_extent(x, rank - 1), 1, DYNC_I64);
    row = row ? dync_unsqueeze(row, 1) : NULL;
    dync_tensor *keep = !row ? NULL : lower ? dync_ge(row, column) : dync_le(row, column);
    return keep ? dync_where(keep, x, dync__oi_full(one, 0, dync__oi_type(x))) : NULL;
}

DYNC__FN dync_status dync__oi_trilu(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    int64_t k = 0;
    if (dync__oi_in(c, 1) && dync__oi_read_sizes(c, dync__oi_in(c, 1), 1, &k) < 0)
        return dync_error();
    if (dync__oi_rank(x) < 2) return dync__oi_fail(c, DYNC_ERR_SHAPE, "expected a matrix");
    if (dync__is_token(k))
        return dync__oi_out(c, 0, dync__oi_trilu_open(x, k, !dync__oi_int(c, "upper")));
    int by = (int)DYNC__MAX(DYNC__MIN(k, INT_MAX / 2), INT_MIN / 2);
    return dync__oi_out(c, 0, dync__oi_int(c, "upper") ? dync_triu(x, by) : dync_tril(x, by));
}

/* The first ones along axis, as many as a number says that data decide. */
static dync_tensor *dync__oi_first_open(dync_tensor *x, int axis, dync_tensor *k)
{
    dync_tensor *at = dync__oi_arange(0, dync__oi_extent(x, axis), 1, DYNC_I64);
    at = at ? dync_nonzero(dync_lt(at, dync_reshape(k, DYNC_SCALAR))) : NULL;
    return at ? dync_index_select(x, axis, dync_select(at, 1, 0)) : NULL;
}

/* The k largest (or smallest) along an axis in order, and their places. k was an attribute until
 * opset 9; it may be symbolic, or decided by data. They are sorted whether `sorted` asks for it or
 * not. */
DYNC__FN dync_status dync__oi_top_k(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    int64_t k = dync__oi_int(c, "k");
    int axis;
    bool open = c->version >= 10 && dync__oi_is_open(dync__oi_in(c, 1));
    if (open) k = 0;
    if (c->version >= 10 && !open && dync__oi_read_sizes(c, dync__oi_in(c, 1), 1, &k) < 0)
        return dync_error();
    if (!dync__oi_axis(c, dync__oi_int(c, "axis"), dync__oi_rank(x), &axis)) return dync_error();
    bool largest = dync__oi_int(c, "largest") != 0;
    if (k < 0 || dync__sz_lt(dync__oi_extent(x, axis), k))
        return dync__oi_fail(c, DYNC_ERR_FORMAT, "the %lld largest of %lld",
                             (long long)dync__oi_number(k), (long long)dync__oi_size(x, axis));
    /* equal elements: the lower index first, as a stable sort has it */
    dync_value both = dync_sort(x, axis, largest);
    if (both.kind != DYNC_KIND_LIST) return dync_error();
    dync_tensor *v = dync_as_tensor(dync_at(both, 0)), *at = dync_as_tensor(dync_at(both, 1));
    if (open) {
        v = dync__oi_first_open(v, axis, dync__oi_in(c, 1));
        at = dync__oi_first_open(at, axis, dync__oi_in(c, 1));
    } else if (k != dync__oi_extent(x, axis)) {
        v = dync__oi_narrow(v, axis, 0, k);
        at = dync__oi_narrow(at, axis, 0, k);
    }
    DYNC__TRY(dync__oi_out(c, 0, v));
    return dync__oi_out_typed(c, 1, at, DYNC__ONNX_INT64);
}
