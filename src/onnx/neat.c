/* onnx/neat.c: a graph that was made of a model, without what says nothing: what nobody reads, a
 * dim of one element that goes as soon as it has come, as layers of one direction make it, dims
 * that are transposed there and back. What transposes two dims is a permutation, as the file has
 * it, and names are given anew, in order, so that what is written and read again is the same text.
 * After record.c. */
#include "../dync.in.h"
#include "record.h"
DYNC__COLD

/* Argument i, a dim, from the front. -1: it is none. */
static int64_t dync__neat_dim(const dync__node *n, int i, int ndim)
{
    const dync__arg *a = n->nargs > i ? &n->args[i] : NULL;
    if (!a || a->kind != DYNC__A_INT || a->as.i < -ndim || a->as.i >= ndim) return -1;
    return a->as.i < 0 ? a->as.i + ndim : a->as.i;
}

/* Do two permutations, one after the other, leave every dim where it was? */
static bool dync__neat_undoes(const dync__arg *first, const dync__arg *then)
{
    bool back = first->kind == DYNC__A_DIMS && then->kind == DYNC__A_DIMS && first->n == then->n;
    for (int i = 0; back && i < then->n; i++) {
        int64_t n = then->n, at = (then->as.dims[i] + n) % n;
        back = (first->as.dims[at] + n) % n == i;
    }
    return back;
}

/* False: no memory. */
static bool dync__neat_permutes(dync__graph *g, dync__node *n)
{
    bool two = n->op == DYNC__OP_transpose && n->nargs == 3, t = n->op == DYNC__OP_t;
    const dync__node *in = (two || t) && n->args[0].kind == DYNC__A_NODE ? n->args[0].as.node
                                                                         : NULL;
    int ndim = in && in->has_info ? in->info[0].lay.ndim : 0;
    int64_t a = two ? dync__neat_dim(n, 1, ndim) : 0, b = two ? dync__neat_dim(n, 2, ndim) : 1;
    if (ndim < 2 || a < 0 || b < 0) return true;
    dync__arg *arg = dync__arena_alloc(&g->arena, 2 * sizeof *arg);
    int64_t *dim = dync__arena_alloc(&g->arena, (size_t)ndim * sizeof *dim);
    if (!arg || !dim) return false;
    for (int i = 0; i < ndim; i++) dim[i] = i == a ? b : i == b ? a : i;
    arg[0] = n->args[0];
    arg[1] = (dync__arg){.kind = DYNC__A_DIMS, .n = ndim, .as.dims = dim};
    n->op = DYNC__OP_permute;
    n->kind = DYNC__N_CALL_METHOD;
    n->target = dync__op_info(n->op)->name;
    n->args = arg;
    n->nargs = 2;
    return true;
}

/* What the node takes away again, its first argument's own argument; NULL: it does not. */
static dync__node *dync__neat_undone(const dync__node *n)
{
    bool item = n->op == DYNC__OP_select, moves = n->op == DYNC__OP_permute;
    if (n->op != DYNC__OP_squeeze && !item && !moves) return NULL;
    if (n->nargs < 2 || n->args[0].kind != DYNC__A_NODE) return NULL;
    const dync__node *in = n->args[0].as.node;
    if (in->op != (moves ? DYNC__OP_permute : DYNC__OP_unsqueeze) || in->nargs < 2 ||
        in->args[0].kind != DYNC__A_NODE)
        return NULL;
    if (moves) return dync__neat_undoes(&in->args[1], &n->args[1]) ? in->args[0].as.node : NULL;
    if (item && (n->args[2].kind != DYNC__A_INT || (n->args[2].as.i != 0 && n->args[2].as.i != -1)))
        return NULL;
    int ndim = in->info[0].lay.ndim;
    int64_t dim = dync__neat_dim(n, 1, ndim);
    return dim >= 0 && dim == dync__neat_dim(in, 1, ndim) ? in->args[0].as.node : NULL;
}

/* The node that an argument stands for; user is not looked at. */
static void dync__neat_use(void *user, dync__arg *arg)
{
    (void)user;
    if (arg->as.node->mark) arg->as.node = arg->as.node->mark;
}

/* A constant that the file does not name, or that a file has which was written of such a graph. */
static bool dync__neat_is_nameless(const dync__node *n)
{
    static const char own[] = "_tensor_constant";
    return n->kind == DYNC__N_GET_ATTR && strncmp(n->target, own, sizeof own - 1) == 0;
}

/* As the recorder names them: calls by their operators, constants by their names in the file, those
 * without one by numbers in order. No two constants have one name. */
static dync_status dync__neat_names(dync__graph *g)
{
    int nameless = 0;
    dync__map_free(&g->names);
    for (int i = 0; i < g->node.n; i++) {
        dync__node *n = g->node.at[i];
        bool call = n->kind == DYNC__N_CALL_FUNCTION || n->kind == DYNC__N_CALL_METHOD;
        bool constant = n->kind == DYNC__N_GET_ATTR;
        const char *hint = call || constant ? n->target : n->name;
        if (dync__neat_is_nameless(n))
            hint = dync__arena_printf(&g->arena, "_tensor_constant%d", nameless++);
        const char *name = hint ? dync__graph_unique(g, hint) : NULL;
        if (!name) return DYNC_ERR_MEMORY;
        if (n->target == n->name || (constant && strcmp(name, n->target) != 0)) n->target = name;
        n->name = name;
    }
    return DYNC_OK;
}

DYNC__FN dync_status dync__onnx_neat(dync__graph *g)
{
    for (int i = 0; i < g->node.n; i++) {
        dync__node *n = g->node.at[i], *was;
        dync__node_each_input(n, dync__neat_use, NULL);
        if (!dync__neat_permutes(g, n)) return DYNC_ERR_MEMORY;
        was = dync__neat_undone(n);
        /* an input stays apart from a result: they would share memory */
        n->mark = was && was->kind != DYNC__N_PLACEHOLDER ? was : NULL;
    }
    for (int i = 0; i < g->node.n; i++) g->node.at[i]->mark = NULL;
    DYNC__TRY(dync__graph_dce(g));
    return dync__neat_names(g);
}
