/* codegen/gen_random.c: integer division, lane by lane, and random numbers, two at a draw: what no
 * vector instruction does and verbs must spell out at length. After gen_load.c, before gen_prim.c.
 * */
#include "../dync.in.h"
#include "gen.h"
DYNC__LEAN
#if DYNC__JIT

/* Lane by lane in 64 bits: x / 0 and x % 0 are 0, x / -1 wraps. */
DYNC__FN void dync__gen_divide(dync__gen *g, int i)
{
    const dync__inst *in = dync__gen_inst(g, i);
    dync__asm *a = &g->a;
    dync__vt v = dync__gen_vt(g, in->type);
    int x = dync__gen_src(g, in->arg[0]), y = dync__gen_src(g, in->arg[1]),
        size = dync__gen_type_wide(in->type) ? 8 : 4;
    int lane = dync__a_label(a);
    dync__place left = dync__a_index(DYNC__G_FRAME, DYNC__G_T2, 1, g->stage);
    DYNC__A(a, STORE, .v = v, .x = x, .y = dync__gen_at(g->stage));
    DYNC__A(a, STORE, .v = v, .x = y, .y = dync__gen_at(g->stage2));
    DYNC__A(a, PUT, .x = DYNC__G_END, .y = dync__gen_at(g->stage2 + 64));
    DYNC__A(a, SET, .to = DYNC__G_T2, .n = 0);
    DYNC__A(a, LABEL, .label = lane);
    DYNC__A(a, GET_AS, .v = v, .to = DYNC__G_T0, .y = left);
    DYNC__A(a, GET_AS, .v = v, .to = DYNC__G_T1,
            .y = dync__a_index(DYNC__G_FRAME, DYNC__G_T2, 1, g->stage2));
    DYNC__A(a, DIVIDE, .op = in->prim);
    DYNC__A(a, PUT_AS, .v = v, .x = DYNC__G_T0, .y = left);
    DYNC__A(a, ADD_N, .y = dync__a_reg(DYNC__G_T2), .n = size);
    DYNC__A(a, JUMP_IF_N, .op = DYNC__IF_LT, .y = dync__a_reg(DYNC__G_T2), .n = g->V * size,
            .label = lane);
    DYNC__A(a, GET, .to = DYNC__G_END, .y = dync__gen_at(g->stage2 + 64));
    dync__gen_release(g);
    DYNC__A(a, LOAD, .v = v, .to = dync__gen_def(g, i), .y = dync__gen_at(g->stage));
}

/* Philox4x32-10 with each 32-bit word in a 64-bit lane; what stands above the word is never looked
 * at. */
DYNC__FN void dync__gen_random_keys(dync__gen *g)
{
    dync__asm *a = &g->a;
    dync__vt v = dync__gen_vt(g, DYNC_I64);
    g->keys = dync__gen_frame(g, 20 * 64);
    DYNC__A(a, GET, .to = DYNC__G_T0, .y = dync__gen_arg(8 * DYNC__GW_SEED));
    DYNC__A(a, GET, .to = DYNC__G_T1, .y = dync__a_reg(DYNC__G_T0));
    DYNC__A(a, SHR_N, .y = dync__a_reg(DYNC__G_T1), .n = 32);
    for (int k = 0; k < 20; k++) {
        int r = k % 2 ? DYNC__G_T1 : DYNC__G_T0;
        DYNC__A(a, PUT, .x = r, .y = dync__gen_at(g->stage));
        DYNC__A(a, SPREAD, .v = v, .to = 0, .y = dync__gen_at(g->stage));
        DYNC__A(a, STORE, .v = v, .x = 0, .y = dync__gen_at(g->keys + 64 * k));
        DYNC__A(a, ADD_N, .y = dync__a_reg(r), .n = (int32_t)(k % 2 ? 0xbb67ae85u : 0x9e3779b9u));
    }
}

/* 53 of the 64 bits in lo and hi as a number in [0, 1), in `to`; the words' upper halves are of no
 * account. */
static void dync__gen_unit(dync__gen *g, int to, int lo, int hi)
{
    dync__asm *a = &g->a;
    dync__vt v = dync__gen_vt(g, DYNC_I64), d = dync__gen_vt(g, DYNC_F64);
    DYNC__A(a, SHIFT, .v = v, .op = DYNC__P_shl, .to = hi, .x = hi, .n = 32);
    if (!a->t->refuses(a->t, DYNC__P_cast, DYNC_I64, DYNC_F64)) {
        DYNC__A(a, SHIFT, .v = v, .op = DYNC__P_shl, .to = lo, .x = lo, .n = 32);
        DYNC__A(a, SHIFT, .v = v, .op = DYNC__O_LSR, .to = lo, .x = lo, .n = 32);
        DYNC__A(a, OP2, .v = v, .op = DYNC__P_or_, .to = lo, .x = lo, .y = dync__a_reg(hi));
        DYNC__A(a, SHIFT, .v = v, .op = DYNC__O_LSR, .to = lo, .x = lo, .n = 11);
        DYNC__A(a, CONVERT, .v = d, .to = to, .y = dync__a_reg(lo), .n = DYNC_I64);
    } else { /* 32 bits and 21, each below the bits of 2^52 */
        dync__place magic = dync__gen_const(g, DYNC_F64, 4503599627370496.0, 0);
        DYNC__A(a, SHIFT, .v = v, .op = DYNC__P_shl, .to = lo, .x = lo, .n = 32);
        DYNC__A(a, SHIFT, .v = v, .op = DYNC__O_LSR, .to = lo, .x = lo, .n = 43);
        DYNC__A(a, SHIFT, .v = v, .op = DYNC__O_LSR, .to = hi, .x = hi, .n = 32);
        DYNC__A(a, OP2, .v = v, .op = DYNC__P_or_, .to = lo, .x = lo, .y = magic);
        DYNC__A(a, OP2, .v = v, .op = DYNC__P_or_, .to = hi, .x = hi, .y = magic);
        DYNC__A(a, OP2, .v = d, .op = DYNC__P_sub, .to = lo, .x = lo, .y = magic);
        DYNC__A(a, OP2, .v = d, .op = DYNC__P_sub, .to = hi, .x = hi, .y = magic);
        DYNC__A(a, OP2, .v = d, .op = DYNC__P_mul, .to = hi, .x = hi,
                .y = dync__gen_const(g, DYNC_F64, 2097152.0, 0));
        DYNC__A(a, OP2, .v = d, .op = DYNC__P_add, .to = to, .x = hi, .y = dync__a_reg(lo));
    }
    DYNC__A(a, OP2, .v = d, .op = DYNC__P_mul, .to = to, .x = to,
            .y = dync__gen_const(g, DYNC_F64, 1.0 / 9007199254740992.0, 0));
}

/* The other draw of the same block in this list, after i; it finds its vector in the frame, where
 * pool_at says. */
static int dync__gen_other_draw(const dync__gen *g, int i)
{
    const dync__gen_list *l = &g->list[g->cur];
    const dync__inst *in = dync__gen_inst(g, i);
    for (int p = g->pos + 1; p < l->n && in->type == DYNC_F64; p++) {
        const dync__inst *other = dync__gen_inst(g, l->at[p]);
        if (other->prim == DYNC__P_random && other->type == DYNC_F64 && other->imm.i != in->imm.i &&
            other->arg[0] == in->arg[0])
            return l->at[p];
    }
    return -1;
}

DYNC__FN void dync__gen_uniform(dync__gen *g, int i)
{
    const dync__inst *in = dync__gen_inst(g, i);
    dync__asm *a = &g->a;
    dync__vt v = dync__gen_vt(g, DYNC_I64), f = dync__gen_vt(g, DYNC_F32);
    int x, c[4], m[2], first = (int)in->imm.i, other = dync__gen_other_draw(g, i);
    if (g->pool_at[i] >= 0) {
        DYNC__A(a, LOAD, .v = v, .to = dync__gen_def(g, i),
                .y = dync__gen_at(g->pool_at[i] + 64 * g->u));
        return;
    }
    x = dync__gen_src(g, in->arg[0]);
    for (int k = 0; k < 4; k++) c[k] = dync__gen_temp(g);
    m[0] = dync__gen_temp(g);
    m[1] = dync__gen_temp(g);
    DYNC__A(a, SPREAD, .v = v, .to = c[0], .y = dync__gen_arg(8 * DYNC__GW_OFFSET));
    DYNC__A(a, OP2, .v = v, .op = DYNC__P_add, .to = c[0], .x = c[0], .y = dync__a_reg(x));
    DYNC__A(a, SHIFT, .v = v, .op = DYNC__O_LSR, .to = c[1], .x = c[0], .n = 32);
    DYNC__A(a, ZERO, .v = v, .to = c[2]);
    DYNC__A(a, ZERO, .v = v, .to = c[3]);
    for (int k = 0; k < 10; k++) {
        DYNC__A(a, OP2, .v = v, .op = DYNC__O_MUL32, .to = m[0], .x = c[0],
                .y = dync__a_constant(a, 0xd2511f53u, 8));
        DYNC__A(a, OP2, .v = v, .op = DYNC__O_MUL32, .to = m[1], .x = c[2],
                .y = dync__a_constant(a, 0xcd9e8d57u, 8));
        DYNC__A(a, SHIFT, .v = v, .op = DYNC__O_LSR, .to = c[0], .x = m[1], .n = 32);
        DYNC__A(a, OP2, .v = v, .op = DYNC__P_xor_, .to = c[0], .x = c[0], .y = dync__a_reg(c[1]));
        DYNC__A(a, OP2, .v = v, .op = DYNC__P_xor_, .to = c[0], .x = c[0],
                .y = dync__gen_at(g->keys + 128 * k));
        DYNC__A(a, SHIFT, .v = v, .op = DYNC__O_LSR, .to = c[2], .x = m[0], .n = 32);
        DYNC__A(a, OP2, .v = v, .op = DYNC__P_xor_, .to = c[2], .x = c[2], .y = dync__a_reg(c[3]));
        DYNC__A(a, OP2, .v = v, .op = DYNC__P_xor_, .to = c[2], .x = c[2],
                .y = dync__gen_at(g->keys + 128 * k + 64));
        int t = c[1];
        c[1] = m[1];
        m[1] = t;
        t = c[3];
        c[3] = m[0];
        m[0] = t;
    }
    int r = dync__gen_def(g, i);
    if (in->type == DYNC_F64) {
        dync__gen_unit(g, r, c[first], c[first + 1]);
        if (other < 0) return;
        if (g->pool_at[other] < 0) g->pool_at[other] = dync__gen_frame(g, 64 * DYNC__GEN_UNROLL);
        dync__gen_unit(g, m[0], c[2 - first], c[3 - first]);
        DYNC__A(a, STORE, .v = v, .x = m[0], .y = dync__gen_at(g->pool_at[other] + 64 * g->u));
        return;
    }
    DYNC__A(a, SHIFT, .v = v, .op = DYNC__P_shl, .to = c[0], .x = c[0], .n = 32);
    DYNC__A(a, SHIFT, .v = v, .op = DYNC__O_LSR, .to = c[0], .x = c[0], .n = 40);
    if (!a->t->refuses(a->t, DYNC__P_cast, DYNC_I64, DYNC_F32)) {
        DYNC__A(a, CONVERT, .v = f, .to = r, .y = dync__a_reg(c[0]), .n = DYNC_I64);
    } else {
        DYNC__A(a, CONVERT, .v = dync__gen_vt(g, DYNC_I32), .to = c[0], .y = dync__a_reg(c[0]),
                .n = DYNC_I64);
        DYNC__A(a, CONVERT, .v = f, .to = r, .y = dync__a_reg(c[0]), .n = DYNC_I32);
    }
    DYNC__A(a, OP2, .v = f, .op = DYNC__P_mul, .to = r, .x = r,
            .y = dync__gen_const(g, DYNC_F32, 1.0 / 16777216.0, 0));
}
#endif
