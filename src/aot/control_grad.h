/* aot/control_grad.h: backward graphs of functions inside operators, and a rule at work. */
#ifndef DYNC__AOT_CONTROL_GRAD_H
#define DYNC__AOT_CONTROL_GRAD_H
#include "../dync.in.h"
#include "../autograd/node.h"
#include "../graph/control.h"
#include "aot.h"

/* ---- the backward of one function ------------------------------------------------------------ */
/* In its inputs: those of the function, then a tangent for each result with tangent[i]. Its
 * results: what `place` makes of the gradients of the inputs with wanted[i] (zeros where there is
 * none). */
typedef struct dync__control_back {
    dync__graph *fn;
    const bool *wanted, *tangent;
    int n_in, n_out, n_wanted;
    dync__tensor **in, **grad; /* of the aside trace; grad: by input, owned */
} dync__control_back;

/* ---- a rule at work -------------------------------------------------------------------------- */
typedef struct dync__control_rule {
    dync__grad *g;
    dync__control c;
    dync__arena arena;
    dync__tensor **in; /* the call's tensors as they were, in order (borrowed from the scope) */
    dync__tensor **gy; /* by result, NULL: none */
    bool *wanted, *tangent; /* by input of the function; by result */
    int first, n_in;        /* of the tensors: the function's inputs */
} dync__control_rule;

/* control_grad.c */
DYNC__FN bool dync__control_float(int dtype);
DYNC__FN dync_status dync__control_refused(dync_status status, const char *why);
DYNC__FN dync_status dync__back_gradients(dync__aside *a, dync__control_back *b,
                                          dync__tensor *const *tangents);
DYNC__FN dync__tensor *dync__back_input(dync__aside *a, const dync__node *like, const char *name,
                                        bool grad);
DYNC__FN dync_status dync__back_inputs(dync__aside *a, dync__control_back *b, int from, int to);
DYNC__FN dync_status dync__back_tangents(dync__aside *a, const dync__control_back *b, int from,
                                         int to, dync__tensor **tangents, int *n);
DYNC__FN dync_status dync__back_open(dync__aside *a, dync__control_back *b,
                                     dync__tensor ***tangents);
DYNC__FN dync_status dync__rule_open(dync__control_rule *r, dync__grad *g);
DYNC__FN dync_status dync__rule_set(dync__control_rule *r, int input, dync__tensor *owned);
DYNC__FN int dync__rule_count(const bool *flags, int from, int to);
DYNC__FN dync_status dync__rule_too_many(const char *op, int n);
DYNC__FN dync_status dync__rule_cond(dync__control_rule *r);

/* control_scan.c */
DYNC__FN dync_status dync__control_rule_run(dync__grad *g);
DYNC__FN void dync__control_held(dync__graph *g, bool hold);
#endif
