/* onnx/out_conv.c: convolutions, pooling and their gradients as ONNX nodes. After out_move.c. */
#include "../dync.in.h"
#if !defined(DYNC_NO_ONNX)
#include "out_rows.h"
DYNC__COLD

DYNC__FN void dync__ox_window(const dync__ox *w, int i, int n, int64_t otherwise, int64_t *out)
{
    const dync__arg *a = dync__ox_arg(w, i);
    for (int d = 0; d < n; d++)
        out[d] = a->kind == DYNC__A_INT ? a->as.i
                 : a->n == 0            ? otherwise
                 : a->n == 1            ? a->as.dims[0]
                                        : a->as.dims[d];
}

DYNC__FN void dync__ox_set_pads(dync__ox *w, int n, const int64_t *pad, const int64_t *after)
{
    int64_t pads[2 * DYNC_MAX_DIMS];
    for (int d = 0; d < n; d++) pads[d] = pad[d], pads[n + d] = after[d];
    dync__ox_set_ints(w, "pads", 2 * n, pads);
}

/* ---- convolutions ---------------------------------------------------------------------------- */

/* (input, weight, bias, stride, padding, dilation, groups) */
DYNC__FN dync__ox_name dync__ox_conv(dync__ox *w)
{
    int64_t stride[3], pad[3], dilation[3];
    int dtype = dync__ox_of(w, 0)->dtype, type = dync__ox_wide(dtype);
    int n = dync__ox_of(w, 1)->lay.ndim - 2;
    dync__ox_name in[3] = {dync__ox_wide_in(w, 0), dync__ox_wide_in(w, 1), ""};
    if (dync__ox_has(w, 2)) in[2] = dync__ox_wide_in(w, 2);
    dync__ox_window(w, 3, n, 1, stride);
    dync__ox_window(w, 4, n, 0, pad);
    dync__ox_window(w, 5, n, 1, dilation);
    dync__ox_name x = dync__ox_emit(w, "Conv", dync__ox_has(w, 2) ? 3 : 2, in);
    dync__ox_set_ints(w, "strides", n, stride);
    dync__ox_set_pads(w, n, pad, pad);
    dync__ox_set_ints(w, "dilations", n, dilation);
    dync__ox_set_i(w, "group", dync__ox_arg(w, 6)->as.i);
    return dync__ox_as_out(w, x, type, 0);
}

/* Input and weight of I8, sums and bias of I32. ONNX Runtime takes inputs of U8, so that the input
 * moves by 128, its zero point. */
DYNC__FN dync__ox_name dync__ox_int_conv(dync__ox *w)
{
    int64_t stride[2], pad[2], dilation[2], channels[4] = {1, -1, 1, 1};
    dync__ox_name moved = dync__ox_cast(w, dync__ox_in(w, 0), DYNC_I8, DYNC_I32);
    moved = dync__ox_op2(w, "Add", moved, dync__ox_scalar(w, DYNC_I32, 128));
    dync__ox_name in[3] = {dync__ox_cast(w, moved, DYNC_I32, DYNC_U8), dync__ox_in(w, 1),
                           dync__ox_scalar(w, DYNC_U8, 128)};
    dync__ox_window(w, 3, 2, 1, stride);
    dync__ox_window(w, 4, 2, 0, pad);
    dync__ox_window(w, 5, 2, 1, dilation);
    dync__ox_name y = dync__ox_emit(w, "ConvInteger", 3, in);
    dync__ox_set_ints(w, "strides", 2, stride);
    dync__ox_set_pads(w, 2, pad, pad);
    dync__ox_set_ints(w, "dilations", 2, dilation);
    dync__ox_set_i(w, "group", dync__ox_arg(w, 6)->as.i);
    if (!dync__ox_has(w, 2)) return y;
    return dync__ox_op2(w, "Add", y, dync__ox_reshape(w, dync__ox_in(w, 2), 4, channels));
}

/* (input, weight, bias, stride, padding, output_padding, groups, dilation) */
DYNC__FN dync__ox_name dync__ox_conv_transpose(dync__ox *w)
{
    int64_t stride[2], pad[2], extra[2], dilation[2];
    int type = dync__ox_wide(dync__ox_of(w, 0)->dtype);
    dync__ox_name in[3] = {dync__ox_wide_in(w, 0), dync__ox_wide_in(w, 1), ""};
    if (dync__ox_has(w, 2)) in[2] = dync__ox_wide_in(w, 2);
    dync__ox_window(w, 3, 2, 1, stride);
    dync__ox_window(w, 4, 2, 0, pad);
    dync__ox_window(w, 5, 2, 0, extra);
    dync__ox_window(w, 7, 2, 1, dilation);
    dync__ox_name x = dync__ox_emit(w, "ConvTranspose", dync__ox_has(w, 2) ? 3 : 2, in);
    dync__ox_set_ints(w, "strides", 2, stride);
    dync__ox_set_pads(w, 2, pad, pad);
    dync__ox_set_ints(w, "output_padding", 2, extra);
    dync__ox_set_ints(w, "dilations", 2, dilation);
    dync__ox_set_i(w, "group", dync__ox_arg(w, 6)->as.i);
    return dync__ox_as_out(w, x, type, 0);
}

typedef struct dync__ox_conv_grad {
    const dync__layout *grad, *input, *weight;
    int64_t stride[2], pad[2], dilation[2], groups;
    dync__ox_name g;
    int type;
} dync__ox_conv_grad;

/* What the stride left over at the end comes back as output_padding. */
static dync__ox_name dync__ox_conv_input_grad(dync__ox *w, const dync__ox_conv_grad *c)
{
    int64_t extra[2];
    for (int d = 0; d < 2; d++)
        extra[d] = c->input->shape[2 + d] -
                   ((c->grad->shape[2 + d] - 1) * c->stride[d] - 2 * c->pad[d] +
                    c->dilation[d] * (c->weight->shape[2 + d] - 1) + 1);
    dync__ox_name x = dync__ox_op2(w, "ConvTranspose", c->g, dync__ox_wide_in(w, 2));
    dync__ox_set_ints(w, "strides", 2, c->stride);
    dync__ox_set_pads(w, 2, c->pad, c->pad);
    dync__ox_set_ints(w, "output_padding", 2, extra);
    dync__ox_set_ints(w, "dilations", 2, c->dilation);
    dync__ox_set_i(w, "group", c->groups);
    return x;
}

/* The input convolved by the gradient: channels of a group become the batch, the batch the
 * channels; stride and dilation change places. Places beyond the kernel are cut off. */
static dync__ox_name dync__ox_conv_weight_grad(dync__ox *w, const dync__ox_conv_grad *c)
{
    const int64_t *in = c->input->shape, *out = c->grad->shape, *k = c->weight->shape;
    int64_t g = c->groups, c_in = in[1] / g, m = out[1] / g;
    const int64_t split[5] = {in[0], g, c_in, in[2], in[3]}, by_group[5] = {2, 1, 0, 3, 4},
                  joined[4] = {c_in, g * in[0], in[2], in[3]},
                  out_split[5] = {out[0], g, m, out[2], out[3]}, out_group[5] = {1, 2, 0, 3, 4},
                  filters[4] = {g * m, out[0], out[2], out[3]}, back[4] = {1, 0, 2, 3};
    dync__ox_name x = dync__ox_reshape(w, dync__ox_wide_in(w, 1), 5, split);
    x = dync__ox_reshape(w, dync__ox_transposed(w, x, 5, by_group), 4, joined);
    dync__ox_name y = dync__ox_reshape(w, c->g, 5, out_split);
    y = dync__ox_reshape(w, dync__ox_transposed(w, y, 5, out_group), 4, filters);
    x = dync__ox_op2(w, "Conv", x, y);
    dync__ox_set_ints(w, "strides", 2, c->dilation);
    dync__ox_set_pads(w, 2, c->pad, c->pad);
    dync__ox_set_ints(w, "dilations", 2, c->stride);
    dync__ox_set_i(w, "group", g);
    for (int d = 0; d < 2; d++) x = dync__ox_sliced(w, x, 2 + d, 0, k[2 + d], 1);
    return dync__ox_transposed(w, x, 4, back);
}

static dync__ox_name dync__ox_nothing(dync__ox *w, int k)
{
    const dync__info *out = &w->node->info[k];
    return dync__ox_expand(w, dync__ox_scalar(w, out->dtype, 0), out->lay.ndim, out->lay.shape);
}

/* (grad, input, weight, stride, padding, dilation, groups, three masks) */
DYNC__FN dync__ox_name dync__ox_conv_backward(dync__ox *w)
{
    static const int64_t sums[3] = {0, 2, 3};
    dync__ox_conv_grad c = {.grad = &dync__ox_of(w, 0)->lay,
                            .input = &dync__ox_of(w, 1)->lay,
                            .weight = &dync__ox_of(w, 2)->lay,
                            .groups = dync__ox_arg(w, 6)->as.i,
                            .type = dync__ox_wide(dync__ox_of(w, 0)->dtype)};
    if (dync__layout_has_tokens(c.input) || dync__layout_has_tokens(c.weight) ||
        dync__layout_has_tokens(c.grad))
        return dync__ox_refuse(w, "the gradient of a convolution of symbolic sizes");
    dync__ox_window(w, 3, 2, 1, c.stride);
    dync__ox_window(w, 4, 2, 0, c.pad);
    dync__ox_window(w, 5, 2, 1, c.dilation);
    c.g = dync__ox_wide_in(w, 0);
    for (int k = 0; k < 3; k++) {
        dync__ox_name x;
        if (!dync__ox_arg(w, 7 + k)->as.i) {
            dync__ox_give(w, k, dync__ox_nothing(w, k));
            continue;
        }
        if (k < 2)
            x = k == 0 ? dync__ox_conv_input_grad(w, &c) : dync__ox_conv_weight_grad(w, &c);
        else
            x = dync__ox_op2(w, "ReduceSum", c.g, dync__ox_ints(w, 3, sums));
        if (k == 2) dync__ox_set_i(w, "keepdims", 0);
        dync__ox_give(w, k, dync__ox_as_out(w, x, c.type, k));
    }
    return NULL;
}

/* ---- pooling --------------------------------------------------------------------------------- */

/* Poolings take [N, C, H, W]; [C, H, W] gets a batch of one. */
static dync__ox_name dync__ox_planes(dync__ox *w, dync__ox_name x, const dync__layout *lay)
{
    if (lay->ndim == 4) return x;
    return dync__ox_op2(w, "Unsqueeze", x, dync__ox_ints(w, 1, &(int64_t){0}));
}
static dync__ox_name dync__ox_unplanes(dync__ox *w, dync__ox_name x, const dync__layout *lay)
{
    if (lay->ndim == 4) return x;
    return dync__ox_op2(w, "Squeeze", x, dync__ox_ints(w, 1, &(int64_t){0}));
}

/* (self, kernel, stride, padding, ...): what ceil_mode adds at the end is padding after, so that
 * ONNX need not round by itself, but for symbolic sizes. Else it is the same on both sides. */
static void dync__ox_pool(dync__ox *w, int arg, const int64_t *in, const int64_t *out,
                          int64_t *kernel, int64_t *stride, int64_t *pad, int64_t *after,
                          const int64_t *dilation)
{
    dync__ox_window(w, arg, 2, 1, kernel);
    dync__ox_window(w, arg + 1, 2, 0, stride);
    dync__ox_window(w, arg + 2, 2, 0, pad);
    for (int d = 0; d < 2; d++) {
        if (stride[d] == 0) stride[d] = kernel[d];
        int64_t need = (out[d] - 1) * stride[d] + dilation[d] * (kernel[d] - 1) + 1;
        bool plain = !dync__is_token(in[d]) && !dync__is_token(out[d]);
        int64_t room = plain ? need - in[d] - pad[d] : pad[d];
        bool even = room <= pad[d] && pad[d] < room + stride[d]; /* as many windows fit */
        after[d] = even ? pad[d] : DYNC__MAX(room, 0);
    }
}

DYNC__FN dync__ox_name dync__ox_max_pool(dync__ox *w)
{
    const dync__layout *lay = &dync__ox_of(w, 0)->lay, *to = &w->node->info[0].lay;
    const int64_t *in = lay->shape + lay->ndim - 2, *out = to->shape + to->ndim - 2;
    int64_t kernel[2], stride[2], pad[2], after[2], dilation[2];
    int dtype = dync__ox_of(w, 0)->dtype, type = dync__ox_wide(dtype);
    bool bytes = dtype == DYNC_I8 || dtype == DYNC_U8; /* as they are */
    if (type != DYNC_F32 && type != DYNC_F64 && !bytes)
        return dync__ox_refuse(w, "pooling of integers of more than 8 bits");
    if (bytes) type = dtype;
    dync__ox_window(w, 4, 2, 1, dilation);
    dync__ox_pool(w, 1, in, out, kernel, stride, pad, after, dilation);
    bool up = dync__ox_arg(w, 5)->as.i != 0 && dync__any_token(in[0], in[1]);
    if (up) memcpy(after, pad, sizeof after);
    dync__ox_name x = bytes ? dync__ox_in(w, 0) : dync__ox_wide_in(w, 0);
    x = dync__ox_op1(w, "MaxPool", dync__ox_planes(w, x, lay));
    dync__ox_set_ints(w, "kernel_shape", 2, kernel);
    dync__ox_set_ints(w, "strides", 2, stride);
    dync__ox_set_ints(w, "dilations", 2, dilation);
    dync__ox_set_pads(w, 2, pad, after);
    if (up) dync__ox_set_i(w, "ceil_mode", 1);
    if (!dync__ox_used(w, 1)) {
        dync__ox_give(w, 0, dync__ox_as_out(w, dync__ox_unplanes(w, x, lay), type, 0));
        return NULL;
    }
    /* counted over the whole tensor there, in the plane here */
    dync__ox_name place = dync__ox_more(w);
    dync__ox_name plane =
        dync__ox_op2(w, "Mul", dync__ox_size_of(w, in[0]), dync__ox_size_of(w, in[1]));
    place = dync__ox_op2(w, "Mod", place, plane);
    dync__ox_give(w, 0, dync__ox_as_out(w, dync__ox_unplanes(w, x, lay), type, 0));
    dync__ox_give(w, 1, dync__ox_unplanes(w, place, lay));
    return NULL;
}

/* (grad, self, indices): sums at the places of each plane. */
DYNC__FN dync__ox_name dync__ox_max_pool_backward(dync__ox *w)
{
    const dync__layout *lay = &w->node->info[0].lay, *from = &dync__ox_of(w, 0)->lay;
    int n = lay->ndim, type = dync__ox_wide(w->node->info[0].dtype);
    int64_t flat[3] = {1, 1, 1}, flat_grad[3];
    if (dync__layout_has_tokens(lay) || dync__layout_has_tokens(from))
        return dync__ox_refuse(w, "the gradient of pooling of symbolic sizes");
    for (int d = 0; d < n - 2; d++) flat[1] *= lay->shape[d];
    flat[2] = lay->shape[n - 2] * lay->shape[n - 1];
    memcpy(flat_grad, flat, sizeof flat);
    flat_grad[2] = from->shape[n - 2] * from->shape[n - 1];
    dync__ox_name x = dync__ox_op3(w, "ScatterElements",
                                   dync__ox_expand(w, dync__ox_scalar(w, type, 0), 3, flat),
                                   dync__ox_reshape(w, dync__ox_in(w, 2), 3, flat_grad),
                                   dync__ox_reshape(w, dync__ox_wide_in(w, 0), 3, flat_grad));
    dync__ox_set_i(w, "axis", 2);
    dync__ox_set_s(w, "reduction", "add");
    dync__ox_from_front(w);
    return dync__ox_as_out(w, dync__ox_reshape(w, x, n, lay->shape), type, 0);
}

/* How many elements each window of a dim is a mean of: of the input alone, or with the padding that
 * is not there for rounding up. */
static double dync__ox_window_count(int64_t place, int64_t in, int64_t kernel, int64_t stride,
                                    int64_t pad, bool with_pad)
{
    int64_t start = place * stride - pad, end = DYNC__MIN(start + kernel, in + pad);
    if (with_pad) return (double)(end - start);
    return (double)(DYNC__MIN(end, in) - DYNC__MAX(start, 0));
}

/* 1 / count, as [1, 1, OH, OW] */
static dync__ox_name dync__ox_window_shares(dync__ox *w, int type, const int64_t *in,
                                            const int64_t *out, const int64_t *kernel,
                                            const int64_t *stride, const int64_t *pad,
                                            bool with_pad)
{
    int64_t shape[4] = {1, 1, out[0], out[1]}, n = out[0] * out[1];
    size_t bytes = (size_t)n * (type == DYNC_F64 ? 8 : 4);
    double *wide = dync__arena_alloc(w->arena, (size_t)(n + 1) * 8);
    float *narrow = (float *)(void *)wide;
    for (int64_t i = 0; wide && i < n; i++) {
        double count = 1;
        const int64_t at[2] = {i / out[1], i % out[1]};
        for (int d = 0; d < 2; d++)
            count *= dync__ox_window_count(at[d], in[d], kernel[d], stride[d], pad[d], with_pad);
        if (type == DYNC_F64)
            wide[i] = 1 / count;
        else
            narrow[i] = (float)(1 / count);
    }
    if (!wide) return w->status = DYNC_ERR_MEMORY, "";
    return dync__ox_data(w, NULL, type, 4, shape, wide, bytes);
}

/* AveragePool; where sizes are rounded up, and windows reach beyond the input, sums over windows
 * times constant shares: AveragePool would count otherwise at the edges. */
DYNC__FN dync__ox_name dync__ox_avg_pool(dync__ox *w)
{
    static const int64_t none[2] = {1, 1};
    const dync__layout *lay = &dync__ox_of(w, 0)->lay, *to = &w->node->info[0].lay;
    const int64_t *in = lay->shape + lay->ndim - 2, *out = to->shape + to->ndim - 2;
    int64_t kernel[2], stride[2], pad[2], after[2];
    int type = dync__ox_wide(dync__ox_of(w, 0)->dtype);
    dync__ox_pool(w, 1, in, out, kernel, stride, pad, after, none);
    bool plain = !dync__is_token(in[0]) && !dync__is_token(in[1]), edge = false,
         up = dync__ox_arg(w, 4)->as.i != 0, all = dync__ox_arg(w, 5)->as.i != 0;
    bool open = up && !plain; /* ONNX rounds */
    for (int d = 0; d < 2; d++) edge = edge || pad[d] || after[d];
    if (open) up = false;
    if (type != DYNC_F32 && type != DYNC_F64) return dync__ox_refuse(w, "pooling of integers");
    dync__ox_name x = dync__ox_planes(w, dync__ox_wide_in(w, 0), lay);
    if (edge && up) {
        int64_t pads[8] = {0, 0, pad[0], pad[1], 0, 0, after[0], after[1]};
        x = dync__ox_op3(w, "Pad", x, dync__ox_ints(w, 8, pads), dync__ox_scalar(w, type, 0));
    }
    x = dync__ox_op1(w, "AveragePool", x);
    dync__ox_set_ints(w, "kernel_shape", 2, kernel);
    dync__ox_set_ints(w, "strides", 2, stride);
    if (edge && !up) dync__ox_set_pads(w, 2, pad, pad);
    if (!up && all) dync__ox_set_i(w, "count_include_pad", 1);
    if (open) dync__ox_set_i(w, "ceil_mode", 1);
    if (edge && up) {
        x = dync__ox_op2(w, "Mul", x, dync__ox_scalar(w, type, (double)(kernel[0] * kernel[1])));
        x = dync__ox_op2(w, "Mul", x,
                         dync__ox_window_shares(w, type, in, out, kernel, stride, pad, all));
    }
    return dync__ox_as_out(w, dync__ox_unplanes(w, x, lay), type, 0);
}

/* (grad, self, kernel, stride, padding, ceil_mode, count_include_pad): each share of the gradient
 * spread over its window by a transposed convolution of ones, a plane at a time. */
DYNC__FN dync__ox_name dync__ox_avg_pool_backward(dync__ox *w)
{
    static const int64_t none[2] = {1, 1};
    const dync__layout *lay = &w->node->info[0].lay, *from = &dync__ox_of(w, 0)->lay;
    int n = lay->ndim, type = dync__ox_wide(w->node->info[0].dtype);
    const int64_t *in = lay->shape + n - 2, *out = from->shape + n - 2;
    int64_t kernel[2], stride[2], pad[2], after[2], planes = 1;
    if (dync__layout_has_tokens(lay) || dync__layout_has_tokens(from))
        return dync__ox_refuse(w, "the gradient of pooling of symbolic sizes");
    dync__ox_pool(w, 2, in, out, kernel, stride, pad, after, none);
    for (int d = 0; d < n - 2; d++) planes *= lay->shape[d];
    int64_t flat[4] = {planes, 1, out[0], out[1]}, ones[4] = {1, 1, kernel[0], kernel[1]};
    dync__ox_name g = dync__ox_reshape(w, dync__ox_wide_in(w, 0), 4, flat);
    g = dync__ox_op2(w, "Mul", g,
                     dync__ox_window_shares(w, type, in, out, kernel, stride, pad,
                                            dync__ox_arg(w, 6)->as.i != 0));
    dync__ox_name x = dync__ox_op2(w, "ConvTranspose", g,
                                   dync__ox_expand(w, dync__ox_scalar(w, type, 1), 4, ones));
    dync__ox_set_ints(w, "strides", 2, stride);
    for (int d = 0; d < 2; d++) { /* from the padded plane: what lies in the input; the rest is 0 */
        int64_t have = (out[d] - 1) * stride[d] + kernel[d], end = DYNC__MIN(pad[d] + in[d], have),
                pads[8] = {0};
        x = dync__ox_sliced(w, x, 2 + d, pad[d], end, 1);
        pads[6 + d] = pad[d] + in[d] - end;
        if (pads[6 + d])
            x = dync__ox_op3(w, "Pad", x, dync__ox_ints(w, 8, pads), dync__ox_scalar(w, type, 0));
    }
    return dync__ox_as_out(w, dync__ox_reshape(w, x, n, lay->shape), type, 0);
}

DYNC__FN dync__ox_name dync__ox_global_pool(dync__ox *w)
{
    int type = dync__ox_wide(dync__ox_of(w, 0)->dtype);
    return dync__ox_as_out(w, dync__ox_op1(w, "GlobalAveragePool", dync__ox_wide_in(w, 0)), type,
                           0);
}
#endif
