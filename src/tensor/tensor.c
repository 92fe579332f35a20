/* tensor/tensor.c: storage, tensor slots, handles, reference counts.
 *
 * Slots live in chunks that never move. A thread keeps free slots in an array of its own and trades
 * batches with the shared list, so making a tensor takes no lock in a steady state. Freeing a slot
 * changes its generation, which makes every handle stale; a ring per thread remembers who made the
 * last tensors freed, for the message.
 *
 * Reference counts are atomic. A count of 1 that is one's own needs no atomic decrement: nobody
 * else may touch it. Ids of tensors and storages come in blocks per thread, one process-wide
 * counter for both. */
#include "../dync.in.h"
#include "sym.h"
#include "tensor_state.h"
DYNC__WARM

DYNC__DATA dync__tensor *dync__chunks[DYNC__CHUNKS] = {0};
DYNC__DATA void (*dync__observe_hook)(const dync__tensor *, int what, int dim) = NULL;
DYNC__DATA dync_value (*dync__specialise_hook)(dync_value) = NULL;

DYNC__DATA struct dync__slot_table dync__slots = {0};

/* Chunk and place in it. */
DYNC__FN dync__tensor *dync__slot_at(uint32_t slot)
{
    return dync__chunks[slot >> DYNC__CHUNK_BITS] + (slot & (DYNC__CHUNK_SLOTS - 1));
}

/* ---- state of a thread ----------------------------------------------------------------------- */

/* Its free slots go back to the shared list; handles of its last tensors lose their history for
 * messages. */
DYNC__RARE DYNC__FN void dync__tensor_thread_end(dync__thread *thread)
{
    dync__tensor_state *s = thread->tensor_state;
    if (!s) return;
    thread->tensor_state = NULL;
    dync__lock(&dync__slots.lock);
    while (s->n_free) {
        dync__tensor *t = s->free[--s->n_free];
        t->numel = dync__slots.free;
        dync__slots.free = (int64_t)t->slot + 1;
    }
    dync__unlock(&dync__slots.lock);
    (void)DYNC__ATOMIC_ADD(&dync__slots.live, s->live);
    dync__free(s, sizeof *s);
}

DYNC__RARE DYNC__FN DYNC__NOINLINE dync__tensor_state *dync__tensor_state_new(void)
{
    dync__thread_state_on_exit(dync__tensor_thread_end);
    dync__thread_arm();
    dync__tls.tensor_state = dync__calloc(sizeof(dync__tensor_state));
    return dync__tls.tensor_state;
}

DYNC__FN int64_t dync__live_tensors(void)
{
    dync__tensor_state *s = dync__tls.tensor_state;
    return DYNC__ATOMIC_PEEK(&dync__slots.live) + (s ? s->live : 0);
}

/* ---- slots ----------------------------------------------------------------------------------- */

/* Called with the lock held. */
static bool dync__slots_grow(void)
{
    uint32_t n = dync__slots.n_chunks;
    if (n == DYNC__CHUNKS)
        return dync__fail(DYNC_ERR_MEMORY, "out of tensor slots: %u are in use",
                          (unsigned)(n << DYNC__CHUNK_BITS)),
               false;
    dync__tensor *chunk = dync__calloc(DYNC__CHUNK_SLOTS * sizeof *chunk);
    if (!chunk) return false;
    for (uint32_t i = DYNC__CHUNK_SLOTS; i-- > 0;) {
        chunk[i].slot = (n << DYNC__CHUNK_BITS) + i;
        chunk[i].generation = dync__slots.first_generation;
        chunk[i].numel = dync__slots.free;
        dync__slots.free = (int64_t)chunk[i].slot + 1;
    }
    DYNC__ATOMIC_STORE(&dync__chunks[n], chunk);
    dync__slots.n_chunks = n + 1;
    return true;
}

/* Up to a batch of slots; false: no memory, or all slots of the process are in use. */
DYNC__RARE DYNC__FN DYNC__NOINLINE bool dync__slots_refill(dync__tensor_state *s)
{
    dync__lock(&dync__slots.lock);
    bool ok = dync__slots.free || dync__slots_grow();
    int n = 0;
    for (; dync__slots.free && n < DYNC__SLOT_BATCH; n++) {
        dync__tensor *t = dync__slot_at((uint32_t)(dync__slots.free - 1));
        dync__slots.free = t->numel;
        s->free[n] = t;
    }
    dync__unlock(&dync__slots.lock);
    for (int i = 0; i < n / 2; i++) { /* the array is taken from its end: low slots first */
        dync__tensor *t = s->free[i];
        s->free[i] = s->free[n - 1 - i];
        s->free[n - 1 - i] = t;
    }
    s->n_free = n;
    return ok;
}

/* The lower half of a full array goes back to the shared list, so threads that only free feed
 * threads that only make. */
DYNC__RARE DYNC__FN DYNC__NOINLINE void dync__slots_spill(dync__tensor_state *s)
{
    dync__lock(&dync__slots.lock);
    for (int i = 0; i < DYNC__SLOT_BATCH; i++) {
        s->free[i]->numel = dync__slots.free;
        dync__slots.free = (int64_t)s->free[i]->slot + 1;
    }
    dync__unlock(&dync__slots.lock);
    s->n_free -= DYNC__SLOT_BATCH;
    memmove(s->free, s->free + DYNC__SLOT_BATCH, (size_t)s->n_free * sizeof s->free[0]);
}

DYNC__RARE DYNC__FN dync_status dync__stale(const char *op, dync_loc at)
{
    op = op ? op : "the user";
    return at.file
               ? dync__fail(DYNC_ERR_VALUE,
                            "tensor used after its scope ended: made by %s at %s:%d", op, at.file,
                            at.line)
               : dync__fail(DYNC_ERR_VALUE, "tensor used after its scope ended: made by %s", op);
}

/* Says why a handle is stale, if this thread has freed the tensor lately. Without a word for NULL
 * where an error is pending: the handle is the result of the call that failed. */
DYNC__RARE DYNC__FN dync__tensor *dync__open_fail(const dync_tensor *handle)
{
    const dync__tensor_state *s = dync__tls.tensor_state;
    if (!handle) {
        if (dync_error() == DYNC_OK) dync__fail(DYNC_ERR_VALUE, "expected a tensor, got NULL");
        return NULL;
    }
    for (int i = 0; s && i < DYNC__GRAVES; i++) {
        const dync__grave *g = &s->grave[(s->next_grave - 1 - (uint32_t)i) % DYNC__GRAVES];
        if (g->handle != (uintptr_t)handle) continue;
        dync__stale(g->op, (dync_loc){g->file, g->line, NULL});
        return NULL;
    }
    dync__fail(DYNC_ERR_VALUE, "tensor used after its scope ended");
    return NULL;
}
