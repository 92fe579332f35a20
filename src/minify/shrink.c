/* minify/shrink.c: delta debugging of graphs: fewer nodes, fewer outputs, the predicate still true.
 * After graph.c, before write.c.
 *
 * Round by round with granularity g, the largest power of two that is at most the number of nodes:
 * cut the suffix, turn runs of g nodes into inputs (their values come from one eager run of the
 * whole graph), halve g where nothing helps, begin again where something did; last, outputs one by
 * one. Strategies and report lines are those of torch/_functorch/fx_minifier.py. */
#include "../dync.in.h"
#include "minify.h"
DYNC__COLD

/* Values are found by node name: edits keep names, so a node of the shrunk graph that has become
 * an input finds the value it had in the first graph. */
typedef struct dync__shrinker {
    const dync__shrink *how;
    dync__graph *graph; /* the smallest so far */
    dync__map index;    /* hash of a name -> its place in value */
    dync_value *value;  /* of every node of the first graph; NONE: not known */
    int n_values, queries;
} dync__shrinker;
typedef dync__graph *(*dync__strategy)(dync__shrinker *, int granularity);

DYNC__FN void dync__minify_say(const char *fmt, ...)
{
#ifndef DYNC_NO_STDIO
    dync__str s = {0};
    va_list args;
    va_start(args, fmt);
    dync__str_addv(&s, fmt, args);
    va_end(args);
    dync__str_addc(&s, '\n');
    fputs(dync__str_get(&s), stderr);
    dync__str_free(&s);
#else
    (void)fmt;
#endif
}

/* Reports go to stderr, as torch's minifier prints them. */
static bool dync__shrink_loud(const dync__shrinker *s) { return !s->how->quiet; }

/* ---- values ---------------------------------------------------------------------------------- */

/* Names collide only by chance: 64 bits of hash. */
static uint64_t dync__shrink_key(const char *name)
{
    return dync__hash_bytes(name, strlen(name), 7);
}

/* The recorded value of a node, borrowed; NONE where it is not known. */
static dync_value dync__shrink_value(const dync__shrinker *s, const dync__node *n)
{
    uint64_t i = 0;
    return dync__map_get(&s->index, dync__shrink_key(n->name), &i) ? s->value[i] : DYNC_NONE;
}

/* list: one entry a node, in order, as the result of the graph that computes all values. writes: an
 * operator writes in place, so later values may change earlier ones. */
typedef struct dync__shrink_all {
    bool writes;
    dync__arg list;
} dync__shrink_all;

/* Each value joins the result; where something is written in place a copy of it, made when it is.
 */
static dync__node *dync__shrink_node(dync__rewrite *r, dync__node *old)
{
    dync__shrink_all *all = r->user;
    bool tensor = old->has_info && old->nout == 1 && old->kind != DYNC__N_PLACEHOLDER;
    if (old->kind == DYNC__N_OUTPUT) return dync__graph_output(r->to, &all->list);
    dync__node *made = dync__rewrite_copy(r, old), *value = made;
    if (tensor && all->writes && made) {
        dync__arg copied = dync__arg_node(made);
        value = dync__graph_call(r->to, DYNC__USED(DYNC__OP_clone), 1, &copied, 1, old->info, NULL);
    }
    if (!all->list.as.list)
        all->list.as.list =
            dync__arena_alloc(&r->to->arena, (size_t)(r->from->node.n + 1) * sizeof all->list);
    if (!all->list.as.list || !value) return NULL;
    all->list.as.list[all->list.n++] = tensor ? dync__arg_node(value) : dync__arg_none();
    return made;
}

/* The graph with all its values as the result. */
static dync__graph *dync__shrink_all_values(dync__graph *g)
{
    dync__shrink_all all = {dync__graph_has_writes(g), {.kind = DYNC__A_LIST}};
    dync__graph *to;
    (void)dync__graph_rewrite(g, dync__shrink_node, &all, &to);
    return to;
}

/* One eager run; false where eager cannot run it: then only the inputs are known. */
static bool dync__shrink_propagate(dync__shrinker *s, int n, const dync_value *inputs)
{
    bool grad_off = dync__grad_is_off(), writes = dync__graph_has_writes(s->graph);
    uint64_t seed = dync__tls.rng_seed, offset = dync__tls.rng_offset;
    size_t bytes = (size_t)(n + 1) * sizeof *inputs;
    dync_value *args = dync__alloc(bytes), r = DYNC_NONE;
    dync__graph *all = args ? dync__shrink_all_values(s->graph) : NULL;
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    bool ok = all != NULL;
    if (ok && writes) ok = dync__run_copy_inputs(n, inputs, args, false) == DYNC_OK;
    if (ok) r = dync__graph_run(all, writes ? args : inputs, n);
    (void)dync__error_guard_end(&guard);
    const dync__list *l = dync__value_list(r);
    int made = l ? l->n : 0;
    for (int i = 0; i < made && i < s->n_values; i++)
        if (s->value[i].kind == DYNC_KIND_NONE) s->value[i] = l->items[i];
    dync__graph_unref(all);
    dync__free(args, bytes);
    dync__grad_off(grad_off);
    dync__tls.rng_seed = seed;
    dync__tls.rng_offset = offset;
    return made > 0;
}

/* Places of value are those of the nodes; the output stands behind them all. */
static dync_status dync__shrink_values(dync__shrinker *s, int n, const dync_value *inputs)
{
    s->n_values = s->graph->node.n;
    s->value = dync__scope_alloc((size_t)(s->n_values + 1) * sizeof *s->value);
    if (!s->value) return DYNC_ERR_MEMORY;
    for (int i = 0; i < s->n_values; i++) {
        s->value[i] = i < n ? inputs[i] : DYNC_NONE;
        if (!dync__map_put(&s->index, dync__shrink_key(s->graph->node.at[i]->name), (uint64_t)i))
            return DYNC_ERR_MEMORY;
    }
    if (!dync__shrink_propagate(s, n, inputs) && dync__shrink_loud(s))
        dync__warn("minifier: eager cannot run the graph: only what nobody uses is removed");
    return DYNC_OK;
}

/* ---- queries --------------------------------------------------------------------------------- */

/* The recorded values of g's inputs: an array of n_inputs + 1 for the caller to free, the
 * tensors borrowed. NULL: no memory. */
static dync_value *dync__shrink_inputs(const dync__shrinker *s, const dync__graph *g)
{
    dync_value *in = dync__alloc((size_t)(g->n_inputs + 1) * sizeof *in);
    for (int i = 0; in && i < g->n_inputs; i++) in[i] = dync__shrink_value(s, g->node.at[i]);
    return in;
}

/* Asks the predicate. A graph that is not well formed counts as not failing. Errors and tensors
 * of the trial are dropped. */
static bool dync__shrink_fails(dync__shrinker *s, dync__graph *g)
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
static dync__graph *dync__shrink_suffix(dync__shrinker *s, int granularity)
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
static dync__graph *dync__shrink_outputs(dync__shrinker *s, int granularity)
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

static dync__graph *dync__shrink_dead_code(dync__shrinker *s, int granularity)
{
    dync__edit edit = {.dead_code = true};
    (void)granularity;
    return dync__shrink_changed(s, &edit);
}

static dync__graph *dync__shrink_unused_inputs(dync__shrinker *s, int granularity)
{
    dync__edit edit = {.unused_inputs = true};
    (void)granularity;
    return dync__shrink_changed(s, &edit);
}

/* Inputs always stand in front here: there is nothing to move. */
static dync__graph *dync__shrink_consolidate(dync__shrinker *s, int granularity)
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
static dync__graph *dync__shrink_delta(dync__shrinker *s, int granularity)
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

/* ---- rounds ---------------------------------------------------------------------------------- */

/* Says what it does, and whether it came to anything. */
static bool dync__shrink_apply(dync__shrinker *s, const char *name, dync__strategy strategy,
                               int granularity)
{
    dync__graph *old = s->graph;
    int outputs = DYNC__MAX(dync__graph_outputs(old), 1);
    if (dync__shrink_loud(s))
        dync__minify_say("\nStrategy: %s (G: %d) (%d nodes, %d inputs)", name, granularity,
                         old->node.n, old->n_inputs);
    dync__graph *g = strategy(s, granularity);
    if (!g) {
        if (dync__shrink_loud(s)) dync__minify_say("FAIL: %s", name);
        return false;
    }
    int now = DYNC__MAX(dync__graph_outputs(g), 0);
    bool progress = g->node.n < old->node.n || g->n_inputs > old->n_inputs || now < outputs;
    if (dync__shrink_loud(s)) {
        if (g->node.n < old->node.n)
            dync__minify_say("SUCCESS: Went from %d to %d nodes", old->node.n, g->node.n);
        if (g->n_inputs > old->n_inputs)
            dync__minify_say("SUCCESS: Went from %d to %d inputs", old->n_inputs, g->n_inputs);
        if (now < outputs) dync__minify_say("SUCCESS: Went from %d to %d outputs", outputs, now);
        if (progress && !dync__shrink_fails(s, g))
            dync__minify_say("WARNING: Something went "
                             "wrong, not applying this "
                             "minification");
        else if (progress)
            goto taken;
    } else if (progress) {
        goto taken;
    }
    dync__graph_unref(g);
    return false;
taken:
    s->graph = g;
    dync__graph_unref(old);
    return true;
}

/* The strategies in fx_minifier.py's order, until one succeeds; three of them only at the
 * largest granularity. */
static bool dync__shrink_round(dync__shrinker *s, int granularity, bool first)
{
    static const struct {
        const char *name;
        dync__strategy run;
        bool first_only;
    } rows[] = {
        {"Eliminate dead code", dync__shrink_dead_code, true},
        {"Remove unused inputs", dync__shrink_unused_inputs, true},
        {"Consolidate Inputs", dync__shrink_consolidate, true},
        {"Truncate suffix", dync__shrink_suffix, false},
        {"Delta Debugging", dync__shrink_delta, false},
    };
    if (dync__shrink_loud(s)) dync__minify_say("Trying granularity %d", granularity);
    if (dync__graph_outputs(s->graph) > s->graph->node.n / 2 &&
        dync__shrink_apply(s, "Remove outputs", dync__shrink_outputs, granularity))
        return true;
    for (int i = 0; i < DYNC__COUNT_OF(rows); i++)
        if ((first || !rows[i].first_only) &&
            dync__shrink_apply(s, rows[i].name, rows[i].run, granularity))
            return true;
    return false;
}

/* Each smaller graph goes to `improved`, the first and the last as well. */
static void dync__shrink_tell(dync__shrinker *s)
{
    dync_value *in = s->how->improved ? dync__shrink_inputs(s, s->graph) : NULL;
    if (in) s->how->improved(s->how->user, s->graph, s->graph->n_inputs, in);
    dync__free(in, (size_t)(s->graph->n_inputs + 1) * sizeof *in);
}

/* Each success begins again with the largest granularity. Ends: every success removes nodes or
 * outputs or makes more inputs of nodes. */
static void dync__shrink_rounds(dync__shrinker *s)
{
    for (bool progress = true; progress;) {
        int granularity = 1;
        dync__shrink_tell(s);
        while (granularity * 2 <= s->graph->node.n) granularity *= 2;
        progress = false;
        for (bool first = true; granularity >= 1 && !progress; granularity /= 2, first = false)
            progress = dync__shrink_round(s, granularity, first);
        if (!progress) progress = dync__shrink_apply(s, "Remove outputs", dync__shrink_outputs, 1);
    }
}

/* The graph must fail before and after: a failure that comes and goes would shrink to something
 * arbitrary. */
static dync_status dync__shrink_run(dync__shrinker *s, int n, const dync_value *inputs)
{
    if (n != s->graph->n_inputs)
        return dync__fail(DYNC_ERR_VALUE, "minifier: the graph has %d inputs, got %d values",
                          s->graph->n_inputs, n);
    dync_status status = dync__shrink_values(s, n, inputs);
    if (status != DYNC_OK) return status;
    if (!dync__shrink_fails(s, s->graph))
        return dync__fail_class(DYNC_ERR_VALUE, "RuntimeError",
                                "Input graph did not fail the tester");
    if (dync__shrink_loud(s)) dync__minify_say("Started off with %d nodes", s->graph->node.n);
    dync__shrink_rounds(s);
    if (!dync__shrink_fails(s, s->graph))
        return dync__fail(DYNC_ERR_RUNTIME, "minifier: the shrunk graph does not fail any more: "
                                            "the failure comes and goes");
    if (dync__shrink_loud(s)) dync__minify_say("Made %d queries", s->queries);
    dync__shrink_tell(s);
    return DYNC_OK;
}

/* *graph is replaced by the smallest (the reference moves with it), on failure too. *out_inputs:
 * its inputs as a list in the caller's scope. */
DYNC__FN dync_status dync__shrink_graph(const dync__shrink *how, dync__graph **graph, int n,
                                        const dync_value *inputs, dync_value *out_inputs,
                                        int *queries)
{
    dync__shrinker s = {.how = how, .graph = *graph};
    dync_value list = DYNC_NONE;
    dync_scope scope = dync_scope_begin();
    dync_status status = dync__shrink_run(&s, n, inputs);
    if (status == DYNC_OK) {
        list = dync__list_new(s.graph->n_inputs);
        if (list.kind != DYNC_KIND_LIST) status = DYNC_ERR_MEMORY;
        for (int i = 0; status == DYNC_OK && i < s.graph->n_inputs; i++)
            dync__list_set(list, i, dync__shrink_value(&s, s.graph->node.at[i]));
    }
    dync__scope_end_keep(&scope, &list);
    dync__map_free(&s.index);
    *graph = s.graph;
    *out_inputs = list;
    *queries = s.queries;
    return status;
}

/* ---- public ---------------------------------------------------------------------------------- */

/* The public predicate with its user pointer. Its error on the given graph is kept, since it
 * tells why the graph "did not fail". */
typedef struct dync__minify_user {
    dync_minify_predicate fails;
    void *user;
    bool first;
    dync__error_slot error; /* of the predicate on the graph as it was given */
} dync__minify_user;

/* dync__shrink's predicate on top of the user's, which gets a handle of g for the time of the
 * call. */
static bool dync__minify_fails(void *user, dync__graph *g, int n, const dync_value *inputs)
{
    dync__minify_user *u = user;
    bool fails = u->fails(dync__graph_handle(g), inputs, n, u->user);
    if (u->first && !fails) u->error = dync__tls.error;
    u->first = false;
    return fails;
}

static void dync__minify_release(void *graph) { dync__graph_unref(graph); }

/* out.graph belongs to the caller's scope. NULL with an error recorded: the predicate is false on
 * the given graph (then the error is the predicate's own if it left one), or no memory. */
DYNC_API dync_minified dync_minify(dync_graph *graph, dync_value inputs,
                                   dync_minify_predicate fails, void *user)
{
    dync_minified out = {NULL, DYNC_NONE, 0};
    dync_value one[1] = {inputs};
    const dync__list *list = dync__value_list(inputs);
    dync__graph *given = dync__graph_open(graph, "dync_minify");
    if (!given || (!list && inputs.kind == DYNC_KIND_LIST && inputs.as.l)) return out;
    if (!fails) return dync__fail(DYNC_ERR_VALUE, "dync_minify: the predicate is NULL"), out;
    dync__minify_user u = {.fails = fails, .user = user, .first = true};
    dync__shrink how = {.fails = dync__minify_fails, .user = &u};
    dync__graph *g = dync__graph_clone(given);
    if (!g) return out;
    int n = list ? list->n : inputs.kind == DYNC_KIND_NONE ? 0 : 1;
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    dync_status status =
        dync__shrink_graph(&how, &g, n, list ? list->items : one, &out.inputs, &out.queries);
    dync__error_slot error = dync__error_guard_end(&guard);
    if (status == DYNC_OK && (out.graph = dync__graph_handle(g)) != NULL &&
        dync__scope_defer(dync__minify_release, g))
        return out;
    dync__graph_unref(g);
    out.graph = NULL;
    out.inputs = DYNC_NONE;
    /* the predicate's own error says more than that it was false */
    if (u.error.status != DYNC_OK) error = u.error;
    dync__error_raise(&error);
    return out;
}
