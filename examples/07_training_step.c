/* cc -O2 -I.. 07_training_step.c -lm -pthread -o 07_training_step
 *
 * Lesson 7: a whole training step as one compiled call. Forward, loss, backward, the optimizer's
 * step and zero_grad stand in one function; with .fullgraph they become one graph, and a call runs
 * nothing else. */
#define DYNC_IMPLEMENTATION
#include "dync.h"

static dync_module *net;
static dync_optim *optim;

static dync_tensor *step(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *d = dync_sub(dync_forward_call(net, x), y);
    dync_tensor *loss = dync_mean(dync_mul(d, d), DYNC_ALL, false);
    if (dync_backward(loss) != DYNC_OK || dync_optim_step(optim) != DYNC_OK) return NULL;
    dync_optim_zero_grad(optim);
    return loss;
}

int main(void)
{
    dync_manual_seed(7);
    net = dync_sequential(dync_nn_linear(2, 16, true), dync_nn_tanh(), dync_nn_linear(16, 1, true));
    optim = dync_adamw(net, .lr = 0.02);
    dync_compiled *f = dync_compile(step, .args = "x, y", .fullgraph = true);
    if (!net || !optim || !f) return dync_error();

    dync_tensor *x = dync_sub(dync_mul(dync_rand(dync_shape(256, 2)), 2), 1);
    /* y = a * b */
    dync_tensor *y = dync_mul(dync_slice(x, 1, 0, 1, 1), dync_slice(x, 1, 1, 2, 1));
    double first = 0, last = 0;
    for (int i = 0; i < 400; i++) DYNC_SCOPE {
        dync_tensor *loss = dync_call(f, x, y);
        if (!loss) return dync_error();
        last = dync_item(loss);
        if (i == 0) first = last;
    }
    dync_counters c = dync_get_counters();
    printf("graphs %lld, breaks %lld\n", (long long)c.graphs, (long long)c.graph_breaks);
    printf("the loss fell below a hundredth: %s\n", last < 0.01 * first ? "yes" : "no");
    dync_compiled_free(f);
    dync_optim_free(optim);
    dync_module_free(net);
    dync_shutdown();
    return dync_error();
}
