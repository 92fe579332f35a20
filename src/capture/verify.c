/* capture/verify.c: dync_set_verify and DYNC_VERIFY. Every cached call runs both ways: the C
 * function on copies of the arguments, then the compiled code on the arguments themselves, from the
 * same random state; results, written arguments and written globals are compared. Where a call is
 * traced (the first one, and every call of a function with an opaque break) its segments are
 * compared instead, each with the interpretation of its graph, so that opaque code runs no more
 * often than it would. After verify_compare.c, before lint.c. */
#include "../dync.in.h"
#include "verify.h"
DYNC__COLD

/* ---- calls ----------------------------------------------------------------------------------- */
static void dync__verify_close(dync__verify *v, dync_value *keep)
{
    dync_scope scope = v->scope;
    dync__verify_free(v);
    dync__scope_end_keep(&scope, keep);
}

typedef struct dync__verify_walk {
    const dync__verify *v;
    int k;
} dync__verify_walk;

static dync_tensor *dync__verify_arg(void *user, dync_tensor *h)
{
    dync__verify_walk *w = user;
    (void)h;
    return dync__handle(w->v->copy[w->k++]);
}

static void dync__verify_reference(dync__verify *v, const dync__callargs *call)
{
    dync_value args[DYNC__MAX_LEAVES * 2];
    dync__verify_walk walk = {v, 0};
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    dync__verify_run(true, v);
    for (int i = 0; i < call->nargs; i++)
        args[i] = dync__value_map(call->args[i], dync__verify_arg, &walk);
    v->expected = dync__callee_invoke(&v->f->callee, call->nargs, args);
    dync__verify_run(false, NULL);
    v->error = *dync__error_guard_end(&guard);
    dync__verify_restore(v);
}

/* Runs the C function on copies. NULL: nothing to compare (it is off, or the entry is traced). */
static dync__verify *dync__verify_begin(const dync__compiled *f, const dync__cache_entry *e,
                                        const dync__callargs *call)
{
    if (e->open || call->nargs > DYNC__MAX_LEAVES * 2) return NULL;
    dync__verify *v = dync__verify_new(f, f->name, call->n_tensors, call->tensor);
    if (!v) return NULL;
    bool ok = true;
    for (int i = 0; i < v->n; i++) v->source[i] = e->tensor[i].source;
    for (int i = 0; i < e->foreign.n && ok; i++) {
        const dync__foreign *g = &e->foreign.at[i];
        dync__tensor *t = g->owner ? NULL : dync__peek(g->address ? *g->address : g->handle);
        if (t)
            ok = dync__verify_add_global(v, t, g->guard.source) &&
                 dync__verify_add_leaf(v, t, g->guard.source);
    }
    if (ok) {
        dync__verify_reference(v, call);
        return v;
    }
    dync_value none = DYNC_NONE;
    dync__verify_close(v, &none);
    return NULL;
}

/* v is taken over. status and *result are those of the compiled call. */
static dync_status dync__verify_end(dync__verify *v, dync_status status, dync_value *result)
{
    if (status == DYNC_OK) status = dync__verify_compare(v, result, false);
    if (status != DYNC_OK) *result = DYNC_NONE;
    dync__verify_close(v, result);
    return status;
}

/* ---- segments -------------------------------------------------------------------------------- */
static dync_value dync__verify_list(dync__tensor *const *t, int n)
{
    dync_value list = dync__list_new(n);
    for (int i = 0; list.kind == DYNC_KIND_LIST && i < n; i++)
        if (t[i])
            dync__list_set(list, i,
                           t[i]->flags & DYNC__T_NUMBER ? dync__number_value(t[i])
                                                        : dync_v_tensor(dync__handle(t[i])));
    return list;
}

/* Interprets the segment's graph on copies of its inputs. */
static dync__verify *dync__verify_segment_begin(const dync__compiled *f, const dync__segment *s,
                                                dync__tensor *const *in)
{
    dync__verify *v = dync__verify_new(f, f->name, s->n_in, in);
    if (!v) return NULL;
    dync__arena arena = {0};
    dync__arg *args = dync__arena_alloc(&arena, (size_t)(v->n + 1) * sizeof *args), out = {0};
    dync__error_guard guard;
    dync_value none = DYNC_NONE;
    if (!args) {
        dync__verify_close(v, &none);
        return NULL;
    }
    for (int i = 0; i < v->n; i++) {
        args[i] = in[i]->flags & DYNC__T_NUMBER ? dync__arg_value(dync__number_value(in[i]))
                                                : dync__arg_t(v->copy[i]);
        v->source[i] = s->graph->node.at[i]->source;
    }
    dync__error_guard_begin(&guard);
    dync__verify_run(true, NULL);
    if (dync__graph_eval(s->graph, args, v->n, &arena, &out) == DYNC_OK)
        v->expected = dync__arg_to_value(&out);
    dync__verify_run(false, NULL);
    v->error = *dync__error_guard_end(&guard);
    dync__arena_free(&arena);
    dync__verify_restore(v);
    return v;
}

static dync_status dync__verify_segment_end(dync__verify *v, dync_status status, dync__tensor **out,
                                            int n_out)
{
    dync_value none = DYNC_NONE, got = status == DYNC_OK ? dync__verify_list(out, n_out) : none;
    if (status == DYNC_OK) status = dync__verify_compare(v, &got, true);
    for (int i = 0; status != DYNC_OK && i < n_out; i++) {
        dync__unref(out[i]);
        out[i] = NULL;
    }
    dync__verify_close(v, &none);
    return status;
}

/* ---- the switch ------------------------------------------------------------------------------ */
static const dync__verify_calls dync__verify_all = {
    dync__verify_begin, dync__verify_end, dync__verify_segment_begin, dync__verify_segment_end};
#if defined(DYNC_NO_ENV)
DYNC__DATA const dync__verify_calls *dync__verify_used = NULL;
#else
DYNC__DATA const dync__verify_calls *dync__verify_used = &dync__verify_all;
#endif
static int32_t dync__verify_switch;

DYNC_API void dync_set_verify(bool on)
{
    DYNC__ATOMIC_STORE(&dync__verify_used, &dync__verify_all);
    DYNC__ATOMIC_STORE(&dync__verify_switch, on ? 2 : 1);
}

DYNC__FN bool dync__verify_on(void)
{
    return DYNC__UNLIKELY(dync__switch_on(&dync__verify_switch, "DYNC_VERIFY")) &&
           DYNC__ATOMIC_PEEK(&dync__verify_used) && !dync__verify_inside();
}
