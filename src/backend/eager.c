/* backend/eager.c: backends that run a captured graph operator by operator. */
#include "../dync.in.h"
#include "backend.h"
DYNC__COLD

static dync_value dync__eager_run(void *state, const dync_value *args, int nargs)
{
    return dync__graph_run(state, args, nargs);
}

DYNC__FN void dync__options_ignored(const char *options, const char *backend)
{
    if (options && *options) dync__warn("backend '%s' ignores its options '%s'", backend, options);
}

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

static dync_value dync__eager_noexcept_run(void *state, const dync_value *args, int nargs)
{
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    dync_value r = dync__graph_run(state, args, nargs);
    dync__error_slot inner = dync__error_guard_end(&guard);
    if (inner.status == DYNC_OK) return r;
    dync__fail_class(DYNC_ERR_RUNTIME, "TorchDynamoException",
                     "Unexpected exception when running generated GraphModule: %s: %s",
                     inner.class_name, inner.message);
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
