/* graph/run.h: values of a graph while it runs. */
#ifndef DYNC__GRAPH_RUN_H
#define DYNC__GRAPH_RUN_H
#include "../dync.in.h"
#include "graph.h"

typedef struct dync__frame_env {
    const dync__graph *graph;
    dync__arena *arena; /* lists live here */
    dync__arg *slot;    /* per node: NONE, TENSOR (owned), a number, or a LIST of them */
    int *last_use;  /* per node: index of the last node that reads it; its own where nobody does */
    int reader;     /* scratch while last_use is filled */
    int64_t *value; /* of the graph's symbols in this run; NULL: sizes are plain */
    bool *known;    /* which of them; NULL: all that will be */
    DYNC__VEC(dync__graph *) inside; /* functions inside operators, of these sizes (owned) */
} dync__frame_env;

/* run.c */
DYNC__FN void dync__arg_retain(const dync__arg *a);
#endif
