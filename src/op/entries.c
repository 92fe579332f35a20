/* op/entries.c: the public functions of the operators. After api/, before dispatch.c, which opens the handles packed here.
 *
 * Generated from src/op/ops.def.h by tools/genops.c: edit the table, then `make headers`. */
#include "../dync.in.h"
#include "op.h"

DYNC_API dync_tensor *dync__op_1VV(int op, dync_value x0, dync_value x1, dync_loc at)
{
    dync__arg args[] = {dync__arg_value(x0), dync__arg_value(x1)};
    return dync__op_call(op, 2, args, at);
}
#define DYNC__ENTRY_1VV(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_value x0, dync_value x1) { return dync__op_1VV(DYNC__OP_##name, x0, x1, dync__tls.at); }
DYNC__ENTRY_1VV(add) DYNC__ENTRY_1VV(atan2) DYNC__ENTRY_1VV(bitwise_and) DYNC__ENTRY_1VV(bitwise_or) DYNC__ENTRY_1VV(bitwise_xor)
DYNC__ENTRY_1VV(div) DYNC__ENTRY_1VV(eq) DYNC__ENTRY_1VV(floor_divide) DYNC__ENTRY_1VV(fmod) DYNC__ENTRY_1VV(ge)
DYNC__ENTRY_1VV(gt) DYNC__ENTRY_1VV(le) DYNC__ENTRY_1VV(logical_and) DYNC__ENTRY_1VV(logical_or) DYNC__ENTRY_1VV(logical_xor)
DYNC__ENTRY_1VV(lt) DYNC__ENTRY_1VV(maximum) DYNC__ENTRY_1VV(minimum) DYNC__ENTRY_1VV(mul) DYNC__ENTRY_1VV(ne)
DYNC__ENTRY_1VV(pow) DYNC__ENTRY_1VV(remainder) DYNC__ENTRY_1VV(sub)

DYNC_API dync_tensor *dync__op_1TTTV(int op, dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_value x3, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_h(x1), dync__arg_h(x2), dync__arg_value(x3)};
    return dync__op_call(op, 4, args, at);
}
#define DYNC__ENTRY_1TTTV(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_value x3) { return dync__op_1TTTV(DYNC__OP_##name, x0, x1, x2, x3, dync__tls.at); }
DYNC__ENTRY_1TTTV(addcdiv) DYNC__ENTRY_1TTTV(addcmul) DYNC__ENTRY_1TTTV(addcdiv_) DYNC__ENTRY_1TTTV(addcmul_)

DYNC_API dync_tensor *dync__op_1TVV(int op, dync_tensor *x0, dync_value x1, dync_value x2, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_value(x1), dync__arg_value(x2)};
    return dync__op_call(op, 3, args, at);
}
#define DYNC__ENTRY_1TVV(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_value x1, dync_value x2) { return dync__op_1TVV(DYNC__OP_##name, x0, x1, x2, dync__tls.at); }
DYNC__ENTRY_1TVV(clamp) DYNC__ENTRY_1TVV(where) DYNC__ENTRY_1TVV(clamp_)

DYNC_API dync_tensor *dync__op_1TTV(int op, dync_tensor *x0, dync_tensor *x1, dync_value x2, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_h(x1), dync__arg_value(x2)};
    return dync__op_call(op, 3, args, at);
}
#define DYNC__ENTRY_1TTV(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_tensor *x1, dync_value x2) { return dync__op_1TTV(DYNC__OP_##name, x0, x1, x2, dync__tls.at); }
DYNC__ENTRY_1TTV(lerp) DYNC__ENTRY_1TTV(masked_fill) DYNC__ENTRY_1TTV(lerp_) DYNC__ENTRY_1TTV(masked_fill_)

DYNC_API dync_tensor *dync__op_1T(int op, dync_tensor *x0, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0)};
    return dync__op_call(op, 1, args, at);
}
#define DYNC__ENTRY_1T(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0) { return dync__op_1T(DYNC__OP_##name, x0, dync__tls.at); }
DYNC__ENTRY_1T(abs) DYNC__ENTRY_1T(acos) DYNC__ENTRY_1T(asin) DYNC__ENTRY_1T(atan) DYNC__ENTRY_1T(bitwise_not)
DYNC__ENTRY_1T(ceil) DYNC__ENTRY_1T(cos) DYNC__ENTRY_1T(cosh) DYNC__ENTRY_1T(erf) DYNC__ENTRY_1T(erfc)
DYNC__ENTRY_1T(exp) DYNC__ENTRY_1T(exp2) DYNC__ENTRY_1T(expm1) DYNC__ENTRY_1T(floor) DYNC__ENTRY_1T(frac)
DYNC__ENTRY_1T(gelu) DYNC__ENTRY_1T(gelu_tanh) DYNC__ENTRY_1T(isfinite) DYNC__ENTRY_1T(isinf) DYNC__ENTRY_1T(isnan)
DYNC__ENTRY_1T(log) DYNC__ENTRY_1T(log10) DYNC__ENTRY_1T(log1p) DYNC__ENTRY_1T(log2) DYNC__ENTRY_1T(logical_not)
DYNC__ENTRY_1T(logsigmoid) DYNC__ENTRY_1T(mish) DYNC__ENTRY_1T(neg) DYNC__ENTRY_1T(reciprocal) DYNC__ENTRY_1T(relu)
DYNC__ENTRY_1T(relu6) DYNC__ENTRY_1T(round) DYNC__ENTRY_1T(rsqrt) DYNC__ENTRY_1T(sgn) DYNC__ENTRY_1T(sigmoid)
DYNC__ENTRY_1T(sign) DYNC__ENTRY_1T(silu) DYNC__ENTRY_1T(sin) DYNC__ENTRY_1T(sinh) DYNC__ENTRY_1T(softplus)
DYNC__ENTRY_1T(sqrt) DYNC__ENTRY_1T(square) DYNC__ENTRY_1T(tan) DYNC__ENTRY_1T(tanh) DYNC__ENTRY_1T(trunc)
DYNC__ENTRY_1T(abs_) DYNC__ENTRY_1T(ceil_) DYNC__ENTRY_1T(cos_) DYNC__ENTRY_1T(exp_) DYNC__ENTRY_1T(floor_)
DYNC__ENTRY_1T(log_) DYNC__ENTRY_1T(neg_) DYNC__ENTRY_1T(relu_) DYNC__ENTRY_1T(round_) DYNC__ENTRY_1T(sigmoid_)
DYNC__ENTRY_1T(sin_) DYNC__ENTRY_1T(sqrt_) DYNC__ENTRY_1T(tanh_) DYNC__ENTRY_1T(trunc_) DYNC__ENTRY_1T(zero_)
DYNC__ENTRY_1T(empty_like) DYNC__ENTRY_1T(ones_like) DYNC__ENTRY_1T(rand_like) DYNC__ENTRY_1T(randn_like)
DYNC__ENTRY_1T(zeros_like) DYNC__ENTRY_1T(max) DYNC__ENTRY_1T(min) DYNC__ENTRY_1T(bernoulli) DYNC__ENTRY_1T(trace)
DYNC__ENTRY_1T(hardsigmoid) DYNC__ENTRY_1T(hardswish) DYNC__ENTRY_1T(selu) DYNC__ENTRY_1T(softsign) DYNC__ENTRY_1T(tanhshrink)
DYNC__ENTRY_1T(contiguous) DYNC__ENTRY_1T(squeeze_all) DYNC__ENTRY_1T(t) DYNC__ENTRY_1T(clone) DYNC__ENTRY_1T(nonzero)
DYNC__ENTRY_1T(unique)

DYNC_API dync_tensor *dync__op_1Tf(int op, dync_tensor *x0, double x1, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_f(x1)};
    return dync__op_call(op, 2, args, at);
}
#define DYNC__ENTRY_1Tf(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, double x1) { return dync__op_1Tf(DYNC__OP_##name, x0, x1, dync__tls.at); }
DYNC__ENTRY_1Tf(elu) DYNC__ENTRY_1Tf(leaky_relu) DYNC__ENTRY_1Tf(celu) DYNC__ENTRY_1Tf(hardshrink) DYNC__ENTRY_1Tf(softshrink)

DYNC_API dync_tensor *dync__op_1Tff(int op, dync_tensor *x0, double x1, double x2, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_f(x1), dync__arg_f(x2)};
    return dync__op_call(op, 3, args, at);
}
#define DYNC__ENTRY_1Tff(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, double x1, double x2) { return dync__op_1Tff(DYNC__OP_##name, x0, x1, x2, dync__tls.at); }
DYNC__ENTRY_1Tff(hardtanh) DYNC__ENTRY_1Tff(normal_) DYNC__ENTRY_1Tff(uniform_)

DYNC_API dync_tensor *dync__op_1TV(int op, dync_tensor *x0, dync_value x1, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_value(x1)};
    return dync__op_call(op, 2, args, at);
}
#define DYNC__ENTRY_1TV(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_value x1) { return dync__op_1TV(DYNC__OP_##name, x0, x1, dync__tls.at); }
DYNC__ENTRY_1TV(add_) DYNC__ENTRY_1TV(copy_) DYNC__ENTRY_1TV(div_) DYNC__ENTRY_1TV(fill_) DYNC__ENTRY_1TV(mul_)
DYNC__ENTRY_1TV(pow_) DYNC__ENTRY_1TV(sub_) DYNC__ENTRY_1TV(full_like)

DYNC_API dync_tensor *dync__op_1TiTT(int op, dync_tensor *x0, int x1, dync_tensor *x2, dync_tensor *x3, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_i(x1), dync__arg_h(x2), dync__arg_h(x3)};
    return dync__op_call(op, 4, args, at);
}
#define DYNC__ENTRY_1TiTT(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, int x1, dync_tensor *x2, dync_tensor *x3) { return dync__op_1TiTT(DYNC__OP_##name, x0, x1, x2, x3, dync__tls.at); }
DYNC__ENTRY_1TiTT(index_add_) DYNC__ENTRY_1TiTT(scatter_add_) DYNC__ENTRY_1TiTT(index_add) DYNC__ENTRY_1TiTT(scatter_add)

DYNC_API dync_tensor *dync__op_1TiTV(int op, dync_tensor *x0, int x1, dync_tensor *x2, dync_value x3, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_i(x1), dync__arg_h(x2), dync__arg_value(x3)};
    return dync__op_call(op, 4, args, at);
}
#define DYNC__ENTRY_1TiTV(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, int x1, dync_tensor *x2, dync_value x3) { return dync__op_1TiTV(DYNC__OP_##name, x0, x1, x2, x3, dync__tls.at); }
DYNC__ENTRY_1TiTV(scatter_) DYNC__ENTRY_1TiTV(scatter)

DYNC_API dync_tensor *dync__op_1llye(int op, int64_t x0, int64_t x1, dync_dtype x2, dync_device x3, dync_loc at)
{
    dync__arg args[] = {dync__arg_i(x0), dync__arg_i(x1), dync__arg_dtype((int)x2), dync__arg_device((int)x3)};
    return dync__op_call(op, 4, args, at);
}
#define DYNC__ENTRY_1llye(name) \
    DYNC_API dync_tensor *(dync_##name)(int64_t x0, int64_t x1, dync_dtype x2, dync_device x3) { return dync__op_1llye(DYNC__OP_##name, x0, x1, x2, x3, dync__tls.at); }
DYNC__ENTRY_1llye(eye)

DYNC_API dync_tensor *dync__op_1Tdb(int op, dync_tensor *x0, dync_dims x1, bool x2, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_dims(x1.n, x1.d), dync__arg_b(x2)};
    return dync__op_call(op, 3, args, at);
}
#define DYNC__ENTRY_1Tdb(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_dims x1, bool x2) { return dync__op_1Tdb(DYNC__OP_##name, x0, x1, x2, dync__tls.at); }
DYNC__ENTRY_1Tdb(all) DYNC__ENTRY_1Tdb(amax) DYNC__ENTRY_1Tdb(amin) DYNC__ENTRY_1Tdb(any) DYNC__ENTRY_1Tdb(logsumexp)
DYNC__ENTRY_1Tdb(mean) DYNC__ENTRY_1Tdb(prod) DYNC__ENTRY_1Tdb(sum)

DYNC_API dync_tensor *dync__op_1Tib(int op, dync_tensor *x0, int x1, bool x2, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_i(x1), dync__arg_b(x2)};
    return dync__op_call(op, 3, args, at);
}
#define DYNC__ENTRY_1Tib(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, int x1, bool x2) { return dync__op_1Tib(DYNC__OP_##name, x0, x1, x2, dync__tls.at); }
DYNC__ENTRY_1Tib(argmax) DYNC__ENTRY_1Tib(argmin) DYNC__ENTRY_1Tib(argsort)

DYNC_API dync_tensor *dync__op_1Ti(int op, dync_tensor *x0, int x1, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_i(x1)};
    return dync__op_call(op, 2, args, at);
}
#define DYNC__ENTRY_1Ti(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, int x1) { return dync__op_1Ti(DYNC__OP_##name, x0, x1, dync__tls.at); }
DYNC__ENTRY_1Ti(cumsum) DYNC__ENTRY_1Ti(log_softmax) DYNC__ENTRY_1Ti(softmax) DYNC__ENTRY_1Ti(glu) DYNC__ENTRY_1Ti(softmin)
DYNC__ENTRY_1Ti(squeeze) DYNC__ENTRY_1Ti(unsqueeze) DYNC__ENTRY_1Ti(tril) DYNC__ENTRY_1Ti(triu)

DYNC_API dync_value dync__op_nTib(int op, dync_tensor *x0, int x1, bool x2, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_i(x1), dync__arg_b(x2)};
    return dync__op_call_list(op, 3, args, at);
}
#define DYNC__ENTRY_nTib(name) \
    DYNC_API dync_value (dync_##name)(dync_tensor *x0, int x1, bool x2) { return dync__op_nTib(DYNC__OP_##name, x0, x1, x2, dync__tls.at); }
DYNC__ENTRY_nTib(max_dim) DYNC__ENTRY_nTib(min_dim) DYNC__ENTRY_nTib(sort)

DYNC_API dync_tensor *dync__op_1TVdb(int op, dync_tensor *x0, dync_value x1, dync_dims x2, bool x3, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_value(x1), dync__arg_dims(x2.n, x2.d), dync__arg_b(x3)};
    return dync__op_call(op, 4, args, at);
}
#define DYNC__ENTRY_1TVdb(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_value x1, dync_dims x2, bool x3) { return dync__op_1TVdb(DYNC__OP_##name, x0, x1, x2, x3, dync__tls.at); }
DYNC__ENTRY_1TVdb(norm)

DYNC_API dync_tensor *dync__op_1Tdib(int op, dync_tensor *x0, dync_dims x1, int x2, bool x3, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_dims(x1.n, x1.d), dync__arg_i(x2), dync__arg_b(x3)};
    return dync__op_call(op, 4, args, at);
}
#define DYNC__ENTRY_1Tdib(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_dims x1, int x2, bool x3) { return dync__op_1Tdib(DYNC__OP_##name, x0, x1, x2, x3, dync__tls.at); }
DYNC__ENTRY_1Tdib(std) DYNC__ENTRY_1Tdib(var)

DYNC_API dync_tensor *dync__op_1TTT(int op, dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_h(x1), dync__arg_h(x2)};
    return dync__op_call(op, 3, args, at);
}
#define DYNC__ENTRY_1TTT(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_tensor *x1, dync_tensor *x2) { return dync__op_1TTT(DYNC__OP_##name, x0, x1, x2, dync__tls.at); }
DYNC__ENTRY_1TTT(addmm) DYNC__ENTRY_1TTT(addmv) DYNC__ENTRY_1TTT(baddbmm)

DYNC_API dync_tensor *dync__op_1TT(int op, dync_tensor *x0, dync_tensor *x1, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_h(x1)};
    return dync__op_call(op, 2, args, at);
}
#define DYNC__ENTRY_1TT(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_tensor *x1) { return dync__op_1TT(DYNC__OP_##name, x0, x1, dync__tls.at); }
DYNC__ENTRY_1TT(bmm) DYNC__ENTRY_1TT(dot) DYNC__ENTRY_1TT(int_mm) DYNC__ENTRY_1TT(matmul) DYNC__ENTRY_1TT(mm)
DYNC__ENTRY_1TT(mv) DYNC__ENTRY_1TT(outer) DYNC__ENTRY_1TT(logaddexp) DYNC__ENTRY_1TT(xlogy) DYNC__ENTRY_1TT(embedding)
DYNC__ENTRY_1TT(prelu) DYNC__ENTRY_1TT(binary_cross_entropy) DYNC__ENTRY_1TT(binary_cross_entropy_with_logits)
DYNC__ENTRY_1TT(cross_entropy) DYNC__ENTRY_1TT(l1_loss) DYNC__ENTRY_1TT(mse_loss) DYNC__ENTRY_1TT(nll_loss)
DYNC__ENTRY_1TT(expand_as) DYNC__ENTRY_1TT(view_as) DYNC__ENTRY_1TT(masked_select)

DYNC_API dync_tensor *dync__op_1TTO(int op, dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_h(x1), x2 ? dync__arg_h(x2) : dync__arg_none()};
    return dync__op_call(op, 3, args, at);
}
#define DYNC__ENTRY_1TTO(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_tensor *x1, dync_tensor *x2) { return dync__op_1TTO(DYNC__OP_##name, x0, x1, x2, dync__tls.at); }
DYNC__ENTRY_1TTO(linear)

DYNC_API dync_tensor *dync__op_1Td(int op, dync_tensor *x0, dync_dims x1, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_dims(x1.n, x1.d)};
    return dync__op_call(op, 2, args, at);
}
#define DYNC__ENTRY_1Td(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_dims x1) { return dync__op_1Td(DYNC__OP_##name, x0, x1, dync__tls.at); }
DYNC__ENTRY_1Td(count_nonzero) DYNC__ENTRY_1Td(adaptive_avg_pool2d) DYNC__ENTRY_1Td(upsample_nearest2d)
DYNC__ENTRY_1Td(expand) DYNC__ENTRY_1Td(permute) DYNC__ENTRY_1Td(reshape) DYNC__ENTRY_1Td(view) DYNC__ENTRY_1Td(flip)
DYNC__ENTRY_1Td(repeat)

DYNC_API dync_tensor *dync__op_1TTffb(int op, dync_tensor *x0, dync_tensor *x1, double x2, double x3, bool x4, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_h(x1), dync__arg_f(x2), dync__arg_f(x3), dync__arg_b(x4)};
    return dync__op_call(op, 5, args, at);
}
#define DYNC__ENTRY_1TTffb(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_tensor *x1, double x2, double x3, bool x4) { return dync__op_1TTffb(DYNC__OP_##name, x0, x1, x2, x3, x4, dync__tls.at); }
DYNC__ENTRY_1TTffb(isclose)

DYNC_API dync_tensor *dync__op_1TVVV(int op, dync_tensor *x0, dync_value x1, dync_value x2, dync_value x3, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_value(x1), dync__arg_value(x2), dync__arg_value(x3)};
    return dync__op_call(op, 4, args, at);
}
#define DYNC__ENTRY_1TVVV(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_value x1, dync_value x2, dync_value x3) { return dync__op_1TVVV(DYNC__OP_##name, x0, x1, x2, x3, dync__tls.at); }
DYNC__ENTRY_1TVVV(nan_to_num)

DYNC_API dync_tensor *dync__op_1TTif(int op, dync_tensor *x0, dync_tensor *x1, int x2, double x3, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_h(x1), dync__arg_i(x2), dync__arg_f(x3)};
    return dync__op_call(op, 4, args, at);
}
#define DYNC__ENTRY_1TTif(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_tensor *x1, int x2, double x3) { return dync__op_1TTif(DYNC__OP_##name, x0, x1, x2, x3, dync__tls.at); }
DYNC__ENTRY_1TTif(cosine_similarity)

DYNC_API dync_tensor *dync__op_1TVif(int op, dync_tensor *x0, dync_value x1, int x2, double x3, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_value(x1), dync__arg_i(x2), dync__arg_f(x3)};
    return dync__op_call(op, 4, args, at);
}
#define DYNC__ENTRY_1TVif(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_value x1, int x2, double x3) { return dync__op_1TVif(DYNC__OP_##name, x0, x1, x2, x3, dync__tls.at); }
DYNC__ENTRY_1TVif(normalize)

DYNC_API dync_tensor *dync__op_1sL(int op, const char *x0, dync_value x1, dync_loc at)
{
    dync__arg args[] = {dync__arg_s(x0), dync__arg_value(x1)};
    return dync__op_call(op, 2, args, at);
}
#define DYNC__ENTRY_1sL(name) \
    DYNC_API dync_tensor *(dync_##name)(const char *x0, dync_value x1) { return dync__op_1sL(DYNC__OP_##name, x0, x1, dync__tls.at); }
DYNC__ENTRY_1sL(einsum)

DYNC_API dync_tensor *dync__op_1Tdddbb(int op, dync_tensor *x0, dync_dims x1, dync_dims x2, dync_dims x3, bool x4, bool x5, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_dims(x1.n, x1.d), dync__arg_dims(x2.n, x2.d), dync__arg_dims(x3.n, x3.d), dync__arg_b(x4), dync__arg_b(x5)};
    return dync__op_call(op, 6, args, at);
}
#define DYNC__ENTRY_1Tdddbb(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_dims x1, dync_dims x2, dync_dims x3, bool x4, bool x5) { return dync__op_1Tdddbb(DYNC__OP_##name, x0, x1, x2, x3, x4, x5, dync__tls.at); }
DYNC__ENTRY_1Tdddbb(avg_pool2d)

DYNC_API dync_tensor *dync__op_1TOOOObff(int op, dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_tensor *x3, dync_tensor *x4, bool x5, double x6, double x7, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), x1 ? dync__arg_h(x1) : dync__arg_none(), x2 ? dync__arg_h(x2) : dync__arg_none(), x3 ? dync__arg_h(x3) : dync__arg_none(), x4 ? dync__arg_h(x4) : dync__arg_none(), dync__arg_b(x5), dync__arg_f(x6), dync__arg_f(x7)};
    return dync__op_call(op, 8, args, at);
}
#define DYNC__ENTRY_1TOOOObff(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_tensor *x3, dync_tensor *x4, bool x5, double x6, double x7) { return dync__op_1TOOOObff(DYNC__OP_##name, x0, x1, x2, x3, x4, x5, x6, x7, dync__tls.at); }
DYNC__ENTRY_1TOOOObff(batch_norm)

DYNC_API dync_tensor *dync__op_1TTOdddi(int op, dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_dims x3, dync_dims x4, dync_dims x5, int x6, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_h(x1), x2 ? dync__arg_h(x2) : dync__arg_none(), dync__arg_dims(x3.n, x3.d), dync__arg_dims(x4.n, x4.d), dync__arg_dims(x5.n, x5.d), dync__arg_i(x6)};
    return dync__op_call(op, 7, args, at);
}
#define DYNC__ENTRY_1TTOdddi(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_dims x3, dync_dims x4, dync_dims x5, int x6) { return dync__op_1TTOdddi(DYNC__OP_##name, x0, x1, x2, x3, x4, x5, x6, dync__tls.at); }
DYNC__ENTRY_1TTOdddi(conv2d) DYNC__ENTRY_1TTOdddi(conv1d)

DYNC_API dync_tensor *dync__op_1Tfb(int op, dync_tensor *x0, double x1, bool x2, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_f(x1), dync__arg_b(x2)};
    return dync__op_call(op, 3, args, at);
}
#define DYNC__ENTRY_1Tfb(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, double x1, bool x2) { return dync__op_1Tfb(DYNC__OP_##name, x0, x1, x2, dync__tls.at); }
DYNC__ENTRY_1Tfb(dropout)

DYNC_API dync_tensor *dync__op_1TdOOf(int op, dync_tensor *x0, dync_dims x1, dync_tensor *x2, dync_tensor *x3, double x4, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_dims(x1.n, x1.d), x2 ? dync__arg_h(x2) : dync__arg_none(), x3 ? dync__arg_h(x3) : dync__arg_none(), dync__arg_f(x4)};
    return dync__op_call(op, 5, args, at);
}
#define DYNC__ENTRY_1TdOOf(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_dims x1, dync_tensor *x2, dync_tensor *x3, double x4) { return dync__op_1TdOOf(DYNC__OP_##name, x0, x1, x2, x3, x4, dync__tls.at); }
DYNC__ENTRY_1TdOOf(layer_norm)

DYNC_API dync_tensor *dync__op_1Tddddb(int op, dync_tensor *x0, dync_dims x1, dync_dims x2, dync_dims x3, dync_dims x4, bool x5, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_dims(x1.n, x1.d), dync__arg_dims(x2.n, x2.d), dync__arg_dims(x3.n, x3.d), dync__arg_dims(x4.n, x4.d), dync__arg_b(x5)};
    return dync__op_call(op, 6, args, at);
}
#define DYNC__ENTRY_1Tddddb(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_dims x1, dync_dims x2, dync_dims x3, dync_dims x4, bool x5) { return dync__op_1Tddddb(DYNC__OP_##name, x0, x1, x2, x3, x4, x5, dync__tls.at); }
DYNC__ENTRY_1Tddddb(max_pool2d)

DYNC_API dync_value dync__op_nTddddb(int op, dync_tensor *x0, dync_dims x1, dync_dims x2, dync_dims x3, dync_dims x4, bool x5, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_dims(x1.n, x1.d), dync__arg_dims(x2.n, x2.d), dync__arg_dims(x3.n, x3.d), dync__arg_dims(x4.n, x4.d), dync__arg_b(x5)};
    return dync__op_call_list(op, 6, args, at);
}
#define DYNC__ENTRY_nTddddb(name) \
    DYNC_API dync_value (dync_##name)(dync_tensor *x0, dync_dims x1, dync_dims x2, dync_dims x3, dync_dims x4, bool x5) { return dync__op_nTddddb(DYNC__OP_##name, x0, x1, x2, x3, x4, x5, dync__tls.at); }
DYNC__ENTRY_nTddddb(max_pool2d_with_indices)

DYNC_API dync_tensor *dync__op_1Tl(int op, dync_tensor *x0, int64_t x1, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_i(x1)};
    return dync__op_call(op, 2, args, at);
}
#define DYNC__ENTRY_1Tl(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, int64_t x1) { return dync__op_1Tl(DYNC__OP_##name, x0, x1, dync__tls.at); }
DYNC__ENTRY_1Tl(one_hot) DYNC__ENTRY_1Tl(pixel_shuffle)

DYNC_API dync_tensor *dync__op_1TfV(int op, dync_tensor *x0, double x1, dync_value x2, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_f(x1), dync__arg_value(x2)};
    return dync__op_call(op, 3, args, at);
}
#define DYNC__ENTRY_1TfV(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, double x1, dync_value x2) { return dync__op_1TfV(DYNC__OP_##name, x0, x1, x2, dync__tls.at); }
DYNC__ENTRY_1TfV(threshold)

DYNC_API dync_tensor *dync__op_1TTOdddid(int op, dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_dims x3, dync_dims x4, dync_dims x5, int x6, dync_dims x7, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_h(x1), x2 ? dync__arg_h(x2) : dync__arg_none(), dync__arg_dims(x3.n, x3.d), dync__arg_dims(x4.n, x4.d), dync__arg_dims(x5.n, x5.d), dync__arg_i(x6), dync__arg_dims(x7.n, x7.d)};
    return dync__op_call(op, 8, args, at);
}
#define DYNC__ENTRY_1TTOdddid(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_dims x3, dync_dims x4, dync_dims x5, int x6, dync_dims x7) { return dync__op_1TTOdddid(DYNC__OP_##name, x0, x1, x2, x3, x4, x5, x6, x7, dync__tls.at); }
DYNC__ENTRY_1TTOdddid(conv_transpose2d)

DYNC_API dync_tensor *dync__op_1TlOOf(int op, dync_tensor *x0, int64_t x1, dync_tensor *x2, dync_tensor *x3, double x4, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_i(x1), x2 ? dync__arg_h(x2) : dync__arg_none(), x3 ? dync__arg_h(x3) : dync__arg_none(), dync__arg_f(x4)};
    return dync__op_call(op, 5, args, at);
}
#define DYNC__ENTRY_1TlOOf(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, int64_t x1, dync_tensor *x2, dync_tensor *x3, double x4) { return dync__op_1TlOOf(DYNC__OP_##name, x0, x1, x2, x3, x4, dync__tls.at); }
DYNC__ENTRY_1TlOOf(group_norm)

DYNC_API dync_tensor *dync__op_1TOOf(int op, dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, double x3, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), x1 ? dync__arg_h(x1) : dync__arg_none(), x2 ? dync__arg_h(x2) : dync__arg_none(), dync__arg_f(x3)};
    return dync__op_call(op, 4, args, at);
}
#define DYNC__ENTRY_1TOOf(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, double x3) { return dync__op_1TOOf(DYNC__OP_##name, x0, x1, x2, x3, dync__tls.at); }
DYNC__ENTRY_1TOOf(instance_norm)

DYNC_API dync_tensor *dync__op_1TdOV(int op, dync_tensor *x0, dync_dims x1, dync_tensor *x2, dync_value x3, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_dims(x1.n, x1.d), x2 ? dync__arg_h(x2) : dync__arg_none(), dync__arg_value(x3)};
    return dync__op_call(op, 4, args, at);
}
#define DYNC__ENTRY_1TdOV(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_dims x1, dync_tensor *x2, dync_value x3) { return dync__op_1TdOV(DYNC__OP_##name, x0, x1, x2, x3, dync__tls.at); }
DYNC__ENTRY_1TdOV(rms_norm)

DYNC_API dync_tensor *dync__op_1TTTOfbV(int op, dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_tensor *x3, double x4, bool x5, dync_value x6, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_h(x1), dync__arg_h(x2), x3 ? dync__arg_h(x3) : dync__arg_none(), dync__arg_f(x4), dync__arg_b(x5), dync__arg_value(x6)};
    return dync__op_call(op, 7, args, at);
}
#define DYNC__ENTRY_1TTTOfbV(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_tensor *x3, double x4, bool x5, dync_value x6) { return dync__op_1TTTOfbV(DYNC__OP_##name, x0, x1, x2, x3, x4, x5, x6, dync__tls.at); }
DYNC__ENTRY_1TTTOfbV(scaled_dot_product_attention)

DYNC_API dync_tensor *dync__op_1TdV(int op, dync_tensor *x0, dync_dims x1, dync_value x2, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_dims(x1.n, x1.d), dync__arg_value(x2)};
    return dync__op_call(op, 3, args, at);
}
#define DYNC__ENTRY_1TdV(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_dims x1, dync_value x2) { return dync__op_1TdV(DYNC__OP_##name, x0, x1, x2, dync__tls.at); }
DYNC__ENTRY_1TdV(pad)

DYNC_API dync_tensor *dync__op_1Tdd(int op, dync_tensor *x0, dync_dims x1, dync_dims x2, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_dims(x1.n, x1.d), dync__arg_dims(x2.n, x2.d)};
    return dync__op_call(op, 3, args, at);
}
#define DYNC__ENTRY_1Tdd(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_dims x1, dync_dims x2) { return dync__op_1Tdd(DYNC__OP_##name, x0, x1, x2, dync__tls.at); }
DYNC__ENTRY_1Tdd(movedim) DYNC__ENTRY_1Tdd(roll)

DYNC_API dync_tensor *dync__op_1Till(int op, dync_tensor *x0, int x1, int64_t x2, int64_t x3, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_i(x1), dync__arg_i(x2), dync__arg_i(x3)};
    return dync__op_call(op, 4, args, at);
}
#define DYNC__ENTRY_1Till(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, int x1, int64_t x2, int64_t x3) { return dync__op_1Till(DYNC__OP_##name, x0, x1, x2, x3, dync__tls.at); }
DYNC__ENTRY_1Till(unfold) DYNC__ENTRY_1Till(narrow)

DYNC_API dync_tensor *dync__op_1TTf(int op, dync_tensor *x0, dync_tensor *x1, double x2, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_h(x1), dync__arg_f(x2)};
    return dync__op_call(op, 3, args, at);
}
#define DYNC__ENTRY_1TTf(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_tensor *x1, double x2) { return dync__op_1TTf(DYNC__OP_##name, x0, x1, x2, dync__tls.at); }
DYNC__ENTRY_1TTf(huber_loss) DYNC__ENTRY_1TTf(smooth_l1_loss)

DYNC_API dync_tensor *dync__op_1TTb(int op, dync_tensor *x0, dync_tensor *x1, bool x2, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_h(x1), dync__arg_b(x2)};
    return dync__op_call(op, 3, args, at);
}
#define DYNC__ENTRY_1TTb(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_tensor *x1, bool x2) { return dync__op_1TTb(DYNC__OP_##name, x0, x1, x2, dync__tls.at); }
DYNC__ENTRY_1TTb(kl_div)

DYNC_API dync_tensor *dync__op_1Tddl(int op, dync_tensor *x0, dync_dims x1, dync_dims x2, int64_t x3, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_dims(x1.n, x1.d), dync__arg_dims(x2.n, x2.d), dync__arg_i(x3)};
    return dync__op_call(op, 4, args, at);
}
#define DYNC__ENTRY_1Tddl(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_dims x1, dync_dims x2, int64_t x3) { return dync__op_1Tddl(DYNC__OP_##name, x0, x1, x2, x3, dync__tls.at); }
DYNC__ENTRY_1Tddl(as_strided)

DYNC_API dync_tensor *dync__op_1Tiii(int op, dync_tensor *x0, int x1, int x2, int x3, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_i(x1), dync__arg_i(x2), dync__arg_i(x3)};
    return dync__op_call(op, 4, args, at);
}
#define DYNC__ENTRY_1Tiii(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, int x1, int x2, int x3) { return dync__op_1Tiii(DYNC__OP_##name, x0, x1, x2, x3, dync__tls.at); }
DYNC__ENTRY_1Tiii(diagonal)

DYNC_API dync_tensor *dync__op_1Tii(int op, dync_tensor *x0, int x1, int x2, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_i(x1), dync__arg_i(x2)};
    return dync__op_call(op, 3, args, at);
}
#define DYNC__ENTRY_1Tii(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, int x1, int x2) { return dync__op_1Tii(DYNC__OP_##name, x0, x1, x2, dync__tls.at); }
DYNC__ENTRY_1Tii(flatten) DYNC__ENTRY_1Tii(transpose)

DYNC_API dync_tensor *dync__op_1Til(int op, dync_tensor *x0, int x1, int64_t x2, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_i(x1), dync__arg_i(x2)};
    return dync__op_call(op, 3, args, at);
}
#define DYNC__ENTRY_1Til(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, int x1, int64_t x2) { return dync__op_1Til(DYNC__OP_##name, x0, x1, x2, dync__tls.at); }
DYNC__ENTRY_1Til(select)

DYNC_API dync_tensor *dync__op_1Tilll(int op, dync_tensor *x0, int x1, int64_t x2, int64_t x3, int64_t x4, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_i(x1), dync__arg_i(x2), dync__arg_i(x3), dync__arg_i(x4)};
    return dync__op_call(op, 5, args, at);
}
#define DYNC__ENTRY_1Tilll(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, int x1, int64_t x2, int64_t x3, int64_t x4) { return dync__op_1Tilll(DYNC__OP_##name, x0, x1, x2, x3, x4, dync__tls.at); }
DYNC__ENTRY_1Tilll(slice)

DYNC_API dync_tensor *dync__op_1Tid(int op, dync_tensor *x0, int x1, dync_dims x2, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_i(x1), dync__arg_dims(x2.n, x2.d)};
    return dync__op_call(op, 3, args, at);
}
#define DYNC__ENTRY_1Tid(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, int x1, dync_dims x2) { return dync__op_1Tid(DYNC__OP_##name, x0, x1, x2, dync__tls.at); }
DYNC__ENTRY_1Tid(unflatten)

DYNC_API dync_tensor *dync__op_1Li(int op, dync_value x0, int x1, dync_loc at)
{
    dync__arg args[] = {dync__arg_value(x0), dync__arg_i(x1)};
    return dync__op_call(op, 2, args, at);
}
#define DYNC__ENTRY_1Li(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_value x0, int x1) { return dync__op_1Li(DYNC__OP_##name, x0, x1, dync__tls.at); }
DYNC__ENTRY_1Li(cat) DYNC__ENTRY_1Li(stack)

DYNC_API dync_tensor *dync__op_1TiT(int op, dync_tensor *x0, int x1, dync_tensor *x2, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_i(x1), dync__arg_h(x2)};
    return dync__op_call(op, 3, args, at);
}
#define DYNC__ENTRY_1TiT(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, int x1, dync_tensor *x2) { return dync__op_1TiT(DYNC__OP_##name, x0, x1, x2, dync__tls.at); }
DYNC__ENTRY_1TiT(gather) DYNC__ENTRY_1TiT(index_select)

DYNC_API dync_tensor *dync__op_1TTi(int op, dync_tensor *x0, dync_tensor *x1, int x2, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_h(x1), dync__arg_i(x2)};
    return dync__op_call(op, 3, args, at);
}
#define DYNC__ENTRY_1TTi(name) \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_tensor *x1, int x2) { return dync__op_1TTi(DYNC__OP_##name, x0, x1, x2, dync__tls.at); }
DYNC__ENTRY_1TTi(take_along_dim)

DYNC_API dync_value dync__op_nTlibb(int op, dync_tensor *x0, int64_t x1, int x2, bool x3, bool x4, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_i(x1), dync__arg_i(x2), dync__arg_b(x3), dync__arg_b(x4)};
    return dync__op_call_list(op, 5, args, at);
}
#define DYNC__ENTRY_nTlibb(name) \
    DYNC_API dync_value (dync_##name)(dync_tensor *x0, int64_t x1, int x2, bool x3, bool x4) { return dync__op_nTlibb(DYNC__OP_##name, x0, x1, x2, x3, x4, dync__tls.at); }
DYNC__ENTRY_nTlibb(topk)
