/* codegen/x86_list.c: the listing of machine code (DYNC_LOG=code), written from the encoder's rows
 * as objdump would print the bytes; tests compare the two. Before x86_enc.c. */
#include "../dync.in.h"
#include "x86_enc.h"
DYNC__LEAN
#if DYNC__JIT

DYNC__FN const char *dync__x_gpr(int reg, int bytes)
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
DYNC__FN void dync__x_list_v(dync__asm *a, const dync__x_row *row, int vl, int reg, int vvvv,
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
    int rm_size = from == 'g' ? row->bytes : row->bytes == DYNC__XN_N ? vl : narrow;
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

DYNC__FN void dync__x_list_m(dync__asm *a, const dync__x_row *row, int reg, int vvvv,
                             dync__place rm, int imm)
{
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
    if (row->form == DYNC__XF_KKI) dync__str_addf(s, ",0x%x", (unsigned)imm);
    dync__str_add(s, "\n");
}

static int dync__x_int_size(int form)
{
    return form == DYNC__XF_MR8    ? 1
           : form == DYNC__XF_MR16 ? 2
           : form == DYNC__XF_RM32 || form == DYNC__XF_MR32 || form == DYNC__XF_RM32_16 ||
                   form == DYNC__XF_RM32_8 || form == DYNC__XF_U32_3
               ? 4
               : 8;
}

DYNC__FN void dync__x_list_i(dync__asm *a, const dync__x_row *row, int ext, int reg, dync__place rm,
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
#endif
