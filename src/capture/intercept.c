/* capture/intercept.c: what a traced function does besides operators: reads of values, breaks,
 * frames, guards on globals, grad mode, backward. Installed into the hooks of op/ and autograd/.
 * After cut.c.
 *
 * An opaque read or call cuts the graph, works on the real tensors as if no trace were open, and
 * the trace goes on. */
#include "../dync.in.h"
#include "trace.h"

DYNC__FN dync__tracer *dync__tracing(void)
{
    return dync__tls.compiling ? dync__tracer_current() : NULL;
}
DYNC__FN dync__tracer *dync__tracing_or_replay(void)
{
    return dync__tls.compiling ? dync__tracer_peek() : NULL;
}

/* The real tensor behind a handle of traced code, after a cut. */
static dync_tensor *dync__real_handle(dync__tracer *t, const dync_tensor *h)
{
    dync__tensor *x = dync__open(h);
    if (!x || !(x = dync__tracer_adopt(t, x)) || !(x = dync__trace_real(t, x))) return NULL;
    return dync__handle(x);
}

static dync_tensor *dync__real_tensor(void *user, dync_tensor *h)
{
    return dync__real_handle(user, h);
}
DYNC__FN dync_value dync__real_value(dync__tracer *t, dync_value v)
{
    return dync__value_map(v, dync__real_tensor, t);
}

/* Cuts for an opaque read of h; NULL when it was refused or failed (recorded). */
static dync_tensor *dync__opaque_read(dync__tracer *t, const dync_tensor *h, const char *reason,
                                      const char *fullgraph_text)
{
    if (dync__tls.at.file) t->last_at = dync__tls.at;
    if (!dync__open(h) || dync__trace_break(t, reason, fullgraph_text) != DYNC_OK) return NULL;
    return dync__real_handle(t, h);
}

/* ---- values read ----------------------------------------------------------------------------- */
static bool dync__branch_on(const dync_tensor *h, bool as_bool, int64_t *out)
{
    dync__tracer *t = dync__tracing_or_replay();
    dync__tensor *x = dync__open(h);
    if (dync__tls.at.file) t->last_at = dync__tls.at;
    *out = 0;
    if (!x || !(x = dync__tracer_adopt(t, x))) return true;
    if (x->numel != 1) {
        dync__fail(
            DYNC_ERR_VALUE,
            as_bool ? "Boolean value of Tensor with more than one value "
                      "is ambiguous (%lld elements)"
                    : "a Tensor with %lld elements cannot be converted to Scalar: select one, or "
                      "read them through dync_data",
            (long long)x->numel);
        return true;
    }
    dync__trace_branch(t, x, as_bool, out);
    return true;
}

static bool dync__read_truth(const dync_tensor *h, bool *result)
{
    if (!dync__tracing_or_replay()) return false;
    int64_t v;
    dync__branch_on(h, true, &v);
    *result = v != 0;
    return true;
}

static bool dync__read_item(const dync_tensor *h, double *result)
{
    dync__tracer *t = dync__tracing_or_replay();
    if (!t) return false;
    const dync__tensor *x = dync__peek(h);
    if (x && dync__dtype_info(x->dtype)->kind != 'f') {
        int64_t v;
        dync__branch_on(h, false, &v);
        *result = (double)v;
        return true;
    }
    dync_tensor *real = dync__opaque_read(t, h, "Tensor.item", NULL);
    dync__trace_pause pause = dync__trace_pause_begin(t);
    *result = real ? (dync_item)(real) : (double)NAN;
    dync__trace_pause_end(t, pause);
    return true;
}

static bool dync__read_data(const dync_tensor *h, void **result)
{
    dync__tracer *t = dync__tracing_or_replay();
    if (!t) return false;
    *result = NULL;
    if (t->fn->opt.fullgraph) {
        dync__fail_no_data();
        dync__tracer_fail(t, DYNC_ERR_DATA_PTR);
        return true;
    }
    dync_tensor *real = dync__opaque_read(t, h, "Tensor.data_ptr", NULL);
    dync__script_may_write(t);
    dync__trace_pause pause = dync__trace_pause_begin(t);
    *result = real ? dync_data(real) : NULL;
    dync__trace_pause_end(t, pause);
    return true;
}

static const char *const dync__print_refused =
    "builtin: print [<class 'torch._dynamo.variables.constant.ConstantVariable'>] False";

static bool dync__read_print(const dync_tensor *h)
{
    dync__tracer *t = dync__tracing_or_replay();
    if (!t) return false;
    dync_tensor *real = dync__opaque_read(t, h, "print", dync__print_refused);
    dync__trace_pause pause = dync__trace_pause_begin(t);
    if (real) dync_print(real);
    dync__trace_pause_end(t, pause);
    return true;
}

static bool dync__read_str(const dync_tensor *h, char **result)
{
    dync__tracer *t = dync__tracing_or_replay();
    if (!t) return false;
    dync_tensor *real = dync__opaque_read(t, h, "Tensor.__repr__", NULL);
    dync__trace_pause pause = dync__trace_pause_begin(t);
    *result = real ? (dync_str)(real) : NULL;
    dync__trace_pause_end(t, pause);
    return true;
}

static bool dync__same_shape(const dync__tensor *a, const dync__tensor *b)
{
    return a && b && a->lay.ndim == b->lay.ndim &&
           dync__sz_same(a->lay.ndim, a->lay.shape, b->lay.shape);
}

static bool dync__read_equal(const dync_tensor *a, const dync_tensor *b, bool *result)
{
    if (!dync__tracing_or_replay()) return false;
    dync__tensor *x = dync__open(a), *y = dync__open(b);
    *result = false;
    if (!dync__same_shape(x, y)) return true;
    *result = (dync_bool)(dync_all((dync_eq)(dync_v_const_tensor(a), dync_v_const_tensor(b)),
                                   DYNC_ALL, false));
    return true;
}

static bool dync__read_allclose(const dync_tensor *a, const dync_tensor *b, double rtol,
                                double atol, bool *result)
{
    if (!dync__tracing_or_replay()) return false;
    dync__tensor *x = dync__open(a), *y = dync__open(b);
    *result = false;
    if (!x || !y) return true;
    dync_tensor *bound =
        (dync_add)(dync_v_tensor(
                       (dync_mul)(dync_v_tensor((dync_abs)(dync__handle(y))), dync_v_float(rtol))),
                   dync_v_float(atol));
    dync_tensor *gap = (dync_abs)((dync_sub)(dync_v_const_tensor(a), dync_v_const_tensor(b)));
    dync_tensor *close =
        (dync_logical_or)(dync_v_tensor((dync_le)(dync_v_tensor(gap), dync_v_tensor(bound))),
                          dync_v_tensor((dync_eq)(dync_v_const_tensor(a), dync_v_const_tensor(b))));
    *result = (dync_bool)(dync_all(close, DYNC_ALL, false));
    return true;
}

static bool dync__read_from(const dync_make_from *m, bool borrow, dync_tensor **result)
{
    dync__tracer *t = dync__tracing_or_replay();
    if (!t) return false;
    *result = NULL;
    if (dync__trace_break(t, borrow ? "torch.from_blob" : "torch.tensor",
                          borrow ? "torch.from_blob: dync_wrap reads memory that the graph "
                                   "cannot know; pass the tensor as an argument"
                                 : "torch.tensor: dync_from reads memory that the graph cannot "
                                   "know; pass the tensor as an argument, or "
                                   "bake the data in with dync_constant") != DYNC_OK)
        return true;
    dync__trace_pause pause = dync__trace_pause_begin(t);
    *result = borrow ? dync_wrap_opt(*m) : dync_from_opt(*m);
    dync__trace_pause_end(t, pause);
    return true;
}

/* A real tensor becomes an attribute of the graph; its fake, in the scope. NULL + error. */
DYNC__FN dync_tensor *dync__trace_bake(dync__tracer *t, dync__tensor *real)
{
    dync__layout lay = real->lay;
    dync__tensor *fake = dync__tensor_fake(real->dtype, real->device, &lay);
    dync__node *n = fake && dync__tracer_graph(t) ? dync__graph_constant(t->rec.graph, real) : NULL;
    if (n) {
        n->env = -1;
        t->rec.pending++;
        fake->trace_id = t->id;
        fake->node = n;
        dync__ref(fake);
    }
    if (!n || !dync__vec_push(&t->rec.made, fake)) {
        if (n) dync__unref(fake);
        dync__unref(fake);
        dync__tracer_fail(t, dync__fail_memory(0));
        return NULL;
    }
    dync__lint_constant(t, real, fake);
    return dync__give(fake);
}

/* dync_constant: the data are baked into the graph as an attribute. */
static bool dync__read_constant(const dync_make_from *m, dync_tensor **result)
{
    dync__tracer *t = dync__tracing();
    if (!t) return false;
    *result = NULL;
    dync__trace_pause pause = dync__trace_pause_begin(t);
    dync__tensor *real = dync__open(dync_from_opt(*m));
    dync__trace_pause_end(t, pause);
    if (real) *result = dync__trace_bake(t, real);
    return true;
}

static void dync__read_opaque_end(void *tracer)
{
    dync__trace_pause_end(tracer, ((dync__tracer *)tracer)->resting);
}
static bool dync__read_opaque(const char *reason, int n, dync_value *values, dync__opaque *out)
{
    dync__tracer *t = dync__tracing_or_replay();
    if (!t) return true;
    if (dync__tls.at.file) t->last_at = dync__tls.at;
    uint64_t errors = dync__error_count();
    if (t->stopped || dync__trace_break(t, reason, NULL) != DYNC_OK) return false;
    for (int i = 0; i < n; i++) values[i] = dync__real_value(t, values[i]);
    if (dync__error_count() != errors) return false;
    dync__script_may_write(t);
    t->resting = dync__trace_pause_begin(t);
    *out = (dync__opaque){dync__read_opaque_end, t};
    return true;
}

static const dync__read_intercept *dync__capture_reads(void)
{
    static const dync__read_intercept reads = {.item = dync__read_item,
                                               .truth = dync__read_truth,
                                               .data = dync__read_data,
                                               .print = dync__read_print,
                                               .str = dync__read_str,
                                               .equal = dync__read_equal,
                                               .allclose = dync__read_allclose,
                                               .from = dync__read_from,
                                               .constant = dync__read_constant,
                                               .opaque = dync__read_opaque};
    return dync__tracing_or_replay() ? &reads : NULL;
}

/* ---- autograd inside traced code: opaque, on the real tensors -------------------------------- */

/* Backward under fullgraph is part of the graph: the trace begins again under the tape, whose nodes
 * it needs. */
static bool dync__trace_wants_tape(dync__tracer *t)
{
    if (!t->fn->opt.fullgraph || t->tape.on) return false;
    t->tape.restart = t->stopped = true;
    return true;
}

static bool dync__trace_backward(dync_value outputs, dync_value grads, dync_grad_options opt,
                                 dync_status *status)
{
    dync__tracer *t = dync__tracing_or_replay();
    if (!t || t->tape.walking) return false;
    *status = DYNC_ERR_RUNTIME;
    if (t->stopped || dync__trace_wants_tape(t)) return true;
    if (t->tape.on) return dync__taped_backward(t, outputs, grads, opt, status);
    *status = dync__trace_break(t, "Tensor.backward", NULL);
    if (*status != DYNC_OK) return true;
    dync_value o = dync__real_value(t, outputs), g = dync__real_value(t, grads);
    dync__script_may_write(t);
    dync__trace_pause pause = dync__trace_pause_begin(t);
    *status = dync_backward_opt(o, g, opt);
    dync__trace_pause_end(t, pause);
    return true;
}

static bool dync__trace_gradients(dync_value outputs, dync_value inputs, dync_value grads,
                                  dync_grad_options opt, dync_value *result)
{
    dync__tracer *t = dync__tracing_or_replay();
    if (!t || t->tape.walking) return false;
    *result = DYNC_NONE;
    if (t->stopped || dync__trace_wants_tape(t)) return true;
    if (t->tape.on) {
        *result = dync__taped_gradients(t, outputs, inputs, grads, opt);
        return true;
    }
    if (dync__trace_break(t, "torch.autograd.grad", NULL) != DYNC_OK) return true;
    dync_value o = dync__real_value(t, outputs), i = dync__real_value(t, inputs),
               g = dync__real_value(t, grads);
    dync__script_may_write(t);
    dync__trace_pause pause = dync__trace_pause_begin(t);
    *result = dync_gradients(o, i, g, opt);
    dync__trace_pause_end(t, pause);
    return true;
}

/* The fake that a handle of traced code stands for; NULL + error. */
static dync__tensor *dync__trace_fake(dync__tracer *t, const dync_tensor *h)
{
    dync__tensor *x = t->stopped ? NULL : dync__open(h);
    return x ? dync__tracer_adopt(t, x) : NULL;
}

static bool dync__trace_grad(const dync_tensor *h, bool captured, dync_tensor **result)
{
    dync__tracer *t = captured ? dync__tracing() : dync__tracing_or_replay();
    dync__tensor *grad = NULL;
    if (!t) return false;
    *result = NULL;
    if (captured || t->fn->opt.fullgraph) {
        dync__tensor *x = dync__trace_fake(t, h);
        dync_status status = x ? dync__trace_grad_of(t, x, &grad) : DYNC_OK;
        if (status != DYNC_OK)
            dync__tracer_fail(t, status);
        else if (grad)
            *result = dync__handle(grad);
        return true;
    }
    dync_tensor *real = dync__opaque_read(t, h, "Tensor.grad", NULL);
    dync__script_may_write(t);
    dync__trace_pause pause = dync__trace_pause_begin(t);
    *result = real ? dync_grad(real) : NULL;
    dync__trace_pause_end(t, pause);
    return true;
}

static bool dync__trace_set_grad(dync_tensor *h, dync_tensor *grad)
{
    dync__tracer *t = dync__tracing();
    if (!t) return false;
    dync__tensor *x = dync__trace_fake(t, h), *g = x && grad ? dync__trace_fake(t, grad) : NULL;
    if (!x || (grad && !g)) return true;
    dync_status status = dync__trace_grad_set(t, x, g ? dync__taped_value(t, g) : NULL);
    if (status != DYNC_OK) dync__tracer_fail(t, status);
    return true;
}

/* Backward inside the graph comes to a leaf: its gradient so far enters the trace. */
static bool dync__trace_accumulate(dync__tensor *leaf, dync_status *status)
{
    dync__tracer *t = dync__tracing();
    dync__tensor *grad;
    if (!t || !dync__tracer_owns(t, leaf)) return false;
    const dync__tensor *real = leaf->node ? NULL : t->env.real.at[leaf->node_output];
    if (real && !dync__tensor_is_leaf(real))
        *status = dync__fail(
            DYNC_ERR_UNSUPPORTED,
            "backward inside a function compiled with fullgraph came to a tensor that was "
            "computed outside "
            "(by %s): detach it before the call, or take its gradient with dync_gradients",
            real->op ? real->op : "?");
    else
        *status = dync__trace_grad_of(t, leaf, &grad);
    return true;
}

DYNC__FN bool dync__too_many(const char *what, int nargs)
{
    if (nargs <= DYNC__MAX_LEAVES) return false;
    dync__fail(DYNC_ERR_VALUE, "%s: expected at most %d arguments inside a traced function, got %d",
               what, DYNC__MAX_LEAVES, nargs);
    return true;
}

/* A custom function: its forward runs really, its node hangs in the caller's autograd graph. */
static bool dync__trace_apply(const dync_autograd_function *fn, int nargs, const dync_value *args,
                              dync_value *result)
{
    dync__tracer *t = dync__tracing_or_replay();
    dync_value real[DYNC__MAX_LEAVES];
    char reason[128];
    if (!t) return false;
    *result = DYNC_NONE;
    if (t->stopped) return true;
    if (t->fn->opt.fullgraph && !t->tape.on && dync__apply_traced(fn, nargs, args, result))
        return true;
    if (dync__trace_wants_tape(t)) return true;
    if (t->tape.on) return dync__taped_apply(t, fn, nargs, args, result);
    dync__format(reason, sizeof reason, "torch.autograd.Function %s", fn->name ? fn->name : "?");
    if (dync__too_many(reason, nargs) || dync__trace_break(t, reason, NULL) != DYNC_OK) return true;
    for (int i = 0; i < nargs; i++) real[i] = dync__real_value(t, args[i]);
    dync__script_may_write(t);
    dync__trace_pause pause = dync__trace_pause_begin(t);
    *result = dync_apply_values(fn, nargs, real);
    dync__trace_pause_end(t, pause);
    return true;
}

/* A value that its own graph has used: where one node of the tape stands for that graph, the
 * gradients from in there pass a hook by. */
typedef struct dync__used_in {
    const dync__node *node;
    int uses;
} dync__used_in;
static void dync__used_inside_count(void *user, dync__arg *a)
{
    dync__used_in *u = user;
    u->uses += a->as.node == u->node;
}
static bool dync__used_inside(const dync__tracer *t, int env)
{
    const dync__origin *o = &t->env.origin.at[env];
    if (!o->seg || o->seg->code.run != dync__raw_run) return false;
    const dync__graph *g = o->seg->graph;
    dync__used_in u = {g->node.at[g->node.n - 1]->args[0].as.list[o->out].as.node, 0};
    for (int i = 0; i + 1 < g->node.n; i++)
        dync__node_each_input(g->node.at[i], dync__used_inside_count, &u);
    return u.uses > 0;
}

static bool dync__hook_late(dync__tracer *t, int env)
{
    if (!dync__used_inside(t, env)) return false;
    dync__tracer_fail(t, dync__fail(DYNC_ERR_UNSUPPORTED, "a hook on a value that was used "
                                                          "before the last graph break: register "
                                                          "it where the value is made"));
    return true;
}

/* An effect on a value as it is now. One of the graph leaves it before anything later uses it, and
 * one that the graph has written after that: no break. false: refused, or the trace begins
 * again. */
static bool dync__trace_on_value(dync__tracer *t, dync__tensor *x, dync__effect e)
{
    int env = dync__effect_env(t, x);
    if (env < 0 || dync__tracer_written(t, x))
        return !dync__trace_wants_tape(t) && dync__tracer_split(t, x, &e) == DYNC_OK &&
               dync__effect_env(t, x) >= 0;
    return !dync__hook_late(t, env) && dync__effect_add(t, true, e, x) == DYNC_OK;
}

static bool dync__trace_expose(const dync_tensor *h)
{
    dync__tracer *t = dync__tracing();
    if (!t || t->tape.walking || t->fn->opt.fullgraph) return true;
    dync__tensor *x = dync__trace_fake(t, h);
    int env = x ? dync__effect_env(t, x) : -1;
    return x && (env < 0 || dync__tracer_written(t, x) ? dync__tracer_split(t, x, NULL) == DYNC_OK
                                                       : !dync__hook_late(t, env));
}

/* Registered on the real tensor in every call; in backward over fakes it is part of the graph. */
static bool dync__trace_hook(dync_tensor *h, dync_hook fn, void *user, int *id)
{
    dync__tracer *t = dync__tracing();
    if (!t || t->tape.walking) return false;
    dync__tensor *x = dync__trace_fake(t, h);
    dync__effect e = {.kind = DYNC__DO_HOOK, .fn = fn, .user = user, .id = dync__hook_reserve()};
    *id = -1;
    if (!x) return true;
    if (!(x->flags & DYNC__T_REQUIRES_GRAD)) {
        dync__fail(DYNC_ERR_AUTOGRAD, "cannot register a hook on a tensor that doesn't require "
                                      "gradient");
        return true;
    }
    dync_status status = t->tape.on ? dync__hook_register(x, fn, user, e.id) : DYNC_OK;
    if (t->tape.on && dync__effect_env(t, x) < 0)
        t->tape.inner = "a hook on a value";
    else if (t->tape.on)
        status = status == DYNC_OK ? dync__effect_add(t, false, e, x) : status;
    else if (!dync__trace_on_value(t, x, e))
        return true;
    if (status != DYNC_OK)
        dync__tracer_fail(t, status);
    else
        *id = e.id;
    return true;
}

static bool dync__trace_remove_hook(dync_tensor *h, int id)
{
    dync__tracer *t = dync__tracing();
    if (!t || t->stopped) return false;
    bool waiting = dync__effect_cancel(t, id), absent = waiting;
    if (t->tape.on) return false; /* the fake has it too */
    dync__tensor *x = waiting ? NULL : dync__trace_fake(t, h);
    dync_status status = x ? dync__effect_hook_absent(t, x, id, &absent) : DYNC_OK;
    if (status != DYNC_OK) dync__tracer_fail(t, status);
    if (absent || !x) return true;
    dync_tensor *real = dync__opaque_read(t, h, "Tensor.remove_hook", NULL);
    dync__trace_pause pause = dync__trace_pause_begin(t);
    if (real) dync_remove_hook(real, id);
    dync__trace_pause_end(t, pause);
    return true;
}

static bool dync__trace_retain_grad(dync_tensor *h, dync_status *status)
{
    dync__tracer *t = dync__tracing();
    dync__effect e = {.kind = DYNC__DO_RETAIN_GRAD};
    dync__tensor *grad, *x = t ? dync__trace_fake(t, h) : NULL;
    if (!t || !x || !(x->flags & DYNC__T_REQUIRES_GRAD)) return false;
    if (t->tape.on) {
        if (dync__effect_env(t, x) < 0) t->tape.inner = "dync_retain_grad";
        *status = dync__trace_grad_of(t, x, &grad);
        return *status != DYNC_OK;
    }
    *status = DYNC_ERR_RUNTIME;
    if (dync__trace_on_value(t, x, e)) *status = DYNC_OK;
    return true;
}

static bool dync__trace_is_leaf(const dync_tensor *h, bool *leaf)
{
    dync__tracer *t = dync__tracing();
    dync__tensor *x = t ? dync__trace_fake(t, h) : NULL;
    if (!x || t->tape.on) return false;
    const dync__tensor *real = x->node ? NULL : t->env.real.at[x->node_output];
    *leaf = real ? dync__tensor_is_leaf(real) && !(x->flags & DYNC__T_WRITTEN)
                 : !(x->flags & DYNC__T_REQUIRES_GRAD);
    return true;
}

static dync_status dync__requires_grad_refused(const dync__tracer *t, const dync__tensor *x,
                                               bool on)
{
    int env = dync__effect_env(t, x);
    bool leaf = t->tape.on                        ? dync__tensor_is_leaf(x)
                : env >= 0 && t->env.real.at[env] ? dync__tensor_is_leaf(t->env.real.at[env])
                                                  : on;
    if (on && dync__dtype_info(x->dtype)->kind != 'f')
        return dync__fail(DYNC_ERR_DTYPE,
                          "only Tensors of floating point dtype can require gradients");
    if (on || leaf) return DYNC_OK;
    return dync__fail(DYNC_ERR_AUTOGRAD, "you can only change requires_grad flags of leaf "
                                         "variables. If you want to use a computed variable in a "
                                         "subgraph that doesn't require differentiation use "
                                         "var_no_grad = dync_detach(var).");
}

/* Switched on the real tensor before what comes now is run. A tensor in use already leaves its
 * graph first; under the tape what was recorded keeps its own history, so there it is switched at
 * the end. */
static bool dync__trace_requires_grad_(dync_tensor *h, bool on, dync_tensor **result)
{
    dync__tracer *t = dync__tracing();
    if (!t) return false;
    dync__tensor *x = dync__trace_fake(t, h);
    dync__effect e = {.kind = DYNC__DO_REQUIRES_GRAD, .on = on};
    bool same = x && ((x->flags & DYNC__T_REQUIRES_GRAD) != 0) == on;
    *result = same ? h : NULL;
    if (!x || same || dync__requires_grad_refused(t, x, on) != DYNC_OK) return true;
    int env = dync__effect_env(t, x);
    if (!t->tape.on && (env < 0 || t->env.holder.at[env]) &&
        (dync__trace_wants_tape(t) || dync__tracer_split(t, x, NULL) != DYNC_OK))
        return true;
    dync_status status = dync__effect_add(t, !t->tape.on, e, x);
    dync__tensor_set_requires_grad(x, on);
    if (status != DYNC_OK)
        dync__tracer_fail(t, status);
    else
        *result = h;
    return true;
}

static const dync__grad_intercept *dync__capture_grads(void)
{
    static const dync__grad_intercept grads = {.backward = dync__trace_backward,
                                               .gradients = dync__trace_gradients,
                                               .grad = dync__trace_grad,
                                               .accumulate = dync__trace_accumulate,
                                               .set_grad = dync__trace_set_grad,
                                               .apply = dync__trace_apply,
                                               .hook = dync__trace_hook,
                                               .expose = dync__trace_expose,
                                               .remove_hook = dync__trace_remove_hook,
                                               .retain_grad = dync__trace_retain_grad,
                                               .is_leaf = dync__trace_is_leaf,
                                               .requires_grad_ = dync__trace_requires_grad_,
                                               .cell_get = dync__trace_cell_get,
                                               .cell_set = dync__trace_cell_set};
    return dync__tracing_or_replay() ? &grads
           : dync__verify_inside()   ? dync__verify_intercept()
                                     : NULL;
}

/* ---- modules --------------------------------------------------------------------------------- */
/* The text of a variable, for G['text']; an expression is none. */
static const char *dync__module_variable(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    return text && *text && strspn(text, letters) == strlen(text) && !(*text >= '0' && *text <= '9')
               ? text
               : NULL;
}

static void dync__capture_module_touched(dync__module *m)
{
    const char *text = dync__module_variable(dync__tls.module_text);
    dync__tls.module_text = NULL; /* it is this module's, or nobody's */
    dync__tracer *t = dync__tracing_or_replay();
    if (!t || !t->on_tree || t->stopped) return;
    dync__cache_entry *e = t->entry;
    for (int i = 0; i < e->modules.n; i++)
        if (e->modules.at[i].module == m) return;
    dync__module_guard g = {m, m->id, m->version, text};
    if (!dync__entry_push(e, &e->modules, g)) dync__tracer_fail(t, DYNC_ERR_MEMORY);
}

DYNC__FN void dync__capture_install(void)
{
    DYNC__ATOMIC_STORE(&dync__read_intercept_get, dync__capture_reads);
    DYNC__ATOMIC_STORE(&dync__grad_intercept_get, dync__capture_grads);
    DYNC__ATOMIC_STORE(&dync__module_touched, dync__capture_module_touched);
    dync__numbers_install();
    DYNC__ATOMIC_STORE(&dync__graph_custom_call, dync__allowed_run);
}

/* ---- breaks, guards, frames: public ---------------------------------------------------------- */
DYNC_API bool dync_is_compiling(void) { return dync__tls.compiling; }

DYNC_API void dync_graph_break_at(const char *reason, dync_loc at)
{
    dync__tracer *t = dync__tracing_or_replay();
    if (!t) return;
    t->last_at = at;
    t->own_reason = reason;
    dync__trace_break(t, reason ? reason : "graph_break",
                      "'skip function graph_break in file _dynamo/decorators.py'");
    t->own_reason = NULL;
}
DYNC_API void(dync_graph_break)(const char *reason) { dync_graph_break_at(reason, DYNC_NOWHERE); }

/* The reads with the user's line, so that errors and breaks name it. */
DYNC_API double dync_item_at(dync_tensor *x, dync_loc at)
{
    dync_loc before = dync__tls.at;
    dync__tls.at = at;
    double r = (dync_item)(x);
    dync__tls.at = before;
    return r;
}
DYNC_API bool dync_bool_at(dync_tensor *x, dync_loc at)
{
    dync_loc before = dync__tls.at;
    dync__tls.at = at;
    bool r = (dync_bool)(x);
    dync__tls.at = before;
    return r;
}

DYNC_API void dync_host_print_at(const char *text, dync_loc at)
{
    dync__tracer *t = dync__tracing_or_replay();
    if (t && at.file) t->last_at = at;
    if (t && dync__trace_break(t, "print", dync__print_refused) != DYNC_OK) return;
    dync__out(text ? text : "(null)");
    dync__out("\n");
}
DYNC_API void(dync_host_print)(const char *text) { dync_host_print_at(text, DYNC_NOWHERE); }

DYNC_API void dync_guard_int(const char *global_name, const int64_t *address)
{
    dync__tracer *t = dync__tracing_or_replay();
    if (!address) {
        dync__fail(DYNC_ERR_VALUE, "dync_guard_int: the address is NULL");
        return;
    }
    if (!t || !t->on_tree) return;
    dync__cache_entry *e = t->entry;
    for (int i = 0; i < e->ints.n; i++)
        if (e->ints.at[i].address == address) return;
    dync__int_guard g = {dync__arena_strdup(&e->arena, global_name ? global_name : "?"), address,
                         *address};
    if (!g.name || !dync__entry_push(e, &e->ints, g)) dync__tracer_fail(t, DYNC_ERR_MEMORY);
}

/* The variable is re-read by every call: its tensor enters the environment from there. */
DYNC_API void dync_guard_tensor(const char *global_name, dync_tensor **address)
{
    dync__tracer *t = dync__tracing_or_replay();
    dync__tensor *real = address ? dync__open(*address) : NULL;
    if (!address) dync__fail(DYNC_ERR_VALUE, "dync_guard_tensor: the address is NULL");
    if (!t || !t->on_tree || !real || dync__tracer_owns(t, real)) return;
    const char *source =
        dync__arena_printf(&t->entry->arena, "G['%s']", global_name ? global_name : "?");
    if (!source || t->way->foreign(t, real, address, source) < 0)
        dync__tracer_fail(t, DYNC_ERR_MEMORY);
}
