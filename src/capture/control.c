/* capture/control.c: dync_cond, dync_while_loop, dync_scan and what is made of them: an if and
 * loops of C where nothing records, else one call of an operator with the traced functions inside.
 * After control_trace.c. */
#include "../dync.in.h"
#include "control.h"
DYNC__COLD

/* Does anything record the calls of this thread? */
static bool dync__control_traced(void) { return dync__tls.handler || dync__tls.recording; }

static dync_status dync__control_error(void)
{
    return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_RUNTIME;
}

/* The leaves go to the scope; the value in the form of t. */
static dync_value dync__control_give(const dync__tree_form *form, int n, dync__tensor *const *leaf)
{
    for (int i = 0; i < n; i++) {
        dync__ref(leaf[i]);
        if (!dync__give(leaf[i])) return DYNC_NONE;
    }
    return dync__tree_build(form, leaf);
}

/* Items of a list as the arguments of a function, or the one value. */
static const dync_value *dync__control_args(const dync_value *v, int *n)
{
    const dync__list *l = dync__value_list(*v);
    *n = l ? l->n : 1;
    return l ? l->items : v;
}

/* ---- plainly --------------------------------------------------------------------------------- */
static uint64_t dync__control_versions(const dync__tree_form *t)
{
    uint64_t sum = 0;
    for (int i = 0; i < t->leaf.n; i++) sum += t->leaf.at[i]->storage->version;
    return sum;
}

/* fn(args) in a scope of its own: what it gives, apart. given: what it must not write. */
static dync_status dync__control_invoke(const dync_callee *fn, const char *name, int nargs,
                                        const dync_value *args, const dync__tree_form *given,
                                        dync__tree_form *result)
{
    uint64_t errors = dync__error_count(), version = dync__control_versions(given);
    dync_scope scope = dync_scope_begin();
    dync_value r = dync__callee_invoke(fn, nargs, args);
    dync_status status = dync__error_count() != errors && dync_error() != DYNC_OK
                             ? dync_error()
                             : dync__tree_open(result, r, false, name);
    dync_scope_end(&scope);
    if (status == DYNC_OK && dync__control_versions(given) != version)
        status = dync__fail(DYNC_ERR_UNSUPPORTED, "%s: it might be modifying the input", name);
    return status;
}

/* fn over a tree as its arguments. */
static dync_status dync__control_apply(const dync_callee *fn, const char *name,
                                       const dync__tree_form *form, dync__tensor *const *leaf,
                                       dync__tree_form *result)
{
    int n;
    dync_value v = dync__tree_build(form, leaf);
    const dync_value *args = dync__control_args(&v, &n);
    return dync__control_invoke(fn, name, n, args, form, result);
}

static dync_status dync__control_fresh_all(int n, dync__tensor **leaf)
{
    for (int i = 0; i < n; i++) DYNC__TRY(dync__control_fresh(&leaf[i]));
    return DYNC_OK;
}

static dync_value dync__control_finish(dync_status status, dync__tree_form *form, int n,
                                       dync__tensor **leaf)
{
    if (status == DYNC_OK) status = dync__control_fresh_all(n, leaf);
    return status == DYNC_OK ? dync__control_give(form, n, leaf) : DYNC_NONE;
}

/* ---- traced ---------------------------------------------------------------------------------- */
/* The operator's results, in the form of what its functions gave. */
static dync_value dync__control_emit(int op, int nargs, dync__arg *args, dync_loc at,
                                     const dync__tree_form *form)
{
    dync_value list = (dync__op_call_list)(op, nargs, args, at);
    const dync__list *l = dync__value_list(list);
    if (!l || l->n < form->leaf.n) return DYNC_NONE;
    dync__tensor **leaf = dync__scope_alloc((size_t)(l->n + 1) * sizeof *leaf);
    if (!leaf) return DYNC_NONE;
    for (int i = 0; i < l->n; i++) leaf[i] = dync__open(l->items[i].as.t);
    return dync__tree_build(form, leaf);
}

static dync_status dync__control_trace_args(dync__inside *s, const dync_callee *fn,
                                            const dync__tree_form *operands,
                                            dync__tree_form *result)
{
    int n;
    dync_value v = dync__tree_build(operands, s->stand.at);
    const dync_value *args = dync__control_args(&v, &n);
    return dync__inside_run(s, fn, n, args, result);
}

DYNC__FN dync_status dync__control_two(dync__inside s[2], const dync_callee *const fn[2],
                                       const dync__tree_form *operands, dync__tree_form result[2])
{
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < operands->leaf.n; i++)
            DYNC__TRY(dync__inside_operand(&s[k], operands->leaf.at[i], false));
        for (int i = s[0].n_given; k && i < s[0].outer.n; i++)
            DYNC__TRY(dync__inside_lift(&s[1], s[0].outer.at[i], NULL));
        DYNC__TRY(dync__control_trace_args(&s[k], fn[k], operands, &result[k]));
        DYNC__TRY(dync__inside_output(&s[k], result[k].leaf.n, result[k].leaf.at));
    }
    for (int i = s[0].outer.n; i < s[1].outer.n; i++)
        DYNC__TRY(dync__inside_lift(&s[0], s[1].outer.at[i], NULL));
    return DYNC_OK;
}

/* ---- cond ------------------------------------------------------------------------------------ */
static dync_value dync__cond_traced(dync__tensor *pred, const dync_callee *const fn[2],
                                    const dync__tree_form *operands, dync_loc at)
{
    dync__inside s[2];
    dync__tree_form result[2];
    dync__arena arena = {0};
    dync_value r = DYNC_NONE;
    memset(result, 0, sizeof result);
    dync_status status = dync__inside_begin(&s[0], "cond", "then_fn", "true_graph"),
                second = dync__inside_begin(&s[1], "cond", "else_fn", "false_graph");
    if (status == DYNC_OK) status = second;
    if (status == DYNC_OK) status = dync__control_two(s, fn, operands, result);
    if (status == DYNC_OK && !dync__tree_alike(&result[0], &result[1]))
        status = dync__fail(DYNC_ERR_VALUE,
                            "cond: expected results of one form of both functions, got %d tensors "
                            "and %d",
                            result[0].leaf.n, result[1].leaf.n);
    if (status == DYNC_OK) {
        dync__arg args[4] = {dync__arg_t(pred), dync__arg_graph(s[0].graph),
                             dync__arg_graph(s[1].graph),
                             dync__control_list(&arena, s[1].outer.n, s[1].outer.at)};
        r = dync__control_emit(DYNC__USED(DYNC__OP_cond), 4, args, at, &result[0]);
    }
    for (int k = 0; k < 2; k++) {
        dync__inside_end(&s[k]);
        dync__tree_free(&result[k]);
    }
    dync__arena_free(&arena);
    return r;
}

DYNC_API dync_value dync_cond_values(dync_value pred, dync_callee then_fn, dync_callee else_fn,
                                     dync_value operands, dync_loc at)
{
    const dync_callee *fn[2] = {&then_fn, &else_fn};
    dync__tree_form in = {0}, result = {0};
    dync_value r = DYNC_NONE;
    dync__tensor *p = pred.kind == DYNC_KIND_TENSOR ? dync__open(pred.as.t) : NULL;
    if (pred.kind == DYNC_KIND_TENSOR && !p) return r;
    if (dync__callee_check(&then_fn, "dync_cond") != DYNC_OK ||
        dync__callee_check(&else_fn, "dync_cond") != DYNC_OK)
        return r;
    if (p ? p->dtype != DYNC_BOOL || p->numel != 1
          : pred.kind != DYNC_KIND_BOOL && pred.kind != DYNC_KIND_INT) {
        dync__fail(DYNC_ERR_VALUE, "cond: pred: expected a bool tensor of one element, got %s%s",
                   p ? dync__dtype_info(p->dtype)->fx : dync__kind_name(pred.kind),
                   p && p->numel != 1 ? " of several" : "");
        return r;
    }
    dync_status status = dync__tree_open(&in, operands, true, "cond: operands");
    if (status == DYNC_OK && p && dync__control_traced()) {
        r = dync__cond_traced(p, fn, &in, at);
    } else if (status == DYNC_OK) {
        bool truth = p ? (dync_item)(pred.as.t) != 0 : dync_as_bool(pred);
        status = dync__control_apply(fn[!truth], truth ? "cond: then_fn" : "cond: else_fn", &in,
                                     in.leaf.at, &result);
        if (dync__control_traced() && status == DYNC_OK)
            r = dync__control_give(&result, result.leaf.n, result.leaf.at);
        else
            r = dync__control_finish(status, &result, result.leaf.n, result.leaf.at);
    }
    dync__tree_free(&in);
    dync__tree_free(&result);
    return r;
}

/* ---- while_loop ------------------------------------------------------------------------------ */
static dync_value dync__while_traced(const dync_callee *const fn[2], const dync__tree_form *carried,
                                     int64_t most, dync_loc at)
{
    dync__inside s[2];
    dync__tree_form result[2];
    dync__arena arena = {0};
    dync_value r = DYNC_NONE;
    memset(result, 0, sizeof result);
    dync_status status = dync__inside_begin(&s[0], "while_loop", "cond_fn", "cond_graph"),
                second = dync__inside_begin(&s[1], "while_loop", "body_fn", "body_graph");
    if (status == DYNC_OK) status = second;
    if (status == DYNC_OK) status = dync__control_two(s, fn, carried, result);
    if (status == DYNC_OK) {
        int n = carried->leaf.n;
        dync__arg args[5] = {dync__arg_graph(s[0].graph), dync__arg_graph(s[1].graph),
                             dync__control_list(&arena, n, s[1].outer.at),
                             dync__control_list(&arena, s[1].outer.n - n, s[1].outer.at + n),
                             dync__arg_i(most)};
        r = dync__control_emit(DYNC__USED(DYNC__OP_while_loop), 5, args, at, carried);
    }
    for (int k = 0; k < 2; k++) {
        dync__inside_end(&s[k]);
        dync__tree_free(&result[k]);
    }
    dync__arena_free(&arena);
    return r;
}

/* The next values take the place of the last ones. */
static dync_status dync__control_carry(const char *op, int n, dync__tensor **now,
                                       dync__tree_form *next)
{
    if (next->leaf.n != n)
        return dync__fail(DYNC_ERR_VALUE, "%s: expected %d carried values back, got %d", op, n,
                          next->leaf.n);
    for (int i = 0; i < n; i++) {
        const dync__tensor *a = now[i], *b = next->leaf.at[i];
        if (a->dtype == b->dtype && a->lay.ndim == b->lay.ndim &&
            dync__sz_same(a->lay.ndim, a->lay.shape, b->lay.shape))
            continue;
        dync__str want = {0}, got = {0};
        dync__tensor_brief(&want, a);
        dync__tensor_brief(&got, b);
        dync_status status = dync__fail(DYNC_ERR_VALUE, "%s: carried value %d: expected %s, got %s",
                                        op, i, dync__str_get(&want), dync__str_get(&got));
        dync__str_free(&want);
        dync__str_free(&got);
        return status;
    }
    for (int i = 0; i < n; i++) {
        dync__unref(now[i]);
        dync__ref(now[i] = next->leaf.at[i]);
    }
    return DYNC_OK;
}

/* One round: *on is what the condition says. */
static dync_status dync__while_round(const dync_callee *const fn[2], dync__tree_form *now, bool *on)
{
    dync__tree_form test = {0}, next = {0};
    dync_scope scope = dync_scope_begin();
    dync_status status =
        dync__control_apply(fn[0], "while_loop: cond_fn", now, now->leaf.at, &test);
    if (status == DYNC_OK &&
        (test.leaf.n != 1 || test.leaf.at[0]->dtype != DYNC_BOOL || test.leaf.at[0]->lay.ndim != 0))
        status = dync__fail(DYNC_ERR_VALUE,
                            "while_loop: expected a bool scalar tensor of its condition");
    if (status == DYNC_OK) *on = (dync_item)(dync__handle(test.leaf.at[0])) != 0;
    if (status == DYNC_OK && *on) {
        status = dync__control_apply(fn[1], "while_loop: body_fn", now, now->leaf.at, &next);
        if (status == DYNC_OK)
            status = dync__control_carry("while_loop", now->leaf.n, now->leaf.at, &next);
    }
    dync__tree_free(&test);
    dync__tree_free(&next);
    dync_scope_end(&scope);
    return status;
}

DYNC_API dync_value dync_while_loop_values(dync_callee cond_fn, dync_callee body_fn,
                                           dync_value carried, int64_t limit_or_0, dync_loc at)
{
    const dync_callee *fn[2] = {&cond_fn, &body_fn};
    dync__tree_form now = {0};
    dync_value r = DYNC_NONE;
    bool on = true;
    if (dync__callee_check(&cond_fn, "dync_while_loop") != DYNC_OK ||
        dync__callee_check(&body_fn, "dync_while_loop") != DYNC_OK)
        return r;
    if (limit_or_0 < 0) {
        dync__fail(DYNC_ERR_VALUE, "while_loop: expected a limit of at least 1, got %lld",
                   (long long)limit_or_0);
        return r;
    }
    dync_status status = dync__tree_open(&now, carried, false, "while_loop: carried");
    if (status == DYNC_OK && dync__control_traced()) {
        r = dync__while_traced(fn, &now, limit_or_0, at);
    } else {
        for (int64_t k = 0; on && status == DYNC_OK && (!limit_or_0 || k < limit_or_0); k++)
            status = dync__while_round(fn, &now, &on);
        r = dync__control_finish(status, &now, now.leaf.n, now.leaf.at);
    }
    dync__tree_free(&now);
    return r;
}

/* ---- scan, map, associative_scan ------------------------------------------------------------- */
typedef enum { DYNC__SCAN_BOTH, DYNC__SCAN_MAP, DYNC__SCAN_SAME } dync__scan_kind;
/* BOTH: (carry, x) to (carry, y); MAP: x to y; SAME: (carry, x) to what is both */
typedef struct dync__scan_job {
    dync__scan_kind kind;
    const char *op;
    char part[64];
    const dync_callee *fn;
    bool reverse;
    dync__tree_form init, xs;
    int64_t length;
} dync__scan_job;

/* The step's arguments, of carried values and slices. */
static int dync__scan_args(const dync__scan_job *j, dync__tensor *const *carry,
                           dync__tensor *const *x, dync_value args[2])
{
    int n = 0;
    if (j->kind != DYNC__SCAN_MAP) args[n++] = dync__tree_build(&j->init, carry);
    args[n++] = dync__tree_build(&j->xs, x);
    return n;
}

/* What the step gave: the form of y apart; result's leaves are the carry, then y. */
static dync_status dync__scan_form(const dync__scan_job *j, const dync__tree_form *result,
                                   dync__tree_form *y)
{
    const dync__tree_form *init = &j->init;
    int at = 0;
    if (j->kind == DYNC__SCAN_BOTH) {
        bool pair = result->form.n > init->form.n && result->form.at[0] == 2 &&
                    memcmp(result->form.at + 1, init->form.at,
                           (size_t)init->form.n * sizeof *init->form.at) == 0;
        if (!pair)
            return dync__fail(DYNC_ERR_VALUE,
                              "%s: expected dync_tuple(carry, y), the carry in the form of init",
                              j->part);
        at = 1 + init->form.n;
    } else if (j->kind == DYNC__SCAN_SAME && !dync__tree_alike(result, init)) {
        return dync__fail(DYNC_ERR_VALUE, "%s: expected a result in the form of its arguments",
                          j->part);
    }
    for (; at < result->form.n; at++)
        if (!dync__vec_push(&y->form, result->form.at[at])) return DYNC_ERR_MEMORY;
    return DYNC_OK;
}

/* Carries and ys: in their forms, all tensors in leaf. */
static dync_value dync__scan_value(const dync__scan_job *j, const dync__tree_form *y,
                                   dync__tensor *const *leaf)
{
    dync_value ys = dync__tree_build(y, leaf + j->init.leaf.n);
    if (j->kind != DYNC__SCAN_BOTH) return ys;
    return dync_tuple(dync__tree_build(&j->init, leaf), ys);
}

static dync_status dync__scan_trace(const dync__scan_job *j, dync__inside *s, dync__tree_form *y)
{
    dync_value args[2];
    dync__tree_form result = {0};
    int n_init = j->init.leaf.n;
    for (int i = 0; i < n_init; i++) DYNC__TRY(dync__inside_operand(s, j->init.leaf.at[i], false));
    for (int i = 0; i < j->xs.leaf.n; i++)
        DYNC__TRY(dync__inside_operand(s, j->xs.leaf.at[i], true));
    int n = dync__scan_args(j, s->stand.at, s->stand.at + n_init, args);
    dync_status status = dync__inside_run(s, j->fn, n, args, &result);
    if (status == DYNC_OK) status = dync__scan_form(j, &result, y);
    /* what is both comes twice */
    int twice = j->kind == DYNC__SCAN_SAME ? result.leaf.n : 0;
    for (int i = 0; i < twice && status == DYNC_OK; i++) {
        if (dync__vec_push(&result.leaf, result.leaf.at[i]))
            dync__ref(result.leaf.at[i]);
        else
            status = DYNC_ERR_MEMORY;
    }
    if (status == DYNC_OK) status = dync__inside_output(s, result.leaf.n, result.leaf.at);
    dync__tree_free(&result);
    return status;
}

static dync_value dync__scan_traced(const dync__scan_job *j, dync_loc at)
{
    dync__inside s;
    dync__tree_form y = {0};
    dync__arena arena = {0};
    dync_value r = DYNC_NONE, list;
    const dync__list *l = NULL;
    int n = j->init.leaf.n, given = n + j->xs.leaf.n;
    dync_status status = dync__inside_begin(&s, j->op, "its function", "scan_combine_graph");
    if (status == DYNC_OK) status = dync__scan_trace(j, &s, &y);
    if (status == DYNC_OK) {
        dync__arg args[6] = {dync__arg_graph(s.graph),
                             dync__control_list(&arena, n, s.outer.at),
                             dync__control_list(&arena, given - n, s.outer.at + n),
                             dync__control_list(&arena, s.outer.n - given, s.outer.at + given),
                             dync__arg_b(j->reverse),
                             dync__arg_i(0)};
        list = (dync__op_call_list)(DYNC__USED(DYNC__OP_scan), 6, args, at);
        l = dync__value_list(list);
    }
    dync__tensor **leaf = l ? dync__arena_alloc(&arena, (size_t)(l->n + 1) * sizeof *leaf) : NULL;
    for (int i = 0; leaf && i < l->n; i++) leaf[i] = dync__open(l->items[i].as.t);
    if (leaf) r = dync__scan_value(j, &y, leaf);
    dync__inside_end(&s);
    dync__tree_free(&y);
    dync__arena_free(&arena);
    return r;
}

/* One place: the carry moves on, the rest of the results is put aside. */
static dync_status dync__scan_place(dync__scan_job *j, int64_t place, dync__tensor **carry,
                                    dync__tree_form *y, dync__tensor ***kept)
{
    dync__tree_form result = {0};
    dync_value args[2];
    int n_x = j->xs.leaf.n, n_init = j->init.leaf.n;
    dync_scope scope = dync_scope_begin();
    dync__tensor **x = dync__scope_alloc((size_t)(n_x + 1) * sizeof *x);
    dync_status status = x ? DYNC_OK : DYNC_ERR_MEMORY;
    for (int i = 0; i < n_x && status == DYNC_OK; i++)
        if (!(x[i] = dync__open(dync_select(dync__handle(j->xs.leaf.at[i]), 0, place))))
            status = dync__control_error();
    int n = status == DYNC_OK ? dync__scan_args(j, carry, x, args) : 0;
    if (status == DYNC_OK) status = dync__control_invoke(j->fn, j->part, n, args, &j->xs, &result);
    if (status == DYNC_OK && !y->form.n) status = dync__scan_form(j, &result, y);
    int n_y = result.leaf.n - (j->kind == DYNC__SCAN_BOTH ? n_init : 0);
    if (status == DYNC_OK && !*kept &&
        !(*kept = dync__calloc((size_t)(n_y * j->length + 1) * sizeof **kept)))
        status = DYNC_ERR_MEMORY;
    y->plain.n = n_y;
    for (int i = 0; i < n_y && status == DYNC_OK; i++)
        dync__ref((*kept)[i * j->length + place] = result.leaf.at[result.leaf.n - n_y + i]);
    if (status == DYNC_OK && n_init) {
        int all = result.leaf.n;
        result.leaf.n = n_init; /* the carry alone */
        status = dync__control_carry(j->op, n_init, carry, &result);
        result.leaf.n = all;
    }
    dync__tree_free(&result);
    dync_scope_end(&scope);
    return status;
}

/* The carry, then the results stacked; owned. */
static dync_status dync__scan_stack(const dync__scan_job *j, int n_y, dync__tensor *const *kept,
                                    dync__tensor *const *carry, dync__tensor **leaf)
{
    dync__arena arena = {0};
    dync_status status = DYNC_OK;
    for (int i = 0; i < j->init.leaf.n; i++) dync__ref(leaf[i] = carry[i]);
    for (int i = 0; i < n_y && status == DYNC_OK; i++) {
        dync__arg args[2] = {dync__control_list(&arena, (int)j->length, kept + i * j->length),
                             dync__arg_i(0)};
        status = dync__op_run(DYNC__OP_stack, 2, args, &leaf[j->init.leaf.n + i]);
    }
    dync__arena_free(&arena);
    return status;
}

static dync_value dync__scan_plain(dync__scan_job *j)
{
    dync__tree_form y = {0};
    dync__tensor **kept = NULL, *leaf[DYNC__MAX_LEAVES] = {0}, *carry[DYNC__MAX_LEAVES];
    dync_status status = DYNC_OK;
    dync_value r = DYNC_NONE;
    int n_init = j->init.leaf.n;
    for (int i = 0; i < n_init; i++) dync__ref(carry[i] = j->init.leaf.at[i]);
    for (int64_t k = 0; k < j->length && status == DYNC_OK; k++)
        status = dync__scan_place(j, j->reverse ? j->length - 1 - k : k, carry, &y, &kept);
    int n_y = y.plain.n;
    if (status == DYNC_OK && n_init + n_y > DYNC__MAX_LEAVES)
        status = dync__fail(DYNC_ERR_UNSUPPORTED, "%s: more than %d results", j->op,
                            (int)DYNC__MAX_LEAVES);
    if (status == DYNC_OK) status = dync__scan_stack(j, n_y, kept, carry, leaf);
    for (int i = 0; i < n_init; i++) dync__unref(carry[i]);
    for (int64_t i = 0; kept && i < n_y * j->length; i++) dync__unref(kept[i]);
    if (status == DYNC_OK) status = dync__control_fresh_all(n_init + n_y, leaf);
    for (int i = 0; i < n_init + n_y && i < DYNC__MAX_LEAVES; i++) {
        if (status == DYNC_OK)
            (void)dync__give(leaf[i]);
        else
            dync__unref(leaf[i]);
    }
    if (status == DYNC_OK) r = dync__scan_value(j, &y, leaf);
    dync__free(kept, (size_t)(n_y * j->length + 1) * sizeof *kept);
    y.plain.n = 0;
    dync__tree_free(&y);
    return r;
}

/* One length, along the first dim. */
static dync_status dync__scan_length(dync__scan_job *j)
{
    if (!j->xs.leaf.n)
        return dync__fail(DYNC_ERR_VALUE, "%s: expected values to go through", j->op);
    if (j->xs.leaf.n + j->init.leaf.n > DYNC__MAX_LEAVES)
        return dync__fail(DYNC_ERR_UNSUPPORTED, "%s: more than %d tensors", j->op,
                          (int)DYNC__MAX_LEAVES);
    for (int i = 0; i < j->xs.leaf.n; i++) {
        const dync__layout *lay = &j->xs.leaf.at[i]->lay;
        if (lay->ndim < 1)
            return dync__fail(DYNC_ERR_SHAPE, "%s: expected a first dim to go along, got a scalar",
                              j->op);
        if (!i) j->length = lay->shape[0];
        if (!dync__sz_eq(lay->shape[0], j->length))
            return dync__fail(DYNC_ERR_SHAPE, "%s: lengths %lld and %lld differ", j->op,
                              (long long)j->length, (long long)lay->shape[0]);
    }
    return DYNC_OK;
}

/* Nothing to go through: the forms are known by a function over fakes alone. */
static dync_value dync__scan_do(dync__scan_job *j, dync_loc at)
{
    if (dync__scan_length(j) != DYNC_OK) return DYNC_NONE;
    return dync__control_traced() || !j->length ? dync__scan_traced(j, at) : dync__scan_plain(j);
}

static dync_value dync__scan_values(dync__scan_job *j, const dync_callee *fn, dync_value init,
                                    dync_value xs, dync_loc at)
{
    dync_value r = DYNC_NONE;
    j->fn = fn;
    dync__format(j->part, sizeof j->part, "%s: its function", j->op);
    dync_status status = dync__callee_check(fn, j->op);
    if (status == DYNC_OK && j->kind != DYNC__SCAN_MAP)
        status = dync__tree_open(&j->init, init, false, "scan: init");
    if (status == DYNC_OK) status = dync__tree_open(&j->xs, xs, false, "scan: xs");
    if (status == DYNC_OK) r = dync__scan_do(j, at);
    dync__tree_free(&j->init);
    dync__tree_free(&j->xs);
    return r;
}

DYNC_API dync_value dync_scan_values(dync_callee step_fn, dync_value init, dync_value xs,
                                     bool reverse, dync_loc at)
{
    dync__scan_job j = {.kind = DYNC__SCAN_BOTH, .op = "scan", .reverse = reverse};
    return dync__scan_values(&j, &step_fn, init, xs, at);
}

DYNC_API dync_value dync_map_values(dync_callee fn, dync_value xs, dync_loc at)
{
    dync__scan_job j = {.kind = DYNC__SCAN_MAP, .op = "map"};
    return dync__scan_values(&j, &fn, DYNC_NONE, xs, at);
}

/* ---- associative_scan: the first element, then a scan that begins with it -------------------- */
typedef enum { DYNC__ALONG_FIRST, DYNC__ALONG_REST, DYNC__ALONG_ALL } dync__along_part;
typedef struct dync__along {
    dync__along_part part;
    int dim;
} dync__along;

static dync_dims dync__along_dim(int dim)
{
    dync_dims dims = {0};
    dims.n = 1;
    dims.d[0] = dim;
    return dims;
}

static dync_tensor *dync__along_take(void *user, dync_tensor *x)
{
    const dync__along *a = user;
    if (a->part == DYNC__ALONG_FIRST) return dync_select(x, a->dim, 0);
    if (a->part == DYNC__ALONG_ALL) return dync_clone(x);
    x = dync_slice(x, a->dim, 1, DYNC_END, 1);
    return a->dim ? dync_movedim(x, dync__along_dim(a->dim), dync__along_dim(0)) : x;
}

/* Results before and behind: the first elements and the others, item by item. */
static dync_value dync__along_join(dync_value first, dync_value rest, int dim)
{
    const dync__list *a = dync__value_list(first), *b = dync__value_list(rest);
    if (a && b) {
        dync_value list = dync__list_new(a->n);
        for (int i = 0; i < a->n && i < b->n; i++)
            dync__list_set(list, i, dync__along_join(a->items[i], b->items[i], dim));
        return list;
    }
    if (first.kind != DYNC_KIND_TENSOR || rest.kind != DYNC_KIND_TENSOR) return DYNC_NONE;
    dync_tensor *others = rest.as.t;
    if (dim) others = dync_movedim(others, dync__along_dim(0), dync__along_dim(dim));
    dync_value both = dync_tuple(dync_unsqueeze(first.as.t, dim), others);
    dync_tensor *r = dync_cat(both, dim);
    return r ? dync_v_tensor(r) : DYNC_NONE;
}

DYNC_API dync_value dync_associative_scan_values(dync_callee combine_fn, dync_value xs, int dim,
                                                 dync_loc at)
{
    dync__scan_job j = {.kind = DYNC__SCAN_SAME, .op = "associative_scan"};
    dync__tree_form all = {0};
    dync_value r = DYNC_NONE;
    dync__along along = {.part = DYNC__ALONG_ALL};
    if (dync__tree_open(&all, xs, false, "associative_scan: xs") == DYNC_OK && all.leaf.n &&
        dync__dim_wrap(dim, all.leaf.at[0]->lay.ndim, &along.dim) == DYNC_OK) {
        int64_t n = all.leaf.at[0]->lay.ndim ? all.leaf.at[0]->lay.shape[along.dim] : 0;
        if (n == 0 || n == 1) {
            r = dync__value_map(xs, dync__along_take, &along);
        } else {
            along.part = DYNC__ALONG_FIRST;
            dync_value first = dync__value_map(xs, dync__along_take, &along);
            along.part = DYNC__ALONG_REST;
            dync_value rest = dync__value_map(xs, dync__along_take, &along);
            if (dync_error() == DYNC_OK) rest = dync__scan_values(&j, &combine_fn, first, rest, at);
            if (rest.kind != DYNC_KIND_NONE) r = dync__along_join(first, rest, along.dim);
        }
    } else if (!all.leaf.n && dync_error() == DYNC_OK) {
        dync__fail(DYNC_ERR_VALUE, "associative_scan: expected values to go through");
    }
    dync__tree_free(&all);
    return r;
}
