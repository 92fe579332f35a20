/* op/lower_nn.c: operators as kernel calls: products, convolution and pooling, attention, recurrent
 * layers. After lower_reduce.c. */
#include "../dync.in.h"
#include "rows.h"
DYNC__LEAN

/* ---- products -------------------------------------------------------------------------------- */

/* mm, bmm, mv: all are [.., M, K] @ [.., K, N] after a look at the dims that are missing. A
 * sum over no elements is 0. */
DYNC__FN dync_status dync__l_matmul(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                    const dync__operand *out)
{
    dync__operand op[3] = {in[0], in[1], *out};
    /* the vector on the right is a column */
    if (call->op == DYNC__OP_mv) {
        op[1].lay.shape[1] = 1;
        op[1].lay.stride[1] = 1;
        op[1].lay.ndim = 2;
        op[0] = dync__lower_lifted(&op[0], 2);
        op[2].lay.ndim = 2;
        op[2].lay.shape[0] = op[0].lay.shape[0];
        op[2].lay.stride[0] = out->lay.stride[0];
        op[2].lay.shape[1] = op[2].lay.stride[1] = 1;
    }
    op[2].written = true;
    if (dync__lower_empty(out)) return DYNC_OK;
    if (op[0].lay.shape[op[0].lay.ndim - 1] == 0) return dync__lower_fill(pb, call, -1, 0, out);
    return dync__lower_kcall(pb, &dync__kcall_matmul, 3, op, NULL);
}

/* Floats: one kernel call, whose bias is self expanded (stride 0 where it broadcasts). Integers
 * have no such kernel: a product into a temporary, and an addition, which is lowered as a call of
 * add over two tensors that exist only to say dtype and layout. */
DYNC__FN dync_status dync__l_addmm(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                   const dync__operand *out)
{
    dync__operand op[4] = {in[1], in[2], in[0], *out};
    (void)call;
    if (dync__lower_empty(out)) return DYNC_OK;
    if (in[1].lay.shape[1] == 0) return dync__lower_copy(pb, &in[0], out);
    op[3].written = true;
    if (dync__dtype_info(out->dtype)->kind == 'f') {
        DYNC__TRY(dync__layout_expand(&in[0].lay, 2, out->lay.shape, &op[2].lay));
        return dync__lower_kcall(pb, &dync__kcall_addmm, 4, op, NULL);
    }
    dync__operand product[3] = {in[1], in[2], {0}}, sum[2];
    dync__tensor a = {.dtype = out->dtype, .lay = out->lay},
                 b = {.dtype = out->dtype, .lay = in[0].lay};
    dync__arg args[2] = {dync__arg_t(&a), dync__arg_t(&b)};
    dync__opcall add = {.row = dync__op_info(DYNC__USED(DYNC__OP_add)),
                        .op = DYNC__OP_add,
                        .nargs = 2,
                        .args = args};
    DYNC__TRY(dync__lower_temp(pb, out->dtype, 2, out->lay.shape, &product[2]));
    product[2].written = true;
    DYNC__TRY(dync__lower_kcall(pb, &dync__kcall_matmul, 3, product, NULL));
    sum[0] = product[2];
    sum[1] = in[0];
    return dync__lower_pointwise(pb, &add, sum, out);
}

/* ---- convolution and pooling ----------------------------------------------------------------- */

/* Two numbers, or one twice, or the defaults where the list is empty. otherwise may be NULL where
 * it is never empty. */
static void dync__lower_pair(const dync__arg *a, const int64_t *otherwise, int64_t *out)
{
    out[0] = a->n ? dync__sz_number(a->as.dims[0]) : otherwise[0];
    out[1] = a->n ? dync__sz_number(a->as.dims[a->n - 1]) : otherwise[1];
}

/* From argument `first` on: stride, pad, dilation, groups. */
static dync__attr dync__lower_conv_attr(const dync__opcall *call, int first)
{
    static const int64_t one[2] = {1, 1}, zero[2] = {0, 0};
    dync__attr attr = {.conv = {.groups = call->args[first + 3].as.i}};
    dync__lower_pair(&call->args[first], one, attr.conv.stride);
    dync__lower_pair(&call->args[first + 1], zero, attr.conv.pad);
    dync__lower_pair(&call->args[first + 2], one, attr.conv.dilation);
    return attr;
}

/* The kernel's operands: input, weight, bias where there is one, result. */
static dync_status dync__lower_conv(dync__pb *pb, const dync__kcall_row *kernel,
                                    const dync__opcall *call, const dync__operand *in,
                                    const dync__operand *out, const dync__attr *attr)
{
    const dync__operand *bias = dync__lower_operand(call, in, 2);
    dync__operand op[4] = {in[0], in[1]};
    int n = 2;
    if (bias) op[n++] = *bias;
    op[n] = *out;
    op[n++].written = true;
    return dync__lower_kcall(pb, kernel, n, op, attr);
}

/* pb->winograd: the largest tile allowed, 0 for none. Which tile pays depends on sizes, so symbolic
 * plans with it are refused here and made anew per size. */
DYNC__FN dync_status dync__l_convolution(dync__pb *pb, const dync__opcall *call,
                                         const dync__operand *in, const dync__operand *out)
{
    dync__attr attr = dync__lower_conv_attr(call, 3);
    DYNC__OFFERS(DYNC_NO_CONV, "a convolution");
    if (dync__lower_empty(out)) return DYNC_OK;
    if (pb->winograd && pb->sized)
        return dync__fail(DYNC_ERR_UNSUPPORTED, "tiles are chosen by sizes");
    if (pb->winograd)
        attr.conv.winograd = dync__conv_winograd(in[0].lay.shape, in[1].lay.shape, out->lay.shape,
                                                 attr.conv.groups, pb->winograd);
    return dync__lower_conv(pb, &dync__kcall_conv2d, call, in, out, &attr);
}

/* As convolution, over int8 with int32 sums; never by Winograd, which needs fractions. */
DYNC__FN dync_status dync__l_int_conv2d(dync__pb *pb, const dync__opcall *call,
                                        const dync__operand *in, const dync__operand *out)
{
    dync__attr attr = dync__lower_conv_attr(call, 3);
    DYNC__OFFERS(DYNC_NO_CONV, "a convolution");
    if (dync__lower_empty(out)) return DYNC_OK;
    return dync__lower_conv(pb, &dync__kcall_int_conv2d, call, in, out, &attr);
}

/* The bias gradient: the sum of grad_output over all but channels. */
static dync_status dync__lower_channel_sum(dync__pb *pb, const dync__operand *g,
                                           const dync__operand *out)
{
    static const int64_t dims[3] = {0, 2, 3};
    dync__arg args[3] = {dync__arg_none(), dync__arg_dims(3, dims), dync__arg_b(false)};
    dync__opcall sum = {.row = dync__op_info(DYNC__USED(DYNC__OP_sum)),
                        .op = DYNC__OP_sum,
                        .nargs = 3,
                        .args = args};
    return dync__l_sum(pb, &sum, g, out);
}

/* Each gradient is a kernel call of its own, made only where it is wanted (arguments 7 to 9):
 * to_input is {grad_output, weight, gx}, to_weight {input, grad_output, gw}. An empty batch gives
 * zeros. */
DYNC__FN dync_status dync__l_convolution_backward(dync__pb *pb, const dync__opcall *call,
                                                  const dync__operand *in, const dync__operand *out)
{
    dync__operand to_input[3] = {in[0], in[2], out[0]}, to_weight[3] = {in[1], in[0], out[1]};
    DYNC__OFFERS(DYNC_NO_CONV, "a convolution");
    dync__attr attr = dync__lower_conv_attr(call, 3);
    bool none = dync__lower_empty(&in[0]);
    to_input[2].written = to_weight[2].written = true;
    if (call->args[7].as.i && !dync__lower_empty(&out[0])) {
        DYNC__TRY(none ? dync__lower_fill(pb, call, -1, 0, &out[0])
                       : dync__lower_kcall(pb, &dync__kcall_conv2d_grad_input, 3, to_input, &attr));
    }
    if (call->args[8].as.i && !dync__lower_empty(&out[1])) {
        DYNC__TRY(
            none ? dync__lower_fill(pb, call, -1, 0, &out[1])
                 : dync__lower_kcall(pb, &dync__kcall_conv2d_grad_weight, 3, to_weight, &attr));
    }
    return call->args[9].as.i ? dync__lower_channel_sum(pb, &in[0], &out[2]) : DYNC_OK;
}

/* From argument `first` on: kernel, stride (or the kernel's), pad. */
static dync__attr dync__lower_pool_attr(const dync__opcall *call, int first)
{
    static const int64_t zero[2] = {0, 0};
    dync__attr attr = {.pool = {.dilation = {1, 1}}};
    dync__lower_pair(&call->args[first], NULL, attr.pool.kernel);
    dync__lower_pair(&call->args[first + 1], attr.pool.kernel, attr.pool.stride);
    dync__lower_pair(&call->args[first + 2], zero, attr.pool.pad);
    return attr;
}

/* Kernels take 4 dims: [C, H, W] gets a leading 1. */
DYNC__FN dync_status dync__l_max_pool2d(dync__pb *pb, const dync__opcall *call,
                                        const dync__operand *in, const dync__operand *out)
{
    dync__operand op[3] = {dync__lower_lifted(in, 4), dync__lower_written(&out[0], 4),
                           dync__lower_written(&out[1], 4)};
    dync__attr attr = dync__lower_pool_attr(call, 1);
    static const int64_t one[2] = {1, 1};
    if (dync__lower_empty(out)) return DYNC_OK;
    dync__lower_pair(&call->args[4], one, attr.pool.dilation);
    attr.pool.ceil = call->args[5].as.i;
    return dync__lower_kcall(pb, &dync__kcall_max_pool2d, 3, op, &attr);
}

/* Operands {grad_output, indices, gx}: the input itself is not read. */
DYNC__FN dync_status dync__l_max_pool2d_backward(dync__pb *pb, const dync__opcall *call,
                                                 const dync__operand *in, const dync__operand *out)
{
    dync__operand op[3] = {dync__lower_lifted(&in[0], 4), dync__lower_lifted(&in[2], 4),
                           dync__lower_written(out, 4)};
    if (dync__lower_empty(out)) return DYNC_OK;
    if (dync__lower_empty(&in[0])) return dync__lower_fill(pb, call, -1, 0, out);
    return dync__lower_kcall(pb, &dync__kcall_max_pool2d_grad, 3, op, NULL);
}

/* ---- attention ------------------------------------------------------------------------------- */

/* op[n]: the operands but the mask; from argument `mask` on: mask, is_causal, scale. op has room
 * for the mask, which is expanded to [.., L, S] and stands last; attr.mask is its place among the
 * operands. */
static dync_status dync__lower_attention(dync__pb *pb, const dync__opcall *call,
                                         const dync__operand *in, const dync__kcall_row *kernel,
                                         dync__operand *op, int n, int mask)
{
    const dync__operand *m = dync__lower_operand(call, in, mask),
                        *q = &op[kernel->kind == DYNC__K_attention ? 0 : 1];
    dync__attr attr = {.attention = {.causal = call->args[mask + 1].as.i != 0,
                                     .fast = pb->fast_math,
                                     .mask = -1,
                                     .scale = dync__arg_number(&call->args[mask + 2])}};
    if (m) {
        int64_t shape[DYNC_MAX_DIMS];
        memcpy(shape, q->lay.shape, sizeof shape);
        shape[q->lay.ndim - 1] = q[1].lay.shape[q->lay.ndim - 2];
        attr.attention.mask = (int8_t)n;
        op[n++] = *m;
        DYNC__TRY(dync__layout_expand(&m->lay, q->lay.ndim, shape, &op[n - 1].lay));
    }
    return dync__lower_kcall(pb, kernel, n, op, &attr);
}

/* Operands {query, key, value, out, logsumexp}, then the mask. Without keys: zeros, and the log of
 * an empty sum. */
DYNC__FN dync_status dync__l_flash_attention(dync__pb *pb, const dync__opcall *call,
                                             const dync__operand *in, const dync__operand *out)
{
    dync__operand op[6] = {in[0], in[1], in[2], out[0], out[1]};
    DYNC__OFFERS(DYNC_NO_ATTENTION, "fused attention");
    op[3].written = op[4].written = true;
    if (dync__lower_empty(&out[1])) return DYNC_OK;
    if (!dync__lower_empty(out) && !dync__lower_empty(&in[0]) && !dync__lower_empty(&in[1]))
        return dync__lower_attention(pb, call, in, &dync__kcall_attention, op, 5, 3);
    DYNC__TRY(dync__lower_fill(pb, call, -1, 0, out)); /* no keys, or nothing in them */
    return dync__lower_fill(pb, call, -1, -HUGE_VAL, &out[1]);
}

/* Operands {grad, query, key, value, out, logsumexp, gq, gk, gv}, then the mask. */
DYNC__FN dync_status dync__l_flash_attention_backward(dync__pb *pb, const dync__opcall *call,
                                                      const dync__operand *in,
                                                      const dync__operand *out)
{
    dync__operand op[10];
    bool empty = false;
    DYNC__OFFERS(DYNC_NO_ATTENTION, "fused attention");
    for (int i = 0; i < 6; i++) op[i] = in[i];
    for (int i = 0; i < 3; i++) {
        op[6 + i] = out[i];
        op[6 + i].written = true;
        empty |= dync__lower_empty(&out[i]);
    }
    if (!empty) return dync__lower_attention(pb, call, in, &dync__kcall_attention_grad, op, 9, 6);
    for (int i = 0; i < 3; i++) DYNC__TRY(dync__lower_fill(pb, call, -1, 0, &out[i]));
    return DYNC_OK;
}

/* ---- recurrent layers ------------------------------------------------------------------------ */

/* Operands of a recurrent kernel call in the order they are given; attr.rnn.role says at which
 * place each stands, -1 where it is missing: not every layer has a bias, a cell state or saved
 * gates. */
typedef struct dync__lower_rnn {
    dync__operand op[DYNC__RNN_ROLES];
    dync__attr attr;
    int n;
} dync__lower_rnn;

/* x may be NULL or empty: then the role stays missing. */
static void dync__lower_rnn_add(dync__lower_rnn *l, int role, const dync__operand *x, bool written)
{
    if (!x || dync__lower_empty(x)) return;
    l->attr.rnn.role[role] = (int8_t)l->n;
    l->op[l->n] = *x;
    l->op[l->n++].written = written;
}

/* gates: the argument that says how many; the one behind it whether it runs backward in time. */
static void dync__lower_rnn_begin(dync__lower_rnn *l, const dync__pb *pb, const dync__opcall *call,
                                  int gates)
{
    dync__attr_rnn *a = &l->attr.rnn;
    l->n = 0;
    memset(&l->attr, 0, sizeof l->attr);
    memset(a->role, -1, sizeof a->role);
    a->gates = call->args[gates].as.i;
    a->reverse = call->args[gates + 1].as.i != 0;
    a->fast = pb->fast_math;
}

/* Arguments 0 to 4 are the roles IN, W, B, H0, C0 in their order. */
DYNC__FN dync_status dync__l_rnn_layer(dync__pb *pb, const dync__opcall *call,
                                       const dync__operand *in, const dync__operand *out)
{
    static const uint8_t to[4] = {DYNC__RNN_OUT, DYNC__RNN_CN, DYNC__RNN_CELLS, DYNC__RNN_GATES};
    dync__lower_rnn l;
    dync__operand dense;
    DYNC__OFFERS(DYNC_NO_RECURRENT, "a recurrent layer");
    if (dync__lower_empty(out)) return DYNC_OK;
    dync__lower_rnn_begin(&l, pb, call, 5);
    for (int i = 0; i < 5; i++) {
        const dync__operand *x = dync__lower_operand(call, in, i);
        /* the bias is read as a row */
        if (i == 2 && x) {
            DYNC__TRY(dync__lower_row_major(pb, x, &dense));
            x = &dense;
        }
        dync__lower_rnn_add(&l, DYNC__RNN_IN + i, x, false);
    }
    for (int i = 0; i < 4; i++) dync__lower_rnn_add(&l, to[i], &out[i], true);
    return dync__lower_kcall(pb, &dync__kcall_rnn_layer, l.n, l.op, &l.attr);
}

/* from[i]: the role of argument i; the gradient of the input takes the role IN. */
DYNC__FN dync_status dync__l_rnn_layer_backward(dync__pb *pb, const dync__opcall *call,
                                                const dync__operand *in, const dync__operand *out)
{
    static const uint8_t from[8] = {DYNC__RNN_GOUT,  DYNC__RNN_GC,   DYNC__RNN_W,
                                    DYNC__RNN_H0,    DYNC__RNN_C0,   DYNC__RNN_OUT,
                                    DYNC__RNN_CELLS, DYNC__RNN_GATES};
    static const uint8_t to[3] = {DYNC__RNN_IN, DYNC__RNN_GH0, DYNC__RNN_GC0};
    dync__lower_rnn l;
    dync__operand dense[2];
    DYNC__OFFERS(DYNC_NO_RECURRENT, "a recurrent layer");
    if (dync__lower_empty(out)) return DYNC_OK;
    dync__lower_rnn_begin(&l, pb, call, 8);
    for (int i = 0; i < 8; i++) {
        const dync__operand *x = dync__lower_operand(call, in, i);
        /* states, read one step back */
        if (x && (i == 5 || i == 6)) {
            DYNC__TRY(dync__lower_row_major(pb, x, &dense[i - 5]));
            x = &dense[i - 5];
        }
        dync__lower_rnn_add(&l, from[i], x, false);
    }
    for (int i = 0; i < 3; i++) dync__lower_rnn_add(&l, to[i], &out[i], true);
    return dync__lower_kcall(pb, &dync__kcall_rnn_layer_grad, l.n, l.op, &l.attr);
}

/* As dync__lower_pool_attr; then ceil, count_include_pad. */
static dync__attr dync__lower_avg_attr(const dync__opcall *call, int first)
{
    dync__attr attr = dync__lower_pool_attr(call, first);
    attr.pool.ceil = call->args[first + 3].as.i;
    attr.pool.include_pad = call->args[first + 4].as.i;
    return attr;
}

DYNC__FN dync_status dync__l_avg_pool2d(dync__pb *pb, const dync__opcall *call,
                                        const dync__operand *in, const dync__operand *out)
{
    dync__operand op[2] = {dync__lower_lifted(in, 4), dync__lower_written(out, 4)};
    if (dync__lower_empty(out)) return DYNC_OK;
    dync__attr attr = dync__lower_avg_attr(call, 1);
    return dync__lower_kcall(pb, &dync__kcall_avg_pool2d, 2, op, &attr);
}

DYNC__FN dync_status dync__l_avg_pool2d_backward(dync__pb *pb, const dync__opcall *call,
                                                 const dync__operand *in, const dync__operand *out)
{
    dync__operand op[2] = {dync__lower_lifted(&in[0], 4), dync__lower_written(out, 4)};
    if (dync__lower_empty(out)) return DYNC_OK;
    if (dync__lower_empty(&in[0])) return dync__lower_fill(pb, call, -1, 0, out);
    dync__attr attr = dync__lower_avg_attr(call, 2);
    return dync__lower_kcall(pb, &dync__kcall_avg_pool2d_grad, 2, op, &attr);
}
