/* dync_cuda.h: NVIDIA GPUs for dync. Include after dync.h; link with -lcudart. tools/amalgamate
 * inlines this list into dync_cuda.h. */
#ifndef DYNC_CUDA_H
#define DYNC_CUDA_H
#ifndef DYNC_H
#error "dync_cuda.h: include dync.h first"
#endif
#include "cuda/public.h"
#endif

#if defined(DYNC_CUDA_IMPLEMENTATION) && !defined(DYNC__CUDA_IMPLEMENTED)
#define DYNC__CUDA_IMPLEMENTED
#if !defined(DYNC__IMPLEMENTED)
#error "dync_cuda.h: define DYNC_CUDA_IMPLEMENTATION in the file that defines DYNC_IMPLEMENTATION"
#endif
DYNC__LEVELS_BEGIN
#include "cuda/rt.h"
#include "cuda/ptx.h"
#include "cuda/cuda.h"
#include "cuda/tile.h"
#include "cuda/attention.h"
#include "cuda/gemm.h"
#include "cuda/recurrent.h"
#include "cuda/conv.h"
#include "cuda/wgmma.h"
#include "cuda/scatter.h"
#include "cuda/device.c"
#include "cuda/ptx_text.c"
#include "cuda/ptx_transpose.c"
#include "cuda/ptx_plan.c"
#include "cuda/ptx_f16.c"
#include "cuda/ptx_mem.c"
#include "cuda/ptx_transpose_move.c"
#include "cuda/ptx_prim.c"
#include "cuda/ptx_reduce.c"
#include "cuda/ptx.c"
#include "cuda/ptx_kernel.c"
#include "cuda/parts.c"
#include "cuda/tile.c"
#include "cuda/gemm_pre.c"
#include "cuda/gemm_load.c"
#include "cuda/gemm_gather.c"
#include "cuda/gemm_end.c"
#include "cuda/gemm_mma.c"
#include "cuda/gemm_simt.c"
#include "cuda/gemm_thin.c"
#include "cuda/wgmma.c"
#include "cuda/wgmma_multiply.c"
#include "cuda/conv_direct.c"
#include "cuda/conv_direct_weight.c"
#include "cuda/gemm.c"
#include "cuda/gemm_call.c"
#include "cuda/conv.c"
#include "cuda/conv_forward.c"
#include "cuda/takes.c"
#include "cuda/loops.c"
#include "cuda/attention_plain.c"
#include "cuda/attention_tile.c"
#include "cuda/attention.c"
#include "cuda/attention_wgmma.c"
#include "cuda/attention_forward.c"
#include "cuda/attention_backward.c"
#include "cuda/recurrent.c"
#include "cuda/recurrent_text.c"
#include "cuda/recurrent_call.c"
#include "cuda/sort.c"
#include "cuda/scatter.c"
#include "cuda/scatter_runs.c"
#include "cuda/calls.c"
#include "cuda/memory.c"
#include "cuda/image.c"
#include "cuda/launch.c"
#include "cuda/graphs.c"
#include "cuda/public.c"
DYNC__LEVELS_END
#endif
