/* tensor/sym.h: expressions of symbolic sizes: what they are with numbers for their symbols, what
 * is known of their range, and walks over expressions that share their parts, whose number of
 * paths doubles at each: every one is met once. */
#include "dync.in.h"
#include "tensor/sym.h"
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

TEST_MAIN
