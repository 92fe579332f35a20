/* Rows B of the conformance list with models and inputs on a GPU. */
#include "dync.h"
#include "dync_cuda.h"
#define ROW_DEVICE DYNC_CUDA
#include "../capture/test_rows_b.c"
