/* autograd/grads.h: the gradient rules, one row each, and what they are written with. After node.h;
 * private to grads*.c.
 *
 * X(rule, n_diff, keep0, keep1, keep2, keep3): the column `grad` of op/ops.def.h names `rule`,
 * which is the function dync__rule. n_diff: how many outputs have a gradient. keep<i>: what the
 * gradient of the argument at place i (3: and later ones) reads: A0, A1, ... arguments by place,
 * O0, O1 outputs. All else is not kept from forward to backward but for its shape. */
#ifndef DYNC__GRADS_H
#define DYNC__GRADS_H
#include "node.h"

#define DYNC__GA(i) DYNC__KEEP_ARG(i)
#define DYNC__GO(i) DYNC__KEEP_OUT(i)
/* clang-format off */
#define DYNC__GRAD_RULES(X)                                                                                 \
    /* pointwise of two */                                                                                  \
    X(g_add, 1, 0, 0, 0, 0)                                                                                 \
    X(g_addcdiv, 1, 0, DYNC__GA(2), DYNC__GA(1) | DYNC__GA(2), 0)                                           \
    X(g_addcmul, 1, 0, DYNC__GA(2), DYNC__GA(1), 0)                                                         \
    X(g_xlogy, 1, DYNC__GA(0) | DYNC__GA(1), DYNC__GA(0) | DYNC__GA(1), 0, 0)                               \
    X(g_atan2, 1, DYNC__GA(0) | DYNC__GA(1), DYNC__GA(0) | DYNC__GA(1), 0, 0)                               \
    X(g_binary_cross_entropy, 1, DYNC__GA(0) | DYNC__GA(1), DYNC__GA(0) | DYNC__GA(1), 0, 0)                \
    X(g_clamp, 1, DYNC__GA(0) | DYNC__GA(1) | DYNC__GA(2), DYNC__GA(0) | DYNC__GA(1) | DYNC__GA(2),         \
      DYNC__GA(0) | DYNC__GA(1) | DYNC__GA(2), 0)                                                           \
    X(g_copy, 1, 0, 0, 0, 0)                                                                                \
    X(g_div, 1, DYNC__GA(1), DYNC__GA(0) | DYNC__GA(1), 0, 0)                                               \
    X(g_fmod, 1, 0, DYNC__GA(0) | DYNC__GA(1), 0, 0)                                                        \
    X(g_lerp, 1, DYNC__GA(2), DYNC__GA(2), DYNC__GA(0) | DYNC__GA(1), 0)                                    \
    X(g_logaddexp, 1, DYNC__GA(0) | DYNC__GA(1), DYNC__GA(0) | DYNC__GA(1), 0, 0)                           \
    X(g_masked_fill, 1, DYNC__GA(1), 0, DYNC__GA(1), 0)                                                     \
    X(g_maximum, 1, DYNC__GA(0) | DYNC__GA(1), DYNC__GA(0) | DYNC__GA(1), 0, 0)                             \
    X(g_minimum, 1, DYNC__GA(0) | DYNC__GA(1), DYNC__GA(0) | DYNC__GA(1), 0, 0)                             \
    X(g_mul, 1, DYNC__GA(1), DYNC__GA(0), 0, 0)                                                             \
    X(g_pow, 1, DYNC__GA(0) | DYNC__GA(1), DYNC__GA(0) | DYNC__GA(1) | DYNC__GO(0), 0, 0)                   \
    X(g_remainder, 1, 0, DYNC__GA(0) | DYNC__GA(1), 0, 0)                                                   \
    X(g_sub, 1, 0, 0, 0, 0)                                                                                 \
    X(g_where, 1, 0, DYNC__GA(0), DYNC__GA(0), 0)                                                           \
    X(g_custom_gradient, 1, 0, DYNC__GA(2), 0, 0)                                                           \
    X(g_hooked, 1, 0, 0, 0, 0)                                                                              \
    /* pointwise of one */                                                                                  \
    X(g_abs, 1, DYNC__GA(0), 0, 0, 0)                                                                       \
    X(g_acos, 1, DYNC__GA(0), 0, 0, 0)                                                                      \
    X(g_acosh, 1, DYNC__GA(0), 0, 0, 0)                                                                     \
    X(g_alias, 1, 0, 0, 0, 0)                                                                               \
    X(g_asin, 1, DYNC__GA(0), 0, 0, 0)                                                                      \
    X(g_asinh, 1, DYNC__GA(0), 0, 0, 0)                                                                     \
    X(g_atan, 1, DYNC__GA(0), 0, 0, 0)                                                                      \
    X(g_atanh, 1, DYNC__GA(0), 0, 0, 0)                                                                     \
    X(g_celu, 1, DYNC__GA(0), 0, 0, 0)                                                                      \
    X(g_cos, 1, DYNC__GA(0), 0, 0, 0)                                                                       \
    X(g_cosh, 1, DYNC__GA(0), 0, 0, 0)                                                                      \
    X(g_elu, 1, DYNC__GA(0), 0, 0, 0)                                                                       \
    X(g_erf, 1, DYNC__GA(0), 0, 0, 0)                                                                       \
    X(g_erfc, 1, DYNC__GA(0), 0, 0, 0)                                                                      \
    X(g_exp, 1, DYNC__GO(0), 0, 0, 0)                                                                       \
    X(g_exp2, 1, DYNC__GO(0), 0, 0, 0)                                                                      \
    X(g_expm1, 1, DYNC__GO(0), 0, 0, 0)                                                                     \
    X(g_frac, 1, 0, 0, 0, 0)                                                                                \
    X(g_gelu, 1, DYNC__GA(0), 0, 0, 0)                                                                      \
    X(g_gelu_tanh, 1, DYNC__GA(0), 0, 0, 0)                                                                 \
    X(g_hardsigmoid, 1, DYNC__GA(0), 0, 0, 0)                                                               \
    X(g_hardswish, 1, DYNC__GA(0), 0, 0, 0)                                                                 \
    X(g_hardtanh, 1, DYNC__GA(0), 0, 0, 0)                                                                  \
    X(g_leaky_relu, 1, DYNC__GA(0), 0, 0, 0)                                                                \
    X(g_log, 1, DYNC__GA(0), 0, 0, 0)                                                                       \
    X(g_log10, 1, DYNC__GA(0), 0, 0, 0)                                                                     \
    X(g_log1p, 1, DYNC__GA(0), 0, 0, 0)                                                                     \
    X(g_log2, 1, DYNC__GA(0), 0, 0, 0)                                                                      \
    X(g_logsigmoid, 1, DYNC__GA(0), 0, 0, 0)                                                                \
    X(g_mish, 1, DYNC__GA(0), 0, 0, 0)                                                                      \
    X(g_neg, 1, 0, 0, 0, 0)                                                                                 \
    X(g_reciprocal, 1, DYNC__GO(0), 0, 0, 0)                                                                \
    X(g_relu, 1, DYNC__GO(0), 0, 0, 0)                                                                      \
    X(g_rsqrt, 1, DYNC__GO(0), 0, 0, 0)                                                                     \
    X(g_selu, 1, DYNC__GA(0), 0, 0, 0)                                                                      \
    X(g_sigmoid, 1, DYNC__GO(0), 0, 0, 0)                                                                   \
    X(g_silu, 1, DYNC__GA(0), 0, 0, 0)                                                                      \
    X(g_sin, 1, DYNC__GA(0), 0, 0, 0)                                                                       \
    X(g_sinh, 1, DYNC__GA(0), 0, 0, 0)                                                                      \
    X(g_softplus, 1, DYNC__GA(0), 0, 0, 0)                                                                  \
    X(g_sqrt, 1, DYNC__GO(0), 0, 0, 0)                                                                      \
    X(g_square, 1, DYNC__GA(0), 0, 0, 0)                                                                    \
    X(g_tan, 1, DYNC__GO(0), 0, 0, 0)                                                                       \
    X(g_tanh, 1, DYNC__GO(0), 0, 0, 0)                                                                      \
    X(g_threshold_backward, 1, DYNC__GA(1), 0, 0, 0)                                                        \
    X(g_to_device, 1, 0, 0, 0, 0)                                                                           \
    X(g_to_dtype, 1, 0, 0, 0, 0)                                                                            \
    X(g_zero, 1, 0, 0, 0, 0)                                                                                \
    /* reductions and scans */                                                                              \
    X(g_amax, 1, DYNC__GA(0) | DYNC__GO(0), 0, 0, 0)                                                        \
    X(g_cumsum, 1, 0, 0, 0, 0)                                                                              \
    X(g_log_softmax, 1, DYNC__GO(0), 0, 0, 0)                                                               \
    X(g_logsumexp, 1, DYNC__GA(0) | DYNC__GO(0), 0, 0, 0)                                                   \
    X(g_max, 1, DYNC__GA(0) | DYNC__GO(0), 0, 0, 0)                                                         \
    X(g_max_dim, 1, DYNC__GO(1), 0, 0, 0)                                                                   \
    X(g_mean, 1, 0, 0, 0, 0)                                                                                \
    X(g_prod, 1, DYNC__GA(0) | DYNC__GO(0), 0, 0, 0)                                                        \
    X(g_softmax, 1, DYNC__GO(0), 0, 0, 0)                                                                   \
    X(g_sort, 1, DYNC__GO(1), 0, 0, 0)                                                                      \
    X(g_std, 1, DYNC__GA(0) | DYNC__GO(0), 0, 0, 0)                                                         \
    X(g_topk, 1, DYNC__GO(1), 0, 0, 0)                                                                      \
    X(g_sum, 1, 0, 0, 0, 0)                                                                                 \
    X(g_var, 1, DYNC__GA(0), 0, 0, 0)                                                                       \
    /* matrices */                                                                                          \
    X(g_addmm, 1, 0, DYNC__GA(2), DYNC__GA(1), 0)                                                           \
    X(g_bmm, 1, DYNC__GA(1), DYNC__GA(0), 0, 0)                                                             \
    X(g_dot, 1, DYNC__GA(1), DYNC__GA(0), 0, 0)                                                             \
    X(g_mm, 1, DYNC__GA(1), DYNC__GA(0), 0, 0)                                                              \
    X(g_mv, 1, DYNC__GA(1), DYNC__GA(0), 0, 0)                                                              \
    /* networks */                                                                                          \
    X(g_avg_pool2d, 1, DYNC__GA(0), 0, 0, 0)                                                                \
    X(g_avg_pool2d_backward, 1, 0, 0, 0, 0)                                                                 \
    X(g_convolution, 1, DYNC__GA(0) | DYNC__GA(1), DYNC__GA(0) | DYNC__GA(1), DYNC__GA(0) | DYNC__GA(1), 0) \
    X(g_convolution_backward, 3, DYNC__GA(1) | DYNC__GA(2), DYNC__GA(0) | DYNC__GA(1) | DYNC__GA(2),        \
      DYNC__GA(0) | DYNC__GA(1) | DYNC__GA(2), 0)                                                           \
    X(g_embedding, 1, DYNC__GA(1), 0, 0, 0)                                                                 \
    X(g_im2col, 1, 0, 0, 0, 0)                                                                              \
    X(g_max_pool2d, 1, DYNC__GA(0) | DYNC__GO(1), 0, 0, 0)                                                  \
    X(g_max_pool2d_backward, 1, DYNC__GA(2), 0, 0, 0)                                                       \
    X(g_native_batch_norm, 1, DYNC__BATCH_NORM_KEEP, DYNC__BATCH_NORM_KEEP, DYNC__BATCH_NORM_KEEP, 0)       \
    X(g_native_layer_norm, 3, DYNC__LAYER_NORM_KEEP, DYNC__LAYER_NORM_KEEP, DYNC__LAYER_NORM_KEEP,          \
      DYNC__LAYER_NORM_KEEP)                                                                                \
    X(g_flash_attention, 1, DYNC__FLASH_KEEP, DYNC__FLASH_KEEP, DYNC__FLASH_KEEP, DYNC__FLASH_KEEP)         \
    X(g_rnn_layer, 2, DYNC__RNN_KEEP, DYNC__RNN_KEEP, DYNC__RNN_KEEP, DYNC__RNN_KEEP)                       \
    /* views and moves */                                                                                   \
    X(g_as_strided, 1, 0, 0, 0, 0)                                                                          \
    X(g_as_strided_scatter, 1, 0, 0, 0, 0)                                                                  \
    X(g_cat, 1, 0, 0, 0, 0)                                                                                 \
    X(g_diagonal, 1, 0, 0, 0, 0)                                                                            \
    X(g_diagonal_backward, 1, 0, 0, 0, 0)                                                                   \
    X(g_expand, 1, 0, 0, 0, 0)                                                                              \
    X(g_fourier, 1, 0, 0, 0, 0)                                                                             \
    X(g_flip, 1, 0, 0, 0, 0)                                                                                \
    X(g_gather, 1, DYNC__GA(2), 0, 0, 0)                                                                    \
    X(g_index_add, 1, 0, 0, 0, DYNC__GA(2))                                                                 \
    X(g_index_select, 1, DYNC__GA(2), 0, 0, 0)                                                              \
    X(g_permute, 1, 0, 0, 0, 0)                                                                             \
    X(g_roll, 1, 0, 0, 0, 0)                                                                                \
    X(g_scatter, 1, DYNC__GA(2), 0, 0, DYNC__GA(2))                                                         \
    X(g_scatter_add, 1, 0, 0, 0, DYNC__GA(2))                                                               \
    X(g_select, 1, 0, 0, 0, 0)                                                                              \
    X(g_select_backward, 1, 0, 0, 0, 0)                                                                     \
    X(g_slice, 1, 0, 0, 0, 0)                                                                               \
    X(g_slice_backward, 1, 0, 0, 0, 0)                                                                      \
    X(g_squeeze, 1, 0, 0, 0, 0)                                                                             \
    X(g_t, 1, 0, 0, 0, 0)                                                                                   \
    X(g_transpose, 1, 0, 0, 0, 0)                                                                           \
    X(g_tril, 1, 0, 0, 0, 0)                                                                                \
    X(g_triu, 1, 0, 0, 0, 0)                                                                                \
    X(g_unsqueeze, 1, 0, 0, 0, 0)                                                                           \
    X(g_view, 1, 0, 0, 0, 0)
/* Functions inside (grads_control.c): what a function computed is computed again. */
#define DYNC__CONTROL_RULES(X)                                                                              \
    X(g_cond, DYNC__MAX_OUT, 0, 0, 0, DYNC__GA(0) | DYNC__GA(3))                                            \
    X(g_scan, DYNC__MAX_OUT, 0, DYNC__SCAN_KEEP, DYNC__SCAN_KEEP, DYNC__SCAN_KEEP)                          \
    X(g_while_loop, DYNC__MAX_OUT, 0, 0, 0, 0)
/* clang-format on */
/* and the saved results */
#define DYNC__SCAN_KEEP (DYNC__GA(1) | DYNC__GA(2) | DYNC__GA(3))
#define DYNC__BATCH_NORM_KEEP \
    (DYNC__GA(0) | DYNC__GA(1) | DYNC__GA(3) | DYNC__GA(4) | DYNC__GO(1) | DYNC__GO(2))
#define DYNC__LAYER_NORM_KEEP (DYNC__GA(0) | DYNC__GA(2) | DYNC__GO(1) | DYNC__GO(2))

#define DYNC__FLASH_KEEP \
    (DYNC__GA(0) | DYNC__GA(1) | DYNC__GA(2) | DYNC__GA(3) | DYNC__GO(0) | DYNC__GO(1))
#define DYNC__RNN_KEEP                                                                   \
    (DYNC__GA(0) | DYNC__GA(1) | DYNC__GA(2) | DYNC__GA(3) | DYNC__GA(4) | DYNC__GO(0) | \
     DYNC__GO(2) | DYNC__GO(3))

#if DYNC__RULES_BY_USE
/* What the user's words point to (api/link.h), and those words. */
#define DYNC__RULE_FN(rule) &dync__link_##rule
#define DYNC__RULE_LINKED(rule)                                                \
    extern const dync__grad_fn *const dync__link_##rule __attribute__((weak)); \
    DYNC__ROW_LINKAGE const dync__grad_fn dync__rule_at_##rule;
#define DYNC__RULE_AT(rule) DYNC__KEPT const dync__grad_fn dync__rule_at_##rule = dync__##rule;
#else
#define DYNC__RULE_FN(rule) dync__##rule
#define DYNC__RULE_LINKED(rule)
#define DYNC__RULE_AT(rule)
#endif
#define DYNC__X(rule, ...)                           \
    DYNC__FN dync_status dync__##rule(dync__grad *); \
    DYNC__RULE_LINKED(rule)                          \
    DYNC__DATA_DECL const dync__grad_rule dync__rule_##rule;
DYNC__GRAD_RULES(DYNC__X)
DYNC__CONTROL_RULES(DYNC__X)
#undef DYNC__X

/* ---- the call's arguments by their place ----------------------------------------------------- */
/* tensor as it was, number, or none */
DYNC__FN dync_value dync__ga(dync__grad *, int place);
DYNC__FN dync_tensor *dync__ga_tensor(dync__grad *, int place); /* NULL where it is none */
DYNC__FN bool dync__ga_needed(const dync__grad *, int place);
DYNC__FN dync_status dync__ga_set(dync__grad *, int place, dync_tensor *);
DYNC__FN dync_dims dync__ga_dims(const dync__grad *, int place);
DYNC__INLINE int64_t dync__ga_int(const dync__grad *g, int place)
{
    return g->call->args[place].as.i;
}
DYNC__INLINE double dync__ga_float(const dync__grad *g, int place)
{
    return dync__arg_number(&g->call->args[place]);
}
DYNC__FN dync_dims dync__ga_shape(const dync__grad *, int place); /* of a tensor argument */
/* Of rules with one argument: what comes in, the argument, the output, the result. */
DYNC__INLINE dync_tensor *dync__grads_gy(const dync__grad *g) { return g->grad_out[0]; }
DYNC__INLINE dync_tensor *dync__grads_x(dync__grad *g) { return dync__ga_tensor(g, 0); }
DYNC__INLINE dync_tensor *dync__grads_y(dync__grad *g) { return dync__grad_output(g, 0); }
DYNC__INLINE dync_status dync__grads_set(dync__grad *g, dync_tensor *h)
{
    return dync__ga_set(g, 0, h);
}
/* An operator by its row, for those without a public function. */
DYNC__FN dync_tensor *dync__g_call(int op, int nargs, dync__arg *args);
DYNC__FN dync_tensor *dync__g_call2(int op, dync_tensor *a, dync_tensor *b);
/* A tensor of f16 or bf16 in f32, others as they are: for rules that PyTorch has as one kernel,
 * which rounds its result alone. What is set as a gradient is cast to the dtype of its argument. */
DYNC__FN dync_tensor *dync__g_wide(dync_tensor *);
/* Undoes a reduction over dims (none: all) of a tensor of this shape: the dims come back with size
 * 1. */
DYNC__FN dync_tensor *dync__g_keep(dync_tensor *, dync_dims dims, bool keepdim, dync_dims shape);
/* elements that one result comes from */
DYNC__FN double dync__g_count(dync_dims dims, dync_dims shape);
#endif
