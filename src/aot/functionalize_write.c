/* aot/functionalize_write.c: writes as new values of their base, and the handler that does both.
 * Before: functionalize.c. */
#include "../dync.in.h"
#include "aot.h"
#include "functionalize.h"
DYNC__COLD

/* ---- writes ---------------------------------------------------------------------------------- */
/* Is what is written differentiated? Then all that shares the memory is from now on, of an empty
 * part, too. */
static bool dync__functional_with_grad(const dync__opcall *c)
{
    for (int i = 1; i < c->nargs; i++)
        if (c->args[i].kind == DYNC__A_TENSOR && dync__tensor_requires_grad(c->args[i].as.t))
            return true;
    return false;
}

/* The base is what it was, with node where self lies in it. */
static dync_status dync__functional_into(dync__functional *f, dync__fstore *s,
                                         const dync__tensor *self, dync__node *node)
{
    dync__layout rel = dync__functional_rel(s, self);
    dync__info info = s->base->info[0];
    info.alias = -1;
    info.lay = s->lay;
    info.lay.offset = 0;
    dync__arg args[5] = {dync__arg_node(s->base), dync__arg_node(node),
                         dync__arg_dims(rel.ndim, rel.shape), dync__arg_dims(rel.ndim, rel.stride),
                         dync__arg_i(rel.offset)};
    if (!dync__layout_is_dense(&s->lay)) {
        f->strided_write = true;
        return dync__functional_refuse(f, "a part of a strided input is written in place");
    }
    s->base = dync__functional_emit(f, DYNC__USED(DYNC__OP_as_strided_scatter), 5, args, &info, 1);
    return DYNC_OK;
}

/* By need: where a program writes and makes views. Else a graph with such writes runs plainly. */
static dync_status (*DYNC__BY_NEED dync__functional_parts)(dync__functional *, dync__fstore *,
                                                           const dync__tensor *self, dync__node *) =
    DYNC__AT_FIRST(dync__functional_into);
DYNC__FN void dync__functional_use_parts(void)
{
    DYNC__PUT(dync__functional_parts, dync__functional_into);
}

/* c->args[0] has the value of node from now on. */
static dync_status dync__functional_write(dync__functional *f, const dync__opcall *c,
                                          dync__node *old, dync__node *node)
{
    dync__tensor *self = c->args[0].as.t;
    dync__fstore *s = dync__functional_store(f, self, old);
    if (!s) return DYNC_ERR_MEMORY;
    bool whole = dync__layout_same(&self->lay, &s->lay);
    bool in_form = true;
    for (int i = 0; i < self->lay.ndim; i++)
        if (self->lay.shape[i] != 1 && node->info[0].lay.stride[i] != self->lay.stride[i])
            in_form = false;
    if (!(whole && in_form && node->info[0].lay.offset == 0)) {
        if (self->numel == 0 && !dync__layout_is_dense(&s->lay) && !dync__functional_with_grad(c))
            return DYNC_OK;
        if (!dync__functional_parts) return dync__functional_refuse(f, dync__functional_unviewed);
        DYNC__TRY(dync__functional_parts(f, s, self, node));
        if (whole || !in_form) node = whole ? s->base : NULL;
    } else {
        s->base = node;
        if (!dync__functional_in_strides(node, self)) node = NULL;
    }
    if (!s->base) return DYNC_ERR_MEMORY;
    s->generation++;
    dync__functional_own(f, self, node ? node : s->base);
    /* in other strides: a view is made when it is asked for */
    if (!node) self->node_output = -1;
    return DYNC_OK;
}

/* Runs a functional operator through this handler (not the tape); one owned result. */
static dync_status dync__functional_run(dync__functional *f, int op, int nargs, dync__arg *args,
                                        dync__tensor **out)
{
    dync__opcall c;
    memset(&c, 0, sizeof c);
    c.row = dync__op_info(op);
    c.op = op;
    c.nargs = nargs;
    c.args = args;
    c.nout = c.row->nout;
    c.at = dync__tls.at;
    dync_status status = f->handler.call(&f->handler, &c);
    *out = c.out[0];
    return status;
}

/* The result of the functional form, in self's dtype and shape. */
static dync_status dync__functional_fit(dync__functional *f, dync__tensor *self, dync__tensor **r)
{
    if ((*r)->dtype != self->dtype) {
        dync__arg args[2] = {dync__arg_t(*r), dync__arg_dtype(self->dtype)};
        dync__tensor *cast = NULL;
        dync_status status = dync__functional_run(f, DYNC__USED(DYNC__OP_to_dtype), 2, args, &cast);
        dync__unref(*r);
        *r = cast;
        DYNC__TRY(status);
    }
    bool same = (*r)->lay.ndim == self->lay.ndim;
    for (int i = 0; same && i < self->lay.ndim; i++)
        same = (*r)->lay.shape[i] == self->lay.shape[i];
    if (same) return DYNC_OK;
    dync__arg args[2] = {dync__arg_t(*r), dync__arg_dims(self->lay.ndim, self->lay.shape)};
    dync__tensor *wide = NULL;
    dync_status status = dync__functional_run(f, DYNC__USED(DYNC__OP_expand), 2, args, &wide);
    dync__unref(*r);
    *r = wide;
    return status;
}

/* A tensor that may be written over self as it is. */
static bool dync__functional_fits(const dync__tensor *self, const dync__arg *src)
{
    if (src->kind != DYNC__A_TENSOR || src->as.t->dtype != self->dtype ||
        src->as.t->storage == self->storage)
        return false;
    const dync__layout *a = &self->lay, *b = &src->as.t->lay;
    return a->ndim == b->ndim &&
           memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) == 0;
}

/* op_(self, ...) becomes op(self, ...) and a write of its result. self itself is returned, its
 * storage's version raised, as eager would: the tape then sees stale saved values. */
static dync_status dync__functional_inplace(dync__functional *f, dync__opcall *c)
{
    if (c->row->inplace_of < 0) return dync__functional_refuse(f, c->row->name);
    dync__info check[DYNC__MAX_OUT];
    DYNC__TRY(dync__op_infer(c, check));
    if (dync__op_overlap(c) != DYNC_OK)
        return dync__functional_refuse(f, "an operand shares a "
                                          "part of what is "
                                          "written: an error of "
                                          "the operator's");
    dync__tensor *self = c->args[0].as.t, *r = NULL;
    if (!(self->flags & DYNC__T_FAKE))
        return dync__functional_refuse(f, "a constant is written "
                                          "in place");
    dync__node *old = dync__functional_node(f, self);
    if (!old) return DYNC_ERR_INTERNAL;
    dync_status status = DYNC_OK;
    if (c->op == DYNC__OP_copy_ && dync__functional_fits(self, &c->args[1]))
        dync__ref(r = c->args[1].as.t);
    else
        status = dync__functional_run(f, c->row->inplace_of, c->nargs, c->args, &r);
    if (status == DYNC_OK) status = dync__functional_fit(f, self, &r);
    dync__node *value = status == DYNC_OK ? dync__functional_node(f, r) : NULL;
    if (status == DYNC_OK)
        status = value ? dync__functional_write(f, c, old, value) : DYNC_ERR_MEMORY;
    dync__unref(r);
    if (status != DYNC_OK) return status;
    self->storage->version++;
    c->nout = 1;
    dync__ref(c->out[0] = self);
    return DYNC_OK;
}

/* By need: where a program calls operators that write. */
static dync_status (*DYNC__BY_NEED dync__functional_writes)(dync__functional *, dync__opcall *) =
    DYNC__AT_FIRST(dync__functional_inplace);
DYNC__FN void dync__functional_use_writes(void)
{
    DYNC__PUT(dync__functional_writes, dync__functional_inplace);
}

/* Is an operator that has a decomposition replaced by it? */
static bool dync__functional_expands(const dync__functional *f, const dync__opcall *c)
{
    int op = c->op;
    const dync__op_row *row = dync__op_info(op);
    if (f->keeps) return !f->keeps(c);
    switch (f->decompose) {
    case DYNC__DECOMPOSE_PLAIN:
        if (op == DYNC__OP__rnn_layer && dync__pass_on(DYNC__PASS_rolled)) {
            dync__pass_log(DYNC__PASS_rolled, row->name, "stays a loop");
            return false;
        }
        return !dync__op_can_lower(op) || (row->cls == DYNC__KERNEL && row->decompose);
    case DYNC__DECOMPOSE_ALL: return !(row->flags & DYNC__OP_RANDOM) || !dync__op_can_lower(op);
    case DYNC__DECOMPOSE_IMPLICIT:
        return row->cls == DYNC__COMPOSITE && !((row->flags & DYNC__OP_PRIVATE) && row->infer);
    default: return !dync__op_can_lower(op);
    }
}

/* A seed before all random numbers, or after them all, is set around the forward graph. */
static dync_status dync__functional_seed(dync__functional *f, const dync__opcall *c)
{
    dync__aot_graphs *g = f->into;
    if (c->op != DYNC__OP_manual_seed || c->args[0].kind != DYNC__A_INT)
        return dync__functional_refuse(f, c->row->name);
    if (g->random)
        g->seeds_after = true, g->seed_after = c->args[0].as.i;
    else
        g->seeds_before = true, g->seed_before = c->args[0].as.i;
    return DYNC_OK;
}

/* A value of the program takes the memory of another: it is that from now on. An input would have
 * to be told at the end. */
static dync_status dync__functional_set(dync__functional *f, dync__opcall *c)
{
    dync__tensor *self = c->args[0].as.t,
                 *source = c->args[1].kind == DYNC__A_TENSOR ? c->args[1].as.t : NULL;
    dync__info info;
    const dync__fstore *old = self->storage->trace;
    bool plain = source && (self->flags & source->flags & DYNC__T_FAKE) &&
                 !dync__tensor_requires_grad(self) && !dync__tensor_requires_grad(source);
    if (!plain || (old && old->input >= 0) || dync__op_infer(c, &info) != DYNC_OK)
        return dync__functional_refuse(f, c->row->name);
    dync__node *node = dync__functional_node(f, source);
    if (!node || !dync__functional_store(f, source, node)) return DYNC_ERR_MEMORY;
    DYNC__TRY(c->row->decompose(c));
    dync__functional_own(f, self, node);
    return DYNC_OK;
}

/* A size that data decide: the symbol that the user's node has. */
static dync_status dync__functional_data(dync__functional *f, dync__opcall *c)
{
    const dync__node *of = dync__tls.interpreted;
    dync__info info;
    int64_t least, most;
    double low, high;
    c->nout = 0;
    if (dync__op_is_range(c->op)) return DYNC_OK;
    if (!dync__op_is_counted(c->op) || !of || of->op != c->op || !of->has_info || !dync__tls.syms)
        return dync__functional_refuse(f, c->row->name);
    int64_t size = of->info[0].lay.shape[0];
    if (dync__op_is_item(c->op)) size = dync__sz_sub(size, DYNC__ITEM_BASE);
    const dync__sz_expr *e = dync__symtab_find(dync__tls.syms, size);
    if (!e || e->kind != DYNC__SZ_SYMBOL) return dync__functional_refuse(f, c->row->name);
    DYNC__TRY(dync__data_range(c, &least, &most));
    dync__sz_bounds(most, &low, &high);
    if (high < (double)DYNC__SZ_MOST)
        (void)dync__symtab_within(dync__tls.syms, e->symbol, least, (int64_t)high);
    DYNC__TRY(dync__data_type(c, size, &info));
    return dync__functional_given(f, c, &info);
}

/* The handler: where each class of operator is sent. Order matters: effects and retargets are
 * not recorded at all, writes become functional before decompositions are looked at. */
static dync_status dync__functional_call(dync__handler *self, dync__opcall *c)
{
    dync__functional *f = self->state;
    if (f->status != DYNC_OK) return f->status;
    const dync__op_row *row = c->row;
    if (dync__row_sets_grad_mode(row)) return row->decompose(c);
    if (row->flags & DYNC__OP_DATA_SHAPE && f->data) return dync__functional_data(f, c);
    if (row->cls == DYNC__EFFECT) return dync__functional_seed(f, c);
    if (row->flags & DYNC__OP_RETARGETS) return dync__functional_set(f, c);
    if (row->flags & DYNC__OP_DATA_SHAPE) return dync__functional_refuse(f, row->name);
    if (row->cls == DYNC__INPLACE)
        return dync__functional_writes ? dync__functional_writes(f, c) : dync__unlinked("writes");
    if ((row->flags & DYNC__OP_OPAQUE) && (row->flags & DYNC__OP_WRITES))
        return dync__functional_refuse(f, row->name);
    if (dync__row_is_control(row)) return dync__functional_control(f, c, dync__functional_record);
    if (row->decompose && !(row->flags & DYNC__OP_OPAQUE) && dync__functional_expands(f, c))
        return row->decompose(c);
    return dync__functional_record(f, c);
}

DYNC__FN dync__functional *dync__functional_recorder(void)
{
    dync__handler *bottom = dync__bottom_swap(NULL);
    dync__bottom_swap(bottom);
    return bottom && bottom->call == dync__functional_call ? bottom->state : NULL;
}

/* ---- opening, closing ------------------------------------------------------------------------ */
DYNC__FN void dync__functional_begin(dync__functional *f, dync__graph *g, dync__aot_graphs *into)
{
    static uint64_t ids = UINT64_C(1) << 62; /* apart from capture's */
    memset(f, 0, sizeof *f);
    f->graph = g;
    f->into = into;
    f->id = DYNC__ATOMIC_INC(&ids);
    f->handler.call = dync__functional_call;
    f->handler.state = f;
}

/* Fakes may outlive the trace in the hands of the user; they must not point into its arena. */
DYNC__FN void dync__functional_end(dync__functional *f)
{
    for (int i = 0; i < f->held.n; i++) {
        dync__tensor *t = f->held.at[i];
        if (t->storage->flags & DYNC__STORAGE_FAKE) t->storage->trace = NULL;
        t->node = NULL;
        dync__unref(t);
    }
    dync__vec_free(&f->held);
    dync__arena_free(&f->arena);
}
