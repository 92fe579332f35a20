/* onnx/map_attention.c: ONNX's attention operators and what they are made of. After map_norm.c.
 *
 * B batches, H heads (fewer of key and value: each serves several of the query's), L queries, T
 * keys, d numbers a head. Operands are [B, H, L, d], or [B, L, H * d] where the node tells the
 * heads. */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

/* [B, L, heads * d] -> [B, heads, L, d] */
DYNC__FN dync_tensor *dync__oi_heads(const dync__onnx_call *c, dync_tensor *x, int64_t heads)
{
    dync_dims d = dync__oi_sizes(x);
    if (d.n == 4) return x;
    int64_t all = d.n == 3 ? dync__oi_number(d.d[2]) : 0;
    if (d.n != 3 || heads < 1 || all % heads) {
        dync__oi_fail(c, DYNC_ERR_SHAPE, "%lld heads", (long long)heads);
        return NULL;
    }
    x = dync_reshape(x, dync_shape(d.d[0], d.d[1], heads, all / heads));
    return x ? dync_transpose(x, 1, 2) : NULL;
}
/* [B, heads, L, d] -> [B, L, heads * d]; x may be NULL. */
DYNC__FN dync_tensor *dync__oi_joined(dync_tensor *x)
{
    dync_dims d = dync__oi_sizes(x);
    x = x ? dync_transpose(x, 1, 2) : NULL;
    return x ? dync_reshape(x, dync_shape(d.d[0], d.d[2], dync__sz_mul(d.d[1], d.d[3]))) : NULL;
}
/* each head of dim 1 `times` times, one after another */
DYNC__FN dync_tensor *dync__oi_repeat_heads(dync_tensor *x, int64_t times)
{
    dync_dims d = dync__oi_sizes(x);
    if (times == 1 || !x) return x;
    x = dync_expand(dync_unsqueeze(x, 2), dync_shape(d.d[0], d.d[1], times, d.d[2], d.d[3]));
    int64_t heads = dync__sz_mul(d.d[1], times);
    return x ? dync_reshape(x, dync_shape(d.d[0], heads, d.d[2], d.d[3])) : NULL;
}

/* true: the query may see the key; [q, k], or [B, 1, q, k] by an offset. Query i stands at place
 * offset + i, or past + i without one: a causal one sees the keys up to there, windows as many to
 * the left and right of it. offset: [B, 1, 1, 1], or NULL. NULL: all are seen (or an error). */
static dync_tensor *dync__oi_seen(const dync__onnx_call *c, int64_t q, int64_t k,
                                  dync_tensor *offset, int64_t past)
{
    int64_t left = dync__oi_int(c, "left_window_size"),
            right = dync__oi_int(c, "right_window_size");
    bool causal = dync__oi_int(c, "is_causal") != 0;
    dync_tensor *seen = NULL;
    if (!causal && left < 0 && right < 0) return NULL;
    dync_tensor *row = dync_unsqueeze(dync__oi_arange(past, q, 1, DYNC_I64), 1);
    if (offset) row = dync_add(row, offset);
    dync_tensor *ahead = dync_sub(dync__oi_arange(0, k, 1, DYNC_I64), row); /* key - query */
    if (causal) seen = dync_le(ahead, 0);
    for (int side = 0; side < 2; side++) {
        int64_t by = side ? right : left;
        if (by < 0) continue;
        dync_tensor *in = side ? dync_le(ahead, by) : dync_ge(ahead, -by);
        seen = seen ? dync_logical_and(seen, in) : in;
    }
    return seen;
}

/* What is added to the scores, and as bools what it leaves; either may be NULL. */
typedef struct dync__oi_bias {
    dync_tensor *add, *seen;
} dync__oi_bias;

/* Inputs of the node: 3 attn_mask, of bools or of what is added, broadcast to [B, H, L, T]; 6
 * nonpad_kv_seqlen [B]: how many keys count; queries are the last of them. A mask that is too short
 * hides the keys behind it. false: recorded. */
static bool dync__oi_attention_bias(const dync__onnx_call *c, dync_tensor *q, int64_t keys,
                                    int64_t past, dync__oi_bias *b)
{
    dync_tensor *mask = dync__oi_in(c, 3), *valid = dync__oi_in(c, 6), *offset = NULL;
    int64_t length = dync__oi_extent(q, 2);
    if (valid) {
        valid = dync_reshape(dync_to_dtype(valid, DYNC_I64), dync_shape(-1, 1, 1, 1));
        offset = dync_sub(valid, dync__value_of_size(length));
    }
    b->add = NULL;
    b->seen = dync__oi_seen(c, length, keys, offset, past);
    if (valid) {
        dync_tensor *there = dync_lt(dync__oi_arange(0, keys, 1, DYNC_I64), valid);
        b->seen = b->seen ? dync_logical_and(b->seen, there) : there;
    }
    if (mask) {
        int last = dync__oi_rank(mask) - 1;
        bool is_bool = dync__oi_type(mask) == DYNC_BOOL;
        int64_t missing = last >= 0 ? dync__sz_sub(keys, dync__oi_extent(mask, last)) : 0;
        if (dync__sz_lt(0, missing))
            mask = dync__oi_pad_dim(mask, last, 0, missing, is_bool ? 0 : -(double)INFINITY);
        if (!mask) return false;
        if (is_bool)
            b->seen = b->seen ? dync_logical_and(b->seen, mask) : mask;
        else
            b->add = mask;
    }
    return dync_error() == DYNC_OK;
}

/* Softmax of scores under a bias: rows that see nothing are 0, where softmax alone gives NaN. */
static dync_tensor *dync__oi_masked_softmax(dync_tensor *s, const dync__oi_bias *b)
{
    if (!b->seen && !b->add) return dync_softmax(s, -1);
    dync_tensor *row = b->add ? dync_ne(b->add, -(double)INFINITY) : b->seen;
    if (b->add && b->seen) row = dync_logical_and(row, b->seen);
    row = row ? dync_any(row, dync_shape(-1), true) : NULL;
    dync_tensor *p = dync_softmax(s, -1);
    return row && p ? dync_where(row, p, 0.0) : NULL;
}

/* One cache [B, H, P, d] with what is new behind it; past NULL: that alone. NULL: an error, or no
 * `now`. */
DYNC__FN dync_tensor *dync__oi_cached(dync_tensor *past, dync_tensor *now)
{
    dync_tensor *both[2] = {past, now};
    return past && now ? dync__oi_list(2, both, 2, false) : now;
}

/* Inputs Q K V attn_mask past_key past_value nonpad_kv_seqlen; outputs Y, present_key,
 * present_value, qk_matmul_output.
 *
 *   Y = softmax(softcap(scale Q K') + bias) V,  softcap(s) = cap tanh(s / cap)
 *
 * The scale is split over Q and K by its square root, as ONNX's own function body has it: this
 * keeps f16 from overflowing. qk_matmul_output shows the scores: mode 0 as products, 1 after
 * softcap, 2 after the bias, 3 after the softmax. */
DYNC__FN dync_status dync__oi_attention(dync__onnx_call *c)
{
    dync_tensor *q = dync__oi_in(c, 0), *k = dync__oi_in(c, 1), *v = dync__oi_in(c, 2), *s, *p;
    int64_t heads = dync__oi_int(c, "q_num_heads"), mode = dync__oi_int(c, "qk_matmul_output_mode");
    int64_t precision = dync__oi_int(c, "softmax_precision");
    int dtype = dync__oi_type(q), kept = dync__onnx_dtype(precision ? precision : DYNC__ONNX_FLOAT);
    bool flat = dync__oi_rank(q) == 3;
    double cap = dync__oi_float(c, "softcap");
    dync__oi_bias bias;
    q = dync__oi_heads(c, q, heads);
    k = dync__oi_heads(c, k, dync__oi_int(c, "kv_num_heads"));
    v = dync__oi_heads(c, v, dync__oi_int(c, "kv_num_heads"));
    if (!q || !k || !v) return dync_error();
    int64_t past = dync__oi_in(c, 4) ? dync__oi_extent(dync__oi_in(c, 4), 2) : 0;
    k = dync__oi_cached(dync__oi_in(c, 4), k);
    v = dync__oi_cached(dync__oi_in(c, 5), v);
    if (!k || !v || !dync__oi_attention_bias(c, q, dync__oi_extent(k, 2), past, &bias))
        return dync_error();
    if (c->n_out > 1) DYNC__TRY(dync__oi_out(c, 1, k));
    if (c->n_out > 2) DYNC__TRY(dync__oi_out(c, 2, v));
    double scale = dync__oi_has(c, "scale") ? dync__oi_float(c, "scale")
                                            : 1 / sqrt((double)dync__oi_size(q, 3));
    if (dync__oi_size(k, 1) < 1 || dync__oi_size(q, 1) % dync__oi_size(k, 1))
        return dync__oi_fail(c, DYNC_ERR_SHAPE, "heads of query and key");
    int64_t times = dync__oi_size(q, 1) / dync__oi_size(k, 1);
    k = dync__oi_repeat_heads(k, times);
    v = dync__oi_repeat_heads(v, times);
    s = dync_matmul(dync_mul(q, sqrt(scale)), dync_transpose(dync_mul(k, sqrt(scale)), 2, 3));
    dync_tensor *shown = s;
    if (cap > 0 && s) s = dync_mul(dync_tanh(dync_div(s, cap)), cap);
    if (mode == 1) shown = s;
    if (bias.add && s) s = dync_add(s, bias.add);
    if (bias.seen && s) s = dync_where(bias.seen, s, -(double)INFINITY);
    if (!s) return dync_error();
    if (mode == 2) shown = s;
    s = dync_to_dtype(s, (dync_dtype)(dtype == DYNC_F64 || kept < 0 ? dtype : kept));
    p = dync__oi_masked_softmax(s, &bias);
    p = p ? dync_to_dtype(p, (dync_dtype)dtype) : NULL;
    if (mode == 3) shown = p;
    if (c->n_out > 3)
        DYNC__TRY(dync__oi_out(c, 3, shown ? dync_to_dtype(shown, (dync_dtype)dtype) : NULL));
    p = p ? dync_matmul(p, v) : NULL;
    return dync__oi_out(c, 0, p && flat ? dync__oi_joined(p) : p);
}

/* x [B, heads, L, T] through a graph of the node that gives a tensor like it; none: as it is */
static dync_tensor *dync__oi_modified(dync__onnx_call *c, const char *name, dync_tensor *x)
{
    const dync__onnx_body *b = dync__oi_body(c, name);
    dync__onnx_value in = {x, 0, NULL}, out = {NULL, 0, NULL};
    if (!b || !x) return x;
    in.type = dync__onnx_type_of(dync__oi_type(x));
    if (b->n_inputs != 1 || b->n_outputs != 1) {
        dync__oi_fail(c, DYNC_ERR_FORMAT, "%s takes one tensor and gives one", name);
        return NULL;
    }
    if (dync__onnx_run_inside(c->model, b, c->frame, c, 1, &in, &out) != DYNC_OK) return NULL;
    if (out.t && dync__oi_rank(out.t) == dync__oi_rank(x)) return out.t;
    dync__oi_fail(c, DYNC_ERR_SHAPE, "%s gives another shape", name);
    return NULL;
}

/* Scores and weights are floats of at least 32 bits, each through a graph of the node. */
DYNC__FN dync_status dync__oi_flex_attention(dync__onnx_call *c)
{
    dync_tensor *q = dync__oi_in(c, 0), *k = dync__oi_in(c, 1), *v = dync__oi_in(c, 2), *s;
    int64_t told = dync__oi_int(c, "softmax_precision");
    int dtype = dync__oi_type(q), kept = dtype == DYNC_F64 ? DYNC_F64 : DYNC_F32;
    if (told) kept = dync__onnx_dtype(told);
    if (dync__oi_rank(q) != 4 || dync__oi_rank(k) != 4 || dync__oi_rank(v) != 4 || kept < 0 ||
        dync__oi_size(k, 1) < 1 || dync__oi_size(q, 1) % dync__oi_size(k, 1))
        return dync__oi_fail(c, DYNC_ERR_SHAPE, "heads of query and key");
    int64_t times = dync__oi_size(q, 1) / dync__oi_size(k, 1);
    double scale = dync__oi_has(c, "scale") ? dync__oi_float(c, "scale")
                                            : 1 / sqrt((double)dync__oi_size(q, 3));
    q = dync_to_dtype(q, (dync_dtype)kept);
    k = dync_to_dtype(dync__oi_repeat_heads(k, times), (dync_dtype)kept);
    v = dync_to_dtype(dync__oi_repeat_heads(v, times), (dync_dtype)kept);
    s = q && k ? dync_mul(dync_matmul(q, dync_transpose(k, 2, 3)), scale) : NULL;
    s = dync__oi_modified(c, "score_mod", s);
    s = s ? dync_softmax(s, -1) : NULL;
    s = dync__oi_modified(c, "prob_mod", s);
    s = s && v ? dync_matmul(s, v) : NULL;
    return dync__oi_out(c, 0, s ? dync_to_dtype(s, (dync_dtype)dtype) : NULL);
}

/* ---- rotations ------------------------------------------------------------------------------- */

/* x [B, heads, L, dim] by angles [B or 1, 1, L, dim / 2]; mixed: pairs lie side by side */
DYNC__FN dync_tensor *dync__oi_rotated(dync_tensor *x, dync_tensor *cosine, dync_tensor *sine,
                                       bool mixed)
{
    int64_t dim = dync__oi_size(x, 3);
    dync_tensor *a = mixed ? dync_slice(x, 3, 0, dim, 2) : dync__oi_narrow(x, 3, 0, dim / 2);
    dync_tensor *b = mixed ? dync_slice(x, 3, 1, dim, 2) : dync__oi_narrow(x, 3, dim / 2, dim / 2);
    dync_tensor *part[2] = {dync_sub(dync_mul(cosine, a), dync_mul(sine, b)),
                            dync_add(dync_mul(sine, a), dync_mul(cosine, b))};
    x = dync__oi_list(2, part, mixed ? 4 : 3, mixed);
    return mixed && x ? dync_flatten(x, 3, 4) : x;
}

/* Rotary position embedding: the pair (a, b) at angle t becomes (a cos t - b sin t) and
 * (a sin t + b cos t). Tables of cosines and sines [places, dim / 2] are read at position_ids, or
 * are [B, L, dim / 2] already. com.microsoft's has its inputs in another order, and one number as a
 * first place of all. */
DYNC__FN dync_status dync__oi_rotary(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *cosine = dync__oi_in(c, 1), *sine = dync__oi_in(c, 2),
                *at = dync__oi_in(c, 3), *rest = NULL;
    bool microsoft = *c->row->domain != 0, flat = dync__oi_rank(x) == 3;
    bool mixed = dync__oi_int(c, "interleaved") != 0;
    if (microsoft) at = dync__oi_in(c, 1), cosine = dync__oi_in(c, 2), sine = dync__oi_in(c, 3);
    int64_t heads = dync__oi_int(c, "num_heads"), dim = dync__oi_int(c, "rotary_embedding_dim");
    if (flat && heads < 1 && cosine && dync__oi_size(cosine, -1) > 0)
        heads = dync__oi_size(x, 2) / (2 * dync__oi_size(cosine, -1));
    x = dync__oi_heads(c, x, heads);
    if (!x || !cosine || !sine) return dync_error() ? dync_error() : DYNC_ERR_FORMAT;
    int64_t all = dync__oi_size(x, 3), length = dync__oi_extent(x, 2),
            batch = dync__oi_extent(x, 0);
    if (dim < 1) dim = all;
    if (dim > all || dim % 2) return dync__oi_fail(c, DYNC_ERR_FORMAT, "dim %lld", (long long)dim);
    if (dim < all) rest = dync__oi_narrow(x, 3, dim, all - dim), x = dync__oi_narrow(x, 3, 0, dim);
    for (int i = 0; i < 2; i++) {
        dync_tensor **t = i ? &sine : &cosine;
        if (at) {
            dync_tensor *flat_at = dync_to_dtype(dync_flatten(at, 0, -1), DYNC_I64);
            if (microsoft && dync__oi_extent(flat_at, 0) == 1 && (batch != 1 || length != 1))
                flat_at = dync_flatten(
                    dync_expand(dync_add(flat_at, dync__oi_arange(0, length, 1, DYNC_I64)),
                                dync_shape(batch, length)),
                    0, -1);
            *t = dync_index_select(*t, 0, flat_at);
        }
        *t = *t ? dync_reshape(*t, dync_shape(-1, 1, length, dim / 2)) : NULL;
    }
    x = dync__oi_rotated(x, cosine, sine, mixed);
    dync_tensor *whole[2] = {x, rest};
    if (rest) x = dync__oi_list(2, whole, 3, false);
    return dync__oi_out(c, 0, flat && x ? dync__oi_joined(x) : x);
}

/* x sigmoid(alpha x) times the gate, input 1. */
DYNC__FN dync_status dync__oi_swiglu(dync__onnx_call *c)
{
    dync_tensor *a = dync__oi_in(c, 0);
    double alpha = dync__oi_float(c, "alpha");
    a = alpha == 1 ? dync_silu(a) : dync_mul(a, dync_sigmoid(dync_mul(a, alpha)));
    return dync__oi_out(c, 0, a ? dync_mul(a, dync__oi_in(c, 1)) : NULL);
}

/* x [B, C, L], k [C, 1, n]: each channel by itself, over the n - 1 places before it, which are
 * those of past [B, C, n - 1] or zeros; output 1: the last n - 1 places, the past of the next call.
 */
DYNC__FN dync_status dync__oi_causal_conv(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *k = dync__oi_in(c, 1), *past = dync__oi_in(c, 3), *y;
    int64_t n = dync__oi_size(k, 2);
    dync_dims d = dync__oi_shape(x);
    if (d.n != 3 || dync__oi_rank(k) != 3) return dync__oi_fail(c, DYNC_ERR_SHAPE, "rank 3");
    dync_tensor *both[2] = {past, x};
    x = past ? dync__oi_list(2, both, 2, false) : dync__oi_pad_dim(x, 2, n - 1, 0, 0);
    if (!x) return dync_error();
    y = dync_conv2d(dync_unsqueeze(x, 2), dync_unsqueeze(k, 2), dync__oi_in(c, 2), dync_shape(1, 1),
                    dync_shape(0, 0), dync_shape(1, 1), (int)d.d[1]);
    y = y ? dync_squeeze(y, 2) : NULL;
    if (y && !dync__oi_is(c, "activation", "none")) y = dync_silu(y);
    DYNC__TRY(dync__oi_out(c, 0, y));
    return c->n_out > 1
               ? dync__oi_out(c, 1, dync__oi_narrow(x, 2, dync__oi_size(x, 2) - n + 1, n - 1))
               : DYNC_OK;
}

/* ---- attention as a recurrence --------------------------------------------------------------- */

/* [B, L, n] at time t as [B, heads, n / heads, 1] of f32 */
static dync_tensor *dync__oi_at_time(dync_tensor *x, int64_t t, int64_t heads)
{
    dync_dims d = dync__oi_shape(x);
    x = dync_select(x, 1, t);
    x = x ? dync_to_dtype(x, DYNC_F32) : NULL;
    return x ? dync_reshape(x, dync_shape(d.d[0], heads, d.d[2] / heads, 1)) : NULL;
}

/* State S [B, H, dk, dv], f32. Each step, with decay g and step width b where the node has them:
 *   S = exp(g) S;   v' = b (v - k' S) (delta rule), else v;   S = S + k v';   y = scale q' S */
DYNC__FN dync_status dync__oi_linear_attention(dync__onnx_call *c)
{
    dync_tensor *q = dync__oi_in(c, 0), *k = dync__oi_in(c, 1), *v = dync__oi_in(c, 2),
                *s = dync__oi_in(c, 3), *decay = dync__oi_in(c, 4), *beta = dync__oi_in(c, 5);
    int64_t h = dync__oi_int(c, "kv_num_heads"), hq = dync__oi_int(c, "q_num_heads");
    dync_dims d = dync__oi_shape(q);
    int dtype = dync__oi_type(q), state = s ? dync__oi_type(s) : dtype;
    if (d.n != 3 || h < 1 || hq < 1 || hq % h || d.d[2] % hq || dync__oi_size(v, 2) % h ||
        d.d[1] > 4096)
        return dync__oi_fail(c, DYNC_ERR_SHAPE, "heads or steps");
    int64_t dk = d.d[2] / hq, dv = dync__oi_size(v, 2) / h;
    double scale = dync__oi_float(c, "scale");
    if (scale == 0) scale = 1 / sqrt((double)dk);
    s = s ? dync_to_dtype(s, DYNC_F32) : dync__oi_full(dync_shape(d.d[0], h, dk, dv), 0, DYNC_F32);
    dync_value list = dync__list_new((int)d.d[1]);
    for (int64_t t = 0; t < d.d[1] && s; t++) {
        dync_tensor *qt = dync__oi_at_time(q, t, hq), *kt = dync__oi_at_time(k, t, h),
                    *vt = dync__oi_at_time(v, t, h);
        if (!qt || !kt || !vt) return dync_error();
        vt = dync_transpose(vt, 2, 3); /* [B, h, 1, dv] */
        if (decay) s = dync_mul(s, dync_exp(dync__oi_at_time(decay, t, h)));
        if (beta) {
            int64_t n = dync__oi_size(beta, 2) == 1 ? 1 : h;
            vt = dync_sub(vt, dync_matmul(dync_transpose(kt, 2, 3), s));
            vt = dync_mul(dync__oi_at_time(beta, t, n), vt);
        }
        s = dync_add(s, dync_mul(kt, vt));
        dync_tensor *y = dync_matmul(dync_transpose(qt, 2, 3), dync__oi_repeat_heads(s, hq / h));
        if (!y) return dync_error();
        dync__list_set(
            list, (int)t,
            dync_v_tensor(dync_reshape(dync_mul(y, scale), dync_shape(d.d[0], hq * dv))));
    }
    dync_tensor *y = dync_stack(list, 1);
    DYNC__TRY(dync__oi_out(c, 0, y ? dync_to_dtype(y, (dync_dtype)dtype) : NULL));
    return c->n_out > 1 ? dync__oi_out(c, 1, s ? dync_to_dtype(s, (dync_dtype)state) : NULL)
                        : DYNC_OK;
}
