/* tests/unit/op_samples.h: a call or more of every differentiable row of the operator table, as
 * text, and how to make their arguments. */
#ifndef DYNC_TESTS_OP_SAMPLES_H
#define DYNC_TESTS_OP_SAMPLES_H
#include "dync.in.h"
#include "test.h"

/* ---- samples
 * One text per call, arguments separated by blanks:
 *   t2,3  floating tensor in (-1, 1), requires grad p2,3 the same in (0.5, 1.5), e2,3 in (1.5, 2.5)
 *         s2,3 values apart
 *         by 0.1, in random order
 *   c2,3  as t, no grad v2,3 a transposed view of a t q2,3 as p, no grad
 *   b2,3  bool x2,3:4 I64 below 4 y2,3:4 I64, no two equal along dim 0
 *   [ ... ]  a list of tensors i5 f0.5 B1 numbers and flags D2,3 dims d float dtype code n none 
 *            'ij->ji' text */
typedef struct sample {
    const char *op, *args;
} sample;
static const sample samples[] = {
    {"add", "t2,3 t3"},
    {"add", "t2,1 f2.5"},
    {"add", "i2 t3"},
    {"add", "t2,3 t"},
    {"sub", "t2,3 t2,1"},
    {"sub", "f1.5 t4"},
    {"mul", "t2,3 t3"},
    {"mul", "t2,3 f-1.5"},
    {"mul", "i3 t2"},
    {"div", "t2,3 p3"},
    {"div", "f2 p4"},
    {"div", "t4 f3"},
    {"pow", "p2,3 t3"},
    {"pow", "p4 f2.5"},
    {"pow", "t4 i3"},
    {"pow", "t4 i0"},
    {"pow", "f2 t4"},
    {"pow", "t4 i2"},
    {"atan2", "p2,3 t3"},
    {"atan2", "p3 f0.5"},
    {"fmod", "p2,3 p3"},
    {"fmod", "p4 f0.4"},
    {"remainder", "t2,3 p3"},
    {"remainder", "t4 f0.4"},
    {"maximum", "s2,3 t2,3"},
    {"maximum", "s4 f0.23"},
    {"minimum", "s2,3 t2,3"},
    {"minimum", "s4 f0.23"},
    {"addcdiv", "t2,3 t3 p2,3 f0.5"},
    {"addcmul", "t2,3 t2,3 t3 f0.5"},
    {"lerp", "t2,3 t3 f0.3"},
    {"lerp", "t2,3 t2,3 t2,3"},
    {"clamp", "s5 f-0.21 f0.23"},
    {"clamp", "s5 n f0.23"},
    {"clamp", "s5 f-0.21 n"},
    {"clamp", "s5 c5 q5"},
    {"clamp", "s2,3 t3 p3"},
    {"masked_fill", "t2,3 b2,3 f2"},
    {"masked_fill", "t2,3 b3 t"},
    {"where", "b2,3 t2,3 t3"},
    {"where", "b3 t2,3 f2"},
    {"abs", "t5"},
    {"acos", "t5"},
    {"acosh", "e5"},
    {"asinh", "t5"},
    {"atanh", "t5"},
    {"asin", "t5"},
    {"atan", "t5"},
    {"ceil", "t5"},
    {"cos", "t5"},
    {"cosh", "t5"},
    {"elu", "t5 f1.5"},
    {"erf", "t5"},
    {"erfc", "t5"},
    {"exp", "t2,3"},
    {"exp", "v2,3"},
    {"exp2", "t5"},
    {"expm1", "t5"},
    {"floor", "t5"},
    {"frac", "t5"},
    {"gelu", "t5"},
    {"gelu_tanh", "t5"},
    {"hardtanh", "s5 f-0.21 f0.23"},
    {"leaky_relu", "t5 f0.1"},
    {"log", "p5"},
    {"log10", "p5"},
    {"log1p", "p5"},
    {"log2", "p5"},
    {"logsigmoid", "t5"},
    {"mish", "t5"},
    {"neg", "t5"},
    {"reciprocal", "p5"},
    {"relu", "t5"},
    {"relu6", "t5"},
    {"round", "t5"},
    {"rsqrt", "p5"},
    {"sgn", "t5"},
    {"sigmoid", "t5"},
    {"sign", "t5"},
    {"silu", "t5"},
    {"sin", "t5"},
    {"sinh", "t5"},
    {"softplus", "t5"},
    {"sqrt", "p5"},
    {"square", "t5"},
    {"tan", "t5"},
    {"tanh", "t5"},
    {"tanh", "v2,3"},
    {"trunc", "t5"},
    {"abs_", "t5"},
    {"add_", "t2,3 t3"},
    {"addcdiv_", "t2,3 t3 p3 f0.5"},
    {"addcmul_", "t2,3 t3 t3 f0.5"},
    {"ceil_", "t5"},
    {"clamp_", "s5 f-0.21 f0.23"},
    {"copy_", "t2,3 t3"},
    {"cos_", "t5"},
    {"div_", "t2,3 p3"},
    {"exp_", "t5"},
    {"fill_", "t5 t"},
    {"floor_", "t5"},
    {"index_add_", "t4,2 i0 x3:4 t3,2"},
    {"lerp_", "t2,3 t3 f0.3"},
    {"log_", "p5"},
    {"masked_fill_", "t2,3 b2,3 f2"},
    {"mul_", "t2,3 t3"},
    {"neg_", "t5"},
    {"normal_", "t5 f0 f1"},
    {"pow_", "p4 f2.5"},
    {"relu_", "t5"},
    {"round_", "t5"},
    {"scatter_", "t4,2 i0 y2,2:4 t2,2"},
    {"scatter_add_", "t4,2 i0 x3,2:4 t3,2"},
    {"sigmoid_", "t5"},
    {"sin_", "t5"},
    {"sqrt_", "p5"},
    {"sub_", "t2,3 t3"},
    {"tanh_", "t5"},
    {"trunc_", "t5"},
    {"uniform_", "t5 f0 f1"},
    {"zero_", "t5"},
    {"copy", "t2,3 t3"},
    {"fill", "t2,3 t"},
    {"fill", "t2,3 f1"},
    {"amax", "s2,3 D1 B0"},
    {"amax", "s2,3 D B0"},
    {"amin", "s2,3,2 D0,2 B1"},
    {"max", "s2,3"},
    {"min", "s2,3,2"},
    {"cumsum", "t2,3 i1"},
    {"cumsum", "t4 i-1"},
    {"log_softmax", "t2,3 i1"},
    {"log_softmax", "t2,3 i0"},
    {"softmax", "t2,3 i-1"},
    {"softmax", "t2,3,2 i1"},
    {"logsumexp", "t2,3 D1 B0"},
    {"logsumexp", "t2,3 D0,1 B1"},
    {"max_dim", "s2,3 i1 B0"},
    {"max_dim", "s2,3 i0 B1"},
    {"min_dim", "s2,3 i-1 B0"},
    {"mean", "t2,3 D B0"},
    {"mean", "t2,3,2 D0,-1 B0"},
    {"mean", "t2,3 D1 B1"},
    {"sum", "t2,3 D B0"},
    {"sum", "t2,3,2 D1 B0"},
    {"sum", "t2,3 D0 B1"},
    {"norm", "p2,3 i2 D B0"},
    {"norm", "p2,3 i1 D1 B0"},
    {"norm", "p2,3 f2.5 D0 B1"},
    {"prod", "p2,3 D1 B0"},
    {"prod", "t2,2 D B0"},
    {"std", "t2,3 D1 i1 B0"},
    {"std", "t4 D i0 B0"},
    {"var", "t2,3 D1 i1 B1"},
    {"var", "t2,3 D i1 B0"},
    {"addmm", "t3 t2,4 t4,3"},
    {"addmm", "t2,3 v2,4 v4,3"},
    {"bmm", "t2,2,3 t2,3,2"},
    {"dot", "t4 t4"},
    {"linear", "t2,3 t4,3 t4"},
    {"linear", "t2,2,3 t4,3 n"},
    {"linear", "t3 t4,3 t4"},
    {"matmul", "t2,3 t3,2"},
    {"matmul", "t3 t3"},
    {"matmul", "t2,3 t3"},
    {"matmul", "t2,2,3 t3,2"},
    {"matmul", "t2,1,2,3 t2,3,2"},
    {"mm", "t2,3 t3,4"},
    {"mm", "v2,3 v3,4"},
    {"mv", "t2,3 t3"},
    {"outer", "t2 t3"},
    {"adaptive_avg_pool2d", "t1,2,4,4 D2,2"},
    {"avg_pool2d", "t1,2,4,4 D2,2 D2,2 D0,0 B0 B1"},
    {"avg_pool2d", "t1,1,3,3 D2,2 D1,1 D1,1 B0 B0"},
    {"avg_pool2d_backward", "t1,1,2,2 c1,1,4,4 D2,2 D2,2 D0,0 B0 B1"},
    {"batch_norm", "t3,2,2,2 t2 t2 n n B1 f0.1 f1e-5"},
    {"batch_norm", "t3,2 t2 t2 c2 q2 B0 f0.1 f1e-5"},
    {"_native_batch_norm_legit_functional", "t3,2,2,2 t2 t2 c2 q2 B1 f0.1 f1e-5"},
    {"_native_batch_norm_legit_functional", "t3,2,2,2 n n c2 q2 B0 f0.1 f1e-5"},
    {"native_batch_norm_backward", "t3,2,2,2 t3,2,2,2 t2 n n t2 p2 B1 f1e-5"},
    {"conv2d", "t1,2,4,4 t3,2,2,2 t3 D1,1 D0,0 D1,1 i1"},
    {"conv2d", "t1,2,4,4 t2,1,2,2 n D2,2 D1,1 D1,1 i2"},
    {"conv2d", "t2,4,4 t3,2,2,2 t3 D1,1 D0,0 D1,1 i1"},
    {"convolution", "t2,2,3,3 t2,2,2,2 t2 D1,1 D1,1 D1,1 i1"},
    {"convolution", "t1,1,5,5 t1,1,2,2 n D1,1 D0,0 D2,2 i1"},
    {"convolution_backward", "t1,2,2,2 t1,2,3,3 t2,2,2,2 D1,1 D0,0 D1,1 i1 B1 B1 B1"},
    {"convolution_backward", "t1,2,2,2 t1,2,3,3 t2,2,2,2 D1,1 D0,0 D1,1 i1 B1 B0 B0"},
    {"dropout", "t6 f0.5 B1"},
    {"dropout", "t6 f0.5 B0"},
    {"embedding", "t4,2 x3:4"},
    {"embedding", "t4,2 x2,3:4"},
    {"embedding_dense_backward", "t3,2 x3:4 i4"},
    {"layer_norm", "t2,4 D4 t4 t4 f1e-5"},
    {"layer_norm", "t2,2,3 D2,3 n n f1e-5"},
    {"native_layer_norm", "t2,4 D4 t4 t4 f1e-5"},
    {"native_layer_norm", "t2,4 D4 n n f1e-5"},
    {"max_pool2d", "s1,2,4,4 D2,2 D2,2 D0,0 D1,1 B0"},
    {"max_pool2d_with_indices", "s1,1,4,4 D2,2 D1,1 D0,0 D1,1 B0"},
    {"max_pool2d_with_indices_backward", "t1,1,2,2 c1,1,4,4 x1,1,2,2:16"},
    {"sigmoid_backward", "t5 t5"},
    {"tanh_backward", "t5 t5"},
    {"threshold_backward", "t5 c5 i0"},
    {"binary_cross_entropy", "u4 w4"},
    {"_binary_cross_entropy", "u4 w4"},
    {"binary_cross_entropy_with_logits", "t4 w4"},
    {"cross_entropy", "t3,4 x3:4"},
    {"cross_entropy", "t2,4,2 x2,2:4"},
    {"l1_loss", "s4 t4"},
    {"mse_loss", "t2,3 t2,3"},
    {"nll_loss", "t3,4 x3:4"},
    {"smooth_l1_loss", "t4 p4 f0.9"},
    {"alias", "t2,3"},
    {"as_strided", "t2,3 D2,2 D1,2 i1"},
    {"as_strided", "t6 D3,3 D1,1 i0"},
    {"as_strided", "v2,3 D2,2 D3,1 i0"},
    {"as_strided", "t4 D3,4 D0,1 i0"},
    {"_strided_view", "t2,3 D2,2 D1,2 i1"},
    {"_strided_view", "v2,3 D3 D2 i1"},
    {"as_strided_scatter", "t2,3 t2,2 D2,2 D3,1 i1"},
    {"as_strided_scatter", "v2,3 t3 D3 D2 i1"},
    {"contiguous", "v2,3"},
    {"diagonal", "t3,3 i0 i0 i1"},
    {"diagonal", "t2,3,4 i1 i1 i2"},
    {"expand", "t1,3 D2,3"},
    {"expand", "t3 D2,-1"},
    {"expand_as", "t1,3 c2,3"},
    {"flatten", "t2,3,2 i1 i-1"},
    {"narrow", "t2,4 i1 i1 i2"},
    {"permute", "t2,3,4 D2,0,1"},
    {"permute", "t2,3 D-1,0"},
    {"reshape", "t2,3 D3,2"},
    {"reshape", "v2,3 D6"},
    {"select", "t2,3 i1 i-1"},
    {"slice", "t2,6 i1 i1 i6 i2"},
    {"slice", "t4 i0 i-3 i9223372036854775807 i1"},
    {"squeeze", "t2,1,3 i1"},
    {"squeeze", "t2,3 i0"},
    {"squeeze_all", "t1,2,1"},
    {"t", "t2,3"},
    {"t", "t3"},
    {"transpose", "t2,3,4 i0 i-1"},
    {"unflatten", "t2,6 i1 D2,-1"},
    {"unsqueeze", "t2,3 i1"},
    {"unsqueeze", "t2,3 i-1"},
    {"view", "t2,3 D-1,2"},
    {"view_as", "t2,3 c6"},
    {"cat", "[ t2,3 t1,3 c1,3 ] i0"},
    {"cat", "[ t2,1 t2,2 ] i-1"},
    {"clone", "v2,3"},
    {"_clone_contiguous", "v2,3"},
    {"diagonal_backward", "t3 D3,3 i0 i0 i1"},
    {"flip", "t2,3 D0,1"},
    {"gather", "t3,2 i0 x2,2:3"},
    {"gather", "t2,3 i1 x2,4:3"},
    {"index_add", "t4,2 i0 x3:4 t3,2"},
    {"index_select", "t4,2 i0 x5:4"},
    {"index_select", "t2,4 i1 x3:4"},
    {"masked_select", "t2,3 b2,3"},
    {"repeat", "t2,3 D2,2"},
    {"repeat", "t2 D2,3"},
    {"roll", "t2,4 D1 D1"},
    {"roll", "t2,3 D2 D"},
    {"scatter", "t4,2 i0 y2,2:4 t2,2"},
    {"scatter", "t4,2 i0 y2,2:4 f1.5"},
    {"scatter_add", "t4,2 i0 x3,2:4 t3,2"},
    {"select_backward", "t3 D2,3 i0 i1"},
    {"slice_backward", "t2,3 D2,6 i1 i0 i6 i2"},
    {"sort", "s5 i0 B0"},
    {"sort", "s2,3 i1 B1"},
    {"unique", "s5"},
    {"stack", "[ t2,3 t2,3 ] i1"},
    {"take_along_dim", "t2,3 x2,1:3 i1"},
    {"to_device", "t3 V0"},
    {"to_dtype", "t3 d1"},
    {"topk", "s5 i2 i0 B1 B1"},
    {"tril", "t3,3 i0"},
    {"triu", "t2,3,3 i1"},
    {"addmv", "t3 t3,4 t4"},
    {"addmv", "t1 t3,4 t4"},
    {"baddbmm", "t3 t2,2,4 t2,4,3"},
    {"cosine_similarity", "t2,3 t3 i1 f1e-8"},
    {"logaddexp", "t2,3 t3"},
    {"xlogy", "t2,3 p3"},
    {"nan_to_num", "t5 n n n"},
    {"normalize", "t2,3 f2 i1 f1e-12"},
    {"normalize", "p2,3 f3 i0 f1e-12"},
    {"trace", "t3,3"},
    {"trace", "t2,3"},
    {"einsum", "'ij,jk->ki' [ t2,3 t3,2 ]"},
    {"einsum", "'bij,bjk->bik' [ t2,2,3 t2,3,2 ]"},
    {"einsum", "'ii->i' [ t3,3 ]"},
    {"einsum", "'...i,i->...' [ t2,3 t3 ]"},
    {"einsum", "'i,ij,j->' [ t2 t2,3 t3 ]"},
    {"einsum", "'i,j->ij' [ t2 t3 ]"},
    {"celu", "t5 f1.5"},
    {"glu", "t2,4 i-1"},
    {"hardshrink", "s5 f0.06"},
    {"hardsigmoid", "t5"},
    {"hardswish", "t5"},
    {"prelu", "t2,3,2 p3"},
    {"prelu", "t4 p1"},
    {"selu", "t5"},
    {"softmin", "t2,3 i1"},
    {"softshrink", "s5 f0.06"},
    {"softsign", "t5"},
    {"tanhshrink", "t5"},
    {"threshold", "s5 f0.02 f0.5"},
    {"conv1d", "t2,2,5 t3,2,3 t3 D1 D1 D1 i1"},
    {"conv1d", "t2,5 t2,1,2 n D2 D0 D1 i2"},
    {"conv_transpose2d", "t1,2,2,2 t2,2,3,3 t2 D2 D1 D1 i1 D1"},
    {"conv_transpose2d", "t2,2,3 t2,1,2,2 n D1 D0 D0 i2 D1"},
    {"group_norm", "t2,4,3 i2 t4 t4 f1e-5"},
    {"instance_norm", "t2,2,4 t2 t2 f1e-5"},
    {"rms_norm", "t2,4 D4 t4 n"},
    {"rms_norm", "t2,2,3 D2,3 n f1e-5"},
    {"scaled_dot_product_attention", "t2,3,2 t2,4,2 t2,4,3 n f0 B0 n"},
    {"scaled_dot_product_attention", "t3,2 t3,2 t3,2 n f0 B1 f0.7"},
    {"scaled_dot_product_attention", "t1,3,2 t1,3,2 t1,3,2 b3,3 f0 B0 n"},
    {"scaled_dot_product_attention", "t1,3,2 t1,3,2 t1,3,2 t3,3 f0 B0 n"},
    {"_scaled_dot_product_flash_attention_for_cpu", "t2,3,2 t2,4,2 t2,4,3 n B0 f0.7"},
    {"_scaled_dot_product_flash_attention_for_cpu", "t1,1,3,2 t1,1,3,2 t1,1,3,2 n B1 f1"},
    {"_scaled_dot_product_flash_attention_for_cpu", "t2,2 t3,2 t3,2 b2,3 B0 f1"},
    {"_scaled_dot_product_flash_attention_for_cpu", "t2,2 t3,2 t3,2 t3 B0 f1"},
    {"_rnn_layer", "t2,2,8 t8,2 t8 t2,2 t2,2 i4 B0 B1"},
    {"_rnn_layer", "t3,1,8 t8,2 n t1,2 t1,2 i4 B1 B1"},
    {"_rnn_layer", "t2,2,6 t6,2 t6 t2,2 n i3 B0 B1"},
    {"_rnn_layer", "t3,1,6 t6,2 n t1,2 n i3 B1 B1"},
    {"_rnn_layer", "t3,2,2 t2,2 t2 t2,2 n i1 B0 B1"},
    {"_rnn_layer", "t2,1,8 t8,2 t8 t1,2 t1,2 i4 B0 B0"},
    {"pixel_shuffle", "t4,2,2 i2"},
    {"upsample_nearest2d", "t1,1,2,3 D4,5"},
    {"upsample_linear1d", "t1,2,3 D5 B0"},
    {"upsample_linear1d", "t2,1,4 D3 B1"},
    {"upsample_bilinear2d", "t1,1,2,3 D4,5 B0"},
    {"upsample_bilinear2d", "t1,2,3,3 D2,4 B1"},
    {"upsample_trilinear3d", "t1,1,2,3,2 D3,2,2 B0"},
    {"upsample_bicubic2d", "t1,1,3,3 D4,5 B0"},
    {"upsample_bicubic2d", "t1,1,3,2 D2,3 B1"},
    {"grid_sample", "t1,2,3,3 t1,2,2,2 'bilinear' 'zeros' B0"},
    {"grid_sample", "t2,1,3,2 t2,1,3,2 'bilinear' 'border' B1"},
    {"grid_sample", "t1,1,3,3 p1,2,2,2 'bilinear' 'reflection' B0"},
    {"grid_sample", "t1,1,4,4 t1,2,2,2 'bicubic' 'zeros' B0"},
    {"grid_sample", "t1,1,3,3 p1,2,1,2 'bicubic' 'reflection' B1"},
    {"grid_sample", "t1,1,3,3 c1,2,2,2 'nearest' 'zeros' B1"},
    {"grid_sample", "t1,1,2,3,2 t1,2,1,1,3 'bilinear' 'zeros' B1"},
    {"affine_grid", "t2,2,3 D2,1,2,3 B0"},
    {"affine_grid", "t1,3,4 D1,1,2,1,3 B1"},
    {"im2col", "t1,2,4,3 D2 D1 D1 D2"},
    {"im2col", "t2,5,4 D2,3 D2,1 D0 D1,2"},
    {"col2im", "t1,8,6 D3,4 D2 D1 D0 D1"},
    {"col2im", "t4,4 D4,3 D2,2 D2,1 D1,0 D3,1"},
    {"max_unpool2d", "t3,1,1 x3,1,1:4 D2,2"},
    {"lp_pool2d", "t1,2,4,3 f2 D2 D B0"},
    {"lp_pool2d", "p2,4,3 f3 D2,1 D1 B0"},
    {"roi_align", "t2,2,4,4 q2,5 D2,2 f1 i2 B1"},
    {"roi_align", "t1,1,3,3 w2,5 D1,2 f1.5 i1 B0"},
    {"_roi_align", "s2,1,4,4 w2,4 x2:2 D2,2 f2 D2,1 B1 B1"},
    {"deform_conv2d", "t1,2,3,3 t1,8,2,2 t2,2,2,2 t2 D1 D0 D1 n"},
    {"deform_conv2d", "t1,2,3,3 t1,16,3,3 t2,1,2,2 n D1 D1 D2 t1,8,3,3"},
    {"fft_fft", "t2,3,2 n i-1"},
    {"fft_fft", "t4,2,2 i5 i0"},
    {"fft_ifft", "t2,3,2 n i-1"},
    {"fft_rfft", "t2,5 n i-1"},
    {"_fourier", "t2,9,2 i9 B1 B0 B0 f1"},
    {"_fourier", "t2,6,2 i6 B1 B1 B0 f0.5"},
    {"_fourier", "t2,10 i10 B0 B0 B1 f1"},
    {"_fourier", "t3,7 i7 B0 B0 B1 f2"},
    {"_fourier", "t1,5,2 i8 B1 B1 B1 f0.125"},
    {"_fourier", "t2,5,2 i9 B1 B1 B1 f1"},
    {"_fourier", "t2,7 i7 B0 B0 B0 f1"},
    {"fft_rfft", "t36,1 n i0"},
    {"fft_irfft", "t2,4,2 n i-1"},
    {"fft_irfft", "t3,2 i5 i0"},
    {"stft", "t2,7 i4 i2 t4 B1"},
    {"stft", "t6 i3 i1 n B0"},
    {"pad", "t2,3 D1,2 f0.5"},
    {"pad", "t2,3 D-1,1,2,0 n"},
    {"movedim", "t2,3,2 D0 D2"},
    {"unfold", "t5 i0 i3 i1"},
    {"unfold", "t2,4 i-1 i2 i2"},
    {"huber_loss", "t4 p4 f0.9"},
    {"kl_div", "t4 q4 B0"},
    {"kl_div", "t4 c4 B1"},
};

/* ---- making arguments ------------------------------------------------------------------------ */

enum { MAX_TENSORS = 12 };
/* How: of which dtype, every size beyond 1 times scale, params in memory with gaps and turned
 * round. */
typedef struct how {
    int dtype, scale;
    bool strided;
} how;
typedef struct call {
    int op, nargs, n_params;
    how how;
    dync__arg args[DYNC__MAX_ARGS], list[4];
    int64_t dims[DYNC__MAX_ARGS][DYNC_MAX_DIMS];
    char text[4][32];
    int n_texts;
    dync__tensor *param[MAX_TENSORS]; /* leaves that require grad */
} call;

static const char *read_dims(const char *s, int *n, int64_t *d)
{
    *n = 0;
    while (*s == '-' || (*s >= '0' && *s <= '9')) {
        char *end;
        d[(*n)++] = strtoll(s, &end, 10);
        s = *end == ',' ? end + 1 : end;
    }
    return s;
}

static double pick(char kind, int64_t i, int64_t n)
{
    double x = test_random_real(0.05, 0.95);
    switch (kind) {
    case 'p':
    case 'q': return x + 0.5;
    case 'e': return x + 1.5;
    case 'u': return 0.1 + 0.8 * x;
    case 'w': return x;
    case 's': return 0.1 * (double)((i * 7 + 3) % n) - 0.05 * (double)n + 0.037;
    default: return i % 2 ? x : -x;
    }
}

static bool is_param(char kind) { return strchr("tpesvu", kind) != NULL; }

/* Element i, counted row by row, wherever it lies. */
static void *element(const dync__tensor *t, int64_t i)
{
    int64_t at = t->lay.offset;
    for (int k = t->lay.ndim - 1; k >= 0; k--) {
        at += i % t->lay.shape[k] * t->lay.stride[k];
        i /= t->lay.shape[k];
    }
    return (char *)t->storage->data + at * dync__dtype_info(t->dtype)->bytes;
}

/* The integers y are distinct along dim 0. */
static dync__tensor *make_tensor(char kind, int n, const int64_t *d, int64_t below, how how)
{
    dync__layout lay;
    int64_t shape[DYNC_MAX_DIMS], step = 2;
    bool turned = kind == 'v' && n == 2;
    for (int i = 0; i < n; i++) {
        shape[i] = turned ? d[n - 1 - i] : d[i];
        if (shape[i] > 1) shape[i] *= how.scale;
    }
    dync__layout_contiguous(&lay, n, shape);
    for (int i = 0; how.strided && is_param(kind) && i < n; i++) {
        lay.stride[i] = step;
        step *= shape[i];
    }
    bool index = kind == 'x' || kind == 'y';
    dync__tensor *t = dync__tensor_empty(index         ? DYNC_I64
                                         : kind == 'b' ? DYNC_BOOL
                                                       : how.dtype,
                                         DYNC_CPU, &lay);
    memset(t->storage->data, 0, t->storage->size_bytes); /* gaps too */
    int64_t rows = n ? shape[0] : 1, inner = rows ? t->numel / (rows ? rows : 1) : 1;
    for (int64_t i = 0; i < t->numel; i++) {
        void *p = element(t, i);
        if (kind == 'y')
            dync__store_i64(p, t->dtype, (i / inner + i % inner) % below);
        else if (kind == 'x')
            dync__store_i64(p, t->dtype, (int64_t)(test_random() % (uint64_t)below));
        else if (kind == 'b')
            dync__store_i64(p, t->dtype, (int64_t)(i % 3 != 1));
        else
            dync__store_f64(p, t->dtype, pick(kind, i, t->numel));
    }
    return t;
}

static const char *read_tensor(call *c, const char *s, dync__arg *out, bool *turned)
{
    char kind = *s++;
    int n;
    int64_t d[DYNC_MAX_DIMS], below = 1;
    s = read_dims(s, &n, d);
    if (*s == ':') below = strtoll(s + 1, (char **)(uintptr_t)&s, 10);
    dync__tensor *t = make_tensor(kind, n, d, below, c->how);
    *turned = kind == 'v';
    if (is_param(kind)) {
        dync__tensor_set_requires_grad(t, true);
        c->param[c->n_params++] = t;
    }
    *out = dync__arg_t(t);
    dync__give(t);
    return s;
}

/* v: the call sees the transpose of the parameter. Marked by n = 1 of a tensor argument, unused
 * otherwise. */
static void read_args(call *c, const char *s)
{
    while (*s) {
        dync__arg *a = &c->args[c->nargs];
        bool turned = false;
        char kind = *s;
        if (kind == ' ') {
            s++;
            continue;
        }
        if (kind == '[') {
            a->kind = DYNC__A_LIST;
            a->n = 0;
            a->as.list = c->list;
            for (s++; *s != ']';) {
                if (*s == ' ')
                    s++;
                else
                    s = read_tensor(c, s, &c->list[a->n++], &turned);
            }
            s++;
        } else if (kind == '\'') {
            size_t n = strcspn(s + 1, "'");
            char *text = c->text[c->n_texts++ % 4];
            memcpy(text, s + 1, n);
            text[n] = 0;
            *a = dync__arg_s(text);
            s += n + 2;
        } else if (kind == 'i')
            *a = dync__arg_i(strtoll(s + 1, (char **)(uintptr_t)&s, 10));
        else if (kind == 'f')
            *a = dync__arg_f(strtod(s + 1, (char **)(uintptr_t)&s));
        else if (kind == 'B')
            *a = dync__arg_b(strtoll(s + 1, (char **)(uintptr_t)&s, 10) != 0);
        else if (kind == 'd')
            *a = dync__arg_dtype((int)strtoll(s + 1, (char **)(uintptr_t)&s, 10));
        else if (kind == 'V')
            *a = dync__arg_device((int)strtoll(s + 1, (char **)(uintptr_t)&s, 10));
        else if (kind == 'n') {
            *a = dync__arg_none();
            s++;
        } else if (kind == 'D') {
            int n;
            s = read_dims(s + 1, &n, c->dims[c->nargs]);
            *a = dync__arg_dims(n, c->dims[c->nargs]);
        } else {
            s = read_tensor(c, s, a, &turned);
            a->n = turned;
        }
        c->nargs++;
    }
}

/* The call with its tensors replaced, in order, by those of values; how many there are. */
static inline int take_tensors(const call *c, dync__arg *args, dync__arg *list,
                               const dync_value *values)
{
    int n = 0;
    memcpy(args, c->args, sizeof c->args);
    for (int i = 0; i < c->nargs; i++) {
        if (args[i].kind == DYNC__A_TENSOR) {
            dync_tensor *t = dync_as_tensor(values[n++]);
            args[i] = dync__arg_t(dync__open(args[i].n ? dync_t(t) : t));
        } else if (args[i].kind == DYNC__A_LIST) {
            memcpy(list, c->list, sizeof c->list);
            args[i].as.list = list;
            for (int k = 0; k < args[i].n; k++)
                list[k] = dync__arg_t(dync__open(dync_as_tensor(values[n++])));
        }
    }
    return n;
}

#endif
