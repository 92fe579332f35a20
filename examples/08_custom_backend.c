/* cc -O2 -I.. 08_custom_backend.c -lm -pthread -o 08_custom_backend
 *
 * Lesson 8: a backend of one's own: it is given each graph and returns what runs it. This one
 * prints the graph, as C and as the Python of torch.fx, then what it may ask of each node, counts
 * the operators and hands the graph on to the interpreter. */
#define DYNC_IMPLEMENTATION
#include "dync.h"
#include <string.h>

typedef struct {
    int graphs, ops;
} census;

static dync_value run_graph(void *state, const dync_value *args, int nargs)
{
    return dync_graph_run(state, args, nargs);
}

/* scores: mul(Value self, Value other) = [2, 3], 1 user; matmul; other = 0.5 */
static void describe(dync_graph *graph, dync_node *node)
{
    dync_result_info r;
    if (!dync_node_result(node, 0, &r)) return;
    printf("%s: %s%s = [", dync_node_name(node), dync_node_target(node), dync_node_schema(node));
    for (int d = 0; d < r.shape.n; d++)
        printf("%s%s", d ? ", " : "", dync_graph_size_text(graph, r.shape.d[d]));
    printf("], %d user", dync_node_users(node, NULL, 0));
    for (int i = 0; i < dync_node_nargs(node); i++) {
        dync_value v = dync_node_arg(node, i);
        if (v.kind == DYNC_KIND_NODE) printf("; %s", dync_node_name(dync_as_node(v)));
        if (v.kind == DYNC_KIND_INT || v.kind == DYNC_KIND_FLOAT)
            printf("; %s = %g", dync_node_param(node, i), dync_as_float(v));
    }
    printf("\n");
}

static dync_status look_and_run(dync_graph *graph, const dync_value *example_inputs, int n,
                                const char *options, dync_callable *out, void *user)
{
    census *c = user;
    (void)example_inputs;
    c->graphs++;
    for (int i = 0; i < dync_graph_len(graph); i++) {
        dync_node *node = dync_graph_node(graph, i);
        if (strncmp(dync_node_op(node), "call", 4) != 0) continue;
        describe(graph, node);
        c->ops++;
    }
    printf("\ngraph %d: %d inputs, %d nodes, options \"%s\"\n\n%s\n%s\n", c->graphs, n,
           dync_graph_len(graph), options, dync_graph_str(graph), dync_graph_readable(graph));
    *out = (dync_callable){.run = run_graph,
                           .state = graph}; /* the graph lives as long as the callable */
    return DYNC_OK;
}

static dync_tensor *attention(dync_tensor *q, dync_tensor *k, dync_tensor *v)
{
    DYNC_LET(scores, dync_mul(dync_matmul(q, dync_transpose(k, 0, 1)), 0.5));
    DYNC_LET(weights, dync_softmax(scores, -1));
    return dync_matmul(weights, v);
}

int main(void)
{
    census c = {0, 0};
    dync_backend mine = {.name = "census", .compile = look_and_run, .user = &c};
    if (dync_register_backend(&mine) != DYNC_OK) return dync_error();
    dync_manual_seed(3);
    dync_tensor *q = dync_randn(dync_shape(2, 4)), *k = dync_randn(dync_shape(3, 4)),
                *v = dync_randn(dync_shape(3, 4));
    dync_compiled *f = dync_compile(attention, .args = "q, k, v", .backend = "census",
                                    .fullgraph = true, .options = "verbose=1");
    if (!f) return dync_error();
    dync_tensor *got = dync_call(f, q, k, v);
    printf("%d graph of %d operators; equal to eager: %d\n", c.graphs, c.ops,
           dync_allclose(got, attention(q, k, v), 1e-6, 1e-7));
    dync_compiled_free(f);
    dync_shutdown();
    return dync_error();
}
