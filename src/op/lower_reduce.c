/* op/lower_reduce.c: reductions, scans and what is made of them (softmax, layer norm) as loops over
 * rows. After lower.c.
 *
 * A kernel has outer loops, one round per row, and inner loops over the row. What happens in a
 * round is cut into sections: odd ones are phases over the inner loops, even ones happen once
 * between them and see what the reductions before have given.
 *
 *   softmax of x [2, 3] along 1:       for i < 2                      outer loop, one row
 *     section 1                          for j < 3: top = max(x)      phase
 *     section 3                          for j < 3: sum += exp(x - top)
 *     section 5                          for j < 3: y = exp(x - top) / sum */
#include "../dync.in.h"
#include "rows.h"
DYNC__COLD

/* ---- reductions ------------------------------------------------------------------------------ */

/* Loops of a reduction over x: kept dims outside in order, reduced dims inside. dim: the dim of x
 * of each loop, -1 none. */
typedef struct dync__rows {
    int n_outer, n_dims, dim[DYNC_MAX_DIMS + 1];
    int64_t extent[DYNC_MAX_DIMS + 1], n_rows, row_length;
} dync__rows;

/* reduced[d] for each dim of x. n_rows and row_length are the products of the two kinds, maybe
 * symbolic. */
static void dync__lower_rows(dync__rows *r, const dync__layout *x, const bool *reduced)
{
    r->n_dims = 0;
    r->n_rows = r->row_length = 1;
    for (int inner = 0; inner < 2; inner++) {
        for (int d = 0; d < x->ndim; d++) {
            if (reduced[d] != (inner == 1)) continue;
            r->dim[r->n_dims] = d;
            r->extent[r->n_dims++] = x->shape[d];
            if (inner)
                r->row_length = dync__sz_mul(r->row_length, x->shape[d]);
            else
                r->n_rows = dync__sz_mul(r->n_rows, x->shape[d]);
        }
        if (!inner) r->n_outer = r->n_dims;
    }
    if (r->n_dims == r->n_outer) { /* nothing to reduce over: one turn */
        r->dim[r->n_dims] = -1;
        r->extent[r->n_dims++] = 1;
    }
}

/* Strides of an operand with the dims of x. */
static void dync__lower_full_strides(const dync__rows *r, const dync__layout *l, int64_t *stride)
{
    for (int k = 0; k < r->n_dims; k++) stride[k] = r->dim[k] < 0 ? 0 : l->stride[r->dim[k]];
}

/* Strides of a result: reduced dims are gone, or of size 1 where it has the rank of x. */
static void dync__lower_row_strides(const dync__rows *r, const dync__layout *l, int64_t *stride)
{
    bool dropped = l->ndim == r->n_outer;
    for (int k = 0; k < r->n_dims; k++)
        stride[k] = k >= r->n_outer ? 0 : dropped ? l->stride[k] : l->stride[r->dim[k]];
}

/* a reduction in the making: one kernel and the operand that it runs over in, out: strides of the
 * operand and of the result along the loops. */
typedef struct dync__reducer {
    dync__rows rows;
    dync__lb b;
    int64_t in[DYNC_MAX_DIMS + 1], out[DYNC_MAX_DIMS + 1];
    int x; /* the element, of the computing type */
} dync__reducer;

/* Begins a kernel over x in section 1 with its element loaded and cast to `type`. y: the result
 * whose row strides go to r->out, or NULL. The dims are argument 1 (norm: 2). */
static dync_status dync__lower_reducer(dync__pb *pb, const dync__opcall *call,
                                       const dync__operand *x, const dync__operand *y, int type,
                                       dync__reducer *r)
{
    bool reduced[DYNC_MAX_DIMS];
    dync__interp_reduces();
    DYNC__TRY(
        dync__infer_dims(&call->args[call->op == DYNC__OP_norm ? 2 : 1], x->lay.ndim, reduced));
    dync__lower_rows(&r->rows, &x->lay, reduced);
    dync__lower_full_strides(&r->rows, &x->lay, r->in);
    if (y) dync__lower_row_strides(&r->rows, &y->lay, r->out);
    if (!dync__lower_begin(pb, &r->b, r->rows.n_outer, r->rows.n_dims, r->rows.extent))
        return DYNC_ERR_MEMORY;
    r->x = dync__lb_cast(&r->b, dync__lower_load(&r->b, x, r->in), type);
    return DYNC_OK;
}

/* The dtype to sum in: f32 for f16 and bf16. */
static int dync__lower_wide(int dtype) { return dync__dtype_info(dtype)->compute; }

/* One reduction and its store; of nothing: its neutral element. kind: a DYNC__R_ reduction.
 * neutral: what a row of no elements gives. */
static dync_status dync__lower_simple(dync__pb *pb, const dync__opcall *call,
                                      const dync__operand *in, const dync__operand *out, int kind,
                                      int type, double neutral)
{
    dync__reducer r;
    DYNC__TRY(dync__lower_reducer(pb, call, in, out, type, &r));
    if (r.rows.row_length == 0) return dync__lower_fill(pb, call, -1, neutral, out);
    int v = dync__lb_reduce(&r.b, kind, r.x);
    r.b.section = 2;
    if (call->op == DYNC__OP_mean)
        v = dync__lb_op(&r.b, DYNC__P_div, v,
                        dync__lb_f(&r.b, type, dync__sf_of(r.rows.row_length)), -1);
    dync__lower_store(&r.b, out, r.out, v);
    return dync__lower_end(pb, &r.b);
}

DYNC__FN dync_status dync__l_sum(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                 const dync__operand *out)
{
    return dync__lower_simple(pb, call, in, out, DYNC__R_SUM, dync__lower_wide(out->dtype), 0);
}
/* Products summed in their row: long ones by more accumulators than a matrix product of one element
 * would have. */
DYNC__FN dync_status dync__l_dot(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                 const dync__operand *out)
{
    dync__lb b;
    int type = dync__lower_wide(out->dtype), x[2];
    if (in[0].lay.shape[0] == 0) return dync__lower_fill(pb, call, -1, 0, out);
    dync__interp_reduces();
    if (!dync__lower_begin(pb, &b, 0, 1, in[0].lay.shape)) return DYNC_ERR_MEMORY;
    for (int i = 0; i < 2; i++)
        x[i] = dync__lb_cast(&b, dync__lower_load(&b, &in[i], in[i].lay.stride), type);
    int sum = dync__lb_reduce(&b, DYNC__R_SUM, dync__lb_op(&b, DYNC__P_mul, x[0], x[1], -1));
    b.section = 2;
    int64_t once = 0;
    dync__lower_store(&b, out, &once, sum);
    return dync__lower_end(pb, &b);
}
/* A sum and a division; of nothing it is NaN. */
DYNC__FN dync_status dync__l_mean(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                  const dync__operand *out)
{
    return dync__lower_simple(pb, call, in, out, DYNC__R_SUM, dync__lower_wide(out->dtype),
                              (double)NAN);
}
DYNC__FN dync_status dync__l_prod(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                  const dync__operand *out)
{
    return dync__lower_simple(pb, call, in, out, DYNC__R_PROD, dync__lower_wide(out->dtype), 1);
}
DYNC__FN dync_status dync__l_any(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                 const dync__operand *out)
{
    return dync__lower_simple(pb, call, in, out, DYNC__R_ANY, DYNC_BOOL, 0);
}
DYNC__FN dync_status dync__l_all(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                 const dync__operand *out)
{
    return dync__lower_simple(pb, call, in, out, DYNC__R_ALL, DYNC_BOOL, 1);
}

/* Bools have no order in the loop IR: the largest is any, the smallest all. */
static dync_status dync__lower_extreme(dync__pb *pb, const dync__opcall *call,
                                       const dync__operand *in, const dync__operand *out,
                                       bool largest)
{
    int kind = out->dtype == DYNC_BOOL ? (largest ? DYNC__R_ANY : DYNC__R_ALL)
               : largest               ? DYNC__R_MAX
                                       : DYNC__R_MIN;
    return dync__lower_simple(pb, call, in, out, kind, dync__lower_wide(out->dtype), 0);
}
DYNC__FN dync_status dync__l_amax(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                  const dync__operand *out)
{
    return dync__lower_extreme(pb, call, in, out, true);
}
DYNC__FN dync_status dync__l_amin(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                  const dync__operand *out)
{
    return dync__lower_extreme(pb, call, in, out, false);
}

/* Bools are compared as integers. */
static int dync__lower_orderable(int dtype)
{
    return dtype == DYNC_BOOL ? DYNC_I32 : dync__lower_wide(dtype);
}

DYNC__FN dync_status dync__l_argmax(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                    const dync__operand *out)
{
    dync__interp_places();
    return dync__lower_simple(pb, call, in, out, DYNC__R_ARGMAX, dync__lower_orderable(in->dtype),
                              0);
}
DYNC__FN dync_status dync__l_argmin(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                    const dync__operand *out)
{
    dync__interp_places();
    return dync__lower_simple(pb, call, in, out, DYNC__R_ARGMIN, dync__lower_orderable(in->dtype),
                              0);
}

/* Two reductions in one pass; a place is the count of the element within its row, the first of
 * equals. */
static dync_status dync__lower_value_and_place(dync__pb *pb, const dync__opcall *call,
                                               const dync__operand *in, const dync__operand *out,
                                               int kind, int arg_kind)
{
    dync__reducer r;
    dync__interp_places();
    DYNC__TRY(dync__lower_reducer(pb, call, in, &out[0], dync__lower_orderable(in->dtype), &r));
    int value = dync__lb_reduce(&r.b, kind, r.x), place = dync__lb_reduce(&r.b, arg_kind, r.x);
    r.b.section = 2;
    dync__lower_store(&r.b, &out[0], r.out, value);
    dync__lower_row_strides(&r.rows, &out[1].lay, r.out);
    dync__lower_store(&r.b, &out[1], r.out, place);
    return dync__lower_end(pb, &r.b);
}
DYNC__FN dync_status dync__l_max_dim(dync__pb *pb, const dync__opcall *call,
                                     const dync__operand *in, const dync__operand *out)
{
    return dync__lower_value_and_place(pb, call, in, out, DYNC__R_MAX, DYNC__R_ARGMAX);
}
DYNC__FN dync_status dync__l_min_dim(dync__pb *pb, const dync__opcall *call,
                                     const dync__operand *in, const dync__operand *out)
{
    return dync__lower_value_and_place(pb, call, in, out, DYNC__R_MIN, DYNC__R_ARGMIN);
}

/* Two passes over each row: the mean, then squared distances from it. In F64 on the CPU, as in
 * PyTorch: squares of distances of 1e19, and of 1e-23, leave the range of F32, and a standard
 * deviation does not. The divisor is n - correction, at least 0: then the result is infinite or
 * NaN, as in PyTorch. */
DYNC__FN dync_status dync__l_var(dync__pb *pb, const dync__opcall *call, const dync__operand *in,
                                 const dync__operand *out)
{
    dync__reducer r;
    int type = dync__device_is(pb->device, DYNC__DEV_WIDE) ? (int)DYNC__REAL
                                                           : dync__lower_wide(out->dtype);
    DYNC__TRY(dync__lower_reducer(pb, call, in, out, type, &r));
    if (r.rows.row_length == 0) return dync__lower_fill(pb, call, -1, (double)NAN, out);
    dync__lb *b = &r.b;
    int64_t less = call->args[2].as.i;
    double n = dync__sf_of(r.rows.row_length),
           divisor = dync__sz_lt(less, r.rows.row_length)
                         ? dync__sf(DYNC__SF_SUB, n, dync__sf_of(less))
                         : 0;
    int sum = dync__lb_reduce(b, DYNC__R_SUM, r.x);
    b->section = 2;
    int mean = dync__lb_op(b, DYNC__P_div, sum, dync__lb_f(b, type, n), -1);
    b->section = 3;
    int gap = dync__lb_op(b, DYNC__P_sub, r.x, mean, -1);
    int squares = dync__lb_reduce(b, DYNC__R_SUM, dync__lb_op(b, DYNC__P_mul, gap, gap, -1));
    b->section = 4;
    int v = dync__lb_op(b, DYNC__P_div, squares, dync__lb_f(b, type, divisor), -1);
    if (call->op == DYNC__OP_std) v = dync__lb_op(b, DYNC__P_sqrt, v, -1, -1);
    dync__lower_store(b, out, r.out, v);
    return dync__lower_end(pb, b);
}

/* The largest element is taken out first; where it is infinite, 0 is, so that inf - inf does not
 * arise. */
DYNC__FN dync_status dync__l_logsumexp(dync__pb *pb, const dync__opcall *call,
                                       const dync__operand *in, const dync__operand *out)
{
    dync__reducer r;
    int type = dync__lower_wide(out->dtype);
    DYNC__TRY(dync__lower_reducer(pb, call, in, out, type, &r));
    if (r.rows.row_length == 0) return dync__lower_fill(pb, call, -1, -HUGE_VAL, out);
    dync__lb *b = &r.b;
    int top = dync__lb_reduce(b, DYNC__R_MAX, r.x);
    b->section = 2;
    int infinite = dync__lb_op(b, DYNC__P_eq, dync__lb_op(b, DYNC__P_abs, top, -1, -1),
                               dync__lb_f(b, type, HUGE_VAL), -1);
    top = dync__lb_op(b, DYNC__P_select, infinite, dync__lb_f(b, type, 0), top);
    b->section = 3;
    int sum =
        dync__lb_reduce(b, DYNC__R_SUM, dync__vm_exp(b, dync__lb_op(b, DYNC__P_sub, r.x, top, -1)));
    b->section = 4;
    dync__lower_store(b, out, r.out, dync__lb_op(b, DYNC__P_add, dync__vm_log(b, sum), top, -1));
    return dync__lower_end(pb, b);
}

/* One element is 0 + x. Running sums along the row, stored at each element. */
DYNC__FN dync_status dync__lower_scan(dync__pb *pb, const dync__opcall *call,
                                      const dync__operand *in, const dync__operand *out)
{
    dync__reducer r;
    int type = dync__lower_wide(out->dtype);
    dync__interp_scans();
    DYNC__TRY(dync__lower_reducer(pb, call, in, NULL, type, &r));
    dync__lower_full_strides(&r.rows, &out->lay, r.out);
    int v = r.rows.row_length > 1 ? dync__lb_scan(&r.b, r.x)
            : type != DYNC_I64 ? dync__lb_op(&r.b, DYNC__P_add, r.x, dync__lb_f(&r.b, type, 0), -1)
                               : r.x;
    dync__lower_store(&r.b, out, r.out, v);
    return dync__lower_end(pb, &r.b);
}

/* softmax and log_softmax: largest, sum of exponentials, result: one pass over each row for
 * each. */
DYNC__FN dync_status dync__l_softmax(dync__pb *pb, const dync__opcall *call,
                                     const dync__operand *in, const dync__operand *out)
{
    dync__reducer r;
    int type = dync__lower_wide(out->dtype);
    DYNC__TRY(dync__lower_reducer(pb, call, in, NULL, type, &r));
    if (r.rows.row_length == 0) return DYNC_OK;
    dync__lb *b = &r.b;
    int64_t full[DYNC_MAX_DIMS + 1];
    bool logarithm = call->op == DYNC__OP_log_softmax;
    dync__lower_full_strides(&r.rows, &out->lay, full);
    int top = dync__lb_reduce(b, DYNC__R_MAX, r.x);
    b->section = 3;
    int gap = dync__lb_op(b, DYNC__P_sub, r.x, top, -1), power = dync__vm_exp(b, gap),
        sum = dync__lb_reduce(b, DYNC__R_SUM, power);
    b->section = 4;
    int log_sum = logarithm ? dync__vm_log(b, sum) : -1;
    b->section = 5;
    dync__lower_store(b, out, full,
                      logarithm ? dync__lb_op(b, DYNC__P_sub, gap, log_sum, -1)
                                : dync__lb_op(b, DYNC__P_div, power, sum, -1));
    return dync__lower_end(pb, b);
}

/* (x - mean) * rstd * weight + bias over the trailing dims; mean and rstd are results too. */
DYNC__FN dync_status dync__l_native_layer_norm(dync__pb *pb, const dync__opcall *call,
                                               const dync__operand *in, const dync__operand *out)
{
    dync__rows rows;
    dync__lb lb, *b = &lb;
    bool reduced[DYNC_MAX_DIMS];
    int64_t x_stride[DYNC_MAX_DIMS + 1], full[DYNC_MAX_DIMS + 1], row[DYNC_MAX_DIMS + 1],
        param[DYNC_MAX_DIMS + 1] = {0};
    const dync__operand *w = dync__lower_operand(call, in, 2),
                        *bias = dync__lower_operand(call, in, 3);
    int type = dync__lower_wide(out->dtype), lead = in->lay.ndim - call->args[1].n;
    for (int d = 0; d < DYNC_MAX_DIMS; d++) reduced[d] = d >= lead && d < in->lay.ndim;
    dync__lower_rows(&rows, &in->lay, reduced);
    /* of nothing: as PyTorch's */
    if (rows.row_length == 0) {
        DYNC__TRY(dync__lower_fill(pb, call, -1, 0, &out[1]));
        return dync__lower_fill(pb, call, -1, (double)NAN, &out[2]);
    }
    dync__interp_reduces();
    dync__lower_full_strides(&rows, &in->lay, x_stride);
    dync__lower_full_strides(&rows, &out->lay, full);
    if (!dync__lower_begin(pb, b, rows.n_outer, rows.n_dims, rows.extent)) return DYNC_ERR_MEMORY;
    double n = dync__sf_of(rows.row_length);
    int x = dync__lb_cast(b, dync__lower_load(b, in, x_stride), type);
    int sum = dync__lb_reduce(b, DYNC__R_SUM, x);
    b->section = 2;
    int mean = dync__lb_op(b, DYNC__P_div, sum, dync__lb_f(b, type, n), -1);
    dync__lower_row_strides(&rows, &out[1].lay, row);
    dync__lower_store(b, &out[1], row, mean);
    b->section = 3;
    int gap = dync__lb_op(b, DYNC__P_sub, x, mean, -1);
    int squares = dync__lb_reduce(b, DYNC__R_SUM, dync__lb_op(b, DYNC__P_mul, gap, gap, -1));
    b->section = 4;
    int eps = dync__lower_number(pb, b, call, 4, type);
    int wide = dync__lb_op(
        b, DYNC__P_add, dync__lb_op(b, DYNC__P_div, squares, dync__lb_f(b, type, n), -1), eps, -1);
    int rstd = dync__lb_op(b, DYNC__P_div, dync__lb_f(b, type, 1),
                           dync__lb_op(b, DYNC__P_sqrt, wide, -1, -1), -1);
    dync__lower_row_strides(&rows, &out[2].lay, row);
    dync__lower_store(b, &out[2], row, rstd);
    b->section = 5;
    int y = dync__lb_op(b, DYNC__P_mul, gap, rstd, -1);
    for (int i = 0; i < 2; i++) {
        const dync__operand *p = i ? bias : w;
        if (!p) continue;
        for (int k = rows.n_outer; k < rows.n_dims; k++)
            param[k] = p->lay.stride[rows.dim[k] - lead];
        y = dync__lb_op(b, i ? DYNC__P_add : DYNC__P_mul, y,
                        dync__lb_cast(b, dync__lower_load(b, p, param), type), -1);
    }
    dync__lower_store(b, out, full, y);
    return dync__lower_end(pb, b);
}
