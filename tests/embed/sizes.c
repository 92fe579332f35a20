/* Symbolic sizes and the numbers computed from them, by whatever this target's ABI does to doubles:
 * a step compiled once for all sizes gives what the plain program gives. */
#define DYNC_IMPLEMENTATION
#include "dync.h"
#include <math.h>
#include <stdio.h>

static dync_tensor *step(dync_tensor *x, dync_tensor *w)
{
    dync_tensor *h = dync_layer_norm(dync_matmul(x, w), dync_shape(4), NULL, NULL, 1e-5);
    dync_tensor *q = dync_transpose(h, 0, 1),
                *a = dync_scaled_dot_product_attention(q, q, q, NULL, 0, false, DYNC_NONE);
    dync_tensor *spread = dync_var(h, dync_shape(0), 1, false);
    return dync_add(dync_mean(dync_mul(a, a), DYNC_ALL, false), dync_sum(spread, DYNC_ALL, false));
}

static dync_tensor *gradient(dync_compiled *f_or_null, dync_tensor *x, dync_tensor *w)
{
    dync_tensor *own = dync_requires_grad_(dync_clone(dync_detach(w)), true);
    dync_tensor *loss = f_or_null ? dync_call(f_or_null, x, own) : step(x, own);
    return loss && dync_backward(loss) == DYNC_OK ? dync_grad(own) : NULL;
}

int main(void)
{
    static const char *const backends[] = {"eager", "aot_eager", "inductor"};
    int bad = 0;
    for (int b = 0; b < 3; b++) {
        dync_compiled *f = dync_compile(step, .backend = backends[b]);
        for (int n = 3; n < 9; n++) DYNC_SCOPE {
            dync_tensor *x = dync_randn(dync_shape(n, 5)), *w = dync_randn(dync_shape(5, 4));
            dync_tensor *got = gradient(f, x, w), *want = gradient(NULL, x, w);
            bool same = got && want && dync_allclose(got, want, 1e-4, 1e-5);
            if (!same) printf("%s: another gradient for %d rows\n", backends[b], n);
            bad += !same;
        }
        dync_compiled_free(f);
    }
    dync_shutdown();
    return bad != 0;
}
