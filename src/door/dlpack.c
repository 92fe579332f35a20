/* door/dlpack.c: tensors of other libraries in memory, and ours for them: dync_from_dlpack,
 * dync_to_dlpack. After load.c.
 *
 * What comes in is a storage that calls the other's deleter at its end. What goes out holds a
 * reference on our storage, not on the tensor: counting storages is any thread's business, and
 * dync_shutdown does not end them. */
#include "../dync.in.h"
#include "../tensor/dlpack.h"
#include "door.h"
DYNC__COLD

/* ---- coming in ------------------------------------------------------------------------------- */

/* The owner's end, for the form without a version. */
static void dync__dl_release(void *owner)
{
    dync__dl_managed *m = owner;
    if (m->deleter) m->deleter(m);
}
static void dync__dl_release_versioned(void *owner)
{
    dync__dl_versioned *m = owner;
    if (m->deleter) m->deleter(m);
}

/* Between storage and owner: not armed, the owner keeps what it has. */
typedef struct dync__dl_hold {
    void (*release)(void *);
    void *owner;
    bool armed;
} dync__dl_hold;
static void dync__dl_let_go(void *hold)
{
    dync__dl_hold *h = hold;
    if (h->armed) h->release(h->owner);
    dync__free(h, sizeof *h);
}
/* A tensor over foreign memory. On success it calls release(owner) at its storage's end; NULL: no
 * memory, and the owner keeps the data, release is not called. EXPOSED: others may write the memory
 * behind our back, so it is never reused in place. */
static dync__tensor *dync__dl_borrow(int device, void *data, int dtype, const dync__layout *lay,
                                     void (*release)(void *), void *owner)
{
    dync__dl_hold *h = dync__alloc(sizeof *h);
    if (!h) return NULL;
    *h = (dync__dl_hold){release, owner, false};
    int64_t n = data ? dync__layout_span(lay) * dync__dtype_info(dtype)->bytes : 0;
    dync__storage *s = dync__storage_foreign(device, data, (size_t)n,
                                             DYNC__STORAGE_BORROWED | DYNC__STORAGE_EXPOSED,
                                             dync__dl_let_go, h);
    if (!s) return dync__free(h, sizeof *h), NULL;
    dync__tensor *t = dync__tensor_new(s, dtype, lay);
    if (t) h->armed = true;
    return t;
}

/* Sizes and strides as they came; strides below 0 are left to the caller, who copies. */
static dync_status dync__dl_layout(const dync__dl_tensor *d, dync__layout *lay, int64_t *numel,
                                   bool *backwards)
{
    memset(lay, 0, sizeof *lay);
    DYNC__TRY(dync__check_rank(d->ndim));
    if (d->ndim && !d->shape)
        return dync__fail(DYNC_ERR_VALUE, "dync_from_dlpack: %d dimensions without sizes",
                          (int)d->ndim);
    DYNC__TRY(dync__numel(d->ndim, d->shape, numel));
    DYNC__TRY(dync__layout_contiguous(lay, d->ndim, d->shape));
    *backwards = false;
    dync__layout forwards = *lay;
    for (int i = 0; d->strides && *numel > 0 && i < d->ndim; i++) {
        int64_t stride = d->shape[i] == 1 && d->strides[i] < 0 ? 1 : d->strides[i];
        lay->stride[i] = stride;
        forwards.stride[i] = stride == INT64_MIN ? INT64_MAX : stride < 0 ? -stride : stride;
        *backwards = *backwards || stride < 0;
    }
    if (!dync__layout_is_countable(&forwards))
        return dync__fail(DYNC_ERR_SHAPE, "dync_from_dlpack: sizes and strides are too large");
    return DYNC_OK;
}

/* Its elements as a row-major tensor of our own. */
static dync__tensor *dync__dl_copy(const char *data, int dtype, const dync__layout *from)
{
    dync__layout lay;
    int64_t index[DYNC_MAX_DIMS] = {0}, item = dync__dtype_info(dtype)->bytes;
    if (dync__layout_contiguous(&lay, from->ndim, from->shape) != DYNC_OK) return NULL;
    dync__tensor *t = dync__tensor_empty(dtype, DYNC_CPU, &lay);
    char *to = t && t->numel ? dync__tensor_data(t) : NULL;
    for (int64_t i = 0; to && i < t->numel; i++, to += item) {
        int64_t at = 0;
        for (int d = 0; d < lay.ndim; d++) at += index[d] * from->stride[d];
        memcpy(to, data + at * item, (size_t)item);
        for (int d = lay.ndim - 1; d >= 0 && ++index[d] == lay.shape[d]; d--) index[d] = 0;
    }
    return t;
}

/* d: borrowed for the call. copy: read-only memory, which we must not write into. The owner's data
 * are taken over on success alone. */
static dync__tensor *dync__dl_in(const dync__dl_tensor *d, bool copy, void (*release)(void *),
                                 void *owner)
{
    dync__layout lay;
    bool backwards = false;
    int64_t numel;
    int dtype = dync__dl_dtype_from(d->dtype), device = dync__dl_device_from(d);
    if (dtype < 0)
        return dync__fail(DYNC_ERR_DTYPE,
                          "dync_from_dlpack: dync has no dtype of code %d, %d bits and %d lanes",
                          d->dtype.code, d->dtype.bits, d->dtype.lanes),
               NULL;
    if (device < 0)
        return dync__fail(DYNC_ERR_DEVICE,
                          "dync_from_dlpack: device %d of DLPack is none of dync's",
                          (int)d->device),
               NULL;
    if (dync__device_known(device) != DYNC_OK) return NULL;
    if (dync__dl_layout(d, &lay, &numel, &backwards) != DYNC_OK) return NULL;
    int64_t item = dync__dtype_info(dtype)->bytes;
    uintptr_t at = (uintptr_t)d->data + (uintptr_t)d->byte_offset; /* an offset may be nonsense */
    char *data = numel && d->data ? (char *)at : NULL;
    if (numel && (!d->data || (uintptr_t)data % (uintptr_t)item)) {
        dync__fail(DYNC_ERR_VALUE, "dync_from_dlpack: expected data aligned for %s, got %s",
                   dync__dtype_info(dtype)->name, d->data ? "others" : "NULL");
        return NULL;
    }
    if ((copy || backwards) && !dync__device_is(device, DYNC__DEV_HOST)) {
        dync__fail(DYNC_ERR_UNSUPPORTED,
                   "dync_from_dlpack: read-only memory or negative strides on "
                   "a device: copy it there");
        return NULL;
    }
    if (copy || backwards) {
        dync__tensor *t = dync__dl_copy(data, dtype, &lay);
        if (t) release(owner);
        return t;
    }
    return dync__dl_borrow(device, data, dtype, &lay, release, owner);
}

/* versioned tells which of DLPack's two structures `managed` is: the older one has no version, so
 * nothing in the bytes says it. */
static dync_tensor *dync__dl_from(void *managed, bool versioned)
{
    if (!versioned) {
        dync__dl_managed *m = managed;
        return dync__give(dync__dl_in(&m->tensor, false, dync__dl_release, m));
    }
    dync__dl_versioned *m = managed;
    if (m->major != DYNC__DL_MAJOR)
        return dync__fail(DYNC_ERR_UNSUPPORTED,
                          "dync_from_dlpack: version %u.%u, expected %d of DLPack",
                          (unsigned)m->major, (unsigned)m->minor, DYNC__DL_MAJOR),
               NULL;
    return dync__give(
        dync__dl_in(&m->tensor, m->flags & DYNC__DL_READ_ONLY, dync__dl_release_versioned, m));
}

DYNC_API dync_tensor *dync_from_dlpack(void *managed, bool versioned)
{
    dync__opaque opaque;
    if (!managed) {
        dync__fail(DYNC_ERR_VALUE, "dync_from_dlpack: expected a managed tensor, got NULL");
        return NULL;
    }
    if (!dync__opaque_begin("from_dlpack", 0, NULL, &opaque)) return NULL;
    dync_tensor *t = dync__dl_from(managed, versioned);
    dync__opaque_end(&opaque);
    return t;
}

/* ---- going out ------------------------------------------------------------------------------- */

/* Either form, and what it points to. */
typedef struct dync__dl_out {
    union {
        dync__dl_managed managed;
        dync__dl_versioned versioned;
    } as;
    int64_t shape[DYNC_MAX_DIMS], stride[DYNC_MAX_DIMS];
    dync__storage *storage; /* a reference */
} dync__dl_out;
static void dync__dl_out_free(dync__dl_out *o)
{
    dync__storage_unref(o->storage);
    dync__free(o, sizeof *o);
}
static void dync__dl_delete(dync__dl_managed *m) { dync__dl_out_free(m->owner); }
static void dync__dl_delete_versioned(dync__dl_versioned *m) { dync__dl_out_free(m->owner); }

/* The structure for the other side, whose deleter frees all of it and the reference on the storage;
 * it may be called on any thread. Shape and strides are copies: our tensor may end first. */
static void *dync__dl_to(const dync__tensor *t, bool versioned)
{
    dync__dl_out *o = dync__calloc(sizeof *o);
    if (!o) return NULL;
    dync__dl_tensor *d = versioned ? &o->as.versioned.tensor : &o->as.managed.tensor;
    if (!dync__dl_show(d, t) || (t->numel && !t->storage->data)) {
        dync__free(o, sizeof *o);
        dync__fail(DYNC_ERR_DEVICE,
                   "dync_to_dlpack: expected a tensor with data on the CPU or cuda");
        return NULL;
    }
    memcpy(o->shape, t->lay.shape, sizeof o->shape);
    memcpy(o->stride, t->lay.stride, sizeof o->stride);
    d->shape = o->shape;
    d->strides = o->stride;
    o->storage = t->storage;
    dync__storage_ref(t->storage);
    t->storage->flags |= DYNC__STORAGE_EXPOSED;
    if (!versioned) {
        o->as.managed.owner = o;
        o->as.managed.deleter = dync__dl_delete;
        return &o->as.managed;
    }
    o->as.versioned.major = DYNC__DL_MAJOR;
    o->as.versioned.minor = DYNC__DL_MINOR;
    o->as.versioned.owner = o;
    o->as.versioned.deleter = dync__dl_delete_versioned;
    return &o->as.versioned;
}

/* DLPack is memory alone: a tensor that requires grad would lose its history silently. */
DYNC_API void *dync_to_dlpack(dync_tensor *h, bool versioned)
{
    dync_value v = dync_v_tensor(h);
    dync__opaque opaque;
    if (!dync__opaque_begin("to_dlpack", 1, &v, &opaque)) return NULL;
    const dync__tensor *t = dync__open(v.as.t);
    void *managed = NULL;
    if (t && (t->flags & DYNC__T_REQUIRES_GRAD))
        dync__fail(DYNC_ERR_AUTOGRAD, "dync_to_dlpack: the tensor requires grad, which DLPack does "
                                      "not know: dync_detach it");
    else if (t)
        managed = dync__dl_to(t, versioned);
    dync__opaque_end(&opaque);
    return managed;
}
