/* op/ops_reduce.def.h: reductions and linear algebra. Rows of ops.def.h. */
#ifndef DYNC__OPS_REDUCE_DEF_H
#define DYNC__OPS_REDUCE_DEF_H

/* clang-format off */
#define DYNC__OPS_REDUCE(X)                                                                                          \
    X(all,         REDUCE, "(Tensor self, Dims dim, bool keepdim)", 1, i_reduce, none, l_all, none, none,            \
      "torch.*", DYNC__OP_NONDIFF | DYNC__OP_BOOL_OUT, -1, "no element is zero, as bool")                            \
    X(amax,        REDUCE, "(Tensor self, Dims dim, bool keepdim)", 1, i_reduce, none, l_amax, g_amax, none,         \
      "torch.*", 0, -1, "the largest element; the gradient is shared by equal ones")                                 \
    X(amin,        REDUCE, "(Tensor self, Dims dim, bool keepdim)", 1, i_reduce, none, l_amin, g_amax, none,         \
      "torch.*", 0, -1, "the smallest element; the gradient is shared by equal ones")                                \
    X(any,         REDUCE, "(Tensor self, Dims dim, bool keepdim)", 1, i_reduce, none, l_any, none, none,            \
      "torch.*", DYNC__OP_NONDIFF | DYNC__OP_BOOL_OUT, -1, "some element is not zero, as bool")                      \
    X(argmax,      REDUCE, "(Tensor self, int dim, bool keepdim)", 1, i_arg_reduce, none, l_argmax, none, none,      \
      "torch.*", DYNC__OP_NONDIFF, -1, "the place of the first largest element along dim, int64")                    \
    X(argmin,      REDUCE, "(Tensor self, int dim, bool keepdim)", 1, i_arg_reduce, none, l_argmin, none, none,      \
      "torch.*", DYNC__OP_NONDIFF, -1, "the place of the first smallest element along dim, int64")                   \
    X(cosine_similarity, COMPOSITE, "(Tensor x1, Tensor x2, int dim, float eps)", 1, i_composite, none, none, none,  \
      d_cosine_similarity, "F.*", 0, -1,                                                                             \
      "the cosine of the angle between vectors along dim; lengths are held at eps from below")                       \
    X(count_nonzero, COMPOSITE, "(Tensor self, Dims dim)", 1, i_composite, none, none, none, d_count_nonzero,        \
      "torch.*", DYNC__OP_NONDIFF, -1, "how many elements are not zero along dim, int64")                            \
    X(cumsum,      KERNEL, "(Tensor self, int dim)", 1, i_cumsum, none, l_cumsum, g_cumsum, none, "torch.*",         \
      DYNC__OP_KEEP_INT, -1, "running sums along dim")                                                               \
    X(log_softmax, KERNEL, "(Tensor self, int dim)", 1, i_softmax, none, l_softmax, g_log_softmax, none,             \
      "torch.*", 0, -1, "self - log(sum(exp(self))) along dim, without overflow")                                    \
    X(logsumexp,   REDUCE, "(Tensor self, Dims dim, bool keepdim)", 1, i_reduce, none, l_logsumexp, g_logsumexp,     \
      none, "torch.logsumexp({0}, {1}, {2})", DYNC__OP_FLOAT, -1, "log(sum(exp(self))), without overflow")           \
    X(max,         COMPOSITE, "(Tensor self)", 1, i_composite, none, none, g_max, d_max, "torch.*", 0, -1,           \
      "the largest of all elements; the gradient is shared by equal ones")                                           \
    X(max_dim,     REDUCE, "(Tensor self, int dim, bool keepdim)", 2, i_max_dim, none, l_max_dim, g_max_dim, none,   \
      "torch.max", 0, -1, "the largest elements along dim and their places")                                         \
    X(mean,        REDUCE, "(Tensor self, Dims dim, bool keepdim)", 1, i_reduce, none, l_mean, g_mean, none,         \
      "torch.*", 0, -1, "the mean; floating point only")                                                             \
    X(min,         COMPOSITE, "(Tensor self)", 1, i_composite, none, none, g_max, d_min, "torch.*", 0, -1,           \
      "the smallest of all elements; the gradient is shared by equal ones")                                          \
    X(min_dim,     REDUCE, "(Tensor self, int dim, bool keepdim)", 2, i_max_dim, none, l_min_dim, g_max_dim, none,   \
      "torch.min", 0, -1, "the smallest elements along dim and their places")                                        \
    X(norm,        COMPOSITE, "(Tensor self, Value p, Dims dim, bool keepdim)", 1, i_norm, none, none, none, d_norm, \
      "torch.*", 0, -1, "the p-norm: sum(abs(self) ** p) ** (1 / p)")                                                \
    X(normalize, COMPOSITE, "(Tensor self, Value p, int dim, float eps)", 1, i_composite, none, none, none,          \
      d_normalize, "F.*", 0, -1,                                                                                     \
      "self over its p-norm along dim, which is held at eps from below")                                             \
    X(prod,        REDUCE, "(Tensor self, Dims dim, bool keepdim)", 1, i_reduce, none, l_prod, g_prod, none,         \
      "torch.*", DYNC__OP_KEEP_INT, -1, "the product; integers give int64")                                          \
    X(softmax,     KERNEL, "(Tensor self, int dim)", 1, i_softmax, none, l_softmax, g_softmax, none,                 \
      "torch.*", 0, -1, "exp(self - max) / sum of the same, along dim")                                              \
    X(std,         REDUCE, "(Tensor self, Dims dim, int correction, bool keepdim)", 1, i_var, none, l_var, g_std,    \
      none, "torch.std({0}, {1}, correction={2}, keepdim={3})", 0, -1,                                               \
      "standard deviation; correction 1 divides by n - 1")                                                           \
    X(sum,         REDUCE, "(Tensor self, Dims dim, bool keepdim)", 1, i_reduce, none, l_sum, g_sum, none,           \
      "torch.*", DYNC__OP_KEEP_INT, -1, "the sum; integers give int64")                                              \
    X(var,         REDUCE, "(Tensor self, Dims dim, int correction, bool keepdim)", 1, i_var, none, l_var, g_var,    \
      none, "torch.var({0}, {1}, correction={2}, keepdim={3})", 0, -1, "variance; correction 1 divides by n - 1")
/* clang-format on */

/* clang-format off */
#define DYNC__OPS_LINALG(X)                                                                                         \
    X(addmm,  KERNEL, "(Tensor self, Tensor mat1, Tensor mat2)", 1, i_addmm, none, l_addmm, g_addmm, none,          \
      "torch.*", DYNC__OP_WORK_ADDMM, -1, "self + mat1 @ mat2; self is broadcast")                                  \
    X(addmv, COMPOSITE, "(Tensor self, Tensor mat, Tensor vec)", 1, i_composite, none, none, none, d_addmv,         \
      "torch.*", 0, -1, "self + mat @ vec; self is broadcast")                                                      \
    X(baddbmm, COMPOSITE, "(Tensor self, Tensor batch1, Tensor batch2)", 1, i_composite, none, none, none,          \
      d_baddbmm, "torch.*", 0, -1, "self + batch1 @ batch2; self is broadcast")                                     \
    X(bmm,    KERNEL, "(Tensor self, Tensor mat2)", 1, i_bmm, none, l_matmul, g_bmm, none, "torch.*",               \
      DYNC__OP_WORK_PRODUCT, -1, "a batch of matrix products: [B, M, K] @ [B, K, N]")                               \
    X(dot,    KERNEL, "(Tensor self, Tensor tensor)", 1, i_dot, none, l_dot, g_dot, none, "torch.*", 0, -1,         \
      "the scalar product of two vectors")                                                                          \
    X(einsum, COMPOSITE, "(str equation, Tensor[] operands)", 1, i_composite, none, none, none, d_einsum,           \
      "torch.einsum({0}, *{1})", 0, -1, "Einstein's sums: \"bij,bjk->bik\"; an ellipsis stands for broadcast dims") \
    X(int_mm, KERNEL, "(Tensor self, Tensor mat2)", 1, i_int_mm, none, l_matmul, none, none, "torch._int_mm",       \
      DYNC__OP_NONDIFF | DYNC__OP_WORK_PRODUCT, -1,                                                                 \
      "matrix product of [M, K] and [K, N] of I8 with sums in I32, for quantised weights. "                         \
      "Compiled, the cast, scales and bias behind it run on " "rows in the cache")                                  \
    X(linear, COMPOSITE, "(Tensor input, Tensor weight, Tensor? bias)", 1, i_linear, none, none, none, d_linear,    \
      "F.*", DYNC__OP_WORK_PRODUCT, -1, "input @ weight^T + bias, over any leading dims")                           \
    X(matmul, COMPOSITE, "(Tensor self, Tensor other)", 1, i_matmul, none, none, none, d_matmul, "@",               \
      DYNC__OP_WORK_PRODUCT, -1, "matrix product of vectors, matrices and batches of them, broadcast")              \
    X(mm,     KERNEL, "(Tensor self, Tensor mat2)", 1, i_mm, none, l_matmul, g_mm, none, "torch.*",                 \
      DYNC__OP_WORK_PRODUCT, -1, "matrix product of [M, K] and [K, N]")                                             \
    X(mv,     KERNEL, "(Tensor self, Tensor vec)", 1, i_mv, none, l_matmul, g_mv, none, "torch.*",                  \
      DYNC__OP_WORK_PRODUCT, -1, "matrix times vector")                                                             \
    X(outer,  COMPOSITE, "(Tensor self, Tensor vec2)", 1, i_outer, none, none, none, d_outer, "torch.*", 0, -1,     \
      "all products of two vectors' elements")                                                                      \
    X(trace, COMPOSITE, "(Tensor self)", 1, i_composite, none, none, none, d_trace, "torch.*", 0, -1,               \
      "the sum of a matrix's diagonal")
/* clang-format on */
#endif
