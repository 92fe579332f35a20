/* kernel/conv_rows.c: the rows of the kernel table for convolutions. Before: conv_parts.c; tiles in
 * machine code by conv_plan.c where there are some. */
#include "../dync.in.h"
#include "conv_jit.h"
#include "gemm.h"
#include "conv.h"
DYNC__BESIDE_JIT

static void dync__conv_done(void *user, int64_t begin, int64_t end)
{
    dync__conv *v = user;
    const dync__kcall *c = v->call;
    dync_status status =
        dync__code_run_part(c->epilogue, v->data + c->n, begin, end, c->epilogue_rows);
    if (status != DYNC_OK) DYNC__ATOMIC_STORE(&v->status, status);
}

/* ---- rows ------------------------------------------------------------------------------------ */

DYNC__RARE static dync_status dync__conv_check(dync__kcall *c, const dync__operand *x,
                                               const dync__operand *w, const dync__operand *y)
{
    const dync__attr_conv *a = &c->attr.conv;
    DYNC__TRY(dync__kcall_expect(c, x->lay.ndim == 4 && w->lay.ndim == 4 && y->lay.ndim == 4,
                                 "operands of rank 4"));
    DYNC__TRY(dync__kcall_expect(
        c, x->dtype == y->dtype && w->dtype == y->dtype && dync__dtype_info(y->dtype)->kind == 'f',
        "one float dtype"));
    for (int d = 0; d < 2; d++)
        DYNC__TRY(dync__kcall_expect(
            c, a->stride[d] > 0 && a->pad[d] >= 0 && a->dilation[d] > 0 && a->groups > 0,
            "positive strides, dilations and groups"));
    const int64_t *xs = x->lay.shape, *ws = w->lay.shape, *ys = y->lay.shape;
    DYNC__TRY(dync__kcall_expect(
        c, xs[1] == ws[1] * a->groups && ws[0] % a->groups == 0 && ys[0] == xs[0] && ys[1] == ws[0],
        "channels that agree"));
    for (int d = 0; d < 2; d++) {
        int64_t reach = xs[2 + d] + 2 * a->pad[d] - a->dilation[d] * (ws[2 + d] - 1) - 1;
        DYNC__TRY(dync__kcall_expect(
            c, ys[2 + d] == 0 || (reach >= 0 && ys[2 + d] == reach / a->stride[d] + 1),
            "the result's size to follow from "
            "the others"));
    }
    return DYNC_OK;
}

/* The tile size m of Winograd's F(m x m, 3 x 3) up to `most` that costs least, 0: none costs less
 * than the plain sum. By what was measured: products of the tiles at one a cycle and vector,
 * transforms, and weights, which are (m + 2)^2 / 9 as many and come from memory where the caches
 * do not hold them. */
DYNC__RARE DYNC__FN int dync__conv_winograd(const int64_t *x, const int64_t *w, const int64_t *y,
                                            int64_t groups, int most)
{
    double lanes = dync__cj_lanes(), area = (double)(y[2] * y[3]), products = (double)(w[0] * w[1]),
           best;
    int chosen = 0;
    if (lanes == 0 || w[2] != 3 || w[3] != 3 || (double)w[1] < lanes ||
        (double)w[0] / (double)groups < lanes)
        return 0;
    best = 9 * area * products;
    for (int m = 2; m <= most; m += 2) {
        double tiles = (double)((y[2] + m - 1) / m * ((y[3] + m - 1) / m)),
               elements = (m + 2) * (m + 2);
        double cost = tiles * elements * products +
                      tiles * elements * (double)(x[1] + w[0]) * DYNC__WINOGRAD_MOVE +
                      (elements * products > DYNC__WINOGRAD_CACHED
                           ? elements * products * DYNC__WINOGRAD_WEIGHT
                           : 0);
        if (cost < best) {
            best = cost;
            chosen = m;
        }
    }
    return chosen;
}

DYNC__RARE DYNC__FN int64_t dync__kcall_rows(const dync__kcall *c)
{
    const dync__operand *y = &c->operand[c->n - 1];
    int64_t rows = 1; /* a convolution of f16 or bf16 is written back as a whole */
    bool conv =
        (dync__kcall_is(c, DYNC__K_conv2d) || dync__kcall_is(c, DYNC__K_conv2d_grad_input)) &&
        dync__operand_working(y->dtype) == y->dtype;
    if ((!conv && !dync__kcall_is(c, DYNC__K_matmul) && !dync__kcall_is(c, DYNC__K_addmm)) ||
        (dync__dtype_info(y->dtype)->kind != 'f' &&
         !(y->dtype == DYNC_I32 && c->operand[0].dtype == DYNC_I8)))
        return 0;
    for (int d = 0; d < y->lay.ndim - 1; d++) rows = dync__sz_mul(rows, y->lay.shape[d]);
    return c->blocked >> (c->n - 1) & 1 ? dync__sz_div(rows, dync__cj_lanes()) : rows;
}

/* The input in pairs of channels. */
static dync__conv_words dync__conv_words_of(const dync__conv *v)
{
    return (dync__conv_words){.planes = v->n * v->groups,
                              .channels = v->gc,
                              .words = (v->gc + 1) / 2,
                              .area = v->h * v->w,
                              .type = DYNC__GT_BF16};
}

DYNC__RARE static void dync__conv_drop(void *state) { dync__cj_free(state); }

/* Machine code where there is some (without Winograd where that has none); else state stays NULL,
 * which is an error for a call that reads blocks or has operators after it. run_bytes: what a run
 * will allocate. */
DYNC__RARE static dync_status dync__conv_ready(dync__kcall *c, int what, const dync__operand *x,
                                               const dync__operand *w, const dync__operand *y)
{
    dync__conv v;
    dync__conv_open(&v, c, x, w, y);
    if (!v.pointwise)
        c->run_bytes = dync__conv_room(&v, what == DYNC__CJ_INPUT) * (size_t)dync__pool_threads();
    if (dync__operand_working(y->dtype) != DYNC_F32) return DYNC_OK;
    dync__conv_words words = dync__conv_words_of(&v);
    bool pairs = what == DYNC__CJ_FORWARD && y->dtype == DYNC_BF16 && v.gc > 1 &&
                 dync__gt_can(DYNC__GT_BF16);
    bool planes = !(c->blocked & 1) && !(c->blocked >> (c->n - 1) & 1),
         product = v.pointwise && planes && what != DYNC__CJ_WEIGHT;
    bool fits = v.oh * v.ow >= DYNC__CONV_PLANE &&
                (v.gc + v.go) * v.oh * v.ow < DYNC__CONV_PLANES && v.gc * v.go < DYNC__CONV_WEIGHTS;
    if (product && ((fits && !pairs) || dync__conv_is_pixels(&v)))
        return c->after ? dync__fail_memory(0) : DYNC_OK;
    dync__cj_shape s = {v.n,
                        pairs ? v.groups * words.words : v.c,
                        v.h,
                        v.w,
                        v.o,
                        v.oh,
                        v.ow,
                        v.kh,
                        v.kw,
                        v.sy,
                        v.sx,
                        v.py,
                        v.px,
                        v.dy,
                        v.dx,
                        v.groups,
                        what == DYNC__CJ_WEIGHT || pairs ? 0 : c->attr.conv.winograd,
                        pairs ? v.gc : 0,
                        what == DYNC__CJ_WEIGHT ? DYNC_F32 : w->dtype};
    dync__cj_form form = {c->blocked & 1, c->blocked >> (c->n - 1) & 1, c->after};
    c->state = dync__cj_new(&s, what, &form);
    if (!c->state && s.winograd) {
        s.winograd = 0;
        c->state = dync__cj_new(&s, what, &form);
    }
    c->drop = dync__conv_drop;
    if (c->state)
        c->run_bytes = dync__cj_bytes(c->state) +
                       (pairs ? (size_t)dync__conv_words_bytes(&words) : 0);
    return (c->blocked || c->after) && !c->state ? dync__fail_memory(0) : DYNC_OK;
}

DYNC__RARE DYNC__FN dync_status dync__k_conv2d_prepare(dync__kcall *c)
{
    int n = c->n - (c->after ? c->after->list.n_sources : 0);
    DYNC__TRY(dync__kcall_expect(c, n == 3 || n == 4, "3 or 4 operands"));
    DYNC__TRY(dync__conv_check(c, &c->operand[0], &c->operand[1], &c->operand[c->n - 1]));
    DYNC__TRY(
        dync__kcall_expect(c,
                           n == 3 || (c->operand[2].lay.ndim == 1 &&
                                      c->operand[2].lay.shape[0] == c->operand[1].lay.shape[0] &&
                                      c->operand[2].dtype == c->operand[c->n - 1].dtype),
                           "a bias [O]"));
    return dync__conv_ready(c, DYNC__CJ_FORWARD, &c->operand[0], &c->operand[1],
                            &c->operand[c->n - 1]);
}

DYNC__RARE DYNC__FN dync_status dync__k_conv2d_grad_input_prepare(dync__kcall *c)
{
    DYNC__TRY(dync__kcall_expect(c, c->n == 3, "3 operands"));
    DYNC__TRY(dync__conv_check(c, &c->operand[2], &c->operand[1], &c->operand[0]));
    return dync__conv_ready(c, DYNC__CJ_INPUT, &c->operand[2], &c->operand[1], &c->operand[0]);
}

DYNC__RARE DYNC__FN dync_status dync__k_conv2d_grad_weight_prepare(dync__kcall *c)
{
    DYNC__TRY(dync__kcall_expect(c, c->n == 3, "3 operands"));
    DYNC__TRY(dync__conv_check(c, &c->operand[0], &c->operand[2], &c->operand[1]));
    return dync__conv_ready(c, DYNC__CJ_WEIGHT, &c->operand[0], &c->operand[2], &c->operand[1]);
}

/* The tensor behind the second operand, where it is an input of the plan. */
DYNC__FN const dync__tensor *dync__conv_owner(const dync__kcall *c)
{
    int input = c->operand[1].input;
    return input && dync__tls.plan_tensors ? dync__tls.plan_tensors[input - 1] : NULL;
}

/* Where tiles multiply pairs, x as words in its place. */
static dync_status dync__conv_pairs(const dync__conv *v, dync__dense *x)
{
    dync__conv_words words = dync__conv_words_of(v);
    dync__dense to = {.bytes = (size_t)dync__conv_words_bytes(&words), .dtype = DYNC_BF16};
    if (!(to.data = to.copy = dync__alloc_data(to.bytes))) return DYNC_ERR_MEMORY;
    words.from = x->data;
    words.to = to.data;
    dync__conv_words_run(&words);
    dync__dense_drop(x);
    *x = to;
    return DYNC_OK;
}

/* The first n operands, read: tiles take weights (number `weights`, -1: none are) of every dtype,
 * where they are to read words the first of BF16; else as f32. */
static dync_status dync__conv_in(const dync__conv *v, int n, int weights, void *const *data,
                                 dync__dense *d)
{
    const dync__kcall *c = v->call;
    bool words = dync__cj_by_words(c->state);
    dync_status status = DYNC_OK;
    for (int i = 0; i < n && status == DYNC_OK; i++) {
        int dtype = c->operand[i].dtype;
        bool given = i == weights ? c->state != NULL : i == 0 && words;
        status = dync__dense_in(&c->operand[i], data[i],
                                given ? dtype : dync__operand_working(dtype), &d[i]);
    }
    return status == DYNC_OK && words ? dync__conv_pairs(v, &d[0]) : status;
}

static dync_status dync__conv_do(dync__conv *v, dync__cj_data *d, void *const *data)
{
    const dync__kcall *c = v->call;
    v->data = data;
    v->done = d->done = c->epilogue ? dync__conv_done : NULL;
    d->user = v;
    DYNC__TRY(c->state ? dync__cj_run(c->state, d) : dync__conv_run(v));
    return dync__conv_status(v);
}

DYNC__FN dync_status dync__k_conv2d(const dync__kcall *c, void *const *data, void *scratch)
{
    const dync__operand *op = c->operand;
    int last = c->n - 1, first = last - (c->after ? c->after->list.n_sources : 0),
        dtype = dync__operand_working(op[last].dtype);
    dync__dense in[3] = {{0}}, y = {0};
    dync__conv v;
    (void)scratch;
    dync__conv_open(&v, c, &op[0], &op[1], &op[last]);
    if (dync__operand_numel(&op[last]) == 0) return DYNC_OK;
    dync_status status = dync__conv_in(&v, first, 1, data, in);
    if (status == DYNC_OK) status = dync__dense_out(&op[last], data[last], dtype, &y);
    v.x = in[0].data;
    v.weight = in[1].data;
    v.bias = in[2].data;
    v.y = y.data;
    dync__cj_data d = {.in = v.x,
                       .weight = v.weight,
                       .bias = v.bias,
                       .out = v.y,
                       .owner = in[1].copy ? NULL : dync__conv_owner(c)};
    for (int i = first; i < last; i++) d.after[i - first] = dync__operand_at(&op[i], data[i]);
    if (status == DYNC_OK) status = dync__conv_do(&v, &d, data);
    if (status == DYNC_OK) dync__dense_finish(&op[last], data[last], &y);
    dync__dense_drop(&y);
    return dync__dense_end(c, first, first, data, in, status);
}

/* The two gradients have the same form: two operands in, one out; of the input's the second are
 * weights. */
DYNC__RARE static dync_status dync__conv_grad(const dync__kcall *c, void *const *data,
                                              dync__conv *v, const void **first,
                                              const void **second, void **out)
{
    dync__dense d[3] = {{0}};
    dync_status status = dync__conv_in(v, 2, second == &v->weight ? 1 : -1, data, d);
    if (status == DYNC_OK)
        status = dync__dense_out(&c->operand[2], data[2],
                                 dync__operand_working(c->operand[2].dtype), &d[2]);
    *first = d[0].data;
    *second = d[1].data;
    *out = d[2].data;
    dync__cj_data all = {.in = *first,
                         .weight = *second,
                         .out = *out,
                         .owner = d[1].copy ? NULL : dync__conv_owner(c)};
    if (status == DYNC_OK) status = dync__conv_do(v, &all, data);
    return dync__dense_end(c, 3, 2, data, d, status);
}

DYNC__FN dync_status dync__k_conv2d_grad_input(const dync__kcall *c, void *const *data,
                                               void *scratch)
{
    dync__conv v;
    (void)scratch;
    dync__conv_open(&v, c, &c->operand[2], &c->operand[1], &c->operand[0]);
    return dync__operand_numel(&c->operand[2]) == 0
               ? DYNC_OK
               : dync__conv_grad(c, data, &v, &v.gy, &v.weight, &v.gx);
}

DYNC__FN dync_status dync__k_conv2d_grad_weight(const dync__kcall *c, void *const *data,
                                                void *scratch)
{
    dync__conv v;
    (void)scratch;
    dync__conv_open(&v, c, &c->operand[0], &c->operand[2], &c->operand[1]);
    return dync__operand_numel(&c->operand[2]) == 0
               ? DYNC_OK
               : dync__conv_grad(c, data, &v, &v.x, &v.gy, &v.gw);
}
