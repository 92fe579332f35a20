/* op/infer_attention.c: attention, recurrent layers and their gradients. After infer_layers.c. */
#include "../dync.in.h"
#include "rows.h"
DYNC__COLD

/* ---- attention ------------------------------------------------------------------------------- */

/* A result in the place of t, whose dtype, device and sizes it has but for the last, in the order
 * of t's dims: heads that were a view of [B, L, H E] are joined again without a copy. `plain`:
 * PyTorch takes its formulas here, whose result is row major. */
static dync_status dync__infer_heads(dync__info *out, const dync__tensor *t, int64_t width,
                                     bool plain)
{
    int n = t->lay.ndim;
    int64_t shape[DYNC_MAX_DIMS];
    memcpy(shape, t->lay.shape, sizeof shape);
    shape[n - 1] = width;
    DYNC__TRY(dync__infer_fresh(out, t->dtype, t->device, n, shape));
    return n != 4 || plain ? DYNC_OK : dync__layout_like(&t->lay, &out->lay);
}

/* Does PyTorch's kernel take no such call? */
static bool dync__infer_by_formulas(const dync__tensor *q, const dync__tensor *k,
                                    const dync__tensor *v)
{
    const dync__tensor *t[3] = {q, k, v};
    bool plain = !dync__sz_eq(q->lay.shape[q->lay.ndim - 1], v->lay.shape[q->lay.ndim - 1]);
    for (int i = 0; i < 3 && !plain; i++)
        plain = !dync__sz_eq(t[i]->lay.stride[t[i]->lay.ndim - 1], 1);
    return plain;
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
    DYNC__TRY(dync__infer_heads(&out[0], q, v->lay.shape[n - 1], dync__infer_by_formulas(q, k, v)));
    return dync__infer_fresh(&out[1], q->dtype == DYNC_F64 ? DYNC_F64 : DYNC_F32, q->device, n - 1,
                             q->lay.shape);
}

/* Arguments (grad, query, key, value, out, logsumexp, mask, is_causal, scale). Outputs: gradients
 * of query, key and value, laid out as those are. */
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
        DYNC__TRY(dync__infer_heads(&out[i], t, t->lay.shape[t->lay.ndim - 1], false));
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
