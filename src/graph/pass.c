/* graph/pass.c: the passes over graphs, by their rows in base/pass.h: each is left out where it
 * shall be, logged, and what it leaves behind is checked. After check.c, cse.c and dce.c. */
#include "../dync.in.h"
#include "graph.h"
DYNC__COLD

/* By the number of the pass; NULL for passes over other IRs. */
static dync_status (*const dync__graph_passes[DYNC__N_PASSES])(dync__graph *) = {
#define DYNC__PASS_GRAPH(name, fn) [DYNC__PASS_##name] = fn,
#define DYNC__PASS_STEPS(name, fn)
#define DYNC__PASS_KERNEL(name, fn)
#define DYNC__PASS_STAGE(name, fn)
#define DYNC__X(name, ir, fn, may, what) DYNC__PASS_##ir(name, fn)
    DYNC__PASSES(DYNC__X)
#undef DYNC__X
#undef DYNC__PASS_GRAPH
#undef DYNC__PASS_STEPS
#undef DYNC__PASS_KERNEL
#undef DYNC__PASS_STAGE
};

static dync_status dync__graph_check_any(void *graph) { return dync__graph_check(graph); }

/* Symbolic sizes stand in layouts as tokens; inference is over plain ones. */
static bool dync__graph_is_symbolic(const dync__graph *g)
{
    for (int i = 0; i < g->node.n; i++)
        for (int k = 0; k < g->node.at[i]->nout && g->node.at[i]->has_info; k++)
            if (dync__layout_has_tokens(&g->node.at[i]->info[k].lay)) return true;
    return false;
}

/* Nothing writes, and every node is what its operator gives. */
static dync_status dync__graph_check_functional(void *graph)
{
    dync__graph *g = graph;
    DYNC__TRY(dync__graph_check(g));
    if (dync__graph_has_writes(g))
        return dync__fail(DYNC_ERR_INTERNAL, "graph %s: a node writes memory", g->name);
    return dync__graph_is_symbolic(g) ? DYNC_OK : dync__graph_check_types(g, NULL);
}

static void dync__graph_print_any(dync__str *s, const void *graph)
{
    dync__graph_print_c(s, graph);
}

/* any, and functional: linked by those who can turn checks on, as runtime/check.c. */
static const dync__ir_kind dync__graph_checks[2] = {
    {"graph", dync__graph_check_any, dync__graph_print_any},
    {"graph", dync__graph_check_functional, dync__graph_print_any}};
#if !defined(DYNC_NO_ENV) || defined(DYNC_ASSERT)
static const dync__ir_kind *dync__graph_checks_used = dync__graph_checks;
#else
static const dync__ir_kind *dync__graph_checks_used;
#endif
DYNC__FN void dync__graph_checks_use(void)
{
    DYNC__ATOMIC_STORE(&dync__graph_checks_used, dync__graph_checks);
}

DYNC__FN dync_status dync__graph_check_after(int pass, dync__graph *g, bool functional)
{
    const dync__ir_kind *checks = DYNC__ATOMIC_LOAD(&dync__graph_checks_used);
    return checks ? dync__check_after(pass, &checks[functional], g) : DYNC_OK;
}

DYNC__FN dync_status dync__graph_border(int pass, dync__graph *g, bool functional)
{
    dync__pass_log(pass, g->name, "%d nodes", g->node.n);
    return dync__graph_check_after(pass, g, functional);
}

/* A pass that is switched off (DYNC_DISABLE) does nothing, and is not logged. */
DYNC__FN dync_status dync__graph_pass(int pass, dync__graph *g)
{
    int before = g->node.n;
    if (!dync__pass_on(pass)) return DYNC_OK;
    DYNC__TRY(dync__graph_passes[pass](g));
    dync__pass_log(pass, g->name, "%d nodes, %d left", before, g->node.n);
    return dync__graph_check_after(pass, g, true);
}
