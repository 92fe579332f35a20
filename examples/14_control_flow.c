/* cc -O2 -I.. 14_control_flow.c -lm -pthread -o 14_control_flow
 *
 * Lesson 14: branches and loops that data decide stay in one graph. */
#define DYNC_IMPLEMENTATION
#include "dync.h"

/* Newton's method for cube roots: as many rounds as the data ask for. a is taken from around the
 * functions: a closure, which becomes a further input of the loop. */
static dync_value still_far(const dync_value *args, int n, void *user)
{
    (void)n;
    dync_tensor *x = dync_as_tensor(args[0]), *a = user;
    dync_tensor *miss = dync_abs(dync_sub(dync_mul(dync_mul(x, x), x), a));
    return DYNC_V(dync_gt(dync_max(miss), 1e-4));
}
static dync_value round_of_newton(const dync_value *args, int n, void *user)
{
    (void)n;
    dync_tensor *x = dync_as_tensor(args[0]), *a = user;
    return DYNC_V(dync_div(dync_add(dync_mul(x, 2), dync_div(a, dync_mul(x, x))), 3));
}
static dync_tensor *cube_root(dync_tensor *a)
{
    return dync_as_tensor(dync_while_loop(dync_bind(still_far, a, "x"),
                                          dync_bind(round_of_newton, a, "x"), dync_ones_like(a)));
}

/* A recurrent layer: one step, repeated along the first dim. */
static dync_value step(const dync_value *args, int n, void *user)
{
    (void)n, (void)user;
    dync_tensor *h = dync_tanh(dync_add(dync_mul(args[0], 0.5), args[1]));
    return dync_tuple(h, h); /* the carry, and what is stacked */
}
static dync_tensor *recurrent(dync_tensor *xs)
{
    dync_value r = dync_scan(step, dync_zeros(dync_shape(2)), xs);
    return dync_as_tensor(dync_at(r, 1));
}

/* One of two branches, by a value in a tensor: no read, no break. */
static dync_tensor *doubled(dync_tensor *x) { return dync_mul(x, 2); }
static dync_tensor *negated(dync_tensor *x) { return dync_neg(x); }
static dync_tensor *branch(dync_tensor *x)
{
    dync_tensor *positive = dync_gt(dync_sum(x, DYNC_ALL, false), 0);
    return dync_as_tensor(dync_cond(positive, doubled, negated, x));
}

int main(void)
{
    dync_compiled *root = dync_compile(cube_root, .args = "a", .fullgraph = true),
                  *rnn = dync_compile(recurrent, .args = "xs", .fullgraph = true),
                  *either = dync_compile(branch, .args = "x", .fullgraph = true);

    dync_print(dync_call(root, dync_from((float[]){8, 27, 1000}, dync_shape(3))));

    dync_tensor *xs =
        dync_from((float[]){1, 0, 0, 1, 1, 1}, dync_shape(3, 2), .requires_grad = true);
    dync_tensor *hs = dync_call(rnn, xs);
    dync_print(hs);
    dync_backward(dync_sum(hs, DYNC_ALL, false)); /* back through every step */
    dync_print(dync_grad(xs));

    dync_print(dync_call(either, dync_from((float[]){1, 2}, dync_shape(2))));
    dync_print(dync_call(either, dync_from((float[]){1, -2}, dync_shape(2))));
    printf("graphs: %d, breaks: %d\n", (int)dync_get_counters().graphs,
           (int)dync_get_counters().graph_breaks);

    dync_compiled_free(root);
    dync_compiled_free(rnn);
    dync_compiled_free(either);
    dync_shutdown();
    return dync_error();
}
