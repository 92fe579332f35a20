/* graph/types.c: types of a graph's values inferred again and compared, and what it shows of its
 * inputs. Before: check.c. */
#include "../dync.in.h"
#include "control.h"
#include "graph.h"
#include "text.h"
DYNC__COLD

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
