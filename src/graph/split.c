/* graph/split.c: a graph in pieces: runs of nodes that a predicate picks, or does not. As
 * torch.fx's split_module for one flag.
 *
 * Each part is a graph of its own: its inputs are the values that it reads from before, under their
 * old names, its outputs (a tuple) the values that are read after it, in order of definition, and
 * what tells sizes that data decide. The last part returns what the whole graph returned.
 * Attributes go to the parts that use them. Running the parts in sequence, values passed by name,
 * is running the graph. */
#include "../dync.in.h"
#include "graph.h"
DYNC__COLD

typedef struct dync__split {
    dync__graph *whole;
    dync__rewrite to; /* the part being made */
    int index;
    int *part_of;   /* per node of whole; -1 inputs */
    int *last_part; /* per node: the last part that reads it; -1 nobody */
} dync__split;

/* s->index is the part of the node that reads. */
static void dync__split_use(void *user, dync__arg *arg)
{
    dync__split *s = user;
    if (s->last_part[arg->as.node->index] < s->index) s->last_part[arg->as.node->index] = s->index;
}

/* A value that an earlier part makes, or an input: an input of this part. Attributes are its own.
 */
static dync__node *dync__split_value(dync__rewrite *r, dync__node *old)
{
    return old->kind == DYNC__N_GET_ATTR ? dync__rewrite_copy(r, old)
                                         : dync__rewrite_input(r, old, old->name);
}

/* The outputs of a part that is not the last: what later parts read, as a list. */
static dync_status dync__split_output(dync__split *s)
{
    dync__arg result = {.kind = DYNC__A_LIST};
    result.as.list =
        dync__arena_alloc(&s->to.to->arena, (size_t)s->whole->node.n * sizeof(dync__arg));
    if (!result.as.list) return DYNC_ERR_MEMORY;
    for (int i = 0; i < s->whole->node.n; i++)
        if (s->part_of[i] == s->index && s->to.copy[i] && s->last_part[i] > s->index)
            result.as.list[result.n++] = dync__arg_node(s->to.copy[i]);
    return dync__graph_output(s->to.to, &result) ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* A part that has such a node tells itself. */
static bool dync__split_tells(const dync__node *n)
{
    return n->has_info && n->nout && dync__node_has(n, DYNC__OP_DATA_SHAPE);
}

/* A part may compute from sizes that none of its inputs has: inputs of the whole that have them
 * come in, too. */
static dync_status dync__split_sizes(dync__split *s)
{
    for (int i = 0; i < s->whole->n_inputs && !dync__graph_tells_sizes(s->to.to); i++) {
        dync__node *in = s->whole->node.at[i];
        bool sized = in->has_info && dync__layout_has_tokens(&in->info[0].lay);
        if (sized && !dync__rewrite_at(&s->to, in)) return DYNC_ERR_MEMORY;
    }
    for (int i = 0; i < s->whole->node.n && !dync__graph_tells_sizes(s->to.to); i++)
        if (dync__split_tells(s->whole->node.at[i]) && s->part_of[i] < s->index &&
            !dync__rewrite_at(&s->to, s->whole->node.at[i]))
            return DYNC_ERR_MEMORY;
    return DYNC_OK;
}

/* The nodes of this part, then what sizes need, then its output. */
static dync_status dync__split_nodes(dync__split *s)
{
    dync__graph *whole = s->whole;
    for (int i = 0; i < whole->node.n; i++) {
        dync__node *old = whole->node.at[i];
        dync__arg result;
        if (s->part_of[i] != s->index) continue;
        if (old->kind != DYNC__N_OUTPUT) {
            DYNC__TRY(dync__rewrite_put(&s->to, old, dync__rewrite_copy));
            continue;
        }
        if (!dync__rewrite_arg(&s->to, &old->args[0], &result)) return DYNC_ERR_MEMORY;
        DYNC__TRY(dync__split_sizes(s));
        return dync__graph_output(s->to.to, &result) ? DYNC_OK : DYNC_ERR_MEMORY;
    }
    DYNC__TRY(dync__split_sizes(s));
    return dync__split_output(s);
}

/* *out: one reference; NULL on failure. */
static dync_status dync__split_part(dync__split *s, dync__graph **out)
{
    char name[32];
    dync__format(name, sizeof name, "submod_%d", s->index);
    dync_status status = dync__rewrite_begin(&s->to, s->whole, name);
    s->to.missing = dync__split_value;
    if (status == DYNC_OK && !dync__graph_takes_symbols(s->to.to, s->whole))
        status = DYNC_ERR_MEMORY;
    if (status == DYNC_OK) status = dync__split_nodes(s);
    return dync__rewrite_end(&s->to, status, out);
}

/* Numbers the parts; returns how many. Inputs and attributes belong to none (-1), the output to the
 * last. */
static int dync__split_number(dync__split *s, bool (*pick)(const dync__node *, void *), void *user)
{
    int part = -1;
    bool flag = false;
    for (int i = 0; i < s->whole->node.n; i++) {
        dync__node *node = s->whole->node.at[i];
        s->part_of[i] = s->last_part[i] = -1;
        if (node->kind == DYNC__N_PLACEHOLDER || node->kind == DYNC__N_GET_ATTR) continue;
        if (node->kind != DYNC__N_OUTPUT) {
            bool picked = pick(node, user);
            if (part < 0 || picked != flag) part++;
            flag = picked;
        }
        s->part_of[i] = s->index = DYNC__MAX(part, 0);
        dync__node_each_input(node, dync__split_use, s);
    }
    for (int i = 0; i < s->whole->node.n; i++)
        if (dync__split_tells(s->whole->node.at[i])) s->last_part[i] = INT_MAX;
    return DYNC__MAX(part, 0) + 1;
}

/* pick is asked once per node, in order. On failure parts is as it was, or NULL. */
DYNC__FN dync_status dync__graph_parts(dync__graph *g, bool (*pick)(const dync__node *, void *user),
                                       void *user, dync__graph **parts, int *nparts)
{
    dync__graph_renumber(g);
    size_t n = (size_t)g->node.n;
    dync__arena arena = {0};
    dync__split s = {.whole = g};
    s.part_of = dync__arena_alloc(&arena, n * sizeof *s.part_of);
    s.last_part = dync__arena_alloc(&arena, n * sizeof *s.last_part);
    dync_status status = s.part_of && s.last_part ? DYNC_OK : DYNC_ERR_MEMORY;
    int count = status == DYNC_OK ? dync__split_number(&s, pick, user) : 0, made = 0;
    if (count > *nparts)
        status = dync__fail(DYNC_ERR_VALUE, "dync_graph_split: there are %d parts, and room for %d",
                            count, *nparts);
    while (made < count && status == DYNC_OK) {
        s.index = made;
        status = dync__split_part(&s, &parts[made]);
        made += status == DYNC_OK;
    }
    for (int i = 0; i < made && status != DYNC_OK; i++) {
        dync__graph_unref(parts[i]);
        parts[i] = NULL;
    }
    if (status == DYNC_OK) *nparts = count;
    dync__arena_free(&arena);
    return status;
}

/* The user's predicate takes handles. */
typedef struct dync__split_user {
    bool (*pick)(const dync_node *, void *user);
    void *user;
} dync__split_user;
static bool dync__split_asks(const dync__node *n, void *user)
{
    const dync__split_user *u = user;
    return u->pick(dync__node_show(n), u->user);
}

DYNC_API dync_status dync_graph_split(dync_graph *graph,
                                      bool (*pick)(const dync_node *, void *user), void *user,
                                      dync_graph **parts, int *nparts)
{
    dync__graph *g = dync__graph_open(graph, "dync_graph_split");
    if (!g) return DYNC_ERR_VALUE;
    if (!pick || !parts || !nparts)
        return dync__fail(
            DYNC_ERR_VALUE,
            "dync_graph_split: expected a graph, a predicate and room for the parts, got NULL");
    dync__split_user asks = {pick, user};
    size_t bytes = (size_t)(DYNC__MAX(*nparts, 0) + 1) * sizeof(dync__graph *);
    dync__graph **part = dync__calloc(bytes);
    if (!part) return DYNC_ERR_MEMORY;
    dync_status status = dync__graph_parts(g, dync__split_asks, &asks, part, nparts);
    for (int i = 0; i < *nparts && status == DYNC_OK; i++) {
        parts[i] = dync__graph_give(part[i]);
        if (parts[i]) continue;
        status = DYNC_ERR_MEMORY;
        for (int k = 0; k < *nparts; k++) {
            if (k < i)
                dync_graph_free(parts[k]);
            else if (k > i)
                dync__graph_unref(part[k]);
            parts[k] = NULL;
        }
    }
    dync__free(part, bytes);
    return status;
}
