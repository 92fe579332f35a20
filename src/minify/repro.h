/* minify/repro.h: what the files behind dync_run_repro share. */
#ifndef DYNC__REPRO_H
#define DYNC__REPRO_H
#include "minify.h"

/* What the program states, overridden by its command line. */
typedef struct dync__repro_options {
    dync_repro repro;
    bool isolate, help;
} dync__repro_options;

/* One call of dync_run_repro. reader holds the inputs, which the scope of that call owns; graph is
 * the function over them, one reference. */
typedef struct dync__repro_case {
    const dync__repro_options *o;
    const dync_backend *backend;
    dync__repro_reader reader;
    dync__graph *graph;
} dync__repro_case;
/* ---- repro_graph.c --------------------------------------------------------------------------- */
DYNC__FN dync_status dync__repro_load(dync__repro_case *c);
DYNC__FN dync_status dync__repro_trace(dync__repro_case *c);
/* ---- repro_run.c ----------------------------------------------------------------------------- */
DYNC__FN dync_status dync__repro_run(dync__repro_case *c);
#endif
