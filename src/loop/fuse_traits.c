/* loop/fuse_traits.c: what a kernel is to fusion: pointwise, tangled, of an order that shows. After
 * fuse_map.c, before fuse_items.c. */
#include "../dync.in.h"
#include "fuse.h"
DYNC__LEAN

DYNC__FN bool dync__fuse_is_store(int prim)
{
    return prim == DYNC__P_store || prim == DYNC__P_storex;
}

DYNC__FN bool dync__fuse_is_indexed(int prim)
{
    return prim == DYNC__P_loadx || prim == DYNC__P_storex;
}

DYNC__FN dync__size dync__fuse_size(const dync__size *extent, int from, int to)
{
    dync__size n = 1;
    for (int d = from; d < to; d++) n = dync__sz_mul(n, extent[d]);
    return n;
}

DYNC__FN dync__size dync__fuse_domain(const dync__kernel *k)
{
    return dync__fuse_size(k->extent, 0, k->n_dims);
}

/* ---- what a kernel is ------------------------------------------------------------------------ */

/* By bit of a buffer's index modulo 64: what more than one instruction may touch. */
static uint64_t dync__fuse_shared_bufs(const dync__kernel *k)
{
    uint64_t once = 0, more = 0;
    for (int i = 0; i < k->inst.n; i++) {
        uint64_t bit = k->inst.at[i].buf >= 0 ? (uint64_t)1 << (k->inst.at[i].buf & 63) : 0;
        more |= once & bit;
        once |= bit;
    }
    return more;
}

/* Does store i make the order of its own kernel's indices matter? So it does where two indices
 * store to one place, where it scatters, or where the kernel reads the buffer at another index or
 * after the store. Such kernels are never merged. shared: dync__fuse_shared_bufs. */
static bool dync__fuse_store_tangles(const dync__kernel *k, int i, uint64_t shared)
{
    const dync__inst *store = &k->inst.at[i];
    const dync__access *acc = &k->access.at[store->access];
    int n = store->section & 1 ? k->n_dims : k->n_outer;
    bool scatter = store->prim == DYNC__P_storex;
    if (!scatter && !dync__access_injective(acc, n, k->extent)) return true;
    if (!(shared >> (store->buf & 63) & 1)) return false;
    for (int j = 0; j < k->inst.n; j++) {
        const dync__inst *in = &k->inst.at[j];
        if (j == i || in->buf != store->buf) continue;
        if (scatter || dync__fuse_is_indexed(in->prim)) return true;
        const dync__access *other = &k->access.at[in->access];
        if (!dync__access_overlap(acc, k->n_dims, k->extent, other, k->n_dims, k->extent)) continue;
        if (!dync__access_equal(acc, other, k->n_dims, k->extent)) return true;
        if (in->prim == DYNC__P_load && j > i) return true;
    }
    return false;
}

/* No reduction, no scan, and no store from row code unless a row is one element. */
DYNC__FN bool dync__fuse_is_pointwise(const dync__kernel *k)
{
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (in->prim == DYNC__P_reduce || in->prim == DYNC__P_scan ||
            (dync__fuse_is_store(in->prim) && !(in->section & 1) &&
             dync__fuse_size(k->extent, k->n_outer, k->n_dims) != 1))
            return false;
    }
    return true;
}

DYNC__FN dync__fuse_traits dync__fuse_traits_of(const dync__kernel *k)
{
    dync__fuse_traits t = {dync__fuse_is_pointwise(k), false, false, false};
    uint64_t shared = dync__fuse_shared_bufs(k);
    for (int d = 0; d < k->n_dims; d++) t.empty |= k->extent[d] <= 0;
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (in->prim == DYNC__P_storex) t.scatters = true;
        if (dync__fuse_is_store(in->prim) && !t.tangled)
            t.tangled = dync__fuse_store_tangles(k, i, shared);
    }
    return t;
}

/* A slot may be seen as two dtypes, which one kernel cannot express. */
DYNC__FN bool dync__fuse_same_dtypes(const dync__kernel *a, const dync__kernel *b)
{
    for (int i = 0; i < a->buf.n; i++)
        for (int j = 0; j < b->buf.n; j++)
            if (a->buf.at[i].id == b->buf.at[j].id && a->buf.at[i].dtype != b->buf.at[j].dtype)
                return false;
    return true;
}

/* Does the first kernel write indices that the second one's bounds speak of? They are looked at
 * before a kernel runs. */
DYNC__FN bool dync__fuse_makes_indices(const dync__kernel *first, const dync__kernel *second)
{
    for (int b = 0; b < second->bound.n; b++)
        for (int i = 0; i < first->buf.n; i++)
            if ((first->buf.at[i].mode & DYNC__BUF_OUT) &&
                first->buf.at[i].id == second->buf.at[second->bound.at[b].buf].id)
                return true;
    return false;
}

/* Would another order of the inner loops show in the result? */
DYNC__FN bool dync__fuse_once(const dync__fuse_graph *g, const dync__kernel *k, bool dear)
{
    const bool *once = g->options->once;
    int cost = 0;
    for (int i = 0; i < k->buf.n; i++)
        if (!once || !once[k->buf.at[i].id]) return false;
    for (int i = 0; i < k->inst.n; i++) cost += dync__cost_inst(&k->inst.at[i]);
    return !dear || cost > DYNC__FUSE_FAIR;
}

DYNC__FN bool dync__fuse_order_matters(const dync__kernel *k)
{
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (in->prim == DYNC__P_scan) return true;
        if (in->prim != DYNC__P_reduce) continue;
        if (in->type == DYNC_F32 || in->type == DYNC_F64 || in->imm.i == DYNC__R_ARGMAX ||
            in->imm.i == DYNC__R_ARGMIN)
            return true;
    }
    return false;
}

DYNC__FN bool dync__fuse_writes_out(const dync__kernel *k, int64_t length)
{
    int64_t insts = 0, accesses = 0;
    bool scans = false;
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        int64_t times = in->section & 1 ? length : 1;
        scans |= in->prim == DYNC__P_scan;
        insts += times;
        if (in->buf >= 0) accesses += times;
    }
    return !scans && length <= DYNC__UNROLL_ROW && insts <= DYNC__UNROLL_INSTS &&
           accesses <= DYNC__UNROLL_ACCESSES;
}
