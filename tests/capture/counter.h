/* tests/capture/counter.h: the counting backend of the source tests (CompileCounter), alone or in
 * front of another backend. */
#ifndef DYNC_TESTS_COUNTER_H
#define DYNC_TESTS_COUNTER_H
#include "../../dync.h"
#include "test.h"

typedef struct {
    int frame_count, op_count;
    const char *inner;
    dync_graph *graphs[64];
} counter;

TEST__UNUSED static dync_value counter_run(void *state, const dync_value *args, int n)
{
    return dync_graph_run((dync_graph *)state, args, n);
}

/* op_count: every node whose kind contains "call". */
TEST__UNUSED static dync_status counter_compile(dync_graph *g, const dync_value *ex, int n,
                                                const char *options, dync_callable *out, void *user)
{
    counter *c = user;
    (void)options;
    if (c->frame_count < 64) c->graphs[c->frame_count] = g;
    c->frame_count++;
    for (int i = 0; i < dync_graph_len(g); i++)
        if (strstr(dync_node_op(dync_graph_node(g, i)), "call")) c->op_count++;
    if (c->inner) return dync_compile_graph(c->inner, g, ex, n, out);
    memset(out, 0, sizeof *out);
    out->run = counter_run;
    out->state = g;
    return DYNC_OK;
}
#define COUNTER(c) \
    (dync_backend) { .name = "counter", .compile = counter_compile, .user = &(c) }

/* same(): dtypes equal, all close at tol. */
TEST__UNUSED static bool same(dync_tensor *a, dync_tensor *b, double tol)
{
    return a && b && dync_type(a) == dync_type(b) && dync_allclose(a, b, tol, tol);
}
/* guard_fail: keeps the last reason. */
TEST__UNUSED static void keep_reason(const char *reason, void *user)
{
    snprintf(user, 512, "%s", reason);
}
#endif
