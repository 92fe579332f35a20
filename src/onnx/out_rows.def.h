/* onnx/out_rows.def.h: which operators ONNX can say, and how: a row each. After out.h.
 *
 *    operator, function, text of floats, of integers, of bools, when
 *
 * POINTWISE rows (dync__ox_pointwise) are formulas (out_formula.c) of floats, of integers (0: the
 * same) and of bools (0: as int32). For other functions the texts are what they say. when: the
 * calls that are kept whole (0: all); others of a composite operator are expanded. By groups of
 * op/ops.def.h. */
#ifndef DYNC__ONNX_OUT_ROWS_H
#define DYNC__ONNX_OUT_ROWS_H
/* clang-format off */
#define DYNC__OX_POINTWISE(X)                                                                                        \
    X(add,           "Add(a,b)", 0, "Or(a,b)")                                                                       \
    X(atan2,         "Where(Or(Less(a,0),Less(Div(1,a),0)),Neg(_half_turn(a,b)),_half_turn(a,b))", 0, 0)             \
    X(bitwise_and,   "BitwiseAnd(a,b)", 0, "And(a,b)")                                                               \
    X(bitwise_or,    "BitwiseOr(a,b)", 0, "Or(a,b)")                                                                 \
    X(bitwise_xor,   "BitwiseXor(a,b)", 0, "Xor(a,b)")                                                               \
    X(div,           "Div(a,b)", 0, 0)                                                                               \
    X(eq,            "Equal(a,b)", 0, "Equal(a,b)")                                                                  \
    X(floor_divide,  "Where(Equal(b,0),Div(a,b),Where(Equal(_quotient(a,b),0),Mul(Div(a,b),0),"                      \
                     "Where(Less(0.5,Sub(_quotient(a,b),Floor(_quotient(a,b)))),Add(Floor(_quotient(a,b)),1),"       \
                     "Floor(_quotient(a,b)))))", "Div(Sub(a,Mod(a,b)),b)", 0)                                        \
    X(fmod,          "Fmod(a,b)", 0, 0)                                                                              \
    X(ge,            "GreaterOrEqual(a,b)", 0, "Or(a,Not(b))")                                                       \
    X(gt,            "Greater(a,b)", 0, "And(a,Not(b))")                                                             \
    X(le,            "LessOrEqual(a,b)", 0, "Or(Not(a),b)")                                                          \
    X(logical_and,   "And(B(a),B(b))", 0, "And(a,b)")                                                                \
    X(logical_or,    "Or(B(a),B(b))", 0, "Or(a,b)")                                                                  \
    X(logical_xor,   "Xor(B(a),B(b))", 0, "Xor(a,b)")                                                                \
    X(lt,            "Less(a,b)", 0, "And(Not(a),b)")                                                                \
    X(maximum,       "Max(a,b)", 0, "Or(a,b)")                                                                       \
    X(minimum,       "Min(a,b)", 0, "And(a,b)")                                                                      \
    X(mul,           "Mul(a,b)", 0, "And(a,b)")                                                                      \
    X(ne,            "Not(Equal(a,b))", 0, "Xor(a,b)")                                                               \
    X(remainder,     "Where(_apart(Fmod(a,b),b),Add(Fmod(a,b),b),Fmod(a,b))", "Mod(a,b)", 0)                         \
    X(sub,           "Sub(a,b)", 0, 0)                                                                               \
    X(logaddexp,     "Where(And(Equal(Abs(a),inf),Equal(a,b)),a,Add(Max(a,b),log1p(Exp(Neg(Abs(Sub(a,b)))))))", 0, 0)\
    X(addcdiv,       "Add(a,Div(Mul(d,b),c))", 0, 0)                                                                 \
    X(addcmul,       "Add(a,Mul(Mul(d,b),c))", 0, 0)                                                                 \
    X(lerp,          "Where(Less(Abs(c),0.5),Add(a,Mul(c,Sub(b,a))),Sub(b,Mul(Sub(b,a),Sub(1,c))))", 0, 0)           \
    X(masked_fill,   "Where(b,c,a)", 0, "Or(And(b,c),And(Not(b),a))")                                                \
    X(where,         "Where(a,b,c)", 0, "Or(And(a,b),And(Not(a),c))")                                                \
    X(abs,           "Abs(a)", 0, 0)                                                                                 \
    X(acos,          "Acos(a)", 0, 0)                                                                                \
    X(acosh,         "Acosh(a)", 0, 0)                                                                               \
    X(asin,          "Asin(a)", 0, 0)                                                                                \
    X(asinh,         "Asinh(a)", 0, 0)                                                                               \
    X(atan,          "Atan(a)", 0, 0)                                                                                \
    X(atanh,         "Atanh(a)", 0, 0)                                                                               \
    X(bitwise_not,   "BitwiseNot(a)", 0, "Not(a)")                                                                   \
    X(ceil,          "Ceil(a)", "a", 0)                                                                              \
    X(cos,           "Cos(a)", 0, 0)                                                                                 \
    X(cosh,          "Cosh(a)", 0, 0)                                                                                \
    X(elu,           "Where(Greater(a,0),a,Mul(expm1(a),b))", 0, 0)                                                  \
    X(erf,           "Erf(a)", 0, 0)                                                                                 \
    X(erfc,          "Sub(1,Erf(a))", 0, 0)                                                                          \
    X(exp,           "Exp(a)", 0, 0)                                                                                 \
    X(exp2,          "Pow(2,a)", 0, 0)                                                                               \
    X(expm1,         "Mul(Tanh(Mul(a,0.5)),Add(Exp(a),1))", 0, 0)                                                    \
    X(floor,         "Floor(a)", "a", 0)                                                                             \
    X(frac,          "Sub(a,trunc(a))", 0, 0)                                                                        \
    X(gelu,          "Mul(Mul(a,0.5),Add(1,Erf(Mul(a,0.7071067811865476))))", 0, 0)                                  \
    X(gelu_tanh,     "Mul(Mul(0.5,a),Add(1,Tanh(Mul(0.7978845608028654,Add(a,Mul(0.044715,Mul(Mul(a,a),a)))))))", 0, 0)\
    X(hardtanh,      "Min(c,Max(b,a))", 0, 0)                                                                        \
    X(isfinite,      "Less(Abs(a),inf)", "Equal(a,a)", 0)                                                            \
    X(isinf,         "Equal(Abs(a),inf)", "Not(Equal(a,a))", 0)                                                      \
    X(isnan,         "IsNaN(a)", "Not(Equal(a,a))", 0)                                                               \
    X(leaky_relu,    "Where(Greater(a,0),a,Mul(a,b))", 0, 0)                                                         \
    X(log,           "Log(a)", 0, 0)                                                                                 \
    X(log10,         "Mul(Log(a),0.4342944819032518)", 0, 0)                                                         \
    X(log1p,         "Where(Or(Equal(Add(a,1),1),Greater(Abs(a),0.5)),Where(Greater(Abs(a),0.5),Log(Add(a,1)),a),"   \
                     "Div(Mul(Log(Add(a,1)),a),Sub(Add(a,1),1)))", 0, 0)                                             \
    X(log2,          "Mul(Log(a),1.4426950408889634)", 0, 0)                                                         \
    X(logical_not,   "Not(B(a))", 0, "Not(a)")                                                                       \
    X(logsigmoid,    "Sub(Min(0,a),log1p(Exp(Neg(Abs(a)))))", 0, 0)                                                  \
    X(mish,          "Mul(a,Tanh(log1p(Exp(a))))", 0, 0)                                                             \
    X(neg,           "Neg(a)", 0, 0)                                                                                 \
    X(reciprocal,    "Reciprocal(a)", 0, 0)                                                                          \
    X(relu,          "Relu(a)", "Max(a,0)", 0)                                                                       \
    X(relu6,         "Min(6,Max(0,a))", 0, 0)                                                                        \
    X(round,         "Round(a)", "a", 0)                                                                             \
    X(rsqrt,         "Div(1,Sqrt(a))", 0, 0)                                                                         \
    X(sgn,           "Sub(F(Greater(a,0)),F(Less(a,0)))", 0, "a")                                                 \
    X(sigmoid,       "Sigmoid(a)", 0, 0)                                                                             \
    X(sign,          "Sub(F(Greater(a,0)),F(Less(a,0)))", 0, "a")                                                 \
    X(silu,          "Mul(a,Sigmoid(a))", 0, 0)                                                                      \
    X(sin,           "Sin(a)", 0, 0)                                                                                 \
    X(sinh,          "Sinh(a)", 0, 0)                                                                                \
    X(softplus,      "Where(Greater(a,20),a,log1p(Exp(a)))", 0, 0)                                                   \
    X(sqrt,          "Sqrt(a)", 0, 0)                                                                                \
    X(square,        "Mul(a,a)", 0, 0)                                                                               \
    X(tan,           "Tan(a)", 0, 0)                                                                                 \
    X(tanh,          "Tanh(a)", 0, 0)                                                                                \
    X(trunc,         "Where(Less(a,0),Ceil(a),Floor(a))", "a", 0)                                                    \
    X(sigmoid_backward,   "Mul(Mul(a,Sub(1,b)),b)", 0, 0)                                                            \
    X(tanh_backward,      "Mul(a,Sub(1,Mul(b,b)))", 0, 0)                                                            \
    X(threshold_backward, "Where(LessOrEqual(b,c),0,a)", 0, 0)                                                       \
    X(celu,          "Where(Greater(a,0),a,Mul(expm1(Div(a,b)),b))", 0, 0)                                           \
    X(hardsigmoid,   "Div(Min(6,Max(0,Add(a,3))),6)", 0, 0)                                                          \
    X(hardswish,     "Div(Mul(a,Min(6,Max(0,Add(a,3)))),6)", 0, 0)                                                   \
    X(selu,          "Where(Greater(a,0),Mul(a,1.0507009873554805),Mul(expm1(a),1.7580993408473766))", 0, 0)         \
    X(_binary_cross_entropy, "Sub(Mul(Sub(b,1),Max(-100,log1p(Neg(a)))),Mul(b,Max(-100,Log(a))))", 0, 0)
/* clang-format on */

/* Those of them that are one operator of ONNX in float32, which runtimes have it for: the attribute
 * that argument 1 is. */
/* clang-format off */
#define DYNC__OX_WHOLE(X)                    \
    X(celu,       "Celu",      "alpha")      \
    X(elu,        "Elu",       "alpha")      \
    X(hardswish,  "HardSwish", NULL)         \
    X(leaky_relu, "LeakyRelu", "alpha")      \
    X(mish,       "Mish",      NULL)         \
    X(selu,       "Selu",      NULL)         \
    X(softplus,   "Softplus",  NULL)
/* clang-format on */

/* Parts of formulas. */
/* clang-format off */
#define DYNC__OX_PARTS(X) \
    X(_half_turn,    "Where(Or(Less(b,0),Less(Div(1,b),0)),Sub(3.141592653589793,_slope(a,b)),_slope(a,b))", 0, 0) \
    X(_slope,        "Where(And(Equal(Abs(a),inf),Equal(Abs(b),inf)),0.7853981633974483,"                            \
                     "Where(And(Equal(a,0),Equal(b,0)),0,Atan(Div(Abs(a),Abs(b)))))", 0, 0) \
    X(_quotient,     "Where(_apart(Fmod(a,b),b),Sub(Div(Sub(a,Fmod(a,b)),b),1),Div(Sub(a,Fmod(a,b)),b))", 0, 0) \
    X(_apart,        "And(Not(Equal(a,0)),Xor(Less(a,0),Less(b,0)))", 0, 0)
/* clang-format on */

/* clang-format off */
#define DYNC__OX_FUNCTIONS(X)                                                     \
    X(pow,                   dync__ox_pow,          0,                 0)         \
    X(clamp,                 dync__ox_clamp,        0,                 0)         \
    X(copy,                  dync__ox_copy,         0,                 0)         \
    X(fill,                  dync__ox_copy,         0,                 0)         \
    X(clone,                 dync__ox_same,         0,                 0)         \
    X(_clone_contiguous,     dync__ox_same,         0,                 0)         \
    X(alias,                 dync__ox_same,         0,                 0)         \
    X(detach,                dync__ox_same,         0,                 0)         \
    X(to_device,             dync__ox_same,         0,                 0)         \
    X(custom_gradient,       dync__ox_same,         0,                 0)         \
    X(to_dtype,              dync__ox_same,         0,                 0)         \
    X(arange,                dync__ox_arange,       0,                 0)         \
    X(empty,                 dync__ox_fill,         0,                 0)         \
    X(empty_like,            dync__ox_fill,         0,                 0)         \
    X(eye,                   dync__ox_eye,          0,                 0)         \
    X(full,                  dync__ox_fill,         0,                 0)         \
    X(full_like,             dync__ox_fill,         0,                 0)         \
    X(ones,                  dync__ox_fill,         "1",               0)         \
    X(ones_like,             dync__ox_fill,         "1",               0)         \
    X(zeros,                 dync__ox_fill,         0,                 0)         \
    X(zeros_like,            dync__ox_fill,         0,                 0)         \
    X(rand,                  dync__ox_random,       "RandomUniform",   0)         \
    X(rand_like,             dync__ox_random,       "RandomUniform",   0)         \
    X(randn,                 dync__ox_random,       "RandomNormal",    0)         \
    X(randn_like,            dync__ox_random,       "RandomNormal",    0)         \
    X(normal,                dync__ox_random,       "RandomNormal",    0)         \
    X(uniform,               dync__ox_random,       "RandomUniform",   0)         \
    X(all,                   dync__ox_any,          "all",             0)         \
    X(any,                   dync__ox_any,          0,                 0)         \
    X(amax,                  dync__ox_reduce,       "ReduceMax",       0)         \
    X(amin,                  dync__ox_reduce,       "ReduceMin",       0)         \
    X(mean,                  dync__ox_reduce,       "ReduceMean",      0)         \
    X(prod,                  dync__ox_reduce,       "ReduceProd",      0)         \
    X(sum,                   dync__ox_reduce,       "ReduceSum",       0)         \
    X(logsumexp,             dync__ox_reduce,       "ReduceLogSumExp", 0)         \
    X(argmax,                dync__ox_arg_reduce,   "ArgMax",          0)         \
    X(argmin,                dync__ox_arg_reduce,   "ArgMin",          0)         \
    X(max_dim,               dync__ox_max_dim,      "ReduceMax",       0)         \
    X(min_dim,               dync__ox_max_dim,      "ReduceMin",       0)         \
    X(cumsum,                dync__ox_cumsum,       0,                 0)         \
    X(softmax,               dync__ox_softmax,      "Softmax",         0)         \
    X(log_softmax,           dync__ox_softmax,      "LogSoftmax",      0)         \
    X(var,                   dync__ox_var,          0,                 0)         \
    X(std,                   dync__ox_var,          "Sqrt",            0)         \
    X(addmm,                 dync__ox_addmm,        0,                 0)         \
    X(bmm,                   dync__ox_matmul,       0,                 0)         \
    X(dot,                   dync__ox_matmul,       0,                 0)         \
    X(int_mm,                dync__ox_int_mm,       0,                 0)         \
    X(rescale,               dync__ox_rescale,      0,                 0)         \
    X(int_conv2d,            dync__ox_int_conv,     0,                 0)         \
    X(linear,                dync__ox_linear,       0,                 0)         \
    X(matmul,                dync__ox_matmul,       0,                 0)         \
    X(mm,                    dync__ox_matmul,       0,                 0)         \
    X(mv,                    dync__ox_matmul,       0,                 0)         \
    X(convolution,           dync__ox_conv,         0,                 0)         \
    X(conv1d,                dync__ox_conv,         0,                 dync__ox_rank_3)         \
    X(conv_transpose2d,      dync__ox_conv_transpose, 0,               dync__ox_padded_less)         \
    X(convolution_backward,  dync__ox_conv_backward, 0,                0)         \
    X(batch_norm,            dync__ox_batch_norm,   0,                 dync__ox_is_inference)   \
    X(native_layer_norm,     dync__ox_layer_norm,   0,                 0)         \
    X(instance_norm,         dync__ox_instance_norm, 0,                dync__ox_rank_3_up)      \
    X(avg_pool2d,            dync__ox_avg_pool,     0,                 0)         \
    X(avg_pool2d_backward,   dync__ox_avg_pool_backward, 0,            0)         \
    X(adaptive_avg_pool2d,   dync__ox_global_pool,  0,                 dync__ox_is_global)      \
    X(max_pool2d_with_indices, dync__ox_max_pool,   0,                 0)         \
    X(max_pool2d_with_indices_backward, dync__ox_max_pool_backward, 0, 0)         \
    X(upsample_nearest2d,    dync__ox_upsample,     0,                 dync__ox_is_f32)         \
    X(pixel_shuffle,         dync__ox_pixel_shuffle, 0,                dync__ox_rank_4_float)   \
    X(col2im,                dync__ox_col2im,       0,                 dync__ox_is_columns)      \
    X(fft_fft,               dync__ox_fourier,      0,                 dync__ox_rank_3_numbers)  \
    X(fft_ifft,              dync__ox_fourier,      "inverse",         dync__ox_rank_3_f32)      \
    X(fft_rfft,              dync__ox_fourier,      "onesided",        dync__ox_rank_2_numbers)  \
    X(grid_sample,           dync__ox_grid_sample,  0,                 dync__ox_is_grid)         \
    X(_roi_align,            dync__ox_roi_align,    0,                 dync__ox_is_roi)          \
    X(stft,                  dync__ox_stft,         0,                 dync__ox_is_whole_window) \
    X(upsample_bicubic2d,    dync__ox_resize,       "cubic",           dync__ox_is_image)        \
    X(upsample_bilinear2d,   dync__ox_resize,       "linear",          dync__ox_is_image)        \
    X(upsample_linear1d,     dync__ox_resize,       "linear",          dync__ox_is_line)         \
    X(upsample_trilinear3d,  dync__ox_resize,       "linear",          dync__ox_is_volume)       \
    X(pad,                   dync__ox_pad,          0,                 dync__ox_rank_1_up)      \
    X(embedding,             dync__ox_embedding,    0,                 0)         \
    X(one_hot,               dync__ox_one_hot,      0,                 dync__ox_has_classes)    \
    X(_rnn_layer,            dync__ox_rnn,          0,                 dync__ox_rnn_forward)    \
    X(_scaled_dot_product_flash_attention_for_cpu_backward, dync__ox_attention_backward, 0, 0)  \
    X(as_strided,            dync__ox_strided,      0,                 0)         \
    X(_strided_view,         dync__ox_strided,      0,                 0)         \
    X(as_strided_scatter,    dync__ox_strided_scatter, 0,              0)         \
    X(diagonal,              dync__ox_view_gather,  0,                 0)         \
    X(expand,                dync__ox_expand_row,   0,                 0)         \
    X(permute,               dync__ox_permute,      0,                 0)         \
    X(t,                     dync__ox_permute,      0,                 0)         \
    X(transpose,             dync__ox_permute,      0,                 0)         \
    X(select,                dync__ox_select,       0,                 0)         \
    X(slice,                 dync__ox_slice,        0,                 0)         \
    X(squeeze,               dync__ox_squeeze,      0,                 0)         \
    X(squeeze_all,           dync__ox_reshape_row,  0,                 0)         \
    X(unsqueeze,             dync__ox_unsqueeze,    0,                 0)         \
    X(view,                  dync__ox_reshape_row,  0,                 0)         \
    X(reshape,               dync__ox_reshape_row,  0,                 0)         \
    X(flatten,               dync__ox_reshape_row,  0,                 0)         \
    X(repeat,                dync__ox_repeat,       0,                 0)         \
    X(cat,                   dync__ox_cat,          0,                 0)         \
    X(einsum,                dync__ox_einsum,       0,                 dync__ox_is_sum) \
    X(diagonal_backward,     dync__ox_view_scatter, 0,                 0)         \
    X(select_backward,       dync__ox_view_scatter, 0,                 0)         \
    X(slice_backward,        dync__ox_view_scatter, 0,                 0)         \
    X(flip,                  dync__ox_flip,         0,                 0)         \
    X(gather,                dync__ox_gather,       0,                 0)         \
    X(index_add,             dync__ox_index_add,    0,                 0)         \
    X(index_select,          dync__ox_index_select, 0,                 0)         \
    X(scatter,               dync__ox_scatter,      0,                 0)         \
    X(scatter_add,           dync__ox_scatter,      "add",             0)         \
    X(sort,                  dync__ox_topk,         0,                 0)         \
    X(topk,                  dync__ox_topk,         "k",               0)         \
    X(masked_select,         dync__ox_masked_select, 0,                0)         \
    X(nonzero,               dync__ox_nonzero,      0,                 0)         \
    X(nms,                   dync__ox_nms,          0,                 0)         \
    X(_nms_each,             dync__ox_nms_each,     0,                 0)         \
    X(unique,                dync__ox_unique,       0,                 0)         \
    X(_local_scalar_dense,   dync__ox_item,         0,                 0)         \
    X(tril,                  dync__ox_tril,         0,                 0)         \
    X(triu,                  dync__ox_tril,         "upper",           0)         \
    X(cond,                  dync__ox_if,           0,                 0)         \
    X(scan,                  dync__ox_scan,         0,                 0)         \
    X(while_loop,            dync__ox_loop,         0,                 0)
/* clang-format on */
#endif
