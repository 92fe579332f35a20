/* base/arena.c: bump arenas, in which the IR of one compilation lives and dies at once, and the
 * growth of dync__vec.
 *
 * An arena is a list of chunks; the newest serves. Chunks double from 4 KiB to 64 KiB, and a
 * request that is larger gets a chunk of its own size. Memory is zeroed when it is handed out.
 * Invariant: used <= size of the head chunk. */
#include "../dync.in.h"
#include "base.h"
DYNC__WARM

enum { DYNC__ARENA_ALIGN = 16 };

typedef struct dync__arena_chunk {
    struct dync__arena_chunk *next;
    size_t size; /* of the payload */
} dync__arena_chunk;
enum {
    DYNC__ARENA_HEADER = (sizeof(dync__arena_chunk) + DYNC__ARENA_ALIGN - 1) / DYNC__ARENA_ALIGN *
                         DYNC__ARENA_ALIGN
};

static bool dync__arena_grow(dync__arena *a, size_t need)
{
    size_t size = a->chunk_size ? a->chunk_size : DYNC__ARENA_FIRST;
    if (a->head && size < DYNC__ARENA_MOST) size *= 2;
    a->chunk_size = size;
    if (size < need) size = need;
    dync__arena_chunk *chunk = dync__alloc(DYNC__ARENA_HEADER + size);
    if (!chunk) return false;
    chunk->next = a->head;
    chunk->size = size;
    a->head = chunk;
    a->used = 0;
    return true;
}

static void *dync__arena_take(dync__arena *a, size_t n, size_t *taken)
{
    if (n > (size_t)PTRDIFF_MAX / 2) return dync__fail_memory(n), NULL;
    size_t size = (n + DYNC__ARENA_ALIGN - 1) & ~(size_t)(DYNC__ARENA_ALIGN - 1);
    if (size == 0) size = DYNC__ARENA_ALIGN;
    if ((!a->head || a->head->size - a->used < size) && !dync__arena_grow(a, size)) return NULL;
    void *p = (char *)a->head + DYNC__ARENA_HEADER + a->used;
    a->used += size;
    *taken = size;
    return p;
}

DYNC__FN void *dync__arena_alloc(dync__arena *a, size_t n)
{
    size_t size;
    void *p = dync__arena_take(a, n, &size);
    return p ? memset(p, 0, size) : NULL;
}

DYNC__FN void *dync__arena_copy(dync__arena *a, const void *src, size_t n)
{
    size_t size;
    void *p = dync__arena_take(a, n, &size);
    if (p && n) memcpy(p, src, n);
    return p;
}

DYNC__RARE DYNC__FN char *dync__arena_strdup(dync__arena *a, const char *s)
{
    return dync__arena_copy(a, s, strlen(s) + 1);
}

DYNC__RARE DYNC__FN char *dync__arena_printf(dync__arena *a, const char *fmt, ...)
{
    char small[256];
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = dync__formatv(small, sizeof small, fmt, args);
    char *text = n < 0 ? NULL : dync__arena_alloc(a, (size_t)n + 1);
    if (text) dync__formatv(text, (size_t)n + 1, fmt, again);
    va_end(again);
    va_end(args);
    return text;
}

DYNC__FN size_t dync__arena_bytes(const dync__arena *a)
{
    size_t bytes = a->used;
    for (const dync__arena_chunk *chunk = a->head ? a->head->next : NULL; chunk;
         chunk = chunk->next)
        bytes += chunk->size;
    return bytes;
}

DYNC__OFTEN DYNC__FN void dync__arena_free(dync__arena *a)
{
    for (dync__arena_chunk *chunk = a->head, *next; chunk; chunk = next) {
        next = chunk->next;
        dync__free(chunk, DYNC__ARENA_HEADER + chunk->size);
    }
    memset(a, 0, sizeof *a);
}

/* A longer copy, zeroed behind what was there. */
#if defined(DYNC_SMALL)
static void *dync__arena_longer(dync__arena *a, void *at, size_t from, size_t to)
{
    void *p = dync__arena_alloc(a, to);
    if (p && from) memcpy(p, at, from);
    return p;
}
#else
/* What was handed out last grows where it stands, if there is room. */
static void *dync__arena_longer(dync__arena *a, void *at, size_t from, size_t to)
{
    const size_t mask = DYNC__ARENA_ALIGN - 1;
    size_t had = (from + mask) & ~mask, size = ((to + mask) & ~mask);
    char *end = a->head ? (char *)a->head + DYNC__ARENA_HEADER + a->used : NULL;
    char *p = at;
    if (from && end && p + had == end && a->head->size - a->used >= size - had)
        a->used += size - had;
    else if ((p = dync__arena_take(a, to, &size)) && from)
        memcpy(p, at, from);
    if (p) memset(p + from, 0, size - from);
    return p;
}
#endif

/* Doubles, at least to `need`, from 8 items. In an arena the old array stays where it was: a copy
 * of the vector may go on with it. */
DYNC__FN void *dync__vec_grow(dync__arena *arena_or_null, void *at, int *cap, int need, size_t item)
{
    int wanted = *cap < 4 ? 8 : *cap <= INT_MAX / 2 ? *cap * 2 : INT_MAX;
    if (wanted < need) wanted = need;
    if (need < 0 || (size_t)wanted > (size_t)PTRDIFF_MAX / 2 / item)
        return dync__fail_memory(SIZE_MAX), at;
    size_t from = (size_t)*cap * item, to = (size_t)wanted * item;
    void *bigger = arena_or_null ? dync__arena_longer(arena_or_null, at, from, to)
                                 : dync__realloc(at, from, to);
    if (!bigger) return at;
    *cap = wanted;
    return bigger;
}
