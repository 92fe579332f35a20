/* capture/break.c: breaks, where a call leaves its entry's tree, and branches, where the tree grows
 * an outcome. After cut.c, before handler.c. */
#include "../dync.in.h"
#include "trace.h"
DYNC__COLD

/* ---- refused --------------------------------------------------------------------------------- */
/* What a reason, whose text is upstream's, means in C, and what to do instead. */
static const struct {
    char reason[32];
    const char *words;
} dync__break_words[] = {
    {"generic_jump TensorVariable()",
     DYNC__TEXT("dync_bool asks for a tensor's value, which decides what comes next: "
                "compute both sides and choose with dync_where")},
    {"Tensor.item",
     DYNC__TEXT(
         "dync_item asks for a tensor's value: leave it a tensor, which operators take where "
         "they take a number, or take dync_item_sym with .capture_scalars")},
    {"Tensor.__repr__",
     DYNC__TEXT(
         "dync_str asks for a tensor's values: return the tensor and make the text outside")},
    {"Tensor.backward",
     DYNC__TEXT("dync_backward walks a tape that no graph holds here: call it outside")},
    {"Tensor.grad",
     DYNC__TEXT("dync_grad asks for a gradient that another call left: make it an argument")},
    {"dynamic shape operator: ",
     DYNC__TEXT("the shape of its result depends on values, which a graph does not have: "
                "compile with .capture_dynamic_shapes, mask with dync_where, or do it outside")},
    {"print",
     DYNC__TEXT("dync_print and dync_host_print write while the function runs, not while its graph "
                "does: print outside")},
};

/* Upstream's text first, then the places, then what happened here; they name operator and line, so
 * the message does not once more. */
static dync_status dync__break_refused(dync__tracer *t, const char *text, const char *reason)
{
    dync__str s = {0};
    const char *words = NULL;
    dync_loc at = dync__tls.at;
    dync__trace_stack(t, &s);
    for (int i = 0; i < DYNC__COUNT_OF(dync__break_words) && !t->own_reason; i++)
        if (strncmp(reason, dync__break_words[i].reason, strlen(dync__break_words[i].reason)) == 0)
            words = dync__break_words[i].words;
    if (words) dync__str_addf(&s, "\n%s, or compile without .fullgraph", words);
    if (t->own_reason) dync__str_addf(&s, "\ndync_graph_break: %s\n", t->own_reason);
    if (t->own_reason)
        dync__stack_line(&s, t->last_at, t->last_at.func ? t->last_at.func : t->fn->name);
    const char *op = dync__tls.op;
    dync__tls.at = DYNC_NOWHERE;
    dync__tls.op = NULL;
    dync_status status =
        dync__fail(DYNC_ERR_UNSUPPORTED, "%s\n\nfrom user code:\n%s", text, dync__str_get(&s));
    dync__tls.op = op;
    dync__tls.at = at;
    dync__str_free(&s);
    return dync__tracer_fail(t, status);
}

static dync_status dync__inferring_refused(dync__tracer *t, const char *reason)
{
    return dync__tracer_fail(t, dync__fail(DYNC_ERR_UNSUPPORTED,
                                           t->inferring_inside
                                               ? "%s: it reads values (%s), which are not known "
                                                 "while the function is traced"
                                               : "dync_allow_in_graph(%s): it "
                                                 "reads values (%s), so the "
                                                 "shapes of its result cannot be "
                                                 "known without running it; use dync_disable",
                                           t->inferring, reason));
}

/* ---- breaks ---------------------------------------------------------------------------------- */
static void dync__break_callbacks(dync__tracer *t)
{
    if (!t->fresh) return;
    dync__callbacks_end();
    dync__callbacks_start();
}

/* From here on the C function must run in every call. */
static void dync__tracer_leave_tree(dync__tracer *t)
{
    if (!DYNC__ATOMIC_LOAD(&t->entry->open)) DYNC__ATOMIC_STORE(&t->entry->open, true);
    t->at = NULL;
    t->on_tree = false;
}

static dync_status dync__break_made(dync__tracer *t, const char *reason)
{
    if (t->at) dync__tracer_leave_tree(t);
    for (int i = 0; i < t->rec.frames.n; i++) t->rec.frames.at[i].broken = true;
    dync_status status = dync__tracer_cut(t, reason);
    if (status == DYNC_OK) status = t->way->keep(t); /* whatever runs now may write */
    dync__effects_forget(t);
    dync__break_callbacks(t);
    return status;
}

/* By need: whole graphs have none. */
static dync_status (*DYNC__BY_NEED dync__break_used)(dync__tracer *, const char *reason) =
    DYNC__AT_FIRST(dync__break_made);

DYNC__OFTEN DYNC__FN dync_status dync__trace_break(dync__tracer *t, const char *reason,
                                                   const char *fullgraph_text)
{
    if (t->stopped) return t->status != DYNC_OK ? t->status : DYNC_ERR_RUNTIME;
    if (t->inferring) return dync__inferring_refused(t, reason);
    if (dync__lints() && dync__lints()->stops(t, reason))
        return dync__tracer_fail(t, DYNC_ERR_RUNTIME);
    if (t->fn->opt.fullgraph)
        return dync__break_refused(t, fullgraph_text ? fullgraph_text : reason, reason);
    return dync__break_used ? dync__break_used(t, reason) : dync__unlinked("graph breaks");
}

/* ---- branches -------------------------------------------------------------------------------- */
static dync_status dync__branch_value(dync__tracer *t, dync__tensor *fake, bool as_bool,
                                      int64_t *out)
{
    dync__tensor *real = dync__trace_real(t, fake);
    if (!real) return DYNC_ERR_INTERNAL;
    dync__trace_pause pause = dync__trace_pause_begin(t);
    double v = as_bool ? (double)(dync_bool)(dync__handle(real)) : (dync_item)(dync__handle(real));
    *out = dync__load_i64(&v, DYNC_F64);
    dync__trace_pause_end(t, pause);
    return DYNC_OK;
}

/* Other threads run the entry: they must know how many places it has before they meet a node that
 * fills them. */
DYNC__FN void dync__tracer_publish_env(dync__tracer *t)
{
    if (t->env.real.n > t->entry->n_env) DYNC__ATOMIC_STORE(&t->entry->n_env, t->env.real.n);
}

/* A new outcome at the position t->at; too many make the position opaque. */
static dync_status dync__branch_grow(dync__tracer *t, dync__tensor *fake, bool as_bool,
                                     int64_t value)
{
    dync__tnode *at = t->at;
    if (!at) return DYNC_OK;
    if (at->n_outcomes == DYNC__MAX_OUTCOMES) {
        dync__tracer_leave_tree(t);
        return DYNC_OK;
    }
    dync__tnode *next = dync__arena_alloc(&t->entry->arena, sizeof *next);
    if (!next) return DYNC_ERR_MEMORY;
    next->grad_mode_after = -1;
    dync__tracer_publish_env(t);
    if (at->kind != DYNC__TN_BRANCH) {
        at->branch_env = fake->node_output;
        at->branch_bool = as_bool;
    }
    at->outcome[at->n_outcomes].value = value;
    at->outcome[at->n_outcomes].next = next;
    DYNC__ATOMIC_STORE(&at->n_outcomes, at->n_outcomes + 1);
    DYNC__ATOMIC_STORE(&at->kind, DYNC__TN_BRANCH);
    t->at = next;
    return DYNC_OK;
}

/* The tree grows by an outcome where the trace stands. */
DYNC__FN dync_status dync__record_outcome(dync__tracer *t, dync__tensor *fake, bool as_bool,
                                          int64_t outcome)
{
    if (dync__lints()) dync__lints()->branch(t, outcome);
    dync_status status = dync__branch_grow(t, fake, as_bool, outcome);
    return status == DYNC_OK ? DYNC_OK : dync__tracer_fail(t, status);
}

DYNC__FN dync_status dync__record_branch(dync__tracer *t, dync__tensor *fake, bool as_bool,
                                         int64_t *outcome)
{
    DYNC__TRY(dync__branch_value(t, fake, as_bool, outcome));
    dync__break_callbacks(t);
    return dync__record_outcome(t, fake, as_bool, *outcome);
}

static dync_status dync__branch_made(dync__tracer *t, dync__tensor *fake, bool as_bool,
                                     const char *reason, int64_t *outcome)
{
    for (int i = 0; i < t->rec.frames.n; i++) t->rec.frames.at[i].broken = true;
    DYNC__TRY(dync__tracer_cut(t, reason));
    DYNC__TRY((t->way->branch ? t->way->branch : dync__record_branch)(t, fake, as_bool, outcome));
    if (as_bool) dync__cut_taken(t, *outcome != 0);
    return DYNC_OK;
}

static dync_status (*DYNC__BY_NEED dync__branch_used)(
    dync__tracer *, dync__tensor *fake, bool as_bool, const char *reason,
    int64_t *outcome) = DYNC__AT_FIRST(dync__branch_made);
DYNC__FN void dync__breaks_install(void)
{
    DYNC__PUT(dync__break_used, dync__break_made);
    DYNC__PUT(dync__branch_used, dync__branch_made);
}

DYNC__FN dync_status dync__trace_branch(dync__tracer *t, dync__tensor *fake, bool as_bool,
                                        int64_t *outcome)
{
    static const char *const reason_bool = "generic_jump TensorVariable()", *const reason_item =
                                                                                "Tensor.item";
    const char *reason = as_bool ? reason_bool : reason_item;
    if (t->stopped) return t->status != DYNC_OK ? t->status : DYNC_ERR_RUNTIME;
    if (t->inferring) return dync__inferring_refused(t, reason);
    if (dync__lints() && dync__lints()->answers(t, outcome)) return DYNC_OK;
    if (t->fn->opt.fullgraph) return dync__break_refused(t, reason, reason);
    return dync__branch_used ? dync__branch_used(t, fake, as_bool, reason, outcome)
                             : dync__unlinked("graph breaks");
}
