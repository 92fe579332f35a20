/* op/rows.h: the functions that the columns of ops.def.h name, declared. After op.h; private to
 * op/.
 *
 * infer dync__i_* (infer.c, infer_nn.c), expr dync__e_* (expr.c), lower dync__l_* (lower.c,
 * lower_nn.c), decompose dync__d_* (decompose.c, decompose_nn.c, einsum.c, effects in eager.c). */
#ifndef DYNC__ROWS_H
#define DYNC__ROWS_H
#include "op.h"

/* clang-format off */
#define DYNC__INFERS(X) \
    X(adaptive_avg_pool2d) X(addc) X(addmm) X(alias) X(arange) X(arg_reduce) X(argsort) \
    X(as_strided) X(as_strided_scatter) \
    X(avg_pool2d) X(batch_norm) X(binary) X(bitwise) X(bmm) X(int_mm) X(cat) X(celu) X(clamp) \
    X(clone) X(composite) X(contiguous) X(conv2d) \
    X(convolution) X(convolution_backward) X(cumsum) X(diagonal) X(dot) X(dropout) X(effect) \
    X(embedding) \
    X(embedding_dense_backward) X(expand) X(expand_as) X(eye) X(factory) X(fill) \
    X(flash_attention) X(flash_attention_backward) X(flatten) X(flip) X(float_unary) \
    X(full) X(gather) X(hardtanh) X(index_add) X(index_select) X(inplace) X(layer_norm) X(lerp) \
    X(like) X(avg_pool2d_backward) X(max_pool2d_backward) \
    X(like_self) X(linear) X(floating_binary) X(loss) X(masked_fill) X(matmul) X(max_dim) \
    X(max_pool2d) X(mm) X(mv) X(narrow) \
    X(native_batch_norm) X(native_batch_norm_backward) X(native_layer_norm) X(nll_loss) X(norm) \
    X(one_hot) \
    X(outer) X(permute) X(reduce) X(repeat) X(reshape) X(rnn_layer) X(rnn_layer_backward) \
    X(roll) X(scatter) X(select) X(set_) X(slice) X(softmax) \
    X(sort) X(squeeze) X(squeeze_all) X(stack) X(strided_view) X(t) X(take_along_dim) \
    X(to_device) X(to_dtype) X(topk) \
    X(transpose) X(tril) X(unary) X(unflatten) X(unsqueeze) X(var) X(view) X(view_as) X(view_backward) X(where)
/* clang-format on */
/* clang-format off */
#define DYNC__EXPRS(X) \
    X(abs) X(acos) X(add) X(addcdiv) X(addcmul) X(asin) X(atan) X(atan2) X(binary_cross_entropy) \
    X(bitwise_and) X(bitwise_not) \
    X(bitwise_or) X(bitwise_xor) X(ceil) X(celu) X(clamp) X(clone) X(copy) X(cos) X(cosh) X(div) \
    X(elu) X(eq) X(erf) \
    X(erfc) X(exp) X(exp2) X(expm1) X(floor) X(floor_divide) X(fmod) X(frac) X(ge) X(gelu) \
    X(gelu_tanh) X(gt) \
    X(hardsigmoid) X(hardswish) X(hardtanh) X(isfinite) X(isinf) X(isnan) X(le) X(leaky_relu) \
    X(lerp) X(log) X(log10) X(log1p) X(log2) X(logaddexp) \
    X(logical_and) X(logical_not) X(logical_or) X(logical_xor) X(logsigmoid) X(lt) \
    X(masked_fill) X(maximum) \
    X(minimum) X(mish) X(mul) X(ne) X(neg) X(pow) X(reciprocal) X(relu) X(relu6) X(remainder) \
    X(round) X(rsqrt) \
    X(selu) X(sgn) X(sigmoid) X(sigmoid_backward) X(silu) X(sin) X(sinh) X(softplus) X(sqrt) \
    X(square) X(sub) X(tan) \
    X(tanh) X(tanh_backward) X(threshold_backward) X(trunc) X(where)
/* clang-format on */
/* clang-format off */
#define DYNC__LOWERS(X) \
    X(addmm) X(all) X(amax) X(amin) X(any) X(arange) X(argmax) X(argmin) X(as_strided_scatter) \
    X(avg_pool2d) X(avg_pool2d_backward) \
    X(cat) X(clone) X(convolution) X(convolution_backward) X(cumsum) X(embedding) X(eye) \
    X(flash_attention) X(flash_attention_backward) X(flip) X(full) X(gather) \
    X(index_add) X(index_select) X(logsumexp) X(matmul) X(max_dim) X(max_pool2d) \
    X(max_pool2d_backward) X(mean) \
    X(min_dim) X(native_layer_norm) X(nothing) X(one_hot) X(prod) X(random) X(rnn_layer) \
    X(rnn_layer_backward) X(scatter) X(scatter_add) X(softmax) \
    X(sort) X(sum) X(topk) X(tril) X(triu) X(var) X(view_backward)
/* clang-format on */
/* clang-format off */
#define DYNC__DECOMPOSES(X) \
    X(adaptive_avg_pool2d) X(argsort) X(batch_norm) X(binary_cross_entropy)                     \
    X(binary_cross_entropy_with_logits) X(contiguous) X(conv2d) X(cross_entropy) X(dropout) \
    X(embedding_dense_backward) X(expand_as) X(flatten) X(l1_loss) X(layer_norm) X(linear) \
    X(manual_seed) \
    X(masked_select) X(matmul) X(max) X(max_pool2d) X(min) X(mse_loss) X(narrow) \
    X(native_batch_norm) \
    X(native_batch_norm_backward) X(nll_loss) X(nonzero) X(norm) X(outer) X(relu6) X(repeat) \
    X(reshape) X(roll) \
    X(set_) X(set_grad_enabled) X(sigmoid_backward) X(smooth_l1_loss) X(stack) X(take_along_dim) \
    X(tanh_backward) \
    X(trace_wrapped) X(unflatten) X(view_as) \
    X(addmv) X(baddbmm) X(bernoulli) X(conv1d) X(conv_transpose2d) X(cosine_similarity) \
    X(count_nonzero) \
    X(einsum) X(flash_attention) X(glu) X(one_hot_all) X(group_norm) X(hardshrink) X(huber_loss) \
    X(instance_norm) \
    X(isclose) X(kl_div) X(movedim) X(nan_to_num) X(normalize) X(pad) X(pixel_shuffle) X(prelu) \
    X(rms_norm) X(rnn_layer) X(scaled_dot_product_attention) X(softmin) X(softshrink) \
    X(softsign) X(tanhshrink) \
    X(threshold) X(trace) X(unfold) X(unique) X(upsample_nearest2d) X(xlogy)
/* clang-format on */

DYNC__FN int dync__custom_find(const char *name); /* custom.c */

#define DYNC__X(name) DYNC__FN dync_status dync__i_##name(const dync__opcall *, dync__info *);
DYNC__INFERS(DYNC__X)
#undef DYNC__X
#define DYNC__X(name) DYNC__FN int dync__e_##name(dync__lb *, const dync__opcall *, const int *);
DYNC__EXPRS(DYNC__X)
#undef DYNC__X
#define DYNC__X(name)                                                                            \
    DYNC__FN dync_status dync__l_##name(dync__pb *, const dync__opcall *, const dync__operand *, \
                                        const dync__operand *);
DYNC__LOWERS(DYNC__X)
#undef DYNC__X
#define DYNC__X(name) DYNC__FN dync_status dync__d_##name(dync__opcall *);
DYNC__DECOMPOSES(DYNC__X)
#undef DYNC__X

/* ---- shared by infer.c and infer_nn.c -------------------------------------------------------- */
/* argument i, a tensor, or DYNC_ERR_VALUE */
DYNC__FN dync_status dync__infer_tensor(const dync__opcall *, int i, dync__tensor **out);
/* argument i is a tensor or a number */
DYNC__FN dync_status dync__infer_value(const dync__opcall *, int i);
/* of all tensors together; 0-dim CPU tensors mix */
DYNC__FN dync_status dync__infer_device(const dync__opcall *, int *device);
/* one that this build can allocate on */
/* row major */
DYNC__FN dync_status dync__infer_fresh(dync__info *, int dtype, int device, int ndim,
                                       const int64_t *shape);
/* dense, dims in the order of the operands' */
DYNC__FN dync_status dync__infer_like(dync__info *, int ndim, const int64_t *shape, int n,
                                      dync__tensor *const *);
DYNC__FN dync_status dync__infer_floating(const dync__tensor *);
/* int64 or int32 */
DYNC__FN dync_status dync__infer_index(const dync__tensor *);
/* DIMS or one INT; none: all */
DYNC__FN dync_status dync__infer_dims(const dync__arg *dims, int ndim, bool *reduced);
/* Sizes, strides and offset as a layout that stays inside a storage of so many items. */
DYNC__FN dync_status dync__infer_strided(const dync__arg *size, const dync__arg *stride,
                                         int64_t offset, int64_t items, dync__layout *out);
/* The layout of a view (VIEW rows and their *_backward): from the layout it is taken of. */
DYNC__FN dync_status dync__view_select(const dync__layout *, int64_t dim, int64_t index,
                                       dync__layout *out);
DYNC__FN dync_status dync__view_slice(const dync__layout *, int64_t dim, int64_t start, int64_t end,
                                      int64_t step, dync__layout *out);
DYNC__FN dync_status dync__view_diagonal(const dync__layout *, int64_t offset, int64_t dim1,
                                         int64_t dim2, dync__layout *out);
/* the largest number of a floating dtype */
DYNC__FN double dync__infer_largest(int dtype);
/* the numbers of the functional row op fit their dtype, as PyTorch checks them */
DYNC__FN dync_status dync__infer_numbers(const dync__opcall *, int op);
/* an int64 argument, saturated to int */
DYNC__FN int dync__infer_int_dim(const dync__arg *);

/* ---- shared by lower.c and lower_nn.c -------------------------------------------------------- */
/* Plan operand of tensor argument i (lists flattened before it); NULL if that argument is none. */
DYNC__FN const dync__operand *dync__lower_operand(const dync__opcall *, const dync__operand *in,
                                                  int i);
/* number argument i as a value */
DYNC__FN int dync__lower_number(dync__pb *, dync__lb *, const dync__opcall *, int i, int type);
/* src expanded to dst's shape, cast */
DYNC__FN dync_status dync__lower_copy(dync__pb *, const dync__operand *src,
                                      const dync__operand *dst);
DYNC__FN dync_status dync__lower_fill(dync__pb *, const dync__opcall *, int number_arg_or_minus_1,
                                      double value, const dync__operand *dst);
/* a row-major temporary */
DYNC__FN dync_status dync__lower_temp(dync__pb *, int dtype, int ndim, const int64_t *shape,
                                      dync__operand *out);
DYNC__FN dync_status dync__lower_pointwise(dync__pb *, const dync__opcall *,
                                           const dync__operand *in, const dync__operand *out);
/* A loop nest with builder: kernel of the given loops, in phase 0. dync__lower_end appends it. */
DYNC__FN bool dync__lower_begin(dync__pb *, dync__lb *, int n_outer, int n_dims,
                                const int64_t *extent);
DYNC__FN dync_status dync__lower_end(dync__pb *, dync__lb *);
/* strides per loop; offset of the operand's layout */
DYNC__FN int dync__lower_load(dync__lb *, const dync__operand *, const int64_t *stride);
/* cast and rounded to the operand's dtype */
DYNC__FN void dync__lower_store(dync__lb *, const dync__operand *, const int64_t *stride,
                                int value);
/* cumsum's loops */
DYNC__FN dync_status dync__lower_scan(dync__pb *, const dync__opcall *, const dync__operand *in,
                                      const dync__operand *out);
/* elements */
DYNC__FN int64_t dync__lower_count(const dync__layout *);
DYNC__FN dync_status dync__lower_kcall(dync__pb *, int kernel, int n, const dync__operand *operands,
                                       const dync__attr *);

/* ---- dispatch.c and eager.c ------------------------------------------------------------------ */
enum {
#if defined(DYNC_SMALL)
    DYNC__EAGER_SETS = 16,
#else
    DYNC__EAGER_SETS = 512,
#endif
    DYNC__EAGER_WAYS = 2
};
/* of a thread, at dync__tls.op_state; NULL until needed */
typedef struct dync__op_state {
    dync__handler *bottom; /* a tracer in the place of eager, or NULL */
    struct dync__eager_entry *entry[DYNC__EAGER_SETS][DYNC__EAGER_WAYS];
} dync__op_state;
/* makes it; NULL: no memory */
DYNC__FN dync__op_state *dync__op_state_get(void);
/* frees the entries */
DYNC__FN void dync__eager_forget(dync__op_state *);
/* the bottom handler */
DYNC__FN dync_status dync__eager(dync__opcall *);
/* index values in range, divisors not 0: real data only */
DYNC__FN dync_status dync__eager_check_data(const dync__opcall *);
#endif
