/* graph/change.h: changes to a graph that users make, each whole or not at all. After check.c. */
#ifndef DYNC__GRAPH_CHANGE_H
#define DYNC__GRAPH_CHANGE_H
#include "graph.h"
#include "text.h"

typedef struct dync__change_was { /* a node before it was changed */
    dync__node *node;
    dync__node was;
} dync__change_was;
typedef struct dync__change_promise { /* what stands for a value is of its type */
    const char *name;
    dync__info info;
    const dync__node *with;
} dync__change_promise;
/* One change that is open: nodes are moved, added and given other arguments, and at the end the
 * types behind them are inferred again and the graph is checked. Where anything fails all of it is
 * taken back. Marks of nodes (`mark`): NULL: as it was; &args: its arguments changed; &types: so
 * did what it gives, or it is new. */
typedef struct dync__change {
    dync__graph *graph;
    const char *who;
    const char *op;                /* whose types could not be inferred; NULL: none */
    DYNC__VEC(dync__node *) order; /* the nodes before */
    DYNC__VEC(dync__change_was) was;
    DYNC__VEC(dync__change_promise) promise;
    dync__map names;
    dync__symtab *syms; /* the graph's own; it works with a copy meanwhile */
    int n_inputs, n_attr, n_sub, n_symbol;
    char args, types;
} dync__change;
/* DYNC_ERR_VALUE: no graph, or one that is compiled. Where it fails nothing is open. */
DYNC__FN dync_status dync__change_begin(dync__change *, dync__graph *, const char *who);
/* Ends it: status, or what the checks say. */
DYNC__FN dync_status dync__change_end(dync__change *, dync_status);
/* before a node's arguments change */
DYNC__FN dync_status dync__change_touch(dync__change *, dync__node *);
/* The last node goes to place `at`; the nodes from there on move up. It is new. */
DYNC__FN void dync__change_place(dync__change *, int at);
/* Argument i becomes a copy of arg. */
DYNC__FN dync_status dync__change_arg(dync__change *, dync__node *, int i, const dync__arg *arg);
/* Who reads old reads `with` from now on, but `with` itself. It must be of the same type. */
DYNC__FN dync_status dync__change_replace(dync__change *, dync__node *old, dync__node *with);
/* Nobody may use it. */
DYNC__FN dync_status dync__change_erase(dync__change *, dync__node *);
/* A value as an argument of a parameter (NULL: of any, as the output node has) into the graph's
 * arena. */
DYNC__FN dync_status dync__change_value(dync__change *, const dync__param *, dync_value,
                                        dync__arg *);
DYNC__FN bool dync__node_writes(const dync__node *);

/* change.c */
DYNC__FN void dync__change_free(dync__change *e);
DYNC__FN dync_status dync__change_retype(dync__change *e, dync__node *n);
#endif
