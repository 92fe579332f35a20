/* loop/vecmath_narrow.c: what vecmath computes in F64 for F32, without F64: pow in two words of
 * F32, arguments of sin, cos and tan in integers of 64 bits, fmod in integers. Of builds with
 * DYNC_NO_F64; tests compare both (dync__lb.narrow). Called by vecmath_pow.c, vecmath_trig.c. */
#include "../dync.in.h"
#include "vecmath.h"
DYNC__COLD

/* hi + lo = x y exactly, without FMA too (Veltkamp, Dekker 1971): halves of 12 bits. */
static int dync__narrow_product(dync__lb *b, int x, int y, int *lo)
{
    int hi = dync__m_mul(b, x, y);
    if (dync__has_fma()) {
        *lo = dync__m_once(b, x, y, dync__m_neg(b, hi));
        return hi;
    }
    int xh = dync__m_float(b, dync__m_andi(b, dync__m_bits(b, x), -4096)),
        yh = dync__m_float(b, dync__m_andi(b, dync__m_bits(b, y), -4096));
    int xl = dync__m_sub(b, x, xh), yl = dync__m_sub(b, y, yh);
    int rest = dync__m_sub(b, hi, dync__m_mul(b, xh, yh));
    rest = dync__m_sub(b, rest, dync__m_mul(b, xl, yh));
    rest = dync__m_sub(b, rest, dync__m_mul(b, xh, yl));
    *lo = dync__m_sub(b, dync__m_mul(b, xl, yl), rest);
    return hi;
}

/* ---- pow ------------------------------------------------------------------------------------- */

/* hi + *lo = log2(2^e m), m in [sqrt(1/2), sqrt(2)): s = (m - 1) / (m + 1) in two words, of its
 * series 2 s / ln 2 in two words and the rest in one. */
static int dync__narrow_log2(dync__lb *b, int m, int e, int *lo)
{
    static const double c[] = {0x1.ec709ep-1, 0x1.2776c6p-1, 0x1.a61762p-2, 0x1.484b14p-2,
                               0x1.0c9a85p-2};
    int d_lo, p_lo, a_lo, h_lo, one = dync__m_k(b, m, 1.0);
    int f = dync__m_sub(b, m, one), d = dync__m_any_sum(b, m, one, &d_lo);
    int s = dync__m_div(b, f, d), p = dync__narrow_product(b, s, d, &p_lo);
    int rest = dync__m_sub(b, dync__m_sub(b, f, p), p_lo);
    int s_lo = dync__m_div(b, dync__m_sub(b, rest, dync__m_mul(b, s, d_lo)), d);
    int z = dync__m_mul(b, s, s);
    int tail = dync__m_mul(b, dync__m_mul(b, s, z), dync__m_poly(b, z, 5, c));
    int a = dync__narrow_product(b, s, dync__m_k(b, m, 0x1.715476p1), &a_lo);
    int small =
        dync__m_add(b, dync__m_mulk(b, s, 0x1.4ae0cp-25), dync__m_mulk(b, s_lo, 0x1.715476p1));
    a_lo = dync__m_add(b, a_lo, dync__m_add(b, small, tail));
    int h = dync__m_any_sum(b, dync__lb_cast(b, e, DYNC_F32), a, &h_lo);
    return dync__m_two_sum(b, h, dync__m_add(b, h_lo, a_lo), lo);
}

/* 2^(hi + lo): saturates. */
static int dync__narrow_exp2(dync__lb *b, int hi, int lo)
{
    static const double c[] = {1.0,           0x1.62e43p-1, 0x1.ebfbep-3,   0x1.c6b08ep-5,
                               0x1.3b2ab6p-7, 0x1.5d88p-10, 0x1.430912p-13, 0x1.ffcbfcp-17};
    int limited = dync__m_at_most(b, dync__m_at_least(b, hi, -160.0), 130.0);
    lo = dync__m_sel(b, dync__m_eq(b, hi, limited), lo, dync__m_k(b, hi, 0.0));
    int n = dync__m_rint(b, limited), r = dync__m_add(b, dync__m_sub(b, limited, n), lo);
    int p = dync__m_poly(b, r, 8, c), whole = dync__lb_cast(b, n, DYNC_I32);
    int first = dync__m_shrk(b, whole, 1), second = dync__m_sub(b, whole, first);
    int s1 = dync__m_float(b, dync__m_shlk(b, dync__m_addi(b, first, 127), 23)),
        s2 = dync__m_float(b, dync__m_shlk(b, dync__m_addi(b, second, 127), 23));
    return dync__m_mul(b, dync__m_mul(b, p, s1), s2);
}

/* m 2^e to the power y */
DYNC__FN int dync__narrow_pow(dync__lb *b, int m, int e, int y)
{
    int log_lo, q_lo, log = dync__narrow_log2(b, m, e, &log_lo);
    y = dync__m_at_most(b, dync__m_at_least(b, y, -0x1p40), 0x1p40);
    int q = dync__narrow_product(b, log, y, &q_lo);
    return dync__narrow_exp2(b, q, dync__m_add(b, q_lo, dync__m_mul(b, log_lo, y)));
}

/* ---- fmod ------------------------------------------------------------------------------------ */

/* |x| is m 2^(e - 150): m as I64, e in 1 .. 254 as I32. */
static int dync__narrow_parts(dync__lb *b, int x, int *e)
{
    int bits = dync__m_bits(b, x), field = dync__m_shrk(b, bits, 23);
    int tiny = dync__m_eq(b, field, dync__m_i(b, bits, 0)), m = dync__m_andi(b, bits, 0x7fffff);
    *e = dync__m_sel(b, tiny, dync__m_i(b, bits, 1), field);
    return dync__lb_cast(b, dync__m_sel(b, tiny, m, dync__m_addi(b, m, 0x800000)), DYNC_I64);
}

/* x mod y for x, y >= 0: the remainder of m 2^e by n, both of 24 bits, 39 bits of e in a step. */
DYNC__FN int dync__narrow_fmod(dync__lb *b, int x, int y)
{
    int ex, ey, r = dync__narrow_parts(b, x, &ex), n = dync__narrow_parts(b, y, &ey);
    int zero = dync__lb_i(b, DYNC_I64, 0), most = dync__lb_i(b, DYNC_I64, 39),
        left = dync__lb_cast(b, dync__m_sub(b, ex, ey), DYNC_I64);
    left = dync__lb_op(b, DYNC__P_max, left, zero, -1);
    for (int step = 0; step < 7; step++) {
        int some = dync__lb_op(b, DYNC__P_min, left, most, -1);
        r = dync__lb_op(b, DYNC__P_rem, dync__m_shl(b, r, some), n, -1);
        left = dync__m_sub(b, left, some);
    }
    /* times 2^(ey - 150): exact, as x and y are multiples of it */
    int half = dync__m_shrk(b, ey, 1), other = dync__m_sub(b, ey, half);
    int s1 = dync__m_float(b, dync__m_shlk(b, dync__m_addi(b, half, 52), 23)),
        s2 = dync__m_float(b, dync__m_shlk(b, dync__m_addi(b, other, 52), 23));
    r = dync__m_mul(b, dync__m_mul(b, dync__lb_cast(b, r, DYNC_F32), s1), s2);
    int fine =
        dync__m_and(b, dync__m_ltk(b, x, (double)INFINITY), dync__m_lt(b, dync__m_k(b, y, 0.0), y));
    fine = dync__m_and(b, fine, dync__m_eq(b, y, y));
    return dync__m_sel(b, fine, r, dync__m_k(b, x, (double)NAN));
}

/* ---- sin, cos, tan --------------------------------------------------------------------------- */

/* Words i .. i + 3 of 2/pi behind 32 zeros, i = j in 0 .. 4. */
static void dync__narrow_words(dync__lb *b, int j, int *word)
{
    static const int64_t z[] = {0,          0xa2f9836e, 0x4e441529, 0xfc2757d1,
                                0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};
    for (int i = 0; i < 4; i++) word[i] = dync__lb_i(b, DYNC_I64, z[4 + i]);
    for (int k = 3; k >= 0; k--) {
        int is = dync__m_eq(b, j, dync__lb_i(b, DYNC_I32, k));
        for (int i = 0; i < 4; i++)
            word[i] = dync__m_sel(b, is, dync__lb_i(b, DYNC_I64, z[k + i]), word[i]);
    }
}

/* |x| >= 1/2 is m 2^t with m of 24 bits: m times the 96 bits of 2/pi that matter to a number of
 * this size, modulo four quadrants (Payne & Hanek 1983), of which 62 bits are behind the point.
 * Gives r = hi + *lo within pi/4 and the quadrant. */
DYNC__FN int dync__narrow_angle(dync__lb *b, int x, int *lo, int *quadrant)
{
    int e, m = dync__narrow_parts(b, x, &e), word[4];
    int at = dync__m_addi(b, e, -120), shift = dync__lb_cast(b, dync__m_andi(b, at, 31), DYNC_I64);
    dync__narrow_words(b, dync__m_shrk(b, at, 5), word);
    int rest = dync__m_sub(b, dync__lb_i(b, DYNC_I64, 32), shift);
    int high = dync__m_shl(b, dync__m_or(b, dync__m_shlk(b, word[0], 32), word[1]), shift);
    high = dync__m_or(b, high, dync__m_shr(b, word[2], rest));
    int low = dync__m_shl(b, dync__m_or(b, dync__m_shlk(b, word[2], 32), word[3]), shift);
    low = dync__m_andi(b, dync__m_shrk(b, low, 32), 0xffffffff);
    int turns =
        dync__m_add(b, dync__m_mul(b, m, high), dync__m_shrk(b, dync__m_mul(b, m, low), 32));
    int n = dync__m_shrk(b, dync__m_addi(b, turns, INT64_C(1) << 61), 62);
    int part = dync__m_sub(b, turns, dync__m_shlk(b, n, 62));
    int f = dync__lb_cast(b, part, DYNC_F32), f_lo, p_lo;
    f_lo = dync__lb_cast(b, dync__m_sub(b, part, dync__lb_cast(b, f, DYNC_I64)), DYNC_F32);
    f = dync__m_mulk(b, f, 0x1p-62);
    f_lo = dync__m_mulk(b, f_lo, 0x1p-62);
    int p = dync__narrow_product(b, f, dync__m_k(b, x, 0x1.921fb6p0), &p_lo);
    int small =
        dync__m_add(b, dync__m_mulk(b, f, -0x1.777a5cp-25), dync__m_mulk(b, f_lo, 0x1.921fb6p0));
    *quadrant = dync__lb_cast(b, n, DYNC_I32);
    p = dync__m_two_sum(b, p, dync__m_add(b, p_lo, small), lo);
    return dync__m_sel(b, dync__m_ltk(b, x, (double)INFINITY), p, dync__m_k(b, x, (double)NAN));
}
