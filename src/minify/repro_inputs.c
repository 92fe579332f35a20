/* minify/repro_inputs.c: the inputs of a program that the minifier wrote: what its load_args calls.
 * Before repro.c.
 *
 * A written program makes memory first, then the tensors over it, in the order of the graph's
 * inputs:
 *
 *   int buf0 = dync_repro_storage(reader, 4096, .hash = "00c5..", .device = ..);   number 0
 *   dync_repro_tensor(reader, buf0, dync_shape(32, 32), .requires_grad = true);
 *   dync_repro_tensor(reader, buf0, dync_shape(32), .stride = dync_shape(33));     shares it
 *   dync_repro_number(reader, dync_v_int(3));
 *
 * The bytes come from the program itself, from <save_dir>/storages/<hash>.npy, from the same folder
 * below checkpoints, or, with a warning, from the random number generator: most failures do not
 * depend on the numbers, so a program sent without its files is still of use. A failure is kept in
 * reader.failed and seen after load_args has returned; the calls in it need no checks. */
#include "../dync.in.h"
#include "minify.h"
DYNC__COLD

/* Reads <folder>/storages/<hash>.npy into out, n bytes. false, and no error recorded: it is missing
 * or has another size, so the next source is tried. */
static bool dync__reader_file(const char *folder, const char *hash, void *out, size_t n)
{
    dync__str path = {0};
    char *bytes = NULL;
    size_t size = 0;
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    dync__str_addf(&path, "%s/storages/%s.npy", folder, hash);
    bool ok = dync__file_read(dync__str_get(&path), &bytes, &size) == DYNC_OK;
    dync__tensor *t = ok ? dync__npy_read(bytes, size) : NULL;
    (void)dync__error_guard_end(&guard);
    bool whole = t && t->storage->data && (size_t)t->numel * dync__dtype_info(t->dtype)->bytes == n;
    if (whole) memcpy(out, dync__tensor_data(t), n);
    dync__unref(t);
    if (ok) dync__free(bytes, size + 1);
    dync__str_free(&path);
    return whole;
}

/* Floats are standard normal, all others 0: an index or a mask of zeros is valid nearly everywhere.
 * The generator moves on by as many numbers as were drawn; dync__repro_load sets it back. */
static void dync__reader_random(char *out, size_t n, int dtype)
{
    size_t item = dync__dtype_info(dtype)->bytes;
    bool floats = dync__dtype_info(dtype)->kind == 'f';
    uint64_t first = dync__rng_take(n / item);
    for (size_t i = 0; i < n / item; i++)
        dync__store_f64(out + i * item, dtype,
                        floats ? dync__rng_normal(dync__tls.rng_seed, first + i) : 0);
}

/* out: b->nbytes bytes in main memory. */
static void dync__reader_fill(dync__repro_reader *r, const dync_repro_buffer *b, char *out)
{
    if (b->data) {
        memcpy(out, b->data, b->nbytes);
        return;
    }
    if (b->hash && r->save_dir && dync__reader_file(r->save_dir, b->hash, out, b->nbytes)) return;
    if (b->hash && r->save_dir && dync__reader_file("checkpoints", b->hash, out, b->nbytes)) return;
    if (r->save_dir)
        dync__warn("Could not load %s, generating random data instead",
                   b->hash ? b->hash : "a storage without a file");
    else
        dync__warn("No save_dir specified, generating random data");
    dync__reader_random(out, b->nbytes, (int)b->dtype_hint);
}

/* The number of the new storage, for dync_repro_tensor; -1 on failure. A device that this build
 * does not have becomes the CPU, so a program written on a GPU can be looked at without one. */
DYNC_API int dync_repro_storage_opt(dync_repro_reader *reader, dync_repro_buffer b)
{
    dync__repro_reader *r = dync__repro_reader_open(reader, "dync_repro_storage");
    if (!r) return -1;
    if (!dync__dtype_valid((int)b.dtype_hint))
        return dync__fail(DYNC_ERR_VALUE, "dync_repro_storage: the dtype is unknown"), -1;
    dync__storage *s = dync__storage_new(
        dync__device_is((int)b.device, DYNC__DEV_DATA) ? (int)b.device : DYNC_CPU, b.nbytes);
    char *host = s && !dync__device_is(s->device, DYNC__DEV_HOST) ? dync__alloc(b.nbytes) : NULL;
    dync__reader_storage entry = {s, b.nbytes > 0};
    if (!s || !dync__vec_push(&r->storage, entry)) {
        if (s) dync__storage_unref(s);
        r->failed = true;
        return -1;
    }
    if (b.nbytes && dync__device_is(s->device, DYNC__DEV_HOST))
        dync__reader_fill(r, &b, s->data);
    else if (b.nbytes && host) {
        dync__reader_fill(r, &b, host);
        r->failed |= dync__device_copy((int)b.device, s->data, DYNC_CPU, host, b.nbytes) != DYNC_OK;
    }
    dync__free(host, b.nbytes);
    return r->storage.n - 1;
}

/* A history of one step, so that a tensor is no leaf: its gradient goes on to the leaf behind
 * it. */
static dync_status dync__reader_history(void *state, int n_out, dync__tensor *const *grad_out,
                                        int n_in, const bool *needed, dync__tensor **grad_in,
                                        bool create_graph)
{
    (void)state, (void)n_out, (void)create_graph;
    if (n_in > 0 && needed[0] && grad_out[0]) dync__ref(grad_in[0] = grad_out[0]);
    return DYNC_OK;
}
static void dync__reader_history_destroy(void *state) { (void)state; }

/* Takes over the reference to leaf. NULL: no memory. */
static dync__tensor *dync__reader_non_leaf(dync__tensor *leaf)
{
    static const dync__gnode_class history = {"ReproHistory", dync__reader_history, NULL,
                                              dync__reader_history_destroy, NULL};
    bool grad_off = dync__grad_is_off();
    dync__tensor *t = dync__tensor_alias(leaf, leaf->dtype, &leaf->lay);
    dync__grad_off(false);
    if (t && dync__tape_attach(&history, NULL, 1, &leaf, 1, &t, NULL) != DYNC_OK) {
        dync__unref(t);
        t = NULL;
    }
    dync__grad_off(grad_off);
    dync__unref(leaf);
    return t;
}

/* The layout that the program states, checked against the storage: the last element it reaches is
 * offset + sum((shape - 1) * stride), computed with overflow checks since the text may have been
 * edited by hand. */
static dync_status dync__reader_layout(const dync_repro_input *in, const dync__storage *s,
                                       dync__layout *lay)
{
    if (in->shape.n < 0 || in->shape.n > DYNC_MAX_DIMS ||
        (in->stride.n && in->stride.n != in->shape.n) || !dync__dtype_valid((int)in->dtype))
        return dync__fail(DYNC_ERR_VALUE, "dync_repro_tensor: shape, stride and dtype do not fit");
    DYNC__TRY(dync__layout_contiguous(lay, in->shape.n, in->shape.d));
    lay->offset = in->storage_offset;
    for (int d = 0; d < in->stride.n; d++) lay->stride[d] = in->stride.d[d];
    for (int d = 0; d < lay->ndim; d++)
        if (lay->stride[d] < 0)
            return dync__fail(DYNC_ERR_VALUE, "dync_repro_tensor: a stride "
                                              "is negative");
    int64_t items = (int64_t)(s->size_bytes / dync__dtype_info((int)in->dtype)->bytes),
            last = lay->offset;
    bool empty = false, fits = last >= 0;
    for (int d = 0; d < lay->ndim && fits; d++) {
        int64_t step = 0;
        empty = empty || lay->shape[d] == 0;
        fits = dync__mul_ok(lay->shape[d] - 1, lay->stride[d], &step) &&
               dync__add_ok(last, step, &last);
    }
    if (empty || (fits && last < items)) return DYNC_OK;
    return dync__fail(DYNC_ERR_VALUE,
                      "dync_repro_tensor: a tensor reaches behind its storage of %lld elements",
                      (long long)items);
}

/* The tensor becomes the reader's next value. The shared storage keeps a reference of its own in
 * the reader, so several tensors may be made of it. */
DYNC_API void dync_repro_tensor_opt(dync_repro_reader *reader, int storage, dync_repro_input in)
{
    dync__layout lay;
    dync__repro_reader *r = dync__repro_reader_open(reader, "dync_repro_tensor");
    if (!r) return;
    if (storage < 0 || storage >= r->storage.n) {
        dync__fail(DYNC_ERR_VALUE, "dync_repro_tensor: there is no storage %d", storage);
        r->failed = true;
        return;
    }
    dync__storage *s = r->storage.at[storage].storage;
    dync__tensor *t = NULL;
    if (dync__reader_layout(&in, s, &lay) == DYNC_OK) {
        dync__storage_ref(s);
        t = dync__tensor_new(s, (int)in.dtype, &lay);
    }
    if (t && in.requires_grad) {
        dync__tensor_set_requires_grad(t, true);
        if (!in.is_leaf) t = dync__reader_non_leaf(t);
    }
    dync_value v = dync_v_tensor(t ? dync__give(t) : NULL);
    if (!t || !dync__vec_push(&r->value, v)) r->failed = true;
}

DYNC_API void dync_repro_number(dync_repro_reader *reader, dync_value number)
{
    dync__repro_reader *r = dync__repro_reader_open(reader, "dync_repro_number");
    if (r && !dync__vec_push(&r->value, number)) r->failed = true;
}
