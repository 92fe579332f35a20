/* onnx/map_sample.c: ONNX operators that read between the places of an image, or add windows up:
 * RoiAlign, DeformConv, Col2Im; and TfIdfVectorizer, which counts. After map_microsoft_attention.c.
 */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

/* ---- samples --------------------------------------------------------------------------------- */

/* Places of samples between rows and columns of an image [H, W]: y and x of one shape. */
typedef struct dync__oi_sample {
    dync_tensor *y, *x; /* floats */
    int64_t h, w;
} dync__oi_sample;

/* Corner 0 to 3 of every place: its flat index in *at (within the image) and its weight, which is 0
 * outside. */
static dync_tensor *dync__oi_corner(const dync__oi_sample *s, int corner, dync_tensor **at)
{
    dync_tensor *flat = NULL, *weight = NULL;
    for (int axis = 0; axis < 2; axis++) {
        bool far = axis ? corner & 1 : corner >> 1;
        int64_t n = axis ? s->w : s->h;
        dync_tensor *p = axis ? s->x : s->y, *low = dync_floor(p);
        dync_tensor *part = low ? dync_sub(p, low) : NULL;
        if (!part) return NULL;
        if (far)
            low = dync_add(low, 1.0);
        else
            part = dync_sub(1.0, part);
        dync_tensor *in = dync_logical_and(dync_ge(low, 0.0), dync_lt(low, (double)n));
        part = in && part ? dync_where(in, part, 0.0) : NULL;
        low = low ? dync_clamp(low, dync_v_float(0), dync_v_float((double)(n - 1))) : NULL;
        low = low ? dync_to_dtype(low, DYNC_I64) : NULL;
        if (!low || !part) return NULL;
        flat = flat ? dync_add(dync_mul(flat, n), low) : low;
        weight = weight ? dync_mul(weight, part) : part;
    }
    *at = flat;
    return flat ? weight : NULL;
}

/* x [a, C, H * W] at places [a, p]: corner's values under their weights, [a, C, p] */
static dync_tensor *dync__oi_corner_values(dync_tensor *x, const dync__oi_sample *s, int corner)
{
    dync_tensor *at = NULL, *weight = dync__oi_corner(s, corner, &at);
    dync_dims d = dync__oi_shape(at);
    if (!weight || d.n != 2) return NULL;
    at = dync_expand(dync_unsqueeze(at, 1), dync_shape(d.d[0], dync__oi_size(x, 1), d.d[1]));
    dync_tensor *v = at ? dync_gather(x, 2, at) : NULL;
    weight = dync_to_dtype(dync_unsqueeze(weight, 1), (dync_dtype)dync__oi_type(x));
    return v && weight ? dync_mul(v, weight) : NULL;
}

/* ---- regions --------------------------------------------------------------------------------- */

/* most: the largest of the weighted corners and samples (mode max), else their sum and mean. */
typedef struct dync__oi_roi {
    int64_t out[2], samples[2]; /* of the output; of each of its places, along each dim */
    bool most;
} dync__oi_roi;

/* Places along one dim of regions from `from` (R, 1), `size` long: (R, out * samples). Those at
 * most one place outside are on the edge, those beyond count as nothing: -2. */
static dync_tensor *dync__oi_roi_places(dync_tensor *from, dync_tensor *size, int64_t out,
                                        int64_t samples, int64_t n)
{
    int64_t count = out * samples;
    dync_tensor *step = dync__oi_arange(0, count, 1, DYNC_F32);
    step = step ? dync_div(dync_add(step, 0.5), (double)count) : NULL;
    dync_tensor *at = step ? dync_add(from, dync_mul(size, step)) : NULL;
    if (!at) return NULL;
    dync_tensor *in = dync_logical_and(dync_ge(at, -1.0), dync_le(at, (double)n));
    at = dync_clamp(at, dync_v_float(0), dync_v_float((double)(n - 1)));
    return in && at ? dync_where(in, at, -2.0) : NULL;
}

/* y [R, oh * sh] and x [R, ow * sw] as places of each pair, [R, p], a sample's pairs last */
static bool dync__oi_roi_grid(const dync__oi_roi *o, dync__oi_sample *s)
{
    int64_t r = dync__oi_size(s->y, 0);
    dync_dims d = dync_shape(r, o->out[0], o->out[1], o->samples[0], o->samples[1]);
    s->y = dync_reshape(s->y, dync_shape(r, o->out[0], 1, o->samples[0], 1));
    s->x = dync_reshape(s->x, dync_shape(r, 1, o->out[1], 1, o->samples[1]));
    if (!s->y || !s->x) return false;
    s->y = dync_reshape(dync_expand(s->y, d), dync_shape(r, -1));
    s->x = dync_reshape(dync_expand(s->x, d), dync_shape(r, -1));
    return s->y && s->x;
}

/* x [R, C, H, W], box [R, 4] of x1 y1 x2 y2 in its places -> [R, C, oh, ow] */
static dync_tensor *dync__oi_roi_align(dync_tensor *x, dync_tensor *low, dync_tensor *size,
                                       const dync__oi_roi *o)
{
    dync_dims d = dync__oi_shape(x);
    dync__oi_sample s = {.h = d.d[2], .w = d.d[3]};
    s.y = dync__oi_roi_places(dync__oi_narrow(low, 1, 1, 1), dync__oi_narrow(size, 1, 1, 1),
                              o->out[0], o->samples[0], s.h);
    s.x = dync__oi_roi_places(dync__oi_narrow(low, 1, 0, 1), dync__oi_narrow(size, 1, 0, 1),
                              o->out[1], o->samples[1], s.w);
    if (!s.y || !s.x || !dync__oi_roi_grid(o, &s)) return NULL;
    dync_tensor *flat = dync_reshape(x, dync_shape(d.d[0], d.d[1], s.h * s.w)), *y = NULL;
    for (int corner = 0; corner < 4 && flat; corner++) {
        dync_tensor *one = dync__oi_corner_values(flat, &s, corner);
        y = !y ? one : o->most ? dync_maximum(y, one) : dync_add(y, one);
        if (!y) return NULL;
    }
    y = y ? dync_reshape(
                y, dync_shape(d.d[0], d.d[1], o->out[0], o->out[1], o->samples[0] * o->samples[1]))
          : NULL;
    return !y        ? NULL
           : o->most ? dync_amax(y, dync_shape(4), false)
                     : dync_mean(y, dync_shape(4), false);
}

/* One region after another, each with as many samples as its size asks for: they are read. */
static dync_tensor *dync__oi_roi_each(const dync__onnx_call *c, dync_tensor *x, dync_tensor *low,
                                      dync_tensor *size, dync__oi_roi *o)
{
    int64_t n = dync__oi_size(size, 0);
    double *all = n <= 1 << 16 ? dync__scope_alloc((size_t)(2 * n + 1) * sizeof *all) : NULL;
    dync_tensor **part = dync__scope_alloc((size_t)(n + 1) * sizeof *part);
    if (!all || !part) return NULL;
    if (dync__oi_read_reals(c, size, (int)(2 * n), all) < 0) return NULL;
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < 2; k++) { /* size is x, y; samples y, x */
            double each = ceil(all[2 * i + 1 - k] / (double)o->out[k]);
            if (!(each <= 4096)) {
                dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "a region of %g", all[2 * i + 1 - k]);
                return NULL;
            }
            o->samples[k] = each < 1 ? 1 : (int64_t)each;
        }
        part[i] = dync__oi_roi_align(dync__oi_narrow(x, 0, i, 1), dync__oi_narrow(low, 0, i, 1),
                                     dync__oi_narrow(size, 0, i, 1), o);
        if (!part[i]) return NULL;
    }
    return n ? dync__oi_list((int)n, part, 0, false)
             : dync__oi_full(dync_shape(0, dync__oi_size(x, 1), o->out[0], o->out[1]), 0,
                             dync__oi_type(x));
}

/* X [N, C, H, W], rois [R, 4] of x1 y1 x2 y2, batch_indices [R] -> [R, C, output_height,
 * output_width]. He et al. 2017, arXiv:1703.06870, section 3. Until opset 15, or by
 * output_half_pixel, places are not moved by half an element and regions are at least one wide.
 * sampling_ratio 0: as many samples as the region has elements for each of its outputs. */
DYNC__FN dync_status dync__oi_roialign(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *box = dync__oi_in(c, 1), *of = dync__oi_in(c, 2), *low,
                *size;
    dync__oi_roi o = {.out = {dync__oi_int(c, "output_height"), dync__oi_int(c, "output_width")}};
    int64_t samples = dync__oi_int(c, "sampling_ratio");
    int dtype = dync__oi_type(x);
    if (dync__oi_rank(x) != 4 || dync__oi_rank(box) != 2 || dync__oi_size(box, 1) != 4 ||
        dync__oi_rank(of) != 1 || dync__oi_size(of, 0) != dync__oi_size(box, 0))
        return dync__oi_fail(c, DYNC_ERR_SHAPE, "expected X [N, C, H, W], rois [R, 4]");
    if (o.out[0] < 1 || o.out[1] < 1 || o.out[0] > 4096 || o.out[1] > 4096 || samples < 0 ||
        samples > 4096 || dync__oi_size(x, 2) < 1 || dync__oi_size(x, 3) < 1)
        return dync__oi_fail(c, DYNC_ERR_FORMAT, "the output's size or the number of samples");
    bool half = c->version >= 16 &&
                !dync__oi_is(c, "coordinate_transformation_mode", "output_half_pixel");
    o.most = dync__oi_is(c, "mode", "max");
    box = dync_mul(dync_to_dtype(box, DYNC_F32), dync__oi_float(c, "spatial_scale"));
    if (half && box) box = dync_sub(box, 0.5);
    low = box ? dync__oi_narrow(box, 1, 0, 2) : NULL;
    size = low ? dync_sub(dync__oi_narrow(box, 1, 2, 2), low) : NULL;
    if (!half && size) size = dync_maximum(size, 1.0);
    of = dync__oi_index(c, of, dync__oi_size(x, 0));
    x = of ? dync_index_select(x, 0, of) : NULL;
    if (!x || !size) return dync_error();
    o.samples[0] = o.samples[1] = samples;
    x = samples ? dync__oi_roi_align(x, low, size, &o) : dync__oi_roi_each(c, x, low, size, &o);
    if (!x) return dync_error() ? dync_error() : DYNC_ERR_MEMORY;
    return dync__oi_out(c, 0, dync_to_dtype(x, (dync_dtype)dtype));
}

/* ---- windows --------------------------------------------------------------------------------- */

/* attribute `name` of n numbers */
static void dync__oi_numbers(const dync__onnx_call *c, const char *name, int n, int64_t without,
                             int64_t *out)
{
    const int64_t *at;
    int told = dync__oi_ints(c, name, &at);
    for (int i = 0; i < n; i++) out[i] = i < told ? at[i] : without;
}

/* Along one dim: the place that element k of the window o reads, k at dim `inner` of rank dims, o
 * at dim `outer`. */
static dync_tensor *dync__oi_window_places(int64_t kernel, int64_t windows, int64_t dilation,
                                           int64_t stride, int64_t pad, int inner, int outer,
                                           int rank)
{
    dync_dims a = {rank, {0}}, b = {rank, {0}};
    for (int i = 0; i < rank; i++) a.d[i] = b.d[i] = 1;
    a.d[inner] = kernel;
    b.d[outer] = windows;
    dync_tensor *k = dync__oi_arange(0, kernel, dilation, DYNC_I64);
    dync_tensor *o = dync__oi_arange(-pad, windows, stride, DYNC_I64);
    return k && o ? dync_add(dync_reshape(k, a), dync_reshape(o, b)) : NULL;
}

enum { DYNC__OI_COL_DIMS = 3 };

/* Columns of windows [N, C * kernel, windows] added up to images: those that overlap meet. */
DYNC__FN dync_status dync__oi_col2im(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *flat = NULL, *in = NULL;
    dync_dims image, block, d = dync__oi_shape(x);
    int64_t pad[2 * DYNC__OI_COL_DIMS], stride[DYNC__OI_COL_DIMS], dilation[DYNC__OI_COL_DIMS];
    int64_t total = 1, kernel = 1, windows = 1;
    if (!dync__oi_dims(c, dync__oi_in(c, 1), &image) ||
        !dync__oi_dims(c, dync__oi_in(c, 2), &block))
        return dync_error() ? dync_error() : dync__oi_fail(c, DYNC_ERR_FORMAT, "no shape");
    int n = image.n;
    if (n < 1 || n > DYNC__OI_COL_DIMS || block.n != n || d.n != 3)
        return dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "%d spatial dimensions", n);
    dync__oi_numbers(c, "pads", 2 * n, 0, pad);
    dync__oi_numbers(c, "strides", n, 1, stride);
    dync__oi_numbers(c, "dilations", n, 1, dilation);
    for (int i = 0; i < n; i++) {
        int64_t most = INT64_C(1) << 24;
        if (image.d[i] < 1 || block.d[i] < 1 || stride[i] < 1 || dilation[i] < 1 || pad[i] < 0 ||
            pad[n + i] < 0 || image.d[i] > most || block.d[i] > most || dilation[i] > most ||
            pad[i] > most || pad[n + i] > most || !dync__mul_ok(total, image.d[i], &total) ||
            !dync__mul_ok(kernel, block.d[i], &kernel))
            return dync__oi_fail(c, DYNC_ERR_FORMAT, "sizes, strides, dilations or pads");
        int64_t room = image.d[i] + pad[i] + pad[n + i] - (block.d[i] - 1) * dilation[i] - 1;
        int64_t count = room < 0 ? 0 : room / stride[i] + 1;
        windows = dync__mul_ok(windows, count, &windows) ? windows : -1;
        dync_tensor *p = dync__oi_window_places(block.d[i], count, dilation[i], stride[i], pad[i],
                                                i, n + i, 2 * n);
        dync_tensor *inside = p ? dync_logical_and(dync_ge(p, 0), dync_lt(p, image.d[i])) : NULL;
        if (!inside) return dync_error();
        flat = flat ? dync_add(dync_mul(flat, image.d[i]), p) : p;
        in = in ? dync_logical_and(in, inside) : inside;
    }
    if (d.d[1] % kernel || d.d[2] != windows)
        return dync__oi_fail(c, DYNC_ERR_SHAPE, "%lld windows of %lld elements", (long long)windows,
                             (long long)kernel);
    /* what lies in the padding is collected behind the image */
    flat = flat && in ? dync_where(in, flat, total) : NULL;
    flat = flat ? dync_reshape(flat, dync_shape(kernel * windows)) : NULL;
    int64_t rows = d.d[0] * (d.d[1] / kernel);
    x = flat ? dync_reshape(x, dync_shape(rows, kernel * windows)) : NULL;
    x = x ? dync_index_add(dync__oi_full(dync_shape(rows, total + 1), 0, dync__oi_type(x)), 1, flat,
                           x)
          : NULL;
    dync_dims out = {2, {d.d[0], d.d[1] / kernel}};
    for (int i = 0; i < n; i++) out.d[out.n++] = image.d[i];
    x = x ? dync__oi_narrow(x, 1, 0, total) : NULL;
    return dync__oi_out(c, 0, x ? dync_reshape(x, out) : NULL);
}

/* Sizes of a convolution whose windows read where offsets say. */
typedef struct dync__oi_deform {
    int64_t groups, moved, kernel[2], out[2], stride[2], dilation[2], pad[4];
    dync_dims x, k; /* [N, C, H, W], [M, C / groups, kernel] */
} dync__oi_deform;

/* Reads and checks the node's attributes and shapes: offsets [N, offset_group * 2 * kernel, oh,
 * ow], mask [N, offset_group * kernel, oh, ow] or none. Bounds keep all products within 64 bits. */
static bool dync__oi_deform_of(const dync__onnx_call *c, dync__oi_deform *o)
{
    o->x = dync__oi_shape(dync__oi_in(c, 0));
    o->k = dync__oi_shape(dync__oi_in(c, 1));
    o->groups = dync__oi_int(c, "group");
    o->moved = dync__oi_int(c, "offset_group");
    dync__oi_numbers(c, "pads", 4, 0, o->pad);
    dync__oi_numbers(c, "strides", 2, 1, o->stride);
    dync__oi_numbers(c, "dilations", 2, 1, o->dilation);
    dync_dims f = dync__oi_shape(dync__oi_in(c, 2)), m = dync__oi_shape(dync__oi_in(c, 4));
    bool ok = o->x.n == 4 && o->k.n == 4 && f.n == 4 && o->groups > 0 && o->moved > 0 &&
              o->x.d[1] > 0 && o->x.d[1] % o->groups == 0 && o->x.d[1] / o->groups == o->k.d[1] &&
              o->k.d[0] % o->groups == 0 && o->x.d[1] % o->moved == 0 && o->x.d[2] > 0 &&
              o->x.d[3] > 0;
    for (int i = 0; ok && i < 2; i++) {
        o->kernel[i] = o->k.d[2 + i];
        o->out[i] = f.d[2 + i];
        ok = o->stride[i] > 0 && o->dilation[i] > 0 && o->kernel[i] > 0 && o->pad[i] >= 0 &&
             o->kernel[i] < 1 << 16 && o->stride[i] < 1 << 24 && o->dilation[i] < 1 << 24 &&
             o->pad[i] < 1 << 24 && o->pad[2 + i] >= 0 && o->pad[2 + i] < 1 << 24;
        int64_t room = ok ? o->x.d[2 + i] + o->pad[i] + o->pad[2 + i] -
                                (o->kernel[i] - 1) * o->dilation[i] - 1
                          : -1;
        ok = room >= 0 && o->out[i] == room / o->stride[i] + 1;
    }
    int64_t each = 0;
    ok = ok && dync__mul_ok(o->kernel[0] * o->kernel[1], o->moved, &each) && each < INT64_MAX / 2 &&
         f.d[0] == o->x.d[0] && f.d[1] == 2 * each &&
         (!dync__oi_in(c, 4) || (m.n == 4 && m.d[0] == o->x.d[0] && m.d[1] == each &&
                                 m.d[2] == o->out[0] && m.d[3] == o->out[1]));
    if (!ok) dync__oi_fail(c, DYNC_ERR_SHAPE, "the window, the offsets or the mask do not fit");
    return ok;
}

/* What the windows read, moved by the offsets (y before x) and times the mask: [N, C, kernel, out
 * places]. Each of the `moved` groups of channels has offsets of its own, so it counts as a batch.
 */
static dync_tensor *dync__oi_deform_columns(const dync__onnx_call *c, const dync__oi_deform *o)
{
    int64_t n = o->x.d[0] * o->moved, k = o->kernel[0] * o->kernel[1], p = o->out[0] * o->out[1];
    int64_t each = o->x.d[1] / o->moved;
    dync_tensor *place[2], *y = NULL, *mask = dync__oi_in(c, 4);
    dync_tensor *move = dync_to_dtype(dync__oi_in(c, 2), DYNC_F32);
    move = dync_reshape(move, dync_shape(n, o->kernel[0], o->kernel[1], 2, o->out[0], o->out[1]));
    for (int i = 0; i < 2; i++) {
        dync_tensor *base = dync__oi_window_places(o->kernel[i], o->out[i], o->dilation[i],
                                                   o->stride[i], o->pad[i], 1 + i, 3 + i, 5);
        place[i] = move && base ? dync_add(dync_select(move, 3, i), base) : NULL;
        place[i] = place[i] ? dync_reshape(place[i], dync_shape(n, k * p)) : NULL;
        if (!place[i]) return NULL;
    }
    dync__oi_sample s = {place[0], place[1], o->x.d[2], o->x.d[3]};
    dync_tensor *x = dync_reshape(dync__oi_in(c, 0), dync_shape(n, each, s.h * s.w));
    for (int corner = 0; corner < 4; corner++) {
        dync_tensor *one = x ? dync__oi_corner_values(x, &s, corner) : NULL;
        y = !one ? NULL : y ? dync_add(y, one) : one;
        if (!y) return NULL;
    }
    if (mask) y = dync_mul(y, dync_reshape(mask, dync_shape(n, 1, k * p)));
    return y ? dync_reshape(y, dync_shape(o->x.d[0], o->x.d[1], k, p)) : NULL;
}

/* The kernel as a matrix [M / group, C / group * kernel] times the columns. Dai et al. 2017,
 * arXiv:1703.06211; with a mask Zhu et al. 2018, arXiv:1811.11168. */
DYNC__FN dync_status dync__oi_deform_conv(dync__onnx_call *c)
{
    dync__oi_deform o;
    dync_tensor *k = dync__oi_in(c, 1), *bias = dync__oi_in(c, 3), *x, *y;
    if (!dync__oi_deform_of(c, &o)) return dync_error();
    x = dync__oi_deform_columns(c, &o);
    int64_t rows = o.k.d[1] * o.kernel[0] * o.kernel[1], p = o.out[0] * o.out[1];
    x = x ? dync_reshape(x, dync_shape(o.x.d[0], o.groups, rows, p)) : NULL;
    k = dync_reshape(k, dync_shape(1, o.groups, o.k.d[0] / o.groups, rows));
    y = x && k ? dync_matmul(k, x) : NULL;
    y = y ? dync_reshape(y, dync_shape(o.x.d[0], o.k.d[0], o.out[0], o.out[1])) : NULL;
    if (y && bias) y = dync_add(y, dync__oi_channels(bias, 4));
    return dync__oi_out(c, 0, y);
}
