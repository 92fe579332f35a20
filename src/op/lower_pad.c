/* op/lower_pad.c: an array inside a larger one: padding by a constant, and the gradients of views.
 * After lower_move.c.
 *
 * Eager calls write every element of the result once: one kernel, row after row (kernel/pad.c), or
 * loops for the border's sides and the inside. In graphs a loop copies the inside and joins what
 * computes it; around it a small array, or one of symbolic sizes, which decide what sides there
 * are, is filled with zeros first, of a large one the sides are. */
#include "../dync.in.h"
#include "rows.h"
DYNC__COLD

/* The element of the border as stored: argument arg, a number as dync__lower_number takes it, or
 * 0 for -1. */
static int64_t dync__pad_element(const dync__opcall *call, int arg, int dtype)
{
    int64_t element = 0, whole;
    int type = dync__dtype_info(dtype)->compute;
    if (arg < 0) return 0;
    const dync__arg *a = &call->args[arg];
    double f = dync__arg_number(a);
    if (type == DYNC_F32 || type == DYNC_F64) {
        dync__store_f64(&element, dtype, type == DYNC_F32 ? (double)(float)f : f);
    } else {
        whole = a->as.i;
        if (type == DYNC_BOOL)
            whole = f < 0 || f > 0 || f != f;
        else if (a->kind == DYNC__A_FLOAT)
            dync__store_f64(&whole, DYNC_I64, f);
        dync__store_i64(&element, dtype, whole);
    }
    return element;
}

/* The sides of the border, outermost dim first; each is left out where it is empty. */
static dync_status dync__lower_border(dync__pb *pb, const dync__opcall *call, int arg,
                                      const dync__operand *inside, const dync__operand *out)
{
    dync__operand rest = *out;
    int64_t ahead = inside->lay.offset - out->lay.offset;
    bool done[DYNC_MAX_DIMS] = {false};
    for (int k = 0; k < out->lay.ndim; k++) {
        int d = -1;
        for (int i = 0; i < out->lay.ndim; i++)
            if (!done[i] && (d < 0 || out->lay.stride[i] > out->lay.stride[d])) d = i;
        done[d] = true;
        int64_t stride = out->lay.stride[d], size = inside->lay.shape[d],
                before = out->lay.shape[d] > 1 ? ahead / stride : 0,
                after = out->lay.shape[d] - before - size;
        if (out->lay.shape[d] > 1) ahead %= stride;
        dync__operand side = rest;
        side.lay.shape[d] = before;
        if (before) DYNC__TRY(dync__lower_fill(pb, call, arg, 0, &side));
        rest.lay.offset += before * stride;
        rest.lay.shape[d] = size;
        side = rest;
        side.lay.offset += size * stride;
        side.lay.shape[d] = after;
        if (after) DYNC__TRY(dync__lower_fill(pb, call, arg, 0, &side));
    }
    return DYNC_OK;
}

/* One kernel call: on the CPU, where rows of both arrays lie the same way. */
static bool dync__pad_has_rows(const dync__pb *pb, const dync__operand *x, const dync__operand *out)
{
    if (!dync__device_is(pb->device, DYNC__DEV_HOST)) return false;
    for (int d = 0; d < out->lay.ndim; d++)
        if (out->lay.stride[d] == 1 && out->lay.shape[d] > 1 && x->lay.shape[d] > 1)
            return x->lay.stride[d] == 1;
    return true;
}

/* x where `inside` says, in out, which is dense; around it the number argument arg, or 0 for -1. */
static dync_status dync__lower_inside(dync__pb *pb, const dync__opcall *call, int arg,
                                      const dync__operand *x, const dync__operand *inside,
                                      const dync__operand *out)
{
    if (dync__lower_empty(x)) return dync__lower_fill(pb, call, arg, 0, out);
    if (!dync__pad_has_rows(pb, x, out)) {
        DYNC__TRY(dync__lower_border(pb, call, arg, inside, out));
        return dync__lower_copy(pb, x, inside);
    }
    dync__operand op[3] = {*x, *inside, *out};
    dync__attr attr = {.pad = {.element = dync__pad_element(call, arg, out->dtype)}};
    op[1].written = op[2].written = true;
    return dync__lower_kcall(pb, &dync__kcall_pad, 3, op, &attr);
}

/* Eager only (COMPOSITE): pairs (before, after) from the last dim on; negative ones cut off. */
DYNC__FN dync_status dync__l_pad(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                 const dync__operand *out)
{
    dync__operand x = *in, inside = *out;
    const dync__arg *pad = &call->args[1];
    if (dync__lower_empty(out)) return DYNC_OK;
    for (int i = 0; i < pad->n / 2; i++) {
        int d = out->lay.ndim - 1 - i;
        int64_t before = pad->as.dims[2 * i], after = pad->as.dims[2 * i + 1];
        x.lay.offset += DYNC__MAX(-before, 0) * x.lay.stride[d];
        x.lay.shape[d] += DYNC__MIN(before, 0) + DYNC__MIN(after, 0);
        inside.lay.offset += DYNC__MAX(before, 0) * out->lay.stride[d];
        inside.lay.shape[d] = x.lay.shape[d];
    }
    int arg = dync__arg_is_number(&call->args[2]) ? 2 : -1;
    return dync__lower_inside(pb, call, arg, &x, &inside, out);
}

/* Eager, and one place after another. */
static bool dync__view_is_inside(const dync__pb *pb, const dync__opcall *call,
                                 const dync__operand *out)
{
    return pb->number_slot && call->op == DYNC__OP_slice_backward && call->args[5].as.i == 1 &&
           dync__layout_is_dense(&out->lay);
}

DYNC__FN dync_status dync__lower_around(dync__pb *pb, const dync__opcall *call,
                                        const dync__operand *inside, const dync__operand *out)
{
    bool sides = pb->dense && !pb->sized && dync__device_is(pb->device, DYNC__DEV_HOST) &&
                 dync__layout_is_dense(&out->lay) && !dync__lower_empty(inside) &&
                 dync__lower_count(&out->lay) >= DYNC__PAD_SIDES;
    return sides ? dync__lower_border(pb, call, -1, inside, out)
                 : dync__lower_fill(pb, call, -1, 0, out);
}

/* Zeros, and the gradient in the view of them. */
DYNC__FN dync_status dync__l_view_backward(dync__pb *pb, const dync__opcall *call,
                                           const dync__operand *in, const dync__operand *out)
{
    dync__operand view = *out;
    const dync__arg *a = call->args;
    if (call->op == DYNC__OP_select_backward)
        DYNC__TRY(dync__view_select(&out->lay, a[2].as.i, a[3].as.i, &view.lay));
    else if (call->op == DYNC__OP_slice_backward)
        DYNC__TRY(
            dync__view_slice(&out->lay, a[2].as.i, a[3].as.i, a[4].as.i, a[5].as.i, &view.lay));
    else
        DYNC__TRY(dync__view_diagonal(&out->lay, a[2].as.i, a[3].as.i, a[4].as.i, &view.lay));
    if (dync__lower_empty(out)) return DYNC_OK;
    if (dync__view_is_inside(pb, call, out))
        return dync__lower_inside(pb, call, -1, in, &view, out);
    if (call->op == DYNC__OP_slice_backward && a[5].as.i == 1)
        DYNC__TRY(dync__lower_around(pb, call, &view, out));
    else
        DYNC__TRY(dync__lower_fill(pb, call, -1, 0, out));
    return dync__lower_copy(pb, in, &view);
}
