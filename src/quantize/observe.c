/* quantize/observe.c: the ranges of values over the calibration data. After call.c.
 *
 * The first round takes the least and largest value of every node. With a percentile below 100 a
 * second round counts values in DYNC__QUANT_BINS bins between them, and the range is cut to what is
 * left when as many are dropped at both ends: few outliers would otherwise cost every value its
 * resolution. */
#include "../dync.in.h"
#include "quantize.h"
DYNC__COLD

/* Names the node, the user's line and the batch. */
static dync_status dync__quant_not_finite(const dync__quantizer *z, const dync__node *n, double x)
{
    return dync__fail(DYNC_ERR_VALUE, "dync_quantize_program: batch %d: %s (%s:%d) gives %s",
                      z->batch, n->name, n->at.file ? n->at.file : "?", n->at.line,
                      x != x ? "NaN" : "infinity");
}

/* All elements of a strided tensor, once each. x: count floats of node n, row major. */
static dync_status dync__quant_see(dync__quantizer *z, const dync__node *n, const float *x,
                                   int64_t count, dync__qrange *r)
{
    double width = r->high - r->low;
    for (int64_t i = 0; i < count; i++) {
        double v = (double)x[i];
        if (!(fabs(v) <= (double)FLT_MAX)) return dync__quant_not_finite(z, n, v);
        if (z->counting) {
            int at = width > 0 ? (int)((v - r->low) / width * DYNC__QUANT_BINS) : 0;
            r->bins[DYNC__MIN(DYNC__MAX(at, 0), DYNC__QUANT_BINS - 1)]++;
            continue;
        }
        if (!r->seen || v < r->low) r->low = v;
        if (!r->seen || v > r->high) r->high = v;
        r->seen = true;
    }
    return DYNC_OK;
}

/* Other dtypes than f32 have no range. */
static dync_status dync__quant_see_all(dync__quantizer *z, const dync__node *n,
                                       const dync__tensor *t, dync__qrange *r)
{
    if (t->dtype != DYNC_F32) return DYNC_OK;
    if (z->counting && !r->bins)
        r->bins = dync__arena_alloc(&z->arena, DYNC__QUANT_BINS * sizeof *r->bins);
    if (z->counting && !r->bins) return DYNC_ERR_MEMORY;
    if (dync__layout_is_contiguous(&t->lay))
        return dync__quant_see(z, n, dync__tensor_data(t), t->numel, r);
    dync__tensor *copy = dync__contiguous_copy(t);
    if (!copy) return DYNC_ERR_MEMORY;
    dync_status status = dync__quant_see(z, n, dync__tensor_data(copy), t->numel, r);
    dync__unref(copy);
    return status;
}

DYNC__FN dync_status dync__quant_observe(dync__quantizer *z, const dync__node *n,
                                         const dync__tensor *t)
{
    return dync__quant_see_all(z, n, t, &z->range[n->index]);
}

/* args, out: of _rnn_layer: h0 and the outputs; c0 and the cells of an LSTM. */
DYNC__FN dync_status dync__quant_observe_states(dync__quantizer *z, const dync__node *n,
                                                const dync__arg *args, const dync__arg *out)
{
    const dync__arg *all = out->as.list;
    dync__qrange *h = &z->state[n->index], *c = &z->range[n->index];
    DYNC__TRY(dync__quant_see_all(z, n, args[3].as.t, h));
    DYNC__TRY(dync__quant_see_all(z, n, all[0].as.t, h));
    if (args[5].as.i != 4) return DYNC_OK;
    DYNC__TRY(dync__quant_see_all(z, n, args[4].as.t, c));
    return dync__quant_see_all(z, n, all[2].as.t, c);
}

/* From both ends, as many values as the percentile leaves out. */
DYNC__FN void dync__quant_trim(dync__quantizer *z, dync__qrange *r)
{
    int64_t total = 0, below = 0, above = 0;
    int low = 0, high = DYNC__QUANT_BINS - 1;
    double width = (r->high - r->low) / DYNC__QUANT_BINS, from = r->low;
    if (!r->bins) return;
    for (int i = 0; i < DYNC__QUANT_BINS; i++) total += r->bins[i];
    double out = (double)total * (1 - z->options.percentile / 100) / 2;
    while (low < high && (double)(below + r->bins[low]) <= out) below += r->bins[low++];
    while (high > low && (double)(above + r->bins[high]) <= out) above += r->bins[high--];
    r->high = from + width * (high + 1);
    r->low = from + width * low;
}
