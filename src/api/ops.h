/* ---- operators: PyTorch's names, semantics, type promotion and broadcasting; trailing _ works in place ---------
 *
 * Generated from src/op/ops.def.h by tools/genops.c: edit the table, then `make headers`.
 *
 * Each operator is a function, dync_add, and a macro of that name that hands on its place in the source, so that an
 * error says file and line. (dync_add)(a, b) is the function. What holds for all of them:
 *
 *   dync_value  any C expression: a tensor, a number, a bool (DYNC_V): dync_add(x, 2), dync_sub(1.0, x)
 *   dims        a shape literal of dimensions, dync_shape(0, -1); DYNC_ALL is all of them
 *   dim         -rank <= dim < rank; negative counts from the end
 *   ->          a new tensor, owned by the scope; NULL on failure
 *   errors      DYNC_ERR_SHAPE, DYNC_ERR_DTYPE, DYNC_ERR_DEVICE, DYNC_ERR_INDEX, DYNC_ERR_VALUE, DYNC_ERR_MEMORY
 *   notes       NULL operands give NULL; a failed call leaves its operands as they were
 *   thread      any */
#define DYNC_ALL (DYNC_LITERAL(dync_dims){0, {0}})              /* every dimension */
#define DYNC_END INT64_MAX                                       /* open slice end */
enum { DYNC__OP_add, DYNC__OP_atan2, DYNC__OP_bitwise_and, DYNC__OP_bitwise_or, DYNC__OP_bitwise_xor, DYNC__OP_div, DYNC__OP_eq,
    DYNC__OP_floor_divide, DYNC__OP_fmod, DYNC__OP_ge, DYNC__OP_gt, DYNC__OP_le, DYNC__OP_logical_and, DYNC__OP_logical_or,
    DYNC__OP_logical_xor, DYNC__OP_lt, DYNC__OP_maximum, DYNC__OP_minimum, DYNC__OP_mul, DYNC__OP_ne, DYNC__OP_pow,
    DYNC__OP_remainder, DYNC__OP_sub, DYNC__OP_addcdiv, DYNC__OP_addcmul, DYNC__OP_clamp, DYNC__OP_lerp, DYNC__OP_masked_fill,
    DYNC__OP_where, DYNC__OP_abs, DYNC__OP_acos, DYNC__OP_asin, DYNC__OP_atan, DYNC__OP_bitwise_not, DYNC__OP_ceil, DYNC__OP_cos,
    DYNC__OP_cosh, DYNC__OP_elu, DYNC__OP_erf, DYNC__OP_erfc, DYNC__OP_exp, DYNC__OP_exp2, DYNC__OP_expm1, DYNC__OP_floor,
    DYNC__OP_frac, DYNC__OP_gelu, DYNC__OP_gelu_tanh, DYNC__OP_hardtanh, DYNC__OP_isfinite, DYNC__OP_isinf, DYNC__OP_isnan,
    DYNC__OP_leaky_relu, DYNC__OP_log, DYNC__OP_log10, DYNC__OP_log1p, DYNC__OP_log2, DYNC__OP_logical_not, DYNC__OP_logsigmoid,
    DYNC__OP_mish, DYNC__OP_neg, DYNC__OP_reciprocal, DYNC__OP_relu, DYNC__OP_relu6, DYNC__OP_round, DYNC__OP_rsqrt,
    DYNC__OP_sgn, DYNC__OP_sigmoid, DYNC__OP_sign, DYNC__OP_silu, DYNC__OP_sin, DYNC__OP_sinh, DYNC__OP_softplus, DYNC__OP_sqrt,
    DYNC__OP_square, DYNC__OP_tan, DYNC__OP_tanh, DYNC__OP_trunc, DYNC__OP_abs_, DYNC__OP_add_, DYNC__OP_addcdiv_,
    DYNC__OP_addcmul_, DYNC__OP_ceil_, DYNC__OP_clamp_, DYNC__OP_copy_, DYNC__OP_cos_, DYNC__OP_div_, DYNC__OP_exp_,
    DYNC__OP_fill_, DYNC__OP_floor_, DYNC__OP_index_add_, DYNC__OP_lerp_, DYNC__OP_log_, DYNC__OP_masked_fill_, DYNC__OP_mul_,
    DYNC__OP_neg_, DYNC__OP_normal_, DYNC__OP_pow_, DYNC__OP_relu_, DYNC__OP_round_, DYNC__OP_scatter_, DYNC__OP_scatter_add_,
    DYNC__OP_sigmoid_, DYNC__OP_sin_, DYNC__OP_sqrt_, DYNC__OP_sub_, DYNC__OP_tanh_, DYNC__OP_trunc_, DYNC__OP_uniform_,
    DYNC__OP_zero_, DYNC__OP_arange, DYNC__OP_copy, DYNC__OP_empty, DYNC__OP_empty_like, DYNC__OP_eye, DYNC__OP_fill,
    DYNC__OP_full, DYNC__OP_full_like, DYNC__OP_normal, DYNC__OP_ones, DYNC__OP_ones_like, DYNC__OP_rand, DYNC__OP_rand_like,
    DYNC__OP_randn, DYNC__OP_randn_like, DYNC__OP_uniform, DYNC__OP_zeros, DYNC__OP_zeros_like, DYNC__OP_all, DYNC__OP_amax,
    DYNC__OP_amin, DYNC__OP_any, DYNC__OP_argmax, DYNC__OP_argmin, DYNC__OP_cumsum, DYNC__OP_log_softmax, DYNC__OP_logsumexp,
    DYNC__OP_max, DYNC__OP_max_dim, DYNC__OP_mean, DYNC__OP_min, DYNC__OP_min_dim, DYNC__OP_norm, DYNC__OP_prod,
    DYNC__OP_softmax, DYNC__OP_std, DYNC__OP_sum, DYNC__OP_var, DYNC__OP_addmm, DYNC__OP_bmm, DYNC__OP_dot, DYNC__OP_int_mm,
    DYNC__OP_linear, DYNC__OP_matmul, DYNC__OP_mm, DYNC__OP_mv, DYNC__OP_outer, DYNC__OP_bernoulli, DYNC__OP_count_nonzero,
    DYNC__OP_isclose, DYNC__OP_logaddexp, DYNC__OP_nan_to_num, DYNC__OP_xlogy, DYNC__OP_cosine_similarity, DYNC__OP_normalize,
    DYNC__OP_addmv, DYNC__OP_baddbmm, DYNC__OP_einsum, DYNC__OP_trace, DYNC__OP_adaptive_avg_pool2d, DYNC__OP_avg_pool2d,
    DYNC__OP_avg_pool2d_backward, DYNC__OP_batch_norm, DYNC__OP__native_batch_norm_legit_functional,
    DYNC__OP_native_batch_norm_backward, DYNC__OP_conv2d, DYNC__OP_convolution, DYNC__OP_convolution_backward, DYNC__OP_dropout,
    DYNC__OP_embedding, DYNC__OP_embedding_dense_backward, DYNC__OP_layer_norm, DYNC__OP_native_layer_norm, DYNC__OP_max_pool2d,
    DYNC__OP_max_pool2d_with_indices, DYNC__OP_max_pool2d_with_indices_backward, DYNC__OP_one_hot,
    DYNC__OP__scaled_dot_product_flash_attention_for_cpu, DYNC__OP__scaled_dot_product_flash_attention_for_cpu_backward,
    DYNC__OP__rnn_layer, DYNC__OP__rnn_layer_backward, DYNC__OP_sigmoid_backward, DYNC__OP_tanh_backward,
    DYNC__OP_threshold_backward, DYNC__OP_celu, DYNC__OP_glu, DYNC__OP_hardshrink, DYNC__OP_hardsigmoid, DYNC__OP_hardswish,
    DYNC__OP_prelu, DYNC__OP_selu, DYNC__OP_softmin, DYNC__OP_softshrink, DYNC__OP_softsign, DYNC__OP_tanhshrink,
    DYNC__OP_threshold, DYNC__OP_conv1d, DYNC__OP_conv_transpose2d, DYNC__OP_group_norm, DYNC__OP_instance_norm,
    DYNC__OP_rms_norm, DYNC__OP_scaled_dot_product_attention, DYNC__OP_pixel_shuffle, DYNC__OP_upsample_nearest2d, DYNC__OP_pad,
    DYNC__OP_movedim, DYNC__OP_unfold, DYNC__OP_huber_loss, DYNC__OP_kl_div, DYNC__OP__binary_cross_entropy,
    DYNC__OP_binary_cross_entropy, DYNC__OP_binary_cross_entropy_with_logits, DYNC__OP_cross_entropy, DYNC__OP_l1_loss,
    DYNC__OP_mse_loss, DYNC__OP_nll_loss, DYNC__OP_smooth_l1_loss, DYNC__OP_alias, DYNC__OP_as_strided, DYNC__OP__strided_view,
    DYNC__OP_contiguous, DYNC__OP_detach, DYNC__OP_diagonal, DYNC__OP_expand, DYNC__OP_expand_as, DYNC__OP_flatten,
    DYNC__OP_narrow, DYNC__OP_permute, DYNC__OP_reshape, DYNC__OP_select, DYNC__OP_slice, DYNC__OP_squeeze, DYNC__OP_squeeze_all,
    DYNC__OP_t, DYNC__OP_transpose, DYNC__OP_unflatten, DYNC__OP_unsqueeze, DYNC__OP_view, DYNC__OP_view_as, DYNC__OP_argsort,
    DYNC__OP_as_strided_scatter, DYNC__OP_cat, DYNC__OP_clone, DYNC__OP__clone_contiguous, DYNC__OP_diagonal_backward,
    DYNC__OP_flip, DYNC__OP_gather, DYNC__OP_index_add, DYNC__OP_index_select, DYNC__OP_masked_select, DYNC__OP_nonzero,
    DYNC__OP_repeat, DYNC__OP_roll, DYNC__OP_scatter, DYNC__OP_scatter_add, DYNC__OP_select_backward, DYNC__OP_slice_backward,
    DYNC__OP_sort, DYNC__OP_stack, DYNC__OP_take_along_dim, DYNC__OP_to_device, DYNC__OP_to_dtype, DYNC__OP_topk, DYNC__OP_tril,
    DYNC__OP_triu, DYNC__OP_unique, DYNC__OP__one_hot_all, DYNC__OP__set_grad_enabled, DYNC__OP_manual_seed,
    DYNC__OP_custom_gradient, DYNC__OP_trace_wrapped, DYNC__OP_set_,
    DYNC__N_OPS
};
DYNC_API dync_tensor *dync__op_1VV(int op, dync_value x0, dync_value x1, dync_loc at);
DYNC_API dync_tensor *dync__op_1TTTV(int op, dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_value x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1TVV(int op, dync_tensor *x0, dync_value x1, dync_value x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1TTV(int op, dync_tensor *x0, dync_tensor *x1, dync_value x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1T(int op, dync_tensor *x0, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tf(int op, dync_tensor *x0, double x1, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tff(int op, dync_tensor *x0, double x1, double x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1TV(int op, dync_tensor *x0, dync_value x1, dync_loc at);
DYNC_API dync_tensor *dync__op_1TiTT(int op, dync_tensor *x0, int x1, dync_tensor *x2, dync_tensor *x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1TiTV(int op, dync_tensor *x0, int x1, dync_tensor *x2, dync_value x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1llye(int op, int64_t x0, int64_t x1, dync_dtype x2, dync_device x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tdb(int op, dync_tensor *x0, dync_dims x1, bool x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tib(int op, dync_tensor *x0, int x1, bool x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1Ti(int op, dync_tensor *x0, int x1, dync_loc at);
DYNC_API dync_value dync__op_nTib(int op, dync_tensor *x0, int x1, bool x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1TVdb(int op, dync_tensor *x0, dync_value x1, dync_dims x2, bool x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tdib(int op, dync_tensor *x0, dync_dims x1, int x2, bool x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1TTT(int op, dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1TT(int op, dync_tensor *x0, dync_tensor *x1, dync_loc at);
DYNC_API dync_tensor *dync__op_1TTO(int op, dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1Td(int op, dync_tensor *x0, dync_dims x1, dync_loc at);
DYNC_API dync_tensor *dync__op_1TTffb(int op, dync_tensor *x0, dync_tensor *x1, double x2, double x3, bool x4, dync_loc at);
DYNC_API dync_tensor *dync__op_1TVVV(int op, dync_tensor *x0, dync_value x1, dync_value x2, dync_value x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1TTif(int op, dync_tensor *x0, dync_tensor *x1, int x2, double x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1TVif(int op, dync_tensor *x0, dync_value x1, int x2, double x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1sL(int op, const char *x0, dync_value x1, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tdddbb(int op, dync_tensor *x0, dync_dims x1, dync_dims x2, dync_dims x3, bool x4, bool x5, dync_loc at);
DYNC_API dync_tensor *dync__op_1TOOOObff(int op, dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_tensor *x3, dync_tensor *x4, bool x5, double x6, double x7, dync_loc at);
DYNC_API dync_tensor *dync__op_1TTOdddi(int op, dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_dims x3, dync_dims x4, dync_dims x5, int x6, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tfb(int op, dync_tensor *x0, double x1, bool x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1TdOOf(int op, dync_tensor *x0, dync_dims x1, dync_tensor *x2, dync_tensor *x3, double x4, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tddddb(int op, dync_tensor *x0, dync_dims x1, dync_dims x2, dync_dims x3, dync_dims x4, bool x5, dync_loc at);
DYNC_API dync_value dync__op_nTddddb(int op, dync_tensor *x0, dync_dims x1, dync_dims x2, dync_dims x3, dync_dims x4, bool x5, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tl(int op, dync_tensor *x0, int64_t x1, dync_loc at);
DYNC_API dync_tensor *dync__op_1TfV(int op, dync_tensor *x0, double x1, dync_value x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1TTOdddid(int op, dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_dims x3, dync_dims x4, dync_dims x5, int x6, dync_dims x7, dync_loc at);
DYNC_API dync_tensor *dync__op_1TlOOf(int op, dync_tensor *x0, int64_t x1, dync_tensor *x2, dync_tensor *x3, double x4, dync_loc at);
DYNC_API dync_tensor *dync__op_1TOOf(int op, dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, double x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1TdOV(int op, dync_tensor *x0, dync_dims x1, dync_tensor *x2, dync_value x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1TTTOfbV(int op, dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_tensor *x3, double x4, bool x5, dync_value x6, dync_loc at);
DYNC_API dync_tensor *dync__op_1TdV(int op, dync_tensor *x0, dync_dims x1, dync_value x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tdd(int op, dync_tensor *x0, dync_dims x1, dync_dims x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1Till(int op, dync_tensor *x0, int x1, int64_t x2, int64_t x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1TTf(int op, dync_tensor *x0, dync_tensor *x1, double x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1TTb(int op, dync_tensor *x0, dync_tensor *x1, bool x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tddl(int op, dync_tensor *x0, dync_dims x1, dync_dims x2, int64_t x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tiii(int op, dync_tensor *x0, int x1, int x2, int x3, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tii(int op, dync_tensor *x0, int x1, int x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1Til(int op, dync_tensor *x0, int x1, int64_t x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tilll(int op, dync_tensor *x0, int x1, int64_t x2, int64_t x3, int64_t x4, dync_loc at);
DYNC_API dync_tensor *dync__op_1Tid(int op, dync_tensor *x0, int x1, dync_dims x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1Li(int op, dync_value x0, int x1, dync_loc at);
DYNC_API dync_tensor *dync__op_1TiT(int op, dync_tensor *x0, int x1, dync_tensor *x2, dync_loc at);
DYNC_API dync_tensor *dync__op_1TTi(int op, dync_tensor *x0, dync_tensor *x1, int x2, dync_loc at);
DYNC_API dync_value dync__op_nTlibb(int op, dync_tensor *x0, int64_t x1, int x2, bool x3, bool x4, dync_loc at);
/* dync_add: self + other; type promotion and broadcasting as PyTorch. */
DYNC_API dync_tensor *(dync_add)(dync_value self, dync_value other);
#define dync_add(self, other) DYNC_SEQ2(dync_add, dync__op_1VV, DYNC__OP_add, DYNC_V(self), DYNC_V(other))
/* dync_atan2: the angle of the point (other, self), in (-pi, pi]. */
DYNC_API dync_tensor *(dync_atan2)(dync_value self, dync_value other);
#define dync_atan2(self, other) DYNC_SEQ2(dync_atan2, dync__op_1VV, DYNC__OP_atan2, DYNC_V(self), DYNC_V(other))
/* dync_bitwise_and: bitwise and of integers, logical and of bools. No gradient. */
DYNC_API dync_tensor *(dync_bitwise_and)(dync_value self, dync_value other);
#define dync_bitwise_and(self, other) DYNC_SEQ2(dync_bitwise_and, dync__op_1VV, DYNC__OP_bitwise_and, DYNC_V(self), DYNC_V(other))
/* dync_bitwise_or: bitwise or of integers, logical or of bools. No gradient. */
DYNC_API dync_tensor *(dync_bitwise_or)(dync_value self, dync_value other);
#define dync_bitwise_or(self, other) DYNC_SEQ2(dync_bitwise_or, dync__op_1VV, DYNC__OP_bitwise_or, DYNC_V(self), DYNC_V(other))
/* dync_bitwise_xor: bitwise exclusive or of integers and bools. No gradient. */
DYNC_API dync_tensor *(dync_bitwise_xor)(dync_value self, dync_value other);
#define dync_bitwise_xor(self, other) DYNC_SEQ2(dync_bitwise_xor, dync__op_1VV, DYNC__OP_bitwise_xor, DYNC_V(self), DYNC_V(other))
/* dync_div: self / other; integers give a float. */
DYNC_API dync_tensor *(dync_div)(dync_value self, dync_value other);
#define dync_div(self, other) DYNC_SEQ2(dync_div, dync__op_1VV, DYNC__OP_div, DYNC_V(self), DYNC_V(other))
/* dync_eq: self == other, as bool. No gradient. */
DYNC_API dync_tensor *(dync_eq)(dync_value self, dync_value other);
#define dync_eq(self, other) DYNC_SEQ2(dync_eq, dync__op_1VV, DYNC__OP_eq, DYNC_V(self), DYNC_V(other))
/* dync_floor_divide: the quotient rounded towards minus infinity; keeps integers. No gradient. */
DYNC_API dync_tensor *(dync_floor_divide)(dync_value self, dync_value other);
#define dync_floor_divide(self, other) DYNC_SEQ2(dync_floor_divide, dync__op_1VV, DYNC__OP_floor_divide, DYNC_V(self), DYNC_V(other))
/* dync_fmod: C's remainder: the sign of self. */
DYNC_API dync_tensor *(dync_fmod)(dync_value self, dync_value other);
#define dync_fmod(self, other) DYNC_SEQ2(dync_fmod, dync__op_1VV, DYNC__OP_fmod, DYNC_V(self), DYNC_V(other))
/* dync_ge: self >= other, as bool. No gradient. */
DYNC_API dync_tensor *(dync_ge)(dync_value self, dync_value other);
#define dync_ge(self, other) DYNC_SEQ2(dync_ge, dync__op_1VV, DYNC__OP_ge, DYNC_V(self), DYNC_V(other))
/* dync_gt: self > other, as bool. No gradient. */
DYNC_API dync_tensor *(dync_gt)(dync_value self, dync_value other);
#define dync_gt(self, other) DYNC_SEQ2(dync_gt, dync__op_1VV, DYNC__OP_gt, DYNC_V(self), DYNC_V(other))
/* dync_le: self <= other, as bool. No gradient. */
DYNC_API dync_tensor *(dync_le)(dync_value self, dync_value other);
#define dync_le(self, other) DYNC_SEQ2(dync_le, dync__op_1VV, DYNC__OP_le, DYNC_V(self), DYNC_V(other))
/* dync_logical_and: both are not zero. No gradient. */
DYNC_API dync_tensor *(dync_logical_and)(dync_value self, dync_value other);
#define dync_logical_and(self, other) DYNC_SEQ2(dync_logical_and, dync__op_1VV, DYNC__OP_logical_and, DYNC_V(self), DYNC_V(other))
/* dync_logical_or: one of them is not zero. No gradient. */
DYNC_API dync_tensor *(dync_logical_or)(dync_value self, dync_value other);
#define dync_logical_or(self, other) DYNC_SEQ2(dync_logical_or, dync__op_1VV, DYNC__OP_logical_or, DYNC_V(self), DYNC_V(other))
/* dync_logical_xor: exactly one of them is not zero. No gradient. */
DYNC_API dync_tensor *(dync_logical_xor)(dync_value self, dync_value other);
#define dync_logical_xor(self, other) DYNC_SEQ2(dync_logical_xor, dync__op_1VV, DYNC__OP_logical_xor, DYNC_V(self), DYNC_V(other))
/* dync_lt: self < other, as bool. No gradient. */
DYNC_API dync_tensor *(dync_lt)(dync_value self, dync_value other);
#define dync_lt(self, other) DYNC_SEQ2(dync_lt, dync__op_1VV, DYNC__OP_lt, DYNC_V(self), DYNC_V(other))
/* dync_maximum: the larger of the two; NaN wins. */
DYNC_API dync_tensor *(dync_maximum)(dync_value self, dync_value other);
#define dync_maximum(self, other) DYNC_SEQ2(dync_maximum, dync__op_1VV, DYNC__OP_maximum, DYNC_V(self), DYNC_V(other))
/* dync_minimum: the smaller of the two; NaN wins. */
DYNC_API dync_tensor *(dync_minimum)(dync_value self, dync_value other);
#define dync_minimum(self, other) DYNC_SEQ2(dync_minimum, dync__op_1VV, DYNC__OP_minimum, DYNC_V(self), DYNC_V(other))
/* dync_mul: self * other. */
DYNC_API dync_tensor *(dync_mul)(dync_value self, dync_value other);
#define dync_mul(self, other) DYNC_SEQ2(dync_mul, dync__op_1VV, DYNC__OP_mul, DYNC_V(self), DYNC_V(other))
/* dync_ne: self != other, as bool. No gradient. */
DYNC_API dync_tensor *(dync_ne)(dync_value self, dync_value other);
#define dync_ne(self, other) DYNC_SEQ2(dync_ne, dync__op_1VV, DYNC__OP_ne, DYNC_V(self), DYNC_V(other))
/* dync_pow: self to the power other. */
DYNC_API dync_tensor *(dync_pow)(dync_value self, dync_value other);
#define dync_pow(self, other) DYNC_SEQ2(dync_pow, dync__op_1VV, DYNC__OP_pow, DYNC_V(self), DYNC_V(other))
/* dync_remainder: Python's remainder: the sign of other. */
DYNC_API dync_tensor *(dync_remainder)(dync_value self, dync_value other);
#define dync_remainder(self, other) DYNC_SEQ2(dync_remainder, dync__op_1VV, DYNC__OP_remainder, DYNC_V(self), DYNC_V(other))
/* dync_sub: self - other; not of bools. */
DYNC_API dync_tensor *(dync_sub)(dync_value self, dync_value other);
#define dync_sub(self, other) DYNC_SEQ2(dync_sub, dync__op_1VV, DYNC__OP_sub, DYNC_V(self), DYNC_V(other))
/* dync_addcdiv: self + value * tensor1 / tensor2. */
DYNC_API dync_tensor *(dync_addcdiv)(dync_tensor *self, dync_tensor *tensor1, dync_tensor *tensor2, dync_value value);
#define dync_addcdiv(self, tensor1, tensor2, value) DYNC_SEQ3_AND(dync_addcdiv, dync__op_1TTTV, DYNC__OP_addcdiv, self, tensor1, tensor2, DYNC_V(value))
/* dync_addcmul: self + value * tensor1 * tensor2. */
DYNC_API dync_tensor *(dync_addcmul)(dync_tensor *self, dync_tensor *tensor1, dync_tensor *tensor2, dync_value value);
#define dync_addcmul(self, tensor1, tensor2, value) DYNC_SEQ3_AND(dync_addcmul, dync__op_1TTTV, DYNC__OP_addcmul, self, tensor1, tensor2, DYNC_V(value))
/* dync_clamp: self held between low and high; DYNC_NONE leaves a side open. */
DYNC_API dync_tensor *(dync_clamp)(dync_tensor *self, dync_value low, dync_value high);
#define dync_clamp(self, low, high) DYNC_OP(dync_clamp, dync__op_1TVV, DYNC__OP_clamp, self, DYNC_V(low), DYNC_V(high))
/* dync_lerp: self + weight * (end - self). */
DYNC_API dync_tensor *(dync_lerp)(dync_tensor *self, dync_tensor *end, dync_value weight);
#define dync_lerp(self, end, weight) DYNC_SEQ2_AND(dync_lerp, dync__op_1TTV, DYNC__OP_lerp, self, end, DYNC_V(weight))
/* dync_masked_fill: value where the bool mask is set, self elsewhere. */
DYNC_API dync_tensor *(dync_masked_fill)(dync_tensor *self, dync_tensor *mask, dync_value value);
#define dync_masked_fill(self, mask, value) DYNC_SEQ2_AND(dync_masked_fill, dync__op_1TTV, DYNC__OP_masked_fill, self, mask, DYNC_V(value))
/* dync_where: self where the condition holds, other elsewhere. */
DYNC_API dync_tensor *(dync_where)(dync_tensor *condition, dync_value self, dync_value other);
#define dync_where(condition, self, other) DYNC_SEQ2_AND(dync_where, dync__op_1TVV, DYNC__OP_where, condition, DYNC_V(self), DYNC_V(other))
/* dync_abs: absolute value. */
DYNC_API dync_tensor *(dync_abs)(dync_tensor *self);
#define dync_abs(self) DYNC_OP(dync_abs, dync__op_1T, DYNC__OP_abs, self)
/* dync_acos: inverse cosine. */
DYNC_API dync_tensor *(dync_acos)(dync_tensor *self);
#define dync_acos(self) DYNC_OP(dync_acos, dync__op_1T, DYNC__OP_acos, self)
/* dync_asin: inverse sine. */
DYNC_API dync_tensor *(dync_asin)(dync_tensor *self);
#define dync_asin(self) DYNC_OP(dync_asin, dync__op_1T, DYNC__OP_asin, self)
/* dync_atan: inverse tangent. */
DYNC_API dync_tensor *(dync_atan)(dync_tensor *self);
#define dync_atan(self) DYNC_OP(dync_atan, dync__op_1T, DYNC__OP_atan, self)
/* dync_bitwise_not: every bit inverted; logical not of bools. No gradient. */
DYNC_API dync_tensor *(dync_bitwise_not)(dync_tensor *self);
#define dync_bitwise_not(self) DYNC_OP(dync_bitwise_not, dync__op_1T, DYNC__OP_bitwise_not, self)
/* dync_ceil: rounded towards plus infinity. */
DYNC_API dync_tensor *(dync_ceil)(dync_tensor *self);
#define dync_ceil(self) DYNC_OP(dync_ceil, dync__op_1T, DYNC__OP_ceil, self)
/* dync_cos: cosine. */
DYNC_API dync_tensor *(dync_cos)(dync_tensor *self);
#define dync_cos(self) DYNC_OP(dync_cos, dync__op_1T, DYNC__OP_cos, self)
/* dync_cosh: hyperbolic cosine. */
DYNC_API dync_tensor *(dync_cosh)(dync_tensor *self);
#define dync_cosh(self) DYNC_OP(dync_cosh, dync__op_1T, DYNC__OP_cosh, self)
/* dync_elu: self where positive, else alpha * (exp(self) - 1). */
DYNC_API dync_tensor *(dync_elu)(dync_tensor *self, double alpha);
#define dync_elu(self, alpha) DYNC_OP(dync_elu, dync__op_1Tf, DYNC__OP_elu, self, alpha)
/* dync_erf: error function. */
DYNC_API dync_tensor *(dync_erf)(dync_tensor *self);
#define dync_erf(self) DYNC_OP(dync_erf, dync__op_1T, DYNC__OP_erf, self)
/* dync_erfc: 1 - erf(self), without cancellation. */
DYNC_API dync_tensor *(dync_erfc)(dync_tensor *self);
#define dync_erfc(self) DYNC_OP(dync_erfc, dync__op_1T, DYNC__OP_erfc, self)
/* dync_exp: e to the power self. */
DYNC_API dync_tensor *(dync_exp)(dync_tensor *self);
#define dync_exp(self) DYNC_OP(dync_exp, dync__op_1T, DYNC__OP_exp, self)
/* dync_exp2: 2 to the power self. */
DYNC_API dync_tensor *(dync_exp2)(dync_tensor *self);
#define dync_exp2(self) DYNC_OP(dync_exp2, dync__op_1T, DYNC__OP_exp2, self)
/* dync_expm1: exp(self) - 1, without cancellation. */
DYNC_API dync_tensor *(dync_expm1)(dync_tensor *self);
#define dync_expm1(self) DYNC_OP(dync_expm1, dync__op_1T, DYNC__OP_expm1, self)
/* dync_floor: rounded towards minus infinity. */
DYNC_API dync_tensor *(dync_floor)(dync_tensor *self);
#define dync_floor(self) DYNC_OP(dync_floor, dync__op_1T, DYNC__OP_floor, self)
/* dync_frac: self - trunc(self). */
DYNC_API dync_tensor *(dync_frac)(dync_tensor *self);
#define dync_frac(self) DYNC_OP(dync_frac, dync__op_1T, DYNC__OP_frac, self)
/* dync_gelu: self * Phi(self), Phi the normal distribution by erf. */
DYNC_API dync_tensor *(dync_gelu)(dync_tensor *self);
#define dync_gelu(self) DYNC_OP(dync_gelu, dync__op_1T, DYNC__OP_gelu, self)
/* dync_gelu_tanh: gelu with Phi approximated by tanh. */
DYNC_API dync_tensor *(dync_gelu_tanh)(dync_tensor *self);
#define dync_gelu_tanh(self) DYNC_OP(dync_gelu_tanh, dync__op_1T, DYNC__OP_gelu_tanh, self)
/* dync_hardtanh: self held between low and high. */
DYNC_API dync_tensor *(dync_hardtanh)(dync_tensor *self, double low, double high);
#define dync_hardtanh(self, low, high) DYNC_OP(dync_hardtanh, dync__op_1Tff, DYNC__OP_hardtanh, self, low, high)
/* dync_isfinite: neither infinite nor NaN, as bool. No gradient. */
DYNC_API dync_tensor *(dync_isfinite)(dync_tensor *self);
#define dync_isfinite(self) DYNC_OP(dync_isfinite, dync__op_1T, DYNC__OP_isfinite, self)
/* dync_isinf: plus or minus infinity, as bool. No gradient. */
DYNC_API dync_tensor *(dync_isinf)(dync_tensor *self);
#define dync_isinf(self) DYNC_OP(dync_isinf, dync__op_1T, DYNC__OP_isinf, self)
/* dync_isnan: NaN, as bool. No gradient. */
DYNC_API dync_tensor *(dync_isnan)(dync_tensor *self);
#define dync_isnan(self) DYNC_OP(dync_isnan, dync__op_1T, DYNC__OP_isnan, self)
/* dync_leaky_relu: self where positive, else negative_slope * self. */
DYNC_API dync_tensor *(dync_leaky_relu)(dync_tensor *self, double negative_slope);
#define dync_leaky_relu(self, negative_slope) DYNC_OP(dync_leaky_relu, dync__op_1Tf, DYNC__OP_leaky_relu, self, negative_slope)
/* dync_log: natural logarithm. */
DYNC_API dync_tensor *(dync_log)(dync_tensor *self);
#define dync_log(self) DYNC_OP(dync_log, dync__op_1T, DYNC__OP_log, self)
/* dync_log10: logarithm to base 10. */
DYNC_API dync_tensor *(dync_log10)(dync_tensor *self);
#define dync_log10(self) DYNC_OP(dync_log10, dync__op_1T, DYNC__OP_log10, self)
/* dync_log1p: log(1 + self), without cancellation. */
DYNC_API dync_tensor *(dync_log1p)(dync_tensor *self);
#define dync_log1p(self) DYNC_OP(dync_log1p, dync__op_1T, DYNC__OP_log1p, self)
/* dync_log2: logarithm to base 2. */
DYNC_API dync_tensor *(dync_log2)(dync_tensor *self);
#define dync_log2(self) DYNC_OP(dync_log2, dync__op_1T, DYNC__OP_log2, self)
/* dync_logical_not: self is zero, as bool. No gradient. */
DYNC_API dync_tensor *(dync_logical_not)(dync_tensor *self);
#define dync_logical_not(self) DYNC_OP(dync_logical_not, dync__op_1T, DYNC__OP_logical_not, self)
/* dync_logsigmoid: log(sigmoid(self)), without overflow. */
DYNC_API dync_tensor *(dync_logsigmoid)(dync_tensor *self);
#define dync_logsigmoid(self) DYNC_OP(dync_logsigmoid, dync__op_1T, DYNC__OP_logsigmoid, self)
/* dync_mish: self * tanh(softplus(self)). */
DYNC_API dync_tensor *(dync_mish)(dync_tensor *self);
#define dync_mish(self) DYNC_OP(dync_mish, dync__op_1T, DYNC__OP_mish, self)
/* dync_neg: -self. */
DYNC_API dync_tensor *(dync_neg)(dync_tensor *self);
#define dync_neg(self) DYNC_OP(dync_neg, dync__op_1T, DYNC__OP_neg, self)
/* dync_reciprocal: 1 / self. */
DYNC_API dync_tensor *(dync_reciprocal)(dync_tensor *self);
#define dync_reciprocal(self) DYNC_OP(dync_reciprocal, dync__op_1T, DYNC__OP_reciprocal, self)
/* dync_relu: max(self, 0). */
DYNC_API dync_tensor *(dync_relu)(dync_tensor *self);
#define dync_relu(self) DYNC_OP(dync_relu, dync__op_1T, DYNC__OP_relu, self)
/* dync_relu6: min(max(self, 0), 6). */
DYNC_API dync_tensor *(dync_relu6)(dync_tensor *self);
#define dync_relu6(self) DYNC_OP(dync_relu6, dync__op_1T, DYNC__OP_relu6, self)
/* dync_round: to the nearest integer, halves to even. */
DYNC_API dync_tensor *(dync_round)(dync_tensor *self);
#define dync_round(self) DYNC_OP(dync_round, dync__op_1T, DYNC__OP_round, self)
/* dync_rsqrt: 1 / sqrt(self). */
DYNC_API dync_tensor *(dync_rsqrt)(dync_tensor *self);
#define dync_rsqrt(self) DYNC_OP(dync_rsqrt, dync__op_1T, DYNC__OP_rsqrt, self)
/* dync_sgn: -1, 0 or 1. */
DYNC_API dync_tensor *(dync_sgn)(dync_tensor *self);
#define dync_sgn(self) DYNC_OP(dync_sgn, dync__op_1T, DYNC__OP_sgn, self)
/* dync_sigmoid: 1 / (1 + exp(-self)). */
DYNC_API dync_tensor *(dync_sigmoid)(dync_tensor *self);
#define dync_sigmoid(self) DYNC_OP(dync_sigmoid, dync__op_1T, DYNC__OP_sigmoid, self)
/* dync_sign: -1, 0 or 1. */
DYNC_API dync_tensor *(dync_sign)(dync_tensor *self);
#define dync_sign(self) DYNC_OP(dync_sign, dync__op_1T, DYNC__OP_sign, self)
/* dync_silu: self * sigmoid(self). */
DYNC_API dync_tensor *(dync_silu)(dync_tensor *self);
#define dync_silu(self) DYNC_OP(dync_silu, dync__op_1T, DYNC__OP_silu, self)
/* dync_sin: sine. */
DYNC_API dync_tensor *(dync_sin)(dync_tensor *self);
#define dync_sin(self) DYNC_OP(dync_sin, dync__op_1T, DYNC__OP_sin, self)
/* dync_sinh: hyperbolic sine. */
DYNC_API dync_tensor *(dync_sinh)(dync_tensor *self);
#define dync_sinh(self) DYNC_OP(dync_sinh, dync__op_1T, DYNC__OP_sinh, self)
/* dync_softplus: log(1 + exp(self)); self itself above 20. */
DYNC_API dync_tensor *(dync_softplus)(dync_tensor *self);
#define dync_softplus(self) DYNC_OP(dync_softplus, dync__op_1T, DYNC__OP_softplus, self)
/* dync_sqrt: square root. */
DYNC_API dync_tensor *(dync_sqrt)(dync_tensor *self);
#define dync_sqrt(self) DYNC_OP(dync_sqrt, dync__op_1T, DYNC__OP_sqrt, self)
/* dync_square: self * self. */
DYNC_API dync_tensor *(dync_square)(dync_tensor *self);
#define dync_square(self) DYNC_OP(dync_square, dync__op_1T, DYNC__OP_square, self)
/* dync_tan: tangent. */
DYNC_API dync_tensor *(dync_tan)(dync_tensor *self);
#define dync_tan(self) DYNC_OP(dync_tan, dync__op_1T, DYNC__OP_tan, self)
/* dync_tanh: hyperbolic tangent. */
DYNC_API dync_tensor *(dync_tanh)(dync_tensor *self);
#define dync_tanh(self) DYNC_OP(dync_tanh, dync__op_1T, DYNC__OP_tanh, self)
/* dync_trunc: rounded towards zero. */
DYNC_API dync_tensor *(dync_trunc)(dync_tensor *self);
#define dync_trunc(self) DYNC_OP(dync_trunc, dync__op_1T, DYNC__OP_trunc, self)
/* dync_abs_: absolute value. In place; returns self. */
DYNC_API dync_tensor *(dync_abs_)(dync_tensor *self);
#define dync_abs_(self) DYNC_OP(dync_abs_, dync__op_1T, DYNC__OP_abs_, self)
/* dync_add_: adds other into self; self keeps its dtype. In place; returns self. */
DYNC_API dync_tensor *(dync_add_)(dync_tensor *self, dync_value other);
#define dync_add_(self, other) DYNC_SEQ2(dync_add_, dync__op_1TV, DYNC__OP_add_, self, DYNC_V(other))
/* dync_addcdiv_: adds value * tensor1 / tensor2. In place; returns self. */
DYNC_API dync_tensor *(dync_addcdiv_)(dync_tensor *self, dync_tensor *tensor1, dync_tensor *tensor2, dync_value value);
#define dync_addcdiv_(self, tensor1, tensor2, value) DYNC_SEQ3_AND(dync_addcdiv_, dync__op_1TTTV, DYNC__OP_addcdiv_, self, tensor1, tensor2, DYNC_V(value))
/* dync_addcmul_: adds value * tensor1 * tensor2. In place; returns self. */
DYNC_API dync_tensor *(dync_addcmul_)(dync_tensor *self, dync_tensor *tensor1, dync_tensor *tensor2, dync_value value);
#define dync_addcmul_(self, tensor1, tensor2, value) DYNC_SEQ3_AND(dync_addcmul_, dync__op_1TTTV, DYNC__OP_addcmul_, self, tensor1, tensor2, DYNC_V(value))
/* dync_ceil_: rounds towards plus infinity. In place; returns self. */
DYNC_API dync_tensor *(dync_ceil_)(dync_tensor *self);
#define dync_ceil_(self) DYNC_OP(dync_ceil_, dync__op_1T, DYNC__OP_ceil_, self)
/* dync_clamp_: holds self between low and high. In place; returns self. */
DYNC_API dync_tensor *(dync_clamp_)(dync_tensor *self, dync_value low, dync_value high);
#define dync_clamp_(self, low, high) DYNC_OP(dync_clamp_, dync__op_1TVV, DYNC__OP_clamp_, self, DYNC_V(low), DYNC_V(high))
/* dync_copy_: writes src, broadcast and cast, over self. In place; returns self. */
DYNC_API dync_tensor *(dync_copy_)(dync_tensor *self, dync_value src);
#define dync_copy_(self, src) DYNC_SEQ2(dync_copy_, dync__op_1TV, DYNC__OP_copy_, self, DYNC_V(src))
/* dync_cos_: cosine. In place; returns self. */
DYNC_API dync_tensor *(dync_cos_)(dync_tensor *self);
#define dync_cos_(self) DYNC_OP(dync_cos_, dync__op_1T, DYNC__OP_cos_, self)
/* dync_div_: divides self by other. In place; returns self. */
DYNC_API dync_tensor *(dync_div_)(dync_tensor *self, dync_value other);
#define dync_div_(self, other) DYNC_SEQ2(dync_div_, dync__op_1TV, DYNC__OP_div_, self, DYNC_V(other))
/* dync_exp_: e to the power self. In place; returns self. */
DYNC_API dync_tensor *(dync_exp_)(dync_tensor *self);
#define dync_exp_(self) DYNC_OP(dync_exp_, dync__op_1T, DYNC__OP_exp_, self)
/* dync_fill_: writes one number everywhere. In place; returns self. */
DYNC_API dync_tensor *(dync_fill_)(dync_tensor *self, dync_value value);
#define dync_fill_(self, value) DYNC_SEQ2(dync_fill_, dync__op_1TV, DYNC__OP_fill_, self, DYNC_V(value))
/* dync_floor_: rounds towards minus infinity. In place; returns self. */
DYNC_API dync_tensor *(dync_floor_)(dync_tensor *self);
#define dync_floor_(self) DYNC_OP(dync_floor_, dync__op_1T, DYNC__OP_floor_, self)
/* dync_index_add_: adds rows of source into the rows that index names. In place; returns self. */
DYNC_API dync_tensor *(dync_index_add_)(dync_tensor *self, int dim, dync_tensor *index, dync_tensor *source);
#define dync_index_add_(self, dim, index, source) DYNC_OP(dync_index_add_, dync__op_1TiTT, DYNC__OP_index_add_, self, dim, index, source)
/* dync_lerp_: moves self towards end. In place; returns self. */
DYNC_API dync_tensor *(dync_lerp_)(dync_tensor *self, dync_tensor *end, dync_value weight);
#define dync_lerp_(self, end, weight) DYNC_SEQ2_AND(dync_lerp_, dync__op_1TTV, DYNC__OP_lerp_, self, end, DYNC_V(weight))
/* dync_log_: natural logarithm. In place; returns self. */
DYNC_API dync_tensor *(dync_log_)(dync_tensor *self);
#define dync_log_(self) DYNC_OP(dync_log_, dync__op_1T, DYNC__OP_log_, self)
/* dync_masked_fill_: writes value where the mask is set. In place; returns self. */
DYNC_API dync_tensor *(dync_masked_fill_)(dync_tensor *self, dync_tensor *mask, dync_value value);
#define dync_masked_fill_(self, mask, value) DYNC_SEQ2_AND(dync_masked_fill_, dync__op_1TTV, DYNC__OP_masked_fill_, self, mask, DYNC_V(value))
/* dync_mul_: multiplies self by other. In place; returns self. */
DYNC_API dync_tensor *(dync_mul_)(dync_tensor *self, dync_value other);
#define dync_mul_(self, other) DYNC_SEQ2(dync_mul_, dync__op_1TV, DYNC__OP_mul_, self, DYNC_V(other))
/* dync_neg_: negates self. In place; returns self. */
DYNC_API dync_tensor *(dync_neg_)(dync_tensor *self);
#define dync_neg_(self) DYNC_OP(dync_neg_, dync__op_1T, DYNC__OP_neg_, self)
/* dync_normal_: draws from the normal distribution. In place; returns self. */
DYNC_API dync_tensor *(dync_normal_)(dync_tensor *self, double mean, double std);
#define dync_normal_(self, mean, std) DYNC_OP(dync_normal_, dync__op_1Tff, DYNC__OP_normal_, self, mean, std)
/* dync_pow_: raises self to a power. In place; returns self. */
DYNC_API dync_tensor *(dync_pow_)(dync_tensor *self, dync_value exponent);
#define dync_pow_(self, exponent) DYNC_SEQ2(dync_pow_, dync__op_1TV, DYNC__OP_pow_, self, DYNC_V(exponent))
/* dync_relu_: max(self, 0). In place; returns self. */
DYNC_API dync_tensor *(dync_relu_)(dync_tensor *self);
#define dync_relu_(self) DYNC_OP(dync_relu_, dync__op_1T, DYNC__OP_relu_, self)
/* dync_round_: rounds to the nearest integer, halves to even. In place; returns self. */
DYNC_API dync_tensor *(dync_round_)(dync_tensor *self);
#define dync_round_(self) DYNC_OP(dync_round_, dync__op_1T, DYNC__OP_round_, self)
/* dync_scatter_: writes src to the places that index names. In place; returns self. */
DYNC_API dync_tensor *(dync_scatter_)(dync_tensor *self, int dim, dync_tensor *index, dync_value src);
#define dync_scatter_(self, dim, index, src) DYNC_OP(dync_scatter_, dync__op_1TiTV, DYNC__OP_scatter_, self, dim, index, DYNC_V(src))
/* dync_scatter_add_: adds src at the places that index names. In place; returns self. */
DYNC_API dync_tensor *(dync_scatter_add_)(dync_tensor *self, int dim, dync_tensor *index, dync_tensor *src);
#define dync_scatter_add_(self, dim, index, src) DYNC_OP(dync_scatter_add_, dync__op_1TiTT, DYNC__OP_scatter_add_, self, dim, index, src)
/* dync_sigmoid_: 1 / (1 + exp(-self)). In place; returns self. */
DYNC_API dync_tensor *(dync_sigmoid_)(dync_tensor *self);
#define dync_sigmoid_(self) DYNC_OP(dync_sigmoid_, dync__op_1T, DYNC__OP_sigmoid_, self)
/* dync_sin_: sine. In place; returns self. */
DYNC_API dync_tensor *(dync_sin_)(dync_tensor *self);
#define dync_sin_(self) DYNC_OP(dync_sin_, dync__op_1T, DYNC__OP_sin_, self)
/* dync_sqrt_: square root. In place; returns self. */
DYNC_API dync_tensor *(dync_sqrt_)(dync_tensor *self);
#define dync_sqrt_(self) DYNC_OP(dync_sqrt_, dync__op_1T, DYNC__OP_sqrt_, self)
/* dync_sub_: subtracts other from self. In place; returns self. */
DYNC_API dync_tensor *(dync_sub_)(dync_tensor *self, dync_value other);
#define dync_sub_(self, other) DYNC_SEQ2(dync_sub_, dync__op_1TV, DYNC__OP_sub_, self, DYNC_V(other))
/* dync_tanh_: hyperbolic tangent. In place; returns self. */
DYNC_API dync_tensor *(dync_tanh_)(dync_tensor *self);
#define dync_tanh_(self) DYNC_OP(dync_tanh_, dync__op_1T, DYNC__OP_tanh_, self)
/* dync_trunc_: rounds towards zero. In place; returns self. */
DYNC_API dync_tensor *(dync_trunc_)(dync_tensor *self);
#define dync_trunc_(self) DYNC_OP(dync_trunc_, dync__op_1T, DYNC__OP_trunc_, self)
/* dync_uniform_: draws from [from, to). In place; returns self. */
DYNC_API dync_tensor *(dync_uniform_)(dync_tensor *self, double from, double to);
#define dync_uniform_(self, from, to) DYNC_OP(dync_uniform_, dync__op_1Tff, DYNC__OP_uniform_, self, from, to)
/* dync_zero_: writes zero everywhere. In place; returns self. */
DYNC_API dync_tensor *(dync_zero_)(dync_tensor *self);
#define dync_zero_(self) DYNC_OP(dync_zero_, dync__op_1T, DYNC__OP_zero_, self)
/* dync_empty_like: uninitialised elements in the form of self. No gradient. */
DYNC_API dync_tensor *(dync_empty_like)(dync_tensor *self);
#define dync_empty_like(self) DYNC_OP(dync_empty_like, dync__op_1T, DYNC__OP_empty_like, self)
/* dync_eye: n by m, ones on the diagonal. No gradient. */
DYNC_API dync_tensor *(dync_eye)(int64_t n, int64_t m, dync_dtype dtype, dync_device device);
#define dync_eye(n, m, dtype, device) DYNC_OP(dync_eye, dync__op_1llye, DYNC__OP_eye, n, m, dtype, device)
/* dync_full_like: one number everywhere, in the form of self. No gradient. */
DYNC_API dync_tensor *(dync_full_like)(dync_tensor *self, dync_value fill_value);
#define dync_full_like(self, fill_value) DYNC_SEQ2(dync_full_like, dync__op_1TV, DYNC__OP_full_like, self, DYNC_V(fill_value))
/* dync_ones_like: all ones, in the form of self. No gradient. */
DYNC_API dync_tensor *(dync_ones_like)(dync_tensor *self);
#define dync_ones_like(self) DYNC_OP(dync_ones_like, dync__op_1T, DYNC__OP_ones_like, self)
/* dync_rand_like: uniform in [0, 1), in the form of self. No gradient. */
DYNC_API dync_tensor *(dync_rand_like)(dync_tensor *self);
#define dync_rand_like(self) DYNC_OP(dync_rand_like, dync__op_1T, DYNC__OP_rand_like, self)
/* dync_randn_like: standard normal, in the form of self. No gradient. */
DYNC_API dync_tensor *(dync_randn_like)(dync_tensor *self);
#define dync_randn_like(self) DYNC_OP(dync_randn_like, dync__op_1T, DYNC__OP_randn_like, self)
/* dync_zeros_like: all zeros, in the form of self. No gradient. */
DYNC_API dync_tensor *(dync_zeros_like)(dync_tensor *self);
#define dync_zeros_like(self) DYNC_OP(dync_zeros_like, dync__op_1T, DYNC__OP_zeros_like, self)
/* dync_all: no element is zero, as bool. No gradient. */
DYNC_API dync_tensor *(dync_all)(dync_tensor *self, dync_dims dim, bool keepdim);
#define dync_all(self, dim, keepdim) DYNC_OP(dync_all, dync__op_1Tdb, DYNC__OP_all, self, dim, keepdim)
/* dync_amax: the largest element; the gradient is shared by equal ones. */
DYNC_API dync_tensor *(dync_amax)(dync_tensor *self, dync_dims dim, bool keepdim);
#define dync_amax(self, dim, keepdim) DYNC_OP(dync_amax, dync__op_1Tdb, DYNC__OP_amax, self, dim, keepdim)
/* dync_amin: the smallest element; the gradient is shared by equal ones. */
DYNC_API dync_tensor *(dync_amin)(dync_tensor *self, dync_dims dim, bool keepdim);
#define dync_amin(self, dim, keepdim) DYNC_OP(dync_amin, dync__op_1Tdb, DYNC__OP_amin, self, dim, keepdim)
/* dync_any: some element is not zero, as bool. No gradient. */
DYNC_API dync_tensor *(dync_any)(dync_tensor *self, dync_dims dim, bool keepdim);
#define dync_any(self, dim, keepdim) DYNC_OP(dync_any, dync__op_1Tdb, DYNC__OP_any, self, dim, keepdim)
/* dync_argmax: the place of the first largest element along dim, int64. No gradient. */
DYNC_API dync_tensor *(dync_argmax)(dync_tensor *self, int dim, bool keepdim);
#define dync_argmax(self, dim, keepdim) DYNC_OP(dync_argmax, dync__op_1Tib, DYNC__OP_argmax, self, dim, keepdim)
/* dync_argmin: the place of the first smallest element along dim, int64. No gradient. */
DYNC_API dync_tensor *(dync_argmin)(dync_tensor *self, int dim, bool keepdim);
#define dync_argmin(self, dim, keepdim) DYNC_OP(dync_argmin, dync__op_1Tib, DYNC__OP_argmin, self, dim, keepdim)
/* dync_cumsum: running sums along dim. */
DYNC_API dync_tensor *(dync_cumsum)(dync_tensor *self, int dim);
#define dync_cumsum(self, dim) DYNC_OP(dync_cumsum, dync__op_1Ti, DYNC__OP_cumsum, self, dim)
/* dync_log_softmax: self - log(sum(exp(self))) along dim, without overflow. */
DYNC_API dync_tensor *(dync_log_softmax)(dync_tensor *self, int dim);
#define dync_log_softmax(self, dim) DYNC_OP(dync_log_softmax, dync__op_1Ti, DYNC__OP_log_softmax, self, dim)
/* dync_logsumexp: log(sum(exp(self))), without overflow. */
DYNC_API dync_tensor *(dync_logsumexp)(dync_tensor *self, dync_dims dim, bool keepdim);
#define dync_logsumexp(self, dim, keepdim) DYNC_OP(dync_logsumexp, dync__op_1Tdb, DYNC__OP_logsumexp, self, dim, keepdim)
/* dync_max: the largest of all elements; the gradient is shared by equal ones. */
DYNC_API dync_tensor *(dync_max)(dync_tensor *self);
#define dync_max(self) DYNC_OP(dync_max, dync__op_1T, DYNC__OP_max, self)
/* dync_max_dim: the largest elements along dim and their places. A list of 2 tensors. */
DYNC_API dync_value (dync_max_dim)(dync_tensor *self, int dim, bool keepdim);
#define dync_max_dim(self, dim, keepdim) DYNC_OP(dync_max_dim, dync__op_nTib, DYNC__OP_max_dim, self, dim, keepdim)
/* dync_mean: the mean; floating point only. */
DYNC_API dync_tensor *(dync_mean)(dync_tensor *self, dync_dims dim, bool keepdim);
#define dync_mean(self, dim, keepdim) DYNC_OP(dync_mean, dync__op_1Tdb, DYNC__OP_mean, self, dim, keepdim)
/* dync_min: the smallest of all elements; the gradient is shared by equal ones. */
DYNC_API dync_tensor *(dync_min)(dync_tensor *self);
#define dync_min(self) DYNC_OP(dync_min, dync__op_1T, DYNC__OP_min, self)
/* dync_min_dim: the smallest elements along dim and their places. A list of 2 tensors. */
DYNC_API dync_value (dync_min_dim)(dync_tensor *self, int dim, bool keepdim);
#define dync_min_dim(self, dim, keepdim) DYNC_OP(dync_min_dim, dync__op_nTib, DYNC__OP_min_dim, self, dim, keepdim)
/* dync_norm: the p-norm: sum(abs(self) ** p) ** (1 / p). */
DYNC_API dync_tensor *(dync_norm)(dync_tensor *self, dync_value p, dync_dims dim, bool keepdim);
#define dync_norm(self, p, dim, keepdim) DYNC_SEQ2_AND(dync_norm, dync__op_1TVdb, DYNC__OP_norm, self, DYNC_V(p), dim, keepdim)
/* dync_prod: the product; integers give int64. */
DYNC_API dync_tensor *(dync_prod)(dync_tensor *self, dync_dims dim, bool keepdim);
#define dync_prod(self, dim, keepdim) DYNC_OP(dync_prod, dync__op_1Tdb, DYNC__OP_prod, self, dim, keepdim)
/* dync_softmax: exp(self - max) / sum of the same, along dim. */
DYNC_API dync_tensor *(dync_softmax)(dync_tensor *self, int dim);
#define dync_softmax(self, dim) DYNC_OP(dync_softmax, dync__op_1Ti, DYNC__OP_softmax, self, dim)
/* dync_std: standard deviation; correction 1 divides by n - 1. */
DYNC_API dync_tensor *(dync_std)(dync_tensor *self, dync_dims dim, int correction, bool keepdim);
#define dync_std(self, dim, correction, keepdim) DYNC_OP(dync_std, dync__op_1Tdib, DYNC__OP_std, self, dim, correction, keepdim)
/* dync_sum: the sum; integers give int64. */
DYNC_API dync_tensor *(dync_sum)(dync_tensor *self, dync_dims dim, bool keepdim);
#define dync_sum(self, dim, keepdim) DYNC_OP(dync_sum, dync__op_1Tdb, DYNC__OP_sum, self, dim, keepdim)
/* dync_var: variance; correction 1 divides by n - 1. */
DYNC_API dync_tensor *(dync_var)(dync_tensor *self, dync_dims dim, int correction, bool keepdim);
#define dync_var(self, dim, correction, keepdim) DYNC_OP(dync_var, dync__op_1Tdib, DYNC__OP_var, self, dim, correction, keepdim)
/* dync_addmm: self + mat1 @ mat2; self is broadcast. */
DYNC_API dync_tensor *(dync_addmm)(dync_tensor *self, dync_tensor *mat1, dync_tensor *mat2);
#define dync_addmm(self, mat1, mat2) DYNC_SEQ2_AND(dync_addmm, dync__op_1TTT, DYNC__OP_addmm, self, mat1, mat2)
/* dync_bmm: a batch of matrix products: [B, M, K] @ [B, K, N]. */
DYNC_API dync_tensor *(dync_bmm)(dync_tensor *self, dync_tensor *mat2);
#define dync_bmm(self, mat2) DYNC_SEQ2(dync_bmm, dync__op_1TT, DYNC__OP_bmm, self, mat2)
/* dync_dot: the scalar product of two vectors. */
DYNC_API dync_tensor *(dync_dot)(dync_tensor *self, dync_tensor *tensor);
#define dync_dot(self, tensor) DYNC_SEQ2(dync_dot, dync__op_1TT, DYNC__OP_dot, self, tensor)
/* dync_int_mm: matrix product of [M, K] and [K, N] of I8 with sums in I32, for quantised weights. Compiled, the cast, scales and bias behind it run on rows in the cache. No gradient. */
DYNC_API dync_tensor *(dync_int_mm)(dync_tensor *self, dync_tensor *mat2);
#define dync_int_mm(self, mat2) DYNC_SEQ2(dync_int_mm, dync__op_1TT, DYNC__OP_int_mm, self, mat2)
/* dync_linear: input @ weight^T + bias, over any leading dims. */
DYNC_API dync_tensor *(dync_linear)(dync_tensor *input, dync_tensor *weight, dync_tensor *bias);
#define dync_linear(input, weight, bias) DYNC_SEQ2_AND(dync_linear, dync__op_1TTO, DYNC__OP_linear, input, weight, bias)
/* dync_matmul: matrix product of vectors, matrices and batches of them, broadcast. */
DYNC_API dync_tensor *(dync_matmul)(dync_tensor *self, dync_tensor *other);
#define dync_matmul(self, other) DYNC_SEQ2(dync_matmul, dync__op_1TT, DYNC__OP_matmul, self, other)
/* dync_mm: matrix product of [M, K] and [K, N]. */
DYNC_API dync_tensor *(dync_mm)(dync_tensor *self, dync_tensor *mat2);
#define dync_mm(self, mat2) DYNC_SEQ2(dync_mm, dync__op_1TT, DYNC__OP_mm, self, mat2)
/* dync_mv: matrix times vector. */
DYNC_API dync_tensor *(dync_mv)(dync_tensor *self, dync_tensor *vec);
#define dync_mv(self, vec) DYNC_SEQ2(dync_mv, dync__op_1TT, DYNC__OP_mv, self, vec)
/* dync_outer: all products of two vectors' elements. */
DYNC_API dync_tensor *(dync_outer)(dync_tensor *self, dync_tensor *vec2);
#define dync_outer(self, vec2) DYNC_SEQ2(dync_outer, dync__op_1TT, DYNC__OP_outer, self, vec2)
/* dync_bernoulli: 1 with the probability that self gives, else 0. No gradient. */
DYNC_API dync_tensor *(dync_bernoulli)(dync_tensor *self);
#define dync_bernoulli(self) DYNC_OP(dync_bernoulli, dync__op_1T, DYNC__OP_bernoulli, self)
/* dync_count_nonzero: how many elements are not zero along dim, int64. No gradient. */
DYNC_API dync_tensor *(dync_count_nonzero)(dync_tensor *self, dync_dims dim);
#define dync_count_nonzero(self, dim) DYNC_OP(dync_count_nonzero, dync__op_1Td, DYNC__OP_count_nonzero, self, dim)
/* dync_isclose: abs(self - other) <= atol + rtol * abs(other), as bool. No gradient. */
DYNC_API dync_tensor *(dync_isclose)(dync_tensor *self, dync_tensor *other, double rtol, double atol, bool equal_nan);
#define dync_isclose(self, other, rtol, atol, equal_nan) DYNC_SEQ2_AND(dync_isclose, dync__op_1TTffb, DYNC__OP_isclose, self, other, rtol, atol, equal_nan)
/* dync_logaddexp: log(exp(self) + exp(other)), without overflow. */
DYNC_API dync_tensor *(dync_logaddexp)(dync_tensor *self, dync_tensor *other);
#define dync_logaddexp(self, other) DYNC_SEQ2(dync_logaddexp, dync__op_1TT, DYNC__OP_logaddexp, self, other)
/* dync_nan_to_num: NaN as nan (none: 0), infinities as posinf and neginf (none: the largest numbers of the dtype). */
DYNC_API dync_tensor *(dync_nan_to_num)(dync_tensor *self, dync_value nan, dync_value posinf, dync_value neginf);
#define dync_nan_to_num(self, nan, posinf, neginf) DYNC_OP(dync_nan_to_num, dync__op_1TVVV, DYNC__OP_nan_to_num, self, DYNC_V(nan), DYNC_V(posinf), DYNC_V(neginf))
/* dync_xlogy: self * log(other); 0 where self is 0. */
DYNC_API dync_tensor *(dync_xlogy)(dync_tensor *self, dync_tensor *other);
#define dync_xlogy(self, other) DYNC_SEQ2(dync_xlogy, dync__op_1TT, DYNC__OP_xlogy, self, other)
/* dync_cosine_similarity: the cosine of the angle between vectors along dim; lengths are held at eps from below. */
DYNC_API dync_tensor *(dync_cosine_similarity)(dync_tensor *x1, dync_tensor *x2, int dim, double eps);
#define dync_cosine_similarity(x1, x2, dim, eps) DYNC_SEQ2_AND(dync_cosine_similarity, dync__op_1TTif, DYNC__OP_cosine_similarity, x1, x2, dim, eps)
/* dync_normalize: self over its p-norm along dim, which is held at eps from below. */
DYNC_API dync_tensor *(dync_normalize)(dync_tensor *self, dync_value p, int dim, double eps);
#define dync_normalize(self, p, dim, eps) DYNC_SEQ2_AND(dync_normalize, dync__op_1TVif, DYNC__OP_normalize, self, DYNC_V(p), dim, eps)
/* dync_addmv: self + mat @ vec; self is broadcast. */
DYNC_API dync_tensor *(dync_addmv)(dync_tensor *self, dync_tensor *mat, dync_tensor *vec);
#define dync_addmv(self, mat, vec) DYNC_SEQ2_AND(dync_addmv, dync__op_1TTT, DYNC__OP_addmv, self, mat, vec)
/* dync_baddbmm: self + batch1 @ batch2; self is broadcast. */
DYNC_API dync_tensor *(dync_baddbmm)(dync_tensor *self, dync_tensor *batch1, dync_tensor *batch2);
#define dync_baddbmm(self, batch1, batch2) DYNC_SEQ2_AND(dync_baddbmm, dync__op_1TTT, DYNC__OP_baddbmm, self, batch1, batch2)
/* dync_einsum: Einstein's sums: "bij,bjk->bik"; an ellipsis stands for broadcast dims. */
DYNC_API dync_tensor *(dync_einsum)(const char *equation, dync_value operands);
#define dync_einsum(equation, operands) DYNC_OP(dync_einsum, dync__op_1sL, DYNC__OP_einsum, equation, DYNC_V(operands))
/* dync_trace: the sum of a matrix's diagonal. */
DYNC_API dync_tensor *(dync_trace)(dync_tensor *self);
#define dync_trace(self) DYNC_OP(dync_trace, dync__op_1T, DYNC__OP_trace, self)
/* dync_adaptive_avg_pool2d: means over tiles, so that output_size come out. */
DYNC_API dync_tensor *(dync_adaptive_avg_pool2d)(dync_tensor *self, dync_dims output_size);
#define dync_adaptive_avg_pool2d(self, output_size) DYNC_OP(dync_adaptive_avg_pool2d, dync__op_1Td, DYNC__OP_adaptive_avg_pool2d, self, output_size)
/* dync_avg_pool2d: means over windows; an empty stride is the kernel size. */
DYNC_API dync_tensor *(dync_avg_pool2d)(dync_tensor *self, dync_dims kernel_size, dync_dims stride, dync_dims padding, bool ceil_mode, bool count_include_pad);
#define dync_avg_pool2d(self, kernel_size, stride, padding, ceil_mode, count_include_pad) DYNC_OP(dync_avg_pool2d, dync__op_1Tdddbb, DYNC__OP_avg_pool2d, self, kernel_size, stride, padding, ceil_mode, count_include_pad)
/* dync_batch_norm: normalises each channel; in training the running statistics are updated. */
DYNC_API dync_tensor *(dync_batch_norm)(dync_tensor *input, dync_tensor *weight, dync_tensor *bias, dync_tensor *running_mean, dync_tensor *running_var, bool training, double momentum, double eps);
#define dync_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps) DYNC_OP(dync_batch_norm, dync__op_1TOOOObff, DYNC__OP_batch_norm, input, weight, bias, running_mean, running_var, training, momentum, eps)
/* dync_conv2d: 2-d cross-correlation of [N, C, H, W] or [C, H, W]. */
DYNC_API dync_tensor *(dync_conv2d)(dync_tensor *input, dync_tensor *weight, dync_tensor *bias, dync_dims stride, dync_dims padding, dync_dims dilation, int groups);
#define dync_conv2d(input, weight, bias, stride, padding, dilation, groups) DYNC_SEQ2_AND(dync_conv2d, dync__op_1TTOdddi, DYNC__OP_conv2d, input, weight, bias, stride, padding, dilation, groups)
/* dync_dropout: in training zero with probability p, else scaled by 1 / (1 - p). */
DYNC_API dync_tensor *(dync_dropout)(dync_tensor *self, double p, bool training);
#define dync_dropout(self, p, training) DYNC_OP(dync_dropout, dync__op_1Tfb, DYNC__OP_dropout, self, p, training)
/* dync_embedding: the rows of weight that indices name. */
DYNC_API dync_tensor *(dync_embedding)(dync_tensor *weight, dync_tensor *indices);
#define dync_embedding(weight, indices) DYNC_SEQ2(dync_embedding, dync__op_1TT, DYNC__OP_embedding, weight, indices)
/* dync_layer_norm: normalises over the trailing dims. */
DYNC_API dync_tensor *(dync_layer_norm)(dync_tensor *input, dync_dims normalized_shape, dync_tensor *weight, dync_tensor *bias, double eps);
#define dync_layer_norm(input, normalized_shape, weight, bias, eps) DYNC_OP(dync_layer_norm, dync__op_1TdOOf, DYNC__OP_layer_norm, input, normalized_shape, weight, bias, eps)
/* dync_max_pool2d: maxima of windows; an empty stride is the kernel size. */
DYNC_API dync_tensor *(dync_max_pool2d)(dync_tensor *self, dync_dims kernel_size, dync_dims stride, dync_dims padding, dync_dims dilation, bool ceil_mode);
#define dync_max_pool2d(self, kernel_size, stride, padding, dilation, ceil_mode) DYNC_OP(dync_max_pool2d, dync__op_1Tddddb, DYNC__OP_max_pool2d, self, kernel_size, stride, padding, dilation, ceil_mode)
/* dync_max_pool2d_with_indices: maxima of windows and their places in the plane. A list of 2 tensors. */
DYNC_API dync_value (dync_max_pool2d_with_indices)(dync_tensor *self, dync_dims kernel_size, dync_dims stride, dync_dims padding, dync_dims dilation, bool ceil_mode);
#define dync_max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode) DYNC_OP(dync_max_pool2d_with_indices, dync__op_nTddddb, DYNC__OP_max_pool2d_with_indices, self, kernel_size, stride, padding, dilation, ceil_mode)
/* dync_one_hot: a new last dim with a one at the class, int64; num_classes -1: up to the largest class. No gradient. */
DYNC_API dync_tensor *(dync_one_hot)(dync_tensor *self, int64_t num_classes);
#define dync_one_hot(self, num_classes) DYNC_OP(dync_one_hot, dync__op_1Tl, DYNC__OP_one_hot, self, num_classes)
/* dync_celu: self where positive, else alpha * (exp(self / alpha) - 1). */
DYNC_API dync_tensor *(dync_celu)(dync_tensor *self, double alpha);
#define dync_celu(self, alpha) DYNC_OP(dync_celu, dync__op_1Tf, DYNC__OP_celu, self, alpha)
/* dync_glu: the first half of dim times sigmoid of the second. */
DYNC_API dync_tensor *(dync_glu)(dync_tensor *self, int dim);
#define dync_glu(self, dim) DYNC_OP(dync_glu, dync__op_1Ti, DYNC__OP_glu, self, dim)
/* dync_hardshrink: 0 where -lambd <= self <= lambd, else self. */
DYNC_API dync_tensor *(dync_hardshrink)(dync_tensor *self, double lambd);
#define dync_hardshrink(self, lambd) DYNC_OP(dync_hardshrink, dync__op_1Tf, DYNC__OP_hardshrink, self, lambd)
/* dync_hardsigmoid: self + 3 held between 0 and 6, over 6. */
DYNC_API dync_tensor *(dync_hardsigmoid)(dync_tensor *self);
#define dync_hardsigmoid(self) DYNC_OP(dync_hardsigmoid, dync__op_1T, DYNC__OP_hardsigmoid, self)
/* dync_hardswish: self * hardsigmoid(self). */
DYNC_API dync_tensor *(dync_hardswish)(dync_tensor *self);
#define dync_hardswish(self) DYNC_OP(dync_hardswish, dync__op_1T, DYNC__OP_hardswish, self)
/* dync_prelu: self where positive, else weight * self; weight: one number, or one a channel (dim 1). */
DYNC_API dync_tensor *(dync_prelu)(dync_tensor *self, dync_tensor *weight);
#define dync_prelu(self, weight) DYNC_SEQ2(dync_prelu, dync__op_1TT, DYNC__OP_prelu, self, weight)
/* dync_selu: scaled elu whose fixed point has mean 0 and variance 1. */
DYNC_API dync_tensor *(dync_selu)(dync_tensor *self);
#define dync_selu(self) DYNC_OP(dync_selu, dync__op_1T, DYNC__OP_selu, self)
/* dync_softmin: softmax of -self. */
DYNC_API dync_tensor *(dync_softmin)(dync_tensor *self, int dim);
#define dync_softmin(self, dim) DYNC_OP(dync_softmin, dync__op_1Ti, DYNC__OP_softmin, self, dim)
/* dync_softshrink: self moved by lambd towards 0, which it does not cross. */
DYNC_API dync_tensor *(dync_softshrink)(dync_tensor *self, double lambd);
#define dync_softshrink(self, lambd) DYNC_OP(dync_softshrink, dync__op_1Tf, DYNC__OP_softshrink, self, lambd)
/* dync_softsign: self / (1 + abs(self)). */
DYNC_API dync_tensor *(dync_softsign)(dync_tensor *self);
#define dync_softsign(self) DYNC_OP(dync_softsign, dync__op_1T, DYNC__OP_softsign, self)
/* dync_tanhshrink: self - tanh(self). */
DYNC_API dync_tensor *(dync_tanhshrink)(dync_tensor *self);
#define dync_tanhshrink(self) DYNC_OP(dync_tanhshrink, dync__op_1T, DYNC__OP_tanhshrink, self)
/* dync_threshold: self where above threshold, else value. */
DYNC_API dync_tensor *(dync_threshold)(dync_tensor *self, double threshold, dync_value value);
#define dync_threshold(self, threshold, value) DYNC_OP(dync_threshold, dync__op_1TfV, DYNC__OP_threshold, self, threshold, DYNC_V(value))
/* dync_conv1d: 1-d cross-correlation of [N, C, L] or [C, L]. */
DYNC_API dync_tensor *(dync_conv1d)(dync_tensor *input, dync_tensor *weight, dync_tensor *bias, dync_dims stride, dync_dims padding, dync_dims dilation, int groups);
#define dync_conv1d(input, weight, bias, stride, padding, dilation, groups) DYNC_SEQ2_AND(dync_conv1d, dync__op_1TTOdddi, DYNC__OP_conv1d, input, weight, bias, stride, padding, dilation, groups)
/* dync_conv_transpose2d: the gradient of conv2d as an operator: enlarges [N, C, H, W] or [C, H, W]; weight [C, out / groups, KH, KW]. */
DYNC_API dync_tensor *(dync_conv_transpose2d)(dync_tensor *input, dync_tensor *weight, dync_tensor *bias, dync_dims stride, dync_dims padding, dync_dims output_padding, int groups, dync_dims dilation);
#define dync_conv_transpose2d(input, weight, bias, stride, padding, output_padding, groups, dilation) DYNC_SEQ2_AND(dync_conv_transpose2d, dync__op_1TTOdddid, DYNC__OP_conv_transpose2d, input, weight, bias, stride, padding, output_padding, groups, dilation)
/* dync_group_norm: normalises over groups of channels and all that follows. */
DYNC_API dync_tensor *(dync_group_norm)(dync_tensor *input, int64_t num_groups, dync_tensor *weight, dync_tensor *bias, double eps);
#define dync_group_norm(input, num_groups, weight, bias, eps) DYNC_OP(dync_group_norm, dync__op_1TlOOf, DYNC__OP_group_norm, input, num_groups, weight, bias, eps)
/* dync_instance_norm: normalises each channel of each sample. */
DYNC_API dync_tensor *(dync_instance_norm)(dync_tensor *input, dync_tensor *weight, dync_tensor *bias, double eps);
#define dync_instance_norm(input, weight, bias, eps) DYNC_OP(dync_instance_norm, dync__op_1TOOf, DYNC__OP_instance_norm, input, weight, bias, eps)
/* dync_rms_norm: input over the root of its mean square over the trailing dims; eps none: that of the dtype. */
DYNC_API dync_tensor *(dync_rms_norm)(dync_tensor *input, dync_dims normalized_shape, dync_tensor *weight, dync_value eps);
#define dync_rms_norm(input, normalized_shape, weight, eps) DYNC_OP(dync_rms_norm, dync__op_1TdOV, DYNC__OP_rms_norm, input, normalized_shape, weight, DYNC_V(eps))
/* dync_scaled_dot_product_attention: softmax(query @ key^T * scale) @ value; a bool mask says what may be seen, a float one is added; scale none: 1 / sqrt(width). */
DYNC_API dync_tensor *(dync_scaled_dot_product_attention)(dync_tensor *query, dync_tensor *key, dync_tensor *value, dync_tensor *attn_mask, double dropout_p, bool is_causal, dync_value scale);
#define dync_scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale) DYNC_SEQ3_AND(dync_scaled_dot_product_attention, dync__op_1TTTOfbV, DYNC__OP_scaled_dot_product_attention, query, key, value, attn_mask, dropout_p, is_causal, DYNC_V(scale))
/* dync_pixel_shuffle: [.., C r r, H, W] as [.., C, H r, W r]. */
DYNC_API dync_tensor *(dync_pixel_shuffle)(dync_tensor *self, int64_t upscale_factor);
#define dync_pixel_shuffle(self, upscale_factor) DYNC_OP(dync_pixel_shuffle, dync__op_1Tl, DYNC__OP_pixel_shuffle, self, upscale_factor)
/* dync_upsample_nearest2d: [N, C, H, W] in another size, by the nearest element. */
DYNC_API dync_tensor *(dync_upsample_nearest2d)(dync_tensor *self, dync_dims output_size);
#define dync_upsample_nearest2d(self, output_size) DYNC_OP(dync_upsample_nearest2d, dync__op_1Td, DYNC__OP_upsample_nearest2d, self, output_size)
/* dync_pad: value (none: 0) around self: before and after the last dim, then the one before it; negative numbers cut off. */
DYNC_API dync_tensor *(dync_pad)(dync_tensor *self, dync_dims pad, dync_value value);
#define dync_pad(self, pad, value) DYNC_OP(dync_pad, dync__op_1TdV, DYNC__OP_pad, self, pad, DYNC_V(value))
/* dync_movedim: dims of source at the places of destination, the others in their order. */
DYNC_API dync_tensor *(dync_movedim)(dync_tensor *self, dync_dims source, dync_dims destination);
#define dync_movedim(self, source, destination) DYNC_OP(dync_movedim, dync__op_1Tdd, DYNC__OP_movedim, self, source, destination)
/* dync_unfold: windows of dim as a new last dim, without copying. */
DYNC_API dync_tensor *(dync_unfold)(dync_tensor *self, int dim, int64_t size, int64_t step);
#define dync_unfold(self, dim, size, step) DYNC_OP(dync_unfold, dync__op_1Till, DYNC__OP_unfold, self, dim, size, step)
/* dync_huber_loss: squared below delta, linear above; the mean. */
DYNC_API dync_tensor *(dync_huber_loss)(dync_tensor *self, dync_tensor *target, double delta);
#define dync_huber_loss(self, target, delta) DYNC_SEQ2_AND(dync_huber_loss, dync__op_1TTf, DYNC__OP_huber_loss, self, target, delta)
/* dync_kl_div: the mean of target * (log target - self); self is a logarithm. */
DYNC_API dync_tensor *(dync_kl_div)(dync_tensor *self, dync_tensor *target, bool log_target);
#define dync_kl_div(self, target, log_target) DYNC_SEQ2_AND(dync_kl_div, dync__op_1TTb, DYNC__OP_kl_div, self, target, log_target)
/* dync_binary_cross_entropy: the mean of -(target log self + (1 - target) log(1 - self)), logs held >= -100. */
DYNC_API dync_tensor *(dync_binary_cross_entropy)(dync_tensor *self, dync_tensor *target);
#define dync_binary_cross_entropy(self, target) DYNC_SEQ2(dync_binary_cross_entropy, dync__op_1TT, DYNC__OP_binary_cross_entropy, self, target)
/* dync_binary_cross_entropy_with_logits: binary_cross_entropy of sigmoid(self), without overflow. */
DYNC_API dync_tensor *(dync_binary_cross_entropy_with_logits)(dync_tensor *self, dync_tensor *target);
#define dync_binary_cross_entropy_with_logits(self, target) DYNC_SEQ2(dync_binary_cross_entropy_with_logits, dync__op_1TT, DYNC__OP_binary_cross_entropy_with_logits, self, target)
/* dync_cross_entropy: the mean of -log_softmax(self)[target]; classes on dim 1; target -100 is left out; or target holds a share for each class. */
DYNC_API dync_tensor *(dync_cross_entropy)(dync_tensor *self, dync_tensor *target);
#define dync_cross_entropy(self, target) DYNC_SEQ2(dync_cross_entropy, dync__op_1TT, DYNC__OP_cross_entropy, self, target)
/* dync_l1_loss: the mean of abs(self - target). */
DYNC_API dync_tensor *(dync_l1_loss)(dync_tensor *self, dync_tensor *target);
#define dync_l1_loss(self, target) DYNC_SEQ2(dync_l1_loss, dync__op_1TT, DYNC__OP_l1_loss, self, target)
/* dync_mse_loss: the mean of (self - target) ** 2. */
DYNC_API dync_tensor *(dync_mse_loss)(dync_tensor *self, dync_tensor *target);
#define dync_mse_loss(self, target) DYNC_SEQ2(dync_mse_loss, dync__op_1TT, DYNC__OP_mse_loss, self, target)
/* dync_nll_loss: the mean of -self[target]; classes on dim 1; target -100 is left out. */
DYNC_API dync_tensor *(dync_nll_loss)(dync_tensor *self, dync_tensor *target);
#define dync_nll_loss(self, target) DYNC_SEQ2(dync_nll_loss, dync__op_1TT, DYNC__OP_nll_loss, self, target)
/* dync_smooth_l1_loss: squared below beta, absolute above; the mean. */
DYNC_API dync_tensor *(dync_smooth_l1_loss)(dync_tensor *self, dync_tensor *target, double beta);
#define dync_smooth_l1_loss(self, target, beta) DYNC_SEQ2_AND(dync_smooth_l1_loss, dync__op_1TTf, DYNC__OP_smooth_l1_loss, self, target, beta)
/* dync_as_strided: any sizes, strides and offset over the storage, which they must not leave. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_as_strided)(dync_tensor *self, dync_dims size, dync_dims stride, int64_t storage_offset);
#define dync_as_strided(self, size, stride, storage_offset) DYNC_OP(dync_as_strided, dync__op_1Tddl, DYNC__OP_as_strided, self, size, stride, storage_offset)
/* dync_contiguous: self if it is row major, else a copy that is. */
DYNC_API dync_tensor *(dync_contiguous)(dync_tensor *self);
#define dync_contiguous(self) DYNC_OP(dync_contiguous, dync__op_1T, DYNC__OP_contiguous, self)
/* dync_diagonal: the diagonal of two dims, as the last one. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_diagonal)(dync_tensor *self, int offset, int dim1, int dim2);
#define dync_diagonal(self, offset, dim1, dim2) DYNC_OP(dync_diagonal, dync__op_1Tiii, DYNC__OP_diagonal, self, offset, dim1, dim2)
/* dync_expand: repeats dims of size 1 without copying; -1 keeps a size. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_expand)(dync_tensor *self, dync_dims size);
#define dync_expand(self, size) DYNC_OP(dync_expand, dync__op_1Td, DYNC__OP_expand, self, size)
/* dync_expand_as: expand to the shape of other. */
DYNC_API dync_tensor *(dync_expand_as)(dync_tensor *self, dync_tensor *other);
#define dync_expand_as(self, other) DYNC_SEQ2(dync_expand_as, dync__op_1TT, DYNC__OP_expand_as, self, other)
/* dync_flatten: the dims from start to end as one. */
DYNC_API dync_tensor *(dync_flatten)(dync_tensor *self, int start_dim, int end_dim);
#define dync_flatten(self, start_dim, end_dim) DYNC_OP(dync_flatten, dync__op_1Tii, DYNC__OP_flatten, self, start_dim, end_dim)
/* dync_narrow: length places of dim, from start on. */
DYNC_API dync_tensor *(dync_narrow)(dync_tensor *self, int dim, int64_t start, int64_t length);
#define dync_narrow(self, dim, start, length) DYNC_OP(dync_narrow, dync__op_1Till, DYNC__OP_narrow, self, dim, start, length)
/* dync_permute: dims in a new order. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_permute)(dync_tensor *self, dync_dims dims);
#define dync_permute(self, dims) DYNC_OP(dync_permute, dync__op_1Td, DYNC__OP_permute, self, dims)
/* dync_reshape: a view of another shape where strides allow, else a copy; one -1 is inferred. */
DYNC_API dync_tensor *(dync_reshape)(dync_tensor *self, dync_dims shape);
#define dync_reshape(self, shape) DYNC_OP(dync_reshape, dync__op_1Td, DYNC__OP_reshape, self, shape)
/* dync_select: one place of dim, which goes away. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_select)(dync_tensor *self, int dim, int64_t index);
#define dync_select(self, dim, index) DYNC_OP(dync_select, dync__op_1Til, DYNC__OP_select, self, dim, index)
/* dync_slice: self[start:end:step] along dim; DYNC_END leaves the end open. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_slice)(dync_tensor *self, int dim, int64_t start, int64_t end, int64_t step);
#define dync_slice(self, dim, start, end, step) DYNC_OP(dync_slice, dync__op_1Tilll, DYNC__OP_slice, self, dim, start, end, step)
/* dync_squeeze: without dim, if its size is 1. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_squeeze)(dync_tensor *self, int dim);
#define dync_squeeze(self, dim) DYNC_OP(dync_squeeze, dync__op_1Ti, DYNC__OP_squeeze, self, dim)
/* dync_squeeze_all: without every dim of size 1. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_squeeze_all)(dync_tensor *self);
#define dync_squeeze_all(self) DYNC_OP(dync_squeeze_all, dync__op_1T, DYNC__OP_squeeze_all, self)
/* dync_t: the transpose of a matrix. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_t)(dync_tensor *self);
#define dync_t(self) DYNC_OP(dync_t, dync__op_1T, DYNC__OP_t, self)
/* dync_transpose: two dims exchanged. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_transpose)(dync_tensor *self, int dim0, int dim1);
#define dync_transpose(self, dim0, dim1) DYNC_OP(dync_transpose, dync__op_1Tii, DYNC__OP_transpose, self, dim0, dim1)
/* dync_unflatten: one dim as several; one -1 is inferred. */
DYNC_API dync_tensor *(dync_unflatten)(dync_tensor *self, int dim, dync_dims sizes);
#define dync_unflatten(self, dim, sizes) DYNC_OP(dync_unflatten, dync__op_1Tid, DYNC__OP_unflatten, self, dim, sizes)
/* dync_unsqueeze: a new dim of size 1. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_unsqueeze)(dync_tensor *self, int dim);
#define dync_unsqueeze(self, dim) DYNC_OP(dync_unsqueeze, dync__op_1Ti, DYNC__OP_unsqueeze, self, dim)
/* dync_view: another shape of the same elements, without copying; one -1 is inferred. A view: shares self's memory. */
DYNC_API dync_tensor *(dync_view)(dync_tensor *self, dync_dims size);
#define dync_view(self, size) DYNC_OP(dync_view, dync__op_1Td, DYNC__OP_view, self, size)
/* dync_view_as: view in the shape of other. */
DYNC_API dync_tensor *(dync_view_as)(dync_tensor *self, dync_tensor *other);
#define dync_view_as(self, other) DYNC_SEQ2(dync_view_as, dync__op_1TT, DYNC__OP_view_as, self, other)
/* dync_argsort: the places that sort self along dim, int64. No gradient. */
DYNC_API dync_tensor *(dync_argsort)(dync_tensor *self, int dim, bool descending);
#define dync_argsort(self, dim, descending) DYNC_OP(dync_argsort, dync__op_1Tib, DYNC__OP_argsort, self, dim, descending)
/* dync_cat: tensors one after another along dim. */
DYNC_API dync_tensor *(dync_cat)(dync_value tensors, int dim);
#define dync_cat(tensors, dim) DYNC_OP(dync_cat, dync__op_1Li, DYNC__OP_cat, DYNC_V(tensors), dim)
/* dync_clone: a copy. */
DYNC_API dync_tensor *(dync_clone)(dync_tensor *self);
#define dync_clone(self) DYNC_OP(dync_clone, dync__op_1T, DYNC__OP_clone, self)
/* dync_flip: elements in reverse order along dims. */
DYNC_API dync_tensor *(dync_flip)(dync_tensor *self, dync_dims dims);
#define dync_flip(self, dims) DYNC_OP(dync_flip, dync__op_1Td, DYNC__OP_flip, self, dims)
/* dync_gather: out[i][j] = self[index[i][j]][j] for dim 0. */
DYNC_API dync_tensor *(dync_gather)(dync_tensor *self, int dim, dync_tensor *index);
#define dync_gather(self, dim, index) DYNC_OP(dync_gather, dync__op_1TiT, DYNC__OP_gather, self, dim, index)
/* dync_index_add: self with rows of source added to the rows that index names. */
DYNC_API dync_tensor *(dync_index_add)(dync_tensor *self, int dim, dync_tensor *index, dync_tensor *source);
#define dync_index_add(self, dim, index, source) DYNC_OP(dync_index_add, dync__op_1TiTT, DYNC__OP_index_add, self, dim, index, source)
/* dync_index_select: the places of dim that the vector index names. */
DYNC_API dync_tensor *(dync_index_select)(dync_tensor *self, int dim, dync_tensor *index);
#define dync_index_select(self, dim, index) DYNC_OP(dync_index_select, dync__op_1TiT, DYNC__OP_index_select, self, dim, index)
/* dync_masked_select: the elements whose mask is set, as a vector. The shape depends on data: a graph break. */
DYNC_API dync_tensor *(dync_masked_select)(dync_tensor *self, dync_tensor *mask);
#define dync_masked_select(self, mask) DYNC_SEQ2(dync_masked_select, dync__op_1TT, DYNC__OP_masked_select, self, mask)
/* dync_nonzero: the places of elements that are not zero, [count, rank], int64. No gradient. The shape depends on data: a graph break. */
DYNC_API dync_tensor *(dync_nonzero)(dync_tensor *self);
#define dync_nonzero(self) DYNC_OP(dync_nonzero, dync__op_1T, DYNC__OP_nonzero, self)
/* dync_repeat: self tiled along each dim. */
DYNC_API dync_tensor *(dync_repeat)(dync_tensor *self, dync_dims repeats);
#define dync_repeat(self, repeats) DYNC_OP(dync_repeat, dync__op_1Td, DYNC__OP_repeat, self, repeats)
/* dync_roll: elements moved along dims, around the end; without dims over the flattened tensor. */
DYNC_API dync_tensor *(dync_roll)(dync_tensor *self, dync_dims shifts, dync_dims dims);
#define dync_roll(self, shifts, dims) DYNC_OP(dync_roll, dync__op_1Tdd, DYNC__OP_roll, self, shifts, dims)
/* dync_scatter: self with src written to the places that index names. */
DYNC_API dync_tensor *(dync_scatter)(dync_tensor *self, int dim, dync_tensor *index, dync_value src);
#define dync_scatter(self, dim, index, src) DYNC_OP(dync_scatter, dync__op_1TiTV, DYNC__OP_scatter, self, dim, index, DYNC_V(src))
/* dync_scatter_add: self with src added at the places that index names. */
DYNC_API dync_tensor *(dync_scatter_add)(dync_tensor *self, int dim, dync_tensor *index, dync_tensor *src);
#define dync_scatter_add(self, dim, index, src) DYNC_OP(dync_scatter_add, dync__op_1TiTT, DYNC__OP_scatter_add, self, dim, index, src)
/* dync_sort: sorted along dim, equal elements in their order, and the places they came from. A list of 2 tensors. */
DYNC_API dync_value (dync_sort)(dync_tensor *self, int dim, bool descending);
#define dync_sort(self, dim, descending) DYNC_OP(dync_sort, dync__op_nTib, DYNC__OP_sort, self, dim, descending)
/* dync_stack: tensors of one shape along a new dim. */
DYNC_API dync_tensor *(dync_stack)(dync_value tensors, int dim);
#define dync_stack(tensors, dim) DYNC_OP(dync_stack, dync__op_1Li, DYNC__OP_stack, DYNC_V(tensors), dim)
/* dync_take_along_dim: gather with self and indices broadcast outside dim. */
DYNC_API dync_tensor *(dync_take_along_dim)(dync_tensor *self, dync_tensor *indices, int dim);
#define dync_take_along_dim(self, indices, dim) DYNC_SEQ2_AND(dync_take_along_dim, dync__op_1TTi, DYNC__OP_take_along_dim, self, indices, dim)
/* dync_topk: the k largest or smallest along dim, in order, and their places. A list of 2 tensors. */
DYNC_API dync_value (dync_topk)(dync_tensor *self, int64_t k, int dim, bool largest, bool sorted);
#define dync_topk(self, k, dim, largest, sorted) DYNC_OP(dync_topk, dync__op_nTlibb, DYNC__OP_topk, self, k, dim, largest, sorted)
/* dync_tril: zero above the diagonal of the last two dims. */
DYNC_API dync_tensor *(dync_tril)(dync_tensor *self, int diagonal);
#define dync_tril(self, diagonal) DYNC_OP(dync_tril, dync__op_1Ti, DYNC__OP_tril, self, diagonal)
/* dync_triu: zero below the diagonal of the last two dims. */
DYNC_API dync_tensor *(dync_triu)(dync_tensor *self, int diagonal);
#define dync_triu(self, diagonal) DYNC_OP(dync_triu, dync__op_1Ti, DYNC__OP_triu, self, diagonal)
/* dync_unique: the elements in order, each once, as a vector. No gradient. The shape depends on data: a graph break. */
DYNC_API dync_tensor *(dync_unique)(dync_tensor *self);
#define dync_unique(self) DYNC_OP(dync_unique, dync__op_1T, DYNC__OP_unique, self)
