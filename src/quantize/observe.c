/* quantize/observe.c: the ranges of values over the calibration data. After call.c.
 *
 * The first round takes the least and largest value of every node. With a percentile below 100 a
 * second round counts values in DYNC__QUANT_BINS bins between them, and the range is cut to what is
 * left when as many are dropped at both ends: few outliers would otherwise cost every value its
 * resolution. */
#include "../dync.in.h"
#include "quantize.h"
DYNC__COLD

/* A node's name; of an input the argument's. */
static void dync__quant_name(const dync__quantizer *z, const dync__node *n, char *out, size_t size)
{
    if (n->kind == DYNC__N_PLACEHOLDER)
        dync__program_input_name(z->g, n->index, out, size);
    else
        dync__format(out, size, "%s", n->name);
}

/* Names the node, the user's line and the batch. */
static dync_status dync__quant_not_finite(const dync__quantizer *z, const dync__node *n, double x)
{
    char name[96];
    const char *what = x != x ? "NaN" : "infinity";
    dync__quant_name(z, n, name, sizeof name);
    if (n->kind == DYNC__N_PLACEHOLDER)
        return dync__fail(DYNC_ERR_VALUE, "dync_quantize_program: batch %d: %s holds %s", z->batch,
                          name, what);
    return dync__fail(DYNC_ERR_VALUE, "dync_quantize_program: batch %d: %s (%s:%d) gives %s",
                      z->batch, name, n->at.file ? n->at.file : "?", n->at.line, what);
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
        r->count++;
        if (!r->seen || v < r->low) r->low = v;
        if (!r->seen || v > r->high) r->high = v;
        r->seen = true;
    }
    return DYNC_OK;
}

/* x: the dense elements of input n, once a batch. */
static dync_status dync__quant_see_channels(dync__quantizer *z, const dync__node *n,
                                            const dync__tensor *t, const float *x)
{
    for (int by = 0; by < 2 && by + 1 < t->lay.ndim; by++) {
        dync__qchannels *c = &z->input[n->index][by];
        if (!c->first) {
            c->n = t->lay.shape[by + 1];
            c->inner = 1;
            for (int d = by + 2; d < t->lay.ndim; d++) c->inner *= t->lay.shape[d];
            c->first = dync__arena_alloc(&z->arena, (size_t)(c->n + 1) * sizeof *c->first);
            c->varies = dync__arena_alloc(&z->arena, (size_t)(c->n + 1));
            if (!c->first || !c->varies) return DYNC_ERR_MEMORY;
        }
        for (int64_t i = 0; i < t->numel; i++) {
            int64_t k = i / c->inner % c->n;
            if (c->count == 0 && i < c->n * c->inner && i % c->inner == 0) c->first[k] = x[i];
            c->varies[k] = c->varies[k] || x[i] != c->first[k];
        }
        c->count += c->n ? t->numel / c->n : 0;
    }
    return DYNC_OK;
}

static dync_status dync__quant_see_dense(dync__quantizer *z, const dync__node *n,
                                         const dync__tensor *t, dync__qrange *r)
{
    const float *x = dync__tensor_data(t);
    if (n->kind == DYNC__N_PLACEHOLDER && !z->counting)
        DYNC__TRY(dync__quant_see_channels(z, n, t, x));
    return dync__quant_see(z, n, x, t->numel, r);
}

/* Other dtypes than f32 have no range. */
static dync_status dync__quant_see_all(dync__quantizer *z, const dync__node *n,
                                       const dync__tensor *t, dync__qrange *r)
{
    if (t->dtype != DYNC_F32) return DYNC_OK;
    if (z->counting && !r->bins)
        r->bins = dync__arena_alloc(&z->arena, DYNC__QUANT_BINS * sizeof *r->bins);
    if (z->counting && !r->bins) return DYNC_ERR_MEMORY;
    if (dync__layout_is_contiguous(&t->lay)) return dync__quant_see_dense(z, n, t, r);
    dync__tensor *copy = dync__contiguous_copy(t);
    if (!copy) return DYNC_ERR_MEMORY;
    dync_status status = dync__quant_see_dense(z, n, copy, r);
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

/* ---- what never changes ---------------------------------------------------------------------- */

DYNC__FN void dync__quant_constant_note(dync__quantizer *z, const char *text)
{
    size_t used = strlen(z->report.constant), cap = sizeof z->report.constant;
    dync__format(z->report.constant + used, cap - used, "%s%s", used ? "; " : "", text);
    z->report.constants++;
}

/* By the second dim; of three dims, which may be those of a sequence, by the last, too. */
static void dync__quant_constant_channels(dync__quantizer *z, const dync__node *n)
{
    char text[160], name[96];
    dync__quant_name(z, n, name, sizeof name);
    for (int by = 0; by < (n->info[0].lay.ndim == 3 ? 2 : 1); by++) {
        const dync__qchannels *c = &z->input[n->index][by];
        for (int64_t k = 0; c->count > 1 && k < c->n; k++) {
            if (c->varies[k]) continue;
            dync__format(text, sizeof text, "%s[%s%lld] is always %g", name, by ? ":, :, " : ":, ",
                         (long long)k, dync__float_shown((double)c->first[k]));
            dync__quant_constant_note(z, text);
        }
    }
}

/* One number says nothing. */
DYNC__FN void dync__quant_constant_values(dync__quantizer *z)
{
    for (int i = 0; i < z->g->node.n; i++) {
        const dync__node *n = z->g->node.at[i];
        const dync__qrange *r = &z->range[i];
        char text[160], name[96];
        if (z->known[i] || !r->seen || r->count < 2) continue;
        dync__quant_name(z, n, name, sizeof name);
        dync__format(text, sizeof text, "%s is always %g", name, dync__float_shown(r->low));
        if (r->low == r->high)
            dync__quant_constant_note(z, text);
        else if (n->kind == DYNC__N_PLACEHOLDER)
            dync__quant_constant_channels(z, n);
    }
}
