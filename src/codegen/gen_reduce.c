/* codegen/gen_reduce.c: accumulators of reductions. Between gen_reg.c and gen_fold.c, which takes
 * vectors into them.
 *
 * Float sums are taken in the order of the tile interpreter, so that the bits agree, but where it
 * folds tiles of few columns or a row spans several loops that do not merge; products are taken in
 * the same way, which the interpreter does one after another. Rows one at a time: grains of 128
 * elements in 32 lanes, the lanes folded in halves, grains combined as a binary counter carries.
 * Rows side by side: sixteen additions into one level, then it goes into the next, four levels.
 * What does not depend on order has one accumulator for each vector in flight. BOOL is accumulated
 * in lanes of 32 bits. */
#include "../dync.in.h"
#include "gen_reduce.h"
DYNC__LEAN
#if DYNC__JIT

DYNC__FN int dync__acc_bytes(const dync__gen_red *r)
{
    return dync__gen_type_wide(r->type) ? 8 : 4;
}
static dync__gen_red *dync__acc_of(dync__gen *g, int inst)
{
    int i = 0;
    while (g->red.at[i].inst != inst) i++;
    return &g->red.at[i];
}

/* What accumulators hold. */
DYNC__FN int dync__acc_type(const dync__gen_red *r)
{
    return r->type == DYNC_BOOL ? DYNC_I32 : r->type;
}

static int dync__acc_prim(const dync__gen_red *r)
{
    static const uint8_t prims[] = {DYNC__P_add, DYNC__P_mul, DYNC__P_max,
                                    DYNC__P_min, DYNC__P_or_, DYNC__P_and_};
    return prims[r->kind];
}

/* acc = acc op x, in so many lanes; a NaN stays */
DYNC__FN void dync__acc_op(dync__gen *g, const dync__gen_red *r, int lanes, int acc, dync__place x)
{
    DYNC__A(&g->a, OP2, .v = dync__vt_of(dync__acc_type(r), lanes), .op = dync__acc_prim(r),
            .to = acc, .x = acc, .y = x);
}

/* ---- argmax, argmin: I64 keys that order as the values do, and where the greatest stands ----- */

DYNC__FN bool dync__acc_is_arg(const dync__gen_red *r) { return r->kind >= DYNC__R_ARGMAX; }

DYNC__FN bool dync__gen_has_places(const dync__gen *g, int phase)
{
    for (int i = 0; i < g->red.n; i++)
        if (g->red.at[i].phase == phase && dync__acc_is_arg(&g->red.at[i])) return true;
    return false;
}

/* NaN is the greatest key; -0 and 0 are one; of argmin the order is reversed. */
static int dync__acc_float_key(dync__gen *g, bool least, int type, int x, int t)
{
    dync__asm *a = &g->a;
    bool wide = dync__gen_type_wide(type);
    int m, bits = wide ? DYNC_I64 : DYNC_I32;
    dync__vt v = dync__gen_vt(g, type), b = dync__gen_vt(g, bits);
    dync__place sign = dync__gen_const(g, type, -0.0, 0);
    dync__place greatest = dync__gen_const(g, bits, 0, wide ? INT64_MAX : INT32_MAX);
    if (least) DYNC__A(a, OP2, .v = b, .op = DYNC__P_xor_, .to = t, .x = x, .y = sign);
    DYNC__A(a, OP2, .v = v, .op = DYNC__P_add, .to = t, .x = least ? t : x,
            .y = dync__gen_const(g, type, 0.0, 0));
    m = dync__gen_temp(g);
    DYNC__A(a, SHIFT, .v = b, .op = DYNC__P_shr, .to = m, .x = t, .n = wide ? 63 : 31);
    DYNC__A(a, SHIFT, .v = b, .op = DYNC__O_LSR, .to = m, .x = m, .n = 1);
    DYNC__A(a, OP2, .v = b, .op = DYNC__P_xor_, .to = t, .x = t, .y = dync__a_reg(m));
    if (a->t->n_masks) m = dync__gen_temp_k(g);
    DYNC__A(a, COMPARE, .v = v, .op = DYNC__IF_UNORD, .to = m, .x = x, .y = dync__a_reg(x));
    DYNC__A(a, MERGE, .v = v, .to = t, .y = greatest, .z = m);
    return t;
}

static int dync__acc_key(dync__gen *g, const dync__gen_red *r, int value)
{
    int type = dync__gen_inst(g, value)->type, x = dync__gen_src(g, value), t = dync__gen_temp(g),
        m;
    bool least = r->kind == DYNC__R_ARGMIN;
    if (dync__gen_type_float(type))
        t = dync__acc_float_key(g, least, type, x, t);
    else if (!least)
        t = x;
    else
        DYNC__A(&g->a, OP2, .v = dync__gen_vt(g, type), .op = DYNC__P_xor_, .to = t, .x = x,
                .y = dync__a_constant(&g->a, 0xff, 1));
    if (dync__gen_type_wide(type)) return t;
    m = dync__gen_temp(g);
    DYNC__A(&g->a, CONVERT, .v = dync__gen_vt(g, DYNC_I64), .to = m, .y = dync__a_reg(t),
            .n = DYNC_I32);
    return m;
}

static int dync__acc_places(dync__gen *g)
{
    dync__asm *a = &g->a;
    int t = dync__gen_temp(g);
    dync__vt v = dync__gen_vt(g, DYNC_I64);
    int64_t lane[8] = {0};
    if (!g->vertical) {
        for (int l = 0; l < 8; l++) lane[l] = l;
        DYNC__A(a, ADDRESS, .to = DYNC__G_T0, .y = dync__a_mem(DYNC__G_LANE, g->u * g->V));
        DYNC__A(a, ADD, .to = DYNC__G_T0, .y = dync__gen_at(g->place));
        DYNC__A(a, PUT, .x = DYNC__G_T0, .y = dync__gen_at(g->stage));
    }
    DYNC__A(a, SPREAD, .v = v, .to = t, .y = dync__gen_at(g->vertical ? g->place : g->stage));
    if (!g->vertical)
        DYNC__A(a, OP2, .v = v, .op = DYNC__P_add, .to = t, .x = t,
                .y = dync__a_constant64(a, lane));
    return t;
}

static void dync__acc_take_place(dync__gen *g, const dync__gen_red *r, int value)
{
    dync__asm *a = &g->a;
    dync__vt v = dync__gen_vt(g, DYNC_I64);
    int u = g->u % r->n_acc, key = dync__acc_key(g, r, value), at = dync__acc_places(g);
    int acc = r->in_regs ? r->reg[u] : dync__gen_temp(g);
    dync__place home = dync__gen_at(r->acc + 64 * u), where = dync__gen_at(r->where + 64 * u);
    if (!r->in_regs) DYNC__A(a, LOAD, .v = v, .to = acc, .y = home);
    int m = dync__gen_temp_k(g);
    if (g->masked)
        DYNC__A(a, COMPARE_PART, .v = v, .op = DYNC__IF_GT, .to = m, .x = key,
                .y = dync__a_reg(acc), .n = g->tail_mask + 64 * g->u);
    else
        DYNC__A(a, COMPARE, .v = v, .op = DYNC__IF_GT, .to = m, .x = key, .y = dync__a_reg(acc));
    DYNC__A(a, MERGE, .v = v, .to = acc, .y = dync__a_reg(key), .z = m);
    if (a->t->n_masks) {
        DYNC__A(a, STORE_PART, .v = v, .x = at, .y = where, .z = m);
    } else { /* masked stores take longer there than all this */
        int best = dync__gen_temp(g);
        DYNC__A(a, LOAD, .v = v, .to = best, .y = where);
        DYNC__A(a, MERGE, .v = v, .to = best, .y = dync__a_reg(at), .z = m);
        DYNC__A(a, STORE, .v = v, .x = best, .y = where);
    }
    if (!r->in_regs) DYNC__A(a, STORE, .v = v, .x = acc, .y = home);
}

/* x and its place become y and its own where y is greater, or equal and before it. m[0], m[1]:
 * masks to use. */
DYNC__FN void dync__acc_better(dync__gen *g, int lanes, const int *x, const int *y, const int *m)
{
    dync__asm *a = &g->a;
    dync__vt v = dync__vt_of(DYNC_I64, lanes),
             mask = dync__vt_of(a->t->n_masks ? DYNC_BOOL : DYNC_I64, lanes);
    for (int pass = 0; pass < 2; pass++) {
        if (pass == !a->t->n_masks) /* m[0] may serve in between */
            DYNC__A(a, COMPARE, .v = v, .op = DYNC__IF_GT, .to = m[0], .x = y[0],
                    .y = dync__a_reg(x[0]));
        if (pass) break;
        DYNC__A(a, COMPARE, .v = v, .op = DYNC__IF_EQ, .to = m[1], .x = y[0],
                .y = dync__a_reg(x[0]));
        DYNC__A(a, COMPARE_AND, .v = v, .op = DYNC__IF_LT, .to = m[1], .x = y[1],
                .y = dync__a_reg(x[1]), .z = m[1], .n = m[0]);
    }
    DYNC__A(a, OP2, .v = mask, .op = DYNC__P_or_, .to = m[0], .x = m[0], .y = dync__a_reg(m[1]));
    DYNC__A(a, MERGE, .v = v, .to = x[0], .y = dync__a_reg(y[0]), .z = m[0]);
    DYNC__A(a, MERGE, .v = v, .to = x[1], .y = dync__a_reg(y[1]), .z = m[0]);
}

/* Of vector u, in the frame or (tall) where T1 leads. */
DYNC__FN dync__place dync__acc_level(const dync__gen *g, const dync__gen_red *r, int l, int u)
{
    return dync__a_mem(g->tall ? DYNC__G_T1 : DYNC__G_FRAME, r->level + 64 * (l * g->U + u));
}

/* The place of the first extreme in lane 0 (rows side by side: of accumulator u, or of the state,
 * in each lane). */
DYNC__FN int dync__acc_found(dync__gen *g, const dync__gen_red *r, int u)
{
    dync__asm *a = &g->a;
    dync__vt v = dync__gen_vt(g, DYNC_I64);
    int x[2], y[2], m[2], lanes = g->V;
    x[0] = dync__gen_temp(g), x[1] = dync__gen_temp(g), y[0] = dync__gen_temp(g),
    y[1] = dync__gen_temp(g);
    m[0] = dync__gen_temp_k(g), m[1] = dync__gen_temp_k(g);
    if (g->tall) DYNC__A(a, GET, .to = DYNC__G_T1, .y = dync__gen_at(g->state));
    for (int k = u; k < (g->vertical ? u + 1 : r->n_acc); k++) {
        const int *to = k == u ? x : y;
        for (int l = 0; l < 2; l++)
            DYNC__A(a, LOAD, .v = v, .to = to[l],
                    .y = g->tall ? dync__acc_level(g, r, l, k)
                                 : dync__gen_at((l ? r->where : r->acc) + 64 * k));
        if (k > u) dync__acc_better(g, g->V, x, y, m);
    }
    for (; !g->vertical && lanes > 1; lanes /= 2) {
        dync__vt all = dync__vt_of(DYNC_I64, lanes);
        for (int k = 0; k < 2; k++) {
            if (lanes > 2)
                DYNC__A(a, HALF, .v = all, .to = y[k], .x = x[k]);
            else
                DYNC__A(a, DOWN, .v = all, .to = y[k], .x = x[k], .n = 1);
        }
        dync__acc_better(g, DYNC__MAX(lanes / 2, 2), x, y, m);
    }
    if (g->split) /* the key, for the other parts */
        DYNC__A(a, FIRST_TO, .v = v, .x = x[0], .y = dync__gen_at(g->slot[r->inst] + 64));
    /* never taken: every value is the least integer */
    DYNC__A(a, LOAD, .v = v, .to = y[0], .y = dync__a_constant(a, INT64_MAX, 8));
    DYNC__A(a, ZERO, .v = v, .to = x[0]);
    int never = a->t->n_masks ? m[0] : y[0];
    DYNC__A(a, COMPARE, .v = v, .op = DYNC__IF_EQ, .to = never, .x = x[1], .y = dync__a_reg(y[0]));
    DYNC__A(a, MERGE, .v = v, .to = x[1], .y = dync__a_reg(x[0]), .z = never);
    return x[1];
}

/* ---- where they are -------------------------------------------------------------------------- */

DYNC__FN void dync__gen_reduce_pin(dync__gen *g, int phase)
{
    for (int i = 0; i < g->red.n; i++) {
        dync__gen_red *r = &g->red.at[i];
        if (r->phase != phase) continue;
        bool grains = r->ordered && !g->vertical;
        r->n_acc = (uint8_t)(grains ? DYNC__GEN_LANES / g->V : g->U);
        r->in_regs = r->n_acc <= DYNC__COUNT_OF(r->reg) &&
                     __builtin_popcount(g->pinned) + r->n_acc <= g->n_regs / 2 &&
                     !(grains && g->turns * g->U * g->V % DYNC__GEN_LANES);
        r->acc = dync__gen_frame(g, r->n_acc * 64);
        if (dync__acc_is_arg(r)) r->where = dync__gen_frame(g, r->n_acc * 64);
        if (g->tall)
            r->level = 3 * 64 * g->U * i;
        else if (r->ordered)
            r->level = dync__gen_frame(g, g->vertical ? 3 * g->U * 64 : 64 * 8 + 64);
        for (int k = 0; r->in_regs && k < r->n_acc; k++) r->reg[k] = (int8_t)dync__gen_pin(g);
        int kind = r->kind, type = r->type == DYNC_BOOL ? DYNC_I32 : r->type;
        double x = kind == DYNC__R_MAX    ? -HUGE_VAL
                   : kind == DYNC__R_MIN  ? HUGE_VAL
                   : kind == DYNC__R_PROD ? 1
                                          : 0;
        int64_t n = kind == DYNC__R_MAX || dync__acc_is_arg(r)
                        ? (type == DYNC_I64 ? INT64_MIN : INT32_MIN)
                    : kind == DYNC__R_MIN ? (type == DYNC_I64 ? INT64_MAX : INT32_MAX)
                    : kind == DYNC__R_ALL ? -1
                                          : kind == DYNC__R_PROD;
        r->identity = dync__gen_const(g, type, x, n);
    }
}

/* Accumulators in the frame lie side by side, one vector after another. */
DYNC__FN int dync__acc_size(const dync__gen *g, const dync__gen_red *r)
{
    return dync__acc_is_arg(r) ? 64 : g->V * dync__acc_bytes(r);
}

DYNC__FN void dync__acc_set(dync__gen *g, const dync__gen_red *r, dync__vt v)
{
    int t = r->in_regs ? 0 : dync__gen_temp(g);
    if (!r->in_regs) DYNC__A(&g->a, LOAD, .v = v, .to = t, .y = r->identity);
    for (int k = 0; k < r->n_acc; k++) {
        if (r->in_regs)
            DYNC__A(&g->a, LOAD, .v = v, .to = r->reg[k], .y = r->identity);
        else
            DYNC__A(&g->a, STORE, .v = v, .x = t,
                    .y = dync__gen_at(r->acc + k * dync__acc_size(g, r)));
    }
}

DYNC__FN void dync__gen_reduce_init(dync__gen *g, int phase, bool ordered, bool levels)
{
    for (int i = 0; i < g->red.n; i++) {
        dync__gen_red *r = &g->red.at[i];
        dync__vt v = dync__gen_vt(g, dync__acc_type(r));
        if (r->phase != phase || r->ordered != ordered) continue;
        dync__acc_set(g, r, v);
        if (dync__acc_is_arg(r)) {
            int t = dync__gen_temp(g);
            DYNC__A(&g->a, LOAD, .v = v, .to = t, .y = dync__a_constant(&g->a, INT64_MAX, 8));
            for (int k = 0; k < r->n_acc; k++)
                DYNC__A(&g->a, STORE, .v = v, .x = t, .y = dync__gen_at(r->where + 64 * k));
        }
        if (levels && r->ordered) {
            int t = dync__gen_temp(g);
            DYNC__A(&g->a, LOAD, .v = v, .to = t, .y = r->identity);
            for (int k = 0; k < 3 * g->U; k++)
                DYNC__A(&g->a, STORE, .v = v, .x = t, .y = dync__gen_at(r->level + 64 * k));
        }
        dync__gen_drop_temps(g);
    }
}

/* ---- taking a vector ------------------------------------------------------------------------- */

/* Masks in registers of their own. */
static void dync__acc_take_mask(dync__gen *g, const dync__gen_red *r, int acc, int value)
{
    dync__asm *a = &g->a;
    dync__vt v = dync__gen_vt(g, DYNC_I32), b = dync__gen_vt(g, DYNC_BOOL);
    int k = dync__gen_src(g, value), t;
    bool any = r->kind == DYNC__R_ANY;
    if (!any || g->masked) {
        t = dync__gen_temp_k(g);
        if (!any) DYNC__A(a, OP1, .v = b, .op = DYNC__P_not_, .to = t, .y = dync__a_reg(k));
        if (g->masked) {
            int tail = dync__gen_tail(g, false);
            DYNC__A(a, OP2, .v = b, .op = DYNC__P_and_, .to = t, .x = any ? k : t,
                    .y = dync__a_reg(tail));
        }
        k = t;
    }
    if (any)
        DYNC__A(a, MERGE, .v = v, .to = acc, .y = dync__a_constant(a, 0xff, 1), .z = k);
    else
        DYNC__A(a, CLEAR, .v = v, .to = acc, .z = k);
}

/* x of what is halved into the accumulator that its lanes have in the order, by the bits of
 * LANE. */
static void dync__acc_take_halved(dync__gen *g, const dync__gen_red *r, int x)
{
    dync__asm *a = &g->a;
    int done = dync__a_label(a), other[DYNC__COUNT_OF(r->reg)], u = g->u;
    if (g->masked) {
        int tail = dync__gen_tail(g, dync__gen_type_wide(r->type)), t = dync__gen_temp(g);
        dync__vt v = dync__gen_vt(g, dync__acc_type(r));
        DYNC__A(a, LOAD, .v = v, .to = t, .y = r->identity);
        DYNC__A(a, MERGE, .v = v, .to = t, .y = dync__a_reg(x), .z = tail);
        x = t;
    }
    for (int k = u; k < r->n_acc; k += g->U) {
        if (k > u) DYNC__A(a, LABEL, .label = other[k]);
        for (int by = r->n_acc / 2; by >= g->U; by /= 2) {
            if ((k - u) % (2 * by)) continue;
            other[k + by] = dync__a_label(a);
            DYNC__A(a, TEST_JUMP, .op = DYNC__IF_NE, .x = DYNC__G_LANE, .n = by * g->V,
                    .label = other[k + by]);
        }
        dync__acc_op(g, r, g->V, r->reg[k], dync__a_reg(x));
        if (k + g->U < r->n_acc) DYNC__A(a, JUMP, .label = done);
    }
    DYNC__A(a, LABEL, .label = done);
}

DYNC__FN void dync__gen_reduce(dync__gen *g, int i)
{
    dync__asm *a = &g->a;
    const dync__gen_red *r = dync__acc_of(g, i);
    int value = dync__gen_inst(g, i)->arg[0], own = (g->turn * g->U + g->u) % r->n_acc;
    dync__vt v = dync__gen_vt(g, dync__acc_type(r));
    bool halved = g->parts && r->ordered && r->in_regs && r->n_acc > g->U;
    bool indexed = r->ordered && !g->vertical && !r->in_regs &&
                   g->turns * g->U * g->V % DYNC__GEN_LANES,
         direct = r->ordered && r->in_regs && !g->masked; /* a load is the operand */
    if (dync__acc_is_arg(r)) {
        dync__acc_take_place(g, r, value);
        return;
    }
    if (halved) {
        dync__acc_take_halved(g, r, dync__gen_src(g, value));
        return;
    }
    if (direct) {
        dync__acc_op(g, r, g->V, r->reg[own], dync__gen_src_rm(g, value));
        return;
    }
    int x = dync__gen_in_k(g, r->type) ? 0 : dync__gen_src(g, value);
    int acc = r->in_regs ? r->reg[own] : dync__gen_temp(g), size = dync__acc_size(g, r);
    dync__place at = dync__gen_at(r->acc + own * size);
    if (indexed) { /* element j of a row belongs to lane j modulo 32 */
        DYNC__A(a, ADDRESS, .to = DYNC__G_T0, .y = dync__a_mem(DYNC__G_LANE, g->u * g->V));
        DYNC__A(a, AND_N, .y = dync__a_reg(DYNC__G_T0), .n = DYNC__GEN_LANES - 1);
        at = dync__a_index(DYNC__G_FRAME, DYNC__G_T0, dync__acc_bytes(r), r->acc);
    }
    if (!r->in_regs) DYNC__A(a, LOAD, .v = v, .to = acc, .y = at);
    if (dync__gen_in_k(g, r->type)) {
        dync__acc_take_mask(g, r, acc, value);
    } else if (!g->masked) {
        dync__acc_op(g, r, g->V, acc, dync__a_reg(x));
    } else {
        int tail = dync__gen_tail(g, dync__gen_type_wide(r->type));
        DYNC__A(a, OP2_PART, .v = v, .op = dync__acc_prim(r), .to = acc, .x = x, .y = r->identity,
                .z = tail);
    }
    if (!r->in_regs) DYNC__A(a, STORE, .v = v, .x = acc, .y = at);
}
#endif
