/* tests/random/within.h: noise within operators. An operator's gradient may take large numbers from
 * each other (instance_norm over two elements: 1 - n * n, n nearly 1), of which noise around the
 * operator shows nothing. Here the functional graphs of forward and backward, composite operators
 * as their parts, run with every result that rounds moved by an ulp at random: what rounding does
 * to this very way of computing, and no more than that. */
#ifndef DYNC_TESTS_RANDOM_WITHIN_H
#define DYNC_TESTS_RANDOM_WITHIN_H
#include "interpret.h"

static bool node_rounds(dync_node *n)
{
    dync_node *from = n;
    if (strcmp(dync_node_op(n), "call_function") != 0) return false;
    if (strcmp(dync_node_target(n), "getitem") == 0 && dync_node_inputs(n, &from, 1) < 1)
        return false;
    int r = row_named(dync_node_target(from));
    return r >= 0 && row_rounds(r);
}

/* Everyone who reads n reads it moved; before: the node behind n. */
static bool node_move(dync_graph *g, dync_node *n, dync_node *before)
{
    dync_result_info is;
    if (dync_node_nresults(n) != 1 || !dync_node_result(n, 0, &is) || !is_float(is.dtype))
        return true;
    dync_tensor *factor = moved(dync_full(is.shape, 1.0, .dtype = is.dtype));
    dync_node *by = dync_graph_insert_tensor(g, NULL, factor),
              *with = by ? dync_graph_insert(g, before, "mul", n, by) : NULL;
    return with && dync_node_replace(n, with) == DYNC_OK;
}

static dync_value moved_run(void *state, const dync_value *args, int n)
{
    return dync_graph_run(state, args, n);
}
static void moved_destroy(void *state) { dync_graph_free(state); }

static dync_status moved_compile(dync_graph *graph, const dync_value *example, int n,
                                 const char *options, dync_callable *out, void *user)
{
    (void)example, (void)n, (void)options, (void)user;
    dync_graph *g = dync_graph_copy(graph);
    for (int i = 0; g && i + 1 < dync_graph_len(g); i++) {
        int before = dync_graph_len(g);
        dync_node *node = dync_graph_node(g, i);
        if (!node_rounds(node)) continue;
        if (!node_move(g, node, dync_graph_node(g, i + 1))) return dync_error();
        i += dync_graph_len(g) - before; /* what was put is not moved again */
    }
    if (!g) return dync_error();
    *out =
        (dync_callable){.run = moved_run, .destroy = moved_destroy, .state = dync_graph_retain(g)};
    return DYNC_OK;
}

/* One run of p with noise within. What forward computed is kept for backward: computed again it
 * would be moved otherwise, and a comparison would not find the element that it came from. */
static outcome program_call_within(const program *p, const sizes *s, int data, uint64_t seed)
{
    static const dync_backend mover = {.name = "moved", .compile = moved_compile};
    static dync_backend both;
    if (!both.compile) both = dync_aot_autograd(&mover, NULL);
    noise.s = seed;
    dync_compiled *f = dync_compile(
        program_run, .user = (void *)(uintptr_t)p, .backend_object = &both,
        .options = "decompositions=all,partition=default", .dynamic = DYNC_DYNAMIC_OFF);
    outcome o = program_call(p, f, s, data);
    dync_compiled_free(f);
    return o;
}
#endif
