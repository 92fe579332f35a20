/* compile/make_graph.c: dync_make_graph, torch.fx's make_fx: one run of a function with a recorder
 * at the bottom of dispatch, under the tape: composites are expanded, gradients that the function
 * takes are recorded too. No guards, no breaks, nothing is made functional.
 *
 *   REAL      every operator runs as well; reading what the graph computes is an error
 *   FAKE      tensors have form only; reading data is an error
 *   SYMBOLIC  as FAKE, with sizes other than 0 and 1 as symbols
 *
 * The node of a tensor is found by its id, which aliases kept by the tape share. A tensor from
 * elsewhere is an attribute. */
#include "../dync.in.h"
#include "../capture/capture.h"
DYNC__COLD

/* One recording. Ids, not addresses, are the keys of `node`: tensors may die and their memory be
 * used again during the trace. */
typedef struct dync__graph_maker {
    dync__handler handler, *before; /* before: the bottom in force outside */
    dync__graph *graph;
    dync__map node; /* id of a tensor -> its node */
    /* fakes of tensors from elsewhere, by pairs (both owned) */
    DYNC__VEC(dync__tensor *) fake, real;
    dync_trace_mode mode;
    dync__symtab *syms; /* SYMBOLIC */
    int n_constants;
} dync__graph_maker;
static DYNC__TLS dync_trace_mode dync__maker_mode;
static DYNC__TLS dync__graph_maker *dync__maker_now; /* for names; NULL: none is open */

/* Of the next dync_make_graph in this thread, which sets it back to REAL. */
DYNC_API void dync_make_graph_mode(dync_trace_mode mode)
{
    if (mode == DYNC_TRACE_REAL || mode == DYNC_TRACE_FAKE || mode == DYNC_TRACE_SYMBOLIC)
        dync__maker_mode = mode;
    else
        dync__fail(DYNC_ERR_VALUE, "dync_make_graph_mode: expected real, fake or symbolic, got %d",
                   (int)mode);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* From now on t is the value of n. */
static bool dync__maker_own(dync__graph_maker *m, const dync__tensor *t, dync__node *n)
{
    return dync__map_put(&m->node, t->id, (uint64_t)(uintptr_t)n);
}

/* NULL: the tensor is not of this recording, or not seen yet. */
static dync__node *dync__maker_known(const dync__graph_maker *m, const dync__tensor *t)
{
    uint64_t at;
    return dync__map_get(&m->node, t->id, &at) ? (dync__node *)(uintptr_t)at : NULL;
}

/* A tensor from elsewhere: an attribute, under the names that make_fx gives. */
static dync__node *dync__maker_constant(dync__graph_maker *m, dync__tensor *t)
{
    char path[48];
    bool parameter = (t->flags & (DYNC__T_REQUIRES_GRAD | DYNC__T_PARAMETER)) != 0;
    dync__format(path, sizeof path, parameter ? "_param_constant%d" : "_tensor%d",
                 m->n_constants++);
    dync__node *n = dync__graph_attr(m->graph, path, path, t);
    return n && dync__maker_own(m, t, n) ? n : NULL;
}

/* The node of any tensor that an operator reads: known, or an attribute made now. A fake that is
 * not known belongs to another trace: NULL + error. */
static dync__node *dync__maker_node(dync__graph_maker *m, dync__tensor *t)
{
    dync__node *n = dync__maker_known(m, t);
    if (n) return n;
    if (!(t->flags & DYNC__T_FAKE)) return dync__maker_constant(m, t);
    dync__fail(
        DYNC_ERR_VALUE,
        "dync_make_graph: a tensor made while another call was traced was kept in a variable "
        "(made by %s)",
        t->op ? t->op : "?");
    return NULL;
}

/* Without data: the fake that stands for a tensor from elsewhere. In REAL mode the tensor stands
 * for itself. Borrowed from the recording. */
static dync__tensor *dync__maker_stand_in(dync__graph_maker *m, dync__tensor *t)
{
    if (m->mode == DYNC_TRACE_REAL || (t->flags & DYNC__T_FAKE)) return t;
    for (int i = 0; i < m->real.n; i++)
        if (m->real.at[i] == t) return m->fake.at[i];
    dync__node *n = dync__maker_node(m, t);
    dync__tensor *fake = n ? dync__tensor_fake(t->dtype, t->device, &t->lay) : NULL;
    if (!fake) return NULL;
    fake->storage->size_bytes = t->storage->size_bytes;
    fake->flags |= t->flags & (DYNC__T_REQUIRES_GRAD | DYNC__T_PARAMETER);
    if (!dync__maker_own(m, fake, n) || !dync__vec_reserve(&m->real, m->real.n + 1) ||
        !dync__vec_push(&m->fake, fake)) {
        dync__unref(fake);
        return NULL;
    }
    dync__ref(m->real.at[m->real.n++] = t);
    return fake;
}

/* stand: arguments as the operator sees them; node: as the graph does. Lists lie in the graph's
 * arena, as the node keeps them. */
static dync_status dync__maker_args(dync__graph_maker *m, int n, const dync__arg *in,
                                    dync__arg *stand, dync__arg *node)
{
    for (int i = 0; i < n; i++) {
        stand[i] = node[i] = in[i];
        if (in[i].kind == DYNC__A_TENSOR) {
            dync__tensor *t = dync__maker_stand_in(m, in[i].as.t);
            dync__node *of = t ? dync__maker_node(m, t) : NULL;
            if (!of) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_MEMORY;
            stand[i] = dync__arg_t(t);
            node[i] = dync__arg_node(of);
        } else if (in[i].kind == DYNC__A_LIST) {
            stand[i].as.list =
                dync__arena_alloc(&m->graph->arena, (size_t)(in[i].n + 1) * sizeof *stand);
            node[i].as.list =
                dync__arena_alloc(&m->graph->arena, (size_t)(in[i].n + 1) * sizeof *node);
            if (!stand[i].as.list || !node[i].as.list) return DYNC_ERR_MEMORY;
            DYNC__TRY(
                dync__maker_args(m, in[i].n, in[i].as.list, stand[i].as.list, node[i].as.list));
        }
    }
    return DYNC_OK;
}

/* ---- one operator ---------------------------------------------------------------------------- */

/* REAL: what lies below runs the operator. Otherwise only its results' form is computed; effects
 * (a seed) happen in every mode. */
static dync_status dync__maker_run(dync__graph_maker *m, dync__opcall *c)
{
    if (m->mode != DYNC_TRACE_REAL && c->row->cls != DYNC__EFFECT) return dync__op_fake(c);
    dync__handler *own = dync__bottom_swap(m->before);
    dync_status status = dync__dispatch_bottom(c);
    dync__bottom_swap(own);
    return status;
}

/* The node of a call that has run, with the types of its results. Items of several results are
 * getitem nodes, made at once. */
static dync_status dync__maker_record(dync__graph_maker *m, const dync__opcall *c,
                                      const dync__arg *args)
{
    dync__info info[DYNC__MAX_OUT];
    memset(info, 0, sizeof info);
    for (int i = 0; i < c->nout; i++) {
        const dync__tensor *t = c->out[i];
        if (t)
            info[i] = (dync__info){.dtype = t->dtype,
                                   .device = t->device,
                                   .lay = t->lay,
                                   .alias = c->row->cls == DYNC__VIEW ? 0 : -1};
    }
    dync__node *n = dync__graph_call(m->graph, c->op, c->nargs, args, c->nout, info, NULL);
    if (!n) return DYNC_ERR_MEMORY;
    n->at = c->at;
    n->seq_nr = dync__seq_now();
    for (int i = 0; i < c->nout; i++) {
        if (!c->out[i]) continue;
        dync__node *of = c->nout > 1 ? dync__graph_getitem(m->graph, n, i) : n;
        if (!of || !dync__maker_own(m, c->out[i], of)) return DYNC_ERR_MEMORY;
    }
    return DYNC_OK;
}

/* The handler: operators that cannot be lowered are decomposed and come back piece by piece;
 * what is recorded is what could run. A failed call leaves no results. */
static dync_status dync__maker_call(dync__handler *self, dync__opcall *c)
{
    dync__graph_maker *m = self->state;
    const dync__op_row *row = c->row;
    bool whole = dync__op_can_lower(c->op) ||
                 (row->flags & (DYNC__OP_OPAQUE | DYNC__OP_DATA_SHAPE)) ||
                 row->cls == DYNC__EFFECT || row->cls == DYNC__INPLACE || !row->decompose;
    if (!whole) return row->decompose(c);
    if (m->syms) DYNC__TRY(dync__opcall_numbers(c));
    if ((row->flags & DYNC__OP_DATA_SHAPE) && m->mode != DYNC_TRACE_REAL)
        return dync__fail(DYNC_ERR_UNSUPPORTED, "dynamic shape operator: aten.%s.default",
                          row->name);
    dync__arg stand[DYNC__MAX_ARGS], node[DYNC__MAX_ARGS], *given = c->args;
    DYNC__TRY(dync__maker_args(m, c->nargs, c->args, stand, node));
    c->args = stand;
    dync_status status = dync__maker_run(m, c);
    if (status == DYNC_OK) status = dync__maker_record(m, c, node);
    c->args = given;
    if (status == DYNC_OK) return DYNC_OK;
    for (int i = 0; i < c->nout; i++) {
        dync__unref(c->out[i]);
        c->out[i] = NULL;
    }
    return status;
}

/* ---- reads: what the graph computes is not known to it --------------------------------------- */

/* A value of the graph, not a constant from elsewhere: with data, as each operator really runs. */
static bool dync__maker_computes(const dync_tensor *h)
{
    const dync__graph_maker *m = dync__maker_now;
    const dync__tensor *t = m && m->mode == DYNC_TRACE_REAL ? dync__peek(h) : NULL;
    const dync__node *n = t ? dync__maker_known(m, t) : NULL;
    return n && n->kind != DYNC__N_GET_ATTR;
}

/* True: the error is recorded, and the read answers with a neutral value. */
static bool dync__maker_refuses(const char *op, const dync_tensor *a, const dync_tensor *b_or_null)
{
    if (!dync__maker_computes(a) && !(b_or_null && dync__maker_computes(b_or_null))) return false;
    dync__fail_class(DYNC_ERR_UNSUPPORTED, "RuntimeError",
                     "It appears that you're trying to get value out of a tracing tensor with "
                     "aten.%s.default - erroring out! It's likely that "
                     "this is caused by data-dependent control flow or similar. dync_make_graph "
                     "records one run, whatever the values: choose "
                     "with dync_where, or use dync_compile, which branches.",
                     op);
    return true;
}

static bool dync__maker_item(const dync_tensor *h, double *result)
{
    *result = (double)NAN;
    return dync__maker_refuses("_local_scalar_dense", h, NULL);
}
static bool dync__maker_truth(const dync_tensor *h, bool *result)
{
    *result = false;
    return dync__maker_refuses("_local_scalar_dense", h, NULL);
}
static bool dync__maker_equal(const dync_tensor *a, const dync_tensor *b, bool *result)
{
    *result = false;
    return dync__maker_refuses("equal", a, b);
}
static bool dync__maker_allclose(const dync_tensor *a, const dync_tensor *b, double rtol,
                                 double atol, bool *result)
{
    (void)rtol, (void)atol;
    *result = false;
    return dync__maker_refuses("allclose", a, b);
}
static bool dync__maker_data(const dync_tensor *h, void **result)
{
    *result = NULL;
    if (!dync__maker_computes(h)) return false;
    dync__fail_no_data();
    return true;
}
/* What is missing here (print, str) works on what is there. */
static const dync__read_intercept dync__maker_reads = {.item = dync__maker_item,
                                                       .truth = dync__maker_truth,
                                                       .data = dync__maker_data,
                                                       .equal = dync__maker_equal,
                                                       .allclose = dync__maker_allclose};

/* ---- arguments and the result ---------------------------------------------------------------- */

/* Sizes other than 0 and 1 become symbols, equal ones the same; strides of dense tensors follow
 * from them. */
static dync_status dync__maker_symbols(dync__graph_maker *m, const char *name, dync__layout *lay)
{
    bool dense = dync__layout_is_contiguous(lay);
    for (int d = 0; d < lay->ndim; d++) {
        int64_t size = lay->shape[d], token = -1;
        if (size < 2) continue;
        for (int i = 0; i < m->syms->symbol.n && token < 0; i++)
            if (dync__symtab_find(m->syms, m->syms->symbol.at[i].token)->hint == size)
                token = m->syms->symbol.at[i].token;
        const char *source = dync__arena_printf(&m->syms->arena, "%s.size()[%d]", name, d);
        if (token < 0) token = source ? dync__symtab_symbol(m->syms, size, source, false) : -1;
        if (token < 0) return DYNC_ERR_MEMORY;
        lay->shape[d] = token;
    }
    int64_t stride = 1;
    for (int d = lay->ndim - 1; dense && d >= 0; d--) {
        lay->stride[d] = stride;
        stride = dync__sz_mul(stride, lay->shape[d]);
    }
    return DYNC_OK;
}

/* The graph's sizes in their simplest form, with their names. */
static dync_status dync__maker_settle(dync__graph_maker *m)
{
    if (!m->syms) return DYNC_OK;
    return dync__graph_settle_sizes(m->graph, m->syms) ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* What the function gets for a tensor: another leaf over the same memory, or a fake. Owned by the
 * scope. */
static dync_value dync__maker_input(dync__graph_maker *m, dync__tensor *t, const char *name)
{
    char text[80];
    dync__info info = {.dtype = t->dtype, .device = t->device, .lay = t->lay, .alias = -1};
    dync__format(text, sizeof text, "%s_1", name);
    if (m->syms && dync__maker_symbols(m, text, &info.lay) != DYNC_OK) return DYNC_NONE;
    dync__node *n = dync__graph_placeholder(m->graph, text, NULL, &info);
    dync__tensor *x = !n ? NULL
                      : m->mode == DYNC_TRACE_REAL
                          ? dync__tensor_alias(t, t->dtype, &t->lay)
                          : dync__tensor_fake(t->dtype, t->device, &info.lay);
    if (!x) return DYNC_NONE;
    bool grad = dync__tensor_requires_grad(t);
    if (m->mode != DYNC_TRACE_REAL)
        x->storage->size_bytes = m->syms ? SIZE_MAX / 2 : t->storage->size_bytes;
    dync__tensor_set_requires_grad(x, grad);
    n->requires_grad[0] = grad;
    n->target = n->name;
    bool ok = dync__maker_own(m, x, n);
    dync_tensor *h = dync__give(x);
    return ok && h ? dync_v_tensor(h) : DYNC_NONE;
}

/* Lists of arguments become lists of inputs; numbers and what else stays as it is, and is a
 * constant of the graph. */
static dync_status dync__maker_argument(dync__graph_maker *m, const dync_value *v, const char *name,
                                        int depth, dync_value *out)
{
    *out = *v;
    if (v->kind == DYNC_KIND_TENSOR) {
        dync__tensor *t = dync__open(v->as.t);
        if (!t) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_VALUE;
        if (t->flags & DYNC__T_FAKE)
            return dync__fail(DYNC_ERR_VALUE, "dync_make_graph: "
                                              "expected a tensor with "
                                              "data, got one of another "
                                              "trace");
        *out = dync__maker_input(m, t, name);
        return out->kind == DYNC_KIND_TENSOR ? DYNC_OK : DYNC_ERR_MEMORY;
    }
    if (v->kind != DYNC_KIND_LIST || !v->as.l) return DYNC_OK;
    if (depth > 16)
        return dync__fail(DYNC_ERR_VALUE, "dync_make_graph: arguments nest deeper "
                                          "than 16 lists");
    const dync__list *l = dync__value_list(*v);
    if (!l) return DYNC_ERR_VALUE;
    *out = dync__list_new(l->n);
    if (out->kind != DYNC_KIND_LIST) return DYNC_ERR_MEMORY;
    for (int i = 0; i < l->n; i++) {
        dync_value item;
        DYNC__TRY(dync__maker_argument(m, &l->items[i], name, depth + 1, &item));
        dync__list_set(*out, i, item);
    }
    return DYNC_OK;
}

/* The graph's output: nodes in the form of the result. */
static dync_status dync__maker_result(dync__graph_maker *m, dync_value v, int depth, dync__arg *out)
{
    memset(out, 0, sizeof *out);
    if (v.kind == DYNC_KIND_TENSOR) {
        dync__tensor *t = dync__open(v.as.t);
        dync__node *n = t ? dync__maker_node(m, t) : NULL;
        if (n) *out = dync__arg_node(n);
        return n ? DYNC_OK : dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_VALUE;
    }
    if (v.kind != DYNC_KIND_LIST) return dync__value_to_arg(&m->graph->arena, v, out);
    if (depth > 16)
        return dync__fail(DYNC_ERR_VALUE, "dync_make_graph: the result nests deeper "
                                          "than 16 lists");
    out->kind = DYNC__A_LIST;
    const dync__list *l = dync__value_list(v);
    if (!l && v.as.l) return DYNC_ERR_VALUE;
    out->n = l ? l->n : 0;
    out->as.list = dync__arena_alloc(&m->graph->arena, (size_t)(out->n + 1) * sizeof *out);
    if (!out->as.list) return DYNC_ERR_MEMORY;
    for (int i = 0; i < out->n; i++)
        DYNC__TRY(dync__maker_result(m, l->items[i], depth + 1, &out->as.list[i]));
    return DYNC_OK;
}

/* Without a result and without an operator there is nothing to return: an error that says so. */
static dync_status dync__maker_finish(dync__graph_maker *m, dync_value r, const char *name)
{
    dync__arg result;
    if (r.kind == DYNC_KIND_NONE && dync__graph_op_count(m->graph) == 0)
        return dync__fail(DYNC_ERR_UNSUPPORTED,
                          "%s makes no operator call: there is no graph of it", name);
    DYNC__TRY(dync__maker_result(m, r, 0, &result));
    if (!dync__graph_output(m->graph, &result) || m->graph->failed) return DYNC_ERR_MEMORY;
    return dync__maker_settle(m);
}

/* ---- the run --------------------------------------------------------------------------------- */

/* The recorder stands at the bottom only while the function runs; the bottom of before runs the
 * operators of REAL mode. */
static dync_status dync__maker_trace(dync__graph_maker *m, const dync_callee *callee,
                                     const char *name, int nargs, const dync_value *args)
{
    dync__compiled *inner = dync__callee_compiled(callee);
    const char *names = callee->args ? callee->args : inner ? inner->args : NULL;
    dync_value *in = dync__scope_alloc((size_t)nargs * sizeof *in + 1);
    if (!in) return DYNC_ERR_MEMORY;
    for (int i = 0; i < nargs; i++) {
        const char *arg = dync__arg_name(&m->graph->arena, names, i);
        if (!arg) return DYNC_ERR_MEMORY;
        DYNC__TRY(dync__maker_argument(m, &args[i], arg, 0, &in[i]));
    }
    uint64_t errors = dync__error_count();
    dync__graph_maker *outer = dync__maker_now;
    dync__maker_now = m;
    m->before = dync__bottom_swap(&m->handler);
    dync_value r = dync__callee_invoke(callee, nargs, in);
    dync__bottom_swap(m->before);
    dync__maker_now = outer;
    /* one that was handled inside is none */
    if (dync__error_count() != errors && dync_error() != DYNC_OK) return dync_error();
    return dync__maker_finish(m, r, name);
}

/* The graph itself goes to the caller. */
static void dync__maker_free(dync__graph_maker *m)
{
    for (int i = 0; i < m->real.n; i++) {
        dync__unref(m->real.at[i]);
        dync__unref(m->fake.at[i]);
    }
    dync__symtab_free(m->syms);
    dync__vec_free(&m->real);
    dync__vec_free(&m->fake);
    dync__map_free(&m->node);
}

static void dync__graph_release(void *g) { dync__graph_unref(g); }

/* A trace that is open in this thread rests: its handlers, symbols and flags are put back. The
 * handle belongs to the scope. */
DYNC_API dync_graph *dync_make_graph_values(dync_callee callee, const char *name, int nargs,
                                            const dync_value *args)
{
    dync__graph_maker m = {.handler = {.call = dync__maker_call, .reads = &dync__maker_reads},
                           .mode = dync__maker_mode};
    const char *shown = callee.name ? callee.name : name ? name : "GraphModule";
    dync__maker_mode = DYNC_TRACE_REAL;
    if (dync__callee_check(&callee, "dync_make_graph") != DYNC_OK) return NULL;
    if (nargs < 0 || (nargs > 0 && !args))
        return dync__fail(DYNC_ERR_VALUE, "dync_make_graph(%s): expected %d arguments, got %s",
                          shown, nargs, args ? "less than none" : "NULL"),
               NULL;
    m.handler.state = &m;
    m.graph = dync__graph_new(shown);
    if (!m.graph) return NULL;
    m.graph->unbroken = true;
    if (m.mode == DYNC_TRACE_SYMBOLIC && !(m.syms = dync__symtab_new())) {
        dync__graph_unref(m.graph);
        return NULL;
    }
    dync__handler *stack = dync__handler_swap(NULL);
    bool compiling = dync__tls.compiling, grad_off = dync__grad_is_off();
    dync__symtab *syms = dync__tls.syms;
    dync__tls.compiling = false;
    dync__tls.syms = m.syms;
    dync_scope scope = dync_scope_begin();
    dync_status status = dync__maker_trace(&m, &callee, shown, nargs, args);
    dync_scope_end(&scope);
    dync__tls.compiling = compiling;
    dync__grad_off(grad_off);
    dync__tls.syms = syms;
    dync__handler_swap(stack);
    dync__maker_free(&m);
    if (status != DYNC_OK && dync_error() == DYNC_OK)
        dync__fail(status, "dync_make_graph(%s) failed", shown);
    dync_graph *handle = status == DYNC_OK ? dync__graph_handle(m.graph) : NULL;
    if (handle && dync__scope_defer(dync__graph_release, m.graph)) return handle;
    dync__graph_unref(m.graph);
    return NULL;
}

/* ---- names of values ------------------------------------------------------------------------- */
/* Gives h back, whatever happens; the name is interned. */
DYNC_API dync_tensor *dync_named(const char *name, dync_tensor *h)
{
    dync__tensor *t = h ? dync__open(h) : NULL;
    if (!t || !name) return h;
    dync__node *n = dync__tls.recording && dync__maker_now ? dync__maker_known(dync__maker_now, t)
                                                           : NULL;
    if (n && n->kind != DYNC__N_PLACEHOLDER) dync__graph_rename(n->graph, n, name);
    if (t->node && dync__tls.compiling) dync__graph_rename(t->node->graph, t->node, name);
    const char *kept = dync__intern(name);
    if (kept) t->name = kept;
    return h;
}
