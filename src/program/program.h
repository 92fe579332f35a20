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
 * one for each tensor in the arguments of a call, in order; numbers were baked in. */
DYNC__FN dync_program *dync__program_from_graph(dync_graph *, const char *name);
/* The same where input i is tensor leaf[i] of the n_leaves tensors in the arguments of a call: for graphs that leave unused ones out. */
DYNC__FN dync_program *dync__program_from_leaves(dync_graph *, const char *name, int n_leaves, const int *leaf);
/* The program of a capture: the graph whose inputs are the arguments' tensors that were used and tensors from elsewhere (weights, globals: they
 * become attributes), and whose output is a list of what was computed; with one run of it: the call's arguments, the tensors that the inputs
 * had, those that the output list held, and what the function returned. The graph is changed. */
typedef struct dync__program_run_record {
    int nargs;
    const dync_value *args;
    const dync_value *inputs;          /* graph->n_inputs tensors */
    dync_value outputs, result;
} dync__program_run_record;
DYNC__FN dync_program *dync__program_from_capture(dync_graph *, const char *name, const dync__program_run_record *);

/* The file of a program as bytes (program_file.c) and back. */
DYNC__FN dync_status dync__program_write(const dync_program *, dync__str *);
DYNC__FN dync_program *dync__program_read(const char *bytes, size_t n);        /* NULL + DYNC_ERR_FORMAT, DYNC_ERR_MEMORY */
/* The program as one C file (csource.c). */
DYNC__FN dync_status dync__program_csource(const dync_program *, dync__str *);
#endif
