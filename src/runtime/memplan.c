/* runtime/memplan.c: where temporaries live in the arena of one run: lifetimes over steps, largest
 * first, each at the lowest offset that meets no other one alive at the same time (TensorFlow Lite
 * Micro's GreedyMemoryPlanner). Before run.c. */
#include "../dync.in.h"
#include "plan.h"
DYNC__COLD

enum { DYNC__MEMPLAN_ALIGN = 64 };

static int64_t dync__align_up(int64_t n)
{
    return (n + DYNC__MEMPLAN_ALIGN - 1) / DYNC__MEMPLAN_ALIGN * DYNC__MEMPLAN_ALIGN;
}

static bool dync__alive_together(const dync__life *a, const dync__life *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* Insertion sort by falling size, then by slot: the same plan every time. */
static void dync__lives_sort(dync__life **order, int n)
{
    for (int i = 1; i < n; i++) {
        dync__life *x = order[i];
        int k = i;
        for (; k > 0 && (order[k - 1]->bytes < x->bytes ||
                         (order[k - 1]->bytes == x->bytes && order[k - 1]->slot > x->slot));
             k--)
            order[k] = order[k - 1];
        order[k] = x;
    }
}

/* The lowest offset at which x fits among the placed ones, which are sorted by offset on the
 * way. */
static int64_t dync__life_place(dync__life **placed, int n, const dync__life *x)
{
    int64_t at = 0;
    for (;;) {
        int64_t next = -1;
        for (int i = 0; i < n; i++) {
            const dync__life *p = placed[i];
            if (!dync__alive_together(p, x) || p->offset >= at + x->bytes ||
                p->offset + p->bytes <= at)
                continue;
            if (p->offset + p->bytes > next) next = p->offset + p->bytes;
        }
        if (next < 0) return at;
        at = next;
    }
}

DYNC__FN dync_status dync__memplan(dync__arena *arena, dync__life *life, int n, int64_t *total)
{
    dync__life **order = dync__arena_alloc(arena, (size_t)(n + 1) * sizeof *order);
    if (!order) return DYNC_ERR_MEMORY;
    int used = 0;
    *total = 0;
    for (int i = 0; i < n; i++)
        if (life[i].first >= 0) {
            life[i].bytes = dync__align_up(life[i].bytes);
            order[used++] = &life[i];
        }
    dync__lives_sort(order, used);
    for (int i = 0; i < used; i++) {
        order[i]->offset = dync__life_place(order, i, order[i]);
        if (order[i]->offset + order[i]->bytes > *total)
            *total = order[i]->offset + order[i]->bytes;
    }
    return DYNC_OK;
}
