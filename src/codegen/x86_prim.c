/* codegen/x86_prim.c: primitives of the loop IR as x86-64 instructions, for one vector. Between
 * x86_reg.c and x86_gen.c.
 *
 * Results are those of loop/eval.c to the bit, NaN's payload aside. A case reads its operands (a
 * register, or memory for the last one), lets go of those that end here, takes a register for the
 * result and emits. Where several instructions are needed the result gets its register first, so
 * that it overwrites no operand. */
#include "../dync.in.h"
#include "x86_gen.h"
#if DYNC__JIT_X86

enum {
    DYNC__CMP_EQ = 0,
    DYNC__CMP_LT = 0x11,
    DYNC__CMP_LE = 0x12,
    DYNC__CMP_UNORD = 3,
    DYNC__CMP_NE = 4,
    DYNC__CMP_GE = 0x1d,
    DYNC__CMP_ORD = 7
};
enum { DYNC__ICMP_EQ = 0, DYNC__ICMP_LT = 1, DYNC__ICMP_LE = 2, DYNC__ICMP_NE = 4 };

static int dync__xg_arg_type(const dync__xg *g, int i)
{
    const dync__inst *in = dync__xg_inst(g, i);
    return dync__xg_inst(g, in->arg[in->prim == DYNC__P_select ? 1 : 0])->type;
}

/* loads and reductions too */
DYNC__FN const char *dync__xg_refuses(const dync__xg *g, int i)
{
    const dync__inst *in = dync__xg_inst(g, i);
    const char *cannot = NULL;
    if (in->buf >= 0 && g->b->k->buf.at[in->buf].dtype == DYNC_F16 &&
        !(dync__cpu_features() & DYNC__CPU_F16C))
        return "f16 without F16C";
    switch (in->prim) {
    case DYNC__P_storex: return "scattered writes";
    case DYNC__P_loadx: {
        const dync__buf *buf = &g->b->k->buf.at[in->buf];
        return buf->size >= 0                                         ? "an index to be checked"
               : buf->dtype == DYNC_BOOL || buf->mode & DYNC__BUF_OUT ? "such an indexed load"
                                                                      : NULL;
    }
    case DYNC__P_random: return NULL;
    case DYNC__P_reduce:
        if (in->imm.i >= DYNC__R_ARGMAX)
            return dync__xg_arg_type(g, i) == DYNC_BOOL ? "argmax of BOOL" : NULL;
        return g->isa == 1 && in->imm.i == DYNC__R_PROD && in->type == DYNC_I64 ? "products of i64"
                                                                                : NULL;
    case DYNC__P_wrap:
        return in->imm.i == DYNC_F16 && !(dync__cpu_features() & DYNC__CPU_F16C)
                   ? "f16 without F16C"
                   : NULL;
    case DYNC__P_cast: {
        int from = dync__xg_arg_type(g, i);
        cannot = "conversions between i64 and floats";
        if (g->isa == 2) return NULL;
        return (from == DYNC_I64 && dync__xg_type_float(in->type)) ||
                       (in->type == DYNC_I64 && dync__xg_type_float(from))
                   ? cannot
                   : NULL;
    }
    default: return NULL;
    }
}

/* ---- shapes of instructions ------------------------------------------------------------------ */

static bool dync__xg_swaps(const dync__xg *g, const int32_t arg[2])
{
    return dync__xg_in_memory(g, arg[0]) && !dync__xg_in_memory(g, arg[1]);
}

static void dync__xg_two(dync__xg *g, int i, int a, int b, int insn, int vl, bool commutes)
{
    int32_t arg[2] = {a, b};
    bool swap = commutes && dync__xg_swaps(g, arg);
    int x = dync__xg_src(g, arg[swap]);
    dync__xrm y = dync__xg_src_rm(g, arg[!swap]);
    dync__xg_release(g);
    dync__x_v(&g->a, insn, vl, dync__xg_def(g, i), x, y, 0, 0);
}

static void dync__xg_one(dync__xg *g, int i, int insn, int vl, int imm)
{
    dync__xrm x = dync__xg_src_rm(g, dync__xg_inst(g, i)->arg[0]);
    dync__xg_release(g);
    dync__x_v(&g->a, insn, vl, dync__xg_def(g, i), 0, x, imm, 0);
}

static void dync__xg_with_const(dync__xg *g, int i, int insn, int vl, dync__xrm c)
{
    int x = dync__xg_src(g, dync__xg_inst(g, i)->arg[0]);
    dync__xg_release(g);
    dync__x_v(&g->a, insn, vl, dync__xg_def(g, i), x, c, 0, 0);
}

static void dync__xg_zero(dync__xg *g, int vl, int r)
{
    dync__x_v(&g->a, DYNC__X_XORPS, vl, r, r, dync__x_reg(r), 0, 0);
}

/* to = -1 where x < 0 (64-bit lanes, AVX2) */
static void dync__xg_sign64(dync__xg *g, int vl, int to, int x)
{
    dync__xg_zero(g, vl, to);
    dync__x_v(&g->a, DYNC__X_PCMPGTQ, vl, to, to, dync__x_reg(x), 0, 0);
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

/* min(a, b) is a < b ? a : b, and a where a is NaN: minps gives b there. A constant a is no NaN. */
static void dync__xg_minmax(dync__xg *g, int i, int insn, int compare, int vl, bool wide)
{
    const dync__inst *in = dync__xg_inst(g, i);
    dync__xasm *a = &g->a;
    int x = dync__xg_src(g, in->arg[0]), y = dync__xg_src(g, in->arg[1]), r = dync__xg_def(g, i);
    dync__x_v(a, insn, vl, r, x, dync__x_reg(y), 0, 0);
    const dync__inst *first = dync__xg_inst(g, in->arg[0]);
    if (first->prim == DYNC__P_const_ && (float)first->imm.f == (float)first->imm.f) return;
    if (g->isa == 2) {
        int k = dync__xg_temp_k(g);
        dync__x_v(a, compare, vl, k, x, dync__x_reg(x), DYNC__CMP_UNORD, 0);
        dync__x_v(a, wide ? DYNC__X_MOVUPD : DYNC__X_MOVUPS, vl, r, 0, dync__x_reg(x), 0, k);
        return;
    }
    int m = dync__xg_temp(g);
    dync__x_v(a, compare, vl, m, x, dync__x_reg(x), DYNC__CMP_UNORD, 0);
    dync__x_v(a, wide ? DYNC__X_BLENDVPD : DYNC__X_BLENDVPS, vl, r, r, dync__x_reg(x), m << 4, 0);
}

static void dync__xg_minmax64(dync__xg *g, int i, bool least)
{
    const dync__inst *in = dync__xg_inst(g, i);
    int vl = dync__xg_vl(g, DYNC_I64), x = dync__xg_src(g, in->arg[0]),
        y = dync__xg_src(g, in->arg[1]);
    int m = dync__xg_temp(g), r = dync__xg_def(g, i);
    /* take x */
    dync__x_v(&g->a, DYNC__X_PCMPGTQ, vl, m, least ? y : x, dync__x_reg(least ? x : y), 0, 0);
    dync__x_v(&g->a, DYNC__X_BLENDVPD, vl, r, y, dync__x_reg(x), m << 4, 0);
}

static void dync__xg_mul64(dync__xg *g, int i)
{
    const dync__inst *in = dync__xg_inst(g, i);
    dync__xasm *a = &g->a;
    int vl = dync__xg_vl(g, DYNC_I64), x = dync__xg_src(g, in->arg[0]),
        y = dync__xg_src(g, in->arg[1]);
    int t = dync__xg_temp(g), r = dync__xg_def(g, i);
    dync__x_v(a, DYNC__X_PSRLQ, vl, 0, r, dync__x_reg(x), 32, 0);
    dync__x_v(a, DYNC__X_PMULUDQ, vl, r, r, dync__x_reg(y), 0, 0);
    dync__x_v(a, DYNC__X_PSRLQ, vl, 0, t, dync__x_reg(y), 32, 0);
    dync__x_v(a, DYNC__X_PMULUDQ, vl, t, t, dync__x_reg(x), 0, 0);
    dync__x_v(a, DYNC__X_PADDQ, vl, r, r, dync__x_reg(t), 0, 0);
    dync__x_v(a, DYNC__X_PSLLQ, vl, 0, r, dync__x_reg(r), 32, 0);
    dync__x_v(a, DYNC__X_PMULUDQ, vl, t, x, dync__x_reg(y), 0, 0);
    dync__x_v(a, DYNC__X_PADDQ, vl, r, r, dync__x_reg(t), 0, 0);
}

/* a >> b for signed 64-bit lanes under AVX2: of the complement, complemented */
static void dync__xg_shr64(dync__xg *g, int i)
{
    const dync__inst *in = dync__xg_inst(g, i);
    int vl = dync__xg_vl(g, DYNC_I64), x = dync__xg_src(g, in->arg[0]),
        y = dync__xg_src(g, in->arg[1]);
    int sign = dync__xg_temp(g), r = dync__xg_def(g, i);
    dync__xg_sign64(g, vl, sign, x);
    dync__x_v(&g->a, DYNC__X_XORPS, vl, r, x, dync__x_reg(sign), 0, 0);
    dync__x_v(&g->a, DYNC__X_PSRLVQ, vl, r, r, dync__x_reg(y), 0, 0);
    dync__x_v(&g->a, DYNC__X_XORPS, vl, r, r, dync__x_reg(sign), 0, 0);
}

/* a * b + c in one of its three forms: the result takes the register of an operand that ends
 * here. */
static void dync__xg_fma(dync__xg *g, int i, int vl, bool wide)
{
    const dync__inst *in = dync__xg_inst(g, i);
    int a = in->arg[0], b = in->arg[1], c = in->arg[2], t;
    int f213 = wide ? DYNC__X_FMA213PD : DYNC__X_FMA213PS,
        f231 = wide ? DYNC__X_FMA231PD : DYNC__X_FMA231PS;
    if (!dync__xg_dies(g, a) && dync__xg_dies(g, b)) {
        t = a;
        a = b;
        b = t;
    }
    if (dync__xg_dies(g, a)) { /* a = b * a + c */
        dync__xg_src(g, a);
        int y = dync__xg_src(g, b);
        dync__xrm z = dync__xg_src_rm(g, c);
        dync__xg_adopt(g, i, a);
        dync__x_v(&g->a, f213, vl, g->val[i * DYNC__XG_UNROLL + g->u].reg, y, z, 0, 0);
        return;
    }
    if (dync__xg_in_memory(g, a) && !dync__xg_in_memory(g, b)) {
        t = a;
        a = b;
        b = t;
    }
    if (dync__xg_dies(g, c)) { /* c += a * b */
        dync__xg_src(g, c);
        int x = dync__xg_src(g, a);
        dync__xrm y = dync__xg_src_rm(g, b);
        dync__xg_adopt(g, i, c);
        dync__x_v(&g->a, f231, vl, g->val[i * DYNC__XG_UNROLL + g->u].reg, x, y, 0, 0);
        return;
    }
    int x = dync__xg_src(g, a), r;
    if (dync__xg_in_memory(g, b)) { /* r = b; r = a * r + c */
        dync__xrm y = dync__xg_src_rm(g, b);
        r = dync__xg_def(g, i);
        dync__x_v(&g->a, DYNC__X_MOVUPS, vl, r, 0, y, 0, 0);
        dync__xrm z = dync__xg_src_rm(g, c);
        dync__x_v(&g->a, f213, vl, r, x, z, 0, 0);
        return;
    }
    int y = dync__xg_src(g, b);
    dync__xrm z = dync__xg_src_rm(g, c);
    r = dync__xg_def(g, i);
    dync__x_v(&g->a, z.is_mem ? DYNC__X_MOVUPS : DYNC__X_MOVAPS, vl, r, 0, z, 0, 0);
    dync__x_v(&g->a, f231, vl, r, x, dync__x_reg(y), 0, 0);
}

/* ---- comparisons and BOOL -------------------------------------------------------------------- */

/* AVX2: the low halves of 64-bit lanes to 32-bit lanes. */
static void dync__xg_mask_narrow(dync__xg *g, int r)
{
    int high = dync__xg_temp(g);
    dync__x_v(&g->a, DYNC__X_EXTRACT128, 1, r, 0, dync__x_reg(high), 1, 0);
    dync__x_v(&g->a, DYNC__X_SHUFPS, 0, r, r, dync__x_reg(high), 0x88, 0);
}

static void dync__xg_compare(dync__xg *g, int i, int type)
{
    const dync__inst *in = dync__xg_inst(g, i);
    dync__xasm *a = &g->a;
    static const uint8_t floats[] = {DYNC__CMP_LT, DYNC__CMP_LE, DYNC__CMP_EQ, DYNC__CMP_NE};
    static const uint8_t ints[] = {DYNC__ICMP_LT, DYNC__ICMP_LE, DYNC__ICMP_EQ, DYNC__ICMP_NE};
    bool wide = dync__xg_type_wide(type), is_float = dync__xg_type_float(type);
    int which = in->prim - DYNC__P_lt, vl = dync__xg_vl(g, type);
    if (g->isa == 2 || is_float) {
        int x = dync__xg_src(g, in->arg[0]);
        dync__xrm y = dync__xg_src_rm(g, in->arg[1]);
        int insn = is_float ? (wide ? DYNC__X_CMPPD : DYNC__X_CMPPS)
                   : wide   ? DYNC__X_PCMPQ
                            : DYNC__X_PCMPD;
        dync__xg_release(g);
        int r = g->isa == 2 ? dync__xg_def_k(g, i) : dync__xg_def(g, i);
        dync__x_v(a, insn, vl, r, x, y, is_float ? floats[which] : ints[which], 0);
        if (g->isa == 1 && wide) dync__xg_mask_narrow(g, r);
        return;
    }
    /* a < b is b > a; a <= b is not a > b */
    bool equal = which >= 2, swap = which == 0, negate = which == 1 || which == 3;
    int x = dync__xg_src(g, in->arg[swap]), y = dync__xg_src(g, in->arg[!swap]);
    dync__xg_release(g);
    int r = dync__xg_def(g, i);
    dync__x_v(a,
              equal  ? (wide ? DYNC__X_PCMPEQQ : DYNC__X_PCMPEQD)
              : wide ? DYNC__X_PCMPGTQ
                     : DYNC__X_PCMPGTD,
              vl, r, x, dync__x_reg(y), 0, 0);
    if (wide) dync__xg_mask_narrow(g, r);
    if (negate)
        dync__x_v(a, DYNC__X_XORPS, dync__xg_vl(g, DYNC_BOOL), r, r, dync__x_constant(a, 0xff, 1),
                  0, 0);
}

/* and, or, xor, not, lt (not a and b), le (not a or b), eq, ne */
static void dync__xg_logic(dync__xg *g, int i)
{
    const dync__inst *in = dync__xg_inst(g, i);
    dync__xasm *a = &g->a;
    int vl = dync__xg_vl(g, DYNC_BOOL), insn, prim = in->prim;
    if (g->isa == 2) {
        int x = dync__xg_src_k(g, in->arg[0]),
            y = prim == DYNC__P_not_ ? 0 : dync__xg_src_k(g, in->arg[1]), r;
        insn = prim == DYNC__P_and_  ? DYNC__X_KANDW
               : prim == DYNC__P_or_ ? DYNC__X_KORW
               : prim == DYNC__P_lt  ? DYNC__X_KANDNW
               : prim == DYNC__P_eq  ? DYNC__X_KXNORW
                                     : DYNC__X_KXORW;
        if (prim == DYNC__P_not_ || prim == DYNC__P_le) {
            bool le = prim == DYNC__P_le;
            r = dync__xg_def_k(g, i);
            dync__x_k(a, DYNC__X_KNOTW, r, 0, dync__x_reg(x), 0);
            if (le) dync__x_k(a, DYNC__X_KORW, r, r, dync__x_reg(y), 0);
            return;
        }
        dync__xg_release(g);
        dync__x_k(a, insn, dync__xg_def_k(g, i), x, dync__x_reg(y), 0);
        return;
    }
    dync__xrm ones = dync__x_constant(a, 0xff, 1);
    switch (prim) {
    case DYNC__P_and_: dync__xg_two(g, i, in->arg[0], in->arg[1], DYNC__X_ANDPS, vl, true); return;
    case DYNC__P_or_: dync__xg_two(g, i, in->arg[0], in->arg[1], DYNC__X_ORPS, vl, true); return;
    case DYNC__P_lt: dync__xg_two(g, i, in->arg[0], in->arg[1], DYNC__X_ANDNPS, vl, false); return;
    case DYNC__P_not_: dync__xg_with_const(g, i, DYNC__X_XORPS, vl, ones); return;
    case DYNC__P_le: {
        int x = dync__xg_src(g, in->arg[0]), y = dync__xg_src(g, in->arg[1]),
            r = dync__xg_def(g, i);
        dync__x_v(a, DYNC__X_XORPS, vl, r, x, ones, 0, 0);
        dync__x_v(a, DYNC__X_ORPS, vl, r, r, dync__x_reg(y), 0, 0);
        return;
    }
    default:
        dync__xg_two(g, i, in->arg[0], in->arg[1], DYNC__X_XORPS, vl, true);
        if (prim == DYNC__P_eq) {
            int r = g->val[i * DYNC__XG_UNROLL + g->u].reg;
            dync__x_v(a, DYNC__X_XORPS, vl, r, r, ones, 0, 0);
        }
    }
}

static void dync__xg_select(dync__xg *g, int i)
{
    const dync__inst *in = dync__xg_inst(g, i);
    dync__xasm *a = &g->a;
    int type = in->type, vl = dync__xg_vl(g, type);
    bool wide = dync__xg_type_wide(type);
    if (dync__xg_in_k(g, type)) {
        int c = dync__xg_src_k(g, in->arg[0]), x = dync__xg_src_k(g, in->arg[1]),
            y = dync__xg_src_k(g, in->arg[2]);
        int t = dync__xg_temp_k(g), r = dync__xg_def_k(g, i);
        dync__x_k(a, DYNC__X_KANDW, t, c, dync__x_reg(x), 0);
        dync__x_k(a, DYNC__X_KANDNW, r, c, dync__x_reg(y), 0);
        dync__x_k(a, DYNC__X_KORW, r, r, dync__x_reg(t), 0);
        return;
    }
    if (g->isa == 2) {
        int k = dync__xg_src_k(g, in->arg[0]), y = dync__xg_src(g, in->arg[2]);
        dync__xrm x = dync__xg_src_rm(g, in->arg[1]);
        dync__xg_release(g);
        dync__x_v(a, wide ? DYNC__X_BLENDMPD : DYNC__X_BLENDMPS, vl, dync__xg_def(g, i), y, x, 0,
                  k);
        return;
    }
    int m = dync__xg_src(g, in->arg[0]), y = dync__xg_src(g, in->arg[2]);
    if (wide) {
        int t = dync__xg_temp(g);
        dync__x_v(a, DYNC__X_PMOVSXDQ, vl, t, 0, dync__x_reg(m), 0, 0);
        m = t;
    }
    dync__xrm x = dync__xg_src_rm(g, in->arg[1]);
    dync__xg_release(g);
    dync__x_v(a, wide ? DYNC__X_BLENDVPD : DYNC__X_BLENDVPS, vl, dync__xg_def(g, i), y, x, m << 4,
              0);
}

/* ---- conversions ----------------------------------------------------------------------------- */

/* BOOL to a number: `one` where it holds. */
static void dync__xg_from_bool(dync__xg *g, int i)
{
    const dync__inst *in = dync__xg_inst(g, i);
    int type = in->type, vl = dync__xg_vl(g, type), r;
    bool wide = dync__xg_type_wide(type);
    dync__xrm one = dync__xg_const(g, type, 1, 1);
    if (g->isa == 2) {
        int k = dync__xg_src_k(g, in->arg[0]);
        dync__x_v(&g->a, wide ? DYNC__X_MOVUPD : DYNC__X_MOVUPS, vl, dync__xg_def(g, i), 0, one, 0,
                  k | DYNC__X_ZERO);
        return;
    }
    int m = dync__xg_src(g, in->arg[0]);
    dync__xg_release(g);
    r = dync__xg_def(g, i);
    if (wide) {
        dync__x_v(&g->a, DYNC__X_PMOVSXDQ, vl, r, 0, dync__x_reg(m), 0, 0);
        m = r;
    }
    dync__x_v(&g->a, DYNC__X_ANDPS, vl, r, m, one, 0, 0);
}

static void dync__xg_to_bool(dync__xg *g, int i, int from)
{
    const dync__inst *in = dync__xg_inst(g, i);
    dync__xasm *a = &g->a;
    bool wide = dync__xg_type_wide(from), is_float = dync__xg_type_float(from);
    int vl = dync__xg_vl(g, from), x = dync__xg_src(g, in->arg[0]);
    dync__xrm zero = dync__x_constant(a, 0, 8);
    dync__xg_release(g);
    if (g->isa == 2) {
        int insn = is_float ? (wide ? DYNC__X_CMPPD : DYNC__X_CMPPS)
                   : wide   ? DYNC__X_PCMPQ
                            : DYNC__X_PCMPD;
        dync__x_v(a, insn, vl, dync__xg_def_k(g, i), x, zero, 4 /* NE in both */, 0);
        return;
    }
    int r = dync__xg_def(g, i);
    if (is_float)
        dync__x_v(a, wide ? DYNC__X_CMPPD : DYNC__X_CMPPS, vl, r, x, zero, DYNC__CMP_NE, 0);
    else
        dync__x_v(a, wide ? DYNC__X_PCMPEQQ : DYNC__X_PCMPEQD, vl, r, x, zero, 0, 0);
    if (wide) dync__xg_mask_narrow(g, r);
    if (!is_float)
        dync__x_v(a, DYNC__X_XORPS, dync__xg_vl(g, DYNC_BOOL), r, r, dync__x_constant(a, 0xff, 1),
                  0, 0);
}

/* Float to integer: what is too large or NaN comes as the least integer, which is right for what is
 * too small. */
static void dync__xg_to_int(dync__xg *g, int i, int from)
{
    const dync__inst *in = dync__xg_inst(g, i);
    dync__xasm *a = &g->a;
    bool wide = dync__xg_type_wide(from), to_wide = in->type == DYNC_I64;
    int x = dync__xg_src(g, in->arg[0]), r = dync__xg_def(g, i), vl = dync__xg_vl(g, from),
        to_vl = dync__xg_vl(g, in->type);
    int insn = to_wide ? (wide ? DYNC__X_CVTTPD2QQ : DYNC__X_CVTTPS2QQ)
               : wide  ? DYNC__X_CVTTPD2DQ
                       : DYNC__X_CVTTPS2DQ;
    int compare = wide ? DYNC__X_CMPPD : DYNC__X_CMPPS;
    dync__xrm limit = dync__xg_const(g, from, to_wide ? 9223372036854775808.0 : 2147483648.0, 0);
    dync__xrm greatest = dync__xg_const(g, in->type, 0, to_wide ? INT64_MAX : INT32_MAX);
    dync__x_v(a, insn, DYNC__MAX(vl, to_vl), r, 0, dync__x_reg(x), 0, 0);
    if (g->isa == 2) {
        int k = dync__xg_temp_k(g);
        dync__x_v(a, compare, vl, k, x, limit, DYNC__CMP_GE, 0);
        dync__x_v(a, to_wide ? DYNC__X_MOVUPD : DYNC__X_MOVUPS, to_vl, r, 0, greatest, 0, k);
        dync__x_v(a, compare, vl, k, x, dync__x_reg(x), DYNC__CMP_ORD, 0);
        dync__x_v(a, to_wide ? DYNC__X_MOVUPD : DYNC__X_MOVUPS, to_vl, r, 0, dync__x_reg(r), 0,
                  k | DYNC__X_ZERO);
        return;
    }
    int m = dync__xg_temp(g);
    dync__x_v(a, compare, vl, m, x, limit, DYNC__CMP_GE, 0);
    if (wide) dync__xg_mask_narrow(g, m);
    dync__x_v(a, DYNC__X_BLENDVPS, to_vl, r, r, greatest, m << 4, 0);
    dync__x_v(a, compare, vl, m, x, dync__x_reg(x), DYNC__CMP_ORD, 0);
    if (wide) dync__xg_mask_narrow(g, m);
    dync__x_v(a, DYNC__X_ANDPS, to_vl, r, r, dync__x_reg(m), 0, 0);
}

static void dync__xg_to_i32(dync__xg *g, int i)
{
    int x = dync__xg_src(g, dync__xg_inst(g, i)->arg[0]), r = dync__xg_def(g, i);
    if (g->isa == 2) {
        dync__x_v(&g->a, DYNC__X_PMOVQD, dync__xg_vl(g, DYNC_I64), x, 0, dync__x_reg(r), 0, 0);
        return;
    }
    int high = dync__xg_temp(g);
    dync__x_v(&g->a, DYNC__X_EXTRACT128, 1, x, 0, dync__x_reg(high), 1, 0);
    dync__x_v(&g->a, DYNC__X_SHUFPS, 0, r, x, dync__x_reg(high), 0x88, 0);
}

static void dync__xg_cast(dync__xg *g, int i)
{
    int from = dync__xg_arg_type(g, i), to = dync__xg_inst(g, i)->type;
    int wide = dync__xg_vl_bytes(g->V * 8), vl = dync__xg_vl(g, to);
    if (from == DYNC_BOOL)
        dync__xg_from_bool(g, i);
    else if (to == DYNC_BOOL)
        dync__xg_to_bool(g, i, from);
    else if (dync__xg_type_float(from) && !dync__xg_type_float(to))
        dync__xg_to_int(g, i, from);
    else if (from == DYNC_I64 && to == DYNC_I32)
        dync__xg_to_i32(g, i);
    else if (from == DYNC_I32)
        dync__xg_one(g, i,
                     to == DYNC_F32   ? DYNC__X_CVTDQ2PS
                     : to == DYNC_F64 ? DYNC__X_CVTDQ2PD
                                      : DYNC__X_PMOVSXDQ,
                     vl, 0);
    else if (from == DYNC_I64)
        dync__xg_one(g, i, to == DYNC_F32 ? DYNC__X_CVTQQ2PS : DYNC__X_CVTQQ2PD, wide, 0);
    else
        dync__xg_one(g, i, to == DYNC_F64 ? DYNC__X_CVTPS2PD : DYNC__X_CVTPD2PS, wide, 0);
}

/* The processor's own rounding takes subnormal numbers for zero: vectors with one of them go the
 * long way. */
DYNC__FN void dync__xg_bf16(dync__xg *g, int to, int x, bool packed)
{
    dync__xasm *a = &g->a;
    bool native = g->isa == 2 && dync__cpu_features() & DYNC__CPU_BF16;
    int vl = dync__xg_vl_bytes(g->V * 4), t = dync__xg_temp(g),
        m = g->isa == 2 ? dync__xg_temp_k(g) : dync__xg_temp(g),
        done = native ? dync__x_label(a) : 0;
    if (native) {
        dync__x_v(a, DYNC__X_CVTNEPS2BF16, vl, to, 0, dync__x_reg(x), 0, 0);
        if (!packed) dync__x_v(a, DYNC__X_PMOVZXWD, vl, to, 0, dync__x_reg(to), 0, 0);
        dync__x_v(a, DYNC__X_FPCLASSPS, vl, m, 0, dync__x_reg(x), 0x20, 0);
        dync__x_k(a, DYNC__X_KORTESTW, m, 0, dync__x_reg(m), 0);
        dync__x_jump(a, DYNC__CC_E, done);
    }
    dync__x_v(a, DYNC__X_PSRLD, vl, 0, t, dync__x_reg(x), 16, 0);
    dync__x_v(a, DYNC__X_ANDPS, vl, to, t, dync__x_constant(a, 1, 4), 0, 0);
    dync__x_v(a, DYNC__X_PADDD, vl, to, to, dync__x_constant(a, 0x7fff, 4), 0, 0);
    dync__x_v(a, DYNC__X_PADDD, vl, to, to, dync__x_reg(x), 0, 0);
    dync__x_v(a, DYNC__X_PSRLD, vl, 0, to, dync__x_reg(to), 16, 0);
    dync__x_v(a, DYNC__X_ORPS, vl, t, t, dync__x_constant(a, 0x40, 4), 0, 0);
    dync__x_v(a, DYNC__X_CMPPS, vl, m, x, dync__x_reg(x), DYNC__CMP_UNORD, 0);
    if (g->isa == 2)
        dync__x_v(a, DYNC__X_MOVUPS, vl, to, 0, dync__x_reg(t), 0, m);
    else
        dync__x_v(a, DYNC__X_BLENDVPS, vl, to, to, dync__x_reg(t), m << 4, 0);
    if (packed) dync__xg_pack(g, 2, to, to);
    if (native) dync__x_bind(a, done);
}

static void dync__xg_wrap(dync__xg *g, int i)
{
    const dync__inst *in = dync__xg_inst(g, i);
    dync__xasm *a = &g->a;
    int vl = dync__xg_vl_bytes(g->V * 4), x, r;
    if (in->imm.i == DYNC_U8) {
        dync__xg_with_const(g, i, DYNC__X_ANDPS, vl, dync__x_constant(a, 255, 4));
        return;
    }
    x = dync__xg_src(g, in->arg[0]);
    r = dync__xg_def(g, i);
    switch (in->imm.i) {
    case DYNC_I16:
    case DYNC_I8:
        dync__x_v(a, DYNC__X_PSLLD, vl, 0, r, dync__x_reg(x), in->imm.i == DYNC_I16 ? 16 : 24, 0);
        dync__x_v(a, DYNC__X_PSRAD, vl, 0, r, dync__x_reg(r), in->imm.i == DYNC_I16 ? 16 : 24, 0);
        break;
    case DYNC_BF16:
        dync__xg_bf16(g, r, x, false);
        dync__x_v(a, DYNC__X_PSLLD, vl, 0, r, dync__x_reg(r), 16, 0);
        break;
    default:
        dync__x_v(a, DYNC__X_CVTPS2PH, vl, x, 0, dync__x_reg(r), 0, 0);
        dync__x_v(a, DYNC__X_CVTPH2PS, vl, r, 0, dync__x_reg(r), 0, 0);
    }
}

/* ---- integer division, random numbers -------------------------------------------------------- */

/* Lane by lane in 64 bits: x / 0 and x % 0 are 0, x / -1 wraps. */
static void dync__xg_divide(dync__xg *g, int i)
{
    const dync__inst *in = dync__xg_inst(g, i);
    dync__xasm *a = &g->a;
    bool wide = in->type == DYNC_I64, rem = in->prim == DYNC__P_rem;
    int vl = dync__xg_vl(g, in->type), x = dync__xg_src(g, in->arg[0]),
        y = dync__xg_src(g, in->arg[1]), size = wide ? 8 : 4;
    int lane = dync__x_label(a), special = dync__x_label(a), zero = dync__x_label(a),
        store = dync__x_label(a);
    int load = wide ? DYNC__X_MOV : DYNC__X_MOVSXD;
    dync__xrm rax = dync__x_reg(DYNC__RAX), divisor = dync__x_reg(DYNC__RSI),
              left = dync__x_index(DYNC__RSP, DYNC__RBP, 1, g->stage);
    dync__x_v(a, DYNC__X_MOVUPS_M, vl, x, 0, dync__xg_at(g->stage), 0, 0);
    dync__x_v(a, DYNC__X_MOVUPS_M, vl, y, 0, dync__xg_at(g->stage2), 0, 0);
    dync__x_i(a, DYNC__X_MOV_M, DYNC__RDX, dync__xg_at(g->stage2 + 64), 0);
    dync__x_i(a, DYNC__X_MOVI, 0, dync__x_reg(DYNC__RBP), 0);
    dync__x_bind(a, lane);
    dync__x_i(a, load, DYNC__RAX, left, 0);
    dync__x_i(a, load, DYNC__RSI, dync__x_index(DYNC__RSP, DYNC__RBP, 1, g->stage2), 0);
    dync__x_i(a, DYNC__X_LEA, DYNC__RDX, dync__x_mem(DYNC__RSI, 1), 0);
    dync__x_i(a, DYNC__X_TESTI, 0, dync__x_reg(DYNC__RDX), -2); /* 0 for divisors -1 and 0 */
    dync__x_jump(a, DYNC__CC_E, special);
    dync__x_i(a, DYNC__X_CQO, 0, rax, 0);
    dync__x_i(a, DYNC__X_IDIV, 0, divisor, 0);
    if (rem) dync__x_i(a, DYNC__X_MOV, DYNC__RAX, dync__x_reg(DYNC__RDX), 0);
    dync__x_jump(a, DYNC__CC_JMP, store);
    dync__x_bind(a, special);
    if (rem) dync__x_jump(a, DYNC__CC_JMP, zero);
    dync__x_i(a, DYNC__X_IMUL, DYNC__RAX, divisor, 0); /* by -1 or 0 */
    dync__x_jump(a, DYNC__CC_JMP, store);
    dync__x_bind(a, zero);
    dync__x_i(a, DYNC__X_MOVI, 0, rax, 0);
    dync__x_bind(a, store);
    dync__x_i(a, wide ? DYNC__X_MOV_M : DYNC__X_MOV32_M, DYNC__RAX, left, 0);
    dync__x_i(a, DYNC__X_ADDI, 0, dync__x_reg(DYNC__RBP), size);
    dync__x_i(a, DYNC__X_CMPI, 0, dync__x_reg(DYNC__RBP), g->V * size);
    dync__x_jump(a, DYNC__CC_L, lane);
    dync__x_i(a, DYNC__X_MOV, DYNC__RDX, dync__xg_at(g->stage2 + 64), 0);
    dync__xg_release(g);
    dync__x_v(a, DYNC__X_MOVUPS, vl, dync__xg_def(g, i), 0, dync__xg_at(g->stage), 0, 0);
}

/* Philox4x32-10 with each 32-bit word in a 64-bit lane; what stands above the word is never looked
 * at. */
DYNC__FN void dync__xg_random_keys(dync__xg *g)
{
    dync__xasm *a = &g->a;
    int vl = dync__xg_vl(g, DYNC_I64);
    g->keys = dync__xg_frame(g, 20 * 64);
    dync__x_i(a, DYNC__X_MOV, DYNC__RAX, dync__xg_arg(8 * DYNC__XA_SEED), 0);
    dync__x_i(a, DYNC__X_MOV, DYNC__RSI, dync__x_reg(DYNC__RAX), 0);
    dync__x_i(a, DYNC__X_SHRI, 0, dync__x_reg(DYNC__RSI), 32);
    for (int k = 0; k < 20; k++) {
        int r = k % 2 ? DYNC__RSI : DYNC__RAX;
        dync__x_i(a, DYNC__X_MOV_M, r, dync__xg_at(g->stage), 0);
        dync__x_v(a, DYNC__X_BROADCASTQ, vl, 0, 0, dync__xg_at(g->stage), 0, 0);
        dync__x_v(a, DYNC__X_MOVUPS_M, vl, 0, 0, dync__xg_at(g->keys + 64 * k), 0, 0);
        dync__x_i(a, DYNC__X_ADDI, 0, dync__x_reg(r), (int32_t)(k % 2 ? 0xbb67ae85u : 0x9e3779b9u));
    }
}

/* 53 of the 64 bits in lo and hi as a number in [0, 1), in `to`; the words' upper halves are of no
 * account. */
static void dync__xg_unit(dync__xg *g, int to, int lo, int hi)
{
    dync__xasm *a = &g->a;
    int vl = dync__xg_vl(g, DYNC_I64);
    dync__x_v(a, DYNC__X_PSLLQ, vl, 0, hi, dync__x_reg(hi), 32, 0);
    if (g->isa == 2) {
        dync__x_v(a, DYNC__X_PSLLQ, vl, 0, lo, dync__x_reg(lo), 32, 0);
        dync__x_v(a, DYNC__X_PSRLQ, vl, 0, lo, dync__x_reg(lo), 32, 0);
        dync__x_v(a, DYNC__X_ORPS, vl, lo, lo, dync__x_reg(hi), 0, 0);
        dync__x_v(a, DYNC__X_PSRLQ, vl, 0, lo, dync__x_reg(lo), 11, 0);
        dync__x_v(a, DYNC__X_CVTQQ2PD, vl, to, 0, dync__x_reg(lo), 0, 0);
    } else { /* 32 bits and 21, each below the bits of 2^52 */
        dync__xrm magic = dync__xg_const(g, DYNC_F64, 4503599627370496.0, 0);
        dync__x_v(a, DYNC__X_PSLLQ, vl, 0, lo, dync__x_reg(lo), 32, 0);
        dync__x_v(a, DYNC__X_PSRLQ, vl, 0, lo, dync__x_reg(lo), 43, 0);
        dync__x_v(a, DYNC__X_PSRLQ, vl, 0, hi, dync__x_reg(hi), 32, 0);
        dync__x_v(a, DYNC__X_ORPS, vl, lo, lo, magic, 0, 0);
        dync__x_v(a, DYNC__X_ORPS, vl, hi, hi, magic, 0, 0);
        dync__x_v(a, DYNC__X_SUBPD, vl, lo, lo, magic, 0, 0);
        dync__x_v(a, DYNC__X_SUBPD, vl, hi, hi, magic, 0, 0);
        dync__x_v(a, DYNC__X_MULPD, vl, hi, hi, dync__xg_const(g, DYNC_F64, 2097152.0, 0), 0, 0);
        dync__x_v(a, DYNC__X_ADDPD, vl, to, hi, dync__x_reg(lo), 0, 0);
    }
    dync__x_v(a, DYNC__X_MULPD, vl, to, to,
              dync__xg_const(g, DYNC_F64, 1.0 / 9007199254740992.0, 0), 0, 0);
}

/* The other draw of the same block in this list, after i; it finds its vector in the frame, where
 * pool_at says. */
static int dync__xg_other_draw(const dync__xg *g, int i)
{
    const dync__xlist *l = &g->list[g->cur];
    const dync__inst *in = dync__xg_inst(g, i);
    for (int p = g->pos + 1; p < l->n && in->type == DYNC_F64; p++) {
        const dync__inst *other = dync__xg_inst(g, l->at[p]);
        if (other->prim == DYNC__P_random && other->type == DYNC_F64 && other->imm.i != in->imm.i &&
            other->arg[0] == in->arg[0])
            return l->at[p];
    }
    return -1;
}

static void dync__xg_uniform(dync__xg *g, int i)
{
    const dync__inst *in = dync__xg_inst(g, i);
    dync__xasm *a = &g->a;
    int vl = dync__xg_vl(g, DYNC_I64), x, c[4], m[2], first = (int)in->imm.i,
        other = dync__xg_other_draw(g, i);
    if (g->pool_at[i] >= 0) {
        dync__x_v(a, DYNC__X_MOVUPS, vl, dync__xg_def(g, i), 0,
                  dync__xg_at(g->pool_at[i] + 64 * g->u), 0, 0);
        return;
    }
    x = dync__xg_src(g, in->arg[0]);
    for (int k = 0; k < 4; k++) c[k] = dync__xg_temp(g);
    m[0] = dync__xg_temp(g);
    m[1] = dync__xg_temp(g);
    dync__x_v(a, DYNC__X_BROADCASTQ, vl, c[0], 0, dync__xg_arg(8 * DYNC__XA_OFFSET), 0, 0);
    dync__x_v(a, DYNC__X_PADDQ, vl, c[0], c[0], dync__x_reg(x), 0, 0);
    dync__x_v(a, DYNC__X_PSRLQ, vl, 0, c[1], dync__x_reg(c[0]), 32, 0);
    dync__xg_zero(g, vl, c[2]);
    dync__xg_zero(g, vl, c[3]);
    for (int k = 0; k < 10; k++) {
        dync__x_v(a, DYNC__X_PMULUDQ, vl, m[0], c[0], dync__x_constant(a, 0xd2511f53u, 8), 0, 0);
        dync__x_v(a, DYNC__X_PMULUDQ, vl, m[1], c[2], dync__x_constant(a, 0xcd9e8d57u, 8), 0, 0);
        dync__x_v(a, DYNC__X_PSRLQ, vl, 0, c[0], dync__x_reg(m[1]), 32, 0);
        dync__x_v(a, DYNC__X_XORPS, vl, c[0], c[0], dync__x_reg(c[1]), 0, 0);
        dync__x_v(a, DYNC__X_XORPS, vl, c[0], c[0], dync__xg_at(g->keys + 128 * k), 0, 0);
        dync__x_v(a, DYNC__X_PSRLQ, vl, 0, c[2], dync__x_reg(m[0]), 32, 0);
        dync__x_v(a, DYNC__X_XORPS, vl, c[2], c[2], dync__x_reg(c[3]), 0, 0);
        dync__x_v(a, DYNC__X_XORPS, vl, c[2], c[2], dync__xg_at(g->keys + 128 * k + 64), 0, 0);
        int t = c[1];
        c[1] = m[1];
        m[1] = t;
        t = c[3];
        c[3] = m[0];
        m[0] = t;
    }
    int r = dync__xg_def(g, i);
    if (in->type == DYNC_F64) {
        dync__xg_unit(g, r, c[first], c[first + 1]);
        if (other < 0) return;
        if (g->pool_at[other] < 0) g->pool_at[other] = dync__xg_frame(g, 64 * DYNC__XG_UNROLL);
        dync__xg_unit(g, m[0], c[2 - first], c[3 - first]);
        dync__x_v(a, DYNC__X_MOVUPS_M, vl, m[0], 0, dync__xg_at(g->pool_at[other] + 64 * g->u), 0,
                  0);
        return;
    }
    dync__x_v(a, DYNC__X_PSLLQ, vl, 0, c[0], dync__x_reg(c[0]), 32, 0);
    dync__x_v(a, DYNC__X_PSRLQ, vl, 0, c[0], dync__x_reg(c[0]), 40, 0);
    if (g->isa == 2) {
        dync__x_v(a, DYNC__X_CVTQQ2PS, vl, r, 0, dync__x_reg(c[0]), 0, 0);
    } else {
        dync__xg_mask_narrow(g, c[0]);
        dync__x_v(a, DYNC__X_CVTDQ2PS, 0, r, 0, dync__x_reg(c[0]), 0, 0);
    }
    dync__x_v(a, DYNC__X_MULPS, dync__xg_vl(g, DYNC_F32), r, r,
              dync__xg_const(g, DYNC_F32, 1.0 / 16777216.0, 0), 0, 0);
}

/* ---- the table ------------------------------------------------------------------------------- */

enum { DYNC__XP_ONE = 1, DYNC__XP_TWO, DYNC__XP_SWAPS };
/* Primitives that are one instruction, by operand type f d i l; 0: not so. AVX-512 only ones are
 * marked. */
typedef struct dync__xg_simple {
    uint8_t prim, shape, imm, avx512_l;
    uint8_t insn[4];
} dync__xg_simple;
static const dync__xg_simple dync__xg_simples[] = {
#define DYNC__X(prim, shape, imm, only, f, d, i, l) \
    {DYNC__P_##prim, DYNC__XP_##shape, imm, only, {f, d, i, l}},
    DYNC__X(add, SWAPS, 0, 0, DYNC__X_ADDPS, DYNC__X_ADDPD, DYNC__X_PADDD, DYNC__X_PADDQ)
        DYNC__X(sub, TWO, 0, 0, DYNC__X_SUBPS, DYNC__X_SUBPD, DYNC__X_PSUBD, DYNC__X_PSUBQ)
            DYNC__X(mul, SWAPS, 0, 1, DYNC__X_MULPS, DYNC__X_MULPD, DYNC__X_PMULLD,
                    DYNC__X_PMULLQ) DYNC__X(div, TWO, 0, 0, DYNC__X_DIVPS, DYNC__X_DIVPD, 0, 0)
                DYNC__X(sqrt, ONE, 0, 0, DYNC__X_SQRTPS, DYNC__X_SQRTPD, 0,
                        0) DYNC__X(rint, ONE, 8, 0, DYNC__X_ROUNDPS, DYNC__X_ROUNDPD, 0, 0)
                    DYNC__X(floor, ONE, 9, 0, DYNC__X_ROUNDPS, DYNC__X_ROUNDPD, 0,
                            0) DYNC__X(ceil, ONE, 10, 0, DYNC__X_ROUNDPS, DYNC__X_ROUNDPD, 0, 0)
                        DYNC__X(trunc, ONE, 11, 0, DYNC__X_ROUNDPS, DYNC__X_ROUNDPD, 0,
                                0) DYNC__X(min, SWAPS, 0, 1, 0, 0, DYNC__X_PMINSD, DYNC__X_PMINSQ)
                            DYNC__X(max, SWAPS, 0, 1, 0, 0, DYNC__X_PMAXSD, DYNC__X_PMAXSQ)
                                DYNC__X(abs, ONE, 0, 1, 0, 0, DYNC__X_PABSD, DYNC__X_PABSQ)
                                    DYNC__X(and_, SWAPS, 0, 0, 0, 0, DYNC__X_ANDPS, DYNC__X_ANDPS)
                                        DYNC__X(or_, SWAPS, 0, 0, 0, 0, DYNC__X_ORPS, DYNC__X_ORPS)
                                            DYNC__X(xor_, SWAPS, 0, 0, 0, 0, DYNC__X_XORPS,
                                                    DYNC__X_XORPS)
                                                DYNC__X(shl, TWO, 0, 0, 0, 0, DYNC__X_PSLLVD,
                                                        DYNC__X_PSLLVQ)
                                                    DYNC__X(shr, TWO, 0, 1, 0, 0, DYNC__X_PSRAVD,
                                                            DYNC__X_PSRAVQ)
#undef DYNC__X
};

static bool dync__xg_is_simple(dync__xg *g, int i, int type)
{
    const dync__inst *in = dync__xg_inst(g, i);
    int letter = type == DYNC_F32   ? 0
                 : type == DYNC_F64 ? 1
                 : type == DYNC_I32 ? 2
                 : type == DYNC_I64 ? 3
                                    : -1;
    for (int s = 0; letter >= 0 && s < DYNC__COUNT_OF(dync__xg_simples); s++) {
        const dync__xg_simple *row = &dync__xg_simples[s];
        if (row->prim != in->prim || !row->insn[letter]) continue;
        if (letter == 3 && row->avx512_l && g->isa < 2) return false;
        if (row->shape == DYNC__XP_ONE)
            dync__xg_one(g, i, row->insn[letter], dync__xg_vl(g, type), row->imm);
        else
            dync__xg_two(g, i, in->arg[0], in->arg[1], row->insn[letter], dync__xg_vl(g, type),
                         row->shape == DYNC__XP_SWAPS);
        return true;
    }
    return false;
}

static void dync__xg_sign(dync__xg *g, int i, int type, int vl)
{
    const dync__inst *in = dync__xg_inst(g, i);
    dync__xasm *a = &g->a;
    bool wide = dync__xg_type_wide(type), neg = in->prim == DYNC__P_neg;
    uint64_t sign = wide ? UINT64_C(1) << 63 : 0x80000000u;
    if (dync__xg_type_float(type)) {
        if (neg)
            dync__xg_with_const(g, i, DYNC__X_XORPS, vl, dync__x_constant(a, sign, wide ? 8 : 4));
        else
            dync__xg_with_const(g, i, DYNC__X_ANDPS, vl,
                                dync__x_constant(a, sign - 1, wide ? 8 : 4));
        return;
    }
    int x = dync__xg_src(g, in->arg[0]), r = dync__xg_def(g, i);
    if (neg) {
        dync__xg_zero(g, vl, r);
        dync__x_v(a, wide ? DYNC__X_PSUBQ : DYNC__X_PSUBD, vl, r, r, dync__x_reg(x), 0, 0);
        return;
    }
    int t = dync__xg_temp(g); /* |x| of 64-bit lanes under AVX2 */
    dync__xg_sign64(g, vl, t, x);
    dync__x_v(a, DYNC__X_XORPS, vl, r, x, dync__x_reg(t), 0, 0);
    dync__x_v(a, DYNC__X_PSUBQ, vl, r, r, dync__x_reg(t), 0, 0);
}

DYNC__FN void dync__xg_prim(dync__xg *g, int i)
{
    const dync__inst *in = dync__xg_inst(g, i);
    int type = dync__xg_arg_type(g, i), vl = dync__xg_vl(g, type);
    bool wide = dync__xg_type_wide(type);
    if (g->b->clamp[i]) { /* a < b ? b : a, or b < a ? b : a */
        int32_t arg[3];
        dync__lp_operands(g->b, i, arg);
        dync__xg_two(g, i, arg[1], arg[0],
                     g->b->clamp[i] == 1 ? (wide ? DYNC__X_MAXPD : DYNC__X_MAXPS)
                     : wide              ? DYNC__X_MINPD
                                         : DYNC__X_MINPS,
                     vl, false);
        return;
    }
    if (dync__xg_is_simple(g, i, type)) return;
    switch (in->prim) {
    case DYNC__P_fma: dync__xg_fma(g, i, vl, wide); break;
    case DYNC__P_neg:
    case DYNC__P_abs: dync__xg_sign(g, i, type, vl); break;
    case DYNC__P_min:
    case DYNC__P_max:
        if (type == DYNC_I64)
            dync__xg_minmax64(g, i, in->prim == DYNC__P_min);
        else
            dync__xg_minmax(g, i,
                            in->prim == DYNC__P_min ? (wide ? DYNC__X_MINPD : DYNC__X_MINPS)
                            : wide                  ? DYNC__X_MAXPD
                                                    : DYNC__X_MAXPS,
                            wide ? DYNC__X_CMPPD : DYNC__X_CMPPS, vl, wide);
        break;
    case DYNC__P_mul: dync__xg_mul64(g, i); break;
    case DYNC__P_div:
    case DYNC__P_rem: dync__xg_divide(g, i); break;
    case DYNC__P_random: dync__xg_uniform(g, i); break;
    case DYNC__P_shr: dync__xg_shr64(g, i); break;
    case DYNC__P_lt:
    case DYNC__P_le:
    case DYNC__P_eq:
    case DYNC__P_ne:
        if (type == DYNC_BOOL)
            dync__xg_logic(g, i);
        else
            dync__xg_compare(g, i, type);
        break;
    case DYNC__P_not_:
        if (type == DYNC_BOOL)
            dync__xg_logic(g, i);
        else
            dync__xg_with_const(g, i, DYNC__X_XORPS, vl, dync__x_constant(&g->a, 0xff, 1));
        break;
    case DYNC__P_and_:
    case DYNC__P_or_:
    case DYNC__P_xor_: dync__xg_logic(g, i); break;
    case DYNC__P_select: dync__xg_select(g, i); break;
    case DYNC__P_cast: dync__xg_cast(g, i); break;
    case DYNC__P_wrap: dync__xg_wrap(g, i); break;
    default: g->a.failed = true;
    }
}
#endif
