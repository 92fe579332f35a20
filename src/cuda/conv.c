/* cuda/conv.c: convolutions and their gradients on a GPU. After gemm.c, before loops.c, whose loop
 * nests are the plain form: other dtypes, arrays of 2^31 elements and what is too small.
 *
 *   x [N, C, H, W]  w [O, C/g, KH, KW] y [N, O, OH, OW] a group is a batch of the product; rows x
 *                   columns, summed over:
 *   forward         w [O/g, taps of channels]        x [taps of channels, pixels of y]       -> y
 *   data gradient   w [C/g, taps of channels of y] gy [taps of channels, pixels of x] -> gx a
 *                   product for each remainder by the stride
 *   we ight gradient gy [O/g, pixels of y] x [pixels of y, taps of channels] -> gw the sum cut over
 *     blocks, joined in order
 * The side that slides is gathered (gemm_gather.c): no matrix of windows is made. f16 and bf16 come
 * 16 bytes at a time from arrays whose channels are neighbours: those that lie so are taken as they
 * are, others are transposed first (ptx_transpose.c), as are the weights; with few channels element
 * by element. A window of one element without padding and stride is a plain product of planes. One
 * channel to a group (depthwise) is no product (conv_direct.c), nor are few: loops.c unrolls the
 * window. Sources: Chetlur et al. 2014 (implicit products); Dumoulin and Visin 2016 (transposed
 * convolution). */
#include "../dync.in.h"
#include "gemm.h"
#include "conv.h"
DYNC__COLD

static const dync__cuda_end dync__cuv_no_end = {NULL, {NULL, NULL}, NULL, false};
static bool dync__cuv_small(const dync__operand *o)
{
    return (double)dync__layout_span(&o->lay) < 1073741824.0;
}

DYNC__FN bool dync__cuv_open(dync__cuv *v, dync__cuda_code *code, const dync__kcall *call)
{
    bool input = dync__kcall_is(call, DYNC__K_conv2d_grad_input),
         weight = dync__kcall_is(call, DYNC__K_conv2d_grad_weight);
    int at[3] = {0, 1, call->n - 1}; /* operands that x, w and y are */
    memset(v, 0, sizeof *v);
    v->code = code;
    v->call = call;
    v->out = call->n - 1;
    v->dtype = call->operand[v->out].dtype;
    v->f16 = v->dtype == DYNC_F16 || v->dtype == DYNC_BF16;
    v->end = &dync__cuv_no_end;
    if (input) at[0] = 2, at[2] = 0;
    if (weight) at[1] = 2, at[2] = 1;
    dync__cuv_array *array[3] = {&v->x, &v->w, &v->y};
    for (int i = 0; i < 3; i++) {
        const dync__operand *o = &call->operand[at[i]];
        if (!dync__cuv_small(o) || o->dtype != v->dtype) return false;
        array[i]->id = at[i];
        array[i]->offset = o->lay.offset;
        memcpy(array[i]->shape, o->lay.shape, sizeof array[i]->shape);
        memcpy(array[i]->stride, o->lay.stride, sizeof array[i]->stride);
    }
    for (int i = 0; i < 2; i++) {
        v->s[i] = call->attr.conv.stride[i];
        v->p[i] = call->attr.conv.pad[i];
        v->d[i] = call->attr.conv.dilation[i];
    }
    v->groups = call->attr.conv.groups;
    v->gc = v->w.shape[1];
    v->go = v->w.shape[0] / v->groups;
    int64_t plane = v->y.shape[2] * v->y.shape[3];
    bool simple = v->w.shape[2] * v->w.shape[3] == 1 && v->s[0] * v->s[1] == 1 &&
                  v->p[0] + v->p[1] == 0;
    v->by_image = simple && plane >= 64 && (!v->f16 || plane % 8 == 0);
    return v->f16 || v->dtype == DYNC_F32 || v->dtype == DYNC_F64;
}

/* ---- packing --------------------------------------------------------------------------------- */

DYNC__FN bool dync__cuv_lies_well(const dync__cuv *v, const dync__cuv_array *a, const int *order,
                                  int64_t *to, int64_t *all)
{
    int64_t bytes = dync__dtype_info(v->dtype)->bytes, next = 1;
    bool well = a->stride[order[3]] == 1 && a->offset * bytes % 16 == 0;
    for (int i = 3; i >= 0; i--) {
        to[order[i]] = next;
        next *= a->shape[order[i]];
        well &= i == 3 || a->shape[order[i]] == 1 || a->stride[order[i]] * bytes % 16 == 0;
    }
    *all = next;
    return well;
}

DYNC__FN bool dync__cuv_made_loops(const dync__cuv_array *a, const int64_t *to, dync__gm_loops *l)
{
    int64_t all = 1, made = 1;
    dync__gm_loops_of(l, a->pre->k);
    for (int i = 0; i < l->n; i++) made *= l->extent[i];
    for (int d = 0; d < 4; d++) {
        all *= a->shape[d];
        if (a->shape[d] == 1) continue;
        dync__gm_cut(l, a->stride[d]);
        dync__gm_cut(l, a->stride[d] * a->shape[d]);
    }
    for (int i = 0; i < l->n; i++) {
        int is = -1;
        for (int d = 0; d < 4; d++)
            if (a->shape[d] > 1 && l->place[i] % a->stride[d] == 0 &&
                l->place[i] * l->extent[i] <= a->stride[d] * a->shape[d])
                is = is < 0 || a->stride[d] > a->stride[is] ? d : is;
        if (is < 0 || l->place[i] >= a->stride[is] * a->shape[is]) return false;
        l->sum[i] = l->place[i] / a->stride[is] * to[is];
    }
    return all == made && a->offset == a->pre->offset;
}

/* What makes the array makes it as it is packed. */
static bool dync__cuv_pack_made(dync__cuv *v, dync__cuv_array *a, int temp, const int64_t *to)
{
    dync__gm_loops l;
    const dync__gm_pre *pre = a->pre;
    int64_t stride[DYNC__LOOP_MAX_DIMS] = {0};
    if (temp < 0 || !dync__cuv_made_loops(a, to, &l)) return dync__fail_memory(0), false;
    dync__kernel *k = dync__kernel_new(&v->code->arena, "conv_pack", 0, l.n, l.extent);
    if (!k) return false;
    for (int i = 0; i < pre->k->inst.n; i++) {
        dync__inst in = pre->k->inst.at[i];
        if (in.access >= 0) {
            const dync__access *from = &pre->k->access.at[in.access];
            bool store = i == pre->store;
            for (int d = 0; d < l.n; d++)
                stride[d] = store ? l.sum[d] : from->stride[l.from[d]] * l.times[d];
            in.access = dync__kernel_access(k, store ? 0 : from->offset, stride);
        }
        if (in.buf >= 0) {
            const dync__buf *b = &pre->k->buf.at[in.buf];
            in.buf = dync__kernel_buf(k, i == pre->store ? temp : pre->first + in.buf, b->dtype,
                                      i == pre->store ? DYNC__BUF_OUT : DYNC__BUF_IN, -1, b->name);
        }
        if (!dync__avec_push(&v->code->arena, &k->inst, in)) return false;
    }
    int part = v->code->part.n;
    if (!dync__cuda_add_loop(v->code, k)) return false;
    for (int i = 0; part < v->code->part.n && i < k->buf.n; i++) {
        int32_t id = k->buf.at[i].id;
        v->code->part.at[part].host[i] = id >= v->call->n && id < DYNC__CUDA_TEMP &&
                                         v->end->host[id - v->call->n];
    }
    return true;
}

DYNC__FN bool dync__cuv_pack(dync__cuv *v, dync__cuv_array *a, const int *order)
{
    int64_t to[4], stride[4], extent[4], all;
    if (dync__cuv_lies_well(v, a, order, to, &all)) return true;
    int temp = dync__cuda_add_temp(v->code, all * dync__dtype_info(v->dtype)->bytes);
    int32_t operand = a->id;
    int64_t offset = a->offset;
    if (a->pre && !dync__cuv_pack_made(v, a, temp, to)) return false;
    for (int i = 0; i < 4; i++) {
        extent[i] = a->shape[order[i]];
        stride[i] = a->stride[order[i]];
    }
    a->id = temp;
    a->offset = 0;
    memcpy(a->stride, to, sizeof to);
    if (a->pre) {
        a->pre = NULL;
        return true;
    }
    dync__kernel *k = temp < 0 ? NULL
                               : dync__kernel_new(&v->code->arena, "conv_pack", 0, 4, extent);
    if (!k) return dync__fail_memory(0), false;
    dync__lb b = {.k = k, .section = 1, .origin = v->call->row->name};
    int64_t dense[4] = {to[order[0]], to[order[1]], to[order[2]], to[order[3]]};
    int value = dync__lb_load(&b, dync__kernel_buf(k, operand, v->dtype, DYNC__BUF_IN, -1, NULL),
                              dync__kernel_access(k, offset, stride));
    dync__lb_store(&b, dync__kernel_buf(k, temp, v->dtype, DYNC__BUF_OUT, -1, NULL),
                   dync__kernel_access(k, 0, dense), value);
    return a == &v->w ? dync__cuda_add_pack(v->code, k, v->call, operand, temp)
                      : dync__cuda_add_loop(v->code, k);
}

/* ---- sides ----------------------------------------------------------------------------------- */

DYNC__FN void dync__cuv_digit(dync__gm_gather *g, int part, int64_t extent, int64_t by, int64_t y,
                              int64_t x)
{
    g->digit[part][g->n[part]++] = (dync__gm_digit){extent, by, y, x};
}

DYNC__FN void dync__cuv_window(dync__gm_gather *g, int part, bool last, dync__gm_digit channels,
                               dync__gm_digit down, dync__gm_digit right)
{
    if (!last) g->digit[part][g->n[part]++] = channels;
    g->digit[part][g->n[part]++] = down;
    g->digit[part][g->n[part]++] = right;
    if (last) g->digit[part][g->n[part]++] = channels;
}

/* Digits that walk memory evenly are one. */
static void dync__cuv_merge(dync__gm_gather *g)
{
    for (int part = 0; part < 2; part++) {
        int n = 0;
        dync__gm_digit *at = g->digit[part];
        for (int i = 0; i < g->n[part]; i++) {
            if (at[i].extent == 1 && g->n[part] > 1 && (n > 0 || i + 1 < g->n[part])) continue;
            dync__gm_digit *before = n > 0 ? &at[n - 1] : NULL;
            if (before && before->by == at[i].extent * at[i].by &&
                before->y == at[i].extent * at[i].y && before->x == at[i].extent * at[i].x)
                *before =
                    (dync__gm_digit){before->extent * at[i].extent, at[i].by, at[i].y, at[i].x};
            else
                at[n++] = at[i];
        }
        g->n[part] = n;
    }
}

DYNC__FN bool dync__cuv_side(dync__cuv *v, dync__gm *g, int s, const dync__cuv_array *a,
                             const dync__gm_gather *as, bool bounds, int64_t offset)
{
    dync__gm_side *side = &g->side[s];
    dync__gm_gather *own = dync__arena_copy(&v->code->arena, as, sizeof *own);
    if (!own) return false;
    side->id = a->id;
    side->offset = a->offset + offset;
    (void)dync__gm_pre_set(side, a->pre);
    if (!bounds) {
        own->h = own->w = 1;
        own->y = own->x = 0;
        for (int part = 0; part < 2; part++)
            for (int i = 0; i < own->n[part]; i++)
                own->digit[part][i].y = own->digit[part][i].x = 0;
    }
    dync__cuv_merge(own);
    if (!bounds && own->n[0] == 1 && own->n[1] == 1) {
        side->offset += own->first;
        side->line = own->digit[0][0].by;
        side->step = own->digit[1][0].by;
        return true;
    }
    int64_t per = 16 / dync__dtype_info(v->dtype)->bytes;
    own->how = DYNC__GM_PIECES;
    /* neighbours by 16 bytes: of a depth, or of a line; f32: for tf32 */
    for (int part = v->f16 ? 0 : 1; part < 2 && v->dtype != DYNC_F64; part++) {
        const dync__gm_digit *near = &own->digit[part][own->n[part] - 1];
        bool fits = near->by == 1 && near->y == 0 && near->x == 0 && near->extent % per == 0 &&
                    own->first % per == 0 && side->offset % per == 0;
        for (int q = 0; q < 2; q++)
            for (int i = 0; i < own->n[q]; i++)
                fits &= (q == part && i == own->n[q] - 1) || own->digit[q][i].extent == 1 ||
                        own->digit[q][i].by % per == 0;
        for (int d = 0; d < g->n_batch; d++) fits &= g->batch[d] == 1 || side->batch[d] % per == 0;
        if (fits) own->how = part ? DYNC__GM_ALONG : DYNC__GM_ACROSS;
    }
    side->gather = own;
    return true;
}
