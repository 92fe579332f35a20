/* compile/ca_list.c: a captured backward as its backend sees it: the inputs are one list. After
 * capture/, before compiled_autograd.c.
 *
 *   traced:    f(s0, l_inputs_0_, l_inputs_1_)          an input per tensor and per symbolic size
 *   handed on: f(L_inputs_, s0)                         getitem = L_inputs_[0], getitem_1 = ..[1]
 *
 * The callable that comes back is wrapped: it makes the list of each call, and puts outputs back
 * into the order in which they were traced. */
#include "../dync.in.h"
#include "ca.h"
DYNC__COLD

/* place: in the list of each input, -1: by itself. Gradients leave before numbers: out says where
 * each output of the traced graph stands. */
typedef struct dync__ca_code {
    dync_callable code;
    dync__graph *graph;
    int n, n_list, n_out;
    int *place, *out;
} dync__ca_code;

/* The i of "L['inputs'][i]"; -1: another input. */
static int dync__ca_place(const dync__node *n)
{
    static const char head[] = "L['inputs'][";
    double i;
    const char *end;
    if (!n->source || strncmp(n->source, head, sizeof head - 1) != 0) return -1;
    return dync__text_double(n->source + sizeof head - 1, &end, &i) ? (int)i : -1;
}

/* Item i of the list, which stands for the placeholder `old`: it has its type and name. NULL: no
 * memory. */
static dync__node *dync__ca_getitem(dync__graph *g, dync__node *list, const dync__node *old, int i)
{
    char name[32];
    dync__format(name, sizeof name, i ? "getitem_%d" : "getitem", i);
    dync__node *n = dync__graph_getitem(g, list, i);
    if (!n || !dync__graph_rename(g, n, name)) return NULL;
    n->info[0] = old->info[0];
    n->info[0].alias = -1;
    n->has_info = true;
    n->requires_grad[0] = old->requires_grad[0];
    n->stack = dync__arena_printf(&g->arena, "<compiled_autograd>:0.%d in forward\n", i);
    return n->stack ? n : NULL;
}

/* The result: what is no symbolic number first. */
static dync_status dync__ca_outputs(dync__rewrite *r, const dync__arg *old, dync__ca_code *code)
{
    dync__graph *g = r->to;
    dync__arg list, sorted;
    int n = 0;
    if (!dync__rewrite_arg(r, old, &list)) return DYNC_ERR_MEMORY;
    sorted = list;
    sorted.as.list = dync__arena_alloc(&g->arena, (size_t)(list.n + 1) * sizeof list);
    code->out = dync__calloc((size_t)(list.n + 1) * sizeof *code->out);
    if (!sorted.as.list || !code->out) return DYNC_ERR_MEMORY;
    code->n_out = list.n;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < list.n; i++)
            if ((list.as.list[i].as.node->sym != NULL) == (pass == 1)) {
                code->out[i] = n;
                sorted.as.list[n++] = list.as.list[i];
            }
    return dync__graph_output(g, &sorted) ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* Other inputs, items of the list, calls: 0, 1, 2. */
static int dync__ca_pass(const dync__node *n)
{
    return n->kind != DYNC__N_PLACEHOLDER ? 2 : dync__ca_place(n) >= 0;
}

/* The list stands first in the new graph. */
static dync__node *dync__ca_listed_node(dync__rewrite *r, dync__node *old)
{
    int place = old->kind == DYNC__N_PLACEHOLDER ? dync__ca_place(old) : -1;
    return place >= 0 ? dync__ca_getitem(r->to, r->to->node.at[0], old, place)
                      : dync__rewrite_copy(r, old);
}

/* code->place is filled, one entry per placeholder in order. */
static dync_status dync__ca_nodes(dync__rewrite *r, dync__ca_code *code)
{
    dync__graph *old = r->from;
    dync__node *list = dync__graph_placeholder(r->to, "l_inputs_", "L['inputs']", NULL);
    if (!list || !dync__graph_takes_symbols(r->to, old) ||
        !(list->target = dync__arena_strdup(&r->to->arena, "L_inputs_")))
        return DYNC_ERR_MEMORY;
    for (int i = 0, k = 0; i < old->node.n; i++) {
        if (old->node.at[i]->kind != DYNC__N_PLACEHOLDER) continue;
        int place = code->place[k++] = dync__ca_place(old->node.at[i]);
        code->n_list = DYNC__MAX(code->n_list, place + 1);
    }
    for (int pass = 0; pass < 3; pass++)
        for (int i = 0; i < old->node.n - 1; i++)
            if (dync__ca_pass(old->node.at[i]) == pass)
                DYNC__TRY(dync__rewrite_put(r, old->node.at[i], dync__ca_listed_node));
    return dync__ca_outputs(r, &old->node.at[old->node.n - 1]->args[0], code);
}

/* code->graph: the new graph, owned. code->place has room for every placeholder. */
static dync_status dync__ca_listed(dync__graph *old, dync__ca_code *code)
{
    dync__rewrite r;
    dync_status status = dync__rewrite_begin(&r, old, "GraphModule");
    if (status == DYNC_OK) status = dync__ca_nodes(&r, code);
    return dync__rewrite_end(&r, status, &code->graph);
}

/* The list, then the inputs that are not in it. out: room for as many values as args has, and
 * one. */
static int dync__ca_values(const dync__ca_code *c, const dync_value *args, dync_value *out)
{
    int n = 1;
    out[0] = dync__list_new(c->n_list);
    for (int i = 0; i < c->n; i++) {
        if (c->place[i] < 0)
            out[n++] = args[i];
        else if (out[0].kind == DYNC_KIND_LIST)
            dync__list_set(out[0], c->place[i], args[i]);
    }
    return n;
}

/* A result of another form than expected passes on as it is: the caller reports it. */
static dync_value dync__ca_code_run(void *state, const dync_value *args, int nargs)
{
    const dync__ca_code *c = state;
    dync_value *in = nargs == c->n ? dync__scope_alloc((size_t)(nargs + 1) * sizeof *in) : NULL;
    if (!in) return DYNC_NONE;
    int n = dync__ca_values(c, args, in);
    dync_value r = c->code.run(c->code.state, in, n);
    const dync__list *l = dync__value_list(r);
    if (!l || l->n != c->n_out) return r;
    dync_value back = dync__list_new(c->n_out);
    for (int i = 0; back.kind == DYNC_KIND_LIST && i < c->n_out; i++)
        dync__list_set(back, i, l->items[c->out[i]]);
    return back;
}

/* Also of one that is half made. */
static void dync__ca_code_destroy(void *state)
{
    dync__ca_code *c = state;
    if (c->code.destroy) c->code.destroy(c->code.state);
    dync__graph_unref(c->graph);
    dync__free(c->place, (size_t)(c->n + 1) * sizeof *c->place);
    dync__free(c->out, (size_t)(c->n_out + 1) * sizeof *c->out);
    dync__free(c, sizeof *c);
}

/* The compile function of a backend (api/graph.h); user: the entry, whose backend gets the new
 * graph. */
DYNC__FN dync_status dync__ca_compile(dync_graph *graph, const dync_value *ex, int n,
                                      const char *options, dync_callable *out, void *user)
{
    dync__graph *g = dync__graph_open(graph, "compiled autograd");
    if (!g) return DYNC_ERR_VALUE;
    dync__aot_use_lists();
    dync__callable_boxes();
    const dync__ca_entry *e = user;
    dync__ca_code *c = dync__calloc(sizeof *c);
    if (!c) return DYNC_ERR_MEMORY;
    c->n = n;
    c->place = dync__calloc((size_t)(n + 1) * sizeof *c->place);
    dync_scope scope = dync_scope_begin();
    dync_value *in = dync__scope_alloc((size_t)(n + 1) * sizeof *in);
    dync_status status = c->place && in ? dync__ca_listed(g, c) : DYNC_ERR_MEMORY;
    DYNC__COUNTER_ADD(autograd_compiles, 1);
    if (status == DYNC_OK)
        status = dync__graph_ask(&e->backend, c->graph, in, dync__ca_values(c, ex, in), options,
                                 &c->code);
    dync_scope_end(&scope);
    if (status == DYNC_OK && !c->code.run)
        status = dync__fail(DYNC_ERR_BACKEND, "backend '%s' gave no callable",
                            e->backend.name ? e->backend.name : "?");
    if (status != DYNC_OK) {
        dync__ca_code_destroy(c);
        return status;
    }
    memset(out, 0, sizeof *out);
    out->run = dync__ca_code_run;
    out->destroy = dync__ca_code_destroy;
    out->state = c;
    return DYNC_OK;
}
