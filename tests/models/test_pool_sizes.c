/* Pools of symbolic sizes that round up: one graph, beside plain calls, values and gradients. */
#include "dync.h"
#include "test.h"

typedef struct window {
    int kernel, stride, padding, dilation;
} window;
static const window windows[] = {{2, 2, 0, 1}, {3, 2, 1, 1}, {3, 3, 0, 1}, {3, 2, 0, 2},
                                 {2, 3, 1, 1}, {5, 4, 2, 1}, {3, 1, 1, 2}};
enum { WINDOWS = sizeof windows / sizeof *windows, PADDED = 1, PLAIN = 2, KINDS };
static window w;
static int kind;

static dync_dims both(int n) { return dync_shape(n, n); }
static dync_tensor *pool(dync_tensor *x)
{
    dync_tensor *y = dync_mul(x, 2);
    y = kind == 0 ? dync_max_pool2d(y, both(w.kernel), both(w.stride), both(w.padding),
                                    both(w.dilation), true)
                  : dync_avg_pool2d(y, both(w.kernel), both(w.stride), both(w.padding), true,
                                    kind == PADDED);
    return dync_relu(dync_add(y, 0.25));
}

static dync_tensor *gradient(dync_compiled *f, dync_tensor *x, dync_tensor **y)
{
    dync_tensor *leaf = dync_requires_grad_(dync_detach(x), true);
    *y = f ? dync_call(f, leaf) : pool(leaf);
    if (!*y) return NULL;
    dync_backward(dync_sum(dync_mul(*y, *y), DYNC_ALL, false));
    return dync_grad(leaf);
}

static void check(bool one_graph)
{
    dync_compiled *f = dync_compile(pool, .dynamic = DYNC_DYNAMIC_ON);
    for (int h = 6; h < 22; h++) DYNC_SCOPE {
        dync_tensor *x = dync_randn(dync_shape(2, 3, h, 27 - h)), *y, *z;
        dync_tensor *gx = gradient(f, x, &y), *gz = gradient(NULL, x, &z);
        bool same = EXPECT(y && z && gx && gz) && EXPECT(dync_allclose(y, z, 1e-5, 1e-6)) &&
                    EXPECT(dync_allclose(gx, gz, 1e-5, 1e-6));
        if (!same)
            printf("kind %d, kernel %d, stride %d, padding %d, dilation %d, height %d: %s\n", kind,
                   w.kernel, w.stride, w.padding, w.dilation, h, dync_error_message());
    }
    if (one_graph) EXPECT_EQ_INT(dync_compiled_info(f).entries, 1);
    dync_compiled_free(f);
}

TEST(windows_that_round_up)
{
    for (int i = 0; i < WINDOWS; i++)
        for (kind = 0; kind < KINDS; kind++) {
            w = windows[i];
            if (kind && w.dilation > 1) continue;
            check(w.stride + w.padding < w.dilation * (w.kernel - 1) + 2);
        }
}

TEST(an_error_names_the_size)
{
    kind = 0;
    w = (window){3, 2, 0, 2};
    dync_compiled *f = dync_compile(pool, .dynamic = DYNC_DYNAMIC_ON);
    for (int h = 9; h > 2; h -= 6) DYNC_SCOPE {
        dync_tensor *y = dync_call(f, dync_ones(dync_shape(2, 4, h, 11)));
        EXPECT((y != NULL) == (h == 9));
        if (!y) EXPECT(strstr(dync_error_message(), "input size 3, kernel 3") != NULL);
        dync_clear_error();
    }
    dync_compiled_free(f);
}
TEST_MAIN
