/* codegen/interp_run.h: a run of the tile interpreter, shared by interp_run.c (steps, tiles,
 * threads), interp_move.c (between memory and tiles) and interp_reduce.c. */
#ifndef DYNC__INTERP_RUN_H
#define DYNC__INTERP_RUN_H
#include "interp.h"

/* One worker's: all that changes while it runs. */
typedef struct dync__irun {
    const dync__interp *c;
    const char *name; /* of the kernel, for messages */
    void *const *buffers;
    char *scratch, *keep;
    char **ptr;                    /* by value: where its tile is */
    dync__size from[DYNC__FROM_N]; /* where the tile starts */
    dync__size rows, inner, n;     /* of the tile; n = rows * inner */
    uint64_t seed, offset;
    dync_status status;
} dync__irun;

/* ---- interp_move.c --------------------------------------------------------------------------- */
/* n elements of 1, 2, 4 or 8 bytes; steps in elements. A step of 0 in `from` fills. */
DYNC__FN void dync__irun_copy(void *to, dync__size to_step, const void *from, dync__size from_step,
                              dync__size n, int bytes);
/* Where the step's elements begin. */
DYNC__FN char *dync__irun_address(const dync__irun *, const dync__interp_step *);
/* What one index adds to a load along a line; false: the line would leave the buffer. */
DYNC__FN bool dync__irun_line_index(dync__irun *, const dync__interp_step *, dync__size n,
                                    int64_t *index);
DYNC__FN void dync__irun_load(dync__irun *, const dync__interp_step *, dync__size n);
DYNC__FN void dync__irun_store(const dync__irun *, const dync__interp_step *, dync__size n);
/* INDEX, LOADX, STOREX */
DYNC__FN void dync__irun_indexed(dync__irun *, const dync__interp_step *, dync__size n);
DYNC__FN void dync__irun_expand(const dync__irun *, const dync__interp_step *);

/* ---- interp_reduce.c ------------------------------------------------------------------------- */
/* Bytes of a reduction's state and of a tile's partial results. */
DYNC__FN size_t dync__ired_state_bytes(const dync__interp_reduce *, int mode, dync__size rows);
DYNC__FN size_t dync__ired_partial_bytes(const dync__interp_reduce *, int mode, dync__size rows,
                                         dync__size inner);
/* Around a phase, and for each of its tiles. */
DYNC__FN void dync__ired_begin(const dync__irun *, const dync__interp_reduce *);
DYNC__FN void dync__ired_take(dync__irun *, const dync__interp_reduce *, const char *tile);
DYNC__FN void dync__ired_end(const dync__irun *, const dync__interp_reduce *);
/* The running sums of a tile of F32, F64 or I64, which go on from the row vector s->b. */
DYNC__FN void dync__ired_scan(dync__irun *, const dync__interp_step *);
#endif
