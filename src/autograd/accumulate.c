/* autograd/accumulate.c: accumulation, the last node of every way: it adds to a leaf's gradient.
 * Before: node.c. */
#include "../dync.in.h"
#include "node.h"
DYNC__WARM

/* of the weak pointers from leaves to accumulation nodes */
static dync__mutex dync__accumulate_lock[16];

/* ---- accumulation: the last node of every way, which adds into a leaf's .grad ---------------- */

/* One of a few locks by the leaf's id: it guards leaf->grad->accumulate. Two leaves may share one;
 * no function takes two of them. */
static dync__mutex *dync__leaf_lock(const dync__tensor *leaf)
{
    return &dync__accumulate_lock[leaf->id % (uint64_t)DYNC__COUNT_OF(dync__accumulate_lock)];
}

/* The leaf's weak pointer goes where it still leads to a dying node: between the last unref and
 * here another thread may have put a new node there, whose count is above 0. */
static void dync__accumulate_destroy(void *state)
{
    dync__tensor *leaf = state;
    dync__mutex *lock = dync__leaf_lock(leaf);
    dync__lock(lock);
    if (leaf->grad && leaf->grad->accumulate &&
        DYNC__ATOMIC_PEEK(&leaf->grad->accumulate->refs) <= 0)
        leaf->grad->accumulate = NULL;
    dync__unlock(lock);
    dync__unref(leaf);
}
static const dync__gnode_class dync__accumulate_class = {DYNC__TEXT("AccumulateGrad"), NULL, NULL,
                                                         dync__accumulate_destroy, NULL};

DYNC__FN bool dync__gnode_is_accumulate(const dync__gnode *node)
{
    return node->cls == &dync__accumulate_class;
}
DYNC__FN dync__tensor *dync__gnode_leaf(const dync__gnode *node) { return node->state; }

/* One more reference, unless the count had reached zero: then the node is dying in another thread,
 * or waits to be buried in this one. */
DYNC__RARE static bool dync__gnode_revive(dync__gnode *node)
{
    int32_t refs = DYNC__ATOMIC_PEEK(&node->refs);
    while (refs > 0)
        if (DYNC__ATOMIC_CAS(&node->refs, &refs, refs + 1)) return true;
    return false;
}

/* The node of the leaf, found again or made. It is made outside of the lock and looked up a second
 * time under it: of two threads that made one the second takes the first's. */
DYNC__FN dync__gnode *dync__accumulate_node(dync__tensor *leaf)
{
    dync__grad_meta *meta = dync__grad_meta_of(leaf);
    if (!meta) return NULL;
    dync__mutex *lock = dync__leaf_lock(leaf);
    dync__lock(lock);
    dync__gnode *node = meta->accumulate;
    bool found = node && dync__gnode_revive(node);
    dync__unlock(lock);
    if (found) return node;
    node = dync__gnode_new(&dync__accumulate_class, 0, 1, 0);
    if (!node) return NULL;
    dync__tls.seq--; /* no number of its own: it always runs first */
    node->seq = UINT64_MAX;
    node->state = leaf;
    dync__ref(leaf);
    dync__gnode_set_out(node, 0, leaf);
    dync__lock(lock);
    dync__gnode *other = meta->accumulate;
    if (other && dync__gnode_revive(other)) {
        dync__unlock(lock);
        dync__gnode_unref(node);
        return other;
    }
    meta->accumulate = node;
    dync__unlock(lock);
    return node;
}

/* May the gradient itself become .grad? Only if nobody else sees it and it lies as the leaf does. A
 * value being recorded is held once by its recorder. */
static bool dync__grad_can_steal(const dync__tensor *leaf, const dync__tensor *g)
{
    int32_t recorder = (g->flags & DYNC__T_FAKE) && g->node;
    if (g->refs != 1 + recorder || g->storage->refs != 1 ||
        (g->storage->flags & DYNC__STORAGE_BORROWED))
        return false;
    if (g->dtype != leaf->dtype || g->flags & DYNC__T_REQUIRES_GRAD) return false;
    return dync__layout_is_dense(&leaf->lay) && dync__layout_lies_like(&leaf->lay, &g->lay);
}

/* A copy of g in the strides of the leaf, which are dense but not row major. */
static dync_status dync__clone_like(dync__tensor *leaf, dync__tensor *g, dync__tensor **out)
{
    dync__arg args[2];
    dync__tensor *copy = NULL;
    args[0] = dync__arg_t(leaf);
    DYNC__TRY(dync__op_run(DYNC__OP_empty_like, 1, args, &copy));
    args[0] = dync__arg_t(copy);
    args[1] = dync__arg_t(g);
    dync_status status = dync__op_run(DYNC__OP_copy_, 2, args, out);
    dync__unref(copy);
    return status;
}

/* The first gradient of a leaf: g itself, or a copy that lies as the leaf does, or, where the leaf
 * is not dense, row major. *out is an owned reference. */
static dync_status dync__accumulate_first(dync__tensor *leaf, dync__tensor *g, dync__tensor **out)
{
    dync__arg arg = dync__arg_t(g);
    if (dync__grad_is_off() && dync__grad_can_steal(leaf, g)) {
        dync__ref(g);
        *out = g;
        return DYNC_OK;
    }
    if (dync__layout_lies_like(&leaf->lay, &g->lay) && dync__layout_is_dense(&leaf->lay))
        return dync__op_run(DYNC__OP_clone, 1, &arg, out);
    if (!dync__layout_is_dense(&leaf->lay) || dync__layout_is_contiguous(&leaf->lay))
        return dync__op_run(DYNC__OP__clone_contiguous, 1, &arg, out);
    return dync__clone_like(leaf, g, out);
}

/* The new .grad, a reference; the one before stays the meta's. */
static dync_status dync__accumulate_sum(dync__tensor *leaf, dync__tensor *g, dync__tensor **sum)
{
    dync__arg args[2];
    if (!leaf->grad->grad) return dync__accumulate_first(leaf, g, sum);
    args[0] = dync__arg_t(leaf->grad->grad);
    args[1] = dync__arg_t(g);
    return dync__grad_is_off() ? dync__op_run(DYNC__OP_add_, 2, args, sum)
                               : dync__op_run(DYNC__OP_add, 2, args, sum);
}

/* As PyTorch: the first gradient is kept or copied; without create_graph later ones are added in
 * place, so that who holds .grad sees them; with it the sum is a new tensor with a history. Threads
 * may share a leaf: they add one after the other. What is let go is let go outside the lock: a
 * tensor that dies may take nodes with it. */
DYNC__FN dync_status dync__accumulate_into(dync__tensor *leaf, dync__tensor *taken)
{
    static dync__mutex locks[16];
    dync__tensor *sum = NULL, *before = NULL;
    dync_status status = dync__grad_meta_of(leaf) ? DYNC_OK : DYNC_ERR_MEMORY;
    const dync__grad_intercept *traced = leaf->flags & DYNC__T_FAKE ? dync__grad_intercepted()
                                                                    : NULL;
    if (traced && traced->accumulate && status == DYNC_OK) traced->accumulate(leaf, &status);
    if (status == DYNC_OK) {
        dync__mutex *lock = &locks[leaf->id % (uint64_t)DYNC__COUNT_OF(locks)];
        dync__lock(lock);
        status = dync__accumulate_sum(leaf, taken, &sum);
        if (status == DYNC_OK) {
            before = leaf->grad->grad;
            leaf->grad->grad = sum;
        }
        dync__unlock(lock);
    }
    dync__unref(before);
    dync__unref(taken);
    return status;
}
