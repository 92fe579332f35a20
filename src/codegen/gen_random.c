/* codegen/gen_random.c: random numbers, which no instruction draws and verbs must spell out at
 * length. After gen_load.c, before gen_prim.c. */
#include "../dync.in.h"
#include "gen.h"
DYNC__LEAN
#if DYNC__JIT

/* Philox4x32-10 with each 32-bit word in a 64-bit lane; what stands above the word is never looked
 * at. Numbers of 32 bits (base/base.h) of an index that goes up by 1 along the lanes come in groups
 * of 32, of eight blocks, as they are asked for: a pool in the frame has the last few groups in a
 * ring, each twice, so that a vector is one load wherever it begins. Other numbers have a block
 * each. */
enum {
    DYNC__POOL_GROUPS = 4, /* at most: those that DYNC__GEN_UNROLL vectors of 16 lanes meet */
    DYNC__POOL_LAST = 8 *
                      DYNC__POOL_GROUPS,  /* after which groups a ring has: the last one wanted */
    DYNC__POOL_AT = DYNC__POOL_LAST + 8,  /* where in the ring the first vector is */
    DYNC__POOL_BLOCK = DYNC__POOL_AT + 8, /* the first block of the group at hand */
    DYNC__POOL_RINGS = 64,
    DYNC__POOL_RING = 2 * DYNC__POOL_GROUPS * 128, /* one of each kind of draw */
    DYNC__POOL_REGS = 10
};

/* As many as a register has room for. */
static dync__vt dync__gen_blocks(const dync__gen *g)
{
    return dync__vt_of(DYNC_I64, g->a.t->vector_bytes / 8);
}

DYNC__FN void dync__gen_random_keys(dync__gen *g)
{
    dync__asm *a = &g->a;
    dync__vt v = dync__gen_blocks(g);
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
    DYNC__A(a, SET, .to = DYNC__G_T0, .n = -1); /* no group has this number */
    for (int i = 0; i < g->b->k->inst.n; i++) {
        int at = g->b->needed[i] ? dync__gen_pool_of(g, i) : -1;
        if (at < 0 || g->pool_at[at] >= 0) continue;
        g->pool_at[at] = dync__gen_frame(g, DYNC__POOL_RINGS + 3 * DYNC__POOL_RING);
        for (int n = 0; n < DYNC__POOL_GROUPS; n++)
            DYNC__A(a, PUT, .x = DYNC__G_T0, .y = dync__gen_at(g->pool_at[at] + 8 * n));
    }
}

/* Registers of a draw: the block's words, then those of two products; what to multiply by; for
 * verbs in a pool. */
typedef struct dync__gen_draw {
    dync__vt v;
    int word[4], product[2];
    dync__place by[2];
    uint32_t spare; /* 0: verbs ask as ever */
} dync__gen_draw;

/* The verb before is done with what it asked for. */
static void dync__gen_spare(dync__gen *g, const dync__gen_draw *d)
{
    if (!d->spare) return;
    g->free_regs = d->spare;
    g->locked = g->temps = 0;
}

/* words from the first two on; kind: of blocks */
static void dync__gen_rounds(dync__gen *g, dync__gen_draw *d, int kind)
{
    dync__asm *a = &g->a;
    int *c = d->word, *m = d->product;
    DYNC__A(a, SHIFT, .v = d->v, .op = DYNC__O_LSR, .to = c[1], .x = c[0], .n = 32);
    if (kind)
        DYNC__A(a, SPREAD, .v = d->v, .to = c[2], .y = dync__a_constant(a, (uint64_t)kind, 8));
    else
        DYNC__A(a, ZERO, .v = d->v, .to = c[2]);
    DYNC__A(a, ZERO, .v = d->v, .to = c[3]);
    for (int round = 0; round < 10; round++) {
        for (int p = 0; p < 2; p++) {
            dync__gen_spare(g, d);
            DYNC__A(a, OP2, .v = d->v, .op = DYNC__O_MUL32, .to = m[p], .x = c[2 * p],
                    .y = d->by[p]);
        }
        for (int p = 0; p < 2; p++) {
            int to = c[2 * p], t = c[2 * p + 1], key = g->keys + 128 * round + 64 * p;
            DYNC__A(a, SHIFT, .v = d->v, .op = DYNC__O_LSR, .to = to, .x = m[1 - p], .n = 32);
            DYNC__A(a, OP2, .v = d->v, .op = DYNC__P_xor_, .to = to, .x = to, .y = dync__a_reg(t));
            dync__gen_spare(g, d);
            DYNC__A(a, OP2, .v = d->v, .op = DYNC__P_xor_, .to = to, .x = to,
                    .y = dync__gen_at(key));
            c[2 * p + 1] = m[1 - p];
            m[1 - p] = t;
        }
    }
}

/* ---- 32 bits, from a pool -------------------------------------------------------------------- */

/* Where in the frame the ring of a kind begins. */
static int dync__gen_ring(const dync__gen *g, int at, int kind)
{
    int ring = kind == DYNC__DRAW_UNIFORM ? 0 : kind == DYNC__DRAW_FIRST ? 1 : 2;
    return g->pool_at[at] + DYNC__POOL_RINGS + ring * DYNC__POOL_RING;
}

/* Is a draw of this kind from the pool of index `at`? */
static bool dync__gen_draws(const dync__gen *g, int at, int kind)
{
    bool any = false;
    for (int i = at + 1; i < g->b->k->inst.n && !any; i++)
        any = g->b->needed[i] && dync__gen_pool_of(g, i) == at &&
              dync__gen_inst(g, i)->imm.i == kind;
    return any;
}

/* Word w of blocks from `from` on, for draws of a kind, to both places of the group that T0 says
 * (in bytes). */
static void dync__gen_pool_put(dync__gen *g, dync__gen_draw *d, int at, int kind, int w, int from)
{
    dync__asm *a = &g->a;
    dync__vt v = dync__vt_of(DYNC_I32, d->v.lanes);
    bool pair = kind != DYNC__DRAW_UNIFORM;
    int x = d->product[0];
    dync__gen_spare(g, d);
    DYNC__A(a, CONVERT, .v = v, .to = x, .y = dync__a_reg(d->word[w]), .n = DYNC_I64);
    for (int own = pair ? w & 2 : w; own <= (pair ? w | 1 : w); own++) {
        int place = dync__gen_ring(g, at, kind) + own * 32 + from * 4;
        if (kind == DYNC__DRAW_SECOND && own & 1) {
            dync__gen_spare(g, d);
            DYNC__A(a, OP2, .v = v, .op = DYNC__P_sub, .to = d->product[1], .x = x,
                    .y = dync__a_constant(a, 1u << 30, 4));
            x = d->product[1];
        }
        for (int twice = 0; twice < 2; twice++)
            DYNC__A(a, STORE, .v = v, .x = x,
                    .y = dync__a_index(DYNC__G_FRAME, DYNC__G_T0, 1,
                                       place + twice * DYNC__POOL_RING / 2));
    }
}

/* The group whose first block stands in memory, of uniform or of normal numbers, to where T0
 * says. */
static void dync__gen_pool_fill(dync__gen *g, dync__gen_draw *d, int at, bool normal)
{
    dync__asm *a = &g->a;
    for (int from = 0; from < 8; from += d->v.lanes) {
        uint64_t numbers[8] = {0};
        for (int l = 0; l < d->v.lanes; l++) numbers[l] = (uint64_t)(from + l);
        DYNC__A(a, SPREAD, .v = d->v, .to = d->word[0],
                .y = dync__gen_at(g->pool_at[at] + DYNC__POOL_BLOCK));
        dync__gen_spare(g, d);
        DYNC__A(a, OP2, .v = d->v, .op = DYNC__P_add, .to = d->word[0], .x = d->word[0],
                .y = dync__a_constant64(a, numbers));
        dync__gen_rounds(g, d, normal ? 2 : 1);
        for (int w = 0; w < 4; w++) {
            int kind = !normal ? DYNC__DRAW_UNIFORM : w & 1 ? DYNC__DRAW_SECOND : DYNC__DRAW_FIRST;
            if (dync__gen_draws(g, at, kind)) dync__gen_pool_put(g, d, at, kind, w, from);
        }
    }
}

/* The same in registers of its own, as not every vector comes by here: what they hold is saved, and
 * verbs get two of them whatever they want. */
static void dync__gen_pool_refill(dync__gen *g, int at)
{
    dync__asm *a = &g->a;
    dync__vt whole = dync__vt_of(DYNC_I32, g->a.t->vector_bytes / 4);
    uint32_t free_regs = g->free_regs, locked = g->locked, temps = g->temps,
             could = free_regs & ~locked;
    int reg[DYNC__POOL_REGS], n = 0, save = dync__gen_frame(g, 64 * DYNC__POOL_REGS);
    for (int held = 0; held < 2; held++)
        for (int r = 0; r < g->n_regs && n < DYNC__POOL_REGS; r++)
            if ((could >> r & 1) != (uint32_t)held) reg[n++] = r;
    for (int k = 0; k < n; k++)
        if (!(could >> reg[k] & 1))
            DYNC__A(a, STORE, .v = whole, .x = reg[k], .y = dync__gen_at(save + 64 * k));
    dync__gen_draw d = {.v = dync__gen_blocks(g),
                        .word = {reg[0], reg[1], reg[2], reg[3]},
                        .product = {reg[4], reg[5]},
                        .by = {dync__a_reg(reg[6]), dync__a_reg(reg[7])},
                        .spare = 1u << reg[8] | 1u << reg[9]};
    DYNC__A(a, SPREAD, .v = d.v, .to = reg[6], .y = dync__a_constant(a, 0xd2511f53u, 8));
    DYNC__A(a, SPREAD, .v = d.v, .to = reg[7], .y = dync__a_constant(a, 0xcd9e8d57u, 8));
    if (dync__gen_draws(g, at, DYNC__DRAW_UNIFORM)) dync__gen_pool_fill(g, &d, at, false);
    if (dync__gen_draws(g, at, DYNC__DRAW_FIRST) || dync__gen_draws(g, at, DYNC__DRAW_SECOND))
        dync__gen_pool_fill(g, &d, at, true);
    for (int k = 0; k < n; k++)
        if (!(could >> reg[k] & 1))
            DYNC__A(a, LOAD, .v = whole, .to = reg[k], .y = dync__gen_at(save + 64 * k));
    g->free_regs = free_regs;
    g->locked = locked;
    g->temps = temps;
}

/* Groups for all U vectors. */
static void dync__gen_pool_want(dync__gen *g, int at)
{
    dync__asm *a = &g->a;
    int pool = g->pool_at[at], next = dync__a_label(a), there = dync__a_label(a),
        base = dync__gen_base(g, g->stream_of[at]);
    dync__place group = dync__a_reg(DYNC__G_T2), slot = dync__a_reg(DYNC__G_T0);
    DYNC__A(a, ADDRESS, .to = DYNC__G_T1, .y = dync__a_index(base, DYNC__G_LANE, 1, 0));
    DYNC__A(a, ADD, .to = DYNC__G_T1, .y = dync__gen_arg(8 * DYNC__GW_OFFSET));
    DYNC__A(a, ADDRESS, .to = DYNC__G_T0, .y = dync__a_mem(DYNC__G_T1, g->U * g->V - 1));
    DYNC__A(a, SHR_N, .y = slot, .n = 5);
    DYNC__A(a, PUT, .x = DYNC__G_T0, .y = dync__gen_at(pool + DYNC__POOL_LAST));
    DYNC__A(a, GET, .to = DYNC__G_T2, .y = dync__a_reg(DYNC__G_T1));
    DYNC__A(a, SHR_N, .y = group, .n = 5);
    DYNC__A(a, AND_N, .y = dync__a_reg(DYNC__G_T1), .n = 32 * DYNC__POOL_GROUPS - 1);
    DYNC__A(a, SHL_N, .y = dync__a_reg(DYNC__G_T1), .n = 2);
    DYNC__A(a, PUT, .x = DYNC__G_T1, .y = dync__gen_at(pool + DYNC__POOL_AT));
    DYNC__A(a, LABEL, .label = next);
    DYNC__A(a, GET, .to = DYNC__G_T0, .y = group);
    DYNC__A(a, AND_N, .y = slot, .n = DYNC__POOL_GROUPS - 1);
    DYNC__A(a, JUMP_IF, .op = DYNC__IF_EQ, .x = DYNC__G_T2,
            .y = dync__a_index(DYNC__G_FRAME, DYNC__G_T0, 8, pool), .label = there);
    DYNC__A(a, PUT, .x = DYNC__G_T2, .y = dync__a_index(DYNC__G_FRAME, DYNC__G_T0, 8, pool));
    DYNC__A(a, GET, .to = DYNC__G_T1, .y = group);
    DYNC__A(a, SHL_N, .y = dync__a_reg(DYNC__G_T1), .n = 3);
    DYNC__A(a, PUT, .x = DYNC__G_T1, .y = dync__gen_at(pool + DYNC__POOL_BLOCK));
    DYNC__A(a, SHL_N, .y = slot, .n = 7);
    dync__gen_pool_refill(g, at);
    DYNC__A(a, LABEL, .label = there);
    DYNC__A(a, ADD_N, .y = group, .n = 1);
    DYNC__A(a, JUMP_IF, .op = DYNC__IF_LE, .x = DYNC__G_T2,
            .y = dync__gen_at(pool + DYNC__POOL_LAST), .label = next);
}

/* The first draw of an index in this list asks for all. */
static void dync__gen_from_pool(dync__gen *g, int i, int at)
{
    const dync__gen_list *l = &g->list[g->cur];
    bool asked = g->u > 0;
    for (int p = 0; p < g->pos && !asked; p++)
        asked = dync__gen_pool_of(g, l->at[p]) == at &&
                !(g->b->keep[l->at[p]] && dync__lp_list(g->b, l->at[p]) != g->cur);
    if (!asked) dync__gen_pool_want(g, at);
    int r = dync__gen_def(g, i), kind = (int)dync__gen_inst(g, i)->imm.i & 3;
    DYNC__A(&g->a, GET, .to = DYNC__G_T0, .y = dync__gen_at(g->pool_at[at] + DYNC__POOL_AT));
    DYNC__A(&g->a, LOAD, .v = dync__gen_vt(g, DYNC_I32), .to = r,
            .y = dync__a_index(DYNC__G_FRAME, DYNC__G_T0, 1,
                               dync__gen_ring(g, at, kind) + 4 * g->u * g->V));
}

/* ---- a block for each number ----------------------------------------------------------------- */

/* 53 of the 64 bits in lo and hi as a number in [0, 1), in `to`; the words' upper halves are of no
 * account. */
static void dync__gen_unit(dync__gen *g, const dync__gen_draw *draw, int to, int lo, int hi)
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
        dync__gen_spare(g, draw);
        DYNC__A(a, OP2, .v = v, .op = DYNC__P_or_, .to = lo, .x = lo, .y = magic);
        dync__gen_spare(g, draw);
        DYNC__A(a, OP2, .v = v, .op = DYNC__P_or_, .to = hi, .x = hi, .y = magic);
        dync__gen_spare(g, draw);
        DYNC__A(a, OP2, .v = d, .op = DYNC__P_sub, .to = lo, .x = lo, .y = magic);
        dync__gen_spare(g, draw);
        DYNC__A(a, OP2, .v = d, .op = DYNC__P_sub, .to = hi, .x = hi, .y = magic);
        dync__gen_spare(g, draw);
        DYNC__A(a, OP2, .v = d, .op = DYNC__P_mul, .to = hi, .x = hi,
                .y = dync__gen_const(g, DYNC_F64, 2097152.0, 0));
        DYNC__A(a, OP2, .v = d, .op = DYNC__P_add, .to = to, .x = hi, .y = dync__a_reg(lo));
    }
    dync__gen_spare(g, draw);
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

/* c[0] or c[2], c[1] or c[3], by bit `bit` of n: to c[0], c[1]; or (n_pairs 1) c[0] or c[1] to
 * c[0]. t: to use. */
static void dync__gen_choose(dync__gen *g, const dync__gen_draw *d, int n, int bit, int n_pairs,
                             int t)
{
    dync__asm *a = &g->a;
    int mask = d->product[0], u = d->product[1];
    DYNC__A(a, SHIFT, .v = d->v, .op = DYNC__O_LSR, .to = t, .x = n, .n = bit);
    dync__gen_spare(g, d);
    DYNC__A(a, OP2, .v = d->v, .op = DYNC__P_and_, .to = t, .x = t, .y = dync__a_constant(a, 1, 8));
    DYNC__A(a, ZERO, .v = d->v, .to = mask);
    DYNC__A(a, OP2, .v = d->v, .op = DYNC__P_sub, .to = mask, .x = mask, .y = dync__a_reg(t));
    for (int k = 0; k < n_pairs; k++) {
        int x = d->word[k], y = d->word[k + n_pairs];
        DYNC__A(a, OP2, .v = d->v, .op = DYNC__P_xor_, .to = u, .x = x, .y = dync__a_reg(y));
        DYNC__A(a, OP2, .v = d->v, .op = DYNC__P_and_, .to = u, .x = u, .y = dync__a_reg(mask));
        DYNC__A(a, OP2, .v = d->v, .op = DYNC__P_xor_, .to = x, .x = x, .y = dync__a_reg(u));
    }
}

/* dync__rng_word, lane by lane, in word[0]; n: the numbers. */
static void dync__gen_word(dync__gen *g, dync__gen_draw *d, int kind, int n, int t)
{
    dync__asm *a = &g->a;
    dync__vt v = d->v;
    int *c = d->word;
    DYNC__A(a, SHIFT, .v = v, .op = DYNC__O_LSR, .to = t, .x = n, .n = 5);
    DYNC__A(a, SHIFT, .v = v, .op = DYNC__P_shl, .to = t, .x = t, .n = 3);
    dync__gen_spare(g, d);
    DYNC__A(a, OP2, .v = v, .op = DYNC__P_and_, .to = c[0], .x = n, .y = dync__a_constant(a, 7, 8));
    DYNC__A(a, OP2, .v = v, .op = DYNC__P_or_, .to = c[0], .x = c[0], .y = dync__a_reg(t));
    dync__gen_rounds(g, d, dync__draw_block(kind));
    dync__gen_choose(g, d, n, 4, 2, t);
    if (kind == DYNC__DRAW_UNIFORM) dync__gen_choose(g, d, n, 3, 1, t);
    if (kind != DYNC__DRAW_SECOND) return;
    dync__gen_spare(g, d);
    DYNC__A(a, OP2, .v = v, .op = DYNC__P_and_, .to = t, .x = n, .y = dync__a_constant(a, 8, 8));
    DYNC__A(a, SHIFT, .v = v, .op = DYNC__P_shl, .to = t, .x = t, .n = 27);
    DYNC__A(a, OP2, .v = v, .op = DYNC__P_sub, .to = c[0], .x = c[1], .y = dync__a_reg(t));
}

/* What a block each gives, in registers (DYNC__DRAW_REGS) that are asked for at once. */
static void dync__gen_alone(dync__gen *g, int i, int other)
{
    const dync__inst *in = dync__gen_inst(g, i);
    dync__asm *a = &g->a;
    dync__vt v = dync__gen_vt(g, DYNC_I64);
    dync__gen_draw d = {
        .v = v, .by = {dync__a_constant(a, 0xd2511f53u, 8), dync__a_constant(a, 0xcd9e8d57u, 8)}};
    bool word = in->type == DYNC_I32;
    int x = dync__gen_src(g, in->arg[0]), first = (int)in->imm.i, *c = d.word, n, t;
    for (int k = 0; k < 4; k++) c[k] = dync__gen_temp(g);
    for (int k = 0; k < 2; k++) d.product[k] = dync__gen_temp(g);
    n = word ? dync__gen_temp(g) : c[0];
    t = word ? dync__gen_temp(g) : -1;
    int r = dync__gen_def(g, i);
    /* where there are 16, verbs take operands from memory */
    for (int k = 0; k < 2 && a->t->n_vectors >= 32; k++) d.spare |= 1u << dync__gen_temp(g);
    uint32_t free_regs = g->free_regs, locked = g->locked, temps = g->temps;
    dync__gen_spare(g, &d);
    DYNC__A(a, SPREAD, .v = v, .to = n, .y = dync__gen_arg(8 * DYNC__GW_OFFSET));
    DYNC__A(a, OP2, .v = v, .op = DYNC__P_add, .to = n, .x = n, .y = dync__a_reg(x));
    if (word) {
        dync__gen_word(g, &d, first, n, t);
        d.spare = 1u << n | 1u << t;
        dync__gen_spare(g, &d);
        DYNC__A(a, CONVERT, .v = dync__gen_vt(g, DYNC_I32), .to = r, .y = dync__a_reg(c[0]),
                .n = DYNC_I64);
    } else {
        dync__gen_rounds(g, &d, 0);
        dync__gen_unit(g, &d, r, c[first], c[first + 1]);
    }
    if (other >= 0) {
        if (g->pool_at[other] < 0) g->pool_at[other] = dync__gen_frame(g, 64 * DYNC__GEN_UNROLL);
        dync__gen_unit(g, &d, d.product[0], c[2 - first], c[3 - first]);
        DYNC__A(a, STORE, .v = v, .x = d.product[0],
                .y = dync__gen_at(g->pool_at[other] + 64 * g->u));
    }
    g->free_regs = free_regs;
    g->locked = locked;
    g->temps = temps;
}

DYNC__FN void dync__gen_uniform(dync__gen *g, int i)
{
    int pool = dync__gen_pool_of(g, i);
    if (pool >= 0)
        dync__gen_from_pool(g, i, pool);
    else if (g->pool_at[i] >= 0)
        DYNC__A(&g->a, LOAD, .v = dync__gen_vt(g, DYNC_I64), .to = dync__gen_def(g, i),
                .y = dync__gen_at(g->pool_at[i] + 64 * g->u));
    else
        dync__gen_alone(g, i, dync__gen_other_draw(g, i));
}
#endif
