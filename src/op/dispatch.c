/* op/dispatch.c: the one door that each operator call passes. After lower_move.c, before
 * eager_plan.c.
 *
 *   entry point -> dync__op_call: opens handles -> top handler (capture) -> ... -> tape -> bottom:
 *   eager, or a tracer in its place
 *
 * The stack belongs to the thread. dync__tls.op and dync__tls.at name the operator in flight for
 * messages; both are put back. */
#include "../dync.in.h"
#include "rows.h"
DYNC__WARM

DYNC__DATA const dync__read_intercept *(*dync__read_intercept_get)(void) = NULL;

/* ---- the stack ------------------------------------------------------------------------------- */

/* Of a thread that ends: its cached plans go. */
DYNC__RARE static void dync__op_state_end(dync__thread *t)
{
    dync__op_state *s = t->op_state;
    if (!s) return;
    dync__eager_forget(s);
    dync__free(s, sizeof *s);
    t->op_state = NULL;
}

/* Made at the first use by a thread, which then frees it at its end. */
DYNC__RARE DYNC__FN dync__op_state *dync__op_state_get(void)
{
    dync__op_state *s = dync__tls.op_state;
    if (s) return s;
    dync__thread_state_on_exit(dync__op_state_end);
    dync__thread_arm();
    return dync__tls.op_state = dync__calloc(sizeof *s);
}

/* h is the caller's, who keeps it alive until the pop. */
DYNC__FN void dync__handler_push(dync__handler *h)
{
    h->below = dync__tls.handler;
    dync__tls.handler = h;
}

DYNC__FN void dync__handler_pop(dync__handler *h)
{
    DYNC__ASSERT(dync__tls.handler == h);
    dync__tls.handler = h->below;
}

DYNC__FN dync__handler *dync__handler_swap(dync__handler *top)
{
    dync__handler *old = dync__tls.handler;
    dync__tls.handler = top;
    return old;
}

/* dync__tls.recording is the fast test for "somebody stands at the bottom". */
DYNC__RARE DYNC__FN dync__handler *dync__bottom_swap(dync__handler *bottom)
{
    dync__op_state *s = bottom ? dync__op_state_get() : dync__tls.op_state;
    if (!s) return NULL;
    dync__handler *old = s->bottom;
    s->bottom = bottom;
    dync__tls.recording = bottom != NULL;
    return old;
}

DYNC__RARE DYNC__FN const dync__read_intercept *dync__bottom_reads(void)
{
    const dync__op_state *s = dync__tls.recording ? dync__tls.op_state : NULL;
    return s && s->bottom ? s->bottom->reads : NULL;
}

DYNC__FN dync_status dync__dispatch_bottom(dync__opcall *call)
{
    const dync__op_state *s = dync__tls.op_state;
    if (DYNC__UNLIKELY(s && s->bottom)) return s->bottom->call(s->bottom, call);
    return dync__eager(call);
}

/* The tape stands above the bottom, in a program that links it. */
static dync_status dync__dispatch_tape(dync__opcall *call)
{
    return dync__tape_hook ? dync__tape_hook(call) : dync__dispatch_bottom(call);
}

/* "[[2, 3], [], []]": sizes of the arguments, none for what is no tensor. */
static void dync__dispatch_shapes(dync__str *s, const dync__opcall *call)
{
    dync__str_addc(s, '[');
    for (int i = 0; i < call->nargs; i++) {
        const dync__arg *a = &call->args[i];
        if (i) dync__str_add(s, ", ");
        if (a->kind == DYNC__A_TENSOR)
            dync__shape_text(s, a->as.t->lay.ndim, a->as.t->lay.shape);
        else
            dync__str_addc(s, '['), dync__str_addc(s, ']');
    }
    dync__str_addc(s, ']');
}

/* The number of the autograd node that the call makes, the first where it is made of several
 * operators. An event that calls no tape node has the sequence number -1. */
static dync_status dync__dispatch_profiled(dync__opcall *call)
{
    dync__str shapes = {0};
    uint64_t seq = dync__tls.seq;
    dync__dispatch_shapes(&shapes, call);
    dync__profiled event = dync__profile_begin(
        dync__find(call->row->name, "::") ? "" : "aten::", call->row->name, dync__str_get(&shapes));
    dync_status status = dync__dispatch_tape(call);
    dync__profile_end(&event, dync__tls.seq != seq ? (int64_t)seq : -1, -1);
    dync__str_free(&shapes);
    return status;
}

/* The profiler and anomaly mode see real runs alone, never a trace. */
DYNC__FN dync_status dync__dispatch(dync__opcall *call)
{
    dync__handler *top = dync__tls.handler;
    if (dync__profile_on() && !top && !dync__tls.recording) return dync__dispatch_profiled(call);
    if (dync__anomaly_on() && !top && !dync__tls.recording)
        return DYNC__ATOMIC_LOAD(&dync__anomaly_watch)(call, dync__dispatch_tape);
    return top ? top->call(top, call) : dync__dispatch_tape(call);
}

DYNC__FN dync_status dync__dispatch_below(dync__handler *self, dync__opcall *call)
{
    return self->below ? self->below->call(self->below, call) : dync__dispatch_tape(call);
}

/* ---- entry points ---------------------------------------------------------------------------- */

/* Items of list arguments that need no allocation. */
enum { DYNC__LIST_INLINE = 32 };
typedef struct dync__entering { /* what an entry point has to undo */
    const char *op;
    dync_loc at;
    dync__arg inline_items[DYNC__LIST_INLINE], *items;
    int n_items;
} dync__entering;

/* In place: a handle becomes the tensor it stands for, borrowed. False and an error where it is
 * stale. */
static bool dync__open_arg(dync__arg *a)
{
    dync__tensor *t = dync__open(a->as.h);
    if (!t) return false;
    *a = dync__arg_t(t);
    return true;
}

/* Lists of the user's: their items as arguments, tensors opened. All lists of a call share one
 * array; two passes, as it must not move once arguments point into it. */
static bool dync__open_lists(dync__entering *e, int nargs, dync__arg *args)
{
    int total = 0, at = 0;
    for (int i = 0; i < nargs; i++) {
        if (args[i].kind != DYNC__A_LIST || args[i].n >= 0) continue;
        if (!args[i].as.p) return dync__fail(DYNC_ERR_VALUE, "expected a list, got none"), false;
        const dync__list *l = dync__list_open(args[i].as.p, NULL);
        if (!l) return false;
        total += l->n;
    }
    e->n_items = total;
    e->items = total <= DYNC__LIST_INLINE ? e->inline_items
                                          : dync__alloc((size_t)total * sizeof *e->items);
    for (int i = 0; i < nargs && e->items; i++) {
        if (args[i].kind != DYNC__A_LIST || args[i].n >= 0) continue;
        const dync__list *l = dync__list_peek(args[i].as.p);
        args[i].n = l->n;
        args[i].as.list = &e->items[at];
        for (int k = 0; k < l->n; k++, at++) {
            e->items[at] = dync__arg_value(l->items[k]);
            if (e->items[at].kind == DYNC__A_HANDLE && !dync__open_arg(&e->items[at])) return false;
        }
    }
    return e->items != NULL;
}

/* A text or a list in the place of a number or tensor, which the row's schema calls Value. */
DYNC__RARE static bool dync__value_expected(const dync__op_row *row, int i, const dync__arg *a)
{
    const char *at = row->schema;
    int left = i;
    for (at += *at == '('; at && left > 0; left--)
        at = (at = strchr(at, ',')) != NULL ? at + 2 : NULL;
    if (!at || strncmp(at, "Value", 5) != 0) return false;
    return dync__fail(DYNC_ERR_VALUE, "argument %d: expected a tensor or a number, got a %s", i + 1,
                      a->kind == DYNC__A_STR ? "string" : "list") != DYNC_OK;
}

/* False: an error was recorded. args are changed in place, as they are the entry point's own. */
static bool dync__open_args(dync__entering *e, const dync__op_row *row, int nargs, dync__arg *args)
{
    bool lists = false;
    for (int i = 0; i < nargs; i++) {
        if (DYNC__UNLIKELY(args[i].kind == DYNC__A_STR || args[i].kind == DYNC__A_LIST) &&
            dync__value_expected(row, i, &args[i]))
            return false;
        if (args[i].kind == DYNC__A_HANDLE && DYNC__UNLIKELY(!dync__open_arg(&args[i])))
            return false;
        lists = lists || (args[i].kind == DYNC__A_LIST && args[i].n < 0);
        if (args[i].kind == DYNC__A_DIMS && dync__check_rank(args[i].n) != DYNC_OK) return false;
    }
    return !lists || dync__open_lists(e, nargs, args);
}

/* Opens, dispatches, closes. Outputs in call->out, owned. False: the error is recorded and
 * call->out is empty or let go. dync__tls.op and at are put back in both cases. */
static bool dync__enter(dync__opcall *call, int op, int nargs, dync__arg *args, dync_loc at)
{
    dync__entering e;
    e.op = dync__tls.op;
    e.at = dync__tls.at;
    e.items = NULL;
    e.n_items = 0;
    /* its shape depends on data; its row came with one_hot's (autograd/rows.c) */
    if (DYNC__UNLIKELY(op == DYNC__OP_one_hot) && args[1].as.i == -1)
        op = DYNC__OP__one_hot_all, nargs = 1;
    call->row = dync__op_info(op);
    call->op = op;
    call->nargs = nargs;
    call->args = args;
    call->nout = 0;
    call->at = at;
    for (int i = 0; i < DYNC__MAX_OUT; i++) call->out[i] = NULL;
    dync__tls.op = call->row->name;
    dync__tls.at = at;
    bool ok = dync__open_args(&e, call->row, nargs, args) && dync__dispatch(call) == DYNC_OK;
    if (e.items && e.items != e.inline_items)
        dync__free(e.items, (size_t)e.n_items * sizeof *e.items);
    dync__tls.op = e.op;
    dync__tls.at = e.at;
    return ok;
}

/* Only the first result is given to the scope, others are let go. A handler that knows the answer
 * already (a replayed call) is asked before anything is opened. */
DYNC__OFTEN DYNC__FN dync_tensor *(dync__op_call)(int op, int nargs, dync__arg *args, dync_loc at)
{
    dync__opcall call;
    (void)dync__waits_left();
    dync__handler *top = dync__tls.handler;
    dync_tensor *known = top && top->known ? top->known(top, op, nargs, args, &at) : NULL;
    if (known) return known;
    if (DYNC__UNLIKELY(!dync__enter(&call, op, nargs, args, at))) return NULL;
    for (int i = 1; i < call.nout; i++) dync__unref(call.out[i]);
    return call.nout ? dync__give(call.out[0]) : NULL;
}

/* Every result goes to the scope, in a list that belongs to it too. */
DYNC__FN dync_value(dync__op_call_list)(int op, int nargs, dync__arg *args, dync_loc at)
{
    dync__opcall call;
    dync_value list = {DYNC_KIND_NONE, 0, {0}};
    (void)dync__waits_left();
    if (!dync__enter(&call, op, nargs, args, at)) return list;
    list = dync__list_new(call.nout);
    for (int i = 0; i < call.nout; i++) {
        dync_value item = {DYNC_KIND_TENSOR, 0, {0}};
        item.as.t = dync__give(call.out[i]);
        if (item.as.t) dync__list_set(list, i, item);
    }
    return list;
}

/* out[0..nout) are the caller's references; untouched on failure. */
DYNC__FN dync_status(dync__op_run)(int op, int nargs, dync__arg *args, dync__tensor **out)
{
    dync__opcall call = {
        .row = dync__op_info(op), .op = op, .nargs = nargs, .args = args, .at = dync__tls.at};
    const char *outer = dync__tls.op;
    dync__tls.op = call.row->name;
    dync_status status = dync__dispatch(&call);
    dync__tls.op = outer;
    if (status != DYNC_OK) return status;
    for (int i = 0; i < call.nout; i++) out[i] = call.out[i];
    return DYNC_OK;
}
