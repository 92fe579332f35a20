/* capture/allowed.c: functions that dync_allow_in_graph allows: one node of the graph, not looked
 * into. Their shapes are known by running them over fakes. After reads.c, before frame.c. */
#include "../dync.in.h"
#include "trace.h"
DYNC__COLD

/* ---- in a trace ------------------------------------------------------------------------------ */
/* Shapes only: nothing is recorded, and what is made is of this trace while it infers. */
static dync_status dync__allowed_infer(dync__handler *self, dync__opcall *c)
{
    dync__tracer *t = self->state;
    if (dync__row_sets_grad_mode(c->row)) return c->row->decompose(c);
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
        if (!x || !dync__record_made(t, x, of)) {
            dync__tracer_fail(t, dync__fail_memory(0));
            return DYNC_NONE;
        }
        if (grad && dync__dtype_info(x->dtype)->kind == 'f') x->flags |= DYNC__T_REQUIRES_GRAD;
        n->requires_grad[i] = of->requires_grad[0] = (x->flags & DYNC__T_REQUIRES_GRAD) != 0;
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

DYNC__FN bool dync__allowed_fits(const dync_value *v, int n)
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

static dync_value dync__allowed_call(dync__tracer *t, const dync_callee *c, const char *name,
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
    for (int i = 0; i < n; i++) dync__info_of(&info[i], out[i], -1);
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
    return dync__allowed_outputs(t, node, grad && !dync__grad_is_off(), list);
}

/* ---- in a graph that runs -------------------------------------------------------------------- */
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

static dync_status dync__allowed_run(dync__node *node, int nargs, dync__arg *args,
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

/* ---- by need --------------------------------------------------------------------------------- */
static dync_value (*DYNC__BY_NEED dync__allowed_used)(
    dync__tracer *, const dync_callee *, const char *name, int nargs,
    const dync_value *args) = DYNC__AT_FIRST(dync__allowed_call);
DYNC__FN void dync__allowed_use(void)
{
    DYNC__PUT(dync__allowed_used, dync__allowed_call);
    DYNC__ATOMIC_STORE(&dync__graph_custom_call, dync__allowed_run);
}
DYNC__FN bool dync__frame_allows(const dync__tracer *t, const dync_callee *c, int nargs,
                                 const dync_value *args)
{
    return dync__allowed_used && (c->flags & DYNC__CALLEE_ALLOWED) && !t->tape.on &&
           nargs <= DYNC__MAX_ARGS && dync__allowed_fits(args, nargs);
}
DYNC__FN dync_value dync__frame_allowed(dync__tracer *t, const dync_callee *c, const char *name,
                                        int nargs, const dync_value *args)
{
    return dync__allowed_used(t, c, name, nargs, args);
}
