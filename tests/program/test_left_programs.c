/* What nobody freed ends with dync_shutdown, once: programs, compiled functions of every backend,
 * captured backwards; programs inside of them end with those. */
#include "test.h"
#include "tol.h"
#include "dync.h"

static const char *const backends[] = {"eager",     "eager_noexcept", "ts",        "aot_ts",
                                       "aot_eager", "inductor",       "cudagraphs"};
enum { N_BACKENDS = 7 };

static dync_tensor *wave(dync_tensor *x)
{
    return dync_sum(dync_sin(dync_mul(x, 2)), DYNC_ALL, false);
}
static dync_tensor *broken(dync_tensor *x)
{
    x = dync_mul(x, 2);
    dync_graph_break("here");
    return dync_sum(dync_exp(x), DYNC_ALL, false);
}
static dync_tensor *leaf(int64_t n)
{
    return dync_requires_grad_(dync_full(dync_shape(n), 0.5), true);
}
static void compiles(const char *backend, dync_dynamic dynamic)
{
    dync_compiled *f = dync_compile(wave, .backend = backend, .dynamic = dynamic);
    dync_compiled *g = dync_compile(broken, .backend = backend, .dynamic = dynamic);
    for (int n = 2; n < 5; n++) DYNC_SCOPE {
        EXPECT_NEAR(dync_item(dync_call(f, leaf(n))), n * 0.8414709848, 10 * TOL_F32_SUM * n);
        EXPECT_OK(dync_backward(dync_call(g, leaf(n))));
    }
}
TEST(compiled)
{
    for (int b = 0; b < N_BACKENDS; b++)
        for (int twice = 0; twice < 2; twice++) {
            compiles(backends[b], DYNC_DYNAMIC_AUTO);
            compiles(backends[b], DYNC_DYNAMIC_ON);
            EXPECT_STATUS(dync_error(), DYNC_OK);
            dync_shutdown();
            EXPECT_EQ_INT(dync_memory_stats().live_tensors, 0);
        }
}
TEST(captured_backwards)
{
    for (int b = 0; b < N_BACKENDS; b++) {
        for (int n = 2; n < 5; n++) DYNC_SCOPE {
            dync_tensor *x = leaf(n);
            DYNC_COMPILED_AUTOGRAD(backends[b])
            {
                EXPECT_OK(dync_backward(wave(x)));
                EXPECT_OK(dync_backward(wave(x)));
            }
            EXPECT_NEAR(dync_item(dync_select(dync_grad(x), 0, 0)), 4 * 0.5403023059, 1e-5);
        }
        EXPECT_STATUS(dync_error(), DYNC_OK);
        dync_shutdown();
    }
}
TEST(programs)
{
    for (int k = 0; k < 3; k++) {
        dync_tensor *x = leaf(3);
        dync_program *p = dync_export(wave, x);
        REQUIRE(p != NULL);
        dync_compiled *f = dync_compile(p, .backend = k ? "ts" : "inductor");
        DYNC_SCOPE EXPECT_NEAR(dync_item(dync_call(f, x)), 3 * 0.8414709848, 1e-5);
        if (k == 2) dync_program_free(p);
        dync_shutdown();
    }
}
TEST_MAIN
