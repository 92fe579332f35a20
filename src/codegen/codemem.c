/* codegen/codemem.c: memory that machine code runs from. Before: base/os.c maps; after: jit.c
 * writes kernels into it.
 *
 * Two ways: a file without a name mapped twice, once to write and once to execute, in chunks that
 * many kernels share; or fresh private pages per kernel, written, then made executable for good. No
 * page is ever writable and executable at one address. Where both are refused kernels stay
 * interpreted. Invariants: a place in a chunk is written once and never again, and a chunk goes
 * when its last block goes, so that a child after fork, which shares the pages, never sees code
 * change; a child makes chunks of its own. All under one lock. */
#include "../dync.in.h"
#include "codemem.h"
DYNC__COLD

enum { DYNC__CODEMEM_PAGE = 4096 };
typedef struct dync__codechunk {
    struct dync__codechunk *next;
    uint8_t *write, *exec; /* the same address where pages are sealed */
    size_t bytes, used, blocks;
    int process;
    bool twice;
} dync__codechunk;

static struct {
    dync__mutex lock;
    dync__codechunk *chunks;
    int32_t way;
    bool said, ending; /* ending: since a shutdown no code was made */
    dync__codemem_stats stats;
} dync__codemem;

static dync__codechunk *dync__codemem_chunk(size_t bytes)
{
    dync__codechunk *c = dync__calloc(sizeof *c);
    void *write = NULL, *exec = NULL;
    if (!c) return NULL;
    if (dync__codemem.way == DYNC__CODEMEM_TWICE) {
        size_t size = DYNC__MAX(bytes, (size_t)DYNC__CODEMEM_CHUNK);
        c->bytes = (size + DYNC__CODEMEM_PAGE - 1) / DYNC__CODEMEM_PAGE * DYNC__CODEMEM_PAGE;
        c->twice = dync__os_code_twice(c->bytes, &write, &exec);
        if (!c->twice) dync__codemem.way = DYNC__CODEMEM_PAGES;
    }
    if (dync__codemem.way == DYNC__CODEMEM_PAGES) {
        c->bytes = (bytes + DYNC__CODEMEM_PAGE - 1) / DYNC__CODEMEM_PAGE * DYNC__CODEMEM_PAGE;
        write = exec = dync__os_code_pages(c->bytes);
    }
    if (!exec) {
        dync__free(c, sizeof *c);
        return NULL;
    }
    c->write = write;
    c->exec = exec;
    c->process = dync__os_process();
    c->next = dync__codemem.chunks;
    dync__codemem.chunks = c;
    dync__codemem.stats.chunks++;
    return c;
}

static void dync__codemem_refuse(void)
{
    dync__codemem.stats.refused++;
    if (!dync__codemem.said)
        dync__log(DYNC__LOG_code, "no executable memory: kernels are "
                                  "interpreted");
    dync__codemem.said = true;
    dync__codemem.way = DYNC__CODEMEM_REFUSED;
}

DYNC__FN bool dync__codemem_begin(size_t bytes, uint8_t **write, dync__codeblock *block)
{
    dync__lock(&dync__codemem.lock);
    dync__codechunk *c = dync__codemem.chunks;
    int process = dync__os_process();
    dync__codemem.ending = false;
    while (c && (dync__codemem.way != DYNC__CODEMEM_TWICE || !c->twice || c->process != process ||
                 c->bytes - c->used < bytes))
        c = c->next;
    if (!c) {
        c = dync__codemem_chunk(bytes);
        if (!c && dync__codemem.way != DYNC__CODEMEM_TWICE) dync__codemem_refuse();
    }
    if (!c) {
        dync__unlock(&dync__codemem.lock);
        return false;
    }
    *write = c->write + c->used;
    block->exec = c->exec + c->used;
    block->chunk = c;
    c->used = DYNC__MIN((c->used + bytes + 63) & ~(size_t)63, c->bytes);
    c->blocks++;
    dync__codemem.stats.live_bytes += (int64_t)bytes;
    return true;
}

/* A chunk without blocks goes, but one that has room for more stays while it is the newest: kernels
 * come and go. */
static void dync__codemem_drop(dync__codechunk *c, bool all)
{
    dync__codechunk **at = &dync__codemem.chunks;
    if (!all && --c->blocks > 0) return;
    if (!all && !dync__codemem.ending && c->twice && c == dync__codemem.chunks &&
        c->used < c->bytes / 2 && c->process == dync__os_process())
        return;
    while (*at != c) at = &(*at)->next;
    *at = c->next;
    dync__os_code_unmap(c->exec, c->bytes);
    if (c->twice) dync__os_code_unmap(c->write, c->bytes);
    dync__free(c, sizeof *c);
    dync__codemem.stats.chunks--;
}

/* Kernels may outlive this: what is in use stays. */
static void dync__codemem_shutdown(void)
{
    dync__lock(&dync__codemem.lock);
    for (dync__codechunk *c = dync__codemem.chunks, *next; c; c = next) {
        next = c->next;
        if (c->blocks == 0) dync__codemem_drop(c, true);
    }
    dync__codemem.said = false;
    dync__codemem.ending = true;
    dync__unlock(&dync__codemem.lock);
}

DYNC__FN bool dync__codemem_end(dync__codeblock *block, size_t bytes)
{
    dync__codechunk *c = block->chunk;
    bool ok = c->twice || dync__os_code_seal(c->exec, c->bytes);
    if (!ok) {
        dync__codemem.stats.live_bytes -= (int64_t)bytes;
        dync__codemem_drop(c, false);
        dync__codemem_refuse();
    }
    dync__unlock(&dync__codemem.lock);
    if (ok) dync__at_shutdown(dync__codemem_shutdown);
    return ok;
}

DYNC__FN void dync__codemem_free(dync__codeblock *block)
{
    dync__lock(&dync__codemem.lock);
    dync__codemem_drop(block->chunk, false);
    dync__unlock(&dync__codemem.lock);
}

DYNC__FN void dync__codemem_force(int way)
{
    dync__lock(&dync__codemem.lock);
    dync__codemem.way = way;
    dync__codemem.said = false;
    dync__unlock(&dync__codemem.lock);
}

DYNC__FN dync__codemem_stats dync__codemem_read_stats(void)
{
    dync__lock(&dync__codemem.lock);
    dync__codemem_stats s = dync__codemem.stats;
    dync__unlock(&dync__codemem.lock);
    return s;
}
