/* program/program.h: whole programs: a graph with its weights, without guards. After backend/, before compile/. */
#ifndef DYNC__PROGRAM_H
#define DYNC__PROGRAM_H
#include "../capture/capture.h"

struct dync_program {
    const char *name;              /* a C identifier; owned */
    dync_graph *graph;             /* a reference */
    int n_leaves;                  /* tensors in the arguments of a call, lists flattened */
    int *leaf;                     /* per input of the graph: which of them it is */
    dync__mutex lock;
    int compiled;                  /* 0 not tried, 1 there is a callable, -1 the interpreter runs */
    dync_callable callable;
};
/* The program of a finished graph that returns what the function returned (not a tuple around it). Keeps a reference. The inputs are tensors,
 * numbers were baked in; input i is tensor leaf[i] of n_leaves tensors in the arguments of a call. leaf NULL: one each, in order. */
DYNC__FN dync_program *dync__program_from_graph(dync_graph *, const char *name, int n_leaves, const int *leaf);

/* The file of a program as bytes (program_file.c) and back. */
DYNC__FN dync_status dync__program_write(const dync_program *, dync__str *);
DYNC__FN dync_program *dync__program_read(const char *bytes, size_t n);        /* NULL + DYNC_ERR_FORMAT, DYNC_ERR_MEMORY */
/* The program as one C file (csource.c). */
DYNC__FN dync_status dync__program_csource(const dync_program *, dync__str *);
#endif
