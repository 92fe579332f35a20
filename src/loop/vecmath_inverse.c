/* loop/vecmath_inverse.c: asin, acos, atan, atan2 as expressions over primitives. Called by
 * op/lower.c through loop.h.
 *
 * asin(t) = t + t z P(z) with z = t^2 for t <= 1/2, else pi/2 - 2 asin(sqrt(z)) with z = (1 - t)/2,
 * the root in two words. atan(n/d), n <= d, = atan(c) + r + r z P(z) with r = (n - c d)/(d + c n),
 * c = 0, 1/2 or 1 (after FreeBSD's s_atan.c, Sun Microsystems 1993): the rounding of r counts
 * little beside atan(c). Constants are in two words, polynomials minimax (Sollya). */
#include "../dync.in.h"
#include "vecmath.h"
DYNC__COLD

#define DYNC__PI 3.14159265358979323846

/* ---- asin, acos ------------------------------------------------------------------------------ */

typedef struct dync__arc_parts {
    int s, lo, big; /* asin(t) = s + lo, or with big: asin(sqrt((1 - t)/2)) = s + lo */
} dync__arc_parts;

static int dync__arc_asin_poly(dync__lb *b, int z)
{
    static const double narrow[] = {0x1.55554cp-3, 0x1.33389ep-4, 0x1.6caab6p-5,
                                    0x1.04af34p-5, 0x1.d7924cp-7, 0x1.33d432p-5};
    static const double wide[] = {0x1.5555555555577p-3, 0x1.333333332e133p-4, 0x1.6db6db721247bp-5,
                                  0x1.f1c71a95002fbp-6, 0x1.6e8bdedebf9dfp-6, 0x1.1c49f077d5bc7p-6,
                                  0x1.ca1f8af1f0a3ap-7, 0x1.75859dad05d78p-7, 0x1.613c1e6ed740ap-7,
                                  0x1.e5fbe88dfb6c3p-9, 0x1.639a894e22b07p-6, -0x1.57fad0deac95ep-6,
                                  0x1.0b45e9f72f00bp-5};
    return dync__m_wide(b, z) ? dync__m_poly(b, z, 13, wide) : dync__m_poly(b, z, 6, narrow);
}

/* t = |x| */
static dync__arc_parts dync__arc_parts_of(dync__lb *b, int t)
{
    dync__arc_parts p;
    int half = dync__m_k(b, t, 0.5), zero = dync__m_k(b, t, 0.0);
    p.big = dync__m_lt(b, half, t);
    int z =
        dync__m_sel(b, p.big, dync__m_fma(b, t, dync__m_k(b, t, -0.5), half), dync__m_mul(b, t, t));
    int root = dync__m_sqrt(b, z);
    p.s = dync__m_sel(b, p.big, root, t);
    int rest =
        dync__m_div(b, dync__m_fma(b, dync__m_neg(b, root), root, z), dync__m_add(b, root, root));
    /* |x| = 1 has root 0 */
    int root_lo = dync__m_sel(b, dync__m_lt(b, zero, root), rest, zero);
    p.lo = dync__m_fma(b, dync__m_mul(b, p.s, z), dync__arc_asin_poly(b, z),
                       dync__m_sel(b, p.big, root_lo, zero));
    return p;
}

DYNC__FN int dync__vm_asin(dync__lb *b, int a)
{
    bool wide = dync__m_wide(b, a);
    dync__arc_parts p = dync__arc_parts_of(b, dync__m_abs(b, a));
    int hi_lo, twice = dync__m_mulk(b, p.s, -2.0);
    int hi = dync__m_two_sum(b, dync__m_k(b, a, wide ? DYNC__PI / 2 : 0x1.921fb6p0), twice, &hi_lo);
    hi_lo = dync__m_addk(b, hi_lo, wide ? 0x1.1a62633145c07p-54 : -0x1.777a5cp-25);
    int big = dync__m_add(b, hi, dync__m_fmak(b, p.lo, -2.0, hi_lo));
    int r = dync__m_sel(b, p.big, big, dync__m_add(b, p.s, p.lo));
    return dync__m_or_sign(b, r, dync__m_sign_bits(b, a));
}

/* base - m (s + lo): base pi/2, m = 1 or -1 for small x; 0, -2 near 1; pi, 2 near -1 */
DYNC__FN int dync__vm_acos(dync__lb *b, int a)
{
    bool wide = dync__m_wide(b, a);
    double pi = wide ? DYNC__PI : 0x1.921fb6p1,
           pi_lo = wide ? 0x1.1a62633145c07p-53 : -0x1.777a5cp-24;
    dync__arc_parts p = dync__arc_parts_of(b, dync__m_abs(b, a));
    int zero = dync__m_k(b, a, 0.0), negative = dync__m_lt(b, a, zero), hi_lo;
    int factor = dync__m_sel(b, p.big, dync__m_k(b, a, 2.0), dync__m_k(b, a, -1.0));
    factor = dync__m_sel(b, negative, dync__m_neg(b, factor), factor);
    int far = dync__m_sel(b, negative, dync__m_k(b, a, pi), zero),
        far_lo = dync__m_sel(b, negative, dync__m_k(b, a, pi_lo), zero);
    int base = dync__m_sel(b, p.big, far, dync__m_k(b, a, pi / 2));
    int base_lo = dync__m_sel(b, p.big, far_lo, dync__m_k(b, a, pi_lo / 2));
    int hi = dync__m_two_sum(b, base, dync__m_mul(b, p.s, factor), &hi_lo);
    return dync__m_add(b, hi, dync__m_fma(b, p.lo, factor, dync__m_add(b, hi_lo, base_lo)));
}

/* ---- atan, atan2 ----------------------------------------------------------------------------- */

/* atan(r) - r, |r| <= 7/16 */
static int dync__arc_atan_tail(dync__lb *b, int r, int z)
{
    static const double narrow[] = {-0x1.55554p-2, 0x1.998d2ep-3, -0x1.23623p-3, 0x1.ad2ep-4,
                                    -0x1.da3fdep-5};
    static const double wide[] = {
        -0x1.5555555555552p-2, 0x1.9999999998ffdp-3, -0x1.2492492445f1bp-3, 0x1.c71c71a14323cp-4,
        -0x1.745d11c745a98p-4, 0x1.3b132f07baa92p-4, -0x1.1108ffb03a644p-4, 0x1.e132054883d19p-5,
        -0x1.a9f75a20549cbp-5, 0x1.6b0d90c444f85p-5, -0x1.053f0b6f2136ep-5, 0x1.bfe1dab9568b3p-7};
    int p = dync__m_wide(b, r) ? dync__m_poly(b, z, 12, wide) : dync__m_poly(b, z, 5, narrow);
    return dync__m_mul(b, dync__m_mul(b, r, z), p);
}

/* hi + *lo = atan(n / d), 0 <= n <= d finite, d > 0. c moves the argument near 0, atan(c) comes
 * back in. rest: what the division left counts as well. */
static int dync__arc_core(dync__lb *b, int n, int d, bool rest, int *lo)
{
    static const struct {
        double from, c, hi32, lo32, hi64, lo64;
    } part[] = {
        {0x1.cp-2, 0.5, 0x1.dac67p-2, 0x1.586ed4p-28, 0x1.dac670561bb4fp-2, 0x1.a2b7f222f65e2p-56},
        {0x1.6p-1, 1.0, 0x1.921fb6p-1, -0x1.777a5cp-26, 0x1.921fb54442d18p-1,
         0x1.1a62633145c07p-55}};
    bool wide = dync__m_wide(b, n);
    int c = dync__m_k(b, n, 0.0), hi = c, hi_lo = c, sum_lo;
    for (int i = 0; i < 2; i++) {
        int in = dync__m_le(b, dync__m_mulk(b, d, part[i].from), n);
        c = dync__m_sel(b, in, dync__m_k(b, n, part[i].c), c);
        hi = dync__m_sel(b, in, dync__m_k(b, n, wide ? part[i].hi64 : part[i].hi32), hi);
        hi_lo = dync__m_sel(b, in, dync__m_k(b, n, wide ? part[i].lo64 : part[i].lo32), hi_lo);
    }
    int top = dync__m_fma(b, dync__m_neg(b, c), d, n), bottom = dync__m_fma(b, c, n, d),
        r = dync__m_div(b, top, bottom);
    int tail = dync__arc_atan_tail(b, r, dync__m_mul(b, r, r));
    if (rest)
        tail = dync__m_add(b, tail,
                           dync__m_div(b, dync__m_fma(b, dync__m_neg(b, r), bottom, top), bottom));
    hi = dync__m_two_sum(b, hi, r, &sum_lo);
    *lo = dync__m_add(b, tail, dync__m_add(b, sum_lo, hi_lo));
    return hi;
}

/* (base + base_lo) + or - (core + lo), core >= 0 */
static int dync__arc_reflect(dync__lb *b, int base, int base_lo, int minus, int core, int lo)
{
    int sum_lo;
    core = dync__m_sel(b, minus, dync__m_neg(b, core), core);
    lo = dync__m_sel(b, minus, dync__m_neg(b, lo), lo);
    int hi = dync__m_two_sum(b, base, core, &sum_lo);
    return dync__m_add(b, hi, dync__m_add(b, lo, dync__m_add(b, sum_lo, base_lo)));
}

DYNC__FN int dync__vm_atan(dync__lb *b, int a)
{
    bool wide = dync__m_wide(b, a);
    int zero = dync__m_k(b, a, 0.0), one = dync__m_k(b, a, 1.0), t = dync__m_abs(b, a),
        big = dync__m_lt(b, one, t), lo;
    /* from here on the result is pi/2; keeps infinity out */
    int limit = dync__m_k(b, a, wide ? 0x1p100 : 0x1p60);
    int d = dync__m_sel(b, dync__m_lt(b, limit, t), limit, t);
    int core =
        dync__arc_core(b, dync__m_sel(b, big, one, t), dync__m_sel(b, big, d, one), false, &lo);
    int base = dync__m_sel(b, big, dync__m_k(b, a, wide ? DYNC__PI / 2 : 0x1.921fb6p0), zero);
    int base_lo =
        dync__m_sel(b, big, dync__m_k(b, a, wide ? 0x1.1a62633145c07p-54 : -0x1.777a5cp-25), zero);
    return dync__m_or_sign(b, dync__arc_reflect(b, base, base_lo, big, core, lo),
                           dync__m_sign_bits(b, a));
}

/* The quotient of the smaller by the larger; then atan, reflected at the diagonal, at the y and at
 * the x axis. */
DYNC__FN int dync__vm_atan2(dync__lb *b, int a, int x)
{
    bool wide = dync__m_wide(b, a);
    double pi = wide ? DYNC__PI : 0x1.921fb6p1,
           pi_lo = wide ? 0x1.1a62633145c07p-53 : -0x1.777a5cp-24;
    int zero = dync__m_k(b, a, 0.0), one = dync__m_k(b, a, 1.0), ay = dync__m_abs(b, a),
        ax = dync__m_abs(b, x);
    int steep = dync__m_lt(b, ax, ay), n = dync__m_sel(b, steep, ax, ay),
        d = dync__m_sel(b, steep, ay, ax), lo;
    /* 0/0 is 0, inf/inf is 1, x/inf is 0 */
    int same = dync__m_eq(b, n, d), infinite = dync__m_eqk(b, d, (double)INFINITY);
    n = dync__m_sel(b, infinite, zero, n);
    n = dync__m_sel(b, same, dync__m_sel(b, dync__m_eq(b, d, zero), zero, one), n);
    d = dync__m_sel(b, dync__m_or(b, same, infinite), one, d);
    /* d + c n must neither overflow nor be subnormal */
    int huge = dync__m_lt(b, dync__m_k(b, a, wide ? 0x1p1000 : 0x1p120), d);
    int scale = dync__m_sel(b, huge, dync__m_k(b, a, wide ? 0x1p-100 : 0x1p-20), one);
    scale = dync__m_sel(b, dync__m_ltk(b, d, wide ? 0x1p-900 : 0x1p-80),
                        dync__m_k(b, a, wide ? 0x1p200 : 0x1p50), scale);
    n = dync__m_mul(b, n, scale);
    d = dync__m_mul(b, d, scale);
    int core = dync__arc_core(b, n, d, true, &lo);
    int left = dync__m_lt(b, dync__m_bits(b, x), dync__m_i(b, x, 0));
    int far = dync__m_sel(b, left, dync__m_k(b, a, pi), zero),
        far_lo = dync__m_sel(b, left, dync__m_k(b, a, pi_lo), zero);
    int base = dync__m_sel(b, steep, dync__m_k(b, a, pi / 2), far);
    int base_lo = dync__m_sel(b, steep, dync__m_k(b, a, pi_lo / 2), far_lo);
    int result = dync__arc_reflect(b, base, base_lo, dync__m_xor(b, steep, left), core, lo);
    result = dync__m_or_sign(b, result, dync__m_sign_bits(b, a));
    result = dync__m_sel(b, dync__m_ne(b, a, a), a, result); /* compares would lose a NaN */
    return dync__m_sel(b, dync__m_ne(b, x, x), x, result);
}
