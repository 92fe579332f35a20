/* capture/alike.c: graphs that are alike but for the numbers that operators take have one likeness,
 * by which segments are looked for; equal ones one hash. */
#include "../../src/dync.in.h"
#include "../../src/capture/capture.h"
#include "../test.h"

/* x and a chain of n operators with numbers, drawn by two seeds: of the operators, of the numbers.
 */
static dync__graph *chain(int n, uint64_t ops, uint64_t numbers)
{
    static const int op[] = {DYNC__OP_add, DYNC__OP_sub, DYNC__OP_mul, DYNC__OP_div};
    int64_t shape[1] = {4};
    dync__info info = {.dtype = DYNC_F32, .device = DYNC_CPU, .alias = -1};
    EXPECT(dync__layout_contiguous(&info.lay, 1, shape) == DYNC_OK);
    dync__graph *g = dync__graph_new("chain");
    dync__node *x = dync__graph_placeholder(g, "x", "L['x']", &info);
    for (int i = 0; i < n; i++, ops /= 8, numbers /= 3) {
        dync__arg number = ops & 4 ? dync__arg_f(0.5 * (double)(numbers % 3))
                                   : dync__arg_i((int64_t)(numbers % 3));
        x = dync__graph_call(g, op[ops % 4], 2, (dync__arg[]){dync__arg_node(x), number}, 1, &info,
                             NULL);
    }
    dync__arg out = dync__arg_node(x);
    EXPECT(dync__graph_output(g, &out) != NULL);
    return g;
}

TEST(alike_graphs_have_one_likeness)
{
    int alike = 0, equal = 0;
    for (int i = 0; i < 4000; i++) {
        int n = test_random_int(1, 3);
        uint64_t ops = (uint64_t)test_random_int(0, 511), few = (uint64_t)test_random_int(0, 7);
        dync__graph *a = chain(n, ops, (uint64_t)test_random_int(0, 26)),
                    *b = chain(n, test_random() % 2 ? ops : ops ^ few,
                               (uint64_t)test_random_int(0, 26));
        dync__lift differ = {.n = 0};
        if (dync__graph_alike(a, b, &differ)) {
            alike++;
            EXPECT(dync__graph_likeness(a) == dync__graph_likeness(b));
        }
        if (dync__graph_equal(a, b)) {
            equal++;
            EXPECT(dync__graph_hash(a) == dync__graph_hash(b));
        } else {
            EXPECT(dync__graph_hash(a) != dync__graph_hash(b));
        }
        dync__graph_unref(a), dync__graph_unref(b);
    }
    EXPECT(alike > 1500 && equal > 100 && alike > equal);
}

TEST_MAIN
