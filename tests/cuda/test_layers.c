/* Attention, recurrent layers and sorting on a GPU as a user meets them: eager, compiled and
 * recorded, trained, with the CPU's numbers and without its help. */
#include "dync.h"
#include "dync_cuda.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))
#include "test.h"
#include "tol.h"

static void say_nothing(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}
static dync_tensor *gpu(dync_tensor *x) { return dync_to_device(x, DYNC_CUDA); }
static const char *const backends[] = {"eager", "aot_eager", "inductor", "cudagraphs"};

static dync_tensor *attend(dync_tensor *x, dync_tensor *w)
{
    /* [2, 9, 48]: three times four heads of 4 */
    dync_tensor *h = dync_matmul(x, w), *part[3];
    for (int i = 0; i < 3; i++)
        part[i] = dync_transpose(
            dync_reshape(dync_slice(h, 2, 16 * i, 16 * i + 16, 1), dync_shape(2, 9, 4, 4)), 1, 2);
    dync_tensor *y =
        dync_scaled_dot_product_attention(part[0], part[1], part[2], NULL, 0.0, true, DYNC_NONE);
    return dync_mean(dync_square(dync_reshape(dync_transpose(y, 1, 2), dync_shape(2, 9, 16))),
                     DYNC_ALL, false);
}

static dync_module *layer[2]; /* equal, on the CPU and on the GPU */
static dync_tensor *recur_in(dync_module *m, dync_tensor *x, dync_tensor *w)
{
    dync_value y = dync_module_call(m, x);
    return dync_mean(dync_mul(dync_square(dync_as_tensor(dync_at(y, 0))), w), DYNC_ALL, false);
}

static dync_tensor *recur(dync_tensor *x, dync_tensor *w) { return recur_in(layer[0], x, w); }
static dync_tensor *recur_on_gpu(dync_tensor *x, dync_tensor *w)
{
    return recur_in(layer[1], x, w);
}

/* Losses and the gradients of x and w over some steps. */
static void trains(dync_tensor *(*f)(dync_tensor *, dync_tensor *),
                   dync_tensor *(*g)(dync_tensor *, dync_tensor *), dync_tensor *w)
{
    for (int b = 0; b < 4; b++) {
        dync_tensor *on[2] = {dync_clone(w), gpu(w)};
        dync_requires_grad_(on[0], true);
        dync_requires_grad_(on[1], true);
        dync_compiled *c = dync_compile(g, .args = "x, w", .backend = backends[b]);
        int64_t before = dync_cuda_get_counters().host_steps;
        for (int step = 0; step < 4; step++) DYNC_SCOPE {
            dync_tensor *x = dync_randn(dync_shape(2, 9, 16));
            dync_tensor *want = f(x, on[0]);
            EXPECT_OK(dync_backward(want));
            dync_tensor *got = dync_call(c, gpu(x), on[1]);
            if (!EXPECT(want && got)) printf("  backend %s, step %d\n", backends[b], step);
            REQUIRE(want && got);
            EXPECT_NEAR(dync_item(got), dync_item(want), TOL_F32_SUM);
            EXPECT_OK(dync_backward(got));
            EXPECT(dync_allclose(dync_grad(on[1]), dync_grad(on[0]), TOL_F32_MODEL, TOL_F32_SUM));
            dync_set_grad(on[0], NULL);
            dync_set_grad(on[1], NULL);
        }
        EXPECT_EQ_INT(dync_cuda_get_counters().host_steps, before);
        EXPECT_EQ_INT(dync_error(), DYNC_OK);
        dync_compiled_free(c);
    }
}
TEST(attention_trains) { trains(attend, attend, dync_mul(dync_randn(dync_shape(16, 48)), 0.5)); }

TEST(recurrent_layers_train)
{
    for (int kind = 0; kind < 3; kind++) {
        for (int i = 0; i < 2; i++) {
            dync_manual_seed(5);
            layer[i] = kind == 0   ? dync_nn_lstm(16, 6, 2, true)
                       : kind == 1 ? dync_nn_gru(16, 5, 1, true)
                                   : dync_nn_rnn(16, 7, 1, false);
        }
        EXPECT_OK(dync_module_to_device(layer[1], DYNC_CUDA));
        trains(recur, recur_on_gpu, dync_randn(dync_shape(9, kind == 0 ? 12 : kind == 1 ? 10 : 7)));
        for (int i = 0; i < 2; i++) dync_module_free(layer[i]);
    }
}

/* States on another device are an error, not an access to an address that is none. */
TEST(devices_do_not_mix)
{
    dync_on_error(say_nothing, NULL);
    dync_module *m = dync_nn_gru(4, 3, 1, false);
    EXPECT_OK(dync_module_to_device(m, DYNC_CUDA));
    (void)dync_module_call(m, gpu(dync_ones(dync_shape(2, 1, 4))), dync_zeros(dync_shape(1, 1, 3)));
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_DEVICE);
    dync_clear_error();
    dync_tensor *x = gpu(dync_ones(dync_shape(1, 2, 4))), *y = dync_ones(dync_shape(1, 2, 4));
    EXPECT(!dync_scaled_dot_product_attention(x, y, y, NULL, 0.0, false, DYNC_NONE));
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_DEVICE);
    dync_clear_error();
    dync_module_free(m);
}

TEST(sorts)
{
    int64_t before = dync_cuda_get_counters().host_steps;
    dync_tensor *x = dync_randn(dync_shape(3, 700));
    for (int down = 0; down < 2; down++) {
        dync_value on_gpu = dync_sort(gpu(x), 1, down), on_cpu = dync_sort(x, 1, down),
                   top = dync_topk(gpu(x), 5, 1, down, true), want = dync_topk(x, 5, 1, down, true);
        for (int i = 0; i < 2; i++) {
            EXPECT(dync_allclose(dync_as_tensor(dync_at(on_gpu, i)),
                                 dync_as_tensor(dync_at(on_cpu, i)), 0, 0));
            EXPECT(dync_allclose(dync_as_tensor(dync_at(top, i)), dync_as_tensor(dync_at(want, i)),
                                 0, 0));
        }
    }
    EXPECT_EQ_INT(dync_cuda_get_counters().host_steps, before);
}
TEST_MAIN
