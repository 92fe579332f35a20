/* onnx/out_move.c: reading and writing by an index, sorting, as ONNX nodes. After out_shape.c. */
#include "../dync.in.h"
#if !defined(DYNC_NO_ONNX)
#include "out_rows.h"
DYNC__COLD

static dync__ox_name dync__ox_along(dync__ox *w, dync__ox_name x, int axis)
{
    dync__ox_set_i(w, "axis", axis);
    dync__ox_from_front(w);
    return x;
}

/* A value of rank 0 as a vector. */
static dync__ox_name dync__ox_vector(dync__ox *w, dync__ox_name x, int ndim)
{
    return ndim ? x : dync__ox_reshape(w, x, 1, &(int64_t){1});
}

DYNC__FN dync__ox_name dync__ox_gather(dync__ox *w)
{
    int ndim = dync__ox_of(w, 0)->lay.ndim;
    dync__ox_name x =
        dync__ox_op2(w, "GatherElements", dync__ox_vector(w, dync__ox_in(w, 0), ndim),
                     dync__ox_vector(w, dync__ox_in(w, 2), dync__ox_of(w, 2)->lay.ndim));
    x = dync__ox_along(w, x, dync__ox_axis(w, 1, ndim));
    return w->node->info[0].lay.ndim ? x : dync__ox_reshape(w, x, 0, NULL);
}

DYNC__FN dync__ox_name dync__ox_index_select(dync__ox *w)
{
    const dync__layout *out = &w->node->info[0].lay;
    int ndim = dync__ox_of(w, 0)->lay.ndim;
    dync__ox_name x =
        dync__ox_op2(w, "Gather", dync__ox_vector(w, dync__ox_in(w, 0), ndim),
                     dync__ox_vector(w, dync__ox_in(w, 2), dync__ox_of(w, 2)->lay.ndim));
    x = dync__ox_along(w, x, dync__ox_axis(w, 1, ndim));
    return ndim ? x : dync__ox_reshape(w, x, out->ndim, out->shape);
}

DYNC__FN dync__ox_name dync__ox_embedding(dync__ox *w)
{
    return dync__ox_along(w, dync__ox_op2(w, "Gather", dync__ox_in(w, 0), dync__ox_in(w, 1)), 0);
}

DYNC__FN dync__ox_name dync__ox_one_hot(dync__ox *w)
{
    static const int64_t pair[2] = {0, 1};
    dync__ox_name x = dync__ox_op3(
        w, "OneHot", dync__ox_vector(w, dync__ox_in(w, 0), dync__ox_of(w, 0)->lay.ndim),
        dync__ox_size_of(w, w->node->info[0].lay.shape[w->node->info[0].lay.ndim - 1]),
        dync__ox_ints(w, 2, pair));
    x = dync__ox_along(w, x, -1);
    return dync__ox_of(w, 0)->lay.ndim ? x : dync__ox_reshape(w, x, 1, w->node->info[0].lay.shape);
}

/* The index is as large as what is written, which may be smaller than src. */
DYNC__FN dync__ox_name dync__ox_scatter(dync__ox *w)
{
    const dync__info *self = dync__ox_of(w, 0), *index = dync__ox_of(w, 2);
    int type = dync__ox_wide(self->dtype), ndim = self->lay.ndim;
    dync__ox_name src;
    if (dync__ox_has(w, 3)) {
        const dync__info *from = dync__ox_of(w, 3);
        src = dync__ox_cast(w, dync__ox_in(w, 3), from->dtype, type);
        for (int d = 0; d < ndim; d++)
            if (from->lay.shape[d] != index->lay.shape[d])
                src = dync__ox_sliced(w, src, d, 0, index->lay.shape[d], 1);
    } else {
        src = dync__ox_expand(w, dync__ox_number(w, dync__ox_arg(w, 3), type), index->lay.ndim,
                              index->lay.shape);
    }
    dync__ox_name x = dync__ox_op3(
        w, "ScatterElements", dync__ox_vector(w, dync__ox_wide_in(w, 0), ndim),
        dync__ox_vector(w, dync__ox_in(w, 2), index->lay.ndim), dync__ox_vector(w, src, ndim));
    dync__ox_set_i(w, "axis", dync__ox_axis(w, 1, ndim));
    dync__ox_from_front(w);
    if (dync__ox_row_of(w->node->op)->f) dync__ox_set_s(w, "reduction", "add");
    if (!ndim) x = dync__ox_reshape(w, x, 0, NULL);
    return dync__ox_as_out(w, x, type, 0);
}

/* One index for each slice, repeated over the slice, so that it is ScatterElements with a sum. */
DYNC__FN dync__ox_name dync__ox_index_add(dync__ox *w)
{
    const dync__info *self = dync__ox_of(w, 0), *from = dync__ox_of(w, 3);
    int type = dync__ox_wide(self->dtype), ndim = self->lay.ndim;
    int axis = dync__ox_axis(w, 1, ndim);
    int64_t shape[DYNC_MAX_DIMS] = {1};
    for (int d = 0; d < ndim; d++) shape[d] = d == axis ? -1 : 1;
    dync__ox_name index =
        dync__ox_reshape(w, dync__ox_in(w, 2), DYNC__MAX(ndim, 1), ndim ? shape : &(int64_t){-1});
    if (ndim) index = dync__ox_expand(w, index, ndim, from->lay.shape);
    dync__ox_name src = dync__ox_cast(w, dync__ox_in(w, 3), from->dtype, type);
    dync__ox_name x = dync__ox_op3(w, "ScatterElements",
                                   dync__ox_vector(w, dync__ox_wide_in(w, 0), ndim), index,
                                   dync__ox_vector(w, src, from->lay.ndim));
    dync__ox_set_i(w, "axis", axis);
    dync__ox_set_s(w, "reduction", "add");
    dync__ox_from_front(w);
    if (!ndim) x = dync__ox_reshape(w, x, 0, NULL);
    return dync__ox_as_out(w, x, type, 0);
}

/* sort (self, dim, descending): all of dim; topk (self, k, dim, largest, sorted). Equal elements
 * keep their order in both. */
DYNC__FN dync__ox_name dync__ox_topk(dync__ox *w)
{
    const dync__info *self = dync__ox_of(w, 0);
    const dync__layout *out = &w->node->info[0].lay;
    bool k = dync__ox_row_of(w->node->op)->f != NULL;
    int type = dync__ox_wide(self->dtype), ndim = self->lay.ndim;
    int axis = dync__ox_axis(w, k ? 2 : 1, ndim);
    int64_t count = ndim ? out->shape[axis] : 1;
    dync__ox_name values = dync__ox_op2(w, "TopK", dync__ox_vector(w, dync__ox_wide_in(w, 0), ndim),
                                        dync__ox_size_of(w, count));
    dync__ox_set_i(w, "axis", axis);
    dync__ox_set_i(w, "largest", dync__ox_arg(w, k ? 3 : 2)->as.i != 0);
    dync__ox_name places = dync__ox_more(w);
    if (!ndim) values = dync__ox_reshape(w, values, 0, NULL);
    if (!ndim) places = dync__ox_reshape(w, places, 0, NULL);
    dync__ox_give(w, 0, dync__ox_as_out(w, values, type, 0));
    dync__ox_give(w, 1, places);
    return NULL;
}
#endif
