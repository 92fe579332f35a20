/* Convolution and pooling on a GPU as a user meets them: eager, compiled with what follows in the
 * convolution's launch, trained; all on the device. */
#include "dync.h"
#include "dync_cuda.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))
#include "test.h"
#include "../cuda_emulator/emulator.h"

static dync_tensor *gpu(dync_tensor *x) { return dync_to_device(x, DYNC_CUDA); }
static dync_tensor *make(int dtype, int64_t a, int64_t b, int64_t c, int64_t d)
{
    return dync_to_dtype(dync_mul(dync_randn(dync_shape(a, b, c, d)), 0.25), dtype);
}
static dync_tensor *by_channel(dync_tensor *x) { return dync_reshape(x, dync_shape(1, -1, 1, 1)); }

/* Convolution, batch norm of inference, residual, activation. */
static dync_tensor *block(dync_tensor *x, dync_tensor *w, dync_tensor *bias, dync_tensor *scale)
{
    dync_tensor *y =
        dync_conv2d(x, w, bias, dync_shape(1, 1), dync_shape(1, 1), dync_shape(1, 1), 1);
    return dync_relu(dync_add(dync_add(dync_mul(y, by_channel(scale)), by_channel(bias)), x));
}
static dync_tensor *planes(dync_tensor *x, dync_tensor *w, dync_tensor *bias, dync_tensor *scale)
{
    dync_tensor *y = dync_conv2d(x,
                                 dync_contiguous(dync_slice(dync_slice(w, 2, 0, 1, 1), 3, 0, 1, 1)),
                                 bias, dync_shape(1, 1), dync_shape(0, 0), dync_shape(1, 1), 1);
    return dync_silu(dync_mul(y, by_channel(scale)));
}
static dync_tensor *wanted_twice(dync_tensor *x, dync_tensor *w, dync_tensor *bias,
                                 dync_tensor *scale)
{
    dync_tensor *y =
        dync_conv2d(x, w, NULL, dync_shape(2, 2), dync_shape(1, 1), dync_shape(1, 1), 1);
    return dync_add(dync_sum(y, dync_shape(2, 3), true),
                    dync_sigmoid(dync_add(y, by_channel(dync_add(bias, scale)))));
}
static dync_tensor *pixels_last(dync_tensor *x, dync_tensor *w, dync_tensor *bias,
                                dync_tensor *scale)
{
    dync_tensor *y =
        dync_conv2d(dync_permute(dync_contiguous(dync_permute(x, dync_shape(0, 2, 3, 1))),
                                 dync_shape(0, 3, 1, 2)),
                    w, bias, dync_shape(1, 1), dync_shape(0, 0), dync_shape(1, 1), 1);
    return dync_contiguous(dync_permute(dync_mul(y, by_channel(scale)), dync_shape(0, 2, 3, 1)));
}

typedef dync_tensor *(*function)(dync_tensor *, dync_tensor *, dync_tensor *, dync_tensor *);
static int64_t launches_of(function f, int dtype, int64_t channels, int64_t height, int64_t width,
                           double tol)
{
    dync_tensor *x = make(dtype, 2, channels, height, width),
                *w = make(dtype, channels, channels, 3, 3);
    dync_tensor *bias = dync_reshape(make(dtype, 1, 1, 1, channels), dync_shape(channels)),
                *scale = dync_reshape(make(dtype, 1, 1, 1, channels), dync_shape(channels));
    dync_compiled *c = dync_compile(f, .args = "x, w, bias, scale");
    dync_tensor *want = f(x, w, bias, scale), *a[4] = {gpu(x), gpu(w), gpu(bias), gpu(scale)};
    EXPECT(dync_allclose(f(a[0], a[1], a[2], a[3]), want, tol, tol));
    int64_t launches = 0;
    for (int i = 0; i < 2; i++) {
        dync_cuda_counters before = dync_cuda_get_counters();
        dync_tensor *got = dync_call(c, a[0], a[1], a[2], a[3]);
        launches = dync_cuda_get_counters().launches - before.launches;
        if (!EXPECT(got && dync_allclose(got, want, tol, tol)))
            printf("  dtype %d channels %lld: %s\n", dtype, (long long)channels, cuemu_detail());
    }
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_compiled_free(c);
    return launches;
}
TEST(what_follows_is_done_by_the_convolution)
{
    static const int dtypes[] = {DYNC_F32, DYNC_BF16, DYNC_F16};
    for (int t = 0; t < 3; t++) DYNC_SCOPE {
        double tol = dtypes[t] == DYNC_BF16 ? 4e-2 : dtypes[t] == DYNC_F16 ? 5e-3 : 2e-5;
        /* arrays of halves are transposed to channels last */
        int64_t packs = dtypes[t] == DYNC_F32 ? 0 : 2;
        EXPECT(launches_of(block, dtypes[t], 8, 7, 9, tol) <= 2 + packs);
        EXPECT(launches_of(planes, dtypes[t], 8, 8, 8, tol) <= 3);
        launches_of(wanted_twice, dtypes[t], 8, 9, 8, tol);
        launches_of(pixels_last, dtypes[t], 8, 6, 7, tol);
        launches_of(block, dtypes[t], 5, 6, 6, tol);
    }
    EXPECT_EQ_INT(dync_cuda_get_counters().host_steps, 0);
}

/* Forward and gradients of a function of x and w: eager on both devices. */
static dync_tensor *transposed(dync_tensor *x, dync_tensor *w)
{
    return dync_conv_transpose2d(x, w, NULL, dync_shape(2, 2), dync_shape(1, 1), dync_shape(1, 1),
                                 1, dync_shape(1, 1));
}
static dync_tensor *line(dync_tensor *x, dync_tensor *w)
{
    return dync_conv1d(dync_reshape(x, dync_shape(2, 8, -1)), dync_reshape(w, dync_shape(8, 8, -1)),
                       NULL, dync_shape(2), dync_shape(4), dync_shape(1), 1);
}
static dync_tensor *depthwise(dync_tensor *x, dync_tensor *w)
{
    return dync_conv2d(x, dync_slice(w, 1, 0, 1, 1), NULL, dync_shape(1, 2), dync_shape(1, 1),
                       dync_shape(1, 1), 8);
}
static dync_tensor *greatest(dync_tensor *x, dync_tensor *w)
{
    return dync_mul(dync_max_pool2d(x, dync_shape(3, 3), dync_shape(2, 1), dync_shape(1, 1),
                                    dync_shape(1, 1), false),
                    dync_sum(w, DYNC_ALL, false));
}
static dync_tensor *average(dync_tensor *x, dync_tensor *w)
{
    return dync_mul(
        dync_avg_pool2d(x, dync_shape(3, 2), dync_shape(2, 2), dync_shape(1, 1), true, false),
        dync_sum(w, DYNC_ALL, false));
}
static dync_tensor *adaptive(dync_tensor *x, dync_tensor *w)
{
    return dync_mul(dync_adaptive_avg_pool2d(x, dync_shape(2, 3)), dync_sum(w, DYNC_ALL, false));
}
TEST(training_stays_on_the_device)
{
    static dync_tensor *(*const functions[])(dync_tensor *, dync_tensor *) = {
        transposed, line, depthwise, greatest, average, adaptive};
    for (int dtype = 0; dtype < 2; dtype++)
        for (int f = 0; f < 6; f++) DYNC_SCOPE {
            dync_tensor *x = make(DYNC_F32, 2, 8, 6, 6), *w = make(DYNC_F32, 8, 8, 3, 3),
                        *grad[2][2], *y[2];
            if (dtype) x = dync_to_dtype(x, DYNC_BF16), w = dync_to_dtype(w, DYNC_BF16);
            for (int on = 0; on < 2; on++) {
                dync_tensor *a = dync_requires_grad_(on ? gpu(x) : dync_clone(x), true),
                            *b = dync_requires_grad_(on ? gpu(w) : dync_clone(w), true);
                y[on] = functions[f](a, b);
                dync_backward(dync_sum(
                    dync_mul(dync_to_dtype(y[on], DYNC_F32), dync_to_dtype(y[on], DYNC_F32)),
                    DYNC_ALL, false));
                grad[on][0] = dync_grad(a);
                grad[on][1] = dync_grad(b);
            }
            double tol = dtype ? 4e-2 : 1e-4;
            if (!EXPECT(dync_allclose(y[1], y[0], tol, tol) &&
                        dync_allclose(grad[1][0], grad[0][0], tol, tol) &&
                        dync_allclose(grad[1][1], grad[0][1], tol, 10 * tol)))
                printf("  function %d dtype %d %s\n", f, dtype, cuemu_detail());
        }
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    EXPECT_EQ_INT(dync_cuda_get_counters().host_steps, 0);
}

/* What goes before: made as it is packed (halves), or as windows are gathered. */
static dync_tensor *activated(dync_tensor *x, dync_tensor *w, dync_tensor *bias, dync_tensor *scale)
{
    return dync_conv2d(dync_relu(dync_add(dync_mul(x, by_channel(scale)), by_channel(bias))), w,
                       NULL, dync_shape(1, 2), dync_shape(1, 1), dync_shape(1, 1), 1);
}
static dync_tensor *cast_down(dync_tensor *x, dync_tensor *w, dync_tensor *bias, dync_tensor *scale)
{
    dync_tensor *y = dync_conv2d(dync_to_dtype(x, DYNC_BF16),
                                 dync_to_dtype(dync_mul(w, 0.5), DYNC_BF16), NULL, dync_shape(1, 1),
                                 dync_shape(1, 0), dync_shape(1, 1), 1);
    return dync_add(dync_to_dtype(y, DYNC_F32), by_channel(dync_add(bias, scale)));
}
static dync_tensor *pixels_made(dync_tensor *x, dync_tensor *w, dync_tensor *bias,
                                dync_tensor *scale)
{
    (void)bias;
    dync_tensor *last =
        dync_relu(dync_mul(dync_contiguous(dync_permute(x, dync_shape(0, 2, 3, 1))), scale));
    return dync_conv2d(dync_permute(last, dync_shape(0, 3, 1, 2)), w, NULL, dync_shape(1, 1),
                       dync_shape(1, 1), dync_shape(1, 1), 1);
}
TEST(what_goes_before_is_done_by_the_convolution)
{
    static const int dtypes[] = {DYNC_F32, DYNC_BF16, DYNC_F16};
    for (int t = 0; t < 3; t++) DYNC_SCOPE {
        double tol = dtypes[t] == DYNC_BF16 ? 4e-2 : dtypes[t] == DYNC_F16 ? 5e-3 : 2e-5;
        /* f32: the depth is cut, a second launch joins the sums */
        bool halves = dtypes[t] != DYNC_F32;
        EXPECT_EQ_INT(launches_of(activated, dtypes[t], 16, 9, 11, tol), halves ? 3 : 2);
        EXPECT_EQ_INT(launches_of(activated, dtypes[t], 18, 7, 6, tol), halves ? 1 : 2);
        EXPECT_EQ_INT(launches_of(pixels_made, dtypes[t], 24, 6, 7, tol), 2);
    }
    EXPECT_EQ_INT(launches_of(cast_down, DYNC_F32, 16, 9, 11, 3e-2), 3);
    EXPECT_EQ_INT(launches_of(cast_down, DYNC_F32, 9, 6, 8, 3e-2), 1);
    (void)dync_cuda_allow_tf32(true);
    EXPECT_EQ_INT(launches_of(activated, DYNC_F32, 12, 9, 11, 2e-2), 1);
    (void)dync_cuda_allow_tf32(false);
}
/* Any geometry; x in either order, and what makes it of one or two arrays. */
static struct {
    int64_t s[2], p[2], d[2], groups;
    bool last, added;
} geometry;
static dync_tensor *any(dync_tensor *x, dync_tensor *w, dync_tensor *shift)
{
    dync_tensor *y = geometry.last ? dync_contiguous(dync_permute(x, dync_shape(0, 2, 3, 1))) : x;
    if (geometry.added)
        y = dync_add(y, geometry.last ? dync_permute(shift, dync_shape(0, 2, 3, 1)) : shift);
    y = dync_relu(dync_to_dtype(y, dync_type(w)));
    if (geometry.last) y = dync_permute(y, dync_shape(0, 3, 1, 2));
    return dync_conv2d(y, w, NULL, dync_shape(geometry.s[0], geometry.s[1]),
                       dync_shape(geometry.p[0], geometry.p[1]),
                       dync_shape(geometry.d[0], geometry.d[1]), (int)geometry.groups);
}
TEST(random_convolutions_of_what_is_made)
{
    static const int dtypes[] = {DYNC_BF16, DYNC_F32, DYNC_F16};
    for (int i = 0; i < test_count(6); i++) DYNC_SCOPE {
        int64_t kh = test_random_int(1, 3), kw = test_random_int(1, 3),
                of = test_random() % 2 ? 8 : 5;
        for (int k = 0; k < 2; k++)
            geometry.s[k] = test_random_int(1, 2), geometry.p[k] = test_random_int(0, 2),
            geometry.d[k] = test_random_int(1, 2);
        geometry.groups = test_random_int(1, 2);
        geometry.last = test_random() % 2;
        geometry.added = test_random() % 2;
        int64_t c = of * test_random_int(1, 2) * geometry.groups, h = test_random_int(5, 10),
                wide = test_random_int(5, 12);
        int dtype = dtypes[test_random() % 3], from = test_random() % 2 ? dtype : DYNC_F32;
        dync_tensor *x = make(from, 2, c, h, wide),
                    *w = make(dtype, 8 * geometry.groups, c / geometry.groups, kh, kw),
                    *shift = make(from, 1, c, 1, test_random() % 2 ? 1 : wide);
        dync_compiled *f = dync_compile(any, .args = "x, w, shift");
        double tol = dtype == DYNC_BF16 ? 4e-2 : dtype == DYNC_F16 ? 5e-3 : 2e-5;
        dync_tensor *got = dync_call(f, gpu(x), gpu(w), gpu(shift));
        if (!EXPECT(got && dync_allclose(got, any(x, w, shift), tol, tol)))
            printf("  number %d: dtype %d from %d c %lld %lld x %lld kernel %lld x %lld last %d "
                   "added %d: %s\n",
                   i, dtype, from, (long long)c, (long long)h, (long long)wide, (long long)kh,
                   (long long)kw, geometry.last, geometry.added, cuemu_detail());
        dync_compiled_free(f);
    }
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}
/* Weights of halves are transposed to channels last by the second run in a row that has the same,
 * and again when they are written. */
static dync_tensor *plain(dync_tensor *x, dync_tensor *w, dync_tensor *bias, dync_tensor *scale)
{
    (void)bias, (void)scale;
    return dync_conv2d(x, w, NULL, dync_shape(1, 1), dync_shape(1, 1), dync_shape(1, 1), 1);
}
TEST(weights_are_packed_once)
{
    /* x and w packed, the product; w is written before run 4 */
    static const int want[] = {3, 3, 2, 2, 3, 3, 2};
    dync_tensor *x = make(DYNC_BF16, 1, 16, 6, 6), *w = make(DYNC_BF16, 16, 16, 3, 3),
                *none = gpu(dync_zeros(dync_shape(1)));
    dync_tensor *gx = gpu(x), *gw = gpu(w);
    dync_compiled *c = dync_compile(plain, .args = "x, w, bias, scale");
    for (int i = 0; i < 7; i++) DYNC_SCOPE {
        if (i == 4) (void)dync_mul_(w, 2), (void)dync_mul_(gw, 2);
        dync_cuda_counters before = dync_cuda_get_counters();
        dync_tensor *got = dync_call(c, gx, gw, none, none);
        EXPECT_EQ_INT(dync_cuda_get_counters().launches - before.launches, want[i]);
        EXPECT(dync_allclose(got, plain(x, w, NULL, NULL), 4e-2, 4e-2));
    }
    dync_compiled_free(c);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}
TEST_MAIN
