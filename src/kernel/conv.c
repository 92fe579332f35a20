/* kernel/conv.c: 2-D convolution and its gradients. Before: runtime/run.c; under it: gemm.c.
 *
 *   x [N, C, H, W]  w [O, C/g, KH, KW]  bias [O]  y [N, O, OH, OW]
 *
 * Per image and group the windows are unrolled into columns [C/g KH KW, OH OW] (im2col; Chellapilla
 * et al. 2006), some output rows at a time so that they stay in L2, and
 *
 *   y = w columns
 *   columns' gradient = w^T gy, added back where it came from (col2im)
 *   gw += gy columns^T
 *
 * 1x1 windows without stride or padding need no columns. One channel per group that makes few
 * (depthwise) is computed directly. Work is on dense arrays (operand.c). Images and groups are
 * shared among threads; gw is summed by one thread in order of images, so the thread count does not
 * change the result. */
#include "../dync.in.h"
#include "conv_jit.h"
#include "gemm.h"
#include "conv.h"
DYNC__BESIDE_JIT

/* Sizes only: pointers stay NULL. block is chosen so that the columns of that many output rows
 * take about DYNC__CONV_COLUMNS_BYTES. */
DYNC__FN void dync__conv_open(dync__conv *v, const dync__kcall *call, const dync__operand *x,
                              const dync__operand *w, const dync__operand *y)
{
    const dync__attr_conv *a = &call->attr.conv;
    memset(v, 0, sizeof *v);
    v->call = call;
    v->n = x->lay.shape[0];
    v->c = x->lay.shape[1];
    v->h = x->lay.shape[2];
    v->w = x->lay.shape[3];
    v->o = w->lay.shape[0];
    v->kh = w->lay.shape[2];
    v->kw = w->lay.shape[3];
    v->oh = y->lay.shape[2];
    v->ow = y->lay.shape[3];
    v->sy = a->stride[0];
    v->sx = a->stride[1];
    v->py = a->pad[0];
    v->px = a->pad[1];
    v->dy = a->dilation[0];
    v->dx = a->dilation[1];
    v->groups = a->groups;
    v->gc = v->c / v->groups;
    v->go = v->o / v->groups;
    v->bytes = dync__operand_working(y->dtype) == DYNC_F64 ? 8 : 4;
    v->pointwise = v->kh == 1 && v->kw == 1 && v->sy == 1 && v->sx == 1 && v->py == 0 && v->px == 0;
    v->direct = v->gc == 1 && v->go < 4 && !v->pointwise;
    int64_t row_bytes = DYNC__MAX(v->gc * v->kh * v->kw * v->ow * v->bytes, 1);
    v->block = v->pointwise ? v->oh
                            : DYNC__MAX(1, DYNC__MIN(v->oh, DYNC__CONV_COLUMNS_BYTES / row_bytes));
}

DYNC__FN bool dync__conv_is_pixels(const dync__conv *v)
{
    return v->pointwise && v->h * v->w == 1 && v->groups == 1;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Output indices [*from, *to) whose window element k lies inside [0, size): position = i * stride -
 * pad + k * dilation. */
DYNC__FN void dync__conv_inside(int64_t k, int64_t stride, int64_t pad, int64_t dilation,
                                int64_t size, int64_t out, int64_t *from, int64_t *to)
{
    int64_t first = pad - k * dilation, last = size - 1 + pad - k * dilation;
    if (stride > 1) { /* divisions take longer than a short row */
        first = first <= 0 ? 0 : (first + stride - 1) / stride;
        last = last < 0 ? -1 : last / stride;
    }
    *from = DYNC__MAX(first, 0);
    *to = last < 0 ? 0 : DYNC__MIN(out, last + 1);
    *from = DYNC__MIN(*from, *to);
}

/* columns[(c, ky, kx), (row, ox)] = x[c, iy, ix] or 0; rows [oy, oy + rows) of one group of one
 * image */
#define DYNC__CONV_COLUMNS(T, name)                                                               \
    static void dync__conv_im2col_##name(const dync__conv *v, const T *x, T *columns, int64_t oy, \
                                         int64_t rows)                                            \
    {                                                                                             \
        for (int64_t c = 0; c < v->gc; c++)                                                       \
            for (int64_t ky = 0; ky < v->kh; ky++)                                                \
                for (int64_t kx = 0; kx < v->kw; kx++) {                                          \
                    int64_t from, to;                                                             \
                    dync__conv_inside(kx, v->sx, v->px, v->dx, v->w, v->ow, &from, &to);          \
                    for (int64_t r = 0; r < rows; r++, columns += v->ow) {                        \
                        int64_t iy = (oy + r) * v->sy - v->py + ky * v->dy,                       \
                                ix = from * v->sx - v->px + kx * v->dx;                           \
                        if (iy < 0 || iy >= v->h) {                                               \
                            memset(columns, 0, (size_t)v->ow * sizeof(T));                        \
                            continue;                                                             \
                        }                                                                         \
                        const T *s = x + (c * v->h + iy) * v->w + ix;                             \
                        for (int64_t i = 0; i < from; i++) columns[i] = 0;                        \
                        if (v->sx == 1)                                                           \
                            dync__copy_line(columns + from, s, (size_t)(to - from) * sizeof(T));  \
                        else                                                                      \
                            for (int64_t i = from; i < to; i++)                                   \
                                columns[i] = s[(i - from) * v->sx];                               \
                        for (int64_t i = to; i < v->ow; i++) columns[i] = 0;                      \
                    }                                                                             \
                }                                                                                 \
    }                                                                                             \
    DYNC__FN void dync__conv_col2im_##name(const dync__conv *v, const T *columns, T *x,           \
                                           int64_t oy, int64_t rows)                              \
    {                                                                                             \
        for (int64_t c = 0; c < v->gc; c++)                                                       \
            for (int64_t ky = 0; ky < v->kh; ky++)                                                \
                for (int64_t kx = 0; kx < v->kw; kx++) {                                          \
                    int64_t from, to;                                                             \
                    dync__conv_inside(kx, v->sx, v->px, v->dx, v->w, v->ow, &from, &to);          \
                    for (int64_t r = 0; r < rows; r++, columns += v->ow) {                        \
                        int64_t iy = (oy + r) * v->sy - v->py + ky * v->dy,                       \
                                ix = from * v->sx - v->px + kx * v->dx;                           \
                        if (iy < 0 || iy >= v->h) continue;                                       \
                        T *d = x + (c * v->h + iy) * v->w + ix;                                   \
                        for (int64_t i = from; i < to; i++) d[(i - from) * v->sx] += columns[i];  \
                    }                                                                             \
                }                                                                                 \
    }                                                                                             \
    DYNC__FN void dync__conv_bias_##name(const dync__conv *v, const T *bias, T *y,                \
                                         int64_t channels)                                        \
    {                                                                                             \
        for (int64_t o = 0; o < channels; o++)                                                    \
            for (int64_t i = 0; i < v->oh * v->ow; i++) *y++ = bias ? bias[o] : 0;                \
    }
DYNC__CONV_COLUMNS(float, f)
DYNC__CONV_COLUMNS(double, d)

/* d: c itself, or an element for each row of c (b lies along columns) or column, or NULL. */
DYNC__RARE DYNC__FN void dync__conv_gemm(const dync__conv *v, int64_t m, int64_t n, int64_t k,
                                         const void *a, int64_t ar, int64_t ac, const void *b,
                                         int64_t br, int64_t bc, void *c, int64_t cr, const void *d,
                                         bool rows)
{
    dync__gemm g = {.type = v->bytes == 8 ? DYNC__GT_F64 : DYNC__GT_F32,
                    .m = m,
                    .n = n,
                    .k = k,
                    .a = a,
                    .a_row = ar,
                    .a_col = ac,
                    .b = b,
                    .b_row = br,
                    .b_col = bc,
                    .c = c,
                    .c_row = cr,
                    .c_col = 1,
                    .d = d,
                    .d_row = d == c ? cr : rows,
                    .bias = d && rows};
    dync__gemm_run(&g);
}

/* One pixel an image: the images are the rows of one product. */
DYNC__RARE DYNC__FN void dync__conv_pixels(dync__conv *v)
{
    if (v->y)
        dync__conv_gemm(v, v->n, v->o, v->c, v->x, v->c, 1, v->weight, 1, v->c, v->y, v->o, v->bias,
                        false);
    else
        dync__conv_gemm(v, v->n, v->c, v->o, v->gy, v->o, 1, v->weight, v->c, 1, v->gx, v->c, NULL,
                        false);
    dync__lines_done(v->done, v, 1, 0, v->n * (v->y ? v->o : v->c), 0, 1);
}

DYNC__RARE DYNC__FN void dync__conv_im2col(const dync__conv *v, const void *x, void *columns,
                                           int64_t oy, int64_t rows)
{
    if (v->bytes == 8)
        dync__conv_im2col_d(v, x, columns, oy, rows);
    else
        dync__conv_im2col_f(v, x, columns, oy, rows);
}

DYNC__FN const char *dync__conv_plane(const dync__conv *v, const void *base, int64_t planes,
                                      int64_t plane)
{
    return (const char *)base + planes * plane * v->bytes;
}

DYNC__FN char *dync__conv_out(const dync__conv *v, void *base, int64_t planes, int64_t plane)
{
    return (char *)base + planes * plane * v->bytes;
}
