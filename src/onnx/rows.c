/* onnx/rows.c: the ONNX operators that dync reads, one row each, by name; those of other domains
 * than ONNX's own stand in rows_more.c. After that.
 *
 * Columns: domain, name, first version, attributes with their defaults, mapping function, then what
 * it works with: .one, .two an operator of dync, .detail. */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

#define DYNC__OI_OLD "axis= broadcast=0 consumed_inputs="
#define DYNC__OI_REDUCE "axes= keepdims=1 noop_with_empty_axes=0"
/* clang-format off */
static const dync__onnx_row dync__onnx_rows[] = {
#define DYNC__ONE(name, since, f) {"", name, since, "consumed_inputs=", dync__oi_one, (f), NULL, 0},
#define DYNC__TWO(name, since, f, flags) {"", name, since, DYNC__OI_OLD, dync__oi_two, NULL, (f), (flags)},
    DYNC__ONE("Abs", 1, dync_abs)
    DYNC__ONE("Acos", 7, dync_acos)
    DYNC__ONE("Acosh", 9, dync_acosh)
    DYNC__TWO("Add", 1, dync_add, DYNC__OI_WRAPS)
    {"", "AffineGrid", 20, "align_corners=0", dync__oi_affine_grid, NULL, NULL, 0},
    DYNC__TWO("And", 1, dync_logical_and, 0)
    {"", "ArgMax", 1, "axis=0 keepdims=1 select_last_index=0", dync__oi_arg, NULL, NULL, DYNC__OI_MAX},
    {"", "ArgMin", 1, "axis=0 keepdims=1 select_last_index=0", dync__oi_arg, NULL, NULL, DYNC__OI_MIN},
    DYNC__ONE("Asin", 7, dync_asin)
    DYNC__ONE("Asinh", 9, dync_asinh)
    DYNC__ONE("Atan", 7, dync_atan)
    DYNC__ONE("Atanh", 9, dync_atanh)
    {"", "Attention", 23,
     "is_causal=0 kv_num_heads=0 q_num_heads=0 qk_matmul_output_mode=0 scale= softcap=0 "
     "softmax_precision=0 left_window_size=-1 right_window_size=-1",
     dync__oi_attention, NULL, NULL, 0},
    {"", "AveragePool", 1, DYNC__OI_POOL " count_include_pad=0", dync__oi_average_pool, NULL, NULL, 0},
    {"", "BatchNormalization", 1,
     "epsilon=1e-05 momentum=0.9 training_mode=0 spatial=1 is_test=0 consumed_inputs=",
     dync__oi_batch_norm, NULL, NULL, 0},
    {"", "Bernoulli", 15, "dtype=0 seed=0", dync__oi_bernoulli, NULL, NULL, 0},
    {"", "BitCast", 26, "to=", dync__oi_bit_cast, NULL, NULL, 0},
    {"", "BitShift", 11, "direction=", dync__oi_bit_shift, NULL, NULL, 0},
    DYNC__TWO("BitwiseAnd", 18, dync_bitwise_and, 0)
    {"", "BitwiseNot", 18, "", dync__oi_one, dync_bitwise_not, NULL, DYNC__OI_WRAPS},
    DYNC__TWO("BitwiseOr", 18, dync_bitwise_or, 0)
    DYNC__TWO("BitwiseXor", 18, dync_bitwise_xor, 0)
    {"", "BlackmanWindow", 17, "output_datatype=1 periodic=1", dync__oi_window_function, NULL, NULL, 2},
    {"", "Cast", 1, "to= saturate=1 round_mode=up", dync__oi_cast, NULL, NULL, 0},
    {"", "CastLike", 15, "saturate=1 round_mode=up", dync__oi_cast_like, NULL, NULL, 0},
    {"", "CausalConvWithState", 27, "activation=none", dync__oi_causal_conv, NULL, NULL, 0},
    DYNC__ONE("Ceil", 1, dync_ceil)
    {"", "Celu", 12, "alpha=1", dync__oi_activation, NULL, NULL, DYNC__OI_CELU},
    {"", "CenterCropPad", 18, "axes=", dync__oi_center, NULL, NULL, 0},
    {"", "Clip", 1, "min= max= consumed_inputs=", dync__oi_clip, NULL, NULL, 0},
    {"", "Col2Im", 18, "dilations= pads= strides=", dync__oi_col2im, NULL, NULL, 0},
    {"", "Compress", 9, "axis=", dync__oi_compress, NULL, NULL, 0},
    {"", "Concat", 1, "axis=1", dync__oi_concat, NULL, NULL, 0},
    {"", "ConcatFromSequence", 11, "axis= new_axis=0", dync__oi_concat_from_sequence, NULL, NULL, 0},
    {"", "Constant", 1,
     "value= value_int= value_ints= value_float= value_floats= value_string= value_strings= "
     "sparse_value=",
     dync__oi_constant, NULL, NULL, 0},
    {"", "ConstantOfShape", 9, "value=", dync__oi_constant_of_shape, NULL, NULL, 0},
    {"", "Conv", 1, DYNC__OI_CONV, dync__oi_conv, NULL, NULL, 0},
    {"", "ConvInteger", 10, DYNC__OI_CONV, dync__oi_conv_integer, NULL, NULL, 0},
    {"", "ConvTranspose", 1, DYNC__OI_CONV " output_padding= output_shape=", dync__oi_conv_transpose, NULL, NULL, 0},
    DYNC__ONE("Cos", 7, dync_cos)
    DYNC__ONE("Cosh", 9, dync_cosh)
    {"", "CumProd", 26, "exclusive=0 reverse=0", dync__oi_cumulate, NULL, NULL, DYNC__OI_PROD},
    {"", "CumSum", 11, "exclusive=0 reverse=0", dync__oi_cumulate, NULL, NULL, 0},
    {"", "DFT", 17, "axis=1 inverse=0 onesided=0", dync__oi_dft, NULL, NULL, 0},
    {"", "DeformConv", 19,
     "dilations= group=1 kernel_shape= offset_group=1 pads= strides=",
     dync__oi_deform_conv, NULL, NULL, 0},
    {"", "DepthToSpace", 1, "blocksize= mode=DCR", dync__oi_depth_to_space, NULL, NULL, 0},
    {"", "DequantizeLinear", 10, "axis=1 block_size=0 output_dtype=0", dync__oi_dequantize, NULL, NULL, 0},
    {"", "Det", 11, "", dync__oi_det, NULL, NULL, 0},
    {"", "Div", 1, DYNC__OI_OLD, dync__oi_div, NULL, NULL, DYNC__OI_WRAPS},
    {"", "Dropout", 1, "ratio=0.5 seed=0 is_test=0 consumed_inputs=", dync__oi_dropout, NULL, NULL, 0},
    {"", "DynamicQuantizeLinear", 11, "", dync__oi_dynamic_quantize, NULL, NULL, 0},
    {"", "Einsum", 12, "equation=", dync__oi_einsum, NULL, NULL, 0},
    {"", "Elu", 1, "alpha=1 consumed_inputs=", dync__oi_activation, NULL, NULL, DYNC__OI_ELU},
    DYNC__TWO("Equal", 1, dync_eq, 0)
    DYNC__ONE("Erf", 9, dync_erf)
    DYNC__ONE("Exp", 1, dync_exp)
    {"", "Expand", 8, "", dync__oi_expand, NULL, NULL, 0},
    {"", "EyeLike", 9, "dtype= k=0", dync__oi_eye_like, NULL, NULL, 0},
    {"", "Flatten", 1, "axis=1", dync__oi_flatten, NULL, NULL, 0},
    DYNC__ONE("Floor", 1, dync_floor)
    {"", "GRU", 1,
     "activation_alpha= activation_beta= activations= clip=0 direction=forward hidden_size= "
     "layout=0 linear_before_reset=0 output_sequence=0",
     dync__oi_recurrent, NULL, NULL, DYNC__OI_GRU},
    {"", "Gather", 1, "axis=0", dync__oi_gather, NULL, NULL, 0},
    {"", "GatherElements", 11, "axis=0", dync__oi_gather_elements, NULL, NULL, 0},
    {"", "GatherND", 11, "batch_dims=0", dync__oi_gather_nd, NULL, NULL, 0},
    {"", "Gelu", 20, "approximate=none", dync__oi_activation, NULL, NULL, DYNC__OI_GELU},
    {"", "Gemm", 1, "alpha=1 beta=1 transA=0 transB=0 broadcast=0", dync__oi_gemm, NULL, NULL, 0},
    {"", "GlobalAveragePool", 1, "", dync__oi_global_pool, NULL, NULL, DYNC__OI_MEAN},
    {"", "GlobalLpPool", 1, "p=2", dync__oi_global_pool, NULL, NULL, DYNC__OI_LP},
    {"", "GlobalMaxPool", 1, "", dync__oi_global_pool, NULL, NULL, DYNC__OI_MAX},
    DYNC__TWO("Greater", 1, dync_gt, 0)
    DYNC__TWO("GreaterOrEqual", 12, dync_ge, 0)
    {"", "GridSample", 16, "align_corners=0 mode=linear padding_mode=zeros", dync__oi_grid_sample, NULL, NULL, 0},
    {"", "GroupNormalization", 18, "epsilon=1e-05 num_groups= stash_type=1", dync__oi_group_norm, NULL, NULL, 0},
    {"", "HammingWindow", 17, "output_datatype=1 periodic=1", dync__oi_window_function, NULL, NULL, 1},
    {"", "HannWindow", 17, "output_datatype=1 periodic=1", dync__oi_window_function, NULL, NULL, 0},
    {"", "HardSigmoid", 1,
     "alpha=0.2 beta=0.5 consumed_inputs=",
     dync__oi_activation, NULL, NULL, DYNC__OI_HARD_SIGMOID},
    DYNC__ONE("HardSwish", 14, dync_hardswish)
    {"", "Hardmax", 1, "axis=", dync__oi_softmax, NULL, NULL, DYNC__OI_HARDMAX},
    {"", "Identity", 1, "", dync__oi_identity, NULL, NULL, 0},
    {"", "If", 1, "then_branch= else_branch=", dync__oi_if, NULL, NULL, 0},
    {"", "InstanceNormalization", 1, "epsilon=1e-05 consumed_inputs=", dync__oi_instance_norm, NULL, NULL, 0},
    {"", "IsInf", 10, "detect_negative=1 detect_positive=1", dync__oi_is_inf, NULL, NULL, 0},
    DYNC__ONE("IsNaN", 9, dync_isnan)
    {"", "LRN", 1, "alpha=0.0001 beta=0.75 bias=1 size=", dync__oi_lrn, NULL, NULL, 0},
    {"", "LSTM", 1,
     "activation_alpha= activation_beta= activations= clip=0 direction=forward hidden_size= "
     "input_forget=0 layout=0 output_sequence=0",
     dync__oi_recurrent, NULL, NULL, DYNC__OI_LSTM},
    {"", "LayerNormalization", 17, "axis=-1 epsilon=1e-05 stash_type=1", dync__oi_layer_norm, NULL, NULL, 0},
    {"", "LeakyRelu", 1, "alpha=0.01 consumed_inputs=", dync__oi_activation, NULL, NULL, DYNC__OI_LEAKY},
    DYNC__TWO("Less", 1, dync_lt, 0)
    DYNC__TWO("LessOrEqual", 12, dync_le, 0)
    {"", "LinearAttention", 27,
     "chunk_size=64 kv_num_heads=0 q_num_heads=0 scale=0 update_rule=gated_delta",
     dync__oi_linear_attention, NULL, NULL, 0},
    DYNC__ONE("Log", 1, dync_log)
    {"", "LogSoftmax", 1, "axis=", dync__oi_softmax, NULL, NULL, DYNC__OI_LOG},
    {"", "Loop", 1, "body=", dync__oi_loop, NULL, NULL, 0},
    {"", "LpNormalization", 1, "axis=-1 p=2", dync__oi_lp_norm, NULL, NULL, 0},
    {"", "LpPool", 1, DYNC__OI_POOL " p=2", dync__oi_lp_pool, NULL, NULL, 0},
    {"", "MatMul", 1, "", dync__oi_matmul, NULL, NULL, 0},
    {"", "MatMulInteger", 10, "", dync__oi_matmul_integer, NULL, NULL, 0},
    {"", "Max", 1, "consumed_inputs=", dync__oi_variadic, NULL, dync_maximum, 0},
    {"", "MaxPool", 1, DYNC__OI_POOL, dync__oi_max_pool, NULL, NULL, 0},
    {"", "MaxUnpool", 9, "kernel_shape= pads= strides=", dync__oi_max_unpool, NULL, NULL, 0},
    {"", "Mean", 1, "consumed_inputs=", dync__oi_variadic, NULL, dync_add, DYNC__OI_MEAN},
    {"", "MeanVarianceNormalization", 9, "axes=", dync__oi_mean_variance, NULL, NULL, 0},
    {"", "MelWeightMatrix", 17, "output_datatype=1", dync__oi_mel, NULL, NULL, 0},
    {"", "Min", 1, "consumed_inputs=", dync__oi_variadic, NULL, dync_minimum, 0},
    DYNC__ONE("Mish", 18, dync_mish)
    {"", "Mod", 10, "fmod=0", dync__oi_mod, NULL, NULL, 0},
    DYNC__TWO("Mul", 1, dync_mul, DYNC__OI_WRAPS | DYNC__OI_ENDS)
    DYNC__ONE("Neg", 1, dync_neg)
    {"", "NegativeLogLikelihoodLoss", 12, "ignore_index= reduction=mean", dync__oi_nll_loss, NULL, NULL, 0},
    {"", "NonMaxSuppression", 10, "center_point_box=0", dync__oi_non_max, NULL, NULL, 0},
    {"", "NonZero", 9, "", dync__oi_non_zero, NULL, NULL, 0},
    DYNC__ONE("Not", 1, dync_logical_not)
    {"", "OneHot", 9, "axis=-1", dync__oi_one_hot, NULL, NULL, 0},
    {"", "Optional", 15, "type=", dync__oi_optional, NULL, NULL, 0},
    {"", "OptionalGetElement", 15, "", dync__oi_identity, NULL, NULL, 0},
    {"", "OptionalHasElement", 15, "", dync__oi_optional_has, NULL, NULL, 0},
    DYNC__TWO("Or", 1, dync_logical_or, DYNC__OI_ENDS)
    {"", "PRelu", 1, "consumed_inputs=", dync__oi_prelu, NULL, NULL, 0},
    {"", "Pad", 2, "mode=constant pads= value=0", dync__oi_pad, NULL, NULL, 0},
    {"", "Pow", 1, DYNC__OI_OLD, dync__oi_pow, NULL, NULL, DYNC__OI_WRAPS},
    {"", "QLinearConv", 10, DYNC__OI_CONV, dync__oi_qlinear_conv, NULL, NULL, 0},
    {"", "QLinearMatMul", 10, "", dync__oi_qlinear_matmul, NULL, NULL, 0},
    {"", "QuantizeLinear", 10,
     "axis=1 block_size=0 output_dtype=0 precision=0 saturate=1",
     dync__oi_quantize, NULL, NULL, 0},
    {"", "RMSNormalization", 23, "axis=-1 epsilon=1e-05 stash_type=1", dync__oi_rms_norm, NULL, NULL, 0},
    {"", "RNN", 1,
     "activation_alpha= activation_beta= activations= clip=0 direction=forward hidden_size= "
     "layout=0 output_sequence=0",
     dync__oi_recurrent, NULL, NULL, DYNC__OI_RNN},
    {"", "RandomNormal", 1,
     "dtype=1 mean=0 scale=1 seed=0 shape=",
     dync__oi_random_of_shape, NULL, NULL, DYNC__OI_MEAN},
    {"", "RandomNormalLike", 1, "dtype=0 mean=0 scale=1 seed=0", dync__oi_random_like, NULL, NULL, DYNC__OI_MEAN},
    {"", "RandomUniform", 1, "dtype=1 high=1 low=0 seed=0 shape=", dync__oi_random_of_shape, NULL, NULL, 0},
    {"", "RandomUniformLike", 1, "dtype=0 high=1 low=0 seed=0", dync__oi_random_like, NULL, NULL, 0},
    {"", "Range", 11, "stash_type=1", dync__oi_range, NULL, NULL, 0},
    DYNC__ONE("Reciprocal", 1, dync_reciprocal)
    {"", "ReduceL1", 1, DYNC__OI_REDUCE, dync__oi_reduce, NULL, NULL, DYNC__OI_L1},
    {"", "ReduceL2", 1, DYNC__OI_REDUCE, dync__oi_reduce, NULL, NULL, DYNC__OI_L2},
    {"", "ReduceLogSum", 1, DYNC__OI_REDUCE, dync__oi_reduce, NULL, NULL, DYNC__OI_LOG_SUM},
    {"", "ReduceLogSumExp", 1, DYNC__OI_REDUCE, dync__oi_reduce, NULL, NULL, DYNC__OI_LOG_SUM_EXP},
    {"", "ReduceMax", 1, DYNC__OI_REDUCE, dync__oi_reduce, NULL, NULL, DYNC__OI_MAX},
    {"", "ReduceMean", 1, DYNC__OI_REDUCE, dync__oi_reduce, NULL, NULL, DYNC__OI_MEAN},
    {"", "ReduceMin", 1, DYNC__OI_REDUCE, dync__oi_reduce, NULL, NULL, DYNC__OI_MIN},
    {"", "ReduceProd", 1, DYNC__OI_REDUCE, dync__oi_reduce, NULL, NULL, DYNC__OI_PROD},
    {"", "ReduceSum", 1, DYNC__OI_REDUCE, dync__oi_reduce, NULL, NULL, DYNC__OI_SUM},
    {"", "ReduceSumSquare", 1, DYNC__OI_REDUCE, dync__oi_reduce, NULL, NULL, DYNC__OI_SUM_SQUARE},
    DYNC__ONE("Relu", 1, dync_relu)
    {"", "Reshape", 1, "allowzero=0 shape= consumed_inputs=", dync__oi_reshape, NULL, NULL, 0},
    {"", "Resize", 10,
     "antialias=0 axes= coordinate_transformation_mode=half_pixel cubic_coeff_a=-0.75 "
     "exclude_outside=0 extrapolation_value=0 keep_aspect_ratio_policy=stretch mode=nearest "
     "nearest_mode=round_prefer_floor",
     dync__oi_resize, NULL, NULL, 0},
    {"", "ReverseSequence", 10, "batch_axis=1 time_axis=0", dync__oi_reverse_sequence, NULL, NULL, 0},
    {"", "RoiAlign", 10,
     "coordinate_transformation_mode=half_pixel mode=avg output_height=1 output_width=1 sampling_ratio=0 "
     "spatial_scale=1",
     dync__oi_roialign, NULL, NULL, 0},
    {"", "RotaryEmbedding", 23, "interleaved=0 num_heads=0 rotary_embedding_dim=0", dync__oi_rotary, NULL, NULL, 0},
    DYNC__ONE("Round", 11, dync_round)
    {"", "STFT", 17, "onesided=1", dync__oi_stft, NULL, NULL, 0},
    {"", "Scan", 8,
     "body= num_scan_inputs=0 scan_input_axes= scan_input_directions= scan_output_axes= "
     "scan_output_directions= directions=",
     dync__oi_scan, NULL, NULL, 0},
    {"", "Scatter", 9, "axis=0", dync__oi_scatter_elements, NULL, NULL, 0},
    {"", "ScatterElements", 11, "axis=0 reduction=none", dync__oi_scatter_elements, NULL, NULL, 0},
    {"", "ScatterND", 11, "reduction=none", dync__oi_scatter_nd, NULL, NULL, 0},
    {"", "Selu", 1,
     "alpha=1.67326319217681884765625 gamma=1.05070102214813232421875 consumed_inputs=",
     dync__oi_activation, NULL, NULL, DYNC__OI_SELU},
    {"", "SequenceAt", 11, "", dync__oi_sequence_at, NULL, NULL, 0},
    {"", "SequenceConstruct", 11, "", dync__oi_sequence_construct, NULL, NULL, 0},
    {"", "SequenceEmpty", 11, "dtype=1", dync__oi_sequence_construct, NULL, NULL, 0},
    {"", "SequenceErase", 11, "", dync__oi_sequence_erase, NULL, NULL, 0},
    {"", "SequenceInsert", 11, "", dync__oi_sequence_insert, NULL, NULL, 0},
    {"", "SequenceLength", 11, "", dync__oi_sequence_length, NULL, NULL, 0},
    {"", "SequenceMap", 17, "body=", dync__oi_sequence_map, NULL, NULL, 0},
    {"", "Shape", 1, "start=0 end=", dync__oi_shape_of, NULL, NULL, 0},
    {"", "Shrink", 9, "bias=0 lambd=0.5", dync__oi_shrink, NULL, NULL, 0},
    DYNC__ONE("Sigmoid", 1, dync_sigmoid)
    DYNC__ONE("Sign", 9, dync_sign)
    {"", "SimplifiedLayerNormalization", 1, "axis=-1 epsilon=1e-05 stash_type=1", dync__oi_rms_norm, NULL, NULL, 0},
    DYNC__ONE("Sin", 7, dync_sin)
    DYNC__ONE("Sinh", 9, dync_sinh)
    {"", "Size", 1, "", dync__oi_size_of, NULL, NULL, 0},
    {"", "Slice", 1, "starts= ends= axes=", dync__oi_slice, NULL, NULL, 0},
    {"", "Softmax", 1, "axis=", dync__oi_softmax, NULL, NULL, 0},
    {"", "SoftmaxCrossEntropyLoss", 12, "ignore_index= reduction=mean", dync__oi_cross_entropy, NULL, NULL, 0},
    DYNC__ONE("Softplus", 1, dync_softplus)
    DYNC__ONE("Softsign", 1, dync_softsign)
    {"", "SpaceToDepth", 1, "blocksize= mode=DCR", dync__oi_space_to_depth, NULL, NULL, 0},
    {"", "Split", 1, "axis=0 split= num_outputs=", dync__oi_split, NULL, NULL, 0},
    {"", "SplitToSequence", 11, "axis=0 keepdims=1", dync__oi_split_to_sequence, NULL, NULL, 0},
    DYNC__ONE("Sqrt", 1, dync_sqrt)
    {"", "Squeeze", 1, "axes=", dync__oi_squeeze, NULL, NULL, 0},
    DYNC__TWO("Sub", 1, dync_sub, DYNC__OI_WRAPS | DYNC__OI_ENDS)
    {"", "Sum", 1, "consumed_inputs=", dync__oi_variadic, NULL, dync_add, 0},
    {"", "SwiGLU", 27, "alpha=1", dync__oi_swiglu, NULL, NULL, 0},
    {"", "Swish", 24, "alpha=1", dync__oi_activation, NULL, NULL, DYNC__OI_SWISH},
    DYNC__ONE("Tan", 7, dync_tan)
    DYNC__ONE("Tanh", 1, dync_tanh)
    {"", "TensorScatter", 24, "axis=-2 mode=linear", dync__oi_tensor_scatter, NULL, NULL, 0},
    {"", "TfIdfVectorizer", 9,
     "max_gram_length= max_skip_count= min_gram_length= mode= ngram_counts= ngram_indexes= pool_int64s= pool_strings= "
     "weights=",
     dync__oi_tf_idf, NULL, NULL, 0},
    {"", "ThresholdedRelu", 10, "alpha=1", dync__oi_activation, NULL, NULL, DYNC__OI_THRESHOLDED},
    {"", "Tile", 6, "", dync__oi_tile, NULL, NULL, 0},
    {"", "TopK", 1, "axis=-1 k= largest=1 sorted=1", dync__oi_top_k, NULL, NULL, 0},
    {"", "Transpose", 1, "perm=", dync__oi_transpose, NULL, NULL, 0},
    {"", "Trilu", 14, "upper=1", dync__oi_trilu, NULL, NULL, 0},
    {"", "Unique", 11, "axis= sorted=1", dync__oi_unique, NULL, NULL, 0},
    {"", "Unsqueeze", 1, "axes=", dync__oi_unsqueeze, NULL, NULL, 0},
    {"", "Upsample", 7, "mode=nearest scales= width_scale= height_scale=", dync__oi_resize, NULL, NULL, 0},
    {"", "Where", 9, "", dync__oi_where, NULL, NULL, 0},
    DYNC__TWO("Xor", 1, dync_logical_xor, 0)
#undef DYNC__TWO
#undef DYNC__ONE
};
/* clang-format on */

/* Rows are in order of domain and name. */
static int dync__onnx_row_compare(const dync__onnx_row *r, const char *domain, const char *name)
{
    int d = strcmp(r->domain, domain);
    return d ? d : strcmp(r->name, name);
}

#if defined(DYNC_ASSERT)
static bool dync__onnx_rows_in_order(const dync__onnx_row *r, int n)
{
    for (int i = 1; i < n; i++)
        if (dync__onnx_row_compare(&r[i - 1], r[i].domain, r[i].name) >= 0) return false;
    return true;
}
#endif

DYNC__FN const dync__onnx_row *dync__onnx_row_find(const char *domain, const char *name)
{
    int low = 0, high = DYNC__COUNT_OF(dync__onnx_rows);
    const dync__onnx_row *rows = *domain ? dync__onnx_rows_more(&high) : dync__onnx_rows;
    DYNC__ASSERT(dync__onnx_rows_in_order(rows, high));
    while (low < high) {
        int at = (low + high) / 2, d = dync__onnx_row_compare(&rows[at], domain, name);
        if (d == 0) return &rows[at];
        if (d < 0)
            low = at + 1;
        else
            high = at;
    }
    return NULL;
}
