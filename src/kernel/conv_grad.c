/* kernel/conv_grad.c: the weight gradient of a convolution by the tiles that conv_plan.c laid out:
 * images and rows in order, by one thread for each piece of gw, so that the thread count does not
 * change a bit. Beside conv_tiles.c. */
#include "../dync.in.h"
#include "conv_tiles.h"
DYNC__WARM
#if DYNC__JIT

/* One image's x and gy into blocks: a group of x, or a group of gy, at a time. */
DYNC__RARE static void dync__cj_weight_in(void *user, int part, int n_parts)
{
    const dync__cj_work *w = user;
    const dync__cj *v = w->v;
    int64_t jobs = 2 * v->groups, x_step = (v->planar ? v->ic : v->icb) * v->in_block / 4,
            y_step = v->ocb * v->out_block / 4;
    for (int64_t i = jobs * part / n_parts; i < jobs * (part + 1) / n_parts; i++) {
        int64_t g = i / 2, have = dync__cj_has(v, g, v->oc);
        if (i % 2 == 0) {
            dync__cj_in(v, w->in + g * v->ic * v->h * v->w, dync__cj_has(v, g, v->ic), -v->lo_y,
                        v->rows_in, w->x + g * x_step);
            continue;
        }
        for (int64_t b = 0; b < v->ocb; b++) {
            float *to = w->gy + g * y_step + b * v->out_block / 4;
            int64_t n = DYNC__MIN(v->V, have - b * v->V);
            if (n < v->V) memset(to, 0, (size_t)v->out_block);
            dync__cj_move(v, true,
                          (float *)(uintptr_t)(w->weight + (g * v->oc + b * v->V) * v->oh * v->ow),
                          v->oh * v->ow, to, v->oh * v->ow, n);
        }
    }
}

/* Block a of in channels and blocks [b, b + B) of out channels of group g, rows [j, j + rows) of
 * the image. */
DYNC__RARE static void dync__cj_weight_tile(const dync__cj_work *w, int64_t g, int64_t b, int64_t B,
                                            int64_t a, int64_t j, const dync__ctap *line,
                                            int64_t rows)
{
    const dync__cj *v = w->v;
    int64_t in = dync__cj_address(w->x) + (g * (v->planar ? v->ic : v->icb) + a) * v->in_block +
                 (v->lo_y + j * v->isy) * v->in_row + v->lo_x * v->in_pixel;
    for (int64_t o = 0; o < v->outer; o++)
        for (int l = 0; l < v->n_lists; l++) {
            int64_t args[DYNC__CA_WORDS],
                at = ((g * v->ocb + b) * v->icb + a * B) * v->outer * v->all +
                     (o * v->all + v->list[l].first) * B;
            args[DYNC__CA_IN] = in + (v->outer > 1                ? v->phase[0].at[0][o].in
                                      : v->depthwise || v->planar ? 0
                                                                  : v->phase[0].at[0][0].in);
            args[DYNC__CA_W] = dync__cj_address(w->gy) + (g * v->ocb + b) * v->out_block +
                               j * v->out_row;
            args[DYNC__CA_OUT] = dync__cj_address(w->packed + at * v->V);
            args[DYNC__CA_TAPS] = dync__cj_address(line);
            args[DYNC__CA_NTAPS] = rows;
            args[DYNC__CA_W_B] = v->out_block;
            args[DYNC__CA_ROUNDS] = v->s.ow / DYNC__CT_ROUND;
            args[DYNC__CA_REST] = v->s.ow % DYNC__CT_ROUND;
            args[DYNC__CA_NA] = args[DYNC__CA_TILES] = 1;
            args[DYNC__CA_A_IN] = args[DYNC__CA_A_W] = args[DYNC__CA_T_IN] = args[DYNC__CA_T_OUT] =
                0;
            v->list[l].code[B != v->B[0]](args);
        }
}

DYNC__RARE static void dync__cj_weight_part(void *user, int part, int n_parts)
{
    const dync__cj_work *w = user;
    const dync__cj *v = w->v;
    int64_t units = (v->ocb + v->B[0] - 1) / v->B[0], jobs = v->groups * units * v->icb,
            rows = DYNC__MIN(DYNC__MAX(DYNC__CJ_SUM / v->ow, 1), 32);
    dync__ctap line[32];
    for (int64_t r = 0; r < rows; r++)
        line[r] = (dync__ctap){r * v->isy * v->in_row, r * v->out_row};
    for (int64_t i = jobs * part / n_parts; i < jobs * (part + 1) / n_parts; i++) {
        int64_t a = i % v->icb, b = i / v->icb % units * v->B[0], g = i / v->icb / units;
        for (int64_t j = 0; j < v->oh; j += rows)
            dync__cj_weight_tile(w, g, b, DYNC__MIN(v->B[0], v->ocb - b), a, j, line,
                                 DYNC__MIN(rows, v->oh - j));
    }
}

DYNC__RARE static bool dync__cj_weight_out(const dync__cj *v, const float *from, float *gw)
{
    int64_t taps = v->s.kh * v->s.kw, all = v->outer * v->all,
            K = v->depthwise ? 1
                : v->planar  ? v->ic
                             : v->V;
    size_t line = (size_t)v->V * sizeof *gw, bytes = (size_t)(K * taps) * line;
    float *table = dync__alloc_data(bytes);
    if (!table) return false;
    for (int64_t i = 0; i < v->groups * v->ocb * v->icb; i++) {
        int64_t a = i % v->icb, b = i / v->icb % v->ocb, g = i / v->icb / v->ocb,
                first = b / v->B[0] * v->B[0], B = DYNC__MIN(v->B[0], v->ocb - first);
        const float *at = from + ((g * v->ocb + first) * v->icb + a * B) * all * v->V +
                          (b - first) * v->V;
        for (int64_t t = 0; t < taps; t++)
            for (int64_t k = 0; k < K; k++, at += B * v->V)
                dync__copy_line(table + (k * taps + t) * v->V, at, line);
        dync__cj_lines(v, false, gw, g, b, a, table);
    }
    dync__free_data(table, bytes);
    return true;
}

DYNC__RARE DYNC__FN dync_status dync__cj_run_weight(const dync__cj *v, const float *x,
                                                    const float *gy, float *gw)
{
    size_t x_bytes = (size_t)(v->groups * (v->planar ? v->ic : v->icb) * v->in_block),
           y_bytes = (size_t)(v->groups * v->ocb * v->out_block);
    size_t w_bytes = (size_t)(v->groups * v->ocb * v->icb * v->outer * v->all * v->V) *
                     sizeof(float);
    char *memory = dync__alloc_data(x_bytes + y_bytes + w_bytes);
    double ns = dync__cj_multiplications(v) / DYNC__MACS_PER_NS;
    int64_t units = v->groups * ((v->ocb + v->B[0] - 1) / v->B[0]) * v->icb;
    int threads = dync__pool_worth(ns);
    if (!memory) return DYNC_ERR_MEMORY;
    dync__cj_work w = {.v = v,
                       .x = (float *)(void *)memory,
                       .gy = (float *)(void *)(memory + x_bytes),
                       .packed = (float *)(void *)(memory + x_bytes + y_bytes)};
    memset(w.packed, 0, w_bytes);
    for (int64_t n = 0; n < v->s.n; n++) {
        w.in = x + n * v->s.c * v->h * v->w;
        w.weight = gy + n * v->s.o * v->oh * v->ow;
        if (threads > 1) {
            dync__pool_run(dync__cj_weight_in, &w, threads);
            dync__pool_run(dync__cj_weight_part, &w,
                           dync__pool_pieces(threads, ns / (double)v->s.n, units));
        } else {
            dync__cj_weight_in(&w, 0, 1);
            dync__cj_weight_part(&w, 0, 1);
        }
    }
    bool out = dync__cj_weight_out(v, w.packed, gw);
    dync__free_data(memory, x_bytes + y_bytes + w_bytes);
    return out ? DYNC_OK : DYNC_ERR_MEMORY;
}
#endif
