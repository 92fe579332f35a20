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

/* Where both sizes divide it is plain average pooling with stride = window = size / n. An empty
 * result is made by an expanded empty slice, so that it has a history. */
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
    dync__dt *keep = dync__chain_tf(&c, DYNC__OP_ge, dync__chain1(&c, DYNC__OP_rand_like, x), p);
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

/* ---- attention ------------------------------------------------------------------------------- */

/* The scores with what may not be seen at minus infinity. scores [.., L, S]. is_causal: row i sees
 * columns 0 .. i. A bool mask says what may be seen, one of numbers is added. */
static dync__dt *dync__dn_masked(dync__chain *c, bool is_causal, dync__dt *scores, dync__dt *mask)
{
    const double inf = HUGE_VAL;
    if (is_causal && scores) {
        int64_t shape[2] = {scores->lay.shape[scores->lay.ndim - 2],
                            scores->lay.shape[scores->lay.ndim - 1]};
        dync__arg args[3] = {dync__arg_dims(2, shape), dync__arg_dtype(DYNC_BOOL),
                             dync__arg_device(scores->device)};
        dync__chain_call(c, DYNC__OP_ones, 3, args, &mask);
        mask = dync__chain_ti(c, DYNC__OP_tril, mask, 0);
    }
    if (!mask || !scores) return scores;
    if (mask->dtype != DYNC_BOOL) return dync__chain_tt(c, DYNC__OP_add, scores, mask);
    mask = dync__chain1(c, DYNC__OP_logical_not, mask);
    return dync__chain3(c, DYNC__OP_masked_fill, dync__arg_t(scores), dync__arg_t(mask),
                        dync__arg_f(-inf));
}

/* softmax whose rows that see nothing are zero, not NaN */
static dync__dt *dync__dn_safe_softmax(dync__chain *c, dync__dt *scores)
{
    const double inf = HUGE_VAL;
    int64_t last = -1;
    dync__dt *blind = dync__chain_reduce(
        c, DYNC__OP_all, dync__chain_tf(c, DYNC__OP_eq, scores, -inf), 1, &last, true);
    scores = dync__chain3(c, DYNC__OP_masked_fill, dync__arg_t(scores), dync__arg_t(blind),
                          dync__arg_i(0));
    return dync__chain3(c, DYNC__OP_masked_fill,
                        dync__arg_t(dync__chain_ti(c, DYNC__OP_softmax, scores, -1)),
                        dync__arg_t(blind), dync__arg_i(0));
}

/* In f32 for f16 and bf16, as what follows them: the result alone is rounded. scale * q k^T [.., L,
 * S] */
static dync__dt *dync__dn_scores(dync__chain *c, dync__dt *q, dync__dt *k, dync__dt *mask,
                                 bool is_causal, double scale)
{
    dync__dt *kt = dync__chain3(c, DYNC__OP_transpose, dync__arg_t(dync__chain_wide(c, k)),
                                dync__arg_i(-2), dync__arg_i(-1));
    dync__dt *s = dync__chain_tf(
        c, DYNC__OP_mul, dync__chain_tt(c, DYNC__OP_matmul, dync__chain_wide(c, q), kt), scale);
    return dync__dn_masked(c, is_causal, s, dync__chain_wide(c, mask));
}

/* The means of v by these weights, in v's dtype. */
static dync__dt *dync__dn_weighed(dync__chain *c, dync__dt *weights, dync__dt *v)
{
    return dync__chain_dtype(c, dync__chain_tt(c, DYNC__OP_matmul, weights, dync__chain_wide(c, v)),
                             v->dtype);
}

/* The plain form of the kernel. Dao et al. 2022, arXiv:2205.14135 is what the kernel does: the same
 * numbers without the scores in memory. This form has them. */
DYNC__FN dync_status dync__d_flash_attention(dync__opcall *call)
{
    dync__chain c = {0};
    dync__info info[2];
    dync__dt *mask = dync__dt_arg(call, 3), *v = dync__dt_arg(call, 2), *out[2];
    DYNC__TRY(dync__i_flash_attention(call, info));
    dync__dt *s = dync__dn_scores(&c, dync__dt_arg(call, 0), dync__dt_arg(call, 1), mask,
                                  call->args[4].as.i != 0, dync__dn_number(call, 5));
    int64_t last = -1;
    out[1] = dync__chain_reduce(&c, DYNC__OP_logsumexp, dync__chain_dtype(&c, s, info[1].dtype), 1,
                                &last, false);
    s = mask ? dync__dn_safe_softmax(&c, s) : dync__chain_ti(&c, DYNC__OP_softmax, s, -1);
    out[0] = dync__dn_weighed(&c, s, v);
    return dync__chain_end_n(&c, call, 2, out);
}

/* Does the kernel take these? Batches that broadcast, masks of another dtype and empty scores are
 * left to the plain form. */
static bool dync__dn_flash(const dync__dt *q, const dync__dt *k, const dync__dt *v,
                           const dync__dt *mask)
{
    int n = q->lay.ndim;
    if (dync__dtype_info(q->dtype)->kind != 'f' || k->lay.ndim != n || v->lay.ndim != n ||
        (mask && mask->lay.ndim > n))
        return false;
    if (!dync__sz_same(n - 2, q->lay.shape, k->lay.shape) ||
        !dync__sz_same(n - 2, q->lay.shape, v->lay.shape))
        return false;
    if (!dync__sz_eq(q->lay.shape[n - 1], k->lay.shape[n - 1]) ||
        !dync__sz_eq(k->lay.shape[n - 2], v->lay.shape[n - 2]))
        return false;
    for (int i = 0; mask && i < mask->lay.ndim; i++) {
        int d = n - mask->lay.ndim + i;
        int64_t want = d == n - 1 ? k->lay.shape[n - 2] : q->lay.shape[d], got = mask->lay.shape[i];
        if (!dync__sz_eq(got, want) && !dync__sz_eq(got, 1)) return false;
    }
    return q->numel && k->numel && v->numel &&
           (!mask || mask->dtype == DYNC_BOOL || mask->dtype == q->dtype);
}

/* Arguments (query, key, value, mask, dropout_p, is_causal, scale). scale defaults to 1 / sqrt(E),
 * E maybe symbolic. Without dropout, and where the kernel takes the shapes, it is one operator that
 * kernel/attention.c runs; otherwise products and a softmax. */
DYNC__FN dync_status dync__d_scaled_dot_product_attention(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *q, *k, *v, *mask = dync__dt_arg(call, 3), *y;
    DYNC__TRY(dync__dt_self(call, &q));
    DYNC__TRY(dync__infer_tensor(call, 1, &k));
    DYNC__TRY(dync__infer_tensor(call, 2, &v));
    if (q->dtype != k->dtype || q->dtype != v->dtype)
        return dync__fail(DYNC_ERR_DTYPE,
                          "Expected query, key, and value to have the same "
                          "dtype, but got %s, %s and %s",
                          dync__dtype_info(q->dtype)->guard, dync__dtype_info(k->dtype)->guard,
                          dync__dtype_info(v->dtype)->guard);
    if (q->lay.ndim < 2 || k->lay.ndim < 2 || v->lay.ndim < 2)
        return dync__fail(DYNC_ERR_SHAPE,
                          "Expected query, key, and value to all be  at least 2 "
                          "dimensional, but got %dD, %dD and %dD",
                          q->lay.ndim, k->lay.ndim, v->lay.ndim);
    if (mask && call->args[5].as.i)
        return dync__fail(DYNC_ERR_VALUE, "Explicit attn_mask should not be set when "
                                          "is_causal=True");
    double width = dync__sf_of(q->lay.shape[q->lay.ndim - 1]),
           scale = dync__arg_is_number(&call->args[6])
                       ? dync__dn_number(call, 6)
                       : dync__sf(DYNC__SF_DIV, 1, dync__sf(DYNC__SF_SQRT, width, 0));
    if (!(dync__dn_number(call, 4) > 0) && dync__dn_flash(q, k, v, mask)) {
        dync__arg args[6] = {call->args[0], call->args[1], call->args[2],
                             call->args[3], call->args[5], dync__arg_f(scale)};
        dync__dt *both[2] = {NULL, NULL};
        dync__chain_call(&c, DYNC__OP__scaled_dot_product_flash_attention_for_cpu, 6, args, both);
        return dync__chain_end(&c, call, both[0]);
    }
    y = dync__dn_scores(&c, q, k, mask, call->args[5].as.i != 0, scale);
    y = mask ? dync__dn_safe_softmax(&c, y) : dync__chain_ti(&c, DYNC__OP_softmax, y, -1);
    if (dync__dn_number(call, 4) > 0)
        y = dync__chain3(&c, DYNC__OP_dropout, dync__arg_t(y), call->args[4], dync__arg_b(true));
    return dync__chain_end(&c, call, dync__dn_weighed(&c, y, v));
}

/* ---- recurrent layers ------------------------------------------------------------------------ */

/* State of a layer after a step: h and c [N, H], share: what the backward needs beside the gates
 * (LSTM c, GRU the state's share of n before the reset gate), gate: values behind their
 * nonlinearity. */
typedef struct dync__dn_cell {
    dync__dt *h, *c, *share, *gate[4];
} dync__dn_cell;

/* One step: in [N, gates H] the input's share, hidden the state's, both with their biases. Gates
 * stand in PyTorch's order: LSTM i, f, g, o (Hochreiter & Schmidhuber 1997, with forget gates); GRU
 * r, z, n (Cho et al. 2014, with the reset gate on the product). */
static void dync__dn_step(dync__chain *c, int gates, dync__dt *in, dync__dt *hidden, int64_t size,
                          dync__dn_cell *s)
{
    dync__dt *x[4], *y[4], **g = s->gate;
    for (int i = 0; i < gates; i++) {
        x[i] = gates == 1 ? in : dync__chain_slice(c, in, -1, i * size, (i + 1) * size);
        y[i] = gates == 1 ? hidden : dync__chain_slice(c, hidden, -1, i * size, (i + 1) * size);
        if (gates == 3 && i == 2) y[i] = dync__chain_tt(c, DYNC__OP_mul, g[0], s->share = y[i]);
        x[i] = dync__chain_tt(c, DYNC__OP_add, x[i], y[i]);
        g[i] = gates == 1 || i == 2 ? dync__chain1(c, DYNC__OP_tanh, x[i])
                                    : dync__chain1(c, DYNC__OP_sigmoid, x[i]);
    }
    if (gates == 4) {
        s->c = dync__chain_tt(c, DYNC__OP_add, dync__chain_tt(c, DYNC__OP_mul, g[1], s->c),
                              dync__chain_tt(c, DYNC__OP_mul, g[0], g[2]));
        s->h = dync__chain_tt(c, DYNC__OP_mul, g[3], dync__chain1(c, DYNC__OP_tanh, s->c));
        s->share = s->c;
    } else if (gates == 3) {
        s->h = dync__chain_tt(
            c, DYNC__OP_add, g[2],
            dync__chain_tt(c, DYNC__OP_mul, g[1], dync__chain_tt(c, DYNC__OP_sub, s->h, g[2])));
    } else {
        s->h = g[0];
    }
}

/* [n, ..] of equal tensors; list holds n arguments. */
static dync__dt *dync__dn_stack(dync__chain *c, int n, dync__arg *list)
{
    dync__dt *y = NULL;
    dync__arg args[2] = {{.kind = DYNC__A_LIST, .n = n, .as.list = list}, dync__arg_i(0)};
    dync__chain_call(c, DYNC__OP_stack, 2, args, &y);
    return y;
}

/* The plain form: a step at a time. list: three rows of `steps` arguments: h, share and gates of
 * each step, at the place of the step in the sequence (a reversed layer walks from the last to the
 * first). `empty` is cut from the weight, so that it has a history and its device. */
DYNC__FN dync_status dync__d_rnn_layer(dync__opcall *call)
{
    dync__chain c = {0};
    dync__arena arena = {0};
    dync__info info[4];
    dync__dt *x = dync__dt_arg(call, 0), *w = dync__dt_arg(call, 1),
             *out[4] = {NULL, NULL, NULL, NULL};
    DYNC__TRY(dync__i_rnn_layer(call, info));
    int64_t steps = dync__sz_number(x->lay.shape[0]), size = dync__sz_number(w->lay.shape[1]),
            none = 0;
    int gates = (int)call->args[5].as.i;
    bool saves = call->args[7].as.i && gates > 1;
    dync__arg *list = steps < INT_MAX ? dync__arena_alloc(&arena, (size_t)steps * 3 * sizeof *list)
                                      : NULL;
    if (!list) dync__chain_fail(&c, DYNC_ERR_MEMORY);
    dync__dn_cell s = {.h = dync__dt_arg(call, 3), .c = dync__dt_arg(call, 4)};
    dync__dt *empty = dync__chain_shape(
        &c, DYNC__OP_view,
        dync__chain_slice(&c, dync__chain_shape(&c, DYNC__OP_reshape, w, 1, (const int64_t[]){-1}),
                          0, 0, 0),
        1, &none);
    for (int64_t i = 0; list && i < steps; i++) {
        int64_t t = call->args[6].as.i ? steps - 1 - i : i;
        dync__dt *hidden = NULL, *in = dync__chain3(&c, DYNC__OP_select, dync__arg_t(x),
                                                    dync__arg_i(0), dync__arg_i(t));
        dync__arg linear[3] = {dync__arg_t(s.h), dync__arg_t(w), call->args[2]}, joined[4];
        dync__chain_call(&c, DYNC__OP_linear, 3, linear, &hidden);
        dync__dn_step(&c, gates, in, hidden, size, &s);
        for (int k = 0; k < gates; k++) joined[k] = dync__arg_t(s.gate[k]);
        list[t] = dync__arg_t(s.h);
        list[steps + t] = dync__arg_t(s.share);
        list[2 * steps + t] = saves ? dync__arg_t(dync__chain_cat(&c, gates, joined, -1))
                                    : dync__arg_none();
    }
    for (int k = 0; list && k < 4; k++) {
        bool given = k == 0 || (k == 1 ? gates == 4 : saves);
        out[k] = !given   ? empty
                 : k == 1 ? s.c
                          : dync__dn_stack(&c, (int)steps, list + (k ? k - 1 : 0) * steps);
    }
    dync_status status = dync__chain_end_n(&c, call, 4, out);
    dync__arena_free(&arena);
    return status;
}
