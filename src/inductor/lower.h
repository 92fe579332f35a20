/* inductor/lower.h: the state of a lowering, shared by the files that do it. After inductor.h. */
#ifndef DYNC__INDUCTOR_LOWER_H
#define DYNC__INDUCTOR_LOWER_H
#include "inductor.h"
#include "../aot/reinplace.h"

enum { DYNC__PARTS_MOST = 8 };
/* A pointwise operator that is computed part by part along a dim of its result: part i is [cut[i],
 * cut[i + 1]). */
typedef struct dync__parts {
    int dim, n;
    int64_t cut[DYNC__PARTS_MOST + 1];
} dync__parts;

typedef struct dync__lowerer {
    dync__graph *g;
    dync__arena arena; /* scratch: operands, kernels before fusion */
    dync__pb pb;
    dync__operand **value; /* operands of each node's outputs, by node index */
    /* first output of each node as a fake, for infer and expr */
    dync__tensor **fake;
    /* where the slot of a node's base begins: inputs are bound at their first element */
    int64_t *bias;
    /* node whose slot a node lies on (itself where it is no view) */
    int *base;
    dync__parts **parts; /* of each node; NULL: it is computed whole */
    /* concatenation: the node that reads what it puts together, in its place; -1: it is made */
    int *joined;
    bool *leaves; /* base nodes whose slot must be an output of the plan */
    bool *viewed; /* nodes on whose slot others lie, or whose strides somebody sees */
    /* reinplace.c: node whose memory a write goes to, -1: memory of its own; written: what it puts
     * there is there already */
    int *place;
    bool *written;
    /* node after which output i is written over the input it is the new value of; -1: it is not */
    int *over_after;
    int *over_first, *over_next; /* those of a node: output + 1, 0 ends */
} dync__lowerer;

/* lower.c: everything up to the unfused steps in pb, and outputs without a plan; the caller frees
 * the arena. sized: sizes are those of the thread's table. options NULL: the usual ones, for steps
 * that others read: kernels take operands as they lie. */
DYNC__FN dync_status dync__lower_steps(dync__lowerer *, dync__graph *, const bool *used,
                                       const dync__options *, bool sized, dync__lowered *out);
DYNC__FN dync__plan_options dync__lower_options(const dync__lowerer *, const dync__options *);
/* The bytes of each output's storage, of the slots in pb. */
DYNC__FN void dync__lowered_storages(dync__lowered *, const dync__pb *);
/* parts.c, by need (cat): fills w->parts (NULL before) and w->joined (-1); lowers the call of a
 * node that has parts. */
DYNC__FN dync_status dync__parts_find(dync__lowerer *);
DYNC__FN dync_status dync__parts_lower(dync__lowerer *, const dync__opcall *, const dync__node *);
/* Does n put others together in its own memory? Lowers it, into out. */
DYNC__FN bool dync__parts_nests(const dync__lowerer *, const dync__node *);
DYNC__FN dync_status dync__parts_cat(dync__lowerer *, const dync__node *, const dync__operand *out);
/* reinplace.c: dync__layout_span, which may be symbolic. */
DYNC__FN int64_t dync__lower_span(const dync__layout *);
/* reinplace.c, by need (operators in place, scatters): fills w->place (-1 before), w->written
 * (after dync__parts_find); lowers a write in place. */
DYNC__FN dync_status dync__lower_places(dync__lowerer *);
DYNC__FN dync_status dync__reinplace_lower(dync__lowerer *, const dync__opcall *,
                                           const dync__node *, const dync__operand *in, int n_in);
/* lower_over.c: fills w->base, w->leaves and the copies into inputs that are due (by need, as
 * above); emits those due behind this node. */
DYNC__FN dync_status dync__lower_bases(dync__lowerer *, const bool *used);
DYNC__FN dync_status dync__lower_write_over(dync__lowerer *, int node);
DYNC__FN void dync__lower_over_use(void);
#endif
