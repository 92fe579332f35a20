/* codegen/gen_dots.c: inner products and packing (DOTS, COPY, PAIR of gemm_code.h) over verbs.
 * After gen_parts.c, before gen_gemm.c.
 *
 * Inner products: T1 A1 A2 A3 rows of a, END LANE A4 A0 of b, T0 the byte of b, T2 the bytes
 * left. */
#include "../dync.in.h"
#include "gen_gemm.h"
DYNC__LEAN
#if DYNC__JIT

/* ---- inner products -------------------------------------------------------------------------- */

static const int8_t dync__gt_dot_a[4] = {DYNC__G_T1, DYNC__G_A1, DYNC__G_A2, DYNC__G_A3};
static const int8_t dync__gt_dot_b[4] = {DYNC__G_END, DYNC__G_LANE, DYNC__G_A4, DYNC__G_A0};

/* One vector of k at byte T0 of b. A sum's order does not depend on which tile it stands in. */
static void dync__gt_dot_step(dync__gtx *g, bool part)
{
    int a = g->rows * g->vectors, b = a + g->rows, scale = g->type >= DYNC__GT_AS_F16 ? 2 : 1;
    for (int i = 0; i < g->rows; i++)
        dync__gt_load(g, a + i, dync__a_index(dync__gt_dot_a[i], DYNC__G_T0, scale, 0), part);
    for (int j = 0; j < g->vectors; j++) {
        dync__gt_load_b(g, b, dync__a_index(dync__gt_dot_b[j], DYNC__G_T0, 1, 0), part);
        if (g->words) dync__gt_apart(g, b + 1, b);
        for (int i = 0; i < g->rows; i++) {
            int sum = i * g->vectors + j;
            if (g->words)
                dync__gt_by_pairs(g, sum, a + i, b + 1, b, b + 2);
            else if (dync__gt_dot(g->type))
                DYNC__A(g->a, DOT, .v = g->vt, .to = sum, .x = a + i, .y = dync__a_reg(b),
                        .n = dync__gt_dot(g->type));
            else
                DYNC__A(g->a, FMA, .v = g->vt, .to = sum, .x = a + i, .y = dync__a_reg(b));
        }
    }
}

/* The lanes of sum c, added up in its first one. */
static void dync__gt_fold_lanes(dync__gtx *g, int c, int t)
{
    dync__vt v = g->vt;
    int in_16 = g->wide ? 2 : 4;
    for (; v.lanes > 1; v.lanes /= 2) {
        bool halves = v.lanes > in_16;
        dync__vt half = dync__vt_of(v.type, halves ? v.lanes / 2 : in_16);
        if (halves)
            DYNC__A(g->a, HALF, .v = v, .to = t, .x = c);
        else
            DYNC__A(g->a, DOWN, .v = half, .to = t, .x = c, .n = v.lanes / 2);
        dync__gt_op2(g, DYNC__P_add, half, c, c, dync__a_reg(t));
    }
}

static void dync__gt_dot_end(dync__gtx *g)
{
    int n = g->rows * g->vectors, t = n;
    dync__gt_get(g, DYNC__G_T1, DYNC__GT_ARG(c));
    dync__gt_get(g, DYNC__G_LANE, DYNC__GT_ARG(d_step));
    dync__gt_three_steps(g);
    for (int c = 0; c < n; c++) {
        dync__place to = dync__gt_line(c % g->vectors, 0);
        dync__gt_fold_lanes(g, c, t);
        if (g->flags >> DYNC__GT_AFTER) {
            DYNC__A(g->a, FIRST, .v = g->vt, .to = t, .y = to);
            dync__gt_op2(g, DYNC__P_add, dync__vt_of(g->vt.type, g->wide ? 2 : 4), c, c,
                         dync__a_reg(t));
        }
        DYNC__A(g->a, FIRST_TO, .v = g->vt, .x = c, .y = to);
        if (c % g->vectors == g->vectors - 1)
            DYNC__A(g->a, ADD, .to = DYNC__G_T1, .y = DYNC__GT_ARG(c_step));
    }
}

static void dync__gt_dot_rows(dync__gtx *g, const int8_t *reg, int n, dync__place from,
                              dync__place step)
{
    dync__gt_get(g, reg[0], from);
    for (int i = 1; i < n; i++) {
        dync__gt_get(g, reg[i], dync__a_reg(reg[i - 1]));
        DYNC__A(g->a, ADD, .to = reg[i], .y = step);
    }
}

DYNC__FN void dync__gt_dots(dync__gtx *g)
{
    dync__asm *a = g->a;
    dync__place left = dync__a_reg(DYNC__G_T2); /* bytes left after the next step */
    int block = dync__a_label(a), body = dync__a_label(a), part = dync__a_label(a);
    DYNC__A(a, ENTER, .n = dync__gt_saved(g));
    dync__gt_mask(g);
    dync__gt_bind(g, block);
    dync__gt_dot_rows(g, dync__gt_dot_a, g->rows, DYNC__GT_ARG(a), DYNC__GT_ARG(a_step));
    dync__gt_dot_rows(g, dync__gt_dot_b, g->vectors, DYNC__GT_ARG(b), DYNC__GT_ARG(b_step));
    dync__gt_get(g, DYNC__G_T2, DYNC__GT_ARG(k));
    DYNC__A(a, SHL_N, .y = left, .n = g->wide ? 3 : 2);
    DYNC__A(a, SET, .to = DYNC__G_T0, .n = 0);
    for (int c = 0; c < g->rows * g->vectors; c++) DYNC__A(a, ZERO, .v = g->vt, .to = c);
    DYNC__A(a, ADD_JUMP, .op = DYNC__IF_LT, .y = left, .n = -g->bytes, .label = part);
    dync__gt_bind(g, body);
    dync__gt_dot_step(g, false);
    dync__gt_addi(g, DYNC__G_T0, dync__gt_wide(g));
    DYNC__A(a, ADD_JUMP, .op = DYNC__IF_GE, .y = left, .n = -g->bytes, .label = body);
    dync__gt_bind(g, part);
    if (g->flags & DYNC__GT_TAIL) dync__gt_dot_step(g, true);
    dync__gt_dot_end(g);
    dync__gt_get(g, DYNC__G_T0, DYNC__GT_ARG(b_step));
    dync__gt_get(g, DYNC__G_LANE, DYNC__GT_ARG(d_step));
    for (int j = 0; j < g->vectors; j++) {
        DYNC__A(a, ADD_TO, .x = DYNC__G_T0, .y = DYNC__GT_ARG(b));
        DYNC__A(a, ADD_TO, .x = DYNC__G_LANE, .y = DYNC__GT_ARG(c));
    }
    DYNC__A(a, SUB_JUMP, .op = DYNC__IF_NE, .y = DYNC__GT_ARG(blocks), .n = 1, .label = block);
    DYNC__A(a, LEAVE, .n = dync__gt_saved(g));
}

/* ---- packing --------------------------------------------------------------------------------- */

/* Line i of n in the i-th part of every lane. */
static void dync__gt_pair(dync__gtx *g, int v, int n, bool part)
{
    dync__vt words = dync__vt_of(DYNC_I32, g->vt.lanes);
    for (int i = 0; i < n; i++) {
        int to = i ? 8 + v : v;
        DYNC__A(g->a, WIDEN, .v = words, .to = to, .y = dync__gt_line(i, v * g->bytes / n),
                .n = n == 2 ? DYNC_I16 : DYNC_U8, .op = 1, .z = part ? g->tile.mask : 0);
        if (i == 0) continue;
        DYNC__A(g->a, SHIFT, .op = DYNC__P_shl, .v = words, .to = to, .x = to, .n = 32 / n * i);
        dync__gt_op2(g, DYNC__P_or_, words, v, v, dync__a_reg(to));
    }
}

/* COPY that rounds: vectors from 8 on. */
static int dync__gt_copy_scratch(dync__asm *a, int class_)
{
    dync__gtx *g = (dync__gtx *)(void *)((dync__gen *)a->owner)->tile;
    return class_ == DYNC__CLASS_MASK && a->t->n_masks ? 2 : 8 + g->given++ % 4;
}

/* f32 in register v to f16 or bf16 in memory. */
static void dync__gt_round(dync__gtx *g, int v, dync__place to)
{
    DYNC__A(g->a, NARROW, .v = g->vt, .to = 4 + v, .x = v, .n = dync__gt_as(g->type));
    DYNC__A(g->a, STORE, .v = dync__vt_of(DYNC_I16, g->vt.lanes), .x = 4 + v, .y = to);
}

DYNC__FN void dync__gt_copy(dync__gtx *g, bool pair)
{
    dync__asm *a = g->a;
    int body = dync__a_label(a), n = !pair ? 1 : g->type == DYNC__GT_BF16 ? 2 : 4;
    bool rounds = !pair && g->type >= DYNC__GT_AS_F16 && g->flags & DYNC__GT_ROUND;
    if (rounds) a->scratch = dync__gt_copy_scratch;
    DYNC__A(a, ENTER, .n = dync__gt_saved(g));
    dync__gt_mask(g);
    g->rows = n;
    dync__gt_lines(g, DYNC__GT_ARG(a));
    DYNC__A(a, ADDRESS, .to = DYNC__G_A2,
            .y = n == 1 ? dync__a_mem(DYNC__G_LANE, 0)
                        : dync__a_index(DYNC__G_LANE, DYNC__G_LANE, 1, 0));
    if (n == 4) dync__gt_add(g, DYNC__G_A2, DYNC__G_A2);
    dync__gt_get(g, DYNC__G_END, DYNC__GT_ARG(c));
    dync__gt_get(g, DYNC__G_A4, DYNC__GT_ARG(c_step));
    dync__gt_get(g, DYNC__G_T0, DYNC__GT_ARG(k));
    dync__gt_bind(g, body);
    for (int v = 0; v < g->vectors; v++) {
        bool part = dync__gt_part(g, v);
        if (pair)
            dync__gt_pair(g, v, n, part);
        else if (rounds)
            dync__gt_load(g, v, dync__gt_line(0, v * g->bytes), part);
        else
            dync__gt_load_b(g, v, dync__gt_line(0, v * dync__gt_wide(g)), part);
        if (!pair && g->flags & DYNC__GT_ADD)
            dync__gt_op2(g, DYNC__P_add, g->vt, v, v, dync__a_mem(DYNC__G_END, v * g->bytes));
        if (rounds)
            dync__gt_round(g, v, dync__a_mem(DYNC__G_END, v * dync__gt_wide(g)));
        else
            dync__gt_store(g, v, dync__a_mem(DYNC__G_END, v * g->bytes), part);
    }
    dync__gt_add(g, DYNC__G_T1, DYNC__G_A2);
    dync__gt_add(g, DYNC__G_END, DYNC__G_A4);
    DYNC__A(a, SUB_JUMP, .op = DYNC__IF_NE, .y = dync__a_reg(DYNC__G_T0), .n = 1, .label = body);
    DYNC__A(a, LEAVE, .n = dync__gt_saved(g));
}
#endif
