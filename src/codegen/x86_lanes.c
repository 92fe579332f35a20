/* codegen/x86_lanes.c: verbs of whole masks and between lanes as x86-64 instructions (x86_verbs.h).
 * After x86_convert.c. */
#include "../dync.in.h"
#include "x86_verbs.h"
DYNC__LEAN
#if DYNC__JIT

/* ---- masks ----------------------------------------------------------------------------------- */

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
