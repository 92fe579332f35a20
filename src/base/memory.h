/* base/memory.h: the door for memory, and what stands on it: arenas, arrays, maps. Implementations:
 * mem.c heap.c arena.c (with vec) map.c */
#ifndef DYNC__MEMORY_H
#define DYNC__MEMORY_H
#include "state.h"

/* ---- memory ---------------------------------------------------------------------------------- */
/* The one door (mem.c). Sizes are always known at free. Aligned for every C type (16 bytes on
 * 64-bit machines); data 64-byte aligned. */
/* NULL and DYNC_ERR_MEMORY; n == 0 gives a unique pointer */
DYNC__FN void *dync__alloc(size_t n);
DYNC__FN void *dync__calloc(size_t n);
DYNC__FN void *dync__realloc(void *p, size_t old_n, size_t n); /* p stays valid on failure */
DYNC__FN void dync__free(void *p, size_t n);                   /* NULL allowed */
/* 64-byte aligned tensor data, from the per-thread size-class cache */
DYNC__FN void *dync__alloc_data(size_t n);
DYNC__FN void dync__free_data(void *p, size_t n);
DYNC__FN char *dync__strdup(const char *s); /* freed by dync__strfree */
/* Equal texts? For what small programs link: strcmp of some C libraries is 0.7 kB. */
DYNC__BRIEF bool dync__same_text(const char *a, const char *b)
{
#if defined(DYNC_SMALL)
    while (*a && *a == *b) a++, b++;
    return *a == *b;
#else
    return strcmp(a, b) == 0;
#endif
}
DYNC__FN void dync__strfree(char *s);
typedef struct dync__mem_stats {
    int64_t live_bytes, peak_bytes, mallocs;
} dync__mem_stats;
/* mallocs: calls that reached DYNC_MALLOC or the static buffer */
DYNC__FN dync__mem_stats dync__mem_read_stats(void);
/* NULL: back to DYNC_MALLOC. false: too small, or memory is in use */
DYNC__FN bool dync__mem_set_buffer(void *memory, size_t n);
/* zero = unlocked; spins, then yields: for short sections */
typedef struct dync__mutex {
    void *os;
    int32_t state;
} dync__mutex;
/* heap.c: what mem.c asks of the buffer, under its lock; begin NULL: there is none. enough: the
 * size at which the last allocation that failed would not have. */
typedef struct dync__heap_room {
    dync__mutex lock;
    char *begin, *end;
    struct dync__heap_block *free;
    size_t enough;
} dync__heap_room;
enum { DYNC__HEAP_LEAST = 66 * sizeof(size_t) };
DYNC__DATA_DECL dync__heap_room dync__heap;
DYNC__FN bool dync__heap_set(void *memory, size_t n); /* false: too small */
DYNC__FN void *dync__heap_alloc(size_t n);            /* NULL: there is no room */
DYNC__FN void dync__heap_free(void *p);
/* something came from DYNC_MALLOC or the buffer and has not gone back */
DYNC__FN bool dync__mem_in_use(void);
/* bytes that came from elsewhere (slab.c), or went back there, for the figures */
DYNC__FN void dync__mem_note(int64_t bytes);
/* ---- slab.c: a block from large pages, aligned to 64 bytes. NULL, without an error: not here, or
 * not yet; it is to be allocated. Sizes as at free. */
#if defined(DYNC_MALLOC) || defined(DYNC_SMALL) || defined(DYNC__ASAN) || !defined(__linux__) || \
    !(defined(__x86_64__) || defined(__aarch64__))
#define DYNC__SLABS 0
DYNC__INLINE void *dync__slab_take(size_t bytes) { return (void)bytes, NULL; }
DYNC__INLINE void dync__slab_put(void *p, size_t bytes) { (void)p, (void)bytes; }
#else
#define DYNC__SLABS 1
DYNC__FN void *dync__slab_take(size_t bytes);
DYNC__FN void dync__slab_put(void *p, size_t bytes);
#endif
enum { DYNC__SLAB_AFTER = 16 }; /* so many were asked for before */
/* give this thread's cached blocks back */
DYNC__FN void dync__mem_trim(void);
/* recursion: the same for a thread that ends, and its cache itself; mem.c arms threads */
DYNC__FN void dync__mem_thread_end(dync__thread *);
/* Memory put aside for work that must not stop half way: a block from dync__alloc_data. Whoever
 * finds it gone does not free it. */
typedef struct dync__reserve {
    void *block;
    size_t bytes;
} dync__reserve;
/* Fault injection for tests: the nth next dync__alloc/realloc/alloc_data of this thread fails,
 * once; 0 switches it off. */
DYNC__FN void dync__mem_fail_at(int64_t nth);

/* ---- bump arena (arena.c): all IR of one compilation lives in one and dies at once ----------- */
/* zero = empty, ready */
typedef struct dync__arena {
    struct dync__arena_chunk *head;
    size_t used, chunk_size;
} dync__arena;
/* zeroed, 16-byte aligned; NULL + DYNC_ERR_MEMORY */
DYNC__FN void *dync__arena_alloc(dync__arena *, size_t n);
DYNC__FN char *dync__arena_strdup(dync__arena *, const char *);
DYNC__FN char *dync__arena_printf(dync__arena *, const char *fmt, ...) DYNC__PRINTF(2, 3);
DYNC__FN void *dync__arena_copy(dync__arena *, const void *src, size_t n);
DYNC__FN void dync__arena_free(dync__arena *);          /* back to zero */
DYNC__FN size_t dync__arena_bytes(const dync__arena *); /* that its chunks hold, at most */

/* ---- typed growable arrays: struct { T *at; int n, cap; }
 * dync__vec_push(&v, x) is false (and DYNC_ERR_MEMORY) when there is no room; free with
 * dync__vec_free(&v). x is evaluated once. dync__avec_push(arena, &v, x): the same in an arena,
 * never freed alone. */
#define DYNC__VEC(T) \
    struct {         \
        T *at;       \
        int n, cap;  \
    }
/* failure: at and *cap as they were */
DYNC__FN void *dync__vec_grow(dync__arena *arena_or_null, void *at, int *cap, int need,
                              size_t item);
#define dync__avec_reserve(arena, v, need)                                                   \
    ((void)((need) <= (v)->cap ||                                                            \
            ((v)->at = dync__vec_grow((arena), (v)->at, &(v)->cap, (need), sizeof *(v)->at), \
             false)),                                                                        \
     (need) <= (v)->cap)
#define dync__avec_push(arena, v, x)                                                       \
    (((v)->n < (v)->cap ||                                                                 \
      ((v)->at = dync__vec_grow((arena), (v)->at, &(v)->cap, (v)->n + 1, sizeof *(v)->at), \
       (v)->n < (v)->cap)) &&                                                              \
     ((v)->at[(v)->n++] = (x), true))
#define dync__vec_reserve(v, need) dync__avec_reserve((dync__arena *)NULL, (v), (need))
#define dync__vec_push(v, x) dync__avec_push((dync__arena *)NULL, (v), (x))
#define dync__vec_free(v) \
    (dync__free((v)->at, (size_t)(v)->cap * sizeof *(v)->at), (v)->at = NULL, (v)->n = (v)->cap = 0)

/* ---- hash map uint64 -> uint64, open addressing (map.c). Zero = empty. Key 0 is allowed. ----- */
typedef struct dync__map {
    uint64_t *keys, *values;
    uint8_t *used;
    int n, cap;
} dync__map;
DYNC__FN bool dync__map_put(dync__map *, uint64_t key, uint64_t value);      /* false: no memory */
DYNC__FN bool dync__map_get(const dync__map *, uint64_t key, uint64_t *out); /* out may be NULL */
DYNC__FN bool dync__map_remove(dync__map *, uint64_t key);
DYNC__FN bool dync__map_copy(dync__map *to, const dync__map *from); /* to: empty */
DYNC__FN void dync__map_free(dync__map *);
DYNC__FN uint64_t dync__hash_bytes(const void *p, size_t n, uint64_t seed);
DYNC__FN uint64_t dync__hash_mix(uint64_t h, uint64_t x); /* fold one word in */
#endif
