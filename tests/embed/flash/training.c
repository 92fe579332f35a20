/* A network of 8-16-1 learns the sum of its inputs. */
#include "dync.h"
static _Alignas(64) unsigned char memory[1 << 20];
static dync_module *net;
static dync_tensor *loss_of(dync_tensor *x, dync_tensor *y)
{
    return dync_mse_loss(dync_forward_call(net, x), y);
}

int main(void)
{
    dync_init_options options = {.memory = memory, .memory_size = sizeof memory};
    float first = 0, last = 0;
    if (dync_init(options) != DYNC_OK) return 1;
    dync_manual_seed(1);
    net = dync_sequential(dync_nn_linear(8, 16, true), dync_nn_relu(), dync_nn_linear(16, 1, true));
    dync_optim *optim = dync_sgd(net, .lr = 0.05);
    dync_compiled *f = dync_compile(loss_of, .fullgraph = true);
    dync_tensor *x = dync_randn(dync_shape(32, 8)), *y = dync_sum(x, dync_shape(1), true);
    for (int step = 0; step < 100; step++) DYNC_SCOPE {
        dync_optim_zero_grad(optim);
        dync_tensor *loss = dync_call(f, x, y);
        if (dync_backward(loss) != DYNC_OK || dync_optim_step(optim) != DYNC_OK) return 2;
        last = (float)dync_item(loss);
        if (step == 0) first = last;
    }
    return !(last < first * 0.1f) || dync_error();
}
