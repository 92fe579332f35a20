/* op/infer_reduce.c: inference of reductions and scans. After infer.c. */
#include "../dync.in.h"
#include "rows.h"
DYNC__COLD

/* ---- reductions ------------------------------------------------------------------------------ */

/* reduced[d], for all DYNC_MAX_DIMS places: does dim d go? Negative dims count from the end, and
 * each is named at most once. An empty list means every dim, as in PyTorch. */
DYNC__FN dync_status dync__infer_dims(const dync__arg *dims, int ndim, bool *reduced)
{
    int64_t one = dims->kind == DYNC__A_INT ? dims->as.i : 0;
    int n = dims->kind == DYNC__A_INT ? 1 : dims->n;
    const int64_t *d = dims->kind == DYNC__A_INT ? &one : dims->as.dims;
    if (n < 0 || n > DYNC_MAX_DIMS)
        return dync__fail(DYNC_ERR_VALUE, "expected at most %d dims, got %d", DYNC_MAX_DIMS, n);
    for (int i = 0; i < DYNC_MAX_DIMS; i++) reduced[i] = n == 0 && i < ndim;
    for (int i = 0; i < n; i++) {
        dync__arg a = dync__arg_i(d[i]);
        int dim;
        DYNC__TRY(dync__dim_wrap(dync__infer_int_dim(&a), ndim, &dim));
        if (reduced[dim])
            return dync__fail(DYNC_ERR_VALUE, "dim %d appears multiple times in the list of dims",
                              dim);
        reduced[dim] = true;
    }
    return DYNC_OK;
}

/* The result of a reduction over these dims: they go, or stay with size 1 (keepdim). */
static dync_status dync__infer_reduced(const dync__tensor *t, const bool *reduced, bool keepdim,
                                       int dtype, dync__info *out)
{
    int64_t shape[DYNC_MAX_DIMS];
    int n = 0;
    for (int i = 0; i < t->lay.ndim; i++) {
        if (!reduced[i])
            shape[n++] = t->lay.shape[i];
        else if (keepdim)
            shape[n++] = 1;
    }
    return dync__infer_fresh(out, dtype, t->device, n, shape);
}

/* Extremes of nothing do not exist. */
static dync_status dync__infer_not_empty(const dync__tensor *t, const bool *reduced)
{
    for (int i = 0; i < t->lay.ndim; i++)
        if (reduced[i] && t->lay.shape[i] == 0)
            return dync__fail(DYNC_ERR_INDEX, "Expected reduction dim %d to have non-zero size.",
                              i);
    return DYNC_OK;
}

/* any and all of uint8 give uint8, else bool; sums of integers are int64; a mean of what is no
 * float would be of the default dtype (FLOAT). */
static int dync__infer_reduce_dtype(const dync__opcall *call, const dync__tensor *t)
{
    bool floating = dync__dtype_info(t->dtype)->kind == 'f';
    if (call->row->flags & DYNC__OP_BOOL_OUT) return t->dtype == DYNC_U8 ? DYNC_U8 : DYNC_BOOL;
    if ((call->row->flags & DYNC__OP_KEEP_INT) && !floating) return DYNC_I64;
    if ((call->row->flags & DYNC__OP_FLOAT) && !floating) return dync__tls.default_dtype;
    return t->dtype;
}

/* sum, prod, mean, amax, amin, any, all, logsumexp: arguments (self, dims, keepdim). */
DYNC__FN dync_status dync__i_reduce(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    bool reduced[DYNC_MAX_DIMS];
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    DYNC__TRY(dync__infer_dims(&call->args[1], t->lay.ndim, reduced));
    if (call->op == DYNC__OP_mean && dync__dtype_info(t->dtype)->kind != 'f')
        return dync__fail(
            DYNC_ERR_DTYPE,
            "could not infer output dtype. Input dtype must be either a floating point or "
            "complex dtype. "
            "Got: %s",
            dync__dtype_info(t->dtype)->guard);
    if (call->op == DYNC__OP_amax || call->op == DYNC__OP_amin)
        DYNC__TRY(dync__infer_not_empty(t, reduced));
    return dync__infer_reduced(t, reduced, call->args[2].as.i != 0,
                               dync__infer_reduce_dtype(call, t), out);
}

/* Arguments (self, dims, correction, keepdim): var and std. */
DYNC__FN dync_status dync__i_var(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    bool reduced[DYNC_MAX_DIMS];
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    if (dync__dtype_info(t->dtype)->kind != 'f')
        return dync__fail(DYNC_ERR_DTYPE, "std and var only support floating point and complex "
                                          "dtypes");
    DYNC__TRY(dync__infer_dims(&call->args[1], t->lay.ndim, reduced));
    return dync__infer_reduced(t, reduced, call->args[3].as.i != 0, t->dtype, out);
}

/* Arguments (self, p, dims, keepdim). */
DYNC__FN dync_status dync__i_norm(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    bool reduced[DYNC_MAX_DIMS];
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    if (dync__dtype_info(t->dtype)->kind != 'f')
        return dync__fail(DYNC_ERR_DTYPE,
                          "Expected a floating point or complex tensor as input. "
                          "Got %s",
                          dync__dtype_info(t->dtype)->guard);
    if (!dync__arg_is_number(&call->args[1]))
        return dync__fail(DYNC_ERR_VALUE, "expected p to "
                                          "be a number");
    DYNC__TRY(dync__infer_dims(&call->args[2], t->lay.ndim, reduced));
    return dync__infer_reduced(t, reduced, call->args[3].as.i != 0, t->dtype, out);
}

/* argmax, argmin: indices, int64. Arguments (self, dims, keepdim), dims at most one. */
DYNC__FN dync_status dync__i_arg_reduce(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    bool reduced[DYNC_MAX_DIMS];
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    if (t->dtype == DYNC_BOOL) return dync__fail(DYNC_ERR_DTYPE, "does not support bool input");
    DYNC__TRY(dync__infer_dims(&call->args[1], t->lay.ndim, reduced));
    DYNC__TRY(dync__infer_not_empty(t, reduced));
    return dync__infer_reduced(t, reduced, call->args[2].as.i != 0, DYNC_I64, out);
}

/* max and min along a dim: values, and where they stood (int64). Arguments (self, dim, keepdim). */
DYNC__FN dync_status dync__i_max_dim(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    bool reduced[DYNC_MAX_DIMS];
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    DYNC__TRY(dync__infer_dims(&call->args[1], t->lay.ndim, reduced));
    DYNC__TRY(dync__infer_not_empty(t, reduced));
    DYNC__TRY(dync__infer_reduced(t, reduced, call->args[2].as.i != 0, t->dtype, &out[0]));
    return dync__infer_reduced(t, reduced, call->args[2].as.i != 0, DYNC_I64, &out[1]);
}

/* A scan keeps the shape; integers are summed as int64. The result is row major whatever self
 * is. */
DYNC__FN dync_status dync__i_cumsum(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    int dim;
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    DYNC__TRY(dync__infer_axis(call, 1, t, &dim));
    return dync__infer_fresh(out, dync__infer_reduce_dtype(call, t), t->device, t->lay.ndim,
                             t->lay.shape);
}

/* Arguments (self, dim); also of log_softmax. The result is row major. */
DYNC__FN dync_status dync__i_softmax(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    int dim;
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    DYNC__TRY(dync__infer_axis(call, 1, t, &dim));
    DYNC__TRY(dync__infer_floating(t));
    return dync__infer_fresh(out, t->dtype, t->device, t->lay.ndim, t->lay.shape);
}
