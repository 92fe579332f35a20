/* codegen/x86_enc.h: the instructions of x86-64 as bytes: VEX and EVEX forms from one table, and
 * the few integer instructions that loops need. What surrounds them (labels, constants, finished
 * code) is asm.h's. */
#ifndef DYNC__X86_ENC_H
#define DYNC__X86_ENC_H
#include "asm.h"
#if DYNC__JIT

/* Are instructions AVX-512's, with its masks and 32 registers? */
DYNC__INLINE bool dync__x_evex_of(const dync__asm *a) { return a->t->n_masks > 0; }

/* One row an instruction form: name, VEX mnemonic, EVEX mnemonic (NULL: there is none), map, pp,
 * opcode, W, form, bytes of the memory operand. W: 0, 1, or 2 (0 in VEX, 1 in EVEX).
 * form, operands as Intel writes them: RVM reg, vvvv, r/m; RM; MR; VM_n vvvv, r/m, imm8 with opcode
 * extension n; an I at the end: imm8; RVMR: a fourth register in the imm8.
 * bytes: F of the vector, H half of it, Q a quarter, O an eighth; or their number. */
/* clang-format off */
#define DYNC__X86_VECTOR(X)                                                                        \
    X(MOVUPS, "vmovups", "vmovups", 1, 0, 0x10, 0, RM, F)                                          \
    X(MOVUPS_M, "vmovups", "vmovups", 1, 0, 0x11, 0, MR, F)                                        \
    X(MOVNTPS_M, "vmovntps", "vmovntps", 1, 0, 0x2b, 0, MR, F)                                     \
    X(MOVUPD, "vmovupd", "vmovupd", 1, 1, 0x10, 1, RM, F)                                          \
    X(MOVUPD_M, "vmovupd", "vmovupd", 1, 1, 0x11, 1, MR, F)                                        \
    X(MOVAPS, "vmovaps", "vmovaps", 1, 0, 0x28, 0, RM, F)                                          \
    X(MOVDQU8, NULL, "vmovdqu8", 1, 3, 0x6f, 0, RM, F)                                             \
    X(MOVDQU8_M, NULL, "vmovdqu8", 1, 3, 0x7f, 0, MR, F)                                           \
    X(MOVDQU16, NULL, "vmovdqu16", 1, 3, 0x6f, 1, RM, F)                                           \
    X(MOVDQU16_M, NULL, "vmovdqu16", 1, 3, 0x7f, 1, MR, F)                                         \
    X(MASKMOVPS, "vmaskmovps", NULL, 2, 1, 0x2c, 0, RVM, F)                                        \
    X(MASKMOVPD, "vmaskmovpd", NULL, 2, 1, 0x2d, 0, RVM, F)                                        \
    X(MASKMOVPS_M, "vmaskmovps", NULL, 2, 1, 0x2e, 0, MVR, F)                                      \
    X(MASKMOVPD_M, "vmaskmovpd", NULL, 2, 1, 0x2f, 0, MVR, F)                                      \
    X(MOVD, "vmovd", "vmovd", 1, 1, 0x6e, 0, RG, 4)                                                \
    X(MOVD_M, "vmovd", "vmovd", 1, 1, 0x7e, 0, GR, 4)                                              \
    X(MOVQ, "vmovq", "vmovq", 1, 2, 0x7e, 2, RM, 8)                                                \
    X(MOVQ_M, "vmovq", "vmovq", 1, 1, 0xd6, 2, MR, 8)                                              \
    X(MOVQ_G, "vmovq", "vmovq", 1, 1, 0x7e, 1, GR, 8)                                              \
    X(BROADCASTD, "vpbroadcastd", "vpbroadcastd", 2, 1, 0x58, 0, RX, 4)                            \
    X(BROADCASTQ, "vpbroadcastq", "vpbroadcastq", 2, 1, 0x59, 2, RX, 8)                            \
    X(ADDPS, "vaddps", "vaddps", 1, 0, 0x58, 0, RVM, F)                                            \
    X(ADDPD, "vaddpd", "vaddpd", 1, 1, 0x58, 1, RVM, F)                                            \
    X(SUBPS, "vsubps", "vsubps", 1, 0, 0x5c, 0, RVM, F)                                            \
    X(SUBPD, "vsubpd", "vsubpd", 1, 1, 0x5c, 1, RVM, F)                                            \
    X(MULPS, "vmulps", "vmulps", 1, 0, 0x59, 0, RVM, F)                                            \
    X(MULPD, "vmulpd", "vmulpd", 1, 1, 0x59, 1, RVM, F)                                            \
    X(DIVPS, "vdivps", "vdivps", 1, 0, 0x5e, 0, RVM, F)                                            \
    X(DIVPD, "vdivpd", "vdivpd", 1, 1, 0x5e, 1, RVM, F)                                            \
    X(MINPS, "vminps", "vminps", 1, 0, 0x5d, 0, RVM, F)                                            \
    X(MINPD, "vminpd", "vminpd", 1, 1, 0x5d, 1, RVM, F)                                            \
    X(MAXPS, "vmaxps", "vmaxps", 1, 0, 0x5f, 0, RVM, F)                                            \
    X(MAXPD, "vmaxpd", "vmaxpd", 1, 1, 0x5f, 1, RVM, F)                                            \
    X(SQRTPS, "vsqrtps", "vsqrtps", 1, 0, 0x51, 0, RM, F)                                          \
    X(SQRTPD, "vsqrtpd", "vsqrtpd", 1, 1, 0x51, 1, RM, F)                                          \
    X(FMA132PS, "vfmadd132ps", "vfmadd132ps", 2, 1, 0x98, 0, RVM, F)                               \
    X(FMA132PD, "vfmadd132pd", "vfmadd132pd", 2, 1, 0x98, 1, RVM, F)                               \
    X(FMA213PS, "vfmadd213ps", "vfmadd213ps", 2, 1, 0xa8, 0, RVM, F)                               \
    X(FMA213PD, "vfmadd213pd", "vfmadd213pd", 2, 1, 0xa8, 1, RVM, F)                               \
    X(FMA231PS, "vfmadd231ps", "vfmadd231ps", 2, 1, 0xb8, 0, RVM, F)                               \
    X(FMA231PD, "vfmadd231pd", "vfmadd231pd", 2, 1, 0xb8, 1, RVM, F)                               \
    X(DPBF16PS, NULL, "vdpbf16ps", 2, 2, 0x52, 0, RVM, F)                                          \
    X(DPBUSD, NULL, "vpdpbusd", 2, 1, 0x50, 0, RVM, F)                                             \
    X(ANDPS, "vandps", "vandps", 1, 0, 0x54, 0, RVM, F)                                            \
    X(ANDNPS, "vandnps", "vandnps", 1, 0, 0x55, 0, RVM, F)                                         \
    X(ORPS, "vorps", "vorps", 1, 0, 0x56, 0, RVM, F)                                               \
    X(XORPS, "vxorps", "vxorps", 1, 0, 0x57, 0, RVM, F)                                            \
    X(ROUNDPS, "vroundps", "vrndscaleps", 3, 1, 0x08, 0, RMI, F)                                   \
    X(ROUNDPD, "vroundpd", "vrndscalepd", 3, 1, 0x09, 1, RMI, F)                                   \
    X(CMPPS, "vcmpps", "vcmpps", 1, 0, 0xc2, 0, CMP, F)                                            \
    X(CMPPD, "vcmppd", "vcmppd", 1, 1, 0xc2, 1, CMP, F)                                            \
    X(BLENDVPS, "vblendvps", NULL, 3, 1, 0x4a, 0, RVMR, F)                                         \
    X(BLENDVPD, "vblendvpd", NULL, 3, 1, 0x4b, 0, RVMR, F)                                         \
    X(BLENDMPS, NULL, "vblendmps", 2, 1, 0x65, 0, RVM, F)                                          \
    X(BLENDMPD, NULL, "vblendmpd", 2, 1, 0x65, 1, RVM, F)                                          \
    X(PADDD, "vpaddd", "vpaddd", 1, 1, 0xfe, 0, RVM, F)                                            \
    X(PADDQ, "vpaddq", "vpaddq", 1, 1, 0xd4, 1, RVM, F)                                            \
    X(PSUBD, "vpsubd", "vpsubd", 1, 1, 0xfa, 0, RVM, F)                                            \
    X(PSUBQ, "vpsubq", "vpsubq", 1, 1, 0xfb, 1, RVM, F)                                            \
    X(PMULLD, "vpmulld", "vpmulld", 2, 1, 0x40, 0, RVM, F)                                         \
    X(PMULLQ, NULL, "vpmullq", 2, 1, 0x40, 1, RVM, F)                                              \
    X(PMULUDQ, "vpmuludq", "vpmuludq", 1, 1, 0xf4, 1, RVM, F)                                      \
    X(PMINSD, "vpminsd", "vpminsd", 2, 1, 0x39, 0, RVM, F)                                         \
    X(PMAXSD, "vpmaxsd", "vpmaxsd", 2, 1, 0x3d, 0, RVM, F)                                         \
    X(PMINSQ, NULL, "vpminsq", 2, 1, 0x39, 1, RVM, F)                                              \
    X(PMAXSQ, NULL, "vpmaxsq", 2, 1, 0x3d, 1, RVM, F)                                              \
    X(PABSD, "vpabsd", "vpabsd", 2, 1, 0x1e, 0, RM, F)                                             \
    X(PABSQ, NULL, "vpabsq", 2, 1, 0x1f, 1, RM, F)                                                 \
    X(PSLLVD, "vpsllvd", "vpsllvd", 2, 1, 0x47, 0, RVM, F)                                         \
    X(PSLLVQ, "vpsllvq", "vpsllvq", 2, 1, 0x47, 1, RVM, F)                                         \
    X(PSRLVQ, "vpsrlvq", "vpsrlvq", 2, 1, 0x45, 1, RVM, F)                                         \
    X(PSRAVD, "vpsravd", "vpsravd", 2, 1, 0x46, 0, RVM, F)                                         \
    X(PSRAVQ, NULL, "vpsravq", 2, 1, 0x46, 1, RVM, F)                                              \
    X(PSLLD, "vpslld", "vpslld", 1, 1, 0x72, 0, VM_6, F)                                           \
    X(PSRLD, "vpsrld", "vpsrld", 1, 1, 0x72, 0, VM_2, F)                                           \
    X(PSRAD, "vpsrad", "vpsrad", 1, 1, 0x72, 0, VM_4, F)                                           \
    X(PSLLW, "vpsllw", "vpsllw", 1, 1, 0x71, 0, VM_6, F)                                           \
    X(PSRLW, "vpsrlw", "vpsrlw", 1, 1, 0x71, 0, VM_2, F)                                           \
    X(PSRAW, "vpsraw", "vpsraw", 1, 1, 0x71, 0, VM_4, F)                                           \
    X(PMADDWD, "vpmaddwd", "vpmaddwd", 1, 1, 0xf5, 0, RVM, F)                                      \
    X(PSLLQ, "vpsllq", "vpsllq", 1, 1, 0x73, 1, VM_6, F)                                           \
    X(PSRLQ, "vpsrlq", "vpsrlq", 1, 1, 0x73, 1, VM_2, F)                                           \
    X(PCMPEQD, "vpcmpeqd", NULL, 1, 1, 0x76, 0, RVM, F)                                            \
    X(PCMPGTD, "vpcmpgtd", NULL, 1, 1, 0x66, 0, RVM, F)                                            \
    X(PCMPEQQ, "vpcmpeqq", NULL, 2, 1, 0x29, 0, RVM, F)                                            \
    X(PCMPGTQ, "vpcmpgtq", NULL, 2, 1, 0x37, 0, RVM, F)                                            \
    X(PCMPD, NULL, "vpcmpd", 3, 1, 0x1f, 0, CMP, F)                                                \
    X(PCMPQ, NULL, "vpcmpq", 3, 1, 0x1f, 1, CMP, F)                                                \
    X(PTESTMB, NULL, "vptestmb", 2, 1, 0x26, 0, KVM, F)                                            \
    X(FPCLASSPS, NULL, "vfpclassps", 3, 1, 0x66, 0, KMI, F)                                        \
    X(PTEST, "vptest", NULL, 2, 1, 0x17, 0, RM, F)                                                \
    X(PMOVM2B, NULL, "vpmovm2b", 2, 2, 0x28, 0, RK, F)                                             \
    X(PMOVM2D, NULL, "vpmovm2d", 2, 2, 0x38, 0, RK, F)                                             \
    X(PMOVD2M, NULL, "vpmovd2m", 2, 2, 0x39, 0, KM, F)                                             \
    X(CVTDQ2PS, "vcvtdq2ps", "vcvtdq2ps", 1, 0, 0x5b, 0, RM, F)                                    \
    X(CVTTPS2DQ, "vcvttps2dq", "vcvttps2dq", 1, 2, 0x5b, 0, RM, F)                                 \
    X(CVTPS2PD, "vcvtps2pd", "vcvtps2pd", 1, 0, 0x5a, 0, RM, H)                                    \
    X(CVTPD2PS, "vcvtpd2ps", "vcvtpd2ps", 1, 1, 0x5a, 1, RM, N)                                    \
    X(CVTNEPS2BF16, NULL, "vcvtneps2bf16", 2, 2, 0x72, 0, RM, N)                                    \
    X(CVTDQ2PD, "vcvtdq2pd", "vcvtdq2pd", 1, 2, 0xe6, 0, RM, H)                                    \
    X(CVTTPD2DQ, "vcvttpd2dq", "vcvttpd2dq", 1, 1, 0xe6, 1, RM, N)                                 \
    X(CVTQQ2PD, NULL, "vcvtqq2pd", 1, 2, 0xe6, 1, RM, F)                                           \
    X(CVTQQ2PS, NULL, "vcvtqq2ps", 1, 0, 0x5b, 1, RM, N)                                           \
    X(CVTTPD2QQ, NULL, "vcvttpd2qq", 1, 1, 0x7a, 1, RM, F)                                         \
    X(CVTTPS2QQ, NULL, "vcvttps2qq", 1, 1, 0x7a, 0, RM, H)                                         \
    X(CVTPH2PS, "vcvtph2ps", "vcvtph2ps", 2, 1, 0x13, 0, RM, H)                                    \
    X(CVTPS2PH, "vcvtps2ph", "vcvtps2ph", 3, 1, 0x1d, 0, MRI, H)                                   \
    X(PMOVSXBD, "vpmovsxbd", "vpmovsxbd", 2, 1, 0x21, 0, RM, Q)                                    \
    X(PMOVZXBD, "vpmovzxbd", "vpmovzxbd", 2, 1, 0x31, 0, RM, Q)                                    \
    X(PMOVSXWD, "vpmovsxwd", "vpmovsxwd", 2, 1, 0x23, 0, RM, H)                                    \
    X(PMOVZXWD, "vpmovzxwd", "vpmovzxwd", 2, 1, 0x33, 0, RM, H)                                    \
    X(PMOVSXDQ, "vpmovsxdq", "vpmovsxdq", 2, 1, 0x25, 0, RM, H)                                    \
    X(PMOVDB, NULL, "vpmovdb", 2, 2, 0x31, 0, MR, Q)                                               \
    X(PMOVDW, NULL, "vpmovdw", 2, 2, 0x33, 0, MR, H)                                               \
    X(PMOVQD, NULL, "vpmovqd", 2, 2, 0x35, 0, MR, H)                                               \
    X(PSHUFB, "vpshufb", "vpshufb", 2, 1, 0x00, 0, RVM, F)                                         \
    X(PUNPCKLBW, "vpunpcklbw", "vpunpcklbw", 1, 1, 0x60, 0, RVM, F)                                \
    X(PUNPCKHBW, "vpunpckhbw", "vpunpckhbw", 1, 1, 0x68, 0, RVM, F)                                \
    X(PUNPCKLWD, "vpunpcklwd", "vpunpcklwd", 1, 1, 0x61, 0, RVM, F)                                \
    X(PUNPCKHWD, "vpunpckhwd", "vpunpckhwd", 1, 1, 0x69, 0, RVM, F)                                \
    X(PUNPCKLDQ, "vpunpckldq", "vpunpckldq", 1, 1, 0x62, 0, RVM, F)                                \
    X(PUNPCKHDQ, "vpunpckhdq", "vpunpckhdq", 1, 1, 0x6a, 0, RVM, F)                                \
    X(PUNPCKLQDQ, "vpunpcklqdq", "vpunpcklqdq", 1, 1, 0x6c, 1, RVM, F)                             \
    X(PUNPCKHQDQ, "vpunpckhqdq", "vpunpckhqdq", 1, 1, 0x6d, 1, RVM, F)                             \
    X(ALIGNQ, NULL, "valignq", 3, 1, 0x03, 1, RVMI, F)                                              \
    X(PERM128, "vperm2f128", NULL, 3, 1, 0x06, 0, RVMI, F)                                         \
    X(SHUFPD, "vshufpd", "vshufpd", 1, 1, 0xc6, 1, RVMI, F)                                        \
    X(SHUF128, NULL, "vshuff32x4", 3, 1, 0x23, 0, RVMI, F)                                         \
    X(PERMPS, "vpermps", "vpermps", 2, 1, 0x16, 0, RVM, F)                                         \
    X(PERMT2PS, NULL, "vpermt2ps", 2, 1, 0x7f, 0, RVM, F)                                          \
    X(PINSRB, "vpinsrb", "vpinsrb", 3, 1, 0x20, 0, RVMI, 1)                                        \
    X(PINSRW, "vpinsrw", "vpinsrw", 1, 1, 0xc4, 0, RVMI, 2)                                        \
    X(PINSRD, "vpinsrd", "vpinsrd", 3, 1, 0x22, 0, RVMI, 4)                                        \
    X(PINSRQ, "vpinsrq", "vpinsrq", 3, 1, 0x22, 1, RVMI, 8)                                        \
    X(SHUFPS, "vshufps", "vshufps", 1, 0, 0xc6, 0, RVMI, F)                                        \
    X(PSHUFD, "vpshufd", "vpshufd", 1, 1, 0x70, 0, RMI, F)                                         \
    X(MOVHLPS, "vmovhlps", "vmovhlps", 1, 0, 0x12, 0, RVM, F)                                      \
    X(EXTRACT128, "vextractf128", "vextractf32x4", 3, 1, 0x19, 0, MRI, 16)                         \
    X(INSERT128, "vinsertf128", "vinsertf32x4", 3, 1, 0x18, 0, RVMI, 16)                           \
    X(INSERT256, NULL, "vinsertf64x4", 3, 1, 0x1a, 1, RVMI, 32)                                    \
    X(EXTRACT256, NULL, "vextractf64x4", 3, 1, 0x1b, 1, MRI, 32)
/* clang-format on */

/* Masks: always VEX, always registers but for the moves. name, mnemonic, map, pp, opcode, W, L,
 * form */
/* clang-format off */
#define DYNC__X86_MASK(X)                                                                          \
    X(KMOVW, "kmovw", 1, 0, 0x90, 0, 0, KKM)                                                       \
    X(KMOVW_M, "kmovw", 1, 0, 0x91, 0, 0, MK)                                                      \
    X(KMOVW_KG, "kmovw", 1, 0, 0x92, 0, 0, KG)                                                     \
    X(KMOVW_GK, "kmovw", 1, 0, 0x93, 0, 0, GK)                                                     \
    X(KMOVQ_KG, "kmovq", 1, 3, 0x92, 1, 0, KG)                                                     \
    X(KSHIFTRQ, "kshiftrq", 3, 1, 0x31, 1, 0, KKI)                                                 \
    X(KNOTW, "knotw", 1, 0, 0x44, 0, 0, KKM)                                                       \
    X(KANDW, "kandw", 1, 0, 0x41, 0, 1, KKK)                                                       \
    X(KANDNW, "kandnw", 1, 0, 0x42, 0, 1, KKK)                                                     \
    X(KORW, "korw", 1, 0, 0x45, 0, 1, KKK)                                                         \
    X(KXNORW, "kxnorw", 1, 0, 0x46, 0, 1, KKK)                                                     \
    X(KXORW, "kxorw", 1, 0, 0x47, 0, 1, KKK)                                                       \
    X(KORTESTW, "kortestw", 1, 0, 0x98, 0, 0, KKM)                                                 \
    X(BZHI, "bzhi", 2, 0, 0xf5, 1, 0, BZHI)
/* clang-format on */

/* Integer instructions, 64 bits wide but where the name ends in the width. name, mnemonic, prefix
 * 66, W, 0F, opcode, form: RM, MR, RI_n (imm8 or imm32, extension n), S_n (shift by imm8), U_n */
/* clang-format off */
#define DYNC__X86_INT(X)                                                                           \
    X(MOV, "mov", 0, 1, 0, 0x8b, RM)                                                               \
    X(MOV_M, "mov", 0, 1, 0, 0x89, MR)                                                             \
    X(MOV32, "mov", 0, 0, 0, 0x8b, RM32)                                                           \
    X(MOV32_M, "mov", 0, 0, 0, 0x89, MR32)                                                         \
    X(MOV16_M, "mov", 1, 0, 0, 0x89, MR16)                                                         \
    X(MOV8_M, "mov", 0, 0, 0, 0x88, MR8)                                                           \
    X(MOVZX16, "movzx", 0, 0, 1, 0xb7, RM32_16)                                                    \
    X(MOVSX16, "movsx", 0, 0, 1, 0xbf, RM32_16)                                                    \
    X(MOVZX8, "movzx", 0, 0, 1, 0xb6, RM32_8)                                                      \
    X(MOVSX8, "movsx", 0, 0, 1, 0xbe, RM32_8)                                                      \
    X(MOVSXD, "movsxd", 0, 1, 0, 0x63, RM_32)                                                      \
    X(IDIV, "idiv", 0, 1, 0, 0xf7, U_7)                                                            \
    X(CQO, "cqo", 0, 1, 0, 0x99, NONE)                                                             \
    X(MOVI, "mov", 0, 1, 0, 0xc7, I32_0)                                                           \
    X(LEA, "lea", 0, 1, 0, 0x8d, RM)                                                               \
    X(ADD, "add", 0, 1, 0, 0x03, RM)                                                               \
    X(ADD_M, "add", 0, 1, 0, 0x01, MR)                                                             \
    X(SUB, "sub", 0, 1, 0, 0x2b, RM)                                                               \
    X(CMP, "cmp", 0, 1, 0, 0x3b, RM)                                                               \
    X(IMUL, "imul", 0, 1, 1, 0xaf, RM)                                                             \
    X(ADDI, "add", 0, 1, 0, 0x81, RI_0)                                                            \
    X(ANDI, "and", 0, 1, 0, 0x81, RI_4)                                                            \
    X(SUBI, "sub", 0, 1, 0, 0x81, RI_5)                                                            \
    X(CMPI, "cmp", 0, 1, 0, 0x81, RI_7)                                                            \
    X(SHLI, "shl", 0, 1, 0, 0xc1, S_4)                                                             \
    X(SHRI, "shr", 0, 1, 0, 0xc1, S_5)                                                             \
    X(NEG32, "neg", 0, 0, 0, 0xf7, U32_3)                                                          \
    X(SBB32, "sbb", 0, 0, 0, 0x1b, RM32)                                                           \
    X(TESTI, "test", 0, 1, 0, 0xf7, I32_0)                                                         \
    X(PREFETCHT0, "prefetcht0", 0, 0, 1, 0x18, P_1)                                                \
    X(PREFETCHT1, "prefetcht1", 0, 0, 1, 0x18, P_2)
/* clang-format on */

enum {
#define DYNC__X(name, ...) DYNC__X_##name,
    DYNC__X86_VECTOR(DYNC__X) DYNC__X86_MASK(DYNC__X) DYNC__X86_INT(DYNC__X)
#undef DYNC__X
        DYNC__N_X
};
enum { DYNC__X_FIRST_MASK = DYNC__X_KMOVW, DYNC__X_FIRST_INT = DYNC__X_MOV };
/* Forms, in the order that x86_enc.c knows them. */
enum {
    DYNC__XF_RVM,
    DYNC__XF_RM,
    DYNC__XF_MR,
    DYNC__XF_MVR,
    DYNC__XF_RG,
    DYNC__XF_GR,
    DYNC__XF_RX,
    DYNC__XF_RMI,
    DYNC__XF_MRI,
    DYNC__XF_RVMI,
    DYNC__XF_CMP,
    DYNC__XF_RVMR,
    DYNC__XF_VM_2,
    DYNC__XF_VM_4,
    DYNC__XF_VM_6,
    DYNC__XF_KVM,
    DYNC__XF_RK,
    DYNC__XF_KM,
    DYNC__XF_KMI,
    DYNC__XF_KKM,
    DYNC__XF_MK,
    DYNC__XF_KG,
    DYNC__XF_GK,
    DYNC__XF_KKI,
    DYNC__XF_KKK,
    DYNC__XF_BZHI,
    DYNC__XF_MR32,
    DYNC__XF_RM32,
    DYNC__XF_MR16,
    DYNC__XF_MR8,
    DYNC__XF_RM32_16,
    DYNC__XF_RM32_8,
    DYNC__XF_I32_0,
    DYNC__XF_RI_0,
    DYNC__XF_RI_4,
    DYNC__XF_RI_5,
    DYNC__XF_RI_7,
    DYNC__XF_S_4,
    DYNC__XF_S_5,
    DYNC__XF_U32_3,
    DYNC__XF_RM_32,
    DYNC__XF_U_7,
    DYNC__XF_P_1,
    DYNC__XF_P_2,
    DYNC__XF_NONE
};
enum {
    DYNC__XN_F = -1,
    DYNC__XN_H = -2,
    DYNC__XN_Q = -3,
    DYNC__XN_O = -4,
    DYNC__XN_N = -5 /* F; result is narrower */
};

enum {
    DYNC__RAX,
    DYNC__RCX,
    DYNC__RDX,
    DYNC__RBX,
    DYNC__RSP,
    DYNC__RBP,
    DYNC__RSI,
    DYNC__RDI,
    DYNC__R8,
    DYNC__R9,
    DYNC__R10,
    DYNC__R11,
    DYNC__R12,
    DYNC__R13,
    DYNC__R14,
    DYNC__R15
};
_Static_assert((int)DYNC__G_ARGS == (int)DYNC__RDI && (int)DYNC__G_FRAME == (int)DYNC__RSP &&
                   (int)DYNC__G_A8 == (int)DYNC__R15,
               "general registers of target.h have the processor's numbers");
/* Vector instructions. vl: 0 xmm, 1 ymm, 2 zmm. k: write mask, 0 none; DYNC__X_ZERO added:
 * zeroing. */
/* One instruction of the tables, as encoder and listing read it. */
typedef struct dync__x_row {
    const char *vex, *evex;
    uint8_t map, pp, op, w, form;
    int8_t bytes;
} dync__x_row;
enum { DYNC__X_ZERO = 8 };
DYNC__FN void dync__x_v(dync__asm *, int insn, int vl, int reg, int vvvv, dync__place rm, int imm,
                        int k);
DYNC__FN void dync__x_k(dync__asm *, int insn, int reg, int vvvv, dync__place rm, int imm);
DYNC__FN void dync__x_i(dync__asm *, int insn, int reg, dync__place rm, int32_t imm);
enum {
    DYNC__CC_JMP = -1,
    DYNC__CC_B = 2,
    DYNC__CC_E = 4,
    DYNC__CC_NE = 5,
    DYNC__CC_L = 12,
    DYNC__CC_GE = 13,
    DYNC__CC_LE = 14,
    DYNC__CC_G = 15
};
DYNC__FN void dync__x_bind(dync__asm *, int label);
DYNC__FN void dync__x_jump(dync__asm *, int cc, int label);
DYNC__FN void dync__x_push(dync__asm *, int reg);
DYNC__FN void dync__x_pop(dync__asm *, int reg);
DYNC__FN void dync__x_sfence(dync__asm *);
DYNC__FN void dync__x_ret(dync__asm *); /* vzeroupper and ret */
/* dync__target.fix of the 32-bit distances of jumps and of constants. */
DYNC__FN void dync__x_fix(uint8_t *field, bool jump, int32_t distance);
/* ---- x86_list.c ------------------------------------------------------------------------------ */
DYNC__FN const char *dync__x_gpr(int reg, int bytes);
DYNC__FN void dync__x_list_v(dync__asm *a, const dync__x_row *row, int vl, int reg, int vvvv,
                             dync__place rm, int imm, int k);
DYNC__FN void dync__x_list_m(dync__asm *a, const dync__x_row *row, int reg, int vvvv,
                             dync__place rm, int imm);
DYNC__FN void dync__x_list_i(dync__asm *a, const dync__x_row *row, int ext, int reg, dync__place rm,
                             int imm_bytes, int32_t imm);
#endif
#endif
