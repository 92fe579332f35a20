/* graph/copy.c: nodes of one graph made again in another: what cutting, partitioning, splitting and
 * export share. */
#include "../dync.in.h"
#include "graph.h"

DYNC__FN bool dync__graph_copy_arg(dync__graph *g, const dync__arg *in, dync__arg *out,
                                   dync__node_map map, void *user)
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
    n->at = old->at;
    n->user_op = old->user_op;
    n->seq_nr = old->seq_nr;
    if (!n->source && !dync__copy_text(g, old->source, &n->source)) return NULL;
    return dync__copy_text(g, old->sym, &n->sym) && dync__copy_text(g, old->stack, &n->stack)
               ? n
               : NULL;
}

DYNC__FN dync__node *dync__graph_copy_call(dync__graph *g, dync__node *old, dync__node_map map,
                                           void *user)
{
    dync__arg few[DYNC__MAX_ARGS], *args = few;
    dync__node *n;
    if (old->kind == DYNC__N_GET_ATTR) {
        n = dync__graph_attr(g, old->name, old->target, old->value);
    } else {
        if (old->nargs > DYNC__MAX_ARGS &&
            !(args = dync__arena_alloc(&g->arena, (size_t)old->nargs * sizeof *args)))
            return NULL;
        for (int i = 0; i < old->nargs; i++)
            if (!dync__graph_copy_arg(g, &old->args[i], &args[i], map, user)) return NULL;
        n = dync__graph_call(g, old->op, old->nargs, args, old->nout, old->info, old->name);
        if (!n || !dync__copy_text(g, old->target, &n->target)) return NULL;
        n->kind = old->kind;
        if (old->callee &&
            !(n->callee = dync__arena_copy(&g->arena, old->callee, sizeof *old->callee)))
            return NULL;
    }
    if (!n) return NULL;
    n->env = -1;
    return dync__copy_types(n, old);
}

DYNC__FN dync__node *dync__graph_copy_placeholder(dync__graph *g, const dync__node *old,
                                                  const char *name)
{
    dync__node *n = dync__graph_placeholder(g, name, old->source, &old->info[0]);
    if (!n) return NULL;
    n->env = old->env;
    bool renamed = old->kind != DYNC__N_PLACEHOLDER || strcmp(name, old->name) != 0;
    if (!renamed && !dync__copy_text(g, old->target, &n->target)) return NULL;
    n = dync__copy_types(n, old);
    for (int i = 0; n && i < DYNC__MAX_OUT; i++) n->info[i].alias = -1;
    return n;
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
