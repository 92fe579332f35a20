/* loop/vecmath_trig.c: sin, cos, tan as expressions over primitives. Called by op/lower.c through
 * loop.h.
 *
 * |x| = q pi/2 + r with |r| <= pi/4 (a little more for huge x), r in two words; then one odd and
 * one even polynomial (minimax,
 * Sollya) and a choice by q. The reduction holds for every finite argument, as everything in an
 * expression is always evaluated:
 *   F32  below 2^17 in F32: n pi/2 is taken away in three words of 24 bits, the first exactly, as
 *        |x| and n times it are multiples of 2^-24 less than 1 apart. Above, in F64: |x| times two
 *        words of 2/pi. The words are taken from the place in 2/pi that matters for the size of x
 *        (Payne & Hanek 1983): what lies above only adds multiples of four quadrants. Four ranges
 *        cover all floats. Without FMA all of it in F64; without F64 in integers
 *        (vecmath_narrow.c).
 *   F64  below 2^20 three-part Cody-Waite (constants of FreeBSD's e_rem_pio2.c, Sun Microsystems
 *        1993), exact without FMA; above, Payne-Hanek with four 53-bit words of 1/(2 pi) picked by
 *        a barrel of selects.
 * fast_math: F32 in one word, three parts, for |x| < 2^15; F64 the three parts alone, for |x| <
 * 2^20. Beyond, precision is lost. The large arguments are the cold paths of selects, so that
 * machine code jumps over them where no lane has one. Without FMA the words of Payne-Hanek have no
 * exact products: arguments over 2^10 (F32) and 2^20 (F64) lose precision. */
#include "../dync.in.h"
#include "vecmath.h"
DYNC__COLD

typedef struct dync__trig_parts {
    int r, lo, q; /* q: an integer whose two low bits are the quadrant; as wide as r */
} dync__trig_parts;

/* c ? far_part : near_part, the far one a cold path. */
static dync__trig_parts dync__trig_either(dync__lb *b, int c, dync__trig_parts far_part,
                                          dync__trig_parts near_part)
{
    dync__trig_parts out = {dync__m_cold(b, c, far_part.r, near_part.r),
                            dync__m_cold(b, c, far_part.lo, near_part.lo),
                            dync__m_cold(b, c, far_part.q, near_part.q)};
    return out;
}

/* ---- reduction, F32 -------------------------------------------------------------------------- */

static dync__trig_parts dync__trig_far32(dync__lb *b, int x)
{
    /* two words of 2/pi from bit 2^-(limit - 23 - 2) on, for x of at least the limit before */
    static const struct {
        double limit, hi, lo;
    } word[] = {{0x1p45, 0x1.45f306dc9c883p-1, -0x1.6b01ec5417056p-55},
                {0x1p67, 0x1.b727220a94fe0p-23, 0x1.3abe8fa9a6ee0p-75},
                {0x1p89, 0x1.054a7f09d5f40p-46, 0x1.f534ddc0db629p-96},
                {0x1p111, 0x1.f84eafa3ea69bp-65, 0x1.7036d8a5664f1p-118},
                {0, 0x1.e8fa9a6ee06dbp-87, 0x1.4acc9e21c8208p-143}};
    int d = dync__lb_cast(b, x, DYNC_F64), hi = dync__m_k(b, d, word[4].hi),
        lo = dync__m_k(b, d, word[4].lo);
    for (int i = 3; i >= 0; i--) {
        int below = dync__m_ltk(b, d, word[i].limit);
        hi = dync__m_sel(b, below, dync__m_k(b, d, word[i].hi), hi);
        lo = dync__m_sel(b, below, dync__m_k(b, d, word[i].lo), lo);
    }
    int p_lo, magic = dync__m_k(b, d, 0x1.8p52), p = dync__m_two_mul(b, d, hi, &p_lo);
    int t = dync__m_add(b, p, magic), rest = dync__m_sub(b, p, dync__m_sub(b, t, magic));
    int r = dync__m_mulk(b, dync__m_add(b, rest, dync__m_fma(b, d, lo, p_lo)), 0x1.921fb54442d18p0);
    dync__trig_parts out;
    out.r = dync__lb_cast(b, r, DYNC_F32);
    out.lo = dync__lb_cast(b, dync__m_sub(b, r, dync__lb_cast(b, out.r, DYNC_F64)), DYNC_F32);
    out.q = dync__lb_cast(b, dync__m_bits(b, t), DYNC_I32);
    return out;
}

/* x < 2^17: the second product enters in both its words, for floats next to a multiple of pi/2. */
static dync__trig_parts dync__trig_near32(dync__lb *b, int x)
{
    dync__trig_parts out;
    int magic = dync__m_k(b, x, 0x1.8p23), t = dync__m_fmak(b, x, 0x1.45f306p-1, magic),
        n = dync__m_sub(b, t, magic);
    int first = dync__m_once(b, n, dync__m_k(b, x, -0x1.921fb6p0), x),
        second = dync__m_mulk(b, n, 0x1.777a5cp-25), lo;
    /* what its rounding added */
    int rest = dync__m_once(b, n, dync__m_k(b, x, -0x1.777a5cp-25), second);
    out.r = dync__m_any_sum(b, first, second, &lo);
    out.lo = dync__m_fmak(b, n, 0x1.ee59dap-50, dync__m_sub(b, lo, rest));
    out.q = dync__m_bits(b, t);
    return out;
}

static dync__trig_parts dync__trig_reduce32(dync__lb *b, int x)
{
    if (!dync__has_fma() && !dync__m_narrow(b)) return dync__trig_far32(b, x);
    dync__trig_parts near_part, far_part;
    if (dync__m_narrow(b))
        far_part.r = dync__narrow_angle(b, x, &far_part.lo, &far_part.q);
    else
        far_part = dync__trig_far32(b, x);
    if (dync__has_fma())
        near_part = dync__trig_near32(b, x);
    else
        near_part = (dync__trig_parts){x, dync__m_k(b, x, 0.0), dync__m_i(b, x, 0)};
    int is_far = dync__m_le(b, dync__m_k(b, x, dync__has_fma() ? 0x1p17 : 0.5), x);
    return dync__trig_either(b, is_far, far_part, near_part);
}

static dync__trig_parts dync__trig_fast32(dync__lb *b, int x)
{
    dync__trig_parts out;
    int magic = dync__m_k(b, x, 0x1.8p23), t = dync__m_fmak(b, x, 0x1.45f306p-1, magic),
        n = dync__m_sub(b, t, magic);
    out.r = dync__m_fmak(b, n, -0x1.921fb6p0, x);
    out.r = dync__m_fmak(b, n, 0x1.777a5cp-25, out.r);
    out.r = dync__m_fmak(b, n, 0x1.ee59dap-50, out.r);
    /* bounded where precision is lost */
    out.r = dync__m_at_most(b, dync__m_at_least(b, out.r, -0.8), 0.8);
    out.lo = -1;
    out.q = dync__m_bits(b, t);
    return out;
}

/* ---- reduction, F64 -------------------------------------------------------------------------- */

/* n < 2^20 and parts of 33 bits: the products are exact. */
static dync__trig_parts dync__trig_near64(dync__lb *b, int x)
{
    dync__trig_parts out;
    int magic = dync__m_k(b, x, 0x1.8p52), t = dync__m_fmak(b, x, 0x1.45f306dc9c883p-1, magic),
        n = dync__m_sub(b, t, magic);
    int first = dync__m_fmak(b, n, -0x1.921fb544p0, x), second_lo, third_lo;
    int second = dync__m_two_sum(b, first, dync__m_mulk(b, n, -0x1.0b4611a6p-34), &second_lo);
    out.r = dync__m_two_sum(b, second, dync__m_mulk(b, n, -0x1.3198a2ep-69), &third_lo);
    out.lo = dync__m_add(b, third_lo, dync__m_fmak(b, n, -0x1.b839a252049c1p-104, second_lo));
    out.q = dync__m_bits(b, t);
    return out;
}

/* word[0..3] = table[j..j+3]: a barrel of selects, one level per bit of j < 20. */
static void dync__trig_words(dync__lb *b, int j, int like, int *word)
{
    /* 53 bits of 1/(2 pi) each, scaled to [0, 1); the first stands for the bits before the point */
    static const double table[] = {0x0p+0,
                                   0x1.45f306dc9c880p-3,
                                   0x1.529fc2757d1f5p-1,
                                   0x1.a6ee06db14accp-3,
                                   0x1.3c439041fe514p-3,
                                   0x1.1d5ef5de2b0dbp-1,
                                   0x1.246e3a424dd2ep-1,
                                   0x1.924bba8274600p-10,
                                   0x1.21cfe1deb1cb0p-3,
                                   0x1.29a73ee88235ep-2,
                                   0x1.52ebb4484e99cp-1,
                                   0x1.c09ad17df904ep-2,
                                   0x1.91d639835339cp-3,
                                   0x1.a4e422fc5defcp-1,
                                   0x1.283b1ff897ffdp-1,
                                   0x1.c0b301fde5e23p-1,
                                   0x1.6b414da3eda68p-4,
                                   0x1.3f6793e584dbap-1,
                                   0x1.e8c7ecd3cbfd4p-2,
                                   0x1.6ba93dd63f5f0p-3,
                                   0x1.7c5ecf41ce7dep-1,
                                   0x1.4a525d4d7f6bcp-3,
                                   0x1.b11f8d5d08560p-1};
    enum { N = DYNC__COUNT_OF(table) };
    int level[N];
    for (int i = 0; i < N; i++) level[i] = dync__m_k(b, like, table[i]);
    for (int step = 16; step > 0; step /= 2) {
        int set = dync__m_ne(b, dync__m_andi(b, j, step), dync__m_i(b, j, 0));
        for (int i = 0; i < 4 + step - 1 && i + step < N; i++)
            level[i] = dync__m_sel(b, set, level[i + step], level[i]);
    }
    for (int i = 0; i < 4; i++) word[i] = level[i];
}

static int dync__trig_fraction(dync__lb *b, int x) { return dync__m_sub(b, x, dync__m_rint(b, x)); }

/* x >= 2^20: turns = x / (2 pi) modulo 1. y = x 2^(-53 j) is in [2^52, 2^105), so whole turns are
 * in the first two products only. */
static dync__trig_parts dync__trig_far64(dync__lb *b, int x)
{
    int word[4], bits = dync__m_bits(b, x), lo[3], e[5];
    int exponent = dync__m_addi(b, dync__m_shrk(b, bits, 52), -1022);
    /* exponent / 53 */
    int j = dync__m_shrk(b, dync__m_mul(b, exponent, dync__m_i(b, x, 1237)), 16);
    dync__trig_words(b, j, x, word);
    int down = dync__m_shlk(b, dync__m_mul(b, dync__m_addi(b, j, -1), dync__m_i(b, x, 53)), 52);
    int y = dync__m_float(b, dync__m_sub(b, bits, down));
    int y1 = dync__m_mulk(b, y, 0x1p-53), y2 = dync__m_mulk(b, y, 0x1p-106),
        y3 = dync__m_mulk(b, y, 0x1p-159);
    int p0 = dync__trig_fraction(b, dync__m_two_mul(b, y, word[0], &lo[0]));
    int p1 = dync__trig_fraction(b, dync__m_two_mul(b, y1, word[1], &lo[1]));
    int p2 = dync__m_two_mul(b, y2, word[2], &lo[2]);
    int sum = dync__m_any_sum(b, dync__trig_fraction(b, lo[0]), p1, &e[0]);
    sum = dync__m_any_sum(b, p0, sum, &e[1]);
    int small = dync__m_any_sum(b, lo[1], p2, &e[2]);
    sum = dync__m_any_sum(b, sum, small, &e[3]);
    int rest = dync__m_add(b, dync__m_add(b, e[0], e[1]), dync__m_add(b, e[2], e[3]));
    rest = dync__m_add(b, rest, dync__m_fma(b, y3, word[3], lo[2]));
    int magic = dync__m_k(b, x, 0x1.8p52), t = dync__m_fmak(b, sum, 4.0, magic),
        n = dync__m_sub(b, t, magic);
    int f = dync__m_any_sum(b, dync__m_fmak(b, n, -0.25, sum), rest, &e[4]), r_lo;
    int r = dync__m_two_mul(b, f, dync__m_k(b, x, 0x1.921fb54442d18p2), &r_lo);
    r_lo =
        dync__m_fmak(b, e[4], 0x1.921fb54442d18p2, dync__m_fmak(b, f, 0x1.1a62633145c07p-52, r_lo));
    dync__trig_parts out;
    out.r = r;
    out.lo = r_lo;
    out.q = dync__m_bits(b, t);
    return out;
}

static dync__trig_parts dync__trig_reduce64(dync__lb *b, int x)
{
    dync__trig_parts near_part = dync__trig_near64(b, x);
    int is_far = dync__m_le(b, dync__m_k(b, x, 0x1p20), x),
        infinite = dync__m_k(b, x, (double)INFINITY);
    dync__trig_parts far_part = dync__trig_far64(b, x);
    far_part.r =
        dync__m_sel(b, dync__m_lt(b, x, infinite), far_part.r, dync__m_k(b, x, (double)NAN));
    return dync__trig_either(b, is_far, far_part, near_part);
}

/* x >= 0 or NaN */
static dync__trig_parts dync__trig_reduce(dync__lb *b, int x)
{
    if (dync__m_wide(b, x))
        return b->fast_math ? dync__trig_near64(b, x) : dync__trig_reduce64(b, x);
    return b->fast_math ? dync__trig_fast32(b, x) : dync__trig_reduce32(b, x);
}

/* ---- polynomials on |r| <= pi/4 -------------------------------------------------------------- */

/* sin(r + lo) - r. fine: a term more in F32, for tan. */
static int dync__trig_sin_lo(dync__lb *b, const dync__trig_parts *p, int z, bool fine)
{
    static const double narrow[] = {-0x1.55553ep-3, 0x1.110484p-7, -0x1.9861bp-13};
    static const double narrow_fine[] = {-0x1.555556p-3, 0x1.111158p-7, -0x1.a03a64p-13,
                                         0x1.7409b8p-19};
    static const double wide[] = {-0x1.5555555555547p-3,  0x1.111111110f5cbp-7,
                                  -0x1.a01a019bbeecdp-13, 0x1.71de3531b3de8p-19,
                                  -0x1.ae5e3040063a2p-26, 0x1.5d83837e9da8ep-33};
    int s = dync__m_wide(b, z) ? dync__m_poly(b, z, 6, wide)
            : fine             ? dync__m_poly(b, z, 4, narrow_fine)
                               : dync__m_poly(b, z, 3, narrow);
    int cube = dync__m_mul(b, p->r, z);
    return p->lo < 0 ? dync__m_mul(b, cube, s) : dync__m_fma(b, cube, s, p->lo);
}

/* cos(r + lo) = hi + *lo, hi = 1 - z/2 */
static int dync__trig_cos(dync__lb *b, const dync__trig_parts *p, int z, bool fine, int *lo)
{
    static const double narrow[] = {0x1.555554p-5, -0x1.6c11e6p-10, 0x1.9b5774p-16};
    static const double narrow_fine[] = {0x1.555556p-5, -0x1.6c17b4p-10, 0x1.a0c4bep-16,
                                         -0x1.48e134p-22};
    static const double wide[] = {0x1.5555555555555p-5,  -0x1.6c16c16c168b2p-10,
                                  0x1.a01a019f31692p-16, -0x1.27e4f9f96bbadp-22,
                                  0x1.1eeb4d98525aap-29, -0x1.906bfde8be84dp-37};
    int c = dync__m_wide(b, z) ? dync__m_poly(b, z, 6, wide)
            : fine             ? dync__m_poly(b, z, 4, narrow_fine)
                               : dync__m_poly(b, z, 3, narrow);
    int one_lo, hi = dync__m_two_sum(b, dync__m_k(b, z, 1.0), dync__m_mulk(b, z, -0.5), &one_lo);
    if (p->lo >= 0) one_lo = dync__m_sub(b, one_lo, dync__m_mul(b, p->r, p->lo));
    *lo = dync__m_fma(b, dync__m_mul(b, z, z), c, one_lo);
    return hi;
}

static int dync__trig_odd(dync__lb *b, int q)
{
    return dync__m_ne(b, dync__m_andi(b, q, 1), dync__m_i(b, q, 0));
}

/* sin of quadrant q */
static int dync__trig_choose(dync__lb *b, const dync__trig_parts *p, int q, int sign)
{
    int z = dync__m_mul(b, p->r, p->r), cos_lo, cos_hi = dync__trig_cos(b, p, z, false, &cos_lo);
    int cosine = dync__m_add(b, cos_hi, cos_lo),
        sine = dync__m_add(b, p->r, dync__trig_sin_lo(b, p, z, false));
    bool wide = dync__m_wide(b, z);
    int flip = dync__m_andi(b, dync__m_shlk(b, q, wide ? 62 : 30), wide ? INT64_MIN : INT32_MIN);
    if (sign >= 0) flip = dync__m_xor(b, flip, sign);
    return dync__m_xor_sign(b, dync__m_sel(b, dync__trig_odd(b, q), cosine, sine), flip);
}

DYNC__FN int dync__vm_sin(dync__lb *b, int a)
{
    dync__trig_parts p = dync__trig_reduce(b, dync__m_abs(b, a));
    return dync__trig_choose(b, &p, p.q, dync__m_sign_bits(b, a));
}

DYNC__FN int dync__vm_cos(dync__lb *b, int a)
{
    dync__trig_parts p = dync__trig_reduce(b, dync__m_abs(b, a));
    return dync__trig_choose(b, &p, dync__m_addi(b, p.q, 1), -1);
}

/* F64 under 2^20: nothing of larger ones is linked for it. */
DYNC__FN int dync__vm_cos_near(dync__lb *b, int a)
{
    dync__trig_parts p = dync__trig_near64(b, dync__m_abs(b, a));
    return dync__trig_choose(b, &p, dync__m_addi(b, p.q, 1), -1);
}

/* sin / cos in even quadrants, -cos / sin in odd ones, both in two words. */
DYNC__FN int dync__vm_tan(dync__lb *b, int a)
{
    dync__trig_parts p = dync__trig_reduce(b, dync__m_abs(b, a));
    int z = dync__m_mul(b, p.r, p.r), cos_lo, sin_lo,
        cos_hi = dync__trig_cos(b, &p, z, true, &cos_lo);
    cos_hi = dync__m_two_sum(b, cos_hi, cos_lo, &cos_lo);
    int sin_hi = dync__m_two_sum(b, p.r, dync__trig_sin_lo(b, &p, z, true), &sin_lo),
        odd = dync__trig_odd(b, p.q);
    int nh = dync__m_sel(b, odd, cos_hi, sin_hi), nl = dync__m_sel(b, odd, cos_lo, sin_lo);
    int dh = dync__m_sel(b, odd, sin_hi, cos_hi), dl = dync__m_sel(b, odd, sin_lo, cos_lo);
    bool wide = dync__m_wide(b, z);
    int flip = dync__m_shlk(b, p.q, wide ? 63 : 31);
    return dync__m_xor_sign(b, dync__m_two_div(b, nh, nl, dh, dl),
                            dync__m_xor(b, flip, dync__m_sign_bits(b, a)));
}
