/* capture/hooked.c: hooks on values of a graph that is captured whole (.fullgraph): a node _hooked,
 * the same elements, stands behind that which makes the value, for all who use it, before and after
 * the hook was registered. Its gradient is the sum of theirs, which the hook sees (g_hooked). After
 * data.c, before handler.c. */
#include "../dync.in.h"
#include "trace.h"
DYNC__COLD

typedef struct dync__hooked_swap {
    const dync__node *from;
    dync__node *to;
} dync__hooked_swap;
static void dync__hooked_use(void *user, dync__arg *a)
{
    const dync__hooked_swap *s = user;
    if (a->as.node == s->from) a->as.node = s->to;
}

/* Uses of one node become those of another, but in `but`. */
static void dync__hooked_uses(dync__graph *g, const dync__node *from, dync__node *to,
                              const dync__node *but)
{
    dync__hooked_swap s = {from, to};
    for (int i = 0; i < g->node.n; i++)
        if (g->node.at[i] != but) dync__node_each_input(g->node.at[i], dync__hooked_use, &s);
}

static int dync__hooked_place(const dync__graph *g, const dync__node *n)
{
    int i = 0;
    while (i < g->node.n && g->node.at[i] != n) i++;
    return i;
}

/* The last node, which is new, comes to stand behind another. */
static void dync__hooked_move(dync__graph *g, const dync__node *behind)
{
    int to = dync__hooked_place(g, behind) + 1, last = g->node.n - 1;
    dync__node *n = g->node.at[last];
    memmove(&g->node.at[to + 1], &g->node.at[to], (size_t)(last - to) * sizeof *g->node.at);
    g->node.at[to] = n;
    dync__graph_renumber(g);
}

/* Hooks run in the order of registration: a later one stands nearer to the maker. */
DYNC__FN dync_status dync__hooked_add(dync__tracer *t, dync__tensor *x, dync_hook fn, void *user,
                                      int id)
{
    dync__graph *g = t->rec.graph;
    dync__node *maker = x->node;
    int number = dync__hook_number(fn, user);
    (void)DYNC__USED(DYNC__OP__hooked);
    while (maker->op == DYNC__OP__hooked) maker = maker->args[0].as.node;
    dync__arg args[2] = {dync__arg_node(maker), dync__arg_i(number)};
    dync__info info = {.dtype = x->dtype, .device = x->device, .lay = x->lay, .alias = -1};
    dync__node *n = number < 0 ? NULL
                               : dync__graph_call(g, DYNC__OP__hooked, 2, args, 1, &info, "hooked");
    dync__hooked h = {x, n, id};
    if (!n || !dync__vec_push(&t->effects.hooked, h))
        return dync__tracer_fail(t, dync__fail_memory(0));
    dync__ref(x);
    n->at = t->last_at;
    n->env = -1;
    n->requires_grad[0] = true;
    dync__hooked_uses(g, maker, n, n);
    dync__hooked_move(g, maker);
    for (int i = 0; i < t->rec.made.n; i++)
        if (t->rec.made.at[i]->node == maker) t->rec.made.at[i]->node = n;
    t->rec.pending++;
    return DYNC_OK;
}

DYNC__FN bool dync__hooked_remove(dync__tracer *t, int id)
{
    int k = 0;
    while (k < t->effects.hooked.n && t->effects.hooked.at[k].id != id) k++;
    if (k == t->effects.hooked.n || !t->rec.graph) return false;
    dync__graph *g = t->rec.graph;
    dync__node *n = t->effects.hooked.at[k].node, *of = n->args[0].as.node;
    int at = dync__hooked_place(g, n);
    dync__hooked_uses(g, n, of, NULL);
    for (int i = 0; i < t->rec.made.n; i++)
        if (t->rec.made.at[i]->node == n) t->rec.made.at[i]->node = of;
    memmove(&g->node.at[at], &g->node.at[at + 1],
            (size_t)(g->node.n - at - 1) * sizeof *g->node.at);
    g->node.n--;
    dync__graph_renumber(g);
    t->rec.pending--;
    dync__unref(t->effects.hooked.at[k].of);
    t->effects.hooked.at[k] = t->effects.hooked.at[--t->effects.hooked.n];
    return true;
}

/* A write gives the value another history, which the node would stand beside. */
DYNC__FN dync_status dync__hooked_written(const dync__tracer *t, const dync__opcall *c)
{
    if (c->row->cls != DYNC__INPLACE || c->args[0].kind != DYNC__A_TENSOR) return DYNC_OK;
    for (int i = 0; i < t->effects.hooked.n; i++)
        if (dync__tracer_same_memory(t, t->effects.hooked.at[i].of, c->args[0].as.t))
            return dync__fail(
                DYNC_ERR_UNSUPPORTED,
                "it writes a value that has a hook, in a function compiled with "
                "fullgraph: write a copy (dync_clone), or register the hook after it");
    return DYNC_OK;
}
