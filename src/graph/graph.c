/* graph/graph.c: FX-like graphs: nodes and uses. After name.c and nn/ (the tracers of
 * capture/ and aot/ fill graphs), before the passes and printers.
 *
 * A graph owns its arena (nodes, arguments, texts), its map of names and a reference on every
 * attribute tensor. Nodes stand in execution order: placeholders first, the output last. Nothing in
 * the arena is freed before the graph is. Out of memory is sticky: graph->failed, and every later
 * call gives NULL or false. */
#include "../dync.in.h"
#include "graph.h"
DYNC__LEAN

DYNC__DATA dync_status (*dync__graph_custom_call)(dync__node *, int nargs, dync__arg *args,
                                                  dync__tensor **out) = NULL;

/* One reference, which is the caller's; NULL + error. */
DYNC__FN dync__graph *dync__graph_new(const char *name)
{
    dync__graph *g = dync__calloc(sizeof *g);
    if (!g) return NULL;
    g->refs = 1;
    dync__object_made(&g->object);
    g->name = dync__arena_strdup(&g->arena, name ? name : "GraphModule");
    if (!g->name) {
        dync__graph_unref(g);
        return NULL;
    }
    return g;
}

DYNC__FN dync__graph *dync__graph_ref(dync__graph *g)
{
    if (g) (void)DYNC__ATOMIC_INC(&g->refs);
    return g;
}

/* At the last reference handles of the graph and of its nodes become stale. */
DYNC__FN void dync__graph_unref(dync__graph *g)
{
    if (!g || DYNC__ATOMIC_DEC(&g->refs) > 0) return;
    dync__object_end(&g->object);
    for (int i = 0; i < g->seen.n; i++) dync__object_end(&g->seen.at[i]->object);
    for (int i = 0; i < g->attr.n; i++) dync__unref(g->attr.at[i]);
    for (int i = 0; i < g->sub.n; i++) dync__graph_unref(g->sub.at[i]);
    dync__map_free(&g->names);
    dync__symtab_free(g->syms);
    dync__arena_free(&g->arena);
    dync__free(g, sizeof *g);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* A deep copy into the arena; node and tensor references are copied as they are. false: no
 * memory, *out is half filled. */
DYNC__FN bool dync__arg_copy(dync__arena *arena, const dync__arg *in, dync__arg *out)
{
    *out = *in;
    switch (in->kind) {
    case DYNC__A_DIMS:
        out->as.dims = dync__arena_copy(arena, in->as.dims, (size_t)in->n * sizeof *in->as.dims);
        return out->as.dims != NULL;
    case DYNC__A_STR: out->as.s = dync__arena_strdup(arena, in->as.s); return out->as.s != NULL;
    case DYNC__A_LIST:
        out->as.list = dync__arena_alloc(arena, (size_t)in->n * sizeof *in->as.list);
        if (!out->as.list) return false;
        for (int i = 0; i < in->n; i++)
            if (!dync__arg_copy(arena, &in->as.list[i], &out->as.list[i])) return false;
        return true;
    default: return true;
    }
}

/* A node of no inputs at position `at`; the nodes behind it move up. */
static dync__node *dync__graph_insert(dync__graph *g, int at, dync__node_kind kind,
                                      const char *name_hint)
{
    if (!g || g->failed) return NULL;
    dync__node *node = dync__arena_alloc(&g->arena, sizeof *node);
    const char *name = node ? dync__graph_unique(g, name_hint) : NULL;
    if (!name || !dync__avec_push(&g->arena, &g->node, node)) {
        g->failed = true;
        return NULL;
    }
    node->kind = kind;
    node->op = -1;
    node->name = node->target = name;
    node->nout = 1;
    node->seq_nr = -1;
    node->graph = g;
    for (int i = 0; i < DYNC__MAX_OUT; i++) node->info[i].alias = -1;
    for (int i = g->node.n - 1; i > at; i--) {
        g->node.at[i] = g->node.at[i - 1];
        g->node.at[i]->index = i;
    }
    g->node.at[at] = node;
    node->index = at;
    return node;
}

static bool dync__node_set_text(dync__graph *g, const char **field, const char *text)
{
    if (!text) return true;
    *field = dync__arena_strdup(&g->arena, text);
    if (!*field) g->failed = true;
    return !g->failed;
}

/* Placeholders stay in front: one that comes late goes behind the last of them and moves the
 * nodes behind it. */
DYNC__FN dync__node *dync__graph_placeholder(dync__graph *g, const char *name, const char *source,
                                             const dync__info *info)
{
    dync__node *node = dync__graph_insert(g, g ? g->n_inputs : 0, DYNC__N_PLACEHOLDER, name);
    if (!node) return NULL;
    g->n_inputs++;
    if (info) {
        node->info[0] = *info;
        node->info[0].alias = -1;
        node->has_info = true;
    }
    return dync__node_set_text(g, &node->source, source) ? node : NULL;
}

/* The graph takes a reference on value; room for it is made first, so that binding it below
 * cannot fail. value NULL: to be bound later (a parsed graph). */
DYNC__FN dync__node *dync__graph_attr(dync__graph *g, const char *name, const char *path,
                                      dync__tensor *value)
{
    if (value && g && !g->failed && !dync__avec_reserve(&g->arena, &g->attr, g->attr.n + 1))
        g->failed = true;
    dync__node *node = dync__graph_insert(g, g ? g->node.n : 0, DYNC__N_GET_ATTR, name);
    if (!node || !dync__node_set_text(g, &node->target, path)) return NULL;
    if (value) dync__graph_attr_bind(node, value);
    return node;
}

DYNC__FN bool dync__graph_attr_bind(dync__node *node, dync__tensor *value)
{
    dync__graph *g = node->graph;
    if (!dync__avec_push(&g->arena, &g->attr, value)) {
        g->failed = true;
        return false;
    }
    dync__ref(value);
    node->value = value;
    dync__info_of(&node->info[0], value, -1);
    node->requires_grad[0] = (value->flags & DYNC__T_REQUIRES_GRAD) != 0;
    node->has_info = true;
    return true;
}

static const char dync__constant_prefix[] = "_tensor_constant";

/* FX's name for a tensor that the function made itself; the prefix is how printers and
 * dync__node_is_constant know it again. */
DYNC__FN dync__node *dync__graph_constant(dync__graph *g, dync__tensor *value)
{
    static const char own[] = "%s%d";
    char path[48];
    int n = 0;
    if (!g) return NULL;
    for (int i = 0; i < g->node.n; i++) n += dync__node_is_constant(g->node.at[i]);
    dync__format(path, sizeof path, own, dync__constant_prefix, n);
    return dync__graph_attr(g, path, path, value);
}

DYNC__FN bool dync__node_is_constant(const dync__node *node)
{
    return node->kind == DYNC__N_GET_ATTR &&
           strncmp(node->target, dync__constant_prefix, sizeof dync__constant_prefix - 1) == 0 &&
           !node->requires_grad[0];
}

DYNC__FN bool dync__graph_keep(dync__graph *g, dync__graph *sub)
{
    if (!dync__avec_push(&g->arena, &g->sub, sub)) return false;
    dync__graph_ref(sub);
    return true;
}

static bool dync__node_set_args(dync__node *node, int nargs, const dync__arg *args)
{
    dync__graph *g = node->graph;
    node->nargs = nargs;
    node->args = dync__arena_alloc(&g->arena, (size_t)nargs * sizeof *args);
    g->failed = g->failed || !node->args;
    for (int i = 0; i < nargs && !g->failed; i++)
        g->failed = !dync__arg_copy(&g->arena, &args[i], &node->args[i]) ||
                    (args[i].kind == DYNC__A_GRAPH && !dync__graph_keep(g, args[i].as.graph));
    return !g->failed;
}

/* "library::name" of a registered operator; of a function of the user's, whatever expression named
 * it, a name. */
static const char *dync__op_target(dync__arena *arena, const char *name)
{
    const char *colons = name ? dync__find(name, "::") : NULL;
    bool fits = colons && dync__is_name(name, (size_t)(colons - name)) &&
                dync__is_name(colons + 2, strlen(colons + 2));
    return fits ? dync__arena_strdup(arena, name) : dync__name_clean(arena, name);
}

/* op -1: a function that is no operator, named by name_hint. Arguments are copied. info: nout
 * entries or NULL, in which case the node has no types. NULL: the graph has failed. */
DYNC__FN dync__node *dync__graph_call(dync__graph *g, int op, int nargs, const dync__arg *args,
                                      int nout, const dync__info *info, const char *name_hint)
{
    const dync__op_row *row = op >= 0 ? dync__op_info(op) : NULL;
    bool is_method = row && row->fx && row->fx[0] == '.';
    const char *op_name = row ? row->name : name_hint;
    const char *colons = !name_hint && row ? dync__find(row->name, "::")
                                           : NULL; /* mylib::foo: foo */
    dync__node *node = dync__graph_insert(g, g ? g->node.n : 0,
                                          is_method ? DYNC__N_CALL_METHOD : DYNC__N_CALL_FUNCTION,
                                          name_hint ? name_hint
                                          : colons  ? colons + 2
                                                    : op_name);
    if (!node || !dync__node_set_args(node, nargs, args)) return NULL;
    node->op = op;
    node->nout = nout;
    node->target = row ? row->name : dync__op_target(&g->arena, op_name);
    node->at = dync__tls.at;
    if (info && nout <= DYNC__MAX_OUT) {
        for (int i = 0; i < nout; i++) node->info[i] = info[i];
        node->has_info = nout > 0;
    }
    if (!node->target) g->failed = true;
    return g->failed ? NULL : node;
}

/* Item i of a node with several outputs or of a list input; its type is copied where it is
 * known. */
DYNC__FN dync__node *dync__graph_getitem(dync__graph *g, dync__node *list, int i)
{
    dync__arg args[2] = {{0}, dync__arg_i(i)};
    if (!list) return NULL;
    args[0] = dync__arg_node(list);
    bool known = list->kind != DYNC__N_PLACEHOLDER && list->has_info && i >= 0 && i < list->nout;
    dync__node *node = dync__graph_call(g, DYNC__NODE_GETITEM, 2, args, 1,
                                        known ? &list->info[i] : NULL, "getitem");
    if (node && known) {
        node->info[0].alias = -1;
        node->requires_grad[0] = list->requires_grad[i];
    }
    if (node) node->at = list->at;
    return node;
}

DYNC__FN dync__node *dync__graph_output(dync__graph *g, const dync__arg *value)
{
    static const char own[] = "output";
    dync__node *node = dync__graph_insert(g, g ? g->node.n : 0, DYNC__N_OUTPUT, own);
    if (!node || !dync__node_set_args(node, 1, value)) return NULL;
    node->nout = 0;
    dync__graph_renumber(g);
    return node;
}

/* ---- uses ------------------------------------------------------------------------------------ */

/* Every node reference in the argument, lists included; fn may replace it. */
DYNC__FN void dync__arg_each_node(dync__arg *arg, void (*fn)(void *user, dync__arg *), void *user)
{
    if (arg->kind == DYNC__A_NODE) fn(user, arg);
    if (arg->kind == DYNC__A_LIST)
        for (int i = 0; i < arg->n; i++) dync__arg_each_node(&arg->as.list[i], fn, user);
}

DYNC__FN void dync__node_each_input(dync__node *node, void (*fn)(void *user, dync__arg *),
                                    void *user)
{
    for (int i = 0; i < node->nargs; i++) dync__arg_each_node(&node->args[i], fn, user);
}

static void dync__count_use(void *user, dync__arg *arg)
{
    (void)user;
    arg->as.node->n_users++;
}

/* Indices and use counts are only right after this: passes that move or drop nodes call it at
 * their end. */
DYNC__FN void dync__graph_renumber(dync__graph *g)
{
    for (int i = 0; i < g->node.n; i++) {
        g->node.at[i]->index = i;
        g->node.at[i]->n_users = 0;
    }
    for (int i = 0; i < g->node.n; i++) dync__node_each_input(g->node.at[i], dync__count_use, NULL);
}

/* Does the operator change anything besides its result? */
static bool dync__row_writes(const dync__op_row *row)
{
    return row->cls == DYNC__INPLACE || row->cls == DYNC__EFFECT ||
           (row->flags & DYNC__OP_WRITES) != 0;
}

/* May the node be dropped, moved or merged with an equal one? A function unknown to the table
 * may do anything, so it is not. */
DYNC__FN bool dync__node_is_pure(const dync__node *node)
{
    if (node->kind == DYNC__N_GET_ATTR || node->op == DYNC__NODE_GETITEM) return true;
    if (node->kind == DYNC__N_PLACEHOLDER || node->kind == DYNC__N_OUTPUT || node->op < 0)
        return false;
    const dync__op_row *row = dync__op_info(node->op);
    /* whoever reads the size that it tells, uses it */
    bool tells = row->flags & DYNC__OP_DATA_SHAPE &&
                 (!node->has_info || dync__layout_has_tokens(&node->info[0].lay));
    return !dync__row_writes(row) && !(row->flags & DYNC__OP_RANDOM) && !tells;
}

DYNC__FN bool dync__graph_has_writes(const dync__graph *g)
{
    for (int i = 0; i < g->node.n; i++) {
        const dync__node *node = g->node.at[i];
        if (dync__node_is_call(node) && node->op != DYNC__NODE_GETITEM &&
            (node->op < 0 || dync__row_writes(dync__op_info(node->op))))
            return true;
    }
    return false;
}

/* What may lie on an input, by the index of its node. */
typedef struct dync__on_input {
    bool *of;
    bool reaches;
} dync__on_input;

static void dync__on_input_see(void *user, dync__arg *a)
{
    dync__on_input *lies = user;
    lies->reaches = lies->reaches || lies->of[a->as.node->index];
}

/* Does the operator give memory of its own? What may hand an argument on does not count. */
static bool dync__op_makes_fresh(int op)
{
    const dync__op_row *row = op >= 0 ? dync__op_info(op) : NULL;
    return row && !(row->flags & DYNC__OP_MAY_ALIAS) &&
           (row->cls == DYNC__POINTWISE || row->cls == DYNC__REDUCE || row->cls == DYNC__FACTORY);
}

static bool dync__node_writes_input(dync__node *node, dync__on_input *lies)
{
    const dync__op_row *row = node->op >= 0 ? dync__op_info(node->op) : NULL;
    lies->reaches = false;
    dync__node_each_input(node, dync__on_input_see, lies);
    bool first = node->nargs > 0 && node->args[0].kind == DYNC__A_NODE &&
                 lies->of[node->args[0].as.node->index];
    /* lies on its second argument from now on */
    if (row && row->flags & DYNC__OP_RETARGETS) first = lies->reaches;
    bool inplace = row && row->cls == DYNC__INPLACE;
    bool goes_on = inplace ? first : lies->reaches && !dync__op_makes_fresh(node->op);
    lies->of[node->index] = node->kind == DYNC__N_PLACEHOLDER || goes_on;
    if (inplace) return first;
    if (row) return lies->reaches && (row->flags & DYNC__OP_WRITES);
    return lies->reaches && dync__node_is_call(node) && node->op != DYNC__NODE_GETITEM;
}

/* The graph is only read: threads that compile it share it. Out of memory: as one that does. */
DYNC__FN bool dync__graph_writes_inputs(dync__graph *g)
{
    size_t bytes = (size_t)g->node.n + 1;
    dync__on_input lies = {dync__calloc(bytes), false};
    bool writes = !lies.of;
    for (int i = 0; i < g->node.n && !writes; i++)
        writes = dync__node_writes_input(g->node.at[i], &lies);
    dync__free(lies.of, bytes);
    return writes;
}

/* Calls, without the getitem nodes that only take lists apart. */
DYNC__FN int dync__graph_op_count(const dync__graph *g)
{
    int n = 0;
    for (int i = 0; g && i < g->node.n; i++) {
        const dync__node *node = g->node.at[i];
        n += dync__node_is_call(node) && node->op != DYNC__NODE_GETITEM;
    }
    return n;
}
