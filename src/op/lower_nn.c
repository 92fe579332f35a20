/* op/lower_nn.c: operators as kernel calls and as loops with computed addresses. After lower.c,
 * before decompose.c.
 *
 * Products, convolutions, pooling, sorting and scattering are calls of kernel/; gathering is a loop
 * whose index is held inside its range, so that wrong indices read a wrong element and never
 * foreign memory; eager reports them (eager.c). */
#include "../dync.in.h"
#include "rows.h"

/* ---- operands in the rank that a kernel wants ------------------------------------------------ */

/* A leading dim of size 1. */
static void dync__lower_lift(dync__layout *l)
{
    for (int i = l->ndim++; i > 0; i--) {
        l->shape[i] = l->shape[i - 1];
        l->stride[i] = l->stride[i - 1];
    }
    l->shape[0] = 1;
    l->stride[0] = l->ndim > 1 ? l->shape[1] * l->stride[1] : 1;
}

static dync__operand dync__lower_lifted(const dync__operand *x, int rank)
{
    dync__operand y = *x;
    while (y.lay.ndim < rank) dync__lower_lift(&y.lay);
    return y;
}

static dync__operand dync__lower_written(const dync__operand *x, int rank)
{
    dync__operand y = dync__lower_lifted(x, rank);
    y.written = true;
    return y;
}

/* x itself, or a row-major temporary with its elements in another dtype. */
static dync_status dync__lower_as(dync__pb *pb, const dync__operand *x, int dtype,
                                  dync__operand *out)
{
    *out = *x;
    if (x->dtype == dtype) return DYNC_OK;
    DYNC__TRY(dync__lower_temp(pb, dtype, x->lay.ndim, x->lay.shape, out));
    return dync__lower_copy(pb, x, out);
}

static int dync__lower_axis(const dync__arg *a, int ndim)
{
    /* inferred: in range */
    return (int)(a->as.i < 0 ? a->as.i + DYNC__MAX(ndim, 1) : a->as.i);
}

static bool dync__lower_empty(const dync__operand *x) { return dync__lower_count(&x->lay) == 0; }

/* ---- products -------------------------------------------------------------------------------- */

/* mm, bmm, mv, dot: all are [.., M, K] @ [.., K, N] after a look at the dims that are missing. */
DYNC__FN dync_status dync__l_matmul(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                    const dync__operand *out)
{
    dync__operand op[3] = {in[0], in[1], *out};
    /* the vector on the right is a column */
    if (call->op == DYNC__OP_mv || call->op == DYNC__OP_dot) {
        op[1].lay.shape[1] = 1;
        op[1].lay.stride[1] = 1;
        op[1].lay.ndim = 2;
        op[0] = dync__lower_lifted(&op[0], 2);
        op[2].lay.ndim = 2;
        op[2].lay.shape[0] = op[0].lay.shape[0];
        op[2].lay.stride[0] = call->op == DYNC__OP_mv ? out->lay.stride[0] : 1;
        op[2].lay.shape[1] = op[2].lay.stride[1] = 1;
    }
    op[2].written = true;
    if (dync__lower_empty(out)) return DYNC_OK;
    if (op[0].lay.shape[op[0].lay.ndim - 1] == 0) return dync__lower_fill(pb, call, -1, 0, out);
    return dync__lower_kcall(pb, DYNC__K_matmul, 3, op, NULL);
}

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
        return dync__lower_kcall(pb, DYNC__K_addmm, 4, op, NULL);
    }
    dync__operand product[3] = {in[1], in[2], {0}}, sum[2];
    dync__tensor a = {.dtype = out->dtype, .lay = out->lay},
                 b = {.dtype = out->dtype, .lay = in[0].lay};
    dync__arg args[2] = {dync__arg_t(&a), dync__arg_t(&b)};
    dync__opcall add = {
        .row = dync__op_info(DYNC__OP_add), .op = DYNC__OP_add, .nargs = 2, .args = args};
    DYNC__TRY(dync__lower_temp(pb, out->dtype, 2, out->lay.shape, &product[2]));
    product[2].written = true;
    DYNC__TRY(dync__lower_kcall(pb, DYNC__K_matmul, 3, product, NULL));
    sum[0] = product[2];
    sum[1] = in[0];
    return dync__lower_pointwise(pb, &add, sum, out);
}

/* ---- convolution and pooling ----------------------------------------------------------------- */

static void dync__lower_pair(const dync__arg *a, const int64_t *otherwise, int64_t *out)
{
    out[0] = a->n ? a->as.dims[0] : otherwise[0];
    out[1] = a->n ? a->as.dims[a->n - 1] : otherwise[1];
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

DYNC__FN dync_status dync__l_convolution(dync__pb *pb, const dync__opcall *call,
                                         const dync__operand *in, const dync__operand *out)
{
    const dync__operand *bias = dync__lower_operand(call, in, 2);
    dync__operand op[4] = {in[0], in[1]};
    dync__attr attr = dync__lower_conv_attr(call, 3);
    int n = 2;
    if (dync__lower_empty(out)) return DYNC_OK;
    if (pb->winograd)
        attr.conv.winograd = dync__conv_winograd(in[0].lay.shape, in[1].lay.shape, out->lay.shape,
                                                 attr.conv.groups, pb->winograd);
    if (bias) op[n++] = *bias;
    op[n] = *out;
    op[n++].written = true;
    return dync__lower_kcall(pb, DYNC__K_conv2d, n, op, &attr);
}

/* The bias gradient: the sum of grad_output over all but channels. */
static dync_status dync__lower_channel_sum(dync__pb *pb, const dync__operand *g,
                                           const dync__operand *out)
{
    static const int64_t dims[3] = {0, 2, 3};
    dync__arg args[3] = {dync__arg_none(), dync__arg_dims(3, dims), dync__arg_b(false)};
    dync__opcall sum = {
        .row = dync__op_info(DYNC__OP_sum), .op = DYNC__OP_sum, .nargs = 3, .args = args};
    return dync__l_sum(pb, &sum, g, out);
}

DYNC__FN dync_status dync__l_convolution_backward(dync__pb *pb, const dync__opcall *call,
                                                  const dync__operand *in, const dync__operand *out)
{
    dync__operand to_input[3] = {in[0], in[2], out[0]}, to_weight[3] = {in[1], in[0], out[1]};
    dync__attr attr = dync__lower_conv_attr(call, 3);
    bool none = dync__lower_empty(&in[0]);
    to_input[2].written = to_weight[2].written = true;
    if (call->args[7].as.i && !dync__lower_empty(&out[0])) {
        DYNC__TRY(none ? dync__lower_fill(pb, call, -1, 0, &out[0])
                       : dync__lower_kcall(pb, DYNC__K_conv2d_grad_input, 3, to_input, &attr));
    }
    if (call->args[8].as.i && !dync__lower_empty(&out[1])) {
        DYNC__TRY(none ? dync__lower_fill(pb, call, -1, 0, &out[1])
                       : dync__lower_kcall(pb, DYNC__K_conv2d_grad_weight, 3, to_weight, &attr));
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
    return dync__lower_kcall(pb, DYNC__K_max_pool2d, 3, op, &attr);
}

DYNC__FN dync_status dync__l_max_pool2d_backward(dync__pb *pb, const dync__opcall *call,
                                                 const dync__operand *in, const dync__operand *out)
{
    dync__operand op[3] = {dync__lower_lifted(&in[0], 4), dync__lower_lifted(&in[2], 4),
                           dync__lower_written(out, 4)};
    if (dync__lower_empty(out)) return DYNC_OK;
    if (dync__lower_empty(&in[0])) return dync__lower_fill(pb, call, -1, 0, out);
    return dync__lower_kcall(pb, DYNC__K_max_pool2d_grad, 3, op, NULL);
}

/* ---- attention ------------------------------------------------------------------------------- */

/* op[n]: the operands but the mask; from argument `mask` on: mask, is_causal, scale. */
static dync_status dync__lower_attention(dync__pb *pb, const dync__opcall *call,
                                         const dync__operand *in, int kernel, dync__operand *op,
                                         int n, int mask)
{
    const dync__operand *m = dync__lower_operand(call, in, mask),
                        *q = &op[kernel == DYNC__K_attention ? 0 : 1];
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

DYNC__FN dync_status dync__l_flash_attention(dync__pb *pb, const dync__opcall *call,
                                             const dync__operand *in, const dync__operand *out)
{
    dync__operand op[6] = {in[0], in[1], in[2], out[0], out[1]};
    op[3].written = op[4].written = true;
    if (dync__lower_empty(&out[1])) return DYNC_OK;
    if (!dync__lower_empty(out) && !dync__lower_empty(&in[0]) && !dync__lower_empty(&in[1]))
        return dync__lower_attention(pb, call, in, DYNC__K_attention, op, 5, 3);
    DYNC__TRY(dync__lower_fill(pb, call, -1, 0, out)); /* no keys, or nothing in them */
    return dync__lower_fill(pb, call, -1, -HUGE_VAL, &out[1]);
}

DYNC__FN dync_status dync__l_flash_attention_backward(dync__pb *pb, const dync__opcall *call,
                                                      const dync__operand *in,
                                                      const dync__operand *out)
{
    dync__operand op[10];
    bool empty = false;
    for (int i = 0; i < 6; i++) op[i] = in[i];
    for (int i = 0; i < 3; i++) {
        op[6 + i] = out[i];
        op[6 + i].written = true;
        empty |= dync__lower_empty(&out[i]);
    }
    if (!empty) return dync__lower_attention(pb, call, in, DYNC__K_attention_grad, op, 9, 6);
    for (int i = 0; i < 3; i++) DYNC__TRY(dync__lower_fill(pb, call, -1, 0, &out[i]));
    return DYNC_OK;
}

/* ---- recurrent layers ------------------------------------------------------------------------ */

typedef struct dync__lower_rnn {
    dync__operand op[DYNC__KCALL_OPERANDS];
    dync__attr attr;
    int n;
} dync__lower_rnn;

static void dync__lower_rnn_add(dync__lower_rnn *l, int role, const dync__operand *x, bool written)
{
    if (!x || dync__lower_empty(x)) return;
    l->attr.rnn.role[role] = (int8_t)l->n;
    l->op[l->n] = *x;
    l->op[l->n++].written = written;
}

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

static dync_status dync__lower_rnn_dense(dync__pb *pb, const dync__operand **x,
                                         dync__operand *dense)
{
    if (dync__layout_is_contiguous(&(*x)->lay)) return DYNC_OK;
    DYNC__TRY(dync__lower_temp(pb, (*x)->dtype, (*x)->lay.ndim, (*x)->lay.shape, dense));
    DYNC__TRY(dync__lower_copy(pb, *x, dense));
    *x = dense;
    return DYNC_OK;
}

DYNC__FN dync_status dync__l_rnn_layer(dync__pb *pb, const dync__opcall *call,
                                       const dync__operand *in, const dync__operand *out)
{
    static const uint8_t to[4] = {DYNC__RNN_OUT, DYNC__RNN_CN, DYNC__RNN_CELLS, DYNC__RNN_GATES};
    dync__lower_rnn l;
    dync__operand dense;
    if (dync__lower_empty(out)) return DYNC_OK;
    dync__lower_rnn_begin(&l, pb, call, 5);
    for (int i = 0; i < 5; i++) {
        const dync__operand *x = dync__lower_operand(call, in, i);
        /* the bias is read as a row */
        if (i == 2 && x) DYNC__TRY(dync__lower_rnn_dense(pb, &x, &dense));
        dync__lower_rnn_add(&l, DYNC__RNN_IN + i, x, false);
    }
    for (int i = 0; i < 4; i++) dync__lower_rnn_add(&l, to[i], &out[i], true);
    return dync__lower_kcall(pb, DYNC__K_rnn_layer, l.n, l.op, &l.attr);
}

DYNC__FN dync_status dync__l_rnn_layer_backward(dync__pb *pb, const dync__opcall *call,
                                                const dync__operand *in, const dync__operand *out)
{
    static const uint8_t from[8] = {DYNC__RNN_GOUT,  DYNC__RNN_GC,   DYNC__RNN_W,
                                    DYNC__RNN_H0,    DYNC__RNN_C0,   DYNC__RNN_OUT,
                                    DYNC__RNN_CELLS, DYNC__RNN_GATES};
    static const uint8_t to[3] = {DYNC__RNN_IN, DYNC__RNN_GH0, DYNC__RNN_GC0};
    dync__lower_rnn l;
    dync__operand dense[2];
    if (dync__lower_empty(out)) return DYNC_OK;
    dync__lower_rnn_begin(&l, pb, call, 8);
    for (int i = 0; i < 8; i++) {
        const dync__operand *x = dync__lower_operand(call, in, i);
        /* states, read one step back */
        if (x && (i == 5 || i == 6)) DYNC__TRY(dync__lower_rnn_dense(pb, &x, &dense[i - 5]));
        dync__lower_rnn_add(&l, from[i], x, false);
    }
    for (int i = 0; i < 3; i++) dync__lower_rnn_add(&l, to[i], &out[i], true);
    return dync__lower_kcall(pb, DYNC__K_rnn_layer_grad, l.n, l.op, &l.attr);
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
    return dync__lower_kcall(pb, DYNC__K_avg_pool2d, 2, op, &attr);
}

DYNC__FN dync_status dync__l_avg_pool2d_backward(dync__pb *pb, const dync__opcall *call,
                                                 const dync__operand *in, const dync__operand *out)
{
    dync__operand op[2] = {dync__lower_lifted(&in[0], 4), dync__lower_written(out, 4)};
    if (dync__lower_empty(out)) return DYNC_OK;
    if (dync__lower_empty(&in[0])) return dync__lower_fill(pb, call, -1, 0, out);
    dync__attr attr = dync__lower_avg_attr(call, 2);
    return dync__lower_kcall(pb, DYNC__K_avg_pool2d_grad, 2, op, &attr);
}

/* ---- scans, sorting, scattering -------------------------------------------------------------- */

/* A loop nest, or (elsewhere than on the CPU) a call. */
DYNC__FN dync_status dync__l_cumsum(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                    const dync__operand *out)
{
    dync__operand op[2], x;
    dync__attr attr = {.scan = {dync__lower_axis(&call->args[1], in->lay.ndim)}};
    if (dync__lower_empty(out)) return DYNC_OK;
    if (dync__device_is(pb->device, DYNC__DEV_SCANS)) return dync__lower_scan(pb, call, in, out);
    DYNC__TRY(dync__lower_as(pb, in, out->dtype, &x));
    op[0] = dync__lower_lifted(&x, 1);
    op[1] = dync__lower_written(out, 1);
    return dync__lower_kcall(pb, DYNC__K_cumsum, 2, op, &attr);
}

DYNC__FN dync_status dync__l_sort(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                  const dync__operand *out)
{
    dync__operand op[3] = {dync__lower_lifted(in, 1), dync__lower_written(&out[0], 1),
                           dync__lower_written(&out[1], 1)};
    dync__attr attr = {
        .sort = {dync__lower_axis(&call->args[1], in->lay.ndim), call->args[2].as.i != 0}};
    if (dync__lower_empty(out)) return DYNC_OK;
    return dync__lower_kcall(pb, DYNC__K_sort, 3, op, &attr);
}

/* Elsewhere than on the CPU all is sorted first. */
DYNC__FN dync_status dync__l_topk(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                  const dync__operand *out)
{
    dync__operand x = dync__lower_lifted(in, 1),
                  op[3] = {x, dync__lower_written(&out[0], 1), dync__lower_written(&out[1], 1)},
                  whole[3] = {x};
    int dim = dync__lower_axis(&call->args[2], in->lay.ndim);
    dync__attr attr = {.sort = {dim, call->args[3].as.i != 0}};
    if (dync__lower_empty(out)) return DYNC_OK;
    if (dync__device_is(pb->device, DYNC__DEV_STRIDED))
        return dync__lower_kcall(pb, DYNC__K_sort, 3, op, &attr);
    for (int i = 1; i < 3; i++)
        DYNC__TRY(dync__lower_temp(pb, op[i].dtype, x.lay.ndim, x.lay.shape, &whole[i]));
    whole[1].written = whole[2].written = true;
    DYNC__TRY(dync__lower_kcall(pb, DYNC__K_sort, 3, whole, &attr));
    for (int i = 1; i < 3; i++) {
        whole[i].lay.shape[dim] = op[i].lay.shape[dim];
        DYNC__TRY(dync__lower_copy(pb, &whole[i], &op[i]));
    }
    return DYNC_OK;
}

/* base, index, source -> out; a number as source is spread over the index's shape first. */
static dync_status dync__lower_scattered(dync__pb *pb, const dync__opcall *call,
                                         const dync__operand *in, const dync__operand *out,
                                         int kernel)
{
    dync__operand index, source, op[4];
    dync__attr attr = {.scatter = {dync__lower_axis(&call->args[1], in->lay.ndim), 1}};
    if (dync__lower_empty(out)) return DYNC_OK;
    if (dync__lower_empty(&in[1])) return dync__lower_copy(pb, &in[0], out);
    DYNC__TRY(dync__lower_as(pb, &in[1], DYNC_I64, &index));
    if (call->args[3].kind == DYNC__A_TENSOR) {
        source = in[2];
    } else {
        DYNC__TRY(dync__lower_temp(pb, out->dtype, index.lay.ndim, index.lay.shape, &source));
        DYNC__TRY(dync__lower_fill(pb, call, 3, 0, &source));
    }
    op[0] = dync__lower_lifted(&in[0], 1);
    op[1] = dync__lower_lifted(&index, 1);
    op[2] = dync__lower_lifted(&source, 1);
    op[3] = dync__lower_written(out, 1);
    return dync__lower_kcall(pb, kernel, 4, op, &attr);
}

#define DYNC__LOWER_SCATTERED(name)                                                        \
    DYNC__FN dync_status dync__l_##name(dync__pb *pb, const dync__opcall *call,            \
                                        const dync__operand *in, const dync__operand *out) \
    {                                                                                      \
        return dync__lower_scattered(pb, call, in, out, DYNC__K_##name);                   \
    }
DYNC__LOWER_SCATTERED(scatter)
DYNC__LOWER_SCATTERED(scatter_add)
DYNC__LOWER_SCATTERED(index_add)

/* ---- gathering ------------------------------------------------------------------------------- */

/* A step that fails where an index lies outside; on the CPU, as GPUs do not stop for it. */
static dync_status dync__lower_checked(dync__pb *pb, const dync__operand *index, int64_t size)
{
    dync__operand op = dync__lower_lifted(index, 1);
    dync__attr attr = {.index = {size}};
    for (int d = 0; d < op.lay.ndim; d++)
        if (op.lay.stride[d] == 0 && op.lay.shape[d] > 1) op.lay.shape[d] = 1;
    return dync__device_is(pb->device, DYNC__DEV_CHECKS)
               ? dync__lower_kcall(pb, DYNC__K_check_index, 1, &op, &attr)
               : DYNC_OK;
}

/* The element of `table` at index * stride past the access; 0 <= index < size is made sure of. */
static dync_status dync__lower_gather(dync__pb *pb, dync__lb *b, const dync__operand *table,
                                      const int64_t *table_stride, int index, int64_t size,
                                      int64_t stride, const dync__operand *out)
{
    if (size == 0 && !dync__lower_empty(out))
        return dync__fail(DYNC_ERR_INDEX, "index out of range: the indexed dim is empty");
    int zero = dync__lb_i(b, DYNC_I64, 0), last = dync__lb_i(b, DYNC_I64, size - 1);
    index = dync__lb_cast(b, index, DYNC_I64);
    index = dync__lb_op(b, DYNC__P_max, zero, dync__lb_op(b, DYNC__P_min, index, last, -1), -1);
    int away = dync__lb_op(b, DYNC__P_mul, index, dync__lb_i(b, DYNC_I64, stride), -1);
    int buf = dync__kernel_buf(b->k, table->slot, table->dtype, DYNC__BUF_IN, -1, NULL);
    int value =
        dync__lb_loadx(b, buf, dync__kernel_access(b->k, table->lay.offset, table_stride), away);
    dync__lower_store(b, out, out->lay.stride, value);
    return dync__lower_end(pb, b);
}

DYNC__FN dync_status dync__l_gather(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                    const dync__operand *out)
{
    dync__lb b;
    dync__operand x = dync__lower_lifted(&in[0], 1), index = dync__lower_lifted(&in[1], 1),
                  y = dync__lower_lifted(out, 1);
    int dim = dync__lower_axis(&call->args[1], in->lay.ndim);
    int64_t other[DYNC_MAX_DIMS];
    memcpy(other, x.lay.stride, sizeof other);
    other[dim] = 0;
    if (dync__lower_empty(out)) return DYNC_OK;
    DYNC__TRY(dync__lower_checked(pb, &in[1], x.lay.shape[dim]));
    if (!dync__lower_begin(pb, &b, 0, y.lay.ndim, y.lay.shape)) return DYNC_ERR_MEMORY;
    return dync__lower_gather(pb, &b, &x, other, dync__lower_load(&b, &index, index.lay.stride),
                              x.lay.shape[dim], x.lay.stride[dim], &y);
}

DYNC__FN dync_status dync__l_index_select(dync__pb *pb, const dync__opcall *call,
                                          const dync__operand *in, const dync__operand *out)
{
    dync__lb b;
    dync__operand x = dync__lower_lifted(&in[0], 1), y = dync__lower_lifted(out, 1);
    int dim = dync__lower_axis(&call->args[1], in->lay.ndim);
    int64_t other[DYNC_MAX_DIMS], along[DYNC_MAX_DIMS] = {0};
    memcpy(other, x.lay.stride, sizeof other);
    other[dim] = 0;
    along[dim] = in[1].lay.ndim ? in[1].lay.stride[0] : 0;
    if (dync__lower_empty(out)) return DYNC_OK;
    DYNC__TRY(dync__lower_checked(pb, &in[1], x.lay.shape[dim]));
    if (!dync__lower_begin(pb, &b, 0, y.lay.ndim, y.lay.shape)) return DYNC_ERR_MEMORY;
    return dync__lower_gather(pb, &b, &x, other, dync__lower_load(&b, &in[1], along),
                              x.lay.shape[dim], x.lay.stride[dim], &y);
}

DYNC__FN dync_status dync__l_embedding(dync__pb *pb, const dync__opcall *call,
                                       const dync__operand *in, const dync__operand *out)
{
    dync__lb b;
    const dync__layout *w = &in[0].lay;
    int last = out->lay.ndim - 1;
    int64_t column[DYNC_MAX_DIMS] = {0}, which[DYNC_MAX_DIMS] = {0};
    (void)call;
    column[last] = w->stride[1];
    memcpy(which, in[1].lay.stride, (size_t)last * sizeof which[0]);
    if (dync__lower_empty(out)) return DYNC_OK;
    DYNC__TRY(dync__lower_checked(pb, &in[1], w->shape[0]));
    if (!dync__lower_begin(pb, &b, 0, out->lay.ndim, out->lay.shape)) return DYNC_ERR_MEMORY;
    return dync__lower_gather(pb, &b, &in[0], column, dync__lower_load(&b, &in[1], which),
                              w->shape[0], w->stride[0], out);
}

/* ---- the rest -------------------------------------------------------------------------------- */

DYNC__FN dync_status dync__l_one_hot(dync__pb *pb, const dync__opcall *call,
                                     const dync__operand *in, const dync__operand *out)
{
    dync__lb b;
    int last = out->lay.ndim - 1;
    int64_t class_of[DYNC_MAX_DIMS] = {0}, which[DYNC_MAX_DIMS] = {0};
    class_of[last] = 1;
    memcpy(which, in->lay.stride, (size_t)last * sizeof which[0]);
    if (dync__lower_empty(out)) return DYNC_OK;
    DYNC__TRY(dync__lower_checked(pb, in, call->args[1].as.i));
    if (!dync__lower_begin(pb, &b, 0, out->lay.ndim, out->lay.shape)) return DYNC_ERR_MEMORY;
    int target = dync__lb_cast(&b, dync__lower_load(&b, in, which), DYNC_I64);
    int here = dync__lb_index(&b, dync__kernel_access(b.k, 0, class_of));
    dync__lower_store(&b, out, out->lay.stride, dync__lb_op(&b, DYNC__P_eq, target, here, -1));
    return dync__lower_end(pb, &b);
}

/* Keeps elements whose column - row is at most (tril) or at least (triu) the diagonal. */
static dync_status dync__lower_triangle(dync__pb *pb, const dync__opcall *call,
                                        const dync__operand *in, const dync__operand *out,
                                        bool lower)
{
    dync__lb b;
    int64_t gap[DYNC_MAX_DIMS] = {0};
    gap[out->lay.ndim - 1] = 1;
    gap[out->lay.ndim - 2] = -1;
    if (!dync__lower_begin(pb, &b, 0, out->lay.ndim, out->lay.shape)) return DYNC_ERR_MEMORY;
    int at = dync__lb_index(&b, dync__kernel_access(b.k, 0, gap)),
        diagonal = dync__lb_i(&b, DYNC_I64, call->args[1].as.i);
    int keep = dync__lb_op(&b, DYNC__P_le, lower ? at : diagonal, lower ? diagonal : at, -1);
    int x = dync__lower_load(&b, in, in->lay.stride), type = dync__lb_type(&b, x);
    int zero = type == DYNC_F32 || type == DYNC_F64 ? dync__lb_f(&b, type, 0)
                                                    : dync__lb_i(&b, type, 0);
    dync__lower_store(&b, out, out->lay.stride, dync__lb_op(&b, DYNC__P_select, keep, x, zero));
    return dync__lower_end(pb, &b);
}
DYNC__FN dync_status dync__l_tril(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                  const dync__operand *out)
{
    return dync__lower_triangle(pb, call, in, out, true);
}
DYNC__FN dync_status dync__l_triu(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                  const dync__operand *out)
{
    return dync__lower_triangle(pb, call, in, out, false);
}

DYNC__FN dync_status dync__l_flip(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                  const dync__operand *out)
{
    dync__operand x = *in;
    bool flipped[DYNC_MAX_DIMS] = {false};
    if (dync__lower_empty(out)) return DYNC_OK;
    if (call->args[1].n) DYNC__TRY(dync__infer_dims(&call->args[1], in->lay.ndim, flipped));
    for (int d = 0; d < x.lay.ndim; d++) {
        if (!flipped[d]) continue;
        x.lay.offset += (x.lay.shape[d] - 1) * x.lay.stride[d];
        x.lay.stride[d] = -x.lay.stride[d];
    }
    return dync__lower_copy(pb, &x, out);
}

DYNC__FN dync_status dync__l_cat(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                 const dync__operand *out)
{
    dync__operand part = *out;
    int dim = dync__lower_axis(&call->args[1], out->lay.ndim);
    for (int i = 0; i < call->args[0].n; i++) {
        if (dync__lower_empty(&in[i])) continue;
        part.lay.shape[dim] = in[i].lay.shape[dim];
        DYNC__TRY(dync__lower_copy(pb, &in[i], &part));
        part.lay.offset += part.lay.shape[dim] * part.lay.stride[dim];
    }
    return DYNC_OK;
}

/* self copied, then src into the strided part. */
DYNC__FN dync_status dync__l_as_strided_scatter(dync__pb *pb, const dync__opcall *call,
                                                const dync__operand *in, const dync__operand *out)
{
    dync__operand part = *out;
    part.lay.ndim = call->args[2].n;
    for (int i = 0; i < part.lay.ndim; i++) {
        part.lay.shape[i] = call->args[2].as.dims[i];
        part.lay.stride[i] = call->args[3].as.dims[i];
    }
    part.lay.offset = call->args[4].as.i;
    DYNC__TRY(dync__lower_copy(pb, &in[0], out));
    int n = pb->step.n;
    DYNC__TRY(dync__lower_copy(pb, &in[1], &part));
    if (pb->step.n > n) pb->step.at[n].kernel->ordered = dync__layout_overlaps_itself(&part.lay);
    return DYNC_OK;
}

/* Zeros, and the gradient in the view of them. */
DYNC__FN dync_status dync__l_view_backward(dync__pb *pb, const dync__opcall *call,
                                           const dync__operand *in, const dync__operand *out)
{
    dync__operand view = *out;
    const dync__arg *a = call->args;
    if (call->op == DYNC__OP_select_backward)
        DYNC__TRY(dync__view_select(&out->lay, a[2].as.i, a[3].as.i, &view.lay));
    else if (call->op == DYNC__OP_slice_backward)
        DYNC__TRY(
            dync__view_slice(&out->lay, a[2].as.i, a[3].as.i, a[4].as.i, a[5].as.i, &view.lay));
    else
        DYNC__TRY(dync__view_diagonal(&out->lay, a[2].as.i, a[3].as.i, a[4].as.i, &view.lay));
    DYNC__TRY(dync__lower_fill(pb, call, -1, 0, out));
    return dync__lower_copy(pb, in, &view);
}
