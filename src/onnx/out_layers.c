/* onnx/out_layers.c: matrix products, normalisation, attention, recurrent layers as ONNX nodes.
 * After out_conv.c. */
#include "../dync.in.h"
#if !defined(DYNC_NO_ONNX)
#include "out_rows.h"
DYNC__COLD

/* ---- products -------------------------------------------------------------------------------- */

DYNC__FN dync__ox_name dync__ox_matmul(dync__ox *w)
{
    int type = dync__ox_wide(w->node->info[0].dtype);
    return dync__ox_as_out(
        w, dync__ox_op2(w, "MatMul", dync__ox_wide_in(w, 0), dync__ox_wide_in(w, 1)), type, 0);
}

/* (self, mat1, mat2) */
DYNC__FN dync__ox_name dync__ox_addmm(dync__ox *w)
{
    int type = dync__ox_wide(w->node->info[0].dtype);
    dync__ox_name a = dync__ox_wide_in(w, 1), b = dync__ox_wide_in(w, 2),
                  c = dync__ox_wide_in(w, 0);
    if (type == DYNC_F32 || type == DYNC_F64)
        return dync__ox_as_out(w, dync__ox_op3(w, "Gemm", a, b, c), type, 0);
    return dync__ox_as_out(w, dync__ox_op2(w, "Add", c, dync__ox_op2(w, "MatMul", a, b)), type, 0);
}

DYNC__FN dync__ox_name dync__ox_int_mm(dync__ox *w)
{
    return dync__ox_op2(w, "MatMulInteger", dync__ox_in(w, 0), dync__ox_in(w, 1));
}

/* (self * multiplier + 2^(shift - 1)) / 2^shift, rounded downwards: what is left by Mod, whose sign
 * is the divisor's, is taken away before ONNX's division, which rounds towards zero. All in int64.
 */
DYNC__FN dync__ox_name dync__ox_rescale(dync__ox *w)
{
    dync__ox_name x[3], two = dync__ox_int(w, 2);
    for (int i = 0; i < 3; i++) x[i] = dync__ox_cast(w, dync__ox_in(w, i), DYNC_I32, DYNC_I64);
    dync__ox_name unit = dync__ox_op2(w, "Pow", two, x[2]),
                  y = dync__ox_op2(w, "Add", dync__ox_op2(w, "Mul", x[0], x[1]),
                                   dync__ox_op2(w, "Div", unit, two));
    y = dync__ox_op2(w, "Div", dync__ox_op2(w, "Sub", y, dync__ox_op2(w, "Mod", y, unit)), unit);
    return dync__ox_as_out(w, y, DYNC_I64, 0);
}

/* input @ weight^T + bias */
DYNC__FN dync__ox_name dync__ox_linear(dync__ox *w)
{
    static const int64_t swap[2] = {1, 0};
    int type = dync__ox_wide(w->node->info[0].dtype), rank = dync__ox_of(w, 1)->lay.ndim;
    bool bias = dync__ox_has(w, 2), is_float = type == DYNC_F32 || type == DYNC_F64;
    dync__ox_name x = dync__ox_wide_in(w, 0), weight = dync__ox_wide_in(w, 1);
    dync__ox_name b = bias ? dync__ox_wide_in(w, 2) : "";
    if (rank == 2 && is_float && dync__ox_of(w, 0)->lay.ndim == 2) {
        dync__ox_name in[3] = {x, weight, b};
        x = dync__ox_emit(w, "Gemm", bias ? 3 : 2, in);
        dync__ox_set_i(w, "transB", 1);
        return dync__ox_as_out(w, x, type, 0);
    }
    x = dync__ox_op2(w, "MatMul", x, rank == 2 ? dync__ox_transposed(w, weight, 2, swap) : weight);
    if (bias) x = dync__ox_op2(w, "Add", x, b);
    return dync__ox_as_out(w, x, type, 0);
}

/* ---- normalisation --------------------------------------------------------------------------- */

/* argument i, or one number for each of n */
static dync__ox_name dync__ox_or(dync__ox *w, int i, int type, double otherwise, int n,
                                 const int64_t *shape)
{
    if (dync__ox_has(w, i))
        return dync__ox_cast(w, dync__ox_in(w, i), dync__ox_of(w, i)->dtype, type);
    return dync__ox_expand(w, dync__ox_scalar(w, type, otherwise), n, shape);
}

/* (input, weight, bias, running_mean, running_var, training, momentum, eps), not in training */
DYNC__FN dync__ox_name dync__ox_batch_norm(dync__ox *w)
{
    int type = dync__ox_wide(dync__ox_of(w, 0)->dtype);
    int64_t channels = dync__ox_of(w, 0)->lay.shape[1];
    dync__ox_name in[5] = {dync__ox_wide_in(w, 0), dync__ox_or(w, 1, type, 1, 1, &channels),
                           dync__ox_or(w, 2, type, 0, 1, &channels),
                           dync__ox_or(w, 3, type, 0, 1, &channels),
                           dync__ox_or(w, 4, type, 1, 1, &channels)};
    dync__ox_name x = dync__ox_emit(w, "BatchNormalization", 5, in);
    dync__ox_set_f(w, "epsilon", dync__arg_number(dync__ox_arg(w, 7)));
    return dync__ox_as_out(w, x, type, 0);
}

/* ONNX's statistics are float32. */
static dync__ox_name dync__ox_layer_norm_f64(dync__ox *w, int n)
{
    int64_t dims[DYNC_MAX_DIMS];
    for (int i = 0; i < n; i++) dims[i] = i - n;
    dync__ox_name x = dync__ox_in(w, 0), axes = dync__ox_ints(w, n, dims);
    dync__ox_name mean = dync__ox_op2(w, "ReduceMean", x, axes);
    x = dync__ox_op2(w, "Sub", x, mean);
    dync__ox_name var = dync__ox_op2(w, "ReduceMean", dync__ox_op2(w, "Mul", x, x), axes);
    var = dync__ox_op2(w, "Add", var, dync__ox_number(w, dync__ox_arg(w, 4), DYNC_F64));
    dync__ox_name invstd =
        dync__ox_op2(w, "Div", dync__ox_scalar(w, DYNC_F64, 1), dync__ox_op1(w, "Sqrt", var));
    x = dync__ox_op2(w, "Mul", x, invstd);
    for (int i = 2; i < 4; i++)
        if (dync__ox_has(w, i))
            x = dync__ox_op2(w, i == 2 ? "Mul" : "Add", x, dync__ox_wide_in(w, i));
    dync__ox_give(w, 0, x);
    dync__ox_give(w, 1, mean);
    dync__ox_give(w, 2, invstd);
    return NULL;
}

/* (input, normalized_shape, weight, bias, eps): output, mean, 1 / sqrt(var + eps) */
DYNC__FN dync__ox_name dync__ox_layer_norm(dync__ox *w)
{
    const dync__arg *shape = dync__ox_arg(w, 1);
    int type = dync__ox_wide(dync__ox_of(w, 0)->dtype);
    if (type != DYNC_F32) return dync__ox_layer_norm_f64(w, shape->n);
    bool bias = dync__ox_has(w, 3);
    dync__ox_name in[3] = {dync__ox_wide_in(w, 0),
                           dync__ox_or(w, 2, type, 1, shape->n, shape->as.dims),
                           bias ? dync__ox_or(w, 3, type, 0, shape->n, shape->as.dims) : ""};
    dync__ox_name x = dync__ox_emit(w, "LayerNormalization", bias ? 3 : 2, in);
    dync__ox_set_i(w, "axis", -shape->n);
    dync__ox_set_f(w, "epsilon", dync__arg_number(dync__ox_arg(w, 4)));
    bool statistics = dync__ox_used(w, 1) || dync__ox_used(w, 2);
    dync__ox_name mean = statistics ? dync__ox_more(w) : NULL,
                  invstd = statistics ? dync__ox_more(w) : NULL;
    dync__ox_give(w, 0, dync__ox_as_out(w, x, type, 0));
    if (mean) dync__ox_give(w, 1, dync__ox_as_out(w, mean, type, 1));
    if (invstd) dync__ox_give(w, 2, dync__ox_as_out(w, invstd, type, 2));
    return NULL;
}

/* (input, weight, bias, eps) */
DYNC__FN dync__ox_name dync__ox_instance_norm(dync__ox *w)
{
    int type = dync__ox_wide(dync__ox_of(w, 0)->dtype);
    int64_t channels = dync__ox_of(w, 0)->lay.shape[1];
    dync__ox_name x = dync__ox_op3(w, "InstanceNormalization", dync__ox_wide_in(w, 0),
                                   dync__ox_or(w, 1, type, 1, 1, &channels),
                                   dync__ox_or(w, 2, type, 0, 1, &channels));
    dync__ox_set_f(w, "epsilon", dync__arg_number(dync__ox_arg(w, 3)));
    return dync__ox_as_out(w, x, type, 0);
}

/* ---- attention ------------------------------------------------------------------------------- */

static dync__ox_name dync__ox_last_two(dync__ox *w, dync__ox_name x, int n)
{
    int64_t order[DYNC_MAX_DIMS];
    for (int d = 0; d < n; d++) order[d] = d < n - 2 ? d : d == n - 2 ? n - 1 : n - 2;
    return dync__ox_transposed(w, x, n, order);
}

/* Zero where it may be seen, else minus infinity. */
static dync__ox_name dync__ox_mask(dync__ox *w, const dync__layout *q, const dync__layout *k,
                                   int type)
{
    const dync__arg *mask = dync__ox_arg(w, 6);
    int64_t shape[2] = {q->shape[q->ndim - 2], k->shape[k->ndim - 2]};
    dync__ox_name zero = dync__ox_scalar(w, type, 0), low = dync__ox_scalar(w, type, -HUGE_VAL);
    if (dync__ox_arg(w, 7)->as.i) {
        dync__ox_name x = dync__ox_expand(w, dync__ox_scalar(w, DYNC_I64, 1), 2, shape);
        x = dync__ox_op1(w, "Trilu", x);
        dync__ox_set_i(w, "upper", 0);
        return dync__ox_op3(w, "Where", dync__ox_cast(w, x, DYNC_I64, DYNC_BOOL), zero, low);
    }
    if (mask->kind != DYNC__A_NODE) return NULL;
    if (dync__ox_of(w, 6)->dtype != DYNC_BOOL) return dync__ox_wide_in(w, 6);
    return dync__ox_op3(w, "Where", dync__ox_in(w, 6), zero, low);
}

static dync__ox_name dync__ox_row_sum(dync__ox *w, dync__ox_name x)
{
    x = dync__ox_op2(w, "ReduceSum", x, dync__ox_ints(w, 1, &(int64_t){-1}));
    dync__ox_set_i(w, "keepdims", 1);
    return x;
}

/* (grad, query, key, value, out, logsumexp, mask, is_causal, scale): weights again from the
 * logarithm of each row's sum. Dao et al. 2022, arXiv:2205.14135, appendix B. */
DYNC__FN dync__ox_name dync__ox_attention_backward(dync__ox *w)
{
    const dync__layout *q = &dync__ox_of(w, 1)->lay, *k = &dync__ox_of(w, 2)->lay;
    int n = q->ndim, type = dync__ox_wide(dync__ox_of(w, 1)->dtype);
    dync__ox_name in[5], scale = dync__ox_number(w, dync__ox_arg(w, 8), type);
    for (int i = 0; i < 5; i++) in[i] = dync__ox_wide_in(w, i);
    dync__ox_name lse = dync__ox_cast(w, dync__ox_in(w, 5), dync__ox_of(w, 5)->dtype, type);
    dync__ox_name s = dync__ox_op2(w, "MatMul", in[1], dync__ox_last_two(w, in[2], n));
    dync__ox_name mask = dync__ox_mask(w, q, k, type);
    s = dync__ox_op2(w, "Mul", s, scale);
    if (mask) s = dync__ox_op2(w, "Add", s, mask);
    lse = dync__ox_op2(w, "Unsqueeze", lse, dync__ox_ints(w, 1, &(int64_t){-1}));
    /* a row that sees nothing: all of s is minus infinity, and so is its logarithm */
    dync__ox_name blind = dync__ox_op2(w, "Equal", lse, dync__ox_scalar(w, type, -HUGE_VAL));
    lse = dync__ox_op3(w, "Where", blind, dync__ox_scalar(w, type, 0), lse);
    dync__ox_name p = dync__ox_op1(w, "Exp", dync__ox_op2(w, "Sub", s, lse));
    dync__ox_name gv = dync__ox_op2(w, "MatMul", dync__ox_last_two(w, p, n), in[0]);
    dync__ox_name gp = dync__ox_op2(w, "MatMul", in[0], dync__ox_last_two(w, in[3], n));
    dync__ox_name d = dync__ox_row_sum(w, dync__ox_op2(w, "Mul", in[0], in[4]));
    dync__ox_name gs = dync__ox_op2(w, "Mul", p, dync__ox_op2(w, "Sub", gp, d));
    gs = dync__ox_op2(w, "Mul", gs, scale);
    dync__ox_give(w, 0, dync__ox_as_out(w, dync__ox_op2(w, "MatMul", gs, in[2]), type, 0));
    dync__ox_give(
        w, 1,
        dync__ox_as_out(w, dync__ox_op2(w, "MatMul", dync__ox_last_two(w, gs, n), in[1]), type, 1));
    dync__ox_give(w, 2, dync__ox_as_out(w, gv, type, 2));
    return NULL;
}

/* ---- recurrent layers ------------------------------------------------------------------------ */

/* Gates in ONNX's order: LSTM i o f c (here i f g o), GRU z r h (here r z n). Rows of a matrix or
 * elements of a vector, behind a new first dim: the direction. */
static dync__ox_name dync__ox_gates(dync__ox *w, dync__ox_name x, int gates, int64_t size)
{
    static const int order[5][4] = {{0}, {0}, {0}, {1, 0, 2}, {0, 3, 1, 2}};
    dync__ox_name part[4] = {"", "", "", ""};
    for (int i = 0; i < gates; i++)
        part[i] = dync__ox_sliced(w, x, 0, order[gates][i] * size, (order[gates][i] + 1) * size, 1);
    x = gates == 1 ? part[0] : dync__ox_emit(w, "Concat", gates, part);
    if (gates > 1) dync__ox_set_i(w, "axis", 0);
    return dync__ox_op2(w, "Unsqueeze", x, dync__ox_ints(w, 1, &(int64_t){0}));
}

/* The input's share of the gates comes ready: its matrix is the identity. */
static dync__ox_name dync__ox_identity(dync__ox *w, int type, int64_t n)
{
    dync__ox_name x =
        dync__ox_op2(w, "Unsqueeze", dync__ox_range(w, n), dync__ox_ints(w, 1, &(int64_t){1}));
    return dync__ox_cast(w, dync__ox_op2(w, "Equal", x, dync__ox_range(w, n)), DYNC_BOOL, type);
}

static dync__ox_name dync__ox_behind(dync__ox *w, int i)
{
    return dync__ox_op2(w, "Unsqueeze", dync__ox_wide_in(w, i), dync__ox_ints(w, 1, &(int64_t){0}));
}

/* (input, weight_hh, bias_hh, h0, c0, gates, reverse, train): output, last c, and nothing else out
 * of training */
DYNC__FN dync__ox_name dync__ox_rnn(dync__ox *w)
{
    static const char *const name[] = {"", "RNN", "", "GRU", "LSTM"};
    int gates = (int)dync__ox_arg(w, 5)->as.i, type = dync__ox_wide(dync__ox_of(w, 0)->dtype);
    int64_t size = dync__ox_of(w, 1)->lay.shape[1], width = gates * size;
    if (dync__is_token(size)) return dync__ox_refuse(w, "a symbolic number of gates");
    dync__ox_name zero =
        dync__ox_expand(w, dync__ox_scalar(w, type, 0), 2, (const int64_t[]){1, width});
    dync__ox_name bias = dync__ox_has(w, 2) ? dync__ox_gates(w, dync__ox_wide_in(w, 2), gates, size)
                                            : zero;
    dync__ox_name both = dync__ox_op2(w, "Concat", zero, bias);
    dync__ox_set_i(w, "axis", 1);
    dync__ox_name in[7] = {dync__ox_wide_in(w, 0),
                           dync__ox_gates(w, dync__ox_identity(w, type, width), gates, size),
                           dync__ox_gates(w, dync__ox_wide_in(w, 1), gates, size),
                           both,
                           "",
                           dync__ox_behind(w, 3),
                           gates == 4 ? dync__ox_behind(w, 4) : ""};
    dync__ox_name y = dync__ox_emit(w, name[gates], gates == 4 ? 7 : 6, in);
    dync__ox_set_i(w, "hidden_size", size);
    dync__ox_set_s(w, "direction", dync__ox_arg(w, 6)->as.i ? "reverse" : "forward");
    if (gates == 3) dync__ox_set_i(w, "linear_before_reset", 1);
    dync__ox_name c = "";
    if (gates == 4) dync__ox_more(w), c = dync__ox_more(w);
    dync__ox_name one = dync__ox_ints(w, 1, &(int64_t){1}),
                  nul = dync__ox_ints(w, 1, &(int64_t){0});
    dync__ox_give(w, 0, dync__ox_as_out(w, dync__ox_op2(w, "Squeeze", y, one), type, 0));
    for (int k = 1; k < 4; k++) {
        const dync__info *out = &w->node->info[k];
        if (k == 1 && gates == 4)
            dync__ox_give(w, 1, dync__ox_as_out(w, dync__ox_op2(w, "Squeeze", c, nul), type, 1));
        else
            dync__ox_give(w, k,
                          dync__ox_as_out(w,
                                          dync__ox_expand(w, dync__ox_scalar(w, type, 0),
                                                          out->lay.ndim, out->lay.shape),
                                          type, k));
    }
    return NULL;
}
#endif
