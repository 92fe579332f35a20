/* graph/slices.h: sums of the gradients of slices; new nodes for passes. */
#ifndef DYNC__GRAPH_SLICES_H
#define DYNC__GRAPH_SLICES_H
#include "../dync.in.h"
#include "graph.h"
#if !defined(DYNC_SMALL)

/* pass_node.c: a call at the end of the list of nodes, its types inferred; of the line and operator
 * of `like`. NULL: it cannot be, or no memory. */
DYNC__FN dync__node *dync__pass_node(dync__graph *, dync__arena *, int op, int nargs,
                                     const dync__arg *args, const dync__node *like);
/* The same: its first n_in arguments are `in`, of a concatenation the list of them; those in args
 * follow. */
DYNC__FN dync__node *dync__pass_call(dync__graph *, dync__arena *, int op, int n_in,
                                     dync__node *const *in, int nargs, dync__arg *args,
                                     const dync__node *like);

/* From the first element on, row by row; strides of dims of size 1 count too. */
DYNC__FN bool dync__pass_in_rows(const dync__layout *);

/* A box of the result; elsewhere the term is zero. axis: which axis of the result each of the first
 * `rank` dims of value is; those that no dim of it is are one place long. */
typedef struct dync__sum_term {
    dync__node *value, *leaf; /* leaf: what was added */
    int64_t start[DYNC_MAX_DIMS], size[DYNC_MAX_DIMS], step[DYNC_MAX_DIMS];
    int rank, axis[DYNC_MAX_DIMS];
    bool viewed; /* value is taken as of these sizes */
    int64_t view[DYNC_MAX_DIMS];
    dync__node *here; /* its part of the region in hand */
} dync__sum_term;

/* An addition of the tree; an operand is an addition before it, or term ~operand. */
typedef struct dync__sum_add {
    dync__node *node;
    int operand[2];
    dync__node *here;
} dync__sum_add;

/* The axes are the dims of the result; one that is read by slices of step k is two, [n / k, k]. */
typedef struct dync__sum {
    dync__graph *g;
    dync__arena *arena;
    int ndim;
    int64_t shape[DYNC_MAX_DIMS];
    bool stepped;
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
#endif
