/* op/entries.c: the public functions of the operators. After api/, before dispatch.c, which opens the handles packed here.
 *
 * Generated from src/op/ops.def.h by tools/genops.c: edit the table, then `make headers`. */
#include "../dync.in.h"
#include "op.h"

static DYNC__NOINLINE dync_tensor *dync__entry_1VV(int op, dync_value x0, dync_value x1, dync_loc at)
{
    dync__arg args[2];
    args[0] = dync__arg_value(x0);
    args[1] = dync__arg_value(x1);
    return dync__op_call(op, 2, args, at);
}

static DYNC__NOINLINE dync_tensor *dync__entry_1TTTV(int op, dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_value x3, dync_loc at)
{
    dync__arg args[4];
    args[0] = dync__arg_h(x0);
    args[1] = dync__arg_h(x1);
    args[2] = dync__arg_h(x2);
    args[3] = dync__arg_value(x3);
    return dync__op_call(op, 4, args, at);
}

static DYNC__NOINLINE dync_tensor *dync__entry_1TVV(int op, dync_tensor *x0, dync_value x1, dync_value x2, dync_loc at)
{
    dync__arg args[3];
    args[0] = dync__arg_h(x0);
    args[1] = dync__arg_value(x1);
    args[2] = dync__arg_value(x2);
    return dync__op_call(op, 3, args, at);
}

static DYNC__NOINLINE dync_tensor *dync__entry_1TTV(int op, dync_tensor *x0, dync_tensor *x1, dync_value x2, dync_loc at)
{
    dync__arg args[3];
    args[0] = dync__arg_h(x0);
    args[1] = dync__arg_h(x1);
    args[2] = dync__arg_value(x2);
    return dync__op_call(op, 3, args, at);
}

static DYNC__NOINLINE dync_tensor *dync__entry_1T(int op, dync_tensor *x0, dync_loc at)
{
    dync__arg args[1];
    args[0] = dync__arg_h(x0);
    return dync__op_call(op, 1, args, at);
}

static DYNC__NOINLINE dync_tensor *dync__entry_1Tf(int op, dync_tensor *x0, double x1, dync_loc at)
{
    dync__arg args[2];
    args[0] = dync__arg_h(x0);
    args[1] = dync__arg_f(x1);
    return dync__op_call(op, 2, args, at);
}

static DYNC__NOINLINE dync_tensor *dync__entry_1Tff(int op, dync_tensor *x0, double x1, double x2, dync_loc at)
{
    dync__arg args[3];
    args[0] = dync__arg_h(x0);
    args[1] = dync__arg_f(x1);
    args[2] = dync__arg_f(x2);
    return dync__op_call(op, 3, args, at);
}

static DYNC__NOINLINE dync_tensor *dync__entry_1TV(int op, dync_tensor *x0, dync_value x1, dync_loc at)
{
    dync__arg args[2];
    args[0] = dync__arg_h(x0);
    args[1] = dync__arg_value(x1);
    return dync__op_call(op, 2, args, at);
}

static DYNC__NOINLINE dync_tensor *dync__entry_1TiTT(int op, dync_tensor *x0, int x1, dync_tensor *x2, dync_tensor *x3, dync_loc at)
{
    dync__arg args[4];
    args[0] = dync__arg_h(x0);
    args[1] = dync__arg_i(x1);
    args[2] = dync__arg_h(x2);
    args[3] = dync__arg_h(x3);
    return dync__op_call(op, 4, args, at);
}

static DYNC__NOINLINE dync_tensor *dync__entry_1TiTV(int op, dync_tensor *x0, int x1, dync_tensor *x2, dync_value x3, dync_loc at)
{
    dync__arg args[4];
    args[0] = dync__arg_h(x0);
    args[1] = dync__arg_i(x1);
    args[2] = dync__arg_h(x2);
    args[3] = dync__arg_value(x3);
    return dync__op_call(op, 4, args, at);
}

static DYNC__NOINLINE dync_tensor *dync__entry_1Tdb(int op, dync_tensor *x0, dync_dims x1, bool x2, dync_loc at)
{
    dync__arg args[3];
    args[0] = dync__arg_h(x0);
    args[1] = dync__arg_dims(x1.n, x1.d);
    args[2] = dync__arg_b(x2);
    return dync__op_call(op, 3, args, at);
}

static DYNC__NOINLINE dync_tensor *dync__entry_1Tib(int op, dync_tensor *x0, int x1, bool x2, dync_loc at)
{
    dync__arg args[3];
    args[0] = dync__arg_h(x0);
    args[1] = dync__arg_i(x1);
    args[2] = dync__arg_b(x2);
    return dync__op_call(op, 3, args, at);
}

static DYNC__NOINLINE dync_tensor *dync__entry_1Ti(int op, dync_tensor *x0, int x1, dync_loc at)
{
    dync__arg args[2];
    args[0] = dync__arg_h(x0);
    args[1] = dync__arg_i(x1);
    return dync__op_call(op, 2, args, at);
}

static DYNC__NOINLINE dync_value dync__entry_nTib(int op, dync_tensor *x0, int x1, bool x2, dync_loc at)
{
    dync__arg args[3];
    args[0] = dync__arg_h(x0);
    args[1] = dync__arg_i(x1);
    args[2] = dync__arg_b(x2);
    return dync__op_call_list(op, 3, args, at);
}

static DYNC__NOINLINE dync_tensor *dync__entry_1Tdib(int op, dync_tensor *x0, dync_dims x1, int x2, bool x3, dync_loc at)
{
    dync__arg args[4];
    args[0] = dync__arg_h(x0);
    args[1] = dync__arg_dims(x1.n, x1.d);
    args[2] = dync__arg_i(x2);
    args[3] = dync__arg_b(x3);
    return dync__op_call(op, 4, args, at);
}

static DYNC__NOINLINE dync_tensor *dync__entry_1TTT(int op, dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_loc at)
{
    dync__arg args[3];
    args[0] = dync__arg_h(x0);
    args[1] = dync__arg_h(x1);
    args[2] = dync__arg_h(x2);
    return dync__op_call(op, 3, args, at);
}

static DYNC__NOINLINE dync_tensor *dync__entry_1TT(int op, dync_tensor *x0, dync_tensor *x1, dync_loc at)
{
    dync__arg args[2];
    args[0] = dync__arg_h(x0);
    args[1] = dync__arg_h(x1);
    return dync__op_call(op, 2, args, at);
}

static DYNC__NOINLINE dync_tensor *dync__entry_1Td(int op, dync_tensor *x0, dync_dims x1, dync_loc at)
{
    dync__arg args[2];
    args[0] = dync__arg_h(x0);
    args[1] = dync__arg_dims(x1.n, x1.d);
    return dync__op_call(op, 2, args, at);
}

static DYNC__NOINLINE dync_tensor *dync__entry_1TTOdddi(int op, dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_dims x3, dync_dims x4, dync_dims x5, int x6, dync_loc at)
{
    dync__arg args[7];
    args[0] = dync__arg_h(x0);
    args[1] = dync__arg_h(x1);
    args[2] = x2 ? dync__arg_h(x2) : dync__arg_none();
    args[3] = dync__arg_dims(x3.n, x3.d);
    args[4] = dync__arg_dims(x4.n, x4.d);
    args[5] = dync__arg_dims(x5.n, x5.d);
    args[6] = dync__arg_i(x6);
    return dync__op_call(op, 7, args, at);
}

static DYNC__NOINLINE dync_tensor *dync__entry_1Tl(int op, dync_tensor *x0, int64_t x1, dync_loc at)
{
    dync__arg args[2];
    args[0] = dync__arg_h(x0);
    args[1] = dync__arg_i(x1);
    return dync__op_call(op, 2, args, at);
}

static DYNC__NOINLINE dync_tensor *dync__entry_1Tdd(int op, dync_tensor *x0, dync_dims x1, dync_dims x2, dync_loc at)
{
    dync__arg args[3];
    args[0] = dync__arg_h(x0);
    args[1] = dync__arg_dims(x1.n, x1.d);
    args[2] = dync__arg_dims(x2.n, x2.d);
    return dync__op_call(op, 3, args, at);
}

static DYNC__NOINLINE dync_tensor *dync__entry_1Till(int op, dync_tensor *x0, int x1, int64_t x2, int64_t x3, dync_loc at)
{
    dync__arg args[4];
    args[0] = dync__arg_h(x0);
    args[1] = dync__arg_i(x1);
    args[2] = dync__arg_i(x2);
    args[3] = dync__arg_i(x3);
    return dync__op_call(op, 4, args, at);
}

static DYNC__NOINLINE dync_tensor *dync__entry_1TTf(int op, dync_tensor *x0, dync_tensor *x1, double x2, dync_loc at)
{
    dync__arg args[3];
    args[0] = dync__arg_h(x0);
    args[1] = dync__arg_h(x1);
    args[2] = dync__arg_f(x2);
    return dync__op_call(op, 3, args, at);
}

static DYNC__NOINLINE dync_tensor *dync__entry_1Tii(int op, dync_tensor *x0, int x1, int x2, dync_loc at)
{
    dync__arg args[3];
    args[0] = dync__arg_h(x0);
    args[1] = dync__arg_i(x1);
    args[2] = dync__arg_i(x2);
    return dync__op_call(op, 3, args, at);
}

static DYNC__NOINLINE dync_tensor *dync__entry_1Li(int op, dync_value x0, int x1, dync_loc at)
{
    dync__arg args[2];
    args[0] = dync__arg_value(x0);
    args[1] = dync__arg_i(x1);
    return dync__op_call(op, 2, args, at);
}

static DYNC__NOINLINE dync_tensor *dync__entry_1TiT(int op, dync_tensor *x0, int x1, dync_tensor *x2, dync_loc at)
{
    dync__arg args[3];
    args[0] = dync__arg_h(x0);
    args[1] = dync__arg_i(x1);
    args[2] = dync__arg_h(x2);
    return dync__op_call(op, 3, args, at);
}

DYNC_API dync_tensor *dync_add_at(dync_value self, dync_value other, dync_loc at)
{
    return dync__entry_1VV(DYNC__OP_add, self, other, at);
}
DYNC_API dync_tensor *(dync_add)(dync_value self, dync_value other) { return dync_add_at(self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_atan2_at(dync_value self, dync_value other, dync_loc at)
{
    return dync__entry_1VV(DYNC__OP_atan2, self, other, at);
}
DYNC_API dync_tensor *(dync_atan2)(dync_value self, dync_value other) { return dync_atan2_at(self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_bitwise_and_at(dync_value self, dync_value other, dync_loc at)
{
    return dync__entry_1VV(DYNC__OP_bitwise_and, self, other, at);
}
DYNC_API dync_tensor *(dync_bitwise_and)(dync_value self, dync_value other) { return dync_bitwise_and_at(self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_bitwise_or_at(dync_value self, dync_value other, dync_loc at)
{
    return dync__entry_1VV(DYNC__OP_bitwise_or, self, other, at);
}
DYNC_API dync_tensor *(dync_bitwise_or)(dync_value self, dync_value other) { return dync_bitwise_or_at(self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_bitwise_xor_at(dync_value self, dync_value other, dync_loc at)
{
    return dync__entry_1VV(DYNC__OP_bitwise_xor, self, other, at);
}
DYNC_API dync_tensor *(dync_bitwise_xor)(dync_value self, dync_value other) { return dync_bitwise_xor_at(self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_div_at(dync_value self, dync_value other, dync_loc at)
{
    return dync__entry_1VV(DYNC__OP_div, self, other, at);
}
DYNC_API dync_tensor *(dync_div)(dync_value self, dync_value other) { return dync_div_at(self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_eq_at(dync_value self, dync_value other, dync_loc at)
{
    return dync__entry_1VV(DYNC__OP_eq, self, other, at);
}
DYNC_API dync_tensor *(dync_eq)(dync_value self, dync_value other) { return dync_eq_at(self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_floor_divide_at(dync_value self, dync_value other, dync_loc at)
{
    return dync__entry_1VV(DYNC__OP_floor_divide, self, other, at);
}
DYNC_API dync_tensor *(dync_floor_divide)(dync_value self, dync_value other) { return dync_floor_divide_at(self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_fmod_at(dync_value self, dync_value other, dync_loc at)
{
    return dync__entry_1VV(DYNC__OP_fmod, self, other, at);
}
DYNC_API dync_tensor *(dync_fmod)(dync_value self, dync_value other) { return dync_fmod_at(self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_ge_at(dync_value self, dync_value other, dync_loc at)
{
    return dync__entry_1VV(DYNC__OP_ge, self, other, at);
}
DYNC_API dync_tensor *(dync_ge)(dync_value self, dync_value other) { return dync_ge_at(self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_gt_at(dync_value self, dync_value other, dync_loc at)
{
    return dync__entry_1VV(DYNC__OP_gt, self, other, at);
}
DYNC_API dync_tensor *(dync_gt)(dync_value self, dync_value other) { return dync_gt_at(self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_le_at(dync_value self, dync_value other, dync_loc at)
{
    return dync__entry_1VV(DYNC__OP_le, self, other, at);
}
DYNC_API dync_tensor *(dync_le)(dync_value self, dync_value other) { return dync_le_at(self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_logical_and_at(dync_value self, dync_value other, dync_loc at)
{
    return dync__entry_1VV(DYNC__OP_logical_and, self, other, at);
}
DYNC_API dync_tensor *(dync_logical_and)(dync_value self, dync_value other) { return dync_logical_and_at(self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_logical_or_at(dync_value self, dync_value other, dync_loc at)
{
    return dync__entry_1VV(DYNC__OP_logical_or, self, other, at);
}
DYNC_API dync_tensor *(dync_logical_or)(dync_value self, dync_value other) { return dync_logical_or_at(self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_logical_xor_at(dync_value self, dync_value other, dync_loc at)
{
    return dync__entry_1VV(DYNC__OP_logical_xor, self, other, at);
}
DYNC_API dync_tensor *(dync_logical_xor)(dync_value self, dync_value other) { return dync_logical_xor_at(self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_lt_at(dync_value self, dync_value other, dync_loc at)
{
    return dync__entry_1VV(DYNC__OP_lt, self, other, at);
}
DYNC_API dync_tensor *(dync_lt)(dync_value self, dync_value other) { return dync_lt_at(self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_maximum_at(dync_value self, dync_value other, dync_loc at)
{
    return dync__entry_1VV(DYNC__OP_maximum, self, other, at);
}
DYNC_API dync_tensor *(dync_maximum)(dync_value self, dync_value other) { return dync_maximum_at(self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_minimum_at(dync_value self, dync_value other, dync_loc at)
{
    return dync__entry_1VV(DYNC__OP_minimum, self, other, at);
}
DYNC_API dync_tensor *(dync_minimum)(dync_value self, dync_value other) { return dync_minimum_at(self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_mul_at(dync_value self, dync_value other, dync_loc at)
{
    return dync__entry_1VV(DYNC__OP_mul, self, other, at);
}
DYNC_API dync_tensor *(dync_mul)(dync_value self, dync_value other) { return dync_mul_at(self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_ne_at(dync_value self, dync_value other, dync_loc at)
{
    return dync__entry_1VV(DYNC__OP_ne, self, other, at);
}
DYNC_API dync_tensor *(dync_ne)(dync_value self, dync_value other) { return dync_ne_at(self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_pow_at(dync_value self, dync_value other, dync_loc at)
{
    return dync__entry_1VV(DYNC__OP_pow, self, other, at);
}
DYNC_API dync_tensor *(dync_pow)(dync_value self, dync_value other) { return dync_pow_at(self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_remainder_at(dync_value self, dync_value other, dync_loc at)
{
    return dync__entry_1VV(DYNC__OP_remainder, self, other, at);
}
DYNC_API dync_tensor *(dync_remainder)(dync_value self, dync_value other) { return dync_remainder_at(self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_sub_at(dync_value self, dync_value other, dync_loc at)
{
    return dync__entry_1VV(DYNC__OP_sub, self, other, at);
}
DYNC_API dync_tensor *(dync_sub)(dync_value self, dync_value other) { return dync_sub_at(self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_addcdiv_at(dync_tensor *self, dync_tensor *tensor1, dync_tensor *tensor2, dync_value value, dync_loc at)
{
    return dync__entry_1TTTV(DYNC__OP_addcdiv, self, tensor1, tensor2, value, at);
}
DYNC_API dync_tensor *(dync_addcdiv)(dync_tensor *self, dync_tensor *tensor1, dync_tensor *tensor2, dync_value value) { return dync_addcdiv_at(self, tensor1, tensor2, value, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_addcmul_at(dync_tensor *self, dync_tensor *tensor1, dync_tensor *tensor2, dync_value value, dync_loc at)
{
    return dync__entry_1TTTV(DYNC__OP_addcmul, self, tensor1, tensor2, value, at);
}
DYNC_API dync_tensor *(dync_addcmul)(dync_tensor *self, dync_tensor *tensor1, dync_tensor *tensor2, dync_value value) { return dync_addcmul_at(self, tensor1, tensor2, value, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_clamp_at(dync_tensor *self, dync_value low, dync_value high, dync_loc at)
{
    return dync__entry_1TVV(DYNC__OP_clamp, self, low, high, at);
}
DYNC_API dync_tensor *(dync_clamp)(dync_tensor *self, dync_value low, dync_value high) { return dync_clamp_at(self, low, high, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_lerp_at(dync_tensor *self, dync_tensor *end, dync_value weight, dync_loc at)
{
    return dync__entry_1TTV(DYNC__OP_lerp, self, end, weight, at);
}
DYNC_API dync_tensor *(dync_lerp)(dync_tensor *self, dync_tensor *end, dync_value weight) { return dync_lerp_at(self, end, weight, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_masked_fill_at(dync_tensor *self, dync_tensor *mask, dync_value value, dync_loc at)
{
    return dync__entry_1TTV(DYNC__OP_masked_fill, self, mask, value, at);
}
DYNC_API dync_tensor *(dync_masked_fill)(dync_tensor *self, dync_tensor *mask, dync_value value) { return dync_masked_fill_at(self, mask, value, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_where_at(dync_tensor *condition, dync_value self, dync_value other, dync_loc at)
{
    return dync__entry_1TVV(DYNC__OP_where, condition, self, other, at);
}
DYNC_API dync_tensor *(dync_where)(dync_tensor *condition, dync_value self, dync_value other) { return dync_where_at(condition, self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_abs_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_abs, self, at);
}
DYNC_API dync_tensor *(dync_abs)(dync_tensor *self) { return dync_abs_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_acos_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_acos, self, at);
}
DYNC_API dync_tensor *(dync_acos)(dync_tensor *self) { return dync_acos_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_asin_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_asin, self, at);
}
DYNC_API dync_tensor *(dync_asin)(dync_tensor *self) { return dync_asin_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_atan_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_atan, self, at);
}
DYNC_API dync_tensor *(dync_atan)(dync_tensor *self) { return dync_atan_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_bitwise_not_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_bitwise_not, self, at);
}
DYNC_API dync_tensor *(dync_bitwise_not)(dync_tensor *self) { return dync_bitwise_not_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_ceil_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_ceil, self, at);
}
DYNC_API dync_tensor *(dync_ceil)(dync_tensor *self) { return dync_ceil_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_cos_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_cos, self, at);
}
DYNC_API dync_tensor *(dync_cos)(dync_tensor *self) { return dync_cos_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_cosh_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_cosh, self, at);
}
DYNC_API dync_tensor *(dync_cosh)(dync_tensor *self) { return dync_cosh_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_elu_at(dync_tensor *self, double alpha, dync_loc at)
{
    return dync__entry_1Tf(DYNC__OP_elu, self, alpha, at);
}
DYNC_API dync_tensor *(dync_elu)(dync_tensor *self, double alpha) { return dync_elu_at(self, alpha, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_erf_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_erf, self, at);
}
DYNC_API dync_tensor *(dync_erf)(dync_tensor *self) { return dync_erf_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_erfc_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_erfc, self, at);
}
DYNC_API dync_tensor *(dync_erfc)(dync_tensor *self) { return dync_erfc_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_exp_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_exp, self, at);
}
DYNC_API dync_tensor *(dync_exp)(dync_tensor *self) { return dync_exp_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_exp2_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_exp2, self, at);
}
DYNC_API dync_tensor *(dync_exp2)(dync_tensor *self) { return dync_exp2_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_expm1_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_expm1, self, at);
}
DYNC_API dync_tensor *(dync_expm1)(dync_tensor *self) { return dync_expm1_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_floor_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_floor, self, at);
}
DYNC_API dync_tensor *(dync_floor)(dync_tensor *self) { return dync_floor_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_frac_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_frac, self, at);
}
DYNC_API dync_tensor *(dync_frac)(dync_tensor *self) { return dync_frac_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_gelu_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_gelu, self, at);
}
DYNC_API dync_tensor *(dync_gelu)(dync_tensor *self) { return dync_gelu_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_gelu_tanh_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_gelu_tanh, self, at);
}
DYNC_API dync_tensor *(dync_gelu_tanh)(dync_tensor *self) { return dync_gelu_tanh_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_hardtanh_at(dync_tensor *self, double low, double high, dync_loc at)
{
    return dync__entry_1Tff(DYNC__OP_hardtanh, self, low, high, at);
}
DYNC_API dync_tensor *(dync_hardtanh)(dync_tensor *self, double low, double high) { return dync_hardtanh_at(self, low, high, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_isfinite_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_isfinite, self, at);
}
DYNC_API dync_tensor *(dync_isfinite)(dync_tensor *self) { return dync_isfinite_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_isinf_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_isinf, self, at);
}
DYNC_API dync_tensor *(dync_isinf)(dync_tensor *self) { return dync_isinf_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_isnan_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_isnan, self, at);
}
DYNC_API dync_tensor *(dync_isnan)(dync_tensor *self) { return dync_isnan_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_leaky_relu_at(dync_tensor *self, double negative_slope, dync_loc at)
{
    return dync__entry_1Tf(DYNC__OP_leaky_relu, self, negative_slope, at);
}
DYNC_API dync_tensor *(dync_leaky_relu)(dync_tensor *self, double negative_slope) { return dync_leaky_relu_at(self, negative_slope, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_log_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_log, self, at);
}
DYNC_API dync_tensor *(dync_log)(dync_tensor *self) { return dync_log_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_log10_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_log10, self, at);
}
DYNC_API dync_tensor *(dync_log10)(dync_tensor *self) { return dync_log10_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_log1p_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_log1p, self, at);
}
DYNC_API dync_tensor *(dync_log1p)(dync_tensor *self) { return dync_log1p_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_log2_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_log2, self, at);
}
DYNC_API dync_tensor *(dync_log2)(dync_tensor *self) { return dync_log2_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_logical_not_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_logical_not, self, at);
}
DYNC_API dync_tensor *(dync_logical_not)(dync_tensor *self) { return dync_logical_not_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_logsigmoid_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_logsigmoid, self, at);
}
DYNC_API dync_tensor *(dync_logsigmoid)(dync_tensor *self) { return dync_logsigmoid_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_mish_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_mish, self, at);
}
DYNC_API dync_tensor *(dync_mish)(dync_tensor *self) { return dync_mish_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_neg_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_neg, self, at);
}
DYNC_API dync_tensor *(dync_neg)(dync_tensor *self) { return dync_neg_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_reciprocal_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_reciprocal, self, at);
}
DYNC_API dync_tensor *(dync_reciprocal)(dync_tensor *self) { return dync_reciprocal_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_relu_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_relu, self, at);
}
DYNC_API dync_tensor *(dync_relu)(dync_tensor *self) { return dync_relu_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_relu6_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_relu6, self, at);
}
DYNC_API dync_tensor *(dync_relu6)(dync_tensor *self) { return dync_relu6_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_round_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_round, self, at);
}
DYNC_API dync_tensor *(dync_round)(dync_tensor *self) { return dync_round_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_rsqrt_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_rsqrt, self, at);
}
DYNC_API dync_tensor *(dync_rsqrt)(dync_tensor *self) { return dync_rsqrt_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_sgn_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_sgn, self, at);
}
DYNC_API dync_tensor *(dync_sgn)(dync_tensor *self) { return dync_sgn_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_sigmoid_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_sigmoid, self, at);
}
DYNC_API dync_tensor *(dync_sigmoid)(dync_tensor *self) { return dync_sigmoid_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_sign_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_sign, self, at);
}
DYNC_API dync_tensor *(dync_sign)(dync_tensor *self) { return dync_sign_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_silu_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_silu, self, at);
}
DYNC_API dync_tensor *(dync_silu)(dync_tensor *self) { return dync_silu_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_sin_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_sin, self, at);
}
DYNC_API dync_tensor *(dync_sin)(dync_tensor *self) { return dync_sin_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_sinh_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_sinh, self, at);
}
DYNC_API dync_tensor *(dync_sinh)(dync_tensor *self) { return dync_sinh_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_softplus_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_softplus, self, at);
}
DYNC_API dync_tensor *(dync_softplus)(dync_tensor *self) { return dync_softplus_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_sqrt_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_sqrt, self, at);
}
DYNC_API dync_tensor *(dync_sqrt)(dync_tensor *self) { return dync_sqrt_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_square_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_square, self, at);
}
DYNC_API dync_tensor *(dync_square)(dync_tensor *self) { return dync_square_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_tan_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_tan, self, at);
}
DYNC_API dync_tensor *(dync_tan)(dync_tensor *self) { return dync_tan_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_tanh_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_tanh, self, at);
}
DYNC_API dync_tensor *(dync_tanh)(dync_tensor *self) { return dync_tanh_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_trunc_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_trunc, self, at);
}
DYNC_API dync_tensor *(dync_trunc)(dync_tensor *self) { return dync_trunc_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_abs__at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_abs_, self, at);
}
DYNC_API dync_tensor *(dync_abs_)(dync_tensor *self) { return dync_abs__at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_add__at(dync_tensor *self, dync_value other, dync_loc at)
{
    return dync__entry_1TV(DYNC__OP_add_, self, other, at);
}
DYNC_API dync_tensor *(dync_add_)(dync_tensor *self, dync_value other) { return dync_add__at(self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_addcdiv__at(dync_tensor *self, dync_tensor *tensor1, dync_tensor *tensor2, dync_value value, dync_loc at)
{
    return dync__entry_1TTTV(DYNC__OP_addcdiv_, self, tensor1, tensor2, value, at);
}
DYNC_API dync_tensor *(dync_addcdiv_)(dync_tensor *self, dync_tensor *tensor1, dync_tensor *tensor2, dync_value value) { return dync_addcdiv__at(self, tensor1, tensor2, value, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_addcmul__at(dync_tensor *self, dync_tensor *tensor1, dync_tensor *tensor2, dync_value value, dync_loc at)
{
    return dync__entry_1TTTV(DYNC__OP_addcmul_, self, tensor1, tensor2, value, at);
}
DYNC_API dync_tensor *(dync_addcmul_)(dync_tensor *self, dync_tensor *tensor1, dync_tensor *tensor2, dync_value value) { return dync_addcmul__at(self, tensor1, tensor2, value, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_ceil__at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_ceil_, self, at);
}
DYNC_API dync_tensor *(dync_ceil_)(dync_tensor *self) { return dync_ceil__at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_clamp__at(dync_tensor *self, dync_value low, dync_value high, dync_loc at)
{
    return dync__entry_1TVV(DYNC__OP_clamp_, self, low, high, at);
}
DYNC_API dync_tensor *(dync_clamp_)(dync_tensor *self, dync_value low, dync_value high) { return dync_clamp__at(self, low, high, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_copy__at(dync_tensor *self, dync_value src, dync_loc at)
{
    return dync__entry_1TV(DYNC__OP_copy_, self, src, at);
}
DYNC_API dync_tensor *(dync_copy_)(dync_tensor *self, dync_value src) { return dync_copy__at(self, src, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_cos__at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_cos_, self, at);
}
DYNC_API dync_tensor *(dync_cos_)(dync_tensor *self) { return dync_cos__at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_div__at(dync_tensor *self, dync_value other, dync_loc at)
{
    return dync__entry_1TV(DYNC__OP_div_, self, other, at);
}
DYNC_API dync_tensor *(dync_div_)(dync_tensor *self, dync_value other) { return dync_div__at(self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_exp__at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_exp_, self, at);
}
DYNC_API dync_tensor *(dync_exp_)(dync_tensor *self) { return dync_exp__at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_fill__at(dync_tensor *self, dync_value value, dync_loc at)
{
    return dync__entry_1TV(DYNC__OP_fill_, self, value, at);
}
DYNC_API dync_tensor *(dync_fill_)(dync_tensor *self, dync_value value) { return dync_fill__at(self, value, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_floor__at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_floor_, self, at);
}
DYNC_API dync_tensor *(dync_floor_)(dync_tensor *self) { return dync_floor__at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_index_add__at(dync_tensor *self, int dim, dync_tensor *index, dync_tensor *source, dync_loc at)
{
    return dync__entry_1TiTT(DYNC__OP_index_add_, self, dim, index, source, at);
}
DYNC_API dync_tensor *(dync_index_add_)(dync_tensor *self, int dim, dync_tensor *index, dync_tensor *source) { return dync_index_add__at(self, dim, index, source, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_lerp__at(dync_tensor *self, dync_tensor *end, dync_value weight, dync_loc at)
{
    return dync__entry_1TTV(DYNC__OP_lerp_, self, end, weight, at);
}
DYNC_API dync_tensor *(dync_lerp_)(dync_tensor *self, dync_tensor *end, dync_value weight) { return dync_lerp__at(self, end, weight, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_log__at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_log_, self, at);
}
DYNC_API dync_tensor *(dync_log_)(dync_tensor *self) { return dync_log__at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_masked_fill__at(dync_tensor *self, dync_tensor *mask, dync_value value, dync_loc at)
{
    return dync__entry_1TTV(DYNC__OP_masked_fill_, self, mask, value, at);
}
DYNC_API dync_tensor *(dync_masked_fill_)(dync_tensor *self, dync_tensor *mask, dync_value value) { return dync_masked_fill__at(self, mask, value, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_mul__at(dync_tensor *self, dync_value other, dync_loc at)
{
    return dync__entry_1TV(DYNC__OP_mul_, self, other, at);
}
DYNC_API dync_tensor *(dync_mul_)(dync_tensor *self, dync_value other) { return dync_mul__at(self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_neg__at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_neg_, self, at);
}
DYNC_API dync_tensor *(dync_neg_)(dync_tensor *self) { return dync_neg__at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_normal__at(dync_tensor *self, double mean, double std, dync_loc at)
{
    return dync__entry_1Tff(DYNC__OP_normal_, self, mean, std, at);
}
DYNC_API dync_tensor *(dync_normal_)(dync_tensor *self, double mean, double std) { return dync_normal__at(self, mean, std, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_pow__at(dync_tensor *self, dync_value exponent, dync_loc at)
{
    return dync__entry_1TV(DYNC__OP_pow_, self, exponent, at);
}
DYNC_API dync_tensor *(dync_pow_)(dync_tensor *self, dync_value exponent) { return dync_pow__at(self, exponent, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_relu__at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_relu_, self, at);
}
DYNC_API dync_tensor *(dync_relu_)(dync_tensor *self) { return dync_relu__at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_round__at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_round_, self, at);
}
DYNC_API dync_tensor *(dync_round_)(dync_tensor *self) { return dync_round__at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_scatter__at(dync_tensor *self, int dim, dync_tensor *index, dync_value src, dync_loc at)
{
    return dync__entry_1TiTV(DYNC__OP_scatter_, self, dim, index, src, at);
}
DYNC_API dync_tensor *(dync_scatter_)(dync_tensor *self, int dim, dync_tensor *index, dync_value src) { return dync_scatter__at(self, dim, index, src, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_scatter_add__at(dync_tensor *self, int dim, dync_tensor *index, dync_tensor *src, dync_loc at)
{
    return dync__entry_1TiTT(DYNC__OP_scatter_add_, self, dim, index, src, at);
}
DYNC_API dync_tensor *(dync_scatter_add_)(dync_tensor *self, int dim, dync_tensor *index, dync_tensor *src) { return dync_scatter_add__at(self, dim, index, src, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_sigmoid__at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_sigmoid_, self, at);
}
DYNC_API dync_tensor *(dync_sigmoid_)(dync_tensor *self) { return dync_sigmoid__at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_sin__at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_sin_, self, at);
}
DYNC_API dync_tensor *(dync_sin_)(dync_tensor *self) { return dync_sin__at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_sqrt__at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_sqrt_, self, at);
}
DYNC_API dync_tensor *(dync_sqrt_)(dync_tensor *self) { return dync_sqrt__at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_sub__at(dync_tensor *self, dync_value other, dync_loc at)
{
    return dync__entry_1TV(DYNC__OP_sub_, self, other, at);
}
DYNC_API dync_tensor *(dync_sub_)(dync_tensor *self, dync_value other) { return dync_sub__at(self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_tanh__at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_tanh_, self, at);
}
DYNC_API dync_tensor *(dync_tanh_)(dync_tensor *self) { return dync_tanh__at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_trunc__at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_trunc_, self, at);
}
DYNC_API dync_tensor *(dync_trunc_)(dync_tensor *self) { return dync_trunc__at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_uniform__at(dync_tensor *self, double from, double to, dync_loc at)
{
    return dync__entry_1Tff(DYNC__OP_uniform_, self, from, to, at);
}
DYNC_API dync_tensor *(dync_uniform_)(dync_tensor *self, double from, double to) { return dync_uniform__at(self, from, to, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_zero__at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_zero_, self, at);
}
DYNC_API dync_tensor *(dync_zero_)(dync_tensor *self) { return dync_zero__at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_empty_like_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_empty_like, self, at);
}
DYNC_API dync_tensor *(dync_empty_like)(dync_tensor *self) { return dync_empty_like_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_eye_at(int64_t n, int64_t m, dync_dtype dtype, dync_device device, dync_loc at)
{
    dync__arg args[4];
    args[0] = dync__arg_i(n);
    args[1] = dync__arg_i(m);
    args[2] = dync__arg_dtype((int)dtype);
    args[3] = dync__arg_device((int)device);
    return dync__op_call(DYNC__OP_eye, 4, args, at);
}
DYNC_API dync_tensor *(dync_eye)(int64_t n, int64_t m, dync_dtype dtype, dync_device device) { return dync_eye_at(n, m, dtype, device, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_full_like_at(dync_tensor *self, dync_value fill_value, dync_loc at)
{
    return dync__entry_1TV(DYNC__OP_full_like, self, fill_value, at);
}
DYNC_API dync_tensor *(dync_full_like)(dync_tensor *self, dync_value fill_value) { return dync_full_like_at(self, fill_value, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_ones_like_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_ones_like, self, at);
}
DYNC_API dync_tensor *(dync_ones_like)(dync_tensor *self) { return dync_ones_like_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_rand_like_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_rand_like, self, at);
}
DYNC_API dync_tensor *(dync_rand_like)(dync_tensor *self) { return dync_rand_like_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_randn_like_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_randn_like, self, at);
}
DYNC_API dync_tensor *(dync_randn_like)(dync_tensor *self) { return dync_randn_like_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_zeros_like_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_zeros_like, self, at);
}
DYNC_API dync_tensor *(dync_zeros_like)(dync_tensor *self) { return dync_zeros_like_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_all_at(dync_tensor *self, dync_dims dim, bool keepdim, dync_loc at)
{
    return dync__entry_1Tdb(DYNC__OP_all, self, dim, keepdim, at);
}
DYNC_API dync_tensor *(dync_all)(dync_tensor *self, dync_dims dim, bool keepdim) { return dync_all_at(self, dim, keepdim, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_amax_at(dync_tensor *self, dync_dims dim, bool keepdim, dync_loc at)
{
    return dync__entry_1Tdb(DYNC__OP_amax, self, dim, keepdim, at);
}
DYNC_API dync_tensor *(dync_amax)(dync_tensor *self, dync_dims dim, bool keepdim) { return dync_amax_at(self, dim, keepdim, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_amin_at(dync_tensor *self, dync_dims dim, bool keepdim, dync_loc at)
{
    return dync__entry_1Tdb(DYNC__OP_amin, self, dim, keepdim, at);
}
DYNC_API dync_tensor *(dync_amin)(dync_tensor *self, dync_dims dim, bool keepdim) { return dync_amin_at(self, dim, keepdim, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_any_at(dync_tensor *self, dync_dims dim, bool keepdim, dync_loc at)
{
    return dync__entry_1Tdb(DYNC__OP_any, self, dim, keepdim, at);
}
DYNC_API dync_tensor *(dync_any)(dync_tensor *self, dync_dims dim, bool keepdim) { return dync_any_at(self, dim, keepdim, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_argmax_at(dync_tensor *self, int dim, bool keepdim, dync_loc at)
{
    return dync__entry_1Tib(DYNC__OP_argmax, self, dim, keepdim, at);
}
DYNC_API dync_tensor *(dync_argmax)(dync_tensor *self, int dim, bool keepdim) { return dync_argmax_at(self, dim, keepdim, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_argmin_at(dync_tensor *self, int dim, bool keepdim, dync_loc at)
{
    return dync__entry_1Tib(DYNC__OP_argmin, self, dim, keepdim, at);
}
DYNC_API dync_tensor *(dync_argmin)(dync_tensor *self, int dim, bool keepdim) { return dync_argmin_at(self, dim, keepdim, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_cumsum_at(dync_tensor *self, int dim, dync_loc at)
{
    return dync__entry_1Ti(DYNC__OP_cumsum, self, dim, at);
}
DYNC_API dync_tensor *(dync_cumsum)(dync_tensor *self, int dim) { return dync_cumsum_at(self, dim, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_log_softmax_at(dync_tensor *self, int dim, dync_loc at)
{
    return dync__entry_1Ti(DYNC__OP_log_softmax, self, dim, at);
}
DYNC_API dync_tensor *(dync_log_softmax)(dync_tensor *self, int dim) { return dync_log_softmax_at(self, dim, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_logsumexp_at(dync_tensor *self, dync_dims dim, bool keepdim, dync_loc at)
{
    return dync__entry_1Tdb(DYNC__OP_logsumexp, self, dim, keepdim, at);
}
DYNC_API dync_tensor *(dync_logsumexp)(dync_tensor *self, dync_dims dim, bool keepdim) { return dync_logsumexp_at(self, dim, keepdim, DYNC_NOWHERE); }

DYNC_API dync_value dync_max_dim_at(dync_tensor *self, int dim, bool keepdim, dync_loc at)
{
    return dync__entry_nTib(DYNC__OP_max_dim, self, dim, keepdim, at);
}
DYNC_API dync_value (dync_max_dim)(dync_tensor *self, int dim, bool keepdim) { return dync_max_dim_at(self, dim, keepdim, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_mean_at(dync_tensor *self, dync_dims dim, bool keepdim, dync_loc at)
{
    return dync__entry_1Tdb(DYNC__OP_mean, self, dim, keepdim, at);
}
DYNC_API dync_tensor *(dync_mean)(dync_tensor *self, dync_dims dim, bool keepdim) { return dync_mean_at(self, dim, keepdim, DYNC_NOWHERE); }

DYNC_API dync_value dync_min_dim_at(dync_tensor *self, int dim, bool keepdim, dync_loc at)
{
    return dync__entry_nTib(DYNC__OP_min_dim, self, dim, keepdim, at);
}
DYNC_API dync_value (dync_min_dim)(dync_tensor *self, int dim, bool keepdim) { return dync_min_dim_at(self, dim, keepdim, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_norm_at(dync_tensor *self, dync_value p, dync_dims dim, bool keepdim, dync_loc at)
{
    dync__arg args[4];
    args[0] = dync__arg_h(self);
    args[1] = dync__arg_value(p);
    args[2] = dync__arg_dims(dim.n, dim.d);
    args[3] = dync__arg_b(keepdim);
    return dync__op_call(DYNC__OP_norm, 4, args, at);
}
DYNC_API dync_tensor *(dync_norm)(dync_tensor *self, dync_value p, dync_dims dim, bool keepdim) { return dync_norm_at(self, p, dim, keepdim, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_prod_at(dync_tensor *self, dync_dims dim, bool keepdim, dync_loc at)
{
    return dync__entry_1Tdb(DYNC__OP_prod, self, dim, keepdim, at);
}
DYNC_API dync_tensor *(dync_prod)(dync_tensor *self, dync_dims dim, bool keepdim) { return dync_prod_at(self, dim, keepdim, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_softmax_at(dync_tensor *self, int dim, dync_loc at)
{
    return dync__entry_1Ti(DYNC__OP_softmax, self, dim, at);
}
DYNC_API dync_tensor *(dync_softmax)(dync_tensor *self, int dim) { return dync_softmax_at(self, dim, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_std_at(dync_tensor *self, dync_dims dim, int correction, bool keepdim, dync_loc at)
{
    return dync__entry_1Tdib(DYNC__OP_std, self, dim, correction, keepdim, at);
}
DYNC_API dync_tensor *(dync_std)(dync_tensor *self, dync_dims dim, int correction, bool keepdim) { return dync_std_at(self, dim, correction, keepdim, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_sum_at(dync_tensor *self, dync_dims dim, bool keepdim, dync_loc at)
{
    return dync__entry_1Tdb(DYNC__OP_sum, self, dim, keepdim, at);
}
DYNC_API dync_tensor *(dync_sum)(dync_tensor *self, dync_dims dim, bool keepdim) { return dync_sum_at(self, dim, keepdim, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_var_at(dync_tensor *self, dync_dims dim, int correction, bool keepdim, dync_loc at)
{
    return dync__entry_1Tdib(DYNC__OP_var, self, dim, correction, keepdim, at);
}
DYNC_API dync_tensor *(dync_var)(dync_tensor *self, dync_dims dim, int correction, bool keepdim) { return dync_var_at(self, dim, correction, keepdim, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_addmm_at(dync_tensor *self, dync_tensor *mat1, dync_tensor *mat2, dync_loc at)
{
    return dync__entry_1TTT(DYNC__OP_addmm, self, mat1, mat2, at);
}
DYNC_API dync_tensor *(dync_addmm)(dync_tensor *self, dync_tensor *mat1, dync_tensor *mat2) { return dync_addmm_at(self, mat1, mat2, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_bmm_at(dync_tensor *self, dync_tensor *mat2, dync_loc at)
{
    return dync__entry_1TT(DYNC__OP_bmm, self, mat2, at);
}
DYNC_API dync_tensor *(dync_bmm)(dync_tensor *self, dync_tensor *mat2) { return dync_bmm_at(self, mat2, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_dot_at(dync_tensor *self, dync_tensor *tensor, dync_loc at)
{
    return dync__entry_1TT(DYNC__OP_dot, self, tensor, at);
}
DYNC_API dync_tensor *(dync_dot)(dync_tensor *self, dync_tensor *tensor) { return dync_dot_at(self, tensor, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_linear_at(dync_tensor *input, dync_tensor *weight, dync_tensor *bias, dync_loc at)
{
    dync__arg args[3];
    args[0] = dync__arg_h(input);
    args[1] = dync__arg_h(weight);
    args[2] = bias ? dync__arg_h(bias) : dync__arg_none();
    return dync__op_call(DYNC__OP_linear, 3, args, at);
}
DYNC_API dync_tensor *(dync_linear)(dync_tensor *input, dync_tensor *weight, dync_tensor *bias) { return dync_linear_at(input, weight, bias, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_matmul_at(dync_tensor *self, dync_tensor *other, dync_loc at)
{
    return dync__entry_1TT(DYNC__OP_matmul, self, other, at);
}
DYNC_API dync_tensor *(dync_matmul)(dync_tensor *self, dync_tensor *other) { return dync_matmul_at(self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_mm_at(dync_tensor *self, dync_tensor *mat2, dync_loc at)
{
    return dync__entry_1TT(DYNC__OP_mm, self, mat2, at);
}
DYNC_API dync_tensor *(dync_mm)(dync_tensor *self, dync_tensor *mat2) { return dync_mm_at(self, mat2, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_mv_at(dync_tensor *self, dync_tensor *vec, dync_loc at)
{
    return dync__entry_1TT(DYNC__OP_mv, self, vec, at);
}
DYNC_API dync_tensor *(dync_mv)(dync_tensor *self, dync_tensor *vec) { return dync_mv_at(self, vec, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_outer_at(dync_tensor *self, dync_tensor *vec2, dync_loc at)
{
    return dync__entry_1TT(DYNC__OP_outer, self, vec2, at);
}
DYNC_API dync_tensor *(dync_outer)(dync_tensor *self, dync_tensor *vec2) { return dync_outer_at(self, vec2, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_bernoulli_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_bernoulli, self, at);
}
DYNC_API dync_tensor *(dync_bernoulli)(dync_tensor *self) { return dync_bernoulli_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_count_nonzero_at(dync_tensor *self, dync_dims dim, dync_loc at)
{
    return dync__entry_1Td(DYNC__OP_count_nonzero, self, dim, at);
}
DYNC_API dync_tensor *(dync_count_nonzero)(dync_tensor *self, dync_dims dim) { return dync_count_nonzero_at(self, dim, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_isclose_at(dync_tensor *self, dync_tensor *other, double rtol, double atol, bool equal_nan, dync_loc at)
{
    dync__arg args[5];
    args[0] = dync__arg_h(self);
    args[1] = dync__arg_h(other);
    args[2] = dync__arg_f(rtol);
    args[3] = dync__arg_f(atol);
    args[4] = dync__arg_b(equal_nan);
    return dync__op_call(DYNC__OP_isclose, 5, args, at);
}
DYNC_API dync_tensor *(dync_isclose)(dync_tensor *self, dync_tensor *other, double rtol, double atol, bool equal_nan) { return dync_isclose_at(self, other, rtol, atol, equal_nan, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_logaddexp_at(dync_tensor *self, dync_tensor *other, dync_loc at)
{
    return dync__entry_1TT(DYNC__OP_logaddexp, self, other, at);
}
DYNC_API dync_tensor *(dync_logaddexp)(dync_tensor *self, dync_tensor *other) { return dync_logaddexp_at(self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_nan_to_num_at(dync_tensor *self, dync_value nan, dync_value posinf, dync_value neginf, dync_loc at)
{
    dync__arg args[4];
    args[0] = dync__arg_h(self);
    args[1] = dync__arg_value(nan);
    args[2] = dync__arg_value(posinf);
    args[3] = dync__arg_value(neginf);
    return dync__op_call(DYNC__OP_nan_to_num, 4, args, at);
}
DYNC_API dync_tensor *(dync_nan_to_num)(dync_tensor *self, dync_value nan, dync_value posinf, dync_value neginf) { return dync_nan_to_num_at(self, nan, posinf, neginf, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_xlogy_at(dync_tensor *self, dync_tensor *other, dync_loc at)
{
    return dync__entry_1TT(DYNC__OP_xlogy, self, other, at);
}
DYNC_API dync_tensor *(dync_xlogy)(dync_tensor *self, dync_tensor *other) { return dync_xlogy_at(self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_cosine_similarity_at(dync_tensor *x1, dync_tensor *x2, int dim, double eps, dync_loc at)
{
    dync__arg args[4];
    args[0] = dync__arg_h(x1);
    args[1] = dync__arg_h(x2);
    args[2] = dync__arg_i(dim);
    args[3] = dync__arg_f(eps);
    return dync__op_call(DYNC__OP_cosine_similarity, 4, args, at);
}
DYNC_API dync_tensor *(dync_cosine_similarity)(dync_tensor *x1, dync_tensor *x2, int dim, double eps) { return dync_cosine_similarity_at(x1, x2, dim, eps, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_normalize_at(dync_tensor *self, dync_value p, int dim, double eps, dync_loc at)
{
    dync__arg args[4];
    args[0] = dync__arg_h(self);
    args[1] = dync__arg_value(p);
    args[2] = dync__arg_i(dim);
    args[3] = dync__arg_f(eps);
    return dync__op_call(DYNC__OP_normalize, 4, args, at);
}
DYNC_API dync_tensor *(dync_normalize)(dync_tensor *self, dync_value p, int dim, double eps) { return dync_normalize_at(self, p, dim, eps, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_addmv_at(dync_tensor *self, dync_tensor *mat, dync_tensor *vec, dync_loc at)
{
    return dync__entry_1TTT(DYNC__OP_addmv, self, mat, vec, at);
}
DYNC_API dync_tensor *(dync_addmv)(dync_tensor *self, dync_tensor *mat, dync_tensor *vec) { return dync_addmv_at(self, mat, vec, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_baddbmm_at(dync_tensor *self, dync_tensor *batch1, dync_tensor *batch2, dync_loc at)
{
    return dync__entry_1TTT(DYNC__OP_baddbmm, self, batch1, batch2, at);
}
DYNC_API dync_tensor *(dync_baddbmm)(dync_tensor *self, dync_tensor *batch1, dync_tensor *batch2) { return dync_baddbmm_at(self, batch1, batch2, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_einsum_at(const char *equation, dync_value operands, dync_loc at)
{
    dync__arg args[2];
    args[0] = dync__arg_s(equation);
    args[1] = dync__arg_value(operands);
    return dync__op_call(DYNC__OP_einsum, 2, args, at);
}
DYNC_API dync_tensor *(dync_einsum)(const char *equation, dync_value operands) { return dync_einsum_at(equation, operands, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_trace_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_trace, self, at);
}
DYNC_API dync_tensor *(dync_trace)(dync_tensor *self) { return dync_trace_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_adaptive_avg_pool2d_at(dync_tensor *self, dync_dims output_size, dync_loc at)
{
    return dync__entry_1Td(DYNC__OP_adaptive_avg_pool2d, self, output_size, at);
}
DYNC_API dync_tensor *(dync_adaptive_avg_pool2d)(dync_tensor *self, dync_dims output_size) { return dync_adaptive_avg_pool2d_at(self, output_size, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_avg_pool2d_at(dync_tensor *self, dync_dims kernel_size, dync_dims stride, dync_dims padding, bool ceil_mode, bool count_include_pad, dync_loc at)
{
    dync__arg args[6];
    args[0] = dync__arg_h(self);
    args[1] = dync__arg_dims(kernel_size.n, kernel_size.d);
    args[2] = dync__arg_dims(stride.n, stride.d);
    args[3] = dync__arg_dims(padding.n, padding.d);
    args[4] = dync__arg_b(ceil_mode);
    args[5] = dync__arg_b(count_include_pad);
    return dync__op_call(DYNC__OP_avg_pool2d, 6, args, at);
}
DYNC_API dync_tensor *(dync_avg_pool2d)(dync_tensor *self, dync_dims kernel_size, dync_dims stride, dync_dims padding, bool ceil_mode, bool count_include_pad) { return dync_avg_pool2d_at(self, kernel_size, stride, padding, ceil_mode, count_include_pad, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_batch_norm_at(dync_tensor *input, dync_tensor *weight, dync_tensor *bias, dync_tensor *running_mean, dync_tensor *running_var, bool training, double momentum, double eps, dync_loc at)
{
    dync__arg args[8];
    args[0] = dync__arg_h(input);
    args[1] = weight ? dync__arg_h(weight) : dync__arg_none();
    args[2] = bias ? dync__arg_h(bias) : dync__arg_none();
    args[3] = running_mean ? dync__arg_h(running_mean) : dync__arg_none();
    args[4] = running_var ? dync__arg_h(running_var) : dync__arg_none();
    args[5] = dync__arg_b(training);
    args[6] = dync__arg_f(momentum);
    args[7] = dync__arg_f(eps);
    return dync__op_call(DYNC__OP_batch_norm, 8, args, at);
}
DYNC_API dync_tensor *(dync_batch_norm)(dync_tensor *input, dync_tensor *weight, dync_tensor *bias, dync_tensor *running_mean, dync_tensor *running_var, bool training, double momentum, double eps) { return dync_batch_norm_at(input, weight, bias, running_mean, running_var, training, momentum, eps, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_conv2d_at(dync_tensor *input, dync_tensor *weight, dync_tensor *bias, dync_dims stride, dync_dims padding, dync_dims dilation, int groups, dync_loc at)
{
    return dync__entry_1TTOdddi(DYNC__OP_conv2d, input, weight, bias, stride, padding, dilation, groups, at);
}
DYNC_API dync_tensor *(dync_conv2d)(dync_tensor *input, dync_tensor *weight, dync_tensor *bias, dync_dims stride, dync_dims padding, dync_dims dilation, int groups) { return dync_conv2d_at(input, weight, bias, stride, padding, dilation, groups, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_dropout_at(dync_tensor *self, double p, bool training, dync_loc at)
{
    dync__arg args[3];
    args[0] = dync__arg_h(self);
    args[1] = dync__arg_f(p);
    args[2] = dync__arg_b(training);
    return dync__op_call(DYNC__OP_dropout, 3, args, at);
}
DYNC_API dync_tensor *(dync_dropout)(dync_tensor *self, double p, bool training) { return dync_dropout_at(self, p, training, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_embedding_at(dync_tensor *weight, dync_tensor *indices, dync_loc at)
{
    return dync__entry_1TT(DYNC__OP_embedding, weight, indices, at);
}
DYNC_API dync_tensor *(dync_embedding)(dync_tensor *weight, dync_tensor *indices) { return dync_embedding_at(weight, indices, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_layer_norm_at(dync_tensor *input, dync_dims normalized_shape, dync_tensor *weight, dync_tensor *bias, double eps, dync_loc at)
{
    dync__arg args[5];
    args[0] = dync__arg_h(input);
    args[1] = dync__arg_dims(normalized_shape.n, normalized_shape.d);
    args[2] = weight ? dync__arg_h(weight) : dync__arg_none();
    args[3] = bias ? dync__arg_h(bias) : dync__arg_none();
    args[4] = dync__arg_f(eps);
    return dync__op_call(DYNC__OP_layer_norm, 5, args, at);
}
DYNC_API dync_tensor *(dync_layer_norm)(dync_tensor *input, dync_dims normalized_shape, dync_tensor *weight, dync_tensor *bias, double eps) { return dync_layer_norm_at(input, normalized_shape, weight, bias, eps, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_max_pool2d_at(dync_tensor *self, dync_dims kernel_size, dync_dims stride, dync_dims padding, dync_dims dilation, bool ceil_mode, dync_loc at)
{
    dync__arg args[6];
    args[0] = dync__arg_h(self);
    args[1] = dync__arg_dims(kernel_size.n, kernel_size.d);
    args[2] = dync__arg_dims(stride.n, stride.d);
    args[3] = dync__arg_dims(padding.n, padding.d);
    args[4] = dync__arg_dims(dilation.n, dilation.d);
    args[5] = dync__arg_b(ceil_mode);
    return dync__op_call(DYNC__OP_max_pool2d, 6, args, at);
}
DYNC_API dync_tensor *(dync_max_pool2d)(dync_tensor *self, dync_dims kernel_size, dync_dims stride, dync_dims padding, dync_dims dilation, bool ceil_mode) { return dync_max_pool2d_at(self, kernel_size, stride, padding, dilation, ceil_mode, DYNC_NOWHERE); }

DYNC_API dync_value dync_max_pool2d_with_indices_at(dync_tensor *self, dync_dims kernel_size, dync_dims stride, dync_dims padding, dync_dims dilation, bool ceil_mode, dync_loc at)
{
    dync__arg args[6];
    args[0] = dync__arg_h(self);
    args[1] = dync__arg_dims(kernel_size.n, kernel_size.d);
    args[2] = dync__arg_dims(stride.n, stride.d);
    args[3] = dync__arg_dims(padding.n, padding.d);
    args[4] = dync__arg_dims(dilation.n, dilation.d);
    args[5] = dync__arg_b(ceil_mode);
    return dync__op_call_list(DYNC__OP_max_pool2d_with_indices, 6, args, at);
}
DYNC_API dync_value (dync_max_pool2d_with_indices)(dync_tensor *self, dync_dims kernel_size, dync_dims stride, dync_dims padding, dync_dims dilation, bool ceil_mode) { return dync_max_pool2d_with_indices_at(self, kernel_size, stride, padding, dilation, ceil_mode, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_one_hot_at(dync_tensor *self, int64_t num_classes, dync_loc at)
{
    return dync__entry_1Tl(DYNC__OP_one_hot, self, num_classes, at);
}
DYNC_API dync_tensor *(dync_one_hot)(dync_tensor *self, int64_t num_classes) { return dync_one_hot_at(self, num_classes, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_celu_at(dync_tensor *self, double alpha, dync_loc at)
{
    return dync__entry_1Tf(DYNC__OP_celu, self, alpha, at);
}
DYNC_API dync_tensor *(dync_celu)(dync_tensor *self, double alpha) { return dync_celu_at(self, alpha, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_glu_at(dync_tensor *self, int dim, dync_loc at)
{
    return dync__entry_1Ti(DYNC__OP_glu, self, dim, at);
}
DYNC_API dync_tensor *(dync_glu)(dync_tensor *self, int dim) { return dync_glu_at(self, dim, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_hardshrink_at(dync_tensor *self, double lambd, dync_loc at)
{
    return dync__entry_1Tf(DYNC__OP_hardshrink, self, lambd, at);
}
DYNC_API dync_tensor *(dync_hardshrink)(dync_tensor *self, double lambd) { return dync_hardshrink_at(self, lambd, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_hardsigmoid_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_hardsigmoid, self, at);
}
DYNC_API dync_tensor *(dync_hardsigmoid)(dync_tensor *self) { return dync_hardsigmoid_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_hardswish_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_hardswish, self, at);
}
DYNC_API dync_tensor *(dync_hardswish)(dync_tensor *self) { return dync_hardswish_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_prelu_at(dync_tensor *self, dync_tensor *weight, dync_loc at)
{
    return dync__entry_1TT(DYNC__OP_prelu, self, weight, at);
}
DYNC_API dync_tensor *(dync_prelu)(dync_tensor *self, dync_tensor *weight) { return dync_prelu_at(self, weight, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_selu_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_selu, self, at);
}
DYNC_API dync_tensor *(dync_selu)(dync_tensor *self) { return dync_selu_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_softmin_at(dync_tensor *self, int dim, dync_loc at)
{
    return dync__entry_1Ti(DYNC__OP_softmin, self, dim, at);
}
DYNC_API dync_tensor *(dync_softmin)(dync_tensor *self, int dim) { return dync_softmin_at(self, dim, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_softshrink_at(dync_tensor *self, double lambd, dync_loc at)
{
    return dync__entry_1Tf(DYNC__OP_softshrink, self, lambd, at);
}
DYNC_API dync_tensor *(dync_softshrink)(dync_tensor *self, double lambd) { return dync_softshrink_at(self, lambd, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_softsign_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_softsign, self, at);
}
DYNC_API dync_tensor *(dync_softsign)(dync_tensor *self) { return dync_softsign_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_tanhshrink_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_tanhshrink, self, at);
}
DYNC_API dync_tensor *(dync_tanhshrink)(dync_tensor *self) { return dync_tanhshrink_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_threshold_at(dync_tensor *self, double threshold, dync_value value, dync_loc at)
{
    dync__arg args[3];
    args[0] = dync__arg_h(self);
    args[1] = dync__arg_f(threshold);
    args[2] = dync__arg_value(value);
    return dync__op_call(DYNC__OP_threshold, 3, args, at);
}
DYNC_API dync_tensor *(dync_threshold)(dync_tensor *self, double threshold, dync_value value) { return dync_threshold_at(self, threshold, value, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_conv1d_at(dync_tensor *input, dync_tensor *weight, dync_tensor *bias, dync_dims stride, dync_dims padding, dync_dims dilation, int groups, dync_loc at)
{
    return dync__entry_1TTOdddi(DYNC__OP_conv1d, input, weight, bias, stride, padding, dilation, groups, at);
}
DYNC_API dync_tensor *(dync_conv1d)(dync_tensor *input, dync_tensor *weight, dync_tensor *bias, dync_dims stride, dync_dims padding, dync_dims dilation, int groups) { return dync_conv1d_at(input, weight, bias, stride, padding, dilation, groups, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_conv_transpose2d_at(dync_tensor *input, dync_tensor *weight, dync_tensor *bias, dync_dims stride, dync_dims padding, dync_dims output_padding, int groups, dync_dims dilation, dync_loc at)
{
    dync__arg args[8];
    args[0] = dync__arg_h(input);
    args[1] = dync__arg_h(weight);
    args[2] = bias ? dync__arg_h(bias) : dync__arg_none();
    args[3] = dync__arg_dims(stride.n, stride.d);
    args[4] = dync__arg_dims(padding.n, padding.d);
    args[5] = dync__arg_dims(output_padding.n, output_padding.d);
    args[6] = dync__arg_i(groups);
    args[7] = dync__arg_dims(dilation.n, dilation.d);
    return dync__op_call(DYNC__OP_conv_transpose2d, 8, args, at);
}
DYNC_API dync_tensor *(dync_conv_transpose2d)(dync_tensor *input, dync_tensor *weight, dync_tensor *bias, dync_dims stride, dync_dims padding, dync_dims output_padding, int groups, dync_dims dilation) { return dync_conv_transpose2d_at(input, weight, bias, stride, padding, output_padding, groups, dilation, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_group_norm_at(dync_tensor *input, int64_t num_groups, dync_tensor *weight, dync_tensor *bias, double eps, dync_loc at)
{
    dync__arg args[5];
    args[0] = dync__arg_h(input);
    args[1] = dync__arg_i(num_groups);
    args[2] = weight ? dync__arg_h(weight) : dync__arg_none();
    args[3] = bias ? dync__arg_h(bias) : dync__arg_none();
    args[4] = dync__arg_f(eps);
    return dync__op_call(DYNC__OP_group_norm, 5, args, at);
}
DYNC_API dync_tensor *(dync_group_norm)(dync_tensor *input, int64_t num_groups, dync_tensor *weight, dync_tensor *bias, double eps) { return dync_group_norm_at(input, num_groups, weight, bias, eps, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_instance_norm_at(dync_tensor *input, dync_tensor *weight, dync_tensor *bias, double eps, dync_loc at)
{
    dync__arg args[4];
    args[0] = dync__arg_h(input);
    args[1] = weight ? dync__arg_h(weight) : dync__arg_none();
    args[2] = bias ? dync__arg_h(bias) : dync__arg_none();
    args[3] = dync__arg_f(eps);
    return dync__op_call(DYNC__OP_instance_norm, 4, args, at);
}
DYNC_API dync_tensor *(dync_instance_norm)(dync_tensor *input, dync_tensor *weight, dync_tensor *bias, double eps) { return dync_instance_norm_at(input, weight, bias, eps, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_rms_norm_at(dync_tensor *input, dync_dims normalized_shape, dync_tensor *weight, dync_value eps, dync_loc at)
{
    dync__arg args[4];
    args[0] = dync__arg_h(input);
    args[1] = dync__arg_dims(normalized_shape.n, normalized_shape.d);
    args[2] = weight ? dync__arg_h(weight) : dync__arg_none();
    args[3] = dync__arg_value(eps);
    return dync__op_call(DYNC__OP_rms_norm, 4, args, at);
}
DYNC_API dync_tensor *(dync_rms_norm)(dync_tensor *input, dync_dims normalized_shape, dync_tensor *weight, dync_value eps) { return dync_rms_norm_at(input, normalized_shape, weight, eps, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_scaled_dot_product_attention_at(dync_tensor *query, dync_tensor *key, dync_tensor *value, dync_tensor *attn_mask, double dropout_p, bool is_causal, dync_value scale, dync_loc at)
{
    dync__arg args[7];
    args[0] = dync__arg_h(query);
    args[1] = dync__arg_h(key);
    args[2] = dync__arg_h(value);
    args[3] = attn_mask ? dync__arg_h(attn_mask) : dync__arg_none();
    args[4] = dync__arg_f(dropout_p);
    args[5] = dync__arg_b(is_causal);
    args[6] = dync__arg_value(scale);
    return dync__op_call(DYNC__OP_scaled_dot_product_attention, 7, args, at);
}
DYNC_API dync_tensor *(dync_scaled_dot_product_attention)(dync_tensor *query, dync_tensor *key, dync_tensor *value, dync_tensor *attn_mask, double dropout_p, bool is_causal, dync_value scale) { return dync_scaled_dot_product_attention_at(query, key, value, attn_mask, dropout_p, is_causal, scale, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_pixel_shuffle_at(dync_tensor *self, int64_t upscale_factor, dync_loc at)
{
    return dync__entry_1Tl(DYNC__OP_pixel_shuffle, self, upscale_factor, at);
}
DYNC_API dync_tensor *(dync_pixel_shuffle)(dync_tensor *self, int64_t upscale_factor) { return dync_pixel_shuffle_at(self, upscale_factor, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_upsample_nearest2d_at(dync_tensor *self, dync_dims output_size, dync_loc at)
{
    return dync__entry_1Td(DYNC__OP_upsample_nearest2d, self, output_size, at);
}
DYNC_API dync_tensor *(dync_upsample_nearest2d)(dync_tensor *self, dync_dims output_size) { return dync_upsample_nearest2d_at(self, output_size, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_pad_at(dync_tensor *self, dync_dims pad, dync_value value, dync_loc at)
{
    dync__arg args[3];
    args[0] = dync__arg_h(self);
    args[1] = dync__arg_dims(pad.n, pad.d);
    args[2] = dync__arg_value(value);
    return dync__op_call(DYNC__OP_pad, 3, args, at);
}
DYNC_API dync_tensor *(dync_pad)(dync_tensor *self, dync_dims pad, dync_value value) { return dync_pad_at(self, pad, value, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_movedim_at(dync_tensor *self, dync_dims source, dync_dims destination, dync_loc at)
{
    return dync__entry_1Tdd(DYNC__OP_movedim, self, source, destination, at);
}
DYNC_API dync_tensor *(dync_movedim)(dync_tensor *self, dync_dims source, dync_dims destination) { return dync_movedim_at(self, source, destination, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_unfold_at(dync_tensor *self, int dim, int64_t size, int64_t step, dync_loc at)
{
    return dync__entry_1Till(DYNC__OP_unfold, self, dim, size, step, at);
}
DYNC_API dync_tensor *(dync_unfold)(dync_tensor *self, int dim, int64_t size, int64_t step) { return dync_unfold_at(self, dim, size, step, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_huber_loss_at(dync_tensor *self, dync_tensor *target, double delta, dync_loc at)
{
    return dync__entry_1TTf(DYNC__OP_huber_loss, self, target, delta, at);
}
DYNC_API dync_tensor *(dync_huber_loss)(dync_tensor *self, dync_tensor *target, double delta) { return dync_huber_loss_at(self, target, delta, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_kl_div_at(dync_tensor *self, dync_tensor *target, bool log_target, dync_loc at)
{
    dync__arg args[3];
    args[0] = dync__arg_h(self);
    args[1] = dync__arg_h(target);
    args[2] = dync__arg_b(log_target);
    return dync__op_call(DYNC__OP_kl_div, 3, args, at);
}
DYNC_API dync_tensor *(dync_kl_div)(dync_tensor *self, dync_tensor *target, bool log_target) { return dync_kl_div_at(self, target, log_target, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_binary_cross_entropy_at(dync_tensor *self, dync_tensor *target, dync_loc at)
{
    return dync__entry_1TT(DYNC__OP_binary_cross_entropy, self, target, at);
}
DYNC_API dync_tensor *(dync_binary_cross_entropy)(dync_tensor *self, dync_tensor *target) { return dync_binary_cross_entropy_at(self, target, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_binary_cross_entropy_with_logits_at(dync_tensor *self, dync_tensor *target, dync_loc at)
{
    return dync__entry_1TT(DYNC__OP_binary_cross_entropy_with_logits, self, target, at);
}
DYNC_API dync_tensor *(dync_binary_cross_entropy_with_logits)(dync_tensor *self, dync_tensor *target) { return dync_binary_cross_entropy_with_logits_at(self, target, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_cross_entropy_at(dync_tensor *self, dync_tensor *target, dync_loc at)
{
    return dync__entry_1TT(DYNC__OP_cross_entropy, self, target, at);
}
DYNC_API dync_tensor *(dync_cross_entropy)(dync_tensor *self, dync_tensor *target) { return dync_cross_entropy_at(self, target, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_l1_loss_at(dync_tensor *self, dync_tensor *target, dync_loc at)
{
    return dync__entry_1TT(DYNC__OP_l1_loss, self, target, at);
}
DYNC_API dync_tensor *(dync_l1_loss)(dync_tensor *self, dync_tensor *target) { return dync_l1_loss_at(self, target, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_mse_loss_at(dync_tensor *self, dync_tensor *target, dync_loc at)
{
    return dync__entry_1TT(DYNC__OP_mse_loss, self, target, at);
}
DYNC_API dync_tensor *(dync_mse_loss)(dync_tensor *self, dync_tensor *target) { return dync_mse_loss_at(self, target, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_nll_loss_at(dync_tensor *self, dync_tensor *target, dync_loc at)
{
    return dync__entry_1TT(DYNC__OP_nll_loss, self, target, at);
}
DYNC_API dync_tensor *(dync_nll_loss)(dync_tensor *self, dync_tensor *target) { return dync_nll_loss_at(self, target, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_smooth_l1_loss_at(dync_tensor *self, dync_tensor *target, double beta, dync_loc at)
{
    return dync__entry_1TTf(DYNC__OP_smooth_l1_loss, self, target, beta, at);
}
DYNC_API dync_tensor *(dync_smooth_l1_loss)(dync_tensor *self, dync_tensor *target, double beta) { return dync_smooth_l1_loss_at(self, target, beta, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_as_strided_at(dync_tensor *self, dync_dims size, dync_dims stride, int64_t storage_offset, dync_loc at)
{
    dync__arg args[4];
    args[0] = dync__arg_h(self);
    args[1] = dync__arg_dims(size.n, size.d);
    args[2] = dync__arg_dims(stride.n, stride.d);
    args[3] = dync__arg_i(storage_offset);
    return dync__op_call(DYNC__OP_as_strided, 4, args, at);
}
DYNC_API dync_tensor *(dync_as_strided)(dync_tensor *self, dync_dims size, dync_dims stride, int64_t storage_offset) { return dync_as_strided_at(self, size, stride, storage_offset, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_contiguous_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_contiguous, self, at);
}
DYNC_API dync_tensor *(dync_contiguous)(dync_tensor *self) { return dync_contiguous_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_diagonal_at(dync_tensor *self, int offset, int dim1, int dim2, dync_loc at)
{
    dync__arg args[4];
    args[0] = dync__arg_h(self);
    args[1] = dync__arg_i(offset);
    args[2] = dync__arg_i(dim1);
    args[3] = dync__arg_i(dim2);
    return dync__op_call(DYNC__OP_diagonal, 4, args, at);
}
DYNC_API dync_tensor *(dync_diagonal)(dync_tensor *self, int offset, int dim1, int dim2) { return dync_diagonal_at(self, offset, dim1, dim2, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_expand_at(dync_tensor *self, dync_dims size, dync_loc at)
{
    return dync__entry_1Td(DYNC__OP_expand, self, size, at);
}
DYNC_API dync_tensor *(dync_expand)(dync_tensor *self, dync_dims size) { return dync_expand_at(self, size, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_expand_as_at(dync_tensor *self, dync_tensor *other, dync_loc at)
{
    return dync__entry_1TT(DYNC__OP_expand_as, self, other, at);
}
DYNC_API dync_tensor *(dync_expand_as)(dync_tensor *self, dync_tensor *other) { return dync_expand_as_at(self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_flatten_at(dync_tensor *self, int start_dim, int end_dim, dync_loc at)
{
    return dync__entry_1Tii(DYNC__OP_flatten, self, start_dim, end_dim, at);
}
DYNC_API dync_tensor *(dync_flatten)(dync_tensor *self, int start_dim, int end_dim) { return dync_flatten_at(self, start_dim, end_dim, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_narrow_at(dync_tensor *self, int dim, int64_t start, int64_t length, dync_loc at)
{
    return dync__entry_1Till(DYNC__OP_narrow, self, dim, start, length, at);
}
DYNC_API dync_tensor *(dync_narrow)(dync_tensor *self, int dim, int64_t start, int64_t length) { return dync_narrow_at(self, dim, start, length, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_permute_at(dync_tensor *self, dync_dims dims, dync_loc at)
{
    return dync__entry_1Td(DYNC__OP_permute, self, dims, at);
}
DYNC_API dync_tensor *(dync_permute)(dync_tensor *self, dync_dims dims) { return dync_permute_at(self, dims, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_reshape_at(dync_tensor *self, dync_dims shape, dync_loc at)
{
    return dync__entry_1Td(DYNC__OP_reshape, self, shape, at);
}
DYNC_API dync_tensor *(dync_reshape)(dync_tensor *self, dync_dims shape) { return dync_reshape_at(self, shape, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_select_at(dync_tensor *self, int dim, int64_t index, dync_loc at)
{
    dync__arg args[3];
    args[0] = dync__arg_h(self);
    args[1] = dync__arg_i(dim);
    args[2] = dync__arg_i(index);
    return dync__op_call(DYNC__OP_select, 3, args, at);
}
DYNC_API dync_tensor *(dync_select)(dync_tensor *self, int dim, int64_t index) { return dync_select_at(self, dim, index, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_slice_at(dync_tensor *self, int dim, int64_t start, int64_t end, int64_t step, dync_loc at)
{
    dync__arg args[5];
    args[0] = dync__arg_h(self);
    args[1] = dync__arg_i(dim);
    args[2] = dync__arg_i(start);
    args[3] = dync__arg_i(end);
    args[4] = dync__arg_i(step);
    return dync__op_call(DYNC__OP_slice, 5, args, at);
}
DYNC_API dync_tensor *(dync_slice)(dync_tensor *self, int dim, int64_t start, int64_t end, int64_t step) { return dync_slice_at(self, dim, start, end, step, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_squeeze_at(dync_tensor *self, int dim, dync_loc at)
{
    return dync__entry_1Ti(DYNC__OP_squeeze, self, dim, at);
}
DYNC_API dync_tensor *(dync_squeeze)(dync_tensor *self, int dim) { return dync_squeeze_at(self, dim, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_squeeze_all_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_squeeze_all, self, at);
}
DYNC_API dync_tensor *(dync_squeeze_all)(dync_tensor *self) { return dync_squeeze_all_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_t_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_t, self, at);
}
DYNC_API dync_tensor *(dync_t)(dync_tensor *self) { return dync_t_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_transpose_at(dync_tensor *self, int dim0, int dim1, dync_loc at)
{
    return dync__entry_1Tii(DYNC__OP_transpose, self, dim0, dim1, at);
}
DYNC_API dync_tensor *(dync_transpose)(dync_tensor *self, int dim0, int dim1) { return dync_transpose_at(self, dim0, dim1, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_unflatten_at(dync_tensor *self, int dim, dync_dims sizes, dync_loc at)
{
    dync__arg args[3];
    args[0] = dync__arg_h(self);
    args[1] = dync__arg_i(dim);
    args[2] = dync__arg_dims(sizes.n, sizes.d);
    return dync__op_call(DYNC__OP_unflatten, 3, args, at);
}
DYNC_API dync_tensor *(dync_unflatten)(dync_tensor *self, int dim, dync_dims sizes) { return dync_unflatten_at(self, dim, sizes, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_unsqueeze_at(dync_tensor *self, int dim, dync_loc at)
{
    return dync__entry_1Ti(DYNC__OP_unsqueeze, self, dim, at);
}
DYNC_API dync_tensor *(dync_unsqueeze)(dync_tensor *self, int dim) { return dync_unsqueeze_at(self, dim, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_view_at(dync_tensor *self, dync_dims size, dync_loc at)
{
    return dync__entry_1Td(DYNC__OP_view, self, size, at);
}
DYNC_API dync_tensor *(dync_view)(dync_tensor *self, dync_dims size) { return dync_view_at(self, size, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_view_as_at(dync_tensor *self, dync_tensor *other, dync_loc at)
{
    return dync__entry_1TT(DYNC__OP_view_as, self, other, at);
}
DYNC_API dync_tensor *(dync_view_as)(dync_tensor *self, dync_tensor *other) { return dync_view_as_at(self, other, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_argsort_at(dync_tensor *self, int dim, bool descending, dync_loc at)
{
    return dync__entry_1Tib(DYNC__OP_argsort, self, dim, descending, at);
}
DYNC_API dync_tensor *(dync_argsort)(dync_tensor *self, int dim, bool descending) { return dync_argsort_at(self, dim, descending, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_cat_at(dync_value tensors, int dim, dync_loc at)
{
    return dync__entry_1Li(DYNC__OP_cat, tensors, dim, at);
}
DYNC_API dync_tensor *(dync_cat)(dync_value tensors, int dim) { return dync_cat_at(tensors, dim, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_clone_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_clone, self, at);
}
DYNC_API dync_tensor *(dync_clone)(dync_tensor *self) { return dync_clone_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_flip_at(dync_tensor *self, dync_dims dims, dync_loc at)
{
    return dync__entry_1Td(DYNC__OP_flip, self, dims, at);
}
DYNC_API dync_tensor *(dync_flip)(dync_tensor *self, dync_dims dims) { return dync_flip_at(self, dims, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_gather_at(dync_tensor *self, int dim, dync_tensor *index, dync_loc at)
{
    return dync__entry_1TiT(DYNC__OP_gather, self, dim, index, at);
}
DYNC_API dync_tensor *(dync_gather)(dync_tensor *self, int dim, dync_tensor *index) { return dync_gather_at(self, dim, index, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_index_add_at(dync_tensor *self, int dim, dync_tensor *index, dync_tensor *source, dync_loc at)
{
    return dync__entry_1TiTT(DYNC__OP_index_add, self, dim, index, source, at);
}
DYNC_API dync_tensor *(dync_index_add)(dync_tensor *self, int dim, dync_tensor *index, dync_tensor *source) { return dync_index_add_at(self, dim, index, source, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_index_select_at(dync_tensor *self, int dim, dync_tensor *index, dync_loc at)
{
    return dync__entry_1TiT(DYNC__OP_index_select, self, dim, index, at);
}
DYNC_API dync_tensor *(dync_index_select)(dync_tensor *self, int dim, dync_tensor *index) { return dync_index_select_at(self, dim, index, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_masked_select_at(dync_tensor *self, dync_tensor *mask, dync_loc at)
{
    return dync__entry_1TT(DYNC__OP_masked_select, self, mask, at);
}
DYNC_API dync_tensor *(dync_masked_select)(dync_tensor *self, dync_tensor *mask) { return dync_masked_select_at(self, mask, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_nonzero_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_nonzero, self, at);
}
DYNC_API dync_tensor *(dync_nonzero)(dync_tensor *self) { return dync_nonzero_at(self, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_repeat_at(dync_tensor *self, dync_dims repeats, dync_loc at)
{
    return dync__entry_1Td(DYNC__OP_repeat, self, repeats, at);
}
DYNC_API dync_tensor *(dync_repeat)(dync_tensor *self, dync_dims repeats) { return dync_repeat_at(self, repeats, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_roll_at(dync_tensor *self, dync_dims shifts, dync_dims dims, dync_loc at)
{
    return dync__entry_1Tdd(DYNC__OP_roll, self, shifts, dims, at);
}
DYNC_API dync_tensor *(dync_roll)(dync_tensor *self, dync_dims shifts, dync_dims dims) { return dync_roll_at(self, shifts, dims, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_scatter_at(dync_tensor *self, int dim, dync_tensor *index, dync_value src, dync_loc at)
{
    return dync__entry_1TiTV(DYNC__OP_scatter, self, dim, index, src, at);
}
DYNC_API dync_tensor *(dync_scatter)(dync_tensor *self, int dim, dync_tensor *index, dync_value src) { return dync_scatter_at(self, dim, index, src, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_scatter_add_at(dync_tensor *self, int dim, dync_tensor *index, dync_tensor *src, dync_loc at)
{
    return dync__entry_1TiTT(DYNC__OP_scatter_add, self, dim, index, src, at);
}
DYNC_API dync_tensor *(dync_scatter_add)(dync_tensor *self, int dim, dync_tensor *index, dync_tensor *src) { return dync_scatter_add_at(self, dim, index, src, DYNC_NOWHERE); }

DYNC_API dync_value dync_sort_at(dync_tensor *self, int dim, bool descending, dync_loc at)
{
    return dync__entry_nTib(DYNC__OP_sort, self, dim, descending, at);
}
DYNC_API dync_value (dync_sort)(dync_tensor *self, int dim, bool descending) { return dync_sort_at(self, dim, descending, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_stack_at(dync_value tensors, int dim, dync_loc at)
{
    return dync__entry_1Li(DYNC__OP_stack, tensors, dim, at);
}
DYNC_API dync_tensor *(dync_stack)(dync_value tensors, int dim) { return dync_stack_at(tensors, dim, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_take_along_dim_at(dync_tensor *self, dync_tensor *indices, int dim, dync_loc at)
{
    dync__arg args[3];
    args[0] = dync__arg_h(self);
    args[1] = dync__arg_h(indices);
    args[2] = dync__arg_i(dim);
    return dync__op_call(DYNC__OP_take_along_dim, 3, args, at);
}
DYNC_API dync_tensor *(dync_take_along_dim)(dync_tensor *self, dync_tensor *indices, int dim) { return dync_take_along_dim_at(self, indices, dim, DYNC_NOWHERE); }

DYNC_API dync_value dync_topk_at(dync_tensor *self, int64_t k, int dim, bool largest, bool sorted, dync_loc at)
{
    dync__arg args[5];
    args[0] = dync__arg_h(self);
    args[1] = dync__arg_i(k);
    args[2] = dync__arg_i(dim);
    args[3] = dync__arg_b(largest);
    args[4] = dync__arg_b(sorted);
    return dync__op_call_list(DYNC__OP_topk, 5, args, at);
}
DYNC_API dync_value (dync_topk)(dync_tensor *self, int64_t k, int dim, bool largest, bool sorted) { return dync_topk_at(self, k, dim, largest, sorted, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_tril_at(dync_tensor *self, int diagonal, dync_loc at)
{
    return dync__entry_1Ti(DYNC__OP_tril, self, diagonal, at);
}
DYNC_API dync_tensor *(dync_tril)(dync_tensor *self, int diagonal) { return dync_tril_at(self, diagonal, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_triu_at(dync_tensor *self, int diagonal, dync_loc at)
{
    return dync__entry_1Ti(DYNC__OP_triu, self, diagonal, at);
}
DYNC_API dync_tensor *(dync_triu)(dync_tensor *self, int diagonal) { return dync_triu_at(self, diagonal, DYNC_NOWHERE); }

DYNC_API dync_tensor *dync_unique_at(dync_tensor *self, dync_loc at)
{
    return dync__entry_1T(DYNC__OP_unique, self, at);
}
DYNC_API dync_tensor *(dync_unique)(dync_tensor *self) { return dync_unique_at(self, DYNC_NOWHERE); }
