/* cuda/ptx_reduce.h: pairs of a value and its place. */
#ifndef DYNC__CUDA_PTX_REDUCE_H
#define DYNC__CUDA_PTX_REDUCE_H
#include "../dync.in.h"
#include "ptx.h"

/* a partial result; place: argmax, argmin */
typedef struct dync__ptx_pair {
    char value[40], place[40];
} dync__ptx_pair;

/* ptx_reduce.c */
DYNC__FN const dync__inst *dync__ptx_reduce_inst(const dync__ptx *p, int i);
DYNC__FN int dync__ptx_reduce_type(const dync__ptx *p, int i);
DYNC__FN bool dync__ptx_is_arg(int kind);
DYNC__FN dync__ptx_pair dync__ptx_accumulator(int i, int lane);
DYNC__FN dync__ptx_pair dync__ptx_new_pair(dync__ptx *p, int kind, int type);
DYNC__FN void dync__ptx_move(dync__ptx *p, int type, const char *to, const char *from);
DYNC__FN void dync__ptx_join(dync__ptx *p, int kind, int type, const dync__ptx_pair *a,
                             const dync__ptx_pair *b);
DYNC__FN void dync__ptx_accumulators(dync__ptx *p, int i, int n);
#endif
