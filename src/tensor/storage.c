/* tensor/storage.c: storages: made, borrowed, given back. Before: tensor.c. */
#include "../dync.in.h"
#include "sym.h"
#include "tensor_state.h"
DYNC__WARM

/* ---- storage --------------------------------------------------------------------------------- */

/* data: taken as it is, NULL allowed. One reference; NULL: no memory. */
DYNC__FN dync__storage *dync__storage_make(int device, void *data, size_t size_bytes, int flags)
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
