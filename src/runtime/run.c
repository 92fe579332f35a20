/* runtime/run.c: runs a plan: binds slots to memory, runs steps in order. No allocation but one
 * arena block from the thread's cache, and a reserve where inputs are written: once it is there, no
 * step fails for memory, so parameters are not left half updated. After plan.c. */
#include "../dync.in.h"
#include "plan.h"
DYNC__HOT

/* table: by DYNC__SOURCE_ */
typedef struct dync__binding {
    void *const *table[2];
    char *arena;
    uint64_t rng;
} dync__binding;

/* Bounds [from, to): fails at the first index that lies outside. */
static dync_status dync__run_bounds(const dync__plan_step *s, void *const *buffers, int from,
                                    int to)
{
    for (int i = from; i < to; i++) {
        const dync__kcall *check = s->bound[i].check;
        DYNC__TRY(check->row->run(check, &buffers[s->bound[i].at], NULL));
    }
    return DYNC_OK;
}

static dync_status dync__run_step(const dync__plan *p, int i, const dync__binding *b)
{
    const dync__plan_step *s = &p->step[i];
    void *few[64], **buffers = few;
    if (s->n > DYNC__COUNT_OF(few) && !(buffers = dync__alloc((size_t)s->n * sizeof *buffers)))
        return DYNC_ERR_MEMORY;
    const dync__plan_source *from = s->source;
    for (int k = 0; k < s->n; k++, from++) {
        if (from->from == DYNC__SOURCE_INPUTS || from->from == DYNC__SOURCE_OUTPUTS)
            buffers[k] = b->table[from->from][from->at];
        else if (from->from == DYNC__SOURCE_KEPT)
            buffers[k] = p->kept + from->at;
        else
            buffers[k] = from->at >= 0 ? b->arena + from->at : NULL;
    }
    dync_status status = DYNC_OK;
    if (s->n_bounds) status = dync__run_bounds(s, buffers, 0, s->n_bounds - s->looks);
    if (status != DYNC_OK) goto done;
    char *scratch = s->call ? b->arena + p->scratch_offset + dync__plan_scratch_at(p, i) : NULL;
    status = s->call   ? s->call->row->run(s->call, buffers, scratch)
             : s->code ? dync__code_run(s->code, buffers, dync__tls.rng_seed, b->rng)
                       : p->driver->run(s->device_code, buffers, dync__tls.rng_seed, b->rng);
    if (DYNC__UNLIKELY(status == DYNC_ERR_INDEX) && s->looks)
        status = dync__run_bounds(s, buffers, s->n_bounds - 1, s->n_bounds);
done:
    if (buffers != few) dync__free(buffers, (size_t)s->n * sizeof *buffers);
    return status;
}

#if !DYNC__KEPT_NONE
/* What runs once, when the plan is made; then what only that read is given back. */
DYNC__RARE DYNC__FN dync_status dync__kept_run(dync__plan *p)
{
    dync__binding b = {0};
    dync_status status = DYNC_OK;
    for (int i = 0; p->kept && i < p->n_steps && status == DYNC_OK; i++) {
        uint64_t start = dync__now_ns();
        if (!p->step[i].kept) continue;
        status = dync__run_step(p, i, &b);
        if (DYNC__PERF(p)) dync__perf_step(p, i, dync__now_ns() - start);
    }
    if (status != DYNC_OK || p->kept_stays == p->kept_bytes) return status;
    size_t bytes = DYNC__MAX(p->kept_stays, 1);
    char *stays = dync__alloc_data(bytes);
    if (!stays) return DYNC_ERR_MEMORY;
    memcpy(stays, p->kept, p->kept_stays);
    dync__free_data(p->kept, p->kept_bytes);
    p->kept = stays;
    p->kept_bytes = bytes;
    return DYNC_OK;
}
#endif

/* ---- two at a time --------------------------------------------------------------------------- */
typedef struct dync__besides {
    const dync__plan *p;
    const dync__binding *b;
    int at;
    dync_status status[2];
} dync__besides;

static void dync__besides_part(void *user, int part, int n_parts)
{
    dync__besides *w = user;
    dync__error_guard guard;
    (void)n_parts;
    dync__error_guard_begin(&guard);
    w->status[part] = dync__run_step(w->p, w->at + part, w->b);
    dync__error_guard_end(&guard);
}

/* Step i and the next one, by two threads. False: they are to run one after the other, also where
 * one failed, so that its error is this thread's. */
DYNC__RARE static bool dync__run_beside(const dync__plan *p, int i, const dync__binding *b)
{
    const dync__kcall *one = p->step[i].call, *two = p->step[i + 1].call;
    if (p->perf || p->step[i].kept || p->step[i + 1].kept) return false;
    double ns = (one->row->alone(one) + two->row->alone(two)) / DYNC__MACS_PER_NS;
    if (dync__pool_worth(ns) < 2) return false;
    dync__besides both = {p, b, i, {DYNC_OK, DYNC_OK}};
    dync__pool_run(dync__besides_part, &both, 2);
    return both.status[0] == DYNC_OK && both.status[1] == DYNC_OK;
}

DYNC__FN dync_status dync__plan_run(const dync__plan *p, struct dync__tensor *const *tensors,
                                    void *const *inputs, void *const *outputs)
{
    static char nothing[1];
    dync__binding b;
    b.table[DYNC__SOURCE_INPUTS] = inputs;
    b.table[DYNC__SOURCE_OUTPUTS] = outputs;
    b.arena = nothing;
    size_t bytes = (size_t)p->arena_bytes;
    if (bytes && !(b.arena = p->driver->alloc(p->device, bytes))) return DYNC_ERR_MEMORY;
    dync__reserve reserve = {p->reserve ? dync__alloc_data(p->reserve) : NULL, p->reserve},
                  *outer_reserve = dync__tls.reserve;
    if (p->reserve && !reserve.block) {
        if (bytes) p->driver->free(p->device, b.arena, bytes);
        return DYNC_ERR_MEMORY;
    }
    if (p->reserve) dync__tls.reserve = &reserve;
    b.rng = p->rng_used ? dync__rng_take(p->rng_used) : 0;
    struct dync__tensor *const *outer = dync__tls.plan_tensors;
    dync__tls.plan_tensors = tensors;
    dync_status status = DYNC_OK;
    int most_threads = dync__tls.most_threads;
    if (p->threads) dync__tls.most_threads = p->threads;
    for (int i = 0; i < p->n_steps && status == DYNC_OK; i++) {
        if (p->step[i].kept) continue;
        uint64_t start = DYNC__PERF(p) ? dync__now_ns() : 0;
        if (DYNC__SMALLER(false, p->step[i].beside) && dync__run_beside(p, i, &b)) {
            i++;
            continue;
        }
        status = dync__run_step(p, i, &b);
        if (DYNC__PERF(p)) dync__perf_step(p, i, dync__now_ns() - start);
    }
    dync__tls.most_threads = most_threads;
    if (DYNC__PERF(p)) dync__perf_run(p);
    dync__tls.plan_tensors = outer;
    dync__tls.reserve = outer_reserve;
    if (reserve.block) dync__free_data(reserve.block, p->reserve);
    if (bytes) p->driver->free(p->device, b.arena, bytes);
    return status;
}
