/* codegen/after.h: what is done to the accumulators of a tile (a matrix product's, a convolution's)
 * before they are stored. Before gen_after.c, which emits it inside the tile; runtime/ makes it of
 * the loops that follow a kernel call.
 *
 * A list of primitives of loop.h: value i is entry i, value 0 the accumulator, the last one the
 * result. Lists are compared by their bytes: they are part of what a tile's code is found by. */
#ifndef DYNC__AFTER_H
#define DYNC__AFTER_H
#include "../loop/loop.h"

/* MORE: operands of a list behind a matrix product, beside what is added to it. */
enum { DYNC__AFTER_OPS = 20, DYNC__AFTER_SOURCES = 8, DYNC__AFTER_MORE = 2 };
/* type: of the value; source: of a load, the number of the operand; same: it is one element for
 * a row of the tile, else as many as that has columns; imm: a constant's. */
typedef struct dync__after_op {
    uint8_t prim, type;
    int8_t arg[3], source;
    uint8_t same, none;
    union {
        int64_t i;
        double f;
    } imm;
} dync__after_op;
typedef struct dync__after {
    int32_t n, n_sources;
    dync__after_op op[DYNC__AFTER_OPS];
} dync__after;
#endif
