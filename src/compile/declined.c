/* compile/declined.c: public functions of parts that this version does not have: each says so and changes nothing. */
#include "../dync.in.h"
#include "../graph/graph.h"

static dync_status dync__declined(const char *name)
{
    return dync__fail(DYNC_ERR_UNSUPPORTED, "%s: this version of dync does not have it", name);
}
DYNC_API dync_status dync_aot_export(dync_graph *graph, const dync_value *inputs, int n, bool joint, dync_graph **out)
{
    (void)graph, (void)inputs, (void)n, (void)joint;
    if (out) *out = NULL;
    return dync__declined("dync_aot_export");
}
DYNC_API char *dync_graph_seq_table(const dync_graph *graph)
{
    (void)graph;
    dync__declined("dync_graph_seq_table");
    return NULL;
}
