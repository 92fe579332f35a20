/* capture/grads.c: autograd inside traced code: on the real tensors after a cut, or under fullgraph
 * as part of the graph (step.c). Installed into the hooks of autograd/. After frame.c, before
 * call.c. */
#include "../dync.in.h"
#include "trace.h"
DYNC__COLD

/* ---- backward -------------------------------------------------------------------------------- */
static bool dync__trace_backward(dync_value outputs, dync_value grads, dync_grad_options opt,
                                 dync_status *status)
{
    dync__tracer *t = dync__tracing_or_replay();
    if (!t || t->tape.walking) return false;
    *status = DYNC_ERR_RUNTIME;
    if (t->stopped || dync__trace_wants_tape(t)) return true;
    if (t->tape.on) return dync__taped_backward(t, outputs, grads, opt, status);
    *status = dync__trace_break(t, "Tensor.backward", NULL);
    if (*status != DYNC_OK) return true;
    dync_value o = dync__real_value(t, outputs), g = dync__real_value(t, grads);
    dync__script_may_write(t);
    dync__trace_pause pause = dync__trace_pause_begin(t);
    *status = (dync_backward_opt)(o, g, opt);
    dync__trace_pause_end(t, pause);
    return true;
}

/* The leaf from outside whose gradient an optimizer reads or clears, in a call of an open entry
 * behind its first break: there the C function runs in every call, so that it is read and cleared
 * as if no trace were open, and what it then does with the gradient is compared. NULL: the trace
 * does it, as what it has noted of gradients is done at the next cut, and lint knows them by it. */
static dync__tensor *dync__trace_grad_real(const dync_tensor *h)
{
    const dync__tracer *t = dync__tracing_or_replay();
    dync__tensor *x = dync__open(h);
    if (!x || !t || !dync__trace_runs_each(t) || t->effects.grads.n) return NULL;
    if (x->flags & DYNC__T_FAKE) {
        int env = dync__tracer_owns(t, x) ? dync__effect_env(t, x) : -1;
        x = env < 0 ? NULL : t->env.real.at[env];
    }
    return x && dync__tensor_is_leaf(x) ? x : NULL;
}

static bool dync__trace_grad(const dync_tensor *h, bool captured, dync_tensor **result)
{
    dync__tensor *grad = NULL, *real_leaf = captured ? dync__trace_grad_real(h) : NULL;
    if (real_leaf) {
        *result = dync__handle(dync__tensor_grad(real_leaf));
        return true;
    }
    dync__tracer *t = captured ? dync__tracing() : dync__tracing_or_replay();
    if (!t) return false;
    *result = NULL;
    if (captured || t->fn->opt.fullgraph) {
        dync__tensor *x = dync__trace_fake(t, h);
        if (x && dync__trace_grad_is_outside(t, x)) return true; /* no leaf: it keeps none */
        dync_status status = x ? dync__trace_grad_of(t, x, &grad) : DYNC_OK;
        if (status != DYNC_OK)
            dync__tracer_fail(t, status);
        else if (grad)
            *result = dync__handle(grad);
        return true;
    }
    dync_tensor *real = dync__opaque_read(t, h, "Tensor.grad", NULL);
    dync__script_may_write(t);
    dync__trace_pause pause = dync__trace_pause_begin(t);
    *result = real ? dync_grad(real) : NULL;
    dync__trace_pause_end(t, pause);
    return true;
}

static bool dync__trace_set_grad(dync_tensor *h, dync_tensor *grad)
{
    dync__tensor *real = grad ? NULL : dync__trace_grad_real(h);
    if (real) return dync__tensor_set_grad(real, NULL) == DYNC_OK;
    dync__tracer *t = dync__tracing();
    if (!t) return false;
    dync__tensor *x = dync__trace_fake(t, h), *g = x && grad ? dync__trace_fake(t, grad) : NULL;
    if (!x || (grad && !g)) return true;
    dync_status status = dync__trace_grad_set(t, x, g ? dync__taped_value(t, g) : NULL);
    if (status != DYNC_OK) dync__tracer_fail(t, status);
    return true;
}

/* Guarded: what is recorded is right of leaves, or of others. */
static bool dync__trace_real_leaf(dync__tracer *t, int env)
{
    bool leaf = dync__tensor_is_leaf(t->env.real.at[env]);
    dync__guard_leaf(t->entry, env, t->env.origin.at[env].foreign - 1, leaf);
    return leaf;
}

/* Backward inside the graph comes to a leaf: its gradient so far enters the trace. */
static bool dync__trace_accumulate(dync__tensor *leaf, dync_status *status)
{
    dync__tracer *t = dync__tracing();
    if (!t || !dync__tracer_owns(t, leaf)) return false;
    const dync__tensor *real = leaf->node ? NULL : t->env.real.at[leaf->node_output];
    *status = dync__trace_grad_sum(t, leaf, real && !dync__trace_real_leaf(t, leaf->node_output),
                                   t->tape.keep);
    return true;
}

/* What comes from outside is a leaf to the tape, whose gradients end there. One that has a history
 * may be written, but not where they are asked for in the graph. */
static bool dync__trace_written(const dync__tensor *leaf, dync_status *status)
{
    const dync__tracer *t = dync__tracing();
    if (!t || !t->tape.on || !dync__tracer_owns(t, leaf)) return false;
    const dync__tensor *real = leaf->node ? NULL : t->env.real.at[leaf->node_output];
    if (!real || dync__tensor_is_leaf(real)) return false;
    *status = dync__fail(DYNC_ERR_UNSUPPORTED,
                         "it writes a value from outside that has a history, in a function "
                         "compiled with fullgraph that asks for gradients (dync_backward, "
                         "dync_gradients, dync_retain_grad): write a copy (dync_clone), or compile "
                         "it without fullgraph");
    return true;
}

/* Under fullgraph it has to be. */
static bool dync__trace_may_apply(dync__tracer *t, const dync_autograd_function *fn, int nargs,
                                  const dync_value *args)
{
    if (t->tape.on || t->fn->opt.fullgraph) return !t->tape.on;
    dync__trace_pause pause = dync__trace_pause_begin(t);
    bool may = dync__apply_traceable(fn, nargs, args);
    dync__trace_pause_end(t, pause);
    return may;
}

/* A custom function is part of the graph; one that looks at values is a break: its forward runs
 * really, its node hangs in the caller's autograd graph. */
static bool dync__trace_apply(const dync_autograd_function *fn, int nargs, const dync_value *args,
                              dync_value *result)
{
    dync__tracer *t = dync__tracing_or_replay();
    dync_value real[DYNC__MAX_LEAVES];
    char reason[128];
    if (!t) return false;
    *result = DYNC_NONE;
    if (t->stopped) return true;
    if (dync__trace_may_apply(t, fn, nargs, args) && dync__apply_traced(fn, nargs, args, result))
        return true;
    if (dync__trace_wants_tape(t)) return true;
    if (t->tape.on) return dync__taped_apply(t, fn, nargs, args, result);
    dync__format(reason, sizeof reason, "torch.autograd.Function %s", fn->name ? fn->name : "?");
    if (dync__too_many(reason, nargs) || dync__trace_break(t, reason, NULL) != DYNC_OK) return true;
    for (int i = 0; i < nargs; i++) real[i] = dync__real_value(t, args[i]);
    dync__script_may_write(t);
    dync__trace_pause pause = dync__trace_pause_begin(t);
    *result = dync__apply_run(fn, nargs, real);
    dync__trace_pause_end(t, pause);
    return true;
}

/* Here, not among the hooks below: who calls no custom function links none of this. */
DYNC_API dync_value dync_apply_values(const dync_autograd_function *fn, int nargs,
                                      const dync_value *args)
{
    dync_value result;
    bool fits = fn && fn->forward && fn->backward && nargs >= 0 && (nargs == 0 || args);
    if (!DYNC__GRAD_NONE && fits && dync__trace_apply(fn, nargs, args, &result)) return result;
    return dync__apply_run(fn, nargs, args);
}

/* ---- what is asked of values ----------------------------------------------------------------- */
static bool dync__trace_expose(const dync_tensor *h)
{
    dync__tracer *t = dync__tracing();
    if (!t || t->tape.walking || t->fn->opt.fullgraph) return true;
    dync__tensor *x = dync__trace_fake(t, h);
    int env = x ? dync__effect_env(t, x) : -1;
    return x && (env < 0 || dync__tracer_written(t, x) ? dync__tracer_split(t, x, NULL) == DYNC_OK
                                                       : !dync__hook_late(t, env));
}

/* What gradients are asked of leaves its graph before anything uses it: where one node of the tape
 * stands for the graph, there is no way from its outputs to a value inside. */
static bool dync__expose_all(dync_value v)
{
    if (v.kind == DYNC_KIND_TENSOR)
        return !dync_requires_grad(v.as.t) || dync_is_leaf(v.as.t) || dync__trace_expose(v.as.t);
    for (int i = 0; v.kind == DYNC_KIND_LIST && i < dync_len(v); i++)
        if (!dync__expose_all(dync_at(v, i))) return false;
    return true;
}

static bool dync__trace_gradients(dync_value outputs, dync_value inputs, dync_value grads,
                                  dync_grad_options opt, dync_value *result)
{
    dync__tracer *t = dync__tracing_or_replay();
    if (!t || t->tape.walking) return false;
    *result = DYNC_NONE;
    if (t->stopped || dync__trace_wants_tape(t)) return true;
    if (t->tape.on) {
        *result = dync__taped_gradients(t, outputs, inputs, grads, opt);
        return true;
    }
    if (!dync__expose_all(inputs) || dync__trace_break(t, "torch.autograd.grad", NULL) != DYNC_OK)
        return true;
    dync_value o = dync__real_value(t, outputs), i = dync__real_value(t, inputs),
               g = dync__real_value(t, grads);
    dync__script_may_write(t);
    dync__trace_pause pause = dync__trace_pause_begin(t);
    *result = (dync_gradients)(o, i, g, opt);
    dync__trace_pause_end(t, pause);
    return true;
}

static bool dync__trace_retain_grad(dync_tensor *h, dync_status *status)
{
    dync__tracer *t = dync__tracing();
    dync__effect e = {.kind = DYNC__DO_RETAIN_GRAD};
    dync__tensor *grad, *x = t ? dync__trace_fake(t, h) : NULL;
    if (!t || !x || !(x->flags & DYNC__T_REQUIRES_GRAD)) return false;
    if (t->tape.on) {
        if (dync__effect_env(t, x) < 0) t->tape.inner = "dync_retain_grad";
        *status = dync__trace_grad_of(t, x, &grad);
        return *status != DYNC_OK;
    }
    *status = DYNC_ERR_RUNTIME;
    if (dync__trace_on_value(t, x, e)) *status = DYNC_OK;
    return true;
}

/* ---- leaves ---------------------------------------------------------------------------------- */
/* As the tensor is now, where the C function asks in every call. */
static bool dync__trace_is_leaf_now(const dync_tensor *h, bool *leaf)
{
    const dync__tracer *t = dync__tracing_or_replay();
    const dync__tensor *x = dync__open(h), *real = NULL;
    if (!x || !t || !dync__trace_runs_each(t)) return false;
    if (!(x->flags & DYNC__T_FAKE)) {
        int i = 0;
        while (i < t->env.real.n && t->env.real.at[i] != x) i++;
        real = x;
        if (i < t->env.real.n) x = t->env.fake.at[i];
    } else if (dync__tracer_owns(t, x)) {
        int env = dync__effect_env(t, x);
        real = env < 0 ? NULL : t->env.real.at[env];
    } else {
        return false;
    }
    *leaf = !(x->flags & DYNC__T_REQUIRES_GRAD) ||
            (real && dync__tensor_is_leaf(real) && !(x->flags & DYNC__T_WRITTEN));
    return true;
}

static bool dync__trace_is_leaf(const dync_tensor *h, bool *leaf)
{
    if (dync__trace_is_leaf_now(h, leaf)) return true;
    dync__tracer *t = dync__tracing();
    dync__tensor *x = t ? dync__trace_fake(t, h) : NULL;
    if (!x || t->tape.on) return false;
    const dync__tensor *real = x->node ? NULL : t->env.real.at[x->node_output];
    *leaf = !(x->flags & DYNC__T_REQUIRES_GRAD) ||
            (real && dync__trace_real_leaf(t, x->node_output) && !(x->flags & DYNC__T_WRITTEN));
    return true;
}

static dync_status dync__requires_grad_refused(const dync__tracer *t, const dync__tensor *x,
                                               bool on)
{
    int env = dync__effect_env(t, x);
    bool leaf = t->tape.on                        ? dync__tensor_is_leaf(x)
                : env >= 0 && t->env.real.at[env] ? dync__tensor_is_leaf(t->env.real.at[env])
                                                  : on;
    if (on && dync__dtype_info(x->dtype)->kind != 'f')
        return dync__fail(DYNC_ERR_DTYPE,
                          "only Tensors of floating point dtype can require gradients");
    if (on || leaf) return DYNC_OK;
    return dync__fail(DYNC_ERR_AUTOGRAD, "you can only change requires_grad flags of leaf "
                                         "variables. If you want to use a computed variable in a "
                                         "subgraph that doesn't require differentiation use "
                                         "var_no_grad = dync_detach(var).");
}

/* Switched on the real tensor before what comes now is run. A tensor in use already leaves its
 * graph first; under the tape what was recorded keeps its own history, so there it is switched at
 * the end. */
static bool dync__trace_requires_grad_(dync_tensor *h, bool on, dync_tensor **result)
{
    dync__tracer *t = dync__tracing();
    if (!t) return false;
    dync__tensor *x = dync__trace_fake(t, h);
    dync__effect e = {.kind = DYNC__DO_REQUIRES_GRAD, .on = on};
    bool same = x && ((x->flags & DYNC__T_REQUIRES_GRAD) != 0) == on;
    *result = same ? h : NULL;
    if (!x || same || dync__requires_grad_refused(t, x, on) != DYNC_OK) return true;
    int env = dync__effect_env(t, x);
    if (!t->tape.on && (env < 0 || t->env.holder.at[env]) &&
        (dync__trace_wants_tape(t) || dync__tracer_split(t, x, NULL) != DYNC_OK))
        return true;
    dync_status status = dync__effect_add(t, !t->tape.on, e, x);
    dync__tensor_set_requires_grad(x, on);
    if (status != DYNC_OK)
        dync__tracer_fail(t, status);
    else
        *result = h;
    return true;
}

/* ---- by need (api/link.h) -------------------------------------------------------------------- */
/* For who wants a node alone or keeps a gradient, and who switches what requires one. */
typedef struct dync__trace_late {
    bool (*expose)(const dync_tensor *);
    bool (*retain)(dync_tensor *, dync_status *status);
} dync__trace_late;
static const dync__trace_late dync__trace_late_all = {dync__trace_expose, dync__trace_retain_grad};
static const dync__trace_late *DYNC__BY_NEED dync__trace_late_used =
    DYNC__AT_FIRST(&dync__trace_late_all);
typedef struct dync__trace_flags {
    bool (*is_leaf)(const dync_tensor *, bool *leaf);
    bool (*requires_grad_)(dync_tensor *, bool on, dync_tensor **result);
} dync__trace_flags;
static const dync__trace_flags dync__trace_flags_all = {dync__trace_is_leaf,
                                                        dync__trace_requires_grad_};
static const dync__trace_flags *DYNC__BY_NEED dync__trace_flags_used =
    DYNC__AT_FIRST(&dync__trace_flags_all);
DYNC__FN void dync__capture_use_late(void)
{
    if (DYNC__GRAD_NONE) return;
    DYNC__PUT(dync__trace_late_used, &dync__trace_late_all);
    dync__effects_use_rare();
}
DYNC__FN void dync__capture_use_flags(void)
{
    if (DYNC__GRAD_NONE) return;
    DYNC__PUT(dync__trace_flags_used, &dync__trace_flags_all);
    dync__effects_use_rare();
}
static bool dync__traced_expose(const dync_tensor *h)
{
    const dync__trace_late *used = dync__trace_late_used;
    return used ? used->expose(h) : dync__unlinked("dync_grad_fn_call") == DYNC_OK;
}
static bool dync__traced_retain_grad(dync_tensor *h, dync_status *status)
{
    const dync__trace_late *used = dync__trace_late_used;
    return used ? used->retain(h, status)
                : (*status = dync__unlinked("dync_retain_grad")) != DYNC_OK;
}
static bool dync__traced_is_leaf(const dync_tensor *h, bool *leaf)
{
    const dync__trace_flags *used = dync__trace_flags_used;
    return used ? used->is_leaf(h, leaf) : dync__unlinked("dync_is_leaf") != DYNC_OK;
}
static bool dync__traced_requires_grad_(dync_tensor *h, bool on, dync_tensor **result)
{
    const dync__trace_flags *used = dync__trace_flags_used;
    return used ? used->requires_grad_(h, on, result)
                : dync__unlinked("dync_requires_grad_") != DYNC_OK;
}

static bool (*DYNC__BY_NEED dync__trace_asks)(dync_value, dync_value, dync_value, dync_grad_options,
                                              dync_value *) = DYNC__AT_FIRST(dync__trace_gradients);
DYNC__FN void dync__capture_use_asks(void)
{
    if (!DYNC__GRAD_NONE) DYNC__PUT(dync__trace_asks, dync__trace_gradients);
}
static bool dync__traced_gradients(dync_value outputs, dync_value inputs, dync_value grads,
                                   dync_grad_options opt, dync_value *result)
{
    return dync__trace_asks ? dync__trace_asks(outputs, inputs, grads, opt, result)
                            : dync__unlinked("dync_gradients") != DYNC_OK;
}

DYNC__DATA const dync__grad_intercept dync__trace_grads = {
    .backward = dync__trace_backward,
    .gradients = dync__traced_gradients,
    .grad = dync__trace_grad,
    .accumulate = dync__trace_accumulate,
    .written = dync__trace_written,
    .set_grad = dync__trace_set_grad,
    .hook = dync__traced_hook,
    .after_hook = dync__traced_after,
    .expose = dync__traced_expose,
    .remove_hook = dync__traced_remove,
    .retain_grad = dync__traced_retain_grad,
    .is_leaf = dync__traced_is_leaf,
    .requires_grad_ = dync__traced_requires_grad_,
    .cell_get = dync__traced_cell_get,
    .cell_set = dync__traced_cell_set};

/* What is left without gradients. */
static const dync__grad_intercept dync__trace_cells = {.cell_get = dync__traced_cell_get,
                                                       .cell_set = dync__traced_cell_set,
                                                       .not_linked = !DYNC__GRAD_NONE};

DYNC__FN const dync__grad_intercept *dync__capture_grads(void)
{
    const dync__capture_gradients *used = dync__capture_gradients_used;
    return dync__tracing_or_replay() ? (used ? used->intercept : &dync__trace_cells)
           : dync__verify_inside()   ? dync__verify_intercept()
                                     : NULL;
}
