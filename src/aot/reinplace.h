/* aot/reinplace.h: which new values of a functional graph may be written where the old ones lie. */
#ifndef DYNC__AOT_REINPLACE_H
#define DYNC__AOT_REINPLACE_H
#include "../dync.in.h"
#include "../graph/graph.h"

/* The node that n is a view of; NULL: n is no view. */
DYNC__FN const dync__node *dync__node_viewed(const dync__node *n);
/* Fills, by node, place (-1 before): the node whose memory a write goes to; written:
 * what it puts there is there already. joined: nodes whose readers come later, or NULL; host: the
 * graph runs there. Scratch in arena. */
DYNC__FN dync_status dync__reinplace_find(const dync__graph *, dync__arena *arena,
                                          const int *joined, bool host, int *place, bool *written);
#endif
