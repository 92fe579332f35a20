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

typedef struct dync__x_row {
    const char *vex, *evex;
    uint8_t map, pp, op, w, form;
    int8_t bytes;
} dync__x_row;
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

static const char *dync__x_gpr(int reg, int bytes)
{
    static const char *const names[4][16] = {
        {"al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil", "r8b", "r9b", "r10b", "r11b", "r12b",
         "r13b", "r14b", "r15b"},
        {"ax", "cx", "dx", "bx", "sp", "bp", "si", "di", "r8w", "r9w", "r10w", "r11w", "r12w",
         "r13w", "r14w", "r15w"},
        {"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "r8d", "r9d", "r10d", "r11d",
         "r12d", "r13d", "r14d", "r15d"},
        {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12",
         "r13", "r14", "r15"}};
    return names[bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3][reg & 15];
}

/* kind: v vector, k mask, g integer register */
static void dync__x_list_rm(dync__str *s, dync__place rm, char kind, int size)
{
    if (!rm.is_mem) {
        if (kind == 'v')
            dync__str_addf(s, "%cmm%d", "xyz"[size], rm.reg);
        else if (kind == 'k')
            dync__str_addf(s, "k%d", rm.reg);
        else
            dync__str_add(s, dync__x_gpr(rm.reg, size));
        return;
    }
    if (rm.base == DYNC__PLACE_POOL)
        dync__str_addf(s, "[pool+0x%x]", (unsigned)rm.disp);
    else {
        dync__str_addf(s, "[%s", dync__x_gpr(rm.base, 8));
        if (rm.index >= 0) dync__str_addf(s, "+%s*%d", dync__x_gpr(rm.index, 8), rm.scale);
        if (rm.disp)
            dync__str_addf(s, "%c0x%x", rm.disp < 0 ? '-' : '+',
                           (unsigned)(rm.disp < 0 ? -rm.disp : rm.disp));
        dync__str_add(s, "]");
    }
}

static void dync__x_list_reg(dync__str *s, int reg, char kind, int size)
{
    dync__x_list_rm(s, dync__a_reg(reg), kind, size);
}

static void dync__x_list_k(dync__str *s, int k)
{
    if (k & 7) dync__str_addf(s, "{k%d}", k & 7);
    if (k & DYNC__X_ZERO) dync__str_add(s, "{z}");
}

static int dync__x_less(int vl, int bytes)
{
    int n = bytes == DYNC__XN_H                       ? 1
            : bytes == DYNC__XN_Q                     ? 2
            : bytes == DYNC__XN_O                     ? 3
            : bytes == 32                             ? 1
            : bytes == 16 || bytes == 8 || bytes == 4 ? 2
                                                      : 0;
    if (bytes == 32) return 1;
    return vl > n ? vl - n : 0;
}

/* CMP: which register file the result is in depends on the encoding. */
static void dync__x_list_v(dync__asm *a, const dync__x_row *row, int vl, int reg, int vvvv,
                           dync__place rm, int imm, int k)
{
    dync__str *s = a->listing;
    int narrow = dync__x_less(vl, row->bytes);
    int half = dync__x_less(vl, DYNC__XN_H);
    char to = row->form == DYNC__XF_KVM || row->form == DYNC__XF_KM || row->form == DYNC__XF_KMI ||
                      (row->form == DYNC__XF_CMP && dync__x_evex_of(a))
                  ? 'k'
                  : 'v';
    char from = row->form == DYNC__XF_RK                               ? 'k'
                : row->form == DYNC__XF_RG || row->form == DYNC__XF_GR ? 'g'
                                                                       : 'v';
    int rm_size = from == 'g' ? 4 : row->bytes == DYNC__XN_N ? vl : narrow;
    dync__str_addf(s, "    %s ", dync__x_evex_of(a) ? row->evex : row->vex);
    switch (row->form) {
    case DYNC__XF_MR:
    case DYNC__XF_MRI:
    case DYNC__XF_GR:
        dync__x_list_rm(s, rm, from, rm_size);
        dync__x_list_k(s, k);
        dync__str_add(s, ",");
        dync__x_list_reg(s, reg, 'v', vl);
        break;
    case DYNC__XF_MVR:
        dync__x_list_rm(s, rm, 'v', vl);
        dync__str_add(s, ",");
        dync__x_list_reg(s, vvvv, 'v', vl);
        dync__str_add(s, ",");
        dync__x_list_reg(s, reg, 'v', vl);
        break;
    case DYNC__XF_VM_2:
    case DYNC__XF_VM_4:
    case DYNC__XF_VM_6:
        dync__x_list_reg(s, vvvv, 'v', vl);
        dync__x_list_k(s, k);
        dync__str_add(s, ",");
        dync__x_list_rm(s, rm, 'v', vl);
        break;
    default:
        dync__x_list_reg(s, reg, to, row->bytes == DYNC__XN_N ? half : vl);
        dync__x_list_k(s, k);
        dync__str_add(s, ",");
        if (row->form == DYNC__XF_RVM || row->form == DYNC__XF_RVMI || row->form == DYNC__XF_CMP ||
            row->form == DYNC__XF_KVM || row->form == DYNC__XF_RVMR) {
            dync__x_list_reg(s, vvvv, 'v', vl);
            dync__str_add(s, ",");
        }
        dync__x_list_rm(s, rm, from, row->form == DYNC__XF_RX ? 0 : rm_size);
    }
    if (row->form == DYNC__XF_RVMR) {
        dync__str_add(s, ",");
        dync__x_list_reg(s, imm >> 4, 'v', vl);
    } else if (row->form == DYNC__XF_RMI || row->form == DYNC__XF_KMI ||
               row->form == DYNC__XF_MRI || row->form == DYNC__XF_RVMI ||
               row->form == DYNC__XF_CMP ||
               (row->form >= DYNC__XF_VM_2 && row->form <= DYNC__XF_VM_6))
        dync__str_addf(s, ",0x%x", (unsigned)imm);
    dync__str_add(s, "\n");
}

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
        /* map 1 ignores W; tools want 0 */
        dync__x_vex(a, row, row->w == 1 && row->map != 1, vl, field, vvvv, rm);
        dync__x_modrm(a, field, rm, 1, has_imm);
    }
    if (has_imm) dync__x_8(a, imm);
}

DYNC__FN void dync__x_k(dync__asm *a, int insn, int reg, int vvvv, dync__place rm, int imm)
{
    const dync__x_row *row = &dync__x_rows[insn];
    bool has_imm = row->form == DYNC__XF_KKI;
    if (a->listing) {
        dync__str *s = a->listing;
        bool to_g = row->form == DYNC__XF_GK || row->form == DYNC__XF_BZHI,
             from_g = row->form == DYNC__XF_KG || row->form == DYNC__XF_BZHI;
        int width = row->w ? 8 : 4;
        dync__str_addf(s, "    %s ", row->vex);
        if (row->form == DYNC__XF_MK)
            dync__x_list_rm(s, rm, 'k', 0);
        else
            dync__x_list_reg(s, reg, to_g ? 'g' : 'k', width);
        if (row->form == DYNC__XF_KKK) dync__str_addf(s, ",k%d", vvvv);
        dync__str_add(s, ",");
        if (row->form == DYNC__XF_MK)
            dync__x_list_reg(s, reg, 'k', 0);
        else
            dync__x_list_rm(s, rm, from_g ? 'g' : 'k', width);
        if (row->form == DYNC__XF_BZHI) dync__str_addf(s, ",%s", dync__x_gpr(vvvv, 8));
        if (has_imm) dync__str_addf(s, ",0x%x", (unsigned)imm);
        dync__str_add(s, "\n");
    }
    dync__x_vex(a, row, row->w, row->bytes, reg, vvvv, rm);
    dync__x_modrm(a, reg, rm, 1, has_imm);
    if (has_imm) dync__x_8(a, imm);
}

/* ---- integers -------------------------------------------------------------------------------- */

static int dync__x_int_size(int form)
{
    return form == DYNC__XF_MR8    ? 1
           : form == DYNC__XF_MR16 ? 2
           : form == DYNC__XF_RM32 || form == DYNC__XF_MR32 || form == DYNC__XF_RM32_16 ||
                   form == DYNC__XF_RM32_8 || form == DYNC__XF_U32_3
               ? 4
               : 8;
}

static void dync__x_list_i(dync__asm *a, const dync__x_row *row, int ext, int reg, dync__place rm,
                           int imm_bytes, int32_t imm)
{
    dync__str *s = a->listing;
    int form = row->form, size = dync__x_int_size(form);
    bool to_memory = form == DYNC__XF_MR || form == DYNC__XF_MR32 || form == DYNC__XF_MR16 ||
                     form == DYNC__XF_MR8;
    int from = form == DYNC__XF_RM32_16  ? 2
               : form == DYNC__XF_RM32_8 ? 1
               : form == DYNC__XF_RM_32  ? 4
                                         : size;
    dync__str_addf(s, "    %s ", row->vex);
    if (form != DYNC__XF_NONE) {
        if (ext < 0 && !to_memory) dync__str_addf(s, "%s,", dync__x_gpr(reg, size));
        dync__x_list_rm(s, rm, 'g', from);
        if (to_memory) dync__str_addf(s, ",%s", dync__x_gpr(reg, size));
        if (imm_bytes && imm < 0)
            dync__str_addf(s, ",0x%llx", (unsigned long long)(int64_t)imm);
        else if (imm_bytes)
            dync__str_addf(s, ",0x%x", (unsigned)imm);
    }
    dync__str_add(s, "\n");
}

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
