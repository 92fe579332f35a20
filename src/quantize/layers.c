/* quantize/layers.c: products, convolutions, lookups: sums of I8 in I32. After observe.c.
 *
 * With real = scale (q - zero) for inputs and scale q for weights (zero is 0, one scale per
 * channel):
 *
 *   y = sum_i x_i w_i + b = sx sw ( sum_i qx_i qw_i  -  zx sum_i qw_i  +  b / (sx sw) )
 *                                   int_mm, int_conv2d  `--- one I32 per channel: add ---'
 *   qy = zy + round( (sums + add) * factor ),   factor = sx sw / sy */
#include "../dync.in.h"
#include "quantize.h"
DYNC__COLD

/* For rules: true, with z->status set. */
static bool dync__quant_no_memory(dync__quantizer *z)
{
    z->status = dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_MEMORY;
    return true;
}

/* The elements of a constant argument, or n times `fill` where it is none. Of the arena; NULL: no
 * memory. */
static double *dync__quant_optional(dync__quantizer *z, const dync__arg *a, int64_t n, double fill)
{
    const dync__tensor *t = dync__quant_constant(z, a);
    if (t) return dync__quant_numbers(z, t);
    double *out = dync__arena_alloc(&z->arena, (size_t)(n + 1) * sizeof *out);
    for (int64_t i = 0; out && i < n; i++) out[i] = fill;
    return out;
}

/* (input, weight, bias, running_mean, running_var, training, momentum, eps) Can this batch norm be
 * folded? It is in evaluation mode and all its vectors are known. */
static bool dync__quant_folds(const dync__quantizer *z, const dync__node *norm)
{
    if (norm->op != DYNC__OP_batch_norm || norm->args[5].as.i) return false;
    for (int i = 1; i < 5; i++)
        if (norm->args[i].kind != DYNC__A_NONE && !dync__quant_constant(z, &norm->args[i]))
            return false;
    return dync__quant_constant(z, &norm->args[3]) && dync__quant_constant(z, &norm->args[4]);
}

/* A batch norm that alone follows scales the weights of each channel. With s = gamma / sqrt(var +
 * eps): weights times s, bias (b - mean) s + beta. The norm's node is absorbed: its value is the
 * layer's. False: no memory. */
static bool dync__quant_fold(dync__quantizer *z, dync__qlayer *l)
{
    int next = z->user[l->node->index];
    const dync__node *norm = next < 0 ? NULL : z->g->node.at[next];
    if (!norm || !dync__quant_folds(z, norm)) return true;
    double *gamma = dync__quant_optional(z, &norm->args[1], l->outs, 1),
           *beta = dync__quant_optional(z, &norm->args[2], l->outs, 0),
           *mean = dync__quant_optional(z, &norm->args[3], l->outs, 0),
           *var = dync__quant_optional(z, &norm->args[4], l->outs, 1);
    if (!l->bias) l->bias = dync__quant_optional(z, &(dync__arg){0}, l->outs, 0);
    if (!gamma || !beta || !mean || !var || !l->bias) return false;
    for (int64_t o = 0; o < l->outs; o++) {
        double s = gamma[o] / sqrt(var[o] + dync__arg_number(&norm->args[7]));
        for (int64_t i = 0; i < l->ins; i++) l->weight[o * l->ins + i] *= s;
        l->bias[o] = (l->bias[o] - mean[o]) * s + beta[o];
    }
    z->absorbed[next] = true;
    l->end = norm;
    return true;
}

static void dync__quant_dead_channel(dync__quantizer *z, const dync__qlayer *l, int64_t channel)
{
    char text[128];
    dync__format(text, sizeof text, "weights of channel %lld of %s are 0", (long long)channel,
                 l->node->name);
    dync__quant_constant_note(z, text);
}

/* Of weights up to `most`: coarser where the bias would not fit into 30 bits, which such weights
 * hardly change. Of zeros any would do: the bias gets 8 bits more than the result. */
static double dync__quant_channel_scale(const dync__qlayer *l, int64_t channel, double most)
{
    double in = l->x->s.scale, bias = l->bias ? fabs(l->bias[channel]) : 0,
           scale = most > DBL_MIN ? most / DYNC__QUANT_HIGH : l->to.scale / (256 * in);
    scale = DYNC__MAX(scale, bias / (in * (1 << 29)));
    return scale > DBL_MIN && scale <= DBL_MAX ? scale : 1;
}

/* Per output channel: the scale is the largest magnitude / 127, weights are rounded to -127 .. 127,
 * and the bias with the zero point's share is rounded to a step of sx sw. DYNC_ERR_VALUE where a
 * weight is not finite. */
DYNC__FN dync_status dync__quant_weights(dync__quantizer *z, dync__qlayer *l, int ndim,
                                         const int64_t *shape)
{
    int8_t *q = dync__arena_alloc(&z->arena, (size_t)(l->outs * l->ins + 1));
    int32_t *add = dync__arena_alloc(&z->arena, (size_t)(l->outs + 1) * sizeof *add);
    l->factor = dync__arena_alloc(&z->arena, (size_t)(l->outs + 1) * sizeof *l->factor);
    if (!q || !add || !l->factor) return DYNC_ERR_MEMORY;
    for (int64_t o = 0; o < l->outs; o++) {
        const double *w = l->weight + o * l->ins;
        double most = 0, sum = 0, in = l->x->s.scale;
        for (int64_t i = 0; i < l->ins; i++) {
            most = DYNC__MAX(most, fabs(w[i]));
            if (!(fabs(w[i]) <= DBL_MAX)) most = HUGE_VAL;
        }
        if (most <= DBL_MIN && !l->spread) dync__quant_dead_channel(z, l, o);
        if (most > DBL_MAX)
            return dync__fail(DYNC_ERR_VALUE,
                              "dync_quantize_program: channel %lld of the weights of %s (%s:%d) is "
                              "not finite",
                              (long long)o, l->node->name,
                              l->node->at.file ? l->node->at.file : "?", l->node->at.line);
        double scale = dync__quant_channel_scale(l, o, most), step = in * scale;
        for (int64_t i = 0; i < l->ins; i++) {
            q[o * l->ins + i] =
                (int8_t)dync__quant_round(w[i] / scale, -DYNC__QUANT_HIGH, DYNC__QUANT_HIGH);
            sum += q[o * l->ins + i];
        }
        double bias = l->bias && step > DBL_MIN ? l->bias[o] / step : 0;
        add[o] = dync__quant_round(rint(bias) - l->x->s.zero * sum, -(1 << 30), 1 << 30);
        l->factor[o] = step / l->to.scale;
    }
    l->q = dync__quant_const(z, DYNC_I8, ndim, shape, q);
    l->add = dync__quant_const(z, DYNC_I32, 1, &l->outs, add);
    return l->q && l->add ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* Order matters: a norm is folded before the weights are rounded, and clamps behind it are absorbed
 * before the range of the result is taken. */
DYNC__FN dync_status dync__quant_layer(dync__quantizer *z, dync__qlayer *l, const dync__arg *x,
                                       int ndim, const int64_t *shape)
{
    l->end = l->node;
    if (!l->weight || !dync__quant_fold(z, l)) return DYNC_ERR_MEMORY;
    l->x = dync__quant_int8(z, x);
    if (!l->x) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_MEMORY;
    l->end = dync__quant_last(z, l->end);
    l->to = dync__quant_range(z, l->end);
    if (l->spread && !l->spread(z, l, l->user)) return DYNC_ERR_MEMORY;
    return dync__quant_weights(z, l, ndim, shape);
}

/* ---- products -------------------------------------------------------------------------------- */

/* Fills *p for the operators that are products with a constant matrix of f32; false: n is none, or
 * the bias is not one number per channel. */
DYNC__FN bool dync__quant_product_of(const dync__quantizer *z, const dync__node *n,
                                     dync__qproduct *p)
{
    static const dync__arg none = {.kind = DYNC__A_NONE};
    switch (n->op) {
    case DYNC__OP_linear:
        *p = (dync__qproduct){&n->args[0], &n->args[1], &n->args[2], false};
        break;
    case DYNC__OP_addmm: *p = (dync__qproduct){&n->args[1], &n->args[2], &n->args[0], true}; break;
    case DYNC__OP_mm:
    case DYNC__OP_matmul: *p = (dync__qproduct){&n->args[0], &n->args[1], &none, true}; break;
    default: return false;
    }
    const dync__tensor *w = dync__quant_constant(z, p->weight),
                       *b = dync__quant_constant(z, p->bias);
    if (!dync__quant_is_real(z, p->x) || !w || w->lay.ndim != 2 || w->dtype != DYNC_F32 ||
        p->x->as.node->info[0].lay.ndim < 1)
        return false;
    int64_t outs = w->lay.shape[p->columns ? 1 : 0];
    return p->bias->kind == DYNC__A_NONE ||
           (b && b->dtype == DYNC_F32 && b->lay.ndim == 1 && b->lay.shape[0] == outs);
}

/* [rows, columns] -> [columns, rows]; NULL passes. */
DYNC__FN double *dync__quant_transposed(dync__quantizer *z, const double *in, int64_t rows,
                                        int64_t columns)
{
    double *out = dync__arena_alloc(&z->arena, (size_t)(rows * columns + 1) * sizeof *out);
    for (int64_t i = 0; in && out && i < rows * columns; i++)
        out[i % columns * rows + i / columns] = in[i];
    return in ? out : NULL;
}

/* Inputs of other ranks than 2 are rows of a matrix meanwhile. */
DYNC__FN bool dync__quant_linear(dync__quantizer *z, const dync__node *n)
{
    dync__qproduct p;
    if (!dync__quant_product_of(z, n, &p)) return false;
    const dync__tensor *w = dync__quant_constant(z, p.weight), *b = dync__quant_constant(z, p.bias);
    int64_t k = w->lay.shape[p.columns ? 0 : 1], outs = w->lay.shape[p.columns ? 1 : 0],
            shape[2] = {outs, k};
    dync__qlayer l = {.node = n, .outs = outs, .ins = k};
    l.weight = dync__quant_numbers(z, w);
    if (p.columns) l.weight = dync__quant_transposed(z, l.weight, k, outs);
    l.bias = b ? dync__quant_numbers(z, b) : NULL;
    z->status = dync__quant_layer(z, &l, p.x, 2, shape);
    if (z->status != DYNC_OK) return true;
    const dync__layout *lay = &n->info[0].lay;
    dync_tensor *x = l.x->q, *y;
    bool flat = p.x->as.node->info[0].lay.ndim == 2;
    if (!flat) x = dync_reshape(x, dync_shape(-1, k));
    y = x ? dync_add(dync_int_mm(x, dync_t(l.q)), l.add) : NULL;
    y = dync__quant_rescale(z, y, (int)outs, l.factor, 1, l.to);
    if (!flat && y) {
        dync_dims d = {lay->ndim, {0}};
        for (int i = 0; i < lay->ndim; i++) d.d[i] = lay->shape[i];
        y = dync_reshape(y, d);
    }
    return dync__quant_give(z, n, y, l.to);
}

/* ---- convolutions ---------------------------------------------------------------------------- */

/* Two numbers of a window: the last one is along the rows of a picture. line: of conv1d, whose
 * picture has one row. */
DYNC__FN dync_dims dync__quant_pair(const dync__arg *a, int64_t otherwise, bool line)
{
    dync_dims d = {2, {otherwise, otherwise}};
    if (a->kind != DYNC__A_DIMS || a->n == 0) return d;
    d.d[0] = line ? otherwise : a->as.dims[0];
    d.d[1] = a->as.dims[a->n - 1];
    return d;
}

/* x with zeros around it; *pad becomes what is left to do. The convolution pads with 0, which
 * stands for a real 0 only where the zero point is 0: otherwise the padding is done here, with the
 * zero point. */
static dync_tensor *dync__quant_padded(const dync__qvalue *x, dync_tensor *q, dync_dims *pad)
{
    int64_t h = pad->d[0], w = pad->d[1];
    if (x->s.zero == 0 || (h == 0 && w == 0)) return q;
    pad->d[0] = pad->d[1] = 0;
    return dync_pad(q, dync_shape(w, w, h, h), x->s.zero);
}

/* A picture of rank 4: of [C, H, W], or of a line [N, C, L]. */
DYNC__FN dync_tensor *dync__quant_lifted(dync_tensor *q, int ndim, bool line)
{
    return line ? dync_unsqueeze(q, 2) : ndim == 3 ? dync_unsqueeze(q, 0) : q;
}
/* Undoes dync__quant_lifted. */
DYNC__FN dync_tensor *dync__quant_lowered(dync_tensor *q, int ndim, bool line)
{
    return line ? dync_squeeze(q, 2) : ndim == 3 ? dync_squeeze(q, 0) : q;
}

/* conv1d is a convolution of one row. */
DYNC__FN bool dync__quant_conv(dync__quantizer *z, const dync__node *n)
{
    bool line = n->op == DYNC__OP_conv1d;
    if ((!line && n->op != DYNC__OP_conv2d) || !dync__quant_is_real(z, &n->args[0])) return false;
    const dync__tensor *w = dync__quant_constant(z, &n->args[1]),
                       *b = dync__quant_constant(z, &n->args[2]);
    int ndim = n->info[0].lay.ndim;
    if (!w || w->dtype != DYNC_F32 || (!b && n->args[2].kind != DYNC__A_NONE) ||
        (line && ndim != 3))
        return false;
    const int64_t *s = w->lay.shape;
    int64_t shape[4] = {s[0], s[1], line ? 1 : s[2], line ? s[2] : s[3]};
    dync__qlayer l = {.node = n, .outs = s[0], .ins = shape[1] * shape[2] * shape[3]};
    l.weight = dync__quant_numbers(z, w);
    l.bias = b ? dync__quant_numbers(z, b) : NULL;
    z->status = dync__quant_layer(z, &l, &n->args[0], 4, shape);
    if (z->status != DYNC_OK) return true;
    dync_dims stride = dync__quant_pair(&n->args[3], 1, line),
              pad = dync__quant_pair(&n->args[4], 0, line),
              dilation = dync__quant_pair(&n->args[5], 1, line);
    dync_tensor *y = dync__quant_lifted(l.x->q, ndim, line);
    y = y ? dync__quant_padded(l.x, y, &pad) : NULL;
    y = y ? dync_int_conv2d(y, l.q, l.add, stride, pad, dilation, (int)n->args[6].as.i) : NULL;
    y = dync__quant_rescale(z, y, (int)l.outs, l.factor, 1, l.to);
    return dync__quant_give(z, n, y ? dync__quant_lowered(y, ndim, line) : NULL, l.to);
}

/* ---- lookups --------------------------------------------------------------------------------- */

/* The table becomes I8 with one scale, which is that of the result. */
DYNC__FN bool dync__quant_embedding(dync__quantizer *z, const dync__node *n)
{
    const dync__tensor *w = n->op == DYNC__OP_embedding ? dync__quant_constant(z, &n->args[0])
                                                        : NULL;
    if (!w || w->dtype != DYNC_F32) return false;
    const dync__qvalue *table = dync__quant_int8(z, &n->args[0]);
    if (!table) return dync__quant_no_memory(z);
    dync__arg at = n->args[1].kind == DYNC__A_NODE ? dync__quant_plain(z, n->args[1].as.node)
                                                   : n->args[1];
    if (at.kind != DYNC__A_TENSOR) return false;
    return dync__quant_give(z, n, dync_embedding(table->q, dync__handle(at.as.t)), table->s);
}
