/* backend/tvm.c: backend tvm: the graphs of AOT autograd as functions of Apache TVM, which is found
 * at run time. After tvm_code.c and partition.c. */
#include "../dync.in.h"
#include "tvm.h"
DYNC__COLD

/* The partition's maker without state. */
static bool dync__tvm_maker_can(void *user, const dync__node *n, const char **why)
{
    return (void)user, dync__tvm_can(n, why);
}
static const dync__partition_maker dync__tvm_maker = {
    .name = "tvm", .can = dync__tvm_maker_can, .compile = dync__tvm_compile};

static dync_status dync__tvm_inner(void *user, dync__graph *g, bool is_backward,
                                   const dync__options *o, dync__inner *out)
{
    (void)user;
    return dync__partition_compile(&dync__tvm_maker, g, is_backward, o, out);
}

/* That the library is missing is found when a function is compiled, not when one is made: a program
 * may name the backend where it is not installed. */
DYNC__FN dync_status dync__backend_tvm(dync_graph *graph, const dync_value *ex, int n,
                                       const char *options, dync_callable *out, void *user)
{
    static const dync__inner_compiler inner = {.compile = dync__tvm_inner};
    dync__options o;
    dync__graph *g = dync__graph_open(graph, "the backend");
    if (!g) return DYNC_ERR_VALUE;
    (void)user;
    DYNC__TRY(dync__backend_options(dync__backend_tvm, options, &o));
    if (!DYNC__LIBRARIES || !dync__tvm_get())
        return dync__fail(DYNC_ERR_BACKEND,
                          "backend 'tvm' is not available: Apache TVM is not part of this program; "
                          "'inductor' needs nothing. %s",
                          dync__tvm_missing());
    return dync__aot_compile(g, ex, n, &o, &inner, out);
}
