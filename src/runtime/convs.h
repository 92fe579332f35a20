/* runtime/convs.h: what the files share that let convolutions take over what follows them, and lay
 * arrays in blocks of channels. */
#ifndef DYNC__CONVS_H
#define DYNC__CONVS_H
#include "plan.h"
#include "../kernel/conv_jit.h"
#include "../loop/fuse.h"

/* touched: by how many steps; known: seen as [N, C, H, W] of `shape` by a convolution or pooling,
 * or as anything by another call; bad: it cannot lie in blocks. */
typedef struct dync__cv_slot {
    int64_t shape[4];
    int touched;
    bool known, bad;
    bool refused; /* a step that touches it, this time around: others wait for what becomes of it */
} dync__cv_slot;
typedef struct dync__cv_step {
    dync__kcall *call; /* a convolution or pooling, as it shall be; else NULL */
    int32_t x, y;      /* slots */
    int after;         /* the loop nest that it takes over; -1 */
    /* a convolution takes over so many instructions; the others read their last value in the place
     * of its result */
    int head;
    bool taken; /* by a convolution */
    /* there is no code for it with `after` (1), with blocks (2) */
    int refused;
} dync__cv_step;
typedef struct dync__cv {
    dync__pb *pb;
    dync__fuse_step *step;
    int n, V; /* steps; channels of a block: lanes of a vector */
    dync__cv_step *at;
    dync__cv_slot *slot;
} dync__cv;

DYNC__INLINE int64_t dync__cv_numel(const int64_t *shape)
{
    return dync__sz_mul(dync__sz_mul(shape[0], shape[1]), dync__sz_mul(shape[2], shape[3]));
}

DYNC__INLINE const dync__buf *dync__cv_buf(const dync__kernel *k, const dync__inst *in)
{
    return in->buf >= 0 ? &k->buf.at[in->buf] : NULL;
}
/* ---- convs_nest.c ---------------------------------------------------------------------------- */
DYNC__FN void dync__cv_cuts(const int64_t *shape, int64_t lanes, int64_t *cut);
DYNC__FN void dync__cv_cut(dync__kernel *k, int a, const int64_t *cut);
DYNC__FN int dync__cv_meets(const dync__cv *v, const dync__kernel *k, int32_t slot, int64_t lanes);
/* ---- convs_follow.c -------------------------------------------------------------------------- */
DYNC__FN dync_status dync__cv_join(dync__cv *v, int i);
#endif
