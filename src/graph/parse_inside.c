/* graph/parse_inside.c: functions inside operators, and whole graphs out of text. Before: parse.c.
 * */
#include "../dync.in.h"
#include "parse.h"
#include "text.h"
DYNC__COLD

/* ---- functions inside operators -------------------------------------------------------------- */

/* The inputs, in order: (void)dync_args[0]; or dync_tensor *x = dync_as_tensor(dync_args[0]); */
static bool dync__parse_inside_params(dync__parser *q)
{
    for (;;) {
        const char *start = q->p;
        char *name = NULL;
        int64_t i;
        bool unused = dync__parse_take(q, "(void)dync_args[");
        if (!unused && (!dync__parse_take(q, "dync_tensor *") || !(name = dync__parse_name(q)) ||
                        !dync__parse_take(q, "= dync_as_tensor(dync_args["))) {
            q->p = start; /* a statement */
            return q->status == DYNC_OK;
        }
        if (!dync__parse_int(q, &i) || i != q->g->n_inputs ||
            !dync__parse_need(q, unused ? "];" : "]);"))
            return dync__parse_fail(q, "the next input");
        if (!dync__parse_param_node(q, name, true)) return false;
        if (q->g->node.n != q->g->n_inputs)
            return dync__parse_fail(q, "an input, and no attribute, before this");
    }
}

/* Its names are its own; the name of the function is not that of an earlier one. */
static bool dync__parse_inside_function(dync__parser *q)
{
    char *name = dync__parse_need(q, "dync_value ") ? dync__parse_name(q) : NULL;
    if (!name) return dync__parse_fail(q, "the name of a function");
    for (int i = 0; i + 1 < q->inside.n; i++)
        if (strcmp(q->inside.at[i].graph->name, name) == 0)
            return dync__parse_fail(q, "a name that no function before this has");
    q->g->name = name;
    return dync__parse_need(q,
                            "(const dync_value *dync_args, int dync_nargs, void *dync_user) {") &&
           dync__parse_need(q, "(void)dync_args, (void)dync_nargs, (void)dync_user;") &&
           dync__parse_inside_params(q) && dync__parse_body(q);
}

/* All that stand in front of the graph: each has a graph and names of its own. */
static bool dync__parse_inside_functions(dync__parser *q)
{
    bool ok = true;
    while (ok && dync__parse_take(q, "static ")) {
        dync__graph *outer = q->g;
        dync__parsed_function f = {.graph = dync__graph_new(NULL)};
        if (!f.graph || !dync__vec_push(&q->inside, f)) {
            dync__graph_unref(f.graph);
            return dync__parse_no_memory(q);
        }
        q->g = f.graph;
        ok = dync__parse_inside_function(q);
        q->inside.at[q->inside.n - 1].depth = q->depth;
        q->depth = 0;
        q->g = outer;
        dync__map_free(&q->nodes);
        memset(&q->nodes, 0, sizeof q->nodes);
    }
    return ok;
}

/* The whole text; nothing may follow. Every function inside is used. */
static bool dync__parse_function(dync__parser *q)
{
    if (!dync__parse_inside_functions(q)) return false;
    if (!dync__parse_take(q, "dync_tensor *") && !dync__parse_need(q, "dync_value")) return false;
    char *name = dync__parse_name(q);
    if (!name) return dync__parse_fail(q, "the name of the graph");
    q->g->name = name;
    if (!dync__parse_need(q, "(") || !dync__parse_params(q) || !dync__parse_need(q, "{"))
        return false;
    if (!dync__parse_body(q)) return false;
    dync__parse_space(q);
    if (*q->p) return dync__parse_fail(q, "the end");
    for (int i = 0; i < q->inside.n; i++)
        if (!q->inside.at[i].used) return dync__parse_fail(q, "a use of every function before");
    return true;
}

DYNC__MEETING(graphs)
DYNC__FN dync__graph *dync__graph_parse(const char *text)
{
    return dync__graph_parse_most(text, INT_MAX);
}

/* The verifier's errors are the text's. One reference, or NULL + error. */
DYNC__FN dync__graph *dync__graph_parse_most(const char *text, int64_t nodes)
{
    dync__parser q = {.text = text ? text : "", .p = text ? text : "", .most = nodes};
    DYNC__NEEDS(DYNC_NO_PARSER, "a graph from its text", NULL);
    DYNC__MEET(graphs);
    dync__names_shown();
    q.g = dync__graph_new(NULL);
    if (!q.g) return NULL;
    bool ok = dync__parse_function(&q);
    if (ok) {
        dync__error_guard guard;
        dync__error_guard_begin(&guard);
        ok = dync__graph_check(q.g) == DYNC_OK;
        const dync__error_slot *inner = dync__error_guard_end(&guard);
        if (!ok)
            dync__fail(inner->status == DYNC_ERR_MEMORY ? DYNC_ERR_MEMORY : DYNC_ERR_FORMAT,
                       "graph text: %s", inner->message);
    }
    dync__map_free(&q.nodes);
    for (int i = 0; i < q.inside.n; i++) dync__graph_unref(q.inside.at[i].graph);
    dync__vec_free(&q.inside);
    dync__vec_free(&q.symbol);
    if (!ok) {
        dync__graph_unref(q.g);
        return NULL;
    }
    return q.g;
}
