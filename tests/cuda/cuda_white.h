/* tests/cuda/cuda_white.h: the device in the split build, which does not install itself. */
#ifndef DYNC_TESTS_CUDA_WHITE_H
#define DYNC_TESTS_CUDA_WHITE_H
#include "dync.in.h"
#include "cuda/cuda.h"
#include "../cuda_emulator/emulator.h"
__attribute__((constructor)) static void install_cuda(void) { dync__cuda_install(); }
#endif
