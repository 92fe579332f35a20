/* tensor/sym_value.c: symbolic sizes with numbers for their symbols: what a size is then, which
 * symbols it uses, what a symbol must be for a size to be that number, and whether a guard holds.
 * After sym_text.c. */
#include "../dync.in.h"
#include "sym.h"
DYNC__COLD

/* ---- values ---------------------------------------------------------------------------------- */
DYNC__FN int64_t dync__symtab_value(const dync__symtab *t, int64_t size, const int64_t *value,
                                    bool *ok)
{
    if (DYNC__LIKELY(!dync__is_token(size) && !dync__is_sf(size))) return size;
    const dync__sz_expr *e = dync__symtab_find(t, size);
    if (!e) return dync__is_sf(size) ? size : (*ok = false, -1); /* a number of the user's */
    if (e->kind >= DYNC__SF_OF) {
        int64_t a = dync__symtab_value(t, e->a, value, ok),
                b = dync__symtab_value(t, e->b, value, ok);
        return dync__sf_bits(
            e->kind == DYNC__SF_OF
                ? dync__sf_of(a)
                : dync__sf((dync__sf_op)e->kind, dync__sf_double(a), dync__sf_double(b)));
    }
    if (e->kind == DYNC__SZ_SYMBOL) return value[e->symbol];
    if (e->kind != DYNC__SZ_SUM) {
        int64_t a = dync__symtab_value(t, e->a, value, ok),
                b = dync__symtab_value(t, e->b, value, ok);
        if (dync__any_token(a, b)) return dync__sz_make((dync__sz_op)e->kind, a, b);
        if (b == 0 && (e->kind == DYNC__SZ_DIV || e->kind == DYNC__SZ_MOD)) *ok = false;
        return dync__sz_plain((dync__sz_op)e->kind, a, b);
    }
    int64_t sum = 0;
    for (int i = 0; i < e->n_terms; i++) {
        int64_t product = e->term[i].coef;
        for (int k = 0; k < e->term[i].n; k++) {
            int64_t by = dync__symtab_value(t, e->term[i].atom[k], value, ok);
            product = dync__any_token(product, by) ? dync__sz_make(DYNC__SZ_MUL, product, by)
                                                   : dync__sz_plain(DYNC__SZ_MUL, product, by);
        }
        sum = dync__any_token(sum, product) ? dync__sz_make(DYNC__SZ_ADD, sum, product)
                                            : dync__sz_plain(DYNC__SZ_ADD, sum, product);
    }
    return sum;
}

DYNC__FN bool dync__layout_values(const dync__symtab *t, const int64_t *value, dync__layout *lay)
{
    bool ok = true;
    for (int d = 0; d < lay->ndim; d++) {
        lay->shape[d] = dync__symtab_value(t, lay->shape[d], value, &ok);
        lay->stride[d] = dync__symtab_value(t, lay->stride[d], value, &ok);
    }
    lay->offset = dync__symtab_value(t, lay->offset, value, &ok);
    return ok;
}

DYNC__FN bool dync__symtab_uses(const dync__symtab *t, int64_t size, bool *symbols)
{
    if (!dync__is_token(size) && !dync__is_sf(size)) return true;
    const dync__sz_expr *e = dync__symtab_find(t, size);
    if (!e) return dync__is_sf(size);
    if (e->kind == DYNC__SZ_SYMBOL) return symbols[e->symbol] = true;
    if (e->kind != DYNC__SZ_SUM)
        return dync__symtab_uses(t, e->a, symbols) && dync__symtab_uses(t, e->b, symbols);
    for (int i = 0; i < e->n_terms; i++)
        for (int k = 0; k < e->term[i].n; k++)
            if (!dync__symtab_uses(t, e->term[i].atom[k], symbols)) return false;
    return true;
}

DYNC__FN bool dync__symtab_solve(const dync__symtab *t, int64_t size, int64_t actual,
                                 int64_t *value, bool *known)
{
    dync__sz_poly p;
    int unknown = -1;
    int64_t coef = 0, rest = 0;
    bool ok = true;
    if (!dync__is_token(size) || !dync__sz_poly_of(t, size, &p)) return false;
    for (int i = 0; i < p.n && ok; i++) {
        int64_t product = p.term[i].coef;
        int here = -1;
        for (int k = 0; k < p.term[i].n && ok; k++) {
            const dync__sz_expr *e = dync__symtab_find(t, p.term[i].atom[k]);
            if (!e || e->kind != DYNC__SZ_SYMBOL)
                ok = false;
            else if (known[e->symbol])
                product = dync__sz_mul(product, value[e->symbol]);
            else if (here >= 0)
                ok = false;
            else
                here = e->symbol;
        }
        if (here < 0)
            rest = dync__sz_add(rest, product);
        else if (unknown >= 0)
            ok = false;
        else {
            unknown = here;
            coef = product;
        }
    }
    if (!ok || unknown < 0 || coef == 0) return false;
    int64_t left = dync__sz_sub(actual, rest);
    value[unknown] = coef == 1 ? left : dync__sz_div(left, coef);
    return known[unknown] = true;
}

DYNC__FN bool dync__guard_holds(const dync__symtab *t, const dync__sz_guard *g,
                                const int64_t *value)
{
    bool ok = true;
    int64_t a = dync__symtab_value(t, g->a, value, &ok),
            b = dync__symtab_value(t, g->b, value, &ok);
    if (!ok) return false;
    switch (g->rel) {
    case DYNC__SZ_EQ: return a == b;
    case DYNC__SZ_NE: return a != b;
    case DYNC__SZ_LT: return a < b;
    case DYNC__SZ_LE: break;
    }
    return a <= b;
}

DYNC__FN bool dync__symtab_fits(const dync__symtab *t, const int64_t *value)
{
    for (int i = 0; i < t->guard.n; i++)
        if (!dync__guard_holds(t, &t->guard.at[i], value)) return false;
    for (int i = 0; i < t->symbol.n; i++)
        if ((value[i] || t->symbol.at[i].number) &&
            (value[i] < t->symbol.at[i].low || value[i] > t->symbol.at[i].high))
            return false;
    return true;
}

DYNC__FN dync__symtab *dync__symtab_copy(const dync__symtab *from, const int64_t *value)
{
    dync__symtab *t = dync__symtab_new();
    if (t) t->salt = from->salt;
    for (int i = 0; t && i < from->symbol.n && !t->failed; i++) {
        dync__sz_symbol s = from->symbol.at[i];
        s.source = dync__arena_strdup(&t->arena, s.source);
        if (s.remedy) s.remedy = dync__arena_strdup(&t->arena, s.remedy);
        if (!s.source || !dync__avec_push(&t->arena, &t->symbol, s)) t->failed = true;
    }
    for (int i = 0; t && i < from->expr.n && !t->failed; i++) {
        bool ok = true;
        dync__sz_put(t, from->expr.at[i], from->expr.at[i].term);
        if (value && !t->failed)
            t->expr.at[i].hint = dync__symtab_value(t, t->expr.at[i].token, value, &ok);
    }
    for (int i = 0; t && i < from->guard.n && !t->failed; i++)
        if (!dync__avec_push(&t->arena, &t->guard, from->guard.at[i])) t->failed = true;
    if (!t || !t->failed) return t;
    dync__symtab_free(t);
    return NULL;
}

DYNC__FN int64_t dync__sz_factor(int64_t size)
{
    dync__sz_poly p;
    int64_t factor = 0;
    if (!dync__is_token(size)) return llabs(size);
    if (!dync__sz_poly_of(dync__tls.syms, size, &p)) return 1;
    for (int i = 0; i < p.n; i++)
        for (int64_t a = llabs(p.term[i].coef), t; a != 0; a = t) {
            t = factor % a;
            factor = a;
        }
    return factor;
}

/* ---- as dync_value --------------------------------------------------------------------------- */
DYNC__FN dync_value dync__value_of_size(int64_t size)
{
    dync_value v = dync_v_int(size);
    if (!dync__is_token(size)) return v;
    v.kind = DYNC_KIND_SYM;
    v.source = DYNC__SYM_SIZE;
    return v;
}

DYNC__FN dync_value dync__value_of_sf(double x)
{
    dync_value v = dync_v_float(x);
    int64_t bits = dync__sf_bits(x);
    if (!dync__is_sf(bits) || !dync__tls.syms || !dync__symtab_find(dync__tls.syms, bits)) return v;
    v.kind = DYNC_KIND_SYM;
    v.source = DYNC__SYM_REAL;
    return v;
}

DYNC__FN bool dync__sf_size(double x, int64_t *size)
{
    int64_t bits = dync__sf_bits(x);
    const dync__sz_expr *e =
        dync__is_sf(bits) && dync__tls.syms ? dync__symtab_find(dync__tls.syms, bits) : NULL;
    if (!e || e->kind != DYNC__SF_OF) return false;
    *size = e->a;
    return true;
}
