/* Compiled convolutions: packed weights that are kept follow every way of changing a weight; chains with batch norm, activations, pooling and
 * shortcuts agree with the same functions run by eager operators. */
#include "dync.h"
#include "test.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))

static dync_tensor *conv_of(dync_tensor *x, dync_tensor *w)
{
    return dync_conv2d(x, w, NULL, dync_shape(1, 1), dync_shape(1, 1), dync_shape(1, 1), 1);
}

static void same_as_eager(dync_compiled *c, dync_tensor *x, dync_tensor *w)
{
    DYNC_SCOPE {
        dync_tensor *want = conv_of(x, w), *got = dync_call(c, x, w);
        EXPECT(want && got && dync_allclose(got, want, 1e-4, 1e-4));
    }
}

TEST(kept_weights_follow_every_change)
{
    static float lent[32 * 32 * 9];
    DYNC_SCOPE {
        dync_set_grad_enabled(false);
        dync_tensor *x = dync_randn(dync_shape(1, 32, 9, 11)), *w = dync_randn(dync_shape(32, 32, 3, 3)), *v = dync_randn(dync_shape(32, 32, 3, 3));
        dync_compiled *c = dync_compile(conv_of);
        for (int i = 0; i < 3; i++) same_as_eager(c, x, w);
        same_as_eager(c, x, v);                          /* another tensor */
        for (int i = 0; i < 3; i++) same_as_eager(c, x, w);
        dync_mul_(w, 2);                                 /* in place */
        same_as_eager(c, x, w);
        dync_copy_(dync_select(w, 0, 3), dync_select(v, 0, 5));     /* through a view */
        same_as_eager(c, x, w);
        float *p = dync_data(w);                         /* by address, kept over calls */
        same_as_eager(c, x, w);
        p[77] += 3;
        same_as_eager(c, x, w);
        p[9215] = -8;
        same_as_eager(c, x, w);
        for (int i = 0; i < 32 * 32 * 9; i++) lent[i] = (float)(i % 7);
        dync_tensor *l = dync_wrap(lent, dync_shape(32, 32, 3, 3));  /* the caller's memory */
        for (int i = 0; i < 8; i++) {
            same_as_eager(c, x, l);
            lent[i * 1000] += 1;
            same_as_eager(c, x, l);
        }
        dync_compiled_free(c);
        dync_set_grad_enabled(true);
    }
}

TEST_MAIN
