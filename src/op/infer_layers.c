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
    out[0].dtype = x->dtype, out[0].device = device, out[0].alias = -1;
    /* as the decomposition makes it */
    DYNC__TRY(dync__infer_like(&out[0], x->lay.ndim, x->lay.shape, 1, &x));
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

/* ---- attention ------------------------------------------------------------------------------- */

/* [B, H, L, E] as a transposed [B, L, H, E], where heads are joined again without a copy; other
 * ranks are row major. q gives dtype, device and all sizes but two: L of the last but one dim,
 * width of the last. */
static dync_status dync__infer_heads(dync__info *out, const dync__tensor *q, int64_t L,
                                     int64_t width)
{
    int n = q->lay.ndim;
    int64_t shape[DYNC_MAX_DIMS];
    memcpy(shape, q->lay.shape, sizeof shape);
    shape[n - 2] = n == 4 ? shape[1] : L;
    if (n == 4) shape[1] = L;
    shape[n - 1] = width;
    DYNC__TRY(dync__infer_fresh(out, q->dtype, q->device, n, shape));
    for (int i = 0; n == 4 && i < 2; i++) {
        int64_t *x = i ? out->lay.stride : out->lay.shape, t = x[1];
        x[1] = x[2];
        x[2] = t;
    }
    return DYNC_OK;
}

/* query [.., L, E], key [.., S, E], value [.., S, V], mask that broadcasts to [.., L, S] Arguments
 * (query, key, value, mask, is_causal, scale); a mask and is_causal exclude each other. Output 1 is
 * the log of the sum of exponentials per row, which the backward needs, in f32 or f64. */
DYNC__FN dync_status dync__i_flash_attention(const dync__opcall *call, dync__info *out)
{
    dync__tensor *q, *k, *v, *mask;
    DYNC__TRY(dync__infer_tensor(call, 0, &q));
    DYNC__TRY(dync__infer_tensor(call, 1, &k));
    DYNC__TRY(dync__infer_tensor(call, 2, &v));
    DYNC__TRY(dync__infer_floating(q));
    int n = q->lay.ndim, device;
    DYNC__TRY(dync__infer_device(call, &device));
    if (q->dtype != k->dtype || q->dtype != v->dtype)
        return dync__fail(DYNC_ERR_DTYPE, "expected query, key and value of one dtype");
    if (n < 2 || k->lay.ndim != n || v->lay.ndim != n ||
        !dync__sz_same(n - 2, q->lay.shape, k->lay.shape) ||
        !dync__sz_same(n - 2, q->lay.shape, v->lay.shape) ||
        !dync__sz_eq(q->lay.shape[n - 1], k->lay.shape[n - 1]) ||
        !dync__sz_eq(k->lay.shape[n - 2], v->lay.shape[n - 2]))
        return dync__infer_pair_error(
            "expected query [.., L, E], key [.., S, E] and value [.., S, V] with one batch",
            &q->lay, &k->lay);
    if (call->args[3].kind != DYNC__A_NONE) {
        dync__layout seen = q->lay, all;
        if (call->args[4].as.i)
            return dync__fail(DYNC_ERR_VALUE, "Explicit attn_mask should not "
                                              "be set when is_causal=True");
        seen.shape[n - 1] = k->lay.shape[n - 2];
        DYNC__TRY(dync__infer_tensor(call, 3, &mask));
        if (mask->dtype != DYNC_BOOL && mask->dtype != q->dtype)
            return dync__fail(DYNC_ERR_DTYPE, "expected a mask of bools or of query's "
                                              "dtype");
        DYNC__TRY(dync__layout_expand(&mask->lay, n, seen.shape, &all));
    }
    DYNC__TRY(dync__infer_heads(&out[0], q, q->lay.shape[n - 2], v->lay.shape[n - 1]));
    return dync__infer_fresh(&out[1], q->dtype == DYNC_F64 ? DYNC_F64 : DYNC_F32, q->device, n - 1,
                             q->lay.shape);
}

/* Arguments (grad, query, key, value, out, logsumexp, mask, is_causal, scale). Outputs: gradients
 * of query, key and value, laid out like attention's result, so that joined heads need no copy. */
DYNC__FN dync_status dync__i_flash_attention_backward(const dync__opcall *call, dync__info *out)
{
    dync__info y[2];
    dync__arg args[6] = {call->args[1], call->args[2], call->args[3],
                         call->args[6], call->args[7], call->args[8]};
    dync__opcall forward = {.row = call->row, .op = call->op, .nargs = 6, .args = args};
    DYNC__TRY(dync__i_flash_attention(&forward, y));
    DYNC__TRY(dync__infer_as_given(call, 0, &y[0]));
    DYNC__TRY(dync__infer_as_given(call, 4, &y[0]));
    DYNC__TRY(dync__infer_as_given(call, 5, &y[1]));
    for (int i = 0; i < 3; i++) {
        const dync__tensor *t = args[i].as.t;
        DYNC__TRY(dync__infer_heads(&out[i], t, t->lay.shape[t->lay.ndim - 2],
                                    t->lay.shape[t->lay.ndim - 1]));
    }
    return DYNC_OK;
}

/* ---- recurrent layers ------------------------------------------------------------------------ */

/* input [L, N, gates H], weight_hh [gates H, H], bias_hh [gates H], h0 and c0 [N, H]; *shape [L, N,
 * H] Arguments of the forward row: (input, weight_hh, bias_hh, h0, c0, gates, reverse, train).
 * gates: 1 tanh, 3 GRU, 4 LSTM. The input has been multiplied by weight_ih already: its share of
 * every gate. *x is borrowed. */
static dync_status dync__infer_rnn(const dync__opcall *call, dync__tensor **x, int64_t *shape)
{
    dync__tensor *w, *t;
    DYNC__TRY(dync__infer_tensor(call, 0, x));
    DYNC__TRY(dync__infer_floating(*x));
    DYNC__TRY(dync__infer_tensor(call, 1, &w));
    int64_t gates = call->args[5].as.i;
    if (gates != 1 && gates != 3 && gates != 4)
        return dync__fail(DYNC_ERR_VALUE, "expected 1, 3 or 4 gates, got %lld", (long long)gates);
    if ((*x)->lay.ndim != 3 || w->lay.ndim != 2)
        return dync__infer_pair_error("expected input [L, N, G] and weight_hh [G, H]", &(*x)->lay,
                                      &w->lay);
    int64_t state[2] = {(*x)->lay.shape[1], w->lay.shape[1]}, width = dync__sz_mul(gates, state[1]),
            matrix[2] = {width, state[1]};
    if (!dync__sz_same(2, w->lay.shape, matrix) || !dync__sz_eq((*x)->lay.shape[2], width))
        return dync__infer_pair_error(
            "expected input [L, N, G] and weight_hh [G, H] with G = gates * H", &(*x)->lay,
            &w->lay);
    if (dync__sz_lt((*x)->lay.shape[0], 1))
        return dync__fail(DYNC_ERR_SHAPE, "expected sequence "
                                          "length to be "
                                          "larger than 0");
    for (int i = 1; i < 5; i++) {
        if (call->args[i].kind == DYNC__A_NONE && i != 3 && (i != 4 || gates != 4)) continue;
        DYNC__TRY(dync__infer_tensor(call, i, &t));
        bool same = i == 1 || (i == 2 ? t->lay.ndim == 1 && dync__sz_eq(t->lay.shape[0], width)
                                      : t->lay.ndim == 2 && dync__sz_same(2, t->lay.shape, state));
        if (!same)
            return dync__infer_pair_error(i == 2 ? "expected bias_hh [gates * H]"
                                                 : "expected h0 and c0 [N, H]",
                                          &t->lay, &(*x)->lay);
        if (t->dtype != (*x)->dtype)
            return dync__fail(DYNC_ERR_DTYPE, "expected input, weights "
                                              "and states of one dtype");
    }
    shape[0] = (*x)->lay.shape[0];
    memcpy(shape + 1, state, sizeof state);
    return DYNC_OK;
}

/* Output, the last c, c of every step (GRU: the state's share of n), gates; empty where there is
 * none. Outputs 2 and 3 are there for the backward alone: only when training, and only with
 * gates. */
DYNC__FN dync_status dync__i_rnn_layer(const dync__opcall *call, dync__info *out)
{
    static const int64_t none = 0;
    dync__tensor *x;
    int64_t shape[3], gates = call->args[5].as.i;
    int device;
    DYNC__TRY(dync__infer_rnn(call, &x, shape));
    DYNC__TRY(dync__infer_device(call, &device));
    bool train = call->args[7].as.i && gates > 1;
    DYNC__TRY(dync__infer_fresh(&out[0], x->dtype, x->device, 3, shape));
    DYNC__TRY(dync__infer_fresh(&out[1], x->dtype, x->device, gates == 4 ? 2 : 1,
                                gates == 4 ? shape + 1 : &none));
    DYNC__TRY(
        dync__infer_fresh(&out[2], x->dtype, x->device, train ? 3 : 1, train ? shape : &none));
    return dync__infer_fresh(&out[3], x->dtype, x->device, train ? 3 : 1,
                             train ? x->lay.shape : &none);
}

/* The input is not there: what forward says of one of its sizes is what must have come. Arguments
 * (gradient of the output, of the last c, weight_hh, h0, c0, output, c of every step, gates'
 * values, gates, reverse): the first two may be none. given[i] is the argument that must look like
 * forward's output of[i]. Outputs: gradients of input, h0, c0. */
DYNC__FN dync_status dync__i_rnn_layer_backward(const dync__opcall *call, dync__info *out)
{
    static const uint8_t given[3] = {5, 6, 7}, of[3] = {0, 2, 3};
    dync__tensor *w, *y, x;
    dync__info f[4];
    DYNC__TRY(dync__infer_tensor(call, 2, &w));
    DYNC__TRY(dync__infer_tensor(call, 5, &y));
    if (w->lay.ndim != 2 || y->lay.ndim != 3)
        return dync__infer_pair_error("expected weight_hh [G, H] and output [L, N, H]", &w->lay,
                                      &y->lay);
    x = *y;
    x.lay.shape[2] = w->lay.shape[0];
    dync__arg args[8] = {dync__arg_t(&x), call->args[2], dync__arg_none(), call->args[3],
                         call->args[4],   call->args[8], call->args[9],    dync__arg_b(true)};
    dync__opcall forward = {.row = call->row, .op = call->op, .nargs = 8, .args = args};
    DYNC__TRY(dync__i_rnn_layer(&forward, f));
    for (int i = 0; i < 3; i++) DYNC__TRY(dync__infer_as_given(call, given[i], &f[of[i]]));
    if (call->args[0].kind != DYNC__A_NONE) DYNC__TRY(dync__infer_as_given(call, 0, &f[0]));
    if (call->args[1].kind != DYNC__A_NONE) DYNC__TRY(dync__infer_as_given(call, 1, &f[1]));
    const dync__layout *h = &call->args[3].as.t->lay;
    DYNC__TRY(dync__infer_fresh(&out[0], y->dtype, y->device, 3, x.lay.shape));
    DYNC__TRY(dync__infer_fresh(&out[1], y->dtype, y->device, 2, h->shape));
    return dync__infer_fresh(&out[2], y->dtype, y->device, f[1].lay.ndim, f[1].lay.shape);
}

/* Out of training the tensor itself comes back. Arguments (input, p, training). alias 0 says that
 * the result is the argument itself. */
DYNC__FN dync_status dync__i_dropout(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    double p = dync__arg_number(&call->args[1]);
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    if (!(p >= 0 && p <= 1))
        return dync__fail(DYNC_ERR_VALUE,
                          "dropout probability has to be between 0 and 1, but got %g", p);
    *out = (dync__info){.dtype = t->dtype, .device = t->device, .lay = t->lay, .alias = 0};
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
