/* op/expr.c: pointwise operators as loop-IR expressions over primitives and vecmath. After infer.c,
 * before lower.c.
 *
 * in[i] is argument i, already of the computing type (dync__op_common_dtype); masks are BOOL. The
 * result may have any compute type: lower.c casts and rounds it to the output's dtype. Formulas are
 * those of PyTorch's CPU kernels (aten/src/ATen/native/cpu/BinaryOpsKernel.cpp, UnaryOpsKernel.cpp,
 * Activation.cpp), so that NaN, infinities and signed zeros agree. */
#include "../dync.in.h"
#include "rows.h"
DYNC__COLD

/* ---- short names ----------------------------------------------------------------------------- */

/* Values are numbers of instructions in the kernel being built; -1 stands for no operand. */
DYNC__FN int dync__ex1(dync__lb *b, int prim, int x) { return dync__lb_op(b, prim, x, -1, -1); }
DYNC__FN int dync__ex2(dync__lb *b, int prim, int x, int y)
{
    return dync__lb_op(b, prim, x, y, -1);
}
DYNC__FN int dync__ex_add(dync__lb *b, int x, int y) { return dync__ex2(b, DYNC__P_add, x, y); }
DYNC__FN int dync__ex_sub(dync__lb *b, int x, int y) { return dync__ex2(b, DYNC__P_sub, x, y); }
DYNC__FN int dync__ex_mul(dync__lb *b, int x, int y) { return dync__ex2(b, DYNC__P_mul, x, y); }
DYNC__FN int dync__ex_div(dync__lb *b, int x, int y) { return dync__ex2(b, DYNC__P_div, x, y); }
DYNC__FN int dync__ex_lt(dync__lb *b, int x, int y) { return dync__ex2(b, DYNC__P_lt, x, y); }
DYNC__FN int dync__ex_select(dync__lb *b, int c, int x, int y)
{
    return dync__lb_op(b, DYNC__P_select, c, x, y);
}

DYNC__FN bool dync__ex_is_float(const dync__lb *b, int v)
{
    int type = dync__lb_type(b, v);
    return type == DYNC_F32 || type == DYNC_F64;
}
DYNC__FN bool dync__ex_is_bool(const dync__lb *b, int v)
{
    return dync__lb_type(b, v) == DYNC_BOOL;
}

/* A constant of the type of v. */
DYNC__FN int dync__ex_const(dync__lb *b, int v, double x)
{
    int type = dync__lb_type(b, v);
    return dync__ex_is_float(b, v) ? dync__lb_f(b, type, x) : dync__lb_i(b, type, (int64_t)x);
}
DYNC__FN int dync__ex_zero(dync__lb *b, int v) { return dync__ex_const(b, v, 0); }
static int dync__ex_bool(dync__lb *b, int v) { return dync__lb_cast(b, v, DYNC_BOOL); }

/* ---- binary ---------------------------------------------------------------------------------- */

/* Bools add as or, multiply as and: PyTorch's saturating arithmetic of bool. */
DYNC__FN int dync__e_add(dync__lb *b, const dync__opcall *call, const int *in)
{
    (void)call;
    return dync__ex2(b, dync__ex_is_bool(b, in[0]) ? DYNC__P_or_ : DYNC__P_add, in[0], in[1]);
}

DYNC__FN int dync__e_sub(dync__lb *b, const dync__opcall *call, const int *in)
{
    (void)call;
    return dync__ex_sub(b, in[0], in[1]);
}

DYNC__FN int dync__e_mul(dync__lb *b, const dync__opcall *call, const int *in)
{
    (void)call;
    return dync__ex2(b, dync__ex_is_bool(b, in[0]) ? DYNC__P_and_ : DYNC__P_mul, in[0], in[1]);
}

DYNC__FN int dync__e_div(dync__lb *b, const dync__opcall *call, const int *in)
{
    (void)call;
    return dync__ex_div(b, in[0], in[1]);
}

DYNC__FN int dync__e_atan2(dync__lb *b, const dync__opcall *call, const int *in)
{
    (void)call;
    return dync__vm_atan2(b, in[0], in[1]);
}

/* The larger plus log1p(exp(-abs(difference))); equal infinities have no difference. */
DYNC__FN int dync__e_logaddexp(dync__lb *b, const dync__opcall *call, const int *in)
{
    int gap = dync__ex1(b, DYNC__P_abs, dync__ex_sub(b, in[0], in[1]));
    int sum = dync__ex_add(b, dync__ex2(b, DYNC__P_max, in[0], in[1]),
                           dync__vm_log1p(b, dync__vm_exp(b, dync__ex1(b, DYNC__P_neg, gap))));
    int infinite = dync__ex2(b, DYNC__P_eq, dync__ex1(b, DYNC__P_abs, in[0]),
                             dync__ex_const(b, in[0], HUGE_VAL));
    int same = dync__ex2(b, DYNC__P_and_, infinite, dync__ex2(b, DYNC__P_eq, in[0], in[1]));
    (void)call;
    return dync__ex_select(b, same, in[0], sum);
}

/* The primitives max and min give NaN where either operand is one. */
DYNC__FN int dync__e_maximum(dync__lb *b, const dync__opcall *call, const int *in)
{
    (void)call;
    return dync__ex2(b, dync__ex_is_bool(b, in[0]) ? DYNC__P_or_ : DYNC__P_max, in[0], in[1]);
}

DYNC__FN int dync__e_minimum(dync__lb *b, const dync__opcall *call, const int *in)
{
    (void)call;
    return dync__ex2(b, dync__ex_is_bool(b, in[0]) ? DYNC__P_and_ : DYNC__P_min, in[0], in[1]);
}

/* Floats: exact, with the sign of x, as C's fmod. */
static int dync__ex_fmod(dync__lb *b, int x, int y)
{
    return dync__ex_is_float(b, x) ? dync__vm_fmod(b, x, y) : dync__ex2(b, DYNC__P_rem, x, y);
}

/* Operand i of remainders, to which numbers and 0-dim tensors round first in f16 and bf16: 0.2 is
 * twice 0.1 there. Whole tensors have been rounded (dync__lower_to_common). */
static int dync__ex_rounded(dync__lb *b, const dync__opcall *call, int i, int v)
{
    const dync__arg *a = &call->args[i];
    bool whole = a->kind == DYNC__A_TENSOR && a->as.t->lay.ndim > 0;
    return whole ? v : dync__lb_wrap(b, v, dync__op_common_dtype(call));
}

DYNC__FN int dync__e_fmod(dync__lb *b, const dync__opcall *call, const int *in)
{
    return dync__ex_fmod(b, dync__ex_rounded(b, call, 0, in[0]),
                         dync__ex_rounded(b, call, 1, in[1]));
}

/* A remainder that is not zero and whose sign is not that of y. */
static int dync__ex_wrong_sign(dync__lb *b, int rem, int y)
{
    int zero = dync__ex_zero(b, rem);
    int differ = dync__ex2(b, DYNC__P_xor_, dync__ex_lt(b, rem, zero), dync__ex_lt(b, y, zero));
    return dync__ex2(b, DYNC__P_and_, dync__ex2(b, DYNC__P_ne, rem, zero), differ);
}

/* fmod with the sign of y, as Python's %. */
DYNC__FN int dync__e_remainder(dync__lb *b, const dync__opcall *call, const int *in)
{
    int rem = dync__e_fmod(b, call, in), y = dync__ex_rounded(b, call, 1, in[1]);
    return dync__ex_select(b, dync__ex_wrong_sign(b, rem, y), dync__ex_add(b, rem, y), rem);
}

/* Floats: Python's algorithm (floatobject.c, float_floor_div), exact where a / b would round up to
 * the next integer. Integers are divided once and corrected by 1 where signs differ and something
 * is left. */
DYNC__FN int dync__e_floor_divide(dync__lb *b, const dync__opcall *call, const int *in)
{
    int x = in[0], y = in[1], one = dync__ex_const(b, x, 1), zero = dync__ex_zero(b, x);
    if (!dync__ex_is_float(b, x)) { /* one division; x / 0 is 0 */
        int quotient = dync__ex_div(b, x, y), product = dync__ex_mul(b, quotient, y);
        int under = dync__ex2(b, DYNC__P_and_, dync__ex2(b, DYNC__P_ne, product, x),
                              dync__ex2(b, DYNC__P_ne, y, zero));
        int apart = dync__ex_lt(b, dync__ex2(b, DYNC__P_xor_, x, y), zero);
        return dync__ex_select(b, dync__ex2(b, DYNC__P_and_, under, apart),
                               dync__ex_sub(b, quotient, one), quotient);
    }
    int rem = dync__ex_fmod(b, x, y), wrong = dync__ex_wrong_sign(b, rem, y);
    (void)call;
    int plain = dync__ex_div(b, x, y);
    int quotient = dync__ex_div(b, dync__ex_sub(b, x, rem), y);
    quotient = dync__ex_select(b, wrong, dync__ex_sub(b, quotient, one), quotient);
    int whole = dync__ex1(b, DYNC__P_floor, quotient);
    int low = dync__ex_lt(b, dync__ex_const(b, x, 0.5), dync__ex_sub(b, quotient, whole));
    whole = dync__ex_select(b, low, dync__ex_add(b, whole, one), whole);
    /* a zero of the quotient's sign */
    int tiny = dync__ex_mul(b, plain, zero);
    whole = dync__ex_select(b, dync__ex2(b, DYNC__P_eq, quotient, zero), tiny, whole);
    return dync__ex_select(b, dync__ex2(b, DYNC__P_eq, y, zero), plain, whole);
}

/* x to a constant whole power >= 0, by squaring. */
static int dync__ex_whole_power(dync__lb *b, int x, uint64_t n)
{
    int result = -1;
    for (int square = x; n; n >>= 1) {
        if (n & 1) result = result < 0 ? square : dync__ex_mul(b, result, square);
        if (n > 1) square = dync__ex_mul(b, square, square);
    }
    return result < 0 ? dync__ex_const(b, x, 1) : result;
}

/* Integers, modulo the word: one step per bit of the exponent. Negative exponents leave 1 and -1
 * only. y is a value of run time: 31 or 63 steps of select, no branch. */
static int dync__ex_int_pow(dync__lb *b, int x, int y)
{
    int type = dync__lb_type(b, x), bits = type == DYNC_I64 ? 63 : 31;
    int zero = dync__lb_i(b, type, 0), one = dync__lb_i(b, type, 1), result = one, square = x,
        n = y;
    for (int i = 0; i < bits; i++) {
        int odd = dync__ex2(b, DYNC__P_ne, dync__ex2(b, DYNC__P_and_, n, one), zero);
        result = dync__ex_select(b, odd, dync__ex_mul(b, result, square), result);
        square = dync__ex_mul(b, square, square);
        n = dync__ex2(b, DYNC__P_shr, n, one);
    }
    int odd = dync__ex2(b, DYNC__P_ne, dync__ex2(b, DYNC__P_and_, y, one), zero),
        minus = dync__lb_i(b, type, -1);
    int of_minus = dync__ex_select(b, odd, minus, one);
    int inverse = dync__ex_select(b, dync__ex2(b, DYNC__P_eq, x, minus), of_minus, zero);
    inverse = dync__ex_select(b, dync__ex2(b, DYNC__P_eq, x, one), one, inverse);
    return dync__ex_select(b, dync__ex_lt(b, y, zero), inverse, result);
}

/* Constant exponents as PyTorch's pow_tensor_scalar_optimized_kernel; callers that load numbers at
 * run time must not for pow. The exponents in known[] have short forms; any other constant is a
 * power like those of run time. */
DYNC__FN int dync__e_pow(dync__lb *b, const dync__opcall *call, const int *in)
{
    int x = in[0];
    bool is_float = dync__ex_is_float(b, x);
    if (!dync__arg_is_number(&call->args[1]))
        return is_float ? dync__vm_pow(b, x, in[1]) : dync__ex_int_pow(b, x, in[1]);
    double n = dync__arg_number(&call->args[1]);
    if (!is_float)
        return n >= 0 ? dync__ex_whole_power(b, x, (uint64_t)dync__sz_number(call->args[1].as.i))
                      : dync__ex_int_pow(b, x, in[1]);
    int one = dync__ex_const(b, x, 1), square = dync__ex_mul(b, x, x);
    static const double known[] = {0, 1, 2, 3, 0.5, -0.5, -1, -2};
    int k = 0;
    while (k < DYNC__COUNT_OF(known) && !(known[k] >= n && known[k] <= n)) k++;
    switch (k) {
    case 0: return one;
    case 1: return x;
    case 2: return square;
    case 3: return dync__ex_mul(b, square, x);
    case 4: return dync__ex1(b, DYNC__P_sqrt, x);
    case 5: return dync__vm_rsqrt(b, x);
    case 6: return dync__ex_div(b, one, x);
    case 7: return dync__ex_div(b, one, square);
    default: return dync__vm_pow(b, x, in[1]);
    }
}

/* ---- comparison, logic, bits ----------------------------------------------------------------- */

/* name, primitive, operands swapped */
#define DYNC__COMPARES(X) \
    X(eq, eq, 0, 1)       \
    X(ne, ne, 0, 1)       \
    X(lt, lt, 0, 1)       \
    X(le, le, 0, 1)       \
    X(gt, lt, 1, 0)       \
    X(ge, le, 1, 0) X(bitwise_and, and_, 0, 1) X(bitwise_or, or_, 0, 1) X(bitwise_xor, xor_, 0, 1)
#define DYNC__X(name, prim, first, second)                                            \
    DYNC__FN int dync__e_##name(dync__lb *b, const dync__opcall *call, const int *in) \
    {                                                                                 \
        (void)call;                                                                   \
        return dync__ex2(b, DYNC__P_##prim, in[first], in[second]);                   \
    }
DYNC__COMPARES(DYNC__X)
#undef DYNC__X

#define DYNC__LOGICALS(X) X(logical_and, and_) X(logical_or, or_) X(logical_xor, xor_)
#define DYNC__X(name, prim)                                                                    \
    DYNC__FN int dync__e_##name(dync__lb *b, const dync__opcall *call, const int *in)          \
    {                                                                                          \
        (void)call;                                                                            \
        return dync__ex2(b, DYNC__P_##prim, dync__ex_bool(b, in[0]), dync__ex_bool(b, in[1])); \
    }
DYNC__LOGICALS(DYNC__X)
#undef DYNC__X

DYNC__FN int dync__e_logical_not(dync__lb *b, const dync__opcall *call, const int *in)
{
    (void)call;
    return dync__ex1(b, DYNC__P_not_, dync__ex_bool(b, in[0]));
}

DYNC__FN int dync__e_bitwise_not(dync__lb *b, const dync__opcall *call, const int *in)
{
    (void)call;
    return dync__ex1(b, DYNC__P_not_, in[0]);
}

/* ---- ternary --------------------------------------------------------------------------------- */

DYNC__FN int dync__e_where(dync__lb *b, const dync__opcall *call, const int *in)
{
    (void)call;
    return dync__ex_select(b, in[0], in[1], in[2]);
}

DYNC__FN int dync__e_masked_fill(dync__lb *b, const dync__opcall *call, const int *in)
{
    (void)call;
    return dync__ex_select(b, in[1], in[2], in[0]);
}

/* Bounds stand first: where x is equal to one it is the result, so that -0 stays -0. A missing
 * bound is an argument of kind none. */
DYNC__FN int dync__e_clamp(dync__lb *b, const dync__opcall *call, const int *in)
{
    int x = in[0];
    bool is_bool = dync__ex_is_bool(b, x);
    if (call->args[1].kind != DYNC__A_NONE)
        x = dync__ex2(b, is_bool ? DYNC__P_or_ : DYNC__P_max, in[1], x);
    if (call->args[2].kind != DYNC__A_NONE)
        x = dync__ex2(b, is_bool ? DYNC__P_and_ : DYNC__P_min, in[2], x);
    return x;
}

DYNC__FN int dync__e_hardtanh(dync__lb *b, const dync__opcall *call, const int *in)
{
    return dync__e_clamp(b, call, in);
}

/* apply_scale_32 of TOSA, which is TFLite's MultiplyByQuantizedMultiplier with one rounding. (x m +
 * 2^(shift - 1)) >> shift in 64 bits: m is a fraction of 31 bits. */
DYNC__FN int dync__e_rescale(dync__lb *b, const dync__opcall *call, const int *in)
{
    int x = dync__lb_cast(b, in[0], DYNC_I64), m = dync__lb_cast(b, in[1], DYNC_I64),
        shift = dync__lb_cast(b, in[2], DYNC_I64), one = dync__lb_i(b, DYNC_I64, 1);
    int half = dync__ex2(b, DYNC__P_shl, one, dync__ex_sub(b, shift, one));
    (void)call;
    x = dync__ex_add(b, dync__ex_mul(b, x, m), half);
    return dync__lb_cast(b, dync__ex2(b, DYNC__P_shr, x, shift), DYNC_I32);
}

/* From the nearer end, so that weights 0 and 1 are exact. x + w (end - x) for |w| < 1/2, else end -
 * (end - x) (1 - w). */
DYNC__FN int dync__e_lerp(dync__lb *b, const dync__opcall *call, const int *in)
{
    int x = in[0], end = in[1], w = in[2], gap = dync__ex_sub(b, end, x),
        one = dync__ex_const(b, x, 1);
    int near_x = dync__ex_add(b, x, dync__ex_mul(b, w, gap));
    int near_end = dync__ex_sub(b, end, dync__ex_mul(b, gap, dync__ex_sub(b, one, w)));
    (void)call;
    return dync__ex_select(b,
                           dync__ex_lt(b, dync__ex1(b, DYNC__P_abs, w), dync__ex_const(b, x, 0.5)),
                           near_x, near_end);
}

/* x + (value a) b, in this order, as PyTorch rounds. */
DYNC__FN int dync__e_addcmul(dync__lb *b, const dync__opcall *call, const int *in)
{
    (void)call;
    return dync__ex_add(b, in[0], dync__ex_mul(b, dync__ex_mul(b, in[3], in[1]), in[2]));
}

DYNC__FN int dync__e_addcdiv(dync__lb *b, const dync__opcall *call, const int *in)
{
    (void)call;
    return dync__ex_add(b, in[0], dync__ex_div(b, dync__ex_mul(b, in[3], in[1]), in[2]));
}
