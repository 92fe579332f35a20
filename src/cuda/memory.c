/* cuda/memory.c: device memory: a caching allocator in stream order, and copies. After device.c,
 * before launch.c.
 *
 * Sizes are rounded up to 512 bytes, large ones to 2 MiB. What is given back is kept with its
 * stream and serves the next request of that stream that it fits without much waste: work on one
 * stream runs in order, so nobody has to wait. Where the driver has no more, everything kept is
 * given back and asked for once again. While a graph is recorded nothing that it used is given to
 * others. */
#include "../dync.in.h"
#include "cuda.h"
DYNC__HOT

typedef struct dync__cuda_block {
    struct dync__cuda_block *next;
    void *p;
    size_t n;
    int device;
    cudaStream_t stream;
} dync__cuda_block;
static struct {
    dync__mutex lock;
    dync__cuda_block *kept[DYNC__CUDA_DEVICES];
    dync__map live; /* address to block */
    dync_cuda_memory stats[DYNC__CUDA_DEVICES];
} dync__cuda_pool;

static size_t dync__cuda_rounded(size_t n)
{
    size_t unit = n > ((size_t)1 << 20) ? (size_t)2 << 20 : 512;
    return n > SIZE_MAX - unit ? n : (n + unit - 1) / unit * unit;
}

/* Called with the lock held, as are those below. The smallest kept block that is not a quarter too
 * large. */
static dync__cuda_block *dync__cuda_kept_find(int device, cudaStream_t stream, size_t n)
{
    dync__cuda_block **best = NULL;
    for (dync__cuda_block **b = &dync__cuda_pool.kept[device >> 8]; *b; b = &(*b)->next)
        if ((*b)->stream == stream && (*b)->n >= n && (*b)->n - n <= n / 4 &&
            (!best || (*b)->n < (*best)->n))
            best = b;
    if (!best) return NULL;
    dync__cuda_block *found = *best;
    *best = found->next;
    return found;
}

static void dync__cuda_kept_drop(int device)
{
    dync_cuda_memory *stats = &dync__cuda_pool.stats[device >> 8];
    if (dync__cuda_enter(device) != DYNC_OK) return;
    while (dync__cuda_pool.kept[device >> 8]) {
        dync__cuda_block *b = dync__cuda_pool.kept[device >> 8];
        dync__cuda_pool.kept[device >> 8] = b->next;
        (void)cudaFree(b->p);
        stats->reserved -= (int64_t)b->n;
        stats->blocks_freed++;
        dync__free(b, sizeof *b);
    }
}

static void dync__cuda_pool_end(void)
{
    dync__lock(&dync__cuda_pool.lock);
    for (int i = 0; i < DYNC__CUDA_DEVICES; i++)
        if (dync__cuda_pool.kept[i]) dync__cuda_kept_drop(DYNC_CUDA | i << 8);
    if (dync__cuda_pool.live.n == 0) dync__map_free(&dync__cuda_pool.live);
    dync__unlock(&dync__cuda_pool.lock);
}

static dync__cuda_block *dync__cuda_block_new(int device, cudaStream_t stream, size_t n)
{
    dync_cuda_memory *stats = &dync__cuda_pool.stats[device >> 8];
    dync__cuda_block *b = dync__calloc(sizeof *b);
    if (!b) return NULL;
    cudaError_t e = cudaMalloc(&b->p, n);
    if (e == DYNC__CU_OUT_OF_MEMORY) {
        (void)cudaGetLastError();
        dync__cuda_kept_drop(device);
        e = cudaMalloc(&b->p, n);
    }
    if (e != 0) {
        char what[160];
        dync__format(what, sizeof what,
                     "out of memory? Tried to allocate %zu bytes on cuda:%d, %lld are in use", n,
                     device >> 8, (long long)stats->allocated);
        (void)dync__cuda_check(e, what);
        dync__free(b, sizeof *b);
        return NULL;
    }
    b->n = n;
    b->device = device;
    b->stream = stream;
    stats->blocks_made++;
    stats->reserved += (int64_t)n;
    stats->reserved_peak = DYNC__MAX(stats->reserved_peak, stats->reserved);
    return b;
}

DYNC__FN void *dync__cuda_alloc(int device, size_t n)
{
    void *p = NULL;
    if (dync__cuda_known(device) != DYNC_OK || dync__cuda_enter(device) != DYNC_OK) return NULL;
    dync__at_shutdown(dync__cuda_pool_end);
    n = dync__cuda_rounded(DYNC__MAX(n, 1));
    cudaStream_t stream = dync__cuda_stream(device);
    dync__lock(&dync__cuda_pool.lock);
    dync_cuda_memory *stats = &dync__cuda_pool.stats[device >> 8];
    dync__cuda_block *b = dync__cuda_kept_find(device, stream, n);
    if (b)
        stats->reused++;
    else
        b = dync__cuda_block_new(device, stream, n);
    if (b &&
        !dync__map_put(&dync__cuda_pool.live, (uint64_t)(uintptr_t)b->p, (uint64_t)(uintptr_t)b)) {
        b->next = dync__cuda_pool.kept[device >> 8];
        dync__cuda_pool.kept[device >> 8] = b;
        b = NULL;
    }
    if (b) {
        p = b->p;
        stats->allocated += (int64_t)b->n;
        stats->allocated_peak = DYNC__MAX(stats->allocated_peak, stats->allocated);
    }
    dync__unlock(&dync__cuda_pool.lock);
    return p;
}

DYNC__FN void dync__cuda_free(int device, void *p, size_t n)
{
    uint64_t found = 0;
    dync__cuda_recording *r = dync__cuda_tls.recording;
    if (!p) return;
    if (device == DYNC_CPU) {
        (void)cudaFreeHost(p);
        return;
    }
    if (r) {
        dync__cuda_kept kept = {device, p, n};
        if (dync__vec_push(&r->kept, kept)) return;
        r->failed = true;
    }
    dync__lock(&dync__cuda_pool.lock);
    if (dync__map_get(&dync__cuda_pool.live, (uint64_t)(uintptr_t)p, &found)) {
        dync__cuda_block *b = (dync__cuda_block *)(uintptr_t)found;
        dync__map_remove(&dync__cuda_pool.live, (uint64_t)(uintptr_t)p);
        b->next = dync__cuda_pool.kept[device >> 8];
        dync__cuda_pool.kept[device >> 8] = b;
        dync__cuda_pool.stats[device >> 8].allocated -= (int64_t)b->n;
    }
    dync__unlock(&dync__cuda_pool.lock);
}

DYNC__FN dync_cuda_memory dync__cuda_stats(int index)
{
    dync_cuda_memory none;
    memset(&none, 0, sizeof none);
    if (index < 0 || index >= DYNC__CUDA_DEVICES) return none;
    dync__lock(&dync__cuda_pool.lock);
    none = dync__cuda_pool.stats[index];
    dync__unlock(&dync__cuda_pool.lock);
    return none;
}

DYNC__FN void dync__cuda_trim(int device)
{
    dync__lock(&dync__cuda_pool.lock);
    dync__cuda_kept_drop(device);
    dync__unlock(&dync__cuda_pool.lock);
}

/* Blocks of a stream that is gone serve the default one. */
DYNC__FN void dync__cuda_trim_stream(int device, cudaStream_t stream)
{
    dync__lock(&dync__cuda_pool.lock);
    for (dync__cuda_block *b = dync__cuda_pool.kept[device >> 8]; b; b = b->next)
        if (b->stream == stream) b->stream = NULL;
    dync__unlock(&dync__cuda_pool.lock);
}

DYNC__FN void *dync__cuda_alloc_pinned(size_t n)
{
    void *p = NULL;
    if (dync__cuda_known(DYNC_CUDA) != DYNC_OK) return NULL;
    return dync__cuda_check(cudaHostAlloc(&p, DYNC__MAX(n, 1), 1 /* portable */),
                            "cudaHostAlloc") == DYNC_OK
               ? p
               : NULL;
}

/* ---- copies ---------------------------------------------------------------------------------- */

DYNC__FN dync_status dync__cuda_copy_later(int to_device, void *dst, int from_device,
                                           const void *src, size_t n)
{
    int device = to_device == DYNC_CPU ? from_device : to_device;
    if (n == 0) return DYNC_OK; /* there may be no address */
    DYNC__TRY(dync__cuda_known(device));
    DYNC__TRY(dync__cuda_enter(device));
    if (to_device == DYNC_CPU || from_device == DYNC_CPU || to_device == from_device)
        return dync__cuda_check(
            cudaMemcpyAsync(dst, src, n, DYNC__CU_COPY_DEFAULT, dync__cuda_stream(device)),
            "cudaMemcpyAsync");
    /* Between devices: the source's work comes first, and it may not go on before the copy is
     * done. */
    DYNC__TRY(dync__cuda_enter(from_device));
    DYNC__TRY(dync__cuda_check(cudaStreamSynchronize(dync__cuda_stream(from_device)),
                               "cudaStreamSynchronize"));
    DYNC__TRY(dync__cuda_enter(to_device));
    DYNC__TRY(dync__cuda_check(cudaMemcpyPeerAsync(dst, to_device >> 8, src, from_device >> 8, n,
                                                   dync__cuda_stream(to_device)),
                               "cudaMemcpyPeerAsync"));
    return dync__cuda_check(cudaStreamSynchronize(dync__cuda_stream(to_device)),
                            "cudaMemcpyPeerAsync");
}

DYNC__FN dync_status dync__cuda_copy(int to_device, void *dst, int from_device, const void *src,
                                     size_t n)
{
    DYNC__TRY(dync__cuda_copy_later(to_device, dst, from_device, src, n));
    if (to_device != DYNC_CPU && from_device != DYNC_CPU) return DYNC_OK;
    int device = to_device == DYNC_CPU ? from_device : to_device;
    return dync__cuda_check(cudaStreamSynchronize(dync__cuda_stream(device)), "a kernel or copy "
                                                                              "on the device "
                                                                              "failed");
}
