/* cc -O2 -I.. 02_autograd.c -lm -pthread -o 02_autograd
 *
 * Lesson 2: gradients. Operators on tensors that require grad are recorded; dync_backward walks the
 * record. */
#define DYNC_IMPLEMENTATION
#include "dync.h"

static dync_tensor *clip(dync_tensor *grad, void *user)
{
    double *limit = user;
    return dync_clamp(grad, -*limit, *limit);
}

int main(void)
{
    /* y = sum(w * x^2): dy/dx = 2 w x */
    dync_tensor *x = dync_from(((float[]){1, 2, 3}), dync_shape(3), .requires_grad = true);
    dync_tensor *w = dync_from(((float[]){0.5f, 1, 2}), dync_shape(3), .requires_grad = true);
    dync_tensor *y = dync_sum(dync_mul(w, dync_square(x)), DYNC_ALL, false);
    if (dync_backward(y) != DYNC_OK) return dync_error();
    dync_print(dync_grad(x));
    dync_print(dync_grad(w));

    /* Gradients accumulate until they are dropped. */
    if (dync_backward(dync_sum(x, DYNC_ALL, false)) != DYNC_OK) return dync_error();
    dync_print(dync_grad(x));
    dync_set_grad(x, NULL);

    /* A hook may look at a gradient, or put another in its place. */
    double limit = 5;
    int hook = dync_register_hook(x, clip, &limit);
    dync_backward(dync_sum(dync_mul(w, dync_square(x)), DYNC_ALL, false));
    dync_print(dync_grad(x));
    dync_remove_hook(x, hook);

    /* Gradients as values: nothing is stored in x; create_graph makes them differentiable, here for
     * d3(x^3)/dx3 = 6. */
    dync_grad_options again = {.create_graph = true};
    dync_tensor *z = dync_sum(dync_pow(x, 3), DYNC_ALL, false);
    dync_tensor *d = dync_at(dync_gradients(DYNC_V(z), DYNC_V(x), DYNC_NONE, again), 0).as.t;
    d = dync_at(dync_gradients(DYNC_V(dync_sum(d, DYNC_ALL, false)), DYNC_V(x), DYNC_NONE, again),
                0)
            .as.t;
    d = dync_at(dync_gradients(DYNC_V(dync_sum(d, DYNC_ALL, false)), DYNC_V(x), DYNC_NONE, again),
                0)
            .as.t;
    dync_print(d);

    /* No record is kept where none is wanted. */
    DYNC_NO_GRAD {
        printf("requires grad: %d\n", dync_requires_grad(dync_mul(x, 2)));
    }

    dync_shutdown();
    return dync_error();
}
