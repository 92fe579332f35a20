/* loop/vecmath_erf.c: erf and erfc as expressions over primitives. Called by op/lower.c through
 * loop.h.
 *
 * Near 0 erf(x) = x + x R(x^2). Beyond: F32 erf = 1 - exp(-x - x P(x)); erfc and F64 erf take
 * erfc(x) = exp(-x^2) h(q) / (1 + 2x), where h(q) = (1 + 2x) exp(x^2) erfc(x) is smooth in q = (x -
 * k)/(x + k) over the whole half line (Shepherd & Laframboise 1981). x^2 is formed in two words
 * from a split x, without FMA. Minimax polynomials (Sollya). */
#include "../dync.in.h"
#include "vecmath.h"
DYNC__COLD

/* (erf(x) - x) / x for z = x^2, x <= 1.15 (F32), 0.85 (F64) */
static int dync__erf_near(dync__lb *b, int z)
{
    static const double narrow[] = {0x1.06eba8p-3,  -0x1.812744p-2, 0x1.ce2e96p-4,
                                    -0x1.b82096p-6, 0x1.55ccfap-8,  -0x1.b8f0d8p-11,
                                    0x1.c3fe2cp-14, -0x1.194a62p-17};
    static const double wide[] = {
        0x1.06eba8214db68p-3,  -0x1.812746b037995p-2,  0x1.ce2f21a03e76p-4,
        -0x1.b82ce3111cf83p-6, 0x1.565bccd019509p-8,   -0x1.c02da77d0fe27p-11,
        0x1.f9a1945ce3a5ap-14, -0x1.f4b1b4463d781p-17, 0x1.b8301cd7a901ep-20,
        -0x1.50f9f6376d39p-23, 0x1.6e4daf96c932ap-27};
    return dync__m_wide(b, z) ? dync__m_poly(b, z, 11, wide) : dync__m_poly(b, z, 8, narrow);
}

/* erfc(t) for t >= 0.6, relative accuracy down to the subnormals: exp(-t^2) is scaled after the
 * product. */
static int dync__erf_far(dync__lb *b, int t)
{
    static const double narrow[] = {0x1.46e80ep0,    -0x1.7bf5eap-4, -0x1.540788p-3,
                                    0x1.4ff9e4p-3,   -0x1.bc37cap-5, -0x1.0708c6p-7,
                                    0x1.1eeeccp-7,   0x1.41999ep-10, -0x1.944248p-10,
                                    -0x1.548b24p-12, 0x1.279802p-12};
    static const double wide[] = {
        0x1.3ba5916e9fd7fp0,   -0x1.1df1ad154a28dp-3,  0x1.f7f5df66fc8b7p-7,
        0x1.16ecefcfa5257p-4,  -0x1.9ddb23c3e404bp-4,  0x1.7fee004e156d8p-4,
        -0x1.0fb06dfead7d5p-4, 0x1.3079edf60c45p-5,    -0x1.09623873b0e7ap-6,
        0x1.49c672ae59f75p-8,  -0x1.8d4aa8ab8396p-11,  -0x1.a1df4742c6fdfp-13,
        0x1.3be13f3bd597ep-13, -0x1.9954a55e6fb44p-16, -0x1.78b2ce116662fp-17,
        0x1.7ef36578bf426p-18, 0x1.444df1d8cba86p-22,  -0x1.b7ed36babddc8p-21,
        0x1.177d1e87d40efp-24, 0x1.bb50cd36ec987p-24,  -0x1.8d5afadebe1edp-27,
        -0x1.4b718ad62ff7ap-27};
    bool is_wide = dync__m_wide(b, t);
    double k = is_wide ? 4.0 : 2.0;
    t = dync__m_at_most(b, t, is_wide ? 28.0 : 11.0);
    /* q in two words: its error would be amplified where h is steep */
    int d = dync__m_addk(b, t, k), r = dync__m_div(b, dync__m_k(b, t, 1.0), d);
    int q = dync__m_mul(b, dync__m_addk(b, t, -k), r);
    /* t - k (1 + q) */
    int rest = dync__m_fma(b, dync__m_addk(b, q, 1.0), dync__m_k(b, t, -k), t);
    /* - q t: t - k - q (t + k) */
    rest = dync__m_fma(b, dync__m_neg(b, q), t, rest);
    q = dync__m_fma(b, rest, r, q);
    int tail = is_wide ? dync__m_poly(b, q, 21, wide + 1) : dync__m_poly(b, q, 10, narrow + 1),
        h_lo, d_lo;
    int h = dync__m_two_sum(b, dync__m_k(b, t, is_wide ? wide[0] : narrow[0]),
                            dync__m_mul(b, q, tail), &h_lo);
    d = dync__m_two_sum(b, dync__m_add(b, t, t), dync__m_k(b, t, 1.0), &d_lo);
    r = dync__m_div(b, dync__m_k(b, t, 1.0), d);
    int f = dync__m_mul(b, h, r), minus_f = dync__m_neg(b, f);
    int f_lo = dync__m_fma(b, minus_f, d_lo, dync__m_add(b, dync__m_fma(b, minus_f, d, h), h_lo));
    f_lo = dync__m_mul(b, f_lo, r);
    /* t = t_hi + t_lo with t_hi^2 exact */
    int t_hi =
        dync__m_float(b, dync__m_andi(b, dync__m_bits(b, t), is_wide ? -0x8000000 : -0x1000));
    int s_lo = dync__m_mul(b, dync__m_sub(b, t, t_hi), dync__m_add(b, t, t_hi));
    int s = dync__m_two_sum(b, dync__m_mul(b, t_hi, t_hi), s_lo, &s_lo);
    return dync__m_exp_product(b, dync__m_neg(b, s), dync__m_neg(b, s_lo), f, f_lo);
}

/* erfc(t) = exp(-t - t P(t)), t >= 1 */
static int dync__erf_tail32(dync__lb *b, int t)
{
    static const double c[] = {0x1.078f7p-3, 0x1.451c18p-1,   0x1.b448fcp-4, -0x1.892c2p-6,
                               0x1.ebc45p-9, -0x1.6e4718p-12, 0x1.d07af2p-17};
    t = dync__m_at_most(b, t, 4.0);
    int minus = dync__m_neg(b, t), p = dync__m_poly(b, t, 7, c),
        g = dync__m_fma(b, p, minus, minus);
    int g_lo = dync__m_fma(b, p, minus, dync__m_sub(b, minus, g)), e = dync__vm_exp(b, g);
    return dync__m_fma(b, e, g_lo, e);
}

DYNC__FN int dync__vm_erf(dync__lb *b, int a)
{
    bool wide = dync__m_wide(b, a);
    int t = dync__m_abs(b, a),
        near_value = dync__m_fma(b, a, dync__erf_near(b, dync__m_mul(b, a, a)), a);
    int rest = wide ? dync__erf_far(b, t) : dync__erf_tail32(b, t);
    int far_value =
        dync__m_or_sign(b, dync__m_sub(b, dync__m_k(b, a, 1.0), rest), dync__m_sign_bits(b, a));
    return dync__m_sel(b, dync__m_ltk(b, t, wide ? 0.84375 : 1.0), near_value, far_value);
}

/* Near 0: 1/2 - ((x - 1/2) + x R) from 1/4 on, where the inner sum is small, so that its rounding
 * counts little; 1 - (x + x R) below. */
DYNC__FN int dync__vm_erfc(dync__lb *b, int a)
{
    int t = dync__m_abs(b, a), half = dync__m_k(b, a, 0.5);
    int shift = dync__m_sel(b, dync__m_ltk(b, a, 0.25), dync__m_k(b, a, 0.0), half);
    int product =
        dync__m_fma(b, a, dync__erf_near(b, dync__m_mul(b, a, a)), dync__m_sub(b, a, shift));
    int near_value = dync__m_sub(b, dync__m_sub(b, dync__m_k(b, a, 1.0), shift), product),
        far_value = dync__erf_far(b, t);
    int left = dync__m_sub(b, dync__m_k(b, a, 2.0), far_value);
    far_value = dync__m_sel(b, dync__m_ltk(b, a, 0.0), left, far_value);
    return dync__m_sel(b, dync__m_ltk(b, t, 0.6), near_value, far_value);
}
