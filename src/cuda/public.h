/* ==== dync_cuda.h: tensors on NVIDIA GPUs, with nothing but the CUDA runtime
 * ==============================================================
 *
 *   #define DYNC_IMPLEMENTATION
 *   #define DYNC_CUDA_IMPLEMENTATION        in one C file, the same for both
 *   #include "dync.h"
 *   #include "dync_cuda.h"
 *
 *   cc -O2 program.c -lcudart -lm -pthread
 *
 * Nothing has to be called: dync_to_device(x, DYNC_CUDA), .device = DYNC_CUDA in a factory and
 * every operator work from then on, eager and compiled, with the same random numbers as on the CPU.
 * DYNC_CUDA_AT(1) is the second device. dync.h makes the kernels' text (PTX), the driver the
 * machine code; DYNC_LOG=code prints it. GPUs from compute capability 8.0 on; the runtime from CUDA
 * 12.8 on. Where there is no GPU or no driver every CUDA call is DYNC_ERR_DEVICE with the runtime's
 * own words, and CPU work goes on.
 *
 * Work is put on the thread's current stream of a device, the default one unless
 * dync_cuda_stream_use chose another, and runs behind the caller's back; reading a value
 * (dync_item, dync_print, dync_to_device to the CPU) waits for it. Errors of kernels show at such a
 * place. */
#ifndef DYNC__CUDA_PUBLIC_H
#define DYNC__CUDA_PUBLIC_H
#if defined(__cplusplus)
extern "C" {
#endif
typedef struct dync_cuda_stream dync_cuda_stream;
typedef struct dync_cuda_event dync_cuda_event;

/* dync_cuda_device_count: devices that can be used; 0 without one, which is no error.
 * dync_cuda_reason: why it is 0, in the runtime's words; "" else. */
DYNC_API int dync_cuda_device_count(void);
DYNC_API const char *dync_cuda_reason(void);
/* dync_cuda_synchronize: waits for all work of a device and reports its errors.
 *   errors  DYNC_ERR_DEVICE, DYNC_ERR_VALUE: no such device      thread  any */
DYNC_API dync_status dync_cuda_synchronize(int device);

/* Memory. Blocks that tensors give back are kept and used again by the same stream.
 *   allocated  bytes in tensors reserved bytes taken from the driver blocks_made, blocks_freed 
 *              calls of cudaMalloc and cudaFree
 *   reused     allocations that a kept block served */
typedef struct dync_cuda_memory {
    int64_t allocated, allocated_peak, reserved, reserved_peak, blocks_made, blocks_freed, reused;
} dync_cuda_memory;
DYNC_API dync_cuda_memory dync_cuda_memory_stats(int device);
/* Gives kept blocks back to the driver; waits for the device. */
DYNC_API void dync_cuda_empty_cache(int device);
/* Copies of t: in page-locked main memory; on a device (or DYNC_CPU) without waiting. The source
 * must not change, nor the copy in main memory be read, before the stream has come to it. Only
 * between page-locked and device memory is such a copy truly asynchronous. */
DYNC_API dync_tensor *dync_cuda_pin(dync_tensor *t);
DYNC_API dync_tensor *dync_cuda_to_async(dync_tensor *t, dync_device device);
/* The address of t's first element on its device; NULL and an error for other tensors. */
DYNC_API void *dync_cuda_data(dync_tensor *t);

/* Streams and events belong to the caller. A tensor may be freed or used on another stream than the
 * one it was made on only after the two were ordered (dync_cuda_stream_wait). dync_cuda_stream_use:
 * the stream of this thread for its device from now on, NULL and the device: the default one;
 * returns the one before. dync_cuda_stream_handle: the cudaStream_t, for other libraries. */
DYNC_API dync_cuda_stream *dync_cuda_stream_new(int device);
DYNC_API void dync_cuda_stream_free(dync_cuda_stream *);
DYNC_API dync_cuda_stream *dync_cuda_stream_use(dync_cuda_stream *, int device);
DYNC_API dync_status dync_cuda_stream_synchronize(dync_cuda_stream *);
DYNC_API dync_status dync_cuda_stream_wait(dync_cuda_stream *, dync_cuda_event *);
DYNC_API void *dync_cuda_stream_handle(dync_cuda_stream *);
DYNC_API dync_cuda_event *dync_cuda_event_new(int device);
DYNC_API void dync_cuda_event_free(dync_cuda_event *);
/* on the current stream of its device */
DYNC_API dync_status dync_cuda_event_record(dync_cuda_event *);
DYNC_API dync_status dync_cuda_event_synchronize(dync_cuda_event *);
/* NaN and an error where one was not recorded */
DYNC_API double dync_cuda_event_ms(dync_cuda_event *start, dync_cuda_event *end);
/* dync_cuda_cache: machine code that the driver makes of texts is kept in this folder from now on,
 * for later processes with the same GPU and driver; NULL: no longer. Off unless asked for, here or
 * by the environment (DYNC_CUDA_CACHE=FOLDER). Files that do not fit or are damaged are written
 * anew; where the folder cannot be written nothing is kept. The driver has a cache of its own
 * (CUDA_CACHE_PATH), which this one does not need.
 *   errors  DYNC_ERR_IO: the folder cannot be made      thread  any */
DYNC_API dync_status dync_cuda_cache(const char *folder_or_null);
/* dync_cuda_allow_tf32: whether products of f32 (of matrices, of convolutions, of attention's
 * forward) may round their operands to 10 bits behind the point and run on tensor cores, several
 * times as fast; sums stay f32. Off at the start, as torch.backends.cuda.matmul.allow_tf32 is.
 * Holds from the next call on, for compiled functions too; graphs that were recorded keep what they
 * have.
 *   ->      what it was      thread  any */
DYNC_API bool dync_cuda_allow_tf32(bool allow);
/* What the library did so far: kernels launched, texts loaded, graphs recorded and replayed, steps
 * that the GPU has no kernel for and that ran on the CPU, on copies (DYNC_LOG=perf names them), and
 * how many of the texts loaded came as images from dync_cuda_cache's folder. */
typedef struct dync_cuda_counters {
    int64_t launches, loads, recordings, replays, host_steps, images;
} dync_cuda_counters;
DYNC_API dync_cuda_counters dync_cuda_get_counters(void);
#if defined(__cplusplus)
}
#endif
#endif
