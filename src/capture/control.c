/* capture/control.c: dync_cond, dync_while_loop, dync_scan and what is made of them: an if and
 * loops of C where nothing records, else one call of an operator with the traced functions inside.
 * After control_trace.c. */
#include "../dync.in.h"
#include "control.h"
#include "control_trace.h"
DYNC__COLD

/* Does anything record the calls of this thread? */
DYNC__FN bool dync__control_traced(void) { return dync__tls.handler || dync__tls.recording; }

/* What goes wrong before an operator is called is told with the user's line, too. */
DYNC__FN dync__public_frame dync__control_begin(dync_loc at)
{
    return dync__public_begin(dync__tls.op, at.file ? at : dync__tls.at);
}

DYNC__FN dync_status dync__control_error(void)
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
DYNC__FN dync_status dync__control_invoke(const dync_callee *fn, const char *name, int nargs,
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

DYNC__FN dync_status dync__control_fresh_all(int n, dync__tensor **leaf)
{
    for (int i = 0; i < n; i++) DYNC__TRY(dync__control_fresh(&leaf[i]));
    return DYNC_OK;
}

/* What a plain call gives. given: what it took, since: dync__tls.seq before; NULL: its gradients
 * are those of the function that was called. */
static dync_value dync__control_finish(dync_status status, const dync__tree_form *given_or_null,
                                       uint64_t since, dync__tree_form *result)
{
    int n = result->leaf.n;
    if (status == DYNC_OK) status = dync__control_fresh_all(n, result->leaf.at);
    if (status == DYNC_OK && given_or_null)
        status = dync__tape_unused(since, given_or_null->leaf.n, given_or_null->leaf.at, n,
                                   result->leaf.at);
    return status == DYNC_OK ? dync__control_give(result, n, result->leaf.at) : DYNC_NONE;
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

static dync_status dync__control_trace_args(dync__insides *w, dync__inside *s,
                                            const dync_callee *fn, const dync__tree_form *operands)
{
    int n;
    dync_value v = dync__tree_build(operands, s->stand.at);
    const dync_value *args = dync__control_args(&v, &n);
    return dync__inside_run(w, s, fn, n, args, &s->result);
}

DYNC__FN dync_status dync__control_two(dync__insides *w, const dync_callee *const fn[2],
                                       const dync__tree_form *operands)
{
    dync__inside *s = w->s;
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < operands->leaf.n; i++)
            DYNC__TRY(dync__inside_operand(&s[k], operands->leaf.at[i], false));
        for (int i = s[0].n_given; k && i < s[0].outer.n; i++)
            DYNC__TRY(dync__inside_lift(&s[1], s[0].outer.at[i], NULL));
        DYNC__TRY(dync__control_trace_args(w, &s[k], fn[k], operands));
        DYNC__TRY(dync__inside_output(&s[k], s[k].result.leaf.n, s[k].result.leaf.at));
    }
    for (int i = s[0].outer.n; i < s[1].outer.n; i++)
        DYNC__TRY(dync__inside_lift(&s[0], s[1].outer.at[i], NULL));
    return DYNC_OK;
}

/* ---- cond ------------------------------------------------------------------------------------ */
static dync_value dync__cond_traced(dync__tensor *pred, const dync_callee *const fn[2],
                                    const dync__tree_form *operands, dync_loc at)
{
    dync__insides *w = dync__insides_begin(operands, NULL);
    dync__inside *s = w ? w->s : NULL;
    dync__arena arena = {0};
    dync_value r = DYNC_NONE;
    if (!w) return r;
    dync_status status = dync__inside_begin(&s[0], "cond", "then_fn", "true_graph"),
                second = dync__inside_begin(&s[1], "cond", "else_fn", "false_graph");
    if (status == DYNC_OK) status = second;
    if (status == DYNC_OK) status = dync__control_two(w, fn, operands);
    if (status == DYNC_OK && !dync__tree_alike(&s[0].result, &s[1].result))
        status = dync__fail(DYNC_ERR_VALUE,
                            "cond: expected results of one form of both functions, got %d tensors "
                            "and %d",
                            s[0].result.leaf.n, s[1].result.leaf.n);
    if (status == DYNC_OK) {
        dync__arg args[4] = {dync__arg_t(pred), dync__arg_graph(s[0].graph),
                             dync__arg_graph(s[1].graph),
                             dync__control_list(&arena, s[1].outer.n, s[1].outer.at)};
        r = dync__control_emit(DYNC__USED(DYNC__OP_cond), 4, args, at, &s[0].result);
    }
    dync__insides_end(w);
    dync__arena_free(&arena);
    return r;
}

static dync_value dync__cond(dync_value pred, const dync_callee *then_fn,
                             const dync_callee *else_fn, dync_value operands, dync_loc at)
{
    const dync_callee *fn[2] = {then_fn, else_fn};
    dync__tree_form in = {0}, result = {0};
    dync_value r = DYNC_NONE;
    dync__tensor *p = pred.kind == DYNC_KIND_TENSOR ? dync__open(pred.as.t) : NULL;
    if (pred.kind == DYNC_KIND_TENSOR && !p) return r;
    if (dync__callee_check(then_fn, "dync_cond") != DYNC_OK ||
        dync__callee_check(else_fn, "dync_cond") != DYNC_OK)
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
        uint64_t since = dync__tls.seq;
        bool truth = p ? (dync_item)(pred.as.t) != 0 : dync_as_bool(pred);
        status = dync__control_apply(fn[!truth], truth ? "cond: then_fn" : "cond: else_fn", &in,
                                     in.leaf.at, &result);
        if (dync__control_traced() && status == DYNC_OK)
            r = dync__control_give(&result, result.leaf.n, result.leaf.at);
        else
            r = dync__control_finish(status, p ? &in : NULL, since, &result);
    }
    dync__tree_free(&in);
    dync__tree_free(&result);
    return r;
}
DYNC_API dync_value dync_cond_values(dync_value pred, dync_callee then_fn, dync_callee else_fn,
                                     dync_value operands, dync_loc at)
{
    dync__public_frame f = dync__control_begin(at);
    dync_value r = dync__cond(pred, &then_fn, &else_fn, operands, at);
    dync__public_end(&f);
    return r;
}

/* ---- while_loop ------------------------------------------------------------------------------ */
static dync_value dync__while_traced(const dync_callee *const fn[2], const dync__tree_form *carried,
                                     int64_t most, dync_loc at)
{
    dync__insides *w = dync__insides_begin(carried, NULL);
    dync__inside *s = w ? w->s : NULL;
    dync__arena arena = {0};
    dync_value r = DYNC_NONE;
    if (!w) return r;
    dync_status status = dync__inside_begin(&s[0], "while_loop", "cond_fn", "cond_graph"),
                second = dync__inside_begin(&s[1], "while_loop", "body_fn", "body_graph");
    if (status == DYNC_OK) status = second;
    if (status == DYNC_OK) status = dync__control_two(w, fn, carried);
    if (status == DYNC_OK) {
        int n = carried->leaf.n;
        dync__arg args[5] = {dync__arg_graph(s[0].graph), dync__arg_graph(s[1].graph),
                             dync__control_list(&arena, n, s[1].outer.at),
                             dync__control_list(&arena, s[1].outer.n - n, s[1].outer.at + n),
                             dync__arg_i(most)};
        r = dync__control_emit(DYNC__USED(DYNC__OP_while_loop), 5, args, at, carried);
    }
    dync__insides_end(w);
    dync__arena_free(&arena);
    return r;
}

/* The next values take the place of the last ones. */
DYNC__FN dync_status dync__control_carry(const char *op, int n, dync__tensor **now,
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

static dync_value dync__while(const dync_callee *cond_fn, const dync_callee *body_fn,
                              dync_value carried, int64_t limit_or_0, dync_loc at)
{
    const dync_callee *fn[2] = {cond_fn, body_fn};
    dync__tree_form now = {0}, first = {0};
    dync_value r = DYNC_NONE;
    uint64_t since = dync__tls.seq;
    bool on = true;
    if (dync__callee_check(cond_fn, "dync_while_loop") != DYNC_OK ||
        dync__callee_check(body_fn, "dync_while_loop") != DYNC_OK)
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
        if (status == DYNC_OK) status = dync__tree_open(&first, carried, false, "while_loop");
        for (int64_t k = 0; on && status == DYNC_OK && (!limit_or_0 || k < limit_or_0); k++)
            status = dync__while_round(fn, &now, &on);
        r = dync__control_finish(status, &first, since, &now);
    }
    dync__tree_free(&first);
    dync__tree_free(&now);
    return r;
}
DYNC_API dync_value dync_while_loop_values(dync_callee cond_fn, dync_callee body_fn,
                                           dync_value carried, int64_t limit_or_0, dync_loc at)
{
    dync__public_frame f = dync__control_begin(at);
    dync_value r = dync__while(&cond_fn, &body_fn, carried, limit_or_0, at);
    dync__public_end(&f);
    return r;
}
