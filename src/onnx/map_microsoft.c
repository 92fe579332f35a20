/* onnx/map_microsoft.c: com.microsoft operators that are several of ONNX in one: products with
 * activations, norms of sums, embeddings. After map_quant.c. */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

/* ---- activations ----------------------------------------------------------------------------- */

/* a + b (b may be missing), then the row's function */
DYNC__FN dync_status dync__oi_bias_act(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    if (dync__oi_in(c, 1) && x) x = dync_add(x, dync__oi_in(c, 1));
    return dync__oi_out(c, 0, x ? c->row->one(x) : NULL);
}

DYNC__FN dync_status dync__oi_quick_gelu(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    return dync__oi_out(c, 0, dync_mul(x, dync_sigmoid(dync_mul(x, dync__oi_float(c, "alpha")))));
}

/* Activations by name, with what their numbers are where the node has none. */
static const struct {
    const char *name;
    dync_tensor *(*one)(dync_tensor *);
    int which; /* or */
    double alpha, other;
} dync__oi_named_acts[] = {
    {"Relu", dync_relu, 0, 0, 0},
    {"Sigmoid", dync_sigmoid, 0, 0, 0},
    {"Softplus", dync_softplus, 0, 0, 0},
    {"Softsign", dync_softsign, 0, 0, 0},
    {"Tanh", dync_tanh, 0, 0, 0},
    {"Elu", NULL, DYNC__OI_ELU, 1, 0},
    {"HardSigmoid", NULL, DYNC__OI_HARD_SIGMOID, 0.2, 0.5},
    {"LeakyRelu", NULL, DYNC__OI_LEAKY, 0.01, 0},
    {"Selu", NULL, DYNC__OI_SELU, 1.67326319217681884765625, 1.05070102214813232421875},
    {"ThresholdedRelu", NULL, DYNC__OI_THRESHOLDED, 1, 0},
};

/* y under the activation that the node names, with up to two numbers of it */
static dync_status dync__oi_named_act(dync__onnx_call *c, dync_tensor *y, int n, const double *p)
{
    if (!y || !dync__oi_has(c, "activation") || dync__oi_is(c, "activation", ""))
        return dync__oi_out(c, 0, y);
    if (dync__oi_is(c, "activation", "Clip") && n > 1)
        return dync__oi_out(c, 0, dync_clamp(y, dync_v_float(p[0]), dync_v_float(p[1])));
    for (int i = 0; i < DYNC__COUNT_OF(dync__oi_named_acts); i++) {
        if (!dync__oi_is(c, "activation", dync__oi_named_acts[i].name)) continue;
        if (dync__oi_named_acts[i].one) return dync__oi_out(c, 0, dync__oi_named_acts[i].one(y));
        double alpha = n > 0 ? p[0] : dync__oi_named_acts[i].alpha,
               other = n > 1 ? p[1] : dync__oi_named_acts[i].other;
        return dync__oi_out(c, 0,
                            dync__oi_activated(dync__oi_named_acts[i].which, y, alpha, other));
    }
    return dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "the activation");
}

/* x [N, C, ...] in groups of channels, scale and bias [C], then silu where the node asks for it */
static dync_tensor *dync__oi_groups_normed(dync__onnx_call *c, dync_tensor *x)
{
    int64_t groups = dync__oi_int(c, "groups"), channels = dync__oi_size(x, 1);
    dync_dtype dtype = (dync_dtype)dync__oi_type(x);
    dync_tensor *scale = dync__oi_in(c, 1), *bias = dync__oi_in(c, 2);
    if (groups < 1 || channels % groups || dync__oi_rank(scale) != 1 || dync__oi_rank(bias) != 1 ||
        dync__oi_size(scale, 0) != channels || dync__oi_size(bias, 0) != channels) {
        dync__oi_fail(c, DYNC_ERR_SHAPE, "%lld groups of %lld channels", (long long)groups,
                      (long long)channels);
        return NULL;
    }
    x = dync_group_norm(dync_to_dtype(x, DYNC_F32), groups, dync_to_dtype(scale, DYNC_F32),
                        dync_to_dtype(bias, DYNC_F32), dync__oi_float(c, "epsilon"));
    if (dync__oi_int(c, "activation") == 1 && x) x = dync_silu(x);
    return x ? dync_to_dtype(x, dtype) : NULL;
}

/* Inputs x [N, H, W, C], or [N, C, H, W] without channels_last, scale and bias [C]; SkipGroupNorm
 * has a skip like x, [N, 1, 1, C] or [N, C] and a bias [C], both added first: output 1. Halves are
 * computed in f32. */
DYNC__FN dync_status dync__oi_ms_group_norm(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *skip = dync__oi_in(c, 3), *bias = dync__oi_in(c, 4);
    int64_t act = dync__oi_int(c, "activation");
    bool last = dync__oi_int(c, "channels_last") != 0;
    if (dync__oi_rank(x) != 4) return dync__oi_fail(c, DYNC_ERR_SHAPE, "expected four dimensions");
    if (act != 0 && act != 1)
        return dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "activation %lld", (long long)act);
    if (last) x = dync_permute(x, dync_shape(0, 3, 1, 2));
    if (skip && dync__oi_rank(skip) == 2)
        skip = dync_unsqueeze(dync_unsqueeze(skip, 2), 3);
    else if (skip && last)
        skip = dync_permute(skip, dync_shape(0, 3, 1, 2));
    if (skip && x) x = dync_add(x, skip);
    if (bias && x) x = dync_add(x, dync__oi_channels(bias, 4));
    if (!x) return dync_error();
    if (c->n_out > 1)
        DYNC__TRY(dync__oi_out(c, 1, last ? dync_permute(x, dync_shape(0, 2, 3, 1)) : x));
    x = dync__oi_groups_normed(c, x);
    return dync__oi_out(c, 0, x && last ? dync_permute(x, dync_shape(0, 2, 3, 1)) : x);
}

/* A convolution, a sum (input 3), an activation by name. */
DYNC__FN dync_status dync__oi_fused_conv(dync__onnx_call *c)
{
    dync_tensor *y =
        dync__oi_convolve(c, dync__oi_in(c, 0), dync__oi_in(c, 1), dync__oi_in(c, 2), NULL);
    const float *told;
    double p[2] = {0};
    int n = dync__oi_floats(c, "activation_params", &told);
    for (int i = 0; i < n && i < 2; i++) p[i] = (double)told[i];
    if (y && dync__oi_in(c, 3)) y = dync_add(y, dync__oi_in(c, 3));
    return dync__oi_named_act(c, y, n, p);
}

DYNC__FN dync_status dync__oi_fused_gemm(dync__onnx_call *c)
{
    const char *second = dync__oi_has(c, "activation_gamma") ? "activation_gamma"
                                                             : "activation_beta";
    const double p[2] = {dync__oi_float(c, "activation_alpha"), dync__oi_float(c, second)};
    int n = !dync__oi_has(c, "activation_alpha") ? 0 : dync__oi_has(c, second) ? 2 : 1;
    DYNC__TRY(dync__oi_gemm(c));
    return dync__oi_named_act(c, c->out[0].t, n, p);
}

/* alpha times the product of transposed operands; transBatch: dim 0 is the rows', batches follow */
DYNC__FN dync_status dync__oi_fused_matmul(dync__onnx_call *c)
{
    static const char *const batch[2] = {"transBatchA", "transBatchB"};
    static const char *const last[2] = {"transA", "transB"};
    dync_tensor *x[2] = {dync__oi_in(c, 0), dync__oi_in(c, 1)}, *y;
    for (int i = 0; i < 2; i++) {
        int rank = dync__oi_rank(x[i]);
        if (rank > 2 && dync__oi_int(c, batch[i]))
            x[i] = dync_movedim(x[i], dync_shape(0), dync_shape(rank - 2));
        if (rank > 1 && dync__oi_int(c, last[i])) x[i] = dync_transpose(x[i], -1, -2);
        if (!x[i]) return dync_error() ? dync_error() : DYNC_ERR_FORMAT;
    }
    double alpha = dync__oi_float(c, "alpha");
    y = dync_matmul(x[0], x[1]);
    return dync__oi_out(c, 0, y && alpha != 1 ? dync_mul(y, alpha) : y);
}

/* ---- norms ----------------------------------------------------------------------------------- */

/* x + skip (+ bias), then the norm; the sum is output 3 */
DYNC__FN dync_status dync__oi_skip_norm(dync__onnx_call *c)
{
    bool rms = c->row->detail == DYNC__OI_PLAIN;
    dync_tensor *x = dync_add(dync__oi_in(c, 0), dync__oi_in(c, 1)), *mean, *rstd, *y;
    dync_tensor *beta = rms ? NULL : dync__oi_in(c, 3), *bias = dync__oi_in(c, rms ? 3 : 4);
    if (bias && x) x = dync_add(x, bias);
    if (!x) return dync_error();
    y = dync__oi_normed(x, dync__oi_rank(x) - 1, dync__oi_float(c, "epsilon"), !rms, &mean, &rstd);
    if (y) y = dync_mul(y, dync__oi_in(c, 2));
    if (y && beta) y = dync_add(y, beta);
    DYNC__TRY(dync__oi_out(c, 0, y));
    if (mean) DYNC__TRY(dync__oi_out(c, 1, mean));
    DYNC__TRY(dync__oi_out(c, 2, rstd));
    return dync__oi_out(c, 3, x);
}

/* rows of a table [N, H] by ids of any shape */
static dync_tensor *dync__oi_rows_of(const dync__onnx_call *c, dync_tensor *table, dync_tensor *ids)
{
    dync_dims d = dync__oi_sizes(ids);
    if (!table || !ids || dync__oi_rank(table) != 2 || d.n == DYNC_MAX_DIMS) return NULL;
    dync_tensor *flat =
        dync__oi_index(c, dync_reshape(ids, dync_shape(-1)), dync__oi_size(table, 0));
    dync_tensor *y = flat ? dync_index_select(table, 0, flat) : NULL;
    d.d[d.n++] = dync__oi_size(table, 1);
    return y ? dync_reshape(y, d) : NULL;
}

/* What an embedding is made of: floats. */
typedef struct dync__oi_embed {
    dync_tensor *word, *place, *kind, *gamma, *beta; /* kind NULL: none */
    dync_tensor *ids, *kinds, *mask, *at;            /* kinds, mask, at may be NULL */
} dync__oi_embed;

/* The norm of the sum of rows of words, places and kinds; how many of the mask are 1. */
static dync_status dync__oi_embedded(dync__onnx_call *c, const dync__oi_embed *e)
{
    dync_dims d = dync__oi_sizes(e->ids);
    dync_tensor *mean, *rstd, *y, *n;
    if (d.n != 2) return dync__oi_fail(c, DYNC_ERR_SHAPE, "expected ids [batch, length]");
    dync_tensor *at = e->at ? e->at : dync__oi_arange(0, d.d[1], 1, DYNC_I64);
    dync_tensor *x = dync__oi_rows_of(c, e->word, e->ids), *p = dync__oi_rows_of(c, e->place, at);
    if (x && p) x = dync_add(x, p);
    if (e->kind && e->kinds && x) {
        p = dync__oi_rows_of(c, e->kind, e->kinds);
        x = p ? dync_add(x, p) : NULL;
    }
    if (!x || !p)
        return dync_error() ? dync_error()
                            : dync__oi_fail(c, DYNC_ERR_SHAPE, "expected tables of two dimensions");
    y = dync__oi_normed(x, 2, dync__oi_float(c, "epsilon"), true, &mean, &rstd);
    y = y ? dync_add(dync_mul(y, e->gamma), e->beta) : NULL;
    DYNC__TRY(dync__oi_out(c, 0, y));
    n = e->mask ? dync_sum(dync_eq(e->mask, 1), dync_shape(1), false)
                : dync__oi_full(dync_shape(d.d[0]), 0, DYNC_I32);
    DYNC__TRY(dync__oi_out(c, 1, n ? dync_to_dtype(n, DYNC_I32) : NULL));
    return c->n_out > 2 ? dync__oi_out(c, 2, x) : DYNC_OK;
}

/* Inputs input_ids, segment_ids, word, position and segment tables, gamma, beta, mask,
 * position_ids. */
DYNC__FN dync_status dync__oi_embed_norm(dync__onnx_call *c)
{
    dync__oi_embed e = {dync__oi_in(c, 2), dync__oi_in(c, 3), dync__oi_in(c, 4),
                        dync__oi_in(c, 5), dync__oi_in(c, 6), dync__oi_in(c, 0),
                        dync__oi_in(c, 1), dync__oi_in(c, 7), dync__oi_in(c, 8)};
    return dync__oi_embedded(c, &e);
}

/* Its tables are bytes with a scale and a zero point each. */
DYNC__FN dync_status dync__oi_qembed_norm(dync__onnx_call *c)
{
    dync_tensor *real[5];
    for (int i = 0; i < 5; i++) {
        dync_tensor *x = dync__oi_in(c, 2 + i);
        real[i] = x ? dync__oi_real(x, dync__oi_in(c, 8 + i), dync__oi_in(c, 13 + i)) : NULL;
        if (x && !real[i]) return dync_error() ? dync_error() : DYNC_ERR_FORMAT;
    }
    dync__oi_embed e = {real[0],           real[1],           real[2],           real[3], real[4],
                        dync__oi_in(c, 0), dync__oi_in(c, 1), dync__oi_in(c, 7), NULL};
    return dync__oi_embedded(c, &e);
}

/* ---- the rest -------------------------------------------------------------------------------- */

DYNC__FN dync_status dync__oi_expand_dims(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    int64_t at = 0;
    int axis;
    if (dync__oi_read(c, dync__oi_in(c, 1), 1, &at) < 0 ||
        !dync__oi_axis(c, at, dync__oi_rank(x) + 1, &axis))
        return dync_error() ? dync_error() : dync__oi_fail(c, DYNC_ERR_FORMAT, "no axis");
    return dync__oi_out(c, 0, dync_unsqueeze(x, axis));
}

/* Distances of the rows of a [M, K] from those of b [N, K]. */
DYNC__FN dync_status dync__oi_cdist(dync__onnx_call *c)
{
    dync_tensor *a = dync__oi_in(c, 0), *b = dync__oi_in(c, 1);
    if (dync__oi_rank(a) != 2 || dync__oi_rank(b) != 2)
        return dync__oi_fail(c, DYNC_ERR_SHAPE, "expected matrices");
    dync_tensor *d = dync_sub(dync_unsqueeze(a, 1), dync_unsqueeze(b, 0));
    d = d ? dync_sum(dync_mul(d, d), dync_shape(2), false) : NULL;
    if (dync__oi_is(c, "metric", "euclidean") && d) d = dync_sqrt(d);
    return dync__oi_out(c, 0, d);
}

/* Gauss and Jordan on [.., n, n], the largest of each column first. */
DYNC__FN dync_status dync__oi_inverse(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *both[2];
    dync_dims d = dync__oi_shape(x);
    int64_t n = dync__oi_size(x, -1);
    if (d.n < 2 || d.d[d.n - 2] != n || n < 1 || n > 256)
        return dync__oi_fail(c, DYNC_ERR_SHAPE, "expected square matrices of at most 256");
    x = dync_reshape(x, dync_shape(-1, n, n));
    int64_t b = dync__oi_size(x, 0);
    dync_tensor *row = dync__oi_arange(0, n, 1, DYNC_I64);
    both[0] = x;
    both[1] = dync_expand(
        dync_to_dtype(dync_eq(dync_unsqueeze(row, 1), row), (dync_dtype)dync__oi_type(x)),
        dync_shape(b, n, n));
    x = dync__oi_list(2, both, 2, false); /* [b, n, 2n] */
    for (int64_t k = 0; k < n && x; k++) {
        dync_tensor *at = dync_add(
            dync_argmax(dync_abs(dync__oi_narrow(dync_select(x, 2, k), 1, k, n - k)), 1, true), k);
        dync_tensor *index = dync_expand(dync_unsqueeze(at, 2), dync_shape(b, 1, 2 * n));
        dync_tensor *pivot = dync_gather(x, 1, index);
        x = dync_scatter(x, 1, index, dync__oi_narrow(x, 1, k, 1));
        pivot = dync_div(pivot, dync__oi_narrow(pivot, 2, k, 1)); /* [b, 1, 2n] */
        dync_tensor *rest = dync_sub(x, dync_mul(dync__oi_narrow(x, 2, k, 1), pivot));
        x = dync_where(dync_unsqueeze(dync_eq(row, k), 1), pivot, rest);
    }
    x = x ? dync__oi_narrow(x, 2, n, n) : NULL;
    return dync__oi_out(c, 0, x ? dync_reshape(x, d) : NULL);
}
