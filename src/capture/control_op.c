/* capture/control_op.c: dync_while_loop_op, dync_scan_op: operators with functions inside called as
 * graphs hold them, over lists of tensors. The functions are traced, plainly too, and the operator
 * is called with their graphs. After control.c. */
#include "../dync.in.h"
#include "control.h"
DYNC__COLD

/* The tensors of two or three lists as one flat list. */
typedef struct dync__flat {
    dync__tree_form all;
    int n[3]; /* of each list */
} dync__flat;

static dync_status dync__flat_open(dync__flat *f, int n, const dync_value *lists,
                                   const char *const *what)
{
    for (int i = 0; i < n; i++) {
        int before = f->all.leaf.n;
        DYNC__TRY(dync__tree_open(&f->all, lists[i], false, what[i]));
        f->n[i] = f->all.leaf.n - before;
    }
    if (f->all.leaf.n > DYNC__MAX_LEAVES)
        return dync__fail(DYNC_ERR_UNSUPPORTED, "%s: more than %d tensors", what[0],
                          (int)DYNC__MAX_LEAVES);
    f->all.form.n = 0;
    if (!dync__vec_push(&f->all.form, f->all.leaf.n)) return DYNC_ERR_MEMORY;
    for (int i = 0; i < f->all.leaf.n; i++)
        if (!dync__vec_push(&f->all.form, DYNC__TREE_TENSOR)) return DYNC_ERR_MEMORY;
    return DYNC_OK;
}

DYNC_API dync_value dync_while_loop_op_values(dync_callee cond_fn, dync_callee body_fn,
                                              dync_value carried, dync_value more,
                                              int64_t limit_or_0, dync_loc at)
{
    static const char *const what[] = {"while_loop: carried", "while_loop: more"};
    const dync_callee *fn[2] = {&cond_fn, &body_fn};
    dync_value lists[2] = {carried, more}, r = DYNC_NONE;
    dync__flat f = {.n = {0}};
    dync__insides *w;
    dync__arena arena = {0};
    if (dync__callee_check(&cond_fn, "dync_while_loop_op") != DYNC_OK ||
        dync__callee_check(&body_fn, "dync_while_loop_op") != DYNC_OK)
        return r;
    if (limit_or_0 < 0) {
        dync__fail(DYNC_ERR_VALUE, "while_loop: expected a limit of at least 0, got %lld",
                   (long long)limit_or_0);
        return r;
    }
    if (dync__flat_open(&f, 2, lists, what) != DYNC_OK || !(w = dync__insides_begin(&f.all, NULL)))
        return dync__tree_free(&f.all), r;
    dync__inside *s = w->s;
    dync_status first = dync__inside_begin(&s[0], "while_loop", "cond_fn", "cond_graph"),
                status = dync__inside_begin(&s[1], "while_loop", "body_fn", "body_graph");
    if (status == DYNC_OK) status = first;
    if (status == DYNC_OK) status = dync__control_two(w, fn, &f.all);
    if (status == DYNC_OK) {
        dync__arg args[5] = {
            dync__arg_graph(s[0].graph), dync__arg_graph(s[1].graph),
            dync__control_list(&arena, f.n[0], s[1].outer.at),
            dync__control_list(&arena, s[1].outer.n - f.n[0], s[1].outer.at + f.n[0]),
            dync__arg_i(limit_or_0)};
        r = (dync__op_call_list)(DYNC__USED(DYNC__OP_while_loop), 5, args, at);
    }
    dync__insides_end(w);
    dync__tree_free(&f.all);
    dync__arena_free(&arena);
    return r;
}

/* The step, traced over carried values, slices and the rest. */
static dync_status dync__scan_op_trace(dync__insides *w, const dync_callee *fn, const dync__flat *f)
{
    dync__inside *s = w->s;
    for (int i = 0; i < f->all.leaf.n; i++) {
        bool slice = i >= f->n[0] && i < f->n[0] + f->n[1];
        if (slice && f->all.leaf.at[i]->lay.ndim < 1)
            return dync__fail(DYNC_ERR_SHAPE,
                              "scan: expected a first dim to go along, got a scalar");
        DYNC__TRY(dync__inside_operand(s, f->all.leaf.at[i], slice));
    }
    dync_value v = dync__tree_build(&f->all, s->stand.at);
    const dync__list *l = dync__value_list(v);
    if (!l) return DYNC_ERR_MEMORY;
    dync_status status = dync__inside_run(w, s, fn, l->n, l->items, &s->result);
    if (status == DYNC_OK) status = dync__inside_output(s, s->result.leaf.n, s->result.leaf.at);
    return status;
}

DYNC_API dync_value dync_scan_op_values(dync_callee step_fn, dync_value init, dync_value xs,
                                        dync_value more, bool reverse, int saved, dync_loc at)
{
    static const char *const what[] = {"scan: init", "scan: xs", "scan: more"};
    dync_value lists[3] = {init, xs, more}, r = DYNC_NONE;
    dync__flat f = {.n = {0}};
    dync__insides *w;
    dync__arena arena = {0};
    if (dync__callee_check(&step_fn, "dync_scan_op") != DYNC_OK) return r;
    if (dync__flat_open(&f, 3, lists, what) != DYNC_OK || !(w = dync__insides_begin(&f.all, NULL)))
        return dync__tree_free(&f.all), r;
    dync__inside *s = w->s;
    dync_status status = dync__inside_begin(s, "scan", "its function", "scan_combine_graph");
    if (status == DYNC_OK) status = dync__scan_op_trace(w, &step_fn, &f);
    if (status == DYNC_OK) {
        int given = f.n[0] + f.n[1];
        dync__arg args[6] = {dync__arg_graph(s->graph),
                             dync__control_list(&arena, f.n[0], s->outer.at),
                             dync__control_list(&arena, f.n[1], s->outer.at + f.n[0]),
                             dync__control_list(&arena, s->outer.n - given, s->outer.at + given),
                             dync__arg_b(reverse),
                             dync__arg_i(saved)};
        r = (dync__op_call_list)(DYNC__USED(DYNC__OP_scan), 6, args, at);
    }
    dync__insides_end(w);
    dync__tree_free(&f.all);
    dync__arena_free(&arena);
    return r;
}
