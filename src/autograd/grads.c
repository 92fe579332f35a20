/* autograd/grads.c: the table of gradient rules, what rules are written with, and the rules of
 * pointwise operators. After tape.c, which calls them with grad mode as the walk has it: rules are
 * operator calls, so that one text serves eager backward, the joint graph of AOT and double
 * backward. Formulas are those of PyTorch's tools/autograd/derivatives.yaml, in its order of
 * operations.
 *
 * How a rule reads: gy is the gradient of the output, x or a, b the arguments, y the output. It
 * sets a gradient for each argument that needs one:
 *
 *   y = a b     ga = gy b     gb = gy a        dync__ga_set(g, 0, dync_mul(gy, b)), ..
 *
 * dync__ga_set drops what is not needed, sums over dims that were broadcast, casts to the
 * argument's dtype, and turns a NULL of an operator that failed into its error: so a rule checks
 * nothing itself. dync__ga_needed only saves work. */
#include "../dync.in.h"
#include "grads.h"
DYNC__LEAN

/* ---- the table ------------------------------------------------------------------------------- */

#define DYNC__X(rule, n_diff, keep0, keep1, keep2, keep3)  \
    DYNC__RULE_AT(rule)                                    \
    DYNC__DATA const dync__grad_rule dync__rule_##rule = { \
        DYNC__RULE_FN(rule), n_diff, {keep0, keep1, keep2, keep3}, NULL};
DYNC__GRAD_RULES(DYNC__X)
#undef DYNC__X

/* NULL: the operator has none; its decomposition is differentiated, or it has no gradient. */
DYNC__FN const dync__grad_rule *dync__grad_rule_of(int op)
{
    const dync__row *row = dync__op_row_of(op);
    return row ? row->rule : NULL;
}
DYNC__FN const dync__grad_rule *dync__grad_rule_zero(void) { return &dync__rule_g_zero; }

/* May a tensor that requires grad go through this operator? Those that write in place are as
 * differentiable as the operator they write for. */
DYNC__FN bool dync__op_differentiable(int op)
{
    const dync__op_row *row = dync__op_info(op);
    if (row->flags & (DYNC__OP_NONDIFF | DYNC__OP_OPAQUE) || row->cls == DYNC__FACTORY ||
        row->cls == DYNC__EFFECT)
        return false;
    if (row->cls == DYNC__INPLACE) return row->inplace_of >= 0;
    return dync__grad_rule_of(op) || row->decompose;
}

/* ---- what rules are written with ------------------------------------------------------------- */

/* A tensor comes with its history where the walk records (create_graph). Reading a tensor that the
 * row's keep columns do not name is an error of the rule. */
DYNC__FN dync_value dync__ga(dync__grad *g, int place)
{
    const dync__arg *a = &g->call->args[place];
    switch (a->kind) {
    case DYNC__A_TENSOR: return dync_v_tensor(dync__grad_arg(g, dync__grad_index(g, place)));
    case DYNC__A_INT: return dync_v_int(a->as.i);
    case DYNC__A_FLOAT: return dync_v_float(a->as.f);
    case DYNC__A_BOOL: return dync_v_bool(a->as.i != 0);
    default: return DYNC_NONE;
    }
}

DYNC__FN dync_tensor *dync__ga_tensor(dync__grad *g, int place)
{
    return g->call->args[place].kind == DYNC__A_TENSOR
               ? dync__grad_arg(g, dync__grad_index(g, place))
               : NULL;
}

DYNC__FN bool dync__ga_needed(const dync__grad *g, int place)
{
    int i = dync__grad_index(g, place);
    return i >= 0 && g->needed[i];
}

DYNC__FN dync_status dync__ga_set(dync__grad *g, int place, dync_tensor *h)
{
    return dync__grad_set(g, dync__grad_index(g, place), h);
}
DYNC__FN dync_dims dync__ga_shape(const dync__grad *g, int place)
{
    return dync__grad_shape(g, dync__grad_index(g, place));
}

/* An argument that is a list of ints; none is an empty list. */
DYNC__FN dync_dims dync__ga_dims(const dync__grad *g, int place)
{
    const dync__arg *a = &g->call->args[place];
    dync_dims dims = {0};
    dims.n = a->n;
    for (int i = 0; i < a->n; i++) dims.d[i] = a->as.dims[i];
    return dims;
}

DYNC__FN dync_tensor *dync__g_call(int op, int nargs, dync__arg *args)
{
    return (dync__op_call)(op, nargs, args, dync__tls.at);
}

/* An operator of two tensors and nothing else. */
DYNC__FN dync_tensor *dync__g_call2(int op, dync_tensor *a, dync_tensor *b)
{
    dync__arg args[2];
    args[0] = dync__arg_h(a);
    args[1] = dync__arg_h(b);
    return dync__g_call(op, 2, args);
}

DYNC__FN dync_tensor *dync__g_wide(dync_tensor *h)
{
    const dync__tensor *t = dync__open(h);
    return t && dync__dtype_info(t->dtype)->kind == 'f' && dync__dtype_info(t->dtype)->bytes == 2
               ? dync_to_dtype(h, DYNC_F32)
               : h;
}

/* As dync__ga, a tensor of 16-bit floats in f32. */
static dync_value dync__ga_wide(dync__grad *g, int place)
{
    dync_tensor *t = dync__ga_tensor(g, place);
    return t ? dync_v_tensor(dync__g_wide(t)) : dync__ga(g, place);
}

/* ---- of two ---------------------------------------------------------------------------------- */

/* y = a + b. The sum over broadcast dims is left to dync__ga_set. */
DYNC__FN dync_status dync__g_add(dync__grad *g)
{
    DYNC__TRY(dync__ga_set(g, 0, dync__grads_gy(g)));
    return dync__ga_set(g, 1, dync__grads_gy(g));
}

/* y = a - b: ga = gy, gb = -gy. */
DYNC__FN dync_status dync__g_sub(dync__grad *g)
{
    DYNC__TRY(dync__ga_set(g, 0, dync__grads_gy(g)));
    return dync__ga_needed(g, 1) ? dync__ga_set(g, 1, dync_neg(dync__grads_gy(g))) : DYNC_OK;
}

DYNC__FN dync_status dync__g_mul(dync__grad *g)
{
    dync_tensor *gy = dync__grads_gy(g);
    if (dync__ga_needed(g, 0)) DYNC__TRY(dync__ga_set(g, 0, dync_mul(gy, dync__ga(g, 1))));
    return dync__ga_needed(g, 1) ? dync__ga_set(g, 1, dync_mul(gy, dync__ga(g, 0))) : DYNC_OK;
}

/* y = a / b: ga = gy / b, gb = -gy (a / b) / b. */
DYNC__FN dync_status dync__g_div(dync__grad *g)
{
    dync_tensor *gy = dync__grads_gy(g);
    if (dync__ga_needed(g, 0)) DYNC__TRY(dync__ga_set(g, 0, dync_div(gy, dync__ga(g, 1))));
    if (!dync__ga_needed(g, 1)) return DYNC_OK;
    dync_value b = dync__ga(g, 1);
    return dync__ga_set(g, 1, dync_mul(dync_neg(gy), dync_div(dync_div(dync__ga(g, 0), b), b)));
}

/* x^p: p x^(p-1), and 0 where p is 0, also at x = 0. */
static dync_tensor *dync__g_pow_self(dync__grad *g)
{
    dync_tensor *gy = dync__grads_gy(g), *x = dync__ga_tensor(g, 0);
    dync_value p = dync__ga(g, 1);
    if (p.kind != DYNC_KIND_TENSOR) {
        double number = dync__ga_float(g, 1);
        if (number <= 0 && number >= 0) return dync_zeros_like(gy);
        dync_value less = p.kind == DYNC_KIND_FLOAT ? dync_v_float(number - 1)
                                                    : dync_v_int(dync__ga_int(g, 1) - 1);
        return dync_mul(gy, dync_mul(p, dync_pow(x, less)));
    }
    bool truth = dync__grad_dtype(g, 1) == DYNC_BOOL; /* there is no subtraction of bools */
    dync_tensor *less = dync_sub(truth ? dync_v_tensor(dync_to_dtype(p.as.t, DYNC_I64)) : p, 1);
    return dync_where(dync_eq(p, 0), 0, dync_mul(gy, dync_mul(p, dync_pow(x, less))));
}

/* x^p in p: y log x, and 0 where x is 0 and p is not negative. */
static dync_tensor *dync__g_pow_exponent(dync__grad *g)
{
    dync_tensor *gy = dync__grads_gy(g), *y = dync__grad_output(g, 0), *p = dync__ga_tensor(g, 1);
    dync_value x = dync__ga(g, 0);
    if (x.kind != DYNC_KIND_TENSOR) {
        double number = dync__ga_float(g, 0);
        dync_tensor *h = dync_mul(gy, dync_mul(y, log(number)));
        return number < 0 || number > 0 ? h : dync_where(dync_ge(p, 0), 0, h);
    }
    dync_tensor *flat = dync_logical_and(dync_eq(x, 0), dync_ge(p, 0));
    return dync_where(flat, 0, dync_mul(gy, dync_mul(y, dync_log(x.as.t))));
}

/* y = a^b; each half has its own exceptions at 0. */
DYNC__FN dync_status dync__g_pow(dync__grad *g)
{
    if (dync__ga_needed(g, 0)) DYNC__TRY(dync__ga_set(g, 0, dync__g_pow_self(g)));
    return dync__ga_needed(g, 1) ? dync__ga_set(g, 1, dync__g_pow_exponent(g)) : DYNC_OK;
}

/* 0 at (0, 0), as in PyTorch. */
DYNC__FN dync_status dync__g_atan2(dync__grad *g)
{
    dync_value y = dync__ga(g, 0), x = dync__ga(g, 1);
    dync_tensor *square = dync_add(dync_mul(y, y), dync_mul(x, x));
    /* in this order, as 16-bit floats overflow: PyTorch's */
    dync_tensor *over = dync_reciprocal(dync_masked_fill(square, dync_eq(square, 0), HUGE_VAL)),
                *gy = dync__grads_gy(g);
    if (dync__ga_needed(g, 0)) DYNC__TRY(dync__ga_set(g, 0, dync_mul(dync_mul(gy, x), over)));
    return dync__ga_needed(g, 1) ? dync__ga_set(g, 1, dync_mul(dync_mul(gy, dync_mul(y, -1)), over))
                                 : DYNC_OK;
}

/* y = a log(b): ga = gy log(b), but 0 where a is 0 and b has no logarithm; gb = gy a / b, which
 * is NaN where both are 0. */
DYNC__FN dync_status dync__g_xlogy(dync__grad *g)
{
    dync_tensor *gy = dync__grads_gy(g), *a = dync__ga_tensor(g, 0), *b = dync__ga_tensor(g, 1);
    if (dync__ga_needed(g, 0)) {
        dync_tensor *none = dync_logical_and(dync_eq(a, 0), dync_le(b, 0));
        DYNC__TRY(dync__ga_set(g, 0, dync_masked_fill(dync_xlogy(gy, b), none, 0)));
    }
    return dync__ga_needed(g, 1) ? dync__ga_set(g, 1, dync_div(dync_mul(gy, a), b)) : DYNC_OK;
}

/* y = a - trunc(a / b) b: ga = gy, gb = -gy trunc(a / b). */
DYNC__FN dync_status dync__g_fmod(dync__grad *g)
{
    DYNC__TRY(dync__ga_set(g, 0, dync__grads_gy(g)));
    if (!dync__ga_needed(g, 1)) return DYNC_OK;
    dync_tensor *quotient = dync_div(dync__ga_wide(g, 0), dync__ga_wide(g, 1));
    /* flat, also where y is 0 and it is infinite */
    if (!dync__grad_is_off()) quotient = dync_detach(quotient);
    return dync__ga_set(g, 1, dync_mul(dync_neg(dync__grads_gy(g)), dync_trunc(quotient)));
}

/* y = a - floor(a / b) b: ga = gy, gb = -gy floor(a / b). */
DYNC__FN dync_status dync__g_remainder(dync__grad *g)
{
    DYNC__TRY(dync__ga_set(g, 0, dync__grads_gy(g)));
    if (!dync__ga_needed(g, 1)) return DYNC_OK;
    dync_tensor *quotient = dync_floor_divide(dync__ga_wide(g, 0), dync__ga_wide(g, 1));
    /* flat: floor_divide itself cannot be differentiated */
    if (!dync__grad_is_off()) quotient = dync_detach(quotient);
    return dync__ga_set(g, 1, dync_mul(dync_neg(dync__grads_gy(g)), quotient));
}

/* Argument i in f32 at least: there is no subtraction of bools either. */
static dync_tensor *dync__g_wide_number(dync__grad *g, int i)
{
    dync_tensor *t = dync__ga_tensor(g, i);
    return dync__grad_dtype(g, i) == DYNC_BOOL ? dync_to_dtype(t, DYNC_F32) : dync__g_wide(t);
}

/* By the difference, which is exact where exp(a - y) is not: y is rounded. */
DYNC__FN dync_status dync__g_logaddexp(dync__grad *g)
{
    dync_tensor *gy = dync__g_wide(dync__grads_gy(g)), *a = dync__g_wide_number(g, 0),
                *b = dync__g_wide_number(g, 1);
    if (dync__ga_needed(g, 0))
        DYNC__TRY(dync__ga_set(g, 0, dync_mul(gy, dync_sigmoid(dync_sub(a, b)))));
    return dync__ga_needed(g, 1) ? dync__ga_set(g, 1, dync_mul(gy, dync_sigmoid(dync_sub(b, a))))
                                 : DYNC_OK;
}

/* (x - y) / (x (1 - x)), whose divisor is held at 1e-12 from below, as in PyTorch: where x is 0 or
 * 1 the loss is flat and its logarithms' slopes are infinite. */
DYNC__FN dync_status dync__g_binary_cross_entropy(dync__grad *g)
{
    dync_tensor *gy = dync__g_wide(dync__grads_gy(g)), *x = dync__g_wide(dync__ga_tensor(g, 0)),
                *y = dync__g_wide(dync__ga_tensor(g, 1));
    if (dync__ga_needed(g, 0)) {
        dync_tensor *below = dync_clamp(dync_mul(dync_sub(1, x), x), 1e-12, DYNC_NONE);
        DYNC__TRY(dync__ga_set(g, 0, dync_div(dync_mul(gy, dync_sub(x, y)), below)));
    }
    if (!dync__ga_needed(g, 1)) return DYNC_OK;
    return dync__ga_set(g, 1, dync_mul(gy, dync_sub(dync_log1p(dync_neg(x)), dync_log(x))));
}

/* The larger (or smaller) of the argument at place 0 and that at `other`: equal ones share the
 * gradient, and both have it where one is NaN. */
static dync_status dync__g_extremum(dync__grad *g, int other, bool larger)
{
    dync_tensor *gy = dync__grads_gy(g);
    dync_value a = dync__ga(g, 0), b = dync__ga(g, other);
    dync_tensor *shared = dync_where(dync_eq(a, b), dync_div(gy, 2), gy), *less = dync_lt(a, b),
                *more = dync_gt(a, b);
    if (dync__ga_needed(g, 0))
        DYNC__TRY(dync__ga_set(g, 0, dync_masked_fill(shared, larger ? less : more, 0)));
    return dync__ga_needed(g, other)
               ? dync__ga_set(g, other, dync_masked_fill(shared, larger ? more : less, 0))
               : DYNC_OK;
}

DYNC__FN dync_status dync__g_maximum(dync__grad *g) { return dync__g_extremum(g, 1, true); }
DYNC__FN dync_status dync__g_minimum(dync__grad *g) { return dync__g_extremum(g, 1, false); }

/* `and` of masks, the first of which may be missing. */
static dync_tensor *dync__g_both(dync_tensor *a_or_null, dync_tensor *b)
{
    return a_or_null ? dync_logical_and(a_or_null, b) : b;
}

/* A number that x meets takes all of the gradient, a tensor half of it (where the bounds are
 * apart). */
DYNC__FN dync_status dync__g_clamp(dync__grad *g)
{
    dync_tensor *gy = dync__grads_gy(g), *x = dync__ga_tensor(g, 0), *inside = NULL, *apart = NULL,
                *half = NULL, *gx = gy;
    dync_value bound[2] = {dync__ga(g, 1), dync__ga(g, 2)};
    bool low = bound[0].kind != DYNC_KIND_NONE, high = bound[1].kind != DYNC_KIND_NONE;
    if (low != high && bound[high].kind == DYNC_KIND_TENSOR)
        return dync__g_extremum(g, high ? 2 : 1, low);
    if (low) inside = dync_gt(x, bound[0]);
    if (high) inside = dync__g_both(inside, dync_lt(x, bound[1]));
    if (inside) gx = dync_where(inside, gy, 0);
    for (int i = 0; i < 2; i++) {
        dync_tensor *here, *met;
        if (bound[i].kind != DYNC_KIND_TENSOR) continue;
        if (low && high && !apart) apart = dync_lt(bound[0], bound[1]);
        if (!half) half = dync_mul(gy, 0.5);
        met = dync__g_both(apart, dync_eq(x, bound[i]));
        gx = dync_where(met, half, gx);
        if (!dync__ga_needed(g, i + 1)) continue;
        here = i ? dync_gt(x, bound[1]) : dync__g_both(apart, dync_lt(x, bound[0]));
        if (i && apart) here = dync_logical_or(here, dync_gt(bound[0], bound[1]));
        DYNC__TRY(dync__ga_set(g, i + 1, dync_where(met, half, dync_where(here, gy, 0))));
    }
    return dync__ga_needed(g, 0) ? dync__ga_set(g, 0, gx) : DYNC_OK;
}

/* y = x + v a b with the number v: ga = gy b v, gb = gy a v. */
DYNC__FN dync_status dync__g_addcmul(dync__grad *g)
{
    dync_tensor *gy = dync__grads_gy(g);
    DYNC__TRY(dync__ga_set(g, 0, gy));
    if (dync__ga_needed(g, 1))
        DYNC__TRY(dync__ga_set(g, 1, dync_mul(gy, dync_mul(dync__ga(g, 2), dync__ga(g, 3)))));
    return dync__ga_needed(g, 2)
               ? dync__ga_set(g, 2, dync_mul(gy, dync_mul(dync__ga(g, 1), dync__ga(g, 3))))
               : DYNC_OK;
}

/* y = x + v a / b: ga = gy v / b, gb = -gy a v / b^2. */
DYNC__FN dync_status dync__g_addcdiv(dync__grad *g)
{
    dync_tensor *gy = dync__grads_gy(g);
    DYNC__TRY(dync__ga_set(g, 0, gy));
    if (dync__ga_needed(g, 1))
        DYNC__TRY(dync__ga_set(g, 1, dync_mul(gy, dync_div(dync__ga(g, 3), dync__ga(g, 2)))));
    if (!dync__ga_needed(g, 2)) return DYNC_OK;
    dync_value b = dync__ga(g, 2);
    return dync__ga_set(
        g, 2,
        dync_mul(dync_neg(gy), dync_div(dync_mul(dync__ga(g, 1), dync__ga(g, 3)), dync_mul(b, b))));
}

/* y = a + w (b - a): ga = gy (1 - w), gb = gy w, gw = gy (b - a). A number w may be symbolic, so 1
 * - w goes through dync__sf. */
DYNC__FN dync_status dync__g_lerp(dync__grad *g)
{
    dync_tensor *gy = dync__grads_gy(g);
    dync_value weight, rest;
    if (dync__ga_needed(g, 0) || dync__ga_needed(g, 1)) {
        weight = dync__ga(g, 2); /* saved where one of these is wanted */
        if (weight.kind == DYNC_KIND_TENSOR)
            rest = dync_v_tensor(dync_sub(1, weight));
        else
            rest = dync_v_float(
                dync__sf(DYNC__SF_SUB, 1,
                         weight.kind == DYNC_KIND_FLOAT ? weight.as.f : dync__ga_float(g, 2)));
        if (dync__ga_needed(g, 0)) DYNC__TRY(dync__ga_set(g, 0, dync_mul(gy, rest)));
        if (dync__ga_needed(g, 1)) DYNC__TRY(dync__ga_set(g, 1, dync_mul(gy, weight)));
    }
    return dync__ga_needed(g, 2)
               ? dync__ga_set(g, 2, dync_mul(gy, dync_sub(dync__ga(g, 1), dync__ga(g, 0))))
               : DYNC_OK;
}

/* Where the mask is set y is the value, elsewhere x. */
DYNC__FN dync_status dync__g_masked_fill(dync__grad *g)
{
    dync_tensor *gy = dync__grads_gy(g), *mask = dync__ga_tensor(g, 1);
    if (dync__ga_needed(g, 0)) DYNC__TRY(dync__ga_set(g, 0, dync_masked_fill(gy, mask, 0)));
    return dync__ga_needed(g, 2) ? dync__ga_set(g, 2, dync_where(mask, gy, 0)) : DYNC_OK;
}

DYNC__FN dync_status dync__g_where(dync__grad *g)
{
    dync_tensor *gy = dync__grads_gy(g), *condition = dync__ga_tensor(g, 0);
    if (dync__ga_needed(g, 1)) DYNC__TRY(dync__ga_set(g, 1, dync_where(condition, gy, 0)));
    return dync__ga_needed(g, 2) ? dync__ga_set(g, 2, dync_where(condition, 0, gy)) : DYNC_OK;
}

/* copy, fill: all comes from the second argument; what is summed is widened before. */
DYNC__FN dync_status dync__g_copy(dync__grad *g)
{
    dync_tensor *gy = dync__grads_gy(g);
    int i = dync__grad_index(g, 1);
    if (dync__ga_needed(g, 0)) DYNC__TRY(dync__ga_set(g, 0, dync_zeros_like(gy)));
    bool wide = dync__ga_needed(g, 1) && dync__dtype_info(dync__grad_dtype(g, i))->bytes > 2;
    return dync__ga_set(g, 1, wide ? dync__g_wide(gy) : gy);
}
