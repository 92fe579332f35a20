/* ---- operators: reductions and linear algebra (op/ops_reduce.def.h) ----
 *   errors, notes  as of all operators (api/ops.h)
 *   thread         any */
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
/* dync_count_nonzero: how many elements are not zero along dim, int64. No gradient. */
DYNC_API dync_tensor *(dync_count_nonzero)(dync_tensor *self, dync_dims dim);
#define dync_count_nonzero(...) \
    DYNC_TAKES_2(DYNC_count_nonzero, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_count_nonzero takes 2 arguments: self, dim", __VA_ARGS__)
#define DYNC_count_nonzero(text_, self, dim) \
    DYNC_OP_DIMS(dync_count_nonzero, dync__op_1Td, DYNC__OP_count_nonzero, DYNC_T(self, \
    "dync_count_nonzero: self"), DYNC_D_OF(dim, "dync_count_nonzero: dim"))
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
/* dync_normalize: self over its p-norm along dim, which is held at eps from below. */
DYNC_API dync_tensor *(dync_normalize)(dync_tensor *self, dync_value p, int dim, dync_real eps);
#define dync_normalize(...) \
    DYNC_TAKES_4(DYNC_normalize, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_normalize takes 4 arguments: self, p, dim, eps", __VA_ARGS__)
#define DYNC_normalize(text_, self, p, dim, eps) \
    DYNC_SEQ2_AND(dync_normalize, dync__op_1TVif, DYNC__OP_normalize, DYNC_T(self, \
    "dync_normalize: self"), DYNC_V(p), dim, eps)
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
/* dync_einsum: Einstein's sums: "bij,bjk->bik"; an ellipsis stands for broadcast dims. */
DYNC_API dync_tensor *(dync_einsum)(const char *equation, dync_value operands);
#define dync_einsum(...) \
    DYNC_TAKES_2(DYNC_einsum, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_einsum takes 2 arguments: equation, operands", __VA_ARGS__)
#define DYNC_einsum(text_, equation, operands) \
    DYNC_OP(dync_einsum, dync__op_1sL, DYNC__OP_einsum, equation, DYNC_V(operands))
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
/* dync_trace: the sum of a matrix's diagonal. */
DYNC_API dync_tensor *(dync_trace)(dync_tensor *self);
#define dync_trace(...) \
    DYNC_TAKES_1(DYNC_trace, DYNC_OTHER_T, __VA_ARGS__)("dync_trace takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_trace(text_, self) \
    DYNC_OP(dync_trace, dync__op_1T, DYNC__OP_trace, DYNC_T(self, "dync_trace: self"))
