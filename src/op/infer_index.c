/* op/infer_index.c: inference of what moves elements by an index: gather, scatter, the slices that
 * indices name, sorts. After infer_move.c. */
#include "../dync.in.h"
#include "rows.h"
DYNC__COLD

/* Sizes of index at most those of other, dim aside. A 0-dim tensor counts as one of a single
 * element. dim -1: no dim is exempt. An index without elements fits everything. */
static dync_status dync__infer_index_fits(const dync__tensor *index, const dync__layout *other,
                                          int dim, const char *what)
{
    int n = DYNC__MAX(other->ndim, 1);
    bool fits = DYNC__MAX(index->lay.ndim, 1) == n || index->numel == 0;
    for (int d = 0; fits && index->numel && d < n; d++)
        fits = d == dim || !dync__sz_lt(other->ndim ? other->shape[d] : 1,
                                        index->lay.ndim ? index->lay.shape[d] : 1);
    return fits ? DYNC_OK : dync__infer_pair_error(what, &index->lay, other);
}

/* Arguments (self, dim, index): out[i][j] = self[index[i][j]][j] for dim 0; the shape is index's.
 * Values of index are checked where the data are (dync__eager_check_data, the plan). */
DYNC__FN dync_status dync__i_gather(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t, *index;
    int dim, device;
    dync__eager_checks();
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    DYNC__TRY(dync__infer_tensor(call, 2, &index));
    DYNC__TRY(dync__infer_device(call, &device));
    DYNC__TRY(dync__infer_axis(call, 1, t, &dim));
    DYNC__TRY(dync__infer_index(index));
    DYNC__TRY(dync__infer_index_fits(index, &t->lay, dim,
                                     "expected index of the rank of self and not larger outside "
                                     "dim"));
    return dync__infer_fresh(out, t->dtype, device, index->lay.ndim, index->lay.shape);
}

/* Arguments (self, index, dim): gather whose other dims broadcast. */
DYNC__FN dync_status dync__i_take_along_dim(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t, *index;
    int dim, n;
    int64_t a[DYNC_MAX_DIMS], shape[DYNC_MAX_DIMS];
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    DYNC__TRY(dync__infer_tensor(call, 1, &index));
    DYNC__TRY(dync__infer_index(index));
    if (t->lay.ndim != index->lay.ndim)
        return dync__infer_pair_error("expected tensors of one rank", &t->lay, &index->lay);
    if (t->lay.ndim == 0)
        return dync__fail(DYNC_ERR_INDEX, "Dimension specified as %d but tensor has no dimensions",
                          (int)call->args[2].as.i);
    DYNC__TRY(dync__infer_axis(call, 2, t, &dim));
    memcpy(a, t->lay.shape, sizeof a);
    a[dim] = index->lay.shape[dim];
    DYNC__TRY(dync__broadcast(t->lay.ndim, a, index->lay.ndim, index->lay.shape, &n, shape));
    return dync__infer_fresh(out, t->dtype, t->device, n, shape);
}

/* Arguments (self, dim, index, src or number): self with out[index[i][j]][j] = src[i][j] for dim 0.
 * index is inside of self but for dim, and inside of src in every dim. Also of scatter_add. */
DYNC__MEETING(writes)
DYNC__FN dync_status dync__i_scatter(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t, *index;
    int dim, device;
    dync__eager_checks();
    DYNC__MEET(writes);
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    DYNC__TRY(dync__infer_tensor(call, 2, &index));
    DYNC__TRY(dync__infer_value(call, 3));
    if (dync__arg_is_number(&call->args[3])) DYNC__TRY(dync__infer_numbers(call, DYNC__OP_scatter));
    DYNC__TRY(dync__infer_device(call, &device));
    DYNC__TRY(dync__infer_axis(call, 1, t, &dim));
    DYNC__TRY(dync__infer_index(index));
    DYNC__TRY(dync__infer_index_fits(index, &t->lay, dim,
                                     "expected index of the rank of self and not larger outside "
                                     "dim"));
    if (call->args[3].kind == DYNC__A_TENSOR) {
        const dync__tensor *src = call->args[3].as.t;
        if (src->dtype != t->dtype)
            return dync__fail(DYNC_ERR_DTYPE, "Expected self.dtype to be equal to src.dtype");
        DYNC__TRY(dync__infer_index_fits(index, &src->lay, -1,
                                         "expected index not larger than "
                                         "src"));
    }
    return dync__infer_fresh(out, t->dtype, device, t->lay.ndim, t->lay.shape);
}

/* Arguments (self, dim, index): the slices that a vector of indices names, in its order. */
DYNC__FN dync_status dync__i_index_select(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t, *index;
    int dim, device;
    int64_t shape[DYNC_MAX_DIMS];
    dync__eager_checks();
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    DYNC__TRY(dync__infer_tensor(call, 2, &index));
    DYNC__TRY(dync__infer_device(call, &device));
    DYNC__TRY(dync__infer_axis(call, 1, t, &dim));
    DYNC__TRY(dync__infer_index(index));
    if (index->lay.ndim > 1)
        return dync__fail(DYNC_ERR_INDEX, "Index is supposed to be a vector, got %dD",
                          index->lay.ndim);
    if (t->lay.ndim == 0 && !dync__sz_eq(index->numel, 1))
        return dync__fail(DYNC_ERR_INDEX,
                          "Index to scalar can have only 1 value, got %lld value(s)",
                          (long long)dync__sz_hint(index->numel));
    memcpy(shape, t->lay.shape, sizeof shape);
    if (t->lay.ndim) shape[dim] = index->numel;
    return dync__infer_fresh(out, t->dtype, device, t->lay.ndim, shape);
}

/* Arguments (self, dim, index, source): slice i of source is added to slice index[i] of self. */
DYNC__FN dync_status dync__i_index_add(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t, *index, *src;
    int dim, device;
    dync__eager_checks();
    DYNC__MEET(writes);
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    DYNC__TRY(dync__infer_tensor(call, 2, &index));
    DYNC__TRY(dync__infer_tensor(call, 3, &src));
    DYNC__TRY(dync__infer_device(call, &device));
    DYNC__TRY(dync__infer_axis(call, 1, t, &dim));
    DYNC__TRY(dync__infer_index(index));
    if (index->lay.ndim > 1)
        return dync__fail(DYNC_ERR_INDEX, "Index is supposed to be a vector, got %dD",
                          index->lay.ndim);
    if (t->dtype != src->dtype)
        return dync__fail(DYNC_ERR_DTYPE, "self and source must have the "
                                          "same scalar type");
    bool fits = src->lay.ndim == t->lay.ndim;
    for (int d = 0; fits && d < t->lay.ndim; d++)
        fits = dync__sz_eq(src->lay.shape[d], d == dim ? index->numel : t->lay.shape[d]);
    if (!fits) {
        dync__layout want = t->lay;
        want.shape[want.ndim ? dim : 0] = index->numel;
        return dync__infer_pair_error("expected a source of self's shape with index's length along "
                                      "dim",
                                      &want, &src->lay);
    }
    return dync__infer_fresh(out, t->dtype, device, t->lay.ndim, t->lay.shape);
}

/* Values and their old places (int64), both with the strides empty_like would give. Arguments
 * (self, dim, descending). */
DYNC__FN dync_status dync__i_sort(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    int dim;
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    DYNC__TRY(dync__infer_axis(call, 1, t, &dim));
    dync__opcall like = {.row = dync__op_info(DYNC__USED(DYNC__OP_zeros_like)),
                         .op = DYNC__OP_zeros_like,
                         .nargs = 1,
                         .args = call->args};
    DYNC__TRY(dync__i_like(&like, &out[0]));
    out[1] = out[0];
    out[1].dtype = DYNC_I64;
    return DYNC_OK;
}

/* The second output of sort alone. */
DYNC__FN dync_status dync__i_argsort(const dync__opcall *call, dync__info *out)
{
    dync__info both[2];
    DYNC__TRY(dync__i_sort(call, both));
    *out = both[1];
    return DYNC_OK;
}

/* Arguments (self, k, dim, ..): k values along dim and their places; a 0-dim tensor has one. */
DYNC__FN dync_status dync__i_topk(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    int dim;
    int64_t shape[DYNC_MAX_DIMS], k = call->args[1].as.i;
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    DYNC__TRY(dync__dim_wrap(dync__infer_int_dim(&call->args[2]), t->lay.ndim, &dim));
    int64_t length = t->lay.ndim ? t->lay.shape[dim] : 1;
    if (k < 0 || dync__sz_lt(length, k))
        return dync__fail(DYNC_ERR_INDEX, "selected index k out of range: %lld of %lld elements",
                          (long long)k, (long long)dync__sz_hint(length));
    memcpy(shape, t->lay.shape, sizeof shape);
    if (t->lay.ndim) shape[dim] = k;
    DYNC__TRY(dync__infer_fresh(&out[0], t->dtype, t->device, t->lay.ndim, shape));
    return dync__infer_fresh(&out[1], DYNC_I64, t->device, t->lay.ndim, shape);
}
