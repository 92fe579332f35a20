/* backend/absent.c: backends that stand for something outside of this library: they can be looked
 * up, and compiling says clearly what is missing. cudagraphs runs what lies on the CPU plainly, as
 * upstream does. After eager.c. */
#include "../dync.in.h"
#include "backend.h"

DYNC__FN dync_status dync__backend_cudagraphs(dync_graph *g, const dync_value *ex, int n,
                                              const char *options, dync_callable *out, void *user)
{
    for (int i = 0; i < g->n_inputs; i++) {
        const dync_node *node = g->node.at[i];
        if (node->has_info && (node->info[0].device & 255) == DYNC_CUDA)
            return dync__fail(DYNC_ERR_BACKEND, "backend 'cudagraphs': input %s is on a GPU, which "
                              "takes dync_cuda.h; this program was built without it", node->name);
    }
    return dync__backend_inductor(g, ex, n, options, out, user);
}

static dync_status dync__backend_missing(const char *backend, const char *runtime)
{
    return dync__fail(DYNC_ERR_BACKEND, "backend '%s' is not available: %s is not part of this "
                      "program; 'inductor' needs nothing", backend, runtime);
}

DYNC__FN dync_status dync__backend_onnxrt(dync_graph *g, const dync_value *ex, int n,
                                          const char *options, dync_callable *out, void *user)
{
    (void)g, (void)ex, (void)n, (void)options, (void)out, (void)user;
    return dync__backend_missing("onnxrt", "ONNX Runtime");
}

DYNC__FN dync_status dync__backend_tvm(dync_graph *g, const dync_value *ex, int n,
                                       const char *options, dync_callable *out, void *user)
{
    (void)g, (void)ex, (void)n, (void)options, (void)out, (void)user;
    return dync__backend_missing("tvm", "Apache TVM");
}
