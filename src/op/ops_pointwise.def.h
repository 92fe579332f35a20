/* op/ops_pointwise.def.h: of two tensors and more, element by element. Rows of ops.def.h. */
#ifndef DYNC__OPS_POINTWISE_DEF_H
#define DYNC__OPS_POINTWISE_DEF_H

/* clang-format off */
#define DYNC__OPS_BINARY(X)                                                                                            \
    X(add,          POINTWISE, "(Value self, Value other)", 1, i_binary, e_add, none, g_add, none, "+",                \
      DYNC__OP_CHEAP | DYNC__OP_ARITH, -1, "self + other; type promotion and broadcasting as PyTorch")                 \
    X(atan2,        POINTWISE, "(Value self, Value other)", 1, i_binary, e_atan2, none, g_atan2, none,                 \
      "torch.*", DYNC__OP_FLOAT, -1, "the angle of the point (other, self), in (-pi, pi]")                             \
    X(bitwise_and,  POINTWISE, "(Value self, Value other)", 1, i_bitwise, e_bitwise_and, none, none, none, "&",        \
      DYNC__OP_NONDIFF | DYNC__OP_CHEAP, -1, "bitwise and of integers, logical and of bools")                          \
    X(bitwise_or,   POINTWISE, "(Value self, Value other)", 1, i_bitwise, e_bitwise_or, none, none, none, "|",         \
      DYNC__OP_NONDIFF | DYNC__OP_CHEAP, -1, "bitwise or of integers, logical or of bools")                            \
    X(bitwise_xor,  POINTWISE, "(Value self, Value other)", 1, i_bitwise, e_bitwise_xor, none, none, none, "^",        \
      DYNC__OP_NONDIFF | DYNC__OP_CHEAP, -1, "bitwise exclusive or of integers and bools")                             \
    X(div,          POINTWISE, "(Value self, Value other)", 1, i_binary, e_div, none, g_div, none, "/",                \
      DYNC__OP_CHEAP | DYNC__OP_FLOAT | DYNC__OP_ARITH, -1, "self / other; integers give a float")                     \
    X(eq,           POINTWISE, "(Value self, Value other)", 1, i_binary, e_eq, none, none, none, "==",                 \
      DYNC__OP_NONDIFF | DYNC__OP_BOOL_OUT | DYNC__OP_CHEAP, -1, "self == other, as bool")                             \
    X(floor_divide, POINTWISE, "(Value self, Value other)", 1, i_divide, e_floor_divide, none, none, none, "//",       \
      DYNC__OP_DIVIDES, -1, "the quotient rounded towards minus infinity; keeps integers; no gradient")                \
    X(fmod,         POINTWISE, "(Value self, Value other)", 1, i_divide, e_fmod, none, g_fmod, none, "torch.*",        \
      DYNC__OP_DIVIDES, -1, "C's remainder: the sign of self")                                                         \
    X(ge,           POINTWISE, "(Value self, Value other)", 1, i_binary, e_ge, none, none, none, ">=",                 \
      DYNC__OP_NONDIFF | DYNC__OP_BOOL_OUT | DYNC__OP_CHEAP, -1, "self >= other, as bool")                             \
    X(gt,           POINTWISE, "(Value self, Value other)", 1, i_binary, e_gt, none, none, none, ">",                  \
      DYNC__OP_NONDIFF | DYNC__OP_BOOL_OUT | DYNC__OP_CHEAP, -1, "self > other, as bool")                              \
    X(isclose, COMPOSITE, "(Tensor self, Tensor other, float rtol, float atol, bool equal_nan)", 1, i_composite,       \
      none, none, none, d_isclose, "torch.*", DYNC__OP_NONDIFF, -1,                                                    \
      "abs(self - other) <= atol + rtol * abs(other), as bool")                                                        \
    X(le,           POINTWISE, "(Value self, Value other)", 1, i_binary, e_le, none, none, none, "<=",                 \
      DYNC__OP_NONDIFF | DYNC__OP_BOOL_OUT | DYNC__OP_CHEAP, -1, "self <= other, as bool")                             \
    X(logaddexp, POINTWISE, "(Tensor self, Tensor other)", 1, i_floating_binary, e_logaddexp, none, g_logaddexp,       \
      none, "torch.*", 0, -1, "log(exp(self) + exp(other)), without overflow")                                         \
    X(logical_and,  POINTWISE, "(Value self, Value other)", 1, i_binary, e_logical_and, none, none, none,              \
      "torch.*", DYNC__OP_NONDIFF | DYNC__OP_BOOL_OUT | DYNC__OP_CHEAP, -1, "both are not zero")                       \
    X(logical_or,   POINTWISE, "(Value self, Value other)", 1, i_binary, e_logical_or, none, none, none,               \
      "torch.*", DYNC__OP_NONDIFF | DYNC__OP_BOOL_OUT | DYNC__OP_CHEAP, -1, "one of them is not zero")                 \
    X(logical_xor,  POINTWISE, "(Value self, Value other)", 1, i_binary, e_logical_xor, none, none, none,              \
      "torch.*", DYNC__OP_NONDIFF | DYNC__OP_BOOL_OUT | DYNC__OP_CHEAP, -1,                                            \
      "exactly one of them is not zero")                                                                               \
    X(lt,           POINTWISE, "(Value self, Value other)", 1, i_binary, e_lt, none, none, none, "<",                  \
      DYNC__OP_NONDIFF | DYNC__OP_BOOL_OUT | DYNC__OP_CHEAP, -1, "self < other, as bool")                              \
    X(maximum,      POINTWISE, "(Value self, Value other)", 1, i_binary, e_maximum, none, g_maximum, none,             \
      "torch.*", DYNC__OP_CHEAP, -1, "the larger of the two; NaN wins")                                                \
    X(minimum,      POINTWISE, "(Value self, Value other)", 1, i_binary, e_minimum, none, g_minimum, none,             \
      "torch.*", DYNC__OP_CHEAP, -1, "the smaller of the two; NaN wins")                                               \
    X(mul,          POINTWISE, "(Value self, Value other)", 1, i_binary, e_mul, none, g_mul, none, "*",                \
      DYNC__OP_CHEAP | DYNC__OP_ARITH, -1, "self * other")                                                             \
    X(ne,           POINTWISE, "(Value self, Value other)", 1, i_binary, e_ne, none, none, none, "!=",                 \
      DYNC__OP_NONDIFF | DYNC__OP_BOOL_OUT | DYNC__OP_CHEAP, -1, "self != other, as bool")                             \
    X(pow,          POINTWISE, "(Value self, Value other)", 1, i_pow,    e_pow, none, g_pow, none, "**",               \
      DYNC__OP_FIXED_NUMBERS, -1, "self to the power other")                                                           \
    X(remainder,    POINTWISE, "(Value self, Value other)", 1, i_divide, e_remainder, none, g_remainder, none,         \
      "torch.*", DYNC__OP_DIVIDES, -1, "Python's remainder: the sign of other")                                        \
    X(sub,          POINTWISE, "(Value self, Value other)", 1, i_sub, e_sub, none, g_sub, none, "-",                   \
      DYNC__OP_CHEAP | DYNC__OP_ARITH, -1, "self - other; not of bools")                                               \
    X(xlogy, COMPOSITE, "(Tensor self, Tensor other)", 1, i_composite, none, none, g_xlogy, d_xlogy, "torch.*", 0,     \
      -1, "self * log(other); 0 where self is 0")
/* clang-format on */

/* clang-format off */
#define DYNC__OPS_TERNARY(X)                                                                                         \
    X(addcdiv,     POINTWISE, "(Tensor self, Tensor tensor1, Tensor tensor2, Value value)", 1, i_addc, e_addcdiv,    \
      none, g_addcdiv, none, "torch.addcdiv({0}, {1}, {2}, value={3})", DYNC__OP_FITS, -1,                           \
      "self + value * tensor1 / tensor2")                                                                            \
    X(addcmul,     POINTWISE, "(Tensor self, Tensor tensor1, Tensor tensor2, Value value)", 1, i_addc, e_addcmul,    \
      none, g_addcmul, none, "torch.addcmul({0}, {1}, {2}, value={3})", DYNC__OP_CHEAP | DYNC__OP_FITS, -1,          \
      "self + value * tensor1 * tensor2")                                                                            \
    X(clamp,       POINTWISE, "(Tensor self, Value? low, Value? high)", 1, i_clamp, e_clamp, none, g_clamp, none,    \
      "torch.*", DYNC__OP_CHEAP | DYNC__OP_FITS | DYNC__OP_BOUNDS, -1,                                               \
      "self held between low and high; DYNC_NONE leaves a side open")                                                \
    X(lerp,        POINTWISE, "(Tensor self, Tensor end, Value weight)", 1, i_lerp, e_lerp, none, g_lerp, none,      \
      "torch.*", DYNC__OP_CHEAP, -1, "self + weight * (end - self)")                                                 \
    X(masked_fill, POINTWISE, "(Tensor self, Tensor mask, Value value)", 1, i_masked_fill, e_masked_fill, none,      \
      g_masked_fill, none, ".*", DYNC__OP_CHEAP | DYNC__OP_FITS | DYNC__OP_MASK_1, -1,                               \
      "value where the bool mask is set, self elsewhere")                                                            \
    X(nan_to_num, COMPOSITE, "(Tensor self, Value? nan, Value? posinf, Value? neginf)", 1, i_composite, none, none,  \
      none, d_nan_to_num, "torch.*", 0, -1,                                                                          \
      "NaN as nan (none: 0), infinities as posinf and neginf (none: the largest numbers of the dtype)")              \
    X(rescale,     POINTWISE, "(Tensor self, Tensor multiplier, Tensor shift)", 1, i_rescale, e_rescale, none, none, \
      none, "(({0}.long() * {1} + ((1 << {2}.long()) >> 1)) >> {2}).int()", DYNC__OP_NONDIFF, -1,                    \
      "self * multiplier / 2^shift, rounded, halves up: TOSA's RESCALE; I32, shift 0 to 62")                         \
    X(where,       POINTWISE, "(Tensor condition, Value self, Value other)", 1, i_where, e_where, none, g_where,     \
      none, "torch.*", DYNC__OP_CHEAP | DYNC__OP_FITS | DYNC__OP_MASK_0, -1,                                         \
      "self where the condition holds, other elsewhere")
/* clang-format on */
#endif
