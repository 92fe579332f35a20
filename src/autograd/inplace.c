/* autograd/inplace.c: writing in place: a base's history rebased on what a view wrote. Before:
 * view.c. */
#include "../dync.in.h"
#include "node.h"
#include "view.h"
DYNC__COLD

/* ---- writing in place ------------------------------------------------------------------------ */

DYNC__RARE DYNC__FN dync_status dync__inplace_quiet(void)
{
    static const char no_grad[] =
        "A view was created in no_grad mode and is being modified inplace with grad mode "
        "enabled. Given that this use case is ambiguous "
        "and error-prone, it is forbidden. You can clarify your code by moving both the view and "
        "the inplace either both inside the "
        "no_grad block (if you don't want the inplace to be tracked) or both outside (if you "
        "want the inplace to be tracked).";
    return dync__fail(DYNC_ERR_AUTOGRAD, no_grad);
}

/* A view made without grad mode of what requires a gradient: written in grad mode the base would
 * keep its history, which does not know the write. */
DYNC__FN bool dync__view_is_quiet(const dync__tensor *t)
{
    const dync__grad_meta *meta = dync__grad_meta_peek(t);
    return meta && meta->base && meta->view_kind == DYNC__VIEW_NO_GRAD &&
           dync__tensor_requires_grad(meta->base);
}

/* Views that must not be written, and why: messages as PyTorch words them. */
DYNC__RARE static dync_status dync__view_kind_check(const dync__tensor *self)
{
    static const char multi[] =
        "a view is being modified inplace that is the output of a function that returns multiple "
        "views. Such functions do not allow the "
        "output views to be modified inplace. You should replace the inplace operation by an "
        "out-of-place one.";
    static const char custom[] =
        "a view is being modified inplace that was created inside a custom function. This would "
        "break the gradient that the function "
        "gives. Clone it inside the function.";
    switch (self->grad && self->grad->base ? self->grad->view_kind : DYNC__VIEW_NONE) {
    case DYNC__VIEW_NO_GRAD: return dync__inplace_quiet();
    case DYNC__VIEW_MULTI: return dync__fail(DYNC_ERR_AUTOGRAD, multi);
    case DYNC__VIEW_CUSTOM: return dync__fail(DYNC_ERR_AUTOGRAD, custom);
    default: return DYNC_OK;
    }
}

/* A leaf's gradient is that of the value it was made with, so it must not be overwritten while
 * operators are recorded. viewed: what is written is a view of self. */
DYNC__RARE DYNC__FN dync_status dync__inplace_check(dync__tensor *self, bool viewed)
{
    DYNC__TRY(dync__view_kind_check(self));
    if (!dync__tensor_requires_grad(self)) return DYNC_OK;
    bool of_leaf = self->grad && self->grad->base && dync__tensor_is_leaf(self->grad->base);
    if (!of_leaf && !dync__tensor_is_leaf(self)) return DYNC_OK;
    const dync__grad_intercept *traced = self->flags & DYNC__T_FAKE ? dync__grad_intercepted()
                                                                    : NULL;
    dync_status status;
    if (traced && traced->written && traced->written(of_leaf ? self->grad->base : self, &status))
        return status;
    of_leaf = of_leaf || viewed;
    return dync__fail(DYNC_ERR_AUTOGRAD,
                      "%sa leaf Variable that requires grad is being used in "
                      "an in-place operation. Write it inside of "
                      "DYNC_NO_GRAD, or "
                      "write a dync_clone of it",
                      of_leaf ? "a view of " : "");
}

static void dync__copy_slices_destroy(void *state)
{
    dync__gnode_unref(((dync__geometry *)state)->inner);
}
static void dync__copy_slices_release(void *state)
{
    dync__gnode_release(((dync__geometry *)state)->inner);
}

/* An empty part: the base, which may overlap itself, is what it was. */
static dync_status dync__copy_slices_of_nothing(const dync__geometry *geo, dync__tensor *grad,
                                                int n_in, const bool *needed,
                                                dync__tensor **grad_in)
{
    dync__tensor *none = dync__view_take(dync__grad_zeros(
        dync__view_dims(geo->view.ndim, geo->view.shape), geo->dtype, geo->device));
    if (!none) return dync__view_pending();
    dync_status status = dync__gnode_run(geo->inner, &none, needed, grad_in, !dync__grad_is_off());
    dync__unref(none);
    if (status != DYNC_OK || n_in == 0 || !needed[0]) return status;
    dync__unref(grad_in[0]);
    dync__ref(grad_in[0] = grad);
    return DYNC_OK;
}

/* The gradient of the whole base: that of the written part has gone through the operation, the rest
 * passes. */
static dync_status dync__copy_slices_into(const dync__geometry *geo, dync__tensor *grad, int n_in,
                                          const bool *needed, dync__tensor **grad_in)
{
    dync__view_span span = {0, 0};
    int64_t n = 1;
    if (dync__layout_overlaps_itself(&geo->base))
        DYNC__TRY(dync__numel(geo->view.ndim, geo->view.shape, &n));
    if (!n) return dync__copy_slices_of_nothing(geo, grad, n_in, needed, grad_in);
    dync__view_span_add(&span, &geo->base);
    bool whole = dync__layout_is_contiguous(&geo->base);
    dync_dims shape = dync__view_dims(geo->base.ndim, geo->base.shape),
              flat = dync_shape(span.size);
    dync_tensor *buffer = dync__grad_zeros(whole ? shape : flat, geo->dtype, geo->device);
    dync_tensor *base = whole ? buffer
                              : dync_as_strided(buffer, shape,
                                                dync__view_dims(geo->base.ndim, geo->base.stride),
                                                dync__sz_sub(geo->base.offset, span.low));
    dync__ref(grad);
    if (!dync_copy_(base, dync__give(grad))) return dync__view_pending();
    dync_tensor *part = dync_as_strided(buffer, dync__view_dims(geo->view.ndim, geo->view.shape),
                                        dync__view_dims(geo->view.ndim, geo->view.stride),
                                        dync__sz_sub(geo->view.offset, span.low));
    dync__tensor *part_grad = dync__view_take(dync_clone(part));
    if (!part_grad) return dync__view_pending();
    dync_status status =
        dync__gnode_run(geo->inner, &part_grad, needed, grad_in, !dync__grad_is_off());
    dync__unref(part_grad);
    if (status != DYNC_OK || n_in == 0 || !needed[0]) return status;
    dync__tensor *inner = grad_in[0];
    grad_in[0] = NULL;
    dync_tensor *written = inner ? dync_copy_(part, dync__give(inner)) : dync_zero_(part);
    if (written) grad_in[0] = dync__view_take(base);
    return grad_in[0] ? DYNC_OK : dync__view_pending();
}

/* Node of a base that was written through a view. Edge 0 goes to what the base was before, the
 * others are those of the operation that wrote. */
static dync_status dync__copy_slices_run(void *state, int n_out, dync__tensor *const *grad_out,
                                         int n_in, const bool *needed, dync__tensor **grad_in,
                                         bool create_graph)
{
    (void)n_out, (void)create_graph;
    if (!grad_out[0]) return DYNC_OK;
    return dync__copy_slices_into(state, grad_out[0], n_in, needed, grad_in);
}
static dync_status dync__copy_slices_visit(void *state, dync__gvisitor *v)
{
    DYNC__TRY(dync__as_strided_visit(state, v));
    return dync__gnode_visit(((dync__geometry *)state)->inner, v);
}
static const dync__gnode_class dync__copy_slices_class = {
    DYNC__TEXT("CopySlices"), dync__copy_slices_run, dync__copy_slices_release,
    dync__copy_slices_destroy, dync__copy_slices_visit};

/* Puts CopySlices in front of the base's node, and a node for the view in front of that:
 *
 *   before   base: N        view: of N
 *   after    base: CopySlices(operation) -> N        view: AsStrided -> CopySlices
 *
 * Nothing is attached to the tensors yet; what was made so far is in *out for dync__rebase_drop. */
static dync_status dync__rebase_view(dync__tensor *self, dync__gnode *node, dync__rebasing *out)
{
    dync__tensor *base = self->grad->base;
    if (!dync__grad_meta_of(base)) return DYNC_ERR_MEMORY;
    dync__gnode *slices =
        dync__geometry_node(&dync__copy_slices_class, base, self, DYNC__MAX(node->n_in, 1));
    if (!slices) return DYNC_ERR_MEMORY;
    out->base_node = slices;
    dync__gnode_set_out(slices, 0, base);
    ((dync__geometry *)slices->state)->inner = node;
    ((dync__geometry *)slices->state)->part = dync__slices_take;
    dync__gnode_ref(node);
    node->slices = slices;
    DYNC__TRY(dync__grad_edge(base, &slices->edge[0]));
    for (int i = 1; i < node->n_in; i++) {
        slices->edge[i] = node->edge[i];
        if (node->edge[i].node) dync__gnode_ref(node->edge[i].node);
    }
    return (out->self_node = dync__slices_take(slices, self)) ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* First half of recording a write into self: makes all nodes. May fail, then the tensors are as
 * before. */
DYNC__FN dync_status dync__rebase_prepare(dync__tensor *self, dync__gnode *node,
                                          dync__rebasing *out)
{
    out->self_node = out->base_node = NULL;
    if (!dync__grad_meta_of(self)) return DYNC_ERR_MEMORY;
    if (self->grad->base) return dync__rebase_view(self, node, out);
    dync__gnode_ref(node);
    out->self_node = node;
    return DYNC_OK;
}

/* Second half, after the write: cannot fail. */
DYNC__FN void dync__rebase_commit(dync__tensor *self, dync__rebasing *r)
{
    if (r->base_node) dync__grad_meta_set_node(self->grad->base, r->base_node, 0);
    dync__grad_meta_set_node(self, r->self_node, 0);
    dync__rebase_drop(r);
}

DYNC__FN void dync__rebase_drop(dync__rebasing *r)
{
    dync__gnode_unref(r->self_node);
    dync__gnode_unref(r->base_node);
    r->self_node = r->base_node = NULL;
}
