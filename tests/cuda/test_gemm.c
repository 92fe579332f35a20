/* Matrix products on a GPU as a user meets them: what follows a product is done by its kernel, in one launch, with the numbers of the CPU. */
#include "dync.h"
#include "dync_cuda.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))
#include "test.h"
#include "../cuda_emulator/emulator.h"

static dync_tensor *gpu(dync_tensor *x) { return dync_to_device(x, DYNC_CUDA); }
static dync_tensor *random_of(int dtype, int64_t rows, int64_t columns) { return dync_to_dtype(dync_mul(dync_randn(dync_shape(rows, columns)), 0.25), dtype); }

static dync_tensor *mlp(dync_tensor *x, dync_tensor *w, dync_tensor *bias, dync_tensor *residual)
{
    return dync_add(dync_gelu(dync_linear(x, w, bias)), residual);
}
static dync_tensor *scaled(dync_tensor *x, dync_tensor *w, dync_tensor *bias, dync_tensor *residual)
{
    (void)bias;
    return dync_relu(dync_sub(dync_mul(dync_matmul(x, dync_transpose(w, 0, 1)), 0.5), dync_slice(residual, 0, 0, 1, 1)));
}
static dync_tensor *cast_away(dync_tensor *x, dync_tensor *w, dync_tensor *bias, dync_tensor *residual)
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
    return dync_mul(dync_linear(x, w, bias), dync_sum(dync_full(dync_shape(3), 0.5), DYNC_ALL, false));
}
static dync_tensor *predicate(dync_tensor *x, dync_tensor *w, dync_tensor *bias, dync_tensor *residual)
{
    dync_tensor *y = dync_linear(x, w, bias);
    return dync_to_dtype(dync_logical_and(dync_gt(y, -0.5), dync_lt(residual, 1)), DYNC_I64);
}

typedef dync_tensor *(*function)(dync_tensor *, dync_tensor *, dync_tensor *, dync_tensor *);
static int64_t launches_of(function f, int dtype, int64_t m, int64_t k, double tol)
{
    dync_tensor *x = random_of(dtype, m, k), *w = random_of(dtype, 64, k), *bias = random_of(dtype, 1, 64), *r = random_of(dtype, m, 64);
    bias = dync_reshape(bias, dync_shape(64));
    dync_compiled *c = dync_compile(f, .args = "x, w, bias, r");
    dync_tensor *want = f(x, w, bias, r), *a[4] = {gpu(x), gpu(w), gpu(bias), gpu(r)};
    EXPECT(dync_allclose(f(a[0], a[1], a[2], a[3]), want, tol, tol));       /* eager */
    int64_t launches = 0;
    for (int i = 0; i < 2; i++) {
        dync_cuda_counters before = dync_cuda_get_counters();
        dync_tensor *got = dync_call(c, a[0], a[1], a[2], a[3]);
        launches = dync_cuda_get_counters().launches - before.launches;
        if (!EXPECT(got && dync_allclose(got, want, tol, tol))) printf("  dtype %d m %lld k %lld: %s\n", dtype, (long long)m, (long long)k, cuemu_detail());
    }
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_compiled_free(c);
    return launches;
}

TEST(what_follows_is_done_by_the_product)
{
    static const int dtypes[] = {DYNC_F32, DYNC_BF16, DYNC_F16, DYNC_F64};
    for (int t = 0; t < 4; t++)
        DYNC_SCOPE {
            double tol = dtypes[t] == DYNC_BF16 ? 3e-2 : dtypes[t] == DYNC_F16 ? 4e-3 : 2e-5;
            for (int odd = 0; odd < 2; odd++) {
                int64_t m = odd ? 37 : 64, k = odd ? 45 : 64;
                int64_t most = dtypes[t] == DYNC_F64 ? 2 : 1;       /* its depth is cut sooner */
                EXPECT(launches_of(mlp, dtypes[t], m, k, tol) <= most);
                EXPECT(launches_of(scaled, dtypes[t], m, k, tol) <= most);
                EXPECT(launches_of(cast_away, dtypes[t], m, k, tol) <= most);
                launches_of(number, dtypes[t], m, k, tol);
                if (dtypes[t] == DYNC_F32) launches_of(predicate, dtypes[t], m, k, 0);
                launches_of(both, dtypes[t], m, k, tol);
                launches_of(heads, dtypes[t], m, k, tol);
            }
            EXPECT_EQ_INT(launches_of(mlp, dtypes[t], 64, 800, tol), 2);     /* the depth is cut: partial sums, then the rest */
        }
}
/* Off: f32 to the last bits. On: operands of 10 bits, whatever their strides; off again: as before. */
TEST(tf32_where_it_is_allowed)
{
    dync_tensor *x = dync_randn(dync_shape(70, 100)), *w = dync_randn(dync_shape(100, 72)), *a = gpu(x), *b = gpu(w);
    dync_tensor *at = gpu(dync_contiguous(dync_transpose(x, 0, 1))), *bt = gpu(dync_contiguous(dync_transpose(w, 0, 1))), *want = dync_matmul(x, w);
    EXPECT(dync_allclose(dync_matmul(a, b), want, 1e-5, 1e-5));
    EXPECT(!dync_cuda_allow_tf32(true));
    for (int way = 0; way < 4; way++) {
        dync_tensor *got = dync_matmul(way & 1 ? dync_transpose(at, 0, 1) : a, way & 2 ? dync_transpose(bt, 0, 1) : b);
        EXPECT(dync_allclose(got, want, 2e-2, 2e-2));
        EXPECT(!dync_allclose(got, want, 1e-5, 1e-5));
    }
    EXPECT(dync_cuda_allow_tf32(false));
    EXPECT(dync_allclose(dync_matmul(a, b), want, 1e-5, 1e-5));
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}
TEST_MAIN
