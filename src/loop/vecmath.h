/* loop/vecmath.h: the shorthand that the vecmath_*.c files are written in. Between loop.h and those files.
 *
 * dync__m_<op>(b, ...) appends one primitive; float constants take their type from a value beside them. A number's "bits" are its
 * bit pattern as I32 (F32) or I64 (F64). */
#ifndef DYNC__VECMATH_H
#define DYNC__VECMATH_H
#include "loop.h"

#define DYNC__M_ONE(name, prim) \
    DYNC__INLINE int dync__m_##name(dync__lb *b, int x) { return dync__lb_op(b, DYNC__P_##prim, x, -1, -1); }
#define DYNC__M_TWO(name, prim) \
    DYNC__INLINE int dync__m_##name(dync__lb *b, int x, int y) { return dync__lb_op(b, DYNC__P_##prim, x, y, -1); }
#define DYNC__M_THREE(name, prim) \
    DYNC__INLINE int dync__m_##name(dync__lb *b, int x, int y, int z) { return dync__lb_op(b, DYNC__P_##prim, x, y, z); }
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

DYNC__INLINE bool dync__m_wide(const dync__lb *b, int x)          /* F64 (or I64)? */
{
    int t = dync__lb_type(b, x);
    return t == DYNC_F64 || t == DYNC_I64;
}
DYNC__INLINE int dync__m_k(dync__lb *b, int like, double c) { return dync__lb_f(b, dync__lb_type(b, like), c); }
DYNC__INLINE int dync__m_i(dync__lb *b, int like, int64_t n)      /* integer constant of the width of `like` */
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
DYNC__INLINE int dync__m_addk(dync__lb *b, int x, double c) { return dync__m_add(b, x, dync__m_k(b, x, c)); }
DYNC__INLINE int dync__m_mulk(dync__lb *b, int x, double c) { return dync__m_mul(b, x, dync__m_k(b, x, c)); }
DYNC__INLINE int dync__m_fmak(dync__lb *b, int x, double c, int z) { return dync__m_fma(b, x, dync__m_k(b, x, c), z); }
DYNC__INLINE int dync__m_ltk(dync__lb *b, int x, double c) { return dync__m_lt(b, x, dync__m_k(b, x, c)); }
DYNC__INLINE int dync__m_eqk(dync__lb *b, int x, double c) { return dync__m_eq(b, x, dync__m_k(b, x, c)); }
DYNC__INLINE int dync__m_shlk(dync__lb *b, int i, int n) { return dync__m_shl(b, i, dync__m_i(b, i, n)); }
DYNC__INLINE int dync__m_shrk(dync__lb *b, int i, int n) { return dync__m_shr(b, i, dync__m_i(b, i, n)); }
DYNC__INLINE int dync__m_addi(dync__lb *b, int i, int64_t n) { return dync__m_add(b, i, dync__m_i(b, i, n)); }
DYNC__INLINE int dync__m_andi(dync__lb *b, int i, int64_t n) { return dync__m_and(b, i, dync__m_i(b, i, n)); }
DYNC__INLINE int dync__m_at_least(dync__lb *b, int x, double low)  /* NaN stays */
{
    return dync__m_sel(b, dync__m_ltk(b, x, low), dync__m_k(b, x, low), x);
}
DYNC__INLINE int dync__m_at_most(dync__lb *b, int x, double high)
{
    return dync__m_sel(b, dync__m_lt(b, dync__m_k(b, x, high), x), dync__m_k(b, x, high), x);
}
DYNC__INLINE int dync__m_sign_bits(dync__lb *b, int x)             /* the sign bit of x alone */
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
    int r = dync__m_div(b, dync__m_k(b, dh, 1.0), dh), q = dync__m_mul(b, nh, r), minus_q = dync__m_neg(b, q);
    int rest = dync__m_fma(b, minus_q, dh, nh);
    if (dl >= 0) rest = dync__m_fma(b, minus_q, dl, rest);
    if (nl >= 0) rest = dync__m_add(b, rest, nl);
    return dync__m_fma(b, rest, r, q);
}
/* vecmath_exp.c: e^(x + x_lo) * (factor + factor_lo) for x <= 0 to nearly one rounding, also into the subnormals. */
DYNC__FN int dync__m_exp_product(dync__lb *b, int x, int x_lo, int factor, int factor_lo);
#endif
