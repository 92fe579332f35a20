/* tensor/sym_text.c: symbolic sizes as text, for messages and as C. After sym.c.
 *
 * One size, 2 s0 (s1 - 1) // 3, in its three spellings:
 *
 *   as sympy prints it        ((2*s0*s1 - 2*s0)//3)
 *   with sources              (2*L['x'].size()[0]*L['x'].size()[1] - ..)//3
 *   as C                      ((2 * a * b + -2 * a) / 3)         names tell a and b
 *
 * Sums are printed in the order of their symbols' numbers, not in the order of their tokens, which
 * are hashes: so messages and generated sources are the same in every run. */
#include "../dync.in.h"
#include "sym_poly.h"
DYNC__COLD

#if !defined(DYNC_NO_SYMBOLIC)
/* ---- text ------------------------------------------------------------------------------------ */
/* before, then the number. Each new size of a trace gets its text: no format is parsed for it. */
static void dync__sz_text_number(const char *before, int64_t number, dync__str *s)
{
    char digits[24], *at = digits + sizeof digits;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do *--at = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    if (number < 0) *--at = '-';
    dync__str_add(s, before);
    dync__str_addn(s, at, (size_t)(digits + sizeof digits - at));
}

/* A size that is no sum. sources: symbols by where they come from, as in guards; else s0, s1, and
 * u0 for those that data decide. bind: it stands where an operator binds tighter, so it needs
 * brackets. */
static void dync__sz_text_atom(const dync__symtab *t, int64_t size, bool sources, bool bind,
                               dync__str *s)
{
    static const char binary[][4] = {" + ", " - ", "*", "//", " % "};
    const dync__sz_expr *e = dync__is_token(size) ? dync__symtab_find(t, size) : NULL;
    if (!e)
        dync__sz_text_number("", size, s);
    else if (e->kind == DYNC__SZ_SYMBOL && t->symbol.at[e->symbol].data)
        dync__sz_text_number("u", dync__sz_data_number(t, e->symbol), s);
    else if (e->kind == DYNC__SZ_SYMBOL && sources)
        dync__str_add(s, t->symbol.at[e->symbol].source);
    else if (e->kind == DYNC__SZ_SYMBOL)
        dync__sz_text_number("s", e->symbol, s);
    else if (e->kind == DYNC__SZ_MIN || e->kind == DYNC__SZ_MAX ||
             (e->kind == DYNC__SZ_MOD && !sources)) {
        dync__str_add(s, e->kind == DYNC__SZ_MIN   ? "Min("
                         : e->kind == DYNC__SZ_MAX ? "Max("
                                                   : "Mod(");
        dync__sz_text_atom(t, e->a, sources, false, s);
        dync__str_add(s, ", ");
        dync__sz_text_atom(t, e->b, sources, false, s);
        dync__str_add(s, ")");
    } else if (e->kind == DYNC__SZ_SUM) {
        if (bind) dync__str_add(s, "(");
        dync__symtab_text(t, size, sources, s);
        if (bind) dync__str_add(s, ")");
    } else {
        bool brackets = bind || (e->kind == DYNC__SZ_DIV && !sources);
        if (brackets) dync__str_add(s, "(");
        dync__sz_text_atom(t, e->a, sources, true, s);
        dync__str_add(s, binary[e->kind]);
        dync__sz_text_atom(t, e->b, sources, true, s);
        if (brackets) dync__str_add(s, ")");
    }
}

/* Symbols of lower number first; atoms of other kinds last. */
static int dync__sz_atom_rank(const dync__symtab *t, int64_t atom)
{
    const dync__sz_expr *e = dync__symtab_find(t, atom);
    return e && e->kind == DYNC__SZ_SYMBOL ? e->symbol : INT_MAX;
}

/* The order of terms in print: products of more factors first, then by their symbols. */
static int dync__sz_term_rank(const dync__symtab *t, const dync__sz_term *a, const dync__sz_term *b)
{
    if (a->n != b->n) return a->n > b->n ? -1 : 1;
    for (int i = 0; i < a->n; i++) {
        int x = dync__sz_atom_rank(t, a->atom[i]), y = dync__sz_atom_rank(t, b->atom[i]);
        if (x != y) return x < y ? -1 : 1;
    }
    return 0;
}

/* One term with its sign; equal atoms stand side by side and are printed as a power. */
static void dync__sz_text_term(const dync__symtab *t, const dync__sz_term *term, bool sources,
                               bool first, dync__str *s)
{
    int64_t coef = term->coef, size = coef < 0 ? -coef : coef;
    if (!first)
        dync__str_add(s, coef < 0 ? " - " : " + ");
    else if (coef < 0)
        dync__str_add(s, "-");
    if (size != 1 || term->n == 0) dync__sz_text_number("", size, s);
    for (int k = 0; k < term->n; k++) {
        int power = 1;
        if (k || size != 1) dync__str_add(s, "*");
        dync__sz_text_atom(t, term->atom[k], sources, true, s);
        while (k + 1 < term->n && term->atom[k + 1] == term->atom[k]) {
            power++;
            k++;
        }
        if (power > 1) dync__sz_text_number("**", power, s);
    }
}

/* As Python has it: 1.0/s0. c: as C does, with the symbols that names tell. */
static void dync__sf_text(const dync__symtab *t, int64_t bits, const dync__sz_names *c,
                          bool sources, dync__str *s)
{
    static const char binary[][4] = {" + ", " - ", "*", "/"};
    const dync__sz_expr *e = dync__is_sf(bits) ? dync__symtab_find(t, bits) : NULL;
    if (!e) {
        char text[40];
        dync__double_text(dync__sf_double(bits), text, sizeof text);
        dync__str_add(s, text);
    } else if (e->kind == DYNC__SF_OF) {
        if (c) dync__str_add(s, "(double)");
        if (c)
            dync__symtab_c(t, e->a, c, s);
        else
            dync__sz_text_atom(t, e->a, sources, true, s);
    } else {
        dync__str_add(s, e->kind == DYNC__SF_SQRT ? c ? "sqrt(" : "math.sqrt(" : "(");
        dync__sf_text(t, e->a, c, sources, s);
        if (e->kind != DYNC__SF_SQRT) {
            dync__str_add(s, binary[e->kind - DYNC__SF_ADD]);
            dync__sf_text(t, e->b, c, sources, s);
        }
        dync__str_add(s, ")");
    }
}

/* A sum's terms are sorted in a copy: canonical order is by token. */
DYNC__FN void dync__symtab_text(const dync__symtab *t, int64_t size, bool sources, dync__str *s)
{
    if (dync__is_sf(size)) {
        dync__sf_text(t, size, NULL, sources, s);
        return;
    }
    const dync__sz_expr *e = dync__is_token(size) ? dync__symtab_find(t, size) : NULL;
    if (!e || e->kind != DYNC__SZ_SUM) {
        dync__sz_text_atom(t, size, sources, false, s);
        return;
    }
    dync__sz_term term[DYNC__SZ_TERMS];
    memcpy(term, e->term, (size_t)e->n_terms * sizeof *term);
    for (int i = 0; i < e->n_terms; i++) {
        dync__sz_term *x = &term[i];
        for (int k = 1; k < x->n; k++)
            for (int j = k;
                 j > 0 && dync__sz_atom_rank(t, x->atom[j - 1]) > dync__sz_atom_rank(t, x->atom[j]);
                 j--) {
                int64_t hold = x->atom[j];
                x->atom[j] = x->atom[j - 1];
                x->atom[j - 1] = hold;
            }
        dync__sz_term now = *x;
        int k = i;
        for (; k > 0 && dync__sz_term_rank(t, &term[k - 1], &now) > 0; k--) term[k] = term[k - 1];
        term[k] = now;
    }
    for (int i = 0; i < e->n_terms; i++) dync__sz_text_term(t, &term[i], sources, i == 0, s);
}

/* All in brackets, so that it can stand in any expression. Sizes are not negative where they are
 * divided, so C's division is floor division. */
DYNC__FN void dync__symtab_c(const dync__symtab *t, int64_t size, const dync__sz_names *names,
                             dync__str *s)
{
    static const char binary[][4] = {" + ", " - ", " * ", " / ", " % "};
    const dync__sz_expr *e = dync__is_token(size) ? dync__symtab_find(t, size) : NULL;
    if (dync__is_sf(size))
        dync__sf_text(t, size, names, false, s);
    else if (!e)
        dync__str_addf(s, "%lld", (long long)size);
    else if (e->kind == DYNC__SZ_SYMBOL)
        names->symbol(names->user, size, s);
    else if (e->kind == DYNC__SZ_MIN || e->kind == DYNC__SZ_MAX) {
        for (int i = 0; i < 4; i++) { /* (a < b ? a : b) */
            static const char min[][4] = {"(", " < ", " ? ", " : "},
                              max[][4] = {"(", " > ", " ? ", " : "};
            dync__str_add(s, e->kind == DYNC__SZ_MIN ? min[i] : max[i]);
            dync__symtab_c(t, i % 2 ? e->b : e->a, names, s);
        }
        dync__str_add(s, ")");
    } else if (e->kind != DYNC__SZ_SUM) {
        dync__str_add(s, "(");
        dync__symtab_c(t, e->a, names, s);
        dync__str_add(s, binary[e->kind]);
        dync__symtab_c(t, e->b, names, s);
        dync__str_add(s, ")");
    } else {
        dync__str_add(s, "(");
        for (int i = 0; i < e->n_terms; i++) {
            dync__str_addf(s, "%s%lld", i ? " + " : "", (long long)e->term[i].coef);
            for (int k = 0; k < e->term[i].n; k++) {
                dync__str_add(s, " * ");
                dync__symtab_c(t, e->term[i].atom[k], names, s);
            }
        }
        dync__str_add(s, ")");
    }
}
#endif
