/* kernel/conv_plan.c: how a convolution, one of its gradients or pooling is cut into tiles of
 * codegen/conv_code.h. Before: conv.c and pooling.c decide by dync__cj_new whether a call goes
 * here; after: conv_tiles.c and conv_grad.c run what is laid out here.
 *
 * A forward convolution is one phase, a sum over taps (window elements) of displaced inputs. The
 * data gradient of stride s is s*s phases: the places of gx that agree modulo s see the same taps
 * of gy. Depthwise convolutions and pooling work on blocks of V channels as if each block were a
 * group. The weight gradient has pixels as its long sum and lists of places of gw as its tiles. */
#include "../dync.in.h"
#include "conv_tiles.h"
DYNC__WARM
#if DYNC__JIT

/* Places of a tile: as many as fill the registers, evenly over n. */
DYNC__RARE static int64_t dync__cj_places(int64_t n, int64_t most, int B)
{
    int64_t best = 1, least = INT64_MAX;
    for (int64_t p = 1; p <= DYNC__MIN(n, most); p++) {
        int64_t rest = n % p,
                cost = n / p * (DYNC__MAX(p * B, 8) + 2) + (rest ? DYNC__MAX(rest * B, 8) + 2 : 0);
        if (cost <= least) {
            least = cost;
            best = p;
        }
    }
    return best;
}

/* Code of a tile of `high` rows times `across` columns for each of the two counts of blocks. */
DYNC__RARE static bool dync__cj_code(dync__cj *v, int64_t high, int64_t across, int flags,
                                     dync__ccode *code)
{
    for (int k = 0; k < 2 && v->B[k]; k++) {
        dync__ctile t = dync__cj_tile(v);
        t.op = (int8_t)v->op;
        t.flags = (int8_t)(flags | (v->planar ? DYNC__CT_PLANES : 0));
        t.P = (int8_t)(high * across);
        t.B = (int8_t)v->B[k];
        t.K = (int32_t)v->K;
        t.in_k = v->planar ? 0 : 4;
        t.w_b = 4 * v->V;
        t.w_k = t.B * t.w_b;
        if (v->what == DYNC__CJ_WHERE) {
            t.across = (int8_t)across;
            t.w_k = high > 1 ? (int32_t)(v->isy * v->w) : 0;
            t.w_b = (int32_t)v->isx;
        }
        t.after = v->after.list;
        for (int p = 0; p < t.P; p++) {
            t.in_at[p] =
                (int32_t)(p / across * v->isy * v->in_row + p % across * v->isx * v->in_pixel);
            t.out_at[p] =
                (int32_t)(p / across * v->osy * v->out_row + p % across * v->osx * 4 * v->V);
        }
        if (!(code[k] = dync__ctile_code(&v->held, &t))) return false;
    }
    return true;
}

DYNC__RARE static bool dync__cj_phase_code(dync__cj *v, dync__cj_phase *f)
{
    int regs = v->t->n_vectors, flags = v->what == DYNC__CJ_FORWARD   ? DYNC__CT_BIAS
                                        : v->what == DYNC__CJ_AVERAGE ? DYNC__CT_DIVIDE
                                                                      : 0;
    int64_t most = DYNC__MIN((regs - (v->after.list.n ? DYNC__CT_FREE : v->B[0] + 1)) / v->B[0],
                             DYNC__CT_PLACES),
            n = f->jw;
    if (v->what == DYNC__CJ_WHERE) most = (regs - 4) / 2;
    if (f->jh == 0 || f->jw == 0) return true;
    f->by_rows = 2 * f->jw <= most && v->rows >= f->jh;
    int64_t across = f->by_rows ? f->jw : 1, p;
    if (f->by_rows) {
        n = f->jh;
        most /= f->jw;
    }
    p = dync__cj_places(n, most, v->B[0] * (int)across);
    f->run[0] = (dync__cj_run_of){.first = 0, .count = n / p, .step = p};
    f->run[1] = (dync__cj_run_of){.first = n / p * p, .count = n % p != 0, .step = n % p};
    for (int i = 0; i < 2; i++)
        if (f->run[i].count &&
            !dync__cj_code(v, f->by_rows ? f->run[i].step : 1, f->by_rows ? f->jw : f->run[i].step,
                           flags, f->run[i].code))
            return false;
    return true;
}

/* Taps of the phase whose places of the result are r modulo the stride. */
DYNC__RARE static bool dync__cj_phase_taps(dync__cj *v, dync__cj_phase *f, int64_t ry, int64_t rx)
{
    const dync__cj_shape *s = &v->s;
    bool gradient = v->what == DYNC__CJ_INPUT;
    size_t n = (size_t)(s->kh * s->kw);
    f->tap = dync__arena_alloc(&v->arena, n * sizeof *f->tap);
    for (int k = 0; k < 2; k++)
        if (!(f->at[k] = dync__arena_alloc(&v->arena, n * sizeof **f->at))) return false;
    if (!f->tap) return false;
    f->oy = ry;
    f->ox = rx;
    f->jh = gradient ? (s->h - ry + s->sy - 1) / s->sy : s->oh;
    f->jw = gradient ? (s->w - rx + s->sx - 1) / s->sx : s->ow;
    for (int64_t ky = 0; ky < s->kh; ky++)
        for (int64_t kx = 0; kx < s->kw; kx++) {
            dync__cj_tap t = {ky * s->dy - s->py, kx * s->dx - s->px, (int32_t)(ky * s->kw + kx)};
            if (gradient) {
                t.y = ry - t.y;
                t.x = rx - t.x;
                if (t.y % s->sy || t.x % s->sx) continue;
                t.y /= s->sy;
                t.x /= s->sx;
            }
            f->tap[f->n_taps++] = t;
            v->lo_y = DYNC__MAX(v->lo_y, -t.y);
            v->lo_x = DYNC__MAX(v->lo_x, -t.x);
            v->hi_y = DYNC__MAX(v->hi_y, t.y);
            v->wide = DYNC__MAX(v->wide, (f->jw - 1) * v->isx + t.x + 1);
        }
    return true;
}

DYNC__RARE static void dync__cj_channels(dync__cj *v)
{
    const dync__cj_shape *s = &v->s;
    bool gradient = v->what == DYNC__CJ_INPUT;
    int64_t gc = s->c / s->groups, go = s->o / s->groups;
    v->t = dync__target_now();
    v->depthwise = (gc == 1 && go == 1 && s->groups > 1 && !s->narrow) || v->what >= DYNC__CJ_MAX;
    int64_t out = v->depthwise ? s->c : gradient ? gc : go, in = gradient ? go : gc;
    /* 17 .. 24: three vectors of 8, not two of 16 */
    bool half = (out + 15) % 16 < 8 && out <= 40 &&
                (in < 8 || (in + 7) / 8 * 6 < (in < 16 ? in : (in + 15) / 16 * 16)) &&
                !v->depthwise && !v->form.in_blocks && !v->form.out_blocks;
    v->V = DYNC__MIN(out > 8 && !half ? 16 : out > 4 ? 8 : 4, v->t->vector_bytes / 4);
    v->op = v->what == DYNC__CJ_WHERE     ? DYNC__CT_WHERE
            : v->what == DYNC__CJ_MAX     ? DYNC__CT_MAX
            : v->what == DYNC__CJ_AVERAGE ? DYNC__CT_SUM
            : v->depthwise                ? DYNC__CT_VECTOR
            : !s->narrow                  ? DYNC__CT_BROADCAST
            : s->dtype == DYNC_BF16       ? DYNC__CT_PAIRS
                                          : DYNC__CT_DOT;
    v->groups = v->depthwise ? (s->c + v->V - 1) / v->V : s->groups;
    v->ic = v->depthwise ? v->V : gradient ? go : gc;
    v->oc = v->depthwise ? v->V : out;
    v->planar = !v->depthwise && v->ic < v->V;
    v->icb = v->planar || v->depthwise ? 1 : (v->ic + v->V - 1) / v->V;
    v->ocb = (v->oc + v->V - 1) / v->V;
    v->K = v->depthwise ? 1 : v->planar ? v->ic : v->V;
    v->B[0] = v->ocb <= 3 ? (int)v->ocb : 2;
    if (v->t->n_vectors < 32 && v->B[0] == 3) v->B[0] = 2;
    v->B[1] = (int)(v->ocb % v->B[0]);
    v->h = gradient ? s->oh : s->h;
    v->w = gradient ? s->ow : s->w;
    v->oh = gradient ? s->h : s->oh;
    v->ow = gradient ? s->w : s->ow;
    v->isy = gradient ? 1 : s->sy;
    v->isx = gradient ? 1 : s->sx;
    v->osy = gradient ? s->sy : 1;
    v->osx = gradient ? s->sx : 1;
}

/* Rows of a job and where things lie in its memory. False: too far apart for the code. */
DYNC__RARE static bool dync__cj_rows(dync__cj *v)
{
    v->wide = v->lo_x + DYNC__MAX(v->wide, v->w);
    v->in_pixel = v->planar ? 4 : 4 * v->V;
    v->in_row = v->wide * v->in_pixel;
    v->out_row = v->ow * 4 * v->V;
    int64_t bytes = v->isy * v->in_row * (v->planar ? v->ic : v->icb) + v->ocb * v->out_row;
    if (!v->wino.m) v->rows = v->oh;
    if (!v->wino.m && v->n_phases == 1 && v->pack * 4 <= DYNC__CJ_WEIGHTS &&
        v->what != DYNC__CJ_WEIGHT && v->ow >= 8)
        v->rows = DYNC__MIN(v->oh, DYNC__MAX(DYNC__CJ_L2 / DYNC__MAX(bytes, 1), 8));
    v->chunks = (v->oh + v->rows - 1) / v->rows;
    int64_t threads = dync__pool_threads();
    if (v->chunks > 1 && v->s.n * v->groups < threads)
        v->chunks = (v->chunks + threads - 1) / threads * threads;
    /* of one length: threads end together */
    if (!v->wino.m) v->rows = DYNC__MAX((v->oh + v->chunks - 1) / v->chunks, 1);
    v->chunks = (v->oh + v->rows - 1) / v->rows;
    v->rows_in = v->lo_y + ((v->n_phases == 1 ? v->rows : v->phase[0].jh) - 1) * v->isy + v->hi_y +
                 1;
    v->in_block = v->rows_in * v->in_row;
    v->out_block = (v->form.out_blocks ? v->oh : v->rows) * v->out_row;
    v->bare = v->form.in_blocks && v->lo_y == 0 && v->lo_x == 0 && v->wide == v->w &&
              (v->oh - 1) * v->isy + v->hi_y < v->h && v->n_phases == 1 && !v->wino.m;
    if (v->bare) v->in_block = v->h * v->in_row;
    return v->in_block * v->V < INT32_MAX / 2 && v->out_block * 4 < INT32_MAX / 2;
}

/* WEIGHT: lists of up to P places of gw that have one base: some channels of one tap; where
 * channels are few, some (channel, column) of a row of taps; depthwise: some taps. */
DYNC__RARE static bool dync__cj_lists(dync__cj *v)
{
    const dync__cj_shape *s = &v->s;
    const dync__cj_phase *f = &v->phase[0];
    int regs = v->t->n_vectors, most = DYNC__MIN((regs - v->B[0] - 1) / v->B[0], DYNC__CT_PLACES);
    int64_t taps = s->kh * s->kw, all = v->depthwise ? taps : v->planar ? v->ic * taps : v->V;
    if (!v->depthwise && !v->planar) most = v->t->n_vectors >= 32 && v->B[0] < 3 ? 8 : 4;
    v->outer = v->depthwise || v->planar ? 1 : taps;
    v->all = all;
    bool apart = !v->depthwise && !v->planar; /* else places lie by rows of the picture */
    v->n_lists = (int)((all + most - 1) / most);
    if (v->n_lists > DYNC__CJ_LISTS) return false;
    for (int l = 0; l < v->n_lists; l++) {
        dync__ctile t = dync__cj_tile(v);
        int64_t from = all * l / v->n_lists, to = all * (l + 1) / v->n_lists;
        t.op = (int8_t)v->op;
        t.flags = (int8_t)(DYNC__CT_ADD | (apart ? DYNC__CT_APART : 0));
        v->list[l].first = (int)from;
        v->list[l].P = t.P = (int8_t)(to - from);
        t.K = apart && s->ow > DYNC__CT_UNROLL ? 0 : (int32_t)s->ow;
        t.in_k = (int32_t)(v->isx * v->in_pixel);
        t.w_k = 4 * v->V;
        t.w_b = apart ? 0 : (int32_t)(s->oh * v->out_row);
        for (int p = 0; p < t.P; p++) {
            int64_t e = from + p,
                    tap = v->depthwise ? e
                          : v->planar  ? e / v->ic
                                       : 0,
                    channel = v->depthwise ? 0
                              : v->planar  ? e % v->ic
                                           : e;
            t.in_at[p] = (int32_t)(channel * (v->planar ? v->in_block : 4));
            if (v->planar || v->depthwise)
                t.in_at[p] += (int32_t)(f->tap[tap].y * v->in_row + f->tap[tap].x * v->in_pixel);
        }
        for (int k = 0; k < 2 && v->B[k]; k++) {
            t.B = (int8_t)v->B[k];
            t.out_b = 4 * v->V;
            for (int p = 0; p < t.P; p++) t.out_at[p] = p * t.B * t.out_b;
            if (!(v->list[l].code[k] = dync__ctile_code(&v->held, &t))) return false;
        }
    }
    return true;
}

DYNC__RARE static bool dync__cj_make(dync__cj *v)
{
    bool weight = v->what == DYNC__CJ_WEIGHT;
    dync__cj_channels(v);
    int64_t per_in = v->depthwise ? v->s.c : v->ic, per_out = v->depthwise ? v->s.c : v->oc;
    bool blocks = v->form.in_blocks || v->form.out_blocks;
    if ((blocks && v->V != dync__cj_lanes()) || (v->form.in_blocks && per_in % v->V) ||
        (v->form.out_blocks && per_out % v->V))
        return false;
    if ((v->what == DYNC__CJ_WEIGHT && v->s.ow * v->V > 1 << 20) ||
        (v->what == DYNC__CJ_WHERE && v->h * v->w > 1 << 29))
        return false;
    v->n_phases = (int)(v->osy * v->osx);
    if (v->n_phases > 64 || v->s.kh * v->s.kw > 4096) return false;
    v->phase = dync__arena_alloc(&v->arena, (size_t)v->n_phases * sizeof *v->phase);
    if (!v->phase) return false;
    memset(v->phase, 0, (size_t)v->n_phases * sizeof *v->phase);
    for (int i = 0; i < v->n_phases; i++) {
        dync__cj_phase *f = &v->phase[i];
        if (!dync__cj_phase_taps(v, f, i / v->osx, i % v->osx)) return false;
        f->weights = v->pack;
        v->pack += v->groups * v->ocb * v->icb * f->n_taps * v->K * v->V;
    }
    if (v->s.winograd && !dync__cj_wino_open(v)) return false;
    if (!dync__cj_rows(v)) return false;
    int64_t most = DYNC__MIN((v->t->n_vectors - v->B[0] - 1) / v->B[0], DYNC__CT_PLACES);
    if (v->wino.m && !dync__cj_wino_code(v, dync__cj_places(v->wino.tiles, most, v->B[0])))
        return false;
    for (int i = 0; i < v->n_phases; i++) {
        dync__cj_phase *f = &v->phase[i];
        for (int t = 0; t < 2 * f->n_taps; t++) {
            const dync__cj_tap *tap = &f->tap[t / 2];
            f->at[t % 2][t / 2] = (dync__ctap){tap->y * v->in_row + tap->x * v->in_pixel,
                                               t / 2 * v->K * v->B[t % 2] * v->V * 4};
            if (v->what == DYNC__CJ_WHERE) f->at[t % 2][t / 2].w = tap->y * v->w + tap->x;
        }
        if (!weight && !v->wino.m && !dync__cj_phase_code(v, f)) return false;
    }
    if (weight && !dync__cj_lists(v)) return false;
    for (int i = 0; i < 6; i++)
        if (!(v->move[i / 3][i % 3] = dync__cblock_code(&v->held, v->V, 4 << i % 3, i >= 3)))
            return false;
    return true;
}

DYNC__FN int dync__cj_lanes(void)
{
    const dync__target *t = dync__target_now();
    return t ? t->vector_bytes / 4 : 0;
}

DYNC__RARE DYNC__FN dync__cj *dync__cj_new(const dync__cj_shape *s, int what,
                                           const dync__cj_form *form)
{
    const dync__target *t = dync__target_now();
    int narrow = s->dtype == DYNC_BF16 ? DYNC_BF16 : DYNC_U8;
    if (s->n * s->c * s->o * s->h * s->w * s->oh * s->ow == 0 || s->kh * s->kw == 0 || !t ||
        (s->narrow && t->dot(t, narrow) != DYNC__DOT_ONE))
        return NULL;
    dync__error_guard guard;
    dync__error_guard_begin(&guard); /* without memory the portable form serves */
    dync__cj *v = dync__calloc(sizeof *v);
    if (v) {
        v->held.arena = &v->arena;
        v->s = *s;
        v->what = what;
        v->form = *form;
        if (form->after) v->after = *form->after;
        if (!dync__cj_make(v)) {
            dync__cj_free(v);
            v = NULL;
        }
    }
    dync__error_guard_end(&guard);
    return v;
}

DYNC__FN dync_status dync__cj_run(dync__cj *v, const dync__cj_data *d)
{
    return v->what == DYNC__CJ_WEIGHT ? dync__cj_run_weight(v, d) : dync__cj_run_places(v, d);
}

DYNC__RARE DYNC__FN size_t dync__cj_bytes(const dync__cj *v)
{
    size_t in, out, line = (size_t)v->V * sizeof(float),
                    table = (size_t)(v->K * v->s.kh * v->s.kw) * line;
    if (v->what == DYNC__CJ_WEIGHT) return dync__cj_grad_bytes(v) + table;
    dync__cj_room(v, &in, &out);
    return (in + out) * (size_t)dync__pool_threads() + (size_t)v->pack * sizeof(float) + table +
           (size_t)(v->groups * v->ocb * (1 + v->after.list.n_sources)) * line;
}

DYNC__FN bool dync__cj_by_words(const dync__cj *v) { return v && v->s.narrow; }

DYNC__RARE DYNC__FN void dync__cj_free(dync__cj *v)
{
    if (!v) return;
    dync__packed_forget(v->kept);
    dync__ctile_drop(&v->held);
    dync__arena_free(&v->arena);
    dync__free(v, sizeof *v);
}

#else
DYNC__FN int dync__cj_lanes(void) { return 0; }
DYNC__RARE DYNC__FN dync__cj *dync__cj_new(const dync__cj_shape *s, int what,
                                           const dync__cj_form *form)
{
    (void)s, (void)what, (void)form;
    return NULL;
}
DYNC__RARE DYNC__FN void dync__cj_free(dync__cj *v) { (void)v; }
DYNC__RARE DYNC__FN size_t dync__cj_bytes(const dync__cj *v) { return (void)v, 0; }
DYNC__FN bool dync__cj_by_words(const dync__cj *v) { return (void)v, false; }
DYNC__FN dync_status dync__cj_run(dync__cj *v, const dync__cj_data *d)
{
    (void)v, (void)d;
    return DYNC_ERR_INTERNAL;
}
#endif
