/* aot/control_grad.c: gradients of operators with functions inside. After control.c.
 *
 * Backward of a function f(inputs) is a function of inputs and tangents that computes f again over
 * the tape and walks it; what f computed is not saved.
 *   cond        cond over the backward functions
 *   scan        saves its carried values (as further stacked results of the step); backward is a
 * scan the other way around, whose carry is the gradients of the carry and the sums of
 *               those of what every place uses
 *   while_loop  with a limit a scan of that many places: cond(still on, body, nothing)
 * Without a limit while_loop has no backward (as in PyTorch). */
#include "../dync.in.h"
#include "../autograd/node.h"
#include "../graph/control.h"
#include "aot.h"
DYNC__COLD

static bool dync__control_float(int dtype) { return dync__dtype_info(dtype)->kind == 'f'; }

static dync_status dync__control_refused(dync_status status, const char *why)
{
    if (status != DYNC_ERR_UNSUPPORTED || !why) return status;
    return dync__fail(DYNC_ERR_AUTOGRAD, "backward of a function inside an operator: %s", why);
}

/* ---- the backward of one function ------------------------------------------------------------ */
/* In its inputs: those of the function, then a tangent for each result with tangent[i]. Its
 * results: what `place` makes of the gradients of the inputs with wanted[i] (zeros where there is
 * none). */
typedef struct dync__control_back {
    dync__graph *fn;
    const bool *wanted, *tangent;
    int n_in, n_out, n_wanted;
    dync__tensor **in, **grad; /* of the aside trace; grad: by input, owned */
} dync__control_back;

static dync_status dync__back_walk(dync__aside *a, dync__control_back *b, dync__tensor **out,
                                   dync__tensor *const *tangents)
{
    dync__tensor **wrt = dync__arena_alloc(&a->f.arena, (size_t)(b->n_in + 1) * sizeof *wrt);
    dync__tensor **grad = dync__arena_alloc(&a->f.arena, (size_t)(b->n_in + 1) * sizeof *grad);
    dync__tensor **from = dync__arena_alloc(&a->f.arena, (size_t)(b->n_out + 1) * sizeof *from);
    dync__tensor **gy = dync__arena_alloc(&a->f.arena, (size_t)(b->n_out + 1) * sizeof *gy);
    int n_wrt = 0, n = 0, k = 0;
    if (!wrt || !grad || !from || !gy) return DYNC_ERR_MEMORY;
    for (int i = 0; i < b->n_in; i++)
        if (b->wanted[i]) wrt[n_wrt++] = b->in[i];
    for (int i = 0; i < b->n_out; i++) {
        if (!b->tangent[i]) continue;
        dync__tensor *tangent = tangents[k++];
        if (!dync__tensor_requires_grad(out[i])) continue;
        from[n] = out[i];
        gy[n++] = tangent;
    }
    dync__grad_off(true);
    dync_status status =
        n && n_wrt ? dync__tape_gradients(n, from, gy, n_wrt, wrt, grad, true, false, true)
                   : DYNC_OK;
    for (int i = 0, w = 0; i < b->n_in; i++) {
        if (!b->wanted[i]) continue;
        dync__arg like = dync__arg_t(b->in[i]);
        b->grad[i] = grad[w++];
        if (!b->grad[i] && status == DYNC_OK)
            status = dync__op_run(DYNC__OP_zeros_like, 1, &like, &b->grad[i]);
    }
    return status;
}

/* Gradients of the inputs of b->fn at b->in: b->grad. */
static dync_status dync__back_gradients(dync__aside *a, dync__control_back *b,
                                        dync__tensor *const *tangents)
{
    dync__tensor **out = dync__arena_alloc(&a->f.arena, (size_t)(b->n_out + 1) * sizeof *out);
    b->grad = dync__arena_alloc(&a->f.arena, (size_t)(b->n_in + 1) * sizeof *b->grad);
    if (!out || !b->grad) return DYNC_ERR_MEMORY;
    dync__grad_off(false);
    dync_status status = dync__control_call(b->fn, b->n_in, b->in, b->n_out, out);
    if (status == DYNC_OK) status = dync__back_walk(a, b, out, tangents);
    for (int i = 0; i < b->n_out; i++) dync__unref(out[i]);
    return status;
}

static dync__tensor *dync__back_input(dync__aside *a, const dync__node *like, const char *name,
                                      bool grad)
{
    const dync__info *info = &like->info[0];
    return dync__aside_input(a, name ? name : like->name, info->dtype, info->device, info->lay.ndim,
                             info->lay.shape, grad);
}

static dync_status dync__back_inputs(dync__aside *a, dync__control_back *b, int from, int to)
{
    for (int i = from; i < to; i++)
        if (!(b->in[i] = dync__back_input(a, b->fn->node.at[i], NULL, b->wanted[i])))
            return DYNC_ERR_MEMORY;
    return DYNC_OK;
}

/* Tangents of results [from, to) that have one, at tangents; *n goes on. */
static dync_status dync__back_tangents(dync__aside *a, const dync__control_back *b, int from,
                                       int to, dync__tensor **tangents, int *n)
{
    const dync__arg *results = dync__control_results(b->fn);
    for (int i = from; i < to; i++)
        if (b->tangent[i] && !(tangents[(*n)++] = dync__back_input(a, results->as.list[i].as.node,
                                                                   "tangents", false)))
            return DYNC_ERR_MEMORY;
    return DYNC_OK;
}

static dync_status dync__back_open(dync__aside *a, dync__control_back *b, dync__tensor ***tangents)
{
    b->in = dync__arena_alloc(&a->f.arena, (size_t)(b->n_in + 1) * sizeof *b->in);
    *tangents = dync__arena_alloc(&a->f.arena, (size_t)(b->n_out + 1) * sizeof **tangents);
    return b->in && *tangents ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* fn(inputs, tangents) = gradients of the wanted inputs. */
static dync_status dync__back_plain(dync__control_back *b, dync__graph **out)
{
    dync__aside a;
    dync__tensor **tangents, *results[DYNC__MAX_OUT];
    const char *why = NULL;
    int n = 0;
    DYNC__TRY(dync__aside_begin(&a, b->fn->name, DYNC__DECOMPOSE_NEEDED));
    dync_status status = dync__back_open(&a, b, &tangents);
    if (status == DYNC_OK) status = dync__back_inputs(&a, b, 0, b->n_in);
    if (status == DYNC_OK) status = dync__back_tangents(&a, b, 0, b->n_out, tangents, &n);
    if (status == DYNC_OK) status = dync__back_gradients(&a, b, tangents);
    n = 0;
    for (int i = 0; i < b->n_in && status == DYNC_OK; i++)
        if (b->wanted[i]) results[n++] = b->grad[i];
    if (status == DYNC_OK) status = dync__aside_output(&a, n, results);
    return dync__control_refused(dync__aside_end(&a, status, out, &why), why);
}

/* ---- a rule at work -------------------------------------------------------------------------- */
typedef struct dync__control_rule {
    dync__grad *g;
    dync__control c;
    dync__arena arena;
    dync__tensor **in; /* the call's tensors as they were, in order (borrowed from the scope) */
    dync__tensor **gy; /* by result, NULL: none */
    bool *wanted, *tangent; /* by input of the function; by result */
    int first, n_in;        /* of the tensors: the function's inputs */
} dync__control_rule;

static dync_status dync__rule_open(dync__control_rule *r, dync__grad *g)
{
    memset(r, 0, sizeof *r);
    r->g = g;
    const dync__opcall *call = g->call;
    bool cond = call->op == DYNC__OP_cond;
    /* the tensors in the node's arguments are gone, their places are there */
    static const int lists[2][3] = {{1, 2, 3}, {3, 3, 3}};
    r->c.op = call->op;
    r->c.n_in = call->args[lists[cond][0]].n;
    r->c.n_xs = cond ? 0 : call->args[lists[cond][1]].n;
    r->c.n_more = cond ? 0 : call->args[lists[cond][2]].n;
    r->c.fn[0] = call->args[cond ? 1 : 0].as.graph;
    r->c.fn[1] = cond ? call->args[2].as.graph : NULL;
    r->c.n_out = call->args[cond ? 1 : 0].n;
    r->c.reverse = !cond && call->args[4].as.i;
    r->c.saved = cond ? 0 : (int)call->args[5].as.i;
    r->first = cond;
    r->n_in = r->c.n_in + r->c.n_xs + r->c.n_more;
    size_t n = (size_t)(r->n_in + 2);
    r->in = dync__arena_alloc(&r->arena, n * sizeof *r->in);
    r->wanted = dync__arena_alloc(&r->arena, n);
    r->gy = dync__arena_alloc(&r->arena, (size_t)(r->c.n_out + 1) * sizeof *r->gy);
    r->tangent = dync__arena_alloc(&r->arena, (size_t)(r->c.n_out + 1));
    if (!r->in || !r->wanted || !r->gy || !r->tangent) return DYNC_ERR_MEMORY;
    for (int i = 0; i < r->n_in; i++) {
        r->in[i] = dync__open(dync__grad_arg(g, r->first + i));
        if (!r->in[i]) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_INTERNAL;
        r->wanted[i] = g->needed[r->first + i] && dync__control_float(r->in[i]->dtype);
    }
    for (int i = 0; i < r->c.n_out - r->c.saved; i++) {
        r->gy[i] = g->grad_out[i] ? dync__open(g->grad_out[i]) : NULL;
        const dync__node *of = dync__control_results(r->c.fn[0])->as.list[i].as.node;
        r->tangent[i] = r->gy[i] && dync__control_float(of->info[0].dtype);
    }
    return DYNC_OK;
}

static dync_status dync__rule_set(dync__control_rule *r, int input, dync__tensor *owned)
{
    return dync__grad_set(r->g, r->first + input, dync__give(owned));
}

static int dync__rule_count(const bool *flags, int from, int to)
{
    int n = 0;
    for (int i = from; i < to; i++) n += flags[i];
    return n;
}

static dync_status dync__rule_too_many(const char *op, int n)
{
    return dync__fail(DYNC_ERR_UNSUPPORTED, "backward of %s: expected at most %d gradients, got %d",
                      op, (int)DYNC__MAX_OUT, n);
}

/* ---- cond ------------------------------------------------------------------------------------ */
static dync_status dync__rule_cond_call(dync__control_rule *r, dync__graph *back[2], int n_wanted)
{
    dync__tensor *out[DYNC__MAX_OUT], **in;
    dync__tensor *pred = dync__open(dync__grad_arg(r->g, 0));
    int n = r->n_in;
    in = dync__arena_alloc(&r->arena, (size_t)(r->n_in + r->c.n_out + 1) * sizeof *in);
    if (!in || !pred) return DYNC_ERR_MEMORY;
    memcpy(in, r->in, (size_t)n * sizeof *in);
    for (int i = 0; i < r->c.n_out; i++)
        if (r->tangent[i]) in[n++] = r->gy[i];
    dync__arg args[4] = {dync__arg_t(pred), dync__arg_graph(back[0]), dync__arg_graph(back[1]),
                         dync__control_list(&r->arena, n, in)};
    DYNC__TRY(dync__op_run(DYNC__OP_cond, 4, args, out));
    dync_status status = DYNC_OK;
    for (int i = 0, k = 0; i < r->n_in && k < n_wanted; i++)
        if (r->wanted[i]) {
            dync_status set = dync__rule_set(r, i, out[k++]);
            if (status == DYNC_OK) status = set;
        }
    return status;
}

static dync_status dync__rule_cond(dync__control_rule *r)
{
    dync__graph *back[2] = {NULL};
    int n_wanted = dync__rule_count(r->wanted, 0, r->n_in);
    dync_status status = DYNC_OK;
    if (!n_wanted || !dync__rule_count(r->tangent, 0, r->c.n_out)) return DYNC_OK;
    if (n_wanted > DYNC__MAX_OUT) return dync__rule_too_many("cond", n_wanted);
    for (int k = 0; k < 2 && status == DYNC_OK; k++) {
        dync__control_back b = {.fn = r->c.fn[k],
                                .wanted = r->wanted,
                                .tangent = r->tangent,
                                .n_in = r->n_in,
                                .n_out = r->c.n_out};
        status = dync__back_plain(&b, &back[k]);
    }
    if (status == DYNC_OK) status = dync__rule_cond_call(r, back, n_wanted);
    dync__graph_unref(back[0]);
    dync__graph_unref(back[1]);
    return status;
}

/* ---- scan ------------------------------------------------------------------------------------ */
/* Carry: gradients of the carried floats, then of each wanted `more`. xs: the saved carried values,
 * xs, tangents of the stacked results. more: more. Results: the carry, then gradients of wanted
 * xs. */
typedef struct dync__scan_back {
    dync__control_back b;
    const dync__control *c;
    bool *carried;       /* by carried value: floating */
    dync__tensor **sums; /* of each more; NULL: not wanted */
} dync__scan_back;

static dync_status dync__scan_back_inputs(dync__aside *a, dync__scan_back *s,
                                          dync__tensor **tangents)
{
    const dync__control *c = s->c;
    int n = 0, more = c->n_in + c->n_xs;
    s->sums = dync__arena_alloc(&a->f.arena, (size_t)(c->n_more + 1) * sizeof *s->sums);
    if (!s->sums) return DYNC_ERR_MEMORY;
    DYNC__TRY(dync__back_tangents(a, &s->b, 0, c->n_in, tangents, &n));
    for (int i = 0; i < c->n_more; i++)
        if (s->b.wanted[more + i] &&
            !(s->sums[i] = dync__back_input(a, s->b.fn->node.at[more + i], "sum", false)))
            return DYNC_ERR_MEMORY;
    DYNC__TRY(dync__back_inputs(a, &s->b, 0, more));
    DYNC__TRY(dync__back_tangents(a, &s->b, c->n_in, s->b.n_out, tangents, &n));
    return dync__back_inputs(a, &s->b, more, s->b.n_in);
}

static dync_status dync__scan_back_results(dync__scan_back *s, dync__tensor **results, int *n)
{
    const dync__control *c = s->c;
    int more = c->n_in + c->n_xs;
    *n = 0;
    for (int i = 0; i < c->n_in; i++)
        if (s->carried[i]) results[(*n)++] = s->b.grad[i];
    for (int i = 0; i < c->n_more; i++) {
        if (!s->sums[i]) continue;
        dync__arg args[2] = {dync__arg_t(s->sums[i]), dync__arg_t(s->b.grad[more + i])};
        dync__tensor *sum = NULL;
        DYNC__TRY(dync__op_run(DYNC__OP_add, 2, args, &sum));
        dync__unref(s->b.grad[more + i]);
        results[(*n)++] = s->b.grad[more + i] = sum;
    }
    for (int i = 0; i < c->n_xs; i++)
        if (s->b.wanted[c->n_in + i]) results[(*n)++] = s->b.grad[c->n_in + i];
    return DYNC_OK;
}

static dync_status dync__scan_back_make(dync__scan_back *s, dync__graph **out)
{
    dync__aside a;
    dync__tensor **tangents, *results[DYNC__MAX_OUT];
    const char *why = NULL;
    int n = 0;
    DYNC__TRY(dync__aside_begin(&a, "scan_backward_graph", DYNC__DECOMPOSE_NEEDED));
    dync_status status = dync__back_open(&a, &s->b, &tangents);
    if (status == DYNC_OK) status = dync__scan_back_inputs(&a, s, tangents);
    if (status == DYNC_OK) status = dync__back_gradients(&a, &s->b, tangents);
    if (status == DYNC_OK) status = dync__scan_back_results(s, results, &n);
    if (status == DYNC_OK) status = dync__aside_output(&a, n, results);
    return dync__control_refused(dync__aside_end(&a, status, out, &why), why);
}

static dync_status dync__rule_zeros(dync__tensor *like, dync__tensor **out)
{
    dync__arg arg = dync__arg_t(like);
    DYNC__TRY(dync__op_run(DYNC__OP_zeros_like, 1, &arg, out));
    return dync__give(*out) ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* The tensors of the backward scan; each of them in the scope. */
static dync_status dync__rule_scan_args(dync__control_rule *r, const bool *carried, dync__arg *args)
{
    const dync__control *c = &r->c;
    int n = 0, more = c->n_in + c->n_xs;
    size_t room = (size_t)(r->n_in + 2 * c->n_out + 1);
    dync__tensor **t = dync__arena_alloc(&r->arena, room * sizeof *t);
    if (!t) return DYNC_ERR_MEMORY;
    for (int i = 0; i < c->n_in; i++) {
        if (!carried[i]) continue;
        if (r->gy[i])
            t[n++] = r->gy[i];
        else
            DYNC__TRY(dync__rule_zeros(r->in[i], &t[n++]));
    }
    for (int i = 0; i < c->n_more; i++)
        if (r->wanted[more + i]) DYNC__TRY(dync__rule_zeros(r->in[more + i], &t[n++]));
    args[1] = dync__control_list(&r->arena, n, t);
    n = 0;
    for (int i = 0; i < c->n_in; i++)
        if (!(t[n++] = dync__open(dync__grad_output(r->g, c->n_out - c->saved + i))))
            return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_INTERNAL;
    for (int i = 0; i < c->n_xs; i++) t[n++] = r->in[c->n_in + i];
    for (int i = c->n_in; i < c->n_out - c->saved; i++)
        if (r->tangent[i]) t[n++] = r->gy[i];
    args[2] = dync__control_list(&r->arena, n, t);
    args[3] = dync__control_list(&r->arena, c->n_more, r->in + more);
    args[4] = dync__arg_b(!c->reverse);
    args[5] = dync__arg_i(0);
    return DYNC_OK;
}

static dync_status dync__rule_scan_set(dync__control_rule *r, const bool *carried,
                                       dync__tensor **out)
{
    const dync__control *c = &r->c;
    int k = 0, more = c->n_in + c->n_xs;
    dync_status status = DYNC_OK;
    for (int i = 0; i < c->n_in; i++) {
        if (!carried[i]) continue;
        dync_status set = dync__rule_set(r, i, out[k++]);
        if (status == DYNC_OK) status = set;
    }
    for (int i = 0; i < c->n_more + c->n_xs; i++) {
        int at = i < c->n_more ? more + i : c->n_in + i - c->n_more;
        if (!r->wanted[at]) continue;
        dync_status set = dync__rule_set(r, at, out[k++]);
        if (status == DYNC_OK) status = set;
    }
    return status;
}

static dync_status dync__rule_scan(dync__control_rule *r)
{
    const dync__control *c = &r->c;
    dync__tensor *out[DYNC__MAX_OUT];
    dync__arg args[6];
    dync__graph *back = NULL;
    bool *carried = dync__arena_alloc(&r->arena, (size_t)(c->n_in + 1));
    bool *wanted = dync__arena_copy(&r->arena, r->wanted, (size_t)(r->n_in + 1));
    bool *tangent = dync__arena_copy(&r->arena, r->tangent, (size_t)(c->n_out + 1));
    if (!carried || !wanted || !tangent) return DYNC_ERR_MEMORY;
    if (!dync__rule_count(r->tangent, 0, c->n_out)) return DYNC_OK;
    if (c->saved != c->n_in)
        return dync__fail(DYNC_ERR_INTERNAL, "backward of scan: its carried values are not saved");
    for (int i = 0; i < c->n_in; i++)
        wanted[i] = tangent[i] = carried[i] = dync__control_float(r->in[i]->dtype);
    int n_grads = dync__rule_count(carried, 0, c->n_in) +
                  dync__rule_count(wanted, c->n_in, r->n_in);
    if (n_grads > DYNC__MAX_OUT) return dync__rule_too_many("scan", n_grads);
    if (!n_grads) return DYNC_OK;
    dync__scan_back s = {.c = c, .carried = carried};
    s.b = (dync__control_back){
        .fn = c->fn[0], .wanted = wanted, .tangent = tangent, .n_in = r->n_in, .n_out = c->n_out};
    dync_status status = dync__scan_back_make(&s, &back);
    if (status == DYNC_OK) status = dync__rule_scan_args(r, carried, args);
    if (status == DYNC_OK) {
        args[0] = dync__arg_graph(back);
        status = dync__op_run(DYNC__OP_scan, 6, args, out);
    }
    dync__graph_unref(back);
    return status == DYNC_OK ? dync__rule_scan_set(r, carried, out) : status;
}

static dync_status dync__control_rule_run(dync__grad *g)
{
    dync__control_rule r;
    if (g->call->op == DYNC__OP_while_loop)
        return dync__fail(DYNC_ERR_AUTOGRAD,
                          "while_loop: backward of a compiled loop wants a limit: "
                          "dync_while_loop_limit");
    dync_status status = dync__rule_open(&r, g);
    if (status == DYNC_OK)
        status = g->call->op == DYNC__OP_cond ? dync__rule_cond(&r) : dync__rule_scan(&r);
    dync__arena_free(&r.arena);
    return status;
}

static void dync__control_held(dync__graph *g, bool hold)
{
    if (hold)
        dync__graph_ref(g);
    else
        dync__graph_unref(g);
}

/* ---- calls that are recorded ----------------------------------------------------------------- */
static dync__node *dync__saving_node(dync__rewrite *r, dync__node *old)
{
    int n_in = *(int *)r->user;
    if (old->kind != DYNC__N_OUTPUT) return dync__rewrite_copy(r, old);
    dync__arg list = old->args[0];
    dync__arg *items =
        dync__arena_alloc(&r->to->arena, (size_t)(list.n + n_in + 1) * sizeof *items);
    if (!items) return NULL;
    for (int i = 0; i < list.n; i++)
        if (!dync__rewrite_arg(r, &list.as.list[i], &items[i])) return NULL;
    for (int i = 0; i < n_in; i++)
        items[list.n + i] = dync__arg_node(dync__rewrite_at(r, r->from->node.at[i]));
    list.n += n_in;
    list.as.list = items;
    return dync__graph_output(r->to, &list);
}

/* scan with its carried values as further results. */
static dync_status dync__record_scan(dync__opcall *c, dync_status (*record)(dync__opcall *))
{
    dync__arg args[6];
    dync__graph *saving = NULL;
    int n_in = c->args[1].n, n_out = c->args[0].n;
    if (c->args[5].as.i || !n_in) return record(c);
    if (n_in + n_out > DYNC__MAX_OUT) return dync__rule_too_many("scan", n_in + n_out);
    memcpy(args, c->args, sizeof args);
    DYNC__TRY(dync__graph_rewrite(c->args[0].as.graph, dync__saving_node, &n_in, &saving));
    args[0] = dync__arg_graph(saving);
    args[5] = dync__arg_i(n_in);
    dync__opcall wide = *c;
    wide.args = args;
    dync_status status = record(&wide);
    for (int i = 0; i < wide.nout && status == DYNC_OK; i++) {
        if (i < n_out)
            c->out[i] = wide.out[i];
        else
            dync__unref(wide.out[i]);
    }
    c->nout = status == DYNC_OK ? n_out : 0;
    dync__graph_unref(saving);
    return status;
}

/* The step of a bounded loop: (still on, values) to the same, one round later. */
static dync_status dync__bounded_body(dync__aside *a, dync__control *c, dync__graph *nothing)
{
    int n = c->n_in + c->n_more;
    dync__tensor **in = dync__arena_alloc(&a->f.arena, (size_t)(n + 1) * sizeof *in);
    dync__tensor *out[DYNC__MAX_OUT + 1], *test = NULL, *on;
    if (!in) return DYNC_ERR_MEMORY;
    on = dync__aside_input(a, "on", DYNC_BOOL,
                           dync__control_results(c->test)->as.list[0].as.node->info[0].device, 0,
                           NULL, false);
    for (int i = 0; i < c->n_in && on; i++)
        if (!(in[i] = dync__back_input(a, c->fn[0]->node.at[i], NULL, false)))
            return DYNC_ERR_MEMORY;
    int64_t none = 0;
    if (!on || !dync__aside_input(a, "round", DYNC_I64, on->device, 0, &none, false))
        return DYNC_ERR_MEMORY;
    for (int i = c->n_in; i < n; i++)
        if (!(in[i] = dync__back_input(a, c->fn[0]->node.at[i], NULL, false)))
            return DYNC_ERR_MEMORY;
    DYNC__TRY(dync__control_call(c->test, n, in, 1, &test));
    dync__arg both[2] = {dync__arg_t(on), dync__arg_t(test)};
    dync_status status = dync__op_run(DYNC__OP_logical_and, 2, both, &out[0]);
    dync__unref(test);
    DYNC__TRY(status);
    dync__arg args[4] = {dync__arg_t(out[0]), dync__arg_graph(c->fn[0]), dync__arg_graph(nothing),
                         dync__control_list(&a->f.arena, n, in)};
    status = dync__op_run(DYNC__OP_cond, 4, args, out + 1);
    if (status != DYNC_OK) {
        dync__unref(out[0]);
        return status;
    }
    return dync__aside_output(a, c->n_in + 1, out);
}

/* What stops changes nothing: the function's inputs. */
static dync_status dync__bounded_nothing(const dync__control *c, dync__graph **out)
{
    dync__rewrite r;
    dync__node *nodes[DYNC__MAX_OUT];
    dync_status status = dync__rewrite_begin(&r, NULL, "nothing");
    for (int i = 0; i < c->n_in + c->n_more && status == DYNC_OK; i++) {
        const dync__node *in = c->fn[0]->node.at[i];
        dync__node *n = dync__graph_placeholder(r.to, in->name, NULL, &in->info[0]);
        if (!n) status = DYNC_ERR_MEMORY;
        if (i < c->n_in) nodes[i] = n;
    }
    if (status == DYNC_OK) status = dync__graph_output_list(r.to, c->n_in, nodes);
    return dync__rewrite_end(&r, status, out);
}

static dync_status dync__bounded_step(dync__control *c, dync__graph **out)
{
    dync__aside a;
    dync__graph *nothing = NULL;
    const char *why = NULL;
    *out = NULL;
    DYNC__TRY(dync__bounded_nothing(c, &nothing));
    dync_status status = dync__aside_begin(&a, "bounded_graph", DYNC__DECOMPOSE_IMPLICIT);
    if (status == DYNC_OK) {
        status = dync__bounded_body(&a, c, nothing);
        status = dync__control_refused(dync__aside_end(&a, status, out, &why), why);
    }
    dync__graph_unref(nothing);
    return status;
}

/* A loop of at most so many rounds as a scan over them. */
static dync_status dync__record_while(dync__opcall *c, dync_status (*record)(dync__opcall *))
{
    dync__control w;
    dync__arena arena = {0};
    dync__graph *step = NULL;
    dync__tensor *out[DYNC__MAX_OUT], *rounds = NULL, *on = NULL;
    DYNC__TRY(dync__control_open(&w, c->op, c->nargs, c->args));
    if (w.most <= 0 || w.n_in + 1 > DYNC__MAX_OUT) return record(c);
    DYNC__TRY(dync__bounded_step(&w, &step));
    int device = dync__control_results(w.test)->as.list[0].as.node->info[0].device;
    dync__arg zeros[3] = {dync__arg_dims(1, &w.most), dync__arg_dtype(DYNC_I64),
                          dync__arg_device(device)};
    dync__arg one[3] = {dync__arg_dims(0, &w.most), dync__arg_dtype(DYNC_BOOL),
                        dync__arg_device(device)};
    dync_status status = dync__op_run(DYNC__OP_zeros, 3, zeros, &rounds);
    if (status == DYNC_OK) status = dync__op_run(DYNC__OP_ones, 3, one, &on);
    dync__arg *init = dync__arena_alloc(&arena, (size_t)(w.n_in + 1) * sizeof *init);
    if (status == DYNC_OK && !init) status = DYNC_ERR_MEMORY;
    if (status == DYNC_OK) {
        init[0] = dync__arg_t(on);
        memcpy(init + 1, w.in, (size_t)w.n_in * sizeof *init);
        dync__arg args[6] = {dync__arg_graph(step),
                             {.kind = DYNC__A_LIST, .n = w.n_in + 1, .as = {.list = init}},
                             dync__control_list(&arena, 1, &rounds),
                             {.kind = DYNC__A_LIST, .n = w.n_more, .as = {.list = w.more}},
                             dync__arg_b(false),
                             dync__arg_i(0)};
        status = dync__op_run(DYNC__OP_scan, 6, args, out);
    }
    for (int i = 0; i <= w.n_in && status == DYNC_OK; i++) {
        if (i)
            c->out[i - 1] = out[i];
        else
            dync__unref(out[0]);
    }
    c->nout = status == DYNC_OK ? w.n_in : 0;
    dync__unref(rounds);
    dync__unref(on);
    dync__graph_unref(step);
    dync__arena_free(&arena);
    return status;
}

static dync_status dync__control_recorded(dync__opcall *c, dync_status (*record)(dync__opcall *))
{
    if (c->op == DYNC__OP_scan) return dync__record_scan(c, record);
    if (c->op == DYNC__OP_while_loop) return dync__record_while(c, record);
    return record(c);
}
DYNC__DATA const dync__grad_inside dync__control_inside = {
    dync__control_rule_run, dync__control_held, dync__control_recorded};
