/* onnx/map_reduce.c: ONNX's reductions. After map_point.c.
 *
 * One function serves all Reduce* operators; which one it is stands in detail of the row. Results
 * have the type of the input: integers whose mean, root or logarithm is asked for go by way of f64.
 */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

/* The axes of a node in 0 .. rank - 1, each once. Operators had them as an attribute before they
 * became input `input` (Reduce*: opset 18, ReduceSum 13); an input below 0 is never there. */
DYNC__FN bool dync__oi_axes(const dync__onnx_call *c, int input, int rank, dync_dims *out)
{
    const int64_t *axes;
    out->n = 0;
    if (dync__oi_has(c, "axes")) {
        out->n = dync__oi_ints(c, "axes", &axes);
        if (out->n > DYNC_MAX_DIMS) {
            dync__oi_fail(c, DYNC_ERR_FORMAT, "%d axes", out->n);
            return false;
        }
        for (int i = 0; i < out->n; i++) out->d[i] = axes[i];
    } else if (dync__oi_in(c, input) && !dync__oi_dims(c, dync__oi_in(c, input), out)) {
        return false;
    }
    for (int i = 0; i < out->n; i++) {
        int axis;
        if (!dync__oi_axis(c, out->d[i], rank, &axis)) return false;
        out->d[i] = axis;
        for (int k = 0; k < i; k++)
            if (out->d[k] == axis) {
                dync__oi_fail(c, DYNC_ERR_FORMAT, "axis %d twice", axis);
                return false;
            }
    }
    return true;
}

/* The least (high: the greatest) number of the integer type of input 0; false: recorded. */
static bool dync__oi_end_of(const dync__onnx_call *c, bool high, int64_t *out)
{
    int type = dync__oi_in_type(c, 0), dtype = dync__oi_type(dync__oi_in(c, 0));
    bool is_signed = dtype != DYNC_U8 && dtype != DYNC_BOOL;
    int bits = dync__onnx_held_bits(type, &is_signed);
    if (!bits) bits = dtype == DYNC_BOOL ? 1 : 8 * dync__dtype_info(dtype)->bytes;
    if (type == DYNC__ONNX_UINT64 && high) {
        dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "the greatest number of uint64");
        return false;
    }
    int64_t half = bits == 64 ? INT64_MAX : (INT64_C(1) << (bits - 1)) - 1; /* of signed ones */
    *out = !is_signed || type == DYNC__ONNX_UINT64 ? high ? 2 * half + 1 : 0
           : high                                  ? half
                                                   : -half - 1;
    return true;
}

/* What reducing nothing gives, in the shape of the result: the neutral element of the operation. 0
 * for sums and norms, 1 for products, log 0 = -inf, 0 / 0 for the mean; the max and min of floats
 * are -inf and inf, of integers the ends of their type. */
static dync_tensor *dync__oi_reduce_empty(const dync__onnx_call *c, dync_tensor *x, dync_dims axes,
                                          bool keep)
{
    dync_dims in = dync__oi_sizes(x), out = {0, {0}};
    int dtype = dync__oi_type(x);
    bool real = dync__oi_is_float(x), whole = false;
    double value = 0;
    int64_t end = 0;
    switch (c->row->detail) {
    case DYNC__OI_PROD: value = 1; break;
    case DYNC__OI_MAX:
    case DYNC__OI_MIN: {
        bool high = c->row->detail == DYNC__OI_MIN;
        if (!real && !dync__oi_end_of(c, high, &end)) return NULL;
        value = high ? (double)INFINITY : -(double)INFINITY;
        whole = !real;
        break;
    }
    case DYNC__OI_LOG_SUM:
    case DYNC__OI_LOG_SUM_EXP: value = -(double)INFINITY; break;
    case DYNC__OI_MEAN: value = (double)NAN; break;
    default: break;
    }
    for (int i = 0; i < in.n; i++) {
        bool reduced = axes.n == 0;
        for (int k = 0; k < axes.n; k++) reduced = reduced || axes.d[k] == i;
        if (!reduced)
            out.d[out.n++] = in.d[i];
        else if (keep)
            out.d[out.n++] = 1;
    }
    if (!whole) return dync__oi_full(out, value, dtype);
    dync_tensor *one = dync__oi_tensor_i(dtype, 0, NULL, &end);
    return one ? dync_expand(one, out) : NULL;
}

/* x reduced over axes (n 0: none; DYNC_ALL: all), `keep` leaves dims of size 1:
 *   ReduceL1 sum |x|     ReduceL2 sqrt sum x^2     ReduceSumSquare sum x^2 (the default)
 *   ReduceLogSum log sum x                         ReduceLogSumExp log sum exp x */
static dync_tensor *dync__oi_reduced(const dync__onnx_call *c, dync_tensor *x, dync_dims axes,
                                     bool keep)
{
    int dtype = dync__oi_type(x);
    bool by_real = c->row->detail == DYNC__OI_MEAN || c->row->detail == DYNC__OI_L2 ||
                   c->row->detail == DYNC__OI_LOG_SUM || c->row->detail == DYNC__OI_LOG_SUM_EXP;
    dync_tensor *wide = x;
    if (by_real && !dync__oi_is_float(x) && dtype != DYNC_BOOL) wide = dync_to_dtype(x, DYNC_F64);
    switch (c->row->detail) {
    case DYNC__OI_SUM: return dync_sum(x, axes, keep);
    case DYNC__OI_MEAN: return dync_mean(wide, axes, keep);
    case DYNC__OI_MAX:
        return dtype == DYNC_BOOL ? dync_any(x, axes, keep) : dync_amax(x, axes, keep);
    case DYNC__OI_MIN:
        return dtype == DYNC_BOOL ? dync_all(x, axes, keep) : dync_amin(x, axes, keep);
    case DYNC__OI_PROD: return dync_prod(x, axes, keep);
    case DYNC__OI_L1: return dync_sum(dync_abs(x), axes, keep);
    case DYNC__OI_L2: return dync_sqrt(dync_sum(dync_mul(wide, wide), axes, keep));
    case DYNC__OI_LOG_SUM: return dync_log(dync_sum(wide, axes, keep));
    case DYNC__OI_LOG_SUM_EXP: return dync_logsumexp(wide, axes, keep);
    default: return dync_sum(dync_mul(x, x), axes, keep);
    }
}

/* No axes are all of them, unless noop_with_empty_axes says none: then the function of one element
 * is still applied (a sum of squares squares). */
DYNC__FN dync_status dync__oi_reduce(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *y;
    dync_dims axes, all = DYNC_ALL, shape = dync__oi_sizes(x);
    bool keep = dync__oi_int(c, "keepdims") != 0, empty = false;
    int dtype = dync__oi_type(x);
    if (!dync__oi_axes(c, 1, shape.n, &axes)) return dync_error();
    if (axes.n == 0 && dync__oi_int(c, "noop_with_empty_axes")) {
        /* no axis, but what is done to an element stays */
        axes.n = 0;
        y = c->row->detail == DYNC__OI_L1           ? dync_abs(x)
            : c->row->detail == DYNC__OI_L2         ? dync_abs(x)
            : c->row->detail == DYNC__OI_SUM_SQUARE ? dync_mul(x, x)
            : c->row->detail == DYNC__OI_LOG_SUM    ? dync_log(x)
                                                    : x;
        return dync__oi_out(c, 0, y);
    }
    for (int i = 0; i < shape.n; i++) empty = empty || shape.d[i] == 0;
    y = empty ? dync__oi_reduce_empty(c, x, axes, keep)
              : dync__oi_reduced(c, x, axes.n && axes.n < shape.n ? axes : all, keep);
    return dync__oi_out(c, 0, y ? dync_to_dtype(y, (dync_dtype)dtype) : NULL);
}

/* The place of the largest or smallest element, the first of equal ones. select_last_index: the
 * last one, which is the first of the flipped tensor: its place there counts from the end. */
DYNC__FN dync_status dync__oi_arg(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *y;
    bool keep = dync__oi_int(c, "keepdims") != 0, last = dync__oi_int(c, "select_last_index") != 0;
    int axis;
    if (!dync__oi_axis(c, dync__oi_int(c, "axis"), dync__oi_rank(x), &axis)) return dync_error();
    if (last) x = dync_flip(x, dync_shape(axis));
    y = c->row->detail == DYNC__OI_MAX ? dync_argmax(x, axis, keep) : dync_argmin(x, axis, keep);
    if (last && y) y = dync_sub(dync__oi_size(x, axis) - 1, y);
    return dync__oi_out_typed(c, 0, y, DYNC__ONNX_INT64);
}

/* Running sums or products along the axis of input 1. exclusive: of what stands before each
 * element, so the input moves by one place behind the neutral element; reverse: from the end.
 *   x 1 2 3 4: 1 3 6 10; exclusive 0 1 3 6; reverse 10 9 7 4; both 9 7 4 0 */
DYNC__FN dync_status dync__oi_cumulate(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *y = NULL;
    int64_t given;
    int axis, dtype = dync__oi_type(x);
    bool product = c->row->detail == DYNC__OI_PROD, reverse = dync__oi_int(c, "reverse") != 0;
    if (dync__oi_read(c, dync__oi_in(c, 1), 1, &given) < 0 ||
        !dync__oi_axis(c, given, dync__oi_rank(x), &axis))
        return dync_error();
    bool exclusive = dync__oi_int(c, "exclusive") != 0;
    int64_t n = product ? dync__oi_size(x, axis) : dync__oi_extent(x, axis);
    if (reverse) x = dync_flip(x, dync_shape(axis));
    if (exclusive && dync__sz_lt(0, n) && x) {
        dync_tensor *part[2] = {dync__oi_narrow(x, axis, 0, 1),
                                dync__oi_narrow(x, axis, 0, dync__sz_sub(n, 1))};
        part[0] = product ? dync_ones_like(part[0]) : dync_zeros_like(part[0]);
        x = dync__oi_list(2, part, axis, false);
    }
    if (!product) { /* of smaller integers in int64, as it sums */
        bool small = !dync__oi_is_float(x) && dtype != DYNC_I64;
        if (small) x = dync_to_dtype(x, DYNC_I64);
        y = x ? dync_cumsum(x, axis) : NULL;
    } else {
        /* dync has no running product: y[i] holds the product of the last `done` elements up to i
         * (of fewer at the start), and y[i] * y[i - done] that of twice as many: log n rounds. */
        y = x;
        for (int64_t done = 1; done < n && y; done *= 2) {
            dync_tensor *part[2] = {dync__oi_narrow(y, axis, 0, done),
                                    dync_mul(dync__oi_narrow(y, axis, done, n - done),
                                             dync__oi_narrow(y, axis, 0, n - done))};
            y = dync__oi_list(2, part, axis, false);
        }
    }
    if (reverse && y) y = dync_flip(y, dync_shape(axis));
    return dync__oi_out(c, 0, y ? dync_to_dtype(y, (dync_dtype)dtype) : NULL);
}
