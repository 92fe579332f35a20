/* op/decompose_layers.c: composite layers: linear, normalisation, attention, recurrent. After
 * chain.c. */
#include "../dync.in.h"
#include "chain.h"
DYNC__COLD

/* ---- layers ---------------------------------------------------------------------------------- */

/* convolution, which takes 4 dims alone; an input without a batch is a batch of one. */
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
 * size, a mean each, one dim after the other. Symbolic sizes are made numbers, since the number of
 * slices depends on them. */
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

/* Where both sizes divide it is plain average pooling with stride = window = size / n, of an empty
 * image a mean. An empty result is made by an expanded empty slice, so that it has a history. */
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
    if (from[0] == 0 || from[1] == 0) {
        const int64_t planes[2] = {n - 2, n - 1};
        y = dync__chain_reduce(&c, DYNC__OP_mean, x, 2, planes, true);
        return dync__chain_end(&c, call, dync__chain_formed(&c, y, x));
    }
    if (to[0] == 0 || to[1] == 0 || x->lay.shape[n - 3] == 0) {
        y = dync__chain_slice(&c, dync__chain_slice(&c, x, n - 2, 0, 1), n - 1, 0, 1);
        y = dync__chain_shape(&c, DYNC__OP_expand, y, n, info.lay.shape);
        return dync__chain_end(&c, call, dync__chain1(&c, DYNC__OP__clone_contiguous, y));
    }
    if (!dync__sz_eq(dync__sz_mod(from[0], to[0]), 0) ||
        !dync__sz_eq(dync__sz_mod(from[1], to[1]), 0)) {
        y = dync__chain_dtype(&c, x, x->dtype == DYNC_F64 ? DYNC_F64 : DYNC_F32);
        for (int d = 2; d >= 1; d--) y = dync__chain_pool_dim(&c, y, n - d, to[2 - d]);
        return dync__chain_end(&c, call,
                               dync__chain_formed(&c, dync__chain_dtype(&c, y, x->dtype), x));
    }
    int64_t kernel[2] = {dync__sz_div(from[0], to[0]), dync__sz_div(from[1], to[1])};
    dync__arg args[6] = {
        call->args[0],           dync__arg_dims(2, kernel), dync__arg_dims(2, kernel),
        dync__arg_dims(2, zero), dync__arg_b(false),        dync__arg_b(true)};
    dync__chain_call(&c, DYNC__OP_avg_pool2d, 6, args, &y);
    return dync__chain_end(&c, call, y);
}

/* The result without the statistics. */
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

/* A tensor of shape [0]: what stands for an output that is not there. */
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

/* y = (x - mean) / sqrt(var + eps) * weight + bias per channel (Ioffe & Szegedy 2015,
 * arXiv:1502.03167), in f32 (f64 for f64) and rounded once. The batch is normalised by its biased
 * variance, the running one takes the unbiased: times n / (n - 1), n elements per channel, which
 * may be symbolic (dync__sf). */
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
    out[0] =
        dync__chain_formed(&c, dync__chain_dtype(&c, y, x->dtype), dync__norm_form(x) ? x : NULL);
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
    bool off = dync__grad_off(true);
    for (int i = 0; i < 2 && call->args[5].as.i; i++)
        if (running[i]) dync__chain_tt(&c, DYNC__OP_copy_, running[i], all[3 + i]);
    dync__grad_off(off);
    return dync__chain_end(&c, call, all[0]);
}

/* hat = (x - mean) invstd. In training mean and variance depend on x, hence
 *
 *   gx = weight invstd (g - mean(g) - hat mean(g hat))        gw = sum(g hat)        gb = sum(g)
 *
 * and outside of it gx = weight invstd g. Sums and means are over all dims but the channels. */
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

/* Arguments (x, p, training). Kept elements are scaled by 1 / (1 - p), so that the mean stays. p =
 * 1 multiplies by zeros instead, as the scale would be infinite. */
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
    dync__dt *drawn = dync__chain_wide(&c, dync__chain1(&c, DYNC__OP_rand_like, x));
    dync__dt *keep = dync__chain_tf(&c, DYNC__OP_ge, drawn, p);
    return dync__chain_end(
        &c, call,
        dync__chain_tf(&c, DYNC__OP_mul, dync__chain_tt(&c, DYNC__OP_mul, x, keep), 1 / (1 - p)));
}

/* index_add of all rows into zeros; rows that no index names stay 0. */
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
