/* loop/fuse_merge.c: two kernels become one on one domain. After fuse_map.c (where the guest's
 * loops are) and fuse_items.c (the list of what both do), before fuse_inline.c and fuse.c (which
 * pairs, and order).
 *
 * Refused is whatever could differ by a bit: overlapping accesses that are not equal, index orders
 * that a reduction could see, values that a generator may recompute after their source was
 * overwritten. */
#include "../dync.in.h"
#include "fuse.h"
DYNC__LEAN

/* ---- a kernel from the items ----------------------------------------------------------------- */

/* A store that jumps along the inner loops while a few rows lie side by side (three channels, last)
 * belongs in a nest of its own. Many rows side by side are what generators run as vectors. */
static bool dync__fuse_bad_layout(const dync__nest *nest, const dync__fuse_item *item)
{
    int64_t inner = DYNC__SZ_MOST, outer = DYNC__SZ_MOST, side_by_side = 1;
    if (item->row || !dync__sz_lt(DYNC__FUSE_SMALL, dync__fuse_size(nest->extent, 0, nest->n)))
        return false;
    for (int d = 0; d < nest->n; d++) {
        int64_t *least = d < nest->n_outer ? &outer : &inner,
                stride = dync__sz_abs(item->access->stride[d]);
        if (nest->extent[d] <= 1 || !(*least == DYNC__SZ_MOST || dync__sz_lt(stride, *least)))
            continue;
        *least = stride;
        if (d < nest->n_outer) side_by_side = nest->extent[d];
    }
    return outer != DYNC__SZ_MOST && (inner == DYNC__SZ_MOST || dync__sz_lt(outer, inner)) &&
           dync__sz_lt(side_by_side, DYNC__FUSE_SIDE_BY_SIDE);
}

/* Instructions of k that compute, but for cold paths; *path: the longest chain of them, from what
 * `from` stores, or (NULL) from any load. */
DYNC__OFTEN static int dync__fuse_ops(const dync__kernel *k, const dync__kernel *from, int *path)
{
    int16_t depth[2 * DYNC__FUSE_INSTS]; /* -1: not made of it */
    uint64_t hot[DYNC__FUSE_HOT];
    int n = 0;
    *path = 0;
    dync__fuse_hot(k, hot);
    for (int i = 0; i < k->inst.n && i < DYNC__COUNT_OF(depth); i++) {
        const dync__inst *in = &k->inst.at[i];
        bool moves = in->buf >= 0 || in->prim == DYNC__P_const_ || !(hot[i / 64] >> i % 64 & 1),
             of = !from;
        for (int s = 0; from && in->buf >= 0 && !of && s < from->inst.n; s++)
            of |= dync__fuse_is_store(from->inst.at[s].prim) &&
                  from->buf.at[from->inst.at[s].buf].id == k->buf.at[in->buf].id;
        depth[i] = (int16_t)(of ? 0 : -1);
        for (int a = 0; a < 3; a++)
            if (in->arg[a] >= 0) depth[i] = DYNC__MAX(depth[i], depth[in->arg[a]]);
        n += !moves;
        if (!moves && depth[i] >= 0) depth[i]++;
        *path = DYNC__MAX(*path, depth[i]);
    }
    return n;
}

/* Would two kernels without reductions become one of which two fifths are a single chain, so long
 * that a processor sees no second turn of its loop while it waits for the first? */
static bool dync__fuse_too_long(const dync__fuse_job *job, int live)
{
    const dync__kernel *a = job->from[0], *b = job->from[1];
    int of_a, of_b, link;
    if (!b || live <= job->max_straight) return false;
    for (int i = 0; i < job->item.n; i++) {
        const dync__fuse_item *item = &job->item.at[i];
        if (!item->dead && (item->in.prim == DYNC__P_reduce || item->in.prim == DYNC__P_scan))
            return false;
    }
    int n_a = dync__fuse_ops(a, NULL, &of_a), n_b = dync__fuse_ops(b, NULL, &of_b);
    (void)dync__fuse_ops(b, a, &link);
    return DYNC__MIN(n_a, n_b) > DYNC__FUSE_FEW &&
           5 * DYNC__MAX(of_a + link, of_b) > 2 * (n_a + n_b);
}

static int dync__fuse_addressed(int accesses, int loops)
{
    return accesses * (1 + DYNC__MAX(loops, 1));
}

/* Would machine code for each of the two be one kernel without? */
static bool dync__fuse_too_many(const dync__fuse_job *job, const dync__nest *nest)
{
    int n = 0;
    for (int i = 0; i < job->item.n; i++) n += !job->item.at[i].dead && job->item.at[i].buf;
    if (!job->bounded || dync__fuse_addressed(n, nest->n) <= DYNC__FUSE_ADDRESSED) return false;
    for (int i = 0; i < 2 && job->from[i]; i++) {
        const dync__kernel *k = job->from[i];
        n = 0;
        for (int v = 0; v < k->inst.n; v++) n += k->inst.at[v].buf >= 0;
        if (dync__fuse_addressed(n, k->n_dims) > DYNC__FUSE_ADDRESSED) return false;
    }
    return true;
}

/* What only machine code asks: a small program has none. */
static bool dync__fuse_hinders(const dync__fuse_job *job, const dync__nest *nest, int live)
{
    return !DYNC__LEFT_OUT(DYNC_NO_JIT) &&
           (dync__fuse_too_long(job, live) || dync__fuse_too_many(job, nest) ||
            dync__fuse_slower(job));
}

/* Not more instructions than the job allows, nor more buffers than DYNC__FUSE_BUFS. */
static bool dync__fuse_limits(dync__fuse_job *job, const dync__nest *nest, int live)
{
    int32_t id[DYNC__FUSE_BUFS];
    int n = 0;
    if (live > job->max_insts || dync__fuse_hinders(job, nest, live)) return false;
    for (int i = 0; i < job->item.n; i++) {
        const dync__fuse_item *item = &job->item.at[i];
        bool known = item->dead || !item->buf;
        for (int j = 0; j < n && !known; j++) known = id[j] == item->buf->id;
        if (known) continue;
        if (n == DYNC__FUSE_BUFS) return false;
        id[n++] = item->buf->id;
    }
    return true;
}

DYNC__BUSY static void dync__fuse_emit_item(dync__kernel *k, const dync__fuse_item *item,
                                            dync__fuse_job *job, int number)
{
    dync__inst in = item->in;
    for (int a = 0; a < 3; a++)
        if (in.arg[a] >= 0) in.arg[a] = job->number.at[in.arg[a]];
    if (item->buf) {
        int mode = dync__fuse_is_store(in.prim) ? DYNC__BUF_OUT : DYNC__BUF_IN;
        in.buf = dync__kernel_buf(k, item->buf->id, item->buf->dtype, mode, item->buf->size,
                                  item->buf->name);
    }
    if (in.access >= 0) in.access = dync__kernel_access_of(k, item->access);
    if (in.prim == DYNC__P_random) k->uses_random = true;
    job->number.at[number] = k->inst.n;
    if (!dync__fuse_is_brief(job))
        k->settled.at[k->settled.n++] = item->settled && !dync__inst_reordered(&item->in, &in);
    k->inst.at[k->inst.n++] = in;
}

/* The live items as k's instructions, by section and within one in their order. */
DYNC__BUSY static void dync__fuse_emit_all(dync__fuse_job *job, dync__kernel *k)
{
    int32_t first[DYNC__FUSE_SECTIONS], last[DYNC__FUSE_SECTIONS];
    int n = 0;
    for (int s = 0; s < DYNC__FUSE_SECTIONS; s++) first[s] = last[s] = -1;
    for (int i = 0; i < job->item.n; i++) {
        int s = job->item.at[i].in.section;
        if (job->item.at[i].dead) continue;
        job->item.at[i].next = -1;
        *(first[s] < 0 ? &first[s] : &job->item.at[last[s]].next) = i;
        last[s] = i;
        n++;
    }
    k->failed = !dync__avec_reserve(k->arena, &k->inst, n) ||
                (!dync__fuse_is_brief(job) && !dync__avec_reserve(k->arena, &k->settled, n));
    for (int s = 0; s < DYNC__FUSE_SECTIONS && !k->failed; s++)
        for (int i = first[s]; i >= 0; i = job->item.at[i].next)
            dync__fuse_emit_item(k, &job->item.at[i], job, i);
}

/* The live items by section, and within one in their order, as a kernel in job->arena, simplified.
 * NULL: no memory (job->no_memory), a scan along more than one inner loop, bad rows. */
static dync__kernel *dync__fuse_emit(dync__fuse_job *job, const dync__nest *nest, const char *name)
{
    dync__kernel *k = dync__kernel_new(job->arena, name, nest->n_outer, nest->n, nest->extent);
    job->number.n = 0;
    job->no_memory = !k || !dync__vec_reserve(&job->number, job->item.n);
    if (job->no_memory) return NULL;
    job->number.n = job->item.n;
    memset(job->number.at, -1, (size_t)job->item.n * sizeof *job->number.at);
    dync__fuse_emit_all(job, k);
    for (int i = 0; i < 2 && job->from[i]; i++) dync__kernel_bounds_of(k, job->from[i]);
    if (!dync__fuse_is_brief(job)) {
        if (!k->failed) dync__kernel_simplify_again(k);
        if (!k->failed) dync__kernel_drop_bufs(k);
        if (!k->failed) dync__kernel_collapse(k);
    }
    job->no_memory = k->failed;
    if (k->failed) return NULL;
    for (int i = 0; i < k->inst.n && k->n_dims - k->n_outer > 1; i++)
        /* code carries its sum along one loop */
        if (k->inst.at[i].prim == DYNC__P_scan) return NULL;
    if (!DYNC__LEFT_OUT(DYNC_NO_JIT) && dync__fuse_bad_rows(job, k)) return NULL;
    DYNC__ASSERT(dync__kernel_check(k) == DYNC_OK);
    return k;
}

/* From resolved items to a kernel, or NULL: beyond the limits, no order of sections, a value that
 * could be recomputed after its source was overwritten, or no memory. */
DYNC__FN dync__kernel *dync__fuse_finish(dync__fuse_job *job, const dync__nest *nest,
                                         const char *name)
{
    int live = dync__fuse_sweep(job);
    if (!dync__fuse_limits(job, nest, live) || !dync__fuse_place_all(job, nest)) return NULL;
    for (int i = 0; i < job->item.n; i++) {
        const dync__fuse_item *item = &job->item.at[i];
        if (!item->dead && dync__fuse_is_store(item->in.prim) && !dync__fuse_recompute_safe(job, i))
            return NULL;
    }
    return dync__fuse_emit(job, nest, name);
}

DYNC__FN dync__kernel *dync__fuse_alone(dync__fuse_job *job, const dync__kernel *k)
{
    dync__fuse_frame *f = &job->frame;
    bool pointwise = dync__fuse_is_pointwise(k);
    job->from[0] = k;
    job->from[1] = NULL;
    dync__frame_start(f, k);
    if (pointwise) f->nest.n_outer = 0;
    job->item.n = 0;
    if (!dync__fuse_add(job, f, k, -1, pointwise ? DYNC__FUSE_PHASE : DYNC__FUSE_OWN, true, false))
        return NULL;
    dync__fuse_sweep(job);
    if (!dync__fuse_place_all(job, &f->nest)) return NULL;
    return dync__fuse_emit(job, &f->nest, k->name);
}

/* ---- merging on one domain ------------------------------------------------------------------- */

/* The host gives the loops, the guest's are mapped onto them. guest_first: the guest ran first. */
typedef struct dync__fuse_roles {
    const dync__kernel *host, *guest;
    bool guest_first, host_pointwise, guest_pointwise;
} dync__fuse_roles;

/* Where the guest goes once its loops are known; false: the domains differ. A guest with rows of
 * its own must match the host's rows and inner loops one by one; a pointwise one may stand at the
 * rows (from_row: preferred, as it reads a row's value) or in the inner loops. backwards: its loops
 * may run against the host's. */
static bool dync__fuse_find_place(dync__fuse_frame *f, const dync__fuse_roles *r, bool from_row,
                                  bool backwards, dync__fuse_place *place)
{
    int n = r->guest->n_dims, n_outer = r->guest->n_outer;
    bool solved = true;
    for (int g = 0; g < n; g++) solved &= f->map[0].solved[g];
    if (!r->guest_pointwise) {
        *place = DYNC__FUSE_OWN;
        return dync__map_complete(f, 0) &&
               dync__map_covers(f, 0, 0, n_outer, 0, f->nest.n_outer, DYNC__ORDER_FORWARD) &&
               dync__map_covers(f, 0, n_outer, n, f->nest.n_outer, f->nest.n,
                                dync__fuse_order_matters(r->guest) ? DYNC__ORDER_SAME
                                                                   : DYNC__ORDER_FORWARD);
    }
    bool row = !r->host_pointwise && solved &&
               dync__map_covers(f, 0, 0, n, 0, f->nest.n_outer, DYNC__ORDER_FORWARD);
    *place = row && from_row ? DYNC__FUSE_ROW : DYNC__FUSE_PHASE;
    if (*place == DYNC__FUSE_ROW) return true;
    if (dync__map_complete(f, 0) &&
        dync__map_covers(f, 0, 0, n, 0, f->nest.n,
                         backwards ? DYNC__ORDER_ANY : DYNC__ORDER_FORWARD))
        return true;
    *place = DYNC__FUSE_ROW;
    return row;
}

/* One long row keeps one thread busy: a second pass over it is better a kernel of its own, which
 * splits. */
static bool dync__fuse_is_serial(const dync__fuse_job *job, const dync__nest *nest)
{
    bool serial = false;
    for (int i = 0; i < job->item.n; i++)
        serial |= !job->item.at[i].dead && job->item.at[i].in.section >= 3;
    return serial && dync__sz_lt(dync__fuse_size(nest->extent, 0, nest->n_outer), 8) &&
           dync__sz_lt(DYNC__FUSE_SERIAL, dync__fuse_size(nest->extent, nest->n_outer, nest->n));
}

DYNC__FN const char *dync__fuse_name(dync__arena *arena, const char *a, const char *b)
{
    size_t n = strlen(a);
    if (n + strlen(b) > 60 || strcmp(a, b) == 0) return n >= strlen(b) ? a : b;
    const char *name = dync__arena_printf(arena, "%s_%s", a, b);
    return name ? name : a;
}

/* Tries the map that makes access h of the host and access g of the guest the same place. NULL: not
 * with this map, or job->no_memory. */
static dync__kernel *dync__fuse_try(dync__fuse_job *job, const dync__fuse_roles *r,
                                    const dync__inst *h, const dync__inst *g)
{
    dync__fuse_frame *f = &job->frame;
    dync__fuse_place place;
    dync__frame_start(f, r->host);
    if (r->host_pointwise) f->nest.n_outer = 0;
    dync__frame_add_map(f, r->guest);
    if (!dync__map_solve(f, 0, dync__nest_access(&f->nest, &r->host->access.at[h->access]),
                         &r->guest->access.at[g->access]))
        return NULL;
    /* what flips a scan's result */
    bool backwards = !r->host_pointwise && !r->guest_first && dync__fuse_is_store(h->prim);
    if (!dync__fuse_find_place(f, r, !r->host_pointwise && !(h->section & 1), backwards, &place))
        return NULL;
    dync__fuse_place own = r->host_pointwise ? DYNC__FUSE_PHASE : DYNC__FUSE_OWN;
    job->item.n = 0;
    for (int turn = 0; turn < 2; turn++) {
        bool guest = (turn == 0) == r->guest_first;
        if (!dync__fuse_add(job, f, guest ? r->guest : r->host, guest ? 0 : -1, guest ? place : own,
                            turn == 0, false))
            return NULL;
    }
    if (!dync__fuse_resolve(job, &f->nest)) return NULL;
    int live = dync__fuse_sweep(job);
    if (!dync__fuse_limits(job, &f->nest, live)) return NULL;
    for (int i = 0; i < job->item.n && r->guest_pointwise && !r->host_pointwise; i++) {
        const dync__fuse_item *item = &job->item.at[i];
        if (item->dead || !dync__fuse_is_store(item->in.prim) || item->first != r->guest_first)
            continue;
        if (dync__fuse_bad_layout(&f->nest, item)) return NULL;
    }
    const dync__kernel *first = r->guest_first ? r->guest : r->host,
                       *second = r->guest_first ? r->host : r->guest;
    dync__kernel *k =
        dync__fuse_finish(job, &f->nest, dync__fuse_name(job->arena, first->name, second->name));
    return k && dync__fuse_is_serial(job, &f->nest) ? NULL : k;
}

/* Does the pair of accesses tie the kernels? rank 0: the first stores what the second loads; 1:
 * both load it; 2: the rest */
static int dync__fuse_link_rank(const dync__fuse_roles *r, const dync__inst *h, const dync__inst *g)
{
    if (dync__fuse_is_indexed(h->prim) || dync__fuse_is_indexed(g->prim)) return -1;
    bool host_stores = dync__fuse_is_store(h->prim), guest_stores = dync__fuse_is_store(g->prim);
    if (!host_stores && !guest_stores) return 1;
    return host_stores != guest_stores && guest_stores == r->guest_first ? 0 : 2;
}

/* A pointwise first kernel is the guest, else the second is. Pairs of accesses are tried in order
 * of rank, eight at most: each try costs a merged kernel. */
DYNC__FN dync__kernel *dync__fuse_pair(dync__fuse_job *job, const dync__kernel *first,
                                       const dync__kernel *second)
{
    dync__fuse_traits a = dync__fuse_traits_of(first), b = dync__fuse_traits_of(second);
    bool guest_first = a.pointwise;
    dync__fuse_roles r = {guest_first ? second : first, guest_first ? first : second, guest_first,
                          guest_first ? b.pointwise : a.pointwise,
                          guest_first ? a.pointwise : b.pointwise};
    int tries = 8;
    if (a.tangled || b.tangled || a.empty || b.empty || (guest_first ? a.scatters : b.scatters))
        return NULL;
    if (first->inst.n + second->inst.n > 2 * job->max_insts ||
        !dync__fuse_same_dtypes(first, second) || dync__fuse_makes_indices(first, second))
        return NULL;
    job->from[0] = first;
    job->from[1] = second;
    for (int rank = 0; rank < 3; rank++)
        for (int i = 0; i < r.host->inst.n; i++)
            for (int j = 0; j < r.guest->inst.n && r.host->inst.at[i].buf >= 0 && tries > 0; j++) {
                const dync__inst *h = &r.host->inst.at[i], *g = &r.guest->inst.at[j];
                if (g->buf < 0 || r.host->buf.at[h->buf].id != r.guest->buf.at[g->buf].id) continue;
                if (dync__fuse_link_rank(&r, h, g) != rank) continue;
                dync__kernel *k = dync__fuse_try(job, &r, h, g);
                if (k || job->no_memory) return k;
                tries--;
            }
    return NULL;
}
