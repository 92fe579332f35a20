/* ---- operators: PyTorch's names, semantics, type promotion and broadcasting; trailing _ works in place ---------
 *
 * Generated from src/op/ops.def.h by tools/genops.c: edit the table, then `make headers`.
 *
 * Each operator is a function, dync_add, and a macro of that name that hands its place in the source to dync_add_at, so
 * that an error says file and line. (dync_add)(a, b) is the function. What holds for all of them:
 *
 *   dync_value  any C expression: a tensor, a number, a bool (DYNC_V): dync_add(x, 2), dync_sub(1.0, x)
 *   dims        a shape literal of dimensions, dync_shape(0, -1); DYNC_ALL is all of them
 *   dim         -rank <= dim < rank; negative counts from the end
 *   ->          a new tensor, owned by the scope; NULL on failure
 *   errors      DYNC_ERR_SHAPE, DYNC_ERR_DTYPE, DYNC_ERR_DEVICE, DYNC_ERR_INDEX, DYNC_ERR_VALUE, DYNC_ERR_MEMORY
 *   notes       NULL operands give NULL; a failed call leaves its operands as they were
 *   thread      any */
#define DYNC_ALL (DYNC_LITERAL(dync_dims){0, {0}})              /* every dimension */
#define DYNC_END INT64_MAX                                       /* open slice end */
/* dync_add: self + other; type promotion and broadcasting as PyTorch. */
DYNC_API dync_tensor *(dync_add)(dync_value self, dync_value other);
DYNC_API dync_tensor *dync_add_at(dync_value self, dync_value other, dync_loc at);
#define dync_add(self, other) DYNC_SEQ2(dync_add, DYNC_V(self), DYNC_V(other))
/* dync_atan2: the angle of the point (other, self), in (-pi, pi]. */
DYNC_API dync_tensor *(dync_atan2)(dync_value self, dync_value other);
DYNC_API dync_tensor *dync_atan2_at(dync_value self, dync_value other, dync_loc at);
#define dync_atan2(self, other) DYNC_SEQ2(dync_atan2, DYNC_V(self), DYNC_V(other))
/* dync_bitwise_and: bitwise and of integers, logical and of bools. No gradient. */
DYNC_API dync_tensor *(dync_bitwise_and)(dync_value self, dync_value other);
DYNC_API dync_tensor *dync_bitwise_and_at(dync_value self, dync_value other, dync_loc at);
#define dync_bitwise_and(self, other) DYNC_SEQ2(dync_bitwise_and, DYNC_V(self), DYNC_V(other))
/* dync_bitwise_or: bitwise or of integers, logical or of bools. No gradient. */
DYNC_API dync_tensor *(dync_bitwise_or)(dync_value self, dync_value other);
DYNC_API dync_tensor *dync_bitwise_or_at(dync_value self, dync_value other, dync_loc at);
#define dync_bitwise_or(self, other) DYNC_SEQ2(dync_bitwise_or, DYNC_V(self), DYNC_V(other))
/* dync_bitwise_xor: bitwise exclusive or of integers and bools. No gradient. */
DYNC_API dync_tensor *(dync_bitwise_xor)(dync_value self, dync_value other);
DYNC_API dync_tensor *dync_bitwise_xor_at(dync_value self, dync_value other, dync_loc at);
#define dync_bitwise_xor(self, other) DYNC_SEQ2(dync_bitwise_xor, DYNC_V(self), DYNC_V(other))
/* dync_div: self / other; integers give a float. */
DYNC_API dync_tensor *(dync_div)(dync_value self, dync_value other);
DYNC_API dync_tensor *dync_div_at(dync_value self, dync_value other, dync_loc at);
#define dync_div(self, other) DYNC_SEQ2(dync_div, DYNC_V(self), DYNC_V(other))
/* dync_eq: self == other, as bool. No gradient. */
DYNC_API dync_tensor *(dync_eq)(dync_value self, dync_value other);
DYNC_API dync_tensor *dync_eq_at(dync_value self, dync_value other, dync_loc at);
#define dync_eq(self, other) DYNC_SEQ2(dync_eq, DYNC_V(self), DYNC_V(other))
/* dync_floor_divide: the quotient rounded towards minus infinity; keeps integers. No gradient. */
DYNC_API dync_tensor *(dync_floor_divide)(dync_value self, dync_value other);
DYNC_API dync_tensor *dync_floor_divide_at(dync_value self, dync_value other, dync_loc at);
#define dync_floor_divide(self, other) DYNC_SEQ2(dync_floor_divide, DYNC_V(self), DYNC_V(other))
/* dync_fmod: C's remainder: the sign of self. */
DYNC_API dync_tensor *(dync_fmod)(dync_value self, dync_value other);
DYNC_API dync_tensor *dync_fmod_at(dync_value self, dync_value other, dync_loc at);
#define dync_fmod(self, other) DYNC_SEQ2(dync_fmod, DYNC_V(self), DYNC_V(other))
/* dync_ge: self >= other, as bool. No gradient. */
DYNC_API dync_tensor *(dync_ge)(dync_value self, dync_value other);
DYNC_API dync_tensor *dync_ge_at(dync_value self, dync_value other, dync_loc at);
#define dync_ge(self, other) DYNC_SEQ2(dync_ge, DYNC_V(self), DYNC_V(other))
/* dync_gt: self > other, as bool. No gradient. */
DYNC_API dync_tensor *(dync_gt)(dync_value self, dync_value other);
DYNC_API dync_tensor *dync_gt_at(dync_value self, dync_value other, dync_loc at);
#define dync_gt(self, other) DYNC_SEQ2(dync_gt, DYNC_V(self), DYNC_V(other))
/* dync_le: self <= other, as bool. No gradient. */
DYNC_API dync_tensor *(dync_le)(dync_value self, dync_value other);
DYNC_API dync_tensor *dync_le_at(dync_value self, dync_value other, dync_loc at);
#define dync_le(self, other) DYNC_SEQ2(dync_le, DYNC_V(self), DYNC_V(other))
/* dync_logical_and: both are not zero. No gradient. */
DYNC_API dync_tensor *(dync_logical_and)(dync_value self, dync_value other);
DYNC_API dync_tensor *dync_logical_and_at(dync_value self, dync_value other, dync_loc at);
#define dync_logical_and(self, other) DYNC_SEQ2(dync_logical_and, DYNC_V(self), DYNC_V(other))
/* dync_logical_or: one of them is not zero. No gradient. */
DYNC_API dync_tensor *(dync_logical_or)(dync_value self, dync_value other);
DYNC_API dync_tensor *dync_logical_or_at(dync_value self, dync_value other, dync_loc at);
#define dync_logical_or(self, other) DYNC_SEQ2(dync_logical_or, DYNC_V(self), DYNC_V(other))
/* dync_logical_xor: exactly one of them is not zero. No gradient. */
DYNC_API dync_tensor *(dync_logical_xor)(dync_value self, dync_value other);
DYNC_API dync_tensor *dync_logical_xor_at(dync_value self, dync_value other, dync_loc at);
#define dync_logical_xor(self, other) DYNC_SEQ2(dync_logical_xor, DYNC_V(self), DYNC_V(other))
/* dync_lt: self < other, as bool. No gradient. */
DYNC_API dync_tensor *(dync_lt)(dync_value self, dync_value other);
DYNC_API dync_tensor *dync_lt_at(dync_value self, dync_value other, dync_loc at);
#define dync_lt(self, other) DYNC_SEQ2(dync_lt, DYNC_V(self), DYNC_V(other))
/* dync_maximum: the larger of the two; NaN wins. */
DYNC_API dync_tensor *(dync_maximum)(dync_value self, dync_value other);
DYNC_API dync_tensor *dync_maximum_at(dync_value self, dync_value other, dync_loc at);
#define dync_maximum(self, other) DYNC_SEQ2(dync_maximum, DYNC_V(self), DYNC_V(other))
/* dync_minimum: the smaller of the two; NaN wins. */
DYNC_API dync_tensor *(dync_minimum)(dync_value self, dync_value other);
DYNC_API dync_tensor *dync_minimum_at(dync_value self, dync_value other, dync_loc at);
#define dync_minimum(self, other) DYNC_SEQ2(dync_minimum, DYNC_V(self), DYNC_V(other))
/* dync_mul: self * other. */
DYNC_API dync_tensor *(dync_mul)(dync_value self, dync_value other);
DYNC_API dync_tensor *dync_mul_at(dync_value self, dync_value other, dync_loc at);
#define dync_mul(self, other) DYNC_SEQ2(dync_mul, DYNC_V(self), DYNC_V(other))
/* dync_ne: self != other, as bool. No gradient. */
DYNC_API dync_tensor *(dync_ne)(dync_value self, dync_value other);
DYNC_API dync_tensor *dync_ne_at(dync_value self, dync_value other, dync_loc at);
#define dync_ne(self, other) DYNC_SEQ2(dync_ne, DYNC_V(self), DYNC_V(other))
/* dync_pow: self to the power other. */
DYNC_API dync_tensor *(dync_pow)(dync_value self, dync_value other);
DYNC_API dync_tensor *dync_pow_at(dync_value self, dync_value other, dync_loc at);
#define dync_pow(self, other) DYNC_SEQ2(dync_pow, DYNC_V(self), DYNC_V(other))
/* dync_remainder: Python's remainder: the sign of other. */
DYNC_API dync_tensor *(dync_remainder)(dync_value self, dync_value other);
DYNC_API dync_tensor *dync_remainder_at(dync_value self, dync_value other, dync_loc at);
#define dync_remainder(self, other) DYNC_SEQ2(dync_remainder, DYNC_V(self), DYNC_V(other))
/* dync_sub: self - other; not of bools. */
DYNC_API dync_tensor *(dync_sub)(dync_value self, dync_value other);
DYNC_API dync_tensor *dync_sub_at(dync_value self, dync_value other, dync_loc at);
#define dync_sub(self, other) DYNC_SEQ2(dync_sub, DYNC_V(self), DYNC_V(other))
/* dync_addcdiv: self + value * tensor1 / tensor2. */
DYNC_API dync_tensor *(dync_addcdiv)(dync_tensor *self, dync_tensor *tensor1, dync_tensor *tensor2, dync_value value);
DYNC_API dync_tensor *dync_addcdiv_at(dync_tensor *self, dync_tensor *tensor1, dync_tensor *tensor2, dync_value value, dync_loc at);
#define dync_addcdiv(self, tensor1, tensor2, value) DYNC_SEQ3_AND(dync_addcdiv, self, tensor1, tensor2, DYNC_V(value))
/* dync_addcmul: self + value * tensor1 * tensor2. */
DYNC_API dync_tensor *(dync_addcmul)(dync_tensor *self, dync_tensor *tensor1, dync_tensor *tensor2, dync_value value);
DYNC_API dync_tensor *dync_addcmul_at(dync_tensor *self, dync_tensor *tensor1, dync_tensor *tensor2, dync_value value, dync_loc at);
#define dync_addcmul(self, tensor1, tensor2, value) DYNC_SEQ3_AND(dync_addcmul, self, tensor1, tensor2, DYNC_V(value))
/* dync_clamp: self held between low and high; DYNC_NONE leaves a side open. */
DYNC_API dync_tensor *(dync_clamp)(dync_tensor *self, dync_value low, dync_value high);
DYNC_API dync_tensor *dync_clamp_at(dync_tensor *self, dync_value low, dync_value high, dync_loc at);
#define dync_clamp(self, low, high) DYNC_OP_AT(dync_clamp)(self, DYNC_V(low), DYNC_V(high) DYNC_OP_HERE)
/* dync_lerp: self + weight * (end - self). */
DYNC_API dync_tensor *(dync_lerp)(dync_tensor *self, dync_tensor *end, dync_value weight);
DYNC_API dync_tensor *dync_lerp_at(dync_tensor *self, dync_tensor *end, dync_value weight, dync_loc at);
#define dync_lerp(self, end, weight) DYNC_SEQ2_AND(dync_lerp, self, end, DYNC_V(weight))
/* dync_masked_fill: value where the bool mask is set, self elsewhere. */
DYNC_API dync_tensor *(dync_masked_fill)(dync_tensor *self, dync_tensor *mask, dync_value value);
DYNC_API dync_tensor *dync_masked_fill_at(dync_tensor *self, dync_tensor *mask, dync_value value, dync_loc at);
#define dync_masked_fill(self, mask, value) DYNC_SEQ2_AND(dync_masked_fill, self, mask, DYNC_V(value))
/* dync_where: self where the condition holds, other elsewhere. */
DYNC_API dync_tensor *(dync_where)(dync_tensor *condition, dync_value self, dync_value other);
DYNC_API dync_tensor *dync_where_at(dync_tensor *condition, dync_value self, dync_value other, dync_loc at);
#define dync_where(condition, self, other) DYNC_SEQ2_AND(dync_where, condition, DYNC_V(self), DYNC_V(other))
/* dync_abs: absolute value. */
DYNC_API dync_tensor *(dync_abs)(dync_tensor *self);
DYNC_API dync_tensor *dync_abs_at(dync_tensor *self, dync_loc at);
#define dync_abs(self) DYNC_OP_AT(dync_abs)(self DYNC_OP_HERE)
/* dync_acos: inverse cosine. */
DYNC_API dync_tensor *(dync_acos)(dync_tensor *self);
DYNC_API dync_tensor *dync_acos_at(dync_tensor *self, dync_loc at);
#define dync_acos(self) DYNC_OP_AT(dync_acos)(self DYNC_OP_HERE)
/* dync_asin: inverse sine. */
DYNC_API dync_tensor *(dync_asin)(dync_tensor *self);
DYNC_API dync_tensor *dync_asin_at(dync_tensor *self, dync_loc at);
#define dync_asin(self) DYNC_OP_AT(dync_asin)(self DYNC_OP_HERE)
/* dync_atan: inverse tangent. */
DYNC_API dync_tensor *(dync_atan)(dync_tensor *self);
DYNC_API dync_tensor *dync_atan_at(dync_tensor *self, dync_loc at);
#define dync_atan(self) DYNC_OP_AT(dync_atan)(self DYNC_OP_HERE)
/* dync_bitwise_not: every bit inverted; logical not of bools. No gradient. */
DYNC_API dync_tensor *(dync_bitwise_not)(dync_tensor *self);
DYNC_API dync_tensor *dync_bitwise_not_at(dync_tensor *self, dync_loc at);
#define dync_bitwise_not(self) DYNC_OP_AT(dync_bitwise_not)(self DYNC_OP_HERE)
/* dync_ceil: rounded towards plus infinity. */
DYNC_API dync_tensor *(dync_ceil)(dync_tensor *self);
DYNC_API dync_tensor *dync_ceil_at(dync_tensor *self, dync_loc at);
#define dync_ceil(self) DYNC_OP_AT(dync_ceil)(self DYNC_OP_HERE)
/* dync_cos: cosine. */
DYNC_API dync_tensor *(dync_cos)(dync_tensor *self);
DYNC_API dync_tensor *dync_cos_at(dync_tensor *self, dync_loc at);
#define dync_cos(self) DYNC_OP_AT(dync_cos)(self DYNC_OP_HERE)
/* dync_cosh: hyperbolic cosine. */
DYNC_API dync_tensor *(dync_cosh)(dync_tensor *self);
DYNC_API dync_tensor *dync_cosh_at(dync_tensor *self, dync_loc at);
#define dync_cosh(self) DYNC_OP_AT(dync_cosh)(self DYNC_OP_HERE)
/* dync_elu: self where positive, else alpha * (exp(self) - 1). */
DYNC_API dync_tensor *(dync_elu)(dync_tensor *self, double alpha);
DYNC_API dync_tensor *dync_elu_at(dync_tensor *self, double alpha, dync_loc at);
#define dync_elu(self, alpha) DYNC_OP_AT(dync_elu)(self, alpha DYNC_OP_HERE)
/* dync_erf: error function. */
DYNC_API dync_tensor *(dync_erf)(dync_tensor *self);
DYNC_API dync_tensor *dync_erf_at(dync_tensor *self, dync_loc at);
#define dync_erf(self) DYNC_OP_AT(dync_erf)(self DYNC_OP_HERE)
/* dync_erfc: 1 - erf(self), without cancellation. */
DYNC_API dync_tensor *(dync_erfc)(dync_tensor *self);
DYNC_API dync_tensor *dync_erfc_at(dync_tensor *self, dync_loc at);
#define dync_erfc(self) DYNC_OP_AT(dync_erfc)(self DYNC_OP_HERE)
/* dync_exp: e to the power self. */
DYNC_API dync_tensor *(dync_exp)(dync_tensor *self);
DYNC_API dync_tensor *dync_exp_at(dync_tensor *self, dync_loc at);
#define dync_exp(self) DYNC_OP_AT(dync_exp)(self DYNC_OP_HERE)
/* dync_exp2: 2 to the power self. */
DYNC_API dync_tensor *(dync_exp2)(dync_tensor *self);
DYNC_API dync_tensor *dync_exp2_at(dync_tensor *self, dync_loc at);
#define dync_exp2(self) DYNC_OP_AT(dync_exp2)(self DYNC_OP_HERE)
/* dync_expm1: exp(self) - 1, without cancellation. */
DYNC_API dync_tensor *(dync_expm1)(dync_tensor *self);
DYNC_API dync_tensor *dync_expm1_at(dync_tensor *self, dync_loc at);
#define dync_expm1(self) DYNC_OP_AT(dync_expm1)(self DYNC_OP_HERE)
/* dync_floor: rounded towards minus infinity. */
DYNC_API dync_tensor *(dync_floor)(dync_tensor *self);
DYNC_API dync_tensor *dync_floor_at(dync_tensor *self, dync_loc at);
#define dync_floor(self) DYNC_OP_AT(dync_floor)(self DYNC_OP_HERE)
/* dync_frac: self - trunc(self). */
DYNC_API dync_tensor *(dync_frac)(dync_tensor *self);
DYNC_API dync_tensor *dync_frac_at(dync_tensor *self, dync_loc at);
#define dync_frac(self) DYNC_OP_AT(dync_frac)(self DYNC_OP_HERE)
/* dync_gelu: self * Phi(self), Phi the normal distribution by erf. */
DYNC_API dync_tensor *(dync_gelu)(dync_tensor *self);
DYNC_API dync_tensor *dync_gelu_at(dync_tensor *self, dync_loc at);
#define dync_gelu(self) DYNC_OP_AT(dync_gelu)(self DYNC_OP_HERE)
/* dync_gelu_tanh: gelu with Phi approximated by tanh. */
DYNC_API dync_tensor *(dync_gelu_tanh)(dync_tensor *self);
DYNC_API dync_tensor *dync_gelu_tanh_at(dync_tensor *self, dync_loc at);
#define dync_gelu_tanh(self) DYNC_OP_AT(dync_gelu_tanh)(self DYNC_OP_HERE)
/* dync_hardtanh: self held between low and high. */
DYNC_API dync_tensor *(dync_hardtanh)(dync_tensor *self, double low, double high);
DYNC_API dync_tensor *dync_hardtanh_at(dync_tensor *self, double low, double high, dync_loc at);
#define dync_hardtanh(self, low, high) DYNC_OP_AT(dync_hardtanh)(self, low, high DYNC_OP_HERE)
/* dync_isfinite: neither infinite nor NaN, as bool. No gradient. */
DYNC_API dync_tensor *(dync_isfinite)(dync_tensor *self);
DYNC_API dync_tensor *dync_isfinite_at(dync_tensor *self, dync_loc at);
#define dync_isfinite(self) DYNC_OP_AT(dync_isfinite)(self DYNC_OP_HERE)
/* dync_isinf: plus or minus infinity, as bool. No gradient. */
DYNC_API dync_tensor *(dync_isinf)(dync_tensor *self);
DYNC_API dync_tensor *dync_isinf_at(dync_tensor *self, dync_loc at);
#define dync_isinf(self) DYNC_OP_AT(dync_isinf)(self DYNC_OP_HERE)
/* dync_isnan: NaN, as bool. No gradient. */
DYNC_API dync_tensor *(dync_isnan)(dync_tensor *self);
DYNC_API dync_tensor *dync_isnan_at(dync_tensor *self, dync_loc at);
#define dync_isnan(self) DYNC_OP_AT(dync_isnan)(self DYNC_OP_HERE)
/* dync_leaky_relu: self where positive, else negative_slope * self. */
DYNC_API dync_tensor *(dync_leaky_relu)(dync_tensor *self, double negative_slope);
DYNC_API dync_tensor *dync_leaky_relu_at(dync_tensor *self, double negative_slope, dync_loc at);
#define dync_leaky_relu(self, negative_slope) DYNC_OP_AT(dync_leaky_relu)(self, negative_slope DYNC_OP_HERE)
/* dync_log: natural logarithm. */
DYNC_API dync_tensor *(dync_log)(dync_tensor *self);
DYNC_API dync_tensor *dync_log_at(dync_tensor *self, dync_loc at);
#define dync_log(self) DYNC_OP_AT(dync_log)(self DYNC_OP_HERE)
/* dync_log10: logarithm to base 10. */
DYNC_API dync_tensor *(dync_log10)(dync_tensor *self);
DYNC_API dync_tensor *dync_log10_at(dync_tensor *self, dync_loc at);
#define dync_log10(self) DYNC_OP_AT(dync_log10)(self DYNC_OP_HERE)
/* dync_log1p: log(1 + self), without cancellation. */
DYNC_API dync_tensor *(dync_log1p)(dync_tensor *self);
DYNC_API dync_tensor *dync_log1p_at(dync_tensor *self, dync_loc at);
#define dync_log1p(self) DYNC_OP_AT(dync_log1p)(self DYNC_OP_HERE)
/* dync_log2: logarithm to base 2. */
DYNC_API dync_tensor *(dync_log2)(dync_tensor *self);
DYNC_API dync_tensor *dync_log2_at(dync_tensor *self, dync_loc at);
#define dync_log2(self) DYNC_OP_AT(dync_log2)(self DYNC_OP_HERE)
/* dync_logical_not: self is zero, as bool. No gradient. */
DYNC_API dync_tensor *(dync_logical_not)(dync_tensor *self);
DYNC_API dync_tensor *dync_logical_not_at(dync_tensor *self, dync_loc at);
#define dync_logical_not(self) DYNC_OP_AT(dync_logical_not)(self DYNC_OP_HERE)
/* dync_logsigmoid: log(sigmoid(self)), without overflow. */
DYNC_API dync_tensor *(dync_logsigmoid)(dync_tensor *self);
DYNC_API dync_tensor *dync_logsigmoid_at(dync_tensor *self, dync_loc at);
#define dync_logsigmoid(self) DYNC_OP_AT(dync_logsigmoid)(self DYNC_OP_HERE)
/* dync_mish: self * tanh(softplus(self)). */
DYNC_API dync_tensor *(dync_mish)(dync_tensor *self);
DYNC_API dync_tensor *dync_mish_at(dync_tensor *self, dync_loc at);
#define dync_mish(self) DYNC_OP_AT(dync_mish)(self DYNC_OP_HERE)
/* dync_neg: -self. */
DYNC_API dync_tensor *(dync_neg)(dync_tensor *self);
DYNC_API dync_tensor *dync_neg_at(dync_tensor *self, dync_loc at);
#define dync_neg(self) DYNC_OP_AT(dync_neg)(self DYNC_OP_HERE)
/* dync_reciprocal: 1 / self. */
DYNC_API dync_tensor *(dync_reciprocal)(dync_tensor *self);
DYNC_API dync_tensor *dync_reciprocal_at(dync_tensor *self, dync_loc at);
#define dync_reciprocal(self) DYNC_OP_AT(dync_reciprocal)(self DYNC_OP_HERE)
/* dync_relu: max(self, 0). */
DYNC_API dync_tensor *(dync_relu)(dync_tensor *self);
DYNC_API dync_tensor *dync_relu_at(dync_tensor *self, dync_loc at);
#define dync_relu(self) DYNC_OP_AT(dync_relu)(self DYNC_OP_HERE)
/* dync_relu6: min(max(self, 0), 6). */
DYNC_API dync_tensor *(dync_relu6)(dync_tensor *self);
DYNC_API dync_tensor *dync_relu6_at(dync_tensor *self, dync_loc at);
#define dync_relu6(self) DYNC_OP_AT(dync_relu6)(self DYNC_OP_HERE)
/* dync_round: to the nearest integer, halves to even. */
DYNC_API dync_tensor *(dync_round)(dync_tensor *self);
DYNC_API dync_tensor *dync_round_at(dync_tensor *self, dync_loc at);
#define dync_round(self) DYNC_OP_AT(dync_round)(self DYNC_OP_HERE)
/* dync_rsqrt: 1 / sqrt(self). */
DYNC_API dync_tensor *(dync_rsqrt)(dync_tensor *self);
DYNC_API dync_tensor *dync_rsqrt_at(dync_tensor *self, dync_loc at);
#define dync_rsqrt(self) DYNC_OP_AT(dync_rsqrt)(self DYNC_OP_HERE)
/* dync_sgn: -1, 0 or 1. */
DYNC_API dync_tensor *(dync_sgn)(dync_tensor *self);
DYNC_API dync_tensor *dync_sgn_at(dync_tensor *self, dync_loc at);
#define dync_sgn(self) DYNC_OP_AT(dync_sgn)(self DYNC_OP_HERE)
/* dync_sigmoid: 1 / (1 + exp(-self)). */
DYNC_API dync_tensor *(dync_sigmoid)(dync_tensor *self);
DYNC_API dync_tensor *dync_sigmoid_at(dync_tensor *self, dync_loc at);
#define dync_sigmoid(self) DYNC_OP_AT(dync_sigmoid)(self DYNC_OP_HERE)
/* dync_sign: -1, 0 or 1. */
DYNC_API dync_tensor *(dync_sign)(dync_tensor *self);
DYNC_API dync_tensor *dync_sign_at(dync_tensor *self, dync_loc at);
#define dync_sign(self) DYNC_OP_AT(dync_sign)(self DYNC_OP_HERE)
/* dync_silu: self * sigmoid(self). */
DYNC_API dync_tensor *(dync_silu)(dync_tensor *self);
DYNC_API dync_tensor *dync_silu_at(dync_tensor *self, dync_loc at);
#define dync_silu(self) DYNC_OP_AT(dync_silu)(self DYNC_OP_HERE)
/* dync_sin: sine. */
DYNC_API dync_tensor *(dync_sin)(dync_tensor *self);
DYNC_API dync_tensor *dync_sin_at(dync_tensor *self, dync_loc at);
#define dync_sin(self) DYNC_OP_AT(dync_sin)(self DYNC_OP_HERE)
/* dync_sinh: hyperbolic sine. */
DYNC_API dync_tensor *(dync_sinh)(dync_tensor *self);
DYNC_API dync_tensor *dync_sinh_at(dync_tensor *self, dync_loc at);
#define dync_sinh(self) DYNC_OP_AT(dync_sinh)(self DYNC_OP_HERE)
/* dync_softplus: log(1 + exp(self)); self itself above 20. */
DYNC_API dync_tensor *(dync_softplus)(dync_tensor *self);
DYNC_API dync_tensor *dync_softplus_at(dync_tensor *self, dync_loc at);
#define dync_softplus(self) DYNC_OP_AT(dync_softplus)(self DYNC_OP_HERE)
/* dync_sqrt: square root. */
DYNC_API dync_tensor *(dync_sqrt)(dync_tensor *self);
DYNC_API dync_tensor *dync_sqrt_at(dync_tensor *self, dync_loc at);
#define dync_sqrt(self) DYNC_OP_AT(dync_sqrt)(self DYNC_OP_HERE)
/* dync_square: self * self. */
DYNC_API dync_tensor *(dync_square)(dync_tensor *self);
DYNC_API dync_tensor *dync_square_at(dync_tensor *self, dync_loc at);
#define dync_square(self) DYNC_OP_AT(dync_square)(self DYNC_OP_HERE)
/* dync_tan: tangent. */
DYNC_API dync_tensor *(dync_tan)(dync_tensor *self);
DYNC_API dync_tensor *dync_tan_at(dync_tensor *self, dync_loc at);
#define dync_tan(self) DYNC_OP_AT(dync_tan)(self DYNC_OP_HERE)
/* dync_tanh: hyperbolic tangent. */
DYNC_API dync_tensor *(dync_tanh)(dync_tensor *self);
DYNC_API dync_tensor *dync_tanh_at(dync_tensor *self, dync_loc at);
#define dync_tanh(self) DYNC_OP_AT(dync_tanh)(self DYNC_OP_HERE)
/* dync_trunc: rounded towards zero. */
DYNC_API dync_tensor *(dync_trunc)(dync_tensor *self);
DYNC_API dync_tensor *dync_trunc_at(dync_tensor *self, dync_loc at);
#define dync_trunc(self) DYNC_OP_AT(dync_trunc)(self DYNC_OP_HERE)
/* dync_abs_: absolute value. In place; returns self. */
DYNC_API dync_tensor *(dync_abs_)(dync_tensor *self);
DYNC_API dync_tensor *dync_abs__at(dync_tensor *self, dync_loc at);
#define dync_abs_(self) DYNC_OP_AT(dync_abs_)(self DYNC_OP_HERE)
/* dync_add_: adds other into self; self keeps its dtype. In place; returns self. */
DYNC_API dync_tensor *(dync_add_)(dync_tensor *self, dync_value other);
DYNC_API dync_tensor *dync_add__at(dync_tensor *self, dync_value other, dync_loc at);
#define dync_add_(self, other) DYNC_SEQ2(dync_add_, self, DYNC_V(other))
/* dync_addcdiv_: adds value * tensor1 / tensor2. In place; returns self. */
DYNC_API dync_tensor *(dync_addcdiv_)(dync_tensor *self, dync_tensor *tensor1, dync_tensor *tensor2, dync_value value);
DYNC_API dync_tensor *dync_addcdiv__at(dync_tensor *self, dync_tensor *tensor1, dync_tensor *tensor2, dync_value value, dync_loc at);
#define dync_addcdiv_(self, tensor1, tensor2, value) DYNC_SEQ3_AND(dync_addcdiv_, self, tensor1, tensor2, DYNC_V(value))
/* dync_addcmul_: adds value * tensor1 * tensor2. In place; returns self. */
DYNC_API dync_tensor *(dync_addcmul_)(dync_tensor *self, dync_tensor *tensor1, dync_tensor *tensor2, dync_value value);
DYNC_API dync_tensor *dync_addcmul__at(dync_tensor *self, dync_tensor *tensor1, dync_tensor *tensor2, dync_value value, dync_loc at);
#define dync_addcmul_(self, tensor1, tensor2, value) DYNC_SEQ3_AND(dync_addcmul_, self, tensor1, tensor2, DYNC_V(value))
/* dync_ceil_: rounds towards plus infinity. In place; returns self. */
DYNC_API dync_tensor *(dync_ceil_)(dync_tensor *self);
DYNC_API dync_tensor *dync_ceil__at(dync_tensor *self, dync_loc at);
#define dync_ceil_(self) DYNC_OP_AT(dync_ceil_)(self DYNC_OP_HERE)
/* dync_clamp_: holds self between low and high. In place; returns self. */
DYNC_API dync_tensor *(dync_clamp_)(dync_tensor *self, dync_value low, dync_value high);
DYNC_API dync_tensor *dync_clamp__at(dync_tensor *self, dync_value low, dync_value high, dync_loc at);
#define dync_clamp_(self, low, high) DYNC_OP_AT(dync_clamp_)(self, DYNC_V(low), DYNC_V(high) DYNC_OP_HERE)
/* dync_copy_: writes src, broadcast and cast, over self. In place; returns self. */
DYNC_API dync_tensor *(dync_copy_)(dync_tensor *self, dync_value src);
DYNC_API dync_tensor *dync_copy__at(dync_tensor *self, dync_value src, dync_loc at);
#define dync_copy_(self, src) DYNC_SEQ2(dync_copy_, self, DYNC_V(src))
/* dync_cos_: cosine. In place; returns self. */
DYNC_API dync_tensor *(dync_cos_)(dync_tensor *self);
DYNC_API dync_tensor *dync_cos__at(dync_tensor *self, dync_loc at);
#define dync_cos_(self) DYNC_OP_AT(dync_cos_)(self DYNC_OP_HERE)
/* dync_div_: divides self by other. In place; returns self. */
DYNC_API dync_tensor *(dync_div_)(dync_tensor *self, dync_value other);
DYNC_API dync_tensor *dync_div__at(dync_tensor *self, dync_value other, dync_loc at);
#define dync_div_(self, other) DYNC_SEQ2(dync_div_, self, DYNC_V(other))
/* dync_exp_: e to the power self. In place; returns self. */
DYNC_API dync_tensor *(dync_exp_)(dync_tensor *self);
DYNC_API dync_tensor *dync_exp__at(dync_tensor *self, dync_loc at);
#define dync_exp_(self) DYNC_OP_AT(dync_exp_)(self DYNC_OP_HERE)
/* dync_fill_: writes one number everywhere. In place; returns self. */
DYNC_API dync_tensor *(dync_fill_)(dync_tensor *self, dync_value value);
DYNC_API dync_tensor *dync_fill__at(dync_tensor *self, dync_value value, dync_loc at);
#define dync_fill_(self, value) DYNC_SEQ2(dync_fill_, self, DYNC_V(value))
/* dync_floor_: rounds towards minus infinity. In place; returns self. */
DYNC_API dync_tensor *(dync_floor_)(dync_tensor *self);
DYNC_API dync_tensor *dync_floor__at(dync_tensor *self, dync_loc at);
#define dync_floor_(self) DYNC_OP_AT(dync_floor_)(self DYNC_OP_HERE)
/* dync_index_add_: adds rows of source into the rows that index names. In place; returns self. */
DYNC_API dync_tensor *(dync_index_add_)(dync_tensor *self, int dim, dync_tensor *index, dync_tensor *source);
DYNC_API dync_tensor *dync_index_add__at(dync_tensor *self, int dim, dync_tensor *index, dync_tensor *source, dync_loc at);
#define dync_index_add_(self, dim, index, source) DYNC_OP_AT(dync_index_add_)(self, dim, index, source DYNC_OP_HERE)
/* dync_lerp_: moves self towards end. In place; returns self. */
DYNC_API dync_tensor *(dync_lerp_)(dync_tensor *self, dync_tensor *end, dync_value weight);
DYNC_API dync_tensor *dync_lerp__at(dync_tensor *self, dync_tensor *end, dync_value weight, dync_loc at);
#define dync_lerp_(self, end, weight) DYNC_SEQ2_AND(dync_lerp_, self, end, DYNC_V(weight))
/* dync_log_: natural logarithm. In place; returns self. */
DYNC_API dync_tensor *(dync_log_)(dync_tensor *self);
DYNC_API dync_tensor *dync_log__at(dync_tensor *self, dync_loc at);
#define dync_log_(self) DYNC_OP_AT(dync_log_)(self DYNC_OP_HERE)
/* dync_masked_fill_: writes value where the mask is set. In place; returns self. */
DYNC_API dync_tensor *(dync_masked_fill_)(dync_tensor *self, dync_tensor *mask, dync_value value);
DYNC_API dync_tensor *dync_masked_fill__at(dync_tensor *self, dync_tensor *mask, dync_value value, dync_loc at);
#define dync_masked_fill_(self, mask, value) DYNC_SEQ2_AND(dync_masked_fill_, self, mask, DYNC_V(value))
/* dync_mul_: multiplies self by other. In place; returns self. */
DYNC_API dync_tensor *(dync_mul_)(dync_tensor *self, dync_value other);
DYNC_API dync_tensor *dync_mul__at(dync_tensor *self, dync_value other, dync_loc at);
#define dync_mul_(self, other) DYNC_SEQ2(dync_mul_, self, DYNC_V(other))
/* dync_neg_: negates self. In place; returns self. */
DYNC_API dync_tensor *(dync_neg_)(dync_tensor *self);
DYNC_API dync_tensor *dync_neg__at(dync_tensor *self, dync_loc at);
#define dync_neg_(self) DYNC_OP_AT(dync_neg_)(self DYNC_OP_HERE)
/* dync_normal_: draws from the normal distribution. In place; returns self. */
DYNC_API dync_tensor *(dync_normal_)(dync_tensor *self, double mean, double std);
DYNC_API dync_tensor *dync_normal__at(dync_tensor *self, double mean, double std, dync_loc at);
#define dync_normal_(self, mean, std) DYNC_OP_AT(dync_normal_)(self, mean, std DYNC_OP_HERE)
/* dync_pow_: raises self to a power. In place; returns self. */
DYNC_API dync_tensor *(dync_pow_)(dync_tensor *self, dync_value exponent);
DYNC_API dync_tensor *dync_pow__at(dync_tensor *self, dync_value exponent, dync_loc at);
#define dync_pow_(self, exponent) DYNC_SEQ2(dync_pow_, self, DYNC_V(exponent))
/* dync_relu_: max(self, 0). In place; returns self. */
DYNC_API dync_tensor *(dync_relu_)(dync_tensor *self);
DYNC_API dync_tensor *dync_relu__at(dync_tensor *self, dync_loc at);
#define dync_relu_(self) DYNC_OP_AT(dync_relu_)(self DYNC_OP_HERE)
/* dync_round_: rounds to the nearest integer, halves to even. In place; returns self. */
DYNC_API dync_tensor *(dync_round_)(dync_tensor *self);
DYNC_API dync_tensor *dync_round__at(dync_tensor *self, dync_loc at);
#define dync_round_(self) DYNC_OP_AT(dync_round_)(self DYNC_OP_HERE)
/* dync_scatter_: writes src to the places that index names. In place; returns self. */
DYNC_API dync_tensor *(dync_scatter_)(dync_tensor *self, int dim, dync_tensor *index, dync_value src);
DYNC_API dync_tensor *dync_scatter__at(dync_tensor *self, int dim, dync_tensor *index, dync_value src, dync_loc at);
#define dync_scatter_(self, dim, index, src) DYNC_OP_AT(dync_scatter_)(self, dim, index, DYNC_V(src) DYNC_OP_HERE)
/* dync_scatter_add_: adds src at the places that index names. In place; returns self. */
DYNC_API dync_tensor *(dync_scatter_add_)(dync_tensor *self, int dim, dync_tensor *index, dync_tensor *src);
DYNC_API dync_tensor *dync_scatter_add__at(dync_tensor *self, int dim, dync_tensor *index, dync_tensor *src, dync_loc at);
#define dync_scatter_add_(self, dim, index, src) DYNC_OP_AT(dync_scatter_add_)(self, dim, index, src DYNC_OP_HERE)
/* dync_sigmoid_: 1 / (1 + exp(-self)). In place; returns self. */
DYNC_API dync_tensor *(dync_sigmoid_)(dync_tensor *self);
DYNC_API dync_tensor *dync_sigmoid__at(dync_tensor *self, dync_loc at);
#define dync_sigmoid_(self) DYNC_OP_AT(dync_sigmoid_)(self DYNC_OP_HERE)
/* dync_sin_: sine. In place; returns self. */
DYNC_API dync_tensor *(dync_sin_)(dync_tensor *self);
DYNC_API dync_tensor *dync_sin__at(dync_tensor *self, dync_loc at);
#define dync_sin_(self) DYNC_OP_AT(dync_sin_)(self DYNC_OP_HERE)
/* dync_sqrt_: square root. In place; returns self. */
DYNC_API dync_tensor *(dync_sqrt_)(dync_tensor *self);
DYNC_API dync_tensor *dync_sqrt__at(dync_tensor *self, dync_loc at);
#define dync_sqrt_(self) DYNC_OP_AT(dync_sqrt_)(self DYNC_OP_HERE)
/* dync_sub_: subtracts other from self. In place; returns self. */
DYNC_API dync_tensor *(dync_sub_)(dync_tensor *self, dync_value other);
DYNC_API dync_tensor *dync_sub__at(dync_tensor *self, dync_value other, dync_loc at);
#define dync_sub_(self, other) DYNC_SEQ2(dync_sub_, self, DYNC_V(other))
/* dync_tanh_: hyperbolic tangent. In place; returns self. */
DYNC_API dync_tensor *(dync_tanh_)(dync_tensor *self);
DYNC_API dync_tensor *dync_tanh__at(dync_tensor *self, dync_loc at);
#define dync_tanh_(self) DYNC_OP_AT(dync_tanh_)(self DYNC_OP_HERE)
/* dync_trunc_: rounds towards zero. In place; returns self. */
DYNC_API dync_tensor *(dync_trunc_)(dync_tensor *self);
DYNC_API dync_tensor *dync_trunc__at(dync_tensor *self, dync_loc at);
#define dync_trunc_(self) DYNC_OP_AT(dync_trunc_)(self DYNC_OP_HERE)
/* dync_uniform_: draws from [from, to). In place; returns self. */
DYNC_API dync_tensor *(dync_uniform_)(dync_tensor *self, double from, double to);
DYNC_API dync_tensor *dync_uniform__at(dync_tensor *self, double from, double to, dync_loc at);
#define dync_uniform_(self, from, to) DYNC_OP_AT(dync_uniform_)(self, from, to DYNC_OP_HERE)
/* dync_zero_: writes zero everywhere. In place; returns self. */
DYNC_API dync_tensor *(dync_zero_)(dync_tensor *self);
DYNC_API dync_tensor *dync_zero__at(dync_tensor *self, dync_loc at);
#define dync_zero_(self) DYNC_OP_AT(dync_zero_)(self DYNC_OP_HERE)
/* dync_empty_like: uninitialised elements in the form of self. No gradient. */
DYNC_API dync_tensor *(dync_empty_like)(dync_tensor *self);
DYNC_API dync_tensor *dync_empty_like_at(dync_tensor *self, dync_loc at);
#define dync_empty_like(self) DYNC_OP_AT(dync_empty_like)(self DYNC_OP_HERE)
/* dync_eye: n by m, ones on the diagonal. No gradient. */
DYNC_API dync_tensor *(dync_eye)(int64_t n, int64_t m, dync_dtype dtype, dync_device device);
DYNC_API dync_tensor *dync_eye_at(int64_t n, int64_t m, dync_dtype dtype, dync_device device, dync_loc at);
#define dync_eye(n, m, dtype, device) DYNC_OP_AT(dync_eye)(n, m, dtype, device DYNC_OP_HERE)
/* dync_full_like: one number everywhere, in the form of self. No gradient. */
DYNC_API dync_tensor *(dync_full_like)(dync_tensor *self, dync_value fill_value);
DYNC_API dync_tensor *dync_full_like_at(dync_tensor *self, dync_value fill_value, dync_loc at);
#define dync_full_like(self, fill_value) DYNC_SEQ2(dync_full_like, self, DYNC_V(fill_value))
/* dync_ones_like: all ones, in the form of self. No gradient. */
DYNC_API dync_tensor *(dync_ones_like)(dync_tensor *self);
DYNC_API dync_tensor *dync_ones_like_at(dync_tensor *self, dync_loc at);
#define dync_ones_like(self) DYNC_OP_AT(dync_ones_like)(self DYNC_OP_HERE)
/* dync_rand_like: uniform in [0, 1), in the form of self. No gradient. */
DYNC_API dync_tensor *(dync_rand_like)(dync_tensor *self);
DYNC_API dync_tensor *dync_rand_like_at(dync_tensor *self, dync_loc at);
#define dync_rand_like(self) DYNC_OP_AT(dync_rand_like)(self DYNC_OP_HERE)
/* dync_randn_like: standard normal, in the form of self. No gradient. */
DYNC_API dync_tensor *(dync_randn_like)(dync_tensor *self);
DYNC_API dync_tensor *dync_randn_like_at(dync_tensor *self, dync_loc at);
#define dync_randn_like(self) DYNC_OP_AT(dync_randn_like)(self DYNC_OP_HERE)
/* dync_zeros_like: all zeros, in the form of self. No gradient. */
DYNC_API dync_tensor *(dync_zeros_like)(dync_tensor *self);
DYNC_API dync_tensor *dync_zeros_like_at(dync_tensor *self, dync_loc at);
#define dync_zeros_like(self) DYNC_OP_AT(dync_zeros_like)(self DYNC_OP_HERE)
/* dync_all: no element is zero, as bool. No gradient. */
DYNC_API dync_tensor *(dync_all)(dync_tensor *self, dync_dims dim, bool keepdim);
DYNC_API dync_tensor *dync_all_at(dync_tensor *self, dync_dims dim, bool keepdim, dync_loc at);
#define dync_all(self, dim, keepdim) DYNC_OP_AT(dync_all)(self, dim, keepdim DYNC_OP_HERE)
/* dync_amax: the largest element; the gradient is shared by equal ones. */
DYNC_API dync_tensor *(dync_amax)(dync_tensor *self, dync_dims dim, bool keepdim);
DYNC_API dync_tensor *dync_amax_at(dync_tensor *self, dync_dims dim, bool keepdim, dync_loc at);
#define dync_amax(self, dim, keepdim) DYNC_OP_AT(dync_amax)(self, dim, keepdim DYNC_OP_HERE)
/* dync_amin: the smallest element; the gradient is shared by equal ones. */
DYNC_API dync_tensor *(dync_amin)(dync_tensor *self, dync_dims dim, bool keepdim);
DYNC_API dync_tensor *dync_amin_at(dync_tensor *self, dync_dims dim, bool keepdim, dync_loc at);
#define dync_amin(self, dim, keepdim) DYNC_OP_AT(dync_amin)(self, dim, keepdim DYNC_OP_HERE)
/* dync_any: some element is not zero, as bool. No gradient. */
DYNC_API dync_tensor *(dync_any)(dync_tensor *self, dync_dims dim, bool keepdim);
DYNC_API dync_tensor *dync_any_at(dync_tensor *self, dync_dims dim, bool keepdim, dync_loc at);
#define dync_any(self, dim, keepdim) DYNC_OP_AT(dync_any)(self, dim, keepdim DYNC_OP_HERE)
/* dync_argmax: the place of the first largest element along dim, int64. No gradient. */
DYNC_API dync_tensor *(dync_argmax)(dync_tensor *self, int dim, bool keepdim);
DYNC_API dync_tensor *dync_argmax_at(dync_tensor *self, int dim, bool keepdim, dync_loc at);
#define dync_argmax(self, dim, keepdim) DYNC_OP_AT(dync_argmax)(self, dim, keepdim DYNC_OP_HERE)
/* dync_argmin: the place of the first smallest element along dim, int64. No gradient. */
DYNC_API dync_tensor *(dync_argmin)(dync_tensor *self, int dim, bool keepdim);
DYNC_API dync_tensor *dync_argmin_at(dync_tensor *self, int dim, bool keepdim, dync_loc at);
#define dync_argmin(self, dim, keepdim) DYNC_OP_AT(dync_argmin)(self, dim, keepdim DYNC_OP_HERE)
/* dync_cumsum: running sums along dim. */
DYNC_API dync_tensor *(dync_cumsum)(dync_tensor *self, int dim);
DYNC_API dync_tensor *dync_cumsum_at(dync_tensor *self, int dim, dync_loc at);
#define dync_cumsum(self, dim) DYNC_OP_AT(dync_cumsum)(self, dim DYNC_OP_HERE)
/* dync_log_softmax: self - log(sum(exp(self))) along dim, without overflow. */
DYNC_API dync_tensor *(dync_log_softmax)(dync_tensor *self, int dim);
DYNC_API dync_tensor *dync_log_softmax_at(dync_tensor *self, int dim, dync_loc at);
#define dync_log_softmax(self, dim) DYNC_OP_AT(dync_log_softmax)(self, dim DYNC_OP_HERE)
/* dync_logsumexp: log(sum(exp(self))), without overflow. */
DYNC_API dync_tensor *(dync_logsumexp)(dync_tensor *self, dync_dims dim, bool keepdim);
DYNC_API dync_tensor *dync_logsumexp_at(dync_tensor *self, dync_dims dim, bool keepdim, dync_loc at);
#define dync_logsumexp(self, dim, keepdim) DYNC_OP_AT(dync_logsumexp)(self, dim, keepdim DYNC_OP_HERE)
/* dync_max: the largest of all elements; the gradient is shared by equal ones. */
DYNC_API dync_tensor *(dync_max)(dync_tensor *self);
DYNC_API dync_tensor *dync_max_at(dync_tensor *self, dync_loc at);
#define dync_max(self) DYNC_OP_AT(dync_max)(self DYNC_OP_HERE)
/* dync_max_dim: the largest elements along dim and their places. A list of 2 tensors. */
DYNC_API dync_value (dync_max_dim)(dync_tensor *self, int dim, bool keepdim);
DYNC_API dync_value dync_max_dim_at(dync_tensor *self, int dim, bool keepdim, dync_loc at);
#define dync_max_dim(self, dim, keepdim) DYNC_OP_AT(dync_max_dim)(self, dim, keepdim DYNC_OP_HERE)
/* dync_mean: the mean; floating point only. */
DYNC_API dync_tensor *(dync_mean)(dync_tensor *self, dync_dims dim, bool keepdim);
DYNC_API dync_tensor *dync_mean_at(dync_tensor *self, dync_dims dim, bool keepdim, dync_loc at);
#define dync_mean(self, dim, keepdim) DYNC_OP_AT(dync_mean)(self, dim, keepdim DYNC_OP_HERE)
/* dync_min: the smallest of all elements; the gradient is shared by equal ones. */
DYNC_API dync_tensor *(dync_min)(dync_tensor *self);
DYNC_API dync_tensor *dync_min_at(dync_tensor *self, dync_loc at);
#define dync_min(self) DYNC_OP_AT(dync_min)(self DYNC_OP_HERE)
/* dync_min_dim: the smallest elements along dim and their places. A list of 2 tensors. */
DYNC_API dync_value (dync_min_dim)(dync_tensor *self, int dim, bool keepdim);
DYNC_API dync_value dync_min_dim_at(dync_tensor *self, int dim, bool keepdim, dync_loc at);
#define dync_min_dim(self, dim, keepdim) DYNC_OP_AT(dync_min_dim)(self, dim, keepdim DYNC_OP_HERE)
/* dync_norm: the p-norm: sum(abs(self) ** p) ** (1 / p). */
DYNC_API dync_tensor *(dync_norm)(dync_tensor *self, dync_value p, dync_dims dim, bool keepdim);
DYNC_API dync_tensor *dync_norm_at(dync_tensor *self, dync_value p, dync_dims dim, bool keepdim, dync_loc at);
#define dync_norm(self, p, dim, keepdim) DYNC_SEQ2_AND(dync_norm, self, DYNC_V(p), dim, keepdim)
/* dync_prod: the product; integers give int64. */
DYNC_API dync_tensor *(dync_prod)(dync_tensor *self, dync_dims dim, bool keepdim);
DYNC_API dync_tensor *dync_prod_at(dync_tensor *self, dync_dims dim, bool keepdim, dync_loc at);
#define dync_prod(self, dim, keepdim) DYNC_OP_AT(dync_prod)(self, dim, keepdim DYNC_OP_HERE)
/* dync_softmax: exp(self - max) / sum of the same, along dim. */
DYNC_API dync_tensor *(dync_softmax)(dync_tensor *self, int dim);
DYNC_API dync_tensor *dync_softmax_at(dync_tensor *self, int dim, dync_loc at);
#define dync_softmax(self, dim) DYNC_OP_AT(dync_softmax)(self, dim DYNC_OP_HERE)
/* dync_std: standard deviation; correction 1 divides by n - 1. */
DYNC_API dync_tensor *(dync_std)(dync_tensor *self, dync_dims dim, int correction, bool keepdim);
DYNC_API dync_tensor *dync_std_at(dync_tensor *self, dync_dims dim, int correction, bool keepdim, dync_loc at);
#define dync_std(self, dim, correction, keepdim) DYNC_OP_AT(dync_std)(self, dim, correction, keepdim DYNC_OP_HERE)
/* dync_sum: the sum; integers give int64. */
DYNC_API dync_tensor *(dync_sum)(dync_tensor *self, dync_dims dim, bool keepdim);
DYNC_API dync_tensor *dync_sum_at(dync_tensor *self, dync_dims dim, bool keepdim, dync_loc at);
#define dync_sum(self, dim, keepdim) DYNC_OP_AT(dync_sum)(self, dim, keepdim DYNC_OP_HERE)
/* dync_var: variance; correction 1 divides by n - 1. */
DYNC_API dync_tensor *(dync_var)(dync_tensor *self, dync_dims dim, int correction, bool keepdim);
DYNC_API dync_tensor *dync_var_at(dync_tensor *self, dync_dims dim, int correction, bool keepdim, dync_loc at);
#define dync_var(self, dim, correction, keepdim) DYNC_OP_AT(dync_var)(self, dim, correction, keepdim DYNC_OP_HERE)
/* dync_addmm: self + mat1 @ mat2; self is broadcast. */
DYNC_API dync_tensor *(dync_addmm)(dync_tensor *self, dync_tensor *mat1, dync_tensor *mat2);
DYNC_API dync_tensor *dync_addmm_at(dync_tensor *self, dync_tensor *mat1, dync_tensor *mat2, dync_loc at);
#define dync_addmm(self, mat1, mat2) DYNC_SEQ2_AND(dync_addmm, self, mat1, mat2)
/* dync_bmm: a batch of matrix products: [B, M, K] @ [B, K, N]. */
DYNC_API dync_tensor *(dync_bmm)(dync_tensor *self, dync_tensor *mat2);
DYNC_API dync_tensor *dync_bmm_at(dync_tensor *self, dync_tensor *mat2, dync_loc at);
#define dync_bmm(self, mat2) DYNC_SEQ2(dync_bmm, self, mat2)
/* dync_dot: the scalar product of two vectors. */
DYNC_API dync_tensor *(dync_dot)(dync_tensor *self, dync_tensor *tensor);
DYNC_API dync_tensor *dync_dot_at(dync_tensor *self, dync_tensor *tensor, dync_loc at);
#define dync_dot(self, tensor) DYNC_SEQ2(dync_dot, self, tensor)
/* dync_int_mm: matrix product of [M, K] and [K, N] of I8 with sums in I32, for quantised weights. Compiled, the cast, scales and bias behind it run on rows in the cache. No gradient. */
DYNC_API dync_tensor *(dync_int_mm)(dync_tensor *self, dync_tensor *mat2);
DYNC_API dync_tensor *dync_int_mm_at(dync_tensor *self, dync_tensor *mat2, dync_loc at);
#define dync_int_mm(self, mat2) DYNC_SEQ2(dync_int_mm, self, mat2)
/* dync_linear: input @ weight^T + bias, over any leading dims. */
DYNC_API dync_tensor *(dync_linear)(dync_tensor *input, dync_tensor *weight, dync_tensor *bias);
DYNC_API dync_tensor *dync_linear_at(dync_tensor *input, dync_tensor *weight, dync_tensor *bias, dync_loc at);
#define dync_linear(input, weight, bias) DYNC_SEQ2_AND(dync_linear, input, weight, bias)
/* dync_matmul: matrix product of vectors, matrices and batches of them, broadcast. */
DYNC_API dync_tensor *(dync_matmul)(dync_tensor *self, dync_tensor *other);
DYNC_API dync_tensor *dync_matmul_at(dync_tensor *self, dync_tensor *other, dync_loc at);
#define dync_matmul(self, other) DYNC_SEQ2(dync_matmul, self, other)
/* dync_mm: matrix product of [M, K] and [K, N]. */
DYNC_API dync_tensor *(dync_mm)(dync_tensor *self, dync_tensor *mat2);
DYNC_API dync_tensor *dync_mm_at(dync_tensor *self, dync_tensor *mat2, dync_loc at);
#define dync_mm(self, mat2) DYNC_SEQ2(dync_mm, self, mat2)
/* dync_mv: matrix times vector. */
DYNC_API dync_tensor *(dync_mv)(dync_tensor *self, dync_tensor *vec);
DYNC_API dync_tensor *dync_mv_at(dync_tensor *self, dync_tensor *vec, dync_loc at);
#define dync_mv(self, vec) DYNC_SEQ2(dync_mv, self, vec)
/* dync_outer: all products of two vectors' elements. */
DYNC_API dync_tensor *(dync_outer)(dync_tensor *self, dync_tensor *vec2);
DYNC_API dync_tensor *dync_outer_at(dync_tensor *self, dync_tensor *vec2, dync_loc at);
#define dync_outer(self, vec2) DYNC_SEQ2(dync_outer, self, vec2)
/* dync_bernoulli: 1 with the probability that self gives, else 0. No gradient. */
DYNC_API dync_tensor *(dync_bernoulli)(dync_tensor *self);
DYNC_API dync_tensor *dync_bernoulli_at(dync_tensor *self, dync_loc at);
#define dync_bernoulli(self) DYNC_OP_AT(dync_bernoulli)(self DYNC_OP_HERE)
/* dync_count_nonzero: how many elements are not zero along dim, int64. No gradient. */
DYNC_API dync_tensor *(dync_count_nonzero)(dync_tensor *self, dync_dims dim);
DYNC_API dync_tensor *dync_count_nonzero_at(dync_tensor *self, dync_dims dim, dync_loc at);
#define dync_count_nonzero(self, dim) DYNC_OP_AT(dync_count_nonzero)(self, dim DYNC_OP_HERE)
/* dync_isclose: abs(self - other) <= atol + rtol * abs(other), as bool. No gradient. */
DYNC_API dync_tensor *(dync_isclose)(dync_tensor *self, dync_tensor *other, double rtol, double atol, bool equal_nan);
DYNC_API dync_tensor *dync_isclose_at(dync_tensor *self, dync_tensor *other, double rtol, double atol, bool equal_nan, dync_loc at);
#define dync_isclose(self, other, rtol, atol, equal_nan) DYNC_SEQ2_AND(dync_isclose, self, other, rtol, atol, equal_nan)
/* dync_logaddexp: log(exp(self) + exp(other)), without overflow. */
DYNC_API dync_tensor *(dync_logaddexp)(dync_tensor *self, dync_tensor *other);
DYNC_API dync_tensor *dync_logaddexp_at(dync_tensor *self, dync_tensor *other, dync_loc at);
#define dync_logaddexp(self, other) DYNC_SEQ2(dync_logaddexp, self, other)
/* dync_nan_to_num: NaN as nan (none: 0), infinities as posinf and neginf (none: the largest numbers of the dtype). */
DYNC_API dync_tensor *(dync_nan_to_num)(dync_tensor *self, dync_value nan, dync_value posinf, dync_value neginf);
DYNC_API dync_tensor *dync_nan_to_num_at(dync_tensor *self, dync_value nan, dync_value posinf, dync_value neginf, dync_loc at);
#define dync_nan_to_num(self, nan, posinf, neginf) DYNC_OP_AT(dync_nan_to_num)(self, DYNC_V(nan), DYNC_V(posinf), DYNC_V(neginf) DYNC_OP_HERE)
/* dync_xlogy: self * log(other); 0 where self is 0. */
DYNC_API dync_tensor *(dync_xlogy)(dync_tensor *self, dync_tensor *other);
DYNC_API dync_tensor *dync_xlogy_at(dync_tensor *self, dync_tensor *other, dync_loc at);
#define dync_xlogy(self, other) DYNC_SEQ2(dync_xlogy, self, other)
/* dync_cosine_similarity: the cosine of the angle between vectors along dim; lengths are held at eps from below. */
DYNC_API dync_tensor *(dync_cosine_similarity)(dync_tensor *x1, dync_tensor *x2, int dim, double eps);
DYNC_API dync_tensor *dync_cosine_similarity_at(dync_tensor *x1, dync_tensor *x2, int dim, double eps, dync_loc at);
#define dync_cosine_similarity(x1, x2, dim, eps) DYNC_SEQ2_AND(dync_cosine_similarity, x1, x2, dim, eps)
/* dync_normalize: self over its p-norm along dim, which is held at eps from below. */
DYNC_API dync_tensor *(dync_normalize)(dync_tensor *self, dync_value p, int dim, double eps);
DYNC_API dync_tensor *dync_normalize_at(dync_tensor *self, dync_value p, int dim, double eps, dync_loc at);
#define dync_normalize(self, p, dim, eps) DYNC_SEQ2_AND(dync_normalize, self, DYNC_V(p), dim, eps)
/* dync_addmv: self + mat @ vec; self is broadcast. */
DYNC_API dync_tensor *(dync_addmv)(dync_tensor *self, dync_tensor *mat, dync_tensor *vec);
DYNC_API dync_tensor *dync_addmv_at(dync_tensor *self, dync_tensor *mat, dync_tensor *vec, dync_loc at);
#define dync_addmv(self, mat, vec) DYNC_SEQ2_AND(dync_addmv, self, mat, vec)
/* dync_baddbmm: self + batch1 @ batch2; self is broadcast. */
DYNC_API dync_tensor *(dync_baddbmm)(dync_tensor *self, dync_tensor *batch1, dync_tensor *batch2);
DYNC_API dync_tensor *dync_baddbmm_at(dync_tensor *self, dync_tensor *batch1, dync_tensor *batch2, dync_loc at);
#define dync_baddbmm(self, batch1, batch2) DYNC_SEQ2_AND(dync_baddbmm, self, batch1, batch2)
/* dync_einsum: Einstein's sums: "bij,bjk->bik"; an ellipsis stands for broadcast dims. */
DYNC_API dync_tensor *(dync_einsum)(const char *equation, dync_value operands);
DYNC_API dync_tensor *dync_einsum_at(const char *equation, dync_value operands, dync_loc at);
#define dync_einsum(equation, operands) DYNC_OP_AT(dync_einsum)(equation, DYNC_V(operands) DYNC_OP_HERE)
/* dync_trace: the sum of a matrix's diagonal. */
DYNC_API dync_tensor *(dync_trace)(dync_tensor *self);
DYNC_API dync_tensor *dync_trace_at(dync_tensor *self, dync_loc at);
#define dync_trace(self) DYNC_OP_AT(dync_trace)(self DYNC_OP_HERE)
/* dync_adaptive_avg_pool2d: means over equal tiles, so that output_size come out; sizes must divide. */
DYNC_API dync_tensor *(dync_adaptive_avg_pool2d)(dync_tensor *self, dync_dims output_size);
DYNC_API dync_tensor *dync_adaptive_avg_pool2d_at(dync_tensor *self, dync_dims output_size, dync_loc at);
#define dync_adaptive_avg_pool2d(self, output_size) DYNC_OP_AT(dync_adaptive_avg_pool2d)(self, output_size DYNC_OP_HERE)
/* dync_avg_pool2d: means over windows; an empty stride is the kernel size. */
DYNC_API dync_tensor *(dync_avg_pool2d)(dync_tensor *self, dync_dims kernel_size, dync_dims stride, dync_dims padding, bool ceil_mode, bool count_include_pad);
DYNC_API dync_tensor *dync_avg_pool2d_at(dync_tensor *self, dync_dims kernel_size, dync_dims stride, dync_dims padding, bool ceil_mode, bool count_include_pad, dync_loc at);
#define dync_avg_pool2d(self, kernel_size, stride, padding, ceil_mode, count_include_pad) DYNC_OP_AT(dync_avg_pool2d)(self, kernel_size, stride, padding, ceil_mode, count_include_pad DYNC_OP_HERE)
/* dync_batch_norm: normalises each channel; in training the running statistics are updated. */
DYNC_API dync_tensor *(dync_batch_norm)(dync_tensor *input, dync_tensor *weight, dync_tensor *bias, dync_tensor *running_mean, dync_tensor *running_var, bool training, double momentum, double eps);
DYNC_API dync_tensor *dync_batch_norm_at(dync_tensor *input, dync_tensor *weight, dync_tensor *bias, dync_tensor *running_mean, dync_tensor *running_var, bool training, double momentum, double eps, dync_loc at);
#define dync_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps) DYNC_OP_AT(dync_batch_norm)(input, weight, bias, running_mean, running_var, training, momentum, eps DYNC_OP_HERE)
/* dync_conv2d: 2-d cross-correlation of [N, C, H, W] or [C, H, W]. */
DYNC_API dync_tensor *(dync_conv2d)(dync_tensor *input, dync_tensor *weight, dync_tensor *bias, dync_dims stride, dync_dims padding, dync_dims dilation, int groups);
DYNC_API dync_tensor *dync_conv2d_at(dync_tensor *input, dync_tensor *weight, dync_tensor *bias, dync_dims stride, dync_dims padding, dync_dims dilation, int groups, dync_loc at);
#define dync_conv2d(input, weight, bias, stride, padding, dilation, groups) DYNC_SEQ2_AND(dync_conv2d, input, weight, bias, stride, padding, dilation, groups)
/* dync_dropout: in training zero with probability p, else scaled by 1 / (1 - p). */
DYNC_API dync_tensor *(dync_dropout)(dync_tensor *self, double p, bool training);
DYNC_API dync_tensor *dync_dropout_at(dync_tensor *self, double p, bool training, dync_loc at);
#define dync_dropout(self, p, training) DYNC_OP_AT(dync_dropout)(self, p, training DYNC_OP_HERE)
/* dync_embedding: the rows of weight that indices name. */
DYNC_API dync_tensor *(dync_embedding)(dync_tensor *weight, dync_tensor *indices);
DYNC_API dync_tensor *dync_embedding_at(dync_tensor *weight, dync_tensor *indices, dync_loc at);
#define dync_embedding(weight, indices) DYNC_SEQ2(dync_embedding, weight, indices)
/* dync_layer_norm: normalises over the trailing dims. */
DYNC_API dync_tensor *(dync_layer_norm)(dync_tensor *input, dync_dims normalized_shape, dync_tensor *weight, dync_tensor *bias, double eps);
DYNC_API dync_tensor *dync_layer_norm_at(dync_tensor *input, dync_dims normalized_shape, dync_tensor *weight, dync_tensor *bias, double eps, dync_loc at);
#define dync_layer_norm(input, normalized_shape, weight, bias, eps) DYNC_OP_AT(dync_layer_norm)(input, normalized_shape, weight, bias, eps DYNC_OP_HERE)
/* dync_max_pool2d: maxima of windows; an empty stride is the kernel size. */
DYNC_API dync_tensor *(dync_max_pool2d)(dync_tensor *self, dync_dims kernel_size, dync_dims stride, dync_dims padding, dync_dims dilation, bool ceil_mode);
DYNC_API dync_tensor *dync_max_pool2d_at(dync_tensor *self, dync_dims kernel_size, dync_dims stride, dync_dims padding, dync_dims dilation, bool ceil_mode, dync_loc at);
#define dync_max_pool2d(self, kernel_size, stride, padding, dilation, ceil_mode) DYNC_OP_AT(dync_max_pool2d)(self, kernel_size, stride, padding, dilation, ceil_mode DYNC_OP_HERE)
/* dync_max_pool2d_with_indices: maxima of windows and their places in the plane. A list of 2 tensors. */
DYNC_API dync_value (dync_max_pool2d_with_indices)(dync_tensor *self, dync_dims kernel_size, dync_dims stride, dync_dims padding, dync_dims dilation, bool ceil_mode);
DYNC_API dync_value dync_max_pool2d_with_indices_at(dync_tensor *self, dync_dims kernel_size, dync_dims stride, dync_dims padding, dync_dims dilation, bool ceil_mode, dync_loc at);
#define dync_max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode) DYNC_OP_AT(dync_max_pool2d_with_indices)(self, kernel_size, stride, padding, dilation, ceil_mode DYNC_OP_HERE)
/* dync_one_hot: a new last dim with a one at the class, int64. No gradient. */
DYNC_API dync_tensor *(dync_one_hot)(dync_tensor *self, int64_t num_classes);
DYNC_API dync_tensor *dync_one_hot_at(dync_tensor *self, int64_t num_classes, dync_loc at);
#define dync_one_hot(self, num_classes) DYNC_OP_AT(dync_one_hot)(self, num_classes DYNC_OP_HERE)
/* dync_celu: self where positive, else alpha * (exp(self / alpha) - 1). */
DYNC_API dync_tensor *(dync_celu)(dync_tensor *self, double alpha);
DYNC_API dync_tensor *dync_celu_at(dync_tensor *self, double alpha, dync_loc at);
#define dync_celu(self, alpha) DYNC_OP_AT(dync_celu)(self, alpha DYNC_OP_HERE)
/* dync_glu: the first half of dim times sigmoid of the second. */
DYNC_API dync_tensor *(dync_glu)(dync_tensor *self, int dim);
DYNC_API dync_tensor *dync_glu_at(dync_tensor *self, int dim, dync_loc at);
#define dync_glu(self, dim) DYNC_OP_AT(dync_glu)(self, dim DYNC_OP_HERE)
/* dync_hardshrink: 0 where -lambd <= self <= lambd, else self. */
DYNC_API dync_tensor *(dync_hardshrink)(dync_tensor *self, double lambd);
DYNC_API dync_tensor *dync_hardshrink_at(dync_tensor *self, double lambd, dync_loc at);
#define dync_hardshrink(self, lambd) DYNC_OP_AT(dync_hardshrink)(self, lambd DYNC_OP_HERE)
/* dync_hardsigmoid: self + 3 held between 0 and 6, over 6. */
DYNC_API dync_tensor *(dync_hardsigmoid)(dync_tensor *self);
DYNC_API dync_tensor *dync_hardsigmoid_at(dync_tensor *self, dync_loc at);
#define dync_hardsigmoid(self) DYNC_OP_AT(dync_hardsigmoid)(self DYNC_OP_HERE)
/* dync_hardswish: self * hardsigmoid(self). */
DYNC_API dync_tensor *(dync_hardswish)(dync_tensor *self);
DYNC_API dync_tensor *dync_hardswish_at(dync_tensor *self, dync_loc at);
#define dync_hardswish(self) DYNC_OP_AT(dync_hardswish)(self DYNC_OP_HERE)
/* dync_prelu: self where positive, else weight * self; weight: one number, or one a channel (dim 1). */
DYNC_API dync_tensor *(dync_prelu)(dync_tensor *self, dync_tensor *weight);
DYNC_API dync_tensor *dync_prelu_at(dync_tensor *self, dync_tensor *weight, dync_loc at);
#define dync_prelu(self, weight) DYNC_SEQ2(dync_prelu, self, weight)
/* dync_selu: scaled elu whose fixed point has mean 0 and variance 1. */
DYNC_API dync_tensor *(dync_selu)(dync_tensor *self);
DYNC_API dync_tensor *dync_selu_at(dync_tensor *self, dync_loc at);
#define dync_selu(self) DYNC_OP_AT(dync_selu)(self DYNC_OP_HERE)
/* dync_softmin: softmax of -self. */
DYNC_API dync_tensor *(dync_softmin)(dync_tensor *self, int dim);
DYNC_API dync_tensor *dync_softmin_at(dync_tensor *self, int dim, dync_loc at);
#define dync_softmin(self, dim) DYNC_OP_AT(dync_softmin)(self, dim DYNC_OP_HERE)
/* dync_softshrink: self moved by lambd towards 0, which it does not cross. */
DYNC_API dync_tensor *(dync_softshrink)(dync_tensor *self, double lambd);
DYNC_API dync_tensor *dync_softshrink_at(dync_tensor *self, double lambd, dync_loc at);
#define dync_softshrink(self, lambd) DYNC_OP_AT(dync_softshrink)(self, lambd DYNC_OP_HERE)
/* dync_softsign: self / (1 + abs(self)). */
DYNC_API dync_tensor *(dync_softsign)(dync_tensor *self);
DYNC_API dync_tensor *dync_softsign_at(dync_tensor *self, dync_loc at);
#define dync_softsign(self) DYNC_OP_AT(dync_softsign)(self DYNC_OP_HERE)
/* dync_tanhshrink: self - tanh(self). */
DYNC_API dync_tensor *(dync_tanhshrink)(dync_tensor *self);
DYNC_API dync_tensor *dync_tanhshrink_at(dync_tensor *self, dync_loc at);
#define dync_tanhshrink(self) DYNC_OP_AT(dync_tanhshrink)(self DYNC_OP_HERE)
/* dync_threshold: self where above threshold, else value. */
DYNC_API dync_tensor *(dync_threshold)(dync_tensor *self, double threshold, dync_value value);
DYNC_API dync_tensor *dync_threshold_at(dync_tensor *self, double threshold, dync_value value, dync_loc at);
#define dync_threshold(self, threshold, value) DYNC_OP_AT(dync_threshold)(self, threshold, DYNC_V(value) DYNC_OP_HERE)
/* dync_conv1d: 1-d cross-correlation of [N, C, L] or [C, L]. */
DYNC_API dync_tensor *(dync_conv1d)(dync_tensor *input, dync_tensor *weight, dync_tensor *bias, dync_dims stride, dync_dims padding, dync_dims dilation, int groups);
DYNC_API dync_tensor *dync_conv1d_at(dync_tensor *input, dync_tensor *weight, dync_tensor *bias, dync_dims stride, dync_dims padding, dync_dims dilation, int groups, dync_loc at);
#define dync_conv1d(input, weight, bias, stride, padding, dilation, groups) DYNC_SEQ2_AND(dync_conv1d, input, weight, bias, stride, padding, dilation, groups)
/* dync_conv_transpose2d: the gradient of conv2d as an operator: enlarges [N, C, H, W] or [C, H, W]; weight [C, out / groups, KH, KW]. */
DYNC_API dync_tensor *(dync_conv_transpose2d)(dync_tensor *input, dync_tensor *weight, dync_tensor *bias, dync_dims stride, dync_dims padding, dync_dims output_padding, int groups, dync_dims dilation);
DYNC_API dync_tensor *dync_conv_transpose2d_at(dync_tensor *input, dync_tensor *weight, dync_tensor *bias, dync_dims stride, dync_dims padding, dync_dims output_padding, int groups, dync_dims dilation, dync_loc at);
#define dync_conv_transpose2d(input, weight, bias, stride, padding, output_padding, groups, dilation) DYNC_SEQ2_AND(dync_conv_transpose2d, input, weight, bias, stride, padding, output_padding, groups, dilation)
/* dync_group_norm: normalises over groups of channels and all that follows. */
DYNC_API dync_tensor *(dync_group_norm)(dync_tensor *input, int64_t num_groups, dync_tensor *weight, dync_tensor *bias, double eps);
DYNC_API dync_tensor *dync_group_norm_at(dync_tensor *input, int64_t num_groups, dync_tensor *weight, dync_tensor *bias, double eps, dync_loc at);
#define dync_group_norm(input, num_groups, weight, bias, eps) DYNC_OP_AT(dync_group_norm)(input, num_groups, weight, bias, eps DYNC_OP_HERE)
/* dync_instance_norm: normalises each channel of each sample. */
DYNC_API dync_tensor *(dync_instance_norm)(dync_tensor *input, dync_tensor *weight, dync_tensor *bias, double eps);
DYNC_API dync_tensor *dync_instance_norm_at(dync_tensor *input, dync_tensor *weight, dync_tensor *bias, double eps, dync_loc at);
#define dync_instance_norm(input, weight, bias, eps) DYNC_OP_AT(dync_instance_norm)(input, weight, bias, eps DYNC_OP_HERE)
/* dync_rms_norm: input over the root of its mean square over the trailing dims; eps none: that of the dtype. */
DYNC_API dync_tensor *(dync_rms_norm)(dync_tensor *input, dync_dims normalized_shape, dync_tensor *weight, dync_value eps);
DYNC_API dync_tensor *dync_rms_norm_at(dync_tensor *input, dync_dims normalized_shape, dync_tensor *weight, dync_value eps, dync_loc at);
#define dync_rms_norm(input, normalized_shape, weight, eps) DYNC_OP_AT(dync_rms_norm)(input, normalized_shape, weight, DYNC_V(eps) DYNC_OP_HERE)
/* dync_scaled_dot_product_attention: softmax(query @ key^T * scale) @ value; a bool mask says what may be seen, a float one is added; scale none: 1 / sqrt(width). */
DYNC_API dync_tensor *(dync_scaled_dot_product_attention)(dync_tensor *query, dync_tensor *key, dync_tensor *value, dync_tensor *attn_mask, double dropout_p, bool is_causal, dync_value scale);
DYNC_API dync_tensor *dync_scaled_dot_product_attention_at(dync_tensor *query, dync_tensor *key, dync_tensor *value, dync_tensor *attn_mask, double dropout_p, bool is_causal, dync_value scale, dync_loc at);
#define dync_scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale) DYNC_SEQ3_AND(dync_scaled_dot_product_attention, query, key, value, attn_mask, dropout_p, is_causal, DYNC_V(scale))
/* dync_pixel_shuffle: [.., C r r, H, W] as [.., C, H r, W r]. */
DYNC_API dync_tensor *(dync_pixel_shuffle)(dync_tensor *self, int64_t upscale_factor);
DYNC_API dync_tensor *dync_pixel_shuffle_at(dync_tensor *self, int64_t upscale_factor, dync_loc at);
#define dync_pixel_shuffle(self, upscale_factor) DYNC_OP_AT(dync_pixel_shuffle)(self, upscale_factor DYNC_OP_HERE)
/* dync_upsample_nearest2d: [N, C, H, W] in another size, by the nearest element. */
DYNC_API dync_tensor *(dync_upsample_nearest2d)(dync_tensor *self, dync_dims output_size);
DYNC_API dync_tensor *dync_upsample_nearest2d_at(dync_tensor *self, dync_dims output_size, dync_loc at);
#define dync_upsample_nearest2d(self, output_size) DYNC_OP_AT(dync_upsample_nearest2d)(self, output_size DYNC_OP_HERE)
/* dync_pad: value (none: 0) around self: before and after the last dim, then the one before it; negative numbers cut off. */
DYNC_API dync_tensor *(dync_pad)(dync_tensor *self, dync_dims pad, dync_value value);
DYNC_API dync_tensor *dync_pad_at(dync_tensor *self, dync_dims pad, dync_value value, dync_loc at);
#define dync_pad(self, pad, value) DYNC_OP_AT(dync_pad)(self, pad, DYNC_V(value) DYNC_OP_HERE)
/* dync_movedim: dims of source at the places of destination, the others in their order. */
DYNC_API dync_tensor *(dync_movedim)(dync_tensor *self, dync_dims source, dync_dims destination);
DYNC_API dync_tensor *dync_movedim_at(dync_tensor *self, dync_dims source, dync_dims destination, dync_loc at);
#define dync_movedim(self, source, destination) DYNC_OP_AT(dync_movedim)(self, source, destination DYNC_OP_HERE)
/* dync_unfold: windows of dim as a new last dim, without copying. */
DYNC_API dync_tensor *(dync_unfold)(dync_tensor *self, int dim, int64_t size, int64_t step);
DYNC_API dync_tensor *dync_unfold_at(dync_tensor *self, int dim, int64_t size, int64_t step, dync_loc at);
#define dync_unfold(self, dim, size, step) DYNC_OP_AT(dync_unfold)(self, dim, size, step DYNC_OP_HERE)
/* dync_huber_loss: squared below delta, linear above; the mean. */
DYNC_API dync_tensor *(dync_huber_loss)(dync_tensor *self, dync_tensor *target, double delta);
DYNC_API dync_tensor *dync_huber_loss_at(dync_tensor *self, dync_tensor *target, double delta, dync_loc at);
#define dync_huber_loss(self, target, delta) DYNC_SEQ2_AND(dync_huber_loss, self, target, delta)
/* dync_kl_div: the mean of target * (log target - self); self is a logarithm. */
DYNC_API dync_tensor *(dync_kl_div)(dync_tensor *self, dync_tensor *target, bool log_target);
DYNC_API dync_tensor *dync_kl_div_at(dync_tensor *self, dync_tensor *target, bool log_target, dync_loc at);
#define dync_kl_div(self, target, log_target) DYNC_SEQ2_AND(dync_kl_div, self, target, log_target)
/* dync_binary_cross_entropy: the mean of -(target log self + (1 - target) log(1 - self)), logs held >= -100. */
DYNC_API dync_tensor *(dync_binary_cross_entropy)(dync_tensor *self, dync_tensor *target);
DYNC_API dync_tensor *dync_binary_cross_entropy_at(dync_tensor *self, dync_tensor *target, dync_loc at);
#define dync_binary_cross_entropy(self, target) DYNC_SEQ2(dync_binary_cross_entropy, self, target)
/* dync_binary_cross_entropy_with_logits: binary_cross_entropy of sigmoid(self), without overflow. */
DYNC_API dync_tensor *(dync_binary_cross_entropy_with_logits)(dync_tensor *self, dync_tensor *target);
DYNC_API dync_tensor *dync_binary_cross_entropy_with_logits_at(dync_tensor *self, dync_tensor *target, dync_loc at);
#define dync_binary_cross_entropy_with_logits(self, target) DYNC_SEQ2(dync_binary_cross_entropy_with_logits, self, target)
/* dync_cross_entropy: the mean of -log_softmax(self)[target]; classes on dim 1; target -100 is left out. */
DYNC_API dync_tensor *(dync_cross_entropy)(dync_tensor *self, dync_tensor *target);
DYNC_API dync_tensor *dync_cross_entropy_at(dync_tensor *self, dync_tensor *target, dync_loc at);
#define dync_cross_entropy(self, target) DYNC_SEQ2(dync_cross_entropy, self, target)
/* dync_l1_loss: the mean of abs(self - target). */
DYNC_API dync_tensor *(dync_l1_loss)(dync_tensor *self, dync_tensor *target);
DYNC_API dync_tensor *dync_l1_loss_at(dync_tensor *self, dync_tensor *target, dync_loc at);
#define dync_l1_loss(self, target) DYNC_SEQ2(dync_l1_loss, self, target)
/* dync_mse_loss: the mean of (self - target) ** 2. */
DYNC_API dync_tensor *(dync_mse_loss)(dync_tensor *self, dync_tensor *target);
DYNC_API dync_tensor *dync_mse_loss_at(dync_tensor *self, dync_tensor *target, dync_loc at);
#define dync_mse_loss(self, target) DYNC_SEQ2(dync_mse_loss, self, target)
/* dync_nll_loss: the mean of -self[target]; classes on dim 1; target -100 is left out. */
DYNC_API dync_tensor *(dync_nll_loss)(dync_tensor *self, dync_tensor *target);
DYNC_API dync_tensor *dync_nll_loss_at(dync_tensor *self, dync_tensor *target, dync_loc at);
#define dync_nll_loss(self, target) DYNC_SEQ2(dync_nll_loss, self, target)
/* dync_smooth_l1_loss: squared below beta, absolute above; the mean. */
DYNC_API dync_tensor *(dync_smooth_l1_loss)(dync_tensor *self, dync_tensor *target, double beta);
DYNC_API dync_tensor *dync_smooth_l1_loss_at(dync_tensor *self, dync_tensor *target, double beta, dync_loc at);
#define dync_smooth_l1_loss(self, target, beta) DYNC_SEQ2_AND(dync_smooth_l1_loss, self, target, beta)
/* dync_as_strided: any sizes, strides and offset over the storage, which they must not leave. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_as_strided)(dync_tensor *self, dync_dims size, dync_dims stride, int64_t storage_offset);
DYNC_API dync_tensor *dync_as_strided_at(dync_tensor *self, dync_dims size, dync_dims stride, int64_t storage_offset, dync_loc at);
#define dync_as_strided(self, size, stride, storage_offset) DYNC_OP_AT(dync_as_strided)(self, size, stride, storage_offset DYNC_OP_HERE)
/* dync_contiguous: self if it is row major, else a copy that is. */
DYNC_API dync_tensor *(dync_contiguous)(dync_tensor *self);
DYNC_API dync_tensor *dync_contiguous_at(dync_tensor *self, dync_loc at);
#define dync_contiguous(self) DYNC_OP_AT(dync_contiguous)(self DYNC_OP_HERE)
/* dync_diagonal: the diagonal of two dims, as the last one. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_diagonal)(dync_tensor *self, int offset, int dim1, int dim2);
DYNC_API dync_tensor *dync_diagonal_at(dync_tensor *self, int offset, int dim1, int dim2, dync_loc at);
#define dync_diagonal(self, offset, dim1, dim2) DYNC_OP_AT(dync_diagonal)(self, offset, dim1, dim2 DYNC_OP_HERE)
/* dync_expand: repeats dims of size 1 without copying; -1 keeps a size. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_expand)(dync_tensor *self, dync_dims size);
DYNC_API dync_tensor *dync_expand_at(dync_tensor *self, dync_dims size, dync_loc at);
#define dync_expand(self, size) DYNC_OP_AT(dync_expand)(self, size DYNC_OP_HERE)
/* dync_expand_as: expand to the shape of other. */
DYNC_API dync_tensor *(dync_expand_as)(dync_tensor *self, dync_tensor *other);
DYNC_API dync_tensor *dync_expand_as_at(dync_tensor *self, dync_tensor *other, dync_loc at);
#define dync_expand_as(self, other) DYNC_SEQ2(dync_expand_as, self, other)
/* dync_flatten: the dims from start to end as one. */
DYNC_API dync_tensor *(dync_flatten)(dync_tensor *self, int start_dim, int end_dim);
DYNC_API dync_tensor *dync_flatten_at(dync_tensor *self, int start_dim, int end_dim, dync_loc at);
#define dync_flatten(self, start_dim, end_dim) DYNC_OP_AT(dync_flatten)(self, start_dim, end_dim DYNC_OP_HERE)
/* dync_narrow: length places of dim, from start on. */
DYNC_API dync_tensor *(dync_narrow)(dync_tensor *self, int dim, int64_t start, int64_t length);
DYNC_API dync_tensor *dync_narrow_at(dync_tensor *self, int dim, int64_t start, int64_t length, dync_loc at);
#define dync_narrow(self, dim, start, length) DYNC_OP_AT(dync_narrow)(self, dim, start, length DYNC_OP_HERE)
/* dync_permute: dims in a new order. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_permute)(dync_tensor *self, dync_dims dims);
DYNC_API dync_tensor *dync_permute_at(dync_tensor *self, dync_dims dims, dync_loc at);
#define dync_permute(self, dims) DYNC_OP_AT(dync_permute)(self, dims DYNC_OP_HERE)
/* dync_reshape: a view of another shape where strides allow, else a copy; one -1 is inferred. */
DYNC_API dync_tensor *(dync_reshape)(dync_tensor *self, dync_dims shape);
DYNC_API dync_tensor *dync_reshape_at(dync_tensor *self, dync_dims shape, dync_loc at);
#define dync_reshape(self, shape) DYNC_OP_AT(dync_reshape)(self, shape DYNC_OP_HERE)
/* dync_select: one place of dim, which goes away. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_select)(dync_tensor *self, int dim, int64_t index);
DYNC_API dync_tensor *dync_select_at(dync_tensor *self, int dim, int64_t index, dync_loc at);
#define dync_select(self, dim, index) DYNC_OP_AT(dync_select)(self, dim, index DYNC_OP_HERE)
/* dync_slice: self[start:end:step] along dim; DYNC_END leaves the end open. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_slice)(dync_tensor *self, int dim, int64_t start, int64_t end, int64_t step);
DYNC_API dync_tensor *dync_slice_at(dync_tensor *self, int dim, int64_t start, int64_t end, int64_t step, dync_loc at);
#define dync_slice(self, dim, start, end, step) DYNC_OP_AT(dync_slice)(self, dim, start, end, step DYNC_OP_HERE)
/* dync_squeeze: without dim, if its size is 1. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_squeeze)(dync_tensor *self, int dim);
DYNC_API dync_tensor *dync_squeeze_at(dync_tensor *self, int dim, dync_loc at);
#define dync_squeeze(self, dim) DYNC_OP_AT(dync_squeeze)(self, dim DYNC_OP_HERE)
/* dync_squeeze_all: without every dim of size 1. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_squeeze_all)(dync_tensor *self);
DYNC_API dync_tensor *dync_squeeze_all_at(dync_tensor *self, dync_loc at);
#define dync_squeeze_all(self) DYNC_OP_AT(dync_squeeze_all)(self DYNC_OP_HERE)
/* dync_t: the transpose of a matrix. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_t)(dync_tensor *self);
DYNC_API dync_tensor *dync_t_at(dync_tensor *self, dync_loc at);
#define dync_t(self) DYNC_OP_AT(dync_t)(self DYNC_OP_HERE)
/* dync_transpose: two dims exchanged. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_transpose)(dync_tensor *self, int dim0, int dim1);
DYNC_API dync_tensor *dync_transpose_at(dync_tensor *self, int dim0, int dim1, dync_loc at);
#define dync_transpose(self, dim0, dim1) DYNC_OP_AT(dync_transpose)(self, dim0, dim1 DYNC_OP_HERE)
/* dync_unflatten: one dim as several; one -1 is inferred. */
DYNC_API dync_tensor *(dync_unflatten)(dync_tensor *self, int dim, dync_dims sizes);
DYNC_API dync_tensor *dync_unflatten_at(dync_tensor *self, int dim, dync_dims sizes, dync_loc at);
#define dync_unflatten(self, dim, sizes) DYNC_OP_AT(dync_unflatten)(self, dim, sizes DYNC_OP_HERE)
/* dync_unsqueeze: a new dim of size 1. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_unsqueeze)(dync_tensor *self, int dim);
DYNC_API dync_tensor *dync_unsqueeze_at(dync_tensor *self, int dim, dync_loc at);
#define dync_unsqueeze(self, dim) DYNC_OP_AT(dync_unsqueeze)(self, dim DYNC_OP_HERE)
/* dync_view: another shape of the same elements, without copying; one -1 is inferred. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_view)(dync_tensor *self, dync_dims size);
DYNC_API dync_tensor *dync_view_at(dync_tensor *self, dync_dims size, dync_loc at);
#define dync_view(self, size) DYNC_OP_AT(dync_view)(self, size DYNC_OP_HERE)
/* dync_view_as: view in the shape of other. */
DYNC_API dync_tensor *(dync_view_as)(dync_tensor *self, dync_tensor *other);
DYNC_API dync_tensor *dync_view_as_at(dync_tensor *self, dync_tensor *other, dync_loc at);
#define dync_view_as(self, other) DYNC_SEQ2(dync_view_as, self, other)
/* dync_argsort: the places that sort self along dim, int64. No gradient. */
DYNC_API dync_tensor *(dync_argsort)(dync_tensor *self, int dim, bool descending);
DYNC_API dync_tensor *dync_argsort_at(dync_tensor *self, int dim, bool descending, dync_loc at);
#define dync_argsort(self, dim, descending) DYNC_OP_AT(dync_argsort)(self, dim, descending DYNC_OP_HERE)
/* dync_cat: tensors one after another along dim. */
DYNC_API dync_tensor *(dync_cat)(dync_value tensors, int dim);
DYNC_API dync_tensor *dync_cat_at(dync_value tensors, int dim, dync_loc at);
#define dync_cat(tensors, dim) DYNC_OP_AT(dync_cat)(DYNC_V(tensors), dim DYNC_OP_HERE)
/* dync_clone: a copy. */
DYNC_API dync_tensor *(dync_clone)(dync_tensor *self);
DYNC_API dync_tensor *dync_clone_at(dync_tensor *self, dync_loc at);
#define dync_clone(self) DYNC_OP_AT(dync_clone)(self DYNC_OP_HERE)
/* dync_flip: elements in reverse order along dims. */
DYNC_API dync_tensor *(dync_flip)(dync_tensor *self, dync_dims dims);
DYNC_API dync_tensor *dync_flip_at(dync_tensor *self, dync_dims dims, dync_loc at);
#define dync_flip(self, dims) DYNC_OP_AT(dync_flip)(self, dims DYNC_OP_HERE)
/* dync_gather: out[i][j] = self[index[i][j]][j] for dim 0. */
DYNC_API dync_tensor *(dync_gather)(dync_tensor *self, int dim, dync_tensor *index);
DYNC_API dync_tensor *dync_gather_at(dync_tensor *self, int dim, dync_tensor *index, dync_loc at);
#define dync_gather(self, dim, index) DYNC_OP_AT(dync_gather)(self, dim, index DYNC_OP_HERE)
/* dync_index_add: self with rows of source added to the rows that index names. */
DYNC_API dync_tensor *(dync_index_add)(dync_tensor *self, int dim, dync_tensor *index, dync_tensor *source);
DYNC_API dync_tensor *dync_index_add_at(dync_tensor *self, int dim, dync_tensor *index, dync_tensor *source, dync_loc at);
#define dync_index_add(self, dim, index, source) DYNC_OP_AT(dync_index_add)(self, dim, index, source DYNC_OP_HERE)
/* dync_index_select: the places of dim that the vector index names. */
DYNC_API dync_tensor *(dync_index_select)(dync_tensor *self, int dim, dync_tensor *index);
DYNC_API dync_tensor *dync_index_select_at(dync_tensor *self, int dim, dync_tensor *index, dync_loc at);
#define dync_index_select(self, dim, index) DYNC_OP_AT(dync_index_select)(self, dim, index DYNC_OP_HERE)
/* dync_masked_select: the elements whose mask is set, as a vector. The shape depends on data: a graph break. */
DYNC_API dync_tensor *(dync_masked_select)(dync_tensor *self, dync_tensor *mask);
DYNC_API dync_tensor *dync_masked_select_at(dync_tensor *self, dync_tensor *mask, dync_loc at);
#define dync_masked_select(self, mask) DYNC_SEQ2(dync_masked_select, self, mask)
/* dync_nonzero: the places of elements that are not zero, [count, rank], int64. No gradient. The shape depends on data: a graph break. */
DYNC_API dync_tensor *(dync_nonzero)(dync_tensor *self);
DYNC_API dync_tensor *dync_nonzero_at(dync_tensor *self, dync_loc at);
#define dync_nonzero(self) DYNC_OP_AT(dync_nonzero)(self DYNC_OP_HERE)
/* dync_repeat: self tiled along each dim. */
DYNC_API dync_tensor *(dync_repeat)(dync_tensor *self, dync_dims repeats);
DYNC_API dync_tensor *dync_repeat_at(dync_tensor *self, dync_dims repeats, dync_loc at);
#define dync_repeat(self, repeats) DYNC_OP_AT(dync_repeat)(self, repeats DYNC_OP_HERE)
/* dync_roll: elements moved along dims, around the end; without dims over the flattened tensor. */
DYNC_API dync_tensor *(dync_roll)(dync_tensor *self, dync_dims shifts, dync_dims dims);
DYNC_API dync_tensor *dync_roll_at(dync_tensor *self, dync_dims shifts, dync_dims dims, dync_loc at);
#define dync_roll(self, shifts, dims) DYNC_OP_AT(dync_roll)(self, shifts, dims DYNC_OP_HERE)
/* dync_scatter: self with src written to the places that index names. */
DYNC_API dync_tensor *(dync_scatter)(dync_tensor *self, int dim, dync_tensor *index, dync_value src);
DYNC_API dync_tensor *dync_scatter_at(dync_tensor *self, int dim, dync_tensor *index, dync_value src, dync_loc at);
#define dync_scatter(self, dim, index, src) DYNC_OP_AT(dync_scatter)(self, dim, index, DYNC_V(src) DYNC_OP_HERE)
/* dync_scatter_add: self with src added at the places that index names. */
DYNC_API dync_tensor *(dync_scatter_add)(dync_tensor *self, int dim, dync_tensor *index, dync_tensor *src);
DYNC_API dync_tensor *dync_scatter_add_at(dync_tensor *self, int dim, dync_tensor *index, dync_tensor *src, dync_loc at);
#define dync_scatter_add(self, dim, index, src) DYNC_OP_AT(dync_scatter_add)(self, dim, index, src DYNC_OP_HERE)
/* dync_sort: sorted along dim, equal elements in their order, and the places they came from. A list of 2 tensors. */
DYNC_API dync_value (dync_sort)(dync_tensor *self, int dim, bool descending);
DYNC_API dync_value dync_sort_at(dync_tensor *self, int dim, bool descending, dync_loc at);
#define dync_sort(self, dim, descending) DYNC_OP_AT(dync_sort)(self, dim, descending DYNC_OP_HERE)
/* dync_stack: tensors of one shape along a new dim. */
DYNC_API dync_tensor *(dync_stack)(dync_value tensors, int dim);
DYNC_API dync_tensor *dync_stack_at(dync_value tensors, int dim, dync_loc at);
#define dync_stack(tensors, dim) DYNC_OP_AT(dync_stack)(DYNC_V(tensors), dim DYNC_OP_HERE)
/* dync_take_along_dim: gather with self and indices broadcast outside dim. */
DYNC_API dync_tensor *(dync_take_along_dim)(dync_tensor *self, dync_tensor *indices, int dim);
DYNC_API dync_tensor *dync_take_along_dim_at(dync_tensor *self, dync_tensor *indices, int dim, dync_loc at);
#define dync_take_along_dim(self, indices, dim) DYNC_SEQ2_AND(dync_take_along_dim, self, indices, dim)
/* dync_topk: the k largest or smallest along dim, in order, and their places. A list of 2 tensors. */
DYNC_API dync_value (dync_topk)(dync_tensor *self, int64_t k, int dim, bool largest, bool sorted);
DYNC_API dync_value dync_topk_at(dync_tensor *self, int64_t k, int dim, bool largest, bool sorted, dync_loc at);
#define dync_topk(self, k, dim, largest, sorted) DYNC_OP_AT(dync_topk)(self, k, dim, largest, sorted DYNC_OP_HERE)
/* dync_tril: zero above the diagonal of the last two dims. */
DYNC_API dync_tensor *(dync_tril)(dync_tensor *self, int diagonal);
DYNC_API dync_tensor *dync_tril_at(dync_tensor *self, int diagonal, dync_loc at);
#define dync_tril(self, diagonal) DYNC_OP_AT(dync_tril)(self, diagonal DYNC_OP_HERE)
/* dync_triu: zero below the diagonal of the last two dims. */
DYNC_API dync_tensor *(dync_triu)(dync_tensor *self, int diagonal);
DYNC_API dync_tensor *dync_triu_at(dync_tensor *self, int diagonal, dync_loc at);
#define dync_triu(self, diagonal) DYNC_OP_AT(dync_triu)(self, diagonal DYNC_OP_HERE)
/* dync_unique: the elements in order, each once, as a vector. No gradient. The shape depends on data: a graph break. */
DYNC_API dync_tensor *(dync_unique)(dync_tensor *self);
DYNC_API dync_tensor *dync_unique_at(dync_tensor *self, dync_loc at);
#define dync_unique(self) DYNC_OP_AT(dync_unique)(self DYNC_OP_HERE)
