/* codegen/interp.h: a kernel as the tile interpreter runs it. interp.c makes it with the files of
 * interp_build.h, interp_run.c runs it with those of interp_run.h. */
#ifndef DYNC__INTERP_H
#define DYNC__INTERP_H
#include "code.h"
#include "interp_tile.h"
#include "plan_loops.h"

/* ---- compiled form (made by interp.c, run by interp_run.c): tiles and levels are those of
 * plan_loops.h */
typedef struct dync__interp_nest {
    int32_t at, n;
} dync__interp_nest;
/* Where a tile starts, as a linear index: which of the run's counters counts. */
enum {
    DYNC__FROM_ZERO,
    DYNC__FROM_ROW,
    DYNC__FROM_INNER,
    DYNC__FROM_ROW_INNER, /* row * I */
    DYNC__FROM_INNER_ROW, /* inner * N */
    DYNC__FROM_N
};
/* One access as seen by tiles: offset + fixed part + lanes. */
typedef struct dync__interp_stream {
    dync__size offset;
    int32_t access;
    uint8_t level, fixed_from, lanes_from;
    dync__interp_nest fixed, lanes;
} dync__interp_stream;

typedef enum {
    DYNC__STEP_OP,      /* dst = tile(a, b, c) */
    DYNC__STEP_VIEW,    /* dst = address of the elements, in place; a: an index to add, or -1 */
    DYNC__STEP_GATHER,  /* dst = copy of the buffer's elements, widened by tile; a: the same */
    DYNC__STEP_DIRECT,  /* dst = address in the output buffer: the next step computes into it */
    DYNC__STEP_SCATTER, /* buffer = a, narrowed by tile */
    DYNC__STEP_FILL,    /* dst = scalar a in every lane */
    DYNC__STEP_EXPAND,  /* dst = row vector a, once per inner index */
    DYNC__STEP_INDEX,
    DYNC__STEP_LOADX,
    DYNC__STEP_STOREX,
    DYNC__STEP_RANDOM,
    DYNC__STEP_REDUCE, /* takes a into reduction number `reduce` */
    /* dst = running sums of a, from the row vector b on, which becomes the last of them */
    DYNC__STEP_SCAN,
    DYNC__STEP_KEEP, /* dst = this tile's place in the row buffer at imm */
    DYNC__STEP_SKIP  /* goes past the next imm steps where no lane of a is set */
} dync__step_kind;
typedef struct dync__interp_step {
    uint8_t kind, level, type; /* type: compute type of the value */
    uint8_t bytes;             /* of one element in memory */
    uint8_t scalars;           /* OP: operands that are scalars */
    int32_t dst, a, b, c;      /* values */
    int32_t stream, buf, reduce;
    int64_t imm;
    dync__tile tile;
} dync__interp_step;

typedef struct dync__interp_reduce {
    uint8_t kind, type, bytes;
    int32_t phase, dst;
    size_t acc, partial; /* scratch: running state; a tile's partial results, or folds */
    dync__tile combine;  /* two partial results to one */
    union {
        int64_t i;
        double d;
        float f;
    } identity;
} dync__interp_reduce;

enum { DYNC__TILE_GRAIN = 128 }; /* elements of one partial result of a reduction */
enum { DYNC__REDUCE_LEVELS = 4, DYNC__REDUCE_RADIX = 16 }; /* of vertical sums */
enum { DYNC__HOME_SCRATCH, DYNC__HOME_CONST, DYNC__HOME_FLOATING /* set by a step */ };
typedef struct dync__interp_value {
    uint8_t home, bytes, level;
    int32_t first, last; /* positions in step order between which it is live */
    size_t at;           /* scratch offset or constant number */
} dync__interp_value;

struct dync__interp {
    int isa, mode, n_phases;
    dync__size n_rows, n_inner, tile_rows, tile_inner;
    dync__size row_group; /* rows of a square tile stay inside a multiple of it */
    bool serial;          /* order between lanes matters (storex, stores that share places) */
    int n_values, n_reduces;
    int32_t *section; /* first step of prologue, row 0, phase 0, ..., row P, and end */
    dync__interp_step *steps;
    dync__interp_value *values;
    dync__interp_stream *streams;
    dync__lp_dim *dims;
    dync__interp_reduce *reduces;
    uint64_t *consts;
    size_t scratch_bytes, keep_bytes;
    size_t raw_at;      /* scratch: a tile of two-byte elements for conversions */
    size_t block_bytes; /* of this struct with all its arrays */
};
/* NULL + error; the plan is cut again. */
DYNC__FN dync__interp *dync__interp_new(dync__loop_plan *, int isa);
DYNC__FN void dync__interp_free(dync__interp *);
DYNC__FN void dync__interp_dump(dync__str *, const dync__interp *);
DYNC__FN dync_status dync__interp_run(const dync__code *, void *const *buffers,
                                      const uint64_t rng[2]);
#endif
