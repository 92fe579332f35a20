/* aot/mincut.h: a minimum cut at work. */
#ifndef DYNC__AOT_MINCUT_H
#define DYNC__AOT_MINCUT_H
#include "../dync.in.h"
#include "partition.h"

/* A quarter of the range, so that a sum of a few such capacities does not overflow. */
#define DYNC__FLOW_INFINITE (INT64_MAX / 4)

typedef struct dync__flow_edge {
    int to, next;
    int64_t room;
} dync__flow_edge;

/* A residual network. head[v] is v's newest edge (-1: none), which edge.next continues; at[v] is
 * the edge at which the search goes on; queue holds vertices in dync__flow_levels and edges in
 * dync__flow_augment. */
typedef struct dync__flow {
    int n, n_edges, room_edges;
    int *head, *level, *at, *queue;
    dync__flow_edge *edge; /* the reverse of edge e is e ^ 1 */
} dync__flow;

/* ---- rules ----------------------------------------------------------------------------------- */
/* The rules that forbid computing a value again. They are PyTorch's config.ban_recompute_*; a
 * memory budget switches them off one after another. */
typedef struct dync__part_rules {
    bool used_far_apart, long_chains, materialized, reductions, not_listed;
} dync__part_rules;

enum { DYNC__PART_NEVER = 1000000000 };

typedef struct dync__mincut_state {
    dync__cutter *c;
    dync__part_rules rules;
    int *distance; /* to the nearest backward node; DYNC__PART_NEVER and more: there is none */
    int *order;    /* place among the forward's nodes */
    /* not computed again; freed: rules do not count (memory budget); decides: a comparison whose
     * outcome backward uses depends on the value; stands: in memory, whether saved or not */
    bool *banned, *freed, *decides, *stands;
    int *heap, *seen; /* scratch */
    int round;
    int64_t *again; /* what it costs to compute a node again (dync__part_again) */
    bool *saved;
} dync__mincut_state;

#define DYNC__EACH_USER(c, i, u)           \
    for (int u##_ = (c)->first_user[i], u; \
         u##_ < (c)->first_user[(i) + 1] && ((u = (c)->user[u##_]), true); u##_++)

/* mincut.c */
DYNC__FN void dync__flow_add(dync__flow *f, int from, int to, int64_t room);
DYNC__FN bool dync__flow_levels(dync__flow *f, int source, int sink);
DYNC__FN bool dync__flow_augment(dync__flow *f, int source, int sink);
DYNC__FN bool dync__op_recomputable(const dync__node *n);
DYNC__FN bool dync__part_must_agree(const dync__mincut_state *m, int i);
DYNC__FN void dync__part_decisions(dync__mincut_state *m);
DYNC__FN bool dync__part_should_ban(dync__mincut_state *m, int i);
DYNC__FN void dync__part_ban(dync__mincut_state *m, int i);
DYNC__FN int64_t dync__part_weight(const dync__mincut_state *m, int i);
DYNC__FN void dync__part_stand(dync__mincut_state *m);
DYNC__FN int64_t dync__part_again(const dync__mincut_state *m, int i);
DYNC__FN void dync__part_far_apart(dync__mincut_state *m);
DYNC__FN void dync__part_long_chains(dync__mincut_state *m);
#endif
