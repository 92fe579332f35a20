/* tensor/sym_decide.c: relations between sizes: proven where ranges do, else taken from the hints,
 * which becomes a guard. After sym_range.c. */
#include "../dync.in.h"
#include "sym_poly.h"
DYNC__LEAN

#if !defined(DYNC_NO_SYMBOLIC)
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

DYNC__BUSY static void dync__sz_guard_put(dync__symtab *t, dync__sz_guard g)
{
    for (int i = 0; i < t->guard.n; i++)
        if (t->guard.at[i].rel == g.rel && t->guard.at[i].a == g.a && t->guard.at[i].b == g.b)
            return;
    if (t->settled) DYNC__ATOMIC_STORE(&t->settled, NULL);
    if (!dync__avec_push(&t->arena, &t->guard, g)) t->failed = true;
}

static void dync__sz_guard_add(dync__symtab *t, dync__sz_rel rel, int64_t a, int64_t b)
{
    bool uses[64] = {false};
    if (t->symbol.n <= DYNC__COUNT_OF(uses) && dync__symtab_uses(t, a, uses) &&
        dync__symtab_uses(t, b, uses))
        for (int i = 0; i < t->symbol.n; i++)
            if (uses[i]) dync__sz_violate(t, i, rel, a, b);
    dync__sz_guard_put(t, (dync__sz_guard){rel, a, b, dync__tls.at});
}

static void dync__sz_found(dync__symtab *t, int symbol, int64_t is)
{
    dync__sz_symbol *s = &t->symbol.at[symbol];
    s->is = is;
    dync__symtab_learnt(t);
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

/* Two symbols are one: both ranges hold for it. */
static void dync__sz_meet(dync__symtab *t, int first, int second)
{
    dync__sz_symbol *x = &t->symbol.at[first], *y = &t->symbol.at[second];
    int64_t low = DYNC__MAX(x->low, y->low), high = DYNC__MIN(x->high, y->high);
    if (x->low != low || x->high != high)
        dync__sz_violate(t, first, DYNC__SZ_EQ, x->token, y->token);
    if (y->low != low || y->high != high)
        dync__sz_violate(t, second, DYNC__SZ_EQ, x->token, y->token);
    if (low <= high) x->low = low, x->high = high;
    x->marked |= y->marked;
    x->ranged |= y->ranged;
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
        dync__sz_meet(t, first, second);
        dync__sz_found(t, second, t->symbol.at[first].token);
        dync__sz_guard_put(t, (dync__sz_guard){DYNC__SZ_EQ, a, b, dync__tls.at});
        return;
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
    if (high ? edge < s->high : edge > s->low)
        dync__sz_violate(t, symbol, less ? DYNC__SZ_LT : DYNC__SZ_LE, less ? a : b, less ? b : a);
    if (high)
        s->high = DYNC__MIN(s->high, edge);
    else
        s->low = DYNC__MAX(s->low, edge);
    dync__symtab_learnt(t);
    if (s->low == s->high && !s->is && s->low != 0)
        dync__sz_found(t, symbol, s->low); /* as if it had been asked for */
}

/* ---- what data decide ------------------------------------------------------------------------ */
static void dync__sz_cannot(const dync__symtab *t, int64_t a, const char *sign, int64_t b,
                            const char *cure)
{
    dync__str text = {0};
    dync__symtab_text(t, a, false, &text);
    if (*sign) {
        dync__str_add(&text, sign);
        dync__symtab_text(t, b, false, &text);
    }
    dync__fail_class(DYNC_ERR_UNSUPPORTED, "UserError",
                     "Could not guard on data-dependent expression %s: data decide it, and the "
                     "graph is made before they are known. %s",
                     dync__str_get(&text), cure);
    dync__str_free(&text);
}

static bool dync__sz_is_rest(const dync__symtab *t, int64_t size)
{
    const dync__sz_expr *e = dync__is_token(size) ? dync__symtab_find(t, size) : NULL;
    return e && e->kind == DYNC__SZ_MOD;
}

/* Sizes that data decide pass as any size of 2 and more does: graphs are right for 0 and 1, too, as
 * they are run with the number then. Not where the user asks. */
static bool dync__sz_assume(dync__symtab *t, dync__sz_rel rel, int64_t a, int64_t b)
{
    dync__sz_range x = dync__sz_range_of(t, a), y = dync__sz_range_of(t, b);
    if (!t->strict && x.low >= 0 && y.low >= 0 && !dync__sz_is_rest(t, a)) {
        if (dync__is_token(a)) x.low = DYNC__MAX(x.low, 2);
        if (dync__is_token(b)) y.low = DYNC__MAX(y.low, 2);
        if (x.low > y.high) return false;
        if (x.high < y.low) return rel == DYNC__SZ_LT;
        if (rel == DYNC__SZ_LT && x.low >= y.high) return false;
    }
    if (t->quiet) return t->unknown++, false;
    dync__sz_cannot(t, a, dync__sz_signs[rel], b,
                    "Say what its range is with dync_check, or compute with tensors");
    int64_t p = dync__sz_hint_in(t, a), q = dync__sz_hint_in(t, b);
    return rel == DYNC__SZ_EQ ? p == q : p < q;
}

static int64_t dync__sz_unknown(const dync__symtab *t, int64_t size)
{
    dync__sz_cannot(
        t, size, "", 0,
        "It cannot become a number of C: dync_size_sym and dync_item_sym keep it one of "
        "the graph, for operators, shapes and dync_sym_*");
    return dync__sz_hint_in(t, size);
}

static int64_t dync__sz_unsized(const dync__symtab *t, int64_t size)
{
    dync__sz_cannot(t, size, " >= ", 0, "dync_check(n, 0, most) makes it a size");
    return dync__sz_hint_in(t, size);
}

static void dync__sz_strictly(dync__symtab *t, bool on)
{
    t->strict = on;
    dync__symtab_learnt(t); /* ranges are others */
}

enum { DYNC__SZ_EXTREMES = 4 };
/* Is x the least of y and others, or y the greatest of x and others? recursion: of several, few */
static bool dync__sz_at_most(const dync__symtab *t, int64_t x, int64_t y, int depth)
{
    if (x == y || depth == 0) return x == y;
    const dync__sz_expr *e = dync__is_token(x) ? dync__symtab_find(t, x) : NULL;
    if (e && e->kind == DYNC__SZ_MIN &&
        (dync__sz_at_most(t, e->a, y, depth - 1) || dync__sz_at_most(t, e->b, y, depth - 1)))
        return true;
    e = dync__is_token(y) ? dync__symtab_find(t, y) : NULL;
    return e && e->kind == DYNC__SZ_MAX &&
           (dync__sz_at_most(t, x, e->a, depth - 1) || dync__sz_at_most(t, x, e->b, depth - 1));
}

/* What decides is tried without an error: none is recorded for an expression. */
DYNC__FN int64_t dync__sz_extreme(dync__sz_op op, int64_t a, int64_t b)
{
    dync__symtab *t = dync__sz_table(a, b);
    if (!t) return -1;
    int64_t x = dync__symtab_simple(t, a), y = dync__symtab_simple(t, b);
    if (dync__sz_is_unbacked(t, x) || dync__sz_is_unbacked(t, y)) {
        bool at_most = dync__sz_at_most(t, x, y, DYNC__SZ_EXTREMES);
        if (at_most || dync__sz_at_most(t, y, x, DYNC__SZ_EXTREMES))
            return at_most == (op == DYNC__SZ_MIN) ? a : b;
        dync__sz_strictly(t, true);
        dync__sz_range d = dync__sz_range_of(t, dync__sz_build(t, DYNC__SZ_SUB, x, y));
        dync__sz_strictly(t, false);
        if (d.low < 0 && d.high > 0) return dync__sz_make(op, x, y);
        return (d.low >= 0) == (op == DYNC__SZ_MIN) ? b : a;
    }
    return op == DYNC__SZ_MIN ? (dync__sz_lt(b, a) ? b : a) : (dync__sz_lt(a, b) ? b : a);
}

/* a, b: simple. *data: they decide it; another time the answer may be another. */
static bool dync__sz_decided(dync__symtab *t, dync__sz_rel rel, int64_t a, int64_t b, bool *data)
{
    dync__sz_range d = dync__sz_range_of(t, dync__sz_build(t, DYNC__SZ_SUB, a, b));
    if (d.low > 0 || (rel == DYNC__SZ_LT && d.low >= 0)) return false;
    if (d.high < 0) return rel == DYNC__SZ_LT;
    if (d.low >= 0 && d.high <= 0) return rel == DYNC__SZ_EQ;
    *data = dync__sz_is_unbacked(t, a) || dync__sz_is_unbacked(t, b);
    if (DYNC__UNLIKELY(*data)) return dync__sz_assume(t, rel, a, b);
    int64_t x = dync__sz_hint_in(t, a), y = dync__sz_hint_in(t, b);
    bool answer = rel == DYNC__SZ_EQ ? x == y : x < y;
    if (dync__sz_same_for_all(t, &(dync__sz_guard){rel, a, b, dync__tls.at}, answer)) return answer;
    if (rel == DYNC__SZ_LT)
        dync__sz_bounded(t, a, b, answer);
    else if (answer)
        dync__sz_equal(t, a, b);
    else
        dync__sz_guard_add(t, DYNC__SZ_NE, a, b);
    return answer;
}

/* Asked again, while nothing more is known of the symbols, there is the same answer and no new
 * guard. */
DYNC__BUSY DYNC__FN bool dync__sz_decide(dync__sz_rel rel, int64_t a, int64_t b)
{
    dync__symtab *t = dync__tls.syms;
    int what = DYNC__SZ_DECIDED + (int)rel;
    const dync__sz_memo *known = t ? dync__sz_memo_at(t, what, a, b) : NULL;
    if (known && known->what) return known->r != 0;
    t = dync__sz_table(a, b);
    if (!t) return false;
    bool data = false;
    bool answer =
        dync__sz_decided(t, rel, dync__symtab_simple(t, a), dync__symtab_simple(t, b), &data);
    if (!data && !t->failed)
        *dync__sz_memo_at(t, what, a, b) = (dync__sz_memo){a, b, answer, t->epoch, what};
    return answer;
}

DYNC__FN int64_t dync__sz_number(int64_t size)
{
    if (!dync__is_token(size)) return size;
    dync__symtab *t = dync__sz_table(size, 0);
    if (!t) return -1;
    int64_t simple = dync__symtab_simple(t, size), hint = dync__sz_hint_in(t, simple);
    if (DYNC__UNLIKELY(dync__sz_is_unbacked(t, simple))) return dync__sz_unknown(t, simple);
    if (dync__is_token(simple)) dync__sz_equal(t, simple, hint);
    return hint;
}

DYNC__FN int64_t dync__sz_at_least_2(int64_t token)
{
    dync__symtab *t = dync__sz_table(token, 0);
    if (!t) return -1;
    int64_t size = dync__symtab_simple(t, token);
    if (!dync__is_token(size)) return size;
    if (DYNC__UNLIKELY(dync__sz_is_unbacked(t, size)))
        return dync__sz_range_of(t, size).low >= 0 ? size : dync__sz_unsized(t, size);
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

/* What operators may take for granted of sizes that data decide, a program may not. */
DYNC__FN bool dync__sz_ask(dync__sz_rel rel, int64_t a, int64_t b)
{
    dync__symtab *t = dync__tls.syms;
    bool strict = t && dync__any_token(a, b) &&
                  (dync__sz_is_unbacked(t, a) || dync__sz_is_unbacked(t, b));
    if (strict) dync__sz_strictly(t, true);
    bool answer = rel == DYNC__SZ_EQ ? dync__sz_eq(a, b) : dync__sz_lt(a, b);
    if (strict) dync__sz_strictly(t, false);
    return answer;
}
#endif
