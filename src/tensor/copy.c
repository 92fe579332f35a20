/* tensor/copy.c: the elements of a tensor in row-major order. After alive.c. */
#include "../dync.in.h"
#include "sym.h"
#include "tensor_state.h"
DYNC__WARM

/* The same elements in the same order by fewer dimensions: those of one element go, neighbours that
 * are one walk join. */
static void dync__dense_joined(dync__layout *to, const dync__layout *lay)
{
    int n = 0;
    for (int i = 0; i < lay->ndim; i++) {
        int64_t size = lay->shape[i], step = lay->stride[i];
        if (size == 1) continue;
        if (n && to->stride[n - 1] == step * size) {
            to->shape[n - 1] *= size;
            to->stride[n - 1] = step;
            continue;
        }
        to->shape[n] = size;
        to->stride[n++] = step;
    }
    to->ndim = n;
}

/* n elements, one `step` behind the other, each `bytes` long. */
#define DYNC__COPY_STRIDED(type)                                         \
    for (int64_t i = 0; i < n; i++, src += step * (int64_t)sizeof(type)) \
    memcpy(dst + i * (int64_t)sizeof(type), src, sizeof(type))
DYNC__BUSY static void dync__dense_row(char *dst, const char *src, int64_t n, int64_t step,
                                       size_t bytes)
{
    size_t all = (size_t)n * bytes, done = bytes;
    if (DYNC__SMALLER(true, false)) {
        for (; n > 0; n--, dst += bytes, src += step * (int64_t)bytes) memcpy(dst, src, bytes);
    } else if (step == 1) {
        memcpy(dst, src, all);
    } else if (step == 0) {
        memcpy(dst, src, bytes);
        for (; done < all; done += DYNC__MIN(done, all - done))
            memcpy(dst + done, dst, DYNC__MIN(done, all - done));
    } else {
        switch (bytes) {
        case 1: DYNC__COPY_STRIDED(uint8_t); break;
        case 2: DYNC__COPY_STRIDED(uint16_t); break;
        case 4: DYNC__COPY_STRIDED(uint32_t); break;
        default: DYNC__COPY_STRIDED(uint64_t);
        }
    }
}
#undef DYNC__COPY_STRIDED

/* Row by row: dst advances by one element, src by the layout. */
static void dync__dense_elements(char *dst, const char *src, const dync__layout *given,
                                 size_t bytes)
{
    dync__layout lay;
    dync__dense_joined(&lay, given);
    int last = lay.ndim - 1;
    int64_t index[DYNC_MAX_DIMS] = {0}, n = 1, inner = last < 0 ? 1 : lay.shape[last];
    int64_t step = last < 0 ? 1 : lay.stride[last];
    for (int i = 0; i < last; i++) n *= lay.shape[i];
    for (int64_t row = 0; row < n; row++, dst += inner * (int64_t)bytes) {
        dync__dense_row(dst, src, inner, step, bytes);
        for (int i = last - 1; i >= 0; i--) {
            src += lay.stride[i] * (int64_t)bytes;
            if (++index[i] < lay.shape[i]) break;
            src -= lay.stride[i] * lay.shape[i] * (int64_t)bytes;
            index[i] = 0;
        }
    }
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
        dync__dense_elements(copy->storage->data, dync__tensor_data(t), &t->lay, bytes);
    return copy;
}
