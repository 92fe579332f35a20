/* Training steps as C source, for main.c: nets folder. A network of products with dropout and
 * momentum, a small CNN with Adam; integer targets, cross entropy. */
#include "dync.h"
#include <stdio.h>

static dync_module *layers;
static dync_optim *optim;

static dync_tensor *step(dync_tensor *x, dync_tensor *label)
{
    dync_tensor *loss = dync_cross_entropy(dync_forward_call(layers, x), label);
    if (dync_backward(loss) != DYNC_OK || dync_optim_step(optim) != DYNC_OK) return NULL;
    dync_optim_zero_grad(optim);
    return loss;
}

static bool save(const char *folder, const char *name, dync_tensor *x)
{
    const int64_t labels[8] = {0};
    char path[512];
    dync_callee callee = dync_args(step, "x, label");
    callee.name = name;
    dync_value args[2] = {DYNC_V(x), DYNC_V(dync_from(labels, dync_shape(8), .dtype = DYNC_I64))};
    dync_program *p = dync_export_step_values(callee, name, 2, args);
    snprintf(path, sizeof path, "%s/%s.c", folder, name);
    bool saved = p && dync_program_save_c(p, path) == DYNC_OK;
    dync_program_free(p);
    dync_optim_free(optim);
    dync_module_free(layers);
    return saved;
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : ".";
    dync_manual_seed(1);
    layers = dync_sequential(dync_nn_linear(64, 16, true), dync_nn_tanh(), dync_nn_dropout(0.2),
                             dync_nn_linear(16, 4, true));
    optim = dync_sgd(layers, .lr = 0.1, .momentum = 0.9);
    bool saved = save(folder, "mlp", dync_zeros(dync_shape(8, 64)));
    layers = dync_sequential(dync_nn_conv2d(1, 4, 3, 1, 1, true), dync_nn_relu(),
                             dync_nn_max_pool2d(2, 2, 0), dync_nn_conv2d(4, 8, 3, 1, 1, true),
                             dync_nn_relu(), dync_nn_max_pool2d(2, 2, 0), dync_nn_flatten(),
                             dync_nn_linear(32, 4, true));
    optim = dync_adam(layers, .lr = 0.01);
    saved = saved && save(folder, "cnn", dync_zeros(dync_shape(8, 1, 8, 8)));
    if (!saved) fprintf(stderr, "%s\n", dync_error_message());
    dync_shutdown();
    return !saved;
}
