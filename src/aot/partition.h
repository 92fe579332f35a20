/* aot/partition.h: what partition.c (cutting) and mincut.c (what to save) share: facts about the
 * nodes of a joint graph, by node index. */
#ifndef DYNC__PARTITION_H
#define DYNC__PARTITION_H
#include "aot.h"

/* Small builds keep a value once, whoever reads it. */
enum { DYNC__SAVED_TWICE = DYNC__SMALLER(0, 1) };

typedef struct dync__cutter {
    dync__graph *joint;
    dync__arena arena;
    int n;                 /* nodes */
    bool *fw, *bw;         /* needed by the forward outputs; by the gradients */
    bool *result;          /* is a forward output */
    bool *input, *tangent; /* placeholders of the forward part; of backward */
    /* depends on a tangent, or is a gradient that forward does not have: computed in backward */
    bool *late;
    bool *given;   /* a gradient that is an input or a value of forward */
    bool *saved;   /* the result: what forward hands to backward */
    bool *own;     /* backward reads it itself, or a view of it: so do the operators' own rules */
    bool *mutated; /* an input that the epilogue overwrites */
    /* saved values that are two inputs of backward, by node: what reads the rules' one (rule), and
     * that one in the graph being made */
    int *twice, n_twice;
    bool *rule, *is_twice;
    dync__node **rule_copy;
    /* users of node i: user[first_user[i]] ... user[first_user[i + 1] - 1], live ones only */
    int *first_user, *user;
    /* of activation memory: 1 what costs no time, 0 inputs only */
    double budget;
} dync__cutter;

DYNC__INLINE bool dync__part_live(const dync__cutter *c, int i) { return c->fw[i] || c->bw[i]; }
DYNC__FN bool dync__aot_is_view(const dync__node *);
/* Elements times their size, 0 where it is unknown or a list: by hints, the sizes of the first
 * call; weighed: by sizes that no call decides, so that what is saved, and with it the last bits
 * of gradients, does not depend on which size came first. */
DYNC__FN int64_t dync__aot_bytes(const dync__node *);
DYNC__FN int64_t dync__aot_weighed(const dync__node *);
/* mincut.c: marks saved */
DYNC__FN dync_status dync__mincut(dync__cutter *);
/* partition.c */
DYNC__FN dync_status dync__partition_saved(dync__cutter *, const dync__aot_how *);
DYNC__FN dync_status dync__partition_backward(dync__cutter *, int n_grads, dync__node *const *grads,
                                              dync__aot_graphs *into);
DYNC__FN dync__node *dync__partition_node(dync__rewrite *r, dync__node *old);
/* own.c */
DYNC__FN int dync__part_mutated_root(const dync__cutter *, const dync__node *);
DYNC__FN dync_status dync__part_own(dync__cutter *);
DYNC__INLINE bool dync__part_is_twice(const dync__cutter *c, int i)
{
    return DYNC__SAVED_TWICE && c->n_twice && c->is_twice[i];
}
DYNC__FN void dync__part_twice_swap(const dync__cutter *, const dync__node *reader,
                                    dync__rewrite *);
#endif
