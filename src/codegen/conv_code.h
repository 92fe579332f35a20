/* codegen/conv_code.h: machine code of convolutions and pooling: one register tile at a time. Made
 * by gen_conv.c and gen_wino.c, kept by conv_code.c. Before kernel/conv_plan.c, which cuts kernels
 * into them.
 *
 * A tile is P places times B vectors of accumulators, kept over the whole sum:
 *   ac c[p][b] op= in[p at a, tap, k] * w[b at a, tap, k] a < NA, tap < NTAPS (a table of byte
 *     offsets), k < K
 * What `in` is makes the kernel: one channel of a pixel broadcast over output channels
 * (convolution and its data gradient: k runs over channels; weight gradient: k over pixels, p
 * over channels), or a vector of channels (depthwise, pooling). Distances within a row of pixels
 * are baked; addresses, counts and what the size of a picture decides come in the argument
 * block, so that tiles of one row at a time are those of every picture. Sources: oneDNN's direct
 * convolutions; arXiv:1906.06440. */
#ifndef DYNC__CONV_CODE_H
#define DYNC__CONV_CODE_H
#include "after.h"
#include "codemem.h"
#include "asm.h"
enum {
    DYNC__CT_PLACES = 28,
    DYNC__CT_FREE = 4, /* registers that accumulators leave */
    DYNC__CT_ROUND = DYNC__CT_UNROLL / 2
};
/* DOT: BROADCAST of fours of bytes, u8 of the input by i8 of the weights, with sums in i32. PAIRS:
 * of pairs of bf16, with sums in f32. */
/* WHERE: MAX, and where it was found: the number of its tap (the w of dync__ctap), to which the
 * place's own is added. */
/* TURN: no sum but a Winograd transform, M X M^T of a small square of vectors X: w_b m * 4 + which,
 * in_at rows and columns of X apart; X and weights to a square out_at[0], [1] apart; results to
 * places out_at of which `across` columns of K rows are stored; TAPS: room. */
typedef enum {
    DYNC__CT_BROADCAST,
    DYNC__CT_DOT,
    DYNC__CT_PAIRS,
    DYNC__CT_VECTOR,
    DYNC__CT_MAX,
    DYNC__CT_SUM,
    DYNC__CT_WHERE,
    DYNC__CT_TRANSFORM
} dync__ct_op;
typedef enum { DYNC__CW_IN, DYNC__CW_WEIGHT, DYNC__CW_OUT } dync__cw_which;
enum { DYNC__CW_ROOM = 36 * 64 };
typedef enum {
    DYNC__CT_ADD = 1 /* to what is there */,
    DYNC__CT_BIAS = 2,
    DYNC__CT_DIVIDE = 4 /* by the number at BIAS */,
    DYNC__CT_PLANES = 8, /* channel k + 1 lies A_K after k; without it, in_k */
    /* weights of block b + 1 lie W_B after those of b, without it w_b; K 0: ROUNDS times
     * DYNC__CT_ROUND, and REST more */
    DYNC__CT_APART = 16
} dync__ct_flags;
/* All that the code depends on; zeroed before it is filled, as it is compared by bytes. Byte
 * distances. */
typedef struct dync__ctile {
    /* level: of the target; lanes: of a vector. across: WHERE: places of a row; w_k and w_b:
     * numbers between rows, columns. out_b 0: it is OUT_B of the argument block */
    int8_t level, lanes, op, flags, P, B, across;
    dync__after after; /* its loads: vectors of channels */
    int32_t K, in_k, w_k, w_b, out_b;
    int32_t in_at[DYNC__CT_PLACES], out_at[DYNC__CT_PLACES];
} dync__ctile;
/* The argument block, 64-bit words. TILES tiles follow each other T_IN and T_OUT apart; the code
 * counts in the block itself. WHERE: BIAS is the distance from OUT to where numbers go, POST the
 * number of the first place, POST + 1 what a tile adds to it. */
enum {
    DYNC__CA_IN,
    DYNC__CA_W,
    DYNC__CA_OUT,
    DYNC__CA_BIAS,
    DYNC__CA_TAPS,
    DYNC__CA_NTAPS,
    DYNC__CA_NA,
    DYNC__CA_A_IN,
    DYNC__CA_A_W,
    DYNC__CA_TILES,
    DYNC__CA_T_IN,
    DYNC__CA_T_OUT,
    DYNC__CA_A_K,
    DYNC__CA_OUT_B,
    DYNC__CA_W_B,
    DYNC__CA_ROUNDS,
    DYNC__CA_REST,
    DYNC__CA_POST,
    DYNC__CA_WORDS = DYNC__CA_POST + DYNC__AFTER_SOURCES
};
typedef struct dync__ctap {
    int64_t in, w;
} dync__ctap;
/* V channels of a line of n >= 4 pixels from planes into blocks of V channels (or back); Q quads of
 * channels are moved. */
enum {
    DYNC__CB_FROM,
    DYNC__CB_TO,
    DYNC__CB_PLANE /* bytes from plane to plane */,
    DYNC__CB_N,
    DYNC__CB_QUADS,
    DYNC__CB_WORDS
};
typedef void(DYNC__CODE *dync__ccode)(int64_t *args);
#if DYNC__JIT
/* Code that somebody holds. Forms are shared; of those that nobody holds some are kept for the next
 * who asks. */
typedef struct dync__cheld {
    dync__arena *arena;
    uint32_t epoch;
    DYNC__VEC(void *) form;
} dync__cheld;
/* Code for it, good until dync__ctile_drop; NULL where there is none to be had (no executable
 * memory, no vectors). */
DYNC__FN dync__ccode dync__ctile_code(dync__cheld *, const dync__ctile *);
DYNC__FN dync__ccode dync__cblock_code(dync__cheld *, int V, int64_t n, bool to_blocks);
DYNC__FN void dync__ctile_drop(dync__cheld *);
#endif
#endif
