/* Every sample of every operator that PyTorch gave (tests/ops/samples.c), on a GPU:
 * tests/unit/test_ops.c with its tensors there. */
#define TEST_DEVICE DYNC_CUDA
#define TEST_EMULATED
#include "cuda_white.h"
#include "../unit/test_ops.c"

/* On the stand-in for a GPU all take minutes: other seeds (make soak) take other eighths. */
TEST(memory_may_run_out_in_an_eighth) { memory_runs_out(8); }
