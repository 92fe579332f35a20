/* codegen/interp.h: what the files of the tile interpreter share. interp_tile.c computes,
 * interp.c compiles, interp_run.c runs. */
#ifndef DYNC__INTERP_H
#define DYNC__INTERP_H
#include "plan_loops.h"

/* ---- tile kernels (interp_tile.c)
 * A tile kernel computes n lanes: d[i] = f(a[i], b[i], c[i]). d may be a, b or c where the
 * elements are of one size; other overlap is not allowed. A scalar operand (bit 0, 1, 2 of
 * scalars: a, b, c) is DYNC__TILE_LANES equal elements; only operators of two and three operands
 * take them. Constants are kept so, other scalars are spread by the run. */
typedef void (*dync__tile_fn)(void *d, const void *a, const void *b, const void *c, int64_t n,
                              int scalars);
enum { DYNC__TILE_LANES = 32 };
/* elements of one partial result of a reduction */
enum { DYNC__TILE_GRAIN = 128 };
enum {
    DYNC__TILE_MAXSEL = DYNC__N_PRIMS, /* a < b ? b : a */
    DYNC__TILE_MINSEL,                 /* b < a ? b : a */
    DYNC__N_TILES
};
/* DYNC__TILE_LANES times the scalar of 1, 4 or 8 bytes */
DYNC__FN void dync__tile_spread(const void *scalar, int bytes, uint64_t *to);
/* isa: 0 baseline, 1 AVX2 and FMA, 2 AVX-512. NULL: there is no such kernel, or (widen, narrow) the
 * bits are the same. */
DYNC__FN int dync__tile_isa(void); /* the best this machine has */
DYNC__FN dync__tile_fn dync__tile_find(int isa, int prim, int operand_type);
DYNC__FN dync__tile_fn dync__tile_cast(int isa, int from, int to);
DYNC__FN dync__tile_fn dync__tile_widen(int isa, int storage); /* storage dtype to compute type */
DYNC__FN dync__tile_fn dync__tile_narrow(int isa, int storage);
DYNC__FN dync__tile_fn dync__tile_wrap(int isa, int storage);
/* a: I64 numbers of draws; b: uint64_t {seed, offset} */
DYNC__FN dync__tile_fn dync__tile_uniform(int isa, int type, bool second);
/* Partial results of a reduction: c points to int64_t length; a holds n / length rows of that
 * length, each cut into grains of DYNC__TILE_GRAIN elements; d gets one value per grain, row
 * after row. kind: SUM PROD MAX MIN (ANY and ALL for BOOL). */
DYNC__FN dync__tile_fn dync__tile_reduce(int isa, int kind, int type);

/* Running sums of rows x inner F32, F64 or I64, which go on from a carry (F64 or I64) a row;
 * vertical: rows side by side. */
DYNC__FN void dync__tile_scan(int type, bool vertical, int64_t rows, int64_t inner, const void *x,
                              void *y, void *carry);

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
    int64_t offset;
    int32_t access;
    uint8_t level, fixed_from, lanes_from;
    dync__interp_nest fixed, lanes;
} dync__interp_stream;

typedef enum {
    DYNC__STEP_OP,      /* fn(dst, a, b, c, n) */
    DYNC__STEP_VIEW,    /* dst = address of the elements, in place; a: an index to add, or -1 */
    DYNC__STEP_GATHER,  /* dst = copy of the buffer's elements, widened by fn; a: the same */
    DYNC__STEP_DIRECT,  /* dst = address in the output buffer: the next step computes into it */
    DYNC__STEP_SCATTER, /* buffer = a, narrowed by fn */
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
    uint8_t bytes;             /* of one element in memory; OP: of a scalar operand */
    /* OP: operands that are scalars; those that are one element */
    uint8_t scalars, spread;
    int32_t dst, a, b, c; /* values */
    int32_t stream, buf, reduce;
    int64_t imm;
    dync__tile_fn fn;
} dync__interp_step;

typedef struct dync__interp_reduce {
    uint8_t kind, type, bytes;
    int32_t phase, dst;
    /* scratch: running state; a tile's partial results, or folds */
    size_t acc, partial;
    dync__tile_fn partials, combine;
    union {
        int64_t i;
        double d;
        float f;
    } identity;
} dync__interp_reduce;

enum { DYNC__REDUCE_LEVELS = 4, DYNC__REDUCE_RADIX = 16 }; /* of vertical sums */
enum { DYNC__HOME_SCRATCH, DYNC__HOME_CONST, DYNC__HOME_FLOATING /* set by a step */ };
typedef struct dync__interp_value {
    uint8_t home, bytes, level;
    int32_t first, last; /* positions in step order between which it is live */
    size_t at;           /* scratch offset or constant number */
} dync__interp_value;

typedef struct dync__jit dync__jit;
struct dync__code {
    dync__jit *jit; /* machine code (jit.c); NULL: interpreted */
    char *name;
    int isa, mode, n_phases, n_bufs;
    int64_t n_rows, n_inner, tile_rows, tile_inner;
    int64_t row_group; /* rows of a square tile stay inside a multiple of it */
    bool empty, has_reduce, stores_rows;
    /* order between lanes matters (storex, stores that share places) */
    bool serial;
    int n_steps, n_values, n_streams, n_dims, n_reduces, n_consts;
    /* first step of prologue, row 0, phase 0, ..., row P, and end */
    int32_t *section;
    dync__interp_step *steps;
    dync__interp_value *values;
    dync__interp_stream *streams;
    dync__lp_dim *dims;
    dync__interp_reduce *reduces;
    uint64_t *consts;
    int64_t *buf_size;
    size_t scratch_bytes, keep_bytes;
    size_t raw_at;      /* scratch: a tile of two-byte elements for conversions */
    double ns;          /* roughly what one thread takes, for dync__pool_worth */
    size_t block_bytes; /* of this struct with all its arrays */
};
/* dync__code_new for an instruction set (0 baseline, 1 AVX2, 2 AVX-512), with or without machine
 * code. */
DYNC__FN dync__code *dync__code_new_for(const dync__kernel *, int isa, bool jit);
DYNC__FN dync_status dync__interp_run(const dync__code *, void *const *buffers,
                                      const uint64_t rng[2]);
DYNC__FN size_t dync__type_bytes(int compute_type);
#endif
