/* kernel/conv_jit.c: drives the tiles of codegen/x86_conv.c over whole convolutions, their
 * gradients and pooling. Before: conv.c and pooling.c decide by dync__cj_new whether a call goes
 * here.
 *
 * A forward convolution is one phase, a sum over taps (window elements) of displaced inputs. The
 * data gradient of stride s is s*s phases: the places of gx that agree modulo s see the same taps
 * of gy. Depthwise convolutions and pooling work on blocks of V channels as if each block were a
 * group. Per image, group and some rows (a job): the input goes into blocks of V channels with a
 * rim (zeros, or -inf), tiles are computed for all output blocks, and the result goes back into
 * planes: all of that stays in L2. Few channels stay planes. The weight gradient has pixels as its
 * long sum: images and rows in order, by one thread for each piece of gw. Every output element is
 * summed in the same order whatever the thread count. */
#include "../dync.in.h"
#include "conv_jit.h"
#if DYNC__JIT_X86

enum {
    DYNC__CJ_L2 = 512 * 1024,
    DYNC__CJ_WEIGHTS = 1024 * 1024,
    DYNC__CJ_LISTS = 32,
    DYNC__CJ_SUM = 192,
    DYNC__CJ_NEAR = 16 * 1024 /* bytes of the result that are told of at once */
};

/* displacement; number in the window */
typedef struct dync__cj_tap {
    int64_t y, x;
    int32_t from;
} dync__cj_tap;
/* tiles of one code; [1]: fewer blocks */
typedef struct dync__cj_run_of {
    int64_t first, count, step;
    dync__ccode code[2];
} dync__cj_run_of;
typedef struct dync__cj_phase {
    /* places; the first one in out; where its packed weights begin */
    int64_t jh, jw, oy, ox, weights;
    int n_taps;
    dync__cj_tap *tap;
    /* as the code wants it: byte offsets; of its two counts of blocks */
    dync__ctap *at[2];
    bool by_rows; /* tiles hold whole rows and follow each other downwards */
    dync__cj_run_of run[2];
} dync__cj_phase;
/* Weights as the tiles want them, and what they were made from. */
typedef struct dync__cj_packed {
    int32_t users;
    uint32_t version;
    uint64_t storage, sum; /* sum of the elements, where versions do not tell */
    const float *from;
    float *at;
} dync__cj_packed;
struct dync__cj {
    dync__arena arena;
    dync__cheld held;
    dync__mutex lock;
    dync__cj_packed *kept; /* under the lock */
    int32_t missed;        /* how often in a row it was no use */
    dync__cj_shape s;
    dync__cj_form form;
    dync__cj_after after;
    /* the input is in blocks and has no rim: it is taken as it is */
    bool bare;
    int what, op, isa, V, B[2], n_phases, n_lists;
    bool planar, depthwise;
    int64_t groups, ic, oc, icb, ocb, K;      /* of a group: channels, blocks */
    int64_t h, w, oh, ow, isy, isx, osy, osx; /* of what goes in and comes out */
    /* rim above and left; the farthest tap below; width with rim */
    int64_t lo_y, lo_x, hi_y, wide;
    int64_t rows, chunks, rows_in; /* output rows of a job, input rows it needs */
    /* bytes; floats of packed weights */
    int64_t in_pixel, in_row, in_block, out_row, out_block, pack;
    dync__cj_phase *phase;
    /* lines from blocks to planes and back, of 4, 8, 16 pixels or more */
    dync__ccode move[2][3];
    /* WEIGHT: times the lists are gone through for a block of channels; their places */
    int64_t outer, all;
    struct {
        dync__ccode code[2];
        int first, P;
    } list[DYNC__CJ_LISTS];
    /* m x m places from n x n transformed ones; m 0: not so */
    struct {
        int m, n;
        int64_t across, tiles; /* of a line; of a job */
        /* from one transformed element to the next: bytes, bytes, floats */
        int64_t in, out, weights;
        /* out: + 1 the last column, + 2 the last row of tiles, where they are cut off */
        dync__ccode in_code, weight_code, out_code[4];
        dync__cj_run_of run[2];
    } wino;
};

/* ---- planes and blocks ----------------------------------------------------------------------- */

/* n pixels of c <= V channels; planes `plane` floats apart. */
static void dync__cj_move(const dync__cj *v, bool to_blocks, float *planes, int64_t plane,
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
    if (!max)
        memset(to, 0, (size_t)n * sizeof *to);
    else
        for (int64_t i = 0; i < n; i++) to[i] = x;
}

/* Rows [y, y + rows) of c channels of height h and width w, with the rim, which may lie outside. */
static void dync__cj_in(const dync__cj *v, const float *x, int64_t c, int64_t y, int64_t rows,
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
static void dync__cj_in_blocks(const dync__cj *v, const float *x, int64_t y, int64_t rows,
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

/* ---- making ---------------------------------------------------------------------------------- */

DYNC__RARE static dync__ctile dync__cj_tile(const dync__cj *v)
{
    dync__ctile t;
    memset(&t, 0, sizeof t);
    t.isa = (int8_t)v->isa;
    t.vl = (int8_t)(v->V == 16 ? 2 : v->V == 8 ? 1 : 0);
    return t;
}

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
        t.flags = (int8_t)flags;
        t.P = (int8_t)(high * across);
        t.B = (int8_t)v->B[k];
        t.K = (int32_t)v->K;
        t.in_k = (int32_t)(v->planar ? v->in_block : 4);
        t.w_b = 4 * v->V;
        t.w_k = t.B * t.w_b;
        t.out_b = (int32_t)v->out_block;
        if (v->what == DYNC__CJ_WHERE) {
            t.across = (int8_t)across;
            t.w_k = (int32_t)(v->isy * v->w);
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
    int regs = v->isa == 2 ? 32 : 16, flags = v->what == DYNC__CJ_FORWARD   ? DYNC__CT_BIAS
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
    v->isa = dync__conv_isa();
    v->depthwise = (gc == 1 && go == 1 && s->groups > 1) || v->what >= DYNC__CJ_MAX;
    int64_t out = v->depthwise ? s->c : gradient ? gc : go, in = gradient ? go : gc;
    /* 17 .. 24: three vectors of 8, not two of 16 */
    bool half = (out + 15) % 16 < 8 && out <= 40 &&
                (in < 8 || (in + 7) / 8 * 6 < (in < 16 ? in : (in + 15) / 16 * 16)) &&
                !v->depthwise && !v->form.in_blocks && !v->form.out_blocks;
    v->V = v->isa == 2 && out > 8 && !half ? 16 : out > 4 ? 8 : 4;
    v->op = v->what == DYNC__CJ_WHERE     ? DYNC__CT_WHERE
            : v->what == DYNC__CJ_MAX     ? DYNC__CT_MAX
            : v->what == DYNC__CJ_AVERAGE ? DYNC__CT_SUM
            : v->depthwise                ? DYNC__CT_VECTOR
                                          : DYNC__CT_BROADCAST;
    v->groups = v->depthwise ? (s->c + v->V - 1) / v->V : s->groups;
    v->ic = v->depthwise ? v->V : gradient ? go : gc;
    v->oc = v->depthwise ? v->V : out;
    v->planar = !v->depthwise && v->ic < v->V;
    v->icb = v->planar || v->depthwise ? 1 : (v->ic + v->V - 1) / v->V;
    v->ocb = (v->oc + v->V - 1) / v->V;
    v->K = v->depthwise ? 1 : v->planar ? v->ic : v->V;
    v->B[0] = v->ocb <= 3 ? (int)v->ocb : 2;
    if (v->isa < 2 && v->B[0] == 3) v->B[0] = 2;
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

/* ---- Winograd: tiles of m x m places by (m + 2)^2 products a channel instead of 9 m^2
 * A job's input becomes U [element][block of in channels][tile][V]; each element is a matrix
 * product with its transformed weights, by the tiles of a 1x1 convolution; the results turn back
 * into places, and what follows is done to them. */
DYNC__RARE static dync__ccode dync__cj_wino_turn(dync__cj *v, int which, int64_t row,
                                                 int64_t column, int64_t to_row, int64_t to_column,
                                                 int64_t high, int64_t wide)
{
    dync__ctile t = dync__cj_tile(v);
    int m = v->wino.m;
    t.op = DYNC__CT_TURN;
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
DYNC__RARE static bool dync__cj_wino_open(dync__cj *v)
{
    enum { ROOM = 384 * 1024, FEW = 14 };
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
    int64_t rows = DYNC__MIN(DYNC__MAX(ROOM / line, (FEW + across - 1) / across), down);
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

DYNC__RARE static bool dync__cj_wino_code(dync__cj *v)
{
    int64_t m = v->wino.m, n = v->wino.n, pixel = 4 * v->V, tiles = v->wino.tiles,
            lines = v->oh % m, columns = v->ow % m;
    int64_t most = ((v->isa == 2 ? 32 : 16) - v->B[0] - 1) / v->B[0],
            p = dync__cj_places(tiles, DYNC__MIN(most, DYNC__CT_PLACES), v->B[0]);
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
        dync__cj_wino_turn(v, DYNC__CW_IN, v->in_row, pixel, n * v->wino.in, v->wino.in, 0, 0);
    v->wino.weight_code = dync__cj_wino_turn(v, DYNC__CW_WEIGHT, 3 * pixel, pixel,
                                             n * v->wino.weights * 4, v->wino.weights * 4, 0, 0);
    for (int i = 0; i < 4; i++) {
        int64_t high = i / 2 ? lines : m, wide = i % 2 ? columns : m;
        v->wino.out_code[i] = high && wide
                                  ? dync__cj_wino_turn(v, DYNC__CW_OUT, n * v->wino.out,
                                                       v->wino.out, v->out_row, pixel, high, wide)
                                  : NULL;
        if (high && wide && !v->wino.out_code[i]) return false;
    }
    return v->wino.in_code && v->wino.weight_code;
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
    int regs = v->isa == 2 ? 32 : 16,
        most = DYNC__MIN((regs - v->B[0] - 1) / v->B[0], DYNC__CT_PLACES);
    int64_t taps = s->kh * s->kw, all = v->depthwise ? taps : v->planar ? v->ic * taps : v->V;
    if (!v->depthwise && !v->planar) most = v->isa == 2 && v->B[0] < 3 ? 8 : 4;
    v->outer = v->depthwise || v->planar ? 1 : taps;
    v->all = all;
    v->n_lists = (int)((all + most - 1) / most);
    if (v->n_lists > DYNC__CJ_LISTS) return false;
    for (int l = 0; l < v->n_lists; l++) {
        dync__ctile t = dync__cj_tile(v);
        int64_t from = all * l / v->n_lists, to = all * (l + 1) / v->n_lists;
        t.op = (int8_t)v->op;
        t.flags = DYNC__CT_ADD;
        v->list[l].first = (int)from;
        v->list[l].P = t.P = (int8_t)(to - from);
        t.K = (int32_t)s->ow;
        t.in_k = (int32_t)(v->isx * v->in_pixel);
        t.w_k = 4 * v->V;
        t.w_b = (int32_t)(s->oh * v->out_row);
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
    if (v->isa == 0 || (v->what == DYNC__CJ_WEIGHT && v->s.ow * v->V > 1 << 20) ||
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
    if (!dync__cj_rows(v) || (v->wino.m && !dync__cj_wino_code(v))) return false;
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
        if (!(v->move[i / 3][i % 3] =
                  dync__cblock_code(&v->held, v->isa, v->V, 4 << i % 3, i >= 3)))
            return false;
    return true;
}

DYNC__FN int dync__cj_lanes(void) { return 8 * dync__conv_isa(); }

DYNC__RARE DYNC__FN dync__cj *dync__cj_new(const dync__cj_shape *s, int what,
                                           const dync__cj_form *form)
{
    if (s->n * s->c * s->o * s->h * s->w * s->oh * s->ow == 0 || s->kh * s->kw == 0 ||
        dync__conv_isa() == 0)
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

/* ---- weights --------------------------------------------------------------------------------- */

/* Block b of out channels and block a of in channels of a group, between where the layer has them
 * and a table [in channel, window element][V]. Depthwise: g is the block. */
static void dync__cj_lines(const dync__cj *v, bool to_table, float *w, int64_t g, int64_t b,
                           int64_t a, float *table)
{
    int64_t taps = v->s.kh * v->s.kw, gc = v->s.c / v->s.groups, go = v->s.o / v->s.groups,
            k = DYNC__MIN(v->K, v->ic - a * v->K);
    int64_t n = DYNC__MIN(v->V, (v->depthwise ? v->s.c - g * v->V : v->oc) - b * v->V);
    if (v->depthwise)
        w += g * v->V * taps;
    else if (v->what == DYNC__CJ_INPUT)
        w += (g * go + a * v->K) * gc * taps + b * v->V * taps;
    else
        w += (g * go + b * v->V) * gc * taps + a * v->K * taps;
    if (v->depthwise || v->what != DYNC__CJ_INPUT) {
        dync__cj_move(v, to_table, w, v->depthwise ? taps : gc * taps, table,
                      (v->depthwise ? 1 : k) * taps, n);
        return;
    }
    for (int64_t i = 0; i < k; i++, w += gc * taps, table += taps * v->V) {
        if (taps == 1)
            dync__copy_line(table, w, (size_t)n * sizeof *w);
        else
            dync__cj_move(v, true, w, taps, table, taps, n);
    }
}

/* Packed: phase, group, out blocks by ones, twos or threes as the tiles take them, in blocks, tap,
 * in channel, out channel. */
DYNC__RARE static bool dync__cj_pack(const dync__cj *v, const float *w, float *to)
{
    int64_t taps = v->s.kh * v->s.kw;
    size_t line = (size_t)v->V * sizeof *to, bytes = (size_t)(v->K * taps) * line;
    float *table = dync__alloc_data(bytes);
    if (!table) return false;
    for (int64_t i = 0; i < v->groups * v->ocb * v->icb; i++) {
        int64_t a = i % v->icb, b = i / v->icb % v->ocb, g = i / v->icb / v->ocb,
                first = b / v->B[0] * v->B[0], B = DYNC__MIN(v->B[0], v->ocb - first);
        memset(table, 0, bytes);
        dync__cj_lines(v, true, (float *)(uintptr_t)w, g, b, a, table);
        for (int64_t k = 0; v->wino.m && k < v->K; k++) {
            _Alignas(64) float square[9 * 16], room[DYNC__CW_ROOM / 4];
            int64_t args[DYNC__CA_WORDS] = {0};
            for (int t = 0; t < 9; t++) {
                const dync__cj_tap *tap = &v->phase[0].tap[t];
                memcpy(square + ((v->lo_y + tap->y) * 3 + v->lo_x + tap->x) * v->V,
                       table + (k * taps + tap->from) * v->V, line);
            }
            args[DYNC__CA_IN] = (int64_t)(uintptr_t)square;
            args[DYNC__CA_OUT] =
                (int64_t)(uintptr_t)(to + ((g * v->ocb + first) * v->icb + a * B) * v->K * v->V +
                                     (b - first) * v->V + k * B * v->V);
            args[DYNC__CA_TAPS] = (int64_t)(uintptr_t)room;
            args[DYNC__CA_TILES] = 1;
            v->wino.weight_code(args);
        }
        for (int p = 0; p < v->n_phases && !v->wino.m; p++) {
            const dync__cj_phase *f = &v->phase[p];
            float *at = to + f->weights +
                        ((g * v->ocb + first) * v->icb + a * B) * f->n_taps * v->K * v->V +
                        (b - first) * v->V;
            for (int t = 0; t < f->n_taps; t++)
                for (int64_t k = 0; k < v->K; k++, at += B * v->V)
                    dync__copy_line(at, table + (k * taps + f->tap[t].from) * v->V, line);
        }
    }
    dync__free_data(table, bytes);
    return true;
}

/* ---- running --------------------------------------------------------------------------------- */

typedef struct dync__cj_work {
    const dync__cj *v;
    const float *in, *weight, *bias, *const *after;
    float *out, *packed, *x, *gy;
    /* jobs an image's rows are cut into by output channels */
    int64_t *index, split;
    const dync__cj_data *data;
    int32_t failed;
} dync__cj_work;

static int64_t dync__cj_address(const void *p) { return (int64_t)(uintptr_t)p; }

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
 * line: the first one's number in the result, which is told of, or -1. WHERE: the numbers of places
 * go `found` bytes from y. */
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

/* The same by Winograd's tiles; room: for the transformed input and result. */
DYNC__RARE static void dync__cj_wino(const dync__cj_work *w, int64_t g, int64_t b0, int64_t b1,
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

/* Channels that group g has of `per` a group, of all: depthwise the last one may have fewer. */
static int64_t dync__cj_has(const dync__cj *v, int64_t g, int64_t per)
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
static void dync__cj_room(const dync__cj *v, size_t *in, size_t *out)
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

static double dync__cj_multiplications(const dync__cj *v)
{
    return (double)(v->s.n * v->s.oh * v->s.ow * v->s.kh * v->s.kw) *
           (double)(v->s.o * (v->depthwise ? 1 : v->s.c / v->s.groups));
}

static uint64_t dync__cj_sum(const float *w, int64_t n)
{
    uint64_t sum[4] = {1, 2, 3, 4}, word;
    for (int64_t i = 0; i + 8 <= n; i += 8)
        for (int l = 0; l < 4; l++) {
            memcpy(&word, w + i + 2 * l, 8);
            sum[l] = (sum[l] ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        }
    for (int l = 1; l < 4; l++) sum[0] = dync__hash_mix(sum[0], sum[l]);
    return dync__hash_bytes(w + n / 8 * 8, (size_t)(n % 8) * sizeof *w, sum[0]);
}

static void dync__cj_unpack(const dync__cj *v, dync__cj_packed *p)
{
    if (!p || DYNC__ATOMIC_DEC(&p->users) > 0) return;
    if (p->at) dync__free_data(p->at, (size_t)v->pack * sizeof *p->at);
    dync__free(p, sizeof *p);
}

/* The weights packed, with a use for the caller. Kept for the next run unless they have changed
 * between the last few. */
static dync__cj_packed *dync__cj_weights(dync__cj *v, const float *w, const dync__tensor *owner)
{
    enum { PATIENCE = 4 };
    dync__cj_packed key = {.users = 1, .from = w}, *p;
    bool keep = owner && DYNC__ATOMIC_PEEK(&v->missed) < PATIENCE;
    if (keep) {
        key.storage = owner->storage->id;
        key.version = owner->storage->version;
        if (owner->storage->flags & (DYNC__STORAGE_EXPOSED | DYNC__STORAGE_BORROWED))
            key.sum = dync__cj_sum(w, v->s.o * (v->s.c / v->s.groups) * v->s.kh * v->s.kw);
        dync__lock(&v->lock);
        p = v->kept;
        bool same = p && p->from == w && p->storage == key.storage && p->version == key.version &&
                    p->sum == key.sum;
        v->missed = same || !p ? 0 : v->missed + 1;
        if (same) p->users++;
        dync__unlock(&v->lock);
        if (same) return p;
    }
    if (!(p = dync__alloc(sizeof *p))) return NULL;
    *p = key;
    p->at = dync__alloc_data((size_t)v->pack * sizeof *p->at);
    if (!p->at || !dync__cj_pack(v, w, p->at)) {
        dync__cj_unpack(v, p);
        return NULL;
    }
    if (keep) {
        dync__lock(&v->lock);
        dync__cj_packed *old = v->kept;
        v->kept = p;
        p->users++;
        dync__unlock(&v->lock);
        dync__cj_unpack(v, old);
    }
    return p;
}

static dync_status dync__cj_run_places(dync__cj *v, const dync__cj_data *d)
{
    bool forward = v->what == DYNC__CJ_FORWARD;
    int64_t line = v->groups * v->ocb * v->V, per = v->depthwise ? v->V : v->oc;
    size_t bytes = (size_t)(line * (1 + v->after.list.n_sources)) * sizeof(float);
    const float *after[DYNC__AFTER_SOURCES];
    dync__cj_work w = {.v = v,
                       .in = d->in,
                       .bias = d->bias,
                       .after = after,
                       .out = d->out,
                       .index = d->index,
                       .split = 1,
                       .data = d};
    int threads = dync__pool_worth(dync__cj_multiplications(v) / 40);
    dync__cj_packed *packed = d->weight ? dync__cj_weights(v, d->weight, d->owner) : NULL;
    float *padded = forward ? dync__alloc_data(bytes) : NULL;
    if ((d->weight && !packed) || (forward && !padded)) {
        dync__cj_unpack(v, packed);
        if (padded) dync__free_data(padded, bytes);
        return DYNC_ERR_MEMORY;
    }
    /* vectors of channels, in whole blocks */
    for (int k = 0; forward && k <= v->after.list.n_sources; k++) {
        const float *from = k ? d->after[k - 1] : d->bias;
        int64_t step = k ? v->after.step[k - 1] : 1;
        float *to = padded + k * line;
        memset(to, 0, (size_t)line * sizeof *to);
        for (int64_t i = 0; from && i < v->s.o; i++)
            to[i / per * v->ocb * v->V + i % per] = from[i * step];
        if (k)
            after[k - 1] = to;
        else
            w.bias = to;
    }
    w.packed = packed ? packed->at : NULL;
    if (dync__cj_jobs(&w) < threads)
        w.split = DYNC__MIN((v->ocb + v->B[0] - 1) / v->B[0],
                            (threads + dync__cj_jobs(&w) - 1) / dync__cj_jobs(&w));
    threads = (int)DYNC__MIN(threads, dync__cj_jobs(&w));
    if (threads > 1)
        dync__pool_run(dync__cj_part, &w, threads);
    else
        dync__cj_part(&w, 0, 1);
    dync__cj_unpack(v, packed);
    if (padded) dync__free_data(padded, bytes);
    return w.failed ? dync__fail_memory(0) : DYNC_OK;
}

/* ---- the weight gradient --------------------------------------------------------------------- */

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

DYNC__RARE static dync_status dync__cj_run_weight(const dync__cj *v, const float *x,
                                                  const float *gy, float *gw)
{
    size_t x_bytes = (size_t)(v->groups * (v->planar ? v->ic : v->icb) * v->in_block),
           y_bytes = (size_t)(v->groups * v->ocb * v->out_block);
    size_t w_bytes = (size_t)(v->groups * v->ocb * v->icb * v->outer * v->all * v->V) *
                     sizeof(float);
    char *memory = dync__alloc_data(x_bytes + y_bytes + w_bytes);
    int threads = dync__pool_worth(dync__cj_multiplications(v) / 40);
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
            dync__pool_run(dync__cj_weight_part, &w, threads);
        } else {
            dync__cj_weight_in(&w, 0, 1);
            dync__cj_weight_part(&w, 0, 1);
        }
    }
    bool out = dync__cj_weight_out(v, w.packed, gw);
    dync__free_data(memory, x_bytes + y_bytes + w_bytes);
    return out ? DYNC_OK : DYNC_ERR_MEMORY;
}

DYNC__FN dync_status dync__cj_run(dync__cj *v, const dync__cj_data *d)
{
    return v->what == DYNC__CJ_WEIGHT ? dync__cj_run_weight(v, d->in, d->weight, d->out)
                                      : dync__cj_run_places(v, d);
}

DYNC__RARE DYNC__FN size_t dync__cj_bytes(const dync__cj *v)
{
    size_t in, out, line = (size_t)v->V * sizeof(float),
                    table = (size_t)(v->K * v->s.kh * v->s.kw) * line;
    if (v->what == DYNC__CJ_WEIGHT)
        return (size_t)(v->groups * (v->planar ? v->ic : v->icb) * v->in_block +
                        v->groups * v->ocb * v->out_block) +
               table + (size_t)(v->groups * v->ocb * v->icb * v->outer * v->all) * line;
    dync__cj_room(v, &in, &out);
    return (in + out) * (size_t)dync__pool_threads() + (size_t)v->pack * sizeof(float) + table +
           (size_t)(v->groups * v->ocb * (1 + v->after.list.n_sources)) * line;
}

DYNC__RARE DYNC__FN void dync__cj_free(dync__cj *v)
{
    if (!v) return;
    dync__cj_unpack(v, v->kept);
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
DYNC__FN dync_status dync__cj_run(dync__cj *v, const dync__cj_data *d)
{
    (void)v, (void)d;
    return DYNC_ERR_INTERNAL;
}
#endif
