/* op/infer_view.c: the layouts of views. After infer.c.
 *
 * A view shares the storage of argument 0 and has a layout (shape, strides, offset) of its own, all
 * in elements: element (i, j) stands at offset + i * stride[0] + j * stride[1]. No data move.
 *
 *   x        shape [2, 3]  strides (3, 1)  offset 0     0 1 2 / 3 4 5
 *   x.t()    shape [3, 2]  strides (1, 3)  offset 0     0 3 / 1 4 / 2 5
 *   x[:, 1]  shape [2]     strides (3)     offset 1     1 4
 *
 * Sizes may be symbolic: dync__sz_* compute with tokens as with numbers, and comparisons of them
 * are guards. Rows that may copy where strides forbid a view (reshape, flatten, contiguous) say so
 * by alias -1. */
#include "../dync.in.h"
#include "rows.h"
DYNC__COLD

/* ---- views ----------------------------------------------------------------------------------- */

/* *out starts as argument 0 itself; the caller changes the layout. *t is borrowed. */
DYNC__FN dync_status dync__infer_view(const dync__opcall *call, dync__tensor **t, dync__info *out)
{
    DYNC__TRY(dync__infer_tensor(call, 0, t));
    dync__info_of(out, *t, 0);
    out->view = true;
    return DYNC_OK;
}

/* A dim that may be negative, as one of 0 .. ndim - 1; rank 0 counts as rank 1. */
DYNC__FN dync_status dync__infer_dim(const dync__arg *a, int ndim, int *out)
{
    return dync__dim_wrap(dync__infer_int_dim(a), ndim, out);
}

/* The same layout: detach, alias, and what else only gives a new handle. */
DYNC__FN dync_status dync__i_alias(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    return dync__infer_view(call, &t, out);
}

/* The layout of self's memory seen with another shape, where strides can express it. One size of
 * shape may be -1: what is left. *possible: false where no strides can express the new shape over
 * the old memory, e.g. a transposed matrix as one dim. */
static dync_status dync__infer_as_view(const dync__layout *in, int ndim, const int64_t *shape,
                                       dync__layout *out, bool *possible)
{
    DYNC__TRY(dync__layout_view(in, ndim, shape, out, possible));
    return DYNC_OK;
}

/* Argument 1: the sizes. Never copies: where strides do not allow it, DYNC_ERR_SHAPE that
 * recommends reshape. */
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

/* reshape: a view, or a fresh row-major copy. out comes from dync__infer_view, so a view is what it
 * says until the strides turn out not to fit. */
static dync_status dync__infer_reshape(const dync__tensor *t, int ndim, const int64_t *shape,
                                       dync__info *out)
{
    bool possible;
    DYNC__TRY(dync__infer_as_view(&t->lay, ndim, shape, &out->lay, &possible));
    if (possible) return DYNC_OK;
    dync__layout dense;
    DYNC__TRY(dync__layout_contiguous(&dense, t->lay.ndim, t->lay.shape));
    out->alias = -1;
    DYNC__TRY(dync__infer_as_view(&dense, ndim, shape, &out->lay, &possible));
    return possible ? DYNC_OK : dync__fail(DYNC_ERR_INTERNAL, "a row-major tensor has any shape");
}

DYNC__FN dync_status dync__i_reshape(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    DYNC__TRY(dync__infer_view(call, &t, out));
    return dync__infer_reshape(t, call->args[1].n, call->args[1].as.dims, out);
}

/* Argument 1 lends its shape alone. */
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

/* Dims start to end (both included) as one. A 0-dim tensor becomes [1]. */
DYNC__FN dync_status dync__i_flatten(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    int start, end, n = 0;
    int64_t shape[DYNC_MAX_DIMS], whole = 1;
    DYNC__TRY(dync__infer_view(call, &t, out));
    DYNC__TRY(dync__infer_dim(&call->args[1], t->lay.ndim, &start));
    DYNC__TRY(dync__infer_dim(&call->args[2], t->lay.ndim, &end));
    if (start > end) return dync__fail(DYNC_ERR_VALUE, "start_dim cannot come after end_dim");
    if (start == end && t->lay.ndim > 0) { /* self itself */
        out->view = false;
        return DYNC_OK;
    }
    for (int i = start; i <= end && i < t->lay.ndim; i++)
        whole = dync__sz_mul(whole, t->lay.shape[i]);
    for (int i = 0; i < start; i++) shape[n++] = t->lay.shape[i];
    shape[n++] = whole;
    for (int i = end + 1; i < t->lay.ndim; i++) shape[n++] = t->lay.shape[i];
    return dync__infer_reshape(t, n, shape, out);
}

/* The reverse: dim as several, of which one may be -1. Their product must be the size of dim. */
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
            return dync__fail(DYNC_ERR_SHAPE, "invalid size %lld", (long long)dync__sz_hint(size));
        shape[n++] = size;
    }
    if (open >= 0) shape[open] = known ? dync__sz_size(dync__sz_div(t->lay.shape[dim], known)) : 0;
    if (open >= 0 ? known == 0 || !dync__sz_eq(dync__sz_mul(known, shape[open]), t->lay.shape[dim])
                  : !dync__sz_eq(known, t->lay.shape[dim]))
        return dync__fail(DYNC_ERR_SHAPE,
                          "the sizes don't multiply up to the size of dim %d (%lld)", dim,
                          (long long)dync__sz_hint(t->lay.shape[dim]));
    for (int i = dim + 1; i < t->lay.ndim; i++) shape[n++] = t->lay.shape[i];
    return dync__infer_reshape(t, n, shape, out);
}

/* Dim i of the result is dim dims[i] of self; each dim once. */
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

/* Two dims exchanged; a 0-dim tensor stays as it is. */
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

/* A matrix is transposed, a vector or 0-dim tensor stays as it is. */
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

/* Dims of size 1 get stride 0 and any size; new leading dims too; -1 keeps a size. */
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

DYNC__FN void dync__infer_drop_dim(dync__layout *l, int dim)
{
    l->ndim--;
    for (int i = dim; i < l->ndim; i++) {
        l->shape[i] = l->shape[i + 1];
        l->stride[i] = l->stride[i + 1];
    }
}

/* One that data decide is asked for: the rank depends on it. A symbolic size is never 1: sizes 0
 * and 1 are specialised. Of a size that data decide nothing is known, so the question goes to
 * whoever runs the graph. */
static bool dync__squeeze_drops(int64_t size)
{
    return size == 1 || (dync__sz_by_data(size) && dync__sz_ask(DYNC__SZ_EQ, size, 1));
}

/* Nothing happens where the dim has another size than 1. */
DYNC__FN dync_status dync__i_squeeze(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    int dim;
    DYNC__TRY(dync__infer_view(call, &t, out));
    DYNC__TRY(dync__infer_dim(&call->args[1], t->lay.ndim, &dim));
    if (t->lay.ndim && dync__squeeze_drops(t->lay.shape[dim])) dync__infer_drop_dim(&out->lay, dim);
    return DYNC_OK;
}

/* From the last dim on, so that the places of those still to be looked at do not change. */
DYNC__FN dync_status dync__i_squeeze_all(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    DYNC__TRY(dync__infer_view(call, &t, out));
    for (int i = t->lay.ndim - 1; i >= 0; i--)
        if (dync__squeeze_drops(out->lay.shape[i])) dync__infer_drop_dim(&out->lay, i);
    return DYNC_OK;
}

/* dim counts in the result: -1 is behind the last one. The stride of a dim of size 1 is never used
 * to find an element; it is what PyTorch gives it, as users can read it. */
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
