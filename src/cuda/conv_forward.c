/* cuda/conv_forward.c: a convolution and its two gradients as products on a GPU, and what calls.c
 * asks. After conv.c, before loops.c. */
#include "../dync.in.h"
#include "gemm.h"
#include "conv.h"
DYNC__COLD

static const int dync__cuv_channels_last[4] = {0, 2, 3, 1};

static dync_status dync__cuv_forward(dync__cuv *v)
{
    const int64_t *xs = v->x.stride, *ws = v->w.stride;
    int64_t kh = v->w.shape[2], kw = v->w.shape[3], n = v->x.shape[0], oh = v->y.shape[2],
            ow = v->y.shape[3], plane = oh * ow;
    bool by_image = v->by_image, last = v->f16 && v->gc % 8 == 0 && !by_image;
    if (last && (!dync__cuv_pack(v, &v->x, dync__cuv_channels_last) ||
                 !dync__cuv_pack(v, &v->w, dync__cuv_channels_last)))
        return DYNC_ERR_MEMORY;
    dync__gm *g = dync__cuv_product(v, v->go, by_image ? plane : n * plane, v->gc * kh * kw);
    if (!g) return DYNC_ERR_MEMORY;
    g->side[0].batch[0] = v->go * ws[0];
    g->side[1].batch[0] = v->gc * xs[1];
    if (by_image) { /* batches: images, then groups */
        g->n_batch = 2;
        g->batches *= g->batch[0] = n;
        g->batch[1] = v->groups;
        for (int s = 0; s < 2; s++) g->side[s].batch[1] = g->side[s].batch[0];
        g->side[0].batch[0] = 0;
        g->side[1].batch[0] = xs[0];
    }
    dync__gm_gather a = {.how = DYNC__GM_PIECES}, b = a;
    dync__cuv_digit(&a, 0, v->go, ws[0], 0, 0);
    dync__cuv_window(&a, 1, last, (dync__gm_digit){v->gc, ws[1], 0, 0},
                     (dync__gm_digit){kh, ws[2], 0, 0}, (dync__gm_digit){kw, ws[3], 0, 0});
    if (!by_image) dync__cuv_digit(&b, 0, n, xs[0], 0, 0);
    dync__cuv_digit(&b, 0, oh, v->s[0] * xs[2], v->s[0], 0);
    dync__cuv_digit(&b, 0, ow, v->s[1] * xs[3], 0, v->s[1]);
    dync__cuv_window(&b, 1, last, (dync__gm_digit){v->gc, xs[1], 0, 0},
                     (dync__gm_digit){kh, v->d[0] * xs[2], v->d[0], 0},
                     (dync__gm_digit){kw, v->d[1] * xs[3], 0, v->d[1]});
    b.y = -v->p[0];
    b.x = -v->p[1];
    b.h = v->x.shape[2];
    b.w = v->x.shape[3];
    b.first = b.y * xs[2] + b.x * xs[3];
    if (!dync__cuv_side(v, g, 0, &v->w, &a, false, 0) ||
        !dync__cuv_side(v, g, 1, &v->x, &b, v->p[0] + v->p[1] > 0, 0))
        return DYNC_ERR_MEMORY;
    return dync__cuv_finish(v, g);
}

/* ---- data gradient --------------------------------------------------------------------------- */

/* Taps of places r modulo the stride: first, first + step, ...; row (column) at + place - back *
 * tap of gy. */
typedef struct dync__cuv_taps {
    int64_t n, first, step, at, back, places;
} dync__cuv_taps;
static dync__cuv_taps dync__cuv_taps_of(const dync__cuv *v, int axis, int64_t r)
{
    int64_t kernel = v->w.shape[2 + axis], s = v->s[axis], d = v->d[axis],
            size = v->x.shape[2 + axis];
    dync__cuv_taps t = {.first = -1, .step = 1, .places = r < size ? (size - r + s - 1) / s : 0};
    for (int64_t k = 0; k < kernel; k++) {
        if ((r + v->p[axis] - k * d) % s) continue;
        if (t.first < 0)
            t.first = k;
        else if (t.n == 1)
            t.step = k - t.first;
        t.n++;
    }
    if (t.n) t.at = (r + v->p[axis] - t.first * d) / s;
    t.back = t.step * d / s;
    return t;
}

static dync_status dync__cuv_zeros(dync__cuv *v, const int64_t *extent, const int64_t *stride,
                                   int64_t offset)
{
    dync__kernel *k = dync__kernel_new(&v->code->arena, "conv_zero", 0, 4, extent);
    dync__lb b = {.k = k, .section = 1, .origin = v->call->row->name};
    if (!k) return DYNC_ERR_MEMORY;
    dync__lb_store(&b, dync__kernel_buf(k, v->out, v->dtype, DYNC__BUF_OUT, -1, NULL),
                   dync__kernel_access(k, offset, stride),
                   dync__lb_f(&b, dync__dtype_info(v->dtype)->compute, 0));
    return dync__cuda_add_loop(v->code, k) ? DYNC_OK : DYNC_ERR_MEMORY;
}

static dync_status dync__cuv_phase(dync__cuv *v, int64_t ry, int64_t rx, bool last)
{
    const int64_t *xs = v->x.stride, *ws = v->w.stride, *ys = v->y.stride;
    dync__cuv_taps ty = dync__cuv_taps_of(v, 0, ry), tx = dync__cuv_taps_of(v, 1, rx);
    int64_t n = v->x.shape[0], offset = v->x.offset + ry * xs[2] + rx * xs[3],
            down = v->s[0] * xs[2], right = v->s[1] * xs[3];
    if (ty.places == 0 || tx.places == 0) return DYNC_OK;
    if (ty.n * tx.n == 0)
        return dync__cuv_zeros(v, (int64_t[]){n, v->x.shape[1], ty.places, tx.places},
                               (int64_t[]){xs[0], xs[1], down, right}, offset);
    dync__gm *g = dync__cuv_product(v, v->gc, n * ty.places * tx.places, v->go * ty.n * tx.n);
    if (!g) return DYNC_ERR_MEMORY;
    g->side[0].batch[0] = v->go * ws[0];
    g->side[1].batch[0] = v->go * ys[1];
    dync__gm_gather a = {.how = DYNC__GM_PIECES}, b = a;
    dync__cuv_digit(&a, 0, v->gc, ws[1], 0, 0);
    dync__cuv_window(&a, 1, last, (dync__gm_digit){v->go, ws[0], 0, 0},
                     (dync__gm_digit){ty.n, ty.step * ws[2], 0, 0},
                     (dync__gm_digit){tx.n, tx.step * ws[3], 0, 0});
    dync__cuv_digit(&b, 0, n, ys[0], 0, 0);
    dync__cuv_digit(&b, 0, ty.places, ys[2], 1, 0);
    dync__cuv_digit(&b, 0, tx.places, ys[3], 0, 1);
    dync__cuv_window(&b, 1, last, (dync__gm_digit){v->go, ys[1], 0, 0},
                     (dync__gm_digit){ty.n, -ty.back * ys[2], -ty.back, 0},
                     (dync__gm_digit){tx.n, -tx.back * ys[3], 0, -tx.back});
    b.y = ty.at;
    b.x = tx.at;
    b.h = v->y.shape[2];
    b.w = v->y.shape[3];
    b.first = b.y * ys[2] + b.x * ys[3];
    bool simple = ty.n * tx.n == 1 && ty.at == 0 && tx.at == 0 && ty.places <= b.h &&
                  tx.places <= b.w;
    if (!dync__cuv_side(v, g, 0, &v->w, &a, false, ty.first * ws[2] + tx.first * ws[3]) ||
        !dync__cuv_side(v, g, 1, &v->y, &b, !simple, 0))
        return DYNC_ERR_MEMORY;
    return dync__cuv_end(v, g, 5, (int64_t[]){v->groups, v->gc, n, ty.places, tx.places},
                         (int64_t[]){v->gc * xs[1], xs[1], xs[0], down, right}, offset, NULL);
}

static dync_status dync__cuv_input(dync__cuv *v)
{
    static const int by_output[4] = {1, 2, 3, 0};
    bool last = v->f16 && v->go % 8 == 0;
    if (last && (!dync__cuv_pack(v, &v->y, dync__cuv_channels_last) ||
                 !dync__cuv_pack(v, &v->w, by_output)))
        return DYNC_ERR_MEMORY;
    for (int64_t r = 0; r < v->s[0] * v->s[1]; r++)
        DYNC__TRY(dync__cuv_phase(v, r / v->s[1], r % v->s[1], last));
    return DYNC_OK;
}

/* ---- weight gradient ------------------------------------------------------------------------- */

static dync_status dync__cuv_weight(dync__cuv *v)
{
    bool last = v->f16 && v->gc % 8 == 0;
    if (last && (!dync__cuv_pack(v, &v->x, dync__cuv_channels_last) ||
                 (v->go % 8 == 0 && !dync__cuv_pack(v, &v->y, dync__cuv_channels_last))))
        return DYNC_ERR_MEMORY;
    const int64_t *xs = v->x.stride, *ws = v->w.stride, *ys = v->y.stride;
    int64_t kh = v->w.shape[2], kw = v->w.shape[3], n = v->x.shape[0], oh = v->y.shape[2],
            ow = v->y.shape[3];
    dync__gm *g = dync__cuv_product(v, v->go, v->gc * kh * kw, n * oh * ow);
    if (!g) return DYNC_ERR_MEMORY;
    g->side[0].batch[0] = v->go * ys[1];
    g->side[1].batch[0] = v->gc * xs[1];
    dync__gm_gather a = {.how = DYNC__GM_PIECES}, b = a;
    dync__cuv_digit(&a, 0, v->go, ys[1], 0, 0);
    dync__cuv_digit(&a, 1, n, ys[0], 0, 0);
    dync__cuv_digit(&a, 1, oh, ys[2], 0, 0);
    dync__cuv_digit(&a, 1, ow, ys[3], 0, 0);
    dync__cuv_window(&b, 0, last, (dync__gm_digit){v->gc, xs[1], 0, 0},
                     (dync__gm_digit){kh, v->d[0] * xs[2], v->d[0], 0},
                     (dync__gm_digit){kw, v->d[1] * xs[3], 0, v->d[1]});
    dync__cuv_digit(&b, 1, n, xs[0], 0, 0);
    dync__cuv_digit(&b, 1, oh, v->s[0] * xs[2], v->s[0], 0);
    dync__cuv_digit(&b, 1, ow, v->s[1] * xs[3], 0, v->s[1]);
    b.y = -v->p[0];
    b.x = -v->p[1];
    b.h = v->x.shape[2];
    b.w = v->x.shape[3];
    b.first = b.y * xs[2] + b.x * xs[3];
    if (!dync__cuv_side(v, g, 0, &v->y, &a, false, 0) ||
        !dync__cuv_side(v, g, 1, &v->x, &b, v->p[0] + v->p[1] > 0, 0))
        return DYNC_ERR_MEMORY;
    if (last)
        return dync__cuv_end(v, g, 5, (int64_t[]){v->groups, v->go, kh, kw, v->gc},
                             (int64_t[]){v->go * ws[0], ws[0], ws[2], ws[3], ws[1]}, v->w.offset,
                             NULL);
    return dync__cuv_end(v, g, 5, (int64_t[]){v->groups, v->go, v->gc, kh, kw},
                         (int64_t[]){v->go * ws[0], ws[0], ws[1], ws[2], ws[3]}, v->w.offset, NULL);
}

/* Worth a tile's trouble: several rows and columns, and work. */
static bool dync__cuv_is_product(int64_t m, int64_t n, int64_t k)
{
    return m >= 4 && n >= 8 && k >= 4 && (double)m * (double)n * (double)k > 4096 && m < 1 << 30 &&
           n < 1 << 30 && k < 1 << 30;
}

/* What the call is here: 0 nothing, 1 forward, 2 to the input, 3 to the weight; 4, 5, 6: the same,
 * directly. */
static int dync__cuv_kind(dync__cuv *v, dync__cuda_code *code, const dync__kcall *call)
{
    int kind = dync__kcall_is(call, DYNC__K_conv2d)               ? 1
               : dync__kcall_is(call, DYNC__K_conv2d_grad_input)  ? 2
               : dync__kcall_is(call, DYNC__K_conv2d_grad_weight) ? 3
                                                                  : 0;
    if (!kind || !dync__cuv_open(v, code, call)) return 0;
    if (dync__cuv_is_direct(v, kind)) {
        v->by_image = true;
        return kind + 3;
    }
    int64_t window = v->w.shape[2] * v->w.shape[3],
            pixels = v->x.shape[0] * v->y.shape[2] * v->y.shape[3],
            all = v->x.shape[0] * v->x.shape[2] * v->x.shape[3];
    /* loops.c unrolls the window */
    if (kind == 1 && v->go < DYNC__CUV_FEW && v->gc * window <= DYNC__CUV_WINDOW) return 0;
    if (kind == 2 && v->gc < DYNC__CUV_FEW && v->go * window <= DYNC__CUV_WINDOW) return 0;
    bool is = kind == 1   ? dync__cuv_is_product(v->go, pixels, v->gc * window)
              : kind == 3 ? dync__cuv_is_product(v->go, v->gc * window, pixels)
                          : dync__cuv_is_product(v->gc, all, v->go * window) &&
                                v->s[0] * v->s[1] <= DYNC__CUV_PHASES;
    return is ? kind : 0;
}

DYNC__FN bool dync__cuda_conv_takes(dync__cuda_code *code, const dync__kcall *call,
                                    const dync__kernel *end)
{
    dync__cuv v;
    dync__cuda_end e = {.k = end};
    int kind = dync__cuv_kind(&v, code, call);
    if (kind != 1 && kind != 4) return false;
    v.end = &e;
    dync__gm *g = dync__cuv_product(&v, v.go, v.y.shape[0] * v.y.shape[2] * v.y.shape[3], 1);
    return g && dync__cuv_end_of(&v, g);
}

/* Does the convolution rather make x or w itself? On the way into the packed array always; else it
 * is made again for every tap and tile. */
DYNC__FN bool dync__cuda_conv_takes_side(dync__cuda_code *code, const dync__kcall *call,
                                         const dync__kernel *k, int s)
{
    dync__cuv v;
    dync__gm_loops l;
    int64_t to[4], all;
    if (dync__cuv_kind(&v, code, call) != 1) return false;
    dync__cuv_array *a = s ? &v.w : &v.x;
    dync__gm_pre *pre = a->pre = dync__gm_pre_open(&code->arena, &call->operand[s], k, 0);
    if (!pre) return false;
    bool well = dync__cuv_lies_well(&v, a, dync__cuv_channels_last, to, &all);
    if (v.f16 && v.gc % 8 == 0 && !v.by_image && !well) return dync__cuv_made_loops(a, to, &l);
    int64_t pixels = v.y.shape[0] * v.y.shape[2] * v.y.shape[3], taps = v.w.shape[2] * v.w.shape[3];
    double times = s ? (double)(pixels + 127) / 128 : (double)(taps * ((v.go + 127) / 128)),
           units = dync__cuda_unit_of(code->device >> 8)->units;
    return dync__gm_pre_worth(pre, v.dtype, dync__gm_pre_clocks(pre, (double)all * times) / units,
                              0, (double)all);
}

DYNC__FN dync_status dync__cuda_conv(dync__cuda_code *code, const dync__kcall *call,
                                     const dync__cuda_end *end, bool *done)
{
    dync__cuv v;
    int kind = dync__cuv_kind(&v, code, call);
    *done = kind != 0;
    if (kind == 1 || kind == 4) v.end = end;
    int first = call->n + (end->k ? end->k->buf.n : 0);
    for (int i = 0; i < 2 && kind == 1; i++) {
        if (!end->pre[i]) continue;
        dync__cuv_array *a = i ? &v.w : &v.x;
        if (!(a->pre = dync__gm_pre_open(&code->arena, &call->operand[i], end->pre[i], first)))
            return dync__fail_memory(0);
        first += end->pre[i]->buf.n;
    }
    if (kind == 6) return dync__cuv_direct_weight(&v);
    if (kind > 3) return dync__cuv_direct(&v, kind == 5);
    return kind == 1   ? dync__cuv_forward(&v)
           : kind == 2 ? dync__cuv_input(&v)
           : kind == 3 ? dync__cuv_weight(&v)
                       : DYNC_OK;
}
