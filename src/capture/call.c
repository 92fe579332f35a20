/* capture/call.c: one traced call from its beginning to its end. After install.c, before
 * lint_trace.c. */
#include "../dync.in.h"
#include "trace.h"
DYNC__COLD

/* ---- opening and closing --------------------------------------------------------------------- */
DYNC__OFTEN DYNC__FN dync_status dync__tracer_open(dync__tracer *t, dync__compiled *f,
                                                   dync__cache_entry *e, const dync__callargs *call,
                                                   const dync__path *path_or_null)
{
    static uint64_t ids;
    memset(t, 0, offsetof(dync__tracer, life));
    t->fn = f;
    t->entry = e;
    t->call = call;
    t->id = DYNC__ATOMIC_INC(&ids);
    t->handler.call = dync__tracer_call;
    t->handler.state = t;
    t->way = dync__recording_way();
    t->outer = dync__tls.capture_state;
    t->frames_before = DYNC__ATOMIC_PEEK(&f->n_frames);
    t->grad_mode_before = !dync__grad_is_off();
    dync__tls.capture_state = t;
    dync__tls.compiling = true;
    dync__handler_push(&t->handler);
    t->symbols.outer = dync__tls.syms;
    dync__tls.syms = NULL;
    bool fresh = !e->leaf_env, scripted = !path_or_null && DYNC__ATOMIC_LOAD(&e->open) &&
                                          !dync__capture_log_now && dync__script_table();
    if (path_or_null) dync__script_table()->path(t, path_or_null);
    if (scripted && dync__script_table()->replay(t)) return t->status;
    DYNC__TRY(dync__shapes_open(t));
    if (fresh && !(e->leaf_env = dync__arena_alloc(&e->arena, (size_t)(call->n_tensors + 1) *
                                                                  sizeof *e->leaf_env)))
        return DYNC_ERR_MEMORY;
    for (int i = 0; i < call->n_tensors; i++) {
        int same = e->tensor[i].same_as;
        t->leaf[i] =
            same >= 0 ? t->leaf[same]
                      : dync__tracer_env_add(
                            t, call->tensor[i],
                            dync__fake_of(call->tensor[i],
                                          t->symbols.sizes ? &e->leaf[i] : &call->tensor[i]->lay));
        if (t->leaf[i] < 0) return DYNC_ERR_MEMORY;
        if (path_or_null) dync__env_as_guarded(t, t->leaf[i], &e->tensor[i]);
        if (fresh) e->leaf_env[i] = t->leaf[i];
    }
    if (fresh) e->n_leaf_env = t->env.real.n;
    DYNC__TRY(dync__numbers_open(t));
    if (scripted) dync__script_table()->begin(t);
    return DYNC_OK;
}

DYNC__OFTEN DYNC__FN void dync__tracer_close(dync__tracer *t)
{
    bool failed = t->status != DYNC_OK;
    t->way->close(t);
    dync__taped_close(t);
    dync__effects_free(t);
    dync__numbers_close(t);
    dync__data_close(t);
    for (int i = 0; i < t->rec.made.n; i++) {
        t->rec.made.at[i]->node = NULL;
        if (!dync__script_takes(t, t->rec.made.at[i])) dync__unref(t->rec.made.at[i]);
    }
    for (int i = 0; i < t->env.real.n; i++) {
        dync__unref(t->env.real.at[i]);
        dync__unref(t->env.fake.at[i]);
    }
    dync__graph_unref(t->rec.graph);
    for (int i = 0; i < t->transient.n; i++) dync__segment_free(t->transient.at[i]);
    dync__vec_free(&t->transient);
    dync__env_free(&t->env);
    dync__vec_free(&t->rec.made);
    dync__vec_free(&t->rec.frames);
    dync__arena_free(&t->scratch);
    dync__script_end(t, failed);
    dync__handler_pop(&t->handler);
    dync__tls.capture_state = t->outer;
    dync__tls.compiling = t->outer != NULL;
    dync__shapes_close(t);
}

/* ---- the function runs ----------------------------------------------------------------------- */
/* The arguments as the traced function sees them: tensors are fakes, lists are rebuilt. */
typedef struct dync__trace_leaves {
    dync__tracer *t;
    int k;
} dync__trace_leaves;

DYNC__OFTEN static dync_tensor *dync__trace_leaf(void *user, dync_tensor *h)
{
    dync__trace_leaves *l = user;
    (void)h;
    return dync__handle(l->t->env.fake.at[l->t->leaf[l->k++]]);
}

DYNC__OFTEN DYNC__FN dync_status dync__trace_arguments(dync__tracer *t, dync_value *out)
{
    dync__trace_leaves leaves = {t, 0};
    for (int i = 0; i < t->call->nargs; i++) {
        if (dync__number_argument(t, i, &out[i])) continue;
        out[i] = dync__value_map(t->call->args[i], dync__trace_leaf, &leaves);
        if (out[i].kind == DYNC_KIND_NONE && t->call->args[i].kind != DYNC_KIND_NONE)
            return DYNC_ERR_MEMORY;
    }
    return DYNC_OK;
}

/* Runs the C function in an open trace. */
DYNC__OFTEN static dync_status dync__trace_body(dync__tracer *t, dync__outval *out)
{
    dync_value few[4], *args = few; /* nothing that ends a left trace looks at them */
    uint64_t errors = dync__error_count();
    if (t->call->nargs > DYNC__COUNT_OF(few))
        args = dync__arena_alloc(&t->scratch, (size_t)t->call->nargs * sizeof *args);
    if (!args) return DYNC_ERR_MEMORY;
    DYNC__TRY(dync__trace_arguments(t, args));
    dync_value r = dync__frame_body(t, &t->fn->callee, t->fn->name, t->call->nargs, args);
    dync__wait_over(&t->life.wait);
    if (t->status != DYNC_OK || t->tape.restart) return t->status;
    if (dync__error_count() != errors && dync_error() != DYNC_OK) return dync_error();
    if (dync__lints()) dync__lints()->result(t, &r);
    return t->way->finish(t, r, out);
}

/* What a trace that begins again has left in its entry: under fullgraph nothing else has seen it
 * yet. */
static void dync__trace_undo(dync__cache_entry *e)
{
    e->foreign.n = e->ints.n = e->modules.n = e->cells.n = 0;
    e->root = NULL;
    e->leaf_env = NULL;
    e->n_env = 0;
}

DYNC__OFTEN static dync_status dync__trace_once(dync__tracer *t, dync__cache_entry *e,
                                                dync__outval *out)
{
    if (!e->root && !DYNC__ATOMIC_LOAD(&e->open)) {
        e->root = dync__arena_alloc(&e->arena, sizeof *e->root);
        if (!e->root) return DYNC_ERR_MEMORY;
        e->root->grad_mode_after = -1;
    }
    t->on_tree = !DYNC__ATOMIC_LOAD(&e->open);
    t->at = t->on_tree && !t->path.n ? e->root : NULL;
    return dync__trace_body(t, out);
}

static bool dync__trace_is_sized(const dync__tracer *t)
{
    bool any = false;
    for (int k = 0; t->entry->dynamic && k < t->call->n_tensors; k++)
        any = any || t->entry->dynamic[k] != 0;
    return any;
}

/* A first trace under fullgraph is kept quiet: where it comes to a backward, a second one is the
 * real one. So is that where sizes are symbolic: what cannot be traced with them (restart, again)
 * is with plain ones. */
DYNC__OFTEN static dync_status dync__trace_attempt(dync__tracer *t, dync__cache_entry *e,
                                                   dync__outval *out)
{
    if (!t->fn->opt.fullgraph || (t->tape.on && !dync__trace_is_sized(t)))
        return dync__trace_once(t, e, out);
    uint64_t errors = dync__error_count();
    dync__error_guard_begin(&t->life.guard);
    t->life.guarded = true;
    dync_status status = dync__trace_once(t, e, out);
    t->life.guarded = false;
    const dync__error_slot *inner = dync__error_guard_end(&t->life.guard);
    t->tape.restart |= t->tape.on && status != DYNC_OK && status != DYNC_ERR_MEMORY &&
                       t->symbols.sizes->violated < 0;
    if (t->tape.restart)
        dync__tls.error_count = errors;
    else
        dync__error_raise(inner);
    return status;
}

/* ---- entries --------------------------------------------------------------------------------- */
DYNC__RARE DYNC__FN void dync__entry_free(dync__cache_entry *e)
{
    if (!e) return;
    if (e->scripts) dync__script_table()->free(e->scripts);
    dync__constants_free(e);
    if (e->lint) dync__lints()->free(e->lint);
    dync__shapes_free(e);
    dync__arena_free(&e->arena);
    dync__free(e, sizeof *e);
}

/* ---- left early ------------------------------------------------------------------------------ */
/* The frames between here and the traced function are gone: nothing on their stack is looked at.
 * The thread and the entry are as before the call, but for what segments of it have done. */
DYNC__RARE DYNC__FN void dync__trace_unwind(dync__wait *w, const dync__wait *rest, bool quiet)
{
    (void)rest;
    dync__tracer *t = (dync__tracer *)(void *)((char *)w - offsetof(dync__tracer, life));
    static dync__callargs nothing; /* empty, never written: the call's arguments are gone too */
    dync__compiled *f = t->fn;
    dync__cache_entry *e = t->entry;
    bool owns = t->life.owns_entry, grad_off = !t->grad_mode_before;
    if (!quiet)
        dync__warn("function '%s' was left while it was traced (by longjmp or an exception): its "
                   "trace is undone, and the call gives nothing",
                   f->name);
    (void)dync__handler_swap(&t->handler);
    if (dync__lints()) dync__lints()->abandon();
    if (t->life.guarded) (void)dync__error_guard_end(&t->life.guard);
    /* a miss has its arguments on the heap (cache.c) */
    if (owns) dync__free((void *)(uintptr_t)t->call, sizeof *t->call);
    t->call = &nothing;
    (void)dync__tracer_fail(t, DYNC_ERR_RUNTIME);
    dync_scope_end(&t->life.scope);
    if (t->fresh) dync__callbacks_end();
    if (t->life.extends) { /* a half-grown tree is not kept */
        DYNC__ATOMIC_STORE(&e->dead, true);
        DYNC__ATOMIC_STORE(&e->extending, 0);
    }
    dync__tracer_close(t);
    dync__grad_off(grad_off);
    dync__free(t, sizeof *t);
    if (owns) dync__entry_free(e);
    if (f->owner == &dync__tls && f->depth > 0) f->depth--;
}

/* ---- a call ---------------------------------------------------------------------------------- */
/* It begins again as long as it asks for that. */
DYNC__OFTEN static dync_status dync__trace_run(dync__tracer *t, dync__compiled *f,
                                               dync__cache_entry *e, const dync__callargs *call,
                                               const dync__path *path_or_null, dync__outval *out)
{
    dync_status status = dync__tracer_open(t, f, e, call, path_or_null);
    bool fresh = t->life.owns_entry;
    t->fresh = fresh;
    if (fresh) dync__callbacks_start();
    t->life.scope = dync_scope_begin();
    if (status == DYNC_OK) status = dync__trace_attempt(t, e, out);
    while (t->tape.restart) {
        bool again = t->tape.on;
        dync__grad_off(!t->grad_mode_before);
        dync_scope_end(&t->life.scope);
        dync__tracer_close(t);
        dync__trace_undo(e);
        if (again) dync__shapes_give_up(e, call);
        t->life.scope = dync_scope_begin();
        status = dync__tracer_open(t, f, e, call, NULL);
        t->fresh = fresh;
        dync__taped_open(t);
        if (dync__lints()) dync__lints()->restart(t);
        if (status == DYNC_OK) status = dync__trace_attempt(t, e, out);
    }
    if (t->fresh) dync__callbacks_end();
    return status;
}

DYNC__OFTEN DYNC__NOINLINE DYNC__FN dync_status dync__trace_call(dync__compiled *f,
                                                                 dync__cache_entry *e,
                                                                 const dync__callargs *call,
                                                                 const dync__path *path_or_null,
                                                                 dync_value *result)
{
    if (call->nargs > DYNC__MAX_LEAVES * 2)
        return dync__fail(DYNC_ERR_VALUE, "more than %d arguments", DYNC__MAX_LEAVES * 2);
    dync__tracer *t = dync__alloc(sizeof *t);
    if (!t) return DYNC_ERR_MEMORY;
    memset(&t->life, 0, offsetof(dync__trace_life, guard));
    DYNC__WAIT_BEGIN(&t->life.wait, dync__trace_unwind);
    t->life.owns_entry = !e->root;
    t->life.extends = path_or_null != NULL;
    dync__outval out;
    *result = DYNC_NONE;
    dync_status status = dync__trace_run(t, f, e, call, path_or_null, &out);
    if (status != DYNC_OK) dync__grad_off(!t->grad_mode_before);
    dync_scope_end(&t->life.scope);
    /* into the caller's scope, texts too */
    if (status == DYNC_OK) *result = dync__outval_build(&out, t->env.real.at);
    dync__tracer_close(t);
    dync__wait_end(&t->life.wait);
    dync__free(t, sizeof *t);
    return status;
}
