/* compile/make_graph_run.c: arguments, the run and the result of dync_make_graph. After
 * make_graph.c. */
#include "../dync.in.h"
#include "../capture/capture.h"
#include "make_graph.h"
DYNC__COLD

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

static void dync__maker_stopped(dync__graph_maker *m)
{
    if (m->running) dync__bottom_swap(m->before);
    if (m->running) dync__maker_now = m->outer;
    m->running = false;
}

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
    m->outer = dync__maker_now;
    dync__maker_now = m;
    m->before = dync__bottom_swap(&m->handler);
    m->running = true;
    dync_value r = dync__callee_invoke(callee, nargs, in);
    dync__wait_over(&m->wait);
    dync__maker_stopped(m);
    /* one that was handled inside is none */
    if (dync__error_count() != errors && dync_error() != DYNC_OK) return dync_error();
    return dync__maker_finish(m, r, name);
}

/* What was in force outside is again. The graph itself goes to the caller. */
static void dync__maker_end(dync__graph_maker *m)
{
    dync__maker_stopped(m);
    dync_scope_end(&m->scope);
    dync__tls.compiling = m->compiling;
    dync__grad_off(m->grad_off);
    dync__tls.syms = m->outer_syms;
    dync__handler_swap(m->stack);
    for (int i = 0; i < m->real.n; i++) {
        dync__unref(m->real.at[i]);
        dync__unref(m->fake.at[i]);
    }
    dync__symtab_free(m->syms);
    dync__vec_free(&m->real);
    dync__vec_free(&m->fake);
    dync__map_free(&m->node);
    dync__free(m, sizeof *m);
}

static void dync__maker_unwind(dync__wait *wait, const dync__wait *rest, bool quiet)
{
    dync__graph_maker *m = (dync__graph_maker *)(void *)wait;
    dync__graph *graph = m->graph;
    (void)rest;
    if (!quiet)
        dync__warn("a function was left while dync_make_graph recorded it (by longjmp or an "
                   "exception): there is no graph of it");
    dync__maker_end(m);
    dync__graph_unref(graph);
}

/* NULL + error: no memory. A trace that is open in this thread rests: its handlers, symbols and
 * flags are put back by the end. */
static dync__graph_maker *dync__maker_begin(dync_trace_mode mode, const char *name)
{
    dync__graph_maker *m = dync__calloc(sizeof *m);
    if (!m) return NULL;
    dync__names_shown();
    m->handler = (dync__handler){.call = dync__maker_call, .reads = &dync__maker_reads, .state = m};
    m->mode = mode;
    m->graph = dync__graph_new(name);
    m->syms = mode == DYNC_TRACE_SYMBOLIC && m->graph ? dync__symtab_new() : NULL;
    if (!m->graph || (mode == DYNC_TRACE_SYMBOLIC && !m->syms)) {
        dync__graph_unref(m->graph);
        dync__free(m, sizeof *m);
        return NULL;
    }
    m->graph->unbroken = true;
    m->stack = dync__handler_swap(NULL);
    m->compiling = dync__tls.compiling;
    m->grad_off = dync__grad_is_off();
    m->outer_syms = dync__tls.syms;
    dync__tls.compiling = false;
    dync__tls.syms = m->syms;
    m->scope = dync_scope_begin();
    return m;
}

static void dync__graph_release(void *g) { dync__graph_unref(g); }

/* The handle belongs to the scope. */
DYNC__NOINLINE DYNC_API dync_graph *dync_make_graph_values(dync_callee callee, const char *name,
                                                           int nargs, const dync_value *args)
{
    dync_trace_mode mode = dync__maker_mode;
    const char *shown = callee.name ? callee.name : name ? name : "GraphModule";
    (void)dync__waits_left();
    dync__maker_mode = DYNC_TRACE_REAL;
    if (dync__callee_check(&callee, "dync_make_graph") != DYNC_OK) return NULL;
    if (nargs < 0 || (nargs > 0 && !args))
        return dync__fail(DYNC_ERR_VALUE, "dync_make_graph(%s): expected %d arguments, got %s",
                          shown, nargs, args ? "less than none" : "NULL"),
               NULL;
    dync__graph_maker *m = dync__maker_begin(mode, shown);
    if (!m) return NULL;
    DYNC__WAIT_BEGIN(&m->wait, dync__maker_unwind);
    dync__graph *graph = m->graph;
    dync_status status = dync__maker_trace(m, &callee, shown, nargs, args);
    dync__wait_end(&m->wait);
    dync__maker_end(m);
    if (status != DYNC_OK && dync_error() == DYNC_OK)
        dync__fail(status, "dync_make_graph(%s) failed", shown);
    dync_graph *handle = status == DYNC_OK ? dync__graph_handle(graph) : NULL;
    if (handle && dync__scope_defer(dync__graph_release, graph)) return handle;
    dync__graph_unref(graph);
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
