/* op/decompose_loss.c: composite norms, distances and losses. After chain.c. */
#include "../dync.in.h"
#include "chain.h"
DYNC__COLD

/* ---- norms and losses ------------------------------------------------------------------------ */

/* A bool as 0 or 1 of a floating dtype: losses subtract it. */
static dync__dt *dync__chain_counted(dync__chain *c, dync__dt *x, const dync__dt *other)
{
    return x && other && x->dtype == DYNC_BOOL ? dync__chain_dtype(c, x, other->dtype) : x;
}

/* input - target */
static dync__dt *dync__chain_loss_gap(dync__chain *c, const dync__opcall *call)
{
    dync__dt *x = dync__dt_arg(call, 0), *y = dync__dt_arg(call, 1);
    return dync__chain_tt(c, DYNC__OP_sub, dync__chain_counted(c, x, y),
                          dync__chain_counted(c, y, x));
}

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

/* The largest or smallest magnitude (op: amax, amin). NaN wins, but elements that are NaN have no
 * gradient, as in PyTorch: they are 0 for the extreme, and the NaN is put back. */
static dync__dt *dync__chain_norm_inf(dync__chain *c, dync__dt *x, const dync__row *op, int n,
                                      const int64_t *dims, bool keepdim)
{
    dync__dt *lost = dync__chain1(c, DYNC__OP_isnan, x);
    x = dync__chain3(c, DYNC__OP_masked_fill, dync__arg_t(x), dync__arg_t(lost), dync__arg_i(0));
    x = (dync__chain_reduce)(c, op, dync__chain1(c, DYNC__OP_abs, x), n, dims, keepdim);
    lost = dync__chain_reduce(c, DYNC__OP_any, lost, n, dims, keepdim);
    return dync__chain3(c, DYNC__OP_masked_fill, dync__arg_t(x), dync__arg_t(lost),
                        dync__arg_f((double)NAN));
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

/* Arguments (x, p, dims, keepdim). p of +-infinity is the largest or smallest magnitude, 0 counts
 * what is not zero, 1 and 2 have short forms, any other takes two powers. f16 and bf16 compute in
 * f32 and are rounded once, at the end. */
DYNC__FN dync_status dync__d_norm(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x, *y;
    double p = dync__arg_number(&call->args[1]);
    int n = call->args[2].n;
    const int64_t *dims = call->args[2].as.dims;
    bool keepdim = call->args[3].as.i != 0;
    DYNC__TRY(dync__dt_self(call, &x));
    int dtype = x->dtype, wide = dync__dtype_info(dtype)->bytes == 2 ? DYNC_F32 : dtype;
    const dync__row *place = p > 0 ? &DYNC__OP_amax_row : &DYNC__OP_amin_row;
    /* squares of f16 overflow */
    x = dync__chain_dtype(&c, x, wide);
    if (p >= 2 && p <= 2)
        y = dync__chain_norm2(&c, x, n, dims, keepdim);
    else if (p >= 0 && p <= 0)
        y = dync__chain_norm0(&c, x, n, dims, keepdim);
    else if (p > DBL_MAX || p < -DBL_MAX)
        y = dync__chain_norm_inf(&c, x, place, n, dims, keepdim);
    else {
        x = dync__chain1(&c, DYNC__OP_abs, x);
        y = p >= 1 && p <= 1 ? dync__chain_reduce(&c, DYNC__OP_sum, x, n, dims, keepdim)
                             : dync__chain_norm_p(&c, x, p, n, dims, keepdim);
    }
    return dync__chain_end(&c, call, dync__chain_dtype(&c, y, dtype));
}

/* Over all dims: one element. op: amax or amin, whose gradient spreads over equal elements. */
static dync_status dync__decompose_extreme(dync__opcall *call, const dync__row *op)
{
    dync__chain c = {0};
    dync__dt *x;
    DYNC__TRY(dync__dt_self(call, &x));
    for (int d = 0; d < x->lay.ndim; d++)
        if (x->lay.shape[d] == 0)
            return dync__fail(DYNC_ERR_INDEX,
                              "expected at least one element, got shape with "
                              "dim %d of size 0",
                              d);
    return dync__chain_end(&c, call, (dync__chain_reduce)(&c, op, x, 0, NULL, false));
}
DYNC__FN dync_status dync__d_max(dync__opcall *call)
{
    return dync__decompose_extreme(call, &DYNC__OP_amax_row);
}
DYNC__FN dync_status dync__d_min(dync__opcall *call)
{
    return dync__decompose_extreme(call, &DYNC__OP_amin_row);
}

/* mean |input - target| */
DYNC__FN dync_status dync__d_l1_loss(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *gap = dync__chain_tt(&c, DYNC__OP_sub, dync__dt_arg(call, 0), dync__dt_arg(call, 1));
    return dync__chain_end(&c, call, dync__chain_mean(&c, dync__chain1(&c, DYNC__OP_abs, gap)));
}

/* mean (input - target)^2 */
DYNC__FN dync_status dync__d_mse_loss(dync__opcall *call)
{
    dync__chain c = {0};
    return dync__chain_end(
        &c, call,
        dync__chain_mean(&c, dync__chain1(&c, DYNC__OP_square, dync__chain_loss_gap(&c, call))));
}

/* d^2 where d is not far, and 0 elsewhere: 0 times the slope of an infinite square is no number. */
static dync__dt *dync__chain_square_near(dync__chain *c, dync__dt *d, dync__dt *far)
{
    dync__dt *near =
        dync__chain3(c, DYNC__OP_masked_fill, dync__arg_t(d), dync__arg_t(far), dync__arg_f(0));
    return dync__chain1(c, DYNC__OP_square, near);
}

/* Arguments (input, target, beta): d^2 / (2 beta) for |d| < beta, else |d| - beta / 2. beta 0 is
 * l1_loss, as the curve would divide by zero. */
DYNC__FN dync_status dync__d_smooth_l1_loss(dync__opcall *call)
{
    dync__chain c = {0};
    double beta = dync__arg_number(&call->args[2]);
    dync__dt *gap = dync__chain1(&c, DYNC__OP_abs, dync__chain_loss_gap(&c, call));
    if (!(beta > 0)) return dync__chain_end(&c, call, dync__chain_mean(&c, gap));
    dync__dt *far = dync__chain_tf(&c, DYNC__OP_ge, dync__chain_wide(&c, gap), beta),
             *line = dync__chain_tf(&c, DYNC__OP_sub, gap, 0.5 * beta),
             *curve = dync__chain_tf(&c, DYNC__OP_mul, dync__chain_square_near(&c, gap, far),
                                     0.5 / beta);
    return dync__chain_end(
        &c, call,
        dync__chain_mean(&c, dync__chain_where(&c, far, dync__arg_t(line), dync__arg_t(curve))));
}

/* The mean of a private pointwise operator, which holds its logarithms at -100 from below. */
DYNC__FN dync_status dync__d_binary_cross_entropy(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *each = dync__chain2(&c, DYNC__OP__binary_cross_entropy, call->args[0], call->args[1]);
    return dync__chain_end(&c, call, dync__chain_mean(&c, each));
}

/* mean((1 - y) x - logsigmoid(x)): no exponential of a large x, unlike sigmoid followed by logs. */
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

/* PyTorch's default: targets of this class count neither in the sum nor in the mean. */
enum { DYNC__IGNORE_INDEX = -100 };

/* -mean over n of input[n, target[n], ..]. Ignored targets read class 0, so that the gather stays
 * in range, and are masked afterwards. All ignored: 0 / 0, NaN, as in PyTorch. */
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

/* log_softmax along the classes, then nll_loss of indices, or the mean of -sum(target * log p) of
 * probabilities. */
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

/* Arguments (input, target, delta): d^2 / 2 for |d| <= delta, else delta (|d| - delta / 2). It is
 * smooth_l1_loss times delta. */
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
    dync__dt *far = dync__chain_tf(&c, DYNC__OP_gt, gap, delta),
             *curve = dync__chain_tf(&c, DYNC__OP_mul, dync__chain_square_near(&c, gap, far), 0.5);
    dync__dt *line =
        dync__chain_tf(&c, DYNC__OP_mul, dync__chain_tf(&c, DYNC__OP_sub, gap, 0.5 * delta), delta);
    dync__dt *y = dync__chain_where(&c, far, dync__arg_t(line), dync__arg_t(curve));
    return dync__chain_end(&c, call, dync__chain_dtype(&c, dync__chain_mean(&c, y), dtype));
}

/* Arguments (input, target, log_target): input holds logs of probabilities. target (log target -
 * input), where 0 log 0 is 0 by xlogy; the mean is over all elements, as reduction='mean' says. */
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
