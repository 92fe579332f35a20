/* op/decompose_linear.c: composite products, and convolutions by other convolutions. After
 * chain.c. */
#include "../dync.in.h"
#include "chain.h"
DYNC__COLD

/* ---- products -------------------------------------------------------------------------------- */

/* x as a batch of matrices [B, rows, cols], broadcast to the batch dims of shape. */
static dync__dt *dync__chain_batch(dync__chain *c, dync__dt *x, int n_batch, const int64_t *batch)
{
    int64_t full[DYNC_MAX_DIMS], flat[3] = {1, 0, 0};
    if (!x) return NULL;
    for (int i = 0; i < n_batch; i++) {
        full[i] = batch[i];
        flat[0] = dync__sz_mul(flat[0], batch[i]);
    }
    for (int i = 0; i < 2; i++) full[n_batch + i] = flat[1 + i] = x->lay.shape[x->lay.ndim - 2 + i];
    x = dync__chain_shape(c, DYNC__OP_expand, x, n_batch + 2, full);
    return dync__chain_shape(c, DYNC__OP_reshape, x, 3, flat);
}

/* [.., M, K] times a matrix or vector: the leading dims are rows. out: what infer says of the
 * result, whose shape it is viewed as. */
static dync__dt *dync__chain_fold(dync__chain *c, dync__dt *a, dync__dt *b, const dync__info *out)
{
    int64_t rows[2] = {1, a->lay.shape[a->lay.ndim - 1]};
    for (int i = 0; i < a->lay.ndim - 1; i++) rows[0] = dync__sz_mul(rows[0], a->lay.shape[i]);
    a = dync__chain_shape(c, DYNC__OP_reshape, a, 2, rows);
    a = (dync__chain_tt)(c, b->lay.ndim == 1 ? &DYNC__OP_mv_row : &DYNC__OP_mm_row, a, b);
    return dync__chain_shape(c, DYNC__OP_view, a, out->lay.ndim, out->lay.shape);
}

/* By rank: dot, mv, mm; a matrix on the right folds the left one's batch into rows, so that it is
 * one large product; otherwise both are expanded to the common batch and bmm does it. */
DYNC__FN dync_status dync__d_matmul(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *a = dync__dt_arg(call, 0), *b = dync__dt_arg(call, 1), *y;
    dync__info info;
    DYNC__TRY(dync__op_infer(call, &info));
    int na = a->lay.ndim, nb = b->lay.ndim;
    if (na <= 2 && nb == 1)
        return dync__chain_end(
            &c, call, (dync__chain_tt)(&c, na == 1 ? &DYNC__OP_dot_row : &DYNC__OP_mv_row, a, b));
    if (na == 2 && nb == 2) return dync__chain_end(&c, call, dync__chain_tt(&c, DYNC__OP_mm, a, b));
    if (na == 1 && nb == 2) {
        y = dync__chain_tt(&c, DYNC__OP_mm, dync__chain_ti(&c, DYNC__OP_unsqueeze, a, 0), b);
        return dync__chain_end(&c, call, dync__chain_ti(&c, DYNC__OP_squeeze, y, 0));
    }
    if (nb <= 2) return dync__chain_end(&c, call, dync__chain_fold(&c, a, b, &info));
    int n_batch = info.lay.ndim - (na > 1) - (nb > 1);
    if (na == 1) a = dync__chain_ti(&c, DYNC__OP_unsqueeze, a, 0);
    a = dync__chain_batch(&c, a, n_batch, info.lay.shape);
    b = dync__chain_batch(&c, b, n_batch, info.lay.shape);
    y = dync__chain_tt(&c, DYNC__OP_bmm, a, b);
    return dync__chain_end(&c, call,
                           dync__chain_shape(&c, DYNC__OP_view, y, info.lay.ndim, info.lay.shape));
}

/* addmm or mm on rows; other ranks by way of views, a weight of one dim as one row, so that who
 * calls it reaches no other product. */
DYNC__FN dync_status dync__d_linear(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x = dync__dt_arg(call, 0), *w = dync__dt_arg(call, 1), *bias = dync__dt_arg(call, 2);
    dync__info info;
    DYNC__TRY(dync__op_infer(call, &info));
    int n = x->lay.ndim, one = w->lay.ndim == 1;
    bool each_row = bias && !one && bias->lay.ndim == 1 &&
                    dync__sz_eq(bias->lay.shape[0], w->lay.shape[0]);
    int64_t rows[2] = {1, x->lay.shape[n - 1]}, weight[2] = {1, x->lay.shape[n - 1]},
            out[DYNC_MAX_DIMS];
    for (int i = 0; i < n - 1; i++) {
        out[i] = x->lay.shape[i];
        rows[0] = dync__sz_mul(rows[0], out[i]);
    }
    if (!one) out[n - 1] = w->lay.shape[0];
    if (n != 2) x = dync__chain_shape(&c, DYNC__OP_reshape, x, 2, rows);
    if (one) w = dync__chain_shape(&c, DYNC__OP_view, w, 2, weight);
    w = dync__chain1(&c, DYNC__OP_t, w);
    dync__dt *y = each_row ? dync__chain3(&c, DYNC__OP_addmm, dync__arg_t(bias), dync__arg_t(x),
                                          dync__arg_t(w))
                           : dync__chain_tt(&c, DYNC__OP_mm, x, w);
    if (n != 2 || one) y = dync__chain_shape(&c, DYNC__OP_view, y, n - one, out);
    return dync__chain_end(&c, call,
                           bias && !each_row ? dync__chain_tt(&c, DYNC__OP_add, y, bias) : y);
}

/* [M, 1] * [1, N] */
DYNC__FN dync_status dync__d_outer(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *a = dync__dt_arg(call, 0), *b = dync__dt_arg(call, 1);
    a = dync__chain_ti(&c, DYNC__OP_unsqueeze, a, 1);
    b = dync__chain_ti(&c, DYNC__OP_unsqueeze, b, 0);
    return dync__chain_end(&c, call, dync__chain_tt(&c, DYNC__OP_mul, a, b));
}

/* ---- products -------------------------------------------------------------------------------- */

/* f16 and bf16 alike: PyTorch's sums are rounded once, with self in them. */
static bool dync__dn_rounds_once(const dync__opcall *call)
{
    const dync__dt *a = dync__dt_arg(call, 0);
    for (int i = 0; i < 3; i++) {
        const dync__dt *x = dync__dt_arg(call, i);
        if (!x || x->dtype != a->dtype) return false;
    }
    const dync__dtype_row *row = dync__dtype_info(a->dtype);
    return row->kind == 'f' && row->bytes == 2;
}
DYNC__FN dync_status dync__d_addmv(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *self = dync__dt_arg(call, 0), *mat = dync__dt_arg(call, 1),
             *vec = dync__dt_arg(call, 2);
    bool column = dync__dn_rounds_once(call) && self->lay.ndim < 2 && mat->lay.ndim == 2 &&
                  vec->lay.ndim == 1;
    if (!column) {
        dync__dt *y = dync__chain2(&c, DYNC__OP_mv, call->args[1], call->args[2]);
        return dync__chain_end(&c, call, dync__chain_tt(&c, DYNC__OP_add, y, self));
    }
    self = dync__chain_ti(&c, DYNC__OP_unsqueeze, self, -1);
    vec = dync__chain_ti(&c, DYNC__OP_unsqueeze, vec, 1);
    dync__dt *y =
        dync__chain3(&c, DYNC__OP_addmm, dync__arg_t(self), dync__arg_t(mat), dync__arg_t(vec));
    return dync__chain_end(&c, call, dync__chain_ti(&c, DYNC__OP_squeeze, y, 1));
}
DYNC__FN dync_status dync__d_baddbmm(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x[3];
    bool once = dync__dn_rounds_once(call);
    for (int i = 0; i < 3; i++) {
        x[i] = dync__dt_arg(call, i);
        if (once) x[i] = dync__chain_wide(&c, x[i]);
    }
    dync__dt *y = dync__chain_tt(&c, DYNC__OP_bmm, x[1], x[2]);
    y = dync__chain_tt(&c, DYNC__OP_add, y, x[0]);
    return dync__chain_end(&c, call,
                           once ? dync__chain_dtype(&c, y, dync__dt_arg(call, 0)->dtype) : y);
}

/* ---- convolutions ---------------------------------------------------------------------------- */

/* [.., C, L] as [.., C, 1, L] */
DYNC__FN dync_status dync__d_conv1d(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x, *w, *y;
    int64_t stride[2] = {1, 1}, padding[2] = {0, 0}, dilation[2] = {1, 1};
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__infer_tensor(call, 1, &w));
    if (x->lay.ndim != 2 && x->lay.ndim != 3)
        return dync__fail(
            DYNC_ERR_SHAPE,
            "Expected 2D (unbatched) or 3D (batched) input to conv1d, but got a %dD input",
            x->lay.ndim);
    DYNC__TRY(dync__dn_rank(w, 3));
    DYNC__TRY(dync__dn_numbers(call, 3, 1, 1, &stride[1]));
    DYNC__TRY(dync__dn_numbers(call, 4, 1, 0, &padding[1]));
    DYNC__TRY(dync__dn_numbers(call, 5, 1, 1, &dilation[1]));
    /* not taken for channels last */
    x = dync__chain1(&c, DYNC__OP_contiguous, x);
    dync__arg args[7] = {dync__arg_t(dync__chain_ti(&c, DYNC__OP_unsqueeze, x, -2)),
                         dync__arg_t(dync__chain_ti(&c, DYNC__OP_unsqueeze, w, 2)),
                         call->args[2],
                         dync__arg_dims(2, stride),
                         dync__arg_dims(2, padding),
                         dync__arg_dims(2, dilation),
                         call->args[6]};
    dync__chain_call(&c, DYNC__OP_conv2d, 7, args, &y);
    return dync__chain_end(&c, call, dync__chain_ti(&c, DYNC__OP_squeeze, y, -2));
}

/* x inside zeros: `before` places of dim in front of it, `after` behind; negative ones cut off. */
DYNC__FN dync__dt *dync__dn_pad_dim(dync__chain *c, dync__dt *x, int dim, int64_t before,
                                    int64_t after)
{
    if (!x) return NULL;
    int64_t size = x->lay.shape[dim], shape[DYNC_MAX_DIMS];
    bool front = dync__sz_lt(before, 0), back = dync__sz_lt(after, 0);
    if (front || back) {
        x = dync__chain_slice(c, x, dim, front ? dync__sz_sub(0, before) : 0,
                              back ? dync__sz_add(size, after) : size);
        return dync__dn_pad_dim(c, x, dim, front ? 0 : before, back ? 0 : after);
    }
    if (dync__sz_eq(before, 0) && dync__sz_eq(after, 0)) return x;
    for (int d = 0; d < x->lay.ndim; d++) shape[d] = x->lay.shape[d];
    shape[dim] = dync__sz_size(dync__sz_add(dync__sz_add(before, after), size));
    dync__arg args[6] = {
        dync__arg_t(x),      dync__arg_dims(x->lay.ndim, shape),      dync__arg_i(dim),
        dync__arg_i(before), dync__arg_i(dync__sz_add(before, size)), dync__arg_i(1)};
    dync__dt *y;
    dync__chain_call(c, DYNC__OP_slice_backward, 6, args, &y);
    return y;
}

/* A product that leaves room for sums. */
static bool dync__dn_reach(int64_t a, int64_t b, int64_t *out)
{
    return dync__sz_mul_ok(a, b, out) &&
           (dync__is_token(*out) || (*out <= INT64_MAX / 4 && *out >= INT64_MIN / 4));
}

/* Of a transposed convolution, for height and width; extra: output_padding. */
typedef struct dync__dn_window {
    int64_t stride[2], padding[2], extra[2], dilation[2];
} dync__dn_window;

/* Arguments 0 and 1, checked: input [C, H, W] or [N, C, H, W], weight [C, O / groups, KH, KW]. */
static dync_status dync__dn_transposed_operands(const dync__opcall *call, dync__dt **x_,
                                                dync__dt **w_)
{
    dync__dt *x, *w;
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__infer_tensor(call, 1, &w));
    if (x->lay.ndim != 3 && x->lay.ndim != 4)
        return dync__fail(
            DYNC_ERR_SHAPE,
            "Expected 3D (unbatched) or 4D (batched) input to conv_transpose2d, but got a %dD "
            "input",
            x->lay.ndim);
    DYNC__TRY(dync__dn_rank(w, 4));
    DYNC__TRY(dync__infer_floating(x));
    if (x->dtype != w->dtype)
        return dync__fail(DYNC_ERR_DTYPE, "expected input and weight of one dtype, got %s and %s",
                          dync__dtype_info(x->dtype)->name, dync__dtype_info(w->dtype)->name);
    if (w->numel == 0) return dync__fail(DYNC_ERR_SHAPE, "expected a weight that is not empty");
    *x_ = x;
    *w_ = w;
    return DYNC_OK;
}

/* (in - 1) stride - 2 padding + dilation (k - 1) + output_padding + 1, of dim i */
static dync_status dync__dn_transposed_size(const dync__dn_window *v, int i, int64_t in, int64_t k,
                                            int64_t *size)
{
    int64_t stride = v->stride[i], padding = v->padding[i], extra = v->extra[i],
            dilation = v->dilation[i], reach, span;
    if (!dync__dn_reach(dync__sz_sub(k, 1), dilation, &reach) ||
        !dync__dn_reach(dync__sz_sub(in, 1), stride, &span))
        return dync__fail(DYNC_ERR_SHAPE, "the result is too large");
    *size = dync__sz_size(dync__sz_add(dync__sz_sub(span, 2 * padding - extra - 1), reach));
    if (stride < 1 || dilation < 1 || padding < 0 || dync__sz_lt(*size, 0))
        return dync__fail(
            DYNC_ERR_SHAPE,
            "stride and dilation of at least 1, padding of at least 0 and a result of "
            "at least 0 are expected, got %lld, %lld, %lld and %lld",
            (long long)stride, (long long)dilation, (long long)padding,
            (long long)dync__sz_hint(*size));
    if (extra < 0 || (extra >= stride && extra >= dilation))
        return dync__fail(DYNC_ERR_VALUE,
                          "output padding must be smaller than either stride or dilation, but got "
                          "%lld",
                          (long long)extra);
    return DYNC_OK;
}

/* A result without elements, with a history of all that goes into it. */
static dync__dt *dync__dn_nothing(dync__chain *c, dync__dt *x, dync__dt *w, const int64_t *shape)
{
    dync__dt *part[2] = {x, w};
    for (int i = 0; i < 2; i++) {
        dync__arg args[4] = {dync__arg_t(part[i]), dync__arg_i(0), dync__arg_i(0), dync__arg_i(0)};
        dync__chain_call(c, DYNC__OP_narrow, 4, args, &part[i]);
        part[i] = dync__chain_shape(c, DYNC__OP_reshape, part[i], 4, shape);
    }
    return dync__chain_tt(c, DYNC__OP_add, part[0], part[1]);
}

/* The convolution whose input's gradient is a transposed one of x: `form` lends only its shape. */
static dync__dt *dync__dn_transposed(dync__chain *c, dync__dt *x, dync__dt *w,
                                     const dync__dn_window *v, int64_t groups, const int64_t *shape)
{
    dync__dt *out[3] = {NULL};
    dync__dt *form = dync__chain3(c, DYNC__OP_empty, dync__arg_dims(4, shape),
                                  dync__arg_dtype(x ? x->dtype : DYNC_F32),
                                  dync__arg_device(x ? x->device : DYNC_CPU));
    dync__arg args[10] = {dync__arg_t(x),
                          dync__arg_t(form),
                          dync__arg_t(w),
                          dync__arg_dims(2, v->stride),
                          dync__arg_dims(2, v->padding),
                          dync__arg_dims(2, v->dilation),
                          dync__arg_i(groups),
                          dync__arg_b(true),
                          dync__arg_b(false),
                          dync__arg_b(false)};
    dync__chain_call(c, DYNC__OP_convolution_backward, 10, args, out);
    return out[0];
}

/* The gradient of a convolution with respect to its input. Arguments (input, weight, bias, stride,
 * padding, output_padding, groups, dilation). The result takes the place of the input of a
 * convolution with this weight whose output has the shape of x.
 * output_padding of a stride or more means places that such a convolution would have given outputs
 * for: x gets zeros there. */
DYNC__FN dync_status dync__d_conv_transpose2d(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dn_window v;
    dync__dt *x = NULL, *w = NULL, *bias = dync__dt_arg(call, 2), *y;
    int64_t groups = call->args[6].as.i, shape[4], channels[4] = {1, 1, 1, 1};
    DYNC__TRY(dync__dn_transposed_operands(call, &x, &w));
    DYNC__TRY(dync__dn_numbers(call, 3, 2, 1, v.stride));
    DYNC__TRY(dync__dn_numbers(call, 4, 2, 0, v.padding));
    DYNC__TRY(dync__dn_numbers(call, 5, 2, 0, v.extra));
    DYNC__TRY(dync__dn_numbers(call, 7, 2, 1, v.dilation));
    bool single = x->lay.ndim == 3;
    const int64_t *in = x->lay.shape + (single ? 0 : 1);
    if (groups < 1 || !dync__sz_eq(in[0], w->lay.shape[0]) ||
        !dync__sz_eq(dync__sz_mod(in[0], groups), 0))
        return dync__fail(DYNC_ERR_SHAPE,
                          "expected input with weight's %lld channels, a "
                          "multiple of groups=%lld, got %lld",
                          (long long)dync__sz_hint(w->lay.shape[0]), (long long)groups,
                          (long long)in[0]);
    if (!dync__sz_mul_ok(w->lay.shape[1], groups, &channels[1]))
        return dync__fail(DYNC_ERR_SHAPE, "the result is too large");
    shape[0] = single ? 1 : x->lay.shape[0];
    shape[1] = channels[1];
    for (int i = 0; i < 2; i++)
        DYNC__TRY(dync__dn_transposed_size(&v, i, in[1 + i], w->lay.shape[2 + i], &shape[2 + i]));
    if (single) x = dync__chain_ti(&c, DYNC__OP_unsqueeze, x, 0);
    /* as many as a convolution of the result gives */
    for (int i = 0; i < 2; i++) x = dync__dn_pad_dim(&c, x, 2 + i, 0, v.extra[i] / v.stride[i]);
    bool none = dync__sz_eq(shape[2], 0) || dync__sz_eq(shape[3], 0);
    y = none ? dync__dn_nothing(&c, x, w, shape) : dync__dn_transposed(&c, x, w, &v, groups, shape);
    if (bias)
        y = dync__chain_tt(&c, DYNC__OP_add, y,
                           dync__chain_shape(&c, DYNC__OP_view, bias, 4, channels));
    if (single) y = dync__chain_ti(&c, DYNC__OP_squeeze, y, 0);
    return dync__chain_end(&c, call, y);
}
