/* graph/control.c: operators with functions inside: what they give, and how they run: an if, a
 * loop, through the interpreter. After run.c; capture/control.c makes such calls, aot/ makes their
 * functions functional and differentiates them, inductor/control.c compiles them.
 *
 * Meaning: torch.cond, torch._higher_order_ops.scan and while_loop (PyTorch 2.5).
 *
 *   cond        (pred, true, false, [operands])         true(operands) or false(operands)
 *   scan        (body, [carried], [xs], [more], reverse, saved)
 *               for each place k of xs:  carried, ys[k] = body(carried, xs[k].., more)
 *               gives carried, then the ys stacked along a new first dim
 *   while_loop  (test, body, [carried], [more], most)   while test(..): carried = body(..) */
#include "../dync.in.h"
#include "control.h"
DYNC__COLD

/* ---- arguments ------------------------------------------------------------------------------- */
DYNC__FN const dync__arg *dync__control_results(const dync__graph *g)
{
    const dync__node *out = g && g->node.n ? g->node.at[g->node.n - 1] : NULL;
    if (!out || out->kind != DYNC__N_OUTPUT || out->args[0].kind != DYNC__A_LIST) return NULL;
    for (int i = 0; i < out->args[0].n; i++) {
        const dync__arg *a = &out->args[0].as.list[i];
        if (a->kind != DYNC__A_NODE || !a->as.node->has_info || a->as.node->nout != 1) return NULL;
    }
    return &out->args[0];
}

/* n is how many values the function gives: outputs of the operator are counted by it. */
DYNC__FN dync__arg dync__arg_graph(dync__graph *g)
{
    const dync__arg *results = dync__control_results(g);
    dync__arg a = {.kind = DYNC__A_GRAPH, .n = results ? results->n : 0};
    a.as.graph = g;
    return a;
}

/* The list lies in the arena, tensors are borrowed. NONE: no memory. */
DYNC__FN dync__arg dync__control_list(dync__arena *arena, int n, dync__tensor *const *t)
{
    dync__arg list = {.kind = DYNC__A_LIST, .n = n};
    list.as.list = dync__arena_alloc(arena, (size_t)(n + 1) * sizeof *list.as.list);
    if (!list.as.list) return dync__arg_none();
    for (int i = 0; i < n; i++) list.as.list[i] = dync__arg_t(t[i]);
    return list;
}

/* Callers of operators have checked kinds before: it is the library's fault. */
static dync_status dync__control_wrong(const char *op)
{
    return dync__fail(DYNC_ERR_INTERNAL, "%s: its arguments are of other kinds", op);
}

/* kinds: one letter for each argument: t a tensor or node, g a graph, l a list, b a bool, i an
 * integer. c's pointers are into args. */
DYNC__FN dync_status dync__control_open(dync__control *c, int op, int nargs, dync__arg *args)
{
    static const char kinds[][8] = {"tggl", "glllbi", "gglli"};
    bool cond = op == DYNC__OP_cond, scan = op == DYNC__OP_scan;
    const char *want = kinds[cond ? 0 : scan ? 1 : 2], *name = dync__op_info(op)->name;
    memset(c, 0, sizeof *c);
    c->op = op;
    if (nargs != (int)strlen(want)) return dync__control_wrong(name);
    for (int i = 0; i < nargs; i++) {
        int kind = args[i].kind;
        bool tensor = kind == DYNC__A_TENSOR || kind == DYNC__A_NODE;
        if (!(want[i] == 't'   ? tensor
              : want[i] == 'g' ? kind == DYNC__A_GRAPH && args[i].as.graph
              : want[i] == 'l' ? kind == DYNC__A_LIST
              : want[i] == 'b' ? kind == DYNC__A_BOOL
                               : kind == DYNC__A_INT))
            return dync__control_wrong(name);
    }
    dync__arg *lists = args + (cond ? 3 : scan ? 1 : 2);
    c->pred = cond ? &args[0] : NULL;
    c->test = cond || scan ? NULL : args[0].as.graph;
    c->fn[0] = args[scan ? 0 : 1].as.graph;
    c->fn[1] = cond ? args[2].as.graph : NULL;
    c->in = lists[0].as.list;
    c->n_in = lists[0].n;
    if (scan) {
        c->xs = lists[1].as.list;
        c->n_xs = lists[1].n;
        c->reverse = args[4].as.i != 0;
        c->saved = (int)args[5].as.i;
    }
    if (!cond) {
        c->more = lists[1 + scan].as.list;
        c->n_more = lists[1 + scan].n;
    }
    if (!cond && !scan) c->most = args[4].as.i;
    c->n_out = args[scan ? 0 : 1].n;
    return DYNC_OK;
}

/* ---- types ----------------------------------------------------------------------------------- */
/* "what i: expected f32[2], got f32[3]". */
static dync_status dync__control_differ(const char *what, int i, int dtype, const dync__layout *lay,
                                        const dync__info *want)
{
    dync__str a = {0}, b = {0};
    dync__str_add(&a, dync__dtype_info(dtype)->fx);
    dync__shape_text(&a, lay->ndim, lay->shape);
    dync__str_add(&b, dync__dtype_info(want->dtype)->fx);
    dync__shape_text(&b, want->lay.ndim, want->lay.shape);
    dync_status status = dync__fail(DYNC_ERR_VALUE, "%s %d: expected %s, got %s", what, i,
                                    dync__str_get(&b), dync__str_get(&a));
    dync__str_free(&a);
    dync__str_free(&b);
    return status;
}

/* Has a value the type that a function says? slice: without its first dim. */
static bool dync__control_same(int dtype, const dync__layout *lay, bool slice,
                               const dync__info *want)
{
    int skip = slice && lay->ndim > 0;
    return dtype == want->dtype && lay->ndim - skip == want->lay.ndim &&
           dync__sz_same(want->lay.ndim, lay->shape + skip, want->lay.shape);
}

/* n values against inputs *at, .. of g; *at moves behind them. slices: of each value without its
 * first dim. */
static dync_status dync__control_takes(const dync__graph *g, int *at, int n, const dync__arg *list,
                                       bool slices)
{
    for (int i = 0; i < n; i++, ++*at) {
        const dync__tensor *t = list[i].kind == DYNC__A_TENSOR ? list[i].as.t : NULL;
        const dync__node *in = *at < g->n_inputs ? g->node.at[*at] : NULL;
        if (!t || !in || !in->has_info || (slices && t->lay.ndim == 0))
            return dync__fail(DYNC_ERR_VALUE, "its function takes %d tensors, not these",
                              g->n_inputs);
        if (!dync__control_same(t->dtype, &t->lay, slices, &in->info[0]))
            return dync__control_differ("operand", *at, t->dtype, &t->lay, &in->info[0]);
    }
    return DYNC_OK;
}

/* Carried values, slices, more: as many as the function takes, of their types. */
static dync_status dync__control_check_inputs(const dync__control *c, const dync__graph *g,
                                              bool slices)
{
    int at = 0;
    DYNC__TRY(dync__control_takes(g, &at, c->n_in, c->in, false));
    if (slices) DYNC__TRY(dync__control_takes(g, &at, c->n_xs, c->xs, true));
    DYNC__TRY(dync__control_takes(g, &at, c->n_more, c->more, false));
    return at == g->n_inputs ? DYNC_OK
                             : dync__fail(DYNC_ERR_VALUE, "its function takes %d tensors, got %d",
                                          g->n_inputs, at);
}

/* What result i of the function is. */
static const dync__info *dync__control_result(const dync__graph *g, int i)
{
    return &dync__control_results(g)->as.list[i].as.node->info[0];
}

/* Both functions must give the same types; the operator gives those of the first. */
static dync_status dync__control_check_cond(const dync__control *c)
{
    const dync__tensor *pred = c->pred->as.t;
    const dync__arg *other = dync__control_results(c->fn[1]);
    if (pred->dtype != DYNC_BOOL || pred->numel != 1)
        return dync__fail(DYNC_ERR_VALUE,
                          "pred: expected a bool tensor of one element, got %s[%lld elements]",
                          dync__dtype_info(pred->dtype)->fx, (long long)pred->numel);
    DYNC__TRY(dync__control_check_inputs(c, c->fn[1], false));
    if (!other || other->n != c->n_out)
        return dync__fail(DYNC_ERR_VALUE,
                          "expected as many results of both functions, got %d and %d", c->n_out,
                          other ? other->n : 0);
    for (int i = 0; i < c->n_out; i++) {
        const dync__info *a = dync__control_result(c->fn[0], i),
                         *b = dync__control_result(c->fn[1], i);
        if (!dync__control_same(b->dtype, &b->lay, false, a))
            return dync__control_differ("the functions differ in result", i, b->dtype, &b->lay, a);
    }
    return DYNC_OK;
}

/* A carried value keeps its type from round to round. */
static dync_status dync__control_check_carried(const dync__control *c)
{
    if (c->n_out < c->n_in)
        return dync__fail(DYNC_ERR_VALUE, "expected %d carried values back, got %d", c->n_in,
                          c->n_out);
    for (int i = 0; i < c->n_in; i++) {
        const dync__info *r = dync__control_result(c->fn[0], i),
                         *in = &c->fn[0]->node.at[i]->info[0];
        if (!dync__control_same(r->dtype, &r->lay, false, in))
            return dync__control_differ("carried value", i, r->dtype, &r->lay, in);
    }
    return DYNC_OK;
}

/* The condition sees the same values as the body. */
static dync_status dync__control_check_while(const dync__control *c)
{
    const dync__arg *test = dync__control_results(c->test);
    DYNC__TRY(dync__control_check_inputs(c, c->test, false));
    if (!test || test->n != 1 || dync__control_result(c->test, 0)->dtype != DYNC_BOOL ||
        dync__control_result(c->test, 0)->lay.ndim != 0)
        return dync__fail(DYNC_ERR_VALUE, "expected a bool scalar tensor of its condition");
    if (c->n_out != c->n_in)
        return dync__fail(DYNC_ERR_VALUE, "expected %d carried values back, got %d", c->n_in,
                          c->n_out);
    return dync__control_check_carried(c);
}

/* All xs are of one length, which may be symbolic. */
static dync_status dync__control_check_scan(const dync__control *c)
{
    if (!c->n_xs || c->saved < 0 || c->saved > c->n_out - c->n_in)
        return dync__fail(DYNC_ERR_VALUE, "expected values to go through");
    const dync__tensor *x = c->xs[0].as.t;
    for (int i = 1; i < c->n_xs; i++)
        if (!dync__sz_eq(c->xs[i].as.t->lay.shape[0], x->lay.shape[0]))
            return dync__fail(DYNC_ERR_SHAPE, "lengths %lld and %lld differ",
                              (long long)x->lay.shape[0], (long long)c->xs[i].as.t->lay.shape[0]);
    return dync__control_check_carried(c);
}

/* Dense and row major. length: of a new first dim; -1: none. */
static dync_status dync__control_info(const dync__info *from, int64_t length, dync__info *out)
{
    int64_t shape[DYNC_MAX_DIMS];
    int skip = length >= 0;
    DYNC__TRY(dync__check_rank(from->lay.ndim + skip));
    shape[0] = length;
    memcpy(shape + skip, from->lay.shape, (size_t)from->lay.ndim * sizeof *shape);
    *out = (dync__info){.dtype = from->dtype, .device = from->device, .alias = -1};
    return dync__layout_contiguous(&out->lay, from->lay.ndim + skip, shape);
}

/* The inference of the three rows: checks everything, out has c.n_out infos. */
DYNC__FN dync_status dync__control_types(const dync__opcall *call, dync__info *out)
{
    dync__control c;
    DYNC__TRY(dync__control_open(&c, call->op, call->nargs, call->args));
    bool scan = call->op == DYNC__OP_scan;
    if (c.n_out < 1 || c.n_out > DYNC__MAX_OUT)
        return dync__fail(DYNC_ERR_UNSUPPORTED, "%s: expected 1 to %d results, got %d",
                          call->row->name, (int)DYNC__MAX_OUT, c.n_out);
    DYNC__TRY(dync__control_check_inputs(&c, c.fn[0], scan));
    DYNC__TRY(call->op == DYNC__OP_cond ? dync__control_check_cond(&c)
              : scan                    ? dync__control_check_scan(&c)
                                        : dync__control_check_while(&c));
    for (int i = 0; i < c.n_out; i++) {
        bool stacked = scan && i >= c.n_in;
        DYNC__TRY(dync__control_info(dync__control_result(c.fn[0], i),
                                     stacked ? c.xs[0].as.t->lay.shape[0] : -1, &out[i]));
    }
    return DYNC_OK;
}
DYNC__DATA dync_status (*dync__control_infer)(const dync__opcall *,
                                              dync__info *) = dync__control_types;
