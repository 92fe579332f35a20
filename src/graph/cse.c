/* graph/cse.c: common subexpressions: a node that computes what an earlier one did is replaced by
 * it. dce.c then drops it.
 *
 * Only in graphs without in-place writes (AOT's functional graphs): two equal fresh tensors are not
 * one tensor where one of them is written later. Random operators differ from themselves. Two
 * values that are both returned, or of which views are, stay two, since the caller may write one.
 */
#include "../dync.in.h"
#include "graph.h"
DYNC__COLD

/* Equal arguments have equal hashes; nodes count by index, which dync__graph_renumber has set. */
static uint64_t dync__cse_hash_arg(uint64_t h, const dync__arg *a)
{
    h = dync__hash_mix(h, a->kind);
    switch (a->kind) {
    case DYNC__A_NODE: return dync__hash_mix(h, (uint64_t)a->as.node->index);
    case DYNC__A_DIMS:
        return dync__hash_mix(
            h, dync__hash_bytes(a->as.dims, (size_t)a->n * sizeof(int64_t), (uint64_t)a->n));
    case DYNC__A_STR: return dync__hash_mix(h, dync__hash_bytes(a->as.s, strlen(a->as.s), 0));
    case DYNC__A_LIST:
        for (int i = 0; i < a->n; i++) h = dync__cse_hash_arg(h, &a->as.list[i]);
        return dync__hash_mix(h, (uint64_t)a->n);
    case DYNC__A_FLOAT:
        return dync__hash_mix(h,
                              dync__hash_bytes(&a->as.f, sizeof a->as.f, 0)); /* -0.0 is not 0.0 */
    default: return dync__hash_mix(h, (uint64_t)a->as.i);
    }
}

/* Floats by their bits: NaN is equal to itself, and -0 is not 0. */
static bool dync__cse_same_arg(const dync__arg *a, const dync__arg *b)
{
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case DYNC__A_NONE: return true;
    case DYNC__A_NODE: return a->as.node == b->as.node;
    case DYNC__A_DIMS:
        return a->n == b->n && memcmp(a->as.dims, b->as.dims, (size_t)a->n * sizeof(int64_t)) == 0;
    case DYNC__A_STR: return dync__same_text(a->as.s, b->as.s);
    case DYNC__A_FLOAT: return memcmp(&a->as.f, &b->as.f, sizeof a->as.f) == 0;
    case DYNC__A_LIST:
        if (a->n != b->n) return false;
        for (int i = 0; i < a->n; i++)
            if (!dync__cse_same_arg(&a->as.list[i], &b->as.list[i])) return false;
        return true;
    default: return a->as.i == b->as.i;
    }
}

/* Same operator, arguments and number of outputs, or the same attribute. */
static bool dync__cse_same(const dync__node *a, const dync__node *b)
{
    if (a->kind != b->kind || a->op != b->op || a->nargs != b->nargs || a->nout != b->nout)
        return false;
    if (a->kind == DYNC__N_GET_ATTR)
        return a->value == b->value && dync__same_text(a->target, b->target);
    for (int i = 0; i < a->nargs; i++)
        if (!dync__cse_same_arg(&a->args[i], &b->args[i])) return false;
    return true;
}

static uint64_t dync__cse_hash(const dync__node *node)
{
    uint64_t h = dync__hash_mix((uint64_t)node->kind, (uint64_t)(int64_t)node->op);
    if (node->kind == DYNC__N_GET_ATTR)
        h = dync__hash_mix(h, dync__hash_bytes(node->target, strlen(node->target), 0));
    for (int i = 0; i < node->nargs; i++) h = dync__cse_hash_arg(h, &node->args[i]);
    return h;
}

static void dync__cse_note_returned(void *user, dync__arg *arg)
{
    (void)user;
    arg->as.node->mark = arg->as.node;
}

/* Has it the memory of its first argument? */
static bool dync__cse_is_of(const dync__node *n)
{
    return n->op == DYNC__NODE_GETITEM ||
           (n->op >= 0 && n->nargs > 0 && n->args[0].kind == DYNC__A_NODE &&
            dync__op_info(n->op)->cls == DYNC__VIEW);
}

static void dync__cse_redirect(void *user, dync__arg *arg)
{
    dync__node **instead = user;
    if (instead[arg->as.node->index]) arg->as.node = instead[arg->as.node->index];
}

/* One walk in order: arguments are redirected before a node is hashed, so chains of equal nodes
 * meet. instead[i]: the earlier node that stands for node i. mark: is it returned? */
DYNC__FN dync_status dync__graph_cse(dync__graph *g)
{
    if (dync__graph_has_writes(g)) return DYNC_OK;
    dync__graph_renumber(g);
    dync__map seen = {0};
    size_t bytes = (size_t)g->node.n * sizeof(dync__node *);
    dync__node **instead = dync__calloc(bytes);
    if (!instead) return DYNC_ERR_MEMORY;
    for (int i = 0; i < g->node.n; i++) g->node.at[i]->mark = NULL;
    if (g->node.n > 0)
        dync__node_each_input(g->node.at[g->node.n - 1], dync__cse_note_returned, NULL);
    /* what an item or a view is returned of: two normalisations are two arrays */
    for (int i = g->node.n - 1; i >= 0; i--)
        if (g->node.at[i]->mark && dync__cse_is_of(g->node.at[i]))
            dync__cse_note_returned(NULL, &g->node.at[i]->args[0]);
    dync_status status = DYNC_OK;
    for (int i = 0; i < g->node.n && status == DYNC_OK; i++) {
        dync__node *node = g->node.at[i];
        uint64_t found;
        dync__node_each_input(node, dync__cse_redirect, instead);
        if (!dync__node_is_pure(node)) continue;
        uint64_t key = dync__cse_hash(node);
        dync__node *earlier = dync__map_get(&seen, key, &found) ? g->node.at[(int)found] : NULL;
        if (earlier && dync__cse_same(earlier, node)) {
            if (!(node->mark && earlier->mark)) instead[i] = earlier;
            earlier->is_read |= node->is_read && !earlier->backward;
            if (node->mark && instead[i]) earlier->mark = earlier;
        } else if (!earlier && !dync__map_put(&seen, key, (uint64_t)i)) {
            status = DYNC_ERR_MEMORY;
        }
    }
    dync__free(instead, bytes);
    dync__map_free(&seen);
    dync__graph_renumber(g);
    return status;
}
