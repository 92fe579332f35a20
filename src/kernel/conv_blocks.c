/* kernel/conv_blocks.c: arrays between planes [C, H, W] and blocks of V channels [C / V, H, W, V],
 * with the rim that windows reach into. Under conv_tiles.c and conv_grad.c. */
#include "../dync.in.h"
#include "conv_tiles.h"
DYNC__WARM
#if DYNC__JIT

/* n pixels of c <= V channels; planes `plane` floats apart. */
DYNC__FN void dync__cj_move(const dync__cj *v, bool to_blocks, float *planes, int64_t plane,
                            float *block, int64_t n, int64_t c)
{
    int64_t quads = n >= 4 ? c / 4 : 0;
    if (quads) {
        int64_t args[DYNC__CB_WORDS];
        args[to_blocks ? DYNC__CB_FROM : DYNC__CB_TO] = (int64_t)(uintptr_t)planes;
        args[to_blocks ? DYNC__CB_TO : DYNC__CB_FROM] = (int64_t)(uintptr_t)block;
        args[DYNC__CB_PLANE] = 4 * plane;
        args[DYNC__CB_N] = n;
        args[DYNC__CB_QUADS] = quads;
        v->move[to_blocks][n >= 16 ? 2 : n >= 8](args);
    }
    for (int64_t i = 4 * quads; i < c; i++)
        for (int64_t p = 0; p < n; p++) {
            if (to_blocks)
                block[p * v->V + i] = planes[i * plane + p];
            else
                planes[i * plane + p] = block[p * v->V + i];
        }
}

static void dync__cj_fill(const dync__cj *v, float *to, int64_t n)
{
    bool max = v->what == DYNC__CJ_MAX || v->what == DYNC__CJ_WHERE;
    float x = max ? -HUGE_VALF : 0.0f;
    if (!max) /* a byte of 0, lifted, is 128 */
        memset(to, v->s.dtype == DYNC_I8 ? 0x80 : 0, (size_t)n * sizeof *to);
    else
        for (int64_t i = 0; i < n; i++) to[i] = x;
}

/* Rows [y, y + rows) of c channels of height h and width w, with the rim, which may lie outside. */
DYNC__FN void dync__cj_in(const dync__cj *v, const float *x, int64_t c, int64_t y, int64_t rows,
                          float *to)
{
    int64_t step = v->planar ? 1 : v->V, right = v->wide - v->lo_x - v->w, first = DYNC__MAX(y, 0),
            last = DYNC__MIN(y + rows, v->h);
    for (int64_t at = 0; at < c; at += step, x += step * v->h * v->w, to += v->in_block / 4) {
        int64_t n = DYNC__MIN(step, c - at), unit = v->in_pixel / 4, row = v->wide * unit;
        if (n < step || last <= first) dync__cj_fill(v, to, rows * row);
        dync__cj_fill(v, to, DYNC__MIN(DYNC__MAX(first - y, 0), rows) * row);
        if (last <= first) continue;
        dync__cj_fill(v, to + (last - y) * row, (y + rows - last) * row);
        if (v->wide == v->w && !v->planar) {
            dync__cj_move(v, true, (float *)(uintptr_t)(x + first * v->w), v->h * v->w,
                          to + (first - y) * row, (last - first) * v->w, n);
            continue;
        }
        for (int64_t iy = first; iy < last; iy++) {
            float *line = to + (iy - y) * row;
            const float *from = x + iy * v->w;
            dync__cj_fill(v, line, v->lo_x * unit);
            if (v->planar)
                dync__copy_line(line + v->lo_x, from, (size_t)v->w * sizeof *line);
            else
                dync__cj_move(v, true, (float *)(uintptr_t)from, v->h * v->w, line + v->lo_x * unit,
                              v->w, n);
            dync__cj_fill(v, line + (v->lo_x + v->w) * unit, right * unit);
        }
    }
}

/* The same from blocks. */
DYNC__FN void dync__cj_in_blocks(const dync__cj *v, const float *x, int64_t y, int64_t rows,
                                 float *to)
{
    int64_t row = v->wide * v->V, left = v->lo_x * v->V, width = v->w * v->V,
            right = row - left - width;
    for (int64_t a = 0; a < v->icb; a++, x += v->h * width)
        for (int64_t r = 0; r < rows; r++, to += row) {
            if (y + r < 0 || y + r >= v->h) {
                dync__cj_fill(v, to, row);
                continue;
            }
            dync__cj_fill(v, to, left);
            memcpy(to + left, x + (y + r) * width, (size_t)width * sizeof *to);
            dync__cj_fill(v, to + left + width, right);
        }
}
#endif
