/* op/lower_factory.c: factories and random numbers, operators in place, and the door that all
 * lowering goes through. After lower.c. */
#include "../dync.in.h"
#include "rows.h"
DYNC__COLD

/* ---- factories ------------------------------------------------------------------------------- */

/* empty and its kind: memory as it was found. */
DYNC__FN dync_status dync__l_nothing(dync__pb *pb, const dync__opcall *call,
                                     const dync__operand *in, const dync__operand *out)
{
    (void)pb;
    (void)call;
    (void)in;
    (void)out;
    return DYNC_OK;
}

/* full and full_like fill with argument 1, ones with 1, zeros with 0. */
DYNC__FN dync_status dync__l_full(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                  const dync__operand *out)
{
    bool given = call->op == DYNC__OP_full || call->op == DYNC__OP_full_like;
    (void)in;
    return dync__lower_fill(pb, call, given ? 1 : -1,
                            call->op == DYNC__OP_ones || call->op == DYNC__OP_ones_like, out);
}

/* F64 throughout, rounded once: the error does not grow with the index. An integer dtype casts
 * start and step first, as PyTorch does. */
DYNC__FN dync_status dync__l_arange(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                    const dync__operand *out)
{
    dync__lb b;
    int64_t one = 1;
    int type = dync__dtype_info(out->dtype)->kind == 'i' ? (int)DYNC_I64 : (int)DYNC__REAL;
    (void)in;
    dync__interp_indexes();
    if (!dync__lower_begin(pb, &b, 0, 1, out->lay.shape)) return DYNC_ERR_MEMORY;
    int index = dync__lb_cast(&b, dync__lb_index(&b, dync__kernel_access(b.k, 0, &one)), type);
    int step = dync__lb_op(&b, DYNC__P_mul, index, dync__lower_number(pb, &b, call, 2, type), -1);
    dync__lower_store(
        &b, out, out->lay.stride,
        dync__lb_op(&b, DYNC__P_add, dync__lower_number(pb, &b, call, 0, type), step, -1));
    return dync__lower_end(pb, &b);
}

/* 1 where row - column is 0. */
DYNC__FN dync_status dync__l_eye(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                 const dync__operand *out)
{
    dync__lb b;
    int64_t gap[2] = {1, -1};
    (void)call;
    (void)in;
    dync__interp_indexes();
    if (!dync__lower_begin(pb, &b, 0, 2, out->lay.shape)) return DYNC_ERR_MEMORY;
    int row_minus_col = dync__lb_index(&b, dync__kernel_access(b.k, 0, gap));
    int on = dync__lb_op(&b, DYNC__P_eq, row_minus_col, dync__lb_i(&b, DYNC_I64, 0), -1);
    dync__lower_store(&b, out, out->lay.stride, on);
    return dync__lower_end(pb, &b);
}

/* Uniform numbers of 16 bits are multiples of their distance below 1: rounded from those of F32
 * some would be 1. */
static int dync__lower_below_one(dync__lb *b, int dtype, int v)
{
    double grains = dtype == DYNC_F16 ? 0x1p11 : dtype == DYNC_BF16 ? 0x1p8 : 0;
    if (grains == 0) return v;
    v = dync__lb_op(b, DYNC__P_mul, v, dync__lb_f(b, DYNC_F32, grains), -1);
    v = dync__lb_op(b, DYNC__P_floor, v, -1, -1);
    return dync__lb_op(b, DYNC__P_mul, v, dync__lb_f(b, DYNC_F32, 1 / grains), -1);
}

/* One draw per element in row-major order, whatever the strides. The counter of an element is its
 * place in row-major order plus what the plan has drawn before: the same seed gives the same
 * numbers whatever the threads, loops and fusion (Philox, base/rng.c). pb->rng_used counts on. */
DYNC__FN dync_status dync__l_random(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                    const dync__operand *out)
{
    dync__lb b;
    dync__layout order;
    int type = out->dtype == DYNC_F64 ? DYNC_F64 : DYNC_F32;
    bool normal = call->op == DYNC__OP_randn || call->op == DYNC__OP_randn_like ||
                  call->op == DYNC__OP_normal;
    (void)in;
    dync__expand_draws();
    dync__interp_draws();
    dync__interp_indexes();
    DYNC__TRY(dync__layout_contiguous(&order, out->lay.ndim, out->lay.shape));
    if (!dync__lower_begin(pb, &b, 0, out->lay.ndim, out->lay.shape)) return DYNC_ERR_MEMORY;
    int v = dync__lb_random(
        &b, dync__lb_index(&b, dync__kernel_access(b.k, (int64_t)pb->rng_used, order.stride)), type,
        normal);
    if (!normal) v = dync__lower_below_one(&b, out->dtype, v);
    if (call->op == DYNC__OP_normal || call->op == DYNC__OP_uniform) {
        int base = dync__lower_number(pb, &b, call, 1, type),
            second = dync__lower_number(pb, &b, call, 2, type);
        int scale = normal ? second : dync__lb_op(&b, DYNC__P_sub, second, base, -1);
        v = dync__lb_op(&b, DYNC__P_add, dync__lb_op(&b, DYNC__P_mul, v, scale, -1), base, -1);
    }
    dync__lower_store(&b, out, out->lay.stride, v);
    pb->rng_used = (uint64_t)dync__sz_add((int64_t)pb->rng_used, dync__lower_count(&out->lay));
    return dync__lower_end(pb, &b);
}

/* From the normal distribution, of a tensor's dtype: it may be F64. randn is told its dtype (its
 * makers, op/public.c). */
DYNC__FN dync_status dync__l_normal(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                    const dync__operand *out)
{
    dync__expand_wide_draws();
    return dync__l_random(pb, call, in, out);
}

/* ---- in place -------------------------------------------------------------------------------- */

/* The functional row's value goes straight into self where it is a loop of one pass, by way of a
 * temporary elsewhere. So it does where elements of self share places (as_strided): each is
 * computed of what stood there before the call, as the graphs of AOT have it, and not of what other
 * elements have left, in whatever order. */
static dync_status dync__lower_inplace(dync__pb *pb, const dync__opcall *call,
                                       const dync__operand *in)
{
    dync__opcall f = *call;
    dync__operand self = in[0], temp;
    dync__info info;
    f.op = call->row->inplace_of;
    f.row = dync__op_info(f.op);
    self.written = true;
    /* expanded dims take the one value once */
    for (int d = 0; f.op == DYNC__OP_fill && d < self.lay.ndim; d++)
        if (self.lay.stride[d] == 0 && self.lay.shape[d] > 1) self.lay.shape[d] = 1;
    bool once = f.op == DYNC__OP_fill || f.op == DYNC__OP_copy || dync__layout_is_apart(&self.lay);
    if (f.row->cls == DYNC__POINTWISE && once) return dync__lower_pointwise(pb, &f, in, &self);
    if (f.row->cls == DYNC__FACTORY) return f.row->lower(pb, &f, in, &self);
    DYNC__TRY(dync__op_infer(&f, &info));
    DYNC__TRY(dync__lower_temp(pb, info.dtype, info.lay.ndim, info.lay.shape, &temp));
    DYNC__TRY(f.row->cls == DYNC__POINTWISE ? dync__lower_pointwise(pb, &f, in, &temp)
                                            : f.row->lower(pb, &f, in, &temp));
    return dync__lower_copy(pb, &temp, &self);
}

/* ---- the door -------------------------------------------------------------------------------- */

/* Views are trivially so; an in-place row is where its functional one is meant to be. What has
 * functions inside is lowered as a node (pb->node), not by itself. A composite's lowering is for
 * eager calls (eager.c); graphs have its parts. */
DYNC__FN bool dync__op_can_lower(int op)
{
    const dync__op_row *row = dync__op_info(op);
    if (row->cls == DYNC__INPLACE) return row->inplace_of >= 0;
    if (dync__row_is_control(row) || row->cls == DYNC__COMPOSITE) return false;
    return row->lower || row->expr || row->cls == DYNC__VIEW;
}

/* The row's own lower column comes first, expr second. pb->origin names the operator in
 * listings. */
DYNC__FN dync_status dync__op_lower(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                    int n_in, const dync__operand *out)
{
    const char *outer = pb->origin;
    dync_status status;
    if (!(call->row->lower || dync__op_can_lower(call->op)) ||
        n_in != dync__opcall_tensors(call, NULL, 0))
        return dync__fail(DYNC_ERR_INTERNAL, "%s has no lowering for %d operands", call->row->name,
                          n_in);
    pb->origin = call->row->name;
    if (call->row->cls == DYNC__VIEW)
        status = DYNC_OK;
    else if (call->row->cls == DYNC__INPLACE)
        status = dync__lower_inplace(pb, call, in);
    else if (call->row->lower)
        status = call->row->lower(pb, call, in, out);
    else
        status = dync__lower_pointwise(pb, call, in, out);
    pb->origin = outer;
    return status;
}
