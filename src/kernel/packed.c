/* kernel/packed.c: weights as products and convolutions want them. Calls that want the same, of one
 * graph for many sizes above all, share them while one of them keeps them. After operand.c, before
 * matmul.c and conv_weights.c. */
#include "../dync.in.h"
#include "packed.h"
DYNC__WARM

static struct {
    dync__mutex lock;
    dync__packed *first[64]; /* by storage; each has a use of the list's */
} dync__packs;
/* Weights by where they lie and how they are wanted; another one with the same place takes it. */
static struct {
    uint64_t what;
    uint32_t version, asked, before; /* before: the version before this one */
} dync__packs_asked[DYNC__SMALLER(8, 256)];

DYNC__FN bool dync__packed_same(const dync__packed_source *x, const dync__packed_source *y)
{
    return x->from == y->from && x->storage == y->storage && x->version == y->version &&
           x->sum == y->sum;
}

static dync__packed **dync__packed_list(const dync__packed_source *s)
{
    return &dync__packs.first[s->storage % DYNC__COUNT_OF(dync__packs.first)];
}

DYNC__FN dync__packed *dync__packed_new(const dync__packed_source *source, size_t bytes)
{
    dync__packed *p = dync__calloc(sizeof *p);
    if (!p) return NULL;
    p->source = *source;
    p->users = 1;
    p->bytes = bytes;
    if ((p->at = dync__alloc_data(bytes))) return p;
    dync__free(p, sizeof *p);
    return NULL;
}

DYNC__FN void dync__packed_put(dync__packed *p)
{
    if (!p || DYNC__ATOMIC_DEC(&p->users) > 0) return;
    dync__free_data(p->at, p->bytes);
    if (p->key) dync__free(p->key, p->key_bytes);
    dync__free(p, sizeof *p);
}

DYNC__FN dync__packed *dync__packed_find(const dync__packed_source *source, const dync__str *key)
{
    dync__lock(&dync__packs.lock);
    dync__packed *p = *dync__packed_list(source);
    while (p && (!dync__packed_same(&p->source, source) || p->key_bytes != key->n ||
                 memcmp(p->key, key->at, key->n) != 0))
        p = p->next;
    if (p) {
        p->keepers++;
        (void)DYNC__ATOMIC_INC(&p->users);
    }
    dync__unlock(&dync__packs.lock);
    return p;
}

DYNC__FN bool dync__packed_again(const dync__packed_source *source, const dync__str *key)
{
    const uint64_t word[] = {(uint64_t)(uintptr_t)source->from, source->storage, source->sum};
    uint64_t what = dync__hash_bytes(key->at, key->n, dync__hash_bytes(word, sizeof word, 1));
    size_t i = (size_t)(what % DYNC__COUNT_OF(dync__packs_asked));
    dync__lock(&dync__packs.lock);
    bool known = dync__packs_asked[i].what == what;
    if (!known || dync__packs_asked[i].version != source->version) {
        dync__packs_asked[i].before = known ? dync__packs_asked[i].asked : 1;
        dync__packs_asked[i].what = what;
        dync__packs_asked[i].version = source->version;
        dync__packs_asked[i].asked = 0;
    }
    bool again = dync__packs_asked[i].asked >= dync__packs_asked[i].before;
    dync__packs_asked[i].asked++;
    dync__unlock(&dync__packs.lock);
    return again;
}

DYNC__FN void dync__packed_keep(dync__packed *p, const dync__str *key)
{
    if (key->n && !key->failed && (p->key = dync__alloc(key->n))) {
        memcpy(p->key, key->at, key->n);
        p->key_bytes = key->n;
    }
    dync__packed **list = dync__packed_list(&p->source);
    dync__lock(&dync__packs.lock);
    p->keepers = 1;
    (void)DYNC__ATOMIC_INC(&p->users);
    p->next = *list;
    *list = p;
    dync__unlock(&dync__packs.lock);
}

DYNC__FN void dync__packed_forget(dync__packed *p)
{
    if (!p) return;
    dync__lock(&dync__packs.lock);
    bool last = --p->keepers == 0;
    if (last) {
        dync__packed **at = dync__packed_list(&p->source);
        while (*at != p) at = &(*at)->next;
        *at = p->next;
    }
    dync__unlock(&dync__packs.lock);
    if (last) dync__packed_put(p);
}
