/* codegen/x86_convert.c: verbs of comparisons and conversions as x86-64 instructions (x86_verbs.h).
 * After x86_arith.c, before x86_lanes.c.
 *
 * AVX2 converts no integers of 64 bits. What it does in their place is exact, or rounded once, for
 * every value: an integer is the sum of its upper 16 and lower 48 bits, each of which becomes a
 * double as the fraction of a number with a known exponent (magic numbers: Warren, Hacker's
 * Delight, chapter 17); a double is the sum of its upper and lower 32 bits as an integer. */
#include "../dync.in.h"
#include "x86_verbs.h"
DYNC__LEAN
#if DYNC__JIT

/* AVX2: the low halves of 64-bit lanes to 32-bit lanes. */
static void dync__xe_halves(dync__asm *a, int to, int x)
{
    int high = dync__xe_vector(a);
    dync__x_v(a, DYNC__X_EXTRACT128, 1, x, 0, dync__a_reg(high), 1, 0);
    dync__x_v(a, DYNC__X_SHUFPS, 0, to, x, dync__a_reg(high), 0x88, 0);
}

/* ---- comparisons ----------------------------------------------------------------------------- */

/* k: a mask register whose lanes alone are compared; 0: all. */
static void dync__xe_compare(dync__asm *a, dync__vt v, int op, int to, int x, dync__place y, int k)
{
    static const uint8_t floats[] = {DYNC__XC_LT, DYNC__XC_LE, DYNC__XC_EQ,  DYNC__XC_NE,
                                     DYNC__XC_GE, DYNC__XC_GT, DYNC__XC_ORD, DYNC__XC_UNORD};
    static const uint8_t ints[] = {1, 2, 0, 4, 5, 6};
    bool wide = dync__xe_wide(v.type);
    int vl = dync__xe_vl(a, v);
    if (dync__xe_float(v.type))
        dync__x_v(a, wide ? DYNC__X_CMPPD : DYNC__X_CMPPS, vl, to, x, y, floats[op], k);
    else if (a->t->n_masks)
        dync__x_v(a, wide ? DYNC__X_PCMPQ : DYNC__X_PCMPD, vl, to, x, y, ints[op], k);
    else if (op == DYNC__IF_EQ || op == DYNC__IF_NE)
        dync__x_v(a, wide ? DYNC__X_PCMPEQQ : DYNC__X_PCMPEQD, vl, to, x, y, 0, 0);
    else if (op == DYNC__IF_LT || op == DYNC__IF_GE)
        dync__x_v(a, wide ? DYNC__X_PCMPGTQ : DYNC__X_PCMPGTD, vl, to, y.reg, dync__a_reg(x), 0, 0);
    else
        dync__x_v(a, wide ? DYNC__X_PCMPGTQ : DYNC__X_PCMPGTD, vl, to, x, y, 0, 0);
}

/* AVX2 has no LE, NE and GE of integers: their opposites, complemented. */
static bool dync__xe_is_opposite(const dync__asm *a, int type, int op)
{
    return !a->t->n_masks && !dync__xe_float(type) &&
           (op == DYNC__IF_LE || op == DYNC__IF_NE || op == DYNC__IF_GE);
}
static void dync__xe_complement(dync__asm *a, int vl, int r)
{
    dync__x_v(a, DYNC__X_XORPS, vl, r, r, dync__a_constant(a, 0xff, 1), 0, 0);
}

DYNC__FN void dync__xe_compares(dync__asm *a, const dync__ins *i)
{
    static const uint8_t prims[] = {DYNC__IF_LT, DYNC__IF_LE, DYNC__IF_EQ, DYNC__IF_NE};
    int op = i->verb == DYNC__A_COMPARE_BOOL ? prims[i->op - DYNC__P_lt] : i->op, k = 0, m = i->to;
    bool opposite = dync__xe_is_opposite(a, i->v.type, op),
         narrow = i->verb == DYNC__A_COMPARE_BOOL;
    int vl = dync__xe_vl_as(a, i->v, narrow ? DYNC_BOOL : i->v.type);
    if (a->t->n_masks && i->verb == DYNC__A_COMPARE_PART) {
        k = dync__xe_mask(a);
        dync__x_k(a, DYNC__X_KMOVW, k, 0, dync__a_mem(DYNC__RSP, i->n), 0);
    }
    if (i->verb == DYNC__A_COMPARE_AND && a->t->n_masks)
        k = i->z;
    else if (i->verb == DYNC__A_COMPARE_AND)
        m = i->n;
    dync__xe_compare(a, i->v, op, m, i->x, i->y, k);
    if (narrow && !a->t->n_masks && dync__xe_wide(i->v.type)) dync__xe_halves(a, m, m);
    if (opposite) dync__xe_complement(a, vl, m);
    if (a->t->n_masks) return;
    if (i->verb == DYNC__A_COMPARE_AND) dync__xe_rrr(a, DYNC__X_ANDPS, vl, i->to, i->z, m);
    if (i->verb == DYNC__A_COMPARE_PART)
        dync__x_v(
            a, DYNC__X_ANDPS, vl, m, m,
            dync__a_mem(DYNC__RSP, i->n + (dync__xe_wide(i->v.type) ? DYNC__A_TAIL_BYTES : 0)), 0,
            0);
}

DYNC__FN void dync__xe_select(dync__asm *a, const dync__ins *i)
{
    bool wide = dync__xe_wide(i->v.type);
    int vl = dync__xe_vl(a, i->v);
    if (a->t->n_masks)
        dync__x_v(a, wide ? DYNC__X_BLENDMPD : DYNC__X_BLENDMPS, vl, i->to, i->x, i->y, 0, i->z);
    else
        dync__x_v(a, wide ? DYNC__X_BLENDVPD : DYNC__X_BLENDVPS, vl, i->to, i->x, i->y, i->z << 4,
                  0);
}

DYNC__FN void dync__xe_merge(dync__asm *a, const dync__ins *i)
{
    bool wide = dync__xe_wide(i->v.type);
    int vl = dync__xe_vl(a, i->v);
    if (a->t->n_masks)
        dync__x_v(a, wide ? DYNC__X_MOVUPD : DYNC__X_MOVUPS, vl, i->to, 0, i->y, 0, i->z);
    else
        dync__x_v(a, wide ? DYNC__X_BLENDVPD : DYNC__X_BLENDVPS, vl, i->to, i->to, i->y, i->z << 4,
                  0);
}

/* BOOL to a number: one where it holds. */
static void dync__xe_from_bool(dync__asm *a, const dync__ins *i)
{
    bool wide = dync__xe_wide(i->v.type);
    int vl = dync__xe_vl(a, i->v), m = i->y.reg;
    dync__place one = dync__xe_const(a, i->v.type, 1, 1);
    if (a->t->n_masks) {
        dync__x_v(a, wide ? DYNC__X_MOVUPD : DYNC__X_MOVUPS, vl, i->to, 0, one, 0,
                  m | DYNC__X_ZERO);
        return;
    }
    if (wide) {
        dync__x_v(a, DYNC__X_PMOVSXDQ, vl, i->to, 0, dync__a_reg(m), 0, 0);
        m = i->to;
    }
    dync__x_v(a, DYNC__X_ANDPS, vl, i->to, m, one, 0, 0);
}

static void dync__xe_to_bool(dync__asm *a, const dync__ins *i)
{
    dync__vt from = dync__vt_of(i->n, i->v.lanes);
    dync__xe_compare(a, from, DYNC__IF_NE, i->to, i->y.reg, dync__a_constant(a, 0, 8), 0);
    if (a->t->n_masks) return;
    if (dync__xe_wide(i->n)) dync__xe_halves(a, i->to, i->to);
    if (!dync__xe_float(i->n)) dync__xe_complement(a, dync__xe_vl(a, i->v), i->to);
}

/* Float to integer: what is too large or NaN comes as the least integer, which is right for what
 * is too small. */
static void dync__xe_to_int(dync__asm *a, const dync__ins *i)
{
    int from = i->n, x = i->y.reg, r = i->to;
    bool wide = dync__xe_wide(from), to_wide = i->v.type == DYNC_I64;
    int vl = dync__xe_vl_as(a, i->v, from), to_vl = dync__xe_vl(a, i->v);
    int insn = to_wide ? (wide ? DYNC__X_CVTTPD2QQ : DYNC__X_CVTTPS2QQ)
               : wide  ? DYNC__X_CVTTPD2DQ
                       : DYNC__X_CVTTPS2DQ;
    int compare = wide ? DYNC__X_CMPPD : DYNC__X_CMPPS,
        move = to_wide ? DYNC__X_MOVUPD : DYNC__X_MOVUPS;
    dync__place limit = dync__xe_const(a, from, to_wide ? 9223372036854775808.0 : 2147483648.0, 0);
    dync__place greatest = dync__xe_const(a, i->v.type, 0, to_wide ? INT64_MAX : INT32_MAX);
    dync__x_v(a, insn, DYNC__MAX(vl, to_vl), r, 0, dync__a_reg(x), 0, 0);
    int m = dync__xe_mask(a);
    dync__x_v(a, compare, vl, m, x, limit, DYNC__XC_GE, 0);
    if (a->t->n_masks) {
        dync__x_v(a, move, to_vl, r, 0, greatest, 0, m);
        dync__x_v(a, compare, vl, m, x, dync__a_reg(x), DYNC__XC_ORD, 0);
        dync__x_v(a, move, to_vl, r, 0, dync__a_reg(r), 0, m | DYNC__X_ZERO);
        return;
    }
    if (wide) dync__xe_halves(a, m, m);
    dync__x_v(a, DYNC__X_BLENDVPS, to_vl, r, r, greatest, m << 4, 0);
    dync__x_v(a, compare, vl, m, x, dync__a_reg(x), DYNC__XC_ORD, 0);
    if (wide) dync__xe_halves(a, m, m);
    dync__xe_rrr(a, DYNC__X_ANDPS, to_vl, r, r, m);
}

/* ---- integers of 64 bits under AVX2 ---------------------------------------------------------- */

/* to = x as doubles; t: scratch, not x. The upper 16 bits stand in the fraction of 3 * 2^67, the
 * lower 48 in that of 2^52; one addition rounds. */
static void dync__xe_long_to_f64(dync__asm *a, int vl, int to, int x, int t)
{
    dync__place upper = dync__a_constant(a, UINT64_C(0xffffffff00000000), 8),
                lower = dync__a_constant(a, UINT64_C(0xffffffffffff), 8);
    dync__x_v(a, DYNC__X_PSRAD, vl, 0, t, dync__a_reg(x), 16, 0);
    dync__x_v(a, DYNC__X_ANDPS, vl, t, t, upper, 0, 0);
    dync__x_v(a, DYNC__X_ANDPS, vl, to, x, lower, 0, 0);
    dync__x_v(a, DYNC__X_PADDQ, vl, t, t, dync__a_constant(a, UINT64_C(0x4438000000000000), 8), 0,
              0);
    dync__x_v(a, DYNC__X_ORPS, vl, to, to, dync__a_constant(a, UINT64_C(0x4330000000000000), 8), 0,
              0);
    /* 3 * 2^67 + 2^52 */
    dync__x_v(a, DYNC__X_SUBPD, vl, t, t, dync__a_constant(a, UINT64_C(0x4438001000000000), 8), 0,
              0);
    dync__xe_rrr(a, DYNC__X_ADDPD, vl, to, t, to);
}

/* A float is rounded twice on its way through a double. Where a double is not exact the lowest 10
 * bits are first folded into bit 10 (rounding to odd: Boldo and Melquiond 2008). */
static void dync__xe_long_to_f32(dync__asm *a, int vl, int to, int x)
{
    int folded = dync__xe_vector(a), m = dync__xe_vector(a);
    dync__place low = dync__a_constant(a, 0x3ff, 8);
    dync__x_v(a, DYNC__X_ANDPS, vl, folded, x, low, 0, 0);
    dync__x_v(a, DYNC__X_PADDQ, vl, folded, folded, low, 0, 0);
    dync__xe_rrr(a, DYNC__X_ORPS, vl, folded, folded, x);
    dync__x_v(a, DYNC__X_ANDPS, vl, folded, folded, dync__a_constant(a, ~UINT64_C(0x3ff), 8), 0, 0);
    dync__x_v(a, DYNC__X_MOVUPS, vl, to, 0, dync__a_constant(a, ~(UINT64_C(1) << 53) + 1, 8), 0, 0);
    dync__xe_rrr(a, DYNC__X_PCMPGTQ, vl, to, to, x);
    dync__x_v(a, DYNC__X_PCMPGTQ, vl, m, x, dync__a_constant(a, UINT64_C(1) << 53, 8), 0, 0);
    dync__xe_rrr(a, DYNC__X_ORPS, vl, m, m, to);
    dync__x_v(a, DYNC__X_BLENDVPD, vl, folded, x, dync__a_reg(folded), m << 4, 0);
    dync__xe_long_to_f64(a, vl, to, folded, m);
    dync__x_v(a, DYNC__X_CVTPD2PS, vl, to, 0, dync__a_reg(to), 0, 0);
}

/* What is too small becomes the least before it is cut in two, what is too large or NaN is put
 * right at the end. */
static void dync__xe_f64_to_long(dync__asm *a, int vl, int to, int x)
{
    int t = dync__xe_vector(a), m = dync__xe_vector(a);
    dync__place magic = dync__a_constant(a, UINT64_C(0x4330000000000000), 8); /* 2^52 */
    dync__x_v(a, DYNC__X_ROUNDPD, vl, t, 0, dync__a_reg(x), 11, 0);
    dync__x_v(a, DYNC__X_MAXPD, vl, t, t, dync__xe_const(a, DYNC_F64, -9223372036854775808.0, 0), 0,
              0);
    dync__x_v(a, DYNC__X_MULPD, vl, to, t, dync__xe_const(a, DYNC_F64, 1 / 4294967296.0, 0), 0, 0);
    dync__x_v(a, DYNC__X_ROUNDPD, vl, to, 0, dync__a_reg(to), 9, 0);
    dync__x_v(a, DYNC__X_MULPD, vl, m, to, dync__xe_const(a, DYNC_F64, 4294967296.0, 0), 0, 0);
    dync__xe_rrr(a, DYNC__X_SUBPD, vl, t, t, m);
    dync__x_v(a, DYNC__X_ADDPD, vl, t, t, magic, 0, 0);
    dync__x_v(a, DYNC__X_XORPS, vl, t, t, magic, 0, 0);
    dync__x_v(a, DYNC__X_CVTTPD2DQ, vl, to, 0, dync__a_reg(to), 0, 0);
    dync__x_v(a, DYNC__X_PMOVSXDQ, vl, to, 0, dync__a_reg(to), 0, 0);
    dync__x_v(a, DYNC__X_PSLLQ, vl, 0, to, dync__a_reg(to), 32, 0);
    dync__xe_rrr(a, DYNC__X_PADDQ, vl, to, to, t);
    dync__x_v(a, DYNC__X_CMPPD, vl, m, x, dync__xe_const(a, DYNC_F64, 9223372036854775808.0, 0),
              DYNC__XC_GE, 0);
    dync__x_v(a, DYNC__X_BLENDVPD, vl, to, to, dync__a_constant(a, INT64_MAX, 8), m << 4, 0);
    dync__x_v(a, DYNC__X_CMPPD, vl, m, x, dync__a_reg(x), DYNC__XC_ORD, 0);
    dync__xe_rrr(a, DYNC__X_ANDPS, vl, to, to, m);
}

static void dync__xe_convert_long(dync__asm *a, const dync__ins *i)
{
    int vl = dync__xe_vl_bytes(i->v.lanes * 8), x = i->y.reg;
    if (i->v.type == DYNC_F64) {
        dync__xe_long_to_f64(a, vl, i->to, x, dync__xe_vector(a));
    } else if (i->v.type == DYNC_F32) {
        dync__xe_long_to_f32(a, vl, i->to, x);
    } else {
        if (i->n == DYNC_F32) {
            x = dync__xe_vector(a);
            dync__x_v(a, DYNC__X_CVTPS2PD, vl, x, 0, i->y, 0, 0);
        }
        dync__xe_f64_to_long(a, vl, i->to, x);
    }
}

/* ---- every conversion ------------------------------------------------------------------------ */

DYNC__FN void dync__xe_convert(dync__asm *a, const dync__ins *i)
{
    int from = i->n, to = i->v.type, vl = dync__xe_vl_bytes(i->v.lanes * 8), insn;
    if (from == DYNC_BOOL) {
        dync__xe_from_bool(a, i);
        return;
    }
    if (to == DYNC_BOOL) {
        dync__xe_to_bool(a, i);
        return;
    }
    if (a->t->level < 2 && dync__xe_is_long(from, to)) {
        dync__xe_convert_long(a, i);
        return;
    }
    if (dync__xe_float(from) && !dync__xe_float(to)) {
        dync__xe_to_int(a, i);
        return;
    }
    if (from == DYNC_I64 && to == DYNC_I32) {
        if (!a->t->n_masks)
            dync__xe_halves(a, i->to, i->y.reg);
        else
            dync__x_v(a, DYNC__X_PMOVQD, dync__xe_vl_as(a, i->v, DYNC_I64), i->y.reg, 0,
                      dync__a_reg(i->to), 0, 0);
        return;
    }
    if (from == DYNC_I32) {
        insn = to == DYNC_F32   ? DYNC__X_CVTDQ2PS
               : to == DYNC_F64 ? DYNC__X_CVTDQ2PD
                                : DYNC__X_PMOVSXDQ;
        vl = dync__xe_vl(a, i->v);
    } else if (from == DYNC_I64) {
        insn = to == DYNC_F32 ? DYNC__X_CVTQQ2PS : DYNC__X_CVTQQ2PD;
    } else {
        insn = to == DYNC_F64 ? DYNC__X_CVTPS2PD : DYNC__X_CVTPD2PS;
    }
    dync__x_v(a, insn, vl, i->to, 0, i->y, 0, 0);
}

#endif
