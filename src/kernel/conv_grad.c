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

/* Tiles of an image, which threads may share. */
DYNC__RARE static int64_t dync__cj_weight_units(const dync__cj *v)
{
    return v->groups * ((v->ocb + v->B[0] - 1) / v->B[0]) * v->icb;
}

DYNC__RARE static void dync__cj_weight_part(void *user, int part, int n_parts)
{
    const dync__cj_work *w = user;
    const dync__cj *v = w->v;
    int64_t units = (v->ocb + v->B[0] - 1) / v->B[0], jobs = dync__cj_weight_units(v),
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

/* ---- images in order, or in groups ----------------------------------------------------------- */
/* Bytes: an image's x and gy in blocks, all sums of gw. */
typedef struct dync__cj_weight_room {
    size_t x, gy, sums;
} dync__cj_weight_room;

DYNC__RARE static dync__cj_weight_room dync__cj_weight_needs(const dync__cj *v)
{
    return (dync__cj_weight_room){(size_t)(v->groups * (v->planar ? v->ic : v->icb) * v->in_block),
                                  (size_t)(v->groups * v->ocb * v->out_block),
                                  (size_t)(v->groups * v->ocb * v->icb * v->outer * v->all * v->V) *
                                      sizeof(float)};
}

/* Where an image is too short to be shared out, or too few tiles, groups of images have sums of
 * their own, which are added in order. How many does not depend on the threads, so that the bits do
 * not. */
DYNC__RARE static int64_t dync__cj_weight_groups(const dync__cj *v)
{
    double ns = dync__cj_ns(v), most = ns / DYNC__CJ_GROUP_NS;
    int64_t n = v->s.n, fit = (int64_t)(DYNC__CJ_GROUP_SUMS / dync__cj_weight_needs(v).sums);
    if (ns / (double)n >= DYNC__CJ_IMAGE_NS && dync__cj_weight_units(v) >= DYNC__CJ_GROUPS)
        return 1;
    if (most < (double)n) n = (int64_t)most;
    n = DYNC__MIN(n, fit);
    return DYNC__MAX(DYNC__MIN(n, DYNC__CJ_GROUPS), 1);
}

DYNC__RARE DYNC__FN size_t dync__cj_grad_bytes(const dync__cj *v)
{
    dync__cj_weight_room r = dync__cj_weight_needs(v);
    int64_t groups = dync__cj_weight_groups(v), threads = dync__pool_threads();
    return (r.x + r.gy) * (size_t)DYNC__MIN(groups, threads) + r.sums * (size_t)groups;
}

/* One image into w->packed; pieces: threads for its tiles, 1: this one. */
DYNC__RARE static void dync__cj_weight_image(dync__cj_work *w, int64_t n, int threads, int pieces)
{
    const dync__cj *v = w->v;
    w->in = w->data->in + n * v->s.c * v->h * v->w;
    w->weight = (const float *)w->data->weight + n * v->s.o * v->oh * v->ow;
    if (threads == 1) {
        dync__cj_weight_in(w, 0, 1);
        dync__cj_weight_part(w, 0, 1);
        return;
    }
    dync__pool_run(dync__cj_weight_in, w, threads);
    dync__pool_run(dync__cj_weight_part, w, pieces);
}

/* Groups of images; w->split: how many there are. */
DYNC__RARE static void dync__cj_weight_group(void *user, int part, int n_parts)
{
    dync__cj_work *all = user, w = *all;
    dync__cj_weight_room r = dync__cj_weight_needs(w.v);
    char *memory = dync__alloc_data(r.x + r.gy);
    int64_t groups = all->split, n = w.v->s.n, to = groups * (part + 1) / n_parts;
    if (!memory) {
        DYNC__ATOMIC_STORE(&all->failed, 1);
        return;
    }
    w.x = (float *)(void *)memory;
    w.gy = (float *)(void *)(memory + r.x);
    for (int64_t g = groups * part / n_parts; g < to; g++) {
        w.packed = all->packed + (size_t)g * (r.sums / sizeof(float));
        for (int64_t i = n * g / groups; i < n * (g + 1) / groups; i++)
            dync__cj_weight_image(&w, i, 1, 1);
    }
    dync__free_data(memory, r.x + r.gy);
}

DYNC__BUSY static void dync__cj_weight_add(float *sums, size_t n, int64_t groups)
{
    for (int64_t g = 1; g < groups; g++)
        for (size_t i = 0; i < n; i++) sums[i] += sums[(size_t)g * n + i];
}

/* Image after image, each by all threads where it is long. */
DYNC__RARE static void dync__cj_weight_in_order(dync__cj_work *w, double ns, int threads)
{
    const dync__cj *v = w->v;
    dync__cj_weight_room r = dync__cj_weight_needs(v);
    int pieces = threads == 1
                     ? 1
                     : dync__pool_pieces(threads, ns / (double)v->s.n, dync__cj_weight_units(v));
    char *memory = dync__alloc_data(r.x + r.gy);
    if (!memory) {
        w->failed = 1;
        return;
    }
    w->x = (float *)(void *)memory;
    w->gy = (float *)(void *)(memory + r.x);
    for (int64_t n = 0; n < v->s.n; n++) dync__cj_weight_image(w, n, threads, pieces);
    dync__free_data(memory, r.x + r.gy);
}

DYNC__RARE DYNC__FN dync_status dync__cj_run_weight(const dync__cj *v, const dync__cj_data *d)
{
    dync__cj_weight_room r = dync__cj_weight_needs(v);
    int64_t groups = dync__cj_weight_groups(v);
    size_t bytes = r.sums * (size_t)groups;
    double ns = dync__cj_ns(v);
    int threads = dync__pool_worth(ns);
    dync__cj_work w = {.v = v, .data = d, .split = groups};
    char *sums = dync__alloc_data(bytes);
    if (!sums) return DYNC_ERR_MEMORY;
    w.packed = (float *)(void *)sums;
    memset(sums, 0, bytes);
    if (groups == 1)
        dync__cj_weight_in_order(&w, ns, threads);
    else if (threads > 1)
        dync__pool_run(dync__cj_weight_group, &w, (int)groups);
    else
        dync__cj_weight_group(&w, 0, 1);
    dync__cj_weight_add(w.packed, r.sums / sizeof(float), groups);
    bool out = !w.failed && dync__cj_weight_out(v, w.packed, d->out);
    dync__free_data(sums, bytes);
    return out ? DYNC_OK : DYNC_ERR_MEMORY;
}
#endif
