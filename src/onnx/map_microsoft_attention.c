/* onnx/map_microsoft_attention.c: com.microsoft attention: with its projections (Attention,
 * QAttention), of several heads, of groups of heads over a cache. After map_microsoft_quant.c.
 *
 * B batches, S new places, P past ones, T = P + S keys, H heads of D numbers. */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

/* What the scores [B, H, S, T] get before their softmax; NULL: nothing of the kind. */
typedef struct dync__oi_focus {
    dync_tensor *mask, *bias; /* added */
    dync_tensor *seen;        /* of bools: what is left */
    dync_tensor *sink;        /* [1, H, 1, 1]: one more score, whose weight goes nowhere */
    double scale, cap;        /* cap 0: none */
} dync__oi_focus;

/* The node's scale; 0 or none: 1 / sqrt(d). */
static double dync__oi_scale_of(const dync__onnx_call *c, dync_tensor *q)
{
    double told = dync__oi_has(c, "scale") ? dync__oi_float(c, "scale") : 0;
    return told != 0 ? told : 1 / sqrt((double)DYNC__MAX(dync__oi_size(q, 3), 1));
}

/* q [B, H, S, D], k, v [B, H, T, D] -> [B, S, H * D]. *scores: before and *weights: after the
 * softmax, where they are wanted. */
static dync_tensor *dync__oi_attend(dync_tensor *q, dync_tensor *k, dync_tensor *v,
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
        dync_dims d = dync__oi_shape(s);
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
    dync_dims d = dync__oi_shape(mask);
    dync_tensor *seen = NULL, *at = dync__oi_arange(0, keys, 1, DYNC_I64);
    if (!mask) return true;
    if (d.n == 1 && (d.d[0] == batch || d.d[0] == 2 * batch)) {
        dync_tensor *two = dync_reshape(mask, dync_shape(-1, batch, 1, 1, 1));
        seen = two ? dync_lt(at, dync_select(two, 0, 0)) : NULL;
        if (d.d[0] == 2 * batch && seen)
            seen = dync_logical_and(seen, dync_ge(at, dync_select(two, 0, 1)));
    } else if ((d.n == 2 || d.n == 3) && d.d[d.n - 1] == keys) {
        seen = dync_ne(
            d.n == 2 ? dync_unsqueeze(dync_unsqueeze(mask, 1), 1) : dync_unsqueeze(mask, 1), 0);
    } else {
        dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "a mask of %d dimensions that fits no [%lld, %lld]",
                      d.n, (long long)batch, (long long)keys);
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

/* do_rotary: x [B, H, S, D] turned by the places past, past + 1, ...: the pairs (i, i + n / 2) of
 * the first n numbers of a head (rotary_embedding_dim; 0: all) by place / 10000^(2 i / n). */
static dync_tensor *dync__oi_turned(const dync__onnx_call *c, dync_tensor *x, int64_t past)
{
    int64_t all = dync__oi_size(x, 3), n = dync__oi_int(c, "rotary_embedding_dim");
    if (n == 0) n = all;
    if (n < 2 || n % 2 || n > all) {
        dync__oi_fail(c, DYNC_ERR_SHAPE, "rotations of %lld of %lld numbers", (long long)n,
                      (long long)all);
        return NULL;
    }
    dync_tensor *at = dync__oi_arange(past, dync__oi_size(x, 2), 1, DYNC_F64);
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
    dync_dims d = dync__oi_shape(qkv);
    int64_t size[3];
    if (d.n != 3) return dync__oi_fail(c, DYNC_ERR_SHAPE, "expected an input [batch, length, n]");
    for (int i = 0, n = dync__oi_ints(c, "qkv_hidden_sizes", &told); i < 3; i++)
        size[i] = n == 3 ? told[i] : d.d[2] / 3;
    dync_tensor *q = dync__oi_part(c, qkv, 0, size[0]), *k, *v;
    k = q ? dync__oi_part(c, qkv, size[0], size[1]) : NULL;
    v = k ? dync__oi_part(c, qkv, size[0] + size[1], size[2]) : NULL;
    if (!v) return dync_error();
    int64_t before = past ? dync__oi_size(past, 3) : 0;
    if (past && (dync__oi_rank(past) != 5 || dync__oi_size(past, 0) != 2))
        return dync__oi_fail(c, DYNC_ERR_SHAPE, "expected a past [2, batch, heads, length, n]");
    if (dync__oi_int(c, "do_rotary")) {
        q = dync__oi_turned(c, q, before);
        k = q ? dync__oi_turned(c, k, before) : NULL;
        if (!k) return dync_error();
    }
    k = dync__oi_cached(past ? dync_select(past, 0, 0) : NULL, k);
    v = dync__oi_cached(past ? dync_select(past, 0, 1) : NULL, v);
    if (!k || !v) return dync_error();
    if (c->n_out > 1) {
        dync_tensor *both[2] = {k, v};
        DYNC__TRY(dync__oi_out(c, 1, dync__oi_list(2, both, 0, true)));
    }
    int64_t keys = dync__oi_size(k, 2);
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
    int64_t before = past ? dync__oi_size(past, 2) : 0, length = dync__oi_size(t[0], 2);
    t[1] = dync__oi_cached(past, t[1]);
    t[2] = dync__oi_cached(dync__oi_in(c, 7), t[2]);
    if (!t[1] || !t[2]) return dync_error();
    int64_t keys = dync__oi_size(t[1], 2);
    if (!dync__oi_filter(c, dync__oi_in(c, 4), dync__oi_size(t[0], 0), keys, &f.mask))
        return dync_error();
    if (dync__oi_int(c, "unidirectional")) f.seen = dync__oi_causal(before, length, keys);
    f.scale = dync__oi_scale_of(c, t[0]);
    DYNC__TRY(dync__oi_out(c, 0, dync__oi_attend(t[0], t[1], t[2], &f, &shown, NULL)));
    if (c->n_out > 1) DYNC__TRY(dync__oi_out(c, 1, t[1]));
    if (c->n_out > 2) DYNC__TRY(dync__oi_out(c, 2, t[2]));
    return c->n_out > 3 ? dync__oi_out(c, 3, shown) : DYNC_OK;
}

/* ---- groups of heads over a cache ------------------------------------------------------------ */

/* Where things are: of each batch [B, 1] its new places begin at `from`. */
typedef struct dync__oi_cache {
    int64_t batch, length, past, keys; /* keys: places of the cache afterwards */
    dync_tensor *from, *end;           /* end: one behind the last that counts */
    bool first;                        /* nothing was there before */
} dync__oi_cache;

static bool dync__oi_cache_of(const dync__onnx_call *c, dync_tensor *q, dync__oi_cache *k)
{
    dync_tensor *last = dync__oi_in(c, 5), *past = dync__oi_in(c, 3);
    int64_t total = 0;
    k->batch = dync__oi_size(q, 0);
    k->length = dync__oi_size(q, 2);
    k->past = past ? dync__oi_size(past, 2) : 0;
    if (!last || dync__oi_read(c, dync__oi_in(c, 6), 1, &total) != 1 || total < k->length ||
        total > INT64_C(1) << 40) {
        if (dync_error() == DYNC_OK) dync__oi_fail(c, DYNC_ERR_FORMAT, "the lengths of sequences");
        return false;
    }
    k->keys = DYNC__MAX(total, k->past);
    k->first = total == k->length;
    last = dync_to_dtype(dync_reshape(last, dync_shape(k->batch, 1)), DYNC_I64);
    k->end = last ? dync_add(last, 1) : NULL;
    k->from = !k->end ? NULL : k->first ? dync_mul(last, 0) : dync_sub(k->end, k->length);
    return k->from != NULL;
}

/* now [B, heads, S, D] written into the past at the places of each batch -> [B, heads, keys, D];
 * zeros behind it */
static dync_tensor *dync__oi_cache_write(const dync__oi_cache *k, dync_tensor *past,
                                         dync_tensor *now)
{
    dync_dims d = dync__oi_shape(now);
    dync_tensor *at = dync_sub(dync__oi_arange(0, k->keys, 1, DYNC_I64), k->from); /* [B, keys] */
    dync_tensor *is_new = dync_logical_and(dync_ge(at, 0), dync_lt(at, k->length)),
                *is_old = dync_lt(at, 0);
    at = dync_clamp(at, dync_v_int(0), dync_v_int(k->length - 1));
    if (!at || !is_new) return NULL;
    d.d[2] = k->keys;
    at = dync_expand(dync_reshape(at, dync_shape(k->batch, 1, k->keys, 1)), d);
    now = at ? dync_gather(now, 2, at) : NULL;
    if (past && k->past)
        past = dync__oi_pad_dim(past, 2, 0, k->keys - k->past, 0);
    else
        past = now ? dync_zeros_like(now) : NULL;
    is_new = dync_reshape(is_new, dync_shape(k->batch, 1, k->keys, 1));
    is_old = dync_reshape(is_old, dync_shape(k->batch, 1, k->keys, 1));
    past = past && is_old ? dync_where(is_old, past, 0.0) : NULL;
    return now && past && is_new ? dync_where(is_new, now, past) : NULL;
}

/* x rotated as its places ask; the rest of each head, where the tables are narrower, as it was */
static dync_tensor *dync__oi_cache_rotate(const dync__onnx_call *c, dync_tensor *x, dync_tensor *at)
{
    dync_tensor *table[2], *rest = NULL;
    int64_t dim = 2 * dync__oi_size(dync__oi_in(c, 7), 1), all = dync__oi_size(x, 3);
    if (dync__oi_rank(dync__oi_in(c, 7)) != 2 || !dync__oi_in(c, 8) || dim > all) {
        dync__oi_fail(c, DYNC_ERR_SHAPE, "the tables of rotations");
        return NULL;
    }
    if (dim < all) rest = dync__oi_narrow(x, 3, dim, all - dim), x = dync__oi_narrow(x, 3, 0, dim);
    for (int i = 0; i < 2; i++) {
        table[i] = dync_index_select(dync__oi_in(c, 7 + i), 0, dync_flatten(at, 0, -1));
        table[i] = table[i] ? dync_reshape(table[i], dync_shape(dync__oi_size(at, 0), 1,
                                                                dync__oi_size(at, 1), dim / 2))
                            : NULL;
        if (!table[i]) return NULL;
    }
    x = dync__oi_rotated(x, table[0], table[1], dync__oi_int(c, "rotary_interleaved") != 0);
    dync_tensor *both[2] = {x, rest};
    return rest ? dync__oi_list(2, both, 3, false) : x;
}

/* RMS norm of each head by weight [D] */
static dync_tensor *dync__oi_head_norm(const dync__onnx_call *c, dync_tensor *x, int input,
                                       const char *own)
{
    dync_tensor *mean, *rstd, *w = dync__oi_in(c, input);
    if (!w || !x) return x;
    double eps = dync__oi_float(c, dync__oi_has(c, own) ? own : "qk_norm_epsilon");
    x = dync__oi_normed(x, 3, eps, false, &mean, &rstd);
    return x ? dync_mul(x, w) : NULL;
}

/* What the queries see, from their places at [B, S], of the cache. */
static bool dync__oi_cache_focus(const dync__onnx_call *c, const dync__oi_cache *k,
                                 dync__oi_focus *f, int64_t heads)
{
    dync_tensor *row = dync_add(k->from, dync__oi_arange(0, k->length, 1, DYNC_I64)); /* [B, S] */
    dync_tensor *key = dync__oi_arange(0, k->keys, 1, DYNC_I64), *sink = dync__oi_in(c, 11);
    int64_t window = dync__oi_int(c, "local_window_size");
    row = row ? dync_reshape(row, dync_shape(k->batch, 1, k->length, 1)) : NULL;
    if (!row || !key) return false;
    f->seen = dync_lt(key, dync_reshape(k->end, dync_shape(-1, 1, 1, 1)));
    if (dync__oi_int(c, "causal") && f->seen)
        f->seen = dync_logical_and(f->seen, dync_le(key, row));
    if (window > 0 && f->seen)
        f->seen = dync_logical_and(f->seen, dync_gt(key, dync_sub(row, window)));
    f->bias = dync__oi_in(c, 10);
    if (f->bias && dync__oi_size(f->bias, -1) < k->keys)
        f->bias = dync__oi_pad_dim(f->bias, dync__oi_rank(f->bias) - 1, 0,
                                   k->keys - dync__oi_size(f->bias, -1), 0);
    f->cap = dync__oi_float(c, "softcap");
    if (sink)
        f->sink = dync_reshape(sink, dync_shape(1, heads, 1, 1));
    else if (dync__oi_int(c, "smooth_softmax") > 0)
        f->sink = dync__oi_full(dync_shape(1, 1, 1, 1), 0, DYNC_F32);
    return f->seen && dync_error() == DYNC_OK;
}

/* Places of the new keys, for their rotations. */
static dync_tensor *dync__oi_cache_places(const dync__onnx_call *c, const dync__oi_cache *k)
{
    dync_tensor *step = dync__oi_arange(0, k->length, 1, DYNC_I64), *told = dync__oi_in(c, 9);
    if (told && !k->first) return dync_reshape(told, dync_shape(k->batch, k->length));
    if (told)
        return dync_add(dync__oi_narrow(dync_reshape(told, dync_shape(1, -1)), 1, 0, 1), step);
    dync_tensor *at = dync_add(k->from, step);
    return at ? dync_clamp(at, dync_v_int(0), DYNC_NONE) : NULL;
}

static bool dync__oi_grouped_known(const dync__onnx_call *c)
{
    if (dync__oi_in(c, 12) || dync__oi_in(c, 13) || dync__oi_in(c, 16) ||
        dync__oi_int(c, "sliding_window_cache") || dync__oi_int(c, "kv_cache_bit_width") ||
        !dync__oi_is(c, "k_quant_type", "NONE") || !dync__oi_is(c, "v_quant_type", "NONE"))
        dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "a quantized or sliding cache, lengths of queries");
    return dync_error() == DYNC_OK;
}

/* Inputs query, key, value, past key, past value, seqlens_k (last place of each batch), total
 * length, tables of cosines and sines, position_ids, attention bias, sinks; key NULL: all packed in
 * the query. */
DYNC__FN dync_status dync__oi_grouped(dync__onnx_call *c)
{
    int64_t heads = dync__oi_int(c, "num_heads"), groups = dync__oi_int(c, "kv_num_heads");
    dync_tensor *q = dync__oi_in(c, 0), *k = dync__oi_in(c, 1), *v = dync__oi_in(c, 2), *y;
    dync_tensor *scores = NULL, *weights = NULL;
    dync__oi_focus f = {NULL, NULL, NULL, NULL, 0, 0};
    dync__oi_cache cache;
    if (!dync__oi_grouped_known(c)) return dync_error();
    if (heads < 1 || groups < 1 || heads % groups || dync__oi_rank(q) != 3)
        return dync__oi_fail(c, DYNC_ERR_SHAPE, "heads of query and key");
    if (!k) { /* one behind another in the query */
        int64_t each = dync__oi_size(q, 2) / (heads + 2 * groups);
        if (each < 1 || each * (heads + 2 * groups) != dync__oi_size(q, 2))
            return dync__oi_fail(c, DYNC_ERR_SHAPE, "packed heads");
        v = dync__oi_narrow(q, 2, (heads + groups) * each, groups * each);
        k = dync__oi_narrow(q, 2, heads * each, groups * each);
        q = dync__oi_narrow(q, 2, 0, heads * each);
    }
    q = dync__oi_heads(c, q, heads);
    k = q ? dync__oi_heads(c, k, groups) : NULL;
    v = k ? dync__oi_heads(c, v, groups) : NULL;
    if (!v || !dync__oi_cache_of(c, q, &cache)) return dync_error();
    q = dync__oi_head_norm(c, q, 14, "q_norm_epsilon");
    k = dync__oi_head_norm(c, k, 15, "k_norm_epsilon");
    if (dync__oi_int(c, "do_rotary")) {
        dync_tensor *at = dync__oi_cache_places(c, &cache);
        q = at && q ? dync__oi_cache_rotate(c, q, at) : NULL;
        k = q && k ? dync__oi_cache_rotate(c, k, at) : NULL;
    }
    k = k ? dync__oi_cache_write(&cache, dync__oi_in(c, 3), k) : NULL;
    v = k ? dync__oi_cache_write(&cache, dync__oi_in(c, 4), v) : NULL;
    if (!q || !v || !dync__oi_cache_focus(c, &cache, &f, heads)) return dync_error();
    f.scale = dync__oi_scale_of(c, q);
    y = dync__oi_attend(q, dync__oi_repeat_heads(k, heads / groups),
                        dync__oi_repeat_heads(v, heads / groups), &f, &scores, &weights);
    DYNC__TRY(dync__oi_out(c, 0, y));
    if (c->n_out > 1) DYNC__TRY(dync__oi_out(c, 1, k));
    if (c->n_out > 2) DYNC__TRY(dync__oi_out(c, 2, v));
    if (c->n_out < 4) return DYNC_OK;
    return dync__oi_out(c, 3, dync__oi_int(c, "qk_output") == 2 ? weights : scores);
}
