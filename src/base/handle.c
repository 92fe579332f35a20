/* base/handle.c: the slots of objects that users hold handles of. After mem.c.
 *
 * A slot that was freed goes to the end of the queue, so that whose it was can be told for long.
 * Those of quick kinds are kept by the thread, the last one first: making a list takes no lock.
 * What is behind a handle lives and dies by its own rules; only its end is told here. */
#include "../dync.in.h"
#include "handle.h"
DYNC__WARM

DYNC__DATA dync__object_slot *dync__object_slot_chunks[DYNC__OBJECT_CHUNKS] = {0};

enum { DYNC__OBJECT_SLOTS_KEPT = 32 };
/* of a thread */
typedef struct dync__object_slot_cache {
    int n;
    dync__object_slot *slot[DYNC__OBJECT_SLOTS_KEPT];
} dync__object_slot_cache;

static struct {
    dync__mutex lock;
    uint32_t n_chunks;
    uint32_t first, last;      /* index + 1 of the free ones; 0: none */
    uint32_t first_generation; /* of new slots: after dync_shutdown old handles stay stale */
} dync__objects;

static const struct {
    const char *text;
    bool quick;
} dync__object_rows[] = {
#define DYNC__X(id, name, quick, text) {DYNC__TEXT(text), quick},
    DYNC__OBJECT_KINDS(DYNC__X)
#undef DYNC__X
};

static dync__object_slot *dync__object_slot_at(uint32_t i)
{
    return &dync__object_slot_chunks[i >> DYNC__CHUNK_BITS][i & ((1u << DYNC__CHUNK_BITS) - 1)];
}

/* ---- the queue: called with the lock held ---------------------------------------------------- */

static void dync__object_slot_queue(dync__object_slot *s)
{
    s->next = 0;
    if (dync__objects.last)
        dync__object_slot_at(dync__objects.last - 1)->next = s->index + 1;
    else
        dync__objects.first = s->index + 1;
    dync__objects.last = s->index + 1;
}

DYNC__RARE static bool dync__object_slots_extend(void)
{
    uint32_t n = dync__objects.n_chunks, count = 1u << DYNC__CHUNK_BITS;
    if (n == DYNC__OBJECT_CHUNKS)
        return dync__fail(DYNC_ERR_MEMORY, "out of handles: %u are in use", (unsigned)(n * count)),
               false;
    dync__object_slot *chunk = dync__calloc(count * sizeof *chunk);
    if (!chunk) return false;
    DYNC__ATOMIC_STORE(&dync__object_slot_chunks[n], chunk);
    dync__objects.n_chunks = n + 1;
    for (uint32_t i = 0; i < count; i++) {
        chunk[i].index = (n << DYNC__CHUNK_BITS) + i;
        chunk[i].generation = dync__objects.first_generation;
        dync__object_slot_queue(&chunk[i]);
    }
    return true;
}

static dync__object_slot *dync__object_slot_dequeue(void)
{
    if (!dync__objects.first && !dync__object_slots_extend()) return NULL;
    dync__object_slot *s = dync__object_slot_at(dync__objects.first - 1);
    dync__objects.first = s->next;
    if (!s->next) dync__objects.last = 0;
    return s;
}

/* ---- slots of a thread ----------------------------------------------------------------------- */

DYNC__RARE static void dync__object_slot_cache_end(dync__thread *thread)
{
    dync__object_slot_cache *c = thread->slot_cache;
    if (!c) return;
    thread->slot_cache = NULL;
    dync__lock(&dync__objects.lock);
    while (c->n) dync__object_slot_queue(c->slot[--c->n]);
    dync__unlock(&dync__objects.lock);
    dync__free(c, sizeof *c);
}

static dync__object_slot_cache *dync__object_slot_cache_get(void)
{
    if (DYNC__LIKELY(dync__tls.slot_cache != NULL)) return dync__tls.slot_cache;
    dync__thread_state_on_exit(dync__object_slot_cache_end);
    dync__thread_arm();
    return dync__tls.slot_cache = dync__calloc(sizeof(dync__object_slot_cache));
}

static dync__object_slot *dync__object_slot_take(bool quick)
{
    dync__object_slot_cache *c = quick ? dync__object_slot_cache_get() : NULL;
    if (c && DYNC__LIKELY(c->n > 0)) return c->slot[--c->n];
    dync__lock(&dync__objects.lock);
    dync__object_slot *s = dync__object_slot_dequeue();
    dync__unlock(&dync__objects.lock);
    return s;
}

static void dync__object_slot_give_back(dync__object_slot *s, bool quick)
{
    dync__object_slot_cache *c = quick ? dync__tls.slot_cache : NULL;
    if (c && DYNC__LIKELY(c->n < DYNC__OBJECT_SLOTS_KEPT)) {
        c->slot[c->n++] = s;
        return;
    }
    dync__lock(&dync__objects.lock);
    dync__object_slot_queue(s);
    dync__unlock(&dync__objects.lock);
}

/* ---- objects --------------------------------------------------------------------------------- */

DYNC__FN void dync__object_made(dync__object *o)
{
    o->file = dync__tls.at.file;
    o->line = dync__tls.at.line;
}

/* Two threads may ask for the first time at once: the one that comes second gives its slot back. */
DYNC__FN void *dync__object_handle(dync__object *o, uint32_t kind)
{
    uintptr_t word = DYNC__ATOMIC_LOAD(&o->handle);
    if (DYNC__LIKELY(word != 0)) return (void *)word;
    dync__object_slot *s = dync__object_slot_take(dync__object_rows[kind].quick);
    if (!s) return NULL;
    s->kind = kind;
    s->object = o;
    uintptr_t mine = dync__handle_word(s->generation, DYNC__OBJECT_BASE + s->index);
    if (DYNC__LIKELY(DYNC__ATOMIC_CAS(&o->handle, &word, mine))) return (void *)mine;
    dync__object_slot_give_back(s, dync__object_rows[kind].quick);
    return (void *)word;
}

DYNC__FN void dync__object_end(dync__object *o)
{
    uintptr_t word = o->handle;
    if (!word) return;
    o->handle = 0;
    dync__object_slot *s = dync__object_slot_at(dync__handle_slot(word) - DYNC__OBJECT_BASE);
    s->file = o->file;
    s->line = o->line;
    s->object = NULL;
    DYNC__ATOMIC_STORE(&s->generation, (s->generation + 1) & DYNC__HANDLE_GENERATIONS);
    dync__object_slot_give_back(s, dync__object_rows[s->kind].quick);
}

DYNC__FN const char *dync__object_text(uint32_t kind) { return dync__object_rows[kind].text; }

/* The slot of a handle that was given out once; NULL for what never was one. */
DYNC__RARE static const dync__object_slot *dync__object_slot_of(const void *handle)
{
    uint32_t i = dync__handle_slot((uintptr_t)handle) - (uint32_t)DYNC__OBJECT_BASE;
    bool ours = i < (uint32_t)DYNC__OBJECT_CHUNKS << DYNC__CHUNK_BITS &&
                DYNC__ATOMIC_LOAD(&dync__object_slot_chunks[i >> DYNC__CHUNK_BITS]);
    return ours && ((uintptr_t)handle & ((1u << DYNC__HANDLE_SHIFT) - 1)) == 0
               ? dync__object_slot_at(i)
               : NULL;
}

DYNC__RARE DYNC__FN void *dync__object_fail(const void *handle, uint32_t kind, const char *who)
{
    static const char own[] = ": ";
    const char *text = dync__object_rows[kind].text, *noun = strchr(text, ' ') + 1,
               *colon = who ? own : "";
    if (!who) who = "";
    if (!handle) {
        if (dync_error() == DYNC_OK)
            dync__fail(DYNC_ERR_VALUE, "%s%sthe %s is NULL", who, colon, noun);
        return NULL;
    }
    uint32_t generation = (uint32_t)((uintptr_t)handle >> DYNC__HANDLE_GENERATION),
             slot = dync__handle_slot((uintptr_t)handle);
    const dync__object_slot *s = dync__object_slot_of(handle);
    uint32_t age = s ? (s->generation - generation) & DYNC__HANDLE_GENERATIONS : 0;
    if (s && age == 0)
        dync__fail(DYNC_ERR_VALUE, "%s%sexpected %s, got %s", who, colon, text,
                   dync__object_rows[s->kind].text);
    else if (s && age == 1 && s->kind == kind && s->file)
        dync__fail(DYNC_ERR_VALUE, "%s%sthe %s was freed already: it was made at %s:%d", who, colon,
                   noun, s->file, (int)s->line);
    else if (!s && slot < (uint32_t)DYNC__CHUNKS << DYNC__CHUNK_BITS &&
             ((uintptr_t)handle & ((1u << DYNC__HANDLE_SHIFT) - 1)) == 0)
        dync__fail(DYNC_ERR_VALUE, "%s%sexpected %s, got a tensor", who, colon, text);
    else if (!s)
        dync__fail(DYNC_ERR_VALUE, "%s%sexpected %s, got a pointer that is no handle", who, colon,
                   text);
    else
        dync__fail(DYNC_ERR_VALUE, "%s%sthe %s was freed already", who, colon, noun);
    return NULL;
}

DYNC__FN void dync__objects_shutdown(void)
{
    uint32_t newest = dync__objects.first_generation;
    for (uint32_t i = 0; i < dync__objects.n_chunks << DYNC__CHUNK_BITS; i++)
        if (dync__object_slot_at(i)->generation > newest)
            newest = dync__object_slot_at(i)->generation;
    dync__objects.first_generation = (newest + 1) & DYNC__HANDLE_GENERATIONS;
    for (uint32_t i = 0; i < dync__objects.n_chunks; i++) {
        dync__free(dync__object_slot_chunks[i], sizeof(dync__object_slot) << DYNC__CHUNK_BITS);
        DYNC__ATOMIC_STORE(&dync__object_slot_chunks[i], NULL);
    }
    dync__objects.n_chunks = dync__objects.first = dync__objects.last = 0;
}
