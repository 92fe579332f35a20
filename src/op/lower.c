/* op/lower.c: operators as steps of a plan: pointwise loops, factories, copies. After
 * expr.c, before lower_reduce.c.
 *
 * Each operator becomes unfused kernels (loop/) or kernel calls (kernel/) on the slots of its
 * operands; runtime/ fuses them. Every loop nest here goes through dync__lower_begin and
 * dync__lower_end, every access through a strided operand, so views are index maps and nothing is
 * copied to be read. Loops without iterations are dropped. */
#include "../dync.in.h"
#include "rows.h"
DYNC__COLD

/* ---- building blocks ------------------------------------------------------------------------- */

/* Of a symbolic layout a token. */
DYNC__FN int64_t dync__lower_count(const dync__layout *l)
{
    int64_t n = 1;
    for (int d = 0; d < l->ndim; d++) /* an allocated or inferred layout: checked not to overflow */
        n = dync__sz_mul(n, l->shape[d]);
    return n;
}

DYNC__FN const dync__operand *dync__lower_operand(const dync__opcall *call, const dync__operand *in,
                                                  int i)
{
    int at = 0;
    if (i >= call->nargs || call->args[i].kind != DYNC__A_TENSOR) return NULL;
    for (int k = 0; k < i; k++) {
        if (call->args[k].kind == DYNC__A_TENSOR) at++;
        if (call->args[k].kind == DYNC__A_LIST) at += call->args[k].n;
    }
    return &in[at];
}

/* extent: of n_outer outer loops, then of the inner ones. The kernel lies in pb's arena. b->section
 * starts at 1, the first phase. False: no memory. */
DYNC__FN bool dync__lower_begin(dync__pb *pb, dync__lb *b, int n_outer, int n_dims,
                                const int64_t *extent)
{
    memset(b, 0, sizeof *b);
    b->k = dync__kernel_new(pb->arena, pb->origin, n_outer, n_dims, extent);
    b->section = 1;
    b->origin = pb->origin;
    b->fast_math = pb->fast_math;
    return b->k != NULL;
}

/* Failures of the builder are sticky and come out here. A loop nest with an extent of 0 is left
 * out. */
DYNC__FN dync_status dync__lower_end(dync__pb *pb, dync__lb *b)
{
    if (!b->k || b->k->failed) return DYNC_ERR_MEMORY;
    for (int d = 0; d < b->k->n_dims; d++)
        if (b->k->extent[d] == 0) return DYNC_OK;
    return dync__pb_add_kernel(pb, b->k) ? DYNC_OK : DYNC_ERR_MEMORY;
}

DYNC__FN int dync__lower_load(dync__lb *b, const dync__operand *x, const int64_t *stride)
{
    int buf = dync__kernel_buf(b->k, x->slot, x->dtype, DYNC__BUF_IN, -1, NULL);
    return dync__lb_load(b, buf, dync__kernel_access(b->k, x->lay.offset, stride));
}

/* Integers wrap to the width of y's dtype, floats round to it. */
DYNC__FN void dync__lower_store(dync__lb *b, const dync__operand *y, const int64_t *stride,
                                int value)
{
    int buf = dync__kernel_buf(b->k, y->slot, y->dtype, DYNC__BUF_OUT, -1, NULL);
    value = dync__lb_cast(b, value, dync__dtype_info(y->dtype)->compute);
    value = dync__lb_wrap(b, value, y->dtype);
    dync__lb_store(b, buf, dync__kernel_access(b->k, y->lay.offset, stride), value);
}

/* A number that sizes decide, which stays one. */
static bool dync__arg_is_sized(const dync__arg *a, int type)
{
    return a->kind == DYNC__A_FLOAT ? type != DYNC_I64 && dync__is_sf(dync__sf_bits(a->as.f))
                                    : dync__is_token(a->as.i);
}

/* Three ways: a number of run time is loaded from its slot (eager), one that follows from symbolic
 * sizes stays symbolic in a plan for many sizes, any other is a constant. Floats become integers as
 * C casts them, and 32 bits wrap. */
DYNC__FN int dync__lower_number(dync__pb *pb, dync__lb *b, const dync__opcall *call, int i,
                                int type)
{
    static const int64_t still[DYNC__LOOP_MAX_DIMS] = {0};
    const dync__arg *a = &call->args[i];
    if (pb->number_slot && pb->number_slot[i] >= 0) {
        int slot = pb->number_slot[i];
        dync__operand x = {.slot = slot, .dtype = pb->slot.at[slot].dtype};
        return dync__lb_cast(b, dync__lower_load(b, &x, still), type);
    }
    if (pb->sized && type != DYNC_BOOL && type != DYNC_I32 && dync__arg_is_sized(a, type))
        return type == DYNC_I64
                   ? dync__lb_i(b, type, a->as.i)
                   : dync__lb_f(b, type, a->kind == DYNC__A_FLOAT ? a->as.f : dync__sf_of(a->as.i));
    double f = dync__arg_number(a);
    if (type == DYNC_F32 || type == DYNC_F64) return dync__lb_f(b, type, f);
    if (type == DYNC_BOOL) return dync__lb_i(b, type, f < 0 || f > 0 || f != f);
    int64_t whole = dync__sz_number(a->as.i);
    if (a->kind == DYNC__A_FLOAT) dync__store_f64(&whole, DYNC_I64, f);
    if (type == DYNC_I32) {
        int32_t narrow;
        dync__store_i64(&narrow, DYNC_I32, whole);
        whole = narrow;
    }
    return dync__lb_i(b, type, whole);
}

/* Strides of l along the dims of a shape that it broadcasts to. */
static void dync__lower_broadcast(const dync__layout *l, const dync__layout *to, int64_t *stride)
{
    int lead = to->ndim - l->ndim;
    for (int d = 0; d < to->ndim; d++)
        stride[d] =
            d < lead || (l->shape[d - lead] == 1 && to->shape[d] != 1) ? 0 : l->stride[d - lead];
}

/* Its memory is planned later; *out is read by whoever wrote it. */
DYNC__FN dync_status dync__lower_temp(dync__pb *pb, int dtype, int ndim, const int64_t *shape,
                                      dync__operand *out)
{
    memset(out, 0, sizeof *out);
    DYNC__TRY(dync__layout_contiguous(&out->lay, ndim, shape));
    out->dtype = (uint8_t)dtype;
    out->slot = dync__pb_slot(pb, DYNC__SLOT_TEMP, dtype, dync__lower_count(&out->lay), NULL);
    return out->slot < 0 ? DYNC_ERR_MEMORY : DYNC_OK;
}

/* src broadcasts to dst's shape; both may have any strides. */
DYNC__FN dync_status dync__lower_copy(dync__pb *pb, const dync__operand *src,
                                      const dync__operand *dst)
{
    dync__lb b;
    int64_t from[DYNC_MAX_DIMS];
    dync__lower_broadcast(&src->lay, &dst->lay, from);
    if (!dync__lower_begin(pb, &b, 0, dst->lay.ndim, dst->lay.shape)) return DYNC_ERR_MEMORY;
    dync__lower_store(&b, dst, dst->lay.stride, dync__lower_load(&b, src, from));
    return dync__lower_end(pb, &b);
}

/* Expanded dims of dst are written once: zero_ and fill_ allow them. arg: the number argument to
 * fill with, or -1 for `value`. */
DYNC__FN dync_status dync__lower_fill(dync__pb *pb, const dync__opcall *call, int arg, double value,
                                      const dync__operand *dst)
{
    dync__lb b;
    int64_t extent[DYNC_MAX_DIMS];
    int type = dync__dtype_info(dst->dtype)->compute;
    for (int d = 0; d < dst->lay.ndim; d++)
        extent[d] = dst->lay.stride[d] == 0 ? DYNC__MIN(dst->lay.shape[d], 1) : dst->lay.shape[d];
    if (!dync__lower_begin(pb, &b, 0, dst->lay.ndim, extent)) return DYNC_ERR_MEMORY;
    int v = arg >= 0                               ? dync__lower_number(pb, &b, call, arg, type)
            : type == DYNC_F32 || type == DYNC_F64 ? dync__lb_f(&b, type, value)
                                                   : dync__lb_i(&b, type, (int64_t)value);
    dync__lower_store(&b, dst, dst->lay.stride, v);
    return dync__lower_end(pb, &b);
}

/* operands are copied, attr may be NULL. Order and meaning of operands are the kernel's own: see
 * its row in kernel/. */
DYNC__FN dync_status dync__lower_kcall(dync__pb *pb, const dync__kcall_row *kernel, int n,
                                       const dync__operand *operands, const dync__attr *attr)
{
    dync__kcall *c = dync__arena_alloc(pb->arena, sizeof *c);
    if (!c) return DYNC_ERR_MEMORY;
    c->row = kernel;
    c->n = n;
    c->origin = pb->origin;
    c->user_op = pb->user_op;
    c->at = pb->at;
    for (int i = 0; i < n; i++) c->operand[i] = operands[i];
    if (attr) c->attr = *attr;
    return dync__pb_add_call(pb, c) ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* ---- operands in the rank that a kernel wants ------------------------------------------------ */

/* A leading dim of size 1. */
static void dync__lower_lift(dync__layout *l)
{
    for (int i = l->ndim++; i > 0; i--) {
        l->shape[i] = l->shape[i - 1];
        l->stride[i] = l->stride[i - 1];
    }
    l->shape[0] = 1;
    l->stride[0] = l->ndim > 1 ? dync__sz_mul(l->shape[1], l->stride[1]) : 1;
}

/* A copy of x whose layout has at least that rank; no element moves. */
DYNC__FN dync__operand dync__lower_lifted(const dync__operand *x, int rank)
{
    dync__operand y = *x;
    while (y.lay.ndim < rank) dync__lower_lift(&y.lay);
    return y;
}

DYNC__FN dync__operand dync__lower_written(const dync__operand *x, int rank)
{
    dync__operand y = dync__lower_lifted(x, rank);
    y.written = true;
    return y;
}

/* x itself, or a row-major temporary with its elements in another dtype. */
DYNC__FN dync_status dync__lower_as(dync__pb *pb, const dync__operand *x, int dtype,
                                    dync__operand *out)
{
    *out = *x;
    if (x->dtype == dtype) return DYNC_OK;
    DYNC__TRY(dync__lower_temp(pb, dtype, x->lay.ndim, x->lay.shape, out));
    return dync__lower_copy(pb, x, out);
}

DYNC__FN int dync__lower_axis(const dync__arg *a, int ndim)
{
    /* inferred: in range */
    return (int)(a->as.i < 0 ? a->as.i + DYNC__MAX(ndim, 1) : a->as.i);
}

DYNC__FN bool dync__lower_empty(const dync__operand *x) { return dync__lower_count(&x->lay) == 0; }

/* ---- pointwise ------------------------------------------------------------------------------- */

/* Conditions and masks stay BOOL. */
static bool dync__lower_is_mask(const dync__op_row *row, int arg)
{
    return (row->flags & DYNC__OP_MASK_0 && arg == 0) || (row->flags & DYNC__OP_MASK_1 && arg == 1);
}

/* An operand becomes the common dtype before it is computed with: integers wrap, and whole tensors
 * of another float dtype round; numbers and 0-dim tensors keep their precision, as in PyTorch's
 * kernels for reduced floats. */
static int dync__lower_to_common(dync__lb *b, int v, int common, int from, bool whole_tensor)
{
    const dync__dtype_row *row = dync__dtype_info(common);
    v = dync__lb_cast(b, v, row->compute);
    if (from != common && (row->kind == 'i' || whole_tensor)) v = dync__lb_wrap(b, v, common);
    return v;
}

/* Integers are not divided by zero; on the CPU, as GPUs do not stop for it. */
static dync_status dync__lower_divisor(dync__pb *pb, const dync__opcall *call,
                                       const dync__operand *in)
{
    const dync__operand *y = dync__lower_operand(call, in, 1);
    if (!y)
        return dync__arg_number(&call->args[1]) != 0
                   ? DYNC_OK
                   : dync__fail_class(DYNC_ERR_VALUE, "ZeroDivisionError", "ZeroDivisionError");
    return dync__device_is(pb->device, DYNC__DEV_CHECKS)
               ? dync__lower_kcall(pb, &dync__kcall_check_divisor, 1, y, NULL)
               : DYNC_OK;
}

/* One loop nest over the result: load each operand at its broadcast strides, cast to the common
 * dtype, apply the row's expr, store. Also of rows that are the functional side of an in-place one:
 * out is self then. */
DYNC__FN dync_status dync__lower_pointwise(dync__pb *pb, const dync__opcall *call,
                                           const dync__operand *in, const dync__operand *out)
{
    dync__lb b;
    int value[DYNC__MAX_ARGS], common = dync__op_common_dtype(call);
    int64_t stride[DYNC_MAX_DIMS];
    if (call->row->flags & DYNC__OP_DIVIDES && dync__dtype_info(common)->kind != 'f')
        DYNC__TRY(dync__lower_divisor(pb, call, in));
    if (!dync__lower_begin(pb, &b, 0, out->lay.ndim, out->lay.shape)) return DYNC_ERR_MEMORY;
    for (int i = 0; i < call->nargs; i++) {
        const dync__operand *x = dync__lower_operand(call, in, i);
        value[i] = -1;
        if (x) {
            dync__lower_broadcast(&x->lay, &out->lay, stride);
            value[i] = dync__lower_load(&b, x, stride);
            if (dync__lower_is_mask(call->row, i))
                value[i] = dync__lb_cast(&b, value[i], DYNC_BOOL);
            else
                value[i] = dync__lower_to_common(&b, value[i], common, x->dtype, x->lay.ndim > 0);
        } else if (dync__arg_is_number(&call->args[i])) {
            value[i] = dync__lower_number(pb, &b, call, i, dync__dtype_info(common)->compute);
            /* clamping a uint8 to [-1, 300] changes nothing */
            if (!(call->row->flags & DYNC__OP_BOUNDS))
                value[i] = dync__lower_to_common(&b, value[i], common, -1, false);
        }
    }
    dync__lower_store(&b, out, out->lay.stride, call->row->expr(&b, call, value));
    return dync__lower_end(pb, &b);
}

DYNC__FN dync_status dync__l_clone(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                   const dync__operand *out)
{
    (void)call;
    return dync__lower_copy(pb, &in[0], &out[0]);
}

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
    int type = dync__dtype_info(out->dtype)->kind == 'i' ? DYNC_I64 : DYNC_F64;
    (void)in;
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
    if (!dync__lower_begin(pb, &b, 0, 2, out->lay.shape)) return DYNC_ERR_MEMORY;
    int row_minus_col = dync__lb_index(&b, dync__kernel_access(b.k, 0, gap));
    int on = dync__lb_op(&b, DYNC__P_eq, row_minus_col, dync__lb_i(&b, DYNC_I64, 0), -1);
    dync__lower_store(&b, out, out->lay.stride, on);
    return dync__lower_end(pb, &b);
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
    DYNC__TRY(dync__layout_contiguous(&order, out->lay.ndim, out->lay.shape));
    if (!dync__lower_begin(pb, &b, 0, out->lay.ndim, out->lay.shape)) return DYNC_ERR_MEMORY;
    int v = dync__lb_random(
        &b, dync__lb_index(&b, dync__kernel_access(b.k, (int64_t)pb->rng_used, order.stride)), type,
        normal);
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

/* Views are trivially so; an in-place row is where its functional one is meant to be. */
DYNC__FN bool dync__op_can_lower(int op)
{
    const dync__op_row *row = dync__op_info(op);
    if (row->cls == DYNC__INPLACE) return row->inplace_of >= 0;
    return row->lower || row->expr || row->cls == DYNC__VIEW;
}

/* The row's own lower column comes first, expr second. pb->origin names the operator in
 * listings. */
DYNC__FN dync_status dync__op_lower(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                    int n_in, const dync__operand *out)
{
    const char *outer = pb->origin;
    dync_status status;
    if (!dync__op_can_lower(call->op) || n_in != dync__opcall_tensors(call, NULL, 0))
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
