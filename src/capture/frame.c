/* capture/frame.c: calls of functions inside traced code: frames, and the wrappers that say how a
 * function is taken: disabled (it runs really, between two graphs), allowed (one node of the graph,
 * not looked into), constant (it runs once). After allowed.c.
 *
 * A compiled function stands for the function that it was compiled from: nested ones are traced
 * through. */
#include "../dync.in.h"
#include "trace.h"
DYNC__COLD

/* "dync_disable(fn)" is how the caller's macro names fn. */
static const char *dync__frame_name(dync__tracer *t, const dync_callee *c, const char *text)
{
    const char *name = c->name ? c->name : text ? text : "?", *open = strrchr(name, '(');
    if (!open) return name;
    static const char own[] = "%.*s";
    size_t n = strcspn(open + 1, ",)");
    const char *inner = dync__arena_printf(&t->scratch, own, (int)n, open + 1);
    return inner && n ? inner : name;
}

DYNC__OFTEN static dync_callee dync__frame_peel(dync_callee c)
{
    for (const dync__compiled *f; (f = dync__callee_compiled(&c)) != NULL;) {
        int flags = c.flags;
        c = f->callee;
        c.flags |= flags;
    }
    return c;
}

/* ---- the user's functions, which may be left ----------------------------------------------------
 * Where one inside the traced function is left for another place inside it, the trace goes on. */
typedef struct dync__resting {
    dync__wait wait; /* first */
    dync__tracer *tracer;
    dync__trace_pause pause;
} dync__resting;

static void dync__resting_unwind(dync__wait *wait, const dync__wait *rest, bool quiet)
{
    dync__resting *r = (dync__resting *)(void *)wait;
    (void)quiet;
    if (dync__wait_among(&r->tracer->life.wait, rest)) dync__trace_pause_end(r->tracer, r->pause);
    dync__free(r, sizeof *r);
}

/* Runs really, while the trace rests. */
static DYNC__NOINLINE dync_value dync__resting_invoke(dync__tracer *t, const dync_callee *c,
                                                      int nargs, const dync_value *args)
{
    dync__resting *r = dync__alloc(sizeof *r);
    if (!r) {
        dync__tracer_fail(t, DYNC_ERR_MEMORY);
        return DYNC_NONE;
    }
    DYNC__WAIT_BEGIN(&r->wait, dync__resting_unwind);
    r->wait.silent = true;
    r->tracer = t;
    r->pause = dync__trace_pause_begin(t);
    dync_value result = dync__callee_invoke(c, nargs, args);
    dync__wait_end(&r->wait);
    dync__resting_unwind(&r->wait, dync__tls.waits, true);
    return result;
}

/* A frame of the trace ends. Where it broke, its tail is a graph of its own: every other value may
 * still be wanted. */
static void dync__frame_over(dync__tracer *t, dync_loc at)
{
    if (t->rec.frames.at[t->rec.frames.n - 1].broken) dync__tracer_cut(t, NULL);
    t->way->frame(t, NULL, at);
    t->rec.frames.n--;
}

typedef struct dync__frame_wait {
    dync__wait wait; /* first */
    dync__tracer *tracer;
    dync_loc at;
} dync__frame_wait;

static void dync__frame_unwind(dync__wait *wait, const dync__wait *rest, bool quiet)
{
    dync__frame_wait *w = (dync__frame_wait *)(void *)wait;
    (void)quiet;
    if (dync__wait_among(&w->tracer->life.wait, rest)) dync__frame_over(w->tracer, w->at);
    dync__free(w, sizeof *w);
}

/* ---- disabled: what it returns is foreign to the trace --------------------------------------- */
static dync_value dync__frame_opaque(dync__tracer *t, const dync_callee *c, const char *name,
                                     int nargs, const dync_value *args)
{
    char reason[128];
    dync_value real[DYNC__MAX_LEAVES];
    dync__format(reason, sizeof reason, "call torch._dynamo.disable() wrapped function %s", name);
    if (dync__too_many(name, nargs) || dync__trace_break(t, reason, NULL) != DYNC_OK)
        return DYNC_NONE;
    for (int i = 0; i < nargs; i++) real[i] = dync__real_value(t, args[i]);
    dync__script_may_write(t);
    return dync__resting_invoke(t, c, nargs, real);
}

/* By need: of who disables functions. */
static dync_value (*DYNC__BY_NEED dync__disabled_used)(
    dync__tracer *, const dync_callee *, const char *name, int nargs,
    const dync_value *args) = DYNC__AT_FIRST(dync__frame_opaque);

/* ---- constant: its first result belongs to the entry ----------------------------------------- */
static dync_tensor *dync__constant_bake(void *user, dync_tensor *h)
{
    dync__tensor *real = dync__open(h);
    return real ? dync__trace_bake(user, real) : NULL;
}

static bool dync__values_have(dync_kind kind, int n, const dync_value *v)
{
    for (int i = 0; i < n; i++) {
        const dync__list *l = dync__value_list(v[i]);
        if (v[i].kind == kind || (l && dync__values_have(kind, l->n, l->items))) return true;
    }
    return false;
}

/* A text lives as long as its scope: it is asked for again in every trace. */
static bool dync__constant_retain(const dync_value *v)
{
    if (dync__values_have(DYNC_KIND_STR, 1, v)) return false;
    dync__list *l = dync__value_list(*v);
    /* a list keeps what is in it */
    if (l) dync__list_ref(l);
    if (v->kind == DYNC_KIND_TENSOR) dync__ref(dync__open(v->as.t));
    return true;
}

DYNC__FN void dync__constants_free(dync__cache_entry *e)
{
    for (int i = 0; i < e->constants.n; i++) {
        dync_value v = e->constants.at[i].value;
        dync__list_unref(dync__value_list(v));
        if (v.kind == DYNC_KIND_TENSOR) dync__unref(dync__peek(v.as.t));
    }
}

/* Arguments that are pending leave the graph first: the function wants them really. */
static dync_status dync__constant_args(dync__tracer *t, int nargs, const dync_value *args,
                                       dync_value *real)
{
    DYNC__TRY(dync__tracer_cut(t, NULL));
    uint64_t errors = dync__error_count();
    for (int i = 0; i < nargs; i++) real[i] = dync__real_value(t, args[i]);
    return dync__error_count() == errors ? DYNC_OK : dync_error();
}

static dync_value dync__frame_constant(dync__tracer *t, const dync_callee *c, const char *name,
                                       int nargs, const dync_value *args)
{
    dync_value real[DYNC__MAX_LEAVES];
    const dync__constant *known =
        t->n_constants < t->entry->constants.n ? &t->entry->constants.at[t->n_constants] : NULL;
    t->n_constants++;
    if (known && known->fn == c->fn && known->object == c->object && known->user == c->user)
        return dync__value_map(known->value, dync__constant_bake, t);
    if (dync__too_many(name, nargs)) return DYNC_NONE;
    bool tensors = dync__values_have(DYNC_KIND_TENSOR, nargs, args);
    if (tensors && dync__constant_args(t, nargs, args, real) != DYNC_OK) return DYNC_NONE;
    dync_value r = dync__resting_invoke(t, c, nargs, tensors ? real : args);
    dync__constant k = {c->fn, c->object, c->user, r};
    /* another way than the first time: not kept */
    if (known || !dync__constant_retain(&r)) return dync__value_map(r, dync__constant_bake, t);
    if (!dync__avec_push(&t->entry->arena, &t->entry->constants, k)) {
        dync__tracer_fail(t, DYNC_ERR_MEMORY);
        return DYNC_NONE;
    }
    return dync__value_map(r, dync__constant_bake, t);
}

static dync_value (*DYNC__BY_NEED dync__constant_used)(
    dync__tracer *, const dync_callee *, const char *name, int nargs,
    const dync_value *args) = DYNC__AT_FIRST(dync__frame_constant);

/* ---- frames ---------------------------------------------------------------------------------- */
DYNC__OFTEN DYNC__FN dync_value dync__frame_body(dync__tracer *t, const dync_callee *callee,
                                                 const char *name, int nargs,
                                                 const dync_value *args)
{
    dync_callee c = dync__frame_peel(*callee);
    if (t->stopped) return DYNC_NONE;
    if (!dync__callee_valid(&c)) {
        dync__fail(DYNC_ERR_VALUE, "%s: what it was compiled from has been freed", name);
        return DYNC_NONE;
    }
    if (dync__disabled_used && (c.flags & DYNC__CALLEE_DISABLED))
        return dync__disabled_used(t, &c, name, nargs, args);
    if (dync__constant_used && (c.flags & DYNC__CALLEE_CONSTANT))
        return dync__constant_used(t, &c, name, nargs, args);
    if (dync__frame_allows(t, &c, nargs, args))
        return dync__frame_allowed(t, &c, name, nargs, args);
    return dync__callee_invoke(&c, nargs, args);
}

/* A compiled function that calls itself without end would fill the stack. */
#define DYNC__FRAME_DEPTH 256

static DYNC__NOINLINE dync_value dync__frame_traced(dync__tracer *t, const dync_callee *c,
                                                    const char *text, int nargs,
                                                    const dync_value *args, dync_loc at)
{
    const char *name = dync__frame_name(t, c, text);
    dync_callee peeled = dync__frame_peel(*c);
    if (at.file) t->last_at = at;
    if (dync__callee_compiled(c)) DYNC__ATOMIC_STORE(&t->entry->particular, true);
    /* no frame of the trace */
    if (peeled.flags) return dync__frame_body(t, c, name, nargs, args);
    dync__trace_frame frame = {.name = name, .at = at, .mark = t->rec.pending};
    if (t->stopped) return DYNC_NONE;
    if (t->rec.frames.n >= DYNC__FRAME_DEPTH) {
        dync__tracer_fail(t, dync__fail(DYNC_ERR_VALUE,
                                        "dync_frame(%s): expected frames at most "
                                        "%d deep, got more: does the function "
                                        "call itself without end?",
                                        name, DYNC__FRAME_DEPTH));
        return DYNC_NONE;
    }
    if (!dync__vec_push(&t->rec.frames, frame)) {
        dync__tracer_fail(t, DYNC_ERR_MEMORY);
        return DYNC_NONE;
    }
    dync__frame_wait *w = dync__alloc(sizeof *w);
    if (!w) {
        t->rec.frames.n--;
        dync__tracer_fail(t, DYNC_ERR_MEMORY);
        return DYNC_NONE;
    }
    t->way->frame(t, name, at);
    DYNC__WAIT_BEGIN(&w->wait, dync__frame_unwind);
    w->wait.silent = true;
    w->tracer = t;
    w->at = at;
    dync_value r = dync__frame_body(t, c, name, nargs, args);
    dync__wait_end(&w->wait);
    dync__free(w, sizeof *w);
    dync__frame_over(t, at);
    return t->stopped ? DYNC_NONE : r;
}

DYNC_API dync_value dync_frame_values_at(dync_callee c, const char *name, int nargs,
                                         const dync_value *args, dync_loc at)
{
    dync__tracer *t = dync__frame_peel(c).flags & ~DYNC__CALLEE_DISABLED
                          ? dync__tracing()
                          : dync__tracing_or_replay();
    if (dync__callee_check(&c, "dync_frame") != DYNC_OK) return DYNC_NONE;
    const char *shown = c.name ? c.name : name ? name : "?";
    if (nargs < 0 || (nargs > 0 && !args)) {
        dync__fail(DYNC_ERR_VALUE, "dync_frame(%s): expected %s, got %s%d", shown,
                   nargs < 0 ? "a number of arguments" : "arguments", nargs < 0 ? "" : "NULL for ",
                   nargs);
        return DYNC_NONE;
    }
    dync_scope scope = dync_scope_begin();
    dync_value r = t ? dync__frame_traced(t, &c, name, nargs, args, at)
                     : dync__callee_invoke(&c, nargs, args);
    dync__scope_end_keep(&scope, &r);
    return r;
}

DYNC_API dync_value dync_frame_values(dync_callee c, const char *name, int nargs,
                                      const dync_value *args)
{
    return dync_frame_values_at(c, name, nargs, args, DYNC_NOWHERE);
}

/* ---- functions that frames treat otherwise ------------------------------------------------ */
static dync_callee dync__callee_flag(dync_callee c, int flag)
{
    c.flags |= flag;
    return c;
}

DYNC_API dync_callee dync_disable_callee(dync_callee c)
{
    DYNC__PUT(dync__disabled_used, dync__frame_opaque);
    return dync__callee_flag(c, DYNC__CALLEE_DISABLED);
}

DYNC_API dync_callee dync_allow_in_graph_callee(dync_callee c)
{
    dync__allowed_use();
    return dync__callee_flag(c, DYNC__CALLEE_ALLOWED);
}

DYNC_API dync_callee dync_assume_constant_result_callee(dync_callee c)
{
    DYNC__PUT(dync__constant_used, dync__frame_constant);
    return dync__callee_flag(c, DYNC__CALLEE_CONSTANT);
}
