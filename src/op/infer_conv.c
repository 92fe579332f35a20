/* op/infer_conv.c: inference of what slides a window: convolution and pooling. After infer.c.
 *
 * Along one dim of size n, padded by p on both sides, a window of k places that lie d (dilation)
 * apart starts every s (stride) places; it reaches over d (k - 1) + 1 places:
 *
 *   n 7, p 1, k 3, d 2, s 2     . 0 1 2 3 4 5 6 .
 *                               x   x   x              1st of floor((n + 2p - d(k-1) - 1) / s) + 1
 *                                   x   x   x          = 3 windows */
#include "../dync.in.h"
#include "rows.h"
DYNC__COLD

/* ---- windows: convolution and pooling -------------------------------------------------------- */

/* Two numbers, one number twice, or `otherwise` where none is given; symbolic sizes are made
 * numbers (a window as large as the image). what: the argument's name, for messages. Numbers
 * below `low` or beyond an int are refused, so that the arithmetic that follows stays inside of
 * int64. */
static dync_status dync__infer_dims2(const dync__arg *a, const char *what, const int64_t *otherwise,
                                     int64_t low, int64_t out[2])
{
    if (a->n == 0 && otherwise) {
        out[0] = otherwise[0];
        out[1] = otherwise[1];
        return DYNC_OK;
    }
    if (a->n != 1 && a->n != 2)
        return dync__fail(DYNC_ERR_VALUE, "expected one or two numbers for %s, got %d", what, a->n);
    out[0] = dync__sz_number(a->as.dims[0]);
    out[1] = dync__sz_number(a->as.dims[a->n - 1]);
    for (int i = 0; i < 2; i++)
        if (out[i] < low || out[i] > INT_MAX)
            return dync__fail(DYNC_ERR_VALUE, "%s must be at least %lld, got %lld", what,
                              (long long)low, (long long)out[i]);
    return DYNC_OK;
}

/* Places of a window along one dim; sizes are below 2^31 but for `size`, which is an allocated one.
 * 0: not even one fits. ceil_mode (pooling) adds a last window that sticks out, if it starts inside
 * the input or its left padding. */
static int64_t dync__infer_window_count(int64_t size, int64_t kernel, int64_t stride,
                                        int64_t padding, int64_t dilation, bool ceil_mode)
{
    if (dync__any_token(size, kernel)) {
        int64_t left = dync__sz_sub(dync__sz_add(size, 2 * padding - 1),
                                    dync__sz_mul(dilation, dync__sz_sub(kernel, 1)));
        /* Rounding up, where the last window may start outside, is decided for this size alone. */
        bool inside = !ceil_mode ||
                      (!dync__is_token(kernel) && stride + padding < dilation * (kernel - 1) + 2);
        if (!inside || dync__sz_lt(left, 0))
            return dync__infer_window_count(dync__sz_number(size), dync__sz_number(kernel), stride,
                                            padding, dilation, ceil_mode);
        if (ceil_mode) left = dync__sz_add(left, stride - 1);
        return dync__sz_size(dync__sz_add(dync__sz_div(left, stride), 1));
    }
    int64_t reach;
    if (!dync__mul_ok(dilation, kernel - 1, &reach)) return 0;
    int64_t room = size + 2 * padding - reach - 1;
    if (room < 0) return ceil_mode && room > -stride ? 1 : 0;
    int64_t n = (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
    /* the last window must start inside */
    if (ceil_mode && (n - 1) * stride >= size + padding) n--;
    return n;
}

/* sums: the dtype of bias and result, where it is not the input's; -1: the input's, a float input
 * [N, C, H, W], weight [O, C/groups, KH, KW], bias [O] or none; arguments (input, weight, bias,
 * stride, padding, dilation, groups). The result is [N, O, OH, OW], in the format of input or
 * weight. */
static dync_status dync__infer_conv(const dync__opcall *call, int sums, dync__info *out)
{
    dync__tensor *x, *w, *bias;
    int device;
    int64_t channels;
    int64_t stride[2], padding[2], dilation[2], groups = call->args[6].as.i, one[2] = {1, 1},
                                                zero[2] = {0, 0}, shape[4];
    DYNC__TRY(dync__infer_two(call, &x, &w, &device));
    if (sums < 0) DYNC__TRY(dync__infer_floating(x));
    if (sums < 0) sums = x->dtype;
    DYNC__TRY(dync__infer_rank(w, 4, "weight"));
    DYNC__TRY(dync__infer_rank(x, 4, "input"));
    DYNC__TRY(dync__infer_dims2(&call->args[3], "stride", one, 1, stride));
    DYNC__TRY(dync__infer_dims2(&call->args[4], "padding", zero, 0, padding));
    DYNC__TRY(dync__infer_dims2(&call->args[5], "dilation", one, 1, dilation));
    if (groups >= 1 && w->lay.shape[0] == 0)
        return dync__fail(DYNC_ERR_SHAPE,
                          "Given groups=%lld, expected weight to be at least %lld at dimension 0, "
                          "but it has no output channels",
                          (long long)groups, (long long)groups);
    if (groups < 1 || !dync__sz_eq(dync__sz_mod(x->lay.shape[1], groups), 0) ||
        !dync__sz_eq(dync__sz_mod(w->lay.shape[0], groups), 0) ||
        !dync__sz_mul_ok(w->lay.shape[1], groups, &channels) ||
        !dync__sz_eq(channels, x->lay.shape[1]))
        return dync__infer_pair_error(
            "expected input [N, C, H, W] and weight [O, C/groups, KH, KW], groups dividing C and O",
            &x->lay, &w->lay);
    if (call->args[2].kind != DYNC__A_NONE) {
        DYNC__TRY(dync__infer_tensor(call, 2, &bias));
        if (bias->dtype != sums)
            return dync__fail(DYNC_ERR_DTYPE, "expected bias of %s",
                              sums == x->dtype ? "the dtype of input" : "int32");
        if (bias->lay.ndim != 1 || !dync__sz_eq(bias->lay.shape[0], w->lay.shape[0]))
            return dync__infer_pair_error("expected a bias with one element per output channel",
                                          &bias->lay, &w->lay);
    }
    shape[0] = x->lay.shape[0];
    shape[1] = w->lay.shape[0];
    for (int i = 0; i < 2; i++) {
        if (w->lay.shape[2 + i] < 1)
            return dync__infer_pair_error("expected a kernel that is not empty", &x->lay, &w->lay);
        shape[2 + i] = dync__infer_window_count(x->lay.shape[2 + i], w->lay.shape[2 + i], stride[i],
                                                padding[i], dilation[i], false);
        if (shape[2 + i] < 1)
            return dync__infer_pair_error("Kernel size can't be greater than actual input size",
                                          &w->lay, &x->lay);
    }
    int form = dync__layout_form(&x->lay);
    return dync__infer_formed(out, sums, device, 4, shape,
                              form ? form : dync__layout_form(&w->lay));
}

/* Floating convolution, 4 dims. */
DYNC__FN dync_status dync__i_convolution(const dync__opcall *call, dync__info *out)
{
    return dync__infer_conv(call, -1, out);
}

/* int8 input and weight, int32 bias and sums: of quantized programs. */
DYNC__FN dync_status dync__i_int_conv2d(const dync__opcall *call, dync__info *out)
{
    dync__tensor *x;
    DYNC__TRY(dync__infer_tensor(call, 0, &x));
    if (x->dtype != DYNC_I8)
        return dync__fail(DYNC_ERR_DTYPE, "expected input and weight of int8, got %s",
                          dync__dtype_info(x->dtype)->name);
    return dync__infer_conv(call, DYNC_I32, out);
}

/* conv2d takes [C, H, W] as well. A copy of the tensor's struct on the stack gets a leading dim of
 * 1 for the check, and the result loses it: nothing is allocated. */
DYNC__FN dync_status dync__i_conv2d(const dync__opcall *call, dync__info *out)
{
    dync__tensor *x, lifted;
    dync__arg args[7];
    DYNC__TRY(dync__infer_tensor(call, 0, &x));
    if (x->lay.ndim != 3) return dync__i_convolution(call, out);
    lifted = *x;
    for (int i = 3; i > 0; i--) {
        lifted.lay.shape[i] = x->lay.shape[i - 1];
        lifted.lay.stride[i] = x->lay.stride[i - 1];
    }
    lifted.lay.shape[0] = 1;
    lifted.lay.stride[0] = dync__sz_mul(x->lay.shape[0], x->lay.stride[0]);
    lifted.lay.ndim = 4;
    memcpy(args, call->args, sizeof args);
    args[0] = dync__arg_t(&lifted);
    dync__opcall c = *call;
    c.args = args;
    DYNC__TRY(dync__i_convolution(&c, out));
    dync__infer_drop_dim(&out->lay, 0);
    return DYNC_OK;
}

/* Arguments (grad_output, input, weight, stride, padding, dilation, groups, and three bools: which
 * of the gradients of input, weight and bias are wanted). Those not wanted have shape [0]. The
 * arguments are checked by inferring the forward call, whose result grad_output must look like. */
DYNC__FN dync_status dync__i_convolution_backward(const dync__opcall *call, dync__info *out)
{
    dync__tensor *gy, *x, *w;
    int64_t none = 0;
    DYNC__TRY(dync__infer_tensor(call, 0, &gy));
    DYNC__TRY(dync__infer_tensor(call, 1, &x));
    DYNC__TRY(dync__infer_tensor(call, 2, &w));
    dync__info y;
    dync__arg args[7] = {call->args[1], call->args[2], dync__arg_none(), call->args[3],
                         call->args[4], call->args[5], call->args[6]};
    dync__opcall forward = {.row = call->row, .op = call->op, .nargs = 7, .args = args};
    DYNC__TRY(dync__i_convolution(&forward, &y));
    DYNC__TRY(dync__infer_as_given(call, 0, &y));
    bool mask[3] = {call->args[7].as.i != 0, call->args[8].as.i != 0, call->args[9].as.i != 0};
    int form = dync__layout_form(&gy->lay);
    DYNC__TRY(dync__infer_formed(&out[0], gy->dtype, gy->device, mask[0] ? 4 : 1,
                                 mask[0] ? x->lay.shape : &none,
                                 form ? form : dync__layout_form(&w->lay)));
    DYNC__TRY(dync__infer_fresh(&out[1], gy->dtype, gy->device, mask[1] ? 4 : 1,
                                mask[1] ? w->lay.shape : &none));
    return dync__infer_fresh(&out[2], gy->dtype, gy->device, 1, mask[2] ? &w->lay.shape[0] : &none);
}

/* The last two dims of x through the windows. x is [C, H, W] or [N, C, H, W]; the batch may be
 * empty, nothing else. */
static dync_status dync__infer_pooled(const dync__tensor *x, const int64_t *kernel,
                                      const int64_t *stride, const int64_t *padding,
                                      const int64_t *dilation, bool ceil_mode, dync__info *out)
{
    int64_t shape[4];
    int n = x->lay.ndim;
    if (n != 3 && n != 4) return dync__fail(DYNC_ERR_SHAPE, "expected 3D or 4D input, got %dD", n);
    memcpy(shape, x->lay.shape, (size_t)n * sizeof shape[0]);
    if (x->lay.shape[n - 3] == 0)
        return dync__fail(DYNC_ERR_SHAPE,
                          "expected 3D or 4D input whose batch alone may be empty, got 0 channels");
    for (int i = 0; i < 2; i++) {
        int d = n - 2 + i;
        if (padding[i] * 2 > kernel[i])
            return dync__fail(DYNC_ERR_VALUE,
                              "pad should be at most half of effective kernel size, got pad "
                              "%lld, kernel %lld",
                              (long long)padding[i], (long long)kernel[i]);
        shape[d] = dync__infer_window_count(x->lay.shape[d], kernel[i], stride[i], padding[i],
                                            dilation[i], ceil_mode);
        if (shape[d] < 1)
            return dync__fail(DYNC_ERR_SHAPE,
                              "Output size is too small: input size %lld, kernel "
                              "%lld",
                              (long long)dync__sz_hint(x->lay.shape[d]), (long long)kernel[i]);
    }
    return dync__infer_formed(out, x->dtype, x->device, n, shape, dync__layout_form(&x->lay));
}

/* Arguments (input, kernel, stride, padding, dilation, ceil_mode); stride defaults to the kernel.
 * With two outputs the second says where in the plane H * W each maximum stood. */
DYNC__FN dync_status dync__i_max_pool2d(const dync__opcall *call, dync__info *out)
{
    dync__tensor *x;
    int64_t kernel[2], stride[2], padding[2], dilation[2], one[2] = {1, 1}, zero[2] = {0, 0};
    DYNC__TRY(dync__infer_tensor(call, 0, &x));
    if (x->dtype == DYNC_BOOL || !dync__device_is(x->device, DYNC__DEV_INTEGERS))
        DYNC__TRY(dync__infer_floating(x));
    DYNC__TRY(dync__infer_dims2(&call->args[1], "kernel_size", NULL, 1, kernel));
    DYNC__TRY(dync__infer_dims2(&call->args[2], "stride", kernel, 1, stride));
    DYNC__TRY(dync__infer_dims2(&call->args[3], "padding", zero, 0, padding));
    DYNC__TRY(dync__infer_dims2(&call->args[4], "dilation", one, 1, dilation));
    DYNC__TRY(
        dync__infer_pooled(x, kernel, stride, padding, dilation, call->args[5].as.i != 0, out));
    if (call->row->nout == 2) {
        out[1] = out[0];
        out[1].dtype = DYNC_I64;
    }
    return DYNC_OK;
}

/* Arguments (input, kernel, stride, padding, ceil_mode, count_include_pad). int64 is the one
 * integer that PyTorch averages on the CPU. */
DYNC__FN dync_status dync__i_avg_pool2d(const dync__opcall *call, dync__info *out)
{
    dync__tensor *x;
    int64_t kernel[2], stride[2], padding[2], one[2] = {1, 1}, zero[2] = {0, 0};
    DYNC__TRY(dync__infer_tensor(call, 0, &x));
    if (x->dtype != DYNC_I64 || !dync__device_is(x->device, DYNC__DEV_INTEGERS))
        DYNC__TRY(dync__infer_floating(x));
    DYNC__TRY(dync__infer_dims2(&call->args[1], "kernel_size", NULL, 1, kernel));
    DYNC__TRY(dync__infer_dims2(&call->args[2], "stride", kernel, 1, stride));
    DYNC__TRY(dync__infer_dims2(&call->args[3], "padding", zero, 0, padding));
    return dync__infer_pooled(x, kernel, stride, padding, one, call->args[4].as.i != 0, out);
}

/* Arguments (grad_output, then those of the forward call), which are inferred as one. */
DYNC__FN dync_status dync__i_avg_pool2d_backward(const dync__opcall *call, dync__info *out)
{
    dync__tensor *x;
    dync__info y;
    dync__opcall forward = {.row = call->row, .op = call->op, .nargs = 6, .args = call->args + 1};
    DYNC__TRY(dync__i_avg_pool2d(&forward, &y));
    DYNC__TRY(dync__infer_tensor(call, 1, &x));
    DYNC__TRY(dync__infer_as_given(call, 0, &y));
    return dync__infer_fresh(out, x->dtype, x->device, x->lay.ndim, x->lay.shape);
}

/* The windows are not told: only how the planes lie. Arguments (grad_output, input, indices): only
 * as many planes and channels can be checked. */
DYNC__FN dync_status dync__i_max_pool2d_backward(const dync__opcall *call, dync__info *out)
{
    dync__tensor *gy, *x;
    DYNC__TRY(dync__infer_tensor(call, 0, &gy));
    DYNC__TRY(dync__infer_tensor(call, 1, &x));
    dync__info index = {.dtype = DYNC_I64, .lay = gy->lay};
    DYNC__TRY(dync__infer_as_given(call, 2, &index));
    int n = x->lay.ndim;
    if (gy->dtype != x->dtype || x->dtype == DYNC_BOOL)
        return dync__fail(DYNC_ERR_DTYPE, "expected grad_output of the dtype of input, %s, got %s",
                          dync__dtype_info(x->dtype)->name, dync__dtype_info(gy->dtype)->name);
    if ((n != 3 && n != 4) || gy->lay.ndim != n ||
        !dync__sz_same(n - 2, gy->lay.shape, x->lay.shape))
        return dync__infer_pair_error("expected grad_output and input of as many planes", &gy->lay,
                                      &x->lay);
    return dync__infer_fresh(out, x->dtype, x->device, n, x->lay.shape);
}

/* Arguments (input, output_size): the windows follow from both sizes (decompose_layers.c). One
 * window is the mean, which an image without elements has, too: NaN. */
DYNC__FN dync_status dync__i_adaptive_avg_pool2d(const dync__opcall *call, dync__info *out)
{
    dync__tensor *x;
    int64_t size[2], shape[4];
    DYNC__TRY(dync__infer_tensor(call, 0, &x));
    DYNC__TRY(dync__infer_floating(x));
    int n = x->lay.ndim;
    if (n != 3 && n != 4) return dync__fail(DYNC_ERR_SHAPE, "expected 3D or 4D input, got %dD", n);
    DYNC__TRY(dync__infer_dims2(&call->args[1], "output_size", NULL, 0, size));
    memcpy(shape, x->lay.shape, (size_t)n * sizeof shape[0]);
    bool whole = size[0] == 1 && size[1] == 1;
    for (int i = 0; i < 2; i++) {
        if ((shape[n - 2 + i] == 0 && !whole) || size[i] > INT16_MAX)
            return dync__fail(DYNC_ERR_SHAPE,
                              "expected input of non-zero size and an output "
                              "size of at most 32767, got %lld and %lld",
                              (long long)dync__sz_hint(shape[n - 2 + i]), (long long)size[i]);
        shape[n - 2 + i] = size[i];
    }
    return dync__infer_formed(out, x->dtype, x->device, n, shape, dync__layout_form(&x->lay));
}
