/* onnx/trees.h: ensembles of trees as numbered nodes, made of one form of attributes by map_trees.c
 * and of another by map_ensemble.c. After maps.h. */
#ifndef DYNC__ONNX_TREES_H
#define DYNC__ONNX_TREES_H
#include "maps.h"

enum {
    DYNC__TREE_LEVELS = 256,
    DYNC__TREE_CELLS = 1 << 26, /* of the table of weights */
    DYNC__TREE_LEQ = 0,
    DYNC__TREE_LT,
    DYNC__TREE_GTE,
    DYNC__TREE_GT,
    DYNC__TREE_EQ,
    DYNC__TREE_NEQ,
    DYNC__TREE_LEAF
};

enum { DYNC__TREES_MEAN, DYNC__TREES_SUM, DYNC__TREES_MIN, DYNC__TREES_MAX };

typedef struct dync__trees {
    const dync__onnx_call *c;
    int64_t n, n_roots, levels, k; /* nodes; trees; steps; results */
    dync__map at;                  /* tree << 32 | node -> place + 1 */
    int64_t *feature, *child, *root, *mode;
    double *value, *missing, *weight; /* weight: [n][k] */
    bool modes[DYNC__TREE_LEAF], any_missing, wide;
    int aggregate; /* of the weights of a result */
} dync__trees;

DYNC__FN dync_status dync__tree_bad(const dync__trees *, const char *what);
DYNC__FN dync_status dync__tree_room(dync__trees *); /* for n nodes */
/* what a leaf has that tells nothing of a result */
DYNC__FN double dync__tree_empty(const dync__trees *);
/* the leaves that rows of x come to: [rows, trees]; of their weights [rows, k] */
DYNC__FN dync_tensor *dync__tree_leaves(const dync__trees *, dync_tensor *x);
DYNC__FN dync_tensor *dync__tree_sum(const dync__trees *, dync_tensor *leaf, int dtype);
#endif
