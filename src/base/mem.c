/* base/mem.c: the one door for memory. Below it DYNC_MALLOC and its kin, or the buffer of
 * dync_init; above it everything.
 *
 * Contract. The size given at free is the size given at allocation. dync__alloc(0) is a unique
 * pointer; dync__free(NULL, n) does nothing; dync__realloc(NULL, 0, n) allocates; a realloc that
 * fails leaves the old block. Plain blocks are aligned for every C type, data blocks to 64 bytes
 * (the address DYNC_MALLOC gave stands in the word before them).
 *
 * Freed blocks wait in size-class lists of the thread that freed them, so a program in a steady
 * state does not reach DYNC_MALLOC. Classes: multiples of 16 (data: 64) up to 1 KiB, then 2^k and
 * 1.5 * 2^k up to 64 MiB (from a buffer, which is scarce, only the small ones). When the lists of a
 * thread pass DYNC__MEM_CACHE_BYTES they are all given back; also when memory runs out, before the
 * second try.
 *
 * Statistics count what callers asked for. Each thread sums on its own and adds to the process'
 * sums every 64 KiB, so figures are exact for one thread and for threads that have ended. Source:
 * size classes as in Evans 2006 (jemalloc). */
#include "../dync.in.h"
#include "base.h"
DYNC__WARM

#if !defined(DYNC_MALLOC) && !defined(DYNC_REALLOC) && !defined(DYNC_FREE)
#define DYNC_MALLOC(n) malloc(n)
#define DYNC_REALLOC(p, n) realloc((p), (n))
#define DYNC_FREE(p) free(p)
#elif !defined(DYNC_MALLOC) || !defined(DYNC_REALLOC) || !defined(DYNC_FREE)
#error "dync: define all three of DYNC_MALLOC, DYNC_REALLOC and DYNC_FREE, or none"
#endif

#ifndef DYNC__MEM_CACHE_BYTES
#if defined(DYNC_SMALL)
#define DYNC__MEM_CACHE_BYTES 0
#elif SIZE_MAX > 0xffffffffu
#define DYNC__MEM_CACHE_BYTES ((size_t)256 << 20)
#else
#define DYNC__MEM_CACHE_BYTES ((size_t)32 << 20)
#endif
#endif

#if defined(DYNC__ASAN)
void __asan_poison_memory_region(void const volatile *, size_t);
void __asan_unpoison_memory_region(void const volatile *, size_t);
#define DYNC__MEM_HIDE(p, n) __asan_poison_memory_region((p), (n))
#define DYNC__MEM_SHOW(p, n) __asan_unpoison_memory_region((p), (n))
#else
#define DYNC__MEM_HIDE(p, n) ((void)(p), (void)(n))
#define DYNC__MEM_SHOW(p, n) ((void)(p), (void)(n))
#endif

enum {
    DYNC__MEM_LINEAR = 1024,
    DYNC__MEM_MAX_BITS = 26,
    DYNC__MEM_CLASSES = 65 + 2 * (DYNC__MEM_MAX_BITS - 10),
    DYNC__MEM_PAGE = 4096,
#if defined(DYNC_SMALL)
    DYNC__MEM_DATA_ALIGN = 8
#else
    DYNC__MEM_DATA_ALIGN = 64
#endif
};
enum { DYNC__MEM_PLAIN, DYNC__MEM_DATA };

typedef struct dync__cache {
    void *bin[2][DYNC__MEM_CLASSES]; /* a free block's first word is the next one */
    size_t cached_bytes;
    int64_t live, peak; /* since the last flush */
} dync__cache;

static struct {
    int64_t live, peak, mallocs, blocks; /* blocks: from below and not given back */
} dync__mem;

/* ---- below the door -------------------------------------------------------------------------- */

DYNC__FN bool dync__mem_in_use(void) { return DYNC__ATOMIC_LOAD(&dync__mem.blocks) != 0; }

DYNC__FN bool dync__mem_set_buffer(void *memory, size_t n)
{
    return !dync__mem_in_use() && dync__heap_set(memory, n);
}

static void *dync__mem_raw_alloc(size_t n)
{
    void *p;
    if (dync__heap.begin) {
        dync__lock(&dync__heap.lock);
        p = dync__heap_alloc(n);
        dync__unlock(&dync__heap.lock);
    } else {
        p = DYNC_MALLOC(n);
    }
    if (!p) return NULL;
    (void)DYNC__ATOMIC_ADD(&dync__mem.mallocs, 1);
    (void)DYNC__ATOMIC_ADD(&dync__mem.blocks, 1);
    return p;
}

static void dync__mem_raw_free(void *p)
{
    (void)DYNC__ATOMIC_ADD(&dync__mem.blocks, -1);
    if ((char *)p >= dync__heap.begin && (char *)p < dync__heap.end) {
        dync__lock(&dync__heap.lock);
        dync__heap_free(p);
        dync__unlock(&dync__heap.lock);
    } else {
        DYNC_FREE(p);
    }
}

/* A block of one kind: size is the class' or, beyond the classes, the caller's. Large data blocks
 * begin at eight places of a page in turn, none where malloc's do: a store and a later load whose
 * addresses differ by whole pages wait for one another in the processor, and their lines share a
 * set of the first cache. (Intel 64 Optimization Reference Manual, 4-KByte aliasing) Those of some
 * large pages begin in one, as the first touch of 512 small ones costs ten times as much. */
static void *dync__mem_block_alloc(int kind, size_t size)
{
    static int32_t turn;
    size_t align = DYNC__MEM_DATA_ALIGN, place = 0;
    if (size > (size_t)PTRDIFF_MAX - 2 * DYNC__MEM_PAGE) return NULL;
    if (kind == DYNC__MEM_PLAIN) return dync__mem_raw_alloc(size);
    if (size >= DYNC__MEM_PLACED && DYNC__MEM_CACHE_BYTES > 0 && !dync__heap.begin)
        align = DYNC__MEM_PAGE, place = 320 + 512 * (size_t)(3 * DYNC__ATOMIC_ADD(&turn, 1) & 7);
    if (DYNC__SLABS && size >= DYNC__MEM_LARGE && align == DYNC__MEM_PAGE)
        align = DYNC__OS_LARGE; /* what is not touched is not there */
    char *raw = dync__mem_raw_alloc(size + align + sizeof(void *)), *p;
    if (!raw) return NULL;
    if (align == DYNC__OS_LARGE) dync__os_large_wanted(raw, size + align);
    p = raw + sizeof(void *);
    p += (place - (uintptr_t)p) & (align - 1);
    memcpy(p - sizeof(void *), &raw, sizeof raw);
    return p;
}

static void dync__mem_block_free(int kind, void *p)
{
    if (kind == DYNC__MEM_DATA) memcpy(&p, (char *)p - sizeof(void *), sizeof p);
    dync__mem_raw_free(p);
}

/* ---- size classes ---------------------------------------------------------------------------- */

/* Class of a block of n bytes and its size; -1: too big to be kept, *size = n. */
DYNC__OFTEN DYNC__INLINE int dync__mem_class(int kind, size_t n, size_t *size)
{
    if (DYNC__MEM_CACHE_BYTES == 0) {
        *size = n ? n : 1;
        return -1;
    }
    if (n <= DYNC__MEM_LINEAR) {
        int shift = kind == DYNC__MEM_DATA ? 6 : 4;
        size_t i = n ? (n - 1) >> shift : 0;
        *size = (i + 1) << shift;
        return (int)i;
    }
    int bits = DYNC__BIT_LENGTH(n - 1); /* 2^(bits-1) < n <= 2^bits */
    if (bits > DYNC__MEM_MAX_BITS || dync__heap.begin) {
        *size = n;
        return -1;
    }
    size_t half = (size_t)3 << (bits - 2);
    *size = n <= half ? half : (size_t)1 << bits;
    return 64 + 2 * (bits - 11) + (n > half);
}

static size_t dync__mem_class_size(int kind, int class_index)
{
    if (class_index < 64) return (size_t)(class_index + 1) << (kind == DYNC__MEM_DATA ? 6 : 4);
    int bits = 11 + (class_index - 64) / 2;
    return (class_index - 64) % 2 ? (size_t)1 << bits : (size_t)3 << (bits - 2);
}

DYNC__RARE static void dync__mem_cache_trim(dync__cache *c)
{
    for (int kind = 0; kind < 2; kind++) {
        for (int i = 0; i < DYNC__MEM_CLASSES; i++) {
            for (void *p = c->bin[kind][i], *next; p; p = next) {
                memcpy(&next, p, sizeof next);
                DYNC__MEM_SHOW(p, dync__mem_class_size(kind, i));
                dync__mem_block_free(kind, p);
            }
            c->bin[kind][i] = NULL;
        }
    }
    c->cached_bytes = 0;
}

/* NULL: no cache, for want of memory or because there is to be none; the blocks then go straight
 * through. */
DYNC__RARE static DYNC__NOINLINE dync__cache *dync__mem_cache_new(void)
{
    if (DYNC__MEM_CACHE_BYTES == 0) return NULL;
    dync__thread_arm();
    dync__cache *c = dync__tls.registered ? dync__mem_raw_alloc(sizeof *c) : NULL;
    if (c) memset(c, 0, sizeof *c);
    dync__tls.cache = c;
    return c;
}

static void dync__mem_raise_peak(int64_t to)
{
    int64_t peak = DYNC__ATOMIC_PEEK(&dync__mem.peak);
    while (peak < to && !DYNC__ATOMIC_CAS(&dync__mem.peak, &peak, to)) {}
}

static DYNC__NOINLINE void dync__mem_flush(dync__cache *c)
{
    int64_t live = c->live, now = DYNC__ATOMIC_ADD(&dync__mem.live, live);
    dync__mem_raise_peak(now - live + c->peak);
    c->live = c->peak = 0;
}

DYNC__OFTEN DYNC__INLINE void dync__mem_count(dync__cache *c, int64_t bytes)
{
    if (!c) {
        dync__mem_raise_peak(DYNC__ATOMIC_ADD(&dync__mem.live, bytes));
        return;
    }
    c->live += bytes;
    if (c->live > c->peak) c->peak = c->live;
    if (c->live > DYNC__MEM_FLUSH || c->live < -DYNC__MEM_FLUSH) dync__mem_flush(c);
}

static DYNC__NOINLINE void *dync__mem_take_slow(int kind, size_t n, size_t size)
{
    void *p = dync__mem_block_alloc(kind, size);
    if (!p && dync__tls.cache) {
        dync__mem_cache_trim(dync__tls.cache);
        p = dync__mem_block_alloc(kind, size);
    }
    if (p) DYNC__MEM_HIDE((char *)p + n, size - n);
    return p;
}

DYNC__INLINE void dync__mem_put(int kind, void *p, size_t n);
DYNC__RARE static DYNC__NOINLINE bool dync__mem_open_reserve(void)
{
    dync__reserve *r = dync__tls.reserve;
    void *p = r ? DYNC__ATOMIC_LOAD(&r->block) : NULL;
    if (!p || !DYNC__ATOMIC_CAS(&r->block, &p, NULL)) return false;
    dync__mem_put(DYNC__MEM_DATA, p, r->bytes);
    return true;
}

/* Fault injection: true where this allocation is the one to fail. */
DYNC__OFTEN DYNC__INLINE bool dync__mem_injected(size_t n)
{
    if (DYNC__LIKELY(dync__tls.fail_at == 0) || --dync__tls.fail_at != 0) return false;
    if (dync__mem_open_reserve()) return false;
    dync__fail_memory(n);
    return true;
}

DYNC__OFTEN DYNC__INLINE void *dync__mem_take(int kind, size_t n)
{
    if (dync__mem_injected(n)) return NULL;
    dync__cache *c = dync__tls.cache;
    if (DYNC__UNLIKELY(!c)) c = dync__mem_cache_new();
    size_t size;
    int i = dync__mem_class(kind, n, &size);
    void *p = c && i >= 0 ? c->bin[kind][i] : NULL;
    if (DYNC__LIKELY(p != NULL)) {
        memcpy(&c->bin[kind][i], p, sizeof p);
        c->cached_bytes -= size;
        DYNC__MEM_SHOW(p, n);
    } else {
        p = dync__mem_take_slow(kind, n, size);
        if (!p && dync__mem_open_reserve()) p = dync__mem_take_slow(kind, n, size);
        if (!p) return dync__fail_memory(n), NULL;
    }
    dync__mem_count(c, (int64_t)n);
    return p;
}

DYNC__OFTEN DYNC__INLINE void dync__mem_put(int kind, void *p, size_t n)
{
    if (!p) return;
    dync__cache *c = dync__tls.cache;
    size_t size;
    int i = dync__mem_class(kind, n, &size);
    dync__mem_count(c, -(int64_t)n);
    if (DYNC__UNLIKELY(!c || i < 0)) {
        DYNC__MEM_SHOW(p, size);
        dync__mem_block_free(kind, p);
        return;
    }
    if (DYNC__UNLIKELY(c->cached_bytes + size > DYNC__MEM_CACHE_BYTES)) dync__mem_cache_trim(c);
    DYNC__MEM_SHOW(p, sizeof p); /* blocks smaller than the link */
    memcpy(p, &c->bin[kind][i], sizeof p);
    DYNC__MEM_HIDE((char *)p + sizeof p, size - sizeof p);
    c->bin[kind][i] = p;
    c->cached_bytes += size;
}

/* ---- the door -------------------------------------------------------------------------------- */

DYNC__FN void *dync__alloc(size_t n) { return dync__mem_take(DYNC__MEM_PLAIN, n); }
DYNC__OFTEN DYNC__FN void dync__free(void *p, size_t n) { dync__mem_put(DYNC__MEM_PLAIN, p, n); }
DYNC__OFTEN DYNC__FN void *dync__alloc_data(size_t n) { return dync__mem_take(DYNC__MEM_DATA, n); }
DYNC__OFTEN DYNC__FN void dync__free_data(void *p, size_t n)
{
    dync__mem_put(DYNC__MEM_DATA, p, n);
}

DYNC__FN void *dync__calloc(size_t n)
{
    void *p = dync__alloc(n);
    if (p) memset(p, 0, n);
    return p;
}

/* Beyond the classes DYNC_REALLOC may grow a block in place. */
static void *dync__mem_realloc_big(void *p, size_t old_n, size_t n)
{
    if (dync__mem_injected(n)) return NULL;
    void *q = n <= (size_t)PTRDIFF_MAX ? DYNC_REALLOC(p, n) : NULL;
    if (!q) return dync__fail_memory(n), NULL;
    (void)DYNC__ATOMIC_ADD(&dync__mem.mallocs, 1);
    dync__mem_count(dync__tls.cache, (int64_t)n - (int64_t)old_n);
    return q;
}

DYNC__RARE DYNC__FN void *dync__realloc(void *p, size_t old_n, size_t n)
{
    if (!p) return dync__alloc(n);
    size_t old_size, size;
    int old_class = dync__mem_class(DYNC__MEM_PLAIN, old_n, &old_size),
        new_class = dync__mem_class(DYNC__MEM_PLAIN, n, &size);
    if (old_class >= 0 && old_class == new_class) {
        if (dync__mem_injected(n)) return NULL;
        dync__mem_count(dync__tls.cache, (int64_t)n - (int64_t)old_n);
        DYNC__MEM_SHOW(p, n);
        DYNC__MEM_HIDE((char *)p + n, size - n);
        return p;
    }
    if (old_class < 0 && new_class < 0 && n > 0 && !dync__heap.begin)
        return dync__mem_realloc_big(p, old_n, n);
    void *q = dync__alloc(n);
    if (!q) return NULL;
    memcpy(q, p, old_n < n ? old_n : n);
    dync__free(p, old_n);
    return q;
}

DYNC__FN char *dync__strdup(const char *s)
{
    size_t n = strlen(s) + 1;
    char *copy = dync__alloc(n);
    if (copy) memcpy(copy, s, n);
    return copy;
}

DYNC__FN void dync__strfree(char *s)
{
    if (s) dync__free(s, strlen(s) + 1);
}

DYNC__FN void dync__mem_note(int64_t bytes) { dync__mem_count(dync__tls.cache, bytes); }

DYNC__FN dync__mem_stats dync__mem_read_stats(void)
{
    if (dync__tls.cache) dync__mem_flush(dync__tls.cache);
    dync__mem_stats s = {DYNC__ATOMIC_PEEK(&dync__mem.live), DYNC__ATOMIC_PEEK(&dync__mem.peak),
                         DYNC__ATOMIC_PEEK(&dync__mem.mallocs)};
    return s;
}

DYNC__FN void dync__mem_trim(void)
{
    if (dync__tls.cache) dync__mem_cache_trim(dync__tls.cache);
}

DYNC__FN void dync__mem_thread_end(dync__thread *t)
{
    dync__cache *c = t->cache;
    if (!c) return;
    t->cache = NULL;
    dync__mem_cache_trim(c);
    dync__mem_flush(c);
    dync__mem_raw_free(c);
}

DYNC__FN void dync__mem_fail_at(int64_t nth) { dync__tls.fail_at = nth > 0 ? nth : 0; }
