/* autograd/function.h: a call of a custom function, eager and in graphs. */
#ifndef DYNC__AUTOGRAD_FUNCTION_H
#define DYNC__AUTOGRAD_FUNCTION_H
#include "../dync.in.h"
#include "node.h"
#include "grads.h"

/* raw: the tensor while forward runs (owned); then saved and edge stand for it. output: which
 * output of the function it is, whose edge is the node itself; -1: an argument or something else.
 */
typedef struct dync__ctx_saved {
    dync__saved saved;
    dync__tensor *raw;
    dync__gedge edge;
    int output;
} dync__ctx_saved;

struct dync__autograd_ctx {
    dync__object object; /* its handle */
    const dync_autograd_function *fn;
    dync__gnode_class cls; /* carries the name */
    dync__gnode *node;     /* whose state this is; set after forward */
    DYNC__VEC(dync__ctx_saved) saved;
    int nargs, n_in;
    int32_t *input; /* nargs: which edge an argument has, or -1 */
    /* ready: forward is over; lost: saved tensors were released */
    bool ready, lost;
};

enum { DYNC__APPLY_MAX = 32 };

typedef struct dync__apply {
    dync__autograd_ctx *ctx;
    dync__tensor *in[DYNC__APPLY_MAX];
    int n_out;
    dync__tensor *out[DYNC__APPLY_MAX]; /* owned */
} dync__apply;

/* function.c */
DYNC__FN void dync__ctx_destroy(void *state);
DYNC__FN dync_status dync__pending_or(dync_status status);
DYNC__FN dync_status dync__apply_inputs(dync__apply *a, const dync_value *args, bool *wanted);
DYNC__FN dync__autograd_ctx *dync__ctx_new(const dync_autograd_function *fn, int nargs);
#endif
