/* autograd/grads_view.c: gradient rules of views and of operators that move elements. After
 * grads.c; see there.
 *
 * Such an operator copies elements, so its gradient goes the way back: an element that was copied
 * to several places gets the sum of their gradients, one that was left out gets 0.
 *
 *   view           reads              its gradient writes
 *   x[1]           one row            gy into row 1 of zeros      (select_backward)
 *   expand         each many times    their sum                   (dync__grad_set)
 *   gather         by an index        scatter_add */
#include "../dync.in.h"
#include "grads.h"
DYNC__COLD

/* ---- views ----------------------------------------------------------------------------------- */

/* summed by dync__grad_set */
DYNC__FN dync_status dync__g_expand(dync__grad *g) { return dync__grads_set(g, dync__grads_gy(g)); }
/* Also of reshape, flatten and all that keep the order of elements. */
DYNC__FN dync_status dync__g_view(dync__grad *g)
{
    return dync__grads_set(g, dync_reshape(dync__grads_gy(g), dync__ga_shape(g, 0)));
}
DYNC__FN dync_status dync__g_squeeze(dync__grad *g) { return dync__g_view(g); }
DYNC__FN dync_status dync__g_t(dync__grad *g)
{
    return dync__grads_set(g, dync_t(dync__grads_gy(g)));
}

/* A dim of the output may be negative; it counts in gy as it did in the call. */
DYNC__FN dync_status dync__g_unsqueeze(dync__grad *g)
{
    return dync__grads_set(g, dync_squeeze(dync__grads_gy(g), (int)dync__ga_int(g, 1)));
}
DYNC__FN dync_status dync__g_transpose(dync__grad *g)
{
    return dync__grads_set(
        g, dync_transpose(dync__grads_gy(g), (int)dync__ga_int(g, 1), (int)dync__ga_int(g, 2)));
}

/* By the inverse: dim d of the argument is dim back[d] of gy. Example: dims (2, 0, 1), back (1, 2,
 * 0). */
DYNC__FN dync_status dync__g_permute(dync__grad *g)
{
    dync_dims dims = dync__ga_dims(g, 1), back = {0};
    back.n = dims.n;
    for (int i = 0; i < dims.n; i++) {
        int64_t d = dims.d[i] < 0 ? dims.d[i] + dims.n : dims.d[i];
        if (d >= 0 && d < DYNC_MAX_DIMS) back.d[d] = i;
    }
    return dync__grads_set(g, dync_permute(dync__grads_gy(g), back));
}

/* The layouts of argument 0 and of the window into it that the arguments from `first` on name. */
static void dync__g_window(dync__grad *g, int first, dync__layout *base, dync__layout *view)
{
    dync_dims size = dync__ga_dims(g, first), stride = dync__ga_dims(g, first + 1);
    *base = dync__grad_layout(g, 0);
    *view = (dync__layout){.ndim = size.n, .offset = dync__ga_int(g, first + 2)};
    memcpy(view->shape, size.d, sizeof view->shape);
    memcpy(view->stride, stride.d, sizeof view->stride);
    if (!(g->call->row->flags & DYNC__OP_BEYOND)) base->offset = 0;
    for (int k = 0; k < 2; k++) dync__layout_number(k ? view : base);
}

/* A window may show an element many times, and need not show all: view.c has the general case. */
DYNC__FN dync_status dync__g_as_strided(dync__grad *g)
{
    dync__layout base, view;
    dync__g_window(g, 1, &base, &view);
    return dync__grads_set(g, dync__as_strided_backward(dync__grads_gy(g), &base, &view,
                                                        dync__grad_dtype(g, 0),
                                                        dync__grad_device(g, 0)));
}

/* y is argument 0 with argument 1 written into the window: argument 0's gradient is gy with a hole
 * there, argument 1's is what gy has in the window. */
DYNC__FN dync_status dync__g_as_strided_scatter(dync__grad *g)
{
    dync__layout base, view;
    dync_tensor *gy = dync__grads_gy(g);
    int device = dync__grad_device(g, 0);
    dync__g_window(g, 2, &base, &view);
    dync_tensor *hole =
        dync__as_strided_backward(dync_ones(dync__ga_dims(g, 2), .device = (dync_device)device),
                                  &base, &view, DYNC_F32, device);
    DYNC__TRY(dync__ga_set(g, 0, dync_masked_fill(gy, dync_ne(hole, 0), 0)));
    if (!dync__ga_needed(g, 1)) return DYNC_OK;
    return dync__ga_set(g, 1,
                        dync__strided_transfer(gy, &view, &base, dync__grad_dtype(g, 1), device));
}

/* view_backward rows: the gradient, the sizes before the view, then the view's own arguments from
 * place 1 of the view on. */
static dync_tensor *dync__g_view_backward(dync__grad *g, int op)
{
    dync__arg args[DYNC__MAX_ARGS];
    dync_dims shape = dync__ga_shape(g, 0);
    args[0] = dync__arg_h(dync__grads_gy(g));
    args[1] = dync__arg_dims(shape.n, shape.d);
    for (int i = 1; i < g->call->nargs; i++) args[i + 1] = g->call->args[i];
    return dync__g_call(op, g->call->nargs + 1, args);
}
DYNC__FN dync_status dync__g_select(dync__grad *g)
{
    return dync__grads_set(g, dync__g_view_backward(g, DYNC__USED(DYNC__OP_select_backward)));
}
DYNC__FN dync_status dync__g_slice(dync__grad *g)
{
    return dync__grads_set(g, dync__g_view_backward(g, DYNC__USED(DYNC__OP_slice_backward)));
}
DYNC__FN dync_status dync__g_diagonal(dync__grad *g)
{
    return dync__grads_set(g, dync__g_view_backward(g, DYNC__USED(DYNC__OP_diagonal_backward)));
}

/* Second gradients: select_backward is linear in gy, and the gradient of placing a row is taking it
 * out. */
DYNC__FN dync_status dync__g_select_backward(dync__grad *g)
{
    return dync__grads_set(
        g, dync_select(dync__grads_gy(g), (int)dync__ga_int(g, 2), dync__ga_int(g, 3)));
}

DYNC__FN dync_status dync__g_slice_backward(dync__grad *g)
{
    return dync__grads_set(g,
                           dync_slice(dync__grads_gy(g), (int)dync__ga_int(g, 2),
                                      dync__ga_int(g, 3), dync__ga_int(g, 4), dync__ga_int(g, 5)));
}

DYNC__FN dync_status dync__g_diagonal_backward(dync__grad *g)
{
    return dync__grads_set(g, dync_diagonal(dync__grads_gy(g), (int)dync__ga_int(g, 2),
                                            (int)dync__ga_int(g, 3), (int)dync__ga_int(g, 4)));
}

/* ---- moves ----------------------------------------------------------------------------------- */

DYNC__FN dync_status dync__g_flip(dync__grad *g)
{
    return dync__grads_set(g, dync_flip(dync__grads_gy(g), dync__ga_dims(g, 1)));
}
/* What undoes shift i: without dims, of all elements; the least number has no negative. */
static int64_t dync__g_unrolled(const dync__grad *g, const dync_dims *shifts, const dync_dims *dims,
                                int i)
{
    dync_dims shape = dync__ga_shape(g, 0);
    int dim = 0;
    int64_t size = 1;
    if (dync__is_token(shifts->d[i])) return dync__sz_sub(0, shifts->d[i]);
    if (shifts->d[i] != INT64_MIN) return -shifts->d[i];
    if (dims->n && dync__dim_wrap((int)dims->d[i], shape.n, &dim) == DYNC_OK) size = shape.d[dim];
    for (int d = 0; d < shape.n && !dims->n; d++) size = dync__sz_mul(size, shape.d[d]);
    size = dync__sz_number(size);
    return size ? -(shifts->d[i] % size) : 0;
}
/* Rolled back, dim after dim from the last one. */
DYNC__FN dync_status dync__g_roll(dync__grad *g)
{
    dync_dims shifts = dync__ga_dims(g, 1), dims = dync__ga_dims(g, 2), back = shifts, order = dims;
    for (int i = 0; i < shifts.n; i++)
        back.d[shifts.n - 1 - i] = dync__g_unrolled(g, &shifts, &dims, i);
    for (int i = 0; i < dims.n; i++) order.d[dims.n - 1 - i] = dims.d[i];
    return dync__grads_set(g, dync_roll(dync__grads_gy(g), back, order));
}
/* What was set to 0 has no gradient. */
DYNC__FN dync_status dync__g_tril(dync__grad *g)
{
    return dync__grads_set(g, dync_tril(dync__grads_gy(g), (int)dync__ga_int(g, 1)));
}
DYNC__FN dync_status dync__g_triu(dync__grad *g)
{
    return dync__grads_set(g, dync_triu(dync__grads_gy(g), (int)dync__ga_int(g, 1)));
}

/* Each tensor gets its slice. A 1-dim tensor of no elements may stand among others and has no
 * part. */
DYNC__FN dync_status dync__g_cat(dync__grad *g)
{
    int dim = (int)dync__ga_int(g, 1);
    int64_t from = 0;
    const dync__tensor *gy = dync__open(dync__grads_gy(g));
    if (!gy) return DYNC_ERR_INTERNAL;
    if (dim < 0) dim += gy->lay.ndim;
    for (int i = 0; i < g->n_in; i++) {
        dync_dims shape = dync__grad_shape(g, i);
        bool skipped = shape.n == 1 && shape.d[0] == 0 && gy->lay.ndim != 1;
        int64_t size = skipped ? 0 : shape.d[dim];
        if (g->needed[i]) {
            dync_tensor *h =
                skipped ? dync__grad_zeros(shape, dync__grad_dtype(g, i), dync__grad_device(g, i))
                        : dync_slice(dync__grads_gy(g), dim, from, dync__sz_add(from, size), 1);
            DYNC__TRY(dync__grad_set(g, i, h));
        }
        from = dync__sz_add(from, size);
    }
    return DYNC_OK;
}

/* Zeros with argument 0's form, to add gradients into. */
static dync_tensor *dync__g_zeros_of_self(dync__grad *g)
{
    return dync__grad_zeros(dync__ga_shape(g, 0), dync__grad_dtype(g, 0), dync__grad_device(g, 0));
}

/* y[i] = x[index[i]]: each gy[i] is added to its place in zeros. */
DYNC__FN dync_status dync__g_gather(dync__grad *g)
{
    return dync__grads_set(g, dync_scatter_add(dync__g_zeros_of_self(g), (int)dync__ga_int(g, 1),
                                               dync__ga_tensor(g, 2), dync__grads_gy(g)));
}

DYNC__FN dync_status dync__g_index_select(dync__grad *g)
{
    return dync__grads_set(g, dync_index_add(dync__g_zeros_of_self(g), (int)dync__ga_int(g, 1),
                                             dync__ga_tensor(g, 2), dync__grads_gy(g)));
}

/* y = x with src's rows added at the index: each row of src gets the row of gy that it was added
 * to. */
DYNC__FN dync_status dync__g_index_add(dync__grad *g)
{
    DYNC__TRY(dync__ga_set(g, 0, dync__grads_gy(g)));
    if (!dync__ga_needed(g, 3)) return DYNC_OK;
    return dync__ga_set(
        g, 3, dync_index_select(dync__grads_gy(g), (int)dync__ga_int(g, 1), dync__ga_tensor(g, 2)));
}

/* Elements of x that were overwritten have no gradient. Where the index names a place twice, one of
 * the values won; the gradient goes to all of them, as in PyTorch. */
DYNC__FN dync_status dync__g_scatter(dync__grad *g)
{
    dync_tensor *gy = dync__grads_gy(g), *index = dync__ga_tensor(g, 2);
    int dim = (int)dync__ga_int(g, 1);
    if (dync__ga_needed(g, 0)) DYNC__TRY(dync__ga_set(g, 0, dync_scatter(gy, dim, index, 0)));
    return dync__ga_needed(g, 3) ? dync__ga_set(g, 3, dync_gather(gy, dim, index)) : DYNC_OK;
}

/* Nothing of x is lost, so all of gy is its gradient. */
DYNC__FN dync_status dync__g_scatter_add(dync__grad *g)
{
    DYNC__TRY(dync__ga_set(g, 0, dync__grads_gy(g)));
    if (!dync__ga_needed(g, 3)) return DYNC_OK;
    return dync__ga_set(
        g, 3, dync_gather(dync__grads_gy(g), (int)dync__ga_int(g, 1), dync__ga_tensor(g, 2)));
}
