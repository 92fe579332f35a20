/* codegen/x86_verbs.h: what the files that write verbs of target.h as x86-64 instructions share:
 * x86_memory.c (numbers, control, memory), x86_arith.c, x86_convert.c (comparisons too),
 * x86_lanes.c, x86_target.c (which is which). For AVX2 (level 1) and AVX-512 (level 2).
 *
 * AVX-512 keeps masks in registers k1 to k7 and merges under them; AVX2 has vectors of ones and
 * zeros, blends, and masked moves of 4 and 8 bytes. Results are those of loop/eval.c to the bit,
 * NaN's payload aside. */
#ifndef DYNC__X86_VERBS_H
#define DYNC__X86_VERBS_H
#include "x86_enc.h"
#if DYNC__JIT

/* comparisons of floats */
enum {
    DYNC__XC_EQ = 0,
    DYNC__XC_UNORD = 3,
    DYNC__XC_NE = 4,
    DYNC__XC_ORD = 7,
    DYNC__XC_LT = 0x11,
    DYNC__XC_LE = 0x12,
    DYNC__XC_GE = 0x1d,
    DYNC__XC_GT = 0x1e
};

DYNC__INLINE bool dync__xe_wide(int type) { return dync__dtype_info(type)->bytes == 8; }
DYNC__INLINE bool dync__xe_float(int type) { return type == DYNC_F64 || type == DYNC_F32; }
DYNC__INLINE bool dync__xe_k(const dync__asm *a, int type)
{
    return type == DYNC_BOOL && a->t->n_masks;
}
/* between integers of 64 bits and floats? */
DYNC__INLINE bool dync__xe_is_long(int from, int to)
{
    return (from == DYNC_I64 && dync__xe_float(to)) || (to == DYNC_I64 && dync__xe_float(from));
}
/* The vector length that holds so many bytes. */
DYNC__INLINE int dync__xe_vl_bytes(int bytes) { return bytes > 32 ? 2 : bytes > 16 ? 1 : 0; }
DYNC__INLINE int dync__xe_vl(const dync__asm *a, dync__vt v)
{
    int bytes = v.type == DYNC_BOOL ? 4 : dync__dtype_info(v.type)->bytes;
    return DYNC__MIN(dync__xe_vl_bytes(v.lanes * bytes), a->t->level);
}
DYNC__INLINE int dync__xe_vl_as(const dync__asm *a, dync__vt v, int type)
{
    return dync__xe_vl(a, dync__vt_of(type, v.lanes));
}
DYNC__INLINE int dync__xe_vector(dync__asm *a) { return a->scratch(a, DYNC__CLASS_VECTOR); }
/* A scratch mask: in its own register, or in a vector. */
DYNC__INLINE int dync__xe_mask(dync__asm *a)
{
    return a->scratch(a, a->t->n_masks ? DYNC__CLASS_MASK : DYNC__CLASS_VECTOR);
}
DYNC__INLINE void dync__xe_rrr(dync__asm *a, int insn, int vl, int to, int x, int y)
{
    dync__x_v(a, insn, vl, to, x, dync__a_reg(y), 0, 0);
}
DYNC__INLINE dync__place dync__xe_const(dync__asm *a, int type, double f, int64_t i)
{
    uint64_t bits = (uint64_t)i;
    float f32 = (float)f;
    if (type == DYNC_F32)
        bits = 0, memcpy(&bits, &f32, sizeof f32);
    else if (type == DYNC_F64)
        memcpy(&bits, &f, sizeof f);
    return dync__a_constant(a, bits, dync__xe_wide(type) ? 8 : 4);
}

/* ---- x86_memory.c ---------------------------------------------------------------------------- */
DYNC__FN void dync__xe_number(dync__asm *, const dync__ins *);
DYNC__FN void dync__xe_control(dync__asm *, const dync__ins *);
DYNC__FN void dync__xe_memory(dync__asm *, const dync__ins *);
/* rounded: 16 bits a lane, or in the low halves of lanes; to != x */
DYNC__FN void dync__xe_bf16(dync__asm *, int lanes, int to, int x, bool packed);
/* ---- x86_arith.c ----------------------------------------------------------------------------- */
/* The primitive's shape (target.h) if it is one instruction; -1: it is none. */
DYNC__FN int dync__xe_simple(const dync__target *, int op, int type);
DYNC__FN void dync__xe_op1(dync__asm *, const dync__ins *);
DYNC__FN void dync__xe_op2(dync__asm *, const dync__ins *);
DYNC__FN void dync__xe_op2_part(dync__asm *, const dync__ins *);
DYNC__FN void dync__xe_shift(dync__asm *, const dync__ins *);
/* ---- x86_convert.c --------------------------------------------------------------------------- */
DYNC__FN void dync__xe_compares(dync__asm *, const dync__ins *);
DYNC__FN void dync__xe_select(dync__asm *, const dync__ins *);
DYNC__FN void dync__xe_merge(dync__asm *, const dync__ins *);
DYNC__FN void dync__xe_convert(dync__asm *, const dync__ins *);
/* ---- x86_lanes.c ----------------------------------------------------------------------------- */
DYNC__FN void dync__xe_vectors(dync__asm *, const dync__ins *); /* arithmetic too */
#endif
#endif
