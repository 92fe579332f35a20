/* tests/cuda_emulator/ptx_ops.h: the instructions that the emulator knows. */
#ifndef CUDA_EMULATOR_PTX_OPS_H
#define CUDA_EMULATOR_PTX_OPS_H
#include "emulator.h"
/* clang-format off */
#define PTX_OPS(X) \
    X(mov) X(add) X(sub) X(mul) X(mad) X(div) X(rem) X(min) X(max) X(neg) X(abs) X(sqrt) X(fma) \
    X(and) X(or) X(xor) X(not) X(shl) X(shr) X(setp) X(selp) X(cvt) X(cvta) X(bfe) X(bfi) \
    X(prmt) X(ld) X(st) X(bra) X(ret) X(bar) X(shfl) X(vote) X(atom) X(red) X(ldmatrix) X(mma) \
    X(cp) X(membar) X(fence) X(ex2) X(rcp) X(lg2) X(mbarrier) X(barrier) X(mapa) X(elect) \
    X(setmaxnreg) X(wgmma) X(prefetch)
/* clang-format on */
enum {
#define X(name) OP_##name,
    PTX_OPS(X)
#undef X
        N_PTX_OPS
};
enum { PTX_PARAM = 1, PTX_GLOBAL, PTX_SHARED, PTX_SPECIAL = 1 << 20 };
#define PTX_PARAM_ADDRESS ((uint64_t)1 << 62) /* generic address of the first parameter */
/* mode of setp, of conversions (rounding) and of shuffles; mode2 of setp: joined by and, or, xor */
enum {
    M_NONE,
    M_EQ,
    M_NE,
    M_LT,
    M_LE,
    M_GT,
    M_GE,
    M_EQU,
    M_NEU,
    M_LTU,
    M_LEU,
    M_GTU,
    M_GEU,
    M_NUM,
    M_NAN,
    M_RN,
    M_RZ,
    M_RM,
    M_RP,
    M_RNI,
    M_RZI,
    M_RMI,
    M_RPI,
    M_LO,
    M_HI,
    M_WIDE,
    M_BFLY,
    M_UP,
    M_DOWN,
    M_IDX,
    M_WARP,
    M_ANY,
    M_ALL,
    M_BALLOT,
    M_ASYNC,
    M_COMMIT,
    M_WAIT
};
int ptx_op_of(const char *name);
bool ptx_decode(ptx_inst *); /* sets type, mode; false: unknown */
#endif
