/* tensor/sym.c: the expressions behind symbolic sizes: polynomials with integer coefficients over
 * symbols and atoms (floor division, remainder, minimum, maximum), kept in one canonical form, so
 * that equal ones have equal tokens. After sym_poly.c, before sym_text.c, sym_value.c (numbers for
 * symbols) and sym_decide.c (relations).
 *
 *   (s0 + 1) (s0 - 1)      terms  1 s0 s0,  -1               equal to s0 s0 - 1
 *   s0 * s1 // s1          exact: s0
 *   (s0 s1 + s1) // (s0 + 1)   exact: s1
 *   (s0 + 1) // 2          an atom, then used like a symbol
 *
 * Token: 2^60 and 60 bits of a hash of the form, so no arithmetic on a token by mistake gives
 * another one. Sizes as floats have tokens too, among the bit patterns of doubles from 2^30 to
 * 2^31. A table belongs to one trace and one thread at a time. */
#include "../dync.in.h"
#include "sym_poly.h"
DYNC__LEAN

#if !defined(DYNC_NO_SYMBOLIC)
/* ---- the table ------------------------------------------------------------------------------- */
/* One reference. NULL: no memory. */
DYNC__FN dync__symtab *dync__symtab_new(void)
{
    dync__symtab *t = dync__calloc(sizeof *t);
    if (!t) return NULL;
    t->refs = 1;
    t->epoch = 1;
    t->violated = -1;
    return t;
}

DYNC__FN dync__symtab *dync__symtab_retain(dync__symtab *t)
{
    if (t) DYNC__ATOMIC_INC(&t->refs);
    return t;
}

DYNC__FN void dync__symtab_free(dync__symtab *t)
{
    if (!t || DYNC__ATOMIC_DEC(&t->refs) > 0) return;
    dync__map_free(&t->index);
    dync__arena_free(&t->arena);
    dync__free(t, sizeof *t);
}

/* The lowest bits of a float's token are the mark. */
static int dync__symtab_slot(int64_t token)
{
    return (int)(((uint64_t)token ^ (uint64_t)token >> 12) & (DYNC__SZ_PLACES - 1));
}

DYNC__BUSY DYNC__FN int dync__symtab_place(const dync__symtab *t, int64_t token)
{
    int last = t->place[dync__symtab_slot(token)];
    uint64_t i;
    if (last < t->expr.n && t->expr.at[last].token == token) return last;
    return dync__map_get(&t->index, (uint64_t)token, &i) ? (int)i : -1;
}

/* The expression behind a token, of sizes or of floats; NULL: it is none of this table. It moves
 * when another is added. */
DYNC__BUSY DYNC__FN const dync__sz_expr *dync__symtab_find(const dync__symtab *t, int64_t token)
{
    int i = t ? dync__symtab_place(t, token) : -1;
    return i >= 0 ? &t->expr.at[i] : NULL;
}

/* e has one more part: its symbols, and visits: how many steps a walk takes, parts that are shared
 * counted each time; it tells when a walk would be too slow. */
static void dync__sz_put_part(const dync__symtab *t, int64_t size, dync__sz_expr *e)
{
    const dync__sz_expr *part =
        dync__is_token(size) || dync__is_sf(size) ? dync__symtab_find(t, size) : NULL;
    if (!part) return;
    e->uses |= part->uses;
    e->visits = (int32_t)DYNC__MIN((int64_t)e->visits + part->visits, INT32_MAX);
}

/* Adds an expression that is not there yet; gives its token, or -1 with t->failed. term: copied. */
DYNC__FN int64_t dync__sz_put(dync__symtab *t, dync__sz_expr e, const dync__sz_term *term)
{
    e.visits = 1;
    e.uses = e.kind == DYNC__SZ_SYMBOL ? (uint64_t)1 << DYNC__MIN(e.symbol, 63) : 0;
    if (e.kind != DYNC__SZ_SYMBOL && e.kind != DYNC__SZ_SUM) {
        dync__sz_put_part(t, e.a, &e);
        dync__sz_put_part(t, e.b, &e);
    }
    for (int i = 0; i < e.n_terms; i++)
        for (int k = 0; k < term[i].n; k++) dync__sz_put_part(t, term[i].atom[k], &e);
    e.simple_at = e.range_at = 0;
    e.term = e.n_terms ? dync__arena_copy(&t->arena, term, (size_t)e.n_terms * sizeof *term) : NULL;
    if ((e.n_terms && !e.term) || !dync__avec_push(&t->arena, &t->expr, e) ||
        !dync__map_put(&t->index, (uint64_t)e.token, (uint64_t)(t->expr.n - 1))) {
        t->failed = true;
        return -1;
    }
    t->place[dync__symtab_slot(e.token)] = t->expr.n - 1;
    return e.token;
}

static int64_t dync__sz_token(uint64_t hash)
{
    return (int64_t)((uint64_t)1 << 60 | (hash & (((uint64_t)1 << 60) - 1)));
}

/* A new symbol with its value in this trace. A size is at least 2: 0 and 1 behave in their own way
 * and are always specialised. number: any int64, of an int argument. */
DYNC__FN int64_t dync__symtab_symbol(dync__symtab *t, int64_t hint, const char *source, bool number)
{
    int k = t->symbol.n;
    dync__sz_expr e = {.token = dync__sz_token(dync__hash_mix(0x73796d ^ t->salt, (uint64_t)k)),
                       .hint = hint,
                       .kind = DYNC__SZ_SYMBOL,
                       .symbol = k};
    dync__sz_symbol s = {.token = e.token,
                         .low = number ? INT64_MIN : 2,
                         .high = INT64_MAX,
                         .number = number,
                         .tensor = -1,
                         .dim = -1};
    s.source = dync__arena_strdup(&t->arena, source);
    if (!s.source || dync__sz_put(t, e, NULL) < 0 || !dync__avec_push(&t->arena, &t->symbol, s)) {
        t->failed = true;
        return -1;
    }
    return e.token;
}

/* Symbols that data decide are numbered by themselves: u0, u1, .. */
DYNC__FN int dync__sz_data_number(const dync__symtab *t, int symbol)
{
    int n = 0;
    for (int i = 0; i < symbol; i++) n += t->symbol.at[i].data;
    return n;
}

/* ---- expressions ----------------------------------------------------------------------------- */
/* The polynomial of a size; false: an unknown token. */
DYNC__BUSY DYNC__FN bool dync__sz_poly_of(const dync__symtab *t, int64_t size, dync__sz_poly *p)
{
    p->n = 0;
    if (!dync__is_token(size)) {
        dync__sz_term number = {.coef = size};
        return dync__sz_poly_add(p, &number);
    }
    const dync__sz_expr *e = dync__symtab_find(t, size);
    if (!e) return false;
    if (e->kind == DYNC__SZ_SUM) {
        memcpy(p->term, e->term, (size_t)e->n_terms * sizeof *e->term);
        p->n = e->n_terms;
        return true;
    }
    p->n = 1;
    p->term[0] = (dync__sz_term){.coef = 1, .n = 1, .atom = {size}};
    return true;
}

/* The value in this trace; a number is its own. */
DYNC__BUSY DYNC__FN int64_t dync__sz_hint_in(const dync__symtab *t, int64_t size)
{
    const dync__sz_expr *e = dync__is_token(size) ? dync__symtab_find(t, size) : NULL;
    return e ? e->hint : size;
}

/* The token of a polynomial, or the number it is. */
DYNC__BUSY static int64_t dync__sz_of_poly(dync__symtab *t, const dync__sz_poly *p)
{
    if (p->n == 0) return 0;
    if (p->n == 1 && p->term[0].n == 0) return p->term[0].coef;
    if (p->n == 1 && p->term[0].n == 1 && p->term[0].coef == 1) return p->term[0].atom[0];
    uint64_t h = 0x73756d, hint = 0;
    for (int i = 0; i < p->n; i++) {
        h = dync__hash_mix(dync__hash_mix(h, (uint64_t)p->term[i].coef), (uint64_t)p->term[i].n);
        for (int k = 0; k < p->term[i].n; k++) h = dync__hash_mix(h, (uint64_t)p->term[i].atom[k]);
    }
    int64_t token = dync__sz_token(h);
    if (dync__symtab_place(t, token) >= 0) return token;
    for (int i = 0; i < p->n; i++) {
        uint64_t product = (uint64_t)p->term[i].coef;
        for (int k = 0; k < p->term[i].n; k++)
            product *= (uint64_t)dync__sz_hint_in(t, p->term[i].atom[k]);
        hint += product;
    }
    dync__sz_expr e = {
        .token = token, .hint = (int64_t)hint, .kind = DYNC__SZ_SUM, .n_terms = p->n};
    return dync__sz_put(t, e, p->term);
}

/* Rounds towards minus infinity, as Python does; C rounds towards 0. */
DYNC__FN int64_t dync__floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* With plain numbers. Wraps around on overflow, and never traps: x / 0 is 0 (where it matters the
 * caller has checked). */
DYNC__OFTEN DYNC__FN int64_t dync__sz_plain(dync__sz_op op, int64_t a, int64_t b)
{
    switch (op) {
    case DYNC__SZ_ADD: return (int64_t)((uint64_t)a + (uint64_t)b);
    case DYNC__SZ_SUB: return (int64_t)((uint64_t)a - (uint64_t)b);
    case DYNC__SZ_MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
    case DYNC__SZ_DIV:
        return b == 0 || b == -1 ? (int64_t)(0 - (uint64_t)a) * (b != 0) : dync__floor_div(a, b);
    case DYNC__SZ_MOD: return b == 0 || b == -1 ? 0 : a - dync__floor_div(a, b) * b;
    case DYNC__SZ_MIN: return DYNC__MIN(a, b);
    case DYNC__SZ_MAX: break;
    }
    return DYNC__MAX(a, b);
}

/* What no polynomial says. */
static int64_t dync__sz_atom(dync__symtab *t, dync__sz_op op, int64_t a, int64_t b)
{
    uint64_t h = dync__hash_mix(
        dync__hash_mix(dync__hash_mix(0x61746f6d, (uint64_t)op), (uint64_t)a), (uint64_t)b);
    dync__sz_expr e = {.token = dync__sz_token(h),
                       .hint = dync__sz_plain(op, dync__sz_hint_in(t, a), dync__sz_hint_in(t, b)),
                       .kind = (int8_t)op,
                       .a = a,
                       .b = b};
    return dync__symtab_find(t, e.token) ? e.token : dync__sz_put(t, e, NULL);
}

/* What every term of x and the one of y have in common: a number and sizes of arguments, which are
 * not 0. Without it on both sides the floor of x / y is the same. */
static bool dync__sz_common(const dync__symtab *t, const dync__sz_poly *x, const dync__sz_poly *y,
                            dync__sz_term *out)
{
    dync__sz_term all = {.coef = 1}, q;
    if (!x->n || y->n != 1) return false;
    int64_t coef = y->term[0].coef;
    for (int i = 0; i < x->n; i++) coef = dync__sz_gcd(coef, x->term[i].coef);
    for (int k = 0; k < y->term[0].n; k++) {
        const dync__sz_expr *e = dync__symtab_find(t, y->term[0].atom[k]);
        bool common = e && e->kind == DYNC__SZ_SYMBOL && !t->symbol.at[e->symbol].data &&
                      !t->symbol.at[e->symbol].number;
        all.atom[all.n++] = y->term[0].atom[k];
        for (int i = 0; i < x->n && common; i++) common = dync__sz_term_over(&x->term[i], &all, &q);
        all.n -= !common;
    }
    *out = all;
    out->coef = coef;
    return all.n > 0 || coef > 1;
}

/* recursion: a quotient without what both sides have in common */
static int64_t dync__sz_compute(dync__symtab *t, dync__sz_op op, int64_t a, int64_t b)
{
    dync__sz_poly x, y, r;
    r.n = 0;
    if (!dync__sz_poly_of(t, a, &x) || !dync__sz_poly_of(t, b, &y)) return -1;
    bool ok = true;
    if (op == DYNC__SZ_ADD || op == DYNC__SZ_SUB) {
        for (int i = 0; i < y.n && ok; i++) {
            if (op == DYNC__SZ_SUB) ok = dync__mul_ok(y.term[i].coef, -1, &y.term[i].coef);
            ok = ok && dync__sz_poly_add(&x, &y.term[i]);
        }
        return ok ? dync__sz_of_poly(t, &x) : dync__sz_atom(t, op, a, b);
    } else if (op == DYNC__SZ_MUL) {
        for (int i = 0; i < x.n && ok; i++)
            for (int j = 0; j < y.n && ok; j++) {
                dync__sz_term product;
                ok = dync__sz_term_times(&x.term[i], &y.term[j], &product) &&
                     dync__sz_poly_add(&r, &product);
            }
    } else if (op == DYNC__SZ_DIV) {
        dync__sz_poly of, by;
        dync__sz_term common;
        ok = dync__sz_exact(&x, &y, &r);
        if (!ok && dync__sz_common(t, &x, &y, &common) && dync__sz_over(&x, &common, &of) &&
            dync__sz_over(&y, &common, &by))
            return dync__sz_build(t, DYNC__SZ_DIV, dync__sz_of_poly(t, &of),
                                  dync__sz_of_poly(t, &by));
    } else if (op == DYNC__SZ_MOD) {
        if (a == b || dync__sz_exact(&x, &y, &r)) return 0;
        ok = false;
    } else { /* the smaller or larger of two */
        return a == b ? a : dync__sz_atom(t, op, a, b);
    }
    return ok ? dync__sz_of_poly(t, &r) : dync__sz_atom(t, op, a, b);
}

DYNC__BUSY DYNC__FN dync__sz_memo *dync__sz_memo_at(dync__symtab *t, int what, int64_t a, int64_t b)
{
    /* tokens are hashes already */
    uint64_t h = ((uint64_t)a * 3 + (uint64_t)b + (uint64_t)what) * UINT64_C(0x9e3779b97f4a7c15);
    dync__sz_memo *m = &t->memo[h >> 40 & (DYNC__SZ_MEMO - 1)];
    if (m->what != what || m->a != a || m->b != b || (m->epoch && m->epoch != t->epoch))
        *m = (dync__sz_memo){.a = a, .b = b};
    return m;
}

/* The token, or number, of a op b within one table. -1: an unknown token, or no memory
 * (t->failed). */
DYNC__FN int64_t dync__sz_build(dync__symtab *t, dync__sz_op op, int64_t a, int64_t b)
{
    if (!dync__is_token(a) && !dync__is_token(b)) return dync__sz_plain(op, a, b);
    int what = DYNC__SZ_BUILT + (int)op;
    const dync__sz_memo *known = dync__sz_memo_at(t, what, a, b);
    if (known->what) return known->r;
    int64_t r = dync__sz_compute(t, op, a, b);
    if (r == -1) return r; /* an error, or a number that is found again at once */
    *dync__sz_memo_at(t, what, a, b) = (dync__sz_memo){a, b, r, 0, what};
    return r;
}

/* ---- numbers --------------------------------------------------------------------------------- */
DYNC__FN double dync__sf_plain(int op, double a, double b)
{
    switch (op) {
    case DYNC__SF_ADD: return a + b;
    case DYNC__SF_SUB: return a - b;
    case DYNC__SF_MUL: return a * b;
    case DYNC__SF_DIV: return a / b;
    case DYNC__SF_SQRT: return sqrt(a);
    default: return a;
    }
}

DYNC__FN int64_t dync__sf_hint(const dync__symtab *t, int64_t bits)
{
    const dync__sz_expr *e = dync__is_sf(bits) ? dync__symtab_find(t, bits) : NULL;
    return e ? e->hint : bits;
}

/* a, b: bits; of DYNC__SF_OF a size. A float made of sizes, by its token. The token's bits are
 * those of a double in [2^30, 2^31] with a mark in the lowest 12 bits. */
DYNC__FN int64_t dync__sf_build(dync__symtab *t, int op, int64_t a, int64_t b)
{
    uint64_t h = dync__hash_mix(
        dync__hash_mix(dync__hash_mix(0x666c6f74, (uint64_t)op), (uint64_t)a), (uint64_t)b);
    double x = op == DYNC__SF_OF ? (double)dync__sz_hint_in(t, a)
                                 : dync__sf_double(dync__sf_hint(t, a));
    dync__sz_expr e = {.token = (int64_t)((uint64_t)0x41D << 52 | h >> 24 << 12 | 0xA5D),
                       .kind = (int8_t)op,
                       .a = a,
                       .b = b};
    e.hint = dync__sf_bits(dync__sf_plain(op, x, dync__sf_double(dync__sf_hint(t, b))));
    return dync__symtab_find(t, e.token) ? e.token : dync__sz_put(t, e, NULL);
}
#endif
