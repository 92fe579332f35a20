/* cuda/loops.c: kernel calls (kernel/kernel.h) as loop kernels, where a loop nest says it all:
 * matmul of any dtype, convolution and its gradients, pooling. Before calls.c, which has faster
 * texts for some and the rest.
 *
 * Every result element is gathered by one reduction, so nothing is written twice and the order of
 * additions is fixed. Places outside of a picture are read at its beginning and replaced by a
 * neutral value. */
#include "../dync.in.h"
#include "cuda.h"
#include "loops.h"
DYNC__COLD

DYNC__FN int dync__cl_loop(dync__cl *c, int64_t extent)
{
    c->extent[c->n] = extent;
    return c->n++;
}

DYNC__FN void dync__cl_begin(dync__cl *c, dync__cuda_code *code, int n_outer)
{
    c->k = dync__kernel_new(&code->arena, c->call->row->name, n_outer, c->n, c->extent);
    if (!c->k) {
        c->k = &c->none;
        c->k->arena = &code->arena;
        c->k->name = c->call->row->name;
        c->k->failed = true;
    }
    c->b.k = c->k;
    c->b.section = 1;
    c->b.origin = c->call->row->name;
}

/* An element: operand number, its strides for up to 8 loops given as pairs (loop, dim), -1 ends. */
static int dync__cl_access(dync__cl *c, const dync__operand *o, const int *pairs,
                           const int64_t *times)
{
    int64_t stride[DYNC__CL_DIMS] = {0};
    for (int i = 0; pairs[i] >= 0; i += 2)
        stride[pairs[i]] += o->lay.stride[pairs[i + 1]] * (times ? times[i / 2] : 1);
    return dync__kernel_access(c->k, o->lay.offset, stride);
}
static int dync__cl_buf(dync__cl *c, int operand, int mode)
{
    return dync__kernel_buf(c->k, operand, c->call->operand[operand].dtype, mode, -1, NULL);
}
static int dync__cl_load(dync__cl *c, int operand, const int *pairs, int type)
{
    return dync__lb_cast(&c->b,
                         dync__lb_load(&c->b, dync__cl_buf(c, operand, DYNC__BUF_IN),
                                       dync__cl_access(c, &c->call->operand[operand], pairs, NULL)),
                         type);
}
DYNC__FN void dync__cl_store(dync__cl *c, int operand, const int *pairs, int value)
{
    const dync__operand *o = &c->call->operand[operand];
    value = dync__lb_wrap(&c->b, dync__lb_cast(&c->b, value, dync__dtype_info(o->dtype)->compute),
                          o->dtype);
    dync__lb_store(&c->b, dync__cl_buf(c, operand, DYNC__BUF_OUT),
                   dync__cl_access(c, o, pairs, NULL), value);
}
DYNC__FN int dync__cl_op(dync__cl *c, int prim, int a, int b)
{
    return dync__lb_op(&c->b, prim, a, b, -1);
}
DYNC__FN int dync__cl_i(dync__cl *c, int64_t x) { return dync__lb_i(&c->b, DYNC_I64, x); }
DYNC__FN int dync__cl_select(dync__cl *c, int p, int a, int b)
{
    return dync__lb_op(&c->b, DYNC__P_select, p, a, b);
}

/* offset + sum of coefficient * loop, as I64 */
DYNC__FN int dync__cl_form(dync__cl *c, int64_t offset, int loop1, int64_t by1, int loop2,
                           int64_t by2)
{
    int64_t stride[DYNC__CL_DIMS] = {0};
    stride[loop1] += by1;
    stride[loop2] += by2;
    return dync__lb_index(&c->b, dync__kernel_access(c->k, offset, stride));
}

/* 0 <= x < n */
DYNC__FN int dync__cl_inside(dync__cl *c, int x, int64_t n)
{
    return dync__cl_op(c, DYNC__P_and_, dync__cl_op(c, DYNC__P_le, dync__cl_i(c, 0), x),
                       dync__cl_op(c, DYNC__P_lt, x, dync__cl_i(c, n)));
}

/* The element of `operand` at pairs and at places y, x of its last two dims, or `other` where `ok`
 * does not hold. */
DYNC__FN int dync__cl_picture(dync__cl *c, int operand, const int *pairs, int y, int x, int ok,
                              int type, int other)
{
    const dync__operand *o = &c->call->operand[operand];
    int n = o->lay.ndim;
    int at = dync__cl_op(c, DYNC__P_add,
                         dync__cl_op(c, DYNC__P_mul, y, dync__cl_i(c, o->lay.stride[n - 2])),
                         dync__cl_op(c, DYNC__P_mul, x, dync__cl_i(c, o->lay.stride[n - 1])));
    at = dync__cl_select(c, ok, at, dync__cl_i(c, 0));
    int value = dync__lb_loadx(&c->b, dync__cl_buf(c, operand, DYNC__BUF_IN),
                               dync__cl_access(c, o, pairs, NULL), at);
    return dync__cl_select(c, ok, dync__lb_cast(&c->b, value, type), other);
}

DYNC__FN int dync__cl_working(int dtype) { return dync__dtype_info(dtype)->compute; }

DYNC__FN dync_status dync__cl_finish(dync__cl *c, dync__cuda_code *code)
{
    return dync__cuda_add_loop(code, c->k) ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* ---- products -------------------------------------------------------------------------------- */

DYNC__FN dync_status dync__cl_matmul(dync__cuda_code *code, const dync__kcall *call, bool bias)
{
    dync__cl c = {.call = call};
    int out = bias ? 3 : 2, rank = call->operand[out].lay.ndim, a[2 * DYNC_MAX_DIMS + 1],
        b[2 * DYNC_MAX_DIMS + 1], y[2 * DYNC_MAX_DIMS + 1];
    int n_a = 0, n_b = 0, n_y = 0, type = dync__cl_working(call->operand[out].dtype);
    if (type == DYNC_BOOL) type = DYNC_I32;
    for (int d = 0; d < rank; d++) {
        int loop = dync__cl_loop(&c, call->operand[out].lay.shape[d]);
        if (d != rank - 1) a[n_a++] = loop, a[n_a++] = d;
        if (d != rank - 2) b[n_b++] = loop, b[n_b++] = d;
        y[n_y++] = loop, y[n_y++] = d;
    }
    int64_t depth = call->operand[0].lay.shape[rank - 1];
    /* nothing to add up: a product of empty rows */
    if (depth == 0) {
        y[n_y] = -1;
        dync__cl_begin(&c, code, 0);
        int nothing = dync__lb_cast(&c.b, dync__lb_i(&c.b, DYNC_I32, 0), type);
        dync__cl_store(&c, out, y, bias ? dync__cl_load(&c, 2, y, type) : nothing);
        return dync__cl_finish(&c, code);
    }
    int k = dync__cl_loop(&c, depth);
    a[n_a++] = k, a[n_a++] = rank - 1, b[n_b++] = k, b[n_b++] = rank - 2;
    a[n_a] = b[n_b] = y[n_y] = -1;
    dync__cl_begin(&c, code, rank);
    int sum = dync__lb_reduce(
        &c.b, DYNC__R_SUM,
        dync__cl_op(&c, DYNC__P_mul, dync__cl_load(&c, 0, a, type), dync__cl_load(&c, 1, b, type)));
    c.b.section = 2;
    if (bias) sum = dync__cl_op(&c, DYNC__P_add, sum, dync__cl_load(&c, 2, y, type));
    dync__cl_store(&c, out, y, sum);
    return dync__cl_finish(&c, code);
}

/* ---- convolution: x [N,C,H,W] w [O,C/g,KH,KW] y [N,O,OH,OW] ---------------------------------- */

/* Windows of few elements are unrolled: a thread a result, nothing is reduced, neighbours side by
 * side. Depthwise convolutions, mostly. */
static bool dync__cl_is_few(int64_t channels, const int64_t *w)
{
    return channels * w[2] * w[3] <= DYNC__CL_WINDOW;
}

/* sum + the element of picture 0 at y, x of channel number `channel` of the group, if ok, times
 * that of w; -1: nothing yet. */
static int dync__cl_tap(dync__cl *c, const dync__kcall *call, int sum, int64_t channel, int dim,
                        int64_t ky, int64_t kx, const int *at_x, const int *at_w, int y, int x,
                        int ok)
{
    dync__kcall_full here;
    int type = dync__cl_working(call->operand[0].dtype), zero = dync__lb_f(&c->b, type, 0);
    dync__layout *in = &here.call.operand[0].lay, *w = &here.call.operand[1].lay;
    dync__kcall_copy(&here.call, call);
    in->offset += channel * in->stride[1];
    w->offset += channel * w->stride[dim] + ky * w->stride[2] + kx * w->stride[3];
    c->call = &here.call;
    int v = dync__cl_op(c, DYNC__P_mul, dync__cl_picture(c, 0, at_x, y, x, ok, type, zero),
                        dync__cl_load(c, 1, at_w, type));
    c->call = call;
    return sum < 0 ? v : dync__cl_op(c, DYNC__P_add, sum, v);
}

DYNC__FN dync_status dync__cl_conv(dync__cuda_code *code, const dync__kcall *call)
{
    dync__cl c = {.call = call};
    const dync__attr_conv *a = &call->attr.conv;
    const int64_t *xs = call->operand[0].lay.shape, *ws = call->operand[1].lay.shape,
                  *ys = call->operand[call->n - 1].lay.shape;
    int type = dync__cl_working(call->operand[0].dtype), out = call->n - 1;
    bool few = dync__cl_is_few(ws[1], ws);
    int n = dync__cl_loop(&c, ys[0]), g = dync__cl_loop(&c, a->groups),
        o = dync__cl_loop(&c, ws[0] / a->groups), oy = dync__cl_loop(&c, ys[2]),
        ox = dync__cl_loop(&c, ys[3]);
    int i = few ? 0 : dync__cl_loop(&c, ws[1]), ky = few ? 0 : dync__cl_loop(&c, ws[2]),
        kx = few ? 0 : dync__cl_loop(&c, ws[3]), sum = -1;
    dync__cl_begin(&c, code, few ? 0 : 5);
    dync__operand x = call->operand[0], w = call->operand[1], y = call->operand[out],
                  bias = call->operand[2];
    int64_t xg = ws[1], wg = ws[0] / a->groups;
    /* channels as group and channel of it: a stride for the group */
    dync__kcall_full room;
    dync__kcall *grouped = &room.call;
    dync__kcall_copy(grouped, call);
    c.call = grouped;
    grouped->operand[0].lay.stride[4] = x.lay.stride[1] * xg;
    grouped->operand[1].lay.stride[4] = w.lay.stride[0] * wg;
    grouped->operand[out].lay.stride[4] = y.lay.stride[1] * wg;
    if (call->n == 4) grouped->operand[2].lay.stride[1] = bias.lay.stride[0] * wg;
    int at_x[] = {n, 0, g, 4, -1, 1, -1}, at_w[] = {g, 4, o, 0, -1, 1, ky, 2, kx, 3, -1},
        at_y[] = {n, 0, g, 4, o, 1, oy, 2, ox, 3, -1};
    for (int64_t tap = 0; few && tap < ws[1] * ws[2] * ws[3]; tap++) {
        int64_t down = tap / ws[3] % ws[2], right = tap % ws[3];
        int iy = dync__cl_form(&c, down * a->dilation[0] - a->pad[0], oy, a->stride[0], n, 0),
            ix = dync__cl_form(&c, right * a->dilation[1] - a->pad[1], ox, a->stride[1], n, 0);
        int ok = dync__cl_op(&c, DYNC__P_and_, dync__cl_inside(&c, iy, xs[2]),
                             dync__cl_inside(&c, ix, xs[3]));
        sum = dync__cl_tap(&c, grouped, sum, tap / (ws[2] * ws[3]), 1, down, right, at_x, at_w, iy,
                           ix, ok);
    }
    if (!few) {
        at_x[4] = at_w[4] = i;
        int iy = dync__cl_form(&c, -a->pad[0], oy, a->stride[0], ky, a->dilation[0]),
            ix = dync__cl_form(&c, -a->pad[1], ox, a->stride[1], kx, a->dilation[1]);
        int ok = dync__cl_op(&c, DYNC__P_and_, dync__cl_inside(&c, iy, xs[2]),
                             dync__cl_inside(&c, ix, xs[3]));
        int v = dync__cl_picture(&c, 0, at_x, iy, ix, ok, type, dync__lb_f(&c.b, type, 0));
        sum = dync__lb_reduce(&c.b, DYNC__R_SUM,
                              dync__cl_op(&c, DYNC__P_mul, v, dync__cl_load(&c, 1, at_w, type)));
        c.b.section = 2;
    }
    if (call->n == 4) {
        int at_b[] = {g, 1, o, 0, -1};
        sum = dync__cl_op(&c, DYNC__P_add, sum, dync__cl_load(&c, 2, at_b, type));
    }
    dync__cl_store(&c, out, at_y, sum);
    return dync__cl_finish(&c, code);
}

/* oy with oy * stride == y + pad - k * dilation, and whether there is one in [0, n). */
DYNC__FN int dync__cl_source(dync__cl *c, int from, int64_t stride, int64_t n, int *ok)
{
    if (stride == 1) {
        *ok = dync__cl_inside(c, from, n);
        return from;
    }
    int by = dync__cl_i(c, stride), whole = dync__cl_op(c, DYNC__P_div, from, by);
    int exact = dync__cl_op(c, DYNC__P_eq, dync__cl_op(c, DYNC__P_mul, whole, by), from);
    exact = dync__cl_op(c, DYNC__P_and_, exact, dync__cl_op(c, DYNC__P_le, dync__cl_i(c, 0), from));
    *ok = dync__cl_op(c, DYNC__P_and_, exact, dync__cl_inside(c, whole, n));
    return whole;
}

DYNC__FN dync_status dync__cl_conv_input(dync__cuda_code *code, const dync__kcall *call)
{
    dync__cl c = {.call = call};
    const dync__attr_conv *a = &call->attr.conv;
    const int64_t *ys = call->operand[0].lay.shape, *ws = call->operand[1].lay.shape,
                  *xs = call->operand[2].lay.shape;
    int type = dync__cl_working(call->operand[0].dtype), ok_y, ok_x;
    bool few = dync__cl_is_few(ws[0] / a->groups, ws);
    int n = dync__cl_loop(&c, xs[0]), g = dync__cl_loop(&c, a->groups),
        i = dync__cl_loop(&c, ws[1]), h = dync__cl_loop(&c, xs[2]), w = dync__cl_loop(&c, xs[3]),
        sum = -1;
    int o = few ? 0 : dync__cl_loop(&c, ws[0] / a->groups), ky = few ? 0 : dync__cl_loop(&c, ws[2]),
        kx = few ? 0 : dync__cl_loop(&c, ws[3]);
    dync__cl_begin(&c, code, few ? 0 : 5);
    dync__kcall_full room;
    dync__kcall *grouped = &room.call;
    dync__kcall_copy(grouped, call);
    c.call = grouped;
    grouped->operand[0].lay.stride[4] = call->operand[0].lay.stride[1] * (ws[0] / a->groups);
    grouped->operand[1].lay.stride[4] = call->operand[1].lay.stride[0] * (ws[0] / a->groups);
    grouped->operand[2].lay.stride[4] = call->operand[2].lay.stride[1] * ws[1];
    int at_y[] = {n, 0, g, 4, -1, 1, -1}, at_w[] = {g, 4, i, 1, -1, 0, ky, 2, kx, 3, -1},
        at_x[] = {n, 0, g, 4, i, 1, h, 2, w, 3, -1};
    for (int64_t tap = 0; few && tap < ws[0] / a->groups * ws[2] * ws[3]; tap++) {
        int64_t down = tap / ws[3] % ws[2], right = tap % ws[3];
        int oy = dync__cl_source(&c,
                                 dync__cl_form(&c, a->pad[0] - down * a->dilation[0], h, 1, n, 0),
                                 a->stride[0], ys[2], &ok_y);
        int ox = dync__cl_source(&c,
                                 dync__cl_form(&c, a->pad[1] - right * a->dilation[1], w, 1, n, 0),
                                 a->stride[1], ys[3], &ok_x);
        sum = dync__cl_tap(&c, grouped, sum, tap / (ws[2] * ws[3]), 0, down, right, at_y, at_w, oy,
                           ox, dync__cl_op(&c, DYNC__P_and_, ok_y, ok_x));
    }
    if (!few) {
        at_y[4] = at_w[4] = o;
        int oy = dync__cl_source(&c, dync__cl_form(&c, a->pad[0], h, 1, ky, -a->dilation[0]),
                                 a->stride[0], ys[2], &ok_y);
        int ox = dync__cl_source(&c, dync__cl_form(&c, a->pad[1], w, 1, kx, -a->dilation[1]),
                                 a->stride[1], ys[3], &ok_x);
        int v = dync__cl_picture(&c, 0, at_y, oy, ox, dync__cl_op(&c, DYNC__P_and_, ok_y, ok_x),
                                 type, dync__lb_f(&c.b, type, 0));
        sum = dync__lb_reduce(&c.b, DYNC__R_SUM,
                              dync__cl_op(&c, DYNC__P_mul, v, dync__cl_load(&c, 1, at_w, type)));
        c.b.section = 2;
    }
    dync__cl_store(&c, 2, at_x, sum);
    return dync__cl_finish(&c, code);
}

DYNC__FN dync_status dync__cl_conv_weight(dync__cuda_code *code, const dync__kcall *call)
{
    dync__cl c = {.call = call};
    const dync__attr_conv *a = &call->attr.conv;
    const int64_t *xs = call->operand[0].lay.shape, *ys = call->operand[1].lay.shape,
                  *ws = call->operand[2].lay.shape;
    int type = dync__cl_working(call->operand[0].dtype);
    int g = dync__cl_loop(&c, a->groups), o = dync__cl_loop(&c, ws[0] / a->groups),
        i = dync__cl_loop(&c, ws[1]), ky = dync__cl_loop(&c, ws[2]), kx = dync__cl_loop(&c, ws[3]),
        n = dync__cl_loop(&c, xs[0]), oy = dync__cl_loop(&c, ys[2]), ox = dync__cl_loop(&c, ys[3]);
    dync__cl_begin(&c, code, 5);
    dync__kcall_full room;
    dync__kcall *grouped = &room.call;
    dync__kcall_copy(grouped, call);
    c.call = grouped;
    grouped->operand[0].lay.stride[4] = call->operand[0].lay.stride[1] * ws[1];
    grouped->operand[1].lay.stride[4] = call->operand[1].lay.stride[1] * (ws[0] / a->groups);
    grouped->operand[2].lay.stride[4] = call->operand[2].lay.stride[0] * (ws[0] / a->groups);
    int iy = dync__cl_form(&c, -a->pad[0], oy, a->stride[0], ky, a->dilation[0]),
        ix = dync__cl_form(&c, -a->pad[1], ox, a->stride[1], kx, a->dilation[1]);
    int ok = dync__cl_op(&c, DYNC__P_and_, dync__cl_inside(&c, iy, xs[2]),
                         dync__cl_inside(&c, ix, xs[3]));
    int at_x[] = {n, 0, g, 4, i, 1, -1}, at_y[] = {n, 0, g, 4, o, 1, oy, 2, ox, 3, -1},
        at_w[] = {g, 4, o, 0, i, 1, ky, 2, kx, 3, -1};
    int v = dync__cl_picture(&c, 0, at_x, iy, ix, ok, type, dync__lb_f(&c.b, type, 0));
    int sum = dync__lb_reduce(&c.b, DYNC__R_SUM,
                              dync__cl_op(&c, DYNC__P_mul, v, dync__cl_load(&c, 1, at_y, type)));
    c.b.section = 2;
    dync__cl_store(&c, 2, at_w, sum);
    return dync__cl_finish(&c, code);
}
