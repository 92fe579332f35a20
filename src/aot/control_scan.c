/* aot/control_scan.c: gradients of scans. Before: control_grad.c. */
#include "../dync.in.h"
#include "../autograd/node.h"
#include "../graph/control.h"
#include "aot.h"
#include "control_grad.h"
DYNC__COLD

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
    for (int i = c->n_in; i < c->n_out; i++)
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

DYNC__FN dync_status dync__control_rule_run(dync__grad *g)
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

DYNC__FN void dync__control_held(dync__graph *g, bool hold)
{
    if (hold)
        dync__graph_ref(g);
    else
        dync__graph_unref(g);
}
