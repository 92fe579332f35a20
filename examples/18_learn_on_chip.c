/* cc -O2 -I.. 18_learn_on_chip.c -lm -pthread -o 18_learn_on_chip
 *
 * Lesson 18: a training step as C source: forward, loss, backward and optimizer in one function,
 * for a chip that goes on learning where it stands. What it changes is a struct of plain numbers:
 * parameters by their names, what the optimizer keeps beside them, and the learning rate, which a
 * schedule of yours sets between steps. Try what comes out by
 *
 *     cc -DTRAIN_MAIN train.c -lm && ./a.out
 */
#define DYNC_IMPLEMENTATION
#include "dync.h"
#include <stdio.h>
#include <string.h>

static dync_module *net;
static dync_optim *optim;

static dync_tensor *train(dync_tensor *x, dync_tensor *label)
{
    dync_tensor *loss = dync_cross_entropy(dync_forward_call(net, x), label);
    if (dync_backward(loss) != DYNC_OK || dync_optim_step(optim) != DYNC_OK) return NULL;
    dync_optim_zero_grad(optim);
    return loss;
}

/* The lines of a file from one that holds `from` to one that holds `to`. */
static void show(const char *path, const char *from, const char *to)
{
    char line[256];
    bool on = false;
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        on = on || strstr(line, from);
        if (on) printf("%s", line);
        if (on && strstr(line, to)) break;
    }
    if (f) fclose(f);
}

int main(void)
{
    const int64_t labels[4] = {0, 1, 1, 0};
    const float corners[4][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
    dync_manual_seed(18);
    net = dync_sequential(dync_nn_linear(2, 8, true), dync_nn_tanh(), dync_nn_linear(8, 2, true));
    optim = dync_sgd(net, .lr = 0.5, .momentum = 0.9);
    dync_tensor *x = dync_from(corners, dync_shape(4, 2)),
                *label = dync_from(labels, dync_shape(4), .dtype = DYNC_I64);

    dync_program *p = dync_export_step(dync_args(train, "x, label"), x, label);
    if (!p || dync_program_save_c(p, "train.c") != DYNC_OK) return dync_error();
    show("train.h", "typedef struct train_state", "} train_state;");
    show("train.h", "void train_step(", ";");

    /* The same program learns here, too. On the chip: train_current.lr[0] = 0.05; */
    dync_value args[2] = {DYNC_V(x), DYNC_V(label)};
    for (int i = 0; i < 60; i++) DYNC_SCOPE {
        if (i == 40) (void)dync_optim_set_lr(optim, 0.05);
        dync_tensor *loss = dync_as_tensor(dync_program_run(p, 2, args));
        if (i % 20 == 0) printf("step %2d: loss below 1: %d\n", i, dync_item(loss) < 1);
        if (i == 59) printf("it has learned xor: %d\n", dync_item(loss) < 0.1);
    }
    dync_program_free(p);
    dync_optim_free(optim);
    dync_module_free(net);
    remove("train.c");
    remove("train.h");
    dync_shutdown();
    return dync_error();
}
