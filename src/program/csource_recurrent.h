/* program/csource_recurrent.h: what a recurrent layer of an exported C file and its gradient share:
 * csource_recurrent.c, csource_recurrent_grads.c. */
#ifndef DYNC__CSOURCE_RECURRENT_H
#define DYNC__CSOURCE_RECURRENT_H
#include "csource.h"

/* ---- functions of a step --------------------------------------------------------------------- */

typedef struct dync__rolled {
    dync__csource *c;
    const dync__csource_step *step;
    const dync__kcall *call, *input;
    dync__str *s;
    int gates, dtype, type; /* of elements; what is worked in */
    int64_t n, hidden, width, bytes;
    int64_t in_at, hid_at, h_at, c_at; /* bytes of scratch; -1: elsewhere */
    const dync__csource_fn *in, *hid, *gate, *first_h, *first_c, *last_c;
} dync__rolled;

/* csource_recurrent.c */
DYNC__FN dync__rolled dync__rolled_of(dync__csource *, const dync__csource_step *, dync__str *);
/* a matrix, row by row */
DYNC__FN dync__operand dync__rolled_dense(int dtype, int64_t rows, int64_t columns);
/* *out: the function of this text, which is released */
DYNC__FN dync_status dync__rolled_function(dync__rolled *, dync_status, dync__str *text,
                                           const dync__csource_fn **out);
/* a [n, K] b [K, columns] (+ bias) into a dense matrix */
DYNC__FN dync_status dync__rolled_sums(dync__rolled *, const dync__operand *a,
                                       const dync__operand *b, const dync__operand *bias,
                                       int64_t columns, const dync__csource_fn **out);
/* a state [n, hidden] from one array into another, by strides */
DYNC__FN dync_status dync__rolled_copy(dync__rolled *, int from_dtype, const int64_t *from,
                                       int to_dtype, const int64_t *to,
                                       const dync__csource_fn **out);
/* r->gate: the loops of kernel/recurrent.c over one step */
DYNC__FN dync_status dync__rolled_piece(dync__rolled *, const dync__kcall *);
/* scratch for so many elements: where it begins */
DYNC__FN int64_t dync__rolled_place(dync__rolled *, int64_t most);
DYNC__FN void dync__rolled_scratch(dync__rolled *, const char *name, int64_t at);
DYNC__FN void dync__rolled_head(dync__rolled *, dync__csource_step *);
/* ", p3 + 32 * t": an operand at the step, if the call has it; the end of a call */
DYNC__FN void dync__rolled_at_step(dync__rolled *, int role);
DYNC__FN void dync__rolled_end(dync__rolled *, const dync__csource_fn *);
#endif
