/* aot/joint.h: forward and backward traced together. */
#ifndef DYNC__AOT_JOINT_H
#define DYNC__AOT_JOINT_H
#include "../dync.in.h"
#include "aot.h"

/* joint.c */
DYNC__FN dync_status dync__joint_prepare(dync__joint *j, dync__graph *g, dync__graph **out);
DYNC__FN dync_status dync__joint_forward(dync__joint *j, dync__graph *g);
DYNC__FN dync_status dync__joint_fresh_values(dync__joint *j, dync__joint_graph *g);
DYNC__FN dync_status dync__joint_fw_out(dync__joint *j, dync__joint_graph *g);
DYNC__FN dync_status dync__joint_backward(dync__joint *j, dync__joint_graph *g);

/* joint_trace.c */
DYNC__FN dync_status dync__joint_traced(dync__joint *j, dync__graph *g);
#endif
