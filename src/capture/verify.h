/* capture/verify.h: what a comparison of eager and compiled runs knows; shared by the three files
 * of verify. */
#ifndef DYNC__VERIFY_H
#define DYNC__VERIFY_H
#include "trace.h"

/* A global that the entry may write: its memory before and after the reference run. */
typedef struct dync__verify_global {
    dync__tensor *t;
    const char *source;
    char *before, *after;
} dync__verify_global;

/* What else a leaf from elsewhere has: its gradient, hooks and whether it wants one. */
typedef struct dync__verify_leaf {
    /* of: owned; gradients before and after the reference run: owned */
    dync__tensor *of, *before, *after;
    const char *source;
    int hooks;
    bool
        requires;
} dync__verify_leaf;

typedef struct dync__verify_cell {
    dync_cell *cell;
    dync_value before, after;
} dync__verify_cell;

struct dync__verify {
    dync_scope scope;
    const dync__compiled *f;
    const char *name; /* of what is compared, for the message */
    int n;
    int room;                            /* of the four arrays, one block */
    dync__tensor **real, **copy, **base; /* base: what copy is a view of, or NULL; owned */
    const char **source;
    DYNC__VEC(dync__verify_global) global;
    DYNC__VEC(dync__verify_leaf) leaf;
    DYNC__VEC(dync__verify_cell) cell; /* each once */
    dync_value expected;
    dync__error_slot error; /* of the reference run */
    uint64_t rng_seed, rng_offset;
    bool grad_off;
};

/* verify_compare.c */
DYNC__FN dync_status dync__verify_compare(dync__verify *v, dync_value *got, bool narrowed);
/* verify_copy.c */
DYNC__FN void dync__verify_run(bool running, dync__verify *now);
DYNC__FN bool dync__verify_readable(const dync__tensor *t);
DYNC__FN void dync__verify_free(dync__verify *v);
DYNC__FN dync__verify *dync__verify_new(const dync__compiled *f, const char *name, int n,
                                        dync__tensor *const *in);
DYNC__FN bool dync__verify_add_global(dync__verify *v, dync__tensor *t, const char *source);
DYNC__FN bool dync__verify_add_leaf(dync__verify *v, dync__tensor *t, const char *source);
DYNC__FN void dync__verify_restore(dync__verify *v);
#endif
