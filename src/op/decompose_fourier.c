/* op/decompose_fourier.c: Fourier transforms as products with small tables: fft_fft, fft_ifft,
 * fft_rfft, fft_irfft and stft. Before decompose_region.c.
 *
 *   X[k] = sum over j of x[j] w(n)^(j k),  w(n) = exp(-2 pi i / n);  back with + and 1 / n
 *
 * A complex number is a last dim of size 2 (real, imaginary). A length n = n1 n2 is done in two
 * stages (Gentleman & Sande 1966; "four steps" in Bailey 1990), which takes n (n1 + n2)
 * multiplications instead of n^2:
 *
 *   j = a n2 + b, k = c + d n1:
 *   X[c + d n1] = sum_b w(n2)^(b d) w(n)^(b c) sum_a w(n1)^(a c) x[a n2 + b]
 *
 * A prime length has one stage, with a table of n^2. Angles are reduced by whole numbers first and
 * computed in f64. */
#include "../dync.in.h"
#include "chain.h"
DYNC__COLD

enum { DYNC__FT_SHORT = 32, DYNC__FT_LONGEST = 1 << 13 };
/* A transform: the chain it is part of, and its sign, which is -1 forwards. */
typedef struct dync__ft {
    dync__chain *c;
    int device, dtype;
    double sign;
} dync__ft;
/* real and imaginary parts; im NULL: all real */
typedef struct dync__ft_pair {
    dync__dt *re, *im;
} dync__ft_pair;

/* w(period)^(row * column) of [rows, columns] */
static dync__ft_pair dync__ft_table(const dync__ft *f, int64_t rows, int64_t columns,
                                    int64_t period)
{
    dync__chain *c = f->c;
    const double turn = 6.28318530717958647693;
    int64_t shape[2] = {rows, 1};
    dync__dt *x =
        dync__chain_shape(c, DYNC__OP_view, dync__chain_range(c, rows, f->device), 2, shape);
    x = dync__chain_tt(c, DYNC__OP_mul, x, dync__chain_range(c, columns, f->device));
    x = dync__chain_dtype(c, dync__chain_ti(c, DYNC__OP_remainder, x, period), DYNC__REAL);
    x = dync__chain_tf(c, DYNC__OP_mul, x, f->sign * turn / (double)period);
    return (dync__ft_pair){dync__chain_dtype(c, dync__chain1(c, DYNC__OP_cos, x), f->dtype),
                           dync__chain_dtype(c, dync__chain1(c, DYNC__OP_sin, x), f->dtype)};
}

/* a times b, element by element or as matrices; b has both parts:
 *   re re - im im,  re im + im re */
static dync__ft_pair dync__ft_times(const dync__ft *f, dync__ft_pair a, dync__ft_pair b,
                                    bool matrices)
{
    dync__chain *c = f->c;
    int op = matrices ? DYNC__USED(DYNC__OP_matmul) : DYNC__USED(DYNC__OP_mul);
    dync__ft_pair y = {(dync__chain_tt)(c, op, a.re, b.re), (dync__chain_tt)(c, op, a.re, b.im)};
    if (!a.im) return y;
    y.re = dync__chain_tt(c, DYNC__OP_sub, y.re, (dync__chain_tt)(c, op, a.im, b.im));
    y.im = dync__chain_tt(c, DYNC__OP_add, y.im, (dync__chain_tt)(c, op, a.im, b.re));
    return y;
}

static dync__ft_pair dync__ft_each(const dync__ft *f, dync__ft_pair x, int n, const int64_t *shape)
{
    if (x.re) x.re = dync__chain_shape(f->c, DYNC__OP_reshape, x.re, n, shape);
    if (x.im) x.im = dync__chain_shape(f->c, DYNC__OP_reshape, x.im, n, shape);
    return x;
}
static dync__ft_pair dync__ft_swapped(const dync__ft *f, dync__ft_pair x, int a, int b)
{
    if (x.re)
        x.re = dync__chain3(f->c, DYNC__OP_transpose, dync__arg_t(x.re), dync__arg_i(a),
                            dync__arg_i(b));
    if (x.im)
        x.im = dync__chain3(f->c, DYNC__OP_transpose, dync__arg_t(x.im), dync__arg_i(a),
                            dync__arg_i(b));
    return x;
}

/* The largest divisor of n that is at most its root; 1: n is prime, or short enough. */
static int64_t dync__ft_divisor(int64_t n)
{
    int64_t best = 1;
    for (int64_t d = 2; n > DYNC__FT_SHORT && d <= n / d; d++)
        if (n % d == 0) best = d;
    return best;
}

/* x [rows, n] -> [rows, n] */
static dync__ft_pair dync__ft_rows(const dync__ft *f, dync__ft_pair x, int64_t rows, int64_t n)
{
    int64_t n1 = dync__ft_divisor(n), n2 = n / n1, split[3] = {rows, n1, n2}, flat[2] = {rows, n};
    if (n1 == 1) {
        dync__ft_pair whole = dync__ft_table(f, n, n, n);
        return dync__ft_times(f, x, whole, true);
    }
    x = dync__ft_swapped(f, dync__ft_each(f, x, 3, split), 1, 2); /* [rows, b, a] */
    dync__ft_pair first = dync__ft_table(f, n1, n1, n1), turn = dync__ft_table(f, n2, n1, n),
                  second = dync__ft_table(f, n2, n2, n2);
    x = dync__ft_times(f, x, first, true); /* [rows, b, c] */
    x = dync__ft_swapped(f, dync__ft_times(f, x, turn, false), 1, 2);
    x = dync__ft_times(f, x, second, true); /* [rows, c, d] */
    return dync__ft_each(f, dync__ft_swapped(f, x, 1, 2), 2, flat);
}

/* x [.., n] with its last dim cut or filled with zeros to the length. */
static dync__dt *dync__ft_fit(dync__chain *c, dync__dt *x, int64_t length)
{
    if (!x) return NULL;
    int dim = x->lay.ndim - 1;
    int64_t n = x->lay.shape[dim];
    if (n > length) return dync__chain_slice(c, x, dim, 0, length);
    return dync__dn_pad_dim(c, x, dim, 0, length - n);
}

/* The bins from the middle on are those before it, conjugate and from the end: of n bins the n / 2
 * + 1 first are given. */
static dync__ft_pair dync__ft_mirrored(const dync__ft *f, dync__ft_pair x, int64_t n)
{
    static const int64_t last = -1;
    dync__dt **part[2] = {&x.re, &x.im};
    if (n < 3) return x;
    for (int i = 0; i < 2; i++) {
        dync__dt *tail = dync__chain_slice(f->c, *part[i], -1, 1, (n + 1) / 2);
        tail = dync__chain_shape(f->c, DYNC__OP_flip, tail, 1, &last);
        if (i) tail = dync__chain1(f->c, DYNC__OP_neg, tail);
        dync__arg list[2] = {dync__arg_t(*part[i]), dync__arg_t(tail)};
        *part[i] = dync__chain_cat(f->c, 2, list, -1);
    }
    return x;
}

/* Which transform: of pairs or of real numbers, back or not, of half a spectrum (whose other half
 * is its mirror image). */
typedef struct dync__ft_kind {
    bool pairs, back, half;
} dync__ft_kind;

/* The transform of x along its logical dim `dim` (the dim of pairs does not count), which is cut
 * or padded: to `length` numbers, of half a spectrum back to length / 2 + 1. */
static dync__dt *dync__ft_transform(const dync__ft *f, dync__dt *x, int dim, int64_t length,
                                    dync__ft_kind k)
{
    dync__chain *c = f->c;
    dync__ft_pair p = {x, NULL};
    int64_t rows = 1, bins = k.half && !k.back ? length / 2 + 1 : length, shape[DYNC_MAX_DIMS];
    for (int i = 0; k.pairs && i < 2; i++)
        *(i ? &p.im : &p.re) =
            dync__chain3(c, DYNC__OP_select, dync__arg_t(x), dync__arg_i(-1), dync__arg_i(i));
    if (!p.re) return NULL;
    int n = p.re->lay.ndim;
    p = dync__ft_swapped(f, p, dim, n - 1);
    p.re = dync__ft_fit(c, p.re, k.half && k.back ? length / 2 + 1 : length);
    p.im = dync__ft_fit(c, p.im, k.half && k.back ? length / 2 + 1 : length);
    if (k.half && k.back) p = dync__ft_mirrored(f, p, length);
    if (!p.re) return NULL;
    for (int i = 0; i < n - 1; i++) rows = dync__sz_mul(rows, shape[i] = p.re->lay.shape[i]);
    shape[n - 1] = bins;
    int64_t flat[2] = {rows, length};
    p = dync__ft_rows(f, dync__ft_each(f, p, 2, flat), rows, length);
    if (bins < length) p.re = dync__ft_fit(c, p.re, bins), p.im = dync__ft_fit(c, p.im, bins);
    if (k.half && k.back) p.im = NULL;
    p = dync__ft_swapped(f, dync__ft_each(f, p, n, shape), dim, n - 1);
    if (k.back) p.re = dync__chain_tf(c, DYNC__OP_mul, p.re, 1 / (double)length);
    if (!p.im) return k.half && k.back ? p.re : NULL;
    if (k.back) p.im = dync__chain_tf(c, DYNC__OP_mul, p.im, 1 / (double)length);
    dync__arg parts[2] = {dync__arg_t(p.re), dync__arg_t(p.im)},
              list = {.kind = DYNC__A_LIST, .n = 2, .as.list = parts};
    return dync__chain2(c, DYNC__OP_stack, list, dync__arg_i(-1));
}

static dync_status dync__ft_length(int64_t n)
{
    if (n < 1)
        return dync__fail(DYNC_ERR_VALUE, "Invalid number of data points (%lld) specified",
                          (long long)n);
    if (n / dync__ft_divisor(n) > DYNC__FT_LONGEST)
        return dync__fail(DYNC_ERR_UNSUPPORTED,
                          "a transform of %lld data points, which has a prime factor that needs a "
                          "table of more than 2^26 numbers: pad it",
                          (long long)n);
    return DYNC_OK;
}

/* Arguments (x, n, dim). */
static dync_status dync__ft_call(dync__opcall *call, dync__ft_kind k)
{
    dync__chain c = {0};
    dync__dt *x;
    int dim;
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__infer_floating(x));
    int n = x->lay.ndim - k.pairs;
    if (k.pairs && (n < 0 || !dync__sz_eq(x->lay.shape[n], 2)))
        return dync__fail(DYNC_ERR_SHAPE, "expected pairs of real and imaginary parts: a last dim "
                                          "of size 2");
    if (n < 1 || (!k.pairs && n == DYNC_MAX_DIMS))
        return dync__fail(DYNC_ERR_SHAPE, "expected a tensor of one to %d dims", DYNC_MAX_DIMS - 1);
    DYNC__TRY(dync__dn_dim(call, 2, n, &dim));
    bool back = k.half && k.back;
    int64_t given = dync__sz_number(x->lay.shape[dim]), length = back ? 2 * (given - 1) : given;
    if (dync__arg_is_number(&call->args[1])) {
        length = call->args[1].kind == DYNC__A_INT ? dync__sz_number(call->args[1].as.i)
                                                   : INT64_MAX;
        if (length > INT32_MAX)
            return dync__fail(DYNC_ERR_VALUE, "expected n to be an integer of 32 bits");
    }
    DYNC__TRY(dync__ft_length(length));
    dync__ft f = {&c, x->device, x->dtype == DYNC_F64 ? DYNC_F64 : DYNC_F32, k.back ? 1 : -1};
    dync__dt *y = dync__ft_transform(&f, dync__chain_wide(&c, x), dim, length, k);
    return dync__chain_end(&c, call, dync__chain_dtype(&c, y, x->dtype));
}
DYNC__FN dync_status dync__d_fft_fft(dync__opcall *call)
{
    return dync__ft_call(call, (dync__ft_kind){.pairs = true});
}
DYNC__FN dync_status dync__d_fft_ifft(dync__opcall *call)
{
    return dync__ft_call(call, (dync__ft_kind){.pairs = true, .back = true});
}
DYNC__FN dync_status dync__d_fft_rfft(dync__opcall *call)
{
    return dync__ft_call(call, (dync__ft_kind){.half = true});
}
DYNC__FN dync_status dync__d_fft_irfft(dync__opcall *call)
{
    return dync__ft_call(call, (dync__ft_kind){.pairs = true, .back = true, .half = true});
}

/* Arguments (x [B, L] or [L], n_fft, hop_length, window, onesided): a transform of every frame of
 * n_fft numbers, one each hop_length: [B, bins, frames, 2]. A shorter window stands in the middle
 * of zeros. */
DYNC__FN dync_status dync__d_stft(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *x, *window = dync__dt_arg(call, 3);
    int64_t length = call->args[1].as.i, hop = call->args[2].as.i;
    DYNC__TRY(dync__dt_self(call, &x));
    DYNC__TRY(dync__infer_floating(x));
    int n = x->lay.ndim, dtype = x->dtype;
    if (n != 1 && n != 2)
        return dync__fail(DYNC_ERR_SHAPE, "expected a 1D or 2D tensor, but got %dD", n);
    if (length < 1 || dync__sz_lt(x->lay.shape[n - 1], length))
        return dync__fail(DYNC_ERR_VALUE, "expected 0 < n_fft <= %lld, but got n_fft=%lld",
                          (long long)x->lay.shape[n - 1], (long long)length);
    if (hop < 1)
        return dync__fail(DYNC_ERR_VALUE, "expected hop_length > 0, but got hop_length=%lld",
                          (long long)hop);
    int64_t width = window ? dync__sz_number(window->lay.shape[0]) : length;
    if (window && (window->lay.ndim != 1 || width > length || width < 1))
        return dync__fail(DYNC_ERR_SHAPE, "expected a 1D window tensor of at most n_fft");
    DYNC__TRY(dync__ft_length(length));
    dync__ft f = {&c, x->device, dtype == DYNC_F64 ? DYNC_F64 : DYNC_F32, -1};
    dync__arg args[4] = {dync__arg_t(dync__chain_wide(&c, x)), dync__arg_i(-1), dync__arg_i(length),
                         dync__arg_i(hop)};
    dync__chain_call(&c, DYNC__OP_unfold, 4, args, &x); /* [B, frames, n_fft] */
    if (window) {
        window = dync__chain_dtype(&c, window, f.dtype);
        window = dync__dn_pad_dim(&c, window, 0, (length - width) / 2,
                                  length - width - (length - width) / 2);
        x = dync__chain_tt(&c, DYNC__OP_mul, x, window);
    }
    x = x ? dync__ft_transform(&f, x, n, length, (dync__ft_kind){.half = call->args[4].as.i != 0})
          : NULL;
    x = dync__chain3(&c, DYNC__OP_transpose, dync__arg_t(x), dync__arg_i(n - 1), dync__arg_i(n));
    return dync__chain_end(&c, call, dync__chain_dtype(&c, x, dtype));
}
