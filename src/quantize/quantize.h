/* quantize/quantize.h: programs in I8. After compile/.
 *
 * The float graph is walked three times: twice over the calibration data, for the ranges of all
 * values, and once under export, where each node becomes the integer operators that compute it.
 * real = scale * (q - zero), as in Jacob et al. 2018, arXiv:1712.05877.
 *
 *   range seen -1 .. 3:   scale 4 / 255, zero -64      real -1   0     3
 *                                                      q  -128  -64   127 */
#ifndef DYNC__QUANTIZE_H
#define DYNC__QUANTIZE_H
#include "../program/program.h"

enum { DYNC__QUANT_BINS = 2048, DYNC__QUANT_LOW = -128, DYNC__QUANT_HIGH = 127 };

/* zero: the q of a real 0, -128 .. 127; scale > 0. */
typedef struct dync__qscale {
    double scale;
    int zero;
} dync__qscale;

/* The values of a node over the calibration data. */
typedef struct dync__qrange {
    double low, high;
    bool seen;
    int64_t count; /* values, of the first round */
    int64_t *bins; /* DYNC__QUANT_BINS over [low, high]; NULL: none are counted */
} dync__qrange;

/* Channels of an input: what each began with, and whether it changed. inner: elements of one in a
 * row. */
typedef struct dync__qchannels {
    int64_t n, inner, count;
    float *first;
    bool *varies;
} dync__qchannels;

/* A node's value in the walk: floats and other types in arg, I8 in q; either may be missing. */
typedef struct dync__qvalue {
    dync__arg arg;
    dync_tensor *q;
    dync__qscale s;
    const struct dync__qvalue *item; /* of a node of several outputs that a rule gave; else NULL */
} dync__qvalue;

/* Arrays have an element per node of g, by its index; all but constants' references lie in the
 * arena. */
typedef struct dync__quantizer {
    dync__arena arena;
    const dync__graph *g;
    dync_quantize_options options;
    dync__qrange *range;         /* of a recurrent layer: its cells */
    dync__qrange *state;         /* of a recurrent layer: h, with where it begins; else not seen */
    dync__qchannels (*input)[2]; /* of each input: by its second dim, by its third */
    dync__qvalue *value;
    int *user;                  /* the node's only reader; -1: there are more, or none */
    const dync__tensor **known; /* what no input changes: constants and what is made of them */
    bool *absorbed;             /* what its argument gives already, in I8 */
    DYNC__VEC(dync__tensor *) constant; /* owned: what the trace meets must outlive it */
    bool counting;                      /* bins, in the second round */
    int batch;
    dync_status status;
    dync_quantize_report report;
} dync__quantizer;

/* scheme.c The scale that covers low .. high, and 0. */
DYNC__FN dync__qscale dync__qscale_of(double low, double high);
/* factor = multiplier / 2^shift */
DYNC__FN void dync__quant_multiplier(double factor, int32_t *multiplier, int32_t *shift);
/* To the nearest integer, ties to even, held within low .. high. */
DYNC__FN int dync__quant_round(double x, int low, int high);
/* The elements of a constant, row major; of the arena. NULL: no memory. */
DYNC__FN double *dync__quant_numbers(dync__quantizer *, const dync__tensor *);
/* A constant; NULL: no memory. */
DYNC__FN dync_tensor *dync__quant_const(dync__quantizer *, int dtype, int ndim,
                                        const int64_t *shape, const void *data);
DYNC__FN dync_tensor *dync__quant_number(dync__quantizer *, int32_t value); /* I32, 0-dim */
/* Node n's value as floats, or whatever it is; as I8; the tensor of a constant, or NULL. */
DYNC__FN dync__arg dync__quant_plain(dync__quantizer *, const dync__node *n);
DYNC__FN const dync__qvalue *dync__quant_int8(dync__quantizer *, const dync__arg *node);
DYNC__FN const dync__tensor *dync__quant_constant(const dync__quantizer *, const dync__arg *);
DYNC__FN bool dync__quant_is_real(const dync__quantizer *,
                                  const dync__arg *node); /* a F32 tensor, not a constant */
/* I32 sums times factor, as dync__quant_rescale takes it, plus zero, held within low .. high, of
 * this dtype. */
DYNC__FN dync_tensor *dync__quant_fit(dync__quantizer *, dync_tensor *sums, int n,
                                      const double *factor, int dim, int dtype, int zero, int low,
                                      int high);
/* I32 sums into I8: zero + sum * factor[i] along dim of the sums, or factor[0] for all (n 1). */
DYNC__FN dync_tensor *dync__quant_rescale(dync__quantizer *, dync_tensor *sums, int n,
                                          const double *factor, int dim, dync__qscale to);
/* q - zero in I32 */
DYNC__FN dync_tensor *dync__quant_centred(const dync__qvalue *);
/* The node has the value q of scale s; layers counts. NULL: status tells. */
DYNC__FN bool dync__quant_give(dync__quantizer *, const dync__node *, dync_tensor *q,
                               dync__qscale s);
/* The node by whose range n's value is cut: the last of the clamps that follow it alone, which are
 * absorbed with it. */
DYNC__FN const dync__node *dync__quant_last(dync__quantizer *, const dync__node *n);
DYNC__FN dync__qscale dync__quant_range(const dync__quantizer *, const dync__node *);

/* call.c: the node as it is, over floats; its arguments as values in args */
DYNC__FN dync_status dync__quant_args(dync__quantizer *, const dync__node *, dync__arg *args);
DYNC__FN dync_status dync__quant_call(dync__quantizer *, const dync__node *, dync__arg *args,
                                      dync__arg *out);
/* observe.c */
DYNC__FN dync_status dync__quant_observe_states(dync__quantizer *, const dync__node *,
                                                const dync__arg *args, const dync__arg *out);
DYNC__FN dync_status dync__quant_observe(dync__quantizer *, const dync__node *,
                                         const dync__tensor *);
DYNC__FN void dync__quant_trim(dync__quantizer *, dync__qrange *);
/* into the report: what never changes */
DYNC__FN void dync__quant_constant_note(dync__quantizer *, const char *text);
DYNC__FN void dync__quant_constant_values(dync__quantizer *);

/* A layer with weights [outs][ins], both float, to be changed by the norm behind it. x: the input
 * as I8, to: scale of the result, factor: sx sw / sy of each channel. */
typedef struct dync__qlayer {
    const dync__node *node, *end; /* end: the last node whose work it does */
    int64_t outs, ins;
    double *weight, *bias; /* bias NULL: none */
    const dync__qvalue *x;
    dync__qscale to;
    double *factor;
    dync_tensor *q, *add; /* I8 weights of the shape given, I32 bias */
    /* of a transposed convolution, else NULL: the layer of `outs` channels becomes one of their
     * phases. false: no memory */
    bool (*spread)(struct dync__quantizer *, struct dync__qlayer *, const void *user);
    const void *user;
} dync__qlayer;

/* The layer's arguments: x, and the weight [N, K], or [K, N] where columns. */
typedef struct dync__qproduct {
    const dync__arg *x, *weight, *bias;
    bool columns;
} dync__qproduct;

/* layers.c */
/* n is a product with a constant matrix of f32; false: it is none, or the bias is not one number
 * per channel */
DYNC__FN bool dync__quant_product_of(const dync__quantizer *, const dync__node *n,
                                     dync__qproduct *);
/* [rows, columns] -> [columns, rows]; NULL passes. */
DYNC__FN double *dync__quant_transposed(dync__quantizer *, const double *in, int64_t rows,
                                        int64_t columns);
/* q, add, factor of a layer that has the rest; ndim, shape: how the I8 weights are stored */
DYNC__FN dync_status dync__quant_weights(dync__quantizer *, dync__qlayer *, int ndim,
                                         const int64_t *shape);
/* Fills all but node, outs, ins, weight, bias, spread, user. ndim, shape: how the I8 weights are
 * stored. */
DYNC__FN dync_status dync__quant_layer(dync__quantizer *, dync__qlayer *, const dync__arg *x,
                                       int ndim, const int64_t *shape);
/* Two numbers of a window: the last one is along the rows of a picture. line: of conv1d, whose
 * picture has one row. */
DYNC__FN dync_dims dync__quant_pair(const dync__arg *, int64_t otherwise, bool line);
/* A picture of rank 4: of [C, H, W], or of a line [N, C, L]; and back. */
DYNC__FN dync_tensor *dync__quant_lifted(dync_tensor *q, int ndim, bool line);
DYNC__FN dync_tensor *dync__quant_lowered(dync_tensor *q, int ndim, bool line);
/* pointwise.c table[at] of a table [n, 1]; NULL passes. */
DYNC__FN dync_tensor *dync__quant_look(dync_tensor *table, dync_tensor *at);

/* layers.c, pool.c, transposed.c, pointwise.c, recurrent.c: true: the node's value is given, or
 * status is an error. False: the form is none of theirs. */
typedef bool (*dync__quant_rule)(dync__quantizer *, const dync__node *);
DYNC__FN bool dync__quant_linear(dync__quantizer *, const dync__node *);
DYNC__FN bool dync__quant_conv(dync__quantizer *, const dync__node *);
DYNC__FN bool dync__quant_conv_transposed(dync__quantizer *, const dync__node *);
DYNC__FN bool dync__quant_mean(dync__quantizer *, const dync__node *);
DYNC__FN bool dync__quant_avg_pool(dync__quantizer *, const dync__node *);
DYNC__FN bool dync__quant_adaptive_pool(dync__quantizer *, const dync__node *);
DYNC__FN bool dync__quant_embedding(dync__quantizer *, const dync__node *);
DYNC__FN bool dync__quant_moves(dync__quantizer *, const dync__node *);
DYNC__FN bool dync__quant_pad(dync__quantizer *, const dync__node *);
DYNC__FN bool dync__quant_places(dync__quantizer *, const dync__node *);
DYNC__FN bool dync__quant_add(dync__quantizer *, const dync__node *);
DYNC__FN bool dync__quant_mul(dync__quantizer *, const dync__node *);
DYNC__FN bool dync__quant_only_moves(const dync__node *);
DYNC__FN bool dync__quant_cat(dync__quantizer *, const dync__node *);
DYNC__FN bool dync__quant_softmax(dync__quantizer *, const dync__node *);
DYNC__FN bool dync__quant_table(dync__quantizer *, const dync__node *);
/* the product before such a layer, which has no value of its own */
DYNC__FN bool dync__quant_before_recurrent(dync__quantizer *, const dync__node *);
DYNC__FN bool dync__quant_recurrent(dync__quantizer *, const dync__node *);
/* walk.c */
DYNC__FN dync_status dync__quant_walk(dync__quantizer *, dync__tensor *const *in, bool build,
                                      dync__arg *out);

/* p: the float program, borrowed. signal and noise: sums of squares for the report; rows: last dims
 * compared, agree: those whose largest element stood in the same place. */
typedef struct dync__quant_job {
    dync__quantizer z;
    dync__program *p;
    dync_program *handle;
    double signal, noise;
    int64_t rows, agree;
} dync__quant_job;
/* calibrate.c: the arguments of call i; item: room for one. A batch is a list of arguments, or the
 * only argument itself. */
DYNC__FN dync_status dync__quant_batch(dync_value batches, int i, dync_value *item,
                                       dync__callargs *call);
/* One round, or two where values are counted. */
DYNC__FN dync_status dync__quant_calibrate(dync__quant_job *, dync_value batches);
#endif
