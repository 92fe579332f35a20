/* cuda/conv_product.c: convolutions as products of their sides. Before: conv.c. */
#include "../dync.in.h"
#include "gemm.h"
#include "conv.h"
DYNC__COLD

/* ---- the product ----------------------------------------------------------------------------- */

DYNC__FN dync__gm *dync__cuv_product(dync__cuv *v, int64_t m, int64_t n, int64_t k)
{
    dync__gm *g = dync__arena_alloc(&v->code->arena, sizeof *g);
    if (!g) return NULL;
    memset(g, 0, sizeof *g);
    g->arena = &v->code->arena;
    g->device = v->code->device;
    g->dtype = v->dtype;
    g->compute = dync__dtype_info(v->dtype)->compute;
    g->kind = v->dtype == DYNC_BF16 ? DYNC__TILE_BF16 : v->dtype == DYNC_F16 ? DYNC__TILE_F16 : -1;
    g->m = m;
    g->n = n;
    g->k = k;
    g->n_batch = 1;
    g->batches = g->batch[0] = v->groups;
    return g;
}

DYNC__FN dync_status dync__cuv_end(dync__cuv *v, dync__gm *g, int n, const int64_t *extent,
                                   const int64_t *stride, int64_t offset, const int64_t *bias)
{
    int64_t linear[8], next = 1;
    const dync__operand *out = &v->call->operand[v->out];
    dync__kernel *e = dync__kernel_new(g->arena, v->call->row->name, 0, n, extent);
    if (!e) return DYNC_ERR_MEMORY;
    for (int d = n - 1; d >= 0; d--) {
        linear[d] = next;
        next *= extent[d];
    }
    dync__lb b = {.k = e, .section = 1, .origin = v->call->row->name};
    for (int s = 0; s < 2; s++)
        g->side[s].buf = dync__kernel_buf(e, s, g->dtype, DYNC__BUF_IN, -1, s ? "b" : "a");
    int sum = dync__gm_sums(g, &b, linear);
    if (bias) sum = dync__gm_biased(g, &b, &v->call->operand[2], bias, sum);
    dync__lb_store(&b, dync__kernel_buf(e, v->out, out->dtype, DYNC__BUF_OUT, -1, NULL),
                   dync__kernel_access(e, offset, stride), sum);
    g->end = e;
    if (e->failed) return DYNC_ERR_MEMORY;
    return dync__gm_add(v->code, g, v->call, &(dync__cuda_end){.host = v->end->host});
}

DYNC__FN bool dync__cuv_end_of(dync__cuv *v, dync__gm *g)
{
    dync__gm_loops l, r;
    int64_t plane = v->y.shape[2] * v->y.shape[3], image = plane * v->y.shape[1],
            all = plane * v->y.shape[0], bias[DYNC__LOOP_MAX_DIMS] = {0};
    dync__gm_loops_of(&l, v->end->k);
    dync__gm_cut(&l, plane);
    dync__gm_cut(&l, image);
    r.n = 0;
    /* channels, images, pixels: 0 1 2; by image: images, channels, pixels */
    for (int part = 0; part < 3; part++)
        for (int d = 0; d < l.n; d++) {
            int64_t from = l.place[d], to = from * l.extent[d];
            int is = l.extent[d] == 1 ? 2 : from >= image ? 1 : from >= plane ? 0 : 2;
            if ((is == 0 && to > image) || (is == 2 && to > plane && l.extent[d] > 1)) return false;
            if ((v->by_image && is < 2 ? !is : is) != part) continue;
            r.from[r.n] = l.from[d];
            r.extent[r.n] = l.extent[d];
            r.times[r.n] = l.times[d];
            r.place[r.n] = from;
            r.sum[r.n] = v->by_image || is == 2 ? from
                         : is == 0              ? from / plane * all
                                                : from / image * plane;
            if (is == 0 && v->call->n == 4)
                bias[r.n] = from / plane * v->call->operand[2].lay.stride[0];
            r.n++;
        }
    return dync__gm_end_over(g, v->call, v->end->k, v->end->keep, &r,
                             v->call->n == 4 ? bias : NULL);
}

DYNC__FN dync_status dync__cuv_finish(dync__cuv *v, dync__gm *g)
{
    if (v->end->k)
        return dync__cuv_end_of(v, g) ? dync__gm_add(v->code, g, v->call, v->end)
                                      : dync__fail_memory(0);
    bool biased = v->call->n == 4;
    int64_t bs = biased ? v->call->operand[2].lay.stride[0] : 0, n = v->y.shape[0],
            oh = v->y.shape[2], ow = v->y.shape[3];
    const int64_t *ys = v->y.stride;
    if (v->by_image)
        return dync__cuv_end(v, g, 5, (int64_t[]){n, v->groups, v->go, oh, ow},
                             (int64_t[]){ys[0], v->go * ys[1], ys[1], ys[2], ys[3]}, v->y.offset,
                             biased ? (int64_t[]){0, v->go * bs, bs, 0, 0} : NULL);
    return dync__cuv_end(v, g, 5, (int64_t[]){v->groups, v->go, n, oh, ow},
                         (int64_t[]){v->go * ys[1], ys[1], ys[0], ys[2], ys[3]}, v->y.offset,
                         biased ? (int64_t[]){v->go * bs, bs, 0, 0, 0} : NULL);
}

DYNC__FN dync_status dync__cuv_direct(dync__cuv *v, bool input)
{
    const dync__cuv_array *from = input ? &v->y : &v->x, *to = input ? &v->x : &v->y;
    dync__gm *g = dync__cuv_product(v, to->shape[0] * to->shape[1] * to->shape[2], to->shape[3],
                                    v->w.shape[2] * v->w.shape[3]);
    dync__gm_window *w = dync__arena_alloc(&v->code->arena, sizeof *w);
    if (!g || !w) return DYNC_ERR_MEMORY;
    *w = (dync__gm_window){.kh = v->w.shape[2],
                           .kw = v->w.shape[3],
                           .h = from->shape[2],
                           .w_in = from->shape[3],
                           .o = to->shape[1],
                           .oh = to->shape[2],
                           .per = input ? 1 : v->go,
                           .back = input && v->s[0] * v->s[1] > 1};
    memcpy(w->x, from->stride, sizeof w->x);
    memcpy(w->w, v->w.stride, sizeof w->w);
    g->kind = -1;
    g->batches = g->splits = 1;
    g->n_batch = 0;
    g->side[0] = (dync__gm_side){.id = v->w.id, .offset = v->w.offset, .how = DYNC__GM_PIECES};
    g->side[1] = (dync__gm_side){.id = from->id, .offset = from->offset, .how = DYNC__GM_PIECES};
    for (int i = 0; i < 2; i++) {
        w->s[i] = v->s[i];
        w->d[i] = v->d[i];
        w->p[i] = v->p[i];
        if (!input || w->back) continue;
        int64_t most = v->w.shape[2 + i] - 1;
        w->p[i] = most * v->d[i] - v->p[i];
        g->side[0].offset += most * w->w[2 + i];
        w->w[2 + i] = -w->w[2 + i];
    }
    g->window_of = w;
    v->by_image = true;
    if (!input) return dync__cuv_finish(v, g);
    return dync__cuv_end(v, g, 4, to->shape, to->stride, to->offset, NULL);
}

DYNC__FN dync_status dync__cuv_direct_weight(dync__cuv *v)
{
    dync__gm *g = dync__cuv_product(v, v->w.shape[0], v->y.shape[3], 1);
    dync__gm_window *w = dync__arena_alloc(&v->code->arena, sizeof *w);
    const int32_t buf[3] = {v->x.id, v->y.id, v->w.id};
    if (!g || !w) return DYNC_ERR_MEMORY;
    *w = (dync__gm_window){.kh = v->w.shape[2],
                           .kw = v->w.shape[3],
                           .h = v->x.shape[2],
                           .w_in = v->x.shape[3],
                           .o = v->w.shape[0],
                           .oh = v->y.shape[2],
                           .per = v->go};
    memcpy(w->x, v->x.stride, sizeof w->x);
    memcpy(w->w, v->w.stride, sizeof w->w);
    memcpy(w->s, v->s, sizeof w->s);
    memcpy(w->p, v->p, sizeof w->p);
    memcpy(w->d, v->d, sizeof w->d);
    g->window_of = w;
    g->side[0].offset = v->w.offset;
    g->side[1].offset = v->x.offset;
    return dync__gm_direct_weight(v->code, g, v->x.shape[0], v->y.offset, v->y.stride, buf)
               ? DYNC_OK
               : DYNC_ERR_MEMORY;
}

DYNC__FN bool dync__cuv_is_direct(const dync__cuv *v, int kind)
{
    int64_t side = v->f16 ? 8 : v->dtype == DYNC_F32 ? 4 : 2, wide = side;
    if (v->gc != 1 || (kind == 3 && v->go > 8) ||
        v->w.shape[2] * v->w.shape[3] > DYNC__CUV_WINDOW ||
        7 * v->s[1] + v->w.shape[3] * v->d[1] >= DYNC__GMD_COLUMNS)
        return false;
    /* results of a thread: a rectangle by the stride (conv_direct.c) */
    while (kind == 2 && wide % v->s[1] && wide < 64) wide += side;
    return kind != 2 ||
           (v->go == 1 && (v->s[0] * v->s[1] == 1 || v->s[0] * wide <= DYNC__CUV_BACK));
}
