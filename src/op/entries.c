/* op/entries.c: the public functions of the operators. After dispatch.c, which opens the handles
 * packed here.
 *
 * Generated from src/op/ops.def.h by tools/genops.c: edit the table, then `make headers`. */
#include "../dync.in.h"
#include "op.h"
DYNC__COLD

/* What packs the arguments of all operators of one signature, and the function of one operator. */
#define DYNC__PACKER(sig, result, call, params, ...) \
    DYNC_API result dync__op_##sig params \
    { \
        dync__arg args[] = {__VA_ARGS__}; \
        return (call)(dync__op_use(op), DYNC__COUNT_OF(args), args, at); \
    }
#define DYNC__ENTRY(name, op, sig, result, params, ...) \
    DYNC_API result (name) params { return dync__op_##sig(&op##_row, __VA_ARGS__, dync__tls.at); }
/* The same where there are dims: as pointers inside the library, where `at` NULL is the thread's
 * place. */
#define DYNC__PACKER_DIMS(sig, result, call, params, of_params, handed, ...) \
    DYNC_API result dync__op_##sig##_of of_params \
    { \
        dync__arg args[] = {__VA_ARGS__}; \
        return (call)(dync__op_use(op), DYNC__COUNT_OF(args), args, at ? *at : dync__tls.at); \
    } \
    DYNC_API result dync__op_##sig params { return dync__op_##sig##_of handed; }
#define DYNC__ENTRY_DIMS(name, op, sig, result, params, ...) \
    DYNC_API result (name) params { return dync__op_##sig##_of(&op##_row, __VA_ARGS__, NULL); }

DYNC__PACKER(1VV, dync_tensor *, dync__op_call, (const dync__row *op, dync_value x0,
    dync_value x1, dync_loc at),
    dync__arg_value(x0), dync__arg_value(x1))
#define DYNC__ENTRY_1VV(name) DYNC__ENTRY(dync_##name, DYNC__OP_##name, 1VV, dync_tensor *, \
    (dync_value x0, dync_value x1), x0, x1)
DYNC__ENTRY_1VV(add) DYNC__ENTRY_1VV(atan2) DYNC__ENTRY_1VV(bitwise_and) DYNC__ENTRY_1VV(bitwise_or)
DYNC__ENTRY_1VV(bitwise_xor) DYNC__ENTRY_1VV(div) DYNC__ENTRY_1VV(eq) DYNC__ENTRY_1VV(floor_divide)
DYNC__ENTRY_1VV(fmod) DYNC__ENTRY_1VV(ge) DYNC__ENTRY_1VV(gt) DYNC__ENTRY_1VV(le)
DYNC__ENTRY_1VV(logical_and) DYNC__ENTRY_1VV(logical_or) DYNC__ENTRY_1VV(logical_xor)
DYNC__ENTRY_1VV(lt) DYNC__ENTRY_1VV(maximum) DYNC__ENTRY_1VV(minimum) DYNC__ENTRY_1VV(mul)
DYNC__ENTRY_1VV(ne) DYNC__ENTRY_1VV(pow) DYNC__ENTRY_1VV(remainder) DYNC__ENTRY_1VV(sub)

DYNC__PACKER(1TTffb, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_tensor *x1, dync_real x2, dync_real x3, bool x4, dync_loc at),
    dync__arg_h(x0), dync__arg_h(x1), dync__arg_f(x2), dync__arg_f(x3), dync__arg_b(x4))
DYNC__ENTRY(dync_isclose, DYNC__OP_isclose, 1TTffb, dync_tensor *, (dync_tensor *x0,
    dync_tensor *x1, dync_real x2, dync_real x3, bool x4), x0, x1, x2, x3, x4)

DYNC__PACKER(1TT, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_tensor *x1, dync_loc at),
    dync__arg_h(x0), dync__arg_h(x1))
#define DYNC__ENTRY_1TT(name) DYNC__ENTRY(dync_##name, DYNC__OP_##name, 1TT, dync_tensor *, \
    (dync_tensor *x0, dync_tensor *x1), x0, x1)
DYNC__ENTRY_1TT(logaddexp) DYNC__ENTRY_1TT(xlogy) DYNC__ENTRY_1TT(prelu) DYNC__ENTRY_1TT(bmm)
DYNC__ENTRY_1TT(dot) DYNC__ENTRY_1TT(int_mm) DYNC__ENTRY_1TT(matmul) DYNC__ENTRY_1TT(mm)
DYNC__ENTRY_1TT(mv) DYNC__ENTRY_1TT(outer) DYNC__ENTRY_1TT(embedding)
    DYNC__ENTRY_1TT(binary_cross_entropy)
DYNC__ENTRY_1TT(binary_cross_entropy_with_logits) DYNC__ENTRY_1TT(cross_entropy)
DYNC__ENTRY_1TT(l1_loss) DYNC__ENTRY_1TT(mse_loss) DYNC__ENTRY_1TT(nll_loss)
DYNC__ENTRY_1TT(expand_as) DYNC__ENTRY_1TT(view_as) DYNC__ENTRY_1TT(masked_select)

DYNC__PACKER(1TTTV, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_tensor *x1, dync_tensor *x2, dync_value x3, dync_loc at),
    dync__arg_h(x0), dync__arg_h(x1), dync__arg_h(x2), dync__arg_value(x3))
#define DYNC__ENTRY_1TTTV(name) DYNC__ENTRY(dync_##name, DYNC__OP_##name, 1TTTV, dync_tensor *, \
    (dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_value x3), x0, x1, x2, x3)
DYNC__ENTRY_1TTTV(addcdiv) DYNC__ENTRY_1TTTV(addcmul) DYNC__ENTRY_1TTTV(addcdiv_)
DYNC__ENTRY_1TTTV(addcmul_)

DYNC__PACKER(1TVV, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_value x1, dync_value x2, dync_loc at),
    dync__arg_h(x0), dync__arg_value(x1), dync__arg_value(x2))
#define DYNC__ENTRY_1TVV(name) DYNC__ENTRY(dync_##name, DYNC__OP_##name, 1TVV, dync_tensor *, \
    (dync_tensor *x0, dync_value x1, dync_value x2), x0, x1, x2)
DYNC__ENTRY_1TVV(clamp) DYNC__ENTRY_1TVV(where) DYNC__ENTRY_1TVV(clamp_)

DYNC__PACKER(1TTV, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_tensor *x1, dync_value x2, dync_loc at),
    dync__arg_h(x0), dync__arg_h(x1), dync__arg_value(x2))
#define DYNC__ENTRY_1TTV(name) DYNC__ENTRY(dync_##name, DYNC__OP_##name, 1TTV, dync_tensor *, \
    (dync_tensor *x0, dync_tensor *x1, dync_value x2), x0, x1, x2)
DYNC__ENTRY_1TTV(lerp) DYNC__ENTRY_1TTV(masked_fill) DYNC__ENTRY_1TTV(lerp_)
DYNC__ENTRY_1TTV(masked_fill_)

DYNC__PACKER(1TVVV, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_value x1, dync_value x2, dync_value x3, dync_loc at),
    dync__arg_h(x0), dync__arg_value(x1), dync__arg_value(x2), dync__arg_value(x3))
DYNC__ENTRY(dync_nan_to_num, DYNC__OP_nan_to_num, 1TVVV, dync_tensor *, (dync_tensor *x0,
    dync_value x1, dync_value x2, dync_value x3), x0, x1, x2, x3)

DYNC__PACKER(1TTT, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_tensor *x1, dync_tensor *x2, dync_loc at),
    dync__arg_h(x0), dync__arg_h(x1), dync__arg_h(x2))
#define DYNC__ENTRY_1TTT(name) DYNC__ENTRY(dync_##name, DYNC__OP_##name, 1TTT, dync_tensor *, \
    (dync_tensor *x0, dync_tensor *x1, dync_tensor *x2), x0, x1, x2)
DYNC__ENTRY_1TTT(rescale) DYNC__ENTRY_1TTT(addmm) DYNC__ENTRY_1TTT(addmv)
DYNC__ENTRY_1TTT(baddbmm)

DYNC__PACKER(1T, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0, dync_loc at),
    dync__arg_h(x0))
#define DYNC__ENTRY_1T(name) DYNC__ENTRY(dync_##name, DYNC__OP_##name, 1T, dync_tensor *, \
    (dync_tensor *x0), x0)
DYNC__ENTRY_1T(abs) DYNC__ENTRY_1T(acos) DYNC__ENTRY_1T(acosh) DYNC__ENTRY_1T(asin)
DYNC__ENTRY_1T(asinh) DYNC__ENTRY_1T(atan) DYNC__ENTRY_1T(atanh) DYNC__ENTRY_1T(bitwise_not)
DYNC__ENTRY_1T(ceil) DYNC__ENTRY_1T(cos) DYNC__ENTRY_1T(cosh) DYNC__ENTRY_1T(erf)
DYNC__ENTRY_1T(erfc) DYNC__ENTRY_1T(exp) DYNC__ENTRY_1T(exp2) DYNC__ENTRY_1T(expm1)
DYNC__ENTRY_1T(floor) DYNC__ENTRY_1T(frac) DYNC__ENTRY_1T(gelu) DYNC__ENTRY_1T(gelu_tanh)
DYNC__ENTRY_1T(isfinite) DYNC__ENTRY_1T(isinf) DYNC__ENTRY_1T(isnan) DYNC__ENTRY_1T(log)
DYNC__ENTRY_1T(log10) DYNC__ENTRY_1T(log1p) DYNC__ENTRY_1T(log2) DYNC__ENTRY_1T(logical_not)
DYNC__ENTRY_1T(logsigmoid) DYNC__ENTRY_1T(mish) DYNC__ENTRY_1T(neg) DYNC__ENTRY_1T(reciprocal)
DYNC__ENTRY_1T(relu) DYNC__ENTRY_1T(relu6) DYNC__ENTRY_1T(round) DYNC__ENTRY_1T(rsqrt)
DYNC__ENTRY_1T(sgn) DYNC__ENTRY_1T(sigmoid) DYNC__ENTRY_1T(sign) DYNC__ENTRY_1T(silu)
DYNC__ENTRY_1T(sin) DYNC__ENTRY_1T(sinh) DYNC__ENTRY_1T(softplus) DYNC__ENTRY_1T(sqrt)
DYNC__ENTRY_1T(square) DYNC__ENTRY_1T(tan) DYNC__ENTRY_1T(tanh) DYNC__ENTRY_1T(trunc)
DYNC__ENTRY_1T(hardsigmoid) DYNC__ENTRY_1T(hardswish) DYNC__ENTRY_1T(selu)
DYNC__ENTRY_1T(softsign) DYNC__ENTRY_1T(tanhshrink) DYNC__ENTRY_1T(bernoulli)
DYNC__ENTRY_1T(empty_like) DYNC__ENTRY_1T(ones_like) DYNC__ENTRY_1T(rand_like)
DYNC__ENTRY_1T(randn_like) DYNC__ENTRY_1T(zeros_like) DYNC__ENTRY_1T(abs_)
DYNC__ENTRY_1T(ceil_) DYNC__ENTRY_1T(cos_) DYNC__ENTRY_1T(exp_) DYNC__ENTRY_1T(floor_)
DYNC__ENTRY_1T(log_) DYNC__ENTRY_1T(neg_) DYNC__ENTRY_1T(relu_) DYNC__ENTRY_1T(round_)
DYNC__ENTRY_1T(sigmoid_) DYNC__ENTRY_1T(sin_) DYNC__ENTRY_1T(sqrt_) DYNC__ENTRY_1T(tanh_)
DYNC__ENTRY_1T(trunc_) DYNC__ENTRY_1T(zero_) DYNC__ENTRY_1T(max) DYNC__ENTRY_1T(min)
DYNC__ENTRY_1T(trace) DYNC__ENTRY_1T(contiguous) DYNC__ENTRY_1T(squeeze_all)
DYNC__ENTRY_1T(t) DYNC__ENTRY_1T(clone) DYNC__ENTRY_1T(nonzero) DYNC__ENTRY_1T(unique)

DYNC__PACKER(1Tf, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_real x1, dync_loc at),
    dync__arg_h(x0), dync__arg_f(x1))
#define DYNC__ENTRY_1Tf(name) DYNC__ENTRY(dync_##name, DYNC__OP_##name, 1Tf, dync_tensor *, \
    (dync_tensor *x0, dync_real x1), x0, x1)
DYNC__ENTRY_1Tf(elu) DYNC__ENTRY_1Tf(leaky_relu) DYNC__ENTRY_1Tf(celu) DYNC__ENTRY_1Tf(hardshrink)
DYNC__ENTRY_1Tf(softshrink)

DYNC__PACKER(1Tff, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_real x1, dync_real x2, dync_loc at),
    dync__arg_h(x0), dync__arg_f(x1), dync__arg_f(x2))
#define DYNC__ENTRY_1Tff(name) DYNC__ENTRY(dync_##name, DYNC__OP_##name, 1Tff, dync_tensor *, \
    (dync_tensor *x0, dync_real x1, dync_real x2), x0, x1, x2)
DYNC__ENTRY_1Tff(hardtanh) DYNC__ENTRY_1Tff(normal_) DYNC__ENTRY_1Tff(uniform_)

DYNC__PACKER(1Ti, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0, int x1,
    dync_loc at),
    dync__arg_h(x0), dync__arg_i(x1))
#define DYNC__ENTRY_1Ti(name) DYNC__ENTRY(dync_##name, DYNC__OP_##name, 1Ti, dync_tensor *, \
    (dync_tensor *x0, int x1), x0, x1)
DYNC__ENTRY_1Ti(glu) DYNC__ENTRY_1Ti(softmin) DYNC__ENTRY_1Ti(cumsum) DYNC__ENTRY_1Ti(log_softmax)
DYNC__ENTRY_1Ti(softmax) DYNC__ENTRY_1Ti(squeeze) DYNC__ENTRY_1Ti(unsqueeze)
DYNC__ENTRY_1Ti(tril) DYNC__ENTRY_1Ti(triu)

DYNC__PACKER(1TfV, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_real x1, dync_value x2, dync_loc at),
    dync__arg_h(x0), dync__arg_f(x1), dync__arg_value(x2))
DYNC__ENTRY(dync_threshold, DYNC__OP_threshold, 1TfV, dync_tensor *, (dync_tensor *x0,
    dync_real x1, dync_value x2), x0, x1, x2)

DYNC__PACKER(1llye, dync_tensor *, dync__op_call, (const dync__row *op, int64_t x0, int64_t x1,
    dync_dtype x2, dync_device x3, dync_loc at),
    dync__arg_i(x0), dync__arg_i(x1), dync__arg_dtype((int)x2), dync__arg_device((int)x3))
DYNC__ENTRY(dync_eye, DYNC__OP_eye, 1llye, dync_tensor *, (int64_t x0, int64_t x1, dync_dtype x2,
    dync_device x3), x0, x1, x2, x3)

DYNC__PACKER(1TV, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_value x1, dync_loc at),
    dync__arg_h(x0), dync__arg_value(x1))
#define DYNC__ENTRY_1TV(name) DYNC__ENTRY(dync_##name, DYNC__OP_##name, 1TV, dync_tensor *, \
    (dync_tensor *x0, dync_value x1), x0, x1)
DYNC__ENTRY_1TV(full_like) DYNC__ENTRY_1TV(add_) DYNC__ENTRY_1TV(copy_) DYNC__ENTRY_1TV(div_)
DYNC__ENTRY_1TV(fill_) DYNC__ENTRY_1TV(mul_) DYNC__ENTRY_1TV(pow_) DYNC__ENTRY_1TV(sub_)

DYNC__PACKER(1TiTT, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0, int x1,
    dync_tensor *x2, dync_tensor *x3, dync_loc at),
    dync__arg_h(x0), dync__arg_i(x1), dync__arg_h(x2), dync__arg_h(x3))
#define DYNC__ENTRY_1TiTT(name) DYNC__ENTRY(dync_##name, DYNC__OP_##name, 1TiTT, dync_tensor *, \
    (dync_tensor *x0, int x1, dync_tensor *x2, dync_tensor *x3), x0, x1, x2, x3)
DYNC__ENTRY_1TiTT(index_add_) DYNC__ENTRY_1TiTT(scatter_add_) DYNC__ENTRY_1TiTT(index_add)
DYNC__ENTRY_1TiTT(scatter_add)

DYNC__PACKER(1TiTV, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0, int x1,
    dync_tensor *x2, dync_value x3, dync_loc at),
    dync__arg_h(x0), dync__arg_i(x1), dync__arg_h(x2), dync__arg_value(x3))
#define DYNC__ENTRY_1TiTV(name) DYNC__ENTRY(dync_##name, DYNC__OP_##name, 1TiTV, dync_tensor *, \
    (dync_tensor *x0, int x1, dync_tensor *x2, dync_value x3), x0, x1, x2, x3)
DYNC__ENTRY_1TiTV(scatter_) DYNC__ENTRY_1TiTV(scatter)

DYNC__PACKER_DIMS(1Tdb, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_dims x1, bool x2, dync_loc at),
    (const dync__row *op, dync_tensor *x0, const dync_dims *x1, bool x2, const dync_loc *at), (op,
    x0, &x1, x2, &at),
    dync__arg_h(x0), dync__arg_dims(x1->n, x1->d), dync__arg_b(x2))
#define DYNC__ENTRY_1Tdb(name) DYNC__ENTRY_DIMS(dync_##name, DYNC__OP_##name, 1Tdb, \
    dync_tensor *, (dync_tensor *x0, dync_dims x1, bool x2), x0, &x1, x2)
DYNC__ENTRY_1Tdb(all) DYNC__ENTRY_1Tdb(amax) DYNC__ENTRY_1Tdb(amin) DYNC__ENTRY_1Tdb(any)
DYNC__ENTRY_1Tdb(logsumexp) DYNC__ENTRY_1Tdb(mean) DYNC__ENTRY_1Tdb(prod)
DYNC__ENTRY_1Tdb(sum) DYNC__ENTRY_1Tdb(affine_grid) DYNC__ENTRY_1Tdb(upsample_bicubic2d)
DYNC__ENTRY_1Tdb(upsample_bilinear2d) DYNC__ENTRY_1Tdb(upsample_linear1d)
DYNC__ENTRY_1Tdb(upsample_trilinear3d)

DYNC__PACKER(1Tib, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0, int x1,
    bool x2, dync_loc at),
    dync__arg_h(x0), dync__arg_i(x1), dync__arg_b(x2))
#define DYNC__ENTRY_1Tib(name) DYNC__ENTRY(dync_##name, DYNC__OP_##name, 1Tib, dync_tensor *, \
    (dync_tensor *x0, int x1, bool x2), x0, x1, x2)
DYNC__ENTRY_1Tib(argmax) DYNC__ENTRY_1Tib(argmin) DYNC__ENTRY_1Tib(argsort)

DYNC__PACKER(1TTif, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_tensor *x1, int x2, dync_real x3, dync_loc at),
    dync__arg_h(x0), dync__arg_h(x1), dync__arg_i(x2), dync__arg_f(x3))
DYNC__ENTRY(dync_cosine_similarity, DYNC__OP_cosine_similarity, 1TTif, dync_tensor *,
    (dync_tensor *x0, dync_tensor *x1, int x2, dync_real x3), x0, x1, x2, x3)

DYNC__PACKER_DIMS(1Td, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_dims x1, dync_loc at),
    (const dync__row *op, dync_tensor *x0, const dync_dims *x1, const dync_loc *at), (op, x0, &x1,
    &at),
    dync__arg_h(x0), dync__arg_dims(x1->n, x1->d))
#define DYNC__ENTRY_1Td(name) DYNC__ENTRY_DIMS(dync_##name, DYNC__OP_##name, 1Td, dync_tensor *, \
    (dync_tensor *x0, dync_dims x1), x0, &x1)
DYNC__ENTRY_1Td(count_nonzero) DYNC__ENTRY_1Td(adaptive_avg_pool2d)
    DYNC__ENTRY_1Td(upsample_nearest2d)
DYNC__ENTRY_1Td(expand) DYNC__ENTRY_1Td(permute) DYNC__ENTRY_1Td(reshape)
DYNC__ENTRY_1Td(view) DYNC__ENTRY_1Td(flip) DYNC__ENTRY_1Td(repeat)

DYNC__PACKER(nTib, dync_value , dync__op_call_list, (const dync__row *op, dync_tensor *x0, int x1,
    bool x2, dync_loc at),
    dync__arg_h(x0), dync__arg_i(x1), dync__arg_b(x2))
#define DYNC__ENTRY_nTib(name) DYNC__ENTRY(dync_##name, DYNC__OP_##name, nTib, dync_value , \
    (dync_tensor *x0, int x1, bool x2), x0, x1, x2)
DYNC__ENTRY_nTib(max_dim) DYNC__ENTRY_nTib(min_dim) DYNC__ENTRY_nTib(sort)

DYNC__PACKER_DIMS(1TVdb, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_value x1, dync_dims x2, bool x3, dync_loc at),
    (const dync__row *op, dync_tensor *x0, dync_value x1, const dync_dims *x2, bool x3,
    const dync_loc *at), (op, x0, x1, &x2, x3, &at),
    dync__arg_h(x0), dync__arg_value(x1), dync__arg_dims(x2->n, x2->d), dync__arg_b(x3))
DYNC__ENTRY_DIMS(dync_norm, DYNC__OP_norm, 1TVdb, dync_tensor *, (dync_tensor *x0, dync_value x1,
    dync_dims x2, bool x3), x0, x1, &x2, x3)

DYNC__PACKER(1TVif, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_value x1, int x2, dync_real x3, dync_loc at),
    dync__arg_h(x0), dync__arg_value(x1), dync__arg_i(x2), dync__arg_f(x3))
DYNC__ENTRY(dync_normalize, DYNC__OP_normalize, 1TVif, dync_tensor *, (dync_tensor *x0,
    dync_value x1, int x2, dync_real x3), x0, x1, x2, x3)

DYNC__PACKER_DIMS(1Tdib, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_dims x1, int x2, bool x3, dync_loc at),
    (const dync__row *op, dync_tensor *x0, const dync_dims *x1, int x2, bool x3,
    const dync_loc *at), (op, x0, &x1, x2, x3, &at),
    dync__arg_h(x0), dync__arg_dims(x1->n, x1->d), dync__arg_i(x2), dync__arg_b(x3))
#define DYNC__ENTRY_1Tdib(name) DYNC__ENTRY_DIMS(dync_##name, DYNC__OP_##name, 1Tdib, \
    dync_tensor *, (dync_tensor *x0, dync_dims x1, int x2, bool x3), x0, &x1, x2, x3)
DYNC__ENTRY_1Tdib(std) DYNC__ENTRY_1Tdib(var)

DYNC__PACKER(1sL, dync_tensor *, dync__op_call, (const dync__row *op, const char *x0,
    dync_value x1, dync_loc at),
    dync__arg_s(x0), dync__arg_value(x1))
DYNC__ENTRY(dync_einsum, DYNC__OP_einsum, 1sL, dync_tensor *, (const char *x0, dync_value x1), x0,
    x1)

DYNC__PACKER(1TTO, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_tensor *x1, dync_tensor *x2, dync_loc at),
    dync__arg_h(x0), dync__arg_h(x1), x2 ? dync__arg_h(x2) : dync__arg_none())
DYNC__ENTRY(dync_linear, DYNC__OP_linear, 1TTO, dync_tensor *, (dync_tensor *x0, dync_tensor *x1,
    dync_tensor *x2), x0, x1, x2)

DYNC__PACKER_DIMS(1Tdddbb, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_dims x1, dync_dims x2, dync_dims x3, bool x4, bool x5, dync_loc at),
    (const dync__row *op, dync_tensor *x0, const dync_dims *x1, const dync_dims *x2,
    const dync_dims *x3, bool x4, bool x5, const dync_loc *at), (op, x0, &x1, &x2, &x3, x4, x5,
    &at),
    dync__arg_h(x0), dync__arg_dims(x1->n, x1->d), dync__arg_dims(x2->n, x2->d),
    dync__arg_dims(x3->n, x3->d), dync__arg_b(x4), dync__arg_b(x5))
DYNC__ENTRY_DIMS(dync_avg_pool2d, DYNC__OP_avg_pool2d, 1Tdddbb, dync_tensor *, (dync_tensor *x0,
    dync_dims x1, dync_dims x2, dync_dims x3, bool x4, bool x5), x0, &x1, &x2, &x3, x4, x5)

DYNC__PACKER(1TOOOObff, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_tensor *x1, dync_tensor *x2, dync_tensor *x3, dync_tensor *x4, bool x5, dync_real x6,
    dync_real x7, dync_loc at),
    dync__arg_h(x0), x1 ? dync__arg_h(x1) : dync__arg_none(),
    x2 ? dync__arg_h(x2) : dync__arg_none(), x3 ? dync__arg_h(x3) : dync__arg_none(),
    x4 ? dync__arg_h(x4) : dync__arg_none(), dync__arg_b(x5), dync__arg_f(x6), dync__arg_f(x7))
DYNC__ENTRY(dync_batch_norm, DYNC__OP_batch_norm, 1TOOOObff, dync_tensor *, (dync_tensor *x0,
    dync_tensor *x1, dync_tensor *x2, dync_tensor *x3, dync_tensor *x4, bool x5, dync_real x6,
    dync_real x7), x0, x1, x2, x3, x4, x5, x6, x7)

DYNC__PACKER_DIMS(1TTOdddi, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_tensor *x1, dync_tensor *x2, dync_dims x3, dync_dims x4, dync_dims x5, int x6,
    dync_loc at),
    (const dync__row *op, dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, const dync_dims *x3,
    const dync_dims *x4, const dync_dims *x5, int x6, const dync_loc *at), (op, x0, x1, x2, &x3,
    &x4, &x5, x6, &at),
    dync__arg_h(x0), dync__arg_h(x1), x2 ? dync__arg_h(x2) : dync__arg_none(),
    dync__arg_dims(x3->n, x3->d), dync__arg_dims(x4->n, x4->d), dync__arg_dims(x5->n, x5->d),
    dync__arg_i(x6))
#define DYNC__ENTRY_1TTOdddi(name) DYNC__ENTRY_DIMS(dync_##name, DYNC__OP_##name, 1TTOdddi, \
    dync_tensor *, (dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_dims x3, \
    dync_dims x4, dync_dims x5, int x6), x0, x1, x2, &x3, &x4, &x5, x6)
DYNC__ENTRY_1TTOdddi(conv1d) DYNC__ENTRY_1TTOdddi(conv2d) DYNC__ENTRY_1TTOdddi(int_conv2d)

DYNC__PACKER_DIMS(1TTOdddid, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_tensor *x1, dync_tensor *x2, dync_dims x3, dync_dims x4, dync_dims x5, int x6,
    dync_dims x7, dync_loc at),
    (const dync__row *op, dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, const dync_dims *x3,
    const dync_dims *x4, const dync_dims *x5, int x6, const dync_dims *x7, const dync_loc *at),
    (op, x0, x1, x2, &x3, &x4, &x5, x6, &x7, &at),
    dync__arg_h(x0), dync__arg_h(x1), x2 ? dync__arg_h(x2) : dync__arg_none(),
    dync__arg_dims(x3->n, x3->d), dync__arg_dims(x4->n, x4->d), dync__arg_dims(x5->n, x5->d),
    dync__arg_i(x6), dync__arg_dims(x7->n, x7->d))
DYNC__ENTRY_DIMS(dync_conv_transpose2d, DYNC__OP_conv_transpose2d, 1TTOdddid, dync_tensor *,
    (dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_dims x3, dync_dims x4, dync_dims x5,
    int x6, dync_dims x7), x0, x1, x2, &x3, &x4, &x5, x6, &x7)

DYNC__PACKER(1Tfb, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_real x1, bool x2, dync_loc at),
    dync__arg_h(x0), dync__arg_f(x1), dync__arg_b(x2))
DYNC__ENTRY(dync_dropout, DYNC__OP_dropout, 1Tfb, dync_tensor *, (dync_tensor *x0, dync_real x1,
    bool x2), x0, x1, x2)

DYNC__PACKER(1TlOOf, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    int64_t x1, dync_tensor *x2, dync_tensor *x3, dync_real x4, dync_loc at),
    dync__arg_h(x0), dync__arg_i(x1), x2 ? dync__arg_h(x2) : dync__arg_none(),
    x3 ? dync__arg_h(x3) : dync__arg_none(), dync__arg_f(x4))
DYNC__ENTRY(dync_group_norm, DYNC__OP_group_norm, 1TlOOf, dync_tensor *, (dync_tensor *x0,
    int64_t x1, dync_tensor *x2, dync_tensor *x3, dync_real x4), x0, x1, x2, x3, x4)

DYNC__PACKER(1TOOf, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_tensor *x1, dync_tensor *x2, dync_real x3, dync_loc at),
    dync__arg_h(x0), x1 ? dync__arg_h(x1) : dync__arg_none(),
    x2 ? dync__arg_h(x2) : dync__arg_none(), dync__arg_f(x3))
DYNC__ENTRY(dync_instance_norm, DYNC__OP_instance_norm, 1TOOf, dync_tensor *, (dync_tensor *x0,
    dync_tensor *x1, dync_tensor *x2, dync_real x3), x0, x1, x2, x3)

DYNC__PACKER_DIMS(1TdOOf, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_dims x1, dync_tensor *x2, dync_tensor *x3, dync_real x4, dync_loc at),
    (const dync__row *op, dync_tensor *x0, const dync_dims *x1, dync_tensor *x2, dync_tensor *x3,
    dync_real x4, const dync_loc *at), (op, x0, &x1, x2, x3, x4, &at),
    dync__arg_h(x0), dync__arg_dims(x1->n, x1->d), x2 ? dync__arg_h(x2) : dync__arg_none(),
    x3 ? dync__arg_h(x3) : dync__arg_none(), dync__arg_f(x4))
DYNC__ENTRY_DIMS(dync_layer_norm, DYNC__OP_layer_norm, 1TdOOf, dync_tensor *, (dync_tensor *x0,
    dync_dims x1, dync_tensor *x2, dync_tensor *x3, dync_real x4), x0, &x1, x2, x3, x4)

DYNC__PACKER_DIMS(1Tddddb, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_dims x1, dync_dims x2, dync_dims x3, dync_dims x4, bool x5, dync_loc at),
    (const dync__row *op, dync_tensor *x0, const dync_dims *x1, const dync_dims *x2,
    const dync_dims *x3, const dync_dims *x4, bool x5, const dync_loc *at), (op, x0, &x1, &x2,
    &x3, &x4, x5, &at),
    dync__arg_h(x0), dync__arg_dims(x1->n, x1->d), dync__arg_dims(x2->n, x2->d),
    dync__arg_dims(x3->n, x3->d), dync__arg_dims(x4->n, x4->d), dync__arg_b(x5))
DYNC__ENTRY_DIMS(dync_max_pool2d, DYNC__OP_max_pool2d, 1Tddddb, dync_tensor *, (dync_tensor *x0,
    dync_dims x1, dync_dims x2, dync_dims x3, dync_dims x4, bool x5), x0, &x1, &x2, &x3, &x4, x5)

DYNC__PACKER_DIMS(nTddddb, dync_value , dync__op_call_list, (const dync__row *op, dync_tensor *x0,
    dync_dims x1, dync_dims x2, dync_dims x3, dync_dims x4, bool x5, dync_loc at),
    (const dync__row *op, dync_tensor *x0, const dync_dims *x1, const dync_dims *x2,
    const dync_dims *x3, const dync_dims *x4, bool x5, const dync_loc *at), (op, x0, &x1, &x2,
    &x3, &x4, x5, &at),
    dync__arg_h(x0), dync__arg_dims(x1->n, x1->d), dync__arg_dims(x2->n, x2->d),
    dync__arg_dims(x3->n, x3->d), dync__arg_dims(x4->n, x4->d), dync__arg_b(x5))
DYNC__ENTRY_DIMS(dync_max_pool2d_with_indices, DYNC__OP_max_pool2d_with_indices, nTddddb,
    dync_value , (dync_tensor *x0, dync_dims x1, dync_dims x2, dync_dims x3, dync_dims x4,
    bool x5), x0, &x1, &x2, &x3, &x4, x5)

DYNC__PACKER(1Tl, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0, int64_t x1,
    dync_loc at),
    dync__arg_h(x0), dync__arg_i(x1))
#define DYNC__ENTRY_1Tl(name) DYNC__ENTRY(dync_##name, DYNC__OP_##name, 1Tl, dync_tensor *, \
    (dync_tensor *x0, int64_t x1), x0, x1)
DYNC__ENTRY_1Tl(one_hot) DYNC__ENTRY_1Tl(pixel_shuffle)

DYNC__PACKER_DIMS(1TdOV, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_dims x1, dync_tensor *x2, dync_value x3, dync_loc at),
    (const dync__row *op, dync_tensor *x0, const dync_dims *x1, dync_tensor *x2, dync_value x3,
    const dync_loc *at), (op, x0, &x1, x2, x3, &at),
    dync__arg_h(x0), dync__arg_dims(x1->n, x1->d), x2 ? dync__arg_h(x2) : dync__arg_none(),
    dync__arg_value(x3))
DYNC__ENTRY_DIMS(dync_rms_norm, DYNC__OP_rms_norm, 1TdOV, dync_tensor *, (dync_tensor *x0,
    dync_dims x1, dync_tensor *x2, dync_value x3), x0, &x1, x2, x3)

DYNC__PACKER(1TTTOfbV, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_tensor *x1, dync_tensor *x2, dync_tensor *x3, dync_real x4, bool x5, dync_value x6,
    dync_loc at),
    dync__arg_h(x0), dync__arg_h(x1), dync__arg_h(x2), x3 ? dync__arg_h(x3) : dync__arg_none(),
    dync__arg_f(x4), dync__arg_b(x5), dync__arg_value(x6))
DYNC__ENTRY(dync_scaled_dot_product_attention, DYNC__OP_scaled_dot_product_attention, 1TTTOfbV,
    dync_tensor *, (dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_tensor *x3,
    dync_real x4, bool x5, dync_value x6), x0, x1, x2, x3, x4, x5, x6)

DYNC__PACKER(1TTf, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_tensor *x1, dync_real x2, dync_loc at),
    dync__arg_h(x0), dync__arg_h(x1), dync__arg_f(x2))
#define DYNC__ENTRY_1TTf(name) DYNC__ENTRY(dync_##name, DYNC__OP_##name, 1TTf, dync_tensor *, \
    (dync_tensor *x0, dync_tensor *x1, dync_real x2), x0, x1, x2)
DYNC__ENTRY_1TTf(huber_loss) DYNC__ENTRY_1TTf(smooth_l1_loss) DYNC__ENTRY_1TTf(nms)

DYNC__PACKER(1TTb, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_tensor *x1, bool x2, dync_loc at),
    dync__arg_h(x0), dync__arg_h(x1), dync__arg_b(x2))
DYNC__ENTRY(dync_kl_div, DYNC__OP_kl_div, 1TTb, dync_tensor *, (dync_tensor *x0, dync_tensor *x1,
    bool x2), x0, x1, x2)

DYNC__PACKER_DIMS(1Tddddd, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_dims x1, dync_dims x2, dync_dims x3, dync_dims x4, dync_dims x5, dync_loc at),
    (const dync__row *op, dync_tensor *x0, const dync_dims *x1, const dync_dims *x2,
    const dync_dims *x3, const dync_dims *x4, const dync_dims *x5, const dync_loc *at), (op, x0,
    &x1, &x2, &x3, &x4, &x5, &at),
    dync__arg_h(x0), dync__arg_dims(x1->n, x1->d), dync__arg_dims(x2->n, x2->d),
    dync__arg_dims(x3->n, x3->d), dync__arg_dims(x4->n, x4->d), dync__arg_dims(x5->n, x5->d))
DYNC__ENTRY_DIMS(dync_col2im, DYNC__OP_col2im, 1Tddddd, dync_tensor *, (dync_tensor *x0,
    dync_dims x1, dync_dims x2, dync_dims x3, dync_dims x4, dync_dims x5), x0, &x1, &x2, &x3, &x4,
    &x5)

DYNC__PACKER_DIMS(1TTTOdddO, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_tensor *x1, dync_tensor *x2, dync_tensor *x3, dync_dims x4, dync_dims x5, dync_dims x6,
    dync_tensor *x7, dync_loc at),
    (const dync__row *op, dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_tensor *x3,
    const dync_dims *x4, const dync_dims *x5, const dync_dims *x6, dync_tensor *x7,
    const dync_loc *at), (op, x0, x1, x2, x3, &x4, &x5, &x6, x7, &at),
    dync__arg_h(x0), dync__arg_h(x1), dync__arg_h(x2), x3 ? dync__arg_h(x3) : dync__arg_none(),
    dync__arg_dims(x4->n, x4->d), dync__arg_dims(x5->n, x5->d), dync__arg_dims(x6->n, x6->d),
    x7 ? dync__arg_h(x7) : dync__arg_none())
DYNC__ENTRY_DIMS(dync_deform_conv2d, DYNC__OP_deform_conv2d, 1TTTOdddO, dync_tensor *,
    (dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_tensor *x3, dync_dims x4,
    dync_dims x5, dync_dims x6, dync_tensor *x7), x0, x1, x2, x3, &x4, &x5, &x6, x7)

DYNC__PACKER(1TVi, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_value x1, int x2, dync_loc at),
    dync__arg_h(x0), dync__arg_value(x1), dync__arg_i(x2))
#define DYNC__ENTRY_1TVi(name) DYNC__ENTRY(dync_##name, DYNC__OP_##name, 1TVi, dync_tensor *, \
    (dync_tensor *x0, dync_value x1, int x2), x0, x1, x2)
DYNC__ENTRY_1TVi(fft_fft) DYNC__ENTRY_1TVi(fft_ifft) DYNC__ENTRY_1TVi(fft_irfft)
DYNC__ENTRY_1TVi(fft_rfft)

DYNC__PACKER(1TTssb, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_tensor *x1, const char *x2, const char *x3, bool x4, dync_loc at),
    dync__arg_h(x0), dync__arg_h(x1), dync__arg_s(x2), dync__arg_s(x3), dync__arg_b(x4))
DYNC__ENTRY(dync_grid_sample, DYNC__OP_grid_sample, 1TTssb, dync_tensor *, (dync_tensor *x0,
    dync_tensor *x1, const char *x2, const char *x3, bool x4), x0, x1, x2, x3, x4)

DYNC__PACKER_DIMS(1Tdddd, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_dims x1, dync_dims x2, dync_dims x3, dync_dims x4, dync_loc at),
    (const dync__row *op, dync_tensor *x0, const dync_dims *x1, const dync_dims *x2,
    const dync_dims *x3, const dync_dims *x4, const dync_loc *at), (op, x0, &x1, &x2, &x3, &x4,
    &at),
    dync__arg_h(x0), dync__arg_dims(x1->n, x1->d), dync__arg_dims(x2->n, x2->d),
    dync__arg_dims(x3->n, x3->d), dync__arg_dims(x4->n, x4->d))
DYNC__ENTRY_DIMS(dync_im2col, DYNC__OP_im2col, 1Tdddd, dync_tensor *, (dync_tensor *x0,
    dync_dims x1, dync_dims x2, dync_dims x3, dync_dims x4), x0, &x1, &x2, &x3, &x4)

DYNC__PACKER_DIMS(1Tfddb, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_real x1, dync_dims x2, dync_dims x3, bool x4, dync_loc at),
    (const dync__row *op, dync_tensor *x0, dync_real x1, const dync_dims *x2, const dync_dims *x3,
    bool x4, const dync_loc *at), (op, x0, x1, &x2, &x3, x4, &at),
    dync__arg_h(x0), dync__arg_f(x1), dync__arg_dims(x2->n, x2->d), dync__arg_dims(x3->n, x3->d),
    dync__arg_b(x4))
DYNC__ENTRY_DIMS(dync_lp_pool2d, DYNC__OP_lp_pool2d, 1Tfddb, dync_tensor *, (dync_tensor *x0,
    dync_real x1, dync_dims x2, dync_dims x3, bool x4), x0, x1, &x2, &x3, x4)

DYNC__PACKER_DIMS(1TTd, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_tensor *x1, dync_dims x2, dync_loc at),
    (const dync__row *op, dync_tensor *x0, dync_tensor *x1, const dync_dims *x2,
    const dync_loc *at), (op, x0, x1, &x2, &at),
    dync__arg_h(x0), dync__arg_h(x1), dync__arg_dims(x2->n, x2->d))
DYNC__ENTRY_DIMS(dync_max_unpool2d, DYNC__OP_max_unpool2d, 1TTd, dync_tensor *, (dync_tensor *x0,
    dync_tensor *x1, dync_dims x2), x0, x1, &x2)

DYNC__PACKER_DIMS(1TTdflb, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_tensor *x1, dync_dims x2, dync_real x3, int64_t x4, bool x5, dync_loc at),
    (const dync__row *op, dync_tensor *x0, dync_tensor *x1, const dync_dims *x2, dync_real x3,
    int64_t x4, bool x5, const dync_loc *at), (op, x0, x1, &x2, x3, x4, x5, &at),
    dync__arg_h(x0), dync__arg_h(x1), dync__arg_dims(x2->n, x2->d), dync__arg_f(x3),
    dync__arg_i(x4), dync__arg_b(x5))
DYNC__ENTRY_DIMS(dync_roi_align, DYNC__OP_roi_align, 1TTdflb, dync_tensor *, (dync_tensor *x0,
    dync_tensor *x1, dync_dims x2, dync_real x3, int64_t x4, bool x5), x0, x1, &x2, x3, x4, x5)

DYNC__PACKER(1TllOb, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    int64_t x1, int64_t x2, dync_tensor *x3, bool x4, dync_loc at),
    dync__arg_h(x0), dync__arg_i(x1), dync__arg_i(x2), x3 ? dync__arg_h(x3) : dync__arg_none(),
    dync__arg_b(x4))
DYNC__ENTRY(dync_stft, DYNC__OP_stft, 1TllOb, dync_tensor *, (dync_tensor *x0, int64_t x1,
    int64_t x2, dync_tensor *x3, bool x4), x0, x1, x2, x3, x4)

DYNC__PACKER_DIMS(1Tddl, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_dims x1, dync_dims x2, int64_t x3, dync_loc at),
    (const dync__row *op, dync_tensor *x0, const dync_dims *x1, const dync_dims *x2, int64_t x3,
    const dync_loc *at), (op, x0, &x1, &x2, x3, &at),
    dync__arg_h(x0), dync__arg_dims(x1->n, x1->d), dync__arg_dims(x2->n, x2->d), dync__arg_i(x3))
DYNC__ENTRY_DIMS(dync_as_strided, DYNC__OP_as_strided, 1Tddl, dync_tensor *, (dync_tensor *x0,
    dync_dims x1, dync_dims x2, int64_t x3), x0, &x1, &x2, x3)

DYNC__PACKER(1Tiii, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0, int x1,
    int x2, int x3, dync_loc at),
    dync__arg_h(x0), dync__arg_i(x1), dync__arg_i(x2), dync__arg_i(x3))
DYNC__ENTRY(dync_diagonal, DYNC__OP_diagonal, 1Tiii, dync_tensor *, (dync_tensor *x0, int x1,
    int x2, int x3), x0, x1, x2, x3)

DYNC__PACKER(1Tii, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0, int x1,
    int x2, dync_loc at),
    dync__arg_h(x0), dync__arg_i(x1), dync__arg_i(x2))
#define DYNC__ENTRY_1Tii(name) DYNC__ENTRY(dync_##name, DYNC__OP_##name, 1Tii, dync_tensor *, \
    (dync_tensor *x0, int x1, int x2), x0, x1, x2)
DYNC__ENTRY_1Tii(flatten) DYNC__ENTRY_1Tii(transpose)

DYNC__PACKER_DIMS(1Tdd, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_dims x1, dync_dims x2, dync_loc at),
    (const dync__row *op, dync_tensor *x0, const dync_dims *x1, const dync_dims *x2,
    const dync_loc *at), (op, x0, &x1, &x2, &at),
    dync__arg_h(x0), dync__arg_dims(x1->n, x1->d), dync__arg_dims(x2->n, x2->d))
#define DYNC__ENTRY_1Tdd(name) DYNC__ENTRY_DIMS(dync_##name, DYNC__OP_##name, 1Tdd, \
    dync_tensor *, (dync_tensor *x0, dync_dims x1, dync_dims x2), x0, &x1, &x2)
DYNC__ENTRY_1Tdd(movedim) DYNC__ENTRY_1Tdd(roll)

DYNC__PACKER(1Till, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0, int x1,
    int64_t x2, int64_t x3, dync_loc at),
    dync__arg_h(x0), dync__arg_i(x1), dync__arg_i(x2), dync__arg_i(x3))
#define DYNC__ENTRY_1Till(name) DYNC__ENTRY(dync_##name, DYNC__OP_##name, 1Till, dync_tensor *, \
    (dync_tensor *x0, int x1, int64_t x2, int64_t x3), x0, x1, x2, x3)
DYNC__ENTRY_1Till(narrow) DYNC__ENTRY_1Till(unfold)

DYNC__PACKER(1Til, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0, int x1,
    int64_t x2, dync_loc at),
    dync__arg_h(x0), dync__arg_i(x1), dync__arg_i(x2))
DYNC__ENTRY(dync_select, DYNC__OP_select, 1Til, dync_tensor *, (dync_tensor *x0, int x1,
    int64_t x2), x0, x1, x2)

DYNC__PACKER(1Tilll, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0, int x1,
    int64_t x2, int64_t x3, int64_t x4, dync_loc at),
    dync__arg_h(x0), dync__arg_i(x1), dync__arg_i(x2), dync__arg_i(x3), dync__arg_i(x4))
DYNC__ENTRY(dync_slice, DYNC__OP_slice, 1Tilll, dync_tensor *, (dync_tensor *x0, int x1,
    int64_t x2, int64_t x3, int64_t x4), x0, x1, x2, x3, x4)

DYNC__PACKER_DIMS(1Tid, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    int x1, dync_dims x2, dync_loc at),
    (const dync__row *op, dync_tensor *x0, int x1, const dync_dims *x2, const dync_loc *at), (op,
    x0, x1, &x2, &at),
    dync__arg_h(x0), dync__arg_i(x1), dync__arg_dims(x2->n, x2->d))
DYNC__ENTRY_DIMS(dync_unflatten, DYNC__OP_unflatten, 1Tid, dync_tensor *, (dync_tensor *x0,
    int x1, dync_dims x2), x0, x1, &x2)

DYNC__PACKER(1Li, dync_tensor *, dync__op_call, (const dync__row *op, dync_value x0, int x1,
    dync_loc at),
    dync__arg_value(x0), dync__arg_i(x1))
#define DYNC__ENTRY_1Li(name) DYNC__ENTRY(dync_##name, DYNC__OP_##name, 1Li, dync_tensor *, \
    (dync_value x0, int x1), x0, x1)
DYNC__ENTRY_1Li(cat) DYNC__ENTRY_1Li(stack)

DYNC__PACKER(1TiT, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0, int x1,
    dync_tensor *x2, dync_loc at),
    dync__arg_h(x0), dync__arg_i(x1), dync__arg_h(x2))
#define DYNC__ENTRY_1TiT(name) DYNC__ENTRY(dync_##name, DYNC__OP_##name, 1TiT, dync_tensor *, \
    (dync_tensor *x0, int x1, dync_tensor *x2), x0, x1, x2)
DYNC__ENTRY_1TiT(gather) DYNC__ENTRY_1TiT(index_select)

DYNC__PACKER_DIMS(1TdV, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_dims x1, dync_value x2, dync_loc at),
    (const dync__row *op, dync_tensor *x0, const dync_dims *x1, dync_value x2,
    const dync_loc *at), (op, x0, &x1, x2, &at),
    dync__arg_h(x0), dync__arg_dims(x1->n, x1->d), dync__arg_value(x2))
DYNC__ENTRY_DIMS(dync_pad, DYNC__OP_pad, 1TdV, dync_tensor *, (dync_tensor *x0, dync_dims x1,
    dync_value x2), x0, &x1, x2)

DYNC__PACKER(1TTi, dync_tensor *, dync__op_call, (const dync__row *op, dync_tensor *x0,
    dync_tensor *x1, int x2, dync_loc at),
    dync__arg_h(x0), dync__arg_h(x1), dync__arg_i(x2))
DYNC__ENTRY(dync_take_along_dim, DYNC__OP_take_along_dim, 1TTi, dync_tensor *, (dync_tensor *x0,
    dync_tensor *x1, int x2), x0, x1, x2)

DYNC__PACKER(nTlibb, dync_value , dync__op_call_list, (const dync__row *op, dync_tensor *x0,
    int64_t x1, int x2, bool x3, bool x4, dync_loc at),
    dync__arg_h(x0), dync__arg_i(x1), dync__arg_i(x2), dync__arg_b(x3), dync__arg_b(x4))
DYNC__ENTRY(dync_topk, DYNC__OP_topk, nTlibb, dync_value , (dync_tensor *x0, int64_t x1, int x2,
    bool x3, bool x4), x0, x1, x2, x3, x4)
