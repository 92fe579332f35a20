/* codegen/interp_build.h: one attempt to compile a kernel for the tile interpreter, shared by
 * interp.c (scratch, the result), interp_plan.c (how the loops are cut, what is kept) and
 * interp_emit.c (steps). */
#ifndef DYNC__INTERP_BUILD_H
#define DYNC__INTERP_BUILD_H
#include "interp.h"

enum {
    DYNC__INTERP_LANES = 512, /* of a tile, fewer where many values are live */
    DYNC__INTERP_L1_BYTES = 24 * 1024,
    DYNC__INTERP_KEEP_BYTES = 256 * 1024,
    DYNC__INTERP_CHEAP = 6, /* instructions worth repeating rather than keeping */
    DYNC__INTERP_DEAR = 200 /* the same where a row buffer would be huge */
};

typedef DYNC__VEC(dync__interp_step) dync__interp_steps;
typedef struct dync__ib {
    const dync__kernel *k;
    dync__arena *arena;
    int isa, split, n_phases, mode;              /* loops [0, split) are rows */
    int cheap;                                   /* values up to this cost are computed again */
    int64_t n_rows, n_inner, rows, inner, lanes; /* rows x inner: a tile; lanes: its budget */
    /* has_reduce: or a scan; whole: a tile holds whole rows */
    bool has_reduce, has_scan, whole, serial, failed;
    bool sectioned;                         /* sections keep their order */
    int64_t keep_bytes, lane_bytes;         /* of the row buffers per row; of all tiles per lane */
    uint8_t *needed, *level, *keep, *clamp; /* by instruction; clamp: 1 maxsel, 2 minsel */
    /* by instruction: the store it may compute into, -1 none */
    int32_t *direct;
    int32_t *val, *val_phase;   /* value now; phase it was made in */
    int32_t *wide, *wide_phase; /* its expansion over a tile */
    /* by instruction: the select that it and those up to there are skipped for, -1 none */
    int32_t *seldom;
    int64_t *keep_off;        /* by instruction: its row buffer, in bytes */
    dync__interp_steps *list; /* one per section: prologue, row 0, phase 0, ... */
    int section;              /* where emission goes */
    DYNC__VEC(dync__interp_value) value;
    DYNC__VEC(dync__interp_stream) stream;
    DYNC__VEC(dync__interp_dim) dim;
    DYNC__VEC(dync__interp_reduce) reduce;
    DYNC__VEC(uint64_t) constant;
    size_t scratch;
} dync__ib;
DYNC__INLINE const dync__inst *dync__ib_inst(const dync__ib *b, int i) { return &b->k->inst.at[i]; }

/* ---- interp_plan.c --------------------------------------------------------------------------- */
DYNC__FN void dync__ib_mark_needed(dync__ib *); /* needed, clamp, has_reduce, sectioned */
/* levels, mode, tile, kept values; lanes is given */
DYNC__FN void dync__ib_plan(dync__ib *);
/* which values of earlier phases need a row buffer, unless a tile holds whole rows */
DYNC__FN void dync__ib_mark_kept(dync__ib *);
/* The phase an instruction stands in, or that its row code precedes. */
DYNC__FN int dync__ib_phase(const dync__ib *, int inst);
/* The section list its steps go to: 0 prologue, 1 + 2p row code before phase p, 2 + 2p phase p. */
DYNC__FN int dync__ib_list(const dync__ib *, int inst);
/* Its real operands: those of a clamp are its comparison's. */
DYNC__FN int dync__ib_operands(const dync__ib *, int inst, int32_t out[3]);
/* Product of the extents of loops [from, to). */
DYNC__FN int64_t dync__ib_product(const dync__ib *, int from, int to);
/* Loops [from, to) of an access after merging neighbours and dropping loops of one; how many. */
DYNC__FN int dync__ib_merge(const dync__ib *, int access, int from, int to, dync__interp_dim *out);
/* Is buf written by an instruction between these? */
DYNC__FN bool dync__ib_stored_between(const dync__ib *, int buf, int from, int to);
/* Do the lanes of a level lie side by side in memory? */
DYNC__FN bool dync__ib_is_dense(const dync__ib *, int access, int level);
/* Is it a load of buf, or its bits under another type? */
DYNC__FN bool dync__ib_reads(const dync__ib *, int inst, int buf);
/* May the stored value be computed straight into memory? */
DYNC__FN bool dync__ib_may_direct(const dync__ib *, int store);
/* ---- interp_seldom.c ------------------------------------------------------------------------- */
DYNC__FN void dync__ib_find_seldom(dync__ib *); /* seldom; after the plan */
/* ---- interp_emit.c --------------------------------------------------------------------------- */
/* The steps of every section, with values, streams and reductions. */
DYNC__FN void dync__ib_emit_all(dync__ib *);
#endif
