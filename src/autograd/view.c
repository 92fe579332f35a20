/* autograd/view.c: views and writing in place. After node.c, before tape.c.
 *
 * A view knows its base, the tensor at the root of its views. Writing into a view is a write into
 * its base: the base gets a CopySlices node, which routes the gradient of the written part through
 * the operation's own node, and the view gets a node that takes it out of the base again. Other
 * views of that base see by the storage's version that their node is old and are given a new one
 * when asked. Method: PyTorch's torch/csrc/autograd/variable.cpp and functions/tensor.cpp, "Views"
 * and CopySlices. */
#include "../dync.in.h"
#include "node.h"
#include "view.h"
DYNC__COLD

/* ---- the gradient of a base from that of a view ---------------------------------------------- */

/* Grows the span by the elements that a layout reaches; strides may be negative. A layout without
 * elements adds none. Sizes may be symbolic. */
DYNC__RARE DYNC__FN void dync__view_span_add(dync__view_span *span, const dync__layout *lay)
{
    int64_t first = lay->offset, last = lay->offset;
    for (int d = 0; d < lay->ndim; d++) {
        if (dync__sz_eq(lay->shape[d], 0)) return;
        int64_t reach = dync__sz_mul(dync__sz_sub(lay->shape[d], 1), lay->stride[d]);
        if (lay->stride[d] < 0)
            first = dync__sz_add(first, reach);
        else
            last = dync__sz_add(last, reach);
    }
    int64_t end = dync__sz_add(last, 1), low = first;
    if (span->size != 0) {
        end = dync__sz_max(dync__sz_add(span->low, span->size), end);
        low = dync__sz_min(span->low, first);
    }
    span->low = low;
    span->size = dync__sz_sub(end, low);
}

DYNC__RARE DYNC__FN dync_dims dync__view_dims(int n, const int64_t *d)
{
    dync_dims dims = {0};
    dims.n = n;
    memcpy(dims.d, d, (size_t)n * sizeof *d);
    return dims;
}

/* A new tensor of zeros as an operator call, so that it is traced, too. NULL: it failed. */
DYNC__FN dync_tensor *dync__grad_zeros(dync_dims shape, int dtype, int device)
{
    dync__arg args[3];
    dync__tensor *out = NULL;
    args[0] = dync__arg_dims(shape.n, shape.d);
    args[1] = dync__arg_dtype(dtype);
    args[2] = dync__arg_device(device);
    return dync__op_run(DYNC__OP_zeros, 3, args, &out) == DYNC_OK ? dync__give(out) : NULL;
}

/* 0 .. n - 1 as int64, as an operator call. */
static dync_tensor *dync__view_arange(int64_t n, int device)
{
    dync__arg args[5];
    dync__tensor *out = NULL;
    args[0] = dync__arg_i(0);
    args[1] = dync__arg_i(n);
    args[2] = dync__arg_i(1);
    args[3] = dync__arg_dtype(DYNC_I64);
    args[4] = dync__arg_device(device);
    return dync__op_run(DYNC__OP_arange, 5, args, &out) == DYNC_OK ? dync__give(out) : NULL;
}

/* For each element of a layout its place in the storage, counted from low, in the layout's shape. A
 * window of 2 over 3 elements, shape [2, 2], stride [1, 1]: [[0, 1], [1, 2]]. */
static dync_tensor *dync__view_places(const dync__layout *lay, int64_t low, int device)
{
    dync_tensor *sum = NULL;
    for (int d = 0; d < lay->ndim; d++) {
        dync_dims shape = {0};
        shape.n = lay->ndim;
        for (int k = 0; k < lay->ndim; k++) shape.d[k] = k == d ? lay->shape[d] : 1;
        dync_tensor *part =
            dync_mul(dync_view(dync__view_arange(lay->shape[d], device), shape), lay->stride[d]);
        sum = sum ? dync_add(sum, part) : dync_add(part, lay->offset - low);
        if (!sum) return NULL;
    }
    return sum;
}

/* Sums away dims that repeat the same elements; the layout loses them (size 1). */
static dync_tensor *dync__view_sum_repeats(dync_tensor *g, dync__layout *lay)
{
    dync_dims dims = {0};
    for (int d = 0; d < lay->ndim; d++)
        if (lay->stride[d] == 0 && lay->shape[d] > 1) {
            dims.d[dims.n++] = d;
            lay->shape[d] = 1;
        }
    return dims.n ? dync_sum(g, dims, true) : g;
}

/* grad, which has part's shape, added up at part's places in a flat buffer whose first element is
 * the storage's low: by one scatter. */
DYNC__FN dync_tensor *dync__strided_scatter(dync_tensor *buffer, dync_tensor *grad,
                                            const dync__layout *part, int64_t low, int device)
{
    dync_dims n = {1, {-1}};
    return dync_scatter_add(buffer, 0, dync_reshape(dync__view_places(part, low, device), n),
                            dync_reshape(grad, n));
}

static dync_tensor *dync__strided_place(dync_tensor *buffer, const dync__layout *part, int64_t low)
{
    return dync_as_strided(buffer, dync__view_dims(part->ndim, part->shape),
                           dync__view_dims(part->ndim, part->stride),
                           dync__sz_sub(part->offset, low));
}

/* recursion: the elements of values that `from` shows, at the places that `to` has for them */
static dync_tensor *dync__strided_add(dync_tensor *buffer, const dync__layout *to,
                                      dync_tensor *values, const dync__layout *from, int64_t low)
{
    if (dync__layout_is_apart(to)) {
        dync_tensor *place = dync__strided_place(buffer, to, low);
        dync_tensor *sum = dync_add(place, dync__strided_place(values, from, 0));
        return dync_copy_(place, sum) ? buffer : NULL;
    }
    int d = 0;
    for (int k = 0; k < to->ndim; k++)
        if (to->shape[k] > 1 && (to->shape[d] <= 1 || to->shape[k] < to->shape[d])) d = k;
    for (int64_t i = 0; i < to->shape[d] && buffer; i++) {
        dync__layout place = *to, part = *from;
        place.shape[d] = part.shape[d] = 1;
        place.offset += i * place.stride[d];
        part.offset += i * part.stride[d];
        buffer = dync__strided_add(buffer, &place, values, &part, low);
    }
    return buffer;
}

/* The same by windows whose elements are apart: the shortest dim is taken index by index until they
 * are. A small program, whose sizes are numbers, links no scatter for gradients of windows. */
DYNC__FN dync_tensor *dync__strided_windows(dync_tensor *buffer, dync_tensor *grad,
                                            const dync__layout *part, int64_t low, int dtype,
                                            int device)
{
    dync__layout from;
    if (dync__layout_contiguous(&from, part->ndim, part->shape) != DYNC_OK) return NULL;
    dync_tensor *values = dync__grad_zeros(dync__view_dims(part->ndim, part->shape), dtype, device);
    if (!values || !dync_copy_(values, grad)) return NULL;
    return dync__strided_add(buffer, part, values, &from, low);
}
enum { DYNC__STRIDED_BY_WINDOWS = DYNC__SMALLER(1, 0) };

/* A tensor with base's layout: what grad, which has view's shape, holds for the element at the same
 * place of the storage; added up where several elements of view are one place, 0 where only base
 * is.
 *
 *   base [4], stride 1          a b c d
 *   view [2], stride 2          a   c          grad [5, 7]
 *   result                      5 0 7 0
 *
 * Where view's elements are apart they are copied through a strided window into a buffer of zeros,
 * else summed there. whole: the buffer has base's form already. NULL: an operator failed. */
DYNC__FN dync_tensor *dync__strided_transfer(dync_tensor *grad, const dync__layout *base,
                                             const dync__layout *view, int dtype, int device)
{
    dync__view_span span = {0, 0}, own = {0, 0};
    dync__layout part = *view;
    dync__view_span_add(&own, base);
    span = own;
    dync__view_span_add(&span, view);
    bool whole = dync__layout_is_contiguous(base) && dync__sz_eq(own.low, span.low) &&
                 dync__sz_eq(own.size, span.size);
    dync_dims flat = dync_shape(span.size);
    dync_tensor *buffer =
        dync__grad_zeros(whole ? dync__view_dims(base->ndim, base->shape) : flat, dtype, device);
    grad = dync__view_sum_repeats(grad, &part);
    if (!buffer || !grad) return NULL;
    if (span.size == 0) return buffer;
    if (!dync__layout_is_apart(&part)) {
        dync_dims n = {1, {-1}};
        buffer = dync_reshape(buffer, n);
        buffer = DYNC__STRIDED_BY_WINDOWS
                     ? dync__strided_windows(buffer, grad, &part, span.low, dtype, device)
                     : dync__strided_scatter(buffer, grad, &part, span.low, device);
        if (whole) return dync_reshape(buffer, dync__view_dims(base->ndim, base->shape));
    } else {
        if (!dync_copy_(dync__strided_place(buffer, &part, span.low), grad)) return NULL;
        if (whole) return buffer;
    }
    return dync_as_strided(buffer, dync__view_dims(base->ndim, base->shape),
                           dync__view_dims(base->ndim, base->stride),
                           dync__sz_sub(base->offset, span.low));
}

/* An element of the base that lies at several of its places, as in windows or an expanded tensor,
 * gets an equal part at each: the view that made the base adds them up again. */
DYNC__FN dync_tensor *dync__as_strided_backward(dync_tensor *grad, const dync__layout *base,
                                                const dync__layout *view, int dtype, int device)
{
    dync_tensor *out = dync__strided_transfer(grad, base, view, dtype, device);
    if (!out || dync__layout_is_dense(base) || dync__layout_is_apart(base)) return out;
    dync__layout part = *base;
    double repeats = 1;
    for (int d = 0; d < base->ndim; d++)
        if (base->stride[d] == 0 && base->shape[d] > 1) {
            repeats *= (double)base->shape[d];
            part.shape[d] = 1;
        }
    if (repeats > 1) out = dync_div(out, repeats);
    if (dync__layout_is_apart(&part)) return out;
    dync_tensor *one =
        dync_ones(dync__view_dims(part.ndim, part.shape), .device = (dync_device)device);
    dync_tensor *places = dync__strided_transfer(one, &part, &part, DYNC_F32, device);
    return dync_to_dtype(dync_div(out, places), (dync_dtype)dtype);
}

/* ---- a view's own node, when its base was written -------------------------------------------- */

/* The tensor behind a handle with a reference for the caller, as nodes give gradients; NULL stays
 * NULL. */
DYNC__FN dync__tensor *dync__view_take(dync_tensor *handle)
{
    dync__tensor *t = handle ? dync__open(handle) : NULL;
    if (t) dync__ref(t);
    return t;
}

/* The error that an operator has recorded, for a node's result. */
DYNC__FN dync_status dync__view_pending(void)
{
    return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_INTERNAL;
}

/* Node of a view whose base was written: from the view's gradient to the base's. */
static dync_status dync__as_strided_run(void *state, int n_out, dync__tensor *const *grad_out,
                                        int n_in, const bool *needed, dync__tensor **grad_in,
                                        bool create_graph)
{
    const dync__geometry *geo = state;
    (void)n_out, (void)n_in, (void)create_graph;
    if (!grad_out[0] || !needed[0]) return DYNC_OK;
    dync__ref(grad_out[0]);
    dync_tensor *g = dync__as_strided_backward(dync__give(grad_out[0]), &geo->base, &geo->view,
                                               geo->dtype, geo->device);
    grad_in[0] = dync__view_take(g);
    return grad_in[0] ? DYNC_OK : dync__view_pending();
}
/* Tells all of the geometry: two backwards with different ones must not share compiled code. */
DYNC__FN dync_status dync__as_strided_visit(void *state, dync__gvisitor *v)
{
    const dync__geometry *geo = state;
    const dync__layout *both[2] = {&geo->base, &geo->view};
    v->word(v, geo->dtype | (uint64_t)geo->device << 8);
    for (int k = 0; k < 2; k++) {
        v->word(v, (uint64_t)both[k]->ndim);
        v->word(v, (uint64_t)both[k]->offset);
        for (int d = 0; d < both[k]->ndim; d++) v->word(v, (uint64_t)both[k]->shape[d]);
        for (int d = 0; d < both[k]->ndim; d++) v->word(v, (uint64_t)both[k]->stride[d]);
    }
    return DYNC_OK;
}
static const dync__gnode_class dync__as_strided_class = {
    DYNC__TEXT("AsStridedBackward0"), dync__as_strided_run, NULL, NULL, dync__as_strided_visit};

/* A node over base and view with n_in edges, not yet set; one reference. NULL: no memory. */
DYNC__RARE DYNC__FN dync__gnode *dync__geometry_node(const dync__gnode_class *cls,
                                                     const dync__tensor *base,
                                                     const dync__tensor *view, int n_in)
{
    dync__gnode *node = dync__gnode_new(cls, n_in, 1, sizeof(dync__geometry));
    if (!node) return NULL;
    dync__geometry *geo = node->state;
    geo->base = base->lay;
    geo->view = view->lay;
    geo->dtype = base->dtype;
    geo->device = base->device;
    return node;
}

/* Has the base been written since the view's node was made, or has it begun to require grad after
 * the view was made? */
static bool dync__view_is_stale(const dync__tensor *t)
{
    const dync__grad_meta *meta = dync__grad_meta_peek(t);
    if (!meta || !meta->base || meta->view_kind == DYNC__VIEW_NO_GRAD ||
        !dync__tensor_requires_grad(meta->base))
        return false;
    return meta->view_version != t->storage->version ||
           (!meta->node && !(t->flags & DYNC__T_REQUIRES_GRAD));
}

/* Gives the view a node that takes it out of the base as the base is now. */
DYNC__RARE static dync_status dync__view_refresh(dync__tensor *t)
{
    dync__gnode *node = dync__geometry_node(&dync__as_strided_class, t->grad->base, t, 1);
    if (!node) return DYNC_ERR_MEMORY;
    dync__gnode_set_out(node, 0, t);
    dync_status status = dync__grad_edge(t->grad->base, &node->edge[0]);
    if (status == DYNC_OK) dync__grad_meta_set_node(t, node, 0);
    dync__gnode_unref(node);
    return status;
}

/* Where t's gradient goes: its node, or the node that accumulates into a leaf; {NULL, 0} where it
 * requires none. *out: a reference on the node. */
DYNC__FN dync_status dync__grad_edge(dync__tensor *t, dync__gedge *out)
{
    *out = (dync__gedge){NULL, 0};
    if (!dync__tensor_requires_grad(t)) return DYNC_OK;
    if (dync__view_is_stale(t)) DYNC__TRY(dync__view_refresh(t));
    const dync__grad_meta *meta = dync__grad_meta_peek(t);
    if (meta && meta->node) {
        dync__gnode_ref(meta->node);
        *out = (dync__gedge){meta->node, meta->nr};
        return DYNC_OK;
    }
    out->node = dync__accumulate_node(t);
    return out->node ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* A view of a view belongs to the first base, so chains never grow. A view keeps the stricter kind
 * of its source. */
DYNC__FN dync_status dync__view_track(dync__tensor *source, dync__tensor *view, int kind)
{
    dync__grad_meta *meta = dync__grad_meta_of(view);
    if (!meta) return DYNC_ERR_MEMORY;
    dync__tensor *base = source;
    const dync__grad_meta *of = dync__grad_meta_peek(source);
    if (of && of->base) {
        base = of->base;
        if (kind == DYNC__VIEW_NORMAL) kind = of->view_kind;
    }
    dync__ref(base);
    dync__unref(meta->base);
    meta->base = base;
    meta->view_kind = (uint8_t)kind;
    meta->view_version = view->storage->version;
    return DYNC_OK;
}

/* A node that takes part out of the base behind `slices`; one reference, NULL: no memory. */
DYNC__FN dync__gnode *dync__slices_take(dync__gnode *slices, const dync__tensor *part)
{
    dync__gnode *node = dync__gnode_new(&dync__as_strided_class, 1, 1, sizeof(dync__geometry));
    if (!node) return NULL;
    memcpy(node->state, slices->state, sizeof(dync__geometry));
    dync__gnode_set_out(node, 0, part);
    dync__gnode_ref(slices);
    node->edge[0].node = slices;
    return node;
}

/* By the node itself: rules that read what an operator gave ask here, and who writes into no view
 * links none of it. */
DYNC__FN dync__gnode *dync__slices_part(dync__gnode *slices, const dync__tensor *part)
{
    return ((dync__geometry *)slices->state)->part(slices, part);
}
