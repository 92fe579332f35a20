/* op/ops_unary.def.h: of one tensor, element by element. Rows of ops.def.h. */
#ifndef DYNC__OPS_UNARY_DEF_H
#define DYNC__OPS_UNARY_DEF_H

/* clang-format off */
#define DYNC__OPS_UNARY(X)                                                                                           \
    X(abs,         POINTWISE, "(Tensor self)", 1, i_unary, e_abs, none, g_abs, none, "torch.*", DYNC__OP_CHEAP,      \
      -1, "absolute value")                                                                                          \
    X(acos,        POINTWISE, "(Tensor self)", 1, i_unary, e_acos, none, g_acos, none, "torch.*", DYNC__OP_FLOAT,    \
      -1, "inverse cosine")                                                                                          \
    X(acosh,       POINTWISE, "(Tensor self)", 1, i_unary, e_acosh, none, g_acosh, none, "torch.*",                  \
      DYNC__OP_FLOAT, -1, "inverse hyperbolic cosine")                                                               \
    X(asin,        POINTWISE, "(Tensor self)", 1, i_unary, e_asin, none, g_asin, none, "torch.*", DYNC__OP_FLOAT,    \
      -1, "inverse sine")                                                                                            \
    X(asinh,       POINTWISE, "(Tensor self)", 1, i_unary, e_asinh, none, g_asinh, none, "torch.*",                  \
      DYNC__OP_FLOAT, -1, "inverse hyperbolic sine")                                                                 \
    X(atan,        POINTWISE, "(Tensor self)", 1, i_unary, e_atan, none, g_atan, none, "torch.*", DYNC__OP_FLOAT,    \
      -1, "inverse tangent")                                                                                         \
    X(atanh,       POINTWISE, "(Tensor self)", 1, i_unary, e_atanh, none, g_atanh, none, "torch.*",                  \
      DYNC__OP_FLOAT, -1, "inverse hyperbolic tangent")                                                              \
    X(bitwise_not, POINTWISE, "(Tensor self)", 1, i_bitwise, e_bitwise_not, none, none, none, "torch.*",             \
      DYNC__OP_NONDIFF | DYNC__OP_CHEAP, -1, "every bit inverted; logical not of bools")                             \
    X(ceil,        POINTWISE, "(Tensor self)", 1, i_unary, e_ceil, none, g_zero, none, "torch.*", DYNC__OP_CHEAP,    \
      -1, "rounded towards plus infinity")                                                                           \
    X(cos,         POINTWISE, "(Tensor self)", 1, i_unary, e_cos, none, g_cos, none, "torch.*", DYNC__OP_FLOAT,      \
      -1, "cosine")                                                                                                  \
    X(cosh,        POINTWISE, "(Tensor self)", 1, i_unary, e_cosh, none, g_cosh, none, "torch.*", DYNC__OP_FLOAT,    \
      -1, "hyperbolic cosine")                                                                                       \
    X(elu,         POINTWISE, "(Tensor self, float alpha)", 1, i_float_unary, e_elu, none, g_elu, none,              \
      "F.*", 0, -1, "self where positive, else alpha * (exp(self) - 1)")                                             \
    X(erf,         POINTWISE, "(Tensor self)", 1, i_unary, e_erf, none, g_erf, none, "torch.*", DYNC__OP_FLOAT,      \
      -1, "error function")                                                                                          \
    X(erfc,        POINTWISE, "(Tensor self)", 1, i_unary, e_erfc, none, g_erfc, none, "torch.*", DYNC__OP_FLOAT,    \
      -1, "1 - erf(self), without cancellation")                                                                     \
    X(exp,         POINTWISE, "(Tensor self)", 1, i_unary, e_exp, none, g_exp, none, "torch.*", DYNC__OP_FLOAT,      \
      -1, "e to the power self")                                                                                     \
    X(exp2,        POINTWISE, "(Tensor self)", 1, i_unary, e_exp2, none, g_exp2, none, "torch.*", DYNC__OP_FLOAT,    \
      -1, "2 to the power self")                                                                                     \
    X(expm1,       POINTWISE, "(Tensor self)", 1, i_unary, e_expm1, none, g_expm1, none, "torch.*",                  \
      DYNC__OP_FLOAT, -1, "exp(self) - 1, without cancellation")                                                     \
    X(floor,       POINTWISE, "(Tensor self)", 1, i_unary, e_floor, none, g_zero, none, "torch.*",                   \
      DYNC__OP_CHEAP, -1, "rounded towards minus infinity")                                                          \
    X(frac,        POINTWISE, "(Tensor self)", 1, i_float_unary, e_frac, none, g_frac, none, "torch.*",              \
      DYNC__OP_CHEAP, -1, "self - trunc(self)")                                                                      \
    X(gelu,        POINTWISE, "(Tensor self)", 1, i_float_unary, e_gelu, none, g_gelu, none,                         \
      "F.*", 0, -1, "self * Phi(self), Phi the normal distribution by erf")                                          \
    X(gelu_tanh,   POINTWISE, "(Tensor self)", 1, i_float_unary, e_gelu_tanh, none, g_gelu_tanh, none,               \
      "torch.nn.functional.gelu({0}, approximate='tanh')", 0, -1, "gelu with Phi approximated by tanh")              \
    X(hardtanh,    POINTWISE, "(Tensor self, float low, float high)", 1, i_hardtanh, e_hardtanh, none, g_hardtanh,   \
      none, "F.*", DYNC__OP_CHEAP | DYNC__OP_FITS | DYNC__OP_BOUNDS, -1,                                            \
      "self held between low and high")                                                                              \
    X(isfinite,    POINTWISE, "(Tensor self)", 1, i_unary, e_isfinite, none, none, none, "torch.*",                  \
      DYNC__OP_NONDIFF | DYNC__OP_BOOL_OUT | DYNC__OP_CHEAP, -1, "neither infinite nor NaN, as bool")                \
    X(isinf,       POINTWISE, "(Tensor self)", 1, i_unary, e_isinf, none, none, none, "torch.*",                     \
      DYNC__OP_NONDIFF | DYNC__OP_BOOL_OUT | DYNC__OP_CHEAP, -1, "plus or minus infinity, as bool")                  \
    X(isnan,       POINTWISE, "(Tensor self)", 1, i_unary, e_isnan, none, none, none, "torch.*",                     \
      DYNC__OP_NONDIFF | DYNC__OP_BOOL_OUT | DYNC__OP_CHEAP, -1, "NaN, as bool")                                     \
    X(leaky_relu,  POINTWISE, "(Tensor self, float negative_slope)", 1, i_float_unary, e_leaky_relu, none,           \
      g_leaky_relu, none, "F.*", DYNC__OP_CHEAP, -1,                                                                 \
      "self where positive, else negative_slope * self")                                                             \
    X(log,         POINTWISE, "(Tensor self)", 1, i_unary, e_log, none, g_log, none, "torch.*", DYNC__OP_FLOAT,      \
      -1, "natural logarithm")                                                                                       \
    X(log10,       POINTWISE, "(Tensor self)", 1, i_unary, e_log10, none, g_log10, none, "torch.*",                  \
      DYNC__OP_FLOAT, -1, "logarithm to base 10")                                                                    \
    X(log1p,       POINTWISE, "(Tensor self)", 1, i_unary, e_log1p, none, g_log1p, none, "torch.*",                  \
      DYNC__OP_FLOAT, -1, "log(1 + self), without cancellation")                                                     \
    X(log2,        POINTWISE, "(Tensor self)", 1, i_unary, e_log2, none, g_log2, none, "torch.*", DYNC__OP_FLOAT,    \
      -1, "logarithm to base 2")                                                                                     \
    X(logical_not, POINTWISE, "(Tensor self)", 1, i_unary, e_logical_not, none, none, none, "torch.*",               \
      DYNC__OP_NONDIFF | DYNC__OP_BOOL_OUT | DYNC__OP_CHEAP, -1, "self is zero, as bool")                            \
    X(logsigmoid,  POINTWISE, "(Tensor self)", 1, i_float_unary, e_logsigmoid, none, g_logsigmoid, none,             \
      "F.*", 0, -1, "log(sigmoid(self)), without overflow")                                                          \
    X(mish,        POINTWISE, "(Tensor self)", 1, i_float_unary, e_mish, none, g_mish, none,                         \
      "F.*", 0, -1, "self * tanh(softplus(self))")                                                                   \
    X(neg,         POINTWISE, "(Tensor self)", 1, i_neg, e_neg, none, g_neg, none, "-", DYNC__OP_CHEAP, -1,          \
      "-self")                                                                                                       \
    X(reciprocal,  POINTWISE, "(Tensor self)", 1, i_unary, e_reciprocal, none, g_reciprocal, none,                   \
      "torch.*", DYNC__OP_FLOAT | DYNC__OP_CHEAP, -1, "1 / self")                                                    \
    X(relu,        POINTWISE, "(Tensor self)", 1, i_unary, e_relu, none, g_relu, none, "torch.*", DYNC__OP_CHEAP,    \
      -1, "max(self, 0)")                                                                                            \
    X(relu6,       POINTWISE, "(Tensor self)", 1, i_unary, e_relu6, none, none, d_relu6,                             \
      "F.*", DYNC__OP_CHEAP, -1, "min(max(self, 0), 6)")                                                             \
    X(round,       POINTWISE, "(Tensor self)", 1, i_unary, e_round, none, g_zero, none, "torch.*",                   \
      DYNC__OP_CHEAP, -1, "to the nearest integer, halves to even")                                                  \
    X(rsqrt,       POINTWISE, "(Tensor self)", 1, i_unary, e_rsqrt, none, g_rsqrt, none, "torch.*",                  \
      DYNC__OP_FLOAT, -1, "1 / sqrt(self)")                                                                          \
    X(sgn,         POINTWISE, "(Tensor self)", 1, i_unary, e_sgn, none, g_zero, none, "torch.*", DYNC__OP_CHEAP,     \
      -1, "-1, 0 or 1")                                                                                              \
    X(sigmoid,     POINTWISE, "(Tensor self)", 1, i_unary, e_sigmoid, none, g_sigmoid, none, "torch.*",              \
      DYNC__OP_FLOAT, -1, "1 / (1 + exp(-self))")                                                                    \
    X(sign,        POINTWISE, "(Tensor self)", 1, i_unary, e_sgn, none, g_zero, none, "torch.*", DYNC__OP_CHEAP,     \
      -1, "-1, 0 or 1")                                                                                              \
    X(silu,        POINTWISE, "(Tensor self)", 1, i_float_unary, e_silu, none, g_silu, none,                         \
      "F.*", 0, -1, "self * sigmoid(self)")                                                                          \
    X(sin,         POINTWISE, "(Tensor self)", 1, i_unary, e_sin, none, g_sin, none, "torch.*", DYNC__OP_FLOAT,      \
      -1, "sine")                                                                                                    \
    X(sinh,        POINTWISE, "(Tensor self)", 1, i_unary, e_sinh, none, g_sinh, none, "torch.*", DYNC__OP_FLOAT,    \
      -1, "hyperbolic sine")                                                                                         \
    X(softplus,    POINTWISE, "(Tensor self)", 1, i_float_unary, e_softplus, none, g_softplus, none,                 \
      "F.*", 0, -1, "log(1 + exp(self)); self itself above 20")                                                      \
    X(sqrt,        POINTWISE, "(Tensor self)", 1, i_unary, e_sqrt, none, g_sqrt, none, "torch.*",                    \
      DYNC__OP_FLOAT | DYNC__OP_CHEAP, -1, "square root")                                                            \
    X(square,      POINTWISE, "(Tensor self)", 1, i_unary, e_square, none, g_square, none, "torch.*",                \
      DYNC__OP_CHEAP, -1, "self * self")                                                                             \
    X(tan,         POINTWISE, "(Tensor self)", 1, i_unary, e_tan, none, g_tan, none, "torch.*", DYNC__OP_FLOAT,      \
      -1, "tangent")                                                                                                 \
    X(tanh,        POINTWISE, "(Tensor self)", 1, i_unary, e_tanh, none, g_tanh, none, "torch.*", DYNC__OP_FLOAT,    \
      -1, "hyperbolic tangent")                                                                                      \
    X(trunc,       POINTWISE, "(Tensor self)", 1, i_unary, e_trunc, none, g_zero, none, "torch.*",                   \
      DYNC__OP_CHEAP, -1, "rounded towards zero")
/* clang-format on */

/* clang-format off */
#define DYNC__OPS_ACTIVATION(X)                                                                                      \
    X(celu, POINTWISE, "(Tensor self, float alpha)", 1, i_celu, e_celu, none, g_celu, none,                          \
      "F.*", DYNC__OP_FITS, -1,                                                                                     \
      "self where positive, else alpha * (exp(self / alpha) - 1)")                                                   \
    X(glu, COMPOSITE, "(Tensor self, int dim)", 1, i_composite, none, none, none, d_glu, "F.*",                      \
      0, -1, "the first half of dim times sigmoid of the second")                                                    \
    X(hardshrink, COMPOSITE, "(Tensor self, float lambd)", 1, i_composite, none, none, none, d_hardshrink,           \
      "F.*", 0, -1, "0 where -lambd <= self <= lambd, else self")                                                    \
    X(hardsigmoid, POINTWISE, "(Tensor self)", 1, i_float_unary, e_hardsigmoid, none, g_hardsigmoid, none,           \
      "F.*", 0, -1, "self + 3 held between 0 and 6, over 6")                                                         \
    X(hardswish, POINTWISE, "(Tensor self)", 1, i_float_unary, e_hardswish, none, g_hardswish, none,                 \
      "F.*", 0, -1, "self * hardsigmoid(self)")                                                                      \
    X(prelu, COMPOSITE, "(Tensor self, Tensor weight)", 1, i_composite, none, none, none, d_prelu,                   \
      "F.*", 0, -1,                                                                                                  \
      "self where positive, else weight * self; weight: one number, or one a channel (dim 1)")                       \
    X(selu, POINTWISE, "(Tensor self)", 1, i_float_unary, e_selu, none, g_selu, none, "F.*", 0,                      \
      -1, "scaled elu whose fixed point has mean 0 and variance 1")                                                  \
    X(sigmoid_backward, POINTWISE, "(Tensor grad_output, Tensor output)", 1, i_floating_binary, e_sigmoid_backward,  \
      none, none, d_sigmoid_backward, "A.*",                                                                         \
      DYNC__OP_PRIVATE | DYNC__OP_FILE | DYNC__OP_CHEAP, -1, "grad * output * (1 - output)")                         \
    X(softmin, COMPOSITE, "(Tensor self, int dim)", 1, i_composite, none, none, none, d_softmin,                     \
      "F.*", 0, -1, "softmax of -self")                                                                              \
    X(softshrink, COMPOSITE, "(Tensor self, float lambd)", 1, i_composite, none, none, none, d_softshrink,           \
      "F.*", 0, -1, "self moved by lambd towards 0, which it does not cross")                                        \
    X(softsign, COMPOSITE, "(Tensor self)", 1, i_composite, none, none, none, d_softsign,                            \
      "F.*", 0, -1, "self / (1 + abs(self))")                                                                        \
    X(tanh_backward, POINTWISE, "(Tensor grad_output, Tensor output)", 1, i_floating_binary, e_tanh_backward, none,  \
      none, d_tanh_backward, "A.*", DYNC__OP_PRIVATE | DYNC__OP_FILE | DYNC__OP_CHEAP, -1,                           \
      "grad * (1 - output * output)")                                                                                \
    X(tanhshrink, COMPOSITE, "(Tensor self)", 1, i_composite, none, none, none, d_tanhshrink,                        \
      "F.*", 0, -1, "self - tanh(self)")                                                                             \
    X(threshold, COMPOSITE, "(Tensor self, float threshold, Value value)", 1, i_composite, none, none, none,         \
      d_threshold, "F.*", 0, -1, "self where above threshold, else value")                                           \
    X(threshold_backward, POINTWISE, "(Tensor grad_output, Tensor self, Value threshold)", 1, i_binary,              \
      e_threshold_backward, none, g_threshold_backward, none, "A.*",                                                 \
      DYNC__OP_PRIVATE | DYNC__OP_FILE | DYNC__OP_CHEAP, -1, "grad where self > threshold, else 0")
/* clang-format on */
#endif
