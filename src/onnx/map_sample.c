/* onnx/map_sample.c: ONNX operators that read between the places of an image, or add windows up:
 * RoiAlign, DeformConv, Col2Im. After map_microsoft_attention.c. */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

/* ---- regions --------------------------------------------------------------------------------- */

typedef struct dync__oi_roi {
    dync_dims out, samples; /* of the output; of each of its places, along each dim */
    double scale;
    bool aligned, most;
} dync__oi_roi;

/* x [N, C, H, W], box [R, 4] of x1 y1 x2 y2, of: their images [R] -> [R, C, oh, ow] */
static dync_tensor *dync__oi_roi_align(dync_tensor *x, dync_tensor *box, dync_tensor *of,
                                       const dync__oi_roi *o)
{
    dync__arg args[8] = {dync__arg_h(x),          dync__arg_h(box),
                         dync__arg_h(of),         dync__arg_dims(o->out.n, o->out.d),
                         dync__arg_f(o->scale),   dync__arg_dims(o->samples.n, o->samples.d),
                         dync__arg_b(o->aligned), dync__arg_b(o->most)};
    return x && box && of ? dync__op_call(DYNC__OP__roi_align, 8, args, dync__tls.at) : NULL;
}

/* One region after another, each with as many samples as its size asks for: they are read. */
static dync_tensor *dync__oi_roi_each(const dync__onnx_call *c, dync_tensor *x, dync_tensor *box,
                                      dync_tensor *of, dync__oi_roi *o)
{
    int64_t n = dync__oi_size(box, 0);
    double *all = n <= 1 << 16 ? dync__scope_alloc((size_t)(4 * n + 1) * sizeof *all) : NULL;
    dync_tensor **part = dync__scope_alloc((size_t)(n + 1) * sizeof *part);
    if (!all || !part) return NULL;
    if (dync__oi_read_reals(c, box, (int)(4 * n), all) < 0) return NULL;
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < 2; k++) { /* x1 y1 x2 y2; samples y, x */
            double size = (all[4 * i + 3 - k] - all[4 * i + 1 - k]) * o->scale;
            if (!o->aligned && size < 1) size = 1;
            double each = ceil(size / (double)o->out.d[k]);
            if (!(each <= 4096)) {
                dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "a region of %g", dync__float_shown(size));
                return NULL;
            }
            o->samples.d[k] = each < 1 ? 1 : (int64_t)each;
        }
        part[i] =
            dync__oi_roi_align(x, dync__oi_narrow(box, 0, i, 1), dync__oi_narrow(of, 0, i, 1), o);
        if (!part[i]) return NULL;
    }
    return n ? dync__oi_list((int)n, part, 0, false)
             : dync__oi_full(dync_shape(0, dync__oi_size(x, 1), o->out.d[0], o->out.d[1]), 0,
                             dync__oi_type(x));
}

/* X [N, C, H, W], rois [R, 4] of x1 y1 x2 y2, batch_indices [R] -> [R, C, output_height,
 * output_width]. Until opset 15, or by output_half_pixel, places are not moved by half an element
 * and regions are at least one wide. sampling_ratio 0: as many samples as the region has elements
 * for each of its outputs. */
DYNC__FN dync_status dync__oi_roialign(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *box = dync__oi_in(c, 1), *of = dync__oi_in(c, 2);
    dync__oi_roi o = {
        .out = dync_shape(dync__oi_int(c, "output_height"), dync__oi_int(c, "output_width")),
        .scale = dync__oi_float(c, "spatial_scale"),
        .most = dync__oi_is(c, "mode", "max")};
    int64_t samples = dync__oi_int(c, "sampling_ratio");
    int dtype = dync__oi_type(x);
    if (dync__oi_rank(x) != 4 || dync__oi_rank(box) != 2 || dync__oi_size(box, 1) != 4 ||
        dync__oi_rank(of) != 1 || dync__oi_size(of, 0) != dync__oi_size(box, 0))
        return dync__oi_fail(c, DYNC_ERR_SHAPE, "expected X [N, C, H, W], rois [R, 4]");
    if (o.out.d[0] < 1 || o.out.d[1] < 1 || o.out.d[0] > 4096 || o.out.d[1] > 4096 || samples < 0 ||
        samples > 4096 || dync__oi_size(x, 2) < 1 || dync__oi_size(x, 3) < 1)
        return dync__oi_fail(c, DYNC_ERR_FORMAT, "the output's size or the number of samples");
    o.aligned = c->version >= 16 &&
                !dync__oi_is(c, "coordinate_transformation_mode", "output_half_pixel");
    dync_dtype wide = dtype == DYNC_F64 ? DYNC_F64 : DYNC_F32;
    of = dync__oi_index(c, of, dync__oi_size(x, 0));
    box = dync_to_dtype(box, wide);
    x = dync_to_dtype(x, wide);
    if (!x || !box || !of) return dync_error();
    o.samples = dync_shape(samples, samples);
    x = samples ? dync__oi_roi_align(x, box, of, &o) : dync__oi_roi_each(c, x, box, of, &o);
    if (!x) return dync_error() ? dync_error() : DYNC_ERR_MEMORY;
    return dync__oi_out(c, 0, dync_to_dtype(x, (dync_dtype)dtype));
}

/* ---- windows --------------------------------------------------------------------------------- */

enum { DYNC__OI_COL_DIMS = 3 };

/* Columns of windows [N, C * kernel, windows] added up to images: those that overlap meet. Padding
 * that is not the same on both sides counts as a part of the image, which is cut off. The image's
 * sizes may be symbolic. */
DYNC__FN dync_status dync__oi_col2im(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    dync_dims image, block, whole;
    int64_t pad[2 * DYNC__OI_COL_DIMS];
    if (!dync__oi_read_dims(c, dync__oi_in(c, 1), &image) ||
        !dync__oi_dims(c, dync__oi_in(c, 2), &block))
        return dync_error() ? dync_error() : dync__oi_fail(c, DYNC_ERR_FORMAT, "no shape");
    int n = image.n;
    if (n < 1 || n > DYNC__OI_COL_DIMS || block.n != n || dync__oi_rank(x) != 3)
        return dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "%d spatial dimensions", n);
    dync_dims stride = {n, {0}}, dilation = {n, {0}}, none = {n, {0}}, same = {n, {0}};
    if (!dync__oi_each(c, "pads", 2 * n, pad, 0) || !dync__oi_each(c, "strides", n, stride.d, 1) ||
        !dync__oi_each(c, "dilations", n, dilation.d, 1))
        return dync_error();
    whole = image;
    bool even = true;
    for (int i = 0; i < n; i++) {
        int64_t most = INT64_C(1) << 24;
        if (!dync__oi_between(pad[i], 0, most) || !dync__oi_between(pad[n + i], 0, most) ||
            dync__sz_lt(image.d[i], 1) || (!dync__is_token(image.d[i]) && image.d[i] > most))
            return dync__oi_fail(c, DYNC_ERR_FORMAT, "sizes or pads");
        whole.d[i] = dync__sz_add(image.d[i], pad[i] + pad[n + i]);
        same.d[i] = pad[i];
        even = even && pad[i] == pad[n + i];
    }
    x = dync_col2im(x, even ? image : whole, block, dilation, even ? same : none, stride);
    for (int i = 0; i < n && x && !even; i++) x = dync__oi_narrow(x, 2 + i, pad[i], image.d[i]);
    return dync__oi_out(c, 0, x);
}

/* A convolution whose windows read where offsets say. Padding that is not the same on both sides
 * becomes a part of the input. */
DYNC__FN dync_status dync__oi_deform_conv(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *k = dync__oi_in(c, 1);
    int64_t pad[4], group = dync__oi_int(c, "group");
    dync_dims stride = {2, {0}}, dilation = {2, {0}};
    if (!dync__oi_each(c, "pads", 4, pad, 0) || !dync__oi_each(c, "strides", 2, stride.d, 1) ||
        !dync__oi_each(c, "dilations", 2, dilation.d, 1))
        return dync_error();
    if (dync__oi_rank(x) != 4 || dync__oi_rank(k) != 4 || group < 1 ||
        dync__oi_size(x, 1) != group * dync__oi_size(k, 1))
        return dync__oi_fail(c, DYNC_ERR_SHAPE, "the channels or the groups do not fit");
    for (int i = 0; i < 2; i++) {
        int64_t most = INT64_C(1) << 24;
        if (pad[i] < 0 || pad[2 + i] < 0 || pad[i] > most || pad[2 + i] > most)
            return dync__oi_fail(c, DYNC_ERR_FORMAT, "pads");
        if (pad[0] == pad[2] && pad[1] == pad[3]) continue;
        x = x ? dync__oi_pad_dim(x, 2 + i, pad[i], pad[2 + i], 0) : NULL;
    }
    if (pad[0] != pad[2] || pad[1] != pad[3]) pad[0] = pad[1] = 0;
    return dync__oi_out(c, 0,
                        x ? dync_deform_conv2d(x, dync__oi_in(c, 2), k, dync__oi_in(c, 3), stride,
                                               dync_shape(pad[0], pad[1]), dilation,
                                               dync__oi_in(c, 4))
                          : NULL);
}
