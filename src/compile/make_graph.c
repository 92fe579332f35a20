/* compile/make_graph.c: dync_make_graph, torch.fx's make_fx: one run of a function with a recorder
 * at the bottom of dispatch, under the tape: composites are expanded, gradients that the function
 * takes are recorded too. No guards, no breaks, nothing is made functional.
 *
 *   REAL      every operator runs as well; reading what the graph computes is an error
 *   FAKE      tensors have form only; reading data is an error
 *   SYMBOLIC  as FAKE, with sizes other than 0 and 1 as symbols
 *
 * The node of a tensor is found by its id, which aliases kept by the tape share. A tensor from
 * elsewhere is an attribute. */
#include "../dync.in.h"
#include "../aot/aot.h"
#include "../capture/capture.h"
#include "make_graph.h"
DYNC__COLD

DYNC__DATA DYNC__TLS dync_trace_mode dync__maker_mode;
DYNC__DATA DYNC__TLS dync__graph_maker *dync__maker_now;

/* Of the next dync_make_graph in this thread, which sets it back to REAL. */
DYNC_API void dync_make_graph_mode(dync_trace_mode mode)
{
    if (mode == DYNC_TRACE_REAL || mode == DYNC_TRACE_FAKE || mode == DYNC_TRACE_SYMBOLIC)
        dync__maker_mode = mode;
    else
        dync__fail(DYNC_ERR_VALUE, "dync_make_graph_mode: expected real, fake or symbolic, got %d",
                   (int)mode);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* From now on t is the value of n. */
DYNC__FN bool dync__maker_own(dync__graph_maker *m, const dync__tensor *t, dync__node *n)
{
    return dync__map_put(&m->node, t->id, (uint64_t)(uintptr_t)n);
}

/* NULL: the tensor is not of this recording, or not seen yet. */
DYNC__FN dync__node *dync__maker_known(const dync__graph_maker *m, const dync__tensor *t)
{
    uint64_t at;
    return dync__map_get(&m->node, t->id, &at) ? (dync__node *)(uintptr_t)at : NULL;
}

/* A tensor from elsewhere: an attribute, under the names that make_fx gives. */
static dync__node *dync__maker_constant(dync__graph_maker *m, dync__tensor *t)
{
    char path[48];
    bool parameter = (t->flags & (DYNC__T_REQUIRES_GRAD | DYNC__T_PARAMETER)) != 0;
    dync__format(path, sizeof path, parameter ? "_param_constant%d" : "_tensor%d",
                 m->n_constants++);
    dync__node *n = dync__graph_attr(m->graph, path, path, t);
    return n && dync__maker_own(m, t, n) ? n : NULL;
}

/* The node of any tensor that an operator reads: known, or an attribute made now. A fake that is
 * not known belongs to another trace: NULL + error. */
DYNC__FN dync__node *dync__maker_node(dync__graph_maker *m, dync__tensor *t)
{
    dync__node *n = dync__maker_known(m, t);
    if (n) return n;
    if (!(t->flags & DYNC__T_FAKE)) return dync__maker_constant(m, t);
    dync__fail(
        DYNC_ERR_VALUE,
        "dync_make_graph: a tensor made while another call was traced was kept in a variable "
        "(made by %s)",
        t->op ? t->op : "?");
    return NULL;
}

/* Without data: the fake that stands for a tensor from elsewhere. In REAL mode the tensor stands
 * for itself. Borrowed from the recording. */
static dync__tensor *dync__maker_stand_in(dync__graph_maker *m, dync__tensor *t)
{
    if (m->mode == DYNC_TRACE_REAL || (t->flags & DYNC__T_FAKE)) return t;
    for (int i = 0; i < m->real.n; i++)
        if (m->real.at[i] == t) return m->fake.at[i];
    dync__node *n = dync__maker_node(m, t);
    dync__tensor *fake = n ? dync__tensor_fake(t->dtype, t->device, &t->lay) : NULL;
    if (!fake) return NULL;
    fake->storage->size_bytes = t->storage->size_bytes;
    fake->flags |= t->flags & (DYNC__T_REQUIRES_GRAD | DYNC__T_PARAMETER);
    if (!dync__maker_own(m, fake, n) || !dync__vec_reserve(&m->real, m->real.n + 1) ||
        !dync__vec_push(&m->fake, fake)) {
        dync__unref(fake);
        return NULL;
    }
    dync__ref(m->real.at[m->real.n++] = t);
    return fake;
}

/* stand: arguments as the operator sees them; node: as the graph does. Lists lie in the graph's
 * arena, as the node keeps them. */
static dync_status dync__maker_args(dync__graph_maker *m, int n, const dync__arg *in,
                                    dync__arg *stand, dync__arg *node)
{
    for (int i = 0; i < n; i++) {
        stand[i] = node[i] = in[i];
        if (in[i].kind == DYNC__A_TENSOR) {
            dync__tensor *t = dync__maker_stand_in(m, in[i].as.t);
            dync__node *of = t ? dync__maker_node(m, t) : NULL;
            if (!of) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_MEMORY;
            stand[i] = dync__arg_t(t);
            node[i] = dync__arg_node(of);
        } else if (in[i].kind == DYNC__A_LIST) {
            stand[i].as.list =
                dync__arena_alloc(&m->graph->arena, (size_t)(in[i].n + 1) * sizeof *stand);
            node[i].as.list =
                dync__arena_alloc(&m->graph->arena, (size_t)(in[i].n + 1) * sizeof *node);
            if (!stand[i].as.list || !node[i].as.list) return DYNC_ERR_MEMORY;
            DYNC__TRY(
                dync__maker_args(m, in[i].n, in[i].as.list, stand[i].as.list, node[i].as.list));
        }
    }
    return DYNC_OK;
}

/* ---- one operator ---------------------------------------------------------------------------- */

/* REAL: what lies below runs the operator. Otherwise only its results' form is computed; effects
 * (a seed) happen in every mode. */
static dync_status dync__maker_run(dync__graph_maker *m, dync__opcall *c)
{
    if (m->mode != DYNC_TRACE_REAL && c->row->cls != DYNC__EFFECT) return dync__op_fake(c);
    dync__handler *own = dync__bottom_swap(m->before);
    dync_status status = dync__dispatch_bottom(c);
    dync__bottom_swap(own);
    return status;
}

/* The node of a call that has run, with the types of its results. Items of several results are
 * getitem nodes, made at once. */
static dync_status dync__maker_record(dync__graph_maker *m, const dync__opcall *c,
                                      const dync__arg *args)
{
    dync__info info[DYNC__MAX_OUT];
    memset(info, 0, sizeof info);
    for (int i = 0; i < c->nout; i++) {
        const dync__tensor *t = c->out[i];
        if (t) dync__info_of(&info[i], t, c->row->cls == DYNC__VIEW ? 0 : -1);
    }
    dync__node *n = dync__graph_call(m->graph, c->op, c->nargs, args, c->nout, info, NULL);
    if (!n) return DYNC_ERR_MEMORY;
    n->at = c->at;
    n->seq_nr = dync__seq_now();
    for (int i = 0; i < c->nout; i++) {
        if (!c->out[i]) continue;
        dync__node *of = c->nout > 1 ? dync__graph_getitem(m->graph, n, i) : n;
        if (!of || !dync__maker_own(m, c->out[i], of)) return DYNC_ERR_MEMORY;
    }
    return DYNC_OK;
}

/* The handler: operators that cannot be lowered are decomposed and come back piece by piece;
 * what is recorded is what could run. A failed call leaves no results. */
DYNC__FN dync_status dync__maker_call(dync__handler *self, dync__opcall *c)
{
    dync__graph_maker *m = self->state;
    const dync__op_row *row = c->row;
    bool whole = dync__op_can_lower(c->op) ||
                 (row->flags & (DYNC__OP_OPAQUE | DYNC__OP_DATA_SHAPE)) ||
                 row->cls == DYNC__EFFECT || row->cls == DYNC__INPLACE || !row->decompose;
    if (!whole) return row->decompose(c);
    if (m->syms) DYNC__TRY(dync__opcall_numbers(c));
    if ((row->flags & DYNC__OP_DATA_SHAPE) && m->mode != DYNC_TRACE_REAL)
        return dync__fail(DYNC_ERR_UNSUPPORTED, "dynamic shape operator: aten.%s.default",
                          row->name);
    if (row->flags & DYNC__OP_DATA_SHAPE) dync__aot_use_stages();
    dync__arg stand[DYNC__MAX_ARGS], node[DYNC__MAX_ARGS], *given = c->args;
    DYNC__TRY(dync__maker_args(m, c->nargs, c->args, stand, node));
    c->args = stand;
    dync_status status = dync__maker_run(m, c);
    if (status == DYNC_OK) status = dync__maker_record(m, c, node);
    c->args = given;
    if (status == DYNC_OK) return DYNC_OK;
    for (int i = 0; i < c->nout; i++) {
        dync__unref(c->out[i]);
        c->out[i] = NULL;
    }
    return status;
}

/* ---- reads: what the graph computes is not known to it --------------------------------------- */

/* A value of the graph, not a constant from elsewhere: with data, as each operator really runs. */
static bool dync__maker_computes(const dync_tensor *h)
{
    const dync__graph_maker *m = dync__maker_now;
    const dync__tensor *t = m && m->mode == DYNC_TRACE_REAL ? dync__peek(h) : NULL;
    const dync__node *n = t ? dync__maker_known(m, t) : NULL;
    return n && n->kind != DYNC__N_GET_ATTR;
}

/* True: the error is recorded, and the read answers with a neutral value. */
static bool dync__maker_refuses(const char *op, const dync_tensor *a, const dync_tensor *b_or_null)
{
    if (!dync__maker_computes(a) && !(b_or_null && dync__maker_computes(b_or_null))) return false;
    dync__fail_class(DYNC_ERR_UNSUPPORTED, "RuntimeError",
                     "It appears that you're trying to get value out of a tracing tensor with "
                     "aten.%s.default - erroring out! It's likely that "
                     "this is caused by data-dependent control flow or similar. dync_make_graph "
                     "records one run, whatever the values: choose "
                     "with dync_where, or use dync_compile, which branches.",
                     op);
    return true;
}

static bool dync__maker_item(const dync_tensor *h, double *result)
{
    *result = (double)NAN;
    return dync__maker_refuses("_local_scalar_dense", h, NULL);
}
static bool dync__maker_truth(const dync_tensor *h, bool *result)
{
    *result = false;
    return dync__maker_refuses("_local_scalar_dense", h, NULL);
}
static dync__comparing dync__maker_compares(const char *op, const dync_tensor *a,
                                            const dync_tensor *b)
{
    return dync__maker_refuses(op, a, b) ? DYNC__NOT_COMPARED : DYNC__BY_DATA;
}
static bool dync__maker_data(const dync_tensor *h, void **result)
{
    *result = NULL;
    if (!dync__maker_computes(h)) return false;
    dync__fail_no_data();
    return true;
}
/* dync_constant: the graph keeps the data, and each run works on a copy, which it may write
 * (make_fx: lift_fresh_copy). */
static bool dync__maker_bakes(const dync_make_from *options, dync_tensor *(*from)(dync_make_from),
                              dync_tensor **result)
{
    if (!dync__maker_now || options->requires_grad) return false;
    dync_tensor *h = from(*options);
    *result = h ? dync_clone(h) : NULL;
    return true;
}
/* What is missing here (shows) works on what is there. */
DYNC__DATA const dync__read_intercept dync__maker_reads = {.item = dync__maker_item,
                                                           .truth = dync__maker_truth,
                                                           .data = dync__maker_data,
                                                           .constant = dync__maker_bakes,
                                                           .compares = dync__maker_compares};
