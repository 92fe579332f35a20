/* minify/shrink.h: what the files that shrink a graph share. */
#ifndef DYNC__SHRINK_H
#define DYNC__SHRINK_H
#include "minify.h"

/* Values are found by node name: edits keep names, so a node of the shrunk graph that has become
 * an input finds the value it had in the first graph. */
typedef struct dync__shrinker {
    const dync__shrink *how;
    dync__graph *graph; /* the smallest so far */
    dync__map index;    /* hash of a name -> its place in value */
    dync_value *value;  /* of every node of the first graph; NONE: not known */
    int n_values, queries;
} dync__shrinker;
typedef dync__graph *(*dync__strategy)(dync__shrinker *, int granularity);

/* Reports go to stderr, as torch's minifier prints them. */
DYNC__INLINE bool dync__shrink_loud(const dync__shrinker *s) { return !s->how->quiet; }
/* ---- shrink_values.c ------------------------------------------------------------------------- */
DYNC__FN dync_value dync__shrink_value(const dync__shrinker *s, const dync__node *n);
DYNC__FN dync_status dync__shrink_values(dync__shrinker *s, int n, const dync_value *inputs);
/* ---- shrink_ways.c --------------------------------------------------------------------------- */
DYNC__FN dync_value *dync__shrink_inputs(const dync__shrinker *s, const dync__graph *g);
DYNC__FN bool dync__shrink_fails(dync__shrinker *s, dync__graph *g);
DYNC__FN dync__graph *dync__shrink_suffix(dync__shrinker *s, int granularity);
DYNC__FN dync__graph *dync__shrink_outputs(dync__shrinker *s, int granularity);
DYNC__FN dync__graph *dync__shrink_dead_code(dync__shrinker *s, int granularity);
DYNC__FN dync__graph *dync__shrink_unused_inputs(dync__shrinker *s, int granularity);
DYNC__FN dync__graph *dync__shrink_consolidate(dync__shrinker *s, int granularity);
DYNC__FN dync__graph *dync__shrink_delta(dync__shrinker *s, int granularity);
#endif
