/* op/infer_pointwise.c: inference of pointwise operators. After infer.c. */
#include "../dync.in.h"
#include "rows.h"
DYNC__COLD

/* ---- pointwise ------------------------------------------------------------------------------- */

/* Copies keep strides. Where a Value may stand for a tensor, rows "(Value self, Value other)",
 * PyTorch makes one of a number: an operand more; not of an exponent. */
static dync__strides_of dync__infer_strides_of(const dync__opcall *call)
{
    int op = call->op, first = op == DYNC__OP_where;
    if (op == DYNC__OP_clone || op == DYNC__OP_to_dtype || op == DYNC__OP_hardtanh ||
        op == DYNC__OP_relu6)
        return DYNC__LIKE;
    if ((!first && call->row->schema[1] != 'V') || call->nargs < first + 2) return DYNC__SAME;
    return dync__arg_is_number(&call->args[first]) ||
                   (dync__arg_is_number(&call->args[first + 1]) && op != DYNC__OP_pow)
               ? DYNC__SORTED
               : DYNC__SAME;
}

/* The broadcast of all tensor arguments with the dtype given. At most four tensors, which all rows
 * keep to. Strides follow the operands (dync__infer_like). copy takes its source from any device:
 * the result is where argument 0 is. */
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
    return dync__infer_like(out, ndim, shape, n, t, dync__infer_strides_of(call));
}

/* A bool number counts like a bool tensor: sub refuses both. */
static bool dync__infer_is_bool(const dync__arg *a)
{
    return a->kind == DYNC__A_BOOL || (a->kind == DYNC__A_TENSOR && a->as.t->dtype == DYNC_BOOL);
}

/* Fails where the computing dtype is bool. */
static dync_status dync__infer_no_bool(int dtype)
{
    return dtype == DYNC_BOOL ? dync__fail(DYNC_ERR_DTYPE, "not implemented for 'Bool'") : DYNC_OK;
}
/* The same with PyTorch's words, for sub already where one operand is bool. Of those rows alone:
 * who does not call them does not link the words. */
static dync_status dync__infer_sub_no_bool(const dync__opcall *call, int dtype)
{
    bool one = dync__infer_is_bool(&call->args[0]) || dync__infer_is_bool(&call->args[1]);
    if (!one && dtype != DYNC_BOOL) return DYNC_OK;
    if (dtype != DYNC_BOOL)
        return dync__fail(
            DYNC_ERR_DTYPE,
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are "
            "trying to invert a "
            "mask, use the `~` or `logical_not()` operator instead.");
    return dync__fail(
        DYNC_ERR_DTYPE,
        "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
        "`logical_xor()` operator instead.");
}
static dync_status dync__infer_neg_no_bool(int dtype)
{
    if (dtype != DYNC_BOOL) return DYNC_OK;
    return dync__fail(DYNC_ERR_DTYPE,
                      "Negation, the `-` operator, on a bool tensor is not supported. If you are "
                      "trying to invert a "
                      "mask, use the `~` or `logical_not()` operator instead.");
}

/* Which operators refuse to compute on bools. */
static bool dync__infer_refuses_bool(int op)
{
    switch (op) {
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

/* Any dtype, but bool where the row refuses it. Rows with the flag FLOAT compute integers in the
 * default dtype. */
DYNC__FN dync_status dync__i_unary(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    int dtype = dync__op_common_dtype(call);
    if (dync__infer_refuses_bool(call->op)) DYNC__TRY(dync__infer_no_bool(dtype));
    return dync__infer_broadcast(call, call->row->flags & DYNC__OP_BOOL_OUT ? DYNC_BOOL : dtype,
                                 out);
}

/* Floating tensors alone: activations. logsigmoid is row major, as PyTorch makes it. */
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
    return dync__infer_numbers(call, DYNC__OP_celu);
}

/* Two Python numbers make a 0-dim tensor, as torch.add(1, 2) would if it took them. Comparisons
 * (BOOL_OUT) compute in the common dtype and give bools. */
DYNC__FN dync_status dync__i_binary(const dync__opcall *call, dync__info *out)
{
    DYNC__TRY(dync__infer_value(call, 0));
    DYNC__TRY(dync__infer_value(call, 1));
    int dtype = dync__op_common_dtype(call);
    bool power =
        call->op == DYNC__OP_pow &&
        dync__arg_is_number(&call->args[1]); /* PyTorch has bool to the power True or False */
    if (dync__infer_refuses_bool(call->op) && !power) DYNC__TRY(dync__infer_no_bool(dtype));
    return dync__infer_broadcast(call, call->row->flags & DYNC__OP_BOOL_OUT ? DYNC_BOOL : dtype,
                                 out);
}

DYNC__FN dync_status dync__i_sub(const dync__opcall *call, dync__info *out)
{
    for (int i = 0; i < 2; i++) DYNC__TRY(dync__infer_value(call, i));
    int dtype = dync__op_common_dtype(call);
    DYNC__TRY(dync__infer_sub_no_bool(call, dtype));
    return dync__infer_broadcast(call, dtype, out);
}

DYNC__FN dync_status dync__i_neg(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    int dtype = dync__op_common_dtype(call);
    DYNC__TRY(dync__infer_neg_no_bool(dtype));
    return dync__infer_broadcast(call, dtype, out);
}

DYNC__FN dync_status dync__i_pow(const dync__opcall *call, dync__info *out)
{
    const dync__arg *by = &call->args[1];
    for (int i = 0; i < 2; i++) DYNC__TRY(dync__infer_value(call, i));
    int dtype = dync__op_common_dtype(call);
    if (dync__arg_is_number(by) && dtype != DYNC_F32) DYNC__TRY(dync__infer_number_fits(by, dtype));
    if (dync__dtype_info(dtype)->kind == 'i' && by->kind == DYNC__A_INT && by->as.i < 0)
        return dync__fail(DYNC_ERR_VALUE, "Integers to negative integer powers are not allowed.");
    return dync__i_binary(call, out);
}

/* Integers, where there are any, are not divided by zero; a tensor's elements are looked at when it
 * runs. */
DYNC__FN dync_status dync__i_divide(const dync__opcall *call, dync__info *out)
{
    const dync__arg *by = &call->args[1];
    dync__lower_divisors();
    dync__eager_checks();
    DYNC__TRY(dync__i_binary(call, out));
    bool some = true;
    for (int d = 0; d < out->lay.ndim; d++) some = some && out->lay.shape[d] != 0;
    const dync__dtype_row *row = dync__dtype_info(dync__op_common_dtype(call));
    /* by the number that is in the dtype: 256 is none of an 8-bit one */
    int unused = row->kind == 'i' ? 64 - 8 * row->bytes : 0;
    return some && dync__arg_is_number(by) && row->kind != 'f' && !dync__is_token(by->as.i) &&
                   (uint64_t)by->as.i << unused == 0
               ? dync__fail_class(DYNC_ERR_VALUE, "ZeroDivisionError", "ZeroDivisionError")
               : DYNC_OK;
}

/* A binary operator without an integer form: the common dtype must be floating. */
DYNC__FN dync_status dync__i_floating_binary(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    for (int i = 0; i < 2; i++) DYNC__TRY(dync__infer_tensor(call, i, &t));
    DYNC__TRY(dync__i_binary(call, out));
    if (dync__dtype_info(out->dtype)->kind == 'f') return DYNC_OK;
    return dync__fail(DYNC_ERR_DTYPE, "not implemented for '%s': expected a floating point tensor",
                      dync__dtype_info(out->dtype)->guard);
}

/* Integers and bools; of a bool the bit is its truth. */
DYNC__FN dync_status dync__i_bitwise(const dync__opcall *call, dync__info *out)
{
    for (int i = 0; i < call->nargs; i++) DYNC__TRY(dync__infer_value(call, i));
    int dtype = dync__op_common_dtype(call);
    if (dync__dtype_info(dtype)->kind == 'f')
        return dync__fail(DYNC_ERR_DTYPE, "not implemented for '%s': expected integers or bools",
                          dync__dtype_info(dtype)->guard);
    return dync__infer_broadcast(call, dtype, out);
}

/* Arguments (self, min, max): each a tensor, a number or none, not both none. A single tensor bound
 * is maximum or minimum in PyTorch, which take bools; clamp itself does not. */
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
    if (!one_side) DYNC__TRY(dync__infer_no_bool(dtype)); /* maximum and minimum take bools */
    DYNC__TRY(dync__infer_numbers(call, DYNC__OP_clamp));
    return dync__infer_broadcast(call, dtype, out);
}

/* Arguments (self, min_val, max_val). */
DYNC__FN dync_status dync__i_hardtanh(const dync__opcall *call, dync__info *out)
{
    DYNC__TRY(dync__i_unary(call, out));
    return dync__infer_numbers(call, DYNC__OP_hardtanh);
}

/* self + weight * (end - self): self and end of one dtype; the weight a number or a tensor. */
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

/* Sums of a quantized product times a fixed-point factor: self, multiplier and shift, all int32 and
 * broadcast together. See dync__e_rescale for the arithmetic. */
DYNC__FN dync_status dync__i_rescale(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    for (int i = 0; i < 3; i++) {
        DYNC__TRY(dync__infer_tensor(call, i, &t));
        if (t->dtype != DYNC_I32)
            return dync__fail(DYNC_ERR_DTYPE,
                              "expected self, multiplier and shift of int32, got "
                              "%s",
                              dync__dtype_info(t->dtype)->name);
    }
    return dync__infer_broadcast(call, DYNC_I32, out);
}

/* self + value * (a * b) or (a / b): arguments (self, a, b, value), three tensors and a number. */
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
    DYNC__TRY(dync__infer_no_bool(dtype));
    return dync__infer_broadcast(call, dtype, out);
}

/* A condition that must be bool; `what` is how the message calls it. */
static dync_status dync__infer_mask(const dync__tensor *t, const char *what)
{
    if (t->dtype == DYNC_BOOL) return DYNC_OK;
    return dync__fail(DYNC_ERR_DTYPE, "expected %s to be a bool tensor, got dtype %s", what,
                      dync__dtype_info(t->dtype)->name);
}

/* Arguments (condition, a, b). A uint8 condition is taken as PyTorch takes it, with any value but 0
 * true. */
DYNC__FN dync_status dync__i_where(const dync__opcall *call, dync__info *out)
{
    dync__tensor *condition;
    DYNC__TRY(dync__infer_tensor(call, 0, &condition));
    if (condition->dtype != DYNC_U8) DYNC__TRY(dync__infer_mask(condition, "condition"));
    for (int i = 1; i < 3; i++) DYNC__TRY(dync__infer_value(call, i));
    DYNC__TRY(dync__infer_numbers(call, DYNC__OP_where));
    return dync__infer_broadcast(call, dync__op_common_dtype(call), out);
}

/* Arguments (self, mask, value): keeps the dtype of self; the value is a number or a 0-dim
 * tensor. PyTorch fills a row-major copy: the result has none of the operands' order. */
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
    DYNC__TRY(dync__infer_broadcast(call, self->dtype, out));
    int64_t shape[DYNC_MAX_DIMS];
    memcpy(shape, out->lay.shape, sizeof shape);
    return dync__layout_contiguous(&out->lay, out->lay.ndim, shape);
}

DYNC__FN dync_status dync__i_clone(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    return dync__infer_broadcast(call, t->dtype, out);
}

/* dtypes are numbers from the user and may be anything. */
DYNC__FN dync_status dync__i_to_dtype(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    if (!dync__dtype_valid((int)call->args[1].as.i))
        return dync__fail(DYNC_ERR_DTYPE, "unknown dtype %d", (int)call->args[1].as.i);
    return dync__infer_broadcast(call, (int)call->args[1].as.i, out);
}

/* A meta tensor has nothing to copy: only meta to meta is possible. */
DYNC__FN dync_status dync__i_to_device(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    DYNC__TRY(dync__device_known((int)call->args[1].as.i));
    if (!dync__device_is(t->device, DYNC__DEV_DATA) && call->args[1].as.i != t->device)
        return dync__fail(DYNC_ERR_DEVICE, "Cannot copy out of meta tensor; no data!");
    DYNC__TRY(dync__infer_broadcast(call, t->dtype, out));
    out->device = (int)call->args[1].as.i;
    return DYNC_OK;
}
