/* codegen/gen_fourier.h: what gen_fourier.c and gen_fourier_pairs.c share. */
#ifndef DYNC__GEN_FOURIER_H
#define DYNC__GEN_FOURIER_H
#include "fourier_code.h"
#include "gen_gemm.h"
#if DYNC__JIT

/* registers of a complex number */
typedef struct dync__gf_z {
    int8_t re, im;
} dync__gf_z;
DYNC__INLINE dync__gf_z dync__gf_z_of(int first)
{
    return (dync__gf_z){(int8_t)first, (int8_t)(first + 1)};
}
DYNC__FN void dync__gf_op(dync__gtx *g, int op, int to, int x, int y);
DYNC__FN void dync__gf_pass(dync__gtx *g);
#endif
#endif
