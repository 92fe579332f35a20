/* codegen/x86_enc.c: every instruction form against objdump: the listing that the assembler writes
 * is what objdump reads from the bytes. */
#include "../../src/dync.in.h"
#include "../../src/codegen/x86_enc.h"
#include "../test.h"
#define TEST_AFTER_EACH (dync_shutdown(), dync_clear_error(), dync_on_error(NULL, NULL))
#if DYNC__JIT
#include "objdump.h"

static dync__place random_memory(void)
{
    static const int32_t disps[] = {0,    1,    4,   8,    16,   32,   64,   127,   128,   -64,
                                    -128, -129, 256, 1024, 4096, 8128, 8192, 65536, -8192, 100000};
    int index = test_random_int(-1, 15);
    if (index == DYNC__RSP) index = -1;
    int32_t disp = disps[test_random() % (sizeof disps / sizeof disps[0])];
    return index < 0
               ? dync__a_mem(test_random_int(0, 15), disp)
               : dync__a_index(test_random_int(0, 15), index, 1 << test_random_int(0, 3), disp);
}

/* One instruction of a form with random operands. */
static void assemble(dync__asm *a, int insn, int form, bool has_vex, bool has_evex)
{
    int top = dync__x_evex_of(a) ? 31 : 15, reg = test_random_int(0, top),
        v = test_random_int(0, top), vl = test_random_int(0, dync__x_evex_of(a) ? 2 : 1), k = 0;
    dync__place r = dync__a_reg(test_random_int(0, top)), m = random_memory(),
                rm = test_random() % 2 ? r : m;
    if (!(dync__x_evex_of(a) ? has_evex : has_vex)) return;
    if (dync__x_evex_of(a) && test_random() % 3 == 0) k = test_random_int(1, 7);
    int z = k && test_random() % 2 ? DYNC__X_ZERO : 0;
    switch (form) {
    case DYNC__XF_RVM:
        if (insn == DYNC__X_MOVHLPS)
            dync__x_v(a, insn, 0, reg, v, r, 0, 0);
        else if (insn == DYNC__X_PERMPS)
            dync__x_v(a, insn, DYNC__MAX(vl, 1), reg, v, rm, 0, k | z);
        else if (insn == DYNC__X_BLENDMPS || insn == DYNC__X_BLENDMPD)
            dync__x_v(a, insn, vl, reg, v, rm, 0, k);
        else if (insn == DYNC__X_MASKMOVPS || insn == DYNC__X_MASKMOVPD)
            dync__x_v(a, insn, vl, reg, v, m, 0, 0);
        else if (insn == DYNC__X_PMULUDQ || insn == DYNC__X_PSHUFB || insn == DYNC__X_PUNPCKLDQ ||
                 insn == DYNC__X_PUNPCKLQDQ || insn == DYNC__X_PUNPCKHDQ ||
                 insn == DYNC__X_PUNPCKHQDQ ||
                 (insn >= DYNC__X_PUNPCKLBW && insn <= DYNC__X_PUNPCKHWD))
            dync__x_v(a, insn, vl, reg, v, rm, 0, 0);
        else
            dync__x_v(a, insn, vl, reg, v, rm, 0, k | z);
        return;
    case DYNC__XF_RM:
        if (insn == DYNC__X_MOVQ)
            dync__x_v(a, insn, 0, reg, 0, rm, 0, 0);
        else if (insn == DYNC__X_CVTPD2PS || insn == DYNC__X_CVTTPD2DQ || insn == DYNC__X_CVTQQ2PS)
            dync__x_v(a, insn, DYNC__MAX(vl, 1), reg, 0, r, 0, k | z);
        else
            dync__x_v(a, insn, vl, reg, 0, insn == DYNC__X_MOVAPS ? r : rm, 0, k | z);
        return;
    case DYNC__XF_MR:
        if (insn == DYNC__X_MOVQ_M)
            dync__x_v(a, insn, 0, reg, 0, m, 0, 0);
        else if (insn == DYNC__X_PMOVDB || insn == DYNC__X_PMOVDW || insn == DYNC__X_PMOVQD)
            dync__x_v(a, insn, vl, reg, 0, rm, 0, k | (rm.is_mem ? 0 : z));
        else
            dync__x_v(a, insn, vl, reg, 0, m, 0, insn == DYNC__X_MOVNTPS_M ? 0 : k);
        return;
    case DYNC__XF_MVR: dync__x_v(a, insn, vl, reg, v, m, 0, 0); return;
    case DYNC__XF_RG:
    case DYNC__XF_GR:
        r.reg = (int8_t)(r.reg & 15);
        dync__x_v(a, insn, 0, reg, 0, rm.is_mem ? m : r, 0, 0);
        return;
    case DYNC__XF_RX: dync__x_v(a, insn, vl, reg, 0, rm, 0, k | z); return;
    case DYNC__XF_RMI: dync__x_v(a, insn, vl, reg, 0, rm, test_random_int(0, 11), k | z); return;
    case DYNC__XF_MRI:
        if (insn == DYNC__X_EXTRACT256) vl = 2;
        if (insn == DYNC__X_EXTRACT128) vl = DYNC__MAX(vl, 1);
        dync__x_v(a, insn, vl, reg, 0, rm, test_random_int(0, 1), rm.is_mem ? k : k | z);
        return;
    case DYNC__XF_RVMI:
        if (insn >= DYNC__X_PINSRB && insn <= DYNC__X_PINSRQ)
            dync__x_v(a, insn, 0, reg, v, m, test_random_int(0, 1), 0);
        else if (insn == DYNC__X_INSERT256)
            dync__x_v(a, insn, 2, reg, v, rm, test_random_int(0, 1), k | z);
        else if (insn == DYNC__X_INSERT128 || insn == DYNC__X_SHUF128 || insn == DYNC__X_PERM128)
            dync__x_v(a, insn, DYNC__MAX(vl, 1), reg, v, rm, test_random_int(0, 1), k | z);
        else
            dync__x_v(a, insn, vl, reg, v, rm, test_random_int(0, 255), k | z);
        return;
    case DYNC__XF_CMP:
        dync__x_v(a, insn, vl, dync__x_evex_of(a) ? reg & 7 : reg, v, rm,
                  insn == DYNC__X_PCMPD || insn == DYNC__X_PCMPQ ? 0x81 : 0x81, k);
        return;
    case DYNC__XF_RVMR: dync__x_v(a, insn, vl, reg, v, rm, test_random_int(0, 15) << 4, 0); return;
    case DYNC__XF_VM_2:
    case DYNC__XF_VM_4:
    case DYNC__XF_VM_6:
        dync__x_v(a, insn, vl, 0, v, dync__x_evex_of(a) ? rm : r, test_random_int(0, 63), k | z);
        return;
    case DYNC__XF_KVM: dync__x_v(a, insn, vl, reg & 7, v, rm, 0, k); return;
    case DYNC__XF_KMI: dync__x_v(a, insn, vl, reg & 7, 0, r, 0x20, k); return;
    case DYNC__XF_RK:
        r.reg = (int8_t)(r.reg & 7);
        dync__x_v(a, insn, vl, reg, 0, r, 0, 0);
        return;
    case DYNC__XF_KM: dync__x_v(a, insn, vl, reg & 7, 0, r, 0, 0); return;
    case DYNC__XF_KKM:
        r.reg = (int8_t)(r.reg & 7);
        dync__x_k(a, insn, reg & 7, 0, insn != DYNC__X_KMOVW || !rm.is_mem ? r : m, 0);
        return;
    case DYNC__XF_MK: dync__x_k(a, insn, reg & 7, 0, m, 0); return;
    case DYNC__XF_KG:
        r.reg = (int8_t)(r.reg & 15);
        dync__x_k(a, insn, reg & 7, 0, r, 0);
        return;
    case DYNC__XF_GK:
        r.reg = (int8_t)(r.reg & 7);
        dync__x_k(a, insn, reg & 15, 0, r, 0);
        return;
    case DYNC__XF_KKI:
        r.reg = (int8_t)(r.reg & 7);
        dync__x_k(a, insn, reg & 7, 0, r, test_random_int(0, 63));
        return;
    case DYNC__XF_KKK:
        r.reg = (int8_t)(r.reg & 7);
        dync__x_k(a, insn, reg & 7, v & 7, r, 0);
        return;
    case DYNC__XF_BZHI:
        r.reg = (int8_t)(r.reg & 15);
        dync__x_k(a, insn, reg & 15, v & 15, r, 0);
        return;
    default: return;
    }
}

/* The integer forms are called by name in both spellings below, as the first character of what
 * follows says. */
static void assemble_integer(dync__asm *a, int insn)
{
    int reg = test_random_int(0, 15);
    dync__place r = dync__a_reg(test_random_int(0, 15)), m = random_memory(),
                rm = test_random() % 2 ? r : m;
    switch (insn) {
    case DYNC__X_LEA:
    case DYNC__X_PREFETCHT0:
    case DYNC__X_PREFETCHT1:
    case DYNC__X_MOV_M:
    case DYNC__X_MOV32_M:
    case DYNC__X_MOV16_M:
    case DYNC__X_MOV8_M:
    case DYNC__X_ADD_M:
    case DYNC__X_MOV32:
    case DYNC__X_MOVZX16:
    case DYNC__X_MOVSX16:
    case DYNC__X_MOVZX8:
    case DYNC__X_MOVSX8: dync__x_i(a, insn, reg, m, 0); return;
    case DYNC__X_ADDI:
    case DYNC__X_SUBI:
    case DYNC__X_CMPI:
    case DYNC__X_ANDI:
        dync__x_i(a, insn, 0, rm,
                  test_random() % 2 ? test_random_int(-128, 127)
                                    : test_random_int(-100000, 100000));
        return;
    case DYNC__X_MOVI: dync__x_i(a, insn, 0, r, test_random_int(-100000, 100000)); return;
    case DYNC__X_TESTI: dync__x_i(a, insn, 0, r, test_random_int(0, 100000)); return;
    case DYNC__X_SHLI:
    case DYNC__X_SHRI: dync__x_i(a, insn, 0, r, test_random_int(2, 63)); return;
    case DYNC__X_CQO: dync__x_i(a, insn, 0, dync__a_reg(0), 0); return;
    case DYNC__X_IDIV:
    case DYNC__X_NEG32:
    case DYNC__X_SBB32: dync__x_i(a, insn, reg, r, 0); return;
    default: dync__x_i(a, insn, reg, rm, 0); return;
    }
}

static const struct {
    int insn, form;
    bool vex, evex;
} rows[] = {
#define DYNC__X(name, vex, evex, map, pp, op, w, form, n) \
    {DYNC__X_##name, DYNC__XF_##form, vex != NULL, evex != NULL},
    DYNC__X86_VECTOR(DYNC__X)
#undef DYNC__X
#define DYNC__X(name, vex, map, pp, op, w, l, form) {DYNC__X_##name, DYNC__XF_##form, true, true},
        DYNC__X86_MASK(DYNC__X)
#undef DYNC__X
#define DYNC__X(name, vex, prefix, w, two, op, form) {DYNC__X_##name, -1, true, true},
            DYNC__X86_INT(DYNC__X)
#undef DYNC__X
};

static void against_objdump(bool evex)
{
    dync__arena arena = {0};
    dync__str listing = {0};
    dync__asm a;
    memset(&a, 0, sizeof a);
    a.arena = &arena;
    a.listing = &listing;
    a.t = dync__target_at(evex ? 2 : 1);
    for (int i = 0; i < DYNC__COUNT_OF(rows); i++)
        for (int n = 0; n < 24; n++) {
            if (rows[i].form < 0)
                assemble_integer(&a, rows[i].insn);
            else
                assemble(&a, rows[i].insn, rows[i].form, rows[i].vex, rows[i].evex);
        }
    for (int r = 0; r < 16; r++) {
        dync__x_push(&a, r);
        dync__x_pop(&a, r);
    }
    dync__x_ret(&a);
    size_t bytes = dync__a_finish(&a);
    REQUIRE(bytes > 0 && !listing.failed);
    objdump_code code = {a.code.at, a.code.n, dync__str_get(&listing), a.label.at};
    int compared = objdump_compare(&code, 1);
    EXPECT(compared < 0 || compared > 1000);
    dync__str_free(&listing);
    dync__arena_free(&arena);
}

TEST(vex_forms) { against_objdump(false); }
TEST(evex_forms) { against_objdump(true); }
#else
TEST(no_jit_here) { EXPECT(true); }
#endif

TEST_MAIN
