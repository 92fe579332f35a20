/* tensor/sym.h: symbolic sizes. After tensor.h, before shape.c.
 *
 * While a function is traced, a size that may differ in later calls is a token: a sparse 60-bit
 * hash in [2^60, 2^61) that stands for an expression over symbols s0, s1, ... Code that passes
 * sizes on needs to know nothing; arithmetic and comparisons go through dync__sz_*, which are one
 * test away from the plain operation. A comparison that the expressions do not decide is decided by
 * the hint, the value that the size has in the call being traced, and becomes a guard. Equal
 * expressions have equal tokens, in every table.
 *
 * A symbol is at least 2: sizes 0 and 1 are never symbolic, and a size that is computed is made
 * sure of being as large by dync__sz_size.
 *
 * Numbers that are computed from sizes (a mean's 1/n, attention's 1/sqrt(d)) are doubles that are
 * tokens too: between 2^30 and 2^31, with a hash in them. A finite number keeps its bits wherever
 * doubles go: through x87 registers, which quiet signalling NaNs, and through compilers that assume
 * there are no NaNs; arithmetic on one by mistake gives another number, where a quiet NaN would
 * stay as it is. They are made by dync__sf and pass wherever numbers pass. A number that looks like
 * one and is in no table is the user's. */
#ifndef DYNC__SYM_H
#define DYNC__SYM_H
#include "tensor.h"

/* Under DYNC_NO_SYMBOLIC every size is a number: what sym_*.c have is inline then (sym_none.h), and
 * compilers leave out what deals with tokens. */
#if defined(DYNC_NO_SYMBOLIC)
#define DYNC__SYM_FN DYNC__INLINE
#else
#define DYNC__SYM_FN DYNC__FN
#endif

typedef enum {
    DYNC__SZ_ADD,
    DYNC__SZ_SUB,
    DYNC__SZ_MUL,
    DYNC__SZ_DIV /* floor */,
    DYNC__SZ_MOD,
    DYNC__SZ_MIN,
    DYNC__SZ_MAX
} dync__sz_op;
typedef enum { DYNC__SZ_EQ, DYNC__SZ_LT, DYNC__SZ_NE, DYNC__SZ_LE } dync__sz_rel;
typedef enum {
    DYNC__SF_OF = 16 /* of a size */,
    DYNC__SF_ADD,
    DYNC__SF_SUB,
    DYNC__SF_MUL,
    DYNC__SF_DIV,
    DYNC__SF_SQRT /* of a */
} dync__sf_op;
enum { DYNC__SZ_DEGREE = 6 };
/* An integer that data decide is told by a size: that much more than it (capture/data.c). */
#define DYNC__ITEM_BASE ((int64_t)1 << 40)
#define DYNC__ITEM_MOST ((int64_t)1 << 39)
/* coef * product of atoms; n 0: a number */
typedef struct dync__sz_term {
    int64_t coef;
    int n;
    int64_t atom[DYNC__SZ_DEGREE];
} dync__sz_term;
typedef struct dync__sz_expr {
    int64_t token, hint; /* of a number: the bits of both */
    /* what it is with what symbols were found to be, and within which range, as the table knew
     * them at these epochs: remembered, as expressions share parts that a walk meets again */
    int64_t simple;
    double low, high;
    uint32_t simple_at, range_at;
    int32_t visits; /* of a walk through it that does not remember */
    /* symbols in it, a bit each; the last bit: one that has none of its own */
    uint64_t uses;
    /* symbol -1, polynomial -2, else the dync__sz_op of a and b: an atom; or the dync__sf_op of a
     * number */
    int8_t kind;
    int symbol;
    int64_t a, b; /* sizes or tokens; of a number the bits of its operands */
    int n_terms;
    dync__sz_term *term;
} dync__sz_expr;
typedef struct dync__sz_symbol {
    int64_t token, low, high; /* what comparisons have left of its range */
    /* 0, or what it was found to be: a number or another token */
    int64_t is;
    const char *source; /* "L['x'].size()[0]" */
    /* the user promised that it changes: making it a number is an error; ranged: within low and
     * high, as he gave them: so is leaving out some of them */
    bool marked, ranged;
    /* how it stays open, once a line of the user's has made it a number; or NULL */
    const char *remedy;
    /* of the user's, not a size: any value, it may be 0 or 1 */
    bool number;
    /* data decide it, not the arguments: any value from least on. unbacked: nothing tells it yet,
     * so that no relation can be taken from its hint */
    bool data, unbacked;
    int64_t least;
    int tensor, dim; /* where a call finds it */
} dync__sz_symbol;
typedef struct dync__sz_guard {
    dync__sz_rel rel;
    int64_t a, b;
    dync_loc at;
} dync__sz_guard;
/* What was answered lately: r is what `op` of a and b gave. The slot is the key's hash; who comes
 * later has it. epoch 0: holds for ever, else as long as the table's is the same. */
typedef struct dync__sz_memo {
    int64_t a, b, r;
    uint32_t epoch;
    int32_t what; /* 0: nothing */
} dync__sz_memo;
enum {
    DYNC__SZ_MEMO = DYNC__SMALLER(16, 1024), /* powers of two */
    DYNC__SZ_PLACES = DYNC__SMALLER(16, 4096)
};
typedef struct dync__symtab {
    dync__arena arena;
    int32_t refs;
    DYNC__VEC(dync__sz_expr) expr;
    dync__map index; /* token -> place in expr */
    /* by low bits of the token: where the last such one is; looked at before the map */
    int32_t place[DYNC__SZ_PLACES];
    DYNC__VEC(dync__sz_symbol) symbol;
    DYNC__VEC(dync__sz_guard) guard;
    struct dync__sz_list *settled; /* its guards as a list; NULL: there may come more */
    int violated;                  /* symbol whose promise was broken, or -1 */
    int64_t violated_value;
    const char *violated_by; /* what not all of its range is; NULL: it became violated_value */
    dync__range violated_range;
    dync_loc violated_at;
    bool failed; /* no memory */
    /* something was answered on the safe side, without a guard, where numbers could tell more */
    bool cautious;
    /* a line of the user's asks: symbols that data decide may be 0 and 1 */
    bool strict;
    /* who asks goes another way where data decide (loop/fuse.c): counted, no error */
    bool quiet;
    uint32_t unknown;
    int64_t most_elements; /* of any one value, of a file (dync_set_limits); 0: no limit */
    uint32_t epoch;        /* counts what is learnt about symbols; never 0 */
    uint64_t salt;         /* not 0 (lint): its tokens are those of no other table */
#if !defined(DYNC_NO_SYMBOLIC)
    dync__sz_memo memo[DYNC__SZ_MEMO];
#endif
} dync__symtab;

DYNC__SYM_FN dync__symtab *dync__symtab_new(void); /* one reference */
DYNC__SYM_FN dync__symtab *dync__symtab_retain(dync__symtab *);
/* gives a reference up */
DYNC__SYM_FN void dync__symtab_free(dync__symtab *);
/* Hints of all expressions, those of symbol i being value[i]. */
DYNC__SYM_FN void dync__symtab_hints(dync__symtab *, const int64_t *value);
/* What symbols are was changed. */
DYNC__INLINE void dync__symtab_learnt(dync__symtab *t)
{
    t->epoch += t->epoch == UINT32_MAX ? 2 : 1;
}
/* All of it. value, where given: hints are those of symbol i being value[i]. */
DYNC__SYM_FN dync__symtab *dync__symtab_copy(const dync__symtab *, const int64_t *value);
/* its token; -1: no memory */
DYNC__SYM_FN int64_t dync__symtab_symbol(dync__symtab *, int64_t hint, const char *source,
                                         bool number);
/* One that data decide (sym_data.c): the n-th of them, u0, u1, ..., made or, where the table has
 * it, as it was when it was made; at least `least`. Its token; -1: no memory. */
DYNC__SYM_FN int64_t dync__symtab_data(dync__symtab *, int n, int64_t least, int64_t most);
/* it is within; false: it never is */
DYNC__SYM_FN bool dync__symtab_within(dync__symtab *, int symbol, int64_t least, int64_t most);
/* Is a symbol in it that nothing tells? */
DYNC__SYM_FN bool dync__sz_is_unbacked(const dync__symtab *, int64_t size);
/* u2, of symbol 5 */
DYNC__SYM_FN int dync__sz_data_number(const dync__symtab *, int symbol);
#if !defined(DYNC_NO_SYMBOLIC)
/* its place in expr; -1: it is not of this table */
DYNC__FN int dync__symtab_place(const dync__symtab *, int64_t token);
#endif
/* NULL: not one of this table */
DYNC__SYM_FN const dync__sz_expr *dync__symtab_find(const dync__symtab *, int64_t token);
/* The value of a token where symbol i is value[i]; values may be tokens of the table in force. *ok
 * false: a division by zero, an unknown token. */
DYNC__SYM_FN int64_t dync__symtab_value(const dync__symtab *, int64_t size, const int64_t *value,
                                        bool *ok);
/* The same of many sizes that share expressions; at, or NULL: one for each expression of the table,
 * what it was found to be, 0 where it was not yet. */
DYNC__SYM_FN int64_t dync__symtab_value_kept(const dync__symtab *, int64_t size,
                                             const int64_t *value, int64_t *at, bool *ok);
/* "2*s0 + 1" */
DYNC__SYM_FN void dync__symtab_text(const dync__symtab *, int64_t size, bool sources, dync__str *);
typedef struct dync__sz_names {
    const void *user;
    void (*symbol)(const void *user, int64_t token, dync__str *);
} dync__sz_names;
/* as a C expression */
DYNC__SYM_FN void dync__symtab_c(const dync__symtab *, int64_t size, const dync__sz_names *,
                                 dync__str *);
/* with what its symbols were found to be */
DYNC__SYM_FN int64_t dync__symtab_simple(dync__symtab *, int64_t size);
/* marks the symbols it is made of; false: an unknown token */
DYNC__SYM_FN bool dync__symtab_uses(const dync__symtab *, int64_t size, bool *symbols);
/* Finds symbol values from actual sizes: where `size` is linear in one unknown symbol, that one.
 * True: something was found. */
DYNC__SYM_FN bool dync__symtab_solve(const dync__symtab *, int64_t size, int64_t actual,
                                     int64_t *value, bool *known);
DYNC__SYM_FN bool dync__layout_values(const dync__symtab *, const int64_t *value, dync__layout *);
/* values that are sizes of the table in force: the answer is a guard of that table */
DYNC__SYM_FN bool dync__guard_holds(const dync__symtab *, const dync__sz_guard *,
                                    const int64_t *value);

#if !defined(DYNC_NO_SYMBOLIC)
/* is the value within its bounds? */
DYNC__FN bool dync__symbol_takes(const dync__sz_symbol *, int64_t value);
#endif
/* every guard */
DYNC__SYM_FN bool dync__symtab_holds(const dync__symtab *, const int64_t *value);
/* and the range of each symbol; 0 for a size: it is not known */
DYNC__SYM_FN bool dync__symtab_fits(const dync__symtab *, const int64_t *value);
/* The table is complete: whether its guards hold is found faster from now on. false: no memory */
DYNC__SYM_FN bool dync__symtab_settle(dync__symtab *);

DYNC__INLINE bool dync__is_token(int64_t x) { return !DYNC__SYM_NONE && (uint64_t)x >> 60 == 1; }
/* Is it made of a symbol that nothing tells, in the table in force? */
DYNC__INLINE bool dync__sz_by_data(int64_t size)
{
    return DYNC__UNLIKELY(dync__is_token(size)) && dync__tls.syms &&
           dync__sz_is_unbacked(dync__tls.syms, size);
}
/* The bits of a symbolic number. */
DYNC__INLINE bool dync__is_sf(int64_t bits)
{
    return !DYNC__SYM_NONE && (uint64_t)bits >> 52 == 0x41D && (bits & 0xFFF) == 0xA5D;
}
DYNC__INLINE int64_t dync__sf_bits(double x)
{
    int64_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}
DYNC__INLINE double dync__sf_double(int64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
/* plain, or a token of the thread's table */
DYNC__SYM_FN double dync__sf(dync__sf_op, double a, double b);
DYNC__SYM_FN double dync__sf_of(int64_t size);
/* plain: the symbols in it are guarded */
DYNC__SYM_FN double dync__sf_number(double);
/* DYNC_ERR_VALUE: a converted or rounded token */
DYNC__SYM_FN dync_status dync__sf_check(double operand);
DYNC__INLINE bool dync__any_token(int64_t a, int64_t b)
{
    return DYNC__UNLIKELY(dync__is_token(a) || dync__is_token(b));
}
/* in the thread's table; -1 and an error where it cannot be */
DYNC__SYM_FN int64_t dync__sz_make(dync__sz_op, int64_t a, int64_t b);
DYNC__SYM_FN bool dync__sz_product(int64_t a, int64_t b, int64_t *out);
DYNC__SYM_FN bool dync__sz_decide(dync__sz_rel, int64_t a, int64_t b);
/* the plain number: the symbols in it are guarded to give it */
DYNC__SYM_FN int64_t dync__sz_number(int64_t size);
/* sz_eq, sz_lt for a line of the user's */
DYNC__SYM_FN bool dync__sz_ask(dync__sz_rel, int64_t a, int64_t b);
DYNC__SYM_FN int64_t dync__sz_at_least_2(int64_t token);
DYNC__SYM_FN int64_t dync__sz_hint(int64_t size);
/* what it is where every symbol of the table in force is 512, at least 1: the same for all calls */
DYNC__SYM_FN int64_t dync__sz_usual(int64_t size);
/* what the table in force knows of its range; infinities: open */
DYNC__SYM_FN void dync__sz_bounds(int64_t size, double *low, double *high);
/* A number that divides it, whatever its symbols are; of a number its absolute value. */
DYNC__SYM_FN int64_t dync__sz_factor(int64_t size);
/* Plain arithmetic on sizes that callers made up does not overflow, nor does it give a token: what
 * is beyond 2^59 stays there, and no allocation is as large. */
#define DYNC__SZ_MOST ((int64_t)1 << 59)
DYNC__BRIEF int64_t dync__sz_hold(int64_t x)
{
    return DYNC__UNLIKELY(x > DYNC__SZ_MOST || x < -DYNC__SZ_MOST)
               ? (x > 0 ? DYNC__SZ_MOST : -DYNC__SZ_MOST)
               : x;
}
DYNC__INLINE int64_t dync__sz_times(int64_t a, int64_t b)
{
    int64_t product;
    return dync__mul_ok(a, b, &product) ? dync__sz_hold(product)
           : (a < 0) != (b < 0)         ? -DYNC__SZ_MOST
                                        : DYNC__SZ_MOST;
}
DYNC__INLINE int64_t dync__sz_add(int64_t a, int64_t b)
{
    return dync__any_token(a, b) ? dync__sz_make(DYNC__SZ_ADD, a, b)
                                 : dync__sz_hold(dync__sz_hold(a) + dync__sz_hold(b));
}
DYNC__INLINE int64_t dync__sz_sub(int64_t a, int64_t b)
{
    return dync__any_token(a, b) ? dync__sz_make(DYNC__SZ_SUB, a, b)
                                 : dync__sz_hold(dync__sz_hold(a) - dync__sz_hold(b));
}
DYNC__INLINE int64_t dync__sz_mul(int64_t a, int64_t b)
{
    return dync__any_token(a, b) ? dync__sz_make(DYNC__SZ_MUL, a, b) : dync__sz_times(a, b);
}
/* plain: b > 0, a >= 0 */
DYNC__INLINE int64_t dync__sz_div(int64_t a, int64_t b)
{
    return dync__any_token(a, b) ? dync__sz_make(DYNC__SZ_DIV, a, b) : a / b;
}
DYNC__INLINE int64_t dync__sz_mod(int64_t a, int64_t b)
{
    return dync__any_token(a, b) ? dync__sz_make(DYNC__SZ_MOD, a, b) : a % b;
}
DYNC__INLINE bool dync__sz_eq(int64_t a, int64_t b)
{
    return a == b || (dync__any_token(a, b) && dync__sz_decide(DYNC__SZ_EQ, a, b));
}
DYNC__INLINE bool dync__sz_lt(int64_t a, int64_t b)
{
    return dync__any_token(a, b) ? dync__sz_decide(DYNC__SZ_LT, a, b) : a < b;
}
/* an expression where data decide which it is */
DYNC__SYM_FN int64_t dync__sz_extreme(dync__sz_op, int64_t a, int64_t b);
DYNC__INLINE int64_t dync__sz_min(int64_t a, int64_t b)
{
    return dync__any_token(a, b) ? dync__sz_extreme(DYNC__SZ_MIN, a, b) : b < a ? b : a;
}
DYNC__INLINE int64_t dync__sz_max(int64_t a, int64_t b)
{
    return dync__any_token(a, b) ? dync__sz_extreme(DYNC__SZ_MAX, a, b) : a < b ? b : a;
}
DYNC__INLINE int64_t dync__sz_abs(int64_t a) { return dync__sz_lt(a, 0) ? dync__sz_sub(0, a) : a; }
/* A size that was computed: a plain number where the call has 0 or 1 there (guarded), else known to
 * be 2 or more. */
DYNC__INLINE int64_t dync__sz_size(int64_t a)
{
    return DYNC__UNLIKELY(dync__is_token(a)) ? dync__sz_at_least_2(a) : a;
}
DYNC__INLINE bool dync__sz_mul_ok(int64_t a, int64_t b, int64_t *out)
{
    if (!dync__any_token(a, b)) return dync__mul_ok(a, b, out);
    return dync__sz_product(a, b, out);
}
DYNC__INLINE bool dync__sz_same(int n, const int64_t *a, const int64_t *b)
{
    for (int i = 0; i < n; i++)
        if (!dync__sz_eq(a[i], b[i])) return false;
    return true;
}
/* ---- values -------------------------------------------------------------------------------------
 * A size as a dync_value: of DYNC_KIND_SYM, with a token; source tells it from capture's numbers,
 * whose as.p is their own. */
enum { DYNC__SYM_SIZE = 1 /* as.i */, DYNC__SYM_REAL = 2 /* as.f */ };
DYNC__INLINE bool dync__value_is_sized(dync_value v)
{
    return !DYNC__SYM_NONE && v.kind == DYNC_KIND_SYM && v.source != 0;
}
DYNC__SYM_FN dync_value dync__value_of_size(int64_t size); /* an int where it is plain */
DYNC__SYM_FN dync_value dync__value_of_sf(double x);       /* a float where it is plain */
/* the number that a symbol is, which is guarded; others as they are */
DYNC__FN dync_value dync__value_plain(dync_value v);
/* x is this size, as a number: true */
DYNC__SYM_FN bool dync__sf_size(double x, int64_t *size);
DYNC__SYM_FN bool dync__layout_has_tokens(const dync__layout *);
/* each of its sizes as dync__sz_number has it */
DYNC__SYM_FN void dync__layout_number(dync__layout *);

/* ---- sym.c, for sym_decide.c and sym_value.c ------------------------------------------------ */
enum {
    DYNC__SZ_SYMBOL = -1,
    DYNC__SZ_SUM = -2,
    DYNC__SZ_VISITS = 256 /* of a walk that does not remember */
};
DYNC__SYM_FN int64_t dync__floor_div(int64_t a, int64_t b);
DYNC__SYM_FN int64_t dync__sz_hint_in(const dync__symtab *t, int64_t size);
DYNC__SYM_FN int64_t dync__sf_hint(const dync__symtab *t, int64_t bits);
#if !defined(DYNC_NO_SYMBOLIC)
/* sym.c */
DYNC__FN int64_t dync__sz_build(dync__symtab *t, dync__sz_op op, int64_t a, int64_t b);
enum {
    DYNC__SZ_BUILT = 1 /* + dync__sz_op */,
    DYNC__SZ_MADE = 16 /* + dync__sz_op, of what was not simplified */,
    DYNC__SZ_DECIDED = 32 /* + dync__sz_rel: with its guards */
};
/* The entry for the question; its what is `what` where it has the answer. */
DYNC__FN dync__sz_memo *dync__sz_memo_at(dync__symtab *, int what, int64_t a, int64_t b);
DYNC__FN dync__symtab *dync__sz_table(int64_t a, int64_t b);
DYNC__FN int64_t dync__sz_plain(dync__sz_op op, int64_t a, int64_t b);
DYNC__FN int64_t dync__sz_put(dync__symtab *t, dync__sz_expr e, const dync__sz_term *term);

/* sym.c */
DYNC__FN double dync__sf_plain(int op, double a, double b);
DYNC__FN int64_t dync__sf_build(dync__symtab *t, int op, int64_t a, int64_t b);

/* ---- ranges ---------------------------------------------------------------------------------- */
typedef struct dync__sz_range {
    double low, high;
} dync__sz_range; /* infinities: open */

/* sym_decide.c */
/* recursion: of its parts */
DYNC__FN dync__sz_range dync__sz_range_of(dync__symtab *t, int64_t size);
DYNC__FN void dync__sz_violate(dync__symtab *t, int symbol, dync__sz_rel rel, int64_t a, int64_t b);
DYNC__FN bool dync__sz_same_for_all(const dync__symtab *t, const dync__sz_guard *g, bool answer);
/* by dync__sz_rel: " == ", " < ", " != ", " <= " */
DYNC__DATA_DECL const char dync__sz_signs[4][5];
#endif
#endif
