/* cuda/sort.h: a sorting kernel in the making. */
#ifndef DYNC__CUDA_SORT_H
#define DYNC__CUDA_SORT_H
#include "../dync.in.h"
#include "tile.h"

enum { DYNC__SK_TILE_BYTES = 32 * 1024, DYNC__SK_THREADS = 512, DYNC__SK_PIECE = 8 };

typedef struct dync__sk {
    dync__cuda_tile t;
    const dync__operand *x, *values, *index;
    int dim, words, compute;
    bool descending;
    /* tile: items sorted at a time, a power of two; tiles of a line */
    int64_t lines, length, tile, tiles;
} dync__sk;

/* sort.c */
DYNC__FN void dync__sk_line(dync__sk *s, const char *name, const dync__operand *o, int buffer);
DYNC__FN void dync__sk_move(dync__sk *s, const char *guard, bool store, const char *space,
                            const char *name, const char *at);
DYNC__FN void dync__sk_item(dync__sk *s, const char *name);
DYNC__FN void dync__sk_before(dync__sk *s, const char *p, const char *a, const char *b);
DYNC__FN void dync__sk_result(dync__sk *s, const char *item, const char *to, const char *p);
DYNC__FN void dync__sk_scratch_at(dync__sk *s, const char *half, const char *place);
DYNC__FN void dync__sk_tiles(dync__sk *s);
#endif
