/* tests/cuda/cuda_white.h: what tests of the device in the split build include. */
#ifndef DYNC_TESTS_CUDA_WHITE_H
#define DYNC_TESTS_CUDA_WHITE_H
#include "dync.in.h"
#include "cuda/cuda.h"
#include "../cuda_emulator/emulator.h"
#endif
