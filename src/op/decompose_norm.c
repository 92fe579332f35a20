/* op/decompose_norm.c: norms, distances and normalisations by groups. After decompose_loss.c. */
#include "../dync.in.h"
#include "chain.h"
DYNC__COLD

/* ---- norms and distances --------------------------------------------------------------------- */

/* The p-norm along one dim. */
static dync__dt *dync__dn_norm(dync__chain *c, dync__dt *x, dync__arg p, int64_t dim, bool keepdim)
{
    dync__arg args[4] = {dync__arg_t(x), p, dync__arg_dims(1, &dim), dync__arg_b(keepdim)};
    dync__dt *y;
    dync__chain_call(c, DYNC__OP_norm, 4, args, &y);
    return y;
}

/* max(x, low): divisors are kept off zero so. */
static dync__dt *dync__dn_at_least(dync__chain *c, dync__dt *x, double low)
{
    return dync__chain3(c, DYNC__OP_clamp, dync__arg_t(x), dync__arg_f(low), dync__arg_none());
}

/* Arguments (x, p, dim, eps): x / max(norm, eps). */
DYNC__FN dync_status dync__d_normalize(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x;
    int dim;
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__infer_floating(x));
    DYNC__TRY(dync__dn_dim(call, 2, x->lay.ndim, &dim));
    dync__dt *n = dync__dn_at_least(&c, dync__dn_norm(&c, x, call->args[1], dim, true),
                                    dync__dn_number(call, 3));
    return dync__chain_end(&c, call, dync__chain_tt(&c, DYNC__OP_div, x, n));
}

/* Arguments (x1, x2, dim, eps): both broadcast, each divided by max(its length, eps), multiplied
 * and summed along dim. They are divided before they are multiplied, as in PyTorch. */
DYNC__FN dync_status dync__d_cosine_similarity(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x[2];
    int64_t shape[DYNC_MAX_DIMS], at;
    int n, dim;
    int common = dync__op_common_dtype(call);
    DYNC__TRY(dync__infer_tensor(call, 0, &x[0]));
    DYNC__TRY(dync__infer_tensor(call, 1, &x[1]));
    if (dync__dtype_info(common)->kind != 'f') DYNC__TRY(dync__infer_floating(x[0]));
    DYNC__TRY(dync__broadcast(x[0]->lay.ndim, x[0]->lay.shape, x[1]->lay.ndim, x[1]->lay.shape, &n,
                              shape));
    DYNC__TRY(dync__dn_dim(call, 2, n, &dim));
    at = dim;
    for (int i = 0; i < 2; i++) {
        if (x[i]->dtype != common) x[i] = dync__chain_dtype(&c, x[i], common);
        x[i] = dync__chain_shape(&c, DYNC__OP_expand, x[i], n, shape);
        dync__dt *length = dync__dn_norm(&c, x[i], dync__arg_i(2), dim, true);
        x[i] = dync__chain_tt(&c, DYNC__OP_div, x[i],
                              dync__dn_at_least(&c, length, dync__dn_number(call, 3)));
    }
    dync__dt *y = dync__chain_tt(&c, DYNC__OP_mul, x[0], x[1]);
    return dync__chain_end(&c, call, dync__chain_reduce(&c, DYNC__OP_sum, y, 1, &at, false));
}

/* Groups are rows of a layer norm without weights; f16 and bf16 are rounded once. x [N, C, ..] is
 * seen as [N * groups, C / groups * ..]: each row is one group of one sample. w and b are per
 * channel, so they are applied behind it. groups = C is instance norm, whose result is row major
 * whatever x is: not formed; it repeats its weight by sample, so that one may be written before
 * its backward. */
static dync_status dync__dn_group_norm(dync__opcall *call, dync__dt *x, int64_t groups, dync__dt *w,
                                       dync__dt *b, double eps, bool formed)
{
    dync__chain c = {0};
    int64_t channels = x->lay.shape[1], rows[2] = {dync__sz_mul(x->lay.shape[0], groups), -1},
            shape[DYNC_MAX_DIMS];
    for (int i = 0; i < 2; i++) {
        const dync__dt *v = i ? b : w;
        if (v && (v->lay.ndim != 1 || !dync__sz_eq(v->lay.shape[0], channels)))
            return dync__fail(DYNC_ERR_SHAPE,
                              "Expected %s to be a vector of size equal to the "
                              "number of channels in input, %lld",
                              i ? "bias" : "weight", (long long)channels);
    }
    rows[1] = x->numel && rows[0] ? dync__sz_size(dync__sz_div(x->numel, rows[0])) : 0;
    dync__arg args[5] = {dync__arg_none(), dync__arg_dims(1, &rows[1]), dync__arg_none(),
                         dync__arg_none(), dync__arg_f(eps)};
    dync__dt *y;
    args[0] =
        dync__arg_t(dync__chain_shape(&c, DYNC__OP_reshape, dync__chain_wide(&c, x), 2, rows));
    dync__chain_call(&c, DYNC__OP_layer_norm, 5, args, &y);
    y = dync__chain_shape(&c, DYNC__OP_view, y, x->lay.ndim, x->lay.shape);
    for (int d = 0; d < x->lay.ndim; d++) shape[d] = d == 1 ? channels : 1;
    if (w && !formed) w = dync__chain1(&c, DYNC__OP_clone, w);
    if (w)
        y = dync__chain_tt(&c, DYNC__OP_mul, y,
                           dync__chain_shape(&c, DYNC__OP_view, w, x->lay.ndim, shape));
    if (b)
        y = dync__chain_tt(&c, DYNC__OP_add, y,
                           dync__chain_shape(&c, DYNC__OP_view, b, x->lay.ndim, shape));
    y = dync__chain_dtype(&c, y, x->dtype);
    return dync__chain_end(&c, call, formed ? dync__chain_formed(&c, y, x) : y);
}

/* Arguments (input, groups, weight, bias, eps). Wu & He 2018, arXiv:1803.08494. */
DYNC__FN dync_status dync__d_group_norm(dync__opcall *call)
{
    dync__dt *x;
    int64_t groups = call->args[1].as.i;
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__infer_floating(x));
    if (x->lay.ndim < 2)
        return dync__fail(DYNC_ERR_SHAPE,
                          "Expected at least 2 dimensions for input tensor but received %d",
                          x->lay.ndim);
    if (x->lay.shape[1] == 0)
        return dync__fail(DYNC_ERR_SHAPE,
                          "Expected number of channels in input to be greater than 0, got 0");
    for (int d = 2; d < x->lay.ndim; d++)
        if (x->lay.shape[d] == 0)
            return dync__fail(DYNC_ERR_SHAPE, "Expected HxW to be greater than 0, got 0");
    if (groups <= 0 || !dync__sz_eq(dync__sz_mod(x->lay.shape[1], groups), 0))
        return dync__fail(DYNC_ERR_SHAPE,
                          "Expected number of channels in input to be divisible "
                          "by num_groups, but got %lld channels and "
                          "num_groups=%lld",
                          (long long)dync__sz_hint(x->lay.shape[1]), (long long)groups);
    return dync__dn_group_norm(call, x, groups, dync__dt_arg(call, 2), dync__dt_arg(call, 3),
                               dync__dn_number(call, 4), true);
}

/* Arguments (input, weight, bias, eps), without running statistics. One spatial element would be
 * normalised to 0, which PyTorch refuses in training. */
DYNC__FN dync_status dync__d_instance_norm(dync__opcall *call)
{
    dync__dt *x;
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__infer_floating(x));
    if (x->lay.ndim >= 3 && x->numel == 0 && (x->lay.shape[0] == 0 || x->lay.shape[1] == 0)) {
        dync__chain c = {0};
        return dync__chain_end(&c, call, dync__chain1(&c, DYNC__OP_clone, x));
    }
    if (x->lay.ndim < 3 || dync__sz_eq(x->numel, dync__sz_mul(x->lay.shape[0], x->lay.shape[1])))
        return dync__fail(DYNC_ERR_SHAPE,
                          "Expected more than 1 spatial element when training, got a %dD input",
                          x->lay.ndim);
    return dync__dn_group_norm(call, x, x->lay.shape[1], dync__dt_arg(call, 1),
                               dync__dt_arg(call, 2), dync__dn_number(call, 3), false);
}

/* Arguments (input, normalized_shape, weight, eps): x / sqrt(mean(x^2) + eps) * weight (Zhang &
 * Sennrich 2019, arXiv:1910.07467). Without eps: the epsilon of the dtype it is computed in. */
DYNC__FN dync_status dync__d_rms_norm(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x, *w = dync__dt_arg(call, 2);
    int64_t dims[DYNC_MAX_DIMS];
    const dync__arg *shape = &call->args[1];
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__infer_floating(x));
    int n = shape->n, lead = x->lay.ndim - n;
    if (n < 1)
        return dync__fail(DYNC_ERR_VALUE, "Expected normalized_shape to be at least "
                                          "1-dimensional");
    for (int i = 0; i < n; i++) {
        dims[i] = lead + i;
        if (lead < 0 || !dync__sz_eq(x->lay.shape[lead + i], shape->as.dims[i]) ||
            (w && (w->lay.ndim != n || !dync__sz_eq(w->lay.shape[i], shape->as.dims[i]))))
            return dync__fail(DYNC_ERR_SHAPE, "expected input, and weight where given, to end "
                                              "with normalized_shape");
    }
    bool wide = x->dtype == DYNC_F64;
    double eps = dync__arg_is_number(&call->args[3]) ? dync__dn_number(call, 3)
                 : wide                              ? DBL_EPSILON
                                                     : (double)FLT_EPSILON;
    dync__dt *xw = dync__chain_dtype(&c, x, wide ? DYNC_F64 : DYNC_F32);
    dync__dt *r =
        dync__chain_reduce(&c, DYNC__OP_mean, dync__chain1(&c, DYNC__OP_square, xw), n, dims, true);
    r = dync__chain1(&c, DYNC__OP_rsqrt, dync__chain_tf(&c, DYNC__OP_add, r, eps));
    dync__dt *y = dync__chain_tt(&c, DYNC__OP_mul, xw, r);
    if (w) y = dync__chain_tt(&c, DYNC__OP_mul, y, w);
    y = dync__chain_dtype(&c, y, x->dtype);
    return dync__chain_end(&c, call, dync__chain_formed(&c, y, x));
}
