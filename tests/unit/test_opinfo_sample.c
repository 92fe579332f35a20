/* tests/unit/test_opinfo_sample.c: some of PyTorch's OpInfo samples of every operator
 * (tests/oracle/opinfo.py; all of them: make opinfo): results, gradients and second gradients,
 * eager and compiled. */
#include "edge_lines.h"
#include "../ops/opinfo.c"

static void check_samples(const char *backend, int first, int every)
{
    for (int i = first; i < DYNC__COUNT_OF(opinfo_samples); i += every) DYNC_SCOPE {
        check_edge(opinfo_samples[i], backend, true);
    }
}

TEST(eager) { check_samples(NULL, 0, 1); }
TEST(some_compiled) { check_samples("inductor", 0, 5); }
TEST(some_as_aot_graphs) { check_samples("aot_eager", 2, 8); }
TEST_LONG(compiled) { check_samples("inductor", 0, 1); }
TEST_LONG(as_aot_graphs) { check_samples("aot_eager", 0, 1); }
TEST_MAIN
