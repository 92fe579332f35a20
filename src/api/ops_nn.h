/* ---- operators: layers and losses (op/ops_nn.def.h) ----
 *   errors, notes  as of all operators (api/ops.h)
 *   thread         any */
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
