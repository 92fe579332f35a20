/* cc -O2 -I.. 06_train_mlp.c -lm -pthread -o 06_train_mlp
 *
 * Lesson 6: training. A network tells points inside a ring from those outside; forward, loss and
 * backward are compiled as one. */
#define DYNC_IMPLEMENTATION
#include "dync.h"

enum { POINTS = 512, STEPS = 400 };
static dync_module *net;

static dync_tensor *loss_of(dync_tensor *x, dync_tensor *y)
{
    return dync_cross_entropy(dync_forward_call(net, x), y);
}

/* Points in the square [-1, 1]^2; class 1 where the distance from the middle is between 0.4 and
 * 0.8. */
static void make_points(dync_tensor **x, dync_tensor **y)
{
    *x = dync_sub(dync_mul(dync_rand(dync_shape(POINTS, 2)), 2), 1);
    dync_tensor *r = dync_sqrt(dync_sum(dync_square(*x), dync_shape(1), false));
    *y = dync_to_dtype(dync_logical_and(dync_gt(r, 0.4), dync_lt(r, 0.8)), DYNC_I64);
}

static double accuracy(dync_tensor *x, dync_tensor *y)
{
    double right = 0;
    DYNC_SCOPE {
        DYNC_NO_GRAD {
            dync_tensor *guess = dync_argmax(dync_forward_call(net, x), 1, false);
            right = dync_item(dync_sum(dync_eq(guess, y), DYNC_ALL, false));
        }
    }
    return right / POINTS;
}

int main(void)
{
    dync_manual_seed(6);
    net = dync_sequential(dync_nn_linear(2, 32, true), dync_nn_relu(), dync_nn_linear(32, 32, true),
                          dync_nn_relu(), dync_nn_linear(32, 2, true));
    dync_optim *optim = dync_adamw(net, .lr = 1e-2);
    dync_compiled *f = dync_compile(loss_of, .args = "x, y");
    if (!net || !optim || !f) return dync_error();

    dync_tensor *x, *y, *x_test, *y_test;
    make_points(&x, &y);
    make_points(&x_test, &y_test);
    printf("before: right more often than 9 of 10: %s\n",
           accuracy(x_test, y_test) > 0.9 ? "yes" : "no");
    double first = 0, last = 0;
    for (int step = 0; step < STEPS; step++) DYNC_SCOPE { /* what a step makes dies with it */
        dync_tensor *loss = dync_call(f, x, y);
        dync_optim_zero_grad(optim);
        if (dync_backward(loss) != DYNC_OK || dync_optim_step(optim) != DYNC_OK)
            return dync_error();
        last = dync_item(loss);
        if (step == 0) first = last;
    }
    printf("the loss fell to less than a fifth: %s\n", last < first / 5 ? "yes" : "no");
    printf("after:  right more often than 9 of 10: %s\n",
           accuracy(x_test, y_test) > 0.9 ? "yes" : "no");

    dync_compiled_free(f);
    dync_optim_free(optim);
    dync_module_free(net);
    dync_shutdown();
    return dync_error();
}
