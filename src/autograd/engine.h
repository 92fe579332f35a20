/* autograd/engine.h: a walk of the engine: its tasks and queue. */
#ifndef DYNC__AUTOGRAD_ENGINE_H
#define DYNC__AUTOGRAD_ENGINE_H
#include "../dync.in.h"
#include "../base/leave.h"
#include "node.h"

typedef struct dync__gtask {
    dync__gnode *node; /* owned */
    /* node->n_out arrived so far, owned; NULL before the first */
    dync__tensor **grad;
    int32_t waits;   /* edges not yet delivered */
    int32_t capture; /* first capture here, or -1 */
    bool wanted;     /* it leads to something captured, or everything is wanted */
    bool seen;       /* its edges were counted */
} dync__gtask;

/* A task that is ready: its node's sequence number; order: when it was queued; for equal numbers
 * the later one first. */
typedef struct dync__gready {
    uint64_t seq, order;
    int32_t task;
} dync__gready;

/* The exploration of a node: which of its edges is next. */
typedef struct dync__gframe {
    int32_t task, edge;
} dync__gframe;

/* On the heap: a function of the user's that it calls may never return to it. */
typedef struct dync__engine {
    dync__wait wait; /* first */
    dync__walk walk;
    const dync__gnode *running, *visited; /* of the thread, as they were */
    const char *backward_of;
    bool grad_off;
    dync__tensor **passing; /* what a node gave, while its hooks see it; NULL: on the stack */
    size_t passing_bytes;
    int n_passing, n_captures;
    dync__tensor **captured; /* owned, in the memory of next_capture */
    dync__map index;         /* node -> task */
    DYNC__VEC(dync__gtask) task;
    DYNC__VEC(dync__gready) ready; /* a heap */
    DYNC__VEC(dync__gframe) frame;
    int32_t *next_capture; /* chains captures of one node */
    uint64_t order;
} dync__engine;

#define DYNC__ENGINE_CAPTURE (sizeof(dync__tensor *) + sizeof(int32_t))
/* engine.c */
DYNC__FN dync_status dync__engine_explore(dync__engine *e, dync__gnode *root);
DYNC__FN dync_status dync__engine_captures(dync__engine *e);
DYNC__FN int dync__engine_pop(dync__engine *e);
DYNC__FN dync_status dync__engine_arrive(dync__engine *e, const dync__gedge *edge,
                                         dync__tensor *taken);
DYNC__FN dync_status dync__grad_fits(const dync__gnode *node, int i, dync__tensor **grad);
#endif
