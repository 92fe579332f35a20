/* tensor/sym_simple.c: sizes and numbers rewritten by what symbols were found to be, and made.
 * After sym.c. */
#include "../dync.in.h"
#include "sym.h"
DYNC__LEAN

#if !defined(DYNC_NO_SYMBOLIC)
/* ---- what symbols were found to be ----------------------------------------------------------- */
static int64_t dync__sf_simple(dync__symtab *t, const dync__sz_expr *e)
{
    int op = e->kind;
    int64_t a = dync__symtab_simple(t, e->a), b = dync__symtab_simple(t, e->b);
    if (op == DYNC__SF_OF ? dync__is_token(a) : dync__is_sf(a) || dync__is_sf(b))
        return dync__sf_build(t, op, a, b);
    return dync__sf_bits(
        dync__sf_plain(op, op == DYNC__SF_OF ? (double)a : dync__sf_double(a), dync__sf_double(b)));
}

/* An expression with all that symbols were found to be put in. */
static int64_t dync__sz_simple(dync__symtab *t, const dync__sz_expr *e)
{
    if (e->kind >= DYNC__SF_OF) return dync__sf_simple(t, e);
    if (e->kind == DYNC__SZ_SYMBOL) {
        int64_t is = t->symbol.at[e->symbol].is;
        return is ? dync__symtab_simple(t, is) : e->token;
    }
    if (e->kind != DYNC__SZ_SUM)
        return dync__sz_build(t, (dync__sz_op)e->kind, dync__symtab_simple(t, e->a),
                              dync__symtab_simple(t, e->b));
    int64_t sum = 0;
    for (int i = 0; i < e->n_terms; i++) {
        int64_t product = e->term[i].coef;
        for (int k = 0; k < e->term[i].n; k++)
            product = dync__sz_build(t, DYNC__SZ_MUL, product,
                                     dync__symtab_simple(t, e->term[i].atom[k]));
        sum = dync__sz_build(t, DYNC__SZ_ADD, sum, product);
    }
    return sum;
}

/* Is something known of a symbol in it? Else it is as simple as it was when it was made. */
static bool dync__sz_has_found(const dync__symtab *t, const dync__sz_expr *e)
{
    for (int i = 0; i < t->symbol.n; i++)
        if (t->symbol.at[i].is && e->uses >> DYNC__MIN(i, 63) & 1) return true;
    return false;
}

/* After a guard has fixed a symbol, old tokens still name it; this gives the expression without it.
 * The result is kept until the next such finding (epoch). */
DYNC__BUSY DYNC__FN int64_t dync__symtab_simple(dync__symtab *t, int64_t size)
{
    int i = dync__is_token(size) || dync__is_sf(size) ? dync__symtab_place(t, size) : -1;
    if (i < 0) return size;
    dync__sz_expr e = t->expr.at[i]; /* what is built on the way moves them */
    if (e.simple_at == t->epoch) return e.simple;
    int64_t simple = dync__sz_has_found(t, &e) ? dync__sz_simple(t, &e) : size;
    t->expr.at[i].simple = simple;
    t->expr.at[i].simple_at = t->epoch;
    return simple;
}

/* The table in force; NULL + error where a token has outlived its trace, or is none. */
DYNC__FN dync__symtab *dync__sz_table(int64_t a, int64_t b)
{
    dync__symtab *t = dync__tls.syms;
    bool known = t && (!dync__is_token(a) || dync__symtab_find(t, a)) &&
                 (!dync__is_token(b) || dync__symtab_find(t, b));
    if (known) return t;
    dync__fail(DYNC_ERR_VALUE,
               "%lld is no size: what dync_dim gives may only be passed on "
               "whole, as an element of a shape, inside the traced function",
               (long long)(dync__is_token(a) ? a : b));
    return NULL;
}

DYNC__BUSY DYNC__FN int64_t dync__sz_make(dync__sz_op op, int64_t a, int64_t b)
{
    dync__symtab *t = dync__tls.syms;
    int what = DYNC__SZ_MADE + (int)op;
    const dync__sz_memo *known = t && !t->failed ? dync__sz_memo_at(t, what, a, b) : NULL;
    if (known && known->what) return known->r;
    t = dync__sz_table(a, b);
    if (!t) return -1;
    int64_t r = dync__sz_build(t, op, dync__symtab_simple(t, a), dync__symtab_simple(t, b));
    if (t->failed) dync__fail_memory(0);
    if (t->failed) return -1;
    *dync__sz_memo_at(t, what, a, b) = (dync__sz_memo){a, b, r, t->epoch, what};
    return r;
}

/* Of a stride that runs backwards and a size that turned out to be a number it is below 0. */
DYNC__FN bool dync__sz_product(int64_t a, int64_t b, int64_t *out)
{
    *out = dync__sz_make(DYNC__SZ_MUL, a, b);
    return *out != -1 || (dync__tls.syms && !dync__tls.syms->failed);
}

static double dync__sf_made(int op, int64_t a, int64_t b)
{
    dync__symtab *t = dync__sz_table(op == DYNC__SF_OF ? a : 0, 0);
    dync__sz_expr e = {.kind = (int8_t)op, .a = a, .b = b};
    int64_t r = t ? dync__sf_simple(t, &e) : -1;
    if (t && t->failed) dync__fail_memory(0);
    return dync__sf_double(r);
}

/* Arithmetic on floats that may be symbolic, for code that does both; without a table in force it
 * is plain arithmetic. */
DYNC__FN double dync__sf(dync__sf_op op, double a, double b)
{
    int64_t x = dync__sf_bits(a), y = dync__sf_bits(b);
    return dync__tls.syms && (dync__is_sf(x) || dync__is_sf(y)) ? dync__sf_made((int)op, x, y)
                                                                : dync__sf_plain((int)op, a, b);
}

DYNC__FN double dync__sf_of(int64_t size)
{
    return dync__is_token(size) ? dync__sf_made(DYNC__SF_OF, size, 0) : (double)size;
}

DYNC__FN int64_t dync__sz_hint(int64_t size) { return dync__sz_hint_in(dync__tls.syms, size); }

DYNC__FN bool dync__layout_has_tokens(const dync__layout *lay)
{
    bool any = dync__is_token(lay->offset);
    for (int i = 0; i < lay->ndim; i++)
        any = any || dync__is_token(lay->shape[i]) || dync__is_token(lay->stride[i]);
    return any;
}
#endif
