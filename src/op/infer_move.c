/* op/infer_move.c: inference of what moves elements: joins, flips, rolls, repeats, parts put back.
 * After infer.c. */
#include "../dync.in.h"
#include "rows.h"
DYNC__COLD

/* ---- movers ---------------------------------------------------------------------------------- */

/* Arguments (list, dim). Dtypes promote; all sizes but that of dim agree. A tensor of shape [0] is
 * left out whatever the others' rank is, which PyTorch keeps for old programs; where there are no
 * others it decides the rank. */
DYNC__MEETING(joins)
DYNC__FN dync_status dync__i_cat(const dync__opcall *call, dync__info *out)
{
    const dync__arg *list = &call->args[0];
    const dync__tensor *first = NULL;
    dync__promoter p = {-1, -1, -1};
    int64_t shape[DYNC_MAX_DIMS], total = 0;
    int dim = 0;
    DYNC__MEET(joins);
    if (list->kind != DYNC__A_LIST || list->n < 1)
        return dync__fail(DYNC_ERR_VALUE, "expected a non-empty list of tensors");
    for (int i = 0; i < list->n; i++) {
        if (list->as.list[i].kind != DYNC__A_TENSOR)
            return dync__fail(DYNC_ERR_VALUE, "expected item %d of the list to be a tensor", i);
        const dync__tensor *t = list->as.list[i].as.t;
        dync__promoter_add(&p, t->dtype, t->lay.ndim ? 2 : 1);
        if (t->lay.ndim == 0)
            return dync__fail(DYNC_ERR_SHAPE,
                              "zero-dimensional tensor (at position %d) cannot "
                              "be concatenated",
                              i);
        /* the legacy empty tensor fits anything */
        if (t->lay.ndim == 1 && t->lay.shape[0] == 0) continue;
        if (!first) {
            first = t;
            DYNC__TRY(dync__infer_axis(call, 1, t, &dim));
            memcpy(shape, t->lay.shape, sizeof shape);
        }
        bool fits = t->lay.ndim == first->lay.ndim;
        for (int d = 0; fits && d < t->lay.ndim; d++)
            fits = d == dim || dync__sz_eq(t->lay.shape[d], shape[d]);
        if (!fits)
            return dync__infer_pair_error("Sizes of tensors must match except in the dim "
                                          "concatenated",
                                          &first->lay, &t->lay);
        if (dync__any_token(total, t->lay.shape[dim]))
            total = dync__sz_add(total, t->lay.shape[dim]);
        else if (!dync__add_ok(total, t->lay.shape[dim], &total))
            return dync__fail(DYNC_ERR_SHAPE, "the result is too large");
    }
    DYNC__TRY(dync__infer_device(call, &out->device));
    if (!first) {
        first = list->as.list[0].as.t;
        DYNC__TRY(dync__infer_axis(call, 1, first, &dim));
    }
    shape[dim] = total;
    return dync__infer_formed(out, dync__promoter_result(&p), out->device, first->lay.ndim, shape,
                              dync__infer_list_form(list));
}

/* Stacked, tensors are joined along the dim before which the new one comes, which is then split:
 * the result is in their format, seen with one dim more. At the end each gets a dim of 1
 * instead. */
static dync_status dync__infer_stacked(const dync__arg *list, int dim, int dtype,
                                       const int64_t *shape, dync__info *out)
{
    int n = list->as.list[0].as.t->lay.ndim, device = out->device;
    int64_t joined[DYNC_MAX_DIMS];
    if (dim < n) {
        int form = dync__infer_list_form(list);
        DYNC__TRY(dync__infer_fresh(out, dtype, device, n + 1, shape));
        if (!form) return DYNC_OK;
        for (int d = 0; d < n; d++) joined[d] = shape[d < dim ? d : d + 1];
        joined[dim] = dync__sz_mul(joined[dim], shape[dim]);
        DYNC__TRY(dync__infer_formed(out, dtype, device, n, joined, form));
        return dync__layout_view(&out->lay, n + 1, shape, &out->lay, &(bool){false});
    }
    int form = n + 1;
    for (int i = 0; i < list->n && form; i++) {
        dync__layout lay = list->as.list[i].as.t->lay;
        lay.shape[n] = lay.stride[n] = 1;
        lay.ndim = n + 1;
        if (dync__layout_form(&lay) != form) form = 0;
    }
    return dync__infer_formed(out, dtype, device, n + 1, shape, form);
}

/* Arguments (list, dim): equal shapes, and a new dim of the list's length; dim counts in the
 * result. */
DYNC__FN dync_status dync__i_stack(const dync__opcall *call, dync__info *out)
{
    const dync__arg *list = &call->args[0];
    int64_t shape[DYNC_MAX_DIMS];
    int dim, dtype = -1;
    if (list->kind != DYNC__A_LIST || list->n < 1)
        return dync__fail(DYNC_ERR_VALUE, "expected a non-empty list of tensors");
    const dync__tensor *first = list->as.list[0].as.t;
    for (int i = 0; i < list->n; i++) {
        if (list->as.list[i].kind != DYNC__A_TENSOR)
            return dync__fail(DYNC_ERR_VALUE, "expected item %d of the list to be a tensor", i);
        const dync__tensor *t = list->as.list[i].as.t;
        if (!dync__infer_same_shape(&first->lay, &t->lay))
            return dync__infer_pair_error("stack expects each tensor to be equal size", &first->lay,
                                          &t->lay);
        dtype = dtype < 0 ? t->dtype : dync__promote(dtype, t->dtype);
    }
    if (first->lay.ndim == DYNC_MAX_DIMS)
        return dync__fail(DYNC_ERR_SHAPE, "expected at most %d dims", DYNC_MAX_DIMS - 1);
    DYNC__TRY(dync__dim_wrap(dync__infer_int_dim(&call->args[1]), first->lay.ndim + 1, &dim));
    DYNC__TRY(dync__infer_device(call, &out->device));
    for (int i = 0, k = 0; i <= first->lay.ndim; i++)
        shape[i] = i == dim ? list->n : first->lay.shape[k++];
    return dync__infer_stacked(list, dim, dtype, shape, out);
}

/* select_backward, slice_backward, diagonal_backward: the sizes are an argument; the gradient must
 * fit the view of them. gradient g -> zeros of the sizes in argument 1 with g where the view was.
 * What follows are the view's own arguments. */
DYNC__FN dync_status dync__i_view_backward(const dync__opcall *call, dync__info *out)
{
    dync__tensor *g;
    const dync__arg *a = call->args;
    dync__layout view;
    DYNC__TRY(dync__infer_tensor(call, 0, &g));
    DYNC__TRY(dync__infer_fresh(out, g->dtype, g->device, a[1].n, a[1].as.dims));
    if (call->op == DYNC__OP_select_backward)
        DYNC__TRY(dync__view_select(&out->lay, a[2].as.i, a[3].as.i, &view));
    else if (call->op == DYNC__OP_slice_backward)
        DYNC__TRY(dync__view_slice(&out->lay, a[2].as.i, a[3].as.i, a[4].as.i, a[5].as.i, &view));
    else
        DYNC__TRY(dync__view_diagonal(&out->lay, a[2].as.i, a[3].as.i, a[4].as.i, &view));
    return dync__infer_same_shape(&view, &g->lay)
               ? DYNC_OK
               : dync__infer_pair_error("expected a gradient of the view's shape", &g->lay, &view);
}

/* A dense tensor in the form of self, whatever self's offset; the part must stay inside. Arguments
 * (self, src, sizes, strides, offset). `items` is self's own reach, from its first to its last
 * element: the result has no memory outside of that. */
DYNC__MEETING(writes)
DYNC__FN dync_status dync__i_as_strided_scatter(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t, *src;
    dync__layout part;
    DYNC__MEET(writes);
    int64_t items = 1;
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    DYNC__TRY(dync__infer_tensor(call, 1, &src));
    for (int d = 0; d < t->lay.ndim; d++)
        items = t->numel
                    ? items + (dync__sz_hint(t->lay.shape[d]) - 1) * dync__sz_hint(t->lay.stride[d])
                    : 0;
    DYNC__TRY(
        dync__infer_strided(&call->args[2], &call->args[3], call->args[4].as.i, items, &part));
    if (!dync__infer_same_shape(&part, &src->lay))
        return dync__infer_pair_error("expected a source of the sizes given", &src->lay, &part);
    dync__info_of(out, t, -1);
    out->lay.offset = 0;
    return DYNC_OK;
}

/* The dims are checked; strides are kept as empty_like keeps them. */
DYNC__FN dync_status dync__i_flip(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    bool flipped[DYNC_MAX_DIMS];
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    DYNC__TRY(dync__infer_dims(&call->args[1], t->lay.ndim, flipped));
    dync__opcall like = {.row = dync__op_info(DYNC__USED(DYNC__OP_zeros_like)),
                         .op = DYNC__OP_zeros_like,
                         .nargs = 1,
                         .args = call->args};
    return dync__i_like(&like, out);
}

/* The layout of l rolled by shift along dim: PyTorch joins its two parts, in their format where
 * they agree, or l and an empty part where nothing moves. Of symbolic sizes no part is asked, as
 * that would be a guard; whether something moves is, where there is a format to keep. */
static dync_status dync__infer_rolled(dync__layout *l, int64_t shift, int dim)
{
    int64_t size = l->shape[dim];
    int form = dync__layout_form(l);
    bool known = !dync__any_token(size, shift);
    int64_t start = known && size > 0 ? (size - shift % size) % size : 0;
    dync__info out;
    if (!known && form && dync__sz_eq(dync__sz_mod(shift, size), 0)) form = 0;
    for (int i = 0; i < 2 && known; i++) {
        dync__layout part = *l;
        part.shape[dim] = i ? start : size - start;
        if (start == 0 || (i && dync__layout_form(&part) != form)) form = 0;
        if (!i) form = dync__layout_form(&part);
    }
    DYNC__TRY(dync__infer_formed(&out, 0, 0, l->ndim, l->shape, form));
    *l = out.lay;
    return DYNC_OK;
}

/* Arguments (self, shifts, dims): as many dims as shifts, or none and one shift, which rolls the
 * flattened tensor. */
DYNC__FN dync_status dync__i_roll(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    const dync__arg *shifts = &call->args[1], *dims = &call->args[2];
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    if (shifts->n < 1 || shifts->n > DYNC_MAX_DIMS ||
        (dims->n != shifts->n && !(dims->n == 0 && shifts->n == 1)))
        return dync__fail(DYNC_ERR_VALUE, "shifts and dimensions must align. shifts: %d, dims: %d",
                          shifts->n, dims->n);
    if (dims->n && t->lay.ndim == 0)
        return dync__fail(DYNC_ERR_INDEX,
                          "Dimension specified as %lld but tensor has no dimensions",
                          (long long)dims->as.dims[0]);
    DYNC__TRY(dync__infer_fresh(out, t->dtype, t->device, t->lay.ndim, t->lay.shape));
    dync__layout rolled = t->lay;
    for (int i = 0; i < dims->n; i++) {
        dync__arg d = dync__arg_i(dims->as.dims[i]);
        int dim;
        DYNC__TRY(dync__dim_wrap(dync__infer_int_dim(&d), t->lay.ndim, &dim));
        DYNC__TRY(dync__infer_rolled(&rolled, shifts->as.dims[i], dim));
    }
    if (dims->n && t->numel != 0) out->lay = rolled;
    return DYNC_OK;
}

/* Dims are matched from the last one on; more repeats than dims add dims in front. */
DYNC__FN dync_status dync__i_repeat(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    const dync__arg *r = &call->args[1];
    int64_t shape[DYNC_MAX_DIMS];
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    if (r->n < t->lay.ndim || r->n > DYNC_MAX_DIMS)
        return dync__fail(DYNC_ERR_SHAPE,
                          "Number of dimensions of repeat dims (%d) can not be smaller than "
                          "number of "
                          "dimensions of tensor (%d)",
                          r->n, t->lay.ndim);
    for (int i = 0; i < r->n; i++) {
        int64_t size = i < r->n - t->lay.ndim ? 1 : t->lay.shape[i - (r->n - t->lay.ndim)];
        if (r->as.dims[i] < 0)
            return dync__fail(DYNC_ERR_VALUE,
                              "Trying to create tensor with negative dimension "
                              "%lld",
                              (long long)r->as.dims[i]);
        if (!dync__sz_mul_ok(size, r->as.dims[i], &shape[i]))
            return dync__fail(DYNC_ERR_SHAPE, "the result is too large");
    }
    return dync__infer_fresh(out, t->dtype, t->device, r->n, shape);
}

/* tril and triu look at the last two dims; those before are a batch. */
DYNC__FN dync_status dync__i_tril(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    if (t->lay.ndim < 2)
        return dync__fail(DYNC_ERR_SHAPE, "input tensor must have at least 2 dimensions, got %d",
                          t->lay.ndim);
    return dync__infer_fresh(out, t->dtype, t->device, t->lay.ndim, t->lay.shape);
}
