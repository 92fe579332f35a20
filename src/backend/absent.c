/* backend/absent.c: backends that stand for something outside of this library: they can be looked
 * up, and compiling says clearly what is missing. After eager.c. */
#include "../dync.in.h"
#include "backend.h"
DYNC__COLD

static dync_status dync__backend_missing(dync__backend_fn fn, const char *options,
                                         const char *backend, const char *runtime)
{
    dync__options o;
    DYNC__TRY(dync__backend_options(fn, options, &o));
    return dync__fail(DYNC_ERR_BACKEND,
                      "backend '%s' is not available: %s is not part of this "
                      "program; 'inductor' needs nothing",
                      backend, runtime);
}

DYNC__FN dync_status dync__backend_tvm(dync_graph *g, const dync_value *ex, int n,
                                       const char *options, dync_callable *out, void *user)
{
    (void)g, (void)ex, (void)n, (void)out, (void)user;
    return dync__backend_missing(dync__backend_tvm, options, "tvm", "Apache TVM");
}
