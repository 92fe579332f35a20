/* onnx/map_loss.c: ONNX's losses. After map_attention.c. */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

/* x [N, C, ...]: log probabilities; target [N, ...] of classes; weight [C] or NULL.
 *
 *   loss[n, ..] = -weight[t] * x[n, t, ..]  with t = target[n, ..], 0 where t is ignore_index
 *   reduction: none; sum; mean: sum of losses / sum of their weights
 *
 * An ignored target may be no class at all (-1, -100): 0 is read in its place. w: the weight of
 * every target, NULL: all are 1. */
static dync_status dync__oi_nll_of(dync__onnx_call *c, dync_tensor *x)
{
    dync_tensor *target = dync_to_dtype(dync__oi_in(c, 1), DYNC_I64), *weight = dync__oi_in(c, 2);
    dync_tensor *loss, *w = NULL, *ignored = NULL, *at;
    int dtype = dync__oi_type(x);
    if (!target || dync__oi_rank(target) + 1 != dync__oi_rank(x))
        return dync__oi_fail(c, DYNC_ERR_SHAPE, "the target");
    at = target;
    if (dync__oi_has(c, "ignore_index")) {
        ignored = dync_eq(target, dync__oi_int(c, "ignore_index"));
        at = dync_where(ignored, 0, target);
    }
    loss = dync_neg(dync_squeeze(dync_gather(x, 1, dync_unsqueeze(at, 1)), 1));
    if (weight) {
        w = dync_index_select(weight, 0, dync_flatten(at, 0, -1));
        w = w ? dync_reshape(w, dync__oi_sizes(target)) : NULL;
    } else if (ignored) {
        w = dync__oi_full(dync__oi_sizes(target), 1, dtype);
    }
    if (w && ignored) w = dync_where(ignored, 0.0, w);
    if (ignored && loss) loss = dync_where(ignored, 0.0, loss);
    if (weight && loss) loss = dync_mul(loss, w);
    if (!loss) return dync_error();
    if (dync__oi_is(c, "reduction", "none")) return dync__oi_out(c, 0, loss);
    dync_dims all = DYNC_ALL;
    if (dync__oi_is(c, "reduction", "sum")) return dync__oi_out(c, 0, dync_sum(loss, all, false));
    if (!w) return dync__oi_out(c, 0, dync_mean(loss, all, false));
    return dync__oi_out(c, 0, dync_div(dync_sum(loss, all, false), dync_sum(w, all, false)));
}

DYNC__FN dync_status dync__oi_nll_loss(dync__onnx_call *c)
{
    return dync__oi_nll_of(c, dync__oi_in(c, 0));
}

/* SoftmaxCrossEntropyLoss: the same of log softmax along dim 1, which is output 1. */
DYNC__FN dync_status dync__oi_cross_entropy(dync__onnx_call *c)
{
    dync_tensor *log = dync_log_softmax(dync__oi_in(c, 0), 1);
    if (!log) return dync_error();
    if (c->n_out > 1) DYNC__TRY(dync__oi_out(c, 1, log));
    return dync__oi_nll_of(c, log);
}
