/* Gradients without compiling. */
#include "parts.h"

int trains(void)
{
    dync_tensor *w = dync_full(dync_shape(4), 1, .requires_grad = true);
    for (int i = 0; i < 20; i++) DYNC_SCOPE {
        dync_tensor *off = dync_sub(w, 3);
        if (dync_backward(dync_sum(dync_mul(off, off), DYNC_ALL, false)) != DYNC_OK) return 1;
        DYNC_NO_GRAD dync_sub_(w, dync_mul(dync_grad(w), 0.25));
        dync_set_grad(w, NULL);
    }
    return !is_near(w, 3) || dync_error() != DYNC_OK;
}
