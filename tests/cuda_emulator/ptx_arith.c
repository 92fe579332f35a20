/* tests/cuda_emulator/ptx_arith.c: what one thread computes: numbers of every type, comparisons,
 * conversions, arithmetic, bits, moves. */
#include "ptx_run.h"
#include <math.h>
#include <string.h>

/* ---- numbers --------------------------------------------------------------------------------- */
float as_f32(uint64_t u)
{
    uint32_t w = (uint32_t)u;
    float f;
    memcpy(&f, &w, 4);
    return f;
}
uint64_t of_f32(float f)
{
    uint32_t w;
    memcpy(&w, &f, 4);
    return w;
}
double as_f64(uint64_t u)
{
    double d;
    memcpy(&d, &u, 8);
    return d;
}
uint64_t of_f64(double d)
{
    uint64_t u;
    memcpy(&u, &d, 8);
    return u;
}
float half_value(uint16_t h)
{
    int e = h >> 10 & 31, m = h & 1023;
    float v = e == 31 ? (m ? NAN : INFINITY)
              : e     ? ldexpf((float)(m + 1024), e - 25)
                      : ldexpf((float)m, -24);
    return h & 0x8000 ? -v : v;
}
static uint16_t half_of(float f)
{
    uint16_t sign = (uint16_t)(signbit(f) ? 0x8000 : 0);
    float a = fabsf(f);
    if (isnan(f)) return 0x7fff;
    if (a >= 65520.0f) return (uint16_t)(sign | 0x7c00);
    if (a < 6.103515625e-05f) return (uint16_t)(sign | (uint16_t)rintf(ldexpf(a, 24)));
    int e;
    float m = frexpf(a, &e); /* m in [0.5, 1) */
    /* (e + 14) * 1024 + mantissa - 1024 */
    return (uint16_t)(sign | (uint16_t)((e + 13) * 1024 + (int)rintf(ldexpf(m, 11))));
}
float bf16_value(uint16_t h) { return as_f32((uint64_t)h << 16); }
static uint16_t bf16_of(float f)
{
    uint32_t u = (uint32_t)of_f32(f);
    if (isnan(f)) return 0x7fff;
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
int type_bytes(ptx_type t)
{
    if (t == T_B8 || t == T_U8 || t == T_S8) return 1;
    if (t == T_B16 || t == T_U16 || t == T_S16 || t == T_F16 || t == T_BF16) return 2;
    if (t == T_B64 || t == T_U64 || t == T_S64 || t == T_F64) return 8;
    return t == T_B128 ? 16 : 4;
}
bool is_signed(ptx_type t) { return t == T_S8 || t == T_S16 || t == T_S32 || t == T_S64; }
static uint64_t cut(uint64_t u, int bytes)
{
    return bytes >= 8 ? u : u & (((uint64_t)1 << (8 * bytes)) - 1);
}
int64_t extend(uint64_t u, int bytes)
{
    return bytes == 1 ? (int8_t)u : bytes == 2 ? (int16_t)u : bytes == 4 ? (int32_t)u : (int64_t)u;
}

/* ---- arithmetic ------------------------------------------------------------------------------ */
static bool compare_float(double a, double b, int mode)
{
    bool nan = isnan(a) || isnan(b);
    switch (mode) {
    case M_EQ: return a == b;
    case M_NE: return !nan && a != b;
    case M_LT: return a < b;
    case M_LE: return a <= b;
    case M_GT: return a > b;
    case M_GE: return a >= b;
    case M_EQU: return nan || a == b;
    case M_NEU: return nan || a != b;
    case M_LTU: return nan || a < b;
    case M_LEU: return nan || a <= b;
    case M_GTU: return nan || a > b;
    case M_GEU: return nan || a >= b;
    case M_NUM: return !nan;
    default: return nan;
    }
}
static bool compare_int(uint64_t a, uint64_t b, const ptx_inst *in)
{
    int bytes = type_bytes(in->type);
    if (is_signed(in->type)) {
        int64_t x = extend(a, bytes), y = extend(b, bytes);
        return in->mode == M_EQ   ? x == y
               : in->mode == M_NE ? x != y
               : in->mode == M_LT ? x < y
               : in->mode == M_LE ? x <= y
               : in->mode == M_GT ? x > y
                                  : x >= y;
    }
    a = cut(a, bytes);
    b = cut(b, bytes);
    return in->mode == M_EQ   ? a == b
           : in->mode == M_NE ? a != b
           : in->mode == M_LT ? a < b
           : in->mode == M_LE ? a <= b
           : in->mode == M_GT ? a > b
                              : a >= b;
}
void set_predicate(machine *m, const ptx_inst *in)
{
    uint64_t a = get(m, &in->o[1]), b = get(m, &in->o[2]);
    bool p = in->type == T_F32   ? compare_float((double)as_f32(a), (double)as_f32(b), in->mode)
             : in->type == T_F64 ? compare_float(as_f64(a), as_f64(b), in->mode)
                                 : compare_int(a, b, in);
    bool with = in->mode2 && get(m, &in->o[3]);
    set(m, &in->o[0],
        in->mode2 == 1   ? p && with
        : in->mode2 == 2 ? p || with
        : in->mode2 == 3 ? p != with
                         : p);
}
static double round_to_integer(double x, int mode)
{
    return mode == M_RNI || mode == M_RN ? rint(x)
           : mode == M_RMI               ? floor(x)
           : mode == M_RPI               ? ceil(x)
                                         : trunc(x);
}
static uint64_t to_integer(double x, ptx_type t)
{
    if (isnan(x)) return t == T_S64 ? (uint64_t)1 << 63 : 0;
    switch (t) {
    case T_S64:
        return x >= 9223372036854775808.0   ? INT64_MAX
               : x < -9223372036854775808.0 ? (uint64_t)INT64_MIN
                                            : (uint64_t)(int64_t)x;
    case T_U64: return x >= 18446744073709551616.0 ? UINT64_MAX : x <= 0 ? 0 : (uint64_t)x;
    case T_U32: return x >= 4294967295.0 ? 0xffffffffu : x <= 0 ? 0 : (uint32_t)x;
    default:
        return (uint32_t)(x >= 2147483647.0    ? INT32_MAX
                          : x <= -2147483648.0 ? INT32_MIN
                                               : (int32_t)x);
    }
}
void convert(machine *m, const ptx_inst *in)
{
    ptx_type to = in->type2, from = in->type;
    uint64_t u = get(m, &in->o[1]), out;
    if (to == T_F16X2 || to == T_BF16X2) { /* high half, low half */
        float high = as_f32(u), low = as_f32(get(m, &in->o[2]));
        out = to == T_F16X2 ? (uint64_t)half_of(high) << 16 | half_of(low)
                            : (uint64_t)bf16_of(high) << 16 | bf16_of(low);
        set(m, &in->o[0], out);
        return;
    }
    bool from_float = from == T_F32 || from == T_F64 || from == T_F16 || from == T_BF16,
         to_float = to == T_F32 || to == T_F64 || to == T_F16 || to == T_BF16 || to == T_TF32;
    if (!from_float && !to_float) {
        int bytes = type_bytes(from);
        out = is_signed(from) ? (uint64_t)extend(u, bytes) : cut(u, bytes);
        set(m, &in->o[0], cut(out, type_bytes(to) < 4 ? 4 : type_bytes(to)));
        if (type_bytes(to) < 4) set(m, &in->o[0], cut(out, type_bytes(to)));
        return;
    }
    if (!from_float) {
        int bytes = type_bytes(from);
        if (to == T_F64)
            out = of_f64(is_signed(from) ? (double)extend(u, bytes) : (double)cut(u, bytes));
        else
            out = of_f32(is_signed(from) ? (float)extend(u, bytes) : (float)cut(u, bytes));
        set(m, &in->o[0], out);
        return;
    }
    double x = from == T_F64    ? as_f64(u)
               : from == T_F16  ? (double)half_value((uint16_t)u)
               : from == T_BF16 ? (double)bf16_value((uint16_t)u)
                                : (double)as_f32(u);
    if (!to_float)
        out = to_integer(round_to_integer(x, in->mode), to);
    else if (to == T_TF32)
        out = of_f32((float)x), out = (out + 0x1000) & ~(uint64_t)0x1fff;
    else {
        if (in->mode >= M_RNI && in->mode <= M_RPI) x = round_to_integer(x, in->mode);
        out = to == T_F64   ? of_f64(x)
              : to == T_F32 ? of_f32((float)x)
              : to == T_F16 ? half_of((float)x)
                            : bf16_of((float)x);
    }
    set(m, &in->o[0], out);
}
void arithmetic(machine *m, const ptx_inst *in)
{
    uint64_t a = get(m, &in->o[1]), b = in->n > 2 ? get(m, &in->o[2]) : 0,
             c = in->n > 3 ? get(m, &in->o[3]) : 0, v = 0;
    int bytes = type_bytes(in->type);
    /* sums and products of halves: the same bits by way of f32 */
    if (in->type == T_F16X2 || in->type == T_BF16X2) {
        bool bf = in->type == T_BF16X2;
        for (int e = 0; e < 2; e++) {
            uint16_t h[3] = {(uint16_t)(a >> 16 * e), (uint16_t)(b >> 16 * e),
                             (uint16_t)(c >> 16 * e)};
            float f[3], r = 0;
            for (int k = 0; k < 3; k++) f[k] = bf ? bf16_value(h[k]) : half_value(h[k]);
            switch (in->op) {
            case OP_add: r = f[0] + f[1]; break;
            case OP_sub: r = f[0] - f[1]; break;
            case OP_mul: r = f[0] * f[1]; break;
            case OP_fma: r = fmaf(f[0], f[1], f[2]); break;
            default: fault(m, CUEMU_LAUNCH_FAILURE, in, "no such instruction on pairs", 0, 0);
            }
            if (bf && in->op != OP_fma)
                fault(m, CUEMU_LAUNCH_FAILURE, in, "bf16x2 has fma alone before sm_90", 0, 0);
            v |= (uint64_t)(bf ? bf16_of(r) : half_of(r)) << 16 * e;
        }
        set(m, &in->o[0], v);
        return;
    }
    if (in->type == T_F32) {
        float x = as_f32(a), y = as_f32(b), z = as_f32(c), r = 0;
        switch (in->op) {
        case OP_add: r = x + y; break;
        case OP_sub: r = x - y; break;
        case OP_mul: r = x * y; break;
        case OP_div: r = x / y; break;
        case OP_fma: r = fmaf(x, y, z); break;
        case OP_sqrt: r = sqrtf(x); break;
        case OP_neg: r = -x; break;
        case OP_abs: r = fabsf(x); break;
        case OP_ex2: r = exp2f(x); break;
        case OP_rcp: r = 1.0f / x; break;
        case OP_lg2: r = log2f(x); break;
        case OP_max: r = isnan(x) ? y : isnan(y) ? x : x > y ? x : y; break;
        case OP_min: r = isnan(x) ? y : isnan(y) ? x : x < y ? x : y; break;
        default: fault(m, CUEMU_LAUNCH_FAILURE, in, "no such f32 instruction", 0, 0);
        }
        v = of_f32(r);
    } else if (in->type == T_F64) {
        double x = as_f64(a), y = as_f64(b), z = as_f64(c), r = 0;
        switch (in->op) {
        case OP_add: r = x + y; break;
        case OP_sub: r = x - y; break;
        case OP_mul: r = x * y; break;
        case OP_div: r = x / y; break;
        case OP_fma: r = fma(x, y, z); break;
        case OP_sqrt: r = sqrt(x); break;
        case OP_neg: r = -x; break;
        case OP_abs: r = fabs(x); break;
        default: fault(m, CUEMU_LAUNCH_FAILURE, in, "no such f64 instruction", 0, 0);
        }
        v = of_f64(r);
    } else {
        bool s = is_signed(in->type);
        int64_t x = extend(a, bytes), y = extend(b, bytes);
        uint64_t ux = cut(a, bytes), uy = cut(b, bytes);
        switch (in->op) {
        case OP_add: v = a + b; break;
        case OP_sub: v = a - b; break;
        case OP_mul:
        case OP_mad:
            if (in->mode == M_WIDE)
                v = s ? (uint64_t)(x * y) : ux * uy;
            else if (in->mode == M_HI)
                v = s ? (uint64_t)((x * y) >> 32) : (ux * uy) >> 32;
            else
                v = a * b;
            if (in->op == OP_mad) v += c;
            break;
        case OP_div:
            v = uy == 0 ? UINT64_MAX
                : s     ? (y == -1 ? (uint64_t)0 - (uint64_t)x : (uint64_t)(x / y))
                        : ux / uy;
            break;
        case OP_rem: v = uy == 0 ? a : s ? (y == -1 ? 0 : (uint64_t)(x % y)) : ux % uy; break;
        case OP_min: v = s ? (uint64_t)(x < y ? x : y) : ux < uy ? ux : uy; break;
        case OP_max: v = s ? (uint64_t)(x > y ? x : y) : ux > uy ? ux : uy; break;
        case OP_neg: v = (uint64_t)0 - a; break;
        case OP_abs: v = x < 0 ? (uint64_t)0 - (uint64_t)x : (uint64_t)x; break;
        default: fault(m, CUEMU_LAUNCH_FAILURE, in, "no such integer instruction", 0, 0);
        }
        v = cut(v, in->mode == M_WIDE ? 8 : bytes);
    }
    set(m, &in->o[0], v);
}
void bits(machine *m, const ptx_inst *in)
{
    uint64_t a = get(m, &in->o[1]), b = in->n > 2 ? get(m, &in->o[2]) : 0, v = 0;
    int bytes = in->type == T_PRED ? 1 : type_bytes(in->type);
    switch (in->op) {
    case OP_and: v = a & b; break;
    case OP_or: v = a | b; break;
    case OP_xor: v = a ^ b; break;
    case OP_not: v = in->type == T_PRED ? !a : ~a; break;
    case OP_shl:
        b = (uint32_t)b;
        v = b >= (unsigned)bytes * 8 ? 0 : a << b;
        break;
    case OP_shr:
        b = (uint32_t)b;
        if (is_signed(in->type))
            v = (uint64_t)(extend(a, bytes) >>
                           (b > (unsigned)bytes * 8 - 1 ? (unsigned)bytes * 8 - 1 : b));
        else
            v = b >= (unsigned)bytes * 8 ? 0 : cut(a, bytes) >> b;
        break;
    case OP_bfe: {
        unsigned from = (unsigned)b & 255, len = (unsigned)get(m, &in->o[3]) & 255;
        v = len == 0 ? 0 : cut(a, bytes) >> from;
        if (len < (unsigned)bytes * 8) {
            v &= ((uint64_t)1 << len) - 1;
            if (is_signed(in->type) && len && v >> (len - 1) & 1) v |= ~(((uint64_t)1 << len) - 1);
        }
        break;
    }
    case OP_prmt: /* byte i is byte (selector >> 4 i & 7) of a, b */
        for (unsigned i = 0, s = (unsigned)get(m, &in->o[3]); i < 4; i++)
            v |= ((cut(a, 4) | b << 32) >> (s >> 4 * i & 7) * 8 & 255) << 8 * i;
        break;
    default: { /* bfi d, insert, into, from, length */
        unsigned from = (unsigned)get(m, &in->o[3]) & 255, len = (unsigned)get(m, &in->o[4]) & 255;
        uint64_t mask = (len >= 64 ? UINT64_MAX : ((uint64_t)1 << len) - 1) << from;
        v = (b & ~mask) | ((a << from) & mask);
    }
    }
    set(m, &in->o[0], cut(v, bytes));
}
void move(machine *m, const ptx_inst *in)
{
    const ptx_operand *to = &in->o[0], *from = &in->o[1];
    int bytes = type_bytes(in->type);
    if (to->kind == O_LIST) {
        uint64_t v = get(m, from);
        int each = bytes / to->n;
        for (int k = 0; k < to->n; k++)
            m->t[m->me].reg[to->list[k]] = cut(v >> (8 * each * k), each);
    } else if (from->kind == O_LIST) {
        uint64_t v = 0;
        int each = bytes / from->n;
        for (int k = 0; k < from->n; k++)
            v |=
                cut(from->list_is_imm[k] ? from->list_imm[k] : m->t[m->me].reg[from->list[k]], each)
                << (8 * each * k);
        set(m, to, v);
    } else {
        set(m, to, in->type == T_PRED ? get(m, from) : cut(get(m, from), bytes));
    }
}
