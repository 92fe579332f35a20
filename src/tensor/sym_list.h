/* tensor/sym_list.h: expressions of one table, evaluated together, and memory that has their
 * values. A place is a token that stands for one of them. After sym.h; sym_list.c. */
#ifndef DYNC__SYM_LIST_H
#define DYNC__SYM_LIST_H
#include "sym.h"

typedef struct dync__sz_step {
    int8_t kind;  /* as that of dync__sz_expr */
    int symbol;   /* or of a sum: */
    int first, n; /* its terms, as words of the list */
    int64_t a, b; /* numbers or places */
} dync__sz_step;
typedef struct dync__sz_list {
    const dync__symtab *table;
    dync__arena *arena;
    int32_t *place_of; /* by expression of the table: its place + 1, or 0 */
    DYNC__VEC(dync__sz_step) step;
    DYNC__VEC(int64_t) word;
    DYNC__VEC(dync__sz_guard) guard; /* of places */
    bool failed;                     /* no memory, or something is no size */
} dync__sz_list;
/* beyond it nothing is a size: products of tokens by mistake, for one */
#define DYNC__SZ_LIST_MOST ((int64_t)1 << 48)
DYNC__INLINE int64_t dync__sz_place(int i) { return ((int64_t)1 << 60) + i; }
/* the value of a number or place */
DYNC__INLINE int64_t dync__sz_placed(const int64_t *at, int64_t x)
{
    return dync__is_token(x) ? at[x - ((int64_t)1 << 60)] : x;
}
/* What is copied for each set of sizes: one piece of memory, with places in it and pointers to
 * other parts of it. It is laid twice, the first time to know how large it is. */
typedef struct dync__sz_spot {
    uint32_t at, to; /* bytes from the start; to: a place, or what is pointed at */
} dync__sz_spot;
typedef struct dync__sz_image {
    dync__arena block, *lists;
    char *start; /* NULL: it is being measured, or nothing is laid yet */
    size_t bytes;
    DYNC__VEC(dync__sz_spot) size, link;
    bool measured, failed;
} dync__sz_image;
/* What is done to each size of something: it gets a place in the list, or the image notes the
 * place that stands there. One of the two. */
typedef struct dync__sz_map {
    dync__sz_list *list;
    dync__sz_image *image;
} dync__sz_map;
/* lists: where the two are kept; the second time what was laid is laid again */
DYNC__SYM_FN void dync__sz_image_begin(dync__sz_image *, dync__arena *lists);
/* from NULL: zeros; NULL: no memory, which the image notes */
DYNC__SYM_FN void *dync__sz_image_put(dync__sz_image *, const void *from, size_t bytes);
DYNC__SYM_FN void dync__sz_image_size(dync__sz_image *, const int64_t *place);
/* the pointer at `pointer` points into the image */
DYNC__SYM_FN void dync__sz_image_link(dync__sz_image *, const void *pointer);
/* a copy with the values of its places, in the room or, where that is NULL, in the arena; NULL: no
 * memory */
DYNC__SYM_FN char *dync__sz_image_at(const dync__sz_image *, const int64_t *at, char *room,
                                     dync__arena *);
/* where a copy has what the image has at p */
DYNC__INLINE void *dync__sz_image_of(const dync__sz_image *im, char *copy, const void *p)
{
    return copy + ((const char *)p - im->start);
}
/* of a table that is complete and outlives the list */
DYNC__SYM_FN bool dync__sz_list_begin(dync__sz_list *, const dync__symtab *, dync__arena *);
/* its place, of the bits of a symbolic real number as well; numbers stay */
DYNC__SYM_FN int64_t dync__sz_list_put(dync__sz_list *, int64_t size);
/* all of the table's: a run fails where one does not hold */
DYNC__SYM_FN void dync__sz_list_guards(dync__sz_list *);
/* value[i] of symbol i: are they within what the table knows? at: room for step.n values */
DYNC__SYM_FN bool dync__sz_list_ranges(const dync__sz_list *, const int64_t *value);
DYNC__SYM_FN bool dync__sz_list_run(const dync__sz_list *, const int64_t *value, int64_t *at);
DYNC__INLINE void dync__sz_map_to(const dync__sz_map *m, int64_t *size)
{
    if (!dync__is_token(*size)) return;
    if (m->image)
        dync__sz_image_size(m->image, size);
    else
        *size = dync__sz_list_put(m->list, *size);
}
DYNC__SYM_FN void dync__sz_map_layout(const dync__sz_map *, dync__layout *);
#endif
