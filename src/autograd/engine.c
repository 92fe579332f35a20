/* autograd/engine.c: the walk from outputs back to leaves. After hooks.c, before autograd.c,
 * the public functions.
 *
 * Nodes wait until all their gradients have arrived and run in the order of their sequence numbers,
 * the latest first; accumulation runs as soon as it is ready, the last queued first. The walk is a
 * loop over arrays: no recursion, however deep the history. Gradients are added by operator calls
 * and the engine looks at no data, so fake tensors are walked as real ones are. */
#include "../dync.in.h"
#include "node.h"
#include "engine.h"
DYNC__WARM

DYNC__DATA bool (*dync__walk_intercept)(const dync__walk *, dync_status *) = NULL;

/* ---- the nodes ahead, and how many gradients each waits for ---------------------------------- */

/* The number of the node's task, made with a reference on the node where there is none; -1: no
 * memory. Numbers stay, addresses do not: the array of tasks grows. */
static int dync__engine_task(dync__engine *e, dync__gnode *node)
{
    uint64_t at;
    if (dync__map_get(&e->index, (uint64_t)(uintptr_t)node, &at)) return (int)at;
    dync__gtask task = {0};
    task.node = node;
    task.capture = -1;
    task.wanted = e->walk.n_captures == 0;
    if (!dync__vec_reserve(&e->task, e->task.n + 1)) return -1;
    if (!dync__map_put(&e->index, (uint64_t)(uintptr_t)node, (uint64_t)e->task.n)) return -1;
    dync__gnode_ref(node);
    e->task.at[e->task.n] = task;
    return e->task.n++;
}

/* One more edge leads to the node; the first time it is entered. */
static dync_status dync__engine_enter(dync__engine *e, dync__gnode *node)
{
    int at = dync__engine_task(e, node);
    dync__gframe frame = {at, 0};
    if (at < 0) return DYNC_ERR_MEMORY;
    e->task.at[at].waits++;
    if (e->task.at[at].seen) return DYNC_OK;
    e->task.at[at].seen = true;
    return dync__vec_push(&e->frame, frame) ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* Depth first from one root: counts edges, and on the way back marks what leads to a capture. A
 * node that was seen before is not entered again, but its mark is read once more by each edge to
 * it: it is complete by then, since the tape has no cycles. */
DYNC__FN dync_status dync__engine_explore(dync__engine *e, dync__gnode *root)
{
    DYNC__TRY(dync__engine_enter(e, root));
    while (e->frame.n) {
        dync__gframe *top = &e->frame.at[e->frame.n - 1];
        int here = top->task;
        dync__gnode *node = e->task.at[here].node;
        if (top->edge > 0) { /* back from an edge */
            dync__gnode *below = node->edge[top->edge - 1].node;
            uint64_t at;
            if (below && dync__map_get(&e->index, (uint64_t)(uintptr_t)below, &at) &&
                (e->task.at[at].wanted || e->task.at[at].capture >= 0))
                e->task.at[here].wanted = true;
        }
        if (top->edge == node->n_in) {
            e->frame.n--;
            continue;
        }
        dync__gnode *next = node->edge[top->edge++].node;
        if (next) DYNC__TRY(dync__engine_enter(e, next));
    }
    return DYNC_OK;
}

/* Chains the captures of each node: two inputs may be outputs of one node, or the same tensor
 * twice. */
DYNC__FN dync_status dync__engine_captures(dync__engine *e)
{
    const dync__walk *w = &e->walk;
    if (!w->n_captures) return DYNC_OK;
    e->captured = dync__calloc((size_t)w->n_captures * DYNC__ENGINE_CAPTURE);
    if (!e->captured) return DYNC_ERR_MEMORY;
    e->n_captures = w->n_captures;
    e->next_capture = (int32_t *)(void *)(e->captured + w->n_captures);
    for (int i = 0; i < w->n_captures; i++) {
        int at = dync__engine_task(e, w->capture[i].node);
        if (at < 0) return DYNC_ERR_MEMORY;
        e->next_capture[i] = e->task.at[at].capture;
        e->task.at[at].capture = i;
    }
    return DYNC_OK;
}

/* ---- the queue: a max-heap ------------------------------------------------------------------- */

static bool dync__gready_before(const dync__gready *a, const dync__gready *b)
{
    return a->seq != b->seq ? a->seq > b->seq : a->order > b->order;
}

static bool dync__engine_queue(dync__engine *e, int task)
{
    dync__gready item = {e->task.at[task].node->seq, e->order++, task};
    if (!dync__vec_push(&e->ready, item)) return false;
    int i = e->ready.n - 1;
    while (i > 0 && dync__gready_before(&item, &e->ready.at[(i - 1) / 2])) {
        e->ready.at[i] = e->ready.at[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    e->ready.at[i] = item;
    return true;
}

/* The task that is first in order; there is one. The last item sinks from the root. */
DYNC__FN int dync__engine_pop(dync__engine *e)
{
    int task = e->ready.at[0].task, i = 0;
    dync__gready last = e->ready.at[--e->ready.n];
    for (;;) {
        int child = 2 * i + 1;
        if (child >= e->ready.n) break;
        if (child + 1 < e->ready.n &&
            dync__gready_before(&e->ready.at[child + 1], &e->ready.at[child]))
            child++;
        if (!dync__gready_before(&e->ready.at[child], &last)) break;
        e->ready.at[i] = e->ready.at[child];
        i = child;
    }
    e->ready.at[i] = last;
    return task;
}

/* ---- gradients arrive ------------------------------------------------------------------------ */

/* In place where nobody can see the first one: no tracer, no history, sole owner, the same form. */
static bool dync__sum_in_place(const dync__tensor *a, const dync__tensor *b)
{
    return dync__grad_is_off() && !dync__tls.handler && !dync__tls.recording &&
           !(a->flags & (DYNC__T_FAKE | DYNC__T_REQUIRES_GRAD)) && a->refs == 1 &&
           a->storage->refs == 1 && !(a->storage->flags & DYNC__STORAGE_BORROWED) &&
           a->dtype == b->dtype && a->numel == b->numel && dync__layout_is_dense(&a->lay);
}

/* *into = *into + taken, both owned; *into NULL: taken. A failure keeps *into and drops taken. */
static dync_status dync__grad_sum(dync__tensor **into, dync__tensor *taken)
{
    dync__arg args[2];
    dync__tensor *sum = NULL;
    if (!*into) {
        *into = taken;
        return DYNC_OK;
    }
    args[0] = dync__arg_t(*into);
    args[1] = dync__arg_t(taken);
    dync_status status = (dync__op_run)(dync__sum_in_place(*into, taken) ? DYNC__USED(DYNC__OP_add_)
                                                                         : DYNC__USED(DYNC__OP_add),
                                        2, args, &sum);
    dync__unref(taken);
    if (status != DYNC_OK) return status;
    dync__unref(*into);
    *into = sum;
    return DYNC_OK;
}

/* taken as gradient nr of task `at`; NULL arrives too, and counts as zeros that nobody added. */
static dync_status dync__engine_deliver(dync__engine *e, int at, int nr, dync__tensor *taken)
{
    dync__gtask *task = &e->task.at[at];
    if (!task->grad) {
        task->grad = dync__calloc((size_t)task->node->n_out * sizeof *task->grad);
        if (!task->grad) {
            dync__unref(taken);
            return DYNC_ERR_MEMORY;
        }
    }
    return taken ? dync__grad_sum(&task->grad[nr], taken) : DYNC_OK;
}

/* One edge delivered: the last of them makes the task ready. taken: owned, NULL for none. Where
 * nothing behind the node is wanted it is dropped. */
DYNC__FN dync_status dync__engine_arrive(dync__engine *e, const dync__gedge *edge,
                                         dync__tensor *taken)
{
    uint64_t found = 0;
    dync__map_get(&e->index, (uint64_t)(uintptr_t)edge->node, &found);
    int at = (int)found;
    dync__gtask *task = &e->task.at[at];
    if (!task->wanted && task->capture < 0) {
        dync__unref(taken);
        return DYNC_OK;
    }
    DYNC__TRY(dync__engine_deliver(e, at, edge->nr, taken));
    if (--task->waits == 0 && !dync__engine_queue(e, at)) return DYNC_ERR_MEMORY;
    return DYNC_OK;
}

/* A gradient must fit what the node below made: custom nodes may get it wrong; of a number from
 * another device it comes back there. */
DYNC__FN dync_status dync__grad_fits(const dync__gnode *node, int i, dync__tensor **grad)
{
    const dync__gedge *edge = &node->edge[i];
    const dync__ginfo *info = &edge->node->out[edge->nr];
    const dync__tensor *t = *grad;
    char name[80];
    bool same = t->lay.ndim == info->ndim && dync__sz_same(info->ndim, t->lay.shape, info->dims);
    bool cast = t->dtype != info->dtype;
    if (same && !cast && (t->device == info->device || t->lay.ndim > 0)) return DYNC_OK;
    if (!same) {
        dync__str got = {0}, want = {0};
        dync__shape_text(&got, t->lay.ndim, t->lay.shape);
        dync__shape_text(&want, info->ndim, info->dims);
        dync_status status = dync__fail(DYNC_ERR_AUTOGRAD,
                                        "Function %s returned an invalid gradient at index %d "
                                        "- got %s but expected shape compatible with %s",
                                        dync__gnode_name(node, name, sizeof name), i,
                                        dync__str_get(&got), dync__str_get(&want));
        dync__str_free(&got);
        dync__str_free(&want);
        return status;
    }
    dync__arg args[2];
    dync__tensor *fit = NULL;
    args[0] = dync__arg_t(*grad);
    args[1] = cast ? dync__arg_dtype(info->dtype) : dync__arg_device(info->device);
    DYNC__TRY((dync__op_run)(cast ? DYNC__USED(DYNC__OP_to_dtype) : DYNC__USED(DYNC__OP_to_device),
                             2, args, &fit));
    dync__unref(*grad);
    *grad = fit;
    return cast ? dync__grad_fits(node, i, grad) : DYNC_OK;
}
