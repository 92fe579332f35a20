/* autograd/grads_unary.c: the rules of pointwise operators of one tensor, activations among them.
 * Before: grads.c. */
#include "../dync.in.h"
#include "grads.h"
DYNC__LEAN

/* ---- of one ---------------------------------------------------------------------------------- */

DYNC__FN dync_status dync__g_alias(dync__grad *g) { return dync__grads_set(g, dync__grads_gy(g)); }
/* y = x - trunc(x), and trunc is flat. */
DYNC__FN dync_status dync__g_frac(dync__grad *g) { return dync__grads_set(g, dync__grads_gy(g)); }
DYNC__FN dync_status dync__g_neg(dync__grad *g)
{
    return dync__grads_set(g, dync_neg(dync__grads_gy(g)));
}
/* The cast back is that of dync__ga_set. */
DYNC__FN dync_status dync__g_to_dtype(dync__grad *g)
{
    return dync__grads_set(g, dync__grads_gy(g));
}
/* Of operators that are flat wherever they are smooth: sign, floor, round, .. */
DYNC__FN dync_status dync__g_zero(dync__grad *g)
{
    return dync__grads_set(g, dync_zeros_like(dync__grads_gy(g)));
}

DYNC__FN dync_status dync__g_to_device(dync__grad *g)
{
    return dync__grads_set(g,
                           dync_to_device(dync__grads_gy(g), (dync_device)dync__grad_device(g, 0)));
}

/* y' = sgn(x), 0 at 0. */
DYNC__FN dync_status dync__g_abs(dync__grad *g)
{
    return dync__grads_set(g, dync_mul(dync__grads_gy(g), dync_sgn(dync__grads_x(g))));
}

/* 1 / sqrt(1 - x^2), the slope of asin; acos has its negative. */
static dync_tensor *dync__g_root(dync__grad *g)
{
    dync_tensor *x = dync__grads_x(g);
    return dync_rsqrt(dync_add(dync_mul(dync_neg(x), x), 1));
}
DYNC__FN dync_status dync__g_acos(dync__grad *g)
{
    return dync__grads_set(g, dync_mul(dync__grads_gy(g), dync_neg(dync__g_root(g))));
}
DYNC__FN dync_status dync__g_asin(dync__grad *g)
{
    return dync__grads_set(g, dync_mul(dync__grads_gy(g), dync__g_root(g)));
}

/* y' = 1 / sqrt(x^2 - 1). */
DYNC__FN dync_status dync__g_acosh(dync__grad *g)
{
    dync_tensor *x = dync__grads_x(g);
    return dync__grads_set(g, dync_mul(dync__grads_gy(g), dync_rsqrt(dync_sub(dync_mul(x, x), 1))));
}
/* y' = 1 / sqrt(x^2 + 1). */
DYNC__FN dync_status dync__g_asinh(dync__grad *g)
{
    dync_tensor *x = dync__grads_x(g);
    return dync__grads_set(g, dync_mul(dync__grads_gy(g), dync_rsqrt(dync_add(dync_mul(x, x), 1))));
}
/* y' = 1 / (1 - x^2). */
DYNC__FN dync_status dync__g_atanh(dync__grad *g)
{
    dync_tensor *x = dync__grads_x(g);
    return dync__grads_set(g, dync_div(dync__grads_gy(g), dync_sub(1, dync_mul(x, x))));
}

/* y' = 1 / (1 + x^2). */
DYNC__FN dync_status dync__g_atan(dync__grad *g)
{
    dync_tensor *x = dync__grads_x(g);
    return dync__grads_set(g, dync_div(dync__grads_gy(g), dync_add(dync_mul(x, x), 1)));
}

DYNC__FN dync_status dync__g_cos(dync__grad *g)
{
    return dync__grads_set(g, dync_mul(dync__grads_gy(g), dync_neg(dync_sin(dync__grads_x(g)))));
}
DYNC__FN dync_status dync__g_cosh(dync__grad *g)
{
    return dync__grads_set(g, dync_mul(dync__grads_gy(g), dync_sinh(dync__grads_x(g))));
}
DYNC__FN dync_status dync__g_sin(dync__grad *g)
{
    return dync__grads_set(g, dync_mul(dync__grads_gy(g), dync_cos(dync__grads_x(g))));
}
DYNC__FN dync_status dync__g_sinh(dync__grad *g)
{
    return dync__grads_set(g, dync_mul(dync__grads_gy(g), dync_cosh(dync__grads_x(g))));
}

/* y' = 1 + y^2: from the output, which saves the cosine. */
DYNC__FN dync_status dync__g_tan(dync__grad *g)
{
    dync_tensor *y = dync__grads_y(g);
    return dync__grads_set(g, dync_mul(dync__grads_gy(g), dync_add(dync_mul(y, y), 1)));
}

DYNC__FN dync_status dync__g_exp(dync__grad *g)
{
    return dync__grads_set(g, dync_mul(dync__grads_gy(g), dync__grads_y(g)));
}

/* y' = y log(2). */
DYNC__FN dync_status dync__g_exp2(dync__grad *g)
{
    return dync__grads_set(
        g, dync_mul(dync_mul(dync__grads_gy(g), dync__grads_y(g)), 0.693147180559945309417));
}

/* y' = exp(x) = y + 1. */
DYNC__FN dync_status dync__g_expm1(dync__grad *g)
{
    return dync__grads_set(g, dync_mul(dync__grads_gy(g), dync_add(dync__grads_y(g), 1)));
}
DYNC__FN dync_status dync__g_log(dync__grad *g)
{
    return dync__grads_set(g, dync_div(dync__grads_gy(g), dync__grads_x(g)));
}
DYNC__FN dync_status dync__g_log1p(dync__grad *g)
{
    return dync__grads_set(g, dync_div(dync__grads_gy(g), dync_add(dync__grads_x(g), 1)));
}

/* y' = 1 / (x log(10)). */
DYNC__FN dync_status dync__g_log10(dync__grad *g)
{
    return dync__grads_set(
        g, dync_div(dync__grads_gy(g), dync_mul(dync__grads_x(g), 2.30258509299404568402)));
}

DYNC__FN dync_status dync__g_log2(dync__grad *g)
{
    return dync__grads_set(
        g, dync_div(dync__grads_gy(g), dync_mul(dync__grads_x(g), 0.693147180559945309417)));
}

static dync_tensor *dync__g_bell(dync__grad *g) /* 2 / sqrt(pi) exp(-x^2) */
{
    dync_tensor *x = dync__grads_x(g);
    return dync_mul(dync_exp(dync_neg(dync_mul(x, x))), 1.12837916709551257390);
}
DYNC__FN dync_status dync__g_erf(dync__grad *g)
{
    return dync__grads_set(g, dync_mul(dync__grads_gy(g), dync__g_bell(g)));
}
DYNC__FN dync_status dync__g_erfc(dync__grad *g)
{
    return dync__grads_set(g, dync_mul(dync__grads_gy(g), dync_neg(dync__g_bell(g))));
}

/* y = 1 / x: y' = -y^2. */
DYNC__FN dync_status dync__g_reciprocal(dync__grad *g)
{
    dync_tensor *y = dync__grads_y(g);
    return dync__grads_set(g, dync_mul(dync_neg(dync__grads_gy(g)), dync_mul(y, y)));
}

/* y = x^-1/2: y' = -y^3 / 2. */
DYNC__FN dync_status dync__g_rsqrt(dync__grad *g)
{
    dync_tensor *y = dync__grads_y(g);
    return dync__grads_set(
        g, dync_mul(dync_mul(dync__grads_gy(g), -0.5), dync_mul(dync_mul(y, y), y)));
}

/* y' = 1 / (2 y), inf at 0. */
DYNC__FN dync_status dync__g_sqrt(dync__grad *g)
{
    return dync__grads_set(g, dync_div(dync__grads_gy(g), dync_mul(dync__grads_y(g), 2)));
}
DYNC__FN dync_status dync__g_square(dync__grad *g)
{
    return dync__grads_set(g, dync_mul(dync__grads_gy(g), dync_mul(dync__grads_x(g), 2)));
}

/* ---- activations ----------------------------------------------------------------------------- */

/* gy where x > threshold, else 0, as one operator, which backends fuse. A threshold of 0 is passed
 * as an int, as graphs of PyTorch print it. */
static dync_tensor *dync__g_threshold(dync_tensor *gy, dync_tensor *x, double threshold)
{
    dync__arg args[3];
    args[0] = dync__arg_h(gy);
    args[1] = dync__arg_h(x);
    args[2] = dync__arg_f(threshold);
    if (threshold >= 0 && threshold <= 0) args[2] = dync__arg_i(0);
    return dync__g_call(DYNC__USED(DYNC__OP_threshold_backward), 3, args);
}
/* By the output: y > 0 exactly where x > 0, and y is kept for the next operator anyway. */
DYNC__FN dync_status dync__g_relu(dync__grad *g)
{
    return dync__grads_set(g, dync__g_threshold(dync__grads_gy(g), dync__grads_y(g), 0));
}

/* It is linear in gy; its second argument only selects. */
DYNC__FN dync_status dync__g_threshold_backward(dync__grad *g)
{
    if (!dync__ga_needed(g, 0)) return DYNC_OK;
    return dync__grads_set(
        g, dync__g_threshold(dync__grads_gy(g), dync__ga_tensor(g, 1), dync__ga_float(g, 2)));
}

DYNC__FN dync_status dync__g_sigmoid(dync__grad *g)
{
    return dync__grads_set(g, dync__g_call2(DYNC__USED(DYNC__OP_sigmoid_backward),
                                            dync__grads_gy(g), dync__grads_y(g)));
}
DYNC__FN dync_status dync__g_tanh(dync__grad *g)
{
    return dync__grads_set(
        g, dync__g_call2(DYNC__USED(DYNC__OP_tanh_backward), dync__grads_gy(g), dync__grads_y(g)));
}

/* The elus by their slope where x is not positive, and not by y + alpha: y is rounded, and -1 in
 * f32 from x = -17 on. exp sees nothing positive, whose infinity is NaN in second gradients. */
DYNC__FN dync_status dync__g_elu(dync__grad *g)
{
    dync_tensor *gy = dync__g_wide(dync__grads_gy(g)), *x = dync__g_wide(dync__grads_x(g)),
                *below_0 = dync_le(x, 0);
    dync_tensor *slope = dync_mul(dync_exp(dync_where(below_0, x, 0)), dync__ga_float(g, 1));
    return dync__grads_set(g, dync_where(below_0, dync_mul(gy, slope), gy));
}

DYNC__FN dync_status dync__g_celu(dync__grad *g)
{
    dync_tensor *gy = dync__g_wide(dync__grads_gy(g)), *x = dync__g_wide(dync__grads_x(g)),
                *below_0 = dync_le(x, 0);
    dync_tensor *slope = dync_exp(dync_div(dync_where(below_0, x, 0), dync__ga_float(g, 1)));
    return dync__grads_set(g, dync_where(below_0, dync_mul(gy, slope), gy));
}

DYNC__FN dync_status dync__g_selu(dync__grad *g)
{
    dync_tensor *gy = dync__g_wide(dync__grads_gy(g)), *x = dync__g_wide(dync__grads_x(g)),
                *below_0 = dync_le(x, 0);
    dync_tensor *slope =
        dync_mul(dync_exp(dync_where(below_0, x, 0)), DYNC__SELU_SCALE * DYNC__SELU_ALPHA);
    return dync__grads_set(
        g, dync_where(below_0, dync_mul(gy, slope), dync_mul(gy, DYNC__SELU_SCALE)));
}

/* The slope below 0 is argument 1. */
DYNC__FN dync_status dync__g_leaky_relu(dync__grad *g)
{
    dync_tensor *gy = dync__grads_gy(g);
    return dync__grads_set(
        g, dync_where(dync_gt(dync__grads_x(g), 0), gy, dync_mul(gy, dync__ga_float(g, 1))));
}

/* Flat at both bounds and beyond them, which comparisons would round to f16 and bf16. */
DYNC__FN dync_status dync__g_hardtanh(dync__grad *g)
{
    dync_tensor *x = dync__g_wide(dync__grads_x(g)),
                *held = dync_logical_or(dync_le(x, dync__ga_float(g, 1)),
                                        dync_ge(x, dync__ga_float(g, 2)));
    return dync__grads_set(g, dync_where(held, 0, dync__grads_gy(g))); /* NaN is not held */
}

/* y = clamp(x / 6 + 1/2, 0, 1): slope 1/6 inside of (-3, 3). */
DYNC__FN dync_status dync__g_hardsigmoid(dync__grad *g)
{
    dync_tensor *x = dync__grads_x(g), *inside = dync_logical_and(dync_gt(x, -3), dync_lt(x, 3));
    return dync__grads_set(g, dync_where(inside, dync_div(dync__g_wide(dync__grads_gy(g)), 6), 0));
}

/* 0 up to -3, x / 3 + 1/2 up to 3, then 1 */
DYNC__FN dync_status dync__g_hardswish(dync__grad *g)
{
    dync_tensor *gy = dync__g_wide(dync__grads_gy(g)), *x = dync__g_wide(dync__grads_x(g));
    dync_tensor *slope = dync_mul(gy, dync_add(dync_div(x, 3), 0.5));
    return dync__grads_set(g, dync_where(dync_le(x, -3), 0, dync_where(dync_lt(x, 3), slope, gy)));
}

/* y' = 1 - sigmoid(x) = sigmoid(-x). */
DYNC__FN dync_status dync__g_logsigmoid(dync__grad *g)
{
    dync_tensor *gy = dync__g_wide(dync__grads_gy(g)), *x = dync__g_wide(dync__grads_x(g));
    return dync__grads_set(g, dync_mul(gy, dync_sigmoid(dync_neg(x))));
}

/* y = x t, t = tanh(softplus(x)), and x t' = x sigmoid(x) (1 - t^2) */
DYNC__FN dync_status dync__g_mish(dync__grad *g)
{
    dync_tensor *gy = dync__g_wide(dync__grads_gy(g)), *x = dync__g_wide(dync__grads_x(g)),
                *t = dync_tanh(dync_softplus(x));
    dync_tensor *slope = dync_mul(dync_mul(x, dync_sigmoid(x)), dync_sub(1, dync_mul(t, t)));
    return dync__grads_set(g, dync_mul(gy, dync_add(t, slope)));
}

/* y = log(1 + exp(x)), computed as x above 20: y' = sigmoid(x), and 1 there. */
DYNC__FN dync_status dync__g_softplus(dync__grad *g)
{
    dync_tensor *gy = dync__g_wide(dync__grads_gy(g)), *x = dync__g_wide(dync__grads_x(g));
    return dync__grads_set(g, dync_where(dync_gt(x, 20), gy, dync_mul(gy, dync_sigmoid(x))));
}

/* y = x s, s = sigmoid(x): y' = s (1 + x (1 - s)). */
DYNC__FN dync_status dync__g_silu(dync__grad *g)
{
    dync_tensor *x = dync__g_wide(dync__grads_x(g)), *s = dync_sigmoid(x);
    return dync__grads_set(g, dync_mul(dync__g_wide(dync__grads_gy(g)),
                                       dync_mul(s, dync_add(dync_mul(x, dync_sub(1, s)), 1))));
}

/* Phi(x) + x phi(x) */
DYNC__FN dync_status dync__g_gelu(dync__grad *g)
{
    dync_tensor *x = dync__g_wide(dync__grads_x(g));
    dync_tensor *cdf = dync_mul(dync_add(dync_erf(dync_mul(x, 0.707106781186547524401)), 1), 0.5);
    dync_tensor *pdf = dync_mul(dync_exp(dync_mul(dync_mul(x, x), -0.5)), 0.398942280401432677940);
    return dync__grads_set(
        g, dync_mul(dync__g_wide(dync__grads_gy(g)), dync_add(cdf, dync_mul(x, pdf))));
}

/* y = x/2 (1 + t), t = tanh(k (x + c x^3)) */
DYNC__FN dync_status dync__g_gelu_tanh(dync__grad *g)
{
    const double k = 0.797884560802865355880, c = 0.044715;
    dync_tensor *x = dync__g_wide(dync__grads_x(g)), *xx = dync_mul(x, x);
    dync_tensor *t = dync_tanh(dync_mul(dync_add(x, dync_mul(dync_mul(xx, x), c)), k));
    dync_tensor *inner = dync_mul(dync_add(dync_mul(xx, 3 * c), 1), k);
    dync_tensor *right = dync_mul(dync_mul(dync_mul(x, 0.5), dync_sub(1, dync_mul(t, t))), inner);
    return dync__grads_set(g, dync_mul(dync__g_wide(dync__grads_gy(g)),
                                       dync_add(dync_mul(dync_add(t, 1), 0.5), right)));
}
