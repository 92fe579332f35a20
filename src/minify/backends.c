/* minify/backends.c: backends that shrink what they are given, and what a user's predicate asks of
 * a graph. After repro.c.
 *
 *   dync_compile(f, .backend = "minifier", .options = "compiler_name=mine")
 *
 * compiles each graph of f with the backend "mine"; where that fails, shrinks the graph and writes
 * repro.c. The graph itself then runs in eager mode, so the caller goes on. A predicate is for
 * dync_minify: it tells whether a backend fails on a graph, in any way. */
#include "../dync.in.h"
#include "minify.h"
DYNC__COLD

/* ---- backends that shrink what they are given; their option names the backend that fails ----- */
#if !defined(DYNC_NO_STDIO) /* as their rows in backend/backend.h */
/* A graph that does not fail is an error of this backend, as upstream's: who asks for it expects a
 * failure. */
static dync_status dync__minifier_compile(dync_graph *graph, const dync_value *ex, int n,
                                          const char *options, dync_callable *out, bool accuracy)
{
    DYNC__OFFERS(DYNC_NO_MINIFY, "the minifier");
    dync__graph *g = dync__graph_open(graph, "minifier");
    if (!g) return DYNC_ERR_VALUE;
    dync__options o;
    DYNC__TRY(dync__backend_options(
        accuracy ? dync__backend_minifier_accuracy : dync__backend_minifier, options, &o));
    const dync_backend *b = dync_lookup_backend(*o.compiler_name ? o.compiler_name : "inductor");
    if (!b) return DYNC_ERR_VALUE;
    dync__minifying m;
    bool busy = dync__hook_busy(true);
    dync__minifying_begin(&m, b, NULL, accuracy, true, false);
    dync_status status = dync__minifying_run(&m, g, n, ex);
    dync__hook_busy(busy);
    return status == DYNC_OK ? dync__backend_eager(graph, ex, n, NULL, out, NULL) : status;
}

DYNC__FN dync_status dync__backend_minifier(dync_graph *graph, const dync_value *ex, int n,
                                            const char *options, dync_callable *out, void *user)
{
    (void)user;
    return dync__minifier_compile(graph, ex, n, options, out, false);
}

DYNC__FN dync_status dync__backend_minifier_accuracy(dync_graph *graph, const dync_value *ex, int n,
                                                     const char *options, dync_callable *out,
                                                     void *user)
{
    (void)user;
    return dync__minifier_compile(graph, ex, n, options, out, true);
}
#endif

/* ---- predicates ------------------------------------------------------------------------------ */

/* true: the backend fails on the graph while eager runs it; with accuracy, it gives other values.
 * false with an error recorded: an argument is wrong, or the backend is unknown. backend: a name,
 * NULL is "inductor". */
static bool dync__predicate(dync_graph *graph, const dync_value *inputs, int n, void *backend,
                            bool accuracy)
{
    DYNC__NEEDS(DYNC_NO_MINIFY, accuracy ? "dync_fails_accuracy" : "dync_fails", false);
    dync__graph *g = dync__graph_open(graph, "dync_fails");
    const dync_backend *b = g && inputs ? dync_lookup_backend(backend ? backend : "inductor")
                                        : NULL;
    dync__minifying m;
    dync__verdict v;
    if (g && !inputs)
        dync__fail(DYNC_ERR_VALUE, "dync_fails: expected the inputs of the graph, "
                                   "got NULL");
    if (!b) return false;
    bool busy = dync__hook_busy(true);
    dync__minifying_begin(&m, b, NULL, accuracy, true, false);
    dync__judge_graph(&m.judge, g, n, inputs, &v);
    dync__hook_busy(busy);
    return v.kind == DYNC__RAISES || v.kind == DYNC__CRASHES || v.kind == DYNC__HANGS ||
           v.kind == DYNC__INACCURATE;
}

DYNC_API bool dync_fails(dync_graph *g, const dync_value *inputs, int n, void *backend)
{
    return dync__predicate(g, inputs, n, backend, false);
}
DYNC_API bool dync_fails_accuracy(dync_graph *g, const dync_value *inputs, int n, void *backend)
{
    return dync__predicate(g, inputs, n, backend, true);
}
