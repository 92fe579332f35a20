/* What programs ordinarily compute with two matrices [m, 6]: stencils three ways, solvers, routing
 * by sorting, attention, filters, rings of rows, writes through views, integers, losses. Every way
 * to compile gives plain code's values, dtypes, strides and gradients, for sizes in turn, other
 * strides than row major, with and without gradients, in f32 and f64. */
#include "dync.h"
#include "test.h"
#include "tol.h"

typedef dync_tensor *T;
typedef T (*program)(T, T);
static dync_dtype dtype;

static T item(dync_value list, int i) { return dync_as_tensor(dync_at(list, i)); }
static T total(T x) { return dync_sum(x, DYNC_ALL, false); }
static T number(T x) { return dync_to_dtype(x, dtype); }
static T count(int64_t n) { return number(dync_arange(0, (double)n, 1)); }

/* ---- stencils -------------------------------------------------------------------------------- */
static T by_rolls(T x, T y)
{
    T u = dync_mul(x, 1);
    for (int s = 0; s < 3; s++) {
        T rows = dync_add(dync_roll(u, dync_shape(1), dync_shape(0)),
                          dync_roll(u, dync_shape(-1), dync_shape(0))),
          columns = dync_add(dync_roll(u, dync_shape(1), dync_shape(1)),
                             dync_roll(u, dync_shape(-1), dync_shape(1))),
          curve = dync_sub(dync_add(rows, columns), dync_mul(u, 4));
        u = dync_add(u, dync_mul(curve, dync_mul(dync_sigmoid(y), 0.1)));
    }
    return u;
}
static T part(T u, int row, int column)
{
    T rows = dync_narrow(u, 0, row, dync_size(u, 0) - 2);
    return dync_narrow(rows, 1, column, dync_size(u, 1) - 2);
}
static T by_slices(T x, T y)
{
    T u = dync_pad(dync_mul(x, y), dync_shape(1, 1, 1, 1), DYNC_NONE);
    for (int s = 0; s < 3; s++) {
        T around = dync_add(dync_add(part(u, 0, 1), part(u, 2, 1)),
                            dync_add(part(u, 1, 0), part(u, 1, 2))),
          next = dync_clone(u);
        dync_add_(part(next, 1, 1), dync_mul(dync_sub(around, dync_mul(part(u, 1, 1), 4)), 0.1));
        u = next;
    }
    return u;
}
static T by_convolution(T x, T y)
{
    static const double taps[] = {0, 1, 0, 1, -4, 1, 0, 1, 0};
    T w = number(dync_constant(taps, dync_shape(1, 1, 3, 3), .dtype = DYNC_F64)),
      u = dync_reshape(x, dync_shape(1, 1, -1, 6));
    for (int s = 0; s < 2; s++) {
        T wide = dync_pad(u, dync_shape(1, 1, 1, 1), 0.5);
        wide = dync_conv2d(wide, w, NULL, dync_shape(1, 1), dync_shape(0, 0), dync_shape(1, 1), 1);
        u = dync_add(u, dync_mul(wide, 0.1));
    }
    return dync_add(dync_reshape(u, dync_shape(-1, 6)), y);
}

/* ---- solvers --------------------------------------------------------------------------------- */
static T conjugate_gradient(T x, T y)
{
    T a = dync_add(dync_matmul(dync_t(x), x), dync_eye(6, 6, dtype, DYNC_CPU)),
      b = dync_sum(y, dync_shape(0), false), z = dync_zeros_like(b), r = b, p = b,
      rr = total(dync_mul(r, r));
    for (int i = 0; i < 4; i++) {
        T ap = dync_matmul(a, p), step = dync_div(rr, dync_add(total(dync_mul(p, ap)), 1e-12));
        z = dync_add(z, dync_mul(step, p));
        r = dync_sub(r, dync_mul(step, ap));
        T next = total(dync_mul(r, r));
        p = dync_add(r, dync_mul(dync_div(next, dync_add(rr, 1e-12)), p));
        rr = next;
    }
    return z;
}
static T sinkhorn(T x, T y)
{
    T gap = dync_square(dync_sub(dync_unsqueeze(x, 1), dync_unsqueeze(y, 0))),
      c = dync_neg(dync_sum(gap, dync_shape(2), false));
    for (int i = 0; i < 3; i++) {
        c = dync_sub(c, dync_logsumexp(c, dync_shape(1), true));
        c = dync_sub(c, dync_logsumexp(c, dync_shape(0), true));
    }
    return dync_exp(c);
}
static T kalman(T x, T y)
{
    T mean = dync_mul(dync_select(x, 1, 0), 0), p = dync_add(mean, 1), out[6];
    for (int t = 0; t < 6; t++) {
        p = dync_add(p, dync_exp(dync_select(y, 1, t)));
        T gain = dync_div(p, dync_add(p, 0.5));
        mean = dync_add(mean, dync_mul(gain, dync_sub(dync_select(x, 1, t), mean)));
        p = dync_mul(dync_sub(1, gain), p);
        out[t] = mean;
    }
    return dync_stack(dync_tuple(out[0], out[1], out[2], out[3], out[4], out[5]), 1);
}
static T adam(T x, T y)
{
    T m = dync_zeros_like(x), v = dync_zeros_like(x), p = dync_detach(x);
    for (int t = 1; t < 4; t++) {
        T g = dync_mul(dync_sub(p, dync_detach(y)), 2);
        dync_mul_(m, 0.9);
        dync_add_(m, dync_mul(g, 0.1));
        dync_mul_(v, 0.99);
        dync_add_(v, dync_mul(dync_square(g), 0.01));
        T scale = dync_add(dync_sqrt(dync_div(v, 1 - pow(0.99, t))), 1e-8);
        p = dync_sub(p, dync_div(dync_mul(m, 0.1 / (1 - pow(0.9, t))), scale));
    }
    return dync_mul(p, x);
}

/* ---- layers ---------------------------------------------------------------------------------- */
static T experts_by_scatter(T x, T y)
{
    T gates = dync_matmul(x, dync_t(dync_narrow(dync_repeat(y, dync_shape(4, 1)), 0, 0, 4)));
    dync_value best = dync_topk(gates, 2, -1, true, true);
    T weight = dync_softmax(item(best, 0), -1), sum = NULL;
    weight = dync_scatter(dync_zeros_like(gates), 1, item(best, 1), weight);
    for (int e = 0; e < 4; e++) {
        T h = dync_mul(dync_tanh(dync_mul(x, e + 1.0)), dync_narrow(weight, 1, e, 1));
        sum = sum ? dync_add(sum, h) : h;
    }
    return sum;
}
static T experts_by_sorting(T x, T y)
{
    T gates = dync_matmul(x, dync_t(dync_narrow(dync_repeat(y, dync_shape(3, 1)), 0, 0, 3))),
      expert = dync_argmax(gates, -1, false), order = dync_argsort(expert, 0, false),
      scale = dync_add(number(dync_unsqueeze(dync_gather(expert, 0, order), 1)), 1),
      h = dync_sin(dync_mul(dync_index_select(x, 0, order), scale));
    return dync_index_add(dync_zeros_like(x), 0, order, h);
}
static T rotary(T x, T y)
{
    int64_t m = dync_size(x, 0);
    T angle = dync_mul(dync_unsqueeze(count(m), 1), dync_exp(dync_mul(count(3), -0.7))),
      c = dync_cos(angle), s = dync_sin(angle);
    dync_value halves = dync_chunk(x, 2, -1);
    T a = item(halves, 0), b = item(halves, 1),
      q = dync_cat(dync_tuple(dync_sub(dync_mul(a, c), dync_mul(b, s)),
                              dync_add(dync_mul(a, s), dync_mul(b, c))),
                   -1),
      mask = dync_tril(dync_ones(dync_shape(m, m), .dtype = DYNC_BOOL), 0);
    return dync_scaled_dot_product_attention(dync_unsqueeze(q, 0), dync_unsqueeze(y, 0),
                                             dync_unsqueeze(x, 0), mask, 0, false, DYNC_NONE);
}
static T einsum_attention(T x, T y)
{
    T q = dync_unflatten(x, 1, dync_shape(2, 3)), k = dync_unflatten(y, 1, dync_shape(2, 3)),
      a = dync_softmax(dync_einsum("ihd,jhd->hij", dync_tuple(q, k)), -1);
    return dync_reshape(dync_einsum("hij,jhd->ihd", dync_tuple(a, k)), dync_shape(-1, 6));
}
static T couplings(T x, T y)
{
    T u = x, sum = NULL, w = dync_narrow(dync_matmul(dync_t(y), y), 0, 0, 3);
    for (int l = 0; l < 3; l++) {
        dync_value h = dync_chunk(u, 2, -1);
        T a = item(h, l & 1), b = item(h, 1 - (l & 1)),
          s = dync_narrow(dync_tanh(dync_matmul(a, w)), 1, 0, 3), rows;
        b = dync_add(dync_mul(b, dync_exp(s)), a);
        u = dync_flip(dync_cat(dync_tuple(a, b), -1), dync_shape(1));
        rows = dync_sum(s, dync_shape(1), false);
        sum = sum ? dync_add(sum, rows) : rows;
    }
    return dync_sub(dync_mul(dync_sum(dync_square(u), dync_shape(1), false), -0.5), sum);
}
static T gated(T x, T y)
{
    T h = dync_zeros(dync_shape(dync_size(x, 0)), .dtype = dtype);
    for (int t = 0; t < 6; t++) {
        T z = dync_sigmoid(dync_add(dync_select(x, 1, t), h)),
          r = dync_sigmoid(dync_sub(dync_select(y, 1, t), h)),
          n = dync_tanh(dync_add(dync_mul(r, h), dync_select(x, 1, t)));
        h = dync_lerp(n, h, z);
    }
    return h;
}
static T by_frequencies(T x, T y)
{
    T f = dync_fft_rfft(x, DYNC_NONE, -1), k = dync_fft_rfft(dync_tanh(y), DYNC_NONE, -1),
      a = dync_select(f, -1, 0), b = dync_select(f, -1, 1), c = dync_select(k, -1, 0),
      d = dync_select(k, -1, 1), re = dync_sub(dync_mul(a, c), dync_mul(b, d)),
      im = dync_add(dync_mul(a, d), dync_mul(b, c));
    return dync_fft_irfft(dync_stack(dync_tuple(re, im), -1), 6, -1);
}

/* ---- writes ---------------------------------------------------------------------------------- */
static T ring(T x, T y)
{
    T rows = dync_zeros(dync_shape(4, 6), .dtype = dtype);
    for (int t = 0; t < 6; t++)
        dync_copy_(dync_select(rows, 0, t % 4), dync_select(x, 0, t % (int)dync_size(x, 0)));
    return dync_mul(dync_flip(rows, dync_shape(0)), dync_sum(y, dync_shape(0), true));
}
static T shifted(T x, T y)
{
    T rows = dync_mul(x, 1);
    for (int t = 0; t < 2; t++) {
        dync_copy_(rows, dync_roll(rows, dync_shape(1), dync_shape(0)));
        dync_copy_(dync_select(rows, 0, 0), dync_select(y, 0, 0));
        dync_mul_(rows, 1.25);
    }
    return rows;
}
static T under_a_view(T x, T y)
{
    T h = dync_mul(x, 2), wide = dync_expand(dync_unsqueeze(h, 0), dync_shape(3, -1, -1)),
      w = dync_reshape(count(3), dync_shape(3, 1, 1));
    dync_add_(h, y);
    dync_add_(dync_select(h, 1, 2), dync_select(y, 1, 1));
    return dync_sum(dync_mul(wide, w), dync_shape(0), false);
}
static T masked(T x, T y)
{
    T h = dync_mul(x, 1.5), m = dync_gt(y, 0);
    dync_masked_fill_(h, m, -1.0);
    m = dync_logical_and(dync_logical_not(m), dync_lt(h, 0.5));
    return dync_add(dync_where(m, dync_exp(h), y), h);
}

/* ---- order, integers, losses ----------------------------------------------------------------- */
static T sorted(T x, T y)
{
    dync_value s = dync_sort(x, -1, true);
    T sums = dync_relu(dync_sub(dync_cumsum(item(s, 0), 1), 1)),
      z = dync_scatter_add(dync_mul(x, 0.5), 1, dync_argsort(y, 1, true), y);
    return dync_add(dync_mul(sums, dync_take_along_dim(y, item(s, 1), 1)), z);
}
static T hardest(T x, T y)
{
    T l = dync_square(dync_sub(x, y));
    dync_value best = dync_topk(dync_reshape(l, dync_shape(-1)), dync_numel(l) / 2, 0, true, true);
    return dync_add(total(item(best, 0)), dync_cross_entropy(x, dync_argmax(y, 1, false)));
}
static T integers(T x, T y)
{
    T i = dync_to_dtype(dync_mul(x, 7), DYNC_I32), j = dync_to_dtype(dync_mul(y, 5), DYNC_I64),
      k = dync_bitwise_xor(dync_bitwise_and(i, 5), dync_to_dtype(j, DYNC_I32)),
      q = dync_floor_divide(j, dync_add(dync_abs(dync_to_dtype(i, DYNC_I64)), 1)),
      b = dync_to_dtype(dync_clamp(dync_mul(dync_sigmoid(x), 255), 0, 255), DYNC_U8);
    b = dync_gt(dync_add(b, 200), 100); /* wraps */
    return dync_mul(dync_add(number(dync_add(dync_remainder(k, 3), q)), b), x);
}
static T mixed(T x, T y)
{
    T h = dync_to_dtype(x, DYNC_BF16), g = dync_to_dtype(y, DYNC_F16);
    return dync_mul(dync_mul(number(h), 2), number(dync_add(dync_to_dtype(g, DYNC_F32), 1)));
}

/* ---- judged ---------------------------------------------------------------------------------- */
typedef struct drawn {
    T x, y;
} drawn;
/* The same tensors for the same seed; kind 1: x by columns, 2: y within wider rows. */
static drawn draw(int m, int kind, bool grad)
{
    dync_manual_seed(m * 7 + kind);
    drawn d = {dync_randn(dync_shape(m, 6), .dtype = dtype),
               dync_randn(dync_shape(m, 6), .dtype = dtype)};
    if (kind == 1) d.x = dync_t(dync_contiguous(dync_t(d.x)));
    if (kind == 2) d.y = dync_narrow(dync_cat(dync_tuple(d.y, d.x, d.y), 1), 1, 2, 6);
    d.x = dync_requires_grad_(dync_detach(d.x), grad);
    d.y = dync_requires_grad_(dync_detach(d.y), grad);
    return d;
}
static void expect_same(T got, T want, double tol)
{
    EXPECT((got != NULL) == (want != NULL));
    if (!got || !want) return;
    EXPECT_EQ_INT(dync_type(got), dync_type(want));
    EXPECT(dync_allclose(got, want, tol, tol));
    for (int d = 0; d < dync_ndim(want); d++)
        EXPECT_EQ_INT(dync_stride(got, d), dync_stride(want, d));
}
static void one_call(program fn, dync_compiled *f, int m, int kind, bool grad, double tol)
{
    drawn a = draw(m, kind, grad), b = draw(m, kind, grad);
    T want = fn(a.x, a.y), got = dync_call(f, b.x, b.y);
    expect_same(got, want, tol);
    if (!want || !got || !dync_requires_grad(want)) return;
    EXPECT_OK(dync_backward(total(dync_mul(want, dync_cos(dync_detach(want))))));
    EXPECT_OK(dync_backward(total(dync_mul(got, dync_cos(dync_detach(want))))));
    expect_same(dync_grad(b.x), dync_grad(a.x), 10 * tol);
    expect_same(dync_grad(b.y), dync_grad(a.y), 10 * tol);
}
static void all_ways(dync_dtype of, double tol)
{
    static const program fns[] = {by_rolls,
                                  by_slices,
                                  by_convolution,
                                  conjugate_gradient,
                                  sinkhorn,
                                  kalman,
                                  adam,
                                  experts_by_scatter,
                                  experts_by_sorting,
                                  rotary,
                                  einsum_attention,
                                  couplings,
                                  gated,
                                  by_frequencies,
                                  ring,
                                  shifted,
                                  under_a_view,
                                  masked,
                                  sorted,
                                  hardest,
                                  integers,
                                  mixed};
    static const struct {
        int m, kind;
        bool grad;
    } call[] = {{3, 0, true}, {3, 0, true}, {5, 0, true},  {5, 1, true},
                {7, 2, true}, {1, 0, true}, {4, 0, false}, {16, 0, true}};
    const dync_compile_options ways[] = {{.fullgraph = true},
                                         {.dynamic = DYNC_DYNAMIC_ON},
                                         {.dynamic = DYNC_DYNAMIC_OFF, .recompile_limit = 16},
                                         {.backend = "aot_eager"},
                                         {.backend = "eager"}};
    dtype = of;
    for (int k = 0; k < (int)(sizeof fns / sizeof *fns); k++)
        for (int w = 0; w < (int)(sizeof ways / sizeof *ways); w++) {
            dync_compiled *f = dync_compile_opt(DYNC_FN(fns[k]), "ordinary", ways[w]);
            for (int i = 0; i < (int)(sizeof call / sizeof *call); i++) DYNC_SCOPE {
                one_call(fns[k], f, call[i].m, call[i].kind, call[i].grad, tol);
            }
            dync_compiled_free(f);
        }
}
TEST(f64_in_every_way) { all_ways(DYNC_F64, TOL_F64_CHAIN * 100); }
TEST(f32_in_every_way) { all_ways(DYNC_F32, TOL_F32_MODEL); }
TEST_MAIN
