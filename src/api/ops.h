/* ---- operators: PyTorch's names, semantics, type promotion and broadcasting; trailing _ works
 * in place ---------
 *
 * Generated from src/op/ops.def.h by tools/genops.c: edit the table, then `make headers`.
 *
 * Each operator is a function, dync_add,
    and a macro of that name that hands on its place in the source, so that an
 * error says file and line. (dync_add)(a, b) is the function. What holds for all of them:
 *
 *   dync_value  any C expression: a tensor, a number, a bool (DYNC_V): dync_add(x, 2),
    dync_sub(1.0, x)
 *   dims        a shape literal of dimensions, dync_shape(0, -1); DYNC_ALL is all of them
 *   dim         -rank <= dim < rank; negative counts from the end
 *   ->          a new tensor, owned by the scope; NULL on failure
 *   errors      DYNC_ERR_SHAPE, DYNC_ERR_DTYPE, DYNC_ERR_DEVICE, DYNC_ERR_INDEX, DYNC_ERR_VALUE,
    DYNC_ERR_MEMORY
 *   notes       NULL operands give NULL; a failed call leaves its operands as they were
 *   thread      any */
#define DYNC_ALL (DYNC_LITERAL(dync_dims){0, {0}})              /* every dimension */
#define DYNC_END INT64_MAX                                       /* open slice end */
enum { DYNC__OP_add, DYNC__OP_atan2, DYNC__OP_bitwise_and, DYNC__OP_bitwise_or,
    DYNC__OP_bitwise_xor, DYNC__OP_div, DYNC__OP_eq, DYNC__OP_floor_divide, DYNC__OP_fmod,
    DYNC__OP_ge, DYNC__OP_gt, DYNC__OP_le, DYNC__OP_logical_and, DYNC__OP_logical_or,
    DYNC__OP_logical_xor, DYNC__OP_lt, DYNC__OP_maximum, DYNC__OP_minimum, DYNC__OP_mul,
    DYNC__OP_ne, DYNC__OP_pow, DYNC__OP_remainder, DYNC__OP_sub, DYNC__OP_addcdiv,
    DYNC__OP_addcmul, DYNC__OP_clamp, DYNC__OP_lerp, DYNC__OP_masked_fill, DYNC__OP_rescale,
    DYNC__OP_where, DYNC__OP_abs, DYNC__OP_acos, DYNC__OP_acosh, DYNC__OP_asin, DYNC__OP_asinh,
    DYNC__OP_atan, DYNC__OP_atanh, DYNC__OP_bitwise_not, DYNC__OP_ceil, DYNC__OP_cos,
    DYNC__OP_cosh, DYNC__OP_elu, DYNC__OP_erf, DYNC__OP_erfc, DYNC__OP_exp, DYNC__OP_exp2,
    DYNC__OP_expm1, DYNC__OP_floor, DYNC__OP_frac, DYNC__OP_gelu, DYNC__OP_gelu_tanh,
    DYNC__OP_hardtanh, DYNC__OP_isfinite, DYNC__OP_isinf, DYNC__OP_isnan, DYNC__OP_leaky_relu,
    DYNC__OP_log, DYNC__OP_log10, DYNC__OP_log1p, DYNC__OP_log2, DYNC__OP_logical_not,
    DYNC__OP_logsigmoid, DYNC__OP_mish, DYNC__OP_neg, DYNC__OP_reciprocal, DYNC__OP_relu,
    DYNC__OP_relu6, DYNC__OP_round, DYNC__OP_rsqrt, DYNC__OP_sgn, DYNC__OP_sigmoid,
    DYNC__OP_sign, DYNC__OP_silu, DYNC__OP_sin, DYNC__OP_sinh, DYNC__OP_softplus, DYNC__OP_sqrt,
    DYNC__OP_square, DYNC__OP_tan, DYNC__OP_tanh, DYNC__OP_trunc, DYNC__OP_abs_, DYNC__OP_add_,
    DYNC__OP_addcdiv_, DYNC__OP_addcmul_, DYNC__OP_ceil_, DYNC__OP_clamp_, DYNC__OP_copy_,
    DYNC__OP_cos_, DYNC__OP_div_, DYNC__OP_exp_, DYNC__OP_fill_, DYNC__OP_floor_,
    DYNC__OP_index_add_, DYNC__OP_lerp_, DYNC__OP_log_, DYNC__OP_masked_fill_, DYNC__OP_mul_,
    DYNC__OP_neg_, DYNC__OP_normal_, DYNC__OP_pow_, DYNC__OP_relu_, DYNC__OP_round_,
    DYNC__OP_scatter_, DYNC__OP_scatter_add_, DYNC__OP_sigmoid_, DYNC__OP_sin_, DYNC__OP_sqrt_,
    DYNC__OP_sub_, DYNC__OP_tanh_, DYNC__OP_trunc_, DYNC__OP_uniform_, DYNC__OP_zero_,
    DYNC__OP_arange, DYNC__OP_copy, DYNC__OP_empty, DYNC__OP_empty_like, DYNC__OP_eye,
    DYNC__OP_fill, DYNC__OP_full, DYNC__OP_full_like, DYNC__OP_normal, DYNC__OP_ones,
    DYNC__OP_ones_like, DYNC__OP_rand, DYNC__OP_rand_like, DYNC__OP_randn, DYNC__OP_randn_like,
    DYNC__OP_uniform, DYNC__OP_zeros, DYNC__OP_zeros_like, DYNC__OP_all, DYNC__OP_amax,
    DYNC__OP_amin, DYNC__OP_any, DYNC__OP_argmax, DYNC__OP_argmin, DYNC__OP_cumsum,
    DYNC__OP_log_softmax, DYNC__OP_logsumexp, DYNC__OP_max, DYNC__OP_max_dim, DYNC__OP_mean,
    DYNC__OP_min, DYNC__OP_min_dim, DYNC__OP_norm, DYNC__OP_prod, DYNC__OP_softmax, DYNC__OP_std,
    DYNC__OP_sum, DYNC__OP_var, DYNC__OP_addmm, DYNC__OP_bmm, DYNC__OP_dot, DYNC__OP_int_mm,
    DYNC__OP_linear, DYNC__OP_matmul, DYNC__OP_mm, DYNC__OP_mv, DYNC__OP_outer,
    DYNC__OP_bernoulli, DYNC__OP_count_nonzero, DYNC__OP_isclose, DYNC__OP_logaddexp,
    DYNC__OP_nan_to_num, DYNC__OP_xlogy, DYNC__OP_cosine_similarity, DYNC__OP_normalize,
    DYNC__OP_addmv, DYNC__OP_baddbmm, DYNC__OP_einsum, DYNC__OP_trace,
    DYNC__OP_adaptive_avg_pool2d, DYNC__OP_avg_pool2d, DYNC__OP_avg_pool2d_backward,
    DYNC__OP_batch_norm, DYNC__OP__native_batch_norm_legit_functional,
    DYNC__OP_native_batch_norm_backward, DYNC__OP_conv2d, DYNC__OP_int_conv2d,
    DYNC__OP_convolution, DYNC__OP_convolution_backward, DYNC__OP_dropout, DYNC__OP_embedding,
    DYNC__OP_embedding_dense_backward, DYNC__OP_layer_norm, DYNC__OP_native_layer_norm,
    DYNC__OP_max_pool2d, DYNC__OP_max_pool2d_with_indices,
    DYNC__OP_max_pool2d_with_indices_backward, DYNC__OP_one_hot,
    DYNC__OP__scaled_dot_product_flash_attention_for_cpu,
    DYNC__OP__scaled_dot_product_flash_attention_for_cpu_backward, DYNC__OP__fourier,
    DYNC__OP__rnn_layer, DYNC__OP__rnn_layer_backward, DYNC__OP_sigmoid_backward,
    DYNC__OP_tanh_backward, DYNC__OP_threshold_backward, DYNC__OP_celu, DYNC__OP_glu,
    DYNC__OP_hardshrink, DYNC__OP_hardsigmoid, DYNC__OP_hardswish, DYNC__OP_prelu, DYNC__OP_selu,
    DYNC__OP_softmin, DYNC__OP_softshrink, DYNC__OP_softsign, DYNC__OP_tanhshrink,
    DYNC__OP_threshold, DYNC__OP_conv1d, DYNC__OP_conv_transpose2d, DYNC__OP_group_norm,
    DYNC__OP_instance_norm, DYNC__OP_rms_norm, DYNC__OP_scaled_dot_product_attention,
    DYNC__OP_pixel_shuffle, DYNC__OP_upsample_nearest2d, DYNC__OP_pad, DYNC__OP_movedim,
    DYNC__OP_unfold, DYNC__OP_huber_loss, DYNC__OP_kl_div, DYNC__OP__binary_cross_entropy,
    DYNC__OP_binary_cross_entropy, DYNC__OP_binary_cross_entropy_with_logits,
    DYNC__OP_cross_entropy, DYNC__OP_l1_loss, DYNC__OP_mse_loss, DYNC__OP_nll_loss,
    DYNC__OP_smooth_l1_loss, DYNC__OP__nms_each, DYNC__OP__roi_align, DYNC__OP_affine_grid,
    DYNC__OP_col2im, DYNC__OP_deform_conv2d, DYNC__OP_fft_fft, DYNC__OP_fft_ifft,
    DYNC__OP_fft_irfft, DYNC__OP_fft_rfft, DYNC__OP_grid_sample, DYNC__OP_im2col,
    DYNC__OP_lp_pool2d, DYNC__OP_max_unpool2d, DYNC__OP_nms, DYNC__OP_roi_align, DYNC__OP_stft,
    DYNC__OP_upsample_bicubic2d, DYNC__OP_upsample_bilinear2d, DYNC__OP_upsample_linear1d,
    DYNC__OP_upsample_trilinear3d, DYNC__OP_alias, DYNC__OP_as_strided, DYNC__OP__strided_view,
    DYNC__OP_contiguous, DYNC__OP_detach, DYNC__OP_diagonal, DYNC__OP_expand, DYNC__OP_expand_as,
    DYNC__OP_flatten, DYNC__OP_narrow, DYNC__OP_permute, DYNC__OP_reshape, DYNC__OP_select,
    DYNC__OP_slice, DYNC__OP_squeeze, DYNC__OP_squeeze_all, DYNC__OP_t, DYNC__OP_transpose,
    DYNC__OP_unflatten, DYNC__OP_unsqueeze, DYNC__OP_view, DYNC__OP_view_as, DYNC__OP_argsort,
    DYNC__OP_as_strided_scatter, DYNC__OP_cat, DYNC__OP_clone, DYNC__OP__clone_contiguous,
    DYNC__OP_diagonal_backward, DYNC__OP_flip, DYNC__OP_gather, DYNC__OP_index_add,
    DYNC__OP_index_select, DYNC__OP_masked_select, DYNC__OP_nonzero, DYNC__OP_repeat,
    DYNC__OP_roll, DYNC__OP_scatter, DYNC__OP_scatter_add, DYNC__OP_select_backward,
    DYNC__OP_slice_backward, DYNC__OP_sort, DYNC__OP_stack, DYNC__OP_take_along_dim,
    DYNC__OP_to_device, DYNC__OP_to_dtype, DYNC__OP_topk, DYNC__OP_tril, DYNC__OP_triu,
    DYNC__OP_unique, DYNC__OP__one_hot_all, DYNC__OP__set_grad_enabled, DYNC__OP_manual_seed,
    DYNC__OP_custom_gradient, DYNC__OP__hooked, DYNC__OP__local_scalar_dense,
    DYNC__OP__check_range, DYNC__OP_trace_wrapped, DYNC__OP_set_, DYNC__OP_cond, DYNC__OP_scan,
    DYNC__OP_while_loop,
    DYNC__N_OPS
};
/* What a program links of an operator hangs on its row, which is named by the macro and the
 * function of the operator
 * that the program calls (op/op.h). */
typedef struct dync__row {
    const struct dync__op_row *columns;
    const struct dync__grad_rule *rule;
    const struct dync__row *functional;
    int number;
} dync__row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_add_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_atan2_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_bitwise_and_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_bitwise_or_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_bitwise_xor_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_div_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_eq_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_floor_divide_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_fmod_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_ge_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_gt_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_le_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_logical_and_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_logical_or_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_logical_xor_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_lt_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_maximum_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_minimum_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_mul_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_ne_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_pow_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_remainder_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_sub_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_addcdiv_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_addcmul_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_clamp_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_lerp_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_masked_fill_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_rescale_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_where_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_abs_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_acos_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_acosh_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_asin_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_asinh_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_atan_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_atanh_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_bitwise_not_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_ceil_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_cos_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_cosh_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_elu_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_erf_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_erfc_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_exp_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_exp2_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_expm1_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_floor_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_frac_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_gelu_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_gelu_tanh_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_hardtanh_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_isfinite_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_isinf_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_isnan_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_leaky_relu_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_log_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_log10_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_log1p_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_log2_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_logical_not_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_logsigmoid_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_mish_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_neg_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_reciprocal_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_relu_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_relu6_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_round_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_rsqrt_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_sgn_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_sigmoid_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_sign_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_silu_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_sin_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_sinh_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_softplus_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_sqrt_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_square_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_tan_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_tanh_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_trunc_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_abs__row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_add__row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_addcdiv__row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_addcmul__row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_ceil__row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_clamp__row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_copy__row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_cos__row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_div__row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_exp__row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_fill__row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_floor__row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_index_add__row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_lerp__row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_log__row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_masked_fill__row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_mul__row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_neg__row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_normal__row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_pow__row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_relu__row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_round__row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_scatter__row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_scatter_add__row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_sigmoid__row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_sin__row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_sqrt__row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_sub__row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_tanh__row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_trunc__row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_uniform__row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_zero__row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_arange_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_copy_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_empty_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_empty_like_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_eye_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_fill_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_full_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_full_like_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_normal_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_ones_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_ones_like_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_rand_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_rand_like_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_randn_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_randn_like_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_uniform_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_zeros_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_zeros_like_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_all_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_amax_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_amin_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_any_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_argmax_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_argmin_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_cumsum_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_log_softmax_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_logsumexp_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_max_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_max_dim_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_mean_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_min_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_min_dim_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_norm_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_prod_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_softmax_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_std_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_sum_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_var_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_addmm_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_bmm_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_dot_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_int_mm_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_linear_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_matmul_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_mm_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_mv_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_outer_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_bernoulli_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_count_nonzero_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_isclose_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_logaddexp_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_nan_to_num_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_xlogy_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_cosine_similarity_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_normalize_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_addmv_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_baddbmm_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_einsum_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_trace_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_adaptive_avg_pool2d_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_avg_pool2d_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_avg_pool2d_backward_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_batch_norm_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP__native_batch_norm_legit_functional_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_native_batch_norm_backward_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_conv2d_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_int_conv2d_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_convolution_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_convolution_backward_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_dropout_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_embedding_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_embedding_dense_backward_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_layer_norm_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_native_layer_norm_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_max_pool2d_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_max_pool2d_with_indices_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_max_pool2d_with_indices_backward_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_one_hot_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP__scaled_dot_product_flash_attention_for_cpu_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP__scaled_dot_product_flash_attention_for_cpu_backward_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP__fourier_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP__rnn_layer_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP__rnn_layer_backward_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_sigmoid_backward_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_tanh_backward_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_threshold_backward_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_celu_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_glu_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_hardshrink_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_hardsigmoid_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_hardswish_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_prelu_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_selu_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_softmin_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_softshrink_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_softsign_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_tanhshrink_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_threshold_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_conv1d_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_conv_transpose2d_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_group_norm_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_instance_norm_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_rms_norm_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_scaled_dot_product_attention_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_pixel_shuffle_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_upsample_nearest2d_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_pad_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_movedim_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_unfold_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_huber_loss_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_kl_div_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP__binary_cross_entropy_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_binary_cross_entropy_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_binary_cross_entropy_with_logits_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_cross_entropy_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_l1_loss_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_mse_loss_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_nll_loss_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_smooth_l1_loss_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP__nms_each_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP__roi_align_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_affine_grid_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_col2im_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_deform_conv2d_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_fft_fft_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_fft_ifft_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_fft_irfft_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_fft_rfft_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_grid_sample_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_im2col_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_lp_pool2d_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_max_unpool2d_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_nms_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_roi_align_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_stft_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_upsample_bicubic2d_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_upsample_bilinear2d_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_upsample_linear1d_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_upsample_trilinear3d_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_alias_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_as_strided_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP__strided_view_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_contiguous_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_detach_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_diagonal_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_expand_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_expand_as_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_flatten_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_narrow_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_permute_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_reshape_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_select_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_slice_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_squeeze_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_squeeze_all_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_t_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_transpose_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_unflatten_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_unsqueeze_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_view_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_view_as_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_argsort_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_as_strided_scatter_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_cat_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_clone_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP__clone_contiguous_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_diagonal_backward_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_flip_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_gather_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_index_add_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_index_select_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_masked_select_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_nonzero_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_repeat_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_roll_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_scatter_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_scatter_add_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_select_backward_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_slice_backward_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_sort_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_stack_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_take_along_dim_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_to_device_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_to_dtype_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_topk_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_tril_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_triu_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_unique_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP__one_hot_all_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP__set_grad_enabled_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_manual_seed_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_custom_gradient_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP__hooked_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP__local_scalar_dense_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP__check_range_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_trace_wrapped_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_set__row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_cond_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_scan_row;
DYNC__ROW_LINKAGE const dync__row DYNC__OP_while_loop_row;
/* The gradient rules that rows name (api/link.h). */
#define DYNC__RULE_NAMES \
    "g_add,g_atan2,g_div,g_fmod,g_maximum,g_minimum,g_mul,g_pow,g_remainder,g_sub,g_addcdiv" \
    ",g_addcmul,g_clamp,g_lerp,g_masked_fill,g_where,g_abs,g_acos,g_acosh,g_asin,g_asinh" \
    ",g_atan,g_atanh,g_zero,g_cos,g_cosh,g_elu,g_erf,g_erfc,g_exp,g_exp2,g_expm1,g_frac" \
    ",g_gelu,g_gelu_tanh,g_hardtanh,g_leaky_relu,g_log,g_log10,g_log1p,g_log2,g_logsigmoid" \
    ",g_mish,g_neg,g_reciprocal,g_relu,g_rsqrt,g_sigmoid,g_silu,g_sin,g_sinh,g_softplus" \
    ",g_sqrt,g_square,g_tan,g_tanh,g_copy,g_amax,g_cumsum,g_log_softmax,g_logsumexp,g_max" \
    ",g_max_dim,g_mean,g_prod,g_softmax,g_std,g_sum,g_var,g_addmm,g_bmm,g_dot,g_mm,g_mv" \
    ",g_logaddexp,g_xlogy,g_avg_pool2d,g_avg_pool2d_backward,g_native_batch_norm" \
    ",g_convolution,g_convolution_backward,g_embedding,g_native_layer_norm,g_max_pool2d" \
    ",g_max_pool2d_backward,g_flash_attention,g_fourier,g_rnn_layer,g_threshold_backward" \
    ",g_celu,g_hardsigmoid,g_hardswish,g_selu,g_binary_cross_entropy,g_im2col,g_alias" \
    ",g_as_strided,g_diagonal,g_expand,g_permute,g_select,g_slice,g_squeeze,g_t,g_transpose" \
    ",g_unsqueeze,g_view,g_as_strided_scatter,g_cat,g_diagonal_backward,g_flip,g_gather" \
    ",g_index_add,g_index_select,g_roll,g_scatter,g_scatter_add,g_select_backward" \
    ",g_slice_backward,g_sort,g_to_device,g_to_dtype,g_topk,g_tril,g_triu,g_custom_gradient" \
    ",g_hooked,g_cond,g_scan,g_while_loop"
DYNC_API dync_tensor *dync__op_1VV(const dync__row *op, dync_value x0, dync_value x1, dync_loc at);
DYNC_API dync_tensor *dync__op_1TTTV(const dync__row *op, dync_tensor *x0, dync_tensor *x1,
    dync_tensor *x2, dync_value x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1TVV(const dync__row *op, dync_tensor *x0, dync_value x1,
    dync_value x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1TTV(const dync__row *op, dync_tensor *x0, dync_tensor *x1,
    dync_value x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1TTT(const dync__row *op, dync_tensor *x0, dync_tensor *x1,
    dync_tensor *x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1T(const dync__row *op, dync_tensor *x0, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tf(const dync__row *op, dync_tensor *x0, dync_real x1, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tff(const dync__row *op, dync_tensor *x0, dync_real x1,
    dync_real x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1TV(const dync__row *op, dync_tensor *x0, dync_value x1,
    dync_loc at);
DYNC_API dync_tensor *dync__op_1TiTT(const dync__row *op, dync_tensor *x0, int x1,
    dync_tensor *x2, dync_tensor *x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1TiTV(const dync__row *op, dync_tensor *x0, int x1,
    dync_tensor *x2, dync_value x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1llye(const dync__row *op, int64_t x0, int64_t x1, dync_dtype x2,
    dync_device x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tdb(const dync__row *op, dync_tensor *x0, dync_dims x1, bool x2,
    dync_loc at);
DYNC_API dync_tensor *dync__op_1Tdb_of(const dync__row *op, dync_tensor *x0, const dync_dims *x1,
    bool x2, const dync_loc *at);
DYNC_API dync_tensor *dync__op_1Tib(const dync__row *op, dync_tensor *x0, int x1, bool x2,
    dync_loc at);
DYNC_API dync_tensor *dync__op_1Ti(const dync__row *op, dync_tensor *x0, int x1, dync_loc at);
DYNC_API dync_value dync__op_nTib(const dync__row *op, dync_tensor *x0, int x1, bool x2,
    dync_loc at);
DYNC_API dync_tensor *dync__op_1TVdb(const dync__row *op, dync_tensor *x0, dync_value x1,
    dync_dims x2, bool x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1TVdb_of(const dync__row *op, dync_tensor *x0, dync_value x1,
    const dync_dims *x2, bool x3, const dync_loc *at);
DYNC_API dync_tensor *dync__op_1Tdib(const dync__row *op, dync_tensor *x0, dync_dims x1, int x2,
    bool x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tdib_of(const dync__row *op, dync_tensor *x0, const dync_dims *x1,
    int x2, bool x3, const dync_loc *at);
DYNC_API dync_tensor *dync__op_1TT(const dync__row *op, dync_tensor *x0, dync_tensor *x1,
    dync_loc at);
DYNC_API dync_tensor *dync__op_1TTO(const dync__row *op, dync_tensor *x0, dync_tensor *x1,
    dync_tensor *x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1Td(const dync__row *op, dync_tensor *x0, dync_dims x1, dync_loc at);
DYNC_API dync_tensor *dync__op_1Td_of(const dync__row *op, dync_tensor *x0, const dync_dims *x1,
    const dync_loc *at);
DYNC_API dync_tensor *dync__op_1TTffb(const dync__row *op, dync_tensor *x0, dync_tensor *x1,
    dync_real x2, dync_real x3, bool x4, dync_loc at);
DYNC_API dync_tensor *dync__op_1TVVV(const dync__row *op, dync_tensor *x0, dync_value x1,
    dync_value x2, dync_value x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1TTif(const dync__row *op, dync_tensor *x0, dync_tensor *x1,
    int x2, dync_real x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1TVif(const dync__row *op, dync_tensor *x0, dync_value x1, int x2,
    dync_real x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1sL(const dync__row *op, const char *x0, dync_value x1, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tdddbb(const dync__row *op, dync_tensor *x0, dync_dims x1,
    dync_dims x2, dync_dims x3, bool x4, bool x5, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tdddbb_of(const dync__row *op, dync_tensor *x0,
    const dync_dims *x1, const dync_dims *x2, const dync_dims *x3, bool x4, bool x5,
    const dync_loc *at);
DYNC_API dync_tensor *dync__op_1TOOOObff(const dync__row *op, dync_tensor *x0, dync_tensor *x1,
    dync_tensor *x2, dync_tensor *x3, dync_tensor *x4, bool x5, dync_real x6, dync_real x7,
    dync_loc at);
DYNC_API dync_tensor *dync__op_1TTOdddi(const dync__row *op, dync_tensor *x0, dync_tensor *x1,
    dync_tensor *x2, dync_dims x3, dync_dims x4, dync_dims x5, int x6, dync_loc at);
DYNC_API dync_tensor *dync__op_1TTOdddi_of(const dync__row *op, dync_tensor *x0, dync_tensor *x1,
    dync_tensor *x2, const dync_dims *x3, const dync_dims *x4, const dync_dims *x5, int x6,
    const dync_loc *at);
DYNC_API dync_tensor *dync__op_1Tfb(const dync__row *op, dync_tensor *x0, dync_real x1, bool x2,
    dync_loc at);
DYNC_API dync_tensor *dync__op_1TdOOf(const dync__row *op, dync_tensor *x0, dync_dims x1,
    dync_tensor *x2, dync_tensor *x3, dync_real x4, dync_loc at);
DYNC_API dync_tensor *dync__op_1TdOOf_of(const dync__row *op, dync_tensor *x0,
    const dync_dims *x1, dync_tensor *x2, dync_tensor *x3, dync_real x4, const dync_loc *at);
DYNC_API dync_tensor *dync__op_1Tddddb(const dync__row *op, dync_tensor *x0, dync_dims x1,
    dync_dims x2, dync_dims x3, dync_dims x4, bool x5, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tddddb_of(const dync__row *op, dync_tensor *x0,
    const dync_dims *x1, const dync_dims *x2, const dync_dims *x3, const dync_dims *x4, bool x5,
    const dync_loc *at);
DYNC_API dync_value dync__op_nTddddb(const dync__row *op, dync_tensor *x0, dync_dims x1,
    dync_dims x2, dync_dims x3, dync_dims x4, bool x5, dync_loc at);
DYNC_API dync_value dync__op_nTddddb_of(const dync__row *op, dync_tensor *x0, const dync_dims *x1,
    const dync_dims *x2, const dync_dims *x3, const dync_dims *x4, bool x5, const dync_loc *at);
DYNC_API dync_tensor *dync__op_1Tl(const dync__row *op, dync_tensor *x0, int64_t x1, dync_loc at);
DYNC_API dync_tensor *dync__op_1TfV(const dync__row *op, dync_tensor *x0, dync_real x1,
    dync_value x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1TTOdddid(const dync__row *op, dync_tensor *x0, dync_tensor *x1,
    dync_tensor *x2, dync_dims x3, dync_dims x4, dync_dims x5, int x6, dync_dims x7, dync_loc at);
DYNC_API dync_tensor *dync__op_1TTOdddid_of(const dync__row *op, dync_tensor *x0, dync_tensor *x1,
    dync_tensor *x2, const dync_dims *x3, const dync_dims *x4, const dync_dims *x5, int x6,
    const dync_dims *x7, const dync_loc *at);
DYNC_API dync_tensor *dync__op_1TlOOf(const dync__row *op, dync_tensor *x0, int64_t x1,
    dync_tensor *x2, dync_tensor *x3, dync_real x4, dync_loc at);
DYNC_API dync_tensor *dync__op_1TOOf(const dync__row *op, dync_tensor *x0, dync_tensor *x1,
    dync_tensor *x2, dync_real x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1TdOV(const dync__row *op, dync_tensor *x0, dync_dims x1,
    dync_tensor *x2, dync_value x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1TdOV_of(const dync__row *op, dync_tensor *x0, const dync_dims *x1,
    dync_tensor *x2, dync_value x3, const dync_loc *at);
DYNC_API dync_tensor *dync__op_1TTTOfbV(const dync__row *op, dync_tensor *x0, dync_tensor *x1,
    dync_tensor *x2, dync_tensor *x3, dync_real x4, bool x5, dync_value x6, dync_loc at);
DYNC_API dync_tensor *dync__op_1TdV(const dync__row *op, dync_tensor *x0, dync_dims x1,
    dync_value x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1TdV_of(const dync__row *op, dync_tensor *x0, const dync_dims *x1,
    dync_value x2, const dync_loc *at);
DYNC_API dync_tensor *dync__op_1Tdd(const dync__row *op, dync_tensor *x0, dync_dims x1,
    dync_dims x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tdd_of(const dync__row *op, dync_tensor *x0, const dync_dims *x1,
    const dync_dims *x2, const dync_loc *at);
DYNC_API dync_tensor *dync__op_1Till(const dync__row *op, dync_tensor *x0, int x1, int64_t x2,
    int64_t x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1TTf(const dync__row *op, dync_tensor *x0, dync_tensor *x1,
    dync_real x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1TTb(const dync__row *op, dync_tensor *x0, dync_tensor *x1,
    bool x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tddddd(const dync__row *op, dync_tensor *x0, dync_dims x1,
    dync_dims x2, dync_dims x3, dync_dims x4, dync_dims x5, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tddddd_of(const dync__row *op, dync_tensor *x0,
    const dync_dims *x1, const dync_dims *x2, const dync_dims *x3, const dync_dims *x4,
    const dync_dims *x5, const dync_loc *at);
DYNC_API dync_tensor *dync__op_1TTTOdddO(const dync__row *op, dync_tensor *x0, dync_tensor *x1,
    dync_tensor *x2, dync_tensor *x3, dync_dims x4, dync_dims x5, dync_dims x6, dync_tensor *x7,
    dync_loc at);
DYNC_API dync_tensor *dync__op_1TTTOdddO_of(const dync__row *op, dync_tensor *x0, dync_tensor *x1,
    dync_tensor *x2, dync_tensor *x3, const dync_dims *x4, const dync_dims *x5,
    const dync_dims *x6, dync_tensor *x7, const dync_loc *at);
DYNC_API dync_tensor *dync__op_1TVi(const dync__row *op, dync_tensor *x0, dync_value x1, int x2,
    dync_loc at);
DYNC_API dync_tensor *dync__op_1TTssb(const dync__row *op, dync_tensor *x0, dync_tensor *x1,
    const char *x2, const char *x3, bool x4, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tdddd(const dync__row *op, dync_tensor *x0, dync_dims x1,
    dync_dims x2, dync_dims x3, dync_dims x4, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tdddd_of(const dync__row *op, dync_tensor *x0,
    const dync_dims *x1, const dync_dims *x2, const dync_dims *x3, const dync_dims *x4,
    const dync_loc *at);
DYNC_API dync_tensor *dync__op_1Tfddb(const dync__row *op, dync_tensor *x0, dync_real x1,
    dync_dims x2, dync_dims x3, bool x4, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tfddb_of(const dync__row *op, dync_tensor *x0, dync_real x1,
    const dync_dims *x2, const dync_dims *x3, bool x4, const dync_loc *at);
DYNC_API dync_tensor *dync__op_1TTd(const dync__row *op, dync_tensor *x0, dync_tensor *x1,
    dync_dims x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1TTd_of(const dync__row *op, dync_tensor *x0, dync_tensor *x1,
    const dync_dims *x2, const dync_loc *at);
DYNC_API dync_tensor *dync__op_1TTdflb(const dync__row *op, dync_tensor *x0, dync_tensor *x1,
    dync_dims x2, dync_real x3, int64_t x4, bool x5, dync_loc at);
DYNC_API dync_tensor *dync__op_1TTdflb_of(const dync__row *op, dync_tensor *x0, dync_tensor *x1,
    const dync_dims *x2, dync_real x3, int64_t x4, bool x5, const dync_loc *at);
DYNC_API dync_tensor *dync__op_1TllOb(const dync__row *op, dync_tensor *x0, int64_t x1,
    int64_t x2, dync_tensor *x3, bool x4, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tddl(const dync__row *op, dync_tensor *x0, dync_dims x1,
    dync_dims x2, int64_t x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tddl_of(const dync__row *op, dync_tensor *x0, const dync_dims *x1,
    const dync_dims *x2, int64_t x3, const dync_loc *at);
DYNC_API dync_tensor *dync__op_1Tiii(const dync__row *op, dync_tensor *x0, int x1, int x2, int x3,
    dync_loc at);
DYNC_API dync_tensor *dync__op_1Tii(const dync__row *op, dync_tensor *x0, int x1, int x2,
    dync_loc at);
DYNC_API dync_tensor *dync__op_1Til(const dync__row *op, dync_tensor *x0, int x1, int64_t x2,
    dync_loc at);
DYNC_API dync_tensor *dync__op_1Tilll(const dync__row *op, dync_tensor *x0, int x1, int64_t x2,
    int64_t x3, int64_t x4, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tid(const dync__row *op, dync_tensor *x0, int x1, dync_dims x2,
    dync_loc at);
DYNC_API dync_tensor *dync__op_1Tid_of(const dync__row *op, dync_tensor *x0, int x1,
    const dync_dims *x2, const dync_loc *at);
DYNC_API dync_tensor *dync__op_1Li(const dync__row *op, dync_value x0, int x1, dync_loc at);
DYNC_API dync_tensor *dync__op_1TiT(const dync__row *op, dync_tensor *x0, int x1, dync_tensor *x2,
    dync_loc at);
DYNC_API dync_tensor *dync__op_1TTi(const dync__row *op, dync_tensor *x0, dync_tensor *x1, int x2,
    dync_loc at);
DYNC_API dync_value dync__op_nTlibb(const dync__row *op, dync_tensor *x0, int64_t x1, int x2,
    bool x3, bool x4, dync_loc at);
/* dync_add: self + other; type promotion and broadcasting as PyTorch. */
DYNC_API dync_tensor *(dync_add)(dync_value self, dync_value other);
#define dync_add(...) \
    DYNC_TAKES_2(DYNC_add, DYNC_OTHER_T, __VA_ARGS__)("dync_add takes 2 arguments: self, other", \
    __VA_ARGS__)
#define DYNC_add(text_, self, other) DYNC_OP_TWO(dync_add, dync__op_1VV, DYNC__OP_add, self, other)
/* dync_atan2: the angle of the point (other, self), in (-pi, pi]. */
DYNC_API dync_tensor *(dync_atan2)(dync_value self, dync_value other);
#define dync_atan2(...) \
    DYNC_TAKES_2(DYNC_atan2, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_atan2 takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_atan2(text_, self, other) \
    DYNC_OP_TWO(dync_atan2, dync__op_1VV, DYNC__OP_atan2, self, other)
/* dync_bitwise_and: bitwise and of integers, logical and of bools. No gradient. */
DYNC_API dync_tensor *(dync_bitwise_and)(dync_value self, dync_value other);
#define dync_bitwise_and(...) \
    DYNC_TAKES_2(DYNC_bitwise_and, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_bitwise_and takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_bitwise_and(text_, self, other) \
    DYNC_OP_TWO(dync_bitwise_and, dync__op_1VV, DYNC__OP_bitwise_and, self, other)
/* dync_bitwise_or: bitwise or of integers, logical or of bools. No gradient. */
DYNC_API dync_tensor *(dync_bitwise_or)(dync_value self, dync_value other);
#define dync_bitwise_or(...) \
    DYNC_TAKES_2(DYNC_bitwise_or, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_bitwise_or takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_bitwise_or(text_, self, other) \
    DYNC_OP_TWO(dync_bitwise_or, dync__op_1VV, DYNC__OP_bitwise_or, self, other)
/* dync_bitwise_xor: bitwise exclusive or of integers and bools. No gradient. */
DYNC_API dync_tensor *(dync_bitwise_xor)(dync_value self, dync_value other);
#define dync_bitwise_xor(...) \
    DYNC_TAKES_2(DYNC_bitwise_xor, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_bitwise_xor takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_bitwise_xor(text_, self, other) \
    DYNC_OP_TWO(dync_bitwise_xor, dync__op_1VV, DYNC__OP_bitwise_xor, self, other)
/* dync_div: self / other; integers give a float. */
DYNC_API dync_tensor *(dync_div)(dync_value self, dync_value other);
#define dync_div(...) \
    DYNC_TAKES_2(DYNC_div, DYNC_OTHER_T, __VA_ARGS__)("dync_div takes 2 arguments: self, other", \
    __VA_ARGS__)
#define DYNC_div(text_, self, other) DYNC_OP_TWO(dync_div, dync__op_1VV, DYNC__OP_div, self, other)
/* dync_eq: self == other, as bool. No gradient. */
DYNC_API dync_tensor *(dync_eq)(dync_value self, dync_value other);
#define dync_eq(...) \
    DYNC_TAKES_2(DYNC_eq, DYNC_OTHER_T, __VA_ARGS__)("dync_eq takes 2 arguments: self, other", \
    __VA_ARGS__)
#define DYNC_eq(text_, self, other) DYNC_OP_TWO(dync_eq, dync__op_1VV, DYNC__OP_eq, self, other)
/* dync_floor_divide: the quotient rounded towards minus infinity; keeps integers; no gradient. */
DYNC_API dync_tensor *(dync_floor_divide)(dync_value self, dync_value other);
#define dync_floor_divide(...) \
    DYNC_TAKES_2(DYNC_floor_divide, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_floor_divide takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_floor_divide(text_, self, other) \
    DYNC_OP_TWO(dync_floor_divide, dync__op_1VV, DYNC__OP_floor_divide, self, other)
/* dync_fmod: C's remainder: the sign of self. */
DYNC_API dync_tensor *(dync_fmod)(dync_value self, dync_value other);
#define dync_fmod(...) \
    DYNC_TAKES_2(DYNC_fmod, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_fmod takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_fmod(text_, self, other) \
    DYNC_OP_TWO(dync_fmod, dync__op_1VV, DYNC__OP_fmod, self, other)
/* dync_ge: self >= other, as bool. No gradient. */
DYNC_API dync_tensor *(dync_ge)(dync_value self, dync_value other);
#define dync_ge(...) \
    DYNC_TAKES_2(DYNC_ge, DYNC_OTHER_T, __VA_ARGS__)("dync_ge takes 2 arguments: self, other", \
    __VA_ARGS__)
#define DYNC_ge(text_, self, other) DYNC_OP_TWO(dync_ge, dync__op_1VV, DYNC__OP_ge, self, other)
/* dync_gt: self > other, as bool. No gradient. */
DYNC_API dync_tensor *(dync_gt)(dync_value self, dync_value other);
#define dync_gt(...) \
    DYNC_TAKES_2(DYNC_gt, DYNC_OTHER_T, __VA_ARGS__)("dync_gt takes 2 arguments: self, other", \
    __VA_ARGS__)
#define DYNC_gt(text_, self, other) DYNC_OP_TWO(dync_gt, dync__op_1VV, DYNC__OP_gt, self, other)
/* dync_le: self <= other, as bool. No gradient. */
DYNC_API dync_tensor *(dync_le)(dync_value self, dync_value other);
#define dync_le(...) \
    DYNC_TAKES_2(DYNC_le, DYNC_OTHER_T, __VA_ARGS__)("dync_le takes 2 arguments: self, other", \
    __VA_ARGS__)
#define DYNC_le(text_, self, other) DYNC_OP_TWO(dync_le, dync__op_1VV, DYNC__OP_le, self, other)
/* dync_logical_and: both are not zero. No gradient. */
DYNC_API dync_tensor *(dync_logical_and)(dync_value self, dync_value other);
#define dync_logical_and(...) \
    DYNC_TAKES_2(DYNC_logical_and, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_logical_and takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_logical_and(text_, self, other) \
    DYNC_OP_TWO(dync_logical_and, dync__op_1VV, DYNC__OP_logical_and, self, other)
/* dync_logical_or: one of them is not zero. No gradient. */
DYNC_API dync_tensor *(dync_logical_or)(dync_value self, dync_value other);
#define dync_logical_or(...) \
    DYNC_TAKES_2(DYNC_logical_or, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_logical_or takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_logical_or(text_, self, other) \
    DYNC_OP_TWO(dync_logical_or, dync__op_1VV, DYNC__OP_logical_or, self, other)
/* dync_logical_xor: exactly one of them is not zero. No gradient. */
DYNC_API dync_tensor *(dync_logical_xor)(dync_value self, dync_value other);
#define dync_logical_xor(...) \
    DYNC_TAKES_2(DYNC_logical_xor, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_logical_xor takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_logical_xor(text_, self, other) \
    DYNC_OP_TWO(dync_logical_xor, dync__op_1VV, DYNC__OP_logical_xor, self, other)
/* dync_lt: self < other, as bool. No gradient. */
DYNC_API dync_tensor *(dync_lt)(dync_value self, dync_value other);
#define dync_lt(...) \
    DYNC_TAKES_2(DYNC_lt, DYNC_OTHER_T, __VA_ARGS__)("dync_lt takes 2 arguments: self, other", \
    __VA_ARGS__)
#define DYNC_lt(text_, self, other) DYNC_OP_TWO(dync_lt, dync__op_1VV, DYNC__OP_lt, self, other)
/* dync_maximum: the larger of the two; NaN wins. */
DYNC_API dync_tensor *(dync_maximum)(dync_value self, dync_value other);
#define dync_maximum(...) \
    DYNC_TAKES_2(DYNC_maximum, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_maximum takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_maximum(text_, self, other) \
    DYNC_OP_TWO(dync_maximum, dync__op_1VV, DYNC__OP_maximum, self, other)
/* dync_minimum: the smaller of the two; NaN wins. */
DYNC_API dync_tensor *(dync_minimum)(dync_value self, dync_value other);
#define dync_minimum(...) \
    DYNC_TAKES_2(DYNC_minimum, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_minimum takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_minimum(text_, self, other) \
    DYNC_OP_TWO(dync_minimum, dync__op_1VV, DYNC__OP_minimum, self, other)
/* dync_mul: self * other. */
DYNC_API dync_tensor *(dync_mul)(dync_value self, dync_value other);
#define dync_mul(...) \
    DYNC_TAKES_2(DYNC_mul, DYNC_OTHER_T, __VA_ARGS__)("dync_mul takes 2 arguments: self, other", \
    __VA_ARGS__)
#define DYNC_mul(text_, self, other) DYNC_OP_TWO(dync_mul, dync__op_1VV, DYNC__OP_mul, self, other)
/* dync_ne: self != other, as bool. No gradient. */
DYNC_API dync_tensor *(dync_ne)(dync_value self, dync_value other);
#define dync_ne(...) \
    DYNC_TAKES_2(DYNC_ne, DYNC_OTHER_T, __VA_ARGS__)("dync_ne takes 2 arguments: self, other", \
    __VA_ARGS__)
#define DYNC_ne(text_, self, other) DYNC_OP_TWO(dync_ne, dync__op_1VV, DYNC__OP_ne, self, other)
/* dync_pow: self to the power other. */
DYNC_API dync_tensor *(dync_pow)(dync_value self, dync_value other);
#define dync_pow(...) \
    DYNC_TAKES_2(DYNC_pow, DYNC_OTHER_T, __VA_ARGS__)("dync_pow takes 2 arguments: self, other", \
    __VA_ARGS__)
#define DYNC_pow(text_, self, other) DYNC_OP_TWO(dync_pow, dync__op_1VV, DYNC__OP_pow, self, other)
/* dync_remainder: Python's remainder: the sign of other. */
DYNC_API dync_tensor *(dync_remainder)(dync_value self, dync_value other);
#define dync_remainder(...) \
    DYNC_TAKES_2(DYNC_remainder, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_remainder takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_remainder(text_, self, other) \
    DYNC_OP_TWO(dync_remainder, dync__op_1VV, DYNC__OP_remainder, self, other)
/* dync_sub: self - other; not of bools. */
DYNC_API dync_tensor *(dync_sub)(dync_value self, dync_value other);
#define dync_sub(...) \
    DYNC_TAKES_2(DYNC_sub, DYNC_OTHER_T, __VA_ARGS__)("dync_sub takes 2 arguments: self, other", \
    __VA_ARGS__)
#define DYNC_sub(text_, self, other) DYNC_OP_TWO(dync_sub, dync__op_1VV, DYNC__OP_sub, self, other)
/* dync_addcdiv: self + value * tensor1 / tensor2. */
DYNC_API dync_tensor *(dync_addcdiv)(dync_tensor *self, dync_tensor *tensor1,
    dync_tensor *tensor2, dync_value value);
#define dync_addcdiv(...) \
    DYNC_TAKES_4(DYNC_addcdiv, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_addcdiv takes 4 arguments: self, tensor1, tensor2, value", __VA_ARGS__)
#define DYNC_addcdiv(text_, self, tensor1, tensor2, value) \
    DYNC_SEQ3_AND(dync_addcdiv, dync__op_1TTTV, DYNC__OP_addcdiv, DYNC_T(self, \
    "dync_addcdiv: self"), DYNC_T(tensor1, "dync_addcdiv: tensor1"), DYNC_T(tensor2, \
    "dync_addcdiv: tensor2"), DYNC_V(value))
/* dync_addcmul: self + value * tensor1 * tensor2. */
DYNC_API dync_tensor *(dync_addcmul)(dync_tensor *self, dync_tensor *tensor1,
    dync_tensor *tensor2, dync_value value);
#define dync_addcmul(...) \
    DYNC_TAKES_4(DYNC_addcmul, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_addcmul takes 4 arguments: self, tensor1, tensor2, value", __VA_ARGS__)
#define DYNC_addcmul(text_, self, tensor1, tensor2, value) \
    DYNC_SEQ3_AND(dync_addcmul, dync__op_1TTTV, DYNC__OP_addcmul, DYNC_T(self, \
    "dync_addcmul: self"), DYNC_T(tensor1, "dync_addcmul: tensor1"), DYNC_T(tensor2, \
    "dync_addcmul: tensor2"), DYNC_V(value))
/* dync_clamp: self held between low and high; DYNC_NONE leaves a side open. */
DYNC_API dync_tensor *(dync_clamp)(dync_tensor *self, dync_value low, dync_value high);
#define dync_clamp(...) \
    DYNC_TAKES_3(DYNC_clamp, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_clamp takes 3 arguments: self, low, high", __VA_ARGS__)
#define DYNC_clamp(text_, self, low, high) \
    DYNC_OP(dync_clamp, dync__op_1TVV, DYNC__OP_clamp, DYNC_T(self, "dync_clamp: self"), \
    DYNC_V(low), DYNC_V(high))
/* dync_lerp: self + weight * (end - self). */
DYNC_API dync_tensor *(dync_lerp)(dync_tensor *self, dync_tensor *end, dync_value weight);
#define dync_lerp(...) \
    DYNC_TAKES_3(DYNC_lerp, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_lerp takes 3 arguments: self, end, weight", __VA_ARGS__)
#define DYNC_lerp(text_, self, end, weight) \
    DYNC_SEQ2_AND(dync_lerp, dync__op_1TTV, DYNC__OP_lerp, DYNC_T(self, "dync_lerp: self"), \
    DYNC_T(end, "dync_lerp: end"), DYNC_V(weight))
/* dync_masked_fill: value where the bool mask is set, self elsewhere. */
DYNC_API dync_tensor *(dync_masked_fill)(dync_tensor *self, dync_tensor *mask, dync_value value);
#define dync_masked_fill(...) \
    DYNC_TAKES_3(DYNC_masked_fill, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_masked_fill takes 3 arguments: self, mask, value", __VA_ARGS__)
#define DYNC_masked_fill(text_, self, mask, value) \
    DYNC_SEQ2_AND(dync_masked_fill, dync__op_1TTV, DYNC__OP_masked_fill, DYNC_T(self, \
    "dync_masked_fill: self"), DYNC_T(mask, "dync_masked_fill: mask"), DYNC_V(value))
/* dync_rescale: self * multiplier / 2^shift, rounded, halves up: TOSA's RESCALE; I32, shift 0 to
 * 62. No gradient. */
DYNC_API dync_tensor *(dync_rescale)(dync_tensor *self, dync_tensor *multiplier,
    dync_tensor *shift);
#define dync_rescale(...) \
    DYNC_TAKES_3(DYNC_rescale, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_rescale takes 3 arguments: self, multiplier, shift", __VA_ARGS__)
#define DYNC_rescale(text_, self, multiplier, shift) \
    DYNC_SEQ2_AND(dync_rescale, dync__op_1TTT, DYNC__OP_rescale, DYNC_T(self, \
    "dync_rescale: self"), DYNC_T(multiplier, "dync_rescale: multiplier"), DYNC_T(shift, \
    "dync_rescale: shift"))
/* dync_where: self where the condition holds, other elsewhere. */
DYNC_API dync_tensor *(dync_where)(dync_tensor *condition, dync_value self, dync_value other);
#define dync_where(...) \
    DYNC_TAKES_3(DYNC_where, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_where takes 3 arguments: condition, self, other", __VA_ARGS__)
#define DYNC_where(text_, condition, self, other) \
    DYNC_SEQ2_AND(dync_where, dync__op_1TVV, DYNC__OP_where, DYNC_T(condition, \
    "dync_where: condition"), DYNC_V(self), DYNC_V(other))
/* dync_abs: absolute value. */
DYNC_API dync_tensor *(dync_abs)(dync_tensor *self);
#define dync_abs(...) \
    DYNC_TAKES_1(DYNC_abs, DYNC_OTHER_T, __VA_ARGS__)("dync_abs takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_abs(text_, self) \
    DYNC_OP(dync_abs, dync__op_1T, DYNC__OP_abs, DYNC_T(self, "dync_abs: self"))
/* dync_acos: inverse cosine. */
DYNC_API dync_tensor *(dync_acos)(dync_tensor *self);
#define dync_acos(...) \
    DYNC_TAKES_1(DYNC_acos, DYNC_OTHER_T, __VA_ARGS__)("dync_acos takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_acos(text_, self) \
    DYNC_OP(dync_acos, dync__op_1T, DYNC__OP_acos, DYNC_T(self, "dync_acos: self"))
/* dync_acosh: inverse hyperbolic cosine. */
DYNC_API dync_tensor *(dync_acosh)(dync_tensor *self);
#define dync_acosh(...) \
    DYNC_TAKES_1(DYNC_acosh, DYNC_OTHER_T, __VA_ARGS__)("dync_acosh takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_acosh(text_, self) \
    DYNC_OP(dync_acosh, dync__op_1T, DYNC__OP_acosh, DYNC_T(self, "dync_acosh: self"))
/* dync_asin: inverse sine. */
DYNC_API dync_tensor *(dync_asin)(dync_tensor *self);
#define dync_asin(...) \
    DYNC_TAKES_1(DYNC_asin, DYNC_OTHER_T, __VA_ARGS__)("dync_asin takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_asin(text_, self) \
    DYNC_OP(dync_asin, dync__op_1T, DYNC__OP_asin, DYNC_T(self, "dync_asin: self"))
/* dync_asinh: inverse hyperbolic sine. */
DYNC_API dync_tensor *(dync_asinh)(dync_tensor *self);
#define dync_asinh(...) \
    DYNC_TAKES_1(DYNC_asinh, DYNC_OTHER_T, __VA_ARGS__)("dync_asinh takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_asinh(text_, self) \
    DYNC_OP(dync_asinh, dync__op_1T, DYNC__OP_asinh, DYNC_T(self, "dync_asinh: self"))
/* dync_atan: inverse tangent. */
DYNC_API dync_tensor *(dync_atan)(dync_tensor *self);
#define dync_atan(...) \
    DYNC_TAKES_1(DYNC_atan, DYNC_OTHER_T, __VA_ARGS__)("dync_atan takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_atan(text_, self) \
    DYNC_OP(dync_atan, dync__op_1T, DYNC__OP_atan, DYNC_T(self, "dync_atan: self"))
/* dync_atanh: inverse hyperbolic tangent. */
DYNC_API dync_tensor *(dync_atanh)(dync_tensor *self);
#define dync_atanh(...) \
    DYNC_TAKES_1(DYNC_atanh, DYNC_OTHER_T, __VA_ARGS__)("dync_atanh takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_atanh(text_, self) \
    DYNC_OP(dync_atanh, dync__op_1T, DYNC__OP_atanh, DYNC_T(self, "dync_atanh: self"))
/* dync_bitwise_not: every bit inverted; logical not of bools. No gradient. */
DYNC_API dync_tensor *(dync_bitwise_not)(dync_tensor *self);
#define dync_bitwise_not(...) \
    DYNC_TAKES_1(DYNC_bitwise_not, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_bitwise_not takes 1 argument: self", __VA_ARGS__)
#define DYNC_bitwise_not(text_, self) \
    DYNC_OP(dync_bitwise_not, dync__op_1T, DYNC__OP_bitwise_not, DYNC_T(self, \
    "dync_bitwise_not: self"))
/* dync_ceil: rounded towards plus infinity. */
DYNC_API dync_tensor *(dync_ceil)(dync_tensor *self);
#define dync_ceil(...) \
    DYNC_TAKES_1(DYNC_ceil, DYNC_OTHER_T, __VA_ARGS__)("dync_ceil takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_ceil(text_, self) \
    DYNC_OP(dync_ceil, dync__op_1T, DYNC__OP_ceil, DYNC_T(self, "dync_ceil: self"))
/* dync_cos: cosine. */
DYNC_API dync_tensor *(dync_cos)(dync_tensor *self);
#define dync_cos(...) \
    DYNC_TAKES_1(DYNC_cos, DYNC_OTHER_T, __VA_ARGS__)("dync_cos takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_cos(text_, self) \
    DYNC_OP(dync_cos, dync__op_1T, DYNC__OP_cos, DYNC_T(self, "dync_cos: self"))
/* dync_cosh: hyperbolic cosine. */
DYNC_API dync_tensor *(dync_cosh)(dync_tensor *self);
#define dync_cosh(...) \
    DYNC_TAKES_1(DYNC_cosh, DYNC_OTHER_T, __VA_ARGS__)("dync_cosh takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_cosh(text_, self) \
    DYNC_OP(dync_cosh, dync__op_1T, DYNC__OP_cosh, DYNC_T(self, "dync_cosh: self"))
/* dync_elu: self where positive, else alpha * (exp(self) - 1). */
DYNC_API dync_tensor *(dync_elu)(dync_tensor *self, dync_real alpha);
#define dync_elu(...) \
    DYNC_TAKES_2(DYNC_elu, DYNC_OTHER_T, __VA_ARGS__)("dync_elu takes 2 arguments: self, alpha", \
    __VA_ARGS__)
#define DYNC_elu(text_, self, alpha) \
    DYNC_OP(dync_elu, dync__op_1Tf, DYNC__OP_elu, DYNC_T(self, "dync_elu: self"), alpha)
/* dync_erf: error function. */
DYNC_API dync_tensor *(dync_erf)(dync_tensor *self);
#define dync_erf(...) \
    DYNC_TAKES_1(DYNC_erf, DYNC_OTHER_T, __VA_ARGS__)("dync_erf takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_erf(text_, self) \
    DYNC_OP(dync_erf, dync__op_1T, DYNC__OP_erf, DYNC_T(self, "dync_erf: self"))
/* dync_erfc: 1 - erf(self), without cancellation. */
DYNC_API dync_tensor *(dync_erfc)(dync_tensor *self);
#define dync_erfc(...) \
    DYNC_TAKES_1(DYNC_erfc, DYNC_OTHER_T, __VA_ARGS__)("dync_erfc takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_erfc(text_, self) \
    DYNC_OP(dync_erfc, dync__op_1T, DYNC__OP_erfc, DYNC_T(self, "dync_erfc: self"))
/* dync_exp: e to the power self. */
DYNC_API dync_tensor *(dync_exp)(dync_tensor *self);
#define dync_exp(...) \
    DYNC_TAKES_1(DYNC_exp, DYNC_OTHER_T, __VA_ARGS__)("dync_exp takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_exp(text_, self) \
    DYNC_OP(dync_exp, dync__op_1T, DYNC__OP_exp, DYNC_T(self, "dync_exp: self"))
/* dync_exp2: 2 to the power self. */
DYNC_API dync_tensor *(dync_exp2)(dync_tensor *self);
#define dync_exp2(...) \
    DYNC_TAKES_1(DYNC_exp2, DYNC_OTHER_T, __VA_ARGS__)("dync_exp2 takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_exp2(text_, self) \
    DYNC_OP(dync_exp2, dync__op_1T, DYNC__OP_exp2, DYNC_T(self, "dync_exp2: self"))
/* dync_expm1: exp(self) - 1, without cancellation. */
DYNC_API dync_tensor *(dync_expm1)(dync_tensor *self);
#define dync_expm1(...) \
    DYNC_TAKES_1(DYNC_expm1, DYNC_OTHER_T, __VA_ARGS__)("dync_expm1 takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_expm1(text_, self) \
    DYNC_OP(dync_expm1, dync__op_1T, DYNC__OP_expm1, DYNC_T(self, "dync_expm1: self"))
/* dync_floor: rounded towards minus infinity. */
DYNC_API dync_tensor *(dync_floor)(dync_tensor *self);
#define dync_floor(...) \
    DYNC_TAKES_1(DYNC_floor, DYNC_OTHER_T, __VA_ARGS__)("dync_floor takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_floor(text_, self) \
    DYNC_OP(dync_floor, dync__op_1T, DYNC__OP_floor, DYNC_T(self, "dync_floor: self"))
/* dync_frac: self - trunc(self). */
DYNC_API dync_tensor *(dync_frac)(dync_tensor *self);
#define dync_frac(...) \
    DYNC_TAKES_1(DYNC_frac, DYNC_OTHER_T, __VA_ARGS__)("dync_frac takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_frac(text_, self) \
    DYNC_OP(dync_frac, dync__op_1T, DYNC__OP_frac, DYNC_T(self, "dync_frac: self"))
/* dync_gelu: self * Phi(self), Phi the normal distribution by erf. */
DYNC_API dync_tensor *(dync_gelu)(dync_tensor *self);
#define dync_gelu(...) \
    DYNC_TAKES_1(DYNC_gelu, DYNC_OTHER_T, __VA_ARGS__)("dync_gelu takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_gelu(text_, self) \
    DYNC_OP(dync_gelu, dync__op_1T, DYNC__OP_gelu, DYNC_T(self, "dync_gelu: self"))
/* dync_gelu_tanh: gelu with Phi approximated by tanh. */
DYNC_API dync_tensor *(dync_gelu_tanh)(dync_tensor *self);
#define dync_gelu_tanh(...) \
    DYNC_TAKES_1(DYNC_gelu_tanh, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_gelu_tanh takes 1 argument: self", __VA_ARGS__)
#define DYNC_gelu_tanh(text_, self) \
    DYNC_OP(dync_gelu_tanh, dync__op_1T, DYNC__OP_gelu_tanh, DYNC_T(self, "dync_gelu_tanh: self"))
/* dync_hardtanh: self held between low and high. */
DYNC_API dync_tensor *(dync_hardtanh)(dync_tensor *self, dync_real low, dync_real high);
#define dync_hardtanh(...) \
    DYNC_TAKES_3(DYNC_hardtanh, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_hardtanh takes 3 arguments: self, low, high", __VA_ARGS__)
#define DYNC_hardtanh(text_, self, low, high) \
    DYNC_OP(dync_hardtanh, dync__op_1Tff, DYNC__OP_hardtanh, DYNC_T(self, \
    "dync_hardtanh: self"), low, high)
/* dync_isfinite: neither infinite nor NaN, as bool. No gradient. */
DYNC_API dync_tensor *(dync_isfinite)(dync_tensor *self);
#define dync_isfinite(...) \
    DYNC_TAKES_1(DYNC_isfinite, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_isfinite takes 1 argument: self", __VA_ARGS__)
#define DYNC_isfinite(text_, self) \
    DYNC_OP(dync_isfinite, dync__op_1T, DYNC__OP_isfinite, DYNC_T(self, "dync_isfinite: self"))
/* dync_isinf: plus or minus infinity, as bool. No gradient. */
DYNC_API dync_tensor *(dync_isinf)(dync_tensor *self);
#define dync_isinf(...) \
    DYNC_TAKES_1(DYNC_isinf, DYNC_OTHER_T, __VA_ARGS__)("dync_isinf takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_isinf(text_, self) \
    DYNC_OP(dync_isinf, dync__op_1T, DYNC__OP_isinf, DYNC_T(self, "dync_isinf: self"))
/* dync_isnan: NaN, as bool. No gradient. */
DYNC_API dync_tensor *(dync_isnan)(dync_tensor *self);
#define dync_isnan(...) \
    DYNC_TAKES_1(DYNC_isnan, DYNC_OTHER_T, __VA_ARGS__)("dync_isnan takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_isnan(text_, self) \
    DYNC_OP(dync_isnan, dync__op_1T, DYNC__OP_isnan, DYNC_T(self, "dync_isnan: self"))
/* dync_leaky_relu: self where positive, else negative_slope * self. */
DYNC_API dync_tensor *(dync_leaky_relu)(dync_tensor *self, dync_real negative_slope);
#define dync_leaky_relu(...) \
    DYNC_TAKES_2(DYNC_leaky_relu, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_leaky_relu takes 2 arguments: self, negative_slope", __VA_ARGS__)
#define DYNC_leaky_relu(text_, self, negative_slope) \
    DYNC_OP(dync_leaky_relu, dync__op_1Tf, DYNC__OP_leaky_relu, DYNC_T(self, \
    "dync_leaky_relu: self"), negative_slope)
/* dync_log: natural logarithm. */
DYNC_API dync_tensor *(dync_log)(dync_tensor *self);
#define dync_log(...) \
    DYNC_TAKES_1(DYNC_log, DYNC_OTHER_T, __VA_ARGS__)("dync_log takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_log(text_, self) \
    DYNC_OP(dync_log, dync__op_1T, DYNC__OP_log, DYNC_T(self, "dync_log: self"))
/* dync_log10: logarithm to base 10. */
DYNC_API dync_tensor *(dync_log10)(dync_tensor *self);
#define dync_log10(...) \
    DYNC_TAKES_1(DYNC_log10, DYNC_OTHER_T, __VA_ARGS__)("dync_log10 takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_log10(text_, self) \
    DYNC_OP(dync_log10, dync__op_1T, DYNC__OP_log10, DYNC_T(self, "dync_log10: self"))
/* dync_log1p: log(1 + self), without cancellation. */
DYNC_API dync_tensor *(dync_log1p)(dync_tensor *self);
#define dync_log1p(...) \
    DYNC_TAKES_1(DYNC_log1p, DYNC_OTHER_T, __VA_ARGS__)("dync_log1p takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_log1p(text_, self) \
    DYNC_OP(dync_log1p, dync__op_1T, DYNC__OP_log1p, DYNC_T(self, "dync_log1p: self"))
/* dync_log2: logarithm to base 2. */
DYNC_API dync_tensor *(dync_log2)(dync_tensor *self);
#define dync_log2(...) \
    DYNC_TAKES_1(DYNC_log2, DYNC_OTHER_T, __VA_ARGS__)("dync_log2 takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_log2(text_, self) \
    DYNC_OP(dync_log2, dync__op_1T, DYNC__OP_log2, DYNC_T(self, "dync_log2: self"))
/* dync_logical_not: self is zero, as bool. No gradient. */
DYNC_API dync_tensor *(dync_logical_not)(dync_tensor *self);
#define dync_logical_not(...) \
    DYNC_TAKES_1(DYNC_logical_not, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_logical_not takes 1 argument: self", __VA_ARGS__)
#define DYNC_logical_not(text_, self) \
    DYNC_OP(dync_logical_not, dync__op_1T, DYNC__OP_logical_not, DYNC_T(self, \
    "dync_logical_not: self"))
/* dync_logsigmoid: log(sigmoid(self)), without overflow. */
DYNC_API dync_tensor *(dync_logsigmoid)(dync_tensor *self);
#define dync_logsigmoid(...) \
    DYNC_TAKES_1(DYNC_logsigmoid, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_logsigmoid takes 1 argument: self", __VA_ARGS__)
#define DYNC_logsigmoid(text_, self) \
    DYNC_OP(dync_logsigmoid, dync__op_1T, DYNC__OP_logsigmoid, DYNC_T(self, \
    "dync_logsigmoid: self"))
/* dync_mish: self * tanh(softplus(self)). */
DYNC_API dync_tensor *(dync_mish)(dync_tensor *self);
#define dync_mish(...) \
    DYNC_TAKES_1(DYNC_mish, DYNC_OTHER_T, __VA_ARGS__)("dync_mish takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_mish(text_, self) \
    DYNC_OP(dync_mish, dync__op_1T, DYNC__OP_mish, DYNC_T(self, "dync_mish: self"))
/* dync_neg: -self. */
DYNC_API dync_tensor *(dync_neg)(dync_tensor *self);
#define dync_neg(...) \
    DYNC_TAKES_1(DYNC_neg, DYNC_OTHER_T, __VA_ARGS__)("dync_neg takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_neg(text_, self) \
    DYNC_OP(dync_neg, dync__op_1T, DYNC__OP_neg, DYNC_T(self, "dync_neg: self"))
/* dync_reciprocal: 1 / self. */
DYNC_API dync_tensor *(dync_reciprocal)(dync_tensor *self);
#define dync_reciprocal(...) \
    DYNC_TAKES_1(DYNC_reciprocal, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_reciprocal takes 1 argument: self", __VA_ARGS__)
#define DYNC_reciprocal(text_, self) \
    DYNC_OP(dync_reciprocal, dync__op_1T, DYNC__OP_reciprocal, DYNC_T(self, \
    "dync_reciprocal: self"))
/* dync_relu: max(self, 0). */
DYNC_API dync_tensor *(dync_relu)(dync_tensor *self);
#define dync_relu(...) \
    DYNC_TAKES_1(DYNC_relu, DYNC_OTHER_T, __VA_ARGS__)("dync_relu takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_relu(text_, self) \
    DYNC_OP(dync_relu, dync__op_1T, DYNC__OP_relu, DYNC_T(self, "dync_relu: self"))
/* dync_relu6: min(max(self, 0), 6). */
DYNC_API dync_tensor *(dync_relu6)(dync_tensor *self);
#define dync_relu6(...) \
    DYNC_TAKES_1(DYNC_relu6, DYNC_OTHER_T, __VA_ARGS__)("dync_relu6 takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_relu6(text_, self) \
    DYNC_OP(dync_relu6, dync__op_1T, DYNC__OP_relu6, DYNC_T(self, "dync_relu6: self"))
/* dync_round: to the nearest integer, halves to even. */
DYNC_API dync_tensor *(dync_round)(dync_tensor *self);
#define dync_round(...) \
    DYNC_TAKES_1(DYNC_round, DYNC_OTHER_T, __VA_ARGS__)("dync_round takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_round(text_, self) \
    DYNC_OP(dync_round, dync__op_1T, DYNC__OP_round, DYNC_T(self, "dync_round: self"))
/* dync_rsqrt: 1 / sqrt(self). */
DYNC_API dync_tensor *(dync_rsqrt)(dync_tensor *self);
#define dync_rsqrt(...) \
    DYNC_TAKES_1(DYNC_rsqrt, DYNC_OTHER_T, __VA_ARGS__)("dync_rsqrt takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_rsqrt(text_, self) \
    DYNC_OP(dync_rsqrt, dync__op_1T, DYNC__OP_rsqrt, DYNC_T(self, "dync_rsqrt: self"))
/* dync_sgn: -1, 0 or 1. */
DYNC_API dync_tensor *(dync_sgn)(dync_tensor *self);
#define dync_sgn(...) \
    DYNC_TAKES_1(DYNC_sgn, DYNC_OTHER_T, __VA_ARGS__)("dync_sgn takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_sgn(text_, self) \
    DYNC_OP(dync_sgn, dync__op_1T, DYNC__OP_sgn, DYNC_T(self, "dync_sgn: self"))
/* dync_sigmoid: 1 / (1 + exp(-self)). */
DYNC_API dync_tensor *(dync_sigmoid)(dync_tensor *self);
#define dync_sigmoid(...) \
    DYNC_TAKES_1(DYNC_sigmoid, DYNC_OTHER_T, __VA_ARGS__)("dync_sigmoid takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_sigmoid(text_, self) \
    DYNC_OP(dync_sigmoid, dync__op_1T, DYNC__OP_sigmoid, DYNC_T(self, "dync_sigmoid: self"))
/* dync_sign: -1, 0 or 1. */
DYNC_API dync_tensor *(dync_sign)(dync_tensor *self);
#define dync_sign(...) \
    DYNC_TAKES_1(DYNC_sign, DYNC_OTHER_T, __VA_ARGS__)("dync_sign takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_sign(text_, self) \
    DYNC_OP(dync_sign, dync__op_1T, DYNC__OP_sign, DYNC_T(self, "dync_sign: self"))
/* dync_silu: self * sigmoid(self). */
DYNC_API dync_tensor *(dync_silu)(dync_tensor *self);
#define dync_silu(...) \
    DYNC_TAKES_1(DYNC_silu, DYNC_OTHER_T, __VA_ARGS__)("dync_silu takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_silu(text_, self) \
    DYNC_OP(dync_silu, dync__op_1T, DYNC__OP_silu, DYNC_T(self, "dync_silu: self"))
/* dync_sin: sine. */
DYNC_API dync_tensor *(dync_sin)(dync_tensor *self);
#define dync_sin(...) \
    DYNC_TAKES_1(DYNC_sin, DYNC_OTHER_T, __VA_ARGS__)("dync_sin takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_sin(text_, self) \
    DYNC_OP(dync_sin, dync__op_1T, DYNC__OP_sin, DYNC_T(self, "dync_sin: self"))
/* dync_sinh: hyperbolic sine. */
DYNC_API dync_tensor *(dync_sinh)(dync_tensor *self);
#define dync_sinh(...) \
    DYNC_TAKES_1(DYNC_sinh, DYNC_OTHER_T, __VA_ARGS__)("dync_sinh takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_sinh(text_, self) \
    DYNC_OP(dync_sinh, dync__op_1T, DYNC__OP_sinh, DYNC_T(self, "dync_sinh: self"))
/* dync_softplus: log(1 + exp(self)); self itself above 20. */
DYNC_API dync_tensor *(dync_softplus)(dync_tensor *self);
#define dync_softplus(...) \
    DYNC_TAKES_1(DYNC_softplus, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_softplus takes 1 argument: self", __VA_ARGS__)
#define DYNC_softplus(text_, self) \
    DYNC_OP(dync_softplus, dync__op_1T, DYNC__OP_softplus, DYNC_T(self, "dync_softplus: self"))
/* dync_sqrt: square root. */
DYNC_API dync_tensor *(dync_sqrt)(dync_tensor *self);
#define dync_sqrt(...) \
    DYNC_TAKES_1(DYNC_sqrt, DYNC_OTHER_T, __VA_ARGS__)("dync_sqrt takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_sqrt(text_, self) \
    DYNC_OP(dync_sqrt, dync__op_1T, DYNC__OP_sqrt, DYNC_T(self, "dync_sqrt: self"))
/* dync_square: self * self. */
DYNC_API dync_tensor *(dync_square)(dync_tensor *self);
#define dync_square(...) \
    DYNC_TAKES_1(DYNC_square, DYNC_OTHER_T, __VA_ARGS__)("dync_square takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_square(text_, self) \
    DYNC_OP(dync_square, dync__op_1T, DYNC__OP_square, DYNC_T(self, "dync_square: self"))
/* dync_tan: tangent. */
DYNC_API dync_tensor *(dync_tan)(dync_tensor *self);
#define dync_tan(...) \
    DYNC_TAKES_1(DYNC_tan, DYNC_OTHER_T, __VA_ARGS__)("dync_tan takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_tan(text_, self) \
    DYNC_OP(dync_tan, dync__op_1T, DYNC__OP_tan, DYNC_T(self, "dync_tan: self"))
/* dync_tanh: hyperbolic tangent. */
DYNC_API dync_tensor *(dync_tanh)(dync_tensor *self);
#define dync_tanh(...) \
    DYNC_TAKES_1(DYNC_tanh, DYNC_OTHER_T, __VA_ARGS__)("dync_tanh takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_tanh(text_, self) \
    DYNC_OP(dync_tanh, dync__op_1T, DYNC__OP_tanh, DYNC_T(self, "dync_tanh: self"))
/* dync_trunc: rounded towards zero. */
DYNC_API dync_tensor *(dync_trunc)(dync_tensor *self);
#define dync_trunc(...) \
    DYNC_TAKES_1(DYNC_trunc, DYNC_OTHER_T, __VA_ARGS__)("dync_trunc takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_trunc(text_, self) \
    DYNC_OP(dync_trunc, dync__op_1T, DYNC__OP_trunc, DYNC_T(self, "dync_trunc: self"))
/* dync_abs_: absolute value. In place; returns self. */
DYNC_API dync_tensor *(dync_abs_)(dync_tensor *self);
#define dync_abs_(...) \
    DYNC_TAKES_1(DYNC_abs_, DYNC_OTHER_T, __VA_ARGS__)("dync_abs_ takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_abs_(text_, self) \
    DYNC_OP(dync_abs_, dync__op_1T, DYNC__OP_abs_, DYNC_T(self, "dync_abs_: self"))
/* dync_add_: adds other into self; self keeps its dtype. In place; returns self. */
DYNC_API dync_tensor *(dync_add_)(dync_tensor *self, dync_value other);
#define dync_add_(...) \
    DYNC_TAKES_2(DYNC_add_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_add_ takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_add_(text_, self, other) \
    DYNC_SEQ2(dync_add_, dync__op_1TV, DYNC__OP_add_, DYNC_T(self, "dync_add_: self"), \
    DYNC_V(other))
/* dync_addcdiv_: adds value * tensor1 / tensor2. In place; returns self. */
DYNC_API dync_tensor *(dync_addcdiv_)(dync_tensor *self, dync_tensor *tensor1,
    dync_tensor *tensor2, dync_value value);
#define dync_addcdiv_(...) \
    DYNC_TAKES_4(DYNC_addcdiv_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_addcdiv_ takes 4 arguments: self, tensor1, tensor2, value", __VA_ARGS__)
#define DYNC_addcdiv_(text_, self, tensor1, tensor2, value) \
    DYNC_SEQ3_AND(dync_addcdiv_, dync__op_1TTTV, DYNC__OP_addcdiv_, DYNC_T(self, \
    "dync_addcdiv_: self"), DYNC_T(tensor1, "dync_addcdiv_: tensor1"), DYNC_T(tensor2, \
    "dync_addcdiv_: tensor2"), DYNC_V(value))
/* dync_addcmul_: adds value * tensor1 * tensor2. In place; returns self. */
DYNC_API dync_tensor *(dync_addcmul_)(dync_tensor *self, dync_tensor *tensor1,
    dync_tensor *tensor2, dync_value value);
#define dync_addcmul_(...) \
    DYNC_TAKES_4(DYNC_addcmul_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_addcmul_ takes 4 arguments: self, tensor1, tensor2, value", __VA_ARGS__)
#define DYNC_addcmul_(text_, self, tensor1, tensor2, value) \
    DYNC_SEQ3_AND(dync_addcmul_, dync__op_1TTTV, DYNC__OP_addcmul_, DYNC_T(self, \
    "dync_addcmul_: self"), DYNC_T(tensor1, "dync_addcmul_: tensor1"), DYNC_T(tensor2, \
    "dync_addcmul_: tensor2"), DYNC_V(value))
/* dync_ceil_: rounds towards plus infinity. In place; returns self. */
DYNC_API dync_tensor *(dync_ceil_)(dync_tensor *self);
#define dync_ceil_(...) \
    DYNC_TAKES_1(DYNC_ceil_, DYNC_OTHER_T, __VA_ARGS__)("dync_ceil_ takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_ceil_(text_, self) \
    DYNC_OP(dync_ceil_, dync__op_1T, DYNC__OP_ceil_, DYNC_T(self, "dync_ceil_: self"))
/* dync_clamp_: holds self between low and high. In place; returns self. */
DYNC_API dync_tensor *(dync_clamp_)(dync_tensor *self, dync_value low, dync_value high);
#define dync_clamp_(...) \
    DYNC_TAKES_3(DYNC_clamp_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_clamp_ takes 3 arguments: self, low, high", __VA_ARGS__)
#define DYNC_clamp_(text_, self, low, high) \
    DYNC_OP(dync_clamp_, dync__op_1TVV, DYNC__OP_clamp_, DYNC_T(self, "dync_clamp_: self"), \
    DYNC_V(low), DYNC_V(high))
/* dync_copy_: writes src, broadcast and cast, over self. In place; returns self. */
DYNC_API dync_tensor *(dync_copy_)(dync_tensor *self, dync_value src);
#define dync_copy_(...) \
    DYNC_TAKES_2(DYNC_copy_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_copy_ takes 2 arguments: self, src", __VA_ARGS__)
#define DYNC_copy_(text_, self, src) \
    DYNC_SEQ2(dync_copy_, dync__op_1TV, DYNC__OP_copy_, DYNC_T(self, "dync_copy_: self"), \
    DYNC_V(src))
/* dync_cos_: cosine. In place; returns self. */
DYNC_API dync_tensor *(dync_cos_)(dync_tensor *self);
#define dync_cos_(...) \
    DYNC_TAKES_1(DYNC_cos_, DYNC_OTHER_T, __VA_ARGS__)("dync_cos_ takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_cos_(text_, self) \
    DYNC_OP(dync_cos_, dync__op_1T, DYNC__OP_cos_, DYNC_T(self, "dync_cos_: self"))
/* dync_div_: divides self by other. In place; returns self. */
DYNC_API dync_tensor *(dync_div_)(dync_tensor *self, dync_value other);
#define dync_div_(...) \
    DYNC_TAKES_2(DYNC_div_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_div_ takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_div_(text_, self, other) \
    DYNC_SEQ2(dync_div_, dync__op_1TV, DYNC__OP_div_, DYNC_T(self, "dync_div_: self"), \
    DYNC_V(other))
/* dync_exp_: e to the power self. In place; returns self. */
DYNC_API dync_tensor *(dync_exp_)(dync_tensor *self);
#define dync_exp_(...) \
    DYNC_TAKES_1(DYNC_exp_, DYNC_OTHER_T, __VA_ARGS__)("dync_exp_ takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_exp_(text_, self) \
    DYNC_OP(dync_exp_, dync__op_1T, DYNC__OP_exp_, DYNC_T(self, "dync_exp_: self"))
/* dync_fill_: writes one number everywhere. In place; returns self. */
DYNC_API dync_tensor *(dync_fill_)(dync_tensor *self, dync_value value);
#define dync_fill_(...) \
    DYNC_TAKES_2(DYNC_fill_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_fill_ takes 2 arguments: self, value", __VA_ARGS__)
#define DYNC_fill_(text_, self, value) \
    DYNC_SEQ2(dync_fill_, dync__op_1TV, DYNC__OP_fill_, DYNC_T(self, "dync_fill_: self"), \
    DYNC_V(value))
/* dync_floor_: rounds towards minus infinity. In place; returns self. */
DYNC_API dync_tensor *(dync_floor_)(dync_tensor *self);
#define dync_floor_(...) \
    DYNC_TAKES_1(DYNC_floor_, DYNC_OTHER_T, __VA_ARGS__)("dync_floor_ takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_floor_(text_, self) \
    DYNC_OP(dync_floor_, dync__op_1T, DYNC__OP_floor_, DYNC_T(self, "dync_floor_: self"))
/* dync_index_add_: adds rows of source into the rows that index names. In place; returns self. */
DYNC_API dync_tensor *(dync_index_add_)(dync_tensor *self, int dim, dync_tensor *index,
    dync_tensor *source);
#define dync_index_add_(...) \
    DYNC_TAKES_4(DYNC_index_add_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_index_add_ takes 4 arguments: self, dim, index, source", __VA_ARGS__)
#define DYNC_index_add_(text_, self, dim, index, source) \
    DYNC_OP(dync_index_add_, dync__op_1TiTT, DYNC__OP_index_add_, DYNC_T(self, \
    "dync_index_add_: self"), dim, DYNC_T(index, "dync_index_add_: index"), DYNC_T(source, \
    "dync_index_add_: source"))
/* dync_lerp_: moves self towards end. In place; returns self. */
DYNC_API dync_tensor *(dync_lerp_)(dync_tensor *self, dync_tensor *end, dync_value weight);
#define dync_lerp_(...) \
    DYNC_TAKES_3(DYNC_lerp_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_lerp_ takes 3 arguments: self, end, weight", __VA_ARGS__)
#define DYNC_lerp_(text_, self, end, weight) \
    DYNC_SEQ2_AND(dync_lerp_, dync__op_1TTV, DYNC__OP_lerp_, DYNC_T(self, "dync_lerp_: self"), \
    DYNC_T(end, "dync_lerp_: end"), DYNC_V(weight))
/* dync_log_: natural logarithm. In place; returns self. */
DYNC_API dync_tensor *(dync_log_)(dync_tensor *self);
#define dync_log_(...) \
    DYNC_TAKES_1(DYNC_log_, DYNC_OTHER_T, __VA_ARGS__)("dync_log_ takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_log_(text_, self) \
    DYNC_OP(dync_log_, dync__op_1T, DYNC__OP_log_, DYNC_T(self, "dync_log_: self"))
/* dync_masked_fill_: writes value where the mask is set. In place; returns self. */
DYNC_API dync_tensor *(dync_masked_fill_)(dync_tensor *self, dync_tensor *mask, dync_value value);
#define dync_masked_fill_(...) \
    DYNC_TAKES_3(DYNC_masked_fill_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_masked_fill_ takes 3 arguments: self, mask, value", __VA_ARGS__)
#define DYNC_masked_fill_(text_, self, mask, value) \
    DYNC_SEQ2_AND(dync_masked_fill_, dync__op_1TTV, DYNC__OP_masked_fill_, DYNC_T(self, \
    "dync_masked_fill_: self"), DYNC_T(mask, "dync_masked_fill_: mask"), DYNC_V(value))
/* dync_mul_: multiplies self by other. In place; returns self. */
DYNC_API dync_tensor *(dync_mul_)(dync_tensor *self, dync_value other);
#define dync_mul_(...) \
    DYNC_TAKES_2(DYNC_mul_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_mul_ takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_mul_(text_, self, other) \
    DYNC_SEQ2(dync_mul_, dync__op_1TV, DYNC__OP_mul_, DYNC_T(self, "dync_mul_: self"), \
    DYNC_V(other))
/* dync_neg_: negates self. In place; returns self. */
DYNC_API dync_tensor *(dync_neg_)(dync_tensor *self);
#define dync_neg_(...) \
    DYNC_TAKES_1(DYNC_neg_, DYNC_OTHER_T, __VA_ARGS__)("dync_neg_ takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_neg_(text_, self) \
    DYNC_OP(dync_neg_, dync__op_1T, DYNC__OP_neg_, DYNC_T(self, "dync_neg_: self"))
/* dync_normal_: draws from the normal distribution. In place; returns self. */
DYNC_API dync_tensor *(dync_normal_)(dync_tensor *self, dync_real mean, dync_real std);
#define dync_normal_(...) \
    DYNC_TAKES_3(DYNC_normal_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_normal_ takes 3 arguments: self, mean, std", __VA_ARGS__)
#define DYNC_normal_(text_, self, mean, std) \
    DYNC_OP(dync_normal_, dync__op_1Tff, DYNC__OP_normal_, DYNC_T(self, "dync_normal_: self"), \
    mean, std)
/* dync_pow_: raises self to a power. In place; returns self. */
DYNC_API dync_tensor *(dync_pow_)(dync_tensor *self, dync_value exponent);
#define dync_pow_(...) \
    DYNC_TAKES_2(DYNC_pow_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_pow_ takes 2 arguments: self, exponent", __VA_ARGS__)
#define DYNC_pow_(text_, self, exponent) \
    DYNC_SEQ2(dync_pow_, dync__op_1TV, DYNC__OP_pow_, DYNC_T(self, "dync_pow_: self"), \
    DYNC_V(exponent))
/* dync_relu_: max(self, 0). In place; returns self. */
DYNC_API dync_tensor *(dync_relu_)(dync_tensor *self);
#define dync_relu_(...) \
    DYNC_TAKES_1(DYNC_relu_, DYNC_OTHER_T, __VA_ARGS__)("dync_relu_ takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_relu_(text_, self) \
    DYNC_OP(dync_relu_, dync__op_1T, DYNC__OP_relu_, DYNC_T(self, "dync_relu_: self"))
/* dync_round_: rounds to the nearest integer, halves to even. In place; returns self. */
DYNC_API dync_tensor *(dync_round_)(dync_tensor *self);
#define dync_round_(...) \
    DYNC_TAKES_1(DYNC_round_, DYNC_OTHER_T, __VA_ARGS__)("dync_round_ takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_round_(text_, self) \
    DYNC_OP(dync_round_, dync__op_1T, DYNC__OP_round_, DYNC_T(self, "dync_round_: self"))
/* dync_scatter_: writes src to the places that index names. In place; returns self. */
DYNC_API dync_tensor *(dync_scatter_)(dync_tensor *self, int dim, dync_tensor *index,
    dync_value src);
#define dync_scatter_(...) \
    DYNC_TAKES_4(DYNC_scatter_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_scatter_ takes 4 arguments: self, dim, index, src", __VA_ARGS__)
#define DYNC_scatter_(text_, self, dim, index, src) \
    DYNC_OP(dync_scatter_, dync__op_1TiTV, DYNC__OP_scatter_, DYNC_T(self, \
    "dync_scatter_: self"), dim, DYNC_T(index, "dync_scatter_: index"), DYNC_V(src))
/* dync_scatter_add_: adds src at the places that index names. In place; returns self. */
DYNC_API dync_tensor *(dync_scatter_add_)(dync_tensor *self, int dim, dync_tensor *index,
    dync_tensor *src);
#define dync_scatter_add_(...) \
    DYNC_TAKES_4(DYNC_scatter_add_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_scatter_add_ takes 4 arguments: self, dim, index, src", __VA_ARGS__)
#define DYNC_scatter_add_(text_, self, dim, index, src) \
    DYNC_OP(dync_scatter_add_, dync__op_1TiTT, DYNC__OP_scatter_add_, DYNC_T(self, \
    "dync_scatter_add_: self"), dim, DYNC_T(index, "dync_scatter_add_: index"), DYNC_T(src, \
    "dync_scatter_add_: src"))
/* dync_sigmoid_: 1 / (1 + exp(-self)). In place; returns self. */
DYNC_API dync_tensor *(dync_sigmoid_)(dync_tensor *self);
#define dync_sigmoid_(...) \
    DYNC_TAKES_1(DYNC_sigmoid_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_sigmoid_ takes 1 argument: self", __VA_ARGS__)
#define DYNC_sigmoid_(text_, self) \
    DYNC_OP(dync_sigmoid_, dync__op_1T, DYNC__OP_sigmoid_, DYNC_T(self, "dync_sigmoid_: self"))
/* dync_sin_: sine. In place; returns self. */
DYNC_API dync_tensor *(dync_sin_)(dync_tensor *self);
#define dync_sin_(...) \
    DYNC_TAKES_1(DYNC_sin_, DYNC_OTHER_T, __VA_ARGS__)("dync_sin_ takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_sin_(text_, self) \
    DYNC_OP(dync_sin_, dync__op_1T, DYNC__OP_sin_, DYNC_T(self, "dync_sin_: self"))
/* dync_sqrt_: square root. In place; returns self. */
DYNC_API dync_tensor *(dync_sqrt_)(dync_tensor *self);
#define dync_sqrt_(...) \
    DYNC_TAKES_1(DYNC_sqrt_, DYNC_OTHER_T, __VA_ARGS__)("dync_sqrt_ takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_sqrt_(text_, self) \
    DYNC_OP(dync_sqrt_, dync__op_1T, DYNC__OP_sqrt_, DYNC_T(self, "dync_sqrt_: self"))
/* dync_sub_: subtracts other from self. In place; returns self. */
DYNC_API dync_tensor *(dync_sub_)(dync_tensor *self, dync_value other);
#define dync_sub_(...) \
    DYNC_TAKES_2(DYNC_sub_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_sub_ takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_sub_(text_, self, other) \
    DYNC_SEQ2(dync_sub_, dync__op_1TV, DYNC__OP_sub_, DYNC_T(self, "dync_sub_: self"), \
    DYNC_V(other))
/* dync_tanh_: hyperbolic tangent. In place; returns self. */
DYNC_API dync_tensor *(dync_tanh_)(dync_tensor *self);
#define dync_tanh_(...) \
    DYNC_TAKES_1(DYNC_tanh_, DYNC_OTHER_T, __VA_ARGS__)("dync_tanh_ takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_tanh_(text_, self) \
    DYNC_OP(dync_tanh_, dync__op_1T, DYNC__OP_tanh_, DYNC_T(self, "dync_tanh_: self"))
/* dync_trunc_: rounds towards zero. In place; returns self. */
DYNC_API dync_tensor *(dync_trunc_)(dync_tensor *self);
#define dync_trunc_(...) \
    DYNC_TAKES_1(DYNC_trunc_, DYNC_OTHER_T, __VA_ARGS__)("dync_trunc_ takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_trunc_(text_, self) \
    DYNC_OP(dync_trunc_, dync__op_1T, DYNC__OP_trunc_, DYNC_T(self, "dync_trunc_: self"))
/* dync_uniform_: draws from [from, to). In place; returns self. */
DYNC_API dync_tensor *(dync_uniform_)(dync_tensor *self, dync_real from, dync_real to);
#define dync_uniform_(...) \
    DYNC_TAKES_3(DYNC_uniform_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_uniform_ takes 3 arguments: self, from, to", __VA_ARGS__)
#define DYNC_uniform_(text_, self, from, to) \
    DYNC_OP(dync_uniform_, dync__op_1Tff, DYNC__OP_uniform_, DYNC_T(self, \
    "dync_uniform_: self"), from, to)
/* dync_zero_: writes zero everywhere. In place; returns self. */
DYNC_API dync_tensor *(dync_zero_)(dync_tensor *self);
#define dync_zero_(...) \
    DYNC_TAKES_1(DYNC_zero_, DYNC_OTHER_T, __VA_ARGS__)("dync_zero_ takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_zero_(text_, self) \
    DYNC_OP(dync_zero_, dync__op_1T, DYNC__OP_zero_, DYNC_T(self, "dync_zero_: self"))
/* dync_empty_like: uninitialised elements in the form of self. No gradient. */
DYNC_API dync_tensor *(dync_empty_like)(dync_tensor *self);
#define dync_empty_like(...) \
    DYNC_TAKES_1(DYNC_empty_like, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_empty_like takes 1 argument: self", __VA_ARGS__)
#define DYNC_empty_like(text_, self) \
    DYNC_OP(dync_empty_like, dync__op_1T, DYNC__OP_empty_like, DYNC_T(self, \
    "dync_empty_like: self"))
/* dync_eye: n by m, ones on the diagonal. No gradient. */
DYNC_API dync_tensor *(dync_eye)(int64_t n, int64_t m, dync_dtype dtype, dync_device device);
#define dync_eye(...) \
    DYNC_TAKES_4(DYNC_eye, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_eye takes 4 arguments: n, m, dtype, device", __VA_ARGS__)
#define DYNC_eye(text_, n, m, dtype, device) \
    DYNC_OP(dync_eye, dync__op_1llye, DYNC__OP_eye, n, m, dtype, device)
/* dync_full_like: one number everywhere, in the form of self. No gradient. */
DYNC_API dync_tensor *(dync_full_like)(dync_tensor *self, dync_value fill_value);
#define dync_full_like(...) \
    DYNC_TAKES_2(DYNC_full_like, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_full_like takes 2 arguments: self, fill_value", __VA_ARGS__)
#define DYNC_full_like(text_, self, fill_value) \
    DYNC_SEQ2(dync_full_like, dync__op_1TV, DYNC__OP_full_like, DYNC_T(self, \
    "dync_full_like: self"), DYNC_V(fill_value))
/* dync_ones_like: all ones, in the form of self. No gradient. */
DYNC_API dync_tensor *(dync_ones_like)(dync_tensor *self);
#define dync_ones_like(...) \
    DYNC_TAKES_1(DYNC_ones_like, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_ones_like takes 1 argument: self", __VA_ARGS__)
#define DYNC_ones_like(text_, self) \
    DYNC_OP(dync_ones_like, dync__op_1T, DYNC__OP_ones_like, DYNC_T(self, "dync_ones_like: self"))
/* dync_rand_like: uniform in [0, 1), in the form of self. No gradient. */
DYNC_API dync_tensor *(dync_rand_like)(dync_tensor *self);
#define dync_rand_like(...) \
    DYNC_TAKES_1(DYNC_rand_like, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_rand_like takes 1 argument: self", __VA_ARGS__)
#define DYNC_rand_like(text_, self) \
    DYNC_OP(dync_rand_like, dync__op_1T, DYNC__OP_rand_like, DYNC_T(self, "dync_rand_like: self"))
/* dync_randn_like: standard normal, in the form of self. No gradient. */
DYNC_API dync_tensor *(dync_randn_like)(dync_tensor *self);
#define dync_randn_like(...) \
    DYNC_TAKES_1(DYNC_randn_like, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_randn_like takes 1 argument: self", __VA_ARGS__)
#define DYNC_randn_like(text_, self) \
    DYNC_OP(dync_randn_like, dync__op_1T, DYNC__OP_randn_like, DYNC_T(self, \
    "dync_randn_like: self"))
/* dync_zeros_like: all zeros, in the form of self. No gradient. */
DYNC_API dync_tensor *(dync_zeros_like)(dync_tensor *self);
#define dync_zeros_like(...) \
    DYNC_TAKES_1(DYNC_zeros_like, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_zeros_like takes 1 argument: self", __VA_ARGS__)
#define DYNC_zeros_like(text_, self) \
    DYNC_OP(dync_zeros_like, dync__op_1T, DYNC__OP_zeros_like, DYNC_T(self, \
    "dync_zeros_like: self"))
/* dync_all: no element is zero, as bool. No gradient. */
DYNC_API dync_tensor *(dync_all)(dync_tensor *self, dync_dims dim, bool keepdim);
#define dync_all(...) \
    DYNC_TAKES_3(DYNC_all, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_all takes 3 arguments: self, dim, keepdim", __VA_ARGS__)
#define DYNC_all(text_, self, dim, keepdim) \
    DYNC_OP_DIMS(dync_all, dync__op_1Tdb, DYNC__OP_all, DYNC_T(self, "dync_all: self"), \
    DYNC_D_OF(dim, "dync_all: dim"), keepdim)
/* dync_amax: the largest element; the gradient is shared by equal ones. */
DYNC_API dync_tensor *(dync_amax)(dync_tensor *self, dync_dims dim, bool keepdim);
#define dync_amax(...) \
    DYNC_TAKES_3(DYNC_amax, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_amax takes 3 arguments: self, dim, keepdim", __VA_ARGS__)
#define DYNC_amax(text_, self, dim, keepdim) \
    DYNC_OP_DIMS(dync_amax, dync__op_1Tdb, DYNC__OP_amax, DYNC_T(self, "dync_amax: self"), \
    DYNC_D_OF(dim, "dync_amax: dim"), keepdim)
/* dync_amin: the smallest element; the gradient is shared by equal ones. */
DYNC_API dync_tensor *(dync_amin)(dync_tensor *self, dync_dims dim, bool keepdim);
#define dync_amin(...) \
    DYNC_TAKES_3(DYNC_amin, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_amin takes 3 arguments: self, dim, keepdim", __VA_ARGS__)
#define DYNC_amin(text_, self, dim, keepdim) \
    DYNC_OP_DIMS(dync_amin, dync__op_1Tdb, DYNC__OP_amin, DYNC_T(self, "dync_amin: self"), \
    DYNC_D_OF(dim, "dync_amin: dim"), keepdim)
/* dync_any: some element is not zero, as bool. No gradient. */
DYNC_API dync_tensor *(dync_any)(dync_tensor *self, dync_dims dim, bool keepdim);
#define dync_any(...) \
    DYNC_TAKES_3(DYNC_any, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_any takes 3 arguments: self, dim, keepdim", __VA_ARGS__)
#define DYNC_any(text_, self, dim, keepdim) \
    DYNC_OP_DIMS(dync_any, dync__op_1Tdb, DYNC__OP_any, DYNC_T(self, "dync_any: self"), \
    DYNC_D_OF(dim, "dync_any: dim"), keepdim)
/* dync_argmax: the place of the first largest element along dim, int64. No gradient. */
DYNC_API dync_tensor *(dync_argmax)(dync_tensor *self, int dim, bool keepdim);
#define dync_argmax(...) \
    DYNC_TAKES_3(DYNC_argmax, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_argmax takes 3 arguments: self, dim, keepdim", __VA_ARGS__)
#define DYNC_argmax(text_, self, dim, keepdim) \
    DYNC_OP(dync_argmax, dync__op_1Tib, DYNC__OP_argmax, DYNC_T(self, "dync_argmax: self"), dim, \
    keepdim)
/* dync_argmin: the place of the first smallest element along dim, int64. No gradient. */
DYNC_API dync_tensor *(dync_argmin)(dync_tensor *self, int dim, bool keepdim);
#define dync_argmin(...) \
    DYNC_TAKES_3(DYNC_argmin, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_argmin takes 3 arguments: self, dim, keepdim", __VA_ARGS__)
#define DYNC_argmin(text_, self, dim, keepdim) \
    DYNC_OP(dync_argmin, dync__op_1Tib, DYNC__OP_argmin, DYNC_T(self, "dync_argmin: self"), dim, \
    keepdim)
/* dync_cumsum: running sums along dim. */
DYNC_API dync_tensor *(dync_cumsum)(dync_tensor *self, int dim);
#define dync_cumsum(...) \
    DYNC_TAKES_2(DYNC_cumsum, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_cumsum takes 2 arguments: self, dim", __VA_ARGS__)
#define DYNC_cumsum(text_, self, dim) \
    DYNC_OP(dync_cumsum, dync__op_1Ti, DYNC__OP_cumsum, DYNC_T(self, "dync_cumsum: self"), dim)
/* dync_log_softmax: self - log(sum(exp(self))) along dim, without overflow. */
DYNC_API dync_tensor *(dync_log_softmax)(dync_tensor *self, int dim);
#define dync_log_softmax(...) \
    DYNC_TAKES_2(DYNC_log_softmax, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_log_softmax takes 2 arguments: self, dim", __VA_ARGS__)
#define DYNC_log_softmax(text_, self, dim) \
    DYNC_OP(dync_log_softmax, dync__op_1Ti, DYNC__OP_log_softmax, DYNC_T(self, \
    "dync_log_softmax: self"), dim)
/* dync_logsumexp: log(sum(exp(self))), without overflow. */
DYNC_API dync_tensor *(dync_logsumexp)(dync_tensor *self, dync_dims dim, bool keepdim);
#define dync_logsumexp(...) \
    DYNC_TAKES_3(DYNC_logsumexp, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_logsumexp takes 3 arguments: self, dim, keepdim", __VA_ARGS__)
#define DYNC_logsumexp(text_, self, dim, keepdim) \
    DYNC_OP_DIMS(dync_logsumexp, dync__op_1Tdb, DYNC__OP_logsumexp, DYNC_T(self, \
    "dync_logsumexp: self"), DYNC_D_OF(dim, "dync_logsumexp: dim"), keepdim)
/* dync_max: the largest of all elements; the gradient is shared by equal ones. */
DYNC_API dync_tensor *(dync_max)(dync_tensor *self);
#define dync_max(...) \
    DYNC_TAKES_1(DYNC_max, DYNC_OTHER_T, __VA_ARGS__)("dync_max takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_max(text_, self) \
    DYNC_OP(dync_max, dync__op_1T, DYNC__OP_max, DYNC_T(self, "dync_max: self"))
/* dync_max_dim: the largest elements along dim and their places. A list of 2 tensors. */
DYNC_API dync_value (dync_max_dim)(dync_tensor *self, int dim, bool keepdim);
#define dync_max_dim(...) \
    DYNC_TAKES_3(DYNC_max_dim, DYNC_OTHER_V, \
    __VA_ARGS__)("dync_max_dim takes 3 arguments: self, dim, keepdim", __VA_ARGS__)
#define DYNC_max_dim(text_, self, dim, keepdim) \
    DYNC_OP(dync_max_dim, dync__op_nTib, DYNC__OP_max_dim, DYNC_T(self, "dync_max_dim: self"), \
    dim, keepdim)
/* dync_mean: the mean; floating point only. */
DYNC_API dync_tensor *(dync_mean)(dync_tensor *self, dync_dims dim, bool keepdim);
#define dync_mean(...) \
    DYNC_TAKES_3(DYNC_mean, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_mean takes 3 arguments: self, dim, keepdim", __VA_ARGS__)
#define DYNC_mean(text_, self, dim, keepdim) \
    DYNC_OP_DIMS(dync_mean, dync__op_1Tdb, DYNC__OP_mean, DYNC_T(self, "dync_mean: self"), \
    DYNC_D_OF(dim, "dync_mean: dim"), keepdim)
/* dync_min: the smallest of all elements; the gradient is shared by equal ones. */
DYNC_API dync_tensor *(dync_min)(dync_tensor *self);
#define dync_min(...) \
    DYNC_TAKES_1(DYNC_min, DYNC_OTHER_T, __VA_ARGS__)("dync_min takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_min(text_, self) \
    DYNC_OP(dync_min, dync__op_1T, DYNC__OP_min, DYNC_T(self, "dync_min: self"))
/* dync_min_dim: the smallest elements along dim and their places. A list of 2 tensors. */
DYNC_API dync_value (dync_min_dim)(dync_tensor *self, int dim, bool keepdim);
#define dync_min_dim(...) \
    DYNC_TAKES_3(DYNC_min_dim, DYNC_OTHER_V, \
    __VA_ARGS__)("dync_min_dim takes 3 arguments: self, dim, keepdim", __VA_ARGS__)
#define DYNC_min_dim(text_, self, dim, keepdim) \
    DYNC_OP(dync_min_dim, dync__op_nTib, DYNC__OP_min_dim, DYNC_T(self, "dync_min_dim: self"), \
    dim, keepdim)
/* dync_norm: the p-norm: sum(abs(self) ** p) ** (1 / p). */
DYNC_API dync_tensor *(dync_norm)(dync_tensor *self, dync_value p, dync_dims dim, bool keepdim);
#define dync_norm(...) \
    DYNC_TAKES_4(DYNC_norm, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_norm takes 4 arguments: self, p, dim, keepdim", __VA_ARGS__)
#define DYNC_norm(text_, self, p, dim, keepdim) \
    DYNC_SEQ2_AND(dync_norm, dync__op_1TVdb, DYNC__OP_norm, DYNC_T(self, "dync_norm: self"), \
    DYNC_V(p), DYNC_D(dim, "dync_norm: dim"), keepdim)
/* dync_prod: the product; integers give int64. */
DYNC_API dync_tensor *(dync_prod)(dync_tensor *self, dync_dims dim, bool keepdim);
#define dync_prod(...) \
    DYNC_TAKES_3(DYNC_prod, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_prod takes 3 arguments: self, dim, keepdim", __VA_ARGS__)
#define DYNC_prod(text_, self, dim, keepdim) \
    DYNC_OP_DIMS(dync_prod, dync__op_1Tdb, DYNC__OP_prod, DYNC_T(self, "dync_prod: self"), \
    DYNC_D_OF(dim, "dync_prod: dim"), keepdim)
/* dync_softmax: exp(self - max) / sum of the same, along dim. */
DYNC_API dync_tensor *(dync_softmax)(dync_tensor *self, int dim);
#define dync_softmax(...) \
    DYNC_TAKES_2(DYNC_softmax, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_softmax takes 2 arguments: self, dim", __VA_ARGS__)
#define DYNC_softmax(text_, self, dim) \
    DYNC_OP(dync_softmax, dync__op_1Ti, DYNC__OP_softmax, DYNC_T(self, "dync_softmax: self"), dim)
/* dync_std: standard deviation; correction 1 divides by n - 1. */
DYNC_API dync_tensor *(dync_std)(dync_tensor *self, dync_dims dim, int correction, bool keepdim);
#define dync_std(...) \
    DYNC_TAKES_4(DYNC_std, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_std takes 4 arguments: self, dim, correction, keepdim", __VA_ARGS__)
#define DYNC_std(text_, self, dim, correction, keepdim) \
    DYNC_OP_DIMS(dync_std, dync__op_1Tdib, DYNC__OP_std, DYNC_T(self, "dync_std: self"), \
    DYNC_D_OF(dim, "dync_std: dim"), correction, keepdim)
/* dync_sum: the sum; integers give int64. */
DYNC_API dync_tensor *(dync_sum)(dync_tensor *self, dync_dims dim, bool keepdim);
#define dync_sum(...) \
    DYNC_TAKES_3(DYNC_sum, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_sum takes 3 arguments: self, dim, keepdim", __VA_ARGS__)
#define DYNC_sum(text_, self, dim, keepdim) \
    DYNC_OP_DIMS(dync_sum, dync__op_1Tdb, DYNC__OP_sum, DYNC_T(self, "dync_sum: self"), \
    DYNC_D_OF(dim, "dync_sum: dim"), keepdim)
/* dync_var: variance; correction 1 divides by n - 1. */
DYNC_API dync_tensor *(dync_var)(dync_tensor *self, dync_dims dim, int correction, bool keepdim);
#define dync_var(...) \
    DYNC_TAKES_4(DYNC_var, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_var takes 4 arguments: self, dim, correction, keepdim", __VA_ARGS__)
#define DYNC_var(text_, self, dim, correction, keepdim) \
    DYNC_OP_DIMS(dync_var, dync__op_1Tdib, DYNC__OP_var, DYNC_T(self, "dync_var: self"), \
    DYNC_D_OF(dim, "dync_var: dim"), correction, keepdim)
/* dync_addmm: self + mat1 @ mat2; self is broadcast. */
DYNC_API dync_tensor *(dync_addmm)(dync_tensor *self, dync_tensor *mat1, dync_tensor *mat2);
#define dync_addmm(...) \
    DYNC_TAKES_3(DYNC_addmm, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_addmm takes 3 arguments: self, mat1, mat2", __VA_ARGS__)
#define DYNC_addmm(text_, self, mat1, mat2) \
    DYNC_SEQ2_AND(dync_addmm, dync__op_1TTT, DYNC__OP_addmm, DYNC_T(self, "dync_addmm: self"), \
    DYNC_T(mat1, "dync_addmm: mat1"), DYNC_T(mat2, "dync_addmm: mat2"))
/* dync_bmm: a batch of matrix products: [B, M, K] @ [B, K, N]. */
DYNC_API dync_tensor *(dync_bmm)(dync_tensor *self, dync_tensor *mat2);
#define dync_bmm(...) \
    DYNC_TAKES_2(DYNC_bmm, DYNC_OTHER_T, __VA_ARGS__)("dync_bmm takes 2 arguments: self, mat2", \
    __VA_ARGS__)
#define DYNC_bmm(text_, self, mat2) \
    DYNC_SEQ2(dync_bmm, dync__op_1TT, DYNC__OP_bmm, DYNC_T(self, "dync_bmm: self"), DYNC_T(mat2, \
    "dync_bmm: mat2"))
/* dync_dot: the scalar product of two vectors. */
DYNC_API dync_tensor *(dync_dot)(dync_tensor *self, dync_tensor *tensor);
#define dync_dot(...) \
    DYNC_TAKES_2(DYNC_dot, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_dot takes 2 arguments: self, tensor", __VA_ARGS__)
#define DYNC_dot(text_, self, tensor) \
    DYNC_SEQ2(dync_dot, dync__op_1TT, DYNC__OP_dot, DYNC_T(self, "dync_dot: self"), \
    DYNC_T(tensor, "dync_dot: tensor"))
/* dync_int_mm: matrix product of [M, K] and [K, N] of I8 with sums in I32, for quantised weights.
 * Compiled, the cast, scales and bias behind it run on rows in the cache. No gradient. */
DYNC_API dync_tensor *(dync_int_mm)(dync_tensor *self, dync_tensor *mat2);
#define dync_int_mm(...) \
    DYNC_TAKES_2(DYNC_int_mm, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_int_mm takes 2 arguments: self, mat2", __VA_ARGS__)
#define DYNC_int_mm(text_, self, mat2) \
    DYNC_SEQ2(dync_int_mm, dync__op_1TT, DYNC__OP_int_mm, DYNC_T(self, "dync_int_mm: self"), \
    DYNC_T(mat2, "dync_int_mm: mat2"))
/* dync_linear: input @ weight^T + bias, over any leading dims. */
DYNC_API dync_tensor *(dync_linear)(dync_tensor *input, dync_tensor *weight, dync_tensor *bias);
#define dync_linear(...) \
    DYNC_TAKES_3(DYNC_linear, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_linear takes 3 arguments: input, weight, bias", __VA_ARGS__)
#define DYNC_linear(text_, input, weight, bias) \
    DYNC_SEQ2_AND(dync_linear, dync__op_1TTO, DYNC__OP_linear, DYNC_T(input, \
    "dync_linear: input"), DYNC_T(weight, "dync_linear: weight"), bias)
/* dync_matmul: matrix product of vectors, matrices and batches of them, broadcast. */
DYNC_API dync_tensor *(dync_matmul)(dync_tensor *self, dync_tensor *other);
#define dync_matmul(...) \
    DYNC_TAKES_2(DYNC_matmul, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_matmul takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_matmul(text_, self, other) \
    DYNC_SEQ2(dync_matmul, dync__op_1TT, DYNC__OP_matmul, DYNC_T(self, "dync_matmul: self"), \
    DYNC_T(other, "dync_matmul: other"))
/* dync_mm: matrix product of [M, K] and [K, N]. */
DYNC_API dync_tensor *(dync_mm)(dync_tensor *self, dync_tensor *mat2);
#define dync_mm(...) \
    DYNC_TAKES_2(DYNC_mm, DYNC_OTHER_T, __VA_ARGS__)("dync_mm takes 2 arguments: self, mat2", \
    __VA_ARGS__)
#define DYNC_mm(text_, self, mat2) \
    DYNC_SEQ2(dync_mm, dync__op_1TT, DYNC__OP_mm, DYNC_T(self, "dync_mm: self"), DYNC_T(mat2, \
    "dync_mm: mat2"))
/* dync_mv: matrix times vector. */
DYNC_API dync_tensor *(dync_mv)(dync_tensor *self, dync_tensor *vec);
#define dync_mv(...) \
    DYNC_TAKES_2(DYNC_mv, DYNC_OTHER_T, __VA_ARGS__)("dync_mv takes 2 arguments: self, vec", \
    __VA_ARGS__)
#define DYNC_mv(text_, self, vec) \
    DYNC_SEQ2(dync_mv, dync__op_1TT, DYNC__OP_mv, DYNC_T(self, "dync_mv: self"), DYNC_T(vec, \
    "dync_mv: vec"))
/* dync_outer: all products of two vectors' elements. */
DYNC_API dync_tensor *(dync_outer)(dync_tensor *self, dync_tensor *vec2);
#define dync_outer(...) \
    DYNC_TAKES_2(DYNC_outer, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_outer takes 2 arguments: self, vec2", __VA_ARGS__)
#define DYNC_outer(text_, self, vec2) \
    DYNC_SEQ2(dync_outer, dync__op_1TT, DYNC__OP_outer, DYNC_T(self, "dync_outer: self"), \
    DYNC_T(vec2, "dync_outer: vec2"))
/* dync_bernoulli: 1 with the probability that self gives, else 0. No gradient. */
DYNC_API dync_tensor *(dync_bernoulli)(dync_tensor *self);
#define dync_bernoulli(...) \
    DYNC_TAKES_1(DYNC_bernoulli, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_bernoulli takes 1 argument: self", __VA_ARGS__)
#define DYNC_bernoulli(text_, self) \
    DYNC_OP(dync_bernoulli, dync__op_1T, DYNC__OP_bernoulli, DYNC_T(self, "dync_bernoulli: self"))
/* dync_count_nonzero: how many elements are not zero along dim, int64. No gradient. */
DYNC_API dync_tensor *(dync_count_nonzero)(dync_tensor *self, dync_dims dim);
#define dync_count_nonzero(...) \
    DYNC_TAKES_2(DYNC_count_nonzero, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_count_nonzero takes 2 arguments: self, dim", __VA_ARGS__)
#define DYNC_count_nonzero(text_, self, dim) \
    DYNC_OP_DIMS(dync_count_nonzero, dync__op_1Td, DYNC__OP_count_nonzero, DYNC_T(self, \
    "dync_count_nonzero: self"), DYNC_D_OF(dim, "dync_count_nonzero: dim"))
/* dync_isclose: abs(self - other) <= atol + rtol * abs(other), as bool. No gradient. */
DYNC_API dync_tensor *(dync_isclose)(dync_tensor *self, dync_tensor *other, dync_real rtol,
    dync_real atol, bool equal_nan);
#define dync_isclose(...) \
    DYNC_TAKES_5(DYNC_isclose, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_isclose takes 5 arguments: self, other, rtol, atol, equal_nan", __VA_ARGS__)
#define DYNC_isclose(text_, self, other, rtol, atol, equal_nan) \
    DYNC_SEQ2_AND(dync_isclose, dync__op_1TTffb, DYNC__OP_isclose, DYNC_T(self, \
    "dync_isclose: self"), DYNC_T(other, "dync_isclose: other"), rtol, atol, equal_nan)
/* dync_logaddexp: log(exp(self) + exp(other)), without overflow. */
DYNC_API dync_tensor *(dync_logaddexp)(dync_tensor *self, dync_tensor *other);
#define dync_logaddexp(...) \
    DYNC_TAKES_2(DYNC_logaddexp, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_logaddexp takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_logaddexp(text_, self, other) \
    DYNC_SEQ2(dync_logaddexp, dync__op_1TT, DYNC__OP_logaddexp, DYNC_T(self, \
    "dync_logaddexp: self"), DYNC_T(other, "dync_logaddexp: other"))
/* dync_nan_to_num: NaN as nan (none: 0), infinities as posinf and neginf (none: the largest
 * numbers of the dtype). */
DYNC_API dync_tensor *(dync_nan_to_num)(dync_tensor *self, dync_value nan, dync_value posinf,
    dync_value neginf);
#define dync_nan_to_num(...) \
    DYNC_TAKES_4(DYNC_nan_to_num, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_nan_to_num takes 4 arguments: self, nan, posinf, neginf", __VA_ARGS__)
#define DYNC_nan_to_num(text_, self, nan, posinf, neginf) \
    DYNC_OP(dync_nan_to_num, dync__op_1TVVV, DYNC__OP_nan_to_num, DYNC_T(self, \
    "dync_nan_to_num: self"), DYNC_V(nan), DYNC_V(posinf), DYNC_V(neginf))
/* dync_xlogy: self * log(other); 0 where self is 0. */
DYNC_API dync_tensor *(dync_xlogy)(dync_tensor *self, dync_tensor *other);
#define dync_xlogy(...) \
    DYNC_TAKES_2(DYNC_xlogy, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_xlogy takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_xlogy(text_, self, other) \
    DYNC_SEQ2(dync_xlogy, dync__op_1TT, DYNC__OP_xlogy, DYNC_T(self, "dync_xlogy: self"), \
    DYNC_T(other, "dync_xlogy: other"))
/* dync_cosine_similarity: the cosine of the angle between vectors along dim; lengths are held at
 * eps from below. */
DYNC_API dync_tensor *(dync_cosine_similarity)(dync_tensor *x1, dync_tensor *x2, int dim,
    dync_real eps);
#define dync_cosine_similarity(...) \
    DYNC_TAKES_4(DYNC_cosine_similarity, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_cosine_similarity takes 4 arguments: x1, x2, dim, eps", __VA_ARGS__)
#define DYNC_cosine_similarity(text_, x1, x2, dim, eps) \
    DYNC_SEQ2_AND(dync_cosine_similarity, dync__op_1TTif, DYNC__OP_cosine_similarity, DYNC_T(x1, \
    "dync_cosine_similarity: x1"), DYNC_T(x2, "dync_cosine_similarity: x2"), dim, eps)
/* dync_normalize: self over its p-norm along dim, which is held at eps from below. */
DYNC_API dync_tensor *(dync_normalize)(dync_tensor *self, dync_value p, int dim, dync_real eps);
#define dync_normalize(...) \
    DYNC_TAKES_4(DYNC_normalize, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_normalize takes 4 arguments: self, p, dim, eps", __VA_ARGS__)
#define DYNC_normalize(text_, self, p, dim, eps) \
    DYNC_SEQ2_AND(dync_normalize, dync__op_1TVif, DYNC__OP_normalize, DYNC_T(self, \
    "dync_normalize: self"), DYNC_V(p), dim, eps)
/* dync_addmv: self + mat @ vec; self is broadcast. */
DYNC_API dync_tensor *(dync_addmv)(dync_tensor *self, dync_tensor *mat, dync_tensor *vec);
#define dync_addmv(...) \
    DYNC_TAKES_3(DYNC_addmv, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_addmv takes 3 arguments: self, mat, vec", __VA_ARGS__)
#define DYNC_addmv(text_, self, mat, vec) \
    DYNC_SEQ2_AND(dync_addmv, dync__op_1TTT, DYNC__OP_addmv, DYNC_T(self, "dync_addmv: self"), \
    DYNC_T(mat, "dync_addmv: mat"), DYNC_T(vec, "dync_addmv: vec"))
/* dync_baddbmm: self + batch1 @ batch2; self is broadcast. */
DYNC_API dync_tensor *(dync_baddbmm)(dync_tensor *self, dync_tensor *batch1, dync_tensor *batch2);
#define dync_baddbmm(...) \
    DYNC_TAKES_3(DYNC_baddbmm, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_baddbmm takes 3 arguments: self, batch1, batch2", __VA_ARGS__)
#define DYNC_baddbmm(text_, self, batch1, batch2) \
    DYNC_SEQ2_AND(dync_baddbmm, dync__op_1TTT, DYNC__OP_baddbmm, DYNC_T(self, \
    "dync_baddbmm: self"), DYNC_T(batch1, "dync_baddbmm: batch1"), DYNC_T(batch2, \
    "dync_baddbmm: batch2"))
/* dync_einsum: Einstein's sums: "bij,bjk->bik"; an ellipsis stands for broadcast dims. */
DYNC_API dync_tensor *(dync_einsum)(const char *equation, dync_value operands);
#define dync_einsum(...) \
    DYNC_TAKES_2(DYNC_einsum, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_einsum takes 2 arguments: equation, operands", __VA_ARGS__)
#define DYNC_einsum(text_, equation, operands) \
    DYNC_OP(dync_einsum, dync__op_1sL, DYNC__OP_einsum, equation, DYNC_V(operands))
/* dync_trace: the sum of a matrix's diagonal. */
DYNC_API dync_tensor *(dync_trace)(dync_tensor *self);
#define dync_trace(...) \
    DYNC_TAKES_1(DYNC_trace, DYNC_OTHER_T, __VA_ARGS__)("dync_trace takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_trace(text_, self) \
    DYNC_OP(dync_trace, dync__op_1T, DYNC__OP_trace, DYNC_T(self, "dync_trace: self"))
/* dync_adaptive_avg_pool2d: means over tiles, so that output_size come out. */
DYNC_API dync_tensor *(dync_adaptive_avg_pool2d)(dync_tensor *self, dync_dims output_size);
#define dync_adaptive_avg_pool2d(...) \
    DYNC_TAKES_2(DYNC_adaptive_avg_pool2d, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_adaptive_avg_pool2d takes 2 arguments: self, output_size", __VA_ARGS__)
#define DYNC_adaptive_avg_pool2d(text_, self, output_size) \
    DYNC_OP_DIMS(dync_adaptive_avg_pool2d, dync__op_1Td, DYNC__OP_adaptive_avg_pool2d, \
    DYNC_T(self, "dync_adaptive_avg_pool2d: self"), DYNC_D_OF(output_size, \
    "dync_adaptive_avg_pool2d: output_size"))
/* dync_avg_pool2d: means over windows; an empty stride is the kernel size. */
DYNC_API dync_tensor *(dync_avg_pool2d)(dync_tensor *self, dync_dims kernel_size,
    dync_dims stride, dync_dims padding, bool ceil_mode, bool count_include_pad);
#define dync_avg_pool2d(...) \
    DYNC_TAKES_6(DYNC_avg_pool2d, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_avg_pool2d takes 6 arguments: self, kernel_size, stride, padding, " \
    "ceil_mode, count_include_pad", __VA_ARGS__)
#define DYNC_avg_pool2d(text_, self, kernel_size, stride, padding, ceil_mode, count_include_pad) \
    DYNC_OP_DIMS(dync_avg_pool2d, dync__op_1Tdddbb, DYNC__OP_avg_pool2d, DYNC_T(self, \
    "dync_avg_pool2d: self"), DYNC_D_OF(kernel_size, "dync_avg_pool2d: kernel_size"), \
    DYNC_D_OF(stride, "dync_avg_pool2d: stride"), DYNC_D_OF(padding, \
    "dync_avg_pool2d: padding"), ceil_mode, count_include_pad)
/* dync_batch_norm: normalises each channel; in training the running statistics are updated. */
DYNC_API dync_tensor *(dync_batch_norm)(dync_tensor *input, dync_tensor *weight,
    dync_tensor *bias, dync_tensor *running_mean, dync_tensor *running_var, bool training,
    dync_real momentum, dync_real eps);
#define dync_batch_norm(...) \
    DYNC_TAKES_8(DYNC_batch_norm, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_batch_norm takes 8 arguments: input, weight, bias, running_mean, " \
    "running_var, training, momentum, eps", __VA_ARGS__)
#define DYNC_batch_norm(text_, input, weight, bias, running_mean, running_var, training, \
    momentum, eps) \
    DYNC_OP(dync_batch_norm, dync__op_1TOOOObff, DYNC__OP_batch_norm, DYNC_T(input, \
    "dync_batch_norm: input"), weight, bias, running_mean, running_var, training, momentum, eps)
/* dync_conv2d: 2-d cross-correlation of [N, C, H, W] or [C, H, W]. */
DYNC_API dync_tensor *(dync_conv2d)(dync_tensor *input, dync_tensor *weight, dync_tensor *bias,
    dync_dims stride, dync_dims padding, dync_dims dilation, int groups);
#define dync_conv2d(...) \
    DYNC_TAKES_7(DYNC_conv2d, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_conv2d takes 7 arguments: input, weight, bias, stride, padding, dilation, " \
    "groups", __VA_ARGS__)
#define DYNC_conv2d(text_, input, weight, bias, stride, padding, dilation, groups) \
    DYNC_SEQ2_AND(dync_conv2d, dync__op_1TTOdddi, DYNC__OP_conv2d, DYNC_T(input, \
    "dync_conv2d: input"), DYNC_T(weight, "dync_conv2d: weight"), bias, DYNC_D(stride, \
    "dync_conv2d: stride"), DYNC_D(padding, "dync_conv2d: padding"), DYNC_D(dilation, \
    "dync_conv2d: dilation"), groups)
/* dync_int_conv2d: conv2d of [N, C, H, W] of I8 with sums and bias in I32, for quantised weights.
 * No gradient. */
DYNC_API dync_tensor *(dync_int_conv2d)(dync_tensor *input, dync_tensor *weight,
    dync_tensor *bias, dync_dims stride, dync_dims padding, dync_dims dilation, int groups);
#define dync_int_conv2d(...) \
    DYNC_TAKES_7(DYNC_int_conv2d, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_int_conv2d takes 7 arguments: input, weight, bias, stride, padding, " \
    "dilation, groups", __VA_ARGS__)
#define DYNC_int_conv2d(text_, input, weight, bias, stride, padding, dilation, groups) \
    DYNC_SEQ2_AND(dync_int_conv2d, dync__op_1TTOdddi, DYNC__OP_int_conv2d, DYNC_T(input, \
    "dync_int_conv2d: input"), DYNC_T(weight, "dync_int_conv2d: weight"), bias, DYNC_D(stride, \
    "dync_int_conv2d: stride"), DYNC_D(padding, "dync_int_conv2d: padding"), DYNC_D(dilation, \
    "dync_int_conv2d: dilation"), groups)
/* dync_dropout: in training zero with probability p, else scaled by 1 / (1 - p). */
DYNC_API dync_tensor *(dync_dropout)(dync_tensor *self, dync_real p, bool training);
#define dync_dropout(...) \
    DYNC_TAKES_3(DYNC_dropout, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_dropout takes 3 arguments: self, p, training", __VA_ARGS__)
#define DYNC_dropout(text_, self, p, training) \
    DYNC_OP(dync_dropout, dync__op_1Tfb, DYNC__OP_dropout, DYNC_T(self, "dync_dropout: self"), \
    p, training)
/* dync_embedding: the rows of weight that indices name. */
DYNC_API dync_tensor *(dync_embedding)(dync_tensor *weight, dync_tensor *indices);
#define dync_embedding(...) \
    DYNC_TAKES_2(DYNC_embedding, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_embedding takes 2 arguments: weight, indices", __VA_ARGS__)
#define DYNC_embedding(text_, weight, indices) \
    DYNC_SEQ2(dync_embedding, dync__op_1TT, DYNC__OP_embedding, DYNC_T(weight, \
    "dync_embedding: weight"), DYNC_T(indices, "dync_embedding: indices"))
/* dync_layer_norm: normalises over the trailing dims. */
DYNC_API dync_tensor *(dync_layer_norm)(dync_tensor *input, dync_dims normalized_shape,
    dync_tensor *weight, dync_tensor *bias, dync_real eps);
#define dync_layer_norm(...) \
    DYNC_TAKES_5(DYNC_layer_norm, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_layer_norm takes 5 arguments: input, normalized_shape, weight, bias, " \
    "eps", __VA_ARGS__)
#define DYNC_layer_norm(text_, input, normalized_shape, weight, bias, eps) \
    DYNC_OP_DIMS(dync_layer_norm, dync__op_1TdOOf, DYNC__OP_layer_norm, DYNC_T(input, \
    "dync_layer_norm: input"), DYNC_D_OF(normalized_shape, "dync_layer_norm: normalized_shape"), \
    weight, bias, eps)
/* dync_max_pool2d: maxima of windows; an empty stride is the kernel size. */
DYNC_API dync_tensor *(dync_max_pool2d)(dync_tensor *self, dync_dims kernel_size,
    dync_dims stride, dync_dims padding, dync_dims dilation, bool ceil_mode);
#define dync_max_pool2d(...) \
    DYNC_TAKES_6(DYNC_max_pool2d, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_max_pool2d takes 6 arguments: self, kernel_size, stride, padding, " \
    "dilation, ceil_mode", __VA_ARGS__)
#define DYNC_max_pool2d(text_, self, kernel_size, stride, padding, dilation, ceil_mode) \
    DYNC_OP_DIMS(dync_max_pool2d, dync__op_1Tddddb, DYNC__OP_max_pool2d, DYNC_T(self, \
    "dync_max_pool2d: self"), DYNC_D_OF(kernel_size, "dync_max_pool2d: kernel_size"), \
    DYNC_D_OF(stride, "dync_max_pool2d: stride"), DYNC_D_OF(padding, \
    "dync_max_pool2d: padding"), DYNC_D_OF(dilation, "dync_max_pool2d: dilation"), ceil_mode)
/* dync_max_pool2d_with_indices: maxima of windows and their places in the plane. A list of 2
 * tensors. */
DYNC_API dync_value (dync_max_pool2d_with_indices)(dync_tensor *self, dync_dims kernel_size,
    dync_dims stride, dync_dims padding, dync_dims dilation, bool ceil_mode);
#define dync_max_pool2d_with_indices(...) \
    DYNC_TAKES_6(DYNC_max_pool2d_with_indices, DYNC_OTHER_V, \
    __VA_ARGS__)("dync_max_pool2d_with_indices takes 6 arguments: self, kernel_size, stride, " \
    "padding, dilation, ceil_mode", __VA_ARGS__)
#define DYNC_max_pool2d_with_indices(text_, self, kernel_size, stride, padding, dilation, \
    ceil_mode) \
    DYNC_OP_DIMS(dync_max_pool2d_with_indices, dync__op_nTddddb, \
    DYNC__OP_max_pool2d_with_indices, DYNC_T(self, "dync_max_pool2d_with_indices: self"), \
    DYNC_D_OF(kernel_size, "dync_max_pool2d_with_indices: kernel_size"), DYNC_D_OF(stride, \
    "dync_max_pool2d_with_indices: stride"), DYNC_D_OF(padding, \
    "dync_max_pool2d_with_indices: padding"), DYNC_D_OF(dilation, \
    "dync_max_pool2d_with_indices: dilation"), ceil_mode)
/* dync_one_hot: a new last dim with a one at the class, int64; num_classes -1: up to the largest
 * class. No gradient. */
DYNC_API dync_tensor *(dync_one_hot)(dync_tensor *self, int64_t num_classes);
#define dync_one_hot(...) \
    DYNC_TAKES_2(DYNC_one_hot, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_one_hot takes 2 arguments: self, num_classes", __VA_ARGS__)
#define DYNC_one_hot(text_, self, num_classes) \
    DYNC_OP(dync_one_hot, dync__op_1Tl, DYNC__OP_one_hot, DYNC_T(self, "dync_one_hot: self"), \
    num_classes)
/* dync_celu: self where positive, else alpha * (exp(self / alpha) - 1). */
DYNC_API dync_tensor *(dync_celu)(dync_tensor *self, dync_real alpha);
#define dync_celu(...) \
    DYNC_TAKES_2(DYNC_celu, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_celu takes 2 arguments: self, alpha", __VA_ARGS__)
#define DYNC_celu(text_, self, alpha) \
    DYNC_OP(dync_celu, dync__op_1Tf, DYNC__OP_celu, DYNC_T(self, "dync_celu: self"), alpha)
/* dync_glu: the first half of dim times sigmoid of the second. */
DYNC_API dync_tensor *(dync_glu)(dync_tensor *self, int dim);
#define dync_glu(...) \
    DYNC_TAKES_2(DYNC_glu, DYNC_OTHER_T, __VA_ARGS__)("dync_glu takes 2 arguments: self, dim", \
    __VA_ARGS__)
#define DYNC_glu(text_, self, dim) \
    DYNC_OP(dync_glu, dync__op_1Ti, DYNC__OP_glu, DYNC_T(self, "dync_glu: self"), dim)
/* dync_hardshrink: 0 where -lambd <= self <= lambd, else self. */
DYNC_API dync_tensor *(dync_hardshrink)(dync_tensor *self, dync_real lambd);
#define dync_hardshrink(...) \
    DYNC_TAKES_2(DYNC_hardshrink, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_hardshrink takes 2 arguments: self, lambd", __VA_ARGS__)
#define DYNC_hardshrink(text_, self, lambd) \
    DYNC_OP(dync_hardshrink, dync__op_1Tf, DYNC__OP_hardshrink, DYNC_T(self, \
    "dync_hardshrink: self"), lambd)
/* dync_hardsigmoid: self + 3 held between 0 and 6, over 6. */
DYNC_API dync_tensor *(dync_hardsigmoid)(dync_tensor *self);
#define dync_hardsigmoid(...) \
    DYNC_TAKES_1(DYNC_hardsigmoid, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_hardsigmoid takes 1 argument: self", __VA_ARGS__)
#define DYNC_hardsigmoid(text_, self) \
    DYNC_OP(dync_hardsigmoid, dync__op_1T, DYNC__OP_hardsigmoid, DYNC_T(self, \
    "dync_hardsigmoid: self"))
/* dync_hardswish: self * hardsigmoid(self). */
DYNC_API dync_tensor *(dync_hardswish)(dync_tensor *self);
#define dync_hardswish(...) \
    DYNC_TAKES_1(DYNC_hardswish, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_hardswish takes 1 argument: self", __VA_ARGS__)
#define DYNC_hardswish(text_, self) \
    DYNC_OP(dync_hardswish, dync__op_1T, DYNC__OP_hardswish, DYNC_T(self, "dync_hardswish: self"))
/* dync_prelu: self where positive, else weight * self; weight: one number, or one a channel (dim
 * 1). */
DYNC_API dync_tensor *(dync_prelu)(dync_tensor *self, dync_tensor *weight);
#define dync_prelu(...) \
    DYNC_TAKES_2(DYNC_prelu, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_prelu takes 2 arguments: self, weight", __VA_ARGS__)
#define DYNC_prelu(text_, self, weight) \
    DYNC_SEQ2(dync_prelu, dync__op_1TT, DYNC__OP_prelu, DYNC_T(self, "dync_prelu: self"), \
    DYNC_T(weight, "dync_prelu: weight"))
/* dync_selu: scaled elu whose fixed point has mean 0 and variance 1. */
DYNC_API dync_tensor *(dync_selu)(dync_tensor *self);
#define dync_selu(...) \
    DYNC_TAKES_1(DYNC_selu, DYNC_OTHER_T, __VA_ARGS__)("dync_selu takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_selu(text_, self) \
    DYNC_OP(dync_selu, dync__op_1T, DYNC__OP_selu, DYNC_T(self, "dync_selu: self"))
/* dync_softmin: softmax of -self. */
DYNC_API dync_tensor *(dync_softmin)(dync_tensor *self, int dim);
#define dync_softmin(...) \
    DYNC_TAKES_2(DYNC_softmin, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_softmin takes 2 arguments: self, dim", __VA_ARGS__)
#define DYNC_softmin(text_, self, dim) \
    DYNC_OP(dync_softmin, dync__op_1Ti, DYNC__OP_softmin, DYNC_T(self, "dync_softmin: self"), dim)
/* dync_softshrink: self moved by lambd towards 0, which it does not cross. */
DYNC_API dync_tensor *(dync_softshrink)(dync_tensor *self, dync_real lambd);
#define dync_softshrink(...) \
    DYNC_TAKES_2(DYNC_softshrink, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_softshrink takes 2 arguments: self, lambd", __VA_ARGS__)
#define DYNC_softshrink(text_, self, lambd) \
    DYNC_OP(dync_softshrink, dync__op_1Tf, DYNC__OP_softshrink, DYNC_T(self, \
    "dync_softshrink: self"), lambd)
/* dync_softsign: self / (1 + abs(self)). */
DYNC_API dync_tensor *(dync_softsign)(dync_tensor *self);
#define dync_softsign(...) \
    DYNC_TAKES_1(DYNC_softsign, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_softsign takes 1 argument: self", __VA_ARGS__)
#define DYNC_softsign(text_, self) \
    DYNC_OP(dync_softsign, dync__op_1T, DYNC__OP_softsign, DYNC_T(self, "dync_softsign: self"))
/* dync_tanhshrink: self - tanh(self). */
DYNC_API dync_tensor *(dync_tanhshrink)(dync_tensor *self);
#define dync_tanhshrink(...) \
    DYNC_TAKES_1(DYNC_tanhshrink, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_tanhshrink takes 1 argument: self", __VA_ARGS__)
#define DYNC_tanhshrink(text_, self) \
    DYNC_OP(dync_tanhshrink, dync__op_1T, DYNC__OP_tanhshrink, DYNC_T(self, \
    "dync_tanhshrink: self"))
/* dync_threshold: self where above threshold, else value. */
DYNC_API dync_tensor *(dync_threshold)(dync_tensor *self, dync_real threshold, dync_value value);
#define dync_threshold(...) \
    DYNC_TAKES_3(DYNC_threshold, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_threshold takes 3 arguments: self, threshold, value", __VA_ARGS__)
#define DYNC_threshold(text_, self, threshold, value) \
    DYNC_OP(dync_threshold, dync__op_1TfV, DYNC__OP_threshold, DYNC_T(self, \
    "dync_threshold: self"), threshold, DYNC_V(value))
/* dync_conv1d: 1-d cross-correlation of [N, C, L] or [C, L]. */
DYNC_API dync_tensor *(dync_conv1d)(dync_tensor *input, dync_tensor *weight, dync_tensor *bias,
    dync_dims stride, dync_dims padding, dync_dims dilation, int groups);
#define dync_conv1d(...) \
    DYNC_TAKES_7(DYNC_conv1d, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_conv1d takes 7 arguments: input, weight, bias, stride, padding, dilation, " \
    "groups", __VA_ARGS__)
#define DYNC_conv1d(text_, input, weight, bias, stride, padding, dilation, groups) \
    DYNC_SEQ2_AND(dync_conv1d, dync__op_1TTOdddi, DYNC__OP_conv1d, DYNC_T(input, \
    "dync_conv1d: input"), DYNC_T(weight, "dync_conv1d: weight"), bias, DYNC_D(stride, \
    "dync_conv1d: stride"), DYNC_D(padding, "dync_conv1d: padding"), DYNC_D(dilation, \
    "dync_conv1d: dilation"), groups)
/* dync_conv_transpose2d: the gradient of conv2d as an operator: enlarges [N, C, H, W] or [C, H,
 * W]; weight [C, out / groups, KH, KW]. */
DYNC_API dync_tensor *(dync_conv_transpose2d)(dync_tensor *input, dync_tensor *weight,
    dync_tensor *bias, dync_dims stride, dync_dims padding, dync_dims output_padding, int groups,
    dync_dims dilation);
#define dync_conv_transpose2d(...) \
    DYNC_TAKES_8(DYNC_conv_transpose2d, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_conv_transpose2d takes 8 arguments: input, weight, bias, stride, padding, " \
    "output_padding, groups, dilation", __VA_ARGS__)
#define DYNC_conv_transpose2d(text_, input, weight, bias, stride, padding, output_padding, \
    groups, dilation) \
    DYNC_SEQ2_AND(dync_conv_transpose2d, dync__op_1TTOdddid, DYNC__OP_conv_transpose2d, \
    DYNC_T(input, "dync_conv_transpose2d: input"), DYNC_T(weight, \
    "dync_conv_transpose2d: weight"), bias, DYNC_D(stride, "dync_conv_transpose2d: stride"), \
    DYNC_D(padding, "dync_conv_transpose2d: padding"), DYNC_D(output_padding, \
    "dync_conv_transpose2d: output_padding"), groups, DYNC_D(dilation, \
    "dync_conv_transpose2d: dilation"))
/* dync_group_norm: normalises over groups of channels and all that follows. */
DYNC_API dync_tensor *(dync_group_norm)(dync_tensor *input, int64_t num_groups,
    dync_tensor *weight, dync_tensor *bias, dync_real eps);
#define dync_group_norm(...) \
    DYNC_TAKES_5(DYNC_group_norm, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_group_norm takes 5 arguments: input, num_groups, weight, bias, eps", \
    __VA_ARGS__)
#define DYNC_group_norm(text_, input, num_groups, weight, bias, eps) \
    DYNC_OP(dync_group_norm, dync__op_1TlOOf, DYNC__OP_group_norm, DYNC_T(input, \
    "dync_group_norm: input"), num_groups, weight, bias, eps)
/* dync_instance_norm: normalises each channel of each sample. */
DYNC_API dync_tensor *(dync_instance_norm)(dync_tensor *input, dync_tensor *weight,
    dync_tensor *bias, dync_real eps);
#define dync_instance_norm(...) \
    DYNC_TAKES_4(DYNC_instance_norm, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_instance_norm takes 4 arguments: input, weight, bias, eps", __VA_ARGS__)
#define DYNC_instance_norm(text_, input, weight, bias, eps) \
    DYNC_OP(dync_instance_norm, dync__op_1TOOf, DYNC__OP_instance_norm, DYNC_T(input, \
    "dync_instance_norm: input"), weight, bias, eps)
/* dync_rms_norm: input over the root of its mean square over the trailing dims; eps none: that of
 * the dtype. */
DYNC_API dync_tensor *(dync_rms_norm)(dync_tensor *input, dync_dims normalized_shape,
    dync_tensor *weight, dync_value eps);
#define dync_rms_norm(...) \
    DYNC_TAKES_4(DYNC_rms_norm, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_rms_norm takes 4 arguments: input, normalized_shape, weight, eps", \
    __VA_ARGS__)
#define DYNC_rms_norm(text_, input, normalized_shape, weight, eps) \
    DYNC_OP_DIMS(dync_rms_norm, dync__op_1TdOV, DYNC__OP_rms_norm, DYNC_T(input, \
    "dync_rms_norm: input"), DYNC_D_OF(normalized_shape, "dync_rms_norm: normalized_shape"), \
    weight, DYNC_V(eps))
/* dync_scaled_dot_product_attention: softmax(query @ key^T * scale) @ value; a bool mask says
 * what may be seen, a float one is added; scale none: 1 / sqrt(width). */
DYNC_API dync_tensor *(dync_scaled_dot_product_attention)(dync_tensor *query, dync_tensor *key,
    dync_tensor *value, dync_tensor *attn_mask, dync_real dropout_p, bool is_causal,
    dync_value scale);
#define dync_scaled_dot_product_attention(...) \
    DYNC_TAKES_7(DYNC_scaled_dot_product_attention, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_scaled_dot_product_attention takes 7 arguments: query, key, value, " \
    "attn_mask, dropout_p, is_causal, scale", __VA_ARGS__)
#define DYNC_scaled_dot_product_attention(text_, query, key, value, attn_mask, dropout_p, \
    is_causal, scale) \
    DYNC_SEQ3_AND(dync_scaled_dot_product_attention, dync__op_1TTTOfbV, \
    DYNC__OP_scaled_dot_product_attention, DYNC_T(query, \
    "dync_scaled_dot_product_attention: query"), DYNC_T(key, \
    "dync_scaled_dot_product_attention: key"), DYNC_T(value, \
    "dync_scaled_dot_product_attention: value"), attn_mask, dropout_p, is_causal, DYNC_V(scale))
/* dync_pixel_shuffle: [.., C r r, H, W] as [.., C, H r, W r]. */
DYNC_API dync_tensor *(dync_pixel_shuffle)(dync_tensor *self, int64_t upscale_factor);
#define dync_pixel_shuffle(...) \
    DYNC_TAKES_2(DYNC_pixel_shuffle, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_pixel_shuffle takes 2 arguments: self, upscale_factor", __VA_ARGS__)
#define DYNC_pixel_shuffle(text_, self, upscale_factor) \
    DYNC_OP(dync_pixel_shuffle, dync__op_1Tl, DYNC__OP_pixel_shuffle, DYNC_T(self, \
    "dync_pixel_shuffle: self"), upscale_factor)
/* dync_upsample_nearest2d: [N, C, H, W] in another size, by the nearest element. */
DYNC_API dync_tensor *(dync_upsample_nearest2d)(dync_tensor *self, dync_dims output_size);
#define dync_upsample_nearest2d(...) \
    DYNC_TAKES_2(DYNC_upsample_nearest2d, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_upsample_nearest2d takes 2 arguments: self, output_size", __VA_ARGS__)
#define DYNC_upsample_nearest2d(text_, self, output_size) \
    DYNC_OP_DIMS(dync_upsample_nearest2d, dync__op_1Td, DYNC__OP_upsample_nearest2d, \
    DYNC_T(self, "dync_upsample_nearest2d: self"), DYNC_D_OF(output_size, \
    "dync_upsample_nearest2d: output_size"))
/* dync_pad: value (none: 0) around self: before and after the last dim, then the one before it;
 * negative numbers cut off. */
DYNC_API dync_tensor *(dync_pad)(dync_tensor *self, dync_dims pad, dync_value value);
#define dync_pad(...) \
    DYNC_TAKES_3(DYNC_pad, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_pad takes 3 arguments: self, pad, value", __VA_ARGS__)
#define DYNC_pad(text_, self, pad, value) \
    DYNC_OP_DIMS(dync_pad, dync__op_1TdV, DYNC__OP_pad, DYNC_T(self, "dync_pad: self"), \
    DYNC_D_OF(pad, "dync_pad: pad"), DYNC_V(value))
/* dync_movedim: dims of source at the places of destination, the others in their order. */
DYNC_API dync_tensor *(dync_movedim)(dync_tensor *self, dync_dims source, dync_dims destination);
#define dync_movedim(...) \
    DYNC_TAKES_3(DYNC_movedim, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_movedim takes 3 arguments: self, source, destination", __VA_ARGS__)
#define DYNC_movedim(text_, self, source, destination) \
    DYNC_OP_DIMS(dync_movedim, dync__op_1Tdd, DYNC__OP_movedim, DYNC_T(self, \
    "dync_movedim: self"), DYNC_D_OF(source, "dync_movedim: source"), DYNC_D_OF(destination, \
    "dync_movedim: destination"))
/* dync_unfold: windows of dim as a new last dim, without copying. */
DYNC_API dync_tensor *(dync_unfold)(dync_tensor *self, int dim, int64_t size, int64_t step);
#define dync_unfold(...) \
    DYNC_TAKES_4(DYNC_unfold, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_unfold takes 4 arguments: self, dim, size, step", __VA_ARGS__)
#define DYNC_unfold(text_, self, dim, size, step) \
    DYNC_OP(dync_unfold, dync__op_1Till, DYNC__OP_unfold, DYNC_T(self, "dync_unfold: self"), \
    dim, size, step)
/* dync_huber_loss: squared below delta, linear above; the mean. */
DYNC_API dync_tensor *(dync_huber_loss)(dync_tensor *self, dync_tensor *target, dync_real delta);
#define dync_huber_loss(...) \
    DYNC_TAKES_3(DYNC_huber_loss, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_huber_loss takes 3 arguments: self, target, delta", __VA_ARGS__)
#define DYNC_huber_loss(text_, self, target, delta) \
    DYNC_SEQ2_AND(dync_huber_loss, dync__op_1TTf, DYNC__OP_huber_loss, DYNC_T(self, \
    "dync_huber_loss: self"), DYNC_T(target, "dync_huber_loss: target"), delta)
/* dync_kl_div: the mean of target * (log target - self); self is a logarithm. */
DYNC_API dync_tensor *(dync_kl_div)(dync_tensor *self, dync_tensor *target, bool log_target);
#define dync_kl_div(...) \
    DYNC_TAKES_3(DYNC_kl_div, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_kl_div takes 3 arguments: self, target, log_target", __VA_ARGS__)
#define DYNC_kl_div(text_, self, target, log_target) \
    DYNC_SEQ2_AND(dync_kl_div, dync__op_1TTb, DYNC__OP_kl_div, DYNC_T(self, \
    "dync_kl_div: self"), DYNC_T(target, "dync_kl_div: target"), log_target)
/* dync_binary_cross_entropy: the mean of -(target log self + (1 - target) log(1 - self)), logs
 * held >= -100. */
DYNC_API dync_tensor *(dync_binary_cross_entropy)(dync_tensor *self, dync_tensor *target);
#define dync_binary_cross_entropy(...) \
    DYNC_TAKES_2(DYNC_binary_cross_entropy, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_binary_cross_entropy takes 2 arguments: self, target", __VA_ARGS__)
#define DYNC_binary_cross_entropy(text_, self, target) \
    DYNC_SEQ2(dync_binary_cross_entropy, dync__op_1TT, DYNC__OP_binary_cross_entropy, \
    DYNC_T(self, "dync_binary_cross_entropy: self"), DYNC_T(target, \
    "dync_binary_cross_entropy: target"))
/* dync_binary_cross_entropy_with_logits: binary_cross_entropy of sigmoid(self), without overflow.
 * */
DYNC_API dync_tensor *(dync_binary_cross_entropy_with_logits)(dync_tensor *self,
    dync_tensor *target);
#define dync_binary_cross_entropy_with_logits(...) \
    DYNC_TAKES_2(DYNC_binary_cross_entropy_with_logits, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_binary_cross_entropy_with_logits takes 2 arguments: self, target", \
    __VA_ARGS__)
#define DYNC_binary_cross_entropy_with_logits(text_, self, target) \
    DYNC_SEQ2(dync_binary_cross_entropy_with_logits, dync__op_1TT, \
    DYNC__OP_binary_cross_entropy_with_logits, DYNC_T(self, \
    "dync_binary_cross_entropy_with_logits: self"), DYNC_T(target, \
    "dync_binary_cross_entropy_with_logits: target"))
/* dync_cross_entropy: the mean of -log_softmax(self)[target]; classes on dim 1; target -100 is
 * left out; or target holds a share for each class. */
DYNC_API dync_tensor *(dync_cross_entropy)(dync_tensor *self, dync_tensor *target);
#define dync_cross_entropy(...) \
    DYNC_TAKES_2(DYNC_cross_entropy, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_cross_entropy takes 2 arguments: self, target", __VA_ARGS__)
#define DYNC_cross_entropy(text_, self, target) \
    DYNC_SEQ2(dync_cross_entropy, dync__op_1TT, DYNC__OP_cross_entropy, DYNC_T(self, \
    "dync_cross_entropy: self"), DYNC_T(target, "dync_cross_entropy: target"))
/* dync_l1_loss: the mean of abs(self - target). */
DYNC_API dync_tensor *(dync_l1_loss)(dync_tensor *self, dync_tensor *target);
#define dync_l1_loss(...) \
    DYNC_TAKES_2(DYNC_l1_loss, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_l1_loss takes 2 arguments: self, target", __VA_ARGS__)
#define DYNC_l1_loss(text_, self, target) \
    DYNC_SEQ2(dync_l1_loss, dync__op_1TT, DYNC__OP_l1_loss, DYNC_T(self, "dync_l1_loss: self"), \
    DYNC_T(target, "dync_l1_loss: target"))
/* dync_mse_loss: the mean of (self - target) ** 2. */
DYNC_API dync_tensor *(dync_mse_loss)(dync_tensor *self, dync_tensor *target);
#define dync_mse_loss(...) \
    DYNC_TAKES_2(DYNC_mse_loss, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_mse_loss takes 2 arguments: self, target", __VA_ARGS__)
#define DYNC_mse_loss(text_, self, target) \
    DYNC_SEQ2(dync_mse_loss, dync__op_1TT, DYNC__OP_mse_loss, DYNC_T(self, \
    "dync_mse_loss: self"), DYNC_T(target, "dync_mse_loss: target"))
/* dync_nll_loss: the mean of -self[target]; classes on dim 1; target -100 is left out. */
DYNC_API dync_tensor *(dync_nll_loss)(dync_tensor *self, dync_tensor *target);
#define dync_nll_loss(...) \
    DYNC_TAKES_2(DYNC_nll_loss, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_nll_loss takes 2 arguments: self, target", __VA_ARGS__)
#define DYNC_nll_loss(text_, self, target) \
    DYNC_SEQ2(dync_nll_loss, dync__op_1TT, DYNC__OP_nll_loss, DYNC_T(self, \
    "dync_nll_loss: self"), DYNC_T(target, "dync_nll_loss: target"))
/* dync_smooth_l1_loss: squared below beta, absolute above; the mean. */
DYNC_API dync_tensor *(dync_smooth_l1_loss)(dync_tensor *self, dync_tensor *target, dync_real beta);
#define dync_smooth_l1_loss(...) \
    DYNC_TAKES_3(DYNC_smooth_l1_loss, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_smooth_l1_loss takes 3 arguments: self, target, beta", __VA_ARGS__)
#define DYNC_smooth_l1_loss(text_, self, target, beta) \
    DYNC_SEQ2_AND(dync_smooth_l1_loss, dync__op_1TTf, DYNC__OP_smooth_l1_loss, DYNC_T(self, \
    "dync_smooth_l1_loss: self"), DYNC_T(target, "dync_smooth_l1_loss: target"), beta)
/* dync_affine_grid: the places theta [N, 2, 3] sends an image of that size [N, C, H, W] to, for
 * grid_sample; [N, 3, 4] for three dims. */
DYNC_API dync_tensor *(dync_affine_grid)(dync_tensor *theta, dync_dims size, bool align_corners);
#define dync_affine_grid(...) \
    DYNC_TAKES_3(DYNC_affine_grid, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_affine_grid takes 3 arguments: theta, size, align_corners", __VA_ARGS__)
#define DYNC_affine_grid(text_, theta, size, align_corners) \
    DYNC_OP_DIMS(dync_affine_grid, dync__op_1Tdb, DYNC__OP_affine_grid, DYNC_T(theta, \
    "dync_affine_grid: theta"), DYNC_D_OF(size, "dync_affine_grid: size"), align_corners)
/* dync_col2im: columns of windows [N, C * kernel, windows] added up to images: PyTorch's F.fold. */
DYNC_API dync_tensor *(dync_col2im)(dync_tensor *self, dync_dims output_size,
    dync_dims kernel_size, dync_dims dilation, dync_dims padding, dync_dims stride);
#define dync_col2im(...) \
    DYNC_TAKES_6(DYNC_col2im, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_col2im takes 6 arguments: self, output_size, kernel_size, dilation, " \
    "padding, stride", __VA_ARGS__)
#define DYNC_col2im(text_, self, output_size, kernel_size, dilation, padding, stride) \
    DYNC_OP_DIMS(dync_col2im, dync__op_1Tddddd, DYNC__OP_col2im, DYNC_T(self, \
    "dync_col2im: self"), DYNC_D_OF(output_size, "dync_col2im: output_size"), \
    DYNC_D_OF(kernel_size, "dync_col2im: kernel_size"), DYNC_D_OF(dilation, \
    "dync_col2im: dilation"), DYNC_D_OF(padding, "dync_col2im: padding"), DYNC_D_OF(stride, \
    "dync_col2im: stride"))
/* dync_deform_conv2d: conv2d whose windows read where offsets move them, times a mask; as
 * torchvision.ops. */
DYNC_API dync_tensor *(dync_deform_conv2d)(dync_tensor *input, dync_tensor *offset,
    dync_tensor *weight, dync_tensor *bias, dync_dims stride, dync_dims padding,
    dync_dims dilation, dync_tensor *mask);
#define dync_deform_conv2d(...) \
    DYNC_TAKES_8(DYNC_deform_conv2d, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_deform_conv2d takes 8 arguments: input, offset, weight, bias, stride, " \
    "padding, dilation, mask", __VA_ARGS__)
#define DYNC_deform_conv2d(text_, input, offset, weight, bias, stride, padding, dilation, mask) \
    DYNC_SEQ3_AND(dync_deform_conv2d, dync__op_1TTTOdddO, DYNC__OP_deform_conv2d, DYNC_T(input, \
    "dync_deform_conv2d: input"), DYNC_T(offset, "dync_deform_conv2d: offset"), DYNC_T(weight, \
    "dync_deform_conv2d: weight"), bias, DYNC_D(stride, "dync_deform_conv2d: stride"), \
    DYNC_D(padding, "dync_deform_conv2d: padding"), DYNC_D(dilation, \
    "dync_deform_conv2d: dilation"), mask)
/* dync_fft_fft: the Fourier transform along dim of pairs [.., 2] (real, imaginary), which are no
 * dim of their own; cut or padded to n, none: as long as it is. */
DYNC_API dync_tensor *(dync_fft_fft)(dync_tensor *self, dync_value n, int dim);
#define dync_fft_fft(...) \
    DYNC_TAKES_3(DYNC_fft_fft, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_fft_fft takes 3 arguments: self, n, dim", __VA_ARGS__)
#define DYNC_fft_fft(text_, self, n, dim) \
    DYNC_OP(dync_fft_fft, dync__op_1TVi, DYNC__OP_fft_fft, DYNC_T(self, "dync_fft_fft: self"), \
    DYNC_V(n), dim)
/* dync_fft_ifft: fft_fft back: over 1 / n of the sum. */
DYNC_API dync_tensor *(dync_fft_ifft)(dync_tensor *self, dync_value n, int dim);
#define dync_fft_ifft(...) \
    DYNC_TAKES_3(DYNC_fft_ifft, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_fft_ifft takes 3 arguments: self, n, dim", __VA_ARGS__)
#define DYNC_fft_ifft(text_, self, n, dim) \
    DYNC_OP(dync_fft_ifft, dync__op_1TVi, DYNC__OP_fft_ifft, DYNC_T(self, \
    "dync_fft_ifft: self"), DYNC_V(n), dim)
/* dync_fft_irfft: fft_rfft back: n real numbers from the n / 2 + 1 first pairs; n none: twice
 * their number less 2. */
DYNC_API dync_tensor *(dync_fft_irfft)(dync_tensor *self, dync_value n, int dim);
#define dync_fft_irfft(...) \
    DYNC_TAKES_3(DYNC_fft_irfft, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_fft_irfft takes 3 arguments: self, n, dim", __VA_ARGS__)
#define DYNC_fft_irfft(text_, self, n, dim) \
    DYNC_OP(dync_fft_irfft, dync__op_1TVi, DYNC__OP_fft_irfft, DYNC_T(self, \
    "dync_fft_irfft: self"), DYNC_V(n), dim)
/* dync_fft_rfft: the Fourier transform along dim of real numbers: its n / 2 + 1 first results as
 * pairs [.., 2]. */
DYNC_API dync_tensor *(dync_fft_rfft)(dync_tensor *self, dync_value n, int dim);
#define dync_fft_rfft(...) \
    DYNC_TAKES_3(DYNC_fft_rfft, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_fft_rfft takes 3 arguments: self, n, dim", __VA_ARGS__)
#define DYNC_fft_rfft(text_, self, n, dim) \
    DYNC_OP(dync_fft_rfft, dync__op_1TVi, DYNC__OP_fft_rfft, DYNC_T(self, \
    "dync_fft_rfft: self"), DYNC_V(n), dim)
/* dync_grid_sample: input [N, C, H, W] read at the places of grid [N, H', W', 2], x before y,
 * from -1 to 1; mode "bilinear", "nearest" or "bicubic", padding_mode "zeros", "border" or
 * "reflection"; one to three dims. */
DYNC_API dync_tensor *(dync_grid_sample)(dync_tensor *input, dync_tensor *grid, const char *mode,
    const char *padding_mode, bool align_corners);
#define dync_grid_sample(...) \
    DYNC_TAKES_5(DYNC_grid_sample, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_grid_sample takes 5 arguments: input, grid, mode, padding_mode, " \
    "align_corners", __VA_ARGS__)
#define DYNC_grid_sample(text_, input, grid, mode, padding_mode, align_corners) \
    DYNC_SEQ2_AND(dync_grid_sample, dync__op_1TTssb, DYNC__OP_grid_sample, DYNC_T(input, \
    "dync_grid_sample: input"), DYNC_T(grid, "dync_grid_sample: grid"), mode, padding_mode, \
    align_corners)
/* dync_im2col: what each window of [N, C, H, W] reads, as columns [N, C * kernel, windows]:
 * PyTorch's F.unfold. */
DYNC_API dync_tensor *(dync_im2col)(dync_tensor *self, dync_dims kernel_size, dync_dims dilation,
    dync_dims padding, dync_dims stride);
#define dync_im2col(...) \
    DYNC_TAKES_5(DYNC_im2col, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_im2col takes 5 arguments: self, kernel_size, dilation, padding, stride", \
    __VA_ARGS__)
#define DYNC_im2col(text_, self, kernel_size, dilation, padding, stride) \
    DYNC_OP_DIMS(dync_im2col, dync__op_1Tdddd, DYNC__OP_im2col, DYNC_T(self, \
    "dync_im2col: self"), DYNC_D_OF(kernel_size, "dync_im2col: kernel_size"), \
    DYNC_D_OF(dilation, "dync_im2col: dilation"), DYNC_D_OF(padding, "dync_im2col: padding"), \
    DYNC_D_OF(stride, "dync_im2col: stride"))
/* dync_lp_pool2d: the root of the sum of powers over windows; an empty stride is the kernel size.
 * */
DYNC_API dync_tensor *(dync_lp_pool2d)(dync_tensor *self, dync_real norm_type,
    dync_dims kernel_size, dync_dims stride, bool ceil_mode);
#define dync_lp_pool2d(...) \
    DYNC_TAKES_5(DYNC_lp_pool2d, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_lp_pool2d takes 5 arguments: self, norm_type, kernel_size, stride, " \
    "ceil_mode", __VA_ARGS__)
#define DYNC_lp_pool2d(text_, self, norm_type, kernel_size, stride, ceil_mode) \
    DYNC_OP_DIMS(dync_lp_pool2d, dync__op_1Tfddb, DYNC__OP_lp_pool2d, DYNC_T(self, \
    "dync_lp_pool2d: self"), norm_type, DYNC_D_OF(kernel_size, "dync_lp_pool2d: kernel_size"), \
    DYNC_D_OF(stride, "dync_lp_pool2d: stride"), ceil_mode)
/* dync_max_unpool2d: each element at the place that max_pool2d_with_indices took it from, zeros
 * elsewhere. */
DYNC_API dync_tensor *(dync_max_unpool2d)(dync_tensor *self, dync_tensor *indices,
    dync_dims output_size);
#define dync_max_unpool2d(...) \
    DYNC_TAKES_3(DYNC_max_unpool2d, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_max_unpool2d takes 3 arguments: self, indices, output_size", __VA_ARGS__)
#define DYNC_max_unpool2d(text_, self, indices, output_size) \
    DYNC_SEQ2_AND(dync_max_unpool2d, dync__op_1TTd, DYNC__OP_max_unpool2d, DYNC_T(self, \
    "dync_max_unpool2d: self"), DYNC_T(indices, "dync_max_unpool2d: indices"), \
    DYNC_D(output_size, "dync_max_unpool2d: output_size"))
/* dync_nms: which boxes [N, 4] of x1 y1 x2 y2 stay, best first: none that overlaps a better one
 * by more. No gradient. The shape depends on data: a graph break. */
DYNC_API dync_tensor *(dync_nms)(dync_tensor *boxes, dync_tensor *scores, dync_real iou_threshold);
#define dync_nms(...) \
    DYNC_TAKES_3(DYNC_nms, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_nms takes 3 arguments: boxes, scores, iou_threshold", __VA_ARGS__)
#define DYNC_nms(text_, boxes, scores, iou_threshold) \
    DYNC_SEQ2_AND(dync_nms, dync__op_1TTf, DYNC__OP_nms, DYNC_T(boxes, "dync_nms: boxes"), \
    DYNC_T(scores, "dync_nms: scores"), iou_threshold)
/* dync_roi_align: means of sampling_ratio^2 samples for each of the output's places of boxes [K,
 * 5] (image, x1 y1 x2 y2); as torchvision.ops, but for a sampling_ratio that follows from the
 * boxes. */
DYNC_API dync_tensor *(dync_roi_align)(dync_tensor *input, dync_tensor *boxes,
    dync_dims output_size, dync_real spatial_scale, int64_t sampling_ratio, bool aligned);
#define dync_roi_align(...) \
    DYNC_TAKES_6(DYNC_roi_align, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_roi_align takes 6 arguments: input, boxes, output_size, spatial_scale, " \
    "sampling_ratio, aligned", __VA_ARGS__)
#define DYNC_roi_align(text_, input, boxes, output_size, spatial_scale, sampling_ratio, aligned) \
    DYNC_SEQ2_AND(dync_roi_align, dync__op_1TTdflb, DYNC__OP_roi_align, DYNC_T(input, \
    "dync_roi_align: input"), DYNC_T(boxes, "dync_roi_align: boxes"), DYNC_D(output_size, \
    "dync_roi_align: output_size"), spatial_scale, sampling_ratio, aligned)
/* dync_stft: Fourier transforms of overlapping frames of [B, L], times the window: pairs [B,
 * bins, frames, 2]; frames begin at 0 (center=False). */
DYNC_API dync_tensor *(dync_stft)(dync_tensor *self, int64_t n_fft, int64_t hop_length,
    dync_tensor *window, bool onesided);
#define dync_stft(...) \
    DYNC_TAKES_5(DYNC_stft, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_stft takes 5 arguments: self, n_fft, hop_length, window, onesided", \
    __VA_ARGS__)
#define DYNC_stft(text_, self, n_fft, hop_length, window, onesided) \
    DYNC_OP(dync_stft, dync__op_1TllOb, DYNC__OP_stft, DYNC_T(self, "dync_stft: self"), n_fft, \
    hop_length, window, onesided)
/* dync_upsample_bicubic2d: [N, C, H, W] in another size, by cubic polynomials. */
DYNC_API dync_tensor *(dync_upsample_bicubic2d)(dync_tensor *self, dync_dims output_size,
    bool align_corners);
#define dync_upsample_bicubic2d(...) \
    DYNC_TAKES_3(DYNC_upsample_bicubic2d, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_upsample_bicubic2d takes 3 arguments: self, output_size, align_corners", \
    __VA_ARGS__)
#define DYNC_upsample_bicubic2d(text_, self, output_size, align_corners) \
    DYNC_OP_DIMS(dync_upsample_bicubic2d, dync__op_1Tdb, DYNC__OP_upsample_bicubic2d, \
    DYNC_T(self, "dync_upsample_bicubic2d: self"), DYNC_D_OF(output_size, \
    "dync_upsample_bicubic2d: output_size"), align_corners)
/* dync_upsample_bilinear2d: [N, C, H, W] in another size, by straight lines. */
DYNC_API dync_tensor *(dync_upsample_bilinear2d)(dync_tensor *self, dync_dims output_size,
    bool align_corners);
#define dync_upsample_bilinear2d(...) \
    DYNC_TAKES_3(DYNC_upsample_bilinear2d, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_upsample_bilinear2d takes 3 arguments: self, output_size, align_corners", \
    __VA_ARGS__)
#define DYNC_upsample_bilinear2d(text_, self, output_size, align_corners) \
    DYNC_OP_DIMS(dync_upsample_bilinear2d, dync__op_1Tdb, DYNC__OP_upsample_bilinear2d, \
    DYNC_T(self, "dync_upsample_bilinear2d: self"), DYNC_D_OF(output_size, \
    "dync_upsample_bilinear2d: output_size"), align_corners)
/* dync_upsample_linear1d: [N, C, L] in another size, by straight lines. */
DYNC_API dync_tensor *(dync_upsample_linear1d)(dync_tensor *self, dync_dims output_size,
    bool align_corners);
#define dync_upsample_linear1d(...) \
    DYNC_TAKES_3(DYNC_upsample_linear1d, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_upsample_linear1d takes 3 arguments: self, output_size, align_corners", \
    __VA_ARGS__)
#define DYNC_upsample_linear1d(text_, self, output_size, align_corners) \
    DYNC_OP_DIMS(dync_upsample_linear1d, dync__op_1Tdb, DYNC__OP_upsample_linear1d, DYNC_T(self, \
    "dync_upsample_linear1d: self"), DYNC_D_OF(output_size, \
    "dync_upsample_linear1d: output_size"), align_corners)
/* dync_upsample_trilinear3d: [N, C, D, H, W] in another size, by straight lines. */
DYNC_API dync_tensor *(dync_upsample_trilinear3d)(dync_tensor *self, dync_dims output_size,
    bool align_corners);
#define dync_upsample_trilinear3d(...) \
    DYNC_TAKES_3(DYNC_upsample_trilinear3d, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_upsample_trilinear3d takes 3 arguments: self, output_size, " \
    "align_corners", __VA_ARGS__)
#define DYNC_upsample_trilinear3d(text_, self, output_size, align_corners) \
    DYNC_OP_DIMS(dync_upsample_trilinear3d, dync__op_1Tdb, DYNC__OP_upsample_trilinear3d, \
    DYNC_T(self, "dync_upsample_trilinear3d: self"), DYNC_D_OF(output_size, \
    "dync_upsample_trilinear3d: output_size"), align_corners)
/* dync_as_strided: any sizes, strides and offset over the storage, which they must not leave. A
 * view: shares self's memory. */
DYNC_API dync_tensor *(dync_as_strided)(dync_tensor *self, dync_dims size, dync_dims stride,
    int64_t storage_offset);
#define dync_as_strided(...) \
    DYNC_TAKES_4(DYNC_as_strided, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_as_strided takes 4 arguments: self, size, stride, storage_offset", \
    __VA_ARGS__)
#define DYNC_as_strided(text_, self, size, stride, storage_offset) \
    DYNC_OP_DIMS(dync_as_strided, dync__op_1Tddl, DYNC__OP_as_strided, DYNC_T(self, \
    "dync_as_strided: self"), DYNC_D_OF(size, "dync_as_strided: size"), DYNC_D_OF(stride, \
    "dync_as_strided: stride"), storage_offset)
/* dync_contiguous: self if it is row major, else a copy that is. */
DYNC_API dync_tensor *(dync_contiguous)(dync_tensor *self);
#define dync_contiguous(...) \
    DYNC_TAKES_1(DYNC_contiguous, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_contiguous takes 1 argument: self", __VA_ARGS__)
#define DYNC_contiguous(text_, self) \
    DYNC_OP(dync_contiguous, dync__op_1T, DYNC__OP_contiguous, DYNC_T(self, \
    "dync_contiguous: self"))
/* dync_diagonal: the diagonal of two dims, as the last one. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_diagonal)(dync_tensor *self, int offset, int dim1, int dim2);
#define dync_diagonal(...) \
    DYNC_TAKES_4(DYNC_diagonal, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_diagonal takes 4 arguments: self, offset, dim1, dim2", __VA_ARGS__)
#define DYNC_diagonal(text_, self, offset, dim1, dim2) \
    DYNC_OP(dync_diagonal, dync__op_1Tiii, DYNC__OP_diagonal, DYNC_T(self, \
    "dync_diagonal: self"), offset, dim1, dim2)
/* dync_expand: repeats dims of size 1 without copying; -1 keeps a size. A view: shares self's
 * memory. */
DYNC_API dync_tensor *(dync_expand)(dync_tensor *self, dync_dims size);
#define dync_expand(...) \
    DYNC_TAKES_2(DYNC_expand, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_expand takes 2 arguments: self, size", __VA_ARGS__)
#define DYNC_expand(text_, self, size) \
    DYNC_OP_DIMS(dync_expand, dync__op_1Td, DYNC__OP_expand, DYNC_T(self, "dync_expand: self"), \
    DYNC_D_OF(size, "dync_expand: size"))
/* dync_expand_as: expand to the shape of other. */
DYNC_API dync_tensor *(dync_expand_as)(dync_tensor *self, dync_tensor *other);
#define dync_expand_as(...) \
    DYNC_TAKES_2(DYNC_expand_as, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_expand_as takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_expand_as(text_, self, other) \
    DYNC_SEQ2(dync_expand_as, dync__op_1TT, DYNC__OP_expand_as, DYNC_T(self, \
    "dync_expand_as: self"), DYNC_T(other, "dync_expand_as: other"))
/* dync_flatten: the dims from start to end as one. */
DYNC_API dync_tensor *(dync_flatten)(dync_tensor *self, int start_dim, int end_dim);
#define dync_flatten(...) \
    DYNC_TAKES_3(DYNC_flatten, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_flatten takes 3 arguments: self, start_dim, end_dim", __VA_ARGS__)
#define DYNC_flatten(text_, self, start_dim, end_dim) \
    DYNC_OP(dync_flatten, dync__op_1Tii, DYNC__OP_flatten, DYNC_T(self, "dync_flatten: self"), \
    start_dim, end_dim)
/* dync_narrow: length places of dim, from start on. */
DYNC_API dync_tensor *(dync_narrow)(dync_tensor *self, int dim, int64_t start, int64_t length);
#define dync_narrow(...) \
    DYNC_TAKES_4(DYNC_narrow, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_narrow takes 4 arguments: self, dim, start, length", __VA_ARGS__)
#define DYNC_narrow(text_, self, dim, start, length) \
    DYNC_OP(dync_narrow, dync__op_1Till, DYNC__OP_narrow, DYNC_T(self, "dync_narrow: self"), \
    dim, start, length)
/* dync_permute: dims in a new order. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_permute)(dync_tensor *self, dync_dims dims);
#define dync_permute(...) \
    DYNC_TAKES_2(DYNC_permute, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_permute takes 2 arguments: self, dims", __VA_ARGS__)
#define DYNC_permute(text_, self, dims) \
    DYNC_OP_DIMS(dync_permute, dync__op_1Td, DYNC__OP_permute, DYNC_T(self, \
    "dync_permute: self"), DYNC_D_OF(dims, "dync_permute: dims"))
/* dync_reshape: a view of another shape where strides allow, else a copy; one -1 is inferred. */
DYNC_API dync_tensor *(dync_reshape)(dync_tensor *self, dync_dims shape);
#define dync_reshape(...) \
    DYNC_TAKES_2(DYNC_reshape, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_reshape takes 2 arguments: self, shape", __VA_ARGS__)
#define DYNC_reshape(text_, self, shape) \
    DYNC_OP_DIMS(dync_reshape, dync__op_1Td, DYNC__OP_reshape, DYNC_T(self, \
    "dync_reshape: self"), DYNC_D_OF(shape, "dync_reshape: shape"))
/* dync_select: one place of dim, which goes away. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_select)(dync_tensor *self, int dim, int64_t index);
#define dync_select(...) \
    DYNC_TAKES_3(DYNC_select, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_select takes 3 arguments: self, dim, index", __VA_ARGS__)
#define DYNC_select(text_, self, dim, index) \
    DYNC_OP(dync_select, dync__op_1Til, DYNC__OP_select, DYNC_T(self, "dync_select: self"), dim, \
    index)
/* dync_slice: self[start:end:step] along dim; DYNC_END leaves the end open. A view: shares self's
 * memory. */
DYNC_API dync_tensor *(dync_slice)(dync_tensor *self, int dim, int64_t start, int64_t end,
    int64_t step);
#define dync_slice(...) \
    DYNC_TAKES_5(DYNC_slice, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_slice takes 5 arguments: self, dim, start, end, step", __VA_ARGS__)
#define DYNC_slice(text_, self, dim, start, end, step) \
    DYNC_OP(dync_slice, dync__op_1Tilll, DYNC__OP_slice, DYNC_T(self, "dync_slice: self"), dim, \
    start, end, step)
/* dync_squeeze: without dim, if its size is 1. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_squeeze)(dync_tensor *self, int dim);
#define dync_squeeze(...) \
    DYNC_TAKES_2(DYNC_squeeze, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_squeeze takes 2 arguments: self, dim", __VA_ARGS__)
#define DYNC_squeeze(text_, self, dim) \
    DYNC_OP(dync_squeeze, dync__op_1Ti, DYNC__OP_squeeze, DYNC_T(self, "dync_squeeze: self"), dim)
/* dync_squeeze_all: without every dim of size 1. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_squeeze_all)(dync_tensor *self);
#define dync_squeeze_all(...) \
    DYNC_TAKES_1(DYNC_squeeze_all, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_squeeze_all takes 1 argument: self", __VA_ARGS__)
#define DYNC_squeeze_all(text_, self) \
    DYNC_OP(dync_squeeze_all, dync__op_1T, DYNC__OP_squeeze_all, DYNC_T(self, \
    "dync_squeeze_all: self"))
/* dync_t: the transpose of a matrix. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_t)(dync_tensor *self);
#define dync_t(...) \
    DYNC_TAKES_1(DYNC_t, DYNC_OTHER_T, __VA_ARGS__)("dync_t takes 1 argument: self", __VA_ARGS__)
#define DYNC_t(text_, self) DYNC_OP(dync_t, dync__op_1T, DYNC__OP_t, DYNC_T(self, "dync_t: self"))
/* dync_transpose: two dims exchanged. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_transpose)(dync_tensor *self, int dim0, int dim1);
#define dync_transpose(...) \
    DYNC_TAKES_3(DYNC_transpose, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_transpose takes 3 arguments: self, dim0, dim1", __VA_ARGS__)
#define DYNC_transpose(text_, self, dim0, dim1) \
    DYNC_OP(dync_transpose, dync__op_1Tii, DYNC__OP_transpose, DYNC_T(self, \
    "dync_transpose: self"), dim0, dim1)
/* dync_unflatten: one dim as several; one -1 is inferred. */
DYNC_API dync_tensor *(dync_unflatten)(dync_tensor *self, int dim, dync_dims sizes);
#define dync_unflatten(...) \
    DYNC_TAKES_3(DYNC_unflatten, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_unflatten takes 3 arguments: self, dim, sizes", __VA_ARGS__)
#define DYNC_unflatten(text_, self, dim, sizes) \
    DYNC_OP_DIMS(dync_unflatten, dync__op_1Tid, DYNC__OP_unflatten, DYNC_T(self, \
    "dync_unflatten: self"), dim, DYNC_D_OF(sizes, "dync_unflatten: sizes"))
/* dync_unsqueeze: a new dim of size 1. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_unsqueeze)(dync_tensor *self, int dim);
#define dync_unsqueeze(...) \
    DYNC_TAKES_2(DYNC_unsqueeze, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_unsqueeze takes 2 arguments: self, dim", __VA_ARGS__)
#define DYNC_unsqueeze(text_, self, dim) \
    DYNC_OP(dync_unsqueeze, dync__op_1Ti, DYNC__OP_unsqueeze, DYNC_T(self, \
    "dync_unsqueeze: self"), dim)
/* dync_view: another shape of the same elements, without copying; one -1 is inferred. A view:
 * shares self's memory. */
DYNC_API dync_tensor *(dync_view)(dync_tensor *self, dync_dims size);
#define dync_view(...) \
    DYNC_TAKES_2(DYNC_view, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_view takes 2 arguments: self, size", __VA_ARGS__)
#define DYNC_view(text_, self, size) \
    DYNC_OP_DIMS(dync_view, dync__op_1Td, DYNC__OP_view, DYNC_T(self, "dync_view: self"), \
    DYNC_D_OF(size, "dync_view: size"))
/* dync_view_as: view in the shape of other. */
DYNC_API dync_tensor *(dync_view_as)(dync_tensor *self, dync_tensor *other);
#define dync_view_as(...) \
    DYNC_TAKES_2(DYNC_view_as, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_view_as takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_view_as(text_, self, other) \
    DYNC_SEQ2(dync_view_as, dync__op_1TT, DYNC__OP_view_as, DYNC_T(self, "dync_view_as: self"), \
    DYNC_T(other, "dync_view_as: other"))
/* dync_argsort: the places that sort self along dim, int64. No gradient. */
DYNC_API dync_tensor *(dync_argsort)(dync_tensor *self, int dim, bool descending);
#define dync_argsort(...) \
    DYNC_TAKES_3(DYNC_argsort, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_argsort takes 3 arguments: self, dim, descending", __VA_ARGS__)
#define DYNC_argsort(text_, self, dim, descending) \
    DYNC_OP(dync_argsort, dync__op_1Tib, DYNC__OP_argsort, DYNC_T(self, "dync_argsort: self"), \
    dim, descending)
/* dync_cat: tensors one after another along dim. */
DYNC_API dync_tensor *(dync_cat)(dync_value tensors, int dim);
#define dync_cat(...) \
    DYNC_TAKES_2(DYNC_cat, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_cat takes 2 arguments: tensors, dim", __VA_ARGS__)
#define DYNC_cat(text_, tensors, dim) \
    DYNC_OP(dync_cat, dync__op_1Li, DYNC__OP_cat, DYNC_V(tensors), dim)
/* dync_clone: a copy. */
DYNC_API dync_tensor *(dync_clone)(dync_tensor *self);
#define dync_clone(...) \
    DYNC_TAKES_1(DYNC_clone, DYNC_OTHER_T, __VA_ARGS__)("dync_clone takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_clone(text_, self) \
    DYNC_OP(dync_clone, dync__op_1T, DYNC__OP_clone, DYNC_T(self, "dync_clone: self"))
/* dync_flip: elements in reverse order along dims. */
DYNC_API dync_tensor *(dync_flip)(dync_tensor *self, dync_dims dims);
#define dync_flip(...) \
    DYNC_TAKES_2(DYNC_flip, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_flip takes 2 arguments: self, dims", __VA_ARGS__)
#define DYNC_flip(text_, self, dims) \
    DYNC_OP_DIMS(dync_flip, dync__op_1Td, DYNC__OP_flip, DYNC_T(self, "dync_flip: self"), \
    DYNC_D_OF(dims, "dync_flip: dims"))
/* dync_gather: out[i][j] = self[index[i][j]][j] for dim 0. */
DYNC_API dync_tensor *(dync_gather)(dync_tensor *self, int dim, dync_tensor *index);
#define dync_gather(...) \
    DYNC_TAKES_3(DYNC_gather, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_gather takes 3 arguments: self, dim, index", __VA_ARGS__)
#define DYNC_gather(text_, self, dim, index) \
    DYNC_OP(dync_gather, dync__op_1TiT, DYNC__OP_gather, DYNC_T(self, "dync_gather: self"), dim, \
    DYNC_T(index, "dync_gather: index"))
/* dync_index_add: self with rows of source added to the rows that index names. */
DYNC_API dync_tensor *(dync_index_add)(dync_tensor *self, int dim, dync_tensor *index,
    dync_tensor *source);
#define dync_index_add(...) \
    DYNC_TAKES_4(DYNC_index_add, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_index_add takes 4 arguments: self, dim, index, source", __VA_ARGS__)
#define DYNC_index_add(text_, self, dim, index, source) \
    DYNC_OP(dync_index_add, dync__op_1TiTT, DYNC__OP_index_add, DYNC_T(self, \
    "dync_index_add: self"), dim, DYNC_T(index, "dync_index_add: index"), DYNC_T(source, \
    "dync_index_add: source"))
/* dync_index_select: the places of dim that the vector index names. */
DYNC_API dync_tensor *(dync_index_select)(dync_tensor *self, int dim, dync_tensor *index);
#define dync_index_select(...) \
    DYNC_TAKES_3(DYNC_index_select, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_index_select takes 3 arguments: self, dim, index", __VA_ARGS__)
#define DYNC_index_select(text_, self, dim, index) \
    DYNC_OP(dync_index_select, dync__op_1TiT, DYNC__OP_index_select, DYNC_T(self, \
    "dync_index_select: self"), dim, DYNC_T(index, "dync_index_select: index"))
/* dync_masked_select: the elements whose mask is set, as a vector. The shape depends on data: a
 * graph break. */
DYNC_API dync_tensor *(dync_masked_select)(dync_tensor *self, dync_tensor *mask);
#define dync_masked_select(...) \
    DYNC_TAKES_2(DYNC_masked_select, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_masked_select takes 2 arguments: self, mask", __VA_ARGS__)
#define DYNC_masked_select(text_, self, mask) \
    DYNC_SEQ2(dync_masked_select, dync__op_1TT, DYNC__OP_masked_select, DYNC_T(self, \
    "dync_masked_select: self"), DYNC_T(mask, "dync_masked_select: mask"))
/* dync_nonzero: the places of elements that are not zero, [count, rank], int64. No gradient. The
 * shape depends on data: a graph break. */
DYNC_API dync_tensor *(dync_nonzero)(dync_tensor *self);
#define dync_nonzero(...) \
    DYNC_TAKES_1(DYNC_nonzero, DYNC_OTHER_T, __VA_ARGS__)("dync_nonzero takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_nonzero(text_, self) \
    DYNC_OP(dync_nonzero, dync__op_1T, DYNC__OP_nonzero, DYNC_T(self, "dync_nonzero: self"))
/* dync_repeat: self tiled along each dim. */
DYNC_API dync_tensor *(dync_repeat)(dync_tensor *self, dync_dims repeats);
#define dync_repeat(...) \
    DYNC_TAKES_2(DYNC_repeat, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_repeat takes 2 arguments: self, repeats", __VA_ARGS__)
#define DYNC_repeat(text_, self, repeats) \
    DYNC_OP_DIMS(dync_repeat, dync__op_1Td, DYNC__OP_repeat, DYNC_T(self, "dync_repeat: self"), \
    DYNC_D_OF(repeats, "dync_repeat: repeats"))
/* dync_roll: elements moved along dims, around the end; without dims over the flattened tensor. */
DYNC_API dync_tensor *(dync_roll)(dync_tensor *self, dync_dims shifts, dync_dims dims);
#define dync_roll(...) \
    DYNC_TAKES_3(DYNC_roll, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_roll takes 3 arguments: self, shifts, dims", __VA_ARGS__)
#define DYNC_roll(text_, self, shifts, dims) \
    DYNC_OP_DIMS(dync_roll, dync__op_1Tdd, DYNC__OP_roll, DYNC_T(self, "dync_roll: self"), \
    DYNC_D_OF(shifts, "dync_roll: shifts"), DYNC_D_OF(dims, "dync_roll: dims"))
/* dync_scatter: self with src written to the places that index names. */
DYNC_API dync_tensor *(dync_scatter)(dync_tensor *self, int dim, dync_tensor *index,
    dync_value src);
#define dync_scatter(...) \
    DYNC_TAKES_4(DYNC_scatter, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_scatter takes 4 arguments: self, dim, index, src", __VA_ARGS__)
#define DYNC_scatter(text_, self, dim, index, src) \
    DYNC_OP(dync_scatter, dync__op_1TiTV, DYNC__OP_scatter, DYNC_T(self, "dync_scatter: self"), \
    dim, DYNC_T(index, "dync_scatter: index"), DYNC_V(src))
/* dync_scatter_add: self with src added at the places that index names. */
DYNC_API dync_tensor *(dync_scatter_add)(dync_tensor *self, int dim, dync_tensor *index,
    dync_tensor *src);
#define dync_scatter_add(...) \
    DYNC_TAKES_4(DYNC_scatter_add, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_scatter_add takes 4 arguments: self, dim, index, src", __VA_ARGS__)
#define DYNC_scatter_add(text_, self, dim, index, src) \
    DYNC_OP(dync_scatter_add, dync__op_1TiTT, DYNC__OP_scatter_add, DYNC_T(self, \
    "dync_scatter_add: self"), dim, DYNC_T(index, "dync_scatter_add: index"), DYNC_T(src, \
    "dync_scatter_add: src"))
/* dync_sort: sorted along dim, equal elements in their order, and the places they came from. A
 * list of 2 tensors. */
DYNC_API dync_value (dync_sort)(dync_tensor *self, int dim, bool descending);
#define dync_sort(...) \
    DYNC_TAKES_3(DYNC_sort, DYNC_OTHER_V, \
    __VA_ARGS__)("dync_sort takes 3 arguments: self, dim, descending", __VA_ARGS__)
#define DYNC_sort(text_, self, dim, descending) \
    DYNC_OP(dync_sort, dync__op_nTib, DYNC__OP_sort, DYNC_T(self, "dync_sort: self"), dim, \
    descending)
/* dync_stack: tensors of one shape along a new dim. */
DYNC_API dync_tensor *(dync_stack)(dync_value tensors, int dim);
#define dync_stack(...) \
    DYNC_TAKES_2(DYNC_stack, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_stack takes 2 arguments: tensors, dim", __VA_ARGS__)
#define DYNC_stack(text_, tensors, dim) \
    DYNC_OP(dync_stack, dync__op_1Li, DYNC__OP_stack, DYNC_V(tensors), dim)
/* dync_take_along_dim: gather with self and indices broadcast outside dim. */
DYNC_API dync_tensor *(dync_take_along_dim)(dync_tensor *self, dync_tensor *indices, int dim);
#define dync_take_along_dim(...) \
    DYNC_TAKES_3(DYNC_take_along_dim, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_take_along_dim takes 3 arguments: self, indices, dim", __VA_ARGS__)
#define DYNC_take_along_dim(text_, self, indices, dim) \
    DYNC_SEQ2_AND(dync_take_along_dim, dync__op_1TTi, DYNC__OP_take_along_dim, DYNC_T(self, \
    "dync_take_along_dim: self"), DYNC_T(indices, "dync_take_along_dim: indices"), dim)
/* dync_topk: the k largest or smallest along dim, in order, and their places. A list of 2
 * tensors. */
DYNC_API dync_value (dync_topk)(dync_tensor *self, int64_t k, int dim, bool largest, bool sorted);
#define dync_topk(...) \
    DYNC_TAKES_5(DYNC_topk, DYNC_OTHER_V, \
    __VA_ARGS__)("dync_topk takes 5 arguments: self, k, dim, largest, sorted", __VA_ARGS__)
#define DYNC_topk(text_, self, k, dim, largest, sorted) \
    DYNC_OP(dync_topk, dync__op_nTlibb, DYNC__OP_topk, DYNC_T(self, "dync_topk: self"), k, dim, \
    largest, sorted)
/* dync_tril: zero above the diagonal of the last two dims. */
DYNC_API dync_tensor *(dync_tril)(dync_tensor *self, int diagonal);
#define dync_tril(...) \
    DYNC_TAKES_2(DYNC_tril, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_tril takes 2 arguments: self, diagonal", __VA_ARGS__)
#define DYNC_tril(text_, self, diagonal) \
    DYNC_OP(dync_tril, dync__op_1Ti, DYNC__OP_tril, DYNC_T(self, "dync_tril: self"), diagonal)
/* dync_triu: zero below the diagonal of the last two dims. */
DYNC_API dync_tensor *(dync_triu)(dync_tensor *self, int diagonal);
#define dync_triu(...) \
    DYNC_TAKES_2(DYNC_triu, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_triu takes 2 arguments: self, diagonal", __VA_ARGS__)
#define DYNC_triu(text_, self, diagonal) \
    DYNC_OP(dync_triu, dync__op_1Ti, DYNC__OP_triu, DYNC_T(self, "dync_triu: self"), diagonal)
/* dync_unique: the elements in order, each once, as a vector. The shape depends on data: a graph
 * break. */
DYNC_API dync_tensor *(dync_unique)(dync_tensor *self);
#define dync_unique(...) \
    DYNC_TAKES_1(DYNC_unique, DYNC_OTHER_T, __VA_ARGS__)("dync_unique takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_unique(text_, self) \
    DYNC_OP(dync_unique, dync__op_1T, DYNC__OP_unique, DYNC_T(self, "dync_unique: self"))
