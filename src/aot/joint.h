/* aot/joint.h: forward and backward traced together. */
#ifndef DYNC__AOT_JOINT_H
#define DYNC__AOT_JOINT_H
#include "../dync.in.h"
#include "aot.h"

/* joint_walk.c */
/* out and tangent: the outputs with history and their incoming gradients; wrt and grad: the
 * leaves and their gradients. wrt_input: the actual input behind each leaf. Arrays in the
 * joint's arena; grad alone holds references. */
typedef struct dync__joint_grads {
    dync__tensor **out, **tangent, **wrt, **grad;
    int *wrt_input;
    int n_out, n_wrt;
} dync__joint_grads;
/* Of all outputs; where there is an error on the way from one to a leaf, of the other pairs. */
DYNC__FN dync_status dync__joint_walk_all(dync__joint *j, dync__joint_grads *b);

/* joint.c */
DYNC__FN dync_status dync__joint_prepare(dync__joint *j, dync__graph *g, dync__graph **out);
DYNC__FN dync_status dync__joint_forward(dync__joint *j, dync__graph *g);
DYNC__FN dync_status dync__joint_fresh_values(dync__joint *j, dync__joint_graph *g);
DYNC__FN dync_status dync__joint_fw_out(dync__joint *j, dync__joint_graph *g);
DYNC__FN dync_status dync__joint_backward(dync__joint *j, dync__joint_graph *g);

/* joint_trace.c */
DYNC__FN dync_status dync__joint_traced(dync__joint *j, dync__graph *g);
#endif
