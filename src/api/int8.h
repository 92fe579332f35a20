/* ---- int8: quantization after training ------------------------------------------------------ */

/* dync_quantize_report: what became of a program.
 *   layers                operators that compute in integers
 *   float_layers          operators that stayed in floats, kept_float: their names, cut off where
 *                         they are many
 *   weight_bytes_before   of all constants, before and after
 *   snr_db                signal to noise of the float results over the calibration data, in
 *                         decibels: 10 log10(sum of squares / sum of squared differences)
 *   agreement             of these results, the fraction of rows of the last dimension whose
 *                         greatest element is in the same place
 *   constants             what never changed in calibration, though other data may: whole inputs
 *                         and values, channels of inputs (their second dimension, the last of
 *                         sequences), channels of weights that are 0; constant: which, cut off */
typedef struct dync_quantize_report {
    int layers, float_layers;
    int64_t weight_bytes_before, weight_bytes;
    dync_real snr_db, agreement;
    char kept_float[256];
    int constants;
    char constant[256];
} dync_quantize_report;

/* dync_quantize_options: {0} or NULL for the defaults.
 *   percentile    of an activation's values that its range holds, in (50, 100]; 0: all of them
 *                 (min-max). 99.99 leaves outliers out
 *   float_scale   a layer ends by sum * float scale, halves to even, as ONNX defines it; else by a
 *                 multiplier of 31 bits and a shift, as TFLite and TOSA do (no floats on the way)
 *   report        written where it is not NULL */
typedef struct dync_quantize_options {
    dync_real percentile DYNC__ZERO;
    bool float_scale DYNC__ZERO;
    dync_quantize_report *report DYNC__ZERO;
} dync_quantize_options;

/* dync_quantize_program: a program that computes in I8 what a float program does: weights
 * symmetric per output channel, activations asymmetric per tensor, sums and biases in I32 (Jacob et
 * al., arXiv:1712.05877). Inputs and results keep their types: they are converted inside. In
 * integers: linear, matmul and addmm with constant weights, conv1d, conv2d (depthwise, too) and
 * conv_transpose2d, batch norm behind one of these, relu and its kin, add, sub, mul, cat, max and
 * average pooling, means, sums, argmax, softmax, embedding, every function of one value (by a table
 * of 256), RNN, GRU and LSTM (states of 8 bits, cells of 16: TFLite's 8x8_16), padding with zeros
 * and what only moves values.
 * The rest stays in floats between conversions. It runs, saves and exports as any other.
 *   program    exported or loaded; fixed sizes
 *   batches    list of calls: each a tensor, or the list of a call's arguments. They are run for
 *              the ranges of all values; 100 to 500 of the real inputs are usual
 *   options    NULL: the defaults
 *   ->         named as program with _int8; released by dync_program_free; NULL on failure
 *   errors     DYNC_ERR_VALUE (no batch; values that are not finite, by operator and line;
 *              percentile), DYNC_ERR_SHAPE, DYNC_ERR_DTYPE (a batch: which, and what is wrong),
 *              DYNC_ERR_UNSUPPORTED (symbolic sizes, a program without a graph, one that writes its
 *              inputs), DYNC_ERR_MEMORY
 *   notes      a program that writes a part of a tensor in place runs and becomes C, but no file
 *   thread     any */
DYNC_API dync_program *dync_quantize_program(dync_program *program, dync_value batches,
                                             const dync_quantize_options *options);
