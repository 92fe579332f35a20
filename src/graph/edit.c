/* graph/edit.c: the changes that users make to graphs, one at a time. After change.c; pattern.c
 * makes many at once. */
#include "../dync.in.h"
#include "control.h"
#include "change.h"
DYNC__COLD

/* A function that is not known may write. */
DYNC__FN bool dync__node_writes(const dync__node *n)
{
    if (!dync__node_is_call(n) || n->op == DYNC__NODE_GETITEM) return false;
    const dync__op_row *row = n->op >= 0 ? dync__op_info(n->op) : NULL;
    return !row || row->cls == DYNC__INPLACE || row->cls == DYNC__EFFECT ||
           (row->flags & DYNC__OP_WRITES) != 0;
}

/* ---- a copy ---------------------------------------------------------------------------------- */
static void dync__graph_drop(void *g) { dync__graph_unref(g); }

/* The scope gets the reference; NULL: no memory, and it is given up. */
static dync_graph *dync__graph_to_scope(dync__graph *owned)
{
    dync_graph *handle = dync__graph_handle(owned);
    if (handle && dync__scope_defer(dync__graph_drop, owned)) return handle;
    dync__graph_unref(owned);
    return NULL;
}

DYNC_API dync_graph *dync_graph_copy(dync_graph *handle)
{
    dync__graph *from = dync__graph_open(handle, "dync_graph_copy"), *to;
    if (!from || dync__graph_rewrite(from, dync__rewrite_copy, NULL, &to) != DYNC_OK) return NULL;
    to->unbroken = from->unbroken;
    for (int i = 0; i < from->over.n; i++)
        if (!dync__avec_push(&to->arena, &to->over, from->over.at[i])) {
            dync__graph_unref(to);
            return NULL;
        }
    return dync__graph_to_scope(to);
}

/* ---- arguments ------------------------------------------------------------------------------- */
/* An error that names the parameter, what it takes and what came. */
static dync_status dync__change_unfit(const dync__change *e, const dync__param *p,
                                      const char *expected, dync_value v)
{
    return dync__fail(DYNC_ERR_VALUE, "%s: %.*s: expected %s, got %s", e->who, p ? p->name_n : 8,
                      p ? p->name : "argument", expected,
                      v.kind == DYNC_KIND_TENSOR
                          ? "a tensor (dync_graph_insert_tensor gives the node of one)"
                          : dync__kind_name(v.kind));
}

/* Symbolic numbers are numbers too. */
static bool dync__change_is_number(dync_value v)
{
    return v.kind == DYNC_KIND_INT || v.kind == DYNC_KIND_BOOL || v.kind == DYNC_KIND_FLOAT ||
           dync__value_is_sized(v);
}

/* A list of ints, or one, as the DIMS of a parameter; symbolic ones become tokens. */
static dync_status dync__change_sizes(dync__change *e, const dync__param *p, dync_value v,
                                      dync__arg *out)
{
    const dync__list *l = v.kind == DYNC_KIND_LIST ? dync__value_list(v) : NULL;
    int n = v.kind == DYNC_KIND_LIST ? (l ? l->n : 0) : 1;
    int64_t *d = dync__arena_alloc(&e->graph->arena, (size_t)(n + 1) * sizeof *d);
    if (!d) return DYNC_ERR_MEMORY;
    for (int i = 0; i < n; i++) {
        dync_value item = l ? l->items[i] : v;
        if (!dync__change_is_number(item)) return dync__change_unfit(e, p, "a list of ints", item);
        d[i] = dync_as_dim(item);
    }
    *out = dync__arg_dims(n, d);
    return DYNC_OK;
}

/* recursion: lists in lists */
static dync_status dync__change_list(dync__change *e, dync_value v, dync__arg *out)
{
    const dync__list *l = dync__value_list(v);
    int n = l ? l->n : 0;
    if (!l && v.as.l) return DYNC_ERR_VALUE;
    *out = (dync__arg){.kind = DYNC__A_LIST, .n = n};
    out->as.list = dync__arena_alloc(&e->graph->arena, (size_t)(n + 1) * sizeof *out);
    if (!out->as.list) return DYNC_ERR_MEMORY;
    for (int i = 0; i < n; i++)
        DYNC__TRY(dync__change_value(e, NULL, l->items[i], &out->as.list[i]));
    return DYNC_OK;
}

/* The function's graph is fixed from now on. */
static dync_status dync__change_function(dync__change *e, const dync__param *p, dync_value v,
                                         dync__arg *out)
{
    dync__graph *g = v.kind == DYNC_KIND_GRAPH ? dync__graph_open(v.as.g, e->who) : NULL;
    if (!g) return dync__change_unfit(e, p, "a graph", v);
    if (g == e->graph)
        return dync__fail(DYNC_ERR_VALUE, "%s: a graph is no function inside itself", e->who);
    DYNC__ATOMIC_STORE(&g->fixed, 1);
    *out = dync__arg_graph(g);
    return DYNC_OK;
}

/* Converts by the parameter's type as a call of the operator's macro would: an int is fine for a
 * float. */
DYNC__FN dync_status dync__change_value(dync__change *e, const dync__param *p, dync_value v,
                                        dync__arg *out)
{
    if (p && p->type == DYNC__PARAM_GRAPH) return dync__change_function(e, p, v, out);
    if (v.kind == DYNC_KIND_NODE) {
        dync__node *n = dync__node_open(v.as.n, e->who);
        if (!n) return DYNC_ERR_VALUE;
        *out = dync__arg_node(n);
        return n->graph == e->graph
                   ? DYNC_OK
                   : dync__fail(DYNC_ERR_VALUE, "%s: %s is a node of another graph, %s", e->who,
                                n->name, n->graph->name);
    }
    if (p && p->type == DYNC__PARAM_DIMS && (v.kind == DYNC_KIND_LIST || dync__change_is_number(v)))
        return dync__change_sizes(e, p, v, out);
    if (v.kind == DYNC_KIND_LIST) return dync__change_list(e, v, out);
    bool number = dync__change_is_number(v), none = v.kind == DYNC_KIND_NONE;
    switch (p ? p->type : DYNC__PARAM_END) {
    case DYNC__PARAM_INT:
        if (number) *out = dync__arg_i(dync_as_dim(v));
        break;
    case DYNC__PARAM_FLOAT:
        if (number) *out = dync__arg_f(dync_as_real(v));
        break;
    case DYNC__PARAM_BOOL:
        if (number) *out = dync__arg_b(dync_as_bool(v));
        break;
    case DYNC__PARAM_DTYPE:
        *out = none ? dync__arg_none() : dync__arg_dtype(number ? (int)dync_as_int(v) : -1);
        return number || none ? DYNC_OK : dync__change_unfit(e, p, "a dtype", v);
    case DYNC__PARAM_DEVICE:
        *out = none ? dync__arg_none() : dync__arg_device(number ? (int)dync_as_int(v) : -1);
        return number || none ? DYNC_OK : dync__change_unfit(e, p, "a device", v);
    case DYNC__PARAM_VALUE: *out = dync__arg_value(v); break;
    case DYNC__PARAM_TENSOR:
    case DYNC__PARAM_TENSORS:
    case DYNC__PARAM_DIMS:
        return dync__change_unfit(e, p, p->type == DYNC__PARAM_TENSOR ? "a node" : "a list", v);
    case DYNC__PARAM_TENSOR_OPT:
        *out = dync__arg_none();
        return none ? DYNC_OK : dync__change_unfit(e, p, "a node or none", v);
    case DYNC__PARAM_STR:
        *out = dync__arg_value(v);
        return none || v.kind == DYNC_KIND_STR ? DYNC_OK : dync__change_unfit(e, p, "a string", v);
    default: *out = dync__arg_value(v); number = number || none || (!p && v.kind == DYNC_KIND_STR);
    }
    return number ? DYNC_OK : dync__change_unfit(e, p, "a node or a number", v);
}

/* ---- nodes ----------------------------------------------------------------------------------- */
/* Place of a new node; -1: there is none. */
static int dync__change_before(dync__change *e, const dync_node *before)
{
    const dync__node *n = before ? dync__node_open(before, e->who) : NULL;
    if (!before) return e->graph->node.n - 1;
    if (n && n->graph == e->graph && n->index >= e->graph->n_inputs) return n->index;
    if (n)
        dync__fail(DYNC_ERR_VALUE,
                   n->graph == e->graph ? "%s: %s is an input: nothing stands before one"
                                        : "%s: %s is a node of another graph",
                   e->who, n->name);
    return -1;
}

/* getitem has no row: (node of several results, index). */
static dync_status dync__change_item(dync__change *e, int nargs, const dync_value *args,
                                     dync__node **out)
{
    const dync__node *list =
        nargs == 2 && args[0].kind == DYNC_KIND_NODE ? dync__node_open(args[0].as.n, e->who) : NULL;
    if (!list || list->graph != e->graph || args[1].kind != DYNC_KIND_INT || args[1].as.i < 0 ||
        args[1].as.i >= DYNC__MAX_OUT)
        return dync__fail(DYNC_ERR_VALUE,
                          "%s: getitem: expected a node of several results and "
                          "which of them",
                          e->who);
    *out = dync__graph_getitem(e->graph, (dync__node *)(uintptr_t)list, (int)args[1].as.i);
    return *out ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* The node goes to the end of the graph; the caller places it. */
static dync_status dync__change_call(dync__change *e, const char *name, int nargs,
                                     const dync_value *args, dync__node **out)
{
    dync__arg list[DYNC__MAX_ARGS];
    dync__param param;
    int op = dync__op_find(name), n = 0;
    if (strcmp(name, "getitem") == 0) return dync__change_item(e, nargs, args, out);
    if (op < 0) return dync__fail(DYNC_ERR_VALUE, "%s: there is no operator %s", e->who, name);
    const dync__op_row *row = dync__op_info(op);
    while (n < DYNC__MAX_ARGS && dync__schema_param(row->schema, n, &param)) n++;
    if (n != nargs)
        return dync__fail(DYNC_ERR_VALUE, "%s: %s%s: expected %d arguments, got %d", e->who, name,
                          row->schema, n, nargs);
    for (int i = 0; i < nargs; i++) {
        (void)dync__schema_param(row->schema, i, &param);
        DYNC__TRY(dync__change_value(e, &param, args[i], &list[i]));
    }
    int nout = row->nout;
    for (int i = 0; nout < 0 && i < nargs; i++)
        if (list[i].kind == DYNC__A_GRAPH) nout = list[i].n;
    if (nout < 0 || nout > DYNC__MAX_OUT)
        return dync__fail(DYNC_ERR_VALUE, "%s: %s gives more than %d results", e->who, name,
                          (int)DYNC__MAX_OUT);
    *out = dync__graph_call(e->graph, op, nargs, list, nout, NULL, NULL);
    return *out ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* The handle is made before the change ends, since it can fail. */
DYNC_API dync_node *dync_graph_insert_values(dync_graph *handle, dync_node *before, const char *op,
                                             int nargs, const dync_value *args)
{
    dync__change e;
    dync__node *made = NULL;
    dync__graph *g = dync__graph_open(handle, "dync_graph_insert");
    if (!g) return NULL;
    if (!op || nargs < 0 || (nargs && !args)) {
        dync__fail(DYNC_ERR_VALUE, "dync_graph_insert: expected the name of an operator and its "
                                   "arguments");
        return NULL;
    }
    if (dync__change_begin(&e, g, "dync_graph_insert") != DYNC_OK) return NULL;
    int at = dync__change_before(&e, before);
    dync_status status = at < 0 ? DYNC_ERR_VALUE : dync__change_call(&e, op, nargs, args, &made);
    if (status == DYNC_OK) dync__change_place(&e, at);
    dync_node *shown = status == DYNC_OK ? dync__node_show(made) : NULL; /* before it is done */
    if (status == DYNC_OK && !shown) status = DYNC_ERR_MEMORY;
    return dync__change_end(&e, status) == DYNC_OK ? shown : NULL;
}

DYNC_API dync_node *dync_graph_insert_tensor(dync_graph *handle, const char *name,
                                             dync_tensor *value)
{
    dync__change e;
    dync__graph *g = dync__graph_open(handle, "dync_graph_insert_tensor");
    dync__tensor *t = g ? dync__open(value) : NULL;
    if (!t) return NULL;
    if (t->flags & DYNC__T_FAKE) {
        dync__fail(DYNC_ERR_VALUE, "dync_graph_insert_tensor: expected a tensor with data");
        return NULL;
    }
    if (dync__change_begin(&e, g, "dync_graph_insert_tensor") != DYNC_OK) return NULL;
    dync__node *made = name ? dync__graph_attr(g, name, name, t) : dync__graph_constant(g, t);
    if (made) dync__change_place(&e, g->n_inputs);
    dync_node *shown = made ? dync__node_show(made) : NULL;
    return dync__change_end(&e, shown ? DYNC_OK : DYNC_ERR_MEMORY) == DYNC_OK ? shown : NULL;
}

/* The output node's form is what callers rely on, where results are new values of inputs. */
static dync_status dync__change_set(dync__change *e, dync__node *n, int i, dync_value v)
{
    dync__param param;
    dync__arg arg;
    if (i < 0 || i >= n->nargs)
        return dync__fail(DYNC_ERR_INDEX, "%s: %s: expected 0 <= argument < %d, got %d", e->who,
                          n->name, n->nargs, i);
    const dync__op_row *row = n->op >= 0 ? dync__op_info(n->op) : NULL;
    bool known = row && dync__schema_param(row->schema, i, &param);
    DYNC__TRY(dync__change_value(e, known ? &param : NULL, v, &arg));
    const dync__arg *old = &n->args[i];
    if (n->kind == DYNC__N_OUTPUT && e->graph->over.n > 0 &&
        (arg.kind != old->kind || arg.n != old->n))
        return dync__fail(DYNC_ERR_VALUE, "%s: %s: the number of results cannot change", e->who,
                          n->name);
    return dync__change_arg(e, n, i, &arg);
}

DYNC_API dync_status dync_node_set_arg(dync_node *handle, int i, dync_value v)
{
    dync__change e;
    dync__node *n = dync__node_open(handle, "dync_node_set_arg");
    if (!n) return DYNC_ERR_VALUE;
    DYNC__TRY(dync__change_begin(&e, n->graph, "dync_node_set_arg"));
    return dync__change_end(&e, dync__change_set(&e, n, i, v));
}

DYNC_API dync_status dync_node_replace(dync_node *handle, dync_node *with_handle)
{
    dync__change e;
    dync__node *n = dync__node_open(handle, "dync_node_replace");
    dync__node *with = n ? dync__node_open(with_handle, "dync_node_replace") : NULL;
    if (!with) return DYNC_ERR_VALUE;
    if (with->graph != n->graph || with == n || n->kind == DYNC__N_OUTPUT ||
        with->kind == DYNC__N_OUTPUT)
        return dync__fail(DYNC_ERR_VALUE,
                          "dync_node_replace: expected two values of one graph, got %s and %s",
                          n->name, with->name);
    DYNC__TRY(dync__change_begin(&e, n->graph, "dync_node_replace"));
    return dync__change_end(&e, dync__change_replace(&e, n, with));
}

DYNC_API dync_status dync_node_erase(dync_node *handle)
{
    dync__change e;
    dync__node *n = dync__node_open(handle, "dync_node_erase");
    if (!n) return DYNC_ERR_VALUE;
    DYNC__TRY(dync__change_begin(&e, n->graph, "dync_node_erase"));
    return dync__change_end(&e, dync__change_erase(&e, n));
}

DYNC_API int dync_graph_eliminate_dead(dync_graph *handle)
{
    dync__change e;
    dync__graph *g = dync__graph_open(handle, "dync_graph_eliminate_dead");
    if (dync__change_begin(&e, g, "dync_graph_eliminate_dead") != DYNC_OK) return -1;
    int before = g->node.n;
    dync_status status = dync__graph_dce(g);
    return dync__change_end(&e, status) == DYNC_OK ? before - g->node.n : -1;
}
