/* op/eager_run.c: making the plan of an operator that runs by itself, and running it. After
 * eager_plan.c. */
#include "../dync.in.h"
#include "rows.h"
DYNC__WARM

/* ---- making a plan --------------------------------------------------------------------------- */

/* Slots: tensors in order, then numbers, then outputs; what is written in place is an input that is
 * written. Operands have offset 0, as the pointers bound later are to first elements. Numbers are
 * read from the host's memory also by plans of a GPU. */
DYNC__RARE static dync_status dync__eager_lower(dync__pb *pb, const dync__opcall *call,
                                                const dync__eager_entry *e)
{
    dync__tensor *t[DYNC__EAGER_INPUTS];
    dync__operand out[DYNC__MAX_OUT];
    int32_t number_slot[DYNC__MAX_ARGS];
    bool in_place = call->row->cls == DYNC__INPLACE;
    int n = dync__opcall_tensors(call, t, DYNC__EAGER_INPUTS);
    memset(out, 0, sizeof out);
    if (n > DYNC__EAGER_INPUTS)
        return dync__fail(DYNC_ERR_VALUE, "expected at most %d tensors, got %d", DYNC__EAGER_INPUTS,
                          n);
    /* of few, but they are large: not on the stack */
    dync__operand *in = dync__arena_alloc(pb->arena, (size_t)(n + 1) * sizeof *in);
    if (!in) return DYNC_ERR_MEMORY;
    memset(in, 0, (size_t)(n + 1) * sizeof *in);
    for (int i = 0; i < n; i++) {
        in[i].slot = dync__pb_slot(pb, DYNC__SLOT_INPUT, t[i]->dtype, -1, NULL);
        in[i].dtype = t[i]->dtype;
        in[i].lay = t[i]->lay;
        in[i].lay.offset = 0;
        in[i].written = in_place && i == 0;
        if (in[i].slot < 0) return DYNC_ERR_MEMORY;
        pb->slot.at[in[i].slot].host = dync__pb_reads_host(pb, t[i]->device);
    }
    for (int i = 0; i < call->nargs && i < DYNC__MAX_ARGS; i++) {
        const dync__arg *a = &call->args[i];
        number_slot[i] = -1;
        if (!dync__eager_numbers_float(call) || !dync__arg_is_number(a)) continue;
        number_slot[i] = dync__pb_slot(pb, DYNC__SLOT_INPUT,
                                       a->kind == DYNC__A_FLOAT ? (int)DYNC__REAL : (int)DYNC_I64,
                                       1, NULL);
        if (number_slot[i] < 0) return DYNC_ERR_MEMORY;
        pb->slot.at[number_slot[i]].host = true;
    }
    for (int i = 0; i < call->row->nout; i++) {
        out[i] = in[0];
        if (in_place) continue;
        out[i] = (dync__operand){
            .dtype = (uint8_t)e->out[i].dtype, .written = true, .lay = e->out[i].lay};
        out[i].slot = dync__pb_slot(pb, DYNC__SLOT_OUTPUT, e->out[i].dtype,
                                    dync__layout_span(&e->out[i].lay), NULL);
        if (out[i].slot < 0) return DYNC_ERR_MEMORY;
    }
    pb->number_slot = number_slot;
    dync_status status = dync__op_lower(pb, call, in, n, out);
    pb->number_slot = NULL;
    return status;
}

/* *out is the caller's. An operator that appends no step (nothing to compute) has no plan. All IR
 * dies with the arena here; the plan keeps what it needs. */
DYNC__RARE static dync_status dync__eager_build(const dync__opcall *call, dync__eager_entry **out)
{
    dync__arena arena = {0};
    dync__pb pb = {.arena = &arena, .origin = call->row->name, .dense = true};
    dync__plan_options options = {.name = call->row->name, .passes = DYNC__EAGER_PASSES};
    dync__eager_entry *e = dync__calloc(sizeof *e);
    if (!e) return DYNC_ERR_MEMORY;
    dync_status status = dync__op_infer(call, e->out);
    pb.device = e->out[0].device;
    if (status == DYNC_OK) status = dync__eager_lower(&pb, call, e);
    if (status == DYNC_OK && pb.step.n) {
        e->plan = dync__plan_new(&pb, &options);
        if (!e->plan)
            status = dync__tls.error.status != DYNC_OK ? dync__tls.error.status : DYNC_ERR_MEMORY;
    }
    dync__arena_free(&arena);
    if (status != DYNC_OK) {
        dync__eager_entry_free(e);
        return status;
    }
    e->checks_data = dync__eager_checks_data(call);
    *out = e;
    return DYNC_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

/* Fresh tensors without contents, or self again for what works in place. On failure call->out is
 * empty. */
static dync_status dync__eager_outputs(dync__opcall *call, const dync__eager_entry *e)
{
    call->nout = call->row->nout;
    if (call->row->cls == DYNC__INPLACE) {
        call->out[0] = call->args[0].as.t;
        dync__ref(call->out[0]);
        return DYNC_OK;
    }
    for (int i = 0; i < call->nout; i++) {
        call->out[i] = dync__tensor_empty(e->out[i].dtype, e->out[i].device, &e->out[i].lay);
        if (call->out[i]) continue;
        while (i-- > 0) {
            dync__unref(call->out[i]);
            call->out[i] = NULL;
        }
        return DYNC_ERR_MEMORY;
    }
    return DYNC_OK;
}

/* Binds pointers in the order of the plan's slots (dync__eager_lower): tensors, numbers, outputs. A
 * new version of the storage marks a write in place. */
DYNC__FN dync_status dync__eager_execute(dync__opcall *call, const dync__eager_entry *e)
{
    dync__tensor *t[DYNC__EAGER_INPUTS];
    void *in[DYNC__EAGER_INPUTS + DYNC__MAX_ARGS], *out[DYNC__MAX_OUT] = {NULL};
    union {
        dync_real f;
        int64_t i;
    } number[DYNC__MAX_ARGS];
    int n = dync__opcall_tensors(call, t, DYNC__EAGER_INPUTS);
    bool in_place = call->row->cls == DYNC__INPLACE;
    for (int i = 0; i < n; i++) in[i] = dync__tensor_data(t[i]);
    if (dync__eager_numbers_float(call)) {
        for (int i = 0; i < call->nargs; i++) {
            const dync__arg *a = &call->args[i];
            if (!dync__arg_is_number(a)) continue;
            if (a->kind == DYNC__A_FLOAT)
                number[i].f = (dync_real)a->as.f;
            else
                number[i].i = a->as.i;
            in[n++] = &number[i];
        }
    }
    DYNC__TRY(dync__eager_outputs(call, e));
    for (int i = 0; i < call->nout; i++) out[i] = call->out[i]->storage->data;
    if (in_place) dync__storage_writes(call->out[0]->storage);
    dync_status status = e->plan ? dync__plan_run(e->plan, NULL, in, out) : DYNC_OK;
    if (status == DYNC_OK) {
        if (in_place) call->out[0]->storage->version++;
        return DYNC_OK;
    }
    for (int i = 0; i < call->nout; i++) {
        dync__unref(call->out[i]);
        call->out[i] = NULL;
    }
    return status;
}

/* A value of a trace that is over, or of one that is not open here. */
DYNC__ONCE DYNC__FN dync_status dync__fail_kept(const dync__tensor *t)
{
    static const char own[] = "?";
    return dync__fail(DYNC_ERR_VALUE,
                      "expected a tensor with data, got one that was made while another call was "
                      "traced and kept in a variable (made by %s): return it from the compiled "
                      "function, or make it outside of that",
                      t->op ? t->op : own);
}
static dync_status dync__eager_check_kept(const dync__opcall *call)
{
    dync__tensor *t[DYNC__EAGER_INPUTS];
    int n = dync__opcall_tensors(call, t, DYNC__EAGER_INPUTS);
    for (int i = 0; i < n && i < DYNC__EAGER_INPUTS; i++)
        if ((t[i]->flags & DYNC__T_FAKE) && t[i]->trace_id) return dync__fail_kept(t[i]);
    return DYNC_OK;
}

/* Factories have no tensors and are told by their device argument. */
DYNC__RARE DYNC__FN bool dync__eager_has_no_data(const dync__opcall *call)
{
    dync__tensor *t[DYNC__EAGER_INPUTS];
    int n = dync__opcall_tensors(call, t, DYNC__EAGER_INPUTS);
    for (int i = 0; i < n && i < DYNC__EAGER_INPUTS; i++)
        if ((t[i]->flags & DYNC__T_FAKE) || !dync__device_is(t[i]->device, DYNC__DEV_DATA))
            return true;
    for (int i = 0; i < call->nargs; i++)
        if (call->args[i].kind == DYNC__A_DEVICE &&
            !dync__device_is((int)call->args[i].as.i, DYNC__DEV_DATA))
            return true;
    return false;
}

/* The results' form only. The user's META tensors have no data and stand for themselves: so do
 * results of theirs. Stand-ins of a trace (DYNC__T_FAKE) give stand-ins. */
DYNC__RARE DYNC__FN dync_status dync__eager_form(dync__opcall *call)
{
    dync__tensor *t[DYNC__EAGER_INPUTS];
    int n = dync__opcall_tensors(call, t, DYNC__EAGER_INPUTS);
    bool stands = false;
    for (int i = 0; i < n && i < DYNC__EAGER_INPUTS; i++)
        stands = stands || (t[i]->flags & DYNC__T_FAKE);
    DYNC__TRY(dync__op_fake(call));
    for (int i = 0; i < call->nout && !stands; i++) {
        dync__tensor *x = call->out[i];
        if (!x || dync__device_is(x->device, DYNC__DEV_DATA)) continue;
        x->flags &= (uint8_t)~DYNC__T_FAKE;
        x->storage->flags &= (uint16_t)~DYNC__STORAGE_FAKE;
    }
    return DYNC_OK;
}

/* A real tensor of one device on another. Where the layout is not dense the copy is made before, by
 * a plan of its own device. The result is dense like the source, element order included, so that
 * one block is copied. */
static dync_status dync__eager_move(dync__opcall *call)
{
    dync__info info;
    dync__tensor *t = call->args[0].as.t, *dense = NULL;
    DYNC__TRY(dync__op_infer(call, &info));
    if (!dync__layout_is_dense(&t->lay)) {
        dync__arg args[2] = {dync__arg_t(t), dync__arg_device(t->device)};
        dync__opcall same = {.row = call->row, .op = call->op, .nargs = 2, .args = args};
        DYNC__TRY(dync__eager_plan(&same));
        t = dense = same.out[0];
    }
    call->out[0] = dync__tensor_empty(info.dtype, info.device, &info.lay);
    call->nout = 1;
    dync_status status =
        call->out[0] ? dync__device_copy(info.device, call->out[0]->storage->data, t->device,
                                         dync__tensor_data(t),
                                         (size_t)t->numel * dync__dtype_info(t->dtype)->bytes)
                     : DYNC_ERR_MEMORY;
    dync__unref(dense);
    if (status != DYNC_OK) {
        dync__unref(call->out[0]);
        call->out[0] = NULL;
    }
    return status;
}

/* The steps of a miss: arguments without data give forms; otherwise a plan is made, kept if it can
 * be, indices and divisors are looked at, and it runs. On a hit only the last two happen. */
DYNC__RARE DYNC__FN dync_status dync__eager_plan(dync__opcall *call)
{
    if (DYNC__UNLIKELY(call->op == DYNC__OP_to_device &&
                       call->args[0].as.t->device != call->args[1].as.i &&
                       !dync__eager_has_no_data(call)))
        return dync__eager_move(call);
    dync__eager_key k;
    dync__key_make(&k, call);
    dync__eager_entry *e = dync__eager_find(&k);
    if (DYNC__LIKELY(e != NULL)) {
        if (DYNC__UNLIKELY(e->checks_data)) DYNC__TRY(dync__eager_check_data(call));
        return dync__eager_execute(call, e);
    }
    if (dync__eager_has_no_data(call)) {
        const dync__tensor *self = call->row->cls == DYNC__INPLACE &&
                                           call->args[0].kind == DYNC__A_TENSOR
                                       ? call->args[0].as.t
                                       : NULL;
        DYNC__TRY(dync__eager_check_kept(call));
        if (self && !(self->flags & DYNC__T_FAKE) && dync__device_is(self->device, DYNC__DEV_DATA))
            return dync__fail(DYNC_ERR_DATA_PTR, "Cannot copy out of meta tensor; no data!");
        return dync__eager_form(call);
    }
    DYNC__TRY(dync__eager_build(call, &e));
    bool kept = dync__eager_keep(&k, e);
    dync_status status = e->checks_data ? dync__eager_check_data(call) : DYNC_OK;
    if (status == DYNC_OK) status = dync__eager_execute(call, e);
    if (!kept) dync__eager_entry_free(e);
    return status;
}
