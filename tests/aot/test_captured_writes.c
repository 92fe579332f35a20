/* Compiled autograd and what is written between forward and backward: values that no rule reads may
 * be (batch norm writes its statistics), others are the error of a walk. */
#include "../capture/counter.h"

static const char *const backends[] = {"eager", "ts", "aot_eager", "inductor"};
enum { N_BACKENDS = 4, STEPS = 4 };
static dync_module *net;
static dync_tensor *forward(dync_tensor *x) { return dync_forward_call(net, x); }

/* What is learned, and the loss, of some steps. */
static void train(const char *forward_backend, const char *backend, double *note)
{
    dync_manual_seed(7);
    net = dync_sequential(dync_nn_conv2d(1, 2, 3, 1, 1, true), dync_nn_batch_norm2d(2),
                          dync_nn_relu());
    dync_optim *optim = dync_sgd(net, .lr = 0.1, .momentum = 0.9);
    dync_compiled *f = forward_backend ? dync_compile(forward, .backend = forward_backend) : NULL;
    for (int i = 0; i < STEPS; i++) DYNC_SCOPE {
        dync_tensor *x = dync_randn(dync_shape(3, 1, 4, 4));
        dync_tensor *y = f ? dync_call(f, x) : forward(x);
        dync_tensor *l = dync_mean(dync_mul(y, y), DYNC_ALL, false);
        dync_optim_zero_grad(optim);
        if (backend) {
            DYNC_COMPILED_AUTOGRAD(backend) { EXPECT_OK(dync_backward(l)); }
        } else {
            EXPECT_OK(dync_backward(l));
        }
        dync_optim_step(optim);
        DYNC_NO_GRAD {
            dync_tensor *w = dync_module_param(net, "1.weight");
            *note++ = dync_item(l);
            *note++ = dync_item(dync_sum(dync_mul(w, w), DYNC_ALL, false));
            *note++ =
                dync_item(dync_sum(dync_module_buffer(net, "1.running_mean"), DYNC_ALL, false));
        }
    }
    dync_compiled_free(f);
    dync_optim_free(optim);
    dync_module_free(net);
}
TEST(statistics_of_batch_norm)
{
    double want[3 * STEPS], got[3 * STEPS];
    train(NULL, NULL, want);
    for (int b = 0; b < N_BACKENDS; b++)
        for (int compiled = 0; compiled < 2; compiled++) {
            train(compiled ? backends[b] : NULL, backends[b], got);
            for (int i = 0; i < 3 * STEPS; i++) EXPECT_NEAR(got[i], want[i], 1e-4);
        }
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
}

static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}
TEST(written_values)
{
    static const char modified[] =
        "one of the variables needed for gradient computation has been modified by an inplace "
        "operation: [f32[2]], which is output 0 of MulBackward0";
    dync_on_error(quiet, NULL);
    for (int b = 0; b < N_BACKENDS; b++)
        for (int k = 0; k < 12; k++) DYNC_SCOPE {
            dync_tensor *x = dync_ones(dync_shape(2), .requires_grad = true), *y = dync_mul(x, 2);
            dync_tensor *z = k % 3 == 0 ? dync_sin(y) : k % 3 == 1 ? dync_mul(y, y) : dync_neg(y);
            bool written = k % 2 == 0;
            if (written) DYNC_NO_GRAD {
                dync_add_(y, 1);
            }
            DYNC_COMPILED_AUTOGRAD(backends[b])
            {
                dync_status status = dync_backward(dync_sum(z, DYNC_ALL, false));
                bool fails = written && k % 3 != 2;
                EXPECT_STATUS(status, fails ? DYNC_ERR_AUTOGRAD : DYNC_OK);
                EXPECT(!fails || strncmp(dync_error_message(), modified, sizeof modified - 1) == 0);
                EXPECT((dync_grad(x) != NULL) == !fails);
            }
            dync_clear_error();
        }
}
TEST_MAIN
