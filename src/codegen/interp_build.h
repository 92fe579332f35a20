/* codegen/interp_build.h: one attempt to compile a kernel for the tile interpreter, shared by
 * interp.c (scratch, the result), interp_plan.c, interp_cold.c and interp_emit.c (steps). */
#ifndef DYNC__INTERP_BUILD_H
#define DYNC__INTERP_BUILD_H
#include "interp.h"

typedef DYNC__VEC(dync__interp_step) dync__interp_steps;
typedef struct dync__ib {
    dync__loop_plan p;
    int isa;
    bool failed;
    int64_t lane_bytes;         /* of all tiles per lane */
    int32_t *direct;            /* by instruction: the store it may compute into, -1 none */
    int32_t *val, *val_phase;   /* value now; phase it was made in */
    int32_t *wide, *wide_phase; /* its expansion over a tile */
    /* by instruction: the select that it and those up to there are skipped for, -1 none */
    int32_t *cold;
    dync__interp_steps *list; /* one per section: prologue, row 0, phase 0, ... */
    int section;              /* where emission goes */
    DYNC__VEC(dync__interp_value) value;
    DYNC__VEC(dync__interp_stream) stream;
    DYNC__VEC(dync__lp_dim) dim;
    DYNC__VEC(dync__interp_reduce) reduce;
    DYNC__VEC(uint64_t) constant;
    size_t scratch;
} dync__ib;

/* ---- interp_plan.c --------------------------------------------------------------------------- */
/* Do the lanes of a level lie side by side in memory? */
DYNC__FN bool dync__ib_is_dense(const dync__ib *, int access, int level);
/* May the stored value be computed straight into memory? */
DYNC__FN bool dync__ib_may_direct(const dync__ib *, int store);
/* ---- interp_cold.c --------------------------------------------------------------------------- */
DYNC__FN void dync__ib_find_cold(dync__ib *); /* cold; after the plan */
/* ---- interp_emit.c --------------------------------------------------------------------------- */

/* An operand of a step: the instruction that made it, its value (a tile, or a scalar). */
typedef struct dync__ib_operand {
    int32_t inst, value;
    bool scalar;
} dync__ib_operand;

/* a fresh value; home: where it is kept */
DYNC__FN int dync__ib_value(dync__ib *b, int home, int type, int level);
DYNC__FN void dync__ib_emit(dync__ib *b, dync__interp_step s);
DYNC__FN dync__interp_step dync__ib_step(int kind, int level, int type, int dst, int a);
DYNC__FN int dync__ib_stream(dync__ib *b, int access, int level);
DYNC__FN int dync__ib_constant(dync__ib *b, const dync__inst *in);
/* the value of instruction i as an operand of a tile, or a scalar; then as a tile */
DYNC__FN dync__ib_operand dync__ib_fetch(dync__ib *b, int i, int level, int phase);
DYNC__FN void dync__ib_make_vector(dync__ib *b, dync__ib_operand *o, int level, int phase);
DYNC__FN dync__tile dync__ib_tile(dync__ib *b, int i, int n, dync__ib_operand *o, int level,
                                  int phase);
DYNC__FN int dync__ib_result(dync__ib *b, int i, int level, int phase);
DYNC__FN int dync__ib_emit_load(dync__ib *b, int i, int phase);
DYNC__FN int dync__ib_emit_indexed(dync__ib *b, int i, int phase);
DYNC__FN void dync__ib_gathers(void); /* links it */
DYNC__FN void dync__ib_reduces(void);
DYNC__FN void dync__ib_scans(void);
DYNC__FN void dync__ib_emit_store(dync__ib *b, int i, int phase);

/* ---- interp_emit_op.c ------------------------------------------------------------------------ */
/* The steps of every section, with values, streams and reductions. */
DYNC__FN void dync__ib_emit_all(dync__ib *);
/* recursion: the value of instruction i, emitted now where it was not yet */
DYNC__FN int dync__ib_value_at(dync__ib *b, int i, int phase);
#endif
