/* minify/shrink_ways.c: the strategies of shrinking, each a smaller graph that still fails or none:
 * those of torch/_functorch/fx_minifier.py; and the question that all of them ask. After graph.c,
 * which edits, before shrink.c, which goes round by round. */
#include "../dync.in.h"
#include "shrink.h"
DYNC__COLD

/* ---- queries --------------------------------------------------------------------------------- */

/* The recorded values of g's inputs: an array of n_inputs + 1 for the caller to free, the
 * tensors borrowed. NULL: no memory. */
DYNC__FN dync_value *dync__shrink_inputs(const dync__shrinker *s, const dync__graph *g)
{
    dync_value *in = dync__alloc((size_t)(g->n_inputs + 1) * sizeof *in);
    for (int i = 0; in && i < g->n_inputs; i++) in[i] = dync__shrink_value(s, g->node.at[i]);
    return in;
}

/* Asks the predicate. A graph that is not well formed counts as not failing. Errors and tensors
 * of the trial are dropped. */
DYNC__FN bool dync__shrink_fails(dync__shrinker *s, dync__graph *g)
{
    dync_value *in = g ? dync__shrink_inputs(s, g) : NULL;
    if (!in) return false;
    s->queries++;
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    dync_scope scope = dync_scope_begin();
    bool fails = dync__graph_check(g) == DYNC_OK && s->how->fails(s->how->user, g, g->n_inputs, in);
    dync_scope_end(&scope);
    (void)dync__error_guard_end(&guard);
    dync__free(in, (size_t)(g->n_inputs + 1) * sizeof *in);
    return fails;
}

/* Keeps g if it fails; else it is freed. */
static dync__graph *dync__shrink_try(dync__shrinker *s, dync__graph *g)
{
    if (dync__shrink_fails(s, g)) return g;
    dync__graph_unref(g);
    return NULL;
}

/* ---- strategies ------------------------------------------------------------------------------ */

/* Ends the graph at node i, which becomes the result; candidates are the odd multiples of the
 * granularity. */
DYNC__FN dync__graph *dync__shrink_suffix(dync__shrinker *s, int granularity)
{
    dync__graph *g = s->graph;
    for (int i = g->n_inputs; i < g->node.n; i++) {
        const dync__node *n = g->node.at[i];
        /* the others were tried with a larger granularity */
        if (i % granularity != 0 || i % (granularity * 2) == 0) continue;
        if (n->kind == DYNC__N_OUTPUT || !n->has_info || n->nout != 1 || i + 2 >= g->node.n)
            continue;
        dync__edit edit = {.cut_at = n};
        dync__graph *smaller = dync__shrink_try(s, dync__graph_edit(g, &edit));
        if (smaller) return smaller;
    }
    return NULL;
}

/* Drops a run of granularity / 2 outputs (at least one), where there is more than one. */
DYNC__FN dync__graph *dync__shrink_outputs(dync__shrinker *s, int granularity)
{
    int n = dync__graph_outputs(s->graph), step = DYNC__MAX(1, granularity / 2);
    for (int i = 0; n > 1 && i < n; i += step) {
        dync__edit edit = {.skip_output = i, .n_skip = DYNC__MIN(step, n - i)};
        dync__graph *smaller = dync__shrink_try(s, dync__graph_edit(s->graph, &edit));
        if (smaller) return smaller;
    }
    return NULL;
}

/* Only where the edit removes nodes is the predicate asked, which may be slow. */
static dync__graph *dync__shrink_changed(dync__shrinker *s, const dync__edit *edit)
{
    dync__graph *g = dync__graph_edit(s->graph, edit);
    if (g && g->node.n < s->graph->node.n) return dync__shrink_try(s, g);
    dync__graph_unref(g);
    return NULL;
}

DYNC__FN dync__graph *dync__shrink_dead_code(dync__shrinker *s, int granularity)
{
    dync__edit edit = {.dead_code = true};
    (void)granularity;
    return dync__shrink_changed(s, &edit);
}

DYNC__FN dync__graph *dync__shrink_unused_inputs(dync__shrinker *s, int granularity)
{
    dync__edit edit = {.unused_inputs = true};
    (void)granularity;
    return dync__shrink_changed(s, &edit);
}

/* Inputs always stand in front here: there is nothing to move. */
DYNC__FN dync__graph *dync__shrink_consolidate(dync__shrinker *s, int granularity)
{
    (void)s, (void)granularity;
    return NULL;
}

static void dync__shrink_list_use(void *user, dync__arg *arg)
{
    bool *whole = user;
    if (arg->as.node->nout > 1) whole[arg->as.node->index] = true;
}

/* May go: its value is known (its items' values, of a list that is used item by item), or nobody
 * uses it. */
static bool dync__shrink_droppable(const dync__shrinker *s, const dync__node *n,
                                   const bool *used_whole)
{
    if (n->kind == DYNC__N_PLACEHOLDER || n->kind == DYNC__N_OUTPUT) return false;
    if (n->n_users == 0) return true;
    if (n->nout != 1) return n->nout > 1 && !used_whole[n->index];
    return dync__shrink_value(s, n).kind == DYNC_KIND_TENSOR;
}

/* Nodes start..end become inputs with their recorded values; what only they needed goes with
 * them. */
static dync__graph *dync__shrink_delta_range(dync__shrinker *s, int start, int end, bool *drop,
                                             const bool *used_whole)
{
    bool any = false;
    memset(drop, 0, (size_t)s->graph->node.n);
    for (int i = start; i < end; i++)
        any = (drop[i] = dync__shrink_droppable(s, s->graph->node.at[i], used_whole)) || any;
    if (!any) return NULL;
    dync__edit edit = {.drop = drop, .dead_code = true, .unused_inputs = true};
    return dync__shrink_try(s, dync__graph_edit(s->graph, &edit));
}

/* The first run of `granularity` nodes that the failure does not need. A list used as a whole
 * cannot become inputs, so its node stays. */
DYNC__FN dync__graph *dync__shrink_delta(dync__shrinker *s, int granularity)
{
    int n = s->graph->node.n;
    dync__graph *smaller = NULL;
    bool *drop = dync__calloc(2 * (size_t)n + 1), *used_whole = drop ? drop + n : NULL;
    dync__graph_renumber(s->graph);
    for (int i = 0; drop && i < n; i++)
        if (s->graph->node.at[i]->op != DYNC__NODE_GETITEM)
            dync__node_each_input(s->graph->node.at[i], dync__shrink_list_use, used_whole);
    for (int start = 0; drop && start < n && !smaller; start += granularity)
        smaller =
            dync__shrink_delta_range(s, start, DYNC__MIN(n, start + granularity), drop, used_whole);
    dync__free(drop, 2 * (size_t)n + 1);
    return smaller;
}
