/* op/decompose_nn.c: composites beyond PyTorch's core set: activations, norms, attention,
 * convolutions by other convolutions, padding, losses. After decompose.c, before einsum.c.
 *
 * None has an inference of its own (dync__i_composite runs the decomposition over fakes), so what
 * is checked about arguments is checked here. Formulas: torch/nn/functional.py and
 * torch/_decomp/decompositions.py. */
#include "../dync.in.h"
#include "chain.h"

static double dync__dn_number(const dync__opcall *call, int i)
{
    return dync__arg_number(&call->args[i]);
}

/* The dim that argument i names, of rank ndim. */
static dync_status dync__dn_dim(const dync__opcall *call, int i, int ndim, int *dim)
{
    return dync__dim_wrap(dync__infer_int_dim(&call->args[i]), ndim, dim);
}

static dync_status dync__dn_rank(const dync__dt *x, int rank)
{
    if (x->lay.ndim == rank) return DYNC_OK;
    return dync__fail(DYNC_ERR_SHAPE, "expected a %dD tensor, got %dD", rank, x->lay.ndim);
}

/* ---- activations ----------------------------------------------------------------------------- */

DYNC__FN dync_status dync__d_softsign(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x;
    DYNC__TRY(dync__dt_self(call, &x));
    dync__dt *d = dync__chain_ti(&c, DYNC__OP_add, dync__chain1(&c, DYNC__OP_abs, x), 1);
    return dync__chain_end(&c, call, dync__chain_tt(&c, DYNC__OP_div, x, d));
}

DYNC__FN dync_status dync__d_tanhshrink(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x;
    DYNC__TRY(dync__dt_self(call, &x));
    return dync__chain_end(&c, call,
                           dync__chain_tt(&c, DYNC__OP_sub, x, dync__chain1(&c, DYNC__OP_tanh, x)));
}

/* y, and 0 where x is between -lambd and lambd; NaN is not. */
static dync__dt *dync__dn_zero_inside(dync__chain *c, dync__dt *y, dync__dt *x, double lambd)
{
    dync__dt *inside = dync__chain_tt(c, DYNC__OP_logical_and,
                                      dync__chain_tf(c, DYNC__OP_ge, x, -lambd),
                                      dync__chain_tf(c, DYNC__OP_le, x, lambd));
    return dync__chain3(c, DYNC__OP_masked_fill, dync__arg_t(y), dync__arg_t(inside),
                        dync__arg_i(0));
}

DYNC__FN dync_status dync__d_softshrink(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x;
    double lambd = dync__dn_number(call, 1);
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__infer_floating(x));
    if (!(lambd >= 0))
        return dync__fail(DYNC_ERR_VALUE,
                          "lambda must be greater or equal to 0, but found to be %g.", lambd);
    dync__dt *y = dync__chain_where(&c, dync__chain_tf(&c, DYNC__OP_gt, x, lambd),
                                    dync__arg_t(dync__chain_tf(&c, DYNC__OP_sub, x, lambd)),
                                    dync__arg_t(dync__chain_tf(&c, DYNC__OP_add, x, lambd)));
    return dync__chain_end(&c, call, dync__dn_zero_inside(&c, y, x, lambd));
}

DYNC__FN dync_status dync__d_hardshrink(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x;
    double lambd = dync__dn_number(call, 1);
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__infer_floating(x));
    return dync__chain_end(&c, call, dync__dn_zero_inside(&c, x, x, lambd));
}

DYNC__FN dync_status dync__d_threshold(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x;
    DYNC__TRY(dync__dt_self(call, &x));
    dync__dt *low = dync__chain_tf(&c, DYNC__OP_le, x, dync__dn_number(call, 1));
    return dync__chain_end(
        &c, call,
        dync__chain3(&c, DYNC__OP_masked_fill, dync__arg_t(x), dync__arg_t(low), call->args[2]));
}

/* weight: one slope, or one a channel (dim 1) */
DYNC__FN dync_status dync__d_prelu(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x, *w;
    int64_t shape[DYNC_MAX_DIMS];
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__infer_tensor(call, 1, &w));
    DYNC__TRY(dync__infer_floating(x));
    if (x->dtype != w->dtype)
        return dync__fail(DYNC_ERR_DTYPE, "Type promoting not supported. Got %s and %s",
                          dync__dtype_info(x->dtype)->name, dync__dtype_info(w->dtype)->name);
    int channels = x->lay.ndim > 1 ? 1 : 0;
    for (int d = 0; d < x->lay.ndim; d++) shape[d] = d == channels ? w->numel : 1;
    if (w->numel != 1 &&
        (w->lay.ndim != 1 || x->lay.ndim == 0 || !dync__sz_eq(x->lay.shape[channels], w->numel)))
        return dync__fail(DYNC_ERR_SHAPE,
                          "Mismatch of parameter numbers and input channel size. "
                          "Found parameter numbers = "
                          "%lld and channel size = %lld.",
                          (long long)w->numel,
                          (long long)(x->lay.ndim ? x->lay.shape[channels] : 1));
    if (x->lay.ndim)
        w = dync__chain_shape(&c, DYNC__OP_view, w, x->lay.ndim, shape);
    else
        w = dync__chain_shape(&c, DYNC__OP_view, w, 0, shape);
    dync__dt *y = dync__chain_where(&c, dync__chain_ti(&c, DYNC__OP_gt, x, 0), dync__arg_t(x),
                                    dync__arg_t(dync__chain_tt(&c, DYNC__OP_mul, w, x)));
    return dync__chain_end(&c, call, y);
}

DYNC__FN dync_status dync__d_glu(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x;
    int dim;
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__infer_floating(x));
    if (x->lay.ndim == 0)
        return dync__fail(DYNC_ERR_SHAPE, "glu does not support 0-dimensional "
                                          "tensors");
    DYNC__TRY(dync__dn_dim(call, 1, x->lay.ndim, &dim));
    int64_t size = x->lay.shape[dim];
    if (!dync__sz_eq(dync__sz_mod(size, 2), 0))
        return dync__fail(DYNC_ERR_SHAPE,
                          "Halving dimension must be even, but dimension %d is size %lld", dim,
                          (long long)size);
    int64_t half = dync__sz_div(size, 2);
    dync__dt *gate = dync__chain1(&c, DYNC__OP_sigmoid, dync__chain_slice(&c, x, dim, half, size));
    return dync__chain_end(
        &c, call, dync__chain_tt(&c, DYNC__OP_mul, dync__chain_slice(&c, x, dim, 0, half), gate));
}

DYNC__FN dync_status dync__d_softmin(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x;
    DYNC__TRY(dync__dt_self(call, &x));
    dync__dt *y = dync__chain1(&c, DYNC__OP_neg, x);
    return dync__chain_end(&c, call,
                           dync__chain2(&c, DYNC__OP_softmax, dync__arg_t(y), call->args[1]));
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* self * log(other), 0 where self is 0 and other is a number. Only where the product would be NaN
 * is other replaced, so that the gradient is log(other) elsewhere. */
DYNC__FN dync_status dync__d_xlogy(dync__opcall *call)
{
    const double inf = HUGE_VAL;
    dync__chain c = {0};
    dync__dt *self = dync__dt_arg(call, 0), *other = dync__dt_arg(call, 1);
    if (!self || !other) return dync__fail(DYNC_ERR_VALUE, "expected two tensors");
    other = dync__chain_dtype(&c, other, dync__op_common_dtype(call));
    dync__dt *bad = dync__chain_tt(&c, DYNC__OP_logical_or,
                                   dync__chain_ti(&c, DYNC__OP_le, other, 0),
                                   dync__chain_tf(&c, DYNC__OP_eq, other, inf));
    bad = dync__chain_tt(&c, DYNC__OP_logical_and, bad, dync__chain_ti(&c, DYNC__OP_eq, self, 0));
    dync__dt *safe = dync__chain_where(&c, bad, dync__arg_i(1), dync__arg_t(other));
    return dync__chain_end(
        &c, call, dync__chain_tt(&c, DYNC__OP_mul, self, dync__chain1(&c, DYNC__OP_log, safe)));
}

/* DYNC_NONE for an infinity: the largest or smallest number of the dtype */
DYNC__FN dync_status dync__d_nan_to_num(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x;
    DYNC__TRY(dync__dt_self(call, &x));
    if (dync__dtype_info(x->dtype)->kind != 'f')
        return dync__chain_end(&c, call, dync__chain1(&c, DYNC__OP_clone, x));
    const double inf = HUGE_VAL, most = dync__infer_largest(x->dtype);
    double to[3] = {0, most, -most};
    for (int i = 0; i < 3; i++)
        if (dync__arg_is_number(&call->args[1 + i])) to[i] = dync__dn_number(call, 1 + i);
    dync__dt *test[3] = {dync__chain1(&c, DYNC__OP_isnan, x),
                         dync__chain_tf(&c, DYNC__OP_eq, x, inf),
                         dync__chain_tf(&c, DYNC__OP_eq, x, -inf)};
    for (int i = 0; i < 3; i++)
        x = dync__chain3(&c, DYNC__OP_masked_fill, dync__arg_t(x), dync__arg_t(test[i]),
                         dync__arg_f(to[i]));
    return dync__chain_end(&c, call, x);
}

DYNC__FN dync_status dync__d_isclose(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *a = dync__dt_arg(call, 0), *b = dync__dt_arg(call, 1);
    if (!a || !b) return dync__fail(DYNC_ERR_VALUE, "expected two tensors");
    if (a->dtype != b->dtype)
        return dync__fail(DYNC_ERR_DTYPE, "%s did not match %s", dync__dtype_info(a->dtype)->guard,
                          dync__dtype_info(b->dtype)->guard);
    for (int i = 2; i < 4; i++)
        if (!(dync__dn_number(call, i) >= 0))
            return dync__fail(DYNC_ERR_VALUE,
                              "%s must be greater than or equal to zero, but got %g",
                              i == 2 ? "rtol" : "atol", dync__dn_number(call, i));
    dync__dt *close = dync__chain_tt(&c, DYNC__OP_eq, a, b);
    if (call->args[4].as.i)
        close = dync__chain_tt(&c, DYNC__OP_logical_or, close,
                               dync__chain_tt(&c, DYNC__OP_logical_and,
                                              dync__chain1(&c, DYNC__OP_isnan, a),
                                              dync__chain1(&c, DYNC__OP_isnan, b)));
    bool floating = dync__dtype_info(a->dtype)->kind == 'f';
    if (!floating) {
        a = dync__chain_dtype(&c, a, DYNC_F64);
        b = dync__chain_dtype(&c, b, DYNC_F64);
    }
    dync__dt *allowed =
        dync__chain_tf(&c, DYNC__OP_add,
                       dync__chain_tf(&c, DYNC__OP_mul, dync__chain1(&c, DYNC__OP_abs, b),
                                      dync__dn_number(call, 2)),
                       dync__dn_number(call, 3));
    dync__dt *gap = dync__chain1(&c, DYNC__OP_abs, dync__chain_tt(&c, DYNC__OP_sub, a, b));
    dync__dt *near_enough = dync__chain_tt(&c, DYNC__OP_logical_and,
                                           dync__chain1(&c, DYNC__OP_isfinite, gap),
                                           dync__chain_tt(&c, DYNC__OP_le, gap, allowed));
    return dync__chain_end(&c, call, dync__chain_tt(&c, DYNC__OP_logical_or, close, near_enough));
}

DYNC__FN dync_status dync__d_count_nonzero(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x;
    DYNC__TRY(dync__dt_self(call, &x));
    x = dync__chain_ti(&c, DYNC__OP_ne, x, 0);
    return dync__chain_end(
        &c, call,
        dync__chain3(&c, DYNC__OP_sum, dync__arg_t(x), call->args[1], dync__arg_b(false)));
}

DYNC__FN dync_status dync__d_trace(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x, *y;
    DYNC__TRY(dync__dt_self(call, &x));
    if (x->lay.ndim != 2)
        return dync__fail(DYNC_ERR_SHAPE, "trace: expected a matrix, but got tensor with dim %d",
                          x->lay.ndim);
    dync__arg args[4] = {call->args[0], dync__arg_i(0), dync__arg_i(0), dync__arg_i(1)};
    dync__chain_call(&c, DYNC__OP_diagonal, 4, args, &y);
    return dync__chain_end(&c, call, dync__chain_reduce(&c, DYNC__OP_sum, y, 0, NULL, false));
}

/* ---- norms and distances --------------------------------------------------------------------- */

static dync__dt *dync__dn_norm(dync__chain *c, dync__dt *x, dync__arg p, int64_t dim, bool keepdim)
{
    dync__arg args[4] = {dync__arg_t(x), p, dync__arg_dims(1, &dim), dync__arg_b(keepdim)};
    dync__dt *y;
    dync__chain_call(c, DYNC__OP_norm, 4, args, &y);
    return y;
}

static dync__dt *dync__dn_at_least(dync__chain *c, dync__dt *x, double low)
{
    return dync__chain3(c, DYNC__OP_clamp, dync__arg_t(x), dync__arg_f(low), dync__arg_none());
}

DYNC__FN dync_status dync__d_normalize(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x;
    int dim;
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__dn_dim(call, 2, x->lay.ndim, &dim));
    dync__dt *n = dync__dn_at_least(&c, dync__dn_norm(&c, x, call->args[1], dim, true),
                                    dync__dn_number(call, 3));
    return dync__chain_end(&c, call, dync__chain_tt(&c, DYNC__OP_div, x, n));
}

DYNC__FN dync_status dync__d_cosine_similarity(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x[2];
    int64_t shape[DYNC_MAX_DIMS], at;
    int n, dim;
    int common = dync__op_common_dtype(call);
    DYNC__TRY(dync__infer_tensor(call, 0, &x[0]));
    DYNC__TRY(dync__infer_tensor(call, 1, &x[1]));
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

/* Groups are rows of a layer norm without weights; halves are rounded once. */
static dync_status dync__dn_group_norm(dync__opcall *call, dync__dt *x, int64_t groups, dync__dt *w,
                                       dync__dt *b, double eps)
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
    if (w)
        y = dync__chain_tt(&c, DYNC__OP_mul, y,
                           dync__chain_shape(&c, DYNC__OP_view, w, x->lay.ndim, shape));
    if (b)
        y = dync__chain_tt(&c, DYNC__OP_add, y,
                           dync__chain_shape(&c, DYNC__OP_view, b, x->lay.ndim, shape));
    return dync__chain_end(&c, call, dync__chain_dtype(&c, y, x->dtype));
}

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
                          (long long)x->lay.shape[1], (long long)groups);
    return dync__dn_group_norm(call, x, groups, dync__dt_arg(call, 2), dync__dt_arg(call, 3),
                               dync__dn_number(call, 4));
}

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
                               dync__dt_arg(call, 2), dync__dn_number(call, 3));
}

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
    return dync__chain_end(&c, call, dync__chain_dtype(&c, y, x->dtype));
}

/* ---- attention ------------------------------------------------------------------------------- */

/* The scores with what may not be seen at minus infinity. */
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

/* In f32 for halves, as what follows them: the result alone is rounded. */
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

/* The plain form of the kernel. */
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
        g[i] = dync__chain1(c, gates == 1 || i == 2 ? DYNC__OP_tanh : DYNC__OP_sigmoid, x[i]);
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

static dync__dt *dync__dn_stack(dync__chain *c, int n, dync__arg *list)
{
    dync__dt *y = NULL;
    dync__arg args[2] = {{.kind = DYNC__A_LIST, .n = n, .as.list = list}, dync__arg_i(0)};
    dync__chain_call(c, DYNC__OP_stack, 2, args, &y);
    return y;
}

/* The plain form: a step at a time. */
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

/* ---- products -------------------------------------------------------------------------------- */

static dync_status dync__dn_add_product(dync__opcall *call, int product)
{
    dync__chain c = {0};
    dync__dt *y = dync__chain2(&c, product, call->args[1], call->args[2]);
    return dync__chain_end(&c, call, dync__chain_tt(&c, DYNC__OP_add, y, dync__dt_arg(call, 0)));
}
DYNC__FN dync_status dync__d_addmv(dync__opcall *call)
{
    return dync__dn_add_product(call, DYNC__OP_mv);
}
DYNC__FN dync_status dync__d_baddbmm(dync__opcall *call)
{
    return dync__dn_add_product(call, DYNC__OP_bmm);
}

/* ---- convolutions ---------------------------------------------------------------------------- */

/* Up to `most` numbers of argument i; one stands for all, none for `otherwise`. */
static dync_status dync__dn_numbers(const dync__opcall *call, int i, int most, int64_t otherwise,
                                    int64_t *out)
{
    const dync__arg *a = &call->args[i];
    if (a->n != 0 && a->n != 1 && a->n != most)
        return dync__fail(DYNC_ERR_VALUE, "expected 1 or %d numbers, got %d", most, a->n);
    for (int k = 0; k < most; k++) {
        out[k] = a->n == 0 ? otherwise : a->as.dims[a->n == 1 ? 0 : k];
        if (out[k] > INT_MAX || out[k] < INT_MIN)
            return dync__fail(DYNC_ERR_VALUE, "expected numbers of 32 bits, got %lld",
                              (long long)out[k]);
    }
    return DYNC_OK;
}

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
static dync__dt *dync__dn_pad_dim(dync__chain *c, dync__dt *x, int dim, int64_t before,
                                  int64_t after)
{
    if (!x) return NULL;
    int64_t size = x->lay.shape[dim], shape[DYNC_MAX_DIMS];
    if (before < 0 || after < 0) {
        x = dync__chain_slice(c, x, dim, before < 0 ? -before : 0,
                              after < 0 ? dync__sz_add(size, after) : size);
        return dync__dn_pad_dim(c, x, dim, DYNC__MAX(before, 0), DYNC__MAX(after, 0));
    }
    if (before == 0 && after == 0) return x;
    for (int d = 0; d < x->lay.ndim; d++) shape[d] = x->lay.shape[d];
    shape[dim] = dync__sz_size(dync__sz_add(before + after, size));
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

/* The gradient of a convolution with respect to its input, whose size is (in - 1) stride - 2
 * padding + dilation (k - 1) + output_padding + 1. */
DYNC__FN dync_status dync__d_conv_transpose2d(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x, *w, *bias = dync__dt_arg(call, 2), *out[3], *y;
    int64_t stride[2], padding[2], extra[2], dilation[2], groups = call->args[6].as.i, shape[4],
                                                          channels[4] = {1, 1, 1, 1};
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
    DYNC__TRY(dync__dn_numbers(call, 3, 2, 1, stride));
    DYNC__TRY(dync__dn_numbers(call, 4, 2, 0, padding));
    DYNC__TRY(dync__dn_numbers(call, 5, 2, 0, extra));
    DYNC__TRY(dync__dn_numbers(call, 7, 2, 1, dilation));
    bool single = x->lay.ndim == 3;
    const int64_t *in = x->lay.shape + (single ? 0 : 1);
    if (groups < 1 || !dync__sz_eq(in[0], w->lay.shape[0]) ||
        !dync__sz_eq(dync__sz_mod(in[0], groups), 0))
        return dync__fail(DYNC_ERR_SHAPE,
                          "expected input with weight's %lld channels, a "
                          "multiple of groups=%lld, got %lld",
                          (long long)w->lay.shape[0], (long long)groups, (long long)in[0]);
    shape[0] = single ? 1 : x->lay.shape[0];
    bool counts = dync__sz_mul_ok(w->lay.shape[1], groups, &channels[1]);
    shape[1] = channels[1];
    for (int i = 0; i < 2; i++) {
        int64_t reach, span;
        if (!counts || !dync__dn_reach(dync__sz_sub(w->lay.shape[2 + i], 1), dilation[i], &reach) ||
            !dync__dn_reach(dync__sz_sub(in[1 + i], 1), stride[i], &span))
            return dync__fail(DYNC_ERR_SHAPE, "the result is too large");
        shape[2 + i] = dync__sz_sub(span, 2 * padding[i] - extra[i] - 1);
        shape[2 + i] = dync__sz_size(dync__sz_add(shape[2 + i], reach));
        if (stride[i] < 1 || dilation[i] < 1 || padding[i] < 0 || dync__sz_lt(shape[2 + i], 1))
            return dync__fail(DYNC_ERR_SHAPE,
                              "stride and dilation of at least 1, padding of at "
                              "least 0 and a result of at least "
                              "1 are expected, got %lld, %lld, %lld and %lld",
                              (long long)stride[i], (long long)dilation[i], (long long)padding[i],
                              (long long)shape[2 + i]);
        if (extra[i] < 0 || (extra[i] >= stride[i] && extra[i] >= dilation[i]))
            return dync__fail(DYNC_ERR_VALUE,
                              "output padding must be smaller than either stride "
                              "or dilation, but got %lld",
                              (long long)extra[i]);
    }
    if (single) x = dync__chain_ti(&c, DYNC__OP_unsqueeze, x, 0);
    /* as many as a convolution of the result gives */
    for (int i = 0; i < 2; i++) x = dync__dn_pad_dim(&c, x, 2 + i, 0, extra[i] / stride[i]);
    dync__dt *form = dync__chain3(&c, DYNC__OP_empty, dync__arg_dims(4, shape),
                                  dync__arg_dtype(x ? x->dtype : DYNC_F32),
                                  dync__arg_device(x ? x->device : DYNC_CPU));
    dync__arg args[10] = {dync__arg_t(x),
                          dync__arg_t(form),
                          dync__arg_t(w),
                          dync__arg_dims(2, stride),
                          dync__arg_dims(2, padding),
                          dync__arg_dims(2, dilation),
                          dync__arg_i(groups),
                          dync__arg_b(true),
                          dync__arg_b(false),
                          dync__arg_b(false)};
    dync__chain_call(&c, DYNC__OP_convolution_backward, 10, args, out);
    y = out[0];
    if (bias)
        y = dync__chain_tt(&c, DYNC__OP_add, y,
                           dync__chain_shape(&c, DYNC__OP_view, bias, 4, channels));
    if (single) y = dync__chain_ti(&c, DYNC__OP_squeeze, y, 0);
    return dync__chain_end(&c, call, y);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static dync__dt *dync__dn_pad(dync__chain *c, dync__dt *x, const dync__arg *pad)
{
    int n = x ? x->lay.ndim : 0;
    for (int i = 0; i < pad->n / 2; i++)
        x = dync__dn_pad_dim(c, x, n - 1 - i, pad->as.dims[2 * i], pad->as.dims[2 * i + 1]);
    return x;
}

DYNC__FN dync_status dync__d_pad(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x, *y;
    const dync__arg *pad = &call->args[1];
    DYNC__TRY(dync__dt_self(call, &x));
    if (pad->n % 2) return dync__fail(DYNC_ERR_VALUE, "Padding length must be divisible by 2");
    if (pad->n / 2 > x->lay.ndim)
        return dync__fail(DYNC_ERR_VALUE,
                          "Padding length should be less than or equal to two "
                          "times the input dimension but got "
                          "padding length %d and input of dimension %d",
                          pad->n, x->lay.ndim);
    for (int i = 0; i < pad->n / 2; i++) {
        int64_t size = x->lay.shape[x->lay.ndim - 1 - i], before = pad->as.dims[2 * i],
                after = pad->as.dims[2 * i + 1];
        int64_t limit = INT64_C(1) << 40;
        if (before > limit || after > limit || before < -limit || after < -limit ||
            dync__sz_lt(size, -before) || dync__sz_lt(size, -after) ||
            dync__sz_lt(dync__sz_add(size, before + after), 0))
            return dync__fail(
                DYNC_ERR_SHAPE,
                "The input size %lld, plus negative padding %lld "
                "and %lld, resulted in a size that is "
                "negative or too large, which is invalid. Check dimension %d of your input.",
                (long long)size, (long long)before, (long long)after, x->lay.ndim - 1 - i);
    }
    y = dync__dn_pad(&c, x, pad);
    double value = dync__arg_is_number(&call->args[2]) ? dync__dn_number(call, 2) : 0;
    if (value < 0 || value > 0 || value != value) {
        dync__arg ones[2] = {call->args[0], dync__arg_b(true)};
        dync__dt *inside;
        dync__chain_call(&c, DYNC__OP_full_like, 2, ones, &inside);
        inside = dync__dn_pad(&c, dync__chain_dtype(&c, inside, DYNC_BOOL), pad);
        y = dync__chain3(&c, DYNC__OP_masked_fill, dync__arg_t(y),
                         dync__arg_t(dync__chain1(&c, DYNC__OP_logical_not, inside)),
                         call->args[2]);
    }
    if (y && y->storage == x->storage) y = dync__chain1(&c, DYNC__OP_clone, y); /* only cut */
    return dync__chain_end(&c, call, y);
}

DYNC__FN dync_status dync__d_movedim(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x;
    const dync__arg *from = &call->args[1], *to = &call->args[2];
    int64_t order[DYNC_MAX_DIMS];
    bool taken[DYNC_MAX_DIMS] = {false}, filled[DYNC_MAX_DIMS] = {false};
    DYNC__TRY(dync__dt_self(call, &x));
    int n = x->lay.ndim, next = 0;
    if (from->n != to->n)
        return dync__fail(DYNC_ERR_VALUE,
                          "movedim: Invalid source or destination dims: source "
                          "(%d dims) should contain the same number of "
                          "dims as destination (%d dims)",
                          from->n, to->n);
    for (int i = 0; i < from->n; i++) {
        int a, b;
        dync__arg ia = dync__arg_i(from->as.dims[i]), ib = dync__arg_i(to->as.dims[i]);
        DYNC__TRY(dync__dim_wrap(dync__infer_int_dim(&ia), n, &a));
        DYNC__TRY(dync__dim_wrap(dync__infer_int_dim(&ib), n, &b));
        if (taken[a] || filled[b])
            return dync__fail(DYNC_ERR_VALUE, "movedim: repeated dim in "
                                              "source or destination");
        taken[a] = filled[b] = true;
        order[b] = a;
    }
    for (int b = 0; b < n; b++) {
        if (filled[b]) continue;
        while (taken[next]) next++;
        order[b] = next++;
    }
    return dync__chain_end(&c, call, dync__chain_shape(&c, DYNC__OP_permute, x, n, order));
}

/* Windows of dim, as views: the window is the last dim. */
DYNC__FN dync_status dync__d_unfold(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x, *y;
    int64_t shape[DYNC_MAX_DIMS], stride[DYNC_MAX_DIMS], window = call->args[2].as.i,
                                                         step = call->args[3].as.i;
    int dim = 0;
    DYNC__TRY(dync__dt_self(call, &x));
    int n = x->lay.ndim;
    if (n) DYNC__TRY(dync__dn_dim(call, 1, n, &dim));
    int64_t size = n ? x->lay.shape[dim] : 1;
    if (window < 0 || dync__sz_lt(size, window))
        return dync__fail(DYNC_ERR_VALUE,
                          "maximum size for tensor at dimension %d is %lld but size is %lld", dim,
                          (long long)size, (long long)window);
    if (step <= 0)
        return dync__fail(DYNC_ERR_VALUE, "step is %lld but must be > 0", (long long)step);
    if (n == DYNC_MAX_DIMS)
        return dync__fail(DYNC_ERR_SHAPE, "the result has more than %d dims", DYNC_MAX_DIMS);
    for (int d = 0; d < n; d++) {
        shape[d] = d == dim ? dync__sz_size(
                                  dync__sz_add(dync__sz_div(dync__sz_sub(size, window), step), 1))
                            : x->lay.shape[d];
        stride[d] = x->lay.stride[d];
        if (d == dim)
            stride[d] = dync__is_token(stride[d])
                            ? dync__sz_mul(stride[d], step)
                            : stride[d] * DYNC__MIN(step, INT64_MAX / DYNC__MAX(stride[d], 1));
    }
    shape[n] = window;
    stride[n] = n ? x->lay.stride[dim] : 1;
    dync__arg args[4] = {call->args[0], dync__arg_dims(n + 1, shape), dync__arg_dims(n + 1, stride),
                         dync__arg_i(0)};
    /* of x wherever it begins: compiled code takes inputs at any offset */
    dync__chain_call(&c, DYNC__OP__strided_view, 4, args, &y);
    return dync__chain_end(&c, call, y);
}

/* 0, 1, .. size - 1 spread over n places: floor(i * size / n) */
static dync__dt *dync__dn_nearest(dync__chain *c, dync__dt *x, int dim, int64_t n)
{
    if (!x) return NULL;
    dync__arg range[5] = {dync__arg_i(0), dync__arg_i(n), dync__arg_i(1), dync__arg_dtype(DYNC_I64),
                          dync__arg_device(x->device)};
    dync__dt *index;
    dync__chain_call(c, DYNC__OP_arange, 5, range, &index);
    index = dync__chain_ti(c, DYNC__OP_mul, index, x->lay.shape[dim]);
    index = dync__chain_ti(c, DYNC__OP_floor_divide, index, n);
    return dync__chain3(c, DYNC__OP_index_select, dync__arg_t(x), dync__arg_i(dim),
                        dync__arg_t(index));
}

DYNC__FN dync_status dync__d_upsample_nearest2d(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x;
    const dync__arg *size = &call->args[1];
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__dn_rank(x, 4));
    if (size->n != 2 || size->as.dims[0] < 1 || size->as.dims[1] < 1 ||
        size->as.dims[0] > INT32_MAX || size->as.dims[1] > INT32_MAX)
        return dync__fail(DYNC_ERR_VALUE, "expected an output_size of two positive numbers");
    for (int i = 0; i < 2; i++) x = dync__dn_nearest(&c, x, 2 + i, size->as.dims[i]);
    return dync__chain_end(&c, call, x);
}

DYNC__FN dync_status dync__d_pixel_shuffle(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x;
    int64_t r = call->args[1].as.i, shape[DYNC_MAX_DIMS], order[DYNC_MAX_DIMS];
    DYNC__TRY(dync__dt_self(call, &x));
    int n = x->lay.ndim, lead = n - 3;
    if (n < 3 || n + 2 > DYNC_MAX_DIMS)
        return dync__fail(
            DYNC_ERR_SHAPE,
            "pixel_shuffle expects input to have at least 3 dimensions, but got input with %d "
            "dimension(s)",
            n);
    if (r < 1 || r > INT32_MAX)
        return dync__fail(DYNC_ERR_VALUE,
                          "pixel_shuffle expects a positive upscale_factor, but got %lld",
                          (long long)r);
    if (!dync__sz_eq(dync__sz_mod(x->lay.shape[lead], r * r), 0))
        return dync__fail(DYNC_ERR_SHAPE,
                          "pixel_shuffle expects its input's 'channel' dimension "
                          "to be divisible by the square of "
                          "upscale_factor, but input.size(-3)=%lld is not divisible by %lld",
                          (long long)x->lay.shape[lead], (long long)(r * r));
    const int64_t *s = x->lay.shape + lead, out = dync__sz_size(dync__sz_div(s[0], r * r)),
                  split[5] = {out, r, r, s[1], s[2]};
    int64_t joined[3] = {out};
    if (!dync__sz_mul_ok(s[1], r, &joined[1]) || !dync__sz_mul_ok(s[2], r, &joined[2]))
        return dync__fail(DYNC_ERR_SHAPE, "the result is too large");
    static const int to[5] = {0, 3, 1, 4, 2};
    for (int d = 0; d < lead; d++) {
        shape[d] = x->lay.shape[d];
        order[d] = d;
    }
    for (int i = 0; i < 5; i++) {
        shape[lead + i] = split[i];
        order[lead + i] = lead + to[i];
    }
    dync__dt *y = dync__chain_shape(&c, DYNC__OP_reshape, x, n + 2, shape);
    y = dync__chain_shape(&c, DYNC__OP_permute, y, n + 2, order);
    for (int i = 0; i < 3; i++) shape[lead + i] = joined[i];
    return dync__chain_end(&c, call, dync__chain_shape(&c, DYNC__OP_reshape, y, n, shape));
}

/* ---- losses ---------------------------------------------------------------------------------- */

DYNC__FN dync_status dync__d_huber_loss(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x, *t;
    double delta = dync__dn_number(call, 2);
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__infer_tensor(call, 1, &t));
    if (!(delta > 0))
        return dync__fail(DYNC_ERR_VALUE, "huber_loss does not support "
                                          "non-positive values for delta.");
    DYNC__TRY(dync__infer_floating(x));
    int dtype = x->dtype; /* the result's, whatever the target's is */
    if (t->dtype == DYNC_BOOL) t = dync__chain_dtype(&c, t, dtype);
    dync__dt *gap = dync__chain1(&c, DYNC__OP_abs, dync__chain_tt(&c, DYNC__OP_sub, x, t));
    dync__dt *curve = dync__chain_tf(&c, DYNC__OP_mul, dync__chain1(&c, DYNC__OP_square, gap), 0.5);
    dync__dt *line =
        dync__chain_tf(&c, DYNC__OP_mul, dync__chain_tf(&c, DYNC__OP_sub, gap, 0.5 * delta), delta);
    dync__dt *y = dync__chain_where(&c, dync__chain_tf(&c, DYNC__OP_le, gap, delta),
                                    dync__arg_t(curve), dync__arg_t(line));
    return dync__chain_end(&c, call, dync__chain_dtype(&c, dync__chain_mean(&c, y), dtype));
}

DYNC__FN dync_status dync__d_kl_div(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x, *t, *y;
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__infer_tensor(call, 1, &t));
    DYNC__TRY(dync__infer_floating(x));
    DYNC__TRY(dync__infer_floating(t));
    if (call->args[2].as.i)
        y = dync__chain_tt(&c, DYNC__OP_mul, dync__chain1(&c, DYNC__OP_exp, t),
                           dync__chain_tt(&c, DYNC__OP_sub, t, x));
    else
        y = dync__chain_tt(&c, DYNC__OP_sub, dync__chain_tt(&c, DYNC__OP_xlogy, t, t),
                           dync__chain_tt(&c, DYNC__OP_mul, t, x));
    return dync__chain_end(&c, call, dync__chain_mean(&c, y));
}

/* ---- random numbers and data-dependent shapes ------------------------------------------------ */

DYNC__FN dync_status dync__d_bernoulli(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *p;
    DYNC__TRY(dync__dt_self(call, &p));
    DYNC__TRY(dync__infer_floating(p));
    dync__dt *y = dync__chain_tt(&c, DYNC__OP_lt, dync__chain1(&c, DYNC__OP_rand_like, p), p);
    return dync__chain_end(&c, call, dync__chain_dtype(&c, y, p->dtype));
}

/* The sorted elements, each once. */
DYNC__FN dync_status dync__d_unique(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x, *both[2];
    int64_t all = -1;
    DYNC__TRY(dync__dt_self(call, &x));
    x = dync__chain_shape(&c, DYNC__OP_reshape, x, 1, &all);
    dync__arg args[3] = {dync__arg_t(x), dync__arg_i(0), dync__arg_b(false)};
    dync__chain_call(&c, DYNC__OP_sort, 3, args, both);
    if (!x || x->numel < 2) return dync__chain_end(&c, call, both[0]);
    dync__dt *last = dync__chain_slice(&c, both[0], 0, 0, x->numel - 1),
             *next = dync__chain_slice(&c, both[0], 0, 1, x->numel);
    dync__dt *first = dync__chain_slice(&c, both[0], 0, 0, 1);
    dync__dt *kept = dync__chain_tt(&c, DYNC__OP_masked_select, next,
                                    dync__chain_tt(&c, DYNC__OP_ne, next, last));
    dync__arg list[2] = {dync__arg_t(first), dync__arg_t(kept)};
    return dync__chain_end(&c, call, dync__chain_cat(&c, 2, list, 0));
}
