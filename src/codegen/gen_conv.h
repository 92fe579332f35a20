/* codegen/gen_conv.h: one tile of conv_code.h on its way to machine code, shared by gen_conv.c,
 * gen_wino.c and conv_code.c. After gen.h. */
#ifndef DYNC__GEN_CONV_H
#define DYNC__GEN_CONV_H
#include "conv_code.h"
#include "gen.h"
#if DYNC__JIT

/* Accumulators stand in the first registers. T1: the input of the tile, T0: where it goes. */
typedef struct dync__ct {
    dync__gen_tile tile; /* first */
    dync__asm *a;
    dync__gen *g; /* of what follows the sums */
    const dync__ctile *t;
    dync__vt v;
    int wreg, breg, block; /* registers: weights, input; block: of the accumulator at hand */
    /* what verbs may use for themselves, in turn; while `follows`, g gives registers */
    int8_t spare[2];
    uint8_t given;
    bool follows;
} dync__ct;
enum { DYNC__CT_SAVED = 1 << DYNC__G_A0 | 1 << DYNC__G_T2 };

DYNC__INLINE dync__place dync__ct_arg(int word) { return dync__a_mem(DYNC__G_ARGS, 8 * word); }
DYNC__INLINE int dync__ct_bytes(const dync__ct *c) { return 4 * c->t->lanes; } /* of a vector */
DYNC__INLINE void dync__ct_load(dync__ct *c, int to, dync__place y)
{
    DYNC__A(c->a, LOAD, .v = c->v, .to = to, .y = y);
}
DYNC__INLINE void dync__ct_put(dync__ct *c, int x, dync__place y)
{
    DYNC__A(c->a, STORE, .v = c->v, .x = x, .y = y);
}
DYNC__INLINE void dync__ct_op2(dync__ct *c, int op, int to, int x, dync__place y)
{
    DYNC__A(c->a, OP2, .op = op, .v = c->v, .to = to, .x = x, .y = y);
}
DYNC__INLINE void dync__ct_spare(dync__ct *c, int first, int second)
{
    c->spare[0] = (int8_t)first;
    c->spare[1] = (int8_t)second;
    c->given = 0;
}

/* The list that follows, on register reg: that of the result. */
DYNC__INLINE int dync__ct_follow(dync__ct *c, int reg, uint32_t taken)
{
    c->follows = true;
    int result = dync__gen_after(c->g, reg, taken);
    c->follows = false;
    return result;
}

/* ---- gen_conv.c ---- */
DYNC__FN int dync__ct_scratch(dync__asm *, int class_); /* for verbs */
DYNC__FN dync__place dync__ct_source(const dync__gen_tile *, int source);
DYNC__FN void dync__ct_emit(dync__ct *);
/* ---- gen_wino.c ---- */
DYNC__FN void dync__cw_emit(dync__ct *);
/* ---- gen_planes.c ---- */
/* The whole function of a move between planes and blocks of t->K channels. */
DYNC__FN void dync__cb_emit(dync__ct *, bool to_blocks);
#endif
#endif
