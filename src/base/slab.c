/* base/slab.c: blocks that are many and live long, from large pages. The first touch of a page
 * costs about a microsecond, more on a virtual machine: where a plan is made for each set of sizes
 * that comes, that was most of what a new size took. One large page is touched once for some
 * dozens.
 * Before: os.c, mem.c; after: runtime/plan_sized.c.
 *
 * Blocks have classes, eight from each power of two to the next; those that are given back wait for
 * the next of their class, and when none is left all pages go. The first few of a process come from
 * elsewhere: programs of few sizes need no such page. Not where memory is the caller's (dync_init,
 * DYNC_MALLOC), nor where a test wants it short. */
#include "../dync.in.h"
#include "base.h"
/* a level with nothing under it is refused by gcc 12 */
#if DYNC__SLABS
DYNC__COLD

enum {
    DYNC__SLAB_PAGE = DYNC__OS_LARGE,
    DYNC__SLAB_LEAST = 1024, /* bytes; room at the beginning of a page as well */
    DYNC__SLAB_MOST = 256 << 10,
    DYNC__SLAB_CLASSES = 8 * 8 + 1
};
typedef struct dync__slab_page {
    struct dync__slab_page *next;
} dync__slab_page;
static struct {
    dync__mutex lock;
    dync__slab_page *page;
    char *at, *end;                 /* of the newest */
    void *free[DYNC__SLAB_CLASSES]; /* a free block's first word is the next one */
    int64_t live, asked;
    bool refused; /* the system has no large pages */
} dync__slab;

/* *size: of its class */
DYNC__OFTEN static int dync__slab_class(size_t bytes, size_t *size)
{
    size_t from = DYNC__SLAB_LEAST;
    int first = 0;
    if (bytes < from) bytes = from;
    for (; bytes >= 2 * from; from *= 2) first += 8;
    size_t step = from / 8, part = (bytes - from + step - 1) / step;
    *size = from + part * step;
    return first + (int)part;
}

DYNC__RARE static bool dync__slab_more(void)
{
    dync__slab_page *page = dync__os_large_page(DYNC__SLAB_PAGE);
    dync__slab.refused = !page;
    if (!page) return false;
    page->next = dync__slab.page;
    dync__slab.page = page;
    dync__slab.at = (char *)page + DYNC__SLAB_LEAST;
    dync__slab.end = (char *)page + DYNC__SLAB_PAGE;
    return true;
}

DYNC__OFTEN DYNC__FN void *dync__slab_take(size_t bytes)
{
    size_t size;
    char *p = NULL;
    if (bytes > DYNC__SLAB_MOST || dync__heap.begin || dync__tls.fail_at) return NULL;
    int i = dync__slab_class(bytes, &size);
    dync__lock(&dync__slab.lock);
    if (++dync__slab.asked > DYNC__SLAB_AFTER && !dync__slab.refused) {
        if ((p = dync__slab.free[i])) {
            memcpy(&dync__slab.free[i], p, sizeof(void *));
        } else if (dync__slab.end - dync__slab.at >= (ptrdiff_t)size || dync__slab_more()) {
            p = dync__slab.at;
            dync__slab.at += size;
        }
        dync__slab.live += p != NULL;
    }
    dync__unlock(&dync__slab.lock);
    if (p) dync__mem_note((int64_t)size);
    return p;
}

DYNC__FN void dync__slab_put(void *p, size_t bytes)
{
    size_t size;
    dync__slab_page *none = NULL;
    int i = dync__slab_class(bytes, &size);
    dync__lock(&dync__slab.lock);
    memcpy(p, &dync__slab.free[i], sizeof(void *));
    dync__slab.free[i] = p;
    if (--dync__slab.live == 0) {
        none = dync__slab.page;
        dync__slab.page = NULL;
        dync__slab.at = dync__slab.end = NULL;
        memset(dync__slab.free, 0, sizeof dync__slab.free);
    }
    dync__unlock(&dync__slab.lock);
    for (dync__slab_page *next; none; none = next) {
        next = none->next;
        dync__os_large_unmap(none, DYNC__SLAB_PAGE);
    }
    dync__mem_note(-(int64_t)size);
}
#endif
