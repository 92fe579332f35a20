/* backend/partition.c: a functional graph in parts, each compiled by who can: another library, or
 * inductor for what that one cannot say. After aot.c.
 *
 * The cut is graph/split.c's: runs of nodes in order. Values pass from part to part by name.
 *
 *   x --> [ conv relu ] --> [ sort ] --> [ add mul ] --> y       numbers of values:
 *           his 0             ours 1       his 2                 x 0, relu 1, sort 2, mul 3
 *   last: x 0, relu 1, sort 2: released behind that part; mul is a result */
#include "../dync.in.h"
#include "tvm.h"
DYNC__COLD

/* in and out list which values the part takes and gives, in the order of its graph. */
typedef struct dync__partition_part {
    dync__inner run;
    int n_in, n_out, *in, *out; /* numbers of values */
} dync__partition_part;
typedef struct dync__partition {
    dync__arena arena;
    int n_in, n_parts, n_values;
    dync__partition_part *part;
    int *last; /* per value: the last part that reads it, or n_parts where it is a result */
    DYNC__VEC(const char *) name;
    DYNC__VEC(dync__graph *) graph; /* of the parts: references */
} dync__partition;

/* ---- running --------------------------------------------------------------------------------- */

/* value[i] is an owned reference or NULL; those that part k reads last are let go behind it, also
 * where it failed. */
static dync_status dync__partition_step(const dync__partition *p, int k, dync__tensor **value)
{
    const dync__partition_part *part = &p->part[k];
    size_t bytes = (size_t)(part->n_in + part->n_out + 1) * sizeof(dync__tensor *);
    dync__tensor **io = dync__calloc(bytes), **out = io + part->n_in;
    if (!io) return DYNC_ERR_MEMORY;
    for (int i = 0; i < part->n_in; i++) io[i] = value[part->in[i]];
    dync_status status = part->run.run(part->run.state, part->n_in, io, part->n_out, out);
    for (int i = 0; i < part->n_out && status == DYNC_OK; i++) value[part->out[i]] = out[i];
    dync__free(io, bytes);
    for (int i = 0; i < p->n_values; i++)
        if (p->last[i] == k) {
            dync__unref(value[i]);
            value[i] = NULL;
        }
    return status;
}

/* The last part gives the results, in the order of the graph's output. */
static dync_status dync__partition_run(void *state, int n_in, dync__tensor *const *in, int n_out,
                                       dync__tensor **out)
{
    const dync__partition *p = state;
    size_t bytes = (size_t)(p->n_values + 1) * sizeof(dync__tensor *);
    dync__tensor **value = dync__calloc(bytes);
    if (!value) return DYNC_ERR_MEMORY;
    for (int i = 0; i < n_in; i++) dync__ref(value[i] = in[i]);
    dync_status status = DYNC_OK;
    for (int k = 0; k < p->n_parts && status == DYNC_OK; k++)
        status = dync__partition_step(p, k, value);
    const dync__partition_part *end = &p->part[p->n_parts - 1];
    for (int i = 0; i < n_out; i++) {
        out[i] = status == DYNC_OK ? value[end->out[i]] : NULL;
        if (status == DYNC_OK) value[end->out[i]] = NULL;
    }
    for (int i = 0; i < p->n_values; i++) dync__unref(value[i]);
    dync__free(value, bytes);
    return status;
}

static void dync__partition_destroy(void *state)
{
    dync__partition *p = state;
    for (int k = 0; k < p->n_parts; k++)
        if (p->part[k].run.destroy) p->part[k].run.destroy(p->part[k].run.state);
    for (int k = 0; k < p->graph.n; k++) dync__graph_unref(p->graph.at[k]);
    dync__arena_free(&p->arena);
    dync__free(p, sizeof *p);
}

/* ---- cutting --------------------------------------------------------------------------------- */

/* While the graph is cut: what the maker cannot say, for the log; at most 20 names. */
typedef struct dync__partition_pick {
    const dync__partition_maker *maker;
    int n_left;
    dync__str left; /* "sort (no row), topk (int64)" */
} dync__partition_pick;

/* Items of a call of several outputs go with it. */
static bool dync__partition_can(const dync__partition_maker *m, const dync__node *n,
                                const char **why)
{
    if (n->op == DYNC__NODE_GETITEM) n = n->args[0].as.node;
    return m->can(m->user, n, why);
}
/* The callback of dync_graph_split: does this node go to the maker? */
static bool dync__partition_choose(const dync_node *handle, void *user)
{
    dync__partition_pick *pick = user;
    const dync__node *n = dync__node_peek(handle);
    const char *why = "";
    if (n && dync__partition_can(pick->maker, n, &why)) return true;
    if (!n || n->op == DYNC__NODE_GETITEM) return false;
    if (pick->n_left++ < 20)
        dync__str_addf(&pick->left, "%s%s (%s)", pick->left.n ? ", " : "", n->target, why);
    return false;
}

/* Values of several outputs must not cross: their items stand right behind the call. */
static bool dync__partition_items_follow(const dync__graph *g)
{
    for (int i = 0; i < g->node.n; i++) {
        const dync__node *n = g->node.at[i];
        if (n->op != DYNC__NODE_GETITEM) continue;
        for (int k = n->args[0].as.node->index + 1; k < i; k++)
            if (g->node.at[k]->op != DYNC__NODE_GETITEM ||
                g->node.at[k]->args[0].as.node != n->args[0].as.node)
                return false;
    }
    return true;
}

/* The number of a value by its name; new ones come behind. */
static int dync__partition_number(dync__partition *p, const char *name, bool fresh)
{
    for (int i = 0; i < p->name.n && !fresh; i++)
        if (strcmp(p->name.at[i], name) == 0) return i;
    const char *kept = dync__arena_strdup(&p->arena, name);
    return kept && dync__avec_push(&p->arena, &p->name, kept) ? p->name.n - 1 : -1;
}

/* Numbers the values of part k; end: its outputs are the results, which nobody refers to by
 * name. */
static dync_status dync__partition_names(dync__partition *p, int k, const dync__graph *g, bool end)
{
    dync__partition_part *part = &p->part[k];
    const dync__arg *result = &g->node.at[g->node.n - 1]->args[0];
    part->n_in = g->n_inputs;
    part->n_out = result->n;
    part->in = dync__arena_alloc(&p->arena, (size_t)(part->n_in + 1) * sizeof(int));
    part->out = dync__arena_alloc(&p->arena, (size_t)(part->n_out + 1) * sizeof(int));
    if (!part->in || !part->out) return DYNC_ERR_MEMORY;
    for (int i = 0; i < part->n_in; i++)
        if ((part->in[i] = dync__partition_number(p, g->node.at[i]->name, false)) < 0)
            return DYNC_ERR_MEMORY;
    for (int i = 0; i < part->n_out; i++)
        if ((part->out[i] =
                 dync__partition_number(p, end ? "" : result->as.list[i].as.node->name, true)) < 0)
            return DYNC_ERR_MEMORY;
    return DYNC_OK;
}

/* n_parts, which no part is, stands for results. */
static dync_status dync__partition_last(dync__partition *p)
{
    p->n_values = p->name.n;
    p->last = dync__arena_alloc(&p->arena, (size_t)(p->n_values + 1) * sizeof *p->last);
    if (!p->last) return DYNC_ERR_MEMORY;
    for (int i = 0; i < p->n_values; i++) p->last[i] = p->n_parts;
    for (int k = 0; k < p->n_parts; k++)
        for (int i = 0; i < p->part[k].n_in; i++) p->last[p->part[k].in[i]] = k;
    return DYNC_OK;
}

/* A part is all his or all ours: its first operator tells. */
static bool dync__partition_is_his(const dync__partition_maker *m, const dync__graph *g)
{
    const char *why;
    for (int i = 0; i < g->node.n; i++) {
        const dync__node *n = g->node.at[i];
        if (n->kind != DYNC__N_PLACEHOLDER && n->kind != DYNC__N_GET_ATTR &&
            n->kind != DYNC__N_OUTPUT)
            return dync__partition_can(m, n, &why);
    }
    return false; /* nothing to compute */
}

/* p->n_parts counts those that are compiled, so that a failure destroys just them. */
static dync_status dync__partition_parts(dync__partition *p, const dync__partition_maker *m,
                                         bool is_backward, const dync__options *o)
{
    dync__options ours = *o;
    ours.opt_level = -1; /* it is the maker's */
    for (int k = 0; k < p->graph.n; k++) {
        dync__graph *g = p->graph.at[k];
        DYNC__TRY(dync__partition_names(p, k, g, k == p->graph.n - 1));
        DYNC__TRY(dync__partition_is_his(m, g)
                      ? m->compile(m->user, g, o, &p->part[k].run)
                      : dync__inductor_compile(NULL, g, is_backward, &ours, &p->part[k].run));
        p->n_parts++;
    }
    return dync__partition_last(p);
}

/* p->graph: one reference to each part; the handles of the split are freed. */
static dync_status dync__partition_cut(dync__partition *p, dync__partition_pick *pick,
                                       dync__graph *g)
{
    int n = g->node.n + 1;
    dync_graph **handle = dync__arena_alloc(&p->arena, (size_t)n * sizeof *handle);
    p->part = dync__arena_alloc(&p->arena, (size_t)n * sizeof *p->part);
    if (!handle || !p->part) return DYNC_ERR_MEMORY;
    for (int i = 0; i < g->n_inputs; i++)
        if (dync__partition_number(p, g->node.at[i]->name, true) < 0) return DYNC_ERR_MEMORY;
    DYNC__TRY(dync_graph_split(dync__graph_handle(g), dync__partition_choose, pick, handle, &n));
    dync_status status = DYNC_OK;
    for (int i = 0; i < n; i++) {
        dync__graph *part = dync__graph_open(handle[i], "partition");
        if (part && status == DYNC_OK && dync__avec_push(&p->arena, &p->graph, part))
            dync__graph_ref(part);
        else
            status = DYNC_ERR_MEMORY;
        dync_graph_free(handle[i]);
    }
    return status;
}

/* Dead nodes are removed before, as the maker may not know them. out is an inner callable
 * (aot/aot.h) that owns the parts. */
DYNC__FN dync_status dync__partition_compile(const dync__partition_maker *m, dync__graph *g,
                                             bool is_backward, const dync__options *o,
                                             dync__inner *out)
{
    dync__partition_pick pick = {.maker = m};
    DYNC__TRY(dync__graph_pass(DYNC__PASS_dce, g));
    dync__graph_renumber(g);
    if (!dync__partition_items_follow(g)) {
        dync__log(DYNC__LOG_aot, "%s: outputs apart from their operator: dync runs the graph",
                  m->name);
        dync__options ours = *o;
        ours.opt_level = -1;
        return dync__inductor_compile(NULL, g, is_backward, &ours, out);
    }
    dync__partition *p = dync__calloc(sizeof *p);
    if (!p) return DYNC_ERR_MEMORY;
    dync_status status = dync__partition_cut(p, &pick, g);
    if (status == DYNC_OK) status = dync__partition_parts(p, m, is_backward, o);
    if (status == DYNC_OK && pick.n_left) {
        dync__log(DYNC__LOG_aot, "%s: %d parts; dync runs %s", m->name, p->n_parts,
                  dync__str_get(&pick.left));
        dync__backend_note("%s: %d parts; dync runs %s", m->name, p->n_parts,
                           dync__str_get(&pick.left));
    }
    dync__str_free(&pick.left);
    if (status != DYNC_OK) {
        dync__partition_destroy(p);
        return status;
    }
    memset(out, 0, sizeof *out);
    out->run = dync__partition_run;
    out->destroy = dync__partition_destroy;
    out->state = p;
    return DYNC_OK;
}
