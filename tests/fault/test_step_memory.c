/* A captured training step that runs out of memory, at any allocation: either no parameter has
 * moved or all of them have. */
#include "dync.in.h"
#include "base/base.h"
#include "test.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))

typedef struct trainer {
    dync_module *net;
    dync_optim *opt;
} trainer;
static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}

static dync_value step(const dync_value *args, int n, void *user)
{
    trainer *t = user;
    (void)n;
    dync_tensor *loss =
        dync_mean(dync_square(dync_sub(dync_forward_call(t->net, dync_as_tensor(args[0])),
                                       dync_as_tensor(args[1]))),
                  DYNC_ALL, false);
    dync_backward(loss);
    dync_optim_step(t->opt);
    dync_optim_zero_grad(t->opt);
    return DYNC_V(loss);
}

static void check(int threads)
{
    enum { MOST = 16, ROOM = 4096 };
    static float before[MOST][ROOM];
    trainer t = {dync_sequential(dync_nn_conv2d(3, 20, 3, 1, 1, true), dync_nn_relu(),
                                 dync_nn_max_pool2d(2, 2, 0), dync_nn_conv2d(20, 20, 3, 1, 1, true),
                                 dync_nn_gelu(), dync_nn_flatten(),
                                 dync_nn_linear(20 * 16, 5, true), dync_nn_linear(5, 5, true)),
                 NULL};
    t.opt = dync_optim_of(DYNC_OPTIM_ADAMW, t.net, (dync_optim_options){.lr = 0.01});
    dync_tensor *p[MOST];
    int n = dync_module_parameters(t.net, p, MOST), failures = 0;
    dync_on_error(quiet, NULL);
    dync__pool_set_threads(threads);
    dync_compiled *f = dync_compile(step, .args = "x, y", .user = &t, .fullgraph = true);
    dync_tensor *x = dync_randn(dync_shape(4, 3, 8, 8)), *y = dync_randn(dync_shape(4, 5));
    for (int i = 0; i < 3; i++) DYNC_SCOPE {
        EXPECT(dync_call(f, x, y));
    }
    for (int64_t at = 1; at < 400; at++) {
        bool ok = false, reached = true;
        int moved = 0;
        for (int i = 0; i < n; i++)
            memcpy(before[i], dync_data(p[i]), (size_t)dync_numel(p[i]) * sizeof(float));
        DYNC_SCOPE {
            dync__mem_trim();
            dync__mem_fail_at(at);
            ok = dync_call(f, x, y) != NULL;
            reached = dync__tls.fail_at == 0;
            dync__mem_fail_at(0);
        }
        for (int i = 0; i < n; i++)
            moved += memcmp(before[i], dync_data(p[i]), (size_t)dync_numel(p[i]) * sizeof(float)) !=
                     0;
        failures += !ok;
        if (!EXPECT(ok ? moved == n : moved == 0 || moved == n))
            printf("  allocation %d: %d of %d have moved\n", (int)at, moved, n);
        dync_clear_error();
        if (!reached) break;
    }
    EXPECT(failures > 0);
    dync_compiled_free(f);
    dync_optim_free(t.opt);
    dync_module_free(t.net);
    dync__pool_set_threads(0);
}

TEST(parameters_move_together) { check(1); }
TEST(parameters_move_together_with_threads) { check(2); }

TEST_MAIN
