/* kernel/conv_rows.c: a group of one image, images and groups shared among threads, and the rows of
 * the kernel table for convolutions. Before: conv_direct.c. */
#include "../dync.in.h"
#include "conv_jit.h"
#include "gemm.h"
#include "conv.h"
DYNC__BESIDE_JIT

/* ---- one group of one image ------------------------------------------------------------------ */

static void dync__conv_done(void *user, int64_t begin, int64_t end)
{
    dync__conv *v = user;
    const dync__kcall *c = v->call;
    dync_status status =
        dync__code_run_part(c->epilogue, v->data + c->n, begin, end, c->epilogue_rows);
    if (status != DYNC_OK) DYNC__ATOMIC_STORE(&v->status, status);
}

/* Of a worker's failed allocation only its own context knows. */
static dync_status dync__conv_status(const dync__conv *v)
{
    return v->status == DYNC_ERR_MEMORY ? dync__fail_memory(0) : v->status;
}

/* y of one group of one image: [go, ck] by columns [ck, pixels], some output rows at a time, each
 * reported as it is done. columns: of dync__conv_room; not read where the input is the columns. */
DYNC__RARE static void dync__conv_forward_one(dync__conv *v, int64_t image, int64_t group,
                                              void *columns)
{
    int64_t ck = v->gc * v->kh * v->kw, area = v->oh * v->ow;
    const void *x = dync__conv_plane(v, v->x, v->h * v->w, image * v->c + group * v->gc);
    const void *w = dync__conv_plane(v, v->weight, ck, group * v->go);
    const void *bias = v->bias ? dync__conv_plane(v, v->bias, 1, group * v->go) : NULL;
    char *y = dync__conv_out(v, v->y, area, image * v->o + group * v->go);
    if (v->direct) {
        if (v->bytes == 8)
            dync__conv_bias_d(v, bias, (double *)(void *)y, v->go);
        else
            dync__conv_bias_f(v, bias, (float *)(void *)y, v->go);
    }
    for (int64_t o = 0; v->direct && o < v->go; o++)
        dync__conv_direct(v, DYNC__CONV_Y, x, dync__conv_plane(v, w, ck, o), NULL,
                          dync__conv_out(v, y, area, o), columns);
    int64_t line = image * v->o + group * v->go, some = v->block;
    if (v->pointwise && v->done)
        some = DYNC__MAX(DYNC__MIN(DYNC__CONV_HOT / (v->go * v->ow * v->bytes), v->oh), 1);
    for (int64_t oy = 0; !v->direct && oy < v->oh; oy += some) {
        int64_t rows = DYNC__MIN(some, v->oh - oy), n = rows * v->ow, at = oy * v->ow * v->bytes;
        if (!v->pointwise) dync__conv_im2col(v, x, columns, oy, rows);
        dync__conv_gemm(v, v->go, n, ck, w, ck, 1, v->pointwise ? (const char *)x + at : columns,
                        v->pointwise ? area : n, 1, y + at, area, bias, true);
        dync__lines_done(v->done, v, v->oh, line, v->go, oy, rows);
    }
    if (v->direct) dync__lines_done(v->done, v, v->oh, line, v->go, 0, v->oh);
}

/* gx of one group of one image: columns' gradient w^T gy, added up by col2im, rows of y in
 * order. */
DYNC__RARE static void dync__conv_input_one(dync__conv *v, int64_t image, int64_t group,
                                            void *columns)
{
    int64_t ck = v->gc * v->kh * v->kw, area = v->oh * v->ow, plane = v->h * v->w;
    char *gx = dync__conv_out(v, v->gx, plane, image * v->c + group * v->gc);
    const void *w = dync__conv_plane(v, v->weight, ck, group * v->go);
    const char *gy = dync__conv_plane(v, v->gy, area, image * v->o + group * v->go);
    if (v->pointwise) {
        dync__conv_gemm(v, ck, area, v->go, w, 1, ck, gy, area, 1, gx, area, NULL, true);
        dync__lines_done(v->done, v, v->h, image * v->c + group * v->gc, v->gc, 0, v->h);
        return;
    }
    memset(gx, 0, (size_t)(v->gc * plane * v->bytes));
    for (int64_t o = 0; v->direct && o < v->go; o++)
        dync__conv_direct(v, DYNC__CONV_GX, NULL, dync__conv_plane(v, w, ck, o),
                          dync__conv_plane(v, gy, area, o), gx, columns);
    for (int64_t oy = 0; !v->direct && oy < v->oh; oy += v->block) {
        int64_t rows = DYNC__MIN(v->block, v->oh - oy), n = rows * v->ow;
        dync__conv_gemm(v, ck, n, v->go, w, 1, ck, gy + oy * v->ow * v->bytes, area, 1, columns, n,
                        NULL, true);
        if (v->bytes == 8)
            dync__conv_col2im_d(v, columns, (double *)(void *)gx, oy, rows);
        else
            dync__conv_col2im_f(v, columns, (float *)(void *)gx, oy, rows);
    }
    dync__lines_done(v->done, v, v->h, image * v->c + group * v->gc, v->gc, 0, v->h);
}

/* All images of one group: gw is theirs alone. */
DYNC__RARE static void dync__conv_weight_group(const dync__conv *v, int64_t group, void *columns)
{
    int64_t ck = v->gc * v->kh * v->kw, area = v->oh * v->ow;
    void *gw = dync__conv_out(v, v->gw, ck, group * v->go);
    memset(gw, 0, (size_t)(v->go * ck * v->bytes));
    for (int64_t image = 0; image < v->n; image++) {
        const void *x = dync__conv_plane(v, v->x, v->h * v->w, image * v->c + group * v->gc);
        const char *gy = dync__conv_plane(v, v->gy, area, image * v->o + group * v->go);
        for (int64_t o = 0; v->direct && o < v->go; o++)
            dync__conv_direct(v, DYNC__CONV_GW, x, NULL, dync__conv_plane(v, gy, area, o),
                              dync__conv_out(v, gw, ck, o), columns);
        for (int64_t oy = 0; !v->direct && oy < v->oh; oy += v->block) {
            int64_t rows = DYNC__MIN(v->block, v->oh - oy), n = rows * v->ow;
            if (!v->pointwise) dync__conv_im2col(v, x, columns, oy, rows);
            dync__conv_gemm(v, v->go, ck, n, gy + oy * v->ow * v->bytes, area, 1,
                            v->pointwise ? x : columns, 1, n, gw, ck, gw, false);
        }
    }
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* A thread's share of images and groups (of gw: groups). Without memory for its columns it sets
 * v->status and leaves its share undone. */
DYNC__RARE static void dync__conv_part(void *user, int part, int n_parts)
{
    dync__conv *v = user;
    int64_t jobs = v->gw ? v->groups : v->n * v->groups;
    bool needs = !v->pointwise;
    size_t bytes = dync__conv_room(v, v->gx);
    void *columns = needs ? dync__alloc_data(bytes) : NULL;
    if (needs && !columns) {
        DYNC__ATOMIC_STORE(&v->status, DYNC_ERR_MEMORY);
        return;
    }
    for (int64_t i = jobs * part / n_parts; i < jobs * (part + 1) / n_parts; i++) {
        if (v->gw)
            dync__conv_weight_group(v, i, columns);
        else if (v->gx)
            dync__conv_input_one(v, i / v->groups, i % v->groups, columns);
        else
            dync__conv_forward_one(v, i / v->groups, i % v->groups, columns);
    }
    if (columns) dync__free_data(columns, bytes);
}

/* The convolution without tiles in machine code. Threads share images and groups where there are
 * enough of them; else gemm uses the threads and the epilogue runs once, at the end. */
DYNC__RARE static dync_status dync__conv_run(dync__conv *v)
{
    double work = (double)(v->n * v->o * v->oh * v->ow) * (double)(v->gc * v->kh * v->kw);
    int64_t jobs = v->gw ? v->groups : v->n * v->groups;
    int threads = dync__pool_threads();
    bool apart = jobs >= threads && work >= DYNC__CONV_PARALLEL;
    bool all = v->done && !apart;
    /* gemm uses the threads itself, and so does what follows */
    if (all) v->done = NULL;
    if (dync__conv_is_pixels(v) && !v->gw)
        dync__conv_pixels(v);
    else if (apart && threads > 1)
        dync__pool_run(dync__conv_part, v,
                       dync__pool_pieces(threads, work / DYNC__MACS_PER_NS, jobs));
    else
        dync__conv_part(v, 0, 1);
    DYNC__TRY(dync__conv_status(v));
    return all ? dync__code_run(v->call->epilogue, v->data + v->call->n, 0, 0) : DYNC_OK;
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
    bool planes = !(c->blocked & 1) && !(c->blocked >> (c->n - 1) & 1),
         product = v.pointwise && planes && what != DYNC__CJ_WEIGHT;
    bool fits = v.oh * v.ow >= DYNC__CONV_PLANE &&
                (v.gc + v.go) * v.oh * v.ow < DYNC__CONV_PLANES && v.gc * v.go < DYNC__CONV_WEIGHTS;
    if (product && (fits || dync__conv_is_pixels(&v)))
        return c->after ? dync__fail_memory(0) : DYNC_OK;
    dync__cj_shape s = {v.n,
                        v.c,
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
                        what == DYNC__CJ_WEIGHT ? 0 : c->attr.conv.winograd,
                        0};
    dync__cj_form form = {c->blocked & 1, c->blocked >> (c->n - 1) & 1, c->after};
    c->state = dync__cj_new(&s, what, &form);
    if (!c->state && s.winograd) {
        s.winograd = 0;
        c->state = dync__cj_new(&s, what, &form);
    }
    c->drop = dync__conv_drop;
    if (c->state) c->run_bytes = dync__cj_bytes(c->state);
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
    dync_status status = dync__dense_all(c, first, first, data, in);
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

/* The two gradients have the same form: two operands in, one out. */
DYNC__RARE static dync_status dync__conv_grad(const dync__kcall *c, void *const *data,
                                              dync__conv *v, const void **first,
                                              const void **second, void **out)
{
    dync__dense d[3];
    dync_status status = dync__dense_all(c, 3, 2, data, d);
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
