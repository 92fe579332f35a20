/* kernel/conv_direct.c: convolutions of one channel per group, without columns. Before: conv.c. */
#include "../dync.in.h"
#include "conv_jit.h"
#include "gemm.h"
#include "conv.h"
DYNC__BESIDE_JIT

/* ---- one channel per group, no columns ------------------------------------------------------- */

/* One channel per group: a row by its window, outside of [skip, skip_to) (where sx is 1), into the
 * one of the three that `what` names. */
#define DYNC__CONV_ROW(T, name)                                                              \
    static void dync__conv_row_##name(const dync__conv *v, int what, const T *x, const T *w, \
                                      const T *gy, T *out, int64_t skip, int64_t skip_to)    \
    {                                                                                        \
        for (int64_t kx = 0, from, to; kx < v->kw; kx++) {                                   \
            int64_t at = kx * v->dx - v->px, first = skip;                                   \
            T sum = 0;                                                                       \
            dync__conv_inside(kx, v->sx, v->px, v->dx, v->w, v->ow, &from, &to);             \
            for (int64_t i = from; i < to; i++) {                                            \
                if (i == first) i += skip_to - skip;                                         \
                if (i >= to) break;                                                          \
                if (what == DYNC__CONV_Y)                                                    \
                    out[i] += w[kx] * x[i * v->sx + at];                                     \
                else if (what == DYNC__CONV_GX)                                              \
                    out[i * v->sx + at] += w[kx] * gy[i];                                    \
                else                                                                         \
                    sum += x[i * v->sx + at] * gy[i];                                        \
            }                                                                                \
            if (what == DYNC__CONV_GW) out[kx] += sum;                                       \
        }                                                                                    \
    }
DYNC__CONV_ROW(float, f)
DYNC__CONV_ROW(double, d)

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
DYNC__RARE DYNC__FN size_t dync__conv_room(const dync__conv *v, bool flipped)
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
DYNC__RARE DYNC__FN void dync__conv_direct(const dync__conv *v, int what, const char *x,
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
