/* op/infer_slice.c: the layouts of views that leave elements out (select, slice, diagonal) or name
 * their strides, and of what may copy. After infer_view.c. */
#include "../dync.in.h"
#include "rows.h"
DYNC__COLD

/* index < 0 counts from the end. The offset moves to the first element, the dim goes. */
DYNC__FN dync_status dync__view_select(const dync__layout *in, int64_t dim_arg, int64_t index,
                                       dync__layout *out)
{
    dync__arg d = dync__arg_i(dim_arg);
    int dim;
    if (in->ndim == 0) return dync__fail(DYNC_ERR_INDEX, "cannot be applied to a 0-dim tensor");
    DYNC__TRY(dync__infer_dim(&d, in->ndim, &dim));
    int64_t size = in->shape[dim];
    bool from_end = dync__sz_lt(index, 0);
    if (from_end ? dync__sz_lt(dync__sz_add(index, size), 0) : !dync__sz_lt(index, size))
        return dync__fail(DYNC_ERR_INDEX, "index %lld out of range for dim %d with size %lld",
                          (long long)index, dim, (long long)dync__sz_hint(size));
    *out = *in;
    if (from_end) index = dync__sz_add(index, size);
    out->offset = dync__sz_add(out->offset, dync__sz_mul(index, in->stride[dim]));
    dync__infer_drop_dim(out, dim);
    return DYNC_OK;
}

/* A start or end as 0 .. size. INT64_MAX, the default end, is the size itself even where it is
 * symbolic: no guard comes of x[2:]. */
static int64_t dync__slice_edge(int64_t edge, int64_t size)
{
    if (edge == INT64_MAX) return size;
    if (!dync__sz_lt(edge, 0)) return dync__sz_min(edge, size);
    return dync__sz_max(dync__sz_add(edge, size), 0);
}

/* Places from start on, before end. ceil((end - start) / step), at least 0. A length that data
 * decide is not compared (which would need its value): it is clipped by a symbolic max instead. */
static int64_t dync__slice_places(int64_t start, int64_t end, int64_t step)
{
    int64_t n = dync__sz_sub(end, start);
    if (dync__sz_by_data(n)) {
        n = dync__sz_max(n, 0);
        return step == 1 ? n : dync__sz_div(dync__sz_add(n, step - 1), step);
    }
    if (!dync__sz_lt(start, end)) return 0;
    return dync__sz_size(step == 1 ? n : dync__sz_add(dync__sz_div(dync__sz_sub(n, 1), step), 1));
}

/* Negative ends count from the end, ends past it are clipped, as in Python. start and end as a user
 * gives them, step > 0. Where no element uses the stride (length 0 or 1) a step that would make it
 * overflow is no step. */
DYNC__FN dync_status dync__view_slice(const dync__layout *in, int64_t dim_arg, int64_t start,
                                      int64_t end, int64_t step, dync__layout *out)
{
    dync__arg d = dync__arg_i(dim_arg);
    int dim;
    if (in->ndim == 0) return dync__fail(DYNC_ERR_INDEX, "cannot be applied to a 0-dim tensor");
    DYNC__TRY(dync__infer_dim(&d, in->ndim, &dim));
    if (step <= 0)
        return dync__fail(DYNC_ERR_VALUE, "slice step must be positive, got %lld", (long long)step);
    int64_t size = in->shape[dim], from = start;
    start = dync__slice_edge(start, size);
    end = dync__slice_edge(end, size);
    /* past the end it leaves none all the same, and x[1:] has as many as x[:-1] */
    if (!dync__sz_by_data(start) || from == INT64_MAX || dync__sz_lt(from, 0)) from = start;
    *out = *in;
    out->shape[dim] = dync__slice_places(from, end, step);
    out->offset = dync__sz_add(out->offset, dync__sz_mul(start, in->stride[dim]));
    /* of one place too, as PyTorch has it */
    int64_t stride;
    if (step > 1 && (dync__is_token(in->stride[dim]) ||
                     (dync__mul_ok(in->stride[dim], step, &stride) && stride <= INT64_MAX / 64)))
        out->stride[dim] = dync__sz_mul(in->stride[dim], step);
    return DYNC_OK;
}

/* The diagonal becomes the last dim, with the sum of both strides; offset > 0 lies above the main
 * one (it skips columns), offset < 0 below it (it skips rows). Past the edge: length 0, the offset
 * of the layout as it was.
 *
 *   x [3, 4], offset 1:   . a . .      rows 3, columns left 3: length 3
 *                         . . b .
 *                         . . . c */
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

/* start < 0 counts from the end; unlike slice, what reaches past the end is an error. start may be
 * symbolic. */
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

/* Strides are not negative, so the last element is offset + sum((size - 1) * stride): it must lie
 * inside. Products that overflow count as outside. A layout without elements reaches nothing.
 * Symbolic sizes are judged by their example values. */
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

/* The offset counts from the storage's first element, not from self's: PyTorch's as_strided. */
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

/* contiguous() gives self back where it is row major already; _clone_contiguous always copies. */
DYNC__FN dync_status dync__i_contiguous(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    DYNC__TRY(dync__infer_view(call, &t, out));
    out->view = false;
    if (call->op == DYNC__OP_contiguous && dync__layout_is_contiguous(&t->lay)) return DYNC_OK;
    return dync__infer_fresh(out, t->dtype, t->device, t->lay.ndim, t->lay.shape);
}

/* self gets the storage and layout of argument 1 and keeps its dtype, which must be the same. */
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

/* An effect has no outputs and nothing to infer. */
DYNC__FN dync_status dync__i_effect(const dync__opcall *call, dync__info *out)
{
    (void)call;
    (void)out;
    return DYNC_OK;
}
