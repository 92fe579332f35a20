/* autograd/autograd.c: the public functions of autograd and what other stages ask of the tape.
 * After engine.c, before function.c.
 *
 * Each public function asks first whether a trace is open (dync__grad_traced): capture answers
 * then, and what follows is the eager meaning. Texts of errors are PyTorch's where it has the
 * error. */
#include "../dync.in.h"
#include "node.h"
DYNC__COLD

/* An input that was NULL already: the error that made it so, or DYNC_ERR_VALUE. */
static dync_status dync__grad_failed(void)
{
    return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_VALUE;
}
static const dync__grad_intercept *dync__grad_traced(void) { return dync__grad_intercepted(); }
DYNC__DATA const dync__grad_intercept *(*dync__grad_intercept_get)(void) = NULL;

/* ---- lists of tensors out of values ---------------------------------------------------------- */

/* borrowed tensors; NULL for none */
typedef struct dync__tensor_list {
    dync__tensor **at;
    int n;
} dync__tensor_list;

/* A tensor or a list of tensors as l, whose array the caller drops; on failure there is none. what:
 * for messages. none_ok: items of kind NONE (and a NONE for all of them) are allowed; n: as many
 * are expected, -1 any. */
static dync_status dync__tensor_list_of(dync__tensor_list *l, dync_value v, const char *what,
                                        bool none_ok, int n)
{
    bool list = v.kind == DYNC_KIND_LIST, absent = v.kind == DYNC_KIND_NONE && none_ok;
    l->at = NULL;
    l->n = list ? dync_len(v) : absent ? DYNC__MAX(n, 0) : 1;
    if (l->n < 0) return DYNC_ERR_VALUE;
    if (n >= 0 && l->n != n)
        return dync__fail(DYNC_ERR_VALUE, "%s: expected %d, got %d", what, n, l->n);
    if (!list && !absent && v.kind != DYNC_KIND_TENSOR)
        return dync__fail(DYNC_ERR_VALUE, "%s: expected a tensor or a list of tensors", what);
    l->at = dync__calloc((size_t)l->n * sizeof *l->at + 1);
    if (!l->at) return DYNC_ERR_MEMORY;
    for (int i = 0; i < l->n && !absent; i++) {
        dync_value item = list ? (dync_at)(v, i) : v;
        if (item.kind == DYNC_KIND_NONE && none_ok) continue;
        dync_status status = DYNC_OK;
        if (item.kind != DYNC_KIND_TENSOR)
            status = dync__fail(DYNC_ERR_VALUE, "%s: element %d is not a tensor", what, i);
        else if (!(l->at[i] = dync__open(item.as.t)))
            status = dync__grad_failed();
        if (status != DYNC_OK) {
            dync__free(l->at, (size_t)l->n * sizeof *l->at + 1);
            l->at = NULL;
            return status;
        }
    }
    return DYNC_OK;
}

static void dync__tensor_list_drop(dync__tensor_list *l)
{
    if (l->at) dync__free(l->at, (size_t)l->n * sizeof *l->at + 1);
    l->at = NULL;
}

/* ---- where a walk starts --------------------------------------------------------------------- */

static dync_status dync__seed_mismatch(const dync__tensor *g, const dync__tensor *out, int i)
{
    dync__str got = {0}, want = {0};
    dync__shape_text(&got, g->lay.ndim, g->lay.shape);
    dync__shape_text(&want, out->lay.ndim, out->lay.shape);
    dync_status status = dync__fail(
        DYNC_ERR_SHAPE,
        "Mismatch in shape: grad_output[%d] has a shape of %s and output[%d] has a shape of %s.", i,
        dync__str_get(&got), i, dync__str_get(&want));
    dync__str_free(&got);
    dync__str_free(&want);
    return status;
}

/* The gradient to start with at output i: given, cast to its dtype, or one. Owned. */
static dync_status dync__seed_of(dync__tensor *out, dync__tensor *given, int i, dync__tensor **seed)
{
    dync__arg args[2];
    if (given) {
        if (given->lay.ndim != out->lay.ndim ||
            memcmp(given->lay.shape, out->lay.shape, (size_t)out->lay.ndim * sizeof(int64_t)) != 0)
            return dync__seed_mismatch(given, out, i);
        args[0] = dync__arg_t(given);
        args[1] = dync__arg_dtype(out->dtype);
        if (given->dtype != out->dtype) return dync__op_run(DYNC__OP_to_dtype, 2, args, seed);
        dync__ref(given);
        *seed = given;
        return DYNC_OK;
    }
    if (out->numel != 1)
        return dync__fail(
            DYNC_ERR_AUTOGRAD,
            "grad can be implicitly created only for scalar outputs: this one has %lld elements. "
            "Sum it, or give its gradient to dync_backward_with",
            (long long)out->numel);
    args[0] = dync__arg_t(out);
    return dync__op_run(DYNC__OP_ones_like, 1, args, seed);
}

/* Where a walk starts: for each output its edge and the gradient to begin with, owned both. */
typedef struct dync__gstart {
    int n;
    dync__gedge *edge;
    dync__tensor **seed;
} dync__gstart;

/* Also after a failure half way: arrays may be NULL, entries empty. */
static void dync__gstart_free(dync__gstart *s)
{
    for (int i = 0; i < s->n; i++) {
        if (s->edge) dync__gnode_unref(s->edge[i].node);
        if (s->seed) dync__unref(s->seed[i]);
    }
    if (s->edge) dync__free(s->edge, (size_t)s->n * sizeof *s->edge + 1);
    if (s->seed) dync__free(s->seed, (size_t)s->n * sizeof *s->seed + 1);
}

static dync_status dync__gstart_fill(dync__gstart *s, dync__tensor *const *outputs,
                                     dync__tensor *const *given)
{
    for (int i = 0; i < s->n; i++) {
        if (!dync__tensor_requires_grad(outputs[i]))
            return dync__fail(
                DYNC_ERR_AUTOGRAD,
                "element %d of tensors does not require grad and does not have a grad_fn: "
                "nothing it was computed from is a dync_parameter or was made with .requires_grad",
                i);
        DYNC__TRY(dync__grad_edge(outputs[i], &s->edge[i]));
        DYNC__TRY(dync__seed_of(outputs[i], given ? given[i] : NULL, i, &s->seed[i]));
    }
    return DYNC_OK;
}

static dync_status dync__gstart_make(dync__gstart *s, int n, dync__tensor *const *outputs,
                                     dync__tensor *const *given)
{
    s->n = n;
    s->edge = dync__calloc((size_t)n * sizeof *s->edge + 1);
    s->seed = s->edge ? dync__calloc((size_t)n * sizeof *s->seed + 1) : NULL;
    return s->seed ? dync__gstart_fill(s, outputs, given) : DYNC_ERR_MEMORY;
}

/* ---- walks ----------------------------------------------------------------------------------- */

/* Adds gradients into the leaves. create_graph keeps what the nodes saved: the new history needs
 * it. */
static dync_status dync__tape_backward(int n, dync__tensor *const *outputs,
                                       dync__tensor *const *given, dync_grad_options options)
{
    dync__gstart start = {0};
    dync__walk walk = {0};
    dync_status status = dync__gstart_make(&start, n, outputs, given);
    walk.n_roots = n;
    walk.root = start.edge;
    walk.seed = start.seed;
    walk.create_graph = options.create_graph;
    walk.retain_graph = options.retain_graph || options.create_graph;
    if (status == DYNC_OK) status = dync__walk_run(&walk);
    dync__gstart_free(&start);
    return status;
}

/* edge: zeroed, n; the caller gives the references up. */
static dync_status dync__capture_edges(int n, dync__tensor *const *inputs, dync__gedge *edge)
{
    for (int i = 0; i < n; i++) {
        if (!dync__tensor_requires_grad(inputs[i]))
            return dync__fail(DYNC_ERR_AUTOGRAD,
                              "One of the differentiated Tensors does not require grad");
        DYNC__TRY(dync__grad_edge(inputs[i], &edge[i]));
    }
    return DYNC_OK;
}

static dync_status dync__grad_check_used(int n, dync__tensor **grads)
{
    for (int i = 0; i < n; i++)
        if (!grads[i])
            return dync__fail(DYNC_ERR_AUTOGRAD, "One of the differentiated Tensors appears to "
                                                 "not have been used in the graph. Set "
                                                 "allow_unused = true if this is the desired "
                                                 "behavior.");
    return DYNC_OK;
}

DYNC__FN dync_status dync__tape_gradients(int n_out, dync__tensor *const *outputs,
                                          dync__tensor *const *grad_outputs, int n_in,
                                          dync__tensor *const *inputs, dync__tensor **grads,
                                          bool retain_graph, bool create_graph, bool allow_unused)
{
    dync__gstart start = {0};
    dync__walk walk = {0};
    dync__gedge *edge = dync__calloc((size_t)n_in * sizeof *edge + 1);
    for (int i = 0; i < n_in; i++) grads[i] = NULL;
    if (!edge) return DYNC_ERR_MEMORY;
    dync_status status = dync__gstart_make(&start, n_out, outputs, grad_outputs);
    if (status == DYNC_OK) status = dync__capture_edges(n_in, inputs, edge);
    walk.n_roots = n_out;
    walk.root = start.edge;
    walk.seed = start.seed;
    walk.n_captures = n_in;
    walk.capture = edge;
    walk.captured = grads;
    walk.create_graph = create_graph;
    walk.retain_graph = retain_graph || create_graph;
    if (status == DYNC_OK && n_in > 0) status = dync__walk_run(&walk);
    if (status == DYNC_OK && !allow_unused) status = dync__grad_check_used(n_in, grads);
    for (int i = 0; i < n_in; i++) {
        dync__gnode_unref(edge[i].node);
        if (status == DYNC_OK) continue;
        dync__unref(grads[i]);
        grads[i] = NULL;
    }
    dync__gstart_free(&start);
    dync__free(edge, (size_t)n_in * sizeof *edge + 1);
    return status;
}

DYNC_API dync_status(dync_backward_opt)(dync_value outputs, dync_value grad_outputs,
                                        dync_grad_options options)
{
    const dync__grad_intercept *traced = dync__grad_traced();
    dync_status status = DYNC_OK;
    dync__tensor_list out, given;
    if (traced && traced->backward && traced->backward(outputs, grad_outputs, options, &status))
        return status;
    DYNC__TRY(dync__tensor_list_of(&out, outputs, "dync_backward: outputs", false, -1));
    status = dync__tensor_list_of(&given, grad_outputs, "dync_backward: gradients of outputs", true,
                                  out.n);
    if (status == DYNC_OK) status = dync__tape_backward(out.n, out.at, given.at, options);
    dync__tensor_list_drop(&given);
    dync__tensor_list_drop(&out);
    return status;
}

static dync_status dync__grad_backward_one(dync_tensor *out, dync_value grad)
{
    dync_grad_options options = {false, false, false};
    if (!out) {
        dync__open(out);
        return dync__grad_failed();
    }
    return dync_backward_opt(dync_v_tensor(out), grad, options);
}

DYNC_API dync_status(dync_backward)(dync_tensor *loss)
{
    return dync__grad_backward_one(loss, DYNC_NONE);
}

DYNC_API dync_status(dync_backward_with)(dync_tensor *out, dync_tensor *grad_out)
{
    if (!grad_out) {
        dync__open(grad_out);
        return dync__grad_failed();
    }
    return dync__grad_backward_one(out, dync_v_tensor(grad_out));
}

/* Gradients as a list, whose references it takes over; NULL ones are NONE. */
static dync_value dync__grad_give_list(int n, dync__tensor **tensors)
{
    dync_value list = dync__list_new(n);
    for (int i = 0; i < n; i++) {
        dync_tensor *handle = dync__give(tensors[i]);
        if (list.kind == DYNC_KIND_LIST && handle) dync__list_set(list, i, dync_v_tensor(handle));
    }
    return list;
}

DYNC_API dync_value(dync_gradients)(dync_value outputs, dync_value inputs, dync_value grad_outputs,
                                    dync_grad_options options)
{
    const dync__grad_intercept *traced = dync__grad_traced();
    dync_value result = DYNC_NONE;
    dync__tensor_list out = {NULL, 0}, in = {NULL, 0}, given = {NULL, 0};
    if (traced && traced->gradients &&
        traced->gradients(outputs, inputs, grad_outputs, options, &result))
        return result;
    dync_status status = dync__tensor_list_of(&out, outputs, "dync_gradients: outputs", false, -1);
    if (status == DYNC_OK)
        status = dync__tensor_list_of(&in, inputs, "dync_gradients: inputs", false, -1);
    if (status == DYNC_OK)
        status = dync__tensor_list_of(&given, grad_outputs, "dync_gradients: gradients of outputs",
                                      true, out.n);
    dync__tensor **grads = status == DYNC_OK ? dync__calloc((size_t)in.n * sizeof *grads + 1)
                                             : NULL;
    if (grads) {
        status = dync__tape_gradients(out.n, out.at, given.at, in.n, in.at, grads,
                                      options.retain_graph, options.create_graph,
                                      options.allow_unused);
        if (status == DYNC_OK) result = dync__grad_give_list(in.n, grads);
        dync__free(grads, (size_t)in.n * sizeof *grads + 1);
    }
    dync__tensor_list_drop(&given);
    dync__tensor_list_drop(&in);
    dync__tensor_list_drop(&out);
    return result;
}

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
static bool dync__grad_leaf(const dync_tensor *handle, bool *leaf)
{
    const dync__grad_intercept *traced = dync__grad_traced();
    const dync__tensor *t = dync__open(handle);
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
    if (traced && traced->requires_grad_ && traced->requires_grad_(handle, on, &result))
        return result;
    if (on && !dync__is_float_dtype(t->dtype)) {
        dync__fail(DYNC_ERR_DTYPE, "only Tensors of floating point dtype can require gradients");
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

DYNC_API dync_value(dync_grad_fn_call)(dync_tensor *out, dync_value grads)
{
    dync_value result = DYNC_NONE, real[2] = {dync_v_tensor(out), grads};
    dync__gedge edge = {NULL, 0};
    dync__opaque opaque;
    const dync__grad_intercept *traced = dync__grad_traced();
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

DYNC_API bool dync_is_grad_enabled(void) { return !dync__grad_is_off(); }

DYNC_API void dync_set_grad_enabled(bool on)
{
    dync__arg arg = dync__arg_b(on);
    dync__tensor *none[DYNC__MAX_OUT] = {NULL};
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
    for (int i = 0; i < n_in; i++)
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
