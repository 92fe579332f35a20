/* ---- operators: of two tensors and more, element by element (op/ops_pointwise.def.h) ----
 *   errors, notes  as of all operators (api/ops.h)
 *   thread         any */
/* dync_add: self + other; type promotion and broadcasting as PyTorch. */
DYNC_API dync_tensor *(dync_add)(dync_value self, dync_value other);
#define dync_add(...) \
    DYNC_TAKES_2(DYNC_add, DYNC_OTHER_T, __VA_ARGS__)("dync_add takes 2 arguments: self, other", \
    __VA_ARGS__)
#define DYNC_add(text_, self, other) DYNC_OP_TWO(dync_add, dync__op_1VV, DYNC__OP_add, self, other)
/* dync_atan2: the angle of the point (other, self), in (-pi, pi]. */
DYNC_API dync_tensor *(dync_atan2)(dync_value self, dync_value other);
#define dync_atan2(...) \
    DYNC_TAKES_2(DYNC_atan2, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_atan2 takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_atan2(text_, self, other) \
    DYNC_OP_TWO(dync_atan2, dync__op_1VV, DYNC__OP_atan2, self, other)
/* dync_bitwise_and: bitwise and of integers, logical and of bools. No gradient. */
DYNC_API dync_tensor *(dync_bitwise_and)(dync_value self, dync_value other);
#define dync_bitwise_and(...) \
    DYNC_TAKES_2(DYNC_bitwise_and, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_bitwise_and takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_bitwise_and(text_, self, other) \
    DYNC_OP_TWO(dync_bitwise_and, dync__op_1VV, DYNC__OP_bitwise_and, self, other)
/* dync_bitwise_or: bitwise or of integers, logical or of bools. No gradient. */
DYNC_API dync_tensor *(dync_bitwise_or)(dync_value self, dync_value other);
#define dync_bitwise_or(...) \
    DYNC_TAKES_2(DYNC_bitwise_or, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_bitwise_or takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_bitwise_or(text_, self, other) \
    DYNC_OP_TWO(dync_bitwise_or, dync__op_1VV, DYNC__OP_bitwise_or, self, other)
/* dync_bitwise_xor: bitwise exclusive or of integers and bools. No gradient. */
DYNC_API dync_tensor *(dync_bitwise_xor)(dync_value self, dync_value other);
#define dync_bitwise_xor(...) \
    DYNC_TAKES_2(DYNC_bitwise_xor, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_bitwise_xor takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_bitwise_xor(text_, self, other) \
    DYNC_OP_TWO(dync_bitwise_xor, dync__op_1VV, DYNC__OP_bitwise_xor, self, other)
/* dync_div: self / other; integers give a float. */
DYNC_API dync_tensor *(dync_div)(dync_value self, dync_value other);
#define dync_div(...) \
    DYNC_TAKES_2(DYNC_div, DYNC_OTHER_T, __VA_ARGS__)("dync_div takes 2 arguments: self, other", \
    __VA_ARGS__)
#define DYNC_div(text_, self, other) DYNC_OP_TWO(dync_div, dync__op_1VV, DYNC__OP_div, self, other)
/* dync_eq: self == other, as bool. No gradient. */
DYNC_API dync_tensor *(dync_eq)(dync_value self, dync_value other);
#define dync_eq(...) \
    DYNC_TAKES_2(DYNC_eq, DYNC_OTHER_T, __VA_ARGS__)("dync_eq takes 2 arguments: self, other", \
    __VA_ARGS__)
#define DYNC_eq(text_, self, other) DYNC_OP_TWO(dync_eq, dync__op_1VV, DYNC__OP_eq, self, other)
/* dync_floor_divide: the quotient rounded towards minus infinity; keeps integers; no gradient. */
DYNC_API dync_tensor *(dync_floor_divide)(dync_value self, dync_value other);
#define dync_floor_divide(...) \
    DYNC_TAKES_2(DYNC_floor_divide, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_floor_divide takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_floor_divide(text_, self, other) \
    DYNC_OP_TWO(dync_floor_divide, dync__op_1VV, DYNC__OP_floor_divide, self, other)
/* dync_fmod: C's remainder: the sign of self. */
DYNC_API dync_tensor *(dync_fmod)(dync_value self, dync_value other);
#define dync_fmod(...) \
    DYNC_TAKES_2(DYNC_fmod, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_fmod takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_fmod(text_, self, other) \
    DYNC_OP_TWO(dync_fmod, dync__op_1VV, DYNC__OP_fmod, self, other)
/* dync_ge: self >= other, as bool. No gradient. */
DYNC_API dync_tensor *(dync_ge)(dync_value self, dync_value other);
#define dync_ge(...) \
    DYNC_TAKES_2(DYNC_ge, DYNC_OTHER_T, __VA_ARGS__)("dync_ge takes 2 arguments: self, other", \
    __VA_ARGS__)
#define DYNC_ge(text_, self, other) DYNC_OP_TWO(dync_ge, dync__op_1VV, DYNC__OP_ge, self, other)
/* dync_gt: self > other, as bool. No gradient. */
DYNC_API dync_tensor *(dync_gt)(dync_value self, dync_value other);
#define dync_gt(...) \
    DYNC_TAKES_2(DYNC_gt, DYNC_OTHER_T, __VA_ARGS__)("dync_gt takes 2 arguments: self, other", \
    __VA_ARGS__)
#define DYNC_gt(text_, self, other) DYNC_OP_TWO(dync_gt, dync__op_1VV, DYNC__OP_gt, self, other)
/* dync_isclose: abs(self - other) <= atol + rtol * abs(other), as bool. No gradient. */
DYNC_API dync_tensor *(dync_isclose)(dync_tensor *self, dync_tensor *other, dync_real rtol,
    dync_real atol, bool equal_nan);
#define dync_isclose(...) \
    DYNC_TAKES_5(DYNC_isclose, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_isclose takes 5 arguments: self, other, rtol, atol, equal_nan", __VA_ARGS__)
#define DYNC_isclose(text_, self, other, rtol, atol, equal_nan) \
    DYNC_SEQ2_AND(dync_isclose, dync__op_1TTffb, DYNC__OP_isclose, DYNC_T(self, \
    "dync_isclose: self"), DYNC_T(other, "dync_isclose: other"), rtol, atol, equal_nan)
/* dync_le: self <= other, as bool. No gradient. */
DYNC_API dync_tensor *(dync_le)(dync_value self, dync_value other);
#define dync_le(...) \
    DYNC_TAKES_2(DYNC_le, DYNC_OTHER_T, __VA_ARGS__)("dync_le takes 2 arguments: self, other", \
    __VA_ARGS__)
#define DYNC_le(text_, self, other) DYNC_OP_TWO(dync_le, dync__op_1VV, DYNC__OP_le, self, other)
/* dync_logaddexp: log(exp(self) + exp(other)), without overflow. */
DYNC_API dync_tensor *(dync_logaddexp)(dync_tensor *self, dync_tensor *other);
#define dync_logaddexp(...) \
    DYNC_TAKES_2(DYNC_logaddexp, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_logaddexp takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_logaddexp(text_, self, other) \
    DYNC_SEQ2(dync_logaddexp, dync__op_1TT, DYNC__OP_logaddexp, DYNC_T(self, \
    "dync_logaddexp: self"), DYNC_T(other, "dync_logaddexp: other"))
/* dync_logical_and: both are not zero. No gradient. */
DYNC_API dync_tensor *(dync_logical_and)(dync_value self, dync_value other);
#define dync_logical_and(...) \
    DYNC_TAKES_2(DYNC_logical_and, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_logical_and takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_logical_and(text_, self, other) \
    DYNC_OP_TWO(dync_logical_and, dync__op_1VV, DYNC__OP_logical_and, self, other)
/* dync_logical_or: one of them is not zero. No gradient. */
DYNC_API dync_tensor *(dync_logical_or)(dync_value self, dync_value other);
#define dync_logical_or(...) \
    DYNC_TAKES_2(DYNC_logical_or, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_logical_or takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_logical_or(text_, self, other) \
    DYNC_OP_TWO(dync_logical_or, dync__op_1VV, DYNC__OP_logical_or, self, other)
/* dync_logical_xor: exactly one of them is not zero. No gradient. */
DYNC_API dync_tensor *(dync_logical_xor)(dync_value self, dync_value other);
#define dync_logical_xor(...) \
    DYNC_TAKES_2(DYNC_logical_xor, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_logical_xor takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_logical_xor(text_, self, other) \
    DYNC_OP_TWO(dync_logical_xor, dync__op_1VV, DYNC__OP_logical_xor, self, other)
/* dync_lt: self < other, as bool. No gradient. */
DYNC_API dync_tensor *(dync_lt)(dync_value self, dync_value other);
#define dync_lt(...) \
    DYNC_TAKES_2(DYNC_lt, DYNC_OTHER_T, __VA_ARGS__)("dync_lt takes 2 arguments: self, other", \
    __VA_ARGS__)
#define DYNC_lt(text_, self, other) DYNC_OP_TWO(dync_lt, dync__op_1VV, DYNC__OP_lt, self, other)
/* dync_maximum: the larger of the two; NaN wins. */
DYNC_API dync_tensor *(dync_maximum)(dync_value self, dync_value other);
#define dync_maximum(...) \
    DYNC_TAKES_2(DYNC_maximum, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_maximum takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_maximum(text_, self, other) \
    DYNC_OP_TWO(dync_maximum, dync__op_1VV, DYNC__OP_maximum, self, other)
/* dync_minimum: the smaller of the two; NaN wins. */
DYNC_API dync_tensor *(dync_minimum)(dync_value self, dync_value other);
#define dync_minimum(...) \
    DYNC_TAKES_2(DYNC_minimum, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_minimum takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_minimum(text_, self, other) \
    DYNC_OP_TWO(dync_minimum, dync__op_1VV, DYNC__OP_minimum, self, other)
/* dync_mul: self * other. */
DYNC_API dync_tensor *(dync_mul)(dync_value self, dync_value other);
#define dync_mul(...) \
    DYNC_TAKES_2(DYNC_mul, DYNC_OTHER_T, __VA_ARGS__)("dync_mul takes 2 arguments: self, other", \
    __VA_ARGS__)
#define DYNC_mul(text_, self, other) DYNC_OP_TWO(dync_mul, dync__op_1VV, DYNC__OP_mul, self, other)
/* dync_ne: self != other, as bool. No gradient. */
DYNC_API dync_tensor *(dync_ne)(dync_value self, dync_value other);
#define dync_ne(...) \
    DYNC_TAKES_2(DYNC_ne, DYNC_OTHER_T, __VA_ARGS__)("dync_ne takes 2 arguments: self, other", \
    __VA_ARGS__)
#define DYNC_ne(text_, self, other) DYNC_OP_TWO(dync_ne, dync__op_1VV, DYNC__OP_ne, self, other)
/* dync_pow: self to the power other. */
DYNC_API dync_tensor *(dync_pow)(dync_value self, dync_value other);
#define dync_pow(...) \
    DYNC_TAKES_2(DYNC_pow, DYNC_OTHER_T, __VA_ARGS__)("dync_pow takes 2 arguments: self, other", \
    __VA_ARGS__)
#define DYNC_pow(text_, self, other) DYNC_OP_TWO(dync_pow, dync__op_1VV, DYNC__OP_pow, self, other)
/* dync_remainder: Python's remainder: the sign of other. */
DYNC_API dync_tensor *(dync_remainder)(dync_value self, dync_value other);
#define dync_remainder(...) \
    DYNC_TAKES_2(DYNC_remainder, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_remainder takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_remainder(text_, self, other) \
    DYNC_OP_TWO(dync_remainder, dync__op_1VV, DYNC__OP_remainder, self, other)
/* dync_sub: self - other; not of bools. */
DYNC_API dync_tensor *(dync_sub)(dync_value self, dync_value other);
#define dync_sub(...) \
    DYNC_TAKES_2(DYNC_sub, DYNC_OTHER_T, __VA_ARGS__)("dync_sub takes 2 arguments: self, other", \
    __VA_ARGS__)
#define DYNC_sub(text_, self, other) DYNC_OP_TWO(dync_sub, dync__op_1VV, DYNC__OP_sub, self, other)
/* dync_xlogy: self * log(other); 0 where self is 0. */
DYNC_API dync_tensor *(dync_xlogy)(dync_tensor *self, dync_tensor *other);
#define dync_xlogy(...) \
    DYNC_TAKES_2(DYNC_xlogy, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_xlogy takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_xlogy(text_, self, other) \
    DYNC_SEQ2(dync_xlogy, dync__op_1TT, DYNC__OP_xlogy, DYNC_T(self, "dync_xlogy: self"), \
    DYNC_T(other, "dync_xlogy: other"))
/* dync_addcdiv: self + value * tensor1 / tensor2. */
DYNC_API dync_tensor *(dync_addcdiv)(dync_tensor *self, dync_tensor *tensor1,
    dync_tensor *tensor2, dync_value value);
#define dync_addcdiv(...) \
    DYNC_TAKES_4(DYNC_addcdiv, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_addcdiv takes 4 arguments: self, tensor1, tensor2, value", __VA_ARGS__)
#define DYNC_addcdiv(text_, self, tensor1, tensor2, value) \
    DYNC_SEQ3_AND(dync_addcdiv, dync__op_1TTTV, DYNC__OP_addcdiv, DYNC_T(self, \
    "dync_addcdiv: self"), DYNC_T(tensor1, "dync_addcdiv: tensor1"), DYNC_T(tensor2, \
    "dync_addcdiv: tensor2"), DYNC_V(value))
/* dync_addcmul: self + value * tensor1 * tensor2. */
DYNC_API dync_tensor *(dync_addcmul)(dync_tensor *self, dync_tensor *tensor1,
    dync_tensor *tensor2, dync_value value);
#define dync_addcmul(...) \
    DYNC_TAKES_4(DYNC_addcmul, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_addcmul takes 4 arguments: self, tensor1, tensor2, value", __VA_ARGS__)
#define DYNC_addcmul(text_, self, tensor1, tensor2, value) \
    DYNC_SEQ3_AND(dync_addcmul, dync__op_1TTTV, DYNC__OP_addcmul, DYNC_T(self, \
    "dync_addcmul: self"), DYNC_T(tensor1, "dync_addcmul: tensor1"), DYNC_T(tensor2, \
    "dync_addcmul: tensor2"), DYNC_V(value))
/* dync_clamp: self held between low and high; DYNC_NONE leaves a side open. */
DYNC_API dync_tensor *(dync_clamp)(dync_tensor *self, dync_value low, dync_value high);
#define dync_clamp(...) \
    DYNC_TAKES_3(DYNC_clamp, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_clamp takes 3 arguments: self, low, high", __VA_ARGS__)
#define DYNC_clamp(text_, self, low, high) \
    DYNC_OP(dync_clamp, dync__op_1TVV, DYNC__OP_clamp, DYNC_T(self, "dync_clamp: self"), \
    DYNC_V(low), DYNC_V(high))
/* dync_lerp: self + weight * (end - self). */
DYNC_API dync_tensor *(dync_lerp)(dync_tensor *self, dync_tensor *end, dync_value weight);
#define dync_lerp(...) \
    DYNC_TAKES_3(DYNC_lerp, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_lerp takes 3 arguments: self, end, weight", __VA_ARGS__)
#define DYNC_lerp(text_, self, end, weight) \
    DYNC_SEQ2_AND(dync_lerp, dync__op_1TTV, DYNC__OP_lerp, DYNC_T(self, "dync_lerp: self"), \
    DYNC_T(end, "dync_lerp: end"), DYNC_V(weight))
/* dync_masked_fill: value where the bool mask is set, self elsewhere. */
DYNC_API dync_tensor *(dync_masked_fill)(dync_tensor *self, dync_tensor *mask, dync_value value);
#define dync_masked_fill(...) \
    DYNC_TAKES_3(DYNC_masked_fill, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_masked_fill takes 3 arguments: self, mask, value", __VA_ARGS__)
#define DYNC_masked_fill(text_, self, mask, value) \
    DYNC_SEQ2_AND(dync_masked_fill, dync__op_1TTV, DYNC__OP_masked_fill, DYNC_T(self, \
    "dync_masked_fill: self"), DYNC_T(mask, "dync_masked_fill: mask"), DYNC_V(value))
/* dync_nan_to_num: NaN as nan (none: 0), infinities as posinf and neginf (none: the largest
 * numbers of the dtype). */
DYNC_API dync_tensor *(dync_nan_to_num)(dync_tensor *self, dync_value nan, dync_value posinf,
    dync_value neginf);
#define dync_nan_to_num(...) \
    DYNC_TAKES_4(DYNC_nan_to_num, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_nan_to_num takes 4 arguments: self, nan, posinf, neginf", __VA_ARGS__)
#define DYNC_nan_to_num(text_, self, nan, posinf, neginf) \
    DYNC_OP(dync_nan_to_num, dync__op_1TVVV, DYNC__OP_nan_to_num, DYNC_T(self, \
    "dync_nan_to_num: self"), DYNC_V(nan), DYNC_V(posinf), DYNC_V(neginf))
/* dync_rescale: self * multiplier / 2^shift, rounded, halves up: TOSA's RESCALE; I32, shift 0 to
 * 62. No gradient. */
DYNC_API dync_tensor *(dync_rescale)(dync_tensor *self, dync_tensor *multiplier,
    dync_tensor *shift);
#define dync_rescale(...) \
    DYNC_TAKES_3(DYNC_rescale, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_rescale takes 3 arguments: self, multiplier, shift", __VA_ARGS__)
#define DYNC_rescale(text_, self, multiplier, shift) \
    DYNC_SEQ2_AND(dync_rescale, dync__op_1TTT, DYNC__OP_rescale, DYNC_T(self, \
    "dync_rescale: self"), DYNC_T(multiplier, "dync_rescale: multiplier"), DYNC_T(shift, \
    "dync_rescale: shift"))
/* dync_where: self where the condition holds, other elsewhere. */
DYNC_API dync_tensor *(dync_where)(dync_tensor *condition, dync_value self, dync_value other);
#define dync_where(...) \
    DYNC_TAKES_3(DYNC_where, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_where takes 3 arguments: condition, self, other", __VA_ARGS__)
#define DYNC_where(text_, condition, self, other) \
    DYNC_SEQ2_AND(dync_where, dync__op_1TVV, DYNC__OP_where, DYNC_T(condition, \
    "dync_where: condition"), DYNC_V(self), DYNC_V(other))
