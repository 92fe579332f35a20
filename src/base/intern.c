/* base/intern.c: names that are kept once and compared by address. After str.c. */
#include "../dync.in.h"
#include "base.h"
DYNC__COLD

/* ---- interned names -------------------------------------------------------------------------- */

typedef struct dync__intern_entry {
    struct dync__intern_entry *next;
    uint64_t hash;
    size_t size; /* of this entry with its text */
} dync__intern_entry;

static struct {
    dync__mutex lock;
    dync__intern_entry **chain;
    size_t n, n_chains; /* n_chains: 0 or a power of two */
} dync__intern_table;

static const char *dync__intern_find(const char *s, uint64_t hash)
{
    if (!dync__intern_table.n_chains) return NULL;
    dync__intern_entry *e = dync__intern_table.chain[hash & (dync__intern_table.n_chains - 1)];
    for (size_t room = strlen(s) + 1; e; e = e->next)
        if (e->hash == hash && e->size == sizeof *e + room && memcmp(e + 1, s, room) == 0)
            return (const char *)(e + 1);
    return NULL;
}

/* A table that cannot grow still works, with longer chains; only the first one must succeed. */
static bool dync__intern_grow(void)
{
    size_t old_n = dync__intern_table.n_chains, n = old_n ? old_n * 2 : 64;
    if (dync__intern_table.n < old_n) return true;
    dync__intern_entry **chain = dync__calloc(n * sizeof *chain);
    if (!chain) return false;
    for (size_t i = 0; i < old_n; i++) {
        for (dync__intern_entry *e = dync__intern_table.chain[i], *next; e; e = next) {
            next = e->next;
            e->next = chain[e->hash & (n - 1)];
            chain[e->hash & (n - 1)] = e;
        }
    }
    dync__free(dync__intern_table.chain, old_n * sizeof *chain);
    dync__intern_table.chain = chain;
    dync__intern_table.n_chains = n;
    return true;
}

static const char *dync__intern_add(const char *s, uint64_t hash)
{
    if (!dync__intern_grow()) return NULL;
    size_t length = strlen(s) + 1, size = sizeof(dync__intern_entry) + length;
    dync__intern_entry *e = dync__alloc(size), **chain;
    if (!e) return NULL;
    chain = &dync__intern_table.chain[hash & (dync__intern_table.n_chains - 1)];
    *e = (dync__intern_entry){*chain, hash, size};
    memcpy(e + 1, s, length);
    *chain = e;
    dync__intern_table.n++;
    return (const char *)(e + 1);
}

DYNC__FN const char *dync__intern(const char *s)
{
    if (!s) return NULL;
    uint64_t hash = dync__hash_bytes(s, strlen(s), 0);
    dync__lock(&dync__intern_table.lock);
    const char *found = dync__intern_find(s, hash);
    if (!found) found = dync__intern_add(s, hash);
    dync__unlock(&dync__intern_table.lock);
    return found;
}

DYNC__FN void dync__intern_clear(void)
{
    for (size_t i = 0; i < dync__intern_table.n_chains; i++) {
        for (dync__intern_entry *e = dync__intern_table.chain[i], *next; e; e = next) {
            next = e->next;
            dync__free(e, e->size);
        }
    }
    dync__free(dync__intern_table.chain,
               dync__intern_table.n_chains * sizeof *dync__intern_table.chain);
    dync__intern_table.chain = NULL;
    dync__intern_table.n = dync__intern_table.n_chains = 0;
}
