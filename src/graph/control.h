/* graph/control.h: operators with functions inside, taken apart: cond, scan, while_loop. After
 * graph.h.
 *
 * A function is a graph over tensors alone: it takes `in` then `more` (scan: carried values, one
 * slice of each xs, more) and gives a list of tensors. What an operator gives is dense, row major
 * and new memory, whatever its functions give. */
#ifndef DYNC__GRAPH_CONTROL_H
#define DYNC__GRAPH_CONTROL_H
#include "graph.h"

typedef struct dync__control {
    int op;
    dync__arg *pred;           /* cond */
    dync__graph *test;         /* while_loop: goes on as long as it gives true */
    dync__graph *fn[2];        /* cond: if true, if false; else the body alone */
    dync__arg *in, *xs, *more; /* lists; cond: more is none */
    int n_in, n_xs, n_more, n_out;
    bool reverse; /* scan: from the last place to the first */
    int saved;    /* scan: of the stacked results, the last ones: carried values */
    int64_t most; /* while_loop: rounds; 0: no limit */
} dync__control;
/* DYNC_ERR_INTERNAL: arguments of other kinds */
DYNC__FN dync_status dync__control_open(dync__control *, int op, int nargs, dync__arg *args);
DYNC__FN dync__arg dync__arg_graph(dync__graph *); /* finished */
/* what it gives, a list of nodes; NULL: it is none of those */
DYNC__FN const dync__arg *dync__control_results(const dync__graph *);
/* Runs a function on tensors, through dispatch; owned results. */
DYNC__FN dync_status dync__control_call(dync__graph *, int n_in, dync__tensor *const *in, int n_out,
                                        dync__tensor **out);
/* A reference on *t goes over to a tensor of the same elements: dense, and nobody else's memory. */
DYNC__FN dync_status dync__control_fresh(dync__tensor **t);
/* Tensors as a list of arguments. */
DYNC__FN dync__arg dync__control_list(dync__arena *, int n, dync__tensor *const *t);

/* control.c */
DYNC__FN dync_status dync__control_types(const dync__opcall *call, dync__info *out);
#endif
