/* autograd/tape.h: the state of an operator node, and what the files of the tape give each other.
 * Before: node.h. */
#ifndef DYNC__AUTOGRAD_TAPE_H
#define DYNC__AUTOGRAD_TAPE_H
#include "../dync.in.h"
#include "node.h"

typedef struct dync__opsave {
    /* tensors NULL; lists, dims and texts copied into the node */
    dync__opcall call;
    const dync__grad_rule *rule; /* NULL: no derivative is known */
    dync__gnode *node;           /* whose state this is */
    int n_in, n_out;
    bool lost;             /* released, and something was saved */
    bool held;             /* it has references on the functions inside */
    dync__ginfo *info;     /* n_in; dims with strides and offset */
    dync__saved *in, *out; /* n_in, n_out */
} dync__opsave;

/* Carves the parts of a node's state out of one block: first with at NULL to count, then to
 * fill. */
typedef struct dync__carver {
    char *at;
    size_t n;
} dync__carver;

/* tape.c */
DYNC__FN dync__opsave *dync__carve_call(dync__carver *c, const dync__opcall *call, int n_in,
                                        dync__tensor *const *in);

/* tape_rules.c */
DYNC__FN int dync__arg_tensors(const dync__arg *a);
#endif
