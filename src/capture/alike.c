/* capture/alike.c: are two graphs the same? Hash and comparison by which segments are found. After
 * guard.c, before segment.c. */
#include "../dync.in.h"
#include "capture.h"
DYNC__WARM

/* recursion: lists, functions inside. Nodes count by their number, tensors by id, floats by their
 * bits. */
static uint64_t dync__hash_arg(uint64_t h, const dync__arg *a)
{
    h = dync__hash_mix(h, ((uint64_t)a->kind << 32) ^ (uint32_t)a->n);
    switch ((dync__arg_kind)a->kind) {
    case DYNC__A_NODE: return dync__hash_mix(h, (uint64_t)a->as.node->index);
    case DYNC__A_TENSOR: return dync__hash_mix(h, a->as.t->id);
    case DYNC__A_FLOAT: return dync__hash_bytes(&a->as.f, sizeof a->as.f, h);
    case DYNC__A_INT:
    case DYNC__A_BOOL:
    case DYNC__A_DTYPE:
    case DYNC__A_DEVICE: return dync__hash_mix(h, (uint64_t)a->as.i);
    case DYNC__A_DIMS:
        return a->n ? dync__hash_bytes(a->as.dims, (size_t)a->n * sizeof *a->as.dims, h) : h;
    case DYNC__A_STR: return dync__hash_bytes(a->as.s, strlen(a->as.s), h);
    case DYNC__A_LIST:
        for (int i = 0; i < a->n; i++) h = dync__hash_arg(h, &a->as.list[i]);
        return h;
    case DYNC__A_PTR: return dync__hash_mix(h, (uint64_t)(uintptr_t)a->as.p);
    case DYNC__A_GRAPH: return dync__hash_mix(h, dync__graph_hash(a->as.graph));
    case DYNC__A_NONE:
    case DYNC__A_HANDLE: break;
    }
    return h;
}

DYNC__RARE static bool dync__info_equal(const dync__info *a, const dync__info *b)
{
    return a->dtype == b->dtype && a->device == b->device && a->lay.ndim == b->lay.ndim &&
           a->lay.offset == b->lay.offset &&
           memcmp(a->lay.shape, b->lay.shape, (size_t)a->lay.ndim * sizeof(int64_t)) == 0 &&
           memcmp(a->lay.stride, b->lay.stride, (size_t)a->lay.ndim * sizeof(int64_t)) == 0;
}

/* numbers: those that a node takes count by value, too. */
DYNC__RARE static uint64_t dync__graph_hash_of(const dync__graph *g, bool numbers)
{
    uint64_t h = 0x64796e63;
    for (int i = 0; i < g->node.n; i++) {
        const dync__node *n = g->node.at[i];
        h = dync__hash_mix(h, ((uint64_t)n->kind << 32) ^ (uint32_t)n->op);
        for (int j = 0; j < n->nargs; j++)
            h = numbers || !dync__arg_is_number(&n->args[j])
                    ? dync__hash_arg(h, &n->args[j])
                    : dync__hash_mix(h, (uint64_t)n->args[j].kind);
        if (n->callee)
            h = dync__hash_mix(h, (uint64_t)(uintptr_t)n->callee->fn ^
                                      (uint64_t)(uintptr_t)n->callee->user);
        if (n->kind == DYNC__N_PLACEHOLDER && n->has_info) {
            const dync__info *m = &n->info[0];
            h = dync__hash_mix(h, (uint64_t)m->dtype | (uint64_t)m->device << 8 |
                                      (uint64_t)n->requires_grad[0] << 40);
            h = dync__hash_bytes(m->lay.shape, (size_t)m->lay.ndim * sizeof(int64_t), h);
            h = dync__hash_bytes(m->lay.stride, (size_t)m->lay.ndim * sizeof(int64_t), h);
        }
        if (!n->has_info) h = dync__hash_mix(h, (uint64_t)n->scalar.kind);
        if (n->kind == DYNC__N_GET_ATTR && n->value) h = dync__hash_mix(h, n->value->id);
    }
    return h;
}

/* Over what dync__graph_equal compares, or less: equal graphs hash alike. Names and lines are not
 * part of it. */
DYNC__RARE DYNC__FN uint64_t dync__graph_hash(const dync__graph *g)
{
    return dync__graph_hash_of(g, true);
}

/* The same for graphs that are alike but for the numbers that operators take. */
DYNC__RARE DYNC__FN uint64_t dync__graph_likeness(const dync__graph *g)
{
    return dync__graph_hash_of(g, false);
}

/* recursion: lists, functions inside. Of kinds without a value (none, handles) the kind alone
 * counts. */
DYNC__RARE static bool dync__args_equal(const dync__arg *a, const dync__arg *b)
{
    if (a->kind != b->kind || a->n != b->n) return false;
    switch ((dync__arg_kind)a->kind) {
    case DYNC__A_NODE: return a->as.node->index == b->as.node->index;
    case DYNC__A_TENSOR: return a->as.t == b->as.t;
    case DYNC__A_FLOAT: return memcmp(&a->as.f, &b->as.f, sizeof a->as.f) == 0;
    case DYNC__A_INT:
    case DYNC__A_BOOL:
    case DYNC__A_DTYPE:
    case DYNC__A_DEVICE: return a->as.i == b->as.i;
    case DYNC__A_DIMS:
        return memcmp(a->as.dims, b->as.dims, (size_t)a->n * sizeof *a->as.dims) == 0;
    case DYNC__A_STR: return strcmp(a->as.s, b->as.s) == 0;
    case DYNC__A_LIST:
        for (int i = 0; i < a->n; i++)
            if (!dync__args_equal(&a->as.list[i], &b->as.list[i])) return false;
        return true;
    case DYNC__A_PTR: return a->as.p == b->as.p;
    case DYNC__A_GRAPH: return dync__graph_equal(a->as.graph, b->as.graph);
    case DYNC__A_NONE:
    case DYNC__A_HANDLE: break;
    }
    return true;
}

/* The same kind of number where an operator takes any: noted. */
static bool dync__number_differs(const dync__node *n, int arg, int call, const dync__arg *got,
                                 dync__lift *differ)
{
    const dync__arg *a = &n->args[arg];
    if (a->kind != got->kind || (a->kind != DYNC__A_FLOAT && a->kind != DYNC__A_INT) ||
        !dync__node_is_call(n) || n->op < 0)
        return false;
    if (!dync__number_place(n->op, arg) || differ->n == DYNC__LIFT_PLACES) return false;
    differ->place[differ->n++] = (dync__lift_place){n->index, arg, call};
    return true;
}

/* What two nodes give. The results of equal operators on equal inputs are equal, but for sizes that
 * depend on symbols: where a call's own sizes decided (a slice that leaves 0 or 1), the same text
 * is another graph. */
DYNC__RARE static bool dync__node_results_equal(const dync__node *a, const dync__node *b,
                                                bool symbolic)
{
    bool input = a->kind == DYNC__N_PLACEHOLDER;
    for (int i = 0; i < a->nout && a->has_info && (input || symbolic); i++)
        if (!dync__info_equal(&a->info[i], &b->info[i])) return false;
    return !input || !a->has_info || a->requires_grad[0] == b->requires_grad[0];
}

DYNC__RARE DYNC__FN bool dync__graph_equal(const dync__graph *a, const dync__graph *b)
{
    return dync__graph_alike(a, b, NULL);
}

/* Equal node by node, in order. differ: numbers may be others where an operator takes any, and
 * their places are noted in it (lift.c); NULL: nothing may. call counts pending nodes, without
 * items and changes of grad mode. */
DYNC__RARE DYNC__FN bool dync__graph_alike(const dync__graph *a, const dync__graph *b,
                                           dync__lift *differ)
{
    int call = -1;
    if (a->node.n != b->node.n) return false;
    for (int i = 0; i < a->node.n; i++) {
        const dync__node *x = a->node.at[i], *y = b->node.at[i];
        if (!x->callee != !y->callee || (x->callee && (x->callee->fn != y->callee->fn ||
                                                       x->callee->object != y->callee->object ||
                                                       x->callee->user != y->callee->user)))
            return false;
        if (x->kind != y->kind || x->op != y->op || x->nargs != y->nargs || x->nout != y->nout ||
            x->value != y->value || x->has_info != y->has_info ||
            (!x->has_info && x->scalar.kind != y->scalar.kind))
            return false;
        if (!dync__node_results_equal(x, y, a->syms || b->syms)) return false;
        if (dync__node_pends(x) && x->op != DYNC__NODE_GETITEM && !dync__node_sets_grad_mode(x))
            call++;
        for (int j = 0; j < x->nargs; j++) {
            if (dync__args_equal(&x->args[j], &y->args[j])) continue;
            if (!differ || !dync__number_differs(x, j, call, &y->args[j], differ)) return false;
        }
    }
    return true;
}
