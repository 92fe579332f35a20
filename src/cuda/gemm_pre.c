/* cuda/gemm_pre.c: what is done to a side of a product on its way into shared memory (casts,
 * scales, activations, masks ...), in the place of a launch before it. Before gemm_load.c and
 * gemm_gather.c.
 *
 * The kernel that would have made the side stores every element of its memory once. Its loops are
 * put in the order of that memory, so that an element's place in memory is the linear index of its
 * piece: whatever walks the side by offset, line, step and batches, or gathers it, walks that
 * index, in elements in the place of bytes. A chunk is what one thread stores at a time. In a
 * iteration of the ring its loads are issued before the multiplications of the stage that is ready
 * (raw bits in registers), and made values, rounded to the side's dtype and stored behind them.
 * Elements that do not exist are loaded from the block's first and are zeros. Every tile of the
 * other side does it again: dync__gm_pre_worth says when that is less than a launch and two trips
 * through memory. */
#include "../dync.in.h"
#include "gemm.h"
DYNC__COLD

/* ---- the kernel ------------------------------------------------------------------------------ */

static int dync__gmp_store(const dync__kernel *k)
{
    for (int i = 0; i < k->inst.n; i++)
        if (k->inst.at[i].prim == DYNC__P_store) return i;
    return -1;
}

/* Its loops by stride of the store, the greatest first; false: it does not fill memory from
 * `offset` on. */
static bool dync__gmp_order(const dync__kernel *k, const dync__access *to, int *order, int *n,
                            int64_t *all)
{
    *n = 0;
    *all = 1;
    for (int d = 0; d < k->n_dims; d++) {
        int at = *n;
        if (k->extent[d] == 1) continue;
        for (; at > 0 && to->stride[order[at - 1]] < to->stride[d]; at--) order[at] = order[at - 1];
        order[at] = d;
        ++*n;
    }
    for (int i = *n - 1; i >= 0; i--) {
        if (to->stride[order[i]] != *all) return false;
        *all *= k->extent[order[i]];
    }
    return *n > 0;
}

static bool dync__gmp_lies_within(const dync__layout *lay, int64_t from, int64_t all)
{
    int64_t last = lay->offset - from;
    if (last < 0) return false;
    for (int d = 0; d < lay->ndim; d++) {
        if (lay->stride[d] < 0) return false;
        last += (lay->shape[d] - 1) * lay->stride[d];
    }
    return last < all;
}

DYNC__FN dync__gm_pre *dync__gm_pre_open(dync__arena *arena, const dync__operand *o,
                                         const dync__kernel *k, int first)
{
    int store = dync__gmp_store(k), order[DYNC__LOOP_MAX_DIMS], n;
    int64_t all, extent[DYNC__LOOP_MAX_DIMS], stride[DYNC__LOOP_MAX_DIMS] = {0};
    const dync__access *to = &k->access.at[k->inst.at[store].access];
    bool known = o->dtype == DYNC_F32 || o->dtype == DYNC_F64 || o->dtype == DYNC_F16 ||
                 o->dtype == DYNC_BF16 || o->dtype == DYNC_I8 || o->dtype == DYNC_U8;
    if (!known || !dync__gmp_order(k, to, order, &n, &all) ||
        !dync__gmp_lies_within(&o->lay, to->offset, all))
        return NULL;
    for (int d = 0; d < n; d++) extent[d] = k->extent[order[d]];
    dync__gm_pre *pre = dync__arena_alloc(arena, sizeof *pre);
    dync__kernel *own = pre ? dync__kernel_new(arena, "prologue", 0, n, extent) : NULL;
    if (!own) return NULL;
    for (int i = 0; i < k->inst.n; i++) {
        dync__inst in = k->inst.at[i];
        in.section = 1;
        in.origin = in.origin ? dync__arena_strdup(arena, in.origin) : NULL;
        if (in.access >= 0) {
            const dync__access *a = &k->access.at[in.access];
            for (int d = 0; d < n; d++) stride[d] = a->stride[order[d]];
            in.access = dync__kernel_access(own, a->offset, stride);
        }
        if (!dync__avec_push(arena, &own->inst, in)) return NULL;
    }
    for (int i = 0; i < k->buf.n; i++) {
        dync__buf b = k->buf.at[i];
        b.name = b.name ? dync__arena_strdup(arena, b.name) : NULL;
        if (!dync__avec_push(arena, &own->buf, b)) return NULL;
    }
    dync__kernel_collapse(own);
    *pre = (dync__gm_pre){.k = own, .first = first, .store = store, .offset = to->offset};
    return own->failed ? NULL : pre;
}

DYNC__FN bool dync__gm_pre_set(dync__gm_side *side, dync__gm_pre *pre)
{
    side->pre = pre;
    if (pre) side->offset -= pre->offset;
    return pre != NULL;
}

/* Its buffers among those of the end. */
DYNC__FN bool dync__gm_pre_close(dync__gm *g, int s)
{
    dync__gm_pre *pre = g->side[s].pre;
    dync__kernel *e = (dync__kernel *)(uintptr_t)g->end;
    for (int i = 0; i < pre->k->inst.n; i++) {
        dync__inst *in = &pre->k->inst.at[i];
        const dync__buf *b = in->buf >= 0 ? &pre->k->buf.at[in->buf] : NULL;
        if (b && i == pre->store)
            in->buf = g->side[s].buf;
        else if (b)
            in->buf =
                dync__kernel_buf(e, pre->first + in->buf, b->dtype, DYNC__BUF_IN, -1, b->name);
    }
    return !e->failed;
}

/* Registers that the loads of n elements take; operations of an element; bytes that it is made
 * of. */
static int dync__gmp_words(const dync__gm_pre *pre, int n)
{
    const dync__kernel *k = pre->k;
    int words = 0;
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (in->prim != DYNC__P_load) continue;
        int64_t stride = k->access.at[in->access].stride[k->n_dims - 1];
        int bytes = dync__dtype_info(k->buf.at[in->buf].dtype)->bytes;
        words += stride == 0   ? 1
                 : stride == 1 ? DYNC__MAX(n * bytes / 4, 1)
                               : n * DYNC__MAX(bytes / 4, 1);
    }
    return words;
}
static double dync__gmp_work(const dync__gm_pre *pre, double *bytes)
{
    double work = 1.5;
    *bytes = 0;
    for (int i = 0; i < pre->k->inst.n; i++) {
        const dync__inst *in = &pre->k->inst.at[i];
        bool varies = in->prim == DYNC__P_load &&
                      pre->k->access.at[in->access].stride[pre->k->n_dims - 1] != 0;
        if (in->prim != DYNC__P_load && in->prim != DYNC__P_store) work += dync__cost_inst(in);
        if (varies) work += 0.5;
        if (varies) *bytes += dync__dtype_info(pre->k->buf.at[in->buf].dtype)->bytes;
    }
    return work;
}

/* ---- what it costs --------------------------------------------------------------------------- */

DYNC__FN int dync__gm_pre_words(const dync__gm *g, const dync__gm_tile *t)
{
    int words = 0, bytes = g->kind >= 0 ? dync__cuda_tile_kind_of(g->kind)->bytes
                                        : dync__dtype_info(g->compute)->bytes;
    for (int s = 0; s < 2 && g->kind >= 0; s++)
        if (g->side[s].pre)
            words += dync__gmp_words(g->side[s].pre, 16 / bytes) *
                     ((s ? t->n : t->m) * 8 / t->threads);
    return words;
}

/* Clocks of a multiprocessor for so many elements. */
DYNC__FN double dync__gm_pre_clocks(const dync__gm_pre *pre, double elements)
{
    double bytes;
    return elements * dync__gmp_work(pre, &bytes) / DYNC__GMP_LANES;
}

DYNC__FN double dync__gm_pre_cost(const dync__gm *g, const dync__gm_tile *t, int64_t chunk)
{
    double cost = 0;
    for (int s = 0; s < 2; s++)
        if (g->side[s].pre)
            cost += dync__gm_pre_clocks(g->side[s].pre, (double)(s ? t->n : t->m) * (double)chunk);
    return cost;
}

/* Is a product with it cheaper than `apart`, the clocks of one without, and what else that takes?
 * elements: of the side, of this dtype. */
DYNC__FN bool dync__gm_pre_worth(const dync__gm_pre *pre, int dtype, double with, double apart,
                                 double elements)
{
    double bytes;
    (void)dync__gmp_work(pre, &bytes);
    double trips = elements * (bytes + 2.0 * dync__dtype_info(dtype)->bytes) / DYNC__GM_BYTES;
    return dync__gmp_words(pre, 16 / dync__dtype_info(dtype)->bytes) <= DYNC__GMP_WORDS &&
           with < apart + DYNC__GMP_LAUNCH + trips;
}
