/* op/infer_layers.c: inference of layers and losses. After infer.c. */
#include "../dync.in.h"
#include "rows.h"
DYNC__COLD

/* ---- normalisation and other layers ---------------------------------------------------------- */

/* Argument i is none or a tensor [n]; `what` names it in the message. */
static dync_status dync__infer_optional_vector(const dync__opcall *call, int i, const char *what,
                                               int64_t n)
{
    dync__tensor *t;
    if (call->args[i].kind == DYNC__A_NONE) return DYNC_OK;
    DYNC__TRY(dync__infer_tensor(call, i, &t));
    if (t->lay.ndim == 1 && dync__sz_eq(t->lay.shape[0], n)) return DYNC_OK;
    return dync__fail(DYNC_ERR_SHAPE, "%s should contain %lld elements not %lld", what,
                      (long long)dync__sz_hint(n), (long long)dync__sz_hint(t->numel));
}

/* Of a result that is row major where its input could be taken for that as well. */
DYNC__FN int dync__norm_form(const dync__tensor *x)
{
    return dync__layout_is_contiguous(&x->lay) ? 0 : dync__layout_form(&x->lay);
}

/* Arguments (input, weight, bias, running_mean, running_var, training, momentum, eps). Outputs:
 *
 *   0  the result, like input              3  running_mean afterwards, [0] where none is given
 *   1  mean of the batch [C]               4  running_var afterwards
 *   2  1 / sqrt(var + eps) [C]             (1 and 2 are [0] outside of training)
 *
 * The functional form: running statistics come out as values and are not written. */
DYNC__FN dync_status dync__i_native_batch_norm(const dync__opcall *call, dync__info *out)
{
    static const char *const names[] = {"weight", "bias", "running_mean", "running_var"};
    dync__tensor *x;
    int device;
    int64_t channels, none = 0;
    bool training = call->args[5].as.i != 0;
    DYNC__TRY(dync__infer_tensor(call, 0, &x));
    DYNC__TRY(dync__infer_floating(x));
    DYNC__TRY(dync__infer_device(call, &device));
    if (x->lay.ndim < 2)
        return dync__fail(DYNC_ERR_SHAPE, "expected input [N, C, ...], got %dD", x->lay.ndim);
    channels = x->lay.shape[1];
    for (int i = 0; i < 4; i++)
        DYNC__TRY(dync__infer_optional_vector(call, i + 1, names[i], channels));
    if (!training && (call->args[3].kind == DYNC__A_NONE || call->args[4].kind == DYNC__A_NONE))
        return dync__fail(DYNC_ERR_VALUE, "running_mean and running_var must be defined in "
                                          "evaluation mode");
    if (training && channels && x->numel && dync__sz_lt(x->numel, dync__sz_mul(2, channels)))
        return dync__fail(DYNC_ERR_SHAPE,
                          "Expected more than 1 value per channel when training, "
                          "got %lld",
                          (long long)(dync__sz_hint(x->numel) / dync__sz_hint(channels)));
    int stats = x->dtype == DYNC_F64 ? DYNC_F64 : DYNC_F32;
    DYNC__TRY(dync__infer_formed(&out[0], x->dtype, device, x->lay.ndim, x->lay.shape,
                                 dync__norm_form(x)));
    for (int i = 1; i < 3; i++)
        DYNC__TRY(dync__infer_fresh(&out[i], stats, device, 1, training ? &channels : &none));
    for (int i = 3; i < 5; i++) {
        const dync__arg *running = &call->args[i];
        bool given = running->kind == DYNC__A_TENSOR;
        DYNC__TRY(dync__infer_fresh(&out[i], given ? running->as.t->dtype : stats, device, 1,
                                    given ? &channels : &none));
    }
    return DYNC_OK;
}

/* The first output alone; running statistics are written in place by the decomposition. */
DYNC__FN dync_status dync__i_batch_norm(const dync__opcall *call, dync__info *out)
{
    dync__info all[5];
    dync__tensor *x;
    DYNC__TRY(dync__infer_tensor(call, 0, &x));
    if (x->lay.ndim == 1 && x->lay.shape[0] == 0) { /* an empty batch without channels */
        for (int i = 1; i < 5; i++)
            DYNC__TRY(dync__infer_optional_vector(call, i, "a vector of batch_norm", 0));
        DYNC__TRY(dync__infer_floating(x));
        return dync__infer_fresh(out, x->dtype, x->device, 1, x->lay.shape);
    }
    DYNC__TRY(dync__i_native_batch_norm(call, all));
    *out = all[0];
    return DYNC_OK;
}

/* Arguments (grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train,
 * eps, ..). In training the saved statistics are used, otherwise the running ones; the unused pair
 * may be missing or of any size. Outputs: gradients of input, weight, bias. */
DYNC__FN dync_status dync__i_native_batch_norm_backward(const dync__opcall *call, dync__info *out)
{
    dync__tensor *g, *x;
    DYNC__TRY(dync__infer_tensor(call, 0, &g));
    DYNC__TRY(dync__infer_tensor(call, 1, &x));
    if (!dync__infer_same_shape(&g->lay, &x->lay) || x->lay.ndim < 2)
        return dync__infer_pair_error("expected grad_out and input of one shape [N, C, ...]",
                                      &g->lay, &x->lay);
    static const char *const names[] = {"weight", "running_mean", "running_var", "save_mean",
                                        "save_invstd"};
    DYNC__TRY(dync__infer_floating(g));
    DYNC__TRY(dync__infer_floating(x));
    /* the others may be empty */
    int first = call->args[7].as.i ? 5 : 3, used[3] = {2, first, first + 1};
    for (int i = 0; i < 3; i++)
        DYNC__TRY(dync__infer_optional_vector(call, used[i], names[used[i] - 2], x->lay.shape[1]));
    if (call->args[first].kind == DYNC__A_NONE || call->args[first + 1].kind == DYNC__A_NONE)
        return dync__fail(DYNC_ERR_VALUE, "expected %s and %s, got none", names[first - 2],
                          names[first - 1]);
    int wide = x->dtype == DYNC_F64 ? DYNC_F64 : DYNC_F32;
    int stats = call->args[2].kind == DYNC__A_TENSOR ? call->args[2].as.t->dtype : wide;
    DYNC__TRY(dync__infer_fresh(&out[0], x->dtype, x->device, x->lay.ndim, x->lay.shape));
    DYNC__TRY(dync__infer_fresh(&out[1], stats, x->device, 1, &x->lay.shape[1]));
    return dync__infer_fresh(&out[2], stats, x->device, 1, &x->lay.shape[1]);
}

/* Arguments (input, normalized_shape, weight, bias, eps): the trailing dims are normalised.
 * Outputs: the result, mean and 1 / sqrt(var + eps), the latter two with the normalised dims as 1
 * and in f32 (f64 for f64). */
DYNC__FN dync_status dync__i_native_layer_norm(const dync__opcall *call, dync__info *out)
{
    dync__tensor *x, *p;
    const dync__arg *shape = &call->args[1];
    int64_t stats[DYNC_MAX_DIMS];
    int device;
    DYNC__TRY(dync__infer_tensor(call, 0, &x));
    DYNC__TRY(dync__infer_floating(x));
    DYNC__TRY(dync__infer_device(call, &device));
    int lead = x->lay.ndim - shape->n;
    if (shape->n < 1 || lead < 0 || !dync__sz_same(shape->n, x->lay.shape + lead, shape->as.dims)) {
        dync__layout want = {.ndim = DYNC__MIN(DYNC__MAX(shape->n, 0), DYNC_MAX_DIMS)};
        memcpy(want.shape, shape->as.dims, (size_t)want.ndim * sizeof(int64_t));
        return dync__infer_pair_error("expected the trailing dims of input to be normalized_shape",
                                      &x->lay, &want);
    }
    for (int i = 2; i < 4; i++) {
        if (call->args[i].kind == DYNC__A_NONE) continue;
        DYNC__TRY(dync__infer_tensor(call, i, &p));
        if (p->lay.ndim != shape->n || !dync__sz_same(shape->n, p->lay.shape, shape->as.dims))
            return dync__infer_pair_error("expected weight and bias of the normalized shape",
                                          &p->lay, &x->lay);
    }
    for (int i = 0; i < x->lay.ndim; i++) stats[i] = i < lead ? x->lay.shape[i] : 1;
    int wide = x->dtype == DYNC_F64 ? DYNC_F64 : DYNC_F32;
    DYNC__TRY(dync__infer_fresh(&out[0], x->dtype, device, x->lay.ndim, x->lay.shape));
    DYNC__TRY(dync__infer_fresh(&out[1], wide, device, x->lay.ndim, stats));
    return dync__infer_fresh(&out[2], wide, device, x->lay.ndim, stats);
}

DYNC__FN dync_status dync__i_layer_norm(const dync__opcall *call, dync__info *out)
{
    dync__info all[3];
    DYNC__TRY(dync__i_native_layer_norm(call, all));
    *out = all[0];
    return DYNC_OK;
}
