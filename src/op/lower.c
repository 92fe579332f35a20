/* op/lower.c: operators as steps of a plan: pointwise loops, factories, copies. After
 * expr.c, before lower_reduce.c.
 *
 * Each operator becomes unfused kernels (loop/) or kernel calls (kernel/) on the slots of its
 * operands; runtime/ fuses them. Every loop nest here goes through dync__lower_begin and
 * dync__lower_end, every access through a strided operand, so views are index maps and nothing is
 * copied to be read. Loops without iterations are dropped. */
#include "../dync.in.h"
#include "../base/pass.h"
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
    dync__size size[DYNC__LOOP_MAX_DIMS];
    memset(b, 0, sizeof *b);
    for (int d = 0; d < n_dims && d < DYNC__LOOP_MAX_DIMS; d++) {
        size[d] = (dync__size)extent[d];
        if (size[d] != extent[d]) /* beside a size of 0 */
            return dync__fail(DYNC_ERR_SHAPE, "%s: too many indices", pb->origin), false;
    }
    b->k = dync__kernel_new(pb->arena, pb->origin, n_outer, n_dims, size);
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
DYNC__FN dync_status dync__lower_row_major(dync__pb *pb, const dync__operand *x, dync__operand *out)
{
    *out = *x;
    if (dync__layout_is_contiguous(&x->lay)) return DYNC_OK;
    DYNC__TRY(dync__lower_temp(pb, x->dtype, x->lay.ndim, x->lay.shape, out));
    return dync__lower_copy(pb, x, out);
}

#if !defined(DYNC_SMALL)
/* Row-major operands instead of those that are not: temporaries, copied by loops, which are fused
 * with what is around and transpose in blocks, where the kernel's own copies take an element after
 * another. given: the call's operands. */
static dync_status dync__lower_dense(dync__pb *pb, dync__kcall *c, const dync__operand *given)
{
    for (int i = 0; i < c->n; i++) {
        const dync__operand *o = &given[i];
        if (!o->written) {
            DYNC__TRY(dync__lower_row_major(pb, o, &c->operand[i]));
        } else if (!dync__layout_is_contiguous(&o->lay)) {
            DYNC__TRY(dync__lower_temp(pb, o->dtype, o->lay.ndim, o->lay.shape, &c->operand[i]));
            c->operand[i].written = true;
        }
    }
    if (!dync__pb_add_call(pb, c)) return DYNC_ERR_MEMORY;
    int moved = 0;
    for (int i = 0; i < c->n; i++) moved += c->operand[i].slot != given[i].slot;
    if (moved) dync__pass_log(DYNC__PASS_dense, c->row->name, "%d operands", moved);
    for (int i = 0; i < c->n; i++)
        if (given[i].written && c->operand[i].slot != given[i].slot)
            DYNC__TRY(dync__lower_copy(pb, &c->operand[i], &given[i]));
    return DYNC_OK;
}

static bool dync__lower_wants_dense(const dync__pb *pb, const dync__kcall_row *kernel)
{
    return pb->dense && kernel->dense && dync__device_is(pb->device, DYNC__DEV_HOST) &&
           dync__pass_on(DYNC__PASS_dense);
}
#else
#define dync__lower_wants_dense(pb, kernel) false
#define dync__lower_dense(pb, c, given) DYNC_OK
#endif

DYNC__FN dync_status dync__lower_kcall(dync__pb *pb, const dync__kcall_row *kernel, int n,
                                       const dync__operand *operands, const dync__attr *attr)
{
    dync__kcall *c = dync__arena_alloc(pb->arena, sizeof(dync__kcall_full));
    if (!c) return DYNC_ERR_MEMORY;
    c->row = kernel;
    c->n = n;
    c->origin = pb->origin;
    c->user_op = pb->user_op;
    c->at = pb->at;
    for (int i = 0; i < n; i++) c->operand[i] = operands[i];
    if (attr) c->attr = *attr;
    if (dync__lower_wants_dense(pb, kernel)) return dync__lower_dense(pb, c, operands);
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
 * kernels for reduced floats, but where they are compared: 0.1 is equal to itself in f16. */
static int dync__lower_to_common(dync__lb *b, const dync__opcall *call, int v, int from, int ndim)
{
    int common = dync__op_common_dtype(call);
    const dync__dtype_row *row = dync__dtype_info(common);
    bool rounds = row->kind == 'i' || ndim > 0 || call->row->flags & DYNC__OP_BOOL_OUT;
    v = dync__lb_cast(b, v, row->compute);
    return from != common && rounds ? dync__lb_wrap(b, v, common) : v;
}

/* A bound of clamp, which may lie outside of the dtype: clamping a uint8 to [-1, 300] changes
 * nothing. Computed with in 32 bits it is the nearest number that they hold. */
static int dync__lower_limit(dync__pb *pb, dync__lb *b, const dync__opcall *call, int i, int type)
{
    if (type != DYNC_I32) return dync__lower_number(pb, b, call, i, type);
    int v = dync__lower_number(pb, b, call, i, DYNC_I64);
    v = dync__lb_op(b, DYNC__P_max, v, dync__lb_i(b, DYNC_I64, INT32_MIN), -1);
    v = dync__lb_op(b, DYNC__P_min, v, dync__lb_i(b, DYNC_I64, INT32_MAX), -1);
    return dync__lb_cast(b, v, type);
}

/* Integers are not divided by zero; on the CPU, as GPUs do not stop for it. */
static dync_status dync__lower_by_divisor(dync__pb *pb, const dync__opcall *call,
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

/* By need: who infers such a row puts it there. */
static dync_status (*DYNC__BY_NEED dync__lower_divisor_used)(dync__pb *, const dync__opcall *,
                                                             const dync__operand *in) =
    DYNC__AT_FIRST(dync__lower_by_divisor);
DYNC__FN void dync__lower_divisors(void)
{
    DYNC__PUT(dync__lower_divisor_used, dync__lower_by_divisor);
}
static dync_status dync__lower_divisor(dync__pb *pb, const dync__opcall *call,
                                       const dync__operand *in)
{
    return dync__lower_divisor_used ? dync__lower_divisor_used(pb, call, in) : DYNC_ERR_INTERNAL;
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
    if (call->row->flags & DYNC__OP_DIVIDES && dync__dtype_info(common)->kind != 'f' &&
        !dync__lower_empty(out))
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
                value[i] = dync__lower_to_common(&b, call, value[i], x->dtype, x->lay.ndim);
        } else if (dync__arg_is_number(&call->args[i])) {
            int type = dync__dtype_info(common)->compute;
            value[i] = call->row->flags & DYNC__OP_BOUNDS
                           ? dync__lower_limit(pb, &b, call, i, type)
                           : dync__lower_to_common(
                                 &b, call, dync__lower_number(pb, &b, call, i, type), -1, 0);
        }
    }
    dync__lower_store(&b, out, out->lay.stride, call->row->expr(&b, call, value));
    return dync__lower_end(pb, &b);
}

/* What an element of its result costs, in additions: 0 where no expression makes it. The kernel
 * lies in the arena; operands are what the call's tensors are, of one element. */
DYNC__RARE DYNC__FN int dync__op_cost(const dync__opcall *call, dync__arena *arena)
{
    dync__pb pb = {.arena = arena, .origin = call->row->name, .sized = true};
    dync__operand in[DYNC__MAX_ARGS + 1] = {{0}}, *out = &in[DYNC__MAX_ARGS];
    int n = 0, cost = 0;
    int common = dync__op_common_dtype(call);
    if (!call->row->expr || dync__dtype_info(common)->kind != 'f') return 0;
    for (int i = 0; i < call->nargs; i++)
        if (call->args[i].kind == DYNC__A_TENSOR)
            in[n] = (dync__operand){.slot = n, .dtype = call->args[i].as.t->dtype}, n++;
        else if (call->args[i].kind == DYNC__A_LIST)
            return 0;
    *out = (dync__operand){.slot = n, .dtype = (uint8_t)common};
    if (dync__lower_pointwise(&pb, call, in, out) != DYNC_OK) return 0;
    const dync__kernel *k = pb.step.at[pb.step.n - 1].kernel;
    for (int v = 0; v < k->inst.n; v++)
        if (k->inst.at[v].buf < 0) cost += dync__cost_inst(&k->inst.at[v]);
    return cost;
}

DYNC__FN dync_status dync__l_clone(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                   const dync__operand *out)
{
    (void)call;
    return dync__lower_copy(pb, &in[0], &out[0]);
}
