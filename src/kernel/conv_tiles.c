/* kernel/conv_tiles.c: runs the tiles that conv_plan.c laid out over whole convolutions, data
 * gradients and pooling. Before: conv.c, pooling.c; under it conv_blocks.c, conv_weights.c,
 * conv_wino.c.
 *
 * Per image, group and some rows (a job): the input goes into blocks of V channels with a rim
 * (zeros, or -inf), tiles are computed for all output blocks, and the result goes back into planes:
 * all of that stays in L2. Few channels stay planes. Every output element is summed in the same
 * order whatever the thread count. */
#include "../dync.in.h"
#include "conv_tiles.h"
DYNC__WARM
#if DYNC__JIT

static void dync__cj_tiles(const dync__cj *v, const dync__cj_phase *f, int k, int64_t *args,
                           int64_t first, int64_t rows)
{
    int64_t in = args[DYNC__CA_IN], out = args[DYNC__CA_OUT], place = args[DYNC__CA_POST];
    for (int64_t y = first; y < (f->by_rows ? first + 1 : first + rows); y++)
        for (int r = 0; r < 2 && f->run[r].count; r++) {
            const dync__cj_run_of *run = &f->run[r];
            int64_t down = f->by_rows ? run->first : y, across = f->by_rows ? 0 : run->first;
            args[DYNC__CA_IN] = in + down * v->isy * v->in_row + across * v->isx * v->in_pixel;
            args[DYNC__CA_OUT] = out + down * v->osy * v->out_row + across * v->osx * 4 * v->V;
            args[DYNC__CA_TILES] = run->count;
            if (v->what == DYNC__CJ_WHERE) {
                args[DYNC__CA_POST] = place + down * v->isy * v->w + across * v->isx;
                args[DYNC__CA_POST + 1] = run->step * (f->by_rows ? v->isy * v->w : v->isx);
            }
            args[DYNC__CA_T_IN] = run->step *
                                  (f->by_rows ? v->isy * v->in_row : v->isx * v->in_pixel);
            args[DYNC__CA_T_OUT] = run->step *
                                   (f->by_rows ? v->osy * v->out_row : v->osx * 4 * v->V);
            run->code[k](args);
        }
    args[DYNC__CA_IN] = in;
    args[DYNC__CA_OUT] = out;
    args[DYNC__CA_POST] = place;
}

/* Output blocks [b0, b1) of one group, rows [j, j + rows): blocks x (rim included) into blocks y;
 * line: the number of the first block's plane in the result, for w's `done`, or -1. WHERE: the
 * numbers of places go `found` bytes from y. */
static void dync__cj_blocks(const dync__cj_work *w, int64_t g, int64_t b0, int64_t b1, int64_t j,
                            int64_t rows, const float *x, float *y, int64_t found, int64_t line)
{
    const dync__cj *v = w->v;
    for (int i = 0; i < v->n_phases; i++) {
        const dync__cj_phase *f = &v->phase[i];
        int64_t args[DYNC__CA_WORDS], step = v->icb * f->n_taps * v->K * v->V;
        if (f->jh == 0 || f->jw == 0) continue;
        for (int64_t b = b0, B; b < b1; b += B) {
            B = DYNC__MIN(v->B[0], v->ocb - b);
            args[DYNC__CA_W] = dync__cj_address(w->packed) +
                               4 * (f->weights + (g * v->ocb + b) * step);
            args[DYNC__CA_IN] = dync__cj_address(x) + v->lo_y * v->in_row + v->lo_x * v->in_pixel;
            args[DYNC__CA_OUT] = dync__cj_address(y) + (b - b0) * v->out_block +
                                 f->oy * v->out_row + f->ox * 4 * v->V;
            args[DYNC__CA_BIAS] = dync__cj_address(
                v->what == DYNC__CJ_FORWARD ? w->bias + (g * v->ocb + b) * v->V : w->bias);
            args[DYNC__CA_TAPS] = dync__cj_address(f->at[B != v->B[0]]);
            args[DYNC__CA_NTAPS] = f->n_taps;
            args[DYNC__CA_NA] = v->icb;
            args[DYNC__CA_A_IN] = v->in_block;
            args[DYNC__CA_A_W] = f->n_taps * v->K * B * v->V * 4;
            args[DYNC__CA_A_K] = v->in_block;
            args[DYNC__CA_OUT_B] = v->out_block;
            for (int p = 0; p < v->after.list.n_sources; p++)
                args[DYNC__CA_POST + p] = dync__cj_address(w->after[p] + (g * v->ocb + b) * v->V);
            if (v->what == DYNC__CJ_WHERE) {
                args[DYNC__CA_W] = 0;
                args[DYNC__CA_BIAS] = found;
                args[DYNC__CA_POST] = j * v->isy * v->w;
            }
            int64_t n = DYNC__MIN(rows, f->jh - j),
                    some = f->by_rows || line < 0 ? n
                                                  : DYNC__MAX(DYNC__CJ_NEAR / (B * v->out_row), 1);
            for (int64_t first = 0; first < n; first += some) {
                dync__cj_tiles(v, f, B != v->B[0], args, first, DYNC__MIN(some, n - first));
                if (line >= 0)
                    dync__lines_done(w->data->done, w->data->user, v->oh, line + b - b0, B,
                                     j + first, DYNC__MIN(some, n - first));
            }
        }
    }
}

/* Channels that group g has of `per` a group, of all: depthwise the last one may have fewer. */
DYNC__FN int64_t dync__cj_has(const dync__cj *v, int64_t g, int64_t per)
{
    return v->depthwise ? DYNC__MIN(per, v->s.c - g * per) : per;
}

/* The first element of a window that lies in the picture: the greatest where there is nothing but
 * -inf. */
static int64_t dync__cj_first(const dync__cj_shape *s, int64_t oy, int64_t ox)
{
    int64_t y = oy * s->sy - s->py, x = ox * s->sx - s->px, y_end = y + s->kh * s->dy,
            x_end = x + s->kw * s->dx;
    while (y < 0) y += s->dy;
    while (x < 0) x += s->dx;
    return y < DYNC__MIN(y_end, s->h) && x < DYNC__MIN(x_end, s->w) ? y * s->w + x : 0;
}

/* Numbers of places in blocks, n channels of rows [j, j + rows), to planes of index by way of
 * planes of 32 bits. */
static void dync__cj_index(const dync__cj *v, float *block, float *planes, int64_t n, int64_t j,
                           int64_t rows, int64_t *index)
{
    int64_t line = rows * v->ow;
    dync__cj_move(v, false, planes, line, block, line, n);
    for (int64_t c = 0; c < n; c++, planes += line, index += v->oh * v->ow) {
        int32_t at, none = 0;
        for (int64_t i = 0; i < line; i++) {
            memcpy(&at, planes + i, sizeof at);
            index[i] = at;
            none |= at;
        }
        for (int64_t i = 0; none < 0 && i < line; i++)
            if (index[i] < 0) index[i] = dync__cj_first(&v->s, j + i / v->ow, i % v->ow);
    }
}

static void dync__cj_job(const dync__cj_work *w, int64_t job, float *x, float *y)
{
    const dync__cj *v = w->v;
    int64_t part = job % w->split, chunk = job / w->split % v->chunks,
            g = job / w->split / v->chunks % v->groups;
    int64_t image = job / w->split / v->chunks / v->groups,
            units = (v->ocb + v->B[0] - 1) / v->B[0];
    int64_t b0 = units * part / w->split * v->B[0],
            b1 = DYNC__MIN(units * (part + 1) / w->split * v->B[0], v->ocb);
    int64_t j = chunk * v->rows, rows = DYNC__MIN(v->rows, v->oh - j),
            in_all = v->depthwise ? v->s.c : v->ic * v->groups;
    int64_t out_all = v->depthwise ? v->s.c : v->oc * v->groups, have = dync__cj_has(v, g, v->oc);
    const float *from = w->in + (image * in_all + g * v->ic) * v->h * v->w;
    int64_t channel = image * out_all + g * v->oc + b0 * v->V, result = channel * v->oh * v->ow,
            line = v->form.out_blocks && w->data->done && v->n_phases == 1 ? channel / v->V : -1;
    if (v->bare)
        x = (float *)(uintptr_t)(from + j * v->isy * v->w * v->V);
    else if (v->form.in_blocks)
        dync__cj_in_blocks(v, from, j * v->isy - v->lo_y, v->rows_in, x);
    else
        dync__cj_in(v, from, dync__cj_has(v, g, v->ic), j * v->isy - v->lo_y, v->rows_in, x);
    bool where = v->what == DYNC__CJ_WHERE;
    float *found = where ? y + (v->form.out_blocks ? 0 : v->out_block / 4) : NULL,
          *to = v->form.out_blocks ? w->out + result + j * v->ow * v->V : y;
    if (v->wino.m)
        dync__cj_wino(w, g, b0, b1, j, rows, x, to, line,
                      (char *)y + (v->form.out_blocks ? 0 : v->ocb * v->out_block));
    else
        dync__cj_blocks(w, g, b0, b1, j, rows, x, to,
                        where ? dync__cj_address(found) - dync__cj_address(to) : 0, line);
    if (where)
        dync__cj_index(v, found, found + v->rows * v->ow * v->V, have, j, rows,
                       w->index + (image * out_all + g * v->oc) * v->oh * v->ow + j * v->ow);
    if (v->form.out_blocks && line < 0)
        dync__lines_done(w->data->done, w->data->user, v->oh, channel / v->V, b1 - b0, j, rows);
    for (int64_t b = b0; b < b1 && !v->form.out_blocks; b++) {
        int64_t n = DYNC__MIN(v->V, have - b * v->V);
        dync__cj_move(v, false, w->out + result + (b - b0) * v->V * v->oh * v->ow + j * v->ow,
                      v->oh * v->ow, y + (b - b0) * v->out_block / 4, rows * v->ow, n);
        dync__lines_done(w->data->done, w->data->user, v->oh, channel + (b - b0) * v->V, n, j,
                         rows);
    }
}

static int64_t dync__cj_jobs(const dync__cj_work *w)
{
    return w->v->s.n * w->v->groups * w->v->chunks * w->split;
}

/* Bytes of a thread. */
DYNC__FN void dync__cj_room(const dync__cj *v, size_t *in, size_t *out)
{
    *in = v->bare ? 0 : (size_t)((v->planar ? v->ic : v->icb) * v->in_block);
    *out = v->form.out_blocks ? 0 : (size_t)(v->ocb * v->out_block);
    if (v->what == DYNC__CJ_WHERE) *out += 8 * (size_t)(v->rows * v->ow * v->V);
    if (v->wino.m)
        *out += DYNC__CW_ROOM + (size_t)(v->wino.n * v->wino.n * (v->wino.in + v->wino.out));
}

static void dync__cj_part(void *user, int part, int n_parts)
{
    dync__cj_work *w = user;
    const dync__cj *v = w->v;
    size_t in, out;
    int64_t jobs = dync__cj_jobs(w);
    dync__cj_room(v, &in, &out);
    char *memory = dync__alloc_data(DYNC__MAX(in + out, 1));
    if (!memory) {
        DYNC__ATOMIC_STORE(&w->failed, 1);
        return;
    }
    for (int64_t i = jobs * part / n_parts; i < jobs * (part + 1) / n_parts; i++)
        dync__cj_job(w, i, (float *)(void *)memory, (float *)(void *)(memory + in));
    dync__free_data(memory, DYNC__MAX(in + out, 1));
}

/* Products, and what is moved into blocks and out of them. */
DYNC__FN double dync__cj_ns(const dync__cj *v)
{
    const dync__cj_shape *s = &v->s;
    double out = (double)(s->n * s->o) * (double)(s->oh * s->ow),
           in = (double)(s->n * s->c) * (double)(s->h * s->w),
           products = out * (double)(s->kh * s->kw) * (double)(v->depthwise ? 1 : s->c / s->groups);
    return products / DYNC__MACS_PER_NS + (in + out) * sizeof(float) / DYNC__CJ_BYTES_PER_NS;
}

/* Vectors of channels, in whole blocks, a line each: the bias, the operands of what follows. */
static void dync__cj_channels_of(const dync__cj *v, const dync__cj_data *d, int64_t line,
                                 const float **after, float *padded)
{
    int64_t per = v->depthwise ? v->V : v->oc;
    for (int k = 0; k <= v->after.list.n_sources; k++) {
        const float *from = k ? d->after[k - 1] : d->bias;
        int64_t step = k ? v->after.step[k - 1] : 1;
        float *to = padded + k * line;
        memset(to, 0, (size_t)line * sizeof *to);
        for (int64_t i = 0; from && i < v->s.o; i++)
            to[i / per * v->ocb * v->V + i % per] = from[i * step];
        if (k) after[k - 1] = to;
    }
}

/* The same of bytes: a bias of I32, and the offsets that stand behind the packed weights. */
static void dync__cj_offsets(const dync__cj *v, const void *bias, const dync__packed *packed,
                             int64_t line, float *padded)
{
    const uint32_t *offset = (const uint32_t *)(const void *)(packed->at + 4 * (size_t)v->pack),
                   *add = bias;
    uint32_t *to = (uint32_t *)(void *)padded;
    memset(to, 0, (size_t)line * sizeof *to);
    for (int64_t i = 0; i < v->s.o; i++)
        to[i / v->oc * v->ocb * v->V + i % v->oc] = offset[i] + (add ? add[i] : 0);
}

DYNC__FN dync_status dync__cj_run_places(dync__cj *v, const dync__cj_data *d)
{
    bool forward = v->what == DYNC__CJ_FORWARD;
    int64_t line = v->groups * v->ocb * v->V;
    size_t bytes = (size_t)(line * (1 + v->after.list.n_sources)) * sizeof(float);
    const float *after[DYNC__AFTER_SOURCES];
    dync__cj_work w = {.v = v,
                       .in = d->in,
                       .after = after,
                       .out = d->out,
                       .index = d->index,
                       .split = 1,
                       .data = d};
    double ns = dync__cj_ns(v);
    int threads = dync__pool_worth(ns);
    dync__packed *packed = d->weight ? dync__cj_weights(v, d->weight, d->owner) : NULL;
    float *padded = forward ? dync__alloc_data(bytes) : NULL;
    if ((d->weight && !packed) || (forward && !padded)) {
        dync__packed_put(packed);
        if (padded) dync__free_data(padded, bytes);
        return DYNC_ERR_MEMORY;
    }
    w.bias = forward ? padded : d->bias;
    if (v->s.dtype == DYNC_I8)
        dync__cj_offsets(v, d->bias, packed, line, padded);
    else if (forward)
        dync__cj_channels_of(v, d, line, after, padded);
    w.packed = packed ? (float *)(void *)packed->at : NULL;
    if (dync__cj_jobs(&w) < threads)
        w.split = DYNC__MIN((v->ocb + v->B[0] - 1) / v->B[0],
                            (threads + dync__cj_jobs(&w) - 1) / dync__cj_jobs(&w));
    threads = (int)DYNC__MIN(threads, dync__cj_jobs(&w));
    if (threads > 1)
        dync__pool_run(dync__cj_part, &w, dync__pool_pieces(threads, ns, dync__cj_jobs(&w)));
    else
        dync__cj_part(&w, 0, 1);
    dync__packed_put(packed);
    if (padded) dync__free_data(padded, bytes);
    return w.failed ? dync__fail_memory(0) : DYNC_OK;
}
#endif
