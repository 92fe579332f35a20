/* cuda/loops_pool.c: pooling as loops, and the rows of operators that loops take. Before: loops.c.
 * */
#include "../dync.in.h"
#include "cuda.h"
#include "loops.h"
DYNC__COLD

/* ---- pooling: x [.., H, W] y [.., OH, OW] ---------------------------------------------------- */

/* Loops over the leading dims, then rows and columns of the result; pairs of leading loops for any
 * operand. */
static int dync__cl_planes(dync__cl *c, const dync__operand *out, int *pairs, int *y, int *x)
{
    int n = 0, rank = out->lay.ndim;
    for (int d = 0; d < rank - 2; d++)
        pairs[n++] = dync__cl_loop(c, out->lay.shape[d]), pairs[n++] = d;
    *y = dync__cl_loop(c, out->lay.shape[rank - 2]);
    *x = dync__cl_loop(c, out->lay.shape[rank - 1]);
    pairs[n] = -1;
    return n;
}

/* A window over the last two dims of `in`: loops, and the place that the inner ones point at. */
typedef struct dync__cl_pool {
    int pairs[2 * DYNC_MAX_DIMS + 5], n, oy, ox, iy, ix, ok, rank, type;
    int64_t h, w;
} dync__cl_pool;

static dync__cl_pool dync__cl_pool_begin(dync__cl *c, dync__cuda_code *code)
{
    const dync__attr_pool *a = &c->call->attr.pool;
    const dync__operand *in = &c->call->operand[0];
    dync__cl_pool p = {.rank = in->lay.ndim, .type = dync__cl_working(in->dtype)};
    p.n = dync__cl_planes(c, &c->call->operand[1], p.pairs, &p.oy, &p.ox);
    int n_outer = c->n, ky = dync__cl_loop(c, a->kernel[0]), kx = dync__cl_loop(c, a->kernel[1]);
    p.h = in->lay.shape[p.rank - 2];
    p.w = in->lay.shape[p.rank - 1];
    dync__cl_begin(c, code, n_outer);
    p.iy = dync__cl_form(c, -a->pad[0], p.oy, a->stride[0], ky, a->dilation[0]);
    p.ix = dync__cl_form(c, -a->pad[1], p.ox, a->stride[1], kx, a->dilation[1]);
    p.ok =
        dync__cl_op(c, DYNC__P_and_, dync__cl_inside(c, p.iy, p.h), dync__cl_inside(c, p.ix, p.w));
    return p;
}

/* From here on the pairs are those of the result. */
static void dync__cl_pool_result(dync__cl_pool *p)
{
    int more[] = {p->oy, p->rank - 2, p->ox, p->rank - 1, -1};
    memcpy(p->pairs + p->n, more, sizeof more);
}

/* The greatest, then the first place that holds it, or the last NaN. */
static dync_status dync__cl_max_pool(dync__cuda_code *code, const dync__kcall *call)
{
    dync__cl c = {.call = call};
    dync__cl_pool p = dync__cl_pool_begin(&c, code);
    int v = dync__cl_picture(&c, 0, p.pairs, p.iy, p.ix, p.ok, p.type,
                             dync__lb_f(&c.b, p.type, -HUGE_VAL));
    int top = dync__lb_reduce(&c.b, DYNC__R_MAX, v);
    c.b.section = 3;
    int place =
        dync__cl_op(&c, DYNC__P_add, dync__cl_op(&c, DYNC__P_mul, p.iy, dync__cl_i(&c, p.w)), p.ix);
    int found = dync__cl_op(&c, DYNC__P_and_, p.ok, dync__cl_op(&c, DYNC__P_eq, v, top)),
        nan = dync__cl_op(&c, DYNC__P_ne, v, v);
    int first = dync__lb_reduce(&c.b, DYNC__R_MIN,
                                dync__cl_select(&c, found, place, dync__cl_i(&c, p.h * p.w)));
    int last =
        dync__lb_reduce(&c.b, DYNC__R_MAX, dync__cl_select(&c, nan, place, dync__cl_i(&c, -1)));
    c.b.section = 4;
    int index =
        dync__cl_select(&c, dync__cl_op(&c, DYNC__P_le, dync__cl_i(&c, 0), last), last, first);
    index = dync__cl_select(&c, dync__cl_op(&c, DYNC__P_lt, index, dync__cl_i(&c, p.h * p.w)),
                            index, dync__cl_i(&c, 0));
    dync__cl_pool_result(&p);
    dync__cl_store(&c, 1, p.pairs, top);
    dync__cl_store(&c, 2, p.pairs, index);
    return dync__cl_finish(&c, code);
}

/* What the average over the window at oy, ox divides by; both I64. */
static int dync__cl_window(dync__cl *c, int oy, int ox, int64_t h, int64_t w)
{
    const dync__attr_pool *a = &c->call->attr.pool;
    int size[2];
    if (a->divisor) return dync__cl_i(c, a->divisor);
    for (int d = 0; d < 2; d++) {
        int64_t length = d ? w : h, kernel = a->kernel[d], pad = a->pad[d];
        int from = dync__cl_op(
            c, DYNC__P_sub, dync__cl_op(c, DYNC__P_mul, d ? ox : oy, dync__cl_i(c, a->stride[d])),
            dync__cl_i(c, pad));
        int to = dync__cl_op(c, DYNC__P_min,
                             dync__cl_op(c, DYNC__P_add, from, dync__cl_i(c, kernel)),
                             dync__cl_i(c, a->include_pad ? length + pad : length));
        if (!a->include_pad) from = dync__cl_op(c, DYNC__P_max, from, dync__cl_i(c, 0));
        size[d] = dync__cl_op(c, DYNC__P_sub, to, from);
    }
    return dync__cl_op(c, DYNC__P_mul, size[0], size[1]);
}

static dync_status dync__cl_avg_pool(dync__cuda_code *code, const dync__kcall *call)
{
    dync__cl c = {.call = call};
    dync__cl_pool p = dync__cl_pool_begin(&c, code);
    int zero = dync__lb_f(&c.b, p.type, 0);
    int sum = dync__lb_reduce(&c.b, DYNC__R_SUM,
                              dync__cl_picture(&c, 0, p.pairs, p.iy, p.ix, p.ok, p.type, zero)),
        any = dync__lb_reduce(&c.b, DYNC__R_ANY, p.ok);
    c.b.section = 2;
    int by = dync__lb_cast(&c.b,
                           dync__cl_window(&c, dync__cl_form(&c, 0, p.oy, 1, p.ox, 0),
                                           dync__cl_form(&c, 0, p.ox, 1, p.oy, 0), p.h, p.w),
                           p.type);
    dync__cl_pool_result(&p);
    dync__cl_store(&c, 1, p.pairs,
                   dync__cl_select(&c, any, dync__cl_op(&c, DYNC__P_div, sum, by),
                                   dync__lb_f(&c.b, p.type, 0)));
    return dync__cl_finish(&c, code);
}

static dync_status dync__cl_avg_pool_grad(dync__cuda_code *code, const dync__kcall *call)
{
    dync__cl c = {.call = call};
    const dync__attr_pool *a = &call->attr.pool;
    const dync__operand *gy = &call->operand[0], *gx = &call->operand[1];
    int pairs[2 * DYNC_MAX_DIMS + 5], y, x, ok_y, ok_x, rank = gx->lay.ndim,
                                                        type = dync__cl_working(gx->dtype),
                                                        n = dync__cl_planes(&c, gx, pairs, &y, &x);
    int n_outer = c.n, ky = dync__cl_loop(&c, a->kernel[0]), kx = dync__cl_loop(&c, a->kernel[1]);
    dync__cl_begin(&c, code, n_outer);
    int oy = dync__cl_source(&c, dync__cl_form(&c, a->pad[0], y, 1, ky, -1), a->stride[0],
                             gy->lay.shape[rank - 2], &ok_y);
    int ox = dync__cl_source(&c, dync__cl_form(&c, a->pad[1], x, 1, kx, -1), a->stride[1],
                             gy->lay.shape[rank - 1], &ok_x);
    int zero = dync__lb_f(&c.b, type, 0), ok = dync__cl_op(&c, DYNC__P_and_, ok_y, ok_x);
    int v = dync__cl_picture(&c, 0, pairs, oy, ox, ok, type, zero);
    int by = dync__lb_cast(
        &c.b, dync__cl_window(&c, oy, ox, gx->lay.shape[rank - 2], gx->lay.shape[rank - 1]), type);
    int sum = dync__lb_reduce(&c.b, DYNC__R_SUM,
                              dync__cl_select(&c, ok, dync__cl_op(&c, DYNC__P_div, v, by), zero));
    c.b.section = 2;
    pairs[n] = y, pairs[n + 1] = rank - 2, pairs[n + 2] = x, pairs[n + 3] = rank - 1,
    pairs[n + 4] = -1;
    dync__cl_store(&c, 1, pairs, sum);
    return dync__cl_finish(&c, code);
}

/* ---- rows ------------------------------------------------------------------------------------ */

DYNC__FN dync_status dync__cuda_call_loops(dync__cuda_code *code, const dync__kcall *call,
                                           bool *done)
{
    *done = true;
    for (int i = 0; i < call->n; i++) /* an empty result asks for nothing */
        for (int d = 0; call->operand[i].written && d < call->operand[i].lay.ndim; d++)
            if (call->operand[i].lay.shape[d] == 0) return DYNC_OK;
    if (dync__kcall_is(call, DYNC__K_matmul)) return dync__cl_matmul(code, call, false);
    if (dync__kcall_is(call, DYNC__K_addmm)) return dync__cl_matmul(code, call, true);
    if (dync__kcall_is(call, DYNC__K_conv2d)) return dync__cl_conv(code, call);
    if (dync__kcall_is(call, DYNC__K_conv2d_grad_input)) return dync__cl_conv_input(code, call);
    if (dync__kcall_is(call, DYNC__K_conv2d_grad_weight)) return dync__cl_conv_weight(code, call);
    if (dync__kcall_is(call, DYNC__K_max_pool2d)) return dync__cl_max_pool(code, call);
    if (dync__kcall_is(call, DYNC__K_avg_pool2d)) return dync__cl_avg_pool(code, call);
    if (dync__kcall_is(call, DYNC__K_avg_pool2d_grad)) return dync__cl_avg_pool_grad(code, call);
    *done = false;
    return DYNC_OK;
}
