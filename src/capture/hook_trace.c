/* capture/hook_trace.c: hooks in traced code, and cells: on the real tensors behind a cut, or under
 * fullgraph as part of the graph. After frame.c, before grads.c. */
#include "../dync.in.h"
#include "trace.h"
DYNC__COLD

/* Backward under fullgraph is part of the graph: the trace begins again under the tape, whose nodes
 * it needs. */
DYNC__FN bool dync__trace_wants_tape(dync__tracer *t)
{
    if (!t->fn->opt.fullgraph || t->tape.on) return false;
    t->tape.restart = t->stopped = true;
    return true;
}

/* The fake that a handle of traced code stands for; NULL + error. */
DYNC__FN dync__tensor *dync__trace_fake(dync__tracer *t, const dync_tensor *h)
{
    dync__tensor *x = t->stopped ? NULL : dync__open(h);
    return x ? dync__tracer_adopt(t, x) : NULL;
}

/* A value that its own graph has used: from the next call on that graph runs in parts, so that
 * the value leaves it first. true: an error. */
DYNC__FN bool dync__hook_late(dync__tracer *t, int env)
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
DYNC__FN bool dync__trace_on_value(dync__tracer *t, dync__tensor *x, dync__effect e)
{
    int env = dync__effect_env(t, x);
    if (env < 0 || dync__tracer_written(t, x))
        return !dync__trace_wants_tape(t) && dync__tracer_split(t, x, &e) == DYNC_OK &&
               dync__effect_env(t, x) >= 0;
    return !dync__hook_late(t, env) && dync__effect_add(t, true, e, x) == DYNC_OK;
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

/* ---- by need --------------------------------------------------------------------------------- */
/* Who registers a hook or makes a cell puts these in place (api/link.h). */
typedef struct dync__trace_hooks {
    bool (*hook)(dync_tensor *, dync_hook, void *user, int *id);
    bool (*after)(dync_tensor *, dync_param_hook, void *user, int *id);
    bool (*remove)(dync_tensor *, int id);
} dync__trace_hooks;
static const dync__trace_hooks dync__trace_hooks_all = {dync__trace_hook, dync__trace_after_hook,
                                                        dync__trace_remove_hook};
static const dync__trace_hooks *DYNC__BY_NEED dync__trace_hooks_used =
    DYNC__AT_FIRST(&dync__trace_hooks_all);
static bool (*DYNC__BY_NEED dync__trace_reads_cell)(struct dync__cell *, dync_value *) =
    DYNC__AT_FIRST(dync__trace_cell_get);
static bool (*DYNC__BY_NEED dync__trace_sets_cell)(struct dync__cell *, dync_value) =
    DYNC__AT_FIRST(dync__trace_cell_set);
DYNC__FN void dync__capture_use_hooks(void)
{
    if (DYNC__GRAD_NONE) return;
    DYNC__PUT(dync__trace_hooks_used, &dync__trace_hooks_all);
    dync__effects_use_rare();
}
DYNC__FN void dync__capture_use_cells(void)
{
    dync__cells_use();
    DYNC__PUT(dync__trace_reads_cell, dync__trace_cell_get);
    DYNC__PUT(dync__trace_sets_cell, dync__trace_cell_set);
}

/* They were put there: without that no hook, no gradient and no cell comes here. */
static bool dync__trace_unlinked(const char *what) { return dync__unlinked(what) != DYNC_OK; }
DYNC__FN bool dync__traced_hook(dync_tensor *t, dync_hook fn, void *user, int *id)
{
    const dync__trace_hooks *used = dync__trace_hooks_used;
    return used ? used->hook(t, fn, user, id) : dync__trace_unlinked("hooks");
}
DYNC__FN bool dync__traced_after(dync_tensor *t, dync_param_hook fn, void *user, int *id)
{
    const dync__trace_hooks *used = dync__trace_hooks_used;
    return used ? used->after(t, fn, user, id) : dync__trace_unlinked("hooks");
}
DYNC__FN bool dync__traced_remove(dync_tensor *t, int id)
{
    const dync__trace_hooks *used = dync__trace_hooks_used;
    return used && used->remove(t, id);
}
DYNC__FN bool dync__traced_cell_get(struct dync__cell *cell, dync_value *result)
{
    return dync__trace_reads_cell ? dync__trace_reads_cell(cell, result)
                                  : dync__trace_unlinked("cells");
}
DYNC__FN bool dync__traced_cell_set(struct dync__cell *cell, dync_value value)
{
    return dync__trace_sets_cell ? dync__trace_sets_cell(cell, value)
                                 : dync__trace_unlinked("cells");
}
