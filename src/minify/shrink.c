/* minify/shrink.c: delta debugging of graphs: fewer nodes, fewer outputs, the predicate still true.
 * After shrink_ways.c, before write.c.
 *
 * Round by round with granularity g, the largest power of two that is at most the number of nodes:
 * cut the suffix, turn runs of g nodes into inputs (their values come from one eager run of the
 * whole graph), halve g where nothing helps, begin again where something did; last, outputs one by
 * one. Strategies and report lines are those of torch/_functorch/fx_minifier.py. */
#include "../dync.in.h"
#include "shrink.h"
DYNC__COLD

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
    DYNC__NEEDS(DYNC_NO_MINIFY, "dync_minify", out);
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
    const dync__error_slot *error = dync__error_guard_end(&guard);
    if (status == DYNC_OK && (out.graph = dync__graph_handle(g)) != NULL &&
        dync__scope_defer(dync__minify_release, g))
        return out;
    dync__graph_unref(g);
    out.graph = NULL;
    out.inputs = DYNC_NONE;
    /* the predicate's own error says more than that it was false */
    if (u.error.status != DYNC_OK) error = &u.error;
    dync__error_raise(error);
    return out;
}
