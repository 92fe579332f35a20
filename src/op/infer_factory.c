/* op/infer_factory.c: inference of in-place operators and of factories. After infer_pointwise.c. */
#include "../dync.in.h"
#include "rows.h"
DYNC__COLD

/* ---- in place -------------------------------------------------------------------------------- */
DYNC__MEETING(writes)

/* The functional row decides shape and dtype; self must take them. self keeps its dtype and
 * strides: the value is cast to it, which must not lose the category (a float is not stored in an
 * int tensor). self must not overlap itself (an expanded tensor), unless every element gets the
 * same value. */
DYNC__FN dync_status dync__i_inplace(const dync__opcall *call, dync__info *out)
{
    dync__opcall f = *call;
    dync__tensor *self;
    dync__info value;
    DYNC__MEET(writes);
    dync__eager_writes();
    DYNC__TRY(dync__infer_tensor(call, 0, &self));
    f.op = call->row->inplace_of;
    f.row = dync__op_info(f.op);
    DYNC__TRY(f.row->infer(&f, &value));
    if (value.lay.ndim != self->lay.ndim ||
        !dync__sz_same(self->lay.ndim, value.lay.shape, self->lay.shape)) {
        dync__str s = {0};
        dync__shape_text(&s, self->lay.ndim, self->lay.shape);
        dync__str_add(&s, " doesn't match the broadcast shape ");
        dync__shape_text(&s, value.lay.ndim, value.lay.shape);
        dync__fail(DYNC_ERR_SHAPE, "output with shape %s", dync__str_get(&s));
        dync__str_free(&s);
        return DYNC_ERR_SHAPE;
    }
    if (!dync__can_cast(value.dtype, self->dtype))
        return dync__fail(DYNC_ERR_DTYPE,
                          "result type %s can't be cast to the desired output "
                          "type %s",
                          dync__dtype_info(value.dtype)->guard,
                          dync__dtype_info(self->dtype)->guard);
    bool number = call->op == DYNC__OP_fill_ && call->args[1].kind != DYNC__A_TENSOR;
    bool idempotent = number || call->op == DYNC__OP_zero_; /* writes the same value each time */
    if (!idempotent && dync__layout_overlaps_itself(&self->lay))
        return dync__fail_class(
            DYNC_ERR_VALUE, "RuntimeError",
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single "
            "memory location. Please clone() the tensor before performing the operation.");
    dync__info_of(out, self, 0);
    return DYNC_OK;
}

/* ---- factories ------------------------------------------------------------------------------- */

/* dtype and device are numbers from the user and are checked; row major. */
static dync_status dync__infer_made(dync__info *out, const dync__arg *dtype,
                                    const dync__arg *device, int ndim, const int64_t *shape)
{
    if (!dync__dtype_valid((int)dtype->as.i))
        return dync__fail(DYNC_ERR_DTYPE, "unknown dtype %d", (int)dtype->as.i);
    DYNC__TRY(dync__device_known((int)device->as.i));
    return dync__infer_fresh(out, (int)dtype->as.i, (int)device->as.i, ndim, shape);
}

/* Random rows make floats; others may have any dtype. */
static dync_status dync__infer_random_dtype(const dync__opcall *call, int dtype)
{
    if (DYNC__F64_NONE && call->row->flags & DYNC__OP_RANDOM && dtype == DYNC_F64)
        return dync__left_out("a tensor of DYNC_F64", "DYNC_NO_F64");
    if (!(call->row->flags & DYNC__OP_RANDOM) || dync__dtype_info(dtype)->kind == 'f')
        return DYNC_OK;
    return dync__fail(DYNC_ERR_DTYPE, "not implemented for '%s': expected a floating dtype",
                      dync__dtype_info(dtype)->guard);
}

/* Arguments (sizes, dtype, device): zeros, ones, empty, rand, randn. */
DYNC__FN dync_status dync__i_factory(const dync__opcall *call, dync__info *out)
{
    DYNC__TRY(dync__infer_made(out, &call->args[1], &call->args[2], call->args[0].n,
                               call->args[0].as.dims));
    return dync__infer_random_dtype(call, out->dtype);
}

/* Arguments (sizes, value, dtype, device); the value must fit the dtype. */
DYNC__FN dync_status dync__i_full(const dync__opcall *call, dync__info *out)
{
    DYNC__TRY(dync__infer_number(call, 1));
    if (dync__dtype_valid((int)call->args[2].as.i))
        DYNC__TRY(dync__infer_numbers(call, DYNC__OP_full));
    return dync__infer_made(out, &call->args[2], &call->args[3], call->args[0].n,
                            call->args[0].as.dims);
}

/* Arguments (rows, columns, dtype, device). */
DYNC__FN dync_status dync__i_eye(const dync__opcall *call, dync__info *out)
{
    int64_t shape[2] = {call->args[0].as.i, call->args[1].as.i};
    return dync__infer_made(out, &call->args[2], &call->args[3], 2, shape);
}

/* An end of a range as a size that may be symbolic; false: it is no integer. */
static bool dync__arange_size(const dync__arg *a, int64_t *size)
{
    *size = a->as.i;
    return a->kind != DYNC__A_FLOAT || dync__sf_size(a->as.f, size) ||
           (fabs(a->as.f) < 0x1p53 && floor(a->as.f) == a->as.f &&
            (*size = (int64_t)a->as.f, !dync__is_sf(dync__sf_bits(a->as.f))));
}

/* Integers of which one is symbolic, with a plain step: the count stays so. False: it is for those
 * that have numbers. */
static bool dync__arange_symbolic(const dync__opcall *call, dync_status *status, int64_t *count)
{
    int64_t start, end, step;
    if (!dync__arange_size(&call->args[0], &start) || !dync__arange_size(&call->args[1], &end) ||
        !dync__arange_size(&call->args[2], &step) || !dync__any_token(start, end) ||
        dync__is_token(step) || step == 0 || step > 1 << 30 || step < -(1 << 30))
        return false;
    int64_t span = step > 0 ? dync__sz_sub(end, start) : dync__sz_sub(start, end),
            by = step > 0 ? step : -step;
    *status = dync__sz_lt(span, 0)
                  ? dync__fail(DYNC_ERR_VALUE, "upper bound and lower bound inconsistent with step "
                                               "sign")
                  : DYNC_OK;
    *count = dync__sz_size(by == 1 ? span : dync__sz_div(dync__sz_add(span, by - 1), by));
    return true;
}

/* Arguments (start, end, step, dtype, device): ceil((end - start) / step) elements, computed in
 * double as PyTorch does, or symbolically where an end is a token. */
DYNC__FN dync_status dync__i_arange(const dync__opcall *call, dync__info *out)
{
    int64_t n;
    for (int i = 0; i < 3; i++) DYNC__TRY(dync__infer_number(call, i));
    dync_status status;
    if (dync__arange_symbolic(call, &status, &n)) {
        DYNC__TRY(status);
        if (call->args[3].as.i == DYNC_BOOL)
            return dync__fail(DYNC_ERR_DTYPE, "not implemented for 'Bool'");
        return dync__infer_made(out, &call->args[3], &call->args[4], 1, &n);
    }
    double start = dync__arg_number(&call->args[0]), end = dync__arg_number(&call->args[1]),
           step = dync__arg_number(&call->args[2]);
    if (!(step > 0 || step < 0)) return dync__fail(DYNC_ERR_VALUE, "step must be nonzero");
    if (!(fabs(start) <= DBL_MAX) || !(fabs(end) <= DBL_MAX))
        return dync__fail(DYNC_ERR_VALUE, "unsupported range: %g -> %g", dync__float_told(start),
                          dync__float_told(end));
    if ((step > 0 && end < start) || (step < 0 && end > start))
        return dync__fail(DYNC_ERR_VALUE, "upper bound and lower bound inconsistent with step "
                                          "sign");
    double count = ceil((end - start) / step);
    if (!(count < 4e18)) return dync__fail(DYNC_ERR_SHAPE, "invalid size, possible overflow?");
    n = (int64_t)count;
    if (call->args[3].as.i == DYNC_BOOL)
        return dync__fail(DYNC_ERR_DTYPE, "not implemented for "
                                          "'Bool'");
    return dync__infer_made(out, &call->args[3], &call->args[4], 1, &n);
}

/* empty_like and its kind keep the strides of dense tensors, and the order of dims of others.
 * Argument 0 lends everything but its values. normal and uniform check their two numbers when they
 * have them. */
DYNC__FN dync_status dync__i_like(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    DYNC__TRY(dync__infer_random_dtype(call, t->dtype));
    if ((call->op == DYNC__OP_normal || call->op == DYNC__OP_uniform) && call->nargs == 3) {
        DYNC__TRY(dync__infer_number(call, 1));
        DYNC__TRY(dync__infer_number(call, 2));
        double a = dync__arg_number(&call->args[1]), b = dync__arg_number(&call->args[2]);
        if (call->op == DYNC__OP_normal && !(b >= 0))
            return dync__fail(DYNC_ERR_VALUE, "expects std >= 0.0, but found std %g",
                              dync__float_told(b));
        if (call->op == DYNC__OP_uniform && !(a <= b))
            return dync__fail(DYNC_ERR_VALUE,
                              "expects to return a [from, to) range, but found "
                              "from=%g > to=%g",
                              dync__float_told(a), dync__float_told(b));
    }
    *out = (dync__info){.dtype = t->dtype, .device = t->device, .alias = -1};
    return dync__infer_like(out, t->lay.ndim, t->lay.shape, 1, &t, DYNC__LIKE);
}

DYNC__FN dync_status dync__i_full_like(const dync__opcall *call, dync__info *out)
{
    DYNC__TRY(dync__i_like(call, out));
    DYNC__TRY(dync__infer_number(call, 1));
    return dync__infer_numbers(call, DYNC__OP_fill);
}

/* A value in the form of argument 0: copy, and fill with its 0-dim value. A tensor as the value
 * must expand to self. */
DYNC__FN dync_status dync__i_like_self(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    dync__layout expanded;
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    DYNC__TRY(dync__infer_value(call, 1));
    DYNC__TRY(dync__infer_numbers(call, DYNC__OP_fill));
    if (call->args[1].kind == DYNC__A_TENSOR)
        DYNC__TRY(
            dync__layout_expand(&call->args[1].as.t->lay, t->lay.ndim, t->lay.shape, &expanded));
    *out = (dync__info){.dtype = t->dtype, .device = t->device, .alias = -1};
    return dync__infer_like(out, t->lay.ndim, t->lay.shape, 1, &t, DYNC__LIKE);
}

/* The value is a number or a 0-dim tensor. */
DYNC__FN dync_status dync__i_fill(const dync__opcall *call, dync__info *out)
{
    if (call->nargs > 1 && call->args[1].kind == DYNC__A_TENSOR &&
        call->args[1].as.t->lay.ndim != 0)
        return dync__fail(DYNC_ERR_SHAPE,
                          "only supports 0-dimension value tensor but got tensor with %d "
                          "dimensions.",
                          call->args[1].as.t->lay.ndim);
    return dync__i_like_self(call, out);
}
