/* quantize/recurrent.c: recurrent layers in integers: an operator with the step inside
 * (dync_scan), whose carry is h, and a finer state where there is one. After pointwise.c.
 *
 * TFLite's LSTM of 8-bit activations and 16-bit cells (its 8x8_16 form), and in the same manner GRU
 * and RNN, which have no integer form there:
 *
 *   x W_ih, h W_hh   sums in I32 with the bias and the zero point's share, then 16 bits with 12
 *                    behind the point, clamped to -8 .. 8; added, clamped again
 *   gates            sigmoid and tanh by a table of 513 and a line between two entries: 15 bits
 *                    behind the point
 *   LSTM   c = f c + i g, 16 bits, the scale a power of two; h = o tanh(c)
 *   GRU    s = n + z (s - n) with n = tanh(x_n + r h_n), 16 bits, the scale a power of two; h = s
 *   RNN    h = tanh(x + h)
 *   h      8 bits, scale and zero point from the calibration, in the next product as well
 *
 * Weights have a scale for each row (TFLite: one for all), every rounding is a rescale. The input's
 * share comes from the linear layer before, which is done here, a step at a time; where something
 * else stands before, its value is moved to the 16 bits. */
#include "../dync.in.h"
#include "quantize.h"
DYNC__COLD

enum {
    DYNC__QRNN_POINT = 12,  /* bits behind the point of what a gate's function is given */
    DYNC__QRNN_CELL = 15,   /* of what it gives */
    DYNC__QRNN_PIECES = 512 /* of its table */
};

/* Of one layer in one direction. x: the layer before, or its node NULL: the share is given as it
 * is. */
typedef struct dync__qcell {
    dync__quantizer *z;
    int gates, fine; /* bits behind the point of the finer state */
    dync__qlayer x, h;
    dync__qscale to;       /* of h */
    dync_tensor *curve[2]; /* sigmoid, tanh */
} dync__qcell;

static const dync__qscale dync__qrnn_sums = {1.0 / (1 << DYNC__QRNN_POINT), 0};

/* ---- which ----------------------------------------------------------------------------------- */

/* (input, weight_hh, bias_hh, h0, c0, gates, reverse, train) Are the weights constants, and does
 * nobody ask for what a gradient needs? */
static bool dync__qrnn_fits(const dync__quantizer *z, const dync__node *n)
{
    if (n->op != DYNC__OP__rnn_layer || n->args[7].as.i) return false;
    const dync__tensor *w = dync__quant_constant(z, &n->args[1]),
                       *b = dync__quant_constant(z, &n->args[2]);
    return w && w->dtype == DYNC_F32 && w->numel && (b || n->args[2].kind == DYNC__A_NONE) &&
           n->args[0].kind == DYNC__A_NODE && n->args[3].kind == DYNC__A_NODE;
}

/* The product before a layer, if it is that one's alone. */
static const dync__node *dync__qrnn_product(const dync__quantizer *z, const dync__node *rnn,
                                            dync__qproduct *p)
{
    const dync__node *n = rnn->args[0].as.node;
    return z->user[n->index] == rnn->index && dync__quant_product_of(z, n, p) &&
                   p->x->as.node->info[0].lay.ndim == 3
               ? n
               : NULL;
}

/* A product that the layer behind it does: it has no value of its own. */
DYNC__FN bool dync__quant_before_recurrent(dync__quantizer *z, const dync__node *n)
{
    dync__qproduct p;
    const dync__node *next = z->user[n->index] < 0 ? NULL : z->g->node.at[z->user[n->index]];
    return next && dync__qrnn_fits(z, next) && dync__qrnn_product(z, next, &p) == n;
}

/* ---- the step -------------------------------------------------------------------------------- */

/* x / 2^bits to the nearest, halves up, held in 16 bits; left where bits < 0. I32 */
static dync_tensor *dync__qrnn_shift(const dync__qcell *c, dync_tensor *x, int bits)
{
    if (x && bits)
        x = dync_rescale(x, dync__quant_number(c->z, bits < 0 ? 1 << -bits : 1),
                         dync__quant_number(c->z, DYNC__MAX(bits, 0)));
    return x ? dync_clamp(x, INT16_MIN, INT16_MAX) : NULL;
}

/* q W^T + what is added, as the gates' functions are given it. */
static dync_tensor *dync__qrnn_share(const dync__qcell *c, const dync__qlayer *l, dync_tensor *q)
{
    dync_tensor *sums = q ? dync_add(dync_int_mm(q, dync_t(l->q)), l->add) : NULL;
    return dync__quant_fit(c->z, sums, (int)l->outs, l->factor, 1, DYNC_I32, 0, INT16_MIN,
                           INT16_MAX);
}

/* The function at x, 16 bits: the entry at or below it, and the line to the next one. */
static dync_tensor *dync__qrnn_curve(const dync__qcell *c, dync_tensor *x, bool tanh)
{
    const int step = 65536 / DYNC__QRNN_PIECES, round = step / 2;
    dync_tensor *at = x ? dync_add(x, 32768 - round) : NULL;
    dync_tensor *unit = dync__quant_number(c->z, 1), *shift = dync__quant_number(c->z, 7);
    at = at && unit && shift ? dync_rescale(at, unit, shift) : NULL; /* (x + 32768) / 128 */
    dync_tensor *low = dync__quant_look(c->curve[tanh], at),
                *high = at ? dync__quant_look(c->curve[tanh], dync_add(at, 1)) : NULL;
    if (!low || !high) return NULL;
    low = dync_to_dtype(low, DYNC_I32);
    dync_tensor *rise =
        dync_mul(dync_sub(dync_to_dtype(high, DYNC_I32), low), dync_bitwise_and(x, step - 1));
    return dync_add(low, dync_rescale(rise, unit, shift));
}

/* Gate i of shares [N, gates H], of both or of one. */
static dync_tensor *dync__qrnn_part(const dync__qcell *c, dync_tensor *x, int i)
{
    int64_t size = c->h.ins;
    return x ? dync_slice(x, 1, i * size, (i + 1) * size, 1) : NULL;
}
static dync_tensor *dync__qrnn_gate(const dync__qcell *c, dync_tensor *x, dync_tensor *h, int i,
                                    bool tanh)
{
    dync_tensor *sum = dync_add(dync__qrnn_part(c, x, i), dync__qrnn_part(c, h, i));
    return dync__qrnn_curve(c, dync__qrnn_shift(c, sum, 0), tanh);
}

/* What h is of this many bits behind the point, in 8 bits. */
static dync_tensor *dync__qrnn_output(const dync__qcell *c, dync_tensor *h, int bits)
{
    double factor = ldexp(1 / c->to.scale, -bits);
    return dync__quant_rescale(c->z, h, 1, &factor, 0, c->to);
}

/* *fine: the cell before and behind the step. -> h */
static dync_tensor *dync__qrnn_lstm(const dync__qcell *c, dync_tensor *x, dync_tensor *h,
                                    dync_tensor **fine)
{
    const int more = DYNC__QRNN_CELL - c->fine; /* bits of i g beyond those of f c */
    dync_tensor *gate[4];
    for (int i = 0; i < 4; i++) gate[i] = dync__qrnn_gate(c, x, h, i, i == 2);
    dync_tensor *kept =
        dync__qrnn_shift(c, dync_mul(gate[1], dync_to_dtype(*fine, DYNC_I32)), DYNC__QRNN_CELL);
    dync_tensor *fresh = dync__qrnn_shift(c, dync_mul(gate[0], gate[2]), DYNC__QRNN_CELL + more);
    dync_tensor *cell = dync__qrnn_shift(c, dync_add(kept, fresh), 0);
    *fine = dync_to_dtype(cell, DYNC_I16);
    dync_tensor *t =
        dync__qrnn_curve(c, dync__qrnn_shift(c, cell, c->fine - DYNC__QRNN_POINT), true);
    return dync__qrnn_output(c, dync_mul(gate[3], t), 2 * DYNC__QRNN_CELL);
}

static dync_tensor *dync__qrnn_gru(const dync__qcell *c, dync_tensor *x, dync_tensor *h,
                                   dync_tensor **fine)
{
    dync_tensor *r = dync__qrnn_gate(c, x, h, 0, false), *u = dync__qrnn_gate(c, x, h, 1, false);
    dync_tensor *mine = dync__qrnn_shift(c, dync_mul(r, dync__qrnn_part(c, h, 2)), DYNC__QRNN_CELL);
    dync_tensor *n = dync__qrnn_shift(c, dync_add(dync__qrnn_part(c, x, 2), mine), 0);
    n = dync__qrnn_shift(c, dync__qrnn_curve(c, n, true), DYNC__QRNN_CELL - c->fine);
    dync_tensor *gap = dync_sub(dync_to_dtype(*fine, DYNC_I32), n);
    gap = dync__qrnn_shift(c, dync_mul(u, gap), DYNC__QRNN_CELL);
    dync_tensor *state = dync__qrnn_shift(c, dync_add(n, gap), 0);
    *fine = dync_to_dtype(state, DYNC_I16);
    return dync__qrnn_output(c, state, c->fine);
}

/* The function inside: (carry, x of a step) -> (carry, h). The carry is h, or (h, the finer
 * state). */
static dync_value dync__qrnn_step(const dync_value *args, int nargs, void *user)
{
    const dync__qcell *c = user;
    bool two = c->gates > 1;
    if (nargs != 2) return DYNC_NONE;
    dync_tensor *h = dync_as_tensor(two ? dync_at(args[0], 0) : args[0]),
                *fine = two ? dync_as_tensor(dync_at(args[0], 1)) : NULL,
                *x = dync_as_tensor(args[1]);
    x = c->x.node ? dync__qrnn_share(c, &c->x, x) : dync_to_dtype(x, DYNC_I32);
    dync_tensor *mine = dync__qrnn_share(c, &c->h, h);
    h = c->gates == 4 ? dync__qrnn_lstm(c, x, mine, &fine)
        : c->gates == 3
            ? dync__qrnn_gru(c, x, mine, &fine)
            : dync__qrnn_output(c, dync__qrnn_gate(c, x, mine, 0, true), DYNC__QRNN_CELL);
    if (!h || (two && !fine)) return DYNC_NONE;
    return dync_tuple(two ? dync_tuple(h, fine) : DYNC_V(h), h);
}

/* ---- its constants --------------------------------------------------------------------------- */

/* 513 values of a function from -8 to 8, 15 bits behind the point: each is moved by half of what
 * the line between its neighbours is off in the middle, as TFLite's table is. NULL: no memory. */
static dync_tensor *dync__qrnn_table(dync__quantizer *z, bool tanh_)
{
    static const int64_t shape[2] = {DYNC__QRNN_PIECES + 1, 1};
    int16_t q[DYNC__QRNN_PIECES + 1];
    const double step = 16.0 / DYNC__QRNN_PIECES, one = 32768;
    for (int i = 0; i <= DYNC__QRNN_PIECES; i++) {
        double y[3], x = -8 + step * i;
        for (int k = 0; k < 3; k++, x += step / 2)
            y[k] = rint(one * (tanh_ ? tanh(x) : 1 / (1 + exp(-x))));
        double off = i < DYNC__QRNN_PIECES ? rint((y[0] + y[2]) / 2) - y[1] : 0;
        q[i] = (int16_t)dync__quant_round(y[0] - rint(off / 2), INT16_MIN, INT16_MAX);
    }
    return dync__quant_const(z, DYNC_I16, 2, shape, q);
}

/* Bits behind the point of 16 that hold the range, as many as there can be; 15 at most. */
static int dync__qrnn_bits(const dync__qrange *r)
{
    int exponent;
    double most = DYNC__MAX(fabs(r->low), fabs(r->high));
    (void)frexp(most * 32768 / 32767, &exponent);
    return DYNC__MIN(DYNC__MAX(15 - exponent, 0), 15);
}

/* A layer of weights [outs, ins] from x into sums of the gates. x: scale and zero point. */
static dync_status dync__qrnn_layer(dync__quantizer *z, const dync__node *n, double *weight,
                                    const dync__tensor *bias, const int64_t *shape,
                                    const dync__qvalue *x, dync__qlayer *l)
{
    *l = (dync__qlayer){.node = n, .end = n, .outs = shape[0], .ins = shape[1], .x = x};
    l->weight = weight;
    l->bias = bias ? dync__quant_numbers(z, bias) : NULL;
    l->to = dync__qrnn_sums;
    if (!l->weight || !l->x || (bias && !l->bias)) return DYNC_ERR_MEMORY;
    return dync__quant_weights(z, l, 2, shape);
}

static dync_status dync__qrnn_before(dync__quantizer *z, const dync__node *rnn, dync__qcell *c)
{
    dync__qproduct p;
    const dync__node *n = dync__qrnn_product(z, rnn, &p);
    if (!n) return DYNC_OK;
    const dync__tensor *w = dync__quant_constant(z, p.weight);
    int64_t k = w->lay.shape[p.columns ? 0 : 1], outs = w->lay.shape[p.columns ? 1 : 0],
            shape[2] = {outs, k};
    double *weight = dync__quant_numbers(z, w);
    if (p.columns) weight = dync__quant_transposed(z, weight, k, outs);
    return dync__qrnn_layer(z, n, weight, dync__quant_constant(z, p.bias), shape,
                            dync__quant_int8(z, p.x), &c->x);
}

static dync_status dync__qrnn_open(dync__quantizer *z, const dync__node *n, dync__qvalue *h,
                                   dync__qcell *c)
{
    const dync__tensor *w = dync__quant_constant(z, &n->args[1]);
    const dync__qrange *of_h = &z->state[n->index];
    *c = (dync__qcell){.z = z, .gates = (int)n->args[5].as.i};
    c->to = h->s = dync__qscale_of(of_h->low, of_h->high);
    c->fine = dync__qrnn_bits(c->gates == 4 ? &z->range[n->index] : of_h);
    DYNC__TRY(dync__qrnn_before(z, n, c));
    DYNC__TRY(dync__qrnn_layer(z, n, dync__quant_numbers(z, w),
                               dync__quant_constant(z, &n->args[2]), w->lay.shape, h, &c->h));
    for (int i = 0; i < 2; i++) c->curve[i] = dync__qrnn_table(z, i == 1);
    return c->curve[0] && c->curve[1] ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* ---- the layer ------------------------------------------------------------------------------- */

/* A float value in 16 bits with `bits` behind the point. */
static dync_tensor *dync__qrnn_fixed(dync__quantizer *z, const dync__arg *a, int bits)
{
    dync__arg plain = dync__quant_plain(z, a->as.node);
    if (plain.kind != DYNC__A_TENSOR) return NULL;
    dync_tensor *t = dync_round(dync_mul(dync__handle(plain.as.t), ldexp(1, bits)));
    return dync_to_dtype(dync_clamp(t, (double)INT16_MIN, (double)INT16_MAX), DYNC_I16);
}

/* h at the start, of scale c->to. */
static dync_tensor *dync__qrnn_start(const dync__qcell *c, const dync__arg *a)
{
    dync__arg plain = dync__quant_plain(c->z, a->as.node);
    if (plain.kind != DYNC__A_TENSOR) return NULL;
    dync_tensor *t = dync_round(dync_div(dync__handle(plain.as.t), c->to.scale));
    if (c->to.zero) t = dync_add(t, (double)c->to.zero);
    t = dync_clamp(t, (double)DYNC__QUANT_LOW, (double)DYNC__QUANT_HIGH);
    return dync_to_dtype(t, DYNC_I8);
}

/* Outputs [L, N, H] as I8, the last c as floats; the others are empty. */
static dync_status dync__qrnn_give(const dync__qcell *c, const dync__node *n, dync_value both)
{
    dync_value carry = dync_at(both, 0), y = dync_at(both, 1);
    dync__qvalue *item = dync__arena_alloc(&c->z->arena, 4 * sizeof *item);
    if (!item || !dync_as_tensor(y)) return DYNC_ERR_MEMORY;
    memset(item, 0, 4 * sizeof *item);
    item[0].q = dync_as_tensor(y);
    item[0].s = c->to;
    if (c->gates == 4) {
        dync_tensor *cell = dync_to_dtype(dync_as_tensor(dync_at(carry, 1)), DYNC_F32);
        cell = cell ? dync_mul(cell, ldexp(1, -c->fine)) : NULL;
        if (!cell) return DYNC_ERR_MEMORY;
        item[1].arg = dync__arg_t(dync__open(cell));
    }
    c->z->value[n->index].item = item;
    c->z->report.layers++;
    return DYNC_OK;
}

DYNC__FN bool dync__quant_recurrent(dync__quantizer *z, const dync__node *n)
{
    dync__qcell c;
    dync__qvalue h = {0};
    if (!dync__qrnn_fits(z, n)) return false;
    z->status = dync__qrnn_open(z, n, &h, &c);
    if (z->status != DYNC_OK) return true;
    dync_tensor *start = dync__qrnn_start(&c, &n->args[3]), *fine = NULL,
                *x = c.x.node ? c.x.x->q : dync__qrnn_fixed(z, &n->args[0], DYNC__QRNN_POINT);
    if (c.gates > 1) fine = dync__qrnn_fixed(z, &n->args[c.gates == 4 ? 4 : 3], c.fine);
    dync_callee step =
        dync_bind_callee(dync_fnv(dync__qrnn_step), "recurrent_step", &c, "carry, x");
    dync_value both = DYNC_NONE, carry = c.gates > 1 ? dync_tuple(start, fine) : DYNC_V(start);
    if (start && x && (c.gates == 1 || fine))
        both = dync_scan_values(step, carry, DYNC_V(x), n->args[6].as.i != 0, dync__tls.at);
    z->status = both.kind == DYNC_KIND_LIST ? dync__qrnn_give(&c, n, both) : DYNC_ERR_MEMORY;
    if (z->status != DYNC_OK && dync_error() != DYNC_OK) z->status = dync_error();
    return true;
}
