/* op/decompose_pointwise.c: composite activations and functions of numbers. After chain.c. */
#include "../dync.in.h"
#include "chain.h"
DYNC__COLD

/* ---- pointwise, for gradients ---------------------------------------------------------------- */

/* min(max(x, 0), 6) */
DYNC__FN dync_status dync__d_relu6(dync__opcall *call)
{
    dync__chain c = {0};
    return dync__chain_end(
        &c, call,
        dync__chain3(&c, DYNC__OP_hardtanh, call->args[0], dync__arg_f(0), dync__arg_f(6)));
}

/* Arguments (g, y), y = sigmoid(x): g (1 - y) y */
DYNC__FN dync_status dync__d_sigmoid_backward(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *g = dync__dt_arg(call, 0), *y = dync__dt_arg(call, 1);
    dync__dt *rest = dync__chain2(&c, DYNC__OP_sub, dync__arg_i(1), dync__arg_t(y));
    return dync__chain_end(
        &c, call, dync__chain_tt(&c, DYNC__OP_mul, dync__chain_tt(&c, DYNC__OP_mul, g, rest), y));
}

/* Arguments (g, y), y = tanh(x): g (1 - y y) */
DYNC__FN dync_status dync__d_tanh_backward(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *g = dync__dt_arg(call, 0), *y = dync__dt_arg(call, 1);
    dync__dt *rest = dync__chain2(&c, DYNC__OP_sub, dync__arg_i(1),
                                  dync__arg_t(dync__chain_tt(&c, DYNC__OP_mul, y, y)));
    return dync__chain_end(&c, call, dync__chain_tt(&c, DYNC__OP_mul, g, rest));
}

/* ---- activations ----------------------------------------------------------------------------- */

/* x / (|x| + 1) */
DYNC__FN dync_status dync__d_softsign(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x;
    DYNC__TRY(dync__dt_self(call, &x));
    dync__dt *d = dync__chain_ti(&c, DYNC__OP_add, dync__chain1(&c, DYNC__OP_abs, x), 1);
    return dync__chain_end(&c, call, dync__chain_tt(&c, DYNC__OP_div, x, d));
}

/* x - tanh(x) */
DYNC__FN dync_status dync__d_tanhshrink(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x;
    DYNC__TRY(dync__dt_self(call, &x));
    return dync__chain_end(&c, call,
                           dync__chain_tt(&c, DYNC__OP_sub, x, dync__chain1(&c, DYNC__OP_tanh, x)));
}

/* Argument 1, lambd, which PyTorch's kernels have as a number of f16 or bf16. */
static double dync__dn_lambd(const dync__opcall *call, const dync__dt *x)
{
    uint16_t half;
    double lambd = dync__dn_number(call, 1);
    const dync__dtype_row *row = dync__dtype_info(x->dtype);
    if (row->kind != 'f' || row->bytes != 2) return lambd;
    dync__store_f64(&half, x->dtype, lambd);
    return dync__load_f64(&half, x->dtype);
}

/* y, and 0 where x is between -lambd and lambd; NaN is not. */
static dync__dt *dync__dn_zero_inside(dync__chain *c, dync__dt *y, dync__dt *x, double lambd)
{
    dync__dt *inside = dync__chain_tt(c, DYNC__OP_logical_and,
                                      dync__chain_tf(c, DYNC__OP_ge, x, -lambd),
                                      dync__chain_tf(c, DYNC__OP_le, x, lambd));
    return dync__chain_where(c, inside, dync__arg_i(0), dync__arg_t(y));
}

/* x - lambd above lambd, x + lambd below -lambd, 0 between them. */
DYNC__FN dync_status dync__d_softshrink(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x;
    double lambd = dync__dn_number(call, 1);
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__infer_floating(x));
    if (!(lambd >= 0))
        return dync__fail(DYNC_ERR_VALUE,
                          "lambda must be greater or equal to 0, but found to be %g.",
                          dync__float_told(lambd));
    lambd = dync__dn_lambd(call, x);
    dync__dt *y = dync__chain_where(&c, dync__chain_tf(&c, DYNC__OP_gt, x, lambd),
                                    dync__arg_t(dync__chain_tf(&c, DYNC__OP_sub, x, lambd)),
                                    dync__arg_t(dync__chain_tf(&c, DYNC__OP_add, x, lambd)));
    return dync__chain_end(&c, call, dync__dn_zero_inside(&c, y, x, lambd));
}

/* x outside of [-lambd, lambd], 0 inside. */
DYNC__FN dync_status dync__d_hardshrink(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x;
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__infer_floating(x));
    return dync__chain_end(&c, call, dync__dn_zero_inside(&c, x, x, dync__dn_lambd(call, x)));
}

/* Arguments (x, threshold, value): x above the threshold, else the value; a NaN stays. where keeps
 * the order of x's dims; of integers masked_fill keeps the dtype. */
DYNC__FN dync_status dync__d_threshold(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x;
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__infer_number_fits(&call->args[2], x->dtype));
    dync__dt *low =
        dync__chain_tf(&c, DYNC__OP_le, dync__chain_wide(&c, x), dync__dn_number(call, 1));
    return dync__chain_end(&c, call,
                           dync__dtype_info(x->dtype)->kind == 'f'
                               ? dync__chain_where(&c, low, call->args[2], dync__arg_t(x))
                               : dync__chain3(&c, DYNC__OP_masked_fill, dync__arg_t(x),
                                              dync__arg_t(low), call->args[2]));
}

/* weight: one slope, or one a channel (dim 1) x where positive, weight * x elsewhere. The weight is
 * viewed as [1, C, 1, ..] so that it broadcasts along the channels. */
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
                          (long long)dync__sz_hint(w->numel),
                          (long long)(x->lay.ndim ? dync__sz_hint(x->lay.shape[channels]) : 1));
    if (x->lay.ndim)
        w = dync__chain_shape(&c, DYNC__OP_view, w, x->lay.ndim, shape);
    else
        w = dync__chain_shape(&c, DYNC__OP_view, w, 0, shape);
    /* weights are multiplied by nothing positive: neither gradient meets 0 * infinity there */
    dync__dt *above = dync__chain_ti(&c, DYNC__OP_gt, x, 0),
             *below = dync__chain_where(&c, above, dync__arg_i(0), dync__arg_t(x)),
             *y = dync__chain_where(&c, above, dync__arg_t(x),
                                    dync__arg_t(dync__chain_tt(&c, DYNC__OP_mul, w, below)));
    return dync__chain_end(&c, call, y);
}

/* The first half of dim times the sigmoid of the second (Dauphin et al. 2017, arXiv:1612.08083). */
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
                          (long long)dync__sz_hint(size));
    int64_t half = dync__sz_div(size, 2);
    dync__dt *gate = dync__chain1(&c, DYNC__OP_sigmoid, dync__chain_slice(&c, x, dim, half, size));
    return dync__chain_end(
        &c, call, dync__chain_tt(&c, DYNC__OP_mul, dync__chain_slice(&c, x, dim, 0, half), gate));
}

/* softmax(-x) */
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

/* self * log(other), 0 where self is 0 and other is a number: where the product would be NaN, other
 * is replaced. */
DYNC__FN dync_status dync__d_xlogy(dync__opcall *call)
{
    const double inf = HUGE_VAL;
    dync__chain c = {0};
    dync__dt *self = dync__dt_arg(call, 0), *other = dync__dt_arg(call, 1);
    if (!self || !other) return dync__fail(DYNC_ERR_VALUE, "expected two tensors");
    int dtype = dync__op_common_dtype(call);
    /* integers become floats themselves: a negative one is no uint8 before */
    if (dync__dtype_info(dtype)->kind == 'f') other = dync__chain_dtype(&c, other, dtype);
    dync__dt *bad = dync__chain_tt(&c, DYNC__OP_logical_or,
                                   dync__chain_ti(&c, DYNC__OP_le, other, 0),
                                   dync__chain_tf(&c, DYNC__OP_eq, other, inf));
    bad = dync__chain_tt(&c, DYNC__OP_logical_and, bad, dync__chain_ti(&c, DYNC__OP_eq, self, 0));
    dync__dt *safe = dync__chain_where(&c, bad, dync__arg_i(1), dync__arg_t(other));
    return dync__chain_end(
        &c, call, dync__chain_tt(&c, DYNC__OP_mul, self, dync__chain1(&c, DYNC__OP_log, safe)));
}

/* DYNC_NONE for an infinity: the largest or smallest number of the dtype Arguments (x, nan, posinf,
 * neginf). Integers have neither, and come back as a copy. */
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
        x = dync__chain_where(&c, test[i], dync__arg_f(to[i]), dync__arg_t(x));
    return dync__chain_end(&c, call, x);
}

/* Arguments (a, b, rtol, atol, equal_nan): |a - b| <= atol + rtol |b|, or equal, which alone covers
 * infinities; integers are compared in f64. */
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
                              i == 2 ? "rtol" : "atol", dync__float_told(dync__dn_number(call, i)));
    dync__dt *close = dync__chain_tt(&c, DYNC__OP_eq, a, b);
    if (call->args[4].as.i)
        close = dync__chain_tt(&c, DYNC__OP_logical_or, close,
                               dync__chain_tt(&c, DYNC__OP_logical_and,
                                              dync__chain1(&c, DYNC__OP_isnan, a),
                                              dync__chain1(&c, DYNC__OP_isnan, b)));
    bool floating = dync__dtype_info(a->dtype)->kind == 'f';
    if (!floating) {
        a = dync__chain_dtype(&c, a, DYNC__REAL);
        b = dync__chain_dtype(&c, b, DYNC__REAL);
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

/* Arguments (x, dims): int64. */
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

/* The sum of the main diagonal of a matrix. */
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
