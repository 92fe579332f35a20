/* autograd/grads_reduce.c: gradient rules of reductions, scans and matrix products. After grads.c;
 * see there.
 *
 * A gradient of a reduction has the reduced form; dync__g_keep gives it the reduced dims back as
 * size 1, so that it broadcasts against the argument:
 *
 *   x [2, 3, 4]    sum over dim 1 -> gy [2, 4]    kept: [2, 1, 4]    expanded: [2, 3, 4] */
#include "../dync.in.h"
#include "grads.h"
DYNC__LEAN

/* ---- what a reduction did -------------------------------------------------------------------- */

/* reduced[d]: dim d of a tensor of n dims was reduced; none named: all. */
static void dync__g_reduced(dync_dims dims, int n, bool *reduced)
{
    for (int d = 0; d < n; d++) reduced[d] = dims.n == 0;
    for (int i = 0; i < dims.n; i++) {
        int64_t d = dims.d[i] < 0 ? dims.d[i] + n : dims.d[i];
        if (d >= 0 && d < n) reduced[d] = true;
    }
}

DYNC__FN dync_tensor *dync__g_keep(dync_tensor *h, dync_dims dims, bool keepdim, dync_dims shape)
{
    bool reduced[DYNC_MAX_DIMS];
    if (keepdim || dims.n == 0) return h; /* 0-dim: expands to anything */
    dync__g_reduced(dims, shape.n, reduced);
    for (int d = 0; d < shape.n; d++)
        if (!reduced[d])
            continue;
        else if (DYNC__SMALLER(true, false))
            shape.d[d] = 1;
        else
            h = dync_unsqueeze(h, d);
    return DYNC__SMALLER(dync_reshape(h, shape), h); /* by what small programs have anyway */
}

/* May be symbolic: a number of the traced sizes. */
DYNC__FN double dync__g_count(dync_dims dims, dync_dims shape)
{
    bool reduced[DYNC_MAX_DIMS];
    int64_t n = 1;
    dync__g_reduced(dims, shape.n, reduced);
    for (int d = 0; d < shape.n; d++)
        if (reduced[d]) n = dync__sz_mul(n, shape.d[d]);
    return dync__sf_of(n);
}

static dync_dims dync__g_dim(int64_t dim)
{
    dync_dims dims = {1, {dim}};
    return dims;
}

static bool dync__g_flag(const dync__grad *g, int place) { return dync__ga_int(g, place) != 0; }

/* ---- sums ------------------------------------------------------------------------------------ */

/* gy in the form of the argument, each of its values at all elements that it came from. */
static dync_tensor *dync__g_spread(dync__grad *g)
{
    dync_dims shape = dync__ga_shape(g, 0);
    dync_tensor *h =
        dync__g_keep(dync__grads_gy(g), dync__ga_dims(g, 1), dync__g_flag(g, 2), shape);
    return dync_expand(h, shape);
}

DYNC__FN dync_status dync__g_sum(dync__grad *g) { return dync__grads_set(g, dync__g_spread(g)); }

/* The sum's gradient, divided by the number of elements of each mean. */
DYNC__FN dync_status dync__g_mean(dync__grad *g)
{
    return dync__grads_set(
        g, dync_div(dync__g_spread(g), dync__g_count(dync__ga_dims(g, 1), dync__ga_shape(g, 0))));
}

/* x moved by `by` places along dim, ones in front. */
static dync_tensor *dync__g_moved(dync_tensor *x, int dim, int64_t n, int64_t by)
{
    dync_value parts[2] = {dync_v_tensor(dync_ones_like(dync_narrow(x, dim, 0, by))),
                           dync_v_tensor(dync_narrow(x, dim, 0, n - by))};
    return dync_cat(dync_tuple_of(2, parts), dim);
}

/* For each place of dim the product of those before it, in as many steps as the size has bits. */
static dync_tensor *dync__g_before(dync_tensor *x, int dim, int64_t n)
{
    dync_tensor *y = dync__g_moved(x, dim, n, 1);
    for (int64_t step = 1; step < n; step *= 2) y = dync_mul(y, dync__g_moved(y, dim, n, step));
    return y;
}

/* The product of all other places, by multiplications alone: right in gradients of any order,
 * whatever is zero. */
static dync_tensor *dync__g_others(dync_tensor *x, dync_dims shape, const bool *reduced)
{
    dync_tensor *all = NULL, *inner = x;
    for (int d = shape.n - 1; d >= 0; d--) {
        if (!reduced[d]) continue;
        int64_t n = dync__sz_number(shape.d[d]);
        dync_tensor *others =
            n == 0 ? inner
                   : dync_mul(dync__g_before(inner, d, n),
                              dync_flip(dync__g_before(dync_flip(inner, dync__g_dim(d)), d, n),
                                        dync__g_dim(d)));
        all = all ? dync_mul(all, others) : others;
        inner = dync_prod(inner, dync__g_dim(d), true);
    }
    return all;
}

/* Where nothing is zero: gy y / x. A zero stands out: its factor is the product of the others, and
 * the others' is zero. */
static dync_tensor *dync__g_prod_by_quotients(dync__grad *g, dync_tensor *x, dync_dims shape,
                                              const bool *reduced)
{
    dync_dims dims = dync__ga_dims(g, 1);
    dync_tensor *y = dync__g_keep(dync__grads_y(g), dims, dync__g_flag(g, 2), shape),
                *zero = dync_eq(x, 0);
    dync_tensor *safe = dync_masked_fill(x, zero, 1), *zeros = dync_sum(zero, dims, true),
                *others = safe;
    for (int d = 0; d < shape.n; d++)
        if (reduced[d]) others = dync_prod(others, dync__g_dim(d), true);
    return dync_where(zero, dync_where(dync_eq(zeros, 1), others, 0), dync_div(y, safe));
}

/* Two forms: the cheap one by quotients, whose own gradient would be wrong at zeros, and one by
 * multiplications alone where the walk is recorded. */
DYNC__FN dync_status dync__g_prod(dync__grad *g)
{
    dync_dims shape = dync__ga_shape(g, 0);
    dync_tensor *x = dync__grads_x(g), *gy = dync__g_keep(dync__grads_gy(g), dync__ga_dims(g, 1),
                                                          dync__g_flag(g, 2), shape);
    bool reduced[DYNC_MAX_DIMS], again = !dync__grad_is_off() && shape.n > 0;
    dync__g_reduced(dync__ga_dims(g, 1), shape.n, reduced);
    return dync__grads_set(g,
                           dync_mul(gy, again ? dync__g_others(x, shape, reduced)
                                              : dync__g_prod_by_quotients(g, x, shape, reduced)));
}

/* 2 / (n - correction) gy (x - mean); of fewer elements than corrected for infinite, but where x
 * is the mean, as in PyTorch. */
static dync_tensor *dync__g_var_of(dync__grad *g, dync_tensor *gy)
{
    dync_dims dims = dync__ga_dims(g, 1), shape = dync__ga_shape(g, 0);
    dync_tensor *x = dync__grads_x(g);
    dync_tensor *mean = dync_mean(x, dims, true);
    double n = dync__sf(DYNC__SF_SUB, dync__g_count(dims, shape), dync__ga_float(g, 2));
    if (n <= 0 && !dync__is_sf(dync__sf_bits(n)))
        return dync_mul(gy, dync_where(dync_eq(x, mean), (double)NAN, HUGE_VAL));
    return dync_mul(dync_mul(gy, dync__sf(DYNC__SF_DIV, 2, n)), dync_sub(x, mean));
}

DYNC__FN dync_status dync__g_var(dync__grad *g)
{
    return dync__grads_set(
        g, dync__g_var_of(g, dync__g_keep(dync__grads_gy(g), dync__ga_dims(g, 1),
                                          dync__g_flag(g, 3), dync__ga_shape(g, 0))));
}

/* y = sqrt(var): the variance's gradient is gy / (2 y), and 0 where all elements are equal. */
DYNC__FN dync_status dync__g_std(dync__grad *g)
{
    dync_tensor *y = dync__grads_y(g),
                *gv =
                    dync_masked_fill(dync_div(dync__grads_gy(g), dync_mul(y, 2)), dync_eq(y, 0), 0);
    return dync__grads_set(
        g, dync__g_var_of(
               g, dync__g_keep(gv, dync__ga_dims(g, 1), dync__g_flag(g, 3), dync__ga_shape(g, 0))));
}

/* ---- extremes, sorting ----------------------------------------------------------------------- */

/* amax, amin: equal ones share. */
DYNC__FN dync_status dync__g_amax(dync__grad *g)
{
    dync_dims dims = dync__ga_dims(g, 1), shape = dync__ga_shape(g, 0);
    bool keepdim = dync__g_flag(g, 2);
    dync_tensor *gy = dync__g_keep(dync__grads_gy(g), dims, keepdim, shape),
                *y = dync__g_keep(dync__grads_y(g), dims, keepdim, shape);
    dync_tensor *best =
        dync_to_dtype(dync_eq(dync__grads_x(g), y), (dync_dtype)dync__grad_dtype(g, 0));
    return dync__grads_set(g, dync_div(dync_mul(gy, best), dync_sum(best, dims, true)));
}

/* max, min of all elements: equal ones share, and where the result is NaN, those that are NaN. */
DYNC__FN dync_status dync__g_max(dync__grad *g)
{
    dync_tensor *x = dync__grads_x(g);
    dync_tensor *best = dync_to_dtype(dync_logical_or(dync_eq(x, dync__grads_y(g)), dync_isnan(x)),
                                      (dync_dtype)dync__grad_dtype(g, 0));
    return dync__grads_set(
        g, dync_mul(best, dync_div(dync__grads_gy(g), dync_sum(best, DYNC_ALL, false))));
}

/* Zeros with the form of argument i. */
static dync_tensor *dync__g_zeros_of_arg(dync__grad *g, int i)
{
    return dync__grad_zeros(dync__grad_shape(g, i), dync__grad_dtype(g, i),
                            dync__grad_device(g, i));
}

/* max_dim, min_dim: to the place that was chosen. */
DYNC__FN dync_status dync__g_max_dim(dync__grad *g)
{
    int dim = (int)dync__ga_int(g, 1);
    dync_tensor *gy = dync__grads_gy(g), *index = dync__grad_output(g, 1);
    if (!gy || dync__ga_shape(g, 0).n == 0) return gy ? dync__grads_set(g, gy) : DYNC_OK;
    if (!dync__g_flag(g, 2)) {
        gy = dync_unsqueeze(gy, dim < 0 ? dim + dync__ga_shape(g, 0).n : dim);
        index = dync_unsqueeze(index, dim < 0 ? dim + dync__ga_shape(g, 0).n : dim);
    }
    return dync__grads_set(g, dync_scatter(dync__g_zeros_of_arg(g, 0), dim, index, gy));
}

/* sort, topk: output 1 says where each value came from, so gy is scattered back there. Places are
 * unique, nothing needs adding. */
static dync_status dync__g_sorted(dync__grad *g, int dim_arg)
{
    dync_tensor *gy = dync__grads_gy(g);
    if (!gy || dync__ga_shape(g, 0).n == 0) return gy ? dync__grads_set(g, gy) : DYNC_OK;
    return dync__grads_set(g,
                           dync_scatter(dync__g_zeros_of_arg(g, 0), (int)dync__ga_int(g, dim_arg),
                                        dync__grad_output(g, 1), gy));
}
DYNC__FN dync_status dync__g_sort(dync__grad *g) { return dync__g_sorted(g, 1); }
DYNC__FN dync_status dync__g_topk(dync__grad *g) { return dync__g_sorted(g, 2); }

/* ---- along a dim ----------------------------------------------------------------------------- */

/* x[i] is in all sums from i on, so gx[i] is the sum of gy from i on: a cumsum from the other
 * end. */
DYNC__FN dync_status dync__g_cumsum(dync__grad *g)
{
    int dim = (int)dync__ga_int(g, 1);
    if (dync__ga_shape(g, 0).n == 0) return dync__grads_set(g, dync__grads_gy(g));
    return dync__grads_set(
        g, dync_flip(dync_cumsum(dync_flip(dync__grads_gy(g), dync__g_dim(dim)), dim),
                     dync__g_dim(dim)));
}

/* Along dim (argument 1), kept as size 1; a 0-dim tensor is its own sum. */
static dync_tensor *dync__g_sum_dim(dync__grad *g, dync_tensor *h)
{
    return dync__ga_shape(g, 0).n ? dync_sum(h, dync__g_dim(dync__ga_int(g, 1)), true) : h;
}

/* gx = y (gy - sum(gy y)). */
DYNC__FN dync_status dync__g_softmax(dync__grad *g)
{
    dync_tensor *y = dync__g_wide(dync__grads_y(g)), *gy = dync__g_wide(dync__grads_gy(g));
    return dync__grads_set(g, dync_mul(y, dync_sub(gy, dync__g_sum_dim(g, dync_mul(gy, y)))));
}

/* gx = gy - softmax(x) sum(gy), and softmax(x) = exp(y). */
DYNC__FN dync_status dync__g_log_softmax(dync__grad *g)
{
    dync_tensor *gy = dync__g_wide(dync__grads_gy(g)), *y = dync__g_wide(dync__grads_y(g));
    return dync__grads_set(g, dync_sub(gy, dync_mul(dync_exp(y), dync__g_sum_dim(g, gy))));
}

/* A result of -inf or inf takes part with weight exp(x - y), kept from being NaN. */
DYNC__FN dync_status dync__g_logsumexp(dync__grad *g)
{
    dync_dims dims = dync__ga_dims(g, 1), shape = dync__ga_shape(g, 0);
    bool keepdim = dync__g_flag(g, 2);
    dync_tensor *gy = dync__g_keep(dync__grads_gy(g), dims, keepdim, shape),
                *y = dync__g_keep(dync__grads_y(g), dims, keepdim, shape);
    return dync__grads_set(g, dync_mul(gy, dync_exp(dync_sub(dync__grads_x(g), y))));
}

/* ---- matrices -------------------------------------------------------------------------------- */

/* Does the argument lie column by column, as the transpose of a weight does? Then products are
 * formed the other way round, so that its gradient lies like it. */
static bool dync__g_by_columns(const dync__grad *g, int i)
{
    dync__layout lay = dync__grad_layout(g, i);
    return lay.stride[0] == 1 && dync__sz_eq(lay.stride[1], lay.shape[0]);
}

/* Of left @ right: gy right^T, in the layout of left. */
static dync_tensor *dync__g_mm_left(dync__grad *g, int left, dync_tensor *gy, dync_tensor *right)
{
    return dync__g_by_columns(g, left) ? dync_t(dync_mm(right, dync_t(gy)))
                                       : dync_mm(gy, dync_t(right));
}

/* Of left @ right: left^T gy, in the layout of right. */
static dync_tensor *dync__g_mm_right(dync__grad *g, int right, dync_tensor *gy, dync_tensor *left)
{
    return dync__g_by_columns(g, right) ? dync_t(dync_mm(dync_t(gy), left))
                                        : dync_mm(dync_t(left), gy);
}

DYNC__FN dync_status dync__g_mm(dync__grad *g)
{
    dync_tensor *gy = dync__grads_gy(g);
    if (dync__ga_needed(g, 0))
        DYNC__TRY(dync__ga_set(g, 0, dync__g_mm_left(g, 0, gy, dync__ga_tensor(g, 1))));
    return dync__ga_needed(g, 1)
               ? dync__ga_set(g, 1, dync__g_mm_right(g, 1, gy, dync__ga_tensor(g, 0)))
               : DYNC_OK;
}

/* y = bias + a b; the bias may be broadcast over the rows. */
DYNC__FN dync_status dync__g_addmm(dync__grad *g)
{
    dync_tensor *gy = dync__grads_gy(g);
    if (dync__ga_needed(g, 1))
        DYNC__TRY(dync__ga_set(g, 1, dync__g_mm_left(g, 1, gy, dync__ga_tensor(g, 2))));
    if (dync__ga_needed(g, 2))
        DYNC__TRY(dync__ga_set(g, 2, dync__g_mm_right(g, 2, gy, dync__ga_tensor(g, 1))));
    return dync__ga_set(g, 0, gy);
}

/* mm for each matrix of the batch. */
DYNC__FN dync_status dync__g_bmm(dync__grad *g)
{
    dync_tensor *gy = dync__grads_gy(g);
    if (dync__ga_needed(g, 0))
        DYNC__TRY(dync__ga_set(g, 0, dync_bmm(gy, dync_transpose(dync__ga_tensor(g, 1), 1, 2))));
    return dync__ga_needed(g, 1)
               ? dync__ga_set(g, 1, dync_bmm(dync_transpose(dync__ga_tensor(g, 0), 1, 2), gy))
               : DYNC_OK;
}

/* gy is a 0-dim tensor. */
DYNC__FN dync_status dync__g_dot(dync__grad *g)
{
    dync_tensor *gy = dync__grads_gy(g);
    if (dync__ga_needed(g, 0)) DYNC__TRY(dync__ga_set(g, 0, dync_mul(gy, dync__ga_tensor(g, 1))));
    return dync__ga_needed(g, 1) ? dync__ga_set(g, 1, dync_mul(gy, dync__ga_tensor(g, 0)))
                                 : DYNC_OK;
}

/* y = A v: gA[i][j] = gy[i] v[j], gv = A^T gy. */
DYNC__FN dync_status dync__g_mv(dync__grad *g)
{
    dync_tensor *gy = dync__grads_gy(g);
    if (dync__ga_needed(g, 0)) DYNC__TRY(dync__ga_set(g, 0, dync_outer(gy, dync__ga_tensor(g, 1))));
    return dync__ga_needed(g, 1) ? dync__ga_set(g, 1, dync_mv(dync_t(dync__ga_tensor(g, 0)), gy))
                                 : DYNC_OK;
}
