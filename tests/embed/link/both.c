/* Compiled functions that another file has compiled, differentiated here: traced before the first
 * tensor requires a gradient, and after it; backward outside and inside. */
#include "parts.h"

static dync_compiled *early, *late, *whole;
static dync_tensor *weight;

static dync_tensor *cubes(dync_tensor *x)
{
    return dync_sum(dync_mul(dync_mul(x, x), x), DYNC_ALL, false);
}
static dync_tensor *weighted(dync_tensor *x) { return dync_mul(dync_relu(x), weight); }
/* A step of training: what it reads and sets of gradients is part of the graph. */
static dync_tensor *step(dync_tensor *x)
{
    dync_tensor *off = dync_sub(dync_mul(x, weight), 6);
    dync_tensor *loss = dync_mean(dync_mul(off, off), DYNC_ALL, false);
    dync_backward(loss);
    DYNC_NO_GRAD dync_sub_(weight, dync_mul(dync_grad(weight), 0.25));
    dync_set_grad(weight, NULL);
    return dync_detach(loss);
}

int before(void)
{
    dync_tensor *x = dync_full(dync_shape(2), 2);
    early = compiled(cubes);
    weight = dync_full(dync_shape(2), 5);
    late = compiled(weighted);
    whole = compiled_whole(step);
    return !is_near(dync_call(early, x), 16) || !is_near(dync_call(late, x), 10);
}

int after(void)
{
    dync_tensor *x = dync_full(dync_shape(2), 2), *leaf = dync_full(dync_shape(2), 3);
    dync_requires_grad_(x, true);
    for (int i = 1; i < 3; i++) {
        if (dync_backward(dync_call(early, x)) != DYNC_OK || !is_near(dync_grad(x), 12 * i))
            return 1;
    }
    dync_requires_grad_(weight, true);
    if (dync_backward(dync_sum(dync_call(late, leaf), DYNC_ALL, false)) != DYNC_OK) return 2;
    if (!is_near(dync_grad(weight), 3)) return 3;
    dync_set_grad(weight, NULL);
    return dync_error() != DYNC_OK ? 4 : 0;
}

int steps(void)
{
    dync_tensor *x = dync_full(dync_shape(2), 1);
    for (int i = 0; i < 60; i++) DYNC_SCOPE {
        if (!dync_call(whole, x)) return 1;
    }
    int bad = !is_near(weight, 6);
    dync_compiled_free(early);
    dync_compiled_free(late);
    dync_compiled_free(whole);
    return bad || dync_error() != DYNC_OK ? 2 : 0;
}

static int refused(dync_tensor *result)
{
    int ok = !result && dync_error() == DYNC_ERR_BACKEND;
    dync_clear_error();
    return ok;
}
/* Gradients of compiled functions are refused by name where what they need was not linked. */
int missing(void)
{
    dync_tensor *x = dync_full(dync_shape(2), 2);
    dync_requires_grad_(x, true);
    if (!refused(dync_call(early, x))) return 1;
    dync_requires_grad_(weight, true);
    if (!refused(dync_call(whole, dync_detach(x)))) return 2;
    return !is_near(dync_call(early, dync_detach(x)), 16);
}
