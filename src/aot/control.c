/* aot/control.c: functions inside operators become functional graphs of lowered operators, as the
 * graph around them does: each is interpreted once more over fakes, with a recorder of its own.
 * After joint.c, before control_grad.c.
 *
 * From here on every function takes dense row-major tensors and gives dense row-major tensors in
 * new memory: a plan of it can be given any place to write to. */
#include "../dync.in.h"
#include "../graph/control.h"
#include "aot.h"
DYNC__COLD

/* ---- a graph made aside ---------------------------------------------------------------------- */
DYNC__FN dync_status dync__aside_begin(dync__aside *a, const char *name, int decompose)
{
    memset(a, 0, sizeof *a);
    dync__graph *g = dync__graph_new(name);
    if (!g) return DYNC_ERR_MEMORY;
    dync__functional_begin(&a->f, g, &a->into);
    a->f.decompose = decompose;
    a->top = dync__handler_swap(NULL);
    a->bottom = dync__bottom_swap(&a->f.handler);
    a->grad_off = dync__grad_off(true);
    return DYNC_OK;
}

DYNC__FN dync__tensor *dync__aside_input(dync__aside *a, const char *name, int dtype, int device,
                                         int ndim, const int64_t *shape, bool requires_grad)
{
    dync__info info = {.dtype = dtype, .device = device, .alias = -1};
    if (dync__layout_contiguous(&info.lay, ndim, shape) != DYNC_OK) return NULL;
    return dync__functional_input(&a->f, name, &info, requires_grad, -1);
}

static dync_status dync__aside_one(int op, dync__tensor **t)
{
    dync__arg arg = dync__arg_t(*t);
    dync__tensor *other = NULL;
    DYNC__TRY((dync__op_run)(op, 1, &arg, &other));
    dync__unref(*t);
    *t = other;
    return DYNC_OK;
}

/* Is the node memory of its own that no earlier result has? */
static bool dync__aside_own(const dync__node *n, int earlier, dync__node *const *nodes)
{
    const dync__node *of = n->op == DYNC__NODE_GETITEM ? n->args[0].as.node : n;
    if (of->kind == DYNC__N_PLACEHOLDER || of->op < 0 || n->info[0].lay.offset) return false;
    const dync__op_row *row = dync__op_info(of->op);
    if (row->cls == DYNC__VIEW || (row->flags & DYNC__OP_MAY_ALIAS)) return false;
    for (int i = 0; i < earlier; i++)
        if (nodes[i] == n) return false;
    return true;
}

DYNC__FN dync_status dync__aside_output(dync__aside *a, int n, dync__tensor **t)
{
    dync__node **nodes = dync__arena_alloc(&a->f.arena, (size_t)(n + 1) * sizeof *nodes);
    dync_status status = nodes ? DYNC_OK : DYNC_ERR_MEMORY;
    for (int i = 0; i < n && status == DYNC_OK; i++) {
        if (!dync__layout_is_contiguous(&t[i]->lay))
            status = dync__aside_one(DYNC__USED(DYNC__OP_contiguous), &t[i]);
        if (status == DYNC_OK && !(nodes[i] = dync__functional_node(&a->f, t[i])))
            status = DYNC_ERR_INTERNAL;
        if (status != DYNC_OK || dync__aside_own(nodes[i], i, nodes)) continue;
        status = dync__aside_one(DYNC__USED(DYNC__OP_clone), &t[i]);
        if (status == DYNC_OK && !(nodes[i] = dync__functional_node(&a->f, t[i])))
            status = DYNC_ERR_INTERNAL;
    }
    for (int i = 0; i < n; i++) dync__unref(t[i]);
    return status == DYNC_OK ? dync__graph_output_list(a->f.graph, n, nodes) : status;
}

/* Real tensors met inside (constants of decompositions) are not inputs of the operator. */
static dync_status dync__aside_settle(dync__aside *a)
{
    dync__graph *g = a->f.graph;
    if (a->into.actual.n) return dync__functional_refuse(&a->f, "a tensor of a function inside");
    if (a->into.random) return dync__functional_refuse(&a->f, "random numbers inside a function");
    DYNC__TRY(dync__graph_pass(DYNC__PASS_dce, g));
    DYNC__TRY(dync__graph_pass(DYNC__PASS_cse, g));
    DYNC__TRY(dync__graph_pass(DYNC__PASS_dce, g));
    DYNC__TRY(dync__graph_pass(DYNC__PASS_rolls, g));
    return dync__graph_pass(DYNC__PASS_slices, g);
}

DYNC__FN dync_status dync__aside_end(dync__aside *a, dync_status status, dync__graph **out,
                                     const char **why)
{
    dync__graph *g = a->f.graph;
    dync__grad_off(a->grad_off);
    dync__bottom_swap(a->bottom);
    dync__handler_swap(a->top);
    if (status == DYNC_OK) status = dync__aside_settle(a);
    *why = a->f.why;
    dync__functional_end(&a->f);
    a->f.graph = NULL;
    dync__aot_graphs_free(&a->into);
    *out = status == DYNC_OK ? g : NULL;
    if (status != DYNC_OK) dync__graph_unref(g);
    return status;
}

/* ---- the functions of a call ----------------------------------------------------------------- */
static dync_status dync__control_functional_body(dync__aside *a, dync__graph *g)
{
    int n = g->n_inputs, n_out = dync__control_results(g)->n;
    dync__tensor **in = dync__arena_alloc(&a->f.arena, (size_t)(n + 1) * sizeof *in);
    dync__tensor **out = dync__arena_alloc(&a->f.arena, (size_t)(n_out + 1) * sizeof *out);
    if (!in || !out) return DYNC_ERR_MEMORY;
    for (int i = 0; i < n; i++) {
        const dync__node *p = g->node.at[i];
        const dync__info *info = &p->info[0];
        in[i] = dync__aside_input(a, p->name, info->dtype, info->device, info->lay.ndim,
                                  info->lay.shape, false);
        if (!in[i]) return DYNC_ERR_MEMORY;
    }
    DYNC__TRY(dync__control_call(g, n, in, n_out, out));
    DYNC__TRY(dync__aside_output(a, n_out, out));
    for (int i = 0; i < n; i++)
        if (dync__functional_mutated(in[i]))
            return dync__functional_refuse(&a->f, "a function inside writes its input");
    return DYNC_OK;
}

static dync_status dync__control_functional(dync__functional *f, dync__graph *g, dync__graph **out)
{
    dync__aside a;
    const char *why = NULL;
    *out = NULL;
    DYNC__TRY(dync__aside_begin(&a, g->name, f->decompose));
    a.f.keeps = f->keeps;
    dync_status status = dync__control_functional_body(&a, g);
    status = dync__aside_end(&a, status, out, &why);
    if (status == DYNC_ERR_UNSUPPORTED && why) return dync__functional_refuse(f, why);
    return status;
}

/* Tensors that are not dense as copies that are, held by the trace. */
static dync_status dync__control_dense(dync__functional *f, int n, dync__arg *args)
{
    for (int i = 0; i < n; i++) {
        if (args[i].kind == DYNC__A_LIST)
            DYNC__TRY(dync__control_dense(f, args[i].n, args[i].as.list));
        if (args[i].kind != DYNC__A_TENSOR || dync__layout_is_contiguous(&args[i].as.t->lay))
            continue;
        dync__tensor *dense = NULL;
        DYNC__TRY(dync__op_run(DYNC__OP_contiguous, 1, &args[i], &dense));
        args[i].as.t = dense;
        bool held = dync__vec_push(&f->held, dense);
        if (!held) {
            dync__unref(dense);
            return DYNC_ERR_MEMORY;
        }
    }
    return DYNC_OK;
}

static bool dync__control_copy_args(dync__functional *f, const dync__opcall *c, dync__arg *args)
{
    for (int i = 0; i < c->nargs; i++) {
        args[i] = c->args[i];
        if (args[i].kind != DYNC__A_LIST) continue;
        size_t bytes = (size_t)(args[i].n + 1) * sizeof *args;
        if (!(args[i].as.list = dync__arena_alloc(&f->arena, bytes))) return false;
        memcpy(args[i].as.list, c->args[i].as.list, (size_t)args[i].n * sizeof *args);
    }
    return true;
}

static dync_status dync__control_record(dync__functional *f, dync__opcall *c,
                                        dync__functional_recorded record)
{
    dync__arg args[DYNC__MAX_ARGS], *given = c->args;
    dync__graph *made[2] = {NULL};
    int n_made = 0;
    dync_status status = dync__control_copy_args(f, c, args) ? DYNC_OK : DYNC_ERR_MEMORY;
    if (status == DYNC_OK) status = dync__control_dense(f, c->nargs, args);
    for (int i = 0; i < c->nargs && status == DYNC_OK; i++) {
        if (args[i].kind != DYNC__A_GRAPH) continue;
        status = dync__control_functional(f, args[i].as.graph, &made[n_made]);
        if (status == DYNC_OK) args[i] = dync__arg_graph(made[n_made++]);
    }
    c->args = args;
    if (status == DYNC_OK) status = record(f, c);
    c->args = given;
    while (n_made > 0) dync__graph_unref(made[--n_made]); /* the graph keeps its own */
    return status;
}

/* Who calls such an operator puts this in place (api/link.h). */
static dync_status (*DYNC__BY_NEED dync__control_used)(dync__functional *, dync__opcall *,
                                                       dync__functional_recorded) =
    DYNC__AT_FIRST(dync__control_record);
DYNC__FN void dync__aot_use_inside(void) { DYNC__PUT(dync__control_used, dync__control_record); }
DYNC__FN dync_status dync__functional_control(dync__functional *f, dync__opcall *c,
                                              dync__functional_recorded record)
{
    if (!dync__control_used) return dync__unlinked(c->row->name);
    return dync__control_used(f, c, record);
}
