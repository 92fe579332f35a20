/* nn/attention.c: multi-head attention (Vaswani et al. 2017) over one projection of query, key and
 * value. After layers.c. */
#include "../dync.in.h"
#include "../loop/loop.h"
#include "nn.h"
DYNC__COLD

/* [N, L, E] through rows i E .. (i + 1) E of the weight, as [N, heads, L, E / heads]. i: 0 query, 1
 * key, 2 value. m->ints: E and the number of heads. */
static dync_tensor *dync__mha_project(dync__module *m, dync_tensor *x, int i)
{
    int64_t e = m->ints[0], heads = m->ints[1];
    dync_tensor *w = dync_slice(dync__layer_tensor(m, "in_proj_weight"), 0, i * e, (i + 1) * e, 1);
    dync_tensor *b = dync_slice(dync__layer_tensor(m, "in_proj_bias"), 0, i * e, (i + 1) * e, 1);
    dync_tensor *y = dync_unflatten(dync_linear(x, w, b), -1, dync_shape(heads, e / heads));
    return dync_transpose(y, 1, 2);
}

/* An input as [N, L, E]: one without a batch, [L, E], is a batch of one. *rank: what all have, 0
 * before the first. NULL and an error on failure. */
static dync_tensor *dync__mha_input(const dync__module *m, dync_value arg, int *rank)
{
    dync_tensor *x = dync_as_tensor(arg);
    const dync__tensor *in = x ? dync__open(x) : NULL;
    if (!in) return NULL;
    int own = dync_ndim(x);
    bool good = (own == 2 || own == 3) && (!*rank || own == *rank) &&
                dync__sz_eq(in->lay.shape[own - 1], m->ints[0]);
    if (!good)
        return dync__fail(DYNC_ERR_SHAPE,
                          "MultiheadAttention: expected [batch, length, %lld], or all of "
                          "[length, %lld]",
                          (long long)m->ints[0], (long long)m->ints[0]),
               NULL;
    *rank = own;
    return own == 2 ? dync_unsqueeze(x, 0) : x;
}

/* query [N, L, E], key and value [N, S, E] (none: the query), mask [L, S] or [N, heads, L, S]
 * (none: all is seen) -> [N, L, E]; without N all of them, the mask [L, S] or [heads, L, S]. in[1]
 * and in[2] are the tensor before them where they are missing. NONE and an error on failure. */
DYNC__FN dync_value dync__layer_multihead_attention(dync__module *m, const dync_value *args,
                                                    int nargs)
{
    dync_tensor *in[3], *mask = NULL;
    int rank = 0;
    if (nargs < 1 || nargs > 4) {
        dync__fail(DYNC_ERR_VALUE,
                   "MultiheadAttention: expected query, key, value, mask; got %d arguments", nargs);
        return DYNC_NONE;
    }
    for (int i = 0; i < 3; i++) {
        bool given = i < nargs && args[i].kind != DYNC_KIND_NONE;
        in[i] = given || i == 0 ? dync__mha_input(m, args[i], &rank) : in[i - 1];
        if (!in[i]) return DYNC_NONE;
    }
    if (nargs == 4 && args[3].kind != DYNC_KIND_NONE && !(mask = dync_as_tensor(args[3])))
        return DYNC_NONE;
    dync_tensor *q = dync__mha_project(m, in[0], 0), *k = dync__mha_project(m, in[1], 1),
                *v = dync__mha_project(m, in[2], 2);
    dync_tensor *y = dync_scaled_dot_product_attention(q, k, v, mask, 0, false, DYNC_NONE);
    y = dync_flatten(dync_transpose(y, 1, 2), 2, 3);
    y = dync__module_call_one(m->child.at[0], y);
    if (rank == 2) y = dync_squeeze(y, 0);
    return y ? dync_v_tensor(y) : DYNC_NONE;
}

/* in_proj is xavier_uniform (Glorot & Bengio 2010) of [3 E, E]: sqrt(6 / (fan_in + fan_out)) =
 * sqrt(6 / (4 E)). Biases are zero. out_proj is a Linear, and a child of that name, as in PyTorch's
 * files. */
DYNC_API dync_module *dync_nn_multihead_attention(int64_t features, int heads)
{
    const int64_t sizes[2] = {features, heads};
    if (heads > 0 && features % heads)
        return dync__fail(DYNC_ERR_VALUE,
                          "dync_nn_multihead_attention: embed_dim must be "
                          "divisible by num_heads, got %lld and %d",
                          (long long)features, heads),
               NULL;
    dync__module *m = dync__layer_sizes("dync_nn_multihead_attention", 2, sizes)
                          ? dync__layer_new(&dync__class_MultiheadAttention)
                          : NULL;
    if (!m) return NULL;
    m->args = "query, key, value, mask";
    memcpy(m->ints, sizes, sizeof sizes);
    double xavier = dync__sqrt(6.0 / (4.0 * (double)features));
    bool ok = dync__init_uniform(m, "in_proj_weight", dync_shape(3 * features, features), xavier) &&
              dync__init_full(m, "in_proj_bias", dync_shape(3 * features), DYNC_F32, 0, false);
    dync_module *made = ok ? dync_nn_linear(features, features, true) : NULL;
    dync__module *out = dync__module_peek(made);
    if (!out) return dync__module_give(dync__layer_done(m, false));
    ok = dync__init_full(out, "bias", dync_shape(features), DYNC_F32, 0, false);
    dync__module_add(m, "out_proj", out);
    return dync__module_give(dync__layer_done(m, ok && m->child.n == 1));
}
