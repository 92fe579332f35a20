/* A program that has gradients and names nothing that asks for them: everything forward is as ever,
 * rules of gradients are not linked, and who asks by other ways is told so. */
#include "parts.h"

static dync_tensor *cubes(dync_tensor *x) { return dync_mul(dync_mul(x, x), x); }

int rules(void)
{
    dync_tensor *w = dync_full(dync_shape(2), 2, .requires_grad = true), *y = cubes(w);
    if (!dync_requires_grad(y) || !dync_has_grad_fn(y) || !is_near(y, 8)) return 1;
    dync_compiled *f = compiled(cubes), *g = compiled_whole(cubes);
    int bad = !is_near(dync_call(f, w), 8) || !is_near(dync_call(g, w), 8);
    dync_compiled_free(f);
    dync_compiled_free(g);
    if (bad || dync_error() != DYNC_OK) return 2;
    if ((dync_backward)(dync_sum(y, DYNC_ALL, false)) != DYNC_ERR_BACKEND) return 3;
    dync_clear_error();
    return dync_grad(w) ? 4 : 0;
}
