/* compile/ca_visit.c: what a backward depends on, as its nodes tell it: words that must be the
 * same, sizes, and tensors, which become one list of inputs. Before compiled_autograd.c. */
#include "../dync.in.h"
#include "ca.h"
DYNC__COLD

/* Failures of memory are sticky in c->failed and looked at once. */
static void dync__ca_word(dync__gvisitor *v, uint64_t word)
{
    dync__ca *c = (dync__ca *)(void *)v;
    if (!dync__vec_push(&c->word, word)) c->failed = true;
}

/* A visitor's call: sizes, and maybe strides, that a node keeps. Dims are sorted by stride: a dense
 * layout is told by the order of its dims alone, so that its sizes may differ from call to call,
 * any other by its strides as words. stride may be NULL. */
static void dync__ca_layout(dync__gvisitor *v, int ndim, int64_t *shape, int64_t *stride)
{
    dync__ca *c = (dync__ca *)(void *)v;
    dync__ca_shape s = {ndim, c->size.n, shape, stride, {0}};
    int64_t span = 1;
    uint64_t order = 0;
    for (int d = 0; d < ndim; d++) {
        int k = d;
        int at = ndim - 1 - d;
        for (; stride && k > 0 && stride[s.order[k - 1]] > stride[at]; k--)
            s.order[k] = s.order[k - 1];
        s.order[k] = (uint8_t)at;
    }
    for (int k = 0; k < ndim && s.stride; k++) {
        int d = s.order[k];
        order = order << 4 | (uint64_t)d;
        if (shape[d] != 1 && stride[d] != span) s.stride = NULL;
        span *= shape[d];
    }
    dync__ca_word(v, (uint64_t)ndim << 2 | (uint64_t)(stride != NULL) << 1 |
                         (uint64_t)(s.stride != NULL));
    if (s.stride) dync__ca_word(v, order);
    for (int d = 0; stride && !s.stride && d < ndim; d++) dync__ca_word(v, (uint64_t)stride[d]);
    for (int d = 0; d < ndim; d++)
        if (!dync__vec_push(&c->size, shape[d])) c->failed = true;
    if (!dync__vec_push(&c->shape, s)) c->failed = true;
}

/* Its place in the list. A tensor that is there twice, or saved by two nodes, stands there once. */
static int dync__ca_input(dync__ca *c, dync__tensor *t)
{
    uint64_t at;
    if (dync__map_get(&c->input_of, t->id, &at)) {
        const dync__tensor *known = c->input.at[at];
        if (known->storage == t->storage && known->dtype == t->dtype &&
            dync__layout_equal(&known->lay, &t->lay))
            return (int)at;
    }
    if (!dync__vec_push(&c->input, t) ||
        !dync__map_put(&c->input_of, t->id, (uint64_t)c->input.n - 1))
        c->failed = true;
    return c->input.n - 1;
}

/* The word says which input it is, or that there is none. */
/* What a node saved, with the history that the walk gives it where gradients are differentiated
 * again. */
static dync__tensor *dync__ca_with_history(dync__ca *c, dync__tensor *t)
{
    dync__gnode *node = c->visitor.edge_node;
    if (!c->walk->create_graph || !node) return t;
    dync__tensor *own = dync__tensor_alias(t, t->dtype, &t->lay);
    if (!own || !dync__grad_meta_of(own) || !dync__vec_push(&c->own, own)) {
        dync__unref(own);
        c->failed = true;
        return t;
    }
    dync__grad_meta_set_node(own, node, c->visitor.edge_nr);
    return own;
}

static void dync__ca_saved(dync__gvisitor *v, dync__tensor **at, uint32_t *version)
{
    dync__ca *c = (dync__ca *)(void *)v;
    if (c->walk->create_graph && !v->has_edge) v->opaque = true;
    if (*at) {
        dync__ca_slot s = {at, *at, version, *version,
                           dync__ca_input(c, dync__ca_with_history(c, *at))};
        if (!dync__vec_push(&c->slot, s)) c->failed = true;
        dync__ca_word(v, (uint64_t)s.input << 1 | 1);
    } else {
        dync__ca_word(v, 0);
    }
}

/* Where a gradient goes: the node's place in the walk and which of its inputs. */
static void dync__ca_edge(dync__ca *c, const dync__gedge *edge)
{
    uint64_t at = UINT64_MAX;
    if (edge->node) dync__map_get(&c->nodes.index, (uint64_t)(uintptr_t)edge->node, &at);
    dync__ca_word(&c->visitor, at << 8 | (uint64_t)(unsigned)edge->nr);
}

DYNC__FN uint64_t dync__ca_order(const dync__layout *leaf)
{
    int dims[DYNC_MAX_DIMS];
    uint64_t order = 0;
    if (dync__layout_is_contiguous(leaf) || !dync__layout_is_dense(leaf)) return 0;
    for (int d = 0; d < leaf->ndim; d++) {
        int k = d;
        for (; k > 0 && leaf->stride[dims[k - 1]] < leaf->stride[d]; k--) dims[k] = dims[k - 1];
        dims[k] = d;
    }
    for (int k = leaf->ndim - 1; k >= 0; k--) order = order << 4 | (uint64_t)dims[k];
    return order;
}

/* The gradient that a leaf has already is added to, where this backward reaches it. */
static void dync__ca_leaf(dync__ca *c, dync__gnode *node)
{
    dync__tensor *leaf = dync__gnode_is_accumulate(node) ? dync__gnode_leaf(node) : NULL,
                 *grad = leaf ? dync__tensor_grad(leaf) : NULL;
    int input = grad && !c->walk->n_captures ? dync__ca_input(c, grad) : -1;
    if (!dync__vec_push(&c->grad, input)) c->failed = true;
    dync__ca_word(&c->visitor, (uint64_t)(unsigned)input);
    dync__ca_word(&c->visitor, leaf ? dync__ca_order(&leaf->lay) : 0);
}

/* Stops early where a node is opaque, i.e. cannot be captured; the caller looks at
 * visitor.opaque. */
DYNC__FN dync_status dync__ca_collect(dync__ca *c)
{
    c->visitor =
        (dync__gvisitor){.word = dync__ca_word, .layout = dync__ca_layout, .saved = dync__ca_saved};
    const dync__walk *w = c->walk;
    DYNC__TRY(dync__walk_nodes(w, &c->nodes));
    dync__ca_word(&c->visitor,
                  (uint64_t)(unsigned)w->n_roots << 32 | (uint64_t)(unsigned)w->n_captures);
    dync__ca_word(&c->visitor, w->create_graph);
    for (int i = 0; i < w->n_roots; i++) {
        int input = dync__ca_input(c, w->seed[i]);
        if (!dync__vec_push(&c->seed, input)) c->failed = true;
        dync__ca_edge(c, &w->root[i]);
        dync__ca_word(&c->visitor, (uint64_t)(unsigned)input);
    }
    for (int i = 0; i < w->n_captures; i++) dync__ca_edge(c, &w->capture[i]);
    for (int i = 0; i < c->nodes.at.n && !c->failed && !c->visitor.opaque; i++) {
        dync__gnode *node = c->nodes.at.at[i];
        for (int k = 0; k < node->n_in; k++) dync__ca_edge(c, &node->edge[k]);
        DYNC__TRY(dync__gnode_visit(node, &c->visitor));
        dync__ca_leaf(c, node);
    }
    return c->failed ? DYNC_ERR_MEMORY : DYNC_OK;
}

/* Of what the walk collected; the entry stays in the cache. */
DYNC__FN void dync__ca_free(dync__ca *c)
{
    dync__gnode_list_free(&c->nodes);
    dync__vec_free(&c->word);
    dync__vec_free(&c->size);
    dync__vec_free(&c->shape);
    dync__vec_free(&c->slot);
    dync__vec_free(&c->input);
    dync__map_free(&c->input_of);
    dync__vec_free(&c->seed);
    dync__vec_free(&c->grad);
    dync__vec_free(&c->result);
    dync__vec_free(&c->out);
    dync__vec_free(&c->hook_part);
    dync__unref(c->carrier);
    for (int i = 0; i < c->own.n; i++) dync__unref(c->own.at[i]);
    dync__vec_free(&c->own);
}
