/* cuda/public.c: the functions of dync_cuda.h and the driver of its row in the table of devices.
 * Last. */
#include "../dync.in.h"
#include "gemm.h"
#include "../op/rows.h"
#include "../runtime/plan.h"
DYNC__HOT

static const dync__driver dync__cuda_device = {
    .known = dync__cuda_known,
    .alloc = dync__cuda_alloc,
    .free = dync__cuda_free,
    .copy = dync__cuda_copy,
    .read = dync__contiguous_copy,
    .kernel_new = dync__cuda_kernel_new,
    .call_new = dync__cuda_call_new,
    .call_takes = dync__gm_takes,
    .run = dync__cuda_run,
    .code_free = dync__cuda_code_free,
    .code_dump = dync__cuda_code_dump,
    .record = dync__cuda_record,
    .plans = &dync__plan_away,
};
#if !defined(DYNC__SPLIT)
static const dync__driver *dync__device_cuda = &dync__cuda_device;
#else
/* A program that links this file has the device. */
__attribute__((constructor)) static void dync__cuda_install(void)
{
    dync__device_cuda = &dync__cuda_device;
}
#endif

DYNC_API int dync_cuda_device_count(void) { return dync__cuda_count(); }
DYNC_API const char *dync_cuda_reason(void) { return dync__cuda_why(); }

static dync_status dync__cuda_device_of(int index, int *device)
{
    *device = DYNC_CUDA | index << 8;
    if (index < 0 || index >= DYNC__CUDA_DEVICES)
        return dync__fail(DYNC_ERR_VALUE, "expected a device from 0 to %d, got %d",
                          dync__cuda_count() - 1, index);
    DYNC__TRY(dync__cuda_known(*device));
    return dync__cuda_enter(*device);
}

DYNC_API dync_status dync_cuda_synchronize(int index)
{
    int device;
    DYNC__TRY(dync__cuda_device_of(index, &device));
    return dync__cuda_check(cudaDeviceSynchronize(), "a kernel or copy on the device failed");
}

DYNC_API bool dync_cuda_allow_tf32(bool allow)
{
    bool before = DYNC__ATOMIC_LOAD(&dync__cuda_tf32) != 0;
    DYNC__ATOMIC_STORE(&dync__cuda_tf32, allow);
    return before;
}

/* ---- memory ---------------------------------------------------------------------------------- */

DYNC_API dync_cuda_memory dync_cuda_memory_stats(int index) { return dync__cuda_stats(index); }
DYNC_API void dync_cuda_empty_cache(int index)
{
    int device;
    if (dync__cuda_device_of(index, &device) == DYNC_OK && dync_cuda_synchronize(index) == DYNC_OK)
        dync__cuda_trim(device);
}

static dync__tensor *dync__cuda_own(const dync_tensor *h)
{
    dync__tensor *t = dync__open(h);
    if (!t || (!(t->flags & DYNC__T_FAKE) && t->device != DYNC_META)) return t;
    dync__fail(DYNC_ERR_DATA_PTR, "expected a tensor with data, got one that has none");
    return NULL;
}

DYNC_API dync_tensor *dync_cuda_pin(dync_tensor *h)
{
    dync__tensor *t = dync__cuda_own(h), *dense = t ? dync__contiguous_copy(t) : NULL, *out = NULL;
    void *p = dense ? dync__cuda_alloc_pinned(dense->storage->size_bytes) : NULL;
    dync__storage *s = p ? dync__storage_borrow(DYNC_CPU, p, dense->storage->size_bytes) : NULL;
    if (s) {
        memcpy(p, dense->storage->data, dense->storage->size_bytes);
        s->flags = DYNC__STORAGE_PINNED;
        out = dync__tensor_new(s, t->dtype, &dense->lay);
    } else if (p) {
        dync__cuda_free(DYNC_CPU, p, 0);
    }
    dync__unref(dense);
    return dync__give(out);
}

DYNC_API dync_tensor *dync_cuda_to_async(dync_tensor *h, dync_device device)
{
    dync__tensor *t = dync__cuda_own(h), *out = NULL, *dense = NULL;
    if (!t || dync__device_known((int)device) != DYNC_OK) return NULL;
    if (device == DYNC_META || (t->device == DYNC_CPU && device == DYNC_CPU) ||
        !dync__layout_is_dense(&t->lay))
        return dync_to_device(h, device);
    dync__layout lay = t->lay;
    lay.offset = 0;
    size_t bytes = (size_t)t->numel * dync__dtype_info(t->dtype)->bytes;
    void *pinned = device == DYNC_CPU ? dync__cuda_alloc_pinned(bytes) : NULL;
    if (device == DYNC_CPU) {
        dync__storage *s = pinned ? dync__storage_borrow(DYNC_CPU, pinned, bytes) : NULL;
        if (s)
            s->flags = DYNC__STORAGE_PINNED;
        else if (pinned)
            dync__cuda_free(DYNC_CPU, pinned, 0);
        out = s ? dync__tensor_new(s, t->dtype, &lay) : NULL;
    } else {
        out = dync__tensor_empty(t->dtype, (int)device, &lay);
    }
    dync__unref(dense);
    if (out && bytes &&
        dync__cuda_copy_later((int)device, out->storage->data, t->device, dync__tensor_data(t),
                              bytes) != DYNC_OK) {
        dync__unref(out);
        out = NULL;
    }
    return dync__give(out);
}

DYNC_API void *dync_cuda_data(dync_tensor *h)
{
    dync__tensor *t = dync__cuda_own(h);
    if (!t) return NULL;
    if ((t->device & 255) != DYNC_CUDA)
        return dync__fail(DYNC_ERR_DEVICE, "expected a tensor on a CUDA device"), NULL;
    return dync__tensor_data(t);
}

/* ---- streams and events ---------------------------------------------------------------------- */

DYNC_API dync_cuda_stream *dync_cuda_stream_new(int index)
{
    int device;
    if (dync__cuda_device_of(index, &device) != DYNC_OK) return NULL;
    dync_cuda_stream *s = dync__calloc(sizeof *s);
    if (!s) return NULL;
    s->device = device;
    if (dync__cuda_check(cudaStreamCreateWithFlags(&s->stream, DYNC__CU_NON_BLOCKING),
                         "cudaStreamCreateWithFlags") == DYNC_OK)
        return s;
    dync__free(s, sizeof *s);
    return NULL;
}

/* Memory kept for the stream goes back: another stream may get the same handle. */
DYNC_API void dync_cuda_stream_free(dync_cuda_stream *s)
{
    if (!s) return;
    if (dync__cuda_tls.stream[s->device >> 8] == s) dync__cuda_tls.stream[s->device >> 8] = NULL;
    if (dync__cuda_enter(s->device) == DYNC_OK) {
        (void)cudaStreamSynchronize(s->stream);
        (void)cudaStreamDestroy(s->stream);
        dync__cuda_trim_stream(s->device, s->stream);
    }
    dync__free(s, sizeof *s);
}

DYNC_API dync_cuda_stream *dync_cuda_stream_use(dync_cuda_stream *s, int index)
{
    if (s) index = s->device >> 8;
    if (index < 0 || index >= DYNC__CUDA_DEVICES)
        return dync__fail(DYNC_ERR_VALUE, "there is no device %d", index), NULL;
    dync_cuda_stream *before = dync__cuda_tls.stream[index];
    dync__cuda_tls.stream[index] = s;
    return before;
}

static dync_status dync__cuda_given(const void *p, const char *what)
{
    return p ? DYNC_OK : dync__fail(DYNC_ERR_VALUE, "expected %s, got NULL", what);
}

DYNC_API dync_status dync_cuda_stream_synchronize(dync_cuda_stream *s)
{
    DYNC__TRY(dync__cuda_given(s, "a stream"));
    DYNC__TRY(dync__cuda_enter(s->device));
    return dync__cuda_check(cudaStreamSynchronize(s->stream), "a kernel or copy on the stream "
                                                              "failed");
}

DYNC_API dync_status dync_cuda_stream_wait(dync_cuda_stream *s, dync_cuda_event *e)
{
    DYNC__TRY(dync__cuda_given(s, "a stream"));
    DYNC__TRY(dync__cuda_given(e, "an event"));
    DYNC__TRY(dync__cuda_enter(s->device));
    return dync__cuda_check(cudaStreamWaitEvent(s->stream, e->event, 0), "cudaStreamWaitEvent");
}

DYNC_API void *dync_cuda_stream_handle(dync_cuda_stream *s) { return s ? (void *)s->stream : NULL; }

DYNC_API dync_cuda_event *dync_cuda_event_new(int index)
{
    int device;
    if (dync__cuda_device_of(index, &device) != DYNC_OK) return NULL;
    dync_cuda_event *e = dync__calloc(sizeof *e);
    if (!e) return NULL;
    e->device = device;
    if (dync__cuda_check(cudaEventCreateWithFlags(&e->event, 0), "cudaEventCreateWithFlags") ==
        DYNC_OK)
        return e;
    dync__free(e, sizeof *e);
    return NULL;
}

DYNC_API void dync_cuda_event_free(dync_cuda_event *e)
{
    if (!e) return;
    (void)cudaEventDestroy(e->event);
    dync__free(e, sizeof *e);
}

DYNC_API dync_status dync_cuda_event_record(dync_cuda_event *e)
{
    DYNC__TRY(dync__cuda_given(e, "an event"));
    DYNC__TRY(dync__cuda_enter(e->device));
    return dync__cuda_check(cudaEventRecord(e->event, dync__cuda_stream(e->device)),
                            "cudaEventRecord");
}

DYNC_API dync_status dync_cuda_event_synchronize(dync_cuda_event *e)
{
    DYNC__TRY(dync__cuda_given(e, "an event"));
    return dync__cuda_check(cudaEventSynchronize(e->event), "cudaEventSynchronize");
}

DYNC_API double dync_cuda_event_ms(dync_cuda_event *start, dync_cuda_event *end)
{
    float ms = 0;
    if (dync__cuda_given(start, "an event") != DYNC_OK ||
        dync__cuda_given(end, "an event") != DYNC_OK)
        return (double)NAN;
    return dync__cuda_check(cudaEventElapsedTime(&ms, start->event, end->event),
                            "cudaEventElapsedTime") == DYNC_OK
               ? (double)ms
               : (double)NAN;
}

DYNC_API dync_status dync_cuda_cache(const char *folder) { return dync__cuda_images_in(folder); }
DYNC_API dync_cuda_counters dync_cuda_get_counters(void) { return dync__cuda_counters; }
