/* kernel/scatter.h: a scatter that is being done: scatter.c, scatter_slices.c. */
#ifndef DYNC__SCATTER_H
#define DYNC__SCATTER_H
#include "operand.h"

typedef struct dync__scatter {
    const dync__kcall *call;
    dync__dense index, source, out;
    const dync__operand *places; /* the operand whose shape is walked */
    /* dense as out: what goes into its place first; out itself: it is there */
    const char *base;
    int dtype, split;  /* of sums; the dim that parts cut, -1: none */
    bool adds, slices; /* slices: whole ones, the index is one-dimensional */
    bool (*line)(const struct dync__scatter *, const int64_t *index, int64_t n, const char *from,
                 char *to);
    /* size, step: of out along dim; every: from index to index along the last dim; each: elements
     * of the dim split (rows, columns) that a part takes */
    int64_t dim, size, step, every, each;
    int64_t stride[DYNC_MAX_DIMS]; /* of out; along: from place to place of a line of it */
    int64_t along;
    double scale;
    /* of f16 and bf16, in f32: `room` bytes for each part; NULL: out holds the sums */
    char *sums;
    size_t room;
    /* for sums of rows: the next place of the same index, or -1; where one came before, -3 minus
     * that, so that the place is passed over (it was added with the first) */
    int64_t *later;
    int32_t failed, some; /* some: rows at a time */
} dync__scatter;

/* scatter_slices.c */
/* a part of dync__scatter_walk: its columns of slices that are dense along the last dim */
DYNC__FN void dync__scatter_lines(void *scatter, int part, int n_parts);
/* Does the index name whole slices? Then *one is it along the dim alone. */
DYNC__FN bool dync__scatter_names_slices(const dync__operand *, int dim, dync__operand *one);
#endif
