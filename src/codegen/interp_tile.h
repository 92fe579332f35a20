/* codegen/interp_tile.h: arithmetic on vectors of any length: what the tile interpreter's steps do,
 * and what copies and scatters (kernel/) do with theirs. */
#ifndef DYNC__INTERP_TILE_H
#define DYNC__INTERP_TILE_H
#include "../loop/loop.h"

enum { DYNC__TILE_LANES = 32 };
enum {
    DYNC__TILE_MAXSEL = DYNC__N_PRIMS, /* a < b ? b : a */
    DYNC__TILE_MINSEL                  /* b < a ? b : a */
};

/* Computes so many blocks. op: what, of the function's own choices. scalars: bits 0, 1, 2 say that
 * a, b, c are one block for all, usually of equal elements; bit 3, of two operands, that d is. */
typedef void (*dync__tile_fn)(int op, void *d, const void *a, const void *b, const void *c,
                              dync__size blocks, int scalars);
/* One operation, d[i] = f(a[i], b[i], c[i]): made by dync__tile_find and its like, run by
 * dync__tile_run. fn NULL: there is nothing to do, or no such operation. */
typedef struct dync__tile {
    dync__tile_fn fn;
    uint16_t op;
    uint8_t bytes[4]; /* of an element of d, a, b and c; 0: not by lanes */
} dync__tile;
/* On n elements. d may be a, b or c where elements are of one size; other overlap is not allowed.
 * Only operations of two and three operands take scalars. */
DYNC__FN void dync__tile_run(const dync__tile *, void *d, const void *a, const void *b,
                             const void *c, dync__size n, int scalars);
/* DYNC__TILE_LANES times the scalar of 1, 2, 4 or 8 bytes */
DYNC__FN void dync__tile_spread(const void *scalar, int bytes, uint64_t *to);

/* lanes[k] = lanes[k] . lanes[k + half], for smaller halves down to one lane: the first becomes the
 * result of 2 * half lanes. kind: SUM PROD MAX MIN of numbers, ANY ALL of BOOL. */
DYNC__FN void dync__tile_fold(int kind, int type, void *lanes, int half);

/* isa: 0 baseline, 1 AVX2 and FMA, 2 AVX-512; -1: one element at a time (tile_each.c) */
DYNC__FN dync__tile dync__tile_find(int isa, int prim, int operand_type);
DYNC__FN dync__tile dync__tile_cast(int isa, int from, int to);
DYNC__FN dync__tile dync__tile_widen(int isa, int storage); /* storage dtype to compute type */
DYNC__FN dync__tile dync__tile_narrow(int isa, int storage);
DYNC__FN dync__tile dync__tile_wrap(int isa, int storage);
/* tile_each.c: the function of every tile, what it takes as `op`, and dync__tile_fold. Operands and
 * result may be of storage dtypes; of `wrap`, `to` is what the value goes through. */
DYNC__FN void dync__tile_each(int op, void *d, const void *a, const void *b, const void *c,
                              dync__size blocks, int scalars);
DYNC__FN int dync__tile_each_op(int prim, int from, int to);
DYNC__FN void dync__tile_each_fold(int prim, int type, void *lanes, int half);
/* a: I64 numbers of draws; b: uint64_t {seed, offset}; kind: DYNC__DRAW_* */
DYNC__FN dync__tile dync__tile_random(int type, int kind);
#endif
