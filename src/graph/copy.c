/* graph/copy.c: a graph made again, node by node: what cutting, partitioning, splitting, exporting
 * and the minifier share. After graph.c.
 *
 * A rewrite knows for each node of the old graph what stands for it in the new one. It is kept by
 * index beside the graphs: the old one is only read and may be other threads', too. A whole graph
 * goes through dync__graph_rewrite and a function from old nodes to new ones; who makes parts of a
 * graph, or two graphs of one, begins and ends a rewrite by hand and puts the nodes that it wants.
 */
#include "../dync.in.h"
#include "graph.h"
DYNC__LEAN

/* ---- one node ------------------------------------------------------------------------------ */
/* `missing` is asked once per node: what it gives is kept. */
DYNC__FN dync__node *dync__rewrite_at(dync__rewrite *r, dync__node *old)
{
    dync__node **slot = &r->copy[old->index];
    if (!*slot && r->missing) *slot = r->missing(r, old);
    return *slot;
}

/* Lists are copied into the new graph's arena; texts and sizes stay shared until the node is made.
 * False: something is missing, or no memory. */
DYNC__FN bool dync__rewrite_arg(dync__rewrite *r, const dync__arg *in, dync__arg *out)
{
    *out = *in;
    if (in->kind == DYNC__A_NODE) {
        out->as.node = dync__rewrite_at(r, in->as.node);
        return out->as.node != NULL;
    }
    if (in->kind != DYNC__A_LIST) return true;
    out->as.list = dync__arena_alloc(&r->to->arena, (size_t)(in->n + 1) * sizeof *out);
    for (int i = 0; out->as.list && i < in->n; i++)
        if (!dync__rewrite_arg(r, &in->as.list[i], &out->as.list[i])) return false;
    return out->as.list != NULL;
}

/* Into the new graph; NULL passes. */
static bool dync__copy_text(dync__graph *g, const char *old, const char **out)
{
    *out = old ? dync__arena_strdup(&g->arena, old) : NULL;
    return !old || *out;
}

/* Everything a node says about its values. */
static dync__node *dync__copy_types(dync__node *n, const dync__node *old)
{
    dync__graph *g = n->graph;
    memcpy(n->info, old->info, sizeof n->info);
    memcpy(n->requires_grad, old->requires_grad, sizeof n->requires_grad);
    n->has_info = old->has_info;
    n->scalar = old->scalar;
    n->nout = old->nout;
    n->apart = old->apart;
    n->at = old->at;
    n->user_op = old->user_op;
    n->seq_nr = old->seq_nr;
    if (!n->source && !dync__copy_text(g, old->source, &n->source)) return NULL;
    return dync__copy_text(g, old->sym, &n->sym) && dync__copy_text(g, old->stack, &n->stack)
               ? n
               : NULL;
}

/* A value of the old graph as an input of the new one, with its type and source. */
DYNC__FN dync__node *dync__rewrite_input(dync__rewrite *r, const dync__node *old, const char *name)
{
    dync__node *n = dync__graph_placeholder(r->to, name, old->source, &old->info[0]);
    if (!n) return NULL;
    n->env = old->env;
    bool renamed = old->kind != DYNC__N_PLACEHOLDER || !dync__same_text(name, old->name);
    if (!renamed && !dync__copy_text(r->to, old->target, &n->target)) return NULL;
    n = dync__copy_types(n, old);
    for (int i = 0; n && i < DYNC__MAX_OUT; i++) n->info[i].alias = -1;
    if (n && n->has_info) n->sym = NULL; /* what tells an element is a tensor here */
    return n;
}

/* Kind and target are copied, as a method call stays one. */
static dync__node *dync__rewrite_call(dync__rewrite *r, const dync__node *old)
{
    dync__graph *g = r->to;
    dync__arg few[DYNC__MAX_ARGS], *args = few;
    if (old->nargs > DYNC__MAX_ARGS &&
        !(args = dync__arena_alloc(&g->arena, (size_t)old->nargs * sizeof *args)))
        return NULL;
    for (int i = 0; i < old->nargs; i++)
        if (!dync__rewrite_arg(r, &old->args[i], &args[i])) return NULL;
    dync__node *n = dync__graph_call(g, old->op, old->nargs, args, old->nout, old->info, old->name);
    if (!n || !dync__copy_text(g, old->target, &n->target)) return NULL;
    n->kind = old->kind;
    if (old->callee && !(n->callee = dync__arena_copy(&g->arena, old->callee, sizeof *old->callee)))
        return NULL;
    return n;
}

DYNC__FN dync__node *dync__rewrite_copy(dync__rewrite *r, dync__node *old)
{
    dync__arg result;
    if (old->kind == DYNC__N_PLACEHOLDER) return dync__rewrite_input(r, old, old->name);
    if (old->kind == DYNC__N_OUTPUT)
        return dync__rewrite_arg(r, &old->args[0], &result) ? dync__graph_output(r->to, &result)
                                                            : NULL;
    dync__node *n = old->kind == DYNC__N_GET_ATTR
                        ? dync__graph_attr(r->to, old->name, old->target, old->value)
                        : dync__rewrite_call(r, old);
    if (!n) return NULL;
    n->env = -1;
    return dync__copy_types(n, old);
}

/* ---- a graph --------------------------------------------------------------------------------- */
static size_t dync__rewrite_bytes(const dync__rewrite *r)
{
    return (size_t)(r->from ? r->from->node.n + 1 : 1) * sizeof *r->copy;
}

DYNC__FN dync_status dync__rewrite_begin(dync__rewrite *r, dync__graph *from, const char *name)
{
    *r = (dync__rewrite){.from = from, .to = dync__graph_new(name)};
    r->copy = dync__calloc(dync__rewrite_bytes(r));
    return r->to && r->copy ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* fn gives old itself for "nothing stands for it". */
DYNC__FN dync_status dync__rewrite_put(dync__rewrite *r, dync__node *old, dync__rewrite_fn fn)
{
    uint64_t errors = dync__error_count();
    dync__node *n = fn(r, old);
    r->copy[old->index] = n == old ? NULL : n;
    if (n && !r->to->failed) return DYNC_OK;
    if (dync__error_count() != errors && dync_error() != DYNC_OK) return dync_error();
    return r->to->failed ? DYNC_ERR_MEMORY
                         : dync__fail(DYNC_ERR_INTERNAL, "graph %s: an argument of %s is missing",
                                      r->from->name, old->name);
}

DYNC__FN dync_status dync__rewrite_end(dync__rewrite *r, dync_status status, dync__graph **out)
{
    dync__free(r->copy, dync__rewrite_bytes(r));
    r->copy = NULL;
    if (status == DYNC_OK && r->to->failed) status = DYNC_ERR_MEMORY;
    if (status != DYNC_OK)
        dync__graph_unref(r->to);
    else
        dync__graph_renumber(r->to);
    *out = status == DYNC_OK ? r->to : NULL;
    return status;
}

DYNC__FN dync_status dync__graph_rewrite(dync__graph *from, dync__rewrite_fn fn, void *user,
                                         dync__graph **out)
{
    dync__rewrite r;
    dync_status status = dync__rewrite_begin(&r, from, from->name);
    if (status == DYNC_OK && !dync__graph_takes_symbols(r.to, from)) status = DYNC_ERR_MEMORY;
    r.user = user;
    for (int i = 0; i < from->node.n && status == DYNC_OK; i++)
        status = dync__rewrite_put(&r, from->node.at[i], fn);
    return dync__rewrite_end(&r, status, out);
}

/* The output node: a list of the copies of `old`. */
DYNC__FN dync_status dync__graph_output_list(dync__graph *g, int n, dync__node *const *nodes)
{
    dync__arg list = {.kind = DYNC__A_LIST, .n = n};
    list.as.list = dync__arena_alloc(&g->arena, (size_t)(n + 1) * sizeof *list.as.list);
    if (!list.as.list) return DYNC_ERR_MEMORY;
    for (int i = 0; i < n; i++) {
        if (!nodes[i]) return dync__fail(DYNC_ERR_INTERNAL, "graph: output %d is missing", i);
        list.as.list[i] = dync__arg_node(nodes[i]);
    }
    if (!dync__graph_output(g, &list) || g->failed) return DYNC_ERR_MEMORY;
    dync__graph_renumber(g);
    return DYNC_OK;
}
