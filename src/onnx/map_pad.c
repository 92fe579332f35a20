/* onnx/map_pad.c: ONNX operators that add or regroup places: Pad in all its modes, DepthToSpace,
 * SpaceToDepth, CenterCropPad. After map_slice.c; sizes may be symbolic as in map_shape.c. */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

/* ---- padding --------------------------------------------------------------------------------- */

/* Is value 0, and the pads the numbers of one dync_pad, whose pairs go from the last dim on? */
static bool dync__oi_pad_is_zeros(dync_tensor *x, int dim, int64_t before, int64_t after,
                                  double value)
{
    bool zero = !(value < 0) && !(value > 0) && !signbit(value) && value == value;
    return zero && (before || after) && !dync__any_token(before, after) &&
           2 * (dync__oi_rank(x) - dim) <= DYNC_MAX_DIMS;
}
static dync_tensor *dync__oi_pad_zeros(dync_tensor *x, int dim, int64_t before, int64_t after)
{
    dync_dims pad = {2 * (dync__oi_rank(x) - dim), {0}};
    pad.d[pad.n - 2] = before;
    pad.d[pad.n - 1] = after;
    return dync_pad(x, pad, DYNC_NONE);
}

/* x with `before` and `after` elements of `value` around dim; negative ones cut off, and what is
 * cut beyond the other end leaves nothing. before and after are plain, the size may be symbolic. */
DYNC__FN dync_tensor *dync__oi_pad_dim(dync_tensor *x, int dim, int64_t before, int64_t after,
                                       double value)
{
    dync_dims d = dync__oi_sizes(x);
    if (before < 0 || after < 0) {
        int64_t from = before < 0 ? -before : 0,
                to = dync__sz_sub(d.d[dim], after < 0 ? -after : 0);
        x = dync__oi_narrow(x, dim, from, dync__sz_max(dync__sz_sub(to, from), 0));
        before = DYNC__MAX(before, 0);
        after = DYNC__MAX(after, 0);
    }
    if (dync__oi_pad_is_zeros(x, dim, before, after, value))
        return dync__oi_pad_zeros(x, dim, before, after);
    dync_tensor *part[3];
    int n = 0, dtype = dync__oi_type(x);
    for (int side = 0; side < 2; side++) {
        d.d[dim] = side ? after : before;
        if (side) part[n++] = x;
        if (d.d[dim]) part[n++] = dync__oi_full(d, value, dtype);
    }
    return n == 1 ? x : dync__oi_list(n, part, dim, false);
}

/* n places from `from` on, backwards where the mode reflects, or n times the one at `from`. mode as
 * in dync__oi_pad: 'e' edge, 'r' reflect, 'w' wrap. */
static dync_tensor *dync__oi_pad_side(dync_tensor *x, int dim, int64_t from, int64_t n, char mode)
{
    dync_dims d = dync__oi_sizes(x);
    x = dync__oi_narrow(x, dim, from, mode == 'e' ? 1 : n);
    d.d[dim] = n;
    return mode == 'w' || !x ? x : mode == 'e' ? dync_expand(x, d) : dync_flip(x, dync_shape(dim));
}

/* The tensor between what it gives at its sides: none is wider than it is (but for its edge
 * element). a b c d by 2 and 1: reflect c b a b c d c; edge a a a b c d d; wrap c d a b c d a. */
static dync_tensor *dync__oi_pad_sides(dync_tensor *x, int dim, int64_t before, int64_t after,
                                       char mode)
{
    dync_tensor *part[3];
    int64_t size = dync__oi_extent(x, dim);
    int n = 0;
    if (before)
        part[n++] = dync__oi_pad_side(x, dim,
                                      mode == 'r'   ? 1
                                      : mode == 'w' ? dync__sz_sub(size, before)
                                                    : 0,
                                      before, mode);
    part[n++] = x;
    if (after)
        part[n++] = dync__oi_pad_side(x, dim,
                                      mode == 'r'   ? dync__sz_sub(size, after + 1)
                                      : mode == 'e' ? dync__sz_sub(size, 1)
                                                    : 0,
                                      after, mode);
    return dync__oi_list(n, part, dim, false);
}

/* Places of a padded dimension in the original one, by mode, as an index: for pads wider than the
 * tensor, where it is reflected or wrapped again and again. Reflected places go
 * 0 1 .. size - 1 .. 1 with a period of 2 (size - 1). */
static dync_tensor *dync__oi_pad_places(dync_tensor *x, int dim, int64_t before, int64_t after,
                                        char mode)
{
    int64_t size = dync__oi_size(x, dim), n = size + before + after, period = 2 * (size - 1);
    int64_t few[64], *at = n <= 64 ? few : dync__alloc((size_t)n * sizeof *at);
    if (!at || n <= 0 || size <= 0) {
        if (at && at != few) dync__free(at, (size_t)n * sizeof *at);
        return n <= 0 ? dync__oi_narrow(x, dim, 0, 0) : NULL;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t p = i - before;
        if (mode == 'e')
            p = DYNC__MIN(DYNC__MAX(p, 0), size - 1);
        else if (mode == 'w')
            p = ((p % size) + size) % size;
        else if (period == 0)
            p = 0;
        else
            p = ((p % period) + period) % period, p = p < size ? p : period - p;
        at[i] = p;
    }
    dync_tensor *index = dync__oi_tensor_i(DYNC_I64, 1, &n, at);
    if (at != few) dync__free(at, (size_t)n * sizeof *at);
    return index ? dync_index_select(x, dim, index) : NULL;
}

/* Pads that are sizes (what is missing to whole windows, what one picture is larger than another):
 * they may be 0 or negative, so that every element of the result is one of x by its place. */
static dync_tensor *dync__oi_pad_open(dync_tensor *x, int dim, int64_t before, int64_t after,
                                      char mode, double value)
{
    int64_t size = dync__oi_extent(x, dim),
            n = dync__sz_size(dync__sz_add(size, dync__sz_add(before, after))),
            last = dync__sz_sub(size, 1), period = dync__sz_mul(last, 2);
    dync_tensor *at = dync__oi_arange(dync__sz_sub(0, before), n, 1, DYNC_I64), *in = at;
    if (!dync__sz_lt(0, size)) return dync__oi_full(dync__oi_sizes(x), value, dync__oi_type(x));
    if (mode == 'w') at = dync_remainder(at, dync__value_of_size(size));
    if (mode == 'r' && dync__sz_lt(0, period)) {
        at = dync_remainder(at, dync__value_of_size(period));
        at = dync_minimum(at, dync_sub(dync__value_of_size(period), at));
    }
    at = dync_maximum(at, 0);
    at = dync_minimum(at, dync__value_of_size(last));
    dync_tensor *y = at ? dync_index_select(x, dim, at) : NULL;
    if (mode != 'c' || !y) return y;
    dync_dims wide = {dync__oi_rank(x) - dim, {n, 1, 1, 1, 1, 1, 1, 1}}, one = {0, {0}};
    in = dync_logical_and(dync_ge(in, 0), dync_lt(in, dync__value_of_size(size)));
    bool number = dync__oi_is_float(x) && fabs(value) <= DBL_MAX;
    return (dync_where)(dync_reshape(in, wide), dync_v_tensor(y),
                        number ? dync_v_float((dync_real)value)
                               : dync_v_tensor(dync__oi_full(one, value, dync__oi_type(x))));
}

enum { DYNC__OI_PLACES = 1 << 20 }; /* told one by one to a side; more are operators */
/* Axis `dim` by `before` and `after`, which may be sizes. */
static dync_tensor *dync__oi_pad_one(dync_tensor *x, int dim, int64_t before, int64_t after,
                                     char mode, double value)
{
    if (dync__any_token(before, after))
        return dync__oi_pad_open(x, dim, before, after, mode, value);
    if (before == 0 && after == 0) return x;
    if (mode == 'c') return dync__oi_pad_dim(x, dim, before, after, value);
    if (before < 0 || after < 0) { /* what is cut off is not repeated, as ONNX Runtime has it */
        x = dync__oi_pad_dim(x, dim, DYNC__MIN(before, 0), DYNC__MIN(after, 0), 0);
        before = DYNC__MAX(before, 0), after = DYNC__MAX(after, 0);
        if (!x || (before == 0 && after == 0)) return x;
    }
    if (before >= 0 && after >= 0 && dync__sz_lt(DYNC__MAX(before, after), dync__oi_extent(x, dim)))
        return dync__oi_pad_sides(x, dim, before, after, mode);
    if (DYNC__MAX(before, after) > DYNC__OI_PLACES)
        return dync__oi_pad_open(x, dim, before, after, mode, value);
    return dync__oi_pad_places(x, dim, before, after, mode);
}

enum { DYNC__OI_PAD = 1 << 30 }; /* the most to one side, so that sums and periods of places fit */
/* pads: begins of all axes, then ends. Until opset 10 attributes, then inputs pads, value, axes.
 * Axes one after another: the corners come out the same in any order. */
DYNC__FN dync_status dync__oi_pad(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    int rank = dync__oi_rank(x), n;
    int64_t pads[2 * DYNC_MAX_DIMS];
    const int64_t *given;
    double value = dync__oi_float(c, "value");
    dync_dims axes = {0, {0}};
    if (c->version < 11) {
        n = DYNC__MIN(dync__oi_ints(c, "pads", &given), 2 * DYNC_MAX_DIMS);
        if (n) memcpy(pads, given, (size_t)n * sizeof *pads);
    } else {
        n = dync__oi_read_sizes(c, dync__oi_in(c, 1), 2 * DYNC_MAX_DIMS, pads);
        if (n < 0 ||
            (dync__oi_in(c, 2) && dync__oi_read_reals(c, dync__oi_in(c, 2), 1, &value) < 0))
            return dync_error();
        if (dync__oi_in(c, 3) && !dync__oi_axes(c, 3, rank, &axes)) return dync_error();
    }
    int dims = axes.n ? axes.n : rank;
    if (n != 2 * dims) return dync__oi_fail(c, DYNC_ERR_FORMAT, "%d pads for %d dims", n, dims);
    for (int i = 0; i < n; i++)
        if (!dync__is_token(pads[i]) && (pads[i] > DYNC__OI_PAD || pads[i] < -DYNC__OI_PAD))
            return dync__oi_fail(c, DYNC_ERR_SHAPE, "a pad of %lld", (long long)pads[i]);
    char mode = dync__oi_is(c, "mode", "edge")      ? 'e'
                : dync__oi_is(c, "mode", "reflect") ? 'r'
                : dync__oi_is(c, "mode", "wrap")    ? 'w'
                                                    : 'c';
    for (int i = 0; i < dims && x; i++)
        x = dync__oi_pad_one(x, axes.n ? (int)axes.d[i] : i, pads[i], pads[dims + i], mode, value);
    return dync__oi_out(c, 0, x);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* [N, C, H, W] -> [N, C / b^2, H b, W b]. The channel of block row r, block column s and channel c
 * of the result is (r b + s) C / b^2 + c in mode DCR, c b^2 + r b + s in mode CRD (PyTorch's pixel
 * shuffle). */
DYNC__FN dync_status dync__oi_depth_to_space(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    dync_dims d = dync__oi_sizes(x);
    int64_t b = dync__oi_int(c, "blocksize"), channels = dync__oi_number(d.d[1]);
    if (d.n != 4 || b < 1 || channels % b || channels / b % b)
        return dync__oi_fail(c, DYNC_ERR_SHAPE, "expected [N, C, H, W] with C in blocks");
    int64_t deep = channels / (b * b);
    bool crd = dync__oi_is(c, "mode", "CRD");
    x = crd ? dync_reshape(x, dync_shape(d.d[0], deep, b, b, d.d[2], d.d[3]))
            : dync_reshape(x, dync_shape(d.d[0], b, b, deep, d.d[2], d.d[3]));
    x = crd ? dync_permute(x, dync_shape(0, 1, 4, 2, 5, 3))
            : dync_permute(x, dync_shape(0, 3, 4, 1, 5, 2));
    return dync__oi_out(c, 0,
                        dync_reshape(x, dync_shape(d.d[0], deep, dync__sz_mul(d.d[2], b),
                                                   dync__sz_mul(d.d[3], b))));
}

/* The inverse: [N, C, H, W] -> [N, C b^2, H / b, W / b]. */
DYNC__FN dync_status dync__oi_space_to_depth(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    dync_dims d = dync__oi_sizes(x);
    int64_t b = dync__oi_int(c, "blocksize");
    if (d.n != 4 || b < 1 || b > 1 << 20 || !dync__sz_eq(dync__sz_mod(d.d[2], b), 0) ||
        !dync__sz_eq(dync__sz_mod(d.d[3], b), 0))
        return dync__oi_fail(c, DYNC_ERR_SHAPE, "expected [N, C, H, W] in blocks");
    int64_t h = dync__sz_div(d.d[2], b), w = dync__sz_div(d.d[3], b);
    x = dync_reshape(x, dync_shape(d.d[0], d.d[1], h, b, w, b));
    x = dync__oi_is(c, "mode", "CRD") ? dync_permute(x, dync_shape(0, 1, 3, 5, 2, 4))
                                      : dync_permute(x, dync_shape(0, 3, 5, 1, 2, 4));
    return dync__oi_out(c, 0,
                        dync_reshape(x, dync_shape(d.d[0], dync__sz_mul(d.d[1], b * b), h, w)));
}

/* Cut or padded with zeros around the centre; the odd element is cut or added at the end. */
DYNC__FN dync_status dync__oi_center(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    dync_dims to, axes;
    if (!dync__oi_read_dims(c, dync__oi_in(c, 1), &to) ||
        !dync__oi_axes(c, -1, dync__oi_rank(x), &axes))
        return dync_error();
    for (int i = 0; i < to.n && x; i++) {
        int dim = axes.n ? (int)axes.d[i] : i;
        if (dync__sz_lt(to.d[i], 0)) return dync__oi_fail(c, DYNC_ERR_SHAPE, "a size below 0");
        int64_t more = dync__sz_sub(to.d[i], dync__oi_extent(x, dim)), before;
        before = dync__sz_lt(more, 0) ? dync__sz_sub(0, dync__sz_div(dync__sz_sub(0, more), 2))
                                      : dync__sz_div(more, 2);
        x = dync__oi_pad_one(x, dim, before, dync__sz_sub(more, before), 'c', 0);
    }
    return dync__oi_out(c, 0, x);
}
