/* op/infer_linear.c: inference of matrix products. After infer.c. */
#include "../dync.in.h"
#include "rows.h"
DYNC__COLD

static const char dync__infer_self[] = "self";

/* ---- products -------------------------------------------------------------------------------- */

/* Matrix products do not promote: both operands have one dtype, and it is no bool, as in PyTorch.
 * *device is where the result will be. */
DYNC__FN dync_status dync__infer_two(const dync__opcall *call, dync__tensor **a, dync__tensor **b,
                                     int *device)
{
    DYNC__TRY(dync__infer_tensor(call, 0, a));
    DYNC__TRY(dync__infer_tensor(call, 1, b));
    DYNC__TRY(dync__infer_device(call, device));
    if ((*a)->dtype != (*b)->dtype)
        return dync__fail(DYNC_ERR_DTYPE,
                          "expected m1 and m2 to have the same dtype, but got: "
                          "%s != %s",
                          dync__dtype_info((*a)->dtype)->name, dync__dtype_info((*b)->dtype)->name);
    if ((*a)->dtype == DYNC_BOOL) return dync__fail(DYNC_ERR_DTYPE, "not implemented for 'Bool'");
    return DYNC_OK;
}

/* The sizes that a product sums over must agree. The message shows both tensors with dtype and
 * shape: "a[3,4] f32 x b[5,6] f32: inner sizes 4 and 5 differ". */
static dync_status dync__infer_inner(const dync__tensor *a, int64_t inner_a, const dync__tensor *b,
                                     int64_t inner_b)
{
    if (dync__sz_eq(inner_a, inner_b)) return DYNC_OK;
    dync__str s = {0};
    dync__tensor_brief(&s, a);
    dync__str_add(&s, " x ");
    dync__tensor_brief(&s, b);
    dync__fail(DYNC_ERR_SHAPE, "%s: inner sizes %lld and %lld differ", dync__str_get(&s),
               (long long)dync__sz_hint(inner_a), (long long)dync__sz_hint(inner_b));
    dync__str_free(&s);
    return DYNC_ERR_SHAPE;
}

/* [M, K] x [K, N] -> [M, N] */
DYNC__FN dync_status dync__i_mm(const dync__opcall *call, dync__info *out)
{
    dync__tensor *a, *b;
    int device;
    DYNC__TRY(dync__infer_two(call, &a, &b, &device));
    DYNC__TRY(dync__infer_rank(a, 2, dync__infer_self));
    DYNC__TRY(dync__infer_rank(b, 2, "mat2"));
    DYNC__TRY(dync__infer_inner(a, a->lay.shape[1], b, b->lay.shape[0]));
    int64_t shape[2] = {a->lay.shape[0], b->lay.shape[1]};
    return dync__infer_fresh(out, a->dtype, device, 2, shape);
}

/* int8 x int8 -> int32 sums, exact as long as K < 2^17: of quantized programs. */
DYNC__FN dync_status dync__i_int_mm(const dync__opcall *call, dync__info *out)
{
    DYNC__TRY(dync__i_mm(call, out));
    if (out->dtype != DYNC_I8)
        return dync__fail(DYNC_ERR_DTYPE, "expected self and mat2 of int8, got %s",
                          dync__dtype_info(out->dtype)->name);
    out->dtype = DYNC_I32;
    return DYNC_OK;
}

/* [B, M, K] x [B, K, N] -> [B, M, N]; the batches do not broadcast. */
DYNC__FN dync_status dync__i_bmm(const dync__opcall *call, dync__info *out)
{
    dync__tensor *a, *b;
    int device;
    DYNC__TRY(dync__infer_two(call, &a, &b, &device));
    DYNC__TRY(dync__infer_rank(a, 3, "batch1"));
    DYNC__TRY(dync__infer_rank(b, 3, "batch2"));
    if (!dync__sz_eq(a->lay.shape[0], b->lay.shape[0]))
        return dync__infer_pair_error("expected equal batch sizes", &a->lay, &b->lay);
    DYNC__TRY(dync__infer_inner(a, a->lay.shape[2], b, b->lay.shape[1]));
    int64_t shape[3] = {a->lay.shape[0], a->lay.shape[1], b->lay.shape[2]};
    return dync__infer_fresh(out, a->dtype, device, 3, shape);
}

/* [M, K] x [K] -> [M] */
DYNC__FN dync_status dync__i_mv(const dync__opcall *call, dync__info *out)
{
    dync__tensor *a, *b;
    int device;
    DYNC__TRY(dync__infer_two(call, &a, &b, &device));
    DYNC__TRY(dync__infer_rank(a, 2, dync__infer_self));
    DYNC__TRY(dync__infer_rank(b, 1, "vec"));
    DYNC__TRY(dync__infer_inner(a, a->lay.shape[1], b, b->lay.shape[0]));
    return dync__infer_fresh(out, a->dtype, device, 1, a->lay.shape);
}

/* [K] x [K] -> 0-dim */
DYNC__FN dync_status dync__i_dot(const dync__opcall *call, dync__info *out)
{
    dync__tensor *a, *b;
    int device;
    DYNC__TRY(dync__infer_two(call, &a, &b, &device));
    DYNC__TRY(dync__infer_rank(a, 1, dync__infer_self));
    DYNC__TRY(dync__infer_rank(b, 1, "tensor"));
    DYNC__TRY(dync__infer_inner(a, a->lay.shape[0], b, b->lay.shape[0]));
    return dync__infer_fresh(out, a->dtype, device, 0, NULL);
}

/* [M] and [N] -> [M, N]: an elementwise product, so the dtypes promote. */
DYNC__FN dync_status dync__i_outer(const dync__opcall *call, dync__info *out)
{
    dync__tensor *a, *b;
    int device;
    DYNC__TRY(dync__infer_tensor(call, 0, &a));
    DYNC__TRY(dync__infer_tensor(call, 1, &b));
    DYNC__TRY(dync__infer_device(call, &device));
    DYNC__TRY(dync__infer_rank(a, 1, dync__infer_self));
    DYNC__TRY(dync__infer_rank(b, 1, "vec2"));
    int64_t shape[2] = {a->lay.shape[0], b->lay.shape[0]};
    return dync__infer_fresh(out, dync__promote(a->dtype, b->dtype), device, 2, shape);
}

/* self + mat1 @ mat2: the product decides the shape, self must expand to it and have its dtype. The
 * two matrices are checked as a call of mm whose arguments are 1 and 2 of this one. */
DYNC__FN dync_status dync__i_addmm(const dync__opcall *call, dync__info *out)
{
    dync__tensor *self, *a, *b;
    dync__layout expanded;
    DYNC__TRY(dync__infer_tensor(call, 0, &self));
    dync__arg pair[2] = {call->args[1], call->args[2]};
    dync__opcall mm = {.row = call->row, .op = call->op, .nargs = 2, .args = pair};
    DYNC__TRY(dync__i_mm(&mm, out));
    DYNC__TRY(dync__infer_two(&mm, &a, &b, &out->device));
    if (self->dtype != a->dtype)
        return dync__fail(DYNC_ERR_DTYPE,
                          "self and mat2 must have the same dtype, but got %s "
                          "and %s",
                          dync__dtype_info(self->dtype)->name, dync__dtype_info(a->dtype)->name);
    return dync__layout_expand(&self->lay, 2, out->lay.shape, &expanded);
}

/* numpy's rules: a vector on the left is a row, one on the right a column, and the dim added for
 * that goes again; all dims but the last two broadcast.
 *
 *   [K] x [K] -> []          [M, K] x [K] -> [M]          [B, 1, M, K] x [C, K, N] -> [B, C, M,
 * N] */
DYNC__FN dync_status dync__i_matmul(const dync__opcall *call, dync__info *out)
{
    dync__tensor *a, *b;
    int device, n;
    int64_t shape[DYNC_MAX_DIMS];
    DYNC__TRY(dync__infer_two(call, &a, &b, &device));
    int na = a->lay.ndim, nb = b->lay.ndim;
    if (na == 0 || nb == 0)
        return dync__fail(DYNC_ERR_SHAPE,
                          "both arguments need to be at least 1D, but they are %dD and %dD", na,
                          nb);
    DYNC__TRY(dync__infer_inner(a, a->lay.shape[na - 1], b, b->lay.shape[nb == 1 ? 0 : nb - 2]));
    DYNC__TRY(dync__broadcast(DYNC__MAX(na - 2, 0), a->lay.shape, DYNC__MAX(nb - 2, 0),
                              b->lay.shape, &n, shape));
    if (na > 1) shape[n++] = a->lay.shape[na - 2];
    if (nb > 1) shape[n++] = b->lay.shape[nb - 1];
    return dync__infer_fresh(out, a->dtype, device, n, shape);
}

/* x [.., K], weight [N, K] or [K], bias [N] or none -> [.., N], or [..] for a weight of one dim.
 * The bias may broadcast: its dims are matched from the last one on. */
DYNC__FN dync_status dync__i_linear(const dync__opcall *call, dync__info *out)
{
    dync__tensor *x, *w, *bias;
    int device;
    int64_t shape[DYNC_MAX_DIMS];
    DYNC__TRY(dync__infer_two(call, &x, &w, &device));
    static const char weight[] = "weight";
    if (w->lay.ndim != 1) DYNC__TRY(dync__infer_rank(w, 2, weight));
    if (x->lay.ndim == 0) return dync__fail(DYNC_ERR_SHAPE, "input must have at least one dim");
    DYNC__TRY(
        dync__infer_inner(x, x->lay.shape[x->lay.ndim - 1], w, w->lay.shape[w->lay.ndim - 1]));
    int n = x->lay.ndim - (w->lay.ndim == 1);
    memcpy(shape, x->lay.shape, sizeof shape);
    if (w->lay.ndim == 2) shape[n - 1] = w->lay.shape[0];
    if (call->args[2].kind != DYNC__A_NONE) {
        DYNC__TRY(dync__infer_tensor(call, 2, &bias));
        if (bias->dtype != x->dtype)
            return dync__fail(DYNC_ERR_DTYPE, "expected bias of dtype %s, got %s",
                              dync__dtype_info(x->dtype)->name,
                              dync__dtype_info(bias->dtype)->name);
        bool fits = bias->lay.ndim <= (w->lay.ndim == 1 ? 0 : n);
        for (int d = 1; fits && d <= bias->lay.ndim; d++)
            fits = bias->lay.shape[bias->lay.ndim - d] == 1 ||
                   dync__sz_eq(bias->lay.shape[bias->lay.ndim - d], shape[n - d]);
        if (!fits)
            return dync__infer_pair_error(
                w->lay.ndim == 1 ? "expected a 0-dim bias for a weight of one dim"
                                 : "expected a bias with one element per row of weight",
                &bias->lay, &w->lay);
    }
    return dync__infer_fresh(out, x->dtype, device, n, shape);
}
