/* capture/effects.c: what a traced function does besides computing: gradients read and set, hooks
 * registered, requires_grad switched. After trace.c, before cut.c, which flushes effects after the
 * segments that they follow.
 *
 * During the trace a fake's .grad is the value that the program would see there. A gradient read
 * enters the environment as an input with a guard of its own (a foreign tensor found through its
 * owner); what differs at a cut is set on the real tensors, and kept in the tree so that calls
 * which do not run the C function do the same. */
#include "../dync.in.h"
#include "trace.h"
DYNC__COLD

/* ---- gradients ------------------------------------------------------------------------------- */
/* The record of a tensor whose gradient this call has read or set; -1: none yet. */
static int dync__trace_grad_at(const dync__tracer *t, const dync__tensor *fake)
{
    for (int i = 0; i < t->effects.grads.n; i++)
        if (t->effects.grads.at[i].of == fake) return i;
    return -1;
}

/* From now on the fake's .grad is what the program sees; what it is at this moment is kept, to
 * tell at the cut whether it has changed. */
static dync_status dync__trace_grad_note(dync__tracer *t, dync__tensor *fake, bool read)
{
    dync__grad_record g = {.of = fake, .before = dync__tensor_grad(fake), .read = read};
    if (!dync__vec_push(&t->effects.grads, g)) return DYNC_ERR_MEMORY;
    dync__ref(fake);
    if (g.before) dync__ref(g.before);
    return DYNC_OK;
}

/* How guards find the owner of a gradient: see dync__foreign; 0: not at all, it was computed by
 * this call. */
static int32_t dync__grad_owner(const dync__tracer *t, int env)
{
    for (int i = 0; i < t->entry->n_tensors; i++)
        if (t->leaf[i] == env) return i + 1;
    return -t->env.origin.at[env].foreign;
}

static int dync__grad_foreign_find(const dync__cache_entry *e, int32_t owner)
{
    int k = 0;
    while (k < e->foreign.n && (e->foreign.at[k].owner != owner || e->foreign.at[k].is_hooks)) k++;
    return k;
}

/* The entry serves calls only where the owner has a gradient like this one, or none. */
static dync_status dync__grad_guard(dync__tracer *t, int32_t owner, dync__tensor *grad)
{
    dync__cache_entry *e = t->entry;
    dync__foreign f = {.owner = owner, .absent = !grad};
    const char *of = owner > 0 ? e->tensor[owner - 1].source
                               : e->foreign.at[-owner - 1].guard.source;
    static const char own[] = "%s.grad";
    const char *source = dync__arena_printf(&e->arena, own, of);
    if (!source) return DYNC_ERR_MEMORY;
    f.guard.source = source;
    f.guard.same_as = f.guard.shares_storage = f.shares_foreign = -1;
    if (grad) {
        DYNC__TRY(dync__tensor_guard_make(&e->arena, &f.guard, grad, source));
        dync__foreign_aliases(e, t->call, &f, grad);
    }
    return dync__entry_push(e, &e->foreign, f) ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* The place of a real tensor's gradient; an argument that is that very tensor has one already. -1:
 * no memory. */
static int dync__grad_env(dync__tracer *t, int env, int k, dync__tensor *grad)
{
    for (int i = 0; i < t->entry->n_leaf_env; i++)
        if (t->env.real.at[i] == grad) return i;
    int at = dync__tracer_env_real(t, grad);
    if (at < 0) return -1;
    t->env.origin.at[at].is_grad = true;
    dync__foreign_use use = {.env = at, .index = k, .owner_env = env};
    if (!t->at) return at;
    return dync__avec_push(&t->entry->arena, &t->at->foreign, use) ? at : -1;
}

/* The gradient that the real tensor has now enters the trace. On a replayed way it is what the run
 * so far found there. */
static dync_status dync__trace_grad_read(dync__tracer *t, dync__tensor *fake)
{
    int env = fake->node_output, k = 0;
    dync__tensor *real = dync__env_real(t, env);
    if (!real) return DYNC_ERR_INTERNAL;
    dync__tensor *grad = dync__tensor_grad(real);
    if (t->on_tree) {
        int32_t owner = dync__grad_owner(t, env);
        /* a value of this call: nobody has set its gradient yet */
        if (!owner) return DYNC_OK;
        k = dync__grad_foreign_find(t->entry, owner);
        if (k == t->entry->foreign.n)
            DYNC__TRY(dync__grad_guard(t, owner, grad));
        else if (t->entry->foreign.at[k].absent)
            grad = NULL;
        else
            grad = t->way->found(t, grad);
    }
    if (!grad) return DYNC_OK;
    int at = dync__grad_env(t, env, k, grad);
    return at < 0 ? DYNC_ERR_MEMORY : dync__tensor_set_grad(fake, t->env.fake.at[at]);
}

/* The gradient as the program sees it, borrowed, NULL for none. The first read of a tensor from
 * outside brings its real gradient into the trace. */
DYNC__FN dync_status dync__trace_grad_of(dync__tracer *t, dync__tensor *fake, dync__tensor **grad)
{
    dync_status status = DYNC_OK;
    if (dync__trace_grad_at(t, fake) < 0) {
        if (!fake->node) status = dync__trace_grad_read(t, fake);
        if (status == DYNC_OK) status = dync__trace_grad_note(t, fake, true);
    }
    *grad = dync__tensor_grad(fake);
    return status;
}

/* What a backward outside gives to such a value is there when the call is over: nobody can read it
 * before. */
DYNC__FN bool dync__trace_grad_is_outside(dync__tracer *t, const dync__tensor *fake)
{
    int i = dync__trace_grad_at(t, fake), env = dync__effect_env(t, fake);
    if (i < 0 || !t->effects.grads.at[i].outside) return false;
    if (env >= 0 && t->env.real.at[env] && dync__hook_retains(t->env.real.at[env]))
        (void)dync__tracer_fail(
            t, dync__fail(DYNC_ERR_UNSUPPORTED,
                          "dync_grad in a function compiled with fullgraph: a value from outside "
                          "that keeps its gradient (dync_retain_grad) has it when the call is "
                          "over: read it there, or compile the function without fullgraph"));
    return true;
}

/* A value from outside that keeps its gradient is given one by dync_gradients, and one outside. */
static dync_status dync__trace_kept_twice(dync__tracer *t)
{
    return dync__tracer_fail(
        t, dync__fail(DYNC_ERR_UNSUPPORTED,
                      "dync_gradients and dync_backward in a function compiled with fullgraph, of "
                      "one value from outside that keeps its gradient (dync_retain_grad): compile "
                      "the function without fullgraph"));
}

/* Backward came to a leaf, or to a tensor that was computed outside, where what arrives is
 * collected. */
DYNC__FN dync_status dync__trace_grad_sum(dync__tracer *t, dync__tensor *fake, bool outside,
                                          bool keep)
{
    dync__tensor *grad;
    if (!outside) DYNC__TRY(dync__trace_grad_of(t, fake, &grad));
    int i = dync__trace_grad_at(t, fake);
    if (i >= 0 && outside && t->effects.grads.at[i].kept) return dync__trace_kept_twice(t);
    if (i < 0) {
        DYNC__TRY(dync__trace_grad_note(t, fake, false));
        i = t->effects.grads.n - 1;
    }
    t->effects.grads.at[i].outside = outside;
    t->effects.grads.at[i].summed = true;
    t->effects.grads.at[i].keep |= keep;
    return DYNC_OK;
}

DYNC__FN dync_status dync__trace_grad_set(dync__tracer *t, dync__tensor *fake, dync__tensor *grad)
{
    if (dync__trace_grad_at(t, fake) < 0) DYNC__TRY(dync__trace_grad_note(t, fake, false));
    return dync__tensor_set_grad(fake, grad);
}

/* ---- at a cut -------------------------------------------------------------------------------- */
/* One that was set without being read counts as changed: what it was before is not known. */
static bool dync__grad_changed(const dync__grad_record *g)
{
    return !g->read || g->before != dync__tensor_grad(g->of);
}

/* Pending values that an effect will store must leave their graph at this cut, although the C
 * function may hold no handle of them. */
DYNC__FN void dync__effects_mark(const dync__tracer *t, bool *live)
{
    for (int k = 0; k < t->effects.grads.n; k++) {
        const dync__tensor *grad = dync__tensor_grad(t->effects.grads.at[k].of);
        for (int i = 0; grad && dync__grad_changed(&t->effects.grads.at[k]) && i < t->rec.made.n;
             i++)
            if (t->rec.made.at[i] == grad) live[i] = true;
    }
    for (int k = 0; k < t->effects.after.n; k++)
        for (int i = 0; t->effects.after.at[k].effect.kind == DYNC__DO_CELL && i < t->rec.made.n;
             i++)
            if (t->rec.made.at[i] == t->effects.after.at[k].of) live[i] = true;
}

/* The fake's place in the environment; -1 while it is pending in the graph. */
DYNC__FN int dync__effect_env(const dync__tracer *t, const dync__tensor *fake)
{
    int env = fake->node ? -1 : fake->node_output;
    return env >= 0 && env < t->env.fake.n && t->env.fake.at[env] == fake ? env : -1;
}

/* Keeps the effects in the tree and does them now, outside the trace. A hook's id is this call's
 * only: later calls register the hook anew. */
DYNC__FN dync_status dync__record_effects(dync__tracer *t, dync__effect *e, int n)
{
    for (int i = 0; i < n; i++) {
        e[i].after = t->at ? t->at->seg.n : 0;
        dync__effect again = e[i];
        if (again.kind == DYNC__DO_HOOK) again.id = 0;
        if (t->at && !dync__avec_push(&t->entry->arena, &t->at->effect, again))
            return DYNC_ERR_MEMORY;
        if (again.value >= 0 && !dync__env_real(t, again.value)) return DYNC_ERR_INTERNAL;
    }
    t->entry->effects = true;
    dync__trace_pause pause = dync__trace_pause_begin(t);
    dync_status status = dync__effects_run(e, n, t->env.real.at);
    dync__trace_pause_end(t, pause);
    return status;
}

/* The real gradient is set where the program changed it; afterwards the record counts as read, so
 * that an unchanged gradient is not set again at the next cut. */
static dync_status dync__grad_flush(dync__tracer *t, dync__grad_record *g, dync__effect *out,
                                    int *n)
{
    dync__tensor *grad = dync__tensor_grad(g->of);
    int env = dync__effect_env(t, g->of), value = grad ? dync__effect_env(t, grad) : -1;
    if (!dync__grad_changed(g) || env < 0) return DYNC_OK; /* of a value that nobody sees */
    if (g->outside && !grad) return DYNC_OK;
    if (grad && value < 0)
        return dync__fail(DYNC_ERR_INTERNAL, "a gradient set in a traced "
                                             "function did not leave its graph");
    out[(*n)++] = (dync__effect){.kind = g->outside ? DYNC__DO_BACKWARD : DYNC__DO_SET_GRAD,
                                 .on = g->summed,
                                 .id = g->keep,
                                 .env = env,
                                 .value = value};
    if (g->outside) return dync__tensor_set_grad(g->of, NULL);
    if (grad) dync__ref(grad);
    dync__unref(g->before);
    g->before = grad;
    g->read = true;
    return DYNC_OK;
}

/* Done in order; what has not left its graph is seen by nobody. */
static dync_status dync__effects_do(dync__tracer *t, dync__effect_wait *at, int n)
{
    dync_status status = DYNC_OK;
    for (int i = 0; i < n; i++) {
        at[i].effect.env = at[i].of ? dync__effect_env(t, at[i].of) : -1;
        if (status == DYNC_OK && (at[i].effect.env >= 0 || !at[i].of))
            status = t->way->effects(t, &at[i].effect, 1);
        dync__unref(at[i].of);
    }
    return status;
}

DYNC__FN dync_status dync__effects_begin(dync__tracer *t)
{
    int n = t->effects.before.n;
    t->effects.before.n = 0;
    return dync__effects_do(t, t->effects.before.at, n);
}

DYNC__FN dync_status dync__effects_flush(dync__tracer *t)
{
    int n = t->effects.after.n;
    t->effects.after.n = 0;
    DYNC__TRY(dync__effects_begin(t));
    DYNC__TRY(dync__effects_do(t, t->effects.after.at, n));
    if (!(n = t->effects.grads.n)) return DYNC_OK;
    dync__effect *e = dync__alloc((size_t)n * sizeof *e);
    int k = 0;
    dync_status status = e ? DYNC_OK : DYNC_ERR_MEMORY;
    for (int i = 0; i < n && status == DYNC_OK; i++)
        status = dync__grad_flush(t, &t->effects.grads.at[i], e, &k);
    if (status == DYNC_OK && k) status = t->way->effects(t, e, k);
    dync__free(e, (size_t)n * sizeof *e);
    return status;
}

/* Waits for the next cut: `before` its segments or after them. Takes a reference on the fake. */
DYNC__FN dync_status dync__effect_add(dync__tracer *t, bool before, dync__effect e,
                                      dync__tensor *fake)
{
    dync__effect_wait w = {e, fake};
    w.effect.value = -1;
    if (before ? !dync__vec_push(&t->effects.before, w) : !dync__vec_push(&t->effects.after, w))
        return DYNC_ERR_MEMORY;
    if (fake) dync__ref(fake);
    return DYNC_OK;
}

/* A hook removed before it was registered for real: it just stops waiting. false: no such hook
 * waits. */
DYNC__FN bool dync__effect_cancel(dync__tracer *t, int id)
{
    for (int i = 0; i < t->effects.before.n + t->effects.after.n; i++) {
        bool early = i < t->effects.before.n;
        dync__effect_wait *w = early ? &t->effects.before.at[i]
                                     : &t->effects.after.at[i - t->effects.before.n];
        if (w->effect.kind != DYNC__DO_HOOK || w->effect.id != id) continue;
        dync__unref(w->of);
        int *n = early ? &t->effects.before.n : &t->effects.after.n,
            after = early ? --*n - i : --*n - (i - t->effects.before.n);
        memmove(w, w + 1, (size_t)after * sizeof *w);
        return true;
    }
    return false;
}

/* ---- hooks that are there already ------------------------------------------------------------ */
/* The entry serves calls only where that tensor has the hooks that it has now. */
static dync_status dync__effect_hooks_guard(dync__tracer *t, int env, const dync__tensor *real)
{
    dync__cache_entry *e = t->entry;
    int32_t owner = dync__grad_owner(t, env);
    if (!t->on_tree || !owner) return DYNC_OK;
    for (int i = 0; i < e->foreign.n; i++)
        if (e->foreign.at[i].is_hooks && e->foreign.at[i].owner == owner) return DYNC_OK;
    dync__foreign f = {
        .owner = owner, .is_hooks = true, .hooks = dync__hooks_mark(real), .shares_foreign = -1};
    f.guard.source = owner > 0 ? e->tensor[owner - 1].source
                               : e->foreign.at[-owner - 1].guard.source;
    f.guard.same_as = f.guard.shares_storage = -1;
    return dync__entry_push(e, &e->foreign, f) ? DYNC_OK : DYNC_ERR_MEMORY;
}

DYNC__FN dync_status dync__effect_hook_absent(dync__tracer *t, const dync__tensor *fake, int id,
                                              bool *absent)
{
    int env = dync__effect_env(t, fake);
    const dync__tensor *real = env >= 0 ? t->env.real.at[env] : NULL;
    *absent = env < 0 ||
              (real && !dync__hook_is_on(real, id) &&
               !(t->on_tree && t->entry->effects)); /* effects: what it has is this call's */
    return *absent && real && id >= 0 && dync__tensor_requires_grad(real)
               ? dync__effect_hooks_guard(t, env, real)
               : DYNC_OK;
}

static dync_status dync__effect_hooks_of(dync__tracer *t, int env, const dync__tensor *real)
{
    DYNC__TRY(dync__effect_hooks_guard(t, env, real));
    return dync__hooks_copy(t->env.fake.at[env], real);
}

DYNC__FN dync_status dync__effect_hooks(dync__tracer *t)
{
    for (; t->effects.hooks_seen < t->env.real.n; t->effects.hooks_seen++) {
        const dync__tensor *real = t->env.real.at[t->effects.hooks_seen];
        if (!real || !dync__tensor_requires_grad(real) || !dync__tensor_is_leaf(real)) continue;
        DYNC__TRY(dync__effect_hooks_of(t, t->effects.hooks_seen, real));
    }
    return DYNC_OK;
}

/* dync_gradients gave a value from outside a gradient: it keeps it, as plain, where it was asked to
 * (dync_retain_grad). Its hooks would have to see it first. */
DYNC__FN dync_status dync__effect_gradient(dync__tracer *t, dync__tensor *of, dync__tensor *grad)
{
    int env = dync__effect_env(t, of), at = dync__trace_grad_at(t, of);
    const dync__tensor *real = env >= 0 ? t->env.real.at[env] : NULL;
    if (!real || !dync__tensor_requires_grad(real) || dync__tensor_is_leaf(real)) return DYNC_OK;
    DYNC__TRY(dync__effect_hooks_guard(t, env, real));
    uint64_t mark = dync__hooks_mark(real);
    if (mark & 2)
        return dync__tracer_fail(
            t, dync__fail(DYNC_ERR_UNSUPPORTED,
                          "dync_gradients in a function compiled with fullgraph, of a value from "
                          "outside that has a hook: compile the function without fullgraph"));
    if (!(mark & 1) || !grad) return DYNC_OK;
    if (at >= 0 && t->effects.grads.at[at].outside) return dync__trace_kept_twice(t);
    DYNC__TRY(dync__trace_grad_set(t, of, grad));
    t->effects.grads.at[dync__trace_grad_at(t, of)].kept = true;
    return DYNC_OK;
}

DYNC__OFTEN DYNC__FN void dync__effects_forget(dync__tracer *t)
{
    for (int i = 0; i < t->effects.grads.n; i++) {
        (void)dync__tensor_set_grad(t->effects.grads.at[i].of, NULL);
        dync__unref(t->effects.grads.at[i].of);
        dync__unref(t->effects.grads.at[i].before);
    }
    t->effects.grads.n = 0;
    t->symbols.cell.n = 0;
}

DYNC__OFTEN DYNC__FN void dync__effects_free(dync__tracer *t)
{
    dync__effects_forget(t);
    for (int i = 0; i < t->effects.hooked.n; i++) dync__unref(t->effects.hooked.at[i].of);
    dync__vec_free(&t->effects.hooked);
    for (int i = 0; i < t->effects.after.n; i++) dync__unref(t->effects.after.at[i].of);
    for (int i = 0; i < t->effects.before.n; i++) dync__unref(t->effects.before.at[i].of);
    dync__vec_free(&t->effects.after);
    dync__vec_free(&t->effects.before);
    dync__vec_free(&t->effects.grads);
}
