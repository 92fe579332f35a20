/* onnx/map_point.c: ONNX operators that work element by element. After call.c.
 *
 * Those of one or two operands that dync has as they are need no function of their own: their rows
 * name dync's operator (row->one, row->two). Operands are broadcast as NumPy's. */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

DYNC__FN dync_status dync__oi_one(dync__onnx_call *c)
{
    return dync__oi_out(c, 0, c->row->one(dync__oi_in(c, 0)));
}
DYNC__FN dync_status dync__oi_identity(dync__onnx_call *c)
{
    if (!c->n_in || !c->in[0].sequence)
        return dync__oi_out_typed(c, 0, dync__oi_in(c, 0), c->n_in ? dync__oi_in_type(c, 0) : 0);
    if (c->n_out) c->out[0] = c->in[0];
    return DYNC_OK;
}

/* ---- broadcasting ---------------------------------------------------------------------------- */

/* The second operand in a shape that NumPy's rules broadcast against a. Until opset 6 b lies along
 * a's dims from `axis` on, where broadcast=1: a [2, 3, 4, 5], b [3, 4], axis 1 gives [3, 4, 1]. */
static dync_tensor *dync__oi_second(const dync__onnx_call *c, dync_tensor *a, dync_tensor *b)
{
    int axis;
    if (c->version >= 7 || !dync__oi_int(c, "broadcast") || !dync__oi_has(c, "axis")) return b;
    if (!dync__oi_axis(c, dync__oi_int(c, "axis"), dync__oi_rank(a), &axis)) return NULL;
    dync_dims d = dync__oi_sizes(b);
    while (d.n && axis + d.n < dync__oi_rank(a) && d.n < DYNC_MAX_DIMS) d.d[d.n++] = 1;
    return dync_reshape(b, d);
}

/* A known number of no dims is part of the code where the other operand has the same type and is
 * not known: an initializer of the file would be read in each run. So is a size. What only looks
 * like a symbolic one stays a tensor. */
static dync_value dync__oi_operand(dync_tensor *t, dync_tensor *beside)
{
    const dync__tensor *other = dync__peek(beside);
    dync_tensor *sizes = dync__oi_type(t) == DYNC_I64 ? dync__onnx_whole(t) : NULL;
    if (sizes && !dync__onnx_whole(beside)) t = sizes;
    const dync__tensor *x = dync__peek(t);
    if (!x || !other || x->flags & DYNC__T_FAKE || !(other->flags & DYNC__T_FAKE) || x->lay.ndim ||
        x->dtype != other->dtype)
        return dync_v_tensor(t);
    if (dync__dtype_info(x->dtype)->kind == 'i') {
        int64_t i = dync__load_i64(dync__tensor_data(x), x->dtype);
        if (sizes) return dync__value_of_size(i);
        if (!dync__is_token(i)) return dync_v_int(i);
        return dync__onnx_holds_sizes(x) ? dync__value_of_size(i) : dync_v_tensor(t);
    }
    if (dync__dtype_info(x->dtype)->kind != 'f') return dync_v_tensor(t);
    double f = dync__load_f64(dync__tensor_data(x), x->dtype);
    return fabs(f) <= DBL_MAX && !dync__is_sf(dync__sf_bits(f)) ? dync_v_float((dync_real)f)
                                                                : dync_v_tensor(t);
}

DYNC__FN dync_tensor *dync__oi_both_of(dync_tensor *(*two)(dync_value, dync_value), dync_tensor *a,
                                       dync_tensor *b)
{
    return a && b ? two(dync__oi_operand(a, b), dync__oi_operand(b, a)) : NULL;
}

DYNC__FN dync_status dync__oi_two(dync__onnx_call *c)
{
    dync_tensor *a = dync__oi_in(c, 0), *b = dync__oi_second(c, a, dync__oi_in(c, 1));
    bool ends = (c->row->detail & ~DYNC__OI_WRAPS) == DYNC__OI_ENDS;
    dync_tensor *one = ends ? dync__oi_idiom(c) : NULL;
    if (strcmp(c->row->name, "Add") == 0) one = dync__oi_idiom_linear(c);
    return dync__oi_out(c, 0, one ? one : dync__oi_both_of(c->row->two, a, b));
}

DYNC__FN bool dync__oi_is_float(const dync_tensor *t)
{
    return dync__dtype_info(dync__oi_type(t))->kind == 'f';
}

/* The step of this body that makes a value, if it is of that operator of two inputs. */
static const dync__onnx_step *dync__oi_made_by(const dync__onnx_call *c, dync__onnx_place value,
                                               const char *type)
{
    const dync__onnx_body *b = c->frame->body;
    if (value.up || value.at < 0) return NULL;
    for (int i = 0; i < b->n_steps; i++) {
        const dync__onnx_step *s = &b->step[i];
        if (s->row && s->node->input.n == 2 && s->node->output.n == 1 && s->out[0] == value.at)
            return strcmp(s->row->name, type) == 0 ? s : NULL;
    }
    return NULL;
}

static bool dync__oi_same_place(dync__onnx_place a, dync__onnx_place b)
{
    return a.up == b.up && a.at == b.at;
}

/* (a - Mod(a, b)) / b of integers is a divided downwards, as exporters and dync write it: a, or
 * NULL where the node divides something else. */
static dync_tensor *dync__oi_floored(const dync__onnx_call *c)
{
    const dync__onnx_step *less = dync__oi_made_by(c, c->step->in[0], "Sub");
    const dync__onnx_step *mod = less ? dync__oi_made_by(c, less->in[1], "Mod") : NULL;
    if (!mod || mod->node->attribute.n || less->in[0].up ||
        !dync__oi_same_place(mod->in[0], less->in[0]) ||
        !dync__oi_same_place(mod->in[1], c->step->in[1]))
        return NULL;
    dync_tensor *a = c->frame->value[less->in[0].at].t;
    int dtype = dync__oi_type(a);
    return a && (dtype == DYNC_I64 || dtype == DYNC_I32) ? a : NULL;
}

/* Integers: towards zero, as C divides. a - a mod b is divisible, so dividing it downwards rounds
 * nothing; of sizes, which are not below 0, both are the same and stay symbolic. */
DYNC__FN dync_status dync__oi_div(dync__onnx_call *c)
{
    dync_tensor *a = dync__oi_in(c, 0), *b = dync__oi_second(c, a, dync__oi_in(c, 1));
    dync_tensor *one = a && dync__oi_is_float(a) ? dync__oi_idiom(c) : NULL;
    if (one) return dync__oi_out(c, 0, one);
    if (!b || dync__oi_is_float(a)) return dync__oi_out(c, 0, dync__oi_both_of(dync_div, a, b));
    if (dync__onnx_sizes_positive(a) && dync__onnx_sizes_positive(b))
        return dync__oi_out(c, 0, dync_floor_divide(a, b));
    dync_tensor *whole = dync__oi_floored(c);
    return dync__oi_out(c, 0, dync_floor_divide(whole ? whole : dync_sub(a, dync_fmod(a, b)), b));
}

/* The type of the base, whatever the exponent's is. */
DYNC__FN dync_status dync__oi_pow(dync__onnx_call *c)
{
    dync_tensor *a = dync__oi_in(c, 0), *b = dync__oi_second(c, a, dync__oi_in(c, 1));
    int dtype = dync__oi_type(a);
    if (!b) return dync__oi_out(c, 0, NULL);
    if (!dync__oi_is_float(a) && dync__oi_is_float(b)) a = dync_to_dtype(a, DYNC_F64);
    if (dync__oi_is_float(a)) b = dync_to_dtype(b, (dync_dtype)dync__oi_type(a));
    return dync__oi_out(c, 0, dync_to_dtype(dync__oi_both_of(dync_pow, a, b), (dync_dtype)dtype));
}

/* fmod 0: the result has the sign of the divisor (Python); 1: that of the dividend (C). */
DYNC__FN dync_status dync__oi_mod(dync__onnx_call *c)
{
    dync_tensor *a = dync__oi_in(c, 0), *b = dync__oi_in(c, 1);
    return dync__oi_out(c, 0, dync__oi_int(c, "fmod") ? dync_fmod(a, b) : dync_remainder(a, b));
}

/* Sum, Mean, Max, Min of any number of inputs, broadcast together: the row's function again and
 * again. */
DYNC__FN dync_status dync__oi_variadic(dync__onnx_call *c)
{
    dync_tensor *t = dync__oi_in(c, 0);
    for (int i = 1; i < c->n_in && t; i++) t = dync__oi_both_of(c->row->two, t, dync__oi_in(c, i));
    if (t && (c->row->detail & ~DYNC__OI_WRAPS) == DYNC__OI_MEAN) t = dync_div(t, c->n_in);
    return dync__oi_out(c, 0, t);
}

/* x shifted by s bits, in int64, one bit of s after another: a shift by 5 = 4 + 1 is one by 1 and
 * one by 4, each a product or a quotient by 2^(2^b), kept where s has bit b. */
DYNC__FN dync_status dync__oi_bit_shift(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *s = dync_to_dtype(dync__oi_in(c, 1), DYNC_I64);
    int dtype = dync__oi_type(x);
    bool is_signed, left = dync__oi_is(c, "direction", "LEFT");
    int bits = dync__onnx_held_bits(dync__oi_in_type(c, 0), &is_signed);
    bool held = bits != 0 || dync__oi_in_type(c, 0) == DYNC__ONNX_UINT64;
    if (!bits) bits = 8 * dync__dtype_info(dtype)->bytes;
    if (dync__oi_type(x) != DYNC_U8 && !held) is_signed = true;
    dync_tensor *from = x = dync_to_dtype(x, DYNC_I64);
    for (int b = 0; 1 << b < bits && x; b++) {
        int64_t by = (int64_t)1 << (1 << b);
        dync_tensor *moved = left ? dync_mul(x, by) : dync_floor_divide(x, by);
        x = dync_where(dync_ne(dync_bitwise_and(s, (int64_t)1 << b), 0), moved, x);
    }
    /* beyond the width nothing is left but, to the right, the sign */
    dync_tensor *beyond = dync_logical_or(dync_lt(s, 0), dync_ge(s, (int64_t)bits));
    const int64_t half = INT64_C(1) << 32; /* 2^64 is none of int64: in two steps */
    dync_tensor *left_over = left || !x ? x
                                        : dync_floor_divide(dync_floor_divide(from, half), half);
    if (x) x = dync_where(beyond, left ? dync_zeros_like(x) : left_over, x);
    if (x && bits < 64 && !is_signed) x = dync_bitwise_and(x, ((int64_t)1 << bits) - 1);
    return dync__oi_out_typed(c, 0, x ? dync_to_dtype(x, (dync_dtype)dtype) : NULL,
                              dync__oi_in_type(c, 0));
}

DYNC__FN dync_status dync__oi_where(dync__onnx_call *c)
{
    dync_tensor *a = dync__oi_in(c, 1), *b = dync__oi_in(c, 2);
    dync_tensor *t =
        (dync_where)(dync__oi_in(c, 0), dync__oi_operand(a, b), dync__oi_operand(b, a));
    return dync__oi_out_typed(c, 0, t, dync__oi_in_type(c, 1));
}

/* Bounds are attributes until opset 10, then inputs of rank 0, either of which may be missing. */
DYNC__FN dync_status dync__oi_clip(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *low = dync__oi_in(c, 1), *high = dync__oi_in(c, 2);
    if (c->version < 11) {
        double from = dync__oi_float(c, "min"), to = dync__oi_float(c, "max");
        x = dync_clamp(x, dync__oi_has(c, "min") ? dync_v_float(from) : DYNC_NONE,
                       dync__oi_has(c, "max") ? dync_v_float(to) : DYNC_NONE);
        return dync__oi_out(c, 0, x);
    }
    dync_value from = low ? dync__oi_operand(low, x) : DYNC_NONE,
               to = high ? dync__oi_operand(high, x) : DYNC_NONE;
    if ((low || high) && from.kind != DYNC_KIND_TENSOR && to.kind != DYNC_KIND_TENSOR)
        return dync__oi_out(c, 0, dync_clamp(x, from, to));
    if (low) x = dync_maximum(x, from);
    if (high && x) x = dync_minimum(x, to);
    return dync__oi_out(c, 0, x);
}

/* ---- types ----------------------------------------------------------------------------------- */

/* x as another ONNX type, in the dtype that holds it. Into a type that is held in a wider one
 * numbers go modulo its range: 9 as int4 is ((9 + 8) & 15) - 8 = -7. NULL + error: nothing holds
 * the type. */
DYNC__FN dync_tensor *dync__oi_cast_to(const dync__onnx_call *c, dync_tensor *x, int64_t type)
{
    bool is_signed;
    int dtype = dync__onnx_dtype(type), bits = dync__onnx_held_bits(type, &is_signed);
    if (dtype < 0) {
        dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "a cast to %s", dync__onnx_type_name(type));
        return NULL;
    }
    if (!bits) return dync_to_dtype(x, (dync_dtype)dtype);
    int64_t mask = ((int64_t)1 << bits) - 1, half = (int64_t)1 << (bits - 1);
    x = dync_to_dtype(x, DYNC_I64);
    x = is_signed ? dync_sub(dync_bitwise_and(dync_add(x, half), mask), half)
                  : dync_bitwise_and(x, mask);
    return dync_to_dtype(x, (dync_dtype)dtype);
}

/* Trilu of bools between two casts, as the writer has it: ONNX Runtime may have no kernel of them.
 * NULL: it is none. */
static dync_tensor *dync__oi_cast_bools(const dync__onnx_call *c)
{
    const dync__onnx_step *s = dync__onnx_maker(c, 0), *in = NULL;
    if (s && s->row && strcmp(s->row->name, "Trilu") == 0 && !s->in[0].up && s->in[0].at >= 0) {
        int at = c->frame->body->maker[s->in[0].at];
        in = at < 0 ? NULL : &c->frame->body->step[at];
    }
    if (!in || !in->row || strcmp(in->row->name, "Cast") != 0 || in->in[0].up || in->in[0].at < 0)
        return NULL;
    dync_tensor *x = c->frame->value[in->in[0].at].t;
    const dync__tensor *k = s->node->input.n > 1 && !s->in[1].up && s->in[1].at >= 0
                                ? dync__peek(c->frame->value[s->in[1].at].t)
                                : NULL;
    if (dync__oi_type(x) != DYNC_BOOL || !k || k->flags & DYNC__T_FAKE) return NULL;
    dync__onnx_call of = *c;
    of.step = s;
    of.node = s->node;
    of.row = s->row;
    int by = (int)dync__load_i64(dync__tensor_data(k), k->dtype);
    return dync__oi_int(&of, "upper") ? dync_triu(x, by) : dync_tril(x, by);
}

DYNC__FN dync_status dync__oi_cast(dync__onnx_call *c)
{
    int64_t to = dync__oi_int(c, "to");
    dync_tensor *bools = to == DYNC__ONNX_BOOL ? dync__oi_cast_bools(c) : NULL;
    if (bools) return dync__oi_out(c, 0, bools);
    return dync__oi_out_typed(c, 0, dync__oi_cast_to(c, dync__oi_in(c, 0), to), (int)to);
}
DYNC__FN dync_status dync__oi_cast_like(dync__onnx_call *c)
{
    int to = dync__oi_in_type(c, 1);
    return dync__oi_out_typed(c, 0, dync__oi_cast_to(c, dync__oi_in(c, 0), to), to);
}

/* ---- functions of one number ----------------------------------------------------------------- */

/* which, of x:
 *   LeakyRelu   x < 0: alpha x                      Elu     x < 0: alpha (exp x - 1)
 *   Celu        x < 0: alpha (exp(x / alpha) - 1)   Selu    gamma times (x, or alpha (exp x - 1))
 *   ThresholdedRelu  x > alpha: x, else 0           Swish   x sigmoid(alpha x)
 *   HardSigmoid      alpha x + beta within 0 .. 1
 * other: beta, or gamma */
DYNC__FN dync_tensor *dync__oi_activated(int which, dync_tensor *x, double alpha, double other)
{
    switch (which) {
    case DYNC__OI_LEAKY: return dync_leaky_relu(x, alpha);
    case DYNC__OI_ELU: return dync_elu(x, alpha);
    case DYNC__OI_CELU: return dync_celu(x, alpha);
    case DYNC__OI_SELU:
        /* PyTorch's numbers, which are the defaults */
        if ((float)alpha == 1.6732632f && (float)other == 1.050701f) return dync_selu(x);
        return dync_mul(dync_where(dync_gt(x, 0), x, dync_mul(dync_expm1(x), alpha)), other);
    case DYNC__OI_THRESHOLDED: return dync_where(dync_gt(x, alpha), x, 0);
    case DYNC__OI_HARD_SIGMOID:
        return dync_clamp(dync_add(dync_mul(x, alpha), other), dync_v_float(0), dync_v_float(1));
    default: return alpha == 1 ? dync_silu(x) : dync_mul(x, dync_sigmoid(dync_mul(x, alpha)));
    }
}

/* row->detail: which; Gelu is x Phi(x), or its form with tanh */
DYNC__FN dync_status dync__oi_activation(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    int which = c->row->detail;
    if (which == DYNC__OI_GELU)
        return dync__oi_out(
            c, 0, dync__oi_is(c, "approximate", "tanh") ? dync_gelu_tanh(x) : dync_gelu(x));
    double other = which == DYNC__OI_SELU           ? dync__oi_float(c, "gamma")
                   : which == DYNC__OI_HARD_SIGMOID ? dync__oi_float(c, "beta")
                                                    : 0;
    return dync__oi_out(c, 0, dync__oi_activated(which, x, dync__oi_float(c, "alpha"), other));
}

DYNC__FN dync_status dync__oi_prelu(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *slope = dync__oi_in(c, 1);
    int rank = dync__oi_rank(x);
    dync_dims d = {rank, {0}};
    for (int i = 0; i < rank; i++) d.d[i] = i == 1 ? -1 : 1;
    /* until opset 6 one slope a channel; later it is broadcast as elsewhere */
    if (c->version < 7 && rank > 1 && dync__oi_rank(slope) == 1) slope = dync_reshape(slope, d);
    dync_tensor *below = dync__oi_is_float(x) ? dync_lt(x, 0.0) : dync_lt(x, 0);
    return dync__oi_out(c, 0, slope ? dync_where(below, dync_mul(x, slope), x) : NULL);
}

/* x - bias above lambd, x + bias below -lambd, 0 between. */
DYNC__FN dync_status dync__oi_shrink(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    double l = dync__oi_float(c, "lambd"), b = dync__oi_float(c, "bias");
    dync_tensor *y = dync_where(dync_gt(x, l), dync_sub(x, b), 0);
    y = dync_where(dync_lt(x, -l), dync_add(x, b), y);
    return dync__oi_out(c, 0, y ? dync_to_dtype(y, (dync_dtype)dync__oi_type(x)) : NULL);
}

/* Infinities of the signs that detect_negative and detect_positive ask for. */
DYNC__FN dync_status dync__oi_is_inf(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *y = dync_isinf(x);
    if (!dync__oi_int(c, "detect_negative")) y = dync_logical_and(y, dync_gt(x, 0));
    if (!dync__oi_int(c, "detect_positive")) y = dync_logical_and(y, dync_lt(x, 0));
    return dync__oi_out(c, 0, y);
}

/* Inference keeps everything; with training_mode (input 2) a share of `ratio` of the elements
 * becomes 0 and the others are divided by 1 - ratio, which keeps the mean. Output 1: what was kept.
 */
DYNC__FN dync_status dync__oi_dropout(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *kept = NULL;
    int64_t training = 0;
    double ratio = 0.5;
    if (dync__oi_in(c, 2) && dync__oi_read(c, dync__oi_in(c, 2), 1, &training) < 0)
        return dync_error();
    if (dync__oi_in(c, 1) && dync__oi_read_reals(c, dync__oi_in(c, 1), 1, &ratio) < 0)
        return dync_error();
    if (c->version < 12) ratio = dync__oi_float(c, "ratio");
    if (training && ratio > 0) {
        kept = dync_ge(dync_rand_like(x), ratio);
        x = dync_div(dync_where(kept, x, 0), 1 - ratio);
    } else if (c->n_out > 1) {
        kept = dync__oi_full(dync__oi_sizes(x), 1, DYNC_BOOL);
    }
    DYNC__TRY(dync__oi_out(c, 0, x));
    return c->n_out > 1 ? dync__oi_out(c, 1, kept) : DYNC_OK;
}

/* Softmax, LogSoftmax, Hardmax (1 at the largest element, the first of equal ones). Until opset 12
 * everything from axis (by default 1) on is one row; later it is along the axis (by default the
 * last). */
DYNC__FN dync_status dync__oi_softmax(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *y;
    dync_dims shape = dync__oi_sizes(x);
    int axis;
    int64_t given = dync__oi_has(c, "axis") ? dync__oi_int(c, "axis") : c->version < 13 ? 1 : -1;
    if (c->version < 13 && given == shape.n) given = shape.n - 1;
    if (!dync__oi_axis(c, given, shape.n, &axis)) return dync_error();
    if (c->version < 13) x = dync_flatten(x, axis, -1);
    if (c->row->detail == DYNC__OI_HARDMAX) {
        dync_tensor *at = x ? dync_argmax(x, axis, true) : NULL;
        y = at ? dync_scatter(dync_zeros_like(x), axis, at, 1.0) : NULL;
    } else {
        y = c->row->detail == DYNC__OI_LOG ? dync_log_softmax(x, axis) : dync_softmax(x, axis);
    }
    return dync__oi_out(c, 0, y && c->version < 13 ? dync_reshape(y, shape) : y);
}
