/* onnx/map_pool.c: ONNX's pools, of any number of spatial dimensions: maximum, mean, norm, over
 * all, and the inverse of the maximum. After map_conv.c, whose windows they have. */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

/* Results along spatial dim i of an input of that size, pads included in w. */
static int64_t dync__oi_pool_size(const dync__oi_window *w, int i, int64_t size)
{
    if (w->out[i] > 0) return w->out[i];
    int64_t reach = (w->kernel[i] - 1) * w->dilation[i] + 1, stride = w->stride[i];
    int64_t room = dync__sz_add(size, w->before[i] + w->after[i] - reach);
    if (dync__sz_lt(room, 0)) return 0;
    if (!w->ceil) return dync__sz_add(dync__sz_div(room, stride), 1);
    int64_t n = dync__sz_add(dync__sz_div(dync__sz_add(room, stride - 1), stride), 1);
    if (w->after[i] + stride <= reach) return n;
    /* a window that begins in the padding behind does not count */
    int64_t begin = dync__sz_add(size, w->before[i] + stride - 1);
    return dync__sz_min(n, dync__sz_div(begin, stride));
}

/* x with what its windows read around it: value. span[i]: from the first to the last window's
 * beginning; d: the result's dims. false, maybe without an error: no window fits. */
static bool dync__oi_windowed(dync_tensor **over, const dync__oi_window *w, double value,
                              int64_t *span, dync_dims *out)
{
    dync_tensor *x = *over;
    dync_dims d = dync__oi_sizes(x);
    *out = d;
    for (int i = 0; i < w->n && x; i++) {
        out->d[2 + i] = dync__oi_pool_size(w, i, d.d[2 + i]);
        span[i] = dync__sz_add(dync__sz_mul(dync__sz_sub(out->d[2 + i], 1), w->stride[i]), 1);
        /* as far as the last window reads; of a symbolic size, as far as one may read */
        int64_t after = w->after[i] + (w->ceil ? w->stride[i] - 1 : 0);
        if (!dync__is_token(d.d[2 + i]))
            after = span[i] + (w->kernel[i] - 1) * w->dilation[i] - d.d[2 + i] - w->before[i];
        x = dync__oi_pad_dim(x, 2 + i, w->before[i], DYNC__MAX(after, 0), value);
        if (out->d[2 + i] <= 0) return false;
    }
    *over = x;
    return x != NULL;
}

enum { DYNC__OI_WINDOW = 4096 }; /* places of a kernel that is done by slices, one each */

/* Place p along spatial dim i of every window. */
static dync_tensor *dync__oi_window_place(dync_tensor *x, const dync__oi_window *w, int i,
                                          int64_t p, int64_t span)
{
    int64_t from = p * w->dilation[i];
    if (from == 0 && w->stride[i] == 1 && span == dync__oi_extent(x, 2 + i)) return x;
    return (dync_slice)(x, 2 + i, from, dync__sz_add(from, span), w->stride[i]);
}

/* The elements of every window behind each other: dims of x, spatial ones being results, then one
 * of all kernel places, row major. Outside of x: value. One slice of x a place, so of small kernels
 * alone. NULL, maybe without an error: no window fits, or too many places. */
static dync_tensor *dync__oi_windows(dync_tensor *x, const dync__oi_window *w, double value)
{
    dync_dims out;
    int64_t places = 1, step[DYNC__OI_SPACE], span[DYNC__OI_SPACE];
    for (int i = 0; i < w->n && places <= DYNC__OI_WINDOW; i++) places *= w->kernel[i];
    if (places > DYNC__OI_WINDOW || !dync__oi_windowed(&x, w, value, span, &out)) return NULL;
    dync_value list = dync__list_new((int)places);
    if (list.kind != DYNC_KIND_LIST) return NULL;
    for (int64_t p = 0; p < places; p++) {
        int64_t rest = p;
        for (int i = w->n - 1; i >= 0; i--) step[i] = rest % w->kernel[i], rest /= w->kernel[i];
        dync_tensor *one = x;
        for (int i = 0; i < w->n && one; i++)
            one = dync__oi_window_place(one, w, i, step[i], span[i]);
        if (!one) return NULL;
        dync__list_set(list, (int)p, dync_v_tensor(one));
    }
    return dync_stack(list, w->n + 2);
}

enum { DYNC__OI_FOLDED = 64 }; /* slices beside each other; more become one array */
/* The largest (most), or the sum in 32 bits and more, of each window's elements, one dim after
 * another: as many slices as the kernel's sizes add up to, and no copy. Outside of x: value. NULL
 * as above. */
static dync_tensor *dync__oi_folded(dync_tensor *x, const dync__oi_window *w, double value,
                                    bool most)
{
    dync_dims out;
    int64_t span[DYNC__OI_SPACE], slices = 0;
    int dtype = dync__oi_type(x);
    if (!most && (dtype == DYNC_F16 || dtype == DYNC_BF16)) x = dync_to_dtype(x, DYNC_F32);
    for (int i = 0; i < w->n; i++) slices += w->kernel[i];
    if (slices > DYNC__OI_FOLDED) {
        x = dync__oi_windows(x, w, value);
        return !x     ? NULL
               : most ? dync_amax(x, dync_shape(w->n + 2), false)
                      : dync_sum(x, dync_shape(w->n + 2), false);
    }
    if (!dync__oi_windowed(&x, w, value, span, &out)) return NULL;
    for (int i = w->n - 1; i >= 0 && x; i--) {
        dync_tensor *y = dync__oi_window_place(x, w, i, 0, span[i]);
        for (int64_t p = 1; p < w->kernel[i] && y; p++) {
            dync_tensor *next = dync__oi_window_place(x, w, i, p, span[i]);
            y = !next ? NULL : most ? dync_maximum(y, next) : dync_add(y, next);
        }
        x = y;
    }
    return x;
}

/* Output Indices of MaxPool: where the best of each window lies in x, counted through the spatial
 * dims and all before. best: the place in the kernel, row major; columns (storage_order 1): counted
 * with the first spatial dim the fastest.
 *
 *   coordinate i = place i of the kernel * dilation + result i * stride - before */
static dync_tensor *dync__oi_pool_places(dync_tensor *best, dync_dims in, const dync__oi_window *w,
                                         bool columns)
{
    dync_dims d = dync__oi_sizes(best), one = d;
    dync_tensor *at = NULL, *rest = best;
    int64_t scale = 1;
    for (int i = w->n - 1; i >= 0 && rest; i--) {
        dync_tensor *place = dync_remainder(rest, w->kernel[i]);
        rest = dync_floor_divide(rest, w->kernel[i]);
        for (int k = 0; k < d.n; k++) one.d[k] = k == 2 + i ? d.d[k] : 1;
        dync_tensor *from =
            dync_reshape(dync__oi_arange(-w->before[i], d.d[2 + i], w->stride[i], DYNC_I64), one);
        place = dync_add(dync_mul(place, w->dilation[i]), from);
        int64_t by = 1;
        if (columns)
            for (int k = 0; k < i; k++) by = dync__sz_mul(by, in.d[2 + k]);
        else
            by = scale;
        scale = dync__sz_mul(scale, in.d[2 + i]);
        place = dync_mul(place, dync__value_of_size(by));
        at = at ? dync_add(at, place) : place;
    }
    for (int k = 0; k < d.n; k++) one.d[k] = k < 2 ? d.d[k] : 1;
    int64_t planes = dync__sz_mul(d.d[0], d.d[1]);
    dync_tensor *plane = dync_reshape(dync__oi_arange(0, planes, scale, DYNC_I64), one);
    return at ? dync_add(at, plane) : NULL;
}

/* Is the number of results along spatial dim i, padded behind as before, the same with this
 * ceil_mode? Not known to be where the size is symbolic and something differs, or where a window
 * rounded up may begin outside. */
static bool dync__oi_pool_counts(dync_tensor *x, const dync__oi_window *w, int i, bool ceil)
{
    dync__oi_window even = *w;
    int64_t size = dync__oi_extent(x, 2 + i);
    even.after[i] = w->before[i];
    even.ceil = ceil;
    if (ceil && dync__is_token(size) &&
        w->stride[i] + w->before[i] >= (w->kernel[i] - 1) * w->dilation[i] + 2)
        return false;
    if (even.after[i] == w->after[i] && even.ceil == w->ceil) return true;
    return !dync__is_token(size) &&
           dync__oi_pool_size(&even, i, size) == dync__oi_pool_size(w, i, size);
}

/* The limits of max_pool2d and avg_pool2d: padding of at most half a window, no dilation for the
 * average, and a window that fits into the padded input. Padding behind may be another where the
 * windows stay the same and nothing counts it (counted: the average does). *ceil: its ceil_mode. */
static bool dync__oi_pool_fits(dync_tensor *x, const dync__oi_window *w, bool average, bool counted,
                               bool *ceil)
{
    bool as[2] = {true, true}; /* without, with ceil_mode */
    for (int i = 0; i < 2; i++) {
        int64_t reach = (w->kernel[i] - 1) * w->dilation[i] - 2 * w->before[i];
        if (2 * w->before[i] > w->kernel[i] || w->before[i] < 0 ||
            (counted && w->before[i] != w->after[i]) || (average && w->dilation[i] != 1) ||
            !dync__sz_lt(reach, dync__oi_extent(x, 2 + i)))
            return false;
        for (int k = 0; k < 2; k++) as[k] = as[k] && dync__oi_pool_counts(x, w, i, k != 0);
    }
    *ceil = !as[0];
    return as[0] || as[1];
}

/* Does dync's own pool of two dims say the same? One dim becomes two. */
static bool dync__oi_pool_plain(const dync__onnx_call *c, dync_tensor **over, dync__oi_window *w,
                                bool average, bool counted)
{
    if (w->n > 2 || c->n_out > 1 || !dync__oi_is_float(*over)) return false;
    dync__oi_window two = *w;
    dync_tensor *x = *over;
    if (w->n == 1) {
        dync__oi_raise(&two);
        x = dync_unsqueeze(x, 2);
    }
    if (!dync__oi_pool_fits(x, &two, average, counted, &two.ceil)) return false;
    *w = two;
    *over = x;
    return true;
}

/* Undoes dync__oi_raise: a result of one spatial dim. */
static dync_tensor *dync__oi_lower(dync_tensor *y, bool line)
{
    return line && y ? dync_squeeze(y, 2) : y;
}

/* dync's pool where it says the same; else the largest of the elements of each window, which knows
 * ceil_mode, uneven pads, integers, three dims and the places (output 1). */
DYNC__FN dync_status dync__oi_max_pool(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *y, *all;
    dync__oi_window w;
    int dtype = dync__oi_type(x);
    if (!dync__oi_window_of(c, x, NULL, &w)) return dync_error();
    bool line = w.n == 1;
    if (dync__oi_pool_plain(c, &x, &w, false, false))
        return dync__oi_out(
            c, 0,
            dync__oi_lower(dync_max_pool2d(x, dync__oi_pair(w.kernel), dync__oi_pair(w.stride),
                                           dync__oi_pair(w.before), dync__oi_pair(w.dilation),
                                           w.ceil),
                           line));
    double low = dync__oi_is_float(x) ? -(double)INFINITY
                 : dtype == DYNC_U8   ? 0
                 : dtype == DYNC_I8   ? -128
                                      : (double)INT32_MIN;
    all = c->n_out < 2 ? NULL : dync__oi_windows(x, &w, low);
    y = c->n_out < 2 ? dync__oi_folded(x, &w, low, true)
        : all        ? dync_amax(all, dync_shape(w.n + 2), false)
                     : NULL;
    if (!y) return dync_error() ? dync_error() : dync__oi_fail(c, DYNC_ERR_SHAPE, "no window");
    DYNC__TRY(dync__oi_out(c, 0, y));
    if (c->n_out < 2) return DYNC_OK;
    return dync__oi_out_typed(c, 1,
                              dync__oi_pool_places(dync_argmax(all, w.n + 2, false),
                                                   dync__oi_sizes(x), &w,
                                                   dync__oi_int(c, "storage_order") != 0),
                              DYNC__ONNX_INT64);
}

/* Sums over windows by how many elements count: the same pool over ones, in which the padding
 * counts by count_include_pad, and what ceil_mode reads behind it never does. */
DYNC__FN dync_status dync__oi_average_pool(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *y, *n;
    dync__oi_window w;
    bool padding = dync__oi_int(c, "count_include_pad") != 0;
    int dtype = dync__oi_type(x);
    if (!dync__oi_window_of(c, x, NULL, &w)) return dync_error();
    bool line = w.n == 1;
    if (dync__oi_pool_plain(c, &x, &w, true, padding))
        return dync__oi_out(
            c, 0,
            dync__oi_lower(dync_avg_pool2d(x, dync__oi_pair(w.kernel), dync__oi_pair(w.stride),
                                           dync__oi_pair(w.before), w.ceil, padding),
                           line));
    dync_dims one = dync__oi_sizes(x);
    one.d[0] = one.d[1] = 1;
    dync_tensor *counted = dync__oi_full(one, 1, dync__oi_type(x));
    dync__oi_window inner = w;
    for (int i = 0; i < w.n; i++) inner.out[i] = dync__oi_pool_size(&w, i, one.d[2 + i]);
    for (int i = 0; i < w.n && padding && counted; i++) {
        /* what lies behind the padding is no element */
        counted = dync__oi_pad_dim(counted, 2 + i, w.before[i], w.after[i], 1);
        inner.before[i] = inner.after[i] = 0;
    }
    x = dync__oi_folded(x, &w, 0, false);
    n = counted ? dync__oi_folded(counted, &inner, 0, false) : NULL;
    y = x && n ? dync_to_dtype(dync_div(x, n), (dync_dtype)dtype) : NULL;
    return y              ? dync__oi_out(c, 0, y)
           : dync_error() ? dync_error()
                          : dync__oi_fail(c, DYNC_ERR_SHAPE, "no window");
}

/* The p-norm (sum |x|^p)^(1/p) over axes; nothing is divided by the count. */
static dync_tensor *dync__oi_power_mean(dync_tensor *x, double p, dync_dims axes, bool keep)
{
    x = dync_sum(dync_pow(dync_abs(x), p), axes, keep);
    return x ? dync_pow(x, 1 / p) : NULL;
}

DYNC__FN dync_status dync__oi_lp_pool(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    dync__oi_window w;
    if (!dync__oi_window_of(c, x, NULL, &w)) return dync_error();
    double p = (double)dync__oi_int(c, "p");
    int dtype = dync__oi_type(x);
    x = dync__oi_folded(dync_pow(dync_abs(x), p), &w, 0, false);
    x = x ? dync_pow(x, 1 / p) : NULL;
    return dync__oi_out(c, 0, x ? dync_to_dtype(x, (dync_dtype)dtype) : NULL);
}

/* One value a channel. */
DYNC__FN dync_status dync__oi_global_pool(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    dync_dims axes = {0, {0}};
    for (int i = 2; i < dync__oi_rank(x); i++) axes.d[axes.n++] = i;
    return dync__oi_out(c, 0,
                        c->row->detail == DYNC__OI_MAX ? dync_amax(x, axes, true)
                        : c->row->detail == DYNC__OI_MEAN
                            ? dync_mean(x, axes, true)
                            : dync__oi_power_mean(x, (double)dync__oi_int(c, "p"), axes, true));
}

/* Each element of X at its place I (as MaxPool's Indices), zeros elsewhere. Input 2: the sizes of
 * the result, which may be larger than those that the window tells. */
DYNC__FN dync_status dync__oi_max_unpool(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *at = dync__oi_in(c, 1), *y;
    dync_dims d = dync__oi_shape(x), out = d;
    dync__oi_window w;
    int64_t n = 1;
    if (!dync__oi_window_of(c, x, NULL, &w)) return dync_error();
    for (int i = 0; i < w.n; i++)
        out.d[2 + i] = (d.d[2 + i] - 1) * w.stride[i] + w.kernel[i] - w.before[i] - w.after[i];
    dync_dims base = out;
    if (dync__oi_in(c, 2) && !dync__oi_dims(c, dync__oi_in(c, 2), &out)) return dync_error();
    for (int i = 2; i < base.n; i++) n *= base.d[i];
    /* Places count through the output that the window tells, and all planes before; there they are
     * written: a plane is one row. */
    dync_dims rows = dync_shape(d.d[0], d.d[1], 1, -1);
    at = n > 0 ? dync_remainder(dync_to_dtype(at, DYNC_I64), n) : NULL;
    y = at ? dync_max_unpool2d(dync_reshape(x, rows), dync_reshape(at, rows), dync_shape(1, n))
           : NULL;
    y = y ? dync_reshape(y, base) : NULL;
    for (int i = 2; i < out.n && y; i++)
        if (out.d[i] != base.d[i]) y = dync__oi_pad_dim(y, i, 0, out.d[i] - base.d[i], 0);
    return dync__oi_out(c, 0, y);
}
