/* capture/tree.h: a run of a closed entry, for tree.c and tree_into.c. After trace.h. */
#ifndef DYNC__CAPTURE_TREE_H
#define DYNC__CAPTURE_TREE_H
#include "trace.h"

typedef struct dync__call_run_state {
    /* tensor or list of them that the caller wants the result in, or NULL */
    const dync_value *into;
    dync__tensor **env; /* places; owned references from n_leaf on */
    dync__path_step *path;
    int n_env, n_path, cap_path;
    dync__tensor *few_env[32];
    dync__path_step few_path[32];
} dync__call_run_state;

/* tree_into.c: targets of a segment's outputs, with what the call returns; false: there are none */
DYNC__FN bool dync__into_targets(const dync__call_run_state *, const dync__segref *,
                                 const dync__outval *result, dync__tensor **target);
#endif
