/* base/map.c: hash map uint64 -> uint64, linear probing, at most 3/4 full; and the hash functions.
 *
 * Removal shifts the following entries back, so there are no tombstones. Capacity is 0 or a power
 * of two. Hashes depend on the bytes alone, not on the machine's byte order. Source: Knuth, TAOCP
 * vol. 3, 6.4, algorithm R; the mixing step: Steele, Lea, Flood 2014 (SplitMix). */
#include "../dync.in.h"
#include "base.h"
DYNC__WARM

DYNC__BUSY DYNC__ONCE DYNC__FN uint64_t dync__hash_mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    return h ^ h >> 27;
}

/* Eight bytes, the lowest first: one load where compilers see through it. */
DYNC__INLINE uint64_t dync__hash_word(const unsigned char *b)
{
    return (uint64_t)b[0] | (uint64_t)b[1] << 8 | (uint64_t)b[2] << 16 | (uint64_t)b[3] << 24 |
           (uint64_t)b[4] << 32 | (uint64_t)b[5] << 40 | (uint64_t)b[6] << 48 |
           (uint64_t)b[7] << 56;
}

DYNC__BUSY DYNC__FN uint64_t dync__hash_bytes(const void *p, size_t n, uint64_t seed)
{
    const unsigned char *byte = p;
    uint64_t h = dync__hash_mix(seed, n), word = 0;
    for (; n >= 8; n -= 8, byte += 8) h = dync__hash_mix(h, dync__hash_word(byte));
    for (size_t i = 0; i < n; i++) word |= (uint64_t)byte[i] << 8 * i;
    return n > 0 ? dync__hash_mix(h, word) : h;
}

static size_t dync__map_home(const dync__map *m, uint64_t key)
{
    return (size_t)(dync__hash_mix(0, key) & (uint64_t)(m->cap - 1));
}

/* Where key is, or the free place where it would go. The map is not empty of places. */
static size_t dync__map_find(const dync__map *m, uint64_t key)
{
    size_t mask = (size_t)m->cap - 1, i = dync__map_home(m, key);
    while (m->used[i] && m->keys[i] != key) i = (i + 1) & mask;
    return i;
}

static bool dync__map_resize(dync__map *m, int cap)
{
    size_t n = (size_t)cap;
    dync__map bigger = {dync__alloc(n * 8), NULL, NULL, m->n, cap};
    if (bigger.keys) bigger.values = dync__alloc(n * 8);
    if (bigger.values) bigger.used = dync__calloc(n);
    if (!bigger.used) {
        dync__map_free(&bigger);
        return false;
    }
    for (int i = 0; i < m->cap; i++) {
        if (!m->used[i]) continue;
        size_t at = dync__map_find(&bigger, m->keys[i]);
        bigger.used[at] = 1;
        bigger.keys[at] = m->keys[i];
        bigger.values[at] = m->values[i];
    }
    dync__map_free(m);
    *m = bigger;
    return true;
}

DYNC__FN bool dync__map_put(dync__map *m, uint64_t key, uint64_t value)
{
    if (m->n >= m->cap - m->cap / 4) {
        if (m->cap > INT_MAX / 2) return dync__fail_memory(SIZE_MAX), false;
        if (!dync__map_resize(m, m->cap ? m->cap * 2 : 16)) return false;
    }
    size_t i = dync__map_find(m, key);
    if (!m->used[i]) m->n++;
    m->used[i] = 1;
    m->keys[i] = key;
    m->values[i] = value;
    return true;
}

DYNC__FN bool dync__map_get(const dync__map *m, uint64_t key, uint64_t *out)
{
    if (m->n == 0) return false;
    size_t i = dync__map_find(m, key);
    if (!m->used[i]) return false;
    if (out) *out = m->values[i];
    return true;
}

DYNC__FN bool dync__map_remove(dync__map *m, uint64_t key)
{
    if (m->n == 0) return false;
    size_t mask = (size_t)m->cap - 1, hole = dync__map_find(m, key);
    if (!m->used[hole]) return false;
    for (size_t i = (hole + 1) & mask; m->used[i]; i = (i + 1) & mask) {
        size_t home = dync__map_home(m, m->keys[i]);
        /* home lies after the hole: it may not move */
        if (((i - home) & mask) < ((i - hole) & mask)) continue;
        m->keys[hole] = m->keys[i];
        m->values[hole] = m->values[i];
        hole = i;
    }
    m->used[hole] = 0;
    m->n--;
    return true;
}

DYNC__FN bool dync__map_copy(dync__map *to, const dync__map *from)
{
    memset(to, 0, sizeof *to);
    if (!from->cap) return true;
    if (!dync__map_resize(to, from->cap)) return false;
    size_t n = (size_t)from->cap; /* of as many places, so each entry lies where it lay */
    memcpy(to->keys, from->keys, n * sizeof *to->keys);
    memcpy(to->values, from->values, n * sizeof *to->values);
    memcpy(to->used, from->used, n);
    to->n = from->n;
    return true;
}

DYNC__FN void dync__map_free(dync__map *m)
{
    size_t n = (size_t)m->cap;
    dync__free(m->keys, n * 8);
    dync__free(m->values, n * 8);
    dync__free(m->used, n);
    memset(m, 0, sizeof *m);
}
