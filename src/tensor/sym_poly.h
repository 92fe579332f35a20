/* tensor/sym_poly.h: polynomials of sizes, for the files of symbolic sizes. After sym.h. */
#ifndef DYNC__SYM_POLY_H
#define DYNC__SYM_POLY_H
#include "sym.h"

enum { DYNC__SZ_TERMS = 24 };
typedef struct dync__sz_poly {
    int n;
    dync__sz_term term[DYNC__SZ_TERMS];
} dync__sz_poly;
#if !defined(DYNC_NO_SYMBOLIC)
/* sym_poly.c. false where the result has too many terms, too high a degree or a coefficient that
 * overflows, or where a division leaves a remainder. */
DYNC__FN bool dync__sz_poly_add(dync__sz_poly *p, const dync__sz_term *term);
DYNC__FN bool dync__sz_term_times(const dync__sz_term *a, const dync__sz_term *b,
                                  dync__sz_term *out);
DYNC__FN bool dync__sz_term_over(const dync__sz_term *a, const dync__sz_term *b,
                                 dync__sz_term *out);
DYNC__FN bool dync__sz_exact(const dync__sz_poly *a, const dync__sz_poly *b, dync__sz_poly *out);
DYNC__FN bool dync__sz_over(const dync__sz_poly *x, const dync__sz_term *by, dync__sz_poly *out);
DYNC__FN int64_t dync__sz_gcd(int64_t a, int64_t b);
/* sym.c */
DYNC__FN bool dync__sz_poly_of(const dync__symtab *t, int64_t size, dync__sz_poly *p);
#endif
#endif
