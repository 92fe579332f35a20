/* codegen/x86_memory.c: verbs of numbers, control and memory as x86-64 instructions
 * (x86_verbs.h). Before x86_arith.c. */
#include "../dync.in.h"
#include "x86_verbs.h"
DYNC__LEAN
#if DYNC__JIT

/* ---- numbers, control ------------------------------------------------------------------------ */

static void dync__xe_get(dync__asm *a, const dync__ins *i)
{
    int insn = DYNC__X_MOV;
    switch (i->v.type) {
    case DYNC_F16:
    case DYNC_BF16: insn = DYNC__X_MOVZX16; break;
    case DYNC_I16: insn = DYNC__X_MOVSX16; break;
    case DYNC_I8: insn = DYNC__X_MOVSX8; break;
    case DYNC_U8:
    case DYNC_BOOL: insn = DYNC__X_MOVZX8; break;
    case DYNC_I32: insn = DYNC__X_MOVSXD; break;
    case DYNC_F32: insn = DYNC__X_MOV32; break;
    default: break;
    }
    dync__x_i(a, insn, i->to, i->y, 0);
}

static void dync__xe_put(dync__asm *a, const dync__ins *i)
{
    static const int store[] = {0, DYNC__X_MOV8_M, DYNC__X_MOV16_M, 0, DYNC__X_MOV32_M, 0, 0,
                                0, DYNC__X_MOV_M};
    dync__x_i(a, store[dync__dtype_info(i->v.type)->bytes], i->x, i->y, 0);
}

static void dync__xe_jump(dync__asm *a, const dync__ins *i)
{
    static const int8_t codes[] = {DYNC__CC_L,  DYNC__CC_LE, DYNC__CC_E,
                                   DYNC__CC_NE, DYNC__CC_GE, DYNC__CC_G};
    switch (i->verb) {
    case DYNC__A_JUMP_IF: dync__x_i(a, DYNC__X_CMP, i->x, i->y, 0); break;
    case DYNC__A_JUMP_IF_N: dync__x_i(a, DYNC__X_CMPI, 0, i->y, i->n); break;
    case DYNC__A_SUB_JUMP: dync__x_i(a, DYNC__X_SUBI, 0, i->y, i->n); break;
    case DYNC__A_ADD_JUMP: dync__x_i(a, DYNC__X_ADDI, 0, i->y, i->n); break;
    case DYNC__A_LESS_JUMP: dync__x_i(a, DYNC__X_SUB, i->to, i->y, 0); break;
    default: dync__x_i(a, DYNC__X_TESTI, 0, dync__a_reg(i->x), i->n); break;
    }
    dync__x_jump(a, codes[i->op], i->label);
}

static void dync__xe_mask_jump(dync__asm *a, const dync__ins *i)
{
    if (a->t->n_masks) {
        dync__x_k(a, DYNC__X_KMOVW_GK, DYNC__RAX, 0, dync__a_reg(i->x), 0);
        dync__x_i(a, DYNC__X_TESTI, 0, dync__a_reg(DYNC__RAX), 0xffff);
    } else {
        dync__x_v(a, DYNC__X_PTEST, dync__xe_vl_as(a, i->v, DYNC_BOOL), i->x, 0, dync__a_reg(i->x),
                  0, 0);
    }
    dync__x_jump(a, DYNC__CC_E, i->label);
}

static void dync__xe_saved(dync__asm *a, int set, bool enter)
{
    static const int8_t saved[] = {DYNC__RBX, DYNC__RBP, DYNC__R12,
                                   DYNC__R13, DYNC__R14, DYNC__R15};
    for (int i = 0, n = DYNC__COUNT_OF(saved); i < n; i++) {
        int r = saved[enter ? i : n - 1 - i];
        if (!(set >> r & 1)) continue;
        if (enter)
            dync__x_push(a, r);
        else
            dync__x_pop(a, r);
    }
    if (!enter) dync__x_ret(a);
}

static void dync__xe_divide(dync__asm *a, bool rem)
{
    int special = dync__a_label(a), zero = dync__a_label(a), done = dync__a_label(a);
    dync__place rax = dync__a_reg(DYNC__RAX), divisor = dync__a_reg(DYNC__RSI);
    dync__x_i(a, DYNC__X_LEA, DYNC__RDX, dync__a_mem(DYNC__RSI, 1), 0);
    dync__x_i(a, DYNC__X_TESTI, 0, dync__a_reg(DYNC__RDX), -2); /* 0 for divisors -1 and 0 */
    dync__x_jump(a, DYNC__CC_E, special);
    dync__x_i(a, DYNC__X_CQO, 0, rax, 0);
    dync__x_i(a, DYNC__X_IDIV, 0, divisor, 0);
    if (rem) dync__x_i(a, DYNC__X_MOV, DYNC__RAX, dync__a_reg(DYNC__RDX), 0);
    dync__x_jump(a, DYNC__CC_JMP, done);
    dync__x_bind(a, special);
    if (rem) dync__x_jump(a, DYNC__CC_JMP, zero);
    dync__x_i(a, DYNC__X_IMUL, DYNC__RAX, divisor, 0); /* by -1 or 0 */
    dync__x_jump(a, DYNC__CC_JMP, done);
    dync__x_bind(a, zero);
    dync__x_i(a, DYNC__X_MOVI, 0, rax, 0);
    dync__x_bind(a, done);
}

static void dync__xe_frame(dync__asm *a, const dync__ins *i)
{
    dync__place noted = dync__a_mem(DYNC__RSP, i->n);
    if (i->verb == DYNC__A_FRAME_OUT) {
        dync__x_i(a, DYNC__X_MOV, DYNC__RSP, noted, 0);
        return;
    }
    dync__x_i(a, DYNC__X_MOV, DYNC__RAX, dync__a_reg(DYNC__RSP), 0);
    dync__x_i(a, DYNC__X_SUB, DYNC__RSP, i->y, 0);
    dync__x_i(a, DYNC__X_ANDI, 0, dync__a_reg(DYNC__RSP), -64);
    dync__x_i(a, DYNC__X_MOV_M, DYNC__RAX, noted, 0);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void dync__xe_load(dync__asm *a, const dync__ins *i)
{
    if (dync__xe_k(a, i->v.type))
        dync__x_k(a, DYNC__X_KMOVW, i->to, 0, i->y, 0);
    else
        dync__x_v(a, i->y.is_mem ? DYNC__X_MOVUPS : DYNC__X_MOVAPS, dync__xe_vl(a, i->v), i->to, 0,
                  i->y, 0, 0);
}

static void dync__xe_store(dync__asm *a, const dync__ins *i)
{
    int bytes = i->v.lanes * (i->v.type == DYNC_BOOL ? 4 : dync__dtype_info(i->v.type)->bytes);
    int insn = bytes == 4   ? DYNC__X_MOVD_M
               : bytes == 8 ? DYNC__X_MOVQ_M
               : i->op      ? DYNC__X_MOVNTPS_M
                            : DYNC__X_MOVUPS_M;
    if (dync__xe_k(a, i->v.type))
        dync__x_k(a, DYNC__X_KMOVW_M, i->x, 0, i->y, 0);
    else
        dync__x_v(a, insn, bytes <= 8 ? 0 : dync__xe_vl(a, i->v), i->x, 0, i->y, 0, 0);
}

static const int dync__xe_loads[] = {0, DYNC__X_MOVDQU8, DYNC__X_MOVDQU16, 0, DYNC__X_MOVUPS, 0, 0,
                                     0, DYNC__X_MOVUPD};
static const int dync__xe_stores[] = {
    0, DYNC__X_MOVDQU8_M, DYNC__X_MOVDQU16_M, 0, DYNC__X_MOVUPS_M, 0, 0, 0, DYNC__X_MOVUPD_M};

static void dync__xe_part(dync__asm *a, const dync__ins *i)
{
    bool load = i->verb == DYNC__A_LOAD_PART;
    int bytes = dync__dtype_info(i->v.type)->bytes, vl = dync__xe_vl_bytes(i->v.lanes * bytes),
        reg = load ? i->to : i->x;
    if (a->t->n_masks) {
        dync__x_v(a, (load ? dync__xe_loads : dync__xe_stores)[bytes], vl, reg, 0, i->y, 0,
                  i->z | (load ? DYNC__X_ZERO : 0));
        return;
    }
    int insn = load ? (bytes == 8 ? DYNC__X_MASKMOVPD : DYNC__X_MASKMOVPS)
                    : (bytes == 8 ? DYNC__X_MASKMOVPD_M : DYNC__X_MASKMOVPS_M);
    dync__x_v(a, insn, vl, reg, i->z, i->y, 0, 0);
}

static void dync__xe_tail(dync__asm *a, const dync__ins *i)
{
    int V = i->v.lanes, vl = dync__xe_vl_bytes(V * 4);
    if (a->t->n_masks) {
        dync__x_i(a, DYNC__X_MOVI, 0, dync__a_reg(DYNC__RAX), -1);
        dync__x_k(a, DYNC__X_BZHI, DYNC__RAX, DYNC__RDX, dync__a_reg(DYNC__RAX), 0);
        for (int u = 0; u < i->n; u++) {
            dync__x_i(a, DYNC__X_MOV, DYNC__RSI, dync__a_reg(DYNC__RAX), 0);
            if (u) dync__x_i(a, DYNC__X_SHRI, 0, dync__a_reg(DYNC__RSI), u * V);
            dync__x_i(a, DYNC__X_ANDI, 0, dync__a_reg(DYNC__RSI), (1 << V) - 1);
            dync__x_i(a, DYNC__X_MOV16_M, DYNC__RSI, dync__a_mem(DYNC__RSP, i->m + 64 * u), 0);
        }
        return;
    }
    int left = dync__xe_vector(a), m = dync__xe_vector(a);
    dync__x_v(a, DYNC__X_BROADCASTD, vl, left, 0, i->y, 0, 0);
    for (int u = 0; u < i->n; u++) {
        int32_t lane[16];
        for (int l = 0; l < 16; l++) lane[l] = u * V + l;
        dync__x_v(a, DYNC__X_PCMPGTD, vl, m, left, dync__a_constant64(a, lane), 0, 0);
        dync__x_v(a, DYNC__X_MOVUPS_M, vl, m, 0, dync__a_mem(DYNC__RSP, i->m + 64 * u), 0, 0);
        if (i->v.type != DYNC_I64) continue;
        dync__x_v(a, DYNC__X_PMOVSXDQ, 1, m, 0, dync__a_reg(m), 0, 0);
        dync__x_v(a, DYNC__X_MOVUPS_M, 1, m, 0,
                  dync__a_mem(DYNC__RSP, i->m + DYNC__A_TAIL_BYTES + 64 * u), 0, 0);
    }
}

static void dync__xe_tail_get(dync__asm *a, const dync__ins *i)
{
    dync__place from = i->y;
    if (a->t->n_masks) {
        dync__x_k(a, DYNC__X_KMOVW, i->to, 0, from, 0);
        return;
    }
    if (dync__xe_wide(i->v.type)) from.disp += DYNC__A_TAIL_BYTES;
    dync__x_v(a, DYNC__X_MOVUPS, dync__xe_vl_bytes(i->v.lanes * dync__dtype_info(i->v.type)->bytes),
              i->to, 0, from, 0, 0);
}

static void dync__xe_insert(dync__asm *a, const dync__ins *i)
{
    static const int insns[] = {0, DYNC__X_PINSRB, DYNC__X_PINSRW, 0, DYNC__X_PINSRD, 0, 0,
                                0, DYNC__X_PINSRQ};
    dync__x_v(a, insns[dync__dtype_info(i->v.type)->bytes], 0, i->to, i->to, i->y, i->n, 0);
}

/* Bytes to a mask; where masks have registers by way of vector x. */
static void dync__xe_widen_bool(dync__asm *a, const dync__ins *i)
{
    int vl = dync__xe_vl_bytes(i->v.lanes * 4);
    if (a->t->n_masks) {
        if (i->y.is_mem)
            dync__x_v(a, i->v.lanes == 16 ? DYNC__X_MOVUPS : DYNC__X_MOVQ, 0, i->x, 0, i->y, 0, 0);
        dync__x_v(a, DYNC__X_PTESTMB, 0, i->to, i->x, dync__a_reg(i->x), 0, 0);
        return;
    }
    dync__x_v(a, DYNC__X_PMOVZXBD, vl, i->to, 0, i->y, 0, 0);
    int zero = dync__xe_vector(a);
    dync__xe_rrr(a, DYNC__X_XORPS, vl, zero, zero, zero);
    dync__xe_rrr(a, DYNC__X_PCMPGTD, vl, i->to, i->to, zero);
}

static void dync__xe_widen(dync__asm *a, const dync__ins *i)
{
    int vl = dync__xe_vl_bytes(i->v.lanes * 4), r = i->to, k = i->z ? i->z | DYNC__X_ZERO : 0;
    switch (i->n) {
    case DYNC_BOOL: dync__xe_widen_bool(a, i); break;
    case DYNC_F16: dync__x_v(a, DYNC__X_CVTPH2PS, vl, r, 0, i->y, 0, k); break;
    case DYNC_BF16:
        dync__x_v(a, DYNC__X_PMOVZXWD, vl, r, 0, i->y, 0, k);
        dync__x_v(a, DYNC__X_PSLLD, vl, 0, r, dync__a_reg(r), 16, 0);
        break;
    case DYNC_I16:
        dync__x_v(a, i->op ? DYNC__X_PMOVZXWD : DYNC__X_PMOVSXWD, vl, r, 0, i->y, 0, k);
        break;
    case DYNC_I8: dync__x_v(a, DYNC__X_PMOVSXBD, vl, r, 0, i->y, 0, k); break;
    case DYNC_U8: dync__x_v(a, DYNC__X_PMOVZXBD, vl, r, 0, i->y, 0, k); break;
    default:
        if (i->y.is_mem) dync__x_v(a, DYNC__X_MOVUPS, dync__xe_vl(a, i->v), r, 0, i->y, 0, 0);
    }
}

/* Lanes of 32 bits to `bytes` each, side by side. */
static void dync__xe_pack(dync__asm *a, int lanes, int bytes, int to, int from)
{
    int vl = dync__xe_vl_bytes(lanes * 4);
    if (a->t->n_masks) {
        dync__x_v(a, bytes == 1 ? DYNC__X_PMOVDB : DYNC__X_PMOVDW, vl, from, 0, dync__a_reg(to), 0,
                  0);
        return;
    }
    uint8_t pick[64];
    for (int i = 0; i < 64; i++)
        pick[i] = (uint8_t)(i % 16 < 4 * bytes ? i % 16 / bytes * 4 + i % bytes : 0x80);
    dync__x_v(a, DYNC__X_PSHUFB, vl, to, from, dync__a_constant64(a, pick), 0, 0);
    if (lanes < 8) return;
    int high = dync__xe_vector(a);
    dync__x_v(a, DYNC__X_EXTRACT128, 1, to, 0, dync__a_reg(high), 1, 0);
    dync__xe_rrr(a, bytes == 1 ? DYNC__X_PUNPCKLDQ : DYNC__X_PUNPCKLQDQ, 0, to, to, high);
}

/* Rounded: 16 bits a lane, or in the low halves of lanes; to != x. The processor's own rounding
 * takes subnormal numbers for zero: vectors with one of them go the long way. */
DYNC__FN void dync__xe_bf16(dync__asm *a, int lanes, int to, int x, bool packed)
{
    bool native = a->t->n_masks && dync__cpu_features() & DYNC__CPU_BF16;
    int vl = dync__xe_vl_bytes(lanes * 4), t = dync__xe_vector(a), m = dync__xe_mask(a);
    int done = native ? dync__a_label(a) : 0;
    if (native) {
        dync__x_v(a, DYNC__X_CVTNEPS2BF16, vl, to, 0, dync__a_reg(x), 0, 0);
        if (!packed) dync__x_v(a, DYNC__X_PMOVZXWD, vl, to, 0, dync__a_reg(to), 0, 0);
        dync__x_v(a, DYNC__X_FPCLASSPS, vl, m, 0, dync__a_reg(x), 0x20, 0);
        dync__x_k(a, DYNC__X_KORTESTW, m, 0, dync__a_reg(m), 0);
        dync__x_jump(a, DYNC__CC_E, done);
    }
    dync__x_v(a, DYNC__X_PSRLD, vl, 0, t, dync__a_reg(x), 16, 0);
    dync__x_v(a, DYNC__X_ANDPS, vl, to, t, dync__a_constant(a, 1, 4), 0, 0);
    dync__x_v(a, DYNC__X_PADDD, vl, to, to, dync__a_constant(a, 0x7fff, 4), 0, 0);
    dync__xe_rrr(a, DYNC__X_PADDD, vl, to, to, x);
    dync__x_v(a, DYNC__X_PSRLD, vl, 0, to, dync__a_reg(to), 16, 0);
    dync__x_v(a, DYNC__X_ORPS, vl, t, t, dync__a_constant(a, 0x40, 4), 0, 0);
    dync__x_v(a, DYNC__X_CMPPS, vl, m, x, dync__a_reg(x), DYNC__XC_UNORD, 0);
    if (a->t->n_masks)
        dync__x_v(a, DYNC__X_MOVUPS, vl, to, 0, dync__a_reg(t), 0, m);
    else
        dync__x_v(a, DYNC__X_BLENDVPS, vl, to, to, dync__a_reg(t), m << 4, 0);
    if (packed) dync__xe_pack(a, lanes, 2, to, to);
    if (native) dync__x_bind(a, done);
}

static void dync__xe_narrow(dync__asm *a, const dync__ins *i)
{
    int vl = dync__xe_vl_bytes(i->v.lanes * 4), t = i->to;
    switch (i->n) {
    case DYNC_F16: dync__x_v(a, DYNC__X_CVTPS2PH, vl, i->x, 0, dync__a_reg(t), 0, 0); break;
    case DYNC_BF16: dync__xe_bf16(a, i->v.lanes, t, i->x, true); break;
    case DYNC_I16: dync__xe_pack(a, i->v.lanes, 2, t, i->x); break;
    case DYNC_BOOL:
        if (a->t->n_masks) {
            dync__x_v(a, DYNC__X_PMOVM2B, 0, t, 0, dync__a_reg(i->x), 0, 0);
            dync__x_v(a, DYNC__X_ANDPS, 0, t, t, dync__a_constant(a, 1, 1), 0, 0);
            break;
        }
        dync__x_v(a, DYNC__X_ANDPS, vl, t, i->x, dync__a_constant(a, 1, 4), 0, 0);
        dync__xe_pack(a, i->v.lanes, 1, t, t);
        break;
    default: dync__xe_pack(a, i->v.lanes, 1, t, i->x); break;
    }
}

/* ---- which is which -------------------------------------------------------------------------- */

DYNC__FN void dync__xe_number(dync__asm *a, const dync__ins *i)
{
    switch (i->verb) {
    case DYNC__A_SET: dync__x_i(a, DYNC__X_MOVI, 0, dync__a_reg(i->to), i->n); break;
    case DYNC__A_GET: dync__x_i(a, DYNC__X_MOV, i->to, i->y, 0); break;
    case DYNC__A_GET_AS: dync__xe_get(a, i); break;
    case DYNC__A_PUT: dync__x_i(a, DYNC__X_MOV_M, i->x, i->y, 0); break;
    case DYNC__A_PUT_AS: dync__xe_put(a, i); break;
    case DYNC__A_ADDRESS: dync__x_i(a, DYNC__X_LEA, i->to, i->y, 0); break;
    case DYNC__A_ADD: dync__x_i(a, DYNC__X_ADD, i->to, i->y, 0); break;
    case DYNC__A_SUB: dync__x_i(a, DYNC__X_SUB, i->to, i->y, 0); break;
    case DYNC__A_MUL: dync__x_i(a, DYNC__X_IMUL, i->to, i->y, 0); break;
    case DYNC__A_ADD_TO: dync__x_i(a, DYNC__X_ADD_M, i->x, i->y, 0); break;
    case DYNC__A_ADD_N: dync__x_i(a, DYNC__X_ADDI, 0, i->y, i->n); break;
    case DYNC__A_SUB_N: dync__x_i(a, DYNC__X_SUBI, 0, i->y, i->n); break;
    case DYNC__A_AND_N: dync__x_i(a, DYNC__X_ANDI, 0, i->y, i->n); break;
    case DYNC__A_SHL_N: dync__x_i(a, DYNC__X_SHLI, 0, i->y, i->n); break;
    case DYNC__A_SHR_N: dync__x_i(a, DYNC__X_SHRI, 0, i->y, i->n); break;
    case DYNC__A_ONES:
        dync__x_i(a, DYNC__X_NEG32, 0, dync__a_reg(i->to), 0);
        dync__x_i(a, DYNC__X_SBB32, i->to, dync__a_reg(i->to), 0);
        break;
    case DYNC__A_DRAIN: dync__x_sfence(a); break;
    case DYNC__A_DIVIDE: dync__xe_divide(a, i->op == DYNC__P_rem); break;
    default: dync__x_i(a, i->n == 1 ? DYNC__X_PREFETCHT0 : DYNC__X_PREFETCHT1, 0, i->y, 0); break;
    }
}

DYNC__FN void dync__xe_control(dync__asm *a, const dync__ins *i)
{
    switch (i->verb) {
    case DYNC__A_LABEL: dync__x_bind(a, i->label); break;
    case DYNC__A_JUMP: dync__x_jump(a, DYNC__CC_JMP, i->label); break;
    case DYNC__A_MASK_JUMP: dync__xe_mask_jump(a, i); break;
    case DYNC__A_ENTER: dync__xe_saved(a, i->n, true); break;
    case DYNC__A_LEAVE: dync__xe_saved(a, i->n, false); break;
    case DYNC__A_FRAME_IN:
    case DYNC__A_FRAME_OUT: dync__xe_frame(a, i); break;
    default: dync__xe_jump(a, i); break;
    }
}

DYNC__FN void dync__xe_memory(dync__asm *a, const dync__ins *i)
{
    bool wide = dync__xe_wide(i->v.type);
    int vl = dync__xe_vl(a, i->v);
    switch (i->verb) {
    case DYNC__A_LOAD: dync__xe_load(a, i); break;
    case DYNC__A_STORE: dync__xe_store(a, i); break;
    case DYNC__A_SPREAD:
        dync__x_v(a, wide ? DYNC__X_BROADCASTQ : DYNC__X_BROADCASTD, vl, i->to, 0, i->y, 0, 0);
        break;
    case DYNC__A_FIRST:
        dync__x_v(a, wide ? DYNC__X_MOVQ : DYNC__X_MOVD, 0, i->to, 0, i->y, 0, 0);
        break;
    case DYNC__A_FIRST_TO:
        dync__x_v(a,
                  !wide         ? DYNC__X_MOVD_M
                  : i->y.is_mem ? DYNC__X_MOVQ_M
                                : DYNC__X_MOVQ_G,
                  0, i->x, 0, i->y, 0, 0);
        break;
    case DYNC__A_INSERT: dync__xe_insert(a, i); break;
    case DYNC__A_ZERO: dync__xe_rrr(a, DYNC__X_XORPS, vl, i->to, i->to, i->to); break;
    case DYNC__A_TAIL: dync__xe_tail(a, i); break;
    case DYNC__A_TAIL_GET: dync__xe_tail_get(a, i); break;
    case DYNC__A_WIDEN: dync__xe_widen(a, i); break;
    case DYNC__A_NARROW: dync__xe_narrow(a, i); break;
    default: dync__xe_part(a, i); break;
    }
}
#endif
