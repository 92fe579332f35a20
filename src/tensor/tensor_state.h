/* tensor/tensor_state.h: a thread's slots and graves. */
#ifndef DYNC__TENSOR_TENSOR_STATE_H
#define DYNC__TENSOR_TENSOR_STATE_H
#include "../dync.in.h"
#include "sym.h"

enum {
    DYNC__CHUNK_SLOTS = 1 << DYNC__CHUNK_BITS,
    DYNC__SLOT_BATCH = DYNC__CHUNK_SLOTS,
    DYNC__SLOT_KEEP = 2 * DYNC__SLOT_BATCH,
    DYNC__ID_BLOCK = 1024,
    DYNC__LIVE_FLUSH = 64,
#if defined(DYNC_SMALL)
    DYNC__GRAVES = 16,
    DYNC__DATA_ALIGN = 8
#else
    DYNC__GRAVES = 1024,
    DYNC__DATA_ALIGN = 64
#endif
};

/* Who made a tensor that is gone. */
typedef struct dync__grave {
    uintptr_t handle;
    const char *op, *file;
    int line;
} dync__grave;

/* What each thread has of its own: free slots, ids, the last tensors freed. */
typedef struct dync__tensor_state {
    dync__tensor *free[DYNC__SLOT_KEEP];
    int n_free;
    uint32_t next_grave;
    uint64_t next_id, end_id;
    int64_t live; /* not yet in dync__slots.live */
    dync__grave grave[DYNC__GRAVES];
} dync__tensor_state;

struct dync__slot_table {
    dync__mutex lock; /* for n_chunks and the shared list */
    uint32_t n_chunks;
    /* slot + 1 of the first free one; the next stands in numel; 0: none */
    int64_t free;
    /* of new slots: after dync_shutdown old handles stay stale */
    uint32_t first_generation;
    uint64_t next_id;
    int64_t live;
};
DYNC__DATA_DECL struct dync__slot_table dync__slots;

DYNC__RARE DYNC__FN DYNC__NOINLINE dync__tensor_state *dync__tensor_state_new(void);
DYNC__OFTEN DYNC__INLINE dync__tensor_state *dync__tensor_state_get(void)
{
    dync__tensor_state *s = dync__tls.tensor_state;
    return DYNC__LIKELY(s != NULL) ? s : dync__tensor_state_new();
}
DYNC__OFTEN DYNC__INLINE uint64_t dync__tensor_next_id(dync__tensor_state *s)
{
    if (DYNC__UNLIKELY(s->next_id == s->end_id)) {
        s->end_id = DYNC__ATOMIC_ADD(&dync__slots.next_id, DYNC__ID_BLOCK);
        s->next_id = s->end_id - DYNC__ID_BLOCK;
    }
    return ++s->next_id; /* never 0 */
}
/* Live tensors, added to the shared count in steps. */
DYNC__OFTEN DYNC__INLINE void dync__tensor_count(dync__tensor_state *s, int n)
{
    s->live += n;
    if (DYNC__LIKELY(s->live < DYNC__LIVE_FLUSH && s->live > -DYNC__LIVE_FLUSH)) return;
    (void)DYNC__ATOMIC_ADD(&dync__slots.live, s->live);
    s->live = 0;
}

/* tensor.c */
DYNC__FN dync__tensor *dync__slot_at(uint32_t slot);
DYNC__RARE DYNC__FN void dync__tensor_thread_end(dync__thread *thread);
DYNC__RARE DYNC__FN DYNC__NOINLINE bool dync__slots_refill(dync__tensor_state *s);
DYNC__RARE DYNC__FN DYNC__NOINLINE void dync__slots_spill(dync__tensor_state *s);

/* storage.c */
DYNC__FN dync__storage *dync__storage_make(int device, void *data, size_t size_bytes, int flags);
#endif
