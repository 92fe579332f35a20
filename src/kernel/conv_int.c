/* kernel/conv_int.c: 2-D convolution of I8 with sums in I32. Before: runtime/run.c.
 *
 * A plane of the result is a sum of planes of the input, shifted by the place in the window and
 * scaled by the weight there; planes are shared among threads. Sums wrap modulo 2^32. */
#include "../dync.in.h"
#include "operand.h"
DYNC__WARM

/* products from which threads are worth waking */
#define DYNC__CONV_INT_PARALLEL 100000

typedef struct dync__conv_int {
    int64_t n, c, h, w, o, oh, ow, kh, kw, per_in, per_out;
    const dync__attr_conv *a;
    const int8_t *x, *weight;
    const int32_t *bias;
    int32_t *y;
} dync__conv_int;

/* Places [*from, *to) of the result whose element k of the window lies inside [0, size). */
static void dync__conv_int_inside(const dync__attr_conv *a, int d, int64_t k, int64_t size,
                                  int64_t count, int64_t *from, int64_t *to)
{
    int64_t first = a->pad[d] - k * a->dilation[d], last = size - 1 + first;
    *from = first <= 0 ? 0 : (first + a->stride[d] - 1) / a->stride[d];
    *to = last < 0 ? 0 : DYNC__MIN(last / a->stride[d] + 1, count);
}

/* y += weight * x, n of them, `step` apart in x */
static void dync__conv_int_row(uint32_t *y, const int8_t *x, int64_t n, int64_t step, int weight)
{
    if (step == 1)
        for (int64_t i = 0; i < n; i++) y[i] += (uint32_t)(x[i] * weight);
    else
        for (int64_t i = 0; i < n; i++) y[i] += (uint32_t)(x[i * step] * weight);
}

/* One plane of the input into one of the result. */
static void dync__conv_int_plane(const dync__conv_int *v, const int8_t *x, const int8_t *weight,
                                 uint32_t *y)
{
    for (int64_t u = 0; u < v->kh; u++)
        for (int64_t k = 0; k < v->kw; k++) {
            int64_t i0, i1, j0, j1, scale = weight[u * v->kw + k];
            dync__conv_int_inside(v->a, 0, u, v->h, v->oh, &i0, &i1);
            dync__conv_int_inside(v->a, 1, k, v->w, v->ow, &j0, &j1);
            for (int64_t i = i0; i < i1 && scale && j0 < j1; i++) {
                int64_t p = i * v->a->stride[0] - v->a->pad[0] + u * v->a->dilation[0],
                        q = j0 * v->a->stride[1] - v->a->pad[1] + k * v->a->dilation[1];
                dync__conv_int_row(y + i * v->ow + j0, x + p * v->w + q, j1 - j0, v->a->stride[1],
                                   (int)scale);
            }
        }
}

static void dync__conv_int_part(void *user, int part, int n_parts)
{
    const dync__conv_int *v = user;
    int64_t planes = v->n * v->o, area = v->oh * v->ow, window = v->kh * v->kw;
    for (int64_t i = planes * part / n_parts; i < planes * (part + 1) / n_parts; i++) {
        int64_t image = i / v->o, o = i % v->o, first = o / v->per_out * v->per_in;
        uint32_t *y = (uint32_t *)(void *)(v->y + i * area);
        for (int64_t k = 0; k < area; k++) y[k] = v->bias ? (uint32_t)v->bias[o] : 0;
        for (int64_t c = 0; c < v->per_in; c++)
            dync__conv_int_plane(v, v->x + (image * v->c + first + c) * v->h * v->w,
                                 v->weight + (o * v->per_in + c) * window, y);
    }
}

DYNC__RARE DYNC__FN dync_status dync__k_int_conv2d_prepare(dync__kcall *c)
{
    const dync__operand *x = &c->operand[0], *w = &c->operand[1], *y = &c->operand[c->n - 1];
    DYNC__TRY(dync__kcall_expect(c, c->n == 3 || c->n == 4, "3 or 4 operands"));
    DYNC__TRY(dync__kcall_expect(c,
                                 x->dtype == DYNC_I8 && w->dtype == DYNC_I8 &&
                                     c->operand[2].dtype == DYNC_I32 && y->dtype == DYNC_I32,
                                 "I8 with sums in I32"));
    DYNC__TRY(dync__kcall_expect(c, x->lay.ndim == 4 && w->lay.ndim == 4 && y->lay.ndim == 4,
                                 "operands of rank 4"));
    return dync__kcall_expect(c, c->attr.conv.groups > 0, "groups");
}

DYNC__FN dync_status dync__k_int_conv2d(const dync__kcall *c, void *const *data, void *scratch)
{
    const int64_t *x = c->operand[0].lay.shape, *w = c->operand[1].lay.shape,
                  *y = c->operand[c->n - 1].lay.shape;
    dync__dense d[4] = {{0}};
    dync__conv_int v = {.n = x[0], .c = x[1], .h = x[2], .w = x[3], .o = w[0], .oh = y[2]};
    v.ow = y[3], v.kh = w[2], v.kw = w[3], v.per_in = w[1], v.a = &c->attr.conv;
    v.per_out = v.o / v.a->groups;
    (void)scratch;
    if (dync__operand_numel(&c->operand[c->n - 1]) == 0) return DYNC_OK;
    dync_status status = DYNC_OK;
    for (int i = 0; i < c->n && status == DYNC_OK; i++)
        status = (i < c->n - 1 ? dync__dense_in : dync__dense_out)(&c->operand[i], data[i],
                                                                   c->operand[i].dtype, &d[i]);
    if (status == DYNC_OK) {
        v.x = d[0].data, v.weight = d[1].data, v.y = d[c->n - 1].data;
        v.bias = c->n == 4 ? d[2].data : NULL;
        double work = (double)(v.n * v.o * v.oh * v.ow) * (double)(v.per_in * v.kh * v.kw);
        int threads = dync__pool_threads();
        if (threads > 1 && v.n * v.o >= threads && work >= DYNC__CONV_INT_PARALLEL)
            dync__pool_run(dync__conv_int_part, &v, threads);
        else
            dync__conv_int_part(&v, 0, 1);
    }
    return dync__dense_end(c, c->n, c->n - 1, data, d, status);
}
