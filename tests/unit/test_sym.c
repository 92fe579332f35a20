/* tensor/sym.h: expressions of symbolic sizes: what they are with numbers for their symbols, what
 * is known of their range, and walks over expressions that share their parts, whose number of
 * paths doubles at each: every one is met once. */
#include "dync.in.h"
#include "tensor/sym_list.h"
#include "test.h"

enum { DEEP = 60 };

/* x[i + 1] = min(x[i] + s0, 2*x[i]) - x[i] // 2, by hand beside it. */
static int64_t shared(dync__symtab *t, int64_t s0)
{
    int64_t x = s0;
    for (int i = 0; i < DEEP; i++) {
        int64_t least = dync__sz_build(t, DYNC__SZ_MIN, dync__sz_build(t, DYNC__SZ_ADD, x, s0),
                                       dync__sz_build(t, DYNC__SZ_MUL, x, 2));
        x = dync__sz_build(t, DYNC__SZ_SUB, least, dync__sz_build(t, DYNC__SZ_DIV, x, 2));
    }
    return x;
}
static int64_t by_hand(int64_t s0)
{
    int64_t x = s0;
    for (int i = 0; i < DEEP; i++) x = (x + s0 < 2 * x ? x + s0 : 2 * x) - x / 2;
    return x;
}

TEST(shared_parts)
{
    dync__symtab *t = dync__symtab_new();
    int64_t s0 = dync__symtab_symbol(t, 5, "x.size()[0]", false), x = shared(t, s0), value = 7;
    bool ok = true, uses = false;
    EXPECT(dync__is_token(x) && t->expr.n > 2 * DEEP);
    EXPECT_EQ_INT(dync__sz_hint_in(t, x), by_hand(5));
    EXPECT_EQ_INT(dync__symtab_value(t, x, &value, &ok), by_hand(7));
    EXPECT(ok && dync__symtab_uses(t, x, &uses) && uses);
    EXPECT(dync__symtab_simple(t, x) == x);
    dync__symtab *copy = dync__symtab_copy(t, &value);
    EXPECT_EQ_INT(dync__sz_hint_in(copy, x), by_hand(7));
    dync__tls.syms = copy; /* its range is asked for, then what s0 is */
    EXPECT(!dync__sz_lt(dync__sz_mul(x, x), 0) && dync__sz_eq(s0, 7));
    EXPECT_EQ_INT(dync__symtab_simple(copy, x), by_hand(7));
    EXPECT_EQ_INT(dync__symtab_simple(t, x), x);
    dync__tls.syms = NULL;
    dync__symtab_free(copy);
    dync__symtab_free(t);
}

/* What is remembered of an expression ends where more is learnt about its symbols. */
TEST(what_is_learnt_later)
{
    dync__symtab *t = dync__symtab_new();
    int64_t a = dync__symtab_symbol(t, 12, "a", false), b = dync__symtab_symbol(t, 12, "b", false);
    dync__tls.syms = t;
    int64_t sum = dync__sz_add(a, b);
    EXPECT(!dync__sz_lt(sum, 4) && t->guard.n == 0); /* both are at least 2 */
    EXPECT(!dync__sz_lt(a, 10));
    EXPECT_EQ_INT(t->symbol.at[0].low, 10);
    EXPECT(!dync__sz_lt(sum, 12) && t->guard.n == 0);
    EXPECT(dync__sz_lt(sum, 100) && t->guard.n == 1);
    EXPECT(dync__sz_eq(a, b));
    EXPECT_EQ_INT(dync__sz_sub(sum, dync__sz_mul(a, 2)), 0);
    dync__tls.syms = NULL;
    dync__symtab_free(t);
}

/* ---- sym_list.c ------------------------------------------------------------------------------ */
static uint32_t seed = 1;
static int64_t any(int64_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (int64_t)(seed >> 8) % n;
}

/* A list gives what walks through the table give, guards included. */
/* (3 p q r) / (6 p r) is q / 2, (4 p q + 6 q) / (8 q) is (2 p + 3) / 4: the same token, and the
 * same number. */
TEST(quotients_are_reduced)
{
    dync__symtab *t = dync__symtab_new();
    int64_t p = dync__symtab_symbol(t, 6, "p", false), q = dync__symtab_symbol(t, 35, "q", false),
            r = dync__symtab_symbol(t, 8, "r", false), value[3];
    int64_t pq = dync__sz_build(t, DYNC__SZ_MUL, p, q), pr = dync__sz_build(t, DYNC__SZ_MUL, p, r);
    int64_t all = dync__sz_build(t, DYNC__SZ_MUL, dync__sz_build(t, DYNC__SZ_MUL, pq, r), 3);
    int64_t one = dync__sz_build(t, DYNC__SZ_DIV, all, dync__sz_build(t, DYNC__SZ_MUL, pr, 6));
    EXPECT_EQ_INT(one, dync__sz_build(t, DYNC__SZ_DIV, q, 2));
    int64_t sum = dync__sz_build(t, DYNC__SZ_ADD, dync__sz_build(t, DYNC__SZ_MUL, pq, 4),
                                 dync__sz_build(t, DYNC__SZ_MUL, q, 6));
    int64_t two = dync__sz_build(t, DYNC__SZ_DIV, sum, dync__sz_build(t, DYNC__SZ_MUL, q, 8));
    int64_t odd = dync__sz_build(t, DYNC__SZ_DIV, dync__sz_build(t, DYNC__SZ_ADD, pq, r), pr);
    for (value[0] = 2; value[0] < 9; value[0]++)
        for (value[1] = 2; value[1] < 9; value[1]++)
            for (value[2] = 2; value[2] < 9; value[2]++) {
                bool ok = true;
                int64_t a = value[0], b = value[1], c = value[2];
                EXPECT_EQ_INT(dync__symtab_value(t, one, value, &ok), 3 * a * b * c / (6 * a * c));
                EXPECT_EQ_INT(dync__symtab_value(t, two, value, &ok),
                              (4 * a * b + 6 * b) / (8 * b));
                EXPECT_EQ_INT(dync__symtab_value(t, odd, value, &ok), (a * b + c) / (a * c));
                EXPECT(ok);
            }
    dync__symtab_free(t);
}

TEST(lists_of_random_expressions)
{
    enum { MANY = 40 };
    for (int round = 0; round < test_count(50); round++) {
        dync__arena arena = {0};
        dync__symtab *t = dync__symtab_new();
        int64_t x[MANY], place[MANY], value[2] = {3 + any(90), 3 + any(90)}, *at;
        dync__sz_list l;
        dync__tls.syms = t;
        x[0] = dync__symtab_symbol(t, value[0], "a", false);
        x[1] = dync__symtab_symbol(t, value[1], "b", false);
        for (int i = 2; i < MANY; i++) {
            int64_t a = x[any(i)], b = any(3) ? x[any(i)] : any(20) + 1;
            static const dync__sz_op ops[] = {DYNC__SZ_ADD, DYNC__SZ_SUB, DYNC__SZ_MUL,
                                              DYNC__SZ_DIV, DYNC__SZ_MOD, DYNC__SZ_MIN,
                                              DYNC__SZ_MAX};
            bool ok = true;
            x[i] = dync__sz_build(t, ops[any(7)], a, b);
            int64_t is = x[i] == -1 ? 0 : dync__symtab_value(t, x[i], value, &ok);
            if (x[i] == -1 || !ok || is > 100000 || is < -100000) x[i] = x[i - 1];
            if (any(6) == 0) (void)dync__sz_lt(x[i], b);
            if (any(9) == 0) (void)dync__sz_eq(x[i], b);
        }
        EXPECT(dync__sz_list_begin(&l, t, &arena));
        for (int i = 0; i < MANY; i++) place[i] = dync__sz_list_put(&l, x[i]);
        dync__sz_list_guards(&l);
        EXPECT(!l.failed);
        at = dync__arena_alloc(&arena, (size_t)(l.step.n + 1) * sizeof *at);
        for (int other = 0; other < 20; other++) {
            int64_t v[2] = {other ? 2 + any(100) : value[0], other ? 2 + any(100) : value[1]};
            bool ok = dync__sz_list_run(&l, v, at), all = true;
            bool fits = dync__sz_list_ranges(&l, v) && ok;
            EXPECT(other || fits); /* those that it was made by */
            for (int i = 0; i < MANY; i++) {
                bool has = true;
                int64_t is = dync__symtab_value(t, x[i], v, &has);
                all = all && has && is <= DYNC__SZ_LIST_MOST && is >= -DYNC__SZ_LIST_MOST;
                EXPECT(!fits || (has && dync__sz_placed(at, place[i]) == is));
            }
            bool walked = true;
            for (int i = 0; i < t->guard.n; i++)
                walked = walked && dync__guard_holds(t, &t->guard.at[i], v);
            for (int i = 0; i < 2; i++)
                walked = walked && dync__symbol_takes(&t->symbol.at[i], v[i]);
            t->settled = NULL;
            EXPECT(walked == dync__symtab_fits(t, v) && (!all || fits == walked || !ok));
            EXPECT(dync__symtab_settle(t) && (t->settled || l.step.n > 512));
            EXPECT(walked == dync__symtab_fits(t, v));
        }
        int guards = t->guard.n;
        (void)dync__sz_lt(x[0], dync__sz_add(x[1], any(100)));
        EXPECT(t->guard.n == guards || !t->settled);
        dync__tls.syms = NULL;
        dync__symtab_free(t);
        dync__arena_free(&arena);
    }
}

/* A polynomial of a few terms in a, b and an atom. */
static int64_t some_polynomial(dync__symtab *t, const int64_t *letter)
{
    int64_t sum = 1 + any(4);
    for (int i = 0, n = 1 + (int)any(3); i < n; i++) {
        int64_t product = 1 + any(5);
        for (int k = (int)any(3); k > 0; k--)
            product = dync__sz_build(t, DYNC__SZ_MUL, product, letter[any(3)]);
        sum = dync__sz_build(t, any(3) ? DYNC__SZ_ADD : DYNC__SZ_SUB, sum, product);
    }
    return sum;
}

/* What was multiplied by several terms is divided by them again, and what is not a product stays
 * one floor division. */
TEST(division_by_several_terms)
{
    int whole = 0;
    for (int round = 0; round < test_count(300); round++) {
        dync__symtab *t = dync__symtab_new();
        int64_t letter[3], value[2] = {3 + any(90), 3 + any(90)};
        letter[0] = dync__symtab_symbol(t, value[0], "a", false);
        letter[1] = dync__symtab_symbol(t, value[1], "b", false);
        letter[2] = dync__sz_build(t, DYNC__SZ_DIV, letter[0], 3);
        int64_t p = some_polynomial(t, letter), q = some_polynomial(t, letter),
                r = some_polynomial(t, letter), pq = dync__sz_build(t, DYNC__SZ_MUL, p, q);
        int64_t other = dync__sz_build(t, DYNC__SZ_DIV, dync__sz_build(t, DYNC__SZ_ADD, pq, r), q);
        int64_t v[2] = {2 + any(90), 2 + any(90)};
        bool ok = true, is_one = !dync__is_token(pq) || pq == p || pq == q;
        int64_t by = dync__symtab_value(t, q, v, &ok);
        if (by != 0) {
            EXPECT_EQ_INT(dync__sz_build(t, DYNC__SZ_DIV, pq, q), p);
            EXPECT_EQ_INT(dync__sz_build(t, DYNC__SZ_MOD, pq, q), 0);
            int64_t is = dync__symtab_value(t, other, v, &ok), a = dync__symtab_value(t, p, v, &ok),
                    c = dync__symtab_value(t, r, v, &ok);
            EXPECT(ok);
            EXPECT_EQ_INT(is, dync__floor_div(a * by + c, by));
            whole += !is_one;
        }
        dync__symtab_free(t);
    }
    EXPECT(test_met(whole, 100));
}

/* What a table remembers of its answers changes none: the same questions, of one that forgets. */
static void forget(dync__symtab *t) { memset(t->memo, 0, sizeof t->memo); }

static bool ask(dync__symtab *t, int what, int64_t a, int64_t b, int64_t *out)
{
    dync__tls.syms = t;
    if (what < 7)
        *out = dync__sz_make((dync__sz_op)what, a, b);
    else
        *out = dync__sz_decide(what == 7 ? DYNC__SZ_EQ : DYNC__SZ_LT, a, b);
    return what < 7;
}

TEST(memo_of_answers)
{
    for (int round = 0; round < test_count(300); round++) {
        dync__symtab *t[2] = {dync__symtab_new(), dync__symtab_new()};
        int64_t size[40] = {0};
        int n = 0, hint = 2 + (int)any(9);
        for (int i = 0; i < 3; i++, n++)
            for (int k = 0; k < 2; k++)
                size[n] = dync__symtab_symbol(t[k], hint + 3 * i, "x", false);
        for (int i = 0; i < 400; i++) {
            int what = (int)any(9);
            int64_t a = size[any(n)], b = any(3) ? size[any(n)] : 1 + any(6), r[2];
            if (what >= 7 && any(3)) continue;
            bool made = ask(t[0], what, a, b, &r[0]);
            forget(t[1]);
            ask(t[1], what, a, b, &r[1]);
            EXPECT_EQ_INT(r[0], r[1]);
            if (made && n < (int)(sizeof size / sizeof *size) && dync__is_token(r[0]))
                size[n++] = r[0];
            else if (i % 80 == 0)
                for (int k = 0; k < 2; k++) dync__symtab_learnt(t[k]);
        }
        EXPECT_EQ_INT(t[0]->guard.n, t[1]->guard.n);
        EXPECT_EQ_INT(t[0]->expr.n, t[1]->expr.n);
        for (int i = 0; i < t[0]->guard.n && i < t[1]->guard.n; i++)
            EXPECT(t[0]->guard.at[i].rel == t[1]->guard.at[i].rel &&
                   t[0]->guard.at[i].a == t[1]->guard.at[i].a &&
                   t[0]->guard.at[i].b == t[1]->guard.at[i].b);
        for (int i = 0; i < 3; i++) {
            EXPECT_EQ_INT(t[0]->symbol.at[i].is, t[1]->symbol.at[i].is);
            EXPECT_EQ_INT(t[0]->symbol.at[i].low, t[1]->symbol.at[i].low);
            EXPECT_EQ_INT(t[0]->symbol.at[i].high, t[1]->symbol.at[i].high);
        }
        dync__tls.syms = NULL;
        dync__symtab_free(t[0]);
        dync__symtab_free(t[1]);
    }
}

TEST_MAIN
