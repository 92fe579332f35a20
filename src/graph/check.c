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
DYNC__COLD

/* While the uses of one node are looked at. */
typedef struct dync__check {
    const dync__graph *graph;
    const dync__node *node;
    dync_status status;
    int *users; /* by the index of the used node */
} dync__check;

/* DYNC_ERR_INTERNAL: a graph that the library made is wrong. Parsers report it as a bad text. */
static dync_status dync__node_fail(const dync__node *node, const char *what)
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

/* ---- types again ----------------------------------------------------------------------------- */

/* Scalar operations of a call, roughly: what is read and written, and what is multiplied on the
 * way. */
static double dync__types_work(const dync__opcall *call)
{
    dync__tensor *in[DYNC__MAX_ARGS], *const *out = call->out;
    int n = dync__opcall_tensors(call, in, DYNC__MAX_ARGS);
    double work = 0, result = call->nout && out[0] ? (double)out[0]->numel : 0, last[3] = {0};
    if (call->row->cls == DYNC__VIEW) return 1;
    for (int i = 0; i < n && i < DYNC__MAX_ARGS; i++) {
        work += (double)in[i]->numel;
        if (i < 3) last[i] = in[i]->lay.ndim ? (double)in[i]->lay.shape[in[i]->lay.ndim - 1] : 1;
    }
    for (int i = 0; i < call->nout; i++) work += out[i] ? (double)out[i]->numel : 0;
    switch (call->row->flags & DYNC__OP_WORK) {
    case DYNC__OP_WORK_PRODUCT: return work + result * last[0];
    case DYNC__OP_WORK_ADDMM: return work + result * last[1];
    case DYNC__OP_WORK_CONV:
        return work + result * (double)in[1]->numel / DYNC__MAX((double)in[1]->lay.shape[0], 1);
    case DYNC__OP_WORK_CONV_GRAD:
        return work + 2 * (double)in[0]->numel * (double)in[2]->numel /
                          DYNC__MAX((double)in[2]->lay.shape[0], 1);
    case DYNC__OP_WORK_WINDOW:
        return work + result * (double)call->args[1].as.dims[0] *
                          (double)call->args[1].as.dims[call->args[1].n - 1];
    case DYNC__OP_WORK_ATTENTION:
        return work + (double)in[0]->numel * (double)in[1]->lay.shape[in[1]->lay.ndim - 2] +
               result * (double)in[1]->lay.shape[in[1]->lay.ndim - 2];
    case DYNC__OP_WORK_RECURRENT: return work + (double)in[0]->numel * (double)in[1]->lay.shape[1];
    case DYNC__OP_WORK_SORT: return 32 * work;
    default: return work;
    }
}

/* A run of inference over a graph: slot[index * DYNC__MAX_OUT + output] is the tensor without data
 * that stands for a value (owned); work is what has been counted so far. */
typedef struct dync__types {
    dync__handler handler;
    const dync_limits *limits;
    dync__arena arena;
    dync__tensor **slot;
    double work;
} dync__types;

/* Each output alone must not be too large, and the sum of work not too much. */
static dync_status dync__types_count(dync__types *t, const dync__opcall *call)
{
    for (int i = 0; i < call->nout; i++) {
        const dync__layout *lay = call->out[i] ? &call->out[i]->lay : NULL;
        int64_t n = 1;
        for (int d = 0; lay && d < lay->ndim; d++)
            if (!dync__mul_ok(n, DYNC__MAX(lay->shape[d], 1), &n)) n = INT64_MAX;
        if (lay && (n > t->limits->elements || !dync__layout_is_countable(lay)))
            return dync__fail(DYNC_ERR_FORMAT,
                              "%s gives more elements than the limit of %lld (dync_set_limits)",
                              call->row->name, (long long)t->limits->elements);
    }
    t->work += dync__types_work(call);
    if (t->work <= (double)t->limits->work) return DYNC_OK;
    return dync__fail(DYNC_ERR_FORMAT,
                      "%s: more work than the limit of %lld operations (dync_set_limits)",
                      call->row->name, (long long)t->limits->work);
}

/* Answers every call by inference; those of which a decomposition is made come here as well. */
static dync_status dync__fake_handler(dync__handler *self, dync__opcall *call)
{
    dync__types *t = self->state;
    DYNC__TRY(dync__op_fake(call));
    dync_status status = t->limits ? dync__types_count(t, call) : DYNC_OK;
    for (int i = 0; i < call->nout && status != DYNC_OK; i++) {
        dync__unref(call->out[i]);
        call->out[i] = NULL;
    }
    return status;
}

/* Strides of dims of size 0 and 1, and of tensors without elements, do not matter. */
static bool dync__same_type(const dync__info *a, const dync__tensor *t)
{
    if (a->dtype != t->dtype || a->lay.ndim != t->lay.ndim) return false;
    for (int d = 0; d < a->lay.ndim; d++)
        if (a->lay.shape[d] != t->lay.shape[d] ||
            (t->lay.shape[d] > 1 && t->numel > 0 && a->lay.stride[d] != t->lay.stride[d]))
            return false;
    return true;
}

/* Runs the operator over its arguments' stand-ins and compares what comes with what the node
 * claims. */
static dync_status dync__types_of_call(dync__types *t, dync__node *node)
{
    dync__tensor **slots = t->slot;
    dync__arg args[DYNC__MAX_ARGS];
    dync__tensor *out[DYNC__MAX_OUT] = {0};
    if (node->nargs > DYNC__MAX_ARGS) return dync__node_fail(node, "has too many arguments");
    for (int i = 0; i < node->nargs; i++) {
        args[i] = node->args[i];
        if (args[i].kind == DYNC__A_NODE)
            args[i] = dync__arg_t(slots[args[i].as.node->index * DYNC__MAX_OUT]);
        if (args[i].kind != DYNC__A_LIST) continue;
        dync__arg *items = dync__arena_alloc(&t->arena, (size_t)(args[i].n + 1) * sizeof *items);
        if (!items) return DYNC_ERR_MEMORY;
        for (int k = 0; k < args[i].n; k++)
            items[k] = dync__arg_t(slots[args[i].as.list[k].as.node->index * DYNC__MAX_OUT]);
        args[i].as.list = items;
    }
    DYNC__TRY((dync__op_run)(node->op, node->nargs, args, out));
    dync_status status = DYNC_OK;
    for (int i = 0; i < node->nout; i++) {
        slots[node->index * DYNC__MAX_OUT + i] = out[i];
        if (out[i] && !dync__same_type(&node->info[i], out[i]))
            status = dync__fail(DYNC_ERR_FORMAT, "graph %s, node %s: its type is not what %s gives",
                                node->graph->name, node->name, node->target);
    }
    return status;
}

/* The limits of what was given, not made: inputs, attributes. */
static dync_status dync__types_given(dync__types *t, const dync__node *node)
{
    dync__opcall none = {.row = dync__op_info(DYNC__USED(DYNC__OP_empty)), .op = DYNC__OP_empty};
    dync__tensor **slot = &t->slot[node->index * DYNC__MAX_OUT];
    for (int k = 0; k < node->nout && node->has_info; k++) {
        if (slot[k]) continue;
        if (!(slot[k] =
                  dync__tensor_fake(node->info[k].dtype, node->info[k].device, &node->info[k].lay)))
            return DYNC_ERR_MEMORY;
        none.out[none.nout++] = slot[k];
    }
    return t->limits ? dync__types_count(t, &none) : DYNC_OK;
}

static dync_status dync__types_begin(dync__types *, dync__graph *, const dync_limits *);
static void dync__types_end(dync__types *, const dync__graph *);

/* How often a function runs, at most. A loop without a limit counts once. */
static double dync__types_rounds(const dync__node *node)
{
    dync__control c;
    if (dync__control_open(&c, node->op, node->nargs, node->args) != DYNC_OK) return 1;
    if (c.n_xs && c.xs[0].as.node->info[0].lay.ndim)
        return (double)c.xs[0].as.node->info[0].lay.shape[0];
    return c.test && c.most > 0 ? (double)c.most : 1;
}

/* recursion: types and work of the functions inside a call */
static dync_status dync__types_inside(dync__types *t, const dync__node *node)
{
    double rounds = dync__types_rounds(node);
    for (int i = 0; i < node->nargs; i++) {
        dync__graph *g = node->args[i].as.graph;
        dync__types inside;
        if (node->args[i].kind != DYNC__A_GRAPH || g->symbol.n > 0) continue;
        dync_status status = dync__types_begin(&inside, g, t->limits);
        dync__types_end(&inside, g);
        DYNC__TRY(status);
        t->work += rounds * (inside.work + 1);
        if (t->limits && t->work > (double)t->limits->work)
            return dync__fail(DYNC_ERR_FORMAT,
                              "%s: more work than the limit of %lld operations (dync_set_limits)",
                              node->target, (long long)t->limits->work);
    }
    return DYNC_OK;
}

/* A tensor without data for every value, in t->slot, by inference from the inputs. */
static dync_status dync__types_begin(dync__types *t, dync__graph *g, const dync_limits *limits)
{
    memset(t, 0, sizeof *t);
    t->limits = limits;
    if (!(t->slot = dync__calloc((size_t)g->node.n * DYNC__MAX_OUT * sizeof *t->slot)))
        return DYNC_ERR_MEMORY;
    dync__handler *stack = dync__handler_swap(NULL);
    t->handler = (dync__handler){.call = dync__fake_handler, .state = t};
    dync__handler_push(&t->handler);
    dync_scope scope = dync_scope_begin();
    dync_status status = DYNC_OK;
    for (int i = 0; i < g->node.n && status == DYNC_OK; i++) {
        dync__node *node = g->node.at[i];
        dync__tensor **slot = &t->slot[i * DYNC__MAX_OUT];
        if (node->op == DYNC__NODE_GETITEM && node->args[0].as.node->has_info) {
            *slot = t->slot[node->args[0].as.node->index * DYNC__MAX_OUT + (int)node->args[1].as.i];
            if (*slot) dync__ref(*slot);
        } else if (node->op >= 0 && node->has_info) {
            status = dync__types_of_call(t, node);
            if (status == DYNC_OK && dync__row_is_control(dync__op_info(node->op)))
                status = dync__types_inside(t, node);
        }
        /* inputs, attributes: as they say */
        if (status == DYNC_OK) status = dync__types_given(t, node);
    }
    dync_scope_end(&scope);
    dync__handler_pop(&t->handler);
    (void)dync__handler_swap(stack);
    return status;
}

static void dync__types_end(dync__types *t, const dync__graph *g)
{
    for (int i = 0; t->slot && i < g->node.n * DYNC__MAX_OUT; i++) dync__unref(t->slot[i]);
    dync__free(t->slot, (size_t)g->node.n * DYNC__MAX_OUT * sizeof *t->slot);
    dync__arena_free(&t->arena);
}

DYNC__FN dync_status dync__graph_check_types(dync__graph *g, const dync_limits *limits)
{
    dync__types t;
    if (g->symbol.n > 0) return DYNC_OK; /* inference is over plain sizes */
    dync_status status = dync__types_begin(&t, g, limits);
    dync__types_end(&t, g);
    return status;
}

/* Looks whether an output of the graph lies on the storage of an input. */
typedef struct dync__shown {
    const dync__types *types;
    const dync__graph *graph;
    bool any;
} dync__shown;

static void dync__shown_output(void *user, dync__arg *a)
{
    dync__shown *s = user;
    const dync__tensor *out = s->types->slot[a->as.node->index * DYNC__MAX_OUT];
    for (int i = 0; out && i < s->graph->n_inputs; i++) {
        const dync__tensor *in = s->types->slot[i * DYNC__MAX_OUT];
        s->any = s->any || (in && in->storage == out->storage);
    }
}

/* True also where it cannot be found out: symbolic graphs, failures. */
DYNC__FN bool dync__graph_shows_inputs(dync__graph *g)
{
    dync__types t;
    dync__shown s = {&t, g, g->symbol.n > 0};
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    if (!s.any && dync__types_begin(&t, g, NULL) != DYNC_OK)
        s.any = true;
    else if (!s.any)
        dync__node_each_input(g->node.at[g->node.n - 1], dync__shown_output, &s);
    if (g->symbol.n == 0) dync__types_end(&t, g);
    dync__error_guard_end(&guard);
    return s.any;
}
