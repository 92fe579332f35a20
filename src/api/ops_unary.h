/* ---- operators: of one tensor, element by element (op/ops_unary.def.h) ----
 *   errors, notes  as of all operators (api/ops.h)
 *   thread         any */
/* dync_abs: absolute value. */
DYNC_API dync_tensor *(dync_abs)(dync_tensor *self);
#define dync_abs(...) \
    DYNC_TAKES_1(DYNC_abs, DYNC_OTHER_T, __VA_ARGS__)("dync_abs takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_abs(text_, self) \
    DYNC_OP(dync_abs, dync__op_1T, DYNC__OP_abs, DYNC_T(self, "dync_abs: self"))
/* dync_acos: inverse cosine. */
DYNC_API dync_tensor *(dync_acos)(dync_tensor *self);
#define dync_acos(...) \
    DYNC_TAKES_1(DYNC_acos, DYNC_OTHER_T, __VA_ARGS__)("dync_acos takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_acos(text_, self) \
    DYNC_OP(dync_acos, dync__op_1T, DYNC__OP_acos, DYNC_T(self, "dync_acos: self"))
/* dync_acosh: inverse hyperbolic cosine. */
DYNC_API dync_tensor *(dync_acosh)(dync_tensor *self);
#define dync_acosh(...) \
    DYNC_TAKES_1(DYNC_acosh, DYNC_OTHER_T, __VA_ARGS__)("dync_acosh takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_acosh(text_, self) \
    DYNC_OP(dync_acosh, dync__op_1T, DYNC__OP_acosh, DYNC_T(self, "dync_acosh: self"))
/* dync_asin: inverse sine. */
DYNC_API dync_tensor *(dync_asin)(dync_tensor *self);
#define dync_asin(...) \
    DYNC_TAKES_1(DYNC_asin, DYNC_OTHER_T, __VA_ARGS__)("dync_asin takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_asin(text_, self) \
    DYNC_OP(dync_asin, dync__op_1T, DYNC__OP_asin, DYNC_T(self, "dync_asin: self"))
/* dync_asinh: inverse hyperbolic sine. */
DYNC_API dync_tensor *(dync_asinh)(dync_tensor *self);
#define dync_asinh(...) \
    DYNC_TAKES_1(DYNC_asinh, DYNC_OTHER_T, __VA_ARGS__)("dync_asinh takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_asinh(text_, self) \
    DYNC_OP(dync_asinh, dync__op_1T, DYNC__OP_asinh, DYNC_T(self, "dync_asinh: self"))
/* dync_atan: inverse tangent. */
DYNC_API dync_tensor *(dync_atan)(dync_tensor *self);
#define dync_atan(...) \
    DYNC_TAKES_1(DYNC_atan, DYNC_OTHER_T, __VA_ARGS__)("dync_atan takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_atan(text_, self) \
    DYNC_OP(dync_atan, dync__op_1T, DYNC__OP_atan, DYNC_T(self, "dync_atan: self"))
/* dync_atanh: inverse hyperbolic tangent. */
DYNC_API dync_tensor *(dync_atanh)(dync_tensor *self);
#define dync_atanh(...) \
    DYNC_TAKES_1(DYNC_atanh, DYNC_OTHER_T, __VA_ARGS__)("dync_atanh takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_atanh(text_, self) \
    DYNC_OP(dync_atanh, dync__op_1T, DYNC__OP_atanh, DYNC_T(self, "dync_atanh: self"))
/* dync_bitwise_not: every bit inverted; logical not of bools. No gradient. */
DYNC_API dync_tensor *(dync_bitwise_not)(dync_tensor *self);
#define dync_bitwise_not(...) \
    DYNC_TAKES_1(DYNC_bitwise_not, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_bitwise_not takes 1 argument: self", __VA_ARGS__)
#define DYNC_bitwise_not(text_, self) \
    DYNC_OP(dync_bitwise_not, dync__op_1T, DYNC__OP_bitwise_not, DYNC_T(self, \
    "dync_bitwise_not: self"))
/* dync_ceil: rounded towards plus infinity. */
DYNC_API dync_tensor *(dync_ceil)(dync_tensor *self);
#define dync_ceil(...) \
    DYNC_TAKES_1(DYNC_ceil, DYNC_OTHER_T, __VA_ARGS__)("dync_ceil takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_ceil(text_, self) \
    DYNC_OP(dync_ceil, dync__op_1T, DYNC__OP_ceil, DYNC_T(self, "dync_ceil: self"))
/* dync_cos: cosine. */
DYNC_API dync_tensor *(dync_cos)(dync_tensor *self);
#define dync_cos(...) \
    DYNC_TAKES_1(DYNC_cos, DYNC_OTHER_T, __VA_ARGS__)("dync_cos takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_cos(text_, self) \
    DYNC_OP(dync_cos, dync__op_1T, DYNC__OP_cos, DYNC_T(self, "dync_cos: self"))
/* dync_cosh: hyperbolic cosine. */
DYNC_API dync_tensor *(dync_cosh)(dync_tensor *self);
#define dync_cosh(...) \
    DYNC_TAKES_1(DYNC_cosh, DYNC_OTHER_T, __VA_ARGS__)("dync_cosh takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_cosh(text_, self) \
    DYNC_OP(dync_cosh, dync__op_1T, DYNC__OP_cosh, DYNC_T(self, "dync_cosh: self"))
/* dync_elu: self where positive, else alpha * (exp(self) - 1). */
DYNC_API dync_tensor *(dync_elu)(dync_tensor *self, dync_real alpha);
#define dync_elu(...) \
    DYNC_TAKES_2(DYNC_elu, DYNC_OTHER_T, __VA_ARGS__)("dync_elu takes 2 arguments: self, alpha", \
    __VA_ARGS__)
#define DYNC_elu(text_, self, alpha) \
    DYNC_OP(dync_elu, dync__op_1Tf, DYNC__OP_elu, DYNC_T(self, "dync_elu: self"), alpha)
/* dync_erf: error function. */
DYNC_API dync_tensor *(dync_erf)(dync_tensor *self);
#define dync_erf(...) \
    DYNC_TAKES_1(DYNC_erf, DYNC_OTHER_T, __VA_ARGS__)("dync_erf takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_erf(text_, self) \
    DYNC_OP(dync_erf, dync__op_1T, DYNC__OP_erf, DYNC_T(self, "dync_erf: self"))
/* dync_erfc: 1 - erf(self), without cancellation. */
DYNC_API dync_tensor *(dync_erfc)(dync_tensor *self);
#define dync_erfc(...) \
    DYNC_TAKES_1(DYNC_erfc, DYNC_OTHER_T, __VA_ARGS__)("dync_erfc takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_erfc(text_, self) \
    DYNC_OP(dync_erfc, dync__op_1T, DYNC__OP_erfc, DYNC_T(self, "dync_erfc: self"))
/* dync_exp: e to the power self. */
DYNC_API dync_tensor *(dync_exp)(dync_tensor *self);
#define dync_exp(...) \
    DYNC_TAKES_1(DYNC_exp, DYNC_OTHER_T, __VA_ARGS__)("dync_exp takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_exp(text_, self) \
    DYNC_OP(dync_exp, dync__op_1T, DYNC__OP_exp, DYNC_T(self, "dync_exp: self"))
/* dync_exp2: 2 to the power self. */
DYNC_API dync_tensor *(dync_exp2)(dync_tensor *self);
#define dync_exp2(...) \
    DYNC_TAKES_1(DYNC_exp2, DYNC_OTHER_T, __VA_ARGS__)("dync_exp2 takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_exp2(text_, self) \
    DYNC_OP(dync_exp2, dync__op_1T, DYNC__OP_exp2, DYNC_T(self, "dync_exp2: self"))
/* dync_expm1: exp(self) - 1, without cancellation. */
DYNC_API dync_tensor *(dync_expm1)(dync_tensor *self);
#define dync_expm1(...) \
    DYNC_TAKES_1(DYNC_expm1, DYNC_OTHER_T, __VA_ARGS__)("dync_expm1 takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_expm1(text_, self) \
    DYNC_OP(dync_expm1, dync__op_1T, DYNC__OP_expm1, DYNC_T(self, "dync_expm1: self"))
/* dync_floor: rounded towards minus infinity. */
DYNC_API dync_tensor *(dync_floor)(dync_tensor *self);
#define dync_floor(...) \
    DYNC_TAKES_1(DYNC_floor, DYNC_OTHER_T, __VA_ARGS__)("dync_floor takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_floor(text_, self) \
    DYNC_OP(dync_floor, dync__op_1T, DYNC__OP_floor, DYNC_T(self, "dync_floor: self"))
/* dync_frac: self - trunc(self). */
DYNC_API dync_tensor *(dync_frac)(dync_tensor *self);
#define dync_frac(...) \
    DYNC_TAKES_1(DYNC_frac, DYNC_OTHER_T, __VA_ARGS__)("dync_frac takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_frac(text_, self) \
    DYNC_OP(dync_frac, dync__op_1T, DYNC__OP_frac, DYNC_T(self, "dync_frac: self"))
/* dync_gelu: self * Phi(self), Phi the normal distribution by erf. */
DYNC_API dync_tensor *(dync_gelu)(dync_tensor *self);
#define dync_gelu(...) \
    DYNC_TAKES_1(DYNC_gelu, DYNC_OTHER_T, __VA_ARGS__)("dync_gelu takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_gelu(text_, self) \
    DYNC_OP(dync_gelu, dync__op_1T, DYNC__OP_gelu, DYNC_T(self, "dync_gelu: self"))
/* dync_gelu_tanh: gelu with Phi approximated by tanh. */
DYNC_API dync_tensor *(dync_gelu_tanh)(dync_tensor *self);
#define dync_gelu_tanh(...) \
    DYNC_TAKES_1(DYNC_gelu_tanh, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_gelu_tanh takes 1 argument: self", __VA_ARGS__)
#define DYNC_gelu_tanh(text_, self) \
    DYNC_OP(dync_gelu_tanh, dync__op_1T, DYNC__OP_gelu_tanh, DYNC_T(self, "dync_gelu_tanh: self"))
/* dync_hardtanh: self held between low and high. */
DYNC_API dync_tensor *(dync_hardtanh)(dync_tensor *self, dync_real low, dync_real high);
#define dync_hardtanh(...) \
    DYNC_TAKES_3(DYNC_hardtanh, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_hardtanh takes 3 arguments: self, low, high", __VA_ARGS__)
#define DYNC_hardtanh(text_, self, low, high) \
    DYNC_OP(dync_hardtanh, dync__op_1Tff, DYNC__OP_hardtanh, DYNC_T(self, \
    "dync_hardtanh: self"), low, high)
/* dync_isfinite: neither infinite nor NaN, as bool. No gradient. */
DYNC_API dync_tensor *(dync_isfinite)(dync_tensor *self);
#define dync_isfinite(...) \
    DYNC_TAKES_1(DYNC_isfinite, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_isfinite takes 1 argument: self", __VA_ARGS__)
#define DYNC_isfinite(text_, self) \
    DYNC_OP(dync_isfinite, dync__op_1T, DYNC__OP_isfinite, DYNC_T(self, "dync_isfinite: self"))
/* dync_isinf: plus or minus infinity, as bool. No gradient. */
DYNC_API dync_tensor *(dync_isinf)(dync_tensor *self);
#define dync_isinf(...) \
    DYNC_TAKES_1(DYNC_isinf, DYNC_OTHER_T, __VA_ARGS__)("dync_isinf takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_isinf(text_, self) \
    DYNC_OP(dync_isinf, dync__op_1T, DYNC__OP_isinf, DYNC_T(self, "dync_isinf: self"))
/* dync_isnan: NaN, as bool. No gradient. */
DYNC_API dync_tensor *(dync_isnan)(dync_tensor *self);
#define dync_isnan(...) \
    DYNC_TAKES_1(DYNC_isnan, DYNC_OTHER_T, __VA_ARGS__)("dync_isnan takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_isnan(text_, self) \
    DYNC_OP(dync_isnan, dync__op_1T, DYNC__OP_isnan, DYNC_T(self, "dync_isnan: self"))
/* dync_leaky_relu: self where positive, else negative_slope * self. */
DYNC_API dync_tensor *(dync_leaky_relu)(dync_tensor *self, dync_real negative_slope);
#define dync_leaky_relu(...) \
    DYNC_TAKES_2(DYNC_leaky_relu, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_leaky_relu takes 2 arguments: self, negative_slope", __VA_ARGS__)
#define DYNC_leaky_relu(text_, self, negative_slope) \
    DYNC_OP(dync_leaky_relu, dync__op_1Tf, DYNC__OP_leaky_relu, DYNC_T(self, \
    "dync_leaky_relu: self"), negative_slope)
/* dync_log: natural logarithm. */
DYNC_API dync_tensor *(dync_log)(dync_tensor *self);
#define dync_log(...) \
    DYNC_TAKES_1(DYNC_log, DYNC_OTHER_T, __VA_ARGS__)("dync_log takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_log(text_, self) \
    DYNC_OP(dync_log, dync__op_1T, DYNC__OP_log, DYNC_T(self, "dync_log: self"))
/* dync_log10: logarithm to base 10. */
DYNC_API dync_tensor *(dync_log10)(dync_tensor *self);
#define dync_log10(...) \
    DYNC_TAKES_1(DYNC_log10, DYNC_OTHER_T, __VA_ARGS__)("dync_log10 takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_log10(text_, self) \
    DYNC_OP(dync_log10, dync__op_1T, DYNC__OP_log10, DYNC_T(self, "dync_log10: self"))
/* dync_log1p: log(1 + self), without cancellation. */
DYNC_API dync_tensor *(dync_log1p)(dync_tensor *self);
#define dync_log1p(...) \
    DYNC_TAKES_1(DYNC_log1p, DYNC_OTHER_T, __VA_ARGS__)("dync_log1p takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_log1p(text_, self) \
    DYNC_OP(dync_log1p, dync__op_1T, DYNC__OP_log1p, DYNC_T(self, "dync_log1p: self"))
/* dync_log2: logarithm to base 2. */
DYNC_API dync_tensor *(dync_log2)(dync_tensor *self);
#define dync_log2(...) \
    DYNC_TAKES_1(DYNC_log2, DYNC_OTHER_T, __VA_ARGS__)("dync_log2 takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_log2(text_, self) \
    DYNC_OP(dync_log2, dync__op_1T, DYNC__OP_log2, DYNC_T(self, "dync_log2: self"))
/* dync_logical_not: self is zero, as bool. No gradient. */
DYNC_API dync_tensor *(dync_logical_not)(dync_tensor *self);
#define dync_logical_not(...) \
    DYNC_TAKES_1(DYNC_logical_not, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_logical_not takes 1 argument: self", __VA_ARGS__)
#define DYNC_logical_not(text_, self) \
    DYNC_OP(dync_logical_not, dync__op_1T, DYNC__OP_logical_not, DYNC_T(self, \
    "dync_logical_not: self"))
/* dync_logsigmoid: log(sigmoid(self)), without overflow. */
DYNC_API dync_tensor *(dync_logsigmoid)(dync_tensor *self);
#define dync_logsigmoid(...) \
    DYNC_TAKES_1(DYNC_logsigmoid, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_logsigmoid takes 1 argument: self", __VA_ARGS__)
#define DYNC_logsigmoid(text_, self) \
    DYNC_OP(dync_logsigmoid, dync__op_1T, DYNC__OP_logsigmoid, DYNC_T(self, \
    "dync_logsigmoid: self"))
/* dync_mish: self * tanh(softplus(self)). */
DYNC_API dync_tensor *(dync_mish)(dync_tensor *self);
#define dync_mish(...) \
    DYNC_TAKES_1(DYNC_mish, DYNC_OTHER_T, __VA_ARGS__)("dync_mish takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_mish(text_, self) \
    DYNC_OP(dync_mish, dync__op_1T, DYNC__OP_mish, DYNC_T(self, "dync_mish: self"))
/* dync_neg: -self. */
DYNC_API dync_tensor *(dync_neg)(dync_tensor *self);
#define dync_neg(...) \
    DYNC_TAKES_1(DYNC_neg, DYNC_OTHER_T, __VA_ARGS__)("dync_neg takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_neg(text_, self) \
    DYNC_OP(dync_neg, dync__op_1T, DYNC__OP_neg, DYNC_T(self, "dync_neg: self"))
/* dync_reciprocal: 1 / self. */
DYNC_API dync_tensor *(dync_reciprocal)(dync_tensor *self);
#define dync_reciprocal(...) \
    DYNC_TAKES_1(DYNC_reciprocal, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_reciprocal takes 1 argument: self", __VA_ARGS__)
#define DYNC_reciprocal(text_, self) \
    DYNC_OP(dync_reciprocal, dync__op_1T, DYNC__OP_reciprocal, DYNC_T(self, \
    "dync_reciprocal: self"))
/* dync_relu: max(self, 0). */
DYNC_API dync_tensor *(dync_relu)(dync_tensor *self);
#define dync_relu(...) \
    DYNC_TAKES_1(DYNC_relu, DYNC_OTHER_T, __VA_ARGS__)("dync_relu takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_relu(text_, self) \
    DYNC_OP(dync_relu, dync__op_1T, DYNC__OP_relu, DYNC_T(self, "dync_relu: self"))
/* dync_relu6: min(max(self, 0), 6). */
DYNC_API dync_tensor *(dync_relu6)(dync_tensor *self);
#define dync_relu6(...) \
    DYNC_TAKES_1(DYNC_relu6, DYNC_OTHER_T, __VA_ARGS__)("dync_relu6 takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_relu6(text_, self) \
    DYNC_OP(dync_relu6, dync__op_1T, DYNC__OP_relu6, DYNC_T(self, "dync_relu6: self"))
/* dync_round: to the nearest integer, halves to even. */
DYNC_API dync_tensor *(dync_round)(dync_tensor *self);
#define dync_round(...) \
    DYNC_TAKES_1(DYNC_round, DYNC_OTHER_T, __VA_ARGS__)("dync_round takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_round(text_, self) \
    DYNC_OP(dync_round, dync__op_1T, DYNC__OP_round, DYNC_T(self, "dync_round: self"))
/* dync_rsqrt: 1 / sqrt(self). */
DYNC_API dync_tensor *(dync_rsqrt)(dync_tensor *self);
#define dync_rsqrt(...) \
    DYNC_TAKES_1(DYNC_rsqrt, DYNC_OTHER_T, __VA_ARGS__)("dync_rsqrt takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_rsqrt(text_, self) \
    DYNC_OP(dync_rsqrt, dync__op_1T, DYNC__OP_rsqrt, DYNC_T(self, "dync_rsqrt: self"))
/* dync_sgn: -1, 0 or 1. */
DYNC_API dync_tensor *(dync_sgn)(dync_tensor *self);
#define dync_sgn(...) \
    DYNC_TAKES_1(DYNC_sgn, DYNC_OTHER_T, __VA_ARGS__)("dync_sgn takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_sgn(text_, self) \
    DYNC_OP(dync_sgn, dync__op_1T, DYNC__OP_sgn, DYNC_T(self, "dync_sgn: self"))
/* dync_sigmoid: 1 / (1 + exp(-self)). */
DYNC_API dync_tensor *(dync_sigmoid)(dync_tensor *self);
#define dync_sigmoid(...) \
    DYNC_TAKES_1(DYNC_sigmoid, DYNC_OTHER_T, __VA_ARGS__)("dync_sigmoid takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_sigmoid(text_, self) \
    DYNC_OP(dync_sigmoid, dync__op_1T, DYNC__OP_sigmoid, DYNC_T(self, "dync_sigmoid: self"))
/* dync_sign: -1, 0 or 1. */
DYNC_API dync_tensor *(dync_sign)(dync_tensor *self);
#define dync_sign(...) \
    DYNC_TAKES_1(DYNC_sign, DYNC_OTHER_T, __VA_ARGS__)("dync_sign takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_sign(text_, self) \
    DYNC_OP(dync_sign, dync__op_1T, DYNC__OP_sign, DYNC_T(self, "dync_sign: self"))
/* dync_silu: self * sigmoid(self). */
DYNC_API dync_tensor *(dync_silu)(dync_tensor *self);
#define dync_silu(...) \
    DYNC_TAKES_1(DYNC_silu, DYNC_OTHER_T, __VA_ARGS__)("dync_silu takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_silu(text_, self) \
    DYNC_OP(dync_silu, dync__op_1T, DYNC__OP_silu, DYNC_T(self, "dync_silu: self"))
/* dync_sin: sine. */
DYNC_API dync_tensor *(dync_sin)(dync_tensor *self);
#define dync_sin(...) \
    DYNC_TAKES_1(DYNC_sin, DYNC_OTHER_T, __VA_ARGS__)("dync_sin takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_sin(text_, self) \
    DYNC_OP(dync_sin, dync__op_1T, DYNC__OP_sin, DYNC_T(self, "dync_sin: self"))
/* dync_sinh: hyperbolic sine. */
DYNC_API dync_tensor *(dync_sinh)(dync_tensor *self);
#define dync_sinh(...) \
    DYNC_TAKES_1(DYNC_sinh, DYNC_OTHER_T, __VA_ARGS__)("dync_sinh takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_sinh(text_, self) \
    DYNC_OP(dync_sinh, dync__op_1T, DYNC__OP_sinh, DYNC_T(self, "dync_sinh: self"))
/* dync_softplus: log(1 + exp(self)); self itself above 20. */
DYNC_API dync_tensor *(dync_softplus)(dync_tensor *self);
#define dync_softplus(...) \
    DYNC_TAKES_1(DYNC_softplus, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_softplus takes 1 argument: self", __VA_ARGS__)
#define DYNC_softplus(text_, self) \
    DYNC_OP(dync_softplus, dync__op_1T, DYNC__OP_softplus, DYNC_T(self, "dync_softplus: self"))
/* dync_sqrt: square root. */
DYNC_API dync_tensor *(dync_sqrt)(dync_tensor *self);
#define dync_sqrt(...) \
    DYNC_TAKES_1(DYNC_sqrt, DYNC_OTHER_T, __VA_ARGS__)("dync_sqrt takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_sqrt(text_, self) \
    DYNC_OP(dync_sqrt, dync__op_1T, DYNC__OP_sqrt, DYNC_T(self, "dync_sqrt: self"))
/* dync_square: self * self. */
DYNC_API dync_tensor *(dync_square)(dync_tensor *self);
#define dync_square(...) \
    DYNC_TAKES_1(DYNC_square, DYNC_OTHER_T, __VA_ARGS__)("dync_square takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_square(text_, self) \
    DYNC_OP(dync_square, dync__op_1T, DYNC__OP_square, DYNC_T(self, "dync_square: self"))
/* dync_tan: tangent. */
DYNC_API dync_tensor *(dync_tan)(dync_tensor *self);
#define dync_tan(...) \
    DYNC_TAKES_1(DYNC_tan, DYNC_OTHER_T, __VA_ARGS__)("dync_tan takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_tan(text_, self) \
    DYNC_OP(dync_tan, dync__op_1T, DYNC__OP_tan, DYNC_T(self, "dync_tan: self"))
/* dync_tanh: hyperbolic tangent. */
DYNC_API dync_tensor *(dync_tanh)(dync_tensor *self);
#define dync_tanh(...) \
    DYNC_TAKES_1(DYNC_tanh, DYNC_OTHER_T, __VA_ARGS__)("dync_tanh takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_tanh(text_, self) \
    DYNC_OP(dync_tanh, dync__op_1T, DYNC__OP_tanh, DYNC_T(self, "dync_tanh: self"))
/* dync_trunc: rounded towards zero. */
DYNC_API dync_tensor *(dync_trunc)(dync_tensor *self);
#define dync_trunc(...) \
    DYNC_TAKES_1(DYNC_trunc, DYNC_OTHER_T, __VA_ARGS__)("dync_trunc takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_trunc(text_, self) \
    DYNC_OP(dync_trunc, dync__op_1T, DYNC__OP_trunc, DYNC_T(self, "dync_trunc: self"))
/* dync_celu: self where positive, else alpha * (exp(self / alpha) - 1). */
DYNC_API dync_tensor *(dync_celu)(dync_tensor *self, dync_real alpha);
#define dync_celu(...) \
    DYNC_TAKES_2(DYNC_celu, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_celu takes 2 arguments: self, alpha", __VA_ARGS__)
#define DYNC_celu(text_, self, alpha) \
    DYNC_OP(dync_celu, dync__op_1Tf, DYNC__OP_celu, DYNC_T(self, "dync_celu: self"), alpha)
/* dync_glu: the first half of dim times sigmoid of the second. */
DYNC_API dync_tensor *(dync_glu)(dync_tensor *self, int dim);
#define dync_glu(...) \
    DYNC_TAKES_2(DYNC_glu, DYNC_OTHER_T, __VA_ARGS__)("dync_glu takes 2 arguments: self, dim", \
    __VA_ARGS__)
#define DYNC_glu(text_, self, dim) \
    DYNC_OP(dync_glu, dync__op_1Ti, DYNC__OP_glu, DYNC_T(self, "dync_glu: self"), dim)
/* dync_hardshrink: 0 where -lambd <= self <= lambd, else self. */
DYNC_API dync_tensor *(dync_hardshrink)(dync_tensor *self, dync_real lambd);
#define dync_hardshrink(...) \
    DYNC_TAKES_2(DYNC_hardshrink, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_hardshrink takes 2 arguments: self, lambd", __VA_ARGS__)
#define DYNC_hardshrink(text_, self, lambd) \
    DYNC_OP(dync_hardshrink, dync__op_1Tf, DYNC__OP_hardshrink, DYNC_T(self, \
    "dync_hardshrink: self"), lambd)
/* dync_hardsigmoid: self + 3 held between 0 and 6, over 6. */
DYNC_API dync_tensor *(dync_hardsigmoid)(dync_tensor *self);
#define dync_hardsigmoid(...) \
    DYNC_TAKES_1(DYNC_hardsigmoid, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_hardsigmoid takes 1 argument: self", __VA_ARGS__)
#define DYNC_hardsigmoid(text_, self) \
    DYNC_OP(dync_hardsigmoid, dync__op_1T, DYNC__OP_hardsigmoid, DYNC_T(self, \
    "dync_hardsigmoid: self"))
/* dync_hardswish: self * hardsigmoid(self). */
DYNC_API dync_tensor *(dync_hardswish)(dync_tensor *self);
#define dync_hardswish(...) \
    DYNC_TAKES_1(DYNC_hardswish, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_hardswish takes 1 argument: self", __VA_ARGS__)
#define DYNC_hardswish(text_, self) \
    DYNC_OP(dync_hardswish, dync__op_1T, DYNC__OP_hardswish, DYNC_T(self, "dync_hardswish: self"))
/* dync_prelu: self where positive, else weight * self; weight: one number, or one a channel (dim
 * 1). */
DYNC_API dync_tensor *(dync_prelu)(dync_tensor *self, dync_tensor *weight);
#define dync_prelu(...) \
    DYNC_TAKES_2(DYNC_prelu, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_prelu takes 2 arguments: self, weight", __VA_ARGS__)
#define DYNC_prelu(text_, self, weight) \
    DYNC_SEQ2(dync_prelu, dync__op_1TT, DYNC__OP_prelu, DYNC_T(self, "dync_prelu: self"), \
    DYNC_T(weight, "dync_prelu: weight"))
/* dync_selu: scaled elu whose fixed point has mean 0 and variance 1. */
DYNC_API dync_tensor *(dync_selu)(dync_tensor *self);
#define dync_selu(...) \
    DYNC_TAKES_1(DYNC_selu, DYNC_OTHER_T, __VA_ARGS__)("dync_selu takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_selu(text_, self) \
    DYNC_OP(dync_selu, dync__op_1T, DYNC__OP_selu, DYNC_T(self, "dync_selu: self"))
/* dync_softmin: softmax of -self. */
DYNC_API dync_tensor *(dync_softmin)(dync_tensor *self, int dim);
#define dync_softmin(...) \
    DYNC_TAKES_2(DYNC_softmin, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_softmin takes 2 arguments: self, dim", __VA_ARGS__)
#define DYNC_softmin(text_, self, dim) \
    DYNC_OP(dync_softmin, dync__op_1Ti, DYNC__OP_softmin, DYNC_T(self, "dync_softmin: self"), dim)
/* dync_softshrink: self moved by lambd towards 0, which it does not cross. */
DYNC_API dync_tensor *(dync_softshrink)(dync_tensor *self, dync_real lambd);
#define dync_softshrink(...) \
    DYNC_TAKES_2(DYNC_softshrink, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_softshrink takes 2 arguments: self, lambd", __VA_ARGS__)
#define DYNC_softshrink(text_, self, lambd) \
    DYNC_OP(dync_softshrink, dync__op_1Tf, DYNC__OP_softshrink, DYNC_T(self, \
    "dync_softshrink: self"), lambd)
/* dync_softsign: self / (1 + abs(self)). */
DYNC_API dync_tensor *(dync_softsign)(dync_tensor *self);
#define dync_softsign(...) \
    DYNC_TAKES_1(DYNC_softsign, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_softsign takes 1 argument: self", __VA_ARGS__)
#define DYNC_softsign(text_, self) \
    DYNC_OP(dync_softsign, dync__op_1T, DYNC__OP_softsign, DYNC_T(self, "dync_softsign: self"))
/* dync_tanhshrink: self - tanh(self). */
DYNC_API dync_tensor *(dync_tanhshrink)(dync_tensor *self);
#define dync_tanhshrink(...) \
    DYNC_TAKES_1(DYNC_tanhshrink, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_tanhshrink takes 1 argument: self", __VA_ARGS__)
#define DYNC_tanhshrink(text_, self) \
    DYNC_OP(dync_tanhshrink, dync__op_1T, DYNC__OP_tanhshrink, DYNC_T(self, \
    "dync_tanhshrink: self"))
/* dync_threshold: self where above threshold, else value. */
DYNC_API dync_tensor *(dync_threshold)(dync_tensor *self, dync_real threshold, dync_value value);
#define dync_threshold(...) \
    DYNC_TAKES_3(DYNC_threshold, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_threshold takes 3 arguments: self, threshold, value", __VA_ARGS__)
#define DYNC_threshold(text_, self, threshold, value) \
    DYNC_OP(dync_threshold, dync__op_1TfV, DYNC__OP_threshold, DYNC_T(self, \
    "dync_threshold: self"), threshold, DYNC_V(value))
