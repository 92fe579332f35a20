/* cc -O2 -I.. 13_dump_stages.c -lm -pthread -o 13_dump_stages
 *
 * Lesson 13: seeing every stage. What is printed here goes to stdout by way of the C API;
 * DYNC_LOG=graph,guards,aot,ir,code ./13_dump_stages or dync_set_log prints more, to stderr. */
#define DYNC_IMPLEMENTATION
#include "dync.h"

static dync_tensor *layer(dync_tensor *x, dync_tensor *w)
{
    DYNC_LET(h, dync_matmul(x, w));
    DYNC_SET(h, dync_relu(h));
    DYNC_SET(h, dync_sub(h, dync_mean(h, dync_shape(-1), true)));
    return h;
}

static bool is_product(const dync_node *node, void *user)
{
    (void)user;
    return dync_node_target(node)[0] == 'm' && dync_node_target(node)[1] == 'm'; /* mm */
}

int main(void)
{
    dync_tensor *x = dync_ones(dync_shape(2, 3)), *w = dync_ones(dync_shape(3, 4));

    /* The graph of a function: as C that compiles, and as Python that PyTorch runs. */
    dync_graph *g = dync_make_graph(dync_args(layer, "x, w"), x, w);
    if (!g) return dync_error();
    printf("as C:\n%s\nas torch.fx:\n%s\n", dync_graph_str(g), dync_graph_readable(g));

    /* Node by node. */
    for (int i = 0; i < dync_graph_len(g); i++) {
        dync_node *node = dync_graph_node(g, i), *in[4];
        printf("%-13s %-8s", dync_node_op(node), dync_node_name(node));
        int n = dync_node_inputs(node, in, 4);
        for (int k = 0; k < n; k++) printf("%s%s", k ? ", " : "reads ", dync_node_name(in[k]));
        printf("\n");
    }

    /* In parts: the matrix product apart from the rest. */
    dync_graph *part[4];
    int n = 4;
    if (dync_graph_split(g, is_product, NULL, part, &n) != DYNC_OK) return dync_error();
    printf("\n%d parts; the second:\n%s", n, dync_graph_str(part[1]));
    for (int i = 0; i < n; i++) dync_graph_free(part[i]);

    dync_shutdown();
    return dync_error();
}
