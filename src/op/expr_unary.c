/* op/expr_unary.c: pointwise operators of one argument as loop-IR expressions, and gradients that
 * PyTorch's graphs show as one operator. After expr.c, whose conventions hold here. */
#include "../dync.in.h"
#include "rows.h"
DYNC__COLD

/* ---- unary: straight to vecmath or a primitive ----------------------------------------------- */

/* clang-format off */
#define DYNC__BY_VECMATH(X) \
    X(acos) X(asin) X(atan) X(cos) X(cosh) X(erf) X(erfc) X(exp) X(exp2) X(expm1) X(log) \
    X(log10) X(log1p) X(log2) X(rsqrt) X(sigmoid) X(sin) X(sinh) X(tan) X(tanh)
/* clang-format on */
#define DYNC__X(name)                                                                 \
    DYNC__FN int dync__e_##name(dync__lb *b, const dync__opcall *call, const int *in) \
    {                                                                                 \
        (void)call;                                                                   \
        return dync__vm_##name(b, in[0]);                                             \
    }
DYNC__BY_VECMATH(DYNC__X)
#undef DYNC__X

#define DYNC__BY_PRIM(X) X(abs, abs) X(neg, neg) X(sqrt, sqrt)
#define DYNC__X(name, prim)                                                           \
    DYNC__FN int dync__e_##name(dync__lb *b, const dync__opcall *call, const int *in) \
    {                                                                                 \
        (void)call;                                                                   \
        return dync__ex1(b, DYNC__P_##prim, in[0]);                                   \
    }
DYNC__BY_PRIM(DYNC__X)
#undef DYNC__X

/* Rounding leaves integers as they are. */
#define DYNC__ROUNDINGS(X) X(ceil, ceil) X(floor, floor) X(round, rint) X(trunc, trunc)
#define DYNC__X(name, prim)                                                               \
    DYNC__FN int dync__e_##name(dync__lb *b, const dync__opcall *call, const int *in)     \
    {                                                                                     \
        (void)call;                                                                       \
        return dync__ex_is_float(b, in[0]) ? dync__ex1(b, DYNC__P_##prim, in[0]) : in[0]; \
    }
DYNC__ROUNDINGS(DYNC__X)
#undef DYNC__X

/* ---- unary: formulas ------------------------------------------------------------------------- */

DYNC__FN int dync__e_clone(dync__lb *b, const dync__opcall *call, const int *in)
{
    (void)b;
    (void)call;
    return in[0];
}

DYNC__FN int dync__e_copy(dync__lb *b, const dync__opcall *call, const int *in)
{
    (void)b;
    (void)call;
    return in[1];
}

DYNC__FN int dync__e_square(dync__lb *b, const dync__opcall *call, const int *in)
{
    (void)call;
    return dync__ex_mul(b, in[0], in[0]);
}

DYNC__FN int dync__e_reciprocal(dync__lb *b, const dync__opcall *call, const int *in)
{
    (void)call;
    return dync__ex_div(b, dync__ex_const(b, in[0], 1), in[0]);
}

/* x - trunc(x): has the sign of x. */
DYNC__FN int dync__e_frac(dync__lb *b, const dync__opcall *call, const int *in)
{
    (void)call;
    return dync__ex_sub(b, in[0], dync__ex1(b, DYNC__P_trunc, in[0]));
}

/* -1, 0 or 1; NaN and both zeros give 0, as torch.sign does. */
DYNC__FN int dync__e_sgn(dync__lb *b, const dync__opcall *call, const int *in)
{
    int x = in[0];
    (void)call;
    if (dync__ex_is_bool(b, x)) return x;
    int zero = dync__ex_zero(b, x);
    int below = dync__ex_select(b, dync__ex_lt(b, x, zero), dync__ex_const(b, x, -1), zero);
    return dync__ex_select(b, dync__ex_lt(b, zero, x), dync__ex_const(b, x, 1), below);
}

/* Integers are never one. */
DYNC__FN int dync__e_isnan(dync__lb *b, const dync__opcall *call, const int *in)
{
    (void)call;
    return dync__ex_is_float(b, in[0]) ? dync__ex2(b, DYNC__P_ne, in[0], in[0])
                                       : dync__lb_i(b, DYNC_BOOL, 0);
}

DYNC__FN int dync__e_isinf(dync__lb *b, const dync__opcall *call, const int *in)
{
    (void)call;
    if (!dync__ex_is_float(b, in[0])) return dync__lb_i(b, DYNC_BOOL, 0);
    return dync__ex2(b, DYNC__P_eq, dync__ex1(b, DYNC__P_abs, in[0]),
                     dync__ex_const(b, in[0], HUGE_VAL));
}

DYNC__FN int dync__e_isfinite(dync__lb *b, const dync__opcall *call, const int *in)
{
    (void)call;
    if (!dync__ex_is_float(b, in[0])) return dync__lb_i(b, DYNC_BOOL, 1);
    return dync__ex_lt(b, dync__ex1(b, DYNC__P_abs, in[0]), dync__ex_const(b, in[0], HUGE_VAL));
}

/* max(0, x): NaN stays NaN. */
DYNC__FN int dync__e_relu(dync__lb *b, const dync__opcall *call, const int *in)
{
    (void)call;
    return dync__ex2(b, DYNC__P_max, dync__ex_zero(b, in[0]), in[0]); /* -0 stays -0 */
}

DYNC__FN int dync__e_relu6(dync__lb *b, const dync__opcall *call, const int *in)
{
    return dync__ex2(b, DYNC__P_min, dync__ex_const(b, in[0], 6), dync__e_relu(b, call, in));
}

/* x + 3, held between 0 and 6: constants first, where one instruction keeps NaN (x + 3 is never
 * -0) */
static int dync__ex_six(dync__lb *b, int x)
{
    int up = dync__ex_add(b, x, dync__ex_const(b, x, 3));
    return dync__ex2(b, DYNC__P_min, dync__ex_const(b, x, 6),
                     dync__ex2(b, DYNC__P_max, dync__ex_zero(b, x), up));
}

/* min(max(x + 3, 0), 6) / 6; hardswish is x times that (Howard et al. 2019, arXiv:1905.02244). */
DYNC__FN int dync__e_hardsigmoid(dync__lb *b, const dync__opcall *call, const int *in)
{
    (void)call;
    return dync__ex_div(b, dync__ex_six(b, in[0]), dync__ex_const(b, in[0], 6));
}

DYNC__FN int dync__e_hardswish(dync__lb *b, const dync__opcall *call, const int *in)
{
    (void)call;
    return dync__ex_div(b, dync__ex_mul(b, in[0], dync__ex_six(b, in[0])),
                        dync__ex_const(b, in[0], 6));
}

/* yes where x is positive, else no. */
static int dync__ex_if_positive(dync__lb *b, int x, int yes, int no)
{
    return dync__ex_select(b, dync__ex_lt(b, dync__ex_zero(b, x), x), yes, no);
}

DYNC__FN int dync__e_leaky_relu(dync__lb *b, const dync__opcall *call, const int *in)
{
    (void)call;
    return dync__ex_if_positive(b, in[0], in[0], dync__ex_mul(b, in[0], in[1]));
}

/* x, or alpha (exp(x) - 1) (Clevert et al. 2015, arXiv:1511.07289). */
DYNC__FN int dync__e_elu(dync__lb *b, const dync__opcall *call, const int *in)
{
    (void)call;
    return dync__ex_if_positive(b, in[0], in[0], dync__ex_mul(b, dync__vm_expm1(b, in[0]), in[1]));
}

/* x, or alpha (exp(x / alpha) - 1) (Barron 2017, arXiv:1704.07483). */
DYNC__FN int dync__e_celu(dync__lb *b, const dync__opcall *call, const int *in)
{
    (void)call;
    int below = dync__ex_mul(b, dync__vm_expm1(b, dync__ex_div(b, in[0], in[1])), in[1]);
    return dync__ex_if_positive(b, in[0], in[0], below);
}

DYNC__FN int dync__e_selu(dync__lb *b, const dync__opcall *call, const int *in)
{
    int scale = dync__ex_const(b, in[0], DYNC__SELU_SCALE),
        below = dync__ex_const(b, in[0], DYNC__SELU_SCALE * DYNC__SELU_ALPHA);
    (void)call;
    return dync__ex_if_positive(b, in[0], dync__ex_mul(b, in[0], scale),
                                dync__ex_mul(b, dync__vm_expm1(b, in[0]), below));
}

/* x / 2 (1 + erf(x / sqrt 2)) (Hendrycks & Gimpel 2016, arXiv:1606.08415); gelu_tanh is its
 * approximation by tanh. */
DYNC__FN int dync__e_gelu(dync__lb *b, const dync__opcall *call, const int *in)
{
    int x = in[0], half = dync__ex_const(b, x, 0.5), one = dync__ex_const(b, x, 1);
    int phi = dync__ex_add(
        b, one, dync__vm_erf(b, dync__ex_mul(b, x, dync__ex_const(b, x, 0.70710678118654752440))));
    (void)call;
    return dync__ex_mul(b, dync__ex_mul(b, x, half), phi);
}

DYNC__FN int dync__e_gelu_tanh(dync__lb *b, const dync__opcall *call, const int *in)
{
    int x = in[0], half = dync__ex_const(b, x, 0.5), one = dync__ex_const(b, x, 1);
    int cube = dync__ex_mul(b, dync__ex_mul(b, x, x), x);
    int inner = dync__ex_add(b, x, dync__ex_mul(b, dync__ex_const(b, x, 0.044715), cube));
    /* sqrt(2 / pi) */
    inner = dync__ex_mul(b, dync__ex_const(b, x, 0.79788456080286535588), inner);
    (void)call;
    return dync__ex_mul(b, dync__ex_mul(b, half, x), dync__ex_add(b, one, dync__vm_tanh(b, inner)));
}

/* min(0, x) - log1p(exp(-|x|)): the exponential never overflows. */
DYNC__FN int dync__e_logsigmoid(dync__lb *b, const dync__opcall *call, const int *in)
{
    int x = in[0], zero = dync__ex_zero(b, x);
    int tail =
        dync__vm_log1p(b, dync__vm_exp(b, dync__ex1(b, DYNC__P_neg, dync__ex1(b, DYNC__P_abs, x))));
    (void)call;
    return dync__ex_sub(b, dync__ex2(b, DYNC__P_min, zero, x), tail);
}

/* x tanh(log(1 + exp(x))) (Misra 2019, arXiv:1908.08681). */
DYNC__FN int dync__e_mish(dync__lb *b, const dync__opcall *call, const int *in)
{
    (void)call;
    return dync__ex_mul(b, in[0], dync__vm_tanh(b, dync__vm_log1p(b, dync__vm_exp(b, in[0]))));
}

/* Logarithms are held at -100 from below. */
DYNC__FN int dync__e_binary_cross_entropy(dync__lb *b, const dync__opcall *call, const int *in)
{
    int x = in[0], y = in[1], low = dync__ex_const(b, x, -100);
    int yes = dync__ex2(b, DYNC__P_max, low, dync__vm_log(b, x)),
        no = dync__ex2(b, DYNC__P_max, low, dync__vm_log1p(b, dync__ex1(b, DYNC__P_neg, x)));
    (void)call;
    return dync__ex_sub(b, dync__ex_mul(b, dync__ex_sub(b, y, dync__ex_const(b, y, 1)), no),
                        dync__ex_mul(b, y, yes));
}

/* x / (1 + exp(-x)). */
DYNC__FN int dync__e_silu(dync__lb *b, const dync__opcall *call, const int *in)
{
    int one = dync__ex_const(b, in[0], 1);
    (void)call;
    return dync__ex_div(b, in[0],
                        dync__ex_add(b, one, dync__vm_exp(b, dync__ex1(b, DYNC__P_neg, in[0]))));
}

/* log(1 + exp(x)), and x itself above 20, where f32 does not see the difference. */
DYNC__FN int dync__e_softplus(dync__lb *b, const dync__opcall *call, const int *in)
{
    int x = in[0], soft = dync__vm_log1p(b, dync__vm_exp(b, x));
    (void)call;
    return dync__ex_select(b, dync__ex_lt(b, dync__ex_const(b, x, 20), x), x, soft);
}

/* ---- gradients that PyTorch's graphs show as one operator ------------------------------------ */

DYNC__FN int dync__e_sigmoid_backward(dync__lb *b, const dync__opcall *call, const int *in)
{
    int g = in[0], y = in[1], one = dync__ex_const(b, y, 1);
    (void)call;
    return dync__ex_mul(b, dync__ex_mul(b, g, dync__ex_sub(b, one, y)), y);
}

DYNC__FN int dync__e_tanh_backward(dync__lb *b, const dync__opcall *call, const int *in)
{
    int g = in[0], y = in[1], one = dync__ex_const(b, y, 1);
    (void)call;
    return dync__ex_mul(b, g, dync__ex_sub(b, one, dync__ex_mul(b, y, y)));
}

/* Arguments (g, x, threshold): g where x is above it, else 0. */
DYNC__FN int dync__e_threshold_backward(dync__lb *b, const dync__opcall *call, const int *in)
{
    (void)call;
    return dync__ex_select(b, dync__ex2(b, DYNC__P_le, in[1], in[2]), dync__ex_zero(b, in[0]),
                           in[0]);
}
