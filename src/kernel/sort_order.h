/* kernel/sort_order.h: the stable order of a line of unsigned keys. Before: base/base.h. */
#ifndef DYNC__SORT_ORDER_H
#define DYNC__SORT_ORDER_H
#include "../base/base.h"

typedef struct dync__order {
    uint64_t *key;    /* n, in; all from least to most */
    uint64_t *a, *b;  /* room for n words each */
    uint32_t *place;  /* n, out: where the smallest key was, the next, ... */
    uint32_t *before; /* room for n: the order by lower halves */
    uint64_t least, most;
    int threads; /* so many share the work; if more than one, each at least 2^11 keys */
} dync__order;

/* place[] of n keys, n < 2^32. The same for any number of threads. */
DYNC__FN void dync__order_keys(const dync__order *o, int64_t n);

#endif
