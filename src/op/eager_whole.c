/* op/eager_whole.c: an eager call that is made of several operators, by one plan. After
 * eager_run.c, before eager.c.
 *
 * upsample_bilinear2d is some thirty operators, each of which would read and write whole images.
 * The second call of one form (the key of eager_plan.c) runs its decomposition over stand-ins:
 * every operator that arrives at the bottom is lowered at once, and the steps become a plan, fused
 * as in a compiled graph. Not at the first call: a number that is another one in every call (a
 * learning rate) would be compiled for nothing.
 *
 * Both ways give the same bits, so that the first call is no other than the second. What cannot be
 * told by steps alone (writes in place, results that lie on an argument, real data), and sums of
 * floats, which a longer loop may add in another order, is run operator by operator always. */
#include "../dync.in.h"
#include "../base/pass.h"
#include "rows.h"
DYNC__WARM

/* Nested decompositions keep the outermost name, which is the one the user wrote. */
DYNC__FN dync_status dync__op_decompose(dync__opcall *call)
{
    const char *outer = dync__tls.within;
    if (!outer) dync__tls.within = call->row->name;
    dync_status status = call->row->decompose(call);
    dync__tls.within = outer;
    return status;
}

#if !defined(DYNC_SMALL)
/* A decomposition that becomes steps: the handler under it. Storages of stand-ins are slots. */
typedef struct dync__whole {
    dync__pb pb;
    dync__map slot;                 /* of a storage */
    DYNC__VEC(dync__tensor *) made; /* held: an address is not used for another storage */
} dync__whole;

static bool dync__whole_slot(const dync__whole *w, const dync__tensor *t, uint64_t *slot)
{
    return dync__map_get(&w->slot, (uint64_t)(uintptr_t)t->storage, slot) &&
           w->pb.slot.at[*slot].dtype == t->dtype;
}

/* t is slot's now; false: no memory. */
static bool dync__whole_own(dync__whole *w, dync__tensor *t, int slot)
{
    if (slot < 0 || !dync__vec_push(&w->made, t)) return false;
    dync__ref(t);
    return dync__map_put(&w->slot, (uint64_t)(uintptr_t)t->storage, (uint64_t)(unsigned)slot);
}

static bool dync__whole_operand(const dync__whole *w, const dync__tensor *t, dync__operand *out)
{
    uint64_t slot;
    if (!dync__whole_slot(w, t, &slot)) return false;
    *out = (dync__operand){.slot = (int)slot, .dtype = (uint8_t)t->dtype, .lay = t->lay};
    return true;
}

/* Operators whose whole meaning is the steps that they are lowered to. */
static bool dync__whole_takes(const dync__opcall *call)
{
    const uint32_t never = DYNC__OP_OPAQUE | DYNC__OP_DATA_SHAPE | DYNC__OP_WRITES |
                           DYNC__OP_RETARGETS | DYNC__OP_SCATTERS | DYNC__OP_BEYOND;
    return call->row->cls != DYNC__INPLACE && call->row->cls != DYNC__EFFECT &&
           !(call->row->flags & never) && dync__op_can_lower(call->op);
}

/* The operands of the call, and slots for results that lie on memory of their own. */
static dync_status dync__whole_lower(dync__whole *w, dync__opcall *call)
{
    dync__tensor *t[DYNC__EAGER_INPUTS];
    dync__operand out[DYNC__MAX_OUT];
    int n = dync__opcall_tensors(call, t, DYNC__EAGER_INPUTS), fresh = 0;
    dync__operand *in = n > DYNC__EAGER_INPUTS
                            ? NULL
                            : dync__arena_alloc(w->pb.arena, (size_t)(n + 1) * sizeof *in);
    if (!in) return DYNC_ERR_UNSUPPORTED;
    for (int i = 0; i < n; i++)
        if (!dync__whole_operand(w, t[i], &in[i])) return DYNC_ERR_UNSUPPORTED;
    for (int i = 0; i < call->nout; i++) {
        dync__tensor *y = call->out[i];
        if (dync__map_get(&w->slot, (uint64_t)(uintptr_t)y->storage, NULL)) continue;
        int slot =
            dync__pb_slot(&w->pb, DYNC__SLOT_TEMP, y->dtype, dync__layout_span(&y->lay), NULL);
        if (!dync__whole_own(w, y, slot)) return DYNC_ERR_MEMORY;
        fresh++;
    }
    if (!fresh) return DYNC_OK; /* a view */
    if (fresh < call->nout) return DYNC_ERR_UNSUPPORTED;
    for (int i = 0; i < call->nout; i++)
        if (!dync__whole_operand(w, call->out[i], &out[i])) return DYNC_ERR_UNSUPPORTED;
    for (int i = 0; i < call->nout; i++) out[i].written = true;
    return dync__op_lower(&w->pb, call, in, n, out);
}

/* Results are stand-ins, made by inference. Numbers are looked at now: those of the whole call are
 * in its key, so that they are the same in every run of the plan. */
static dync_status dync__whole_call(dync__handler *self, dync__opcall *call)
{
    if (call->row->cls == DYNC__COMPOSITE) return dync__op_decompose(call);
    if (!dync__whole_takes(call)) return DYNC_ERR_UNSUPPORTED;
    DYNC__TRY(dync__op_fake(call));
    dync_status status = dync__eager_checks_data(call) ? dync__eager_check_data(call) : DYNC_OK;
    if (status == DYNC_OK) status = dync__whole_lower(self->state, call);
    for (int i = 0; i < call->nout && status != DYNC_OK; i++) {
        dync__unref(call->out[i]);
        call->out[i] = NULL;
    }
    return status;
}

/* A stand-in for each tensor: an operand of offset 0, as pointers are to first elements. */
static dync_status dync__whole_arg(dync__whole *w, dync__arg *a)
{
    if (a->kind == DYNC__A_LIST) {
        dync__arg *list = dync__arena_alloc(w->pb.arena, (size_t)(a->n + 1) * sizeof *list);
        if (!list) return DYNC_ERR_MEMORY;
        memcpy(list, a->as.list, (size_t)a->n * sizeof *list);
        a->as.list = list;
        for (int i = 0; i < a->n; i++) DYNC__TRY(dync__whole_arg(w, &list[i]));
    }
    if (a->kind != DYNC__A_TENSOR) return DYNC_OK;
    dync__layout lay = a->as.t->lay;
    lay.offset = 0;
    dync__tensor *t = dync__tensor_fake(a->as.t->dtype, a->as.t->device, &lay);
    bool owned = t &&
                 dync__whole_own(w, t, dync__pb_slot(&w->pb, DYNC__SLOT_INPUT, t->dtype, -1, NULL));
    dync__unref(t);
    a->as.t = t;
    return owned ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* Each result must be all of a slot of its own, which leaves then. */
static dync_status dync__whole_results(dync__whole *w, const dync__opcall *run,
                                       dync__eager_entry *e)
{
    if (run->nout != run->row->nout) return DYNC_ERR_UNSUPPORTED;
    for (int i = 0; i < run->nout; i++) {
        const dync__tensor *y = run->out[i];
        uint64_t at;
        if (!y || !dync__whole_slot(w, y, &at)) return DYNC_ERR_UNSUPPORTED;
        dync__slot *s = &w->pb.slot.at[at];
        if (s->kind != DYNC__SLOT_TEMP || y->lay.offset || dync__layout_span(&y->lay) != s->size)
            return DYNC_ERR_UNSUPPORTED;
        s->kind = DYNC__SLOT_OUTPUT;
        s->index = w->pb.n_outputs++;
        dync__info_of(&e->out[i], y, -1);
    }
    return DYNC_OK;
}

/* The decomposition with nothing above it and the recorder below. */
static dync_status dync__whole_record(dync__whole *w, const dync__opcall *call,
                                      dync__eager_entry *e)
{
    dync__arg args[DYNC__MAX_ARGS];
    dync__handler bottom = {.call = dync__whole_call, .state = w};
    dync__opcall run = *call;
    if (call->row->infer && call->row->infer != dync__i_composite)
        DYNC__TRY(call->row->infer(call, e->out)); /* its checks */
    memcpy(args, call->args, (size_t)call->nargs * sizeof args[0]);
    run.args = args;
    for (int i = 0; i < call->nargs; i++) DYNC__TRY(dync__whole_arg(w, &args[i]));
    dync__handler *old = dync__bottom_swap(&bottom);
    bool off = dync__grad_off(true);
    dync_status status = dync__op_decompose(&run);
    dync__grad_off(off);
    dync__bottom_swap(old);
    if (status != DYNC_OK) return status;
    status = dync__whole_results(w, &run, e);
    for (int i = 0; i < run.nout; i++) dync__unref(run.out[i]);
    return status;
}

/* Does every loop give the same bits, whichever loops are joined to it? Other than sums of floats,
 * elements are computed by the same operations. */
static bool dync__whole_is_exact(const dync__pb *pb)
{
    for (int i = 0; i < pb->step.n; i++) {
        const dync__kernel *k = pb->step.at[i].kernel;
        for (int j = 0; k && j < k->inst.n; j++) {
            const dync__inst *in = &k->inst.at[j];
            if ((in->prim == DYNC__P_reduce || in->prim == DYNC__P_scan) &&
                (in->type == DYNC_F32 || in->type == DYNC_F64))
                return false;
        }
    }
    return pb->step.n > 0;
}

/* No number of it looks like one that is another in every call: a plan is not made for nothing. */
static bool dync__whole_is_settled(const dync__opcall *call)
{
    for (int i = 0; i < call->nargs; i++)
        if (call->args[i].kind == DYNC__A_FLOAT && rint(call->args[i].as.f) != call->args[i].as.f)
            return false;
    return true;
}

/* Errors are held back: where it fails, the call runs operator by operator and says what is
 * wrong. e->plan stays NULL then; after a lack of memory it is tried again. */
DYNC__RARE static void dync__whole_build(const dync__opcall *call, dync__eager_entry *e)
{
    dync__arena arena = {0};
    dync__whole w = {
        .pb = {.arena = &arena, .origin = call->row->name, .device = DYNC_CPU, .dense = true}};
    dync__plan_options options = {
        .name = call->row->name, .passes = DYNC__EAGER_PASSES, .keeps = true};
    dync__error_guard guard;
    if (!dync__op_state_get()) return;
    dync__error_guard_begin(&guard);
    if (dync__whole_record(&w, call, e) == DYNC_OK && w.pb.step.n &&
        (dync__whole_is_settled(call) || dync__whole_is_exact(&w.pb)))
        e->plan = dync__plan_new(&w.pb, &options);
    if (e->plan)
        dync__pass_log(DYNC__PASS_whole, call->row->name, "%d steps in one plan", w.pb.step.n);
    /* a check that ran out of memory may have been left out: there is a plan all the same */
    e->tried = dync__error_guard_end(&guard)->status != DYNC_ERR_MEMORY || e->plan;
    for (int i = 0; i < w.made.n; i++) dync__unref(w.made.at[i]);
    dync__vec_free(&w.made);
    dync__map_free(&w.slot);
    dync__arena_free(&arena);
}

DYNC__FN bool dync__whole_may(const dync__opcall *call)
{
    dync__tensor *t[DYNC__EAGER_INPUTS];
    int n = dync__opcall_tensors(call, t, DYNC__EAGER_INPUTS);
    if (n == 0 || n > DYNC__EAGER_INPUTS || dync__tls.handler || dync__tls.recording ||
        dync__profile_on() || dync__anomaly_on() || !dync__pass_on(DYNC__PASS_whole))
        return false;
    for (int i = 0; i < n; i++)
        if ((t[i]->flags & DYNC__T_FAKE) || !dync__device_is(t[i]->device, DYNC__DEV_HOST))
            return false;
    return true;
}
#else
DYNC__FN bool dync__whole_may(const dync__opcall *call) { return (void)call, false; }
#endif

/* *done false: it is the caller's to run the decomposition. */
DYNC__FN dync_status dync__eager_whole(dync__opcall *call, bool *done)
{
    *done = false;
#if !defined(DYNC_SMALL)
    dync__eager_key k;
    if (call->row->nout < 1 || !dync__whole_may(call)) return DYNC_OK;
    dync__key_make(&k, call);
    if (!k.fits) return DYNC_OK;
    dync__eager_entry *e = dync__eager_find(&k);
    if (!e) {
        e = dync__calloc(sizeof *e);
        if (e && !dync__eager_keep(&k, e)) {
            dync__eager_entry_free(e);
            e = NULL;
        }
        if (!e || !dync__whole_is_settled(call)) return DYNC_OK;
    }
    if (DYNC__UNLIKELY(!e->tried)) dync__whole_build(call, e);
    if (!e->plan) return DYNC_OK;
    *done = true;
    const char *outer = dync__tls.within;
    if (!outer) dync__tls.within = call->row->name;
    dync_status status = dync__eager_execute(call, e);
    dync__tls.within = outer;
    return status;
#else
    return (void)call, DYNC_OK;
#endif
}
