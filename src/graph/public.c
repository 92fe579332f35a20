/* graph/public.c: what users see of graphs and nodes: handles, and dync_graph_len, dync_node_op and
 * the like. After graph.c. */
#include "../dync.in.h"
#include "graph.h"
DYNC__COLD

/* ---- what users see -------------------------------------------------------------------------- */

DYNC_API dync_graph *dync_graph_retain(dync_graph *handle)
{
    dync__graph *g = handle ? dync__graph_open(handle, "dync_graph_retain") : NULL;
    if (!g) return NULL;
    (void)DYNC__ATOMIC_INC(&g->retains);
    return dync__graph_handle(dync__graph_ref(g));
}

/* A reference of the user's: those of scopes and of compiled functions are not his to give up. */
DYNC_API void dync_graph_free(dync_graph *handle)
{
    dync__graph *g = handle ? dync__graph_open(handle, "dync_graph_free") : NULL;
    if (!g) return;
    int32_t n = DYNC__ATOMIC_PEEK(&g->retains);
    while (n > 0 && !DYNC__ATOMIC_CAS(&g->retains, &n, n - 1)) {}
    if (n > 0)
        dync__graph_unref(g);
    else
        dync__fail(DYNC_ERR_VALUE, "dync_graph_free: the graph is borrowed or was freed already");
}

DYNC__FN dync_graph *dync__graph_give(dync__graph *owned)
{
    dync_graph *handle = dync__graph_handle(owned);
    if (handle)
        (void)DYNC__ATOMIC_INC(&owned->retains);
    else
        dync__graph_unref(owned);
    return handle;
}

/* The graph is fixed from now on. */
DYNC__FN dync_status dync__graph_ask(const dync_backend *b, dync__graph *g,
                                     const dync_value *examples, int n, const char *options,
                                     dync_callable *out)
{
    dync_graph *handle = dync__graph_handle(g);
    if (!handle) return DYNC_ERR_MEMORY;
    DYNC__ATOMIC_STORE(&g->fixed, 1);
    return b->compile(handle, examples, n, options, out, b->user);
}

/* Its graph ends it, and so keeps those that somebody asked for. */
DYNC__FN dync_node *dync__node_show(const dync__node *n)
{
    static dync__mutex lock;
    dync__node *node = (dync__node *)(uintptr_t)n;
    dync__lock(&lock);
    bool known = node->object.handle ||
                 dync__avec_push(&node->graph->arena, &node->graph->seen, node);
    dync_node *handle = known ? dync__node_handle(node) : NULL;
    dync__unlock(&lock);
    return handle;
}

DYNC_API int dync_graph_len(const dync_graph *handle)
{
    const dync__graph *g = dync__graph_open(handle, "dync_graph_len");
    return g ? g->node.n : 0;
}

DYNC_API dync_node *dync_graph_node(const dync_graph *handle, int i)
{
    const dync__graph *g = dync__graph_open(handle, "dync_graph_node");
    if (!g) return NULL;
    if (i >= 0 && i < g->node.n) return dync__node_show(g->node.at[i]);
    dync__fail(DYNC_ERR_INDEX, "dync_graph_node: expected 0 <= index < %d, got %d", g->node.n, i);
    return NULL;
}

DYNC_API const char *dync_node_op(const dync_node *handle)
{
    const dync__node *node = dync__node_open(handle, "dync_node_op");
    static const char names[][16] = {"placeholder", "get_attr",    "call_function",
                                     "call_method", "call_module", "output"};
    return node ? names[node->kind] : "";
}

DYNC_API const char *dync_node_target(const dync_node *handle)
{
    const dync__node *node = dync__node_open(handle, "dync_node_target");
    return node ? node->target : "";
}
DYNC_API const char *dync_node_name(const dync_node *handle)
{
    const dync__node *node = dync__node_open(handle, "dync_node_name");
    return node ? node->name : "";
}

/* Counts on past the capacity. */
typedef struct dync__collect {
    dync_node **out;
    int n, capacity;
} dync__collect;
static void dync__collect_input(void *user, dync__arg *arg)
{
    dync__collect *c = user;
    if (c->n < c->capacity) c->out[c->n] = dync__node_show(arg->as.node);
    c->n++;
}

DYNC_API int dync_node_inputs(const dync_node *handle, dync_node **out, int capacity)
{
    dync__collect c = {out, 0, out ? capacity : 0};
    const dync__node *node = dync__node_open(handle, "dync_node_inputs");
    if (!node) return 0;
    for (int i = 0; i < node->nargs; i++)
        dync__arg_each_node(&node->args[i], dync__collect_input, &c);
    return c.n;
}
