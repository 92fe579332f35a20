/* autograd/own.c: what a tensor says of its own gradient and history, a node called on its own,
 * grad mode, nodes of other stages. Before: autograd.c. */
#include "../dync.in.h"
#include "node.h"
DYNC__COLD

/* ---- what a tensor says of itself ------------------------------------------------------------ */

DYNC__FN dync_tensor *dync__grad_read(const dync_tensor *handle, bool captured)
{
    const dync__grad_intercept *traced = dync__grad_traced();
    dync_tensor *result = NULL;
    const dync__tensor *t = dync__open(handle);
    if (!t) return NULL;
    if (traced && traced->grad && traced->grad(handle, captured, &result)) return result;
    return dync__handle(dync__tensor_grad(t));
}

DYNC_API dync_tensor *dync_grad(const dync_tensor *handle)
{
    return dync__grad_read(handle, false);
}

/* g is shared, not copied; NULL takes the gradient away. No meta is made for nothing. */
DYNC__FN dync_status dync__tensor_set_grad(dync__tensor *t, dync__tensor *g)
{
    if (!g && !t->grad) return DYNC_OK;
    dync__grad_meta *meta = dync__grad_meta_of(t);
    if (!meta) return DYNC_ERR_MEMORY;
    dync__tensor *before = meta->grad;
    if (g) dync__ref(g);
    meta->grad = g;
    dync__unref(before);
    return DYNC_OK;
}

DYNC__FN bool dync__tensor_has_history(const dync__tensor *t) { return t->grad && t->grad->node; }

/* Every node once, however it is reached, by a list of its own: histories are deep. Out of memory
 * counts as not spent. */
DYNC__FN bool dync__tensor_history_spent(const dync__tensor *t)
{
    DYNC__VEC(const dync__gnode *) todo = {NULL, 0, 0};
    dync__map seen = {0};
    bool spent = false, ok = dync__tensor_has_history(t) && dync__vec_push(&todo, t->grad->node);
    while (ok && todo.n && !spent) {
        const dync__gnode *node = todo.at[--todo.n];
        spent = node->released;
        for (int i = 0; i < node->n_in && ok && !spent; i++) {
            const dync__gnode *next = node->edge[i].node;
            uint64_t known, key = (uint64_t)(uintptr_t)next;
            if (next && !dync__map_get(&seen, key, &known))
                ok = dync__map_put(&seen, key, 1) && dync__vec_push(&todo, next);
        }
    }
    dync__vec_free(&todo);
    dync__map_free(&seen);
    return spent;
}

static bool dync__grad_same_form(const dync__tensor *a, const dync__tensor *b)
{
    return a->lay.ndim == b->lay.ndim &&
           memcmp(a->lay.shape, b->lay.shape, (size_t)a->lay.ndim * sizeof(int64_t)) == 0;
}

DYNC_API void(dync_set_grad)(dync_tensor *handle, dync_tensor *grad)
{
    const dync__grad_intercept *traced = dync__grad_traced();
    dync__tensor *t = dync__open(handle), *g = NULL;
    if (DYNC__GRAD_NONE && grad) {
        dync__left_out("dync_set_grad", "DYNC_NO_AUTOGRAD");
        return;
    }
    if (!t || (grad && !(g = dync__open(grad)))) return;
    if (g == t && g) {
        dync__fail(DYNC_ERR_VALUE, "can't assign Variable as its own grad");
        return;
    }
    if (g && !dync__grad_same_form(g, t)) {
        dync__fail(DYNC_ERR_SHAPE, "assigned grad has data of a different size");
        return;
    }
    if (g && g->dtype != t->dtype) {
        dync__fail(DYNC_ERR_DTYPE,
                   "assigned grad has data of a different type: expected %s, got %s",
                   dync__dtype_info(t->dtype)->name, dync__dtype_info(g->dtype)->name);
        return;
    }
    if (g && g->device != t->device) {
        dync__fail(DYNC_ERR_DEVICE, "assigned grad has data located on a different device");
        return;
    }
    if (traced && traced->set_grad && traced->set_grad(handle, grad)) return;
    dync__tensor_set_grad(t, g);
}

DYNC_API bool dync_requires_grad(const dync_tensor *handle)
{
    const dync__tensor *t = dync__open(handle);
    if (t && (t->flags & DYNC__T_FAKE) && dync__observe_hook)
        dync__observe_hook(t, DYNC__OBSERVE_REQUIRES_GRAD, 0);
    return t && dync__tensor_requires_grad(t);
}

/* In a trace capture says what the flag will be: a fake's own history is not that of the real
 * tensor. */
DYNC__MEETING(flags)
static bool dync__grad_leaf(const dync_tensor *handle, bool *leaf)
{
    const dync__grad_intercept *traced = dync__grad_traced();
    const dync__tensor *t = dync__open(handle);
    DYNC__MEET(flags);
    *leaf = t && dync__tensor_is_leaf(t);
    if (t && traced && traced->is_leaf) traced->is_leaf(handle, leaf);
    return t != NULL;
}

DYNC_API bool dync_is_leaf(const dync_tensor *handle)
{
    bool leaf;
    return dync__grad_leaf(handle, &leaf) && leaf;
}

DYNC_API bool dync_has_grad_fn(const dync_tensor *handle)
{
    bool leaf;
    return dync__grad_leaf(handle, &leaf) && !leaf;
}

DYNC_API dync_tensor *(dync_requires_grad_)(dync_tensor * handle, bool on)
{
    const dync__grad_intercept *traced = dync__grad_traced();
    dync_tensor *result = NULL;
    dync__tensor *t = dync__open(handle);
    if (!t) return NULL;
    if (DYNC__GRAD_NONE && on) return dync__left_out("requires_grad", "DYNC_NO_AUTOGRAD"), NULL;
    DYNC__MEET(flags);
    if (traced && traced->requires_grad_ && traced->requires_grad_(handle, on, &result))
        return result;
    if (on && !dync__is_float_dtype(t->dtype)) {
        static const char own[] = "only Tensors of floating point dtype can require gradients";
        dync__fail(DYNC_ERR_DTYPE, own);
        return NULL;
    }
    if (!on && !dync__tensor_is_leaf(t)) {
        dync__fail(DYNC_ERR_AUTOGRAD, "you can only change requires_grad flags of leaf "
                                      "variables. If you want to use a computed variable in a "
                                      "subgraph that doesn't require differentiation use "
                                      "var_no_grad = dync_detach(var).");
        return NULL;
    }
    if (dync__tensor_is_leaf(t)) dync__tensor_set_requires_grad(t, on);
    return handle;
}

DYNC_API dync_tensor *dync_detach(dync_tensor *handle)
{
    dync__arg arg = dync__arg_h(handle);
    return dync__op_call(DYNC__OP_detach, 1, &arg, dync__tls.at);
}

/* ---- a node on its own ----------------------------------------------------------------------- */

/* grad_out (n_out, zeroed) from a tensor for output nr, or a list for all of them; borrowed. */
static dync_status dync__node_grads(dync__gnode *node, int nr, dync_value grads,
                                    dync__tensor **grad_out)
{
    dync__tensor_list given;
    bool single = grads.kind == DYNC_KIND_TENSOR;
    DYNC__TRY(dync__tensor_list_of(&given, grads, "dync_grad_fn_call: gradients", true,
                                   single ? 1 : node->n_out));
    for (int i = 0; i < given.n; i++) {
        const dync__ginfo *info = &node->out[single ? nr : i];
        const dync__tensor *t = given.at[i];
        if (!t) continue;
        if (t->lay.ndim != info->ndim ||
            memcmp(t->lay.shape, info->dims, (size_t)info->ndim * sizeof(int64_t)) != 0) {
            dync__tensor_list_drop(&given);
            return dync__fail(
                DYNC_ERR_SHAPE,
                "dync_grad_fn_call: gradient %d has not the shape of the node's output", i);
        }
        grad_out[single ? nr : i] = given.at[i];
    }
    dync__tensor_list_drop(&given);
    return DYNC_OK;
}

/* One node alone, as Node.__call__ of PyTorch: gradients of its inputs, NONE for those without an
 * edge. What it saved stays. */
static dync_value dync__node_call(dync__gnode *node, int nr, dync_value grads)
{
    dync_value result = DYNC_NONE;
    size_t n_out = (size_t)node->n_out, n_in = (size_t)node->n_in;
    dync__tensor **grad_out = dync__scope_alloc((n_out + n_in) * sizeof *grad_out + 1),
                 **grad_in = grad_out + n_out;
    bool *needed = dync__scope_alloc(n_in + 1);
    if (!grad_out || !needed || dync__node_grads(node, nr, grads, grad_out) != DYNC_OK)
        return result;
    for (int i = 0; i < node->n_in; i++) needed[i] = node->edge[i].node != NULL;
    if (dync__gnode_run(node, grad_out, needed, grad_in, !dync__grad_is_off()) == DYNC_OK)
        return dync__grad_give_list(node->n_in, grad_in);
    for (int i = 0; i < node->n_in; i++) dync__unref(grad_in[i]);
    return result;
}

DYNC__MEETING(late)
DYNC_API dync_value(dync_grad_fn_call)(dync_tensor *out, dync_value grads)
{
    dync_value result = DYNC_NONE, real[2] = {dync_v_tensor(out), grads};
    dync__gedge edge = {NULL, 0};
    dync__opaque opaque;
    const dync__grad_intercept *traced = dync__grad_traced();
    DYNC__NEEDS(DYNC_NO_AUTOGRAD, "dync_grad_fn_call", result);
    DYNC__MEET(late);
    if (traced && traced->expose && !traced->expose(out)) return result;
    if (!dync__opaque_begin("Tensor.grad_fn", 2, real, &opaque)) return result;
    dync__tensor *t = dync__open(real[0].as.t);
    if (t && dync__grad_edge(t, &edge) == DYNC_OK && edge.node &&
        !dync__gnode_is_accumulate(edge.node))
        result = dync__node_call(edge.node, edge.nr, real[1]);
    dync__gnode_unref(edge.node);
    dync__opaque_end(&opaque);
    return result;
}

/* ---- grad mode ------------------------------------------------------------------------------- */

DYNC_API bool dync_is_grad_enabled(void)
{
    (void)dync__waits_left();
    return !dync__grad_is_off();
}

DYNC_API void dync_set_grad_enabled(bool on)
{
    dync__arg arg = dync__arg_b(on);
    dync__tensor *none[DYNC__MAX_OUT] = {NULL};
    (void)dync__waits_left();
    dync__op_run(DYNC__OP__set_grad_enabled, 1, &arg, none); /* the one door: tracers record it */
    dync__grad_off(!on);
}

DYNC_API bool dync_grad_mode_push(bool on)
{
    bool before = dync_is_grad_enabled();
    if (on != before) dync_set_grad_enabled(on);
    return before;
}

DYNC_API void dync_grad_mode_pop(bool before)
{
    if (before != dync_is_grad_enabled()) dync_set_grad_enabled(before);
}

/* ---- nodes of other stages ------------------------------------------------------------------- */

/* Outputs that are views (of something the function does not show) may not be written in place any
 * more: that is their kind, DYNC__VIEW_CUSTOM. */
static dync_status dync__attach_outputs(dync__gnode *node, int n_out, dync__tensor *const *outputs,
                                        const bool *out_requires)
{
    for (int i = 0; i < n_out; i++) {
        if (!outputs[i]) continue;
        dync__gnode_set_out(node, i, outputs[i]);
        if ((out_requires && !out_requires[i]) || !dync__is_float_dtype(outputs[i]->dtype))
            continue;
        dync__grad_meta *meta = dync__grad_meta_of(outputs[i]);
        if (!meta) return DYNC_ERR_MEMORY;
        if (meta->base) meta->view_kind = DYNC__VIEW_CUSTOM;
        dync__grad_meta_set_node(outputs[i], node, i);
    }
    return DYNC_OK;
}

static dync_status dync__attach_inputs(dync__gnode *node, dync__tensor *const *inputs)
{
    for (int i = 0; i < node->n_in; i++)
        if (inputs[i]) DYNC__TRY(dync__grad_edge(inputs[i], &node->edge[i]));
    return DYNC_OK;
}

DYNC__FN dync_status dync__tape_attach(const dync__gnode_class *cls, void *state, int n_in,
                                       dync__tensor *const *inputs, int n_out,
                                       dync__tensor *const *outputs, const bool *out_requires)
{
    bool wanted = false;
    for (int i = 0; i < n_in && !DYNC__GRAD_NONE; i++)
        wanted = wanted || (inputs[i] && dync__tensor_requires_grad(inputs[i]));
    dync__gnode *node = wanted && !dync__grad_is_off() ? dync__gnode_new(cls, n_in, n_out, 0)
                                                       : NULL;
    if (!node) {
        bool failed = wanted && !dync__grad_is_off();
        if (cls->destroy) cls->destroy(state);
        return failed ? DYNC_ERR_MEMORY : DYNC_OK;
    }
    node->state = state;
    dync_status status = dync__attach_inputs(node, inputs);
    if (status == DYNC_OK) status = dync__attach_outputs(node, n_out, outputs, out_requires);
    dync__gnode_unref(node);
    return status;
}
