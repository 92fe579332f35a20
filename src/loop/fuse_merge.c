/* loop/fuse_merge.c: two kernels become one. After fuse_map.c (where the guest's loops are), before
 * fuse.c (which pairs, and order).
 *
 * Both bodies become one list of items over the merged nest, first kernel first. Then: loads of
 * what the first kernel stored take its value (rounded as the buffer would have); every item gets
 * the earliest section its operands allow, and loads sink to their first use; stores that nobody
 * needs go. So softmax's four kernels end as three phases over rows without any rule about softmax.
 * Refused is whatever could differ by a bit: overlapping accesses that are not equal, index orders
 * that a reduction could see, values that a generator may recompute after their source was
 * overwritten. */
#include "../dync.in.h"
#include "fuse.h"
DYNC__LEAN

/* Where a kernel's instructions go in the merged nest: OWN: row code stays row code and phases stay
 * phases; ROW: all of it is done once a row; PHASE: all of it in the inner loops. */
typedef enum { DYNC__FUSE_OWN, DYNC__FUSE_ROW, DYNC__FUSE_PHASE } dync__fuse_place;

static bool dync__fuse_is_store(int prim)
{
    return prim == DYNC__P_store || prim == DYNC__P_storex;
}

static bool dync__fuse_is_indexed(int prim)
{
    return prim == DYNC__P_loadx || prim == DYNC__P_storex;
}

static int64_t dync__fuse_size(const int64_t *extent, int from, int to)
{
    int64_t n = 1;
    for (int d = from; d < to; d++) n = dync__sz_mul(n, extent[d]);
    return n;
}

DYNC__FN int64_t dync__fuse_domain(const dync__kernel *k)
{
    return dync__fuse_size(k->extent, 0, k->n_dims);
}

/* ---- what a kernel is ------------------------------------------------------------------------ */

/* Does store i make the order of its own kernel's indices matter? So it does where two indices
 * store to one place, where it scatters, or where the kernel reads the buffer at another index or
 * after the store. Such kernels are never merged. */
static bool dync__fuse_store_tangles(const dync__kernel *k, int i)
{
    const dync__inst *store = &k->inst.at[i];
    const dync__access *acc = &k->access.at[store->access];
    int n = store->section & 1 ? k->n_dims : k->n_outer;
    bool scatter = store->prim == DYNC__P_storex;
    if (!scatter && !dync__access_injective(acc, n, k->extent)) return true;
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

/* pointwise: no reduction, no scan, and no store from row code unless a row is one element. */
DYNC__FN dync__fuse_traits dync__fuse_traits_of(const dync__kernel *k)
{
    dync__fuse_traits t = {true, false, false, false};
    bool one_index = dync__fuse_size(k->extent, k->n_outer, k->n_dims) == 1;
    for (int d = 0; d < k->n_dims; d++) t.empty |= k->extent[d] <= 0;
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        bool store = dync__fuse_is_store(in->prim);
        if (in->prim == DYNC__P_reduce || in->prim == DYNC__P_scan ||
            (store && !(in->section & 1) && !one_index))
            t.pointwise = false;
        if (in->prim == DYNC__P_storex) t.scatters = true;
        if (store && !t.tangled) t.tangled = dync__fuse_store_tangles(k, i);
    }
    return t;
}

/* A slot may be seen as two dtypes, which one kernel cannot express. */
static bool dync__fuse_same_dtypes(const dync__kernel *a, const dync__kernel *b)
{
    for (int i = 0; i < a->buf.n; i++)
        for (int j = 0; j < b->buf.n; j++)
            if (a->buf.at[i].id == b->buf.at[j].id && a->buf.at[i].dtype != b->buf.at[j].dtype)
                return false;
    return true;
}

/* Does the first kernel write indices that the second one's bounds speak of? They are looked at
 * before a kernel runs. */
static bool dync__fuse_makes_indices(const dync__kernel *first, const dync__kernel *second)
{
    for (int b = 0; b < second->bound.n; b++)
        for (int i = 0; i < first->buf.n; i++)
            if ((first->buf.at[i].mode & DYNC__BUF_OUT) &&
                first->buf.at[i].id == second->buf.at[second->bound.at[b].buf].id)
                return true;
    return false;
}

/* Would another order of the inner loops show in the result? */
static bool dync__fuse_order_matters(const dync__kernel *k)
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

/* ---- items ----------------------------------------------------------------------------------- */

static int dync__fuse_push(dync__fuse_job *job, const dync__fuse_item *item)
{
    if (!dync__vec_push(&job->item, *item)) {
        job->no_memory = true;
        return -1;
    }
    return job->item.n - 1;
}

/* Appends k's instructions; map < 0: k is the host. only: those with job->number >= 0, which become
 * their item numbers. */
static bool dync__fuse_add(dync__fuse_job *job, const dync__fuse_frame *f, const dync__kernel *k,
                           int map, dync__fuse_place place, bool first, bool only)
{
    job->number.n = only ? job->number.n : 0;
    for (int i = 0; i < k->inst.n; i++) {
        if (!only && !dync__vec_push(&job->number, 0)) return !(job->no_memory = true);
        if (job->number.at[i] < 0) continue;
        dync__fuse_item item;
        memset(&item, 0, sizeof item);
        item.in = k->inst.at[i];
        item.same_as = -1;
        item.first = first;
        item.row = place == DYNC__FUSE_ROW || (place == DYNC__FUSE_OWN && !(item.in.section & 1));
        for (int a = 0; a < 3; a++)
            if (item.in.arg[a] >= 0) item.in.arg[a] = job->number.at[item.in.arg[a]];
        if (item.in.buf >= 0) item.buf = &k->buf.at[item.in.buf];
        if (item.in.access >= 0) {
            const dync__access *acc = &k->access.at[item.in.access];
            item.access = map < 0 ? dync__nest_access(&f->nest, acc)
                                  : dync__map_access(&f->map[map], f->nest.n, acc);
        }
        job->number.at[i] = dync__fuse_push(job, &item);
        if (job->no_memory) return false;
    }
    return true;
}

/* Item `load` takes the value of item `value`, as the buffer would have given it back. */
static void dync__fuse_forward(dync__fuse_job *job, int load, int value)
{
    dync__fuse_item *item = &job->item.at[load];
    const dync__fuse_item *from = &job->item.at[value];
    int dtype = item->buf->dtype;
    item->row = from->row || from->in.prim == DYNC__P_reduce;
    item->buf = NULL;
    if (dync__dtype_info(dtype)->compute == dtype) {
        item->same_as = value;
        return;
    }
    const char *origin = item->in.origin;
    item->in = dync__inst_make(DYNC__P_wrap, from->in.type, value, -1, -1);
    item->in.imm.i = dtype;
    item->in.origin = origin;
}

/* ---- dependences between the two ------------------------------------------------------------- */

/* The item of the first kernel whose store item i (a load of the second) sees: -1 none, -2 not to
 * be had.
 */
static int dync__fuse_source(const dync__fuse_job *job, const dync__nest *nest, int i)
{
    const dync__fuse_item *load = &job->item.at[i];
    int source = -1;
    for (int j = 0; j < i && job->item.at[j].first; j++) {
        const dync__fuse_item *store = &job->item.at[j];
        if (!store->buf || store->buf->id != load->buf->id || !dync__fuse_is_store(store->in.prim))
            continue;
        if (dync__fuse_is_indexed(store->in.prim) || dync__fuse_is_indexed(load->in.prim))
            return -2;
        if (!dync__access_overlap(&store->access, nest->n, nest->extent, &load->access, nest->n,
                                  nest->extent))
            continue;
        int n = store->row ? nest->n_outer : nest->n;
        if (!dync__access_equal(&store->access, &load->access, nest->n, nest->extent) ||
            (load->row && !store->row) ||
            !dync__access_injective(&store->access, n, nest->extent) ||
            store->in.type != load->in.type)
            return -2;
        source = j;
    }
    return source;
}

/* May item i (a store of the second kernel) share a nest with what the first does to its buffer?
 * Kills stores it covers. */
static bool dync__fuse_may_store(dync__fuse_job *job, const dync__nest *nest, int i)
{
    const dync__fuse_item *store = &job->item.at[i];
    for (int j = 0; j < i && job->item.at[j].first; j++) {
        dync__fuse_item *before = &job->item.at[j];
        if (!before->buf || before->buf->id != store->buf->id) continue;
        if (dync__fuse_is_indexed(store->in.prim) || dync__fuse_is_indexed(before->in.prim))
            return false;
        if (!dync__access_overlap(&store->access, nest->n, nest->extent, &before->access, nest->n,
                                  nest->extent))
            continue;
        if (!dync__access_equal(&store->access, &before->access, nest->n, nest->extent) ||
            store->row != before->row ||
            !dync__access_injective(&store->access, store->row ? nest->n_outer : nest->n,
                                    nest->extent))
            return false;
        if (dync__fuse_is_store(before->in.prim)) before->dead = true;
    }
    return true;
}

/* The second kernel's loads take the values that the first stored, and its stores are checked.
 * False: the kernels cannot share this nest; the items are then of no use. */
static bool dync__fuse_resolve(dync__fuse_job *job, const dync__nest *nest)
{
    for (int i = 0; i < job->item.n; i++) {
        dync__fuse_item *item = &job->item.at[i];
        for (int a = 0; a < 3; a++)
            if (item->in.arg[a] >= 0 && job->item.at[item->in.arg[a]].same_as >= 0)
                item->in.arg[a] = job->item.at[item->in.arg[a]].same_as;
        if (item->first || !item->buf) continue;
        if (dync__fuse_is_store(item->in.prim)) {
            if (!dync__fuse_may_store(job, nest, i)) return false;
            continue;
        }
        int source = dync__fuse_source(job, nest, i);
        if (source == -2) return false;
        if (source >= 0) dync__fuse_forward(job, i, job->item.at[source].in.arg[0]);
    }
    return true;
}

/* ---- dead stores and values ------------------------------------------------------------------ */

static bool dync__fuse_loaded_after(const dync__fuse_job *job, int i)
{
    for (int j = i + 1; j < job->item.n; j++) {
        const dync__fuse_item *item = &job->item.at[j];
        if (item->buf && item->buf->id == job->item.at[i].buf->id &&
            !dync__fuse_is_store(item->in.prim))
            return true;
    }
    return false;
}

/* Marks what no store needs; gives the number of live items. */
static int dync__fuse_sweep(dync__fuse_job *job)
{
    int live = 0;
    for (int i = 0; i < job->item.n; i++) {
        dync__fuse_item *item = &job->item.at[i];
        bool store = dync__fuse_is_store(item->in.prim);
        if (!store || (!job->needed(job->user, item->buf->id) && !dync__fuse_loaded_after(job, i)))
            item->dead = true;
    }
    for (int i = job->item.n - 1; i >= 0; i--) {
        const dync__fuse_item *item = &job->item.at[i];
        if (item->dead) continue;
        live++;
        for (int a = 0; a < 3; a++)
            if (item->in.arg[a] >= 0) job->item.at[item->in.arg[a]].dead = false;
    }
    return live;
}

/* ---- sections -------------------------------------------------------------------------------- */

/* Section 2 p is row code before phase p, 2 p + 1 is phase p; a reduction's value is there from the
 * section after it on. */

static bool dync__fuse_varies_inside(const dync__nest *nest, const dync__access *acc)
{
    for (int d = nest->n_outer; d < nest->n; d++)
        if (nest->extent[d] > 1 && !dync__sz_eq(acc->stride[d], 0)) return true;
    return false;
}

static bool dync__fuse_is_row_value(const dync__fuse_item *item)
{
    return item->row || item->in.prim == DYNC__P_reduce;
}

static bool dync__fuse_stored(const dync__fuse_job *job, int32_t id)
{
    for (int i = 0; i < job->item.n; i++) {
        const dync__fuse_item *item = &job->item.at[i];
        if (!item->dead && item->buf && item->buf->id == id && dync__fuse_is_store(item->in.prim))
            return true;
    }
    return false;
}

/* What is the same along a row is computed once per row. */
static void dync__fuse_hoist(dync__fuse_job *job, const dync__nest *nest)
{
    for (int i = 0; i < job->item.n; i++) {
        dync__fuse_item *item = &job->item.at[i];
        if (item->dead || item->row || item->in.prim == DYNC__P_reduce ||
            item->in.prim == DYNC__P_scan || dync__fuse_is_store(item->in.prim))
            continue;
        bool same = item->in.access < 0 || !dync__fuse_varies_inside(nest, &item->access);
        for (int a = 0; a < 3 && same; a++)
            same = item->in.arg[a] < 0 || dync__fuse_is_row_value(&job->item.at[item->in.arg[a]]);
        item->row = same && !(item->buf && dync__fuse_stored(job, item->buf->id));
    }
}

/* The first section of item's kind, not before s. */
static int dync__fuse_round(const dync__fuse_item *item, int s)
{
    return item->row ? s + (s & 1) : s | 1;
}

/* The earliest section: operands there, accesses to one buffer in their order. -1: row code would
 * need a phase value. */
static int dync__fuse_earliest(const dync__fuse_job *job, int i)
{
    const dync__fuse_item *item = &job->item.at[i];
    int s = 0;
    for (int a = 0; a < 3; a++) {
        if (item->in.arg[a] < 0) continue;
        const dync__fuse_item *arg = &job->item.at[item->in.arg[a]];
        if (item->row && !dync__fuse_is_row_value(arg)) return -1;
        s = DYNC__MAX(s, arg->in.section + (arg->in.prim == DYNC__P_reduce));
    }
    for (int j = 0; j < i && item->buf; j++) {
        const dync__fuse_item *before = &job->item.at[j];
        if (before->dead || !before->buf || before->buf->id != item->buf->id) continue;
        if (dync__fuse_is_store(item->in.prim) || dync__fuse_is_store(before->in.prim))
            s = DYNC__MAX(s, before->in.section);
    }
    return dync__fuse_round(item, s);
}

/* Values sink to the phase of their first use, so that less is kept from phase to phase; never past
 * a store to their buffer. */
static void dync__fuse_sink(dync__fuse_job *job)
{
    job->number.n = 0; /* number[i]: the first section that uses item i */
    for (int i = 0; i < job->item.n; i++)
        if (!dync__vec_push(&job->number, INT16_MAX)) {
            job->no_memory = true;
            return;
        }
    for (int i = job->item.n - 1; i >= 0; i--) {
        dync__fuse_item *item = &job->item.at[i];
        if (item->dead) continue;
        int late = job->number.at[i];
        if (item->row || late == INT16_MAX || item->in.prim == DYNC__P_reduce)
            late = item->in.section;
        for (int j = i + 1; j < job->item.n && item->buf; j++) {
            const dync__fuse_item *after = &job->item.at[j];
            bool ordered = !after->dead && after->buf && after->buf->id == item->buf->id &&
                           dync__fuse_is_store(after->in.prim);
            if (ordered) late = DYNC__MIN(late, after->in.section);
        }
        if (!(late & 1) && !item->row) late--;
        item->in.section = (int16_t)DYNC__MAX(late, item->in.section);
        for (int a = 0; a < 3; a++)
            if (item->in.arg[a] >= 0 && item->in.section < job->number.at[item->in.arg[a]])
                job->number.at[item->in.arg[a]] = item->in.section;
    }
}

/* Gives every live item its section. Without row values all is one phase. False: row code would
 * need a phase value, too many sections, or no memory (job->no_memory). */
static bool dync__fuse_place_all(dync__fuse_job *job, const dync__nest *nest)
{
    bool rows = false;
    for (int i = 0; i < job->item.n; i++) {
        const dync__fuse_item *item = &job->item.at[i];
        rows |= !item->dead &&
                (item->row || item->in.prim == DYNC__P_reduce || item->in.prim == DYNC__P_scan);
    }
    if (rows) dync__fuse_hoist(job, nest);
    for (int i = 0; i < job->item.n; i++) {
        dync__fuse_item *item = &job->item.at[i];
        if (item->dead) continue;
        int s = rows ? dync__fuse_earliest(job, i) : 1;
        if (s < 0 || s > 100) return false;
        item->in.section = (int16_t)s;
    }
    if (rows) dync__fuse_sink(job);
    return !job->no_memory;
}

/* A generator may recompute a phase value in a later phase instead of keeping it. Would it read
 * what was overwritten meanwhile? */
static bool dync__fuse_recompute_safe(dync__fuse_job *job, int store)
{
    const dync__fuse_item *s = &job->item.at[store];
    job->number.n = 0; /* number[i]: item i depends on the old content */
    for (int i = 0; i < job->item.n; i++) {
        const dync__fuse_item *item = &job->item.at[i];
        bool old = !item->dead && !item->row && item->buf && item->buf->id == s->buf->id &&
                   !dync__fuse_is_store(item->in.prim);
        for (int a = 0; a < 3 && !item->dead; a++) {
            int arg = item->in.arg[a];
            if (arg < 0 || !job->number.at[arg]) continue;
            bool after = item->in.section > s->in.section ||
                         (item->in.section == s->in.section && i > store);
            if (after && job->item.at[arg].in.section < item->in.section) return false;
            old |= item->in.prim != DYNC__P_reduce;
        }
        if (!dync__vec_push(&job->number, old)) return !(job->no_memory = true);
    }
    return true;
}

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
                stride = dync__sz_abs(item->access.stride[d]);
        if (nest->extent[d] <= 1 || !(*least == DYNC__SZ_MOST || dync__sz_lt(stride, *least)))
            continue;
        *least = stride;
        if (d < nest->n_outer) side_by_side = nest->extent[d];
    }
    return outer != DYNC__SZ_MOST && (inner == DYNC__SZ_MOST || dync__sz_lt(outer, inner)) &&
           dync__sz_lt(side_by_side, DYNC__FUSE_SIDE_BY_SIDE);
}

/* Not more instructions than the job allows, nor more buffers than DYNC__FUSE_BUFS. */
static bool dync__fuse_limits(dync__fuse_job *job, int live)
{
    int32_t id[DYNC__FUSE_BUFS];
    int n = 0;
    if (live > job->max_insts) return false;
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

static void dync__fuse_emit_item(dync__kernel *k, dync__fuse_item *item, dync__fuse_job *job,
                                 int number)
{
    dync__inst in = item->in;
    for (int a = 0; a < 3; a++)
        if (in.arg[a] >= 0) in.arg[a] = job->number.at[in.arg[a]];
    if (item->buf) {
        int mode = dync__fuse_is_store(in.prim) ? DYNC__BUF_OUT : DYNC__BUF_IN;
        in.buf = dync__kernel_buf(k, item->buf->id, item->buf->dtype, mode, item->buf->size,
                                  item->buf->name);
    }
    if (in.access >= 0) in.access = dync__kernel_access_of(k, &item->access);
    if (in.prim == DYNC__P_random) k->uses_random = true;
    job->number.at[number] = k->inst.n;
    if (!k->failed && !dync__avec_push(k->arena, &k->inst, in)) k->failed = true;
}

/* The live items by section, and within one in their order, as a kernel in job->arena, simplified.
 * NULL: no memory (job->no_memory), or a scan along more than one inner loop. */
static dync__kernel *dync__fuse_emit(dync__fuse_job *job, const dync__nest *nest, const char *name)
{
    dync__kernel *k = dync__kernel_new(job->arena, name, nest->n_outer, nest->n, nest->extent);
    int last = 0;
    job->no_memory = !k;
    job->number.n = 0;
    for (int i = 0; i < job->item.n && !job->no_memory; i++) {
        if (!job->item.at[i].dead) last = DYNC__MAX(last, job->item.at[i].in.section);
        if (!dync__vec_push(&job->number, -1)) job->no_memory = true;
    }
    if (job->no_memory) return NULL;
    for (int s = 0; s <= last; s++)
        for (int i = 0; i < job->item.n; i++)
            if (!job->item.at[i].dead && job->item.at[i].in.section == s)
                dync__fuse_emit_item(k, &job->item.at[i], job, i);
    for (int i = 0; i < 2 && job->from[i]; i++) dync__kernel_bounds_of(k, job->from[i]);
    if (!k->failed) dync__kernel_simplify(k);
    if (!k->failed) dync__kernel_collapse(k);
    job->no_memory = k->failed;
    if (k->failed) return NULL;
    for (int i = 0; i < k->inst.n && k->n_dims - k->n_outer > 1; i++)
        /* code carries its sum along one loop */
        if (k->inst.at[i].prim == DYNC__P_scan) return NULL;
    DYNC__ASSERT(dync__kernel_check(k) == DYNC_OK);
    return k;
}

/* From resolved items to a kernel, or NULL: beyond the limits, no order of sections, a value that
 * could be recomputed after its source was overwritten, or no memory. */
static dync__kernel *dync__fuse_finish(dync__fuse_job *job, const dync__nest *nest,
                                       const char *name)
{
    int live = dync__fuse_sweep(job);
    if (!dync__fuse_limits(job, live) || !dync__fuse_place_all(job, nest)) return NULL;
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
    bool pointwise = dync__fuse_traits_of(k).pointwise;
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

static const char *dync__fuse_name(dync__arena *arena, const char *a, const char *b)
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
    if (!dync__fuse_limits(job, live)) return NULL;
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

/* ---- inlining through a map ------------------------------------------------------------------ */

/* job->number: 0 for the instructions that the value stored to buf_id needs, else -1. Gives the
 * store, or -1: none or no expression. */
static int dync__fuse_slice(dync__fuse_job *job, const dync__kernel *k, int32_t buf_id)
{
    int store = -1;
    job->number.n = 0;
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (!dync__vec_push(&job->number, -1)) {
            job->no_memory = true;
            return -1;
        }
        if (in->buf < 0 || k->buf.at[in->buf].id != buf_id) continue;
        if (in->prim != DYNC__P_store || store >= 0) return -1;
        store = i;
    }
    if (store < 0) return -1;
    job->number.at[k->inst.at[store].arg[0]] = 0;
    for (int i = store - 1; i >= 0; i--)
        for (int a = 0; a < 3; a++)
            if (job->number.at[i] >= 0 && k->inst.at[i].arg[a] >= 0)
                job->number.at[k->inst.at[i].arg[a]] = 0;
    return store;
}

DYNC__FN int dync__fuse_inline_cost(dync__fuse_job *job, const dync__kernel *first, int32_t buf_id,
                                    int *n_loads)
{
    int cost = 0;
    *n_loads = 0;
    if (dync__fuse_slice(job, first, buf_id) < 0) return -1;
    const bool *number = dync__kernel_numbers(first, job->arena);
    for (int i = 0; i < first->inst.n; i++) {
        if (job->number.at[i] < 0) continue;
        const dync__inst *in = &first->inst.at[i];
        if (in->buf < 0)
            cost += number && number[i] ? 0 : dync__cost_inst(in);
        else
            ++*n_loads, cost += first->access.at[in->access].rows ? DYNC__COST_ROWS : 0;
    }
    return cost;
}

/* The distinct accesses by which k loads buf_id, in order of first use. */
static int dync__fuse_loads(const dync__kernel *k, int32_t buf_id, int *access, bool *row)
{
    int n = 0;
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (in->buf < 0 || k->buf.at[in->buf].id != buf_id) continue;
        if (in->prim != DYNC__P_load) return -1;
        int m = 0;
        while (m < n && access[m] != in->access) m++;
        if (m == DYNC__FUSE_MAPS) return -1;
        row[m] = (m == n || row[m]) && !(in->section & 1);
        access[m] = in->access;
        n = DYNC__MAX(n, m + 1);
    }
    return n;
}

DYNC__FN int64_t dync__fuse_inline_work(const dync__kernel *second, int32_t buf_id)
{
    int access[DYNC__FUSE_MAPS], n;
    bool row[DYNC__FUSE_MAPS];
    int64_t work = 0;
    n = dync__fuse_loads(second, buf_id, access, row);
    for (int m = 0; m < n; m++)
        work = dync__sz_add(
            work, dync__fuse_size(second->extent, 0, row[m] ? second->n_outer : second->n_dims));
    return n < 0 ? -1 : work;
}

/* Does k write anything that the slice of first (job->number) reads? Then it cannot be read later
 * or elsewhere. */
static bool dync__fuse_overwrites(const dync__fuse_job *job, const dync__kernel *first,
                                  const dync__kernel *k)
{
    for (int i = 0; i < first->inst.n; i++)
        for (int j = 0; j < k->inst.n && job->number.at[i] >= 0 && first->inst.at[i].buf >= 0;
             j++) {
            const dync__inst *in = &k->inst.at[j];
            if (dync__fuse_is_store(in->prim) &&
                k->buf.at[in->buf].id == first->buf.at[first->inst.at[i].buf].id)
                return true;
        }
    return false;
}

/* The slice of `first` that makes buf_id is copied once for each different access of `second`;
 * first itself stays as it is. */
DYNC__FN dync__kernel *dync__fuse_inline(dync__fuse_job *job, const dync__kernel *first,
                                         const dync__kernel *second, int32_t buf_id)
{
    dync__fuse_traits a = dync__fuse_traits_of(first), b = dync__fuse_traits_of(second);
    dync__fuse_frame *f = &job->frame;
    int access[DYNC__FUSE_MAPS], value[DYNC__FUSE_MAPS];
    bool row[DYNC__FUSE_MAPS];
    int n = dync__fuse_loads(second, buf_id, access, row),
        store = dync__fuse_slice(job, first, buf_id);
    if (a.tangled || b.tangled || a.empty || b.empty || !a.pointwise || n <= 0 || store < 0)
        return NULL;
    const dync__inst *made = &first->inst.at[store];
    if (!dync__fuse_same_dtypes(first, second) || dync__fuse_makes_indices(first, second))
        return NULL;
    job->from[0] = first;
    job->from[1] = second;
    if (dync__fuse_overwrites(job, first, first) || dync__fuse_overwrites(job, first, second))
        return NULL;
    const dync__access *stored = &first->access.at[made->access];
    dync__frame_start(f, second);
    if (b.pointwise) f->nest.n_outer = 0;
    for (int m = 0; m < n; m++) {
        dync__frame_add_map(f, first);
        if (!dync__map_solve(f, m, dync__nest_access(&f->nest, &second->access.at[access[m]]),
                             stored))
            return NULL;
    }
    job->item.n = 0;
    for (int m = 0; m < n; m++) {
        dync__fuse_slice(job, first, buf_id);
        if (job->no_memory ||
            !dync__fuse_add(job, f, first, m,
                            row[m] && !b.pointwise ? DYNC__FUSE_ROW : DYNC__FUSE_PHASE, true, true))
            return NULL;
        value[m] = job->number.at[made->arg[0]];
    }
    int base = job->item.n;
    if (!dync__fuse_add(job, f, second, -1, b.pointwise ? DYNC__FUSE_PHASE : DYNC__FUSE_OWN, false,
                        false))
        return NULL;
    for (int i = 0; i < second->inst.n; i++) {
        const dync__inst *in = &second->inst.at[i];
        if (in->buf < 0 || second->buf.at[in->buf].id != buf_id) continue;
        int m = 0;
        while (access[m] != in->access) m++;
        dync__fuse_forward(job, base + i, value[m]);
    }
    if (!dync__fuse_resolve(job, &f->nest)) return NULL;
    return dync__fuse_finish(job, &f->nest, dync__fuse_name(job->arena, first->name, second->name));
}
