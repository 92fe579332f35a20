/* kernel/sort_order.c: the stable order of a line of unsigned keys. Before: kernel/sort_order.h.
 *
 * A word holds 32 bits of a key above the place that it came from: words in order are keys in
 * order, and equal keys in the order of their places. Keys that lie within 2^32 of each other
 * (floats of 4 bytes, integers as they mostly are) take one round, others a second one of their
 * upper half. Few words are merged; many are counted and dealt, a byte at a time (radix sort from
 * the lowest digit: Knuth, The Art of Computer Programming 3, 5.2.5), without bytes that all have
 * alike. */
#include "../dync.in.h"
#include "sort_order.h"
DYNC__HOT

enum { DYNC__DIGIT = 256 };

/* a[left..middle) and a[middle..right), both in order, to b. */
static void dync__order_merge(const uint64_t *a, uint64_t *b, int64_t left, int64_t middle,
                              int64_t right)
{
    int64_t i = left, j = middle, k = left;
    while (i < middle && j < right) {
        uint64_t x = a[i], y = a[j];
        bool first = x < y;
        b[k++] = first ? x : y;
        i += first;
        j += !first;
    }
    memcpy(b + k, i < middle ? a + i : a + j, (size_t)(right - k) * sizeof *b);
}

/* Runs by insertion, then merging passes from one array into the other; returns where the words
 * are. */
static uint64_t *dync__order_merged(uint64_t *a, uint64_t *b, int64_t n)
{
    for (int64_t start = 0; start < n; start += DYNC__SORT_RUN)
        for (int64_t i = start + 1; i < DYNC__MIN(start + DYNC__SORT_RUN, n); i++) {
            uint64_t x = a[i];
            int64_t j = i;
            for (; j > start && a[j - 1] > x; j--) a[j] = a[j - 1];
            a[j] = x;
        }
    for (int64_t width = DYNC__SORT_RUN; width < n; width *= 2) {
        for (int64_t left = 0; left < n; left += 2 * width)
            dync__order_merge(a, b, left, DYNC__MIN(left + width, n),
                              DYNC__MIN(left + 2 * width, n));
        uint64_t *t = a;
        a = b;
        b = t;
    }
    return a;
}

/* By bits 32 to 32 + bits; the words come in the order of their places. */
static uint64_t *dync__order_dealt(uint64_t *a, uint64_t *b, int64_t n, int bits)
{
    uint32_t count[4][DYNC__DIGIT];
    memset(count, 0, sizeof count);
    for (int64_t i = 0; i < n; i++) {
        uint32_t x = (uint32_t)(a[i] >> 32);
        count[0][x & 255]++;
        count[1][x >> 8 & 255]++;
        count[2][x >> 16 & 255]++;
        count[3][x >> 24]++;
    }
    for (int digit = 0; digit * 8 < bits; digit++) {
        int shift = 32 + digit * 8;
        uint32_t *at = count[digit], start = 0;
        if (at[a[0] >> shift & 255] == n) continue;
        for (int d = 0; d < DYNC__DIGIT; d++) {
            uint32_t here = at[d];
            at[d] = start;
            start += here;
        }
        for (int64_t i = 0; i < n; i++) b[at[a[i] >> shift & 255]++] = a[i];
        uint64_t *t = a;
        a = b;
        b = t;
    }
    return a;
}

static uint64_t *dync__order_words(uint64_t *a, uint64_t *b, int64_t n, int bits)
{
    return n < DYNC__SORT_DEAL ? dync__order_merged(a, b, n) : dync__order_dealt(a, b, n, bits);
}

/* place[] of n keys, n < 2^32. */
DYNC__FN void dync__order_keys(const dync__order *o, int64_t n)
{
    int bits = DYNC__BIT_LENGTH(o->most - o->least);
    uint32_t *place = bits > 32 ? o->before : o->place;
    for (int64_t i = 0; i < n; i++) o->a[i] = (o->key[i] - o->least) << 32 | (uint32_t)i;
    const uint64_t *sorted = dync__order_words(o->a, o->b, n, DYNC__MIN(bits, 32));
    for (int64_t i = 0; i < n; i++) place[i] = (uint32_t)sorted[i];
    if (bits <= 32) return;
    for (int64_t i = 0; i < n; i++)
        o->a[i] = (o->key[place[i]] - o->least) >> 32 << 32 | (uint32_t)i;
    sorted = dync__order_words(o->a, o->b, n, bits - 32);
    for (int64_t i = 0; i < n; i++) o->place[i] = place[(uint32_t)sorted[i]];
}
