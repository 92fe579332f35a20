/* op/decompose_window.c: windows of images as columns and back (im2col, col2im), max_unpool2d and
 * lp_pool2d, written as calls of other operators. After decompose_sample.c. */
#include "../dync.in.h"
#include "chain.h"
DYNC__COLD

enum { DYNC__WINDOW_DIMS = 3 };
/* Windows over n spatial dims: as many of them along each as `count` says. */
typedef struct dync__dn_windows {
    int n;
    int64_t size[DYNC__WINDOW_DIMS], kernel[DYNC__WINDOW_DIMS], dilation[DYNC__WINDOW_DIMS],
        padding[DYNC__WINDOW_DIMS], stride[DYNC__WINDOW_DIMS], count[DYNC__WINDOW_DIMS];
} dync__dn_windows;

/* Arguments at, at + 1, ..: kernel_size, dilation, padding, stride, over an image of w->size. */
static dync_status dync__dn_windows_of(const dync__opcall *call, int at, dync__dn_windows *w)
{
    DYNC__TRY(dync__dn_numbers(call, at, w->n, 1, w->kernel));
    DYNC__TRY(dync__dn_numbers(call, at + 1, w->n, 1, w->dilation));
    DYNC__TRY(dync__dn_numbers(call, at + 2, w->n, 0, w->padding));
    DYNC__TRY(dync__dn_numbers(call, at + 3, w->n, 1, w->stride));
    for (int i = 0; i < w->n; i++) {
        if (w->kernel[i] < 1 || w->dilation[i] < 1 || w->padding[i] < 0 || w->stride[i] < 1)
            return dync__fail(DYNC_ERR_VALUE,
                              "kernel_size, dilation and stride should be greater than zero and "
                              "padding not negative, but got %lld, %lld, %lld and %lld",
                              (long long)w->kernel[i], (long long)w->dilation[i],
                              (long long)w->stride[i], (long long)w->padding[i]);
        int64_t room = dync__sz_sub(dync__sz_add(w->size[i], 2 * w->padding[i]),
                                    (w->kernel[i] - 1) * w->dilation[i] + 1);
        if (dync__sz_lt(room, 0))
            return dync__fail(DYNC_ERR_SHAPE,
                              "the window of %lld places, %lld apart, is larger than the padded "
                              "size %lld of dim %d",
                              (long long)w->kernel[i], (long long)w->dilation[i],
                              (long long)dync__sz_hint(w->size[i]) + 2 * w->padding[i], i);
        w->count[i] = dync__sz_size(dync__sz_add(dync__sz_div(room, w->stride[i]), 1));
    }
    return DYNC_OK;
}

/* The product of n numbers; false, an error: beyond 64 bits. */
static dync_status dync__dn_product(int n, const int64_t *of, int64_t *out)
{
    *out = 1;
    for (int i = 0; i < n; i++)
        if (!dync__sz_mul_ok(*out, of[i], out))
            return dync__fail(DYNC_ERR_SHAPE, "the result is too large");
    return DYNC_OK;
}

/* Arguments (x [N, C, H, W] or [C, H, W], kernel_size, dilation, padding, stride): each column is
 * what one window reads, its channels one after another: [N, C * kernel, windows]. Windows are
 * views that overlap (unfold), in one copy. */
DYNC__FN dync_status dync__d_im2col(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x;
    DYNC__TRY(dync__dt_self(call, &x));
    bool single = x->lay.ndim == 3;
    if (!single && x->lay.ndim != 4)
        return dync__fail(DYNC_ERR_SHAPE,
                          "Expected 3D or 4D (batch mode) tensor for input with non-zero batch "
                          "size, but got a %dD tensor",
                          x->lay.ndim);
    const int64_t *in = x->lay.shape + (single ? 0 : 1);
    dync__dn_windows w = {.n = 2, .size = {in[1], in[2]}};
    DYNC__TRY(dync__dn_windows_of(call, 1, &w));
    static const int64_t order[6] = {0, 1, 4, 5, 2, 3};
    int64_t shape[3] = {single ? 1 : x->lay.shape[0], in[0], 1}, column = 1;
    DYNC__TRY(dync__dn_product(2, w.kernel, &column));
    if (!dync__sz_mul_ok(shape[1], column, &shape[1]))
        return dync__fail(DYNC_ERR_SHAPE, "the result is too large");
    DYNC__TRY(dync__dn_product(2, w.count, &shape[2]));
    int dtype = x->dtype;
    x = dync__chain_wide(&c, x);
    if (single) x = dync__chain_ti(&c, DYNC__OP_unsqueeze, x, 0);
    for (int i = 0; i < 2; i++) x = dync__dn_pad_dim(&c, x, 2 + i, w.padding[i], w.padding[i]);
    for (int i = 0; i < 2; i++) { /* [N, C, H', W', kernel of H, kernel of W] */
        dync__arg args[4] = {dync__arg_t(x), dync__arg_i(2 + i),
                             dync__arg_i((w.kernel[i] - 1) * w.dilation[i] + 1),
                             dync__arg_i(w.stride[i])};
        dync__chain_call(&c, DYNC__OP_unfold, 4, args, &x);
        dync__arg step[5] = {dync__arg_t(x), dync__arg_i(-1), dync__arg_i(0), dync__arg_i(DYNC_END),
                             dync__arg_i(w.dilation[i])};
        if (w.dilation[i] > 1) dync__chain_call(&c, DYNC__OP_slice, 5, step, &x);
    }
    x = dync__chain_shape(&c, DYNC__OP_permute, x, 6, order);
    x = dync__chain_shape(&c, DYNC__OP_reshape, dync__chain1(&c, DYNC__OP__clone_contiguous, x), 3,
                          shape);
    if (single) x = dync__chain_ti(&c, DYNC__OP_squeeze, x, 0);
    return dync__chain_end(&c, call, dync__chain_dtype(&c, x, dtype));
}

/* Where element k of window o lies along dim i: k * dilation + o * stride - padding, of rank 2 n: k
 * at dim i, o at dim n + i. */
static dync__dt *dync__dn_window_places(dync__chain *c, const dync__dn_windows *w, int i,
                                        int device)
{
    int64_t inner[2 * DYNC__WINDOW_DIMS], outer[2 * DYNC__WINDOW_DIMS];
    for (int d = 0; d < 2 * w->n; d++) inner[d] = outer[d] = 1;
    inner[i] = w->kernel[i];
    outer[w->n + i] = w->count[i];
    dync__dt *k = dync__chain_ti(c, DYNC__OP_mul, dync__chain_range(c, w->kernel[i], device),
                                 w->dilation[i]),
             *o = dync__chain_ti(c, DYNC__OP_mul, dync__chain_range(c, w->count[i], device),
                                 w->stride[i]);
    o = dync__chain_ti(c, DYNC__OP_sub, o, w->padding[i]);
    return dync__chain_tt(c, DYNC__OP_add, dync__chain_shape(c, DYNC__OP_view, k, 2 * w->n, inner),
                          dync__chain_shape(c, DYNC__OP_view, o, 2 * w->n, outer));
}

/* The flat place of each element of each window, [kernel * windows]; `total` where it lies in the
 * padding. */
static dync__dt *dync__dn_window_index(dync__chain *c, const dync__dn_windows *w, int64_t total,
                                       int device)
{
    dync__dt *flat = NULL, *inside = NULL;
    for (int i = 0; i < w->n; i++) {
        dync__dt *at = dync__dn_window_places(c, w, i, device);
        dync__dt *in = dync__chain_tt(c, DYNC__OP_logical_and,
                                      dync__chain_ti(c, DYNC__OP_ge, at, 0),
                                      dync__chain_ti(c, DYNC__OP_lt, at, w->size[i]));
        flat = i ? dync__chain_tt(c, DYNC__OP_add,
                                  dync__chain_ti(c, DYNC__OP_mul, flat, w->size[i]), at)
                 : at;
        inside = i ? dync__chain_tt(c, DYNC__OP_logical_and, inside, in) : in;
    }
    flat = dync__chain_where(c, inside, dync__arg_t(flat), dync__arg_i(total));
    return dync__chain_shape(c, DYNC__OP_reshape, flat, 1, (const int64_t[]){-1});
}

/* Arguments (x [N, C * kernel, windows], output_size, kernel_size, dilation, padding, stride): the
 * columns added up to images [N, C, ..]; elements of windows that overlap meet. What lies in the
 * padding is collected behind the image and cut off. In f32 for f16 and bf16. */
DYNC__FN dync_status dync__d_col2im(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x;
    const dync__arg *size = &call->args[1];
    dync__dn_windows w = {.n = size->n};
    int64_t kernel, windows, total, out[2 + DYNC__WINDOW_DIMS];
    DYNC__TRY(dync__dt_self(call, &x));
    int rank = x->lay.ndim, dtype = x->dtype;
    if (w.n < 1 || w.n > DYNC__WINDOW_DIMS || (rank != 2 && rank != 3))
        return dync__fail(DYNC_ERR_SHAPE,
                          "Expected 2D or 3D (batch mode) tensor for input and an output_size of "
                          "one to three numbers, got a %dD tensor and %d numbers",
                          rank, w.n);
    for (int i = 0; i < w.n; i++) {
        w.size[i] = out[2 + i] = size->as.dims[i];
        if (dync__sz_lt(w.size[i], 1) || (!dync__is_token(w.size[i]) && w.size[i] > INT32_MAX))
            return dync__fail(DYNC_ERR_VALUE, "Expected positive sizes in output_size, got %lld",
                              (long long)dync__sz_hint(w.size[i]));
    }
    DYNC__TRY(dync__dn_windows_of(call, 2, &w));
    DYNC__TRY(dync__dn_product(w.n, w.kernel, &kernel));
    DYNC__TRY(dync__dn_product(w.n, w.count, &windows));
    DYNC__TRY(dync__dn_product(w.n, w.size, &total));
    const int64_t *in = x->lay.shape + rank - 2;
    if (!dync__sz_eq(dync__sz_mod(in[0], kernel), 0) || !dync__sz_eq(in[1], windows))
        return dync__fail(DYNC_ERR_SHAPE,
                          "Given output_size, kernel_size, dilation, padding and stride, expected "
                          "%lld windows of a multiple of %lld elements, but got input of "
                          "size(-2)=%lld and size(-1)=%lld",
                          (long long)windows, (long long)kernel, (long long)in[0],
                          (long long)in[1]);
    out[0] = rank == 3 ? x->lay.shape[0] : 1;
    out[1] = dync__sz_div(in[0], kernel);
    int64_t rows[2] = {dync__sz_mul(out[0], out[1]), dync__sz_mul(kernel, windows)},
            room[2] = {rows[0], dync__sz_add(total, 1)};
    x = dync__chain_shape(&c, DYNC__OP_reshape, dync__chain_wide(&c, x), 2, rows);
    dync__arg args[4] = {dync__arg_none(), dync__arg_i(1), dync__arg_none(), dync__arg_t(x)};
    if (x)
        args[0] = dync__arg_t(dync__chain3(&c, DYNC__OP_zeros, dync__arg_dims(2, room),
                                           dync__arg_dtype(x->dtype), dync__arg_device(x->device)));
    if (x) args[2] = dync__arg_t(dync__dn_window_index(&c, &w, total, x->device));
    dync__chain_call(&c, DYNC__OP_index_add, 4, args, &x);
    x = dync__chain_slice(&c, x, 1, 0, total);
    x = dync__chain_dtype(&c, dync__chain1(&c, DYNC__OP__clone_contiguous, x), dtype);
    x = dync__chain_shape(&c, DYNC__OP_reshape, x, w.n + 2, out);
    if (rank == 2) x = dync__chain_ti(&c, DYNC__OP_squeeze, x, 0);
    return dync__chain_end(&c, call, x);
}

/* Arguments (x [.., H, W], indices, output_size): each element at its place of the plane, which
 * max_pool2d_with_indices gave, zeros elsewhere. Several at one place: which of them stays is not
 * told. */
DYNC__FN dync_status dync__d_max_unpool2d(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x, *index, *filled;
    const dync__arg *size = &call->args[2];
    int64_t out[4], plane[2] = {1, 1}, places[2];
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__infer_tensor(call, 1, &index));
    int n = x->lay.ndim;
    if (n != 3 && n != 4)
        return dync__fail(DYNC_ERR_SHAPE,
                          "Input to max_unpooling2d should be a 3d or 4d Tensor, but got a tensor "
                          "with %d dimensions",
                          n);
    if (index->dtype != DYNC_I64)
        return dync__fail(DYNC_ERR_DTYPE, "elements in indices should be type int64 but got %s",
                          dync__dtype_info(index->dtype)->name);
    if (!dync__infer_same_shape(&x->lay, &index->lay))
        return dync__infer_pair_error("Expected shape of indices to be same as that of the input",
                                      &index->lay, &x->lay);
    if (size->n != 2 || dync__sz_lt(size->as.dims[0], 1) || dync__sz_lt(size->as.dims[1], 1))
        return dync__fail(DYNC_ERR_VALUE,
                          "There should be exactly two elements (height, width) in output_size");
    for (int d = 0; d < n - 2; d++) {
        out[d] = x->lay.shape[d];
        plane[0] = dync__sz_mul(plane[0], out[d]);
    }
    for (int d = 0; d < 2; d++) out[n - 2 + d] = size->as.dims[d];
    DYNC__TRY(dync__dn_product(2, size->as.dims, &plane[1]));
    places[0] = plane[0];
    places[1] = dync__sz_mul(x->lay.shape[n - 2], x->lay.shape[n - 1]);
    dync__arg args[4] = {
        dync__arg_t(dync__chain3(&c, DYNC__OP_zeros, dync__arg_dims(2, plane),
                                 dync__arg_dtype(x->dtype), dync__arg_device(x->device))),
        dync__arg_i(1), dync__arg_t(dync__chain_shape(&c, DYNC__OP_reshape, index, 2, places)),
        dync__arg_t(dync__chain_shape(&c, DYNC__OP_reshape, x, 2, places))};
    dync__chain_call(&c, DYNC__OP_scatter, 4, args, &filled);
    dync__dt *y = dync__chain_shape(&c, DYNC__OP_reshape, filled, n, out);
    return dync__chain_end(&c, call, dync__chain_formed(&c, y, x));
}

/* Arguments (x, norm_type, kernel_size, stride, ceil_mode): (sum x^p)^(1/p) over each window. A
 * sum below 0, which an odd p may give, has no root: NaN, as in PyTorch. Where a sum is 0 the
 * gradient is 0. */
DYNC__FN dync_status dync__d_lp_pool2d(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x, *y;
    int64_t kernel[2];
    static const int64_t none[2] = {0, 0};
    double p = dync__dn_number(call, 1);
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__infer_floating(x));
    DYNC__TRY(dync__dn_numbers(call, 2, 2, 1, kernel));
    if (!(p > 0 || p < 0)) return dync__fail(DYNC_ERR_VALUE, "expected a norm_type other than 0");
    dync__arg args[6] = {dync__arg_t(dync__chain_tf(&c, DYNC__OP_pow, dync__chain_wide(&c, x), p)),
                         call->args[2],
                         call->args[3],
                         dync__arg_dims(2, none),
                         call->args[4],
                         dync__arg_b(true)};
    dync__chain_call(&c, DYNC__OP_avg_pool2d, 6, args, &y);
    y = dync__chain_tf(&c, DYNC__OP_mul, y, (double)(kernel[0] * kernel[1]));
    y = dync__chain_where(&c, dync__chain_tf(&c, DYNC__OP_eq, y, 0), dync__arg_i(0),
                          dync__arg_t(y)); /* in its format, unlike masked_fill */
    y = dync__chain_tf(&c, DYNC__OP_pow, y, 1 / p);
    return dync__chain_end(&c, call, dync__chain_dtype(&c, y, x->dtype));
}
