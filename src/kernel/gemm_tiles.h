/* kernel/gemm_tiles.h: what the files of a matrix product share: tiles in a row (gemm_tiles.c),
 * blocks (gemm_blocks.c), the choice (gemm.c), small products for once and all (gemm_fix.c). */
#ifndef DYNC__GEMM_TILES_H
#define DYNC__GEMM_TILES_H
#include "gemm.h"

/* What the tiles of one product have in common: columns of a whole one, most rows. fix: tiles are
 * written down there instead of run. */
typedef struct dync__gemm_tile {
    int type, flags, lanes, columns, rows;
    dync__gemm_fixed *fix;
    bool same[DYNC__AFTER_MORE]; /* as dync__gemm_after has it */
    /* the code of whole columns, of an even and an odd number of rows: rows are shared out evenly,
     * so there are two of them */
    dync__gt_fn fn[2];
    int fn_rows[2];
} dync__gemm_tile;
enum { DYNC__GEMM_FIXED = 16 };
struct dync__gemm_fixed {
    uint32_t epoch;
    int n;      /* more than there is room for: none */
    bool many;  /* tiles of MANY, each without blocks of its own */
    bool swaps; /* a and b have changed places */
    int type;
    /* packs > 0: b's columns are dense; these `lines` columns of `packs` elements, `line` apart,
     * are transposed into dense rows first */
    int64_t packs, lines, line;
    /* a, b, c, d as distances from dync__gemm_origin */
    struct {
        dync__gt_fn fn;
        dync__gt_args x;
    } tile[DYNC__GEMM_FIXED];
};

/* dync__gemm_fix in the caller's memory. */
DYNC__FN bool dync__gemm_fix_in(dync__gemm_fixed *, const dync__gemm *, bool many);

/* ---- gemm_tiles.c ---------------------------------------------------------------------------- */
DYNC__FN dync__gemm_tile dync__gemm_tile_for(int type, int flags, int64_t m, int64_t n, int most);
/* n columns of `rows` rows: whole tiles by one call, then the rest. b_next: from one tile's b to
 * the next's. */
DYNC__FN void dync__gemm_row(dync__gemm_tile *t, int rows, int64_t n, const dync__gt_args *x,
                             int64_t b_next);
/* Can tiles read a where it lies? */
DYNC__FN bool dync__gemm_a_lies(const dync__gemm *g);
/* Flags of what follows the sums of k steps from p on. */
DYNC__FN int dync__gemm_follows(const dync__gemm *g, int64_t p, int64_t k);
/* Its operands for the tile at a row and column of c. */
DYNC__FN void dync__gemm_more(const dync__gemm *g, dync__gt_args *x, int64_t row, int64_t column);
/* Steps [p, p + k), b as it lies; panel: room for a tile's rows of a, or NULL; fix: tiles are
 * written down there instead of run, or NULL. */
DYNC__FN void dync__gemm_direct(const dync__gemm *g, int64_t p, int64_t k, char *panel,
                                dync__gemm_fixed *fix);
DYNC__FN void dync__gemm_dots(const dync__gemm *g, dync__gemm_fixed *fix);

/* ---- gemm_blocks.c, gemm.c ------------------------------------------------------------------- */
/* False: no memory for panels. */
DYNC__FN bool dync__gemm_blocks(const dync__gemm *g);
/* False: not such a product, or no memory. */
DYNC__FN bool dync__gemm_relaid(const dync__gemm *g);
/* The product of the transposes, whose result is c's; what follows it is left to others. */
DYNC__FN void dync__gemm_transpose(dync__gemm *g);
/* The way that the sizes and strides of a product ask for. */
DYNC__FN uint8_t dync__gemm_path(const dync__gemm *g);
#endif
