/* backend/eager.c: backends that run a captured graph operator by operator: eager, which passes
 * errors on as they are, and eager_noexcept, which reports any error as one of the generated module
 * (torch/_dynamo/backends/debugging.py). Nothing is compiled; guards, breaks and segments are as
 * with every other backend, so these show what capture alone does. Before aot.c. */
#include "../dync.in.h"
#include "backend.h"
DYNC__COLD

static dync_value dync__eager_run(void *state, const dync_value *args, int nargs)
{
    return dync__graph_run(state, args, nargs);
}

/* A warning, no error: the same options string may be given to several backends. */
DYNC__FN void dync__options_ignored(const char *options, const char *backend)
{
    if (options && *options) dync__warn("backend '%s' ignores its options '%s'", backend, options);
}

/* The graph is borrowed: whoever asks keeps it as long as the callable. */
DYNC__FN dync_status dync__backend_eager(dync_graph *graph, const dync_value *ex, int n,
                                         const char *options, dync_callable *out, void *user)
{
    dync__graph *g = dync__graph_open(graph, "backend eager");
    if (!g) return DYNC_ERR_VALUE;
    (void)ex, (void)n, (void)user;
    dync__options_ignored(options, "eager");
    memset(out, 0, sizeof *out);
    out->run = dync__eager_run;
    out->state = g; /* lives until the callable is destroyed */
    return DYNC_OK;
}

/* The inner error's class and message become part of the outer one's text. */
static dync_value dync__eager_noexcept_run(void *state, const dync_value *args, int nargs)
{
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    dync_value r = dync__graph_run(state, args, nargs);
    const dync__error_slot *inner = dync__error_guard_end(&guard);
    if (inner->status == DYNC_OK) return r;
    dync__fail_class(DYNC_ERR_RUNTIME, "TorchDynamoException",
                     "Unexpected exception when running generated GraphModule: %s: %s",
                     inner->class_name, inner->message);
    return DYNC_NONE;
}

DYNC__FN dync_status dync__backend_eager_noexcept(dync_graph *graph, const dync_value *ex, int n,
                                                  const char *options, dync_callable *out,
                                                  void *user)
{
    DYNC__TRY(dync__backend_eager(graph, ex, n, NULL, out, user));
    dync__options_ignored(options, "eager_noexcept");
    out->run = dync__eager_noexcept_run;
    return DYNC_OK;
}
