/* codegen/gen_fourier_pairs.c: Fourier transforms: pairs of numbers to blocks and back, spectra of
 * real numbers, and what asks for all forms. After gen_fourier.c, before gen_gemm.c. */
#include "../dync.in.h"
#include "gen_fourier.h"
DYNC__LEAN
#if DYNC__JIT

/* ---- pairs ----------------------------------------------------------------------------------- */

/* V pairs at base: real parts and imaginary ones; r: four registers. Pieces of 16 bytes, those of
 * even and of odd numbers. */
static dync__gf_z dync__gf_unzip(dync__gtx *g, int base, const int8_t r[4])
{
    dync__asm *a = g->a;
    dync__vt part = dync__vt_of(g->vt.type, g->wide ? 2 : 4);
    dync__gf_z z = {r[0], r[1]}, more = {r[2], r[3]}, t;
    for (int odd = 0; odd < 2; odd++)
        for (int p = 0, to = odd ? z.im : z.re; p < g->bytes / 16; p++) {
            dync__place from = dync__a_mem(base, 16 * (2 * p + odd));
            if (p == 0)
                DYNC__A(a, LOAD, .v = part, .to = to, .y = from);
            else
                DYNC__A(a, JOIN, .v = g->vt, .to = to, .x = to, .y = from, .n = p);
        }
    for (int round = g->wide; round < 2; round++, t = z, z = more, more = t)
        for (int high = 0; high < 2; high++)
            DYNC__A(a, ZIP, .v = g->vt, .to = high ? more.im : more.re, .x = z.re,
                    .y = dync__a_reg(z.im), .n = high);
    return z;
}

/* z as V pairs to base; r: two registers. */
static void dync__gf_zip(dync__gtx *g, int base, dync__gf_z z, const int8_t r[2])
{
    dync__vt part = dync__vt_of(g->vt.type, g->wide ? 2 : 4);
    for (int high = 0; high < 2; high++)
        DYNC__A(g->a, ZIP, .v = g->vt, .to = r[high], .x = z.re, .y = dync__a_reg(z.im), .n = high);
    for (int i = 0; i < g->bytes / 8; i++) {
        dync__place to = dync__a_mem(base, 16 * i);
        if (i < 2)
            DYNC__A(g->a, STORE, .v = part, .x = r[i], .y = to);
        else
            DYNC__A(g->a, PIECE_TO, .v = g->vt, .x = r[i % 2], .y = to, .n = i / 2);
    }
}

static void dync__gf_pairs(dync__gtx *g, bool zip)
{
    dync__asm *a = g->a;
    static const int8_t r[4] = {0, 1, 2, 3};
    int top = dync__a_label(a);
    dync__gt_get(g, DYNC__G_T1, DYNC__GT_ARG(a));
    dync__gt_get(g, DYNC__G_END, DYNC__GT_ARG(c));
    dync__gt_get(g, DYNC__G_LANE, zip ? DYNC__GT_ARG(c_step) : DYNC__GT_ARG(a_step));
    dync__gt_get(g, DYNC__G_A1, DYNC__GT_ARG(k));
    dync__gt_bind(g, top);
    dync__gf_z z = dync__gf_z_of(0);
    if (!zip) z = dync__gf_unzip(g, DYNC__G_T1, r);
    for (int im = 0; im < 2; im++) {
        int part = im ? z.im : z.re;
        if (zip)
            DYNC__A(a, LOAD, .v = g->vt, .to = part, .y = dync__a_mem(DYNC__G_T1, im * g->bytes));
        else
            DYNC__A(a, STORE, .v = g->vt, .x = part, .y = dync__a_mem(DYNC__G_END, im * g->bytes));
    }
    if (zip) dync__gf_zip(g, DYNC__G_END, z, r + 2);
    dync__gt_addi(g, zip ? DYNC__G_T1 : DYNC__G_END, 2 * g->bytes);
    dync__gt_add(g, zip ? DYNC__G_END : DYNC__G_T1, DYNC__G_LANE);
    DYNC__A(a, SUB_JUMP, .op = DYNC__IF_NE, .y = dync__a_reg(DYNC__G_A1), .n = 1, .label = top);
}

/* ---- real numbers ---------------------------------------------------------------------------- */
/* T1 and A2: numbers that go up and down, A5 and A6 where they come to, A8 and A7 factors. */

/* The last lane first; 14 is free. (REVERSE asks for registers, which nobody gives out here.) */
static void dync__gf_reverse(dync__gtx *g, int r)
{
    int words = g->wide ? 2 : 1, V = g->vt.lanes;
    int32_t index[16] = {0};
    for (int l = 0; l < V * words; l++) index[l] = (V - 1 - l / words) * words + l % words;
    DYNC__A(g->a, LOAD, .v = g->vt, .to = 14, .y = dync__a_constant64(g->a, index));
    DYNC__A(g->a, PICK, .v = g->vt, .to = 14, .z = 14, .y = dync__a_reg(r));
    DYNC__A(g->a, LOAD, .v = g->vt, .to = r, .y = dync__a_reg(14));
}

static void dync__gf_real_load(dync__gtx *g, bool each, int base, dync__gf_z *z)
{
    static const int8_t r[2][4] = {{0, 1, 2, 3}, {4, 5, 6, 7}};
    bool down = base == DYNC__G_A2;
    if (each) {
        *z = dync__gf_unzip(g, base, r[down]);
        for (int im = 0; down && im < 2; im++) dync__gf_reverse(g, im ? z->im : z->re);
        return;
    }
    *z = dync__gf_z_of(4 * down);
    for (int im = 0; im < 2; im++)
        DYNC__A(g->a, LOAD, .v = g->vt, .to = im ? z->im : z->re,
                .y = dync__a_mem(base, im * g->bytes));
}

static void dync__gf_real_store(dync__gtx *g, bool each, int base, dync__gf_z z)
{
    static const int8_t r[2] = {12, 13};
    bool down = base == DYNC__G_A6;
    for (int im = 0; each && down && im < 2; im++) dync__gf_reverse(g, im ? z.im : z.re);
    if (each) {
        dync__gf_zip(g, base, z, r);
        return;
    }
    for (int im = 0; im < 2; im++)
        DYNC__A(g->a, STORE, .v = g->vt, .x = im ? z.im : z.re,
                .y = dync__a_mem(base, im * g->bytes));
}

static void dync__gf_factor(dync__gtx *g, bool each, int to, int base)
{
    if (each)
        DYNC__A(g->a, LOAD, .v = g->vt, .to = to, .y = dync__a_mem(base, 0));
    else
        DYNC__A(g->a, SPREAD, .v = g->vt, .to = to, .y = dync__a_mem(base, 0));
}

/* s in register 15. (P + O, conj (P - O)): P = s (a + conj c), O = t (a - conj c) */
static void dync__gf_real_step(dync__gtx *g, bool each)
{
    dync__gf_z a, c, p = dync__gf_z_of(8), o = dync__gf_z_of(10), t = dync__gf_z_of(12);
    dync__gf_real_load(g, each, DYNC__G_T1, &a);
    dync__gf_real_load(g, each, DYNC__G_A2, &c);
    for (int im = 0; im < 2; im++)
        dync__gf_factor(g, each, im ? t.im : t.re, im ? DYNC__G_A7 : DYNC__G_A8);
    dync__gf_op(g, DYNC__P_add, p.re, a.re, c.re);
    dync__gf_op(g, DYNC__P_sub, p.im, a.im, c.im);
    dync__gf_op(g, DYNC__P_sub, a.re, a.re, c.re); /* the difference */
    dync__gf_op(g, DYNC__P_add, a.im, a.im, c.im);
    dync__gf_op(g, DYNC__P_mul, p.re, p.re, 15);
    dync__gf_op(g, DYNC__P_mul, p.im, p.im, 15);
    dync__gf_op(g, DYNC__P_mul, o.im, a.im, t.re);
    DYNC__A(g->a, FMA, .v = g->vt, .to = o.im, .x = a.re, .y = dync__a_reg(t.im));
    dync__gf_op(g, DYNC__P_mul, o.re, a.re, t.re);
    dync__gf_op(g, DYNC__P_mul, a.im, a.im, t.im);
    dync__gf_op(g, DYNC__P_sub, o.re, o.re, a.im);
    dync__gf_op(g, DYNC__P_add, a.re, p.re, o.re);
    dync__gf_op(g, DYNC__P_add, a.im, p.im, o.im);
    dync__gf_op(g, DYNC__P_sub, c.re, p.re, o.re);
    dync__gf_op(g, DYNC__P_sub, c.im, o.im, p.im);
    dync__gf_real_store(g, each, DYNC__G_A5, a);
    dync__gf_real_store(g, each, DYNC__G_A6, c);
}

static void dync__gf_real(dync__gtx *g)
{
    dync__asm *a = g->a;
    bool each = g->flags & DYNC__GF_EACH;
    int top = dync__a_label(a), bytes = each ? g->bytes : g->wide ? 8 : 4;
    dync__gt_get(g, DYNC__G_T1, DYNC__GT_ARG(a));
    dync__gt_get(g, DYNC__G_A2, DYNC__GT_ARG(c));
    dync__gt_get(g, DYNC__G_A5, each ? DYNC__GT_ARG(more[1]) : DYNC__GT_ARG(a));
    dync__gt_get(g, DYNC__G_A6, each ? DYNC__GT_ARG(lanes) : DYNC__GT_ARG(c));
    dync__gt_get(g, DYNC__G_A8, DYNC__GT_ARG(b));
    dync__gt_get(g, DYNC__G_A7, DYNC__GT_ARG(more[0]));
    dync__gt_get(g, DYNC__G_LANE, DYNC__GT_ARG(d));
    DYNC__A(a, SPREAD, .v = g->vt, .to = 15, .y = dync__a_mem(DYNC__G_LANE, 0));
    dync__gt_get(g, DYNC__G_A1, DYNC__GT_ARG(k));
    dync__gt_bind(g, top);
    dync__gf_real_step(g, each);
    for (int i = 0; i < 2; i++) {
        dync__gt_addi(g, i ? DYNC__G_A5 : DYNC__G_T1, 2 * g->bytes);
        dync__gt_addi(g, i ? DYNC__G_A6 : DYNC__G_A2, -2 * g->bytes);
        dync__gt_addi(g, i ? DYNC__G_A7 : DYNC__G_A8, bytes);
    }
    DYNC__A(a, SUB_JUMP, .op = DYNC__IF_NE, .y = dync__a_reg(DYNC__G_A1), .n = 1, .label = top);
}

enum {
    DYNC__GF_SAVED = 1 << DYNC__G_A0 | 1 << DYNC__G_T2 | 1 << DYNC__G_A5 | 1 << DYNC__G_A6 |
                     1 << DYNC__G_A7 | 1 << DYNC__G_A8
};
DYNC__FN void dync__gf_emit(dync__gtx *g)
{
    DYNC__A(g->a, ENTER, .n = DYNC__GF_SAVED);
    switch (g->vectors) {
    case DYNC__GF_PASS: dync__gf_pass(g); break;
    case DYNC__GF_REAL: dync__gf_real(g); break;
    default: dync__gf_pairs(g, g->vectors == DYNC__GF_ZIP);
    }
    DYNC__A(g->a, LEAVE, .n = DYNC__GF_SAVED);
}
#endif
