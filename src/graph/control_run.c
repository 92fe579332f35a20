/* graph/control_run.c: operators with functions inside run as loops over their graphs. Before:
 * control.c. */
#include "../dync.in.h"
#include "control.h"
DYNC__COLD

/* ---- running --------------------------------------------------------------------------------- */
/* Grad mode that the function switches ends with it. On failure out is as it was. */
DYNC__FN dync_status dync__control_call(dync__graph *g, int n_in, dync__tensor *const *in,
                                        int n_out, dync__tensor **out)
{
    dync__arena arena = {0};
    dync__arg result = {0}, *args = dync__arena_alloc(&arena, (size_t)(n_in + 1) * sizeof *args);
    dync_status status = args ? DYNC_OK : DYNC_ERR_MEMORY;
    for (int i = 0; args && i < n_in; i++) args[i] = dync__arg_t(in[i]);
    bool grad_off = dync__grad_is_off();
    if (status == DYNC_OK) status = dync__graph_eval(g, args, n_in, &arena, &result);
    dync__grad_off(grad_off);
    if (status == DYNC_OK && (result.kind != DYNC__A_LIST || result.n != n_out)) {
        dync__arg_release(&result);
        status = dync__fail(DYNC_ERR_INTERNAL, "graph %s: another number of results", g->name);
    }
    for (int i = 0; status == DYNC_OK && i < n_out; i++) out[i] = result.as.list[i].as.t;
    dync__arena_free(&arena);
    return status;
}

/* *t goes over to what the operator gives for it; on failure it stays. */
static dync_status dync__control_one(int op, dync__tensor **t)
{
    dync__arg arg = dync__arg_t(*t);
    dync__tensor *other = NULL;
    DYNC__TRY((dync__op_run)(op, 1, &arg, &other));
    dync__unref(*t);
    *t = other;
    return DYNC_OK;
}

/* A copy is made only where the tensor is shared, is a view, or has strides. */
DYNC__FN dync_status dync__control_fresh(dync__tensor **t)
{
    if (!dync__layout_is_contiguous(&(*t)->lay))
        DYNC__TRY(dync__control_one(DYNC__USED(DYNC__OP_contiguous), t));
    bool shared = DYNC__ATOMIC_LOAD(&(*t)->storage->refs) > 1 ||
                  DYNC__ATOMIC_LOAD(&(*t)->refs) > 1 || (*t)->lay.offset;
    return shared ? dync__control_one(DYNC__USED(DYNC__OP_clone), t) : DYNC_OK;
}

/* Reads the data: whether a loop goes on cannot be known before. */
static dync_status dync__control_truth(dync__tensor *t, bool *truth)
{
    uint64_t errors = dync__error_count();
    *truth = (dync_item)(dync__handle(t)) != 0;
    return dync__error_count() != errors && dync_error() != DYNC_OK ? dync_error() : DYNC_OK;
}

/* Entries may be NULL and are so afterwards. */
static void dync__control_drop(int n, dync__tensor **t)
{
    for (int i = 0; i < n; i++) {
        dync__unref(t[i]);
        t[i] = NULL;
    }
}

/* Tensors that a run works on: n_in carried values (owned in loops), slices, more. */
typedef struct dync__control_run_state {
    dync__control c;
    dync__arena arena;
    dync__tensor **in, **next, **stacked; /* stacked: [result][place], owned */
    int64_t length;
} dync__control_run_state;

/* Results of the function that is taken go straight to the call. */
static dync_status dync__control_cond(dync__control_run_state *r, dync__opcall *call)
{
    bool truth;
    DYNC__TRY(dync__control_truth(r->c.pred->as.t, &truth));
    for (int i = 0; i < r->c.n_in; i++) r->in[i] = r->c.in[i].as.t;
    return dync__control_call(r->c.fn[!truth], r->c.n_in, r->in, r->c.n_out, call->out);
}

/* One round: in[0, n_in) are the next values. */
static dync_status dync__control_round(dync__control_run_state *r, int n_args)
{
    const dync__control *c = &r->c;
    DYNC__TRY(dync__control_call(c->fn[0], n_args, r->in, c->n_out, r->next));
    for (int i = 0; i < c->n_in; i++) {
        dync__unref(r->in[i]);
        r->in[i] = r->next[i];
        r->next[i] = NULL;
    }
    return DYNC_OK;
}

/* most 0: no limit. With a limit the loop ends after so many rounds, whatever the condition
 * says. */
static dync_status dync__control_while(dync__control_run_state *r)
{
    const dync__control *c = &r->c;
    int n = c->n_in + c->n_more;
    for (int i = 0; i < c->n_more; i++) r->in[c->n_in + i] = c->more[i].as.t;
    for (int64_t round = 0; c->most <= 0 || round < c->most; round++) {
        dync__tensor *test = NULL;
        bool truth = false;
        DYNC__TRY(dync__control_call(c->test, n, r->in, 1, &test));
        dync_status status = dync__control_truth(test, &truth);
        dync__unref(test);
        if (status != DYNC_OK || !truth) return status;
        DYNC__TRY(dync__control_round(r, n));
    }
    return DYNC_OK;
}

/* The views of place `place` are owned by r->in until the round is over. */
static dync_status dync__control_slice(dync__control_run_state *r, int64_t place)
{
    const dync__control *c = &r->c;
    for (int i = 0; i < c->n_xs; i++) {
        dync__arg args[3] = {c->xs[i], dync__arg_i(0), dync__arg_i(place)};
        DYNC__TRY(dync__op_run(DYNC__OP_select, 3, args, &r->in[c->n_in + i]));
    }
    return DYNC_OK;
}

/* A tensor with a history, or NULL. */
static dync__tensor *dync__control_root(const dync__arg *a)
{
    return a->kind == DYNC__A_TENSOR && dync__tensor_requires_grad(a->as.t) ? a->as.t : NULL;
}

/* The stacked results of no step: without elements, with the history that steps would give. */
static dync_status dync__control_nothing(const dync__control *c, const dync__info *info,
                                         dync__tensor **out)
{
    dync__tensor *root = NULL, *part[3] = {NULL, NULL, NULL};
    dync__arg args[3] = {dync__arg_dims(info->lay.ndim, info->lay.shape),
                         dync__arg_dtype(info->dtype), dync__arg_device(info->device)};
    DYNC__TRY(dync__op_run(DYNC__OP_zeros, 3, args, out));
    for (int i = 0; i < c->n_in && !root; i++) root = dync__control_root(&c->in[i]);
    for (int i = 0; i < c->n_xs && !root; i++) root = dync__control_root(&c->xs[i]);
    for (int i = 0; i < c->n_more && !root; i++) root = dync__control_root(&c->more[i]);
    if (!root || dync__grad_is_off() || dync__dtype_info(info->dtype)->kind != 'f') return DYNC_OK;
    dync__arg sum[3] = {dync__arg_t(root), dync__arg_dims(0, NULL), dync__arg_b(false)};
    dync_status status = dync__op_run(DYNC__OP_sum, 3, sum, &part[0]);
    dync__arg cast[2] = {dync__arg_t(part[0]), dync__arg_dtype(info->dtype)};
    if (status == DYNC_OK) status = dync__op_run(DYNC__OP_to_dtype, 2, cast, &part[1]);
    dync__arg add[2] = {dync__arg_t(*out), dync__arg_t(part[1])};
    if (status == DYNC_OK) status = dync__op_run(DYNC__OP_add, 2, add, &part[2]);
    if (status == DYNC_OK) {
        dync__unref(*out);
        *out = part[2];
    }
    dync__unref(part[0]);
    dync__unref(part[1]);
    return status;
}

/* Stacks what the rounds gave; without rounds the types tell the shape. */
static dync_status dync__control_stack(dync__control_run_state *r, dync__opcall *call)
{
    const dync__control *c = &r->c;
    dync__info info[DYNC__MAX_OUT];
    if (!r->length) DYNC__TRY(dync__control_types(call, info));
    for (int i = c->n_in; i < c->n_out; i++) {
        if (!r->length) {
            DYNC__TRY(dync__control_nothing(c, &info[i], &call->out[i]));
            continue;
        }
        dync__arg args[2] = {
            dync__control_list(&r->arena, (int)r->length, r->stacked + (i - c->n_in) * r->length),
            dync__arg_i(0)};
        if (args[0].kind != DYNC__A_LIST) return DYNC_ERR_MEMORY;
        DYNC__TRY(dync__op_run(DYNC__OP_stack, 2, args, &call->out[i]));
    }
    return DYNC_OK;
}

/* Results of a round beyond the carried values are kept by their place, so that a reversed scan
 * stacks them in the order of xs. */
static dync_status dync__control_scan(dync__control_run_state *r, dync__opcall *call)
{
    const dync__control *c = &r->c;
    int n = c->n_in + c->n_xs;
    for (int i = 0; i < c->n_more; i++) r->in[n + i] = c->more[i].as.t;
    for (int64_t k = 0; k < r->length; k++) {
        int64_t place = c->reverse ? r->length - 1 - k : k;
        dync_status status = dync__control_slice(r, place);
        if (status == DYNC_OK) status = dync__control_round(r, n + c->n_more);
        dync__control_drop(c->n_xs, r->in + c->n_in);
        DYNC__TRY(status);
        for (int i = c->n_in; i < c->n_out; i++) {
            r->stacked[(i - c->n_in) * r->length + place] = r->next[i];
            r->next[i] = NULL;
        }
    }
    return dync__control_stack(r, call);
}

/* Loops: the carried values are the first results. */
static dync_status dync__control_loop(dync__control_run_state *r, dync__opcall *call)
{
    const dync__control *c = &r->c;
    for (int i = 0; i < c->n_in; i++) dync__ref(r->in[i] = c->in[i].as.t);
    dync_status status = c->op == DYNC__OP_scan ? dync__control_scan(r, call)
                                                : dync__control_while(r);
    for (int i = 0; i < c->n_in; i++) {
        call->out[i] = r->in[i];
        r->in[i] = NULL;
    }
    return status;
}

/* Checks first, then runs; on failure nothing stays in call->out. Every result is made memory of
 * its own, as a function may give back what it was given. */
static dync_status dync__control_really(dync__opcall *call)
{
    dync__control_run_state r = {.length = 0};
    dync__info info[DYNC__MAX_OUT];
    const dync__control *c = &r.c;
    DYNC__TRY(dync__control_types(call, info));
    DYNC__TRY(dync__control_open(&r.c, call->op, call->nargs, call->args));
    call->nout = c->n_out;
    for (int i = 0; i < c->n_out; i++) call->out[i] = NULL;
    r.length = c->n_xs ? c->xs[0].as.t->lay.shape[0] : 0;
    size_t places = (size_t)(c->n_out - (c->n_xs ? c->n_in : c->n_out)) * (size_t)r.length;
    r.in = dync__arena_alloc(&r.arena, (size_t)(c->n_in + c->n_xs + c->n_more + 1) * sizeof *r.in);
    r.next = dync__arena_alloc(&r.arena, (size_t)(c->n_out + 1) * sizeof *r.next);
    r.stacked = dync__arena_alloc(&r.arena, (places + 1) * sizeof *r.stacked);
    dync_status status = !r.in || !r.next || !r.stacked ? DYNC_ERR_MEMORY
                         : c->op == DYNC__OP_cond       ? dync__control_cond(&r, call)
                                                        : dync__control_loop(&r, call);
    if (r.next) dync__control_drop(c->n_out, r.next);
    if (r.stacked) dync__control_drop((int)places, r.stacked);
    for (int i = 0; i < c->n_out && status == DYNC_OK; i++)
        status = dync__control_fresh(&call->out[i]);
    if (status != DYNC_OK) dync__control_drop(c->n_out, call->out);
    dync__arena_free(&r.arena);
    return status;
}
DYNC__DATA dync_status (*dync__control_run)(dync__opcall *) = dync__control_really;
