/* nn/init.c: initial values of parameters, PyTorch's. After module.c, before layers.c.
 *
 * kaiming_uniform with a = sqrt 5, the default of Linear and Conv2d, is uniform in (-b, b) with b =
 * 1 / sqrt(fan_in) (He et al. 2015, arXiv:1502.01852: gain sqrt(2 / (1 + a^2)), b = gain sqrt(3 /
 * fan_in)). */
#include "../dync.in.h"
#include "nn.h"
DYNC__COLD

/* Registers t, which the scope owns, as m's. */
static bool dync__init_keep(dync__module *m, const char *name, dync_tensor *handle, bool is_buffer)
{
    dync__tensor *t = handle ? dync__open(handle) : NULL;
    if (!t) return false;
    if (!is_buffer) {
        dync__tensor_set_requires_grad(t, true);
        t->flags |= DYNC__T_PARAMETER;
    }
    dync__ref(t);
    return dync__module_put(m, name, t, is_buffer);
}

/* Options of a maker with shape and dtype, on the CPU: compilers see that no gradient is asked. */
DYNC_ALWAYS_INLINE dync_make dync__init_make(dync_dims shape, int dtype)
{
    dync_make make = {0};
    make.shape = shape;
    make.dtype = (dync_dtype)dtype;
    return make;
}

/* Numbers come from this thread's generator (dync_manual_seed), in the order of the calls. */
DYNC__FN bool dync__init_uniform(dync__module *m, const char *name, dync_dims shape, double bound)
{
    bool off = dync__grad_is_off();
    dync_scope scope = dync_scope_begin();
    dync__grad_off(true);
    bool ok = dync__init_keep(
        m, name, dync_uniform_(DYNC__MAKER(empty)(dync__init_make(shape, DYNC_F32)), -bound, bound),
        false);
    dync__grad_off(off);
    dync_scope_end(&scope);
    return ok;
}

/* Mean 0, deviation 1: embeddings. */
DYNC__FN bool dync__init_normal(dync__module *m, const char *name, dync_dims shape)
{
    dync_scope scope = dync_scope_begin();
    bool ok = dync__init_keep(m, name, DYNC__MAKER(randn)(dync__init_make(shape, DYNC_F32)), false);
    dync_scope_end(&scope);
    return ok;
}

/* Every element the same; is_buffer: no parameter, so without a gradient. */
DYNC__FN bool dync__init_full(dync__module *m, const char *name, dync_dims shape, int dtype,
                              double value, bool is_buffer)
{
    dync_scope scope = dync_scope_begin();
    bool ok = dync__init_keep(
        m, name, DYNC__MAKER(full)(dync_v_float(value), dync__init_make(shape, dtype)), is_buffer);
    dync_scope_end(&scope);
    return ok;
}
