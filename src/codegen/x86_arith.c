/* codegen/x86_arith.c: verbs of arithmetic as x86-64 instructions (x86_verbs.h). After
 * x86_memory.c, before x86_lanes.c. */
#include "../dync.in.h"
#include "x86_verbs.h"
DYNC__LEAN
#if DYNC__JIT

/* ---- arithmetic ------------------------------------------------------------------------------ */

/* Primitives that are one instruction, by operand type f d i l; 0: not so. only: of l, AVX-512. */
typedef struct dync__xe_row {
    uint8_t op, shape, imm, only;
    uint8_t insn[4];
} dync__xe_row;
#define DYNC__X(op, shape, imm, only, f, d, i, l) \
    {DYNC__##op, DYNC__SHAPE_##shape, imm, only, {f, d, i, l}},
/* clang-format off */
static const dync__xe_row dync__xe_rows[] = {
    DYNC__X(P_add, SWAPS, 0, 0, DYNC__X_ADDPS, DYNC__X_ADDPD, DYNC__X_PADDD, DYNC__X_PADDQ)
    DYNC__X(P_sub, ONE, 0, 0, DYNC__X_SUBPS, DYNC__X_SUBPD, DYNC__X_PSUBD, DYNC__X_PSUBQ)
    DYNC__X(P_mul, SWAPS, 0, 1, DYNC__X_MULPS, DYNC__X_MULPD, DYNC__X_PMULLD, DYNC__X_PMULLQ)
    DYNC__X(P_div, ONE, 0, 0, DYNC__X_DIVPS, DYNC__X_DIVPD, 0, 0)
    DYNC__X(P_sqrt, ONE, 0, 0, DYNC__X_SQRTPS, DYNC__X_SQRTPD, 0, 0)
    DYNC__X(P_rint, ONE, 8, 0, DYNC__X_ROUNDPS, DYNC__X_ROUNDPD, 0, 0)
    DYNC__X(P_floor, ONE, 9, 0, DYNC__X_ROUNDPS, DYNC__X_ROUNDPD, 0, 0)
    DYNC__X(P_ceil, ONE, 10, 0, DYNC__X_ROUNDPS, DYNC__X_ROUNDPD, 0, 0)
    DYNC__X(P_trunc, ONE, 11, 0, DYNC__X_ROUNDPS, DYNC__X_ROUNDPD, 0, 0)
    DYNC__X(P_min, SWAPS, 0, 1, 0, 0, DYNC__X_PMINSD, DYNC__X_PMINSQ)
    DYNC__X(P_max, SWAPS, 0, 1, 0, 0, DYNC__X_PMAXSD, DYNC__X_PMAXSQ)
    DYNC__X(P_abs, ONE, 0, 1, 0, 0, DYNC__X_PABSD, DYNC__X_PABSQ)
    DYNC__X(P_and_, SWAPS, 0, 0, 0, 0, DYNC__X_ANDPS, DYNC__X_ANDPS)
    DYNC__X(P_or_, SWAPS, 0, 0, 0, 0, DYNC__X_ORPS, DYNC__X_ORPS)
    DYNC__X(P_xor_, SWAPS, 0, 0, 0, 0, DYNC__X_XORPS, DYNC__X_XORPS)
    DYNC__X(P_shl, ONE, 0, 0, 0, 0, DYNC__X_PSLLVD, DYNC__X_PSLLVQ)
    DYNC__X(P_shr, ONE, 0, 1, 0, 0, DYNC__X_PSRAVD, DYNC__X_PSRAVQ)
    DYNC__X(O_LSR, ONE, 0, 0, 0, 0, 0, DYNC__X_PSRLVQ)
    DYNC__X(O_MUL32, ONE, 0, 0, 0, 0, 0, DYNC__X_PMULUDQ)
    DYNC__X(O_CLAMP_MAX, ONE, 0, 0, DYNC__X_MAXPS, DYNC__X_MAXPD, 0, 0)
    DYNC__X(O_CLAMP_MIN, ONE, 0, 0, DYNC__X_MINPS, DYNC__X_MINPD, 0, 0)
};
/* clang-format on */
#undef DYNC__X

static const dync__xe_row *dync__xe_find(const dync__target *t, int op, int type)
{
    int letter = type == DYNC_F32   ? 0
                 : type == DYNC_F64 ? 1
                 : type == DYNC_I32 ? 2
                 : type == DYNC_I64 ? 3
                                    : -1;
    for (int s = 0; letter >= 0 && s < DYNC__COUNT_OF(dync__xe_rows); s++)
        if (dync__xe_rows[s].op == op && dync__xe_rows[s].insn[letter])
            return letter == 3 && dync__xe_rows[s].only && t->level < 2 ? NULL : &dync__xe_rows[s];
    return NULL;
}
DYNC__FN int dync__xe_simple(const dync__target *t, int op, int type)
{
    const dync__xe_row *row = dync__xe_find(t, op, type);
    return row ? row->shape : -1;
}

static int dync__xe_insn(const dync__xe_row *row, int type)
{
    return row->insn[type == DYNC_F32 ? 0 : type == DYNC_F64 ? 1 : type == DYNC_I32 ? 2 : 3];
}

/* min(a, b) is a < b ? a : b, and a where a is NaN: minps gives b there. */
static void dync__xe_minmax(dync__asm *a, const dync__ins *i, int tail)
{
    bool wide = dync__xe_wide(i->v.type), most = i->op == DYNC__P_max;
    int vl = dync__xe_vl(a, i->v), compare = wide ? DYNC__X_CMPPD : DYNC__X_CMPPS;
    int insn = most ? (wide ? DYNC__X_MAXPD : DYNC__X_MAXPS) : wide ? DYNC__X_MINPD : DYNC__X_MINPS;
    if (i->to != i->x) {
        dync__x_v(a, insn, vl, i->to, i->x, i->y, 0, 0);
        if (i->n) return;
        int m = dync__xe_mask(a);
        dync__x_v(a, compare, vl, m, i->x, dync__a_reg(i->x), DYNC__XC_UNORD, 0);
        if (a->t->n_masks)
            dync__x_v(a, wide ? DYNC__X_MOVUPD : DYNC__X_MOVUPS, vl, i->to, 0, dync__a_reg(i->x), 0,
                      m);
        else
            dync__x_v(a, wide ? DYNC__X_BLENDVPD : DYNC__X_BLENDVPS, vl, i->to, i->to,
                      dync__a_reg(i->x), m << 4, 0);
    } else if (a->t->n_masks) {
        int kept = dync__xe_mask(a);
        dync__x_v(a, compare, vl, kept, i->to, dync__a_reg(i->to), DYNC__XC_ORD, tail);
        dync__x_v(a, insn, vl, i->to, i->to, i->y, 0, kept);
    } else {
        int t = dync__xe_vector(a), m = dync__xe_vector(a);
        dync__x_v(a, insn, vl, t, i->to, i->y, 0, 0);
        dync__x_v(a, compare, vl, m, i->to, dync__a_reg(i->to), DYNC__XC_UNORD, 0);
        dync__x_v(a, wide ? DYNC__X_BLENDVPD : DYNC__X_BLENDVPS, vl, i->to, t, dync__a_reg(i->to),
                  m << 4, 0);
    }
}

/* to = the greater or less of to and y; 8-byte lanes, AVX2 */
static void dync__xe_minmax64(dync__asm *a, const dync__ins *i)
{
    bool most = i->op == DYNC__P_max;
    int vl = dync__xe_vl(a, i->v), m = dync__xe_vector(a), y = i->y.reg;
    if (i->y.is_mem) {
        y = dync__xe_vector(a);
        dync__x_v(a, DYNC__X_MOVUPS, vl, y, 0, i->y, 0, 0);
    }
    dync__xe_rrr(a, DYNC__X_PCMPGTQ, vl, m, most ? i->to : y, most ? y : i->to);
    dync__x_v(a, DYNC__X_BLENDVPD, vl, i->to, y, dync__a_reg(i->to), m << 4, 0);
}

/* and, or, xor, lt (not x and y), le (not x or y), eq, ne of masks */
static void dync__xe_logic(dync__asm *a, const dync__ins *i)
{
    int vl = dync__xe_vl(a, i->v), op = i->op;
    bool complements = op == DYNC__P_le || op == DYNC__P_eq;
    dync__place ones = complements ? dync__a_constant(a, 0xff, 1) : i->y;
    switch (op) {
    case DYNC__P_and_: dync__x_v(a, DYNC__X_ANDPS, vl, i->to, i->x, i->y, 0, 0); break;
    case DYNC__P_or_: dync__x_v(a, DYNC__X_ORPS, vl, i->to, i->x, i->y, 0, 0); break;
    case DYNC__P_lt: dync__x_v(a, DYNC__X_ANDNPS, vl, i->to, i->x, i->y, 0, 0); break;
    case DYNC__P_le:
        dync__x_v(a, DYNC__X_XORPS, vl, i->to, i->x, ones, 0, 0);
        dync__x_v(a, DYNC__X_ORPS, vl, i->to, i->to, i->y, 0, 0);
        break;
    default:
        dync__x_v(a, DYNC__X_XORPS, vl, i->to, i->x, i->y, 0, 0);
        if (op == DYNC__P_eq) dync__x_v(a, DYNC__X_XORPS, vl, i->to, i->to, ones, 0, 0);
    }
}

static void dync__xe_logic_k(dync__asm *a, const dync__ins *i)
{
    int op = i->op;
    int insn = op == DYNC__P_and_  ? DYNC__X_KANDW
               : op == DYNC__P_or_ ? DYNC__X_KORW
               : op == DYNC__P_lt  ? DYNC__X_KANDNW
               : op == DYNC__P_eq  ? DYNC__X_KXNORW
                                   : DYNC__X_KXORW;
    if (op != DYNC__P_le) {
        dync__x_k(a, insn, i->to, i->x, i->y, 0);
        return;
    }
    dync__x_k(a, DYNC__X_KNOTW, i->to, 0, dync__a_reg(i->x), 0);
    dync__x_k(a, DYNC__X_KORW, i->to, i->to, i->y, 0);
}

DYNC__FN void dync__xe_op2(dync__asm *a, const dync__ins *i)
{
    const dync__xe_row *row = dync__xe_find(a->t, i->op, i->v.type);
    bool extreme = i->op == DYNC__P_min || i->op == DYNC__P_max;
    if (i->v.type == DYNC_BOOL) {
        if (a->t->n_masks)
            dync__xe_logic_k(a, i);
        else
            dync__xe_logic(a, i);
    } else if (row) {
        dync__x_v(a, dync__xe_insn(row, i->v.type), dync__xe_vl(a, i->v), i->to, i->x, i->y,
                  row->imm, 0);
    } else if (extreme && i->v.type == DYNC_I64) {
        dync__xe_minmax64(a, i);
    } else if (extreme) {
        dync__xe_minmax(a, i, 0);
    } else {
        a->failed = true;
    }
}

/* AVX-512 merges; AVX2 has in the other lanes what op leaves as it is. */
DYNC__FN void dync__xe_op2_part(dync__asm *a, const dync__ins *i)
{
    bool wide = dync__xe_wide(i->v.type);
    int vl = dync__xe_vl(a, i->v);
    dync__ins op = {.verb = DYNC__A_OP2,
                    .op = i->op,
                    .v = i->v,
                    .to = i->to,
                    .x = i->to,
                    .y = dync__a_reg(i->x)};
    if (!a->t->n_masks) {
        int t = dync__xe_vector(a);
        dync__x_v(a, DYNC__X_MOVUPS, vl, t, 0, i->y, 0, 0);
        dync__x_v(a, wide ? DYNC__X_BLENDVPD : DYNC__X_BLENDVPS, vl, t, t, dync__a_reg(i->x),
                  i->z << 4, 0);
        op.y = dync__a_reg(t);
        if (i->v.type == DYNC_BOOL)
            dync__xe_logic(a, &op);
        else
            dync__xe_op2(a, &op);
        return;
    }
    const dync__xe_row *row = dync__xe_find(a->t, i->op, i->v.type);
    if (row)
        dync__x_v(a, dync__xe_insn(row, i->v.type), vl, i->to, i->to, op.y, row->imm, i->z);
    else
        dync__xe_minmax(a, &op, i->z);
}

/* to = -1 where x < 0 (64-bit lanes, AVX2) */
static void dync__xe_sign64(dync__asm *a, int vl, int to, int x)
{
    dync__xe_rrr(a, DYNC__X_XORPS, vl, to, to, to);
    dync__xe_rrr(a, DYNC__X_PCMPGTQ, vl, to, to, x);
}

static void dync__xe_sign(dync__asm *a, const dync__ins *i)
{
    bool wide = dync__xe_wide(i->v.type), neg = i->op == DYNC__P_neg;
    int vl = dync__xe_vl(a, i->v), x = i->y.reg;
    uint64_t sign = wide ? UINT64_C(1) << 63 : 0x80000000u;
    if (dync__xe_float(i->v.type)) {
        dync__place c = dync__a_constant(a, neg ? sign : sign - 1, wide ? 8 : 4);
        dync__x_v(a, neg ? DYNC__X_XORPS : DYNC__X_ANDPS, vl, i->to, x, c, 0, 0);
    } else if (neg) {
        dync__xe_rrr(a, DYNC__X_XORPS, vl, i->to, i->to, i->to);
        dync__xe_rrr(a, wide ? DYNC__X_PSUBQ : DYNC__X_PSUBD, vl, i->to, i->to, x);
    } else {
        int t = dync__xe_vector(a); /* |x| of 64-bit lanes under AVX2 */
        dync__xe_sign64(a, vl, t, x);
        dync__xe_rrr(a, DYNC__X_XORPS, vl, i->to, x, t);
        dync__xe_rrr(a, DYNC__X_PSUBQ, vl, i->to, i->to, t);
    }
}

static void dync__xe_wrap(dync__asm *a, const dync__ins *i)
{
    int vl = dync__xe_vl_bytes(i->v.lanes * 4), x = i->y.reg, r = i->to,
        by = i->n == DYNC_I16 ? 16 : 24;
    switch (i->n) {
    case DYNC_U8: dync__x_v(a, DYNC__X_ANDPS, vl, r, x, dync__a_constant(a, 255, 4), 0, 0); break;
    case DYNC_I16:
    case DYNC_I8:
        dync__x_v(a, DYNC__X_PSLLD, vl, 0, r, dync__a_reg(x), by, 0);
        dync__x_v(a, DYNC__X_PSRAD, vl, 0, r, dync__a_reg(r), by, 0);
        break;
    case DYNC_BF16:
        dync__xe_bf16(a, i->v.lanes, r, x, false);
        dync__x_v(a, DYNC__X_PSLLD, vl, 0, r, dync__a_reg(r), 16, 0);
        break;
    default:
        dync__x_v(a, DYNC__X_CVTPS2PH, vl, x, 0, dync__a_reg(r), 0, 0);
        dync__x_v(a, DYNC__X_CVTPH2PS, vl, r, 0, dync__a_reg(r), 0, 0);
    }
}

DYNC__FN void dync__xe_op1(dync__asm *a, const dync__ins *i)
{
    const dync__xe_row *row = dync__xe_find(a->t, i->op, i->v.type);
    if (row)
        dync__x_v(a, dync__xe_insn(row, i->v.type), dync__xe_vl(a, i->v), i->to, 0, i->y, row->imm,
                  0);
    else if (i->op == DYNC__P_wrap)
        dync__xe_wrap(a, i);
    else if (i->op != DYNC__P_not_)
        dync__xe_sign(a, i);
    else if (dync__xe_k(a, i->v.type))
        dync__x_k(a, DYNC__X_KNOTW, i->to, 0, i->y, 0);
    else
        dync__x_v(a, DYNC__X_XORPS, dync__xe_vl(a, i->v), i->to, i->y.reg,
                  dync__a_constant(a, 0xff, 1), 0, 0);
}

DYNC__FN void dync__xe_shift(dync__asm *a, const dync__ins *i)
{
    static const int insns[3][3] = {{DYNC__X_PSLLW, DYNC__X_PSRAW, DYNC__X_PSRLW},
                                    {DYNC__X_PSLLD, DYNC__X_PSRAD, DYNC__X_PSRLD},
                                    {DYNC__X_PSLLQ, 0, DYNC__X_PSRLQ}};
    bool wide = dync__xe_wide(i->v.type);
    int vl = dync__xe_vl(a, i->v);
    if (wide && i->op == DYNC__P_shr) { /* by 63: the sign */
        if (a->t->level == 2)
            dync__x_v(a, DYNC__X_PSRAVQ, vl, i->to, i->x, dync__a_constant(a, (uint64_t)i->n, 8), 0,
                      0);
        else
            dync__xe_sign64(a, vl, i->to, i->x);
        return;
    }
    int row = i->v.type == DYNC_I16 ? 0
              : wide                ? 2
                                    : 1,
        column = i->op == DYNC__P_shl   ? 0
                 : i->op == DYNC__P_shr ? 1
                                        : 2;
    dync__x_v(a, insns[row][column], vl, 0, i->to, dync__a_reg(i->x), i->n, 0);
}
#endif
