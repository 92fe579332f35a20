/* quantize/pointwise.c: what is I8 element by element, and what only moves. After layers.c. Each
 * rule takes values that are I8 already: converting for its sake alone would cost more. */
#include "../dync.in.h"
#include "../capture/trace.h"
#include "quantize.h"
DYNC__COLD

/* The I8 form of an argument, if the walk has made one; NULL otherwise. */
static const dync__qvalue *dync__quant_have(const dync__quantizer *z, const dync__arg *a)
{
    const dync__qvalue *v = dync__quant_is_real(z, a) ? &z->value[a->as.node->index] : NULL;
    return v && v->q ? v : NULL;
}

/* ---- moves ----------------------------------------------------------------------------------- */

/* Gives elements of its argument unchanged, so that I8 works as well as f32: views, copies, maxima
 * (the scale is positive, so order is kept). */
DYNC__FN bool dync__quant_only_moves(const dync__node *n)
{
    switch (n->op) {
    case DYNC__OP_reshape:
    case DYNC__OP_flatten:
    case DYNC__OP_view:
    case DYNC__OP_contiguous:
    case DYNC__OP_clone:
    case DYNC__OP_detach:
    case DYNC__OP_max_pool2d:
    case DYNC__OP_amax:
    case DYNC__OP_amin:
    case DYNC__OP_pixel_shuffle:
    case DYNC__OP_upsample_nearest2d:
    case DYNC__OP_movedim:
    case DYNC__OP_flip:
    case DYNC__OP_roll:
    case DYNC__OP_repeat:
    case DYNC__OP_unfold: return true;
    case DYNC__OP_dropout: return !n->args[2].as.i;
    default: return n->op >= 0 && dync__op_info(n->op)->cls == DYNC__VIEW;
    }
}

/* The result has the scale of the argument. Dropout out of training is the value itself. */
DYNC__FN bool dync__quant_moves(dync__quantizer *z, const dync__node *n)
{
    const dync__qvalue *x = n->nargs ? dync__quant_have(z, &n->args[0]) : NULL;
    dync__arg args[DYNC__MAX_ARGS], out;
    if (!x || n->nout != 1 || !dync__quant_only_moves(n)) return false;
    for (int i = 1; i < n->nargs; i++) {
        if (n->args[i].kind == DYNC__A_NODE || n->args[i].kind == DYNC__A_LIST) return false;
        args[i] = n->args[i];
    }
    if (n->op == DYNC__OP_dropout) return dync__quant_give(z, n, x->q, x->s);
    args[0] = dync__arg_t(dync__open(x->q));
    if (z->status == DYNC_OK) z->status = dync__quant_call(z, n, args, &out);
    return z->status != DYNC_OK || dync__quant_give(z, n, dync__handle(out.as.t), x->s);
}

/* (self, pad, value) Zeros around a value are its zero point; others need a range of their own. */
DYNC__FN bool dync__quant_pad(dync__quantizer *z, const dync__node *n)
{
    const dync__qvalue *x = n->op == DYNC__OP_pad ? dync__quant_have(z, &n->args[0]) : NULL;
    const dync__arg *pad = &n->args[1], *value = &n->args[2];
    if (!x || pad->kind != DYNC__A_DIMS || value->kind == DYNC__A_NODE) return false;
    if (value->kind != DYNC__A_NONE &&
        (value->kind == DYNC__A_TENSOR || dync__arg_number(value) != 0))
        return false;
    dync_dims d = {pad->n, {0}};
    for (int i = 0; i < d.n; i++) d.d[i] = pad->as.dims[i];
    return dync__quant_give(z, n, dync_pad(x->q, d, x->s.zero), x->s);
}

/* (self, dim, keepdim) Where the greatest is: I8 values are ordered as what they stand for, and
 * equal where that is. */
DYNC__FN bool dync__quant_places(dync__quantizer *z, const dync__node *n)
{
    bool arg = n->op == DYNC__OP_argmax || n->op == DYNC__OP_argmin;
    const dync__qvalue *x = arg ? dync__quant_have(z, &n->args[0]) : NULL;
    if (!x) return false;
    dync__arg args[DYNC__MAX_ARGS];
    for (int i = 1; i < n->nargs; i++) args[i] = n->args[i];
    args[0] = dync__arg_t(dync__open(x->q));
    z->status = dync__quant_call(z, n, args, &z->value[n->index].arg);
    z->report.layers++;
    return true;
}

/* ---- sums, products, lists ------------------------------------------------------------------- */

/* Both operands as I8, if one of them is and the other is a value or a constant. True with
 * z->status set where a conversion failed. */
static bool dync__quant_two(dync__quantizer *z, const dync__node *n, dync__qvalue *a,
                            dync__qvalue *b)
{
    const dync__qvalue *of[2];
    if (n->nargs != 2 || n->info[0].dtype != DYNC_F32) return false;
    if (!dync__quant_have(z, &n->args[0]) && !dync__quant_have(z, &n->args[1])) return false;
    for (int i = 0; i < 2; i++) {
        const dync__tensor *t = dync__quant_constant(z, &n->args[i]);
        if (!(t && t->dtype == DYNC_F32) && !dync__quant_is_real(z, &n->args[i])) return false;
    }
    for (int i = 0; i < 2; i++) {
        of[i] = dync__quant_int8(z, &n->args[i]);
        if (!of[i]) {
            z->status = dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_MEMORY;
            return true;
        }
    }
    *a = *of[0];
    *b = *of[1];
    return true;
}

/* a's centred values times factor, in I32 factor below 1, as a fixed-point multiplier. */
static dync_tensor *dync__quant_scaled(dync__quantizer *z, dync_tensor *t, double factor)
{
    int32_t multiplier, shift;
    dync__quant_multiplier(factor, &multiplier, &shift);
    return t ? dync_rescale(t, dync__quant_number(z, multiplier), dync__quant_number(z, shift))
             : NULL;
}

/* TFLite's ADD: both move to one scale, with 20 more bits. With float_scale both are floats
 * meanwhile. */
DYNC__FN bool dync__quant_add(dync__quantizer *z, const dync__node *n)
{
    dync__qvalue v[2];
    bool sub = n->op == DYNC__OP_sub;
    if ((!sub && n->op != DYNC__OP_add) || !dync__quant_two(z, n, &v[0], &v[1])) return false;
    if (z->status != DYNC_OK) return true;
    dync__qscale to = dync__quant_range(z, dync__quant_last(z, n));
    double twice = 2 * DYNC__MAX(v[0].s.scale, v[1].s.scale), bits = 1 << 20;
    dync_tensor *part[2];
    for (int i = 0; i < 2; i++) {
        double factor = z->options.float_scale ? v[i].s.scale : v[i].s.scale / twice;
        part[i] = dync__quant_centred(&v[i]);
        if (part[i] && z->options.float_scale)
            part[i] = dync_mul(dync_to_dtype(part[i], DYNC_F32), factor);
        else if (part[i])
            part[i] = dync__quant_scaled(z, dync_mul(part[i], (int64_t)bits), factor);
    }
    if (!part[0] || !part[1]) return dync__quant_give(z, n, NULL, to);
    dync_tensor *sum = sub ? dync_sub(part[0], part[1]) : dync_add(part[0], part[1]);
    double factor = z->options.float_scale ? 1 / to.scale : twice / (bits * to.scale);
    return dync__quant_give(z, n, dync__quant_rescale(z, sum, 1, &factor, 0, to), to);
}

/* qy = zy + (qa - za) (qb - zb) sa sb / sy. */
DYNC__FN bool dync__quant_mul(dync__quantizer *z, const dync__node *n)
{
    dync__qvalue a, b;
    if (n->op != DYNC__OP_mul || !dync__quant_two(z, n, &a, &b)) return false;
    if (z->status != DYNC_OK) return true;
    dync__qscale to = dync__quant_range(z, dync__quant_last(z, n));
    double factor = a.s.scale * b.s.scale / to.scale;
    dync_tensor *x = dync__quant_centred(&a), *y = dync__quant_centred(&b);
    x = x && y ? dync_mul(x, y) : NULL;
    return dync__quant_give(z, n, dync__quant_rescale(z, x, 1, &factor, 0, to), to);
}

/* (tensors, dim): all move to the range of the result. A tensor with another scale than the
 * result's is rescaled first. */
DYNC__FN bool dync__quant_cat(dync__quantizer *z, const dync__node *n)
{
    const dync__arg *list = &n->args[0];
    bool any = false, cat = n->op == DYNC__OP_cat,
         real = (cat || n->op == DYNC__OP_stack) && list->kind == DYNC__A_LIST;
    for (int i = 0; real && i < list->n; i++) {
        real = dync__quant_is_real(z, &list->as.list[i]);
        any = any || dync__quant_have(z, &list->as.list[i]);
    }
    if (!real || !any || list->n > DYNC__FEW) return false;
    dync_value items = dync__list_new(list->n);
    dync__qscale to = dync__quant_range(z, dync__quant_last(z, n));
    for (int i = 0; i < list->n; i++) {
        const dync__qvalue *v = dync__quant_int8(z, &list->as.list[i]);
        dync_tensor *q = v ? v->q : NULL;
        if (q && (v->s.scale != to.scale || v->s.zero != to.zero)) {
            double factor = v->s.scale / to.scale;
            q = dync__quant_rescale(z, dync__quant_centred(v), 1, &factor, 0, to);
        }
        if (!q) return dync__quant_give(z, n, NULL, to);
        dync__list_set(items, i, dync_v_tensor(q));
    }
    int dim = (int)n->args[1].as.i;
    dync_tensor *q = cat ? dync_cat(items, dim) : dync_stack(items, dim);
    return dync__quant_give(z, n, q, to);
}

/* ---- functions by table ---------------------------------------------------------------------- */

/* table[q + 128], of the dtype of the table table [256, 1], at: indices 0 .. 255. NULL passes. */
DYNC__FN dync_tensor *dync__quant_look(dync_tensor *table, dync_tensor *at)
{
    dync_tensor *y = table && at ? dync_embedding(table, at) : NULL;
    return y ? dync_squeeze(y, -1) : NULL;
}

/* The node's result for each of the 256 values of x, whatever is being traced. place: the argument
 * that the 256 values stand for. Tracing rests meanwhile: this is computed now, and only its
 * results enter the program. */
static dync_status dync__quant_evaluate(dync__quantizer *z, const dync__node *n, int place,
                                        const dync__qscale *s, double *out)
{
    static const int64_t shape[1] = {256};
    dync__arg args[DYNC__MAX_ARGS], result = {0};
    float x[256];
    for (int i = 0; i < 256; i++) x[i] = (float)(s->scale * (i + DYNC__QUANT_LOW - s->zero));
    dync__tracer *tracer = dync__tracing();
    dync__trace_pause pause = {NULL, false};
    dync__handler *top = NULL;
    if (tracer)
        pause = dync__trace_pause_begin(tracer);
    else
        top = dync__handler_swap(NULL);
    dync_tensor *t = dync__quant_const(z, DYNC_F32, 1, shape, x);
    for (int i = 0; i < n->nargs; i++) args[i] = n->args[i];
    args[place] = dync__arg_t(t ? dync__open(t) : NULL);
    dync_status status = t ? dync__quant_call(z, n, args, &result) : DYNC_ERR_MEMORY;
    if (tracer)
        dync__trace_pause_end(tracer, pause);
    else
        (void)dync__handler_swap(top);
    if (status != DYNC_OK) return status;
    const double *y = dync__quant_numbers(z, result.as.t);
    for (int i = 0; y && i < 256; i++) out[i] = y[i];
    return y ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* Which argument is the one value; -1: there is another, or the operator is none of the kind. */
static int dync__quant_of_one(dync__quantizer *z, const dync__node *n)
{
    int place = -1;
    const dync__op_row *row = n->op >= 0 ? dync__op_info(n->op) : NULL;
    if (!row || row->cls != DYNC__POINTWISE || row->flags & (DYNC__OP_RANDOM | DYNC__OP_BOOL_OUT) ||
        n->nout != 1 || n->info[0].dtype != DYNC_F32)
        return -1;
    for (int i = 0; i < n->nargs; i++) {
        const dync__arg *a = &n->args[i];
        if (a->kind == DYNC__A_LIST) return -1;
        if (a->kind != DYNC__A_NODE) continue;
        if (place >= 0 || !dync__quant_have(z, a)) return -1;
        place = i;
    }
    return place;
}

/* Any function of one value is a lookup in 256 results; NaN becomes the zero point. */
DYNC__FN bool dync__quant_table(dync__quantizer *z, const dync__node *n)
{
    static const int64_t shape[2] = {256, 1};
    double y[256];
    int8_t table[256];
    int place = dync__quant_of_one(z, n);
    if (place < 0) return false;
    const dync__qvalue *x = dync__quant_have(z, &n->args[place]);
    dync__qscale to = dync__quant_range(z, dync__quant_last(z, n));
    z->status = dync__quant_evaluate(z, n, place, &x->s, y);
    if (z->status != DYNC_OK) return true;
    for (int i = 0; i < 256; i++)
        table[i] = (int8_t)(y[i] != y[i] ? to.zero
                                         : dync__quant_round(y[i] / to.scale + to.zero,
                                                             DYNC__QUANT_LOW, DYNC__QUANT_HIGH));
    dync_tensor *at = dync_add(dync_to_dtype(x->q, DYNC_I32), 128);
    return dync__quant_give(
        z, n, dync__quant_look(dync__quant_const(z, DYNC_I8, 2, shape, table), at), to);
}

/* TFLite's SOFTMAX: the result has scale 1/256 and zero -128; exp(-d * scale) in 20 bits. The table
 * holds exp of minus the distance from the largest value, of which there are 256. */
DYNC__FN bool dync__quant_softmax(dync__quantizer *z, const dync__node *n)
{
    static const int64_t shape[2] = {256, 1};
    static const dync__qscale to = {1.0 / 256, -128};
    const dync__qvalue *x = n->op == DYNC__OP_softmax ? dync__quant_have(z, &n->args[0]) : NULL;
    int32_t table[256];
    int dim = (int)n->args[n->nargs > 1].as.i;
    if (!x || n->info[0].lay.ndim == 0) return false;
    for (int i = 0; i < 256; i++) table[i] = (int32_t)rint(ldexp(exp(-x->s.scale * i), 20));
    dync_tensor *q = dync_to_dtype(x->q, DYNC_I32),
                *most = q ? dync_amax(q, dync_shape(dim), true) : NULL;
    dync_tensor *e =
        most ? dync__quant_look(dync__quant_const(z, DYNC_I32, 2, shape, table), dync_sub(most, q))
             : NULL;
    dync_tensor *sum = e ? dync_sum(e, dync_shape(dim), true) : NULL;
    /* e * 256 / sum, halves up */
    e = sum ? dync_add(dync_mul(dync_to_dtype(e, DYNC_I64), 512), sum) : NULL;
    e = e ? dync_sub(dync_floor_divide(e, dync_mul(sum, 2)), 128) : NULL;
    e = e ? dync_to_dtype(dync_clamp(e, -128, 127), DYNC_I8) : NULL;
    return dync__quant_give(z, n, e, to);
}
