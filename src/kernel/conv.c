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
DYNC__BESIDE_JIT

typedef struct dync__conv {
    /* x [n, c, h, w], o output channels of oh by ow pixels, windows kh by kw; s stride, p padding,
     * d dilation, down (y) and across (x); gc, go: input and output channels of a group */
    int64_t n, c, h, w, o, oh, ow, kh, kw, sy, sx, py, px, dy, dx, groups, gc, go;
    int64_t block, bytes;   /* output rows unrolled at a time; of an element */
    bool pointwise, direct; /* the columns are the input itself; there are none */
    const void *x, *weight, *bias, *gy;
    void *y, *gx, *gw; /* the one that is not NULL is what is computed */
    const dync__kcall *call;
    void *const *data;  /* of the call */
    dync__done_fn done; /* runs the epilogue on finished rows; NULL: not by rows */
    dync_status status; /* of a part or the epilogue, in whichever thread */
} dync__conv;

/* Sizes only: pointers stay NULL. block is chosen so that the columns of that many output rows
 * take about DYNC__CONV_COLUMNS_BYTES. */
static void dync__conv_open(dync__conv *v, const dync__kcall *call, const dync__operand *x,
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

static bool dync__conv_is_pixels(const dync__conv *v)
{
    return v->pointwise && v->h * v->w == 1 && v->groups == 1;
}

enum { DYNC__CONV_Y, DYNC__CONV_GX, DYNC__CONV_GW };

/* ---- columns --------------------------------------------------------------------------------- */

/* Output indices [*from, *to) whose window element k lies inside [0, size): position = i * stride -
 * pad + k * dilation. */
static void dync__conv_inside(int64_t k, int64_t stride, int64_t pad, int64_t dilation,
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
#define DYNC__CONV_COLUMNS(T, name)                                                                \
    static void dync__conv_im2col_##name(const dync__conv *v, const T *x, T *columns, int64_t oy,  \
                                         int64_t rows)                                             \
    {                                                                                              \
        for (int64_t c = 0; c < v->gc; c++)                                                        \
            for (int64_t ky = 0; ky < v->kh; ky++)                                                 \
                for (int64_t kx = 0; kx < v->kw; kx++) {                                           \
                    int64_t from, to;                                                              \
                    dync__conv_inside(kx, v->sx, v->px, v->dx, v->w, v->ow, &from, &to);           \
                    for (int64_t r = 0; r < rows; r++, columns += v->ow) {                         \
                        int64_t iy = (oy + r) * v->sy - v->py + ky * v->dy,                        \
                                ix = from * v->sx - v->px + kx * v->dx;                            \
                        if (iy < 0 || iy >= v->h) {                                                \
                            memset(columns, 0, (size_t)v->ow * sizeof(T));                         \
                            continue;                                                              \
                        }                                                                          \
                        const T *s = x + (c * v->h + iy) * v->w + ix;                              \
                        for (int64_t i = 0; i < from; i++) columns[i] = 0;                         \
                        if (v->sx == 1)                                                            \
                            dync__copy_line(columns + from, s, (size_t)(to - from) * sizeof(T));   \
                        else                                                                       \
                            for (int64_t i = from; i < to; i++)                                    \
                                columns[i] = s[(i - from) * v->sx];                                \
                        for (int64_t i = to; i < v->ow; i++) columns[i] = 0;                       \
                    }                                                                              \
                }                                                                                  \
    }                                                                                              \
    static void dync__conv_col2im_##name(const dync__conv *v, const T *columns, T *x, int64_t oy,  \
                                         int64_t rows)                                             \
    {                                                                                              \
        for (int64_t c = 0; c < v->gc; c++)                                                        \
            for (int64_t ky = 0; ky < v->kh; ky++)                                                 \
                for (int64_t kx = 0; kx < v->kw; kx++) {                                           \
                    int64_t from, to;                                                              \
                    dync__conv_inside(kx, v->sx, v->px, v->dx, v->w, v->ow, &from, &to);           \
                    for (int64_t r = 0; r < rows; r++, columns += v->ow) {                         \
                        int64_t iy = (oy + r) * v->sy - v->py + ky * v->dy,                        \
                                ix = from * v->sx - v->px + kx * v->dx;                            \
                        if (iy < 0 || iy >= v->h) continue;                                        \
                        T *d = x + (c * v->h + iy) * v->w + ix;                                    \
                        for (int64_t i = from; i < to; i++) d[(i - from) * v->sx] += columns[i];   \
                    }                                                                              \
                }                                                                                  \
    }                                                                                              \
    /* One channel per group: a row by its window, outside of [skip, skip_to) (where */            \
    /* sx is 1), into the one of the three that `what` names. */                                   \
    static void dync__conv_row_##name(const dync__conv *v, int what, const T *x, const T *w,       \
                                      const T *gy, T *out, int64_t skip, int64_t skip_to)          \
    {                                                                                              \
        for (int64_t kx = 0, from, to; kx < v->kw; kx++) {                                         \
            int64_t at = kx * v->dx - v->px, first = skip;                                         \
            T sum = 0;                                                                             \
            dync__conv_inside(kx, v->sx, v->px, v->dx, v->w, v->ow, &from, &to);                   \
            for (int64_t i = from; i < to; i++) {                                                  \
                if (i == first) i += skip_to - skip;                                               \
                if (i >= to) break;                                                                \
                if (what == DYNC__CONV_Y)                                                          \
                    out[i] += w[kx] * x[i * v->sx + at];                                           \
                else if (what == DYNC__CONV_GX)                                                    \
                    out[i * v->sx + at] += w[kx] * gy[i];                                          \
                else                                                                               \
                    sum += x[i * v->sx + at] * gy[i];                                              \
            }                                                                                      \
            if (what == DYNC__CONV_GW) out[kx] += sum;                                             \
        }                                                                                          \
    }                                                                                              \
    static void dync__conv_bias_##name(const dync__conv *v, const T *bias, T *y, int64_t channels) \
    {                                                                                              \
        for (int64_t o = 0; o < channels; o++)                                                     \
            for (int64_t i = 0; i < v->oh * v->ow; i++) *y++ = bias ? bias[o] : 0;                 \
    }
DYNC__CONV_COLUMNS(float, f)
DYNC__CONV_COLUMNS(double, d)

/* d: c itself, or an element for each row of c (b lies along columns) or column, or NULL. */
DYNC__RARE static void dync__conv_gemm(const dync__conv *v, int64_t m, int64_t n, int64_t k,
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
DYNC__RARE static void dync__conv_pixels(dync__conv *v)
{
    if (v->y)
        dync__conv_gemm(v, v->n, v->o, v->c, v->x, v->c, 1, v->weight, 1, v->c, v->y, v->o, v->bias,
                        false);
    else
        dync__conv_gemm(v, v->n, v->c, v->o, v->gy, v->o, 1, v->weight, v->c, 1, v->gx, v->c, NULL,
                        false);
    dync__lines_done(v->done, v, 1, 0, v->n * (v->y ? v->o : v->c), 0, 1);
}

DYNC__RARE static void dync__conv_im2col(const dync__conv *v, const void *x, void *columns,
                                         int64_t oy, int64_t rows)
{
    if (v->bytes == 8)
        dync__conv_im2col_d(v, x, columns, oy, rows);
    else
        dync__conv_im2col_f(v, x, columns, oy, rows);
}

static const char *dync__conv_plane(const dync__conv *v, const void *base, int64_t planes,
                                    int64_t plane)
{
    return (const char *)base + planes * plane * v->bytes;
}

static char *dync__conv_out(const dync__conv *v, void *base, int64_t planes, int64_t plane)
{
    return (char *)base + planes * plane * v->bytes;
}

/* ---- one channel per group, no columns ------------------------------------------------------- */

/* One row of the output and one of the window. Where the stride is 1, the middle of gw = x gy,
 * which every window element covers, is left to gemm's inner products: four of the window at a
 * time, each a row of gy by x shifted by dx; the loop does the two rims. */
static void dync__conv_direct_row(const dync__conv *v, int what, const void *x, const void *w,
                                  const void *gy, void *out)
{
    int64_t bytes = v->bytes, from = v->px,
            to = DYNC__MIN(v->ow, v->w + v->px - (v->kw - 1) * v->dx);
    if (what != DYNC__CONV_GW || v->sx != 1 || to - from < 8) from = to = -1;
    for (int64_t kx = 0; from >= 0 && kx < v->kw; kx += 4) {
        double sum[4];
        int64_t n = DYNC__MIN(4, v->kw - kx);
        dync__gemm_products((int)bytes, to - from, n, (const char *)gy + from * bytes,
                            (const char *)x + kx * v->dx * bytes, v->dx, sum);
        for (int64_t e = 0; e < n; e++)
            if (bytes == 8)
                ((double *)out)[kx + e] += sum[e];
            else
                ((float *)out)[kx + e] += ((const float *)(const void *)sum)[e];
    }
    if (bytes == 8)
        dync__conv_row_d(v, what, x, w, gy, out, from, to);
    else
        dync__conv_row_f(v, what, x, w, gy, out, from, to);
}

/* The plane that is read with zeros around it, for y or (flipped: the window flipped) x's gradient:
 * `high` rows of `wide`, the data `top` rows down and `left` across; the result has `rows` of
 * `width`. As both planes are given rows of `wide`, one window element moves the whole plane by one
 * distance, and the plane is one vector. */
typedef struct dync__conv_rim {
    int64_t top, left, high, wide, rows, width;
} dync__conv_rim;
DYNC__RARE static dync__conv_rim dync__conv_rim_of(const dync__conv *v, bool flipped)
{
    int64_t ry = (v->kh - 1) * v->dy, rx = (v->kw - 1) * v->dx, rows = flipped ? v->h : v->oh,
            width = flipped ? v->w : v->ow;
    return (dync__conv_rim){flipped ? ry - v->py : v->py,
                            flipped ? rx - v->px : v->px,
                            rows + ry,
                            width + rx,
                            rows,
                            width};
}

/* Bytes that a thread needs: both planes of the direct way, or the columns of `block` rows. */
DYNC__RARE static size_t dync__conv_room(const dync__conv *v, bool flipped)
{
    dync__conv_rim r = dync__conv_rim_of(v, flipped);
    return (size_t)((v->direct ? (r.high + r.rows) * r.wide
                               : v->gc * v->kh * v->kw * v->block * v->ow) *
                    v->bytes);
}

/* Stride 1: for each row of the window one sum of shifted planes, y += w x, or gx += w gy with the
 * window flipped. False: another stride, or more padding than the window reaches; nothing is done.
 * room: of dync__conv_room, for the plane with its rim and for the result in rows as wide. */
DYNC__RARE static bool dync__conv_direct_plane(const dync__conv *v, bool flipped, const char *from,
                                               const char *w, char *out, char *room)
{
    dync__conv_rim r = dync__conv_rim_of(v, flipped);
    int64_t bytes = v->bytes, line = r.wide * bytes, rows = flipped ? v->oh : v->h,
            width = (flipped ? v->ow : v->w) * bytes;
    char *sum = room + r.high * line;
    if (v->sy != 1 || v->sx != 1 || r.top < 0 || r.left < 0) return false;
    memset(room, 0, (size_t)(r.high * line));
    for (int64_t y = 0; y < rows; y++)
        dync__copy_line(room + (y + r.top) * line + r.left * bytes, from + y * width,
                        (size_t)width);
    for (int64_t y = 0; y < r.rows; y++)
        dync__copy_line(sum + y * line, out + y * r.width * bytes, (size_t)(r.width * bytes));
    for (int64_t y = 0; y + 1 < r.rows; y++)
        memset(sum + y * line + r.width * bytes, 0, (size_t)((r.wide - r.width) * bytes));
    for (int64_t ky = 0; ky < v->kh; ky++)
        dync__gemm_add_rows(
            (int)bytes, (r.rows - 1) * r.wide + r.width, v->kw, w + ky * v->kw * bytes,
            room + (flipped ? (r.high - r.rows - ky * v->dy) * line + (r.wide - r.width) * bytes
                            : ky * v->dy * line),
            flipped ? -v->dx : v->dx, sum);
    for (int64_t y = 0; y < r.rows; y++)
        dync__copy_line(out + y * r.width * bytes, sum + y * line, (size_t)(r.width * bytes));
    return true;
}

/* A plane of each; out is the one of the three that `what` names and holds zeros or the bias. */
DYNC__RARE static void dync__conv_direct(const dync__conv *v, int what, const char *x,
                                         const char *w, const char *gy, char *out, void *room)
{
    if (what != DYNC__CONV_GW &&
        dync__conv_direct_plane(v, what == DYNC__CONV_GX, x ? x : gy, w, out, room))
        return;
    for (int64_t oy = 0; oy < v->oh; oy++)
        for (int64_t ky = 0; ky < v->kh; ky++) {
            int64_t iy = oy * v->sy - v->py + ky * v->dy;
            if (iy < 0 || iy >= v->h) continue;
            int64_t x_at = iy * v->w * v->bytes, w_at = ky * v->kw * v->bytes,
                    y_at = oy * v->ow * v->bytes;
            dync__conv_direct_row(v, what, x ? x + x_at : NULL, w ? w + w_at : NULL,
                                  gy ? gy + y_at : NULL,
                                  out + (what == DYNC__CONV_Y    ? y_at
                                         : what == DYNC__CONV_GX ? x_at
                                                                 : w_at));
        }
}

/* ---- one group of one image ------------------------------------------------------------------ */

static void dync__conv_done(void *user, int64_t begin, int64_t end)
{
    dync__conv *v = user;
    const dync__kcall *c = v->call;
    dync_status status =
        dync__code_run_part(c->epilogue, v->data + c->n, begin, end, c->epilogue_rows);
    if (status != DYNC_OK) DYNC__ATOMIC_STORE(&v->status, status);
}

/* Of a worker's failed allocation only its own context knows. */
static dync_status dync__conv_status(const dync__conv *v)
{
    return v->status == DYNC_ERR_MEMORY ? dync__fail_memory(0) : v->status;
}

/* y of one group of one image: [go, ck] by columns [ck, pixels], some output rows at a time, each
 * reported as it is done. columns: of dync__conv_room; not read where the input is the columns. */
DYNC__RARE static void dync__conv_forward_one(dync__conv *v, int64_t image, int64_t group,
                                              void *columns)
{
    int64_t ck = v->gc * v->kh * v->kw, area = v->oh * v->ow;
    const void *x = dync__conv_plane(v, v->x, v->h * v->w, image * v->c + group * v->gc);
    const void *w = dync__conv_plane(v, v->weight, ck, group * v->go);
    const void *bias = v->bias ? dync__conv_plane(v, v->bias, 1, group * v->go) : NULL;
    char *y = dync__conv_out(v, v->y, area, image * v->o + group * v->go);
    if (v->direct) {
        if (v->bytes == 8)
            dync__conv_bias_d(v, bias, (double *)(void *)y, v->go);
        else
            dync__conv_bias_f(v, bias, (float *)(void *)y, v->go);
    }
    for (int64_t o = 0; v->direct && o < v->go; o++)
        dync__conv_direct(v, DYNC__CONV_Y, x, dync__conv_plane(v, w, ck, o), NULL,
                          dync__conv_out(v, y, area, o), columns);
    int64_t line = image * v->o + group * v->go, some = v->block;
    if (v->pointwise && v->done)
        some = DYNC__MAX(DYNC__MIN(DYNC__CONV_HOT / (v->go * v->ow * v->bytes), v->oh), 1);
    for (int64_t oy = 0; !v->direct && oy < v->oh; oy += some) {
        int64_t rows = DYNC__MIN(some, v->oh - oy), n = rows * v->ow, at = oy * v->ow * v->bytes;
        if (!v->pointwise) dync__conv_im2col(v, x, columns, oy, rows);
        dync__conv_gemm(v, v->go, n, ck, w, ck, 1, v->pointwise ? (const char *)x + at : columns,
                        v->pointwise ? area : n, 1, y + at, area, bias, true);
        dync__lines_done(v->done, v, v->oh, line, v->go, oy, rows);
    }
    if (v->direct) dync__lines_done(v->done, v, v->oh, line, v->go, 0, v->oh);
}

/* gx of one group of one image: columns' gradient w^T gy, added up by col2im, rows of y in
 * order. */
DYNC__RARE static void dync__conv_input_one(dync__conv *v, int64_t image, int64_t group,
                                            void *columns)
{
    int64_t ck = v->gc * v->kh * v->kw, area = v->oh * v->ow, plane = v->h * v->w;
    char *gx = dync__conv_out(v, v->gx, plane, image * v->c + group * v->gc);
    const void *w = dync__conv_plane(v, v->weight, ck, group * v->go);
    const char *gy = dync__conv_plane(v, v->gy, area, image * v->o + group * v->go);
    if (v->pointwise) {
        dync__conv_gemm(v, ck, area, v->go, w, 1, ck, gy, area, 1, gx, area, NULL, true);
        dync__lines_done(v->done, v, v->h, image * v->c + group * v->gc, v->gc, 0, v->h);
        return;
    }
    memset(gx, 0, (size_t)(v->gc * plane * v->bytes));
    for (int64_t o = 0; v->direct && o < v->go; o++)
        dync__conv_direct(v, DYNC__CONV_GX, NULL, dync__conv_plane(v, w, ck, o),
                          dync__conv_plane(v, gy, area, o), gx, columns);
    for (int64_t oy = 0; !v->direct && oy < v->oh; oy += v->block) {
        int64_t rows = DYNC__MIN(v->block, v->oh - oy), n = rows * v->ow;
        dync__conv_gemm(v, ck, n, v->go, w, 1, ck, gy + oy * v->ow * v->bytes, area, 1, columns, n,
                        NULL, true);
        if (v->bytes == 8)
            dync__conv_col2im_d(v, columns, (double *)(void *)gx, oy, rows);
        else
            dync__conv_col2im_f(v, columns, (float *)(void *)gx, oy, rows);
    }
    dync__lines_done(v->done, v, v->h, image * v->c + group * v->gc, v->gc, 0, v->h);
}

/* All images of one group: gw is theirs alone. */
DYNC__RARE static void dync__conv_weight_group(const dync__conv *v, int64_t group, void *columns)
{
    int64_t ck = v->gc * v->kh * v->kw, area = v->oh * v->ow;
    void *gw = dync__conv_out(v, v->gw, ck, group * v->go);
    memset(gw, 0, (size_t)(v->go * ck * v->bytes));
    for (int64_t image = 0; image < v->n; image++) {
        const void *x = dync__conv_plane(v, v->x, v->h * v->w, image * v->c + group * v->gc);
        const char *gy = dync__conv_plane(v, v->gy, area, image * v->o + group * v->go);
        for (int64_t o = 0; v->direct && o < v->go; o++)
            dync__conv_direct(v, DYNC__CONV_GW, x, NULL, dync__conv_plane(v, gy, area, o),
                              dync__conv_out(v, gw, ck, o), columns);
        for (int64_t oy = 0; !v->direct && oy < v->oh; oy += v->block) {
            int64_t rows = DYNC__MIN(v->block, v->oh - oy), n = rows * v->ow;
            if (!v->pointwise) dync__conv_im2col(v, x, columns, oy, rows);
            dync__conv_gemm(v, v->go, ck, n, gy + oy * v->ow * v->bytes, area, 1,
                            v->pointwise ? x : columns, 1, n, gw, ck, gw, false);
        }
    }
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* A thread's share of images and groups (of gw: groups). Without memory for its columns it sets
 * v->status and leaves its share undone. */
DYNC__RARE static void dync__conv_part(void *user, int part, int n_parts)
{
    dync__conv *v = user;
    int64_t jobs = v->gw ? v->groups : v->n * v->groups;
    bool needs = !v->pointwise;
    size_t bytes = dync__conv_room(v, v->gx);
    void *columns = needs ? dync__alloc_data(bytes) : NULL;
    if (needs && !columns) {
        DYNC__ATOMIC_STORE(&v->status, DYNC_ERR_MEMORY);
        return;
    }
    for (int64_t i = jobs * part / n_parts; i < jobs * (part + 1) / n_parts; i++) {
        if (v->gw)
            dync__conv_weight_group(v, i, columns);
        else if (v->gx)
            dync__conv_input_one(v, i / v->groups, i % v->groups, columns);
        else
            dync__conv_forward_one(v, i / v->groups, i % v->groups, columns);
    }
    if (columns) dync__free_data(columns, bytes);
}

/* The convolution without tiles in machine code. Threads share images and groups where there are
 * enough of them; else gemm uses the threads and the epilogue runs once, at the end. */
DYNC__RARE static dync_status dync__conv_run(dync__conv *v)
{
    double work = (double)(v->n * v->o * v->oh * v->ow) * (double)(v->gc * v->kh * v->kw);
    int64_t jobs = v->gw ? v->groups : v->n * v->groups;
    int threads = dync__pool_threads();
    bool apart = jobs >= threads && work >= DYNC__CONV_PARALLEL;
    bool all = v->done && !apart;
    /* gemm uses the threads itself, and so does what follows */
    if (all) v->done = NULL;
    if (dync__conv_is_pixels(v) && !v->gw)
        dync__conv_pixels(v);
    else if (apart && threads > 1)
        dync__pool_run(dync__conv_part, v, threads);
    else
        dync__conv_part(v, 0, 1);
    DYNC__TRY(dync__conv_status(v));
    return all ? dync__code_run(v->call->epilogue, v->data + v->call->n, 0, 0) : DYNC_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

DYNC__RARE static dync_status dync__conv_check(dync__kcall *c, const dync__operand *x,
                                               const dync__operand *w, const dync__operand *y)
{
    const dync__attr_conv *a = &c->attr.conv;
    DYNC__TRY(dync__kcall_expect(c, x->lay.ndim == 4 && w->lay.ndim == 4 && y->lay.ndim == 4,
                                 "operands of rank 4"));
    DYNC__TRY(dync__kcall_expect(
        c, x->dtype == y->dtype && w->dtype == y->dtype && dync__dtype_info(y->dtype)->kind == 'f',
        "one float dtype"));
    for (int d = 0; d < 2; d++)
        DYNC__TRY(dync__kcall_expect(
            c, a->stride[d] > 0 && a->pad[d] >= 0 && a->dilation[d] > 0 && a->groups > 0,
            "positive strides, dilations and groups"));
    const int64_t *xs = x->lay.shape, *ws = w->lay.shape, *ys = y->lay.shape;
    DYNC__TRY(dync__kcall_expect(
        c, xs[1] == ws[1] * a->groups && ws[0] % a->groups == 0 && ys[0] == xs[0] && ys[1] == ws[0],
        "channels that agree"));
    for (int d = 0; d < 2; d++) {
        int64_t reach = xs[2 + d] + 2 * a->pad[d] - a->dilation[d] * (ws[2 + d] - 1) - 1;
        DYNC__TRY(dync__kcall_expect(
            c, ys[2 + d] == 0 || (reach >= 0 && ys[2 + d] == reach / a->stride[d] + 1),
            "the result's size to follow from "
            "the others"));
    }
    return DYNC_OK;
}

/* The tile size m of Winograd's F(m x m, 3 x 3) up to `most` that costs least, 0: none costs less
 * than the plain sum. By what was measured: products of the tiles at one a cycle and vector,
 * transforms, and weights, which are (m + 2)^2 / 9 as many and come from memory where the caches
 * do not hold them. */
DYNC__RARE DYNC__FN int dync__conv_winograd(const int64_t *x, const int64_t *w, const int64_t *y,
                                            int64_t groups, int most)
{
    double lanes = dync__cj_lanes(), area = (double)(y[2] * y[3]), products = (double)(w[0] * w[1]),
           best;
    int chosen = 0;
    if (lanes == 0 || w[2] != 3 || w[3] != 3 || (double)w[1] < lanes ||
        (double)w[0] / (double)groups < lanes)
        return 0;
    best = 9 * area * products;
    for (int m = 2; m <= most; m += 2) {
        double tiles = (double)((y[2] + m - 1) / m * ((y[3] + m - 1) / m)),
               elements = (m + 2) * (m + 2);
        double cost = tiles * elements * products +
                      tiles * elements * (double)(x[1] + w[0]) * DYNC__WINOGRAD_MOVE +
                      (elements * products > DYNC__WINOGRAD_CACHED
                           ? elements * products * DYNC__WINOGRAD_WEIGHT
                           : 0);
        if (cost < best) {
            best = cost;
            chosen = m;
        }
    }
    return chosen;
}

DYNC__RARE DYNC__FN int64_t dync__kcall_rows(const dync__kcall *c)
{
    const dync__operand *y = &c->operand[c->n - 1];
    int64_t rows = 1; /* a convolution of f16 or bf16 is written back as a whole */
    bool conv =
             (dync__kcall_is(c, DYNC__K_conv2d) || dync__kcall_is(c, DYNC__K_conv2d_grad_input)) &&
             dync__operand_working(y->dtype) == y->dtype,
         blocked = c->blocked >> (c->n - 1) & 1;
    if ((!conv && !dync__kcall_is(c, DYNC__K_matmul) && !dync__kcall_is(c, DYNC__K_addmm)) ||
        (dync__dtype_info(y->dtype)->kind != 'f' &&
         !(y->dtype == DYNC_I32 && c->operand[0].dtype == DYNC_I8)))
        return 0;
    for (int d = 0; d < y->lay.ndim - 1; d++) rows = dync__sz_mul(rows, y->lay.shape[d]);
    return blocked ? dync__sz_div(rows, dync__cj_lanes()) : rows;
}

DYNC__RARE static void dync__conv_drop(void *state) { dync__cj_free(state); }

/* Machine code where there is some (without Winograd where that has none); else state stays NULL,
 * which is an error for a call that reads blocks or has operators after it. run_bytes: what a run
 * will allocate. */
DYNC__RARE static dync_status dync__conv_ready(dync__kcall *c, int what, const dync__operand *x,
                                               const dync__operand *w, const dync__operand *y)
{
    dync__conv v;
    dync__conv_open(&v, c, x, w, y);
    if (!v.pointwise)
        c->run_bytes = dync__conv_room(&v, what == DYNC__CJ_INPUT) * (size_t)dync__pool_threads();
    if (dync__operand_working(y->dtype) != DYNC_F32) return DYNC_OK;
    bool planes = !(c->blocked & 1) && !(c->blocked >> (c->n - 1) & 1),
         product = v.pointwise && planes && what != DYNC__CJ_WEIGHT;
    bool fits = v.oh * v.ow >= DYNC__CONV_PLANE &&
                (v.gc + v.go) * v.oh * v.ow < DYNC__CONV_PLANES && v.gc * v.go < DYNC__CONV_WEIGHTS;
    if (product && (fits || dync__conv_is_pixels(&v)))
        return c->after ? dync__fail_memory(0) : DYNC_OK;
    dync__cj_shape s = {v.n,
                        v.c,
                        v.h,
                        v.w,
                        v.o,
                        v.oh,
                        v.ow,
                        v.kh,
                        v.kw,
                        v.sy,
                        v.sx,
                        v.py,
                        v.px,
                        v.dy,
                        v.dx,
                        v.groups,
                        what == DYNC__CJ_WEIGHT ? 0 : c->attr.conv.winograd};
    dync__cj_form form = {c->blocked & 1, c->blocked >> (c->n - 1) & 1, c->after};
    c->state = dync__cj_new(&s, what, &form);
    if (!c->state && s.winograd) {
        s.winograd = 0;
        c->state = dync__cj_new(&s, what, &form);
    }
    c->drop = dync__conv_drop;
    if (c->state) c->run_bytes = dync__cj_bytes(c->state);
    return (c->blocked || c->after) && !c->state ? dync__fail_memory(0) : DYNC_OK;
}

DYNC__RARE DYNC__FN dync_status dync__k_conv2d_prepare(dync__kcall *c)
{
    int n = c->n - (c->after ? c->after->list.n_sources : 0);
    DYNC__TRY(dync__kcall_expect(c, n == 3 || n == 4, "3 or 4 operands"));
    DYNC__TRY(dync__conv_check(c, &c->operand[0], &c->operand[1], &c->operand[c->n - 1]));
    DYNC__TRY(
        dync__kcall_expect(c,
                           n == 3 || (c->operand[2].lay.ndim == 1 &&
                                      c->operand[2].lay.shape[0] == c->operand[1].lay.shape[0] &&
                                      c->operand[2].dtype == c->operand[c->n - 1].dtype),
                           "a bias [O]"));
    return dync__conv_ready(c, DYNC__CJ_FORWARD, &c->operand[0], &c->operand[1],
                            &c->operand[c->n - 1]);
}

DYNC__RARE DYNC__FN dync_status dync__k_conv2d_grad_input_prepare(dync__kcall *c)
{
    DYNC__TRY(dync__kcall_expect(c, c->n == 3, "3 operands"));
    DYNC__TRY(dync__conv_check(c, &c->operand[2], &c->operand[1], &c->operand[0]));
    return dync__conv_ready(c, DYNC__CJ_INPUT, &c->operand[2], &c->operand[1], &c->operand[0]);
}

DYNC__RARE DYNC__FN dync_status dync__k_conv2d_grad_weight_prepare(dync__kcall *c)
{
    DYNC__TRY(dync__kcall_expect(c, c->n == 3, "3 operands"));
    DYNC__TRY(dync__conv_check(c, &c->operand[0], &c->operand[2], &c->operand[1]));
    return dync__conv_ready(c, DYNC__CJ_WEIGHT, &c->operand[0], &c->operand[2], &c->operand[1]);
}

/* The tensor behind the second operand, where it is an input of the plan. */
static const dync__tensor *dync__conv_owner(const dync__kcall *c)
{
    return c->input[1] && dync__tls.plan_tensors ? dync__tls.plan_tensors[c->input[1] - 1] : NULL;
}

static dync_status dync__conv_do(dync__conv *v, dync__cj_data *d, void *const *data)
{
    const dync__kcall *c = v->call;
    v->data = data;
    v->done = d->done = c->epilogue ? dync__conv_done : NULL;
    d->user = v;
    DYNC__TRY(c->state ? dync__cj_run(c->state, d) : dync__conv_run(v));
    return dync__conv_status(v);
}

DYNC__FN dync_status dync__k_conv2d(const dync__kcall *c, void *const *data, void *scratch)
{
    const dync__operand *op = c->operand;
    int last = c->n - 1, first = last - (c->after ? c->after->list.n_sources : 0),
        dtype = dync__operand_working(op[last].dtype);
    dync__dense in[3] = {{0}}, y = {0};
    dync__conv v;
    (void)scratch;
    dync__conv_open(&v, c, &op[0], &op[1], &op[last]);
    if (dync__operand_numel(&op[last]) == 0) return DYNC_OK;
    dync_status status = dync__dense_all(c, first, first, data, in);
    if (status == DYNC_OK) status = dync__dense_out(&op[last], data[last], dtype, &y);
    v.x = in[0].data;
    v.weight = in[1].data;
    v.bias = in[2].data;
    v.y = y.data;
    dync__cj_data d = {.in = v.x,
                       .weight = v.weight,
                       .bias = v.bias,
                       .out = v.y,
                       .owner = in[1].copy ? NULL : dync__conv_owner(c)};
    for (int i = first; i < last; i++) d.after[i - first] = dync__operand_at(&op[i], data[i]);
    if (status == DYNC_OK) status = dync__conv_do(&v, &d, data);
    if (status == DYNC_OK) dync__dense_finish(&op[last], data[last], &y);
    dync__dense_drop(&y);
    return dync__dense_end(c, first, first, data, in, status);
}

/* The two gradients have the same form: two operands in, one out. */
DYNC__RARE static dync_status dync__conv_grad(const dync__kcall *c, void *const *data,
                                              dync__conv *v, const void **first,
                                              const void **second, void **out)
{
    dync__dense d[3];
    dync_status status = dync__dense_all(c, 3, 2, data, d);
    *first = d[0].data;
    *second = d[1].data;
    *out = d[2].data;
    dync__cj_data all = {.in = *first,
                         .weight = *second,
                         .out = *out,
                         .owner = d[1].copy ? NULL : dync__conv_owner(c)};
    if (status == DYNC_OK) status = dync__conv_do(v, &all, data);
    return dync__dense_end(c, 3, 2, data, d, status);
}

DYNC__FN dync_status dync__k_conv2d_grad_input(const dync__kcall *c, void *const *data,
                                               void *scratch)
{
    dync__conv v;
    (void)scratch;
    dync__conv_open(&v, c, &c->operand[2], &c->operand[1], &c->operand[0]);
    return dync__operand_numel(&c->operand[2]) == 0
               ? DYNC_OK
               : dync__conv_grad(c, data, &v, &v.gy, &v.weight, &v.gx);
}

DYNC__FN dync_status dync__k_conv2d_grad_weight(const dync__kcall *c, void *const *data,
                                                void *scratch)
{
    dync__conv v;
    (void)scratch;
    dync__conv_open(&v, c, &c->operand[0], &c->operand[2], &c->operand[1]);
    return dync__operand_numel(&c->operand[2]) == 0
               ? DYNC_OK
               : dync__conv_grad(c, data, &v, &v.x, &v.gy, &v.gw);
}
