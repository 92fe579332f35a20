/* op/expr_arc.c: the inverse hyperbolic functions as loop-IR expressions. After expr.c.
 *
 * Each goes by log1p of what the argument of the logarithm is above 1, so that nothing cancels near
 * zero (acosh: near 1). From 2^28 on the root is the argument itself, whose square would overflow
 * later: log(x) + log(2). */
#include "../dync.in.h"
#include "rows.h"
DYNC__COLD

static int dync__arc2(dync__lb *b, int prim, int x, int y)
{
    return dync__lb_op(b, prim, x, y, -1);
}
static int dync__arc1(dync__lb *b, int prim, int x) { return dync__lb_op(b, prim, x, -1, -1); }
static int dync__arc_f(dync__lb *b, int like, double x)
{
    return dync__lb_f(b, dync__lb_type(b, like), x);
}
static int dync__arc_select(dync__lb *b, int c, int x, int y)
{
    return dync__lb_op(b, DYNC__P_select, c, x, y);
}

/* y, or log(x) + log(2) where x is large */
static int dync__arc_large(dync__lb *b, int x, int y)
{
    int log2 = dync__arc_f(b, x, 0.693147180559945309417), far = dync__arc_f(b, x, 0x1p28);
    return dync__arc_select(b, dync__arc2(b, DYNC__P_lt, far, x),
                            dync__arc2(b, DYNC__P_add, dync__vm_log(b, x), log2), y);
}

/* y with the sign of x; x itself where that is a zero */
static int dync__arc_signed(dync__lb *b, int x, int y)
{
    int zero = dync__arc_f(b, x, 0);
    y = dync__arc_select(b, dync__arc2(b, DYNC__P_lt, x, zero), dync__arc1(b, DYNC__P_neg, y), y);
    return dync__arc_select(b, dync__arc2(b, DYNC__P_eq, x, zero), x, y);
}

/* log(a + sqrt(a^2 + 1)) = log1p(a + a^2 / (1 + sqrt(a^2 + 1))) */
DYNC__FN int dync__e_asinh(dync__lb *b, const dync__opcall *call, const int *in)
{
    (void)call;
    int a = dync__arc1(b, DYNC__P_abs, in[0]), one = dync__arc_f(b, a, 1),
        square = dync__arc2(b, DYNC__P_mul, a, a),
        root = dync__arc1(b, DYNC__P_sqrt, dync__arc2(b, DYNC__P_add, square, one));
    int above = dync__arc2(b, DYNC__P_div, square, dync__arc2(b, DYNC__P_add, root, one));
    int y = dync__vm_log1p(b, dync__arc2(b, DYNC__P_add, a, above));
    return dync__arc_signed(b, in[0], dync__arc_large(b, a, y));
}

/* With t = x - 1: log(x + sqrt(x^2 - 1)) = log1p(t + sqrt(t (t + 2))); NaN below 1. */
DYNC__FN int dync__e_acosh(dync__lb *b, const dync__opcall *call, const int *in)
{
    (void)call;
    int x = in[0], one = dync__arc_f(b, x, 1), t = dync__arc2(b, DYNC__P_sub, x, one),
        more = dync__arc2(b, DYNC__P_add, t, dync__arc_f(b, x, 2)),
        root = dync__arc1(b, DYNC__P_sqrt, dync__arc2(b, DYNC__P_mul, t, more));
    int y = dync__arc_large(b, x, dync__vm_log1p(b, dync__arc2(b, DYNC__P_add, t, root)));
    return dync__arc_select(b, dync__arc2(b, DYNC__P_lt, x, one), dync__arc_f(b, x, (double)NAN),
                            y);
}

/* log((1 + a) / (1 - a)) / 2 = log1p(2 a / (1 - a)) / 2 */
DYNC__FN int dync__e_atanh(dync__lb *b, const dync__opcall *call, const int *in)
{
    (void)call;
    int a = dync__arc1(b, DYNC__P_abs, in[0]),
        less = dync__arc2(b, DYNC__P_sub, dync__arc_f(b, a, 1), a),
        y = dync__vm_log1p(b, dync__arc2(b, DYNC__P_div, dync__arc2(b, DYNC__P_add, a, a), less));
    return dync__arc_signed(b, in[0], dync__arc2(b, DYNC__P_mul, y, dync__arc_f(b, y, 0.5)));
}
