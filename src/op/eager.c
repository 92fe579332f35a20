/* op/eager.c: the bottom handler: runs an operator now. After eager_plan.c.
 *
 *   views       the layout of infer over the same storage; nothing runs
 *   composites  one plan for all of it where that can be (eager_whole.c), else their decomposition,
 *               from the top of the stack
 *   the rest    a cached plan (eager_plan.c) */
#include "../dync.in.h"
#include "rows.h"
DYNC__WARM

/* ---- in place: what is written must not be read elsewhere in the same call ------------------- */

/* How two tensors share memory: not at all; exactly the same elements; surely some; strides are
 * such that it is not known. */
typedef enum {
    DYNC__OVERLAP_NONE,
    DYNC__OVERLAP_SAME,
    DYNC__OVERLAP_PART,
    DYNC__OVERLAP_MAYBE
} dync__overlap;

/* As PyTorch's get_overlap_status (aten/src/ATen/MemoryOverlap.cpp); symbolic places are those of
 * the call being traced. */
static dync__overlap dync__eager_overlap(const dync__tensor *a, const dync__tensor *b)
{
    if (a->storage != b->storage || a->numel == 0 || b->numel == 0) return DYNC__OVERLAP_NONE;
    const dync__layout *la = &a->lay, *lb = &b->lay;
    bool same = a == b ||
                (la->ndim == lb->ndim && la->offset == lb->offset && a->dtype == b->dtype &&
                 memcmp(la->shape, lb->shape, (size_t)la->ndim * sizeof(int64_t)) == 0 &&
                 memcmp(la->stride, lb->stride, (size_t)la->ndim * sizeof(int64_t)) == 0);
    if (same) return DYNC__OVERLAP_SAME;
    if (!dync__layout_is_dense(la) || !dync__layout_is_dense(lb)) return DYNC__OVERLAP_MAYBE;
    int64_t size_a = dync__dtype_info(a->dtype)->bytes, size_b = dync__dtype_info(b->dtype)->bytes;
    int64_t at_a = dync__sz_hint(la->offset), at_b = dync__sz_hint(lb->offset);
    bool apart = (at_a + dync__sz_hint(a->numel)) * size_a <= at_b * size_b ||
                 (at_b + dync__sz_hint(b->numel)) * size_b <= at_a * size_a;
    return apart ? DYNC__OVERLAP_NONE : DYNC__OVERLAP_PART;
}

/* Where an index says which place is written, an element may be written before it is read. */
DYNC__FN dync_status dync__op_overlap(const dync__opcall *call)
{
    bool placed = call->op == DYNC__OP_scatter_ || call->op == DYNC__OP_scatter_add_ ||
                  call->op == DYNC__OP_index_add_;
    for (int i = 1; i < call->nargs; i++) {
        if (call->args[i].kind != DYNC__A_TENSOR) continue;
        dync__overlap how = dync__eager_overlap(call->args[0].as.t, call->args[i].as.t);
        if (how == DYNC__OVERLAP_PART || (placed && how == DYNC__OVERLAP_SAME))
            return dync__fail(
                DYNC_ERR_RUNTIME,
                "unsupported operation: some elements of the input tensor and the written-to "
                "tensor refer to "
                "a single memory location. Please clone() the tensor before performing the "
                "operation.");
    }
    return DYNC_OK;
}

/* Operands that may share some elements with self are read from a copy; ones that surely share part
 * of them are refused. Exactly the same elements are fine: x.mul_(x) reads each before it writes
 * it. */
static dync_status dync__eager_inplace(dync__opcall *call)
{
    dync__arg args[DYNC__MAX_ARGS];
    dync__tensor *copy[DYNC__MAX_ARGS], *self;
    int n_copies = 0;
    DYNC__TRY(dync__infer_tensor(call, 0, &self));
    dync_status status = dync__op_overlap(call);
    for (int i = 1; i < call->nargs && status == DYNC_OK; i++) {
        if (call->args[i].kind != DYNC__A_TENSOR) continue;
        const dync__tensor *from = call->args[i].as.t;
        bool moves = call->op == DYNC__OP_copy_ && from->device != self->device;
        dync__overlap how = moves ? DYNC__OVERLAP_MAYBE : dync__eager_overlap(self, from);
        if (how != DYNC__OVERLAP_MAYBE || dync__eager_has_no_data(call)) continue;
        if (n_copies == 0) memcpy(args, call->args, (size_t)call->nargs * sizeof args[0]);
        dync__arg on[2] = {dync__arg_t(call->args[i].as.t), dync__arg_device(self->device)};
        dync__opcall c = {.row = dync__op_info(DYNC__USED(DYNC__OP_to_device)),
                          .op = DYNC__OP_to_device,
                          .nargs = 2,
                          .args = on};
        status = dync__eager_plan(&c);
        copy[n_copies] = c.out[0];
        if (status == DYNC_OK) args[i] = dync__arg_t(copy[n_copies++]);
    }
    if (status == DYNC_OK) {
        dync__arg *given = call->args;
        if (n_copies) call->args = args;
        status = dync__eager_plan(call);
        call->args = given;
    }
    while (n_copies > 0) dync__unref(copy[--n_copies]);
    return status;
}

/* By need: who infers an operator in place puts it there. */
static dync_status (*DYNC__BY_NEED dync__eager_writes_used)(dync__opcall *) =
    DYNC__AT_FIRST(dync__eager_inplace);
DYNC__FN void dync__eager_writes(void) { DYNC__PUT(dync__eager_writes_used, dync__eager_inplace); }
static dync_status dync__eager_write(dync__opcall *call)
{
    dync__info info;
    if (!dync__eager_writes_used) DYNC__TRY(dync__op_infer(call, &info));
    return dync__eager_writes_used ? dync__eager_writes_used(call) : DYNC_ERR_INTERNAL;
}

/* cat of more tensors than a plan takes: groups of them first, then the groups. */
static dync_status dync__eager_long_cat(dync__opcall *call)
{
    const dync__arg *list = &call->args[0];
    dync__info info;
    int n = (list->n - 1) / DYNC__EAGER_INPUTS + 1, made = 0;
    DYNC__TRY(dync__op_infer(call, &info));
    dync__arg *group = dync__alloc((size_t)n * sizeof *group);
    if (!group) return DYNC_ERR_MEMORY;
    dync_status status = DYNC_OK;
    for (int i = 0; i < n && status == DYNC_OK; i++) {
        int first = i * DYNC__EAGER_INPUTS;
        dync__arg part[2] = {*list, call->args[1]};
        dync__tensor *t;
        part[0].as.list = list->as.list + first;
        part[0].n = DYNC__MIN(DYNC__EAGER_INPUTS, list->n - first);
        status = (dync__op_run)(call->op, 2, part, &t);
        if (status == DYNC_OK) group[made++] = dync__arg_t(t);
    }
    if (status == DYNC_OK) {
        dync__arg all[2] = {{.kind = DYNC__A_LIST, .n = n, .as = {.list = group}}, call->args[1]};
        status = (dync__op_run)(call->op, 2, all, call->out);
        call->nout = 1;
    }
    while (made > 0) dync__unref(group[--made].as.t);
    dync__free(group, (size_t)n * sizeof *group);
    return status;
}

/* ---- the handler ----------------------------------------------------------------------------- */

/* One output with its own reference to the storage. */
static dync_status dync__eager_view(dync__opcall *call)
{
    dync__info info;
    DYNC__TRY(dync__op_infer(call, &info));
    call->out[0] = dync__tensor_alias(call->args[0].as.t, info.dtype, &info.lay);
    call->nout = 1;
    return call->out[0] ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* The row's own inference runs for its checks; where inference is the decomposition, that
 * checks. */
static dync_status dync__eager_composite(dync__opcall *call)
{
    dync__info info[DYNC__MAX_OUT];
    bool checks_itself = !call->row->infer || call->row->infer == dync__i_composite;
    if (!checks_itself) DYNC__TRY(call->row->infer(call, info));
    return dync__op_decompose(call);
}

static dync_status dync__eager_many(dync__opcall *call)
{
    bool done;
    if (call->row->lower && dync__whole_may(call)) return dync__eager_plan(call);
    dync_status status = dync__eager_whole(call, &done);
    return done ? status : dync__eager_composite(call);
}

/* call->row decides by class; see the list at the top. Opaque rows without data give their form, by
 * the meta function. */
DYNC__FN dync_status dync__eager(dync__opcall *call)
{
    switch (call->row->cls) {
    case DYNC__VIEW: return dync__eager_view(call);
    case DYNC__COMPOSITE: return dync__eager_many(call);
    case DYNC__EFFECT: return dync__eager_composite(call);
    case DYNC__INPLACE:
        return call->row->inplace_of >= 0 ? dync__eager_write(call) : dync__eager_composite(call);
    case DYNC__POINTWISE:
    case DYNC__REDUCE:
    case DYNC__FACTORY:
    case DYNC__KERNEL: break;
    }
    if (call->row->flags & DYNC__OP_OPAQUE)
        return dync__eager_has_no_data(call) ? dync__eager_form(call) : call->row->decompose(call);
    if (call->op == DYNC__OP_cat && call->args[0].kind == DYNC__A_LIST &&
        call->args[0].n > DYNC__EAGER_INPUTS)
        return dync__eager_long_cat(call);
    return dync__op_can_lower(call->op) ? dync__eager_plan(call) : dync__eager_many(call);
}

/* ---- effects --------------------------------------------------------------------------------- */

/* Argument 0: on or off, of this thread. */
DYNC__FN dync_status dync__d_set_grad_enabled(dync__opcall *call)
{
    dync__grad_off(call->args[0].as.i == 0);
    return DYNC_OK;
}

/* Argument 0: the seed. The offset counts numbers drawn since. */
DYNC__RARE DYNC__FN dync_status dync__d_manual_seed(dync__opcall *call)
{
    dync__tls.rng_seed = (uint64_t)call->args[0].as.i;
    dync__tls.rng_offset = 0;
    return DYNC_OK;
}

/* self gives up its storage for that of source. The handle stays, so every holder of self sees the
 * new memory. The old storage goes when nobody else holds it. */
DYNC__RARE DYNC__FN dync_status dync__d_set_(dync__opcall *call)
{
    dync__tensor *self = call->args[0].as.t, *source = call->args[1].as.t;
    dync__storage *old = self->storage;
    dync__storage_ref(source->storage);
    self->storage = source->storage;
    self->lay = source->lay;
    self->numel = source->numel;
    self->device = source->device;
    self->storage->version++;
    dync__storage_unref(old);
    dync__ref(self);
    call->out[0] = self;
    call->nout = 1;
    return DYNC_OK;
}
