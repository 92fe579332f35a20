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
DYNC__WARM

DYNC__DATA dync__tensor *dync__chunks[DYNC__CHUNKS] = {0};
DYNC__DATA void (*dync__observe_hook)(const dync__tensor *, int what, int dim) = NULL;
DYNC__DATA dync_value (*dync__specialise_hook)(dync_value) = NULL;

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

static struct {
    dync__mutex lock; /* for n_chunks and the shared list */
    uint32_t n_chunks;
    /* slot + 1 of the first free one; the next stands in numel; 0: none */
    int64_t free;
    /* of new slots: after dync_shutdown old handles stay stale */
    uint32_t first_generation;
    uint64_t next_id;
    int64_t live;
} dync__slots;

/* Chunk and place in it. */
static dync__tensor *dync__slot_at(uint32_t slot)
{
    return dync__chunks[slot >> DYNC__CHUNK_BITS] + (slot & (DYNC__CHUNK_SLOTS - 1));
}

/* ---- state of a thread ----------------------------------------------------------------------- */

/* Its free slots go back to the shared list; handles of its last tensors lose their history for
 * messages. */
DYNC__RARE static void dync__tensor_thread_end(dync__thread *thread)
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

DYNC__RARE static DYNC__NOINLINE dync__tensor_state *dync__tensor_state_new(void)
{
    dync__thread_state_on_exit(dync__tensor_thread_end);
    dync__thread_arm();
    dync__tls.tensor_state = dync__calloc(sizeof(dync__tensor_state));
    return dync__tls.tensor_state;
}

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
DYNC__RARE static DYNC__NOINLINE bool dync__slots_refill(dync__tensor_state *s)
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
DYNC__RARE static DYNC__NOINLINE void dync__slots_spill(dync__tensor_state *s)
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

/* The next generation makes every handle of the slot stale at once. The thread that frees need not
 * be the one that made it. */
DYNC__OFTEN static void dync__slot_free(dync__tensor *t)
{
    dync__tensor_state *s = dync__tensor_state_get();
    uintptr_t handle = (uintptr_t)dync__handle(t);
    DYNC__ATOMIC_STORE(&t->generation, (t->generation + 1) & DYNC__HANDLE_GENERATIONS);
    DYNC__ATOMIC_STORE(&t->refs, 0);
    /* no memory for this thread's state: straight to the shared list */
    if (DYNC__UNLIKELY(!s)) {
        (void)DYNC__ATOMIC_ADD(&dync__slots.live, -1);
        dync__lock(&dync__slots.lock);
        t->numel = dync__slots.free;
        dync__slots.free = (int64_t)t->slot + 1;
        dync__unlock(&dync__slots.lock);
        return;
    }
    dync__tensor_count(s, -1);
    s->grave[s->next_grave++ % DYNC__GRAVES] = (dync__grave){handle, t->op, t->at.file, t->at.line};
    if (DYNC__UNLIKELY(s->n_free == DYNC__SLOT_KEEP)) dync__slots_spill(s);
    s->free[s->n_free++] = t;
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
        const char *op = g->op ? g->op : "the user";
        if (g->file)
            dync__fail(DYNC_ERR_VALUE, "tensor used after its scope ended: made by %s at %s:%d", op,
                       g->file, g->line);
        else
            dync__fail(DYNC_ERR_VALUE, "tensor used after its scope ended: made by %s", op);
        return NULL;
    }
    dync__fail(DYNC_ERR_VALUE, "tensor used after its scope ended");
    return NULL;
}

/* ---- storage --------------------------------------------------------------------------------- */

/* data: taken as it is, NULL allowed. One reference; NULL: no memory. */
static dync__storage *dync__storage_make(int device, void *data, size_t size_bytes, int flags)
{
    dync__tensor_state *state = dync__tensor_state_get();
    dync__storage *s = state ? dync__alloc(sizeof *s) : NULL;
    if (!s) return NULL;
    *s = (dync__storage){
        1,   (uint16_t)flags, (uint16_t)device, 0, data, size_bytes, dync__tensor_next_id(state),
        NULL};
    return s;
}

#define DYNC__STORAGE_HEADER \
    ((sizeof(dync__storage) + DYNC__DATA_ALIGN - 1) / DYNC__DATA_ALIGN * DYNC__DATA_ALIGN)
/* Small ones: header and data in one block, one allocation for a tensor of up to
 * DYNC__JOINED_BYTES. */
DYNC__OFTEN static dync__storage *dync__storage_joined(size_t size_bytes)
{
    dync__tensor_state *state = dync__tensor_state_get();
    dync__storage *s = state ? dync__alloc_data(DYNC__STORAGE_HEADER + size_bytes) : NULL;
    if (!s) return NULL;
    *s = (dync__storage){
        1,          DYNC__STORAGE_JOINED,        DYNC_CPU, 0, (char *)s + DYNC__STORAGE_HEADER,
        size_bytes, dync__tensor_next_id(state), NULL};
    return s;
}

/* A storage with memory of its own, not set; none for devices without data. */
DYNC__OFTEN DYNC__FN dync__storage *dync__storage_new(int device, size_t size_bytes)
{
    if (device == DYNC_CPU && size_bytes && size_bytes <= DYNC__JOINED_BYTES)
        return dync__storage_joined(size_bytes);
    dync__storage *s = dync__storage_make(device, NULL, size_bytes, 0);
    if (!s || size_bytes == 0 || !dync__device_is(device, DYNC__DEV_DATA)) return s;
    s->data = dync__device_alloc(device, size_bytes);
    if (s->data) return s;
    dync__free(s, sizeof *s);
    return NULL;
}

DYNC__RARE DYNC__FN dync__storage *dync__storage_borrow(int device, void *data, size_t size_bytes)
{
    return dync__storage_make(device, data, size_bytes, DYNC__STORAGE_BORROWED);
}

/* One of them is a member of a bigger block. What frees it is reached by a pointer, so that only
 * programs that make one link it. */
typedef struct dync__storage_owned {
    dync__storage storage;
    void (*release)(void *);
    void *owner;
} dync__storage_owned;
static void (*dync__storage_owned_free)(dync__storage *);
DYNC__RARE static void dync__storage_give_back(dync__storage *s)
{
    dync__storage_owned *o = (dync__storage_owned *)s;
    o->release(o->owner);
    dync__free(o, sizeof *o);
}
/* release(owner) is called once, at the end, on whichever thread gives the last reference back. On
 * failure it is not called. */
DYNC__RARE DYNC__FN dync__storage *dync__storage_foreign(int device, void *data, size_t size_bytes,
                                                         int flags, void (*release)(void *),
                                                         void *owner)
{
    dync__tensor_state *state = dync__tensor_state_get();
    dync__storage_owned *o = state ? dync__calloc(sizeof *o) : NULL;
    if (!o) return NULL;
    o->storage.refs = 1;
    o->storage.flags = (uint16_t)(flags | DYNC__STORAGE_FOREIGN);
    o->storage.device = (uint16_t)device;
    o->storage.data = data;
    o->storage.size_bytes = size_bytes;
    o->storage.id = dync__tensor_next_id(state);
    o->release = release;
    o->owner = owner;
    DYNC__ATOMIC_STORE(&dync__storage_owned_free, dync__storage_give_back);
    return &o->storage;
}

DYNC__FN void dync__storage_ref(dync__storage *s) { (void)DYNC__ATOMIC_INC(&s->refs); }

DYNC__OFTEN static void dync__storage_free(dync__storage *s)
{
    if (s->flags & DYNC__STORAGE_JOINED) {
        dync__free_data(s, DYNC__STORAGE_HEADER + s->size_bytes);
        return;
    }
    if (s->flags & DYNC__STORAGE_FOREIGN) {
        DYNC__ATOMIC_LOAD (&dync__storage_owned_free)(s);
        return;
    }
    if (s->data && !(s->flags & DYNC__STORAGE_BORROWED)) {
        if (s->flags & DYNC__STORAGE_PINNED)
            dync__device_cuda->free(s->device, s->data, s->size_bytes);
        else
            dync__device_free(s->device, s->data, s->size_bytes);
    }
    dync__free(s, sizeof *s);
}

DYNC__OFTEN DYNC__FN void dync__storage_unref(dync__storage *s)
{
    if (!s) return;
    if (DYNC__ATOMIC_LOAD(&s->refs) == 1 || DYNC__ATOMIC_DEC(&s->refs) == 0) dync__storage_free(s);
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* Elements from the first to one past the last address a layout reaches; 0 when it is empty.
 * Layouts are checked when made. */
DYNC__FN int64_t dync__layout_span(const dync__layout *lay)
{
    dync__layout now;
    if (DYNC__UNLIKELY(dync__tls.syms != NULL) && dync__layout_has_tokens(lay)) {
        now = *lay;
        now.offset = dync__sz_hint(now.offset);
        for (int i = 0; i < now.ndim; i++) {
            now.shape[i] = dync__sz_hint(now.shape[i]);
            now.stride[i] = dync__sz_hint(now.stride[i]);
        }
        lay = &now;
    }
    int64_t last = lay->offset;
    for (int i = 0; i < lay->ndim; i++) {
        if (lay->shape[i] == 0) return 0;
        last += (lay->shape[i] - 1) * lay->stride[i];
    }
    return last + 1;
}

/* Takes the reference to `taken`, also where it fails; NULL for taken is passed on as failure, so
 * calls can be nested. lay must lie within the storage. */
DYNC__OFTEN DYNC__FN dync__tensor *dync__tensor_new(dync__storage *taken, int dtype,
                                                    const dync__layout *lay)
{
    dync__tensor_state *s = dync__tensor_state_get();
    if (!taken || !s || (DYNC__UNLIKELY(s->n_free == 0) && !dync__slots_refill(s))) {
        dync__storage_unref(taken);
        return NULL;
    }
    dync__tensor *t = s->free[--s->n_free];
    int64_t numel = 1;
    for (int i = 0; i < lay->ndim; i++) numel = dync__sz_mul(numel, lay->shape[i]);
    t->retains = 0;
    t->dtype = (uint8_t)dtype;
    t->flags = taken->flags & DYNC__STORAGE_FAKE ? DYNC__T_FAKE : 0;
    t->device = taken->device;
    t->numel = numel;
    t->lay = *lay;
    t->storage = taken;
    t->grad = NULL;
    t->node = NULL;
    t->node_output = 0;
    t->trace_id = 0;
    t->id = dync__tensor_next_id(s);
    t->name = NULL;
    t->marked_dims = 0;
    t->ranges = NULL;
    t->op = dync__tls.op;
    t->at = dync__tls.at;
    dync__tensor_count(s, 1);
    DYNC__ATOMIC_STORE(&t->refs, 1);
    return t;
}

DYNC__FN dync__tensor *dync__tensor_empty(int dtype, int device, const dync__layout *dense)
{
    size_t bytes = (size_t)dync__layout_span(dense) * dync__dtype_info(dtype)->bytes;
    return dync__tensor_new(dync__storage_new(device, bytes), dtype, dense);
}

/* A stand-in while a function is traced: form without data. */
DYNC__RARE DYNC__FN dync__tensor *dync__tensor_fake(int dtype, int device, const dync__layout *lay)
{
    size_t bytes = (size_t)dync__layout_span(lay) * dync__dtype_info(dtype)->bytes;
    return dync__tensor_new(dync__storage_make(device, NULL, bytes, DYNC__STORAGE_FAKE), dtype,
                            lay);
}

/* Another tensor over base's storage, without a history. */
DYNC__FN dync__tensor *dync__tensor_alias(const dync__tensor *base, int dtype,
                                          const dync__layout *lay)
{
    dync__storage_ref(base->storage);
    return dync__tensor_new(base->storage, dtype, lay);
}

DYNC__FN void dync__ref(dync__tensor *t) { (void)DYNC__ATOMIC_INC(&t->refs); }

DYNC__OFTEN static void dync__tensor_free(dync__tensor *t)
{
    struct dync__grad_meta *grad = t->grad;
    dync__storage *storage = t->storage;
    t->grad = NULL;
    t->storage = NULL;
    if (DYNC__UNLIKELY(grad != NULL) && dync__free_grad_meta) dync__free_grad_meta(grad);
    if (DYNC__UNLIKELY(t->ranges != NULL)) dync__free(t->ranges, DYNC_MAX_DIMS * sizeof *t->ranges);
    dync__slot_free(t);
    dync__storage_unref(storage);
}

/* T_KEPT: one thread at a time has it, so no atomic decrement is needed. */
DYNC__OFTEN DYNC__FN void dync__unref(dync__tensor *t)
{
    if (!t) return;
    int32_t refs = DYNC__ATOMIC_LOAD(&t->refs);
    if (refs > 1 && t->flags & DYNC__T_KEPT)
        DYNC__ATOMIC_STORE(&t->refs, refs - 1);
    else if (refs == 1 || DYNC__ATOMIC_DEC(&t->refs) == 0)
        dync__tensor_free(t);
}

/* Row-major copy of the elements: dst advances by one element, src by the layout. */
static void dync__tensor_copy_elements(char *dst, const char *src, const dync__layout *lay,
                                       size_t bytes)
{
    int64_t index[DYNC_MAX_DIMS] = {0}, n = 1, inner = lay->ndim ? lay->shape[lay->ndim - 1] : 1;
    int64_t step = lay->ndim ? lay->stride[lay->ndim - 1] : 1, at = 0;
    for (int i = 0; i + 1 < lay->ndim; i++) n *= lay->shape[i];
    for (int64_t row = 0; row < n; row++) {
        for (int64_t k = 0; k < inner; k++, dst += bytes)
            memcpy(dst, src + (at + k * step) * (int64_t)bytes, bytes);
        for (int i = lay->ndim - 2; i >= 0; i--) {
            at += lay->stride[i];
            if (++index[i] < lay->shape[i]) break;
            at -= lay->stride[i] * lay->shape[i];
            index[i] = 0;
        }
    }
}

DYNC__FN dync_status dync__tensor_zero(dync__tensor *t)
{
    dync__storage *s = t->storage;
    if (!s->data || s->size_bytes == 0) return DYNC_OK;
    if (s->device == DYNC_CPU) return memset(s->data, 0, s->size_bytes), DYNC_OK;
    void *zeros = dync__calloc(s->size_bytes);
    dync_status status = zeros
                             ? dync__device_copy(s->device, s->data, DYNC_CPU, zeros, s->size_bytes)
                             : DYNC_ERR_MEMORY;
    dync__free(zeros, s->size_bytes);
    return status;
}

/* A tensor of a device: its whole storage comes over, then the elements are picked here. */
static dync__tensor *dync__tensor_copy_from_device(const dync__tensor *t)
{
    size_t n = t->storage->size_bytes;
    dync__storage *host = dync__storage_new(DYNC_CPU, n);
    if (!host) return NULL;
    if (dync__device_copy(DYNC_CPU, host->data, t->device, t->storage->data, n) != DYNC_OK) {
        dync__storage_unref(host);
        return NULL;
    }
    dync__tensor *all = dync__tensor_new(host, t->dtype, &t->lay),
                 *copy = all ? dync__contiguous_copy(all) : NULL;
    dync__unref(all);
    return copy;
}

/* A new tensor on the CPU with the elements in row-major order. NULL: no memory, or there is no
 * data. */
DYNC__FN dync__tensor *dync__contiguous_copy(const dync__tensor *t)
{
    dync__layout lay;
    if (t->flags & DYNC__T_FAKE || t->device == DYNC_META)
        return dync__fail(DYNC_ERR_DATA_PTR, "the data of a tensor that has none are read"), NULL;
    if (t->device != DYNC_CPU) return dync__tensor_copy_from_device(t);
    if (dync__layout_contiguous(&lay, t->lay.ndim, t->lay.shape) != DYNC_OK) return NULL;
    dync__tensor *copy = dync__tensor_empty(t->dtype, DYNC_CPU, &lay);
    if (!copy || t->numel == 0) return copy;
    size_t bytes = dync__dtype_info(t->dtype)->bytes;
    if (dync__layout_is_contiguous(&t->lay))
        memcpy(copy->storage->data, dync__tensor_data(t), (size_t)t->numel * bytes);
    else
        dync__tensor_copy_elements(copy->storage->data, dync__tensor_data(t), &t->lay, bytes);
    return copy;
}

/* ---- the end --------------------------------------------------------------------------------- */

DYNC__RARE DYNC__FN void dync__tensor_brief(dync__str *s, const dync__tensor *t)
{
    dync__str_add(s, dync__dtype_info(t->dtype)->fx);
    dync__shape_text(s, t->lay.ndim, t->lay.shape);
}

DYNC__RARE static void dync__tensor_log_left(const dync__tensor *t)
{
    dync__str s = {0};
    dync__tensor_brief(&s, t);
    dync__log(DYNC__LOG_memory, "still held at dync_shutdown: %s%s%s made by %s (%s:%d)",
              dync__str_get(&s), t->name ? " " : "", t->name ? t->name : "",
              t->op ? t->op : "the user", t->at.file ? t->at.file : "?", t->at.line);
    dync__str_free(&s);
}

/* Every other thread has ended or is idle. Freeing a tensor's gradient may free others: they are
 * only visited while they live. */
DYNC__RARE DYNC__FN void dync__tensors_shutdown(void)
{
    for (uint32_t slot = 0; slot < dync__slots.n_chunks << DYNC__CHUNK_BITS; slot++) {
        dync__tensor *t = dync__slot_at(slot); /* histories first, which refer to tensors */
        struct dync__grad_meta *grad = t->refs > 0 ? t->grad : NULL;
        if (!grad || !dync__free_grad_meta) continue;
        dync__ref(t);
        t->grad = NULL;
        dync__free_grad_meta(grad);
        dync__unref(t);
    }
    for (uint32_t slot = 0; slot < dync__slots.n_chunks << DYNC__CHUNK_BITS; slot++) {
        dync__tensor *t = dync__slot_at(slot);
        if (t->refs <= 0) continue;
        if (dync__log_on(DYNC__LOG_memory)) dync__tensor_log_left(t);
        t->refs = 1;
        dync__unref(t);
    }
    dync__tensor_thread_end(&dync__tls);
    uint32_t newest = dync__slots.first_generation;
    for (uint32_t slot = 0; slot < dync__slots.n_chunks << DYNC__CHUNK_BITS; slot++) {
        if (dync__slot_at(slot)->generation > newest) newest = dync__slot_at(slot)->generation;
    }
    dync__slots.first_generation = (newest + 1) & DYNC__HANDLE_GENERATIONS;
    for (uint32_t i = 0; i < dync__slots.n_chunks; i++) {
        dync__free(dync__chunks[i], DYNC__CHUNK_SLOTS * sizeof(dync__tensor));
        dync__chunks[i] = NULL;
    }
    dync__slots.n_chunks = 0;
    dync__slots.free = 0;
    dync__slots.live = 0;
}
