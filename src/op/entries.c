/* op/entries.c: the public functions of the operators. After api/, before dispatch.c, which opens the handles packed here.
 *
 * Generated from src/op/ops.def.h by tools/genops.c: edit the table, then `make headers`. */
#include "../dync.in.h"
#include "op.h"

static DYNC__NOINLINE dync_tensor *dync__entry_1VV(int op, dync_value x0, dync_value x1, const dync_loc *at)
{
    dync__arg args[] = {dync__arg_value(x0), dync__arg_value(x1)};
    return dync__op_call(op, 2, args, *at);
}
#define DYNC__ENTRY_1VV(name) \
    DYNC_API dync_tensor *dync_##name##_at(dync_value x0, dync_value x1, dync_loc at) { return dync__entry_1VV(DYNC__OP_##name, x0, x1, &at); } \
    DYNC_API dync_tensor *(dync_##name)(dync_value x0, dync_value x1) { return dync__entry_1VV(DYNC__OP_##name, x0, x1, &dync__tls.at); }

static DYNC__NOINLINE dync_tensor *dync__entry_1TTTV(int op, dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_value x3, const dync_loc *at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_h(x1), dync__arg_h(x2), dync__arg_value(x3)};
    return dync__op_call(op, 4, args, *at);
}
#define DYNC__ENTRY_1TTTV(name) \
    DYNC_API dync_tensor *dync_##name##_at(dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_value x3, dync_loc at) { return dync__entry_1TTTV(DYNC__OP_##name, x0, x1, x2, x3, &at); } \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_value x3) { return dync__entry_1TTTV(DYNC__OP_##name, x0, x1, x2, x3, &dync__tls.at); }

static DYNC__NOINLINE dync_tensor *dync__entry_1TVV(int op, dync_tensor *x0, dync_value x1, dync_value x2, const dync_loc *at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_value(x1), dync__arg_value(x2)};
    return dync__op_call(op, 3, args, *at);
}
#define DYNC__ENTRY_1TVV(name) \
    DYNC_API dync_tensor *dync_##name##_at(dync_tensor *x0, dync_value x1, dync_value x2, dync_loc at) { return dync__entry_1TVV(DYNC__OP_##name, x0, x1, x2, &at); } \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_value x1, dync_value x2) { return dync__entry_1TVV(DYNC__OP_##name, x0, x1, x2, &dync__tls.at); }

static DYNC__NOINLINE dync_tensor *dync__entry_1TTV(int op, dync_tensor *x0, dync_tensor *x1, dync_value x2, const dync_loc *at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_h(x1), dync__arg_value(x2)};
    return dync__op_call(op, 3, args, *at);
}
#define DYNC__ENTRY_1TTV(name) \
    DYNC_API dync_tensor *dync_##name##_at(dync_tensor *x0, dync_tensor *x1, dync_value x2, dync_loc at) { return dync__entry_1TTV(DYNC__OP_##name, x0, x1, x2, &at); } \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_tensor *x1, dync_value x2) { return dync__entry_1TTV(DYNC__OP_##name, x0, x1, x2, &dync__tls.at); }

static DYNC__NOINLINE dync_tensor *dync__entry_1T(int op, dync_tensor *x0, const dync_loc *at)
{
    dync__arg args[] = {dync__arg_h(x0)};
    return dync__op_call(op, 1, args, *at);
}
#define DYNC__ENTRY_1T(name) \
    DYNC_API dync_tensor *dync_##name##_at(dync_tensor *x0, dync_loc at) { return dync__entry_1T(DYNC__OP_##name, x0, &at); } \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0) { return dync__entry_1T(DYNC__OP_##name, x0, &dync__tls.at); }

static DYNC__NOINLINE dync_tensor *dync__entry_1Tf(int op, dync_tensor *x0, double x1, const dync_loc *at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_f(x1)};
    return dync__op_call(op, 2, args, *at);
}
#define DYNC__ENTRY_1Tf(name) \
    DYNC_API dync_tensor *dync_##name##_at(dync_tensor *x0, double x1, dync_loc at) { return dync__entry_1Tf(DYNC__OP_##name, x0, x1, &at); } \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, double x1) { return dync__entry_1Tf(DYNC__OP_##name, x0, x1, &dync__tls.at); }

static DYNC__NOINLINE dync_tensor *dync__entry_1Tff(int op, dync_tensor *x0, double x1, double x2, const dync_loc *at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_f(x1), dync__arg_f(x2)};
    return dync__op_call(op, 3, args, *at);
}
#define DYNC__ENTRY_1Tff(name) \
    DYNC_API dync_tensor *dync_##name##_at(dync_tensor *x0, double x1, double x2, dync_loc at) { return dync__entry_1Tff(DYNC__OP_##name, x0, x1, x2, &at); } \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, double x1, double x2) { return dync__entry_1Tff(DYNC__OP_##name, x0, x1, x2, &dync__tls.at); }

static DYNC__NOINLINE dync_tensor *dync__entry_1TV(int op, dync_tensor *x0, dync_value x1, const dync_loc *at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_value(x1)};
    return dync__op_call(op, 2, args, *at);
}
#define DYNC__ENTRY_1TV(name) \
    DYNC_API dync_tensor *dync_##name##_at(dync_tensor *x0, dync_value x1, dync_loc at) { return dync__entry_1TV(DYNC__OP_##name, x0, x1, &at); } \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_value x1) { return dync__entry_1TV(DYNC__OP_##name, x0, x1, &dync__tls.at); }

static DYNC__NOINLINE dync_tensor *dync__entry_1TiTT(int op, dync_tensor *x0, int x1, dync_tensor *x2, dync_tensor *x3, const dync_loc *at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_i(x1), dync__arg_h(x2), dync__arg_h(x3)};
    return dync__op_call(op, 4, args, *at);
}
#define DYNC__ENTRY_1TiTT(name) \
    DYNC_API dync_tensor *dync_##name##_at(dync_tensor *x0, int x1, dync_tensor *x2, dync_tensor *x3, dync_loc at) { return dync__entry_1TiTT(DYNC__OP_##name, x0, x1, x2, x3, &at); } \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, int x1, dync_tensor *x2, dync_tensor *x3) { return dync__entry_1TiTT(DYNC__OP_##name, x0, x1, x2, x3, &dync__tls.at); }

static DYNC__NOINLINE dync_tensor *dync__entry_1TiTV(int op, dync_tensor *x0, int x1, dync_tensor *x2, dync_value x3, const dync_loc *at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_i(x1), dync__arg_h(x2), dync__arg_value(x3)};
    return dync__op_call(op, 4, args, *at);
}
#define DYNC__ENTRY_1TiTV(name) \
    DYNC_API dync_tensor *dync_##name##_at(dync_tensor *x0, int x1, dync_tensor *x2, dync_value x3, dync_loc at) { return dync__entry_1TiTV(DYNC__OP_##name, x0, x1, x2, x3, &at); } \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, int x1, dync_tensor *x2, dync_value x3) { return dync__entry_1TiTV(DYNC__OP_##name, x0, x1, x2, x3, &dync__tls.at); }

static DYNC__NOINLINE dync_tensor *dync__entry_1Tdb(int op, dync_tensor *x0, dync_dims x1, bool x2, const dync_loc *at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_dims(x1.n, x1.d), dync__arg_b(x2)};
    return dync__op_call(op, 3, args, *at);
}
#define DYNC__ENTRY_1Tdb(name) \
    DYNC_API dync_tensor *dync_##name##_at(dync_tensor *x0, dync_dims x1, bool x2, dync_loc at) { return dync__entry_1Tdb(DYNC__OP_##name, x0, x1, x2, &at); } \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_dims x1, bool x2) { return dync__entry_1Tdb(DYNC__OP_##name, x0, x1, x2, &dync__tls.at); }

static DYNC__NOINLINE dync_tensor *dync__entry_1Tib(int op, dync_tensor *x0, int x1, bool x2, const dync_loc *at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_i(x1), dync__arg_b(x2)};
    return dync__op_call(op, 3, args, *at);
}
#define DYNC__ENTRY_1Tib(name) \
    DYNC_API dync_tensor *dync_##name##_at(dync_tensor *x0, int x1, bool x2, dync_loc at) { return dync__entry_1Tib(DYNC__OP_##name, x0, x1, x2, &at); } \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, int x1, bool x2) { return dync__entry_1Tib(DYNC__OP_##name, x0, x1, x2, &dync__tls.at); }

static DYNC__NOINLINE dync_tensor *dync__entry_1Ti(int op, dync_tensor *x0, int x1, const dync_loc *at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_i(x1)};
    return dync__op_call(op, 2, args, *at);
}
#define DYNC__ENTRY_1Ti(name) \
    DYNC_API dync_tensor *dync_##name##_at(dync_tensor *x0, int x1, dync_loc at) { return dync__entry_1Ti(DYNC__OP_##name, x0, x1, &at); } \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, int x1) { return dync__entry_1Ti(DYNC__OP_##name, x0, x1, &dync__tls.at); }

static DYNC__NOINLINE dync_value dync__entry_nTib(int op, dync_tensor *x0, int x1, bool x2, const dync_loc *at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_i(x1), dync__arg_b(x2)};
    return dync__op_call_list(op, 3, args, *at);
}
#define DYNC__ENTRY_nTib(name) \
    DYNC_API dync_value dync_##name##_at(dync_tensor *x0, int x1, bool x2, dync_loc at) { return dync__entry_nTib(DYNC__OP_##name, x0, x1, x2, &at); } \
    DYNC_API dync_value (dync_##name)(dync_tensor *x0, int x1, bool x2) { return dync__entry_nTib(DYNC__OP_##name, x0, x1, x2, &dync__tls.at); }

static DYNC__NOINLINE dync_tensor *dync__entry_1Tdib(int op, dync_tensor *x0, dync_dims x1, int x2, bool x3, const dync_loc *at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_dims(x1.n, x1.d), dync__arg_i(x2), dync__arg_b(x3)};
    return dync__op_call(op, 4, args, *at);
}
#define DYNC__ENTRY_1Tdib(name) \
    DYNC_API dync_tensor *dync_##name##_at(dync_tensor *x0, dync_dims x1, int x2, bool x3, dync_loc at) { return dync__entry_1Tdib(DYNC__OP_##name, x0, x1, x2, x3, &at); } \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_dims x1, int x2, bool x3) { return dync__entry_1Tdib(DYNC__OP_##name, x0, x1, x2, x3, &dync__tls.at); }

static DYNC__NOINLINE dync_tensor *dync__entry_1TTT(int op, dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, const dync_loc *at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_h(x1), dync__arg_h(x2)};
    return dync__op_call(op, 3, args, *at);
}
#define DYNC__ENTRY_1TTT(name) \
    DYNC_API dync_tensor *dync_##name##_at(dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_loc at) { return dync__entry_1TTT(DYNC__OP_##name, x0, x1, x2, &at); } \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_tensor *x1, dync_tensor *x2) { return dync__entry_1TTT(DYNC__OP_##name, x0, x1, x2, &dync__tls.at); }

static DYNC__NOINLINE dync_tensor *dync__entry_1TT(int op, dync_tensor *x0, dync_tensor *x1, const dync_loc *at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_h(x1)};
    return dync__op_call(op, 2, args, *at);
}
#define DYNC__ENTRY_1TT(name) \
    DYNC_API dync_tensor *dync_##name##_at(dync_tensor *x0, dync_tensor *x1, dync_loc at) { return dync__entry_1TT(DYNC__OP_##name, x0, x1, &at); } \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_tensor *x1) { return dync__entry_1TT(DYNC__OP_##name, x0, x1, &dync__tls.at); }

static DYNC__NOINLINE dync_tensor *dync__entry_1Td(int op, dync_tensor *x0, dync_dims x1, const dync_loc *at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_dims(x1.n, x1.d)};
    return dync__op_call(op, 2, args, *at);
}
#define DYNC__ENTRY_1Td(name) \
    DYNC_API dync_tensor *dync_##name##_at(dync_tensor *x0, dync_dims x1, dync_loc at) { return dync__entry_1Td(DYNC__OP_##name, x0, x1, &at); } \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_dims x1) { return dync__entry_1Td(DYNC__OP_##name, x0, x1, &dync__tls.at); }

static DYNC__NOINLINE dync_tensor *dync__entry_1TTOdddi(int op, dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_dims x3, dync_dims x4, dync_dims x5, int x6, const dync_loc *at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_h(x1), x2 ? dync__arg_h(x2) : dync__arg_none(), dync__arg_dims(x3.n, x3.d), dync__arg_dims(x4.n, x4.d), dync__arg_dims(x5.n, x5.d), dync__arg_i(x6)};
    return dync__op_call(op, 7, args, *at);
}
#define DYNC__ENTRY_1TTOdddi(name) \
    DYNC_API dync_tensor *dync_##name##_at(dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_dims x3, dync_dims x4, dync_dims x5, int x6, dync_loc at) { return dync__entry_1TTOdddi(DYNC__OP_##name, x0, x1, x2, x3, x4, x5, x6, &at); } \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_tensor *x1, dync_tensor *x2, dync_dims x3, dync_dims x4, dync_dims x5, int x6) { return dync__entry_1TTOdddi(DYNC__OP_##name, x0, x1, x2, x3, x4, x5, x6, &dync__tls.at); }

static DYNC__NOINLINE dync_tensor *dync__entry_1Tl(int op, dync_tensor *x0, int64_t x1, const dync_loc *at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_i(x1)};
    return dync__op_call(op, 2, args, *at);
}
#define DYNC__ENTRY_1Tl(name) \
    DYNC_API dync_tensor *dync_##name##_at(dync_tensor *x0, int64_t x1, dync_loc at) { return dync__entry_1Tl(DYNC__OP_##name, x0, x1, &at); } \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, int64_t x1) { return dync__entry_1Tl(DYNC__OP_##name, x0, x1, &dync__tls.at); }

static DYNC__NOINLINE dync_tensor *dync__entry_1Tdd(int op, dync_tensor *x0, dync_dims x1, dync_dims x2, const dync_loc *at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_dims(x1.n, x1.d), dync__arg_dims(x2.n, x2.d)};
    return dync__op_call(op, 3, args, *at);
}
#define DYNC__ENTRY_1Tdd(name) \
    DYNC_API dync_tensor *dync_##name##_at(dync_tensor *x0, dync_dims x1, dync_dims x2, dync_loc at) { return dync__entry_1Tdd(DYNC__OP_##name, x0, x1, x2, &at); } \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_dims x1, dync_dims x2) { return dync__entry_1Tdd(DYNC__OP_##name, x0, x1, x2, &dync__tls.at); }

static DYNC__NOINLINE dync_tensor *dync__entry_1Till(int op, dync_tensor *x0, int x1, int64_t x2, int64_t x3, const dync_loc *at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_i(x1), dync__arg_i(x2), dync__arg_i(x3)};
    return dync__op_call(op, 4, args, *at);
}
#define DYNC__ENTRY_1Till(name) \
    DYNC_API dync_tensor *dync_##name##_at(dync_tensor *x0, int x1, int64_t x2, int64_t x3, dync_loc at) { return dync__entry_1Till(DYNC__OP_##name, x0, x1, x2, x3, &at); } \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, int x1, int64_t x2, int64_t x3) { return dync__entry_1Till(DYNC__OP_##name, x0, x1, x2, x3, &dync__tls.at); }

static DYNC__NOINLINE dync_tensor *dync__entry_1TTf(int op, dync_tensor *x0, dync_tensor *x1, double x2, const dync_loc *at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_h(x1), dync__arg_f(x2)};
    return dync__op_call(op, 3, args, *at);
}
#define DYNC__ENTRY_1TTf(name) \
    DYNC_API dync_tensor *dync_##name##_at(dync_tensor *x0, dync_tensor *x1, double x2, dync_loc at) { return dync__entry_1TTf(DYNC__OP_##name, x0, x1, x2, &at); } \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, dync_tensor *x1, double x2) { return dync__entry_1TTf(DYNC__OP_##name, x0, x1, x2, &dync__tls.at); }

static DYNC__NOINLINE dync_tensor *dync__entry_1Tii(int op, dync_tensor *x0, int x1, int x2, const dync_loc *at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_i(x1), dync__arg_i(x2)};
    return dync__op_call(op, 3, args, *at);
}
#define DYNC__ENTRY_1Tii(name) \
    DYNC_API dync_tensor *dync_##name##_at(dync_tensor *x0, int x1, int x2, dync_loc at) { return dync__entry_1Tii(DYNC__OP_##name, x0, x1, x2, &at); } \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, int x1, int x2) { return dync__entry_1Tii(DYNC__OP_##name, x0, x1, x2, &dync__tls.at); }

static DYNC__NOINLINE dync_tensor *dync__entry_1Li(int op, dync_value x0, int x1, const dync_loc *at)
{
    dync__arg args[] = {dync__arg_value(x0), dync__arg_i(x1)};
    return dync__op_call(op, 2, args, *at);
}
#define DYNC__ENTRY_1Li(name) \
    DYNC_API dync_tensor *dync_##name##_at(dync_value x0, int x1, dync_loc at) { return dync__entry_1Li(DYNC__OP_##name, x0, x1, &at); } \
    DYNC_API dync_tensor *(dync_##name)(dync_value x0, int x1) { return dync__entry_1Li(DYNC__OP_##name, x0, x1, &dync__tls.at); }

static DYNC__NOINLINE dync_tensor *dync__entry_1TiT(int op, dync_tensor *x0, int x1, dync_tensor *x2, const dync_loc *at)
{
    dync__arg args[] = {dync__arg_h(x0), dync__arg_i(x1), dync__arg_h(x2)};
    return dync__op_call(op, 3, args, *at);
}
#define DYNC__ENTRY_1TiT(name) \
    DYNC_API dync_tensor *dync_##name##_at(dync_tensor *x0, int x1, dync_tensor *x2, dync_loc at) { return dync__entry_1TiT(DYNC__OP_##name, x0, x1, x2, &at); } \
    DYNC_API dync_tensor *(dync_##name)(dync_tensor *x0, int x1, dync_tensor *x2) { return dync__entry_1TiT(DYNC__OP_##name, x0, x1, x2, &dync__tls.at); }

DYNC__ENTRY_1VV(add)
DYNC__ENTRY_1VV(atan2)
DYNC__ENTRY_1VV(bitwise_and)
DYNC__ENTRY_1VV(bitwise_or)
DYNC__ENTRY_1VV(bitwise_xor)
DYNC__ENTRY_1VV(div)
DYNC__ENTRY_1VV(eq)
DYNC__ENTRY_1VV(floor_divide)
DYNC__ENTRY_1VV(fmod)
DYNC__ENTRY_1VV(ge)
DYNC__ENTRY_1VV(gt)
DYNC__ENTRY_1VV(le)
DYNC__ENTRY_1VV(logical_and)
DYNC__ENTRY_1VV(logical_or)
DYNC__ENTRY_1VV(logical_xor)
DYNC__ENTRY_1VV(lt)
DYNC__ENTRY_1VV(maximum)
DYNC__ENTRY_1VV(minimum)
DYNC__ENTRY_1VV(mul)
DYNC__ENTRY_1VV(ne)
DYNC__ENTRY_1VV(pow)
DYNC__ENTRY_1VV(remainder)
DYNC__ENTRY_1VV(sub)
DYNC__ENTRY_1TTTV(addcdiv)
DYNC__ENTRY_1TTTV(addcmul)
DYNC__ENTRY_1TVV(clamp)
DYNC__ENTRY_1TTV(lerp)
DYNC__ENTRY_1TTV(masked_fill)
DYNC__ENTRY_1TVV(where)
DYNC__ENTRY_1T(abs)
DYNC__ENTRY_1T(acos)
DYNC__ENTRY_1T(asin)
DYNC__ENTRY_1T(atan)
DYNC__ENTRY_1T(bitwise_not)
DYNC__ENTRY_1T(ceil)
DYNC__ENTRY_1T(cos)
DYNC__ENTRY_1T(cosh)
DYNC__ENTRY_1Tf(elu)
DYNC__ENTRY_1T(erf)
DYNC__ENTRY_1T(erfc)
DYNC__ENTRY_1T(exp)
DYNC__ENTRY_1T(exp2)
DYNC__ENTRY_1T(expm1)
DYNC__ENTRY_1T(floor)
DYNC__ENTRY_1T(frac)
DYNC__ENTRY_1T(gelu)
DYNC__ENTRY_1T(gelu_tanh)
DYNC__ENTRY_1Tff(hardtanh)
DYNC__ENTRY_1T(isfinite)
DYNC__ENTRY_1T(isinf)
DYNC__ENTRY_1T(isnan)
DYNC__ENTRY_1Tf(leaky_relu)
DYNC__ENTRY_1T(log)
DYNC__ENTRY_1T(log10)
DYNC__ENTRY_1T(log1p)
DYNC__ENTRY_1T(log2)
DYNC__ENTRY_1T(logical_not)
DYNC__ENTRY_1T(logsigmoid)
DYNC__ENTRY_1T(mish)
DYNC__ENTRY_1T(neg)
DYNC__ENTRY_1T(reciprocal)
DYNC__ENTRY_1T(relu)
DYNC__ENTRY_1T(relu6)
DYNC__ENTRY_1T(round)
DYNC__ENTRY_1T(rsqrt)
DYNC__ENTRY_1T(sgn)
DYNC__ENTRY_1T(sigmoid)
DYNC__ENTRY_1T(sign)
DYNC__ENTRY_1T(silu)
DYNC__ENTRY_1T(sin)
DYNC__ENTRY_1T(sinh)
DYNC__ENTRY_1T(softplus)
DYNC__ENTRY_1T(sqrt)
DYNC__ENTRY_1T(square)
DYNC__ENTRY_1T(tan)
DYNC__ENTRY_1T(tanh)
DYNC__ENTRY_1T(trunc)
DYNC__ENTRY_1T(abs_)
DYNC__ENTRY_1TV(add_)
DYNC__ENTRY_1TTTV(addcdiv_)
DYNC__ENTRY_1TTTV(addcmul_)
DYNC__ENTRY_1T(ceil_)
DYNC__ENTRY_1TVV(clamp_)
DYNC__ENTRY_1TV(copy_)
DYNC__ENTRY_1T(cos_)
DYNC__ENTRY_1TV(div_)
DYNC__ENTRY_1T(exp_)
DYNC__ENTRY_1TV(fill_)
DYNC__ENTRY_1T(floor_)
DYNC__ENTRY_1TiTT(index_add_)
DYNC__ENTRY_1TTV(lerp_)
DYNC__ENTRY_1T(log_)
DYNC__ENTRY_1TTV(masked_fill_)
DYNC__ENTRY_1TV(mul_)
DYNC__ENTRY_1T(neg_)
DYNC__ENTRY_1Tff(normal_)
DYNC__ENTRY_1TV(pow_)
DYNC__ENTRY_1T(relu_)
DYNC__ENTRY_1T(round_)
DYNC__ENTRY_1TiTV(scatter_)
DYNC__ENTRY_1TiTT(scatter_add_)
DYNC__ENTRY_1T(sigmoid_)
DYNC__ENTRY_1T(sin_)
DYNC__ENTRY_1T(sqrt_)
DYNC__ENTRY_1TV(sub_)
DYNC__ENTRY_1T(tanh_)
DYNC__ENTRY_1T(trunc_)
DYNC__ENTRY_1Tff(uniform_)
DYNC__ENTRY_1T(zero_)
DYNC__ENTRY_1T(empty_like)

DYNC_API dync_tensor *dync_eye_at(int64_t n, int64_t m, dync_dtype dtype, dync_device device, dync_loc at)
{
    dync__arg args[] = {dync__arg_i(n), dync__arg_i(m), dync__arg_dtype((int)dtype), dync__arg_device((int)device)};
    return dync__op_call(DYNC__OP_eye, 4, args, at);
}
DYNC_API dync_tensor *(dync_eye)(int64_t n, int64_t m, dync_dtype dtype, dync_device device) { return dync_eye_at(n, m, dtype, device, dync__tls.at); }
DYNC__ENTRY_1TV(full_like)
DYNC__ENTRY_1T(ones_like)
DYNC__ENTRY_1T(rand_like)
DYNC__ENTRY_1T(randn_like)
DYNC__ENTRY_1T(zeros_like)
DYNC__ENTRY_1Tdb(all)
DYNC__ENTRY_1Tdb(amax)
DYNC__ENTRY_1Tdb(amin)
DYNC__ENTRY_1Tdb(any)
DYNC__ENTRY_1Tib(argmax)
DYNC__ENTRY_1Tib(argmin)
DYNC__ENTRY_1Ti(cumsum)
DYNC__ENTRY_1Ti(log_softmax)
DYNC__ENTRY_1Tdb(logsumexp)
DYNC__ENTRY_1T(max)
DYNC__ENTRY_nTib(max_dim)
DYNC__ENTRY_1Tdb(mean)
DYNC__ENTRY_1T(min)
DYNC__ENTRY_nTib(min_dim)

DYNC_API dync_tensor *dync_norm_at(dync_tensor *self, dync_value p, dync_dims dim, bool keepdim, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(self), dync__arg_value(p), dync__arg_dims(dim.n, dim.d), dync__arg_b(keepdim)};
    return dync__op_call(DYNC__OP_norm, 4, args, at);
}
DYNC_API dync_tensor *(dync_norm)(dync_tensor *self, dync_value p, dync_dims dim, bool keepdim) { return dync_norm_at(self, p, dim, keepdim, dync__tls.at); }
DYNC__ENTRY_1Tdb(prod)
DYNC__ENTRY_1Ti(softmax)
DYNC__ENTRY_1Tdib(std)
DYNC__ENTRY_1Tdb(sum)
DYNC__ENTRY_1Tdib(var)
DYNC__ENTRY_1TTT(addmm)
DYNC__ENTRY_1TT(bmm)
DYNC__ENTRY_1TT(dot)
DYNC__ENTRY_1TT(int_mm)

DYNC_API dync_tensor *dync_linear_at(dync_tensor *input, dync_tensor *weight, dync_tensor *bias, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(input), dync__arg_h(weight), bias ? dync__arg_h(bias) : dync__arg_none()};
    return dync__op_call(DYNC__OP_linear, 3, args, at);
}
DYNC_API dync_tensor *(dync_linear)(dync_tensor *input, dync_tensor *weight, dync_tensor *bias) { return dync_linear_at(input, weight, bias, dync__tls.at); }
DYNC__ENTRY_1TT(matmul)
DYNC__ENTRY_1TT(mm)
DYNC__ENTRY_1TT(mv)
DYNC__ENTRY_1TT(outer)
DYNC__ENTRY_1T(bernoulli)
DYNC__ENTRY_1Td(count_nonzero)

DYNC_API dync_tensor *dync_isclose_at(dync_tensor *self, dync_tensor *other, double rtol, double atol, bool equal_nan, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(self), dync__arg_h(other), dync__arg_f(rtol), dync__arg_f(atol), dync__arg_b(equal_nan)};
    return dync__op_call(DYNC__OP_isclose, 5, args, at);
}
DYNC_API dync_tensor *(dync_isclose)(dync_tensor *self, dync_tensor *other, double rtol, double atol, bool equal_nan) { return dync_isclose_at(self, other, rtol, atol, equal_nan, dync__tls.at); }
DYNC__ENTRY_1TT(logaddexp)

DYNC_API dync_tensor *dync_nan_to_num_at(dync_tensor *self, dync_value nan, dync_value posinf, dync_value neginf, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(self), dync__arg_value(nan), dync__arg_value(posinf), dync__arg_value(neginf)};
    return dync__op_call(DYNC__OP_nan_to_num, 4, args, at);
}
DYNC_API dync_tensor *(dync_nan_to_num)(dync_tensor *self, dync_value nan, dync_value posinf, dync_value neginf) { return dync_nan_to_num_at(self, nan, posinf, neginf, dync__tls.at); }
DYNC__ENTRY_1TT(xlogy)

DYNC_API dync_tensor *dync_cosine_similarity_at(dync_tensor *x1, dync_tensor *x2, int dim, double eps, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(x1), dync__arg_h(x2), dync__arg_i(dim), dync__arg_f(eps)};
    return dync__op_call(DYNC__OP_cosine_similarity, 4, args, at);
}
DYNC_API dync_tensor *(dync_cosine_similarity)(dync_tensor *x1, dync_tensor *x2, int dim, double eps) { return dync_cosine_similarity_at(x1, x2, dim, eps, dync__tls.at); }

DYNC_API dync_tensor *dync_normalize_at(dync_tensor *self, dync_value p, int dim, double eps, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(self), dync__arg_value(p), dync__arg_i(dim), dync__arg_f(eps)};
    return dync__op_call(DYNC__OP_normalize, 4, args, at);
}
DYNC_API dync_tensor *(dync_normalize)(dync_tensor *self, dync_value p, int dim, double eps) { return dync_normalize_at(self, p, dim, eps, dync__tls.at); }
DYNC__ENTRY_1TTT(addmv)
DYNC__ENTRY_1TTT(baddbmm)

DYNC_API dync_tensor *dync_einsum_at(const char *equation, dync_value operands, dync_loc at)
{
    dync__arg args[] = {dync__arg_s(equation), dync__arg_value(operands)};
    return dync__op_call(DYNC__OP_einsum, 2, args, at);
}
DYNC_API dync_tensor *(dync_einsum)(const char *equation, dync_value operands) { return dync_einsum_at(equation, operands, dync__tls.at); }
DYNC__ENTRY_1T(trace)
DYNC__ENTRY_1Td(adaptive_avg_pool2d)

DYNC_API dync_tensor *dync_avg_pool2d_at(dync_tensor *self, dync_dims kernel_size, dync_dims stride, dync_dims padding, bool ceil_mode, bool count_include_pad, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(self), dync__arg_dims(kernel_size.n, kernel_size.d), dync__arg_dims(stride.n, stride.d), dync__arg_dims(padding.n, padding.d), dync__arg_b(ceil_mode), dync__arg_b(count_include_pad)};
    return dync__op_call(DYNC__OP_avg_pool2d, 6, args, at);
}
DYNC_API dync_tensor *(dync_avg_pool2d)(dync_tensor *self, dync_dims kernel_size, dync_dims stride, dync_dims padding, bool ceil_mode, bool count_include_pad) { return dync_avg_pool2d_at(self, kernel_size, stride, padding, ceil_mode, count_include_pad, dync__tls.at); }

DYNC_API dync_tensor *dync_batch_norm_at(dync_tensor *input, dync_tensor *weight, dync_tensor *bias, dync_tensor *running_mean, dync_tensor *running_var, bool training, double momentum, double eps, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(input), weight ? dync__arg_h(weight) : dync__arg_none(), bias ? dync__arg_h(bias) : dync__arg_none(), running_mean ? dync__arg_h(running_mean) : dync__arg_none(), running_var ? dync__arg_h(running_var) : dync__arg_none(), dync__arg_b(training), dync__arg_f(momentum), dync__arg_f(eps)};
    return dync__op_call(DYNC__OP_batch_norm, 8, args, at);
}
DYNC_API dync_tensor *(dync_batch_norm)(dync_tensor *input, dync_tensor *weight, dync_tensor *bias, dync_tensor *running_mean, dync_tensor *running_var, bool training, double momentum, double eps) { return dync_batch_norm_at(input, weight, bias, running_mean, running_var, training, momentum, eps, dync__tls.at); }
DYNC__ENTRY_1TTOdddi(conv2d)

DYNC_API dync_tensor *dync_dropout_at(dync_tensor *self, double p, bool training, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(self), dync__arg_f(p), dync__arg_b(training)};
    return dync__op_call(DYNC__OP_dropout, 3, args, at);
}
DYNC_API dync_tensor *(dync_dropout)(dync_tensor *self, double p, bool training) { return dync_dropout_at(self, p, training, dync__tls.at); }
DYNC__ENTRY_1TT(embedding)

DYNC_API dync_tensor *dync_layer_norm_at(dync_tensor *input, dync_dims normalized_shape, dync_tensor *weight, dync_tensor *bias, double eps, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(input), dync__arg_dims(normalized_shape.n, normalized_shape.d), weight ? dync__arg_h(weight) : dync__arg_none(), bias ? dync__arg_h(bias) : dync__arg_none(), dync__arg_f(eps)};
    return dync__op_call(DYNC__OP_layer_norm, 5, args, at);
}
DYNC_API dync_tensor *(dync_layer_norm)(dync_tensor *input, dync_dims normalized_shape, dync_tensor *weight, dync_tensor *bias, double eps) { return dync_layer_norm_at(input, normalized_shape, weight, bias, eps, dync__tls.at); }

DYNC_API dync_tensor *dync_max_pool2d_at(dync_tensor *self, dync_dims kernel_size, dync_dims stride, dync_dims padding, dync_dims dilation, bool ceil_mode, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(self), dync__arg_dims(kernel_size.n, kernel_size.d), dync__arg_dims(stride.n, stride.d), dync__arg_dims(padding.n, padding.d), dync__arg_dims(dilation.n, dilation.d), dync__arg_b(ceil_mode)};
    return dync__op_call(DYNC__OP_max_pool2d, 6, args, at);
}
DYNC_API dync_tensor *(dync_max_pool2d)(dync_tensor *self, dync_dims kernel_size, dync_dims stride, dync_dims padding, dync_dims dilation, bool ceil_mode) { return dync_max_pool2d_at(self, kernel_size, stride, padding, dilation, ceil_mode, dync__tls.at); }

DYNC_API dync_value dync_max_pool2d_with_indices_at(dync_tensor *self, dync_dims kernel_size, dync_dims stride, dync_dims padding, dync_dims dilation, bool ceil_mode, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(self), dync__arg_dims(kernel_size.n, kernel_size.d), dync__arg_dims(stride.n, stride.d), dync__arg_dims(padding.n, padding.d), dync__arg_dims(dilation.n, dilation.d), dync__arg_b(ceil_mode)};
    return dync__op_call_list(DYNC__OP_max_pool2d_with_indices, 6, args, at);
}
DYNC_API dync_value (dync_max_pool2d_with_indices)(dync_tensor *self, dync_dims kernel_size, dync_dims stride, dync_dims padding, dync_dims dilation, bool ceil_mode) { return dync_max_pool2d_with_indices_at(self, kernel_size, stride, padding, dilation, ceil_mode, dync__tls.at); }
DYNC__ENTRY_1Tl(one_hot)
DYNC__ENTRY_1Tf(celu)
DYNC__ENTRY_1Ti(glu)
DYNC__ENTRY_1Tf(hardshrink)
DYNC__ENTRY_1T(hardsigmoid)
DYNC__ENTRY_1T(hardswish)
DYNC__ENTRY_1TT(prelu)
DYNC__ENTRY_1T(selu)
DYNC__ENTRY_1Ti(softmin)
DYNC__ENTRY_1Tf(softshrink)
DYNC__ENTRY_1T(softsign)
DYNC__ENTRY_1T(tanhshrink)

DYNC_API dync_tensor *dync_threshold_at(dync_tensor *self, double threshold, dync_value value, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(self), dync__arg_f(threshold), dync__arg_value(value)};
    return dync__op_call(DYNC__OP_threshold, 3, args, at);
}
DYNC_API dync_tensor *(dync_threshold)(dync_tensor *self, double threshold, dync_value value) { return dync_threshold_at(self, threshold, value, dync__tls.at); }
DYNC__ENTRY_1TTOdddi(conv1d)

DYNC_API dync_tensor *dync_conv_transpose2d_at(dync_tensor *input, dync_tensor *weight, dync_tensor *bias, dync_dims stride, dync_dims padding, dync_dims output_padding, int groups, dync_dims dilation, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(input), dync__arg_h(weight), bias ? dync__arg_h(bias) : dync__arg_none(), dync__arg_dims(stride.n, stride.d), dync__arg_dims(padding.n, padding.d), dync__arg_dims(output_padding.n, output_padding.d), dync__arg_i(groups), dync__arg_dims(dilation.n, dilation.d)};
    return dync__op_call(DYNC__OP_conv_transpose2d, 8, args, at);
}
DYNC_API dync_tensor *(dync_conv_transpose2d)(dync_tensor *input, dync_tensor *weight, dync_tensor *bias, dync_dims stride, dync_dims padding, dync_dims output_padding, int groups, dync_dims dilation) { return dync_conv_transpose2d_at(input, weight, bias, stride, padding, output_padding, groups, dilation, dync__tls.at); }

DYNC_API dync_tensor *dync_group_norm_at(dync_tensor *input, int64_t num_groups, dync_tensor *weight, dync_tensor *bias, double eps, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(input), dync__arg_i(num_groups), weight ? dync__arg_h(weight) : dync__arg_none(), bias ? dync__arg_h(bias) : dync__arg_none(), dync__arg_f(eps)};
    return dync__op_call(DYNC__OP_group_norm, 5, args, at);
}
DYNC_API dync_tensor *(dync_group_norm)(dync_tensor *input, int64_t num_groups, dync_tensor *weight, dync_tensor *bias, double eps) { return dync_group_norm_at(input, num_groups, weight, bias, eps, dync__tls.at); }

DYNC_API dync_tensor *dync_instance_norm_at(dync_tensor *input, dync_tensor *weight, dync_tensor *bias, double eps, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(input), weight ? dync__arg_h(weight) : dync__arg_none(), bias ? dync__arg_h(bias) : dync__arg_none(), dync__arg_f(eps)};
    return dync__op_call(DYNC__OP_instance_norm, 4, args, at);
}
DYNC_API dync_tensor *(dync_instance_norm)(dync_tensor *input, dync_tensor *weight, dync_tensor *bias, double eps) { return dync_instance_norm_at(input, weight, bias, eps, dync__tls.at); }

DYNC_API dync_tensor *dync_rms_norm_at(dync_tensor *input, dync_dims normalized_shape, dync_tensor *weight, dync_value eps, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(input), dync__arg_dims(normalized_shape.n, normalized_shape.d), weight ? dync__arg_h(weight) : dync__arg_none(), dync__arg_value(eps)};
    return dync__op_call(DYNC__OP_rms_norm, 4, args, at);
}
DYNC_API dync_tensor *(dync_rms_norm)(dync_tensor *input, dync_dims normalized_shape, dync_tensor *weight, dync_value eps) { return dync_rms_norm_at(input, normalized_shape, weight, eps, dync__tls.at); }

DYNC_API dync_tensor *dync_scaled_dot_product_attention_at(dync_tensor *query, dync_tensor *key, dync_tensor *value, dync_tensor *attn_mask, double dropout_p, bool is_causal, dync_value scale, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(query), dync__arg_h(key), dync__arg_h(value), attn_mask ? dync__arg_h(attn_mask) : dync__arg_none(), dync__arg_f(dropout_p), dync__arg_b(is_causal), dync__arg_value(scale)};
    return dync__op_call(DYNC__OP_scaled_dot_product_attention, 7, args, at);
}
DYNC_API dync_tensor *(dync_scaled_dot_product_attention)(dync_tensor *query, dync_tensor *key, dync_tensor *value, dync_tensor *attn_mask, double dropout_p, bool is_causal, dync_value scale) { return dync_scaled_dot_product_attention_at(query, key, value, attn_mask, dropout_p, is_causal, scale, dync__tls.at); }
DYNC__ENTRY_1Tl(pixel_shuffle)
DYNC__ENTRY_1Td(upsample_nearest2d)

DYNC_API dync_tensor *dync_pad_at(dync_tensor *self, dync_dims pad, dync_value value, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(self), dync__arg_dims(pad.n, pad.d), dync__arg_value(value)};
    return dync__op_call(DYNC__OP_pad, 3, args, at);
}
DYNC_API dync_tensor *(dync_pad)(dync_tensor *self, dync_dims pad, dync_value value) { return dync_pad_at(self, pad, value, dync__tls.at); }
DYNC__ENTRY_1Tdd(movedim)
DYNC__ENTRY_1Till(unfold)
DYNC__ENTRY_1TTf(huber_loss)

DYNC_API dync_tensor *dync_kl_div_at(dync_tensor *self, dync_tensor *target, bool log_target, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(self), dync__arg_h(target), dync__arg_b(log_target)};
    return dync__op_call(DYNC__OP_kl_div, 3, args, at);
}
DYNC_API dync_tensor *(dync_kl_div)(dync_tensor *self, dync_tensor *target, bool log_target) { return dync_kl_div_at(self, target, log_target, dync__tls.at); }
DYNC__ENTRY_1TT(binary_cross_entropy)
DYNC__ENTRY_1TT(binary_cross_entropy_with_logits)
DYNC__ENTRY_1TT(cross_entropy)
DYNC__ENTRY_1TT(l1_loss)
DYNC__ENTRY_1TT(mse_loss)
DYNC__ENTRY_1TT(nll_loss)
DYNC__ENTRY_1TTf(smooth_l1_loss)

DYNC_API dync_tensor *dync_as_strided_at(dync_tensor *self, dync_dims size, dync_dims stride, int64_t storage_offset, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(self), dync__arg_dims(size.n, size.d), dync__arg_dims(stride.n, stride.d), dync__arg_i(storage_offset)};
    return dync__op_call(DYNC__OP_as_strided, 4, args, at);
}
DYNC_API dync_tensor *(dync_as_strided)(dync_tensor *self, dync_dims size, dync_dims stride, int64_t storage_offset) { return dync_as_strided_at(self, size, stride, storage_offset, dync__tls.at); }
DYNC__ENTRY_1T(contiguous)

DYNC_API dync_tensor *dync_diagonal_at(dync_tensor *self, int offset, int dim1, int dim2, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(self), dync__arg_i(offset), dync__arg_i(dim1), dync__arg_i(dim2)};
    return dync__op_call(DYNC__OP_diagonal, 4, args, at);
}
DYNC_API dync_tensor *(dync_diagonal)(dync_tensor *self, int offset, int dim1, int dim2) { return dync_diagonal_at(self, offset, dim1, dim2, dync__tls.at); }
DYNC__ENTRY_1Td(expand)
DYNC__ENTRY_1TT(expand_as)
DYNC__ENTRY_1Tii(flatten)
DYNC__ENTRY_1Till(narrow)
DYNC__ENTRY_1Td(permute)
DYNC__ENTRY_1Td(reshape)

DYNC_API dync_tensor *dync_select_at(dync_tensor *self, int dim, int64_t index, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(self), dync__arg_i(dim), dync__arg_i(index)};
    return dync__op_call(DYNC__OP_select, 3, args, at);
}
DYNC_API dync_tensor *(dync_select)(dync_tensor *self, int dim, int64_t index) { return dync_select_at(self, dim, index, dync__tls.at); }

DYNC_API dync_tensor *dync_slice_at(dync_tensor *self, int dim, int64_t start, int64_t end, int64_t step, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(self), dync__arg_i(dim), dync__arg_i(start), dync__arg_i(end), dync__arg_i(step)};
    return dync__op_call(DYNC__OP_slice, 5, args, at);
}
DYNC_API dync_tensor *(dync_slice)(dync_tensor *self, int dim, int64_t start, int64_t end, int64_t step) { return dync_slice_at(self, dim, start, end, step, dync__tls.at); }
DYNC__ENTRY_1Ti(squeeze)
DYNC__ENTRY_1T(squeeze_all)
DYNC__ENTRY_1T(t)
DYNC__ENTRY_1Tii(transpose)

DYNC_API dync_tensor *dync_unflatten_at(dync_tensor *self, int dim, dync_dims sizes, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(self), dync__arg_i(dim), dync__arg_dims(sizes.n, sizes.d)};
    return dync__op_call(DYNC__OP_unflatten, 3, args, at);
}
DYNC_API dync_tensor *(dync_unflatten)(dync_tensor *self, int dim, dync_dims sizes) { return dync_unflatten_at(self, dim, sizes, dync__tls.at); }
DYNC__ENTRY_1Ti(unsqueeze)
DYNC__ENTRY_1Td(view)
DYNC__ENTRY_1TT(view_as)
DYNC__ENTRY_1Tib(argsort)
DYNC__ENTRY_1Li(cat)
DYNC__ENTRY_1T(clone)
DYNC__ENTRY_1Td(flip)
DYNC__ENTRY_1TiT(gather)
DYNC__ENTRY_1TiTT(index_add)
DYNC__ENTRY_1TiT(index_select)
DYNC__ENTRY_1TT(masked_select)
DYNC__ENTRY_1T(nonzero)
DYNC__ENTRY_1Td(repeat)
DYNC__ENTRY_1Tdd(roll)
DYNC__ENTRY_1TiTV(scatter)
DYNC__ENTRY_1TiTT(scatter_add)
DYNC__ENTRY_nTib(sort)
DYNC__ENTRY_1Li(stack)

DYNC_API dync_tensor *dync_take_along_dim_at(dync_tensor *self, dync_tensor *indices, int dim, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(self), dync__arg_h(indices), dync__arg_i(dim)};
    return dync__op_call(DYNC__OP_take_along_dim, 3, args, at);
}
DYNC_API dync_tensor *(dync_take_along_dim)(dync_tensor *self, dync_tensor *indices, int dim) { return dync_take_along_dim_at(self, indices, dim, dync__tls.at); }

DYNC_API dync_value dync_topk_at(dync_tensor *self, int64_t k, int dim, bool largest, bool sorted, dync_loc at)
{
    dync__arg args[] = {dync__arg_h(self), dync__arg_i(k), dync__arg_i(dim), dync__arg_b(largest), dync__arg_b(sorted)};
    return dync__op_call_list(DYNC__OP_topk, 5, args, at);
}
DYNC_API dync_value (dync_topk)(dync_tensor *self, int64_t k, int dim, bool largest, bool sorted) { return dync_topk_at(self, k, dim, largest, sorted, dync__tls.at); }
DYNC__ENTRY_1Ti(tril)
DYNC__ENTRY_1Ti(triu)
DYNC__ENTRY_1T(unique)
