/* backend/broken.c: backends that fail where a graph has a relu, or an input that is no leaf: what
 * the minifier is tested with. After eager.c. In every build, tag debug.
 *
 * Source: torch/_dynamo/backends/debugging.py. A graph without what they fail at is interpreted as
 * it is. */
#include "../dync.in.h"
#include "backend.h"
DYNC__COLD

/* By row; a relu inside a decomposed operator is none. */
static bool dync__broken_has_relu(const dync__graph *g)
{
    for (int i = 0; i < g->node.n; i++)
        if (g->node.at[i]->op == DYNC__OP_relu) return true;
    return false;
}

/* An error of a class of its own whose text is exactly this: no operator, no place. */
static dync_status dync__broken_raise(dync_status status, const char *class_name, const char *text)
{
    const char *op = dync__tls.op;
    dync_loc at = dync__tls.at;
    dync__tls.op = NULL;
    dync__tls.at = DYNC_NOWHERE;
    dync__fail_class(status, class_name, "%s", text);
    dync__tls.op = op;
    dync__tls.at = at;
    return status;
}

DYNC__FN dync_status dync__backend_relu_compile_error(dync_graph *graph, const dync_value *ex,
                                                      int n, const char *options,
                                                      dync_callable *out, void *user)
{
    dync__graph *g = dync__graph_open(graph, "backend relu_compile_error");
    if (!g) return DYNC_ERR_VALUE;
    if (dync__broken_has_relu(g))
        return dync__broken_raise(DYNC_ERR_COMPILE, "ReluCompileError", "");
    return dync__backend_eager(graph, ex, n, options, out, user);
}

static dync_value dync__broken_run(void *graph, const dync_value *args, int nargs)
{
    (void)graph, (void)args, (void)nargs;
    dync__broken_raise(DYNC_ERR_RUNTIME, "AssertionError", "ReluRuntimeError");
    return DYNC_NONE;
}

DYNC__FN dync_status dync__backend_relu_runtime_error(dync_graph *graph, const dync_value *ex,
                                                      int n, const char *options,
                                                      dync_callable *out, void *user)
{
    dync__graph *g = dync__graph_open(graph, "backend relu_runtime_error");
    if (!g) return DYNC_ERR_VALUE;
    DYNC__TRY(dync__backend_eager(graph, ex, n, options, out, user));
    if (dync__broken_has_relu(g)) out->run = dync__broken_run;
    return DYNC_OK;
}

/* relu(x) as x + 1, everything else as it is. */
static dync__node *dync__broken_node(dync__rewrite *r, dync__node *old)
{
    if (old->op != DYNC__OP_relu) return dync__rewrite_copy(r, old);
    dync__arg args[2] = {dync__arg_node(dync__rewrite_at(r, old->args[0].as.node)), dync__arg_i(1)};
    return dync__graph_call(r->to, DYNC__USED(DYNC__OP_add), 2, args, 1, old->info, old->name);
}

static void dync__broken_destroy(void *graph) { dync__graph_unref(graph); }

DYNC__FN dync_status dync__backend_relu_accuracy_error(dync_graph *graph, const dync_value *ex,
                                                       int n, const char *options,
                                                       dync_callable *out, void *user)
{
    dync__graph *g = dync__graph_open(graph, "backend relu_accuracy_error");
    if (!g) return DYNC_ERR_VALUE;
    DYNC__TRY(dync__backend_eager(graph, ex, n, options, out, user));
    if (!dync__broken_has_relu(g)) return DYNC_OK;
    dync__graph *wrong;
    DYNC__TRY(dync__graph_rewrite(g, dync__broken_node, NULL, &wrong));
    out->state = wrong;
    out->destroy = dync__broken_destroy;
    return DYNC_OK;
}

/* Wants at least one operator: torch issue 102898. */
DYNC__FN dync_status dync__backend_non_leaf_compile_error(dync_graph *graph, const dync_value *ex,
                                                          int n, const char *options,
                                                          dync_callable *out, void *user)
{
    dync__graph *g = dync__graph_open(graph, "backend non_leaf_compile_error");
    if (!g) return DYNC_ERR_VALUE;
    for (int i = 0; i < n && dync__graph_op_count(g) > 0; i++) {
        const dync__tensor *t = ex[i].kind == DYNC_KIND_TENSOR ? dync__peek(ex[i].as.t) : NULL;
        if (t && !dync__tensor_is_leaf(t))
            return dync__broken_raise(DYNC_ERR_COMPILE, "TestingOnlyCompileError", "");
    }
    return dync__backend_eager(graph, ex, n, options, out, user);
}
