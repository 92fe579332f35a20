/* onnx/map_resize_open.c: Resize along an axis whose size is symbolic: the places that map_resize.c
 * counts beforehand are computed by operators of the graph, in f64. Before map_resize.c.
 *
 * A result is a sum of taps, a gather each; where their number is not known (antialias), or each
 * has to be looked at (exclude_outside), a product with a matrix of weights. tf_crop_and_resize and
 * a kept aspect ratio need numbers. */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

/* floor(in * scale) of a scale that is an f32: a whole number over a power of two. 0: it is not, or
 * one of the numbers is too large for sizes. */
DYNC__FN int64_t dync__oi_scaled_size(int64_t in, double scale)
{
    int64_t by = 1;
    for (; scale != floor(scale) && by < 1 << 30; by *= 2) scale *= 2;
    if (!(scale >= 1 && scale < 1 << 24) || scale != floor(scale)) return 0;
    int64_t out = dync__sz_mul(in, (int64_t)scale);
    return by > 1 ? dync__sz_div(out, by) : out;
}

/* A size plus n in f64: a number, or a tensor of one, as it is written and read. */
static dync_value dync__oi_size_real(int64_t size, int64_t n)
{
    dync_make make = {0};
    size = dync__sz_add(size, n);
    if (!dync__is_token(size)) return dync_v_float((double)size);
    make.dtype = DYNC_I64;
    return dync_v_tensor(
        dync_to_dtype(DYNC__MAKER(full)(dync__value_of_size(size), make), DYNC_F64));
}

/* What an axis is stretched by. scale 0: out / in, of which one is symbolic. */
static dync_value dync__oi_open_scale(int64_t in, int64_t out, double scale)
{
    if (scale > 0) return dync_v_float(scale);
    return dync_v_tensor((dync_div)(dync__oi_size_real(out, 0), dync__oi_size_real(in, 0)));
}

/* dync__oi_place of all results: [out], f64. scale 0: out / in. */
static dync_tensor *dync__oi_open_places(const dync__onnx_call *c, int64_t in, int64_t out,
                                         double scale)
{
    const char *mode = "coordinate_transformation_mode";
    dync_tensor *x = dync_to_dtype(dync__oi_arange(0, out, 1, DYNC_I64), DYNC_F64);
    dync_value by = dync__oi_open_scale(in, out, scale);
    if (!x || (by.kind == DYNC_KIND_TENSOR && !by.as.t)) return NULL;
    bool symmetric = dync__oi_is(c, mode, "half_pixel_symmetric"),
         torch = dync__oi_is(c, mode, "pytorch_half_pixel"), data = dync__oi_is_data_size(out),
         one = !data && dync__sz_eq(out, 1);
    if (c->version < 11 || dync__oi_is(c, mode, "asymmetric")) return dync_div(x, by);
    if (dync__oi_is(c, mode, "align_corners")) {
        int64_t last = dync__sz_sub(out, 1);
        if (one) return dync_mul(x, 0.0);
        last = data ? dync__sz_max(last, 1) : last; /* of one result: 0 of whatever */
        return dync_div(dync_mul(x, dync__oi_size_real(in, -1)), dync__oi_size_real(last, 0));
    }
    if (one && torch) return dync_mul(x, 0.0);
    dync_tensor *first = data && torch ? dync_mul(x, 0.0) : NULL;
    x = dync_sub(dync_div(dync_add(x, 0.5), by), 0.5);
    if (first) return dync_where((dync_eq)(dync__oi_size_real(out, 0), dync_v_float(1)), first, x);
    if (!symmetric || scale <= 0) return x; /* of sizes both centres are the same */
    bool open = dync__is_token(in);
    dync_value width = open ? dync_v_tensor((dync_mul)(dync__oi_size_real(in, 0), by))
                            : dync_v_float((double)in * scale),
               half = open ? dync_v_tensor((dync_div)(dync__oi_size_real(in, 0), dync_v_float(2)))
                           : dync_v_float((double)in / 2);
    dync_tensor *moved = dync_sub(1.0, (dync_div)(dync__oi_size_real(out, 0), width));
    return dync_add(x, (dync_mul)(half, dync_v_tensor(moved)));
}

/* The place that nearest_mode takes. */
static dync_tensor *dync__oi_open_nearest(const dync__onnx_call *c, dync_tensor *x)
{
    if (c->version < 11 || dync__oi_is(c, "nearest_mode", "floor")) return dync_floor(x);
    if (dync__oi_is(c, "nearest_mode", "ceil")) return dync_ceil(x);
    if (dync__oi_is(c, "nearest_mode", "round_prefer_ceil")) return dync_floor(dync_add(x, 0.5));
    return dync_ceil(dync_sub(x, 0.5));
}

/* Weight of a tap d >= 0 away, up to 1 or, far, from 1 to 2 (dync__oi_cubic of tensors). */
static dync_tensor *dync__oi_open_cubic(dync_tensor *d, double a, bool far)
{
    if (far) /* ((a d - 5 a) d + 8 a) d - 4 a */
        return dync_sub(dync_mul(dync_add(dync_mul(dync_sub(dync_mul(d, a), 5 * a), d), 8 * a), d),
                        4 * a);
    return dync_add(dync_mul(dync_mul(dync_sub(dync_mul(d, a + 2), a + 3), d), d), 1.0);
}

/* Weight of tap k of 2 or 4, r in [0, 1) behind the one before the middle. */
static dync_tensor *dync__oi_open_weight(const dync__onnx_call *c, int taps, int k, dync_tensor *r)
{
    double a = dync__oi_float(c, "cubic_coeff_a");
    if (taps == 2) return k ? r : dync_sub(1.0, r);
    if (k < 2) return dync__oi_open_cubic(k ? r : dync_add(r, 1.0), a, k == 0);
    return dync__oi_open_cubic(k == 2 ? dync_sub(1.0, r) : dync_sub(2.0, r), a, k == 3);
}

/* Elements of x at places of `axis`, held inside of it. */
static dync_tensor *dync__oi_open_take(dync_tensor *x, int axis, int64_t in, dync_tensor *at)
{
    at = at ? dync_maximum(at, 0.0) : NULL;
    at = at ? dync_minimum(at, dync__oi_size_real(in, -1)) : NULL;
    return at ? dync_index_select(x, axis, dync_to_dtype(at, DYNC_I64)) : NULL;
}

/* The kernel at distances d, of any size: 0 from 1 (linear) or 2 (cubic) on. */
static dync_tensor *dync__oi_open_kernel(const dync__onnx_call *c, dync_tensor *d)
{
    double a = dync__oi_float(c, "cubic_coeff_a");
    d = d ? dync_abs(d) : NULL;
    if (!d || !dync__oi_is(c, "mode", "cubic"))
        return d ? dync_maximum(dync_sub(1.0, d), 0.0) : NULL;
    dync_tensor *far = dync_where(dync_lt(d, 2.0), dync__oi_open_cubic(d, a, true), 0.0);
    return far ? dync_where(dync_le(d, 1.0), dync__oi_open_cubic(d, a, false), far) : NULL;
}

/* By a matrix of weights [out, in + 2 more]: how far the places of the input, and as many before
 * and behind it as a stretched kernel reaches, are from those of the results. exclude_outside:
 * weights of these others are none, which the sum of the rest makes up for. */
static dync_tensor *dync__oi_resize_dense(const dync__onnx_call *c, dync_tensor *x, int axis,
                                          int64_t in, int64_t out, double scale, dync_tensor *place)
{
    bool inside = dync__oi_int(c, "exclude_outside") != 0;
    dync_value by = dync__oi_open_scale(in, out, scale);
    int64_t reach = dync__oi_is(c, "mode", "cubic") ? 2 : 1, more = reach + 1;
    if (dync__oi_int(c, "antialias") && scale > 0 && scale < 1)
        more = (int64_t)ceil((double)reach / scale) + 1;
    if (dync__oi_int(c, "antialias") && !(scale > 0))
        more = dync__sz_add(dync__sz_div(dync__sz_mul(in, reach), out), more + 1);
    if (inside) more = 0;
    int64_t wide = dync__sz_add(in, dync__sz_mul(more, 2));
    dync_tensor *at = dync_sub(dync__oi_arange(0, wide, 1, DYNC_I64), dync__value_of_size(more));
    at = at ? dync_to_dtype(at, DYNC_F64) : NULL;
    x = at ? dync__oi_open_take(x, axis, in, at) : NULL;
    dync_tensor *d = x && place ? dync_sub(at, dync_unsqueeze(place, 1)) : NULL;
    if (d && dync__oi_int(c, "antialias"))
        d = dync_mul(d, scale > 0 ? dync_v_float(DYNC__MIN(scale, 1))
                                  : dync_v_tensor((dync_minimum)(by, dync_v_float(1))));
    dync_tensor *w = dync__oi_open_kernel(c, d);
    w = w ? dync_div(w, dync_sum(w, dync_shape(1), true)) : NULL;
    w = w ? dync_to_dtype(w, (dync_dtype)dync__oi_type(x)) : NULL;
    if (!w) return NULL;
    x = dync_matmul(dync_movedim(x, dync_shape(axis), dync_shape(-1)), dync_transpose(w, 0, 1));
    return x ? dync_movedim(x, dync_shape(-1), dync_shape(axis)) : NULL;
}

/* x resized along one axis from `in` to `out` places, one or both symbolic. NULL + error. */
DYNC__FN dync_tensor *dync__oi_resize_open(const dync__onnx_call *c, dync_tensor *x, int axis,
                                           int64_t in, int64_t out, double scale)
{
    int taps = dync__oi_is(c, "mode", "nearest") ? 1 : dync__oi_is(c, "mode", "cubic") ? 4 : 2;
    dync_dims along = {dync__oi_rank(x), {0}};
    dync_tensor *place = dync__oi_open_places(c, in, out, scale), *sum = NULL;
    if (!place) return NULL;
    if (taps == 1) return dync__oi_open_take(x, axis, in, dync__oi_open_nearest(c, place));
    if (dync__oi_int(c, "exclude_outside") || (dync__oi_int(c, "antialias") && !(scale >= 1)))
        return dync__oi_resize_dense(c, x, axis, in, out, scale, place);
    dync_tensor *first = dync_floor(place), *r = dync_sub(place, first);
    for (int i = 0; i < along.n; i++) along.d[i] = i == axis ? out : 1;
    for (int k = 0; k < taps; k++) {
        dync_tensor *part =
            dync__oi_open_take(x, axis, in, dync_add(first, (double)(k + 1 - taps / 2)));
        dync_tensor *w = dync__oi_open_weight(c, taps, k, r);
        w = w ? dync_to_dtype(w, (dync_dtype)dync__oi_type(x)) : NULL;
        part = w && part ? dync_mul(part, dync_reshape(w, along)) : NULL;
        sum = sum && part ? dync_add(sum, part) : part;
        if (!sum) return NULL;
    }
    return sum;
}
