/* loop/fuse_items.c: the bodies of two kernels as one list of items over the merged nest, first
 * kernel first. After fuse_traits.c, before fuse_merge.c and fuse_inline.c, which fill the list and
 * make a kernel of it.
 *
 * Loads of what the first kernel stored take its value (rounded as the buffer would have); every
 * item gets the earliest section its operands allow, and loads sink to their first use; stores that
 * nobody needs go. So softmax's four kernels end as three phases over rows without any rule about
 * softmax. */
#include "../dync.in.h"
#include "fuse.h"
DYNC__LEAN

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
DYNC__OFTEN DYNC__FN bool dync__fuse_add(dync__fuse_job *job, const dync__fuse_frame *f,
                                         const dync__kernel *k, int map, dync__fuse_place place,
                                         bool first, bool only)
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
        item.settled = !DYNC__FUSE_BRIEF && k->settled.n == k->inst.n && k->settled.at[i];
        if (item.in.access >= 0) {
            const dync__access *acc = &k->access.at[item.in.access];
            dync__access here = map < 0 ? dync__nest_access(&f->nest, acc)
                                        : dync__map_access(&f->map[map], f->nest.n, acc);
            item.access = dync__arena_copy(job->arena, &here, sizeof here);
            if (!item.access) return !(job->no_memory = true);
        }
        job->number.at[i] = dync__fuse_push(job, &item);
        if (job->no_memory) return false;
    }
    return true;
}

/* Item `load` takes the value of item `value`, as the buffer would have given it back. */
DYNC__FN void dync__fuse_forward(dync__fuse_job *job, int load, int value)
{
    dync__fuse_item *item = &job->item.at[load];
    const dync__fuse_item *from = &job->item.at[value];
    int dtype = item->buf->dtype;
    item->row = from->row || from->in.prim == DYNC__P_reduce;
    item->buf = NULL;
    item->settled = false;
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

static uint64_t dync__fuse_buf_bit(const dync__fuse_item *item)
{
    return (uint64_t)1 << (item->buf->id & 63);
}

static void dync__fuse_note_traffic(dync__fuse_traffic *t, const dync__fuse_item *item)
{
    uint64_t bit = item->buf ? dync__fuse_buf_bit(item) : 0;
    if (!dync__fuse_is_store(item->in.prim)) {
        t->loaded |= bit;
        return;
    }
    t->again |= t->stored & bit;
    t->stored |= bit;
}

/* May an item before or after this one touch its buffer, one of both storing? */
static bool dync__fuse_keeps_place(const dync__fuse_traffic *t, const dync__fuse_item *item)
{
    if (!item->buf) return false;
    uint64_t others = dync__fuse_is_store(item->in.prim) ? t->loaded | t->again : t->stored;
    return others & dync__fuse_buf_bit(item);
}

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
        if (!dync__access_overlap(store->access, nest->n, nest->extent, load->access, nest->n,
                                  nest->extent))
            continue;
        int n = store->row ? nest->n_outer : nest->n;
        if (!dync__access_equal(store->access, load->access, nest->n, nest->extent) ||
            (load->row && !store->row) || !dync__access_injective(store->access, n, nest->extent) ||
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
        if (!dync__access_overlap(store->access, nest->n, nest->extent, before->access, nest->n,
                                  nest->extent))
            continue;
        if (!dync__access_equal(store->access, before->access, nest->n, nest->extent) ||
            store->row != before->row ||
            !dync__access_injective(store->access, store->row ? nest->n_outer : nest->n,
                                    nest->extent))
            return false;
        if (dync__fuse_is_store(before->in.prim)) before->dead = true;
    }
    return true;
}

/* The second kernel's loads take the values that the first stored, and its stores are checked.
 * False: the kernels cannot share this nest; the items are then of no use. */
DYNC__FN bool dync__fuse_resolve(dync__fuse_job *job, const dync__nest *nest)
{
    dync__fuse_traffic first = {0};
    for (int i = 0; i < job->item.n; i++) {
        dync__fuse_item *item = &job->item.at[i];
        for (int a = 0; a < 3; a++)
            if (item->in.arg[a] >= 0 && job->item.at[item->in.arg[a]].same_as >= 0) {
                item->in.arg[a] = job->item.at[item->in.arg[a]].same_as;
                item->settled = false;
            }
        if (item->first) dync__fuse_note_traffic(&first, item);
        if (item->first || !item->buf) continue;
        if (!((first.loaded | first.stored) & dync__fuse_buf_bit(item))) continue;
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
DYNC__OFTEN DYNC__FN int dync__fuse_sweep(dync__fuse_job *job)
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

static bool dync__fuse_varies_inside(const dync__fuse_job *job, const dync__nest *nest,
                                     const dync__access *acc)
{
    /* loops of one turn go with collapsing, which a brief job leaves out */
    for (int d = nest->n_outer; d < nest->n; d++)
        if ((nest->extent[d] > 1 || dync__fuse_is_brief(job)) && !dync__sz_eq(acc->stride[d], 0))
            return true;
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
        bool same = item->in.access < 0 || !dync__fuse_varies_inside(job, nest, item->access);
        for (int a = 0; a < 3 && same; a++)
            same = item->in.arg[a] < 0 || dync__fuse_is_row_value(&job->item.at[item->in.arg[a]]);
        item->row = same && !(dync__fuse_keeps_place(&job->traffic, item) &&
                              dync__fuse_stored(job, item->buf->id));
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
    bool ordered = dync__fuse_keeps_place(&job->traffic, item);
    for (int j = 0; j < i && ordered; j++) {
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
        bool ordered = dync__fuse_keeps_place(&job->traffic, item);
        for (int j = i + 1; j < job->item.n && ordered; j++) {
            const dync__fuse_item *after = &job->item.at[j];
            if (!after->dead && after->buf && after->buf->id == item->buf->id &&
                dync__fuse_is_store(after->in.prim))
                late = DYNC__MIN(late, after->in.section);
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
DYNC__FN bool dync__fuse_place_all(dync__fuse_job *job, const dync__nest *nest)
{
    bool rows = false;
    memset(&job->traffic, 0, sizeof job->traffic);
    for (int i = 0; i < job->item.n; i++) {
        const dync__fuse_item *item = &job->item.at[i];
        if (item->dead) continue;
        rows |= item->row || item->in.prim == DYNC__P_reduce || item->in.prim == DYNC__P_scan;
        dync__fuse_note_traffic(&job->traffic, item);
    }
    if (rows) dync__fuse_hoist(job, nest);
    for (int i = 0; i < job->item.n; i++) {
        dync__fuse_item *item = &job->item.at[i];
        if (item->dead) continue;
        int s = rows ? dync__fuse_earliest(job, i) : 1;
        if (s < 0 || s >= DYNC__FUSE_SECTIONS - 1) return false;
        item->in.section = (int16_t)s;
    }
    if (rows) dync__fuse_sink(job);
    return !job->no_memory;
}

/* A generator may recompute a phase value in a later phase instead of keeping it. Would it read
 * what was overwritten meanwhile? */
DYNC__FN bool dync__fuse_recompute_safe(dync__fuse_job *job, int store)
{
    const dync__fuse_item *s = &job->item.at[store];
    if (!(job->traffic.loaded & dync__fuse_buf_bit(s))) return true;
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
