/* graph/copy.c: nodes of one graph made again in another: what cutting, partitioning and export share. */
#include "../dync.in.h"
#include "graph.h"

DYNC__FN bool dync__graph_copy_arg(dync_graph *g, const dync__arg *in, dync__arg *out, dync__node_map map, void *user)
{
    *out = *in;
    if (in->kind == DYNC__A_NODE) {
        out->as.node = map(user, in->as.node);
        return out->as.node != NULL;
    }
    if (in->kind != DYNC__A_LIST) return true;
    out->as.list = dync__arena_alloc(&g->arena, (size_t)(in->n + 1) * sizeof *out);
    for (int i = 0; out->as.list && i < in->n; i++)
        if (!dync__graph_copy_arg(g, &in->as.list[i], &out->as.list[i], map, user)) return false;
    return out->as.list != NULL;
}

DYNC__FN dync_node *dync__graph_copy_call(dync_graph *g, dync_node *old, dync__node_map map, void *user)
{
    dync__arg args[DYNC__MAX_ARGS];
    dync_node *n;
    if (old->kind == DYNC__N_GET_ATTR) {
        n = dync__graph_attr(g, old->name, old->target, old->value);
    } else {
        for (int i = 0; i < old->nargs; i++)
            if (!dync__graph_copy_arg(g, &old->args[i], &args[i], map, user)) return NULL;
        n = old->op == DYNC__NODE_GETITEM ? dync__graph_getitem(g, args[0].as.node, (int)old->args[1].as.i)
                                          : dync__graph_call(g, old->op, old->nargs, args, old->nout, old->info, old->name);
    }
    if (!n) return NULL;
    n->at = old->at;
    n->seq_nr = old->seq_nr;
    n->env = -1;
    memcpy(n->requires_grad, old->requires_grad, sizeof n->requires_grad);
    return n;
}

DYNC__FN dync_node *dync__graph_copy_placeholder(dync_graph *g, const dync_node *old, const char *name)
{
    dync_node *n = dync__graph_placeholder(g, name, old->source, &old->info[0]);
    if (!n) return NULL;
    n->env = old->env;
    n->requires_grad[0] = old->requires_grad[0];
    return n;
}

/* The output node: a list of the copies of `old`. */
DYNC__FN dync_status dync__graph_output_list(dync_graph *g, int n, dync_node *const *nodes)
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
