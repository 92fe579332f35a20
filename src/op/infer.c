/* op/infer.c: shapes, dtypes, strides and argument errors of pointwise operators, factories and
 * views. After args.c, before infer_nn.c, which has the rest.
 *
 * An infer function sees opened arguments and writes one dync__info per output; it reads no data,
 * so real, fake and META tensors are alike. Every message about arguments comes from here: what was
 * expected, what came. Sources: PyTorch aten/src/ATen/TensorIterator.cpp (strides of outputs),
 * native/TypeProperties.cpp (result_type). */
#include "../dync.in.h"
#include "rows.h"

/* ---- arguments ------------------------------------------------------------------------------- */

static const char *dync__infer_kind_text(const dync__arg *a)
{
    static const char *const names[] = {"none",     "a tensor", "an int",   "a float",  "a bool",
                                        "dims",     "a dtype",  "a device", "a string", "a list",
                                        "a handle", "a node",   "a value"};
    return names[a->kind <= DYNC__A_PTR ? a->kind : 0];
}

DYNC__FN dync_status dync__infer_tensor(const dync__opcall *call, int i, dync__tensor **out)
{
    *out = i < call->nargs && call->args[i].kind == DYNC__A_TENSOR ? call->args[i].as.t : NULL;
    if (*out) return DYNC_OK;
    return dync__fail(DYNC_ERR_VALUE, "argument %d: expected a tensor, got %s", i + 1,
                      i < call->nargs ? dync__infer_kind_text(&call->args[i]) : "nothing");
}

DYNC__FN dync_status dync__infer_value(const dync__opcall *call, int i)
{
    if (i < call->nargs &&
        (call->args[i].kind == DYNC__A_TENSOR || dync__arg_is_number(&call->args[i])))
        return DYNC_OK;
    return dync__fail(DYNC_ERR_VALUE, "argument %d: expected a tensor or a number, got %s", i + 1,
                      i < call->nargs ? dync__infer_kind_text(&call->args[i]) : "nothing");
}

static dync_status dync__infer_number(const dync__opcall *call, int i)
{
    if (i < call->nargs && dync__arg_is_number(&call->args[i])) return DYNC_OK;
    return dync__fail(DYNC_ERR_VALUE, "argument %d: expected a number, got %s", i + 1,
                      i < call->nargs ? dync__infer_kind_text(&call->args[i]) : "nothing");
}

DYNC__FN double dync__infer_largest(int dtype)
{
    switch (dtype) {
    case DYNC_F64: return DBL_MAX;
    case DYNC_F16: return 65504;
    case DYNC_BF16: return 3.3895313892515355e38;
    default: return (double)FLT_MAX;
    }
}

/* What is negative wraps in uint8. Anything that is no number fits, and a token, whose number may
 * differ in the next call. */
static dync_status dync__infer_number_fits(const dync__arg *a, int dtype)
{
    static const char *const names[] = {"float", "double",  "c10::Half", "c10::BFloat16", "int64_t",
                                        "int",   "int16_t", "int8_t",    "uint8_t"};
    const dync__dtype_row *info = dync__dtype_info(dtype);
    if (!dync__arg_is_number(a) || dtype == DYNC_BOOL || dync__is_token(a->as.i) ||
        dync__is_sf(a->as.i))
        return DYNC_OK;
    double x = dync__arg_number(a), limit = ldexp(1, 8 * info->bytes - (dtype != DYNC_U8)),
           least = dtype != DYNC_U8           ? -limit
                   : a->kind == DYNC__A_FLOAT ? 0
                                              : -255;
    bool fits = info->kind == 'f'
                    ? !(fabs(x) > dync__infer_largest(dtype) && fabs(x) <= DBL_MAX)
                    : (x >= least && x < limit) || (dtype == DYNC_I64 && a->kind != DYNC__A_FLOAT);
    return fits ? DYNC_OK
                : dync__fail(DYNC_ERR_VALUE,
                             "value cannot be converted to type %s without overflow", names[dtype]);
}

/* A bound that an integer dtype does not hold may lie where it bounds nothing: low below it, high
 * above it. */
static dync_status dync__infer_bound(const dync__arg *a, int dtype, bool low)
{
    if (!dync__arg_is_number(a)) return DYNC_OK;
    double x = dync__arg_number(a);
    dync__arg exact = dync__arg_f(x); /* which does not wrap in uint8 */
    bool whole = dync__dtype_info(dtype)->kind != 'f', idle = whole && (low ? x < 0 : x > 0);
    return idle ? DYNC_OK : dync__infer_number_fits(dtype == DYNC_U8 ? &exact : a, dtype);
}

DYNC__FN dync_status dync__infer_numbers(const dync__opcall *call, int op)
{
    const dync__arg *a = call->args;
    int dtype = op == DYNC__OP_full    ? (int)a[2].as.i
                : op == DYNC__OP_where ? dync__op_common_dtype(call)
                                       : a[0].as.t->dtype;
    bool half = dync__dtype_info(dtype)->kind == 'f' && dync__dtype_info(dtype)->bytes == 2;
    switch (op) {
    case DYNC__OP_full: return half ? DYNC_OK : dync__infer_number_fits(&a[1], dtype);
    case DYNC__OP_full_like:
    case DYNC__OP_fill:
    case DYNC__OP_copy: return call->nargs < 2 ? DYNC_OK : dync__infer_number_fits(&a[1], dtype);
    case DYNC__OP_masked_fill: return dync__infer_number_fits(&a[2], dtype);
    case DYNC__OP_scatter: return dync__infer_number_fits(&a[3], dtype);
    case DYNC__OP_addcmul:
    case DYNC__OP_addcdiv:
        return dync__infer_number_fits(&a[3], half ? DYNC_F32 : dync__op_common_dtype(call));
    case DYNC__OP_clamp:
        dtype = dync__op_common_dtype(call);
        DYNC__TRY(dync__infer_bound(&a[1], dtype, true));
        return dync__infer_bound(&a[2], dtype, false);
    case DYNC__OP_where:
        for (int i = 1; i < 3 && !half; i++) DYNC__TRY(dync__infer_number_fits(&a[i], dtype));
        return DYNC_OK;
    default: return DYNC_OK;
    }
}

static dync_status dync__infer_device_add(const dync__tensor *t, int *device, bool *firm)
{
    /* 0-dim CPU tensors mix with any device */
    bool movable = t->lay.ndim == 0 && dync__device_is(t->device, DYNC__DEV_HOST);
    char a[DYNC__DEVICE_TEXT], b[DYNC__DEVICE_TEXT];
    if (*device < 0 || (!*firm && !movable)) {
        *device = t->device;
        *firm = !movable;
        return DYNC_OK;
    }
    if (t->device == *device || movable) return DYNC_OK;
    return dync__fail(
        DYNC_ERR_DEVICE,
        "Expected all tensors to be on the same device, but found at least two devices, %s and %s!",
        dync__device_text(*device, a), dync__device_text(t->device, b));
}

DYNC__FN dync_status dync__infer_device(const dync__opcall *call, int *device)
{
    bool firm = false;
    *device = -1;
    for (int i = 0; i < call->nargs; i++) {
        const dync__arg *a = &call->args[i];
        if (a->kind == DYNC__A_TENSOR) DYNC__TRY(dync__infer_device_add(a->as.t, device, &firm));
        for (int j = 0; a->kind == DYNC__A_LIST && j < a->n; j++)
            if (a->as.list[j].kind == DYNC__A_TENSOR)
                DYNC__TRY(dync__infer_device_add(a->as.list[j].as.t, device, &firm));
    }
    if (*device < 0) *device = DYNC_CPU;
    return DYNC_OK;
}

DYNC__FN dync_status dync__infer_floating(const dync__tensor *t)
{
    if (dync__dtype_info(t->dtype)->kind == 'f') return DYNC_OK;
    return dync__fail(DYNC_ERR_DTYPE, "not implemented for '%s': expected a floating point tensor",
                      dync__dtype_info(t->dtype)->guard);
}

DYNC__FN dync_status dync__infer_index(const dync__tensor *t)
{
    if (t->dtype == DYNC_I64 || t->dtype == DYNC_I32) return DYNC_OK;
    return dync__fail(DYNC_ERR_DTYPE, "expected an index tensor of dtype int64 or int32, got %s",
                      dync__dtype_info(t->dtype)->name);
}

DYNC__FN int dync__infer_int_dim(const dync__arg *a)
{
    return a->as.i > INT_MAX ? INT_MAX : a->as.i < INT_MIN ? INT_MIN : (int)a->as.i;
}

DYNC__FN dync_status dync__infer_fresh(dync__info *out, int dtype, int device, int ndim,
                                       const int64_t *shape)
{
    out->dtype = dtype;
    out->device = device;
    out->alias = -1;
    return dync__layout_contiguous(&out->lay, ndim, shape);
}

/* ---- strides of a fresh output --------------------------------------------------------------- */

/* TensorIterator's comparison of two dims over all operands: > 0 where a is the slower one.
 * stride[k][d]: 0 where broadcast. */
static int dync__infer_should_swap(int n, int64_t stride[][DYNC_MAX_DIMS], const int64_t *shape,
                                   int a, int b)
{
    for (int k = 0; k < n; k++) {
        int64_t sa = stride[k][a], sb = stride[k][b];
        if (sa == 0 || sb == 0) continue;
        if (!dync__sz_eq(sa, sb)) return dync__sz_lt(sa, sb) ? -1 : 1;
        if (dync__sz_lt(shape[b], shape[a])) return 1;
    }
    return 0;
}

/* Output strides in the order of dims that the operands have, slowest first; out->ndim and
 * out->shape are set. */
static void dync__infer_permuted(dync__layout *out, int n, int64_t stride[][DYNC_MAX_DIMS])
{
    int perm[DYNC_MAX_DIMS], nd = out->ndim; /* perm[0]: the fastest dim */
    int64_t next = 1;
    for (int i = 0; i < nd; i++) perm[i] = nd - 1 - i;
    for (int i = 1; i < nd; i++) {
        int at = i;
        for (int j = i - 1; j >= 0; j--) {
            int order = dync__infer_should_swap(n, stride, out->shape, perm[j], perm[at]);
            if (order < 0) break;
            if (order == 0) continue;
            int hold = perm[j];
            perm[j] = perm[at];
            perm[at] = hold;
            at = j;
        }
    }
    for (int i = 0; i < nd; i++) {
        out->stride[perm[i]] = next;
        next = dync__sz_mul(next, DYNC__MAX(out->shape[perm[i]], 1));
    }
}

/* Row major needs no sorting, and is by far the most frequent: one test for all operands. */
DYNC__FN dync_status dync__infer_like(dync__info *out, int ndim, const int64_t *shape, int n,
                                      dync__tensor *const *t)
{
    int64_t stride[4][DYNC_MAX_DIMS];
    bool row_major = true, same_strides = true;
    DYNC__TRY(dync__layout_contiguous(&out->lay, ndim, shape));
    if (n > 4) n = 4;
    for (int k = 0; k < n; k++) {
        const dync__layout *in = &t[k]->lay;
        int lead = ndim - in->ndim;
        for (int d = 0; d < ndim; d++) {
            bool broadcast = d < lead || (in->shape[d - lead] == 1 && shape[d] != 1);
            stride[k][d] = broadcast ? 0 : in->stride[d - lead];
            if (broadcast)
                same_strides = false;
            else if (stride[k][d] !=
                     t[0]->lay.stride[DYNC__MAX(DYNC__MIN(d, t[0]->lay.ndim - 1), 0)])
                same_strides = false;
            if (!broadcast && stride[k][d] != out->lay.stride[d]) row_major = false;
        }
        if (lead) same_strides = false;
    }
    if (row_major) return DYNC_OK;
    if (same_strides && n && dync__layout_is_dense(&t[0]->lay)) {
        memcpy(out->lay.stride, t[0]->lay.stride, sizeof out->lay.stride);
        return DYNC_OK;
    }
    dync__infer_permuted(&out->lay, n, stride);
    return DYNC_OK;
}

/* ---- pointwise ------------------------------------------------------------------------------- */

/* Bit i: argument i takes part in type promotion. */
static unsigned dync__infer_promoting(const dync__opcall *call)
{
    switch (call->op) {
    case DYNC__OP_where: return 6;
    case DYNC__OP_lerp: return 3;
    case DYNC__OP_clamp:
    case DYNC__OP_addcmul:
    case DYNC__OP_addcdiv: return 7;
    case DYNC__OP_threshold_backward: return 3;
    case DYNC__OP_masked_fill:
    case DYNC__OP_celu:
    case DYNC__OP_elu:
    case DYNC__OP_leaky_relu:
    case DYNC__OP_hardtanh:
    case DYNC__OP_copy:
    case DYNC__OP_fill:
    case DYNC__OP_clone:
    case DYNC__OP__clone_contiguous: return 1;
    default: return 3;
    }
}

static int dync__infer_number_dtype(const dync__arg *a)
{
    return a->kind == DYNC__A_FLOAT ? dync__tls.default_dtype
           : a->kind == DYNC__A_INT ? DYNC_I64
                                    : DYNC_BOOL;
}

DYNC__FN int dync__op_common_dtype(const dync__opcall *call)
{
    dync__promoter p = {-1, -1, -1};
    unsigned mask = dync__infer_promoting(call);
    if (call->op == DYNC__OP_to_dtype)
        return dync__dtype_valid((int)call->args[1].as.i) ? (int)call->args[1].as.i : DYNC_F32;
    for (int i = 0; i < call->nargs && i < 3; i++) {
        const dync__arg *a = &call->args[i];
        if (!(mask >> i & 1)) continue;
        if (a->kind == DYNC__A_TENSOR)
            dync__promoter_add(&p, a->as.t->dtype, a->as.t->lay.ndim ? 2 : 1);
        else if (dync__arg_is_number(a))
            dync__promoter_add(&p, dync__infer_number_dtype(a), 0);
    }
    int dtype = dync__promoter_result(&p);
    if (call->op == DYNC__OP_square && dtype == DYNC_BOOL) return DYNC_I64;
    if ((call->row->flags & DYNC__OP_FLOAT) && dync__dtype_info(dtype)->kind != 'f')
        return dync__tls.default_dtype;
    return dtype;
}

/* The broadcast of all tensor arguments with the dtype given. */
static dync_status dync__infer_broadcast(const dync__opcall *call, int dtype, dync__info *out)
{
    dync__tensor *t[4];
    int64_t shape[DYNC_MAX_DIMS];
    int n = 0, ndim = 0;
    for (int i = 0; i < call->nargs && n < 4; i++)
        if (call->args[i].kind == DYNC__A_TENSOR) t[n++] = call->args[i].as.t;
    for (int k = 0; k < n; k++) {
        if (k == 0) {
            ndim = t[0]->lay.ndim;
            memcpy(shape, t[0]->lay.shape, sizeof shape);
        } else {
            DYNC__TRY(dync__broadcast(ndim, shape, t[k]->lay.ndim, t[k]->lay.shape, &ndim, shape));
        }
    }
    if (call->op == DYNC__OP_copy)
        out->device = t[0]->device; /* from any device */
    else
        DYNC__TRY(dync__infer_device(call, &out->device));
    out->dtype = dtype;
    out->alias = -1;
    return dync__infer_like(out, ndim, shape, n, t);
}

static bool dync__infer_is_bool(const dync__arg *a)
{
    return a->kind == DYNC__A_BOOL || (a->kind == DYNC__A_TENSOR && a->as.t->dtype == DYNC_BOOL);
}

static dync_status dync__infer_no_bool(const dync__opcall *call, int dtype)
{
    bool subtracts = call->op == DYNC__OP_sub &&
                     (dync__infer_is_bool(&call->args[0]) || dync__infer_is_bool(&call->args[1]));
    if (dtype != DYNC_BOOL && !subtracts) return DYNC_OK;
    if (subtracts && dtype != DYNC_BOOL)
        return dync__fail(
            DYNC_ERR_DTYPE,
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are "
            "trying to invert a "
            "mask, use the `~` or `logical_not()` operator instead.");
    if (subtracts)
        return dync__fail(
            DYNC_ERR_DTYPE,
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
            "`logical_xor()` operator instead.");
    if (call->op == DYNC__OP_neg)
        return dync__fail(
            DYNC_ERR_DTYPE,
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
            "invert a "
            "mask, use the `~` or `logical_not()` operator instead.");
    return dync__fail(DYNC_ERR_DTYPE, "not implemented for 'Bool'");
}

/* Which operators refuse to compute on bools. */
static bool dync__infer_refuses_bool(int op)
{
    switch (op) {
    case DYNC__OP_sub:
    case DYNC__OP_neg:
    case DYNC__OP_pow:
    case DYNC__OP_remainder:
    case DYNC__OP_fmod:
    case DYNC__OP_floor_divide:
    case DYNC__OP_abs:
    case DYNC__OP_ceil:
    case DYNC__OP_floor:
    case DYNC__OP_round:
    case DYNC__OP_trunc:
    case DYNC__OP_relu:
    case DYNC__OP_relu6:
    case DYNC__OP_hardtanh:
    case DYNC__OP_addcmul:
    case DYNC__OP_clamp: return true;
    default: return false;
    }
}

DYNC__FN dync_status dync__i_unary(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    int dtype = dync__op_common_dtype(call);
    if (dync__infer_refuses_bool(call->op)) DYNC__TRY(dync__infer_no_bool(call, dtype));
    return dync__infer_broadcast(call, call->row->flags & DYNC__OP_BOOL_OUT ? DYNC_BOOL : dtype,
                                 out);
}

DYNC__FN dync_status dync__i_float_unary(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    DYNC__TRY(dync__infer_floating(t));
    if (call->op == DYNC__OP_logsigmoid)
        return dync__infer_fresh(out, t->dtype, t->device, t->lay.ndim, t->lay.shape);
    return dync__infer_broadcast(call, t->dtype, out);
}

DYNC__FN dync_status dync__i_celu(const dync__opcall *call, dync__info *out)
{
    DYNC__TRY(dync__i_float_unary(call, out));
    DYNC__TRY(dync__infer_number(call, 1));
    double alpha = dync__arg_number(&call->args[1]);
    return alpha < 0 || alpha > 0 || alpha != alpha
               ? DYNC_OK
               : dync__fail(DYNC_ERR_VALUE, "ZeroDivisionError: alpha cannot be 0 for CELU");
}

/* Two Python numbers make a 0-dim tensor, as torch.add(1, 2) would if it took them. */
DYNC__FN dync_status dync__i_binary(const dync__opcall *call, dync__info *out)
{
    DYNC__TRY(dync__infer_value(call, 0));
    DYNC__TRY(dync__infer_value(call, 1));
    int dtype = dync__op_common_dtype(call);
    bool power =
        call->op == DYNC__OP_pow &&
        dync__arg_is_number(&call->args[1]); /* PyTorch has bool to the power True or False */
    if (dync__infer_refuses_bool(call->op) && !power) DYNC__TRY(dync__infer_no_bool(call, dtype));
    if (power && dtype != DYNC_F32) DYNC__TRY(dync__infer_number_fits(&call->args[1], dtype));
    if (call->op == DYNC__OP_pow && dync__dtype_info(dtype)->kind == 'i' &&
        call->args[1].kind == DYNC__A_INT && call->args[1].as.i < 0)
        return dync__fail(DYNC_ERR_VALUE, "Integers to negative integer powers are not allowed.");
    return dync__infer_broadcast(call, call->row->flags & DYNC__OP_BOOL_OUT ? DYNC_BOOL : dtype,
                                 out);
}

DYNC__FN dync_status dync__i_floating_binary(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    for (int i = 0; i < 2; i++) DYNC__TRY(dync__infer_tensor(call, i, &t));
    DYNC__TRY(dync__i_binary(call, out));
    if (dync__dtype_info(out->dtype)->kind == 'f') return DYNC_OK;
    return dync__fail(DYNC_ERR_DTYPE, "not implemented for '%s': expected a floating point tensor",
                      dync__dtype_info(out->dtype)->guard);
}

DYNC__FN dync_status dync__i_bitwise(const dync__opcall *call, dync__info *out)
{
    for (int i = 0; i < call->nargs; i++) DYNC__TRY(dync__infer_value(call, i));
    int dtype = dync__op_common_dtype(call);
    if (dync__dtype_info(dtype)->kind == 'f')
        return dync__fail(DYNC_ERR_DTYPE, "not implemented for '%s': expected integers or bools",
                          dync__dtype_info(dtype)->guard);
    return dync__infer_broadcast(call, dtype, out);
}

DYNC__FN dync_status dync__i_clamp(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    if (call->args[1].kind == DYNC__A_NONE && call->args[2].kind == DYNC__A_NONE)
        return dync__fail(DYNC_ERR_VALUE, "At least one of 'min' or 'max' must not be None");
    for (int i = 1; i < 3; i++)
        if (call->args[i].kind != DYNC__A_NONE) DYNC__TRY(dync__infer_value(call, i));
    int dtype = dync__op_common_dtype(call);
    const dync__arg *low = &call->args[1], *high = &call->args[2];
    bool one_side = (low->kind == DYNC__A_TENSOR) != (high->kind == DYNC__A_TENSOR) &&
                    (low->kind == DYNC__A_NONE || high->kind == DYNC__A_NONE);
    if (!one_side) DYNC__TRY(dync__infer_no_bool(call, dtype)); /* maximum and minimum take bools */
    DYNC__TRY(dync__infer_numbers(call, DYNC__OP_clamp));
    return dync__infer_broadcast(call, dtype, out);
}

DYNC__FN dync_status dync__i_hardtanh(const dync__opcall *call, dync__info *out)
{
    DYNC__TRY(dync__i_unary(call, out));
    if (dync__arg_number(&call->args[1]) > dync__arg_number(&call->args[2]))
        return dync__fail(DYNC_ERR_VALUE, "min_val cannot be greater than max_val");
    return DYNC_OK;
}

DYNC__FN dync_status dync__i_lerp(const dync__opcall *call, dync__info *out)
{
    dync__tensor *self, *end;
    DYNC__TRY(dync__infer_tensor(call, 0, &self));
    DYNC__TRY(dync__infer_tensor(call, 1, &end));
    DYNC__TRY(dync__infer_value(call, 2));
    if (self->dtype != end->dtype)
        return dync__fail(DYNC_ERR_DTYPE, "expected dtype %s for `end` but got dtype %s",
                          dync__dtype_info(self->dtype)->name, dync__dtype_info(end->dtype)->name);
    DYNC__TRY(dync__infer_floating(self));
    return dync__infer_broadcast(call, self->dtype, out);
}

DYNC__FN dync_status dync__i_addc(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    for (int i = 0; i < 3; i++) DYNC__TRY(dync__infer_tensor(call, i, &t));
    DYNC__TRY(dync__infer_number(call, 3));
    int dtype = dync__op_common_dtype(call);
    DYNC__TRY(dync__infer_numbers(call, DYNC__OP_addcmul));
    if (call->op == DYNC__OP_addcdiv && dync__dtype_info(dtype)->kind != 'f')
        return dync__fail(DYNC_ERR_DTYPE,
                          "Integer division with addcdiv is not supported: cast to a floating "
                          "dtype first");
    DYNC__TRY(dync__infer_no_bool(call, dtype));
    return dync__infer_broadcast(call, dtype, out);
}

static dync_status dync__infer_mask(const dync__tensor *t, const char *what)
{
    if (t->dtype == DYNC_BOOL) return DYNC_OK;
    return dync__fail(DYNC_ERR_DTYPE, "expected %s to be a bool tensor, got dtype %s", what,
                      dync__dtype_info(t->dtype)->name);
}

DYNC__FN dync_status dync__i_where(const dync__opcall *call, dync__info *out)
{
    dync__tensor *condition;
    DYNC__TRY(dync__infer_tensor(call, 0, &condition));
    if (condition->dtype != DYNC_U8) DYNC__TRY(dync__infer_mask(condition, "condition"));
    for (int i = 1; i < 3; i++) DYNC__TRY(dync__infer_value(call, i));
    DYNC__TRY(dync__infer_numbers(call, DYNC__OP_where));
    return dync__infer_broadcast(call, dync__op_common_dtype(call), out);
}

DYNC__FN dync_status dync__i_masked_fill(const dync__opcall *call, dync__info *out)
{
    dync__tensor *self, *mask;
    DYNC__TRY(dync__infer_tensor(call, 0, &self));
    DYNC__TRY(dync__infer_tensor(call, 1, &mask));
    DYNC__TRY(dync__infer_mask(mask, "mask"));
    DYNC__TRY(dync__infer_value(call, 2));
    if (call->args[2].kind == DYNC__A_TENSOR && call->args[2].as.t->lay.ndim != 0)
        return dync__fail(DYNC_ERR_SHAPE,
                          "only supports a 0-dimensional value tensor, but got tensor with %d "
                          "dimension(s)",
                          call->args[2].as.t->lay.ndim);
    DYNC__TRY(dync__infer_numbers(call, DYNC__OP_masked_fill));
    return dync__infer_broadcast(call, self->dtype, out);
}

DYNC__FN dync_status dync__i_clone(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    return dync__infer_broadcast(call, t->dtype, out);
}

DYNC__FN dync_status dync__i_to_dtype(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    if (!dync__dtype_valid((int)call->args[1].as.i))
        return dync__fail(DYNC_ERR_DTYPE, "unknown dtype %d", (int)call->args[1].as.i);
    return dync__infer_broadcast(call, (int)call->args[1].as.i, out);
}

DYNC__FN dync_status dync__i_to_device(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    DYNC__TRY(dync__device_known((int)call->args[1].as.i));
    if (t->device == DYNC_META && call->args[1].as.i != DYNC_META)
        return dync__fail(DYNC_ERR_DEVICE, "Cannot copy out of meta tensor; no data!");
    DYNC__TRY(dync__infer_broadcast(call, t->dtype, out));
    out->device = (int)call->args[1].as.i;
    return DYNC_OK;
}

/* ---- in place -------------------------------------------------------------------------------- */

/* The functional row decides shape and dtype; self must take them. */
DYNC__FN dync_status dync__i_inplace(const dync__opcall *call, dync__info *out)
{
    dync__opcall f = *call;
    dync__tensor *self;
    dync__info value;
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
    *out = (dync__info){.dtype = self->dtype, .device = self->device, .lay = self->lay, .alias = 0};
    return DYNC_OK;
}

/* ---- factories ------------------------------------------------------------------------------- */

static dync_status dync__infer_made(dync__info *out, const dync__arg *dtype,
                                    const dync__arg *device, int ndim, const int64_t *shape)
{
    if (!dync__dtype_valid((int)dtype->as.i))
        return dync__fail(DYNC_ERR_DTYPE, "unknown dtype %d", (int)dtype->as.i);
    DYNC__TRY(dync__device_known((int)device->as.i));
    return dync__infer_fresh(out, (int)dtype->as.i, (int)device->as.i, ndim, shape);
}

static dync_status dync__infer_random_dtype(const dync__opcall *call, int dtype)
{
    if (!(call->row->flags & DYNC__OP_RANDOM) || dync__dtype_info(dtype)->kind == 'f')
        return DYNC_OK;
    return dync__fail(DYNC_ERR_DTYPE, "not implemented for '%s': expected a floating dtype",
                      dync__dtype_info(dtype)->guard);
}

DYNC__FN dync_status dync__i_factory(const dync__opcall *call, dync__info *out)
{
    DYNC__TRY(dync__infer_made(out, &call->args[1], &call->args[2], call->args[0].n,
                               call->args[0].as.dims));
    return dync__infer_random_dtype(call, out->dtype);
}

DYNC__FN dync_status dync__i_full(const dync__opcall *call, dync__info *out)
{
    DYNC__TRY(dync__infer_number(call, 1));
    if (dync__dtype_valid((int)call->args[2].as.i))
        DYNC__TRY(dync__infer_numbers(call, DYNC__OP_full));
    return dync__infer_made(out, &call->args[2], &call->args[3], call->args[0].n,
                            call->args[0].as.dims);
}

DYNC__FN dync_status dync__i_eye(const dync__opcall *call, dync__info *out)
{
    int64_t shape[2] = {call->args[0].as.i, call->args[1].as.i};
    return dync__infer_made(out, &call->args[2], &call->args[3], 2, shape);
}

DYNC__FN dync_status dync__i_arange(const dync__opcall *call, dync__info *out)
{
    int64_t n;
    for (int i = 0; i < 3; i++) DYNC__TRY(dync__infer_number(call, i));
    double start = dync__arg_number(&call->args[0]), end = dync__arg_number(&call->args[1]),
           step = dync__arg_number(&call->args[2]);
    if (!(step > 0 || step < 0)) return dync__fail(DYNC_ERR_VALUE, "step must be nonzero");
    if (!(fabs(start) <= DBL_MAX) || !(fabs(end) <= DBL_MAX))
        return dync__fail(DYNC_ERR_VALUE, "unsupported range: %g -> %g", start, end);
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

/* empty_like and its kind keep the strides of dense tensors, and the order of dims of others. */
DYNC__FN dync_status dync__i_like(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    DYNC__TRY(dync__infer_random_dtype(call, t->dtype));
    if (call->op == DYNC__OP_full_like) {
        DYNC__TRY(dync__infer_number(call, 1));
        DYNC__TRY(dync__infer_numbers(call, DYNC__OP_fill));
    }
    if ((call->op == DYNC__OP_normal || call->op == DYNC__OP_uniform) && call->nargs == 3) {
        DYNC__TRY(dync__infer_number(call, 1));
        DYNC__TRY(dync__infer_number(call, 2));
        double a = dync__arg_number(&call->args[1]), b = dync__arg_number(&call->args[2]);
        if (call->op == DYNC__OP_normal && !(b >= 0))
            return dync__fail(DYNC_ERR_VALUE, "expects std >= 0.0, but found std %g", b);
        if (call->op == DYNC__OP_uniform && !(a <= b))
            return dync__fail(DYNC_ERR_VALUE,
                              "expects to return a [from, to) range, but found "
                              "from=%g > to=%g",
                              a, b);
    }
    *out = (dync__info){.dtype = t->dtype, .device = t->device, .alias = -1};
    return dync__infer_like(out, t->lay.ndim, t->lay.shape, 1, &t);
}

/* A value in the form of argument 0: copy, and fill with its 0-dim value. */
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
    return dync__infer_like(out, t->lay.ndim, t->lay.shape, 1, &t);
}

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

/* ---- views ----------------------------------------------------------------------------------- */

static dync_status dync__infer_view(const dync__opcall *call, dync__tensor **t, dync__info *out)
{
    DYNC__TRY(dync__infer_tensor(call, 0, t));
    *out = (dync__info){
        .dtype = (*t)->dtype, .device = (*t)->device, .lay = (*t)->lay, .alias = 0, .view = true};
    return DYNC_OK;
}

static dync_status dync__infer_dim(const dync__arg *a, int ndim, int *out)
{
    return dync__dim_wrap(dync__infer_int_dim(a), ndim, out);
}

DYNC__FN dync_status dync__i_alias(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    return dync__infer_view(call, &t, out);
}

/* Copies what a view op would be given into row-major form where strides do not allow it: shape
 * only. */
static dync_status dync__infer_as_view(const dync__layout *in, int ndim, const int64_t *shape,
                                       dync__layout *out, bool *possible)
{
    DYNC__TRY(dync__layout_view(in, ndim, shape, out, possible));
    return DYNC_OK;
}

DYNC__FN dync_status dync__i_view(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    bool possible;
    DYNC__TRY(dync__infer_view(call, &t, out));
    DYNC__TRY(
        dync__infer_as_view(&t->lay, call->args[1].n, call->args[1].as.dims, &out->lay, &possible));
    if (!possible)
        return dync__fail(
            DYNC_ERR_SHAPE,
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans "
            "across two contiguous subspaces). Use reshape(...) instead.");
    return DYNC_OK;
}

/* reshape: a view, or a fresh row-major copy. */
static dync_status dync__infer_reshape(const dync__tensor *t, int ndim, const int64_t *shape,
                                       dync__info *out)
{
    bool possible;
    DYNC__TRY(dync__infer_as_view(&t->lay, ndim, shape, &out->lay, &possible));
    if (possible) return DYNC_OK;
    dync__layout dense;
    DYNC__TRY(dync__layout_contiguous(&dense, t->lay.ndim, t->lay.shape));
    out->alias = -1;
    return dync__infer_as_view(&dense, ndim, shape, &out->lay, &possible);
}

DYNC__FN dync_status dync__i_reshape(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    DYNC__TRY(dync__infer_view(call, &t, out));
    return dync__infer_reshape(t, call->args[1].n, call->args[1].as.dims, out);
}

DYNC__FN dync_status dync__i_view_as(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t, *other;
    bool possible;
    DYNC__TRY(dync__infer_view(call, &t, out));
    DYNC__TRY(dync__infer_tensor(call, 1, &other));
    DYNC__TRY(
        dync__infer_as_view(&t->lay, other->lay.ndim, other->lay.shape, &out->lay, &possible));
    return possible ? DYNC_OK
                    : dync__fail(DYNC_ERR_SHAPE, "view size is not compatible with input tensor's "
                                                 "size and stride");
}

DYNC__FN dync_status dync__i_flatten(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    int start, end, n = 0;
    int64_t shape[DYNC_MAX_DIMS], whole = 1;
    DYNC__TRY(dync__infer_view(call, &t, out));
    DYNC__TRY(dync__infer_dim(&call->args[1], t->lay.ndim, &start));
    DYNC__TRY(dync__infer_dim(&call->args[2], t->lay.ndim, &end));
    if (start > end) return dync__fail(DYNC_ERR_VALUE, "start_dim cannot come after end_dim");
    for (int i = start; i <= end && i < t->lay.ndim; i++)
        whole = dync__sz_mul(whole, t->lay.shape[i]);
    for (int i = 0; i < start; i++) shape[n++] = t->lay.shape[i];
    shape[n++] = whole;
    for (int i = end + 1; i < t->lay.ndim; i++) shape[n++] = t->lay.shape[i];
    return dync__infer_reshape(t, n, shape, out);
}

DYNC__FN dync_status dync__i_unflatten(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    int dim, n = 0, k = call->args[2].n, open = -1;
    int64_t shape[DYNC_MAX_DIMS], known = 1;
    DYNC__TRY(dync__infer_view(call, &t, out));
    DYNC__TRY(dync__infer_dim(&call->args[1], t->lay.ndim, &dim));
    if (t->lay.ndim == 0 || k < 1 || t->lay.ndim - 1 + k > DYNC_MAX_DIMS)
        return dync__fail(DYNC_ERR_SHAPE, "expected 1 to %d sizes, got %d",
                          DYNC_MAX_DIMS + 1 - t->lay.ndim, k);
    for (int i = 0; i < dim; i++) shape[n++] = t->lay.shape[i];
    for (int i = 0; i < k; i++) {
        int64_t size = call->args[2].as.dims[i];
        if (size == -1 && open < 0)
            open = n;
        else if (size < 0 || !dync__sz_mul_ok(known, size, &known))
            return dync__fail(DYNC_ERR_SHAPE, "invalid size %lld", (long long)size);
        shape[n++] = size;
    }
    if (open >= 0) shape[open] = known ? dync__sz_size(dync__sz_div(t->lay.shape[dim], known)) : 0;
    if (open >= 0 ? known == 0 || !dync__sz_eq(dync__sz_mul(known, shape[open]), t->lay.shape[dim])
                  : !dync__sz_eq(known, t->lay.shape[dim]))
        return dync__fail(DYNC_ERR_SHAPE,
                          "the sizes don't multiply up to the size of dim %d (%lld)", dim,
                          (long long)t->lay.shape[dim]);
    for (int i = dim + 1; i < t->lay.ndim; i++) shape[n++] = t->lay.shape[i];
    return dync__infer_reshape(t, n, shape, out);
}

DYNC__FN dync_status dync__i_permute(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    bool seen[DYNC_MAX_DIMS] = {false};
    DYNC__TRY(dync__infer_view(call, &t, out));
    if (call->args[1].n != t->lay.ndim)
        return dync__fail(DYNC_ERR_SHAPE, "input.dim() = %d is not equal to len(dims) = %d",
                          t->lay.ndim, call->args[1].n);
    for (int i = 0; i < t->lay.ndim; i++) {
        dync__arg d = dync__arg_i(call->args[1].as.dims[i]);
        int dim;
        DYNC__TRY(dync__infer_dim(&d, t->lay.ndim, &dim));
        if (seen[dim]) return dync__fail(DYNC_ERR_VALUE, "duplicate dims are not allowed: %d", dim);
        seen[dim] = true;
        out->lay.shape[i] = t->lay.shape[dim];
        out->lay.stride[i] = t->lay.stride[dim];
    }
    return DYNC_OK;
}

static void dync__infer_swap(dync__layout *l, int a, int b)
{
    int64_t shape = l->shape[a], stride = l->stride[a];
    l->shape[a] = l->shape[b];
    l->stride[a] = l->stride[b];
    l->shape[b] = shape;
    l->stride[b] = stride;
}

DYNC__FN dync_status dync__i_transpose(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    int a, b;
    DYNC__TRY(dync__infer_view(call, &t, out));
    DYNC__TRY(dync__infer_dim(&call->args[1], t->lay.ndim, &a));
    DYNC__TRY(dync__infer_dim(&call->args[2], t->lay.ndim, &b));
    if (t->lay.ndim) dync__infer_swap(&out->lay, a, b);
    return DYNC_OK;
}

DYNC__FN dync_status dync__i_t(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    DYNC__TRY(dync__infer_view(call, &t, out));
    if (t->lay.ndim > 2)
        return dync__fail(DYNC_ERR_SHAPE, "expects a tensor with <= 2 dimensions, but self is %dD",
                          t->lay.ndim);
    if (t->lay.ndim == 2) dync__infer_swap(&out->lay, 0, 1);
    return DYNC_OK;
}

DYNC__FN dync_status dync__i_expand(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    DYNC__TRY(dync__infer_view(call, &t, out));
    return dync__layout_expand(&t->lay, call->args[1].n, call->args[1].as.dims, &out->lay);
}

DYNC__FN dync_status dync__i_expand_as(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t, *other;
    DYNC__TRY(dync__infer_view(call, &t, out));
    DYNC__TRY(dync__infer_tensor(call, 1, &other));
    return dync__layout_expand(&t->lay, other->lay.ndim, other->lay.shape, &out->lay);
}

static void dync__infer_drop_dim(dync__layout *l, int dim)
{
    l->ndim--;
    for (int i = dim; i < l->ndim; i++) {
        l->shape[i] = l->shape[i + 1];
        l->stride[i] = l->stride[i + 1];
    }
}

DYNC__FN dync_status dync__i_squeeze(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    int dim;
    DYNC__TRY(dync__infer_view(call, &t, out));
    DYNC__TRY(dync__infer_dim(&call->args[1], t->lay.ndim, &dim));
    if (t->lay.ndim && t->lay.shape[dim] == 1) dync__infer_drop_dim(&out->lay, dim);
    return DYNC_OK;
}

DYNC__FN dync_status dync__i_squeeze_all(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    DYNC__TRY(dync__infer_view(call, &t, out));
    for (int i = t->lay.ndim - 1; i >= 0; i--)
        if (out->lay.shape[i] == 1) dync__infer_drop_dim(&out->lay, i);
    return DYNC_OK;
}

DYNC__FN dync_status dync__i_unsqueeze(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    int dim;
    DYNC__TRY(dync__infer_view(call, &t, out));
    DYNC__TRY(dync__infer_dim(&call->args[1], t->lay.ndim + 1, &dim));
    if (t->lay.ndim == DYNC_MAX_DIMS)
        return dync__fail(DYNC_ERR_SHAPE, "expected at most %d dims", DYNC_MAX_DIMS - 1);
    for (int i = out->lay.ndim++; i > dim; i--) {
        out->lay.shape[i] = out->lay.shape[i - 1];
        out->lay.stride[i] = out->lay.stride[i - 1];
    }
    out->lay.stride[dim] = dim < t->lay.ndim ? dync__sz_mul(t->lay.shape[dim], t->lay.stride[dim])
                                             : 1;
    out->lay.shape[dim] = 1;
    return DYNC_OK;
}

DYNC__FN dync_status dync__view_select(const dync__layout *in, int64_t dim_arg, int64_t index,
                                       dync__layout *out)
{
    dync__arg d = dync__arg_i(dim_arg);
    int dim;
    if (in->ndim == 0) return dync__fail(DYNC_ERR_INDEX, "cannot be applied to a 0-dim tensor");
    DYNC__TRY(dync__infer_dim(&d, in->ndim, &dim));
    int64_t size = in->shape[dim];
    if (dync__sz_lt(index, 0) ? dync__sz_lt(dync__sz_add(index, size), 0)
                              : !dync__sz_lt(index, size))
        return dync__fail(DYNC_ERR_INDEX, "index %lld out of range for dim %d with size %lld",
                          (long long)index, dim, (long long)dync__sz_hint(size));
    *out = *in;
    if (index < 0) index = dync__sz_add(index, size);
    out->offset = dync__sz_add(out->offset, dync__sz_mul(index, in->stride[dim]));
    dync__infer_drop_dim(out, dim);
    return DYNC_OK;
}

static int64_t dync__slice_edge(int64_t edge, int64_t size)
{
    if (edge == INT64_MAX) return size;
    if (edge >= 0) return dync__sz_lt(size, edge) ? size : edge;
    edge = dync__sz_add(edge, size);
    return dync__sz_lt(edge, 0) ? 0 : edge;
}

/* Negative ends count from the end, ends past it are clipped, as in Python. */
DYNC__FN dync_status dync__view_slice(const dync__layout *in, int64_t dim_arg, int64_t start,
                                      int64_t end, int64_t step, dync__layout *out)
{
    dync__arg d = dync__arg_i(dim_arg);
    int dim;
    if (in->ndim == 0) return dync__fail(DYNC_ERR_INDEX, "cannot be applied to a 0-dim tensor");
    DYNC__TRY(dync__infer_dim(&d, in->ndim, &dim));
    if (step <= 0)
        return dync__fail(DYNC_ERR_VALUE, "slice step must be positive, got %lld", (long long)step);
    int64_t size = in->shape[dim];
    start = dync__slice_edge(start, size);
    end = dync__slice_edge(end, size);
    *out = *in;
    out->shape[dim] = !dync__sz_lt(start, end) ? 0
                      : step == 1
                          ? dync__sz_size(dync__sz_sub(end, start))
                          : dync__sz_size(dync__sz_add(
                                dync__sz_div(dync__sz_sub(dync__sz_sub(end, start), 1), step), 1));
    out->offset = dync__sz_add(out->offset, dync__sz_mul(start, in->stride[dim]));
    if (out->shape[dim] > 1 || !dync__sz_lt(size, step))
        out->stride[dim] =
            dync__sz_mul(in->stride[dim], step == 1 ? 1 : dync__sz_min(step, DYNC__MAX(size, 1)));
    return DYNC_OK;
}

DYNC__FN dync_status dync__view_diagonal(const dync__layout *in, int64_t offset, int64_t dim1_arg,
                                         int64_t dim2_arg, dync__layout *out)
{
    dync__arg d1 = dync__arg_i(dim1_arg), d2 = dync__arg_i(dim2_arg);
    int a, b;
    if (in->ndim < 2)
        return dync__fail(DYNC_ERR_SHAPE, "expected at least 2 dims, got %d", in->ndim);
    DYNC__TRY(dync__infer_dim(&d1, in->ndim, &a));
    DYNC__TRY(dync__infer_dim(&d2, in->ndim, &b));
    if (a == b)
        return dync__fail(DYNC_ERR_VALUE, "diagonal dimensions cannot be identical %d, %d", a, b);
    int64_t rows = in->shape[a], cols = in->shape[b],
            skip = offset >= 0 ? dync__sz_min(offset, cols)
                               : dync__sz_min(offset == INT64_MIN ? rows : -offset, rows);
    int64_t n = offset >= 0 ? dync__sz_min(rows, dync__sz_sub(cols, skip))
                            : dync__sz_min(dync__sz_sub(rows, skip), cols),
            stride = dync__sz_add(in->stride[a], in->stride[b]);
    *out = *in;
    n = dync__sz_size(n);
    if (n > 0)
        out->offset =
            dync__sz_add(out->offset, dync__sz_mul(skip, in->stride[offset >= 0 ? b : a]));
    dync__infer_drop_dim(out, DYNC__MAX(a, b));
    dync__infer_drop_dim(out, DYNC__MIN(a, b));
    out->shape[out->ndim] = DYNC__MAX(n, 0);
    out->stride[out->ndim++] = stride;
    return DYNC_OK;
}

DYNC__FN dync_status dync__i_select(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    DYNC__TRY(dync__infer_view(call, &t, out));
    return dync__view_select(&t->lay, call->args[1].as.i, call->args[2].as.i, &out->lay);
}

DYNC__FN dync_status dync__i_slice(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    DYNC__TRY(dync__infer_view(call, &t, out));
    return dync__view_slice(&t->lay, call->args[1].as.i, call->args[2].as.i, call->args[3].as.i,
                            call->args[4].as.i, &out->lay);
}

DYNC__FN dync_status dync__i_narrow(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    int dim;
    int64_t start = call->args[2].as.i, length = call->args[3].as.i;
    DYNC__TRY(dync__infer_view(call, &t, out));
    if (t->lay.ndim == 0) return dync__fail(DYNC_ERR_INDEX, "cannot be applied to a 0-dim tensor");
    DYNC__TRY(dync__infer_dim(&call->args[1], t->lay.ndim, &dim));
    int64_t size = t->lay.shape[dim];
    if (start < 0 && !dync__sz_lt(dync__sz_add(size, start), 0)) start = dync__sz_add(start, size);
    if (length < 0)
        return dync__fail(DYNC_ERR_VALUE, "length must be non-negative, got %lld",
                          (long long)length);
    if (start < 0 || dync__sz_lt(size, start) || dync__sz_lt(dync__sz_sub(size, start), length))
        return dync__fail(DYNC_ERR_INDEX,
                          "start (%lld) + length (%lld) exceeds dimension size "
                          "(%lld)",
                          (long long)dync__sz_hint(call->args[2].as.i),
                          (long long)dync__sz_hint(length), (long long)dync__sz_hint(size));
    return dync__view_slice(&t->lay, dim, start, dync__sz_add(start, length), 1, &out->lay);
}

DYNC__FN dync_status dync__i_diagonal(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    DYNC__TRY(dync__infer_view(call, &t, out));
    return dync__view_diagonal(&t->lay, call->args[1].as.i, call->args[2].as.i, call->args[3].as.i,
                               &out->lay);
}

DYNC__FN dync_status dync__infer_strided(const dync__arg *size, const dync__arg *stride,
                                         int64_t offset, int64_t items, dync__layout *out)
{
    int64_t numel, last = dync__sz_hint(offset);
    if (size->n != stride->n)
        return dync__fail(DYNC_ERR_SHAPE, "mismatch in length of strides (%d) and shape (%d)",
                          stride->n, size->n);
    DYNC__TRY(dync__layout_contiguous(out, size->n, size->as.dims));
    DYNC__TRY(dync__numel(size->n, size->as.dims, &numel));
    if (offset < 0)
        return dync__fail(DYNC_ERR_VALUE, "storage_offset must be non-negative, got %lld",
                          (long long)offset);
    out->offset = offset;
    for (int i = 0; i < size->n; i++) {
        int64_t step = stride->as.dims[i], reach;
        if (step < 0)
            return dync__fail(DYNC_ERR_VALUE, "negative strides are not supported, got %lld",
                              (long long)step);
        out->stride[i] = step;
        if (numel &&
            (!dync__mul_ok(dync__sz_hint(step), dync__sz_hint(size->as.dims[i]) - 1, &reach) ||
             !dync__add_ok(last, reach, &last)))
            last = INT64_MAX;
    }
    if (numel && last >= items)
        return dync__fail(DYNC_ERR_SHAPE,
                          "setStorage: the sizes, strides and offset reach element %lld, the "
                          "storage has %lld",
                          (long long)last, (long long)items);
    return DYNC_OK;
}

DYNC__FN dync_status dync__i_as_strided(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    DYNC__TRY(dync__infer_view(call, &t, out));
    int64_t items = (int64_t)(t->storage->size_bytes / dync__dtype_info(t->dtype)->bytes);
    return dync__infer_strided(&call->args[1], &call->args[2], call->args[3].as.i, items,
                               &out->lay);
}

/* The same from self's first element on. A fake base may stand for more memory than it says. */
DYNC__FN dync_status dync__i_strided_view(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    const dync__arg *size = &call->args[1], *stride = &call->args[2];
    DYNC__TRY(dync__infer_view(call, &t, out));
    bool fake = (t->flags & DYNC__T_FAKE) != 0;
    int64_t items = fake ? INT64_MAX
                         : (int64_t)(t->storage->size_bytes / dync__dtype_info(t->dtype)->bytes) -
                               t->lay.offset;
    DYNC__TRY(dync__infer_strided(size, stride, call->args[3].as.i, items, &out->lay));
    out->lay.offset = dync__sz_add(t->lay.offset, call->args[3].as.i);
    return DYNC_OK;
}

DYNC__FN dync_status dync__i_contiguous(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    DYNC__TRY(dync__infer_view(call, &t, out));
    out->view = false;
    if (call->op == DYNC__OP_contiguous && dync__layout_is_contiguous(&t->lay)) return DYNC_OK;
    return dync__infer_fresh(out, t->dtype, t->device, t->lay.ndim, t->lay.shape);
}

DYNC__FN dync_status dync__i_set_(const dync__opcall *call, dync__info *out)
{
    dync__tensor *self, *source;
    DYNC__TRY(dync__infer_view(call, &self, out));
    DYNC__TRY(dync__infer_tensor(call, 1, &source));
    if (self->dtype != source->dtype)
        return dync__fail(DYNC_ERR_DTYPE, "Could not set tensor of type %s to a tensor of type %s",
                          dync__dtype_info(source->dtype)->name,
                          dync__dtype_info(self->dtype)->name);
    out->device = source->device;
    out->lay = source->lay;
    out->alias = 1;
    return DYNC_OK;
}

DYNC__FN dync_status dync__i_effect(const dync__opcall *call, dync__info *out)
{
    (void)call;
    (void)out;
    return DYNC_OK;
}

/* ---- for all rows ---------------------------------------------------------------------------- */

DYNC__FN dync_status dync__op_infer(const dync__opcall *call, dync__info *out)
{
    int device;
    if (call->row->infer) {
        uint64_t errors = dync__error_count();
        DYNC__TRY(call->row->infer(call, out));
        /* a size that is none */
        if (DYNC__UNLIKELY(dync__error_count() != errors))
            return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_VALUE;
        bool mixes = call->nargs < 2 || call->op == DYNC__OP_copy || call->op == DYNC__OP_copy_ ||
                     call->op == DYNC__OP_set_ || call->row->cls == DYNC__EFFECT;
        return mixes ? DYNC_OK : dync__infer_device(call, &device);
    }
    return dync__fail(DYNC_ERR_UNSUPPORTED, "dynamic shape operator: aten.%s.default",
                      call->row->name);
}

DYNC__FN dync_status dync__op_fake(dync__opcall *call)
{
    dync__info info[DYNC__MAX_OUT];
    dync__tensor *arg[DYNC__MAX_ARGS];
    for (int i = 0; i < call->row->nout; i++) info[i].view = false;
    DYNC__TRY(dync__op_infer(call, info));
    int n = dync__opcall_tensors(call, arg, DYNC__MAX_ARGS);
    call->nout = call->row->nout;
    for (int i = 0; i < call->nout; i++) {
        dync__tensor *base = info[i].alias >= 0 && info[i].alias < n ? arg[info[i].alias] : NULL;
        bool same = base && (call->row->cls == DYNC__INPLACE ||
                             (call->row->cls == DYNC__COMPOSITE && !info[i].view &&
                              dync__layout_equal(&base->lay, &info[i].lay)));
        if (same && call->op != DYNC__OP_set_) {
            dync__ref(base);
            call->out[i] = base;
            if (call->row->cls == DYNC__INPLACE) base->storage->version++;
        } else if (base && call->op == DYNC__OP_set_) {
            DYNC__TRY(call->row->decompose(call));
        } else {
            call->out[i] = base ? dync__tensor_alias(base, info[i].dtype, &info[i].lay)
                                : dync__tensor_fake(info[i].dtype, info[i].device, &info[i].lay);
        }
        if (call->out[i]) continue;
        while (i > 0) {
            dync__unref(call->out[--i]);
            call->out[i] = NULL;
        }
        return DYNC_ERR_MEMORY;
    }
    return DYNC_OK;
}
