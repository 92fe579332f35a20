/* autograd/node.c: nodes of the tape and what tensors know of their history. After op/, before
 * tape.c, which makes nodes for operators, and engine.c, which walks them.
 *
 * Invariants: edges lead to nodes made earlier, so the tape has no cycles; a node dies with its
 * last reference, and a whole chain dies in a loop (a list of the dying, per thread), never by
 * recursion; a leaf's accumulation node is found again while anything uses it. */
#include "../dync.in.h"
#include "node.h"
#include "tape.h"
DYNC__WARM

/* Per thread: the dying, the node being evaluated. Sequence numbers are dync__tls's. */
typedef struct dync__grad_thread {
    dync__gnode *dead;
    bool burying;
    const dync__gnode *running; /* its rule runs: operators get its sequence number */
    const dync__gnode *visited; /* the engine is at it: its hooks too */
} dync__grad_thread;
static DYNC__TLS dync__grad_thread dync__gt;

DYNC__FN const dync__gnode *dync__gnode_running(void) { return dync__gt.running; }

DYNC__FN const dync__gnode *dync__gnode_set_running(const dync__gnode *node)
{
    const dync__gnode *before = dync__gt.running;
    dync__gt.running = node;
    return before;
}

DYNC__FN const dync__gnode *dync__gnode_set_visited(const dync__gnode *node)
{
    const dync__gnode *before = dync__gt.visited;
    dync__gt.visited = node;
    return before;
}

DYNC__FN int64_t dync__seq_now(void)
{
    if (dync__gt.running && dync__gt.running->seq != UINT64_MAX)
        return (int64_t)dync__gt.running->seq;
    return (int64_t)dync__tls.seq - 1;
}

DYNC__RARE DYNC_API const char *dync_trace_meta_get(const char *key)
{
    const dync__gnode *node = dync__gt.visited;
    if (!key)
        return dync__fail(DYNC_ERR_VALUE, "dync_trace_meta_get: expected a key, got NULL"), NULL;
    if (!node) return NULL;
    bool number = strcmp(key, "grad_fn_seq_nr") == 0 && node->seq != UINT64_MAX;
    if (!number && strcmp(key, "in_grad_fn") != 0) return NULL;
    char *text = dync__scope_alloc(24);
    if (text) dync__format(text, 24, "%lld", number ? (long long)node->seq : 1LL);
    return text;
}

DYNC__FN bool dync__is_float_dtype(int dtype) { return dync__dtype_info(dtype)->kind == 'f'; }

/* ---- nodes ----------------------------------------------------------------------------------- */

/* One block: the node, its edges, what it knows of its outputs, their sizes, then the extra
 * bytes. */
DYNC__FN dync__gnode *dync__gnode_new(const dync__gnode_class *cls, int n_in, int n_out,
                                      size_t extra)
{
    size_t edges = sizeof(dync__gnode), outs = edges + (size_t)n_in * sizeof(dync__gedge);
    outs = (outs + 15) & ~(size_t)15;
    size_t dims = outs + (size_t)n_out * sizeof(dync__ginfo);
    dims = (dims + 15) & ~(size_t)15;
    size_t more = dims + (size_t)n_out * DYNC_MAX_DIMS * sizeof(int64_t);
    char *block = dync__calloc(more + extra);
    if (!block) return NULL;
    dync__gnode *node = (dync__gnode *)(void *)block;
    node->refs = 1;
    node->n_in = n_in;
    node->n_out = n_out;
    node->cls = cls;
    node->name = cls->name;
    node->edge = (dync__gedge *)(void *)(block + edges);
    node->out = (dync__ginfo *)(void *)(block + outs);
    node->state = extra ? block + more : NULL;
    node->bytes = more + extra;
    for (int i = 0; i < n_out; i++)
        node->out[i].dims = (const int64_t *)(void *)(block + dims) + i * DYNC_MAX_DIMS;
    node->seq = dync__tls.seq++;
    node->thread = dync__thread_number();
    node->at = dync__tls.at;
    return node;
}

/* Notes the form of output i, which the gradients that come in must have. The sizes lie in the
 * node's own block, to which the const pointer of the struct leads back. */
DYNC__FN void dync__gnode_set_out(dync__gnode *node, int i, const dync__tensor *t)
{
    dync__ginfo *info = &node->out[i];
    char *block = (char *)node;
    int64_t *dims = (int64_t *)(void *)(block + ((const char *)info->dims - block));
    info->dtype = t->dtype;
    info->device = t->device;
    info->ndim = t->lay.ndim;
    memcpy(dims, t->lay.shape, (size_t)t->lay.ndim * sizeof *dims);
}

DYNC__FN void dync__gnode_ref(dync__gnode *node) { DYNC__ATOMIC_INC(&node->refs); }

/* The last reference is gone: what the node owns goes. Edges may push further nodes on the list of
 * the dying, which dync__gnode_unref works off. */
static void dync__gnode_bury(dync__gnode *node)
{
    if (node->cls->destroy) node->cls->destroy(node->state);
    for (int i = 0; i < node->n_in; i++) dync__gnode_unref(node->edge[i].node);
    dync__vec_free(&node->hook);
    dync__free(node, node->bytes);
}

/* What dies while another is being buried waits in a list: the stack stays flat however long the
 * chain is. */
DYNC__FN void dync__gnode_unref(dync__gnode *node)
{
    if (!node || DYNC__ATOMIC_DEC(&node->refs) > 0) return;
    node->next_dead = dync__gt.dead;
    dync__gt.dead = node;
    if (dync__gt.burying) return;
    dync__gt.burying = true;
    while (dync__gt.dead) {
        dync__gnode *next = dync__gt.dead;
        dync__gt.dead = next->next_dead;
        dync__gnode_bury(next);
    }
    dync__gt.burying = false;
}

/* Gives up what backward reads (for a class that can): later uses fail with
 * dync__gnode_freed_error. */
DYNC__FN void dync__gnode_release(dync__gnode *node)
{
    if (node->released || !node->cls->release) return;
    node->released = true;
    node->cls->release(node->state);
}

DYNC__RARE DYNC__FN dync_status dync__gnode_freed_error(void)
{
    return dync__fail(DYNC_ERR_AUTOGRAD,
                      "Trying to backward through the graph a second time (or directly access "
                      "saved tensors after they have already been "
                      "freed). Saved intermediate values of the graph are freed when you call "
                      "dync_backward() or dync_gradients(). Specify "
                      "retain_graph = true if you need to backward through the graph a second "
                      "time or if you need to access saved tensors "
                      "after calling backward.");
}

/* "max_pool2d" gives "MaxPool2dBackward0". */
DYNC__RARE DYNC__FN const char *dync__gnode_name(const dync__gnode *node, char *buf, size_t cap)
{
    if (node->name) return node->name;
    const char *op = ((const dync__opsave *)node->state)->call.row->name;
    size_t n = 0;
    bool up = true;
    for (; *op && n + 16 < cap; op++) {
        if (*op == '_') {
            up = true;
            continue;
        }
        buf[n++] = (char)(up && *op >= 'a' && *op <= 'z' ? *op - 'a' + 'A' : *op);
        up = false;
    }
    dync__format(buf + n, cap - n, "Backward0");
    return buf;
}

/* ---- what a tensor knows --------------------------------------------------------------------- */

static void dync__grad_meta_free(dync__grad_meta *meta)
{
    if (!meta) return;
    dync__gnode_unref(meta->node);
    dync__unref(meta->base);
    dync__unref(meta->grad);
    dync__vec_free(&meta->hook);
    dync__free(meta, sizeof *meta);
}
DYNC__DATA void (*dync__free_grad_meta)(struct dync__grad_meta *) = dync__grad_meta_free;

/* Two threads may find a shared parameter without one at the same time: the second takes the
 * first's. */
DYNC__FN dync__grad_meta *dync__grad_meta_of(dync__tensor *t)
{
    dync__grad_meta *meta = DYNC__ATOMIC_LOAD(&t->grad), *none = NULL;
    if (meta) return meta;
    meta = dync__calloc(sizeof *meta);
    if (!meta) return NULL;
    if (DYNC__ATOMIC_CAS(&t->grad, &none, meta)) return meta;
    dync__free(meta, sizeof *meta);
    return none;
}

/* t is output nr of node from now on. The version is that of its storage now: a view whose base is
 * written later notices by it that its node is out of date (view.c). */
DYNC__FN void dync__grad_meta_set_node(dync__tensor *t, dync__gnode *node, int nr)
{
    dync__gnode *before = t->grad->node;
    dync__gnode_ref(node);
    t->grad->node = node;
    t->grad->nr = nr;
    t->grad->view_version = t->storage->version;
    t->flags |= DYNC__T_REQUIRES_GRAD;
    dync__gnode_unref(before);
}

DYNC__FN void dync__grad_meta_no_view(dync__tensor *t)
{
    if (!t->grad || !t->grad->base) return;
    dync__unref(t->grad->base);
    t->grad->base = NULL;
    t->grad->view_kind = DYNC__VIEW_NONE;
}

DYNC__FN bool dync__tensor_shares_history(const dync__tensor *a, const dync__tensor *b)
{
    const dync__grad_meta *of_a = dync__grad_meta_peek(a), *of_b = dync__grad_meta_peek(b);
    const dync__tensor *x = of_a && of_a->view_kind == DYNC__VIEW_NORMAL ? of_a->base : a;
    const dync__tensor *y = of_b && of_b->view_kind == DYNC__VIEW_NORMAL ? of_b->base : b;
    return x == y;
}

/* A view made in grad mode requires a gradient as soon as its base does, even if only a later write
 * in place gave the base one. */
DYNC__FN bool dync__tensor_requires_grad(const dync__tensor *t)
{
    if (DYNC__GRAD_NONE) return false;
    if (t->flags & DYNC__T_REQUIRES_GRAD) return true;
    const dync__grad_meta *meta = dync__grad_meta_peek(t);
    return meta && meta->base && meta->view_kind != DYNC__VIEW_NO_GRAD &&
           (meta->base->flags & DYNC__T_REQUIRES_GRAD);
}

DYNC__FN bool dync__tensor_is_leaf(const dync__tensor *t)
{
    if (!dync__tensor_requires_grad(t)) return true;
    const dync__grad_meta *meta = dync__grad_meta_peek(t);
    if (meta && meta->node) return false;
    /* without it: a view that gets its history from its base */
    return (t->flags & DYNC__T_REQUIRES_GRAD) != 0;
}

DYNC__FN dync__tensor *dync__tensor_grad(const dync__tensor *t)
{
    const dync__grad_meta *meta = dync__grad_meta_peek(t);
    return meta ? meta->grad : NULL;
}

DYNC__RARE DYNC__FN void dync__tensor_set_requires_grad(dync__tensor *t, bool on)
{
    if (DYNC__GRAD_NONE) return;
    if (on) {
        dync__tape_start();
        t->flags |= DYNC__T_REQUIRES_GRAD;
    } else {
        t->flags &= (uint8_t)~DYNC__T_REQUIRES_GRAD;
    }
}
