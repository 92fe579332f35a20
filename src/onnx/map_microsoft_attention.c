/* onnx/map_microsoft_attention.c: com.microsoft attention: with its projections (Attention,
 * QAttention), of several heads. After map_microsoft_quant.c.
 *
 * B batches, S new places, P past ones, T = P + S keys, H heads of D numbers. */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

/* The node's scale; 0 or none: 1 / sqrt(d). */
DYNC__FN double dync__oi_scale_of(const dync__onnx_call *c, dync_tensor *q)
{
    double told = dync__oi_has(c, "scale") ? dync__oi_float(c, "scale") : 0;
    return told != 0 ? told : 1 / sqrt((double)DYNC__MAX(dync__oi_size(q, 3), 1));
}

/* q [B, H, S, D], k, v [B, H, T, D] -> [B, S, H * D]. *scores: before and *weights: after the
 * softmax, where they are wanted. */
DYNC__FN dync_tensor *dync__oi_attend(dync_tensor *q, dync_tensor *k, dync_tensor *v,
                                      const dync__oi_focus *f, dync_tensor **scores,
                                      dync_tensor **weights)
{
    dync_tensor *s = dync_mul(dync_matmul(q, dync_transpose(k, 2, 3)), f->scale);
    if (f->cap > 0 && s) s = dync_mul(dync_tanh(dync_div(s, f->cap)), f->cap);
    if (scores) *scores = s;
    if (f->bias && s) s = dync_add(s, f->bias);
    if (f->mask && s) s = dync_add(s, f->mask);
    if (f->seen && s) s = dync_where(f->seen, s, -(double)INFINITY);
    if (f->sink && s) {
        dync_dims d = dync__oi_sizes(s);
        int64_t keys = d.d[3];
        d.d[3] = 1;
        dync_tensor *both[2] = {s, dync_expand(f->sink, d)};
        s = dync_softmax(dync__oi_list(2, both, 3, false), -1);
        s = s ? dync__oi_narrow(s, 3, 0, keys) : NULL;
    } else if (s) {
        s = dync_softmax(s, -1);
    }
    if (weights) *weights = s;
    s = s ? dync_matmul(s, v) : NULL;
    return s ? dync__oi_joined(s) : NULL;
}

/* true: key j of the T is not behind query i, whose place is past + i */
static dync_tensor *dync__oi_causal(int64_t past, int64_t n, int64_t keys)
{
    dync_tensor *row = dync_unsqueeze(dync__oi_arange(past, n, 1, DYNC_I64), 1);
    return row ? dync_le(dync__oi_arange(0, keys, 1, DYNC_I64), row) : NULL;
}

/* A mask of the operator as what is added to scores: its filter value where a key is not seen.
 * [B]: lengths; [2 B]: ends, then starts; [B, T], [B, S, T]: 1 where seen. */
static bool dync__oi_filter(const dync__onnx_call *c, dync_tensor *mask, int64_t batch,
                            int64_t keys, dync_tensor **out)
{
    dync_dims d = dync__oi_sizes(mask);
    int64_t twice = dync__sz_mul(batch, 2);
    dync_tensor *seen = NULL, *at = dync__oi_arange(0, keys, 1, DYNC_I64);
    if (!mask) return true;
    if (d.n == 1 && (dync__sz_eq(d.d[0], batch) || dync__sz_eq(d.d[0], twice))) {
        dync_tensor *two = dync_reshape(mask, dync_shape(-1, batch, 1, 1, 1));
        seen = two ? dync_lt(at, dync_select(two, 0, 0)) : NULL;
        if (dync__sz_eq(d.d[0], twice) && seen)
            seen = dync_logical_and(seen, dync_ge(at, dync_select(two, 0, 1)));
    } else if ((d.n == 2 || d.n == 3) && dync__sz_eq(d.d[d.n - 1], keys)) {
        seen = dync_ne(
            d.n == 2 ? dync_unsqueeze(dync_unsqueeze(mask, 1), 1) : dync_unsqueeze(mask, 1), 0);
    } else {
        dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "a mask of %d dimensions that fits no [%lld, %lld]",
                      d.n, (long long)dync__sz_hint(batch), (long long)dync__sz_hint(keys));
        return false;
    }
    *out = seen ? dync_where(seen, 0.0, dync__oi_float(c, "mask_filter_value")) : NULL;
    return *out != NULL;
}

/* [B, S, n] as heads */
static dync_tensor *dync__oi_part(const dync__onnx_call *c, dync_tensor *x, int64_t from, int64_t n)
{
    if (from < 0 || n < 1 || from + n > dync__oi_size(x, 2)) {
        dync__oi_fail(c, DYNC_ERR_SHAPE, "sizes of query, key and value");
        return NULL;
    }
    return dync__oi_heads(c, dync__oi_narrow(x, 2, from, n), dync__oi_int(c, "num_heads"));
}

/* do_rotary: x [B, H, S, D] rotated by the places past, past + 1, ...: the pairs (i, i + n / 2) of
 * the first n numbers of a head (rotary_embedding_dim; 0: all) by place / 10000^(2 i / n). */
static dync_tensor *dync__oi_by_places(const dync__onnx_call *c, dync_tensor *x, int64_t past)
{
    int64_t all = dync__oi_size(x, 3), n = dync__oi_int(c, "rotary_embedding_dim");
    if (n == 0) n = all;
    if (n < 2 || n % 2 || n > all) {
        dync__oi_fail(c, DYNC_ERR_SHAPE, "rotations of %lld of %lld numbers", (long long)n,
                      (long long)all);
        return NULL;
    }
    dync_tensor *at = dync__oi_arange(past, dync__oi_extent(x, 2), 1, DYNC_F64);
    dync_tensor *rate = dync_mul(dync__oi_arange(0, n / 2, 1, DYNC_F64), -2 * log(1e4) / (double)n);
    dync_tensor *angle = at && rate ? dync_mul(dync_unsqueeze(at, 1), dync_exp(rate)) : NULL;
    if (!angle) return NULL;
    dync_dtype dtype = (dync_dtype)dync__oi_type(x);
    dync_tensor *whole[2] = {dync__oi_rotated(dync__oi_narrow(x, 3, 0, n),
                                              dync_to_dtype(dync_cos(angle), dtype),
                                              dync_to_dtype(dync_sin(angle), dtype), false)};
    if (n == all) return whole[0];
    whole[1] = dync__oi_narrow(x, 3, n, all - n);
    return dync__oi_list(2, whole, 3, false);
}

/* qkv [B, S, all] -> output 0, and where it is wanted the present, [2, B, H, T, D] */
static dync_status dync__oi_projected(dync__onnx_call *c, dync_tensor *qkv, dync_tensor *mask,
                                      dync_tensor *past, dync_tensor *bias)
{
    const int64_t *told;
    dync__oi_focus f = {.bias = bias};
    dync_dims d = dync__oi_sizes(qkv);
    int64_t size[3];
    if (d.n != 3) return dync__oi_fail(c, DYNC_ERR_SHAPE, "expected an input [batch, length, n]");
    d.d[2] = dync__oi_number(d.d[2]);
    for (int i = 0, n = dync__oi_ints(c, "qkv_hidden_sizes", &told); i < 3; i++)
        size[i] = n == 3 ? told[i] : d.d[2] / 3;
    dync_tensor *q = dync__oi_part(c, qkv, 0, size[0]), *k, *v;
    k = q ? dync__oi_part(c, qkv, size[0], size[1]) : NULL;
    v = k ? dync__oi_part(c, qkv, size[0] + size[1], size[2]) : NULL;
    if (!v) return dync_error();
    int64_t before = past ? dync__oi_extent(past, 3) : 0;
    if (past && (dync__oi_rank(past) != 5 || dync__oi_size(past, 0) != 2))
        return dync__oi_fail(c, DYNC_ERR_SHAPE, "expected a past [2, batch, heads, length, n]");
    if (dync__oi_int(c, "do_rotary")) {
        q = dync__oi_by_places(c, q, before);
        k = q ? dync__oi_by_places(c, k, before) : NULL;
        if (!k) return dync_error();
    }
    k = dync__oi_cached(past ? dync_select(past, 0, 0) : NULL, k);
    v = dync__oi_cached(past ? dync_select(past, 0, 1) : NULL, v);
    if (!k || !v) return dync_error();
    if (c->n_out > 1) {
        dync_tensor *both[2] = {k, v};
        DYNC__TRY(dync__oi_out(c, 1, dync__oi_list(2, both, 0, true)));
    }
    int64_t keys = dync__oi_extent(k, 2);
    if (!dync__oi_filter(c, mask, d.d[0], keys, &f.mask)) return dync_error();
    if (dync__oi_int(c, "unidirectional")) f.seen = dync__oi_causal(before, d.d[1], keys);
    f.scale = dync__oi_scale_of(c, q);
    return dync__oi_out(c, 0, dync__oi_attend(q, k, v, &f, NULL, NULL));
}

/* Inputs x, weights of the projection, bias, mask, past, what is added to the scores. */
DYNC__FN dync_status dync__oi_ms_attention(dync__onnx_call *c)
{
    if (dync__oi_int(c, "past_present_share_buffer"))
        return dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "a shared buffer");
    dync_tensor *x = dync_matmul(dync__oi_in(c, 0), dync__oi_in(c, 1));
    if (dync__oi_in(c, 2) && x) x = dync_add(x, dync__oi_in(c, 2));
    return x ? dync__oi_projected(c, x, dync__oi_in(c, 3), dync__oi_in(c, 4), dync__oi_in(c, 5))
             : dync_error();
}

DYNC__FN dync_status dync__oi_qattention(dync__onnx_call *c)
{
    if (dync__oi_int(c, "past_present_share_buffer"))
        return dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "a shared buffer");
    dync_tensor *s = dync__oi_byte_product(dync__oi_in(c, 0), dync__oi_in(c, 6), dync__oi_in(c, 1),
                                           dync__oi_in(c, 7));
    dync_tensor *scale = dync_mul(dync__oi_in(c, 3), dync__oi_in(c, 4));
    s = s && scale ? dync_mul(dync_to_dtype(s, DYNC_F32), scale) : NULL;
    s = s ? dync_add(s, dync__oi_in(c, 2)) : NULL;
    return s ? dync__oi_projected(c, s, dync__oi_in(c, 5), dync__oi_in(c, 8), NULL) : dync_error();
}

/* ---- several heads --------------------------------------------------------------------------- */

/* Query, key and value as heads: given apart, or packed in one [B, S, H, 3, D] or two. */
static bool dync__oi_three(const dync__onnx_call *c, dync_tensor *t[3])
{
    int64_t heads = dync__oi_int(c, "num_heads");
    dync_tensor *packed = dync__oi_rank(t[0]) == 5 ? t[0] : dync__oi_rank(t[1]) == 5 ? t[1] : NULL;
    int first = packed == t[0] ? 0 : 1;
    for (int i = first; packed && i < 3; i++) {
        if (dync__oi_size(packed, 3) != 3 - first || dync__oi_size(packed, 2) != heads) {
            dync__oi_fail(c, DYNC_ERR_SHAPE, "packed heads");
            return false;
        }
        t[i] = dync_transpose(dync_select(packed, 3, i - first), 1, 2);
    }
    for (int i = 0; i < 3; i++) {
        t[i] = t[i] ? dync__oi_heads(c, t[i], heads) : NULL;
        if (t[i]) continue;
        if (dync_error() == DYNC_OK) dync__oi_fail(c, DYNC_ERR_FORMAT, "no key or no value");
        return false;
    }
    return true;
}

/* Parts of a bias [n q + n k + n v] on heads; n: how many of them get theirs. */
static bool dync__oi_three_bias(const dync__onnx_call *c, dync_tensor *bias, int n,
                                dync_tensor *t[3])
{
    int64_t from = 0;
    for (int i = 0; i < n; i++) {
        int64_t heads = dync__oi_size(t[i], 1), each = dync__oi_size(t[i], 3);
        if (dync__oi_rank(bias) != 1 || from + heads * each > dync__oi_size(bias, 0)) {
            dync__oi_fail(c, DYNC_ERR_SHAPE, "the bias");
            return false;
        }
        dync_tensor *b = dync__oi_narrow(bias, 0, from, heads * each);
        t[i] = b ? dync_add(t[i], dync_reshape(b, dync_shape(1, heads, 1, each))) : NULL;
        from += heads * each;
        if (!t[i]) return false;
    }
    return true;
}

/* Inputs query, key, value, bias, key padding mask, what is added to the scores, past key, past
 * value. */
DYNC__FN dync_status dync__oi_multi_head(dync__onnx_call *c)
{
    dync_tensor *t[3] = {dync__oi_in(c, 0), dync__oi_in(c, 1), dync__oi_in(c, 2)}, *shown = NULL;
    dync_tensor *past = dync__oi_in(c, 6), *bias = dync__oi_in(c, 3);
    dync__oi_focus f = {.bias = dync__oi_in(c, 5)};
    bool kept = dync__oi_rank(t[1]) == 4; /* keys of an earlier call: heads already */
    if (dync__oi_in(c, 8) || dync__oi_in(c, 9))
        return dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "a shared buffer, beams");
    if (!dync__oi_three(c, t) || (bias && !dync__oi_three_bias(c, bias, kept ? 1 : 3, t)))
        return dync_error();
    int64_t before = past ? dync__oi_extent(past, 2) : 0, length = dync__oi_extent(t[0], 2);
    t[1] = dync__oi_cached(past, t[1]);
    t[2] = dync__oi_cached(dync__oi_in(c, 7), t[2]);
    if (!t[1] || !t[2]) return dync_error();
    int64_t keys = dync__oi_extent(t[1], 2);
    if (!dync__oi_filter(c, dync__oi_in(c, 4), dync__oi_extent(t[0], 0), keys, &f.mask))
        return dync_error();
    if (dync__oi_int(c, "unidirectional")) f.seen = dync__oi_causal(before, length, keys);
    f.scale = dync__oi_scale_of(c, t[0]);
    DYNC__TRY(dync__oi_out(c, 0, dync__oi_attend(t[0], t[1], t[2], &f, &shown, NULL)));
    if (c->n_out > 1) DYNC__TRY(dync__oi_out(c, 1, t[1]));
    if (c->n_out > 2) DYNC__TRY(dync__oi_out(c, 2, t[2]));
    return c->n_out > 3 ? dync__oi_out(c, 3, shown) : DYNC_OK;
}

/* ---- groups of heads over a cache ------------------------------------------------------------ */
