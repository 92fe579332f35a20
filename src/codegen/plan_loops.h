/* codegen/plan_loops.h: how the loops of a kernel are cut and what of it is kept, for whoever makes
 * it run: the generator of machine code (gen.h) and the tile interpreter (interp_build.h). Knows
 * neither.
 *
 * The row loops are linearised to N rows, the inner loops to I indices. Work is done in tiles of
 * up to R rows x J inner indices:
 *   chunk     R = 1, J < I or J = I    lanes run along the inner loops
 *   block     R > 1, J = I             lanes: row after row
 *   vertical  J = 1, or R = N          lanes: inner index after inner index, the rows side by side
 *   square    R > 1, J < I             lanes: row after row; the rows are neighbours along the last
 *                                      row loop: for transpositions
 * A value has a level: 0 one for the kernel, 1 one per row (a vector of R lanes), 2 one per index
 * (a tile). */
#ifndef DYNC__PLAN_LOOPS_H
#define DYNC__PLAN_LOOPS_H
#include "codegen.h"

typedef enum { DYNC__LP_CHUNK, DYNC__LP_BLOCK, DYNC__LP_VERTICAL, DYNC__LP_SQUARE } dync__lp_mode;
/* Squares serve caches, and transposing machine code: a small program has neither. */
#define DYNC__LP_IS_SQUARE(mode) ((mode) == DYNC__LP_SQUARE && DYNC__SMALLER(false, true))

/* Some loops after merging; linear index -> element offset. n 0: no loop with a stride; 1:
 * linear. */
typedef struct dync__lp_dim {
    dync__size extent, stride;
} dync__lp_dim;

typedef struct dync__loop_plan {
    const dync__kernel *k;
    dync__arena *arena;
    bool transposes;                         /* given: can who runs it transpose in registers? */
    bool tiles;                              /* given: and put what repeats itself into tiles? */
    dync__size lanes;                        /* given: of a tile */
    int split, n_phases, mode;               /* loops [0, split) are rows; dync__lp_mode */
    int cheap;                               /* values up to this cost are computed again */
    dync__size n_rows, n_inner, rows, inner; /* rows x inner: a tile */
    bool has_reduce, has_scan;               /* has_reduce: or a scan */
    bool repeats;                            /* loads begin anew along the inner loops */
    bool whole;                              /* a tile holds whole rows */
    bool serial;                             /* order between lanes matters */
    bool sectioned;                          /* sections keep their order */
    int64_t keep_bytes;                      /* of the row buffers per row */
    uint8_t *needed, *level, *keep, *clamp;  /* by instruction; clamp: 1 maxsel, 2 minsel */
    int64_t *keep_off;                       /* by instruction: its row buffer, in bytes */
} dync__loop_plan;
DYNC__INLINE const dync__inst *dync__lp_inst(const dync__loop_plan *b, int i)
{
    return &b->k->inst.at[i];
}

DYNC__FN size_t dync__type_bytes(int compute_type);
/* What is needed, with the room to plan; false: no memory. */
DYNC__FN bool dync__lp_begin(dync__loop_plan *, const dync__kernel *, dync__arena *);
/* Levels, mode, tile, kept values, for b->lanes; may be done again with others. */
DYNC__FN void dync__lp_cut(dync__loop_plan *);
/* Which values of earlier phases need a row buffer, unless a tile holds whole rows. */
DYNC__FN void dync__lp_mark_kept(dync__loop_plan *);
/* The phase an instruction stands in, or that its row code precedes. */
DYNC__FN int dync__lp_phase(const dync__loop_plan *, int inst);
/* The list its code goes to: 0 prologue, 1 + 2p row code before phase p, 2 + 2p phase p. */
DYNC__FN int dync__lp_list(const dync__loop_plan *, int inst);
/* Its real operands: those of a clamp are its comparison's. */
DYNC__FN int dync__lp_operands(const dync__loop_plan *, int inst, int32_t out[3]);
/* Product of the extents of loops [from, to). */
DYNC__FN dync__size dync__lp_product(const dync__loop_plan *, int from, int to);
/* Loops [from, to) of an access after merging neighbours and dropping loops of one; how many. */
DYNC__FN int dync__lp_merge(const dync__loop_plan *, int access, int from, int to,
                            dync__lp_dim *out);
/* With loops [from, n_dims) inside: of a load that is the same for each round of the innermost
 * ones, over how many elements one goes; else 0. */
DYNC__FN int64_t dync__lp_period(const dync__loop_plan *, int inst, int from);
/* May the indices come in another order? */
DYNC__FN bool dync__lp_any_order(const dync__loop_plan *);
/* Is buf written by an instruction between these? */
DYNC__FN bool dync__lp_stored_between(const dync__loop_plan *, int buf, int from, int to);
/* Is it a load of buf, or its bits under another type? */
DYNC__FN bool dync__lp_reads(const dync__loop_plan *, int inst, int buf);
/* ---- plan_levels.c --------------------------------------------------------------------------- */
DYNC__FN void dync__lp_mark_needed(dync__loop_plan *b);
DYNC__FN int dync__lp_level_of(const dync__loop_plan *b, int i);
#endif
