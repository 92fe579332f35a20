/* capture/handler.c: the handler of the dispatcher that records: takes the arguments of an operator
 * into the trace, infers, adds a node. After break.c, before step.c. */
#include "../dync.in.h"
#include "trace.h"
DYNC__COLD

static void dync__drop_outputs(dync__opcall *c)
{
    for (int i = 0; i < c->nout; i++) {
        dync__unref(c->out[i]);
        c->out[i] = NULL;
    }
}

/* Operators that need data: the shape of the result depends on it. Run really, after a cut, in
 * calls that follow a script as well; the result is a tensor from elsewhere, met where it is
 * used. */
DYNC__FN dync_status dync__tracer_opaque_op(dync__tracer *t, dync__opcall *c)
{
    char reason[96];
    t->last_at = c->at;
    dync__format(reason, sizeof reason, "dynamic shape operator: aten.%s.default", c->row->name);
    dync_status status = dync__trace_break(t, reason, NULL);
    dync__arg args[DYNC__MAX_ARGS];
    for (int i = 0; i < c->nargs && status == DYNC_OK; i++) {
        args[i] = c->args[i];
        if (args[i].kind == DYNC__A_TENSOR && !(args[i].as.t = dync__trace_real(t, args[i].as.t)))
            status = DYNC_ERR_MEMORY;
    }
    if (status != DYNC_OK) return status;
    dync__opcall real = *c;
    real.args = args;
    dync__trace_pause pause = dync__trace_pause_begin(t);
    status = dync__dispatch(&real);
    dync__trace_pause_end(t, pause);
    c->nout = real.nout;
    memcpy(c->out, real.out, (size_t)c->nout * sizeof *c->out);
    return status;
}

/* The entry needs a guard that it was not asked for so far: a call that it served may not fit what
 * it would guard. */
DYNC__FN void dync__tracer_guard_more(dync__tracer *t, bool *kind)
{
    if (!t->on_tree || DYNC__ATOMIC_PEEK(kind)) return;
    DYNC__ATOMIC_STORE(kind, true);
    if (t->path.n && !dync__guards_hold(t->entry, t->call))
        DYNC__ATOMIC_STORE(&t->entry->dead, true);
}

/* Its scope has ended: nobody but the trace holds it, nor will an effect store it. In plain code
 * its handle is stale. */
DYNC__RARE static bool dync__tracer_is_gone(const dync__tracer *t, const dync__tensor *x)
{
    int env = dync__effect_env(t, x);
    if (!(x->flags & DYNC__T_FAKE) || x->flags & DYNC__T_NUMBER) return false;
    if (!x->node) return env >= 0 && t->env.origin.at[env].seg && !t->env.holder.at[env];
    size_t n = (size_t)t->rec.made.n + 1;
    bool *live = dync__calloc(n), gone = false;
    if (!live) return false;
    dync__effects_mark(t, live);
    for (int i = 0; i < t->rec.made.n; i++) gone |= t->rec.made.at[i] == x && !live[i];
    dync__free(live, n);
    return gone;
}

static dync_status dync__tracer_check_held(const dync__tracer *t, int n, const dync__arg *args)
{
    for (int i = 0; i < n; i++) {
        const dync__tensor *x = args[i].as.t;
        if (args[i].kind == DYNC__A_LIST)
            DYNC__TRY(dync__tracer_check_held(t, args[i].n, args[i].as.list));
        if (args[i].kind == DYNC__A_TENSOR && DYNC__ATOMIC_PEEK(&x->refs) == 1 &&
            dync__tracer_is_gone(t, x))
            return dync__stale(x->op, x->at);
    }
    return DYNC_OK;
}

/* The arguments as fakes of this trace, and what a guard must know of the call. */
DYNC__FN dync_status dync__tracer_enter(dync__tracer *t, dync__opcall *c)
{
    if (t->stopped) return t->status != DYNC_OK ? t->status : DYNC_ERR_RUNTIME;
    dync_status status = dync__tracer_check_held(t, c->nargs, c->args);
    if (status == DYNC_OK) status = dync__tracer_adopt_args(t, c->nargs, c->args);
    if (status != DYNC_OK) return status;
    t->last_at = c->at;
    if (c->at.file && !DYNC__ATOMIC_PEEK(&t->fn->file)) {
        DYNC__ATOMIC_STORE(&t->fn->line, c->at.line);
        DYNC__ATOMIC_STORE(&t->fn->file, c->at.file);
    }
    if (DYNC__UNLIKELY(t->symbols.sizes != NULL) && (status = dync__opcall_numbers(c)) != DYNC_OK)
        return dync__tracer_fail(t, status);
    /* counts from the storage's beginning */
    if (c->row->flags & DYNC__OP_BEYOND) dync__tracer_guard_more(t, &t->entry->offsets);
    if (c->row->cls == DYNC__INPLACE || (c->row->flags & DYNC__OP_WRITES))
        dync__tracer_guard_more(t, &t->entry->mutates);
    return DYNC_OK;
}

/* An input that the call puts on other memory is an input as it was before. */
static bool dync__tracer_inputs_first(dync__tracer *t, const dync__opcall *c)
{
    for (int i = 0; i < c->nargs; i++)
        if (c->args[i].kind == DYNC__A_TENSOR && !dync__tracer_node(t, c->args[i].as.t))
            return false;
    return true;
}

/* Fakes as results, and a node. */
DYNC__FN dync_status dync__tracer_answer(dync__tracer *t, dync__opcall *c)
{
    if (c->row->flags & DYNC__OP_DATA_SHAPE && !dync__data_stays(t, c))
        return dync__tracer_opaque_op(t, c);
    if (t->effects.hooked.n) DYNC__TRY(dync__hooked_written(t, c));
    if (c->row->flags & DYNC__OP_RETARGETS && !dync__tracer_inputs_first(t, c))
        return dync__tracer_fail(t, dync__fail_memory(0));
    bool data = (c->row->flags & DYNC__OP_DATA_SHAPE) != 0;
    DYNC__TRY(data ? DYNC_OK : dync__op_fake(c));
    dync_status status = t->symbols.n_data && !data ? dync__data_sizes(c) : DYNC_OK;
    if (status == DYNC_OK) status = data ? dync__data_record(t, c) : dync__tracer_record(t, c);
    if (status != DYNC_OK) {
        dync__drop_outputs(c);
        return dync__tracer_fail(t, status == DYNC_ERR_MEMORY ? dync__fail_memory(0) : status);
    }
    if (dync__lints()) dync__lints()->op(t, c);
    return DYNC_OK;
}

DYNC__FN dync_status dync__tracer_call(dync__handler *self, dync__opcall *c)
{
    dync__tracer *t = self->state;
    dync__number *operand[DYNC__MAX_ARGS];
    if (dync__row_sets_grad_mode(c->row)) return dync__record_grad_mode(t, c);
    DYNC__TRY(dync__tracer_enter(t, c));
    DYNC__TRY(dync__tracer_leaf_written(c));
    if (t->symbols.number.n) {
        dync__number_operands(t, c, operand);
        t->rec.operand = operand;
    }
    dync_status status = dync__tracer_answer(t, c);
    t->rec.operand = NULL;
    return status;
}

/* What a view made in the pending graph is a view of, in the end. */
typedef struct dync__view_way {
    const dync__node *of;
    bool viewed, quiet; /* at all; one on the way was made without grad mode */
} dync__view_way;
static dync__view_way dync__tracer_viewed(const dync__node *of)
{
    dync__view_way way = {of, false, false};
    for (; of && of->kind != DYNC__N_PLACEHOLDER; of = of->args[0].as.node) {
        if (of->op == DYNC__NODE_GETITEM && of->args[0].as.node->view) of = of->args[0].as.node;
        if (!of->view || of->args[0].kind != DYNC__A_NODE) break;
        way.viewed |= !of->handed;
        way.quiet |= of->no_grad && !of->handed;
    }
    way.of = of;
    return way;
}

/* Does the value require a gradient by now? A write may have given it a history. */
static bool dync__tracer_node_requires(const dync__tracer *t, const dync__node *n)
{
    bool input = n->kind == DYNC__N_PLACEHOLDER && n->env >= 0;
    const dync__tensor *x = input ? t->env.fake.at[n->env] : NULL;
    for (int i = 0; i < t->rec.made.n && !input; i++)
        if (t->rec.made.at[i]->node == n) x = t->rec.made.at[i];
    return n->requires_grad[0] || (x && x->flags & DYNC__T_REQUIRES_GRAD);
}

/* What the tape says before anything else when the program runs eagerly: an in-place write to a
 * leaf that requires grad, or to a view of one or one made without grad mode, in grad mode. */
DYNC__FN dync_status dync__tracer_leaf_written(const dync__opcall *c)
{
    const dync__capture_gradients *gradients = dync__capture_gradients_used;
    const dync__tracer *t = dync__tracer_peek();
    if (c->row->cls != DYNC__INPLACE || dync__grad_is_off() || !c->nargs ||
        c->args[0].kind != DYNC__A_TENSOR || !gradients)
        return DYNC_OK;
    const dync__tensor *x = c->args[0].as.t;
    dync__view_way way = dync__tracer_viewed(x->node);
    const dync__node *of = way.of;
    if (way.quiet && (dync__opcall_requires_grad(c) || (t && dync__tracer_node_requires(t, of))))
        return gradients->quiet_write();
    if (!t || (!x->node && !dync__tracer_owns(t, x))) return DYNC_OK;
    if (x->node && (of->kind != DYNC__N_PLACEHOLDER || of->env < 0)) return DYNC_OK;
    dync__tensor *real = t->env.real.at[x->node ? of->env : x->node_output];
    if (real && gradients->quiet(real)) return gradients->quiet_write();
    if (!(x->flags & DYNC__T_REQUIRES_GRAD) || (x->flags & DYNC__T_WRITTEN)) return DYNC_OK;
    return real ? gradients->write(real, way.viewed) : DYNC_OK;
}

/* A call that follows a script notes nothing: when it leaves it, dync__replay_leave does. */
DYNC__RARE DYNC__FN void dync__tracer_released(dync__tensor *x)
{
    const dync__tracer *t = dync__tls.capture_state;
    if (t && t->handler.call == dync__tracer_call && dync__tracer_owns(t, x) &&
        dync__tracer_is_gone(t, x))
        dync__handle_end(x);
}

DYNC__FN void dync__released_install(void) { dync__scope_watch_fakes(dync__tracer_released); }
