/* onnx/map_inside.c: If, Loop and Scan while a model becomes a graph: operators with functions
 * inside (dync_cond, dync_while_loop, dync_scan), which are the bodies, traced. After map_loss.c,
 * before map_control.c, whose functions take this way where data decide and else run the bodies.
 *
 * What no such operator says (branches of other shapes, carried values that change theirs, results
 * that grow in a loop of an unknown length) ends the graph: the program then walks through the
 * nodes for every new set of sizes and values. */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

/* What the functions inside work with. */
typedef struct dync__oi_within {
    dync__onnx_call *c;
    const dync__onnx_body *body;
    int n;            /* carried values */
    int64_t most;     /* rounds, maybe symbolic; INT64_MAX: any number */
    int *type;        /* of the results, as ONNX has them */
    dync_tensor *yes; /* made outside, so that it is known inside */
    bool *appends;    /* by carried value: a sequence, of which a round gives its last element */
} dync__oi_within;

/* A function for dync_cond and its kin whose user pointer is w, which lives as long as the call. */
static dync_callee dync__oi_callee(dync_function fn, dync__oi_within *w)
{
    dync_callee callee = dync_fnv(fn);
    callee.user = w;
    return callee;
}

/* Runs the body on n values; all its results are there. */
static bool dync__oi_within_run(dync__oi_within *w, int n, const dync__onnx_value *in,
                                dync__onnx_value *out)
{
    if (dync__onnx_run_folded(w->c->model, w->body, w->c->frame, w->c, n, in, out) != DYNC_OK)
        return false;
    for (int i = 0; i < w->body->n_outputs; i++) {
        const dync__onnx_sequence *one =
            i && w->appends && i <= w->n && w->appends[i - 1] ? out[i].sequence : NULL;
        if (one && one->n == 1) out[i] = one->at[0];
        if (!out[i].t) return false;
        if (w->type) w->type[i] = out[i].type;
    }
    return true;
}

/* Tensors as a list of values. NONE + error: no memory. */
static dync_value dync__oi_values(int n, const dync__onnx_value *v)
{
    dync_value list = dync__list_new(n);
    for (int i = 0; i < n && list.kind == DYNC_KIND_LIST; i++)
        dync__list_set(list, i, dync_v_tensor(v[i].t));
    return list;
}

static dync__onnx_value *dync__oi_room(int n)
{
    dync__onnx_value *room = dync__scope_alloc(((size_t)n + 1) * sizeof *room);
    if (room) memset(room, 0, ((size_t)n + 1) * sizeof *room);
    return room;
}

/* Ends a try: what went wrong is why there is no graph. */
static dync_status dync__oi_tried(const dync__onnx_call *c, dync__error_guard *guard, bool worked)
{
    const dync__error_slot *inner = dync__error_guard_end(guard);
    if (worked && inner->status == DYNC_OK) return DYNC_OK;
    if (inner->status == DYNC_ERR_MEMORY) {
        dync__error_raise(inner);
        return inner->status;
    }
    return dync__oi_fail(c, DYNC_ERR_DATA_PTR, "no operator of a graph: %s", inner->message);
}

/* The results of an operator as those of the node, from number `from` on. */
static dync_status dync__oi_take(dync__onnx_call *c, int from, dync_value list, const int *type)
{
    for (int i = 0; i < dync_len(list); i++) {
        dync_tensor *t = dync_as_tensor(dync_at(list, i));
        DYNC__TRY(dync__oi_out_typed(c, from + i, t, type[i]));
    }
    return DYNC_OK;
}

/* a scalar bool */
static dync_tensor *dync__oi_bool(dync_tensor *t)
{
    t = t ? dync_to_dtype(t, DYNC_BOOL) : NULL;
    return t ? dync_reshape(t, DYNC_SCALAR) : NULL;
}

/* ---- If -------------------------------------------------------------------------------------- */

/* A branch takes nothing: what it reads of its surroundings the tracer finds. */
static dync_value dync__oi_branch(const dync_value *args, int nargs, void *user)
{
    dync__oi_within *w = user;
    dync__onnx_value *out = dync__oi_room(w->body->n_outputs);
    (void)args, (void)nargs;
    if (!out || !dync__oi_within_run(w, 0, NULL, out)) return DYNC_NONE;
    return dync__oi_values(w->body->n_outputs, out);
}

/* Both branches must give the same dtypes and shapes, and the same ONNX types. */
DYNC__FN dync_status dync__oi_if_inside(dync__onnx_call *c, const dync__onnx_body *yes,
                                        const dync__onnx_body *no)
{
    dync__error_guard guard;
    int n = yes->n_outputs;
    int *type = dync__scope_alloc((size_t)(2 * n + 1) * sizeof *type);
    if (!type) return DYNC_ERR_MEMORY;
    dync__oi_within w[2] = {{c, yes, 0, 0, type, NULL, NULL}, {c, no, 0, 0, type + n, NULL, NULL}};
    dync__error_guard_begin(&guard);
    dync_tensor *pred = dync__oi_bool(dync__oi_in(c, 0));
    dync_value r = DYNC_NONE, none = dync__list_new(0);
    if (pred)
        r = dync_cond_values(dync_v_tensor(pred), dync__oi_callee(dync__oi_branch, &w[0]),
                             dync__oi_callee(dync__oi_branch, &w[1]), none, dync__tls.at);
    bool same = dync_len(r) == n;
    for (int i = 0; i < n && same; i++) same = type[i] == type[n + i];
    DYNC__TRY(dync__oi_tried(c, &guard, same));
    return dync__oi_take(c, 0, r, type);
}

/* ---- Loop ------------------------------------------------------------------------------------ */

/* Carried: the round, whether it goes on, the values. */
static dync_value dync__oi_goes_on(const dync_value *args, int nargs, void *user)
{
    dync__oi_within *w = user;
    dync_tensor *on = dync_as_tensor(args[1]);
    dync_tensor *most = w->most != INT64_MAX ? NULL : dync__oi_in(w->c, 0);
    dync_value end = most ? dync_v_tensor(dync_reshape(most, DYNC_SCALAR))
                          : dync__value_of_size(w->most);
    (void)nargs;
    if (w->most == INT64_MAX && !most) return dync_v_tensor(dync_clone(on));
    return dync_v_tensor(dync_logical_and(on, dync_lt(dync_as_tensor(args[0]), end)));
}

/* One round: args are (round, condition, values), and so is the result, with the round counted on.
 */
static dync_value dync__oi_round(const dync_value *args, int nargs, void *user)
{
    dync__oi_within *w = user;
    const dync__onnx_body *b = w->body;
    dync__onnx_value *in = dync__oi_room(b->n_inputs), *out = dync__oi_room(b->n_outputs);
    if (!in || !out || nargs != b->n_inputs) return DYNC_NONE;
    for (int i = 0; i < nargs; i++)
        in[i] = (dync__onnx_value){dync_as_tensor(args[i]), i > 1 ? w->c->in[i].type : 0, NULL};
    in[0].type = DYNC__ONNX_INT64;
    in[1].type = DYNC__ONNX_BOOL;
    if (!dync__oi_within_run(w, b->n_inputs, in, out)) return DYNC_NONE;
    in[0].t = dync_add(in[0].t, 1);
    in[1].t = dync__oi_bool(out[0].t);
    for (int i = 0; i < w->n; i++) in[2 + i].t = out[1 + i].t;
    return in[0].t && in[1].t ? dync__oi_values(nargs, in) : DYNC_NONE;
}

/* most: INT64_MAX: input 0 says, or nothing does. */
DYNC__FN dync_status dync__oi_loop_inside(dync__onnx_call *c, const dync__onnx_body *b,
                                          int64_t most)
{
    dync__error_guard guard;
    const int64_t zero = 0, one = 1;
    int n = b->n_inputs - 2;
    int *type = dync__scope_alloc(((size_t)b->n_outputs + 1) * sizeof *type);
    dync__onnx_value *first = dync__oi_room(b->n_inputs);
    if (!type || !first) return DYNC_ERR_MEMORY;
    dync__oi_within w = {c, b, n, most, type, NULL, NULL};
    dync__error_guard_begin(&guard);
    first[0].t = dync__oi_tensor_i(DYNC_I64, 0, NULL, &zero);
    first[1].t = dync__oi_in(c, 1) ? dync__oi_bool(dync__oi_in(c, 1))
                                   : dync__oi_tensor_i(DYNC_BOOL, 0, NULL, &one);
    for (int i = 0; i < n; i++) first[2 + i] = c->in[2 + i];
    dync_value r = DYNC_NONE;
    if (first[0].t && first[1].t)
        r = dync_while_loop_values(dync__oi_callee(dync__oi_goes_on, &w),
                                   dync__oi_callee(dync__oi_round, &w),
                                   dync__oi_values(n + 2, first), 0, dync__tls.at);
    DYNC__TRY(dync__oi_tried(c, &guard, dync_len(r) == n + 2));
    for (int i = 0; i < n; i++)
        DYNC__TRY(dync__oi_out_typed(c, i, dync_as_tensor(dync_at(r, 2 + i)), type[1 + i]));
    return DYNC_OK;
}

/* ---- Loop with results that grow ------------------------------------------------------------- */

/* Is it one bool that is known, and true? Under a tracer, to which reading it would be an operator.
 */
static bool dync__oi_known_true(const dync_tensor *t)
{
    const dync__tensor *x = dync__peek(t);
    return x && !(x->flags & DYNC__T_FAKE) && x->numel == 1 &&
           dync__load_i64(dync__tensor_data(x), x->dtype);
}

/* How often the body, and what is inside of it, reads a place that is `up` bodies outwards.
 * recursion: bodies inside of nodes */
static int dync__oi_readers(const dync__onnx_body *b, int up, int at)
{
    int n = 0;
    for (int i = 0; i < b->n_steps; i++) {
        const dync__onnx_step *s = &b->step[i];
        for (int k = 0; k < s->node->input.n; k++) n += s->in[k].up == up && s->in[k].at == at;
        for (int k = 0; k < s->node->attribute.n && s->inside; k++)
            if (s->inside[k]) n += dync__oi_readers(s->inside[k], up + 1, at);
    }
    for (int i = 0; i < b->n_outputs; i++) n += b->output[i].up == up && b->output[i].at == at;
    return n;
}

/* Is carried value k of a loop an empty sequence to which each round appends, and does nobody else
 * read it meanwhile (a list in a scripted function)? Then it grows as a scan output does. */
DYNC__FN bool dync__oi_appends(const dync__onnx_call *c, const dync__onnx_body *b, int k)
{
    const dync__onnx_sequence *first = c->in[2 + k].sequence;
    dync__onnx_place to = b->output[1 + k];
    int maker = to.up || to.at < 0 ? -1 : b->maker[to.at];
    if (!first || first->n || first->stacked || maker < 0) return false;
    const dync__onnx_step *s = &b->step[maker];
    return s->row && strcmp(s->row->name, "SequenceInsert") == 0 &&
           (s->node->input.n < 3 || s->in[2].at < 0) && s->in[0].up == 0 && s->in[0].at == 2 + k &&
           dync__oi_readers(b, 0, 2 + k) == 1 && dync__oi_readers(b, 0, to.at) == 1;
}

/* One round of a known number of them: args are the values but what only grows, the rounds'
 * numbers; lists each. The body's condition has to be known as true. */
static dync_value dync__oi_counted_round(const dync_value *args, int nargs, void *user)
{
    dync__oi_within *w = user;
    const dync__onnx_body *b = w->body;
    dync__onnx_value *in = dync__oi_room(b->n_inputs), *out = dync__oi_room(b->n_outputs),
                     *grown = dync__oi_room(b->n_outputs);
    int n_grown = 0, n = 0;
    if (!in || !out || !grown || nargs != 2) return DYNC_NONE;
    in[0] = (dync__onnx_value){dync_as_tensor(dync_at(args[1], 0)), DYNC__ONNX_INT64, NULL};
    in[1] = (dync__onnx_value){w->yes, DYNC__ONNX_BOOL, NULL};
    for (int i = 0; i < w->n; i++) {
        in[2 + i] = w->c->in[2 + i];
        if (!w->appends[i]) in[2 + i].t = dync_as_tensor(dync_at(args[0], n++));
    }
    if (!dync__oi_within_run(w, b->n_inputs, in, out)) return DYNC_NONE;
    if (!dync__oi_known_true(out[0].t)) {
        dync__oi_fail(w->c, DYNC_ERR_DATA_PTR, "data decide how far results grow");
        return DYNC_NONE;
    }
    n = 0;
    for (int i = 1; i < b->n_outputs; i++)
        if (i > w->n || w->appends[i - 1])
            grown[n_grown++] = out[i];
        else
            in[n++] = out[i];
    dync_value both = dync__list_new(2);
    if (both.kind != DYNC_KIND_LIST) return both;
    dync__list_set(both, 0, dync__oi_values(n, in));
    dync__list_set(both, 1, dync__oi_values(n_grown, grown));
    return both;
}

/* Results in the places that they have in the body. */
static dync_status dync__oi_take_grown(dync__onnx_call *c, const dync__oi_within *w,
                                       dync_value last, dync_value all)
{
    for (int i = 1, n = 0, m = 0; i < w->body->n_outputs; i++) {
        bool appends = i <= w->n && w->appends[i - 1], grows = i > w->n || appends;
        dync_tensor *t = dync_as_tensor(grows ? dync_at(all, m++) : dync_at(last, n++));
        DYNC__TRY(appends ? dync__oi_out_stacked(c, i - 1, t, w->type[i])
                          : dync__oi_out_typed(c, i - 1, t, w->type[i]));
    }
    return DYNC_OK;
}

/* A loop with results that grow, of `rounds` rounds (a size): a scan over their numbers. */
DYNC__FN dync_status dync__oi_loop_scan(dync__onnx_call *c, const dync__onnx_body *b,
                                        int64_t rounds)
{
    dync__error_guard guard;
    const int64_t one = 1;
    int n = b->n_inputs - 2, carried = 0;
    int *type = dync__scope_alloc(((size_t)b->n_outputs + 1) * sizeof *type);
    bool *appends = dync__scope_alloc((size_t)n + 1);
    dync__onnx_value *first = dync__oi_room(n);
    if (!type || !appends || !first) return DYNC_ERR_MEMORY;
    for (int i = 0; i < n; i++)
        if (!(appends[i] = dync__oi_appends(c, b, i))) first[carried++] = c->in[2 + i];
    dync__oi_within w = {c,      b, n, rounds, type, dync__oi_tensor_i(DYNC_BOOL, 0, &one, &one),
                         appends};
    if (!w.yes) return DYNC_ERR_MEMORY;
    dync__error_guard_begin(&guard);
    dync__onnx_value count = {dync__oi_arange(0, rounds, 1, DYNC_I64), DYNC__ONNX_INT64, NULL};
    dync_value r = DYNC_NONE;
    if (count.t)
        r = dync_scan_values(dync__oi_callee(dync__oi_counted_round, &w),
                             dync__oi_values(carried, first), dync__oi_values(1, &count), false,
                             dync__tls.at);
    dync_value last = dync_at(r, 0), all = dync_at(r, 1);
    bool made = dync_len(r) == 2 && dync_len(last) == carried &&
                dync_len(all) == b->n_outputs - 1 - carried;
    DYNC__TRY(dync__oi_tried(c, &guard, made));
    return dync__oi_take_grown(c, &w, last, all);
}

/* ---- Scan ------------------------------------------------------------------------------------ */

/* args: the carry, the slices; lists each */
static dync_value dync__oi_step(const dync_value *args, int nargs, void *user)
{
    dync__oi_within *w = user;
    const dync__onnx_body *b = w->body;
    dync__onnx_value *in = dync__oi_room(b->n_inputs), *out = dync__oi_room(b->n_outputs);
    if (!in || !out || nargs != 2) return DYNC_NONE;
    for (int i = 0; i < b->n_inputs; i++) {
        dync_value v = i < w->n ? dync_at(args[0], i) : dync_at(args[1], i - w->n);
        in[i] = (dync__onnx_value){dync_as_tensor(v), w->c->in[i].type, NULL};
    }
    if (!dync__oi_within_run(w, b->n_inputs, in, out)) return DYNC_NONE;
    dync_value both = dync__list_new(2);
    if (both.kind != DYNC_KIND_LIST) return both;
    dync__list_set(both, 0, dync__oi_values(w->n, out));
    dync__list_set(both, 1, dync__oi_values(b->n_outputs - w->n, out + w->n));
    return both;
}

/* a dim of each as the first one, flipped where it goes from the end */
static dync_tensor *dync__oi_scan_along(const dync__onnx_call *c, dync_tensor *t, int k, bool back)
{
    const char *axes = back ? "scan_output_axes" : "scan_input_axes";
    const char *ways = back ? "scan_output_directions" : "scan_input_directions";
    const int64_t *axis, *way;
    int at = 0, n_axes = dync__oi_ints(c, axes, &axis), n_ways = dync__oi_ints(c, ways, &way);
    if (k < n_axes && !dync__oi_axis(c, axis[k], dync__oi_rank(t), &at)) return NULL;
    if (at) t = dync_movedim(t, dync_shape(back ? 0 : at), dync_shape(back ? at : 0));
    return t && k < n_ways && way[k] ? dync_flip(t, dync_shape(back ? at : 0)) : t;
}

/* dync_scan goes along dim 0 forwards: inputs and results are moved and flipped around it. */
DYNC__FN dync_status dync__oi_scan_inside(dync__onnx_call *c, const dync__onnx_body *b, int states)
{
    dync__error_guard guard;
    int scans = b->n_inputs - states, results = b->n_outputs - states;
    int *type = dync__scope_alloc(((size_t)b->n_outputs + 1) * sizeof *type);
    dync__onnx_value *xs = dync__oi_room(scans);
    if (!type || !xs) return DYNC_ERR_MEMORY;
    dync__oi_within w = {c, b, states, 0, type, NULL, NULL};
    dync__error_guard_begin(&guard);
    bool there = true;
    for (int k = 0; k < scans && there; k++)
        there = (xs[k].t = dync__oi_scan_along(c, c->in[states + k].t, k, false)) != NULL;
    dync_value r = DYNC_NONE;
    if (there)
        r = dync_scan_values(dync__oi_callee(dync__oi_step, &w), dync__oi_values(states, c->in),
                             dync__oi_values(scans, xs), false, dync__tls.at);
    dync_value last = dync_at(r, 0), all = dync_at(r, 1);
    for (int k = 0; k < results && dync_len(all) == results; k++) {
        dync_tensor *y = dync__oi_scan_along(c, dync_as_tensor(dync_at(all, k)), k, true);
        if (y) (void)dync__oi_out_typed(c, states + k, y, type[states + k]);
    }
    bool made = dync_len(r) == 2 && dync_len(last) == states && dync_len(all) == results;
    DYNC__TRY(dync__oi_tried(c, &guard, made));
    return dync__oi_take(c, 0, last, type);
}
