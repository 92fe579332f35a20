/* runtime/convs_nest.c: loop nests over an array [N, C, H, W] on their way into blocks of channels:
 * does a nest walk all of it, and where its loops are cut so that it keeps its meaning to the bit.
 * Before convs_follow.c and convs.c. */
#include "../dync.in.h"
#include "convs.h"
DYNC__LEAN

/* Does the access walk the whole array, each element once? */
static bool dync__cv_walks(const dync__kernel *k, const dync__access *a, int64_t numel)
{
    int64_t next = 1;
    for (bool found = true; found && dync__sz_lt(next, numel);) {
        found = false;
        for (int d = 0; d < k->n_dims && !found; d++)
            if (k->extent[d] > 1 && dync__sz_eq(a->stride[d], next)) {
                next = dync__sz_mul(next, k->extent[d]);
                found = true;
            }
    }
    int64_t all = 1;
    for (int d = 0; d < k->n_dims; d++)
        all = dync__sz_mul(all,
                           k->extent[d] > 0 && (k->extent[d] == 1 || !dync__sz_eq(a->stride[d], 0))
                               ? k->extent[d]
                               : 0);
    return dync__sz_eq(next, numel) && dync__sz_eq(all, numel) && dync__sz_eq(a->offset, 0);
}

/* Where the layout is cut: rows of pixels, blocks of `lanes` channels, images. */
DYNC__FN void dync__cv_cuts(const int64_t *shape, int64_t lanes, int64_t *cut)
{
    cut[0] = dync__sz_mul(shape[2], shape[3]);
    cut[1] = dync__sz_mul(cut[0], lanes);
    cut[2] = dync__sz_mul(cut[0], shape[1]);
}

/* Can k's loops be cut at the three places? Not where a loop would be left uneven, or where there
 * would be too many loops. */
static bool dync__cv_can_cut(const dync__kernel *k, const dync__access *a, const int64_t *cut)
{
    int n = k->n_dims;
    for (int d = 0; d < k->n_dims; d++) {
        int64_t at = a->stride[d], end = dync__sz_mul(at, k->extent[d]);
        for (int i = 0; i < 3; i++) {
            if (!dync__sz_lt(at, cut[i]) || !dync__sz_lt(cut[i], end)) continue;
            if (!dync__sz_eq(dync__sz_mod(cut[i], at), 0) ||
                !dync__sz_eq(dync__sz_mod(end, cut[i]), 0) || ++n > DYNC__LOOP_MAX_DIMS)
                return false;
            at = cut[i];
        }
    }
    return true;
}

/* Loop d in two, the inner one of `inner` steps. */
static void dync__cv_split(dync__kernel *k, int d, int64_t inner)
{
    for (int e = k->n_dims; e > d; e--) k->extent[e] = k->extent[e - 1];
    k->extent[d] = dync__sz_div(k->extent[d], inner);
    k->extent[d + 1] = inner;
    for (int i = 0; i < k->access.n; i++) {
        dync__size *s = k->access.at[i].stride;
        for (int e = k->n_dims; e > d; e--) s[e] = s[e - 1];
        s[d] = dync__sz_mul(s[d], inner);
    }
    k->n_outer += d < k->n_outer;
    k->n_dims++;
}

/* Loops cut so that each stays within one part of the array that access `a` (a number) walks. */
DYNC__FN void dync__cv_cut(dync__kernel *k, int a, const int64_t *cut)
{
    for (int d = 0; d < k->n_dims; d++)
        for (int i = 2; i >= 0; i--) {
            int64_t at = k->access.at[a].stride[d];
            if (dync__sz_lt(at, cut[i]) && dync__sz_lt(cut[i], dync__sz_mul(at, k->extent[d])))
                dync__cv_split(k, d, dync__sz_div(cut[i], at));
        }
}

/* How kernel k meets array `slot`: 0 not at all, 1 as a whole and can take blocks, -1 otherwise. */
DYNC__FN int dync__cv_meets(const dync__cv *v, const dync__kernel *k, int32_t slot, int64_t lanes)
{
    const int64_t *shape = v->slot[slot].shape;
    int64_t cut[3], numel = dync__cv_numel(shape);
    int result = 0;
    dync__cv_cuts(shape, lanes, cut);
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (in->prim == DYNC__P_reduce &&
            (in->imm.i == DYNC__R_ARGMAX || in->imm.i == DYNC__R_ARGMIN))
            return -1;
        const dync__buf *buf = dync__cv_buf(k, in);
        if (!buf || buf->id != slot) continue;
        const dync__access *a = &k->access.at[in->access];
        if ((in->prim != DYNC__P_load && in->prim != DYNC__P_store) || buf->dtype != DYNC_F32 ||
            !dync__cv_walks(k, a, numel) || !dync__cv_can_cut(k, a, cut))
            return -1;
        result = 1;
    }
    return result;
}
