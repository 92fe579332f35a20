/* capture/step.c: backward inside a trace: a whole training step as one graph. After handler.c,
 * before result.c.
 *
 * A function compiled with fullgraph that comes to a backward is traced again under the tape: the
 * stack's handler only takes arguments into the trace and hands the call to the tape, which expands
 * what has no gradient rule and sits on the recorder at the bottom. The engine then walks over
 * fakes, its operators are nodes like any other, and what it adds into .grad is an effect
 * (effects.c).
 *
 *   C function -> dync__taped_call: adopt -> tape -> dync__taped_record: infer, node
 *
 * Where nothing that leaves the graph has a history left to walk, the whole runs without grad mode:
 * one graph for inference. */
#include "../dync.in.h"
#include "trace.h"
DYNC__COLD

static dync_status dync__taped_call(dync__handler *self, dync__opcall *c)
{
    dync__tracer *t = self->state;
    dync__number *operand[DYNC__MAX_ARGS];
    if (dync__row_sets_grad_mode(c->row)) return dync__record_grad_mode(t, c);
    DYNC__TRY(dync__tracer_enter(t, c));
    if (t->symbols.number.n) dync__number_operands(t, c, operand);
    /* begins in the mode of now: the tape switches it off */
    if (!dync__tracer_graph(t)) return dync__tracer_fail(t, DYNC_ERR_MEMORY);
    return dync__tape_hook(c);
}

static dync_status dync__taped_record(dync__handler *self, dync__opcall *c)
{
    dync__tracer *t = self->state;
    if (t->stopped) return t->status != DYNC_OK ? t->status : DYNC_ERR_RUNTIME;
    return dync__tracer_answer(t, c);
}

DYNC__FN void dync__taped_open(dync__tracer *t)
{
    t->tape.on = true;
    t->handler.call = dync__taped_call;
    t->tape.recorder.call = dync__taped_record;
    t->tape.recorder.state = t;
    t->tape.bottom_before = dync__bottom_swap(&t->tape.recorder);
}

DYNC__OFTEN DYNC__FN void dync__taped_close(dync__tracer *t)
{
    if (t->tape.on) dync__bottom_swap(t->tape.bottom_before);
}

/* What the tape saved is an alias with the node of the value. */
DYNC__FN dync__tensor *dync__taped_value(dync__tracer *t, dync__tensor *x)
{
    if (!t->tape.on) return x;
    if (!x->node) return t->env.fake.at[x->node_output];
    for (int i = t->rec.made.n - 1; i >= 0; i--)
        if (t->rec.made.at[i] == x) return x;
    for (int i = t->rec.made.n - 1; i >= 0; i--)
        if (t->rec.made.at[i]->node == x->node) return t->rec.made.at[i];
    return x;
}

/* ---- walking --------------------------------------------------------------------------------- */
static dync_tensor *dync__taped_fake(void *user, dync_tensor *h)
{
    dync__tensor *x = dync__open(h);
    return x && (x = dync__tracer_adopt(user, x)) ? dync__handle(x) : NULL;
}

static dync_tensor *dync__taped_result(void *user, dync_tensor *h)
{
    dync__tensor *x = dync__open(h);
    return x ? dync__handle(dync__taped_value(user, x)) : NULL;
}

typedef struct dync__taped_walk {
    bool mode, walking;
} dync__taped_walk;
static dync__taped_walk dync__taped_begin(dync__tracer *t, dync_grad_options opt)
{
    dync__taped_walk w = {!dync__grad_is_off(), t->tape.walking};
    t->tape.walking = t->tape.walked = true;
    t->tape.keep = opt.retain_graph || opt.create_graph;
    if (w.mode != opt.create_graph) dync_set_grad_enabled(opt.create_graph);
    return w;
}
static void dync__taped_end(dync__tracer *t, dync__taped_walk w)
{
    if (w.mode == dync__grad_is_off()) dync_set_grad_enabled(w.mode);
    t->tape.walking = w.walking;
}

DYNC__FN bool dync__taped_backward(dync__tracer *t, dync_value outputs, dync_value grads,
                                   dync_grad_options opt, dync_status *status)
{
    dync_value o = dync__value_map(outputs, dync__taped_fake, t),
               g = dync__value_map(grads, dync__taped_fake, t);
    *status = dync__grad_asked(o);
    if (*status != DYNC_OK) return true;
    dync__taped_walk walk = dync__taped_begin(t, opt);
    *status = dync__effect_hooks(t);
    if (*status == DYNC_OK) *status = (dync_backward_opt)(o, g, opt);
    dync__taped_end(t, walk);
    return true;
}

/* What was asked for, and what it gave: one value, or lists. */
static dync_status dync__taped_given(dync__tracer *t, dync_value of, dync_value given)
{
    const dync__list *l = dync__value_list(given);
    dync_status status = DYNC_OK;
    for (int i = 0; l && i < l->n && status == DYNC_OK; i++) {
        dync_value x = of.kind == DYNC_KIND_LIST ? (dync_at)(of, i) : of;
        dync__tensor *at = x.kind == DYNC_KIND_TENSOR ? dync__open(x.as.t) : NULL,
                     *g = l->items[i].kind == DYNC_KIND_TENSOR ? dync__open(l->items[i].as.t)
                                                               : NULL;
        if (at) status = dync__effect_gradient(t, at, g ? dync__taped_value(t, g) : NULL);
    }
    return status;
}

DYNC__FN dync_value dync__taped_gradients(dync__tracer *t, dync_value outputs, dync_value inputs,
                                          dync_value grads, dync_grad_options opt)
{
    dync_value o = dync__value_map(outputs, dync__taped_fake, t),
               i = dync__value_map(inputs, dync__taped_fake, t);
    dync_value g = dync__value_map(grads, dync__taped_fake, t);
    if (dync__grad_asked(o) != DYNC_OK) return DYNC_NONE;
    dync__taped_walk walk = dync__taped_begin(t, opt);
    dync_value r = dync__effect_hooks(t) == DYNC_OK ? (dync_gradients)(o, i, g, opt) : DYNC_NONE;
    dync__taped_end(t, walk);
    if (dync__taped_given(t, i, r) != DYNC_OK) return DYNC_NONE;
    return dync__value_map(r, dync__taped_result, t);
}

/* A custom function: its forward is recorded, its backward when it is walked. false: as it is
 * written. */
DYNC__FN bool dync__taped_apply(dync__tracer *t, const dync_autograd_function *fn, int nargs,
                                const dync_value *args, dync_value *result)
{
    dync_value fakes[DYNC__MAX_LEAVES];
    if (t->tape.walking) return false;
    if (dync__too_many(fn->name ? fn->name : "dync_apply", nargs)) return true;
    for (int i = 0; i < nargs; i++) fakes[i] = dync__value_map(args[i], dync__taped_fake, t);
    t->tape.walking = true;
    *result = dync__apply_run(fn, nargs, fakes);
    t->tape.walking = false;
    t->tape.inner = t->tape.inner ? t->tape.inner : "a function with a gradient of its own";
    return true;
}

/* ---- the end --------------------------------------------------------------------------------- */
static bool dync__taped_over(const dync__tensor *x)
{
    return !dync__tensor_has_history(x) || dync__tensor_history_spent(x);
}

static bool dync__taped_value_over(dync__tracer *t, const dync_value *v)
{
    if (v->kind == DYNC_KIND_TENSOR) {
        const dync__tensor *x = dync__peek(v->as.t);
        return !x || !dync__tracer_owns(t, x) || dync__taped_over(x);
    }
    const dync__list *l = dync__value_list(*v);
    for (int i = 0; l && i < l->n; i++)
        if (!dync__taped_value_over(t, &l->items[i])) return false;
    return true;
}

static void dync__taped_strip(dync__graph *g)
{
    int kept = 0;
    for (int i = 0; i < g->node.n; i++)
        if (!dync__node_sets_grad_mode(g->node.at[i])) g->node.at[kept++] = g->node.at[i];
    g->node.n = kept;
    dync__graph_renumber(g);
}

/* The history goes on outside: what was done to it in here would be lost. */
static dync_status dync__taped_lives(dync__tracer *t)
{
    bool switched = false;
    for (int i = 0; i < t->effects.after.n; i++)
        switched = switched || t->effects.after.at[i].effect.kind == DYNC__DO_REQUIRES_GRAD;
    if (!switched && !t->tape.inner) return DYNC_OK;
    return dync__tracer_fail(
        t, dync__fail(DYNC_ERR_UNSUPPORTED,
                      "%s in a function compiled with "
                      "fullgraph, whose result can "
                      "still be differentiated: "
                      "call backward inside it too, or compile it without fullgraph",
                      t->tape.inner ? t->tape.inner : "dync_requires_grad_ on a tensor in use"));
}

/* Before the last cut. What is returned, written or set as a gradient and could still be walked
 * keeps the graph's grad mode. */
DYNC__FN dync_status dync__taped_finish(dync__tracer *t, const dync_value *result)
{
    if (!t->tape.on || !t->rec.graph) return DYNC_OK;
    for (int i = 0; i < t->rec.made.n; i++)
        if (t->rec.made.at[i]->node)
            t->rec.made.at[i]->node->requires_grad[0] =
                (t->rec.made.at[i]->flags & DYNC__T_REQUIRES_GRAD) != 0;
    bool over = dync__taped_value_over(t, result);
    for (int i = 0; i < t->env.fake.n && over; i++)
        over = !dync__tensor_has_history(t->env.fake.at[i]);
    for (int i = 0; i < t->effects.grads.n && over; i++) {
        const dync__tensor *grad = dync__tensor_grad(t->effects.grads.at[i].of);
        over = !grad || dync__taped_over(grad);
    }
    if (!over) return dync__taped_lives(t);
    int calls = t->rec.graph->node.n;
    dync__taped_strip(t->rec.graph);
    t->rec.pending -= calls - t->rec.graph->node.n;
    t->rec.grad_off = true;
    return DYNC_OK;
}
