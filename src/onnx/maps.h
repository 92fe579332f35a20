/* onnx/maps.h: the mapping functions, each of an ONNX operator or a family (map_*.c), for the rows
 * of rows.c. After onnx.h. */
#ifndef DYNC__ONNX_MAPS_H
#define DYNC__ONNX_MAPS_H
#include "onnx.h"

/* most spatial dims of a grid */
enum { DYNC__OI_GRID = 3 };
/* attributes of many rows */
#define DYNC__OI_POOL \
    "auto_pad=NOTSET ceil_mode=0 dilations= kernel_shape= pads= strides= storage_order=0"
#define DYNC__OI_CONV "auto_pad=NOTSET dilations= group=1 kernel_shape= pads= strides="
/* rows_more.c */
DYNC__FN const dync__onnx_row *dync__onnx_rows_more(int *n);
/* detail of rows */
enum {
    DYNC__OI_PLAIN,
    DYNC__OI_MEAN,
    DYNC__OI_LEAKY,
    DYNC__OI_ELU,
    DYNC__OI_CELU,
    DYNC__OI_SELU,
    DYNC__OI_THRESHOLDED,
    DYNC__OI_HARD_SIGMOID,
    DYNC__OI_SWISH,
    DYNC__OI_GELU,
    DYNC__OI_HARDMAX,
    DYNC__OI_LOG,
    DYNC__OI_SUM,
    DYNC__OI_MAX,
    DYNC__OI_MIN,
    DYNC__OI_PROD,
    DYNC__OI_L1,
    DYNC__OI_L2,
    DYNC__OI_LOG_SUM,
    DYNC__OI_LOG_SUM_EXP,
    DYNC__OI_SUM_SQUARE,
    DYNC__OI_LP,
    DYNC__OI_LSTM,
    DYNC__OI_GRU,
    DYNC__OI_RNN,
    DYNC__OI_ENDS /* may end an idiom (map_idiom.c) */
};
/* What mapping functions share, each told where it is defined; handles are the scope's, NULL +
 * error on failure. */
DYNC__FN bool dync__oi_is_float(const dync_tensor *);
/* A pair of operands through an operator of dync: a known number beside what is not known is part
 * of the code. */
DYNC__FN dync_tensor *dync__oi_both_of(dync_tensor *(*two)(dync_value, dync_value), dync_tensor *a,
                                       dync_tensor *b);
/* map_idiom.c: does the node end several that are one operator of dync? Its result, or NULL */
DYNC__FN dync_tensor *dync__oi_idiom(const dync__onnx_call *);
/* a value of a graph that is being made of the model */
DYNC__FN bool dync__oi_is_recorded(const dync_tensor *);
/* of MatMul, and of Add behind it: a known matrix transposed, as the writer has a linear layer of
 * three dims and more. Where a graph is made; else, or where it is something else, NULL */
DYNC__FN dync_tensor *dync__oi_idiom_linear(const dync__onnx_call *);
DYNC__FN dync_tensor *dync__oi_cast_to(const dync__onnx_call *, dync_tensor *, int64_t type);
/* dims given as axes: an attribute, or input i; n 0 with *all: none are told */
DYNC__FN bool dync__oi_axes(const dync__onnx_call *, int input, int rank, dync_dims *out);
/* index as I64 with negative ones counted from the end of a dim of that size; as it is where the
 * node says that there are none (DYNC__ONNX_FROM_FRONT) */
DYNC__FN dync_tensor *dync__oi_index(const dync__onnx_call *, dync_tensor *index, int64_t size);
DYNC__FN dync_tensor *dync__oi_pad_dim(dync_tensor *x, int dim, int64_t before, int64_t after,
                                       double value);
/* map_data.c: while a graph is made: will data decide what t is; its elements as sizes of at least
 * 0, known ones as they are; is a size one of these */
DYNC__FN bool dync__oi_is_data(const dync_tensor *t);
DYNC__FN bool dync__oi_data_dims(const dync__onnx_call *, int input, dync_dims *out);
enum { DYNC__OI_UNKNOWN = INT32_MIN };
DYNC__FN bool dync__oi_partly_known(const dync__onnx_call *, int input, dync_dims *out);
DYNC__FN int dync__oi_data_sizes(const dync__onnx_call *, dync_tensor *t, int cap, int64_t *out);
DYNC__FN dync_tensor *dync__oi_data_part(dync_tensor *x, int axis, int64_t from, int64_t n);
DYNC__FN int64_t dync__oi_data_number(dync_tensor *t);
DYNC__FN bool dync__oi_is_data_size(int64_t size);
DYNC__FN dync_tensor *dync__oi_arange(int64_t from, int64_t n, int64_t step, int dtype);
DYNC__FN dync_tensor *dync__oi_heads(const dync__onnx_call *c, dync_tensor *x, int64_t heads);
DYNC__FN dync_tensor *dync__oi_joined(dync_tensor *x);
DYNC__FN dync_tensor *dync__oi_repeat_heads(dync_tensor *x, int64_t times);
DYNC__FN dync_tensor *dync__oi_cached(dync_tensor *past, dync_tensor *now);
DYNC__FN dync_tensor *dync__oi_rotated(dync_tensor *x, dync_tensor *cosine, dync_tensor *sine,
                                       bool mixed);
DYNC__FN dync_tensor *dync__oi_normed(dync_tensor *x, int axis, double eps, bool centre,
                                      dync_tensor **mean, dync_tensor **rstd);
DYNC__FN dync_status dync__oi_gathered(dync__onnx_call *, dync_tensor *x, dync_tensor *index,
                                       int axis);
DYNC__FN dync_tensor *dync__oi_saturate(dync_tensor *y, dync_tensor *zero, int64_t type);
DYNC__FN dync_tensor *dync__oi_quantized(dync_tensor *x, dync_tensor **scale, dync_tensor **zero);
DYNC__FN dync_tensor *dync__oi_centred(dync_tensor *x, dync_tensor *zero, int dim);
/* is the tensor known, and each of its numbers n? NULL: no */
DYNC__FN bool dync__oi_is_all(dync_tensor *, int64_t n);
DYNC__FN bool dync__oi_qdq_matmul(const dync__onnx_call *, dync_tensor **y);
DYNC__FN bool dync__oi_qdq_gemm(const dync__onnx_call *, bool transposed, dync_tensor **y);
DYNC__FN dync_tensor *dync__oi_byte_product(dync_tensor *a, dync_tensor *za, dync_tensor *b,
                                            dync_tensor *zb);
DYNC__FN dync_tensor *dync__oi_byte_conv(const dync__onnx_call *c, dync_tensor *x, dync_tensor *zx,
                                         dync_tensor *k, dync_tensor *zk, dync_tensor *bias);
DYNC__FN dync_tensor *dync__oi_real(dync_tensor *x, dync_tensor *scale, dync_tensor *zero);
/* map_features.c: rows of floats; scores after post_transform; label and scores of a classifier */
DYNC__FN dync_tensor *dync__oi_features(dync_tensor *x);
DYNC__FN dync_tensor *dync__oi_scores(const dync__onnx_call *, dync_tensor *s);
/* by its number, as TreeEnsemble has it */
enum {
    DYNC__OI_POST_NONE,
    DYNC__OI_POST_SOFTMAX,
    DYNC__OI_POST_LOGISTIC,
    DYNC__OI_POST_SOFTMAX_ZERO,
    DYNC__OI_POST_PROBIT
};
DYNC__FN dync_tensor *dync__oi_post(const dync__onnx_call *, int64_t kind, dync_tensor *s);
DYNC__FN dync_tensor *dync__oi_both(const dync__onnx_call *, dync_tensor *s, bool from_one);
DYNC__FN dync_status dync__oi_classes(dync__onnx_call *, dync_tensor *s, dync_tensor *which,
                                      const char *labels, bool from_one);
/* The mapping functions. One contract for all: they read c->in (an absent input is NULL) and the
 * attributes, set every output that the node wants by dync__oi_out, and return DYNC_OK or the
 * status of the error recorded. DYNC_ERR_DATA_PTR: data decide what is done, so there is no graph.
 * Nothing is kept between calls. */
DYNC__FN dync_status dync__oi_choose(dync__onnx_call *);
DYNC__FN dync_status dync__oi_binarize(dync__onnx_call *);
DYNC__FN dync_status dync__oi_scale(dync__onnx_call *);
DYNC__FN dync_status dync__oi_normalize(dync__onnx_call *);
DYNC__FN dync_status dync__oi_impute(dync__onnx_call *);
DYNC__FN dync_status dync__oi_side_by_side(dync__onnx_call *);
DYNC__FN dync_status dync__oi_label(dync__onnx_call *);
DYNC__FN dync_status dync__oi_categories(dync__onnx_call *);
DYNC__FN dync_status dync__oi_linear_regressor(dync__onnx_call *);
DYNC__FN dync_status dync__oi_linear_classifier(dync__onnx_call *);
DYNC__FN dync_status dync__oi_svm_classifier(dync__onnx_call *);
DYNC__FN dync_status dync__oi_svm_regressor(dync__onnx_call *);
DYNC__FN dync_status dync__oi_tree_ensemble(dync__onnx_call *);
DYNC__FN dync_status dync__oi_tree_regressor(dync__onnx_call *);
DYNC__FN dync_status dync__oi_tree_classifier(dync__onnx_call *);
DYNC__FN dync_status dync__oi_roialign(dync__onnx_call *);
DYNC__FN dync_status dync__oi_col2im(dync__onnx_call *);
DYNC__FN dync_status dync__oi_deform_conv(dync__onnx_call *);
DYNC__FN dync_status dync__oi_tf_idf(dync__onnx_call *);
DYNC__FN dync_status dync__oi_flex_attention(dync__onnx_call *);
DYNC__FN dync_status dync__oi_ms_attention(dync__onnx_call *);
DYNC__FN dync_status dync__oi_qattention(dync__onnx_call *);
DYNC__FN dync_status dync__oi_multi_head(dync__onnx_call *);
DYNC__FN dync_status dync__oi_grouped(dync__onnx_call *);
DYNC__FN dync_status dync__oi_bias_act(dync__onnx_call *);
DYNC__FN dync_status dync__oi_ms_group_norm(dync__onnx_call *);
DYNC__FN dync_status dync__oi_quick_gelu(dync__onnx_call *);
DYNC__FN dync_status dync__oi_fused_gemm(dync__onnx_call *);
DYNC__FN dync_status dync__oi_embed_norm(dync__onnx_call *);
DYNC__FN dync_status dync__oi_qembed_norm(dync__onnx_call *);
DYNC__FN dync_status dync__oi_expand_dims(dync__onnx_call *);
DYNC__FN dync_status dync__oi_cdist(dync__onnx_call *);
DYNC__FN dync_status dync__oi_inverse(dync__onnx_call *);
DYNC__FN dync_status dync__oi_qlinear_two(dync__onnx_call *);
DYNC__FN dync_status dync__oi_qlinear_leaky(dync__onnx_call *);
DYNC__FN dync_status dync__oi_qlinear_one(dync__onnx_call *);
DYNC__FN dync_status dync__oi_qlinear_softmax(dync__onnx_call *);
DYNC__FN dync_status dync__oi_qlinear_where(dync__onnx_call *);
DYNC__FN dync_status dync__oi_qlinear_concat(dync__onnx_call *);
DYNC__FN dync_status dync__oi_qlinear_pool(dync__onnx_call *);
DYNC__FN dync_status dync__oi_nhwc_max_pool(dync__onnx_call *);
DYNC__FN dync_status dync__oi_nhwc_qlinear_conv(dync__onnx_call *);
DYNC__FN dync_status dync__oi_dynamic_matmul(dync__onnx_call *);
DYNC__FN dync_status dync__oi_qgemm(dync__onnx_call *);
DYNC__FN dync_status dync__oi_matmul_bits(dync__onnx_call *);
DYNC__FN dync_status dync__oi_gather_bits(dync__onnx_call *);
DYNC__FN dync_status dync__oi_attention(dync__onnx_call *);
DYNC__FN dync_status dync__oi_rotary(dync__onnx_call *);
DYNC__FN dync_status dync__oi_swiglu(dync__onnx_call *);
DYNC__FN dync_status dync__oi_causal_conv(dync__onnx_call *);
DYNC__FN dync_status dync__oi_linear_attention(dync__onnx_call *);
DYNC__FN dync_status dync__oi_if(dync__onnx_call *);
DYNC__FN dync_status dync__oi_loop(dync__onnx_call *);
/* map_inside.c: as operators with functions inside; DYNC_ERR_DATA_PTR: none says it */
DYNC__FN dync_status dync__oi_if_inside(dync__onnx_call *, const dync__onnx_body *yes,
                                        const dync__onnx_body *no);
DYNC__FN dync_status dync__oi_loop_inside(dync__onnx_call *, const dync__onnx_body *, int64_t most);
DYNC__FN bool dync__oi_appends(const dync__onnx_call *, const dync__onnx_body *, int k);
DYNC__FN dync_status dync__oi_loop_scan(dync__onnx_call *, const dync__onnx_body *, int64_t rounds);
DYNC__FN dync_status dync__oi_scan_inside(dync__onnx_call *, const dync__onnx_body *, int states);
DYNC__FN dync_status dync__oi_scan(dync__onnx_call *);
DYNC__FN dync_tensor *dync__oi_convolve(const dync__onnx_call *c, dync_tensor *x, dync_tensor *k,
                                        dync_tensor *bias, dync_tensor *border_or_null);
DYNC__FN dync_status dync__oi_conv(dync__onnx_call *);
DYNC__FN dync_status dync__oi_conv_transpose(dync__onnx_call *);
DYNC__FN dync_status dync__oi_max_pool(dync__onnx_call *);
DYNC__FN dync_status dync__oi_average_pool(dync__onnx_call *);
DYNC__FN dync_status dync__oi_lp_pool(dync__onnx_call *);
DYNC__FN dync_status dync__oi_global_pool(dync__onnx_call *);
DYNC__FN dync_status dync__oi_max_unpool(dync__onnx_call *);
DYNC__FN dync_status dync__oi_fused_conv(dync__onnx_call *);
DYNC__FN dync_status dync__oi_non_max(dync__onnx_call *);
DYNC__FN dync_status dync__oi_bit_cast(dync__onnx_call *);
DYNC__FN dync_status dync__oi_concat_from_sequence(dync__onnx_call *);
DYNC__FN dync_status dync__oi_out_stacked(dync__onnx_call *, int i, dync_tensor *, int type);
DYNC__FN dync_status dync__oi_sequence_at(dync__onnx_call *);
DYNC__FN dync_status dync__oi_sequence_construct(dync__onnx_call *);
DYNC__FN dync_status dync__oi_sequence_erase(dync__onnx_call *);
DYNC__FN dync_status dync__oi_sequence_insert(dync__onnx_call *);
DYNC__FN dync_status dync__oi_sequence_length(dync__onnx_call *);
DYNC__FN dync_status dync__oi_sequence_map(dync__onnx_call *);
DYNC__FN dync_status dync__oi_split_to_sequence(dync__onnx_call *);
DYNC__FN dync_status dync__oi_optional(dync__onnx_call *);
DYNC__FN dync_status dync__oi_optional_has(dync__onnx_call *);
DYNC__FN dync_status dync__oi_random_like(dync__onnx_call *);
DYNC__FN dync_status dync__oi_random_of_shape(dync__onnx_call *);
DYNC__FN dync_status dync__oi_bernoulli(dync__onnx_call *);
DYNC__FN dync_status dync__oi_gather(dync__onnx_call *);
DYNC__FN dync_status dync__oi_gather_elements(dync__onnx_call *);
DYNC__FN dync_status dync__oi_gather_nd(dync__onnx_call *);
DYNC__FN dync_status dync__oi_scatter_elements(dync__onnx_call *);
DYNC__FN dync_status dync__oi_scatter_nd(dync__onnx_call *);
DYNC__FN dync_status dync__oi_tensor_scatter(dync__onnx_call *);
DYNC__FN dync_status dync__oi_one_hot(dync__onnx_call *);
DYNC__FN dync_status dync__oi_non_zero(dync__onnx_call *);
DYNC__FN dync_status dync__oi_compress(dync__onnx_call *);
DYNC__FN dync_status dync__oi_unique(dync__onnx_call *);
DYNC__FN dync_status dync__oi_reverse_sequence(dync__onnx_call *);
DYNC__FN dync_status dync__oi_nll_loss(dync__onnx_call *);
DYNC__FN dync_status dync__oi_cross_entropy(dync__onnx_call *);
DYNC__FN dync_status dync__oi_matmul(dync__onnx_call *);
DYNC__FN dync_status dync__oi_gemm(dync__onnx_call *);
DYNC__FN dync_tensor *dync__oi_channels(dync_tensor *t, int rank);
DYNC__FN dync_status dync__oi_batch_norm(dync__onnx_call *);
DYNC__FN dync_status dync__oi_instance_norm(dync__onnx_call *);
DYNC__FN dync_status dync__oi_group_norm(dync__onnx_call *);
DYNC__FN dync_status dync__oi_layer_norm(dync__onnx_call *);
DYNC__FN dync_status dync__oi_rms_norm(dync__onnx_call *);
DYNC__FN dync_status dync__oi_skip_norm(dync__onnx_call *);
DYNC__FN dync_status dync__oi_lp_norm(dync__onnx_call *);
DYNC__FN dync_status dync__oi_lrn(dync__onnx_call *);
DYNC__FN dync_status dync__oi_mean_variance(dync__onnx_call *);
DYNC__FN dync_status dync__oi_einsum(dync__onnx_call *);
DYNC__FN dync_status dync__oi_det(dync__onnx_call *);
DYNC__FN dync_status dync__oi_fused_matmul(dync__onnx_call *);
DYNC__FN dync_status dync__oi_one(dync__onnx_call *);
DYNC__FN dync_status dync__oi_identity(dync__onnx_call *);
DYNC__FN dync_status dync__oi_two(dync__onnx_call *);
DYNC__FN dync_status dync__oi_div(dync__onnx_call *);
DYNC__FN dync_status dync__oi_pow(dync__onnx_call *);
DYNC__FN dync_status dync__oi_mod(dync__onnx_call *);
DYNC__FN dync_status dync__oi_variadic(dync__onnx_call *);
DYNC__FN dync_status dync__oi_bit_shift(dync__onnx_call *);
DYNC__FN dync_status dync__oi_where(dync__onnx_call *);
DYNC__FN dync_status dync__oi_clip(dync__onnx_call *);
DYNC__FN dync_status dync__oi_cast(dync__onnx_call *);
DYNC__FN dync_status dync__oi_cast_like(dync__onnx_call *);
DYNC__FN dync_tensor *dync__oi_activated(int which, dync_tensor *, double alpha, double other);
DYNC__FN dync_status dync__oi_activation(dync__onnx_call *);
DYNC__FN dync_status dync__oi_prelu(dync__onnx_call *);
DYNC__FN dync_status dync__oi_shrink(dync__onnx_call *);
DYNC__FN dync_status dync__oi_is_inf(dync__onnx_call *);
DYNC__FN dync_status dync__oi_dropout(dync__onnx_call *);
DYNC__FN dync_status dync__oi_softmax(dync__onnx_call *);
DYNC__FN dync_status dync__oi_quantize(dync__onnx_call *);
DYNC__FN dync_status dync__oi_dequantize(dync__onnx_call *);
DYNC__FN dync_status dync__oi_dynamic_quantize(dync__onnx_call *);
DYNC__FN dync_status dync__oi_matmul_integer(dync__onnx_call *);
DYNC__FN dync_status dync__oi_qlinear_matmul(dync__onnx_call *);
DYNC__FN dync_status dync__oi_matmul_integer_to_float(dync__onnx_call *);
DYNC__FN dync_status dync__oi_conv_integer(dync__onnx_call *);
DYNC__FN dync_status dync__oi_qlinear_conv(dync__onnx_call *);
DYNC__FN dync_status dync__oi_recurrent(dync__onnx_call *);
DYNC__FN dync_status dync__oi_reduce(dync__onnx_call *);
DYNC__FN dync_status dync__oi_arg(dync__onnx_call *);
DYNC__FN dync_status dync__oi_cumulate(dync__onnx_call *);
DYNC__FN dync_status dync__oi_top_k(dync__onnx_call *);
DYNC__FN dync_status dync__oi_resize(dync__onnx_call *);
/* map_resize_open.c */
DYNC__FN int64_t dync__oi_scaled_size(int64_t in, double scale);
DYNC__FN dync_tensor *dync__oi_resize_open(const dync__onnx_call *c, dync_tensor *x, int axis,
                                           int64_t in, int64_t out, double scale);
DYNC__FN dync_status dync__oi_grid_sample(dync__onnx_call *);
DYNC__FN dync_status dync__oi_affine_grid(dync__onnx_call *);
DYNC__FN dync_status dync__oi_constant(dync__onnx_call *);
DYNC__FN dync_status dync__oi_constant_of_shape(dync__onnx_call *);
DYNC__FN dync_status dync__oi_shape_of(dync__onnx_call *);
DYNC__FN dync_status dync__oi_size_of(dync__onnx_call *);
DYNC__FN dync_status dync__oi_reshape(dync__onnx_call *);
DYNC__FN dync_status dync__oi_flatten(dync__onnx_call *);
DYNC__FN dync_status dync__oi_squeeze(dync__onnx_call *);
DYNC__FN dync_status dync__oi_unsqueeze(dync__onnx_call *);
DYNC__FN dync_status dync__oi_transpose(dync__onnx_call *);
DYNC__FN dync_status dync__oi_concat(dync__onnx_call *);
DYNC__FN dync_status dync__oi_split(dync__onnx_call *);
DYNC__FN dync_status dync__oi_slice(dync__onnx_call *);
DYNC__FN dync_status dync__oi_expand(dync__onnx_call *);
DYNC__FN dync_status dync__oi_tile(dync__onnx_call *);
DYNC__FN dync_status dync__oi_range(dync__onnx_call *);
DYNC__FN dync_status dync__oi_eye_like(dync__onnx_call *);
DYNC__FN dync_status dync__oi_trilu(dync__onnx_call *);
DYNC__FN dync_status dync__oi_pad(dync__onnx_call *);
DYNC__FN dync_status dync__oi_depth_to_space(dync__onnx_call *);
DYNC__FN dync_status dync__oi_space_to_depth(dync__onnx_call *);
DYNC__FN dync_status dync__oi_center(dync__onnx_call *);
DYNC__FN dync_status dync__oi_dft(dync__onnx_call *);
DYNC__FN dync_status dync__oi_stft(dync__onnx_call *);
DYNC__FN dync_status dync__oi_window_function(dync__onnx_call *);
DYNC__FN dync_status dync__oi_mel(dync__onnx_call *);
/* ---- map_conv.c, which map_pool.c shares ----------------------------------------------------- */
enum { DYNC__OI_SPACE = 3 };
/* A window over n spatial dims. */
typedef struct dync__oi_window {
    int n;
    int64_t kernel[DYNC__OI_SPACE], stride[DYNC__OI_SPACE], dilation[DYNC__OI_SPACE],
        before[DYNC__OI_SPACE], after[DYNC__OI_SPACE], out[DYNC__OI_SPACE]; /* 0: computed */
    bool ceil;
    dync_tensor *border; /* a scalar: what lies around x; NULL: zeros */
} dync__oi_window;
DYNC__INLINE bool dync__oi_between(int64_t x, int64_t from, int64_t to)
{
    return x >= from && x <= to;
}
/* map_conv.c */
DYNC__FN bool dync__oi_each(const dync__onnx_call *, const char *name, int n, int64_t *out,
                            int64_t without);
DYNC__FN bool dync__oi_window_of(const dync__onnx_call *c, dync_tensor *x, const int64_t *kernel,
                                 dync__oi_window *w);
DYNC__FN dync_dims dync__oi_pair(const int64_t *at);
DYNC__FN void dync__oi_raise(dync__oi_window *w);
/* ---- map_microsoft_attention.c --------------------------------------------------------------- */
/* What the scores [B, H, S, T] get before their softmax; NULL: nothing of the kind. */
typedef struct dync__oi_focus {
    dync_tensor *mask, *bias; /* added */
    dync_tensor *seen;        /* of bools: what is left */
    dync_tensor *sink;        /* [1, H, 1, 1]: one more score, whose weight goes nowhere */
    double scale, cap;        /* cap 0: none */
} dync__oi_focus;
DYNC__FN double dync__oi_scale_of(const dync__onnx_call *c, dync_tensor *q);
DYNC__FN dync_tensor *dync__oi_attend(dync_tensor *q, dync_tensor *k, dync_tensor *v,
                                      const dync__oi_focus *f, dync_tensor **scores,
                                      dync_tensor **weights);
#endif
