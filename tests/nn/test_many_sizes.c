/* Many sizes of one function: their plans, the first of which lie elsewhere than those that come
 * later (base/slab.c), give what plain calls give, and machine code is bounded by graphs. */
#define TEST_AFTER_EACH dync_shutdown()
#include "dync.h"
#include "test.h"
#include "tol.h"

static dync_tensor *rows(dync_tensor *x)
{
    dync_tensor *y = dync_softmax(dync_mul(x, 0.5), 1);
    return dync_matmul(dync_transpose(y, 0, 1), dync_tanh(x));
}

/* More sizes than are kept; two functions by turns, one freed meanwhile. */
TEST(plans_of_many_sizes)
{
    for (int round = 0; round < 2; round++) {
        dync_compiled *f[2];
        for (int k = 0; k < 2; k++)
            f[k] = dync_compile(rows, .args = "x", .dynamic = DYNC_DYNAMIC_ON);
        for (int i = 0; i < 300; i++) DYNC_SCOPE {
            dync_tensor *x = dync_rand(dync_shape(2 + i * 37 % 300, 8));
            int k = f[1] ? i % 2 : 0;
            EXPECT(dync_allclose(dync_call(f[k], x), rows(x), 1e-4, 1e-5));
            if (i == 200 && round) dync_compiled_free(f[1]), f[1] = NULL;
        }
        for (int k = 0; k < 2; k++)
            if (f[k]) dync_compiled_free(f[k]);
    }
}
/* A layer, its loss and its gradients. */
static dync_tensor *w;
static dync_tensor *loss(dync_tensor *x)
{
    dync_tensor *y = dync_layer_norm(dync_matmul(x, w), dync_shape(16), NULL, NULL, 1e-5);
    return dync_sum(dync_mul(dync_gelu(y), y), DYNC_ALL, false);
}

/* Bytes of machine code after so many sizes more. */
static int64_t code_after(dync_compiled *f, int *n, int more)
{
    for (int end = *n + more; *n < end; ++*n) DYNC_SCOPE {
        dync_tensor *x = dync_requires_grad_(dync_rand(dync_shape(2 + *n * 389 % 1000, 8)), true);
        dync_backward(dync_call(f, x));
    }
    return dync_compiled_info(f).code_bytes;
}

TEST(a_thousand_sizes_share_their_code)
{
    dync_config_set("threads", "1");
    w = dync_rand(dync_shape(8, 16));
    dync_compiled *f = dync_compile(loss, .args = "x", .dynamic = DYNC_DYNAMIC_ON);
    int n = 0;
    int64_t one = code_after(f, &n, 1), few = code_after(f, &n, 99), all = code_after(f, &n, 900);
    dync_compiled_information info = dync_compiled_info(f);
    printf("    %lld bytes of code after 100 sizes, %lld after 1,000\n", (long long)few,
           (long long)all);
    EXPECT((one > 0) == (few > 0) && all <= few + few / 2); /* none where none is made */
    EXPECT(info.entries == 1 && info.misses == 1);
    dync_compiled_free(f);
}
TEST_MAIN
