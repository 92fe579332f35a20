/* codegen/jit.h: kernels as machine code. Between interp_build.h and interp.c, which asks for it. */
#ifndef DYNC__JIT_H
#define DYNC__JIT_H
#include "interp_build.h"
/* The kernel of b (planned by the interpreter) as machine code; NULL where it stays interpreted: the log says why. Never an error. */
DYNC__FN dync__jit *dync__jit_new(dync__ib *);
DYNC__FN void dync__jit_free(dync__jit *);
/* False: not this time (the interpreter splits long rows over threads). */
DYNC__FN bool dync__jit_run(const dync__jit *, const dync__code *, void *const *buffers, dync_status *);
DYNC__FN void dync__jit_dump(dync__str *, const dync__jit *);
typedef struct dync__jit_stats { int64_t kernels, shared, declined; } dync__jit_stats;
DYNC__FN dync__jit_stats dync__jit_read_stats(void);    /* compiled, taken from the cache, left to the interpreter */
#endif
