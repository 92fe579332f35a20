/* aot/compile.c: AOT autograd: a graph and examples to a callable; graphs of symbolic sizes by
 * sized.c. Before inductor/. */
#include "../dync.in.h"
#include "code.h"
#include "../autograd/node.h"
DYNC__WARM

DYNC__RARE static dync_status dync__aot_compile_sized(dync__graph *graph,
                                                      const dync_value *examples, int n,
                                                      const dync__options *options,
                                                      dync_callable *out, void *user)
{
    return dync__aot_compile(graph, examples, n, options, user, out);
}

DYNC__RARE DYNC__FN dync_status dync__aot_compile(dync__graph *graph, const dync_value *examples,
                                                  int n, const dync__options *options,
                                                  const dync__inner_compiler *inner,
                                                  dync_callable *out)
{
    if (dync__graph_takes_lists(graph))
        return dync__unlist_compile(graph, examples, n, options, dync__aot_compile_sized,
                                    (void *)(uintptr_t)inner, out);
    if (dync__graph_is_staged(graph))
        return dync__staged_compile(graph, options, dync__aot_compile_sized,
                                    (void *)(uintptr_t)inner, out);
    if (dync__graph_is_sized(graph))
        return dync__sized_compile(graph, examples, n, options, dync__aot_compile_sized,
                                   (void *)(uintptr_t)inner, inner, out);
    dync__aot_code *c = dync__aot_code_new(graph);
    const char *why = NULL;
    dync_status status = c ? DYNC_OK : DYNC_ERR_MEMORY;
    if (c) status = dync__graph_of_tensors(graph, &c->graph);
    if (status == DYNC_OK) status = dync__aot_code_trace(c, examples, options, inner, &why);
    if (status == DYNC_ERR_UNSUPPORTED && c->plain) {
        dync__log(DYNC__LOG_aot, "graph runs operator by operator: %s", why ? why : "?");
        c->head.raw.run = dync__aot_run_plain;
        status = DYNC_OK;
    } else if (status == DYNC_OK) {
        dync__aot_report(c);
        status = dync__aot_code_compile(c, options, inner);
    }
    return dync__aot_code_out(c, status, out);
}
