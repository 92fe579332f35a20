/* codegen/x86_enc.c: the encoder of x86_enc.h. Before: asm.c holds the bytes; after: x86_memory.c
 * and its neighbours, which write verbs.
 *
 * Each instruction is one row of a table and one encoder serves a kind: VEX, EVEX (any vector in
 * AVX-512 code, so that every register and mask can be named), VEX of masks, integer. The listing
 * is written from the same rows, as objdump would print the bytes; tests compare the two. Sources:
 * Intel SDM vol. 2, chapters 2.1 to 2.7 (prefixes, disp8*N). */
#include "../dync.in.h"
#include "x86_enc.h"
DYNC__LEAN
#if DYNC__JIT

#define DYNC__XN(n) DYNC__XN_##n
enum {
    DYNC__XN_1 = 1,
    DYNC__XN_2 = 2,
    DYNC__XN_4 = 4,
    DYNC__XN_8 = 8,
    DYNC__XN_16 = 16,
    DYNC__XN_32 = 32
};
static const dync__x_row dync__x_rows[] = {
#define DYNC__X(name, vex, evex, map, pp, op, w, form, n) \
    {vex, evex, map, pp, op, w, DYNC__XF_##form, DYNC__XN(n)},
    DYNC__X86_VECTOR(DYNC__X)
#undef DYNC__X
#define DYNC__X(name, vex, map, pp, op, w, l, form) {vex, NULL, map, pp, op, w, DYNC__XF_##form, l},
        DYNC__X86_MASK(DYNC__X)
#undef DYNC__X
#define DYNC__X(name, vex, prefix, w, two, op, form) \
    {vex, NULL, two, prefix, op, w, DYNC__XF_##form, 0},
            DYNC__X86_INT(DYNC__X)
#undef DYNC__X
};
#undef DYNC__XN

/* ---- bytes ----------------------------------------------------------------------------------- */

DYNC__BUSY static void dync__x_8(dync__asm *a, int byte)
{
    if (!dync__avec_push(a->arena, &a->code, (uint8_t)byte)) a->failed = true;
}

static void dync__x_32(dync__asm *a, int32_t x)
{
    for (int i = 0; i < 4; i++) dync__x_8(a, (int)((uint32_t)x >> 8 * i & 255));
}

/* ModRM, SIB and displacement. scale_bytes: what an 8-bit displacement counts (EVEX), 1 else;
 * trailing: bytes of immediate that follow. */
DYNC__BUSY static void dync__x_modrm(dync__asm *a, int reg, dync__place rm, int scale_bytes,
                                     int trailing)
{
    int field = (reg & 7) << 3;
    if (!rm.is_mem) {
        dync__x_8(a, 0xc0 | field | (rm.reg & 7));
        return;
    }
    if (rm.base == DYNC__PLACE_POOL) {
        dync__x_8(a, field | 5);
        dync__fix fix = {a->code.n, rm.disp};
        if (!dync__avec_push(a->arena, &a->constant, fix)) a->failed = true;
        dync__x_32(a, trailing + 4); /* the distance counts from the end */
        return;
    }
    bool sib = rm.index >= 0 || (rm.base & 7) == DYNC__RSP;
    int mod = 2, small = rm.disp / scale_bytes;
    if (rm.disp == 0 && (rm.base & 7) != DYNC__RBP)
        mod = 0;
    else if (rm.disp % scale_bytes == 0 && small >= -128 && small <= 127)
        mod = 1;
    dync__x_8(a, mod << 6 | field | (sib ? 4 : rm.base & 7));
    if (sib) {
        int ss = rm.scale == 8 ? 3 : rm.scale == 4 ? 2 : rm.scale == 2 ? 1 : 0;
        dync__x_8(a, ss << 6 | ((rm.index < 0 ? 4 : rm.index) & 7) << 3 | (rm.base & 7));
    }
    if (mod == 1) dync__x_8(a, small & 255);
    if (mod == 2) dync__x_32(a, rm.disp);
}

DYNC__BUSY static void dync__x_vex(dync__asm *a, const dync__x_row *row, int w, int l, int reg,
                                   int vvvv, dync__place rm)
{
    int r = reg >> 3 & 1, x = rm.is_mem && rm.index >= 0 ? rm.index >> 3 & 1 : 0;
    int b = rm.is_mem ? (rm.base >= 0 ? rm.base >> 3 & 1 : 0) : rm.reg >> 3 & 1;
    int last = (~vvvv & 15) << 3 | l << 2 | row->pp;
    if (row->map == 1 && !w && !x && !b) {
        dync__x_8(a, 0xc5);
        dync__x_8(a, !r << 7 | last);
    } else {
        dync__x_8(a, 0xc4);
        dync__x_8(a, !r << 7 | !x << 6 | !b << 5 | row->map);
        dync__x_8(a, w << 7 | last);
    }
    dync__x_8(a, row->op);
}

DYNC__BUSY static void dync__x_evex(dync__asm *a, const dync__x_row *row, int vl, int reg, int vvvv,
                                    dync__place rm, int k)
{
    int r = reg >> 3 & 1, r2 = reg >> 4 & 1, x, b;
    if (rm.is_mem) {
        x = rm.index >= 0 ? rm.index >> 3 & 1 : 0;
        b = rm.base >= 0 ? rm.base >> 3 & 1 : 0;
    } else {
        x = rm.reg >> 4 & 1;
        b = rm.reg >> 3 & 1;
    }
    dync__x_8(a, 0x62);
    dync__x_8(a, !r << 7 | !x << 6 | !b << 5 | !r2 << 4 | row->map);
    dync__x_8(a, (row->w != 0) << 7 | (~vvvv & 15) << 3 | 4 | row->pp);
    dync__x_8(a, (k & DYNC__X_ZERO ? 128 : 0) | vl << 5 | !(vvvv >> 4 & 1) << 3 | (k & 7));
    dync__x_8(a, row->op);
}

/* ---- listing --------------------------------------------------------------------------------- */

/* ---- vectors --------------------------------------------------------------------------------- */

DYNC__BUSY DYNC__FN void dync__x_v(dync__asm *a, int insn, int vl, int reg, int vvvv,
                                   dync__place rm, int imm, int k)
{
    const dync__x_row *row = &dync__x_rows[insn];
    int shift = row->form == DYNC__XF_VM_2 ? 2 : row->form == DYNC__XF_VM_4 ? 4 : 6;
    bool by_extension = row->form >= DYNC__XF_VM_2 && row->form <= DYNC__XF_VM_6;
    bool has_imm = by_extension || row->form == DYNC__XF_RMI || row->form == DYNC__XF_MRI ||
                   row->form == DYNC__XF_RVMI || row->form == DYNC__XF_CMP ||
                   row->form == DYNC__XF_RVMR || row->form == DYNC__XF_KMI;
    int field = by_extension ? shift : reg, bytes = 16 << vl;
    if (a->listing) dync__x_list_v(a, row, vl, reg, vvvv, rm, imm, k);
    if (dync__x_evex_of(a) && row->evex) {
        int n = row->bytes;
        int unit = n > 0             ? n
                   : n == DYNC__XN_H ? bytes / 2
                   : n == DYNC__XN_Q ? bytes / 4
                   : n == DYNC__XN_O ? bytes / 8
                                     : bytes;
        dync__x_evex(a, row, vl, field, vvvv, rm, k);
        dync__x_modrm(a, field, rm, unit, has_imm);
    } else {
        /* map 1 ignores W but of general registers; tools want 0 */
        bool w = row->w == 1 && (row->map != 1 || row->form == DYNC__XF_GR);
        dync__x_vex(a, row, w, vl, field, vvvv, rm);
        dync__x_modrm(a, field, rm, 1, has_imm);
    }
    if (has_imm) dync__x_8(a, imm);
}

DYNC__FN void dync__x_k(dync__asm *a, int insn, int reg, int vvvv, dync__place rm, int imm)
{
    const dync__x_row *row = &dync__x_rows[insn];
    bool has_imm = row->form == DYNC__XF_KKI;
    if (a->listing) dync__x_list_m(a, row, reg, vvvv, rm, imm);
    dync__x_vex(a, row, row->w, row->bytes, reg, vvvv, rm);
    dync__x_modrm(a, reg, rm, 1, has_imm);
    if (has_imm) dync__x_8(a, imm);
}

/* ---- integers -------------------------------------------------------------------------------- */

DYNC__BUSY DYNC__FN void dync__x_i(dync__asm *a, int insn, int reg, dync__place rm, int32_t imm)
{
    const dync__x_row *row = &dync__x_rows[insn];
    int form = row->form, ext = -1, op = row->op, imm_bytes = 0;
    switch (form) {
    case DYNC__XF_I32_0:
        ext = 0;
        imm_bytes = 4;
        break;
    case DYNC__XF_RI_0:
    case DYNC__XF_RI_4:
    case DYNC__XF_RI_5:
    case DYNC__XF_RI_7:
        ext = form == DYNC__XF_RI_0 ? 0 : form == DYNC__XF_RI_4 ? 4 : form == DYNC__XF_RI_5 ? 5 : 7;
        imm_bytes = imm >= -128 && imm <= 127 ? 1 : 4;
        if (imm_bytes == 1) op = 0x83;
        break;
    case DYNC__XF_S_4:
        ext = 4;
        imm_bytes = 1;
        break;
    case DYNC__XF_S_5:
        ext = 5;
        imm_bytes = 1;
        break;
    case DYNC__XF_U32_3: ext = 3; break;
    case DYNC__XF_U_7: ext = 7; break;
    case DYNC__XF_P_1:
    case DYNC__XF_P_2: ext = form - DYNC__XF_P_1 + 1; break;
    default: break;
    }
    if (a->listing) dync__x_list_i(a, row, ext, reg, rm, imm_bytes, imm);
    int field = ext >= 0 ? ext : reg;
    int r = ext >= 0 ? 0 : reg >> 3 & 1, x = rm.is_mem && rm.index >= 0 ? rm.index >> 3 & 1 : 0;
    int b = rm.is_mem ? (rm.base >= 0 ? rm.base >> 3 & 1 : 0) : rm.reg >> 3 & 1;
    if (row->pp) dync__x_8(a, 0x66);
    if (row->w || r || x || b || form == DYNC__XF_MR8)
        dync__x_8(a, 0x40 | row->w << 3 | r << 2 | x << 1 | b);
    if (row->map) dync__x_8(a, 0x0f);
    dync__x_8(a, op);
    if (form == DYNC__XF_NONE) return;
    dync__x_modrm(a, field, rm, 1, imm_bytes);
    if (imm_bytes == 1) dync__x_8(a, imm & 255);
    if (imm_bytes == 4) dync__x_32(a, imm);
}

DYNC__FN void dync__x_push(dync__asm *a, int reg)
{
    if (a->listing) dync__str_addf(a->listing, "    push %s\n", dync__x_gpr(reg, 8));
    if (reg >= 8) dync__x_8(a, 0x41);
    dync__x_8(a, 0x50 + (reg & 7));
}

DYNC__FN void dync__x_pop(dync__asm *a, int reg)
{
    if (a->listing) dync__str_addf(a->listing, "    pop %s\n", dync__x_gpr(reg, 8));
    if (reg >= 8) dync__x_8(a, 0x41);
    dync__x_8(a, 0x58 + (reg & 7));
}

DYNC__FN void dync__x_sfence(dync__asm *a)
{
    if (a->listing) dync__str_add(a->listing, "    sfence\n");
    dync__x_8(a, 0x0f);
    dync__x_8(a, 0xae);
    dync__x_8(a, 0xf8);
}

DYNC__FN void dync__x_ret(dync__asm *a)
{
    if (a->listing) dync__str_add(a->listing, "    vzeroupper\n    ret\n");
    dync__x_8(a, 0xc5);
    dync__x_8(a, 0xf8);
    dync__x_8(a, 0x77);
    dync__x_8(a, 0xc3);
}

/* ---- labels ---------------------------------------------------------------------------------- */

DYNC__FN void dync__x_bind(dync__asm *a, int label)
{
    if (a->listing) dync__str_addf(a->listing, "  L%d:\n", label);
    if (!a->failed) a->label.at[label] = a->code.n;
}

DYNC__FN void dync__x_jump(dync__asm *a, int cc, int label)
{
    static const char *const names[16] = {"jo", "jno", "jb", "jae", "je", "jne", "jbe", "ja",
                                          "js", "jns", "jp", "jnp", "jl", "jge", "jle", "jg"};
    if (a->listing) dync__str_addf(a->listing, "    %s L%d\n", cc < 0 ? "jmp" : names[cc], label);
    if (cc < 0)
        dync__x_8(a, 0xe9);
    else {
        dync__x_8(a, 0x0f);
        dync__x_8(a, 0x80 | cc);
    }
    dync__fix fix = {a->code.n, label};
    if (!dync__avec_push(a->arena, &a->jump, fix)) a->failed = true;
    dync__x_32(a, 0);
}

/* The field holds the bytes of immediate behind it and its own, a jump's nothing. */
DYNC__FN void dync__x_fix(uint8_t *field, bool jump, int32_t distance)
{
    distance -= jump ? 4 : field[0];
    for (int k = 0; k < 4; k++) field[k] = (uint8_t)((uint32_t)distance >> 8 * k);
}
#endif
