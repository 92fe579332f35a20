/* codegen/x86_lanes.c: verbs of masks, conversions and between lanes as x86-64 instructions
 * (x86_verbs.h). After x86_arith.c. */
#include "../dync.in.h"
#include "x86_verbs.h"
DYNC__LEAN
#if DYNC__JIT

/* ---- comparisons and conversions ------------------------------------------------------------- */

/* AVX2: the low halves of 64-bit lanes to 32-bit lanes. */
static void dync__xe_halves(dync__asm *a, int to, int x)
{
    int high = dync__xe_vector(a);
    dync__x_v(a, DYNC__X_EXTRACT128, 1, x, 0, dync__a_reg(high), 1, 0);
    dync__x_v(a, DYNC__X_SHUFPS, 0, to, x, dync__a_reg(high), 0x88, 0);
}

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

static void dync__xe_compares(dync__asm *a, const dync__ins *i)
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

static void dync__xe_select(dync__asm *a, const dync__ins *i)
{
    bool wide = dync__xe_wide(i->v.type);
    int vl = dync__xe_vl(a, i->v);
    if (a->t->n_masks)
        dync__x_v(a, wide ? DYNC__X_BLENDMPD : DYNC__X_BLENDMPS, vl, i->to, i->x, i->y, 0, i->z);
    else
        dync__x_v(a, wide ? DYNC__X_BLENDVPD : DYNC__X_BLENDVPS, vl, i->to, i->x, i->y, i->z << 4,
                  0);
}

static void dync__xe_merge(dync__asm *a, const dync__ins *i)
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

static void dync__xe_convert(dync__asm *a, const dync__ins *i)
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

static void dync__xe_mask_from(dync__asm *a, const dync__ins *i)
{
    if (a->t->n_masks) {
        dync__x_k(a, DYNC__X_KMOVW_KG, i->to, 0, dync__a_reg(i->x), 0);
        return;
    }
    dync__x_v(a, DYNC__X_MOVD, 0, i->to, 0, dync__a_reg(i->x), 0, 0);
    dync__x_v(a, DYNC__X_BROADCASTD, dync__xe_vl_bytes(i->v.lanes * 4), i->to, 0,
              dync__a_reg(i->to), 0, 0);
}

static void dync__xe_mask_set(dync__asm *a, const dync__ins *i)
{
    if (a->t->n_masks)
        dync__x_k(a, i->n ? DYNC__X_KXNORW : DYNC__X_KXORW, i->to, i->to, dync__a_reg(i->to), 0);
    else
        dync__x_v(a, DYNC__X_MOVUPS, dync__xe_vl(a, i->v), i->to, 0,
                  dync__a_constant(a, i->n ? 0xff : 0, 1), 0, 0);
}

/* ---- between lanes --------------------------------------------------------------------------- */

static void dync__xe_down(dync__asm *a, const dync__ins *i)
{
    int bytes = i->n * dync__dtype_info(i->v.type)->bytes;
    if (bytes == 8)
        dync__xe_rrr(a, DYNC__X_MOVHLPS, 0, i->to, i->x, i->x);
    else
        dync__x_v(a, DYNC__X_PSHUFD, 0, i->to, 0, dync__a_reg(i->x), bytes / 4, 0);
}

static void dync__xe_half(dync__asm *a, const dync__ins *i)
{
    int vl = dync__xe_vl(a, i->v);
    dync__x_v(a, vl == 2 ? DYNC__X_EXTRACT256 : DYNC__X_EXTRACT128, vl, i->x, 0, dync__a_reg(i->to),
              1, 0);
}

static void dync__xe_join(dync__asm *a, const dync__ins *i)
{
    dync__x_v(a, i->m == 32 ? DYNC__X_INSERT256 : DYNC__X_INSERT128, dync__xe_vl(a, i->v), i->to,
              i->x, i->y, i->n, 0);
}

/* 8-byte lanes of whole vectors; AVX2: by 1 or 2. */
static void dync__xe_up(dync__asm *a, const dync__ins *i)
{
    if (a->t->level == 2) {
        dync__xe_rrr(a, DYNC__X_XORPS, 2, i->to, i->to, i->to);
        dync__x_v(a, DYNC__X_ALIGNQ, 2, i->to, i->x, dync__a_reg(i->to), 8 - i->n, 0);
        return;
    }
    dync__x_v(a, DYNC__X_PERM128, 1, i->to, i->z < 0 ? i->x : i->z, dync__a_reg(i->x),
              i->z < 0 ? 0x08 : 0x21, 0);
    if (i->n == 1) dync__x_v(a, DYNC__X_SHUFPD, 1, i->to, i->to, dync__a_reg(i->x), 5, 0);
}

static void dync__xe_reverse(dync__asm *a, const dync__ins *i)
{
    int vl = dync__xe_vl(a, i->v), words = dync__xe_wide(i->v.type) ? 2 : 1, V = i->v.lanes;
    int32_t index[16] = {0};
    if (vl == 0) {
        dync__x_v(a, DYNC__X_PSHUFD, 0, i->to, 0, dync__a_reg(i->to), 0x1b, 0);
        return;
    }
    for (int l = 0; l < V * words; l++) index[l] = (V - 1 - l / words) * words + l % words;
    int at = dync__xe_vector(a);
    dync__x_v(a, DYNC__X_MOVUPS, vl, at, 0, dync__a_constant64(a, index), 0, 0);
    dync__xe_rrr(a, DYNC__X_PERMPS, vl, i->to, at, i->to);
}

static void dync__xe_zip(dync__asm *a, const dync__ins *i)
{
    static const int insns[][2] = {{0, 0},
                                   {DYNC__X_PUNPCKLBW, DYNC__X_PUNPCKHBW},
                                   {DYNC__X_PUNPCKLWD, DYNC__X_PUNPCKHWD},
                                   {0, 0},
                                   {DYNC__X_PUNPCKLDQ, DYNC__X_PUNPCKHDQ},
                                   {0, 0},
                                   {0, 0},
                                   {0, 0},
                                   {DYNC__X_PUNPCKLQDQ, DYNC__X_PUNPCKHQDQ}};
    dync__x_v(a, insns[dync__dtype_info(i->v.type)->bytes][i->n], dync__xe_vl(a, i->v), i->to, i->x,
              i->y, 0, 0);
}

/* ---- which is which -------------------------------------------------------------------------- */

DYNC__FN void dync__xe_vectors(dync__asm *a, const dync__ins *i)
{
    bool wide = dync__xe_wide(i->v.type);
    int vl = dync__xe_vl(a, i->v);
    switch (i->verb) {
    case DYNC__A_OP1: dync__xe_op1(a, i); break;
    case DYNC__A_OP2: dync__xe_op2(a, i); break;
    case DYNC__A_OP2_PART: dync__xe_op2_part(a, i); break;
    case DYNC__A_SHIFT: dync__xe_shift(a, i); break;
    case DYNC__A_FMA:
        dync__x_v(a, wide ? DYNC__X_FMA231PD : DYNC__X_FMA231PS, vl, i->to, i->x, i->y, 0, i->z);
        break;
    case DYNC__A_MAD:
        dync__x_v(a, wide ? DYNC__X_FMA213PD : DYNC__X_FMA213PS, vl, i->to, i->x, i->y, 0, 0);
        break;
    case DYNC__A_DOT:
        dync__x_v(a, i->n == DYNC_BF16 ? DYNC__X_DPBF16PS : DYNC__X_DPBUSD, vl, i->to, i->x, i->y,
                  0, i->z);
        break;
    case DYNC__A_PAIRS: dync__x_v(a, DYNC__X_PMADDWD, vl, i->to, i->x, i->y, 0, 0); break;
    case DYNC__A_CONVERT: dync__xe_convert(a, i); break;
    case DYNC__A_SELECT: dync__xe_select(a, i); break;
    case DYNC__A_MERGE: dync__xe_merge(a, i); break;
    case DYNC__A_CLEAR:
        dync__x_v(a, DYNC__X_XORPS, vl, i->to, i->to, dync__a_reg(i->to), 0, i->z);
        break;
    case DYNC__A_MASK_SET: dync__xe_mask_set(a, i); break;
    case DYNC__A_MASK_WIDEN: dync__x_v(a, DYNC__X_PMOVSXDQ, vl, i->to, 0, i->y, 0, 0); break;
    case DYNC__A_MASK_OF:
        dync__x_v(a, DYNC__X_PMOVD2M, vl, i->to, 0, dync__a_reg(i->x), 0, 0);
        break;
    case DYNC__A_MASK_FROM: dync__xe_mask_from(a, i); break;
    case DYNC__A_DOWN: dync__xe_down(a, i); break;
    case DYNC__A_HALF: dync__xe_half(a, i); break;
    case DYNC__A_JOIN: dync__xe_join(a, i); break;
    case DYNC__A_UP: dync__xe_up(a, i); break;
    case DYNC__A_REVERSE: dync__xe_reverse(a, i); break;
    case DYNC__A_PICK: /* two tables where to is not the numbers */
        dync__x_v(a, i->to == i->z ? DYNC__X_PERMPS : DYNC__X_PERMT2PS, vl, i->to, i->z, i->y, 0,
                  0);
        break;
    case DYNC__A_PIECE_TO: dync__x_v(a, DYNC__X_EXTRACT128, vl, i->x, 0, i->y, i->n, 0); break;
    case DYNC__A_ZIP: dync__xe_zip(a, i); break;
    case DYNC__A_BYTES: dync__x_v(a, DYNC__X_PSHUFB, vl, i->to, i->x, i->y, 0, 0); break;
    case DYNC__A_PIECES: dync__x_v(a, DYNC__X_SHUF128, 2, i->to, i->x, i->y, i->n, 0); break;
    default: dync__xe_compares(a, i); break;
    }
}
#endif
