/* graph/dce.c: dead code: nodes that nobody uses and that do nothing but make a value. After
 * cse.c, which leaves such nodes behind. */
#include "../dync.in.h"
#include "graph.h"
DYNC__COLD

static void dync__dce_unuse(void *user, dync__arg *arg)
{
    (void)user;
    arg->as.node->n_users--;
}

DYNC__FN dync_status dync__graph_dce(dync__graph *g)
{
    int n = 0;
    dync__graph_renumber(g);
    for (int i = g->node.n - 1; i >= 0;
         i--) { /* backwards: what only dead nodes used is dead when its turn comes */
        dync__node *node = g->node.at[i];
        if (node->n_users > 0 || !dync__node_is_pure(node)) continue;
        dync__node_each_input(node, dync__dce_unuse, NULL);
        g->node.at[i] = NULL;
    }
    for (int i = 0; i < g->node.n; i++)
        if (g->node.at[i]) g->node.at[n++] = g->node.at[i];
    g->node.n = n;
    dync__graph_renumber(g);
    return DYNC_OK;
}
