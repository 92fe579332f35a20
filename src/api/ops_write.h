/* ---- operators: what makes tensors or writes into them (op/ops_write.def.h) ----
 *   errors, notes  as of all operators (api/ops.h)
 *   thread         any */
/* dync_bernoulli: 1 with the probability that self gives, else 0. No gradient. */
DYNC_API dync_tensor *(dync_bernoulli)(dync_tensor *self);
#define dync_bernoulli(...) \
    DYNC_TAKES_1(DYNC_bernoulli, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_bernoulli takes 1 argument: self", __VA_ARGS__)
#define DYNC_bernoulli(text_, self) \
    DYNC_OP(dync_bernoulli, dync__op_1T, DYNC__OP_bernoulli, DYNC_T(self, "dync_bernoulli: self"))
/* dync_empty_like: uninitialised elements in the form of self. No gradient. */
DYNC_API dync_tensor *(dync_empty_like)(dync_tensor *self);
#define dync_empty_like(...) \
    DYNC_TAKES_1(DYNC_empty_like, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_empty_like takes 1 argument: self", __VA_ARGS__)
#define DYNC_empty_like(text_, self) \
    DYNC_OP(dync_empty_like, dync__op_1T, DYNC__OP_empty_like, DYNC_T(self, \
    "dync_empty_like: self"))
/* dync_eye: n by m, ones on the diagonal. No gradient. */
DYNC_API dync_tensor *(dync_eye)(int64_t n, int64_t m, dync_dtype dtype, dync_device device);
#define dync_eye(...) \
    DYNC_TAKES_4(DYNC_eye, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_eye takes 4 arguments: n, m, dtype, device", __VA_ARGS__)
#define DYNC_eye(text_, n, m, dtype, device) \
    DYNC_OP(dync_eye, dync__op_1llye, DYNC__OP_eye, n, m, dtype, device)
/* dync_full_like: one number everywhere, in the form of self. No gradient. */
DYNC_API dync_tensor *(dync_full_like)(dync_tensor *self, dync_value fill_value);
#define dync_full_like(...) \
    DYNC_TAKES_2(DYNC_full_like, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_full_like takes 2 arguments: self, fill_value", __VA_ARGS__)
#define DYNC_full_like(text_, self, fill_value) \
    DYNC_SEQ2(dync_full_like, dync__op_1TV, DYNC__OP_full_like, DYNC_T(self, \
    "dync_full_like: self"), DYNC_V(fill_value))
/* dync_ones_like: all ones, in the form of self. No gradient. */
DYNC_API dync_tensor *(dync_ones_like)(dync_tensor *self);
#define dync_ones_like(...) \
    DYNC_TAKES_1(DYNC_ones_like, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_ones_like takes 1 argument: self", __VA_ARGS__)
#define DYNC_ones_like(text_, self) \
    DYNC_OP(dync_ones_like, dync__op_1T, DYNC__OP_ones_like, DYNC_T(self, "dync_ones_like: self"))
/* dync_rand_like: uniform in [0, 1), in the form of self. No gradient. */
DYNC_API dync_tensor *(dync_rand_like)(dync_tensor *self);
#define dync_rand_like(...) \
    DYNC_TAKES_1(DYNC_rand_like, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_rand_like takes 1 argument: self", __VA_ARGS__)
#define DYNC_rand_like(text_, self) \
    DYNC_OP(dync_rand_like, dync__op_1T, DYNC__OP_rand_like, DYNC_T(self, "dync_rand_like: self"))
/* dync_randn_like: standard normal, in the form of self. No gradient. */
DYNC_API dync_tensor *(dync_randn_like)(dync_tensor *self);
#define dync_randn_like(...) \
    DYNC_TAKES_1(DYNC_randn_like, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_randn_like takes 1 argument: self", __VA_ARGS__)
#define DYNC_randn_like(text_, self) \
    DYNC_OP(dync_randn_like, dync__op_1T, DYNC__OP_randn_like, DYNC_T(self, \
    "dync_randn_like: self"))
/* dync_zeros_like: all zeros, in the form of self. No gradient. */
DYNC_API dync_tensor *(dync_zeros_like)(dync_tensor *self);
#define dync_zeros_like(...) \
    DYNC_TAKES_1(DYNC_zeros_like, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_zeros_like takes 1 argument: self", __VA_ARGS__)
#define DYNC_zeros_like(text_, self) \
    DYNC_OP(dync_zeros_like, dync__op_1T, DYNC__OP_zeros_like, DYNC_T(self, \
    "dync_zeros_like: self"))
/* dync_abs_: absolute value. In place; returns self. */
DYNC_API dync_tensor *(dync_abs_)(dync_tensor *self);
#define dync_abs_(...) \
    DYNC_TAKES_1(DYNC_abs_, DYNC_OTHER_T, __VA_ARGS__)("dync_abs_ takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_abs_(text_, self) \
    DYNC_OP(dync_abs_, dync__op_1T, DYNC__OP_abs_, DYNC_T(self, "dync_abs_: self"))
/* dync_add_: adds other into self; self keeps its dtype. In place; returns self. */
DYNC_API dync_tensor *(dync_add_)(dync_tensor *self, dync_value other);
#define dync_add_(...) \
    DYNC_TAKES_2(DYNC_add_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_add_ takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_add_(text_, self, other) \
    DYNC_SEQ2(dync_add_, dync__op_1TV, DYNC__OP_add_, DYNC_T(self, "dync_add_: self"), \
    DYNC_V(other))
/* dync_addcdiv_: adds value * tensor1 / tensor2. In place; returns self. */
DYNC_API dync_tensor *(dync_addcdiv_)(dync_tensor *self, dync_tensor *tensor1,
    dync_tensor *tensor2, dync_value value);
#define dync_addcdiv_(...) \
    DYNC_TAKES_4(DYNC_addcdiv_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_addcdiv_ takes 4 arguments: self, tensor1, tensor2, value", __VA_ARGS__)
#define DYNC_addcdiv_(text_, self, tensor1, tensor2, value) \
    DYNC_SEQ3_AND(dync_addcdiv_, dync__op_1TTTV, DYNC__OP_addcdiv_, DYNC_T(self, \
    "dync_addcdiv_: self"), DYNC_T(tensor1, "dync_addcdiv_: tensor1"), DYNC_T(tensor2, \
    "dync_addcdiv_: tensor2"), DYNC_V(value))
/* dync_addcmul_: adds value * tensor1 * tensor2. In place; returns self. */
DYNC_API dync_tensor *(dync_addcmul_)(dync_tensor *self, dync_tensor *tensor1,
    dync_tensor *tensor2, dync_value value);
#define dync_addcmul_(...) \
    DYNC_TAKES_4(DYNC_addcmul_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_addcmul_ takes 4 arguments: self, tensor1, tensor2, value", __VA_ARGS__)
#define DYNC_addcmul_(text_, self, tensor1, tensor2, value) \
    DYNC_SEQ3_AND(dync_addcmul_, dync__op_1TTTV, DYNC__OP_addcmul_, DYNC_T(self, \
    "dync_addcmul_: self"), DYNC_T(tensor1, "dync_addcmul_: tensor1"), DYNC_T(tensor2, \
    "dync_addcmul_: tensor2"), DYNC_V(value))
/* dync_ceil_: rounds towards plus infinity. In place; returns self. */
DYNC_API dync_tensor *(dync_ceil_)(dync_tensor *self);
#define dync_ceil_(...) \
    DYNC_TAKES_1(DYNC_ceil_, DYNC_OTHER_T, __VA_ARGS__)("dync_ceil_ takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_ceil_(text_, self) \
    DYNC_OP(dync_ceil_, dync__op_1T, DYNC__OP_ceil_, DYNC_T(self, "dync_ceil_: self"))
/* dync_clamp_: holds self between low and high. In place; returns self. */
DYNC_API dync_tensor *(dync_clamp_)(dync_tensor *self, dync_value low, dync_value high);
#define dync_clamp_(...) \
    DYNC_TAKES_3(DYNC_clamp_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_clamp_ takes 3 arguments: self, low, high", __VA_ARGS__)
#define DYNC_clamp_(text_, self, low, high) \
    DYNC_OP(dync_clamp_, dync__op_1TVV, DYNC__OP_clamp_, DYNC_T(self, "dync_clamp_: self"), \
    DYNC_V(low), DYNC_V(high))
/* dync_copy_: writes src, broadcast and cast, over self. In place; returns self. */
DYNC_API dync_tensor *(dync_copy_)(dync_tensor *self, dync_value src);
#define dync_copy_(...) \
    DYNC_TAKES_2(DYNC_copy_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_copy_ takes 2 arguments: self, src", __VA_ARGS__)
#define DYNC_copy_(text_, self, src) \
    DYNC_SEQ2(dync_copy_, dync__op_1TV, DYNC__OP_copy_, DYNC_T(self, "dync_copy_: self"), \
    DYNC_V(src))
/* dync_cos_: cosine. In place; returns self. */
DYNC_API dync_tensor *(dync_cos_)(dync_tensor *self);
#define dync_cos_(...) \
    DYNC_TAKES_1(DYNC_cos_, DYNC_OTHER_T, __VA_ARGS__)("dync_cos_ takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_cos_(text_, self) \
    DYNC_OP(dync_cos_, dync__op_1T, DYNC__OP_cos_, DYNC_T(self, "dync_cos_: self"))
/* dync_div_: divides self by other. In place; returns self. */
DYNC_API dync_tensor *(dync_div_)(dync_tensor *self, dync_value other);
#define dync_div_(...) \
    DYNC_TAKES_2(DYNC_div_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_div_ takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_div_(text_, self, other) \
    DYNC_SEQ2(dync_div_, dync__op_1TV, DYNC__OP_div_, DYNC_T(self, "dync_div_: self"), \
    DYNC_V(other))
/* dync_exp_: e to the power self. In place; returns self. */
DYNC_API dync_tensor *(dync_exp_)(dync_tensor *self);
#define dync_exp_(...) \
    DYNC_TAKES_1(DYNC_exp_, DYNC_OTHER_T, __VA_ARGS__)("dync_exp_ takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_exp_(text_, self) \
    DYNC_OP(dync_exp_, dync__op_1T, DYNC__OP_exp_, DYNC_T(self, "dync_exp_: self"))
/* dync_fill_: writes one number everywhere. In place; returns self. */
DYNC_API dync_tensor *(dync_fill_)(dync_tensor *self, dync_value value);
#define dync_fill_(...) \
    DYNC_TAKES_2(DYNC_fill_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_fill_ takes 2 arguments: self, value", __VA_ARGS__)
#define DYNC_fill_(text_, self, value) \
    DYNC_SEQ2(dync_fill_, dync__op_1TV, DYNC__OP_fill_, DYNC_T(self, "dync_fill_: self"), \
    DYNC_V(value))
/* dync_floor_: rounds towards minus infinity. In place; returns self. */
DYNC_API dync_tensor *(dync_floor_)(dync_tensor *self);
#define dync_floor_(...) \
    DYNC_TAKES_1(DYNC_floor_, DYNC_OTHER_T, __VA_ARGS__)("dync_floor_ takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_floor_(text_, self) \
    DYNC_OP(dync_floor_, dync__op_1T, DYNC__OP_floor_, DYNC_T(self, "dync_floor_: self"))
/* dync_index_add_: adds rows of source into the rows that index names. In place; returns self. */
DYNC_API dync_tensor *(dync_index_add_)(dync_tensor *self, int dim, dync_tensor *index,
    dync_tensor *source);
#define dync_index_add_(...) \
    DYNC_TAKES_4(DYNC_index_add_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_index_add_ takes 4 arguments: self, dim, index, source", __VA_ARGS__)
#define DYNC_index_add_(text_, self, dim, index, source) \
    DYNC_OP(dync_index_add_, dync__op_1TiTT, DYNC__OP_index_add_, DYNC_T(self, \
    "dync_index_add_: self"), dim, DYNC_T(index, "dync_index_add_: index"), DYNC_T(source, \
    "dync_index_add_: source"))
/* dync_lerp_: moves self towards end. In place; returns self. */
DYNC_API dync_tensor *(dync_lerp_)(dync_tensor *self, dync_tensor *end, dync_value weight);
#define dync_lerp_(...) \
    DYNC_TAKES_3(DYNC_lerp_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_lerp_ takes 3 arguments: self, end, weight", __VA_ARGS__)
#define DYNC_lerp_(text_, self, end, weight) \
    DYNC_SEQ2_AND(dync_lerp_, dync__op_1TTV, DYNC__OP_lerp_, DYNC_T(self, "dync_lerp_: self"), \
    DYNC_T(end, "dync_lerp_: end"), DYNC_V(weight))
/* dync_log_: natural logarithm. In place; returns self. */
DYNC_API dync_tensor *(dync_log_)(dync_tensor *self);
#define dync_log_(...) \
    DYNC_TAKES_1(DYNC_log_, DYNC_OTHER_T, __VA_ARGS__)("dync_log_ takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_log_(text_, self) \
    DYNC_OP(dync_log_, dync__op_1T, DYNC__OP_log_, DYNC_T(self, "dync_log_: self"))
/* dync_masked_fill_: writes value where the mask is set. In place; returns self. */
DYNC_API dync_tensor *(dync_masked_fill_)(dync_tensor *self, dync_tensor *mask, dync_value value);
#define dync_masked_fill_(...) \
    DYNC_TAKES_3(DYNC_masked_fill_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_masked_fill_ takes 3 arguments: self, mask, value", __VA_ARGS__)
#define DYNC_masked_fill_(text_, self, mask, value) \
    DYNC_SEQ2_AND(dync_masked_fill_, dync__op_1TTV, DYNC__OP_masked_fill_, DYNC_T(self, \
    "dync_masked_fill_: self"), DYNC_T(mask, "dync_masked_fill_: mask"), DYNC_V(value))
/* dync_mul_: multiplies self by other. In place; returns self. */
DYNC_API dync_tensor *(dync_mul_)(dync_tensor *self, dync_value other);
#define dync_mul_(...) \
    DYNC_TAKES_2(DYNC_mul_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_mul_ takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_mul_(text_, self, other) \
    DYNC_SEQ2(dync_mul_, dync__op_1TV, DYNC__OP_mul_, DYNC_T(self, "dync_mul_: self"), \
    DYNC_V(other))
/* dync_neg_: negates self. In place; returns self. */
DYNC_API dync_tensor *(dync_neg_)(dync_tensor *self);
#define dync_neg_(...) \
    DYNC_TAKES_1(DYNC_neg_, DYNC_OTHER_T, __VA_ARGS__)("dync_neg_ takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_neg_(text_, self) \
    DYNC_OP(dync_neg_, dync__op_1T, DYNC__OP_neg_, DYNC_T(self, "dync_neg_: self"))
/* dync_normal_: draws from the normal distribution. In place; returns self. */
DYNC_API dync_tensor *(dync_normal_)(dync_tensor *self, dync_real mean, dync_real std);
#define dync_normal_(...) \
    DYNC_TAKES_3(DYNC_normal_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_normal_ takes 3 arguments: self, mean, std", __VA_ARGS__)
#define DYNC_normal_(text_, self, mean, std) \
    DYNC_OP(dync_normal_, dync__op_1Tff, DYNC__OP_normal_, DYNC_T(self, "dync_normal_: self"), \
    mean, std)
/* dync_pow_: raises self to a power. In place; returns self. */
DYNC_API dync_tensor *(dync_pow_)(dync_tensor *self, dync_value exponent);
#define dync_pow_(...) \
    DYNC_TAKES_2(DYNC_pow_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_pow_ takes 2 arguments: self, exponent", __VA_ARGS__)
#define DYNC_pow_(text_, self, exponent) \
    DYNC_SEQ2(dync_pow_, dync__op_1TV, DYNC__OP_pow_, DYNC_T(self, "dync_pow_: self"), \
    DYNC_V(exponent))
/* dync_relu_: max(self, 0). In place; returns self. */
DYNC_API dync_tensor *(dync_relu_)(dync_tensor *self);
#define dync_relu_(...) \
    DYNC_TAKES_1(DYNC_relu_, DYNC_OTHER_T, __VA_ARGS__)("dync_relu_ takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_relu_(text_, self) \
    DYNC_OP(dync_relu_, dync__op_1T, DYNC__OP_relu_, DYNC_T(self, "dync_relu_: self"))
/* dync_round_: rounds to the nearest integer, halves to even. In place; returns self. */
DYNC_API dync_tensor *(dync_round_)(dync_tensor *self);
#define dync_round_(...) \
    DYNC_TAKES_1(DYNC_round_, DYNC_OTHER_T, __VA_ARGS__)("dync_round_ takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_round_(text_, self) \
    DYNC_OP(dync_round_, dync__op_1T, DYNC__OP_round_, DYNC_T(self, "dync_round_: self"))
/* dync_scatter_: writes src to the places that index names. In place; returns self. */
DYNC_API dync_tensor *(dync_scatter_)(dync_tensor *self, int dim, dync_tensor *index,
    dync_value src);
#define dync_scatter_(...) \
    DYNC_TAKES_4(DYNC_scatter_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_scatter_ takes 4 arguments: self, dim, index, src", __VA_ARGS__)
#define DYNC_scatter_(text_, self, dim, index, src) \
    DYNC_OP(dync_scatter_, dync__op_1TiTV, DYNC__OP_scatter_, DYNC_T(self, \
    "dync_scatter_: self"), dim, DYNC_T(index, "dync_scatter_: index"), DYNC_V(src))
/* dync_scatter_add_: adds src at the places that index names. In place; returns self. */
DYNC_API dync_tensor *(dync_scatter_add_)(dync_tensor *self, int dim, dync_tensor *index,
    dync_tensor *src);
#define dync_scatter_add_(...) \
    DYNC_TAKES_4(DYNC_scatter_add_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_scatter_add_ takes 4 arguments: self, dim, index, src", __VA_ARGS__)
#define DYNC_scatter_add_(text_, self, dim, index, src) \
    DYNC_OP(dync_scatter_add_, dync__op_1TiTT, DYNC__OP_scatter_add_, DYNC_T(self, \
    "dync_scatter_add_: self"), dim, DYNC_T(index, "dync_scatter_add_: index"), DYNC_T(src, \
    "dync_scatter_add_: src"))
/* dync_sigmoid_: 1 / (1 + exp(-self)). In place; returns self. */
DYNC_API dync_tensor *(dync_sigmoid_)(dync_tensor *self);
#define dync_sigmoid_(...) \
    DYNC_TAKES_1(DYNC_sigmoid_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_sigmoid_ takes 1 argument: self", __VA_ARGS__)
#define DYNC_sigmoid_(text_, self) \
    DYNC_OP(dync_sigmoid_, dync__op_1T, DYNC__OP_sigmoid_, DYNC_T(self, "dync_sigmoid_: self"))
/* dync_sin_: sine. In place; returns self. */
DYNC_API dync_tensor *(dync_sin_)(dync_tensor *self);
#define dync_sin_(...) \
    DYNC_TAKES_1(DYNC_sin_, DYNC_OTHER_T, __VA_ARGS__)("dync_sin_ takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_sin_(text_, self) \
    DYNC_OP(dync_sin_, dync__op_1T, DYNC__OP_sin_, DYNC_T(self, "dync_sin_: self"))
/* dync_sqrt_: square root. In place; returns self. */
DYNC_API dync_tensor *(dync_sqrt_)(dync_tensor *self);
#define dync_sqrt_(...) \
    DYNC_TAKES_1(DYNC_sqrt_, DYNC_OTHER_T, __VA_ARGS__)("dync_sqrt_ takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_sqrt_(text_, self) \
    DYNC_OP(dync_sqrt_, dync__op_1T, DYNC__OP_sqrt_, DYNC_T(self, "dync_sqrt_: self"))
/* dync_sub_: subtracts other from self. In place; returns self. */
DYNC_API dync_tensor *(dync_sub_)(dync_tensor *self, dync_value other);
#define dync_sub_(...) \
    DYNC_TAKES_2(DYNC_sub_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_sub_ takes 2 arguments: self, other", __VA_ARGS__)
#define DYNC_sub_(text_, self, other) \
    DYNC_SEQ2(dync_sub_, dync__op_1TV, DYNC__OP_sub_, DYNC_T(self, "dync_sub_: self"), \
    DYNC_V(other))
/* dync_tanh_: hyperbolic tangent. In place; returns self. */
DYNC_API dync_tensor *(dync_tanh_)(dync_tensor *self);
#define dync_tanh_(...) \
    DYNC_TAKES_1(DYNC_tanh_, DYNC_OTHER_T, __VA_ARGS__)("dync_tanh_ takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_tanh_(text_, self) \
    DYNC_OP(dync_tanh_, dync__op_1T, DYNC__OP_tanh_, DYNC_T(self, "dync_tanh_: self"))
/* dync_trunc_: rounds towards zero. In place; returns self. */
DYNC_API dync_tensor *(dync_trunc_)(dync_tensor *self);
#define dync_trunc_(...) \
    DYNC_TAKES_1(DYNC_trunc_, DYNC_OTHER_T, __VA_ARGS__)("dync_trunc_ takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_trunc_(text_, self) \
    DYNC_OP(dync_trunc_, dync__op_1T, DYNC__OP_trunc_, DYNC_T(self, "dync_trunc_: self"))
/* dync_uniform_: draws from [from, to). In place; returns self. */
DYNC_API dync_tensor *(dync_uniform_)(dync_tensor *self, dync_real from, dync_real to);
#define dync_uniform_(...) \
    DYNC_TAKES_3(DYNC_uniform_, DYNC_OTHER_T, \
    __VA_ARGS__)("dync_uniform_ takes 3 arguments: self, from, to", __VA_ARGS__)
#define DYNC_uniform_(text_, self, from, to) \
    DYNC_OP(dync_uniform_, dync__op_1Tff, DYNC__OP_uniform_, DYNC_T(self, \
    "dync_uniform_: self"), from, to)
/* dync_zero_: writes zero everywhere. In place; returns self. */
DYNC_API dync_tensor *(dync_zero_)(dync_tensor *self);
#define dync_zero_(...) \
    DYNC_TAKES_1(DYNC_zero_, DYNC_OTHER_T, __VA_ARGS__)("dync_zero_ takes 1 argument: self", \
    __VA_ARGS__)
#define DYNC_zero_(text_, self) \
    DYNC_OP(dync_zero_, dync__op_1T, DYNC__OP_zero_, DYNC_T(self, "dync_zero_: self"))
