/* base/heap.c: allocation from the buffer of dync_init: boundary tags (Knuth, TAOCP vol. 1, 2.5)
 * and one free list, first fit. Before mem.c, which holds the lock. */
#include "../dync.in.h"
#include "base.h"
DYNC__WARM

typedef struct dync__heap_block {
    size_t size;                          /* with this header; bit 0: in use */
    size_t prev_size;                     /* 0: the first */
    struct dync__heap_block *next, *prev; /* while free; the payload begins here */
} dync__heap_block;
enum {
    DYNC__HEAP_HEADER = offsetof(dync__heap_block, next),
    DYNC__HEAP_ALIGN = 2 * sizeof(size_t)
};

DYNC__DATA dync__heap_room dync__heap = {0};

static void dync__heap_insert(dync__heap_block *b)
{
    b->prev = NULL;
    b->next = dync__heap.free;
    if (b->next) b->next->prev = b;
    dync__heap.free = b;
}

static void dync__heap_remove(dync__heap_block *b)
{
    if (b->prev)
        b->prev->next = b->next;
    else
        dync__heap.free = b->next;
    if (b->next) b->next->prev = b->prev;
}

static dync__heap_block *dync__heap_after(dync__heap_block *b)
{
    char *next = (char *)b + (b->size & ~(size_t)1);
    return next < dync__heap.end ? (dync__heap_block *)(void *)next : NULL;
}

/* Cuts the tail off block b (not in the free list) when it is worth a block of its own. */
static void dync__heap_split(dync__heap_block *b, size_t size)
{
    if (b->size - size < sizeof(dync__heap_block)) return;
    dync__heap_block *rest = (dync__heap_block *)(void *)((char *)b + size), *after;
    rest->size = b->size - size;
    rest->prev_size = size;
    b->size = size;
    after = dync__heap_after(rest);
    if (after) after->prev_size = rest->size;
    dync__heap_insert(rest);
}

/* Of the whole buffer, for a block of this size behind all that is in use. */
DYNC__RARE static size_t dync__heap_enough(size_t size)
{
    size_t n = (size_t)(dync__heap.end - dync__heap.begin) + size + DYNC__HEAP_ALIGN;
    for (const dync__heap_block *b = dync__heap.free; b; b = b->next)
        if ((const char *)b + b->size == dync__heap.end) return n - b->size;
    return n;
}

DYNC__FN void *dync__heap_alloc(size_t n)
{
    /* n <= PTRDIFF_MAX, so the sum does not wrap */
    size_t size = (n + DYNC__HEAP_HEADER + DYNC__HEAP_ALIGN - 1) & ~(size_t)(DYNC__HEAP_ALIGN - 1);
    if (size < sizeof(dync__heap_block)) size = sizeof(dync__heap_block);
    for (dync__heap_block *b = dync__heap.free; b; b = b->next) {
        if (b->size < size) continue;
        dync__heap_remove(b);
        dync__heap_split(b, size);
        b->size |= 1;
        return &b->next;
    }
    dync__heap.enough = dync__heap_enough(size);
    return NULL;
}

DYNC__FN void dync__heap_free(void *p)
{
    dync__heap_block *b = (dync__heap_block *)(void *)((char *)p - DYNC__HEAP_HEADER);
    b->size &= ~(size_t)1;
    dync__heap_block *after = dync__heap_after(b);
    if (after && !(after->size & 1)) {
        dync__heap_remove(after);
        b->size += after->size;
    }
    if (b->prev_size) {
        dync__heap_block *before = (dync__heap_block *)(void *)((char *)b - b->prev_size);
        if (!(before->size & 1)) {
            dync__heap_remove(before);
            before->size += b->size;
            b = before;
        }
    }
    after = dync__heap_after(b);
    if (after) after->prev_size = b->size;
    dync__heap_insert(b);
}

DYNC__RARE DYNC__FN bool dync__heap_set(void *memory, size_t n)
{
    dync__heap.begin = dync__heap.end = NULL;
    dync__heap.free = NULL;
    dync__heap.enough = 0;
    if (!memory) return true;
    size_t skip = (size_t)(-(uintptr_t)memory & (DYNC__HEAP_ALIGN - 1));
    if (n < DYNC__HEAP_LEAST) return false;
    n = (n - skip) & ~(size_t)(DYNC__HEAP_ALIGN - 1);
    dync__heap.begin = (char *)memory + skip;
    dync__heap.end = dync__heap.begin + n;
    dync__heap_block *all = (dync__heap_block *)(void *)dync__heap.begin;
    all->size = n;
    all->prev_size = 0;
    dync__heap_insert(all);
    return true;
}
