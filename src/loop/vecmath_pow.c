/* loop/vecmath_pow.c: pow, fmod and rsqrt as expressions over primitives. Called by op/lower.c
 * through loop.h.
 *
 * pow(x, y) = 2^(y log2 |x|). The logarithm needs more bits than the result has: F32 takes it in
 * F64, F64 in two words with products of half words as in FreeBSD's e_pow.c (Sun Microsystems
 * 2004), so that no FMA is needed. The exceptional cases of C99 Annex F are put over the result in
 * the order of their precedence. fmod: |x| loses multiples of |y| 2^(s k), k from above, each step
 * exactly. */
#include "../dync.in.h"
#include "vecmath.h"
DYNC__COLD

/* ---- pow ------------------------------------------------------------------------------------- */

/* x > 0 is 2^e m with m around 1; e as an integer of x's width. base: the bits of the least m. */
static int dync__pow_split(dync__lb *b, int x, int64_t base, int *e)
{
    bool wide = dync__m_wide(b, x);
    int mantissa = wide ? 52 : 23;
    int small = dync__m_ltk(b, x, wide ? 0x1p-1022 : 0x1p-126);
    int scaled = dync__m_sel(b, small, dync__m_mulk(b, x, wide ? 0x1p52 : 0x1p23), x);
    int from = dync__m_sel(b, small, dync__m_i(b, x, base + ((int64_t)mantissa << mantissa)),
                           dync__m_i(b, x, base));
    int i = dync__m_sub(b, dync__m_bits(b, scaled), from);
    *e = dync__m_shrk(b, i, mantissa);
    return dync__m_float(b,
                         dync__m_addi(b, dync__m_andi(b, i, ((int64_t)1 << mantissa) - 1), base));
}

/* 2^(hi + lo) in F64, |hi| any: saturates. lo -1 for none: then for a result in F32, with fewer
 * terms. */
static int dync__pow_exp2(dync__lb *b, int hi, int lo)
{
    static const double c[] = {1.0,
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
    int limited = dync__m_at_most(b, dync__m_at_least(b, hi, -1080.0), 1026.0);
    if (lo >= 0) lo = dync__m_sel(b, dync__m_eq(b, hi, limited), lo, dync__m_k(b, hi, 0.0));
    hi = limited;
    int magic = dync__m_k(b, hi, 0x1.8p52 + 2046), t = dync__m_add(b, hi, magic);
    int r = dync__m_sub(b, hi, dync__m_sub(b, t, magic)), field = dync__m_bits(b, t);
    if (lo >= 0) r = dync__m_add(b, r, lo);
    int p = dync__m_poly(b, r, lo >= 0 ? 12 : 8, c), half = dync__m_shrk(b, field, 1);
    int s1 = dync__m_float(b, dync__m_shlk(b, half, 52)),
        s2 = dync__m_float(b, dync__m_shlk(b, dync__m_sub(b, field, half), 52));
    return dync__m_mul(b, dync__m_mul(b, p, s1), s2);
}

/* 2^(y log2 x) for F32, in F64 where there is any: x > 0, finite */
static int dync__pow_core32(dync__lb *b, int x, int y)
{
    static const double c[] = {0x1.ec709db560677p-1, 0x1.27770114bea2ep-1, 0x1.a5c88e06a9edcp-2,
                               0x1.58c22cde88aaep-2};
    int e, m = dync__pow_split(b, x, 0x3f3504f3, &e);
    if (dync__m_narrow(b)) return dync__narrow_pow(b, m, e, y);
    m = dync__lb_cast(b, m, DYNC_F64);
    int s = dync__m_div(b, dync__m_addk(b, m, -1.0), dync__m_addk(b, m, 1.0)),
        z = dync__m_mul(b, s, s);
    int p = dync__m_fma(b, dync__m_poly(b, z, 4, c), z, dync__m_k(b, m, 0x1.71547652b82fep1));
    int log2x = dync__m_fma(b, p, s, dync__lb_cast(b, e, DYNC_F64));
    /* infinity times log 1 */
    int limited = dync__m_at_most(b, dync__m_at_least(b, y, -0x1p40), 0x1p40);
    int r = dync__pow_exp2(b, dync__m_mul(b, log2x, dync__lb_cast(b, limited, DYNC_F64)), -1);
    return dync__lb_cast(b, r, DYNC_F32);
}

/* x without its last n bits, so that products of such are exact. */
static int dync__pow_cut(dync__lb *b, int x, int n)
{
    return dync__m_float(b, dync__m_andi(b, dync__m_bits(b, x), -((int64_t)1 << n)));
}

static int dync__pow_high(dync__lb *b, int x) { return dync__pow_cut(b, x, 32); }

/* hi + *lo = log2 x to about 2^-68, hi of half the bits; x > 0, finite */
static int dync__pow_log2_64(dync__lb *b, int x, int *lo)
{
    static const double c[] = {5.99999999999994648725e-01, 4.28571428578550184252e-01,
                               3.33333329818377432918e-01, 2.72728123808534006489e-01,
                               2.30660745775561754067e-01, 2.06975017800338417784e-01};
    int e, one = dync__m_k(b, x, 1.0), zero = dync__m_k(b, x, 0.0);
    /* m in [sqrt(3)/2, sqrt(3)) about 1 or 3/2 */
    int m = dync__pow_split(b, x, 0x3febb67ae8584caa, &e);
    int upper = dync__m_le(b, dync__m_k(b, x, 0x1.3988e1409212ep0), m),
        centre = dync__m_sel(b, upper, dync__m_k(b, x, 1.5), one);
    /* s = (m - centre) / (m + centre) in two words */
    int u = dync__m_sub(b, m, centre), v = dync__m_div(b, one, dync__m_add(b, m, centre)),
        s = dync__m_mul(b, u, v);
    int s_hi = dync__pow_high(b, s), t_hi = dync__pow_high(b, dync__m_add(b, m, centre));
    int t_lo = dync__m_sub(b, m, dync__m_sub(b, t_hi, centre));
    int rest =
        dync__m_sub(b, dync__m_sub(b, u, dync__m_mul(b, s_hi, t_hi)), dync__m_mul(b, s_hi, t_lo));
    int s_lo = dync__m_mul(b, v, rest);
    /* log m = 2 s + 2/3 s^3 + ... ; t = 3 + s^2 + r is 3/2 of its factor of s */
    int z = dync__m_mul(b, s, s), hi2 = dync__m_mul(b, s_hi, s_hi);
    int r = dync__m_fma(b, dync__m_mul(b, z, z), dync__m_poly(b, z, 6, c),
                        dync__m_mul(b, s_lo, dync__m_add(b, s_hi, s)));
    int three = dync__m_k(b, x, 3.0);
    t_hi = dync__pow_high(b, dync__m_add(b, dync__m_add(b, hi2, three), r));
    t_lo = dync__m_sub(b, r, dync__m_sub(b, dync__m_sub(b, t_hi, three), hi2));
    u = dync__m_mul(b, s_hi, t_hi);
    v = dync__m_fma(b, s_lo, t_hi, dync__m_mul(b, t_lo, s));
    int p_hi = dync__pow_high(b, dync__m_add(b, u, v)),
        p_lo = dync__m_sub(b, v, dync__m_sub(b, p_hi, u));
    /* times 2/(3 ln 2), plus log2 of the centre, plus e */
    int z_hi = dync__m_mulk(b, p_hi, 9.61796700954437255859e-01);
    int z_lo = dync__m_fmak(b, p_hi, -7.02846165095275826516e-09,
                            dync__m_mulk(b, p_lo, 9.61796693925975554329e-01));
    z_lo = dync__m_add(b, z_lo,
                       dync__m_sel(b, upper, dync__m_k(b, x, 1.35003920212974897128e-08), zero));
    int c_hi = dync__m_sel(b, upper, dync__m_k(b, x, 5.84962487220764160156e-01), zero);
    int biased = dync__m_float(b, dync__m_addi(b, e, 0x4338000000000000)),
        n = dync__m_addk(b, biased, -0x1.8p52);
    int sum = dync__m_add(b, dync__m_add(b, dync__m_add(b, z_hi, z_lo), c_hi), n),
        hi = dync__pow_high(b, sum);
    *lo = dync__m_sub(b, z_lo, dync__m_sub(b, dync__m_sub(b, dync__m_sub(b, hi, n), c_hi), z_hi));
    return hi;
}

static int dync__pow_core64(dync__lb *b, int x, int y)
{
    int log_lo, log_hi = dync__pow_log2_64(b, x, &log_lo), lo;
    y = dync__m_at_most(b, dync__m_at_least(b, y, -0x1p70), 0x1p70);
    int y_hi = dync__pow_high(b, y), y_lo = dync__m_sub(b, y, y_hi);
    lo = dync__m_fma(b, y_lo, log_hi, dync__m_mul(b, y, log_lo));
    int hi = dync__m_any_sum(b, dync__m_mul(b, y_hi, log_hi), lo, &lo);
    return dync__pow_exp2(b, hi, lo);
}

DYNC__FN int dync__vm_pow(dync__lb *b, int x, int y)
{
    bool wide = dync__m_wide(b, x);
    int zero = dync__m_k(b, x, 0.0), one = dync__m_k(b, x, 1.0),
        inf = dync__m_k(b, x, (double)INFINITY), t = dync__m_abs(b, x);
    int r = wide ? dync__pow_core64(b, t, y) : dync__pow_core32(b, t, y);
    /* 0 and infinity: 0 where exactly one of |x| < 1 and y < 0 holds not */
    int flat = dync__m_or(b, dync__m_eq(b, t, zero), dync__m_eq(b, t, inf));
    int shrinks = dync__m_eq(b, dync__m_lt(b, t, one), dync__m_lt(b, zero, y));
    r = dync__m_sel(b, flat, dync__m_sel(b, shrinks, zero, inf), r);
    /* negative x: the sign of an odd y; no other result but for whole y, zero and infinity */
    int whole = dync__m_eq(b, dync__m_rint(b, y), y), half = dync__m_mulk(b, y, 0.5);
    int odd = dync__m_and(b, whole, dync__m_ne(b, dync__m_rint(b, half), half));
    int sign = dync__m_sel(b, odd, dync__m_sign_bits(b, x), dync__m_i(b, x, 0));
    r = dync__m_or_sign(b, r, sign);
    int domain = dync__m_or(b, dync__m_or(b, whole, flat), dync__m_le(b, zero, x));
    r = dync__m_sel(b, domain, r, dync__m_k(b, x, (double)NAN));
    r = dync__m_sel(b, dync__m_ne(b, y, y), y, r);
    r = dync__m_sel(b, dync__m_ne(b, x, x), x, r);
    return dync__m_sel(b, dync__m_or(b, dync__m_eq(b, y, zero), dync__m_eq(b, x, one)), one, r);
}

/* ---- rsqrt ----------------------------------------------------------------------------------- */

/* y = 1/s with s = sqrt(x), corrected by what both roundings left: 1/(s + d/(2s)) with d = x -
 * s^2. */
DYNC__FN int dync__vm_rsqrt(dync__lb *b, int a)
{
    int one = dync__m_k(b, a, 1.0), s = dync__m_sqrt(b, a), y = dync__m_div(b, one, s);
    if (b->fast_math) return y;
    int minus_s = dync__m_neg(b, s), d = dync__m_fma(b, minus_s, s, a),
        e = dync__m_fma(b, minus_s, y, one);
    int low = dync__m_fma(b, dync__m_mul(b, d, dync__m_mulk(b, y, -0.5)), y, e);
    int fine = dync__m_and(b, dync__m_lt(b, dync__m_k(b, a, 0.0), a),
                           dync__m_lt(b, a, dync__m_k(b, a, (double)INFINITY)));
    return dync__m_sel(b, fine, dync__m_fma(b, low, y, y), y);
}

/* ---- fmod ------------------------------------------------------------------------------------ */

/* r - whole(r / (y 2^k)) y 2^k, exact: the quotient has at most `bits` bits, y = y_hi + y_lo. y_lo
 * -1 where y is short. */
static int dync__fmod_step(dync__lb *b, int r, int inverse, int y_hi, int y_lo, double scale)
{
    int q = dync__m_trunc(b, dync__m_mul(b, dync__m_mulk(b, r, 1 / scale), inverse));
    q = dync__m_mulk(b, q, scale);
    r = dync__m_sub(b, r, dync__m_mul(b, q, y_hi));
    return y_lo < 0 ? r : dync__m_sub(b, r, dync__m_mul(b, q, y_lo));
}

enum {
    DYNC__FMOD_BITS = 24,
    DYNC__FMOD_STEPS = 2098 / DYNC__FMOD_BITS + 1
}; /* of quotients up to 2^1024 / 2^-1074 */

/* x = m 2^(e - 1075) with m in [2^52, 2^53): m, and e as I64. x is normal. */
static int dync__fmod_parts(dync__lb *b, int x, int *e)
{
    int bits = dync__m_bits(b, x);
    *e = dync__m_shrk(b, bits, 52);
    return dync__m_float(b, dync__m_or(b, dync__m_andi(b, bits, (INT64_C(1) << 52) - 1),
                                       dync__m_i(b, x, INT64_C(1075) << 52)));
}

/* x mod d where 2^250 and more d fit into x: the remainder of m 2^e by n, both whole, of which 24
 * bits of e are multiplied in a step. Each is exact: r stays in (-n, 2 n), so the quotient has 26
 * bits, n's parts 26 and 27. scale: a power of 2; d is so many times the divisor, and so is the
 * result. */
static int dync__fmod_far(dync__lb *b, int x, int d, int scale)
{
    int ex, ed, m = dync__fmod_parts(b, x, &ex), n = dync__fmod_parts(b, d, &ed),
                one = dync__m_k(b, x, 1.0);
    int n_hi = dync__pow_cut(b, n, 27), n_lo = dync__m_sub(b, n, n_hi),
        inverse = dync__m_div(b, one, n);
    int e = dync__m_add(b, dync__m_sub(b, ex, ed),
                        dync__m_addi(b, dync__m_shrk(b, dync__m_bits(b, scale), 52), -1023));
    int whole =
        dync__m_addk(b, dync__m_float(b, dync__m_or(b, e, dync__m_i(b, x, INT64_C(1075) << 52))),
                     -0x1p52); /* e, below 2^52 */
    int steps =
        dync__m_trunc(b, dync__m_mulk(b, dync__m_addk(b, whole, 0.5), 1.0 / DYNC__FMOD_BITS));
    int rest = dync__m_bits(
        b, dync__m_addk(b, dync__m_sub(b, whole, dync__m_mulk(b, steps, DYNC__FMOD_BITS)),
                        0x1p52 + 1023));
    int r = dync__m_mul(b, m, dync__m_float(b, dync__m_shlk(b, rest, 52)));
    r = dync__fmod_step(b, r, inverse, n_hi, n_lo, 1);
    for (int k = 0; k < DYNC__FMOD_STEPS; k++) {
        int more = dync__m_lt(b, dync__m_k(b, x, k), steps);
        r = dync__m_mul(b, r, dync__m_sel(b, more, dync__m_k(b, x, 1 << DYNC__FMOD_BITS), one));
        r = dync__fmod_step(b, r, inverse, n_hi, n_lo, 1);
    }
    r = dync__m_sel(b, dync__m_ltk(b, r, 0.0), dync__m_add(b, r, n), r);
    r = dync__m_sel(b, dync__m_le(b, n, r), dync__m_sub(b, r, n), r);
    return dync__m_mul(b, r, dync__m_float(b, dync__m_shlk(b, dync__m_addi(b, ed, -52), 52)));
}

/* F32 in F64: quotients below 2^280, which is all there are, 28 bits a step. F64: quotients below
 * 2^250, 25 bits a step, larger ones apart; a small y is scaled up with x, so that it has a
 * reciprocal. Most quotients have no more bits than the last step takes: the others are cold. */
DYNC__FN int dync__vm_fmod(dync__lb *b, int a, int y)
{
    bool wide = dync__m_wide(b, a);
    int x = dync__m_abs(b, a), t = dync__m_abs(b, y);
    if (!wide && dync__m_narrow(b)) {
        int left = dync__m_sel(b, dync__m_lt(b, x, t), x, dync__narrow_fmod(b, x, t));
        return dync__m_or_sign(b, left, dync__m_sign_bits(b, a));
    }
    int r = dync__lb_cast(b, x, DYNC_F64), d = dync__lb_cast(b, t, DYNC_F64);
    int one = dync__m_k(b, d, 1.0), small = -1, scale = one, d_hi = d, d_lo = -1;
    if (wide) {
        small = dync__m_ltk(b, d, 0x1p-500);
        scale = dync__m_sel(b, small, dync__m_k(b, d, 0x1p500), one);
        r = dync__m_mul(b, r, scale);
        d = dync__m_mul(b, d, scale);
        d_hi = dync__pow_cut(b, d, 27);
        d_lo = dync__m_sub(b, d, d_hi);
    }
    int inverse = dync__m_div(b, one, d), quotient = dync__m_mul(b, r, inverse), far = r;
    int bits = wide ? 25 : 28, many = dync__m_le(b, dync__m_k(b, d, ldexp(1.0, bits)), quotient);
    for (int k = 9; k > 0; k--)
        far = dync__fmod_step(b, far, inverse, d_hi, d_lo, ldexp(1.0, k * bits));
    r = dync__m_cold(b, many, far, r);
    r = dync__fmod_step(b, r, inverse, d_hi, d_lo, 1.0);
    /* the last quotient may have been one off either way */
    r = dync__m_sel(b, dync__m_ltk(b, r, 0.0), dync__m_add(b, r, d), r);
    r = dync__m_sel(b, dync__m_le(b, d, r), dync__m_sub(b, r, d), r);
    if (wide) {
        int usual = dync__m_ltk(b, quotient, 0x1p250), nan = dync__m_k(b, r, (double)NAN);
        int finite = dync__m_and(b, dync__m_ltk(b, x, (double)INFINITY),
                                 dync__m_lt(b, dync__m_k(b, t, 0.0), t));
        r = dync__m_sel(b, usual, r, nan);
        int beyond = dync__m_and(b, finite, dync__m_not(b, usual));
        r = dync__m_cold(b, beyond, dync__fmod_far(b, x, d, scale), r);
        r = dync__m_mul(b, r, dync__m_sel(b, small, dync__m_k(b, d, 0x1p-500), one));
    }
    r = dync__m_sel(b, dync__m_lt(b, x, t), x, dync__lb_cast(b, r, dync__lb_type(b, a)));
    return dync__m_or_sign(b, r, dync__m_sign_bits(b, a));
}
