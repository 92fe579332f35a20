/* op/anomaly.c: anomaly mode: the first operator that makes a NaN or an infinity of values that
 * have none is an error that names it and the user's line. Compiled functions run as they are
 * written meanwhile (capture/cache.c), so that it sees each of their operators, and those of
 * backward. After lower_move.c, before dispatch.c. */
#include "../dync.in.h"
#include "rows.h"
DYNC__COLD

DYNC__DATA int32_t dync__anomaly_now = 0;
DYNC__DATA dync_status (*dync__anomaly_watch)(dync__opcall *,
                                              dync_status (*)(dync__opcall *)) = NULL;

/* The worst of some values. */
typedef enum { DYNC__FINITE, DYNC__INFINITE, DYNC__NAN } dync__worst;

static dync__worst dync__worst_number(double x)
{
    return x != x ? DYNC__NAN : fabs(x) > DBL_MAX ? DYNC__INFINITE : DYNC__FINITE;
}

/* Tensors without data or of other devices are not looked into. Stops at the first NaN: nothing is
 * worse. Walks any strides. */
static dync__worst dync__worst_in(const dync__tensor *t)
{
    int64_t at[DYNC_MAX_DIMS] = {0};
    dync__worst worst = DYNC__FINITE;
    if (!t || dync__dtype_info(t->dtype)->kind != 'f' || (t->flags & DYNC__T_FAKE) ||
        !dync__device_is(t->device, DYNC__DEV_HOST) || !t->storage->data || t->numel <= 0)
        return worst;
    int64_t bytes = dync__dtype_info(t->dtype)->bytes;
    const char *p = dync__tensor_data(t);
    for (int64_t i = 0; i < t->numel && worst != DYNC__NAN; i++) {
        dync__worst x = dync__worst_number(dync__load_f64(p, t->dtype));
        worst = DYNC__MAX(worst, x);
        for (int d = t->lay.ndim - 1; d >= 0; d--) {
            p += t->lay.stride[d] * bytes;
            if (++at[d] < t->lay.shape[d]) break;
            p -= t->lay.stride[d] * bytes * at[d];
            at[d] = 0;
        }
    }
    return worst;
}

/* Lists count as the worst of their items; integers are finite. */
static dync__worst dync__worst_arg(const dync__arg *a)
{
    dync__worst worst = DYNC__FINITE;
    if (a->kind == DYNC__A_TENSOR) return dync__worst_in(a->as.t);
    if (a->kind == DYNC__A_FLOAT) return dync__worst_number(a->as.f);
    for (int i = 0; a->kind == DYNC__A_LIST && i < a->n; i++)
        worst = DYNC__MAX(worst, dync__worst_arg(&a->as.list[i]));
    return worst;
}

/* What it gives is not computed: memory as it was found. */
static bool dync__anomaly_uninitialised(const dync__opcall *call)
{
    return dync__find(call->row->name, "empty") != NULL;
}

/* dispatch: what would have been called. An operator is blamed only where its result is worse than
 * all of its arguments: inf in, inf out is no discovery, inf in, NaN out is one. Results are let go
 * then. */
DYNC__RARE static dync_status dync__dispatch_watched(dync__opcall *call,
                                                     dync_status (*dispatch)(dync__opcall *))
{
    dync__worst before = DYNC__FINITE, after = DYNC__FINITE;
    for (int i = 0; i < call->nargs; i++)
        before = DYNC__MAX(before, dync__worst_arg(&call->args[i]));
    DYNC__TRY(dispatch(call));
    int which = 0;
    for (int i = 0; i < call->nout && !dync__anomaly_uninitialised(call); i++) {
        dync__worst x = dync__worst_in(call->out[i]);
        if (x > after) which = i;
        after = DYNC__MAX(after, x);
    }
    if (after <= before) return DYNC_OK;
    for (int i = 0; i < call->nout; i++) {
        dync__unref(call->out[i]);
        call->out[i] = NULL;
    }
    const char *what = after == DYNC__NAN ? "NaN" : "infinity", *node = dync__tls.backward_of;
    const char *from = before == DYNC__FINITE ? "finite values" : "values without a NaN";
    if (node)
        return dync__fail_class(DYNC_ERR_RUNTIME, "RuntimeError",
                                "anomaly: %s made the first %s, in its output %d, from %s, in the "
                                "backward '%s' of the operator there",
                                call->row->name, what, which, from, node);
    return dync__fail_class(DYNC_ERR_RUNTIME, "RuntimeError",
                            "anomaly: %s made the first %s, in its output %d, from %s",
                            call->row->name, what, which, from);
}

/* The function is stored before the switch: whoever sees the switch on finds it. */
DYNC_API void dync_set_anomaly(bool on)
{
    if (on) DYNC__ATOMIC_STORE(&dync__anomaly_watch, dync__dispatch_watched);
    DYNC__ATOMIC_STORE(&dync__anomaly_now, on);
}
