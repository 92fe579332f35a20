/* onnx/rows_more.c: the operators of other domains than ONNX's own that dync reads, in order of
 * domain and name. Columns: rows.c, which looks them up. After the map_*.c. */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

#define DYNC__MS "com.microsoft"
#define DYNC__ML "ai.onnx.ml"
#define DYNC__OI_TREES                                                                 \
    "nodes_falsenodeids= nodes_featureids= nodes_hitrates= nodes_hitrates_as_tensor= " \
    "nodes_missing_value_tracks_true= nodes_modes= nodes_nodeids= nodes_treeids= "     \
    "nodes_truenodeids= nodes_values= nodes_values_as_tensor= base_values= "           \
    "base_values_as_tensor= post_transform=NONE"
#define DYNC__OI_MASKED "scale=0 unidirectional=0 mask_filter_value=-10000"
#define DYNC__OI_PRODUCT "alpha=1 transA=0 transB=0 transBatchA=0 transBatchB=0"
/* clang-format off */
static const dync__onnx_row dync__onnx_more[] = {
    {DYNC__ML, "ArrayFeatureExtractor", 1, "", dync__oi_choose, NULL, NULL, 0},
    {DYNC__ML, "Binarizer", 1, "threshold=0", dync__oi_binarize, NULL, NULL, 0},
    {DYNC__ML, "FeatureVectorizer", 1, "inputdimensions=", dync__oi_side_by_side, NULL, NULL, 0},
    {DYNC__ML, "Imputer", 1,
     "imputed_value_floats= imputed_value_int64s= replaced_value_float=0 replaced_value_int64=0",
     dync__oi_impute, NULL, NULL, 0},
    {DYNC__ML, "LabelEncoder", 2,
     "default_float=-0 default_int64=-1 default_string= keys_floats= keys_int64s= keys_strings= "
     "values_floats= values_int64s= values_strings=",
     dync__oi_label, NULL, NULL, 0},
    {DYNC__ML, "LinearClassifier", 1,
     "classlabels_ints= classlabels_strings= coefficients= intercepts= multi_class=0 post_transform=NONE",
     dync__oi_linear_classifier, NULL, NULL, 0},
    {DYNC__ML, "LinearRegressor", 1, "coefficients= intercepts= post_transform=NONE targets=1",
     dync__oi_linear_regressor, NULL, NULL, 0},
    {DYNC__ML, "Normalizer", 1, "norm=MAX", dync__oi_normalize, NULL, NULL, 0},
    {DYNC__ML, "OneHotEncoder", 1, "cats_int64s= cats_strings= zeros=1", dync__oi_categories, NULL, NULL, 0},
    {DYNC__ML, "SVMClassifier", 1,
     "classlabels_ints= classlabels_strings= coefficients= kernel_params= kernel_type=LINEAR "
     "post_transform=NONE prob_a= prob_b= rho= support_vectors= vectors_per_class=",
     dync__oi_svm_classifier, NULL, NULL, 0},
    {DYNC__ML, "SVMRegressor", 1,
     "coefficients= kernel_params= kernel_type=LINEAR n_supports=0 one_class=0 post_transform=NONE "
     "rho= support_vectors=",
     dync__oi_svm_regressor, NULL, NULL, 0},
    {DYNC__ML, "Scaler", 1, "offset= scale=", dync__oi_scale, NULL, NULL, 0},
    {DYNC__ML, "TreeEnsemble", 5,
     "aggregate_function=1 leaf_targetids= leaf_weights= membership_values= n_targets=1 "
     "nodes_falseleafs= nodes_falsenodeids= nodes_featureids= nodes_hitrates= "
     "nodes_missing_value_tracks_true= nodes_modes= nodes_splits= nodes_trueleafs= "
     "nodes_truenodeids= post_transform=0 tree_roots=",
     dync__oi_tree_ensemble, NULL, NULL, 0},
    {DYNC__ML, "TreeEnsembleClassifier", 1,
     "class_ids= class_nodeids= class_treeids= class_weights= class_weights_as_tensor= "
     "classlabels_int64s= classlabels_strings= " DYNC__OI_TREES,
     dync__oi_tree_classifier, NULL, NULL, 0},
    {DYNC__ML, "TreeEnsembleRegressor", 1,
     "aggregate_function=SUM n_targets=1 target_ids= target_nodeids= target_treeids= target_weights= "
     "target_weights_as_tensor= " DYNC__OI_TREES,
     dync__oi_tree_regressor, NULL, NULL, 0},
    {"ai.onnx.preview", "FlexAttention", 1,
     "prob_mod= scale= score_mod= softmax_precision=0",
     dync__oi_flex_attention, NULL, NULL, 0},
    {DYNC__MS, "Attention", 1,
     "num_heads= qkv_hidden_sizes= do_rotary=0 rotary_embedding_dim=0 past_present_share_buffer=0 " DYNC__OI_MASKED,
     dync__oi_ms_attention, NULL, NULL, 0},
    {DYNC__MS, "BiasGelu", 1, "", dync__oi_bias_act, dync_gelu, NULL, 0},
    {DYNC__MS, "CDist", 1, "metric=sqeuclidean", dync__oi_cdist, NULL, NULL, 0},
    {DYNC__MS, "DequantizeLinear", 1, "axis=1 block_size=0", dync__oi_dequantize, NULL, NULL, 0},
    {DYNC__MS, "DynamicQuantizeLSTM", 1,
     "activation_alpha= activation_beta= activations= clip=0 direction=forward hidden_size= input_forget=0",
     dync__oi_recurrent, NULL, NULL, DYNC__OI_LSTM},
    {DYNC__MS, "DynamicQuantizeMatMul", 1, "", dync__oi_dynamic_matmul, NULL, NULL, 0},
    {DYNC__MS, "EmbedLayerNormalization", 1, "epsilon=1e-12 mask_index_type=0", dync__oi_embed_norm, NULL, NULL, 0},
    {DYNC__MS, "ExpandDims", 1, "", dync__oi_expand_dims, NULL, NULL, 0},
    {DYNC__MS, "FastGelu", 1, "", dync__oi_bias_act, dync_gelu_tanh, NULL, 0},
    {DYNC__MS, "FusedConv", 1, DYNC__OI_CONV " activation= activation_params=", dync__oi_fused_conv, NULL, NULL, 0},
    {DYNC__MS, "FusedGemm", 1,
     "alpha=1 beta=1 transA=0 transB=0 broadcast=0 activation= activation_alpha= activation_beta= activation_gamma=",
     dync__oi_fused_gemm, NULL, NULL, 0},
    {DYNC__MS, "FusedMatMul", 1, DYNC__OI_PRODUCT, dync__oi_fused_matmul, NULL, NULL, 0},
    {DYNC__MS, "GatherBlockQuantized", 1,
     "bits=4 block_size=128 gather_axis=0 quantize_axis=1",
     dync__oi_gather_bits, NULL, NULL, 0},
    {DYNC__MS, "Gelu", 1, "", dync__oi_activation, NULL, NULL, DYNC__OI_GELU},
    {DYNC__MS, "GroupNorm", 1,
     "epsilon=1e-05 groups= activation= channels_last=1", dync__oi_ms_group_norm, NULL, NULL, 0},
    {DYNC__MS, "GroupQueryAttention", 1,
     "num_heads= kv_num_heads= scale=0 softcap=0 do_rotary=0 rotary_interleaved=0 local_window_size=-1 causal=1 "
     "smooth_softmax=-1 qk_output=0 sliding_window_cache=0 kv_cache_bit_width=0 k_quant_type=NONE v_quant_type=NONE "
     "q_norm_epsilon= k_norm_epsilon= qk_norm_epsilon=1e-06",
     dync__oi_grouped, NULL, NULL, 0},
    {DYNC__MS, "Inverse", 1, "", dync__oi_inverse, NULL, NULL, 0},
    {DYNC__MS, "MatMulIntegerToFloat", 1, "", dync__oi_matmul_integer_to_float, NULL, NULL, 0},
    {DYNC__MS, "MatMulNBits", 1,
     "K= N= bits=4 block_size= accuracy_level=0 weight_prepacked=0",
     dync__oi_matmul_bits, NULL, NULL, 0},
    {DYNC__MS, "MultiHeadAttention", 1, "num_heads= " DYNC__OI_MASKED, dync__oi_multi_head, NULL, NULL, 0},
    {DYNC__MS, "NhwcMaxPool", 1, DYNC__OI_POOL, dync__oi_nhwc_max_pool, NULL, NULL, 0},
    {DYNC__MS, "QAttention", 1,
     "num_heads= do_rotary=0 past_present_share_buffer=0 " DYNC__OI_MASKED,
     dync__oi_qattention, NULL, NULL, 0},
    {DYNC__MS, "QEmbedLayerNormalization", 1, "epsilon=1e-12", dync__oi_qembed_norm, NULL, NULL, 0},
    {DYNC__MS, "QGemm", 1, "alpha=1 transA=0 transB=0", dync__oi_qgemm, NULL, NULL, 0},
    {DYNC__MS, "QLinearAdd", 1, "", dync__oi_qlinear_two, NULL, dync_add, 0},
    {DYNC__MS, "QLinearAveragePool", 1,
     DYNC__OI_POOL " count_include_pad=0 channels_last=0",
     dync__oi_qlinear_pool, NULL, NULL, 0},
    {DYNC__MS, "QLinearConcat", 1, "axis=", dync__oi_qlinear_concat, NULL, NULL, 0},
    {DYNC__MS, "QLinearConv", 1, DYNC__OI_CONV " channels_last=0", dync__oi_nhwc_qlinear_conv, NULL, NULL, 0},
    {DYNC__MS, "QLinearGlobalAveragePool", 1, "channels_last=0", dync__oi_qlinear_pool, NULL, NULL, DYNC__OI_MEAN},
    {DYNC__MS, "QLinearLeakyRelu", 1, "alpha=0.01", dync__oi_qlinear_leaky, NULL, NULL, 0},
    {DYNC__MS, "QLinearMul", 1, "", dync__oi_qlinear_two, NULL, dync_mul, 0},
    {DYNC__MS, "QLinearSigmoid", 1, "", dync__oi_qlinear_one, dync_sigmoid, NULL, 0},
    {DYNC__MS, "QLinearSoftmax", 1, "axis=-1 opset=", dync__oi_qlinear_softmax, NULL, NULL, 0},
    {DYNC__MS, "QLinearWhere", 1, "", dync__oi_qlinear_where, NULL, NULL, 0},
    {DYNC__MS, "QuantizeLinear", 1, "axis=1 block_size=0", dync__oi_quantize, NULL, NULL, 0},
    {DYNC__MS, "QuickGelu", 1, "alpha=1.702", dync__oi_quick_gelu, NULL, NULL, 0},
    {DYNC__MS, "RotaryEmbedding", 1,
     "interleaved=0 num_heads=0 rotary_embedding_dim=0 is_packed_batching=0 scale=1",
     dync__oi_rotary, NULL, NULL, 0},
    {DYNC__MS, "SimplifiedLayerNormalization", 1,
     "axis=-1 epsilon=1e-05 stash_type=1",
     dync__oi_rms_norm, NULL, NULL, 0},
    {DYNC__MS, "SkipGroupNorm", 1,
     "epsilon=1e-05 groups= activation= channels_last=1", dync__oi_ms_group_norm, NULL, NULL, 0},
    {DYNC__MS, "SkipLayerNormalization", 1, "epsilon=1e-12", dync__oi_skip_norm, NULL, NULL, DYNC__OI_MEAN},
    {DYNC__MS, "SkipSimplifiedLayerNormalization", 1, "epsilon=1e-12", dync__oi_skip_norm, NULL, NULL, 0},
    {DYNC__MS, "TransposeMatMul", 1, DYNC__OI_PRODUCT, dync__oi_fused_matmul, NULL, NULL, 0},
    {DYNC__MS, "Trilu", 1, "upper=1", dync__oi_trilu, NULL, NULL, 0},
};
/* clang-format on */

DYNC__FN const dync__onnx_row *dync__onnx_rows_more(int *n)
{
    *n = DYNC__COUNT_OF(dync__onnx_more);
    return dync__onnx_more;
}
