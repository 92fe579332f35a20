/* tensor/sym.c: the expressions behind symbolic sizes: polynomials with integer coefficients over
 * symbols and atoms (floor division, remainder, minimum, maximum), kept in one canonical form, so
 * that equal ones have equal tokens; what is known of their range; and the relations that were
 * taken from hints, which become guards. After tensor.h, before shape.c.
 *
 * Token: 2^60 and 60 bits of a hash of the form, so no arithmetic on a token by mistake gives
 * another one. */
#include "../dync.in.h"
#include "sym.h"

enum { DYNC__SZ_SYMBOL = -1, DYNC__SZ_SUM = -2, DYNC__SZ_TERMS = 24 };
typedef struct dync__sz_poly {
    int n;
    dync__sz_term term[DYNC__SZ_TERMS];
} dync__sz_poly;
static int64_t dync__sz_build(dync__symtab *t, dync__sz_op op, int64_t a, int64_t b);

/* ---- the table ------------------------------------------------------------------------------- */
DYNC__FN dync__symtab *dync__symtab_new(void)
{
    dync__symtab *t = dync__calloc(sizeof *t);
    if (!t) return NULL;
    t->refs = 1;
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

DYNC__FN const dync__sz_expr *dync__symtab_find(const dync__symtab *t, int64_t token)
{
    uint64_t i;
    return t && dync__map_get(&t->index, (uint64_t)token, &i) ? &t->expr.at[i] : NULL;
}

/* Adds an expression that is not there yet; gives its token. */
static int64_t dync__sz_put(dync__symtab *t, dync__sz_expr e, const dync__sz_term *term)
{
    e.term = e.n_terms ? dync__arena_copy(&t->arena, term, (size_t)e.n_terms * sizeof *term) : NULL;
    if ((e.n_terms && !e.term) || !dync__avec_push(&t->arena, &t->expr, e) ||
        !dync__map_put(&t->index, (uint64_t)e.token, (uint64_t)(t->expr.n - 1))) {
        t->failed = true;
        return -1;
    }
    return e.token;
}

static int64_t dync__sz_token(uint64_t hash)
{
    return (int64_t)((uint64_t)1 << 60 | (hash & (((uint64_t)1 << 60) - 1)));
}

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

DYNC__FN dync__symtab *dync__symtab_copy(const dync__symtab *from, const int64_t *value)
{
    dync__symtab *t = dync__symtab_new();
    if (t) t->salt = from->salt;
    for (int i = 0; t && i < from->symbol.n && !t->failed; i++) {
        dync__sz_symbol s = from->symbol.at[i];
        s.source = dync__arena_strdup(&t->arena, s.source);
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

/* ---- polynomials ----------------------------------------------------------------------------- */
static int dync__sz_term_order(const dync__sz_term *a, const dync__sz_term *b)
{
    if (a->n != b->n) return a->n > b->n ? -1 : 1;
    for (int i = 0; i < a->n; i++)
        if (a->atom[i] != b->atom[i]) return a->atom[i] < b->atom[i] ? -1 : 1;
    return 0;
}

/* Adds a term where it belongs; false: too many of them, or a coefficient overflows. */
static bool dync__sz_poly_add(dync__sz_poly *p, const dync__sz_term *term)
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

/* The polynomial of a size; false: an unknown token. */
static bool dync__sz_poly_of(const dync__symtab *t, int64_t size, dync__sz_poly *p)
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

static bool dync__sz_term_times(const dync__sz_term *a, const dync__sz_term *b, dync__sz_term *out)
{
    if (a->n + b->n > DYNC__SZ_DEGREE || !dync__mul_ok(a->coef, b->coef, &out->coef)) return false;
    out->n = 0;
    for (int i = 0, j = 0; i < a->n || j < b->n;)
        out->atom[out->n++] = j == b->n || (i < a->n && a->atom[i] < b->atom[j]) ? a->atom[i++]
                                                                                 : b->atom[j++];
    return true;
}

static int64_t dync__sz_hint_in(const dync__symtab *t, int64_t size)
{
    const dync__sz_expr *e = dync__is_token(size) ? dync__symtab_find(t, size) : NULL;
    return e ? e->hint : size;
}

/* The token of a polynomial, or the number it is. */
static int64_t dync__sz_of_poly(dync__symtab *t, const dync__sz_poly *p)
{
    if (p->n == 0) return 0;
    if (p->n == 1 && p->term[0].n == 0) return p->term[0].coef;
    if (p->n == 1 && p->term[0].n == 1 && p->term[0].coef == 1) return p->term[0].atom[0];
    uint64_t h = 0x73756d, hint = 0;
    for (int i = 0; i < p->n; i++) {
        uint64_t product = (uint64_t)p->term[i].coef;
        h = dync__hash_mix(dync__hash_mix(h, (uint64_t)p->term[i].coef), (uint64_t)p->term[i].n);
        for (int k = 0; k < p->term[i].n; k++) {
            h = dync__hash_mix(h, (uint64_t)p->term[i].atom[k]);
            product *= (uint64_t)dync__sz_hint_in(t, p->term[i].atom[k]);
        }
        hint += product;
    }
    dync__sz_expr e = {
        .token = dync__sz_token(h), .hint = (int64_t)hint, .kind = DYNC__SZ_SUM, .n_terms = p->n};
    return dync__symtab_find(t, e.token) ? e.token : dync__sz_put(t, e, p->term);
}

static int64_t dync__floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t dync__sz_plain(dync__sz_op op, int64_t a, int64_t b)
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

/* Every term of a over the one term of b, where that leaves no remainder. */
static bool dync__sz_exact(const dync__sz_poly *a, const dync__sz_poly *b, dync__sz_poly *out)
{
    if (b->n != 1 || b->term[0].coef == 0) return false;
    const dync__sz_term *by = &b->term[0];
    out->n = 0;
    for (int i = 0; i < a->n; i++) {
        dync__sz_term r = {.coef = a->term[i].coef / by->coef};
        int k = 0;
        if (a->term[i].coef % by->coef != 0) return false;
        for (int j = 0; j < a->term[i].n; j++) {
            if (k < by->n && by->atom[k] == a->term[i].atom[j])
                k++;
            else
                r.atom[r.n++] = a->term[i].atom[j];
        }
        if (k < by->n || !dync__sz_poly_add(out, &r)) return false;
    }
    return true;
}

static int64_t dync__sz_build(dync__symtab *t, dync__sz_op op, int64_t a, int64_t b)
{
    dync__sz_poly x, y, r = {.n = 0};
    if (!dync__is_token(a) && !dync__is_token(b)) return dync__sz_plain(op, a, b);
    if (!dync__sz_poly_of(t, a, &x) || !dync__sz_poly_of(t, b, &y)) return -1;
    bool ok = true;
    if (op == DYNC__SZ_ADD || op == DYNC__SZ_SUB) {
        r = x;
        for (int i = 0; i < y.n && ok; i++) {
            if (op == DYNC__SZ_SUB) ok = dync__mul_ok(y.term[i].coef, -1, &y.term[i].coef);
            ok = ok && dync__sz_poly_add(&r, &y.term[i]);
        }
    } else if (op == DYNC__SZ_MUL) {
        for (int i = 0; i < x.n && ok; i++)
            for (int j = 0; j < y.n && ok; j++) {
                dync__sz_term product;
                ok = dync__sz_term_times(&x.term[i], &y.term[j], &product) &&
                     dync__sz_poly_add(&r, &product);
            }
    } else if (op == DYNC__SZ_DIV) {
        ok = dync__sz_exact(&x, &y, &r);
    } else if (op == DYNC__SZ_MOD && dync__sz_exact(&x, &y, &r)) {
        return 0;
    } else {
        ok = a == b;
        r = x;
    }
    return ok ? dync__sz_of_poly(t, &r) : dync__sz_atom(t, op, a, b);
}

/* ---- numbers --------------------------------------------------------------------------------- */
static double dync__sf_plain(int op, double a, double b)
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

static int64_t dync__sf_hint(const dync__symtab *t, int64_t bits)
{
    const dync__sz_expr *e = dync__is_sf(bits) ? dync__symtab_find(t, bits) : NULL;
    return e ? e->hint : bits;
}

/* a, b: bits; of DYNC__SF_OF a size. */
static int64_t dync__sf_build(dync__symtab *t, int op, int64_t a, int64_t b)
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

DYNC__FN int64_t dync__symtab_simple(dync__symtab *t, int64_t size)
{
    const dync__sz_expr *found =
        dync__is_token(size) || dync__is_sf(size) ? dync__symtab_find(t, size) : NULL;
    if (!found) return size;
    dync__sz_expr e = *found;
    if (e.kind >= DYNC__SF_OF) return dync__sf_simple(t, &e);
    if (e.kind == DYNC__SZ_SYMBOL)
        return t->symbol.at[e.symbol].is ? dync__symtab_simple(t, t->symbol.at[e.symbol].is) : size;
    if (e.kind != DYNC__SZ_SUM)
        return dync__sz_build(t, (dync__sz_op)e.kind, dync__symtab_simple(t, e.a),
                              dync__symtab_simple(t, e.b));
    int64_t sum = 0;
    for (int i = 0; i < e.n_terms; i++) {
        int64_t product = e.term[i].coef;
        for (int k = 0; k < e.term[i].n; k++)
            product =
                dync__sz_build(t, DYNC__SZ_MUL, product, dync__symtab_simple(t, e.term[i].atom[k]));
        sum = dync__sz_build(t, DYNC__SZ_ADD, sum, product);
    }
    return sum;
}

/* The table in force; NULL + error where a token has outlived its trace, or is none. */
static dync__symtab *dync__sz_table(int64_t a, int64_t b)
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

DYNC__FN int64_t dync__sz_make(dync__sz_op op, int64_t a, int64_t b)
{
    dync__symtab *t = dync__sz_table(a, b);
    if (!t) return -1;
    int64_t r = dync__sz_build(t, op, dync__symtab_simple(t, a), dync__symtab_simple(t, b));
    if (t->failed) dync__fail_memory(0);
    return t->failed ? -1 : r;
}

static double dync__sf_made(int op, int64_t a, int64_t b)
{
    dync__symtab *t = dync__sz_table(op == DYNC__SF_OF ? a : 0, 0);
    dync__sz_expr e = {.kind = (int8_t)op, .a = a, .b = b};
    int64_t r = t ? dync__sf_simple(t, &e) : -1;
    if (t && t->failed) dync__fail_memory(0);
    return dync__sf_double(r);
}

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

/* Converting is no arithmetic: a size as a double has lost its last bits, either kind as a float
 * most of them. Nobody means such a number. */
static bool dync__sf_is_lost(int64_t token, double x)
{
    double whole = dync__is_token(token) ? (double)token : dync__sf_double(token);
    bool same = dync__sf_bits(x) == token && !dync__is_token(token);
    double rounded = (double)(float)whole;
    return !same && (!(whole < x || whole > x) || !(rounded < x || rounded > x));
}

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
                          operand);
    }
    return DYNC_OK;
}

DYNC__FN int64_t dync__sz_hint(int64_t size) { return dync__sz_hint_in(dync__tls.syms, size); }

DYNC__FN bool dync__layout_has_tokens(const dync__layout *lay)
{
    bool any = dync__is_token(lay->offset);
    for (int i = 0; i < lay->ndim; i++)
        any = any || dync__is_token(lay->shape[i]) || dync__is_token(lay->stride[i]);
    return any;
}

DYNC__FN void dync__layout_number(dync__layout *lay)
{
    for (int d = 0; d < lay->ndim; d++) {
        lay->shape[d] = dync__sz_number(lay->shape[d]);
        lay->stride[d] = dync__sz_number(lay->stride[d]);
    }
    lay->offset = dync__sz_number(lay->offset);
}

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

/* ---- text ------------------------------------------------------------------------------------ */
static void dync__sz_text_atom(const dync__symtab *t, int64_t size, bool sources, bool bind,
                               dync__str *s)
{
    static const char *const binary[] = {" + ", " - ", "*", "//", " % "};
    const dync__sz_expr *e = dync__is_token(size) ? dync__symtab_find(t, size) : NULL;
    if (!e)
        dync__str_addf(s, "%lld", (long long)size);
    else if (e->kind == DYNC__SZ_SYMBOL && sources)
        dync__str_add(s, t->symbol.at[e->symbol].source);
    else if (e->kind == DYNC__SZ_SYMBOL)
        dync__str_addf(s, "s%d", e->symbol);
    else if (e->kind == DYNC__SZ_MIN || e->kind == DYNC__SZ_MAX ||
             (e->kind == DYNC__SZ_MOD && !sources)) {
        dync__str_addf(s, "%s(",
                       e->kind == DYNC__SZ_MIN   ? "Min"
                       : e->kind == DYNC__SZ_MAX ? "Max"
                                                 : "Mod");
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

static int dync__sz_term_rank(const dync__symtab *t, const dync__sz_term *a, const dync__sz_term *b)
{
    if (a->n != b->n) return a->n > b->n ? -1 : 1;
    for (int i = 0; i < a->n; i++) {
        int x = dync__sz_atom_rank(t, a->atom[i]), y = dync__sz_atom_rank(t, b->atom[i]);
        if (x != y) return x < y ? -1 : 1;
    }
    return 0;
}

static void dync__sz_text_term(const dync__symtab *t, const dync__sz_term *term, bool sources,
                               bool first, dync__str *s)
{
    int64_t coef = term->coef, size = coef < 0 ? -coef : coef;
    if (!first)
        dync__str_add(s, coef < 0 ? " - " : " + ");
    else if (coef < 0)
        dync__str_add(s, "-");
    if (size != 1 || term->n == 0) dync__str_addf(s, "%lld", (long long)size);
    for (int k = 0; k < term->n; k++) {
        int power = 1;
        if (k || size != 1) dync__str_add(s, "*");
        dync__sz_text_atom(t, term->atom[k], sources, true, s);
        while (k + 1 < term->n && term->atom[k + 1] == term->atom[k]) {
            power++;
            k++;
        }
        if (power > 1) dync__str_addf(s, "**%d", power);
    }
}

/* As Python has it: 1.0/s0. c: as C does, with the symbols that names tell. */
static void dync__sf_text(const dync__symtab *t, int64_t bits, const dync__sz_names *c,
                          bool sources, dync__str *s)
{
    static const char *const binary[] = {" + ", " - ", "*", "/"};
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

DYNC__FN void dync__symtab_c(const dync__symtab *t, int64_t size, const dync__sz_names *names,
                             dync__str *s)
{
    static const char *const binary[] = {" + ", " - ", " * ", " / ", " % "};
    const dync__sz_expr *e = dync__is_token(size) ? dync__symtab_find(t, size) : NULL;
    if (dync__is_sf(size))
        dync__sf_text(t, size, names, false, s);
    else if (!e)
        dync__str_addf(s, "%lld", (long long)size);
    else if (e->kind == DYNC__SZ_SYMBOL)
        names->symbol(names->user, size, s);
    else if (e->kind == DYNC__SZ_MIN || e->kind == DYNC__SZ_MAX) {
        for (int i = 0; i < 4; i++) { /* (a < b ? a : b) */
            static const char *const min[] = {"(", " < ", " ? ", " : "}, *const max[] = {"(", " > ",
                                                                                         " ? ",
                                                                                         " : "};
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
