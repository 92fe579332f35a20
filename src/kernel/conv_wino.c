/* kernel/conv_wino.c: 3x3 convolutions by Winograd's tiles of m x m places: (m + 2)^2 products a
 * channel instead of 9 m^2. Asked by conv_plan.c, run by conv_tiles.c.
 *
 * A job's input becomes U [element][block of in channels][tile][V]; each element is a matrix
 * product with its transformed weights, by the tiles of a 1x1 convolution; the results are
 * transformed back into places, and what follows is done to them. */
#include "../dync.in.h"
#include "conv_tiles.h"
DYNC__WARM
#if DYNC__JIT

DYNC__RARE static dync__ccode dync__cj_wino_transform(dync__cj *v, int which, int64_t row,
                                                      int64_t column, int64_t to_row,
                                                      int64_t to_column, int64_t high, int64_t wide)
{
    dync__ctile t = dync__cj_tile(v);
    int m = v->wino.m;
    t.op = DYNC__CT_TRANSFORM;
    t.P = t.B = 1;
    t.w_b = m * 4 + which;
    t.in_at[0] = (int32_t)row;
    t.in_at[1] = (int32_t)column;
    t.out_at[0] = (int32_t)to_row;
    t.out_at[1] = (int32_t)to_column;
    if (which == DYNC__CW_OUT) {
        t.K = (int32_t)high;
        t.across = (int8_t)wide;
        t.flags = v->what == DYNC__CJ_FORWARD ? DYNC__CT_BIAS : 0;
        t.after = v->after.list;
        for (int p = 0; p < m * m; p++) t.out_at[p] = (int32_t)(p / m * to_row + p % m * to_column);
    }
    return dync__ctile_code(&v->held, &t);
}

/* The tiles of a job, before rows and widths are laid out. False: not for this layer. */
DYNC__RARE DYNC__FN bool dync__cj_wino_open(dync__cj *v)
{
    const dync__cj_shape *s = &v->s;
    int64_t m = s->winograd, n = m + 2, down = (v->oh + m - 1) / m, across = (v->ow + m - 1) / m,
            line = n * n * (v->icb + v->ocb) * across * v->V * 4;
    if (s->kh != 3 || s->kw != 3 || s->sy != 1 || s->sx != 1 || s->dy != 1 || s->dx != 1 ||
        v->depthwise || v->planar || v->what > DYNC__CJ_INPUT)
        return false;
    for (int t = 0; t < 9; t++) {
        const dync__cj_tap *tap = &v->phase[0].tap[t];
        if (v->lo_y + tap->y > 2 || v->lo_x + tap->x > 2) return false;
    }
    v->wino.m = (int)m;
    v->wino.n = (int)n;
    v->wino.across = across;
    int64_t rows = DYNC__MIN(
        DYNC__MAX(DYNC__WINOGRAD_ROOM / line, (DYNC__WINOGRAD_TILES + across - 1) / across), down);
    /* as many in each job */
    rows = (down + (down + rows - 1) / rows - 1) / ((down + rows - 1) / rows);
    v->rows = rows * m;
    v->wino.tiles = rows * across;
    /* + 1: elements do not meet in one set of the cache */
    v->wino.in = (v->icb * v->wino.tiles + 1) * v->V * 4;
    v->wino.out = (v->ocb * v->wino.tiles + 1) * v->V * 4;
    v->wino.weights = v->pack / 9;
    v->pack = v->wino.weights * n * n;
    v->wide = DYNC__MAX(v->wide, across * m + 2 - v->lo_x);
    v->hi_y = 2 - v->lo_y;
    return true;
}

DYNC__RARE DYNC__FN bool dync__cj_wino_code(dync__cj *v, int64_t p)
{
    int64_t m = v->wino.m, n = v->wino.n, pixel = 4 * v->V, tiles = v->wino.tiles,
            lines = v->oh % m, columns = v->ow % m;
    if (n * n * DYNC__MAX(v->wino.in, v->wino.out) > INT32_MAX || v->pack * 4 > INT32_MAX)
        return false;
    v->wino.run[0] = (dync__cj_run_of){.first = 0, .count = tiles / p, .step = p};
    v->wino.run[1] =
        (dync__cj_run_of){.first = tiles / p * p, .count = tiles % p != 0, .step = tiles % p};
    for (int i = 0; i < 4; i++) {
        dync__ctile t = dync__cj_tile(v);
        dync__cj_run_of *run = &v->wino.run[i / 2];
        if (!run->count || !v->B[i % 2]) continue;
        t.P = (int8_t)run->step;
        t.B = (int8_t)v->B[i % 2];
        t.K = v->V;
        t.in_k = 4;
        t.w_b = (int32_t)pixel;
        t.w_k = t.B * t.w_b;
        t.out_b = (int32_t)(tiles * pixel);
        for (int q = 0; q < t.P; q++) t.in_at[q] = t.out_at[q] = (int32_t)(q * pixel);
        if (!(run->code[i % 2] = dync__ctile_code(&v->held, &t))) return false;
    }
    v->wino.in_code =
        dync__cj_wino_transform(v, DYNC__CW_IN, v->in_row, pixel, n * v->wino.in, v->wino.in, 0, 0);
    v->wino.weight_code = dync__cj_wino_transform(
        v, DYNC__CW_WEIGHT, 3 * pixel, pixel, n * v->wino.weights * 4, v->wino.weights * 4, 0, 0);
    for (int i = 0; i < 4; i++) {
        int64_t high = i / 2 ? lines : m, wide = i % 2 ? columns : m;
        v->wino.out_code[i] = high && wide ? dync__cj_wino_transform(v, DYNC__CW_OUT,
                                                                     n * v->wino.out, v->wino.out,
                                                                     v->out_row, pixel, high, wide)
                                           : NULL;
        if (high && wide && !v->wino.out_code[i]) return false;
    }
    return v->wino.in_code && v->wino.weight_code;
}

/* The same by Winograd's tiles; room: for the transformed input and result. */
DYNC__RARE DYNC__FN void dync__cj_wino(const dync__cj_work *w, int64_t g, int64_t b0, int64_t b1,
                                       int64_t j, int64_t rows, const float *x, float *y,
                                       int64_t line, char *room)
{
    const dync__cj *v = w->v;
    int64_t m = v->wino.m, n2 = (int64_t)v->wino.n * v->wino.n, pixel = 4 * v->V,
            down = (rows + m - 1) / m, across = v->wino.across;
    int64_t args[DYNC__CA_WORDS], u = dync__cj_address(room) + DYNC__CW_ROOM,
                                  out = u + n2 * v->wino.in;
    dync__ctap none = {0, 0};
    for (int64_t i = 0; i < v->icb * down; i++) {
        int64_t a = i / down, t = i % down;
        args[DYNC__CA_IN] = dync__cj_address(x) + a * v->in_block + t * m * v->in_row;
        args[DYNC__CA_OUT] = u + (a * v->wino.tiles + t * across) * pixel;
        args[DYNC__CA_TAPS] = dync__cj_address(room);
        args[DYNC__CA_TILES] = across;
        args[DYNC__CA_T_IN] = m * pixel;
        args[DYNC__CA_T_OUT] = pixel;
        v->wino.in_code(args);
    }
    args[DYNC__CA_TAPS] = dync__cj_address(&none);
    args[DYNC__CA_NTAPS] = 1;
    args[DYNC__CA_NA] = v->icb;
    args[DYNC__CA_A_IN] = v->wino.tiles * pixel;
    for (int64_t e = 0; e < n2; e++)
        for (int64_t b = b0, B; b < b1; b += B) {
            B = DYNC__MIN(v->B[0], v->ocb - b);
            args[DYNC__CA_W] = dync__cj_address(w->packed) +
                               4 * (e * v->wino.weights + (g * v->ocb + b) * v->icb * v->K * v->V);
            args[DYNC__CA_A_W] = v->K * B * pixel;
            for (int r = 0; r < 2 && v->wino.run[r].count; r++) {
                const dync__cj_run_of *run = &v->wino.run[r];
                args[DYNC__CA_IN] = u + e * v->wino.in + run->first * pixel;
                args[DYNC__CA_OUT] = out + e * v->wino.out +
                                     (b * v->wino.tiles + run->first) * pixel;
                args[DYNC__CA_TILES] = run->count;
                args[DYNC__CA_T_IN] = args[DYNC__CA_T_OUT] = run->step * pixel;
                run->code[B != v->B[0]](args);
            }
        }
    args[DYNC__CA_TAPS] = dync__cj_address(room);
    args[DYNC__CA_T_IN] = pixel;
    args[DYNC__CA_T_OUT] = m * pixel;
    for (int64_t i = 0; i < (b1 - b0) * down * 2; i++) {
        int64_t b = b0 + i / 2 / down, t = i / 2 % down, whole = v->ow / m, cut = i % 2,
                at = (b - b0) * v->out_block + t * m * v->out_row + cut * whole * m * pixel;
        args[DYNC__CA_IN] = out + (b * v->wino.tiles + t * across + cut * whole) * pixel;
        args[DYNC__CA_OUT] = dync__cj_address(y) + at;
        args[DYNC__CA_BIAS] =
            v->what == DYNC__CJ_FORWARD ? dync__cj_address(w->bias + (g * v->ocb + b) * v->V) : 0;
        args[DYNC__CA_TILES] = cut ? 1 : whole;
        for (int p = 0; p < v->after.list.n_sources; p++)
            args[DYNC__CA_POST + p] = dync__cj_address(w->after[p] + (g * v->ocb + b) * v->V);
        if (cut ? v->ow % m != 0 : whole != 0)
            v->wino.out_code[cut + (rows - t * m < m ? 2 : 0)](args);
        if (line >= 0 && cut && t + 1 == down)
            dync__lines_done(w->data->done, w->data->user, v->oh, line + b - b0, 1, j, rows);
    }
}
#endif
