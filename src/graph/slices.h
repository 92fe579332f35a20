/* graph/slices.h: sums of the gradients of slices. */
#ifndef DYNC__GRAPH_SLICES_H
#define DYNC__GRAPH_SLICES_H
#include "../dync.in.h"
#include "graph.h"

/* Elsewhere the term is zero. axis: which dim of the result a dim of value is; those that no dim
 * of it is are one place long. */
typedef struct dync__sum_term {
    dync__node *value;
    int64_t start[DYNC_MAX_DIMS], size[DYNC_MAX_DIMS];
    int axis[DYNC_MAX_DIMS];
    dync__node *here; /* its part of the region in hand */
} dync__sum_term;

/* An addition of the tree; an operand is an addition before it, or term ~operand. */
typedef struct dync__sum_add {
    dync__node *node;
    int operand[2];
    dync__node *here;
} dync__sum_add;

typedef struct dync__sum {
    dync__graph *g;
    dync__arena *arena;
    DYNC__VEC(dync__sum_add) add; /* in order; the last is the whole */
    DYNC__VEC(dync__sum_term) term;
    int n_whole;   /* terms that are the whole result */
    int64_t parts; /* of terms, in all regions */
    bool counting; /* nothing is made yet */
} dync__sum;

/* slices_find.c */
/* An addition of two tensors of its own type; inside a tree: nobody but the addition around it
 * reads it. */
DYNC__FN bool dync__sum_adds(const dync__node *);
DYNC__FN bool dync__sum_is_inside(const dync__node *);
/* The tree of root. place: -1 for every node, before and after. False: no memory. */
DYNC__FN bool dync__sum_collect(dync__sum *, dync__node *root, int *place);
#endif
