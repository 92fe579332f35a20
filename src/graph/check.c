/* graph/check.c: the verifier of graphs. Run between passes in debug builds and on every graph that
 * came from text.
 *
 * dync__graph_check looks at the structure: placeholders first, one output and it is last, every
 * value defined before its uses and in this graph, names unique, arguments as many and of such
 * kinds as the operator's row says. dync__graph_check_types runs shape inference again on tensors
 * without data and compares. */
#include "../dync.in.h"
#include "control.h"
#include "graph.h"
#include "text.h"
DYNC__LEAN

/* While the uses of one node are looked at. */
typedef struct dync__check {
    const dync__graph *graph;
    const dync__node *node;
    dync_status status;
    int *users; /* by the index of the used node */
} dync__check;

/* DYNC_ERR_INTERNAL: a graph that the library made is wrong. Parsers report it as a bad text. */
DYNC__FN dync_status dync__node_fail(const dync__node *node, const char *what)
{
    return dync__fail(DYNC_ERR_INTERNAL, "graph %s, node %s: %s",
                      node->graph ? node->graph->name : "?", node->name ? node->name : "?", what);
}

/* Also counts uses, to be compared with the graph's own counts. */
static void dync__check_use(void *user, dync__arg *arg)
{
    dync__check *c = user;
    const dync__node *used = arg->as.node;
    if (c->status != DYNC_OK) return;
    if (!used || used->graph != c->graph)
        c->status = dync__node_fail(c->node, "uses a value of another graph");
    else if (used->index < 0 || used->index >= c->node->index ||
             c->graph->node.at[used->index] != used)
        c->status = dync__node_fail(c->node, "uses a value that is defined later, or not at all");
    else if (used->kind == DYNC__N_OUTPUT)
        c->status = dync__node_fail(c->node, "uses the output node");
    else
        c->users[used->index]++;
}

/* Of plain sizes. */
static bool dync__check_is_empty(const dync__layout *lay)
{
    bool empty = false;
    for (int d = 0; d < lay->ndim; d++) empty = empty || lay->shape[d] == 0;
    return empty;
}

/* Types must be possible; whether they are right is dync__graph_check_types' question. */
static dync_status dync__check_info(const dync__node *node)
{
    for (int i = 0; node->has_info && i < node->nout; i++) {
        const dync__info *info = &node->info[i];
        if (!dync__dtype_valid(info->dtype)) return dync__node_fail(node, "has no valid dtype");
        if (info->lay.ndim < 0 || info->lay.ndim > DYNC_MAX_DIMS)
            return dync__node_fail(node, "has too many dimensions");
        for (int d = 0; d < info->lay.ndim; d++)
            if (info->lay.shape[d] < 0) return dync__node_fail(node, "has a negative size");
        /* where a view of nothing begins does not matter */
        if (node->graph->symbol.n == 0 && !dync__layout_has_tokens(&info->lay) &&
            !dync__check_is_empty(&info->lay) && !dync__layout_is_countable(&info->lay))
            return dync__node_fail(node, "has more elements, or lies further apart, than memory "
                                         "can");
        if (info->alias >= node->nargs)
            return dync__node_fail(node, "shares memory with an argument that it does not have");
    }
    return DYNC_OK;
}

static bool dync__is_value(const dync__arg *a) { return a->kind == DYNC__A_NODE; }
/* A number, not a tensor. */
static bool dync__is_sym(const dync__arg *a)
{
    return a->kind == DYNC__A_NODE && !a->as.node->has_info;
}

/* May this argument stand for a parameter of that type? A node without info may be a symbolic
 * number. */
static bool dync__check_kind(const dync__arg *a, dync__param_type type)
{
    switch (type) {
    case DYNC__PARAM_VALUE: return dync__is_value(a) || dync__arg_is_number(a);
    case DYNC__PARAM_VALUE_OPT:
        return dync__is_value(a) || dync__arg_is_number(a) || a->kind == DYNC__A_NONE;
    case DYNC__PARAM_TENSOR: return dync__is_value(a);
    case DYNC__PARAM_TENSOR_OPT: return dync__is_value(a) || a->kind == DYNC__A_NONE;
    case DYNC__PARAM_TENSORS:
        for (int i = 0; a->kind == DYNC__A_LIST && i < a->n; i++)
            if (!dync__is_value(&a->as.list[i])) return false;
        return a->kind == DYNC__A_LIST || dync__is_sym(a);
    case DYNC__PARAM_INT: return a->kind == DYNC__A_INT || dync__is_sym(a);
    case DYNC__PARAM_FLOAT:
        return a->kind == DYNC__A_FLOAT || a->kind == DYNC__A_INT || dync__is_sym(a);
    case DYNC__PARAM_BOOL: return a->kind == DYNC__A_BOOL;
    case DYNC__PARAM_DIMS: return a->kind == DYNC__A_DIMS && a->n >= 0 && a->n <= DYNC_MAX_DIMS;
    case DYNC__PARAM_DTYPE: return a->kind == DYNC__A_DTYPE || a->kind == DYNC__A_NONE;
    case DYNC__PARAM_DEVICE: return a->kind == DYNC__A_DEVICE || a->kind == DYNC__A_NONE;
    case DYNC__PARAM_STR: return a->kind == DYNC__A_STR || a->kind == DYNC__A_NONE;
    case DYNC__PARAM_GRAPH: return a->kind == DYNC__A_GRAPH;
    case DYNC__PARAM_PTR: return a->kind == DYNC__A_PTR || a->kind == DYNC__A_NONE;
    case DYNC__PARAM_END: break;
    }
    return false;
}

/* recursion: functions inside, which take and give tensors alone, and hold none */
static dync_status dync__check_control(const dync__node *node)
{
    const dync__arg *last = NULL;
    for (int i = 0; i < node->nargs; i++) {
        const dync__graph *g = node->args[i].as.graph;
        if (node->args[i].kind != DYNC__A_GRAPH) continue;
        last = &node->args[i];
        DYNC__TRY(dync__graph_check(g));
        if (!dync__control_results(g))
            return dync__node_fail(node, "has a function that does not give a list of tensors");
        for (int k = 0; k < g->node.n; k++) {
            const dync__node *n = g->node.at[k];
            if (n->kind == DYNC__N_PLACEHOLDER ? !n->has_info : n->kind == DYNC__N_GET_ATTR)
                return dync__node_fail(n, "is in a function inside and no tensor given to it");
        }
    }
    if (!last || !node->has_info || node->nout != last->n ||
        last->n != dync__control_results(last->as.graph)->n)
        return dync__node_fail(node, "has another number of outputs than its function");
    return DYNC_OK;
}

/* getitem takes an output that exists, or an item of a list whose length is not known; operators
 * have as many arguments, of such kinds, as their schema says. op -1 is a function of the
 * user's. */
static dync_status dync__check_call(const dync__node *node)
{
    if (node->op == DYNC__NODE_GETITEM) {
        bool ok = node->nargs == 2 && dync__is_value(&node->args[0]) &&
                  node->args[1].kind == DYNC__A_INT && node->args[1].as.i >= 0;
        if (!ok) return dync__node_fail(node, "is not an item of a list");
        const dync__node *list = node->args[0].as.node;
        int64_t i = node->args[1].as.i;
        bool several = list->op != DYNC__NODE_GETITEM && dync__node_is_call(list) && list->has_info;
        if (several ? (list->op >= 0 && list->nout < 2) || i >= list->nout
                    : list->has_info || i > INT_MAX)
            return dync__node_fail(node, "takes an output that its argument does not have");
        return DYNC_OK;
    }
    if (node->op < -1 || (node->op >= DYNC__N_OPS && !dync__custom_info(node->op)))
        return dync__node_fail(node, "has no operator");
    if (node->op == -1) return DYNC_OK;
    const dync__op_row *row = dync__op_info(node->op);
    if (!dync__row_is_control(row) && node->nout != row->nout)
        return dync__node_fail(node, "has another number of outputs than its operator");
    if (dync__row_is_control(row)) DYNC__TRY(dync__check_control(node));
    dync__param param;
    const char *at = NULL;
    for (int i = 0; i < node->nargs; i++) {
        if (!dync__schema_next(row->schema, &at, &param))
            return dync__node_fail(node, "has too many arguments");
        if (!dync__check_kind(&node->args[i], param.type))
            return dync__node_fail(node, "has an argument of the wrong kind");
    }
    return dync__schema_next(row->schema, &at, &param)
               ? dync__node_fail(node, "has too few arguments")
               : DYNC_OK;
}

/* names: hashes of the names so far. users: counted up for each node that this one reads. */
static dync_status dync__check_node(dync__graph *g, dync__node *node, int i, dync__map *names,
                                    int *users)
{
    if (node->graph != g || node->index != i) return dync__node_fail(node, "is out of place");
    if (!node->name || !node->target) return dync__node_fail(node, "has no name");
    uint64_t key = dync__hash_bytes(node->name, strlen(node->name), 0);
    if (dync__map_get(names, key, NULL)) return dync__node_fail(node, "has a name that is taken");
    if (!dync__map_put(names, key, 1)) return DYNC_ERR_MEMORY;
    if ((node->kind == DYNC__N_PLACEHOLDER) != (i < g->n_inputs))
        return dync__node_fail(node, "is an input behind other nodes");
    if ((node->kind == DYNC__N_OUTPUT) != (i == g->node.n - 1))
        return dync__node_fail(node, "is not the one output at the end");
    dync__check c = {g, node, DYNC_OK, users};
    dync__node_each_input(node, dync__check_use, &c);
    DYNC__TRY(c.status);
    DYNC__TRY(dync__check_info(node));
    if (node->kind == DYNC__N_OUTPUT)
        return node->nargs == 1 ? DYNC_OK : dync__node_fail(node, "returns no value");
    if (node->kind == DYNC__N_GET_ATTR && node->value && !node->has_info)
        return dync__node_fail(node, "has no type");
    return dync__node_is_call(node) && node->kind != DYNC__N_CALL_MODULE ? dync__check_call(node)
                                                                         : DYNC_OK;
}

/* In linear time but for the hashing of names. The first fault is reported. */
DYNC__FN dync_status dync__graph_check(const dync__graph *graph)
{
    dync__graph *g = (dync__graph *)(uintptr_t)
        graph; /* the walk over arguments hands out pointers; nothing is written */
    if (!g || g->failed)
        return dync__fail(DYNC_ERR_MEMORY, "graph: out of memory while it was built");
    if (g->node.n == 0) return dync__fail(DYNC_ERR_INTERNAL, "graph %s: no output node", g->name);
    dync__map names = {0};
    size_t bytes = (size_t)g->node.n * sizeof(int);
    int *users = dync__calloc(bytes);
    dync_status status = users ? DYNC_OK : DYNC_ERR_MEMORY;
    for (int i = 0; i < g->node.n && status == DYNC_OK; i++)
        status = dync__check_node(g, g->node.at[i], i, &names, users);
    for (int i = 0; i < g->node.n && status == DYNC_OK; i++)
        if (users[i] != g->node.at[i]->n_users)
            status = dync__node_fail(g->node.at[i], "has a wrong count of uses");
    dync__free(users, bytes);
    dync__map_free(&names);
    return status;
}
