/* tensor/sym_poly.c: polynomials of sizes: sums of products of atoms with integer coefficients,
 * their terms in one order. Nothing here knows a table. After sym.h, before sym.c. */
#include "../dync.in.h"
#include "sym_poly.h"
DYNC__LEAN

#if !defined(DYNC_NO_SYMBOLIC)
/* The canonical order: products of more atoms first, then by token. */
DYNC__BUSY static int dync__sz_term_order(const dync__sz_term *a, const dync__sz_term *b)
{
    if (a->n != b->n) return a->n > b->n ? -1 : 1;
    for (int i = 0; i < a->n; i++)
        if (a->atom[i] != b->atom[i]) return a->atom[i] < b->atom[i] ? -1 : 1;
    return 0;
}

/* Adds a term where it belongs; false: too many of them, or a coefficient overflows. */
DYNC__BUSY DYNC__FN bool dync__sz_poly_add(dync__sz_poly *p, const dync__sz_term *term)
{
    int i = 0;
    while (i < p->n && dync__sz_term_order(&p->term[i], term) < 0) i++;
    if (i < p->n && dync__sz_term_order(&p->term[i], term) == 0) {
        if (!dync__add_ok(p->term[i].coef, term->coef, &p->term[i].coef)) return false;
        if (p->term[i].coef) return true;
        memmove(&p->term[i], &p->term[i + 1], (size_t)(p->n - i - 1) * sizeof *term);
        p->n--;
        return true;
    }
    if (!term->coef) return true;
    if (p->n == DYNC__SZ_TERMS) return false;
    memmove(&p->term[i + 1], &p->term[i], (size_t)(p->n - i) * sizeof *term);
    p->term[i] = *term;
    p->n++;
    return true;
}

/* The product, its atoms merged in order. false: of too high a degree, or a coefficient overflows;
 * then the product becomes an atom. */
DYNC__FN bool dync__sz_term_times(const dync__sz_term *a, const dync__sz_term *b,
                                  dync__sz_term *out)
{
    if (a->n + b->n > DYNC__SZ_DEGREE || !dync__mul_ok(a->coef, b->coef, &out->coef)) return false;
    out->n = 0;
    for (int i = 0, j = 0; i < a->n || j < b->n;)
        out->atom[out->n++] = j == b->n || (i < a->n && a->atom[i] < b->atom[j]) ? a->atom[i++]
                                                                                 : b->atom[j++];
    return true;
}

/* a over b, where that leaves no remainder. */
DYNC__FN bool dync__sz_term_over(const dync__sz_term *a, const dync__sz_term *b, dync__sz_term *out)
{
    int k = 0;
    if (b->coef == 0 || a->coef % b->coef != 0) return false;
    *out = (dync__sz_term){.coef = a->coef / b->coef};
    for (int j = 0; j < a->n; j++) {
        if (k < b->n && b->atom[k] == a->atom[j])
            k++;
        else
            out->atom[out->n++] = a->atom[j];
    }
    return k == b->n;
}

/* a less q * b; false: too many terms, too high a degree, or a coefficient overflows. */
static bool dync__sz_poly_less(dync__sz_poly *a, const dync__sz_term *q, const dync__sz_poly *b)
{
    for (int i = 0; i < b->n; i++) {
        dync__sz_term product;
        if (!dync__sz_term_times(q, &b->term[i], &product) ||
            !dync__mul_ok(product.coef, -1, &product.coef) || !dync__sz_poly_add(a, &product))
            return false;
    }
    return true;
}

/* a over b, where that leaves no remainder, by long division: the first term of what is left over
 * the first of b. The canonical order is one of monomials (graded, then by letters), so each step
 * takes the first term away and puts only later ones in. */
DYNC__FN bool dync__sz_exact(const dync__sz_poly *a, const dync__sz_poly *b, dync__sz_poly *out)
{
    dync__sz_poly rest = *a;
    out->n = 0;
    for (dync__sz_term q; rest.n;) {
        if (!b->n || !dync__sz_term_over(&rest.term[0], &b->term[0], &q)) return false;
        if (!dync__sz_poly_less(&rest, &q, b) || !dync__sz_poly_add(out, &q)) return false;
    }
    return true;
}

DYNC__FN int64_t dync__sz_gcd(int64_t a, int64_t b)
{
    for (int64_t rest; b; a = b, b = rest) rest = a % b;
    return a < 0 ? -a : a;
}

/* Each term over one that divides it. */
DYNC__FN bool dync__sz_over(const dync__sz_poly *x, const dync__sz_term *by, dync__sz_poly *out)
{
    out->n = 0;
    for (int i = 0; i < x->n; i++) {
        dync__sz_term q;
        if (!dync__sz_term_over(&x->term[i], by, &q) || !dync__sz_poly_add(out, &q)) return false;
    }
    return true;
}
#endif
