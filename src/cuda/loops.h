/* cuda/loops.h: a loop kernel in the making. */
#ifndef DYNC__CUDA_LOOPS_H
#define DYNC__CUDA_LOOPS_H
#include "../dync.in.h"
#include "cuda.h"

enum { DYNC__CL_DIMS = DYNC__LOOP_MAX_DIMS };

typedef struct dync__cl { /* a loop kernel in the making */
    dync__lb b;
    dync__kernel *k;
    const dync__kcall *call;
    /* takes the builder's calls where there was no memory for one */
    dync__kernel none;
    int n; /* loops so far */
    int64_t extent[DYNC__CL_DIMS];
} dync__cl;

/* loops.c */
DYNC__FN int dync__cl_loop(dync__cl *c, int64_t extent);
DYNC__FN void dync__cl_begin(dync__cl *c, dync__cuda_code *code, int n_outer);
DYNC__FN void dync__cl_store(dync__cl *c, int operand, const int *pairs, int value);
DYNC__FN int dync__cl_op(dync__cl *c, int prim, int a, int b);
DYNC__FN int dync__cl_i(dync__cl *c, int64_t x);
DYNC__FN int dync__cl_select(dync__cl *c, int p, int a, int b);
DYNC__FN int dync__cl_form(dync__cl *c, int64_t offset, int loop1, int64_t by1, int loop2,
                           int64_t by2);
DYNC__FN int dync__cl_inside(dync__cl *c, int x, int64_t n);
DYNC__FN int dync__cl_picture(dync__cl *c, int operand, const int *pairs, int y, int x, int ok,
                              int type, int other);
DYNC__FN int dync__cl_working(int dtype);
DYNC__FN dync_status dync__cl_finish(dync__cl *c, dync__cuda_code *code);
DYNC__FN dync_status dync__cl_matmul(dync__cuda_code *code, const dync__kcall *call, bool bias);
DYNC__FN dync_status dync__cl_conv(dync__cuda_code *code, const dync__kcall *call);
DYNC__FN int dync__cl_source(dync__cl *c, int from, int64_t stride, int64_t n, int *ok);
DYNC__FN dync_status dync__cl_conv_input(dync__cuda_code *code, const dync__kcall *call);
DYNC__FN dync_status dync__cl_conv_weight(dync__cuda_code *code, const dync__kcall *call);
#endif
