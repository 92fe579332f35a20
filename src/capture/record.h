/* capture/record.h: the recording of a trace: the pending graph, which is what has been traced
 * since the last cut. How it grows stands in record.c (trace.h lists it). */
#ifndef DYNC__CAPTURE_RECORD_H
#define DYNC__CAPTURE_RECORD_H
#include "segment.h"

struct dync__number;
typedef struct dync__trace_frame {
    const char *name;
    dync_loc at;
    int mark; /* pending calls at its entry */
    bool broken;
} dync__trace_frame;
typedef struct dync__recording {
    dync__graph *graph; /* NULL: nothing since the last cut */
    int pending;        /* calls in it */
    bool grad_off;      /* grad mode where it begins: what it is compiled for and runs in */
    DYNC__VEC(dync__tensor *) made;      /* fakes of its nodes (owned) */
    DYNC__VEC(dync__trace_frame) frames; /* open dync_frame calls */
    /* of the operator being recorded, by argument; NULL: none is symbolic */
    struct dync__number **operand;
} dync__recording;
#endif
