/* op/fourier_products.c: Fourier transforms as products with small tables. Before
 * decompose_fourier.c, whose operators they are.
 *
 *   X[k] = sum over j of x[j] w(n)^(j k),  w(n) = exp(-2 pi i / n);  back with + and 1 / n
 *
 * A complex number is a last dim of size 2 (real, imaginary); on the way a row of n is two planes,
 * [2, n]. A length n = n1 n2 is done in two stages (Gentleman & Sande 1966; "four steps" in Bailey
 * 1990), which takes n (n1 + n2) multiplications instead of n^2, the second in stages of its own
 * where it is long:
 *
 *   j = a n2 + b, k = c + d n1:
 *   X[c + d n1] = sum_b w(n2)^(b d) w(n)^(b c) sum_a w(n1)^(a c) x[a n2 + b]
 *
 * A stage is one product of real matrices, [C -S; S C] by the planes. 2 m real numbers are m
 * complex ones, x[2 j] + i x[2 j + 1], whose transform gives theirs (Press et al., Numerical
 * Recipes, "FFT of real functions"). Short rows are one product, pairs as they lie. A prime length
 * has one stage, with a table of n^2. Angles are reduced to a right one by whole numbers first and
 * computed in f64. */
#include "../dync.in.h"
#include "fourier.h"
DYNC__COLD

/* a row so short is one product; a table of a stage has no more rows where the length allows; the
 * longest prime factor */
enum {
    DYNC__FT_SHORT = 32,
    DYNC__FT_FEW = 16, /* the same beside the kernel */
    DYNC__FT_STAGE = 64,
    DYNC__FT_LONGEST = 1 << 13,
    DYNC__FT_PADDED = 1 << 20 /* of the kernel */
};
/* real and imaginary parts; im NULL: all real */
typedef struct dync__ft_pair {
    dync__dt *re, *im;
} dync__ft_pair;

/* Of quarters, whole numbers in [0, 4 n): cosines of pi / 2 q / n times `sign`, as sines of what is
 * missing to a right angle. Those of whole quarters come out as 0 and 1 exactly. */
static dync__dt *dync__ft_cosines(const dync__ft *f, dync__dt *q, int64_t n, double sign)
{
    dync__chain *c = f->c;
    const double quarter = 1.57079632679489661923;
    q = dync__chain1(c, DYNC__OP_abs, dync__chain_ti(c, DYNC__OP_sub, q, 2 * n));
    q = dync__chain_dtype(c, dync__chain_ti(c, DYNC__OP_sub, q, n), DYNC__REAL);
    q = dync__chain_tf(c, DYNC__OP_mul, q, sign * quarter / (double)n);
    return dync__chain_dtype(c, dync__chain1(c, DYNC__OP_sin, q), f->dtype);
}

/* w(period)^(row * column) of [rows, columns] */
static dync__ft_pair dync__ft_table(const dync__ft *f, int64_t rows, int64_t columns,
                                    int64_t period)
{
    dync__chain *c = f->c;
    int64_t shape[2] = {rows, 1};
    dync__dt *x =
        dync__chain_shape(c, DYNC__OP_view, dync__chain_range(c, rows, f->device), 2, shape);
    x = dync__chain_tt(c, DYNC__OP_mul, x, dync__chain_range(c, columns, f->device));
    x = dync__chain_ti(c, DYNC__OP_mul, dync__chain_ti(c, DYNC__OP_remainder, x, period), 4);
    dync__dt *y = dync__chain_ti(c, DYNC__OP_add, x, 3 * period); /* a quarter turn before */
    y = dync__chain_ti(c, DYNC__OP_remainder, y, 4 * period);
    return (dync__ft_pair){dync__ft_cosines(f, x, period, 1),
                           dync__ft_cosines(f, y, period, f->sign)};
}

/* ---- parts of the chain ---------------------------------------------------------------------- */
#define dync__ft_neg(f, x) dync__chain1((f)->c, DYNC__OP_neg, x)
#define dync__ft_add(f, a, b) dync__chain_tt((f)->c, DYNC__OP_add, a, b)
#define dync__ft_sub(f, a, b) dync__chain_tt((f)->c, DYNC__OP_sub, a, b)
#define dync__ft_mul(f, a, b) dync__chain_tt((f)->c, DYNC__OP_mul, a, b)
#define dync__ft_product(f, a, b) dync__chain_tt((f)->c, DYNC__OP_matmul, a, b)
static dync__dt *dync__ft_swap(const dync__ft *f, dync__dt *x, int a, int b)
{
    return dync__chain3(f->c, DYNC__OP_transpose, dync__arg_t(x), dync__arg_i(a), dync__arg_i(b));
}
static dync__dt *dync__ft_part(const dync__ft *f, dync__dt *x, int dim, int i)
{
    return dync__chain3(f->c, DYNC__OP_select, dync__arg_t(x), dync__arg_i(dim), dync__arg_i(i));
}
static dync__dt *dync__ft_cat(const dync__ft *f, dync__dt *a, dync__dt *b, int dim)
{
    dync__arg list[2] = {dync__arg_t(a), dync__arg_t(b)};
    return a && b ? dync__chain_cat(f->c, 2, list, dim) : NULL;
}
static dync__dt *dync__ft_stack(const dync__ft *f, dync__dt *a, dync__dt *b, int dim)
{
    dync__arg parts[2] = {dync__arg_t(a), dync__arg_t(b)},
              list = {.kind = DYNC__A_LIST, .n = 2, .as.list = parts};
    return a && b ? dync__chain2(f->c, DYNC__OP_stack, list, dync__arg_i(dim)) : NULL;
}
/* of up to four dims */
static dync__dt *dync__ft_shape(const dync__ft *f, dync__dt *x, int n, int64_t a, int64_t b,
                                int64_t c, int64_t d)
{
    int64_t shape[4] = {a, b, c, d};
    return dync__chain_shape(f->c, DYNC__OP_reshape, x, n, shape);
}
static dync__dt *dync__ft_reversed(const dync__ft *f, dync__dt *x)
{
    static const int64_t last = -1;
    return dync__chain_shape(f->c, DYNC__OP_flip, x, 1, &last);
}
/* x times t, each as complex numbers */
static dync__ft_pair dync__ft_times(const dync__ft *f, dync__ft_pair x, dync__ft_pair t)
{
    return (dync__ft_pair){
        dync__ft_sub(f, dync__ft_mul(f, x.re, t.re), dync__ft_mul(f, x.im, t.im)),
        dync__ft_add(f, dync__ft_mul(f, x.re, t.im), dync__ft_mul(f, x.im, t.re))};
}

/* ---- stages ---------------------------------------------------------------------------------- */
/* The largest divisor of n that is at most its root and no longer than a stage; 1: n is prime, or
 * short enough. */
static int64_t dync__ft_divisor(int64_t n)
{
    int64_t best = 1;
    for (int64_t d = 2; n > DYNC__FT_SHORT && d <= n / d; d++)
        if (n % d == 0 && (d <= DYNC__FT_STAGE || best == 1)) best = d;
    return best;
}

/* What a stage of n multiplies planes by: [C -S; S C], of real numbers [C; S]. */
static dync__dt *dync__ft_stage(const dync__ft *f, int64_t n, bool real)
{
    dync__ft_pair w = dync__ft_table(f, n, n, n);
    dync__dt *left = dync__ft_cat(f, w.re, w.im, 0);
    return real ? left : dync__ft_cat(f, left, dync__ft_cat(f, dync__ft_neg(f, w.im), w.re, 0), 1);
}

/* x [rows, 2, n], or [rows, n] of real numbers -> [rows, 2, n] */
static dync__dt *dync__ft_rows(const dync__ft *f, dync__dt *x, int64_t rows, int64_t n, bool real)
{
    int64_t n1 = dync__ft_divisor(n), n2 = n / n1, parts = real ? 1 : 2;
    if (n1 == 1) {
        x = dync__ft_shape(f, x, 2, rows, parts * n, 0, 0);
        x = dync__ft_product(f, x, dync__ft_swap(f, dync__ft_stage(f, n, real), 0, 1));
        return dync__ft_shape(f, x, 3, rows, 2, n, 0);
    }
    x = dync__ft_product(f, dync__ft_stage(f, n1, real),
                         dync__ft_shape(f, x, 3, rows, parts * n1, n2, 0));
    x = dync__ft_shape(f, x, 4, rows, 2, n1, n2); /* [rows, 2, c, b] */
    dync__ft_pair z = {dync__ft_part(f, x, 1, 0), dync__ft_part(f, x, 1, 1)};
    z = dync__ft_times(f, z, dync__ft_table(f, n1, n2, n));
    if (dync__ft_divisor(n2) > 1 && n2 > DYNC__FT_STAGE) {
        x = dync__ft_shape(f, dync__ft_stack(f, z.re, z.im, 2), 3, dync__sz_mul(rows, n1), 2, n2,
                           0); /* of each row and c */
        x = dync__ft_shape(f, dync__ft_rows(f, x, dync__sz_mul(rows, n1), n2, false), 4, rows, n1,
                           2, n2);
        x = dync__ft_swap(f, dync__ft_swap(f, x, 1, 2), 2, 3); /* [rows, 2, d, c] */
        return dync__ft_shape(f, x, 3, rows, 2, n, 0);
    }
    x = dync__ft_stack(f, dync__ft_swap(f, z.re, 1, 2), dync__ft_swap(f, z.im, 1, 2), 1);
    x = dync__ft_shape(f, x, 3, rows, 2 * n2, n1, 0); /* [rows, (2, b), c] */
    x = dync__ft_product(f, dync__ft_stage(f, n2, false), x);
    return dync__ft_shape(f, x, 3, rows, 2, n, 0);
}

/* Half a spectrum stands for its mirror image as well: how often each of its bins counts. */
static dync__dt *dync__ft_counts(const dync__ft *f, int64_t bins, int64_t n)
{
    dync__chain *c = f->c;
    int64_t shape[2] = {bins, 1};
    dync__dt *x = dync__chain_ti(c, DYNC__OP_remainder, dync__chain_range(c, bins, f->device),
                                 n % 2 ? n : DYNC__MAX(n / 2, 1));
    x = dync__chain_dtype(c, dync__chain_ti(c, DYNC__OP_eq, x, 0), f->dtype);
    x = dync__chain_tf(c, DYNC__OP_add, dync__ft_neg(f, x), 2);
    return dync__chain_shape(c, DYNC__OP_view, x, 2, shape);
}

/* One product. x [rows, in (, 2)] -> [rows, out (, 2)] */
static dync__dt *dync__ft_short(const dync__ft *f, dync__dt *x, int64_t rows, int64_t n,
                                dync__ft_kind k)
{
    int64_t bins = n / 2 + 1, in = k.half && k.back ? bins : n, out = k.half && !k.back ? bins : n;
    dync__ft_pair w = dync__ft_table(f, in, out, n);
    dync__dt *t = w.re; /* real to real there is none */
    if (k.half && k.back) {
        dync__dt *counts = dync__ft_counts(f, bins, n);
        t = dync__ft_stack(f, dync__ft_mul(f, w.re, counts),
                           dync__ft_neg(f, dync__ft_mul(f, w.im, counts)), 1);
    } else {
        t = dync__ft_stack(f, w.re, w.im, 2);
        if (k.pairs) t = dync__ft_stack(f, t, dync__ft_stack(f, dync__ft_neg(f, w.im), w.re, 2), 1);
    }
    if (k.back) t = dync__chain_tf(f->c, DYNC__OP_mul, t, 1 / (double)n);
    int64_t wide = k.half && k.back ? out : 2 * out;
    x = dync__ft_product(f, dync__ft_shape(f, x, 2, rows, k.pairs ? 2 * in : in, 0, 0),
                         dync__ft_shape(f, t, 2, k.pairs ? 2 * in : in, wide, 0, 0));
    return dync__ft_shape(f, x, k.half && k.back ? 2 : 3, rows, out, 2, 0);
}

/* ---- real numbers, as half as many complex ones ---------------------------------------------- */
/* Of planes [rows, 2, m + 1] whose end is their beginning, A = z[k] + conj(z[m - k]) and
 * B = z[k] - conj(z[m - k]). */
static void dync__ft_mirror(const dync__ft *f, dync__ft_pair z, dync__ft_pair *a, dync__ft_pair *b)
{
    dync__ft_pair r = {dync__ft_reversed(f, z.re), dync__ft_reversed(f, z.im)};
    *a = (dync__ft_pair){dync__ft_add(f, z.re, r.re), dync__ft_sub(f, z.im, r.im)};
    *b = (dync__ft_pair){dync__ft_sub(f, z.re, r.re), dync__ft_add(f, z.im, r.im)};
}
/* w(n)^k, k <= m, as [m + 1] */
static dync__ft_pair dync__ft_turn(const dync__ft *f, int64_t m)
{
    dync__ft_pair w = dync__ft_table(f, 2, m + 1, 2 * m);
    return (dync__ft_pair){dync__ft_part(f, w.re, 0, 1), dync__ft_part(f, w.im, 0, 1)};
}

/* x [rows, 2 m] -> [rows, m + 1, 2]: of z, X = (A - i w B) / 2 */
static dync__dt *dync__ft_real(const dync__ft *f, dync__dt *x, int64_t rows, int64_t m)
{
    dync__ft_pair z, a, b;
    x = dync__ft_swap(f, dync__ft_shape(f, x, 3, rows, m, 2, 0), 1, 2);
    x = dync__ft_rows(f, x, rows, m, false);
    x = dync__ft_cat(f, x, dync__chain_slice(f->c, x, 2, 0, 1), 2);
    z = (dync__ft_pair){dync__ft_part(f, x, 1, 0), dync__ft_part(f, x, 1, 1)};
    dync__ft_mirror(f, z, &a, &b);
    b = dync__ft_times(f, b, dync__ft_turn(f, m));
    a.re = dync__chain_tf(f->c, DYNC__OP_mul, dync__ft_add(f, a.re, b.im), 0.5);
    a.im = dync__chain_tf(f->c, DYNC__OP_mul, dync__ft_sub(f, a.im, b.re), 0.5);
    return dync__ft_stack(f, a.re, a.im, -1);
}

/* Back: x [rows, m + 1, 2] -> [rows, 2 m]; of X, z = (A + i w B) / (2 m), w by the sign. What is
 * imaginary in the first and last bin belongs to no real number. */
static dync__dt *dync__ft_real_back(const dync__ft *f, dync__dt *x, int64_t rows, int64_t m)
{
    dync__ft_pair z = {dync__ft_part(f, x, -1, 0), dync__ft_part(f, x, -1, 1)}, a, b;
    z.im = dync__dn_pad_dim(f->c, dync__chain_slice(f->c, z.im, 1, 1, m), 1, 1, 1);
    dync__ft_mirror(f, z, &a, &b);
    b = dync__ft_times(f, b, dync__ft_turn(f, m));
    x = dync__ft_stack(f, dync__ft_sub(f, a.re, b.im), dync__ft_add(f, a.im, b.re), 1);
    x = dync__ft_rows(f, dync__chain_slice(f->c, x, 2, 0, m), rows, m, false);
    x = dync__chain_tf(f->c, DYNC__OP_mul, dync__ft_swap(f, x, 1, 2), 0.5 / (double)m);
    return dync__ft_shape(f, x, 2, rows, 2 * m, 0, 0);
}

/* Back, of an odd number: bins from the middle on are those before it, conjugate and from the
 * end. */
static dync__dt *dync__ft_mirrored(const dync__ft *f, dync__dt *x, int64_t n)
{
    if (n < 3) return x;
    dync__dt *tail = dync__ft_reversed(f, dync__chain_slice(f->c, x, 2, 1, (n + 1) / 2));
    tail = dync__ft_stack(f, dync__ft_part(f, tail, 1, 0),
                          dync__ft_neg(f, dync__ft_part(f, tail, 1, 1)), 1);
    return dync__ft_cat(f, x, tail, 2);
}

/* ---- whole transforms ------------------------------------------------------------------------ */
DYNC__FN bool dync__ft_has_kernel(const dync__ft *f, int64_t n, dync__ft_kind k)
{
#if defined(DYNC_SMALL)
    return (void)f, (void)n, (void)k, false;
#else
    return !f->plain && dync__device_is(f->device, DYNC__DEV_HOST) &&
           n > (k.half ? 2 : 1) * DYNC__FT_FEW;
#endif
}
static dync__dt *dync__ft_by_kernel(const dync__ft *f, dync__dt *x, int64_t n, dync__ft_kind k)
{
    dync__arg args[6] = {dync__arg_t(x),       dync__arg_i(n),
                         dync__arg_b(k.pairs), dync__arg_b(k.back),
                         dync__arg_b(k.half),  dync__arg_f(k.back ? 1 / (double)n : 1)};
    dync__dt *y = NULL;
    if (x) dync__chain_call(f->c, DYNC__OP__fourier, 6, args, &y);
    return y;
}

DYNC__FN dync__dt *dync__ft_lines(const dync__ft *f, dync__dt *x, int64_t rows, int64_t n,
                                  dync__ft_kind k)
{
    if (dync__ft_has_kernel(f, n, k)) return dync__ft_by_kernel(f, x, n, k);
    if (n <= (k.half ? 2 : 1) * DYNC__FT_SHORT) return dync__ft_short(f, x, rows, n, k);
    if (k.half && n % 2 == 0)
        return k.back ? dync__ft_real_back(f, x, rows, n / 2) : dync__ft_real(f, x, rows, n / 2);
    if (k.pairs) x = dync__ft_swap(f, x, 1, 2);
    if (k.half && k.back) x = dync__ft_mirrored(f, x, n);
    x = dync__ft_rows(f, x, rows, n, !k.pairs);
    if (k.back) x = dync__chain_tf(f->c, DYNC__OP_mul, x, 1 / (double)n);
    if (k.half && k.back) return dync__ft_part(f, x, 1, 0);
    if (k.half) x = dync__chain_slice(f->c, x, 2, 0, n / 2 + 1);
    return dync__ft_stack(f, dync__ft_part(f, x, 1, 0), dync__ft_part(f, x, 1, 1), -1);
}

/* x with this dim cut or filled with zeros to the length. */
static dync__dt *dync__ft_fit(const dync__ft *f, dync__dt *x, int dim, int64_t length)
{
    int64_t n = x ? dync__sz_number(x->lay.shape[dim]) : 0;
    if (n > length) return dync__chain_slice(f->c, x, dim, 0, length);
    return dync__dn_pad_dim(f->c, x, dim, 0, length - n);
}

DYNC__FN dync__dt *dync__ft_transform(const dync__ft *f, dync__dt *x, int dim, int64_t length,
                                      dync__ft_kind k)
{
    int64_t rows = 1, shape[DYNC_MAX_DIMS + 1], bins = length / 2 + 1;
    if (!x) return NULL;
    int n = x->lay.ndim - k.pairs;
    bool real = k.half && k.back;
    x = dync__ft_fit(f, dync__ft_swap(f, x, dim, n - 1), n - 1, real ? bins : length);
    if (!x) return NULL;
    for (int i = 0; i < n - 1; i++) rows = dync__sz_mul(rows, shape[i] = x->lay.shape[i]);
    shape[n - 1] = k.half && !k.back ? bins : length;
    shape[n] = 2;
    int64_t in = real ? bins : length;
    x = dync__ft_shape(f, x, k.pairs ? 3 : 2, rows, in, 2, 0);
    x = dync__ft_lines(f, x, rows, length, k);
    x = dync__chain_shape(f->c, DYNC__OP_reshape, x, n + !real, shape);
    return dync__chain_formed(f->c, dync__ft_swap(f, x, dim, n - 1), NULL);
}

/* the longest stage */
static int64_t dync__ft_leaf(int64_t n)
{
    int64_t d = dync__ft_divisor(n), rest = n / d;
    return DYNC__MAX(d, d > 1 && rest > DYNC__FT_STAGE ? dync__ft_leaf(rest) : rest);
}
DYNC__FN dync_status dync__ft_length(int64_t n, bool plain)
{
    if (n < 1)
        return dync__fail(DYNC_ERR_VALUE, "Invalid number of data points (%lld) specified",
                          (long long)n);
    if (dync__ft_leaf(n) > (plain ? DYNC__FT_LONGEST : DYNC__FT_PADDED))
        return dync__fail(DYNC_ERR_UNSUPPORTED,
                          "a transform of %lld data points, which has too large a prime factor: "
                          "pad it",
                          (long long)n);
    return DYNC_OK;
}
