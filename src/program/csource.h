/* program/csource.h: what the two halves of the C exporter share: csource.c plans, csource_print.c
 * and csource_kernels.c print. */
#ifndef DYNC__CSOURCE_H
#define DYNC__CSOURCE_H
#include "../inductor/inductor.h"
#include "program.h"

typedef struct dync__csource_slot {
    bool in_arena, copied_out; /* copied_out: an output of the graph is read from it at the end */
    int output;                /* the output that it is, or -1 */
    int first, last;           /* steps that touch it, -1 none */
    int64_t offset;            /* in the arena */
} dync__csource_slot;

typedef struct dync__csource {
    const dync__program *program;
    char *upper;       /* the program's name in capitals */
    dync__graph *flat; /* copy of the graph that returns a flat list */
    dync__aot_graphs aot;
    dync__lowered lowered;
    int n_out; /* what the user's graph returns */
    dync__lowered_out *out;
    dync__arena arena, names;
    dync__pb pb;
    dync__fuse_step *steps;
    int n_steps;
    dync__csource_slot *slot; /* per slot of pb */
    int64_t arena_bytes;
} dync__csource;

DYNC__FN dync_status dync__csource_print(dync__csource *, dync__str *);
/* csource_kernels.c: a kernel call as a static function NAME over its operands.
 * DYNC_ERR_UNSUPPORTED: it has no C form. */
DYNC__FN dync_status dync__kcall_csource(dync__str *, const dync__kcall *, const char *name);
DYNC__FN const char *dync__csource_type(int dtype); /* "float" */
/* "4*i0 + i2 + 3" for these strides; loops of one iteration add nothing. */
DYNC__FN void dync__csource_index(dync__str *, int n, const int64_t *stride, const char *const *var,
                                  int64_t offset);
#endif
