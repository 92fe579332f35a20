/* graph/types.c: types of a graph's values inferred again and compared, and what it shows of its
 * inputs. Before: check.c. */
#include "../dync.in.h"
#include "control.h"
#include "graph.h"
#include "text.h"
DYNC__COLD

/* ---- types again ----------------------------------------------------------------------------- */

enum { DYNC__TYPES_SYMBOLS = 64 };
/* A run of inference over a graph: slot[index * DYNC__MAX_OUT + output] is the tensor without data
 * that stands for a value (owned); work is what has been counted so far. */
typedef struct dync__types {
    dync__handler handler;
    const dync_limits *limits;
    dync__arena arena;
    dync__tensor **slot;
    double work;
    bool shown; /* sizes that data decide are as nodes claim them, where they may be so */
    /* sizes are those of the table: types are taken over from inference; known: per symbol, nodes
     * so far told it. NULL: sizes are numbers */
    dync__symtab *syms;
    bool *known;
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

/* ---- what data decide ------------------------------------------------------------------------ */

static bool dync__types_told(void *user, int64_t *size)
{
    const dync__types *t = user;
    bool uses[DYNC__TYPES_SYMBOLS] = {false}, told = true;
    if (!dync__is_token(*size) && !dync__is_sf(*size)) return true;
    if (!dync__symtab_find(t->syms, *size)) return !dync__is_token(*size);
    if (!dync__symtab_uses(t->syms, *size, uses)) return false;
    for (int i = 0; i < t->syms->symbol.n; i++) told = told && (!uses[i] || t->known[i]);
    return told;
}

/* A call asks for no size that nothing before it tells, nor does an input. */
static dync_status dync__types_sizes(dync__types *t, dync__node *node)
{
    bool told = true;
    for (int i = 0; i < node->nargs && t->syms; i++)
        told = told && dync__arg_each_size(&node->args[i], dync__types_told, t);
    for (int i = 0; i < node->nout && node->has_info && t->syms && !dync__node_is_call(node); i++) {
        dync__layout *lay = &node->info[i].lay;
        for (int d = 0; d < lay->ndim; d++)
            told = told && dync__types_told(t, &lay->shape[d]) &&
                   dync__types_told(t, &lay->stride[d]);
        told = told && dync__types_told(t, &lay->offset);
    }
    return told ? DYNC_OK
                : dync__fail(DYNC_ERR_FORMAT,
                             "graph %s, node %s: a size that nothing before it tells",
                             node->graph->name, node->name);
}

/* The symbol that a size is; -1: it is none. */
static int dync__types_symbol(const dync__types *t, int64_t size)
{
    const dync__sz_expr *e = dync__is_token(size) ? dync__symtab_find(t->syms, size) : NULL;
    return e && e->kind == DYNC__SZ_SYMBOL && t->syms->symbol.at[e->symbol].data ? e->symbol : -1;
}

static dync_status dync__types_range(dync__types *t, const dync__node *node, int64_t size,
                                     int64_t least, int64_t most)
{
    int symbol = t->syms ? dync__types_symbol(t, size) : -1;
    if (t->syms && dync__is_token(most)) most = DYNC__SZ_MOST;
    bool fits = t->syms ? symbol >= 0 && dync__symtab_within(t->syms, symbol, least, most)
                        : size >= least && size <= most;
    if (fits) return DYNC_OK;
    return dync__fail(DYNC_ERR_FORMAT, "graph %s, node %s: a size beyond what %s gives",
                      node->graph->name, node->name, node->target);
}

/* dync_check: what it says of a symbol holds behind it. */
static dync_status dync__types_check(dync__types *t, const dync__node *node, const dync__arg *args)
{
    if (dync__is_token(args[1].as.i) || dync__is_token(args[2].as.i))
        return dync__node_fail(node, "has bounds that are no numbers");
    if (!t->syms || dync__types_symbol(t, args[0].as.i) < 0) return DYNC_OK;
    return dync__types_range(t, node, args[0].as.i, args[1].as.i, args[2].as.i);
}

/* The node's claim tells which symbol its size is: one that nothing told before. */
static dync_status dync__types_of_data(dync__types *t, dync__node *node, dync__arg *args)
{
    dync__opcall c = {.op = node->op, .row = dync__op_info(node->op), .nargs = node->nargs};
    dync__info info;
    int64_t least, most, size = node->info[0].lay.shape[0];
    c.args = args;
    if (node->nout != 1 || node->info[0].lay.ndim < 1)
        return dync__node_fail(node, "has another type than its operator gives");
    if (dync__op_is_item(node->op)) size = dync__sz_sub(size, DYNC__ITEM_BASE);
    DYNC__TRY(dync__data_range(&c, &least, &most));
    int symbol = t->syms ? dync__types_symbol(t, size) : -1;
    if (symbol >= 0 && t->known[symbol])
        return dync__node_fail(node, "gives a size that is told before it");
    DYNC__TRY(dync__types_range(t, node, size, least, most));
    if (symbol >= 0) t->known[symbol] = true;
    DYNC__TRY(dync__data_type(&c, size, &info));
    dync__tensor *out = dync__tensor_fake(info.dtype, info.device, &info.lay);
    if (!out) return DYNC_ERR_MEMORY;
    t->slot[node->index * DYNC__MAX_OUT] = out;
    if (!t->syms && !dync__same_type(&node->info[0], out))
        return dync__fail(DYNC_ERR_FORMAT, "graph %s, node %s: its type is not what %s gives",
                          node->graph->name, node->name, node->target);
    if (t->syms) node->info[0] = info;
    c.out[0] = out;
    c.nout = 1;
    return t->limits && !dync__op_is_item(node->op) ? dync__types_count(t, &c) : DYNC_OK;
}

/* What comes is compared with what the node claims, or, of symbolic sizes, takes its place. */
static dync_status dync__types_take(dync__types *t, dync__node *node, dync__tensor **out)
{
    dync_status status = DYNC_OK;
    for (int i = 0; i < node->nout; i++) {
        dync__info *info = &node->info[i];
        t->slot[node->index * DYNC__MAX_OUT + i] = out[i];
        if (!out[i]) continue;
        if (t->syms ? info->dtype == out[i]->dtype && info->device == out[i]->device
                    : dync__same_type(info, out[i])) {
            if (t->syms) info->lay = out[i]->lay;
        } else {
            status = dync__fail(DYNC_ERR_FORMAT, "graph %s, node %s: its type is not what %s gives",
                                node->graph->name, node->name, node->target);
        }
    }
    return status;
}

/* The stand-in of an argument: of a number that the graph computes, one of its kind. */
static dync__arg dync__types_arg(const dync__types *t, const dync__arg *a)
{
    const dync__node *n = a->as.node;
    if (n->has_info || !dync__arg_is_number(&n->scalar))
        return dync__arg_t(t->slot[n->index * DYNC__MAX_OUT]);
    return n->scalar.kind == DYNC__A_FLOAT ? dync__arg_f(1) : dync__arg_i(1);
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
        if (args[i].kind == DYNC__A_NODE) args[i] = dync__types_arg(t, &node->args[i]);
        if (args[i].kind != DYNC__A_LIST) continue;
        dync__arg *items = dync__arena_alloc(&t->arena, (size_t)(args[i].n + 1) * sizeof *items);
        if (!items) return DYNC_ERR_MEMORY;
        for (int k = 0; k < args[i].n; k++)
            items[k] = dync__arg_t(slots[args[i].as.list[k].as.node->index * DYNC__MAX_OUT]);
        args[i].as.list = items;
    }
    if ((t->syms || t->shown) && dync__op_is_range(node->op))
        return dync__types_check(t, node, args);
    if ((t->syms || t->shown) && dync__op_is_counted(node->op))
        return dync__types_of_data(t, node, args);
    DYNC__TRY((dync__op_run)(node->op, node->nargs, args, out));
    return dync__types_take(t, node, out);
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

static dync_status dync__types_run(dync__types *, dync__graph *);
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
        if (node->args[i].kind != DYNC__A_GRAPH || (!t->syms && g->symbol.n > 0)) continue;
        inside = (dync__types){
            .limits = t->limits, .shown = t->shown, .syms = t->syms, .known = t->known};
        dync_status status = dync__types_run(&inside, g);
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
static dync_status dync__types_run(dync__types *t, dync__graph *g)
{
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
        if ((status = dync__types_sizes(t, node)) != DYNC_OK) break;
        if (node->op == DYNC__NODE_GETITEM && node->args[0].as.node->has_info) {
            *slot = t->slot[node->args[0].as.node->index * DYNC__MAX_OUT + (int)node->args[1].as.i];
            if (*slot) dync__ref(*slot);
        } else if (node->op >= 0 && (node->has_info || dync__op_is_range(node->op))) {
            /* of symbolic sizes first: it gives what its functions were found to give */
            bool inside = dync__row_is_control(dync__op_info(node->op));
            if (inside && t->syms) status = dync__types_inside(t, node);
            if (status == DYNC_OK) status = dync__types_of_call(t, node);
            if (status == DYNC_OK && inside && !t->syms) status = dync__types_inside(t, node);
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
    dync__types t = {.limits = limits};
    if (g->symbol.n > 0) return DYNC_OK; /* inference is over plain sizes */
    dync_status status = dync__types_run(&t, g);
    dync__types_end(&t, g);
    return status;
}

DYNC__FN dync_status dync__graph_check_shown(dync__graph *g, const dync_limits *limits)
{
    dync__types t = {.limits = limits, .shown = true};
    dync_status status = dync__types_run(&t, g);
    dync__types_end(&t, g);
    return status;
}

/* Symbols of arguments are told before all nodes. */
DYNC__FN dync_status dync__graph_infer_sizes(dync__graph *g)
{
    bool known[DYNC__TYPES_SYMBOLS] = {false};
    dync__types t = {.syms = g->syms, .known = known};
    dync__symtab *before = dync__tls.syms;
    if (g->syms->symbol.n > DYNC__COUNT_OF(known))
        return dync__fail(DYNC_ERR_FORMAT, "graph %s: more than %d symbolic sizes", g->name,
                          DYNC__COUNT_OF(known));
    for (int i = 0; i < g->syms->symbol.n; i++) known[i] = !g->syms->symbol.at[i].data;
    dync__tls.syms = g->syms;
    uint64_t errors = dync__error_count();
    dync_status status = dync__types_run(&t, g);
    dync__types_end(&t, g);
    dync__tls.syms = before;
    if (status == DYNC_OK && dync__error_count() != errors) status = dync_error();
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
    dync__types t = {.limits = NULL};
    dync__shown s = {&t, g, g->symbol.n > 0};
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    if (!s.any && dync__types_run(&t, g) != DYNC_OK)
        s.any = true;
    else if (!s.any)
        dync__node_each_input(g->node.at[g->node.n - 1], dync__shown_output, &s);
    if (g->symbol.n == 0) dync__types_end(&t, g);
    dync__error_guard_end(&guard);
    return s.any;
}
