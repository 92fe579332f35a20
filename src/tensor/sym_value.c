/* tensor/sym_value.c: symbolic sizes with numbers for their symbols: what a size is then, which
 * symbols it uses, what a symbol must be for a size to be that number, and whether a guard holds.
 * After sym_text.c. */
#include "../dync.in.h"
#include "sym_poly.h"
DYNC__LEAN

#if !defined(DYNC_NO_SYMBOLIC)
/* ---- values ---------------------------------------------------------------------------------- */
/* at: of the expression at each place, where they are known; else a walk finds them. */
typedef struct dync__sz_given {
    const dync__symtab *t;
    const int64_t *value, *at;
    bool *ok;
} dync__sz_given;
/* The value of a part; *ok becomes false for a token that is not of this table. */
static int64_t dync__sz_given_of(const dync__sz_given *g, int64_t size)
{
    if (!g->at) return dync__symtab_value(g->t, size, g->value, g->ok);
    if (!dync__is_token(size) && !dync__is_sf(size)) return size;
    int i = dync__symtab_place(g->t, size);
    if (i >= 0) return g->at[i];
    return dync__is_sf(size) ? size : (*g->ok = false, -1);
}

/* The value of one expression. Values of symbols may be tokens of another table (a graph that is
 * called while another is traced), then it builds an expression there. Division by 0 sets *ok to
 * false. */
static int64_t dync__sz_value(const dync__sz_given *g, const dync__sz_expr *e)
{
    if (e->kind >= DYNC__SF_OF) {
        int64_t a = dync__sz_given_of(g, e->a), b = dync__sz_given_of(g, e->b);
        return dync__sf_bits(
            e->kind == DYNC__SF_OF
                ? dync__sf_of(a)
                : dync__sf((dync__sf_op)e->kind, dync__sf_double(a), dync__sf_double(b)));
    }
    if (e->kind == DYNC__SZ_SYMBOL) return g->value[e->symbol];
    if (e->kind != DYNC__SZ_SUM) {
        int64_t a = dync__sz_given_of(g, e->a), b = dync__sz_given_of(g, e->b);
        if (dync__any_token(a, b)) return dync__sz_make((dync__sz_op)e->kind, a, b);
        if (b == 0 && (e->kind == DYNC__SZ_DIV || e->kind == DYNC__SZ_MOD)) *g->ok = false;
        return dync__sz_plain((dync__sz_op)e->kind, a, b);
    }
    int64_t sum = 0;
    for (int i = 0; i < e->n_terms; i++) {
        int64_t product = e->term[i].coef;
        for (int k = 0; k < e->term[i].n; k++) {
            int64_t by = dync__sz_given_of(g, e->term[i].atom[k]);
            product = dync__any_token(product, by) ? dync__sz_make(DYNC__SZ_MUL, product, by)
                                                   : dync__sz_plain(DYNC__SZ_MUL, product, by);
        }
        sum = dync__any_token(sum, product) ? dync__sz_make(DYNC__SZ_ADD, sum, product)
                                            : dync__sz_plain(DYNC__SZ_ADD, sum, product);
    }
    return sum;
}

/* Marks what the marked ones are made of: parts stand before what is made of them. */
static void dync__sz_need(const dync__symtab *t, int64_t size, bool *need)
{
    int i = dync__is_token(size) || dync__is_sf(size) ? dync__symtab_place(t, size) : -1;
    if (i >= 0) need[i] = true;
}
static void dync__sz_need_parts(const dync__symtab *t, bool *need, int n)
{
    for (int i = n - 1; i >= 0; i--) {
        const dync__sz_expr *e = &t->expr.at[i];
        if (!need[i] || e->kind == DYNC__SZ_SYMBOL) continue;
        if (e->kind != DYNC__SZ_SUM) dync__sz_need(t, e->a, need), dync__sz_need(t, e->b, need);
        for (int k = 0; k < e->n_terms; k++)
            for (int j = 0; j < e->term[k].n; j++) dync__sz_need(t, e->term[k].atom[j], need);
    }
}

/* One that shares so many parts that a walk would meet them too often: each once, in order. */
DYNC__RARE static int64_t dync__sz_value_shared(const dync__symtab *t, int64_t place,
                                                const int64_t *value, bool *ok)
{
    size_t n = (size_t)place + 1, bytes = n * (sizeof(int64_t) + 1);
    int64_t *at = dync__calloc(bytes), result = -1;
    bool *need = at ? (bool *)(at + n) : NULL;
    dync__sz_given g = {t, value, at, ok};
    if (!at) return *ok = false, -1;
    need[place] = true;
    dync__sz_need_parts(t, need, (int)n);
    for (size_t i = 0; i < n; i++)
        if (need[i]) {
            dync__sz_expr e = t->expr.at[i]; /* tokens for symbols may be of this table */
            result = at[i] = dync__sz_value(&g, &e);
        }
    dync__free(at, bytes);
    return result;
}

/* value: one for each symbol of t. -1 and *ok = false: a token that t does not know. *ok is never
 * set to true. */
DYNC__FN int64_t dync__symtab_value(const dync__symtab *t, int64_t size, const int64_t *value,
                                    bool *ok)
{
    if (DYNC__LIKELY(!dync__is_token(size) && !dync__is_sf(size))) return size;
    int i = t ? dync__symtab_place(t, size) : -1;
    if (i < 0) return dync__is_sf(size) ? size : (*ok = false, -1); /* a number of the user's */
    const dync__sz_given g = {t, value, NULL, ok};
    return t->expr.at[i].visits > DYNC__SZ_VISITS ? dync__sz_value_shared(t, i, value, ok)
                                                  : dync__sz_value(&g, &t->expr.at[i]);
}

DYNC__FN int64_t dync__symtab_value_kept(const dync__symtab *t, int64_t size, const int64_t *value,
                                         int64_t *at, bool *ok)
{
    if (DYNC__LIKELY(!dync__is_token(size) && !dync__is_sf(size))) return size;
    int i = t && at ? dync__symtab_place(t, size) : -1;
    if (i >= 0 && at[i]) return at[i];
    int64_t is = dync__symtab_value(t, size, value, ok);
    if (i >= 0) at[i] = is;
    return is;
}

enum { DYNC__SZ_USUAL = 512, DYNC__SZ_USUAL_SYMBOLS = 64 };
DYNC__FN int64_t dync__sz_usual(int64_t size)
{
    const dync__symtab *t = dync__tls.syms;
    int64_t value[DYNC__SZ_USUAL_SYMBOLS];
    bool ok = true;
    if (!dync__is_token(size)) return size;
    if (!t || t->symbol.n > DYNC__SZ_USUAL_SYMBOLS) return dync__sz_hint(size);
    for (int i = 0; i < t->symbol.n; i++) value[i] = DYNC__SZ_USUAL;
    int64_t is = dync__symtab_value(t, size, value, &ok);
    return ok ? DYNC__MAX(is, 1) : dync__sz_hint(size);
}

/* Other example values: all hints are computed anew. */
DYNC__FN void dync__symtab_hints(dync__symtab *t, const int64_t *value)
{
    bool ok = true;
    size_t n = (size_t)t->expr.n;
    int64_t *at = dync__calloc((n + 1) * sizeof *at);
    const dync__sz_given g = {t, value, at, &ok};
    if (!at) t->failed = true;
    for (size_t i = 0; i < n && at; i++)
        t->expr.at[i].hint = at[i] = dync__sz_value(&g, &t->expr.at[i]);
    dync__symtab_learnt(t); /* decisions taken by hints are others */
    if (at) dync__free(at, (n + 1) * sizeof *at);
}

/* Replaces all sizes in place; false: one could not be computed, lay is of no use then. */
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

DYNC__RARE static bool dync__sz_uses_shared(const dync__symtab *t, int64_t size, bool *symbols)
{
    size_t n = (size_t)t->expr.n;
    bool *need = dync__calloc(n);
    if (!need) return false;
    dync__sz_need(t, size, need);
    dync__sz_need_parts(t, need, (int)n);
    for (size_t i = 0; i < n; i++)
        if (need[i] && t->expr.at[i].kind == DYNC__SZ_SYMBOL) symbols[t->expr.at[i].symbol] = true;
    dync__free(need, n);
    return true;
}

/* Marks the symbols of size in `symbols`; false: an unknown token, or no memory. */
DYNC__FN bool dync__symtab_uses(const dync__symtab *t, int64_t size, bool *symbols)
{
    if (!dync__is_token(size) && !dync__is_sf(size)) return true;
    const dync__sz_expr *e = dync__symtab_find(t, size);
    if (!e) return dync__is_sf(size);
    if (e->uses >> 63) return dync__sz_uses_shared(t, size, symbols);
    for (int i = 0; e->uses >> i; i++)
        if (e->uses >> i & 1) symbols[i] = true;
    return true;
}

/* What one symbol must be for size to be `actual`, the others being known. Only where the size is
 * linear in exactly one unknown symbol: 2 s0 s1 + 3 = 11 with s1 = 2 gives s0 = 2. That there is no
 * remainder is for guards to check. */
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

/* Sizes of the table in force, whose comparison becomes a guard there. Numbers of the user's and
 * bounds may look like one. */
static bool dync__sz_open(int64_t a, int64_t b)
{
    const dync__symtab *t = dync__any_token(a, b) ? dync__tls.syms : NULL;
    return t && (!dync__is_token(a) || dync__symtab_find(t, a)) &&
           (!dync__is_token(b) || dync__symtab_find(t, b));
}

/* Is the value within the symbol's bounds? What data decide and is at most 1 passes as one of 2,
 * too (dync__symtab_within). */
DYNC__FN bool dync__symbol_takes(const dync__sz_symbol *s, int64_t value)
{
    int64_t high = s->data ? DYNC__MAX(s->high, s->low) : s->high;
    if (!dync__sz_open(value, value)) return value >= s->low && value <= high;
    return !(s->low > -DYNC__SZ_MOST && dync__sz_lt(value, s->low)) &&
           !(high < DYNC__SZ_MOST && dync__sz_lt(high, value));
}

/* Does the relation hold with these values? false as well where they cannot be computed. */
DYNC__FN bool dync__guard_holds(const dync__symtab *t, const dync__sz_guard *g,
                                const int64_t *value)
{
    bool ok = true;
    int64_t a = dync__symtab_value(t, g->a, value, &ok),
            b = dync__symtab_value(t, g->b, value, &ok);
    if (!ok) return false;
    bool open = dync__sz_open(a, b);
    switch (g->rel) {
    case DYNC__SZ_EQ: return open ? dync__sz_eq(a, b) : a == b;
    case DYNC__SZ_NE: return open ? !dync__sz_eq(a, b) : a != b;
    case DYNC__SZ_LT: return open ? dync__sz_lt(a, b) : a < b;
    case DYNC__SZ_LE: break;
    }
    return open ? !dync__sz_lt(b, a) : a <= b;
}

/* The expressions, each at its place, and what was built of which lately; nothing of what is known
 * of symbols. t is empty. false: no memory. */
static bool dync__symtab_copy_exprs(dync__symtab *t, const dync__symtab *from)
{
    if (!dync__map_copy(&t->index, &from->index)) return false;
    for (int i = 0; i < from->expr.n; i++) {
        dync__sz_expr e = from->expr.at[i];
        e.simple_at = e.range_at = 0;
        if (e.n_terms) {
            e.term = dync__arena_copy(&t->arena, e.term, (size_t)e.n_terms * sizeof *e.term);
            if (!e.term) return false;
        }
        if (!dync__avec_push(&t->arena, &t->expr, e)) return false;
    }
    memcpy(t->place, from->place, sizeof t->place);
    for (int i = 0; i < DYNC__SZ_MEMO; i++)
        if (from->memo[i].what && !from->memo[i].epoch) t->memo[i] = from->memo[i];
    return true;
}

/* Same tokens, so sizes of the old table are sizes of the new one. value: hints for it, or NULL.
 * NULL: no memory. */
DYNC__FN dync__symtab *dync__symtab_copy(const dync__symtab *from, const int64_t *value)
{
    dync__symtab *t = dync__symtab_new();
    if (t) t->salt = from->salt, t->most_elements = from->most_elements;
    for (int i = 0; t && i < from->symbol.n && !t->failed; i++) {
        dync__sz_symbol s = from->symbol.at[i];
        s.source = dync__arena_strdup(&t->arena, s.source);
        if (s.remedy) s.remedy = dync__arena_strdup(&t->arena, s.remedy);
        if (!s.source || !dync__avec_push(&t->arena, &t->symbol, s)) t->failed = true;
    }
    if (t && !t->failed) t->failed = !dync__symtab_copy_exprs(t, from);
    if (t && value && !t->failed) dync__symtab_hints(t, value);
    for (int i = 0; t && i < from->guard.n && !t->failed; i++)
        if (!dync__avec_push(&t->arena, &t->guard, from->guard.at[i])) t->failed = true;
    if (!t || !t->failed) return t;
    dync__symtab_free(t);
    return NULL;
}

/* A number that divides the size whatever the symbols are: the greatest common divisor of its
 * coefficients (Euclid). 6 s0 + 4 gives 2. */
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

/* ---- what is no number any more -------------------------------------------------------------- */
/* Converting is no arithmetic: a size as a double has lost its last bits, either kind as a float
 * most of them. Nobody means such a number. */
static bool dync__sf_is_lost(int64_t token, double x)
{
    double whole = dync__is_token(token) ? (double)token : dync__sf_double(token);
    bool same = dync__sf_bits(x) == token && !dync__is_token(token);
    double rounded = (double)(float)whole;
    return !same && (!(whole < x || whole > x) || !(rounded < x || rounded > x));
}

/* An error where an operand is a size that C's conversions have spoilt: the result would be a
 * number of 10^18. */
DYNC__FN dync_status dync__sf_check(double operand)
{
    const dync__symtab *t = dync__tls.syms;
    double size = fabs(operand);
    if (!t || !((size >= 0x1p30 && size <= 0x1p31) || (size >= 0x1p60 && size <= 0x1p61)))
        return DYNC_OK;
    for (int i = 0; i < t->expr.n; i++) {
        bool minus = operand < 0 && dync__is_sf(t->expr.at[i].token) &&
                     dync__sf_bits(size) == t->expr.at[i].token;
        if (!minus && !dync__sf_is_lost(t->expr.at[i].token, size)) continue;
        return dync__fail(DYNC_ERR_VALUE,
                          "%.17g is no number: what dync_dim gives may only be passed on whole; "
                          "dync_size gives the size as a number",
                          dync__float_shown(operand));
    }
    return DYNC_OK;
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

/* Is x a size converted to a float, and nothing more? Then *size is that size. */
DYNC__FN bool dync__sf_size(double x, int64_t *size)
{
    int64_t bits = dync__sf_bits(x);
    const dync__sz_expr *e =
        dync__is_sf(bits) && dync__tls.syms ? dync__symtab_find(dync__tls.syms, bits) : NULL;
    if (!e || e->kind != DYNC__SF_OF) return false;
    *size = e->a;
    return true;
}
#endif
