/* tensor/sym_range.c: what is known of the range of a symbolic size, and promises that a call
 * breaks. After sym_value.c. */
#include "../dync.in.h"
#include "sym.h"
DYNC__LEAN

#if !defined(DYNC_NO_SYMBOLIC)
static double dync__sz_bound(int64_t x)
{
    return x == INT64_MIN ? -HUGE_VAL : x == INT64_MAX ? HUGE_VAL : (double)x;
}
static double dync__sz_times_bound(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

static dync__sz_range dync__sz_range_times(dync__sz_range a, dync__sz_range b)
{
    double p[4] = {dync__sz_times_bound(a.low, b.low), dync__sz_times_bound(a.low, b.high),
                   dync__sz_times_bound(a.high, b.low), dync__sz_times_bound(a.high, b.high)};
    dync__sz_range r = {p[0], p[0]};
    for (int i = 1; i < 4; i++) {
        r.low = DYNC__MIN(r.low, p[i]);
        r.high = DYNC__MAX(r.high, p[i]);
    }
    return r;
}

static dync__sz_range dync__sz_range_in(dync__symtab *t, const dync__sz_expr *e)
{
    dync__sz_range all = {-HUGE_VAL, HUGE_VAL}, r;
    if (e->kind == DYNC__SZ_SYMBOL) {
        const dync__sz_symbol *s = &t->symbol.at[e->symbol];
        r.low = dync__sz_bound(t->strict && s->data ? s->least : s->low);
        /* one that is at most 1 passes as one of 2 and more, too: as no certain number */
        r.high = dync__sz_bound(t->strict || s->high >= s->low ? s->high : s->low + 1);
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

DYNC__FN dync__sz_range dync__sz_range_of(dync__symtab *t, int64_t size)
{
    dync__sz_range all = {-HUGE_VAL, HUGE_VAL}, r = {dync__sz_bound(size), dync__sz_bound(size)};
    if (!dync__is_token(size)) return r;
    int i = dync__symtab_place(t, size);
    if (i < 0) return all;
    dync__sz_expr *e = &t->expr.at[i];
    if (e->range_at == t->epoch) return (dync__sz_range){e->low, e->high};
    r = dync__sz_range_in(t, e);
    e->low = r.low;
    e->high = r.high;
    e->range_at = t->epoch;
    return r;
}

DYNC__FN void dync__sz_bounds(int64_t size, double *low, double *high)
{
    dync__sz_range r = {dync__sz_bound(size), dync__sz_bound(size)};
    if (dync__is_token(size) && dync__tls.syms) r = dync__sz_range_of(dync__tls.syms, size);
    *low = r.low;
    *high = r.high;
}

/* ---- promises -------------------------------------------------------------------------------- */
DYNC__DATA const char dync__sz_signs[4][5] = {" == ", " < ", " != ", " <= "};

/* The user gave a range of which the trace leaves out a part: the first such is kept. */
DYNC__FN void dync__sz_violate(dync__symtab *t, int symbol, dync__sz_rel rel, int64_t a, int64_t b)
{
    const dync__sz_symbol *s = &t->symbol.at[symbol];
    dync__str text = {0};
    if (!s->ranged || t->violated >= 0) return;
    dync__symtab_text(t, a, true, &text);
    dync__str_add(&text, dync__sz_signs[rel]);
    dync__symtab_text(t, b, true, &text);
    t->violated = symbol;
    t->violated_by = dync__arena_strdup(&t->arena, dync__str_get(&text));
    t->violated_range = (dync__range){s->low, s->high};
    t->violated_at = dync__tls.at;
    t->failed = t->failed || text.failed || !t->violated_by;
    dync__str_free(&text);
}

enum { DYNC__SZ_TRIED = 512 };
/* Is the relation the same for every value of the symbols, few and bounded by the user? Then there
 * is nothing to guard. */
DYNC__FN bool dync__sz_same_for_all(const dync__symtab *t, const dync__sz_guard *g, bool answer)
{
    bool uses[64] = {false}, ranged = false;
    int64_t value[64], n = 1;
    if (t->symbol.n > DYNC__COUNT_OF(uses) || !dync__symtab_uses(t, g->a, uses) ||
        !dync__symtab_uses(t, g->b, uses))
        return false;
    for (int i = 0; i < t->symbol.n; i++) {
        const dync__sz_symbol *s = &t->symbol.at[i];
        value[i] = s->low;
        if (!uses[i]) continue;
        if (s->low < 0 || s->high > DYNC__SZ_MOST || s->high - s->low >= DYNC__SZ_TRIED)
            return false;
        n *= s->high - s->low + 1;
        ranged = ranged || s->ranged;
        if (n > DYNC__SZ_TRIED) return false;
    }
    for (; n > 0 && ranged; n--) {
        if (dync__guard_holds(t, g, value) != answer) return false;
        for (int i = 0; i < t->symbol.n; i++) {
            if (!uses[i]) continue;
            if (++value[i] <= t->symbol.at[i].high) break;
            value[i] = t->symbol.at[i].low;
        }
    }
    return ranged;
}
#endif
