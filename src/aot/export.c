/* aot/export.c: the graphs of AOT autograd for those who want to read or run them: dync_aot_export,
 * and the table of sequence numbers that tells which forward line each backward node belongs to.
 * After backward_node.c. Row names are those of PyTorch's aten operators. */
#include "../dync.in.h"
#include "aot.h"
#include "../autograd/node.h"
DYNC__COLD

/* ---- the graph in order ---------------------------------------------------------------------- */
/* Tensors of the graph stand as attributes again, after the inputs. */
static dync_status dync__export_attributes(dync__aot_graphs *a)
{
    dync__graph *g = a->joint;
    for (int i = 0; i < a->actual.n; i++) {
        dync__node *n = a->lifted.at[i];
        if (a->actual.at[i].kind != DYNC__AOT_ATTR || !n) continue;
        n->kind = DYNC__N_GET_ATTR;
        n->target = n->name;
        n->source = NULL;
        if (!dync__graph_attr_bind(n, a->actual.at[i].tensor)) return DYNC_ERR_MEMORY;
        int at = n->index, last = --g->n_inputs;
        for (int k = at; k < last; k++) {
            g->node.at[k] = g->node.at[k + 1];
            g->node.at[k]->index = k;
        }
        g->node.at[last] = n;
        n->index = last;
    }
    dync__graph_renumber(g);
    return DYNC_OK;
}

/* Makes a detach of n behind node `after`. */
static dync__node *dync__export_detach(dync__graph *g, dync__node *n, dync__node *after,
                                       const dync__node *like)
{
    dync__arg arg = dync__arg_node(n);
    dync__info info = n->info[0];
    info.alias = 0;
    dync__node *d = dync__graph_call(g, DYNC__USED(DYNC__OP_detach), 1, &arg, 1, &info, NULL);
    if (!d) return NULL;
    d->at = like->at;
    d->seq_nr = like->seq_nr;
    d->source = like->source;
    for (int k = g->node.n - 1; k > after->index + 1; k--) {
        g->node.at[k] = g->node.at[k - 1];
        g->node.at[k]->index = k;
    }
    g->node.at[after->index + 1] = d;
    d->index = after->index + 1;
    return d;
}

typedef struct dync__export_swap {
    dync__node *from, *to;
    int found;
} dync__export_swap;
static void dync__export_replace(void *user, dync__arg *a)
{
    dync__export_swap *s = user;
    if (a->as.node != s->from) return;
    s->found++;
    if (s->to) a->as.node = s->to;
}

/* A result that its own gradient reads is saved: detached when it is put away and when it is taken
 * out, as PyTorch's tape shows it. */
static dync_status dync__export_saved_results(dync__graph *g, const dync__node *last_forward)
{
    for (int i = 0; i < g->node.n && g->node.at[i] != last_forward; i++) {
        dync__node *n = g->node.at[i], *first = NULL;
        const dync__grad_rule *rule =
            n->op >= 0 && dync__node_is_call(n) && n->nout == 1 ? dync__grad_rule_of(n->op) : NULL;
        if (!rule || !((rule->keep[0] | rule->keep[1]) & DYNC__KEEP_OUT(0))) continue;
        for (int k = last_forward->index + 1; k < g->node.n && !first; k++) {
            dync__export_swap look = {n, NULL, 0};
            dync__node *user = g->node.at[k];
            if (user->seq_nr == n->seq_nr && dync__node_is_call(user))
                dync__node_each_input(user, dync__export_replace, &look);
            if (look.found) first = user;
        }
        if (!first) continue;
        dync__node *put = dync__export_detach(g, n, n, n);
        if (put) put = dync__export_detach(g, put, put, n);
        dync__node *taken = put ? dync__export_detach(g, put, g->node.at[first->index - 1], first)
                                : NULL;
        if (taken) taken = dync__export_detach(g, taken, taken, first);
        if (!taken) return DYNC_ERR_MEMORY;
        dync__export_swap swap = {n, taken, 0};
        for (int k = first->index; k < g->node.n; k++)
            if (g->node.at[k]->seq_nr == n->seq_nr && dync__node_is_call(g->node.at[k]))
                dync__node_each_input(g->node.at[k], dync__export_replace, &swap);
    }
    return DYNC_OK;
}

/* ---- results --------------------------------------------------------------------------------- */
/* The user's result tree over the joint graph's values. */
static dync_status dync__export_form(const dync__aot_graphs *a, dync__arena *arena,
                                     const dync__arg *form, const dync__arg *values, int *k,
                                     dync__arg *out)
{
    *out = *form;
    if (form->kind == DYNC__A_NODE) {
        const dync__aot_out *o = &a->out.at[(*k)++];
        if (o->kind == DYNC__AOT_VALUE)
            *out = values[a->mutated.n + o->index];
        else if (o->kind == DYNC__AOT_INPUT && a->lifted.at[o->index])
            *out = dync__arg_node(a->lifted.at[o->index]);
        else
            return dync__fail(
                DYNC_ERR_RUNTIME,
                "aot_export_joint_simple does not support outputs that are views of inputs or of "
                "each other: output %d",
                *k - 1);
        return DYNC_OK;
    }
    if (form->kind != DYNC__A_LIST) return DYNC_OK;
    out->as.list = dync__arena_alloc(arena, (size_t)(form->n + 1) * sizeof *out);
    if (!out->as.list) return DYNC_ERR_MEMORY;
    for (int i = 0; i < form->n; i++)
        DYNC__TRY(dync__export_form(a, arena, &form->as.list[i], values, k, &out->as.list[i]));
    return DYNC_OK;
}

static dync_status dync__export_forward(dync__aot_graphs *a, const dync__graph *user)
{
    dync__node *output = a->joint->node.at[a->joint->node.n - 1];
    int k = 0;
    dync__arg form;
    if (a->mutated.n)
        return dync__fail(
            DYNC_ERR_RUNTIME,
            "aot_export_joint_simple does not support input mutations: %d inputs are written",
            a->mutated.n);
    DYNC__TRY(dync__export_form(a, &a->joint->arena, &user->node.at[user->node.n - 1]->args[0],
                                output->args[0].as.list, &k, &form));
    output->args[0] = form;
    dync__graph_renumber(a->joint);
    return DYNC_OK;
}

/* New values of written inputs, the outputs, then a gradient or none for each input. */
static dync_status dync__export_joint(dync__aot_graphs *a)
{
    dync__node *output = a->joint->node.at[a->joint->node.n - 1];
    const dync__arg *old = output->args[0].as.list;
    int n_fw = a->mutated.n + a->value.n, n = 0;
    dync__arg list = {.kind = DYNC__A_LIST};
    list.as.list = dync__arena_alloc(
        &a->joint->arena, (size_t)(a->mutated.n + a->out.n + a->n_inputs + 1) * sizeof list);
    if (!list.as.list) return DYNC_ERR_MEMORY;
    for (int i = 0; i < a->mutated.n; i++) list.as.list[n++] = old[i];
    for (int i = 0; i < a->out.n; i++) {
        const dync__aot_out *o = &a->out.at[i];
        if (o->kind == DYNC__AOT_VALUE)
            list.as.list[n++] = old[a->mutated.n + o->index];
        else if (o->kind == DYNC__AOT_INPUT && a->lifted.at[o->index])
            list.as.list[n++] = dync__arg_node(a->lifted.at[o->index]);
        else
            return dync__fail(
                DYNC_ERR_RUNTIME,
                "dync_aot_export: output %d is a view of an input or of another output", i);
    }
    for (int i = 0; i < a->n_inputs; i++) {
        list.as.list[n] = dync__arg_none();
        for (int k = 0; k < a->grad_of.n; k++)
            if (a->grad_of.at[k] == i) list.as.list[n] = old[n_fw + k];
        n++;
    }
    list.n = n;
    output->args[0] = list;
    dync__graph_renumber(a->joint);
    return a->last_forward ? dync__export_saved_results(a->joint, a->last_forward) : DYNC_OK;
}

static void dync__export_count(const dync__arg *a, int *n, int *n_grad, const dync__node **first)
{
    if (a->kind == DYNC__A_NODE) {
        if (!*first) *first = a->as.node;
        ++*n;
        *n_grad += a->as.node->requires_grad[0];
    }
    for (int i = 0; a->kind == DYNC__A_LIST && i < a->n; i++)
        dync__export_count(&a->as.list[i], n, n_grad, first);
}

/* A graph whose result to differentiate is one number needs no tangents. */
static bool dync__export_is_loss(const dync__graph *g)
{
    int n = 0, n_grad = 0;
    const dync__node *first = NULL;
    dync__export_count(&g->node.at[g->node.n - 1]->args[0], &n, &n_grad, &first);
    if (!first || !first->has_info || n_grad > 1 || (n_grad == 1 && !first->requires_grad[0]) ||
        (n_grad == 0 && n > 1))
        return false;
    int64_t numel;
    return dync__numel(first->info[0].lay.ndim, first->info[0].lay.shape, &numel) == DYNC_OK &&
           numel == 1;
}

DYNC_API dync_status(dync_aot_export)(dync_graph *handle, const dync_value *inputs, int n,
                                      bool joint, dync_graph **out)
{
    if (out) *out = NULL;
    dync__graph *graph = dync__graph_open(handle, "dync_aot_export");
    if (!graph) return DYNC_ERR_VALUE;
    if (!out || n < 0 || (n && !inputs))
        return dync__fail(DYNC_ERR_VALUE, "dync_aot_export: "
                                          "expected inputs and "
                                          "room for the result, "
                                          "got NULL");
    if (n != graph->n_inputs)
        return dync__fail(DYNC_ERR_VALUE, "dync_aot_export: the graph has %d inputs, got %d",
                          graph->n_inputs, n);
    dync__aot_graphs a;
    dync__aot_how how = {.decompose = DYNC__DECOMPOSE_IMPLICIT,
                         .joint = true,
                         .no_tangents = joint && dync__export_is_loss(graph),
                         .budget = 1};
    const char *why = NULL;
    bool off = dync__grad_is_off();
    dync__aot_use_gradients();
    dync__functional_use_writes();
    if (joint) dync__grad_off(false);
    dync_status status = dync__aot_trace(
        graph, inputs, joint && dync__aot_wants_grad(graph, inputs), &how, &a, &why);
    dync__grad_off(off);
    if (status == DYNC_ERR_UNSUPPORTED)
        return dync__fail(status, "dync_aot_export: not functional: %s", why ? why : "?");
    if (status != DYNC_OK) return status;
    if (a.seeds_before || a.seeds_after)
        status = dync__fail(DYNC_ERR_UNSUPPORTED, "dync_aot_export: not functional: manual_seed");
    if (a.backward_error) status = dync__fail(a.backward_status, "%s", a.backward_error);
    for (int i = 0; i < a.actual.n && status == DYNC_OK; i++)
        if (a.actual.at[i].kind == DYNC__AOT_BASE || a.actual.at[i].kind == DYNC__AOT_FLAT)
            status = dync__fail(DYNC_ERR_RUNTIME, "dync_aot_export: inputs that share memory, "
                                                  "one of them written");
    if (status == DYNC_OK)
        status = joint ? dync__export_joint(&a) : dync__export_forward(&a, graph);
    if (status == DYNC_OK) status = dync__export_attributes(&a);
    if (status == DYNC_OK && !(*out = dync__graph_give(dync__graph_ref(a.joint))))
        status = DYNC_ERR_MEMORY;
    dync__aot_graphs_free(&a);
    return status;
}

/* With the sizes of the graph's own table; what the trace finds out about them is in the result. */
static dync_status dync__export_sized(dync__graph *graph, const dync__aot_how *how,
                                      dync__aot_graphs *a, const char **why)
{
    dync__symtab *t = graph->syms ? dync__symtab_copy(graph->syms, NULL) : NULL,
                 *before = dync__tls.syms;
    if (graph->syms && !t) return DYNC_ERR_MEMORY;
    bool off = dync__grad_off(true);
    dync__functional_use_writes();
    dync__tls.syms = t;
    dync_status status = dync__aot_trace(graph, NULL, false, how, a, why);
    if (status == DYNC_OK && t && !dync__graph_settle_sizes(a->joint, t)) {
        dync__aot_graphs_free(a);
        status = DYNC_ERR_MEMORY;
    }
    dync__tls.syms = before;
    dync__grad_off(off);
    dync__symtab_free(t);
    return status;
}

/* Why a graph is not functional, at which of the user's lines. */
static dync_status dync__export_refused(const dync__graph *g, const dync__node *n, const char *why)
{
    const char *name = g->name;
    if (!why) why = "?";
    if (!n || !n->at.file)
        return dync__fail(DYNC_ERR_UNSUPPORTED, "graph %s is not functional: %s", name, why);
    return dync__fail(DYNC_ERR_UNSUPPORTED, "graph %s is not functional: %s (%s:%d)", name, why,
                      n->at.file, (int)n->at.line);
}

static bool dync__export_reads_float(const dync__graph *g)
{
    for (int i = 0; i < g->node.n; i++)
        if (dync__op_is_item(g->node.at[i]->op) && !g->node.at[i]->has_info) return true;
    return false;
}

static dync_status dync__export_functional(dync__graph *graph, bool (*keeps)(const dync__opcall *),
                                           bool data, dync__graph **out)
{
    dync__aot_graphs a;
    dync__aot_how how = {.decompose = DYNC__DECOMPOSE_IMPLICIT,
                         .keeps = keeps,
                         .joint = true,
                         .budget = 1,
                         .data = data};
    const char *why = NULL;
    dync_status status = dync__export_sized(graph, &how, &a, &why);
    if (status == DYNC_ERR_UNSUPPORTED) return dync__export_refused(graph, a.refused, why);
    if (status != DYNC_OK) return status;
    if (a.mutated.n)
        status = dync__fail(DYNC_ERR_UNSUPPORTED, "graph %s writes %d of its inputs or tensors",
                            graph->name, a.mutated.n);
    else if (a.seeds_before || a.seeds_after)
        status = dync__fail(DYNC_ERR_UNSUPPORTED, "graph %s: manual_seed", graph->name);
    if (status == DYNC_OK) status = dync__export_forward(&a, graph);
    if (status == DYNC_OK) status = dync__export_attributes(&a);
    if (status == DYNC_OK) *out = dync__graph_ref(a.joint);
    dync__aot_graphs_free(&a);
    return status;
}

/* A float that is read is a tensor of the graph. */
DYNC__FN dync_status dync__aot_functional(dync__graph *graph, bool (*keeps)(const dync__opcall *),
                                          bool data, dync__graph **out)
{
    dync__graph *numbers = NULL;
    *out = NULL;
    if (!dync__export_reads_float(graph)) return dync__export_functional(graph, keeps, data, out);
    dync_status status = dync__graph_numbers(graph, &numbers);
    if (status == DYNC_OK && !dync__graph_takes_symbols(numbers, graph)) status = DYNC_ERR_MEMORY;
    if (status == DYNC_OK) status = dync__export_functional(numbers, keeps, data, out);
    dync__graph_unref(numbers);
    return status;
}

/* ---- the table ------------------------------------------------------------------------------- */
/* aten's overload of a row: that of its form, or the usual one. */
static const char *dync__aten_overload(const dync__node *n)
{
    static const struct {
        int16_t op;
        const char *name;
    } rows[] = {
        {DYNC__OP_all, "dim"},        {DYNC__OP_any, "dim"},      {DYNC__OP_gather, "default"},
        {DYNC__OP_max_dim, "dim"},    {DYNC__OP_min_dim, "dim"},  {DYNC__OP_pow, "Tensor_Scalar"},
        {DYNC__OP_select, "int"},     {DYNC__OP_slice, "Tensor"}, {DYNC__OP_squeeze, "dim"},
        {DYNC__OP_transpose, "int"},  {DYNC__OP_where, "self"},   {DYNC__OP_softmax, "int"},
        {DYNC__OP_log_softmax, "int"}};
    const dync__op_row *row = dync__op_info(n->op);
    bool tensor = n->nargs > 1 && n->args[1].kind == DYNC__A_NODE;
    if (n->op == DYNC__OP_pow && tensor) return "Tensor_Tensor";
    if (n->op == DYNC__OP_sum || n->op == DYNC__OP_mean)
        return n->args[1].n == 0 ? "default" : n->op == DYNC__OP_sum ? "dim_IntList" : "dim";
    for (int i = 0; i < DYNC__COUNT_OF(rows); i++)
        if (rows[i].op == n->op) return rows[i].name;
    if (row->cls != DYNC__POINTWISE || n->nargs < 2 ||
        strncmp(row->schema, "(Value self, Value", 18) != 0)
        return "default";
    if (tensor || !(row->flags & DYNC__OP_BOOL_OUT))
        return n->op == DYNC__OP_div && !tensor && n->args[0].kind == DYNC__A_NODE &&
                       n->args[0].as.node->op == DYNC__OP_expand
                   ? "Scalar"
                   : "Tensor";
    return "Scalar";
}

/* "L['self'].conv1" as an identifier: l__self___conv1. */
static void dync__seq_source(dync__str *s, const char *source)
{
    for (const char *p = source ? source : ""; *p; p++) {
        bool upper = *p >= 'A' && *p <= 'Z',
             word = upper || (*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9');
        dync__str_addf(s, "%c", !word ? '_' : upper ? *p - 'A' + 'a' : *p);
    }
}

DYNC_API char *dync_graph_seq_table(const dync_graph *handle)
{
    dync__str s = {0};
    int64_t first = -1;
    const dync__graph *graph = dync__graph_open(handle, "dync_graph_seq_table");
    if (!graph) return NULL;
    dync__str_add(&s, "SeqNr|OrigAten|SrcFn\n");
    for (int i = 0; i < graph->node.n; i++) {
        const dync__node *n = graph->node.at[i];
        if (!dync__node_is_call(n) || n->op == DYNC__NODE_GETITEM) continue;
        if (first < 0) first = n->seq_nr;
        if (n->op < 0)
            dync__str_addf(&s, "%lld|%s|", (long long)(n->seq_nr - first), n->target);
        else
            dync__str_addf(&s, "%lld|aten.%s.%s|", (long long)(n->seq_nr - first),
                           dync__op_info(n->op)->name, dync__aten_overload(n));
        dync__seq_source(&s, n->source);
        dync__str_add(&s, "\n");
    }
    char *text = s.failed ? NULL : dync__scope_alloc(s.n + 1);
    if (text) memcpy(text, dync__str_get(&s), s.n);
    dync__str_free(&s);
    return text;
}
