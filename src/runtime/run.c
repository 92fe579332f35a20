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

static dync_status dync__run_step(const dync__plan *p, const dync__plan_step *s,
                                  const dync__binding *b)
{
    void *few[64], **buffers = few;
    if (s->n > DYNC__COUNT_OF(few) && !(buffers = dync__alloc((size_t)s->n * sizeof *buffers)))
        return DYNC_ERR_MEMORY;
    for (int i = 0; i < s->n; i++) {
        const dync__plan_source *from = &s->source[i];
        if (from->from == DYNC__SOURCE_KEPT)
            buffers[i] = p->kept + from->at;
        else if (from->from != DYNC__SOURCE_ARENA)
            buffers[i] = b->table[from->from][from->at];
        else
            buffers[i] = from->at >= 0 ? b->arena + from->at : NULL;
    }
    dync_status status = dync__run_bounds(s, buffers, 0, s->n_bounds - s->looks);
    if (status != DYNC_OK) goto done;
    status = s->call   ? s->call->row->run(s->call, buffers, b->arena + p->scratch_offset)
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
        status = dync__run_step(p, &p->step[i], &b);
        if (p->perf) dync__perf_step(p, i, dync__now_ns() - start);
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
        uint64_t start = p->perf ? dync__now_ns() : 0;
        status = dync__run_step(p, &p->step[i], &b);
        if (p->perf) dync__perf_step(p, i, dync__now_ns() - start);
    }
    dync__tls.most_threads = most_threads;
    if (p->perf) dync__perf_run(p);
    dync__tls.plan_tensors = outer;
    dync__tls.reserve = outer_reserve;
    if (reserve.block) dync__free_data(reserve.block, p->reserve);
    if (bytes) p->driver->free(p->device, b.arena, bytes);
    return status;
}
