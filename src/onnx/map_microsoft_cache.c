/* onnx/map_microsoft_cache.c: com.microsoft GroupQueryAttention: groups of heads over a cache of
 * keys and values. After map_microsoft_attention.c, whose letters it has. */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

/* Where things are: of each batch [B, 1] its new places begin at `from`. */
typedef struct dync__oi_cache {
    int64_t batch, length, past, keys; /* keys: places of the cache afterwards */
    dync_tensor *from, *end;           /* end: one behind the last that counts */
    dync_tensor *at_first;             /* open: is nothing there before? */
    bool first;                        /* nothing was there before */
    bool open;                         /* data decide it, and how many keys there are */
} dync__oi_cache;

/* A cache that grows does so by the new places. While sizes are symbolic a total that is told
 * otherwise ends the graph, so that the next trial has it so (load.c); false: recorded. */
static bool dync__oi_cache_grows(const dync__onnx_call *c, const dync__oi_cache *k, int64_t total)
{
    int64_t grown = dync__sz_add(k->past, k->length);
    if (!dync__any_token(total, grown) || dync__sz_eq(total, grown) || !dync__sz_lt(k->past, total))
        return true;
    dync__oi_fail(c, DYNC_ERR_SHAPE, "a cache of other lengths than past and new");
    return false;
}

/* Places of rotations [batch, length], a bias [.., keys]: of any other shape a walk knows more. */
static bool dync__oi_cache_given(const dync__onnx_call *c, const dync__oi_cache *k)
{
    dync_dims at = dync__oi_sizes(dync__oi_in(c, 9)), bias = dync__oi_sizes(dync__oi_in(c, 10));
    bool fits = (!dync__oi_in(c, 9) || (at.n == 2 && dync__sz_eq(at.d[0], k->batch) &&
                                        dync__sz_eq(at.d[1], k->length))) &&
                (!dync__oi_in(c, 10) || (bias.n == 4 && dync__sz_lt(0, bias.d[3])));
    if (!fits) dync__oi_fail(c, DYNC_ERR_DATA_PTR, "data tell the total length of what has a bias");
    return fits;
}

/* As data tell the total: where new places begin is chosen in the graph. */
static bool dync__oi_cache_told(const dync__onnx_call *c, dync__oi_cache *k, dync_tensor *last)
{
    dync_tensor *all = dync_to_dtype(dync_reshape(dync__oi_in(c, 6), DYNC_SCALAR), DYNC_I64);
    int64_t total = dync__oi_data_number(dync__oi_in(c, 6));
    if (!dync__oi_cache_given(c, k)) return false;
    last = dync_to_dtype(dync_reshape(last, dync_shape(k->batch, 1)), DYNC_I64);
    k->end = last && all && total != -1 ? dync_add(last, 1) : NULL;
    if (!k->end) return false;
    k->keys = dync__sz_max(total, k->past);
    k->at_first = dync_eq(all, dync__value_of_size(k->length));
    k->from = dync_where(k->at_first, 0, dync_sub(k->end, dync__value_of_size(k->length)));
    return k->from != NULL;
}

static bool dync__oi_cache_of(const dync__onnx_call *c, dync_tensor *q, dync__oi_cache *k)
{
    dync_tensor *last = dync__oi_in(c, 5), *past = dync__oi_in(c, 3);
    int64_t total = 0;
    k->batch = dync__oi_extent(q, 0);
    k->length = dync__oi_extent(q, 2);
    k->past = past ? dync__oi_extent(past, 2) : 0;
    k->open = dync__oi_is_data(dync__oi_in(c, 6));
    if (last && k->open) return dync__oi_cache_told(c, k, last);
    if (!last || dync__oi_read_sizes(c, dync__oi_in(c, 6), 1, &total) != 1 ||
        dync__sz_lt(total, k->length) || (!dync__is_token(total) && total > INT64_C(1) << 40)) {
        if (dync_error() == DYNC_OK) dync__oi_fail(c, DYNC_ERR_FORMAT, "the lengths of sequences");
        return false;
    }
    if (past && !dync__oi_cache_grows(c, k, total)) return false;
    k->keys = dync__sz_max(total, k->past);
    k->first = dync__sz_eq(total, k->length);
    last = dync_to_dtype(dync_reshape(last, dync_shape(k->batch, 1)), DYNC_I64);
    k->end = last ? dync_add(last, 1) : NULL;
    k->from = !k->end    ? NULL
              : k->first ? dync_mul(last, 0)
                         : dync_sub(k->end, dync__value_of_size(k->length));
    return k->from != NULL;
}

/* now [B, heads, S, D] written into the past at the places of each batch -> [B, heads, keys, D];
 * zeros behind it */
static dync_tensor *dync__oi_cache_write(const dync__oi_cache *k, dync_tensor *past,
                                         dync_tensor *now)
{
    dync_dims d = dync__oi_sizes(now);
    dync_tensor *at = dync_sub(dync__oi_arange(0, k->keys, 1, DYNC_I64), k->from); /* [B, keys] */
    dync_tensor *is_new =
                    dync_logical_and(dync_ge(at, 0), dync_lt(at, dync__value_of_size(k->length))),
                *is_old = dync_lt(at, 0);
    at = dync_clamp(at, dync_v_int(0), dync__value_of_size(dync__sz_sub(k->length, 1)));
    if (!at || !is_new) return NULL;
    d.d[2] = k->keys;
    at = dync_expand(dync_reshape(at, dync_shape(k->batch, 1, k->keys, 1)), d);
    now = at ? dync_gather(now, 2, at) : NULL;
    if (past && !dync__sz_eq(k->past, 0) && k->open) /* what lies behind it is none of it */
        past = dync_index_select(past, 2,
                                 dync_minimum(dync__oi_arange(0, k->keys, 1, DYNC_I64),
                                              dync__value_of_size(dync__sz_sub(k->past, 1))));
    else if (past && !dync__sz_eq(k->past, 0))
        past = dync__oi_pad_dim(past, 2, 0, dync__sz_sub(k->keys, k->past), 0);
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
        table[i] = table[i] ? dync_reshape(table[i], dync_shape(dync__oi_extent(at, 0), 1,
                                                                dync__oi_extent(at, 1), dim / 2))
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
    int64_t missing = f->bias && !k->open ? dync__sz_sub(k->keys, dync__oi_extent(f->bias, -1)) : 0;
    if (f->bias && k->open) /* of what lies behind it nothing is seen */
        f->bias = dync_index_select(
            f->bias, 3,
            dync_minimum(key, dync__value_of_size(dync__sz_sub(dync__oi_extent(f->bias, -1), 1))));
    if (dync__sz_lt(0, missing))
        f->bias = dync__oi_pad_dim(f->bias, dync__oi_rank(f->bias) - 1, 0, missing, 0);
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
    dync_tensor *later = told && !k->first ? dync_reshape(told, dync_shape(k->batch, k->length))
                                           : NULL;
    if (later && !k->open) return later;
    if (told) {
        told = dync_add(dync__oi_narrow(dync_reshape(told, dync_shape(1, -1)), 1, 0, 1), step);
        return told && k->open ? dync_where(k->at_first, told, later) : told;
    }
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
    dync__oi_cache cache = {.open = false};
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
