/* autograd/view.h: geometries of bases and views. */
#ifndef DYNC__AUTOGRAD_VIEW_H
#define DYNC__AUTOGRAD_VIEW_H
#include "../dync.in.h"
#include "node.h"

/* State of both kinds of nodes here. */
typedef struct dync__geometry { /* of a base and of a view into it */
    dync__layout base, view;
    uint8_t dtype;
    uint16_t device;
    /* CopySlices: the node of the operation that wrote the view. Owned */
    dync__gnode *inner;
    /* CopySlices: dync__slices_take */
    dync__gnode *(*part)(dync__gnode *slices, const dync__tensor *part);
} dync__geometry;
/* view.c: a node that takes part out of the base behind `slices`; one reference, NULL: no memory */
DYNC__FN dync__gnode *dync__slices_take(dync__gnode *slices, const dync__tensor *part);

/* in elements of the storage */
typedef struct dync__view_span {
    int64_t low, size;
} dync__view_span;

/* view.c */
DYNC__RARE DYNC__FN void dync__view_span_add(dync__view_span *span, const dync__layout *lay);
DYNC__RARE DYNC__FN dync_dims dync__view_dims(int n, const int64_t *d);
DYNC__FN dync__tensor *dync__view_take(dync_tensor *handle);
DYNC__FN dync_status dync__view_pending(void);
DYNC__FN dync_status dync__as_strided_visit(void *state, dync__gvisitor *v);
DYNC__RARE DYNC__FN dync__gnode *dync__geometry_node(const dync__gnode_class *cls,
                                                     const dync__tensor *base,
                                                     const dync__tensor *view, int n_in);
#endif
