/* door/npz.c: NumPy's .npz: a zip of .npy files. After zip.c, before load.c. */
#include "../dync.in.h"
#include "door.h"
DYNC__COLD

/* In the zip's own bytes where it can stand there, else a copy. */
static dync__tensor *dync__npz_tensor(dync__blob *b, uint64_t at, uint64_t n, const char *name)
{
    int dtype, ndim;
    int64_t shape[DYNC_MAX_DIMS];
    size_t data;
    const char *bytes = b->bytes + at;
    if (dync__npy_is_plain(bytes, (size_t)n, &dtype, &ndim, shape, &data) && !dync__big_endian())
        return dync__door_tensor(b, at + data, dtype, ndim, shape);
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    dync__tensor *t = dync__npy_read(bytes, (size_t)n);
    const dync__error_slot *error = dync__error_guard_end(&guard);
    if (!t)
        dync__fail(error->status, "npz, byte %llu: \"%.100s\": %.300s", (unsigned long long)at,
                   name, error->message);
    return t;
}

/* "w.npy" inside the zip becomes the tensor "w". b may be the zip's own bytes, then the tensor
 * stands in the mapped file. */
static dync_status dync__npz_entry(dync__tensors *c, const dync__zip *z, const dync__zip_entry *e)
{
    char name[512];
    size_t n = strlen(e->name);
    dync__blob *b;
    uint64_t at;
    if (n < 5 || n - 4 >= sizeof name || strcmp(e->name + n - 4, ".npy") != 0)
        return dync__door_bad("npz", e->at, "\"%.100s\" is no .npy file", e->name);
    DYNC__TRY(dync__zip_read(z, e, &b, &at));
    dync__format(name, sizeof name, "%.*s", (int)n - 4, e->name);
    dync__tensor *t = dync__npz_tensor(b, at, e->size, name);
    dync__blob_unref(b);
    return dync__tensors_add(c, name, t, true);
}

/* Adds all entries to c; an entry that is no .npy file is an error, for whoever saved it expects it
 * back. */
DYNC__FN dync_status dync__npz_read(dync__tensors *c, const dync__zip *z)
{
    for (int i = 0; i < z->n; i++) DYNC__TRY(dync__npz_entry(c, z, &z->entry[i]));
    return DYNC_OK;
}

/* Each tensor as NAME.npy, stored, so that numpy.load can map it. Tensors on a device are copied to
 * the CPU one at a time. *out is incomplete on failure. */
DYNC__FN dync_status dync__npz_write(const dync__tensors *c, dync__str *out)
{
    dync__zip_writer w = {.out = out};
    dync_status status = DYNC_OK;
    for (int i = 0; i < c->item.n && status == DYNC_OK; i++) {
        dync__str npy = {0}, name = {0};
        dync__tensor *t = c->item.at[i].tensor;
        dync__tensor *host = dync__device_is(t->device, DYNC__DEV_HOST) ? NULL
                                                                        : dync__contiguous_copy(t);
        dync__str_addf(&name, "%s.npy", c->item.at[i].name);
        status = dync__npy_write(host ? host : t, &npy);
        if (status == DYNC_OK && name.failed) status = DYNC_ERR_MEMORY;
        if (status == DYNC_OK)
            status = dync__zip_put(&w, dync__str_get(&name), dync__str_get(&npy), npy.n);
        dync__unref(host);
        dync__str_free(&npy);
        dync__str_free(&name);
    }
    return dync__zip_end(&w, status);
}
