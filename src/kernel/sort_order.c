/* kernel/sort_order.c: the stable order of a line of unsigned keys. Before: kernel/sort_order.h.
 *
 * A word holds 32 bits of a key above the place that it came from: words in order are keys in
 * order, and equal keys in the order of their places. Keys that lie within 2^32 of each other
 * (floats of 4 bytes, integers as they mostly are) take one round, others a second one of their
 * upper half. Few words are merged; many are counted and dealt, 8 or 11 bits at a time (radix sort
 * from the lowest digit: Knuth, The Art of Computer Programming 3, 5.2.5), without digits that all
 * have alike. */
#include "../dync.in.h"
#include "sort_order.h"
DYNC__HOT

enum { DYNC__ORDER_RUN = 8 };

/* Of two words the smaller first, without a branch. */
#define DYNC__ORDER_PAIR(x, y)           \
    do {                                 \
        uint64_t first_ = x < y ? x : y; \
        y = x < y ? y : x;               \
        x = first_;                      \
    } while (0)
#define DYNC__ORDER_PAIRS(x, y, z, w) \
    DYNC__ORDER_PAIR(x, y);           \
    DYNC__ORDER_PAIR(z, w)

/* Eight words by a network of 19 comparisons (Batcher's: Knuth 3, 5.3.4). */
static void dync__order_eight(uint64_t *w)
{
    uint64_t a = w[0], b = w[1], c = w[2], d = w[3], e = w[4], f = w[5], g = w[6], h = w[7];
    DYNC__ORDER_PAIRS(a, b, c, d);
    DYNC__ORDER_PAIRS(e, f, g, h);
    DYNC__ORDER_PAIRS(a, c, b, d);
    DYNC__ORDER_PAIRS(e, g, f, h);
    DYNC__ORDER_PAIRS(b, c, f, g);
    DYNC__ORDER_PAIRS(a, e, d, h);
    DYNC__ORDER_PAIRS(b, f, c, g);
    DYNC__ORDER_PAIRS(b, e, d, g);
    DYNC__ORDER_PAIRS(c, e, d, f);
    DYNC__ORDER_PAIR(d, e);
    w[0] = a, w[1] = b, w[2] = c, w[3] = d, w[4] = e, w[5] = f, w[6] = g, w[7] = h;
}

/* Runs of eight; the greatest word stands in for those that the last one lacks. */
static void dync__order_runs(uint64_t *a, int64_t n)
{
    uint64_t last[DYNC__ORDER_RUN];
    int64_t whole = n / DYNC__ORDER_RUN * DYNC__ORDER_RUN;
    for (int64_t i = 0; i < whole; i += DYNC__ORDER_RUN) dync__order_eight(a + i);
    if (whole == n) return;
    memset(last, 0xff, sizeof last);
    memcpy(last, a + whole, (size_t)(n - whole) * sizeof *a);
    dync__order_eight(last);
    memcpy(a + whole, last, (size_t)(n - whole) * sizeof *a);
}

/* a[0..width) and a[width..2 * width), both in order and no word in both, to b: as many from the
 * front as from the end, so that neither run ends before them. */
static void dync__order_halves(const uint64_t *a, uint64_t *b, int64_t width)
{
    const uint64_t *left = a, *right = a + width, *last = right - 1, *end = last + width;
    uint64_t *back = b + 2 * width - 1;
    for (int64_t i = 0; i < width; i++) {
        uint64_t x = *left, y = *right, u = *last, v = *end;
        bool low = x < y, high = u < v;
        b[i] = low ? x : y;
        left += low;
        right += !low;
        back[-i] = high ? v : u;
        end -= high;
        last -= !high;
    }
}

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

/* Runs, then merging passes from one array into the other; returns where the words are. */
static uint64_t *dync__order_merged(uint64_t *a, uint64_t *b, int64_t n)
{
    dync__order_runs(a, n);
    for (int64_t width = DYNC__ORDER_RUN; width < n; width *= 2) {
        for (int64_t left = 0; left < n; left += 2 * width)
            if (left + 2 * width <= n)
                dync__order_halves(a + left, b + left, width);
            else
                dync__order_merge(a, b, left, DYNC__MIN(left + width, n), n);
        uint64_t *t = a;
        a = b;
        b = t;
    }
    return a;
}

/* By bits 32 to 32 + bits, N digits of B bits; the words come in the order of their places. count:
 * room for N << B words. */
#define DYNC__ORDER_DEAL(name, N, B)                                                   \
    static uint64_t *dync__order_##name(uint64_t *a, uint64_t *b, int64_t n, int bits, \
                                        uint32_t *count)                               \
    {                                                                                  \
        const uint32_t last = (1u << B) - 1;                                           \
        memset(count, 0, ((size_t)N << B) * sizeof *count);                            \
        for (int64_t i = 0; i < n; i++) {                                              \
            uint32_t x = (uint32_t)(a[i] >> 32);                                       \
            count[x & last]++;                                                         \
            count[(1 << B) + (x >> B & last)]++;                                       \
            count[(2 << B) + (x >> 2 * B & last)]++;                                   \
            if (N == 4) count[((N - 1) << B) + (x >> (N - 1) * B & last)]++;           \
        }                                                                              \
        for (int digit = 0; digit * B < bits; digit++) {                               \
            int shift = 32 + digit * B;                                                \
            uint32_t *at = count + (digit << B), start = 0;                            \
            if (at[a[0] >> shift & last] == n) continue;                               \
            for (uint32_t d = 0; d <= last; d++) {                                     \
                uint32_t here = at[d];                                                 \
                at[d] = start;                                                         \
                start += here;                                                         \
            }                                                                          \
            for (int64_t i = 0; i < n; i++) b[at[a[i] >> shift & last]++] = a[i];      \
            uint64_t *t = a;                                                           \
            a = b;                                                                     \
            b = t;                                                                     \
        }                                                                              \
        return a;                                                                      \
    }
DYNC__ORDER_DEAL(dealt, 4, 8)
DYNC__ORDER_DEAL(dealt_wide, 3, 11)

/* place: room for n words, some of which count; stacks are small. */
static uint64_t *dync__order_words(uint64_t *a, uint64_t *b, int64_t n, int bits, uint32_t *place)
{
    uint32_t count[4 << 8];
    return n < DYNC__SORT_DEAL   ? dync__order_merged(a, b, n)
           : n < DYNC__SORT_WIDE ? dync__order_dealt(a, b, n, bits, count)
                                 : dync__order_dealt_wide(a, b, n, bits, place);
}

/* ---- a line by one thread or by several ------------------------------------------------------ */

#if defined(DYNC_NO_THREADS)
#define DYNC__DEAL_THREADS(o) 1
#else
#define DYNC__DEAL_THREADS(o) (o)->threads
#endif
enum { DYNC__DEAL_BITS = 11, DYNC__DEAL_LAST = (1 << DYNC__DEAL_BITS) - 1 };

/* Each part has a slice of what is read, and 2^11 counts of its own. */
typedef struct dync__dealing {
    const dync__order *o;
    const uint32_t *from; /* NULL, or the order by the keys' lower halves: then by the upper ones */
    uint32_t *to;         /* places, out */
    const uint64_t *a;    /* words, read */
    uint64_t *b;
    uint32_t *count;
    int64_t n;
    int shift;
} dync__dealing;

#define DYNC__DEAL_SLICE(i) \
    for (int64_t i = d->n * part / parts, end_ = d->n * (part + 1) / parts; i < end_; i++)

static void dync__deal_words(void *user, int part, int parts)
{
    const dync__dealing *d = user;
    const uint64_t *key = d->o->key;
    const uint32_t *from = d->from;
    uint64_t least = d->o->least, *to = d->o->a;
    if (from) {
        DYNC__DEAL_SLICE(i) to[i] = (key[from[i]] - least) >> 32 << 32 | (uint32_t)i;
    } else {
        DYNC__DEAL_SLICE(i) to[i] = (key[i] - least) << 32 | (uint32_t)i;
    }
}

static void dync__deal_count(void *user, int part, int parts)
{
    const dync__dealing *d = user;
    const uint64_t *a = d->a;
    uint32_t *count = d->count + ((int64_t)part << DYNC__DEAL_BITS);
    int shift = d->shift;
    memset(count, 0, sizeof *count << DYNC__DEAL_BITS);
    DYNC__DEAL_SLICE(i) count[a[i] >> shift & DYNC__DEAL_LAST]++;
}

static void dync__deal_out(void *user, int part, int parts)
{
    const dync__dealing *d = user;
    const uint64_t *a = d->a;
    uint64_t *b = d->b;
    uint32_t *at = d->count + ((int64_t)part << DYNC__DEAL_BITS);
    int shift = d->shift;
    DYNC__DEAL_SLICE(i) b[at[a[i] >> shift & DYNC__DEAL_LAST]++] = a[i];
}

static void dync__deal_places(void *user, int part, int parts)
{
    const dync__dealing *d = user;
    const uint64_t *a = d->a;
    const uint32_t *from = d->from;
    uint32_t *to = d->to;
    if (from) {
        DYNC__DEAL_SLICE(i) to[i] = from[(uint32_t)a[i]];
    } else {
        DYNC__DEAL_SLICE(i) to[i] = (uint32_t)a[i];
    }
}

/* Counts become the places where the words of a digit and part go; false where all have one digit
 * alike. */
static bool dync__deal_starts(const dync__dealing *d)
{
    int64_t alike = 0;
    uint32_t start = 0, first = d->a[0] >> d->shift & DYNC__DEAL_LAST;
    for (int part = 0; part < DYNC__DEAL_THREADS(d->o); part++)
        alike += d->count[((uint32_t)part << DYNC__DEAL_BITS) + first];
    if (alike == d->n) return false;
    for (uint32_t digit = 0; digit <= DYNC__DEAL_LAST; digit++)
        for (int part = 0; part < DYNC__DEAL_THREADS(d->o); part++) {
            uint32_t *at = d->count + ((uint32_t)part << DYNC__DEAL_BITS) + digit, here = *at;
            *at = start;
            start += here;
        }
    return true;
}

/* As dync__order_dealt_wide, by several threads. */
static const uint64_t *dync__order_shared(dync__dealing *d, int bits)
{
    d->b = d->o->b;
    for (int digit = 0; digit < bits; digit += DYNC__DEAL_BITS) {
        d->shift = 32 + digit;
        dync__pool_run(dync__deal_count, d, DYNC__DEAL_THREADS(d->o));
        if (!dync__deal_starts(d)) continue;
        dync__pool_run(dync__deal_out, d, DYNC__DEAL_THREADS(d->o));
        const uint64_t *dealt = d->b;
        d->b = d->a == d->o->a ? d->o->a : d->o->b;
        d->a = dealt;
    }
    return d->a;
}

/* place[] of n keys, n < 2^32. */
DYNC__FN void dync__order_keys(const dync__order *o, int64_t n)
{
    int bits = DYNC__BIT_LENGTH(o->most - o->least);
    dync__dealing d = {.o = o, .n = n, .count = o->place};
    for (int done = 0; done == 0 || done < bits; done += 32) {
        int now = DYNC__MIN(bits - done, 32);
        d.from = done ? o->before : NULL;
        d.to = done || bits <= 32 ? o->place : o->before;
        dync__pool_run(dync__deal_words, &d, DYNC__DEAL_THREADS(o));
        d.a = o->a;
        d.a = DYNC__DEAL_THREADS(o) > 1 ? dync__order_shared(&d, now)
                                        : dync__order_words(o->a, o->b, n, now, o->place);
        dync__pool_run(dync__deal_places, &d, DYNC__DEAL_THREADS(o));
    }
}
