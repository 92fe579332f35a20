/* op/ops.def.h: the operators, one row each. Order: by group, then alphabetical. See op.h for the
 * columns.
 *
 * fx: "torch.relu" a function, ".view" a method, "+" an infix operator, "getattr.T" never; a text
 * with {i} is a pattern whose holes are the arguments by number:
 * "torch.nn.functional.batch_norm({0}, {3}, {4}, {1}, {2}, {5}, {6}, {7})". {#}: nothing for the
 * graph's first node of the operator, _1 for the second. grad none and decompose given: the
 * gradient is that of the decomposition. Both none: not differentiable. A class with a loop form
 * (POINTWISE) and a decomposition runs the loop; the decomposition is for gradients and for AOT. */
#ifndef DYNC__OPS_DEF_H
#define DYNC__OPS_DEF_H
#define dync__none NULL

/*    name  class  schema  nout  infer  expr  lower  grad  decompose  fx  flags  inplace_of  doc */
/* clang-format off */
#define DYNC__OPS_BINARY(X)                                                                                        \
    X(add,          POINTWISE, "(Value self, Value other)", 1, i_binary, e_add, none, g_add, none, "+",            \
      DYNC__OP_CHEAP | DYNC__OP_ARITH, -1, "self + other; type promotion and broadcasting as PyTorch")             \
    X(atan2,        POINTWISE, "(Value self, Value other)", 1, i_binary, e_atan2, none, g_atan2, none,             \
      "torch.atan2", DYNC__OP_FLOAT, -1, "the angle of the point (other, self), in (-pi, pi]")                     \
    X(bitwise_and,  POINTWISE, "(Value self, Value other)", 1, i_bitwise, e_bitwise_and, none, none, none, "&",    \
      DYNC__OP_NONDIFF | DYNC__OP_CHEAP, -1, "bitwise and of integers, logical and of bools")                      \
    X(bitwise_or,   POINTWISE, "(Value self, Value other)", 1, i_bitwise, e_bitwise_or, none, none, none, "|",     \
      DYNC__OP_NONDIFF | DYNC__OP_CHEAP, -1, "bitwise or of integers, logical or of bools")                        \
    X(bitwise_xor,  POINTWISE, "(Value self, Value other)", 1, i_bitwise, e_bitwise_xor, none, none, none, "^",    \
      DYNC__OP_NONDIFF | DYNC__OP_CHEAP, -1, "bitwise exclusive or of integers and bools")                         \
    X(div,          POINTWISE, "(Value self, Value other)", 1, i_binary, e_div, none, g_div, none, "/",            \
      DYNC__OP_CHEAP | DYNC__OP_FLOAT | DYNC__OP_ARITH, -1, "self / other; integers give a float")                 \
    X(eq,           POINTWISE, "(Value self, Value other)", 1, i_binary, e_eq, none, none, none, "==",             \
      DYNC__OP_NONDIFF | DYNC__OP_BOOL_OUT | DYNC__OP_CHEAP, -1, "self == other, as bool")                         \
    X(floor_divide, POINTWISE, "(Value self, Value other)", 1, i_divide, e_floor_divide, none, none, none, "//",   \
      DYNC__OP_DIVIDES, -1, "the quotient rounded towards minus infinity; keeps integers; no gradient")            \
    X(fmod,         POINTWISE, "(Value self, Value other)", 1, i_divide, e_fmod, none, g_fmod, none, "torch.fmod", \
      DYNC__OP_DIVIDES, -1, "C's remainder: the sign of self")                                                     \
    X(ge,           POINTWISE, "(Value self, Value other)", 1, i_binary, e_ge, none, none, none, ">=",             \
      DYNC__OP_NONDIFF | DYNC__OP_BOOL_OUT | DYNC__OP_CHEAP, -1, "self >= other, as bool")                         \
    X(gt,           POINTWISE, "(Value self, Value other)", 1, i_binary, e_gt, none, none, none, ">",              \
      DYNC__OP_NONDIFF | DYNC__OP_BOOL_OUT | DYNC__OP_CHEAP, -1, "self > other, as bool")                          \
    X(le,           POINTWISE, "(Value self, Value other)", 1, i_binary, e_le, none, none, none, "<=",             \
      DYNC__OP_NONDIFF | DYNC__OP_BOOL_OUT | DYNC__OP_CHEAP, -1, "self <= other, as bool")                         \
    X(logical_and,  POINTWISE, "(Value self, Value other)", 1, i_binary, e_logical_and, none, none, none,          \
      "torch.logical_and", DYNC__OP_NONDIFF | DYNC__OP_BOOL_OUT | DYNC__OP_CHEAP, -1, "both are not zero")         \
    X(logical_or,   POINTWISE, "(Value self, Value other)", 1, i_binary, e_logical_or, none, none, none,           \
      "torch.logical_or", DYNC__OP_NONDIFF | DYNC__OP_BOOL_OUT | DYNC__OP_CHEAP, -1, "one of them is not zero")    \
    X(logical_xor,  POINTWISE, "(Value self, Value other)", 1, i_binary, e_logical_xor, none, none, none,          \
      "torch.logical_xor", DYNC__OP_NONDIFF | DYNC__OP_BOOL_OUT | DYNC__OP_CHEAP, -1,                              \
      "exactly one of them is not zero")                                                                           \
    X(lt,           POINTWISE, "(Value self, Value other)", 1, i_binary, e_lt, none, none, none, "<",              \
      DYNC__OP_NONDIFF | DYNC__OP_BOOL_OUT | DYNC__OP_CHEAP, -1, "self < other, as bool")                          \
    X(maximum,      POINTWISE, "(Value self, Value other)", 1, i_binary, e_maximum, none, g_maximum, none,         \
      "torch.maximum", DYNC__OP_CHEAP, -1, "the larger of the two; NaN wins")                                      \
    X(minimum,      POINTWISE, "(Value self, Value other)", 1, i_binary, e_minimum, none, g_minimum, none,         \
      "torch.minimum", DYNC__OP_CHEAP, -1, "the smaller of the two; NaN wins")                                     \
    X(mul,          POINTWISE, "(Value self, Value other)", 1, i_binary, e_mul, none, g_mul, none, "*",            \
      DYNC__OP_CHEAP | DYNC__OP_ARITH, -1, "self * other")                                                         \
    X(ne,           POINTWISE, "(Value self, Value other)", 1, i_binary, e_ne, none, none, none, "!=",             \
      DYNC__OP_NONDIFF | DYNC__OP_BOOL_OUT | DYNC__OP_CHEAP, -1, "self != other, as bool")                         \
    X(pow,          POINTWISE, "(Value self, Value other)", 1, i_pow,    e_pow, none, g_pow, none, "**",           \
      DYNC__OP_FIXED_NUMBERS, -1, "self to the power other")                                                       \
    X(remainder,    POINTWISE, "(Value self, Value other)", 1, i_divide, e_remainder, none, g_remainder, none,     \
      "torch.remainder", DYNC__OP_DIVIDES, -1, "Python's remainder: the sign of other")                            \
    X(sub,          POINTWISE, "(Value self, Value other)", 1, i_binary, e_sub, none, g_sub, none, "-",            \
      DYNC__OP_CHEAP | DYNC__OP_ARITH, -1, "self - other; not of bools")
/* clang-format on */

/* clang-format off */
#define DYNC__OPS_TERNARY(X)                                                                                       \
    X(addcdiv,     POINTWISE, "(Tensor self, Tensor tensor1, Tensor tensor2, Value value)", 1, i_addc, e_addcdiv,  \
      none, g_addcdiv, none, "torch.addcdiv({0}, {1}, {2}, value={3})", DYNC__OP_FITS, -1,                         \
      "self + value * tensor1 / tensor2")                                                                          \
    X(addcmul,     POINTWISE, "(Tensor self, Tensor tensor1, Tensor tensor2, Value value)", 1, i_addc, e_addcmul,  \
      none, g_addcmul, none, "torch.addcmul({0}, {1}, {2}, value={3})", DYNC__OP_CHEAP | DYNC__OP_FITS, -1,        \
      "self + value * tensor1 * tensor2")                                                                          \
    X(clamp,       POINTWISE, "(Tensor self, Value? low, Value? high)", 1, i_clamp, e_clamp, none, g_clamp, none,  \
      "torch.clamp", DYNC__OP_CHEAP | DYNC__OP_FITS | DYNC__OP_BOUNDS, -1,                                         \
      "self held between low and high; DYNC_NONE leaves a side open")                                              \
    X(lerp,        POINTWISE, "(Tensor self, Tensor end, Value weight)", 1, i_lerp, e_lerp, none, g_lerp, none,    \
      "torch.lerp", DYNC__OP_CHEAP, -1, "self + weight * (end - self)")                                            \
    X(masked_fill, POINTWISE, "(Tensor self, Tensor mask, Value value)", 1, i_masked_fill, e_masked_fill, none,    \
      g_masked_fill, none, ".masked_fill", DYNC__OP_CHEAP | DYNC__OP_FITS | DYNC__OP_MASK_1, -1,                   \
      "value where the bool mask is set, self elsewhere")                                                          \
    X(rescale,     POINTWISE, "(Tensor self, Tensor multiplier, Tensor shift)", 1, i_rescale, e_rescale, none, none, \
      none, "(({0}.long() * {1} + ((1 << {2}.long()) >> 1)) >> {2}).int()", DYNC__OP_NONDIFF, -1,                    \
      "self * multiplier / 2^shift, rounded, halves up: TOSA's RESCALE; I32, shift 0 to 62")                        \
    X(where,       POINTWISE, "(Tensor condition, Value self, Value other)", 1, i_where, e_where, none, g_where,   \
      none, "torch.where", DYNC__OP_CHEAP | DYNC__OP_FITS | DYNC__OP_MASK_0, -1,                                   \
      "self where the condition holds, other elsewhere")
/* clang-format on */

/* clang-format off */
#define DYNC__OPS_UNARY(X)                                                                                           \
    X(abs,         POINTWISE, "(Tensor self)", 1, i_unary, e_abs, none, g_abs, none, "torch.abs", DYNC__OP_CHEAP,    \
      -1, "absolute value")                                                                                          \
    X(acos,        POINTWISE, "(Tensor self)", 1, i_unary, e_acos, none, g_acos, none, "torch.acos", DYNC__OP_FLOAT, \
      -1, "inverse cosine")                                                                                          \
    X(acosh,       POINTWISE, "(Tensor self)", 1, i_unary, e_acosh, none, g_acosh, none, "torch.acosh",            \
      DYNC__OP_FLOAT, -1, "inverse hyperbolic cosine")                                                             \
    X(asin,        POINTWISE, "(Tensor self)", 1, i_unary, e_asin, none, g_asin, none, "torch.asin", DYNC__OP_FLOAT, \
      -1, "inverse sine")                                                                                            \
    X(asinh,       POINTWISE, "(Tensor self)", 1, i_unary, e_asinh, none, g_asinh, none, "torch.asinh",            \
      DYNC__OP_FLOAT, -1, "inverse hyperbolic sine")                                                               \
    X(atan,        POINTWISE, "(Tensor self)", 1, i_unary, e_atan, none, g_atan, none, "torch.atan", DYNC__OP_FLOAT, \
      -1, "inverse tangent")                                                                                         \
    X(atanh,       POINTWISE, "(Tensor self)", 1, i_unary, e_atanh, none, g_atanh, none, "torch.atanh",            \
      DYNC__OP_FLOAT, -1, "inverse hyperbolic tangent")                                                            \
    X(bitwise_not, POINTWISE, "(Tensor self)", 1, i_bitwise, e_bitwise_not, none, none, none, "torch.bitwise_not",   \
      DYNC__OP_NONDIFF | DYNC__OP_CHEAP, -1, "every bit inverted; logical not of bools")                             \
    X(ceil,        POINTWISE, "(Tensor self)", 1, i_unary, e_ceil, none, g_zero, none, "torch.ceil", DYNC__OP_CHEAP, \
      -1, "rounded towards plus infinity")                                                                           \
    X(cos,         POINTWISE, "(Tensor self)", 1, i_unary, e_cos, none, g_cos, none, "torch.cos", DYNC__OP_FLOAT,    \
      -1, "cosine")                                                                                                  \
    X(cosh,        POINTWISE, "(Tensor self)", 1, i_unary, e_cosh, none, g_cosh, none, "torch.cosh", DYNC__OP_FLOAT, \
      -1, "hyperbolic cosine")                                                                                       \
    X(elu,         POINTWISE, "(Tensor self, float alpha)", 1, i_float_unary, e_elu, none, g_elu, none,              \
      "torch.nn.functional.elu", 0, -1, "self where positive, else alpha * (exp(self) - 1)")                         \
    X(erf,         POINTWISE, "(Tensor self)", 1, i_unary, e_erf, none, g_erf, none, "torch.erf", DYNC__OP_FLOAT,    \
      -1, "error function")                                                                                          \
    X(erfc,        POINTWISE, "(Tensor self)", 1, i_unary, e_erfc, none, g_erfc, none, "torch.erfc", DYNC__OP_FLOAT, \
      -1, "1 - erf(self), without cancellation")                                                                     \
    X(exp,         POINTWISE, "(Tensor self)", 1, i_unary, e_exp, none, g_exp, none, "torch.exp", DYNC__OP_FLOAT,    \
      -1, "e to the power self")                                                                                     \
    X(exp2,        POINTWISE, "(Tensor self)", 1, i_unary, e_exp2, none, g_exp2, none, "torch.exp2", DYNC__OP_FLOAT, \
      -1, "2 to the power self")                                                                                     \
    X(expm1,       POINTWISE, "(Tensor self)", 1, i_unary, e_expm1, none, g_expm1, none, "torch.expm1",              \
      DYNC__OP_FLOAT, -1, "exp(self) - 1, without cancellation")                                                     \
    X(floor,       POINTWISE, "(Tensor self)", 1, i_unary, e_floor, none, g_zero, none, "torch.floor",               \
      DYNC__OP_CHEAP, -1, "rounded towards minus infinity")                                                          \
    X(frac,        POINTWISE, "(Tensor self)", 1, i_float_unary, e_frac, none, g_frac, none, "torch.frac",           \
      DYNC__OP_CHEAP, -1, "self - trunc(self)")                                                                      \
    X(gelu,        POINTWISE, "(Tensor self)", 1, i_float_unary, e_gelu, none, g_gelu, none,                         \
      "torch.nn.functional.gelu", 0, -1, "self * Phi(self), Phi the normal distribution by erf")                     \
    X(gelu_tanh,   POINTWISE, "(Tensor self)", 1, i_float_unary, e_gelu_tanh, none, g_gelu_tanh, none,               \
      "torch.nn.functional.gelu({0}, approximate='tanh')", 0, -1, "gelu with Phi approximated by tanh")              \
    X(hardtanh,    POINTWISE, "(Tensor self, float low, float high)", 1, i_hardtanh, e_hardtanh, none, g_hardtanh,   \
      none, "torch.nn.functional.hardtanh", DYNC__OP_CHEAP | DYNC__OP_BOUNDS, -1, "self held between low and high")  \
    X(isfinite,    POINTWISE, "(Tensor self)", 1, i_unary, e_isfinite, none, none, none, "torch.isfinite",           \
      DYNC__OP_NONDIFF | DYNC__OP_BOOL_OUT | DYNC__OP_CHEAP, -1, "neither infinite nor NaN, as bool")                \
    X(isinf,       POINTWISE, "(Tensor self)", 1, i_unary, e_isinf, none, none, none, "torch.isinf",                 \
      DYNC__OP_NONDIFF | DYNC__OP_BOOL_OUT | DYNC__OP_CHEAP, -1, "plus or minus infinity, as bool")                  \
    X(isnan,       POINTWISE, "(Tensor self)", 1, i_unary, e_isnan, none, none, none, "torch.isnan",                 \
      DYNC__OP_NONDIFF | DYNC__OP_BOOL_OUT | DYNC__OP_CHEAP, -1, "NaN, as bool")                                     \
    X(leaky_relu,  POINTWISE, "(Tensor self, float negative_slope)", 1, i_float_unary, e_leaky_relu, none,           \
      g_leaky_relu, none, "torch.nn.functional.leaky_relu", DYNC__OP_CHEAP, -1,                                      \
      "self where positive, else negative_slope * self")                                                             \
    X(log,         POINTWISE, "(Tensor self)", 1, i_unary, e_log, none, g_log, none, "torch.log", DYNC__OP_FLOAT,    \
      -1, "natural logarithm")                                                                                       \
    X(log10,       POINTWISE, "(Tensor self)", 1, i_unary, e_log10, none, g_log10, none, "torch.log10",              \
      DYNC__OP_FLOAT, -1, "logarithm to base 10")                                                                    \
    X(log1p,       POINTWISE, "(Tensor self)", 1, i_unary, e_log1p, none, g_log1p, none, "torch.log1p",              \
      DYNC__OP_FLOAT, -1, "log(1 + self), without cancellation")                                                     \
    X(log2,        POINTWISE, "(Tensor self)", 1, i_unary, e_log2, none, g_log2, none, "torch.log2", DYNC__OP_FLOAT, \
      -1, "logarithm to base 2")                                                                                     \
    X(logical_not, POINTWISE, "(Tensor self)", 1, i_unary, e_logical_not, none, none, none, "torch.logical_not",     \
      DYNC__OP_NONDIFF | DYNC__OP_BOOL_OUT | DYNC__OP_CHEAP, -1, "self is zero, as bool")                            \
    X(logsigmoid,  POINTWISE, "(Tensor self)", 1, i_float_unary, e_logsigmoid, none, g_logsigmoid, none,             \
      "torch.nn.functional.logsigmoid", 0, -1, "log(sigmoid(self)), without overflow")                               \
    X(mish,        POINTWISE, "(Tensor self)", 1, i_float_unary, e_mish, none, g_mish, none,                         \
      "torch.nn.functional.mish", 0, -1, "self * tanh(softplus(self))")                                              \
    X(neg,         POINTWISE, "(Tensor self)", 1, i_unary, e_neg, none, g_neg, none, "-", DYNC__OP_CHEAP, -1,        \
      "-self")                                                                                                       \
    X(reciprocal,  POINTWISE, "(Tensor self)", 1, i_unary, e_reciprocal, none, g_reciprocal, none,                   \
      "torch.reciprocal", DYNC__OP_FLOAT | DYNC__OP_CHEAP, -1, "1 / self")                                           \
    X(relu,        POINTWISE, "(Tensor self)", 1, i_unary, e_relu, none, g_relu, none, "torch.relu", DYNC__OP_CHEAP, \
      -1, "max(self, 0)")                                                                                            \
    X(relu6,       POINTWISE, "(Tensor self)", 1, i_unary, e_relu6, none, none, d_relu6,                             \
      "torch.nn.functional.relu6", DYNC__OP_CHEAP, -1, "min(max(self, 0), 6)")                                       \
    X(round,       POINTWISE, "(Tensor self)", 1, i_unary, e_round, none, g_zero, none, "torch.round",               \
      DYNC__OP_CHEAP, -1, "to the nearest integer, halves to even")                                                  \
    X(rsqrt,       POINTWISE, "(Tensor self)", 1, i_unary, e_rsqrt, none, g_rsqrt, none, "torch.rsqrt",              \
      DYNC__OP_FLOAT, -1, "1 / sqrt(self)")                                                                          \
    X(sgn,         POINTWISE, "(Tensor self)", 1, i_unary, e_sgn, none, g_zero, none, "torch.sgn", DYNC__OP_CHEAP,   \
      -1, "-1, 0 or 1")                                                                                              \
    X(sigmoid,     POINTWISE, "(Tensor self)", 1, i_unary, e_sigmoid, none, g_sigmoid, none, "torch.sigmoid",        \
      DYNC__OP_FLOAT, -1, "1 / (1 + exp(-self))")                                                                    \
    X(sign,        POINTWISE, "(Tensor self)", 1, i_unary, e_sgn, none, g_zero, none, "torch.sign", DYNC__OP_CHEAP,  \
      -1, "-1, 0 or 1")                                                                                              \
    X(silu,        POINTWISE, "(Tensor self)", 1, i_float_unary, e_silu, none, g_silu, none,                         \
      "torch.nn.functional.silu", 0, -1, "self * sigmoid(self)")                                                     \
    X(sin,         POINTWISE, "(Tensor self)", 1, i_unary, e_sin, none, g_sin, none, "torch.sin", DYNC__OP_FLOAT,    \
      -1, "sine")                                                                                                    \
    X(sinh,        POINTWISE, "(Tensor self)", 1, i_unary, e_sinh, none, g_sinh, none, "torch.sinh", DYNC__OP_FLOAT, \
      -1, "hyperbolic sine")                                                                                         \
    X(softplus,    POINTWISE, "(Tensor self)", 1, i_float_unary, e_softplus, none, g_softplus, none,                 \
      "torch.nn.functional.softplus", 0, -1, "log(1 + exp(self)); self itself above 20")                             \
    X(sqrt,        POINTWISE, "(Tensor self)", 1, i_unary, e_sqrt, none, g_sqrt, none, "torch.sqrt",                 \
      DYNC__OP_FLOAT | DYNC__OP_CHEAP, -1, "square root")                                                            \
    X(square,      POINTWISE, "(Tensor self)", 1, i_unary, e_square, none, g_square, none, "torch.square",           \
      DYNC__OP_CHEAP, -1, "self * self")                                                                             \
    X(tan,         POINTWISE, "(Tensor self)", 1, i_unary, e_tan, none, g_tan, none, "torch.tan", DYNC__OP_FLOAT,    \
      -1, "tangent")                                                                                                 \
    X(tanh,        POINTWISE, "(Tensor self)", 1, i_unary, e_tanh, none, g_tanh, none, "torch.tanh", DYNC__OP_FLOAT, \
      -1, "hyperbolic tangent")                                                                                      \
    X(trunc,       POINTWISE, "(Tensor self)", 1, i_unary, e_trunc, none, g_zero, none, "torch.trunc",               \
      DYNC__OP_CHEAP, -1, "rounded towards zero")
/* clang-format on */

/* In place: the functional row gives the value; self keeps its dtype and shape. */
/* clang-format off */
#define DYNC__OPS_INPLACE(X)                                                                                          \
    X(abs_,         INPLACE, "(Tensor self)", 1, i_inplace, none, none, none, none, ".abs_", 0, DYNC__OP_abs,         \
      "absolute value")                                                                                               \
    X(add_,         INPLACE, "(Tensor self, Value other)", 1, i_inplace, none, none, none, none, ".add_", 0,          \
      DYNC__OP_add, "adds other into self; self keeps its dtype")                                                     \
    X(addcdiv_,     INPLACE, "(Tensor self, Tensor tensor1, Tensor tensor2, Value value)", 1, i_inplace, none, none,  \
      none, none, ".addcdiv_({1}, {2}, value={3})", 0, DYNC__OP_addcdiv, "adds value * tensor1 / tensor2")            \
    X(addcmul_,     INPLACE, "(Tensor self, Tensor tensor1, Tensor tensor2, Value value)", 1, i_inplace, none, none,  \
      none, none, ".addcmul_({1}, {2}, value={3})", 0, DYNC__OP_addcmul, "adds value * tensor1 * tensor2")            \
    X(ceil_,        INPLACE, "(Tensor self)", 1, i_inplace, none, none, none, none, ".ceil_", 0, DYNC__OP_ceil,       \
      "rounds towards plus infinity")                                                                                 \
    X(clamp_,       INPLACE, "(Tensor self, Value? low, Value? high)", 1, i_inplace, none, none, none, none,          \
      ".clamp_", 0, DYNC__OP_clamp, "holds self between low and high")                                                \
    X(copy_,        INPLACE, "(Tensor self, Value src)", 1, i_inplace, none, none, none, none, ".copy_", 0,           \
      DYNC__OP_copy, "writes src, broadcast and cast, over self")                                                     \
    X(cos_,         INPLACE, "(Tensor self)", 1, i_inplace, none, none, none, none, ".cos_", 0, DYNC__OP_cos,         \
      "cosine")                                                                                                       \
    X(div_,         INPLACE, "(Tensor self, Value other)", 1, i_inplace, none, none, none, none, ".div_", 0,          \
      DYNC__OP_div, "divides self by other")                                                                          \
    X(exp_,         INPLACE, "(Tensor self)", 1, i_inplace, none, none, none, none, ".exp_", 0, DYNC__OP_exp,         \
      "e to the power self")                                                                                          \
    X(fill_,        INPLACE, "(Tensor self, Value value)", 1, i_inplace, none, none, none, none, ".fill_", 0,         \
      DYNC__OP_fill, "writes one number everywhere")                                                                  \
    X(floor_,       INPLACE, "(Tensor self)", 1, i_inplace, none, none, none, none, ".floor_", 0, DYNC__OP_floor,     \
      "rounds towards minus infinity")                                                                                \
    X(index_add_,   INPLACE, "(Tensor self, int dim, Tensor index, Tensor source)", 1, i_inplace, none, none, none,   \
      none, ".index_add_", 0, DYNC__OP_index_add, "adds rows of source into the rows that index names")               \
    X(lerp_,        INPLACE, "(Tensor self, Tensor end, Value weight)", 1, i_inplace, none, none, none, none,         \
      ".lerp_", 0, DYNC__OP_lerp, "moves self towards end")                                                           \
    X(log_,         INPLACE, "(Tensor self)", 1, i_inplace, none, none, none, none, ".log_", 0, DYNC__OP_log,         \
      "natural logarithm")                                                                                            \
    X(masked_fill_, INPLACE, "(Tensor self, Tensor mask, Value value)", 1, i_inplace, none, none, none, none,         \
      ".masked_fill_", 0, DYNC__OP_masked_fill, "writes value where the mask is set")                                 \
    X(mul_,         INPLACE, "(Tensor self, Value other)", 1, i_inplace, none, none, none, none, ".mul_", 0,          \
      DYNC__OP_mul, "multiplies self by other")                                                                       \
    X(neg_,         INPLACE, "(Tensor self)", 1, i_inplace, none, none, none, none, ".neg_", 0, DYNC__OP_neg,         \
      "negates self")                                                                                                 \
    X(normal_,      INPLACE, "(Tensor self, float mean, float std)", 1, i_inplace, none, none, none, none,            \
      ".normal_", DYNC__OP_RANDOM, DYNC__OP_normal, "draws from the normal distribution")                             \
    X(pow_,         INPLACE, "(Tensor self, Value exponent)", 1, i_inplace, none, none, none, none, ".pow_", 0,       \
      DYNC__OP_pow, "raises self to a power")                                                                         \
    X(relu_,        INPLACE, "(Tensor self)", 1, i_inplace, none, none, none, none, ".relu_", 0, DYNC__OP_relu,       \
      "max(self, 0)")                                                                                                 \
    X(round_,       INPLACE, "(Tensor self)", 1, i_inplace, none, none, none, none, ".round_", 0, DYNC__OP_round,     \
      "rounds to the nearest integer, halves to even")                                                                \
    X(scatter_,     INPLACE, "(Tensor self, int dim, Tensor index, Value src)", 1, i_inplace, none, none, none,       \
      none, ".scatter_", 0, DYNC__OP_scatter, "writes src to the places that index names")                            \
    X(scatter_add_, INPLACE, "(Tensor self, int dim, Tensor index, Tensor src)", 1, i_inplace, none, none, none,      \
      none, ".scatter_add_", 0, DYNC__OP_scatter_add, "adds src at the places that index names")                      \
    X(sigmoid_,     INPLACE, "(Tensor self)", 1, i_inplace, none, none, none, none, ".sigmoid_", 0, DYNC__OP_sigmoid, \
      "1 / (1 + exp(-self))")                                                                                         \
    X(sin_,         INPLACE, "(Tensor self)", 1, i_inplace, none, none, none, none, ".sin_", 0, DYNC__OP_sin, "sine") \
    X(sqrt_,        INPLACE, "(Tensor self)", 1, i_inplace, none, none, none, none, ".sqrt_", 0, DYNC__OP_sqrt,       \
      "square root")                                                                                                  \
    X(sub_,         INPLACE, "(Tensor self, Value other)", 1, i_inplace, none, none, none, none, ".sub_", 0,          \
      DYNC__OP_sub, "subtracts other from self")                                                                      \
    X(tanh_,        INPLACE, "(Tensor self)", 1, i_inplace, none, none, none, none, ".tanh_", 0, DYNC__OP_tanh,       \
      "hyperbolic tangent")                                                                                           \
    X(trunc_,       INPLACE, "(Tensor self)", 1, i_inplace, none, none, none, none, ".trunc_", 0, DYNC__OP_trunc,     \
      "rounds towards zero")                                                                                          \
    X(uniform_,     INPLACE, "(Tensor self, float from, float to)", 1, i_inplace, none, none, none, none,             \
      ".uniform_", DYNC__OP_RANDOM, DYNC__OP_uniform, "draws from [from, to)")                                        \
    X(zero_,        INPLACE, "(Tensor self)", 1, i_inplace, none, none, none, none, ".zero_", 0, DYNC__OP_zeros_like, \
      "writes zero everywhere")
/* clang-format on */

/* What has no operand, or only one whose form it takes. The private ones are reached by the option
 * structs of api/tensor.h. */
/* clang-format off */
#define DYNC__OPS_FACTORY(X)                                                                                         \
    X(arange,     FACTORY, "(Value start, Value end, Value step, Dtype dtype, Device device)", 1, i_arange, none,    \
      l_arange, none, none, "torch.arange({0}, {1}, {2}, dtype={3}, device={4})",                                    \
      DYNC__OP_NONDIFF | DYNC__OP_PRIVATE | DYNC__OP_FILE, -1, "start, start + step, ... below end")                 \
    X(copy,       POINTWISE, "(Tensor self, Value src)", 1, i_like_self, e_copy, none, g_copy, none,                 \
      "torch.ops.aten.copy", DYNC__OP_PRIVATE | DYNC__OP_FILE | DYNC__OP_CHEAP, -1,                                  \
      "src, broadcast and cast to the form of self")                                                                 \
    X(empty,      FACTORY, "(Dims size, Dtype dtype, Device device)", 1, i_factory, none, l_nothing, none, none,     \
      "torch.empty({0}, dtype={1}, device={2})", DYNC__OP_NONDIFF | DYNC__OP_PRIVATE | DYNC__OP_FILE, -1,            \
      "uninitialised elements")                                                                                      \
    X(empty_like, FACTORY, "(Tensor self)", 1, i_like, none, l_nothing, none, none, "torch.empty_like",              \
      DYNC__OP_NONDIFF, -1, "uninitialised elements in the form of self")                                            \
    X(eye,        FACTORY, "(int64 n, int64 m, Dtype dtype, Device device)", 1, i_eye, none, l_eye, none, none,      \
      "torch.eye({0}, {1}, dtype={2}, device={3})", DYNC__OP_NONDIFF, -1, "n by m, ones on the diagonal")            \
    X(fill,       POINTWISE, "(Tensor self, Value value)", 1, i_fill, e_copy, none, g_copy, none, "torch.fill",      \
      DYNC__OP_PRIVATE | DYNC__OP_FILE | DYNC__OP_CHEAP | DYNC__OP_FITS, -1, "one number in the form of self")       \
    X(full,       FACTORY, "(Dims size, Value fill_value, Dtype dtype, Device device)", 1, i_full, none, l_full,     \
      none, none, "torch.full({0}, {1}, dtype={2}, device={3})", DYNC__OP_NONDIFF | DYNC__OP_PRIVATE |               \
      DYNC__OP_FILE | DYNC__OP_FITS, -1, "one number everywhere")                                                    \
    X(full_like,  FACTORY, "(Tensor self, Value fill_value)", 1, i_full_like, none, l_full, none, none,              \
      "torch.full_like", DYNC__OP_NONDIFF | DYNC__OP_FITS, -1, "one number everywhere, in the form of self")         \
    X(normal,     FACTORY, "(Tensor self, float mean, float std)", 1, i_like, none, l_random, none, none,            \
      "torch.ops.aten.normal_functional", DYNC__OP_NONDIFF | DYNC__OP_RANDOM | DYNC__OP_PRIVATE, -1,                 \
      "normal numbers in the form of self")                                                                          \
    X(ones,       FACTORY, "(Dims size, Dtype dtype, Device device)", 1, i_factory, none, l_full, none, none,        \
      "torch.ones({0}, dtype={1}, device={2})", DYNC__OP_NONDIFF | DYNC__OP_PRIVATE | DYNC__OP_FILE, -1, "all ones") \
    X(ones_like,  FACTORY, "(Tensor self)", 1, i_like, none, l_full, none, none, "torch.ones_like",                  \
      DYNC__OP_NONDIFF, -1, "all ones, in the form of self")                                                         \
    X(rand,       FACTORY, "(Dims size, Dtype dtype, Device device)", 1, i_factory, none, l_random, none, none,      \
      "torch.rand({0}, dtype={1}, device={2})",                                                                      \
      DYNC__OP_NONDIFF | DYNC__OP_RANDOM | DYNC__OP_PRIVATE | DYNC__OP_FILE, -1, "uniform in [0, 1)")                \
    X(rand_like,  FACTORY, "(Tensor self)", 1, i_like, none, l_random, none, none, "torch.rand_like",                \
      DYNC__OP_NONDIFF | DYNC__OP_RANDOM, -1, "uniform in [0, 1), in the form of self")                              \
    X(randn,      FACTORY, "(Dims size, Dtype dtype, Device device)", 1, i_factory, none, l_random, none, none,      \
      "torch.randn({0}, dtype={1}, device={2})",                                                                     \
      DYNC__OP_NONDIFF | DYNC__OP_RANDOM | DYNC__OP_PRIVATE | DYNC__OP_FILE, -1, "standard normal")                  \
    X(randn_like, FACTORY, "(Tensor self)", 1, i_like, none, l_random, none, none, "torch.randn_like",               \
      DYNC__OP_NONDIFF | DYNC__OP_RANDOM, -1, "standard normal, in the form of self")                                \
    X(uniform,    FACTORY, "(Tensor self, float from, float to)", 1, i_like, none, l_random, none, none,             \
      "torch.ops.aten.uniform", DYNC__OP_NONDIFF | DYNC__OP_RANDOM | DYNC__OP_PRIVATE, -1,                           \
      "uniform in [from, to), in the form of self")                                                                  \
    X(zeros,      FACTORY, "(Dims size, Dtype dtype, Device device)", 1, i_factory, none, l_full, none, none,        \
      "torch.zeros({0}, dtype={1}, device={2})", DYNC__OP_NONDIFF | DYNC__OP_PRIVATE | DYNC__OP_FILE, -1,            \
      "all zeros")                                                                                                   \
    X(zeros_like, FACTORY, "(Tensor self)", 1, i_like, none, l_full, none, none, "torch.zeros_like",                 \
      DYNC__OP_NONDIFF, -1, "all zeros, in the form of self")
/* clang-format on */

/* clang-format off */
#define DYNC__OPS_REDUCE(X)                                                                                          \
    X(all,         REDUCE, "(Tensor self, Dims dim, bool keepdim)", 1, i_reduce, none, l_all, none, none,            \
      "torch.all", DYNC__OP_NONDIFF | DYNC__OP_BOOL_OUT, -1, "no element is zero, as bool")                          \
    X(amax,        REDUCE, "(Tensor self, Dims dim, bool keepdim)", 1, i_reduce, none, l_amax, g_amax, none,         \
      "torch.amax", 0, -1, "the largest element; the gradient is shared by equal ones")                              \
    X(amin,        REDUCE, "(Tensor self, Dims dim, bool keepdim)", 1, i_reduce, none, l_amin, g_amax, none,         \
      "torch.amin", 0, -1, "the smallest element; the gradient is shared by equal ones")                             \
    X(any,         REDUCE, "(Tensor self, Dims dim, bool keepdim)", 1, i_reduce, none, l_any, none, none,            \
      "torch.any", DYNC__OP_NONDIFF | DYNC__OP_BOOL_OUT, -1, "some element is not zero, as bool")                    \
    X(argmax,      REDUCE, "(Tensor self, int dim, bool keepdim)", 1, i_arg_reduce, none, l_argmax, none, none,      \
      "torch.argmax", DYNC__OP_NONDIFF, -1, "the place of the first largest element along dim, int64")               \
    X(argmin,      REDUCE, "(Tensor self, int dim, bool keepdim)", 1, i_arg_reduce, none, l_argmin, none, none,      \
      "torch.argmin", DYNC__OP_NONDIFF, -1, "the place of the first smallest element along dim, int64")              \
    X(cumsum,      KERNEL, "(Tensor self, int dim)", 1, i_cumsum, none, l_cumsum, g_cumsum, none, "torch.cumsum",    \
      DYNC__OP_KEEP_INT, -1, "running sums along dim")                                                               \
    X(log_softmax, KERNEL, "(Tensor self, int dim)", 1, i_softmax, none, l_softmax, g_log_softmax, none,             \
      "torch.log_softmax", 0, -1, "self - log(sum(exp(self))) along dim, without overflow")                          \
    X(logsumexp,   REDUCE, "(Tensor self, Dims dim, bool keepdim)", 1, i_reduce, none, l_logsumexp, g_logsumexp,     \
      none, "torch.logsumexp({0}, {1}, {2})", DYNC__OP_FLOAT, -1, "log(sum(exp(self))), without overflow")           \
    X(max,         COMPOSITE, "(Tensor self)", 1, i_composite, none, none, g_max, d_max, "torch.max", 0, -1,         \
      "the largest of all elements; the gradient is shared by equal ones")                                           \
    X(max_dim,     REDUCE, "(Tensor self, int dim, bool keepdim)", 2, i_max_dim, none, l_max_dim, g_max_dim, none,   \
      "torch.max", 0, -1, "the largest elements along dim and their places")                                         \
    X(mean,        REDUCE, "(Tensor self, Dims dim, bool keepdim)", 1, i_reduce, none, l_mean, g_mean, none,         \
      "torch.mean", 0, -1, "the mean; floating point only")                                                          \
    X(min,         COMPOSITE, "(Tensor self)", 1, i_composite, none, none, g_max, d_min, "torch.min", 0, -1,         \
      "the smallest of all elements; the gradient is shared by equal ones")                                          \
    X(min_dim,     REDUCE, "(Tensor self, int dim, bool keepdim)", 2, i_max_dim, none, l_min_dim, g_max_dim, none,   \
      "torch.min", 0, -1, "the smallest elements along dim and their places")                                        \
    X(norm,        COMPOSITE, "(Tensor self, Value p, Dims dim, bool keepdim)", 1, i_norm, none, none, none, d_norm, \
      "torch.norm", 0, -1, "the p-norm: sum(abs(self) ** p) ** (1 / p)")                                             \
    X(prod,        REDUCE, "(Tensor self, Dims dim, bool keepdim)", 1, i_reduce, none, l_prod, g_prod, none,         \
      "torch.prod", DYNC__OP_KEEP_INT, -1, "the product; integers give int64")                                       \
    X(softmax,     KERNEL, "(Tensor self, int dim)", 1, i_softmax, none, l_softmax, g_softmax, none,                 \
      "torch.softmax", 0, -1, "exp(self - max) / sum of the same, along dim")                                        \
    X(std,         REDUCE, "(Tensor self, Dims dim, int correction, bool keepdim)", 1, i_var, none, l_var, g_std,    \
      none, "torch.std({0}, {1}, correction={2}, keepdim={3})", 0, -1,                                               \
      "standard deviation; correction 1 divides by n - 1")                                                           \
    X(sum,         REDUCE, "(Tensor self, Dims dim, bool keepdim)", 1, i_reduce, none, l_sum, g_sum, none,           \
      "torch.sum", DYNC__OP_KEEP_INT, -1, "the sum; integers give int64")                                            \
    X(var,         REDUCE, "(Tensor self, Dims dim, int correction, bool keepdim)", 1, i_var, none, l_var, g_var,    \
      none, "torch.var({0}, {1}, correction={2}, keepdim={3})", 0, -1, "variance; correction 1 divides by n - 1")
/* clang-format on */

/* clang-format off */
#define DYNC__OPS_LINALG(X)                                                                                         \
    X(addmm,  KERNEL, "(Tensor self, Tensor mat1, Tensor mat2)", 1, i_addmm, none, l_addmm, g_addmm, none,          \
      "torch.addmm", DYNC__OP_WORK_ADDMM, -1, "self + mat1 @ mat2; self is broadcast")                              \
    X(bmm,    KERNEL, "(Tensor self, Tensor mat2)", 1, i_bmm, none, l_matmul, g_bmm, none, "torch.bmm",             \
      DYNC__OP_WORK_PRODUCT, -1, "a batch of matrix products: [B, M, K] @ [B, K, N]")                               \
    X(dot,    KERNEL, "(Tensor self, Tensor tensor)", 1, i_dot, none, l_dot, g_dot, none, "torch.dot", 0, -1,       \
      "the scalar product of two vectors")                                                                          \
    X(int_mm, KERNEL, "(Tensor self, Tensor mat2)", 1, i_int_mm, none, l_matmul, none, none, "torch._int_mm",       \
      DYNC__OP_NONDIFF | DYNC__OP_WORK_PRODUCT, -1,                                                                 \
      "matrix product of [M, K] and [K, N] of I8 with sums in I32, for quantised weights. "                          \
      "Compiled, the cast, scales and bias behind it run on " "rows in the cache")                                   \
    X(linear, COMPOSITE, "(Tensor input, Tensor weight, Tensor? bias)", 1, i_linear, none, none, none, d_linear,    \
      "torch.nn.functional.linear", DYNC__OP_WORK_PRODUCT, -1, "input @ weight^T + bias, over any leading dims")    \
    X(matmul, COMPOSITE, "(Tensor self, Tensor other)", 1, i_matmul, none, none, none, d_matmul, "@",               \
      DYNC__OP_WORK_PRODUCT, -1, "matrix product of vectors, matrices and batches of them, broadcast")              \
    X(mm,     KERNEL, "(Tensor self, Tensor mat2)", 1, i_mm, none, l_matmul, g_mm, none, "torch.mm",                \
      DYNC__OP_WORK_PRODUCT, -1, "matrix product of [M, K] and [K, N]")                                             \
    X(mv,     KERNEL, "(Tensor self, Tensor vec)", 1, i_mv, none, l_matmul, g_mv, none, "torch.mv",                 \
      DYNC__OP_WORK_PRODUCT, -1, "matrix times vector")                                                             \
    X(outer,  COMPOSITE, "(Tensor self, Tensor vec2)", 1, i_outer, none, none, none, d_outer, "torch.outer", 0, -1, \
      "all products of two vectors' elements")                                                                      \
    X(bernoulli, COMPOSITE, "(Tensor self)", 1, i_composite, none, none, none, d_bernoulli, "torch.bernoulli",      \
      DYNC__OP_NONDIFF | DYNC__OP_RANDOM, -1, "1 with the probability that self gives, else 0")                     \
    X(count_nonzero, COMPOSITE, "(Tensor self, Dims dim)", 1, i_composite, none, none, none, d_count_nonzero,       \
      "torch.count_nonzero", DYNC__OP_NONDIFF, -1, "how many elements are not zero along dim, int64")               \
    X(isclose, COMPOSITE, "(Tensor self, Tensor other, float rtol, float atol, bool equal_nan)", 1, i_composite,    \
      none, none, none, d_isclose, "torch.isclose", DYNC__OP_NONDIFF, -1,                                           \
      "abs(self - other) <= atol + rtol * abs(other), as bool")                                                     \
    X(logaddexp, POINTWISE, "(Tensor self, Tensor other)", 1, i_floating_binary, e_logaddexp, none, g_logaddexp,    \
      none, "torch.logaddexp", 0, -1, "log(exp(self) + exp(other)), without overflow")                              \
    X(nan_to_num, COMPOSITE, "(Tensor self, Value? nan, Value? posinf, Value? neginf)", 1, i_composite, none, none, \
      none, d_nan_to_num, "torch.nan_to_num", 0, -1,                                                                \
      "NaN as nan (none: 0), infinities as posinf and neginf (none: the largest numbers of the dtype)")             \
    X(xlogy, COMPOSITE, "(Tensor self, Tensor other)", 1, i_composite, none, none, g_xlogy, d_xlogy, "torch.xlogy", 0, \
      -1, "self * log(other); 0 where self is 0")                                                                   \
    X(cosine_similarity, COMPOSITE, "(Tensor x1, Tensor x2, int dim, float eps)", 1, i_composite, none, none, none, \
      d_cosine_similarity, "torch.nn.functional.cosine_similarity", 0, -1,                                          \
      "the cosine of the angle between vectors along dim; lengths are held at eps from below")                      \
    X(normalize, COMPOSITE, "(Tensor self, Value p, int dim, float eps)", 1, i_composite, none, none, none,         \
      d_normalize, "torch.nn.functional.normalize", 0, -1,                                                          \
      "self over its p-norm along dim, which is held at eps from below")                                            \
    X(addmv, COMPOSITE, "(Tensor self, Tensor mat, Tensor vec)", 1, i_composite, none, none, none, d_addmv,         \
      "torch.addmv", 0, -1, "self + mat @ vec; self is broadcast")                                                  \
    X(baddbmm, COMPOSITE, "(Tensor self, Tensor batch1, Tensor batch2)", 1, i_composite, none, none, none,          \
      d_baddbmm, "torch.baddbmm", 0, -1, "self + batch1 @ batch2; self is broadcast")                               \
    X(einsum, COMPOSITE, "(str equation, Tensor[] operands)", 1, i_composite, none, none, none, d_einsum,           \
      "torch.einsum({0}, *{1})", 0, -1, "Einstein's sums: \"bij,bjk->bik\"; an ellipsis stands for broadcast dims") \
    X(trace, COMPOSITE, "(Tensor self)", 1, i_composite, none, none, none, d_trace, "torch.trace", 0, -1,           \
      "the sum of a matrix's diagonal")
/* clang-format on */

/* clang-format off */
#define DYNC__OPS_NN(X)                                                                                              \
    X(adaptive_avg_pool2d, COMPOSITE, "(Tensor self, Dims output_size)", 1, i_adaptive_avg_pool2d, none, none, none, \
      d_adaptive_avg_pool2d, "torch.nn.functional.adaptive_avg_pool2d", 0, -1,                                       \
      "means over tiles, so that output_size come out")                                                              \
    X(avg_pool2d, KERNEL,                                                                                            \
      "(Tensor self, Dims kernel_size, Dims stride, Dims padding, bool ceil_mode, bool " "count_include_pad)", 1,    \
      i_avg_pool2d, none, l_avg_pool2d, g_avg_pool2d, none, "torch.nn.functional.avg_pool2d", DYNC__OP_WORK_WINDOW,  \
      -1, "means over windows; an empty stride is the kernel size")                                                  \
    X(avg_pool2d_backward, KERNEL,                                                                                   \
      "(Tensor grad_output, Tensor self, Dims kernel_size, Dims stride, Dims padding, bool "                         \
      "ceil_mode, bool count_include_pad)", 1, i_avg_pool2d_backward, none, l_avg_pool2d_backward,                   \
      g_avg_pool2d_backward, none, "torch.ops.aten.avg_pool2d_backward({0}, {1}, {2}, {3}, {4}, {5}, {6}, None)",    \
      DYNC__OP_PRIVATE | DYNC__OP_FILE, -1, "gradient of avg_pool2d")                                                \
    X(batch_norm, COMPOSITE,                                                                                         \
      "(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool " "training, "   \
      "float momentum, float eps)", 1, i_batch_norm, none, none, none, d_batch_norm,                                 \
      "torch.nn.functional.batch_norm({0}, {3}, {4}, {1}, {2}, {5}, {6}, {7})", DYNC__OP_WRITES, -1,                 \
      "normalises each channel; in training the running statistics are updated")                                     \
    X(_native_batch_norm_legit_functional, COMPOSITE,                                                                \
      "(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "                                          \
      "Tensor? running_var, bool training, float momentum, float eps)", 5, i_native_batch_norm, none, none,          \
      g_native_batch_norm, d_native_batch_norm, "torch.ops.aten._native_batch_norm_legit_functional",                \
      DYNC__OP_PRIVATE | DYNC__OP_FILE, -1,                                                                          \
      "output, batch mean, 1 / sqrt(var + eps), new running mean, new running var")                                  \
    X(native_batch_norm_backward, COMPOSITE,                                                                         \
      "(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, "                                       \
      "Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, bool train, float eps)", 3,                      \
      i_native_batch_norm_backward, none, none, none, d_native_batch_norm_backward,                                  \
      "torch.ops.aten.native_batch_norm_backward({0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, "                      \
      "[True, True, True])", DYNC__OP_PRIVATE | DYNC__OP_FILE, -1, "gradients of input, weight and bias")            \
    X(conv2d, COMPOSITE,                                                                                             \
      "(Tensor input, Tensor weight, Tensor? bias, Dims stride, Dims padding, Dims dilation, int " "groups)", 1,     \
      i_conv2d, none, none, none, d_conv2d, "torch.conv2d", DYNC__OP_WORK_CONV, -1,                                  \
      "2-d cross-correlation of [N, C, H, W] or [C, H, W]")                                                          \
    X(int_conv2d, KERNEL,                                                                                            \
      "(Tensor input, Tensor weight, Tensor? bias, Dims stride, Dims padding, Dims dilation, int " "groups)", 1,     \
      i_int_conv2d, none, l_int_conv2d, none, none,                                                                  \
      "torch.nn.functional.conv2d({0}.double(), {1}.double(), {2}, {3}, {4}, {5}, {6}).int()",                       \
      DYNC__OP_NONDIFF | DYNC__OP_WORK_CONV, -1,                                                                     \
      "conv2d of [N, C, H, W] of I8 with sums and bias in I32, for quantised weights")                               \
    X(convolution, KERNEL,                                                                                           \
      "(Tensor input, Tensor weight, Tensor? bias, Dims stride, Dims padding, Dims dilation, int " "groups)", 1,     \
      i_convolution, none, l_convolution, g_convolution, none,                                                       \
      "torch.ops.aten.convolution({0}, {1}, {2}, {3}, {4}, {5}, False, [0, 0], {6})", DYNC__OP_PRIVATE |             \
      DYNC__OP_FILE | DYNC__OP_WORK_CONV, -1, "conv2d of [N, C, H, W]")                                              \
    X(convolution_backward, KERNEL,                                                                                  \
      "(Tensor grad_output, Tensor input, Tensor weight, Dims stride, Dims padding, Dims dilation, "                 \
      "int groups, bool input_mask, bool weight_mask, bool bias_mask)",                                              \
      3, i_convolution_backward, none, l_convolution_backward, g_convolution_backward, none,                         \
      "torch.ops.aten.convolution_backward({0}, {1}, {2}, [0], {3}, {4}, {5}, False, [0, 0], {6}, " "[{7}, {8}, {9}])",\
      DYNC__OP_PRIVATE | DYNC__OP_FILE | DYNC__OP_WORK_CONV_GRAD, -1,                                                \
      "gradients of input, weight and bias; one that its mask leaves out is empty")                                  \
    X(dropout, COMPOSITE, "(Tensor self, float p, bool training)", 1, i_dropout, none, none, none, d_dropout,        \
      "torch.nn.functional.dropout", DYNC__OP_RANDOM, -1,                                                            \
      "in training zero with probability p, else scaled by 1 / (1 - p)")                                             \
    X(embedding, KERNEL, "(Tensor weight, Tensor indices)", 1, i_embedding, none, l_embedding, g_embedding, none,    \
      "torch.nn.functional.embedding({1}, {0})", DYNC__OP_GATHERS | DYNC__OP_FUSES, -1,                              \
      "the rows of weight that indices name")                                                                        \
    X(embedding_dense_backward, COMPOSITE, "(Tensor grad_output, Tensor indices, int64 num_weights)", 1,             \
      i_embedding_dense_backward, none, none, none, d_embedding_dense_backward,                                      \
      "torch.ops.aten.embedding_dense_backward({0}, {1}, {2}, -1, False)", DYNC__OP_PRIVATE | DYNC__OP_FILE, -1,     \
      "gradient of embedding's weight")                                                                              \
    X(layer_norm, COMPOSITE, "(Tensor input, Dims normalized_shape, Tensor? weight, Tensor? bias, float eps)", 1,    \
      i_layer_norm, none, none, none, d_layer_norm, "torch.nn.functional.layer_norm", 0, -1,                         \
      "normalises over the trailing dims")                                                                           \
    X(native_layer_norm, KERNEL, "(Tensor input, Dims normalized_shape, Tensor? weight, Tensor? bias, float eps)",   \
      3, i_native_layer_norm, none, l_native_layer_norm, g_native_layer_norm, none, "torch.native_layer_norm",       \
      DYNC__OP_PRIVATE | DYNC__OP_FILE, -1, "output, mean and 1 / sqrt(var + eps)")                                  \
    X(max_pool2d, COMPOSITE,                                                                                         \
      "(Tensor self, Dims kernel_size, Dims stride, Dims padding, Dims dilation, bool ceil_mode)", 1, i_max_pool2d,  \
      none, none, none, d_max_pool2d, "torch.nn.functional.max_pool2d", DYNC__OP_WORK_WINDOW, -1,                    \
      "maxima of windows; an empty stride is the kernel size")                                                       \
    X(max_pool2d_with_indices, KERNEL,                                                                               \
      "(Tensor self, Dims kernel_size, Dims stride, Dims padding, Dims dilation, bool ceil_mode)", 2, i_max_pool2d,  \
      none, l_max_pool2d, g_max_pool2d, none, "torch.nn.functional.max_pool2d_with_indices", DYNC__OP_WORK_WINDOW,   \
      -1, "maxima of windows and their places in the plane")                                                         \
    X(max_pool2d_with_indices_backward, KERNEL, "(Tensor grad_output, Tensor self, Tensor indices)", 1,              \
      i_max_pool2d_backward, none, l_max_pool2d_backward, g_max_pool2d_backward, none,                               \
      "torch.ops.aten.max_pool2d_with_indices_backward", DYNC__OP_PRIVATE | DYNC__OP_FILE, -1,                       \
      "grad_output at the places that indices name, zero elsewhere")                                                 \
    X(one_hot, KERNEL, "(Tensor self, int64 num_classes)", 1, i_one_hot, none, l_one_hot, none, none,                \
      "torch.nn.functional.one_hot", DYNC__OP_NONDIFF | DYNC__OP_GATHERS | DYNC__OP_FUSES, -1,                       \
      "a new last dim with a one at the class, int64; num_classes -1: up to the largest class")                      \
    X(_scaled_dot_product_flash_attention_for_cpu, KERNEL,                                                           \
      "(Tensor query, Tensor key, Tensor value, Tensor? attn_mask, bool is_causal, " "float scale)", 2,              \
      i_flash_attention, none, l_flash_attention, g_flash_attention, d_flash_attention,                              \
      "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu({0}, {1}, {2}, 0.0, {4}, "                         \
      "attn_mask={3}, scale={5})",                                                                                   \
      DYNC__OP_PRIVATE | DYNC__OP_FILE | DYNC__OP_WORK_ATTENTION, -1,                                                \
      "attention in one pass over blocks of scores: output, logarithm of each query's sum")                          \
    X(_scaled_dot_product_flash_attention_for_cpu_backward, KERNEL,                                                  \
      "(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, "                                       \
      "Tensor logsumexp, Tensor? attn_mask, bool is_causal, float scale)", 3, i_flash_attention_backward, none,      \
      l_flash_attention_backward, none, none,                                                                        \
      "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward({0}, {1}, {2}, {3}, {4}, "                \
      "{5}, 0.0, {7}, " "attn_mask={6}, scale={8})", DYNC__OP_PRIVATE | DYNC__OP_FILE | DYNC__OP_NONDIFF, -1,        \
      "gradients of query, key and value")                                                                           \
    X(_fourier, KERNEL, "(Tensor self, int64 n, bool pairs, bool back, bool half, float scale)", 1, i_fourier, none, \
      l_fourier, g_fourier, d_fourier, "torch.ops.dync._fourier", DYNC__OP_PRIVATE | DYNC__OP_FILE, -1,              \
      "transforms of rows [rows, n (, 2)]: of pairs or real numbers, of half a spectrum or to one")                  \
    X(_rnn_layer, KERNEL,                                                                                            \
      "(Tensor input, Tensor weight_hh, Tensor? bias_hh, Tensor h0, Tensor? c0, int gates, bool "                    \
      "reverse, bool train)",                                                                                        \
      4, i_rnn_layer, none, l_rnn_layer, g_rnn_layer, d_rnn_layer, "torch.ops.dync.rnn_layer", DYNC__OP_PRIVATE |    \
      DYNC__OP_FILE | DYNC__OP_WORK_RECURRENT, -1,                                                                   \
      "all steps of a layer of LSTM (4 gates), GRU (3) or RNN (1) in one direction from the "                        \
      "input's share of the gates [L, N, gates * H]: outputs [L, N, H], the last c, and in "                         \
      "training what its gradient needs")                                                                            \
    X(_rnn_layer_backward, KERNEL,                                                                                   \
      "(Tensor? grad_output, Tensor? grad_c, Tensor weight_hh, Tensor h0, Tensor? c0, Tensor output, "               \
      "Tensor cells, Tensor gate, int gates, bool reverse)", 3, i_rnn_layer_backward, none, l_rnn_layer_backward,    \
      none, none, "torch.ops.dync.rnn_layer_backward", DYNC__OP_PRIVATE | DYNC__OP_FILE | DYNC__OP_NONDIFF, -1,      \
      "gradients of _rnn_layer's input, h0 and c0")                                                                  \
    X(sigmoid_backward, POINTWISE, "(Tensor grad_output, Tensor output)", 1, i_floating_binary, e_sigmoid_backward,  \
      none, none, d_sigmoid_backward, "torch.ops.aten.sigmoid_backward",                                             \
      DYNC__OP_PRIVATE | DYNC__OP_FILE | DYNC__OP_CHEAP, -1, "grad * output * (1 - output)")                         \
    X(tanh_backward, POINTWISE, "(Tensor grad_output, Tensor output)", 1, i_floating_binary, e_tanh_backward, none,  \
      none, d_tanh_backward, "torch.ops.aten.tanh_backward", DYNC__OP_PRIVATE | DYNC__OP_FILE | DYNC__OP_CHEAP, -1,  \
      "grad * (1 - output * output)")                                                                                \
    X(threshold_backward, POINTWISE, "(Tensor grad_output, Tensor self, Value threshold)", 1, i_binary,              \
      e_threshold_backward, none, g_threshold_backward, none, "torch.ops.aten.threshold_backward",                   \
      DYNC__OP_PRIVATE | DYNC__OP_FILE | DYNC__OP_CHEAP, -1, "grad where self > threshold, else 0")                  \
    X(celu, POINTWISE, "(Tensor self, float alpha)", 1, i_celu, e_celu, none, g_celu, none,                          \
      "torch.nn.functional.celu", 0, -1, "self where positive, else alpha * (exp(self / alpha) - 1)")                \
    X(glu, COMPOSITE, "(Tensor self, int dim)", 1, i_composite, none, none, none, d_glu, "torch.nn.functional.glu",  \
      0, -1, "the first half of dim times sigmoid of the second")                                                    \
    X(hardshrink, COMPOSITE, "(Tensor self, float lambd)", 1, i_composite, none, none, none, d_hardshrink,           \
      "torch.nn.functional.hardshrink", 0, -1, "0 where -lambd <= self <= lambd, else self")                         \
    X(hardsigmoid, POINTWISE, "(Tensor self)", 1, i_float_unary, e_hardsigmoid, none, g_hardsigmoid, none,           \
      "torch.nn.functional.hardsigmoid", 0, -1, "self + 3 held between 0 and 6, over 6")                             \
    X(hardswish, POINTWISE, "(Tensor self)", 1, i_float_unary, e_hardswish, none, g_hardswish, none,                 \
      "torch.nn.functional.hardswish", 0, -1, "self * hardsigmoid(self)")                                            \
    X(prelu, COMPOSITE, "(Tensor self, Tensor weight)", 1, i_composite, none, none, none, d_prelu,                   \
      "torch.nn.functional.prelu", 0, -1,                                                                            \
      "self where positive, else weight * self; weight: one number, or one a channel (dim 1)")                       \
    X(selu, POINTWISE, "(Tensor self)", 1, i_float_unary, e_selu, none, g_selu, none, "torch.nn.functional.selu", 0, \
      -1, "scaled elu whose fixed point has mean 0 and variance 1")                                                  \
    X(softmin, COMPOSITE, "(Tensor self, int dim)", 1, i_composite, none, none, none, d_softmin,                     \
      "torch.nn.functional.softmin", 0, -1, "softmax of -self")                                                      \
    X(softshrink, COMPOSITE, "(Tensor self, float lambd)", 1, i_composite, none, none, none, d_softshrink,           \
      "torch.nn.functional.softshrink", 0, -1, "self moved by lambd towards 0, which it does not cross")             \
    X(softsign, COMPOSITE, "(Tensor self)", 1, i_composite, none, none, none, d_softsign,                            \
      "torch.nn.functional.softsign", 0, -1, "self / (1 + abs(self))")                                               \
    X(tanhshrink, COMPOSITE, "(Tensor self)", 1, i_composite, none, none, none, d_tanhshrink,                        \
      "torch.nn.functional.tanhshrink", 0, -1, "self - tanh(self)")                                                  \
    X(threshold, COMPOSITE, "(Tensor self, float threshold, Value value)", 1, i_composite, none, none, none,         \
      d_threshold, "torch.nn.functional.threshold", 0, -1, "self where above threshold, else value")                 \
    X(conv1d, COMPOSITE,                                                                                             \
      "(Tensor input, Tensor weight, Tensor? bias, Dims stride, Dims padding, Dims dilation, int " "groups)", 1,     \
      i_composite, none, none, none, d_conv1d, "torch.conv1d", 0, -1,                                                \
      "1-d cross-correlation of [N, C, L] or [C, L]")                                                                \
    X(conv_transpose2d, COMPOSITE,                                                                                   \
      "(Tensor input, Tensor weight, Tensor? bias, Dims stride, Dims padding, Dims output_padding, int "             \
      "groups, Dims dilation)", 1, i_composite, none, none, none, d_conv_transpose2d, "torch.conv_transpose2d", 0,   \
      -1, "the gradient of conv2d as an operator: enlarges [N, C, H, W] or [C, H, W]; weight [C, out / "             \
      "groups, KH, KW]")                                                                                             \
    X(group_norm, COMPOSITE, "(Tensor input, int64 num_groups, Tensor? weight, Tensor? bias, float eps)", 1,         \
      i_composite, none, none, none, d_group_norm, "torch.nn.functional.group_norm", 0, -1,                          \
      "normalises over groups of channels and all that follows")                                                     \
    X(instance_norm, COMPOSITE, "(Tensor input, Tensor? weight, Tensor? bias, float eps)", 1, i_composite, none,     \
      none, none, d_instance_norm, "torch.nn.functional.instance_norm({0}, None, None, {1}, {2}, eps={3})", 0, -1,   \
      "normalises each channel of each sample")                                                                      \
    X(rms_norm, COMPOSITE, "(Tensor input, Dims normalized_shape, Tensor? weight, Value? eps)", 1, i_composite,      \
      none, none, none, d_rms_norm, "torch.nn.functional.rms_norm", 0, -1,                                           \
      "input over the root of its mean square over the trailing dims; eps none: that of the dtype")                  \
    X(scaled_dot_product_attention, COMPOSITE,                                                                       \
      "(Tensor query, Tensor key, Tensor value, Tensor? attn_mask, float dropout_p, bool is_causal, "                \
      "Value? scale)", 1, i_composite, none, none, none, d_scaled_dot_product_attention,                             \
      "torch.nn.functional.scaled_dot_product_attention({0}, {1}, {2}, attn_mask={3}, dropout_p={4}, "               \
      "is_causal={5}, scale={6})", DYNC__OP_RANDOM, -1,                                                              \
      "softmax(query @ key^T * scale) @ value; a bool mask says what may be seen, a float one is "                   \
      "added; scale none: 1 / sqrt(width)")                                                                          \
    X(pixel_shuffle, COMPOSITE, "(Tensor self, int64 upscale_factor)", 1, i_composite, none, none, none,             \
      d_pixel_shuffle, "torch.nn.functional.pixel_shuffle", 0, -1, "[.., C r r, H, W] as [.., C, H r, W r]")         \
    X(upsample_nearest2d, COMPOSITE, "(Tensor self, Dims output_size)", 1, i_composite, none, none, none,            \
      d_upsample_nearest2d, "torch.nn.functional.interpolate", 0, -1,                                                \
      "[N, C, H, W] in another size, by the nearest element")                                                        \
    X(pad, COMPOSITE, "(Tensor self, Dims pad, Value? value)", 1, i_composite, none, l_pad, none, d_pad,             \
      "torch.nn.functional.pad({0}, {1}, value={2})", 0, -1,                                                         \
      "value (none: 0) around self: before and after the last dim, then the one before it; "                         \
      "negative numbers cut off")                                                                                    \
    X(movedim, COMPOSITE, "(Tensor self, Dims source, Dims destination)", 1, i_composite, none, none, none,          \
      d_movedim, "torch.movedim", 0, -1, "dims of source at the places of destination, the others in their order")   \
    X(unfold, COMPOSITE, "(Tensor self, int dim, int64 size, int64 step)", 1, i_composite, none, none, none,         \
      d_unfold, ".unfold", 0, -1, "windows of dim as a new last dim, without copying")                               \
    X(huber_loss, COMPOSITE, "(Tensor self, Tensor target, float delta)", 1, i_composite, none, none, none,          \
      d_huber_loss, "torch.nn.functional.huber_loss({0}, {1}, delta={2})", 0, -1,                                    \
      "squared below delta, linear above; the mean")                                                                 \
    X(kl_div, COMPOSITE, "(Tensor self, Tensor target, bool log_target)", 1, i_composite, none, none, none,          \
      d_kl_div, "torch.nn.functional.kl_div({0}, {1}, log_target={2})", 0, -1,                                       \
      "the mean of target * (log target - self); self is a logarithm")
/* clang-format on */

/* clang-format off */
#define DYNC__OPS_LOSS(X)                                                                                            \
    X(_binary_cross_entropy, POINTWISE, "(Tensor self, Tensor target)", 1, i_binary, e_binary_cross_entropy, none,   \
      g_binary_cross_entropy, none, "torch.nn.functional.binary_cross_entropy({0}, {1}, reduction='none')",          \
      DYNC__OP_FLOAT | DYNC__OP_PRIVATE, -1, "-(target log self + (1 - target) log(1 - self)) of each element")      \
    X(binary_cross_entropy, COMPOSITE, "(Tensor self, Tensor target)", 1, i_loss, none, none, none,                  \
      d_binary_cross_entropy, "torch.nn.functional.binary_cross_entropy", 0, -1,                                     \
      "the mean of -(target log self + (1 - target) log(1 - self)), logs held >= -100")                              \
    X(binary_cross_entropy_with_logits, COMPOSITE, "(Tensor self, Tensor target)", 1, i_loss, none, none, none,      \
      d_binary_cross_entropy_with_logits, "torch.nn.functional.binary_cross_entropy_with_logits", 0, -1,             \
      "binary_cross_entropy of sigmoid(self), without overflow")                                                     \
    X(cross_entropy, COMPOSITE, "(Tensor self, Tensor target)", 1, i_nll_loss, none, none, none, d_cross_entropy,    \
      "torch.nn.functional.cross_entropy", 0, -1,                                                                    \
      "the mean of -log_softmax(self)[target]; classes on dim 1; target -100 is left out; or target "                \
      "holds a share for each class")                                                                                \
    X(l1_loss, COMPOSITE, "(Tensor self, Tensor target)", 1, i_loss, none, none, none, d_l1_loss,                    \
      "torch.nn.functional.l1_loss", 0, -1, "the mean of abs(self - target)")                                        \
    X(mse_loss, COMPOSITE, "(Tensor self, Tensor target)", 1, i_loss, none, none, none, d_mse_loss,                  \
      "torch.nn.functional.mse_loss", 0, -1, "the mean of (self - target) ** 2")                                     \
    X(nll_loss, COMPOSITE, "(Tensor self, Tensor target)", 1, i_nll_loss, none, none, none, d_nll_loss,              \
      "torch.nn.functional.nll_loss", 0, -1, "the mean of -self[target]; classes on dim 1; target -100 is left out") \
    X(smooth_l1_loss, COMPOSITE, "(Tensor self, Tensor target, float beta)", 1, i_loss, none, none, none,            \
      d_smooth_l1_loss, "torch.nn.functional.smooth_l1_loss({0}, {1}, beta={2})", 0, -1,                             \
      "squared below beta, absolute above; the mean")
/* clang-format on */

/* Images, windows, regions, transforms. */
/* clang-format off */
#define DYNC__OPS_IMAGE(X)                                                                                         \
    X(_nms_each, KERNEL, "(Tensor boxes, Tensor scores, int64 most, float iou_threshold, float least)", 1, none,   \
      none, none, none, d_nms_each, "torch.ops.dync._nms_each",                                                    \
      DYNC__OP_PRIVATE | DYNC__OP_FILE | DYNC__OP_DATA_SHAPE | DYNC__OP_NONDIFF, -1,                               \
      "nms of boxes [B, N, 4] by scores [B, C, N] above least, at most so many each: rows of batch, class, box")   \
    X(_roi_align, COMPOSITE,                                                                                       \
      "(Tensor input, Tensor boxes, Tensor image, Dims output_size, float spatial_scale, Dims samples, "           \
      "bool aligned, bool most)", 1, i_composite, none, none, none, d_roi_samples, "torch.ops.dync.roi_align",     \
      DYNC__OP_PRIVATE | DYNC__OP_FILE, -1,                                                                        \
      "roi_align with samples for each dim; most: the largest of the weighted corners instead of means, as ONNX has")\
    X(affine_grid, COMPOSITE, "(Tensor theta, Dims size, bool align_corners)", 1, i_composite, none, none, none,   \
      d_affine_grid, "torch.nn.functional.affine_grid", 0, -1,                                                     \
      "the places theta [N, 2, 3] sends an image of that size [N, C, H, W] to, for grid_sample; "                  \
      "[N, 3, 4] for three dims")                                                                                  \
    X(col2im, COMPOSITE,                                                                                           \
      "(Tensor self, Dims output_size, Dims kernel_size, Dims dilation, Dims padding, Dims stride)", 1, i_composite,\
      none, none, none, d_col2im, "torch.nn.functional.fold", 0, -1,                                           \
      "columns of windows [N, C * kernel, windows] added up to images: PyTorch's F.fold")                          \
    X(deform_conv2d, COMPOSITE,                                                                                    \
      "(Tensor input, Tensor offset, Tensor weight, Tensor? bias, Dims stride, Dims padding, Dims dilation, "      \
      "Tensor? mask)", 1, i_composite, none, none, none, d_deform_conv2d,                                          \
      "torchvision.ops.deform_conv2d({0}, {1}, {2}, {3}, {4}, {5}, {6}, {7})", 0, -1,                              \
      "conv2d whose windows read where offsets move them, times a mask; as torchvision.ops")                       \
    X(fft_fft, COMPOSITE, "(Tensor self, Value? n, int dim)", 1, i_composite, none, none, none, d_fft_fft,         \
      "torch.view_as_real(torch.fft.fft(torch.view_as_complex({0}), {1}, {2}))", 0, -1,                            \
      "the Fourier transform along dim of pairs [.., 2] (real, imaginary), which are no dim of their own; "        \
      "cut or padded to n, none: as long as it is")                                                                \
    X(fft_ifft, COMPOSITE, "(Tensor self, Value? n, int dim)", 1, i_composite, none, none, none, d_fft_ifft,       \
      "torch.view_as_real(torch.fft.ifft(torch.view_as_complex({0}), {1}, {2}))", 0, -1,                           \
      "fft_fft back: over 1 / n of the sum")                                                                       \
    X(fft_irfft, COMPOSITE, "(Tensor self, Value? n, int dim)", 1, i_composite, none, none, none, d_fft_irfft,     \
      "torch.fft.irfft(torch.view_as_complex({0}), {1}, {2})", 0, -1,                                              \
      "fft_rfft back: n real numbers from the n / 2 + 1 first pairs; n none: twice their number less 2")           \
    X(fft_rfft, COMPOSITE, "(Tensor self, Value? n, int dim)", 1, i_composite, none, none, none, d_fft_rfft,       \
      "torch.view_as_real(torch.fft.rfft({0}, {1}, {2}))", 0, -1,                                                  \
      "the Fourier transform along dim of real numbers: its n / 2 + 1 first results as pairs [.., 2]")             \
    X(grid_sample, COMPOSITE, "(Tensor input, Tensor grid, str mode, str padding_mode, bool align_corners)", 1,    \
      i_composite, none, none, none, d_grid_sample, "torch.nn.functional.grid_sample", 0, -1,                      \
      "input [N, C, H, W] read at the places of grid [N, H', W', 2], x before y, from -1 to 1; mode \"bilinear\", "\
      "\"nearest\" or \"bicubic\", padding_mode \"zeros\", \"border\" or \"reflection\"; one to three dims")       \
    X(im2col, COMPOSITE, "(Tensor self, Dims kernel_size, Dims dilation, Dims padding, Dims stride)", 1, i_composite,\
      none, none, g_im2col, d_im2col, "torch.nn.functional.unfold", 0, -1,                                         \
      "what each window of [N, C, H, W] reads, as columns [N, C * kernel, windows]: PyTorch's F.unfold")           \
    X(lp_pool2d, COMPOSITE,                                                                                        \
      "(Tensor self, float norm_type, Dims kernel_size, Dims stride, bool ceil_mode)", 1, i_composite, none, none, \
      none, d_lp_pool2d, "torch.nn.functional.lp_pool2d", 0, -1,                                                   \
      "the root of the sum of powers over windows; an empty stride is the kernel size")                            \
    X(max_unpool2d, COMPOSITE, "(Tensor self, Tensor indices, Dims output_size)", 1, i_composite, none, none, none,\
      d_max_unpool2d, "torch.ops.aten.max_unpool2d", 0, -1,                                                        \
      "each element at the place that max_pool2d_with_indices took it from, zeros elsewhere")                      \
    X(nms, KERNEL, "(Tensor boxes, Tensor scores, float iou_threshold)", 1, none, none, none, none, d_nms,         \
      "torchvision.ops.nms", DYNC__OP_DATA_SHAPE | DYNC__OP_NONDIFF, -1,                                           \
      "which boxes [N, 4] of x1 y1 x2 y2 stay, best first: none that overlaps a better one by more")               \
    X(roi_align, COMPOSITE,                                                                                        \
      "(Tensor input, Tensor boxes, Dims output_size, float spatial_scale, int64 sampling_ratio, bool aligned)", 1,\
      i_composite, none, none, none, d_roi_align, "torchvision.ops.roi_align", 0, -1,                              \
      "means of sampling_ratio^2 samples for each of the output's places of boxes [K, 5] (image, x1 y1 x2 y2); as "\
      "torchvision.ops, but for a sampling_ratio that follows from the boxes")                                     \
    X(stft, COMPOSITE, "(Tensor self, int64 n_fft, int64 hop_length, Tensor? window, bool onesided)", 1, i_composite,\
      none, none, none, d_stft,                                                                                    \
      "torch.view_as_real(torch.stft({0}, {1}, {2}, {1} if {3} is None else {3}.size(0), {3}, center=False, "      \
      "onesided={4}, return_complex=True))", 0, -1,                                                                \
      "Fourier transforms of overlapping frames of [B, L], times the window: pairs [B, bins, frames, 2]; "         \
      "frames begin at 0 (center=False)")                                                                          \
    X(upsample_bicubic2d, COMPOSITE, "(Tensor self, Dims output_size, bool align_corners)", 1, i_composite, none,  \
      none, none, d_upsample_bicubic2d,                                                                            \
      "torch.nn.functional.interpolate({0}, {1}, mode='bicubic', align_corners={2})", 0, -1,                       \
      "[N, C, H, W] in another size, by cubic polynomials")                                                        \
    X(upsample_bilinear2d, COMPOSITE, "(Tensor self, Dims output_size, bool align_corners)", 1, i_composite, none, \
      none, none, d_upsample_bilinear2d,                                                                           \
      "torch.nn.functional.interpolate({0}, {1}, mode='bilinear', align_corners={2})", 0, -1,                      \
      "[N, C, H, W] in another size, by straight lines")                                                           \
    X(upsample_linear1d, COMPOSITE, "(Tensor self, Dims output_size, bool align_corners)", 1, i_composite, none,   \
      none, none, d_upsample_linear1d,                                                                             \
      "torch.nn.functional.interpolate({0}, {1}, mode='linear', align_corners={2})", 0, -1,                        \
      "[N, C, L] in another size, by straight lines")                                                              \
    X(upsample_trilinear3d, COMPOSITE, "(Tensor self, Dims output_size, bool align_corners)", 1, i_composite, none,\
      none, none, d_upsample_trilinear3d,                                                                          \
      "torch.nn.functional.interpolate({0}, {1}, mode='trilinear', align_corners={2})", 0, -1,                     \
      "[N, C, D, H, W] in another size, by straight lines")
/* clang-format on */

/* clang-format off */
#define DYNC__OPS_VIEW(X)                                                                                             \
    X(alias,       VIEW, "(Tensor self)", 1, i_alias, none, none, g_alias, none, "torch.ops.aten.alias",              \
      DYNC__OP_PRIVATE | DYNC__OP_FILE, -1, "the same elements")                                                      \
    X(as_strided,  VIEW, "(Tensor self, Dims size, Dims stride, int64 storage_offset)", 1, i_as_strided, none, none,  \
      g_as_strided, none, "torch.as_strided", DYNC__OP_STRIDED | DYNC__OP_BEYOND, -1,                                 \
      "any sizes, strides and offset over the storage, which they must not leave")                                    \
    X(_strided_view, VIEW, "(Tensor self, Dims size, Dims stride, int64 offset)", 1, i_strided_view, none, none,      \
      g_as_strided, none, "torch.ops.dync.strided_view", DYNC__OP_PRIVATE | DYNC__OP_STRIDED, -1,                     \
      "as_strided counted from self's first element; AOT makes it, under the tape")                                   \
    X(contiguous,  COMPOSITE, "(Tensor self)", 1, i_contiguous, none, none, none, d_contiguous, ".contiguous", 0, -1, \
      "self if it is row major, else a copy that is")                                                                 \
    X(detach,      VIEW, "(Tensor self)", 1, i_alias, none, none, none, none, ".detach", DYNC__OP_NONDIFF |           \
      DYNC__OP_PRIVATE | DYNC__OP_FILE | DYNC__OP_CUTS_GRAD, -1, "the same elements, without history")                \
    X(diagonal,    VIEW, "(Tensor self, int offset, int dim1, int dim2)", 1, i_diagonal, none, none, g_diagonal,      \
      none, "torch.diagonal", 0, -1, "the diagonal of two dims, as the last one")                                     \
    X(expand,      VIEW, "(Tensor self, Dims size)", 1, i_expand, none, none, g_expand, none, ".expand",              \
      DYNC__OP_SIZES, -1, "repeats dims of size 1 without copying; -1 keeps a size")                                  \
    X(expand_as,   COMPOSITE, "(Tensor self, Tensor other)", 1, i_expand_as, none, none, none, d_expand_as,           \
      ".expand_as", DYNC__OP_SIZES, -1, "expand to the shape of other")                                               \
    X(flatten,     COMPOSITE, "(Tensor self, int start_dim, int end_dim)", 1, i_flatten, none, none, none,            \
      d_flatten, "torch.flatten", 0, -1, "the dims from start to end as one")                                         \
    X(narrow,      COMPOSITE, "(Tensor self, int dim, int64 start, int64 length)", 1, i_narrow, none, none, none,     \
      d_narrow, "torch.narrow", 0, -1, "length places of dim, from start on")                                         \
    X(permute,     VIEW, "(Tensor self, Dims dims)", 1, i_permute, none, none, g_permute, none, ".permute", 0, -1,    \
      "dims in a new order")                                                                                          \
    X(reshape,     COMPOSITE, "(Tensor self, Dims shape)", 1, i_reshape, none, none, none, d_reshape, ".reshape", 0,  \
      -1, "a view of another shape where strides allow, else a copy; one -1 is inferred")                             \
    X(select,      VIEW, "(Tensor self, int dim, int64 index)", 1, i_select, none, none, g_select, none,              \
      "torch.select", 0, -1, "one place of dim, which goes away")                                                     \
    X(slice,       VIEW, "(Tensor self, int dim, int64 start, int64 end, int64 step)", 1, i_slice, none, none,        \
      g_slice, none, "torch.ops.aten.slice", 0, -1, "self[start:end:step] along dim; DYNC_END leaves the end open")   \
    X(squeeze,     VIEW, "(Tensor self, int dim)", 1, i_squeeze, none, none, g_squeeze, none, "torch.squeeze", 0, -1, \
      "without dim, if its size is 1")                                                                                \
    X(squeeze_all, VIEW, "(Tensor self)", 1, i_squeeze_all, none, none, g_squeeze, none, ".squeeze", 0, -1,           \
      "without every dim of size 1")                                                                                  \
    X(t,           VIEW, "(Tensor self)", 1, i_t, none, none, g_t, none, "torch.t", 0, -1,                            \
      "the transpose of a matrix")                                                                                    \
    X(transpose,   VIEW, "(Tensor self, int dim0, int dim1)", 1, i_transpose, none, none, g_transpose, none,          \
      "torch.transpose", 0, -1, "two dims exchanged")                                                                 \
    X(unflatten,   COMPOSITE, "(Tensor self, int dim, Dims sizes)", 1, i_unflatten, none, none, none, d_unflatten,    \
      "torch.unflatten", 0, -1, "one dim as several; one -1 is inferred")                                             \
    X(unsqueeze,   VIEW, "(Tensor self, int dim)", 1, i_unsqueeze, none, none, g_unsqueeze, none, "torch.unsqueeze",  \
      0, -1, "a new dim of size 1")                                                                                   \
    X(view,        VIEW, "(Tensor self, Dims size)", 1, i_view, none, none, g_view, none, ".view", DYNC__OP_SIZES,    \
      -1, "another shape of the same elements, without copying; one -1 is inferred")                                  \
    X(view_as,     COMPOSITE, "(Tensor self, Tensor other)", 1, i_view_as, none, none, none, d_view_as, ".view_as",   \
      DYNC__OP_SIZES, -1, "view in the shape of other")
/* clang-format on */

/* select_backward, slice_backward, diagonal_backward: grad in a tensor of zeros of the size that
 * the view was taken of. */
/* clang-format off */
#define DYNC__OPS_MOVE(X)                                                                                             \
    X(argsort,        COMPOSITE, "(Tensor self, int dim, bool descending)", 1, i_argsort, none, none, none,           \
      d_argsort, "torch.argsort", DYNC__OP_NONDIFF | DYNC__OP_WORK_SORT, -1,                                          \
      "the places that sort self along dim, int64")                                                                   \
    X(as_strided_scatter, KERNEL, "(Tensor self, Tensor src, Dims size, Dims stride, int64 storage_offset)", 1,       \
      i_as_strided_scatter, none, l_as_strided_scatter, g_as_strided_scatter, none, "torch.as_strided_scatter",       \
      DYNC__OP_PRIVATE, -1, "self with src written to as_strided of it; AOT makes it, under the tape")                \
    X(cat,            KERNEL, "(Tensor[] tensors, int dim)", 1, i_cat, none, l_cat, g_cat, none, "torch.cat", 0, -1,  \
      "tensors one after another along dim")                                                                          \
    X(clone,          POINTWISE, "(Tensor self)", 1, i_clone, e_clone, none, g_alias, none, "torch.clone",            \
      DYNC__OP_CHEAP, -1, "a copy")                                                                                   \
    X(_clone_contiguous, POINTWISE, "(Tensor self)", 1, i_contiguous, e_clone, none, g_alias, none,                   \
      "torch.clone({0}, memory_format=torch.contiguous_format)", DYNC__OP_CHEAP | DYNC__OP_PRIVATE | DYNC__OP_FILE,   \
      -1, "a row-major copy")                                                                                         \
    X(diagonal_backward, KERNEL, "(Tensor grad_output, Dims input_sizes, int offset, int dim1, int dim2)", 1,         \
      i_view_backward, none, l_view_backward, g_diagonal_backward, none, "torch.ops.aten.diagonal_backward",          \
      DYNC__OP_PRIVATE | DYNC__OP_FILE, -1, "gradient of diagonal")                                                   \
    X(flip,           KERNEL, "(Tensor self, Dims dims)", 1, i_flip, none, l_flip, g_flip, none, "torch.flip", 0, -1, \
      "elements in reverse order along dims")                                                                         \
    X(gather,         KERNEL, "(Tensor self, int dim, Tensor index)", 1, i_gather, none, l_gather, g_gather, none,    \
      "torch.gather", DYNC__OP_GATHERS | DYNC__OP_FUSES, -1, "out[i][j] = self[index[i][j]][j] for dim 0")            \
    X(index_add,      KERNEL, "(Tensor self, int dim, Tensor index, Tensor source)", 1, i_index_add, none,            \
      l_index_add, g_index_add, none, "torch.index_add", DYNC__OP_SCATTERS, -1,                                       \
      "self with rows of source added to the rows that index names")                                                  \
    X(index_select,   KERNEL, "(Tensor self, int dim, Tensor index)", 1, i_index_select, none, l_index_select,        \
      g_index_select, none, "torch.index_select", DYNC__OP_GATHERS | DYNC__OP_FUSES, -1,                              \
      "the places of dim that the vector index names")                                                                \
    X(masked_select,  KERNEL, "(Tensor self, Tensor mask)", 1, none, none, none, none, d_masked_select,               \
      "torch.masked_select", DYNC__OP_DATA_SHAPE, -1, "the elements whose mask is set, as a vector")                  \
    X(nonzero,        KERNEL, "(Tensor self)", 1, none, none, none, none, d_nonzero, "torch.nonzero",                 \
      DYNC__OP_DATA_SHAPE | DYNC__OP_NONDIFF, -1, "the places of elements that are not zero, [count, rank], int64")   \
    X(repeat,         COMPOSITE, "(Tensor self, Dims repeats)", 1, i_repeat, none, none, none, d_repeat, ".repeat",   \
      0, -1, "self tiled along each dim")                                                                             \
    X(roll,           COMPOSITE, "(Tensor self, Dims shifts, Dims dims)", 1, i_roll, none, none, g_roll, d_roll,      \
      "torch.roll", 0, -1, "elements moved along dims, around the end; without dims over the flattened tensor")       \
    X(scatter,        KERNEL, "(Tensor self, int dim, Tensor index, Value src)", 1, i_scatter, none, l_scatter,       \
      g_scatter, none, "torch.scatter", DYNC__OP_SCATTERS | DYNC__OP_FITS, -1,                                        \
      "self with src written to the places that index names")                                                         \
    X(scatter_add,    KERNEL, "(Tensor self, int dim, Tensor index, Tensor src)", 1, i_scatter, none, l_scatter_add,  \
      g_scatter_add, none, "torch.scatter_add", DYNC__OP_SCATTERS, -1,                                                \
      "self with src added at the places that index names")                                                           \
    X(select_backward, KERNEL, "(Tensor grad_output, Dims input_sizes, int dim, int64 index)", 1, i_view_backward,    \
      none, l_view_backward, g_select_backward, none, "torch.ops.aten.select_backward",                               \
      DYNC__OP_PRIVATE | DYNC__OP_FILE, -1, "gradient of select")                                                     \
    X(slice_backward, KERNEL, "(Tensor grad_output, Dims input_sizes, int dim, int64 start, int64 end, int64 step)",  \
      1, i_view_backward, none, l_view_backward, g_slice_backward, none, "torch.ops.aten.slice_backward",             \
      DYNC__OP_PRIVATE | DYNC__OP_FILE, -1, "gradient of slice")                                                      \
    X(sort,           KERNEL, "(Tensor self, int dim, bool descending)", 2, i_sort, none, l_sort, g_sort, none,       \
      "torch.sort", DYNC__OP_WORK_SORT, -1,                                                                           \
      "sorted along dim, equal elements in their order, and the places they came from")                               \
    X(stack,          COMPOSITE, "(Tensor[] tensors, int dim)", 1, i_stack, none, none, none, d_stack,                \
      "torch.stack", 0, -1, "tensors of one shape along a new dim")                                                   \
    X(take_along_dim, COMPOSITE, "(Tensor self, Tensor indices, int dim)", 1, i_take_along_dim, none, none, none,     \
      d_take_along_dim, "torch.take_along_dim", 0, -1, "gather with self and indices broadcast outside dim")          \
    X(to_device,      KERNEL, "(Tensor self, Device device)", 1, i_to_device, none, l_clone, g_to_device, none,       \
      ".to", DYNC__OP_PRIVATE | DYNC__OP_FILE | DYNC__OP_FUSES, -1, "a copy on another device")                       \
    X(to_dtype,       POINTWISE, "(Tensor self, Dtype dtype)", 1, i_to_dtype, e_clone, none, g_to_dtype, none, ".to", \
      DYNC__OP_PRIVATE | DYNC__OP_FILE | DYNC__OP_CHEAP | DYNC__OP_MAY_ALIAS, -1, "the elements cast")                \
    X(topk,           KERNEL, "(Tensor self, int64 k, int dim, bool largest, bool sorted)", 2, i_topk, none, l_topk,  \
      g_topk, none, "torch.topk", DYNC__OP_WORK_SORT, -1,                                                             \
      "the k largest or smallest along dim, in order, and their places")                                              \
    X(tril,           KERNEL, "(Tensor self, int diagonal)", 1, i_tril, none, l_tril, g_tril, none, "torch.tril",     \
      DYNC__OP_FUSES, -1, "zero above the diagonal of the last two dims")                                             \
    X(triu,           KERNEL, "(Tensor self, int diagonal)", 1, i_tril, none, l_triu, g_triu, none, "torch.triu",     \
      DYNC__OP_FUSES, -1, "zero below the diagonal of the last two dims")                                             \
    X(unique, COMPOSITE, "(Tensor self)", 1, none, none, none, none, d_unique, "torch.unique",                        \
      DYNC__OP_DATA_SHAPE, -1, "the elements in order, each once, as a vector")                                       \
    X(_one_hot_all, COMPOSITE, "(Tensor self)", 1, none, none, none, none, d_one_hot_all,                             \
      "torch.nn.functional.one_hot", DYNC__OP_DATA_SHAPE | DYNC__OP_NONDIFF | DYNC__OP_OPAQUE | DYNC__OP_PRIVATE,     \
      -1, "one_hot of as many classes as there are")
/* clang-format on */

/* clang-format off */
#define DYNC__OPS_EFFECT(X)                                                                                          \
    X(_set_grad_enabled, EFFECT, "(bool mode)", 0, i_effect, none, none, none, d_set_grad_enabled,                   \
      "torch._C._set_grad_enabled", DYNC__OP_PRIVATE | DYNC__OP_FILE | DYNC__OP_CUTS_GRAD, -1,                       \
      "turns recording for gradients on or off")                                                                     \
    X(manual_seed,       EFFECT, "(int64 seed)", 0, i_effect, none, none, none, d_manual_seed, "torch.manual_seed",  \
      DYNC__OP_PRIVATE | DYNC__OP_FILE, -1, "starts this thread's random numbers anew")                              \
    X(custom_gradient,   KERNEL, "(Tensor self, Tensor[] inputs, Tensor[] saved, int64 number)", 1, i_clone, none,   \
      l_clone, g_custom_gradient, none, "torch.ops.dync.custom_gradient", DYNC__OP_PRIVATE, -1,                      \
      "self, whose gradient a function of the user's gives to inputs")                                               \
    X(_hooked,           VIEW, "(Tensor self, int64 hook)", 1, i_alias, none, none, g_hooked, none,                  \
      "torch.ops.dync.hooked", DYNC__OP_PRIVATE | DYNC__OP_CUTS_GRAD, -1,                                            \
      "the same elements, whose gradient a hook sees")                                                               \
    X(_local_scalar_dense, KERNEL, "(Tensor self)", 1, none, none, none, none, d_local_scalar, ".item",              \
      DYNC__OP_PRIVATE | DYNC__OP_FILE | DYNC__OP_DATA_SHAPE | DYNC__OP_NONDIFF | DYNC__OP_OPAQUE, -1,               \
      "an element as a size: [element + 2^40], all on one byte")                                                     \
    X(_check_range,      EFFECT, "(int64 self, int64 least, int64 most)", 0, i_effect, none, none, none,             \
      d_check_range, "torch._check_range", DYNC__OP_PRIVATE | DYNC__OP_FILE | DYNC__OP_DATA_SHAPE, -1,               \
      "an error where a number is not within")                                                                       \
    X(trace_wrapped,     KERNEL, "(Tensor self, int64 hook)", 1, i_clone, none, none, none, d_trace_wrapped,         \
      "torch__dynamo__trace_wrapped_higher_order_op_self_invoke{#}({0})", DYNC__OP_PRIVATE | DYNC__OP_OPAQUE, -1,    \
      "a hook's function")                                                                                           \
    X(set_,              INPLACE, "(Tensor self, Tensor source)", 1, i_set_, none, none, none, d_set_, ".set_",      \
      DYNC__OP_PRIVATE | DYNC__OP_FILE | DYNC__OP_RETARGETS, DYNC__OP_none,                                         \
      "self takes over the storage and form of source")
/* clang-format on */

/* Functions inside (graph/control.c): as many outputs as those give. */
/* clang-format off */
#define DYNC__OPS_CONTROL(X)                                                                                         \
    X(cond,       KERNEL, "(Tensor pred, Graph true_graph, Graph false_graph, Tensor[] operands)", -1, i_control,    \
      none, l_control, g_cond, d_control, "torch.ops.higher_order.cond",                                             \
      DYNC__OP_PRIVATE | DYNC__OP_OPAQUE | DYNC__OP_FILE, -1,                                                        \
      "what one of two functions gives")                                                                             \
    X(scan,       KERNEL,                                                                                            \
      "(Graph combine, Tensor[] init, Tensor[] xs, Tensor[] additional_inputs, bool reverse, int saved)", -1,        \
      i_control, none, l_control, g_scan, d_control, "torch.ops.higher_order.scan({0}, {1}, {2}, {3}, reverse={4})", \
      DYNC__OP_PRIVATE | DYNC__OP_OPAQUE | DYNC__OP_FILE, -1,                                                        \
      "a function along the first dim: the last carry, and the rest stacked")                                        \
    X(while_loop, KERNEL,                                                                                            \
      "(Graph cond_graph, Graph body_graph, Tensor[] carried, Tensor[] additional_inputs, int64 max_iterations)", -1,\
      i_control, none, l_control, g_while_loop, d_control, "torch.ops.higher_order.while_loop({0}, {1}, {2}, {3})",  \
      DYNC__OP_PRIVATE | DYNC__OP_OPAQUE | DYNC__OP_FILE, -1, "a function while another says so")
/* clang-format on */

/* clang-format off */
#define DYNC__OPS(X) \
    DYNC__OPS_BINARY(X) DYNC__OPS_TERNARY(X) DYNC__OPS_UNARY(X) DYNC__OPS_INPLACE(X) \
    DYNC__OPS_FACTORY(X) DYNC__OPS_REDUCE(X) DYNC__OPS_LINALG(X) DYNC__OPS_NN(X) \
    DYNC__OPS_LOSS(X) DYNC__OPS_IMAGE(X) DYNC__OPS_VIEW(X) DYNC__OPS_MOVE(X) DYNC__OPS_EFFECT(X) \
    DYNC__OPS_CONTROL(X)
/* clang-format on */
#endif
