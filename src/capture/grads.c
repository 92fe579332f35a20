/* capture/grads.c: autograd inside traced code: on the real tensors after a cut, or under fullgraph
 * as part of the graph (step.c). Installed into the hooks of autograd/. After frame.c, before
 * call.c. */
#include "../dync.in.h"
#include "trace.h"
DYNC__COLD

/* ---- backward -------------------------------------------------------------------------------- */
/* Backward under fullgraph is part of the graph: the trace begins again under the tape, whose nodes
 * it needs. */
static bool dync__trace_wants_tape(dync__tracer *t)
{
    if (!t->fn->opt.fullgraph || t->tape.on) return false;
    t->tape.restart = t->stopped = true;
    return true;
}

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

/* The fake that a handle of traced code stands for; NULL + error. */
static dync__tensor *dync__trace_fake(dync__tracer *t, const dync_tensor *h)
{
    dync__tensor *x = t->stopped ? NULL : dync__open(h);
    return x ? dync__tracer_adopt(t, x) : NULL;
}

static bool dync__trace_grad(const dync_tensor *h, bool captured, dync_tensor **result)
{
    dync__tracer *t = captured ? dync__tracing() : dync__tracing_or_replay();
    dync__tensor *grad = NULL;
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

/* ---- hooks ----------------------------------------------------------------------------------- */
/* A value that its own graph has used: from the next call on that graph runs in parts, so that
 * the value leaves it first. true: an error. */
static bool dync__hook_late(dync__tracer *t, int env)
{
    const dync__origin o = t->env.origin.at[env];
    if (!o.seg || o.seg->code.run != dync__raw_run || !o.seg->used_inside ||
        !dync__segment_uses(o.seg, o.out) || dync__segment_is_apart(o.seg, o.out))
        return false;
    dync__tensor *few[DYNC__FEW], **in = dync__room(few, DYNC__FEW, o.seg->n_in, sizeof *in);
    dync_status status = in ? DYNC_OK : DYNC_ERR_MEMORY;
    for (int i = 0; i < o.seg->n_in && status == DYNC_OK; i++)
        if (!(in[i] = dync__env_real(t, o.in_env[i]))) status = DYNC_ERR_INTERNAL;
    dync__trace_pause pause = dync__trace_pause_begin(t);
    if (status == DYNC_OK) status = dync__segment_part(t->fn, o.seg, o.out, in);
    dync__trace_pause_end(t, pause);
    dync__room_end(in, few, o.seg->n_in, sizeof *in);
    if (status == DYNC_OK && !o.plain)
        status = dync__fail(DYNC_ERR_UNSUPPORTED,
                            "the first hook on a value that was used before the last graph break, "
                            "or gradient of it, in a call that ran that graph compiled: ask for it "
                            "where the value is made, or call again");
    if (status != DYNC_OK) dync__tracer_fail(t, status);
    return status != DYNC_OK;
}

/* An effect on a value as it is now. One of the graph leaves it before anything later uses it, and
 * one that the graph has written after that: no break. false: refused, or the trace begins
 * again. */
static bool dync__trace_on_value(dync__tracer *t, dync__tensor *x, dync__effect e)
{
    int env = dync__effect_env(t, x);
    if (env < 0 || dync__tracer_written(t, x))
        return !dync__trace_wants_tape(t) && dync__tracer_split(t, x, &e) == DYNC_OK &&
               dync__effect_env(t, x) >= 0;
    return !dync__hook_late(t, env) && dync__effect_add(t, true, e, x) == DYNC_OK;
}

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

/* Registered on the real tensor in every call; in backward over fakes it is part of the graph. */
static bool dync__trace_hook(dync_tensor *h, dync_hook fn, void *user, int *id)
{
    dync__tracer *t = dync__tracing();
    if (!t || t->tape.walking) return false;
    dync__tensor *x = dync__trace_fake(t, h);
    dync__effect e = {.kind = DYNC__DO_HOOK, .fn = fn, .user = user, .id = dync__hook_reserve()};
    *id = -1;
    if (!x) return true;
    if (!(x->flags & DYNC__T_REQUIRES_GRAD)) {
        dync__fail(DYNC_ERR_AUTOGRAD, "cannot register a hook on a tensor that doesn't require "
                                      "gradient");
        return true;
    }
    if (t->fn->opt.fullgraph && !t->tape.on && dync__effect_env(t, x) < 0 &&
        !dync__tracer_written(t, x)) {
        *id = dync__hooked_add(t, x, fn, user, e.id) == DYNC_OK ? e.id : -1;
        return true;
    }
    dync_status status = t->tape.on ? dync__hook_register(x, fn, user, e.id) : DYNC_OK;
    if (t->tape.on && dync__effect_env(t, x) < 0)
        t->tape.inner = "a hook on a value";
    else if (t->tape.on)
        status = status == DYNC_OK ? dync__effect_add(t, false, e, x) : status;
    else if (!dync__trace_on_value(t, x, e))
        return true;
    if (status != DYNC_OK)
        dync__tracer_fail(t, status);
    else
        *id = e.id;
    return true;
}

/* As above, of a leaf. */
static bool dync__trace_after_hook(dync_tensor *h, dync_param_hook fn, void *user, int *id)
{
    dync__tracer *t = dync__tracing();
    if (!t || t->tape.walking) return false;
    dync__tensor *x = dync__trace_fake(t, h);
    int env = x ? dync__effect_env(t, x) : -1;
    dync__effect e = {
        .kind = DYNC__DO_HOOK, .after_grad = fn, .user = user, .id = dync__hook_reserve()};
    const dync__tensor *real = env >= 0 ? t->env.real.at[env] : NULL;
    *id = -1;
    if (!x) return true;
    if (!(x->flags & DYNC__T_REQUIRES_GRAD)) {
        dync__fail(DYNC_ERR_AUTOGRAD,
                   "cannot register a hook on a tensor that doesn't require gradient");
        return true;
    }
    if (!real || !dync__tensor_is_leaf(real)) {
        dync__fail(DYNC_ERR_AUTOGRAD,
                   "post accumulate grad hooks cannot be registered on non-leaf tensors");
        return true;
    }
    dync_status status = t->tape.on ? dync__hook_register_after(x, fn, user, e.id) : DYNC_OK;
    if (status == DYNC_OK) status = dync__effect_add(t, !t->tape.on, e, x);
    if (status != DYNC_OK)
        dync__tracer_fail(t, status);
    else
        *id = e.id;
    return true;
}

static bool dync__trace_remove_hook(dync_tensor *h, int id)
{
    dync__tracer *t = dync__tracing();
    if (!t || t->stopped) return false;
    if (dync__hooked_remove(t, id)) return true;
    bool waiting = dync__effect_cancel(t, id), absent = waiting;
    if (t->tape.on) return false; /* the fake has it too */
    dync__tensor *x = waiting ? NULL : dync__trace_fake(t, h);
    dync_status status = x ? dync__effect_hook_absent(t, x, id, &absent) : DYNC_OK;
    if (status != DYNC_OK) dync__tracer_fail(t, status);
    if (absent || !x) return true;
    dync_tensor *real = dync__opaque_read(t, h, "Tensor.remove_hook", NULL);
    dync__trace_pause pause = dync__trace_pause_begin(t);
    if (real) dync_remove_hook(real, id);
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
static bool dync__trace_is_leaf(const dync_tensor *h, bool *leaf)
{
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

/* ---- by need --------------------------------------------------------------------------------- */
/* Who registers a hook, asks for gradients or makes a cell puts these in place (api/link.h). */
typedef struct dync__trace_hooks {
    bool (*hook)(dync_tensor *, dync_hook, void *user, int *id);
    bool (*after)(dync_tensor *, dync_param_hook, void *user, int *id);
    bool (*remove)(dync_tensor *, int id);
} dync__trace_hooks;
static const dync__trace_hooks dync__trace_hooks_all = {dync__trace_hook, dync__trace_after_hook,
                                                        dync__trace_remove_hook};
static const dync__trace_hooks *DYNC__BY_NEED dync__trace_hooks_used =
    DYNC__AT_FIRST(&dync__trace_hooks_all);
static bool (*DYNC__BY_NEED dync__trace_asks)(dync_value, dync_value, dync_value, dync_grad_options,
                                              dync_value *) = DYNC__AT_FIRST(dync__trace_gradients);
static bool (*DYNC__BY_NEED dync__trace_reads_cell)(struct dync__cell *, dync_value *) =
    DYNC__AT_FIRST(dync__trace_cell_get);
static bool (*DYNC__BY_NEED dync__trace_sets_cell)(struct dync__cell *, dync_value) =
    DYNC__AT_FIRST(dync__trace_cell_set);
DYNC__FN void dync__capture_use_hooks(void)
{
    DYNC__PUT(dync__trace_hooks_used, &dync__trace_hooks_all);
}
DYNC__FN void dync__capture_use_asks(void) { DYNC__PUT(dync__trace_asks, dync__trace_gradients); }
DYNC__FN void dync__capture_use_cells(void)
{
    DYNC__PUT(dync__trace_reads_cell, dync__trace_cell_get);
    DYNC__PUT(dync__trace_sets_cell, dync__trace_cell_set);
}

/* They were put there: without that no hook, no gradient and no cell comes here. */
static bool dync__trace_unlinked(const char *what) { return dync__unlinked(what) != DYNC_OK; }
static bool dync__traced_hook(dync_tensor *t, dync_hook fn, void *user, int *id)
{
    const dync__trace_hooks *used = dync__trace_hooks_used;
    return used ? used->hook(t, fn, user, id) : dync__trace_unlinked("hooks");
}
static bool dync__traced_after(dync_tensor *t, dync_param_hook fn, void *user, int *id)
{
    const dync__trace_hooks *used = dync__trace_hooks_used;
    return used ? used->after(t, fn, user, id) : dync__trace_unlinked("hooks");
}
static bool dync__traced_remove(dync_tensor *t, int id)
{
    const dync__trace_hooks *used = dync__trace_hooks_used;
    return used && used->remove(t, id);
}
static bool dync__traced_gradients(dync_value outputs, dync_value inputs, dync_value grads,
                                   dync_grad_options opt, dync_value *result)
{
    return dync__trace_asks ? dync__trace_asks(outputs, inputs, grads, opt, result)
                            : dync__trace_unlinked("dync_gradients");
}
static bool dync__traced_cell_get(struct dync__cell *cell, dync_value *result)
{
    return dync__trace_reads_cell ? dync__trace_reads_cell(cell, result) : dync__trace_unlinked("cells");
}
static bool dync__traced_cell_set(struct dync__cell *cell, dync_value value)
{
    return dync__trace_sets_cell ? dync__trace_sets_cell(cell, value) : dync__trace_unlinked("cells");
}

DYNC__DATA const dync__grad_intercept dync__trace_grads = {
    .backward = dync__trace_backward,
    .gradients = dync__traced_gradients,
    .grad = dync__trace_grad,
    .accumulate = dync__trace_accumulate,
    .set_grad = dync__trace_set_grad,
    .hook = dync__traced_hook,
    .after_hook = dync__traced_after,
    .expose = dync__trace_expose,
    .remove_hook = dync__traced_remove,
    .retain_grad = dync__trace_retain_grad,
    .is_leaf = dync__trace_is_leaf,
    .requires_grad_ = dync__trace_requires_grad_,
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
