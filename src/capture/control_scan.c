/* capture/control_scan.c: scan, map and associative_scan, plain and traced. Before: control.c. */
#include "../dync.in.h"
#include "control.h"
#include "control_trace.h"
DYNC__COLD

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

static dync_status dync__scan_trace(const dync__scan_job *j, dync__insides *w, dync__tree_form *y)
{
    dync_value args[2];
    dync__inside *s = w->s;
    dync__tree_form *result = &s->result;
    int n_init = j->init.leaf.n;
    for (int i = 0; i < n_init; i++) DYNC__TRY(dync__inside_operand(s, j->init.leaf.at[i], false));
    for (int i = 0; i < j->xs.leaf.n; i++)
        DYNC__TRY(dync__inside_operand(s, j->xs.leaf.at[i], true));
    int n = dync__scan_args(j, s->stand.at, s->stand.at + n_init, args);
    dync_status status = dync__inside_run(w, s, j->fn, n, args, result);
    if (status == DYNC_OK) status = dync__scan_form(j, result, y);
    /* what is both comes twice */
    int twice = j->kind == DYNC__SCAN_SAME ? result->leaf.n : 0;
    for (int i = 0; i < twice && status == DYNC_OK; i++) {
        if (dync__vec_push(&result->leaf, result->leaf.at[i]))
            dync__ref(result->leaf.at[i]);
        else
            status = DYNC_ERR_MEMORY;
    }
    if (status == DYNC_OK) status = dync__inside_output(s, result->leaf.n, result->leaf.at);
    return status;
}

static dync_value dync__scan_traced(const dync__scan_job *j, dync_loc at)
{
    dync__insides *w = dync__insides_begin(&j->init, &j->xs);
    dync__inside *s = w ? w->s : NULL;
    dync__tree_form y = {0};
    dync__arena arena = {0};
    dync_value r = DYNC_NONE, list;
    const dync__list *l = NULL;
    if (!w) return r;
    int n = j->init.leaf.n, given = n + j->xs.leaf.n;
    dync_status status = dync__inside_begin(s, j->op, "its function", "scan_combine_graph");
    if (status == DYNC_OK) status = dync__scan_trace(j, w, &y);
    if (status == DYNC_OK) {
        dync__arg args[6] = {dync__arg_graph(s->graph),
                             dync__control_list(&arena, n, s->outer.at),
                             dync__control_list(&arena, given - n, s->outer.at + n),
                             dync__control_list(&arena, s->outer.n - given, s->outer.at + given),
                             dync__arg_b(j->reverse),
                             dync__arg_i(0)};
        list = (dync__op_call_list)(DYNC__USED(DYNC__OP_scan), 6, args, at);
        l = dync__value_list(list);
    }
    dync__tensor **leaf = l ? dync__arena_alloc(&arena, (size_t)(l->n + 1) * sizeof *leaf) : NULL;
    for (int i = 0; leaf && i < l->n; i++) leaf[i] = dync__open(l->items[i].as.t);
    if (leaf) r = dync__scan_value(j, &y, leaf);
    dync__insides_end(w);
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

/* Inputs that no result comes from get zeros; n results, owned. */
static dync_status dync__scan_unused(const dync__scan_job *j, uint64_t since, int n,
                                     dync__tensor **leaf)
{
    dync__tensor *in[DYNC__MAX_LEAVES];
    int n_init = j->init.leaf.n, n_in = n_init + j->xs.leaf.n;
    for (int i = 0; i < n_in; i++)
        in[i] = i < n_init ? j->init.leaf.at[i] : j->xs.leaf.at[i - n_init];
    return dync__tape_unused(since, n_in, in, n, leaf);
}

static dync_value dync__scan_plain(dync__scan_job *j)
{
    dync__tree_form y = {0};
    dync__tensor **kept = NULL, *leaf[DYNC__MAX_LEAVES] = {0}, *carry[DYNC__MAX_LEAVES];
    dync_status status = DYNC_OK;
    dync_value r = DYNC_NONE;
    int n_init = j->init.leaf.n;
    uint64_t since = dync__tls.seq;
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
    if (status == DYNC_OK) status = dync__scan_unused(j, since, n_init + n_y, leaf);
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
    dync__public_frame f = dync__control_begin(at);
    j->fn = fn;
    dync__format(j->part, sizeof j->part, "%s: its function", j->op);
    dync_status status = dync__callee_check(fn, j->op);
    if (status == DYNC_OK && j->kind != DYNC__SCAN_MAP)
        status = dync__tree_open(&j->init, init, false, "scan: init");
    if (status == DYNC_OK) status = dync__tree_open(&j->xs, xs, false, "scan: xs");
    if (status == DYNC_OK) r = dync__scan_do(j, at);
    dync__tree_free(&j->init);
    dync__tree_free(&j->xs);
    dync__public_end(&f);
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
    dync__public_frame f = dync__control_begin(at);
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
    dync__public_end(&f);
    return r;
}
