/* autograd/engine_run.c: running a node of a walk, and the walk. Before: engine.c. */
#include "../dync.in.h"
#include "node.h"
#include "engine.h"
DYNC__WARM

/* ---- running a node -------------------------------------------------------------------------- */

/* Nodes of operators say themselves that what they saved is gone: one that saved nothing may run
 * again. While it runs it is the thread's running node; profiler and anomaly mode see its name and
 * line. */
DYNC__FN dync_status dync__gnode_run(dync__gnode *node, dync__tensor *const *grad_out,
                                     const bool *needed, dync__tensor **grad_in, bool create_graph)
{
    if (node->released && node->cls != dync__opnode_class() && node->cls->release)
        return dync__gnode_freed_error();
    const dync__gnode *before = dync__gnode_set_running(node);
    dync__profiled event;
    bool profiled = dync__profile_on();
    char name[80];
    if (profiled) event = dync__profile_begin("", dync__gnode_name(node, name, sizeof name), NULL);
    dync_loc at = dync__tls.at;
    const char *outer = dync__tls.backward_of;
    bool watched = dync__anomaly_on(); /* it tells the line of the forward operator */
    if (watched) dync__tls.backward_of = dync__gnode_name(node, name, sizeof name);
    if (watched && node->at.file) dync__tls.at = node->at;
    dync_status status = node->cls->backward(node->state, node->n_out, grad_out, node->n_in, needed,
                                             grad_in, create_graph);
    dync__tls.at = at;
    dync__tls.backward_of = outer;
    if (profiled) dync__profile_end(&event, (int64_t)node->seq, node->thread);
    dync__gnode_set_running(before);
    return status;
}

/* Gives up the gradients that arrived; twice does no harm. */
static void dync__gtask_done(dync__gtask *task)
{
    for (int i = 0; task->grad && i < task->node->n_out; i++) dync__unref(task->grad[i]);
    dync__free(task->grad, task->grad ? (size_t)task->node->n_out * sizeof *task->grad : 0);
    task->grad = NULL;
}

DYNC__RARE static void dync__engine_capture(dync__engine *e, const dync__gtask *task)
{
    for (int i = task->capture; i >= 0; i = e->next_capture[i]) {
        dync__tensor *g = task->grad[e->walk.capture[i].nr];
        if (g) dync__ref(g);
        e->captured[i] = g;
    }
}

/* Post hooks, then each gradient to its edge. Every grad_in is taken or dropped, on errors too; an
 * edge that gets no gradient (NULL) still counts as delivered, or its node would wait forever. */
static dync_status dync__engine_pass_on(dync__engine *e, dync__gnode *node, dync__tensor **grad_in)
{
    dync_status status = dync__hooks_after(node, grad_in);
    for (int i = 0; i < node->n_in; i++) {
        dync__tensor *g = grad_in[i];
        if (status == DYNC_OK && g && node->edge[i].node)
            status = dync__grad_fits(node, i, &grad_in[i]);
        g = grad_in[i];
        grad_in[i] = NULL;
        if (status == DYNC_OK && node->edge[i].node)
            status = dync__engine_arrive(e, &node->edge[i], g);
        else
            dync__unref(g);
    }
    return status;
}

/* Runs the node for the gradients somebody wants: `needed` spares rules the others. */
static dync_status dync__engine_call(dync__engine *e, dync__gnode *node,
                                     dync__tensor *const *grad_out)
{
    size_t bytes = (size_t)node->n_in * (sizeof(dync__tensor *) + sizeof(bool));
    dync__tensor *few[8], **grad_in = few;
    bool few_needed[8], *needed = few_needed;
    if (node->n_in > 8 || node->hook.n) {
        grad_in = dync__calloc(bytes);
        if (!grad_in) return DYNC_ERR_MEMORY;
        needed = (bool *)(void *)(grad_in + node->n_in);
        e->passing = grad_in;
        e->passing_bytes = bytes;
        e->n_passing = node->n_in;
    }
    for (int i = 0; i < node->n_in; i++) {
        uint64_t at;
        const dync__gnode *next = node->edge[i].node;
        grad_in[i] = NULL;
        needed[i] = next && dync__map_get(&e->index, (uint64_t)(uintptr_t)next, &at) &&
                    (e->task.at[at].wanted || e->task.at[at].capture >= 0);
    }
    dync_status status = dync__gnode_run(node, grad_out, needed, grad_in, e->walk.create_graph);
    if (status == DYNC_OK) status = dync__engine_pass_on(e, node, grad_in);
    for (int i = 0; i < node->n_in; i++) dync__unref(grad_in[i]);
    if (grad_in != few) dync__free(grad_in, bytes);
    e->passing = NULL;
    return status;
}

/* Pre hooks, captures, then the node itself: a captured gradient is the one behind the hooks.
 * Nothing runs beyond a capture that leads to no other. */
static dync_status dync__engine_step(dync__engine *e, int at)
{
    dync__gtask *task = &e->task.at[at];
    dync__gnode *node = task->node;
    DYNC__TRY(dync__hooks_before(node, task->grad));
    if (task->capture >= 0) dync__engine_capture(e, task);
    if (!task->wanted) return DYNC_OK;
    if (dync__gnode_is_accumulate(node)) {
        dync__tensor *g = task->grad[0];
        dync__profiled event;
        bool profiled = dync__profile_on();
        task->grad[0] = NULL;
        if (profiled) event = dync__profile_begin("torch::autograd::", "AccumulateGrad", NULL);
        dync__walk_record *r = dync__walk_record_now();
        dync_status status = !g  ? DYNC_OK
                             : r ? r->accumulate(r, node, g)
                                 : dync__accumulate_into(dync__gnode_leaf(node), g);
        if (status == DYNC_OK && g && !r) status = dync__hooks_accumulated(node);
        if (profiled) dync__profile_end(&event, -1, node->thread);
        return status;
    }
    DYNC__TRY(dync__engine_call(e, node, task->grad));
    if (!e->walk.retain_graph) dync__gnode_release(node);
    return DYNC_OK;
}

/* Each step has a scope of its own: a rule's temporaries die at its end. */
static dync_status dync__engine_loop(dync__engine *e)
{
    dync_status status = DYNC_OK;
    while (status == DYNC_OK && e->ready.n) {
        int at = dync__engine_pop(e);
        dync_scope scope = dync_scope_begin();
        const dync__gnode *before = dync__gnode_set_visited(e->task.at[at].node);
        status = dync__engine_step(e, at);
        dync__gnode_set_visited(before);
        dync_scope_end(&scope);
        dync__gtask_done(&e->task.at[at]);
    }
    return status;
}

/* All roots are explored before the first gradient arrives: the counts must be complete. */
static dync_status dync__engine_start(dync__engine *e)
{
    const dync__walk *w = &e->walk;
    DYNC__TRY(dync__engine_captures(e));
    for (int i = 0; i < w->n_roots; i++)
        if (w->root[i].node) DYNC__TRY(dync__engine_explore(e, w->root[i].node));
    for (int i = 0; i < w->n_roots; i++) {
        if (!w->root[i].node) continue;
        dync__ref(w->seed[i]);
        DYNC__TRY(dync__engine_arrive(e, &w->root[i], w->seed[i]));
    }
    return DYNC_OK;
}

static void dync__engine_free(dync__engine *e)
{
    for (int i = 0; e->passing && i < e->n_passing; i++) dync__unref(e->passing[i]);
    dync__free(e->passing, e->passing ? e->passing_bytes : 0);
    for (int i = 0; i < e->task.n; i++) {
        dync__gtask_done(&e->task.at[i]);
        dync__gnode_unref(e->task.at[i].node);
    }
    for (int i = 0; i < e->n_captures; i++) dync__unref(e->captured[i]);
    dync__free(e->captured, (size_t)e->n_captures * DYNC__ENGINE_CAPTURE);
    dync__vec_free(&e->frame);
    dync__vec_free(&e->ready);
    dync__vec_free(&e->task);
    dync__map_free(&e->index);
    dync__free(e, sizeof *e);
}

static void dync__walk_restore(const dync__engine *e)
{
    dync__gnode_set_running(e->running);
    dync__gnode_set_visited(e->visited);
    dync__tls.backward_of = e->backward_of;
    dync__grad_off(e->grad_off);
}

DYNC__RARE DYNC__FN void dync__walk_drop(const dync__walk *w)
{
    if (!w->heap) return;
    for (int i = 0; i < w->n_roots; i++) {
        dync__gnode_unref(w->root[i].node);
        dync__unref(w->seed[i]);
    }
    for (int i = 0; i < w->n_captures; i++) dync__gnode_unref(w->capture[i].node);
    dync__free((void *)(uintptr_t)w->root, DYNC__WALK_BYTES(w->n_roots, w->root));
    dync__free((void *)(uintptr_t)w->seed, DYNC__WALK_BYTES(w->n_roots, w->seed));
    if (w->capture)
        dync__free((void *)(uintptr_t)w->capture, DYNC__WALK_BYTES(w->n_captures, w->capture));
}

/* A hook or a custom function was left: the walk on whose stack nothing stands any more. */
DYNC__RARE static void dync__walk_unwind(dync__wait *wait, const dync__wait *rest, bool quiet)
{
    dync__engine *e = (dync__engine *)(void *)wait;
    (void)rest;
    if (!quiet)
        dync__warn("a backward was left in a function that it called (by longjmp or an "
                   "exception): gradients that it has not reached are not there");
    dync__walk_restore(e);
    dync__walk_drop(&e->walk);
    dync__engine_free(e);
}

/* Grad mode is on within the walk only by create_graph. On failure all captured results are NULL;
 * what was added to leaves stays. */
DYNC__NOINLINE DYNC__FN dync_status dync__walk_run(const dync__walk *w)
{
    dync_status status;
    if (DYNC__UNLIKELY(dync__tls.compiled_autograd) &&
        DYNC__ATOMIC_LOAD(&dync__walk_intercept)(w, &status))
        return status;
    for (int i = 0; i < w->n_captures; i++) w->captured[i] = NULL;
    dync__engine *e = dync__calloc(sizeof *e);
    if (!e) return DYNC_ERR_MEMORY;
    DYNC__WAIT_BEGIN(&e->wait, dync__walk_unwind);
    e->walk = *w;
    e->running = dync__gnode_set_running(NULL);
    e->visited = dync__gnode_set_visited(NULL);
    e->backward_of = dync__tls.backward_of;
    e->grad_off = dync__grad_off(!w->create_graph);
    status = dync__engine_start(e);
    if (status == DYNC_OK) status = dync__engine_loop(e);
    dync__wait_end(&e->wait);
    dync__walk_restore(e);
    for (int i = 0; status == DYNC_OK && i < e->n_captures; i++) {
        w->captured[i] = e->captured[i];
        e->captured[i] = NULL;
    }
    dync__engine_free(e);
    return status;
}
