/* codegen/gen_fourier.c: the forms of fourier_code.h over verbs. After gen_transpose.c, before
 * gen_fourier_pairs.c.
 *
 * A pass: T1 A2 A5 numbers 0, 4, 8 of a, LANE its step, A3 three of it; END A7 T2 those of c, A4
 * its step, A0 three of it; A8 factors, A6 memory for what registers do not hold, A1 counts blocks.
 * Real parts stand before imaginary ones, a vector apart. */
#include "../dync.in.h"
#include "gen_fourier.h"
DYNC__LEAN
#if DYNC__JIT

static dync__place dync__gf_at(const int8_t *base, int step, int step3, int i, int32_t disp)
{
    int b = base[i / 4];
    return i % 4 == 0   ? dync__a_mem(b, disp)
           : i % 4 == 3 ? dync__a_index(b, step3, 1, disp)
                        : dync__a_index(b, step, i % 4, disp);
}
static const int8_t dync__gf_from[3] = {DYNC__G_T1, DYNC__G_A2, DYNC__G_A5},
                    dync__gf_to[3] = {DYNC__G_END, DYNC__G_A7, DYNC__G_T2};

DYNC__FN void dync__gf_op(dync__gtx *g, int op, int to, int x, int y)
{
    dync__gt_op2(g, op, g->vt, to, x, dync__a_reg(y));
}
static void dync__gf_load(dync__gtx *g, dync__gf_z z, int i)
{
    for (int im = 0; im < 2; im++)
        DYNC__A(g->a, LOAD, .v = g->vt, .to = im ? z.im : z.re,
                .y = dync__gf_at(dync__gf_from, DYNC__G_LANE, DYNC__G_A3, i, im * g->bytes));
}
/* z = a op b, part by part; may be a */
static void dync__gf_both(dync__gtx *g, int op, dync__gf_z z, dync__gf_z a, dync__gf_z b)
{
    dync__gf_op(g, op, z.re, a.re, b.re);
    dync__gf_op(g, op, z.im, a.im, b.im);
}
static dync__place dync__gf_number(dync__gtx *g, double x)
{
    float f = (float)x;
    uint64_t bits = 0;
    memcpy(&bits, g->wide ? (void *)&x : (void *)&f, g->wide ? 8 : 4);
    return dync__a_constant(g->a, bits, g->wide ? 8 : 4);
}

/* z times its factors; the real part stays in its place, the imaginary one comes to t1. t0, t1:
 * free. at: of the factors */
static void dync__gf_turn(dync__gtx *g, dync__gf_z z, int t0, int t1, dync__place re,
                          dync__place im, dync__place minus)
{
    bool each = g->flags & DYNC__GF_EACH;
    dync__place of = dync__a_reg(t0);
    if (!each) DYNC__A(g->a, SPREAD, .v = g->vt, .to = t0, .y = im);
    dync__gt_op2(g, DYNC__P_mul, g->vt, t1, z.re, each ? im : of);
    if (!each) DYNC__A(g->a, SPREAD, .v = g->vt, .to = t0, .y = re);
    DYNC__A(g->a, FMA, .v = g->vt, .to = t1, .x = z.im, .y = each ? re : of);
    dync__gt_op2(g, DYNC__P_mul, g->vt, z.re, z.re, each ? re : of);
    if (each) {
        dync__gt_op2(g, DYNC__P_mul, g->vt, t0, z.im, im);
        dync__gf_op(g, DYNC__P_sub, z.re, z.re, t0);
    } else {
        DYNC__A(g->a, SPREAD, .v = g->vt, .to = t0, .y = minus);
        DYNC__A(g->a, FMA, .v = g->vt, .to = z.re, .x = z.im, .y = of);
    }
}

/* Result k, times its factor, to memory. */
static void dync__gf_store(dync__gtx *g, dync__gf_z z, int k, int t0, int t1)
{
    int r = g->rows, bytes = g->wide ? 8 : 4, w = 3 * (r == 1 ? 0 : k - 1) * bytes;
    if (g->flags & DYNC__GF_BACK && k) k = r - k, w = 3 * (k - 1) * bytes;
    if (g->flags & DYNC__GF_EACH) {
        dync__gf_turn(g, z, t0, t1, dync__a_mem(DYNC__G_A8, 2 * k * g->bytes),
                      dync__a_mem(DYNC__G_A8, (2 * k + 1) * g->bytes), dync__a_reg(0));
        z.im = (int8_t)t1;
    } else if (g->flags & DYNC__GF_ROW && (k || r == 1)) {
        dync__gf_turn(g, z, t0, t1, dync__a_mem(DYNC__G_A8, w), dync__a_mem(DYNC__G_A8, w + bytes),
                      dync__a_mem(DYNC__G_A8, w + 2 * bytes));
        z.im = (int8_t)t1;
    }
    for (int im = 0; im < 2; im++)
        DYNC__A(g->a, STORE, .v = g->vt, .x = im ? z.im : z.re,
                .y = dync__gf_at(dync__gf_to, DYNC__G_A4, DYNC__G_A0, k, im * g->bytes));
}

/* ---- butterflies ----------------------------------------------------------------------------- */

/* Four numbers in z become their transform: results 0, 1, 2, 3. t: free, and so is what comes
 * back. */
static dync__gf_z dync__gf_four(dync__gtx *g, dync__gf_z z[4], dync__gf_z t)
{
    dync__gf_z s0 = t, s1, d;
    dync__gf_both(g, DYNC__P_add, s0, z[0], z[2]);
    dync__gf_both(g, DYNC__P_sub, z[0], z[0], z[2]); /* d0 */
    s1 = z[2];
    dync__gf_both(g, DYNC__P_add, s1, z[1], z[3]);
    dync__gf_both(g, DYNC__P_sub, z[1], z[1], z[3]); /* d1 */
    d = z[3];
    dync__gf_op(g, DYNC__P_sub, d.re, z[0].re, z[1].im); /* d0 + i d1: result 3 */
    dync__gf_op(g, DYNC__P_add, d.im, z[0].im, z[1].re);
    dync__gf_op(g, DYNC__P_add, z[0].re, z[0].re, z[1].im); /* d0 - i d1: result 1 */
    dync__gf_op(g, DYNC__P_sub, z[0].im, z[0].im, z[1].re);
    dync__gf_z free = z[1], one = z[0];
    dync__gf_both(g, DYNC__P_sub, free, s0, s1); /* result 2 */
    dync__gf_both(g, DYNC__P_add, s0, s0, s1);
    z[0] = s0, z[1] = one, z[2] = free, z[3] = d;
    return s1;
}

static void dync__gf_radix_4(dync__gtx *g)
{
    dync__gf_z z[4];
    for (int i = 0; i < 4; i++) dync__gf_load(g, z[i] = dync__gf_z_of(2 * i), i);
    dync__gf_z t = dync__gf_four(g, z, dync__gf_z_of(8));
    for (int k = 0; k < 4; k++) dync__gf_store(g, z[k], k, t.re, t.im);
}

static void dync__gf_radix_2(dync__gtx *g)
{
    dync__gf_z x = dync__gf_z_of(0), y = dync__gf_z_of(2), z = dync__gf_z_of(4);
    dync__gf_load(g, x, 0);
    dync__gf_load(g, y, 1);
    dync__gf_both(g, DYNC__P_add, z, x, y);
    dync__gf_both(g, DYNC__P_sub, x, x, y);
    dync__gf_store(g, z, 0, 2, 3);
    dync__gf_store(g, x, 1, 2, 3);
}

/* Room of its own for a complex number. */
static dync__place dync__gf_room(dync__gtx *g, int i, int im)
{
    return dync__a_mem(DYNC__G_A6, (2 * i + im) * g->bytes);
}
static void dync__gf_put(dync__gtx *g, dync__gf_z z, int i)
{
    DYNC__A(g->a, STORE, .v = g->vt, .x = z.re, .y = dync__gf_room(g, i, 0));
    DYNC__A(g->a, STORE, .v = g->vt, .x = z.im, .y = dync__gf_room(g, i, 1));
}

/* Those of odd places times the roots of order 8: o1 (1 - i) / sqrt 2, -i o2, o3 (-1 - i) / sqrt 2.
 * Result 2 comes as (im, -re): its registers change places, the caller subtracts where it adds. */
static void dync__gf_eighths(dync__gtx *g, dync__gf_z o[4], int t)
{
    dync__place c = dync__gf_number(g, 0.70710678118654752440);
    dync__gf_op(g, DYNC__P_sub, t, o[1].im, o[1].re);
    dync__gf_op(g, DYNC__P_add, o[1].re, o[1].re, o[1].im);
    dync__gt_op2(g, DYNC__P_mul, g->vt, o[1].re, o[1].re, c);
    dync__gt_op2(g, DYNC__P_mul, g->vt, o[1].im, t, c);
    dync__gf_op(g, DYNC__P_sub, t, o[3].im, o[3].re);
    dync__gf_op(g, DYNC__P_add, o[3].im, o[3].re, o[3].im); /* negated */
    dync__gt_op2(g, DYNC__P_mul, g->vt, o[3].im, o[3].im, c);
    dync__gt_op2(g, DYNC__P_mul, g->vt, o[3].re, t, c);
    o[2] = (dync__gf_z){o[2].im, o[2].re}; /* im negated */
}

/* Results of even places wait in memory. */
static void dync__gf_radix_8(dync__gtx *g)
{
    dync__gf_z e[4], o[4], sum = dync__gf_z_of(10), t;
    for (int i = 0; i < 4; i++) dync__gf_load(g, e[i] = dync__gf_z_of(2 * i), 2 * i);
    dync__gf_four(g, e, dync__gf_z_of(8));
    for (int i = 0; i < 4; i++) dync__gf_put(g, e[i], i);
    for (int i = 0; i < 4; i++) dync__gf_load(g, o[i] = dync__gf_z_of(2 * i), 2 * i + 1);
    t = dync__gf_four(g, o, dync__gf_z_of(8));
    dync__gf_eighths(g, o, t.re);
    for (int k = 0; k < 4; k++) {
        bool minus = k > 1; /* imaginary part of o */
        DYNC__A(g->a, LOAD, .v = g->vt, .to = t.re, .y = dync__gf_room(g, k, 0));
        DYNC__A(g->a, LOAD, .v = g->vt, .to = t.im, .y = dync__gf_room(g, k, 1));
        dync__gf_op(g, DYNC__P_add, sum.re, t.re, o[k].re);
        dync__gf_op(g, minus ? DYNC__P_sub : DYNC__P_add, sum.im, t.im, o[k].im);
        dync__gf_op(g, DYNC__P_sub, o[k].re, t.re, o[k].re);
        dync__gf_op(g, minus ? DYNC__P_add : DYNC__P_sub, o[k].im, t.im, o[k].im);
        dync__gf_store(g, sum, k, t.re, t.im);
        dync__gf_store(g, o[k], k + 4, t.re, t.im);
    }
}

/* to (+)= number i's part times x; numbers are in registers from 2 on, or in memory */
static void dync__gf_term(dync__gtx *g, bool memory, bool first, int to, int i, int im, int x)
{
    dync__place from = memory ? dync__gf_room(g, i, im) : dync__a_reg(2 * i + im);
    if (first)
        dync__gt_op2(g, DYNC__P_mul, g->vt, to, x, from);
    else
        DYNC__A(g->a, FMA, .v = g->vt, .to = to, .x = x, .y = from);
}

/* An odd number r of them: of sums x[j] + x[r - j] (numbers 1 .. h) and differences (h + 1 .. 2 h)
 *   X[k], X[r - k] = x[0] + sum cos(2 pi j k / r) s[j] -+ i sum sin(2 pi j k / r) d[j] */
static void dync__gf_radix_odd(dync__gtx *g)
{
    int r = g->rows, h = r / 2, last = g->a->t->n_vectors - 1;
    bool memory = 2 * r + 6 > last + 1;
    dync__gf_z x = dync__gf_z_of(0), u = dync__gf_z_of(memory ? 2 : 2 * r), v = {0},
               sum = dync__gf_z_of(last - 1);
    v = dync__gf_z_of(u.re + 2);
    dync__gf_load(g, x, 0);
    for (int i = 0; i < 2; i++)
        DYNC__A(g->a, LOAD, .v = g->vt, .to = i ? sum.im : sum.re,
                .y = dync__a_reg(i ? x.im : x.re));
    for (int j = 1; j <= h; j++) {
        dync__gf_z s = memory ? dync__gf_z_of(6) : dync__gf_z_of(2 * j),
                   d = memory ? dync__gf_z_of(8) : dync__gf_z_of(2 * (h + j));
        dync__gf_load(g, u, j);
        dync__gf_load(g, v, r - j);
        dync__gf_both(g, DYNC__P_add, s, u, v);
        dync__gf_both(g, DYNC__P_sub, d, u, v);
        dync__gf_both(g, DYNC__P_add, sum, sum, s);
        if (memory) dync__gf_put(g, s, j), dync__gf_put(g, d, h + j);
    }
    dync__gf_store(g, sum, 0, u.re, u.im);
    for (int k = 1; k <= h; k++) {
        int c = sum.re;
        DYNC__A(g->a, LOAD, .v = g->vt, .to = u.re, .y = dync__a_reg(x.re));
        DYNC__A(g->a, LOAD, .v = g->vt, .to = u.im, .y = dync__a_reg(x.im));
        for (int j = 1; j <= h; j++) {
            double turn = 6.28318530717958647693 * (j * k % r) / r;
            DYNC__A(g->a, LOAD, .v = g->vt, .to = c, .y = dync__gf_number(g, cos(turn)));
            for (int im = 0; im < 2; im++)
                dync__gf_term(g, memory, false, im ? u.im : u.re, j, im, c);
            DYNC__A(g->a, LOAD, .v = g->vt, .to = c, .y = dync__gf_number(g, sin(turn)));
            for (int im = 0; im < 2; im++)
                dync__gf_term(g, memory, j == 1, im ? v.im : v.re, h + j, im, c);
        }
        dync__gf_op(g, DYNC__P_add, sum.re, u.re, v.im); /* u - i v */
        dync__gf_op(g, DYNC__P_sub, sum.im, u.im, v.re);
        dync__gf_op(g, DYNC__P_sub, u.re, u.re, v.im); /* u + i v */
        dync__gf_op(g, DYNC__P_add, u.im, u.im, v.re);
        dync__gf_store(g, sum, k, v.re, v.im);
        dync__gf_store(g, u, r - k, v.re, v.im);
    }
}

static void dync__gf_butterfly(dync__gtx *g)
{
    dync__gf_z z = dync__gf_z_of(0);
    switch (g->rows) {
    case 1:
        dync__gf_load(g, z, 0);
        dync__gf_store(g, z, 0, 2, 3);
        break;
    case 2: dync__gf_radix_2(g); break;
    case 4: dync__gf_radix_4(g); break;
    case 8: dync__gf_radix_8(g); break;
    default: dync__gf_radix_odd(g);
    }
}

static void dync__gf_bases(dync__gtx *g)
{
    for (int i = 1; 4 * i < g->rows; i++) {
        DYNC__A(g->a, ADDRESS, .to = dync__gf_from[i],
                .y = dync__a_index(dync__gf_from[i - 1], DYNC__G_LANE, 4, 0));
        DYNC__A(g->a, ADDRESS, .to = dync__gf_to[i],
                .y = dync__a_index(dync__gf_to[i - 1], DYNC__G_A4, 4, 0));
    }
}

DYNC__FN void dync__gf_pass(dync__gtx *g)
{
    dync__asm *a = g->a;
    int row = dync__a_label(a), block = dync__a_label(a), bytes = g->wide ? 8 : 4;
    dync__gt_get(g, DYNC__G_T1, DYNC__GT_ARG(a));
    dync__gt_get(g, DYNC__G_END, DYNC__GT_ARG(c));
    dync__gt_get(g, DYNC__G_A8, DYNC__GT_ARG(b));
    dync__gt_get(g, DYNC__G_A6, DYNC__GT_ARG(d));
    dync__gt_get(g, DYNC__G_LANE, DYNC__GT_ARG(a_step));
    dync__gt_get(g, DYNC__G_A4, DYNC__GT_ARG(c_step));
    DYNC__A(a, ADDRESS, .to = DYNC__G_A3, .y = dync__a_index(DYNC__G_LANE, DYNC__G_LANE, 2, 0));
    DYNC__A(a, ADDRESS, .to = DYNC__G_A0, .y = dync__a_index(DYNC__G_A4, DYNC__G_A4, 2, 0));
    dync__gt_bind(g, row);
    dync__gt_get(g, DYNC__G_A1, DYNC__GT_ARG(blocks));
    dync__gt_bind(g, block);
    dync__gf_bases(g);
    dync__gf_butterfly(g);
    dync__gt_addi(g, DYNC__G_T1, 2 * g->bytes);
    dync__gt_addi(g, DYNC__G_END, 2 * g->bytes);
    if (g->flags & DYNC__GF_EACH) dync__gt_addi(g, DYNC__G_A8, 2 * g->rows * g->bytes);
    DYNC__A(a, SUB_JUMP, .op = DYNC__IF_NE, .y = dync__a_reg(DYNC__G_A1), .n = 1, .label = block);
    DYNC__A(a, ADD, .to = DYNC__G_END, .y = DYNC__GT_ARG(b_step));
    if (g->flags & DYNC__GF_ROW)
        dync__gt_addi(g, DYNC__G_A8, 3 * bytes * (g->rows == 1 ? 1 : g->rows - 1));
    DYNC__A(a, SUB_JUMP, .op = DYNC__IF_NE, .y = DYNC__GT_ARG(k), .n = 1, .label = row);
}
#endif
