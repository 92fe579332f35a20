/* op/ops_nn.def.h: layers and losses. Rows of ops.def.h. */
#ifndef DYNC__OPS_NN_DEF_H
#define DYNC__OPS_NN_DEF_H

/* clang-format off */
#define DYNC__OPS_NN(X)                                                                                                \
    X(adaptive_avg_pool2d, COMPOSITE, "(Tensor self, Dims output_size)", 1, i_adaptive_avg_pool2d, none, none, none,   \
      d_adaptive_avg_pool2d, "F.*", 0, -1,                                                                             \
      "means over tiles, so that output_size come out")                                                                \
    X(avg_pool2d, KERNEL,                                                                                              \
      "(Tensor self, Dims kernel_size, Dims stride, Dims padding, bool ceil_mode, bool " "count_include_pad)", 1,      \
      i_avg_pool2d, none, l_avg_pool2d, g_avg_pool2d, none, "F.*", DYNC__OP_WORK_WINDOW,                               \
      -1, "means over windows; an empty stride is the kernel size")                                                    \
    X(avg_pool2d_backward, KERNEL,                                                                                     \
      "(Tensor grad_output, Tensor self, Dims kernel_size, Dims stride, Dims padding, bool "                           \
      "ceil_mode, bool count_include_pad)", 1, i_avg_pool2d_backward, none, l_avg_pool2d_backward,                     \
      g_avg_pool2d_backward, none, "torch.ops.aten.avg_pool2d_backward({0}, {1}, {2}, {3}, {4}, {5}, {6}, None)",      \
      DYNC__OP_PRIVATE | DYNC__OP_FILE, -1, "gradient of avg_pool2d")                                                  \
    X(batch_norm, COMPOSITE,                                                                                           \
      "(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool " "training, "     \
      "float momentum, float eps)", 1, i_batch_norm, none, none, none, d_batch_norm,                                   \
      "torch.nn.functional.batch_norm({0}, {3}, {4}, {1}, {2}, {5}, {6}, {7})", DYNC__OP_WRITES, -1,                   \
      "normalises each channel; in training the running statistics are updated")                                       \
    X(conv1d, COMPOSITE,                                                                                               \
      "(Tensor input, Tensor weight, Tensor? bias, Dims stride, Dims padding, Dims dilation, int " "groups)", 1,       \
      i_composite, none, none, none, d_conv1d, "torch.*", 0, -1,                                                       \
      "1-d cross-correlation of [N, C, L] or [C, L]")                                                                  \
    X(conv2d, COMPOSITE,                                                                                               \
      "(Tensor input, Tensor weight, Tensor? bias, Dims stride, Dims padding, Dims dilation, int " "groups)", 1,       \
      i_conv2d, none, none, none, d_conv2d, "torch.*", DYNC__OP_WORK_CONV, -1,                                         \
      "2-d cross-correlation of [N, C, H, W] or [C, H, W]")                                                            \
    X(conv_transpose2d, COMPOSITE,                                                                                     \
      "(Tensor input, Tensor weight, Tensor? bias, Dims stride, Dims padding, Dims output_padding, int "               \
      "groups, Dims dilation)", 1, i_composite, none, none, none, d_conv_transpose2d, "torch.*", 0,                    \
      -1, "the gradient of conv2d as an operator: enlarges [N, C, H, W] or [C, H, W]; weight [C, out / "               \
      "groups, KH, KW]")                                                                                               \
    X(convolution, KERNEL,                                                                                             \
      "(Tensor input, Tensor weight, Tensor? bias, Dims stride, Dims padding, Dims dilation, int " "groups)", 1,       \
      i_convolution, none, l_convolution, g_convolution, none,                                                         \
      "torch.ops.aten.convolution({0}, {1}, {2}, {3}, {4}, {5}, False, [0, 0], {6})", DYNC__OP_PRIVATE |               \
      DYNC__OP_FILE | DYNC__OP_WORK_CONV, -1, "conv2d of [N, C, H, W]")                                                \
    X(convolution_backward, KERNEL,                                                                                    \
      "(Tensor grad_output, Tensor input, Tensor weight, Dims stride, Dims padding, Dims dilation, "                   \
      "int groups, bool input_mask, bool weight_mask, bool bias_mask)",                                                \
      3, i_convolution_backward, none, l_convolution_backward, g_convolution_backward, none,                           \
      "torch.ops.aten.convolution_backward({0}, {1}, {2}, [0], {3}, {4}, {5}, False, [0, 0], {6}, " "[{7}, {8}, {9}])",\
      DYNC__OP_PRIVATE | DYNC__OP_FILE | DYNC__OP_WORK_CONV_GRAD, -1,                                                  \
      "gradients of input, weight and bias; one that its mask leaves out is empty")                                    \
    X(dropout, COMPOSITE, "(Tensor self, float p, bool training)", 1, i_dropout, none, none, none, d_dropout,          \
      "F.*", DYNC__OP_RANDOM, -1,                                                                                      \
      "in training zero with probability p, else scaled by 1 / (1 - p)")                                               \
    X(embedding, KERNEL, "(Tensor weight, Tensor indices)", 1, i_embedding, none, l_embedding, g_embedding, none,      \
      "torch.nn.functional.embedding({1}, {0})", DYNC__OP_GATHERS | DYNC__OP_FUSES, -1,                                \
      "the rows of weight that indices name")                                                                          \
    X(embedding_dense_backward, COMPOSITE, "(Tensor grad_output, Tensor indices, int64 num_weights)", 1,               \
      i_embedding_dense_backward, none, none, none, d_embedding_dense_backward,                                        \
      "torch.ops.aten.embedding_dense_backward({0}, {1}, {2}, -1, False)", DYNC__OP_PRIVATE | DYNC__OP_FILE, -1,       \
      "gradient of embedding's weight")                                                                                \
    X(group_norm, COMPOSITE, "(Tensor input, int64 num_groups, Tensor? weight, Tensor? bias, float eps)", 1,           \
      i_composite, none, none, none, d_group_norm, "F.*", 0, -1,                                                       \
      "normalises over groups of channels and all that follows")                                                       \
    X(instance_norm, COMPOSITE, "(Tensor input, Tensor? weight, Tensor? bias, float eps)", 1, i_composite, none,       \
      none, none, d_instance_norm, "torch.nn.functional.instance_norm({0}, None, None, {1}, {2}, eps={3})", 0, -1,     \
      "normalises each channel of each sample")                                                                        \
    X(int_conv2d, KERNEL,                                                                                              \
      "(Tensor input, Tensor weight, Tensor? bias, Dims stride, Dims padding, Dims dilation, int " "groups)", 1,       \
      i_int_conv2d, none, l_int_conv2d, none, none,                                                                    \
      "torch.nn.functional.conv2d({0}.double(), {1}.double(), {2}, {3}, {4}, {5}, {6}).int()",                         \
      DYNC__OP_NONDIFF | DYNC__OP_WORK_CONV, -1,                                                                       \
      "conv2d of [N, C, H, W] of I8 with sums and bias in I32, for quantised weights")                                 \
    X(layer_norm, COMPOSITE, "(Tensor input, Dims normalized_shape, Tensor? weight, Tensor? bias, float eps)", 1,      \
      i_layer_norm, none, none, none, d_layer_norm, "F.*", 0, -1,                                                      \
      "normalises over the trailing dims")                                                                             \
    X(max_pool2d, COMPOSITE,                                                                                           \
      "(Tensor self, Dims kernel_size, Dims stride, Dims padding, Dims dilation, bool ceil_mode)", 1, i_max_pool2d,    \
      none, none, none, d_max_pool2d, "F.*", DYNC__OP_WORK_WINDOW, -1,                                                 \
      "maxima of windows; an empty stride is the kernel size")                                                         \
    X(max_pool2d_with_indices, KERNEL,                                                                                 \
      "(Tensor self, Dims kernel_size, Dims stride, Dims padding, Dims dilation, bool ceil_mode)", 2, i_max_pool2d,    \
      none, l_max_pool2d, g_max_pool2d, none, "F.*", DYNC__OP_WORK_WINDOW,                                             \
      -1, "maxima of windows and their places in the plane")                                                           \
    X(max_pool2d_with_indices_backward, KERNEL, "(Tensor grad_output, Tensor self, Tensor indices)", 1,                \
      i_max_pool2d_backward, none, l_max_pool2d_backward, g_max_pool2d_backward, none,                                 \
      "A.*", DYNC__OP_PRIVATE | DYNC__OP_FILE, -1,                                                                     \
      "grad_output at the places that indices name, zero elsewhere")                                                   \
    X(native_batch_norm_backward, COMPOSITE,                                                                           \
      "(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, "                                         \
      "Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, bool train, float eps)", 3,                        \
      i_native_batch_norm_backward, none, none, none, d_native_batch_norm_backward,                                    \
      "torch.ops.aten.native_batch_norm_backward({0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, "                        \
      "[True, True, True])", DYNC__OP_PRIVATE | DYNC__OP_FILE, -1, "gradients of input, weight and bias")              \
    X(_native_batch_norm_legit_functional, COMPOSITE,                                                                  \
      "(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "                                            \
      "Tensor? running_var, bool training, float momentum, float eps)", 5, i_native_batch_norm, none, none,            \
      g_native_batch_norm, d_native_batch_norm, "A.*",                                                                 \
      DYNC__OP_PRIVATE | DYNC__OP_FILE, -1,                                                                            \
      "output, batch mean, 1 / sqrt(var + eps), new running mean, new running var")                                    \
    X(native_layer_norm, KERNEL, "(Tensor input, Dims normalized_shape, Tensor? weight, Tensor? bias, float eps)",     \
      3, i_native_layer_norm, none, l_native_layer_norm, g_native_layer_norm, none, "torch.*",                         \
      DYNC__OP_PRIVATE | DYNC__OP_FILE, -1, "output, mean and 1 / sqrt(var + eps)")                                    \
    X(one_hot, KERNEL, "(Tensor self, int64 num_classes)", 1, i_one_hot, none, l_one_hot, none, none,                  \
      "F.*", DYNC__OP_NONDIFF | DYNC__OP_GATHERS | DYNC__OP_FUSES, -1,                                                 \
      "a new last dim with a one at the class, int64; num_classes -1: up to the largest class")                        \
    X(rms_norm, COMPOSITE, "(Tensor input, Dims normalized_shape, Tensor? weight, Value? eps)", 1, i_composite,        \
      none, none, none, d_rms_norm, "F.*", 0, -1,                                                                      \
      "input over the root of its mean square over the trailing dims; eps none: that of the dtype")                    \
    X(_rnn_layer, KERNEL,                                                                                              \
      "(Tensor input, Tensor weight_hh, Tensor? bias_hh, Tensor h0, Tensor? c0, int gates, bool "                      \
      "reverse, bool train)",                                                                                          \
      4, i_rnn_layer, none, l_rnn_layer, g_rnn_layer, d_rnn_layer, "D.rnn_layer", DYNC__OP_PRIVATE |                   \
      DYNC__OP_FILE | DYNC__OP_WORK_RECURRENT, -1,                                                                     \
      "all steps of a layer of LSTM (4 gates), GRU (3) or RNN (1) in one direction from the "                          \
      "input's share of the gates [L, N, gates * H]: outputs [L, N, H], the last c, and in "                           \
      "training what its gradient needs")                                                                              \
    X(_rnn_layer_backward, KERNEL,                                                                                     \
      "(Tensor? grad_output, Tensor? grad_c, Tensor weight_hh, Tensor h0, Tensor? c0, Tensor output, "                 \
      "Tensor cells, Tensor gate, int gates, bool reverse)", 3, i_rnn_layer_backward, none, l_rnn_layer_backward,      \
      none, none, "D.rnn_layer_backward", DYNC__OP_PRIVATE | DYNC__OP_FILE | DYNC__OP_NONDIFF, -1,                     \
      "gradients of _rnn_layer's input, h0 and c0")                                                                    \
    X(scaled_dot_product_attention, COMPOSITE,                                                                         \
      "(Tensor query, Tensor key, Tensor value, Tensor? attn_mask, float dropout_p, bool is_causal, "                  \
      "Value? scale)", 1, i_composite, none, none, none, d_scaled_dot_product_attention,                               \
      "torch.nn.functional.scaled_dot_product_attention({0}, {1}, {2}, attn_mask={3}, dropout_p={4}, "                 \
      "is_causal={5}, scale={6})", DYNC__OP_RANDOM, -1,                                                                \
      "softmax(query @ key^T * scale) @ value; a bool mask says what may be seen, a float one is "                     \
      "added; scale none: 1 / sqrt(width)")                                                                            \
    X(_scaled_dot_product_flash_attention_for_cpu, KERNEL,                                                             \
      "(Tensor query, Tensor key, Tensor value, Tensor? attn_mask, bool is_causal, " "float scale)", 2,                \
      i_flash_attention, none, l_flash_attention, g_flash_attention, d_flash_attention,                                \
      "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu({0}, {1}, {2}, 0.0, {4}, "                           \
      "attn_mask={3}, scale={5})",                                                                                     \
      DYNC__OP_PRIVATE | DYNC__OP_FILE | DYNC__OP_WORK_ATTENTION, -1,                                                  \
      "attention in one pass over blocks of scores: output, logarithm of each query's sum")                            \
    X(_scaled_dot_product_flash_attention_for_cpu_backward, KERNEL,                                                    \
      "(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, "                                         \
      "Tensor logsumexp, Tensor? attn_mask, bool is_causal, float scale)", 3, i_flash_attention_backward, none,        \
      l_flash_attention_backward, none, none,                                                                          \
      "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward({0}, {1}, {2}, {3}, {4}, "                  \
      "{5}, 0.0, {7}, " "attn_mask={6}, scale={8})", DYNC__OP_PRIVATE | DYNC__OP_FILE | DYNC__OP_NONDIFF, -1,          \
      "gradients of query, key and value")
/* clang-format on */

/* clang-format off */
#define DYNC__OPS_LOSS(X)                                                                                            \
    X(_binary_cross_entropy, POINTWISE, "(Tensor self, Tensor target)", 1, i_binary, e_binary_cross_entropy, none,   \
      g_binary_cross_entropy, none, "torch.nn.functional.binary_cross_entropy({0}, {1}, reduction='none')",          \
      DYNC__OP_FLOAT | DYNC__OP_PRIVATE, -1, "-(target log self + (1 - target) log(1 - self)) of each element")      \
    X(binary_cross_entropy, COMPOSITE, "(Tensor self, Tensor target)", 1, i_loss, none, none, none,                  \
      d_binary_cross_entropy, "F.*", 0, -1,                                                                          \
      "the mean of -(target log self + (1 - target) log(1 - self)), logs held >= -100")                              \
    X(binary_cross_entropy_with_logits, COMPOSITE, "(Tensor self, Tensor target)", 1, i_loss, none, none, none,      \
      d_binary_cross_entropy_with_logits, "F.*", 0, -1,                                                              \
      "binary_cross_entropy of sigmoid(self), without overflow")                                                     \
    X(cross_entropy, COMPOSITE, "(Tensor self, Tensor target)", 1, i_nll_loss, none, none, none, d_cross_entropy,    \
      "F.*", 0, -1,                                                                                                  \
      "the mean of -log_softmax(self)[target]; classes on dim 1; target -100 is left out; or target "                \
      "holds a share for each class")                                                                                \
    X(huber_loss, COMPOSITE, "(Tensor self, Tensor target, float delta)", 1, i_composite, none, none, none,          \
      d_huber_loss, "torch.nn.functional.huber_loss({0}, {1}, delta={2})", 0, -1,                                    \
      "squared below delta, linear above; the mean")                                                                 \
    X(kl_div, COMPOSITE, "(Tensor self, Tensor target, bool log_target)", 1, i_composite, none, none, none,          \
      d_kl_div, "torch.nn.functional.kl_div({0}, {1}, log_target={2})", 0, -1,                                       \
      "the mean of target * (log target - self); self is a logarithm")                                               \
    X(l1_loss, COMPOSITE, "(Tensor self, Tensor target)", 1, i_loss, none, none, none, d_l1_loss,                    \
      "F.*", 0, -1, "the mean of abs(self - target)")                                                                \
    X(mse_loss, COMPOSITE, "(Tensor self, Tensor target)", 1, i_loss, none, none, none, d_mse_loss,                  \
      "F.*", 0, -1, "the mean of (self - target) ** 2")                                                              \
    X(nll_loss, COMPOSITE, "(Tensor self, Tensor target)", 1, i_nll_loss, none, none, none, d_nll_loss,              \
      "F.*", 0, -1, "the mean of -self[target]; classes on dim 1; target -100 is left out")                          \
    X(smooth_l1_loss, COMPOSITE, "(Tensor self, Tensor target, float beta)", 1, i_loss, none, none, none,            \
      d_smooth_l1_loss, "torch.nn.functional.smooth_l1_loss({0}, {1}, beta={2})", 0, -1,                             \
      "squared below beta, absolute above; the mean")
/* clang-format on */
#endif
