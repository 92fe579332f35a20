/* tensor/sym_decide.c: what is known of the range of a symbolic size, and relations between sizes:
 * proven where ranges do, else taken from the hints, which becomes a guard. After sym.c, before
 * sym_value.c. */
#include "../dync.in.h"
#include "sym.h"
DYNC__COLD

/* ---- ranges ---------------------------------------------------------------------------------- */
typedef struct dync__sz_range {
    double low, high;
} dync__sz_range; /* infinities: open */

static double dync__sz_bound(int64_t x)
{
    return x == INT64_MIN ? -HUGE_VAL : x == INT64_MAX ? HUGE_VAL : (double)x;
}
static double dync__sz_product(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

static dync__sz_range dync__sz_range_times(dync__sz_range a, dync__sz_range b)
{
    double p[4] = {dync__sz_product(a.low, b.low), dync__sz_product(a.low, b.high),
                   dync__sz_product(a.high, b.low), dync__sz_product(a.high, b.high)};
    dync__sz_range r = {p[0], p[0]};
    for (int i = 1; i < 4; i++) {
        r.low = DYNC__MIN(r.low, p[i]);
        r.high = DYNC__MAX(r.high, p[i]);
    }
    return r;
}

static dync__sz_range dync__sz_range_of(const dync__symtab *t, int64_t size)
{
    dync__sz_range all = {-HUGE_VAL, HUGE_VAL}, r = {dync__sz_bound(size), dync__sz_bound(size)};
    if (!dync__is_token(size)) return r;
    const dync__sz_expr *e = dync__symtab_find(t, size);
    if (!e) return all;
    if (e->kind == DYNC__SZ_SYMBOL) {
        r.low = dync__sz_bound(t->symbol.at[e->symbol].low);
        r.high = dync__sz_bound(t->symbol.at[e->symbol].high);
        return r;
    }
    if (e->kind == DYNC__SZ_SUM) {
        r.low = r.high = 0;
        for (int i = 0; i < e->n_terms; i++) {
            dync__sz_range p = {(double)e->term[i].coef, (double)e->term[i].coef};
            for (int k = 0; k < e->term[i].n; k++)
                p = dync__sz_range_times(p, dync__sz_range_of(t, e->term[i].atom[k]));
            r.low += p.low;
            r.high += p.high;
        }
        return r;
    }
    dync__sz_range a = dync__sz_range_of(t, e->a), b = dync__sz_range_of(t, e->b);
    switch (e->kind) {
    case DYNC__SZ_DIV:
        if (b.low < 1) return all;
        r.low = a.low < 0 ? a.low : floor(a.low / b.high);
        r.high = a.high < 0 ? 0 : floor(a.high / b.low);
        return r;
    case DYNC__SZ_MOD:
        if (b.low < 1) return all;
        r.low = 0;
        r.high = b.high - 1;
        return r;
    case DYNC__SZ_MIN: return (dync__sz_range){DYNC__MIN(a.low, b.low), DYNC__MIN(a.high, b.high)};
    case DYNC__SZ_MAX: return (dync__sz_range){DYNC__MAX(a.low, b.low), DYNC__MAX(a.high, b.high)};
    default: return all;
    }
}

/* ---- decisions ------------------------------------------------------------------------------- */
/* coef * symbol + rest, rest a number. */
static bool dync__sz_linear(const dync__symtab *t, int64_t size, int *symbol, int64_t *coef,
                            int64_t *rest)
{
    dync__sz_poly p;
    if (!dync__sz_poly_of(t, size, &p) || p.n < 1 || p.n > 2 || p.term[0].n != 1 ||
        (p.n == 2 && p.term[1].n != 0))
        return false;
    const dync__sz_expr *e = dync__symtab_find(t, p.term[0].atom[0]);
    if (!e || e->kind != DYNC__SZ_SYMBOL) return false;
    *symbol = e->symbol;
    *coef = p.term[0].coef;
    *rest = p.n == 2 ? p.term[1].coef : 0;
    return true;
}

static void dync__sz_guard_add(dync__symtab *t, dync__sz_rel rel, int64_t a, int64_t b)
{
    for (int i = 0; i < t->guard.n; i++)
        if (t->guard.at[i].rel == rel && t->guard.at[i].a == a && t->guard.at[i].b == b) return;
    dync__sz_guard g = {rel, a, b, dync__tls.at};
    if (!dync__avec_push(&t->arena, &t->guard, g)) t->failed = true;
}

static void dync__sz_found(dync__symtab *t, int symbol, int64_t is)
{
    dync__sz_symbol *s = &t->symbol.at[symbol];
    s->is = is;
    if (!dync__is_token(is) && !s->remedy && dync__tls.at.file)
        s->remedy = dync__arena_printf(&t->arena,
                                       "leave %s symbolic: %s:%d made it a number (dync_size_sym, "
                                       "dync_dim and their comparisons do not)",
                                       s->source, dync__tls.at.file, (int)dync__tls.at.line);
    if (!s->marked || dync__is_token(is) || t->violated >= 0) return;
    t->violated = symbol;
    t->violated_value = is;
    t->violated_at = dync__tls.at;
}

/* a == b holds from here on: a symbol in it may be known now. */
static void dync__sz_equal(dync__symtab *t, int64_t a, int64_t b)
{
    int symbol;
    int64_t coef, rest, d = dync__sz_build(t, DYNC__SZ_SUB, a, b);
    const dync__sz_expr *x = dync__symtab_find(t, a), *y = dync__symtab_find(t, b);
    if (dync__sz_linear(t, d, &symbol, &coef, &rest) && -rest % coef == 0 && -rest / coef != 0) {
        dync__sz_found(t, symbol, -rest / coef);
    } else if (x && y && x->kind == DYNC__SZ_SYMBOL && y->kind == DYNC__SZ_SYMBOL) {
        int first = DYNC__MIN(x->symbol, y->symbol), second = DYNC__MAX(x->symbol, y->symbol);
        t->symbol.at[first].marked |= t->symbol.at[second].marked;
        dync__sz_found(t, second, t->symbol.at[first].token);
    }
    dync__sz_guard_add(t, DYNC__SZ_EQ, a, b);
}

/* a < b, or not: where that bounds one symbol, its range is the guard. */
static void dync__sz_bounded(dync__symtab *t, int64_t a, int64_t b, bool less)
{
    int symbol;
    int64_t coef, rest, d = dync__sz_build(t, DYNC__SZ_SUB, a, b); /* d < 0, or d >= 0 */
    if (!dync__sz_linear(t, d, &symbol, &coef, &rest)) {
        dync__sz_guard_add(t, less ? DYNC__SZ_LT : DYNC__SZ_LE, less ? a : b, less ? b : a);
        return;
    }
    dync__sz_symbol *s = &t->symbol.at[symbol];
    bool high = less == (coef > 0); /* an upper bound */
    /* slices begin and end anywhere */
    rest = DYNC__MAX(rest, -INT64_MAX / 4);
    int64_t size = coef > 0 ? coef : -coef, edge = coef > 0 ? -rest : rest;
    /* coef > 0: s*size < edge, or >= edge; coef < 0: s*size > edge, or <= edge */
    if (coef > 0)
        edge = less ? dync__floor_div(edge - 1, size) : -dync__floor_div(-edge, size);
    else
        edge = less ? dync__floor_div(edge, size) + 1 : dync__floor_div(edge, size);
    if (high)
        s->high = DYNC__MIN(s->high, edge);
    else
        s->low = DYNC__MAX(s->low, edge);
    if (s->low == s->high && !s->is && s->low != 0)
        dync__sz_found(t, symbol, s->low); /* as if it had been asked for */
}

DYNC__FN bool dync__sz_decide(dync__sz_rel rel, int64_t a, int64_t b)
{
    dync__symtab *t = dync__sz_table(a, b);
    if (!t) return false;
    a = dync__symtab_simple(t, a);
    b = dync__symtab_simple(t, b);
    dync__sz_range d = dync__sz_range_of(t, dync__sz_build(t, DYNC__SZ_SUB, a, b));
    if (d.low > 0 || (rel == DYNC__SZ_LT && d.low >= 0)) return false;
    if (d.high < 0) return rel == DYNC__SZ_LT;
    if (d.low >= 0 && d.high <= 0) return rel == DYNC__SZ_EQ;
    int64_t x = dync__sz_hint_in(t, a), y = dync__sz_hint_in(t, b);
    bool answer = rel == DYNC__SZ_EQ ? x == y : x < y;
    if (rel == DYNC__SZ_LT)
        dync__sz_bounded(t, a, b, answer);
    else if (answer)
        dync__sz_equal(t, a, b);
    else
        dync__sz_guard_add(t, DYNC__SZ_NE, a, b);
    return answer;
}

DYNC__FN int64_t dync__sz_number(int64_t size)
{
    if (!dync__is_token(size)) return size;
    dync__symtab *t = dync__sz_table(size, 0);
    if (!t) return -1;
    int64_t simple = dync__symtab_simple(t, size), hint = dync__sz_hint_in(t, simple);
    if (dync__is_token(simple)) dync__sz_equal(t, simple, hint);
    return hint;
}

DYNC__FN int64_t dync__sz_at_least_2(int64_t token)
{
    dync__symtab *t = dync__sz_table(token, 0);
    if (!t) return -1;
    int64_t size = dync__symtab_simple(t, token);
    if (!dync__is_token(size)) return size;
    if (dync__sz_hint_in(t, size) < 2) return dync__sz_number(size);
    (void)dync__sz_decide(DYNC__SZ_LT, 1, size);
    return size;
}

static void dync__sf_fix(dync__symtab *t, int64_t bits)
{
    const dync__sz_expr *e = dync__is_sf(bits) ? dync__symtab_find(t, bits) : NULL;
    if (!e) return;
    int64_t a = e->a, b = e->b;
    if (e->kind == DYNC__SF_OF)
        (void)dync__sz_number(a);
    else
        dync__sf_fix(t, a), dync__sf_fix(t, b);
}

DYNC__FN double dync__sf_number(double x)
{
    int64_t bits = dync__sf_bits(x);
    if (!dync__is_sf(bits) || !dync__symtab_find(dync__tls.syms, bits)) return x;
    dync__sf_fix(dync__tls.syms, bits);
    return dync__sf_double(dync__sf_hint(dync__tls.syms, bits));
}

DYNC__FN void dync__layout_number(dync__layout *lay)
{
    for (int d = 0; d < lay->ndim; d++) {
        lay->shape[d] = dync__sz_number(lay->shape[d]);
        lay->stride[d] = dync__sz_number(lay->stride[d]);
    }
    lay->offset = dync__sz_number(lay->offset);
}
