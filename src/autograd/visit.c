/* autograd/visit.c: all that a backward depends on, for compiled autograd: the nodes of a walk in
 * an order that only the form of the graph decides, and each told to a visitor. After node.c;
 * engine.c runs the same nodes. */
#include "../dync.in.h"
#include "node.h"
DYNC__WARM

/* Gives back the references of the list. */
DYNC__RARE DYNC__FN void dync__gnode_list_free(dync__gnode_list *l)
{
    for (int i = 0; i < l->at.n; i++) dync__gnode_unref(l->at.at[i]);
    dync__vec_free(&l->at);
    dync__map_free(&l->index);
}

/* At the end, with a reference; a node that is there already, or NULL, is nothing to do. false: no
 * memory. */
DYNC__RARE static bool dync__gnode_list_add(dync__gnode_list *l, dync__gnode *node)
{
    uint64_t at;
    if (!node || dync__map_get(&l->index, (uint64_t)(uintptr_t)node, &at)) return true;
    if (!dync__vec_reserve(&l->at, l->at.n + 1) ||
        !dync__map_put(&l->index, (uint64_t)(uintptr_t)node, (uint64_t)l->at.n))
        return false;
    dync__gnode_ref(node);
    l->at.at[l->at.n++] = node;
    return true;
}

/* Breadth first: the list is its own queue. Two walks of the same form give the same order,
 * whatever the addresses of their nodes are: compiled code names nodes by their number in it. */
DYNC__RARE DYNC__FN dync_status dync__walk_nodes(const dync__walk *w, dync__gnode_list *l)
{
    for (int i = 0; i < w->n_roots; i++)
        if (!dync__gnode_list_add(l, w->root[i].node)) return DYNC_ERR_MEMORY;
    for (int i = 0; i < l->at.n; i++)
        for (int k = 0; k < l->at.at[i]->n_in; k++)
            if (!dync__gnode_list_add(l, l->at.at[i]->edge[k].node)) return DYNC_ERR_MEMORY;
    return DYNC_OK;
}

/* Each hook as three words, then a 0: compiled code is only used again with the same hooks. */
static void dync__gnode_visit_hooks(const dync__hook_list *list, dync__gvisitor *v)
{
    for (int i = 0; i < list->n; i++) {
        const dync__hook_entry *h = &list->at[i];
        v->word(v, 1 | (uint64_t)h->kind << 8 | (uint64_t)(unsigned)h->nr << 16);
        v->word(v, h->kind == DYNC__HOOK_AFTER ? (uint64_t)(uintptr_t)h->after
                                               : (uint64_t)(uintptr_t)h->fn);
        v->word(v, (uint64_t)(uintptr_t)h->user);
    }
    v->word(v, 0);
}

/* Tells the visitor what the node's gradient function depends on: its class, the forms of its
 * outputs, hooks, and the state by the class. v->opaque: the class cannot tell, so the walk is not
 * compiled. */
DYNC__RARE DYNC__FN dync_status dync__gnode_visit(dync__gnode *node, dync__gvisitor *v)
{
    bool leaf = dync__gnode_is_accumulate(node);
    v->word(v, leaf ? 1 : (uint64_t)(uintptr_t)node->cls->visit);
    v->word(v, (uint64_t)(unsigned)node->n_in << 32 | (uint64_t)(unsigned)node->n_out);
    for (int i = 0; i < node->n_out; i++) {
        const dync__ginfo *info = &node->out[i];
        v->word(v, info->dtype | (uint64_t)info->device << 8);
        /* they stand in the node's block */
        v->layout(v, info->ndim, (int64_t *)(uintptr_t)info->dims, NULL);
    }
    dync__gnode_visit_hooks(dync__gnode_hooks(node), v);
    if (leaf) return DYNC_OK;
    if (!node->cls->visit) v->opaque = true;
    return v->opaque ? DYNC_OK : node->cls->visit(node->state, v);
}
