/* quantize/pool.c: means and sums of I8 in I32. After layers.c.
 *
 * A window counts what it has of the picture, or of the picture with its padding: the divisor may
 * differ from place to place. Padding is the zero point, so that sum (q - zx) over the whole window
 * is that over the picture.
 *
 *   y = sum_i x_i / count = sx ( sum_i qx_i  -  zx k ) / count,   k: elements of a whole window */
#include "../dync.in.h"
#include "quantize.h"
DYNC__COLD

/* A value that is I8 already, of at most 2^23 elements a sum. 2^23 elements of at most 8 bits are
 * 2^31: the sum stays in I32. NULL: no such value. */
static const dync__qvalue *dync__quant_had(const dync__quantizer *z, const dync__arg *a,
                                           int64_t count)
{
    if (!dync__quant_is_real(z, a) || count < 1 || count > 1 << 23) return NULL;
    const dync__qvalue *v = &z->value[a->as.node->index];
    return v->q ? v : NULL;
}

/* (self, dim, keepdim, ...) of mean and sum. No dims: all. */
DYNC__FN bool dync__quant_mean(dync__quantizer *z, const dync__node *n)
{
    const dync__layout *in = n->args[0].kind == DYNC__A_NODE ? &n->args[0].as.node->info[0].lay
                                                             : NULL;
    if ((n->op != DYNC__OP_mean && n->op != DYNC__OP_sum) || !in || n->args[1].kind != DYNC__A_DIMS)
        return false;
    dync_dims d = {n->args[1].n, {0}};
    int64_t count = 1;
    for (int i = 0; i < d.n; i++) {
        d.d[i] = n->args[1].as.dims[i];
        count *= in->shape[d.d[i] < 0 ? d.d[i] + in->ndim : d.d[i]];
    }
    for (int i = 0; d.n == 0 && i < in->ndim; i++) count *= in->shape[i];
    const dync__qvalue *x = dync__quant_had(z, &n->args[0], count);
    if (!x || n->info[0].dtype != DYNC_F32) return false;
    dync_tensor *sums = dync_sum(dync_to_dtype(x->q, DYNC_I32), d, n->args[2].as.i != 0);
    sums = sums ? dync_to_dtype(sums, DYNC_I32) : NULL;
    dync__qscale to = dync__quant_range(z, dync__quant_last(z, n));
    double factor = x->s.scale / to.scale / (n->op == DYNC__OP_mean ? (double)count : 1);
    if (x->s.zero && sums) sums = dync_sub(sums, x->s.zero * count);
    return dync__quant_give(z, n, dync__quant_rescale(z, sums, 1, &factor, 0, to), to);
}

/* ---- windows --------------------------------------------------------------------------------- */

/* Per dim of a picture: windows over the padded values, and what each counts. */
typedef struct dync__qwindows {
    int64_t kernel[2], stride[2], before[2], after[2], places[2];
    int64_t *counts[2];
} dync__qwindows;

/* The factor of each place, or one where all places count the same: *n. NULL: no memory. */
static double *dync__quant_place_factors(dync__quantizer *z, const dync__qwindows *w, double scale,
                                         int *n)
{
    int64_t rows = w->places[0], columns = w->places[1];
    double *factor = dync__arena_alloc(&z->arena, (size_t)(rows * columns + 1) * sizeof *factor);
    bool same = true;
    for (int64_t i = 0; factor && i < rows * columns; i++) {
        int64_t count = w->counts[0][i / columns] * w->counts[1][i % columns];
        same = same && count == w->counts[0][0] * w->counts[1][0];
        factor[i] = scale / (double)count;
    }
    *n = same ? 1 : (int)(rows * columns);
    return factor;
}

/* I32 sums of rank 4 into I8, a factor for each place of the picture. */
static dync_tensor *dync__quant_by_place(dync__quantizer *z, dync_tensor *sums, int n,
                                         const double *factor, const dync__qwindows *w,
                                         dync__qscale to)
{
    if (n == 1 || !sums) return dync__quant_rescale(z, sums, 1, factor, 0, to);
    dync_dims d = dync_shape(-1, dync_size(sums, 1), w->places[0], w->places[1]);
    sums = dync__quant_rescale(z, dync_flatten(sums, 2, 3), n, factor, 2, to);
    return sums ? dync_reshape(sums, d) : NULL;
}

/* Windows of ones: a convolution by channel. q: the picture, of rank 4, with room before and after
 * still to be made. */
static bool dync__quant_window(dync__quantizer *z, const dync__node *n, const dync__qvalue *x,
                               dync_tensor *q, const dync__qwindows *w)
{
    static const int64_t one[4] = {1, 1, 1, 1};
    static const int8_t unit = 1;
    int ndim = n->info[0].lay.ndim, factors;
    int64_t channels = n->info[0].lay.shape[ndim - 3], whole = w->kernel[0] * w->kernel[1];
    dync__qscale to = dync__quant_range(z, dync__quant_last(z, n));
    double *factor = dync__quant_place_factors(z, w, x->s.scale / to.scale, &factors);
    dync_tensor *ones = dync__quant_const(z, DYNC_I8, 4, one, &unit);
    if (!factor || !ones || !q) return dync__quant_give(z, n, NULL, to);
    ones = dync_expand(ones, dync_shape(channels, 1, w->kernel[0], w->kernel[1]));
    if (w->before[0] || w->before[1] || w->after[0] || w->after[1])
        q = dync_pad(q, dync_shape(w->before[1], w->after[1], w->before[0], w->after[0]),
                     x->s.zero);
    q = q && ones ? dync_int_conv2d(q, ones, NULL, dync_shape(w->stride[0], w->stride[1]),
                                    dync_shape(0, 0), dync_shape(1, 1), (int)channels)
                  : NULL;
    if (q && x->s.zero) q = dync_sub(q, x->s.zero * whole);
    q = dync__quant_by_place(z, q, factors, factor, w, to);
    return dync__quant_give(z, n, q ? dync__quant_lowered(q, ndim, false) : NULL, to);
}

/* Fills places and counts of dim i: what a window has of the picture of `size`, with its padding
 * where that counts too. What reaches beyond the padding never counts. False: a window has nothing,
 * or no memory. */
static bool dync__quant_counts(dync__quantizer *z, dync__qwindows *w, int i, int64_t size,
                               int64_t pad, bool padding)
{
    int64_t *count = dync__arena_alloc(&z->arena, (size_t)(w->places[i] + 1) * sizeof *count);
    for (int64_t k = 0; count && k < w->places[i]; k++) {
        int64_t from = k * w->stride[i] - pad, to = DYNC__MIN(from + w->kernel[i], size + pad);
        count[k] = padding ? to - from : DYNC__MIN(to, size) - DYNC__MAX(from, 0);
        if (count[k] < 1) return false;
    }
    int64_t end = (w->places[i] - 1) * w->stride[i] + w->kernel[i];
    w->before[i] = pad;
    w->after[i] = DYNC__MAX(pad, end - size - pad);
    w->counts[i] = count;
    return count != NULL;
}

/* (self, kernel_size, stride, padding, ceil_mode, count_include_pad) */
DYNC__FN bool dync__quant_avg_pool(dync__quantizer *z, const dync__node *n)
{
    if (n->op != DYNC__OP_avg_pool2d || n->args[0].kind != DYNC__A_NODE) return false;
    const dync__layout *in = &n->args[0].as.node->info[0].lay, *out = &n->info[0].lay;
    dync_dims kernel = dync__quant_pair(&n->args[1], 1, false),
              pad = dync__quant_pair(&n->args[3], 0, false), stride = kernel;
    if (n->args[2].n) stride = dync__quant_pair(&n->args[2], 1, false);
    const dync__qvalue *x = dync__quant_had(z, &n->args[0], kernel.d[0] * kernel.d[1]);
    dync__qwindows w = {.kernel = {kernel.d[0], kernel.d[1]}, .stride = {stride.d[0], stride.d[1]}};
    for (int i = 0; i < 2; i++) {
        w.places[i] = out->shape[out->ndim - 2 + i];
        if (!x || w.places[i] < 1 ||
            !dync__quant_counts(z, &w, i, in->shape[in->ndim - 2 + i], pad.d[i],
                                n->args[5].as.i != 0))
            return false;
    }
    return dync__quant_window(z, n, x, dync__quant_lifted(x->q, out->ndim, false), &w);
}

/* ---- windows of different sizes -------------------------------------------------------------- */

/* Window k of n over `size` places: where it begins, how long it is. */
static int64_t dync__quant_begin(int64_t k, int64_t n, int64_t size) { return k * size / n; }
static int64_t dync__quant_long(int64_t k, int64_t n, int64_t size)
{
    return ((k + 1) * size + n - 1) / n - dync__quant_begin(k, n, size);
}

/* The windows of a dim of q beside each other, each as long as the longest; what a shorter one
 * lacks is the place behind the last. NULL: no memory. */
static dync_tensor *dync__quant_apart(dync__quantizer *z, dync_tensor *q, const dync__qwindows *w,
                                      int i, int64_t size)
{
    int64_t n = w->places[i] * w->kernel[i],
            *at = dync__arena_alloc(&z->arena, (size_t)(n + 1) * sizeof *at);
    for (int64_t k = 0; at && k < n; k++) {
        int64_t of = k / w->kernel[i], into = k % w->kernel[i];
        at[k] = into < w->counts[i][of] ? dync__quant_begin(of, w->places[i], size) + into : size;
    }
    dync_tensor *index = at ? dync__quant_const(z, DYNC_I64, 1, &n, at) : NULL;
    return q && index ? dync_index_select(q, 2 + i, index) : NULL;
}

/* Windows of one size side by side, or any: those are copied apart first. */
DYNC__FN bool dync__quant_adaptive_pool(dync__quantizer *z, const dync__node *n)
{
    if (n->op != DYNC__OP_adaptive_avg_pool2d || n->args[0].kind != DYNC__A_NODE) return false;
    const dync__layout *in = &n->args[0].as.node->info[0].lay, *out = &n->info[0].lay;
    dync__qwindows w = {0};
    bool apart = false;
    const int64_t *size = in->shape + in->ndim - 2;
    for (int i = 0; i < 2; i++) {
        w.places[i] = out->shape[out->ndim - 2 + i];
        if (w.places[i] < 1) return false;
        apart = apart || size[i] % w.places[i] != 0;
        w.counts[i] = dync__arena_alloc(&z->arena, (size_t)w.places[i] * sizeof *w.counts[i]);
        for (int64_t k = 0; w.counts[i] && k < w.places[i]; k++) {
            w.counts[i][k] = dync__quant_long(k, w.places[i], size[i]);
            w.kernel[i] = w.stride[i] = DYNC__MAX(w.kernel[i], w.counts[i][k]);
        }
    }
    const dync__qvalue *x = dync__quant_had(z, &n->args[0], w.kernel[0] * w.kernel[1]);
    if (!x || !w.counts[0] || !w.counts[1]) return false;
    dync_tensor *q = dync__quant_lifted(x->q, out->ndim, false);
    if (apart && q) q = dync_pad(q, dync_shape(0, 1, 0, 1), x->s.zero);
    for (int i = 0; apart && i < 2; i++) q = dync__quant_apart(z, q, &w, i, size[i]);
    return dync__quant_window(z, n, x, q, &w);
}
