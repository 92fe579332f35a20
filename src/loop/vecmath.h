/* loop/vecmath.h: the shorthand that the vecmath_*.c files are written in. Between loop.h and those
 * files.
 *
 * Greatest errors measured, in ulps, and primitives per value. f32: all floats between 2^-30 and
 * where the result no longer changes (sin cos tan: 2^-13 to 2^24), a 97th of the rest; f64: 2
 * million or more random arguments. "no FMA": products rounded on their own.
 * tests/soak/vecmath_ulp.c measures: `vecmath_ulp all f32 1`, `vecmath_ulp all f64 10000000`, the
 * same with DYNC_CPU=none.
 *
 *            f32   no FMA ops    f64   no FMA ops              f32   no FMA ops    f64   no FMA ops
 *   exp      0.90  1.11   20     0.86  1.14   25      tanh     0.96  0.99   32     0.78  1.31   51
 *   exp2     0.88  1.06   19     0.78  1.06   24      sinh     0.84  0.82   34     0.84  0.85   42
 *   expm1    0.90  0.99   34     1.05  0.99   39      cosh     0.88  0.88   24     0.88  0.88   29
 *   log      0.89  0.78   34     0.81  0.81   38      asin     0.61  0.87   32     0.61  0.87   39
 *   log2     1.10  1.62   37     0.91  1.70   41      acos     0.60  0.87   36     0.58  0.87   43
 *   log10    0.96  1.73   39     0.83  1.63   43      atan     0.77  0.74   46     0.74  0.71   53
 *   log1p    0.90  0.83   42     0.81  0.81   46      atan2    0.76  1.37   71     0.74  1.41   78
 *   sin      0.91  *    46+28    0.90  *   52+118     erf      1.00  0.88   48     0.83  0.90  111
 *   cos      0.90  *    44+28    0.93  *   50+118     erfc     0.85  1.66   97     0.90  1.94  116
 *   tan      1.15  *    61+28    1.27  *   65+118     sigmoid  0.86  1.40   40     0.80  1.34   45
 *   pow      0.59  0.59   76     0.89  1.15  135      rsqrt    0.50  1.25   13     0.92  1.24   13
 *   fmod     exact exact  74     exact exact 102      (rsqrt of a subnormal: 1.44)
 *
 *   + what only large arguments (2^17 in f32, 2^20 in f64) need: machine code goes round it.
 *   * no FMA: as with it up to 2^20 in f64; in f32 below 1.5 (tan 2) up to 2^10, but 28 (tan 44) at
 *     eight floats next to multiples
 *   of pi; worse beyond: vecmath_trig.c. log2 passes 1 at 21 floats, tan at 2262.
 *
 * dync__m_<op>(b, ...) appends one primitive; float constants take their type from a value beside
 * them. A number's "bits" are its bit pattern as I32 (F32) or I64 (F64). */
#ifndef DYNC__VECMATH_H
#define DYNC__VECMATH_H
#include "loop.h"
DYNC__COLD

#define DYNC__M_ONE(name, prim)                           \
    DYNC__INLINE int dync__m_##name(dync__lb *b, int x)   \
    {                                                     \
        return dync__lb_op(b, DYNC__P_##prim, x, -1, -1); \
    }
#define DYNC__M_TWO(name, prim)                                \
    DYNC__INLINE int dync__m_##name(dync__lb *b, int x, int y) \
    {                                                          \
        return dync__lb_op(b, DYNC__P_##prim, x, y, -1);       \
    }
#define DYNC__M_THREE(name, prim)                                     \
    DYNC__INLINE int dync__m_##name(dync__lb *b, int x, int y, int z) \
    {                                                                 \
        return dync__lb_op(b, DYNC__P_##prim, x, y, z);               \
    }
DYNC__M_ONE(neg, neg)
DYNC__M_ONE(abs, abs)
DYNC__M_ONE(sqrt, sqrt)
DYNC__M_ONE(rint, rint)
DYNC__M_ONE(trunc, trunc)
DYNC__M_ONE(not, not_)
DYNC__M_TWO(add, add)
DYNC__M_TWO(sub, sub)
DYNC__M_TWO(mul, mul)
DYNC__M_TWO(div, div)
DYNC__M_TWO(lt, lt)
DYNC__M_TWO(le, le)
DYNC__M_TWO(eq, eq)
DYNC__M_TWO(ne, ne)
DYNC__M_TWO(and, and_)
DYNC__M_TWO(or, or_)
DYNC__M_TWO(xor, xor_)
DYNC__M_TWO(shl, shl)
DYNC__M_TWO(shr, shr)
DYNC__M_THREE(fma, fma)
DYNC__M_THREE(sel, select)
#undef DYNC__M_ONE
#undef DYNC__M_TWO
#undef DYNC__M_THREE

/* c ? x : y where c rarely holds: what only x needs is a cold path, which machine code jumps
 * over. */
DYNC__INLINE int dync__m_cold(dync__lb *b, int c, int x, int y)
{
    dync__inst in = dync__inst_make(DYNC__P_select, dync__lb_type(b, x), c, x, y);
    in.imm.i = 1;
    return dync__lb_add(b, &in);
}
/* x * y + z of which the sum cancels: C source calls fma for it, as a compiler may round twice
 * what is written a * b + c. */
DYNC__INLINE int dync__m_once(dync__lb *b, int x, int y, int z)
{
    dync__inst in = dync__inst_make(DYNC__P_fma, dync__lb_type(b, x), x, y, z);
    in.imm.i = 1;
    return dync__lb_add(b, &in);
}
DYNC__INLINE bool dync__m_wide(const dync__lb *b, int x) /* F64 (or I64)? */
{
    int t = dync__lb_type(b, x);
    return dync__is_f64(t) || t == DYNC_I64;
}
DYNC__INLINE int dync__m_k(dync__lb *b, int like, double c)
{
    return dync__lb_f(b, dync__lb_type(b, like), c);
}
/* integer constant of the width of `like` */
DYNC__INLINE int dync__m_i(dync__lb *b, int like, int64_t n)
{
    return dync__lb_i(b, dync__m_wide(b, like) ? DYNC_I64 : DYNC_I32, n);
}
DYNC__INLINE int dync__m_bits(dync__lb *b, int x)
{
    return dync__lb_bitcast(b, x, dync__m_wide(b, x) ? DYNC_I64 : DYNC_I32);
}
DYNC__INLINE int dync__m_float(dync__lb *b, int bits)
{
    return dync__lb_bitcast(b, bits, dync__m_wide(b, bits) ? DYNC_F64 : DYNC_F32);
}
DYNC__INLINE int dync__m_addk(dync__lb *b, int x, double c)
{
    return dync__m_add(b, x, dync__m_k(b, x, c));
}
DYNC__INLINE int dync__m_mulk(dync__lb *b, int x, double c)
{
    return dync__m_mul(b, x, dync__m_k(b, x, c));
}
DYNC__INLINE int dync__m_fmak(dync__lb *b, int x, double c, int z)
{
    return dync__m_fma(b, x, dync__m_k(b, x, c), z);
}
DYNC__INLINE int dync__m_ltk(dync__lb *b, int x, double c)
{
    return dync__m_lt(b, x, dync__m_k(b, x, c));
}
DYNC__INLINE int dync__m_eqk(dync__lb *b, int x, double c)
{
    return dync__m_eq(b, x, dync__m_k(b, x, c));
}
DYNC__INLINE int dync__m_shlk(dync__lb *b, int i, int n)
{
    return dync__m_shl(b, i, dync__m_i(b, i, n));
}
DYNC__INLINE int dync__m_shrk(dync__lb *b, int i, int n)
{
    return dync__m_shr(b, i, dync__m_i(b, i, n));
}
DYNC__INLINE int dync__m_addi(dync__lb *b, int i, int64_t n)
{
    return dync__m_add(b, i, dync__m_i(b, i, n));
}
DYNC__INLINE int dync__m_andi(dync__lb *b, int i, int64_t n)
{
    return dync__m_and(b, i, dync__m_i(b, i, n));
}
DYNC__INLINE int dync__m_at_least(dync__lb *b, int x, double low) /* NaN stays */
{
    return dync__m_sel(b, dync__m_ltk(b, x, low), dync__m_k(b, x, low), x);
}
DYNC__INLINE int dync__m_at_most(dync__lb *b, int x, double high)
{
    return dync__m_sel(b, dync__m_lt(b, dync__m_k(b, x, high), x), dync__m_k(b, x, high), x);
}
DYNC__INLINE int dync__m_sign_bits(dync__lb *b, int x) /* the sign bit of x alone */
{
    return dync__m_andi(b, dync__m_bits(b, x), dync__m_wide(b, x) ? INT64_MIN : INT32_MIN);
}
/* r >= +0 or NaN with the sign bit of x or-ed in, or r of any sign with it toggled. */
DYNC__INLINE int dync__m_or_sign(dync__lb *b, int r, int sign_bits)
{
    return dync__m_float(b, dync__m_or(b, dync__m_bits(b, r), sign_bits));
}
DYNC__INLINE int dync__m_xor_sign(dync__lb *b, int r, int sign_bits)
{
    return dync__m_float(b, dync__m_xor(b, dync__m_bits(b, r), sign_bits));
}
/* c[0] + c[1] x + ... + c[n-1] x^(n-1), Horner. */
DYNC__INLINE int dync__m_poly(dync__lb *b, int x, int n, const double *c)
{
    int p = dync__m_k(b, x, c[n - 1]);
    for (int i = n - 2; i >= 0; i--) p = dync__m_fma(b, p, x, dync__m_k(b, x, c[i]));
    return p;
}
/* hi + lo = x + y exactly for |x| >= |y| or x = 0 (Dekker 1971). */
DYNC__INLINE int dync__m_two_sum(dync__lb *b, int x, int y, int *lo)
{
    int hi = dync__m_add(b, x, y);
    *lo = dync__m_add(b, dync__m_sub(b, x, hi), y);
    return hi;
}
/* The same for any order of magnitude (Knuth). */
DYNC__INLINE int dync__m_any_sum(dync__lb *b, int x, int y, int *lo)
{
    int hi = dync__m_add(b, x, y), part = dync__m_sub(b, hi, x);
    *lo = dync__m_add(b, dync__m_sub(b, x, dync__m_sub(b, hi, part)), dync__m_sub(b, y, part));
    return hi;
}
/* hi + lo = x * y exactly where fma rounds once; lo is 0 elsewhere. */
DYNC__INLINE int dync__m_two_mul(dync__lb *b, int x, int y, int *lo)
{
    int hi = dync__m_mul(b, x, y);
    *lo = dync__m_fma(b, x, y, dync__m_neg(b, hi));
    return hi;
}
/* (nh + nl) / (dh + dl) to nearly one rounding; both words of the denominator normal. */
DYNC__INLINE int dync__m_two_div(dync__lb *b, int nh, int nl, int dh, int dl)
{
    int r = dync__m_div(b, dync__m_k(b, dh, 1.0), dh), q = dync__m_mul(b, nh, r),
        minus_q = dync__m_neg(b, q);
    int rest = dync__m_fma(b, minus_q, dh, nh);
    if (dl >= 0) rest = dync__m_fma(b, minus_q, dl, rest);
    if (nl >= 0) rest = dync__m_add(b, rest, nl);
    return dync__m_fma(b, rest, r, q);
}
/* vecmath_narrow.c: functions of F32 without F64. Where there is F64 only tests ask for them, and a
 * small build has one of the two. */
DYNC__INLINE bool dync__m_narrow(const dync__lb *b)
{
#if defined(DYNC_SMALL)
    return (void)b, DYNC__F64_NONE;
#else
    return DYNC__F64_NONE || b->k->narrow;
#endif
}
DYNC__FN int dync__narrow_pow(dync__lb *b, int m, int e, int y);
DYNC__FN int dync__narrow_fmod(dync__lb *b, int x, int y);
DYNC__FN int dync__narrow_angle(dync__lb *b, int x, int *lo, int *quadrant);
/* vecmath_exp.c: e^(x + x_lo) * (factor + factor_lo) for x <= 0 to nearly one rounding, also into
 * the subnormals. */
DYNC__FN int dync__m_exp_product(dync__lb *b, int x, int x_lo, int factor, int factor_lo);
#endif
