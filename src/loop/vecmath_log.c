/* loop/vecmath_log.c: logarithms as expressions over primitives. Called by op/lower.c through
 * loop.h.
 *
 * x = 2^e (1 + f) with f near 0, taken from the bits of x. log(1 + f) = f + w with a small w, and f
 * itself is exact: so e log(2) + f is formed in two words, and only the roundings of w, scaled down
 * by its size, add to the last one. F32: w = f^2 Q(f), minimax (Sollya). F64: s = f / (2 + f), w =
 * s (f^2/2 + R(s^2)) - f^2/2, FreeBSD's e_log.c (Sun Microsystems 1993). log1p takes f = x 2^-e +
 * (2^-e - 1), in two words. Subnormal arguments are scaled up first. */
#include "../dync.in.h"
#include "vecmath.h"
DYNC__COLD

typedef struct dync__log_parts {
    int e, f, w; /* e as a float */
} dync__log_parts;

static int dync__log_tail(dync__lb *b, int f)
{
    static const double narrow[] = {-0x1p-1,        0x1.555546p-2, -0x1p-2,        0x1.99a546p-3,
                                    -0x1.555f0cp-3, 0x1.232fdcp-3, -0x1.fbc3fep-4, 0x1.e6f842p-4,
                                    -0x1.e03c6ap-4, 0x1.16a03p-4};
    static const double wide[] = {6.666666666666735130e-01, 3.999999999940941908e-01,
                                  2.857142874366239149e-01, 2.222219843214978396e-01,
                                  1.818357216161805012e-01, 1.531383769920937332e-01,
                                  1.479819860511658591e-01};
    int f2 = dync__m_mul(b, f, f);
    if (!dync__m_wide(b, f)) return dync__m_mul(b, f2, dync__m_poly(b, f, 10, narrow));
    int s = dync__m_div(b, f, dync__m_addk(b, f, 2.0)), z = dync__m_mul(b, s, s),
        half = dync__m_mulk(b, f2, 0.5);
    int r = dync__m_fma(b, dync__m_poly(b, z, 7, wide), z, half);
    return dync__m_fma(b, s, r, dync__m_neg(b, half));
}

/* The bits of sqrt(1/2), the least mantissa: bits - base has e above and the rest of the mantissa
 * below. */
static int64_t dync__log_base(bool wide) { return wide ? 0x3fe6a09e667f3bcd : 0x3f3504f3; }

/* The exponent in i as a float: a conversion for I32, a magic number for I64 (cheaper than
 * converting where there is no AVX-512). */
static int dync__log_exponent(dync__lb *b, int i, bool wide)
{
    if (!wide) return dync__lb_cast(b, dync__m_shrk(b, i, 23), DYNC_F32);
    int biased = dync__m_float(b, dync__m_addi(b, dync__m_shrk(b, i, 52), 0x4338000000000000));
    return dync__m_addk(b, biased, -0x1.8p52);
}

static dync__log_parts dync__log_split(dync__lb *b, int x)
{
    bool wide = dync__m_wide(b, x);
    int mantissa = wide ? 52 : 23;
    int64_t base = dync__log_base(wide);
    dync__log_parts p;
    int small = dync__m_ltk(b, x, wide ? 0x1p-1022 : 0x1p-126);
    int scaled = dync__m_sel(b, small, dync__m_mulk(b, x, wide ? 0x1p52 : 0x1p23), x);
    int from = dync__m_sel(b, small, dync__m_i(b, x, base + ((int64_t)mantissa << mantissa)),
                           dync__m_i(b, x, base));
    int i = dync__m_sub(b, dync__m_bits(b, scaled), from);
    int m = dync__m_addi(b, dync__m_andi(b, i, ((int64_t)1 << mantissa) - 1), base);
    p.e = dync__log_exponent(b, i, wide);
    p.f = dync__m_addk(b, dync__m_float(b, m), -1.0);
    p.w = dync__log_tail(b, p.f);
    return p;
}

/* +inf and NaN are their own logarithm; log(pole) = -inf; below that NaN. */
static int dync__log_special(dync__lb *b, int x, int result, double pole)
{
    int limit = dync__m_k(b, x, pole);
    int below = dync__m_sel(b, dync__m_eq(b, x, limit), dync__m_k(b, x, -(double)INFINITY),
                            dync__m_k(b, x, (double)NAN));
    result = dync__m_sel(b, dync__m_lt(b, x, dync__m_k(b, x, (double)INFINITY)), result, x);
    return dync__m_sel(b, dync__m_lt(b, limit, x), result, below);
}

/* e ln2 + f + w; e * ln2_hi is exact. */
static int dync__log_natural(dync__lb *b, const dync__log_parts *p)
{
    bool wide = dync__m_wide(b, p->f);
    int lo, hi = dync__m_two_sum(b, dync__m_mulk(b, p->e, wide ? 0x1.62e42feep-1 : 0x1.63p-1), p->f,
                                 &lo);
    int rest = dync__m_fmak(b, p->e, wide ? 0x1.a39ef35793c76p-33 : -0x1.bd0106p-13, p->w);
    return dync__m_add(b, hi, dync__m_add(b, rest, lo));
}

DYNC__FN int dync__vm_log(dync__lb *b, int a)
{
    dync__log_parts p = dync__log_split(b, a);
    return dync__log_special(b, a, dync__log_natural(b, &p), 0.0);
}

/* e scale + (f + w) k for another base: k = k_hi + k_lo is 1/ln(base), scale = scale_hi + scale_lo
 * is log_base(2). */
static int dync__log_other(dync__lb *b, int a, double k_hi, double k_lo, double scale_hi,
                           double scale_lo)
{
    dync__log_parts p = dync__log_split(b, a);
    int product_lo, lo, k = dync__m_k(b, a, k_hi),
                        product = dync__m_two_mul(b, p.f, k, &product_lo);
    int hi = dync__m_two_sum(b, dync__m_mulk(b, p.e, scale_hi), product, &lo);
    int rest = dync__m_fma(b, p.w, k, dync__m_fmak(b, p.f, k_lo, product_lo));
    if (scale_lo != 0) rest = dync__m_fmak(b, p.e, scale_lo, rest);
    return dync__log_special(b, a, dync__m_add(b, hi, dync__m_add(b, rest, lo)), 0.0);
}

DYNC__FN int dync__vm_log2(dync__lb *b, int a)
{
    if (dync__m_wide(b, a))
        return dync__log_other(b, a, 0x1.71547652b82fep0, 0x1.777d0ffda0d24p-56, 1.0, 0.0);
    return dync__log_other(b, a, 0x1.715476p0, 0x1.4ae0cp-26, 1.0, 0.0);
}

DYNC__FN int dync__vm_log10(dync__lb *b, int a)
{
    if (dync__m_wide(b, a))
        return dync__log_other(b, a, 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57, 0x1.34413509f6p-2,
                               0x1.9fef311f12b36p-42);
    return dync__log_other(b, a, 0x1.bcb7b2p-2, -0x1.5b235ep-27, 0x1.344p-2, 0x1.3509f8p-18);
}

/* Quarters of x and four times the scale: 2^-e alone would be subnormal at the top of the range. */
DYNC__FN int dync__vm_log1p(dync__lb *b, int a)
{
    bool wide = dync__m_wide(b, a);
    int mantissa = wide ? 52 : 23;
    dync__log_parts p;
    int i = dync__m_addi(b, dync__m_bits(b, dync__m_addk(b, a, 1.0)), -dync__log_base(wide));
    int exponent = dync__m_andi(b, i, -((int64_t)1 << mantissa));
    int four = dync__m_i(b, a, (int64_t)((wide ? 1023 : 127) + 2) << mantissa);
    int scale = dync__m_float(b, dync__m_sub(b, four, exponent));
    int less_one = dync__m_fmak(b, scale, 0.25, dync__m_k(b, a, -1.0));
    p.e = dync__log_exponent(b, i, wide);
    int f_lo,
        f = dync__m_two_sum(b, less_one, dync__m_mul(b, dync__m_mulk(b, a, 0.25), scale), &f_lo);
    p.f = f;
    /* log(1 + f + f_lo) = log(1 + f) + f_lo / (1 + f), nearly f_lo - f_lo f */
    p.w = dync__m_add(b, dync__log_tail(b, f), dync__m_sub(b, f_lo, dync__m_mul(b, f_lo, f)));
    /* keeps -0 and subnormals */
    int tiny = dync__m_ltk(b, dync__m_abs(b, a), wide ? 0x1p-54 : 0x1p-25);
    return dync__m_sel(b, tiny, a, dync__log_special(b, a, dync__log_natural(b, &p), -1.0));
}
