/* aot/control_record.c: calls of operators with functions inside as they are recorded, and the row
 * of their rules. Before: control_scan.c. */
#include "../dync.in.h"
#include "../autograd/node.h"
#include "../autograd/tape.h"
#include "../graph/control.h"
#include "aot.h"
#include "control_grad.h"
#include "functionalize.h"
DYNC__COLD

/* ---- what is saved --------------------------------------------------------------------------- */
/* The rule computes again from all arguments, of which what the functions do inside may need none:
 * they are kept as they are now, and may be written. What has no history yet is kept as it is. */
static dync_status dync__record_kept(dync__opcall *c, dync_status (*record)(dync__opcall *))
{
    dync__functional *f = dync__functional_recorder();
    dync__gnode *node = NULL;
    DYNC__TRY(record(c));
    for (int i = 0; f && !node && i < c->nout; i++)
        if (c->out[i] && c->out[i]->grad) node = c->out[i]->grad->node;
    dync__opsave *save = node ? node->state : NULL;
    for (int i = 0; save && i < save->n_in; i++) {
        dync__saved *s = &save->in[i];
        dync__tensor *now = s->t && !s->direct ? dync__functional_as_now(f, s->t) : NULL;
        if (!now) continue;
        dync__unref(s->t);
        s->t = now;
        s->version = now->storage->version;
    }
    return DYNC_OK;
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
    if (c->args[5].as.i || !n_in) return dync__record_kept(c, record);
    if (n_in + n_out > DYNC__MAX_OUT) return dync__rule_too_many("scan", n_in + n_out);
    memcpy(args, c->args, sizeof args);
    DYNC__TRY(dync__graph_rewrite(c->args[0].as.graph, dync__saving_node, &n_in, &saving));
    args[0] = dync__arg_graph(saving);
    args[5] = dync__arg_i(n_in);
    dync__opcall wide = *c;
    wide.args = args;
    dync_status status = dync__record_kept(&wide, record);
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
    return dync__record_kept(c, record);
}
DYNC__DATA const dync__grad_inside dync__control_inside = {
    dync__control_rule_run, dync__control_held, dync__control_recorded, dync__tape_control_really};
