/* onnx/out_image.c: images read between their places, regions, columns of windows and Fourier
 * transforms as ONNX nodes. After out_layers.c. */
#include "../dync.in.h"
#if !defined(DYNC_NO_ONNX)
#include "out_rows.h"
DYNC__COLD

DYNC__FN dync__ox_name dync__ox_upsample(dync__ox *w)
{
    const dync__layout *out = &w->node->info[0].lay;
    dync__ox_name in[4] = {dync__ox_in(w, 0), "", "", dync__ox_shape(w, out->ndim, out->shape)};
    dync__ox_name x = dync__ox_emit(w, "Resize", 4, in);
    dync__ox_set_s(w, "mode", "nearest");
    dync__ox_set_s(w, "coordinate_transformation_mode", "asymmetric");
    dync__ox_set_s(w, "nearest_mode", "floor");
    return x;
}

/* (self, output_size, align_corners); the row says linear or cubic */
DYNC__FN dync__ox_name dync__ox_resize(dync__ox *w)
{
    const dync__layout *out = &w->node->info[0].lay;
    dync__ox_name in[4] = {dync__ox_wide_in(w, 0), "", "",
                           dync__ox_shape(w, out->ndim, out->shape)};
    dync__ox_name x = dync__ox_emit(w, "Resize", 4, in);
    dync__ox_set_s(w, "mode", dync__ox_row_of(w->node->op)->f);
    dync__ox_set_s(w, "coordinate_transformation_mode",
                   dync__ox_arg(w, 2)->as.i ? "align_corners" : "half_pixel");
    return dync__ox_as_out(w, x, dync__ox_wide(dync__ox_of(w, 0)->dtype), 0);
}

DYNC__FN dync__ox_name dync__ox_pixel_shuffle(dync__ox *w)
{
    dync__ox_name x = dync__ox_op1(w, "DepthToSpace", dync__ox_wide_in(w, 0));
    int type = dync__ox_wide(dync__ox_of(w, 0)->dtype);
    dync__ox_set_i(w, "blocksize", dync__ox_arg(w, 1)->as.i);
    dync__ox_set_s(w, "mode", "CRD");
    return dync__ox_as_out(w, x, type, 0);
}

/* (input, grid, mode, padding_mode, align_corners): the names are those of opset 16 */
DYNC__FN dync__ox_name dync__ox_grid_sample(dync__ox *w)
{
    int type = dync__ox_wide(dync__ox_of(w, 0)->dtype);
    dync__ox_name x = dync__ox_op2(w, "GridSample", dync__ox_wide_in(w, 0), dync__ox_wide_in(w, 1));
    dync__ox_set_s(w, "mode", dync__ox_arg(w, 2)->as.s);
    dync__ox_set_s(w, "padding_mode", dync__ox_arg(w, 3)->as.s);
    dync__ox_set_i(w, "align_corners", dync__ox_arg(w, 4)->as.i != 0);
    return dync__ox_as_out(w, x, type, 0);
}

/* (input, boxes [K, 4], image [K], output_size, spatial_scale, samples, aligned, most) */
DYNC__FN dync__ox_name dync__ox_roi_align(dync__ox *w)
{
    const dync__layout *out = &w->node->info[0].lay;
    int type = dync__ox_wide(dync__ox_of(w, 0)->dtype);
    dync__ox_name x = dync__ox_op3(w, "RoiAlign", dync__ox_wide_in(w, 0), dync__ox_wide_in(w, 1),
                                   dync__ox_in(w, 2));
    dync__ox_from_front(w);
    dync__ox_set_s(w, "mode", dync__ox_arg(w, 7)->as.i ? "max" : "avg");
    dync__ox_set_i(w, "output_height", out->shape[2]);
    dync__ox_set_i(w, "output_width", out->shape[3]);
    dync__ox_set_f(w, "spatial_scale", dync__arg_number(dync__ox_arg(w, 4)));
    dync__ox_set_i(w, "sampling_ratio", dync__ox_arg(w, 5)->as.dims[0]);
    dync__ox_set_s(w, "coordinate_transformation_mode",
                   dync__ox_arg(w, 6)->as.i ? "half_pixel" : "output_half_pixel");
    return dync__ox_as_out(w, x, type, 0);
}

/* (self, output_size, kernel_size, dilation, padding, stride) */
DYNC__FN dync__ox_name dync__ox_col2im(dync__ox *w)
{
    int64_t kernel[2], dilation[2], pad[2], stride[2];
    const dync__arg *size = dync__ox_arg(w, 1);
    int type = dync__ox_wide(dync__ox_of(w, 0)->dtype);
    dync__ox_window(w, 2, 2, 1, kernel);
    dync__ox_window(w, 3, 2, 1, dilation);
    dync__ox_window(w, 4, 2, 0, pad);
    dync__ox_window(w, 5, 2, 1, stride);
    dync__ox_name x = dync__ox_op3(w, "Col2Im", dync__ox_wide_in(w, 0),
                                   dync__ox_shape(w, 2, size->as.dims),
                                   dync__ox_ints(w, 2, kernel));
    dync__ox_set_ints(w, "dilations", 2, dilation);
    dync__ox_set_pads(w, 2, pad, pad);
    dync__ox_set_ints(w, "strides", 2, stride);
    return dync__ox_as_out(w, x, type, 0);
}

/* (self, n, dim): pairs, or real numbers, which get a last dim of 1; the row says "inverse",
 * "onesided" or nothing */
DYNC__FN dync__ox_name dync__ox_fourier(dync__ox *w)
{
    const dync__layout *lay = &dync__ox_of(w, 0)->lay;
    const char *how = dync__ox_row_of(w->node->op)->f;
    bool real = how && strcmp(how, "onesided") == 0;
    int type = dync__ox_wide(dync__ox_of(w, 0)->dtype),
        axis = dync__ox_axis(w, 2, lay->ndim - !real);
    const dync__arg *n = dync__ox_arg(w, 1);
    dync__ox_name in[2] = {dync__ox_wide_in(w, 0), ""};
    if (real)
        in[0] = dync__ox_op2(w, "Unsqueeze", in[0], dync__ox_ints(w, 1, &(int64_t){lay->ndim}));
    if (dync__arg_is_number(n)) in[1] = dync__ox_int(w, n->as.i);
    dync__ox_name x = dync__ox_emit(w, "DFT", dync__arg_is_number(n) ? 2 : 1, in);
    dync__ox_set_i(w, "axis", axis);
    if (how) dync__ox_set_i(w, how, 1);
    return dync__ox_as_out(w, x, type, 0);
}

/* (self [B, L], n_fft, hop_length, window, onesided): frames and bins change places */
DYNC__FN dync__ox_name dync__ox_stft(dync__ox *w)
{
    static const int64_t order[4] = {0, 2, 1, 3};
    int type = dync__ox_wide(dync__ox_of(w, 0)->dtype);
    dync__ox_name in[4] = {
        dync__ox_op2(w, "Unsqueeze", dync__ox_wide_in(w, 0), dync__ox_ints(w, 1, &(int64_t){2})),
        dync__ox_int(w, dync__ox_arg(w, 2)->as.i),
        dync__ox_has(w, 3) ? dync__ox_cast(w, dync__ox_in(w, 3), dync__ox_of(w, 3)->dtype, type)
                           : "",
        dync__ox_int(w, dync__ox_arg(w, 1)->as.i)};
    dync__ox_name x = dync__ox_emit(w, "STFT", 4, in);
    dync__ox_set_i(w, "onesided", dync__ox_arg(w, 4)->as.i != 0);
    return dync__ox_as_out(w, dync__ox_transposed(w, x, 4, order), type, 0);
}
#endif
