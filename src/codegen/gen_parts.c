/* codegen/gen_parts.c: vectors and rows of products' operands (gen_gemm.h), and fours of bytes
 * where there is no DOT of them. Before: gen_dots.c and gen_gemm.c.
 *
 * The last vector of columns may be a part: under a mask, which is the first mask register or the
 * last vector; where the target has no access under masks element by element, A5 being how many
 * there are. */
#include "../dync.in.h"
#include "gen_gemm.h"
DYNC__LEAN
#if DYNC__JIT

static const int8_t dync__gt_base[5] = {DYNC__G_T1, DYNC__G_A1, DYNC__G_A2, DYNC__G_A0, DYNC__G_T2};

DYNC__FN void dync__gt_get(dync__gtx *g, int reg, dync__place from)
{
    DYNC__A(g->a, GET, .to = reg, .y = from);
}
DYNC__FN void dync__gt_add(dync__gtx *g, int reg, int with)
{
    DYNC__A(g->a, ADD, .to = reg, .y = dync__a_reg(with));
}
DYNC__FN void dync__gt_addi(dync__gtx *g, int reg, int n)
{
    DYNC__A(g->a, ADD_N, .y = dync__a_reg(reg), .n = n);
}
DYNC__FN void dync__gt_bind(dync__gtx *g, int label) { DYNC__A(g->a, LABEL, .label = label); }
DYNC__FN void dync__gt_op2(dync__gtx *g, int op, dync__vt v, int to, int x, dync__place y)
{
    DYNC__A(g->a, OP2, .op = op, .v = v, .to = to, .x = x, .y = y);
}

/* ---- vectors, the last one perhaps a part ---------------------------------------------------- */

DYNC__FN bool dync__gt_part(const dync__gtx *g, int v)
{
    return (g->flags & DYNC__GT_TAIL) && v == g->vectors - 1;
}

/* The registers that callers want back, those of rows and of the part. */
DYNC__FN int dync__gt_saved(const dync__gtx *g)
{
    return 1 << DYNC__G_A0 | 1 << DYNC__G_T2 | (g->tile.left ? 1 << g->tile.left : 0) |
           (g->tile.count ? 1 << g->tile.count : 0);
}

DYNC__FN void dync__gt_mask(dync__gtx *g)
{
    if (!(g->flags & DYNC__GT_TAIL)) return;
    if (g->tile.left)
        dync__gt_get(g, g->tile.left, DYNC__GT_ARG(mask));
    else if (g->a->t->n_masks)
        DYNC__A(g->a, TAIL_GET, .v = g->vt, .to = g->tile.mask, .y = DYNC__GT_ARG(mask));
    else {
        if (g->tile.count) dync__gt_get(g, g->tile.count, DYNC__GT_ARG(mask));
        dync__gt_get(g, DYNC__G_T0, DYNC__GT_ARG(lanes));
        DYNC__A(g->a, LOAD, .v = g->vt, .to = g->tile.mask, .y = dync__a_mem(DYNC__G_T0, 0));
    }
}

DYNC__FN void dync__gt_load(dync__gtx *g, int reg, dync__place from, bool part)
{
    if (!part)
        DYNC__A(g->a, LOAD, .v = g->vt, .to = reg, .y = from);
    else if (g->tile.left)
        dync__gen_elements(g->a, g->vt, reg, from, g->tile.left, false);
    else
        DYNC__A(g->a, LOAD_PART, .v = g->vt, .to = reg, .y = from, .z = g->tile.mask);
}

/* A vector of b; f16 and bf16 become f32. */
DYNC__FN void dync__gt_load_b(dync__gtx *g, int reg, dync__place from, bool part)
{
    if (g->type < DYNC__GT_AS_F16)
        dync__gt_load(g, reg, from, part);
    else
        DYNC__A(g->a, WIDEN, .v = g->vt, .to = reg, .y = from, .n = dync__gt_as(g->type),
                .z = part ? g->tile.mask : 0);
}

DYNC__FN void dync__gt_store(dync__gtx *g, int reg, dync__place to, bool part)
{
    dync__vt words = dync__vt_of(g->wide ? DYNC_I64 : DYNC_I32, g->vt.lanes);
    if (!part) {
        DYNC__A(g->a, STORE, .v = g->vt, .x = reg, .y = to);
    } else if (g->tile.left) {
        dync__gen_elements(g->a, g->vt, reg, to, g->tile.left, true);
    } else if (g->tile.count) {
        DYNC__A(g->a, ADDRESS, .to = DYNC__G_T0, .y = to);
        dync__a_halves(g->a, words, reg, DYNC__G_T0, g->tile.count);
    } else {
        DYNC__A(g->a, STORE_PART, .v = g->vt, .x = reg, .y = to, .z = g->tile.mask);
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

DYNC__FN void dync__gt_three_steps(dync__gtx *g)
{
    DYNC__A(g->a, ADDRESS, .to = DYNC__G_A3, .y = dync__a_index(DYNC__G_LANE, DYNC__G_LANE, 2, 0));
}

/* `rows` rows of a, a_step apart: every fifth has a register. */
DYNC__FN void dync__gt_lines(dync__gtx *g, dync__place from)
{
    dync__gt_get(g, DYNC__G_LANE, DYNC__GT_ARG(a_step));
    dync__gt_three_steps(g);
    dync__gt_get(g, dync__gt_base[0], from);
    for (int i = 5; i < g->rows; i += 5) {
        DYNC__A(g->a, ADDRESS, .to = dync__gt_base[i / 5],
                .y = dync__a_index(dync__gt_base[i / 5 - 1], DYNC__G_LANE, 4, 0));
        dync__gt_add(g, dync__gt_base[i / 5], DYNC__G_LANE);
    }
}

DYNC__FN dync__place dync__gt_line(int i, int32_t disp)
{
    static const int8_t scale[5] = {0, 1, 2, 1, 4};
    int base = dync__gt_base[i / 5], n = i % 5;
    return n == 0 ? dync__a_mem(base, disp)
                  : dync__a_index(base, n == 3 ? DYNC__G_A3 : DYNC__G_LANE, scale[n], disp);
}

DYNC__FN void dync__gt_lines_on(dync__gtx *g, int bytes)
{
    for (int i = 0; i < g->rows; i += 5) dync__gt_addi(g, dync__gt_base[i / 5], bytes);
}

/* ---- fours of bytes as pairs of words -------------------------------------------------------- */
/* Bytes of b become words, the even and the odd ones apart; so do those of a, and pairs of words
 * are multiplied and added, which is exact. */

static void dync__gt_shift(dync__gtx *g, int op, int to, int x)
{
    DYNC__A(g->a, SHIFT, .op = op, .v = dync__vt_of(DYNC_I16, 2 * g->vt.lanes), .to = to, .x = x,
            .n = 8);
}

/* b is in odd. */
DYNC__FN void dync__gt_apart(dync__gtx *g, int even, int odd)
{
    dync__gt_shift(g, DYNC__P_shl, even, odd);
    dync__gt_shift(g, DYNC__P_shr, even, even);
    dync__gt_shift(g, DYNC__P_shr, odd, odd);
}

DYNC__FN void dync__gt_by_pairs(dync__gtx *g, int acc, int a, int even, int odd, int t)
{
    dync__gt_op2(g, DYNC__P_and_, g->vt, t, a, dync__a_constant(g->a, 0x00ff00ff, 4));
    DYNC__A(g->a, PAIRS, .v = g->vt, .to = t, .x = t, .y = dync__a_reg(even));
    dync__gt_op2(g, DYNC__P_add, g->vt, acc, acc, dync__a_reg(t));
    dync__gt_shift(g, DYNC__O_LSR, t, a);
    DYNC__A(g->a, PAIRS, .v = g->vt, .to = t, .x = t, .y = dync__a_reg(odd));
    dync__gt_op2(g, DYNC__P_add, g->vt, acc, acc, dync__a_reg(t));
}
#endif
