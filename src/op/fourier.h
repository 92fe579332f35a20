/* op/fourier.h: Fourier transforms by lines, for decompose_fourier.c. After chain.h; private to
 * op/. */
#ifndef DYNC__OP_FOURIER_H
#define DYNC__OP_FOURIER_H
#include "chain.h"

/* A transform: the chain it is part of, and its sign, which is -1 forwards. */
typedef struct dync__ft {
    dync__chain *c;
    int device, dtype;
    double sign;
    bool plain; /* by products, where there is a kernel too */
} dync__ft;
/* Which transform: of pairs or of real numbers, back or not, of half a spectrum (whose other half
 * is its mirror image). */
typedef struct dync__ft_kind {
    bool pairs, back, half;
} dync__ft_kind;
/* Has the CPU a kernel for it, which is faster than products (kernel/fourier.c)? */
DYNC__FN bool dync__ft_has_kernel(const dync__ft *, int64_t n, dync__ft_kind);
/* x [rows, in (, 2)] -> [rows, out (, 2)] */
DYNC__FN dync__dt *dync__ft_lines(const dync__ft *, dync__dt *x, int64_t rows, int64_t n,
                                  dync__ft_kind);
/* The transform of x along its logical dim `dim` (the dim of pairs does not count), which is cut
 * or padded: to `length` numbers, of half a spectrum back to length / 2 + 1. */
DYNC__FN dync__dt *dync__ft_transform(const dync__ft *, dync__dt *x, int dim, int64_t length,
                                      dync__ft_kind);
/* an error where it has no data points, or too large a prime factor; plain: without the kernel */
DYNC__FN dync_status dync__ft_length(int64_t n, bool plain);
#endif
