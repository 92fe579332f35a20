/* Matrix products on a GPU as a user meets them: what follows a product is done by its kernel, in
 * one launch, with the numbers of the CPU. */
#include "dync.h"
#include "dync_cuda.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))
#include "test.h"
#include "../cuda_emulator/emulator.h"

static dync_tensor *gpu(dync_tensor *x) { return dync_to_device(x, DYNC_CUDA); }
static dync_tensor *random_of(int dtype, int64_t rows, int64_t columns)
{
    return dync_to_dtype(dync_mul(dync_randn(dync_shape(rows, columns)), 0.25), dtype);
}

static dync_tensor *mlp(dync_tensor *x, dync_tensor *w, dync_tensor *bias, dync_tensor *residual)
{
    return dync_add(dync_gelu(dync_linear(x, w, bias)), residual);
}
static dync_tensor *scaled(dync_tensor *x, dync_tensor *w, dync_tensor *bias, dync_tensor *residual)
{
    (void)bias;
    return dync_relu(dync_sub(dync_mul(dync_matmul(x, dync_transpose(w, 0, 1)), 0.5),
                              dync_slice(residual, 0, 0, 1, 1)));
}
static dync_tensor *cast_away(dync_tensor *x, dync_tensor *w, dync_tensor *bias,
                              dync_tensor *residual)
{
    (void)residual;
    return dync_to_dtype(dync_tanh(dync_linear(x, w, bias)), DYNC_F32);
}
/* The product itself is wanted too, and a view of it is what the rest works on. */
static dync_tensor *both(dync_tensor *x, dync_tensor *w, dync_tensor *bias, dync_tensor *residual)
{
    dync_tensor *y = dync_linear(x, w, bias), *z = dync_sigmoid(y);
    return dync_add(dync_add(z, residual), dync_sum(dync_mul(y, y), dync_shape(1), true));
}
/* Heads: the result's rows are cut by a view before anything is done to them. */
static dync_tensor *heads(dync_tensor *x, dync_tensor *w, dync_tensor *bias, dync_tensor *residual)
{
    (void)residual;
    dync_tensor *y = dync_reshape(dync_linear(x, w, bias), dync_shape(-1, 4, 16));
    return dync_contiguous(dync_permute(dync_mul(y, 2), dync_shape(1, 0, 2)));
}

/* A number in main memory, a predicate, and integers as results. */
static dync_tensor *number(dync_tensor *x, dync_tensor *w, dync_tensor *bias, dync_tensor *residual)
{
    (void)residual;
    return dync_mul(dync_linear(x, w, bias),
                    dync_sum(dync_full(dync_shape(3), 0.5), DYNC_ALL, false));
}
static dync_tensor *predicate(dync_tensor *x, dync_tensor *w, dync_tensor *bias,
                              dync_tensor *residual)
{
    dync_tensor *y = dync_linear(x, w, bias);
    return dync_to_dtype(dync_logical_and(dync_gt(y, -0.5), dync_lt(residual, 1)), DYNC_I64);
}

typedef dync_tensor *(*function)(dync_tensor *, dync_tensor *, dync_tensor *, dync_tensor *);
static int64_t launches_of(function f, int dtype, int64_t m, int64_t k, double tol)
{
    dync_tensor *x = random_of(dtype, m, k), *w = random_of(dtype, 64, k),
                *bias = random_of(dtype, 1, 64), *r = random_of(dtype, m, 64);
    bias = dync_reshape(bias, dync_shape(64));
    dync_compiled *c = dync_compile(f, .args = "x, w, bias, r");
    dync_tensor *want = f(x, w, bias, r), *a[4] = {gpu(x), gpu(w), gpu(bias), gpu(r)};
    EXPECT(dync_allclose(f(a[0], a[1], a[2], a[3]), want, tol, tol)); /* eager */
    int64_t launches = 0;
    for (int i = 0; i < 2; i++) {
        dync_cuda_counters before = dync_cuda_get_counters();
        dync_tensor *got = dync_call(c, a[0], a[1], a[2], a[3]);
        launches = dync_cuda_get_counters().launches - before.launches;
        if (!EXPECT(got && dync_allclose(got, want, tol, tol)))
            printf("  dtype %d m %lld k %lld: %s\n", dtype, (long long)m, (long long)k,
                   cuemu_detail());
    }
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_compiled_free(c);
    return launches;
}

TEST(what_follows_is_done_by_the_product)
{
    static const int dtypes[] = {DYNC_F32, DYNC_BF16, DYNC_F16, DYNC_F64};
    for (int t = 0; t < 4; t++) DYNC_SCOPE {
        double tol = dtypes[t] == DYNC_BF16 ? 3e-2 : dtypes[t] == DYNC_F16 ? 4e-3 : 2e-5;
        for (int odd = 0; odd < 2; odd++) {
            int64_t m = odd ? 37 : 64, k = odd ? 45 : 64;
            int64_t most = dtypes[t] == DYNC_F64 ? 2 : 1; /* its depth is cut sooner */
            EXPECT(launches_of(mlp, dtypes[t], m, k, tol) <= most);
            EXPECT(launches_of(scaled, dtypes[t], m, k, tol) <= most);
            EXPECT(launches_of(cast_away, dtypes[t], m, k, tol) <= most);
            launches_of(number, dtypes[t], m, k, tol);
            if (dtypes[t] == DYNC_F32) launches_of(predicate, dtypes[t], m, k, 0);
            launches_of(both, dtypes[t], m, k, tol);
            launches_of(heads, dtypes[t], m, k, tol);
        }
        /* the depth is cut: partial sums, then the rest */
        EXPECT_EQ_INT(launches_of(mlp, dtypes[t], 64, 800, tol), 2);
    }
}
/* Off: f32 to the last bits. On: operands of 10 bits, whatever their strides; off again: as
 * before. */
TEST(tf32_where_it_is_allowed)
{
    dync_tensor *x = dync_randn(dync_shape(70, 100)), *w = dync_randn(dync_shape(100, 72)),
                *a = gpu(x), *b = gpu(w);
    dync_tensor *at = gpu(dync_contiguous(dync_transpose(x, 0, 1))),
                *bt = gpu(dync_contiguous(dync_transpose(w, 0, 1))), *want = dync_matmul(x, w);
    EXPECT(dync_allclose(dync_matmul(a, b), want, 1e-5, 1e-5));
    EXPECT(!dync_cuda_allow_tf32(true));
    for (int way = 0; way < 4; way++) {
        dync_tensor *got = dync_matmul(way & 1 ? dync_transpose(at, 0, 1) : a,
                                       way & 2 ? dync_transpose(bt, 0, 1) : b);
        EXPECT(dync_allclose(got, want, 2e-2, 2e-2));
        EXPECT(!dync_allclose(got, want, 1e-5, 1e-5));
    }
    EXPECT(dync_cuda_allow_tf32(false));
    EXPECT(dync_allclose(dync_matmul(a, b), want, 1e-5, 1e-5));
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}

/* What goes before a product is done as it loads its sides: casts, activations, 8-bit weights with
 * scales, a mask, a norm whose statistics are there. */
static dync_tensor *quantised(dync_tensor *x, dync_tensor *q, dync_tensor *scale)
{
    return dync_matmul(x, dync_transpose(dync_mul(dync_to_dtype(q, dync_type(x)), scale), 0, 1));
}
static dync_tensor *activated(dync_tensor *x, dync_tensor *w, dync_tensor *shift)
{
    return dync_matmul(dync_relu(dync_add(x, shift)), w);
}
static dync_tensor *narrowed(dync_tensor *x, dync_tensor *w, dync_tensor *shift)
{
    return dync_add(dync_matmul(dync_to_dtype(x, dync_type(w)), w), shift);
}
static dync_tensor *masked(dync_tensor *x, dync_tensor *w, dync_tensor *seen)
{
    return dync_relu(dync_matmul(dync_mul(dync_mul(x, seen), 2), w));
}
static dync_tensor *normed(dync_tensor *x, dync_tensor *w, dync_tensor *stats)
{
    dync_tensor *mean = dync_slice(stats, 1, 0, 1, 1), *scale = dync_slice(stats, 1, 1, 2, 1);
    return dync_matmul(dync_mul(dync_sub(x, mean), scale), w);
}
static dync_tensor *transposed(dync_tensor *x, dync_tensor *w, dync_tensor *shift)
{
    (void)shift;
    dync_tensor *h =
        dync_permute(dync_reshape(dync_mul(x, 0.5), dync_shape(-1, 4, 16)), dync_shape(1, 0, 2));
    return dync_matmul(h, dync_transpose(dync_permute(dync_reshape(dync_slice(w, 1, 0, 64, 1),
                                                                   dync_shape(-1, 4, 16)),
                                                      dync_shape(1, 0, 2)),
                                         1, 2));
}
/* The same where it is wanted elsewhere too: it stays a step of its own. */
static dync_tensor *shared(dync_tensor *x, dync_tensor *w, dync_tensor *shift)
{
    dync_tensor *h = dync_relu(dync_add(x, shift));
    return dync_add(dync_matmul(h, w), dync_slice(h, 1, 0, 64, 1));
}
typedef dync_tensor *(*ternary)(dync_tensor *, dync_tensor *, dync_tensor *);
static int64_t launches_before(ternary f, dync_tensor *x, dync_tensor *w, dync_tensor *extra,
                               double tol)
{
    dync_compiled *c = dync_compile(f, .args = "x, w, extra");
    dync_tensor *want = f(x, w, extra), *a[3] = {gpu(x), gpu(w), gpu(extra)};
    int64_t launches = 0;
    for (int i = 0; i < 2; i++) {
        dync_cuda_counters before = dync_cuda_get_counters();
        dync_tensor *got = dync_call(c, a[0], a[1], a[2]);
        launches = dync_cuda_get_counters().launches - before.launches;
        if (!EXPECT(got && dync_allclose(got, want, tol, tol))) printf("  %s\n", cuemu_detail());
    }
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_compiled_free(c);
    return launches;
}
TEST(what_goes_before_is_done_by_the_product)
{
    dync_tensor *x = random_of(DYNC_F32, 64, 64), *w = random_of(DYNC_F32, 64, 64),
                *row = random_of(DYNC_F32, 1, 64), *stats = random_of(DYNC_F32, 64, 2);
    dync_tensor *half = random_of(DYNC_BF16, 64, 64),
                *seen = dync_gt(random_of(DYNC_F32, 64, 64), 0),
                *q = dync_to_dtype(dync_mul(random_of(DYNC_F32, 64, 64), 100), DYNC_I8);
    dync_tensor *scale = dync_to_dtype(random_of(DYNC_F32, 64, 1), DYNC_BF16),
                *xh = random_of(DYNC_BF16, 64, 64), *one = random_of(DYNC_BF16, 1, 64);
    EXPECT_EQ_INT(launches_before(activated, x, w, row, 2e-5), 1);
    EXPECT_EQ_INT(launches_before(narrowed, x, half,
                                  dync_to_dtype(dync_slice(row, 1, 0, 64, 1), DYNC_BF16), 2e-2),
                  1);
    EXPECT_EQ_INT(launches_before(masked, x, w, seen, 2e-5), 1);
    EXPECT_EQ_INT(launches_before(normed, x, w, stats, 2e-5), 1);
    EXPECT_EQ_INT(launches_before(quantised, xh, q, scale, 2e-2), 1);
    EXPECT_EQ_INT(launches_before(quantised, one, dync_repeat(q, dync_shape(2, 1)),
                                  dync_repeat(scale, dync_shape(2, 1)), 2e-2),
                  1);
    EXPECT_EQ_INT(launches_before(transposed, x, w, row, 2e-5), 1);
    EXPECT_EQ_INT(launches_before(shared, x, w, row, 2e-5), 2);
}
TEST_MAIN
