/* graph/run.h: values of a graph while it runs. */
#ifndef DYNC__GRAPH_RUN_H
#define DYNC__GRAPH_RUN_H
#include "../dync.in.h"
#include "graph.h"

struct dync__frame_env;
/* Who runs some nodes in another way, where the memory of a value may be taken over. run: false:
 * the node runs as any other; true: *status, *out as of any other. */
typedef struct dync__eval_writes {
    bool (*run)(const struct dync__eval_writes *, struct dync__frame_env *, dync__node *,
                const dync__arg *args, dync_status *status, dync__arg *out);
    const void *user;
} dync__eval_writes;

typedef struct dync__frame_env {
    const dync__graph *graph;
    dync__arena *arena; /* lists live here */
    dync__arg *slot;    /* per node: NONE, TENSOR (owned), a number, or a LIST of them */
    int *last_use;  /* per node: index of the last node that reads it; its own where nobody does */
    int reader;     /* scratch while last_use is filled */
    int64_t *value; /* of the graph's symbols in this run; NULL: sizes are plain */
    bool *known;    /* which of them; NULL: all that will be */
    const dync__eval_writes *writes; /* or NULL */
    DYNC__VEC(dync__graph *) inside; /* functions inside operators, of these sizes (owned) */
} dync__frame_env;

/* run.c */
DYNC__FN void dync__arg_retain(const dync__arg *a);
#endif
