/* codegen/code.h: what a kernel became: machine code, or, where no target takes it, steps of the
 * tile interpreter. code.c makes one of the two and runs it. */
#ifndef DYNC__CODE_H
#define DYNC__CODE_H
#include "codegen.h"

typedef struct dync__jit dync__jit;
typedef struct dync__interp dync__interp;
/* How much a run does; indices may be a place of symbolic sizes. */
typedef struct dync__code_length {
    int64_t indices;
    int32_t steps, isa, n_bufs;
} dync__code_length;
/* Most copies know how long they take by themselves: what they are of, which the cache does not
 * have when a new size comes, is left alone. */
enum { DYNC__CODE_SETTLES_NOTHING, DYNC__CODE_SETTLES_TIME, DYNC__CODE_SETTLES_MORE };
struct dync__code {
    dync__jit *jit;               /* NULL: interpreted */
    dync__interp *interp;         /* NULL: machine code */
    double ns;                    /* roughly what one thread takes, for dync__pool_worth */
    bool empty;                   /* no index: a run does nothing */
    bool has_reduce;              /* or a scan */
    bool stores_rows;             /* something is stored once a row */
    bool lent;                    /* of a copy: nothing of it is its own */
    uint8_t settles;              /* of a copy: DYNC__CODE_SETTLES_, what its numbers decide */
    struct dync__code_work *work; /* its sizes are symbolic: copies of it run */
    dync__code_length length;     /* of a copy */
    char name[];
};
/* dync__code_new for an instruction set (0 baseline, 1 AVX2, 2 AVX-512), with or without machine
 * code. */
DYNC__FN dync__code *dync__code_new_for(const dync__kernel *, int isa, bool jit);
#endif
