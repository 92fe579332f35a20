/* op/decompose.c: composite operators, written as calls of other operators. After lower_nn.c,
 * before dispatch.c.
 *
 * Every step goes through dync__op_run, so the tape and tracers see it: one text serves eager mode,
 * gradients and AOT. The formulas are those of PyTorch's decompositions
 * (torch/_decomp/decompositions.py, aten/src/ATen/native). */
#include "../dync.in.h"
#include "chain.h"

/* ---- shapes ---------------------------------------------------------------------------------- */

/* reshape and its kin: infer has found the shape, and whether it can be a view. */
static dync_status dync__decompose_reshape(dync__opcall *call)
{
    dync__chain c = {0};
    dync__info info;
    dync__dt *x;
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__op_infer(call, &info));
    if (info.alias < 0) x = dync__chain1(&c, DYNC__OP__clone_contiguous, x);
    return dync__chain_end(&c, call,
                           dync__chain_shape(&c, DYNC__OP_view, x, info.lay.ndim, info.lay.shape));
}
DYNC__FN dync_status dync__d_reshape(dync__opcall *call) { return dync__decompose_reshape(call); }
DYNC__FN dync_status dync__d_flatten(dync__opcall *call) { return dync__decompose_reshape(call); }
DYNC__FN dync_status dync__d_unflatten(dync__opcall *call) { return dync__decompose_reshape(call); }
DYNC__FN dync_status dync__d_view_as(dync__opcall *call) { return dync__decompose_reshape(call); }

DYNC__FN dync_status dync__d_expand_as(dync__opcall *call)
{
    dync__chain c = {0};
    dync__info info;
    dync__dt *x;
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__op_infer(call, &info));
    return dync__chain_end(
        &c, call, dync__chain_shape(&c, DYNC__OP_expand, x, info.lay.ndim, info.lay.shape));
}

DYNC__FN dync_status dync__d_contiguous(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x;
    DYNC__TRY(dync__dt_self(call, &x));
    return dync__chain_end(
        &c, call,
        dync__layout_is_contiguous(&x->lay) ? x : dync__chain1(&c, DYNC__OP__clone_contiguous, x));
}

DYNC__FN dync_status dync__d_narrow(dync__opcall *call)
{
    dync__chain c = {0};
    dync__info info;
    dync__dt *x;
    int dim;
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__op_infer(call, &info));
    DYNC__TRY(dync__dim_wrap(dync__infer_int_dim(&call->args[1]), x->lay.ndim, &dim));
    int64_t start = call->args[2].as.i < 0 ? dync__sz_add(call->args[2].as.i, x->lay.shape[dim])
                                           : call->args[2].as.i;
    return dync__chain_end(
        &c, call, dync__chain_slice(&c, x, dim, start, dync__sz_add(start, call->args[3].as.i)));
}

/* Each dim by a view [before, 1, it and after], expanded and folded back: three dims whatever the
 * rank. */
DYNC__FN dync_status dync__d_repeat(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x;
    int64_t shape[DYNC_MAX_DIMS];
    bool copied = false;
    DYNC__TRY(dync__dt_self(call, &x));
    int n = call->args[1].n, lead = n - x->lay.ndim;
    for (int d = 0; d < n; d++) shape[d] = d < lead ? 1 : x->lay.shape[d - lead];
    if (lead) x = dync__chain_shape(&c, DYNC__OP_reshape, x, n, shape);
    for (int d = 0; d < n; d++) {
        int64_t times = call->args[1].as.dims[d], three[3] = {1, 1, 1};
        if (times == 1) continue;
        for (int k = 0; k < n; k++)
            three[k < d ? 0 : 2] = dync__sz_mul(three[k < d ? 0 : 2], shape[k]);
        x = dync__chain_shape(&c, DYNC__OP_reshape, x, 3, three);
        three[1] = times;
        x = dync__chain_shape(&c, DYNC__OP_expand, x, 3, three);
        x = dync__chain1(&c, DYNC__OP__clone_contiguous, x);
        shape[d] = dync__sz_mul(shape[d], times);
        x = dync__chain_shape(&c, DYNC__OP_view, x, n, shape);
        copied = true;
    }
    if (!copied) x = dync__chain1(&c, DYNC__OP__clone_contiguous, x);
    return dync__chain_end(&c, call, x);
}

static dync__dt *dync__chain_roll(dync__chain *c, dync__dt *x, int64_t shift, int64_t dim_arg)
{
    int dim;
    if (!x || x->numel == 0 || x->lay.ndim == 0) return x;
    if (dync__dim_wrap((int)dim_arg, x->lay.ndim, &dim) != DYNC_OK) return x;
    int64_t size = x->lay.shape[dim],
            start = dync__sz_mod(dync__sz_sub(size, dync__any_token(size, shift)
                                                        ? dync__sz_mod(shift, size)
                                                        : shift % size),
                                 size);
    if (start == 0) return x;
    dync__dt *tail = dync__chain_slice(c, x, dim, start, size),
             *head = dync__chain_slice(c, x, dim, 0, start);
    dync__arg list[2] = {dync__arg_t(tail), dync__arg_t(head)};
    return dync__chain_cat(c, 2, list, dim);
}

DYNC__FN dync_status dync__d_roll(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x, *y;
    const dync__arg *shifts = &call->args[1], *dims = &call->args[2];
    int64_t all = -1;
    DYNC__TRY(dync__dt_self(call, &x));
    y = dims->n ? x : dync__chain_shape(&c, DYNC__OP_reshape, x, 1, &all);
    for (int i = 0; i < shifts->n; i++)
        y = dync__chain_roll(&c, y, shifts->as.dims[i], dims->n ? dims->as.dims[i] : 0);
    if (!dims->n) y = dync__chain_shape(&c, DYNC__OP_reshape, y, x->lay.ndim, x->lay.shape);
    if (y && y->storage == x->storage) y = dync__chain1(&c, DYNC__OP__clone_contiguous, y);
    return dync__chain_end(&c, call, y);
}

DYNC__FN dync_status dync__d_stack(dync__opcall *call)
{
    dync__chain c = {0};
    const dync__arg *in = &call->args[0];
    dync__info info;
    int dim;
    DYNC__TRY(dync__op_infer(call, &info));
    DYNC__TRY(dync__dim_wrap(dync__infer_int_dim(&call->args[1]), info.lay.ndim, &dim));
    dync__arg *list = dync__alloc((size_t)in->n * sizeof *list);
    if (!list) return DYNC_ERR_MEMORY;
    for (int i = 0; i < in->n; i++)
        list[i] = dync__arg_t(dync__chain_ti(&c, DYNC__OP_unsqueeze, in->as.list[i].as.t, dim));
    dync__dt *y = dync__chain_cat(&c, in->n, list, dim);
    dync__free(list, (size_t)in->n * sizeof *list);
    return dync__chain_end(&c, call, y);
}

DYNC__FN dync_status dync__d_take_along_dim(dync__opcall *call)
{
    dync__chain c = {0};
    dync__info info;
    dync__dt *x, *index = dync__dt_arg(call, 1);
    int dim;
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__op_infer(call, &info));
    DYNC__TRY(dync__dim_wrap(dync__infer_int_dim(&call->args[2]), x->lay.ndim, &dim));
    int64_t shape[DYNC_MAX_DIMS];
    memcpy(shape, info.lay.shape, sizeof shape);
    if (x->lay.shape[dim] != 0)
        index = dync__chain_ti(&c, DYNC__OP_remainder, index,
                               x->lay.shape[dim]); /* negative ones from the end */
    index = dync__chain_shape(&c, DYNC__OP_expand, index, info.lay.ndim, shape);
    shape[dim] = x->lay.shape[dim];
    x = dync__chain_shape(&c, DYNC__OP_expand, x, info.lay.ndim, shape);
    return dync__chain_end(
        &c, call,
        dync__chain3(&c, DYNC__OP_gather, dync__arg_t(x), dync__arg_i(dim), dync__arg_t(index)));
}

DYNC__FN dync_status dync__d_argsort(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *both[2];
    dync__chain_call(&c, DYNC__OP_sort, 3, call->args, both);
    return dync__chain_end(&c, call, both[1]);
}

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

/* [.., M, K] times a matrix or vector: the leading dims are rows. */
static dync__dt *dync__chain_fold(dync__chain *c, dync__dt *a, dync__dt *b, const dync__info *out)
{
    int64_t rows[2] = {1, a->lay.shape[a->lay.ndim - 1]};
    for (int i = 0; i < a->lay.ndim - 1; i++) rows[0] = dync__sz_mul(rows[0], a->lay.shape[i]);
    a = dync__chain_shape(c, DYNC__OP_reshape, a, 2, rows);
    a = dync__chain_tt(c, b->lay.ndim == 1 ? DYNC__OP_mv : DYNC__OP_mm, a, b);
    return dync__chain_shape(c, DYNC__OP_view, a, out->lay.ndim, out->lay.shape);
}

DYNC__FN dync_status dync__d_matmul(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *a = dync__dt_arg(call, 0), *b = dync__dt_arg(call, 1), *y;
    dync__info info;
    DYNC__TRY(dync__op_infer(call, &info));
    int na = a->lay.ndim, nb = b->lay.ndim;
    if (na <= 2 && nb == 1)
        return dync__chain_end(&c, call,
                               dync__chain_tt(&c, na == 1 ? DYNC__OP_dot : DYNC__OP_mv, a, b));
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

/* addmm on rows; other ranks by way of views. */
DYNC__FN dync_status dync__d_linear(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x = dync__dt_arg(call, 0), *w = dync__dt_arg(call, 1), *bias = dync__dt_arg(call, 2),
             *y = x;
    dync__info info;
    DYNC__TRY(dync__op_infer(call, &info));
    int n = x->lay.ndim;
    bool each_row = bias && w->lay.ndim == 2 && bias->lay.ndim == 1 &&
                    dync__sz_eq(bias->lay.shape[0], w->lay.shape[0]);
    if (!each_row) {
        y = dync__chain_tt(&c, DYNC__OP_matmul, x,
                           w->lay.ndim == 1 ? w : dync__chain1(&c, DYNC__OP_t, w));
        return dync__chain_end(&c, call, bias ? dync__chain_tt(&c, DYNC__OP_add, y, bias) : y);
    }
    int64_t rows[2] = {1, x->lay.shape[n - 1]};
    for (int i = 0; i < n - 1; i++) rows[0] = dync__sz_mul(rows[0], x->lay.shape[i]);
    if (n != 2) y = dync__chain_shape(&c, DYNC__OP_reshape, y, 2, rows);
    w = dync__chain1(&c, DYNC__OP_t, w);
    y = dync__chain3(&c, DYNC__OP_addmm, dync__arg_t(bias), dync__arg_t(y), dync__arg_t(w));
    if (n != 2) y = dync__chain_shape(&c, DYNC__OP_view, y, info.lay.ndim, info.lay.shape);
    return dync__chain_end(&c, call, y);
}

DYNC__FN dync_status dync__d_outer(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *a = dync__dt_arg(call, 0), *b = dync__dt_arg(call, 1);
    a = dync__chain_ti(&c, DYNC__OP_unsqueeze, a, 1);
    b = dync__chain_ti(&c, DYNC__OP_unsqueeze, b, 0);
    return dync__chain_end(&c, call, dync__chain_tt(&c, DYNC__OP_mul, a, b));
}

/* ---- layers ---------------------------------------------------------------------------------- */

DYNC__FN dync_status dync__d_conv2d(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x, *y;
    dync__arg args[7];
    DYNC__TRY(dync__dt_self(call, &x));
    memcpy(args, call->args, sizeof args);
    if (x->lay.ndim == 3) args[0] = dync__arg_t(dync__chain_ti(&c, DYNC__OP_unsqueeze, x, 0));
    dync__chain_call(&c, DYNC__OP_convolution, 7, args, &y);
    if (x->lay.ndim == 3) y = dync__chain_ti(&c, DYNC__OP_squeeze, y, 0);
    return dync__chain_end(&c, call, y);
}

DYNC__FN dync_status dync__d_max_pool2d(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *both[2];
    dync__chain_call(&c, DYNC__OP_max_pool2d_with_indices, call->nargs, call->args, both);
    return dync__chain_end(&c, call, both[0]);
}

/* Place i of n covers [floor(i size / n), ceil((i + 1) size / n)): where n does not divide the
 * size, a mean each, one dim after the other. */
static dync__dt *dync__chain_pool_dim(dync__chain *c, dync__dt *x, int64_t dim, int64_t n)
{
    if (!x) return NULL;
    int64_t size = dync__sz_number(x->lay.shape[dim]);
    dync__arg *part = dync__calloc((size_t)n * sizeof *part);
    if (!part) return dync__chain_fail(c, DYNC_ERR_MEMORY), NULL;
    for (int64_t i = 0; i < n; i++) {
        dync__dt *piece = dync__chain_slice(c, x, dim, i * size / n, ((i + 1) * size + n - 1) / n);
        part[i] = dync__arg_t(dync__chain_reduce(c, DYNC__OP_mean, piece, 1, &dim, true));
    }
    x = dync__chain_cat(c, (int)n, part, dim);
    dync__free(part, (size_t)n * sizeof *part);
    return x;
}

DYNC__FN dync_status dync__d_adaptive_avg_pool2d(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x, *y;
    dync__info info;
    static const int64_t zero[2] = {0, 0};
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__op_infer(call, &info));
    int n = x->lay.ndim;
    const int64_t *from = x->lay.shape + n - 2, *to = info.lay.shape + n - 2;
    if (to[0] == 0 || to[1] == 0 || x->lay.shape[n - 3] == 0) {
        y = dync__chain_slice(&c, dync__chain_slice(&c, x, n - 2, 0, 1), n - 1, 0, 1);
        y = dync__chain_shape(&c, DYNC__OP_expand, y, n, info.lay.shape);
        return dync__chain_end(&c, call, dync__chain1(&c, DYNC__OP__clone_contiguous, y));
    }
    if (!dync__sz_eq(dync__sz_mod(from[0], to[0]), 0) ||
        !dync__sz_eq(dync__sz_mod(from[1], to[1]), 0)) {
        y = dync__chain_dtype(&c, x, x->dtype == DYNC_F64 ? DYNC_F64 : DYNC_F32);
        for (int d = 2; d >= 1; d--) y = dync__chain_pool_dim(&c, y, n - d, to[2 - d]);
        return dync__chain_end(&c, call, dync__chain_dtype(&c, y, x->dtype));
    }
    int64_t kernel[2] = {dync__sz_div(from[0], to[0]), dync__sz_div(from[1], to[1])};
    dync__arg args[6] = {
        call->args[0],           dync__arg_dims(2, kernel), dync__arg_dims(2, kernel),
        dync__arg_dims(2, zero), dync__arg_b(false),        dync__arg_b(true)};
    dync__chain_call(&c, DYNC__OP_avg_pool2d, 6, args, &y);
    return dync__chain_end(&c, call, y);
}

DYNC__FN dync_status dync__d_layer_norm(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *all[3];
    dync__chain_call(&c, DYNC__OP_native_layer_norm, call->nargs, call->args, all);
    return dync__chain_end(&c, call, all[0]);
}

/* Every dim but the channels. */
static int dync__decompose_stat_dims(const dync__dt *x, int64_t *dims)
{
    int n = 0;
    for (int d = 0; d < x->lay.ndim; d++)
        if (d != 1) dims[n++] = d;
    return n;
}

/* A vector of channels as [1, C, 1, ...]. */
static dync__dt *dync__chain_channels(dync__chain *c, dync__dt *v, const dync__dt *x)
{
    int64_t shape[DYNC_MAX_DIMS];
    for (int d = 0; d < x->lay.ndim; d++) shape[d] = d == 1 ? x->lay.shape[1] : 1;
    return v ? dync__chain_shape(c, DYNC__OP_view, v, x->lay.ndim, shape) : NULL;
}

static dync__dt *dync__chain_empty(dync__chain *c, int dtype, int device)
{
    static const int64_t none = 0;
    return dync__chain3(c, DYNC__OP_zeros, dync__arg_dims(1, &none), dync__arg_dtype(dtype),
                        dync__arg_device(device));
}

/* (1 - momentum) * running + momentum * now */
static dync__dt *dync__chain_running(dync__chain *c, dync__dt *running, dync__dt *now,
                                     double momentum)
{
    dync__dt *old = dync__chain_tf(c, DYNC__OP_mul, running, 1 - momentum);
    return dync__chain_dtype(
        c, dync__chain_tt(c, DYNC__OP_add, old, dync__chain_tf(c, DYNC__OP_mul, now, momentum)),
        running->dtype);
}

DYNC__FN dync_status dync__d_native_batch_norm(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x, *w = dync__dt_arg(call, 1), *bias = dync__dt_arg(call, 2),
                 *rm = dync__dt_arg(call, 3), *rv = dync__dt_arg(call, 4), *out[5];
    int64_t dims[DYNC_MAX_DIMS];
    DYNC__TRY(dync__dt_self(call, &x));
    /* an empty batch says nothing of the statistics */
    bool training = call->args[5].as.i != 0, counted = training && x->numel;
    double momentum = dync__arg_number(&call->args[6]), eps = dync__arg_number(&call->args[7]);
    int n_dims = dync__decompose_stat_dims(x, dims),
        wide = x->dtype == DYNC_F64 ? DYNC_F64 : DYNC_F32;
    double n = x->lay.shape[1] ? dync__sf_of(dync__sz_div(x->numel, x->lay.shape[1])) : 0;
    int64_t channels = x->lay.shape[1];
    dync__dt *xw = dync__chain_dtype(&c, x, wide), *mean, *var, *invstd, *y;
    if (training) {
        dync__arg args[4] = {dync__arg_t(xw), dync__arg_dims(n_dims, dims), dync__arg_i(0),
                             dync__arg_b(true)};
        mean = dync__chain_reduce(&c, DYNC__OP_mean, xw, n_dims, dims, true);
        dync__chain_call(&c, DYNC__OP_var, 4, args, &var);
    } else {
        mean = dync__chain_channels(&c, rm, x);
        var = dync__chain_channels(&c, rv, x);
    }
    invstd = dync__chain1(&c, DYNC__OP_rsqrt, dync__chain_tf(&c, DYNC__OP_add, var, eps));
    y = dync__chain_tt(&c, DYNC__OP_mul, dync__chain_tt(&c, DYNC__OP_sub, xw, mean), invstd);
    if (w) y = dync__chain_tt(&c, DYNC__OP_mul, y, dync__chain_channels(&c, w, x));
    if (bias) y = dync__chain_tt(&c, DYNC__OP_add, y, dync__chain_channels(&c, bias, x));
    out[0] = dync__chain_dtype(&c, y, x->dtype);
    mean = training ? dync__chain_shape(&c, DYNC__OP_view, mean, 1, &channels) : NULL;
    out[1] = training ? mean : dync__chain_empty(&c, wide, x->device);
    out[2] = training ? dync__chain_shape(&c, DYNC__OP_view, invstd, 1, &channels)
                      : dync__chain_empty(&c, wide, x->device);
    if (training && (rm || rv))
        var = dync__chain_tf(&c, DYNC__OP_mul,
                             dync__chain_shape(&c, DYNC__OP_view, var, 1, &channels),
                             dync__sf(DYNC__SF_DIV, n, dync__sf(DYNC__SF_SUB, n, 1)));
    out[3] = !rm       ? dync__chain_empty(&c, wide, x->device)
             : counted ? dync__chain_running(&c, rm, mean, momentum)
                       : dync__chain1(&c, DYNC__OP_clone, rm);
    out[4] = !rv       ? dync__chain_empty(&c, wide, x->device)
             : counted ? dync__chain_running(&c, rv, var, momentum)
                       : dync__chain1(&c, DYNC__OP_clone, rv);
    return dync__chain_end_n(&c, call, 5, out);
}

/* The running statistics are no part of the gradient's graph. */
DYNC__FN dync_status dync__d_batch_norm(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *all[5], *running[2] = {dync__dt_arg(call, 3), dync__dt_arg(call, 4)}, *x;
    DYNC__TRY(dync__dt_self(call, &x));
    if (x->lay.ndim == 1)
        return dync__chain_end(
            &c, call, dync__chain1(&c, DYNC__OP_clone, x)); /* empty: infer.c has seen to it */
    dync__chain_call(&c, DYNC__OP__native_batch_norm_legit_functional, call->nargs, call->args,
                     all);
    bool off = dync__tls.grad_enabled_off;
    dync__tls.grad_enabled_off = true;
    for (int i = 0; i < 2 && call->args[5].as.i; i++)
        if (running[i]) dync__chain_tt(&c, DYNC__OP_copy_, running[i], all[3 + i]);
    dync__tls.grad_enabled_off = off;
    return dync__chain_end(&c, call, all[0]);
}

DYNC__FN dync_status dync__d_native_batch_norm_backward(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *g, *x = dync__dt_arg(call, 1), *w = dync__dt_arg(call, 2), *mean, *invstd, *out[3];
    int64_t dims[DYNC_MAX_DIMS];
    DYNC__TRY(dync__dt_self(call, &g));
    bool train = call->args[7].as.i != 0;
    int n_dims = dync__decompose_stat_dims(x, dims),
        wide = x->dtype == DYNC_F64 ? DYNC_F64 : DYNC_F32;
    int stats = w ? w->dtype : wide;
    double n = x->lay.shape[1] ? dync__sf_of(dync__sz_div(x->numel, x->lay.shape[1])) : 1;
    mean = dync__chain_channels(&c, dync__dt_arg(call, train ? 5 : 3), x);
    if (train)
        invstd = dync__dt_arg(call, 6);
    else
        invstd = dync__chain1(&c, DYNC__OP_rsqrt,
                              dync__chain_tf(&c, DYNC__OP_add, dync__dt_arg(call, 4),
                                             dync__arg_number(&call->args[8])));
    invstd = dync__chain_channels(&c, invstd, x);
    dync__dt *gw = dync__chain_dtype(&c, g, wide),
             *hat = dync__chain_tt(
                 &c, DYNC__OP_mul,
                 dync__chain_tt(&c, DYNC__OP_sub, dync__chain_dtype(&c, x, wide), mean), invstd);
    dync__dt *sum_g = dync__chain_reduce(&c, DYNC__OP_sum, gw, n_dims, dims, true);
    dync__dt *sum_gh = dync__chain_reduce(
        &c, DYNC__OP_sum, dync__chain_tt(&c, DYNC__OP_mul, gw, hat), n_dims, dims, true);
    dync__dt *gx = gw;
    if (train) {
        gx = dync__chain_tt(&c, DYNC__OP_sub, gx,
                            dync__chain_tf(&c, DYNC__OP_mul, sum_g, dync__sf(DYNC__SF_DIV, 1, n)));
        gx = dync__chain_tt(
            &c, DYNC__OP_sub, gx,
            dync__chain_tt(&c, DYNC__OP_mul, hat,
                           dync__chain_tf(&c, DYNC__OP_mul, sum_gh, dync__sf(DYNC__SF_DIV, 1, n))));
    }
    dync__dt *scale = w ? dync__chain_tt(&c, DYNC__OP_mul, invstd, dync__chain_channels(&c, w, x))
                        : invstd;
    out[0] = dync__chain_dtype(&c, dync__chain_tt(&c, DYNC__OP_mul, gx, scale), x->dtype);
    out[1] = dync__chain_dtype(
        &c, dync__chain_shape(&c, DYNC__OP_view, sum_gh, 1, &x->lay.shape[1]), stats);
    out[2] = dync__chain_dtype(&c, dync__chain_shape(&c, DYNC__OP_view, sum_g, 1, &x->lay.shape[1]),
                               stats);
    return dync__chain_end_n(&c, call, 3, out);
}

DYNC__FN dync_status dync__d_dropout(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x;
    double p = dync__arg_number(&call->args[1]);
    DYNC__TRY(dync__dt_self(call, &x));
    if (call->args[2].as.i == 0 || !(p > 0)) return dync__chain_end(&c, call, x);
    if (p >= 1)
        return dync__chain_end(
            &c, call,
            dync__chain_tt(&c, DYNC__OP_mul, x, dync__chain1(&c, DYNC__OP_zeros_like, x)));
    dync__dt *keep = dync__chain_tf(&c, DYNC__OP_ge, dync__chain1(&c, DYNC__OP_rand_like, x), p);
    return dync__chain_end(
        &c, call,
        dync__chain_tf(&c, DYNC__OP_mul, dync__chain_tt(&c, DYNC__OP_mul, x, keep), 1 / (1 - p)));
}

DYNC__FN dync_status dync__d_embedding_dense_backward(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *g, *index = dync__dt_arg(call, 1), *y;
    int64_t all = -1;
    DYNC__TRY(dync__dt_self(call, &g));
    int64_t width = g->lay.shape[g->lay.ndim - 1], shape[2] = {call->args[2].as.i, width},
            rows[2] = {index->numel, width};
    y = dync__chain3(&c, DYNC__OP_zeros, dync__arg_dims(2, shape), dync__arg_dtype(g->dtype),
                     dync__arg_device(g->device));
    index = dync__chain_shape(&c, DYNC__OP_reshape, index, 1, &all);
    g = dync__chain_shape(&c, DYNC__OP_reshape, g, 2, rows);
    dync__arg args[4] = {dync__arg_t(y), dync__arg_i(0), dync__arg_t(index), dync__arg_t(g)};
    dync__chain_call(&c, DYNC__OP_index_add, 4, args, &y);
    return dync__chain_end(&c, call, y);
}

/* ---- pointwise, for gradients ---------------------------------------------------------------- */

DYNC__FN dync_status dync__d_relu6(dync__opcall *call)
{
    dync__chain c = {0};
    return dync__chain_end(
        &c, call,
        dync__chain3(&c, DYNC__OP_hardtanh, call->args[0], dync__arg_f(0), dync__arg_f(6)));
}

DYNC__FN dync_status dync__d_sigmoid_backward(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *g = dync__dt_arg(call, 0), *y = dync__dt_arg(call, 1);
    dync__dt *rest = dync__chain2(&c, DYNC__OP_sub, dync__arg_i(1), dync__arg_t(y));
    return dync__chain_end(
        &c, call, dync__chain_tt(&c, DYNC__OP_mul, dync__chain_tt(&c, DYNC__OP_mul, g, rest), y));
}

DYNC__FN dync_status dync__d_tanh_backward(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *g = dync__dt_arg(call, 0), *y = dync__dt_arg(call, 1);
    dync__dt *rest = dync__chain2(&c, DYNC__OP_sub, dync__arg_i(1),
                                  dync__arg_t(dync__chain_tt(&c, DYNC__OP_mul, y, y)));
    return dync__chain_end(&c, call, dync__chain_tt(&c, DYNC__OP_mul, g, rest));
}

/* A bool as 0 or 1 of a floating dtype: losses subtract it. */
static dync__dt *dync__chain_counted(dync__chain *c, dync__dt *x, const dync__dt *other)
{
    return x && other && x->dtype == DYNC_BOOL ? dync__chain_dtype(c, x, other->dtype) : x;
}

static dync__dt *dync__chain_loss_gap(dync__chain *c, const dync__opcall *call)
{
    dync__dt *x = dync__dt_arg(call, 0), *y = dync__dt_arg(call, 1);
    return dync__chain_tt(c, DYNC__OP_sub, dync__chain_counted(c, x, y),
                          dync__chain_counted(c, y, x));
}

/* ---- norms and losses ------------------------------------------------------------------------ */

/* The 2-norm keeps away from sqrt's infinite slope at 0: its gradient there is 0, as in PyTorch. */
static dync__dt *dync__chain_norm2(dync__chain *c, dync__dt *x, int n, const int64_t *dims,
                                   bool keepdim)
{
    dync__dt *s = dync__chain_reduce(c, DYNC__OP_sum, dync__chain_tt(c, DYNC__OP_mul, x, x), n,
                                     dims, keepdim);
    dync__dt *zero = dync__chain_ti(c, DYNC__OP_eq, s, 0);
    s = dync__chain3(c, DYNC__OP_masked_fill, dync__arg_t(s), dync__arg_t(zero), dync__arg_i(1));
    return dync__chain3(c, DYNC__OP_masked_fill, dync__arg_t(dync__chain1(c, DYNC__OP_sqrt, s)),
                        dync__arg_t(zero), dync__arg_i(0));
}

/* sum(a ** p) ** (1 / p) of a = abs(x), p not 0 and finite. A power of zero has no slope here, as
 * in PyTorch: it is infinite, or NaN once the other power's is multiplied with it. So zeros are
 * kept away from pow, and what it makes of them is put back. */
static dync__dt *dync__chain_norm_p(dync__chain *c, dync__dt *a, double p, int n,
                                    const int64_t *dims, bool keepdim)
{
    const double inf = HUGE_VAL, of_zero = p > 0 ? 0 : inf;
    dync__dt *zero = p < 1 ? dync__chain_ti(c, DYNC__OP_eq, a, 0) : NULL;
    if (zero)
        a = dync__chain3(c, DYNC__OP_masked_fill, dync__arg_t(a), dync__arg_t(zero),
                         dync__arg_i(1));
    a = dync__chain_tf(c, DYNC__OP_pow, a, p);
    if (zero)
        a = dync__chain3(c, DYNC__OP_masked_fill, dync__arg_t(a), dync__arg_t(zero),
                         dync__arg_f(of_zero));
    dync__dt *s = dync__chain_reduce(c, DYNC__OP_sum, a, n, dims, keepdim),
             *none = dync__chain_ti(c, DYNC__OP_eq, s, 0);
    s = dync__chain3(c, DYNC__OP_masked_fill, dync__arg_t(s), dync__arg_t(none), dync__arg_i(1));
    s = dync__chain_tf(c, DYNC__OP_pow, s, 1 / p);
    return dync__chain3(c, DYNC__OP_masked_fill, dync__arg_t(s), dync__arg_t(none),
                        dync__arg_f(of_zero));
}

/* How many are not zero. By way of sgn, whose gradient is zero: the result has a history. */
static dync__dt *dync__chain_norm0(dync__chain *c, dync__dt *x, int n, const int64_t *dims,
                                   bool keepdim)
{
    dync__dt *one = dync__chain3(c, DYNC__OP_masked_fill,
                                 dync__arg_t(dync__chain1(c, DYNC__OP_sgn, x)),
                                 dync__arg_t(dync__chain_ti(c, DYNC__OP_ne, x, 0)), dync__arg_i(1));
    return dync__chain_reduce(c, DYNC__OP_sum, one, n, dims, keepdim);
}

DYNC__FN dync_status dync__d_norm(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x, *y;
    double p = dync__arg_number(&call->args[1]);
    int n = call->args[2].n;
    const int64_t *dims = call->args[2].as.dims;
    bool keepdim = call->args[3].as.i != 0;
    DYNC__TRY(dync__dt_self(call, &x));
    int dtype = x->dtype, wide = dync__dtype_info(dtype)->bytes == 2 ? DYNC_F32 : dtype,
        place = p > 0 ? DYNC__OP_amax : DYNC__OP_amin;
    /* squares of halves overflow */
    x = dync__chain_dtype(&c, x, wide);
    if (p >= 2 && p <= 2)
        y = dync__chain_norm2(&c, x, n, dims, keepdim);
    else if (p >= 0 && p <= 0)
        y = dync__chain_norm0(&c, x, n, dims, keepdim);
    else {
        bool whole = p > DBL_MAX || p < -DBL_MAX, plain = p >= 1 && p <= 1;
        x = dync__chain1(&c, DYNC__OP_abs, x);
        y = whole || plain
                ? dync__chain_reduce(&c, whole ? place : DYNC__OP_sum, x, n, dims, keepdim)
                : dync__chain_norm_p(&c, x, p, n, dims, keepdim);
    }
    return dync__chain_end(&c, call, dync__chain_dtype(&c, y, dtype));
}

static dync_status dync__decompose_extreme(dync__opcall *call, int op)
{
    dync__chain c = {0};
    dync__dt *x;
    DYNC__TRY(dync__dt_self(call, &x));
    return dync__chain_end(&c, call, dync__chain_reduce(&c, op, x, 0, NULL, false));
}
DYNC__FN dync_status dync__d_max(dync__opcall *call)
{
    return dync__decompose_extreme(call, DYNC__OP_amax);
}
DYNC__FN dync_status dync__d_min(dync__opcall *call)
{
    return dync__decompose_extreme(call, DYNC__OP_amin);
}

DYNC__FN dync_status dync__d_l1_loss(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *gap = dync__chain_tt(&c, DYNC__OP_sub, dync__dt_arg(call, 0), dync__dt_arg(call, 1));
    return dync__chain_end(&c, call, dync__chain_mean(&c, dync__chain1(&c, DYNC__OP_abs, gap)));
}

DYNC__FN dync_status dync__d_mse_loss(dync__opcall *call)
{
    dync__chain c = {0};
    return dync__chain_end(
        &c, call,
        dync__chain_mean(&c, dync__chain1(&c, DYNC__OP_square, dync__chain_loss_gap(&c, call))));
}

DYNC__FN dync_status dync__d_smooth_l1_loss(dync__opcall *call)
{
    dync__chain c = {0};
    double beta = dync__arg_number(&call->args[2]);
    dync__dt *gap = dync__chain1(&c, DYNC__OP_abs, dync__chain_loss_gap(&c, call));
    if (!(beta > 0)) return dync__chain_end(&c, call, dync__chain_mean(&c, gap));
    dync__dt *curve =
        dync__chain_tf(&c, DYNC__OP_mul, dync__chain1(&c, DYNC__OP_square, gap), 0.5 / beta);
    dync__dt *line = dync__chain_tf(&c, DYNC__OP_sub, gap, 0.5 * beta),
             *near_zero = dync__chain_tf(&c, DYNC__OP_lt, gap, beta);
    return dync__chain_end(
        &c, call,
        dync__chain_mean(&c, dync__chain3(&c, DYNC__OP_where, dync__arg_t(near_zero),
                                          dync__arg_t(curve), dync__arg_t(line))));
}

DYNC__FN dync_status dync__d_binary_cross_entropy(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *each = dync__chain2(&c, DYNC__OP__binary_cross_entropy, call->args[0], call->args[1]);
    return dync__chain_end(&c, call, dync__chain_mean(&c, each));
}

DYNC__FN dync_status dync__d_binary_cross_entropy_with_logits(dync__opcall *call)
{
    dync__chain c = {0};
    dync__info info;
    DYNC__TRY(dync__op_infer(call, &info));
    dync__dt *x = dync__chain_wide(&c, dync__dt_arg(call, 0)),
             *y = dync__chain_wide(&c, dync__dt_arg(call, 1));
    dync__dt *linear = dync__chain_tt(&c, DYNC__OP_mul, dync__chain_one_minus(&c, y), x);
    dync__dt *mean = dync__chain_mean(
        &c, dync__chain_tt(&c, DYNC__OP_sub, linear, dync__chain1(&c, DYNC__OP_logsigmoid, x)));
    return dync__chain_end(&c, call, dync__chain_dtype(&c, mean, info.dtype));
}

enum { DYNC__IGNORE_INDEX = -100 };

DYNC__FN dync_status dync__d_nll_loss(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x, *target = dync__dt_arg(call, 1);
    DYNC__TRY(dync__dt_self(call, &x));
    int dim = x->lay.ndim == 1 ? 0 : 1;
    target = dync__chain_dtype(&c, target, DYNC_I64);
    dync__dt *ignored = dync__chain_ti(&c, DYNC__OP_eq, target, DYNC__IGNORE_INDEX);
    dync__dt *safe = dync__chain3(&c, DYNC__OP_masked_fill, dync__arg_t(target),
                                  dync__arg_t(ignored), dync__arg_i(0));
    safe = dync__chain_ti(&c, DYNC__OP_unsqueeze, safe, dim);
    dync__dt *picked =
        dync__chain3(&c, DYNC__OP_gather, dync__arg_t(x), dync__arg_i(dim), dync__arg_t(safe));
    picked = dync__chain1(&c, DYNC__OP_neg, dync__chain_ti(&c, DYNC__OP_squeeze, picked, dim));
    picked = dync__chain3(&c, DYNC__OP_masked_fill, dync__arg_t(picked), dync__arg_t(ignored),
                          dync__arg_i(0));
    dync__dt *total = dync__chain_reduce(&c, DYNC__OP_sum, picked, 0, NULL, false);
    dync__dt *count = dync__chain_reduce(
        &c, DYNC__OP_sum, dync__chain1(&c, DYNC__OP_logical_not, ignored), 0, NULL, false);
    return dync__chain_end(&c, call, dync__chain_tt(&c, DYNC__OP_div, total, count));
}

DYNC__FN dync_status dync__d_cross_entropy(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x, *target = dync__dt_arg(call, 1);
    dync__info info;
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__op_infer(call, &info));
    int64_t dim = x->lay.ndim == 1 ? 0 : 1;
    x = dync__chain_ti(&c, DYNC__OP_log_softmax, x, dim);
    if (dync__dtype_info(target->dtype)->kind != 'f')
        return dync__chain_end(&c, call, dync__chain_tt(&c, DYNC__OP_nll_loss, x, target));
    x = dync__chain_reduce(&c, DYNC__OP_sum, dync__chain_tt(&c, DYNC__OP_mul, x, target), 1, &dim,
                           false);
    return dync__chain_end(&c, call, dync__chain1(&c, DYNC__OP_neg, dync__chain_mean(&c, x)));
}

/* ---- shapes that depend on data: eager only -------------------------------------------------- */

static dync_status dync__decompose_real(const dync__dt *t)
{
    if (!(t->flags & DYNC__T_FAKE) && dync__device_is(t->device, DYNC__DEV_DATA)) return DYNC_OK;
    return dync__fail(DYNC_ERR_UNSUPPORTED,
                      "the shape of the result depends on data, which a fake or meta tensor does "
                      "not have");
}

DYNC__FN dync_status dync__d_nonzero(dync__opcall *call)
{
    dync__dt *t, *x, *y;
    DYNC__TRY(dync__dt_self(call, &t));
    DYNC__TRY(dync__decompose_real(t));
    int n = t->lay.ndim, width = dync__dtype_info(t->dtype)->bytes;
    if (!(x = dync__contiguous_copy(t))) return DYNC_ERR_MEMORY;
    const char *data = dync__tensor_data(x);
    int64_t shape[2] = {0, n}, at[DYNC_MAX_DIMS] = {0};
    for (int64_t i = 0; i < t->numel; i++) {
        double v = dync__load_f64(data + i * width, t->dtype);
        shape[0] += v < 0 || v > 0 || v != v;
    }
    dync__layout lay;
    dync_status status = dync__layout_contiguous(&lay, 2, shape);
    lay.stride[0] = 1; /* one dim's places after another's, as PyTorch lays them */
    lay.stride[1] = DYNC__MAX(shape[0], 1);
    y = status == DYNC_OK ? dync__tensor_empty(DYNC_I64, DYNC_CPU, &lay) : NULL;
    int64_t *out = y ? dync__tensor_data(y) : NULL;
    for (int64_t i = 0; y && n > 0 && i < t->numel; i++) {
        double v = dync__load_f64(data + i * width, t->dtype);
        if (v < 0 || v > 0 || v != v) {
            for (int d = 0; d < n; d++) out[d * shape[0]] = at[d];
            out++;
        }
        for (int d = n - 1; d >= 0 && ++at[d] == t->lay.shape[d]; d--) at[d] = 0;
    }
    dync__unref(x);
    if (!y) return status != DYNC_OK ? status : DYNC_ERR_MEMORY;
    if (!dync__device_is(t->device, DYNC__DEV_HOST)) {
        dync__arg args[2] = {dync__arg_t(y), dync__arg_device(t->device)};
        status = dync__op_run(DYNC__OP_to_device, 2, args, &call->out[0]);
        dync__unref(y);
        call->nout = status == DYNC_OK;
        return status;
    }
    call->out[0] = y;
    call->nout = 1;
    return DYNC_OK;
}

/* One class more than the largest index. */
DYNC__FN dync_status dync__d_one_hot_all(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x;
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__decompose_real(x));
    if (x->numel == 0)
        return dync__fail(DYNC_ERR_VALUE, "Can not infer total number of classes "
                                          "from empty tensor.");
    dync__dt *most = dync__chain1(&c, DYNC__OP_max, x),
             *seen = most ? dync__contiguous_copy(most) : NULL;
    int64_t last = seen ? dync__load_i64(dync__tensor_data(seen), x->dtype) : 0;
    if (last == INT64_MAX)
        c.status = dync__fail(DYNC_ERR_SHAPE, "class %lld is too large", (long long)last);
    dync__dt *y = seen && last < INT64_MAX
                      ? dync__chain_ti(&c, DYNC__OP_one_hot, x, DYNC__MAX(last, 0) + 1)
                      : NULL;
    dync__unref(seen);
    return dync__chain_end(&c, call, y);
}

DYNC__FN dync_status dync__d_masked_select(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x, *mask;
    int64_t shape[DYNC_MAX_DIMS], all = -1;
    int n;
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__infer_tensor(call, 1, &mask));
    if (mask->dtype != DYNC_BOOL)
        return dync__fail(DYNC_ERR_DTYPE, "expected mask to be a bool tensor, got dtype %s",
                          dync__dtype_info(mask->dtype)->name);
    DYNC__TRY(
        dync__broadcast(x->lay.ndim, x->lay.shape, mask->lay.ndim, mask->lay.shape, &n, shape));
    x = dync__chain_shape(&c, DYNC__OP_reshape, dync__chain_shape(&c, DYNC__OP_expand, x, n, shape),
                          1, &all);
    mask = dync__chain_shape(&c, DYNC__OP_reshape,
                             dync__chain_shape(&c, DYNC__OP_expand, mask, n, shape), 1, &all);
    dync__dt *index =
        dync__chain_ti(&c, DYNC__OP_squeeze, dync__chain1(&c, DYNC__OP_nonzero, mask), 1);
    return dync__chain_end(&c, call,
                           dync__chain3(&c, DYNC__OP_index_select, dync__arg_t(x), dync__arg_i(0),
                                        dync__arg_t(index)));
}
