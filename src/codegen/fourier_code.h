/* codegen/fourier_code.h: the pieces of Fourier transforms. gen_fourier.c makes the code of each
 * form, gemm_code.c keeps it (kind FOURIER); fourier_run.c calls it, or does the same in C.
 * kernel/fourier.c makes transforms of them.
 *
 * Complex numbers stand in blocks: V real parts, then V imaginary ones, where V is the lanes of a
 * vector (dync__gf_lanes). A step of a form takes whole blocks. */
#ifndef DYNC__FOURIER_CODE_H
#define DYNC__FOURIER_CODE_H
#include "gemm_code.h"

/* PASS   a transform of `radix` numbers, a_step apart in a, c_step apart in c: `blocks` times the
 *        next block of both, for k rows; from row to row c goes on by b_step more. b: factors of
 *        the results. Radix 1: the factors alone. d: memory of DYNC__GF_ROOM bytes
 * UNZIP  k times V pairs, a_step apart, to a block each
 * ZIP    k times a block to V pairs, c_step apart
 * REAL   of numbers z[i] at a, i = 1 .. : with z[n - i] at c, which goes down, becomes in place
 *        s (a + conj c) + t[i] (a - conj c) and the conjugate of the difference; s at d, t's real
 *        parts at b, imaginary ones at more[0]; k times. EACH: a and c are V pairs each, which
 *        come to more[1] and lanes */
enum { DYNC__GF_PASS, DYNC__GF_UNZIP, DYNC__GF_ZIP, DYNC__GF_REAL };
/* ROW: the results but the first one are multiplied by the row's radix - 1 factors, each as real
 * part, imaginary part and that negated (radix 1: one factor). EACH: all results, by a block of
 * factors for every block of results. BACK: by the conjugate roots of unity. */
enum { DYNC__GF_ROW = 1, DYNC__GF_EACH = 2, DYNC__GF_BACK = 4 };
enum { DYNC__GF_MOST = 11, DYNC__GF_ROOM = 64 * 4 * DYNC__GF_MOST }; /* radix */

/* Is there machine code? Else lanes are chosen for C. */
DYNC__FN int dync__gf_lanes(bool wide);
/* The form's code; NULL: it is done in C. Good as code of dync__gt_code is. */
DYNC__FN dync__gt_fn dync__gf_find(int form, bool wide, int flags, int radix, int lanes);
DYNC__FN void dync__gf_do(dync__gt_fn, int form, bool wide, int flags, int radix, int lanes,
                          dync__gt_args *);
#if DYNC__JIT
struct dync__gtx;
/* gen_fourier.c: the form g->vectors of radix g->rows */
DYNC__FN void dync__gf_emit(struct dync__gtx *g);
#endif
#endif
