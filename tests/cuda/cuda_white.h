/* tests/cuda/cuda_white.h: the device in the split build, which does not install itself. */
#ifndef DYNC_TESTS_CUDA_WHITE_H
#define DYNC_TESTS_CUDA_WHITE_H
#include "dync.in.h"
#include "cuda/cuda.h"
#if defined(TEST_REAL_GPU)
static inline const char *cuemu_detail(void) { return ""; }
static inline int64_t cuemu_live_bytes(void) { return 0; }
#else
#include "../cuda_emulator/emulator.h"
#endif
__attribute__((constructor)) static void install_cuda(void) { dync__cuda_install(); }
#endif
