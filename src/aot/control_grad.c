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
#include "control_grad.h"
DYNC__COLD

DYNC__FN bool dync__control_float(int dtype) { return dync__dtype_info(dtype)->kind == 'f'; }

DYNC__FN dync_status dync__control_refused(dync_status status, const char *why)
{
    if (status != DYNC_ERR_UNSUPPORTED || !why) return status;
    return dync__fail(DYNC_ERR_AUTOGRAD, "backward of a function inside an operator: %s", why);
}

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
DYNC__FN dync_status dync__back_gradients(dync__aside *a, dync__control_back *b,
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

DYNC__FN dync__tensor *dync__back_input(dync__aside *a, const dync__node *like, const char *name,
                                        bool grad)
{
    const dync__info *info = &like->info[0];
    return dync__aside_input(a, name ? name : like->name, info->dtype, info->device, info->lay.ndim,
                             info->lay.shape, grad);
}

DYNC__FN dync_status dync__back_inputs(dync__aside *a, dync__control_back *b, int from, int to)
{
    for (int i = from; i < to; i++)
        if (!(b->in[i] = dync__back_input(a, b->fn->node.at[i], NULL, b->wanted[i])))
            return DYNC_ERR_MEMORY;
    return DYNC_OK;
}

/* Tangents of results [from, to) that have one, at tangents; *n goes on. */
DYNC__FN dync_status dync__back_tangents(dync__aside *a, const dync__control_back *b, int from,
                                         int to, dync__tensor **tangents, int *n)
{
    const dync__arg *results = dync__control_results(b->fn);
    for (int i = from; i < to; i++)
        if (b->tangent[i] && !(tangents[(*n)++] = dync__back_input(a, results->as.list[i].as.node,
                                                                   "tangents", false)))
            return DYNC_ERR_MEMORY;
    return DYNC_OK;
}

DYNC__FN dync_status dync__back_open(dync__aside *a, dync__control_back *b,
                                     dync__tensor ***tangents)
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

DYNC__FN dync_status dync__rule_open(dync__control_rule *r, dync__grad *g)
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
    /* of what was saved, too: a gradient that is differentiated again comes from it */
    for (int i = 0; i < r->c.n_out; i++) {
        r->gy[i] = g->grad_out[i] ? dync__open(g->grad_out[i]) : NULL;
        const dync__node *of = dync__control_results(r->c.fn[0])->as.list[i].as.node;
        r->tangent[i] = r->gy[i] && dync__control_float(of->info[0].dtype);
    }
    return DYNC_OK;
}

DYNC__FN dync_status dync__rule_set(dync__control_rule *r, int input, dync__tensor *owned)
{
    return dync__grad_set(r->g, r->first + input, dync__give(owned));
}

DYNC__FN int dync__rule_count(const bool *flags, int from, int to)
{
    int n = 0;
    for (int i = from; i < to; i++) n += flags[i];
    return n;
}

DYNC__FN dync_status dync__rule_too_many(const char *op, int n)
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

DYNC__FN dync_status dync__rule_cond(dync__control_rule *r)
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
