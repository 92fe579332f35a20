/* autograd/function.c: functions of the user with a gradient of their own, cells, and the names
 * that capture will take over. After autograd.c, the last of this folder but for the rules.
 *
 * dync_apply runs forward with grad mode off and attaches one node. What forward saves is held as
 * operators hold it: bare aliases of the memory with the version of then, and the edge that each
 * would pass its gradient to. */
#include "../dync.in.h"
#include "node.h"
#include "grads.h"
#include "function.h"
DYNC__COLD

/* ---- what forward saves ---------------------------------------------------------------------- */

DYNC_API void dync_save_for_backward(dync_autograd_ctx *context, dync_tensor *handle)
{
    dync__ctx_saved s = {0};
    s.raw = dync__open(handle);
    dync__autograd_ctx *ctx = s.raw ? dync__autograd_ctx_open(context, "dync_save_for_backward")
                                    : NULL;
    if (!ctx) return;
    if (ctx->ready) {
        dync__fail(DYNC_ERR_VALUE, "dync_save_for_backward: forward is over");
        return;
    }
    s.output = -1;
    s.saved.version = s.raw->storage->version;
    if (dync__vec_push(&ctx->saved, s)) dync__ref(s.raw);
}

/* In forward the tensor itself; in backward it again with its history, unless it was written since.
 */
DYNC_API dync_tensor *dync_saved(dync_autograd_ctx *context, int i)
{
    dync__tensor *t = NULL;
    dync__autograd_ctx *ctx = dync__autograd_ctx_open(context, "dync_saved");
    if (!ctx) return NULL;
    if (i < 0 || i >= ctx->saved.n)
        return dync__fail(DYNC_ERR_INDEX,
                          "dync_saved: index %d is out of range: %d tensors were saved", i,
                          ctx->saved.n),
               NULL;
    dync__ctx_saved *s = &ctx->saved.at[i];
    if (!ctx->ready) return dync__handle(s->raw);
    bool own = s->output >= 0;
    dync_status status =
        dync__unsave(&s->saved, own ? ctx->node : s->edge.node, own ? s->output : s->edge.nr,
                     dync__is_float_dtype(s->saved.t ? s->saved.t->dtype : DYNC_F32), &t);
    return status == DYNC_OK ? dync__give(t) : NULL;
}

static void dync__ctx_release(void *state)
{
    dync__autograd_ctx *ctx = state;
    for (int i = 0; i < ctx->saved.n; i++) {
        ctx->lost = true;
        dync__saved_free(&ctx->saved.at[i].saved);
    }
}

/* Also of one that never reached the tape: any part may be missing. */
DYNC__FN void dync__ctx_destroy(void *state)
{
    dync__autograd_ctx *ctx = state;
    dync__object_end(&ctx->object);
    for (int i = 0; i < ctx->saved.n; i++) {
        dync__saved_free(&ctx->saved.at[i].saved);
        dync__unref(ctx->saved.at[i].raw);
        dync__gnode_unref(ctx->saved.at[i].edge.node);
    }
    dync__vec_free(&ctx->saved);
    dync__free(ctx->input, (size_t)ctx->nargs * sizeof *ctx->input + 1);
    dync__free(ctx, sizeof *ctx);
}

/* ---- backward -------------------------------------------------------------------------------- */

DYNC__FN dync_status dync__pending_or(dync_status status)
{
    return dync_error() != DYNC_OK ? dync_error() : status;
}

/* Gradients as values: one that did not arrive is zeros. */
static dync_status dync__ctx_grads(const dync__gnode *node, dync__tensor *const *grad_out,
                                   dync_value *out)
{
    for (int i = 0; i < node->n_out; i++) {
        dync__arg args[3];
        dync__tensor *t = grad_out[i];
        if (!dync__is_float_dtype(node->out[i].dtype)) {
            out[i] = DYNC_NONE;
            continue;
        }
        args[0] = dync__arg_dims(node->out[i].ndim, node->out[i].dims);
        args[1] = dync__arg_dtype(node->out[i].dtype);
        args[2] = dync__arg_device(node->out[i].device);
        if (t)
            dync__ref(t);
        else
            DYNC__TRY(dync__op_run(DYNC__OP_zeros, 3, args, &t));
        out[i] = dync_v_tensor(dync__give(t));
    }
    return DYNC_OK;
}

/* What the user's backward returned, a tensor or a list of nargs items, as gradients of the edges:
 * NONE is no gradient, an item for an argument that is no tensor is not looked at. */
static dync_status dync__ctx_collect(const dync__autograd_ctx *ctx, dync_value result,
                                     const bool *needed, dync__tensor **grad_in)
{
    bool list = result.kind == DYNC_KIND_LIST;
    int n = list ? dync_len(result) : 1;
    if (n != ctx->nargs)
        return dync__fail(
            DYNC_ERR_AUTOGRAD,
            "function %s returned an incorrect number of gradients (expected %d, got %d)",
            ctx->cls.name, ctx->nargs, n);
    for (int i = 0; i < n; i++) {
        dync_value item = list ? (dync_at)(result, i) : result;
        int at = ctx->input[i];
        if (item.kind == DYNC_KIND_NONE || at < 0 || !needed[at]) continue;
        dync__tensor *t = item.kind == DYNC_KIND_TENSOR ? dync__open(item.as.t) : NULL;
        if (!t)
            return dync__fail(DYNC_ERR_VALUE, "function %s: gradient %d is not a tensor",
                              ctx->cls.name, i);
        dync__ref(t);
        grad_in[at] = t;
    }
    return DYNC_OK;
}

/* create_graph needs nothing of its own: the user's backward calls operators, which the tape
 * records. */
static dync_status dync__ctx_backward(void *state, int n_out, dync__tensor *const *grad_out,
                                      int n_in, const bool *needed, dync__tensor **grad_in,
                                      bool create_graph)
{
    dync__autograd_ctx *ctx = state;
    (void)n_in, (void)create_graph;
    if (ctx->lost) return dync__gnode_freed_error();
    dync_value *grads = dync__scope_alloc((size_t)n_out * sizeof *grads + 1);
    if (!grads) return DYNC_ERR_MEMORY;
    DYNC__TRY(dync__ctx_grads(ctx->node, grad_out, grads));
    uint64_t errors = dync__error_count();
    dync_value result = ctx->fn->backward(dync__autograd_ctx_handle(ctx), grads, n_out);
    if (dync__error_count() != errors) return dync__pending_or(DYNC_ERR_RUNTIME);
    return dync__ctx_collect(ctx, result, needed, grad_in);
}

/* Its functions' addresses say what it is: what backward reads of the context are the saved
 * tensors. */
static dync_status dync__ctx_visit(void *state, dync__gvisitor *v)
{
    dync__autograd_ctx *ctx = state;
    if (ctx->lost) return dync__gnode_freed_error();
    v->word(v, (uint64_t)(uintptr_t)ctx->fn);
    v->word(v, (uint64_t)ctx->nargs << 32 | (uint64_t)(unsigned)ctx->saved.n);
    for (int i = 0; i < ctx->nargs; i++) v->word(v, (uint64_t)ctx->input[i]);
    for (int i = 0; i < ctx->saved.n; i++) {
        dync__ctx_saved *s = &ctx->saved.at[i];
        v->word(v, (uint64_t)s->output);
        DYNC__TRY(dync__saved_check(&s->saved, s->output >= 0 ? ctx->node : s->edge.node,
                                    s->output >= 0 ? s->output : s->edge.nr));
        v->saved(v, &s->saved.t, &s->saved.version);
    }
    return DYNC_OK;
}

/* ---- forward --------------------------------------------------------------------------------- */

/* Tensors among the arguments become the node's inputs; lists are not looked into. in: borrowed. */
DYNC__FN dync_status dync__apply_inputs(dync__apply *a, const dync_value *args, bool *wanted)
{
    dync__autograd_ctx *ctx = a->ctx;
    for (int i = 0; i < ctx->nargs; i++) {
        ctx->input[i] = -1;
        if (args[i].kind != DYNC_KIND_TENSOR) continue;
        dync__tensor *t = dync__open(args[i].as.t);
        if (!t) return dync__pending_or(DYNC_ERR_VALUE);
        if (ctx->n_in == DYNC__APPLY_MAX)
            return dync__fail(DYNC_ERR_VALUE, "dync_apply: more than %d tensors", DYNC__APPLY_MAX);
        ctx->input[i] = ctx->n_in;
        a->in[ctx->n_in++] = t;
        *wanted = *wanted || dync__tensor_requires_grad(t);
    }
    return DYNC_OK;
}

/* An output that is one of the inputs becomes another tensor over the same memory: it gets a
 * history of its own. */
static dync_status dync__apply_output(dync__apply *a, dync_value *v)
{
    dync__tensor *t = dync__open(v->as.t), *fresh = NULL;
    bool shared = false;
    if (!t) return dync__pending_or(DYNC_ERR_VALUE);
    if (a->n_out == DYNC__APPLY_MAX)
        return dync__fail(DYNC_ERR_VALUE, "dync_apply: more than %d outputs", DYNC__APPLY_MAX);
    for (int i = 0; i < a->ctx->n_in; i++) shared = shared || a->in[i] == t;
    for (int i = 0; i < a->n_out; i++) shared = shared || a->out[i] == t;
    shared = shared || (t->grad && (t->grad->node || (t->flags & DYNC__T_REQUIRES_GRAD)));
    if (shared) {
        dync__arg arg = dync__arg_t(t);
        DYNC__TRY(dync__op_run(DYNC__OP_detach, 1, &arg, &fresh));
        dync__ref(fresh);
        v->as.t = dync__give(fresh);
        t = fresh;
    } else {
        dync__ref(t);
    }
    a->out[a->n_out++] = t;
    return DYNC_OK;
}

/* *result becomes a new list: outputs may be replaced, and forward's own list is not touched. */
static dync_status dync__apply_outputs(dync__apply *a, dync_value *result)
{
    if (result->kind == DYNC_KIND_TENSOR) return dync__apply_output(a, result);
    if (result->kind != DYNC_KIND_LIST)
        return dync__fail(DYNC_ERR_VALUE, "dync_apply: forward of %s returned no tensor",
                          a->ctx->fn->name);
    dync_value list = dync__list_new(dync_len(*result));
    if (list.kind != DYNC_KIND_LIST) return DYNC_ERR_MEMORY;
    for (int i = 0; i < dync_len(*result); i++) {
        dync_value item = dync_at(*result, i);
        if (item.kind == DYNC_KIND_TENSOR) DYNC__TRY(dync__apply_output(a, &item));
        dync__list_set(list, i, item);
    }
    *result = list;
    return DYNC_OK;
}

/* Saved tensors lose their own history for the edge it would have. */
static dync_status dync__ctx_seal(dync__apply *a)
{
    dync__autograd_ctx *ctx = a->ctx;
    for (int i = 0; i < ctx->saved.n; i++) {
        dync__ctx_saved *s = &ctx->saved.at[i];
        uint32_t version = s->saved.version;
        for (int k = 0; k < a->n_out; k++)
            if (a->out[k] == s->raw) s->output = k;
        if (s->output < 0) DYNC__TRY(dync__grad_edge(s->raw, &s->edge));
        DYNC__TRY(dync__save(&s->saved, s->raw, s->output >= 0));
        s->saved.version = version;
        dync__unref(s->raw);
        s->raw = NULL;
    }
    ctx->ready = true;
    return DYNC_OK;
}

/* Once sealed the context belongs to the tape, on failure too: a->ctx NULL says so. The outputs
 * know the node that was made; its context, which is its state, learns it from them. */
static dync_status dync__apply_attach(dync__apply *a)
{
    dync__autograd_ctx *ctx = a->ctx;
    DYNC__TRY(dync__ctx_seal(a));
    a->ctx = NULL; /* the tape owns it now */
    DYNC__TRY(dync__tape_attach(&ctx->cls, ctx, ctx->n_in, a->in, a->n_out, a->out, NULL));
    for (int i = 0; i < a->n_out; i++)
        if (a->out[i]->grad && a->out[i]->grad->node) ctx->node = a->out[i]->grad->node;
    return DYNC_OK;
}

/* forward in a scope of its own, of which the result is kept, without grad mode. An error that the
 * user's function recorded is the call's, whatever it returned. */
static dync_status dync__apply_forward(dync__apply *a, const dync_value *args, bool wanted,
                                       dync_value *result)
{
    bool off = dync__grad_is_off();
    uint64_t errors = dync__error_count();
    dync_scope scope = dync_scope_begin();
    dync__grad_off(true);
    *result = a->ctx->fn->forward(dync__autograd_ctx_handle(a->ctx), args, a->ctx->nargs);
    dync_status status = dync__error_count() != errors ? dync__pending_or(DYNC_ERR_RUNTIME)
                                                       : dync__apply_outputs(a, result);
    dync__grad_off(off);
    if (status == DYNC_OK && wanted && !off) status = dync__apply_attach(a);
    if (status != DYNC_OK) *result = DYNC_NONE;
    dync__scope_end_keep(&scope, result);
    return status;
}

/* A class for each call, since it carries the function's name. NULL: no memory. */
DYNC__FN dync__autograd_ctx *dync__ctx_new(const dync_autograd_function *fn, int nargs)
{
    char name[96];
    dync__autograd_ctx *ctx = dync__calloc(sizeof *ctx);
    if (!ctx) return NULL;
    ctx->fn = fn;
    ctx->nargs = nargs;
    ctx->input = dync__calloc((size_t)nargs * sizeof *ctx->input + 1);
    dync__format(name, sizeof name, "%sBackward", fn->name ? fn->name : "Function");
    ctx->cls.name = dync__intern(name);
    ctx->cls.backward = dync__ctx_backward;
    ctx->cls.release = dync__ctx_release;
    ctx->cls.destroy = dync__ctx_destroy;
    ctx->cls.visit = dync__ctx_visit;
    if (ctx->input && ctx->cls.name) return ctx;
    dync__ctx_destroy(ctx);
    return NULL;
}

DYNC__FN dync_value dync__apply_run(const dync_autograd_function *fn, int nargs,
                                    const dync_value *args)
{
    dync__apply a = {0};
    dync_value result = DYNC_NONE;
    bool wanted = false;
    DYNC__NEEDS(DYNC_NO_AUTOGRAD, "dync_apply", result);
    if (!fn || !fn->forward || !fn->backward || nargs < 0 || (nargs > 0 && !args)) {
        dync__fail(DYNC_ERR_VALUE, "dync_apply: expected a function with forward and backward, "
                                   "and its arguments");
        return result;
    }
    a.ctx = dync__ctx_new(fn, nargs);
    if (a.ctx && dync__apply_inputs(&a, args, &wanted) == DYNC_OK)
        dync__apply_forward(&a, args, wanted, &result);
    for (int i = 0; i < a.n_out; i++) dync__unref(a.out[i]);
    if (a.ctx) dync__ctx_destroy(a.ctx);
    return result;
}
