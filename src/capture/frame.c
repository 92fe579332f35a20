/* capture/frame.c: calls of functions inside traced code: frames, and the wrappers that say how a
 * function is taken: disabled (it runs really, between two graphs), allowed (one node of the graph,
 * not looked into), constant (it runs once). After intercept.c.
 *
 * A compiled function stands for the function that it was compiled from: nested ones are traced
 * through. */
#include "../dync.in.h"
#include "trace.h"

/* "dync_disable(fn)" is how the caller's macro names fn. */
static const char *dync__frame_name(dync__tracer *t, const dync_callee *c, const char *text)
{
    const char *name = c->name ? c->name : text ? text : "?", *open = strrchr(name, '(');
    if (!open) return name;
    size_t n = strcspn(open + 1, ",)");
    const char *inner = dync__arena_printf(&t->scratch, "%.*s", (int)n, open + 1);
    return inner && n ? inner : name;
}

static dync_callee dync__frame_peel(dync_callee c)
{
    for (const dync__compiled *f; (f = dync__callee_compiled(&c)) != NULL;) {
        int flags = c.flags;
        c = f->callee;
        c.flags |= flags;
    }
    return c;
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
    dync__trace_pause pause = dync__trace_pause_begin(t);
    dync_value r = dync__callee_invoke(c, nargs, real);
    dync__trace_pause_end(t, pause);
    return r;
}

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
    dync__trace_pause pause = dync__trace_pause_begin(t);
    dync_value r = dync__callee_invoke(c, nargs, tensors ? real : args);
    dync__trace_pause_end(t, pause);
    dync__constant k = {c->fn, c->object, c->user, r};
    /* another way than the first time: not kept */
    if (known || !dync__constant_retain(&r)) return dync__value_map(r, dync__constant_bake, t);
    if (!dync__avec_push(&t->entry->arena, &t->entry->constants, k)) {
        dync__tracer_fail(t, DYNC_ERR_MEMORY);
        return DYNC_NONE;
    }
    return dync__value_map(r, dync__constant_bake, t);
}

/* ---- allowed: one node ----------------------------------------------------------------------- */
/* Shapes only: nothing is recorded, and what is made is of this trace while it infers. */
static dync_status dync__allowed_infer(dync__handler *self, dync__opcall *c)
{
    dync__tracer *t = self->state;
    if (c->op == DYNC__OP__set_grad_enabled) return c->row->decompose(c);
    DYNC__TRY(dync__tracer_enter(t, c));
    if (c->row->flags & DYNC__OP_DATA_SHAPE) return dync__trace_break(t, c->row->name, NULL);
    DYNC__TRY(dync__op_fake(c));
    for (int i = 0; i < c->nout; i++)
        if (c->out[i] && c->out[i]->trace_id != t->id) c->out[i]->trace_id = ~t->id;
    return DYNC_OK;
}

static dync_tensor *dync__allowed_fake(void *user, dync_tensor *h)
{
    dync__tensor *x = dync__open(h);
    return x && (x = dync__tracer_adopt(user, x)) ? dync__handle(x) : NULL;
}

/* Runs fn over fakes; its result's tensors, at most DYNC__MAX_OUT. -1: refused, an error is
 * recorded. */
static int dync__allowed_result(dync__tracer *t, const dync_callee *c, const char *name, int nargs,
                                const dync_value *args, dync__tensor **out, bool *list)
{
    const dync__list *l;
    dync__handler infer = {.call = dync__allowed_infer, .state = t};
    uint64_t errors = dync__error_count();
    int n = 1;
    t->inferring = name;
    dync__handler_push(&infer);
    dync_value r = dync__callee_invoke(c, nargs, args);
    dync__handler_pop(&infer);
    t->inferring = NULL;
    if (t->stopped || (dync__error_count() != errors && dync_error() != DYNC_OK)) return -1;
    l = dync__value_list(r);
    *list = l != NULL;
    if (l) n = l->n;
    bool fits = n > 0 && n <= DYNC__MAX_OUT && (*list || r.kind == DYNC_KIND_TENSOR);
    for (int i = 0; fits && i < n; i++) {
        dync_value v = l ? l->items[i] : r;
        fits = v.kind == DYNC_KIND_TENSOR && (out[i] = dync__open(v.as.t)) != NULL;
    }
    if (fits) return n;
    dync__tracer_fail(
        t, dync__fail(
               DYNC_ERR_UNSUPPORTED,
               "dync_allow_in_graph(%s): expected a tensor or a list of at most %d tensors as its "
               "result",
               name, DYNC__MAX_OUT));
    return -1;
}

static dync_value dync__allowed_outputs(dync__tracer *t, dync__node *n, bool grad, bool list)
{
    dync_value items[DYNC__MAX_OUT];
    for (int i = 0; i < n->nout; i++) {
        dync__node *of = list ? dync__graph_getitem(t->rec.graph, n, i) : n;
        dync__tensor *x =
            of ? dync__tensor_fake(n->info[i].dtype, n->info[i].device, &n->info[i].lay) : NULL;
        if (!x || !dync__vec_push(&t->rec.made, x)) {
            dync__unref(x);
            dync__tracer_fail(t, dync__fail_memory(0));
            return DYNC_NONE;
        }
        if (grad && dync__dtype_info(x->dtype)->kind == 'f') x->flags |= DYNC__T_REQUIRES_GRAD;
        n->requires_grad[i] = of->requires_grad[0] = (x->flags & DYNC__T_REQUIRES_GRAD) != 0;
        x->trace_id = t->id;
        x->node = of;
        dync__ref(x);
        items[i] = dync_v_tensor(dync__give(x));
    }
    return list ? dync_tuple_of(n->nout, items) : items[0];
}

static dync_status dync__allowed_args(dync__tracer *t, int nargs, const dync_value *args,
                                      dync__arg *out, bool *grad)
{
    for (int i = 0; i < nargs; i++) {
        dync__arg a;
        DYNC__TRY(dync__value_to_arg(&t->scratch, args[i], &a));
        DYNC__TRY(dync__tracer_args(t, 1, &a, &out[i]));
        *grad = *grad || dync__args_require_grad(1, &a);
    }
    return DYNC_OK;
}

static bool dync__allowed_fits(const dync_value *v, int n)
{
    for (int i = 0; i < n; i++) {
        const dync__list *l = dync__value_list(v[i]);
        if (v[i].kind == DYNC_KIND_MODULE || v[i].kind == DYNC_KIND_SYM ||
            v[i].kind == DYNC_KIND_STR)
            return false;
        if (l && !dync__allowed_fits(l->items, l->n)) return false;
    }
    return true;
}

static dync_value dync__frame_allowed(dync__tracer *t, const dync_callee *c, const char *name,
                                      int nargs, const dync_value *args)
{
    dync_value fakes[DYNC__MAX_ARGS];
    dync__tensor *out[DYNC__MAX_OUT];
    dync__arg nodes[DYNC__MAX_ARGS];
    dync__info info[DYNC__MAX_OUT];
    bool list = false, grad = false;
    for (int i = 0; i < nargs; i++) fakes[i] = dync__value_map(args[i], dync__allowed_fake, t);
    dync__tracer_guard_more(t, &t->entry->mutates); /* it may write what it is given */
    int n = dync__allowed_result(t, c, name, nargs, fakes, out, &list);
    if (n < 0) return DYNC_NONE;
    memset(info, 0, sizeof info);
    for (int i = 0; i < n; i++)
        info[i] = (dync__info){
            .dtype = out[i]->dtype, .device = out[i]->device, .lay = out[i]->lay, .alias = -1};
    dync__node *node = dync__allowed_args(t, nargs, fakes, nodes, &grad) == DYNC_OK &&
                               dync__tracer_graph(t)
                           ? dync__graph_call(t->rec.graph, -1, nargs, nodes, n, info, name)
                           : NULL;
    dync_callee *kept = node ? dync__arena_alloc(&t->rec.graph->arena, sizeof *kept) : NULL;
    if (!kept) {
        dync__tracer_fail(t, dync_error() != DYNC_OK ? dync_error() : dync__fail_memory(0));
        return DYNC_NONE;
    }
    *kept = *c;
    kept->flags = 0;
    node->callee = kept;
    node->at = t->last_at;
    t->rec.pending++;
    return dync__allowed_outputs(t, node, grad && !dync__tls.grad_enabled_off, list);
}

/* The node at run time, and over the fakes of a backend that looks into it. */
static dync_status dync__allowed_take(const dync__node *node, dync_value r, dync__tensor **out)
{
    const dync__list *list = dync__value_list(r);
    bool fits = list ? list->n == node->nout : r.kind == DYNC_KIND_TENSOR && node->nout == 1;
    for (int i = 0; fits && i < node->nout; i++) {
        dync_value v = list ? list->items[i] : r;
        const dync__info *info = &node->info[i];
        out[i] = v.kind == DYNC_KIND_TENSOR ? dync__open(v.as.t) : NULL;
        fits = out[i] && out[i]->dtype == info->dtype && out[i]->lay.ndim == info->lay.ndim;
        /* a symbolic size is whatever it is */
        for (int d = 0; fits && d < info->lay.ndim; d++)
            fits = out[i]->lay.shape[d] == info->lay.shape[d] || dync__is_token(info->lay.shape[d]);
    }
    if (!fits)
        return dync__fail(
            DYNC_ERR_RUNTIME,
            "%s was allowed in a graph: it returned another kind of result than when it was traced",
            node->target);
    for (int i = 0; i < node->nout; i++) dync__ref(out[i]);
    return DYNC_OK;
}

static void dync__allowed_ref(const dync__arg *a)
{
    if (a->kind == DYNC__A_TENSOR) dync__ref(a->as.t);
    for (int i = 0; a->kind == DYNC__A_LIST && i < a->n; i++) dync__allowed_ref(&a->as.list[i]);
}

DYNC__FN dync_status dync__allowed_run(dync__node *node, int nargs, dync__arg *args,
                                       dync__tensor **out)
{
    dync_value v[DYNC__MAX_ARGS];
    uint64_t errors = dync__error_count();
    if (!node->callee || nargs > DYNC__MAX_ARGS)
        return dync__fail(DYNC_ERR_INTERNAL, "graph node %s: no operator named %s", node->name,
                          node->target);
    for (int i = 0; i < nargs; i++) {
        dync__allowed_ref(&args[i]);
        v[i] = args[i].kind == DYNC__A_PTR ? dync_v_ptr(args[i].as.p)
                                           : dync__arg_to_value(&args[i]);
    }
    dync_value r = dync__callee_invoke(node->callee, nargs, v);
    if (dync__error_count() != errors && dync_error() != DYNC_OK) return dync_error();
    return dync__allowed_take(node, r, out);
}

/* ---- frames ---------------------------------------------------------------------------------- */
DYNC__FN dync_value dync__frame_body(dync__tracer *t, const dync_callee *callee, const char *name,
                                     int nargs, const dync_value *args)
{
    dync_callee c = dync__frame_peel(*callee);
    if (t->stopped) return DYNC_NONE;
    if (!dync__callee_valid(&c)) {
        dync__fail(DYNC_ERR_VALUE, "%s: what it was compiled from has been freed", name);
        return DYNC_NONE;
    }
    if (c.flags & DYNC__CALLEE_DISABLED) return dync__frame_opaque(t, &c, name, nargs, args);
    if (c.flags & DYNC__CALLEE_CONSTANT) return dync__frame_constant(t, &c, name, nargs, args);
    if ((c.flags & DYNC__CALLEE_ALLOWED) && !t->tape.on && nargs <= DYNC__MAX_ARGS &&
        dync__allowed_fits(args, nargs))
        return dync__frame_allowed(t, &c, name, nargs, args);
    return dync__callee_invoke(&c, nargs, args);
}

/* A compiled function that calls itself without end would fill the stack. */
#define DYNC__FRAME_DEPTH 256

static dync_value dync__frame_traced(dync__tracer *t, const dync_callee *c, const char *text,
                                     int nargs, const dync_value *args, dync_loc at)
{
    const char *name = dync__frame_name(t, c, text);
    dync_callee peeled = dync__frame_peel(*c);
    if (at.file) t->last_at = at;
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
    t->way->frame(t, name, at);
    dync_value r = dync__frame_body(t, c, name, nargs, args);
    bool broken = t->rec.frames.at[t->rec.frames.n - 1].broken;
    /* its tail is a graph of its own: every other value may still be wanted */
    if (broken) dync__tracer_cut(t, NULL);
    t->way->frame(t, NULL, at);
    t->rec.frames.n--;
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
