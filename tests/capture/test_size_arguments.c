/* Sizes as arguments of operators: windows as large as the image, paddings up to a length, images
 * resized to one another. Each function is called with four sizes: results and gradients are those
 * of the plain call, and where the size may stay open two graphs do. */
#include "dync.h"
#include "test.h"

#define SIZE(d) dync_size_sym(x, d)
#define DIM(d) dync_dim(x, d)
#define HALF(d) dync_as_dim(dync_sym_floordiv(SIZE(d), dync_v_int(2)))
#define TWICE(d) dync_as_dim(dync_sym_mul(SIZE(d), dync_v_int(2)))
#define LESS(n, d) dync_as_dim(dync_sym_sub(n, SIZE(d)))
#define S dync_shape
#define ITEM(list, i) dync_as_tensor(dync_at(list, i))

static dync_dims shape_of(const dync_tensor *t)
{
    dync_dims s = {dync_ndim(t), {0}};
    for (int i = 0; i < s.n; i++) s.d[i] = dync_size(t, i);
    return s;
}
/* x [1, 2, h, h + 2] */
static void equal(dync_tensor *(*fn)(dync_tensor *), int most)
{
    dync_manual_seed(3);
    dync_compiled *f = dync_compile(fn);
    for (int h = 6; h < 20; h += 4) DYNC_SCOPE {
        dync_tensor *x = dync_randn(S(1, 2, h, h + 2), .requires_grad = true), *want = fn(x),
                    *got = dync_call(f, x);
        if (!got || !want) {
            EXPECT_OK(dync_error());
            break;
        }
        dync_tensor *seed = dync_randn(shape_of(want));
        dync_value a = dync_gradients(DYNC_V(want), DYNC_V(x), DYNC_V(seed),
                                      (dync_grad_options){0}),
                   b = dync_gradients(DYNC_V(got), DYNC_V(x), DYNC_V(seed), (dync_grad_options){0});
        EXPECT(dync_allclose(got, want, 1e-4, 1e-5));
        EXPECT(dync_allclose(ITEM(b, 0), ITEM(a, 0), 1e-4, 1e-5));
    }
    EXPECT_EQ_INT(dync_compiled_info(f).graphs, most);
    EXPECT_STATUS(dync_error(), DYNC_OK);
    dync_compiled_free(f);
    dync_shutdown();
}
#define SIZES(name, graphs, expr)                                  \
    static dync_tensor *name##_of(dync_tensor *x) { return expr; } \
    TEST(name) { equal(name##_of, graphs); }

/* ---- they stay open -------------------------------------------------------------------------- */
SIZES(padding, 2, dync_pad(x, S(HALF(3), DIM(2), 0, HALF(2)), 1.5))
SIZES(padding_to_a_length, 2, dync_pad(x, S(0, LESS(dync_v_int(24), 3)), 0))
SIZES(padding_that_cuts, 2, dync_pad(x, S(0, LESS(dync_v_int(5), 3)), 0))
SIZES(nearest_twice_as_large, 2, dync_upsample_nearest2d(x, S(TWICE(2), TWICE(3))))
SIZES(nearest_as_the_other_side, 2, dync_upsample_nearest2d(x, S(7, DIM(2))))
SIZES(bilinear, 2, dync_upsample_bilinear2d(x, S(DIM(2), TWICE(3)), false))
SIZES(bilinear_from_corner_to_corner, 2, dync_upsample_bilinear2d(x, S(TWICE(2), DIM(3)), true))
SIZES(clamped_to_a_size, 2, dync_clamp(dync_mul(x, 9), 1, SIZE(2)))
#define OTHER_HALF(d) dync_as_dim(dync_sym_sub(SIZE(d), dync_sym_floordiv(SIZE(d), dync_v_int(2))))
SIZES(pieces_of_sizes, 2, ITEM(dync_split_sizes(x, S(HALF(3), OTHER_HALF(3)), 3), 1))
/* ---- they are made numbers ------------------------------------------------------------------- */
SIZES(mean_of_the_whole_image, 4,
      dync_avg_pool2d(x, S(DIM(2), DIM(3)), S(1, 1), S(0, 0), false, true))
SIZES(largest_of_a_quarter, 4,
      dync_max_pool2d(x, S(HALF(2), HALF(3)), S(1, 1), S(0, 0), S(1, 1), false))
SIZES(adaptive_as_it_is, 4, dync_adaptive_avg_pool2d(x, S(3, DIM(3))))
SIZES(padding_of_a_convolution, 4,
      dync_conv2d(x, dync_ones(S(1, 2, 3, 3)), NULL, S(1, 1), S(HALF(2), 1), S(1, 1), 1))
SIZES(columns, 4, dync_im2col(x, S(HALF(2), 2), S(1, 1), S(0, 0), S(1, 1)))
SIZES(norms_of_windows, 4, dync_lp_pool2d(x, 2, S(2, HALF(3)), S(1, 2), false))
SIZES(transform_of_twice_the_length, 4, dync_fft_rfft(x, dync_sym_mul(SIZE(3), dync_v_int(2)), 3))

static dync_tensor *too_much(dync_tensor *x)
{
    return ITEM(dync_split_sizes(x, S(HALF(3), DIM(3)), 3), 0);
}
static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}
TEST(pieces_that_are_too_many)
{
    dync_compiled *f = dync_compile(too_much, .dynamic = DYNC_DYNAMIC_ON);
    dync_on_error(quiet, NULL);
    EXPECT(dync_call(f, dync_ones(S(1, 2, 6, 8))) == NULL);
    EXPECT_STATUS(dync_error(), DYNC_ERR_VALUE);
    EXPECT_HAS_STR(dync_error_message(), "sum exactly to 8 (");
    dync_clear_error();
    dync_compiled_free(f);
    dync_shutdown();
}
TEST_MAIN
