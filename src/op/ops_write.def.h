/* op/ops_write.def.h: what makes tensors or writes into them. Rows of ops.def.h. */
#ifndef DYNC__OPS_WRITE_DEF_H
#define DYNC__OPS_WRITE_DEF_H

/* clang-format off */
#define DYNC__OPS_FACTORY(X)                                                                                         \
    X(arange,     FACTORY, "(Value start, Value end, Value step, Dtype dtype, Device device)", 1, i_arange, none,    \
      l_arange, none, none, "torch.arange({0}, {1}, {2}, dtype={3}, device={4})",                                    \
      DYNC__OP_NONDIFF | DYNC__OP_PRIVATE | DYNC__OP_FILE, -1, "start, start + step, ... below end")                 \
    X(bernoulli, COMPOSITE, "(Tensor self)", 1, i_composite, none, none, none, d_bernoulli, "torch.*",               \
      DYNC__OP_NONDIFF | DYNC__OP_RANDOM, -1, "1 with the probability that self gives, else 0")                      \
    X(copy,       POINTWISE, "(Tensor self, Value src)", 1, i_like_self, e_copy, none, g_copy, none,                 \
      "A.*", DYNC__OP_PRIVATE | DYNC__OP_FILE | DYNC__OP_CHEAP, -1,                                                  \
      "src, broadcast and cast to the form of self")                                                                 \
    X(empty,      FACTORY, "(Dims size, Dtype dtype, Device device)", 1, i_factory, none, l_nothing, none, none,     \
      "torch.empty({0}, dtype={1}, device={2})", DYNC__OP_NONDIFF | DYNC__OP_PRIVATE | DYNC__OP_FILE, -1,            \
      "uninitialised elements")                                                                                      \
    X(empty_like, FACTORY, "(Tensor self)", 1, i_like, none, l_nothing, none, none, "torch.*",                       \
      DYNC__OP_NONDIFF, -1, "uninitialised elements in the form of self")                                            \
    X(eye,        FACTORY, "(int64 n, int64 m, Dtype dtype, Device device)", 1, i_eye, none, l_eye, none, none,      \
      "torch.eye({0}, {1}, dtype={2}, device={3})", DYNC__OP_NONDIFF, -1, "n by m, ones on the diagonal")            \
    X(fill,       POINTWISE, "(Tensor self, Value value)", 1, i_fill, e_copy, none, g_copy, none, "torch.*",         \
      DYNC__OP_PRIVATE | DYNC__OP_FILE | DYNC__OP_CHEAP | DYNC__OP_FITS, -1, "one number in the form of self")       \
    X(full,       FACTORY, "(Dims size, Value fill_value, Dtype dtype, Device device)", 1, i_full, none, l_full,     \
      none, none, "torch.full({0}, {1}, dtype={2}, device={3})", DYNC__OP_NONDIFF | DYNC__OP_PRIVATE |               \
      DYNC__OP_FILE | DYNC__OP_FITS, -1, "one number everywhere")                                                    \
    X(full_like,  FACTORY, "(Tensor self, Value fill_value)", 1, i_full_like, none, l_full, none, none,              \
      "torch.*", DYNC__OP_NONDIFF | DYNC__OP_FITS, -1, "one number everywhere, in the form of self")                 \
    X(normal,     FACTORY, "(Tensor self, float mean, float std)", 1, i_like, none, l_normal, none, none,            \
      "A.normal_functional", DYNC__OP_NONDIFF | DYNC__OP_RANDOM | DYNC__OP_PRIVATE, -1,                              \
      "normal numbers in the form of self")                                                                          \
    X(ones,       FACTORY, "(Dims size, Dtype dtype, Device device)", 1, i_factory, none, l_full, none, none,        \
      "torch.ones({0}, dtype={1}, device={2})", DYNC__OP_NONDIFF | DYNC__OP_PRIVATE | DYNC__OP_FILE, -1, "all ones") \
    X(ones_like,  FACTORY, "(Tensor self)", 1, i_like, none, l_full, none, none, "torch.*",                          \
      DYNC__OP_NONDIFF, -1, "all ones, in the form of self")                                                         \
    X(rand,       FACTORY, "(Dims size, Dtype dtype, Device device)", 1, i_factory, none, l_random, none, none,      \
      "torch.rand({0}, dtype={1}, device={2})",                                                                      \
      DYNC__OP_NONDIFF | DYNC__OP_RANDOM | DYNC__OP_PRIVATE | DYNC__OP_FILE, -1, "uniform in [0, 1)")                \
    X(rand_like,  FACTORY, "(Tensor self)", 1, i_like, none, l_random, none, none, "torch.*",                        \
      DYNC__OP_NONDIFF | DYNC__OP_RANDOM, -1, "uniform in [0, 1), in the form of self")                              \
    X(randn,      FACTORY, "(Dims size, Dtype dtype, Device device)", 1, i_factory, none, l_random, none, none,      \
      "torch.randn({0}, dtype={1}, device={2})",                                                                     \
      DYNC__OP_NONDIFF | DYNC__OP_RANDOM | DYNC__OP_PRIVATE | DYNC__OP_FILE, -1, "standard normal")                  \
    X(randn_like, FACTORY, "(Tensor self)", 1, i_like, none, l_normal, none, none, "torch.*",                        \
      DYNC__OP_NONDIFF | DYNC__OP_RANDOM, -1, "standard normal, in the form of self")                                \
    X(uniform,    FACTORY, "(Tensor self, float from, float to)", 1, i_like, none, l_random, none, none,             \
      "A.*", DYNC__OP_NONDIFF | DYNC__OP_RANDOM | DYNC__OP_PRIVATE, -1,                                              \
      "uniform in [from, to), in the form of self")                                                                  \
    X(zeros,      FACTORY, "(Dims size, Dtype dtype, Device device)", 1, i_factory, none, l_full, none, none,        \
      "torch.zeros({0}, dtype={1}, device={2})", DYNC__OP_NONDIFF | DYNC__OP_PRIVATE | DYNC__OP_FILE, -1,            \
      "all zeros")                                                                                                   \
    X(zeros_like, FACTORY, "(Tensor self)", 1, i_like, none, l_full, none, none, "torch.*",                          \
      DYNC__OP_NONDIFF, -1, "all zeros, in the form of self")
/* clang-format on */

/* clang-format off */
#define DYNC__OPS_INPLACE(X)                                                                                          \
    X(abs_,         INPLACE, "(Tensor self)", 1, i_inplace, none, none, none, none, ".*", 0, DYNC__OP_abs,            \
      "absolute value")                                                                                               \
    X(add_,         INPLACE, "(Tensor self, Value other)", 1, i_inplace, none, none, none, none, ".*", 0,             \
      DYNC__OP_add, "adds other into self; self keeps its dtype")                                                     \
    X(addcdiv_,     INPLACE, "(Tensor self, Tensor tensor1, Tensor tensor2, Value value)", 1, i_inplace, none, none,  \
      none, none, ".addcdiv_({1}, {2}, value={3})", 0, DYNC__OP_addcdiv, "adds value * tensor1 / tensor2")            \
    X(addcmul_,     INPLACE, "(Tensor self, Tensor tensor1, Tensor tensor2, Value value)", 1, i_inplace, none, none,  \
      none, none, ".addcmul_({1}, {2}, value={3})", 0, DYNC__OP_addcmul, "adds value * tensor1 * tensor2")            \
    X(ceil_,        INPLACE, "(Tensor self)", 1, i_inplace, none, none, none, none, ".*", 0, DYNC__OP_ceil,           \
      "rounds towards plus infinity")                                                                                 \
    X(clamp_,       INPLACE, "(Tensor self, Value? low, Value? high)", 1, i_inplace, none, none, none, none,          \
      ".*", 0, DYNC__OP_clamp, "holds self between low and high")                                                     \
    X(copy_,        INPLACE, "(Tensor self, Value src)", 1, i_inplace, none, none, none, none, ".*", 0,               \
      DYNC__OP_copy, "writes src, broadcast and cast, over self")                                                     \
    X(cos_,         INPLACE, "(Tensor self)", 1, i_inplace, none, none, none, none, ".*", 0, DYNC__OP_cos,            \
      "cosine")                                                                                                       \
    X(div_,         INPLACE, "(Tensor self, Value other)", 1, i_inplace, none, none, none, none, ".*", 0,             \
      DYNC__OP_div, "divides self by other")                                                                          \
    X(exp_,         INPLACE, "(Tensor self)", 1, i_inplace, none, none, none, none, ".*", 0, DYNC__OP_exp,            \
      "e to the power self")                                                                                          \
    X(fill_,        INPLACE, "(Tensor self, Value value)", 1, i_inplace, none, none, none, none, ".*", 0,             \
      DYNC__OP_fill, "writes one number everywhere")                                                                  \
    X(floor_,       INPLACE, "(Tensor self)", 1, i_inplace, none, none, none, none, ".*", 0, DYNC__OP_floor,          \
      "rounds towards minus infinity")                                                                                \
    X(index_add_,   INPLACE, "(Tensor self, int dim, Tensor index, Tensor source)", 1, i_inplace, none, none, none,   \
      none, ".*", 0, DYNC__OP_index_add, "adds rows of source into the rows that index names")                        \
    X(lerp_,        INPLACE, "(Tensor self, Tensor end, Value weight)", 1, i_inplace, none, none, none, none,         \
      ".*", 0, DYNC__OP_lerp, "moves self towards end")                                                               \
    X(log_,         INPLACE, "(Tensor self)", 1, i_inplace, none, none, none, none, ".*", 0, DYNC__OP_log,            \
      "natural logarithm")                                                                                            \
    X(masked_fill_, INPLACE, "(Tensor self, Tensor mask, Value value)", 1, i_inplace, none, none, none, none,         \
      ".*", 0, DYNC__OP_masked_fill, "writes value where the mask is set")                                            \
    X(mul_,         INPLACE, "(Tensor self, Value other)", 1, i_inplace, none, none, none, none, ".*", 0,             \
      DYNC__OP_mul, "multiplies self by other")                                                                       \
    X(neg_,         INPLACE, "(Tensor self)", 1, i_inplace, none, none, none, none, ".*", 0, DYNC__OP_neg,            \
      "negates self")                                                                                                 \
    X(normal_,      INPLACE, "(Tensor self, float mean, float std)", 1, i_inplace, none, none, none, none,            \
      ".*", DYNC__OP_RANDOM, DYNC__OP_normal, "draws from the normal distribution")                                   \
    X(pow_,         INPLACE, "(Tensor self, Value exponent)", 1, i_inplace, none, none, none, none, ".*", 0,          \
      DYNC__OP_pow, "raises self to a power")                                                                         \
    X(relu_,        INPLACE, "(Tensor self)", 1, i_inplace, none, none, none, none, ".*", 0, DYNC__OP_relu,           \
      "max(self, 0)")                                                                                                 \
    X(round_,       INPLACE, "(Tensor self)", 1, i_inplace, none, none, none, none, ".*", 0, DYNC__OP_round,          \
      "rounds to the nearest integer, halves to even")                                                                \
    X(scatter_,     INPLACE, "(Tensor self, int dim, Tensor index, Value src)", 1, i_inplace, none, none, none,       \
      none, ".*", 0, DYNC__OP_scatter, "writes src to the places that index names")                                   \
    X(scatter_add_, INPLACE, "(Tensor self, int dim, Tensor index, Tensor src)", 1, i_inplace, none, none, none,      \
      none, ".*", 0, DYNC__OP_scatter_add, "adds src at the places that index names")                                 \
    X(sigmoid_,     INPLACE, "(Tensor self)", 1, i_inplace, none, none, none, none, ".*", 0, DYNC__OP_sigmoid,        \
      "1 / (1 + exp(-self))")                                                                                         \
    X(sin_,         INPLACE, "(Tensor self)", 1, i_inplace, none, none, none, none, ".*", 0, DYNC__OP_sin, "sine")    \
    X(sqrt_,        INPLACE, "(Tensor self)", 1, i_inplace, none, none, none, none, ".*", 0, DYNC__OP_sqrt,           \
      "square root")                                                                                                  \
    X(sub_,         INPLACE, "(Tensor self, Value other)", 1, i_inplace, none, none, none, none, ".*", 0,             \
      DYNC__OP_sub, "subtracts other from self")                                                                      \
    X(tanh_,        INPLACE, "(Tensor self)", 1, i_inplace, none, none, none, none, ".*", 0, DYNC__OP_tanh,           \
      "hyperbolic tangent")                                                                                           \
    X(trunc_,       INPLACE, "(Tensor self)", 1, i_inplace, none, none, none, none, ".*", 0, DYNC__OP_trunc,          \
      "rounds towards zero")                                                                                          \
    X(uniform_,     INPLACE, "(Tensor self, float from, float to)", 1, i_inplace, none, none, none, none,             \
      ".*", DYNC__OP_RANDOM, DYNC__OP_uniform, "draws from [from, to)")                                               \
    X(zero_,        INPLACE, "(Tensor self)", 1, i_inplace, none, none, none, none, ".*", 0, DYNC__OP_zeros_like,     \
      "writes zero everywhere")
/* clang-format on */
#endif
