/* cuda/rt.h: what is used of the CUDA runtime: its header where it is installed, else these
 * declarations of the same functions. Before everything else of cuda/. Source: CUDA Runtime API
 * 12.8, 13.0. */
#ifndef DYNC__CUDA_RT_H
#define DYNC__CUDA_RT_H
#include "../codegen/codegen.h"
#if defined(__CUDA_RUNTIME_API_H__)
#define DYNC__CUDA_HEADER
#elif defined(__has_include) && !defined(DYNC_CUDA_NO_HEADER)
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#define DYNC__CUDA_HEADER
#endif
#endif
#if defined(DYNC__CUDA_HEADER)
#if CUDART_VERSION < 12080
#error "dync_cuda.h: the CUDA runtime from 12.8 on is needed (cudaLibraryLoadData)"
#endif
#else
typedef int cudaError_t;
typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;
typedef struct CUlib_st *cudaLibrary_t;
typedef struct CUkern_st *cudaKernel_t;
typedef struct dim3 {
    unsigned int x, y, z;
} dim3;
extern cudaError_t cudaGetDeviceCount(int *count);
extern cudaError_t cudaDriverGetVersion(int *version);
extern cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **function,
                                                    unsigned int version, unsigned long long flags,
                                                    int *found);
extern cudaError_t cudaSetDevice(int device);
extern cudaError_t cudaDeviceGetAttribute(int *value, int attr, int device);
extern cudaError_t cudaDeviceSynchronize(void);
extern cudaError_t cudaGetLastError(void);
extern const char *cudaGetErrorString(cudaError_t error);
extern const char *cudaGetErrorName(cudaError_t error);
extern cudaError_t cudaMalloc(void **p, size_t n);
extern cudaError_t cudaFree(void *p);
extern cudaError_t cudaHostAlloc(void **p, size_t n, unsigned int flags);
extern cudaError_t cudaFreeHost(void *p);
extern cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t n, int kind,
                                   cudaStream_t stream);
extern cudaError_t cudaMemcpyPeerAsync(void *dst, int to, const void *src, int from, size_t n,
                                       cudaStream_t stream);
extern cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags);
extern cudaError_t cudaStreamDestroy(cudaStream_t stream);
extern cudaError_t cudaStreamSynchronize(cudaStream_t stream);
extern cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags);
extern cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags);
extern cudaError_t cudaEventDestroy(cudaEvent_t event);
extern cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
extern cudaError_t cudaEventSynchronize(cudaEvent_t event);
extern cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end);
extern cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code, void *jit_options,
                                       void **jit_values, unsigned int n_jit, void *options,
                                       void **values, unsigned int n);
extern cudaError_t cudaLibraryUnload(cudaLibrary_t library);
extern cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library,
                                        const char *name);
extern cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **args,
                                    size_t shared_bytes, cudaStream_t stream);
extern cudaError_t cudaFuncSetAttribute(const void *function, int attr, int value);
extern cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int mode);
extern cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
extern cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph,
                                                 unsigned long long flags);
extern cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
extern cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
extern cudaError_t cudaGraphDestroy(cudaGraph_t graph);
#endif
/* Enumerators by number, which both forms take. */
#define DYNC__CU_OUT_OF_MEMORY 2
#define DYNC__CU_OLD_DRIVER 35  /* cudaErrorInsufficientDriver: or there is none */
#define DYNC__CU_COPY_DEFAULT 4 /* cudaMemcpyDefault: the addresses tell */
#define DYNC__CU_NON_BLOCKING 1
#define DYNC__CU_CAPTURE_RELAXED 2
#define DYNC__CU_ATTR_UNITS 16 /* cudaDevAttrMultiProcessorCount */
#define DYNC__CU_ATTR_MAJOR 75
#define DYNC__CU_ATTR_MINOR 76
#define DYNC__CU_FUNC_SHARED 8 /* cudaFuncAttributeMaxDynamicSharedMemorySize */
#define DYNC__CU_JIT_ERROR_LOG 5
#define DYNC__CU_JIT_ERROR_LOG_BYTES 6
#endif
