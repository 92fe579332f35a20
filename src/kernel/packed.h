/* kernel/packed.h: packed weights (packed.c), for products and convolutions. After operand.h. */
#ifndef DYNC__PACKED_H
#define DYNC__PACKED_H
#include "operand.h"

/* What they were made from. sum: of the elements, where versions do not tell; else 0 */
typedef struct dync__packed_source {
    const void *from;
    uint64_t storage, sum;
    uint32_t version;
} dync__packed_source;
/* users: the list of those that are kept, and each run that reads them; the last one frees.
 * keepers, under the list's lock: calls that have them for their next run. key: how they are laid
 * out */
typedef struct dync__packed {
    struct dync__packed *next;
    dync__packed_source source;
    int32_t users, keepers;
    size_t bytes, key_bytes;
    char *at, *key;
} dync__packed;
DYNC__FN bool dync__packed_same(const dync__packed_source *, const dync__packed_source *);
/* With one use, the caller's, and room for so many bytes; NULL: no memory, the error is set. */
DYNC__FN dync__packed *dync__packed_new(const dync__packed_source *, size_t bytes);
/* One that is kept, for the caller to keep and to use; NULL: there is none. */
DYNC__FN dync__packed *dync__packed_find(const dync__packed_source *, const dync__str *key);
/* Nothing is kept: is it worth it? Where they were asked for before with this key, by whichever
 * call, more often than they had been when they last changed: those that every step of a training
 * changes are not packed for nothing. Of the last some hundred. */
DYNC__FN bool dync__packed_again(const dync__packed_source *source, const dync__str *key);
/* The caller keeps it. Without memory for the key nobody finds it. */
DYNC__FN void dync__packed_keep(dync__packed *, const dync__str *key);
DYNC__FN void dync__packed_forget(dync__packed *); /* keeps it no more; NULL passes */
DYNC__FN void dync__packed_put(dync__packed *);    /* a use ends; NULL passes */
#endif
