/* quantize/transposed.c: transposed convolutions as convolutions. After pool.c.
 *
 * Stride s: outputs fall into s phases a dim, output o = m s + r - padding, and each phase is a
 * convolution of its own with every s-th tap of the window. All phases are channels of one
 * convolution; its picture of s s times the channels is then shuffled apart.
 *
 *   taps u of a window of 5, s = 2:    phase 0: u = 4 2 0    phase 1: u = 3 1 (and a 0)
 *   y[m s + r - padding] = sum_t x[m - t] w[t s + r] */
#include "../dync.in.h"
#include "quantize.h"
DYNC__COLD

/* (input, weight, bias, stride, padding, output_padding, groups, dilation) in numbers; taps: of one
 * phase. */
typedef struct dync__qphases {
    int64_t stride[2], pad[2], dilation[2], window[2], taps[2], groups, outs, ins;
} dync__qphases;

static bool dync__quant_phases_of(const dync__quantizer *z, const dync__node *n, dync__qphases *p)
{
    const dync__tensor *w = dync__quant_constant(z, &n->args[1]);
    if (!w || w->dtype != DYNC_F32 || w->lay.ndim != 4) return false;
    dync_dims stride = dync__quant_pair(&n->args[3], 1, false),
              pad = dync__quant_pair(&n->args[4], 0, false),
              dilation = dync__quant_pair(&n->args[7], 1, false);
    p->groups = n->args[6].as.i;
    p->outs = w->lay.shape[1] * p->groups;
    p->ins = w->lay.shape[0] / p->groups;
    for (int i = 0; i < 2; i++) {
        p->stride[i] = stride.d[i], p->pad[i] = pad.d[i], p->dilation[i] = dilation.d[i];
        p->window[i] = w->lay.shape[2 + i];
        if (p->stride[i] < 1 || p->window[i] < 1) return false;
        p->taps[i] = (p->window[i] - 1) * p->dilation[i] / p->stride[i] + 1;
    }
    return p->outs > 0 && p->ins > 0;
}

/* The weights [C, out / groups, KH, KW] as those of a convolution: [out, C / groups, KH, KW]. Of
 * the arena; NULL: no memory. */
static double *dync__quant_turned(dync__quantizer *z, const dync__qphases *p, const double *w)
{
    int64_t area = p->window[0] * p->window[1], per = p->outs / p->groups;
    double *out = dync__arena_alloc(&z->arena, (size_t)(p->outs * p->ins * area) * sizeof *out);
    for (int64_t o = 0; w && out && o < p->outs; o++)
        for (int64_t c = 0; c < p->ins; c++)
            memcpy(out + (o * p->ins + c) * area,
                   w + ((o / per * p->ins + c) * per + o % per) * area, (size_t)area * sizeof *out);
    return w ? out : NULL;
}

/* The tap of the window that stands at place v of phase r; -1: none. Convolutions do not turn their
 * windows, so the first place is the last tap. */
static int64_t dync__quant_tap(const dync__qphases *p, int i, int64_t r, int64_t v)
{
    int64_t at = (p->taps[i] - 1 - v) * p->stride[i] + r;
    return at % p->dilation[i] == 0 && at / p->dilation[i] < p->window[i] ? at / p->dilation[i]
                                                                          : -1;
}

/* Phases r of channel o from its window: [phases][C / groups][taps]. */
static void dync__quant_spread_channel(const dync__qphases *p, const double *w, double *out)
{
    int64_t area = p->window[0] * p->window[1], taps = p->taps[0] * p->taps[1];
    for (int64_t r = 0; r < p->stride[0] * p->stride[1]; r++)
        for (int64_t c = 0; c < p->ins; c++)
            for (int64_t v = 0; v < taps; v++) {
                int64_t i = dync__quant_tap(p, 0, r / p->stride[1], v / p->taps[1]),
                        j = dync__quant_tap(p, 1, r % p->stride[1], v % p->taps[1]);
                *out++ = i < 0 || j < 0 ? 0 : w[c * area + i * p->window[1] + j];
            }
}

/* spread of such a layer, called after a norm was folded into its weights */
static bool dync__quant_spread(dync__quantizer *z, dync__qlayer *l, const void *user)
{
    const dync__qphases *p = user;
    int64_t phases = p->stride[0] * p->stride[1], ins = p->ins * p->taps[0] * p->taps[1];
    double *w = dync__arena_alloc(&z->arena, (size_t)(l->outs * phases * ins) * sizeof *w),
           *b = dync__arena_alloc(&z->arena, (size_t)(l->outs * phases) * sizeof *b);
    if (!w || !b) return false;
    for (int64_t o = 0; o < l->outs; o++) {
        dync__quant_spread_channel(p, l->weight + o * l->ins, w + o * phases * ins);
        for (int64_t r = 0; l->bias && r < phases; r++) b[o * phases + r] = l->bias[o];
    }
    l->weight = w;
    l->bias = l->bias ? b : NULL;
    l->outs *= phases;
    l->ins = ins;
    return true;
}

/* [N, out s s, M, M] -> [N, out, M s, M s], cut to what the operator gives. */
static dync_tensor *dync__quant_shuffled(dync_tensor *q, const dync__qphases *p,
                                         const int64_t *size)
{
    int64_t m[2] = {dync_size(q, 2), dync_size(q, 3)};
    q = dync_reshape(q, dync_shape(-1, p->outs, p->stride[0], p->stride[1], m[0], m[1]));
    q = q ? dync_permute(q, dync_shape(0, 1, 4, 2, 5, 3)) : NULL;
    q = q ? dync_reshape(q, dync_shape(-1, p->outs, m[0] * p->stride[0], m[1] * p->stride[1]))
          : NULL;
    q = q ? dync_narrow(q, 2, p->pad[0], size[0]) : NULL;
    return q ? dync_narrow(q, 3, p->pad[1], size[1]) : NULL;
}

/* The picture with taps - 1 places before it, and after it what the last output wants. */
static dync_tensor *dync__quant_room(const dync__qvalue *x, dync_tensor *q, const dync__qphases *p,
                                     const int64_t *size)
{
    int64_t after[2];
    for (int i = 0; i < 2; i++) {
        int64_t m = (size[i] + p->pad[i] + p->stride[i] - 1) / p->stride[i];
        after[i] = m - dync_size(q, 2 + i); /* negative: cut off */
    }
    return dync_pad(q, dync_shape(p->taps[1] - 1, after[1], p->taps[0] - 1, after[0]), x->s.zero);
}

DYNC__FN bool dync__quant_conv_transposed(dync__quantizer *z, const dync__node *n)
{
    dync__qphases p = {0};
    if (n->op != DYNC__OP_conv_transpose2d || !dync__quant_is_real(z, &n->args[0]) ||
        !dync__quant_phases_of(z, n, &p))
        return false;
    const dync__tensor *w = dync__quant_constant(z, &n->args[1]),
                       *b = dync__quant_constant(z, &n->args[2]);
    if (!b && n->args[2].kind != DYNC__A_NONE) return false;
    int ndim = n->info[0].lay.ndim;
    const int64_t *size = n->info[0].lay.shape + ndim - 2;
    int64_t shape[4] = {p.outs * p.stride[0] * p.stride[1], p.ins, p.taps[0], p.taps[1]};
    dync__qlayer l = {.node = n, .outs = p.outs, .ins = p.ins * p.window[0] * p.window[1]};
    l.spread = dync__quant_spread, l.user = &p;
    l.weight = dync__quant_turned(z, &p, dync__quant_numbers(z, w));
    l.bias = b ? dync__quant_numbers(z, b) : NULL;
    z->status = dync__quant_layer(z, &l, &n->args[0], 4, shape);
    if (z->status != DYNC_OK) return true;
    dync_tensor *y = dync__quant_lifted(l.x->q, ndim, false);
    y = y ? dync__quant_room(l.x, y, &p, size) : NULL;
    y = y ? dync_int_conv2d(y, l.q, l.add, dync_shape(1, 1), dync_shape(0, 0), dync_shape(1, 1),
                            (int)p.groups)
          : NULL;
    y = dync__quant_rescale(z, y, (int)l.outs, l.factor, 1, l.to);
    y = y ? dync__quant_shuffled(y, &p, size) : NULL;
    return dync__quant_give(z, n, y ? dync__quant_lowered(y, ndim, false) : NULL, l.to);
}
