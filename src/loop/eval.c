/* loop/eval.c: the meaning of the primitives of loop IR, one value at a time. Constant folding uses
 * it; tools/ir/eval.c runs whole kernels with it, which tests hold every generator against.
 *
 * Slow and obvious by intent.
 * Invariant: no result depends on the compiler's floating-point flags; NaN is tested by bits. */
#include "../dync.in.h"
#include "whole.h"
DYNC__COLD

DYNC__STRICT_FP_BEGIN

/* ---- bits ------------------------------------------------------------------------------------ */

static uint32_t dync__eval_bits32(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static float dync__eval_f32_of(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static double dync__eval_f64_of(uint64_t u)
{
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static bool dync__eval_nan32(float x) { return (dync__eval_bits32(x) & 0x7fffffffu) > 0x7f800000u; }

DYNC__FN bool dync__has_fma(void)
{
#if defined(__x86_64__) || defined(__i386__)
    return (dync__cpu_features() & DYNC__CPU_FMA) != 0;
#elif defined(__FP_FAST_FMAF) || defined(__aarch64__)
    return true;
#else
    return false;
#endif
}

/* ---- square roots ---------------------------------------------------------------------------- */
/* A small program for a chip does without the sqrt of libm, which links errno: the instruction,
 * where there is one, or bit by bit. */
#if !defined(DYNC_SMALL) || !defined(__GNUC__) || !(defined(__arm__) || defined(__riscv)) || \
    defined(__riscv_flen)
DYNC__FN float dync__sqrtf(float a) { return sqrtf(a); }
DYNC__FN double dync__sqrt(double a) { return sqrt(a); }
#else
#if defined(__ARM_FP) && (__ARM_FP & 8)
DYNC__FN double dync__sqrt(double a)
{
    __asm__("vsqrt.f64 %P0, %P1" : "=w"(a) : "w"(a));
    return a;
}
#else
/* Bit by bit. m is even powers of two away from a: in [2^52, 2^54); its root has 54 bits, the last
 * of which rounds: no root of 53 bits ends in a half. */
DYNC__FN double dync__sqrt(double a)
{
    const uint64_t one = UINT64_C(1) << 52, u = dync__eval_bits64(a);
    uint64_t m = u & (one - 1), rest = 0, root = 0;
    int e = (int)(u >> 52) - 1023;
    if (a == 0 || u == dync__eval_bits64(HUGE_VAL)) return a;
    if (!(a > 0)) return dync__eval_f64_of(UINT64_C(0x7ff8) << 48);
    if (e > -1023) m |= one;
    for (e += e == -1023; !(m & one); e--) m <<= 1;
    if (e & 1) m <<= 1, e--;
    for (int i = 0; i < 54; i++) {
        rest = rest << 2 | (m >> 52 & 3);
        m <<= 2;
        uint64_t step = root << 2 | 1;
        root <<= 1;
        if (rest >= step) rest -= step, root |= 1;
    }
    return dync__eval_f64_of(((uint64_t)(e / 2 + 1022) << 52) + ((root + 1) >> 1));
}
#endif
#if defined(__ARM_FP) && (__ARM_FP & 4)
DYNC__FN float dync__sqrtf(float a)
{
    __asm__("vsqrt.f32 %0, %1" : "=t"(a) : "t"(a));
    return a;
}
#else /* a root of 53 bits, rounded to 24, is the root rounded to 24 */
DYNC__FN float dync__sqrtf(float a) { return (float)dync__sqrt(a); }
#endif
#endif

/* ---- whole numbers --------------------------------------------------------------------------- */

/* Of a magnitude between two whole ones, rest above the lower: is the one away from zero taken?
 * odd: is the lower one? */
static bool dync__whole_away(int prim, bool negative, uint64_t rest, uint64_t half, bool odd)
{
    switch (prim) {
    case DYNC__P_floor: return negative && rest;
    case DYNC__P_ceil: return !negative && rest;
    case DYNC__P_rint: return rest > half || (rest == half && odd);
    default: return false; /* trunc */
    }
}

/* Bits of fraction below the unit, mask, are dropped from the magnitude; one more unit, and the
 * carry goes into the exponent as it should. Of a magnitude below one the unit is 1.0 itself. */
DYNC__FN double dync__whole_bits(int prim, double a)
{
    const uint64_t sign = UINT64_C(1) << 63, one = UINT64_C(1023) << 52, u = dync__eval_bits64(a);
    uint64_t m = u & ~sign;
    if (m >= UINT64_C(1075) << 52) return a;
    if (m < one) { /* a half has the exponent below one's */
        m = dync__whole_away(prim, u != m, m, one - (UINT64_C(1) << 52), false) ? one : 0;
    } else {
        uint64_t unit = UINT64_C(1) << (1075 - (int)(m >> 52)), rest = m & (unit - 1);
        m -= rest;
        if (dync__whole_away(prim, u >= sign, rest, unit / 2, m & unit)) m += unit;
    }
    return dync__eval_f64_of(m | (u & sign));
}

DYNC__FN float dync__whole_bits32(int prim, float a)
{
    const uint32_t sign = UINT32_C(1) << 31, one = UINT32_C(127) << 23, u = dync__eval_bits32(a);
    uint32_t m = u & ~sign;
    if (m >= UINT32_C(150) << 23) return a;
    if (m < one) {
        m = dync__whole_away(prim, u != m, m, one - (UINT32_C(1) << 23), false) ? one : 0;
    } else {
        uint32_t unit = UINT32_C(1) << (150 - (int)(m >> 23)), rest = m & (unit - 1);
        m -= rest;
        if (dync__whole_away(prim, u >= sign, rest, unit / 2, m & unit)) m += unit;
    }
    return dync__eval_f32_of(m | (u & sign));
}

/* ---- the primitives by compute type ---------------------------------------------------------- */

static float dync__eval_f32_op(int prim, float a, float b, float c)
{
    switch (prim) {
    case DYNC__P_add: return a + b;
    case DYNC__P_sub: return a - b;
    case DYNC__P_mul: return a * b;
    case DYNC__P_div: return a / b;
    case DYNC__P_fma: {
        float product = a * b;
        return dync__has_fma() ? fmaf(a, b, c) : product + c;
    }
    case DYNC__P_neg: return dync__eval_f32_of(dync__eval_bits32(a) ^ 0x80000000u);
    case DYNC__P_abs: return dync__eval_f32_of(dync__eval_bits32(a) & 0x7fffffffu);
    case DYNC__P_sqrt: return dync__sqrtf(a);
#if DYNC__WHOLE_BITS
    case DYNC__P_floor:
    case DYNC__P_ceil:
    case DYNC__P_trunc:
    case DYNC__P_rint: return dync__whole_bits32(prim, a);
#else
    case DYNC__P_floor: return floorf(a);
    case DYNC__P_ceil: return ceilf(a);
    case DYNC__P_trunc: return truncf(a);
    case DYNC__P_rint: return rintf(a);
#endif
    case DYNC__P_min: return a < b || dync__eval_nan32(a) ? a : b;
    default: return a > b || dync__eval_nan32(a) ? a : b; /* max */
    }
}

static double dync__eval_f64_op(int prim, double a, double b, double c)
{
    switch (prim) {
    case DYNC__P_add: return a + b;
    case DYNC__P_sub: return a - b;
    case DYNC__P_mul: return a * b;
    case DYNC__P_div: return a / b;
    case DYNC__P_fma: {
        double product = a * b;
        return dync__has_fma() ? fma(a, b, c) : product + c;
    }
    case DYNC__P_neg: return dync__eval_f64_of(dync__eval_bits64(a) ^ 0x8000000000000000u);
    case DYNC__P_abs: return dync__eval_f64_of(dync__eval_bits64(a) & 0x7fffffffffffffffu);
    case DYNC__P_sqrt: return dync__sqrt(a);
#if DYNC__WHOLE_BITS
    case DYNC__P_floor:
    case DYNC__P_ceil:
    case DYNC__P_trunc:
    case DYNC__P_rint: return dync__whole_bits(prim, a);
#else
    case DYNC__P_floor: return floor(a);
    case DYNC__P_ceil: return ceil(a);
    case DYNC__P_trunc: return trunc(a);
    case DYNC__P_rint: return rint(a);
#endif
    case DYNC__P_min: return a < b || dync__eval_nan64(a) ? a : b;
    default: return a > b || dync__eval_nan64(a) ? a : b; /* max */
    }
}

/* Arithmetic on int64 with wrapping; the caller narrows. An I32 quotient or shift is exact in 64
 * bits before that. */
static uint64_t dync__eval_int_op(int prim, int type, int64_t a, int64_t b)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b, sign = a < 0 ? ~(uint64_t)0 : 0;
    int bits = type == DYNC_I32 ? 32 : 64;
    switch (prim) {
    case DYNC__P_add: return x + y;
    case DYNC__P_sub: return x - y;
    case DYNC__P_mul: return x * y;
    case DYNC__P_div: return b == 0 ? 0 : b == -1 ? 0 - x : (uint64_t)(a / b);
    case DYNC__P_rem: return b == 0 || b == -1 ? 0 : (uint64_t)(a % b);
    case DYNC__P_neg: return 0 - x;
    case DYNC__P_abs: return a < 0 ? 0 - x : x;
    case DYNC__P_min: return a < b ? x : y;
    case DYNC__P_max: return a > b ? x : y;
    case DYNC__P_and_: return x & y;
    case DYNC__P_or_: return x | y;
    case DYNC__P_xor_: return x ^ y;
    case DYNC__P_not_: return type == DYNC_BOOL ? (uint64_t)(a == 0) : ~x;
    case DYNC__P_shl: return b < 0 || b >= bits ? 0 : x << b;
    default: /* shr: arithmetic; the sign fills from above, two shifts as one of 64 is undefined */
        return b < 0 || b >= bits ? sign : b == 0 ? x : x >> b | sign << (63 - b) << 1;
    }
}

static bool dync__eval_compare(int prim, int arg_type, dync__scalar a, dync__scalar b)
{
    bool less, equal;
    if (arg_type == DYNC_F32 || dync__is_f64(arg_type)) {
        double x = arg_type == DYNC_F32 ? (double)a.f : a.d,
               y = arg_type == DYNC_F32 ? (double)b.f : b.d;
        if (dync__eval_nan64(x) || dync__eval_nan64(y)) return prim == DYNC__P_ne;
        less = x < y;
        equal = x == y;
    } else {
        less = a.i < b.i;
        equal = a.i == b.i;
    }
    switch (prim) {
    case DYNC__P_lt: return less;
    case DYNC__P_le: return less || equal;
    case DYNC__P_eq: return equal;
    default: return !equal; /* ne */
    }
}

/* Truncates; out of range saturates; NaN gives 0. 2^31 and 2^63 are exact doubles. */
static int64_t dync__eval_truncate(double x, int type)
{
    double limit = type == DYNC_I32 ? 2147483648.0 : 9223372036854775808.0;
    if (dync__eval_nan64(x)) return 0;
    if (x >= limit) return type == DYNC_I32 ? INT32_MAX : INT64_MAX;
    if (x < -limit) return type == DYNC_I32 ? INT32_MIN : INT64_MIN;
    return (int64_t)x;
}

static dync__scalar dync__eval_cast(int type, int from, dync__scalar a)
{
    bool from_float = from == DYNC_F32 || dync__is_f64(from);
    double x = from == DYNC_F32 ? (double)a.f : dync__is_f64(from) ? a.d : 0.0;
    switch (type) {
    case DYNC_F32:
        return dync__eval_f32(from == DYNC_F32 ? a.f : from_float ? (float)x : (float)a.i);
    case DYNC_F64: return dync__eval_f64(from_float ? x : (double)a.i);
    case DYNC_BOOL:
        return dync__eval_int(type, from_float ? (uint64_t)(x != 0.0) : (uint64_t)(a.i != 0));
    default:
        return dync__eval_int(type, (uint64_t)(from_float ? dync__eval_truncate(x, type) : a.i));
    }
}

static dync__scalar dync__eval_bitcast(int type, dync__scalar a)
{
    switch (type) {
    case DYNC_F32: return dync__eval_f32(dync__eval_f32_of((uint32_t)(uint64_t)a.i));
    case DYNC_I32: return dync__eval_int(type, dync__eval_bits32(a.f));
    default: return a; /* F64 and I64 share the union's eight bytes */
    }
}

static dync__scalar dync__eval_wrap(int64_t storage, dync__scalar a)
{
    switch (storage) {
    case DYNC_F16: return dync__eval_f32(dync__f16_to_f32(dync__f32_to_f16(a.f)));
    case DYNC_BF16: return dync__eval_f32(dync__bf16_to_f32(dync__f32_to_bf16(a.f)));
    case DYNC_I16:
        return dync__eval_int(DYNC_I32, (uint64_t)(int64_t)(int16_t)(uint16_t)(uint64_t)a.i);
    case DYNC_I8:
        return dync__eval_int(DYNC_I32, (uint64_t)(int64_t)(int8_t)(uint8_t)(uint64_t)a.i);
    default: return dync__eval_int(DYNC_I32, (uint8_t)(uint64_t)a.i); /* U8 */
    }
}

DYNC__FN bool dync__prim_is_pure(int prim)
{
    switch (prim) {
    case DYNC__P_const_:
    case DYNC__P_index:
    case DYNC__P_load:
    case DYNC__P_loadx:
    case DYNC__P_store:
    case DYNC__P_storex:
    case DYNC__P_reduce:
    case DYNC__P_scan:
    case DYNC__P_random: return false;
    default: return true;
    }
}

DYNC__FN dync__scalar dync__prim_eval(int prim, int type, int arg_type, dync__scalar a,
                                      dync__scalar b, dync__scalar c, int64_t imm)
{
    switch (prim) {
    case DYNC__P_lt:
    case DYNC__P_le:
    case DYNC__P_eq:
    case DYNC__P_ne: return dync__eval_int(DYNC_BOOL, dync__eval_compare(prim, arg_type, a, b));
    case DYNC__P_select: return a.i ? b : c;
    case DYNC__P_cast: return dync__eval_cast(type, arg_type, a);
    case DYNC__P_bitcast: return dync__eval_bitcast(type, a);
    case DYNC__P_wrap: return dync__eval_wrap(imm, a);
    default: break;
    }
    if (type == DYNC_F32) return dync__eval_f32(dync__eval_f32_op(prim, a.f, b.f, c.f));
    if (dync__is_f64(type)) return dync__eval_f64(dync__eval_f64_op(prim, a.d, b.d, c.d));
    return dync__eval_int(type, dync__eval_int_op(prim, type, a.i, b.i));
}

DYNC__FN dync__scalar dync__const_scalar(const dync__inst *in)
{
    if (in->type == DYNC_F32) return dync__eval_f32((float)in->imm.f);
    if (dync__is_f64(in->type)) return dync__eval_f64(in->imm.f);
    return dync__eval_int(in->type, (uint64_t)in->imm.i);
}

DYNC__STRICT_FP_END
