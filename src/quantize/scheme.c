/* quantize/scheme.c: scales, zero points and multipliers, and the operators at the borders of what
 * is I8. Before observe.c. */
#include "../dync.in.h"
#include "quantize.h"
DYNC__COLD

/* ---- numbers --------------------------------------------------------------------------------- */

DYNC__FN int dync__quant_round(double x, int low, int high)
{
    x = rint(x);
    return x <= low ? low : x >= high ? high : (int)x;
}

/* 0 is a value of its own: paddings and rectifiers need it exactly. */
DYNC__FN dync__qscale dync__qscale_of(double low, double high)
{
    dync__qscale s = {1, 0};
    low = DYNC__MIN(low, 0);
    high = DYNC__MAX(high, 0);
    if (high - low > 0) s.scale = (high - low) / (DYNC__QUANT_HIGH - DYNC__QUANT_LOW);
    if (!(s.scale > DBL_MIN)) s.scale = 1;
    s.zero = dync__quant_round(DYNC__QUANT_LOW - low / s.scale, DYNC__QUANT_LOW, DYNC__QUANT_HIGH);
    return s;
}

/* multiplier has 31 bits: 2^30 .. 2^31 - 1. Factors too small for any sum become 0; those of 2^31
 * and more, which no scale gives, the largest number. */
DYNC__FN void dync__quant_multiplier(double factor, int32_t *multiplier, int32_t *shift)
{
    int exponent;
    double whole = rint(ldexp(frexp(factor, &exponent), 31));
    if (whole >= 2147483648.0) {
        whole /= 2;
        exponent++;
    }
    *multiplier = (int32_t)whole;
    *shift = 31 - exponent;
    if (*shift > 62) /* less than half a step for any sum */
        *multiplier = 0, *shift = 0;
    if (*shift < 0) *multiplier = INT32_MAX, *shift = 0;
}

DYNC__FN double *dync__quant_numbers(dync__quantizer *z, const dync__tensor *t)
{
    double *out = dync__arena_alloc(&z->arena, (size_t)(t->numel + 1) * sizeof *out);
    dync__tensor *dense = out ? dync__contiguous_copy(t) : NULL;
    if (!dense) return NULL;
    const char *x = dync__tensor_data(dense);
    size_t bytes = dync__dtype_info(t->dtype)->bytes;
    for (int64_t i = 0; i < t->numel; i++) out[i] = dync__load_f64(x + (size_t)i * bytes, t->dtype);
    dync__unref(dense);
    return out;
}

/* data is copied; the tensor lives as long as the quantizer, since the trace and the export refer
 * to it. */
DYNC__FN dync_tensor *dync__quant_const(dync__quantizer *z, int dtype, int ndim,
                                        const int64_t *shape, const void *data)
{
    dync__layout lay;
    if (dync__layout_contiguous(&lay, ndim, shape) != DYNC_OK) return NULL;
    dync__tensor *t = dync__tensor_empty(dtype, 0, &lay);
    if (!t) return NULL;
    memcpy(dync__tensor_data(t), data, (size_t)t->numel * dync__dtype_info(dtype)->bytes);
    if (dync__avec_push(&z->arena, &z->constant, t)) return dync__handle(t);
    dync__unref(t);
    return NULL;
}

/* A whole number, 0-dim: one for all that ask for it. */
DYNC__FN dync_tensor *dync__quant_number(dync__quantizer *z, int32_t value)
{
    for (int i = 0; i < z->constant.n; i++) {
        dync__tensor *t = z->constant.at[i];
        if (t->dtype == DYNC_I32 && t->lay.ndim == 0 && t->flags == 0 &&
            *(const int32_t *)(const void *)dync__tensor_data(t) == value)
            return dync__handle(t);
    }
    return dync__quant_const(z, DYNC_I32, 0, NULL, &value);
}

/* ---- values ---------------------------------------------------------------------------------- */

DYNC__FN const dync__tensor *dync__quant_constant(const dync__quantizer *z, const dync__arg *a)
{
    return a->kind == DYNC__A_NODE ? z->known[a->as.node->index] : NULL;
}

DYNC__FN bool dync__quant_is_real(const dync__quantizer *z, const dync__arg *a)
{
    const dync__node *n = a->kind == DYNC__A_NODE ? a->as.node : NULL;
    return n && n->has_info && n->nout == 1 && n->info[0].dtype == DYNC_F32 && !z->known[n->index];
}

/* Of what was seen in calibration. */
DYNC__FN dync__qscale dync__quant_range(const dync__quantizer *z, const dync__node *n)
{
    const dync__qrange *r = &z->range[n->index];
    return dync__qscale_of(r->low, r->high);
}

/* A value that exists as I8 alone is made a float now, once: (q - zero) scale. NONE: no memory. */
DYNC__FN dync__arg dync__quant_plain(dync__quantizer *z, const dync__node *n)
{
    dync__qvalue *v = &z->value[n->index];
    if (v->arg.kind == DYNC__A_NONE && v->q) {
        dync_tensor *t = dync_to_dtype(v->q, DYNC_F32);
        if (v->s.zero) t = dync_sub(t, (double)v->s.zero);
        t = dync_mul(t, v->s.scale);
        if (t) v->arg = dync__arg_t(dync__open(t));
    }
    return v->arg;
}

/* Rounded now, so that the program holds the I8 form alone. */
static dync_tensor *dync__quant_int8_constant(dync__quantizer *z, const dync__tensor *t,
                                              dync__qscale s)
{
    const double *x = dync__quant_numbers(z, t);
    int8_t *q = dync__arena_alloc(&z->arena, (size_t)t->numel + 1);
    if (!x || !q) return NULL;
    for (int64_t i = 0; i < t->numel; i++)
        q[i] =
            (int8_t)dync__quant_round(x[i] / s.scale + s.zero, DYNC__QUANT_LOW, DYNC__QUANT_HIGH);
    return dync__quant_const(z, DYNC_I8, t->lay.ndim, t->lay.shape, q);
}

/* A float value is quantized by operators in the program, with the range it was seen to have. NULL:
 * no memory, or no such value. */
DYNC__FN const dync__qvalue *dync__quant_int8(dync__quantizer *z, const dync__arg *a)
{
    dync__qvalue *v = &z->value[a->as.node->index];
    const dync__tensor *constant = dync__quant_constant(z, a);
    if (constant && !v->q) {
        v->s = dync__quant_range(z, a->as.node);
        v->q = dync__quant_int8_constant(z, constant, v->s);
    }
    if (!v->q && v->arg.kind == DYNC__A_TENSOR) {
        v->s = dync__quant_range(z, a->as.node);
        dync_tensor *t = dync_round(dync_div(dync__handle(v->arg.as.t), v->s.scale));
        if (v->s.zero) t = dync_add(t, (double)v->s.zero);
        t = dync_clamp(t, (double)DYNC__QUANT_LOW, (double)DYNC__QUANT_HIGH);
        v->q = t ? dync_to_dtype(t, DYNC_I8) : NULL;
    }
    return v->q ? v : NULL;
}

DYNC__FN dync_tensor *dync__quant_centred(const dync__qvalue *v)
{
    dync_tensor *t = dync_to_dtype(v->q, DYNC_I32);
    return v->s.zero ? dync_sub(t, v->s.zero) : t;
}

/* Always true, as rules return it. */
DYNC__FN bool dync__quant_give(dync__quantizer *z, const dync__node *n, dync_tensor *q,
                               dync__qscale s)
{
    if (!q) {
        z->status = dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_MEMORY;
        return true;
    }
    z->value[n->index].q = q;
    z->value[n->index].s = s;
    z->report.layers++;
    return true;
}

/* ---- ends of layers -------------------------------------------------------------------------- */

/* Factors as tensors that lie along dim of the sums. As floats, or one half of each as a
 * fixed-point number: the multiplier, or the shift. One factor is a 0-dim tensor. */
static dync_tensor *dync__quant_factors(dync__quantizer *z, int n, const double *factor, int dtype,
                                        bool shifts, int ndim, int dim)
{
    int64_t shape[DYNC_MAX_DIMS];
    int32_t *word = dync__arena_alloc(&z->arena, (size_t)n * sizeof *word), other;
    if (!word) return NULL;
    for (int i = 0; i < n; i++) {
        float real = (float)factor[i];
        if (dtype == DYNC_F32)
            memcpy(&word[i], &real, sizeof real);
        else if (shifts)
            dync__quant_multiplier(factor[i], &other, &word[i]);
        else
            dync__quant_multiplier(factor[i], &word[i], &other);
    }
    for (int d = 0; d < ndim; d++) shape[d] = d == dim ? n : 1;
    if (n == 1 && dtype == DYNC_I32) return dync__quant_number(z, word[0]);
    return dync__quant_const(z, dtype, n == 1 ? 0 : ndim, shape, word);
}

/* float_scale computes the product in f32, for targets that have it; otherwise it is a 64-bit
 * multiply and a shift. Both round, add the zero point and clamp. */
DYNC__FN dync_tensor *dync__quant_fit(dync__quantizer *z, dync_tensor *sums, int n,
                                      const double *factor, int dim, int dtype, int zero, int low,
                                      int high)
{
    dync__tensor *t = sums ? dync__open(sums) : NULL;
    if (!t) return NULL;
    int ndim = t->lay.ndim;
    if (z->options.float_scale) {
        sums = dync_mul(dync_to_dtype(sums, DYNC_F32),
                        dync__quant_factors(z, n, factor, DYNC_F32, false, ndim, dim));
        sums = dync_round(sums);
        if (zero) sums = dync_add(sums, (double)zero);
        sums = dync_clamp(sums, (double)low, (double)high);
    } else {
        sums = dync_rescale(sums, dync__quant_factors(z, n, factor, DYNC_I32, false, ndim, dim),
                            dync__quant_factors(z, n, factor, DYNC_I32, true, ndim, dim));
        if (zero) sums = dync_add(sums, zero);
        sums = dync_clamp(sums, low, high);
    }
    t = sums ? dync__open(sums) : NULL;
    return !t ? NULL : t->dtype == dtype ? sums : dync_to_dtype(sums, (dync_dtype)dtype);
}

DYNC__FN dync_tensor *dync__quant_rescale(dync__quantizer *z, dync_tensor *sums, int n,
                                          const double *factor, int dim, dync__qscale to)
{
    return dync__quant_fit(z, sums, n, factor, dim, DYNC_I8, to.zero, DYNC__QUANT_LOW,
                           DYNC__QUANT_HIGH);
}

/* Its bounds are numbers, so that the clamping of I8 can do its work. */
static bool dync__quant_is_clamp(const dync__node *n)
{
    if (n->op == DYNC__OP_relu || n->op == DYNC__OP_relu6 || n->op == DYNC__OP_hardtanh)
        return true;
    return n->op == DYNC__OP_clamp && n->args[1].kind != DYNC__A_NODE &&
           n->args[2].kind != DYNC__A_NODE;
}

/* What a clamp cuts off lies outside of the range of what it gives. */
DYNC__FN const dync__node *dync__quant_last(dync__quantizer *z, const dync__node *n)
{
    for (;;) {
        int next = z->user[n->index];
        if (next < 0 || !dync__quant_is_clamp(z->g->node.at[next])) return n;
        n = z->g->node.at[next];
        z->absorbed[next] = true;
    }
}
