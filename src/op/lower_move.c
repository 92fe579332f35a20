/* op/lower_move.c: operators that move elements: scans, sorting and scattering as kernel calls,
 * gathering as loops with computed addresses. After lower_nn.c.
 *
 * A loop that gathers holds its index inside the range, so that wrong indices read a wrong element
 * and never foreign memory; that one is wrong the kernel's bounds say before it runs. */
#include "../dync.in.h"
#include "rows.h"
DYNC__COLD

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
    return dync__lower_kcall(pb, &dync__kcall_cumsum, 2, op, &attr);
}

/* Operands {self, values, indices}; attributes: dim and descending. */
DYNC__FN dync_status dync__l_sort(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                  const dync__operand *out)
{
    dync__operand op[3] = {dync__lower_lifted(in, 1), dync__lower_written(&out[0], 1),
                           dync__lower_written(&out[1], 1)};
    dync__attr attr = {
        .sort = {dync__lower_axis(&call->args[1], in->lay.ndim), call->args[2].as.i != 0}};
    DYNC__OFFERS(DYNC_NO_SORT, "sorting");
    if (dync__lower_empty(out)) return DYNC_OK;
    return dync__lower_kcall(pb, &dync__kcall_sort, 3, op, &attr);
}

DYNC__FN dync_status dync__l_fourier(dync__pb *pb, const dync__opcall *call,
                                     const dync__operand *in, const dync__operand *out)
{
    dync__operand op[2] = {in[0], dync__lower_written(out, 2)};
    dync__attr attr = {.fourier = {.n = call->args[1].as.i,
                                   .pairs = call->args[2].as.i != 0,
                                   .back = call->args[3].as.i != 0,
                                   .half = call->args[4].as.i != 0,
                                   .scale = dync__arg_number(&call->args[5])}};
    if (dync__lower_empty(out)) return DYNC_OK;
    return dync__lower_kcall(pb, &dync__kcall_fourier, 2, op, &attr);
}

/* Elsewhere than on the CPU all is sorted first. The CPU's kernel sorts only as far as its results
 * reach; others sort into temporaries of the whole size, and the first k are copied out. */
DYNC__FN dync_status dync__l_topk(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                  const dync__operand *out)
{
    dync__operand x = dync__lower_lifted(in, 1),
                  op[3] = {x, dync__lower_written(&out[0], 1), dync__lower_written(&out[1], 1)},
                  whole[3] = {x};
    int dim = dync__lower_axis(&call->args[2], in->lay.ndim);
    dync__attr attr = {.sort = {dim, call->args[3].as.i != 0}};
    DYNC__OFFERS(DYNC_NO_SORT, "sorting");
    if (dync__lower_empty(out)) return DYNC_OK;
    if (dync__device_is(pb->device, DYNC__DEV_STRIDED))
        return dync__lower_kcall(pb, &dync__kcall_sort, 3, op, &attr);
    for (int i = 1; i < 3; i++)
        DYNC__TRY(dync__lower_temp(pb, op[i].dtype, x.lay.ndim, x.lay.shape, &whole[i]));
    whole[1].written = whole[2].written = true;
    DYNC__TRY(dync__lower_kcall(pb, &dync__kcall_sort, 3, whole, &attr));
    for (int i = 1; i < 3; i++) {
        whole[i].lay.shape[dim] = op[i].lay.shape[dim];
        DYNC__TRY(dync__lower_copy(pb, &whole[i], &op[i]));
    }
    return DYNC_OK;
}

/* base, index, source -> out; a number as source is spread over the index's shape first. */
static dync_status dync__lower_scattered(dync__pb *pb, const dync__opcall *call,
                                         const dync__operand *in, const dync__operand *out,
                                         const dync__kcall_row *kernel)
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
    dync__plan_scatters();
    return dync__lower_kcall(pb, kernel, 4, op, &attr);
}

#define DYNC__LOWER_SCATTERED(name)                                                        \
    DYNC__FN dync_status dync__l_##name(dync__pb *pb, const dync__opcall *call,            \
                                        const dync__operand *in, const dync__operand *out) \
    {                                                                                      \
        return dync__lower_scattered(pb, call, in, out, &dync__kcall_##name);              \
    }
DYNC__LOWER_SCATTERED(scatter)
DYNC__LOWER_SCATTERED(scatter_add)
DYNC__LOWER_SCATTERED(index_add)

/* ---- gathering ------------------------------------------------------------------------------- */

/* The kernel's indices, which fail it where one lies outside; on the CPU, as GPUs do not stop for
 * it. Dims over which the index repeats (stride 0) are looked at once. The bound names the operator
 * and the user's line for the message. */
static void dync__lower_bound(dync__pb *pb, dync__lb *b, const dync__operand *index, int64_t size)
{
    dync__bound bound = {.order = pb->step.n,
                         .lay = dync__lower_lifted(index, 1).lay,
                         .size = size,
                         .origin = pb->origin,
                         .user_op = pb->user_op,
                         .at = pb->at};
    if (!dync__device_is(pb->device, DYNC__DEV_CHECKS)) return;
    for (int d = 0; d < bound.lay.ndim; d++)
        if (bound.lay.stride[d] == 0 && bound.lay.shape[d] > 1) bound.lay.shape[d] = 1;
    dync__plan_bounds();
    bound.buf = dync__kernel_buf(b->k, index->slot, index->dtype, DYNC__BUF_IN, -1, NULL);
    dync__kernel_bound(b->k, &bound);
}

/* Rows of dim `dim` of the table, or its elements: number `index` of the loops, which the operand
 * `by` holds; `stride` without that dim. b: a kernel just begun whose loops are those of `out`.
 * table[.., index, ..] is loaded at the place of the other dims (stride, with 0 for dim) plus index
 * times the stride of dim. Ends the kernel. */
static dync_status dync__lower_gather(dync__pb *pb, dync__lb *b, const dync__operand *table,
                                      const int64_t *stride, int dim, const dync__operand *by,
                                      int index, const dync__operand *out)
{
    int64_t rows = table->lay.shape[dim];
    if (rows == 0 && !dync__lower_empty(out))
        return dync__fail(DYNC_ERR_INDEX, "index out of range: the indexed dim is empty");
    dync__interp_gathers();
    dync__lower_bound(pb, b, by, rows);
    int buf = dync__kernel_buf(b->k, table->slot, table->dtype, DYNC__BUF_IN, -1, NULL);
    int at = dync__kernel_rows(b->k, table->lay.offset, stride, rows, table->lay.stride[dim]);
    dync__lower_store(b, out, out->lay.stride, dync__lb_loadx(b, buf, at, index));
    return dync__lower_end(pb, b);
}

/* Loops over the result; the index is read at the same place. */
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
    if (!dync__lower_begin(pb, &b, 0, y.lay.ndim, y.lay.shape)) return DYNC_ERR_MEMORY;
    return dync__lower_gather(pb, &b, &x, other, dim, &in[1],
                              dync__lower_load(&b, &index, index.lay.stride), &y);
}

/* The index is a vector: it moves along dim alone. */
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
    if (!dync__lower_begin(pb, &b, 0, y.lay.ndim, y.lay.shape)) return DYNC_ERR_MEMORY;
    return dync__lower_gather(pb, &b, &x, other, dim, &in[1], dync__lower_load(&b, &in[1], along),
                              &y);
}

/* The last loop is the column of the table, the others are those of the indices. */
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
    if (!dync__lower_begin(pb, &b, 0, out->lay.ndim, out->lay.shape)) return DYNC_ERR_MEMORY;
    return dync__lower_gather(pb, &b, &in[0], column, 0, &in[1],
                              dync__lower_load(&b, &in[1], which), out);
}

/* ---- the rest -------------------------------------------------------------------------------- */

/* Each element compares its class (the last loop's counter) with the index of its row. */
DYNC__FN dync_status dync__l_one_hot(dync__pb *pb, const dync__opcall *call,
                                     const dync__operand *in, const dync__operand *out)
{
    dync__lb b;
    int last = out->lay.ndim - 1;
    int64_t class_of[DYNC_MAX_DIMS] = {0}, which[DYNC_MAX_DIMS] = {0};
    class_of[last] = 1;
    memcpy(which, in->lay.stride, (size_t)last * sizeof which[0]);
    if (dync__lower_empty(out)) return DYNC_OK;
    dync__interp_indexes();
    if (!dync__lower_begin(pb, &b, 0, out->lay.ndim, out->lay.shape)) return DYNC_ERR_MEMORY;
    dync__lower_bound(pb, &b, in, call->args[1].as.i);
    int target = dync__lb_cast(&b, dync__lower_load(&b, in, which), DYNC_I64);
    int here = dync__lb_index(&b, dync__kernel_access(b.k, 0, class_of));
    dync__lower_store(&b, out, out->lay.stride, dync__lb_op(&b, DYNC__P_eq, target, here, -1));
    return dync__lower_end(pb, &b);
}

/* Keeps elements whose column - row is at most (tril) or at least (triu) the diagonal. gap makes an
 * access that is column - row: an affine function of the two last counters. */
static dync_status dync__lower_triangle(dync__pb *pb, const dync__opcall *call,
                                        const dync__operand *in, const dync__operand *out,
                                        bool lower)
{
    dync__lb b;
    int64_t gap[DYNC_MAX_DIMS] = {0};
    gap[out->lay.ndim - 1] = 1;
    gap[out->lay.ndim - 2] = -1;
    dync__interp_indexes();
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

/* A copy from a layout with negative strides that begins at the last element. */
DYNC__FN dync_status dync__l_flip(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                  const dync__operand *out)
{
    dync__operand x = *in;
    bool flipped[DYNC_MAX_DIMS] = {false};
    if (dync__lower_empty(out)) return DYNC_OK;
    if (call->args[1].n) DYNC__TRY(dync__infer_dims(&call->args[1], in->lay.ndim, flipped));
    for (int d = 0; d < x.lay.ndim; d++) {
        if (!flipped[d]) continue;
        x.lay.offset = dync__sz_add(x.lay.offset,
                                    dync__sz_mul(dync__sz_sub(x.lay.shape[d], 1), x.lay.stride[d]));
        x.lay.stride[d] = dync__sz_sub(0, x.lay.stride[d]);
    }
    return dync__lower_copy(pb, &x, out);
}

/* One copy each into the part of the result that belongs to it; the part's offset moves along
 * dim. */
DYNC__FN dync_status dync__l_cat(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                 const dync__operand *out)
{
    dync__operand part = *out;
    int dim = dync__lower_axis(&call->args[1], out->lay.ndim);
    for (int i = 0; i < call->args[0].n; i++) {
        if (dync__lower_empty(&in[i])) continue;
        part.lay.shape[dim] = in[i].lay.shape[dim];
        DYNC__TRY(dync__lower_copy(pb, &in[i], &part));
        part.lay.offset =
            dync__sz_add(part.lay.offset, dync__sz_mul(part.lay.shape[dim], part.lay.stride[dim]));
    }
    return DYNC_OK;
}

/* self copied, then src into the strided part. Where the part overlaps itself the last write must
 * win, so the loops keep their order. */
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
