/* loop/fuse_inline.c: a kernel that reads what another stores, through any map of indices, computes
 * it itself. After fuse_merge.c, before fuse.c, which weighs the work against the memory. */
#include "../dync.in.h"
#include "fuse.h"
DYNC__LEAN

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
