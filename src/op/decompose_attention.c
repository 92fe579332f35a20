/* op/decompose_attention.c: attention by products and a softmax. After decompose_layers.c. */
#include "../dync.in.h"
#include "chain.h"
DYNC__COLD

/* ---- attention ------------------------------------------------------------------------------- */

/* The scores with what may not be seen at minus infinity. scores [.., L, S]. is_causal: row i sees
 * columns 0 .. i. A bool mask says what may be seen, one of numbers is added. */
static dync__dt *dync__dn_masked(dync__chain *c, bool is_causal, dync__dt *scores, dync__dt *mask)
{
    const double inf = HUGE_VAL;
    if (is_causal && scores) {
        int64_t shape[2] = {scores->lay.shape[scores->lay.ndim - 2],
                            scores->lay.shape[scores->lay.ndim - 1]};
        dync__arg args[3] = {dync__arg_dims(2, shape), dync__arg_dtype(DYNC_BOOL),
                             dync__arg_device(scores->device)};
        dync__chain_call(c, DYNC__OP_ones, 3, args, &mask);
        mask = dync__chain_ti(c, DYNC__OP_tril, mask, 0);
    }
    if (!mask || !scores) return scores;
    if (mask->dtype != DYNC_BOOL) return dync__chain_tt(c, DYNC__OP_add, scores, mask);
    mask = dync__chain1(c, DYNC__OP_logical_not, mask);
    return dync__chain3(c, DYNC__OP_masked_fill, dync__arg_t(scores), dync__arg_t(mask),
                        dync__arg_f(-inf));
}

/* softmax whose rows that see nothing are zero, not NaN */
static dync__dt *dync__dn_safe_softmax(dync__chain *c, dync__dt *scores)
{
    const double inf = HUGE_VAL;
    int64_t last = -1;
    dync__dt *blind = dync__chain_reduce(
        c, DYNC__OP_all, dync__chain_tf(c, DYNC__OP_eq, scores, -inf), 1, &last, true);
    scores = dync__chain3(c, DYNC__OP_masked_fill, dync__arg_t(scores), dync__arg_t(blind),
                          dync__arg_i(0));
    return dync__chain3(c, DYNC__OP_masked_fill,
                        dync__arg_t(dync__chain_ti(c, DYNC__OP_softmax, scores, -1)),
                        dync__arg_t(blind), dync__arg_i(0));
}

/* In f32 for f16 and bf16, as what follows them: the result alone is rounded. scale * q k^T [.., L,
 * S] */
static dync__dt *dync__dn_scores(dync__chain *c, dync__dt *q, dync__dt *k, dync__dt *mask,
                                 bool is_causal, double scale)
{
    dync__dt *kt = dync__chain3(c, DYNC__OP_transpose, dync__arg_t(dync__chain_wide(c, k)),
                                dync__arg_i(-2), dync__arg_i(-1));
    dync__dt *s = dync__chain_tf(
        c, DYNC__OP_mul, dync__chain_tt(c, DYNC__OP_matmul, dync__chain_wide(c, q), kt), scale);
    return dync__dn_masked(c, is_causal, s, dync__chain_wide(c, mask));
}

/* The means of v by these weights, in v's dtype. */
static dync__dt *dync__dn_weighed(dync__chain *c, dync__dt *weights, dync__dt *v)
{
    return dync__chain_dtype(c, dync__chain_tt(c, DYNC__OP_matmul, weights, dync__chain_wide(c, v)),
                             v->dtype);
}

/* The plain form of the kernel. Dao et al. 2022, arXiv:2205.14135 is what the kernel does: the same
 * numbers without the scores in memory. This form has them. */
DYNC__FN dync_status dync__d_flash_attention(dync__opcall *call)
{
    dync__chain c = {0};
    dync__info info[2];
    dync__dt *mask = dync__dt_arg(call, 3), *v = dync__dt_arg(call, 2), *out[2];
    DYNC__TRY(dync__i_flash_attention(call, info));
    dync__dt *s = dync__dn_scores(&c, dync__dt_arg(call, 0), dync__dt_arg(call, 1), mask,
                                  call->args[4].as.i != 0, dync__dn_number(call, 5));
    int64_t last = -1;
    out[1] = dync__chain_reduce(&c, DYNC__OP_logsumexp, dync__chain_dtype(&c, s, info[1].dtype), 1,
                                &last, false);
    s = mask ? dync__dn_safe_softmax(&c, s) : dync__chain_ti(&c, DYNC__OP_softmax, s, -1);
    out[0] = dync__dn_weighed(&c, s, v);
    return dync__chain_end_n(&c, call, 2, out);
}

/* Does the kernel take these? Batches that broadcast, masks of another dtype and empty scores are
 * left to the plain form. */
static bool dync__dn_flash(const dync__dt *q, const dync__dt *k, const dync__dt *v,
                           const dync__dt *mask)
{
    int n = q->lay.ndim;
    if (dync__dtype_info(q->dtype)->kind != 'f' || k->lay.ndim != n || v->lay.ndim != n ||
        (mask && mask->lay.ndim > n))
        return false;
    if (!dync__sz_same(n - 2, q->lay.shape, k->lay.shape) ||
        !dync__sz_same(n - 2, q->lay.shape, v->lay.shape))
        return false;
    if (!dync__sz_eq(q->lay.shape[n - 1], k->lay.shape[n - 1]) ||
        !dync__sz_eq(k->lay.shape[n - 2], v->lay.shape[n - 2]))
        return false;
    for (int i = 0; mask && i < mask->lay.ndim; i++) {
        int d = n - mask->lay.ndim + i;
        int64_t want = d == n - 1 ? k->lay.shape[n - 2] : q->lay.shape[d], got = mask->lay.shape[i];
        if (!dync__sz_eq(got, want) && !dync__sz_eq(got, 1)) return false;
    }
    return q->numel && k->numel && v->numel &&
           (!mask || mask->dtype == DYNC_BOOL || mask->dtype == q->dtype);
}

/* Arguments (query, key, value, mask, dropout_p, is_causal, scale). scale defaults to 1 / sqrt(E),
 * E maybe symbolic. Without dropout, and where the kernel takes the shapes, it is one operator that
 * kernel/attention.c runs; otherwise products and a softmax. */
DYNC__FN dync_status dync__d_scaled_dot_product_attention(dync__opcall *call)
{
    dync__chain c = {0};
    dync__dt *q, *k, *v, *mask = dync__dt_arg(call, 3), *y;
    DYNC__TRY(dync__dt_self(call, &q));
    DYNC__TRY(dync__infer_tensor(call, 1, &k));
    DYNC__TRY(dync__infer_tensor(call, 2, &v));
    if (q->dtype != k->dtype || q->dtype != v->dtype)
        return dync__fail(DYNC_ERR_DTYPE,
                          "Expected query, key, and value to have the same "
                          "dtype, but got %s, %s and %s",
                          dync__dtype_info(q->dtype)->guard, dync__dtype_info(k->dtype)->guard,
                          dync__dtype_info(v->dtype)->guard);
    if (q->lay.ndim < 2 || k->lay.ndim < 2 || v->lay.ndim < 2)
        return dync__fail(DYNC_ERR_SHAPE,
                          "Expected query, key, and value to all be  at least 2 "
                          "dimensional, but got %dD, %dD and %dD",
                          q->lay.ndim, k->lay.ndim, v->lay.ndim);
    if (mask && call->args[5].as.i)
        return dync__fail(DYNC_ERR_VALUE, "Explicit attn_mask should not be set when "
                                          "is_causal=True");
    double width = dync__sf_of(q->lay.shape[q->lay.ndim - 1]),
           scale = dync__arg_is_number(&call->args[6])
                       ? dync__dn_number(call, 6)
                       : dync__sf(DYNC__SF_DIV, 1, dync__sf(DYNC__SF_SQRT, width, 0));
    if (!(dync__dn_number(call, 4) > 0) && dync__dn_flash(q, k, v, mask)) {
        dync__arg args[6] = {call->args[0], call->args[1], call->args[2],
                             call->args[3], call->args[5], dync__arg_f(scale)};
        dync__dt *both[2] = {NULL, NULL};
        dync__chain_call(&c, DYNC__OP__scaled_dot_product_flash_attention_for_cpu, 6, args, both);
        return dync__chain_end(&c, call, both[0]);
    }
    y = dync__dn_scores(&c, q, k, mask, call->args[5].as.i != 0, scale);
    y = mask ? dync__dn_safe_softmax(&c, y) : dync__chain_ti(&c, DYNC__OP_softmax, y, -1);
    if (dync__dn_number(call, 4) > 0)
        y = dync__chain3(&c, DYNC__OP_dropout, dync__arg_t(y), call->args[4], dync__arg_b(true));
    return dync__chain_end(&c, call, dync__dn_weighed(&c, y, v));
}
