/* codegen/gen_conv.c: the tiles of conv_code.h over the verbs of target.h. Before: gen_after.c
 * emits what follows the sums; after: conv_code.c keeps the code, kernel/conv_tiles.c calls it.
 *
 * Registers: accumulators from 0, then the B vectors of weights, last the broadcast. T1: input of
 * the tile, T2 of the block; END: weights of the block; LANE, A1: taps and how many are left; A2:
 * blocks left; A3, A4 (A5, A6): input and weights of the tap; A0: rounds of it; T0: out. */
#include "../dync.in.h"
#include "gen_conv.h"
DYNC__LEAN
#if DYNC__JIT

DYNC__FN int dync__ct_scratch(dync__asm *a, int class_)
{
    dync__gen *g = a->owner;
    dync__ct *c = (dync__ct *)(void *)(uintptr_t)g->tile;
    if (c->follows) return dync__gen_scratch(a, class_);
    return class_ == DYNC__CLASS_MASK ? 1 : c->spare[c->given++ % 2];
}

/* ---- sums ------------------------------------------------------------------------------------ */

static void dync__ct_start(dync__ct *c)
{
    const dync__ctile *t = c->t;
    bool extreme = t->op == DYNC__CT_MAX || t->op == DYNC__CT_WHERE;
    if (t->flags & DYNC__CT_BIAS)
        DYNC__A(c->a, GET, .to = DYNC__G_T0, .y = dync__ct_arg(DYNC__CA_BIAS));
    if (t->flags & DYNC__CT_ADD)
        DYNC__A(c->a, GET, .to = DYNC__G_T0, .y = dync__ct_arg(DYNC__CA_OUT));
    for (int p = 0; p < t->P; p++)
        for (int b = 0; b < t->B; b++) {
            int r = p * t->B + b;
            if (t->flags & DYNC__CT_ADD)
                dync__ct_load(c, r, dync__a_mem(DYNC__G_T0, t->out_at[p] + b * t->out_b));
            else if (t->flags & DYNC__CT_BIAS)
                dync__ct_load(c, r,
                              p ? dync__a_reg(b) : dync__a_mem(DYNC__G_T0, dync__ct_bytes(c) * b));
            else if (extreme)
                dync__ct_load(c, r, dync__a_constant(c->a, 0xff800000u, 4)); /* -inf */
            else
                DYNC__A(c->a, ZERO, .v = c->v, .to = r);
        }
    for (int p = 0; t->op == DYNC__CT_WHERE && p < t->P; p++)
        dync__ct_load(c, t->P + p, dync__a_constant(c->a, 0xc0000000u, 4));
}

/* The greater, and the tap's number (in wreg) where it was taken: where x is greater, or NaN. */
static void dync__ct_where(dync__ct *c, int p, dync__place in)
{
    dync__vt truth = dync__vt_of(DYNC_BOOL, c->v.lanes);
    int x = c->breg, at = c->t->P + p, mask = c->a->t->n_masks ? 1 : c->breg + 1;
    dync__ct_load(c, x, in);
    DYNC__A(c->a, COMPARE, .op = DYNC__IF_LT, .v = c->v, .to = mask, .x = p, .y = dync__a_reg(x));
    DYNC__A(c->a, COMPARE, .op = DYNC__IF_UNORD, .v = c->v, .to = mask + 1, .x = x,
            .y = dync__a_reg(x));
    DYNC__A(c->a, OP2, .op = DYNC__P_or_, .v = truth, .to = mask, .x = mask,
            .y = dync__a_reg(mask + 1));
    DYNC__A(c->a, MERGE, .v = c->v, .to = p, .y = dync__a_reg(x), .z = mask);
    DYNC__A(c->a, MERGE, .v = c->v, .to = at, .y = dync__a_reg(c->wreg), .z = mask);
}

/* The input of place p and the weights of block b for step k of a tap. */
static dync__place dync__ct_element(void *of, int p, int k)
{
    const dync__ct *c = of;
    return dync__a_mem(DYNC__G_A3, k * c->t->in_k + c->t->in_at[p]);
}
static dync__place dync__ct_fold(void *of, int b, int k, int *mask)
{
    const dync__ct *c = of;
    bool apart = c->t->flags & DYNC__CT_APART;
    *mask = 0;
    return dync__a_mem(DYNC__G_A4 + (apart ? b : 0), k * c->t->w_k + (apart ? 0 : b * c->t->w_b));
}
static void dync__ct_weights(void *of, int reg, int b, int k)
{
    int mask;
    dync__ct_load(of, reg, dync__ct_fold(of, b, k, &mask));
}

/* Each element of the input times B vectors of weights. */
static void dync__ct_broadcast(dync__ct *c, int k)
{
    int op = c->t->op;
    dync__gen_sums sums = {.v = op == DYNC__CT_DOT ? dync__vt_of(DYNC_I32, c->v.lanes) : c->v,
                           .dot = op == DYNC__CT_DOT     ? DYNC_U8
                                  : op == DYNC__CT_PAIRS ? DYNC_BF16
                                                         : 0,
                           .rows = c->t->P,
                           .vectors = c->t->B,
                           .b = c->wreg,
                           .a = c->breg,
                           .n_a = 1,
                           .of = c,
                           .element = dync__ct_element,
                           .load = dync__ct_weights,
                           .fold = dync__ct_fold};
    dync__ct_spare(c, c->wreg, c->wreg);
    dync__gen_products(c->a, &sums, k);
    if (c->t->flags & DYNC__CT_PLANES && k + 1 < c->t->K)
        DYNC__A(c->a, ADD, .to = DYNC__G_A3, .y = dync__ct_arg(DYNC__CA_A_K));
}

/* Products k of a tap. */
static void dync__ct_products(dync__ct *c, int k)
{
    const dync__ctile *t = c->t;
    if (t->op <= DYNC__CT_PAIRS) {
        dync__ct_broadcast(c, k);
        return;
    }
    dync__ct_spare(c, c->breg, t->op == DYNC__CT_VECTOR ? c->breg : c->wreg);
    if (t->op == DYNC__CT_VECTOR) dync__ct_weights(c, c->wreg, 0, k);
    for (int p = 0; p < t->P; p++) {
        dync__place in = dync__ct_element(c, p, k);
        switch (t->op) {
        case DYNC__CT_WHERE: dync__ct_where(c, p, in); break;
        case DYNC__CT_MAX: dync__ct_op2(c, DYNC__P_max, p, p, in); break; /* a NaN stays */
        case DYNC__CT_SUM: dync__ct_op2(c, DYNC__P_add, p, p, in); break;
        default: DYNC__A(c->a, FMA, .v = c->v, .to = p, .x = c->wreg, .y = in);
        }
    }
}

/* Past n products. */
static void dync__ct_past(dync__ct *c, int n)
{
    const dync__ctile *t = c->t;
    DYNC__A(c->a, ADD_N, .y = dync__a_reg(DYNC__G_A3), .n = n * t->in_k);
    for (int b = 0; b < (t->flags & DYNC__CT_APART ? t->B : 1); b++)
        DYNC__A(c->a, ADD_N, .y = dync__a_reg(DYNC__G_A4 + b), .n = n * t->w_k);
}

/* As often as the argument block says, n products. */
static void dync__ct_repeat(dync__ct *c, int word, int n)
{
    int again = dync__a_label(c->a), end = dync__a_label(c->a);
    DYNC__A(c->a, GET, .to = DYNC__G_A0, .y = dync__ct_arg(word));
    DYNC__A(c->a, LABEL, .label = again);
    DYNC__A(c->a, SUB_JUMP, .op = DYNC__IF_LT, .y = dync__a_reg(DYNC__G_A0), .n = 1, .label = end);
    for (int k = 0; k < n; k++) dync__ct_products(c, k);
    dync__ct_past(c, n);
    DYNC__A(c->a, JUMP, .label = again);
    DYNC__A(c->a, LABEL, .label = end);
}

static void dync__ct_tap(dync__ct *c)
{
    const dync__ctile *t = c->t;
    if (t->K == 0) {
        dync__ct_repeat(c, DYNC__CA_ROUNDS, DYNC__CT_ROUND);
        dync__ct_repeat(c, DYNC__CA_REST, 1);
        return;
    }
    int whole = t->K > DYNC__CT_UNROLL ? DYNC__CT_ROUND : t->K, rounds = t->K / whole;
    if (t->op == DYNC__CT_WHERE) {
        dync__vt number = dync__vt_of(DYNC_I32, c->v.lanes);
        DYNC__A(c->a, FIRST, .v = number, .to = c->wreg, .y = dync__a_reg(DYNC__G_A4));
        DYNC__A(c->a, SPREAD, .v = number, .to = c->wreg, .y = dync__a_reg(c->wreg));
    }
    if (rounds > 1) {
        int again = dync__a_label(c->a);
        DYNC__A(c->a, SET, .to = DYNC__G_A0, .n = rounds);
        DYNC__A(c->a, LABEL, .label = again);
        for (int k = 0; k < whole; k++) dync__ct_products(c, k);
        dync__ct_past(c, whole);
        DYNC__A(c->a, SUB_JUMP, .op = DYNC__IF_NE, .y = dync__a_reg(DYNC__G_A0), .n = 1,
                .label = again);
    }
    for (int k = 0; k < (rounds > 1 ? t->K % whole : t->K); k++) dync__ct_products(c, k);
}

static void dync__ct_sum(dync__ct *c)
{
    dync__asm *a = c->a;
    int blocks = dync__a_label(a), taps = dync__a_label(a), next = dync__a_label(a),
        done = dync__a_label(a);
    DYNC__A(a, GET, .to = DYNC__G_T2, .y = dync__a_reg(DYNC__G_T1));
    DYNC__A(a, GET, .to = DYNC__G_END, .y = dync__ct_arg(DYNC__CA_W));
    DYNC__A(a, GET, .to = DYNC__G_A2, .y = dync__ct_arg(DYNC__CA_NA));
    DYNC__A(a, LABEL, .label = blocks);
    DYNC__A(a, SUB_JUMP, .op = DYNC__IF_LT, .y = dync__a_reg(DYNC__G_A2), .n = 1, .label = done);
    DYNC__A(a, GET, .to = DYNC__G_LANE, .y = dync__ct_arg(DYNC__CA_TAPS));
    DYNC__A(a, GET, .to = DYNC__G_A1, .y = dync__ct_arg(DYNC__CA_NTAPS));
    DYNC__A(a, LABEL, .label = taps);
    DYNC__A(a, SUB_JUMP, .op = DYNC__IF_LT, .y = dync__a_reg(DYNC__G_A1), .n = 1, .label = next);
    DYNC__A(a, GET, .to = DYNC__G_A3, .y = dync__a_mem(DYNC__G_LANE, 0));
    DYNC__A(a, ADD, .to = DYNC__G_A3, .y = dync__a_reg(DYNC__G_T2));
    DYNC__A(a, GET, .to = DYNC__G_A4, .y = dync__a_mem(DYNC__G_LANE, 8));
    DYNC__A(a, ADD, .to = DYNC__G_A4, .y = dync__a_reg(DYNC__G_END));
    for (int b = 1; c->t->flags & DYNC__CT_APART && b < c->t->B; b++) {
        DYNC__A(a, GET, .to = DYNC__G_A4 + b, .y = dync__a_reg(DYNC__G_A4 + b - 1));
        DYNC__A(a, ADD, .to = DYNC__G_A4 + b, .y = dync__ct_arg(DYNC__CA_W_B));
    }
    dync__ct_tap(c);
    DYNC__A(a, ADD_N, .y = dync__a_reg(DYNC__G_LANE), .n = 16);
    DYNC__A(a, JUMP, .label = taps);
    DYNC__A(a, LABEL, .label = next);
    DYNC__A(a, ADD, .to = DYNC__G_T2, .y = dync__ct_arg(DYNC__CA_A_IN));
    DYNC__A(a, ADD, .to = DYNC__G_END, .y = dync__ct_arg(DYNC__CA_A_W));
    DYNC__A(a, JUMP, .label = blocks);
    DYNC__A(a, LABEL, .label = done);
}

/* ---- the end of a tile ----------------------------------------------------------------------- */

/* Operands are vectors of channels. */
DYNC__FN dync__place dync__ct_source(const dync__gen_tile *tile, int source)
{
    const dync__ct *c = (const dync__ct *)(const void *)tile;
    DYNC__A(c->a, GET, .to = DYNC__G_LANE, .y = dync__ct_arg(DYNC__CA_POST + source));
    return dync__a_mem(DYNC__G_LANE, c->block * dync__ct_bytes(c));
}

static void dync__ct_store(dync__ct *c)
{
    const dync__ctile *t = c->t;
    dync__asm *a = c->a;
    if (t->flags & DYNC__CT_DIVIDE) {
        DYNC__A(a, GET, .to = DYNC__G_T0, .y = dync__ct_arg(DYNC__CA_BIAS));
        DYNC__A(a, SPREAD, .v = c->v, .to = c->breg, .y = dync__a_mem(DYNC__G_T0, 0));
    }
    DYNC__A(a, GET, .to = DYNC__G_T0, .y = dync__ct_arg(DYNC__CA_OUT));
    uint32_t taken = (uint32_t)((UINT64_C(1) << c->wreg) - 1) | 1u << c->breg;
    for (c->block = 0; c->block < t->B; c->block++) {
        if (c->block && !t->out_b)
            DYNC__A(a, ADD, .to = DYNC__G_T0, .y = dync__ct_arg(DYNC__CA_OUT_B));
        for (int p = 0; p < t->P; p++) {
            int r = p * t->B + c->block, at = t->out_at[p] + c->block * t->out_b;
            if (t->flags & DYNC__CT_DIVIDE)
                dync__ct_op2(c, DYNC__P_div, r, r, dync__a_reg(c->breg));
            dync__ct_put(c, dync__ct_follow(c, r, taken), dync__a_mem(DYNC__G_T0, at));
            taken &= ~(1u << r);
        }
    }
}

static void dync__ct_store_where(dync__ct *c)
{
    const dync__ctile *t = c->t;
    dync__vt number = dync__vt_of(DYNC_I32, c->v.lanes);
    dync__ct_spare(c, c->wreg, c->wreg);
    DYNC__A(c->a, ADD, .to = DYNC__G_T0, .y = dync__ct_arg(DYNC__CA_BIAS));
    DYNC__A(c->a, SPREAD, .v = number, .to = c->breg, .y = dync__ct_arg(DYNC__CA_POST));
    for (int p = 0; p < t->P; p++) {
        int own = p / t->across * t->w_k + p % t->across * t->w_b, r = t->P + p;
        DYNC__A(c->a, OP2, .op = DYNC__P_add, .v = number, .to = r, .x = r,
                .y = dync__a_reg(c->breg));
        if (own)
            DYNC__A(c->a, OP2, .op = DYNC__P_add, .v = number, .to = r, .x = r,
                    .y = dync__a_constant(c->a, (uint64_t)own, 4));
        dync__ct_put(c, r, dync__a_mem(DYNC__G_T0, t->out_at[p]));
    }
}

/* A word of the argument block += another one. */
static void dync__ct_advance(dync__ct *c, int word, int step)
{
    DYNC__A(c->a, GET, .to = DYNC__G_T0, .y = dync__ct_arg(word));
    DYNC__A(c->a, ADD, .to = DYNC__G_T0, .y = dync__ct_arg(step));
    DYNC__A(c->a, PUT, .x = DYNC__G_T0, .y = dync__ct_arg(word));
}

DYNC__FN void dync__ct_emit(dync__ct *c)
{
    const dync__ctile *t = c->t;
    dync__asm *a = c->a;
    int again = dync__a_label(a);
    c->wreg = t->op == DYNC__CT_WHERE ? 2 * t->P : t->P * t->B;
    c->breg = c->wreg + t->B;
    int saved = DYNC__CT_SAVED |
                (t->flags & DYNC__CT_APART ? 1 << DYNC__G_A5 | 1 << DYNC__G_A6 : 0);
    DYNC__A(a, ENTER, .n = saved);
    DYNC__A(a, GET, .to = DYNC__G_T1, .y = dync__ct_arg(DYNC__CA_IN));
    DYNC__A(a, LABEL, .label = again);
    if (t->op == DYNC__CT_TRANSFORM) {
        dync__cw_emit(c);
    } else {
        dync__ct_start(c);
        dync__ct_sum(c);
        dync__ct_store(c);
    }
    if (t->op == DYNC__CT_WHERE) dync__ct_store_where(c);
    DYNC__A(a, ADD, .to = DYNC__G_T1, .y = dync__ct_arg(DYNC__CA_T_IN));
    dync__ct_advance(c, DYNC__CA_OUT, DYNC__CA_T_OUT);
    if (t->op == DYNC__CT_WHERE) dync__ct_advance(c, DYNC__CA_POST, DYNC__CA_POST + 1);
    DYNC__A(a, SUB_JUMP, .op = DYNC__IF_NE, .y = dync__ct_arg(DYNC__CA_TILES), .n = 1,
            .label = again);
    DYNC__A(a, LEAVE, .n = saved);
}
#endif
