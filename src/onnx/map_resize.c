/* onnx/map_resize.c: ONNX's Resize, Upsample and GridSample: weighted elements around places.
 * Before map_recurrent.c. */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

/* One axis of a Resize: result i is the sum of taps k of weight[k][i] * x[index[k][i]]. */
typedef struct dync__oi_axis_map {
    int64_t in, out;
    double scale, roi[2];
    int taps;
} dync__oi_axis_map;

/* Which place of the input result i of an axis stands for, by coordinate_transformation_mode:
 *   asymmetric     i / scale                 align_corners  i (in - 1) / (out - 1)
 *   half_pixel     (i + 0.5) / scale - 0.5   half_pixel_symmetric  that, moved to the centre
 *   tf_crop_and_resize  start (in - 1) + i (end - start) (in - 1) / (width - 1)
 * width = scale * in is the length before it is rounded down to `out`. pytorch_half_pixel is
 * half_pixel but for one result, which is place 0. Opset 10 knows the first alone. align_corners
 * goes by the length of the result, as the operator's text, PyTorch and ONNX Runtime have it. */
static double dync__oi_place(const dync__onnx_call *c, const dync__oi_axis_map *m, int64_t i)
{
    double width = m->scale * (double)m->in, x = (double)i, last = (double)(m->in - 1);
    if (c->version < 11 || dync__oi_is(c, "coordinate_transformation_mode", "asymmetric"))
        return x / m->scale;
    if (dync__oi_is(c, "coordinate_transformation_mode", "align_corners"))
        return m->out == 1 ? 0 : x * last / (double)(m->out - 1);
    if (dync__oi_is(c, "coordinate_transformation_mode", "tf_crop_and_resize")) {
        double span = m->roi[1] - m->roi[0];
        return m->roi[0] * last + (width == 1 ? span * last / 2 : x * span * last / (width - 1));
    }
    if (m->out == 1 && dync__oi_is(c, "coordinate_transformation_mode", "pytorch_half_pixel"))
        return 0;
    x = (x + 0.5) / m->scale - 0.5;
    if (dync__oi_is(c, "coordinate_transformation_mode", "half_pixel_symmetric"))
        x += (double)m->in / 2 * (1 - (double)m->out / width);
    return x;
}

/* The weight of a tap x away. Keys 1981, Cubic convolution interpolation for digital image
 * processing. */
static double dync__oi_cubic(double x, double a)
{
    x = fabs(x);
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* Taps around place x: the first index (maybe outside of the input), weights into w (that sum to
 * 1). A place that is an element counts as the end of the interval before it (r 1): ONNX's
 * reference does so, and with exclude_outside that decides which taps are left. antialias stretches
 * the kernel by 1 / scale where the axis shrinks. */
static int64_t dync__oi_taps(const dync__onnx_call *c, const dync__oi_axis_map *m, double x,
                             double *w)
{
    bool cubic = dync__oi_is(c, "mode", "cubic");
    double a = dync__oi_float(c, "cubic_coeff_a"), f, r, sum = 0;
    double by = dync__oi_int(c, "antialias") ? DYNC__MIN(m->scale, 1) : 1;
    x = fabs(x) < 1e15 ? x : x > 0 ? 1e15 : -1e15; /* beyond all places, or none */
    f = floor(x), r = x - f;
    if (m->taps == 1) {
        w[0] = 1;
        if (c->version < 11 || dync__oi_is(c, "nearest_mode", "floor")) return (int64_t)f;
        if (dync__oi_is(c, "nearest_mode", "ceil")) return (int64_t)ceil(x);
        if (dync__oi_is(c, "nearest_mode", "round_prefer_ceil")) return (int64_t)floor(x + 0.5);
        return (int64_t)ceil(x - 0.5);
    }
    if (r == 0) f -= 1, r = 1;
    int64_t first = (int64_t)f + 1 - m->taps / 2;
    for (int k = 0; k < m->taps; k++) {
        double d = ((double)(k + 1 - m->taps / 2) - r) * by;
        w[k] = cubic ? dync__oi_cubic(d, a) : DYNC__MAX(1 - fabs(d), 0);
        if (dync__oi_int(c, "exclude_outside") && (first + k < 0 || first + k >= m->in)) w[k] = 0;
        sum += w[k];
    }
    for (int k = 0; k < m->taps && sum != 0; k++) w[k] /= sum;
    return first;
}

/* nearest 1, linear 2, cubic 4; as many more as the kernel is stretched. 4002: too many, refused.
 */
static int dync__oi_tap_count(const dync__onnx_call *c, const dync__oi_axis_map *m)
{
    bool cubic = dync__oi_is(c, "mode", "cubic");
    if (dync__oi_is(c, "mode", "nearest")) return 1;
    if (!dync__oi_int(c, "antialias") || m->scale >= 1) return cubic ? 4 : 2;
    double first = floor((cubic ? -2 : -1) / m->scale) + 1;
    return first < -2000 ? 4002 : (int)(2 - 2 * first);
}

enum { DYNC__OI_WEIGHTS = 1 << 26 }; /* of one axis, at most */
/* Sets the taps; false: an axis whose table would be too large, recorded. */
static bool dync__oi_axis_fits(const dync__onnx_call *c, dync__oi_axis_map *m)
{
    if (dync__any_token(m->in, m->out)) return true;
    m->taps = dync__oi_tap_count(c, m);
    if (m->taps <= 4000 && (m->in >= 1 || m->out == 0) && m->out <= DYNC__OI_WEIGHTS / m->taps)
        return true;
    dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "a scale of %g to %lld places",
                  dync__float_shown(m->scale), (long long)m->out);
    return false;
}

/* x resized along one axis: one gather a tap, times a vector of weights, summed. Indices outside
 * are those of the edge; of tf_crop_and_resize such results are extrapolation_value. NULL + error.
 */
static dync_tensor *dync__oi_resize_axis(const dync__onnx_call *c, dync_tensor *x, int axis,
                                         dync__oi_axis_map *m)
{
    dync_dims one = dync__oi_sizes(x);
    if (dync__any_token(m->in, m->out))
        return dync__oi_resize_open(c, x, axis, m->in, m->out, m->scale);
    if (m->out == 0) return dync__oi_narrow(x, axis, 0, 0);
    if (m->out > dync__program_limits_get().elements) {
        dync__oi_fail(c, DYNC_ERR_FORMAT, "%lld places of an axis (dync_set_limits)",
                      (long long)m->out);
        return NULL;
    }
    size_t n = (size_t)m->out;
    int64_t *index = dync__scope_alloc((n * (size_t)m->taps + 1) * sizeof *index);
    double *weight = dync__scope_alloc((n * (size_t)m->taps + 1) * sizeof *weight);
    double *outside = dync__scope_alloc((n + 1) * sizeof *outside), w[4002];
    bool crop = dync__oi_is(c, "coordinate_transformation_mode", "tf_crop_and_resize"), any = false;
    if (!index || !weight || !outside) return NULL;
    for (int64_t i = 0; i < m->out; i++) {
        double place = dync__oi_place(c, m, i);
        int64_t first = dync__oi_taps(c, m, place, w);
        outside[i] = crop && (place < 0 || place > (double)(m->in - 1));
        any = any || outside[i] != 0;
        for (int k = 0; k < m->taps; k++) {
            index[(int64_t)k * m->out + i] = DYNC__MIN(DYNC__MAX(first + k, 0), m->in - 1);
            weight[(int64_t)k * m->out + i] = w[k];
        }
    }
    for (int i = 0; i < one.n; i++) one.d[i] = i == axis ? m->out : 1;
    dync_tensor *sum = NULL;
    for (int k = 0; k < m->taps; k++) {
        dync_tensor *at = dync__oi_tensor_i(DYNC_I64, 1, &m->out, index + (int64_t)k * m->out);
        dync_tensor *part = at ? dync_index_select(x, axis, at) : NULL;
        if (m->taps > 1 && part)
            part = dync_mul(part, dync__oi_tensor_f(dync__oi_type(x), one.n, one.d,
                                                    weight + (int64_t)k * m->out));
        sum = sum ? dync_add(sum, part) : part;
    }
    if (any && sum) {
        dync_tensor *mask = dync__oi_tensor_f(DYNC_BOOL, one.n, one.d, outside);
        sum = dync_where(mask, dync__oi_float(c, "extrapolation_value"), sum);
    }
    return sum;
}

/* An axis of m->in places that stays symbolic: as it is, or as operators of the graph resize it.
 * size, or 0 and the scale: what is told. */
static bool dync__oi_resize_is_open(const dync__onnx_call *c, int64_t size, double scale,
                                    dync__oi_axis_map *m)
{
    if (!dync__any_token(m->in, size) ||
        dync__oi_is(c, "keep_aspect_ratio_policy", "not_smaller") ||
        dync__oi_is(c, "keep_aspect_ratio_policy", "not_larger") ||
        dync__oi_is(c, "coordinate_transformation_mode", "tf_crop_and_resize"))
        return false;
    m->out = m->in;
    m->scale = 1;
    if (size ? size == m->in : scale == 1) return true;
    m->out = size ? size : dync__oi_scaled_size(m->in, scale);
    m->scale = size ? 0 : scale;
    return m->out != 0;
}

/* Scales, sizes and regions of the axes that are resized, from inputs and attributes: Upsample and
 * Resize 10 have (X, scales), later ones (X, roi, scales, sizes), of which scales or sizes are
 * told. roi: starts of all axes, then ends. keep_aspect_ratio_policy gives all axes the least or
 * the greatest of their scales. Where a size is symbolic, scale 0 says that sizes are told. false:
 * recorded. */
static bool dync__oi_resize_maps(const dync__onnx_call *c, dync_dims in, dync_dims axes,
                                 dync__oi_axis_map *m)
{
    double scales[DYNC_MAX_DIMS], roi[2 * DYNC_MAX_DIMS];
    bool upsample = c->version < 10 || strcmp(c->row->name, "Upsample") == 0;
    int at = upsample || c->version < 11 ? 1 : 2, n = axes.n, rois = 0;
    dync_dims sizes = {0, {0}};
    const float *told;
    int n_told = dync__oi_floats(c, "scales", &told), got = 0;
    if (!n_told && dync__oi_in(c, at) && dync__oi_size(dync__oi_in(c, at), 0) > 0)
        got = dync__oi_read_reals(c, dync__oi_in(c, at), DYNC_MAX_DIMS, scales);
    for (int i = 0; i < n_told && i < DYNC_MAX_DIMS; i++) scales[got++] = (double)told[i];
    if (at == 2 && dync__oi_in(c, 3) && !dync__oi_data_dims(c, 3, &sizes)) return false;
    if (at == 2 && dync__oi_in(c, 1) && dync__oi_size(dync__oi_in(c, 1), 0) > 0)
        rois = dync__oi_read_reals(c, dync__oi_in(c, 1), 2 * DYNC_MAX_DIMS, roi);
    if (got < 0 || rois < 0) return false;
    if ((got != n && sizes.n != n) || (rois && rois != 2 * n)) {
        dync__oi_fail(c, DYNC_ERR_FORMAT, "scales or sizes for %d axes", n);
        return false;
    }
    bool larger = dync__oi_is(c, "keep_aspect_ratio_policy", "not_smaller"),
         smaller = dync__oi_is(c, "keep_aspect_ratio_policy", "not_larger");
    double kept = larger ? 0 : 1e300;
    for (int i = 0; i < n; i++) {
        m[i].in = in.d[axes.d[i]];
        if (dync__oi_resize_is_open(c, sizes.n ? sizes.d[i] : 0, sizes.n ? 0 : scales[i], &m[i]))
            continue;
        m[i].in = dync__oi_number(m[i].in);
        if (sizes.n) sizes.d[i] = dync__oi_number(sizes.d[i]);
        m[i].scale = sizes.n ? (double)sizes.d[i] / (double)DYNC__MAX(m[i].in, 1) : scales[i];
        if (!(m[i].scale > 0)) {
            dync__oi_fail(c, DYNC_ERR_FORMAT, "a scale of %g", dync__float_shown(m[i].scale));
            return false;
        }
        m[i].out = sizes.n ? sizes.d[i]
                           : (int64_t)floor((double)m[i].in * DYNC__MIN(m[i].scale, 1e9));
        m[i].roi[0] = rois ? roi[i] : 0;
        m[i].roi[1] = rois ? roi[n + i] : 1;
        kept = larger ? DYNC__MAX(kept, m[i].scale) : DYNC__MIN(kept, m[i].scale);
    }
    for (int i = 0; i < n && sizes.n && (larger || smaller); i++) {
        m[i].scale = kept;
        m[i].out = (int64_t)floor(DYNC__MIN(kept, 1e9) * (double)m[i].in + 0.5);
    }
    return true;
}

/* Is it what the rows upsample_* do: floats of 1 to 3 spatial dims, all axes behind the channels,
 * sizes that are the scales', places by half_pixel or align_corners, PyTorch's cubic? */
static bool dync__oi_upsamples(const dync__onnx_call *c, const dync_tensor *x, dync_dims axes,
                               const dync__oi_axis_map *m, bool *corners)
{
    int dims = dync__oi_rank(x) - 2;
    bool cubic = dync__oi_is(c, "mode", "cubic");
    *corners = dync__oi_is(c, "coordinate_transformation_mode", "align_corners");
    if (c->version < 11 || dims < 1 || dims > 3 || (cubic && dims != 2) || !dync__oi_is_float(x) ||
        dync__oi_is(c, "mode", "nearest") || dync__oi_int(c, "antialias") ||
        dync__oi_int(c, "exclude_outside") ||
        (cubic && fabs(dync__oi_float(c, "cubic_coeff_a") + 0.75) > 1e-6) ||
        (!*corners && !dync__oi_is(c, "coordinate_transformation_mode", "half_pixel") &&
         !dync__oi_is(c, "coordinate_transformation_mode", "pytorch_half_pixel")))
        return false;
    bool torch = dync__oi_is(c, "coordinate_transformation_mode", "pytorch_half_pixel");
    for (int i = 0; i < axes.n; i++) {
        if (dync__is_token(m[i].in)) {
            if (m[i].out != m[i].in) return false;
            continue;
        }
        double width = m[i].scale * (double)m[i].in;
        if (m[i].in < 1 || m[i].out < 1 || (axes.d[i] < 2 && m[i].in != m[i].out) ||
            (torch && m[i].out == 1) || fabs(width - (double)m[i].out) > 1e-6)
            return false;
    }
    return true;
}

static dync_tensor *dync__oi_upsampled(const dync__onnx_call *c, dync_tensor *x, dync_dims axes,
                                       const dync__oi_axis_map *m, bool corners)
{
    dync_dims size = dync__oi_sizes(x), out = {size.n - 2, {0}};
    for (int i = 0; i < axes.n; i++) size.d[axes.d[i]] = m[i].out;
    for (int d = 0; d < out.n; d++) out.d[d] = size.d[2 + d];
    if (dync__oi_is(c, "mode", "cubic")) return dync_upsample_bicubic2d(x, out, corners);
    return out.n == 1   ? dync_upsample_linear1d(x, out, corners)
           : out.n == 2 ? dync_upsample_bilinear2d(x, out, corners)
                        : dync_upsample_trilinear3d(x, out, corners);
}

DYNC__FN dync_status dync__oi_resize(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    dync_dims in = dync__oi_sizes(x), axes;
    dync__oi_axis_map m[DYNC_MAX_DIMS];
    bool corners;
    int dtype = dync__oi_type(x);
    bool crop = dync__oi_is(c, "coordinate_transformation_mode", "tf_crop_and_resize"),
         nearest = dync__oi_is(c, "mode", "nearest");
    if (!dync__oi_axes(c, -1, in.n, &axes)) return dync_error();
    for (; !dync__oi_has(c, "axes") && axes.n < in.n; axes.n++) axes.d[axes.n] = axes.n;
    if (!dync__oi_resize_maps(c, in, axes, m)) return dync_error();
    if (dync__oi_upsamples(c, x, axes, m, &corners))
        return dync__oi_out(c, 0, dync__oi_upsampled(c, x, axes, m, corners));
    bool moves[DYNC_MAX_DIMS];
    for (int i = 0; i < axes.n; i++) { /* all of them before the first table is made */
        moves[i] = m[i].in != m[i].out || m[i].scale != 1 || crop;
        if (moves[i] && !dync__oi_axis_fits(c, &m[i])) return dync_error();
    }
    if (!nearest && dtype != DYNC_F64) x = dync_to_dtype(x, DYNC_F32);
    for (int i = axes.n - 1; i >= 0 && x; i--)
        if (moves[i]) x = dync__oi_resize_axis(c, x, (int)axes.d[i], &m[i]);
    if (x && !dync__dtype_info(dtype)->bytes) return DYNC_ERR_INTERNAL;
    if (x && !nearest && dync__dtype_info(dtype)->kind == 'i') x = dync_round(x);
    return dync__oi_out(c, 0, x ? dync_to_dtype(x, (dync_dtype)dtype) : NULL);
}

/* ---- sampling at places that data tell ------------------------------------------------------- */

DYNC__FN dync_status dync__oi_grid_sample(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *grid = dync__oi_in(c, 1);
    bool corners = dync__oi_int(c, "align_corners") != 0,
         cubic = dync__oi_is(c, "mode", "cubic") || dync__oi_is(c, "mode", "bicubic"),
         border = dync__oi_is(c, "padding_mode", "border");
    int dtype = dync__oi_type(x), rank = dync__oi_rank(x);
    if (rank < 3 || rank > 2 + DYNC__OI_GRID || dync__oi_rank(grid) != rank)
        return dync__oi_fail(c, DYNC_ERR_SHAPE, "the grid");
    if (!dync__oi_is_float(x)) x = dync_to_dtype(x, DYNC_F32);
    grid = x ? dync_to_dtype(grid, (dync_dtype)dync__oi_type(x)) : NULL;
    const char *mode = cubic                               ? "bicubic"
                       : dync__oi_is(c, "mode", "nearest") ? "nearest"
                                                           : "bilinear",
               *pad = border                                         ? "border"
                      : dync__oi_is(c, "padding_mode", "reflection") ? "reflection"
                                                                     : "zeros";
    dync_tensor *y = grid ? dync_grid_sample(x, grid, mode, pad, corners) : NULL;
    return dync__oi_out(c, 0, y ? dync_to_dtype(y, (dync_dtype)dtype) : NULL);
}

DYNC__FN dync_status dync__oi_affine_grid(dync__onnx_call *c)
{
    dync_dims size;
    if (!dync__oi_read_dims(c, dync__oi_in(c, 1), &size)) return dync_error();
    return dync__oi_out(
        c, 0, dync_affine_grid(dync__oi_in(c, 0), size, dync__oi_int(c, "align_corners") != 0));
}
