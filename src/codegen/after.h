/* codegen/after.h: what is done to the accumulators of a tile (a matrix product's, a convolution's)
 * before they are stored. Before x86_after.c, which emits it inside the tile; runtime/ makes it of
 * the loops that follow a kernel call.
 *
 * A list of primitives of loop.h: value i is entry i, value 0 the accumulator, the last one the
 * result. Lists are compared by their bytes: they are part of what a tile's code is found by. */
#ifndef DYNC__AFTER_H
#define DYNC__AFTER_H
#include "../loop/loop.h"

enum { DYNC__AFTER_OPS = 20, DYNC__AFTER_SOURCES = 8 };
/* type: of the value; source: of a load, the number of the operand; imm: a constant's. */
typedef struct dync__after_op {
    uint8_t prim, type;
    int8_t arg[3], source, none[2];
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
