/* tensor/alive.c: tensors made, copied, released, and what is left of them at the end. Before:
 * storage.c. */
#include "../dync.in.h"
#include "sym.h"
#include "tensor_state.h"
DYNC__WARM

/* ---- tensors --------------------------------------------------------------------------------- */

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

/* As above, but that the tensor lives on. */
DYNC__RARE DYNC__FN void dync__handle_end(dync__tensor *t)
{
    dync__tensor_state *s = dync__tensor_state_get();
    if (s)
        s->grave[s->next_grave++ % DYNC__GRAVES] =
            (dync__grave){(uintptr_t)dync__handle(t), t->op, t->at.file, t->at.line};
    DYNC__ATOMIC_STORE(&t->generation, (t->generation + 1) & DYNC__HANDLE_GENERATIONS);
}

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
    for (int i = 0; i < lay->ndim; i++) /* first: others may be too large to multiply */
        if (lay->shape[i] == 0) return 0;
    for (int i = 0; i < lay->ndim; i++) last += (lay->shape[i] - 1) * lay->stride[i];
    return last + 1;
}

/* Takes the reference to `taken`, also where it fails; NULL for taken is passed on as failure, so
 * calls can be nested. lay must lie within the storage. */
DYNC__OFTEN DYNC__FN dync__tensor *dync__tensor_new(dync__storage *taken, int dtype,
                                                    const dync__layout *lay)
{
    dync__tensor_state *s = dync__tensor_state_get();
    if (DYNC__F64_NONE && dtype == DYNC_F64 && taken) {
        dync__left_out("a tensor of DYNC_F64", "DYNC_NO_F64");
        dync__storage_unref(taken);
        return NULL;
    }
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
