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
/* Whoever asks wants gradients: what traces have for these is linked and in place first. */
DYNC__FN const dync__grad_intercept *dync__grad_traced(void)
{
    dync__tape_start();
    const dync__grad_intercept *traced = dync__grad_intercepted();
    if (traced && traced->not_linked) dync__gradients_missing();
    return traced;
}
DYNC__DATA const dync__grad_intercept *(*dync__grad_intercept_get)(void) = NULL;

/* ---- lists of tensors out of values ---------------------------------------------------------- */

/* A tensor or a list of tensors as l, whose array the caller drops; on failure there is none. what:
 * for messages. none_ok: items of kind NONE (and a NONE for all of them) are allowed; n: as many
 * are expected, -1 any. */
DYNC__FN dync_status dync__tensor_list_of(dync__tensor_list *l, dync_value v, const char *what,
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

DYNC__FN void dync__tensor_list_drop(dync__tensor_list *l)
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
            (long long)dync__sz_hint(out->numel));
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
    if (s->edge) dync__free(s->edge, DYNC__WALK_BYTES(s->n, s->edge));
    if (s->seed) dync__free(s->seed, DYNC__WALK_BYTES(s->n, s->seed));
}

static dync_status dync__grad_has_none(int i)
{
    return dync__fail(
        DYNC_ERR_AUTOGRAD,
        "element %d of tensors does not require grad and does not have a grad_fn: %s", i,
        dync__grad_is_off() ? "gradients are off here, as in what dync_export captures; a step "
                              "that trains goes by dync_export_step"
                            : "nothing it was computed from is a dync_parameter or was made with "
                              ".requires_grad");
}

DYNC__FN dync_status dync__grad_asked(dync_value outputs)
{
    dync__tensor_list out = {NULL, 0};
    dync_status status = dync__tensor_list_of(&out, outputs, "gradients: outputs", false, -1);
    for (int i = 0; i < out.n && status == DYNC_OK; i++)
        if (!dync__tensor_requires_grad(out.at[i])) status = dync__grad_has_none(i);
    dync__tensor_list_drop(&out);
    return status;
}

static dync_status dync__gstart_fill(dync__gstart *s, dync__tensor *const *outputs,
                                     dync__tensor *const *given)
{
    for (int i = 0; i < s->n; i++) {
        if (!dync__tensor_requires_grad(outputs[i])) return dync__grad_has_none(i);
        DYNC__TRY(dync__grad_edge(outputs[i], &s->edge[i]));
        DYNC__TRY(dync__seed_of(outputs[i], given ? given[i] : NULL, i, &s->seed[i]));
    }
    return DYNC_OK;
}

static dync_status dync__gstart_make(dync__gstart *s, int n, dync__tensor *const *outputs,
                                     dync__tensor *const *given)
{
    s->n = n;
    s->edge = dync__calloc(DYNC__WALK_BYTES(n, s->edge));
    s->seed = s->edge ? dync__calloc(DYNC__WALK_BYTES(n, s->seed)) : NULL;
    return s->seed ? dync__gstart_fill(s, outputs, given) : DYNC_ERR_MEMORY;
}

/* ---- walks ----------------------------------------------------------------------------------- */

/* Adds gradients into the leaves. create_graph keeps what the nodes saved: the new history needs
 * it. The lists are dropped before the walk, which may be left for good. */
static dync_status dync__tape_backward(dync__tensor_list *out, dync__tensor_list *given,
                                       dync_grad_options options)
{
    dync__gstart start = {0};
    dync__walk walk = {0};
    dync_status status = dync__gstart_make(&start, out->n, out->at, given->at);
    walk.n_roots = out->n;
    dync__tensor_list_drop(given);
    dync__tensor_list_drop(out);
    walk.root = start.edge;
    walk.seed = start.seed;
    walk.heap = true;
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
    dync__gedge *edge = dync__calloc(DYNC__WALK_BYTES(n_in, edge));
    for (int i = 0; i < n_in; i++) grads[i] = NULL;
    if (!edge) return DYNC_ERR_MEMORY;
    dync_status status = dync__gstart_make(&start, n_out, outputs, grad_outputs);
    if (status == DYNC_OK) status = dync__capture_edges(n_in, inputs, edge);
    walk.n_roots = n_out;
    walk.root = start.edge;
    walk.seed = start.seed;
    walk.heap = true;
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
    dync__free(edge, DYNC__WALK_BYTES(n_in, edge));
    return status;
}

DYNC_API dync_status(dync_backward_opt)(dync_value outputs, dync_value grad_outputs,
                                        dync_grad_options options)
{
    const dync__grad_intercept *traced = dync__grad_traced();
    dync_status status = DYNC_OK;
    dync__tensor_list out, given;
    DYNC__OFFERS(DYNC_NO_AUTOGRAD, "dync_backward");
    if (traced && traced->backward && traced->backward(outputs, grad_outputs, options, &status))
        return status;
    DYNC__TRY(dync__tensor_list_of(&out, outputs, "dync_backward: outputs", false, -1));
    status = dync__tensor_list_of(&given, grad_outputs, "dync_backward: gradients of outputs", true,
                                  out.n);
    if (status == DYNC_OK) return dync__tape_backward(&out, &given, options);
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
    return (dync_backward_opt)(dync_v_tensor(out), grad, options);
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
DYNC__FN dync_value dync__grad_give_list(int n, dync__tensor **tensors)
{
    dync_value list = dync__list_new(n);
    for (int i = 0; i < n; i++) {
        dync_tensor *handle = dync__give(tensors[i]);
        if (list.kind == DYNC_KIND_LIST && handle) dync__list_set(list, i, dync_v_tensor(handle));
    }
    return list;
}

/* What a list has, on the caller's stack where there is room: a hook of the walk may be left, and
 * nobody would drop the list then. */
enum { DYNC__GRAD_FEW = 16 };
static dync__tensor **dync__grad_few(dync__tensor_list *l, dync__tensor **room)
{
    if (!l->at || l->n > DYNC__GRAD_FEW) return l->at;
    memcpy(room, l->at, (size_t)l->n * sizeof *room);
    dync__tensor_list_drop(l);
    return room;
}

DYNC__MEETING(asks)
DYNC_API dync_value(dync_gradients)(dync_value outputs, dync_value inputs, dync_value grad_outputs,
                                    dync_grad_options options)
{
    const dync__grad_intercept *traced = dync__grad_traced();
    dync_value result = DYNC_NONE;
    dync__tensor_list out = {NULL, 0}, in = {NULL, 0}, given = {NULL, 0};
    DYNC__NEEDS(DYNC_NO_AUTOGRAD, "dync_gradients", result);
    DYNC__MEET(asks);
    if (traced && traced->gradients &&
        traced->gradients(outputs, inputs, grad_outputs, options, &result))
        return result;
    dync_status status = dync__tensor_list_of(&out, outputs, "dync_gradients: outputs", false, -1);
    if (status == DYNC_OK)
        status = dync__tensor_list_of(&in, inputs, "dync_gradients: inputs", false, -1);
    if (status == DYNC_OK)
        status = dync__tensor_list_of(&given, grad_outputs, "dync_gradients: gradients of outputs",
                                      true, out.n);
    dync__tensor *few[4][DYNC__GRAD_FEW], **grads = NULL;
    if (status == DYNC_OK)
        grads = in.n <= DYNC__GRAD_FEW ? few[3] : dync__calloc((size_t)in.n * sizeof *grads);
    if (grads) {
        dync__tensor **from = dync__grad_few(&out, few[0]), **seed = dync__grad_few(&given, few[1]),
                     **to = dync__grad_few(&in, few[2]);
        status = dync__tape_gradients(out.n, from, seed, in.n, to, grads, options.retain_graph,
                                      options.create_graph, options.allow_unused);
        if (status == DYNC_OK) result = dync__grad_give_list(in.n, grads);
        if (grads != few[3]) dync__free(grads, (size_t)in.n * sizeof *grads);
    }
    dync__tensor_list_drop(&given);
    dync__tensor_list_drop(&in);
    dync__tensor_list_drop(&out);
    return result;
}
