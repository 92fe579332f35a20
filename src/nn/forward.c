/* nn/forward.c: a module's mode and its calls. Before: entries.c. */
#include "../dync.in.h"
#include "nn.h"
DYNC__COLD

/* ---- state, calls ---------------------------------------------------------------------------- */

DYNC_API void *dync_module_user(const dync_module *handle)
{
    const dync__module *m = dync__module_open(handle, "dync_module_user");
    return m ? m->user : NULL;
}

DYNC_API bool dync_module_is_compiled(const dync_module *handle)
{
    const dync__module *m = handle ? dync__module_open(handle, "dync_module_is_compiled") : NULL;
    return m && m->compiled;
}

DYNC_API bool dync_module_is_training(const dync_module *handle)
{
    const dync__module *m = dync__module_open(handle, "dync_module_is_training");
    if (!m) return false;
    dync__module_touch(m);
    return m->training;
}

/* Children first: the state of a module names theirs. */
static bool dync__module_set_training(dync__module *m, bool training)
{
    bool changed = m->training != training;
    m->training = training;
    for (int i = 0; i < m->child.n; i++)
        changed |= dync__module_set_training(m->child.at[i], training);
    if (changed) dync__module_renumber(m);
    return changed;
}

DYNC__FN void dync__module_set_mode(dync__module *m, bool training)
{
    if (dync__module_set_training(m, training)) dync__module_bump(m->parent);
}

DYNC_API void dync_module_train(dync_module *handle, bool training)
{
    dync__module *m = dync__module_open(handle, "dync_module_train");
    void (*switched)(dync__module *, bool) = DYNC__ATOMIC_PEEK(&dync__module_mode_switched);
    if (!m) return;
    if (dync__tls.compiling && switched) switched(m, training);
    dync__module_set_mode(m, training);
}

/* Of the four kinds of forward: values for the library's and the user's own, one tensor for the
 * others, which is checked here. */
static dync_value dync__module_run(dync__module *m, int nargs, const dync_value *args)
{
    if (m->layer_values) return m->layer_values(m, args, nargs);
    dync_module *self = m->layer ? NULL : dync__module_handle(m);
    if (!self && !m->layer) return DYNC_NONE;
    if (m->forward_values) return m->forward_values(self, args, nargs);
    if (nargs != 1 || args[0].kind != DYNC_KIND_TENSOR) {
        if (nargs != 1)
            dync__fail(DYNC_ERR_VALUE, "%s: expected one tensor, got %d arguments", m->class_name,
                       nargs);
        else
            dync__fail(DYNC_ERR_VALUE, "%s: expected one tensor, got %s", m->class_name,
                       dync__kind_name(args[0].kind));
        return DYNC_NONE;
    }
    dync_tensor *y = m->layer ? m->layer(m, args[0].as.t) : m->forward(self, args[0].as.t);
    return y ? dync_v_tensor(y) : DYNC_NONE;
}

static DYNC__TLS const dync__module *dync__module_innermost;
DYNC__FN const dync__module *dync__module_running(void) { return dync__module_innermost; }

/* In a scope of its own, which its result escapes. dync__module_innermost names the module for
 * messages and for the profiler while it runs. */
DYNC__FN dync_value dync__module_forward(dync__module *m, int nargs, const dync_value *args)
{
    dync__module_touch(m);
    if (!m->forward && !m->forward_values && !m->layer && !m->layer_values) {
        dync__fail(DYNC_ERR_VALUE, "%s: the module has no forward", m->class_name);
        return DYNC_NONE;
    }
    dync_scope scope = dync_scope_begin();
    const dync__module *outer = dync__module_innermost;
    dync__module_innermost = m;
    dync_value result = dync__module_run(m, nargs, args);
    dync__module_innermost = outer;
    dync__scope_end_keep(&scope, &result);
    return result;
}

DYNC_API dync_value(dync_module_call_values)(dync_module *handle, int nargs, const dync_value *args)
{
    dync__module *m = dync__module_open(handle, "dync_module_call");
    return m ? dync__module_call(m, nargs, args) : DYNC_NONE;
}

/* A compiled module runs compiled, except inside a trace, where its forward is inlined. */
DYNC__FN dync_value dync__module_call(dync__module *m, int nargs, const dync_value *args)
{
    if (nargs < 0 || (nargs > 0 && !args)) {
        dync__fail(DYNC_ERR_VALUE, "dync_module_call: expected a module and its arguments");
        return DYNC_NONE;
    }
    dync_value (*call)(dync__module *, int, const dync_value *) =
        DYNC__ATOMIC_PEEK(&dync__module_call_compiled);
    if (m->compiled && call && !dync__tls.compiling) return call(m, nargs, args);
    return dync__module_forward(m, nargs, args);
}

DYNC_API dync_tensor *(dync_forward_call)(dync_module * handle, dync_tensor *x)
{
    dync__module *m = dync__module_open(handle, "dync_forward_call");
    return m ? dync__module_call_one(m, x) : NULL;
}

/* For modules from one tensor to one tensor. */
DYNC__FN dync_tensor *dync__module_call_one(dync__module *m, dync_tensor *x)
{
    if (!dync__open(x)) return NULL;
    dync_value arg = dync_v_tensor(x), result = dync__module_call(m, 1, &arg);
    return result.kind == DYNC_KIND_NONE ? NULL : dync_as_tensor(result);
}
