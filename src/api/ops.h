/* ---- operators: PyTorch's names, semantics, type promotion and broadcasting ----
 *
 * Generated from src/op/ops.def.h by tools/genops.c: edit the table, then `make headers`.
 *
 * Each operator is a function, dync_add, and a macro of that name that hands on its place
 * in the source, so that an error says file and line. (dync_add)(a, b) is the function.
 * A trailing _ works in place. What holds for all of them:
 *
 *   dync_value  any C expression: a tensor, a number, a bool (DYNC_V): dync_add(x, 2),
 *               dync_sub(1.0, x)
 *   dims        a shape literal of dimensions, dync_shape(0, -1); DYNC_ALL is all of them
 *   dim         -rank <= dim < rank; negative counts from the end
 *   ->          a new tensor, owned by the scope; NULL on failure
 *   errors      DYNC_ERR_SHAPE, DYNC_ERR_DTYPE, DYNC_ERR_DEVICE, DYNC_ERR_INDEX,
 *               DYNC_ERR_VALUE, DYNC_ERR_MEMORY
 *   notes       NULL operands give NULL; a failed call leaves its operands as they were
 *   thread      any */
#define DYNC_ALL (DYNC_LITERAL(dync_dims){0, {0}})              /* every dimension */
#define DYNC_END INT64_MAX                                       /* open slice end */
enum { DYNC__OP_add, DYNC__OP_atan2, DYNC__OP_bitwise_and, DYNC__OP_bitwise_or,
    DYNC__OP_bitwise_xor, DYNC__OP_div, DYNC__OP_eq, DYNC__OP_floor_divide, DYNC__OP_fmod,
    DYNC__OP_ge, DYNC__OP_gt, DYNC__OP_isclose, DYNC__OP_le, DYNC__OP_logaddexp,
    DYNC__OP_logical_and, DYNC__OP_logical_or, DYNC__OP_logical_xor, DYNC__OP_lt,
    DYNC__OP_maximum, DYNC__OP_minimum, DYNC__OP_mul, DYNC__OP_ne, DYNC__OP_pow,
    DYNC__OP_remainder, DYNC__OP_sub, DYNC__OP_xlogy, DYNC__OP_addcdiv, DYNC__OP_addcmul,
    DYNC__OP_clamp, DYNC__OP_lerp, DYNC__OP_masked_fill, DYNC__OP_nan_to_num, DYNC__OP_rescale,
    DYNC__OP_where, DYNC__OP_abs, DYNC__OP_acos, DYNC__OP_acosh, DYNC__OP_asin, DYNC__OP_asinh,
    DYNC__OP_atan, DYNC__OP_atanh, DYNC__OP_bitwise_not, DYNC__OP_ceil, DYNC__OP_cos,
    DYNC__OP_cosh, DYNC__OP_elu, DYNC__OP_erf, DYNC__OP_erfc, DYNC__OP_exp, DYNC__OP_exp2,
    DYNC__OP_expm1, DYNC__OP_floor, DYNC__OP_frac, DYNC__OP_gelu, DYNC__OP_gelu_tanh,
    DYNC__OP_hardtanh, DYNC__OP_isfinite, DYNC__OP_isinf, DYNC__OP_isnan, DYNC__OP_leaky_relu,
    DYNC__OP_log, DYNC__OP_log10, DYNC__OP_log1p, DYNC__OP_log2, DYNC__OP_logical_not,
    DYNC__OP_logsigmoid, DYNC__OP_mish, DYNC__OP_neg, DYNC__OP_reciprocal, DYNC__OP_relu,
    DYNC__OP_relu6, DYNC__OP_round, DYNC__OP_rsqrt, DYNC__OP_sgn, DYNC__OP_sigmoid,
    DYNC__OP_sign, DYNC__OP_silu, DYNC__OP_sin, DYNC__OP_sinh, DYNC__OP_softplus, DYNC__OP_sqrt,
    DYNC__OP_square, DYNC__OP_tan, DYNC__OP_tanh, DYNC__OP_trunc, DYNC__OP_celu, DYNC__OP_glu,
    DYNC__OP_hardshrink, DYNC__OP_hardsigmoid, DYNC__OP_hardswish, DYNC__OP_prelu, DYNC__OP_selu,
    DYNC__OP_sigmoid_backward, DYNC__OP_softmin, DYNC__OP_softshrink, DYNC__OP_softsign,
    DYNC__OP_tanh_backward, DYNC__OP_tanhshrink, DYNC__OP_threshold, DYNC__OP_threshold_backward,
    DYNC__OP_arange, DYNC__OP_bernoulli, DYNC__OP_copy, DYNC__OP_empty, DYNC__OP_empty_like,
    DYNC__OP_eye, DYNC__OP_fill, DYNC__OP_full, DYNC__OP_full_like, DYNC__OP_normal,
    DYNC__OP_ones, DYNC__OP_ones_like, DYNC__OP_rand, DYNC__OP_rand_like, DYNC__OP_randn,
    DYNC__OP_randn_like, DYNC__OP_uniform, DYNC__OP_zeros, DYNC__OP_zeros_like, DYNC__OP_abs_,
    DYNC__OP_add_, DYNC__OP_addcdiv_, DYNC__OP_addcmul_, DYNC__OP_ceil_, DYNC__OP_clamp_,
    DYNC__OP_copy_, DYNC__OP_cos_, DYNC__OP_div_, DYNC__OP_exp_, DYNC__OP_fill_, DYNC__OP_floor_,
    DYNC__OP_index_add_, DYNC__OP_lerp_, DYNC__OP_log_, DYNC__OP_masked_fill_, DYNC__OP_mul_,
    DYNC__OP_neg_, DYNC__OP_normal_, DYNC__OP_pow_, DYNC__OP_relu_, DYNC__OP_round_,
    DYNC__OP_scatter_, DYNC__OP_scatter_add_, DYNC__OP_sigmoid_, DYNC__OP_sin_, DYNC__OP_sqrt_,
    DYNC__OP_sub_, DYNC__OP_tanh_, DYNC__OP_trunc_, DYNC__OP_uniform_, DYNC__OP_zero_,
    DYNC__OP_all, DYNC__OP_amax, DYNC__OP_amin, DYNC__OP_any, DYNC__OP_argmax, DYNC__OP_argmin,
    DYNC__OP_cosine_similarity, DYNC__OP_count_nonzero, DYNC__OP_cumsum, DYNC__OP_log_softmax,
    DYNC__OP_logsumexp, DYNC__OP_max, DYNC__OP_max_dim, DYNC__OP_mean, DYNC__OP_min,
    DYNC__OP_min_dim, DYNC__OP_norm, DYNC__OP_normalize, DYNC__OP_prod, DYNC__OP_softmax,
    DYNC__OP_std, DYNC__OP_sum, DYNC__OP_var, DYNC__OP_addmm, DYNC__OP_addmv, DYNC__OP_baddbmm,
    DYNC__OP_bmm, DYNC__OP_dot, DYNC__OP_einsum, DYNC__OP_int_mm, DYNC__OP_linear,
    DYNC__OP_matmul, DYNC__OP_mm, DYNC__OP_mv, DYNC__OP_outer, DYNC__OP_trace,
    DYNC__OP_adaptive_avg_pool2d, DYNC__OP_avg_pool2d, DYNC__OP_avg_pool2d_backward,
    DYNC__OP_batch_norm, DYNC__OP_conv1d, DYNC__OP_conv2d, DYNC__OP_conv_transpose2d,
    DYNC__OP_convolution, DYNC__OP_convolution_backward, DYNC__OP_dropout, DYNC__OP_embedding,
    DYNC__OP_embedding_dense_backward, DYNC__OP_group_norm, DYNC__OP_instance_norm,
    DYNC__OP_int_conv2d, DYNC__OP_layer_norm, DYNC__OP_max_pool2d,
    DYNC__OP_max_pool2d_with_indices, DYNC__OP_max_pool2d_with_indices_backward,
    DYNC__OP_native_batch_norm_backward, DYNC__OP__native_batch_norm_legit_functional,
    DYNC__OP_native_layer_norm, DYNC__OP_one_hot, DYNC__OP_rms_norm, DYNC__OP__rnn_layer,
    DYNC__OP__rnn_layer_backward, DYNC__OP_scaled_dot_product_attention,
    DYNC__OP__scaled_dot_product_flash_attention_for_cpu,
    DYNC__OP__scaled_dot_product_flash_attention_for_cpu_backward,
    DYNC__OP__binary_cross_entropy, DYNC__OP_binary_cross_entropy,
    DYNC__OP_binary_cross_entropy_with_logits, DYNC__OP_cross_entropy, DYNC__OP_huber_loss,
    DYNC__OP_kl_div, DYNC__OP_l1_loss, DYNC__OP_mse_loss, DYNC__OP_nll_loss,
    DYNC__OP_smooth_l1_loss, DYNC__OP_affine_grid, DYNC__OP_col2im, DYNC__OP_deform_conv2d,
    DYNC__OP_fft_fft, DYNC__OP_fft_ifft, DYNC__OP_fft_irfft, DYNC__OP_fft_rfft,
    DYNC__OP__fourier, DYNC__OP_grid_sample, DYNC__OP_im2col, DYNC__OP_lp_pool2d,
    DYNC__OP_max_unpool2d, DYNC__OP_nms, DYNC__OP__nms_each, DYNC__OP_pixel_shuffle,
    DYNC__OP__roi_align, DYNC__OP_roi_align, DYNC__OP_stft, DYNC__OP_upsample_bicubic2d,
    DYNC__OP_upsample_bilinear2d, DYNC__OP_upsample_linear1d, DYNC__OP_upsample_nearest2d,
    DYNC__OP_upsample_trilinear3d, DYNC__OP_alias, DYNC__OP_as_strided, DYNC__OP__strided_view,
    DYNC__OP_contiguous, DYNC__OP_detach, DYNC__OP_diagonal, DYNC__OP_expand, DYNC__OP_expand_as,
    DYNC__OP_flatten, DYNC__OP_movedim, DYNC__OP_narrow, DYNC__OP_permute, DYNC__OP_reshape,
    DYNC__OP_select, DYNC__OP_slice, DYNC__OP_squeeze, DYNC__OP_squeeze_all, DYNC__OP_t,
    DYNC__OP_transpose, DYNC__OP_unflatten, DYNC__OP_unfold, DYNC__OP_unsqueeze, DYNC__OP_view,
    DYNC__OP_view_as, DYNC__OP_argsort, DYNC__OP_as_strided_scatter, DYNC__OP_cat,
    DYNC__OP_clone, DYNC__OP__clone_contiguous, DYNC__OP_diagonal_backward, DYNC__OP_flip,
    DYNC__OP_gather, DYNC__OP_index_add, DYNC__OP_index_select, DYNC__OP_masked_select,
    DYNC__OP_nonzero, DYNC__OP__one_hot_all, DYNC__OP_pad, DYNC__OP_repeat, DYNC__OP_roll,
    DYNC__OP_scatter, DYNC__OP_scatter_add, DYNC__OP_select_backward, DYNC__OP_slice_backward,
    DYNC__OP_sort, DYNC__OP_stack, DYNC__OP_take_along_dim, DYNC__OP_to_device,
    DYNC__OP_to_dtype, DYNC__OP_topk, DYNC__OP_tril, DYNC__OP_triu, DYNC__OP_unique,
    DYNC__OP__check_range, DYNC__OP_custom_gradient, DYNC__OP__hooked,
    DYNC__OP__local_scalar_dense, DYNC__OP_manual_seed, DYNC__OP_set_,
    DYNC__OP__set_grad_enabled, DYNC__OP_trace_wrapped, DYNC__OP_cond, DYNC__OP_scan,
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
DYNC__ROW_LINKAGE const dync__row DYNC__OP_add_row, DYNC__OP_atan2_row, DYNC__OP_bitwise_and_row,
    DYNC__OP_bitwise_or_row, DYNC__OP_bitwise_xor_row, DYNC__OP_div_row, DYNC__OP_eq_row,
    DYNC__OP_floor_divide_row, DYNC__OP_fmod_row, DYNC__OP_ge_row, DYNC__OP_gt_row,
    DYNC__OP_isclose_row, DYNC__OP_le_row, DYNC__OP_logaddexp_row, DYNC__OP_logical_and_row,
    DYNC__OP_logical_or_row, DYNC__OP_logical_xor_row, DYNC__OP_lt_row, DYNC__OP_maximum_row,
    DYNC__OP_minimum_row, DYNC__OP_mul_row, DYNC__OP_ne_row, DYNC__OP_pow_row,
    DYNC__OP_remainder_row, DYNC__OP_sub_row, DYNC__OP_xlogy_row, DYNC__OP_addcdiv_row,
    DYNC__OP_addcmul_row, DYNC__OP_clamp_row, DYNC__OP_lerp_row, DYNC__OP_masked_fill_row,
    DYNC__OP_nan_to_num_row, DYNC__OP_rescale_row, DYNC__OP_where_row, DYNC__OP_abs_row,
    DYNC__OP_acos_row, DYNC__OP_acosh_row, DYNC__OP_asin_row, DYNC__OP_asinh_row,
    DYNC__OP_atan_row, DYNC__OP_atanh_row, DYNC__OP_bitwise_not_row, DYNC__OP_ceil_row,
    DYNC__OP_cos_row, DYNC__OP_cosh_row, DYNC__OP_elu_row, DYNC__OP_erf_row, DYNC__OP_erfc_row,
    DYNC__OP_exp_row, DYNC__OP_exp2_row, DYNC__OP_expm1_row, DYNC__OP_floor_row,
    DYNC__OP_frac_row, DYNC__OP_gelu_row, DYNC__OP_gelu_tanh_row, DYNC__OP_hardtanh_row,
    DYNC__OP_isfinite_row, DYNC__OP_isinf_row, DYNC__OP_isnan_row, DYNC__OP_leaky_relu_row,
    DYNC__OP_log_row, DYNC__OP_log10_row, DYNC__OP_log1p_row, DYNC__OP_log2_row,
    DYNC__OP_logical_not_row, DYNC__OP_logsigmoid_row, DYNC__OP_mish_row, DYNC__OP_neg_row,
    DYNC__OP_reciprocal_row, DYNC__OP_relu_row, DYNC__OP_relu6_row, DYNC__OP_round_row,
    DYNC__OP_rsqrt_row, DYNC__OP_sgn_row, DYNC__OP_sigmoid_row, DYNC__OP_sign_row,
    DYNC__OP_silu_row, DYNC__OP_sin_row, DYNC__OP_sinh_row, DYNC__OP_softplus_row,
    DYNC__OP_sqrt_row, DYNC__OP_square_row, DYNC__OP_tan_row, DYNC__OP_tanh_row,
    DYNC__OP_trunc_row, DYNC__OP_celu_row, DYNC__OP_glu_row, DYNC__OP_hardshrink_row,
    DYNC__OP_hardsigmoid_row, DYNC__OP_hardswish_row, DYNC__OP_prelu_row, DYNC__OP_selu_row,
    DYNC__OP_sigmoid_backward_row, DYNC__OP_softmin_row, DYNC__OP_softshrink_row,
    DYNC__OP_softsign_row, DYNC__OP_tanh_backward_row, DYNC__OP_tanhshrink_row,
    DYNC__OP_threshold_row, DYNC__OP_threshold_backward_row, DYNC__OP_arange_row,
    DYNC__OP_bernoulli_row, DYNC__OP_copy_row, DYNC__OP_empty_row, DYNC__OP_empty_like_row,
    DYNC__OP_eye_row, DYNC__OP_fill_row, DYNC__OP_full_row, DYNC__OP_full_like_row,
    DYNC__OP_normal_row, DYNC__OP_ones_row, DYNC__OP_ones_like_row, DYNC__OP_rand_row,
    DYNC__OP_rand_like_row, DYNC__OP_randn_row, DYNC__OP_randn_like_row, DYNC__OP_uniform_row,
    DYNC__OP_zeros_row, DYNC__OP_zeros_like_row, DYNC__OP_abs__row, DYNC__OP_add__row,
    DYNC__OP_addcdiv__row, DYNC__OP_addcmul__row, DYNC__OP_ceil__row, DYNC__OP_clamp__row,
    DYNC__OP_copy__row, DYNC__OP_cos__row, DYNC__OP_div__row, DYNC__OP_exp__row,
    DYNC__OP_fill__row, DYNC__OP_floor__row, DYNC__OP_index_add__row, DYNC__OP_lerp__row,
    DYNC__OP_log__row, DYNC__OP_masked_fill__row, DYNC__OP_mul__row, DYNC__OP_neg__row,
    DYNC__OP_normal__row, DYNC__OP_pow__row, DYNC__OP_relu__row, DYNC__OP_round__row,
    DYNC__OP_scatter__row, DYNC__OP_scatter_add__row, DYNC__OP_sigmoid__row, DYNC__OP_sin__row,
    DYNC__OP_sqrt__row, DYNC__OP_sub__row, DYNC__OP_tanh__row, DYNC__OP_trunc__row,
    DYNC__OP_uniform__row, DYNC__OP_zero__row, DYNC__OP_all_row, DYNC__OP_amax_row,
    DYNC__OP_amin_row, DYNC__OP_any_row, DYNC__OP_argmax_row, DYNC__OP_argmin_row,
    DYNC__OP_cosine_similarity_row, DYNC__OP_count_nonzero_row, DYNC__OP_cumsum_row,
    DYNC__OP_log_softmax_row, DYNC__OP_logsumexp_row, DYNC__OP_max_row, DYNC__OP_max_dim_row,
    DYNC__OP_mean_row, DYNC__OP_min_row, DYNC__OP_min_dim_row, DYNC__OP_norm_row,
    DYNC__OP_normalize_row, DYNC__OP_prod_row, DYNC__OP_softmax_row, DYNC__OP_std_row,
    DYNC__OP_sum_row, DYNC__OP_var_row, DYNC__OP_addmm_row, DYNC__OP_addmv_row,
    DYNC__OP_baddbmm_row, DYNC__OP_bmm_row, DYNC__OP_dot_row, DYNC__OP_einsum_row,
    DYNC__OP_int_mm_row, DYNC__OP_linear_row, DYNC__OP_matmul_row, DYNC__OP_mm_row,
    DYNC__OP_mv_row, DYNC__OP_outer_row, DYNC__OP_trace_row, DYNC__OP_adaptive_avg_pool2d_row,
    DYNC__OP_avg_pool2d_row, DYNC__OP_avg_pool2d_backward_row, DYNC__OP_batch_norm_row,
    DYNC__OP_conv1d_row, DYNC__OP_conv2d_row, DYNC__OP_conv_transpose2d_row,
    DYNC__OP_convolution_row, DYNC__OP_convolution_backward_row, DYNC__OP_dropout_row,
    DYNC__OP_embedding_row, DYNC__OP_embedding_dense_backward_row, DYNC__OP_group_norm_row,
    DYNC__OP_instance_norm_row, DYNC__OP_int_conv2d_row, DYNC__OP_layer_norm_row,
    DYNC__OP_max_pool2d_row, DYNC__OP_max_pool2d_with_indices_row,
    DYNC__OP_max_pool2d_with_indices_backward_row, DYNC__OP_native_batch_norm_backward_row,
    DYNC__OP__native_batch_norm_legit_functional_row, DYNC__OP_native_layer_norm_row,
    DYNC__OP_one_hot_row, DYNC__OP_rms_norm_row, DYNC__OP__rnn_layer_row,
    DYNC__OP__rnn_layer_backward_row, DYNC__OP_scaled_dot_product_attention_row,
    DYNC__OP__scaled_dot_product_flash_attention_for_cpu_row,
    DYNC__OP__scaled_dot_product_flash_attention_for_cpu_backward_row,
    DYNC__OP__binary_cross_entropy_row, DYNC__OP_binary_cross_entropy_row,
    DYNC__OP_binary_cross_entropy_with_logits_row, DYNC__OP_cross_entropy_row,
    DYNC__OP_huber_loss_row, DYNC__OP_kl_div_row, DYNC__OP_l1_loss_row, DYNC__OP_mse_loss_row,
    DYNC__OP_nll_loss_row, DYNC__OP_smooth_l1_loss_row, DYNC__OP_affine_grid_row,
    DYNC__OP_col2im_row, DYNC__OP_deform_conv2d_row, DYNC__OP_fft_fft_row, DYNC__OP_fft_ifft_row,
    DYNC__OP_fft_irfft_row, DYNC__OP_fft_rfft_row, DYNC__OP__fourier_row,
    DYNC__OP_grid_sample_row, DYNC__OP_im2col_row, DYNC__OP_lp_pool2d_row,
    DYNC__OP_max_unpool2d_row, DYNC__OP_nms_row, DYNC__OP__nms_each_row,
    DYNC__OP_pixel_shuffle_row, DYNC__OP__roi_align_row, DYNC__OP_roi_align_row,
    DYNC__OP_stft_row, DYNC__OP_upsample_bicubic2d_row, DYNC__OP_upsample_bilinear2d_row,
    DYNC__OP_upsample_linear1d_row, DYNC__OP_upsample_nearest2d_row,
    DYNC__OP_upsample_trilinear3d_row, DYNC__OP_alias_row, DYNC__OP_as_strided_row,
    DYNC__OP__strided_view_row, DYNC__OP_contiguous_row, DYNC__OP_detach_row,
    DYNC__OP_diagonal_row, DYNC__OP_expand_row, DYNC__OP_expand_as_row, DYNC__OP_flatten_row,
    DYNC__OP_movedim_row, DYNC__OP_narrow_row, DYNC__OP_permute_row, DYNC__OP_reshape_row,
    DYNC__OP_select_row, DYNC__OP_slice_row, DYNC__OP_squeeze_row, DYNC__OP_squeeze_all_row,
    DYNC__OP_t_row, DYNC__OP_transpose_row, DYNC__OP_unflatten_row, DYNC__OP_unfold_row,
    DYNC__OP_unsqueeze_row, DYNC__OP_view_row, DYNC__OP_view_as_row, DYNC__OP_argsort_row,
    DYNC__OP_as_strided_scatter_row, DYNC__OP_cat_row, DYNC__OP_clone_row,
    DYNC__OP__clone_contiguous_row, DYNC__OP_diagonal_backward_row, DYNC__OP_flip_row,
    DYNC__OP_gather_row, DYNC__OP_index_add_row, DYNC__OP_index_select_row,
    DYNC__OP_masked_select_row, DYNC__OP_nonzero_row, DYNC__OP__one_hot_all_row,
    DYNC__OP_pad_row, DYNC__OP_repeat_row, DYNC__OP_roll_row, DYNC__OP_scatter_row,
    DYNC__OP_scatter_add_row, DYNC__OP_select_backward_row, DYNC__OP_slice_backward_row,
    DYNC__OP_sort_row, DYNC__OP_stack_row, DYNC__OP_take_along_dim_row, DYNC__OP_to_device_row,
    DYNC__OP_to_dtype_row, DYNC__OP_topk_row, DYNC__OP_tril_row, DYNC__OP_triu_row,
    DYNC__OP_unique_row, DYNC__OP__check_range_row, DYNC__OP_custom_gradient_row,
    DYNC__OP__hooked_row, DYNC__OP__local_scalar_dense_row, DYNC__OP_manual_seed_row,
    DYNC__OP_set__row, DYNC__OP__set_grad_enabled_row, DYNC__OP_trace_wrapped_row,
    DYNC__OP_cond_row, DYNC__OP_scan_row, DYNC__OP_while_loop_row;
/* The gradient rules that rows name (api/link.h). */
#define DYNC__RULE_NAMES \
    "g_add,g_atan2,g_div,g_fmod,g_logaddexp,g_maximum,g_minimum,g_mul,g_pow,g_remainder,g_sub" \
    ",g_xlogy,g_addcdiv,g_addcmul,g_clamp,g_lerp,g_masked_fill,g_where,g_abs,g_acos,g_acosh" \
    ",g_asin,g_asinh,g_atan,g_atanh,g_zero,g_cos,g_cosh,g_elu,g_erf,g_erfc,g_exp,g_exp2" \
    ",g_expm1,g_frac,g_gelu,g_gelu_tanh,g_hardtanh,g_leaky_relu,g_log,g_log10,g_log1p,g_log2" \
    ",g_logsigmoid,g_mish,g_neg,g_reciprocal,g_relu,g_rsqrt,g_sigmoid,g_silu,g_sin,g_sinh" \
    ",g_softplus,g_sqrt,g_square,g_tan,g_tanh,g_celu,g_hardsigmoid,g_hardswish,g_selu" \
    ",g_threshold_backward,g_copy,g_amax,g_cumsum,g_log_softmax,g_logsumexp,g_max,g_max_dim" \
    ",g_mean,g_prod,g_softmax,g_std,g_sum,g_var,g_addmm,g_bmm,g_dot,g_mm,g_mv,g_avg_pool2d" \
    ",g_avg_pool2d_backward,g_convolution,g_convolution_backward,g_embedding,g_max_pool2d" \
    ",g_max_pool2d_backward,g_native_batch_norm,g_native_layer_norm,g_rnn_layer" \
    ",g_flash_attention,g_binary_cross_entropy,g_fourier,g_im2col,g_alias,g_as_strided" \
    ",g_diagonal,g_expand,g_permute,g_select,g_slice,g_squeeze,g_t,g_transpose,g_unsqueeze" \
    ",g_view,g_as_strided_scatter,g_cat,g_diagonal_backward,g_flip,g_gather,g_index_add" \
    ",g_index_select,g_roll,g_scatter,g_scatter_add,g_select_backward,g_slice_backward" \
    ",g_sort,g_to_device,g_to_dtype,g_topk,g_tril,g_triu,g_custom_gradient,g_hooked,g_cond" \
    ",g_scan,g_while_loop"
DYNC_API dync_tensor *dync__op_1VV(const dync__row *op, dync_value x0, dync_value x1, dync_loc at);
DYNC_API dync_tensor *dync__op_1TTffb(const dync__row *op, dync_tensor *x0, dync_tensor *x1,
    dync_real x2, dync_real x3, bool x4, dync_loc at);
DYNC_API dync_tensor *dync__op_1TT(const dync__row *op, dync_tensor *x0, dync_tensor *x1,
    dync_loc at);
DYNC_API dync_tensor *dync__op_1TTTV(const dync__row *op, dync_tensor *x0, dync_tensor *x1,
    dync_tensor *x2, dync_value x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1TVV(const dync__row *op, dync_tensor *x0, dync_value x1,
    dync_value x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1TTV(const dync__row *op, dync_tensor *x0, dync_tensor *x1,
    dync_value x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1TVVV(const dync__row *op, dync_tensor *x0, dync_value x1,
    dync_value x2, dync_value x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1TTT(const dync__row *op, dync_tensor *x0, dync_tensor *x1,
    dync_tensor *x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1T(const dync__row *op, dync_tensor *x0, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tf(const dync__row *op, dync_tensor *x0, dync_real x1, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tff(const dync__row *op, dync_tensor *x0, dync_real x1,
    dync_real x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1Ti(const dync__row *op, dync_tensor *x0, int x1, dync_loc at);
DYNC_API dync_tensor *dync__op_1TfV(const dync__row *op, dync_tensor *x0, dync_real x1,
    dync_value x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1llye(const dync__row *op, int64_t x0, int64_t x1, dync_dtype x2,
    dync_device x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1TV(const dync__row *op, dync_tensor *x0, dync_value x1,
    dync_loc at);
DYNC_API dync_tensor *dync__op_1TiTT(const dync__row *op, dync_tensor *x0, int x1,
    dync_tensor *x2, dync_tensor *x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1TiTV(const dync__row *op, dync_tensor *x0, int x1,
    dync_tensor *x2, dync_value x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tdb(const dync__row *op, dync_tensor *x0, dync_dims x1, bool x2,
    dync_loc at);
DYNC_API dync_tensor *dync__op_1Tdb_of(const dync__row *op, dync_tensor *x0, const dync_dims *x1,
    bool x2, const dync_loc *at);
DYNC_API dync_tensor *dync__op_1Tib(const dync__row *op, dync_tensor *x0, int x1, bool x2,
    dync_loc at);
DYNC_API dync_tensor *dync__op_1TTif(const dync__row *op, dync_tensor *x0, dync_tensor *x1,
    int x2, dync_real x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1Td(const dync__row *op, dync_tensor *x0, dync_dims x1, dync_loc at);
DYNC_API dync_tensor *dync__op_1Td_of(const dync__row *op, dync_tensor *x0, const dync_dims *x1,
    const dync_loc *at);
DYNC_API dync_value dync__op_nTib(const dync__row *op, dync_tensor *x0, int x1, bool x2,
    dync_loc at);
DYNC_API dync_tensor *dync__op_1TVdb(const dync__row *op, dync_tensor *x0, dync_value x1,
    dync_dims x2, bool x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1TVdb_of(const dync__row *op, dync_tensor *x0, dync_value x1,
    const dync_dims *x2, bool x3, const dync_loc *at);
DYNC_API dync_tensor *dync__op_1TVif(const dync__row *op, dync_tensor *x0, dync_value x1, int x2,
    dync_real x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tdib(const dync__row *op, dync_tensor *x0, dync_dims x1, int x2,
    bool x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tdib_of(const dync__row *op, dync_tensor *x0, const dync_dims *x1,
    int x2, bool x3, const dync_loc *at);
DYNC_API dync_tensor *dync__op_1sL(const dync__row *op, const char *x0, dync_value x1, dync_loc at);
DYNC_API dync_tensor *dync__op_1TTO(const dync__row *op, dync_tensor *x0, dync_tensor *x1,
    dync_tensor *x2, dync_loc at);
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
DYNC_API dync_tensor *dync__op_1TTOdddid(const dync__row *op, dync_tensor *x0, dync_tensor *x1,
    dync_tensor *x2, dync_dims x3, dync_dims x4, dync_dims x5, int x6, dync_dims x7, dync_loc at);
DYNC_API dync_tensor *dync__op_1TTOdddid_of(const dync__row *op, dync_tensor *x0, dync_tensor *x1,
    dync_tensor *x2, const dync_dims *x3, const dync_dims *x4, const dync_dims *x5, int x6,
    const dync_dims *x7, const dync_loc *at);
DYNC_API dync_tensor *dync__op_1Tfb(const dync__row *op, dync_tensor *x0, dync_real x1, bool x2,
    dync_loc at);
DYNC_API dync_tensor *dync__op_1TlOOf(const dync__row *op, dync_tensor *x0, int64_t x1,
    dync_tensor *x2, dync_tensor *x3, dync_real x4, dync_loc at);
DYNC_API dync_tensor *dync__op_1TOOf(const dync__row *op, dync_tensor *x0, dync_tensor *x1,
    dync_tensor *x2, dync_real x3, dync_loc at);
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
DYNC_API dync_tensor *dync__op_1TdOV(const dync__row *op, dync_tensor *x0, dync_dims x1,
    dync_tensor *x2, dync_value x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1TdOV_of(const dync__row *op, dync_tensor *x0, const dync_dims *x1,
    dync_tensor *x2, dync_value x3, const dync_loc *at);
DYNC_API dync_tensor *dync__op_1TTTOfbV(const dync__row *op, dync_tensor *x0, dync_tensor *x1,
    dync_tensor *x2, dync_tensor *x3, dync_real x4, bool x5, dync_value x6, dync_loc at);
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
DYNC_API dync_tensor *dync__op_1Tdd(const dync__row *op, dync_tensor *x0, dync_dims x1,
    dync_dims x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tdd_of(const dync__row *op, dync_tensor *x0, const dync_dims *x1,
    const dync_dims *x2, const dync_loc *at);
DYNC_API dync_tensor *dync__op_1Till(const dync__row *op, dync_tensor *x0, int x1, int64_t x2,
    int64_t x3, dync_loc at);
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
DYNC_API dync_tensor *dync__op_1TdV(const dync__row *op, dync_tensor *x0, dync_dims x1,
    dync_value x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1TdV_of(const dync__row *op, dync_tensor *x0, const dync_dims *x1,
    dync_value x2, const dync_loc *at);
DYNC_API dync_tensor *dync__op_1TTi(const dync__row *op, dync_tensor *x0, dync_tensor *x1, int x2,
    dync_loc at);
DYNC_API dync_value dync__op_nTlibb(const dync__row *op, dync_tensor *x0, int64_t x1, int x2,
    bool x3, bool x4, dync_loc at);
