/* runtime/run.c: runs a plan: binds slots to memory, runs steps in order. No allocation but one arena block from the thread's cache.
 * After plan.c. */
#include "../dync.in.h"
#include "plan.h"

typedef struct dync__binding { void **data; char *arena; uint64_t rng; } dync__binding;

static void dync__run_bind(const dync__plan *p, dync__binding *b, void *const *inputs, void *const *outputs)
{
    for (int i = 0; i < p->n_slots; i++) {
        const dync__slot *s = &p->slot[i];
        switch (s->kind) {
        case DYNC__SLOT_INPUT: b->data[i] = inputs[s->index]; break;
        case DYNC__SLOT_OUTPUT: b->data[i] = outputs[s->index]; break;
        case DYNC__SLOT_CONST: b->data[i] = p->constant[s->index]; break;
        default: b->data[i] = s->arena_offset >= 0 ? b->arena + s->arena_offset : NULL;
        }
    }
}

static dync_status dync__run_step(const dync__plan *p, const dync__plan_step *s, const dync__binding *b)
{
    void *few[16], **buffers = few;
    if (s->n > DYNC__COUNT_OF(few) && !(buffers = dync__alloc((size_t)s->n * sizeof *buffers))) return DYNC_ERR_MEMORY;
    for (int i = 0; i < s->n; i++) buffers[i] = b->data[s->slot[i]];
    dync_status status = s->call ? s->call->row->run(s->call, buffers, b->arena + p->scratch_offset)
                                 : dync__code_run(s->code, buffers, dync__tls.rng_seed, b->rng);
    if (buffers != few) dync__free(buffers, (size_t)s->n * sizeof *buffers);
    return status;
}

DYNC__FN dync_status dync__plan_run(const dync__plan *p, void *const *inputs, void *const *outputs)
{
    void *few[48];
    static char nothing[1];
    dync__binding b = {.data = few, .arena = nothing};
    dync_status status = DYNC_OK;
    if (p->n_slots > DYNC__COUNT_OF(few) && !(b.data = dync__alloc((size_t)p->n_slots * sizeof *b.data))) return DYNC_ERR_MEMORY;
    if (p->arena_bytes && !(b.arena = dync__alloc_data((size_t)p->arena_bytes))) status = DYNC_ERR_MEMORY;
    if (p->rng_used) b.rng = dync__rng_take(p->rng_used);
    if (status == DYNC_OK) dync__run_bind(p, &b, inputs, outputs);
    for (int i = 0; i < p->n_steps && status == DYNC_OK; i++) status = dync__run_step(p, &p->step[i], &b);
    if (p->arena_bytes && b.arena) dync__free_data(b.arena, (size_t)p->arena_bytes);
    if (b.data != few) dync__free(b.data, (size_t)p->n_slots * sizeof *b.data);
    return status;
}
