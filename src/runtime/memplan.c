/* runtime/memplan.c: where temporaries live in the arena of one run: lifetimes over steps, largest
 * first, each at the lowest offset that meets no other one alive at the same time (TensorFlow Lite
 * Micro's GreedyMemoryPlanner). Before run.c. */
#include "../dync.in.h"
#include "plan.h"
DYNC__COLD

enum { DYNC__MEMPLAN_ALIGN = 64, DYNC__MEMPLAN_WORK = 1 << 24 };

DYNC__OFTEN static int64_t dync__align_up(int64_t n)
{
    return (n + DYNC__MEMPLAN_ALIGN - 1) / DYNC__MEMPLAN_ALIGN * DYNC__MEMPLAN_ALIGN;
}

/* By falling size, then by slot: the same plan every time. */
DYNC__OFTEN static int dync__life_order(const dync__life *x, const dync__life *y)
{
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return (x->slot > y->slot) - (x->slot < y->slot);
}
DYNC__BUSY static int dync__life_compare(const void *a, const void *b)
{
    return dync__life_order(*(dync__life *const *)a, *(dync__life *const *)b);
}
static int dync__life_compare_own(const void *a, const void *b) { return dync__life_order(a, b); }

#if defined(DYNC_SMALL)
/* Of few, and of no C library that sorts more than it has to. */
static void dync__sort_lives(void *lives, size_t n, size_t size,
                             int (*compare)(const void *, const void *))
{
    unsigned char *at = lives, *x, *y;
    for (size_t gap = n / 2; gap > 0; gap /= 2)
        for (size_t i = gap; i < n; i++)
            for (size_t k = i; k >= gap; k -= gap) {
                x = at + (k - gap) * size, y = at + k * size;
                if (compare(x, y) <= 0) break;
                for (size_t b = 0; b < size; b++) {
                    unsigned char byte = x[b];
                    x[b] = y[b], y[b] = byte;
                }
            }
}
#else
#define dync__sort_lives qsort
#endif

/* Puts x at the lowest offset at which it fits among the n placed ones, which are sorted by offset;
 * one pass, so that thousands alive at once cost no more than the square of their number. */
DYNC__OFTEN static void dync__life_place(dync__life **placed, int n, dync__life *x)
{
    int64_t at = 0;
    int from = 0, to = n;
    for (int i = 0; i < n && placed[i]->offset < at + x->bytes; i++) {
        const dync__life *p = placed[i];
        if (p->offset + p->bytes > at && p->first <= x->last && x->first <= p->last)
            at = p->offset + p->bytes;
    }
    x->offset = at;
    while (from < to) { /* the first place beyond equal offsets */
        int middle = from + (to - from) / 2;
        if (placed[middle]->offset <= at)
            from = middle + 1;
        else
            to = middle;
    }
    memmove(placed + from + 1, placed + from, (size_t)(n - from) * sizeof *placed);
    placed[from] = x;
}

DYNC__FN void dync__memplan_sort(dync__life *life, int n)
{
    for (int i = 0; i < n; i++) life[i].bytes = dync__align_up(life[i].bytes);
    dync__sort_lives(life, (size_t)n, sizeof *life, dync__life_compare_own);
}

/* Places them in this order; gives the end of the last one. */
DYNC__OFTEN static int64_t dync__lives_place(dync__life **order, dync__life **placed, int n)
{
    int64_t total = 0;
    for (int i = 0; i < n; i++) {
        dync__life_place(placed, i, order[i]);
        total = DYNC__MAX(total, order[i]->offset + order[i]->bytes);
    }
    return total;
}

DYNC__OFTEN DYNC__FN dync_status dync__memplan(dync__arena *arena, dync__life *life, int n,
                                               int64_t *total)
{
    dync__life **order = dync__arena_alloc(arena, 2 * (size_t)(n + 1) * sizeof *order);
    if (!order) return DYNC_ERR_MEMORY;
    dync__life **placed = order + n + 1;
    int used = 0;
    for (int i = 0; i < n; i++)
        if (life[i].first >= 0) {
            life[i].bytes = dync__align_up(life[i].bytes);
            order[used++] = &life[i];
        }
    bool sorted = true;
    for (int i = 1; i < used && sorted; i++) sorted = dync__life_order(order[i - 1], order[i]) < 0;
    if (!sorted) dync__sort_lives(order, (size_t)used, sizeof *order, dync__life_compare);
    *total = dync__lives_place(order, placed, used);
    return DYNC_OK;
}

/* Bytes alive at the widest point: less no plan can take. One life begins there. */
static int64_t dync__lives_bound(dync__life *const *life, int n)
{
    int64_t most = 0;
    for (int i = 0; i < n; i++) {
        int64_t alive = 0;
        for (int k = 0; k < n; k++)
            if (life[k]->first <= life[i]->first && life[i]->first <= life[k]->last)
                alive += life[k]->bytes;
        most = DYNC__MAX(most, alive);
    }
    return most;
}

/* Who lies at the end goes first in the next try (squeaky wheel optimization: Joslin and Clements
 * 1999), until nothing is lost or the tries have been many. */
DYNC__FN dync_status dync__memplan_tight(dync__arena *arena, dync__life *life, int n,
                                         int64_t *total)
{
    DYNC__TRY(dync__memplan(arena, life, n, total));
    dync__life **order = dync__arena_alloc(arena, 2 * (size_t)(n + 1) * sizeof *order);
    int64_t *best = dync__arena_alloc(arena, (size_t)(n + 1) * sizeof *best);
    if (!order || !best) return DYNC_ERR_MEMORY;
    int used = 0;
    for (int i = 0; i < n; i++) {
        best[i] = life[i].offset;
        if (life[i].first >= 0) order[used++] = &life[i];
    }
    dync__sort_lives(order, (size_t)used, sizeof *order, dync__life_compare);
    int64_t least = dync__lives_bound(order, used), end = *total,
            tries = DYNC__MEMPLAN_WORK / ((int64_t)used * used + 1);
    for (tries = DYNC__MIN(tries, 8 * used); *total > least && tries > 0; tries--) {
        int last = 0;
        while (order[last]->offset + order[last]->bytes != end) last++;
        dync__life *x = order[last];
        memmove(order + 1, order, (size_t)last * sizeof *order);
        order[0] = x;
        end = dync__lives_place(order, order + n + 1, used);
        if (end >= *total) continue;
        *total = end;
        for (int i = 0; i < n; i++) best[i] = life[i].offset;
    }
    for (int i = 0; i < n; i++) life[i].offset = best[i];
    return DYNC_OK;
}
