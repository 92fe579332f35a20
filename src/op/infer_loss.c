/* op/infer_loss.c: dropout, embeddings and losses. After infer_attention.c. */
#include "../dync.in.h"
#include "rows.h"
DYNC__COLD

DYNC__FN dync_status dync__i_dropout(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    double p = dync__arg_number(&call->args[1]);
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    if (!(p >= 0 && p <= 1))
        return dync__fail(DYNC_ERR_VALUE,
                          "dropout probability has to be between 0 and 1, but got %g",
                          dync__float_told(p));
    dync__info_of(out, t, 0);
    if (call->args[2].as.i == 0 || !(p > 0)) return DYNC_OK;
    DYNC__TRY(dync__infer_floating(t));
    dync__opcall like = {.row = dync__op_info(DYNC__USED(DYNC__OP_zeros_like)),
                         .op = DYNC__OP_zeros_like,
                         .nargs = 1,
                         .args = call->args};
    return dync__i_like(&like, out);
}

/* Arguments (weight [V, E], indices): the shape of indices and E behind it. */
DYNC__FN dync_status dync__i_embedding(const dync__opcall *call, dync__info *out)
{
    dync__tensor *w, *idx;
    int64_t shape[DYNC_MAX_DIMS];
    int device;
    dync__eager_checks();
    DYNC__TRY(dync__infer_tensor(call, 0, &w));
    DYNC__TRY(dync__infer_tensor(call, 1, &idx));
    DYNC__TRY(dync__infer_device(call, &device));
    DYNC__TRY(dync__infer_rank(w, 2, "weight"));
    DYNC__TRY(dync__infer_index(idx));
    if (idx->lay.ndim == DYNC_MAX_DIMS)
        return dync__fail(DYNC_ERR_SHAPE, "expected indices of at most %d dims", DYNC_MAX_DIMS - 1);
    memcpy(shape, idx->lay.shape, sizeof shape);
    shape[idx->lay.ndim] = w->lay.shape[1];
    return dync__infer_fresh(out, w->dtype, device, idx->lay.ndim + 1, shape);
}

/* Arguments (grad, indices, V): sums the rows of grad into [V, E]. */
DYNC__FN dync_status dync__i_embedding_dense_backward(const dync__opcall *call, dync__info *out)
{
    dync__tensor *g, *idx;
    DYNC__TRY(dync__infer_tensor(call, 0, &g));
    DYNC__TRY(dync__infer_tensor(call, 1, &idx));
    DYNC__TRY(dync__infer_index(idx));
    if (g->lay.ndim != idx->lay.ndim + 1 ||
        !dync__sz_same(idx->lay.ndim, g->lay.shape, idx->lay.shape))
        return dync__infer_pair_error("expected the sizes of indices and one more", &g->lay,
                                      &idx->lay);
    int64_t shape[2] = {call->args[2].as.i, g->lay.shape[g->lay.ndim - 1]};
    return dync__infer_fresh(out, g->dtype, g->device, 2, shape);
}

/* int64, with num_classes as a new last dim. */
DYNC__FN dync_status dync__i_one_hot(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    int64_t shape[DYNC_MAX_DIMS];
    dync__eager_checks();
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    DYNC__TRY(dync__infer_index(t));
    if (call->args[1].as.i < 1)
        return dync__fail(DYNC_ERR_VALUE, "expected num_classes >= 1, got %lld",
                          (long long)call->args[1].as.i);
    if (t->lay.ndim == DYNC_MAX_DIMS)
        return dync__fail(DYNC_ERR_SHAPE, "expected at most %d dims", DYNC_MAX_DIMS - 1);
    memcpy(shape, t->lay.shape, sizeof shape);
    shape[t->lay.ndim] = call->args[1].as.i;
    return dync__infer_fresh(out, DYNC_I64, t->device, t->lay.ndim + 1, shape);
}

/* ---- losses ---------------------------------------------------------------------------------- */

/* Mean losses of two tensors that broadcast: a 0-dim result of the promoted dtype. The cross
 * entropies of bools' probabilities want equal shapes, as in PyTorch. */
DYNC__FN dync_status dync__i_loss(const dync__opcall *call, dync__info *out)
{
    dync__tensor *x, *y;
    int device, n;
    int64_t shape[DYNC_MAX_DIMS];
    DYNC__TRY(dync__infer_tensor(call, 0, &x));
    DYNC__TRY(dync__infer_tensor(call, 1, &y));
    DYNC__TRY(dync__infer_device(call, &device));
    bool entropy = call->op == DYNC__OP_binary_cross_entropy ||
                   call->op == DYNC__OP_binary_cross_entropy_with_logits;
    if (entropy && !dync__infer_same_shape(&x->lay, &y->lay))
        return dync__infer_pair_error("target size must be the same as input size", &x->lay,
                                      &y->lay);
    DYNC__TRY(dync__broadcast(x->lay.ndim, x->lay.shape, y->lay.ndim, y->lay.shape, &n, shape));
    int dtype = dync__promote(x->dtype, y->dtype);
    if (dync__dtype_info(dtype)->kind != 'f') return dync__infer_floating(x);
    bool smooth = call->op == DYNC__OP_smooth_l1_loss;
    if (!smooth && call->op != DYNC__OP_mse_loss) { /* those two count bools */
        if (x->dtype == DYNC_BOOL || y->dtype == DYNC_BOOL)
            return dync__fail(DYNC_ERR_DTYPE, "not implemented for 'Bool'");
    }
    if (smooth && dync__arg_number(&call->args[2]) < 0)
        return dync__fail(DYNC_ERR_VALUE, "smooth_l1_loss does not support negative values for "
                                          "beta.");
    return dync__infer_fresh(out, dtype, device, 0, NULL);
}

/* input [C] or [N, C, ..], target without the class dim: indices (int64; uint8 as PyTorch allows).
 * cross_entropy also takes a target of input's shape and dtype: the probability of each class. */
DYNC__FN dync_status dync__i_nll_loss(const dync__opcall *call, dync__info *out)
{
    dync__tensor *x, *y;
    int device;
    DYNC__TRY(dync__infer_tensor(call, 0, &x));
    DYNC__TRY(dync__infer_tensor(call, 1, &y));
    DYNC__TRY(dync__infer_floating(x));
    DYNC__TRY(dync__infer_device(call, &device));
    /* of each class */
    bool shares = call->op == DYNC__OP_cross_entropy && x->lay.ndim == y->lay.ndim;
    if (y->dtype != (shares ? x->dtype : DYNC_I64) && (shares || y->dtype != DYNC_U8))
        return dync__fail(DYNC_ERR_DTYPE, "expected target of dtype %s, got %s",
                          dync__dtype_info(shares ? x->dtype : DYNC_I64)->name,
                          dync__dtype_info(y->dtype)->name);
    if (shares && x->lay.ndim >= 1 && dync__sz_same(x->lay.ndim, x->lay.shape, y->lay.shape))
        return dync__infer_fresh(out, x->dtype, device, 0, NULL);
    bool fits = x->lay.ndim >= 1 && y->lay.ndim == x->lay.ndim - 1;
    for (int i = 0; fits && i < y->lay.ndim; i++)
        fits = dync__sz_eq(y->lay.shape[i], x->lay.shape[i == 0 ? 0 : i + 1]);
    if (!fits)
        return dync__infer_pair_error("expected input [C] or [N, C, ...] and target without the "
                                      "class dim",
                                      &x->lay, &y->lay);
    return dync__infer_fresh(out, x->dtype, device, 0, NULL);
}
