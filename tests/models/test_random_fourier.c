/* Random programs of Fourier transforms that meet: in themselves, their inverses, each other's
 * products, siblings of the same rows, along either dim, behind views, with several users. Programs
 * of two arguments are of f32, of three of f64: a number widened on the way, or rounded to 16 bits,
 * would be compared closer than it is known. Results stay near 1, as a transform errs by what is
 * largest. Compiled they must do what they do eagerly, forward and in training, on each level of
 * machine code; with every decomposition written out they are products of matrices, the plain form
 * beside the kernel. A failing program is shrunk and printed with its seed. */
#include <math.h>
#include <stdint.h>
static const int64_t sizes[][2] = {{4, 6},   {1, 64},  {3, 67},  {9, 81},  {16, 128},
                                   {20, 35}, {17, 1},  {5, 361}, {33, 48}, {40, 96},
                                   {2, 134}, {19, 50}, {8, 210}, {3, 512}};
#include "random_forms.h"
#include "passes.h"

/* What transforms take: rows or columns, as they lie or by a view. */
static dync_tensor *turned(const pool *q, dync_tensor *t, int dim)
{
    t = full(q, t);
    if (rnd(4) == 0) t = dync_flip(t, dync_shape(rnd(DIMS)));
    return dim ? t : dync_transpose(t, 0, 1);
}
/* to the shape of values, bounded */
static dync_tensor *back(dync_tensor *t, int dim, int64_t n)
{
    t = dync_tanh(dync_mul(t, 1 / sqrt((double)n)));
    return dim ? t : dync_transpose(t, 0, 1);
}
static dync_tensor *complex_product(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *a = dync_select(x, -1, 0), *b = dync_select(x, -1, 1), *c = dync_select(y, -1, 0),
                *d = dync_select(y, -1, 1);
    return dync_stack(dync_tuple(dync_sub(dync_mul(a, c), dync_mul(b, d)),
                                 dync_add(dync_mul(a, d), dync_mul(b, c))),
                      -1);
}

/* Rows convolved with each other, or with themselves. */
static dync_tensor *convolved(const pool *q, dync_tensor *a, dync_tensor *b)
{
    int dim = rnd(DIMS);
    int64_t n = sizes[q->p->shape][dim];
    dync_tensor *x = dync_fft_rfft(turned(q, a, dim), DYNC_NONE, -1),
                *y = rnd(2) ? dync_fft_rfft(turned(q, b, dim), DYNC_NONE, -1) : x;
    return back(dync_fft_irfft(complex_product(x, y), n, -1), dim, n);
}
/* Of pairs: forward, back, or one after the other with something between; a part of it. */
static dync_tensor *of_pairs(const pool *q, dync_tensor *a, dync_tensor *b)
{
    int dim = rnd(DIMS), which = rnd(4);
    int64_t n = sizes[q->p->shape][dim];
    dync_tensor *x = dync_stack(dync_tuple(turned(q, a, dim), turned(q, b, dim)), -1);
    dync_tensor *y = which == 1 ? dync_mul(dync_fft_ifft(x, DYNC_NONE, 1), (double)n)
                                : dync_fft_fft(x, DYNC_NONE, 1);
    if (which > 1) y = dync_add(dync_fft_ifft(dync_mul(y, sqrt((double)n)), DYNC_NONE, 1), y);
    y = rnd(3) ? dync_select(y, -1, rnd(2)) : dync_sum(y, dync_shape(-1), false);
    return back(y, dim, n);
}
/* A spectrum with two users, one of which transforms it back; cut and filled with zeros. */
static dync_tensor *filtered(const pool *q, dync_tensor *a)
{
    int dim = rnd(DIMS);
    int64_t n = sizes[q->p->shape][dim], m = n + rnd(5);
    dync_tensor *x = dync_fft_rfft(turned(q, a, dim), m, -1);
    dync_tensor *power = dync_mean(dync_mul(x, x), dync_shape(1, 2), true),
                *y = dync_fft_irfft(dync_div(x, dync_add(dync_sqrt(dync_add(power, 1)), 1)), m, -1);
    y = dync_tanh(dync_slice(y, 1, 0, n, 1));
    return dim ? y : dync_transpose(y, 0, 1);
}

static dync_tensor *apply(const pool *q, const ins *i)
{
    dync_dtype dtype = q->p->n_args == 3 ? DYNC_F64 : DYNC_F32;
    dync_tensor *a = dync_to_dtype(q->v[i->a], dtype), *b = dync_to_dtype(q->v[i->b], dtype);
    state = i->seed;
    switch (i->op) {
    case 0:
    case 1: return convolved(q, a, b);
    case 2:
    case 3: return of_pairs(q, a, b);
    case 4: return filtered(q, a);
    case 5: return dync_add(convolved(q, a, b), of_pairs(q, b, a));
    case 6: return convolved(q, dync_sub(a, b), a);
    case 7: return dync_tanh(a);
    case 8: return dync_sub(filtered(q, a), filtered(q, rnd(2) ? a : b));
    case RANDOM: return dync_dropout(a, 0.5, true);
    case 10: return dync_transpose(dync_contiguous(dync_transpose(full(q, a), 0, 1)), 0, 1);
    case 11: return dync_mul(dync_softmax(full(q, a), rnd(DIMS)), convolved(q, a, b));
    case PASS: return a;
    default: return rnd(2) ? dync_add(a, b) : dync_tanh(dync_mul(a, b));
    }
}

TEST(avx512) { many("avx512", NULL, 100); }
TEST(avx2) { many("avx2", NULL, 100); }
TEST(no_machine_code) { many("none", NULL, 60); }
TEST(no_fuse) { many(NULL, "no_fuse", 60); }
TEST(products_of_matrices) { many("avx2", "decompositions=all", 100); }
TEST(products_without_machine_code) { many("none", "decompositions=all", 60); }

/* The batch is a symbol, the length a number. */
static dync_tensor *whitened(dync_tensor *x)
{
    dync_tensor *s = dync_fft_rfft(x, DYNC_NONE, 1);
    return dync_add(dync_fft_irfft(dync_mul(s, s), 54, 1), dync_fft_irfft(s, 54, 1));
}
TEST(symbolic_batch)
{
    dync_compiled *f = dync_compile(whitened, .args = "x", .dynamic = DYNC_DYNAMIC_ON);
    for (int n = 2; n < 40; n += 5) DYNC_SCOPE {
        dync_tensor *x = dync_randn(dync_shape(n, 54)), *y = dync_clone(x);
        if (n % 2) dync_requires_grad_(x, true), dync_requires_grad_(y, true);
        dync_tensor *want = whitened(y), *got = dync_call(f, x);
        EXPECT(same(got, want, 1e-4));
        if (n % 2 == 0) continue;
        dync_backward(dync_sum(dync_mul(want, want), DYNC_ALL, false));
        dync_backward(dync_sum(dync_mul(got, got), DYNC_ALL, false));
        EXPECT(same(dync_grad(x), dync_grad(y), 1e-2));
    }
    EXPECT(dync_compiled_info(f).entries <= 2);
    dync_compiled_free(f);
}

static void some(void) { many(NULL, NULL, 6); }
TEST(without_each_pass) { without_each_pass(some); }

TEST_MAIN
