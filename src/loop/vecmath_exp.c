/* loop/vecmath_exp.c: exp and its relatives as expressions over primitives. Called by op/lower.c
 * through loop.h.
 *
 * x = n ln2 + r with |r| <= ln2/2: n is rounded by adding a "magic" 1.5 * 2^p whose low bits then
 * hold n, so that no conversion to integer is needed; the same bits, shifted into the exponent
 * field, are 2^n. ln2 is split so that n * ln2_hi is exact without FMA (Cody & Waite 1980). The
 * polynomials are minimax with coefficients of the working precision (Sollya's fpminimax).
 * Invariants: NaN passes through every clamp; subnormal results are rounded once; infinities are
 * exact. */
#include "../dync.in.h"
#include "vecmath.h"
DYNC__COLD

typedef struct dync__exp_consts {
    double magic, ln2_hi, ln2_lo;
    int mantissa_bits, bias;
} dync__exp_consts;

static const dync__exp_consts *dync__exp_consts_of(const dync__lb *b, int x)
{
    static const dync__exp_consts narrow = {0x1.8p23, 0x1.63p-1, -0x1.bd0106p-13, 23, 127};
    static const dync__exp_consts wide = {0x1.8p52, 0x1.62e42feep-1, 0x1.a39ef35793c76p-33, 52,
                                          1023};
    return dync__m_wide(b, x) ? &wide : &narrow;
}

#define DYNC__LOG2E 1.4426950408889634074

typedef struct dync__exp_parts {
    int r, r_hi, ln2_lo; /* r = r_hi + n ln2_lo, rounded; r_hi is exact; ln2_lo is negated */
    int n, field;        /* field: an integer whose low bits are n + extra */
} dync__exp_parts;

/* r = x - n ln2, n = rint(x log2e) */
static dync__exp_parts dync__exp_reduce(dync__lb *b, int x, int extra)
{
    const dync__exp_consts *c = dync__exp_consts_of(b, x);
    dync__exp_parts e;
    int magic = dync__m_k(b, x, c->magic + extra);
    int t = dync__m_fmak(b, x, DYNC__LOG2E, magic);
    e.field = dync__m_bits(b, t);
    e.n = dync__m_sub(b, t, magic);
    e.r_hi = dync__m_fmak(b, e.n, -c->ln2_hi, x);
    e.ln2_lo = dync__m_k(b, x, -c->ln2_lo);
    e.r = dync__m_fma(b, e.n, e.ln2_lo, e.r_hi);
    return e;
}

/* 2^m where the low bits of field are m + bias and m is in the normal range. */
static int dync__exp_power(dync__lb *b, int like, int field)
{
    return dync__m_float(b, dync__m_shlk(b, field, dync__exp_consts_of(b, like)->mantissa_bits));
}

/* p * 2^n in two steps, for overflow and subnormal results; the low bits of field are n + 2
 * bias. */
static int dync__exp_scale(dync__lb *b, int p, int field)
{
    int half = dync__m_shrk(b, field, 1), rest = dync__m_sub(b, field, half);
    return dync__m_mul(b, dync__m_mul(b, p, dync__exp_power(b, p, half)),
                       dync__exp_power(b, p, rest));
}

/* (e^r - 1 - r) / r^2 on |r| <= 0.35 */
static int dync__exp_tail(dync__lb *b, int r)
{
    static const double narrow[] = {0x1.fffffap-2, 0x1.55548ap-3, 0x1.555a12p-5, 0x1.123f7cp-7,
                                    0x1.696e4ep-10};
    static const double wide[] = {
        0x1.000000000000bp-1,  0x1.55555555554f5p-3,  0x1.555555555007p-5,   0x1.1111111128792p-7,
        0x1.6c16c185ec859p-10, 0x1.a01a0129149bep-13, 0x1.a019953c73d65p-16, 0x1.71df21f8e6519p-19,
        0x1.28b1f22b53b8fp-22, 0x1.ad8e8edee4513p-26};
    return dync__m_wide(b, r) ? dync__m_poly(b, r, 10, wide) : dync__m_poly(b, r, 5, narrow);
}

/* The same with the relative error of e^r - 1 bounded as well. */
static int dync__exp_tail_small(dync__lb *b, int r)
{
    static const double narrow[] = {0x1p-1,        0x1.555554p-3, 0x1.5554ecp-5,
                                    0x1.1112fcp-7, 0x1.6d495p-10, 0x1.9e2a52p-13};
    static const double wide[] = {0x1p-1,
                                  0x1.5555555555559p-3,
                                  0x1.555555555554bp-5,
                                  0x1.111111110f5b4p-7,
                                  0x1.6c16c16c1b9c4p-10,
                                  0x1.a01a01b071fc6p-13,
                                  0x1.a01a01899c816p-16,
                                  0x1.71ddf69ac2c9dp-19,
                                  0x1.27e51bc4f5f06p-22,
                                  0x1.af624017e4dc2p-26,
                                  0x1.1f0f04657d494p-29};
    return dync__m_wide(b, r) ? dync__m_poly(b, r, 11, wide) : dync__m_poly(b, r, 6, narrow);
}

DYNC__FN int dync__vm_exp(dync__lb *b, int a)
{
    bool wide = dync__m_wide(b, a);
    int one = dync__m_k(b, a, 1.0);
    int x = dync__m_at_most(b, dync__m_at_least(b, a, wide ? -746.0 : -104.0), wide ? 710.0 : 89.0);
    dync__exp_parts e = dync__exp_reduce(b, x, 2 * dync__exp_consts_of(b, a)->bias);
    int q = dync__m_fma(b, dync__exp_tail(b, e.r), e.r, one);
    return dync__exp_scale(b, dync__m_fma(b, q, e.r, one), e.field);
}

DYNC__FN int dync__vm_exp2(dync__lb *b, int a)
{
    static const double narrow[] = {1.0,          0x1.62e43p-1,   0x1.ebfbd8p-3, 0x1.c6af72p-5,
                                    0x1.3b309p-7, 0x1.5f0e12p-10, 0x1.3fb5f2p-13};
    static const double wide[] = {1.0,
                                  0x1.62e42fefa39efp-1,
                                  0x1.ebfbdff82c5a6p-3,
                                  0x1.c6b08d704a128p-5,
                                  0x1.3b2ab6fb9fd4bp-7,
                                  0x1.5d87fe789f8c1p-10,
                                  0x1.4309130f8b404p-13,
                                  0x1.ffcbfc61b2e55p-17,
                                  0x1.62bfc5f526eaep-20,
                                  0x1.b5252c941a05ap-24,
                                  0x1.e61e117ea3b4ap-28,
                                  0x1.e9650ecd138bep-32};
    bool is_wide = dync__m_wide(b, a);
    const dync__exp_consts *c = dync__exp_consts_of(b, a);
    int x = dync__m_at_most(b, dync__m_at_least(b, a, is_wide ? -1076.0 : -151.0),
                            is_wide ? 1025.0 : 129.0);
    int magic = dync__m_k(b, a, c->magic + 2 * c->bias), t = dync__m_add(b, x, magic);
    int r = dync__m_sub(b, x, dync__m_sub(b, t, magic));
    return dync__exp_scale(b,
                           is_wide ? dync__m_poly(b, r, 12, wide) : dync__m_poly(b, r, 7, narrow),
                           dync__m_bits(b, t));
}

/* hi + lo = e^r - 1: the rounding of r enters the tail only. */
static int dync__exp_minus_one(dync__lb *b, const dync__exp_parts *e, int *lo)
{
    int tail = dync__exp_tail_small(b, e->r), r2 = dync__m_mul(b, e->r, e->r);
    return dync__m_two_sum(b, e->r_hi, dync__m_fma(b, tail, r2, dync__m_mul(b, e->n, e->ln2_lo)),
                           lo);
}

/* hi + lo = e^r */
static int dync__exp_two_words(dync__lb *b, int r, int *lo)
{
    int one = dync__m_k(b, r, 1.0), tail = dync__exp_tail(b, r), r2 = dync__m_mul(b, r, r);
    int hi = dync__m_add(b, one, dync__m_fma(b, tail, r2, r));
    *lo = dync__m_fma(b, tail, r2, dync__m_add(b, dync__m_sub(b, one, hi), r));
    return hi;
}

/* 2 (2^(n-1) t + (2^(n-1) - 1/2)) with t = e^r - 1: halved, so that n = 128 (1024) needs no step of
 * its own. */
DYNC__FN int dync__vm_expm1(dync__lb *b, int a)
{
    bool wide = dync__m_wide(b, a);
    int x = dync__m_at_most(b, dync__m_at_least(b, a, wide ? -40.0 : -18.0), wide ? 710.0 : 89.0);
    dync__exp_parts e = dync__exp_reduce(b, x, dync__exp_consts_of(b, a)->bias - 1);
    int t_lo, sum_lo, base_lo, t = dync__exp_minus_one(b, &e, &t_lo);
    int scale = dync__exp_power(b, a, e.field);
    int base = dync__m_two_sum(b, scale, dync__m_k(b, a, -0.5), &base_lo);
    int sum = dync__m_two_sum(b, base, dync__m_mul(b, scale, t), &sum_lo);
    int half = dync__m_add(b, sum, dync__m_fma(b, scale, t_lo, dync__m_add(b, sum_lo, base_lo)));
    /* keeps -0 and subnormals */
    int tiny = dync__m_ltk(b, dync__m_abs(b, a), wide ? 0x1p-54 : 0x1p-25);
    return dync__m_sel(b, tiny, a, dync__m_add(b, half, half));
}

/* hi + lo = e^x for x <= 0; lo is good where hi is normal. */
static int dync__exp_two(dync__lb *b, int x, int *lo)
{
    dync__exp_parts e =
        dync__exp_reduce(b, dync__m_at_least(b, x, dync__m_wide(b, x) ? -746.0 : -104.0),
                         2 * dync__exp_consts_of(b, x)->bias);
    int p_lo, p = dync__exp_two_words(b, e.r, &p_lo);
    *lo = dync__exp_scale(b, p_lo, e.field);
    return dync__exp_scale(b, p, e.field);
}

DYNC__FN int dync__m_exp_product(dync__lb *b, int x, int x_lo, int factor, int factor_lo)
{
    dync__exp_parts e =
        dync__exp_reduce(b, dync__m_at_least(b, x, dync__m_wide(b, x) ? -760.0 : -124.0),
                         2 * dync__exp_consts_of(b, x)->bias);
    int r_lo, p_lo, low;
    int r = dync__m_two_sum(b, e.r_hi, dync__m_fma(b, e.n, e.ln2_lo, x_lo), &r_lo);
    int p = dync__exp_two_words(b, r, &p_lo), product = dync__m_two_mul(b, p, factor, &low);
    p_lo = dync__m_add(b, p_lo, r_lo);
    low = dync__m_fma(b, p, factor_lo, dync__m_fma(b, p_lo, factor, low));
    return dync__exp_scale(b, dync__m_add(b, product, low), e.field);
}

/* e = exp(-|x|); 1 / (1 + e) for x >= 0, e / (1 + e) below: both without cancellation. */
DYNC__FN int dync__vm_sigmoid(dync__lb *b, int a)
{
    int one = dync__m_k(b, a, 1.0);
    if (b->fast_math)
        return dync__m_div(b, one, dync__m_add(b, one, dync__vm_exp(b, dync__m_neg(b, a))));
    int e_lo, d_lo, zero = dync__m_k(b, a, 0.0);
    int e = dync__exp_two(b, dync__m_neg(b, dync__m_abs(b, a)), &e_lo);
    int d = dync__m_two_sum(b, one, e, &d_lo), below = dync__m_lt(b, a, zero);
    d_lo = dync__m_add(b, d_lo, e_lo);
    return dync__m_two_div(b, dync__m_sel(b, below, e, one), dync__m_sel(b, below, e_lo, zero), d,
                           d_lo);
}

/* F32: an odd polynomial below 1, 1 - 2 / (e^2x + 1) above, where the quotient's error is scaled
 * down. */
static int dync__exp_tanh32(dync__lb *b, int a)
{
    static const double c[] = {-0x1.555552p-2, 0x1.111046p-3, -0x1.b9f914p-5, 0x1.64d7eep-6,
                               -0x1.195694p-7, 0x1.922872p-9, -0x1.b5d39p-11, 0x1.f76cb4p-14};
    int one = dync__m_k(b, a, 1.0), x = dync__m_abs(b, a), x2 = dync__m_mul(b, a, a);
    int odd = dync__m_fma(b, dync__m_mul(b, dync__m_poly(b, x2, 8, c), x2), x, x);
    int y = dync__m_at_most(b, x, 10.0);
    dync__exp_parts e = dync__exp_reduce(b, dync__m_add(b, y, y), 127);
    int p = dync__m_fma(b, dync__m_fma(b, dync__exp_tail(b, e.r), e.r, one), e.r, one);
    int d = dync__m_fma(b, p, dync__exp_power(b, a, e.field), one);
    int far = dync__m_sub(b, one, dync__m_div(b, dync__m_k(b, a, 2.0), d));
    return dync__m_or_sign(b, dync__m_sel(b, dync__m_lt(b, x, one), odd, far),
                           dync__m_sign_bits(b, a));
}

/* -m / (2 + m) with m = expm1(-2|x|) in two words. */
static int dync__exp_tanh64(dync__lb *b, int a)
{
    int x = dync__m_at_most(b, dync__m_abs(b, a), 20.0), t_lo, m_lo, d_lo;
    dync__exp_parts e = dync__exp_reduce(b, dync__m_mulk(b, x, -2.0), 1023);
    int t = dync__exp_minus_one(b, &e, &t_lo), scale = dync__exp_power(b, a, e.field);
    int base_lo, base = dync__m_two_sum(b, dync__m_k(b, a, -1.0), scale, &base_lo);
    int m = dync__m_two_sum(b, base, dync__m_mul(b, scale, t), &m_lo);
    m_lo = dync__m_fma(b, scale, t_lo, dync__m_add(b, m_lo, base_lo));
    int d = dync__m_two_sum(b, dync__m_k(b, a, 2.0), m, &d_lo);
    int q =
        dync__m_two_div(b, dync__m_neg(b, m), dync__m_neg(b, m_lo), d, dync__m_add(b, d_lo, m_lo));
    return dync__m_sel(b, dync__m_ltk(b, dync__m_abs(b, a), 0x1p-28), a,
                       dync__m_or_sign(b, q, dync__m_sign_bits(b, a)));
}

DYNC__FN int dync__vm_tanh(dync__lb *b, int a)
{
    return dync__m_wide(b, a) ? dync__exp_tanh64(b, a) : dync__exp_tanh32(b, a);
}

/* hi + lo = e^|x| / 4 and *inverse = e^-|x| / 4: quarters, so that no power of two overflows before
 * the result does. */
static int dync__exp_quarter(dync__lb *b, int a, int *lo, int *inverse)
{
    int p_lo, x = dync__m_at_most(b, dync__m_abs(b, a), dync__m_wide(b, a) ? 710.6 : 89.5);
    dync__exp_parts e = dync__exp_reduce(b, x, dync__exp_consts_of(b, a)->bias - 2);
    int p = dync__exp_two_words(b, e.r, &p_lo), scale = dync__exp_power(b, a, e.field);
    *lo = dync__m_mul(b, p_lo, scale);
    int hi = dync__m_mul(b, p, scale);
    *inverse = dync__m_div(b, dync__m_k(b, a, 0.0625), hi);
    return hi;
}

DYNC__FN int dync__vm_sinh(dync__lb *b, int a)
{
    static const double narrow[] = {0x1.555556p-3, 0x1.1110eap-7, 0x1.a01c22p-13, 0x1.76771ep-19};
    static const double wide[] = {
        0x1.5555555555556p-3,  0x1.111111111104p-7,   0x1.a01a01a0318d8p-13, 0x1.71de3a40565e2p-19,
        0x1.ae646b4d5f191p-26, 0x1.6118df71776ccp-33, 0x1.b52ebddf96b65p-41};
    int lo, inverse, hi = dync__exp_quarter(b, a, &lo, &inverse), x2 = dync__m_mul(b, a, a);
    int p = dync__m_wide(b, a) ? dync__m_poly(b, x2, 7, wide) : dync__m_poly(b, x2, 4, narrow);
    int odd = dync__m_fma(b, dync__m_mul(b, p, x2), a, a);
    int half = dync__m_sub(b, hi, dync__m_sub(b, inverse, lo));
    int far = dync__m_xor_sign(b, dync__m_add(b, half, half), dync__m_sign_bits(b, a));
    return dync__m_sel(b, dync__m_ltk(b, dync__m_abs(b, a), 1.0), odd, far);
}

DYNC__FN int dync__vm_cosh(dync__lb *b, int a)
{
    int lo, inverse, hi = dync__exp_quarter(b, a, &lo, &inverse);
    int half = dync__m_add(b, hi, dync__m_add(b, inverse, lo));
    return dync__m_add(b, half, half);
}
