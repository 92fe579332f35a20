/* Generated from src/dync_cuda.in.h by tools/amalgamate.c; edit src/ and run `make headers`. */
/* dync_cuda.h: NVIDIA GPUs for dync. Include after dync.h; link with -lcudart. tools/amalgamate
 * inlines this list into dync_cuda.h. */
#ifndef DYNC_CUDA_H
#define DYNC_CUDA_H
#ifndef DYNC_H
#error "dync_cuda.h: include dync.h first"
#endif

/* ==== cuda/public.h ================================================================================ */
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
#endif

#if defined(DYNC_CUDA_IMPLEMENTATION) && !defined(DYNC__CUDA_IMPLEMENTED)
#define DYNC__CUDA_IMPLEMENTED
#if !defined(DYNC__IMPLEMENTED)
#error "dync_cuda.h: define DYNC_CUDA_IMPLEMENTATION in the file that defines DYNC_IMPLEMENTATION"
#endif
DYNC__LEVELS_BEGIN

/* ==== cuda/rt.h ==================================================================================== */
/* cuda/rt.h: what is used of the CUDA runtime: its header where it is installed, else these
 * declarations of the same functions. Before everything else of cuda/. Source: CUDA Runtime API
 * 12.8, 13.0. */
#ifndef DYNC__CUDA_RT_H
#define DYNC__CUDA_RT_H
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

/* ==== cuda/ptx.h =================================================================================== */
/* cuda/ptx.h: PTX text from kernels of loop IR. After rt.h, before calls.c and launch.c. ptx.c
 * holds the text builder and the whole kernel, ptx_prim.c the primitives, ptx_mem.c addresses,
 * loads and stores, ptx_plan.c how a kernel is laid over threads, ptx_reduce.c reductions,
 * ptx_f16.c pairs of half floats, ptx_transpose.c transposed accesses through shared memory.
 *
 * Words: T threads work on a row; each holds lanes, in groups of `vec` neighbours that one memory
 * access moves. A pointwise kernel is one row and all threads of the grid. A kernel with few rows
 * and long ones is split over blocks: each phase is a launch that joins what the phases before left
 * in scratch memory and leaves its own partial results there; row code stores in a last one.
 * Registers are named after values: %mul7_2 is value 7 in lane 2. */
#ifndef DYNC__CUDA_PTX_H
#define DYNC__CUDA_PTX_H

/* ==== cuda/gpu.def.h =============================================================================== */
/* cuda/gpu.def.h: TABLE: the thresholds of GPUs, as base/machine.def.h has those of processors: how
 * large, how dear, how long something must be before another way of doing it is faster. None
 * decides what is right: another value gives the same results, but for the order of some sums.
 *
 * X(name, value, unit, "what it decides", "what measures it"): ptx.h makes the constant DYNC__name
 * of each row; `build/tools/dync-opt --thresholds` prints the table. What measures:
 *   gpu WORD   make gpu-bench, the rows of bench/gpu that begin so
 *   -          nothing yet: make a row of it first
 * Clocks are of a multiprocessor. What hardware has (bytes of shared memory, threads of a warp) are
 * no thresholds and stand where they are used. */
/* clang-format off */
#define DYNC__GPU_MACHINE(X) \
    /* ---- loops ---- */ \
    X(PTX_GATHERED, 7, loads, "more of them by an index leave no registers for several lanes", "gpu x") \
    X(PTX_ROW_LANES, 16, elements, "of a row in a thread where they are not kept", "gpu sum of rows") \
    X(PTX_SPLIT_FROM, 65536, elements, "of a row with several phases that are worth a launch each", "-") \
    X(PTX_IN_FLIGHT, 4, loads, "that a thread has under way at least", "gpu sum") \
    X(PTX_TRANSPOSE_LANES, 32, elements, "of a thread at most in what is transposed", "gpu sum of columns") \
    X(PTX_TRANSPOSE_LEAST, 16, places, "of a loop whose loads are transposed in shared memory", "gpu sum of columns") \
    X(CL_WINDOW, 64, products, "of a convolution's window that a thread does alone, unrolled", "gpu conv") \
    /* ---- products ---- */ \
    X(GM_PLAIN, 4096, products, "up to here loops do it", "gpu matmul") \
    X(GM_START, 1500, clocks, "of a block before its first product", "gpu matmul") \
    X(GM_JOIN, 4000, clocks, "of the launch that adds up what splits have", "gpu matmul") \
    X(GM_SPLITS, 32, blocks, "along one depth at most", "gpu matmul") \
    X(GM_BYTES, 1200, bytes, "of memory a clock, all multiprocessors", "gpu x + y") \
    X(GM_HELD, 144, registers, "of a thread for sums and for what it makes on the way", "gpu matmul of relu") \
    X(GM_REPACK, 256, lines, "of a side that is copied first where it lies in pieces", "gpu matmul bf16, 4095") \
    X(GM_WGMMA, 1800, products, "a clock by wgmma, where one is compared with it", "gpu matmul bf16") \
    X(GMP_WORDS, 16, words, "of a thread's share of a side that is made on the way", "gpu x @") \
    X(GMP_LAUNCH, 3000, clocks, "of the launch that this saves", "gpu x @") \
    X(GMP_LANES, 128, lanes, "of a multiprocessor that make such elements", "gpu x @") \
    /* ---- convolutions ---- */ \
    X(CUV_FEW, 16, channels, "fewer: loops do it, where the window is small (CUV_WINDOW)", "gpu conv") \
    X(CUV_WINDOW, 64, products, "of a window that is unrolled", "gpu conv") \
    X(CUV_PHASES, 16, strides, "of a gradient of the input: more are done by loops", "gpu conv") \
    X(CUV_BACK, 36, results, "of a thread in a gradient of one channel", "-") \
    /* ---- scattering ---- */ \
    X(SCA_FEW, 512, places, "up to here a line is walked in order where it is added", "-") \
    X(SCA_FEW_SET, 64, places, "the same where it is set", "-") \
    X(SCA_AHEAD, 4, loads, "that a walk has under way", "-") \
    X(SCA_CHUNK, 32, places, "of a sorted line that a thread adds up", "-")
/* clang-format on */

enum { /* thresholds */
#define DYNC__X(name, value, unit, decides, measures) DYNC__##name = value,
       DYNC__GPU_MACHINE(DYNC__X)
#undef DYNC__X
};

enum { DYNC__PTX_FLAT, DYNC__PTX_ROWS, DYNC__PTX_COLUMNS };
enum {
    DYNC__PTX_LAUNCHES = 6,
    DYNC__PTX_MAPS = 4,
    DYNC__PTX_CHECKS = 16,
    DYNC__PTX_BLOCK = 256,
    DYNC__PTX_LANES = 64,
    DYNC__PTX_TRANSPOSED = 6
};

/* How a kernel is laid over threads. */
typedef struct dync__ptx_shape {
    int mode, vec, groups; /* groups: of lanes per thread and iteration */
    int64_t threads;       /* T; 0: the whole grid */
    int64_t rows, inner;
    /* of the loop over the row; 1: straight code, values stay in registers */
    int64_t iterations;
    int64_t splits, chunk; /* of the row over blocks; inner indices of each */
    int rows_per_block, block;
    bool wide;    /* indices need 64 bits */
    bool guarded; /* an iteration may reach past the row's end */
    /* ptx_transpose.c: of the squares that blocks do, 0 none; their other loop */
    int side, across;
    int64_t blocks;
} dync__ptx_shape;

typedef struct dync__ptx_launch {
    char entry[96];
    int64_t grid[3];
    int block, shared_bytes;
    /* launched so often, the number of the launch being one more parameter; 0: once */
    int64_t steps;
} dync__ptx_launch;
/* Where the vector form asks for 16-byte boundaries: buffer and byte offset into it. */
typedef struct dync__ptx_check {
    int buf, align;
    int64_t offset;
} dync__ptx_check;
/* A tensor map (TMA) of a buffer: a parameter after the words, ".param .align 64 .b8 m0[128]".
 * Sizes and boxes in elements, the innermost first, strides in bytes from the second on. type,
 * swizzle: numbers of CUtensorMapDataType and CUtensorMapSwizzle. */
typedef struct dync__ptx_map {
    int buf, type, rank, swizzle;
    int64_t offset; /* bytes into the buffer */
    uint64_t size[5], stride[4];
    uint32_t box[5];
} dync__ptx_map;
typedef struct dync__ptx_text {
    dync__str text;
    int n_launches, n_checks, n_maps;
    dync__ptx_map map[DYNC__PTX_MAPS];
    dync__ptx_launch launch[DYNC__PTX_LAUNCHES];
    dync__ptx_check check[DYNC__PTX_CHECKS];
    int64_t scratch_bytes;
    bool random, is_vector;
} dync__ptx_text;

typedef struct dync__ptx_address {
    int buf, access, group, at;
    char reg[24];
} dync__ptx_address;
/* An access through shared memory: its place there, elements of one access of global memory. */
typedef struct dync__ptx_transposed {
    int buf, access, width, at;
    bool out;
} dync__ptx_transposed;
typedef struct dync__ptx {
    dync__str body, regs; /* statements; declarations */
    const dync__kernel *k;
    const bool *host;
    dync__ptx_shape shape;
    /* of what is being emitted: the tail of a flat kernel has one lane */
    int vec, groups;
    /* phase being emitted; stage: 1 a phase of a split kernel, 2 its row code, 0 not split */
    int n_phases, phase, stage;
    /* suffix that tells the tail's registers from the others; 0 none */
    char copy;
    const char *index; /* "u32" or "u64": type of linear indices */
    /* by instruction; uniform 1: within a group, 2: within the row */
    uint8_t *needed, *uniform;
    /* block in which the instruction's registers were last written; -1 nowhere */
    int32_t *where;
    /* the same of its registers of two f16 values (ptx_f16.c); NULL: there are none */
    int32_t *paired;
    int block; /* number of the block being emitted */
    int n_temps, n_labels, shared_bytes;
    int philox_of, philox_lane, philox_block; /* the draw whose words are in %ph */
    DYNC__VEC(dync__ptx_address) address;
    dync__arena *arena;
    dync__ptx_check check[DYNC__PTX_CHECKS];
    int n_checks;
    dync__ptx_transposed transposed[DYNC__PTX_TRANSPOSED];
    int n_transposed, transposed_bytes;
    bool failed, unsupported, uses_random;
    /* of a piece in two steps: 1 loads leave what they read in registers named after them, 2 that
     * is made values */
    int raw;
    /* number of the store that is not done, + 1: its value is asked for; 0 none */
    int taken;
    int most; /* neighbours of a group, at most; 0: as may be */
    /* a buffer is read and written: threads past the last row may not even read */
    bool in_place;
    char name[16][40]; /* operands under way */
    int next_name;
} dync__ptx;

/* ---- text (ptx.c) ---------------------------------------------------------------------------- */
/* one statement */
DYNC__FN void dync__ptx_line(dync__ptx *, const char *fmt, ...) DYNC__PRINTF(2, 3);
/* declares a register */
DYNC__FN void dync__ptx_reg(dync__ptx *, const char *type, const char *name);
/* a fresh one */
DYNC__FN const char *dync__ptx_temp(dync__ptx *, const char *type);
/* "f32" ... "pred" */
DYNC__FN const char *dync__ptx_type(int compute_type);
/* "b32" "b64" */
DYNC__FN const char *dync__ptx_bits(int compute_type);
/* register or immediate of a value; emits it again where it is not at hand */
DYNC__FN const char *dync__ptx_use(dync__ptx *, int inst, int lane);
DYNC__FN const char *dync__ptx_in_reg(dync__ptx *, int inst, int lane); /* never an immediate */
DYNC__FN const char *dync__ptx_constant(dync__ptx *, int type, dync__scalar);
/* declares and names the register of a value */
DYNC__FN const char *dync__ptx_dest(dync__ptx *, int inst, int lane);
/* recursion: all lanes of one instruction in the block being emitted, operands first */
DYNC__FN void dync__ptx_emit(dync__ptx *, int inst);
DYNC__FN const char *dync__ptx_guard(dync__ptx *, int lane, bool writes); /* "@%in0 " or "" */
/* Row code: once per row. A flat kernel has none, whatever the section. */
DYNC__INLINE bool dync__ptx_is_row(const dync__ptx *p, const dync__inst *in)
{
    return !(in->section & 1) && p->shape.mode != DYNC__PTX_FLAT;
}
/* nothing where nothing is written in place */
DYNC__FN void dync__ptx_row_barrier(dync__ptx *);
/* lanes it is computed in: 1 where it is uniform in the row */
DYNC__INLINE const dync__inst *dync__ptx_inst(const dync__ptx *p, int i)
{
    return &p->k->inst.at[i];
}
DYNC__FN bool dync__ptx_at_hand(const dync__ptx *p,
                                int i); /* made already, or made where it is used */
DYNC__FN int dync__ptx_lanes(const dync__ptx *, int inst);
/* the lane that holds its value for this one */
DYNC__FN int dync__ptx_lane(const dync__ptx *, int inst, int lane);
/* Writes the module; form 0 with vector accesses, 1 without. Fails with DYNC_ERR_MEMORY or
 * DYNC_ERR_UNSUPPORTED. */
DYNC__FN dync_status dync__ptx_kernel(const dync__kernel *, const bool *host, int units,
                                      bool scalar, dync__ptx_text *out);
/* everything of one section */
DYNC__FN void dync__ptx_section(dync__ptx *, int section);
/* A pointwise kernel as pieces of another text (tile.h, dync__cuda_tile_begin_kernel and
 * _piece). */
DYNC__FN bool dync__ptx_piece_begin(dync__ptx *, dync__arena *, const dync__kernel *,
                                    const bool *host, int64_t columns, bool scalar);
DYNC__FN void dync__ptx_piece(dync__ptx *, const char *linear, int given, char value[][24]);
/* The same in two steps, for a kernel whose only store is `taken`: loads from `linear` on; later
 * the values, `vec` of them. load gives what value asks for. */
DYNC__FN int dync__ptx_piece_load(dync__ptx *, const char *linear);
DYNC__FN void dync__ptx_piece_value(dync__ptx *, int loaded, char value[][40]);
DYNC__FN void dync__ptx_header(dync__str *, const char *target);
/* ---- ptx_plan.c ------------------------------------------------------------------------------ */
/* units: multiprocessors; 0: of another text */
DYNC__FN void dync__ptx_plan(dync__ptx *, int units, bool scalar);
DYNC__FN bool dync__ptx_is_vector(const dync__ptx *, int buf, int access);
DYNC__FN bool dync__ptx_has_reduce(const dync__kernel *);
/* ---- ptx_prim.c ------------------------------------------------------------------------------ */
DYNC__FN void dync__ptx_prim(dync__ptx *, int inst, int lane);
/* ---- ptx_mem.c ------------------------------------------------------------------------------- */
DYNC__FN void dync__ptx_load(dync__ptx *, int inst);
DYNC__FN void dync__ptx_store(dync__ptx *, int inst);
/* What a guarded load finds in its register where the guard is false: 0. It must find something
 * (ptxas 13.0 takes another load of the same address for one into a register that holds nothing,
 * whatever the guards say). Nothing where guard is "". type: the register's, "f32" "b64". */
DYNC__FN void dync__ptx_unloaded(dync__ptx *, const char *guard, const char *type,
                                 const char *name);
/* of a load or store of one element: "f32" "b16" "u8" */
DYNC__FN const char *dync__ptx_memory_type(int dtype);
/* of the register that it goes through */
DYNC__FN const char *dync__ptx_raw_type(int dtype);
/* the element is the value */
DYNC__FN bool dync__ptx_is_plain(int dtype);
/* where it is not */
DYNC__FN void dync__ptx_widen(dync__ptx *, int dtype, const char *to, const char *raw);
DYNC__FN void dync__ptx_narrow(dync__ptx *, int dtype, const char *raw, const char *from);
DYNC__FN void dync__ptx_index(dync__ptx *, int inst, int lane);
/* reg += coordinate * by, in 64 bits */
DYNC__FN void dync__ptx_add_scaled(dync__ptx *, const char *reg, const char *coordinate,
                                   int64_t by);
/* ---- ptx_f16.c ------------------------------------------------------------------------------ */
DYNC__FN void dync__ptx_mark_pairs(dync__ptx *);
DYNC__FN void dync__ptx_pair_is(dync__ptx *, int inst, int lane, const char *word);
/* name: 48 characters */
DYNC__FN bool dync__ptx_pair_of(dync__ptx *, int inst, int lane, int dtype, char *name);
DYNC__FN bool dync__ptx_emit_pairs(dync__ptx *, int inst);
/* ---- ptx_transpose.c ------------------------------------------------------------------------- */
DYNC__FN int dync__ptx_transpose_bytes(const dync__ptx *p, const dync__ptx_transposed *t);
/* to = the exclusive or of row `m` (b32 registers all). */
DYNC__FN void dync__ptx_transpose_swizzle(dync__ptx *p, const dync__ptx_transposed *t,
                                          const char *to, const char *m);
DYNC__FN void dync__ptx_plan_transpose(dync__ptx *, int units, bool scalar);
/* number in p->transposed, or -1 */
DYNC__FN int dync__ptx_transposed_of(const dync__ptx *, const dync__inst *);
/* address in shared memory */
DYNC__FN void dync__ptx_transposed_place(dync__ptx *, int transposed, int group, int element,
                                         char *out, size_t cap);
/* the statements of a kernel that runs in squares */
DYNC__FN void dync__ptx_transpose(dync__ptx *);
/* ---- ptx_reduce.c ---------------------------------------------------------------------------- */
/* accumulators of the phase, before its loop */
DYNC__FN void dync__ptx_reduce_begin(dync__ptx *);
/* takes the lanes of its operand in */
DYNC__FN void dync__ptx_reduce_step(dync__ptx *, int inst);
/* results in every thread of the row */
DYNC__FN void dync__ptx_reduce_end(dync__ptx *, int phase);
/* of the phase, where the row is split */
DYNC__FN void dync__ptx_partials_store(dync__ptx *);
/* results of the phases before, as far as they are needed */
DYNC__FN void dync__ptx_partials_load(dync__ptx *);
DYNC__FN int64_t dync__ptx_partial_bytes(const dync__ptx *);
/* ---- ptx.c ----------------------------------------------------------------------------------- */
/* Coordinates of loops [from, to) from a linear index in `linear`: names are prefix, loop,
 * suffix. */
DYNC__FN void dync__ptx_coordinates(dync__ptx *p, int from, int to, const char *linear,
                                    const char *prefix, const char *suffix);
DYNC__FN int dync__ptx_first_inner(const dync__ptx *p);
/* Parameters into registers. */
DYNC__FN void dync__ptx_open(dync__ptx *p);
/* Seed and offset, from the parameters or, where a graph is recorded, from memory. */
DYNC__FN void dync__ptx_open_random(dync__ptx *p);
DYNC__FN void dync__ptx_close(dync__ptx *p, dync__ptx_text *out, int64_t gx, int64_t gy, int block);
DYNC__FN void dync__ptx_flat(dync__ptx *p, dync__ptx_text *out, int units);
/* Which row, which thread of it. */
DYNC__FN void dync__ptx_row_begin(dync__ptx *p);
DYNC__FN void dync__ptx_phase(dync__ptx *p, int phase);
/* p->needed of `all`: what a phase of a split kernel stores and reduces, or (phase n_phases) what
 * row code stores, and what that takes; reductions of phases before come from the scratch memory.
 * False: nothing. */
DYNC__FN bool dync__ptx_launch_needs(dync__ptx *p, const uint8_t *all, int phase);

/* ptx_mem.c */
DYNC__FN const char *dync__ptx_address_of(dync__ptx *p, int buf, int access, int group);
DYNC__FN void dync__ptx_list(char *out, size_t cap, int n, char name[][40]);
DYNC__FN const char *dync__ptx_spot(dync__ptx *p, const dync__inst *in, int group, int k,
                                    const char *at, char *out, size_t cap);
DYNC__FN bool dync__ptx_moves_groups(const dync__ptx *p, const dync__inst *in);
#endif

/* ==== cuda/cuda.h ================================================================================== */
/* cuda/cuda.h: what the files that talk to the runtime share. After ptx.h. device.c: devices,
 * errors, streams; memory.c: the allocator and copies; image.c: compiled images in files; launch.c:
 * code; graphs.c: recorded graphs; loops.c, calls.c: kernel calls as PTX. */
#ifndef DYNC__CUDA_CUDA_H
#define DYNC__CUDA_CUDA_H

enum { DYNC__CUDA_DEVICES = 16 };
/* a device: multiprocessors, compute capability */
typedef struct dync__cuda_unit {
    int units, major, minor;
} dync__cuda_unit;

/* ---- device.c -------------------------------------------------------------------------------- */
DYNC__FN int dync__cuda_count(void);
DYNC__FN const char *dync__cuda_why(void); /* there is none; "" */
DYNC__FN const dync__cuda_unit *dync__cuda_unit_of(int index);
DYNC__FN dync_status dync__cuda_known(int device);
DYNC__FN int dync__cuda_driver(void); /* 13000: CUDA 13.0 */
/* A function of the driver by name, as of that version; NULL: it has none. */
typedef void (*dync__cuda_function)(void);
DYNC__FN dync__cuda_function dync__cuda_driver_function(const char *name, unsigned version);
/* OK, or the error with the runtime's words, recorded. */
DYNC__FN dync_status dync__cuda_check(cudaError_t, const char *what);
/* the device of this thread's next calls */
DYNC__FN dync_status dync__cuda_enter(int device);
/* current in this thread */
DYNC__FN cudaStream_t dync__cuda_stream(int device);
struct dync_cuda_stream {
    int device;
    cudaStream_t stream;
};
struct dync_cuda_event {
    int device;
    cudaEvent_t event;
};
/* A graph being recorded by this thread: memory given back meanwhile is kept for it. */
typedef struct dync__cuda_kept {
    int device;
    void *p;
    size_t n;
} dync__cuda_kept;
typedef struct dync__cuda_recording {
    cudaStream_t stream;
    int device;
    DYNC__VEC(dync__cuda_kept) kept;
    void *rng; /* {seed, offset} on the device */
    uint64_t rng_first;
    /* left: a step went to the CPU, which no graph can record */
    bool failed, left;
} dync__cuda_recording;
typedef struct dync__cuda_thread {
    dync_cuda_stream *stream[DYNC__CUDA_DEVICES];
    dync__cuda_recording *recording;
} dync__cuda_thread;
DYNC__DATA_DECL DYNC__TLS dync__cuda_thread dync__cuda_tls;
DYNC__DATA_DECL dync_cuda_counters dync__cuda_counters;
DYNC__DATA_DECL int dync__cuda_tf32; /* dync_cuda_allow_tf32 */

/* ---- memory.c -------------------------------------------------------------------------------- */
DYNC__FN void *dync__cuda_alloc(int device, size_t n);
/* DYNC_CPU: page-locked memory */
DYNC__FN void dync__cuda_free(int device, void *p, size_t n);
DYNC__FN dync_status dync__cuda_copy(int to_device, void *dst, int from_device, const void *src,
                                     size_t n);
/* does not wait */
DYNC__FN dync_status dync__cuda_copy_later(int to_device, void *dst, int from_device,
                                           const void *src, size_t n);
DYNC__FN void *dync__cuda_alloc_pinned(size_t n);
DYNC__FN dync_cuda_memory dync__cuda_stats(int index);
/* kept blocks go back to the driver */
DYNC__FN void dync__cuda_trim(int device);
DYNC__FN void dync__cuda_trim_stream(int device, cudaStream_t);

/* ---- image.c: compiled images in files ------------------------------------------------------- */
/* NULL, "": none are kept */
DYNC__FN dync_status dync__cuda_images_in(const char *folder);
/* Loads the image of a text for the device, from its file or made now. False: none are kept, or it
 * was not to be; no error then. */
DYNC__FN bool dync__cuda_image_load(int index, const char *text, cudaLibrary_t *library);

/* ---- code: parts in order, each a text in up to four forms: for memory on boundaries and any
 * device, without
 * vector accesses, for this very device (dync__cuda_add_variant), and of f32 where the user allows
 * tf32 ---- */
enum {
    DYNC__CUDA_ANY,
    DYNC__CUDA_UNALIGNED,
    DYNC__CUDA_VARIANT,
    DYNC__CUDA_TF32,
    DYNC__CUDA_FORMS
};
/* a tensor map, and the address it was made for */
typedef struct dync__cuda_kept_map {
    uint64_t base, word[16];
} dync__cuda_kept_map;
typedef struct dync__cuda_form {
    dync__ptx_text text;
    dync__cuda_kept_map *kept;        /* of text.map */
    struct dync__cuda_module *module; /* loaded; NULL: not yet */
    bool made;
} dync__cuda_form;
/* What is done to the result of a kernel call: a kernel that loads it, whose buffers stand behind
 * the call's operands (host: one element in main memory); keep: the result itself is wanted too. k
 * NULL: nothing. pre: what makes operands 0 and 1, buffers behind those of k; or NULL. */
typedef struct dync__cuda_end {
    const dync__kernel *k, *pre[2];
    const bool *host;
    bool keep;
} dync__cuda_end;
/* A part that packs input `input` - 1 of the plan into a temporary: of what it did so last, and the
 * memory that keeps it; NULL: none yet. */
typedef struct dync__cuda_packed {
    int input, operand, temp;
    const void *from;
    uint64_t storage;
    uint32_t version;
    cudaStream_t stream;
    void *memory;
} dync__cuda_packed;
typedef struct dync__cuda_part {
    /* from which the forms are made, in the code's arena; NULL: form 0 is there */
    dync__kernel *kernel;
    dync__cuda_form form[DYNC__CUDA_FORMS];
    int n;        /* buffers of the text */
    int32_t *buf; /* of the code's buffers; below 0: temporary -1 - buf */
    bool *host;
    /* makes the forms instead of the kernel, which is what is done to the results */
    struct dync__gm *gemm;
    dync__kcall *call;         /* instead: run on the CPU, on copies */
    dync__cuda_packed *packed; /* or NULL */
} dync__cuda_part;
typedef struct dync__cuda_code {
    dync__arena arena;
    int device, n_buffers;
    DYNC__VEC(dync__cuda_part) part;
    DYNC__VEC(int64_t) temp;   /* bytes of each temporary */
    dync__mutex lock, packing; /* while a form is made; while kept memory is used */
    bool packs;
} dync__cuda_code;

/* ---- launch.c -------------------------------------------------------------------------------- */
DYNC__FN void *dync__cuda_kernel_new(int device, const dync__kernel *, const bool *host);
/* texts are made and loaded; NULL: the code is let go */
DYNC__FN void *dync__cuda_code_finish(dync__cuda_code *, bool ok);
DYNC__FN void *dync__cuda_call_new(int device, const dync__kcall *,
                                   const dync__kernel *const with[3], const bool *host, bool keep);
DYNC__FN dync_status dync__cuda_run(const void *code, void *const *buffers, uint64_t seed,
                                    uint64_t offset);
DYNC__FN void dync__cuda_code_free(void *code);
DYNC__FN void dync__cuda_code_dump(dync__str *, const void *code);
/* ---- graphs.c -------------------------------------------------------------------------------- */
DYNC__FN dync_status dync__cuda_record(int device, const dync__graph *, dync__inner *);

/* ---- loops.c, calls.c: kernel calls. Buffers of a loop kernel are operand numbers, or
 * DYNC__CUDA_TEMP - number. */
enum { DYNC__CUDA_TEMP = 1000 };
/* parts.c: a copy that lives as long as the code; a part over n buffers, NULL: the error is told */
DYNC__FN dync__kernel *dync__cuda_kernel_copy(dync__arena *, const dync__kernel *);
DYNC__FN dync__cuda_part *dync__cuda_part_new(dync__cuda_code *, int n);
/* a kernel in the code's arena as the next part */
DYNC__FN bool dync__cuda_add_loop(dync__cuda_code *, dync__kernel *);
/* One that packs an operand into a temporary: an input of the plan that stays as it is (weights) is
 * packed once. */
DYNC__FN bool dync__cuda_add_pack(dync__cuda_code *, dync__kernel *, const dync__kcall *,
                                  int operand, int temp);
/* takes the text over */
DYNC__FN bool dync__cuda_add_text(dync__cuda_code *, const dync__ptx_text *, int n,
                                  const int32_t *buf);
/* Variants by capability. dync__cuda_takes: does the device run texts of this target, in this
 * version of PTX (80: 8.0)? "sm_90a" is for 9.0 alone; the variable DYNC_CUDA_TARGET=sm_80 leaves
 * only what every device runs. dync__cuda_add_variant: such a text (launch[], shared_bytes, check[]
 * and map[] as in any text) for the part added last, with the same buffers; taken over. It runs
 * where the driver takes it and its checks hold, else the part's own text does, which is always
 * there too. Words come first (buffers, scratch; no random numbers), then m0, m1 ... of map[];
 * clusters by .reqnctapercluster. */
DYNC__FN bool dync__cuda_takes(int device, const char *target, int version);
DYNC__FN bool dync__cuda_add_variant(dync__cuda_code *, const dync__ptx_text *);
/* the same as another form; DYNC__CUDA_TF32: where that is allowed */
DYNC__FN bool dync__cuda_add_form(dync__cuda_code *, int form, const dync__ptx_text *);
DYNC__FN bool dync__cuda_add_gemm(dync__cuda_code *, struct dync__gm *, const dync__kernel *end,
                                  const bool *host, const int32_t *buf);
/* its buffer id in loop kernels; -1 no memory */
DYNC__FN int dync__cuda_add_temp(dync__cuda_code *, int64_t bytes);
DYNC__FN dync_status dync__cuda_call_loops(dync__cuda_code *, const dync__kcall *, bool *done);
DYNC__FN dync_status dync__cuda_call_text(dync__cuda_code *, const dync__kcall *, bool *done);
DYNC__FN dync_status dync__cuda_call_scatter(dync__cuda_code *, const dync__kcall *, bool *done);
DYNC__FN dync_status dync__cuda_call_attention(dync__cuda_code *, const dync__kcall *, bool *done);
DYNC__FN dync_status dync__cuda_call_recurrent(dync__cuda_code *, const dync__kcall *, bool *done);
DYNC__FN dync_status dync__cuda_call_sort(dync__cuda_code *, const dync__kcall *, bool *done);
/* x sorted along dim, stable: the values, and the places they had (i64). buf: of x, values,
 * places. */
DYNC__FN dync_status dync__cuda_add_sort(dync__cuda_code *, const dync__operand *x,
                                         const dync__operand *values, const dync__operand *places,
                                         int dim, bool descending, const int32_t *buf);
/* elements, dim skip counted as one; -1: all */
DYNC__FN int64_t dync__cuda_numel(const dync__operand *, int skip);

/* launch.c */
DYNC__FN const dync__cuda_form *dync__cuda_form_of(dync__cuda_code *c, dync__cuda_part *part,
                                                   int which);
#endif

/* ==== cuda/tile.h ================================================================================== */
/* cuda/tile.h: what kernels written out as PTX text share: the text itself, shared memory,
 * cp.async, swizzled rows, ldmatrix, mma.sync. After ptx.h and cuda.h; tile.c has the bodies.
 * gemm*.c, conv, attention and wgmma are built on it.
 *
 *   text        dync__cuda_tile t; dync__cuda_tile_begin(&t, 3) opens an entry with buffers 0..2:
 *               their addresses are in %b0..%b2 dync__ptx_reg / _line / _temp(&t.p, ...) registers
 *               and statements, as everywhere dync__cuda_tile_entry(&t, "name", gx, gy, gz,
 *               threads) closes it; dync__cuda_tile_next(&t) opens another that is launched after
 *               it dync__cuda_tile_end(&t, code, buf) adds the text to the code as its next part
 *               (frees it where it fails)
 *   registers   every entry has %true, %thr (threadIdx.x), %lane, %warp, %cta (blockIdx.x), %smem;
 *               %scratch after dync__cuda_tile_scratch
 *   memory      dync__cuda_tile_shared gives offsets into dynamic shared memory, which begins at
 *               %smem, on a boundary of 1024
 *   rows        tiles in shared memory are rows of 128 bytes, eight chunks of 16: chunk c of row r
 *               lies at r * 128 + (c ^ (r & 7)) * 16, so that the 8 rows that one phase of ldmatrix
 *               reads, and the 8 chunks that 8 lanes write, lie in 32 different banks
 *   fragments   mma.sync m16n8: lane holds rows lane / 4 and + 8 of a and of the accumulators,
 *               column lane / 4 of b; accumulator i of 4 stands at row lane / 4 + 8 (i / 2), column
 *               lane % 4 * 2 + i % 2 (dync__cuda_tile_acc_row, _col)
 * Names given to functions begin with '%'; addresses in shared memory are b32 registers, in global
 * memory b64. Sources: NVIDIA, PTX ISA 8.0, 9.7.8.24 (cp.async), 9.7.13.4 (mma, ldmatrix). */
#ifndef DYNC__CUDA_TILE_H
#define DYNC__CUDA_TILE_H

typedef struct dync__cuda_tile {
    dync__ptx p; /* statements and registers of the entry being written */
    /* what is done; scratch_bytes and checks are the maker's to set */
    dync__ptx_text out;
    int n_buffers, shared; /* bytes of dynamic shared memory so far */
    /* launches of the next entry, whose numbers are in the parameter behind the scratch; 0: one,
     * without */
    int64_t steps;
    /* lines of an entry before its body, such as those of a cluster; NULL: none */
    const char *directives;
    /* "sm_80" unless changed before the first dync__cuda_tile_entry */
    const char *target;
} dync__cuda_tile;

/* ---- text ------------------------------------------------------------------------------------ */
DYNC__FN void dync__cuda_tile_begin(dync__cuda_tile *, int n_buffers);
DYNC__FN void dync__cuda_tile_next(dync__cuda_tile *);
DYNC__FN void dync__cuda_tile_entry(dync__cuda_tile *, const char *name, int64_t gx, int64_t gy,
                                    int64_t gz, int threads);
/* buf[i]: operand, or temporary, of buffer i */
DYNC__FN bool dync__cuda_tile_end(dync__cuda_tile *, dync__cuda_code *, const int32_t *buf);
/* %scratch: out.scratch_bytes, shared by the launches */
DYNC__FN void dync__cuda_tile_scratch(dync__cuda_tile *);
/* offset from %smem */
DYNC__FN int dync__cuda_tile_shared(dync__cuda_tile *, int bytes, int align);
/* %acc -> %acc0 .. %acc<n-1> */
DYNC__FN void dync__cuda_tile_regs(dync__cuda_tile *, const char *type, const char *prefix, int n);
/* a new u32 register = %ctaid.y and the like */
DYNC__FN void dync__cuda_tile_special(dync__cuda_tile *, const char *name, const char *special);
DYNC__FN void dync__cuda_tile_set(dync__cuda_tile *, const char *type, const char *name,
                                  const char *op, const char *fmt, ...) DYNC__PRINTF(5, 6);
/* a new register of the type: "op.type name, operands"; op
                                          * has its dots ("mul.lo") */
DYNC__FN void dync__cuda_tile_label(dync__cuda_tile *, const char *fmt, ...) DYNC__PRINTF(2, 3);
/* a comment in the text */
DYNC__FN void dync__cuda_tile_note(dync__cuda_tile *, const char *fmt, ...) DYNC__PRINTF(2, 3);
/* a new b64 register; from: b64, or NULL */
DYNC__FN void dync__cuda_tile_wide(dync__cuda_tile *, const char *name, const char *from);
/* at += bytes * (offset + sum of stride * coordinate over the dims of o but `skip`); `linear` (b64)
 * counts over `walked`, sizes of those dims. */
DYNC__FN void dync__cuda_tile_address(dync__cuda_tile *, const char *at, const dync__operand *o,
                                      const int64_t *walked, int skip, const char *linear);
/* to (b64) = the descriptor of a matrix that begins at `base` (b32) in shared memory: rows of 128
 * bytes with 128-byte swizzle, groups of eight 1024 bytes apart; lead: bytes from 64 columns to the
 * next. */
DYNC__FN void dync__cuda_tile_descriptor(dync__cuda_tile *, const char *to, const char *base,
                                         int lead);
/* value, a register of the dtype's compute type, from or to [at] in global memory; guard: "" or
 * "@%p ". */
DYNC__FN void dync__cuda_tile_load(dync__cuda_tile *, int dtype, const char *value, const char *at,
                                   const char *guard);
DYNC__FN void dync__cuda_tile_store(dync__cuda_tile *, int dtype, const char *at, const char *value,
                                    const char *guard);

/* ---- a pointwise kernel inside of a text: what is done to results before they are stored ----- */
/* Opens a text with the buffers of k (host: those that are one element in main memory). Its
 * elements are asked for by their linear index over k's loops, in groups of p.shape.vec neighbours,
 * which divides `columns`; 1 where scalar. The boundaries that its accesses need: p.check. False:
 * no memory, recorded. The arena must last until dync__cuda_tile_end. */
DYNC__FN bool dync__cuda_tile_begin_kernel(dync__cuda_tile *, dync__arena *, const dync__kernel *k,
                                           const bool *host, int64_t columns, bool scalar);
/* The elements from `linear` (a register of type p.index) on; loads of buffer `given` are
 * value[lane] instead, registers of its compute type. */
DYNC__FN void dync__cuda_tile_piece(dync__cuda_tile *, const char *linear, int given,
                                    char value[][24]);

/* ---- cp.async -------------------------------------------------------------------------------- */
/* [to + to_at] in shared memory = `bytes` (4, 8, 16) of [from + from_at]; size: b32 register, bytes
 * of them to read, the rest is zeros; NULL: all. Visible to the thread after commit and wait(n) (at
 * most n younger groups under way), to others after a barrier behind that. */
DYNC__FN void dync__cuda_tile_cp(dync__cuda_tile *, int bytes, const char *to, int to_at,
                                 const char *from, int64_t from_at, const char *size);
DYNC__FN void dync__cuda_tile_commit(dync__cuda_tile *);
DYNC__FN void dync__cuda_tile_wait(dync__cuda_tile *, int n);
DYNC__FN void dync__cuda_tile_barrier(dync__cuda_tile *);

/* A window of `rows` rows of 128 bytes of global memory, copied by all threads of the block as
 * swizzled rows. Registers: name_g the thread's address, name_r its first row, name_s its place in
 * the tile, name_ok0.. which of its rows exist, name_n bytes of its chunk that exist. */
typedef struct dync__cuda_tile_rows {
    const char *name;
    int rows, threads;
    int64_t row_bytes;
    /* b32, signed: rows that exist, asked at every copy (they are a window's depth); NULL:
     * rows_left of _begin holds */
    const char *rows_now;
    bool ragged;
} dync__cuda_tile_rows;
/* base: b64, of row 0; rows_left: b32, rows that exist, or NULL for all. threads: 64 or more, a
 * power of two; rows * 8 a multiple of it. */
DYNC__FN void dync__cuda_tile_rows_begin(dync__cuda_tile *, dync__cuda_tile_rows *,
                                         const char *base, const char *rows_left);
/* To the tile at `to` (b32 register) + at; bytes_left: b32, signed, how many of the 128 exist, NULL
 * for all. Rows and bytes that do not are zeros. */
DYNC__FN void dync__cuda_tile_rows_copy(dync__cuda_tile *, const dync__cuda_tile_rows *,
                                        const char *to, int at, const char *bytes_left);
/* the window, in global memory */
DYNC__FN void dync__cuda_tile_rows_move(dync__cuda_tile *, const dync__cuda_tile_rows *,
                                        int64_t bytes);

/* ---- fragments ------------------------------------------------------------------------------- */
enum { DYNC__TILE_BF16, DYNC__TILE_F16, DYNC__TILE_TF32, DYNC__TILE_S8, DYNC__TILE_U8 };
/* bytes of an element, depth of one mma: 32 bytes */
typedef struct dync__cuda_tile_kind {
    const char *shape, *in, *acc;
    int bytes, k;
} dync__cuda_tile_kind;
DYNC__FN const dync__cuda_tile_kind *dync__cuda_tile_kind_of(int kind);
/* Where the lane's row for ldmatrix.x4 lies in a tile: name0 .. name<n-1> are the offsets for pairs
 * of chunks 0 .. n - 1 (32 bytes each), of the lane's row behind row0 (b32, a multiple of 8, or
 * NULL for 0). More rows down: + 128 bytes each, for multiples of 8.
 *   order 0   matrices in the order (row, chunk) (row + 8, chunk) (row, chunk + 1) (row + 8, chunk
 *             + 1): a with k along the row; b with .trans
 *   order 1   (row, chunk) (row, chunk + 1) (row + 8, chunk) (row + 8, chunk + 1): b with k along
 *             the row, two n8 tiles; a with .trans */
DYNC__FN void dync__cuda_tile_matrix(dync__cuda_tile *, const char *name, int n, int order,
                                     const char *row0);
/* {reg<first> .. reg<first+3>} = four 8 x 8 matrices of 16-bit elements whose rows are at [address
 * + at]. */
DYNC__FN void dync__cuda_tile_ldmatrix(dync__cuda_tile *, bool trans, const char *reg, int first,
                                       const char *address, int at);
/* {acc<c> ..+3} += {a<ia> ..+3} {b<ib>, b<ib+1>} */
DYNC__FN void dync__cuda_tile_mma(dync__cuda_tile *, int kind, const char *acc, int c,
                                  const char *a, int ia, const char *b, int ib);
DYNC__INLINE int dync__cuda_tile_swizzle(int row, int chunk)
{
    return row * 128 + (chunk ^ (row & 7)) * 16;
}
DYNC__INLINE int dync__cuda_tile_acc_row(int lane, int i) { return lane / 4 + 8 * (i / 2); }
DYNC__INLINE int dync__cuda_tile_acc_col(int lane, int i) { return lane % 4 * 2 + i % 2; }
#endif

/* ==== cuda/attention.h ============================================================================= */
/* cuda/attention.h: what the kernels of attention (attention.c) are put together from
 * (attention_tile.c). After tile.h.
 *
 * A block has a tile of rows and walks over tiles of columns. Three products with two kinds of
 * operands make them all:
 *   nt   acc[row][column] += sum over the width of a[row] . b[column] scores: both tiles lie row by
 *        row in shared memory
 *   nn   acc[row][column] += sum over k of w[row][k] * b[k][column] w: what was made of the scores,
 *        in registers
 * in two arithmetics: `mma`, half floats by mma.sync m16n8k16 with f32 accumulators, a warp to 16
 * mt rows; else f32 by fma, 16 threads side by side along the columns, and w goes by way of shared
 * memory, which only the warp itself touches. Rows of tiles lie 16 bytes more than their width
 * apart: eight rows then begin in different banks, for ldmatrix and for 16-byte loads. A tile `x`
 * has the registers %x_g, %x_s (the thread's place in global and shared memory), %x_r (its row),
 * %x_a, %x_b, %x_n (readers). */
#ifndef DYNC__CUDA_ATTENTION_H
#define DYNC__CUDA_ATTENTION_H

#define DYNC__FA_LOG2E 1.4426950408889634074
enum {
    DYNC__FA_GQ = 1,
    DYNC__FA_GK = 2,
    DYNC__FA_GV = 4,
    DYNC__FA_SHARED = 99 * 1024,
    DYNC__FA_WIDEST = 256
};

typedef struct dync__fa_tile {
    const char *name;
    const dync__operand *o;
    /* width: columns, filled up with zeros to a multiple of 16; at: in shared memory */
    int buf, rows, width, at;
    int stage;              /* bytes from one copy to the other; 0: there is one */
    int64_t limit, columns; /* rows and columns that exist */
} dync__fa_tile;

/* Accumulators: registers name0, name1, ... of a thread's rows x cols elements. vec: neighbours
 * among its columns (fma, nn). */
typedef struct dync__fa_frag {
    const char *name;
    int rows, cols, vec;
} dync__fa_frag;

typedef struct dync__fa {
    dync__cuda_tile t;
    const dync__operand *op, *q, *k, *v, *gy, *mask;
    bool mma, vec, causal; /* vec: rows are moved 16 bytes at a time */
    int n_batch, dtype, kind, bytes, threads, mt;
    int rows, cols; /* of the block's tile of rows, of a tile of columns */
    int weights;    /* w in shared memory; its rows are cols wide */
    int64_t L, S, E, V, units;
    /* blocks that share the keys of a tile of queries; keys of each; forward only */
    int64_t splits, chunk;
    double scale;
    /* of forward: heads that share keys and values are rows of one unit */
    dync__operand own[6];
} dync__fa;

/* %u0, %u1, ...: batch coordinates of %unit */
DYNC__FN void dync__fa_units(dync__fa *);
/* a new register: address of the unit's matrix */
DYNC__FN void dync__fa_base(dync__fa *, const char *name, const dync__operand *, int buf);
/* row0: b32, the first row to be taken */
DYNC__FN void dync__fa_tile_begin(dync__fa *, dync__fa_tile *, const char *row0);
/* asks for its rows and goes on to the next */
DYNC__FN void dync__fa_issue(dync__fa *, const dync__fa_tile *);
/* 'a', 'b', 'n' */
DYNC__FN void dync__fa_reader(dync__fa *, const dync__fa_tile *, char how);
/* its readers go to the other copy */
DYNC__FN void dync__fa_flip(dync__fa *, const dync__fa_tile *, const char *how);
DYNC__FN dync__fa_frag dync__fa_frag_new(dync__fa *, const char *name, int width, bool nn);
DYNC__FN void dync__fa_zero(dync__fa *, const dync__fa_frag *);
/* name[24] */
DYNC__FN const char *dync__fa_reg(dync__fa *, const dync__fa_frag *, int i, int j, char *name);
/* behind %rb, the thread's first row of the tile */
DYNC__FN int dync__fa_row(const dync__fa *, int i);
/* behind %cb (nt) or %cn (nn) */
DYNC__FN int dync__fa_col(const dync__fa *, const dync__fa_frag *, int j);
DYNC__FN void dync__fa_nt(dync__fa *, const dync__fa_frag *, const dync__fa_tile *a,
                          const dync__fa_tile *b);
/* scores as operand w of the products that follow */
DYNC__FN void dync__fa_weights(dync__fa *, const dync__fa_frag *);
DYNC__FN void dync__fa_nn(dync__fa *, const dync__fa_frag *, const dync__fa_tile *b);
/* Row by row over the threads that share it: max or sum of name<i>. */
DYNC__FN void dync__fa_across(dync__fa *, const char *op, const char *name, int n);
/* out = frag * times (a register prefix<i> of the row, or one constant); row0: the tile's first
 * row, of `limit`. */
DYNC__FN void dync__fa_write(dync__fa *, const dync__fa_frag *, const dync__operand *, int buf,
                             const char *times, bool by_row, int64_t limit);
/* ---- attention.c ----------------------------------------------------------------------------- */
/* first: place of q; grad: the gradient's operands. */
DYNC__FN void dync__fa_open(dync__fa *c, const dync__kcall *call, bool grad, bool vec);
/* Is it for these kernels? Rows of a tile must be reached by 32-bit offsets. */
DYNC__FN bool dync__fa_can(const dync__fa *c, int n);
/* Can rows of these operands be moved 16 bytes at a time, on the right boundary? Fills in what is
 * to be checked at the launch. */
DYNC__FN bool dync__fa_rows_fit(dync__fa *c, const dync__operand *const *o, int n);
DYNC__FN int dync__fa_padded(int64_t width);
/* form: DYNC__CUDA_ANY begins a part, others are of the same. */
DYNC__FN bool dync__fa_finish(dync__fa *c, dync__cuda_code *code, int form, const int32_t *buf);
DYNC__FN const char *dync__fa_number(char *to, double x);
/* Are scores kept as products, to be scaled on the way into the exponential? Else dync__fa_mask
 * scales them. */
DYNC__FN bool dync__fa_raw(const dync__fa *c);
/* %unit, %i0, %rb, %row, %cb, %cn1 ...; rows: `limit` in all */
DYNC__FN void dync__fa_place(dync__fa *, int64_t limit, bool late_first);
DYNC__FN void dync__fa_mask_regs(dync__fa *);
DYNC__FN void dync__fa_last_key(dync__fa *); /* %jend */
DYNC__FN void dync__fa_begin_rows(dync__fa *, const dync__fa_frag *scores,
                                  const dync__fa_frag *values);
DYNC__FN void dync__fa_mask(dync__fa *, const dync__fa_frag *, bool keys, const char *skip);
DYNC__FN void dync__fa_exponentials(dync__fa *, const dync__fa_frag *scores);
DYNC__FN void dync__fa_rescale(dync__fa *, const dync__fa_frag *values);
DYNC__FN void dync__fa_outputs(dync__fa *, const dync__fa_frag *values);
/* ---- attention_wgmma.c ----------------------------------------------------------------------- */
DYNC__FN bool dync__fa_wgmma(dync__fa *, int device);
/* Plain form in loop kernels: any head size, any dtype. */
DYNC__FN dync_status dync__fa_plain(dync__cuda_code *, const dync__kcall *);
DYNC__FN dync_status dync__fa_plain_grad(dync__cuda_code *, const dync__kcall *);
/* ---- attention_forward.c --------------------------------------------------------------------- */
DYNC__FN dync_status dync__fa_forward(dync__cuda_code *code, const dync__kcall *call);

enum { DYNC__FA_SIDE = 16 }; /* fma: threads side by side along the columns */

/* attention_tile.c */
DYNC__FN const char *dync__fa_name(char *to, const dync__fa_tile *x, const char *suffix);
DYNC__FN int64_t dync__fa_stride(const dync__fa *c, int width);
DYNC__FN int64_t dync__fa_row_bytes(const dync__fa *c, const dync__operand *o);
DYNC__FN int dync__fa_vec(int width);
#endif

/* ==== cuda/gemm.h ================================================================================== */
/* cuda/gemm.h: matrix products as PTX text. After tile.h. gemm.c: from a kernel call to a problem,
 * and the choice; gemm_load.c: tiles into shared memory, the ring of stages; gemm_pre.c: what is
 * done to them on the way; gemm_mma.c: tensor cores; gemm_simt.c: CUDA cores; gemm_thin.c: few
 * rows; gemm_end.c: what is done to results.
 *
 * A product has two sides, a and b, each seen as lines (rows of a, columns of b) of depth k. Blocks
 * own tiles of m x n lines; the depth may be cut over blocks (splits), whose partial sums a second
 * launch adds up in their order: the same bits every time. What is done to a result (bias, further
 * operators, the cast to its dtype) is a loop kernel, `end`, that loads buffer `given` where the
 * sum is meant: its elements are numbered by (batch * m + row) * n + column. */
#ifndef DYNC__CUDA_GEMM_H
#define DYNC__CUDA_GEMM_H

enum { DYNC__GMD_THREADS = 128 };
enum { DYNC__GMD_SIDE = 4, DYNC__GMD_WARPS = DYNC__GMD_THREADS / 32 };

enum { DYNC__GM_ALONG, DYNC__GM_ACROSS, DYNC__GM_PIECES };
/* How a side comes into shared memory. ALONG: neighbours in memory are neighbours in depth, 16
 * bytes at a time; ACROSS: they are of neighbouring lines, 16 bytes at a time; PIECES: element by
 * element, any strides and boundaries. */
/* A gathered side (gemm_gather.c): the numbers of a line ([0]) and of a depth ([1]) are taken apart
 * into digits, the last one fastest; each step of a digit is `by` elements, y rows and x columns
 * further. Elements whose row or column, counted from y, x, is outside of h, w are zeros; `first`
 * is where the element at row y, column x would lie. how: as it may come where 16 bytes at a time
 * are on boundaries. */
typedef struct dync__gm_digit {
    int64_t extent, by, y, x;
} dync__gm_digit;
typedef struct dync__gm_gather {
    int n[2], how;
    dync__gm_digit digit[2][3];
    int64_t y, x, h, w, first;
} dync__gm_gather;
/* What is done to a side on its way (gemm_pre.c): a kernel whose loops walk the memory it would
 * have written, its store the last word. */
enum { DYNC__GM_PRE_GROUPS = 160, DYNC__GM_PRE_CHUNKS = 16 };
typedef struct dync__gm_pre {
    dync__kernel *k;
    int first, store; /* number of its first buffer; of its store */
    int64_t offset;   /* where the memory begins, in elements of the slot */
    dync__ptx p;      /* text in the making */
    /* of the iteration being loaded: see dync__gm_pre_chunk */
    int chunks, per, block[DYNC__GM_PRE_GROUPS], place[DYNC__GM_PRE_CHUNKS];
    char is[DYNC__GM_PRE_GROUPS][16], to[40];
} dync__gm_pre;
typedef struct dync__gm_side {
    int buf, how; /* buf: of `end` */
    int32_t id;   /* operand number or temporary */
    /* elements: of element 0, to the next line, to the next k */
    int64_t offset, line, step;
    int64_t batch[DYNC_MAX_DIMS];  /* to the next of each batch dim */
    const dync__gm_gather *gather; /* in the place of line and step; or NULL */
    /* or NULL; offset is then that in its loops, and addresses in text are counted in elements */
    dync__gm_pre *pre;
} dync__gm_side;

/* No product (conv_direct.c): a window over one channel for each result; rows of results are n
 * wide. x, w: strides of what slides (images, channels, rows, columns) and of the window's
 * elements; per: results' channels to one of x; back: results are what the window slid over (a data
 * gradient). */
enum { DYNC__GMD_COLUMNS = 256 };
typedef struct dync__gm_window {
    int64_t kh, kw, s[2], p[2], d[2], x[4], w[4], h, w_in, o, oh, per;
    bool back;
} dync__gm_window;

typedef struct dync__gm_tile {
    int m, n, threads, stages, efficiency;
} dync__gm_tile;
typedef struct dync__gm {
    dync__arena *arena;
    int device, dtype, compute, kind; /* kind: DYNC__TILE_, -1 on CUDA cores */
    int64_t m, n, k, batches, batch[DYNC_MAX_DIMS];
    int n_batch;
    dync__gm_side side[2];
    /* instead of a product; side 0 is the window, side 1 what it slides over */
    const dync__gm_window *window_of;
    const dync__kernel *end;
    bool *host; /* buffers of `end` in main memory */
    int given;
    /* few rows (gemm_thin.c); swapped: a and b changed places, so that m is the smaller */
    bool thin, swapped;
    /* chosen */
    dync__gm_tile tile;
    int64_t splits, chunk; /* depth of each split, a multiple of `depth` */
    int depth;             /* of one stage */
    /* text in the making */
    dync__cuda_tile t;
    /* of the accumulators' type; of a stage; where a side begins in it */
    int acc_bytes, stage_bytes, side_at[2];
    dync__cuda_tile_rows window[2][4];
    char window_name[2][4][8];
    bool scalar; /* no vector accesses */
} dync__gm;

/* Loops of an epilogue as they are run on sums: loop from[d] of it in steps of times[d], `place`
 * elements of the (contiguous) result and `sum` of the product's results further each. */
typedef struct dync__gm_loops {
    int n, from[DYNC__LOOP_MAX_DIMS];
    int64_t extent[DYNC__LOOP_MAX_DIMS], times[DYNC__LOOP_MAX_DIMS], place[DYNC__LOOP_MAX_DIMS],
        sum[DYNC__LOOP_MAX_DIMS];
} dync__gm_loops;

/* ---- gemm.c ---------------------------------------------------------------------------------- */
/* The clocks that it takes. */
DYNC__FN double dync__gm_choose(dync__gm *g);
/* The step of a dim of size 1 may be any. 0 is on all boundaries: copies of no bytes, of lines and
 * depths of a tile beyond the operand, have addresses on a boundary too. */
DYNC__FN void dync__gm_how(dync__gm *g, dync__gm_side *s, int64_t lines);
DYNC__FN void dync__gm_swap(dync__gm *g);
/* Few rows or columns, and memory as gemm_thin.c wants it: a and b change places where columns are
 * the fewer. */
DYNC__FN bool dync__gm_make_thin(dync__gm *g);
DYNC__FN bool dync__gm_open(dync__gm *g, dync__cuda_code *code, const dync__kcall *call);
/* The epilogue over sums: that of matmul and addmm. */
DYNC__FN bool dync__gm_end_of(dync__gm *g, const dync__kcall *call, const dync__kernel *k,
                              bool keep);
/* No epilogue: the sums, with bias, to c. */
DYNC__FN bool dync__gm_end_plain(dync__gm *g, const dync__kcall *call);
DYNC__FN void dync__gm_loops_of(dync__gm_loops *, const dync__kernel *);
/* loops that cross multiples of `at` elements are cut in two there */
DYNC__FN void dync__gm_cut(dync__gm_loops *, int64_t at);
/* The end: k's loads of the call's result are the sums, with bias (its strides over the loops;
 * NULL: addmm's, if there is one), rounded as they would have been in memory. keep: the result is
 * stored too. False: loops of which this cannot be said. */
DYNC__FN bool dync__gm_end_over(dync__gm *, const dync__kcall *, const dync__kernel *k, bool keep,
                                const dync__gm_loops *, const int64_t *bias);
DYNC__FN int dync__gm_biased(const dync__gm *, dync__lb *, const dync__operand *bias,
                             const int64_t *stride, int value);
/* matmul, addmm and what is done to their result; done: false where a loop serves better. */
DYNC__FN dync_status dync__cuda_gemm(dync__cuda_code *, const dync__kcall *, const dync__cuda_end *,
                                     bool *done);
/* The clocks that it takes; its tiles and splits are chosen. */
DYNC__FN double dync__gm_plan(dync__gm *g, bool may_be_thin);
/* would the product do this too? as dync__driver.call_takes */
DYNC__FN int dync__gm_takes(int device, const dync__kcall *, const dync__kernel *);
/* wgmma.c: is there a variant for the device, as sizes go? */
DYNC__FN bool dync__gm_wgmma_suits(const dync__gm *);
/* of a form of the part (launch.c) */
DYNC__FN dync_status dync__gm_text(dync__gm *, int form, dync__ptx_text *out);
/* The product as the next part of the code, once its sides and its end are there: buffers 0 and 1
 * of the end are the sides, others operands. */
DYNC__FN dync_status dync__gm_add(dync__cuda_code *, dync__gm *, const dync__kcall *,
                                  const dync__cuda_end *);
/* the sums as a value of the end: `linear` steps of each loop */
DYNC__FN int dync__gm_sums(dync__gm *, dync__lb *, const int64_t *linear);
/* there is a form DYNC__CUDA_TF32 */
DYNC__FN bool dync__gm_may_tf32(const dync__gm *);
/* bytes that a block of the device may have */
DYNC__FN int dync__gm_shared_most(const dync__gm *);
/* ---- gemm_load.c ----------------------------------------------------------------------------- */
/* %m0 %n0 %batch %klen, %A and %B: addresses of this block's first elements */
DYNC__FN void dync__gm_place(dync__gm *);
/* load: to %to; compute: from %from; %kleft is left to load */
DYNC__FN void dync__gm_pipeline(dync__gm *, void (*load)(dync__gm *), void (*compute)(dync__gm *));
/* what a side's addresses count */
DYNC__INLINE int dync__gm_unit(const dync__gm *g, int s)
{
    return g->side[s].pre ? 1 : dync__dtype_info(g->dtype)->bytes;
}
/* words of 4 bytes into swizzled rows of %to */
DYNC__FN void dync__gm_pieces(dync__gm *, int side, int lines);
/* ---- gemm_pre.c ------------------------------------------------------------------------------ */
/* Of the kernel that makes the operand, whose first buffer has that number. NULL: it does not fill
 * the operand's memory. */
DYNC__FN dync__gm_pre *dync__gm_pre_open(dync__arena *, const dync__operand *,
                                         const dync__kernel *k, int first);
DYNC__FN bool dync__gm_pre_set(dync__gm_side *, dync__gm_pre *); /* false: it is NULL */
DYNC__FN bool dync__gm_pre_close(dync__gm *, int side);          /* after the end is made */
/* registers of a thread that an iteration's loads take */
DYNC__FN int dync__gm_pre_words(const dync__gm *, const dync__gm_tile *);
/* clocks, in a tile of that depth */
DYNC__FN double dync__gm_pre_cost(const dync__gm *, const dync__gm_tile *, int64_t chunk);
DYNC__FN double dync__gm_pre_clocks(const dync__gm_pre *, double elements);
DYNC__FN bool dync__gm_pre_worth(const dync__gm_pre *, int dtype, double with, double apart,
                                 double elements);
/* once a text, when `how` is known */
DYNC__FN bool dync__gm_pre_begin(dync__gm *, int side);
/* a new register of the piece's index, from one of 64 bits */
DYNC__FN void dync__gm_pre_index(dync__gm *, int side, const char *name, const char *from);
/* Group `number`: vec elements from at + by on, where `is` (NULL: sure); %first<side> is where
 * there are some. Then their values, whose number it returns. */
DYNC__FN void dync__gm_pre_group(dync__gm *, int side, int number, const char *at, int64_t by,
                                 const char *is);
DYNC__FN int dync__gm_pre_values(dync__gm *, int side, int number, char value[][40]);
DYNC__FN void dync__gm_pre_pack(dync__gm *, int dtype, int n, char value[][40], char word[][40]);
DYNC__FN void dync__gm_pre_round(dync__gm *, char value[40]);
DYNC__FN void dync__gm_pre_transpose(dync__gm *, int side, int n, const char *to);
DYNC__FN void dync__gm_pre_chunk(dync__gm *, int side, const char *at, int64_t by, int64_t near,
                                 int place, const char *is, const char *inner, int inner_by,
                                 const char *left);
DYNC__FN void dync__gm_pre_finish(dync__gm *);
DYNC__FN void dync__gm_pre_rows_begin(dync__gm *, int side); /* tensor cores */
DYNC__FN void dync__gm_pre_rows(dync__gm *, int side, int lines);
/* ---- gemm_gather.c --------------------------------------------------------------------------- */
/* 16 bytes at a time: what is said of lines, before the loop over the depth */
DYNC__FN void dync__gm_gather_begin(dync__gm *, int side, int lines);
DYNC__FN void dync__gm_gather_copy(dync__gm *, int side, int lines);
DYNC__FN void dync__gm_gather_pieces(dync__gm *, int side, int lines); /* f16 values, one by one */
DYNC__FN void dync__gm_gather_single_begin(dync__gm *, int side, int lines);
/* for CUDA cores */
DYNC__FN void dync__gm_gather_single(dync__gm *, int side, int lines, int row_bytes);
/* ---- conv_direct.c, conv.c ------------------------------------------------------------------- */
DYNC__FN void dync__gm_direct(dync__gm *);
/* The gradient of the window: side 0 is where it goes, side 1 what the window slid over; buf: x,
 * gradients (their strides ys), result. */
DYNC__FN bool dync__gm_direct_weight(dync__cuda_code *, dync__gm *, int64_t images,
                                     int64_t y_offset, const int64_t *ys, const int32_t *buf);
/* conv2d and its gradients */
DYNC__FN dync_status dync__cuda_conv(dync__cuda_code *, const dync__kcall *, const dync__cuda_end *,
                                     bool *done);
DYNC__FN bool dync__cuda_conv_takes(dync__cuda_code *, const dync__kcall *,
                                    const dync__kernel *end);
DYNC__FN bool dync__cuda_conv_takes_side(dync__cuda_code *, const dync__kcall *,
                                         const dync__kernel *, int operand);
/* ---- gemm_mma.c, gemm_simt.c ----------------------------------------------------------------- */
DYNC__FN void dync__gm_mma(dync__gm *);
DYNC__FN void dync__gm_simt(dync__gm *);
/* ---- wgmma.c --------------------------------------------------------------------------------- */
/* the variant for 9.0; false: there is none, or no memory */
DYNC__FN bool dync__gm_wgmma(const dync__gm *, dync__ptx_text *out);
/* ---- gemm_end.c ------------------------------------------------------------------------------ */
/* The block's accumulators lie in shared memory at %smem, lines of row_bytes: rows 0 .. rows of the
 * tile from row `from` on. Stores them by way of `end`, or as partial sums where the depth is cut.
 * Starts with a barrier. */
DYNC__FN void dync__gm_flush(dync__gm *, int from, int rows, int row_bytes);
/* value[0 .. n) = n sums at [address] of a space, at most 16 bytes an access. */
DYNC__FN void dync__gm_read_sums(dync__gm *, const char *space, const char *address, int n,
                                 char value[][24]);
/* name = (%batch * m + row) * n + column, in the type of indices */
DYNC__FN void dync__gm_linear(dync__gm *, const char *name, const char *row, const char *column);
/* n neighbours of a row from their sums, registers: by way of `end`, or to the partial sums.
 * Registers it makes are named after `number`. */
DYNC__FN void dync__gm_result(dync__gm *, int number, const char *row, const char *column, int n,
                              char value[][24]);
/* the second launch, for partial sums */
DYNC__FN void dync__gm_join(dync__gm *);
/* ---- gemm_thin.c ----------------------------------------------------------------------------- */
/* both sides' `how` are set, a is the smaller */
DYNC__FN bool dync__gm_thin_fits(const dync__gm *);
DYNC__FN void dync__gm_thin_choose(dync__gm *);
DYNC__FN void dync__gm_thin(dync__gm *);
/* ---- conv_direct.c --------------------------------------------------------------------------- */
/* to += register * by (b32, signed), in 64 bits */
DYNC__FN void dync__gmd_add(dync__gm *g, const char *to, const char *number, int64_t by);

#endif

/* ==== cuda/recurrent.h ============================================================================= */
/* cuda/recurrent.h: what the kernels of recurrent layers (recurrent.c) are put together from. After
 * tile.h. */
#ifndef DYNC__CUDA_RECURRENT_H
#define DYNC__CUDA_RECURRENT_H

typedef struct dync__ru {
    dync__cuda_tile t;
    const dync__kcall *call;
    const dync__operand *at[DYNC__RNN_ROLES];
    /* pack: gates side by side in the weights; type of the arithmetic, bytes of it */
    int gates, pack, type, bytes;
    const char *ty;
    int64_t L, N, H;
    bool reverse, grad, step;
    /* of a block: units side by side, groups of rb rows; row: elements of one in what is shared */
    int units, groups, rb, row;
    bool near;             /* weights in shared memory */
    int state, weights, n; /* offsets in shared memory; values so far */
    /* buffers: weights; in step form what is shared (two copies), GRU's dh, c or dc */
    int temp[4];
} dync__ru;
/* ---- recurrent.c ----------------------------------------------------------------------------- */
DYNC__FN int dync__ru_number(dync__ru *u, double x);
/* of the step; of an operand without steps: its own */
DYNC__FN char *dync__ru_base(int role, char *name);
DYNC__FN int dync__ru_get(dync__ru *u, int role, int r, int g);
DYNC__FN void dync__ru_put(dync__ru *u, int role, int r, int g, int v);
DYNC__FN void dync__ru_product(dync__ru *u);
/* Row r of a step: %h<r> and %c<r> are the unit's states. */
DYNC__FN int dync__ru_state(dync__ru *u, char what, int r);
DYNC__FN void dync__ru_set_state(dync__ru *u, char what, int r, int v);
DYNC__FN void dync__ru_cell(dync__ru *u, int r);
/* Gradients of the gates of row r, to the operand and, as `pack` neighbours, to %share + r rows. */
DYNC__FN void dync__ru_cell_grad(dync__ru *u, int r);
/* dh of row r: the product, and what GRU hands on. */
DYNC__FN void dync__ru_add_product(dync__ru *u, int r);
/* ---- recurrent_text.c ------------------------------------------------------------------------ */
/* All steps of some rows. */
DYNC__FN void dync__ru_block_text(dync__ru *u);
/* One step of some units of some rows: the launch has its number in the parameter behind the
 * others. Backward there is one more, for the last product. */
DYNC__FN void dync__ru_step_text(dync__ru *u);
#endif

/* ==== cuda/conv.h ================================================================================== */
/* cuda/conv.h: convolutions on a GPU as products (conv.c): the call, its arrays and their sides.
 * After gemm.h. */
#ifndef DYNC__CUDA_CONV_H
#define DYNC__CUDA_CONV_H

/* A 4-D array in memory: of an operand, or packed. */
/* pre: makes it; or NULL */
typedef struct dync__cuv_array {
    int32_t id;
    int64_t shape[4], stride[4], offset;
    dync__gm_pre *pre;
} dync__cuv_array;
typedef struct dync__cuv {
    dync__cuda_code *code;
    const dync__kcall *call;
    int64_t s[2], p[2], d[2], groups, gc, go; /* gc, go: channels of a group in x and y */
    dync__cuv_array x, w, y;
    int dtype, out;     /* out: the operand that is written */
    bool f16, by_image; /* f16: or bf16; by_image: the images are batches of the product */
    const dync__cuda_end *end;
} dync__cuv;
/* ---- conv.c ---------------------------------------------------------------------------------- */
DYNC__FN bool dync__cuv_open(dync__cuv *v, dync__cuda_code *code, const dync__kcall *call);
/* Dense strides of the array's dims in this order, outermost first; true: as it lies, on
 * boundaries, it is as good. */
DYNC__FN bool dync__cuv_lies_well(const dync__cuv *v, const dync__cuv_array *a, const int *order,
                                  int64_t *to, int64_t *all);
/* The loops of what makes the array, cut where dims of the array end; `sum`: steps of a loop in
 * memory of strides `to`. False: one is of several dims. */
DYNC__FN bool dync__cuv_made_loops(const dync__cuv_array *a, const int64_t *to, dync__gm_loops *l);
/* The array's dims in this order, on boundaries: as it lies, or copied. */
DYNC__FN bool dync__cuv_pack(dync__cuv *v, dync__cuv_array *a, const int *order);
DYNC__FN void dync__cuv_digit(dync__gm_gather *g, int part, int64_t extent, int64_t by, int64_t y,
                              int64_t x);
/* Digits of channels and taps, in the order in which they are summed up: channels last where they
 * are neighbours. */
DYNC__FN void dync__cuv_window(dync__gm_gather *g, int part, bool last, dync__gm_digit channels,
                               dync__gm_digit down, dync__gm_digit right);
/* The side of g that is this array, seen so; plain where nothing has to be gathered. Without bounds
 * everything is inside. */
DYNC__FN bool dync__cuv_side(dync__cuv *v, dync__gm *g, int s, const dync__cuv_array *a,
                             const dync__gm_gather *as, bool bounds, int64_t offset);
DYNC__FN dync__gm *dync__cuv_product(dync__cuv *v, int64_t m, int64_t n, int64_t k);
/* Where the sums go: loops in the order of the product's results, strides of what is written, of
 * the bias or NULL. */
DYNC__FN dync_status dync__cuv_end(dync__cuv *v, dync__gm *g, int n, const int64_t *extent,
                                   const int64_t *stride, int64_t offset, const int64_t *bias);
/* What follows a convolution, in the order of the product: channels, then images and pixels
 * (by_image: as y lies). Its loops are cut at the ends of planes and images, so that each is of one
 * of them. */
DYNC__FN bool dync__cuv_end_of(dync__cuv *v, dync__gm *g);
/* The sums of forward to y, with bias and what follows. */
DYNC__FN dync_status dync__cuv_finish(dync__cuv *v, dync__gm *g);
/* One channel to a group: forward, and the data gradient of stride 1, which is a convolution of gy
 * by the window flipped. */
DYNC__FN dync_status dync__cuv_direct(dync__cuv *v, bool input);
DYNC__FN dync_status dync__cuv_direct_weight(dync__cuv *v);
/* kind: 1 forward, 2 to the input, 3 to the weight. */
DYNC__FN bool dync__cuv_is_direct(const dync__cuv *v, int kind);

#endif

/* ==== cuda/wgmma.h ================================================================================= */
/* cuda/wgmma.h: a product by wgmma (wgmma.c): its state and the pieces of its text. After gemm.h.
 * */
#ifndef DYNC__CUDA_WGMMA_H
#define DYNC__CUDA_WGMMA_H

/* END_ROW: 32 words and a gap */
enum {
    DYNC__WG_BM = 128,
    DYNC__WG_THREADS = 384,
    DYNC__WG_BAND = 8,
    DYNC__WG_END_ROW = 160,
    DYNC__WG_BOX = 64 * 128
};
typedef struct dync__wg {
    dync__gm *g;
    dync__cuda_tile *t;
    int bn, stages, cluster, bytes, depth; /* depth: elements of k in a row of 128 bytes */
    /* by_box: results are stored by TMA; cut_k: a block of the cluster loads half of b's k's, not
     * of its lines */
    bool by_k[2], by_box, cut_k;
    int out_bytes, stage_bytes, bars, end_at, labels;
    int64_t down, across; /* tiles of the whole cluster, in rows and columns */
    /* the batch dims of a map's dims from the third on: of a, b and the result */
    int batch_at[3][3], n_batch[3];
} dync__wg;
/* ---- wgmma.c --------------------------------------------------------------------------------- */
DYNC__FN bool dync__wg_side(dync__wg *w, int s);
/* The results alone, row-major, as a map of boxes of 64 rows. */
DYNC__FN bool dync__wg_result(dync__wg *w);
/* Waits until the phase of this parity is over. */
DYNC__FN void dync__wg_wait(dync__wg *w, const char *bar, const char *parity);
/* The next stage of the ring; the parity flips where it begins again. */
DYNC__FN void dync__wg_next(dync__wg *w);
/* %m0, %n0, %batch and the batch's coordinates from %tile. */
DYNC__FN void dync__wg_place(dync__wg *w);
/* "{first, second, batches}" of a map */
DYNC__FN void dync__wg_coordinates(const dync__wg *w, int which, const char *first,
                                   const char *second, char out[120]);
DYNC__FN void dync__wg_producer(dync__wg *w);
#endif

/* ==== cuda/scatter.h =============================================================================== */
/* cuda/scatter.h: scattering on a GPU (scatter.c): the call and the pieces of its texts. After
 * tile.h. */
#ifndef DYNC__CUDA_SCATTER_H
#define DYNC__CUDA_SCATTER_H

enum { DYNC__SCA_BLOCK = 256 };
/* to[line, index[line, i]] = or += scale * from[line, i] for all i in order, lines being all dims
 * but dim. */
typedef struct dync__sca {
    dync__cuda_tile t;
    const dync__operand *index, *from, *to;
    int32_t buf[3];
    int dim;
    bool add, shared;      /* shared: one index for all lines */
    const int64_t *walked; /* sizes of the lines' dims */
    int64_t count;
    double scale;
    int64_t lines, size; /* size: places of a line */
    int compute;
    const char *type;
} dync__sca;
/* ---- scatter.c ------------------------------------------------------------------------------- */
DYNC__FN long long dync__sca_step(const dync__sca *s, const dync__operand *o);
DYNC__FN bool dync__sca_is_float(const dync__sca *s);
/* %n: the thread's number; those from n on leave. */
DYNC__FN void dync__sca_thread(dync__sca *s, int64_t n);
DYNC__FN void dync__sca_entry(dync__sca *s, const char *name, int64_t threads);
/* %pi, %pf, %pt: the beginning of line %line, in buffers `index`, + 1 and + 2. */
DYNC__FN void dync__sca_lines(dync__sca *s, int from);
/* %v = scale * %v */
DYNC__FN void dync__sca_scale(dync__sca *s, const char *v);
DYNC__FN bool dync__sca_few(dync__cuda_code *code, dync__sca *s, const char *name, int64_t units);
DYNC__FN bool dync__sca_last_write(dync__cuda_code *code, dync__sca *s, const char *name);
DYNC__FN bool dync__sca_integers(dync__cuda_code *code, dync__sca *s, const char *name);
#endif

/* ==== cuda/device.c ================================================================================ */
/* cuda/device.c: devices, errors, streams and events of the CUDA runtime. Before all that asks
 * what a device is.
 *
 * The devices are asked for once, at the first call; a machine without one is no error until a
 * tensor is to be made there. Errors keep the runtime's words. State that a thread has: its current
 * stream of each device, the graph it records. */
DYNC__LEVEL_OVER
DYNC__HOT

DYNC__DATA DYNC__TLS dync__cuda_thread dync__cuda_tls = {0};
DYNC__DATA dync_cuda_counters dync__cuda_counters = {0};
DYNC__DATA int dync__cuda_tf32 = 0;
static struct {
    dync__mutex lock;
    int ready, count;
    char reason[256];
    dync__cuda_unit unit[DYNC__CUDA_DEVICES];
} dync__cuda;

static void dync__cuda_words(char *out, size_t cap, cudaError_t e)
{
    dync__format(out, cap, "%s (%s)", cudaGetErrorString(e), cudaGetErrorName(e));
}

DYNC__FN int dync__cuda_driver(void)
{
    int version = 0;
    return cudaDriverGetVersion(&version) == 0 ? version : 0;
}

static void dync__cuda_ask(void)
{
    int n = 0;
    cudaError_t e = cudaGetDeviceCount(&n);
    if (e != 0) {
        char words[200];
        int driver = dync__cuda_driver();
        dync__cuda_words(words, sizeof words, e);
        if (e != DYNC__CU_OLD_DRIVER)
            dync__format(dync__cuda.reason, sizeof dync__cuda.reason, "%s", words);
        else if (driver == 0)
            dync__format(dync__cuda.reason, sizeof dync__cuda.reason,
                         "%s: no NVIDIA driver is installed", words);
        else
            dync__format(dync__cuda.reason, sizeof dync__cuda.reason,
                         "%s: the driver is one of CUDA %d.%d", words, driver / 1000,
                         driver % 1000 / 10);
        (void)cudaGetLastError();
        n = 0;
    } else if (n == 0) {
        dync__format(dync__cuda.reason, sizeof dync__cuda.reason,
                     "no CUDA-capable device is "
                     "detected");
    }
    n = DYNC__MIN(n, (int)DYNC__CUDA_DEVICES);
    for (int i = 0; i < n; i++) {
        dync__cuda_unit *u = &dync__cuda.unit[i];
        if (cudaDeviceGetAttribute(&u->units, DYNC__CU_ATTR_UNITS, i) != 0 || u->units < 1)
            u->units = 1;
        if (cudaDeviceGetAttribute(&u->major, DYNC__CU_ATTR_MAJOR, i) != 0) u->major = 0;
        if (cudaDeviceGetAttribute(&u->minor, DYNC__CU_ATTR_MINOR, i) != 0) u->minor = 0;
    }
    dync__cuda.count = n;
}

DYNC__FN int dync__cuda_count(void)
{
    if (DYNC__ATOMIC_LOAD(&dync__cuda.ready)) return dync__cuda.count;
    dync__lock(&dync__cuda.lock);
    if (!dync__cuda.ready) dync__cuda_ask();
    DYNC__ATOMIC_STORE(&dync__cuda.ready, 1);
    dync__unlock(&dync__cuda.lock);
    return dync__cuda.count;
}

DYNC__FN const dync__cuda_unit *dync__cuda_unit_of(int index)
{
    return &dync__cuda.unit[index >= 0 && index < dync__cuda_count() ? index : 0];
}

DYNC__FN const char *dync__cuda_why(void) { return dync__cuda_count() ? "" : dync__cuda.reason; }

DYNC__FN dync_status dync__cuda_known(int device)
{
    int index = device >> 8, n = dync__cuda_count();
    if (n == 0)
        return dync__fail(DYNC_ERR_DEVICE, "device cuda:%d is not available: %s", index,
                          dync__cuda.reason);
    if (index < 0 || index >= n)
        return dync__fail(DYNC_ERR_DEVICE,
                          "device cuda:%d is not available: invalid device ordinal, there %s %d",
                          index, n == 1 ? "is" : "are", n);
    if (dync__cuda.unit[index].major < 8)
        return dync__fail(
            DYNC_ERR_DEVICE,
            "device cuda:%d is not available: compute capability 8.0 or later is needed, it has "
            "%d.%d",
            index, dync__cuda.unit[index].major, dync__cuda.unit[index].minor);
    return DYNC_OK;
}

DYNC__FN dync__cuda_function dync__cuda_driver_function(const char *name, unsigned version)
{
    union {
        void *object;
        dync__cuda_function function;
    } it = {NULL};
#if defined(DYNC__CUDA_HEADER)
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#else
    int found = 1;
#endif
    if (cudaGetDriverEntryPointByVersion(name, &it.object, version, 0, &found) != 0) {
        (void)cudaGetLastError();
        return NULL;
    }
    return (int)found == 0 ? it.function : NULL;
}

DYNC__FN bool dync__cuda_takes(int device, const char *target, int version)
{
    /* PTX of CUDA 12.0 ...; 13.0 has 9.0, 13.1 9.1 */
    static const int twelve[] = {80, 81, 82, 83, 84, 85, 85, 86, 87, 88};
    const char *only = dync__env("DYNC_CUDA_TARGET");
    const dync__cuda_unit *u = dync__cuda_unit_of(device >> 8);
    int driver = dync__cuda_driver(), number = 0, minor = driver % 1000 / 10;
    const char *c = target + 3;
    for (; *c >= '0' && *c <= '9'; c++) number = number * 10 + (*c - '0');
    if (only && strcmp(only, target) != 0 && number > 80) return false;
    if (version > (driver >= 13000   ? driver / 1000 * 10 - 40 + minor
                   : driver >= 12000 ? twelve[DYNC__MIN(minor, 9)]
                                     : 70))
        return false;
    return *c == 'a' ? u->major * 10 + u->minor == number : u->major * 10 + u->minor >= number;
}

DYNC__FN dync_status dync__cuda_check(cudaError_t e, const char *what)
{
    char words[256];
    if (e == 0) return DYNC_OK;
    (void)cudaGetLastError();
    dync__cuda_words(words, sizeof words, e);
    return dync__fail(e == DYNC__CU_OUT_OF_MEMORY ? DYNC_ERR_MEMORY : DYNC_ERR_DEVICE,
                      "CUDA error: %s: %s", what, words);
}

DYNC__FN dync_status dync__cuda_enter(int device)
{
    if (dync__cuda_count() == 1) return DYNC_OK;
    return dync__cuda_check(cudaSetDevice(device >> 8), "cudaSetDevice");
}

DYNC__FN cudaStream_t dync__cuda_stream(int device)
{
    int index = device >> 8;
    dync__cuda_recording *r = dync__cuda_tls.recording;
    if (r && r->device == device) return r->stream;
    dync_cuda_stream *s = index >= 0 && index < DYNC__CUDA_DEVICES ? dync__cuda_tls.stream[index]
                                                                   : NULL;
    return s ? s->stream : NULL;
}

/* ==== cuda/ptx_text.c ============================================================================== */
/* cuda/ptx_text.c: lines of PTX text, its registers, and where values of a kernel are. Before all
 * that writes PTX. Invariant: every register is declared once, at the top of its function. */
DYNC__LEVEL_OVER
DYNC__COLD

/* ---- text ------------------------------------------------------------------------------------ */

DYNC__FN void dync__ptx_line(dync__ptx *p, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    dync__str_add(&p->body, "    ");
    dync__str_addv(&p->body, fmt, args);
    dync__str_add(&p->body, fmt[strlen(fmt) - 1] == ':' ? "\n" : ";\n");
    va_end(args);
}

DYNC__FN void dync__ptx_reg(dync__ptx *p, const char *type, const char *name)
{
    dync__str_addf(&p->regs, "    .reg .%s %s;\n", type, name);
}

static char *dync__ptx_name(dync__ptx *p)
{
    p->next_name = (p->next_name + 1) % DYNC__COUNT_OF(p->name);
    return p->name[p->next_name];
}

DYNC__FN const char *dync__ptx_temp(dync__ptx *p, const char *type)
{
    char *name = dync__ptx_name(p);
    dync__format(name, sizeof p->name[0], "%%x%d", p->n_temps++);
    dync__ptx_reg(p, type, name);
    return name;
}

DYNC__FN const char *dync__ptx_type(int type)
{
    return type == DYNC_F32   ? "f32"
           : type == DYNC_F64 ? "f64"
           : type == DYNC_I64 ? "s64"
           : type == DYNC_I32 ? "s32"
                              : "pred";
}
DYNC__FN const char *dync__ptx_bits(int type)
{
    return type == DYNC_F64 || type == DYNC_I64 ? "b64" : "b32";
}

DYNC__FN const char *dync__ptx_constant(dync__ptx *p, int type, dync__scalar s)
{
    char *name = dync__ptx_name(p);
    size_t cap = sizeof p->name[0];
    uint64_t bits = 0;
    if (type == DYNC_BOOL) return s.i ? "%true" : "%false";
    if (type == DYNC_F32) {
        uint32_t u;
        memcpy(&u, &s.f, sizeof u);
        dync__format(name, cap, "0f%08x", (unsigned)u);
    } else if (type == DYNC_F64) {
        memcpy(&bits, &s.d, sizeof bits);
        dync__format(name, cap, "0d%08x%08x", (unsigned)(bits >> 32), (unsigned)bits);
    } else if (s.i == INT64_MIN) {
        dync__format(name, cap, "0x8000000000000000");
    } else {
        dync__format(name, cap, "%lld", (long long)s.i);
    }
    return name;
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool dync__ptx_straight(const dync__ptx *p)
{
    return p->shape.iterations == 1 && p->shape.mode != DYNC__PTX_FLAT;
}

/* Are the registers of i those of this block, or good everywhere? */
DYNC__FN bool dync__ptx_at_hand(const dync__ptx *p, int i)
{
    const dync__inst *in = dync__ptx_inst(p, i);
    if (p->where[i] < 0) return false;
    return p->where[i] == p->block || dync__ptx_is_row(p, in) || in->prim == DYNC__P_reduce ||
           dync__ptx_straight(p);
}

DYNC__FN int dync__ptx_lanes(const dync__ptx *p, int i)
{
    const dync__inst *in = dync__ptx_inst(p, i);
    return dync__ptx_is_row(p, in) || in->prim == DYNC__P_reduce || p->uniform[i] == 2
               ? 1
               : p->groups * p->vec;
}

DYNC__FN int dync__ptx_lane(const dync__ptx *p, int i, int lane)
{
    if (dync__ptx_lanes(p, i) == 1) return 0;
    return p->uniform[i] == 1 ? lane / p->vec * p->vec : lane;
}

static const char *dync__ptx_value_name(dync__ptx *p, int i, int lane, char *name)
{
    const dync__inst *in = dync__ptx_inst(p, i);
    char block[16] = "", lanes[16] = "";
    const char *prim = dync__prim_info(in->prim)->name;
    if (p->where[i] > 0 && !dync__ptx_straight(p) && !dync__ptx_is_row(p, in) &&
        in->prim != DYNC__P_reduce)
        dync__format(block, sizeof block, "b%d", (int)p->where[i]);
    if (dync__ptx_lanes(p, i) > 1)
        dync__format(lanes, sizeof lanes, "_%d", dync__ptx_lane(p, i, lane));
    dync__format(name, sizeof p->name[0], "%%%s%d%s%s", prim, i, lanes, block);
    return name;
}

DYNC__FN const char *dync__ptx_use(dync__ptx *p, int i, int lane)
{
    const dync__inst *in = dync__ptx_inst(p, i);
    if (in->prim == DYNC__P_const_) return dync__ptx_constant(p, in->type, dync__const_scalar(in));
    if (!dync__ptx_at_hand(p, i)) dync__ptx_emit(p, i);
    return dync__ptx_value_name(p, i, lane, dync__ptx_name(p));
}

DYNC__FN const char *dync__ptx_in_reg(dync__ptx *p, int i, int lane)
{
    const char *text = dync__ptx_use(p, i, lane);
    int type = dync__ptx_inst(p, i)->type;
    if (text[0] == '%') return text;
    const char *reg = dync__ptx_temp(p, dync__ptx_type(type));
    dync__ptx_line(p, "mov.%s %s, %s", dync__ptx_bits(type), reg, text);
    return reg;
}

DYNC__FN const char *dync__ptx_dest(dync__ptx *p, int i, int lane)
{
    const char *name = dync__ptx_value_name(p, i, lane, dync__ptx_name(p));
    dync__ptx_reg(p, dync__ptx_type(dync__ptx_inst(p, i)->type), name);
    return name;
}

DYNC__FN const char *dync__ptx_guard(dync__ptx *p, int lane, bool writes)
{
    int group = lane / p->vec;
    char *name = dync__ptx_name(p);
    writes |= p->in_place;
    if (!p->shape.guarded ||
        (p->shape.mode == DYNC__PTX_FLAT && !p->shape.side && (group == 0 || p->copy))) {
        if (p->shape.mode == DYNC__PTX_FLAT || !writes ||
            p->shape.rows % p->shape.rows_per_block == 0)
            return "";
        return "@%rowok ";
    }
    dync__format(name, sizeof p->name[0], "@%%%s%db%d ", writes && !p->shape.side ? "put" : "in",
                 group, p->block);
    return name;
}

static bool dync__ptx_stored(const dync__ptx *p, int buf, int section)
{
    const dync__kernel *k = p->k;
    bool stored = false;
    for (int i = 0; i < k->inst.n; i++)
        stored |= k->inst.at[i].section == section && k->inst.at[i].buf == buf &&
                  !dync__inst_has_value(&k->inst.at[i]);
    return stored;
}

/* What earlier phases loaded and this one uses is loaded again: ahead of all, where this one stores
 * there. */
static void dync__ptx_load_first(dync__ptx *p, int section)
{
    const dync__kernel *k = p->k;
    bool *used = dync__arena_alloc(p->arena, (size_t)k->inst.n + 1);
    for (int i = k->inst.n - 1; i >= 0 && used; i--) {
        const dync__inst *in = &k->inst.at[i];
        bool here = in->section == section && p->needed[i];
        for (int a = 0; a < dync__prim_info(in->prim)->n_args; a++)
            used[in->arg[a]] |= here || (used[i] && in->prim != DYNC__P_reduce);
    }
    for (int i = 0; i < k->inst.n && used; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (used[i] && in->section < section && in->section & 1 && in->buf >= 0 &&
            dync__ptx_stored(p, in->buf, section))
            (void)dync__ptx_use(p, i, 0);
    }
}

DYNC__FN void dync__ptx_section(dync__ptx *p, int section)
{
    if (p->in_place && section & 1) dync__ptx_load_first(p, section);
    for (int i = 0; i < p->k->inst.n; i++)
        if (p->needed[i] && dync__ptx_inst(p, i)->section == section) {
            dync__ptx_emit(p, i);
        }
}

/* Where other threads of the row may read what one writes. */
DYNC__FN void dync__ptx_row_barrier(dync__ptx *p)
{
    if (!p->in_place || p->shape.threads <= 1) return;
    if (p->shape.mode == DYNC__PTX_COLUMNS || p->shape.threads > 32)
        dync__ptx_line(p, "bar.sync 0");
    else
        dync__ptx_line(p, "bar.warp.sync 0xffffffff");
}

/* to = the raw element, widened. */
DYNC__FN void dync__ptx_widen(dync__ptx *p, int dtype, const char *to, const char *raw)
{
    switch (dtype) {
    case DYNC_F16: dync__ptx_line(p, "cvt.f32.f16 %s, %s", to, raw); break;
    case DYNC_BF16: {
        const char *word = dync__ptx_temp(p, "b32");
        dync__ptx_line(p, "cvt.u32.u16 %s, %s", word, raw);
        dync__ptx_line(p, "shl.b32 %s, %s, 16", word, word);
        dync__ptx_line(p, "mov.b32 %s, %s", to, word);
        break;
    }
    case DYNC_BOOL: dync__ptx_line(p, "setp.ne.s32 %s, %s, 0", to, raw); break;
    default:
        dync__ptx_line(p, "mov.%s %s, %s", dync__ptx_bits(dync__dtype_info(dtype)->compute), to,
                       raw);
        break;
    }
}

/* ==== cuda/ptx_transpose.c ========================================================================= */
/* cuda/ptx_transpose.c: pointwise kernels whose accesses disagree on which loop has neighbours in
 * memory. Before ptx_mem.c.
 *
 * The last loop is the one along which the kernel computes ("along"); another, `across`, has the
 * neighbours of the accesses that are transposed. A block does one square of side x side indices of
 * the two. What is transposed and read comes in by vectors along `across` and goes into shared
 * memory as rows along the last loop; the kernel is then computed as any flat one, with loads and
 * stores of what is transposed in shared memory; what is transposed and written leaves the same way
 * back. Elements stay in their storage dtype, so nothing is rounded twice.
 *
 *   place      chunk c (16 bytes) of row m lies at chunk c ^ (m / w & 7) of the row: w elements are
 *              one access of global memory. 8 lanes side by side along `across` and 4 along the
 *              last loop, which a warp moves at once, then meet in no bank; nor do 8 lanes that
 *              compute
 *   words      narrow elements go to shared memory in words of 4 bytes: a lane takes R = 4 / bytes
 *              rows of the last loop and transposes the words (R x R elements) in registers
 * The plain form is the flat kernel without all this: kernels of another shape, and where the loops
 * are short. Sources: Ruetsch and Micikevicius 2009 (tiles in shared memory); Micikevicius, XOR
 * swizzles as in CUTLASS. */

enum { DYNC__PTX_TRANSPOSE_BYTES = 32768 }; /* of shared memory, two blocks side by side */

static bool dync__ptx_transpose_is(const dync__kernel *k, const dync__access *a, int across)
{
    int64_t by = a->stride[k->n_dims - 1];
    return a->stride[across] == 1 && (by > 1 || by < -1);
}

static bool dync__ptx_transpose_moves(const dync__ptx *p, int i)
{
    const dync__inst *in = &p->k->inst.at[i];
    return p->needed[i] && (in->prim == DYNC__P_load || in->prim == DYNC__P_store) &&
           !p->host[in->buf];
}

/* What is read and written has one access: a square is read whole before it is written. */
static bool dync__ptx_transpose_is_safe(const dync__ptx *p)
{
    const dync__kernel *k = p->k;
    for (int i = 0; i < k->inst.n; i++)
        for (int j = 0; j < i; j++) {
            const dync__inst *a = &k->inst.at[i], *b = &k->inst.at[j];
            if (!p->needed[i] || !p->needed[j] || a->buf < 0 || a->buf != b->buf ||
                k->buf.at[a->buf].mode != (DYNC__BUF_IN | DYNC__BUF_OUT))
                continue;
            if (a->access != b->access || a->prim == DYNC__P_loadx || a->prim == DYNC__P_storex)
                return false;
        }
    return true;
}

/* Elements of one access of global memory along `across`. */
static int dync__ptx_transpose_width(dync__ptx *p, const dync__inst *in, int across, bool scalar)
{
    const dync__kernel *k = p->k;
    const dync__access *a = &k->access.at[in->access];
    int bytes = dync__dtype_info(k->buf.at[in->buf].dtype)->bytes;
    for (int w = scalar ? 1 : 16 / bytes; w > 1 && w * bytes >= 4; w /= 2) {
        bool fits = k->extent[across] % w == 0;
        for (int d = 0; d < k->n_dims; d++)
            fits &= d == across || k->extent[d] <= 1 || a->stride[d] * bytes % (w * bytes) == 0;
        if (!fits || p->n_checks == DYNC__PTX_CHECKS) continue;
        p->check[p->n_checks++] = (dync__ptx_check){in->buf, w * bytes, a->offset * bytes};
        return w;
    }
    return 1;
}

DYNC__FN int dync__ptx_transpose_bytes(const dync__ptx *p, const dync__ptx_transposed *t)
{
    return dync__dtype_info(p->k->buf.at[t->buf].dtype)->bytes;
}

/* Decides whether the flat kernel runs in squares, and how. */
DYNC__FN void dync__ptx_plan_transpose(dync__ptx *p, int units, bool scalar)
{
    const dync__kernel *k = p->k;
    dync__ptx_shape *s = &p->shape;
    int last = k->n_dims - 1, best = 0, narrow = 8, total = 0;
    int64_t side = 64, blocks = 1;
    p->n_transposed = s->side = 0;
    if (last < 1 || k->extent[last] < DYNC__PTX_TRANSPOSE_LEAST || !dync__ptx_transpose_is_safe(p))
        return;
    for (int d = 0; d < last; d++) {
        int n = 0;
        for (int i = 0; i < k->inst.n; i++)
            n += k->extent[d] >= DYNC__PTX_TRANSPOSE_LEAST && dync__ptx_transpose_moves(p, i) &&
                 dync__ptx_transpose_is(k, &k->access.at[k->inst.at[i].access], d);
        if (n > best) best = n, s->across = d;
    }
    if (best == 0 || best > DYNC__PTX_TRANSPOSED) return;
    int checks = p->n_checks;
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (!dync__ptx_transpose_moves(p, i)) continue;
        const dync__access *a = &k->access.at[in->access];
        bool transposed = dync__ptx_transpose_is(k, a, s->across), out = in->prim == DYNC__P_store;
        int bytes = dync__dtype_info(k->buf.at[in->buf].dtype)->bytes;
        if (transposed || a->stride[last] == 1) narrow = DYNC__MIN(narrow, bytes);
        if (!transposed || dync__ptx_transposed_of(p, in) >= 0) continue;
        dync__ptx_transposed *t = &p->transposed[p->n_transposed++];
        *t = (dync__ptx_transposed){.buf = in->buf,
                                    .access = in->access,
                                    .out = out,
                                    .width = dync__ptx_transpose_width(p, in, s->across, scalar)};
        total += bytes;
    }
    side = narrow == 1 ? 128 : narrow == 8 ? 32 : 64;
    while (side > 16 && side * side * total > DYNC__PTX_TRANSPOSE_BYTES) side /= 2;
    while (side > 32 && (side / 2 >= k->extent[last] || side / 2 >= k->extent[s->across]))
        side /= 2;
    for (; side >= 16; side /= 2) {
        blocks = (s->inner + k->extent[last] * k->extent[s->across] - 1) /
                 (k->extent[last] * k->extent[s->across]);
        blocks *= (k->extent[last] + side - 1) / side * ((k->extent[s->across] + side - 1) / side);
        if (blocks >= 2 * units || side * narrow <= 128) break;
    }
    if (blocks > INT32_MAX) {
        p->n_transposed = 0;
        p->n_checks = checks;
        return;
    }
    s->side = (int)side;
    s->blocks = blocks;
    int lanes = (int)side / s->vec; /* threads along the last loop */
    s->block = (int)DYNC__MIN(DYNC__PTX_BLOCK, side * lanes);
    s->iterations = side * lanes / s->block;
    s->groups = (int)DYNC__MIN(s->groups, s->iterations);
    s->iterations /= s->groups;
    s->guarded = k->extent[last] % side != 0 || k->extent[s->across] % side != 0;
    for (int i = 0; i < p->n_transposed; i++) {
        p->transposed[i].at = p->transposed_bytes;
        p->transposed_bytes += (int)side * (int)side *
                               dync__ptx_transpose_bytes(p, &p->transposed[i]);
    }
}

DYNC__FN int dync__ptx_transposed_of(const dync__ptx *p, const dync__inst *in)
{
    for (int i = 0; i < p->n_transposed; i++)
        if (p->transposed[i].buf == in->buf && p->transposed[i].access == in->access &&
            p->transposed[i].out == (in->prim == DYNC__P_store))
            return i;
    return -1;
}

/* Chunks of a row that change places: a power of two less one. */
static int dync__ptx_transpose_mask(const dync__ptx *p, const dync__ptx_transposed *t)
{
    return DYNC__MIN(8, p->shape.side * dync__ptx_transpose_bytes(p, t) / 16) - 1;
}

DYNC__FN void dync__ptx_transpose_swizzle(dync__ptx *p, const dync__ptx_transposed *t,
                                          const char *to, const char *m)
{
    dync__ptx_line(p, "div.u32 %s, %s, %d", to, m, t->width);
    dync__ptx_line(p, "and.b32 %s, %s, %d", to, to, dync__ptx_transpose_mask(p, t));
}

/* Where elements of `group` from number `element` of it on lie in shared memory, for the thread
 * that computes them. */
DYNC__FN void dync__ptx_transposed_place(dync__ptx *p, int transposed, int group, int element,
                                         char *out, size_t cap)
{
    const dync__ptx_transposed *t = &p->transposed[transposed];
    int bytes = dync__ptx_transpose_bytes(p, t), of = element * bytes;
    char m[24], to[24], x[24];
    dync__format(m, sizeof m, "%%m%d", group);
    dync__format(to, sizeof to, "%s", dync__ptx_temp(p, "u32"));
    dync__format(x, sizeof x, "%s", dync__ptx_temp(p, "u32"));
    dync__ptx_transpose_swizzle(p, t, x, m);
    dync__ptx_line(p, "mad.lo.u32 %s, %%l, %d, %d", to, bytes, of / 16 * 16);
    dync__ptx_line(p, "shl.b32 %s, %s, 4", x, x);
    dync__ptx_line(p, "xor.b32 %s, %s, %s", to, to, x);
    dync__ptx_line(p, "mad.lo.u32 %s, %s, %d, %s", to, m, p->shape.side * bytes, to);
    dync__ptx_line(p, "add.u32 %s, %s, %%smem", to, to);
    dync__format(out, cap, "%s+%d", to, t->at + of % 16);
}

/* ==== cuda/ptx_plan.c ============================================================================== */
/* cuda/ptx_plan.c: how a kernel is laid over threads. Before ptx.c.
 *
 * Flat where nothing is reduced (in squares where accesses are transposed: ptx_transpose.c). Else
 * rows or columns, by which neighbours in memory are nearer: those along the row or those of the
 * next row. Few long rows are split over blocks, each phase a launch. A row that fits the registers
 * of its threads is read once; a longer one is read once a phase. */

DYNC__FN bool dync__ptx_has_reduce(const dync__kernel *k)
{
    for (int i = 0; i < k->inst.n; i++)
        if (k->inst.at[i].prim == DYNC__P_reduce) return true;
    return false;
}

/* Every phase can be run index by index: nothing is reduced, kept per row, or read after it was
 * written elsewhere. */
static bool dync__ptx_is_flat(const dync__ptx *p)
{
    const dync__kernel *k = p->k;
    if (dync__ptx_has_reduce(k)) return false;
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (!(in->section & 1) && !dync__inst_has_value(in)) return false;
    }
    if (p->n_phases == 1) return true;
    for (int i = 0; i < k->buf.n; i++)
        if (k->buf.at[i].mode == (DYNC__BUF_IN | DYNC__BUF_OUT)) return false;
    return true;
}

static int64_t dync__ptx_product(const dync__kernel *k, int from, int to)
{
    int64_t n = 1;
    for (int d = from; d < to; d++) n *= k->extent[d];
    return n;
}

/* Elements side by side along the last loop, on boundaries wherever the other loops stand. */
DYNC__FN bool dync__ptx_is_vector(const dync__ptx *p, int buf, int access)
{
    const dync__kernel *k = p->k;
    const dync__access *a = &k->access.at[access];
    int bytes = dync__dtype_info(k->buf.at[buf].dtype)->bytes,
        align = DYNC__MIN(p->vec * bytes, 16), last = k->n_dims - 1;
    if (p->vec < 2 || p->vec * bytes < 4 || last < 0 || p->host[buf] || a->stride[last] != 1)
        return false;
    for (int d = 0; d < last; d++)
        if (k->extent[d] > 1 && a->stride[d] * bytes % align != 0) return false;
    for (int i = 0; i < p->n_checks; i++)
        if (p->check[i].buf == buf && p->check[i].offset == a->offset * bytes) return true;
    return false;
}

/* The number of neighbours: 16 bytes of the narrowest element, at most 8 and such that it divides
 * the last loop, or leaves a flat tail. */
static void dync__ptx_plan_vector(dync__ptx *p, bool is_flat)
{
    const dync__kernel *k = p->k;
    int narrow = 8, last = k->n_dims - 1, gathered = 0;
    bool any = false;
    if (last < (is_flat ? 0 : k->n_outer)) return;
    for (int i = 0; i < k->inst.n; i++)
        gathered += p->needed[i] && k->inst.at[i].prim == DYNC__P_loadx;
    if (gathered > DYNC__PTX_GATHERED) return;
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (!p->needed[i] || (in->prim != DYNC__P_load && in->prim != DYNC__P_store) ||
            p->host[in->buf] || !(in->section & 1))
            continue;
        if (k->access.at[in->access].stride[last] != 1) continue;
        narrow = DYNC__MIN(narrow, dync__dtype_info(k->buf.at[in->buf].dtype)->bytes);
        any = true;
    }
    int vec = narrow == 8 ? 2 : narrow == 4 ? 4 : 8, first = is_flat ? 0 : k->n_outer;
    bool one_loop = dync__ptx_product(k, first, last) == 1;
    if (!any) return;
    if (p->most) vec = DYNC__MIN(vec, p->most);
    while (vec > 1 && k->extent[last] % vec && !(is_flat && one_loop && k->extent[last] >= 64))
        vec /= 2;
    p->shape.vec = p->vec = vec;
    /* what has to lie on boundaries at run time */
    for (int i = 0; i < k->inst.n && vec > 1; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (!p->needed[i] || (in->prim != DYNC__P_load && in->prim != DYNC__P_store) ||
            p->host[in->buf])
            continue;
        int bytes = dync__dtype_info(k->buf.at[in->buf].dtype)->bytes;
        int64_t offset = k->access.at[in->access].offset * bytes;
        if (k->access.at[in->access].stride[last] != 1 || vec * bytes < 4 ||
            p->n_checks == DYNC__PTX_CHECKS)
            continue;
        if (dync__ptx_is_vector(p, in->buf, in->access)) continue;
        p->check[p->n_checks++] = (dync__ptx_check){in->buf, DYNC__MIN(vec * bytes, 16), offset};
        if (!dync__ptx_is_vector(p, in->buf, in->access)) p->n_checks--;
    }
}

/* Groups of an iteration, such that a thread has four accesses under way before it waits for the
 * first; fewer where a lane is much work, as registers limit the number of threads then. */
static int dync__ptx_transpose_groups(const dync__ptx *p)
{
    /* words: registers that a lane's loads and accumulators hold */
    int loads = 0, work = 0, words = 0;
    for (int i = 0; i < p->k->inst.n; i++) {
        const dync__inst *in = &p->k->inst.at[i];
        if (!p->needed[i] || !(in->section & 1)) continue;
        work++;
        bool loaded = (in->prim == DYNC__P_load || in->prim == DYNC__P_loadx) && !p->host[in->buf],
             reduced = in->prim == DYNC__P_reduce;
        loads += loaded;
        if (loaded || reduced)
            words += dync__ptx_bits(p->k->inst.at[reduced ? in->arg[0] : i].type)[1] == '6' ? 2 : 1;
        if (reduced && (in->imm.i == DYNC__R_ARGMAX || in->imm.i == DYNC__R_ARGMIN)) words += 2;
    }
    int most = DYNC__PTX_TRANSPOSE_LANES / p->shape.vec,
        groups = (DYNC__PTX_IN_FLIGHT + DYNC__MAX(loads, 1) - 1) / DYNC__MAX(loads, 1);
    if (work > 60) groups = DYNC__MIN(groups, DYNC__MAX(8 / p->shape.vec, 1));
    if (work > 240) groups = 1;
    most = DYNC__MIN(most, 48 / (DYNC__MAX(words, 1) * p->shape.vec));
    return DYNC__MAX(DYNC__MIN(groups, most), 1);
}

/* Are the elements of neighbouring rows nearer to each other than those of a row? */
static bool dync__ptx_is_columns(const dync__ptx *p)
{
    const dync__kernel *k = p->k;
    int along = 0, across = 0, last_row = k->n_outer - 1, last = k->n_dims - 1;
    if (last_row < 0 || k->extent[last_row] < 8) return false;
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (!p->needed[i] || in->access < 0 || in->buf < 0 || !(in->section & 1)) continue;
        along += k->access.at[in->access].stride[last] == 1;
        across += k->access.at[in->access].stride[last_row] == 1;
    }
    return across > along;
}

static int64_t dync__ptx_pow2(int64_t n)
{
    int64_t p = 1;
    while (p < n) p *= 2;
    return p;
}

/* Sections of the last use of every value, directly or through others; reductions keep what is
 * behind them. */
static const int32_t *dync__ptx_last_uses(const dync__ptx *p)
{
    const dync__kernel *k = p->k;
    int32_t *last = dync__arena_alloc(p->arena, (size_t)(k->inst.n + 1) * sizeof *last);
    for (int i = k->inst.n - 1; i >= 0 && last; i--) {
        const dync__inst *in = &k->inst.at[i];
        for (int a = 0; p->needed[i] && a < dync__prim_info(in->prim)->n_args; a++) {
            int32_t *use = &last[in->arg[a]];
            *use = DYNC__MAX(*use, in->section);
            if (in->prim != DYNC__P_reduce) *use = DYNC__MAX(*use, last[i]);
        }
    }
    return last;
}
static bool dync__ptx_is_load(const dync__inst *in)
{
    return in->prim == DYNC__P_load || in->prim == DYNC__P_loadx;
}

/* Does a phase before `last` write what in loads, or `last` what another thread loads again? */
static bool dync__ptx_overwrites(const dync__kernel *k, const dync__inst *in, int last,
                                 const dync__inst *to)
{
    const dync__access *access = k->access.at;
    if (dync__inst_has_value(to) || to->buf != in->buf || in->section >= last || to->section > last)
        return false;
    return to->section < last || in->prim != DYNC__P_load || to->prim != DYNC__P_store ||
           !dync__access_equal(&access[in->access], &access[to->access], k->n_dims, k->extent);
}

/* A phase would load again what has been written since: such values have to stay in registers. */
static bool dync__ptx_must_keep(const dync__ptx *p)
{
    const dync__kernel *k = p->k;
    bool keep = false;
    const int32_t *last = p->in_place ? dync__ptx_last_uses(p) : NULL;
    for (int i = 0; i < k->inst.n && last; i++) {
        const dync__inst *in = &k->inst.at[i];
        for (int j = i + 1; j < k->inst.n && dync__ptx_is_load(in); j++)
            keep |= (in->section & 1) && dync__ptx_overwrites(k, in, last[i], &k->inst.at[j]);
    }
    return keep;
}

/* May the row be cut into chunks, each phase a launch? Row code stores when the phases are done,
 * and every launch computes it: what is written in place must have been used before, or by the same
 * element. */
static bool dync__ptx_may_split(const dync__ptx *p)
{
    const dync__kernel *k = p->k;
    const int32_t *last = p->in_place ? dync__ptx_last_uses(p) : NULL;
    if (p->n_phases >= DYNC__PTX_LAUNCHES || (p->in_place && !last)) return false;
    for (int i = 0; i < k->inst.n && last; i++) {
        const dync__inst *in = &k->inst.at[i];
        for (int j = 0; j < k->inst.n && dync__ptx_is_load(in) && p->needed[i]; j++) {
            const dync__inst *to = &k->inst.at[j];
            if (dync__inst_has_value(to) || to->buf != in->buf) continue;
            bool before = to->section < in->section && (to->section & 1),
                 after = to->section > last[i] || (to->section == last[i] && !(to->section & 1));
            bool itself = to->section == last[i] && in->section == to->section &&
                          in->access == to->access && in->prim == DYNC__P_load &&
                          to->prim == DYNC__P_store;
            if (!before && !after && !itself) return false;
        }
    }
    return true;
}

static void dync__ptx_plan_rows(dync__ptx *p, int units)
{
    /* row code alone; reductions of nothing */
    if (p->shape.inner == 0) {
        p->shape = (dync__ptx_shape){.mode = DYNC__PTX_ROWS,
                                     .vec = 1,
                                     .groups = 1,
                                     .threads = 1,
                                     .rows = p->shape.rows,
                                     .iterations = 2,
                                     .splits = 1,
                                     .rows_per_block = 128,
                                     .block = 128,
                                     .wide = p->shape.wide};
        p->vec = 1;
        return;
    }
    dync__ptx_shape *s = &p->shape;
    bool keep = p->n_phases > 1;
    int64_t places = (int64_t)units * 2048, groups;
    s->mode = DYNC__PTX_ROWS;
    s->splits = 1;
    if (dync__ptx_is_columns(p)) {
        s->mode = DYNC__PTX_COLUMNS;
        s->vec = p->vec = 1;
        p->n_checks = 0;
        s->threads = 1;
        while (s->threads < 16 && s->threads * 4 <= s->inner && s->rows * s->threads < places)
            s->threads *= 2;
        s->rows_per_block = 32;
        s->block = (int)(32 * s->threads);
    } else {
        int64_t per = s->inner / s->vec;
        int limit = keep ? 32 : DYNC__PTX_ROW_LANES;
        s->threads = per >= 32 ? 32 : dync__ptx_pow2(per);
        while (s->threads < 1024 && s->threads >= 32 && s->inner > s->threads * limit)
            s->threads *= 2;
        if (s->threads > 32 && s->threads < 128) s->threads = 128;
        s->block = s->threads > 128 ? (int)s->threads : 128;
        s->rows_per_block = (int)(s->block / s->threads);
    }
    groups = (s->inner + s->threads * s->vec - 1) / (s->threads * s->vec);
    int most = (keep ? 32 : DYNC__PTX_ROW_LANES) / s->vec;
    if (dync__ptx_must_keep(p)) most = DYNC__PTX_LANES / s->vec;
    if (groups <= DYNC__MAX(most, 1)) {
        s->iterations = 1;
        s->groups = (int)groups;
    } else {
        s->groups = dync__ptx_transpose_groups(p);
        s->iterations = (groups + s->groups - 1) / s->groups;
        p->unsupported = dync__ptx_must_keep(p);
        int64_t iteration = s->threads * s->vec * s->groups,
                alive = (s->mode == DYNC__PTX_ROWS ? s->rows * s->threads
                                                   : (s->rows + 31) / 32 * 32 * s->threads);
        if (alive * 2 <= places && (!keep || s->inner >= DYNC__PTX_SPLIT_FROM) &&
            dync__ptx_may_split(p)) {
            int64_t splits =
                DYNC__MIN(DYNC__MIN(s->iterations, (places + alive - 1) / alive), 1024);
            s->chunk = (s->iterations + splits - 1) / splits * iteration;
            s->splits = (s->inner + s->chunk - 1) / s->chunk;
            s->iterations = 2; /* a loop, whose end is in a register */
        }
    }
    s->guarded = s->inner % (s->threads * s->vec * s->groups) != 0;
}

DYNC__FN void dync__ptx_plan(dync__ptx *p, int units, bool scalar)
{
    dync__ptx_shape *s = &p->shape;
    const dync__kernel *k = p->k;
    bool is_flat = dync__ptx_is_flat(p);
    int first = is_flat ? 0 : k->n_outer;
    s->vec = p->vec = 1;
    s->rows = dync__ptx_product(k, 0, first);
    s->inner = dync__ptx_product(k, first, k->n_dims);
    s->wide = (double)s->rows * (double)s->inner >= 1073741824.0;
    s->rows_per_block = 1;
    if (!scalar) dync__ptx_plan_vector(p, is_flat);
    if (!is_flat) {
        dync__ptx_plan_rows(p, units);
        return;
    }
    s->mode = DYNC__PTX_FLAT;
    s->block = DYNC__PTX_BLOCK;
    s->splits = 1;
    s->iterations = 2;
    s->groups = dync__ptx_transpose_groups(p);
    while (s->groups > 1 && s->inner < (int64_t)units * s->block * s->vec * s->groups)
        s->groups /= 2;
    s->guarded = s->groups > 1;
    if (units) dync__ptx_plan_transpose(p, units, scalar);
}

/* ==== cuda/ptx_f16.c =============================================================================== */
/* cuda/ptx_f16.c: arithmetic on two half floats at a time. After ptx_plan.c, before ptx_mem.c.
 *
 * f16 and bf16 are computed in f32, and each operator's result is rounded to its dtype (wrap). A
 * wrap of a sum, difference or product of two values that are f16 values already is one instruction
 * on pairs of lanes: rounding to f32's 24 bits first changes nothing, as 24 >= 2 * 11 + 2 (f16) and
 * 2 * 8 + 2 (bf16; Figueroa 1995), products are exact in f32, and where they are not (below 2^-149)
 * both ways give zero or the least subnormal alike. Not done: fma (three operands: rounded twice it
 * differs), division (none for pairs), min and max (of two zeros dync takes the second, PTX the
 * greater), sums that no operator rounds. bf16 has fma alone before sm_90: a * 1 + b, b * -1 + a, a
 * * b + -0. neg and abs are of the sign bits. A value's pair is beside its lanes in f32; ptxas
 * drops what nobody reads. */

static bool dync__ptx_is_f16(int dtype) { return dtype == DYNC_F16 || dtype == DYNC_BF16; }

/* The half that a constant is, if it is one. */
static bool dync__ptx_f16_constant(const dync__inst *in, int dtype, uint16_t *bits)
{
    double x = (double)dync__const_scalar(in).f;
    if (in->prim != DYNC__P_const_ || in->type != DYNC_F32 || !(x - x >= 0)) return false;
    dync__store_f64(bits, dtype, x);
    double back = dync__load_f64(bits, dtype);
    return !(back < x) && !(back > x);
}

/* Is value i a half of this dtype already? */
static bool dync__ptx_f16_value(const dync__ptx *p, int i, int dtype)
{
    const dync__inst *in = &p->k->inst.at[i];
    uint16_t bits;
    if (in->prim == DYNC__P_load) return p->k->buf.at[in->buf].dtype == dtype;
    return (in->prim == DYNC__P_wrap && in->imm.i == dtype) ||
           dync__ptx_f16_constant(in, dtype, &bits);
}

/* A rounded operator that goes by pairs. */
static bool dync__ptx_f16_rounds(const dync__ptx *p, int i)
{
    const dync__inst *in = &p->k->inst.at[i];
    if (in->prim != DYNC__P_wrap || !dync__ptx_is_f16((int)in->imm.i)) return false;
    const dync__inst *op = &p->k->inst.at[in->arg[0]];
    if (op->prim != DYNC__P_add && op->prim != DYNC__P_sub && op->prim != DYNC__P_mul &&
        op->prim != DYNC__P_neg && op->prim != DYNC__P_abs)
        return false;
    for (int a = 0; a < dync__prim_info(op->prim)->n_args; a++)
        if (!dync__ptx_f16_value(p, op->arg[a], (int)in->imm.i)) return false;
    return true;
}

/* Operators that only such wraps read are not computed on their own. */
DYNC__FN void dync__ptx_mark_pairs(dync__ptx *p)
{
    const dync__kernel *k = p->k;
    if (p->shape.vec < 2) return;
    uint8_t *read = dync__arena_alloc(p->arena, (size_t)k->inst.n + 1);
    p->paired = dync__arena_alloc(p->arena, (size_t)(k->inst.n + 1) * sizeof *p->paired);
    if (!p->paired || !read) {
        p->failed = true;
        return;
    }
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        bool by_pairs = p->needed[i] && p->uniform[i] == 0 && dync__ptx_f16_rounds(p, i);
        p->paired[i] = -1;
        for (int a = 0; p->needed[i] && a < dync__prim_info(in->prim)->n_args; a++)
            read[in->arg[a]] |= by_pairs ? 1 : 2;
    }
    for (int i = 0; i < k->inst.n; i++)
        if (read[i] == 1 && p->shape.inner % p->shape.vec == 0) p->needed[i] = 0;
}

/* The register of value i's pair from `lane` on. */
static void dync__ptx_pair_name(dync__ptx *p, int i, int lane, char *name)
{
    dync__format(name, 48, "%sh", dync__ptx_use(p, i, lane));
}

/* word is the pair of load i from lane on. */
DYNC__FN void dync__ptx_pair_is(dync__ptx *p, int i, int lane, const char *word)
{
    char name[48];
    if (!p->paired) return;
    p->paired[i] = p->where[i];
    dync__ptx_pair_name(p, i, lane, name);
    dync__ptx_reg(p, "b32", name);
    dync__ptx_line(p, "mov.b32 %s, %s", name, word);
}

static void dync__ptx_pair_constant(dync__ptx *p, unsigned bits, char *name)
{
    dync__format(name, 48, "%s", dync__ptx_temp(p, "b32"));
    dync__ptx_line(p, "mov.b32 %s, 0x%04x%04x", name, bits, bits);
}

/* The pair of value i, a half of this dtype, in lanes lane and lane + 1: made where there is
 * none. */
static void dync__ptx_f16_pair(dync__ptx *p, int i, int lane, int dtype, char *name)
{
    uint16_t bits;
    if (dync__ptx_f16_constant(&p->k->inst.at[i], dtype, &bits)) {
        dync__ptx_pair_constant(p, bits, name);
        return;
    }
    char low[40];
    dync__format(low, sizeof low, "%s", dync__ptx_in_reg(p, i, lane));
    if (p->paired[i] >= 0 && p->paired[i] == p->where[i]) {
        dync__ptx_pair_name(p, i, lane, name);
        return;
    }
    const char *high = dync__ptx_in_reg(p, i, lane + 1);
    dync__format(name, 48, "%s", dync__ptx_temp(p, "b32"));
    dync__ptx_line(p, "cvt.rn.%s.f32 %s, %s, %s", dtype == DYNC_F16 ? "f16x2" : "bf16x2", name,
                   high, low);
}

/* The pair that store wants of value i, if there is one. */
DYNC__FN bool dync__ptx_pair_of(dync__ptx *p, int i, int lane, int dtype, char *name)
{
    (void)dync__ptx_use(p, i, lane);
    if (!p->paired || p->paired[i] < 0 || p->paired[i] != p->where[i] || p->vec % 2 ||
        !dync__ptx_f16_value(p, i, dtype) || dync__ptx_lanes(p, i) == 1)
        return false;
    dync__ptx_pair_name(p, i, lane, name);
    return true;
}

/* All lanes of a wrap by pairs; false: it is not one of those. */
DYNC__FN bool dync__ptx_emit_pairs(dync__ptx *p, int i)
{
    const dync__inst *in = &p->k->inst.at[i];
    if (!p->paired || p->vec % 2 || dync__ptx_lanes(p, i) == 1 || p->uniform[i] != 0 ||
        !dync__ptx_f16_rounds(p, i))
        return false;
    const dync__inst *op = &p->k->inst.at[in->arg[0]];
    int dtype = (int)in->imm.i, n = dync__prim_info(op->prim)->n_args;
    for (int a = 0; a < n; a++) (void)dync__ptx_use(p, op->arg[a], 0);
    dync__str_addf(&p->body, "    // %s of pairs%s%s\n", dync__prim_info(op->prim)->name,
                   in->origin ? " of " : "", in->origin ? in->origin : "");
    p->where[i] = p->paired[i] = p->block;
    for (int lane = 0; lane < dync__ptx_lanes(p, i); lane += 2) {
        char arg[2][48] = {"", ""}, to[48], half[2][40], value[2][40];
        for (int a = 0; a < n; a++) dync__ptx_f16_pair(p, op->arg[a], lane, dtype, arg[a]);
        for (int e = 0; e < 2; e++)
            dync__format(value[e], sizeof value[e], "%s", dync__ptx_dest(p, i, lane + e));
        dync__ptx_pair_name(p, i, lane, to);
        dync__ptx_reg(p, "b32", to);
        const char *type = dtype == DYNC_F16 ? "f16x2" : "bf16x2",
                   *name = op->prim == DYNC__P_add   ? "add"
                           : op->prim == DYNC__P_sub ? "sub"
                                                     : "mul";
        if (n == 1)
            dync__ptx_line(p,
                           op->prim == DYNC__P_neg ? "xor.b32 %s, %s, 0x80008000"
                                                   : "and.b32 %s, %s, 0x7fff7fff",
                           to, arg[0]);
        else if (dtype == DYNC_F16)
            dync__ptx_line(p, "%s.rn.%s %s, %s, %s", name, type, to, arg[0], arg[1]);
        else {
            bool add = op->prim == DYNC__P_add, mul = op->prim == DYNC__P_mul;
            char one[48];
            dync__ptx_pair_constant(p, mul ? 0x8000 : add ? 0x3f80 : 0xbf80, one);
            if (mul)
                dync__ptx_line(p, "fma.rn.bf16x2 %s, %s, %s, %s", to, arg[0], arg[1], one);
            else
                dync__ptx_line(p, "fma.rn.bf16x2 %s, %s, %s, %s", to, arg[!add], one, arg[add]);
        }
        if (dtype == DYNC_F16) {
            for (int e = 0; e < 2; e++)
                dync__format(half[e], sizeof half[e], "%s", dync__ptx_temp(p, "b16"));
            dync__ptx_line(p, "mov.b32 {%s, %s}, %s", half[0], half[1], to);
            for (int e = 0; e < 2; e++) dync__ptx_widen(p, dtype, value[e], half[e]);
        } else {
            for (int e = 0; e < 2; e++) {
                const char *bits = dync__ptx_temp(p, "b32");
                dync__ptx_line(p, e ? "and.b32 %s, %s, 0xffff0000" : "shl.b32 %s, %s, 16", bits,
                               to);
                dync__ptx_line(p, "mov.b32 %s, %s", value[e], bits);
            }
        }
    }
    return true;
}

/* ==== cuda/ptx_mem.c =============================================================================== */
/* cuda/ptx_mem.c: addresses, loads, stores and indices of PTX text. Before ptx.c.
 *
 * An address is the buffer's, the fixed offset, the row's coordinates and the group's coordinates;
 * lanes of a group differ by a constant. Narrow elements are widened in registers; a group of
 * neighbours is moved by one access of up to 16 bytes. */

DYNC__FN void dync__ptx_add_scaled(dync__ptx *p, const char *reg, const char *coordinate,
                                   int64_t by)
{
    if (!p->shape.wide && by >= -0x7fffffff && by <= 0x7fffffff) {
        dync__ptx_line(p, "mad.wide.s32 %s, %s, %lld, %s", reg, coordinate, (long long)by, reg);
        return;
    }
    const char *wide = coordinate;
    if (!p->shape.wide) {
        wide = dync__ptx_temp(p, "s64");
        dync__ptx_line(p, "cvt.s64.s32 %s, %s", wide, coordinate);
    }
    dync__ptx_line(p, "mad.lo.s64 %s, %s, %lld, %s", reg, wide, (long long)by, reg);
}

/* reg += sum of stride * unit * coordinate. group -1: row code. */
static void dync__ptx_add_access(dync__ptx *p, const char *reg, const dync__access *a, int64_t unit,
                                 int group)
{
    bool is_flat = p->shape.mode == DYNC__PTX_FLAT;
    char name[40];
    for (int d = 0; d < p->k->n_dims; d++) {
        bool outer = !is_flat && d < p->k->n_outer;
        if (a->stride[d] == 0 || p->k->extent[d] <= 1 || (!outer && group < 0)) continue;
        if (outer)
            dync__format(name, sizeof name, "%%o%d", d);
        else
            dync__format(name, sizeof name, "%%i%d_%db%d", d, group,
                         p->shape.iterations == 1 && !is_flat ? 1 : p->block);
        dync__ptx_add_scaled(p, reg, name, a->stride[d] * unit);
    }
}

DYNC__FN const char *dync__ptx_address_of(dync__ptx *p, int buf, int access, int group)
{
    bool straight = p->shape.iterations == 1 && p->shape.mode != DYNC__PTX_FLAT;
    for (int i = 0; i < p->address.n; i++) {
        dync__ptx_address *a = &p->address.at[i];
        if (a->buf == buf && a->access == access && a->group == group &&
            (a->at == p->block || straight))
            return a->reg;
    }
    const dync__access *acc = &p->k->access.at[access];
    int bytes = dync__dtype_info(p->k->buf.at[buf].dtype)->bytes;
    dync__ptx_address made = {.buf = buf, .access = access, .group = group, .at = p->block};
    dync__format(made.reg, sizeof made.reg, "%s", dync__ptx_temp(p, "s64"));
    if (!dync__avec_push(p->arena, &p->address, made)) {
        p->failed = true;
        return "%b0";
    }
    const char *reg = p->address.at[p->address.n - 1].reg;
    dync__ptx_line(p, "add.s64 %s, %%b%d, %lld", reg, buf, (long long)(acc->offset * bytes));
    dync__ptx_add_access(p, reg, acc, bytes, group);
    return reg;
}

DYNC__FN void dync__ptx_index(dync__ptx *p, int i, int lane)
{
    const dync__inst *in = &p->k->inst.at[i];
    const dync__access *a = &p->k->access.at[in->access];
    const char *to = dync__ptx_dest(p, i, lane);
    int last = p->k->n_dims - 1;
    int64_t along = last >= 0 && !dync__ptx_is_row(p, in) && p->uniform[i] != 2
                        ? a->stride[last] * (lane % p->vec)
                        : 0;
    char name[40];
    dync__format(name, sizeof name, "%s", to);
    dync__ptx_line(p, "mov.b64 %s, %s", name,
                   dync__ptx_constant(p, DYNC_I64, (dync__scalar){.i = a->offset + along}));
    dync__ptx_add_access(p, name, a, 1,
                         dync__ptx_is_row(p, in) || p->uniform[i] == 2 ? -1 : lane / p->vec);
}

/* ---- elements -------------------------------------------------------------------------------- */

/* Type of a load or store of one element, and of the register that it goes through. */
DYNC__FN const char *dync__ptx_memory_type(int dtype)
{
    static const char *const names[] = {"f32", "f64", "b16", "b16", "b64",
                                        "b32", "s16", "s8",  "u8",  "u8"};
    return names[dtype];
}
DYNC__FN const char *dync__ptx_raw_type(int dtype)
{
    static const char *const names[] = {"f32", "f64", "b16", "b16", "s64",
                                        "s32", "s32", "s32", "s32", "s32"};
    return names[dtype];
}
DYNC__FN void dync__ptx_unloaded(dync__ptx *p, const char *guard, const char *type,
                                 const char *name)
{
    if (*guard) dync__ptx_line(p, "mov.b%s %s, 0", type + 1, name);
}
DYNC__FN bool dync__ptx_is_plain(int dtype)
{
    return dync__dtype_info(dtype)->compute == dtype && dtype != DYNC_BOOL;
}

DYNC__FN void dync__ptx_narrow(dync__ptx *p, int dtype, const char *raw, const char *from)
{
    switch (dtype) {
    case DYNC_F16: dync__ptx_line(p, "cvt.rn.f16.f32 %s, %s", raw, from); break;
    case DYNC_BF16: dync__ptx_line(p, "cvt.rn.bf16.f32 %s, %s", raw, from); break;
    case DYNC_BOOL: dync__ptx_line(p, "selp.s32 %s, 1, 0, %s", raw, from); break;
    default:
        dync__ptx_line(p, "mov.%s %s, %s", dync__ptx_bits(dync__dtype_info(dtype)->compute), raw,
                       from);
        break;
    }
}

/* The value of an element in main memory came as a parameter. */
static void dync__ptx_load_host(dync__ptx *p, int i)
{
    const dync__inst *in = &p->k->inst.at[i];
    int dtype = p->k->buf.at[in->buf].dtype;
    char to[40];
    dync__format(to, sizeof to, "%s", dync__ptx_dest(p, i, 0));
    if (dync__dtype_info(dtype)->bytes == 8) {
        dync__ptx_line(p, "mov.b64 %s, %%b%d", to, (int)in->buf);
        return;
    }
    const char *word = dync__ptx_temp(p, "s32");
    dync__ptx_line(p, "cvt.u32.u64 %s, %%b%d", word, (int)in->buf);
    if (dtype == DYNC_I16 || dtype == DYNC_I8)
        dync__ptx_line(p, "bfe.s32 %s, %s, 0, %d", to, word, dtype == DYNC_I8 ? 8 : 16);
    else if (dtype == DYNC_U8)
        dync__ptx_line(p, "and.b32 %s, %s, 255", to, word);
    else if (dtype == DYNC_BOOL)
        dync__ptx_line(p, "setp.ne.s32 %s, %s, 0", to, word);
    else if (dtype == DYNC_F16 || dtype == DYNC_BF16) {
        const char *half = dync__ptx_temp(p, "b16");
        dync__ptx_line(p, "cvt.u16.u32 %s, %s", half, word);
        dync__ptx_widen(p, dtype, to, half);
    } else {
        dync__ptx_line(p, "mov.b32 %s, %s", to, word);
    }
}

/* Words of 32 bits that hold narrow elements, taken apart or put together. */
static void dync__ptx_unpack(dync__ptx *p, int i, int lane0, int n, int dtype,
                             const char *const *word)
{
    int bytes = dync__dtype_info(dtype)->bytes, per = 4 / bytes;
    for (int k = 0; k < n; k += per) {
        const char *half[2] = {NULL, NULL};
        if (dtype == DYNC_BF16 || dtype == DYNC_F16)
            dync__ptx_pair_is(p, i, lane0 + k, word[k / per]);
        if (dtype == DYNC_BF16) { /* the upper half of a float */
            for (int e = 0; e < 2; e++) {
                const char *bits = dync__ptx_temp(p, "b32");
                dync__ptx_line(p, e ? "and.b32 %s, %s, 0xffff0000" : "shl.b32 %s, %s, 16", bits,
                               word[k / per]);
                dync__ptx_line(p, "mov.b32 %s, %s", dync__ptx_dest(p, i, lane0 + k + e), bits);
            }
            continue;
        }
        if (dtype == DYNC_F16) {
            half[0] = dync__ptx_temp(p, "b16");
            half[1] = dync__ptx_temp(p, "b16");
            dync__ptx_line(p, "mov.b32 {%s, %s}, %s", half[0], half[1], word[k / per]);
        }
        for (int e = 0; e < per; e++) {
            char to[40];
            dync__format(to, sizeof to, "%s", dync__ptx_dest(p, i, lane0 + k + e));
            if (half[0]) {
                dync__ptx_widen(p, dtype, to, half[e]);
                continue;
            }
            const char *raw = dync__ptx_temp(p, "s32");
            dync__ptx_line(p, "bfe.%s %s, %s, %d, %d",
                           dtype == DYNC_I16 || dtype == DYNC_I8 ? "s32" : "u32", raw,
                           word[k / per], e * 8 * bytes, 8 * bytes);
            dync__ptx_widen(p, dtype, to, raw);
        }
    }
}

DYNC__FN void dync__ptx_list(char *out, size_t cap, int n, char name[][40])
{
    int at = dync__format(out, cap, "{");
    for (int k = 0; k < n; k++)
        at += dync__format(out + at, cap - (size_t)at, "%s%s", k ? ", " : "", name[k]);
    dync__format(out + at, cap - (size_t)at, "}");
}

/* Where element k of a group lies: address and state space; of what is transposed, in shared
 * memory. */
DYNC__FN const char *dync__ptx_spot(dync__ptx *p, const dync__inst *in, int group, int k,
                                    const char *at, char *out, size_t cap)
{
    int transposed = dync__ptx_transposed_of(p, in),
        bytes = dync__dtype_info(p->k->buf.at[in->buf].dtype)->bytes;
    if (transposed >= 0)
        dync__ptx_transposed_place(p, transposed, group, k, out, cap);
    else
        dync__format(out, cap, "%s+%d", at, k * bytes);
    return transposed >= 0 ? "shared" : "global";
}

/* Neighbours are moved by one access? */
DYNC__FN bool dync__ptx_moves_groups(const dync__ptx *p, const dync__inst *in)
{
    if (dync__ptx_transposed_of(p, in) < 0) return dync__ptx_is_vector(p, in->buf, in->access);
    return p->vec > 1 && p->vec * dync__dtype_info(p->k->buf.at[in->buf].dtype)->bytes >= 4;
}

/* A register for bits as they lie in memory. */
static void dync__ptx_raw(dync__ptx *p, int i, int lane, const char *type, char name[40])
{
    if (p->raw)
        dync__format(name, 40, "%%raw%d_%db%d", i, lane, p->block);
    else
        dync__format(name, 40, "%s", dync__ptx_temp(p, type));
    if (p->raw == 1) dync__ptx_reg(p, type, name);
}

static void dync__ptx_load_group(dync__ptx *p, int i, int group)
{
    const dync__inst *in = &p->k->inst.at[i];
    int dtype = p->k->buf.at[in->buf].dtype, bytes = dync__dtype_info(dtype)->bytes,
        lane0 = group * p->vec;
    int per = DYNC__MIN(16 / bytes, p->vec); /* elements of one access */
    char name[8][40], list[360], at[40] = "", guard[40], spot[64];
    bool plain = dync__ptx_is_plain(dtype);
    if (plain && p->raw == 2) return;
    if (dync__ptx_transposed_of(p, in) < 0 && p->raw < 2)
        dync__format(at, sizeof at, "%s", dync__ptx_address_of(p, in->buf, in->access, group));
    dync__format(guard, sizeof guard, "%s", dync__ptx_guard(p, lane0, false));
    for (int k = 0; k < p->vec; k += per) {
        int n = plain ? per : per * bytes / 4;
        const char *word[8];
        for (int e = 0; e < n; e++) {
            if (plain)
                dync__format(name[e], sizeof name[e], "%s", dync__ptx_dest(p, i, lane0 + k + e));
            else
                dync__ptx_raw(p, i, lane0 + k + e, "b32", name[e]);
            word[e] = name[e];
        }
        if (p->raw == 2) {
            dync__ptx_unpack(p, i, lane0 + k, per, dtype, word);
            continue;
        }
        if (n == 1)
            dync__format(list, sizeof list, "%s", name[0]);
        else
            dync__ptx_list(list, sizeof list, n, name);
        const char *space = dync__ptx_spot(p, in, group, k, at, spot, sizeof spot);
        for (int e = 0; e < n; e++)
            dync__ptx_unloaded(p, guard, plain ? dync__ptx_raw_type(dtype) : "b32", name[e]);
        dync__ptx_line(p, "%sld.%s.%s%s %s, [%s]", guard, space,
                       n == 1   ? ""
                       : n == 2 ? "v2."
                                : "v4.",
                       plain ? dync__ptx_memory_type(dtype) : "b32", list, spot);
        if (!plain && !p->raw) dync__ptx_unpack(p, i, lane0 + k, per, dtype, word);
    }
}

static void dync__ptx_load_one(dync__ptx *p, int i, int lane)
{
    const dync__inst *in = &p->k->inst.at[i];
    int dtype = p->k->buf.at[in->buf].dtype, bytes = dync__dtype_info(dtype)->bytes,
        last = p->k->n_dims - 1;
    bool row = dync__ptx_lanes(p, i) == 1 && (dync__ptx_is_row(p, in) || p->uniform[i] == 2);
    char at[40] = "", to[40], guard[40], spot[64];
    int64_t along =
        row || last < 0 ? 0 : p->k->access.at[in->access].stride[last] * (lane % p->vec) * bytes;
    bool transposed = dync__ptx_transposed_of(p, in) >= 0, plain = dync__ptx_is_plain(dtype);
    char raw[40];
    if (p->raw == 2) {
        dync__ptx_raw(p, i, lane, dync__ptx_raw_type(dtype), raw);
        if (!plain) dync__ptx_widen(p, dtype, dync__ptx_dest(p, i, lane), raw);
        return;
    }
    if (!transposed)
        dync__format(at, sizeof at, "%s",
                     dync__ptx_address_of(p, in->buf, in->access, row ? -1 : lane / p->vec));
    if (in->prim == DYNC__P_loadx) {
        const char *index = dync__ptx_in_reg(p, in->arg[0], lane),
                   *moved = dync__ptx_temp(p, "s64");
        dync__ptx_line(p, "mad.lo.s64 %s, %s, %d, %s", moved, index, bytes, at);
        dync__format(at, sizeof at, "%s", moved);
    }
    bool over = p->in_place && p->shape.mode != DYNC__PTX_FLAT &&
                p->shape.rows % p->shape.rows_per_block;
    dync__format(guard, sizeof guard, "%s",
                 row ? (over ? "@%rowok " : "") : dync__ptx_guard(p, lane, false));
    if (plain || !p->raw) dync__format(to, sizeof to, "%s", dync__ptx_dest(p, i, lane));
    if (plain)
        dync__format(raw, sizeof raw, "%s", to);
    else
        dync__ptx_raw(p, i, lane, dync__ptx_raw_type(dtype), raw);
    dync__format(spot, sizeof spot, "%s+%lld", at, (long long)along);
    if (transposed)
        (void)dync__ptx_spot(p, in, lane / p->vec, lane % p->vec, at, spot, sizeof spot);
    dync__ptx_unloaded(p, guard, dync__ptx_raw_type(dtype), raw);
    dync__ptx_line(p, "%sld.%s.%s %s, [%s]", guard, transposed ? "shared" : "global",
                   dync__ptx_memory_type(dtype), raw, spot);
    if (!plain && !p->raw) dync__ptx_widen(p, dtype, to, raw);
}

DYNC__FN void dync__ptx_load(dync__ptx *p, int i)
{
    const dync__inst *in = &p->k->inst.at[i];
    if (p->host[in->buf]) {
        dync__ptx_load_host(p, i);
        return;
    }
    int lanes = dync__ptx_lanes(p, i);
    bool vector = lanes > 1 && in->prim == DYNC__P_load && p->uniform[i] == 0 &&
                  dync__ptx_moves_groups(p, in);
    for (int lane = 0; lane < lanes; lane++) {
        if (dync__ptx_lane(p, i, lane) != lane) continue;
        if (!vector)
            dync__ptx_load_one(p, i, lane);
        else if (lane % p->vec == 0)
            dync__ptx_load_group(p, i, lane / p->vec);
    }
}

/* ==== cuda/ptx_store.c ============================================================================= */
/* cuda/ptx_store.c: stores of elements, one or a group at a time. Before: ptx_mem.c. */

/* ---- stores ---------------------------------------------------------------------------------- */

static void dync__ptx_store_group(dync__ptx *p, int i, int group)
{
    const dync__inst *in = &p->k->inst.at[i];
    int dtype = p->k->buf.at[in->buf].dtype, bytes = dync__dtype_info(dtype)->bytes,
        lane0 = group * p->vec;
    int per = DYNC__MIN(16 / bytes, p->vec);
    bool plain = dync__ptx_is_plain(dtype);
    char name[8][40], list[360], at[40] = "", guard[40], spot[64];
    if (dync__ptx_transposed_of(p, in) < 0)
        dync__format(at, sizeof at, "%s", dync__ptx_address_of(p, in->buf, in->access, group));
    dync__format(guard, sizeof guard, "%s", dync__ptx_guard(p, lane0, true));
    for (int k = 0; k < p->vec; k += per) {
        int n = 0;
        for (int e = 0; e < per && plain; e++)
            dync__format(name[n++], sizeof name[0], "%s",
                         dync__ptx_in_reg(p, in->arg[0], lane0 + k + e));
        for (int e = 0; e < per && !plain; e += 4 / bytes) {
            const char *word = dync__ptx_temp(p, "b32");
            dync__format(name[n], sizeof name[0], "%s", word);
            if (bytes == 2 && dtype != DYNC_I16) {
                char low[40], pair[48];
                dync__format(low, sizeof low, "%s", dync__ptx_in_reg(p, in->arg[0], lane0 + k + e));
                if (dync__ptx_pair_of(p, in->arg[0], lane0 + k + e, dtype, pair))
                    dync__ptx_line(p, "mov.b32 %s, %s", name[n], pair);
                else
                    dync__ptx_line(p, "cvt.rn.%s.f32 %s, %s, %s",
                                   dtype == DYNC_F16 ? "f16x2" : "bf16x2", name[n],
                                   dync__ptx_in_reg(p, in->arg[0], lane0 + k + e + 1), low);
            } else {
                dync__ptx_line(p, "mov.b32 %s, 0", name[n]);
                for (int b = 0; b < 4 / bytes; b++) {
                    const char *raw = dync__ptx_temp(p, "s32");
                    dync__ptx_narrow(p, dtype, raw,
                                     dync__ptx_in_reg(p, in->arg[0], lane0 + k + e + b));
                    dync__ptx_line(p, "bfi.b32 %s, %s, %s, %d, %d", name[n], raw, name[n],
                                   8 * bytes * b, 8 * bytes);
                }
            }
            n++;
        }
        if (n == 1)
            dync__format(list, sizeof list, "%s", name[0]);
        else
            dync__ptx_list(list, sizeof list, n, name);
        const char *space = dync__ptx_spot(p, in, group, k, at, spot, sizeof spot);
        dync__ptx_line(p, "%sst.%s.%s%s [%s], %s", guard, space,
                       n == 1   ? ""
                       : n == 2 ? "v2."
                                : "v4.",
                       plain ? dync__ptx_memory_type(dtype) : "b32", spot, list);
    }
}

static void dync__ptx_store_one(dync__ptx *p, int i, int lane)
{
    const dync__inst *in = &p->k->inst.at[i];
    int dtype = p->k->buf.at[in->buf].dtype, bytes = dync__dtype_info(dtype)->bytes,
        last = p->k->n_dims - 1;
    bool row = dync__ptx_is_row(p, in);
    char at[40] = "", value[40], guard[40], spot[64];
    int64_t along =
        row || last < 0 ? 0 : p->k->access.at[in->access].stride[last] * (lane % p->vec) * bytes;
    bool transposed = dync__ptx_transposed_of(p, in) >= 0;
    if (!transposed)
        dync__format(at, sizeof at, "%s",
                     dync__ptx_address_of(p, in->buf, in->access, row ? -1 : lane / p->vec));
    if (in->prim == DYNC__P_storex) {
        const char *index = dync__ptx_in_reg(p, in->arg[1], lane),
                   *moved = dync__ptx_temp(p, "s64");
        dync__ptx_line(p, "mad.lo.s64 %s, %s, %d, %s", moved, index, bytes, at);
        dync__format(at, sizeof at, "%s", moved);
    }
    dync__format(guard, sizeof guard, "%s", row ? "@%first " : dync__ptx_guard(p, lane, true));
    dync__format(value, sizeof value, "%s", dync__ptx_in_reg(p, in->arg[0], lane));
    const char *raw = dync__ptx_is_plain(dtype) ? value
                                                : dync__ptx_temp(p, dync__ptx_raw_type(dtype));
    if (raw != value) dync__ptx_narrow(p, dtype, raw, value);
    dync__format(spot, sizeof spot, "%s+%lld", at, (long long)along);
    if (transposed)
        (void)dync__ptx_spot(p, in, lane / p->vec, lane % p->vec, at, spot, sizeof spot);
    dync__ptx_line(p, "%sst.%s.%s [%s], %s", guard, transposed ? "shared" : "global",
                   dync__ptx_memory_type(dtype), spot, raw);
}

DYNC__FN void dync__ptx_store(dync__ptx *p, int i)
{
    const dync__inst *in = &p->k->inst.at[i];
    if (dync__ptx_is_row(p, in)) {
        dync__ptx_row_barrier(p);
        dync__ptx_store_one(p, i, 0);
        dync__ptx_row_barrier(p);
        return;
    }
    bool vector = in->prim == DYNC__P_store && dync__ptx_moves_groups(p, in);
    for (int lane = 0; lane < p->groups * p->vec; lane++) {
        if (!vector)
            dync__ptx_store_one(p, i, lane);
        else if (lane % p->vec == 0)
            dync__ptx_store_group(p, i, lane / p->vec);
    }
}

/* ==== cuda/ptx_transpose_move.c ==================================================================== */
/* cuda/ptx_transpose_move.c: the text of a transposed kernel: units from global to shared memory
 * and back, positions, the loop. After ptx_transpose.c. */

/* ---- in and out ------------------------------------------------------------------------------ */

/* One lane's part of a square, unit number `unit`: R rows of the last loop by w elements along
 * `across`. */
typedef struct dync__ptx_transpose_unit {
    int n, rows, words;
    char in[4][40], place[24], at[4][40];
} dync__ptx_transpose_unit;

/* Names w<transposed>_<unit>_<row>_<word> of what is moved. */
static void dync__ptx_transpose_word(const dync__ptx_transposed *t, const dync__ptx *p, int unit,
                                     int row, int word, char *name)
{
    dync__format(name, 40, "%%w%d_%d_%d_%d", (int)(t - p->transposed), unit, row, word);
}

/* Place, addresses and guards of a unit. */
static void dync__ptx_transpose_unit_of(dync__ptx *p, const dync__ptx_transposed *t, int unit,
                                        dync__ptx_transpose_unit *u)
{
    const dync__ptx_shape *s = &p->shape;
    const dync__kernel *k = p->k;
    const dync__access *a = &k->access.at[t->access];
    int bytes = dync__ptx_transpose_bytes(p, t), last = k->n_dims - 1;
    int across = DYNC__MIN(8, s->side / t->width), more = DYNC__MAX(1, s->side / (8 * t->width));
    char m[24], l[24], x[24], im[40], base[40];
    u->rows = bytes < 4 ? 4 / bytes : 1;
    u->words = DYNC__MAX(1, t->width * bytes / 4);
    dync__format(m, sizeof m, "%s", dync__ptx_temp(p, "u32"));
    dync__format(l, sizeof l, "%s", dync__ptx_temp(p, "u32"));
    dync__format(x, sizeof x, "%s", dync__ptx_temp(p, "u32"));
    dync__format(u->place, sizeof u->place, "%s", dync__ptx_temp(p, "u32"));
    /* number = a + across * (b + 4 * (c + more * d)): m = (a + 8 c) w, l = (b + 4 d) R */
    dync__ptx_line(p, "add.u32 %s, %%thr, %d", x, unit * s->block);
    dync__ptx_line(p, "and.b32 %s, %s, %d", m, x, across - 1);
    dync__ptx_line(p, "div.u32 %s, %s, %d", x, x, across);
    dync__ptx_line(p, "and.b32 %s, %s, 3", l, x);
    dync__ptx_line(p, "shr.u32 %s, %s, 2", x, x);
    if (more > 1) {
        dync__ptx_line(p, "and.b32 %s, %s, %d", u->place, x, more - 1);
        dync__ptx_line(p, "mad.lo.u32 %s, %s, 8, %s", m, u->place, m);
        dync__ptx_line(p, "div.u32 %s, %s, %d", x, x, more);
    }
    dync__ptx_line(p, "mad.lo.u32 %s, %s, 4, %s", l, x, l);
    dync__ptx_line(p, "mul.lo.u32 %s, %s, %d", m, m, t->width);
    dync__ptx_line(p, "mul.lo.u32 %s, %s, %d", l, l, u->rows);
    dync__ptx_transpose_swizzle(p, t, x, m);
    dync__ptx_line(p, "shl.b32 %s, %s, 4", x, x);
    dync__ptx_line(p, "mul.lo.u32 %s, %s, %d", u->place, l, bytes);
    dync__ptx_line(p, "xor.b32 %s, %s, %s", u->place, u->place, x);
    dync__ptx_line(p, "mad.lo.u32 %s, %s, %d, %s", u->place, m, s->side * bytes, u->place);
    dync__ptx_line(p, "add.u32 %s, %s, %%smem", u->place, u->place);
    dync__format(base, sizeof base, "%s", dync__ptx_temp(p, "s64"));
    dync__format(im, sizeof im, "%s", dync__ptx_temp(p, "s64"));
    dync__ptx_line(p, "mad.wide.u32 %s, %s, %d, %%base%d", base, m, bytes,
                   (int)(t - p->transposed));
    dync__ptx_line(p, "cvt.u64.u32 %s, %s", im, l);
    dync__ptx_line(p, "mad.lo.s64 %s, %s, %lld, %s", base, im, (long long)(a->stride[last] * bytes),
                   base);
    for (int r = 0; r < u->rows; r++) {
        u->in[r][0] = 0;
        dync__format(u->at[r], sizeof u->at[r], "%s+%lld", base,
                     (long long)(r * a->stride[last] * bytes));
        if (!s->guarded) continue;
        const char *ok = dync__ptx_temp(p, "pred"), *ok_m = dync__ptx_temp(p, "pred"),
                   *il = dync__ptx_temp(p, "u32");
        dync__ptx_line(p, "setp.lt.u32 %s, %s, %%mleft", ok_m, m);
        dync__ptx_line(p, "add.u32 %s, %s, %d", il, l, r);
        dync__ptx_line(p, "setp.lt.and.u32 %s, %s, %%lleft, %s", ok, il, ok_m);
        dync__format(u->in[r], sizeof u->in[r], "@%s ", ok);
    }
}

static int dync__ptx_transpose_units(const dync__ptx *p, const dync__ptx_transposed *t)
{
    int bytes = dync__ptx_transpose_bytes(p, t), rows = bytes < 4 ? 4 / bytes : 1;
    return p->shape.side / t->width * (p->shape.side / rows);
}

/* Rows to or from global memory. */
static void dync__ptx_transpose_global(dync__ptx *p, const dync__ptx_transposed *t, int unit,
                                       const dync__ptx_transpose_unit *u)
{
    int whole = t->width * dync__ptx_transpose_bytes(p, t);
    const char *type = whole == 1 ? "u8" : whole == 2 ? "b16" : "b32";
    for (int r = 0; r < u->rows; r++) {
        char list[200], name[40];
        int n = 0;
        for (int w = 0; w < u->words; w++) {
            dync__ptx_transpose_word(t, p, unit, r, w, name);
            if (!t->out) dync__ptx_reg(p, whole == 2 ? "b16" : "b32", name);
            if (!t->out) dync__ptx_unloaded(p, u->in[r], whole == 2 ? "b16" : "b32", name);
            n += dync__format(list + n, sizeof list - (size_t)n, "%s%s", w ? ", " : "", name);
        }
        const char *vec = u->words == 1   ? ""
                          : u->words == 2 ? "v2."
                                          : "v4.",
                   *open = u->words > 1 ? "{" : "", *close = u->words > 1 ? "}" : "";
        if (t->out)
            dync__ptx_line(p, "%sst.global.%s%s [%s], %s%s%s", u->in[r], vec, type, u->at[r], open,
                           list, close);
        else
            dync__ptx_line(p, "%sld.global.%s%s %s%s%s, [%s]", u->in[r], vec, type, open, list,
                           close, u->at[r]);
    }
}

/* R words: R x R elements transposed, in the registers name. */
static void dync__ptx_transpose_words(dync__ptx *p, int rows, char name[4][40])
{
    static const char *const select[2][2] = {{"0x5410", "0x7632"}, {"0x5140", "0x7362"}};
    char t[4][40];
    if (rows == 1) return;
    for (int i = 0; i < rows; i++) dync__format(t[i], sizeof t[i], "%s", dync__ptx_temp(p, "b32"));
    for (int i = 0; i < rows; i++)
        dync__ptx_line(p, "prmt.b32 %s, %s, %s, %s", t[i], name[i / 2 * 2], name[i / 2 * 2 + 1],
                       select[rows == 4][i % 2]);
    if (rows == 4) {
        char pairs[4][40];
        for (int i = 0; i < 4; i++) {
            dync__format(pairs[i], sizeof pairs[i], "%s", dync__ptx_temp(p, "b32"));
            dync__ptx_line(p, "prmt.b32 %s, %s, %s, %s", pairs[i], t[i / 2], t[i / 2 + 2],
                           select[0][i % 2]);
        }
        memcpy(t, pairs, sizeof t);
    }
    for (int i = 0; i < rows; i++) dync__format(name[i], 40, "%s", t[i]);
}

/* Words to or from shared memory, element by element of the w. */
static void dync__ptx_transpose_shared(dync__ptx *p, const dync__ptx_transposed *t, int unit,
                                       const dync__ptx_transpose_unit *u)
{
    int bytes = dync__ptx_transpose_bytes(p, t), row = p->shape.side * bytes,
        per = t->width == 1 ? 1 : u->rows;
    char word[4][40], name[40];
    for (int e = 0; e < t->width; e += per) {
        /* rows e .. e + per of the square, R elements of the last loop each */
        for (int r = 0; r < per && t->out; r++) {
            dync__format(word[r], sizeof word[r], "%s", dync__ptx_temp(p, "b32"));
            if (bytes == 8) {
                char high[40];
                dync__ptx_transpose_word(t, p, unit, 0, 2 * e, word[0]);
                dync__ptx_transpose_word(t, p, unit, 0, 2 * e + 1, high);
                dync__ptx_reg(p, "b32", word[0]);
                dync__ptx_reg(p, "b32", high);
                dync__ptx_line(p, "ld.shared.v2.b32 {%s, %s}, [%s+%d]", word[0], high, u->place,
                               t->at + e * row);
            } else {
                dync__ptx_line(p, "ld.shared.b32 %s, [%s+%d]", word[r], u->place,
                               t->at + (e + r) * row);
            }
        }
        if (t->out && bytes == 8) continue;
        if (t->out && t->width == 1) { /* one element of R rows */
            for (int r = 0; r < u->rows; r++) {
                dync__ptx_transpose_word(t, p, unit, r, 0, name);
                dync__ptx_reg(p, bytes == 2 ? "b16" : "b32", name);
                if (bytes == 1)
                    dync__ptx_line(p, "shr.u32 %s, %s, %d", name, word[0], 8 * r);
                else if (bytes == 4)
                    dync__ptx_line(p, "mov.b32 %s, %s", name, word[0]);
            }
            if (bytes == 2) {
                dync__ptx_transpose_word(t, p, unit, 0, 0, word[1]);
                dync__ptx_transpose_word(t, p, unit, 1, 0, word[2]);
                dync__ptx_line(p, "mov.b32 {%s, %s}, %s", word[1], word[2], word[0]);
            }
            continue;
        }
        if (t->out) {
            dync__ptx_transpose_words(p, per, word);
            for (int r = 0; r < per; r++) {
                dync__ptx_transpose_word(t, p, unit, r, e / per, name);
                dync__ptx_reg(p, "b32", name);
                dync__ptx_line(p, "mov.b32 %s, %s", name, word[r]);
            }
            continue;
        }
        for (int r = 0; r < u->rows; r++)
            dync__ptx_transpose_word(t, p, unit, r, bytes == 8 ? 2 * e : e / per, word[r]);
        if (bytes == 8) {
            dync__ptx_transpose_word(t, p, unit, 0, 2 * e + 1, name);
            dync__ptx_line(p, "st.shared.v2.b32 [%s+%d], {%s, %s}", u->place, t->at + e * row,
                           word[0], name);
            continue;
        }
        if (t->width > 1)
            dync__ptx_transpose_words(p, per, word);
        else if (bytes < 4) { /* one element of R rows: a word */
            char whole[40];
            dync__format(whole, sizeof whole, "%s", dync__ptx_temp(p, "b32"));
            if (bytes == 2)
                dync__ptx_line(p, "mov.b32 %s, {%s, %s}", whole, word[0], word[1]);
            else {
                const char *high = dync__ptx_temp(p, "b32");
                dync__ptx_line(p, "prmt.b32 %s, %s, %s, 0x0040", whole, word[0], word[1]);
                dync__ptx_line(p, "prmt.b32 %s, %s, %s, 0x0040", high, word[2], word[3]);
                dync__ptx_line(p, "prmt.b32 %s, %s, %s, 0x5410", whole, whole, high);
            }
            dync__format(word[0], sizeof word[0], "%s", whole);
        }
        for (int r = 0; r < per; r++)
            dync__ptx_line(p, "st.shared.b32 [%s+%d], %s", u->place, t->at + (e + r) * row,
                           word[r]);
    }
}

/* All that is transposed and read (out: written), by all threads of the block. Reads are all under
 * way before the first is waited for. */
static void dync__ptx_transpose_move(dync__ptx *p, bool out)
{
    for (int i = 0; i < p->n_transposed; i++) {
        const dync__ptx_transposed *t = &p->transposed[i];
        int n = dync__ptx_transpose_units(p, t), units = DYNC__MAX(n / p->shape.block, 1);
        dync__ptx_transpose_unit one,
            *u = out ? &one : dync__arena_alloc(p->arena, (size_t)units * sizeof *u);
        if (t->out != out) continue;
        if (!u) {
            p->failed = true;
            return;
        }
        dync__str_addf(&p->body, "    // transposed: %s %%b%d, %d at a time\n", out ? "to" : "from",
                       t->buf, t->width);
        if (n < p->shape.block) { /* fewer than threads */
            dync__ptx_line(p, "setp.ge.u32 %%skip, %%thr, %d", n);
            dync__ptx_line(p, "@%%skip bra SKIP%d", i);
        }
        for (int k = 0; k < units; k++) {
            dync__ptx_transpose_unit_of(p, t, k, out ? u : &u[k]);
            if (out) dync__ptx_transpose_shared(p, t, k, u);
            dync__ptx_transpose_global(p, t, k, out ? u : &u[k]);
        }
        for (int k = 0; k < units && !out; k++) dync__ptx_transpose_shared(p, t, k, &u[k]);
        if (n < p->shape.block) dync__str_addf(&p->body, "SKIP%d:\n", i);
    }
}

/* ---- the kernel ------------------------------------------------------------------------------ */

/* to = a + b of u32, in the type of indices. */
static void dync__ptx_transpose_index(dync__ptx *p, const char *to, const char *a, const char *b)
{
    dync__ptx_reg(p, p->index, to);
    if (p->shape.wide)
        dync__ptx_line(p, "mad.wide.u32 %s, %s, 1, %s", to, b, a);
    else
        dync__ptx_line(p, "add.u32 %s, %s, %s", to, a, b);
}

/* Which square: the corner of the two loops in %cl and %cm, the other loops in %c<d>. */
static void dync__ptx_transpose_corner(dync__ptx *p)
{
    const dync__ptx_shape *s = &p->shape;
    const dync__kernel *k = p->k;
    int last = k->n_dims - 1;
    static const char *const left[] = {"%lleft", "%mleft"}, *const corner[] = {"%cl", "%cm"};
    dync__ptx_reg(p, "u32", "%rest");
    dync__ptx_line(p, "mov.u32 %%rest, %%cta");
    /* the last loop, across, then the others from inside */
    for (int i = 0; i <= last; i++) {
        int d = i == 0                      ? last
                : i == 1                    ? s->across
                : last + 1 - i <= s->across ? last - i
                                            : last + 1 - i;
        bool square = i < 2;
        int64_t n = square ? (k->extent[d] + s->side - 1) / s->side : k->extent[d];
        char name[24];
        const char *part = dync__ptx_temp(p, "u32");
        dync__ptx_line(p, "rem.u32 %s, %%rest, %lld", part, (long long)n);
        dync__ptx_line(p, "div.u32 %%rest, %%rest, %lld", (long long)n);
        if (square)
            dync__format(name, sizeof name, "%s", corner[i]);
        else
            dync__format(name, sizeof name, "%%c%d", d);
        dync__ptx_reg(p, p->index, name);
        dync__ptx_line(p, s->wide ? "cvt.u64.u32 %s, %s" : "mov.u32 %s, %s", name, part);
        if (!square) continue;
        dync__ptx_line(p, "mul.lo.%s %s, %s, %d", p->index, name, name, s->side);
        dync__ptx_reg(p, "u32", left[i]);
        const char *whole = dync__ptx_temp(p, p->index);
        dync__ptx_line(p, "sub.%s %s, %lld, %s", p->index, whole, (long long)k->extent[d], name);
        dync__ptx_line(p, "min.%s %s, %s, %d", p->index, whole, whole, s->side);
        dync__ptx_line(p, s->wide ? "cvt.u32.u64 %s, %s" : "mov.u32 %s, %s", left[i], whole);
    }
}

/* Addresses of the corner in what is transposed. */
static void dync__ptx_transpose_bases(dync__ptx *p)
{
    const dync__kernel *k = p->k;
    int last = k->n_dims - 1;
    for (int i = 0; i < p->n_transposed; i++) {
        const dync__ptx_transposed *t = &p->transposed[i];
        const dync__access *a = &k->access.at[t->access];
        int64_t bytes = dync__ptx_transpose_bytes(p, t);
        char name[24], base[24];
        dync__format(base, sizeof base, "%%base%d", i);
        dync__ptx_reg(p, "b64", base);
        dync__ptx_line(p, "add.s64 %s, %%b%d, %lld", base, t->buf, (long long)(a->offset * bytes));
        for (int d = 0; d <= last; d++) {
            if (a->stride[d] == 0 || k->extent[d] <= 1) continue;
            if (d == last || d == p->shape.across)
                dync__format(name, sizeof name, "%s", d == last ? "%cl" : "%cm");
            else
                dync__format(name, sizeof name, "%%c%d", d);
            dync__ptx_add_scaled(p, base, name, a->stride[d] * bytes);
        }
    }
}

/* The positions of the groups of this iteration: %l and %m<group> in the square, %i<loop>_<group>b1
 * of the loops, %in<group>b1. */
static void dync__ptx_transpose_positions(dync__ptx *p)
{
    const dync__ptx_shape *s = &p->shape;
    const dync__kernel *k = p->k;
    int last = k->n_dims - 1, rows = s->block / (s->side / s->vec);
    char m[24], name[40], c[24];
    for (int g = 0; g < p->groups; g++) {
        dync__format(m, sizeof m, "%%m%d", g);
        dync__ptx_reg(p, "u32", m);
        dync__ptx_line(p, "add.u32 %s, %%mrow, %d", m, g * rows);
        for (int d = 0; d <= last; d++) {
            dync__format(name, sizeof name, "%%i%d_%db1", d, g);
            dync__format(c, sizeof c, "%%c%d", d);
            if (d == last)
                dync__ptx_transpose_index(p, name, "%cl", "%l");
            else if (d == s->across)
                dync__ptx_transpose_index(p, name, "%cm", m);
            else {
                dync__ptx_reg(p, p->index, name);
                dync__ptx_line(p, "mov.%s %s, %s", p->index, name, c);
            }
        }
        if (!s->guarded) continue;
        dync__format(name, sizeof name, "%%in%db1", g);
        dync__ptx_reg(p, "pred", name);
        dync__ptx_line(p, "setp.lt.u32 %s, %%l, %%lleft", name);
        dync__ptx_line(p, "setp.lt.and.u32 %s, %s, %%mleft, %s", name, m, name);
    }
}

DYNC__FN void dync__ptx_transpose(dync__ptx *p)
{
    const dync__ptx_shape *s = &p->shape;
    int lanes = s->side / s->vec, rows = s->block / lanes;
    bool out = false;
    static const char *const names[] = {"%l", "%mrow", "%smem"};
    for (int i = 0; i < 3; i++) dync__ptx_reg(p, "u32", names[i]);
    dync__ptx_reg(p, "pred", "%skip");
    p->shared_bytes = p->transposed_bytes;
    p->vec = s->vec;
    p->groups = s->groups;
    p->block = 1;
    dync__ptx_line(p, "mov.u32 %%smem, smem");
    dync__ptx_transpose_corner(p);
    dync__ptx_transpose_bases(p);
    dync__ptx_transpose_move(p, false);
    dync__ptx_line(p, "and.b32 %%l, %%thr, %d", lanes - 1);
    dync__ptx_line(p, "mul.lo.u32 %%l, %%l, %d", s->vec);
    dync__ptx_line(p, "div.u32 %%mrow, %%thr, %d", lanes);
    for (int i = 0; i < p->n_transposed; i++) out |= p->transposed[i].out;
    for (int i = 0, barrier = 0; i < p->n_transposed && !barrier; i++)
        if (!p->transposed[i].out) dync__ptx_line(p, "bar.sync 0"), barrier = 1;
    if (s->iterations > 1) dync__str_add(&p->body, "NEXT:\n");
    dync__ptx_transpose_positions(p);
    for (int section = 0; section <= 2 * p->n_phases; section++) dync__ptx_section(p, section);
    if (s->iterations > 1) {
        dync__ptx_line(p, "add.u32 %%mrow, %%mrow, %d", rows * s->groups);
        dync__ptx_line(p, "setp.lt.u32 %%skip, %%mrow, %d", s->side);
        dync__ptx_line(p, "@%%skip bra NEXT");
    }
    if (!out) return;
    dync__ptx_line(p, "bar.sync 0");
    dync__ptx_transpose_move(p, true);
}

/* ==== cuda/ptx_prim.c ============================================================================== */
/* cuda/ptx_prim.c: scalar primitives as PTX. Before ptx.c. What each means is in loop/eval.c;
 * roundings are written out (.rn), so that ptxas contracts nothing and f32 and f64 come out as on
 * the CPU to the bit. BOOL values are predicates. */

typedef struct dync__ptx_op {
    dync__ptx *p;
    const dync__inst *in;
    int type, lane;
    const char *to, *a, *b, *c;
} dync__ptx_op;

static bool dync__ptx_is_float(int type) { return type == DYNC_F32 || type == DYNC_F64; }

/* A statement "name.type to, a, b". */
static void dync__ptx_two(const dync__ptx_op *o, const char *name)
{
    dync__ptx_line(o->p, "%s.%s %s, %s, %s", name, dync__ptx_type(o->type), o->to, o->a, o->b);
}
static void dync__ptx_one(const dync__ptx_op *o, const char *name)
{
    dync__ptx_line(o->p, "%s.%s %s, %s", name, dync__ptx_type(o->type), o->to, o->a);
}

/* a < b or a is NaN ? a : b; with greater for max. */
static void dync__ptx_extreme(const dync__ptx_op *o, const char *compare)
{
    const char *t = dync__ptx_type(o->type);
    if (!dync__ptx_is_float(o->type)) {
        dync__ptx_two(o, compare[0] == 'l' ? "min" : "max");
        return;
    }
    const char *first = dync__ptx_temp(o->p, "pred"), *take = dync__ptx_temp(o->p, "pred");
    dync__ptx_line(o->p, "setp.%s.%s %s, %s, %s", compare, t, first, o->a, o->b);
    dync__ptx_line(o->p, "setp.nan.or.%s %s, %s, %s, %s", t, take, o->a, o->a, first);
    dync__ptx_line(o->p, "selp.%s %s, %s, %s, %s", t, o->to, o->a, o->b, take);
}

static void dync__ptx_compare(const dync__ptx_op *o, const char *name)
{
    const char *t = dync__ptx_type(o->type);
    if (o->type != DYNC_BOOL) {
        dync__ptx_line(o->p, "setp.%s.%s %s, %s, %s",
                       dync__ptx_is_float(o->type) && strcmp(name, "ne") == 0 ? "neu" : name, t,
                       o->to, o->a, o->b);
        return;
    }
    if (strcmp(name, "ne") == 0 || strcmp(name, "eq") == 0) {
        dync__ptx_line(o->p, "xor.pred %s, %s, %s", o->to, o->a, o->b);
        if (name[0] == 'e') dync__ptx_line(o->p, "not.pred %s, %s", o->to, o->to);
        return;
    }
    const char *below = dync__ptx_temp(o->p, "pred");
    dync__ptx_line(o->p, "not.pred %s, %s", below, o->a);
    dync__ptx_line(o->p, "%s.pred %s, %s, %s", strcmp(name, "lt") == 0 ? "and" : "or", o->to, below,
                   o->b);
}

/* x / 0 = x % 0 = 0; MIN / -1 wraps, MIN % -1 = 0. */
static void dync__ptx_divide(const dync__ptx_op *o, bool remainder)
{
    const char *t = dync__ptx_type(o->type);
    if (dync__ptx_is_float(o->type)) {
        dync__ptx_line(o->p, "div.rn.%s %s, %s, %s", t, o->to, o->a, o->b);
        return;
    }
    const char *zero = dync__ptx_temp(o->p, "pred"), *minus = dync__ptx_temp(o->p, "pred"),
               *odd = dync__ptx_temp(o->p, "pred");
    const char *by = dync__ptx_temp(o->p, t), *negative = dync__ptx_temp(o->p, t);
    dync__ptx_line(o->p, "setp.eq.%s %s, %s, 0", t, zero, o->b);
    dync__ptx_line(o->p, "setp.eq.%s %s, %s, -1", t, minus, o->b);
    dync__ptx_line(o->p, "or.pred %s, %s, %s", odd, zero, minus);
    dync__ptx_line(o->p, "selp.%s %s, 1, %s, %s", t, by, o->b, odd);
    dync__ptx_line(o->p, "neg.%s %s, %s", t, negative, o->a);
    dync__ptx_line(o->p, "%s.%s %s, %s, %s", remainder ? "rem" : "div", t, o->to, o->a, by);
    if (!remainder)
        dync__ptx_line(o->p, "selp.%s %s, %s, %s, %s", t, o->to, negative, o->to, minus);
    dync__ptx_line(o->p, "selp.%s %s, 0, %s, %s", t, o->to, o->to, zero);
}

/* Counts outside of the type give 0 and the sign: PTX clamps counts of 32 bits. */
static void dync__ptx_shift(const dync__ptx_op *o, const char *name)
{
    const char *count = o->b;
    if (o->type == DYNC_I64) {
        const char *most = dync__ptx_temp(o->p, "u64");
        count = dync__ptx_temp(o->p, "u32");
        dync__ptx_line(o->p, "min.u64 %s, %s, 64", most, o->b);
        dync__ptx_line(o->p, "cvt.u32.u64 %s, %s", count, most);
    }
    dync__ptx_line(o->p, "%s %s, %s, %s", name, o->to, o->a, count);
}

static void dync__ptx_select(const dync__ptx_op *o)
{
    if (o->type != DYNC_BOOL) {
        dync__ptx_line(o->p, "selp.%s %s, %s, %s, %s", dync__ptx_type(o->type), o->to, o->b, o->c,
                       o->a);
        return;
    }
    const char *yes = dync__ptx_temp(o->p, "pred"), *no = dync__ptx_temp(o->p, "pred");
    dync__ptx_line(o->p, "and.pred %s, %s, %s", yes, o->a, o->b);
    dync__ptx_line(o->p, "not.pred %s, %s", no, o->a);
    dync__ptx_line(o->p, "and.pred %s, %s, %s", no, no, o->c);
    dync__ptx_line(o->p, "or.pred %s, %s, %s", o->to, yes, no);
}

static void dync__ptx_cast(const dync__ptx_op *o)
{
    int to = o->in->type, from = o->type;
    const char *t = dync__ptx_type(to), *f = dync__ptx_type(from);
    if (to == DYNC_BOOL)
        dync__ptx_line(o->p, "setp.%s.%s %s, %s, %s", dync__ptx_is_float(from) ? "neu" : "ne", f,
                       o->to, o->a,
                       from == DYNC_F32   ? "0f00000000"
                       : from == DYNC_F64 ? "0d0000000000000000"
                                          : "0");
    else if (from == DYNC_BOOL)
        dync__ptx_line(o->p, "selp.%s %s, %s, %s, %s", t, o->to,
                       to == DYNC_F32   ? "0f3f800000"
                       : to == DYNC_F64 ? "0d3ff0000000000000"
                                        : "1",
                       to == DYNC_F32   ? "0f00000000"
                       : to == DYNC_F64 ? "0d0000000000000000"
                                        : "0",
                       o->a);
    else if (dync__ptx_is_float(from) && !dync__ptx_is_float(to)) {
        const char *nan = dync__ptx_temp(o->p, "pred");
        dync__ptx_line(o->p, "setp.nan.%s %s, %s, %s", f, nan, o->a, o->a);
        dync__ptx_line(o->p, "cvt.rzi.%s.%s %s, %s", t, f, o->to, o->a);
        dync__ptx_line(o->p, "selp.%s %s, 0, %s, %s", t, o->to, o->to, nan);
    } else if (to == DYNC_I32)
        dync__ptx_line(o->p, "cvt.u32.u64 %s, %s", o->to, o->a);
    else
        dync__ptx_line(o->p, "cvt%s.%s.%s %s, %s",
                       dync__ptx_is_float(to) && !(to == DYNC_F64 && from == DYNC_F32) ? ".rn" : "",
                       t, f, o->to, o->a);
}

static void dync__ptx_wrap(const dync__ptx_op *o)
{
    const char *half =
        o->in->imm.i == DYNC_F16 || o->in->imm.i == DYNC_BF16 ? dync__ptx_temp(o->p, "b16") : NULL;
    switch (o->in->imm.i) {
    case DYNC_I16: dync__ptx_line(o->p, "bfe.s32 %s, %s, 0, 16", o->to, o->a); break;
    case DYNC_I8: dync__ptx_line(o->p, "bfe.s32 %s, %s, 0, 8", o->to, o->a); break;
    case DYNC_U8: dync__ptx_line(o->p, "and.b32 %s, %s, 255", o->to, o->a); break;
    case DYNC_F16:
        dync__ptx_line(o->p, "cvt.rn.f16.f32 %s, %s", half, o->a);
        dync__ptx_line(o->p, "cvt.f32.f16 %s, %s", o->to, half);
        break;
    default: {
        const char *word = dync__ptx_temp(o->p, "b32");
        dync__ptx_line(o->p, "cvt.rn.bf16.f32 %s, %s", half, o->a);
        dync__ptx_line(o->p, "cvt.u32.u16 %s, %s", word, half);
        dync__ptx_line(o->p, "shl.b32 %s, %s, 16", word, word);
        dync__ptx_line(o->p, "mov.b32 %s, %s", o->to, word);
    }
    }
}

/* ---- random numbers: Philox4x32-10, words in %ph0 .. %ph3 of the block ----------------------- */

/* at: the block; kind: of the blocks */
static void dync__ptx_philox(dync__ptx *p, const char *at, int kind, char w[4][40])
{
    char key[2][40], high[2][40], low[2][40];
    const char *wide = dync__ptx_temp(p, "b64");
    dync__str_add(&p->body, "    // Philox4x32-10\n");
    for (int i = 0; i < 4; i++) dync__format(w[i], 40, "%s", dync__ptx_temp(p, "b32"));
    for (int i = 0; i < 2; i++) {
        dync__format(key[i], 40, "%s", dync__ptx_temp(p, "b32"));
        dync__format(high[i], 40, "%s", dync__ptx_temp(p, "b32"));
        dync__format(low[i], 40, "%s", dync__ptx_temp(p, "b32"));
    }
    dync__ptx_line(p, "mov.b64 {%s, %s}, %s", w[0], w[1], at);
    dync__ptx_line(p, "mov.b64 {%s, %s}, %%seed", key[0], key[1]);
    dync__ptx_line(p, "mov.b32 %s, %d", w[2], kind);
    dync__ptx_line(p, "mov.b32 %s, 0", w[3]);
    for (int round = 0; round < 10; round++) {
        dync__ptx_line(p, "mul.wide.u32 %s, %s, 0xd2511f53", wide, w[0]);
        dync__ptx_line(p, "mov.b64 {%s, %s}, %s", low[0], high[0], wide);
        dync__ptx_line(p, "mul.wide.u32 %s, %s, 0xcd9e8d57", wide, w[2]);
        dync__ptx_line(p, "mov.b64 {%s, %s}, %s", low[1], high[1], wide);
        dync__ptx_line(p, "xor.b32 %s, %s, %s", w[0], high[1], w[1]);
        dync__ptx_line(p, "xor.b32 %s, %s, %s", w[0], w[0], key[0]);
        dync__ptx_line(p, "mov.b32 %s, %s", w[1], low[1]);
        dync__ptx_line(p, "xor.b32 %s, %s, %s", w[2], high[0], w[3]);
        dync__ptx_line(p, "xor.b32 %s, %s, %s", w[2], w[2], key[1]);
        dync__ptx_line(p, "mov.b32 %s, %s", w[3], low[0]);
        dync__ptx_line(p, "add.u32 %s, %s, 0x9e3779b9", key[0], key[0]);
        dync__ptx_line(p, "add.u32 %s, %s, 0xbb67ae85", key[1], key[1]);
    }
}

/* A word of the block that a group's four numbers share: base.h. */
static void dync__ptx_word(const dync__ptx_op *o, const char *number)
{
    dync__ptx *p = o->p;
    char w[4][40];
    int kind = (int)o->in->imm.i, names = p->next_name;
    const char *at = dync__ptx_temp(p, "b64"), *low = dync__ptx_temp(p, "b64");
    dync__ptx_line(p, "shr.u64 %s, %s, 5", at, number);
    dync__ptx_line(p, "shl.b64 %s, %s, 3", at, at);
    dync__ptx_line(p, "and.b64 %s, %s, 7", low, number);
    dync__ptx_line(p, "or.b64 %s, %s, %s", at, at, low);
    dync__ptx_philox(p, at, dync__draw_block(kind), w);
    p->next_name = names; /* w has its own */
    const char *n = dync__ptx_temp(p, "b32"), *own = dync__ptx_temp(p, "b32"),
               *later = dync__ptx_temp(p, "pred"), *odd = dync__ptx_temp(p, "pred");
    dync__ptx_line(p, "cvt.u32.u64 %s, %s", n, number);
    dync__ptx_line(p, "and.b32 %s, %s, 16", own, n);
    dync__ptx_line(p, "setp.ne.u32 %s, %s, 0", later, own);
    dync__ptx_line(p, "and.b32 %s, %s, 8", own, n);
    for (int i = 0; i < 2; i++)
        dync__ptx_line(p, "selp.b32 %s, %s, %s, %s", w[i], w[2 + i], w[i], later);
    if (kind == DYNC__DRAW_UNIFORM) {
        dync__ptx_line(p, "setp.ne.u32 %s, %s, 0", odd, own);
        dync__ptx_line(p, "selp.b32 %s, %s, %s, %s", o->to, w[1], w[0], odd);
    } else if (kind == DYNC__DRAW_FIRST) {
        dync__ptx_line(p, "mov.b32 %s, %s", o->to, w[0]);
    } else {
        dync__ptx_line(p, "shl.b32 %s, %s, 27", own, own);
        dync__ptx_line(p, "sub.s32 %s, %s, %s", o->to, w[1], own);
    }
}

static void dync__ptx_random(const dync__ptx_op *o)
{
    dync__ptx *p = o->p;
    char w[4][40];
    const char *number = dync__ptx_temp(p, "b64");
    dync__ptx_line(p, "add.s64 %s, %s, %%draw", number,
                   dync__ptx_in_reg(p, o->in->arg[0], o->lane));
    if (o->in->type == DYNC_I32) {
        dync__ptx_word(o, number);
        return;
    }
    dync__ptx_philox(p, number, 0, w);
    const char *wide = dync__ptx_temp(p, "b64");
    int first = (int)o->in->imm.i;
    dync__ptx_line(p, "mov.b64 %s, {%s, %s}", wide, w[first], w[first + 1]);
    dync__ptx_line(p, "shr.u64 %s, %s, 11", wide, wide);
    dync__ptx_line(p, "cvt.rn.f64.u64 %s, %s", o->to, wide);
    dync__ptx_line(p, "mul.rn.f64 %s, %s, 0d3ca0000000000000", o->to, o->to);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void dync__ptx_arithmetic(const dync__ptx_op *o, const char *name)
{
    bool f = dync__ptx_is_float(o->type), mul = strcmp(name, "mul") == 0;
    dync__ptx_line(o->p, "%s%s.%s %s, %s, %s", name,
                   f     ? ".rn"
                   : mul ? ".lo"
                         : "",
                   dync__ptx_type(o->type), o->to, o->a, o->b);
}

static void dync__ptx_logic(const dync__ptx_op *o, const char *name)
{
    const char *t = o->type == DYNC_BOOL ? "pred" : dync__ptx_bits(o->type);
    if (o->b)
        dync__ptx_line(o->p, "%s.%s %s, %s, %s", name, t, o->to, o->a, o->b);
    else
        dync__ptx_line(o->p, "%s.%s %s, %s", name, t, o->to, o->a);
}

static void dync__ptx_round(const dync__ptx_op *o, const char *how)
{
    const char *t = dync__ptx_type(o->type);
    dync__ptx_line(o->p, "cvt.%s.%s.%s %s, %s", how, t, t, o->to, o->a);
}

DYNC__FN void dync__ptx_prim(dync__ptx *p, int i, int lane)
{
    const dync__inst *in = &p->k->inst.at[i];
    char to[40], arg[3][40] = {"", "", ""};
    if (in->prim == DYNC__P_index) {
        dync__ptx_index(p, i, lane);
        return;
    }
    dync__ptx_op o = {p, in, in->type, lane, to, arg[0], NULL, arg[2]};
    for (int a = 0; a < dync__prim_info(in->prim)->n_args; a++) {
        dync__format(arg[a], sizeof arg[a], "%s",
                     a == 0 ? dync__ptx_in_reg(p, in->arg[a], lane)
                            : dync__ptx_use(p, in->arg[a], lane));
        if (a == 1) o.b = arg[1];
    }
    if (in->arg[0] >= 0 && in->prim != DYNC__P_select) o.type = p->k->inst.at[in->arg[0]].type;
    dync__format(to, sizeof to, "%s", dync__ptx_dest(p, i, lane));
    switch (in->prim) {
    case DYNC__P_add: dync__ptx_arithmetic(&o, "add"); break;
    case DYNC__P_sub: dync__ptx_arithmetic(&o, "sub"); break;
    case DYNC__P_mul: dync__ptx_arithmetic(&o, "mul"); break;
    case DYNC__P_div: dync__ptx_divide(&o, false); break;
    case DYNC__P_rem: dync__ptx_divide(&o, true); break;
    case DYNC__P_fma:
        dync__ptx_line(p, "fma.rn.%s %s, %s, %s, %s", dync__ptx_type(o.type), o.to, o.a, o.b, o.c);
        break;
    case DYNC__P_neg: dync__ptx_one(&o, "neg"); break;
    case DYNC__P_abs: dync__ptx_one(&o, "abs"); break;
    case DYNC__P_sqrt: dync__ptx_one(&o, "sqrt.rn"); break;
    case DYNC__P_floor: dync__ptx_round(&o, "rmi"); break;
    case DYNC__P_ceil: dync__ptx_round(&o, "rpi"); break;
    case DYNC__P_trunc: dync__ptx_round(&o, "rzi"); break;
    case DYNC__P_rint: dync__ptx_round(&o, "rni"); break;
    case DYNC__P_min: dync__ptx_extreme(&o, "lt"); break;
    case DYNC__P_max: dync__ptx_extreme(&o, "gt"); break;
    case DYNC__P_lt: dync__ptx_compare(&o, "lt"); break;
    case DYNC__P_le: dync__ptx_compare(&o, "le"); break;
    case DYNC__P_eq: dync__ptx_compare(&o, "eq"); break;
    case DYNC__P_ne: dync__ptx_compare(&o, "ne"); break;
    case DYNC__P_and_: dync__ptx_logic(&o, "and"); break;
    case DYNC__P_or_: dync__ptx_logic(&o, "or"); break;
    case DYNC__P_xor_: dync__ptx_logic(&o, "xor"); break;
    case DYNC__P_not_: dync__ptx_logic(&o, "not"); break;
    case DYNC__P_shl: dync__ptx_shift(&o, o.type == DYNC_I64 ? "shl.b64" : "shl.b32"); break;
    case DYNC__P_shr: dync__ptx_shift(&o, o.type == DYNC_I64 ? "shr.s64" : "shr.s32"); break;
    case DYNC__P_select: dync__ptx_select(&o); break;
    case DYNC__P_cast: dync__ptx_cast(&o); break;
    case DYNC__P_bitcast:
        dync__ptx_line(p, "mov.%s %s, %s", dync__ptx_bits(in->type), o.to, o.a);
        break;
    case DYNC__P_wrap: dync__ptx_wrap(&o); break;
    case DYNC__P_random: dync__ptx_random(&o); break;
    default: p->failed = true;
    }
}

/* ==== cuda/ptx_reduce.h ============================================================================ */
/* cuda/ptx_reduce.h: pairs of a value and its place. */
#ifndef DYNC__CUDA_PTX_REDUCE_H
#define DYNC__CUDA_PTX_REDUCE_H

/* a partial result; place: argmax, argmin */
typedef struct dync__ptx_pair {
    char value[40], place[40];
} dync__ptx_pair;

/* ptx_reduce.c */
DYNC__FN const dync__inst *dync__ptx_reduce_inst(const dync__ptx *p, int i);
DYNC__FN int dync__ptx_reduce_type(const dync__ptx *p, int i);
DYNC__FN bool dync__ptx_is_arg(int kind);
DYNC__FN dync__ptx_pair dync__ptx_accumulator(int i, int lane);
DYNC__FN dync__ptx_pair dync__ptx_new_pair(dync__ptx *p, int kind, int type);
DYNC__FN void dync__ptx_move(dync__ptx *p, int type, const char *to, const char *from);
DYNC__FN void dync__ptx_join(dync__ptx *p, int kind, int type, const dync__ptx_pair *a,
                             const dync__ptx_pair *b);
DYNC__FN void dync__ptx_accumulators(dync__ptx *p, int i, int n);
#endif

/* ==== cuda/ptx_reduce.c ============================================================================ */
/* cuda/ptx_reduce.c: reductions in PTX: lanes of a thread, threads of a warp by shuffles, warps
 * through shared memory, blocks through scratch memory. Before ptx.c.
 *
 * Order: lane l of every iteration adds up in accumulator l; accumulators, then threads (butterfly:
 * all get the result) are joined pairwise. It depends on the shape alone. argmax and argmin carry
 * the position; of equal values the earlier wins, NaN wins over all. */

DYNC__FN const dync__inst *dync__ptx_reduce_inst(const dync__ptx *p, int i)
{
    return &p->k->inst.at[i];
}
DYNC__FN int dync__ptx_reduce_type(const dync__ptx *p, int i)
{
    return dync__ptx_reduce_inst(p, dync__ptx_reduce_inst(p, i)->arg[0])->type;
}
DYNC__FN bool dync__ptx_is_arg(int kind)
{
    return kind == DYNC__R_ARGMAX || kind == DYNC__R_ARGMIN;
}
static bool dync__ptx_has_transposes(const dync__ptx *p) { return p->shape.iterations > 1; }

DYNC__FN dync__ptx_pair dync__ptx_accumulator(int i, int lane)
{
    dync__ptx_pair a;
    dync__format(a.value, sizeof a.value, "%%acc%d_%d", i, lane);
    dync__format(a.place, sizeof a.place, "%%at%d_%d", i, lane);
    return a;
}

DYNC__FN dync__ptx_pair dync__ptx_new_pair(dync__ptx *p, int kind, int type)
{
    dync__ptx_pair a;
    dync__format(a.value, sizeof a.value, "%s", dync__ptx_temp(p, dync__ptx_type(type)));
    a.place[0] = 0;
    if (dync__ptx_is_arg(kind))
        dync__format(a.place, sizeof a.place, "%s", dync__ptx_temp(p, "s64"));
    return a;
}

static const char *dync__ptx_identity(dync__ptx *p, int kind, int type)
{
    dync__scalar s;
    bool low = kind == DYNC__R_MAX || kind == DYNC__R_ARGMAX,
         high = kind == DYNC__R_MIN || kind == DYNC__R_ARGMIN;
    s.i = 0;
    if (type == DYNC_F32)
        s.f = low ? (float)-HUGE_VAL : high ? (float)HUGE_VAL : kind == DYNC__R_PROD ? 1.0f : 0.0f;
    else if (type == DYNC_F64)
        s.d = low ? -HUGE_VAL : high ? HUGE_VAL : kind == DYNC__R_PROD ? 1.0 : 0.0;
    else if (type == DYNC_I64)
        s.i = low ? INT64_MIN : high ? INT64_MAX : kind == DYNC__R_PROD;
    else if (type == DYNC_I32)
        s.i = low ? INT32_MIN : high ? INT32_MAX : kind == DYNC__R_PROD;
    else
        s.i = kind == DYNC__R_ALL;
    return dync__ptx_constant(p, type, s);
}

DYNC__FN void dync__ptx_move(dync__ptx *p, int type, const char *to, const char *from)
{
    if (type == DYNC_BOOL)
        dync__ptx_line(p, "and.pred %s, %s, %%true", to, from);
    else
        dync__ptx_line(p, "mov.%s %s, %s", dync__ptx_bits(type), to, from);
}

/* a = b where b is better: greater (or less), or NaN where a is none, or equal and earlier. */
static void dync__ptx_join_arg(dync__ptx *p, int kind, int type, const dync__ptx_pair *a,
                               const dync__ptx_pair *b)
{
    const char *t = dync__ptx_type(type), *better = dync__ptx_temp(p, "pred"),
               *equal = dync__ptx_temp(p, "pred");
    const char *earlier = dync__ptx_temp(p, "pred");
    dync__ptx_line(p, "setp.%s.%s %s, %s, %s", kind == DYNC__R_ARGMAX ? "gt" : "lt", t, better,
                   b->value, a->value);
    dync__ptx_line(p, "setp.eq.%s %s, %s, %s", t, equal, b->value, a->value);
    if (type == DYNC_F32 || type == DYNC_F64) {
        const char *nan_a = dync__ptx_temp(p, "pred"), *nan_b = dync__ptx_temp(p, "pred"),
                   *both = dync__ptx_temp(p, "pred");
        dync__ptx_line(p, "setp.nan.%s %s, %s, %s", t, nan_a, a->value, a->value);
        dync__ptx_line(p, "setp.nan.%s %s, %s, %s", t, nan_b, b->value, b->value);
        dync__ptx_line(p, "and.pred %s, %s, %s", both, nan_a, nan_b);
        dync__ptx_line(p, "or.pred %s, %s, %s", equal, equal, both);
        dync__ptx_line(p, "not.pred %s, %s", nan_a, nan_a);
        dync__ptx_line(p, "and.pred %s, %s, %s", nan_b, nan_b, nan_a);
        dync__ptx_line(p, "or.pred %s, %s, %s", better, better, nan_b);
    }
    dync__ptx_line(p, "setp.lt.and.s64 %s, %s, %s, %s", earlier, b->place, a->place, equal);
    dync__ptx_line(p, "or.pred %s, %s, %s", better, better, earlier);
    dync__ptx_line(p, "selp.%s %s, %s, %s, %s", t, a->value, b->value, a->value, better);
    dync__ptx_line(p, "selp.b64 %s, %s, %s, %s", a->place, b->place, a->place, better);
}

/* a = a with b */
DYNC__FN void dync__ptx_join(dync__ptx *p, int kind, int type, const dync__ptx_pair *a,
                             const dync__ptx_pair *b)
{
    const char *t = dync__ptx_type(type);
    bool f = type == DYNC_F32 || type == DYNC_F64;
    switch (kind) {
    case DYNC__R_SUM:
        dync__ptx_line(p, "add%s.%s %s, %s, %s", f ? ".rn" : "", t, a->value, a->value, b->value);
        break;
    case DYNC__R_PROD:
        dync__ptx_line(p, "mul%s.%s %s, %s, %s", f ? ".rn" : ".lo", t, a->value, a->value,
                       b->value);
        break;
    case DYNC__R_ANY: dync__ptx_line(p, "or.pred %s, %s, %s", a->value, a->value, b->value); break;
    case DYNC__R_ALL: dync__ptx_line(p, "and.pred %s, %s, %s", a->value, a->value, b->value); break;
    case DYNC__R_MAX:
    case DYNC__R_MIN:
        if (!f) {
            dync__ptx_line(p, "%s.%s %s, %s, %s", kind == DYNC__R_MAX ? "max" : "min", t, a->value,
                           a->value, b->value);
        } else {
            const char *first = dync__ptx_temp(p, "pred"), *take = dync__ptx_temp(p, "pred");
            dync__ptx_line(p, "setp.%s.%s %s, %s, %s", kind == DYNC__R_MAX ? "gt" : "lt", t, first,
                           a->value, b->value);
            dync__ptx_line(p, "setp.nan.or.%s %s, %s, %s, %s", t, take, a->value, a->value, first);
            dync__ptx_line(p, "selp.%s %s, %s, %s, %s", t, a->value, a->value, b->value, take);
        }
        break;
    default: dync__ptx_join_arg(p, kind, type, a, b);
    }
}

/* ---- within a thread ------------------------------------------------------------------------- */

DYNC__FN void dync__ptx_accumulators(dync__ptx *p, int i, int n)
{
    int kind = (int)dync__ptx_reduce_inst(p, i)->imm.i, type = dync__ptx_reduce_type(p, i);
    for (int lane = 0; lane < n; lane++) {
        dync__ptx_pair a = dync__ptx_accumulator(i, lane);
        dync__ptx_reg(p, dync__ptx_type(type), a.value);
        dync__ptx_move(p, type, a.value, dync__ptx_identity(p, kind, type));
        if (!dync__ptx_is_arg(kind)) continue;
        dync__ptx_reg(p, "s64", a.place);
        dync__ptx_line(p, "mov.b64 %s, %s", a.place, p->shape.inner ? "0x7fffffffffffffff" : "0");
    }
}

DYNC__FN void dync__ptx_reduce_begin(dync__ptx *p)
{
    for (int i = 0; i < p->k->inst.n; i++)
        if (p->needed[i] && dync__ptx_reduce_inst(p, i)->prim == DYNC__P_reduce &&
            dync__ptx_reduce_inst(p, i)->section == 2 * p->phase + 1)
            dync__ptx_accumulators(p, i, p->groups * p->vec);
}

DYNC__FN void dync__ptx_reduce_step(dync__ptx *p, int i)
{
    const dync__inst *in = dync__ptx_reduce_inst(p, i);
    int kind = (int)in->imm.i, type = dync__ptx_reduce_type(p, i);
    p->where[i] = p->block;
    for (int lane = 0; lane < p->groups * p->vec; lane++) {
        dync__ptx_pair acc = dync__ptx_accumulator(i, lane), x = dync__ptx_new_pair(p, kind, type);
        char guard[40];
        dync__ptx_move(p, type, x.value, dync__ptx_use(p, in->arg[0], lane));
        if (dync__ptx_is_arg(kind)) {
            const char *place = dync__ptx_temp(p, p->index);
            dync__ptx_line(p, "add.%s %s, %%pos%db%d, %d", p->index, place, lane / p->vec, p->block,
                           lane % p->vec);
            dync__ptx_line(p, p->shape.wide ? "mov.b64 %s, %s" : "cvt.u64.u32 %s, %s", x.place,
                           place);
        }
        if (p->shape.guarded) {
            dync__format(guard, sizeof guard, "%%in%db%d", lane / p->vec, p->block);
            const char *identity = dync__ptx_identity(p, kind, type);
            if (type == DYNC_BOOL) {
                dync__ptx_line(p, "%s.pred %s, %s, %s", kind == DYNC__R_ALL ? "or" : "and", x.value,
                               x.value, guard);
                if (kind == DYNC__R_ALL) { /* x or not in */
                    const char *out = dync__ptx_temp(p, "pred");
                    dync__ptx_line(p, "not.pred %s, %s", out, guard);
                    dync__ptx_move(p, type, x.value, dync__ptx_use(p, in->arg[0], lane));
                    dync__ptx_line(p, "or.pred %s, %s, %s", x.value, x.value, out);
                }
            } else {
                dync__ptx_line(p, "selp.%s %s, %s, %s, %s", dync__ptx_type(type), x.value, x.value,
                               identity, guard);
            }
            if (dync__ptx_is_arg(kind))
                dync__ptx_line(p, "selp.b64 %s, %s, 0x7fffffffffffffff, %s", x.place, x.place,
                               guard);
        }
        if (dync__ptx_has_transposes(p))
            dync__ptx_join(p, kind, type, &acc, &x);
        else {
            dync__ptx_move(p, type, acc.value, x.value);
            if (dync__ptx_is_arg(kind)) dync__ptx_line(p, "mov.b64 %s, %s", acc.place, x.place);
        }
    }
}

/* ==== cuda/ptx_reduce_threads.c ==================================================================== */
/* cuda/ptx_reduce_threads.c: reductions between threads and between blocks. Before: ptx_reduce.c.
 * */

/* ---- between threads ------------------------------------------------------------------------- */

static const char *dync__ptx_shuffle_word(dync__ptx *p, const char *word, int distance)
{
    const char *other = dync__ptx_temp(p, "b32");
    dync__ptx_line(p, "shfl.sync.bfly.b32 %s, %s, %d, 0x1f, 0xffffffff", other, word, distance);
    return other;
}

/* to = from of the thread `distance` away */
static void dync__ptx_shuffle(dync__ptx *p, int type, const char *to, const char *from,
                              int distance)
{
    if (type == DYNC_BOOL) {
        const char *word = dync__ptx_temp(p, "b32");
        dync__ptx_line(p, "selp.b32 %s, 1, 0, %s", word, from);
        dync__ptx_line(p, "setp.ne.u32 %s, %s, 0", to, dync__ptx_shuffle_word(p, word, distance));
    } else if (type == DYNC_F32 || type == DYNC_I32) {
        dync__ptx_line(p, "mov.b32 %s, %s", to, dync__ptx_shuffle_word(p, from, distance));
    } else {
        const char *low = dync__ptx_temp(p, "b32"), *high = dync__ptx_temp(p, "b32");
        dync__ptx_line(p, "mov.b64 {%s, %s}, %s", low, high, from);
        low = dync__ptx_shuffle_word(p, low, distance);
        high = dync__ptx_shuffle_word(p, high, distance);
        dync__ptx_line(p, "mov.b64 %s, {%s, %s}", to, low, high);
    }
}

static void dync__ptx_butterfly(dync__ptx *p, int kind, int type, const dync__ptx_pair *a,
                                int threads)
{
    for (int distance = threads / 2; distance > 0; distance /= 2) {
        dync__ptx_pair b = dync__ptx_new_pair(p, kind, type);
        dync__ptx_shuffle(p, type, b.value, a->value, distance);
        if (dync__ptx_is_arg(kind)) dync__ptx_shuffle(p, DYNC_I64, b.place, a->place, distance);
        dync__ptx_join(p, kind, type, a, &b);
    }
}

/* A value to or from 8 bytes of memory. */
static void dync__ptx_put(dync__ptx *p, const char *guard, const char *space, int type,
                          const char *at, const char *value)
{
    const char *v = value;
    if (type == DYNC_BOOL) {
        v = dync__ptx_temp(p, "b32");
        dync__ptx_line(p, "selp.b32 %s, 1, 0, %s", v, value);
    }
    dync__ptx_line(p, "%sst.%s.%s [%s], %s", guard, space, dync__ptx_bits(type), at, v);
}
static void dync__ptx_get(dync__ptx *p, const char *guard, const char *space, int type,
                          const char *to, const char *at)
{
    const char *v = type == DYNC_BOOL ? dync__ptx_temp(p, "b32") : to;
    dync__ptx_unloaded(p, guard, dync__ptx_bits(type), v);
    dync__ptx_line(p, "%sld.%s.%s %s, [%s]", guard, space, dync__ptx_bits(type), v, at);
    if (type == DYNC_BOOL) dync__ptx_line(p, "setp.ne.u32 %s, %s, 0", to, v);
}

/* Address of place `index` (u32) of a fresh array of 8-byte places in shared memory. */
static const char *dync__ptx_shared(dync__ptx *p, const char *index, int at)
{
    const char *base = dync__ptx_temp(p, "u32"), *address = dync__ptx_temp(p, "u32");
    dync__ptx_line(p, "mov.u32 %s, smem", base);
    dync__ptx_line(p, "mad.lo.u32 %s, %s, 8, %s", address, index, base);
    dync__ptx_line(p, "add.u32 %s, %s, %d", address, address, at);
    return address;
}

/* Rows of several warps: each warp's result goes through shared memory. */
static void dync__ptx_join_warps(dync__ptx *p, int kind, int type, const dync__ptx_pair *a)
{
    int warps = (int)(p->shape.threads / 32), arrays = dync__ptx_is_arg(kind) ? 2 : 1;
    char put[40], get[40];
    const char *warp = dync__ptx_temp(p, "u32"), *lead = dync__ptx_temp(p, "pred"),
               *mine = dync__ptx_temp(p, "u32"), *lane = dync__ptx_temp(p, "u32");
    dync__ptx_line(p, "shr.u32 %s, %%thr, 5", warp);
    dync__ptx_line(p, "and.b32 %s, %%thr, 31", lane);
    dync__ptx_line(p, "setp.eq.u32 %s, %s, 0", lead, lane);
    dync__ptx_line(p, "and.b32 %s, %s, %d", mine, lane, warps - 1);
    char guard[48];
    dync__format(guard, sizeof guard, "@%s ", lead);
    for (int k = 0; k < arrays; k++) {
        dync__format(put, sizeof put, "%s",
                     dync__ptx_shared(p, warp, p->shared_bytes + k * 8 * warps));
        dync__ptx_put(p, guard, "shared", k ? DYNC_I64 : type, put, k ? a->place : a->value);
    }
    dync__ptx_line(p, "bar.sync 0");
    for (int k = 0; k < arrays; k++) {
        dync__format(get, sizeof get, "%s",
                     dync__ptx_shared(p, mine, p->shared_bytes + k * 8 * warps));
        dync__ptx_get(p, "", "shared", k ? DYNC_I64 : type, k ? a->place : a->value, get);
    }
    p->shared_bytes += 8 * warps * arrays;
    dync__ptx_butterfly(p, kind, type, a, warps);
}

/* Columns: warp t has a part of 32 rows. */
static void dync__ptx_join_columns(dync__ptx *p, int kind, int type, const dync__ptx_pair *a)
{
    int n = (int)p->shape.threads, arrays = dync__ptx_is_arg(kind) ? 2 : 1, bytes = 8 * 32 * n;
    char at[2][40];
    if (n == 1) return;
    for (int k = 0; k < arrays; k++)
        dync__ptx_put(p, "", "shared", k ? DYNC_I64 : type,
                      dync__ptx_shared(p, "%thr", p->shared_bytes + k * bytes),
                      k ? a->place : a->value);
    dync__ptx_line(p, "bar.sync 0");
    for (int k = 0; k < arrays; k++)
        dync__format(at[k], sizeof at[k], "%s",
                     dync__ptx_shared(p, "%lane", p->shared_bytes + k * bytes));
    for (int t = 0; t < n; t++) {
        dync__ptx_pair b = t == 0 ? *a : dync__ptx_new_pair(p, kind, type);
        char place[60];
        for (int k = 0; k < arrays; k++) {
            dync__format(place, sizeof place, "%s+%d", at[k], 8 * 32 * t);
            dync__ptx_get(p, "", "shared", k ? DYNC_I64 : type, k ? b.place : b.value, place);
        }
        if (t) dync__ptx_join(p, kind, type, a, &b);
    }
    p->shared_bytes += bytes * arrays;
}

/* The result of reduction i in every thread of the row, in the register that its users name. */
static void dync__ptx_reduce_result(dync__ptx *p, int i, const dync__ptx_pair *a)
{
    int kind = (int)dync__ptx_reduce_inst(p, i)->imm.i, type = dync__ptx_reduce_type(p, i);
    if (p->shape.mode == DYNC__PTX_COLUMNS)
        dync__ptx_join_columns(p, kind, type, a);
    else {
        dync__ptx_butterfly(p, kind, type, a, (int)DYNC__MIN(p->shape.threads, 32));
        if (p->shape.threads > 32) dync__ptx_join_warps(p, kind, type, a);
    }
    if (p->stage == 1) return;
    char to[40];
    dync__format(to, sizeof to, "%s", dync__ptx_dest(p, i, 0));
    if (dync__ptx_is_arg(kind))
        dync__ptx_line(p, "mov.b64 %s, %s", to, a->place);
    else
        dync__ptx_move(p, type, to, a->value);
}

DYNC__FN void dync__ptx_reduce_end(dync__ptx *p, int phase)
{
    for (int i = 0; i < p->k->inst.n; i++) {
        const dync__inst *in = dync__ptx_reduce_inst(p, i);
        if (!p->needed[i] || in->prim != DYNC__P_reduce || in->section != 2 * phase + 1) continue;
        dync__str_addf(&p->body, "    // result of reduction %d\n", i);
        for (int n = p->groups * p->vec, half; n > 1; n = half) {
            half = (n + 1) / 2;
            for (int lane = 0; lane + half < n; lane++) {
                dync__ptx_pair a = dync__ptx_accumulator(i, lane),
                               b = dync__ptx_accumulator(i, lane + half);
                dync__ptx_join(p, (int)in->imm.i, dync__ptx_reduce_type(p, i), &a, &b);
            }
        }
        dync__ptx_pair a = dync__ptx_accumulator(i, 0);
        dync__ptx_reduce_result(p, i, &a);
    }
}

/* ---- split rows: partial results [reduction, value or place][part][row], 8 bytes each -------- */

static bool dync__ptx_is_reduction(const dync__ptx *p, int i)
{
    return dync__ptx_reduce_inst(p, i)->prim == DYNC__P_reduce;
}

DYNC__FN int64_t dync__ptx_partial_bytes(const dync__ptx *p)
{
    int64_t n = 0;
    for (int i = 0; i < p->k->inst.n; i++) n += dync__ptx_is_reduction(p, i);
    return n * 2 * p->shape.splits * p->shape.rows * 8;
}

/* Address of place [number][part][row]. */
static const char *dync__ptx_partial_at(dync__ptx *p, int number, const char *part)
{
    const char *at = dync__ptx_temp(p, "s64"), *row = dync__ptx_temp(p, "s64"),
               *wide = dync__ptx_temp(p, "s64");
    dync__ptx_line(p, p->shape.wide ? "mov.b64 %s, %s" : "cvt.u64.u32 %s, %s", row, "%row");
    dync__ptx_line(p, "cvt.u64.u32 %s, %s", wide, part);
    dync__ptx_line(p, "mad.lo.s64 %s, %s, %lld, %s", at, wide, (long long)p->shape.rows, row);
    dync__ptx_line(p, "mad.lo.s64 %s, %s, 8, %%scratch", at, at);
    dync__ptx_line(p, "add.s64 %s, %s, %lld", at, at,
                   (long long)(number * p->shape.splits * p->shape.rows * 8));
    return at;
}

DYNC__FN void dync__ptx_partials_store(dync__ptx *p)
{
    for (int i = 0, number = 0; i < p->k->inst.n; i++) {
        const dync__inst *in = dync__ptx_reduce_inst(p, i);
        if (!dync__ptx_is_reduction(p, i)) continue;
        dync__ptx_pair a = dync__ptx_accumulator(i, 0);
        for (int k = 0; k < (dync__ptx_is_arg((int)in->imm.i) ? 2 : 1) && p->needed[i] &&
                        in->section == 2 * p->phase + 1;
             k++) {
            char at[40];
            dync__format(at, sizeof at, "%s", dync__ptx_partial_at(p, number + k, "%part"));
            dync__ptx_put(p, "@%first ", "global", k ? DYNC_I64 : dync__ptx_reduce_type(p, i), at,
                          k ? a.place : a.value);
        }
        number += 2;
    }
}

DYNC__FN void dync__ptx_partials_load(dync__ptx *p)
{
    int label = 0, stage = p->stage;
    dync__ptx_reg(p, "u32", "%from");
    dync__ptx_reg(p, "pred", "%left");
    p->block = 1;
    p->stage = 2;
    for (int i = 0, number = -2; i < p->k->inst.n; i++) {
        const dync__inst *in = dync__ptx_reduce_inst(p, i);
        number += 2 * dync__ptx_is_reduction(p, i);
        if (!dync__ptx_is_reduction(p, i) || !p->needed[i] || in->section > 2 * p->phase) continue;
        int kind = (int)in->imm.i, type = dync__ptx_reduce_type(p, i);
        dync__ptx_pair a = dync__ptx_accumulator(i, 0), b = dync__ptx_new_pair(p, kind, type);
        dync__ptx_accumulators(p, i, 1);
        dync__ptx_line(p, p->shape.wide ? "cvt.u32.u64 %%from, %%t" : "mov.u32 %%from, %%t");
        dync__str_addf(&p->body, "PART%d:\n", ++label);
        dync__ptx_line(p, "setp.ge.u32 %%left, %%from, %lld", (long long)p->shape.splits);
        dync__ptx_line(p, "@%%left bra JOIN%d", label);
        for (int k = 0; k < (dync__ptx_is_arg(kind) ? 2 : 1); k++) {
            char at[40];
            dync__format(at, sizeof at, "%s", dync__ptx_partial_at(p, number + k, "%from"));
            dync__ptx_get(p, "", "global", k ? DYNC_I64 : type, k ? b.place : b.value, at);
        }
        dync__ptx_join(p, kind, type, &a, &b);
        dync__ptx_line(p, "add.u32 %%from, %%from, %lld", (long long)p->shape.threads);
        dync__ptx_line(p, "bra PART%d", label);
        dync__str_addf(&p->body, "JOIN%d:\n", label);
        p->where[i] = 1;
        dync__ptx_reduce_result(p, i, &a);
    }
    p->stage = stage;
}

/* ==== cuda/ptx.c =================================================================================== */
/* cuda/ptx.c: a kernel of loop IR as PTX text. Before calls.c; launch.c runs the result.
 *
 *   parameters   one 64-bit word a buffer (its address, or for one element of main memory its
 *                value), then scratch, then the state, seed and offset of random numbers where they
 *                are drawn
 *   flat         every thread takes groups of `vec` neighbours, a grid apart (grid-stride loop);
 *                what is left over goes to a scalar tail
 *   rows         T threads a row, neighbours in memory side by side; columns: 32 rows side by side,
 *                T warps along the row
 * Sums are taken lane by lane, then over the lanes, the warp and the block in a fixed order: the
 * same bits every time. Invariant: every register is declared once, at the top of its function,
 * before the statements. Sources: NVIDIA, PTX ISA 8.0. */

/* Operands of a phase come first: those of another phase are made again in this block. */
DYNC__FN void dync__ptx_emit(dync__ptx *p, int i)
{
    const dync__inst *in = dync__ptx_inst(p, i);
    int n_args = dync__prim_info(in->prim)->n_args;
    if (in->prim == DYNC__P_const_ || dync__ptx_at_hand(p, i)) return;
    if (in->prim == DYNC__P_reduce && p->where[i] >= 0) return;
    if (dync__ptx_emit_pairs(p, i)) return;
    for (int a = 0; a < n_args; a++) (void)dync__ptx_use(p, in->arg[a], 0);
    if (p->taken == i + 1) return;
    dync__str_addf(&p->body, "    // %s%s%s\n", dync__prim_info(in->prim)->name,
                   in->origin ? " of " : "", in->origin ? in->origin : "");
    if (in->prim != DYNC__P_reduce) p->where[i] = p->block;
    switch (in->prim) {
    case DYNC__P_load:
    case DYNC__P_loadx: dync__ptx_load(p, i); break;
    case DYNC__P_store:
    case DYNC__P_storex: dync__ptx_store(p, i); break;
    case DYNC__P_reduce: dync__ptx_reduce_step(p, i); break;
    default:
        for (int lane = 0; lane < dync__ptx_lanes(p, i); lane++)
            if (dync__ptx_lane(p, i, lane) == lane) dync__ptx_prim(p, i, lane);
    }
}

/* ---- positions ------------------------------------------------------------------------------- */

DYNC__FN void dync__ptx_coordinates(dync__ptx *p, int from, int to, const char *linear,
                                    const char *prefix, const char *suffix)
{
    char rest[40], name[40];
    dync__format(rest, sizeof rest, "%s", linear);
    for (int d = to - 1; d >= from; d--) {
        dync__format(name, sizeof name, "%%%s%d%s", prefix, d, suffix);
        dync__ptx_reg(p, p->index, name);
        int64_t extent = p->k->extent[d];
        bool more = false;
        for (int e = from; e < d; e++) more |= p->k->extent[e] > 1;
        if (extent <= 1)
            dync__ptx_line(p, "mov.%s %s, 0", p->index, name);
        else if (!more)
            dync__ptx_line(p, "mov.%s %s, %s", p->index, name, rest);
        else {
            const char *next = dync__ptx_temp(p, p->index);
            dync__ptx_line(p, "div.%s %s, %s, %lld", p->index, next, rest, (long long)extent);
            dync__ptx_line(p, "mul.lo.%s %s, %s, %lld", p->index, name, next, (long long)extent);
            dync__ptx_line(p, "sub.%s %s, %s, %s", p->index, name, rest, name);
            dync__format(rest, sizeof rest, "%s", next);
        }
    }
}

DYNC__FN int dync__ptx_first_inner(const dync__ptx *p)
{
    return p->shape.mode == DYNC__PTX_FLAT ? 0 : p->k->n_outer;
}

/* Position of every group of this block: base + (group * T + t) * vec, with its guard and its
 * coordinates. */
static void dync__ptx_positions(dync__ptx *p, const char *base)
{
    const dync__ptx_shape *s = &p->shape;
    char name[40], in[40], put[40], suffix[24];
    for (int g = 0; g < p->groups; g++) {
        dync__format(name, sizeof name, "%%pos%db%d", g, p->block);
        dync__ptx_reg(p, p->index, name);
        if (s->mode == DYNC__PTX_FLAT && p->copy)
            dync__ptx_line(p, "add.%s %s, %%t, %lld", p->index, name,
                           (long long)(s->inner / s->vec * s->vec));
        else if (s->mode == DYNC__PTX_FLAT) {
            if (g)
                dync__ptx_line(p, "mad.lo.%s %s, %%T, %d, %s", p->index, name, g, base);
            else
                dync__ptx_line(p, "mov.%s %s, %s", p->index, name, base);
        } else {
            dync__ptx_line(p, "add.%s %s, %%t, %lld", p->index, name, (long long)(g * s->threads));
        }
        dync__format(in, sizeof in, "%%in%db%d", g, p->block);
        if (s->mode == DYNC__PTX_FLAT && g && s->guarded) {
            dync__ptx_reg(p, "pred", in);
            dync__ptx_line(p, "setp.lt.%s %s, %s, %lld", p->index, in, name,
                           (long long)(s->inner / s->vec));
        }
        if (p->vec > 1) dync__ptx_line(p, "mul.lo.%s %s, %s, %d", p->index, name, name, p->vec);
        if (s->mode != DYNC__PTX_FLAT && base)
            dync__ptx_line(p, "add.%s %s, %s, %s", p->index, name, name, base);
        if (s->mode != DYNC__PTX_FLAT && s->guarded) {
            dync__ptx_reg(p, "pred", in);
            if (s->splits > 1)
                dync__ptx_line(p, "setp.lt.%s %s, %s, %%stop", p->index, in, name);
            else
                dync__ptx_line(p, "setp.lt.%s %s, %s, %lld", p->index, in, name,
                               (long long)s->inner);
        }
        if (s->guarded && !(s->mode == DYNC__PTX_FLAT && (g == 0 || p->copy))) {
            dync__format(put, sizeof put, "%%put%db%d", g, p->block);
            dync__ptx_reg(p, "pred", put);
            dync__ptx_line(p, "and.pred %s, %s, %s", put, in,
                           s->mode == DYNC__PTX_FLAT ? "%true" : "%rowok");
        }
        dync__format(suffix, sizeof suffix, "_%db%d", g, p->block);
        dync__ptx_coordinates(p, dync__ptx_first_inner(p), p->k->n_dims, name, "i", suffix);
    }
}

/* ---- functions ------------------------------------------------------------------------------- */

DYNC__FN void dync__ptx_open(dync__ptx *p)
{
    char name[40];
    p->regs.n = p->body.n = 0;
    p->address.n = 0;
    p->block = p->phase = 0;
    p->copy = 0;
    p->shared_bytes = 0;
    p->philox_of = -1;
    for (int i = 0; i < p->k->inst.n; i++) {
        p->where[i] = -1;
        if (p->paired) p->paired[i] = -1;
    }
    dync__ptx_reg(p, "pred", "%true");
    dync__ptx_reg(p, "pred", "%false");
    dync__ptx_line(p, "setp.eq.u32 %%true, 0, 0");
    dync__ptx_line(p, "not.pred %%false, %%true");
    for (int i = 0; i < p->k->buf.n; i++) {
        const dync__buf *b = &p->k->buf.at[i];
        dync__format(name, sizeof name, "%%b%d", i);
        dync__ptx_reg(p, "b64", name);
        dync__str_addf(&p->body, "    // %s: %s%s%s\n", name, dync__dtype_info(b->dtype)->name,
                       b->name ? " " : "", b->name ? b->name : "");
        dync__ptx_line(p, "ld.param.b64 %s, [p%d]", name, i);
        if (!p->host[i]) dync__ptx_line(p, "cvta.to.global.u64 %s, %s", name, name);
    }
}

DYNC__FN void dync__ptx_open_random(dync__ptx *p)
{
    int n = p->k->buf.n + 1;
    static const char *const names[] = {"%rng", "%seed", "%draw"};
    for (int i = 0; i < 3; i++) {
        dync__ptx_reg(p, "b64", names[i]);
        dync__ptx_line(p, "ld.param.b64 %s, [p%d]", names[i], n + i);
    }
    const char *has = dync__ptx_temp(p, "pred"), *more = dync__ptx_temp(p, "b64");
    dync__ptx_line(p, "setp.ne.s64 %s, %%rng, 0", has);
    dync__ptx_line(p, "cvta.to.global.u64 %%rng, %%rng");
    dync__ptx_line(p, "mov.b64 %s, 0", more);
    dync__ptx_line(p, "@%s ld.global.b64 %%seed, [%%rng]", has); /* else the parameter's */
    dync__ptx_line(p, "@%s ld.global.b64 %s, [%%rng+8]", has, more);
    dync__ptx_line(p, "add.s64 %%draw, %%draw, %s", more);
}

DYNC__FN void dync__ptx_close(dync__ptx *p, dync__ptx_text *out, int64_t gx, int64_t gy, int block)
{
    dync__ptx_launch *l = &out->launch[out->n_launches++];
    int n = p->k->buf.n + 1 + (p->uses_random ? 3 : 0);
    memset(l, 0, sizeof *l);
    dync__str clean = {0};
    for (const char *c = p->k->name; *c && clean.n < 60; c++)
        dync__str_addc(&clean, (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                                       (*c >= '0' && *c <= '9')
                                   ? *c
                                   : '_');
    dync__format(l->entry, sizeof l->entry, "dync_%s_%d", dync__str_get(&clean), out->n_launches);
    dync__str_free(&clean);
    l->grid[0] = gx;
    l->grid[1] = gy;
    l->grid[2] = 1;
    l->block = block;
    dync__str_addf(&out->text, "\n.visible .entry %s(", l->entry);
    for (int i = 0; i < n; i++) dync__str_addf(&out->text, "%s.param .b64 p%d", i ? ", " : "", i);
    dync__str_addf(&out->text, ")\n.maxntid %d, 1, 1\n{\n", block);
    if (p->shared_bytes)
        dync__str_addf(&out->text, "    .shared .align 16 .b8 smem[%d];\n", p->shared_bytes);
    dync__str_add(&out->text, dync__str_get(&p->regs));
    dync__str_add(&out->text, dync__str_get(&p->body));
    dync__str_add(&out->text, "    ret;\n}\n");
    p->failed |= p->regs.failed || p->body.failed;
}

static void dync__ptx_special(dync__ptx *p, const char *name, const char *special)
{
    dync__ptx_reg(p, "u32", name);
    dync__ptx_line(p, "mov.u32 %s, %s", name, special);
}

/* %d = %a * %b + %c of 32-bit numbers, in the type of indices. */
static void dync__ptx_place(dync__ptx *p, const char *name, const char *a, const char *b,
                            const char *c)
{
    dync__ptx_reg(p, p->index, name);
    if (!p->shape.wide) {
        dync__ptx_line(p, "mad.lo.u32 %s, %s, %s, %s", name, a, b, c);
        return;
    }
    const char *wide = dync__ptx_temp(p, "u64");
    dync__ptx_line(p, "cvt.u64.u32 %s, %s", wide, c);
    dync__ptx_line(p, "mad.wide.u32 %s, %s, %s, %s", name, a, b, wide);
}

DYNC__FN void dync__ptx_flat(dync__ptx *p, dync__ptx_text *out, int units)
{
    const dync__ptx_shape *s = &p->shape;
    int64_t n_groups = s->inner / s->vec, rest = s->inner % s->vec;
    int64_t blocks = (n_groups + (int64_t)s->block * s->groups - 1) /
                     ((int64_t)s->block * s->groups);
    blocks = DYNC__MAX(DYNC__MIN(blocks, (int64_t)units * 8), 1);
    dync__ptx_open(p);
    if (p->uses_random) dync__ptx_open_random(p);
    dync__ptx_special(p, "%thr", "%tid.x");
    dync__ptx_special(p, "%cta", "%ctaid.x");
    if (s->side) {
        dync__ptx_transpose(p);
        dync__ptx_close(p, out, s->blocks, 1, s->block);
        return;
    }
    dync__ptx_special(p, "%nthr", "%ntid.x");
    dync__ptx_special(p, "%ncta", "%nctaid.x");
    dync__ptx_reg(p, "u32", "%none");
    dync__ptx_line(p, "mov.u32 %%none, 0");
    dync__ptx_place(p, "%t", "%cta", "%nthr", "%thr");
    dync__ptx_place(p, "%T", "%ncta", "%nthr", "%none");
    dync__ptx_reg(p, p->index, "%at");
    dync__ptx_reg(p, "pred", "%done");
    p->block = 1;
    dync__ptx_line(p, "mov.%s %%at, %%t", p->index);
    dync__str_add(&p->body, "NEXT:\n");
    dync__ptx_line(p, "setp.ge.%s %%done, %%at, %lld", p->index, (long long)n_groups);
    dync__ptx_line(p, "@%%done bra DONE");
    p->vec = s->vec;
    p->groups = s->groups;
    dync__ptx_positions(p, "%at");
    for (int section = 0; section <= 2 * p->n_phases; section++) dync__ptx_section(p, section);
    dync__ptx_line(p, "mad.lo.%s %%at, %%T, %d, %%at", p->index, s->groups);
    dync__ptx_line(p, "bra NEXT");
    dync__str_add(&p->body, "DONE:\n");
    if (rest) {
        dync__ptx_line(p, "setp.ge.%s %%done, %%t, %lld", p->index, (long long)rest);
        dync__ptx_line(p, "@%%done ret");
        p->vec = p->groups = 1;
        p->copy = 't';
        p->block = 2;
        dync__ptx_positions(p, "%at");
        for (int section = 0; section <= 2 * p->n_phases; section++) dync__ptx_section(p, section);
    }
    dync__ptx_close(p, out, blocks, 1, s->block);
}

DYNC__FN void dync__ptx_row_begin(dync__ptx *p)
{
    const dync__ptx_shape *s = &p->shape;
    char count[24];
    dync__ptx_special(p, "%thr", "%tid.x");
    dync__ptx_special(p, "%cta", "%ctaid.x");
    dync__ptx_reg(p, "u32", "%sub");
    dync__ptx_reg(p, "u32", "%lane");
    bool columns = s->mode == DYNC__PTX_COLUMNS;
    int width = columns ? 32 : (int)s->threads; /* a power of two */
    dync__ptx_line(p, "and.b32 %%lane, %%thr, %d", width - 1);
    dync__ptx_line(p, "div.u32 %%sub, %%thr, %d", width);
    dync__format(count, sizeof count, "%d", s->rows_per_block);
    dync__ptx_place(p, "%row", "%cta", count, columns ? "%lane" : "%sub");
    dync__ptx_reg(p, p->index, "%t");
    dync__ptx_line(p, s->wide ? "cvt.u64.u32 %%t, %s" : "mov.u32 %%t, %s",
                   columns ? "%sub" : "%lane");
    dync__ptx_reg(p, "pred", "%rowok");
    dync__ptx_line(p, "setp.lt.%s %%rowok, %%row, %lld", p->index, (long long)s->rows);
    if (s->rows % s->rows_per_block)
        dync__ptx_line(p, "min.%s %%row, %%row, %lld", p->index, (long long)s->rows - 1);
    dync__ptx_reg(p, "pred", "%first");
    dync__ptx_line(p, "setp.eq.%s %%first, %%t, 0", p->index);
    dync__ptx_line(p, "and.pred %%first, %%first, %%rowok");
    dync__ptx_coordinates(p, 0, p->k->n_outer, "%row", "o", "");
    if (s->splits > 1 || p->stage) {
        dync__ptx_reg(p, "b64", "%scratch");
        dync__ptx_line(p, "ld.param.b64 %%scratch, [p%d]", p->k->buf.n);
        dync__ptx_line(p, "cvta.to.global.u64 %%scratch, %%scratch");
    }
    if (s->splits > 1 && p->stage == 1) {
        dync__ptx_special(p, "%part", "%ctaid.y");
        dync__ptx_reg(p, p->index, "%start");
        dync__ptx_line(p, s->wide ? "cvt.u64.u32 %%start, %%part" : "mov.u32 %%start, %%part");
        dync__ptx_line(p, "mul.lo.%s %%start, %%start, %lld", p->index, (long long)s->chunk);
        dync__ptx_reg(p, p->index, "%stop");
        dync__ptx_line(p, "add.%s %%stop, %%start, %lld", p->index, (long long)s->chunk);
        dync__ptx_line(p, "min.%s %%stop, %%stop, %lld", p->index, (long long)s->inner);
    }
}

DYNC__FN void dync__ptx_phase(dync__ptx *p, int phase)
{
    const dync__ptx_shape *s = &p->shape;
    bool any = false;
    for (int i = 0; i < p->k->inst.n; i++)
        any |= p->needed[i] && dync__ptx_inst(p, i)->section == 2 * phase + 1;
    if (!any) return;
    const char *start = s->splits > 1 ? "%start" : NULL;
    char base[24], label[24], done[24];
    p->phase = phase;
    p->vec = s->vec;
    p->groups = s->groups;
    dync__ptx_reduce_begin(p);
    if (s->inner == 0) {
        for (int i = 0; i < p->k->inst.n; i++)
            if (dync__ptx_inst(p, i)->prim == DYNC__P_reduce &&
                dync__ptx_inst(p, i)->section == 2 * phase + 1)
                p->where[i] = 0;
    } else if (s->iterations == 1) {
        if (p->block == 0) {
            p->block = 1;
            dync__ptx_positions(p, start);
        }
        dync__ptx_section(p, 2 * phase + 1);
    } else {
        p->block++;
        dync__format(base, sizeof base, "%%base%d", p->block);
        dync__format(label, sizeof label, "TURN%d", p->block);
        dync__format(done, sizeof done, "%%more%d", p->block);
        dync__ptx_reg(p, p->index, base);
        dync__ptx_reg(p, "pred", done);
        dync__ptx_line(p, "mov.%s %s, %s", p->index, base, start ? start : "0");
        dync__str_addf(&p->body, "%s:\n", label);
        dync__ptx_positions(p, base);
        dync__ptx_section(p, 2 * phase + 1);
        dync__ptx_line(p, "add.%s %s, %s, %lld", p->index, base, base,
                       (long long)(s->groups * s->threads * s->vec));
        if (s->splits > 1)
            dync__ptx_line(p, "setp.lt.%s %s, %s, %%stop", p->index, done, base);
        else
            dync__ptx_line(p, "setp.lt.%s %s, %s, %lld", p->index, done, base, (long long)s->inner);
        dync__ptx_line(p, "@%s bra %s", done, label);
        p->block++;
    }
    dync__ptx_reduce_end(p, phase);
    if (phase + 1 < p->n_phases) dync__ptx_row_barrier(p);
}

DYNC__FN bool dync__ptx_launch_needs(dync__ptx *p, const uint8_t *all, int phase)
{
    bool any = false;
    memset(p->needed, 0, (size_t)p->k->inst.n);
    for (int i = p->k->inst.n - 1; i >= 0; i--) {
        const dync__inst *in = dync__ptx_inst(p, i);
        bool stores = !dync__inst_has_value(in), reduces = in->prim == DYNC__P_reduce,
             here = in->section == 2 * phase + 1;
        if (all[i] &&
            (phase == p->n_phases ? stores && !(in->section & 1) : here && (stores || reduces)))
            p->needed[i] = any = true;
        for (int a = 0; a < dync__prim_info(in->prim)->n_args && (here || !reduces); a++)
            p->needed[in->arg[a]] |= p->needed[i];
    }
    return any;
}

/* Each phase is a launch, and so is row code where it stores: a row to a warp, or where there are
 * many to a thread. */

/* ==== cuda/ptx_kernel.c ============================================================================ */
/* cuda/ptx_kernel.c: a loop kernel as PTX: one element a thread, or rows over a block, and pieces
 * that other texts call. After ptx.c, before parts.c. */

static void dync__ptx_split(dync__ptx *p, dync__ptx_text *out)
{
    dync__ptx_shape *s = &p->shape;
    const uint8_t *all = dync__arena_copy(p->arena, p->needed, (size_t)p->k->inst.n + 1);
    p->failed |= !all;
    out->scratch_bytes = dync__ptx_partial_bytes(p);
    for (int phase = 0; all && phase <= p->n_phases; phase++) {
        if (!dync__ptx_launch_needs(p, all, phase)) continue;
        p->stage = phase < p->n_phases ? 1 : 2;
        if (p->stage == 2) {
            s->mode = DYNC__PTX_ROWS;
            s->threads = s->rows >= 4096 ? 1 : 32;
            s->block = 128;
            s->rows_per_block = (int)(128 / s->threads);
            s->iterations = 2;
        }
        dync__ptx_open(p);
        p->phase = phase;
        if (p->uses_random) dync__ptx_open_random(p);
        dync__ptx_row_begin(p);
        if (phase) dync__ptx_partials_load(p);
        for (int before = 0; before <= phase; before++) dync__ptx_section(p, 2 * before);
        if (p->stage == 1) {
            dync__ptx_phase(p, phase);
            dync__ptx_partials_store(p);
        }
        dync__ptx_close(p, out, (s->rows + s->rows_per_block - 1) / s->rows_per_block,
                        p->stage == 1 ? s->splits : 1, s->block);
    }
}

static void dync__ptx_rows(dync__ptx *p, dync__ptx_text *out)
{
    const dync__ptx_shape *s = &p->shape;
    if (s->splits > 1) {
        dync__ptx_split(p, out);
        return;
    }
    dync__ptx_open(p);
    if (p->uses_random) dync__ptx_open_random(p);
    dync__ptx_row_begin(p);
    for (int ph = 0; ph < p->n_phases; ph++) {
        dync__ptx_section(p, 2 * ph);
        dync__ptx_phase(p, ph);
    }
    dync__ptx_section(p, 2 * p->n_phases);
    dync__ptx_close(p, out, (s->rows + s->rows_per_block - 1) / s->rows_per_block, 1, s->block);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void dync__ptx_mark(dync__ptx *p)
{
    const dync__kernel *k = p->k;
    for (int i = k->inst.n - 1; i >= 0; i--) {
        const dync__inst *in = dync__ptx_inst(p, i);
        if (!dync__inst_has_value(in)) p->needed[i] = 1;
        if (in->prim == DYNC__P_random && p->needed[i]) p->uses_random = true;
        for (int a = 0; a < dync__prim_info(in->prim)->n_args; a++)
            p->needed[in->arg[a]] |= p->needed[i];
        p->n_phases = DYNC__MAX(p->n_phases, (in->section + 1) / 2);
    }
    p->n_phases = DYNC__MAX(p->n_phases, 1);
    for (int i = 0; i < k->buf.n; i++)
        p->in_place |= k->buf.at[i].mode == (DYNC__BUF_IN | DYNC__BUF_OUT);
}

/* Does not vary along the row; or along its last loop. */
static void dync__ptx_mark_uniform(dync__ptx *p)
{
    const dync__kernel *k = p->k;
    int first = dync__ptx_first_inner(p);
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = dync__ptx_inst(p, i);
        int level = 2;
        if (dync__ptx_is_row(p, in)) {
            p->uniform[i] = 2;
            continue;
        }
        for (int a = 0; a < dync__prim_info(in->prim)->n_args; a++)
            level = DYNC__MIN(level, p->uniform[in->arg[a]]);
        for (int d = first; in->access >= 0 && d < k->n_dims; d++)
            if (k->access.at[in->access].stride[d] != 0 && k->extent[d] > 1)
                level = DYNC__MIN(level, d == k->n_dims - 1 ? 0 : 1);
        if (in->prim == DYNC__P_reduce) level = 2;
        p->uniform[i] = (uint8_t)(dync__inst_has_value(in) ? level : 0);
    }
}

/* ---- pieces ---------------------------------------------------------------------------------- */

DYNC__FN bool dync__ptx_piece_begin(dync__ptx *p, dync__arena *arena, const dync__kernel *k,
                                    const bool *host, int64_t columns, bool scalar)
{
    size_t n = (size_t)k->inst.n + 1;
    p->arena = arena;
    p->k = k;
    p->host = host;
    p->needed = dync__arena_alloc(arena, 2 * n);
    p->where = dync__arena_alloc(arena, n * sizeof *p->where);
    if (!p->needed || !p->where) return false;
    p->uniform = p->needed + n;
    for (int i = 0; i < k->inst.n; i++) p->where[i] = -1;
    dync__ptx_mark(p);
    dync__ptx_plan(p, 0, scalar);
    if (columns % p->shape.vec) {
        p->n_checks = 0;
        dync__ptx_plan(p, 0, true);
    }
    p->shape.guarded = false;
    p->shape.groups = p->groups = 1;
    p->vec = p->shape.vec;
    dync__ptx_mark_uniform(p);
    p->index = p->shape.wide ? "u64" : "u32";
    return p->shape.mode == DYNC__PTX_FLAT && !p->uses_random;
}

DYNC__FN void dync__ptx_piece(dync__ptx *p, const char *linear, int given, char value[][24])
{
    char suffix[24];
    dync__format(suffix, sizeof suffix, "_0b%d", ++p->block);
    dync__ptx_coordinates(p, 0, p->k->n_dims, linear, "i", suffix);
    for (int i = 0; i < p->k->inst.n; i++) {
        const dync__inst *in = dync__ptx_inst(p, i);
        if (in->prim != DYNC__P_load || in->buf != given || !p->needed[i]) continue;
        p->where[i] = p->block;
        for (int lane = 0; lane < dync__ptx_lanes(p, i); lane++)
            if (dync__ptx_lane(p, i, lane) == lane)
                dync__ptx_line(p, "mov.%s %s, %s", dync__ptx_bits(in->type),
                               dync__ptx_dest(p, i, lane), value[lane]);
    }
    for (int section = 0; section <= 2 * p->n_phases; section++) dync__ptx_section(p, section);
}

/* What a piece loads from memory; the rest is in main memory. */
static bool dync__ptx_piece_loads(dync__ptx *p, int i)
{
    const dync__inst *in = dync__ptx_inst(p, i);
    return in->prim == DYNC__P_load && p->needed[i] && !p->host[in->buf];
}

DYNC__FN int dync__ptx_piece_load(dync__ptx *p, const char *linear)
{
    char suffix[24];
    dync__format(suffix, sizeof suffix, "_0b%d", ++p->block);
    dync__ptx_coordinates(p, 0, p->k->n_dims, linear, "i", suffix);
    p->raw = 1;
    for (int i = 0; i < p->k->inst.n; i++) {
        if (!dync__ptx_piece_loads(p, i)) continue;
        p->where[i] = p->block;
        dync__ptx_load(p, i);
    }
    p->raw = 0;
    return p->block;
}

DYNC__FN void dync__ptx_piece_value(dync__ptx *p, int loaded, char value[][40])
{
    int last = p->block;
    p->block = loaded;
    p->raw = 2;
    for (int i = 0; i < p->k->inst.n; i++) {
        if (!dync__ptx_piece_loads(p, i)) continue;
        p->where[i] = loaded;
        dync__ptx_load(p, i);
    }
    p->raw = 0;
    dync__ptx_emit(p, p->taken - 1);
    for (int lane = 0; lane < p->vec; lane++)
        dync__format(value[lane], sizeof value[lane], "%s",
                     dync__ptx_in_reg(p, dync__ptx_inst(p, p->taken - 1)->arg[0], lane));
    p->block = last;
}

DYNC__FN void dync__ptx_header(dync__str *s, const char *target)
{
    dync__str_addf(s, ".version %s\n.target %s\n.address_size 64\n",
                   strcmp(target, "sm_90a") == 0 ? "8.0" : "7.1", target);
}

DYNC__FN dync_status dync__ptx_kernel(const dync__kernel *kernel, const bool *host, int units,
                                      bool scalar, dync__ptx_text *out)
{
    dync__arena arena = {0};
    dync__ptx p;
    memset(&p, 0, sizeof p);
    memset(out, 0, sizeof *out);
    p.arena = &arena;
    p.k = dync__kernel_expand(&arena, kernel, false);
    p.host = host;
    size_t n = p.k ? (size_t)p.k->inst.n + 1 : 0;
    p.needed = p.k ? dync__arena_alloc(&arena, 2 * n) : NULL;
    p.where = p.k ? dync__arena_alloc(&arena, n * sizeof *p.where) : NULL;
    dync_status status = p.needed && p.where ? DYNC_OK : DYNC_ERR_MEMORY;
    if (status == DYNC_OK) {
        p.uniform = p.needed + n;
        dync__ptx_mark(&p);
        dync__ptx_plan(&p, units, scalar);
        dync__ptx_mark_uniform(&p);
        dync__ptx_mark_pairs(&p);
        p.index = p.shape.wide ? "u64" : "u32";
        dync__str_addf(&out->text, "// %s: %lld rows of %lld\n", p.k->name, (long long)p.shape.rows,
                       (long long)p.shape.inner);
        dync__ptx_header(&out->text, "sm_80");
        out->is_vector = p.shape.vec > 1;
        if (p.shape.mode == DYNC__PTX_FLAT)
            dync__ptx_flat(&p, out, units);
        else
            dync__ptx_rows(&p, out);
        out->random = p.uses_random;
        out->n_checks = p.n_checks;
        memcpy(out->check, p.check, sizeof p.check);
        if (p.unsupported)
            status = dync__fail(
                DYNC_ERR_UNSUPPORTED,
                "kernel %s: a row that is written while it is read is too long for a GPU block",
                p.k->name);
        else if (p.failed || out->text.failed)
            status = dync__fail_memory(0);
    }
    dync__str_free(&p.body);
    dync__str_free(&p.regs);
    dync__arena_free(&arena);
    if (status != DYNC_OK) dync__str_free(&out->text);
    return status;
}

/* ==== cuda/parts.c ================================================================================= */
/* cuda/parts.c: the parts of a step's code: loops, texts, products, room of their own. Before the
 * calls that are made of them; after: launch.c makes texts of the loops and runs them. */

DYNC__FN dync__kernel *dync__cuda_kernel_copy(dync__arena *arena, const dync__kernel *k)
{
    dync__kernel *out = dync__kernel_new(arena, k->name, k->n_outer, k->n_dims, k->extent);
    if (!out) return NULL;
    for (int i = 0; i < k->buf.n; i++) {
        dync__buf b = k->buf.at[i];
        b.name = b.name ? dync__arena_strdup(arena, b.name) : NULL;
        if (!dync__avec_push(arena, &out->buf, b)) return NULL;
    }
    for (int i = 0; i < k->access.n; i++)
        if (!dync__avec_push(arena, &out->access, k->access.at[i])) return NULL;
    for (int i = 0; i < k->inst.n; i++) {
        dync__inst in = k->inst.at[i];
        in.origin = in.origin ? dync__arena_strdup(arena, in.origin) : NULL;
        if (!dync__avec_push(arena, &out->inst, in)) return NULL;
    }
    out->uses_random = k->uses_random;
    return out;
}

DYNC__FN dync__cuda_part *dync__cuda_part_new(dync__cuda_code *c, int n)
{
    dync__cuda_part part;
    memset(&part, 0, sizeof part);
    part.n = n;
    part.buf = dync__arena_alloc(&c->arena, (size_t)(n + 1) * sizeof *part.buf);
    part.host = dync__arena_alloc(&c->arena, (size_t)(n + 1));
    if (n > 64)
        dync__fail(DYNC_ERR_UNSUPPORTED, "a GPU kernel takes at most 64 buffers, this one has %d",
                   n);
    if (n > 64 || !part.buf || !part.host || !dync__avec_push(&c->arena, &c->part, part))
        return NULL;
    return &c->part.at[c->part.n - 1];
}

DYNC__FN bool dync__cuda_add_loop(dync__cuda_code *c, dync__kernel *k)
{
    for (int d = 0; k && !k->failed && d < k->n_dims; d++)
        if (k->extent[d] == 0) return true;
    if (!k || k->failed) return dync__fail_memory(0), false;
    dync__kernel_simplify(k);
    dync__kernel_schedule(k);
    dync__cuda_part *part = k->failed ? NULL : dync__cuda_part_new(c, k->buf.n);
    if (!part) return false;
    part->kernel = k;
    for (int i = 0; i < k->buf.n; i++)
        part->buf[i] = k->buf.at[i].id >= DYNC__CUDA_TEMP ? DYNC__CUDA_TEMP - 1 - k->buf.at[i].id
                                                          : k->buf.at[i].id;
    return true;
}

DYNC__FN bool dync__cuda_add_pack(dync__cuda_code *c, dync__kernel *k, const dync__kcall *call,
                                  int operand, int temp)
{
    int n = c->part.n;
    if (!dync__cuda_add_loop(c, k)) return false;
    if (c->part.n == n || !call->operand[operand].input) return true;
    dync__cuda_packed *packed = dync__arena_alloc(&c->arena, sizeof *packed);
    if (!packed) return false;
    *packed = (dync__cuda_packed){
        .input = call->operand[operand].input, .operand = operand, .temp = temp - DYNC__CUDA_TEMP};
    c->part.at[n].packed = packed;
    return c->packs = true;
}

DYNC__FN bool dync__cuda_add_text(dync__cuda_code *c, const dync__ptx_text *t, int n,
                                  const int32_t *buf)
{
    dync__cuda_part *part = dync__cuda_part_new(c, n);
    if (!part) {
        dync__str text = t->text;
        dync__str_free(&text);
        return false;
    }
    part->form[0].text = *t;
    part->form[0].made = true;
    for (int i = 0; i < n; i++)
        part->buf[i] = buf[i] >= DYNC__CUDA_TEMP ? DYNC__CUDA_TEMP - 1 - buf[i] : buf[i];
    return !t->text.failed;
}

DYNC__FN bool dync__cuda_add_form(dync__cuda_code *c, int which, const dync__ptx_text *t)
{
    dync__cuda_form *f = &c->part.at[c->part.n - 1].form[which];
    f->text = *t;
    f->made = true;
    f->kept = dync__arena_alloc(&c->arena, (size_t)(t->n_maps + 1) * sizeof *f->kept);
    return !t->text.failed && f->kept;
}

DYNC__FN bool dync__cuda_add_variant(dync__cuda_code *c, const dync__ptx_text *t)
{
    return dync__cuda_add_form(c, DYNC__CUDA_VARIANT, t);
}

DYNC__FN bool dync__cuda_add_gemm(dync__cuda_code *c, struct dync__gm *g, const dync__kernel *end,
                                  const bool *host, const int32_t *buf)
{
    dync__cuda_part *part = dync__cuda_part_new(c, end->buf.n);
    if (!part) return false;
    part->kernel = (dync__kernel *)(uintptr_t)end;
    part->gemm = g;
    for (int i = 0; i < part->n; i++) {
        part->buf[i] = buf[i] >= DYNC__CUDA_TEMP ? DYNC__CUDA_TEMP - 1 - buf[i] : buf[i];
        part->host[i] = host[i];
    }
    return true;
}

DYNC__FN int dync__cuda_add_temp(dync__cuda_code *c, int64_t bytes)
{
    if (c->temp.n == 8 || !dync__avec_push(&c->arena, &c->temp, bytes)) return -1;
    return DYNC__CUDA_TEMP + c->temp.n - 1;
}

/* ==== cuda/tile.c ================================================================================== */
/* cuda/tile.c: emitters for kernels written out as PTX text (tile.h says how they fit together).
 * After ptx.c, before gemm.c and calls.c. */

/* ---- text ------------------------------------------------------------------------------------ */

static void dync__cuda_tile_open(dync__cuda_tile *t)
{
    static const char *const specials[][2] = {{"%thr", "%tid.x"}, {"%cta", "%ctaid.x"}};
    char name[24];
    if (!t->p.index) t->p.index = "u32";
    dync__ptx_reg(&t->p, "pred", "%true");
    dync__ptx_reg(&t->p, "pred", "%false");
    dync__ptx_line(&t->p, "setp.eq.u32 %%true, 0, 0");
    dync__ptx_line(&t->p, "not.pred %%false, %%true");
    for (int i = 0; i < t->n_buffers; i++) {
        dync__format(name, sizeof name, "%%b%d", i);
        dync__ptx_reg(&t->p, "b64", name);
        dync__ptx_line(&t->p, "ld.param.b64 %s, [p%d]", name, i);
        if (!t->p.host || !t->p.host[i])
            dync__ptx_line(&t->p, "cvta.to.global.u64 %s, %s", name, name);
    }
    for (int i = 0; i < 2; i++) dync__cuda_tile_special(t, specials[i][0], specials[i][1]);
    dync__cuda_tile_set(t, "b32", "%lane", "and", "%%thr, 31");
    dync__cuda_tile_set(t, "u32", "%warp", "shr", "%%thr, 5");
}

DYNC__FN void dync__cuda_tile_begin(dync__cuda_tile *t, int n_buffers)
{
    memset(t, 0, sizeof *t);
    t->n_buffers = n_buffers;
    t->target = "sm_80";
    dync__cuda_tile_open(t);
}

DYNC__FN bool dync__cuda_tile_begin_kernel(dync__cuda_tile *t, dync__arena *arena,
                                           const dync__kernel *k, const bool *host, int64_t columns,
                                           bool scalar)
{
    memset(t, 0, sizeof *t);
    t->n_buffers = k->buf.n;
    t->target = "sm_80";
    if (!dync__ptx_piece_begin(&t->p, arena, k, host, columns, scalar))
        return dync__fail_memory(0), false;
    dync__cuda_tile_open(t);
    return true;
}

DYNC__FN void dync__cuda_tile_piece(dync__cuda_tile *t, const char *linear, int given,
                                    char value[][24])
{
    dync__ptx_piece(&t->p, linear, given, value);
}

DYNC__FN void dync__cuda_tile_next(dync__cuda_tile *t)
{
    for (int i = 0; t->p.k && i < t->p.k->inst.n; i++) t->p.where[i] = -1;
    t->p.address.n = t->p.block = 0;
    t->p.regs.n = t->p.body.n = 0;
    t->p.n_temps = t->p.n_labels = t->p.shared_bytes = t->shared = 0;
    dync__cuda_tile_open(t);
}

DYNC__FN void dync__cuda_tile_entry(dync__cuda_tile *t, const char *name, int64_t gx, int64_t gy,
                                    int64_t gz, int threads)
{
    dync__str *s = &t->out.text;
    dync__ptx_launch *l = &t->out.launch[t->out.n_launches];
    if (t->out.n_launches == 0) {
        dync__str_addf(s, "// %s\n", name);
        dync__ptx_header(s, t->target);
    }
    if (t->shared && !strstr(dync__str_get(s), ".extern"))
        dync__str_add(s, ".extern .shared .align 1024 .b8 dync_shared[];\n");
    if (t->out.n_launches++ == 0)
        dync__format(l->entry, sizeof l->entry, "dync_%s", name);
    else
        dync__format(l->entry, sizeof l->entry, "dync_%s_%d", name, t->out.n_launches);
    l->grid[0] = gx;
    l->grid[1] = gy;
    l->grid[2] = gz;
    l->block = threads;
    l->shared_bytes = t->shared;
    dync__str_addf(s, "\n.visible .entry %s(", l->entry);
    l->steps = t->steps;
    for (int i = 0; i <= t->n_buffers + (t->steps > 0); i++)
        dync__str_addf(s, "%s.param .b64 p%d", i ? ", " : "", i);
    for (int i = 0; i < t->out.n_maps; i++) dync__str_addf(s, ", .param .align 64 .b8 m%d[128]", i);
    dync__str_addf(s, ")\n.maxntid %d, 1, 1\n%s{\n", threads, t->directives ? t->directives : "");
    if (t->p.shared_bytes)
        dync__str_addf(s, "    .shared .align 16 .b8 smem[%d];\n", t->p.shared_bytes);
    if (t->shared) dync__str_add(s, "    .reg .b32 %smem;\n");
    dync__str_add(s, dync__str_get(&t->p.regs));
    if (t->shared) dync__str_add(s, "    mov.u32 %smem, dync_shared;\n");
    dync__str_add(s, dync__str_get(&t->p.body));
    dync__str_add(s, "    ret;\n}\n");
    t->p.failed |= t->p.regs.failed || t->p.body.failed || s->failed;
}

DYNC__FN bool dync__cuda_tile_end(dync__cuda_tile *t, dync__cuda_code *code, const int32_t *buf)
{
    dync__str_free(&t->p.regs);
    dync__str_free(&t->p.body);
    if (!t->p.failed) return dync__cuda_add_text(code, &t->out, t->n_buffers, buf);
    dync__str_free(&t->out.text);
    return dync__fail_memory(0), false;
}

DYNC__FN void dync__cuda_tile_scratch(dync__cuda_tile *t)
{
    dync__ptx_reg(&t->p, "b64", "%scratch");
    dync__ptx_line(&t->p, "ld.param.b64 %%scratch, [p%d]", t->n_buffers);
    dync__ptx_line(&t->p, "cvta.to.global.u64 %%scratch, %%scratch");
}

DYNC__FN int dync__cuda_tile_shared(dync__cuda_tile *t, int bytes, int align)
{
    int at = (t->shared + align - 1) / align * align;
    t->shared = at + bytes;
    return at;
}

DYNC__FN void dync__cuda_tile_regs(dync__cuda_tile *t, const char *type, const char *prefix, int n)
{
    dync__str_addf(&t->p.regs, "    .reg .%s %s<%d>;\n", type, prefix, n);
}

DYNC__FN void dync__cuda_tile_special(dync__cuda_tile *t, const char *name, const char *special)
{
    dync__ptx_reg(&t->p, "u32", name);
    dync__ptx_line(&t->p, "mov.u32 %s, %s", name, special);
}

DYNC__FN void dync__cuda_tile_set(dync__cuda_tile *t, const char *type, const char *name,
                                  const char *op, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    dync__ptx_reg(&t->p, type, name);
    dync__str_addf(&t->p.body, "    %s.%s %s, ", op, type, name);
    dync__str_addv(&t->p.body, fmt, args);
    dync__str_add(&t->p.body, ";\n");
    va_end(args);
}

DYNC__FN void dync__cuda_tile_label(dync__cuda_tile *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    dync__str_addv(&t->p.body, fmt, args);
    dync__str_add(&t->p.body, ":\n");
    va_end(args);
}

DYNC__FN void dync__cuda_tile_note(dync__cuda_tile *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    dync__str_add(&t->p.body, "    // ");
    dync__str_addv(&t->p.body, fmt, args);
    dync__str_add(&t->p.body, "\n");
    va_end(args);
}

DYNC__FN void dync__cuda_tile_wide(dync__cuda_tile *t, const char *name, const char *from)
{
    dync__ptx_reg(&t->p, "b64", name);
    if (from) dync__ptx_line(&t->p, "mov.b64 %s, %s", name, from);
}

DYNC__FN void dync__cuda_tile_address(dync__cuda_tile *t, const char *at, const dync__operand *o,
                                      const int64_t *walked, int skip, const char *linear)
{
    char rest[40];
    int64_t bytes = dync__dtype_info(o->dtype)->bytes;
    dync__ptx_line(&t->p, "add.s64 %s, %s, %lld", at, at, (long long)(o->lay.offset * bytes));
    dync__format(rest, sizeof rest, "%s", linear);
    for (int d = o->lay.ndim - 1; d >= 0; d--) {
        if (d == skip) continue;
        const char *next = dync__ptx_temp(&t->p, "b64"), *here = dync__ptx_temp(&t->p, "b64");
        dync__ptx_line(&t->p, "div.u64 %s, %s, %lld", next, rest,
                       (long long)DYNC__MAX(walked[d], 1));
        dync__ptx_line(&t->p, "rem.u64 %s, %s, %lld", here, rest,
                       (long long)DYNC__MAX(walked[d], 1));
        dync__ptx_line(&t->p, "mad.lo.s64 %s, %s, %lld, %s", at, here,
                       (long long)(o->lay.stride[d] * bytes), at);
        dync__format(rest, sizeof rest, "%s", next);
    }
}

DYNC__FN void dync__cuda_tile_load(dync__cuda_tile *t, int dtype, const char *value, const char *at,
                                   const char *guard)
{
    const char *raw = dync__ptx_is_plain(dtype) ? value
                                                : dync__ptx_temp(&t->p, dync__ptx_raw_type(dtype));
    dync__ptx_unloaded(&t->p, guard, dync__ptx_raw_type(dtype), raw);
    dync__ptx_line(&t->p, "%sld.global.%s %s, [%s]", guard, dync__ptx_memory_type(dtype), raw, at);
    if (raw != value) dync__ptx_widen(&t->p, dtype, value, raw);
}

DYNC__FN void dync__cuda_tile_store(dync__cuda_tile *t, int dtype, const char *at,
                                    const char *value, const char *guard)
{
    const char *raw = dync__ptx_is_plain(dtype) ? value
                                                : dync__ptx_temp(&t->p, dync__ptx_raw_type(dtype));
    if (raw != value) dync__ptx_narrow(&t->p, dtype, raw, value);
    dync__ptx_line(&t->p, "%sst.global.%s [%s], %s", guard, dync__ptx_memory_type(dtype), at, raw);
}

/* ---- wgmma ----------------------------------------------------------------------------------- */

/* A shared address has the block's rank in its cluster above bit 24; a descriptor takes 18 bits. */
DYNC__FN void dync__cuda_tile_descriptor(dync__cuda_tile *t, const char *to, const char *base,
                                         int lead)
{
    uint64_t fixed = (uint64_t)1 << 62 | (uint64_t)(1024 >> 4) << 32 | (uint64_t)(lead >> 4) << 16;
    const char *low = dync__ptx_temp(&t->p, "b32");
    dync__ptx_line(&t->p, "bfe.u32 %s, %s, 4, 14", low, base);
    dync__ptx_line(&t->p, "cvt.u64.u32 %s, %s", to, low);
    dync__ptx_line(&t->p, "or.b64 %s, %s, %llu", to, to, (unsigned long long)fixed);
}

/* ---- cp.async -------------------------------------------------------------------------------- */

DYNC__FN void dync__cuda_tile_cp(dync__cuda_tile *t, int bytes, const char *to, int to_at,
                                 const char *from, int64_t from_at, const char *size)
{
    dync__ptx_line(&t->p, "cp.async.%s.shared.global [%s+%d], [%s+%lld], %d%s%s",
                   bytes == 16 ? "cg" : "ca", to, to_at, from, (long long)from_at, bytes,
                   size ? ", " : "", size ? size : "");
}
DYNC__FN void dync__cuda_tile_commit(dync__cuda_tile *t)
{
    dync__ptx_line(&t->p, "cp.async.commit_group");
}
DYNC__FN void dync__cuda_tile_wait(dync__cuda_tile *t, int n)
{
    dync__ptx_line(&t->p, "cp.async.wait_group %d", n);
}
DYNC__FN void dync__cuda_tile_barrier(dync__cuda_tile *t) { dync__ptx_line(&t->p, "bar.sync 0"); }

/* Thread i takes chunk i % 8 of rows i / 8, i / 8 + threads / 8, ...: the same place of the swizzle
 * in each, as these are multiples of 8 apart. */
DYNC__FN void dync__cuda_tile_rows_begin(dync__cuda_tile *t, dync__cuda_tile_rows *r,
                                         const char *base, const char *rows_left)
{
    dync__ptx *p = &t->p;
    char g[40], s[40], n[40], ok[48], row[40];
    dync__format(row, sizeof row, "%s_r", r->name);
    dync__ptx_reg(p, "b32", row);
    const char *chunk = dync__ptx_temp(p, "b32"), *x = dync__ptx_temp(p, "b32");
    dync__format(g, sizeof g, "%s_g", r->name);
    dync__format(s, sizeof s, "%s_s", r->name);
    dync__format(n, sizeof n, "%s_n", r->name);
    dync__ptx_reg(p, "b64", g);
    dync__ptx_reg(p, "b32", s);
    dync__ptx_reg(p, "b32", n);
    dync__ptx_line(p, "shr.u32 %s, %%thr, 3", row);
    dync__ptx_line(p, "and.b32 %s, %%thr, 7", chunk);
    const char *wide = dync__ptx_temp(p, "b64");
    dync__ptx_line(p, "cvt.u64.u32 %s, %s", wide, row);
    dync__ptx_line(p, "mad.lo.s64 %s, %s, %lld, %s", g, wide, (long long)r->row_bytes, base);
    dync__ptx_line(p, "mad.wide.u32 %s, %s, 16, %s", g, chunk, g);
    dync__ptx_line(p, "and.b32 %s, %s, 7", x, row);
    dync__ptx_line(p, "xor.b32 %s, %s, %s", x, x, chunk);
    dync__ptx_line(p, "mul.lo.u32 %s, %s, 128", s, row);
    dync__ptx_line(p, "mad.lo.u32 %s, %s, 16, %s", s, x, s);
    dync__ptx_line(p, "mov.u32 %s, 16", n);
    r->ragged = rows_left != NULL;
    for (int i = 0; rows_left && i < r->rows * 8 / r->threads; i++) {
        const char *at = dync__ptx_temp(p, "s32");
        dync__format(ok, sizeof ok, "%s_ok%d", r->name, i);
        dync__ptx_reg(p, "pred", ok);
        dync__ptx_line(p, "add.s32 %s, %s, %d", at, row, i * r->threads / 8);
        dync__ptx_line(p, "setp.lt.s32 %s, %s, %s", ok, at, rows_left);
    }
}

DYNC__FN void dync__cuda_tile_rows_copy(dync__cuda_tile *t, const dync__cuda_tile_rows *r,
                                        const char *to, int at, const char *bytes_left)
{
    dync__ptx *p = &t->p;
    char g[40], here[24];
    dync__format(g, sizeof g, "%s_g", r->name);
    dync__format(here, sizeof here, "%s", dync__ptx_temp(p, "b32"));
    dync__ptx_line(p, "add.u32 %s, %s, %s_s", here, to, r->name);
    /* max(min(bytes_left - 16 chunk, 16), 0) */
    if (bytes_left) {
        const char *chunk = dync__ptx_temp(p, "s32");
        dync__ptx_line(p, "and.b32 %s, %%thr, 7", chunk);
        dync__ptx_line(p, "mul.lo.s32 %s, %s, -16", chunk, chunk);
        dync__ptx_line(p, "add.s32 %s, %s, %s", chunk, chunk, bytes_left);
        dync__ptx_line(p, "min.s32 %s, %s, 16", chunk, chunk);
        dync__ptx_line(p, "max.s32 %s_n, %s, 0", r->name, chunk);
    }
    for (int i = 0; i < r->rows * 8 / r->threads; i++) {
        char size[40] = "";
        if (r->rows_now) {
            const char *left = dync__ptx_temp(p, "b32"), *is = dync__ptx_temp(p, "pred");
            dync__ptx_line(p, "sub.s32 %s, %s, %d", left, r->rows_now, i * r->threads / 8);
            dync__ptx_line(p, "setp.lt.s32 %s, %s_r, %s", is, r->name, left);
            dync__format(size, sizeof size, "%s", dync__ptx_temp(p, "b32"));
            dync__ptx_line(p, "selp.b32 %s, %s_n, 0, %s", size, r->name, is);
        } else if (r->ragged) {
            dync__format(size, sizeof size, "%s", dync__ptx_temp(p, "b32"));
            dync__ptx_line(p, "selp.b32 %s, %s_n, 0, %s_ok%d", size, r->name, r->name, i);
        } else if (bytes_left) {
            dync__format(size, sizeof size, "%s_n", r->name);
        }
        dync__cuda_tile_cp(t, 16, here, at + i * r->threads * 16, g,
                           i * (r->threads / 8) * r->row_bytes, size[0] ? size : NULL);
    }
}

DYNC__FN void dync__cuda_tile_rows_move(dync__cuda_tile *t, const dync__cuda_tile_rows *r,
                                        int64_t bytes)
{
    dync__ptx_line(&t->p, "add.s64 %s_g, %s_g, %lld", r->name, r->name, (long long)bytes);
}

/* ---- fragments ------------------------------------------------------------------------------- */

DYNC__FN const dync__cuda_tile_kind *dync__cuda_tile_kind_of(int kind)
{
    static const dync__cuda_tile_kind kinds[] = {{"m16n8k16", "bf16", "f32", 2, 16},
                                                 {"m16n8k16", "f16", "f32", 2, 16},
                                                 {"m16n8k8", "tf32", "f32", 4, 8},
                                                 {"m16n8k32", "s8", "s32", 1, 32},
                                                 {"m16n8k32", "u8", "s32", 1, 32}};
    return &kinds[kind];
}

/* The pair i differs from pair 0 in bits of the chunk only: an exclusive or. */
DYNC__FN void dync__cuda_tile_matrix(dync__cuda_tile *t, const char *name, int n, int order,
                                     const char *row0)
{
    dync__ptx *p = &t->p;
    const char *row = dync__ptx_temp(p, "b32"), *chunk = dync__ptx_temp(p, "b32"),
               *x = dync__ptx_temp(p, "b32");
    dync__cuda_tile_regs(t, "b32", name, n);
    if (order == 0) {
        dync__ptx_line(p, "and.b32 %s, %%lane, 15", row);
        dync__ptx_line(p, "shr.u32 %s, %%lane, 4", chunk);
    } else {
        dync__ptx_line(p, "shr.u32 %s, %%lane, 4", row);
        dync__ptx_line(p, "and.b32 %s, %%lane, 7", chunk);
        dync__ptx_line(p, "mad.lo.u32 %s, %s, 8, %s", row, row, chunk);
        dync__ptx_line(p, "bfe.u32 %s, %%lane, 3, 1", chunk);
    }
    dync__ptx_line(p, "and.b32 %s, %s, 7", x, row);
    dync__ptx_line(p, "xor.b32 %s, %s, %s", chunk, chunk, x);
    if (row0) dync__ptx_line(p, "add.u32 %s, %s, %s", row, row, row0);
    dync__ptx_line(p, "mul.lo.u32 %s0, %s, 128", name, row);
    dync__ptx_line(p, "mad.lo.u32 %s0, %s, 16, %s0", name, chunk, name);
    for (int i = 1; i < n; i++) dync__ptx_line(p, "xor.b32 %s%d, %s0, %d", name, i, name, i * 32);
}

DYNC__FN void dync__cuda_tile_ldmatrix(dync__cuda_tile *t, bool trans, const char *reg, int first,
                                       const char *address, int at)
{
    dync__ptx_line(&t->p,
                   "ldmatrix.sync.aligned.m8n8.x4%s.shared.b16 {%s%d, %s%d, %s%d, %s%d}, [%s+%d]",
                   trans ? ".trans" : "", reg, first, reg, first + 1, reg, first + 2, reg,
                   first + 3, address, at);
}

DYNC__FN void dync__cuda_tile_mma(dync__cuda_tile *t, int kind, const char *acc, int c,
                                  const char *a, int ia, const char *b, int ib)
{
    const dync__cuda_tile_kind *k = dync__cuda_tile_kind_of(kind);
    char d[120];
    dync__format(d, sizeof d, "{%s%d, %s%d, %s%d, %s%d}", acc, c, acc, c + 1, acc, c + 2, acc,
                 c + 3);
    dync__ptx_line(
        &t->p,
        "mma.sync.aligned.%s.row.col.%s.%s.%s.%s %s, {%s%d, %s%d, %s%d, %s%d}, {%s%d, %s%d}, %s",
        k->shape, k->acc, k->in, k->in, k->acc, d, a, ia, a, ia + 1, a, ia + 2, a, ia + 3, b, ib, b,
        ib + 1, d);
}

/* ==== cuda/gemm_pre.c ============================================================================== */
/* cuda/gemm_pre.c: what is done to a side of a product on its way into shared memory (casts,
 * scales, activations, masks ...), in the place of a launch before it. Before gemm_load.c and
 * gemm_gather.c.
 *
 * The kernel that would have made the side stores every element of its memory once. Its loops are
 * put in the order of that memory, so that an element's place in memory is the linear index of its
 * piece: whatever walks the side by offset, line, step and batches, or gathers it, walks that
 * index, in elements in the place of bytes. A chunk is what one thread stores at a time. In a
 * iteration of the ring its loads are issued before the multiplications of the stage that is ready
 * (raw bits in registers), and made values, rounded to the side's dtype and stored behind them.
 * Elements that do not exist are loaded from the block's first and are zeros. Every tile of the
 * other side does it again: dync__gm_pre_worth says when that is less than a launch and two trips
 * through memory. */

/* ---- the kernel ------------------------------------------------------------------------------ */

static int dync__gmp_store(const dync__kernel *k)
{
    for (int i = 0; i < k->inst.n; i++)
        if (k->inst.at[i].prim == DYNC__P_store) return i;
    return -1;
}

/* Its loops by stride of the store, the greatest first; false: it does not fill memory from
 * `offset` on. */
static bool dync__gmp_order(const dync__kernel *k, const dync__access *to, int *order, int *n,
                            int64_t *all)
{
    *n = 0;
    *all = 1;
    for (int d = 0; d < k->n_dims; d++) {
        int at = *n;
        if (k->extent[d] == 1) continue;
        for (; at > 0 && to->stride[order[at - 1]] < to->stride[d]; at--) order[at] = order[at - 1];
        order[at] = d;
        ++*n;
    }
    for (int i = *n - 1; i >= 0; i--) {
        if (to->stride[order[i]] != *all) return false;
        *all *= k->extent[order[i]];
    }
    return *n > 0;
}

static bool dync__gmp_lies_within(const dync__layout *lay, int64_t from, int64_t all)
{
    int64_t last = lay->offset - from;
    if (last < 0) return false;
    for (int d = 0; d < lay->ndim; d++) {
        if (lay->stride[d] < 0) return false;
        last += (lay->shape[d] - 1) * lay->stride[d];
    }
    return last < all;
}

DYNC__FN dync__gm_pre *dync__gm_pre_open(dync__arena *arena, const dync__operand *o,
                                         const dync__kernel *k, int first)
{
    int store = dync__gmp_store(k), order[DYNC__LOOP_MAX_DIMS], n;
    int64_t all, extent[DYNC__LOOP_MAX_DIMS], stride[DYNC__LOOP_MAX_DIMS] = {0};
    const dync__access *to = &k->access.at[k->inst.at[store].access];
    bool known = o->dtype == DYNC_F32 || o->dtype == DYNC_F64 || o->dtype == DYNC_F16 ||
                 o->dtype == DYNC_BF16 || o->dtype == DYNC_I8 || o->dtype == DYNC_U8;
    if (!known || !dync__gmp_order(k, to, order, &n, &all) ||
        !dync__gmp_lies_within(&o->lay, to->offset, all))
        return NULL;
    for (int d = 0; d < n; d++) extent[d] = k->extent[order[d]];
    dync__gm_pre *pre = dync__arena_alloc(arena, sizeof *pre);
    dync__kernel *own = pre ? dync__kernel_new(arena, "prologue", 0, n, extent) : NULL;
    if (!own) return NULL;
    for (int i = 0; i < k->inst.n; i++) {
        dync__inst in = k->inst.at[i];
        in.section = 1;
        in.origin = in.origin ? dync__arena_strdup(arena, in.origin) : NULL;
        if (in.access >= 0) {
            const dync__access *a = &k->access.at[in.access];
            for (int d = 0; d < n; d++) stride[d] = a->stride[order[d]];
            in.access = dync__kernel_access(own, a->offset, stride);
        }
        if (!dync__avec_push(arena, &own->inst, in)) return NULL;
    }
    for (int i = 0; i < k->buf.n; i++) {
        dync__buf b = k->buf.at[i];
        b.name = b.name ? dync__arena_strdup(arena, b.name) : NULL;
        if (!dync__avec_push(arena, &own->buf, b)) return NULL;
    }
    dync__kernel_collapse(own);
    *pre = (dync__gm_pre){.k = own, .first = first, .store = store, .offset = to->offset};
    return own->failed ? NULL : pre;
}

DYNC__FN bool dync__gm_pre_set(dync__gm_side *side, dync__gm_pre *pre)
{
    side->pre = pre;
    if (pre) side->offset -= pre->offset;
    return pre != NULL;
}

/* Its buffers among those of the end. */
DYNC__FN bool dync__gm_pre_close(dync__gm *g, int s)
{
    dync__gm_pre *pre = g->side[s].pre;
    dync__kernel *e = (dync__kernel *)(uintptr_t)g->end;
    for (int i = 0; i < pre->k->inst.n; i++) {
        dync__inst *in = &pre->k->inst.at[i];
        const dync__buf *b = in->buf >= 0 ? &pre->k->buf.at[in->buf] : NULL;
        if (b && i == pre->store)
            in->buf = g->side[s].buf;
        else if (b)
            in->buf =
                dync__kernel_buf(e, pre->first + in->buf, b->dtype, DYNC__BUF_IN, -1, b->name);
    }
    return !e->failed;
}

/* Registers that the loads of n elements take; operations of an element; bytes that it is made
 * of. */
static int dync__gmp_words(const dync__gm_pre *pre, int n)
{
    const dync__kernel *k = pre->k;
    int words = 0;
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (in->prim != DYNC__P_load) continue;
        int64_t stride = k->access.at[in->access].stride[k->n_dims - 1];
        int bytes = dync__dtype_info(k->buf.at[in->buf].dtype)->bytes;
        words += stride == 0   ? 1
                 : stride == 1 ? DYNC__MAX(n * bytes / 4, 1)
                               : n * DYNC__MAX(bytes / 4, 1);
    }
    return words;
}
static double dync__gmp_work(const dync__gm_pre *pre, double *bytes)
{
    double work = 1.5;
    *bytes = 0;
    for (int i = 0; i < pre->k->inst.n; i++) {
        const dync__inst *in = &pre->k->inst.at[i];
        bool varies = in->prim == DYNC__P_load &&
                      pre->k->access.at[in->access].stride[pre->k->n_dims - 1] != 0;
        if (in->prim != DYNC__P_load && in->prim != DYNC__P_store) work += dync__cost_inst(in);
        if (varies) work += 0.5;
        if (varies) *bytes += dync__dtype_info(pre->k->buf.at[in->buf].dtype)->bytes;
    }
    return work;
}

/* ---- what it costs --------------------------------------------------------------------------- */

DYNC__FN int dync__gm_pre_words(const dync__gm *g, const dync__gm_tile *t)
{
    int words = 0, bytes = g->kind >= 0 ? dync__cuda_tile_kind_of(g->kind)->bytes
                                        : dync__dtype_info(g->compute)->bytes;
    for (int s = 0; s < 2 && g->kind >= 0; s++)
        if (g->side[s].pre)
            words += dync__gmp_words(g->side[s].pre, 16 / bytes) *
                     ((s ? t->n : t->m) * 8 / t->threads);
    return words;
}

/* Clocks of a multiprocessor for so many elements. */
DYNC__FN double dync__gm_pre_clocks(const dync__gm_pre *pre, double elements)
{
    double bytes;
    return elements * dync__gmp_work(pre, &bytes) / DYNC__GMP_LANES;
}

DYNC__FN double dync__gm_pre_cost(const dync__gm *g, const dync__gm_tile *t, int64_t chunk)
{
    double cost = 0;
    for (int s = 0; s < 2; s++)
        if (g->side[s].pre)
            cost += dync__gm_pre_clocks(g->side[s].pre, (double)(s ? t->n : t->m) * (double)chunk);
    return cost;
}

/* Is a product with it cheaper than `apart`, the clocks of one without, and what else that takes?
 * elements: of the side, of this dtype. */
DYNC__FN bool dync__gm_pre_worth(const dync__gm_pre *pre, int dtype, double with, double apart,
                                 double elements)
{
    double bytes;
    (void)dync__gmp_work(pre, &bytes);
    double trips = elements * (bytes + 2.0 * dync__dtype_info(dtype)->bytes) / DYNC__GM_BYTES;
    return dync__gmp_words(pre, 16 / dync__dtype_info(dtype)->bytes) <= DYNC__GMP_WORDS &&
           with < apart + DYNC__GMP_LAUNCH + trips;
}

/* ==== cuda/gemm_pre_text.c ========================================================================= */
/* cuda/gemm_pre_text.c: the text of what stands before a product, its chunks in shared memory and
 * rows for tensor cores. Before: gemm_pre.c. */

/* ---- text ------------------------------------------------------------------------------------ */

static int64_t dync__gmp_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Neighbours that begin at multiples of a number, and are as many: that number. */
static int64_t dync__gmp_run(const dync__gm *g, int s)
{
    const dync__gm_side *side = &g->side[s];
    bool across = side->how == DYNC__GM_ACROSS;
    if (side->gather)
        return side->how == DYNC__GM_PIECES || g->kind < 0 ? 1
                                                           : 16 / dync__dtype_info(g->dtype)->bytes;
    if (side->how == DYNC__GM_PIECES || (across ? side->line : side->step) != 1 ||
        (g->thin && s == 0 && g->side[1].how == DYNC__GM_ACROSS))
        return 1;
    int64_t lines = s ? g->n : g->m, run = dync__gmp_divisor(across ? lines : g->k, side->offset);
    if ((across ? g->k : lines) > 1) run = dync__gmp_divisor(run, across ? side->step : side->line);
    for (int d = 0; d < g->n_batch; d++)
        if (g->batch[d] > 1) run = dync__gmp_divisor(run, side->batch[d]);
    return run;
}

DYNC__FN bool dync__gm_pre_begin(dync__gm *g, int s)
{
    dync__gm_pre *pre = g->side[s].pre;
    int64_t run = dync__gmp_run(g, s);
    int per = 16 / (g->kind >= 0 || g->thin ? dync__dtype_info(g->dtype)->bytes
                                            : dync__dtype_info(g->compute)->bytes),
        most = 1;
    /* as many neighbours as a chunk has, at most */
    while (most < per && run % (2 * most) == 0) most *= 2;
    memset(&pre->p, 0, sizeof pre->p);
    pre->p.most = most;
    pre->k->buf.at = g->end->buf.at; /* the same buffers */
    pre->k->buf.n = g->end->buf.n;
    if (!dync__ptx_piece_begin(&pre->p, g->arena, pre->k, g->host, most, g->scalar || most == 1))
        return dync__fail_memory(0), false;
    pre->p.taken = pre->store + 1;
    return true;
}

/* The text goes on with the registers of the other kernel. */
static dync__ptx *dync__gmp_to(dync__ptx *to, dync__ptx *from)
{
    to->body = from->body;
    to->regs = from->regs;
    to->n_temps = from->n_temps;
    to->n_labels = from->n_labels;
    to->block = from->block;
    to->failed |= from->failed;
    return to;
}

DYNC__FN void dync__gm_pre_index(dync__gm *g, int s, const char *name, const char *from)
{
    const char *index = g->side[s].pre->p.index;
    dync__ptx_reg(&g->t.p, index, name);
    dync__ptx_line(&g->t.p, index[1] == '3' ? "cvt.u32.u64 %s, %s" : "mov.b64 %s, %s", name, from);
}

DYNC__FN void dync__gm_pre_group(dync__gm *g, int s, int number, const char *at, int64_t by,
                                 const char *is)
{
    dync__gm_pre *pre = g->side[s].pre;
    dync__ptx *p = &g->t.p;
    char linear[40];
    if (number >= DYNC__GM_PRE_GROUPS) {
        p->failed = true;
        return;
    }
    dync__format(linear, sizeof linear, "%s", dync__ptx_temp(p, pre->p.index));
    dync__ptx_line(p, "add.%s %s, %s, %lld", pre->p.index, linear, at, (long long)by);
    if (is) dync__ptx_line(p, "selp.%s %s, %s, %%first%d, %s", pre->p.index, linear, linear, s, is);
    dync__format(pre->is[number], sizeof pre->is[number], "%s", is ? is : "");
    pre->block[number] = dync__ptx_piece_load(dync__gmp_to(&pre->p, p), linear);
    (void)dync__gmp_to(p, &pre->p);
}

DYNC__FN int dync__gm_pre_values(dync__gm *g, int s, int number, char value[][40])
{
    dync__gm_pre *pre = g->side[s].pre;
    dync__ptx *p = dync__gmp_to(&pre->p, &g->t.p);
    const char *bits = dync__ptx_bits(pre->k->inst.at[pre->k->inst.at[pre->store].arg[0]].type);
    dync__ptx_piece_value(p, pre->block[number], value);
    for (int v = 0; v < p->vec && pre->is[number][0]; v++) {
        const char *kept = dync__ptx_temp(p, bits);
        dync__ptx_line(p, "selp.%s %s, %s, 0, %s", bits, kept, value[v], pre->is[number]);
        dync__format(value[v], sizeof value[v], "%s", kept);
    }
    (void)dync__gmp_to(&g->t.p, p);
    return p->vec;
}

/* Values of 32 bits as words of memory: elements of `dtype`, n of them. */
DYNC__FN void dync__gm_pre_pack(dync__gm *g, int dtype, int n, char value[][40], char word[][40])
{
    dync__ptx *p = &g->t.p;
    int bytes = dync__dtype_info(dtype)->bytes, per = DYNC__MAX(4 / bytes, 1);
    for (int i = 0; i < n; i += per) {
        char *to = word[i / per];
        if (per == 1) {
            dync__format(to, 40, "%s", value[i]);
            continue;
        }
        dync__format(to, 40, "%s", dync__ptx_temp(p, "b32"));
        if (per == 2) {
            dync__ptx_line(p, "cvt.rn.%s.f32 %s, %s, %s", dtype == DYNC_F16 ? "f16x2" : "bf16x2",
                           to, value[i + 1], value[i]);
            continue;
        }
        dync__ptx_line(p, "and.b32 %s, %s, 255", to, value[i]);
        for (int e = 1; e < 4; e++)
            dync__ptx_line(p, "bfi.b32 %s, %s, %s, %d, 8", to, value[i + e], to, 8 * e);
    }
}

/* ---- chunks into shared memory --------------------------------------------------------------- */

/* An iteration's loads begin: chunks of n elements, stored from register `to` on. */
DYNC__FN void dync__gm_pre_transpose(dync__gm *g, int s, int n, const char *to)
{
    dync__gm_pre *pre = g->side[s].pre;
    pre->chunks = 0;
    pre->per = n;
    dync__format(pre->to, sizeof pre->to, "%s", to);
}

/* n elements from `at` (a register of the piece's index) + by on, `near` apart, to `place` behind
 * `to`. is: a predicate, there is such a row; NULL: yes. left: register, how many elements there
 * are from inner + inner_by on; NULL: enough. */
DYNC__FN void dync__gm_pre_chunk(dync__gm *g, int s, const char *at, int64_t by, int64_t near,
                                 int place, const char *is, const char *inner, int inner_by,
                                 const char *left)
{
    dync__gm_pre *pre = g->side[s].pre;
    dync__ptx *p = &g->t.p;
    char there[40] = "", row[40], from[40];
    int vec = pre->p.shape.vec;
    dync__format(row, sizeof row, "%s", is ? is : "");
    dync__format(from, sizeof from, "%s", at);
    if (pre->chunks >= DYNC__GM_PRE_CHUNKS) {
        p->failed = true;
        return;
    }
    for (int q = 0; q < pre->per; q += vec) {
        dync__format(there, sizeof there, "%s", row);
        if (left) {
            const char *here = dync__ptx_temp(p, "s32");
            dync__format(there, sizeof there, "%s", dync__ptx_temp(p, "pred"));
            dync__ptx_line(p, "sub.s32 %s, %s, %d", here, left, inner_by + q);
            if (row[0])
                dync__ptx_line(p, "setp.lt.and.s32 %s, %s, %s, %s", there, inner, here, row);
            else
                dync__ptx_line(p, "setp.lt.s32 %s, %s, %s", there, inner, here);
        }
        dync__gm_pre_group(g, s, (pre->chunks * pre->per + q) / vec, from, by + q * near,
                           there[0] ? there : NULL);
    }
    pre->place[pre->chunks++] = place;
}

/* What the iteration's chunks are, to where they belong. */
DYNC__FN void dync__gm_pre_finish(dync__gm *g)
{
    char value[16][40], word[16][40], list[200];
    int dtype = g->kind >= 0 ? g->dtype : g->compute;
    for (int s = 0; s < 2; s++) {
        dync__gm_pre *pre = g->side[s].pre;
        if (!pre) continue;
        dync__cuda_tile_note(&g->t, "%s: what was loaded, made and stored", s ? "b" : "a");
        for (int c = 0; c < pre->chunks; c++) {
            for (int q = 0; q < pre->per; q += pre->p.shape.vec)
                (void)dync__gm_pre_values(g, s, (c * pre->per + q) / pre->p.shape.vec, &value[q]);
            /* f16 values on CUDA cores: as they would have been in memory */
            if (g->kind < 0 && g->dtype != g->compute)
                for (int q = 0; q < pre->per; q++) dync__gm_pre_round(g, value[q]);
            int bytes = dync__dtype_info(dtype)->bytes,
                n = DYNC__MAX(pre->per * DYNC__MIN(bytes, 4) / 4, 1);
            dync__gm_pre_pack(g, dtype, pre->per, value, word);
            int at = dync__format(list, sizeof list, "%s%s", n > 1 ? "{" : "", word[0]);
            for (int w = 1; w < n; w++)
                at += dync__format(list + at, sizeof list - (size_t)at, ", %s", word[w]);
            dync__ptx_line(&g->t.p, "st.shared.%sb%d [%s+%d], %s%s",
                           n == 4   ? "v4."
                           : n == 2 ? "v2."
                                    : "",
                           bytes == 8 ? 64 : 32, pre->to, pre->place[c], list, n > 1 ? "}" : "");
        }
    }
}

/* value: rounded to the side's half dtype, in f32. */
DYNC__FN void dync__gm_pre_round(dync__gm *g, char value[40])
{
    dync__ptx *p = &g->t.p;
    const char *half = dync__ptx_temp(p, "b16"), *wide = dync__ptx_temp(p, "f32");
    char to[40];
    dync__format(to, sizeof to, "%s", wide);
    dync__ptx_narrow(p, g->dtype, half, value);
    dync__ptx_widen(p, g->dtype, to, half);
    dync__format(value, 40, "%s", to);
}

/* ---- tensor cores: 16 bytes to a thread, rows of 128 ----------------------------------------- */

DYNC__FN void dync__gm_pre_rows_begin(dync__gm *g, int s)
{
    const dync__gm_side *side = &g->side[s];
    dync__cuda_tile *t = &g->t;
    dync__ptx *p = &t->p;
    bool across = side->how == DYNC__GM_ACROSS;
    int per = 16 / dync__dtype_info(g->dtype)->bytes;
    char row[16], column[16], place[16], at[16];
    dync__format(row, sizeof row, "%%prow%d", s);
    dync__format(column, sizeof column, "%%pcol%d", s);
    dync__format(place, sizeof place, "%%pput%d", s);
    dync__format(at, sizeof at, "%%pat%d", s);
    dync__cuda_tile_set(t, "s32", row, "shr", "%%thr, 3");
    dync__cuda_tile_set(t, "b32", column, "and", "%%thr, 7");
    dync__cuda_tile_set(t, "b32", place, "xor", "%s, %s", row, column);
    dync__ptx_line(p, "and.b32 %s, %s, 7", place, place);
    dync__ptx_line(p, "mad.lo.u32 %s, %s, 8, %s", place, row, place);
    dync__ptx_line(p, "shl.b32 %s, %s, 4", place, place);
    dync__ptx_line(p, "mul.lo.u32 %s, %s, %d", column, column, per);
    const char *sum = dync__ptx_temp(p, "b64"), *wide = dync__ptx_temp(p, "b64");
    dync__ptx_line(p, "cvt.u64.u32 %s, %s", wide, row);
    dync__ptx_line(p, "mad.lo.s64 %s, %s, %lld, %s", sum, wide,
                   (long long)(across ? side->step : side->line), s ? "%B" : "%A");
    dync__ptx_line(p, "cvt.u64.u32 %s, %s", wide, column);
    dync__ptx_line(p, "mad.lo.s64 %s, %s, %lld, %s", sum, wide,
                   (long long)(across ? side->line : side->step), sum);
    dync__gm_pre_index(g, s, at, sum);
}

DYNC__FN void dync__gm_pre_rows(dync__gm *g, int s, int lines)
{
    const dync__gm_side *side = &g->side[s];
    dync__ptx *p = &g->t.p;
    bool across = side->how == DYNC__GM_ACROSS, ragged = (s ? g->n : g->m) % lines != 0,
         ends = g->k % g->depth != 0;
    int bytes = dync__dtype_info(g->dtype)->bytes, by_row = g->tile.threads / 8,
        rows = across ? g->depth : lines, window = 128 / bytes;
    const char *left = s ? "%nleft" : "%mleft",
               *rows_left = across   ? ends ? "%kleft" : NULL
                            : ragged ? left
                                     : NULL,
               *columns_left = across ? ragged ? left : NULL
                               : ends ? "%kleft"
                                      : NULL;
    int64_t row_step = across ? side->step : side->line, near = across ? side->line : side->step;
    char at[16], column[16], is[40] = "", to[40];
    dync__format(at, sizeof at, "%%pat%d", s);
    dync__format(column, sizeof column, "%%pcol%d", s);
    dync__format(to, sizeof to, "%s", dync__ptx_temp(p, "b32"));
    dync__ptx_line(p, "add.u32 %s, %%to, %%pput%d", to, s);
    dync__gm_pre_transpose(g, s, 16 / bytes, to);
    for (int r = 0; r < rows; r += by_row) {
        if (rows_left) {
            const char *here = dync__ptx_temp(p, "s32");
            dync__format(is, sizeof is, "%s", dync__ptx_temp(p, "pred"));
            dync__ptx_line(p, "sub.s32 %s, %s, %d", here, rows_left, r);
            dync__ptx_line(p, "setp.lt.s32 %s, %%prow%d, %s", is, s, here);
        }
        for (int w = 0; w < (across ? lines / window : 1); w++)
            dync__gm_pre_chunk(g, s, at, r * row_step + w * window * near, near,
                               g->side_at[s] + (w * g->depth + r) * 128, is[0] ? is : NULL, column,
                               w * window, columns_left);
    }
    dync__ptx_line(p, "add.%s %s, %s, %lld", side->pre->p.index, at, at,
                   (long long)(g->depth * side->step));
}

/* ==== cuda/gemm_load.c ============================================================================= */
/* cuda/gemm_load.c: where a block of a matrix product works, its tiles on the way into shared
 * memory, the ring of stages. After tile.c. */

static const char *const dync__gm_base[2] = {"%A", "%B"};

/* to = from / by, rest = from % by, by a constant. */
static void dync__gm_divide(dync__gm *g, const char *to, const char *rest, const char *from,
                            int64_t by)
{
    dync__cuda_tile_set(&g->t, "u32", to, "div", "%s, %lld", from, (long long)by);
    dync__cuda_tile_set(&g->t, "u32", rest, "rem", "%s, %lld", from, (long long)by);
}

/* Blocks are numbered tile by tile, then splits, then batches. Tiles go in bands of eight rows of
 * tiles, column by column: blocks that run at the same time share what they read of both sides in
 * the second cache. */
DYNC__FN void dync__gm_place(dync__gm *g)
{
    enum { BAND = 8 };
    dync__cuda_tile *t = &g->t;
    int64_t across = (g->n + g->tile.n - 1) / g->tile.n, down = (g->m + g->tile.m - 1) / g->tile.m;
    dync__cuda_tile_note(t, "tile, split and batch of the block");
    dync__gm_divide(g, "%above", "%tile", "%cta", across * down);
    dync__gm_divide(g, "%batch", "%split", "%above", g->splits);
    dync__gm_divide(g, "%band", "%inband", "%tile", across * BAND);
    dync__cuda_tile_set(t, "u32", "%bandrow", "mul.lo", "%%band, %d", BAND);
    dync__cuda_tile_set(t, "u32", "%bandrows", "sub", "%lld, %%bandrow", (long long)down);
    dync__ptx_line(&t->p, "min.u32 %%bandrows, %%bandrows, %d", BAND);
    dync__cuda_tile_set(t, "u32", "%n0", "div", "%%inband, %%bandrows");
    dync__cuda_tile_set(t, "u32", "%m0", "rem", "%%inband, %%bandrows");
    dync__ptx_line(&t->p, "add.u32 %%m0, %%m0, %%bandrow");
    dync__ptx_line(&t->p, "mul.lo.u32 %%m0, %%m0, %d", g->tile.m);
    dync__ptx_line(&t->p, "mul.lo.u32 %%n0, %%n0, %d", g->tile.n);
    dync__cuda_tile_set(t, "u32", "%k0", "mul.lo", "%%split, %lld", (long long)g->chunk);
    dync__cuda_tile_set(t, "s32", "%klen", "sub", "%lld, %%k0", (long long)g->k);
    dync__ptx_line(&t->p, "min.s32 %%klen, %%klen, %lld", (long long)g->chunk);
    for (int s = 0; s < 2; s++) {
        const dync__gm_side *side = &g->side[s];
        const char *base = dync__gm_base[s], *wide = dync__ptx_temp(&t->p, "b64");
        char rest[24] = "%batch";
        int64_t bytes = dync__gm_unit(g, s);
        if (side->pre)
            dync__cuda_tile_set(t, "s64", base, "mov", "%lld", (long long)side->offset);
        else
            dync__cuda_tile_set(t, "s64", base, "add", "%%b%d, %lld", side->buf,
                                (long long)(side->offset * bytes));
        dync__ptx_line(&t->p, "cvt.u64.u32 %s, %s", wide, s ? "%n0" : "%m0");
        dync__ptx_line(&t->p, "mad.lo.s64 %s, %s, %lld, %s", base, wide,
                       (long long)(side->line * bytes), base);
        dync__ptx_line(&t->p, "cvt.u64.u32 %s, %%k0", wide);
        dync__ptx_line(&t->p, "mad.lo.s64 %s, %s, %lld, %s", base, wide,
                       (long long)(side->step * bytes), base);
        for (int d = g->n_batch - 1; d >= 0; d--) {
            char next[24], here[24];
            dync__format(next, sizeof next, "%%%s%d", s ? "bb" : "ab", d);
            dync__format(here, sizeof here, "%%%s%d", s ? "bi" : "ai", d);
            dync__gm_divide(g, next, here, rest, g->batch[d]);
            if (side->batch[d]) {
                dync__ptx_line(&t->p, "cvt.u64.u32 %s, %s", wide, here);
                dync__ptx_line(&t->p, "mad.lo.s64 %s, %s, %lld, %s", base, wide,
                               (long long)(side->batch[d] * bytes), base);
            }
            dync__format(rest, sizeof rest, "%s", next);
        }
        if (side->pre) dync__gm_pre_index(g, s, s ? "%first1" : "%first0", base);
    }
    dync__cuda_tile_set(t, "s32", "%mleft", "sub", "%lld, %%m0", (long long)g->m);
    dync__cuda_tile_set(t, "s32", "%nleft", "sub", "%lld, %%n0", (long long)g->n);
}

static void dync__gm_next_stage(dync__gm *g, const char *stage)
{
    const char *over = dync__ptx_temp(&g->t.p, "pred");
    int end = g->tile.stages * g->stage_bytes;
    dync__ptx_line(&g->t.p, "add.u32 %s, %s, %d", stage, stage, g->stage_bytes);
    dync__cuda_tile_set(&g->t, "u32", strcmp(stage, "%from") ? "%tofirst" : "%fromfirst", "sub",
                        "%s, %d", stage, end);
    dync__ptx_line(&g->t.p, "setp.ge.u32 %s, %s, %%stages", over, stage);
    dync__ptx_line(&g->t.p, "@%s mov.u32 %s, %s", over, stage,
                   strcmp(stage, "%from") ? "%tofirst" : "%fromfirst");
}

/* One stage is computed on while the others are filled. A stage is filled again one barrier after
 * everyone has read it. Sides with something to be done to them are loaded into registers before
 * the computation, and stored behind it: everyone else meets them a barrier later at the
 * earliest. */
DYNC__FN void dync__gm_pipeline(dync__gm *g, void (*load)(dync__gm *), void (*compute)(dync__gm *))
{
    dync__cuda_tile *t = &g->t;
    int ahead = g->tile.stages - 1;
    bool pre = g->side[0].pre || g->side[1].pre;
    (void)dync__cuda_tile_shared(t, g->tile.stages * g->stage_bytes, 1024);
    dync__cuda_tile_set(t, "u32", "%stages", "add", "%%smem, %d", g->tile.stages * g->stage_bytes);
    dync__cuda_tile_set(t, "u32", "%from", "mov", "%%smem");
    dync__cuda_tile_set(t, "u32", "%to", "mov", "%%smem");
    dync__cuda_tile_set(t, "s32", "%kleft", "mov", "%%klen");
    dync__cuda_tile_set(t, "s32", "%todo", "mov", "%%klen");
    dync__ptx_reg(&t->p, "pred", "%none");
    dync__ptx_reg(&t->p, "pred", "%again");
    /* The same few lines fill the stages at the start and go on in the loop: until `ahead` stages
     * are under way nothing is computed. */
    dync__cuda_tile_set(t, "s32", "%iteration", "mov", "%d", -ahead);
    dync__cuda_tile_label(t, "STAGE");
    dync__cuda_tile_wait(t, ahead - 1);
    dync__cuda_tile_barrier(t);
    dync__ptx_line(&t->p, "setp.le.s32 %%none, %%kleft, 0");
    dync__ptx_line(&t->p, "@%%none bra LOADED");
    load(g);
    if (!pre) {
        dync__ptx_line(&t->p, "sub.s32 %%kleft, %%kleft, %d", g->depth);
        dync__gm_next_stage(g, "%to");
    }
    dync__cuda_tile_label(t, "LOADED");
    dync__cuda_tile_commit(t);
    dync__ptx_line(&t->p, "add.s32 %%iteration, %%iteration, 1");
    dync__ptx_line(&t->p, "setp.le.s32 %%again, %%iteration, 0");
    dync__ptx_line(&t->p, pre ? "@%%again bra MAKE" : "@%%again bra STAGE");
    compute(g);
    dync__gm_next_stage(g, "%from");
    dync__ptx_line(&t->p, "sub.s32 %%todo, %%todo, %d", g->depth);
    dync__ptx_line(&t->p, "setp.gt.s32 %%again, %%todo, 0");
    if (pre) {
        dync__cuda_tile_label(t, "MAKE");
        dync__ptx_line(&t->p, "@%%none bra MADE");
        dync__gm_pre_finish(g);
        dync__ptx_line(&t->p, "sub.s32 %%kleft, %%kleft, %d", g->depth);
        dync__gm_next_stage(g, "%to");
        dync__cuda_tile_label(t, "MADE");
    }
    dync__ptx_line(&t->p, "@%%again bra STAGE");
}

/* Words of 32 bits: 4 / bytes neighbours in depth. Threads take neighbouring words where the depth
 * is dense, else neighbouring lines. Loads of several words go before their stores. */
DYNC__FN void dync__gm_pieces(dync__gm *g, int s, int lines)
{
    enum { WORDS = 4 };
    dync__cuda_tile *t = &g->t;
    dync__ptx *p = &t->p;
    const dync__gm_side *side = &g->side[s];
    const char *id = s ? "B" : "A", *left = s ? "%nleft" : "%mleft";
    int bytes = dync__dtype_info(g->dtype)->bytes, per = 4 / bytes, log_lines = 0;
    char name[40], word[WORDS][24], place[WORDS][24], half[4][24];
    while (1 << log_lines < lines) log_lines++;
    dync__format(name, sizeof name, "%%at%s", id);
    dync__cuda_tile_set(t, "u32", name, "mov", "%%thr");
    dync__cuda_tile_label(t, "PIECES%s", id);
    for (int w = 0; w < WORDS; w++) {
        char q[24], line[24], k[24], at[24];
        dync__format(q, sizeof q, "%s", dync__ptx_temp(p, "u32"));
        dync__format(line, sizeof line, "%s", dync__ptx_temp(p, "u32"));
        dync__format(k, sizeof k, "%s", dync__ptx_temp(p, "u32"));
        dync__format(at, sizeof at, "%s", dync__ptx_temp(p, "b64"));
        dync__format(word[w], sizeof word[w], "%s", dync__ptx_temp(p, "b32"));
        dync__format(place[w], sizeof place[w], "%s", dync__ptx_temp(p, "b32"));
        dync__ptx_line(p, "add.u32 %s, %s, %d", q, name, w * g->tile.threads);
        if (side->step == 1) {
            dync__ptx_line(p, "shr.u32 %s, %s, 5", line, q);
            dync__ptx_line(p, "and.b32 %s, %s, 31", k, q);
        } else {
            dync__ptx_line(p, "and.b32 %s, %s, %d", line, q, lines - 1);
            dync__ptx_line(p, "shr.u32 %s, %s, %d", k, q, log_lines);
        }
        const char *x = dync__ptx_temp(p, "b32"), *in_line = dync__ptx_temp(p, "pred"),
                   *wide = dync__ptx_temp(p, "b64");
        dync__ptx_line(p, "shr.u32 %s, %s, 2", x, k);
        dync__ptx_line(p, "xor.b32 %s, %s, %s", x, x, line);
        dync__ptx_line(p, "and.b32 %s, %s, 7", x, x);
        dync__ptx_line(p, "mad.lo.u32 %s, %s, 128, %%to", place[w], line);
        dync__ptx_line(p, "mad.lo.u32 %s, %s, 16, %s", place[w], x, place[w]);
        dync__ptx_line(p, "and.b32 %s, %s, 3", x, k);
        dync__ptx_line(p, "mad.lo.u32 %s, %s, 4, %s", place[w], x, place[w]);
        dync__ptx_line(p, "setp.lt.s32 %s, %s, %s", in_line, line, left);
        dync__ptx_line(p, "mul.lo.u32 %s, %s, %d", k, k, per);
        dync__ptx_line(p, "cvt.u64.u32 %s, %s", wide, line);
        dync__ptx_line(p, "mad.lo.s64 %s, %s, %lld, %s", at, wide, (long long)(side->line * bytes),
                       dync__gm_base[s]);
        dync__ptx_line(p, "cvt.u64.u32 %s, %s", wide, k);
        dync__ptx_line(p, "mad.lo.s64 %s, %s, %lld, %s", at, wide, (long long)(side->step * bytes),
                       at);
        /* 4 bytes are what cp.async takes, from anywhere */
        if (per == 1) {
            const char *there = dync__ptx_temp(p, "pred");
            dync__ptx_line(p, "setp.lt.and.s32 %s, %s, %%kleft, %s", there, k, in_line);
            dync__ptx_line(p, "selp.b32 %s, 4, 0, %s", word[w], there);
            dync__cuda_tile_cp(t, 4, place[w], g->side_at[s], at, 0, word[w]);
            continue;
        }
        for (int e = 0; e < per; e++) {
            const char *there = dync__ptx_temp(p, "pred"), *here = dync__ptx_temp(p, "s32");
            dync__format(half[e], sizeof half[e], "%s",
                         dync__ptx_temp(p, per == 2 ? "b16" : "b32"));
            dync__ptx_line(p, "sub.s32 %s, %%kleft, %d", here, e);
            dync__ptx_line(p, "setp.lt.and.s32 %s, %s, %s, %s", there, k, here, in_line);
            dync__ptx_line(p, "mov.b%d %s, 0", per == 2 ? 16 : 32, half[e]);
            dync__ptx_line(p, "@%s ld.global.%s %s, [%s+%lld]", there, per == 2 ? "b16" : "u8",
                           half[e], at, (long long)(e * side->step * bytes));
        }
        if (per == 2) dync__ptx_line(p, "mov.b32 %s, {%s, %s}", word[w], half[0], half[1]);
        for (int e = 0; e < 4 && per == 4; e++)
            if (e)
                dync__ptx_line(p, "bfi.b32 %s, %s, %s, %d, 8", word[w], half[e], word[w], 8 * e);
            else
                dync__ptx_line(p, "mov.b32 %s, %s", word[w], half[e]);
    }
    for (int w = 0; w < WORDS && per > 1; w++)
        dync__ptx_line(p, "st.shared.b32 [%s+%d], %s", place[w], g->side_at[s], word[w]);
    const char *more = dync__ptx_temp(p, "pred");
    dync__ptx_line(p, "add.u32 %s, %s, %d", name, name, WORDS * g->tile.threads);
    dync__ptx_line(p, "setp.lt.u32 %s, %s, %d", more, name, lines * 32);
    dync__ptx_line(p, "@%s bra PIECES%s", more, id);
}

/* ==== cuda/gemm_gather.c =========================================================================== */
/* cuda/gemm_gather.c: sides of a product that are gathered: the place of an element is a sum over
 * the digits of its line's number and of its depth's, and elements whose row or column lies outside
 * of the picture are zeros (implicit im2col). After gemm_load.c, before gemm_mma.c.
 *
 * What belongs to lines is computed once, before the loop over the depth; a stage adds what belongs
 * to its depths: three additions, two comparisons and the copy for each. 16 bytes at a time where
 * neighbours lie inside or outside together (channels last), as lines of depth or as depths of
 * lines; else element by element. Lines and depths that do not exist have a row far outside.
 * Source: Chetlur et al. 2014 (cuDNN: convolution as a product whose matrix is never made). */

enum { DYNC__GMG_OUTSIDE = -0x40000000 };
/* s32 registers: elements, row, column */
typedef struct dync__gmg {
    char off[32], y[32], x[32];
} dync__gmg;

/* Registers of this name, or fresh ones. */
static dync__gmg dync__gmg_new(dync__gm *g, const char *name, int number)
{
    dync__gmg r;
    char *const part[3] = {r.off, r.y, r.x};
    for (int i = 0; i < 3; i++) {
        if (name)
            dync__format(part[i], sizeof r.off, "%s%d_%c", name, number, "oyx"[i]);
        else
            dync__format(part[i], sizeof r.off, "%s", dync__ptx_temp(&g->t.p, "s32"));
        if (name) dync__ptx_reg(&g->t.p, "s32", part[i]);
    }
    return r;
}

/* r = what the digits of `linear` (u32) give; part 0: of a line, 1: of a depth. Outside where not
 * in < left (b32 registers, signed). */
static dync__gmg dync__gmg_digits(dync__gm *g, int s, int part, const char *linear, const char *in,
                                  const char *left, const char *name, int number)
{
    const dync__gm_gather *v = g->side[s].gather;
    dync__ptx *p = &g->t.p;
    dync__gmg r = dync__gmg_new(g, name, number);
    char rest[32], here[32], next[32];
    dync__format(rest, sizeof rest, "%s", linear);
    dync__ptx_line(p, "mov.b32 %s, %d", r.off, part ? 0 : (int)v->first);
    dync__ptx_line(p, "mov.b32 %s, %d", r.y, part ? 0 : (int)v->y);
    dync__ptx_line(p, "mov.b32 %s, %d", r.x, part ? 0 : (int)v->x);
    for (int d = v->n[part] - 1; d >= 0; d--) {
        const dync__gm_digit *at = &v->digit[part][d];
        if (d > 0 && at->extent == 1) continue;
        dync__format(here, sizeof here, "%s", rest);
        if (d > 0) {
            dync__format(here, sizeof here, "%s", dync__ptx_temp(p, "u32"));
            dync__format(next, sizeof next, "%s", dync__ptx_temp(p, "u32"));
            dync__ptx_line(p, "div.u32 %s, %s, %lld", next, rest, (long long)at->extent);
            dync__ptx_line(p, "mad.lo.s32 %s, %s, %lld, %s", here, next, (long long)-at->extent,
                           rest);
            dync__format(rest, sizeof rest, "%s", next);
        }
        if (at->by)
            dync__ptx_line(p, "mad.lo.s32 %s, %s, %lld, %s", r.off, here, (long long)at->by, r.off);
        if (at->y)
            dync__ptx_line(p, "mad.lo.s32 %s, %s, %lld, %s", r.y, here, (long long)at->y, r.y);
        if (at->x)
            dync__ptx_line(p, "mad.lo.s32 %s, %s, %lld, %s", r.x, here, (long long)at->x, r.x);
    }
    const char *is = dync__ptx_temp(p, "pred");
    dync__ptx_line(p, "setp.lt.s32 %s, %s, %s", is, in, left);
    dync__ptx_line(p, "selp.b32 %s, %s, %d, %s", r.y, r.y, (int)DYNC__GMG_OUTSIDE, is);
    return r;
}

/* The digits of line first + (b32 register) of the tile, in registers named for the side. */
static void dync__gmg_line(dync__gm *g, int s, const char *line, int number)
{
    char all[32], in[32];
    dync__format(in, sizeof in, "%s", line);
    dync__format(all, sizeof all, "%s", dync__ptx_temp(&g->t.p, "u32"));
    dync__ptx_line(&g->t.p, "add.u32 %s, %s, %s", all, in, s ? "%n0" : "%m0");
    (void)dync__gmg_digits(g, s, 0, all, in, s ? "%nleft" : "%mleft", s ? "%gb" : "%ga", number);
}

/* Those of depth k (b32 register) of the stage that is being loaded. */
static dync__gmg dync__gmg_depth(dync__gm *g, int s, const char *k)
{
    char all[32], in[32];
    dync__format(in, sizeof in, "%s", k);
    dync__format(all, sizeof all, "%s", dync__ptx_temp(&g->t.p, "u32"));
    dync__ptx_line(&g->t.p, "add.u32 %s, %s, %%k0", all, in);
    dync__ptx_line(&g->t.p, "add.u32 %s, %s, %%klen", all, all);
    dync__ptx_line(&g->t.p, "sub.u32 %s, %s, %%kleft", all, all);
    return dync__gmg_digits(g, s, 1, all, in, "%kleft", NULL, 0);
}

/* The element at the digits of a line (number) and a depth: its address (b64), and whether it is
 * inside (predicate). */
static void dync__gmg_meet(dync__gm *g, int s, int number, const dync__gmg *depth, char *at,
                           char *inside)
{
    const dync__gm_gather *v = g->side[s].gather;
    dync__ptx *p = &g->t.p;
    const char *y = dync__ptx_temp(p, "s32"), *x = dync__ptx_temp(p, "s32"),
               *off = dync__ptx_temp(p, "s32"), *name = s ? "%gb" : "%ga";
    dync__format(at, 32, "%s", dync__ptx_temp(p, "b64"));
    dync__format(inside, 32, "%s", dync__ptx_temp(p, "pred"));
    dync__ptx_line(p, "add.s32 %s, %s%d_y, %s", y, name, number, depth->y);
    dync__ptx_line(p, "add.s32 %s, %s%d_x, %s", x, name, number, depth->x);
    dync__ptx_line(p, "add.s32 %s, %s%d_o, %s", off, name, number, depth->off);
    dync__ptx_line(p, "setp.lt.u32 %s, %s, %lld", inside, y, (long long)v->h);
    dync__ptx_line(p, "setp.lt.and.u32 %s, %s, %lld, %s", inside, x, (long long)v->w, inside);
    dync__ptx_line(p, "selp.b32 %s, %s, 0, %s", off, off, inside);
    dync__ptx_line(p, "mad.wide.s32 %s, %s, %d, %s", at, off, dync__gm_unit(g, s), s ? "%B" : "%A");
}

/* The place in what is done to the side, in the type of its index. */
static const char *dync__gmg_index(dync__gm *g, int s, const char *at)
{
    const char *index = g->side[s].pre->p.index, *to = dync__ptx_temp(&g->t.p, index);
    dync__ptx_line(&g->t.p, index[1] == '3' ? "cvt.u32.u64 %s, %s" : "mov.b64 %s, %s", to, at);
    return to;
}

static void dync__gmg_copy(dync__gm *g, int s, int bytes, const char *to, int to_at, const char *at,
                           const char *inside)
{
    char size[32];
    if (g->side[s].pre) {
        dync__format(size, sizeof size, "%s", dync__gmg_index(g, s, at));
        dync__gm_pre_chunk(g, s, size, 0, 1, to_at, inside, NULL, 0, NULL);
        return;
    }
    dync__format(size, sizeof size, "%s", dync__ptx_temp(&g->t.p, "b32"));
    dync__ptx_line(&g->t.p, "selp.b32 %s, %d, 0, %s", size, bytes, inside);
    dync__cuda_tile_cp(&g->t, bytes, to, to_at, at, 0, size);
}

/* ---- 16 bytes at a time, into swizzled rows of 128 ------------------------------------------- */

/* Thread i: chunk i % 8 of rows i / 8, i / 8 + threads / 8, ... Named: %gs_ where its first row's
 * chunk lies, %gc_ its chunk, %gr_ its row. */
static void dync__gmg_thread(dync__gm *g, int s)
{
    char name[3][8];
    for (int i = 0; i < 3; i++) {
        dync__format(name[i], sizeof name[i], "%%g%c_%d", "scr"[i], s);
        dync__ptx_reg(&g->t.p, "u32", name[i]);
    }
    dync__ptx_line(&g->t.p, "shr.u32 %s, %%thr, 3", name[2]);
    dync__ptx_line(&g->t.p, "and.b32 %s, %%thr, 7", name[1]);
    dync__ptx_line(&g->t.p, "xor.b32 %s, %s, %s", name[0], name[1], name[2]);
    dync__ptx_line(&g->t.p, "and.b32 %s, %s, 7", name[0], name[0]);
    dync__ptx_line(&g->t.p, "mad.lo.u32 %s, %s, 8, %s", name[0], name[2], name[0]);
    dync__ptx_line(&g->t.p, "shl.b32 %s, %s, 4", name[0], name[0]);
}

DYNC__FN void dync__gm_gather_begin(dync__gm *g, int s, int lines)
{
    int bytes = dync__dtype_info(g->dtype)->bytes, per = 16 / bytes;
    bool across = g->side[s].how == DYNC__GM_ACROSS;
    dync__cuda_tile_note(&g->t, "%s: digits of lines", s ? "b" : "a");
    dync__gmg_thread(g, s);
    for (int i = 0; i < (across ? lines * bytes / 128 : lines * 8 / g->tile.threads); i++) {
        char line[32];
        dync__format(line, sizeof line, "%s", dync__ptx_temp(&g->t.p, "u32"));
        if (across)
            dync__ptx_line(&g->t.p, "mad.lo.u32 %s, %%gc_%d, %d, %d", line, s, per, i * 8 * per);
        else
            dync__ptx_line(&g->t.p, "add.u32 %s, %%gr_%d, %d", line, s, i * g->tile.threads / 8);
        dync__gmg_line(g, s, line, i);
    }
}

DYNC__FN void dync__gm_gather_copy(dync__gm *g, int s, int lines)
{
    int bytes = dync__dtype_info(g->dtype)->bytes, per = 16 / bytes, step = g->tile.threads / 8;
    bool across = g->side[s].how == DYNC__GM_ACROSS;
    char to[32], k[32], at[32], inside[32];
    dync__format(to, sizeof to, "%s", dync__ptx_temp(&g->t.p, "b32"));
    dync__format(k, sizeof k, "%s", dync__ptx_temp(&g->t.p, "u32"));
    dync__ptx_line(&g->t.p, "add.u32 %s, %%to, %%gs_%d", to, s);
    if (g->side[s].pre) dync__gm_pre_transpose(g, s, per, to);
    dync__gmg depth;
    if (!across) {
        dync__ptx_line(&g->t.p, "mul.lo.u32 %s, %%gc_%d, %d", k, s, per);
        depth = dync__gmg_depth(g, s, k);
    }
    for (int j = 0; j < (across ? g->depth : lines) / step; j++) {
        if (across) {
            dync__ptx_line(&g->t.p, "add.u32 %s, %%gr_%d, %d", k, s, j * step);
            depth = dync__gmg_depth(g, s, k);
        }
        for (int w = 0; w < (across ? lines * bytes / 128 : 1); w++) {
            dync__gmg_meet(g, s, across ? w : j, &depth, at, inside);
            dync__gmg_copy(g, s, 16, to, g->side_at[s] + (w * g->depth + j * step) * 128, at,
                           inside);
        }
    }
}

/* ---- element by element ---------------------------------------------------------------------- */

/* Are neighbours in depth nearer in memory than neighbouring lines? */
static bool dync__gmg_is_along(const dync__gm *g, int s)
{
    const dync__gm_gather *v = g->side[s].gather;
    return v->digit[1][v->n[1] - 1].by == 1 && v->digit[0][v->n[0] - 1].by != 1;
}

/* Words of 4 bytes (two f16 values, or an f32 for tf32) into swizzled rows: neighbouring threads
 * take neighbouring lines, or depths. */
DYNC__FN void dync__gm_gather_pieces(dync__gm *g, int s, int lines)
{
    dync__ptx *p = &g->t.p;
    const char *id = s ? "B" : "A";
    char q[32], line[32], k[32], place[32], at[32], inside[32], half[2][32], more[32];
    int log_lines = 0;
    while (1 << log_lines < lines) log_lines++;
    dync__format(q, sizeof q, "%%at%s", id);
    dync__cuda_tile_set(&g->t, "u32", q, "mov", "%%thr");
    dync__cuda_tile_label(&g->t, "PIECES%s", id);
    dync__format(line, sizeof line, "%s", dync__ptx_temp(p, "u32"));
    dync__format(k, sizeof k, "%s", dync__ptx_temp(p, "u32"));
    dync__format(place, sizeof place, "%s", dync__ptx_temp(p, "u32"));
    bool along = dync__gmg_is_along(g, s);
    dync__ptx_line(p, "and.b32 %s, %s, %d", along ? k : line, q, along ? 31 : lines - 1);
    dync__ptx_line(p, "shr.u32 %s, %s, %d", along ? line : k, q, along ? 5 : log_lines);
    dync__ptx_line(p, "shr.u32 %s, %s, 2", place, k);
    dync__ptx_line(p, "xor.b32 %s, %s, %s", place, place, line);
    dync__ptx_line(p, "and.b32 %s, %s, 7", place, place);
    dync__ptx_line(p, "mad.lo.u32 %s, %s, 8, %s", place, line, place);
    const char *word = dync__ptx_temp(p, "u32");
    dync__ptx_line(p, "and.b32 %s, %s, 3", word, k);
    dync__ptx_line(p, "mad.lo.u32 %s, %s, 4, %s", place, place, word);
    dync__ptx_line(p, "mad.lo.u32 %s, %s, 4, %%to", place, place);
    bool whole = dync__dtype_info(g->dtype)->bytes == 4;
    if (!whole) dync__ptx_line(p, "shl.b32 %s, %s, 1", k, k);
    dync__gmg_line(g, s, line, 0);
    /* there and then: the loop has no place to keep what is loaded */
    bool pre = g->side[s].pre != NULL;
    if (pre) dync__gm_pre_transpose(g, s, 1, place);
    if (whole && !pre) {
        dync__gmg depth = dync__gmg_depth(g, s, k);
        dync__gmg_meet(g, s, 0, &depth, at, inside);
        dync__gmg_copy(g, s, 4, place, g->side_at[s], at, inside);
    }
    for (int e = 0; e < (whole ? 1 : 2) && pre; e++) {
        if (e) dync__ptx_line(p, "add.u32 %s, %s, 1", k, k);
        dync__gmg depth = dync__gmg_depth(g, s, k);
        dync__gmg_meet(g, s, 0, &depth, at, inside);
        dync__format(at, sizeof at, "%s", dync__gmg_index(g, s, at));
        dync__gm_pre_group(g, s, e, at, 0, inside);
    }
    for (int e = 0; e < 2 && !whole && !pre; e++) {
        dync__format(half[e], sizeof half[e], "%s", dync__ptx_temp(p, "b16"));
        if (e) dync__ptx_line(p, "add.u32 %s, %s, 1", k, k);
        dync__gmg depth = dync__gmg_depth(g, s, k);
        dync__gmg_meet(g, s, 0, &depth, at, inside);
        dync__ptx_line(p, "mov.b16 %s, 0", half[e]);
        dync__ptx_line(p, "@%s ld.global.b16 %s, [%s]", inside, half[e], at);
    }
    dync__format(more, sizeof more, "%s", dync__ptx_temp(p, "pred"));
    if (pre) {
        char value[2][40], made[2][40];
        for (int e = 0; e < (whole ? 1 : 2); e++) (void)dync__gm_pre_values(g, s, e, &value[e]);
        dync__gm_pre_pack(g, g->dtype, whole ? 1 : 2, value, made);
        dync__ptx_line(p, "st.shared.b32 [%s+%d], %s", place, g->side_at[s], made[0]);
    } else if (!whole) {
        const char *both = dync__ptx_temp(p, "b32");
        dync__ptx_line(p, "mov.b32 %s, {%s, %s}", both, half[0], half[1]);
        dync__ptx_line(p, "st.shared.b32 [%s+%d], %s", place, g->side_at[s], both);
    }
    dync__ptx_line(p, "add.u32 %s, %s, %d", q, q, g->tile.threads);
    dync__ptx_line(p, "setp.lt.u32 %s, %s, %d", more, q, lines * 32);
    dync__ptx_line(p, "@%s bra PIECES%s", more, id);
}

/* CUDA cores: depths as rows of lines, row_bytes apart. Along: thread i takes depth i % depth of
 * several lines; else line i % lines of several. */
DYNC__FN void dync__gm_gather_single_begin(dync__gm *g, int s, int lines)
{
    bool along = dync__gmg_is_along(g, s);
    int step = g->tile.threads / g->depth;
    char line[32];
    dync__cuda_tile_note(&g->t, "%s: digits of lines", s ? "b" : "a");
    dync__format(line, sizeof line, "%s", dync__ptx_temp(&g->t.p, "u32"));
    for (int i = 0; i < (along ? lines / step : 1); i++) {
        if (i)
            dync__ptx_line(&g->t.p, "add.u32 %s, %s, %d", line, line, step);
        else
            dync__ptx_line(&g->t.p, "%s.u32 %s, %%thr, %d", along ? "div" : "rem", line,
                           along ? g->depth : lines);
        dync__gmg_line(g, s, line, i);
    }
}

DYNC__FN void dync__gm_gather_single(dync__gm *g, int s, int lines, int row_bytes)
{
    dync__ptx *p = &g->t.p;
    bool along = dync__gmg_is_along(g, s);
    int step = g->tile.threads / (along ? g->depth : lines), bytes = g->acc_bytes;
    char line[32], k[32], to[32], at[32], inside[32];
    dync__format(line, sizeof line, "%s", dync__ptx_temp(p, "u32"));
    dync__format(k, sizeof k, "%s", dync__ptx_temp(p, "u32"));
    dync__format(to, sizeof to, "%s", dync__ptx_temp(p, "u32"));
    dync__ptx_line(p, "%s.u32 %s, %%thr, %d", along ? "div" : "rem", line,
                   along ? g->depth : lines);
    dync__ptx_line(p, "%s.u32 %s, %%thr, %d", along ? "rem" : "div", k, along ? g->depth : lines);
    dync__ptx_line(p, "mad.lo.u32 %s, %s, %d, %%to", to, k, row_bytes);
    dync__ptx_line(p, "mad.lo.u32 %s, %s, %d, %s", to, line, bytes, to);
    if (g->side[s].pre) dync__gm_pre_transpose(g, s, 1, to);
    dync__gmg depth;
    for (int i = 0; i < lines * g->depth / g->tile.threads; i++) {
        if (i && !along) dync__ptx_line(p, "add.u32 %s, %s, %d", k, k, step);
        if (i == 0 || !along) depth = dync__gmg_depth(g, s, k);
        dync__gmg_meet(g, s, along ? i : 0, &depth, at, inside);
        dync__gmg_copy(g, s, bytes, to, g->side_at[s] + i * step * (along ? bytes : row_bytes), at,
                       inside);
    }
}

/* ==== cuda/gemm_end.c ============================================================================== */
/* cuda/gemm_end.c: from sums to results: the loop kernel `end` on each group of neighbours in a
 * row, or partial sums and the launch that joins them. Before gemm_mma.c and gemm_simt.c,
 * whose sums they are. */

DYNC__FN void dync__gm_read_sums(dync__gm *g, const char *space, const char *address, int n,
                                 char value[][24])
{
    dync__ptx *p = &g->t.p;
    const char *type = dync__ptx_type(g->compute);
    int per = 16 / g->acc_bytes;
    for (int i = 0; i < n; i++)
        dync__format(value[i], sizeof value[i], "%s", dync__ptx_temp(p, type));
    for (int i = 0; i < n; i += per) {
        int count = DYNC__MIN(n - i, per);
        char list[120];
        int at = dync__format(list, sizeof list, "%s%s", count > 1 ? "{" : "", value[i]);
        for (int k = 1; k < count; k++)
            at += dync__format(list + at, sizeof list - (size_t)at, ", %s", value[i + k]);
        dync__ptx_line(p, "ld.%s%s.b%d %s%s, [%s+%d]", space,
                       count == 4   ? ".v4"
                       : count == 2 ? ".v2"
                                    : "",
                       g->acc_bytes * 8, list, count > 1 ? "}" : "", address, i * g->acc_bytes);
    }
}

/* Neighbours that partial sums are moved in. */
static int dync__gm_partial_vec(const dync__gm *g)
{
    int vec = 16 / g->acc_bytes;
    while (g->n % vec) vec /= 2;
    return vec;
}

DYNC__FN void dync__gm_linear(dync__gm *g, const char *name, const char *first, const char *second)
{
    dync__ptx *p = &g->t.p;
    const char *row = g->swapped ? second : first, *column = g->swapped ? first : second;
    int64_t m = g->swapped ? g->n : g->m, n = g->swapped ? g->m : g->n;
    dync__ptx_reg(p, p->index, name);
    if (p->index[1] == '3') {
        dync__ptx_line(p, "mad.lo.u32 %s, %%batch, %lld, %s", name, (long long)m, row);
        dync__ptx_line(p, "mad.lo.u32 %s, %s, %lld, %s", name, name, (long long)n, column);
        return;
    }
    const char *wide = dync__ptx_temp(p, "u64");
    dync__ptx_line(p, "cvt.u64.u32 %s, %s", wide, row);
    dync__ptx_line(p, "cvt.u64.u32 %s, %%batch", name);
    dync__ptx_line(p, "mad.lo.u64 %s, %s, %lld, %s", name, name, (long long)m, wide);
    dync__ptx_line(p, "cvt.u64.u32 %s, %s", wide, column);
    dync__ptx_line(p, "mad.lo.u64 %s, %s, %lld, %s", name, name, (long long)n, wide);
}

static void dync__gm_wide_index(dync__gm *g, const char *to, const char *linear)
{
    dync__ptx_reg(&g->t.p, "b64", to);
    dync__ptx_line(&g->t.p, g->t.p.index[1] == '3' ? "cvt.u64.u32 %s, %s" : "mov.b64 %s, %s", to,
                   linear);
}

DYNC__FN void dync__gm_result(dync__gm *g, int number, const char *row, const char *column, int n,
                              char value[][24])
{
    dync__ptx *p = &g->t.p;
    char lin[24], at[24], list[120];
    dync__format(lin, sizeof lin, "%%lin_%d", number);
    dync__format(at, sizeof at, "%%at_%d", number);
    dync__gm_linear(g, lin, row, column);
    if (g->splits == 1) {
        dync__cuda_tile_piece(&g->t, lin, g->given, value);
        return;
    }
    int length = dync__format(list, sizeof list, "%s", value[0]);
    const char *part = dync__ptx_temp(p, "b64");
    for (int i = 1; i < n; i++)
        length += dync__format(list + length, sizeof list - (size_t)length, ", %s", value[i]);
    dync__gm_wide_index(g, at, lin);
    dync__ptx_line(p, "cvt.u64.u32 %s, %%split", part);
    dync__ptx_line(p, "mad.lo.s64 %s, %s, %lld, %s", at, part,
                   (long long)(g->batches * g->m * g->n), at);
    dync__ptx_line(p, "mad.lo.s64 %s, %s, %d, %%scratch", at, at, g->acc_bytes);
    dync__ptx_line(p, "st.global%s.b%d [%s], %s%s%s",
                   n == 4   ? ".v4"
                   : n == 2 ? ".v2"
                            : "",
                   g->acc_bytes * 8, at, n > 1 ? "{" : "", list, n > 1 ? "}" : "");
}

DYNC__FN void dync__gm_flush(dync__gm *g, int from, int rows, int row_bytes)
{
    dync__cuda_tile *t = &g->t;
    dync__ptx *p = &t->p;
    int vec = g->splits > 1 ? dync__gm_partial_vec(g) : p->shape.vec, groups = g->tile.n / vec;
    char name[6][24], value[8][24];
    static const char *const names[] = {"q", "row", "col", "sum", "more", "in"};
    for (int i = 0; i < 6; i++) dync__format(name[i], sizeof name[i], "%%%s_%d", names[i], from);
    const char *q = name[0], *row = name[1], *col = name[2], *sum = name[3], *more = name[4],
               *in = name[5];
    dync__cuda_tile_barrier(t);
    dync__cuda_tile_set(t, "u32", q, "mov", "%%thr");
    dync__ptx_reg(p, "pred", more);
    dync__ptx_reg(p, "pred", in);
    dync__cuda_tile_label(t, "ROWS_%d", from);
    dync__cuda_tile_set(t, "u32", row, "div", "%s, %d", q, groups);
    dync__cuda_tile_set(t, "u32", col, "rem", "%s, %d", q, groups);
    dync__cuda_tile_set(t, "u32", sum, "mad.lo", "%s, %d, %%smem", row, row_bytes);
    dync__ptx_line(p, "mad.lo.u32 %s, %s, %d, %s", sum, col, vec * g->acc_bytes, sum);
    dync__ptx_line(p, "add.u32 %s, %s, %d", row, row, from);
    dync__ptx_line(p, "mul.lo.u32 %s, %s, %d", col, col, vec);
    dync__ptx_line(p, "add.u32 %s, %s, %d", q, q, g->tile.threads);
    dync__ptx_line(p, "setp.lt.u32 %s, %s, %d", more, q, rows * groups);
    if (rows * groups % g->tile.threads) { /* the last iteration is not for all */
        dync__ptx_line(p, "setp.lt.s32 %s, %s, %d", in, row, from + rows);
        dync__ptx_line(p, "setp.lt.and.s32 %s, %s, %%mleft, %s", in, row, in);
    } else {
        dync__ptx_line(p, "setp.lt.s32 %s, %s, %%mleft", in, row);
    }
    dync__ptx_line(p, "setp.lt.and.s32 %s, %s, %%nleft, %s", in, col, in);
    dync__ptx_line(p, "@!%s bra OUT_%d", in, from);
    dync__gm_read_sums(g, "shared", sum, vec, value);
    dync__ptx_line(p, "add.u32 %s, %s, %%m0", row, row);
    dync__ptx_line(p, "add.u32 %s, %s, %%n0", col, col);
    dync__gm_result(g, from, row, col, vec, value);
    dync__cuda_tile_label(t, "OUT_%d", from);
    dync__ptx_line(p, "@%s bra ROWS_%d", more, from);
}

/* Sums of all splits in their order, then `end`; a thread a group of neighbours. */
DYNC__FN void dync__gm_join(dync__gm *g)
{
    enum { THREADS = 128 };
    dync__cuda_tile *t = &g->t;
    dync__ptx *p = &t->p;
    int vec = p->shape.vec;
    int64_t all = g->batches * g->m * g->n, groups = all / vec;
    char value[8][24], part[8][24];
    const char *add = dync__ptx_type(g->compute)[0] == 'f' ? "add.rn" : "add";
    dync__cuda_tile_next(t);
    dync__cuda_tile_scratch(t);
    dync__ptx_reg(p, "pred", "%in");
    dync__ptx_reg(p, p->index, "%lin");
    if (p->index[1] == '3') {
        dync__ptx_line(p, "mad.lo.u32 %%lin, %%cta, %d, %%thr", THREADS);
    } else {
        dync__ptx_line(p, "cvt.u64.u32 %%lin, %%thr");
        dync__ptx_line(p, "mad.wide.u32 %%lin, %%cta, %d, %%lin", THREADS);
    }
    dync__ptx_line(p, "setp.ge.%s %%in, %%lin, %lld", p->index, (long long)groups);
    dync__ptx_line(p, "@%%in ret");
    dync__ptx_line(p, "mul.lo.%s %%lin, %%lin, %d", p->index, vec);
    dync__gm_wide_index(g, "%at", "%lin");
    dync__ptx_line(p, "mad.lo.s64 %%at, %%at, %d, %%scratch", g->acc_bytes);
    dync__gm_read_sums(g, "global", "%at", vec, value);
    dync__ptx_reg(p, "u32", "%left");
    dync__ptx_reg(p, "pred", "%more");
    dync__ptx_line(p, "mov.u32 %%left, %lld", (long long)g->splits - 1);
    dync__cuda_tile_label(t, "NEXT");
    dync__ptx_line(p, "add.s64 %%at, %%at, %lld", (long long)(all * g->acc_bytes));
    dync__gm_read_sums(g, "global", "%at", vec, part);
    for (int i = 0; i < vec; i++)
        dync__ptx_line(p, "%s.%s %s, %s, %s", add, dync__ptx_type(g->compute), value[i], value[i],
                       part[i]);
    dync__ptx_line(p, "sub.u32 %%left, %%left, 1");
    dync__ptx_line(p, "setp.gt.u32 %%more, %%left, 0");
    dync__ptx_line(p, "@%%more bra NEXT");
    dync__cuda_tile_piece(t, "%lin", g->given, value);
    dync__cuda_tile_entry(t, "gemm_join", (groups + THREADS - 1) / THREADS, 1, 1, THREADS);
}

/* ==== cuda/gemm_mma.c ============================================================================== */
/* cuda/gemm_mma.c: products on tensor cores by mma.sync (sm_80 and later). After gemm_load.c
 * and gemm_end.c.
 *
 * Stages hold 128 bytes of depth of both sides as swizzled rows: lines with their depth along
 * (ALONG, PIECES), or rows of depth with the lines along, 128 bytes of them to a window (ACROSS),
 * which ldmatrix.trans transposes. Warps own a part of the tile each, two by two (2 x 4 in the
 * widest). A step is 32 bytes of depth: fragments of all lines of the warp are read, then every
 * pair is multiplied.
 *
 * In one stage a warp of 64 x 64 issues 4 x (4 + 4) ldmatrix.x4 and 4 x 32 mma (bf16), and a block
 * of 128 threads 16 cp.async a thread: 4 mma to an ldmatrix, 8 to a cp.async. 32 ldmatrix read 16
 * KiB a stage and warp, 128 cycles of the shared memory's 128 bytes; 128 mma take 1024 (sm_80)
 * cycles of the warp's tensor core: four warps together keep the one busy and the other half idle.
 * Bank conflicts: none (tests/cuda/white_tile.c counts them). Accumulators are f32; integers add up
 * modulo 2^32. */

/* transposed: the side lies ACROSS */
typedef struct dync__gmm {
    int bytes, warp_m, warp_n, warps_n;
    bool transposed[2];
} dync__gmm;
static dync__gmm dync__gmm_of(const dync__gm *g)
{
    int warps = g->tile.threads / 32, warps_n = warps > 4 ? 4 : 2;
    return (dync__gmm){dync__cuda_tile_kind_of(g->kind)->bytes,
                       g->tile.m / (warps / warps_n),
                       g->tile.n / warps_n,
                       warps_n,
                       {g->side[0].how == DYNC__GM_ACROSS, g->side[1].how == DYNC__GM_ACROSS}};
}

static int dync__gmm_lines(const dync__gm *g, int s) { return s ? g->tile.n : g->tile.m; }

/* The windows through which a side is copied: one of all lines, or one for every 128 bytes of
 * lines. */
static void dync__gmm_windows(dync__gm *g, int s)
{
    const dync__gm_side *side = &g->side[s];
    int bytes = dync__cuda_tile_kind_of(g->kind)->bytes, lines = dync__gmm_lines(g, s),
        count = side->how == DYNC__GM_ACROSS ? lines * bytes / 128 : 1;
    int64_t all = s ? g->n : g->m;
    if (side->pre && !side->gather) {
        dync__gm_pre_rows_begin(g, s);
        return;
    }
    if (side->gather && side->how != DYNC__GM_PIECES) dync__gm_gather_begin(g, s, lines);
    for (int w = 0; w < count && !side->gather && side->how != DYNC__GM_PIECES; w++) {
        dync__cuda_tile_rows *r = &g->window[s][w];
        char *name = g->window_name[s][w];
        const char *base = s ? "%B" : "%A";
        dync__format(name, sizeof g->window_name[s][w], "%%%s%d", s ? "wb" : "wa", w);
        *r = (dync__cuda_tile_rows){.name = name, .threads = g->tile.threads};
        if (side->how == DYNC__GM_ALONG) {
            r->rows = lines;
            r->row_bytes = side->line * bytes;
            dync__cuda_tile_rows_begin(&g->t, r, base,
                                       all % lines ? s ? "%nleft" : "%mleft" : NULL);
            continue;
        }
        char left[24], from[24];
        dync__format(from, sizeof from, "%s_base", name);
        dync__format(left, sizeof left, "%s_left", name);
        r->rows = g->depth;
        r->row_bytes = side->step * bytes;
        r->rows_now = g->k % g->depth ? "%kleft" : NULL;
        dync__cuda_tile_set(&g->t, "s64", from, "add", "%s, %d", base, w * 128);
        dync__cuda_tile_rows_begin(&g->t, r, from, NULL);
        dync__cuda_tile_set(&g->t, "s32", left, "mul.lo", "%s, %d", s ? "%nleft" : "%mleft", bytes);
        dync__ptx_line(&g->t.p, "sub.s32 %s, %s, %d", left, left, w * 128);
    }
}

static void dync__gmm_load(dync__gm *g)
{
    int bytes = dync__cuda_tile_kind_of(g->kind)->bytes;
    for (int s = 0; s < 2; s++) {
        const dync__gm_side *side = &g->side[s];
        int lines = dync__gmm_lines(g, s),
            count = side->how == DYNC__GM_ACROSS ? lines * bytes / 128 : 1;
        int64_t all = s ? g->n : g->m;
        char left[40];
        dync__cuda_tile_note(&g->t, "%s: %d lines of %d", s ? "b" : "a", lines, g->depth);
        if (side->gather) {
            if (side->how == DYNC__GM_PIECES)
                dync__gm_gather_pieces(g, s, lines);
            else
                dync__gm_gather_copy(g, s, lines);
            continue;
        }
        if (side->pre) {
            dync__gm_pre_rows(g, s, lines);
            continue;
        }
        if (side->how == DYNC__GM_PIECES) {
            dync__gm_pieces(g, s, lines);
            dync__ptx_line(&g->t.p, "add.s64 %s, %s, %lld", s ? "%B" : "%A", s ? "%B" : "%A",
                           (long long)(g->depth * side->step * bytes));
            continue;
        }
        if (side->how == DYNC__GM_ALONG && g->k % g->depth) {
            dync__format(left, sizeof left, "%s", dync__ptx_temp(&g->t.p, "s32"));
            dync__ptx_line(&g->t.p, "mul.lo.s32 %s, %%kleft, %d", left, bytes);
        }
        for (int w = 0; w < count; w++) {
            bool along = side->how == DYNC__GM_ALONG;
            if (!along) dync__format(left, sizeof left, "%s_left", g->window_name[s][w]);
            dync__cuda_tile_rows_copy(&g->t, &g->window[s][w], "%to",
                                      g->side_at[s] + w * g->depth * 128,
                                      (along ? g->k % g->depth : all % lines) ? left : NULL);
            dync__cuda_tile_rows_move(&g->t, &g->window[s][w],
                                      along ? 128 : g->depth * side->step * bytes);
        }
    }
}

/* Where the lane's rows lie, four addresses a side: for the steps, or where the side is transposed
 * for pairs of chunks of the warp's lines. */
static void dync__gmm_lanes(dync__gm *g, int s)
{
    dync__gmm w = dync__gmm_of(g);
    dync__ptx *p = &g->t.p;
    int lines = s ? w.warp_n : w.warp_m,
        pairs = w.transposed[s] ? DYNC__MIN(lines * w.bytes / 32, 4) : 4;
    const char *name = s ? "%lb" : "%la", *warp = s ? "%wn" : "%wm",
               *first = dync__ptx_temp(p, "b32");
    dync__ptx_line(p, "mul.lo.u32 %s, %s, %d", first, warp,
                   w.transposed[s] ? lines * w.bytes : lines);
    if (!w.transposed[s]) {
        dync__cuda_tile_matrix(&g->t, name, pairs, s, first);
        return;
    }
    const char *chunks = dync__ptx_temp(p, "b32"), *window = dync__ptx_temp(p, "b32");
    char where[2][24];
    dync__format(where[0], sizeof where[0], "%s", chunks);
    dync__format(where[1], sizeof where[1], "%s", window);
    dync__ptx_line(p, "and.b32 %s, %s, 127", where[0], first);
    dync__ptx_line(p, "shr.u32 %s, %s, 7", where[1], first);
    dync__cuda_tile_matrix(&g->t, name, pairs, !s, NULL);
    for (int i = 0; i < pairs; i++) {
        dync__ptx_line(p, "xor.b32 %s%d, %s%d, %s", name, i, name, i, where[0]);
        dync__ptx_line(p, "mad.lo.u32 %s%d, %s, %d, %s%d", name, i, where[1], g->depth * 128, name,
                       i);
    }
}

/* Fragments of 16 lines each: {a0..a3}, or b of two n8 tiles. */
static void dync__gmm_fragments(dync__gm *g, int s, int step)
{
    dync__gmm w = dync__gmm_of(g);
    const char *reg = s ? "%fb" : "%fa";
    int lines = s ? w.warp_n : w.warp_m;
    char at[24];
    for (int i = 0; i < lines / 16; i++) {
        /* transposed: 16 lines are two chunks */
        dync__format(at, sizeof at, "%s%d", s ? "%hb" : "%ha", w.transposed[s] ? i % 4 : step);
        dync__cuda_tile_ldmatrix(
            &g->t, w.transposed[s], reg, 4 * i, at,
            g->side_at[s] + (w.transposed[s] ? i / 4 * g->depth * 128 + step * 2048 : i * 2048));
    }
    for (int i = 0; i < lines / 4 && g->kind == DYNC__TILE_TF32; i++)
        dync__ptx_line(&g->t.p, "cvt.rna.tf32.f32 %s%d, %s%d", reg, i, reg, i);
}

static void dync__gmm_compute(dync__gm *g)
{
    dync__gmm w = dync__gmm_of(g);
    for (int s = 0; s < 2; s++)
        for (int i = 0;
             i < (w.transposed[s] ? DYNC__MIN((s ? w.warp_n : w.warp_m) * w.bytes / 32, 4) : 4);
             i++)
            dync__ptx_line(&g->t.p, "add.u32 %%h%s%d, %%l%s%d, %%from", s ? "b" : "a", i,
                           s ? "b" : "a", i);
    for (int step = 0; step < 4; step++) {
        dync__cuda_tile_note(&g->t, "32 bytes of depth, %d of 4", step + 1);
        dync__gmm_fragments(g, 0, step);
        dync__gmm_fragments(g, 1, step);
        for (int i = 0; i < w.warp_m / 16; i++)
            for (int j = 0; j < w.warp_n / 8; j++)
                dync__cuda_tile_mma(&g->t, g->kind, "%acc", 4 * (i * (w.warp_n / 8) + j), "%fa",
                                    4 * i, "%fb", 2 * j);
    }
}

/* Accumulators to shared memory, rows of tile.n + 8 words: the lanes of half a warp write 16 pairs
 * of words in 32 banks. */
static void dync__gmm_put(dync__gm *g)
{
    dync__gmm w = dync__gmm_of(g);
    dync__cuda_tile *t = &g->t;
    int row_bytes = (g->tile.n + 8) * 4;
    const char *row = dync__ptx_temp(&t->p, "b32"), *column = dync__ptx_temp(&t->p, "b32");
    dync__cuda_tile_note(t, "accumulators to shared memory, and from there in order");
    dync__cuda_tile_wait(t, 0);
    dync__cuda_tile_barrier(t);
    dync__ptx_line(&t->p, "shr.u32 %s, %%lane, 2", row);
    dync__ptx_line(&t->p, "mad.lo.u32 %s, %%wm, %d, %s", row, w.warp_m, row);
    dync__ptx_line(&t->p, "and.b32 %s, %%lane, 3", column);
    dync__ptx_line(&t->p, "mul.lo.u32 %s, %s, 2", column, column);
    dync__ptx_line(&t->p, "mad.lo.u32 %s, %%wn, %d, %s", column, w.warp_n, column);
    dync__cuda_tile_set(t, "u32", "%put", "mad.lo", "%s, %d, %%smem", row, row_bytes);
    dync__ptx_line(&t->p, "mad.lo.u32 %%put, %s, 4, %%put", column);
    for (int i = 0; i < w.warp_m / 16; i++)
        for (int j = 0; j < w.warp_n / 8; j++)
            for (int half = 0; half < 2; half++) {
                int c = 4 * (i * (w.warp_n / 8) + j) + 2 * half;
                dync__ptx_line(&t->p, "st.shared.v2.b32 [%%put+%d], {%%acc%d, %%acc%d}",
                               (i * 16 + half * 8) * row_bytes + j * 32, c, c + 1);
            }
    if (g->tile.m * row_bytes > t->shared) t->shared = g->tile.m * row_bytes;
    dync__gm_flush(g, 0, g->tile.m, row_bytes);
}

DYNC__FN void dync__gm_mma(dync__gm *g)
{
    dync__gmm w = dync__gmm_of(g);
    dync__cuda_tile *t = &g->t;
    int n = w.warp_m * w.warp_n / 32;
    g->acc_bytes = 4;
    g->side_at[1] = g->tile.m * 128;
    g->stage_bytes = (g->tile.m + g->tile.n) * 128;
    dync__gm_place(g);
    dync__cuda_tile_set(t, "u32", "%wm", "shr", "%%warp, %d", w.warps_n == 4 ? 2 : 1);
    dync__cuda_tile_set(t, "b32", "%wn", "and", "%%warp, %d", w.warps_n - 1);
    for (int s = 0; s < 2; s++) {
        dync__gmm_windows(g, s);
        dync__gmm_lanes(g, s);
        dync__cuda_tile_regs(t, "b32", s ? "%hb" : "%ha", 4);
        dync__cuda_tile_regs(t, "b32", s ? "%fb" : "%fa", (s ? w.warp_n : w.warp_m) / 4);
    }
    dync__cuda_tile_regs(t, dync__cuda_tile_kind_of(g->kind)->acc, "%acc", n);
    for (int i = 0; i < n; i++) dync__ptx_line(&t->p, "mov.b32 %%acc%d, 0", i);
    dync__gm_pipeline(g, dync__gmm_load, dync__gmm_compute);
    dync__gmm_put(g);
}

/* ==== cuda/gemm_simt.c ============================================================================= */
/* cuda/gemm_simt.c: products on CUDA cores: f32, f64, integers of 16 bits and more. After
 * gemm_load.c and gemm_end.c.
 *
 * Stages hold eight rows of depth of either side, its lines along: [8][lines + 16 bytes]. Where
 * lines are neighbours in memory and on boundaries cp.async brings 16 bytes at a time; else an
 * element at a time, which transposes the side on its way: then eight lanes take eight neighbours
 * in depth (a sector of memory) of four lines, whose places are in 32 banks. Narrow integers are
 * widened in registers. A thread owns 8 x 8 results (4 x 4 of 8 bytes): two groups of four lines on
 * either side, half a tile apart, so that the 16-byte reads of a warp are of neighbours. Of each
 * row of depth it reads 4 times 16 bytes for 64 multiplications: of the 598 instructions of a stage
 * 512 are multiplications (sm_80). 128 x 128 by 256 threads: 120 to 128 registers and 34 KiB, two
 * blocks a multiprocessor. */

enum { DYNC__GMS_DEPTH = 8 };
/* lines of a side that a thread has */
static int dync__gms_own(const dync__gm *g) { return g->acc_bytes == 8 ? 4 : 8; }
/* of them 16 bytes side by side */
static int dync__gms_group(const dync__gm *g) { return g->acc_bytes == 8 ? 2 : 4; }
static int dync__gms_lines(const dync__gm *g, int s) { return s ? g->tile.n : g->tile.m; }
static int dync__gms_row(const dync__gm *g, int s)
{
    return dync__gms_lines(g, s) * g->acc_bytes + 16;
}

/* The element of a stage that the thread begins with: %line (or chunk of 16 bytes) and %k of each
 * side, its place in a stage (%to), its address, to which %A and %B go on.
 *   wide     chunk i % chunks of rows i / chunks, ...
 *   single   dense depth: depth i % 8 of lines i / 8, i / 8 + threads / 8, ...; else line i % lines
 *            of depths i / lines, ... */
static void dync__gms_begin(dync__gm *g, int s)
{
    dync__cuda_tile *t = &g->t;
    dync__ptx *p = &t->p;
    const dync__gm_side *side = &g->side[s];
    bool is_wide = side->how == DYNC__GM_ACROSS, along = !is_wide && side->step == 1;
    int bytes = dync__gm_unit(g, s), lines = dync__gms_lines(g, s),
        by = along     ? 8
             : is_wide ? lines * g->acc_bytes / 16
                       : lines;
    const char *id = s ? "B" : "A", *wide = dync__ptx_temp(p, "b64");
    char line[16], k[16], to[16], base[8];
    dync__format(line, sizeof line, "%%line%s", id);
    dync__format(k, sizeof k, "%%k%s", id);
    dync__format(to, sizeof to, "%%to%s", id);
    dync__format(base, sizeof base, "%%%s", id);
    dync__cuda_tile_set(t, "u32", along ? k : line, "rem", "%%thr, %d", by);
    dync__cuda_tile_set(t, "u32", along ? line : k, "div", "%%thr, %d", by);
    if (is_wide) dync__ptx_line(p, "mul.lo.u32 %s, %s, %d", line, line, 16 / g->acc_bytes);
    dync__cuda_tile_set(t, "u32", to, "mul.lo", "%s, %d", k, dync__gms_row(g, s));
    dync__ptx_line(p, "mad.lo.u32 %s, %s, %d, %s", to, line, g->acc_bytes, to);
    dync__ptx_line(p, "cvt.u64.u32 %s, %s", wide, line);
    dync__ptx_line(p, "mad.lo.s64 %s, %s, %lld, %s", base, wide, (long long)(side->line * bytes),
                   base);
    dync__ptx_line(p, "cvt.u64.u32 %s, %s", wide, k);
    dync__ptx_line(p, "mad.lo.s64 %s, %s, %lld, %s", base, wide, (long long)(side->step * bytes),
                   base);
    if (side->pre) dync__gm_pre_index(g, s, s ? "%pat1" : "%pat0", base);
    if (side->pre || !is_wide || (s ? g->n : g->m) % lines == 0) return;
    /* bytes of the chunk that are of lines there are */
    char size[16];
    dync__format(size, sizeof size, "%%size%s", id);
    dync__cuda_tile_set(t, "s32", size, "sub", "%s, %s", s ? "%nleft" : "%mleft", line);
    dync__ptx_line(p, "mul.lo.s32 %s, %s, %d", size, size, g->acc_bytes);
    dync__ptx_line(p, "min.s32 %s, %s, 16", size, size);
    dync__ptx_line(p, "max.s32 %s, %s, 0", size, size);
}

static void dync__gms_load_wide(dync__gm *g, int s, const char *to)
{
    dync__ptx *p = &g->t.p;
    const char *id = s ? "B" : "A";
    int step = g->tile.threads / (dync__gms_lines(g, s) * g->acc_bytes / 16);
    int64_t row = g->side[s].step * g->acc_bytes;
    char size[16] = "", base[8];
    dync__format(base, sizeof base, "%%%s", id);
    if ((s ? g->n : g->m) % dync__gms_lines(g, s)) dync__format(size, sizeof size, "%%size%s", id);
    for (int i = 0; i < DYNC__GMS_DEPTH / step; i++) {
        char bytes[24];
        dync__format(bytes, sizeof bytes, "%s", size);
        if (g->k % DYNC__GMS_DEPTH) {
            const char *there = dync__ptx_temp(p, "pred"), *here = dync__ptx_temp(p, "s32");
            dync__format(bytes, sizeof bytes, "%s", dync__ptx_temp(p, "b32"));
            dync__ptx_line(p, "sub.s32 %s, %%kleft, %d", here, i * step);
            dync__ptx_line(p, "setp.lt.s32 %s, %%k%s, %s", there, id, here);
            dync__ptx_line(p, "selp.b32 %s, %s, 0, %s", bytes, size[0] ? size : "16", there);
        }
        dync__cuda_tile_cp(&g->t, 16, to, g->side_at[s] + i * step * dync__gms_row(g, s), base,
                           i * step * row, bytes[0] ? bytes : NULL);
    }
}

static void dync__gms_load_single(dync__gm *g, int s, const char *to)
{
    dync__ptx *p = &g->t.p;
    const dync__gm_side *side = &g->side[s];
    const char *id = s ? "B" : "A";
    int bytes = dync__dtype_info(g->dtype)->bytes, lines = dync__gms_lines(g, s),
        threads = g->tile.threads, row = dync__gms_row(g, s);
    bool along = side->step == 1, ends = g->k % DYNC__GMS_DEPTH != 0,
         ragged = (s ? g->n : g->m) % lines != 0;
    int line_step = along ? threads / 8 : 0, k_step = along ? 0 : threads / lines,
        count = lines * DYNC__GMS_DEPTH / threads;
    char base[8];
    dync__format(base, sizeof base, "%%%s", id);
    for (int i = 0; i < count; i++) {
        char there[24] = "%true", value[24];
        int to_at = g->side_at[s] + i * (line_step * g->acc_bytes + k_step * row);
        int64_t from_at = i * (line_step * side->line + k_step * side->step) * bytes;
        if (ends || ragged) dync__format(there, sizeof there, "%s", dync__ptx_temp(p, "pred"));
        if (ends) {
            const char *here = dync__ptx_temp(p, "s32");
            dync__ptx_line(p, "sub.s32 %s, %%kleft, %d", here, i * k_step);
            dync__ptx_line(p, "setp.lt.s32 %s, %%k%s, %s", there, id, here);
        }
        if (ragged) {
            const char *left = dync__ptx_temp(p, "s32");
            dync__ptx_line(p, "sub.s32 %s, %s, %d", left, s ? "%nleft" : "%mleft", i * line_step);
            dync__ptx_line(p, "setp.lt.and.s32 %s, %%line%s, %s, %s", there, id, left,
                           ends ? there : "%true");
        }
        dync__format(value, sizeof value, "%s", dync__ptx_temp(p, "b32"));
        if (bytes == g->acc_bytes) {
            if (ends || ragged) dync__ptx_line(p, "selp.b32 %s, %d, 0, %s", value, bytes, there);
            dync__cuda_tile_cp(&g->t, bytes, to, to_at, base, from_at,
                               ends || ragged ? value : NULL);
        } else {
            dync__ptx_line(p, "mov.b32 %s, 0", value);
            dync__ptx_line(p, "@%s ld.global.%s %s, [%s+%lld]", there,
                           dync__ptx_memory_type(g->dtype), value, base, (long long)from_at);
            dync__ptx_line(p, "st.shared.b32 [%s+%d], %s", to, to_at, value);
        }
    }
}

/* The same elements, with what is done to them: 16 bytes of neighbouring lines at a time, or one by
 * one. */
static void dync__gms_load_pre(dync__gm *g, int s, const char *to)
{
    dync__ptx *p = &g->t.p;
    const dync__gm_side *side = &g->side[s];
    bool wide = side->how == DYNC__GM_ACROSS, along = !wide && side->step == 1,
         ends = g->k % DYNC__GMS_DEPTH != 0,
         ragged = (s ? g->n : g->m) % dync__gms_lines(g, s) != 0;
    int lines = dync__gms_lines(g, s), row = dync__gms_row(g, s),
        per = wide ? 16 / g->acc_bytes : 1, threads = g->tile.threads;
    int line_step = along ? threads / 8 : 0, k_step = along ? 0 : threads * per / lines;
    const char *at = s ? "%pat1" : "%pat0", *line = s ? "%lineB" : "%lineA",
               *left = s ? "%nleft" : "%mleft";
    dync__gm_pre_transpose(g, s, per, to);
    for (int i = 0; i < lines * DYNC__GMS_DEPTH / (threads * per); i++) {
        char is[40] = "";
        if (ends) {
            const char *here = dync__ptx_temp(p, "s32");
            dync__format(is, sizeof is, "%s", dync__ptx_temp(p, "pred"));
            dync__ptx_line(p, "sub.s32 %s, %%kleft, %d", here, i * k_step);
            dync__ptx_line(p, "setp.lt.s32 %s, %s, %s", is, s ? "%kB" : "%kA", here);
        }
        dync__gm_pre_chunk(g, s, at, i * (line_step * side->line + k_step * side->step), 1,
                           g->side_at[s] + i * (line_step * g->acc_bytes + k_step * row),
                           is[0] ? is : NULL, line, i * line_step, ragged ? left : NULL);
    }
    dync__ptx_line(p, "add.%s %s, %s, %lld", side->pre->p.index, at, at,
                   (long long)(DYNC__GMS_DEPTH * side->step));
}

static void dync__gms_load(dync__gm *g)
{
    int bytes = dync__dtype_info(g->dtype)->bytes;
    for (int s = 0; s < 2; s++) {
        dync__cuda_tile_note(&g->t, "%s: %d lines of %d", s ? "b" : "a", dync__gms_lines(g, s),
                             (int)DYNC__GMS_DEPTH);
        if (g->side[s].gather) {
            dync__gm_gather_single(g, s, dync__gms_lines(g, s), dync__gms_row(g, s));
            continue;
        }
        char to[24];
        dync__format(to, sizeof to, "%s", dync__ptx_temp(&g->t.p, "b32"));
        dync__ptx_line(&g->t.p, "add.u32 %s, %%to, %s", to, s ? "%toB" : "%toA");
        if (g->side[s].pre) {
            dync__gms_load_pre(g, s, to);
            continue;
        }
        if (g->side[s].how == DYNC__GM_ACROSS)
            dync__gms_load_wide(g, s, to);
        else
            dync__gms_load_single(g, s, to);
        dync__ptx_line(&g->t.p, "add.s64 %s, %s, %lld", s ? "%B" : "%A", s ? "%B" : "%A",
                       (long long)(DYNC__GMS_DEPTH * g->side[s].step * bytes));
    }
}

/* v4.b32 or v2.b64 at once. */
static void dync__gms_read(dync__gm *g, const char *reg, int first, const char *address, int at)
{
    if (g->acc_bytes == 8)
        dync__ptx_line(&g->t.p, "ld.shared.v2.b64 {%s%d, %s%d}, [%s+%d]", reg, first, reg,
                       first + 1, address, at);
    else
        dync__ptx_line(&g->t.p, "ld.shared.v4.b32 {%s%d, %s%d, %s%d, %s%d}, [%s+%d]", reg, first,
                       reg, first + 1, reg, first + 2, reg, first + 3, address, at);
}

static void dync__gms_compute(dync__gm *g)
{
    dync__ptx *p = &g->t.p;
    int own = dync__gms_own(g), group = dync__gms_group(g);
    const char *type = dync__ptx_type(g->compute);
    dync__ptx_line(p, "add.u32 %%ra, %%la, %%from");
    dync__ptx_line(p, "add.u32 %%rb, %%lb, %%from");
    for (int k = 0; k < DYNC__GMS_DEPTH; k++) {
        for (int s = 0; s < 2; s++)
            for (int i = 0; i < own / group; i++)
                dync__gms_read(g, s ? "%fb" : "%fa", i * group, s ? "%rb" : "%ra",
                               g->side_at[s] + k * dync__gms_row(g, s) +
                                   i * dync__gms_lines(g, s) / (own / group) * g->acc_bytes);
        for (int i = 0; i < own; i++)
            for (int j = 0; j < own; j++)
                dync__ptx_line(p, "%s.%s %%acc%d, %%fa%d, %%fb%d, %%acc%d",
                               type[0] == 'f' ? "fma.rn" : "mad.lo", type, i * own + j, i, j,
                               i * own + j);
    }
}

/* Group by group of rows, each a part of the tile that is whole. */
static void dync__gms_put(dync__gm *g)
{
    dync__cuda_tile *t = &g->t;
    int own = dync__gms_own(g), group = dync__gms_group(g), parts = own / group,
        row = g->tile.n * g->acc_bytes + 16, rows = g->tile.m / parts;
    dync__cuda_tile_wait(t, 0);
    dync__cuda_tile_set(t, "u32", "%put", "mul.lo", "%%ty, %d", group * row);
    dync__ptx_line(&t->p, "add.u32 %%put, %%put, %%smem");
    dync__ptx_line(&t->p, "mad.lo.u32 %%put, %%tx, %d, %%put", group * g->acc_bytes);
    if (rows * row > t->shared) t->shared = rows * row;
    for (int part = 0; part < parts; part++) {
        dync__cuda_tile_note(t, "rows %d .. %d to shared memory, and from there in order",
                             part * rows, part * rows + rows - 1);
        dync__cuda_tile_barrier(t);
        for (int i = 0; i < group; i++)
            for (int j = 0; j < parts; j++) {
                int acc = (part * group + i) * own + j * group,
                    at = i * row + j * (g->tile.n / parts) * g->acc_bytes;
                if (g->acc_bytes == 8)
                    dync__ptx_line(&t->p, "st.shared.v2.b64 [%%put+%d], {%%acc%d, %%acc%d}", at,
                                   acc, acc + 1);
                else
                    dync__ptx_line(
                        &t->p, "st.shared.v4.b32 [%%put+%d], {%%acc%d, %%acc%d, %%acc%d, %%acc%d}",
                        at, acc, acc + 1, acc + 2, acc + 3);
            }
        dync__gm_flush(g, part * rows, rows, row);
    }
}

DYNC__FN void dync__gm_simt(dync__gm *g)
{
    dync__cuda_tile *t = &g->t;
    const char *type = dync__ptx_type(g->compute);
    g->acc_bytes = dync__dtype_info(g->compute)->bytes;
    /* else ptxas spills a little to get under 64 registers */
    if (g->acc_bytes == 8) t->directives = ".minnctapersm 2\n";
    int own = dync__gms_own(g), group = dync__gms_group(g);
    g->side_at[1] = DYNC__GMS_DEPTH * dync__gms_row(g, 0);
    g->stage_bytes = DYNC__GMS_DEPTH * (dync__gms_row(g, 0) + dync__gms_row(g, 1));
    dync__gm_place(g);
    for (int s = 0; s < 2; s++)
        if (g->side[s].gather)
            dync__gm_gather_single_begin(g, s, dync__gms_lines(g, s));
        else
            dync__gms_begin(g, s);
    dync__cuda_tile_set(t, "u32", "%tx", "rem", "%%thr, %d", g->tile.n / own);
    dync__cuda_tile_set(t, "u32", "%ty", "div", "%%thr, %d", g->tile.n / own);
    dync__cuda_tile_set(t, "u32", "%la", "mul.lo", "%%ty, %d", group * g->acc_bytes);
    dync__cuda_tile_set(t, "u32", "%lb", "mul.lo", "%%tx, %d", group * g->acc_bytes);
    dync__ptx_reg(&t->p, "u32", "%ra");
    dync__ptx_reg(&t->p, "u32", "%rb");
    dync__cuda_tile_regs(t, type, "%fa", own);
    dync__cuda_tile_regs(t, type, "%fb", own);
    dync__cuda_tile_regs(t, type, "%acc", own * own);
    for (int i = 0; i < own * own; i++)
        dync__ptx_line(&t->p, "mov.b%d %%acc%d, 0", g->acc_bytes * 8, i);
    dync__gm_pipeline(g, dync__gms_load, dync__gms_compute);
    dync__gms_put(g);
}

/* ==== cuda/gemm_thin.c ============================================================================= */
/* cuda/gemm_thin.c: products of few rows (up to 8, or few columns, the sides changed): every
 * element of the long side is read once, 16 bytes at a time, and nothing else matters. After
 * gemm_end.c, before gemm.c.
 *
 *   along    its depth is dense (weights of linear layers): a warp has COLUMNS columns, its lanes
 *            share the depth and add up by shuffles
 *   across   its columns are: a lane has the columns of 16 bytes, the warps of a block share the
 *            depth and add up in shared memory, in order
 * The depth is cut over blocks as well until the device is full. Half floats are widened in
 * registers, sums are f32 (f64). */

enum { DYNC__GMT_ROWS = 8, DYNC__GMT_COLUMNS = 4, DYNC__GMT_WARPS = 8, DYNC__GMT_UNROLL = 4 };
static int dync__gmt_vec(const dync__gm *g) { return 16 / dync__dtype_info(g->dtype)->bytes; }
static int dync__gmt_columns(const dync__gm *g) { return g->m > 4 ? 2 : DYNC__GMT_COLUMNS; }

/* reg<first> .. = the elements of 16 bytes at [at + by], as values. */
static void dync__gmt_load(dync__gm *g, const char *reg, int first, const char *at, int64_t by,
                           const char *guard)
{
    dync__ptx *p = &g->t.p;
    char word[4][24];
    int n = g->dtype == DYNC_F64 ? 2 : 4;
    for (int w = 0; w < n; w++) {
        if (n * dync__dtype_info(g->dtype)->bytes == 16)
            dync__format(word[w], sizeof word[w], "%s%d", reg, first + w);
        else
            dync__format(word[w], sizeof word[w], "%s%dw%d", reg, first, w);
        dync__ptx_unloaded(p, guard, n == 2 ? "b64" : "b32", word[w]);
    }
    if (n == 2)
        dync__ptx_line(p, "%sld.global.v2.b64 {%s, %s}, [%s+%lld]", guard, word[0], word[1], at,
                       (long long)by);
    else
        dync__ptx_line(p, "%sld.global.v4.b32 {%s, %s, %s, %s}, [%s+%lld]", guard, word[0], word[1],
                       word[2], word[3], at, (long long)by);
}
/* Half floats come as words; they are widened where they are used, behind all loads. */
static void dync__gmt_widen(dync__gm *g, const char *reg, int first)
{
    dync__ptx *p = &g->t.p;
    for (int w = 0; w < 4 && dync__dtype_info(g->dtype)->bytes == 2; w++) {
        char word[24];
        dync__format(word, sizeof word, "%s%dw%d", reg, first, w);
        if (g->dtype == DYNC_BF16) {
            dync__ptx_line(p, "shl.b32 %s%d, %s, 16", reg, first + 2 * w, word);
            dync__ptx_line(p, "and.b32 %s%d, %s, 0xffff0000", reg, first + 2 * w + 1, word);
            continue;
        }
        const char *low = dync__ptx_temp(p, "b16"), *high = dync__ptx_temp(p, "b16");
        dync__ptx_line(p, "mov.b32 {%s, %s}, %s", low, high, word);
        dync__ptx_line(p, "cvt.f32.f16 %s%d, %s", reg, first + 2 * w, low);
        dync__ptx_line(p, "cvt.f32.f16 %s%d, %s", reg, first + 2 * w + 1, high);
    }
}
static void dync__gmt_regs(dync__gm *g, const char *reg, int vectors)
{
    char word[24];
    int vec = dync__gmt_vec(g);
    dync__cuda_tile_regs(&g->t, g->compute == DYNC_F64 ? "b64" : "b32", reg, vectors * vec);
    for (int v = 0; v < vectors && vec == 8; v++) {
        dync__format(word, sizeof word, "%s%dw", reg, v * vec);
        dync__cuda_tile_regs(&g->t, "b32", word, 4);
    }
}

/* The same of a side; by: in what its addresses count. With something to be done to it: elements
 * one by one where n is 1 (all where `is` says so), made values and rounded as memory would have
 * where the others are widened. number: of the load. */
static void dync__gmt_side(dync__gm *g, int s, int number, int n, const char *reg, int first,
                           const char *at, int64_t by, const char *is)
{
    char guard[24] = "", index[40];
    if (is) dync__format(guard, sizeof guard, "@%s ", is);
    if (!g->side[s].pre) {
        dync__gmt_load(g, reg, first, at, by, guard);
        return;
    }
    dync__ptx *p = &g->t.p;
    const dync__ptx *pre = &g->side[s].pre->p;
    int vec = pre->shape.vec;
    dync__format(index, sizeof index, "%s", dync__ptx_temp(p, pre->index));
    dync__ptx_line(p, pre->index[1] == '3' ? "cvt.u32.u64 %s, %s" : "mov.b64 %s, %s", index, at);
    for (int q = 0; q < n; q += vec)
        dync__gm_pre_group(g, s, (number * n + q) / vec, index, by + q, is);
}
static void dync__gmt_made(dync__gm *g, int s, int number, int n, const char *reg, int first)
{
    dync__ptx *p = &g->t.p;
    char value[8][40], word[8][40], name[24];
    if (!g->side[s].pre) {
        dync__gmt_widen(g, reg, first);
        return;
    }
    int vec = g->side[s].pre->p.shape.vec;
    for (int q = 0; q < n; q += vec)
        (void)dync__gm_pre_values(g, s, (number * n + q) / vec, &value[q]);
    if (n == 8) {
        dync__gm_pre_pack(g, g->dtype, n, value, word);
        for (int w = 0; w < 4; w++) {
            dync__format(name, sizeof name, "%s%dw%d", reg, first, w);
            dync__ptx_line(p, "mov.b32 %s, %s", name, word[w]);
        }
        dync__gmt_widen(g, reg, first);
        return;
    }
    for (int i = 0; i < n; i++) {
        if (g->dtype != g->compute) dync__gm_pre_round(g, value[i]);
        dync__ptx_line(p, "mov.%s %s%d, %s", dync__ptx_bits(g->compute), reg, first + i, value[i]);
    }
}

static void dync__gmt_sums(dync__gm *g, int n)
{
    dync__cuda_tile_regs(&g->t, dync__ptx_type(g->compute), "%acc", n);
    for (int i = 0; i < n; i++) dync__ptx_line(&g->t.p, "mov.b%d %%acc%d, 0", g->acc_bytes * 8, i);
}

/* acc += what the lane `distance` away has. */
static void dync__gmt_shuffle(dync__gm *g, int acc, int distance)
{
    dync__ptx *p = &g->t.p;
    const char *type = dync__ptx_type(g->compute), *other = dync__ptx_temp(p, type);
    if (g->acc_bytes == 4) {
        dync__ptx_line(p, "shfl.sync.bfly.b32 %s, %%acc%d, %d, 31, 0xffffffff", other, acc,
                       distance);
    } else {
        const char *low = dync__ptx_temp(p, "b32"), *high = dync__ptx_temp(p, "b32");
        dync__ptx_line(p, "mov.b64 {%s, %s}, %%acc%d", low, high, acc);
        dync__ptx_line(p, "shfl.sync.bfly.b32 %s, %s, %d, 31, 0xffffffff", low, low, distance);
        dync__ptx_line(p, "shfl.sync.bfly.b32 %s, %s, %d, 31, 0xffffffff", high, high, distance);
        dync__ptx_line(p, "mov.b64 %s, {%s, %s}", other, low, high);
    }
    dync__ptx_line(p, "add.rn.%s %%acc%d, %%acc%d, %s", type, acc, acc, other);
}

static void dync__gmt_along(dync__gm *g)
{
    dync__cuda_tile *t = &g->t;
    dync__ptx *p = &t->p;
    int vec = dync__gmt_vec(g), columns = dync__gmt_columns(g), m = (int)g->m,
        unit[2] = {dync__gm_unit(g, 0), dync__gm_unit(g, 1)};
    const char *type = dync__ptx_type(g->compute);
    dync__cuda_tile_note(t, "the warp's columns, the lane's part of the depth");
    dync__cuda_tile_set(t, "u32", "%col0", "mul.lo", "%%warp, %d", columns);
    dync__cuda_tile_set(t, "s32", "%mine", "mul.lo", "%%lane, %d", vec);
    dync__cuda_tile_wide(t, "%pa", NULL);
    dync__ptx_line(p, "mad.wide.s32 %%pa, %%mine, %d, %%A", unit[0]);
    /* columns past the end read the last one again */
    for (int c = 0; c < columns; c++) {
        char at[24];
        const char *col = dync__ptx_temp(p, "s32"), *last = dync__ptx_temp(p, "s32"),
                   *wide = dync__ptx_temp(p, "s64");
        dync__format(at, sizeof at, "%%pb%d", c);
        dync__ptx_line(p, "add.s32 %s, %%col0, %d", col, c);
        dync__ptx_line(p, "sub.s32 %s, %%nleft, 1", last);
        dync__ptx_line(p, "min.s32 %s, %s, %s", col, col, last);
        dync__ptx_line(p, "cvt.s64.s32 %s, %s", wide, col);
        dync__cuda_tile_set(t, "s64", at, "mad.lo", "%s, %lld, %%B", wide,
                            (long long)(g->side[1].line * unit[1]));
        dync__ptx_line(p, "mad.wide.s32 %s, %%mine, %d, %s", at, unit[1], at);
    }
    dync__gmt_sums(g, m * columns);
    dync__gmt_regs(g, "%va", m);
    dync__gmt_regs(g, "%vb", columns);
    dync__ptx_reg(p, "pred", "%past");
    dync__cuda_tile_label(t, "DEPTH");
    dync__ptx_line(p, "setp.ge.s32 %%past, %%mine, %%klen");
    dync__ptx_line(p, "@%%past bra SUMMED");
    for (int c = 0; c < columns; c++) {
        char at[24];
        dync__format(at, sizeof at, "%%pb%d", c);
        dync__gmt_side(g, 1, c, vec, "%vb", c * vec, at, 0, NULL);
    }
    for (int r = 0; r < m; r++)
        dync__gmt_side(g, 0, r, vec, "%va", r * vec, "%pa", r * g->side[0].line * unit[0], NULL);
    for (int c = 0; c < columns; c++) dync__gmt_made(g, 1, c, vec, "%vb", c * vec);
    for (int r = 0; r < m; r++) dync__gmt_made(g, 0, r, vec, "%va", r * vec);
    for (int v = 0; v < vec; v++)
        for (int r = 0; r < m; r++)
            for (int c = 0; c < columns; c++)
                dync__ptx_line(p, "fma.rn.%s %%acc%d, %%va%d, %%vb%d, %%acc%d", type,
                               r * columns + c, r * vec + v, c * vec + v, r * columns + c);
    dync__ptx_line(p, "add.s64 %%pa, %%pa, %d", 32 * vec * unit[0]);
    for (int c = 0; c < columns; c++)
        dync__ptx_line(p, "add.s64 %%pb%d, %%pb%d, %d", c, c, 32 * vec * unit[1]);
    dync__ptx_line(p, "add.s32 %%mine, %%mine, %d", 32 * vec);
    dync__ptx_line(p, "bra DEPTH");
    dync__cuda_tile_label(t, "SUMMED");
    for (int i = 0; i < m * columns; i++)
        for (int distance = 16; distance; distance /= 2) dync__gmt_shuffle(g, i, distance);
    dync__cuda_tile_note(t, "lane i stores sum i");
    char value[1][24] = {"%acc0"};
    dync__ptx_reg(p, "pred", "%is");
    for (int i = 1; i < m * columns; i++) {
        dync__ptx_line(p, "setp.eq.u32 %%is, %%lane, %d", i);
        dync__ptx_line(p, "selp.%s %%acc0, %%acc%d, %%acc0, %%is", type, i);
    }
    dync__cuda_tile_set(t, "u32", "%row", "div", "%%lane, %d", columns);
    dync__cuda_tile_set(t, "u32", "%col", "rem", "%%lane, %d", columns);
    dync__ptx_line(p, "add.u32 %%col, %%col, %%col0");
    dync__ptx_line(p, "setp.lt.s32 %%is, %%row, %d", m);
    dync__ptx_line(p, "setp.lt.and.s32 %%is, %%col, %%nleft, %%is");
    dync__ptx_line(p, "@!%%is ret");
    dync__ptx_line(p, "add.u32 %%col, %%col, %%n0");
    dync__gm_result(g, 0, "%row", "%col", 1, value);
}

/* A row of b at step u of the unrolled depth, if it is one: predicate %is<u>. */
static void dync__gmt_across_b(dync__gm *g, int u, int vec, int64_t b_step)
{
    dync__ptx *p = &g->t.p;
    const char *k = dync__ptx_temp(p, "s32");
    char is[16];
    dync__format(is, sizeof is, "%%is%d", u);
    dync__ptx_line(p, "add.s32 %s, %%mine, %d", k, u * DYNC__GMT_WARPS);
    dync__ptx_line(p, "setp.lt.s32 %%is%d, %s, %%klen", u, k);
    for (int w = 0; !g->side[1].pre && w < (vec == 8 ? 4 : vec); w++)
        dync__ptx_line(p, "mov.b%d %%vb%d%s%s, 0", g->acc_bytes * 8,
                       vec == 8 ? u * vec : u * vec + w, vec == 8 ? "w" : "",
                       vec == 8 ? w == 0   ? "0"
                                  : w == 1 ? "1"
                                  : w == 2 ? "2"
                                           : "3"
                                : "");
    dync__gmt_side(g, 1, u, vec, "%vb", u * vec, "%pb", u * DYNC__GMT_WARPS * b_step, is);
}

/* The same of all rows of a, one element each. */
static void dync__gmt_across_a(dync__gm *g, int u, int64_t a_step)
{
    dync__ptx *p = &g->t.p;
    int m = (int)g->m, unit = dync__gm_unit(g, 0);
    const char *type = dync__ptx_type(g->compute);
    for (int r = 0; r < m; r++) {
        char value[24], at[64], guard[16];
        int64_t by = u * DYNC__GMT_WARPS * a_step + r * g->side[0].line * unit;
        dync__format(value, sizeof value, "%%va%d", u * m + r);
        if (g->side[0].pre) {
            dync__format(guard, sizeof guard, "%%is%d", u);
            dync__gmt_side(g, 0, u * m + r, 1, "%va", u * m + r, "%pa", by, guard);
            continue;
        }
        dync__format(guard, sizeof guard, "@%%is%d ", u);
        dync__format(at, sizeof at, "%%pa+%lld", (long long)by);
        dync__ptx_line(p, "mov.b%d %s, 0", g->acc_bytes * 8, value);
        if (g->dtype == g->compute) {
            dync__ptx_line(p, "%sld.global.%s %s, [%s]", guard, type, value, at);
            continue;
        }
        char half[24];
        dync__format(half, sizeof half, "%s", dync__ptx_temp(p, "b16"));
        dync__ptx_line(p, "mov.b16 %s, 0", half);
        dync__ptx_line(p, "%sld.global.b16 %s, [%s]", guard, half, at);
        dync__ptx_widen(p, g->dtype, value, half);
    }
}

static void dync__gmt_across_fma(dync__gm *g, int vec)
{
    dync__ptx *p = &g->t.p;
    int m = (int)g->m;
    const char *type = dync__ptx_type(g->compute);
    for (int u = 0; u < DYNC__GMT_UNROLL; u++) {
        dync__gmt_made(g, 1, u, vec, "%vb", u * vec);
        for (int r = 0; r < m && g->side[0].pre; r++)
            dync__gmt_made(g, 0, u * m + r, 1, "%va", u * m + r);
        for (int r = 0; r < m; r++)
            for (int v = 0; v < vec; v++)
                dync__ptx_line(p, "fma.rn.%s %%acc%d, %%va%d, %%vb%d, %%acc%d", type, r * vec + v,
                               u * m + r, u * vec + v, r * vec + v);
    }
}

/* The warps' sums, joined in order by way of shared memory, to the results. */
static void dync__gmt_across_join(dync__gm *g, int vec)
{
    dync__cuda_tile *t = &g->t;
    dync__ptx *p = &t->p;
    int m = (int)g->m, columns = 32 * vec;
    const char *type = dync__ptx_type(g->compute);
    dync__cuda_tile_note(t, "sums of the warps to shared memory, [row][warp][column]");
    dync__cuda_tile_set(t, "u32", "%put", "mad.lo", "%%warp, %d, %%smem", columns * g->acc_bytes);
    dync__ptx_line(p, "mad.lo.u32 %%put, %%col0, %d, %%put", g->acc_bytes);
    for (int r = 0; r < m; r++)
        for (int v = 0; v < vec; v++)
            dync__ptx_line(p, "st.shared.%s [%%put+%d], %%acc%d", type,
                           (r * DYNC__GMT_WARPS * columns + v) * g->acc_bytes, r * vec + v);
    dync__cuda_tile_barrier(t);
    dync__cuda_tile_set(t, "u32", "%q", "mov", "%%thr");
    dync__ptx_reg(p, "pred", "%in");
    dync__cuda_tile_label(t, "RESULTS");
    dync__ptx_line(p, "setp.ge.u32 %%past, %%q, %d", m * columns);
    dync__ptx_line(p, "@%%past ret");
    dync__cuda_tile_set(t, "u32", "%row", "div", "%%q, %d", columns);
    dync__cuda_tile_set(t, "u32", "%col", "rem", "%%q, %d", columns);
    dync__ptx_line(p, "add.u32 %%q, %%q, %d", 32 * DYNC__GMT_WARPS);
    dync__ptx_line(p, "setp.ge.s32 %%in, %%col, %%nleft");
    dync__ptx_line(p, "@%%in bra RESULTS");
    dync__cuda_tile_set(t, "u32", "%get", "mad.lo", "%%row, %d, %%smem",
                        DYNC__GMT_WARPS * columns * g->acc_bytes);
    dync__ptx_line(p, "mad.lo.u32 %%get, %%col, %d, %%get", g->acc_bytes);
    dync__cuda_tile_regs(t, type, "%part", DYNC__GMT_WARPS);
    for (int w = 0; w < DYNC__GMT_WARPS; w++)
        dync__ptx_line(p, "ld.shared.%s %%part%d, [%%get+%d]", type, w, w * columns * g->acc_bytes);
    for (int w = 1; w < DYNC__GMT_WARPS; w++)
        dync__ptx_line(p, "add.rn.%s %%part0, %%part0, %%part%d", type, w);
    char value[1][24] = {"%part0"};
    dync__ptx_line(p, "add.u32 %%col, %%col, %%n0");
    dync__gm_result(g, 0, "%row", "%col", 1, value);
    dync__ptx_line(p, "bra RESULTS");
}

static void dync__gmt_across(dync__gm *g)
{
    dync__cuda_tile *t = &g->t;
    dync__ptx *p = &t->p;
    int vec = dync__gmt_vec(g), m = (int)g->m, unit[2] = {dync__gm_unit(g, 0), dync__gm_unit(g, 1)},
        columns = 32 * vec;
    const char *type = dync__ptx_type(g->compute);
    int64_t a_step = g->side[0].step * unit[0], b_step = g->side[1].step * unit[1];
    (void)dync__cuda_tile_shared(t, DYNC__GMT_WARPS * m * columns * g->acc_bytes, 16);
    dync__cuda_tile_note(t, "the lane's columns; the warp's part of the depth: every %dth",
                         (int)DYNC__GMT_WARPS);
    dync__cuda_tile_set(t, "s32", "%col0", "mul.lo", "%%lane, %d", vec);
    dync__cuda_tile_wide(t, "%wide", NULL);
    dync__ptx_line(p, "cvt.u64.u32 %%wide, %%warp");
    dync__cuda_tile_set(t, "s64", "%pa", "mad.lo", "%%wide, %lld, %%A", (long long)a_step);
    dync__cuda_tile_set(t, "s64", "%pb", "mad.lo", "%%wide, %lld, %%B", (long long)b_step);
    dync__ptx_line(p, "mad.wide.s32 %%pb, %%col0, %d, %%pb", unit[1]);
    dync__gmt_sums(g, m * vec);
    dync__gmt_regs(g, "%vb", DYNC__GMT_UNROLL);
    dync__cuda_tile_regs(t, type, "%va", m * DYNC__GMT_UNROLL);
    dync__ptx_reg(p, "pred", "%out");
    dync__ptx_reg(p, "pred", "%past");
    dync__cuda_tile_regs(t, "pred", "%is", DYNC__GMT_UNROLL);
    dync__cuda_tile_set(t, "s32", "%mine", "mov", "%%warp");
    dync__ptx_line(p, "setp.ge.s32 %%out, %%col0, %%nleft");
    dync__ptx_line(p, "@%%out bra SUMMED");
    dync__cuda_tile_label(t, "DEPTH");
    dync__ptx_line(p, "setp.ge.s32 %%past, %%mine, %%klen");
    dync__ptx_line(p, "@%%past bra SUMMED");
    for (int u = 0; u < DYNC__GMT_UNROLL; u++) dync__gmt_across_b(g, u, vec, b_step);
    for (int u = 0; u < DYNC__GMT_UNROLL; u++) dync__gmt_across_a(g, u, a_step);
    dync__gmt_across_fma(g, vec);
    dync__ptx_line(p, "add.s64 %%pa, %%pa, %lld",
                   (long long)(DYNC__GMT_UNROLL * DYNC__GMT_WARPS * a_step));
    dync__ptx_line(p, "add.s64 %%pb, %%pb, %lld",
                   (long long)(DYNC__GMT_UNROLL * DYNC__GMT_WARPS * b_step));
    dync__ptx_line(p, "add.s32 %%mine, %%mine, %d", DYNC__GMT_UNROLL * DYNC__GMT_WARPS);
    dync__ptx_line(p, "bra DEPTH");
    dync__cuda_tile_label(t, "SUMMED");
    dync__gmt_across_join(g, vec);
}

/* The long side is b. Its ends have to be where 16 bytes end, so that nothing past them is read. */
DYNC__FN bool dync__gm_thin_fits(const dync__gm *g)
{
    int vec = dync__gmt_vec(g);
    int64_t rest = g->side[1].how == DYNC__GM_ALONG ? g->k : g->n;
    if (g->m > DYNC__GMT_ROWS || g->n < 16 || g->k < 64 ||
        (g->compute != DYNC_F32 && g->compute != DYNC_F64) || rest % vec)
        return false;
    return g->side[1].how == DYNC__GM_ALONG ? g->side[0].how == DYNC__GM_ALONG
                                            : g->side[1].how == DYNC__GM_ACROSS;
}

DYNC__FN void dync__gm_thin_choose(dync__gm *g)
{
    int vec = dync__gmt_vec(g);
    bool along = g->side[1].how == DYNC__GM_ALONG;
    int64_t units = dync__cuda_unit_of(g->device >> 8)->units;
    g->depth = along ? 32 * vec : DYNC__GMT_WARPS * DYNC__GMT_UNROLL;
    g->tile = (dync__gm_tile){(int)g->m, along ? 4 * dync__gmt_columns(g) : 32 * vec,
                              along ? 128 : 32 * DYNC__GMT_WARPS, 1, 100};
    int64_t blocks = (g->n + g->tile.n - 1) / g->tile.n * g->batches,
            wanted = units * (along ? 8 : 3), steps = (g->k + g->depth - 1) / g->depth;
    int64_t splits =
        DYNC__MAX(DYNC__MIN(DYNC__MIN((wanted + blocks - 1) / blocks, steps / 4), 32), 1);
    g->chunk = (steps + splits - 1) / splits * g->depth;
    g->splits = (g->k + g->chunk - 1) / g->chunk;
}

DYNC__FN void dync__gm_thin(dync__gm *g)
{
    g->acc_bytes = dync__dtype_info(g->compute)->bytes;
    dync__gm_place(g);
    if (g->side[1].how == DYNC__GM_ALONG)
        dync__gmt_along(g);
    else
        dync__gmt_across(g);
}

/* ==== cuda/wgmma.c ================================================================================= */
/* cuda/wgmma.c: matrix products for compute capability 9.0: wgmma on tiles that TMA brings. After
 * gemm_end.c, before gemm.c, which asks for it as the variant of a product; what it does not take
 * (strides that are no multiple of 16 bytes, 32-bit operands) stays with gemm_mma.c.
 *
 * A block is three warpgroups: one thread of the first loads, the other two multiply, 64 rows of
 * the tile each. They meet in a ring of stages, a pair of mbarriers each: `full` (the bytes of both
 * sides are there) and `empty` (all that read the stage are done with it). Blocks are persistent:
 * cluster c takes tiles c, c + clusters ..., in bands of eight rows of tiles; loading goes on while
 * results are stored. Two blocks of a cluster own tiles of the same columns: each loads half of b
 * and sends it to both.
 *
 *   shared memory   stages: a (128 lines) then b (bn lines), in rows of 128 bytes with 128-byte
 *                   swizzle. A side with k along the row is one box; one with lines along the row
 *                   (16-bit types: the descriptor's transposed form) is a box for each 64 lines
 *   results         alone in a row-major matrix: cast, to shared memory in swizzled rows of 128
 *                   bytes, stored by TMA, two boxes of 64 rows under way for each warpgroup. Else
 *                   32 columns at a time through shared memory into the loop kernel `end`, row by
 *                   row
 *   tails           TMA reads zeros outside of a matrix and does not write there; `end` is guarded
 * Sources: PTX ISA 8.0, 9.7.12.15 (mbarrier), 9.7.8.24 (cp.async.bulk.tensor), 9.7.14 (wgmma). */

/* ---- what TMA takes -------------------------------------------------------------------------- */

static bool dync__wg_dim(dync__ptx_map *m, int64_t size, int64_t stride_bytes, uint32_t box)
{
    if (m->rank == 5 ||
        (size > 1 && (stride_bytes <= 0 || stride_bytes % 16 || stride_bytes >= (int64_t)1 << 40)))
        return false;
    m->stride[m->rank - 1] = size > 1 ? (uint64_t)stride_bytes : 16;
    m->size[m->rank] = (uint64_t)size;
    m->box[m->rank++] = box;
    return true;
}

static bool dync__wg_batch(dync__wg *w, int which, dync__ptx_map *m, int d, int64_t stride_bytes)
{
    if (w->g->batch[d] == 1 || stride_bytes == 0) return true;
    w->batch_at[which][w->n_batch[which]] = d;
    return w->n_batch[which]++ < 3 && dync__wg_dim(m, w->g->batch[d], stride_bytes, 1);
}

DYNC__FN bool dync__wg_side(dync__wg *w, int s)
{
    /* CUtensorMapDataType by DYNC__TILE_ */
    static const int types[] = {9, 6, 7, 0, 0};
    const dync__gm *g = w->g;
    const dync__gm_side *side = &g->side[s];
    int64_t lines = s ? g->n : g->m;
    dync__ptx_map *m = &w->t->out.map[s];
    bool by_k = side->step == 1 && side->line * w->bytes % 16 == 0;
    if ((!by_k && (side->line != 1 || w->bytes != 2)) || side->offset * w->bytes % 16) return false;
    uint32_t across = (uint32_t)(!by_k ? w->depth / (s && w->bn / 64 < w->cluster ? w->cluster : 1)
                                 : s   ? w->bn / w->cluster
                                       : DYNC__WG_BM);
    w->by_k[s] = by_k;
    if (s) w->cut_k = !by_k && w->bn / 64 < w->cluster;
    *m = (dync__ptx_map){.buf = side->buf,
                         .type = types[g->kind],
                         .rank = 1,
                         .swizzle = 3,
                         .offset = side->offset * w->bytes,
                         .size = {(uint64_t)(by_k ? g->k : lines)},
                         .box = {(uint32_t)(128 / w->bytes)}};
    if (!dync__wg_dim(m, by_k ? lines : g->k, (by_k ? side->line : side->step) * w->bytes, across))
        return false;
    for (int d = g->n_batch - 1; d >= 0; d--)
        if (!dync__wg_batch(w, s, m, d, side->batch[d] * w->bytes)) return false;
    return true;
}

DYNC__FN bool dync__wg_result(dync__wg *w)
{
    const dync__gm *g = w->g;
    const dync__kernel *e = g->end;
    dync__ptx_map *m = &w->t->out.map[2];
    if (e->inst.n != 2 || e->inst.at[1].prim != DYNC__P_store || e->inst.at[0].buf != g->given ||
        g->compute != DYNC_F32)
        return false;
    const dync__buf *to = &e->buf.at[e->inst.at[1].buf];
    const dync__access *a = &e->access.at[e->inst.at[1].access];
    int d = e->n_dims - 1, batch = g->n_batch - 1;
    w->out_bytes = dync__dtype_info(to->dtype)->bytes;
    if (d < 1 || e->extent[d] != g->n || a->stride[d] != 1 ||
        (to->dtype != DYNC_BF16 && to->dtype != DYNC_F16))
        return false;
    int64_t rows = e->extent[--d], row = a->stride[d];
    /* batches that became rows have to follow each other */
    while (rows < g->m && d > 0) {
        if (rows > 1 && e->extent[d - 1] > 1 && a->stride[d - 1] != rows * row) return false;
        if (rows == 1) row = a->stride[d - 1];
        rows *= e->extent[--d];
    }
    *m = (dync__ptx_map){.buf = e->inst.at[1].buf,
                         .type = to->dtype == DYNC_BF16 ? 9 : 6,
                         .rank = 1,
                         .swizzle = 3,
                         .offset = a->offset * w->out_bytes,
                         .size = {(uint64_t)g->n},
                         .box = {(uint32_t)(128 / w->out_bytes)}};
    if (rows != g->m || m->offset % 16 || !dync__wg_dim(m, rows, row * w->out_bytes, 64))
        return false;
    for (; d > 0; d--, batch--)
        if (batch < 0 || e->extent[d - 1] != g->batch[batch] ||
            !dync__wg_batch(w, 2, m, batch, a->stride[d - 1] * w->out_bytes) ||
            (g->batch[batch] > 1 && a->stride[d - 1] == 0))
            return false;
    return batch < 0;
}

/* ---- pieces of text -------------------------------------------------------------------------- */

DYNC__FN void dync__wg_wait(dync__wg *w, const char *bar, const char *parity)
{
    int label = w->labels++;
    dync__cuda_tile_label(w->t, "WAIT_%d", label);
    dync__ptx_line(&w->t->p, "mbarrier.try_wait.parity.shared::cta.b64 %%done, [%s], %s", bar,
                   parity);
    dync__ptx_line(&w->t->p, "@!%%done bra WAIT_%d", label);
}

DYNC__FN void dync__wg_next(dync__wg *w)
{
    dync__ptx *p = &w->t->p;
    dync__ptx_line(p, "add.u32 %%stage, %%stage, 1");
    dync__ptx_line(p, "setp.eq.u32 %%wrap, %%stage, %d", w->stages);
    dync__ptx_line(p, "@%%wrap mov.u32 %%stage, 0");
    dync__ptx_line(p, "@%%wrap xor.b32 %%parity, %%parity, 1");
}

DYNC__FN void dync__wg_place(dync__wg *w)
{
    const dync__gm *g = w->g;
    dync__ptx *p = &w->t->p;
    dync__ptx_line(p, "rem.u32 %%in, %%tile, %lld", (long long)(w->down * w->across));
    dync__ptx_line(p, "div.u32 %%batch, %%tile, %lld", (long long)(w->down * w->across));
    dync__ptx_line(p, "div.u32 %%m0, %%in, %lld", (long long)(w->across * DYNC__WG_BAND));
    dync__ptx_line(p, "rem.u32 %%in, %%in, %lld", (long long)(w->across * DYNC__WG_BAND));
    dync__ptx_line(p, "mul.lo.u32 %%m0, %%m0, %d", DYNC__WG_BAND);
    dync__ptx_line(p, "sub.u32 %%rows, %lld, %%m0", (long long)w->down);
    dync__ptx_line(p, "min.u32 %%rows, %%rows, %d", DYNC__WG_BAND);
    dync__ptx_line(p, "div.u32 %%n0, %%in, %%rows");
    dync__ptx_line(p, "rem.u32 %%in, %%in, %%rows");
    dync__ptx_line(p, "add.u32 %%m0, %%m0, %%in");
    dync__ptx_line(p, "mad.lo.u32 %%m0, %%m0, %d, %%rank", w->cluster);
    dync__ptx_line(p, "mul.lo.u32 %%m0, %%m0, %d", DYNC__WG_BM);
    dync__ptx_line(p, "mul.lo.u32 %%n0, %%n0, %d", w->bn);
    if (g->batches == 1) return;
    dync__ptx_line(p, "mov.u32 %%in, %%batch");
    for (int d = g->n_batch - 1; d >= 0; d--) {
        dync__ptx_line(p, "rem.u32 %%at%d, %%in, %lld", d, (long long)g->batch[d]);
        dync__ptx_line(p, "div.u32 %%in, %%in, %lld", (long long)g->batch[d]);
    }
}

DYNC__FN void dync__wg_coordinates(const dync__wg *w, int which, const char *first,
                                   const char *second, char out[120])
{
    int n = dync__format(out, 120, "{%s, %s", first, second);
    for (int i = 0; i < w->n_batch[which]; i++)
        n += dync__format(out + n, 120 - (size_t)n, ", %%at%d", w->batch_at[which][i]);
    dync__format(out + n, 120 - (size_t)n, "}");
}

/* ---- the warpgroup that loads ---------------------------------------------------------------- */

static void dync__wg_load(dync__wg *w, int s)
{
    dync__ptx *p = &w->t->p;
    int boxes = w->by_k[s] || (s && w->cut_k) ? 1 : s ? w->bn / 64 / w->cluster : DYNC__WG_BM / 64;
    bool shared = s && w->cluster > 1;
    for (int i = 0; i < boxes; i++) {
        char at[120];
        const char *line = s ? "%nb" : "%m0", *k = s && w->cut_k ? "%kb" : "%kk";
        if (i) {
            line = dync__ptx_temp(p, "u32");
            dync__ptx_line(p, "add.u32 %s, %s, %d", line, s ? "%nb" : "%m0", 64 * i);
        }
        dync__wg_coordinates(w, s, w->by_k[s] ? k : line, w->by_k[s] ? line : k, at);
        dync__ptx_line(
            p,
            "cp.async.bulk.tensor.%dd.shared::cluster.global.tile.mbarrier::complete_tx::bytes%s "
            "[%s+%d], [%%map%d, %s], [%%full]%s",
            w->t->out.map[s].rank, shared ? ".multicast::cluster" : "", shared ? "%tob" : "%to",
            (s ? DYNC__WG_BM * 128 : 0) + i * DYNC__WG_BOX, s, at, shared ? ", %everyone" : "");
    }
}

DYNC__FN void dync__wg_producer(dync__wg *w)
{
    dync__cuda_tile *t = w->t;
    dync__ptx *p = &t->p;
    int64_t iterations = (w->g->k + w->depth - 1) / w->depth;
    dync__cuda_tile_note(t, "the first warpgroup: one thread loads");
    dync__ptx_line(p, "setmaxnreg.dec.sync.aligned.u32 40");
    dync__ptx_line(p, "setp.ne.u32 %%idle, %%thr, 0");
    dync__ptx_line(p, "@%%idle bra DONE");
    dync__ptx_line(p, "mov.u32 %%parity, 1");
    dync__cuda_tile_label(t, "LOAD_TILE");
    dync__ptx_line(p, "setp.ge.u32 %%last, %%tile, %lld",
                   (long long)(w->down * w->across * w->g->batches));
    dync__ptx_line(p, "@%%last bra DONE");
    dync__wg_place(w);
    dync__ptx_line(p, "mad.lo.u32 %%nb, %%rank, %d, %%n0", w->cut_k ? 0 : w->bn / w->cluster);
    dync__ptx_line(p, "mov.u32 %%kk, 0");
    dync__cuda_tile_label(t, "LOAD");
    dync__ptx_line(p, "mad.lo.u32 %%full, %%stage, 8, %%bars");
    dync__ptx_line(p, "add.u32 %%empty, %%full, %d", 8 * w->stages);
    dync__ptx_line(p, "mad.lo.u32 %%to, %%stage, %d, %%smem", w->stage_bytes);
    dync__wg_wait(w, "%empty", "%parity");
    dync__ptx_line(p, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%%full], %d", w->stage_bytes);
    if (w->cluster > 1)
        dync__ptx_line(p, "mad.lo.u32 %%tob, %%rank, %d, %%to", w->bn / w->cluster * 128);
    if (w->cut_k) dync__ptx_line(p, "mad.lo.u32 %%kb, %%rank, %d, %%kk", w->depth / w->cluster);
    dync__wg_load(w, 0);
    dync__wg_load(w, 1);
    dync__wg_next(w);
    dync__ptx_line(p, "add.u32 %%kk, %%kk, %d", w->depth);
    dync__ptx_line(p, "setp.lt.u32 %%more, %%kk, %lld", (long long)(iterations * w->depth));
    dync__ptx_line(p, "@%%more bra LOAD");
    dync__ptx_line(p, "add.u32 %%tile, %%tile, %%clusters");
    dync__ptx_line(p, "bra LOAD_TILE");
}

/* ==== cuda/wgmma_multiply.c ======================================================================== */
/* cuda/wgmma_multiply.c: the warpgroups that multiply and store, and the whole text of a product by
 * wgmma. After wgmma.c, before conv_direct.c. */

/* ---- the two that multiply ------------------------------------------------------------------- */

/* Sums of this stage: four steps of 32 bytes of k. */
static void dync__wg_multiply(dync__wg *w)
{
    dync__ptx *p = &w->t->p;
    const dync__cuda_tile_kind *kind = dync__cuda_tile_kind_of(w->g->kind);
    bool whole = kind->bytes == 1;
    dync__ptx_line(p, "wgmma.fence.sync.aligned");
    for (int i = 0; i < 4; i++) {
        for (int s = 0; s < 2 && i; s++)
            dync__ptx_line(p, "add.s64 %%d%c, %%d%c, %d", 'a' + s, 'a' + s,
                           w->by_k[s] ? 32 >> 4 : kind->k * 128 >> 4);
        dync__str_addf(&p->body, "    wgmma.mma_async.sync.aligned.m64n%dk%d.%s.%s.%s {%%c0", w->bn,
                       kind->k, kind->acc, kind->in, kind->in);
        for (int c = 1; c < w->bn / 2; c++) dync__str_addf(&p->body, ", %%c%d", c);
        dync__str_addf(&p->body, "}, %%da, %%db, %s%s", i ? "%true" : "%go_on",
                       whole ? "" : ", 1, 1");
        if (kind->bytes == 2) dync__str_addf(&p->body, ", %d, %d", !w->by_k[0], !w->by_k[1]);
        dync__str_add(&p->body, ";\n");
    }
    dync__ptx_line(p, "wgmma.commit_group.sync.aligned");
}

/* %before, a stage, may be filled again, in every block of the cluster. */
static void dync__wg_release(dync__wg *w)
{
    dync__ptx *p = &w->t->p;
    dync__ptx_line(p, "mad.lo.u32 %%empty, %%before, 8, %%there");
    if (w->cluster > 1)
        dync__ptx_line(p, "@%%signals mbarrier.arrive.shared::cluster.b64 _, "
                          "[%%empty]");
    else
        dync__ptx_line(p, "@%%signals mbarrier.arrive.shared::cta.b64 _, [%%empty]");
}

/* The descriptor of what begins at `base` (b32): stride of 8 rows or 8 k's, of 64 lines where they
 * lie along the row; 128-byte swizzle. */
static void dync__wg_descriptor(dync__wg *w, const char *name, const char *base, bool by_k)
{
    dync__ptx *p = &w->t->p;
    dync__ptx_reg(p, "b64", name);
    dync__cuda_tile_descriptor(w->t, name, base, by_k ? 16 : DYNC__WG_BOX);
}

/* Two sums as two elements of the result in a word. */
static const char *dync__wg_pair(dync__wg *w, int c)
{
    dync__ptx *p = &w->t->p;
    const char *both = dync__ptx_temp(p, "b32");
    bool bf16 = w->t->out.map[2].type == 9;
    dync__ptx_line(p, "cvt.rn.%s.f32 %s, %%c%d, %%c%d", bf16 ? "bf16x2" : "f16x2", both, c + 1, c);
    return both;
}

/* 64 columns at a time: a box of shared memory free, the box written, stored. */
static void dync__wg_store_boxes(dync__wg *w)
{
    dync__cuda_tile *t = w->t;
    dync__ptx *p = &t->p;
    char at[120];
    dync__ptx_line(p, "mad.lo.u32 %%m0, %%half, 64, %%m0");
    for (int box = 0; box < w->bn / 64; box++) {
        int to = box % 2 * DYNC__WG_BOX;
        /* the box before may be under way, where it is the other one */
        dync__ptx_line(p, "@%%leads cp.async.bulk.wait_group.read %d", w->bn > 64);
        dync__ptx_line(p, "bar.sync %%meet, 128");
        for (int j = 0; j < 8; j++) {
            const char *address = dync__ptx_temp(p, "u32");
            dync__ptx_line(p, "xor.b32 %s, %%chunk, %d", address, j * 16);
            dync__ptx_line(p, "add.u32 %s, %s, %%put", address, address);
            for (int half = 0; half < 2; half++)
                dync__ptx_line(p, "st.shared.b32 [%s+%d], %s", address, to + half * 1024,
                               dync__wg_pair(w, box * 32 + j * 4 + half * 2));
        }
        dync__ptx_line(p, "fence.proxy.async.shared::cta");
        dync__ptx_line(p, "bar.sync %%meet, 128");
        dync__wg_coordinates(w, 2, "%n0", "%m0", at);
        dync__ptx_line(
            p,
            "@%%leads cp.async.bulk.tensor.%dd.global.shared::cta.tile.bulk_group [%%map2, %s], "
            "[%%boxes+%d]",
            t->out.map[2].rank, at, to);
        dync__ptx_line(p, "@%%leads cp.async.bulk.commit_group");
        dync__ptx_line(p, "add.u32 %%n0, %%n0, 64");
    }
}

/* 32 columns at a time: the 16 rows of a warp to shared memory, from there in groups of neighbours
 * to `end`. */
static void dync__wg_store_rows(dync__wg *w)
{
    dync__gm *g = w->g;
    dync__cuda_tile *t = w->t;
    dync__ptx *p = &t->p;
    int vec = p->shape.vec, groups = 32 / vec;
    char value[8][24], linear[24];
    dync__ptx_line(p, "mad.lo.u32 %%m0, %%warp16, 16, %%m0");
    for (int box = 0; box < w->bn / 32; box++) {
        dync__ptx_line(p, "setp.ge.u32 %%last, %%n0, %lld", (long long)g->n);
        dync__ptx_line(p, "@%%last bra STORED");
        dync__ptx_line(p, "bar.warp.sync 0xffffffff");
        for (int i = 0; i < 8; i++)
            dync__ptx_line(p, "st.shared.v2.b32 [%%put+%d], {%%c%d, %%c%d}",
                           i / 2 * 32 + i % 2 * 8 * DYNC__WG_END_ROW, box * 16 + i * 2,
                           box * 16 + i * 2 + 1);
        dync__ptx_line(p, "bar.warp.sync 0xffffffff");
        dync__ptx_line(p, "mov.u32 %%q, %%lane");
        dync__cuda_tile_label(t, "ROWS_%d", box);
        dync__ptx_line(p, "div.u32 %%row, %%q, %d", groups);
        dync__ptx_line(p, "rem.u32 %%col, %%q, %d", groups);
        dync__ptx_line(p, "mad.lo.u32 %%sums, %%row, %d, %%boxes", DYNC__WG_END_ROW);
        dync__ptx_line(p, "mad.lo.u32 %%sums, %%col, %d, %%sums", vec * 4);
        dync__ptx_line(p, "add.u32 %%row, %%row, %%m0");
        dync__ptx_line(p, "mad.lo.u32 %%col, %%col, %d, %%n0", vec);
        dync__ptx_line(p, "add.u32 %%q, %%q, 32");
        dync__ptx_line(p, "setp.lt.u32 %%more, %%q, %d", 16 * groups);
        dync__ptx_line(p, "setp.ge.u32 %%last, %%row, %lld", (long long)g->m);
        dync__ptx_line(p, "setp.ge.or.u32 %%last, %%col, %lld, %%last", (long long)g->n);
        dync__ptx_line(p, "@%%last bra OUT_%d", box);
        dync__gm_read_sums(g, "shared", "%sums", vec, value);
        dync__format(linear, sizeof linear, "%%lin%d", box);
        dync__gm_linear(g, linear, "%row", "%col");
        dync__cuda_tile_piece(t, linear, g->given, value);
        dync__cuda_tile_label(t, "OUT_%d", box);
        dync__ptx_line(p, "@%%more bra ROWS_%d", box);
        dync__ptx_line(p, "add.u32 %%n0, %%n0, 32");
    }
    dync__cuda_tile_label(t, "STORED");
}

/* Where a thread's sums go in shared memory: row lane / 4 of its warp, columns lane % 4 * 2 and the
 * next. */
static void dync__wg_end_registers(dync__wg *w)
{
    dync__cuda_tile *t = w->t;
    dync__ptx *p = &t->p;
    dync__cuda_tile_set(t, "b32", "%quad", "and", "%%lane, 3");
    dync__cuda_tile_set(t, "u32", "%line", "shr", "%%lane, 2");
    dync__cuda_tile_set(t, "u32", "%warp16", "sub", "%%warp, 4");
    dync__cuda_tile_set(t, "u32", "%boxes", "add", "%%smem, %d", w->end_at);
    dync__ptx_reg(p, "u32", "%put");
    if (w->by_box) {
        dync__ptx_line(p, "mad.lo.u32 %%boxes, %%half, %d, %%boxes", 2 * DYNC__WG_BOX);
        dync__cuda_tile_set(t, "b32", "%in4", "and", "%%warp, 3");
        dync__cuda_tile_set(t, "b32", "%chunk", "shl", "%%line, 4");
        dync__ptx_line(p, "mad.lo.u32 %%put, %%in4, %d, %%boxes", 16 * 128);
        dync__ptx_line(p, "mad.lo.u32 %%put, %%line, 128, %%put");
        dync__ptx_line(p, "mad.lo.u32 %%put, %%quad, 4, %%put");
        dync__cuda_tile_set(t, "u32", "%meet", "add", "%%half, 1");
        return;
    }
    static const char *const words[] = {"%q", "%row", "%col", "%sums"};
    for (int i = 0; i < 4; i++) dync__ptx_reg(p, "u32", words[i]);
    dync__ptx_line(p, "mad.lo.u32 %%boxes, %%warp16, %d, %%boxes", 16 * DYNC__WG_END_ROW);
    dync__ptx_line(p, "mad.lo.u32 %%put, %%line, %d, %%boxes", DYNC__WG_END_ROW);
    dync__ptx_line(p, "mad.lo.u32 %%put, %%quad, 8, %%put");
}

static void dync__wg_consumer(dync__wg *w)
{
    dync__cuda_tile *t = w->t;
    dync__ptx *p = &t->p;
    int64_t iterations = (w->g->k + w->depth - 1) / w->depth;
    dync__cuda_tile_note(t, "the other two: 64 rows each");
    dync__ptx_line(p, "setmaxnreg.inc.sync.aligned.u32 232");
    dync__cuda_tile_set(t, "u32", "%half", "sub", "%%group, 1");
    dync__cuda_tile_set(t, "b32", "%inside", "and", "%%thr, 127");
    dync__ptx_line(p, "setp.eq.u32 %%leads, %%inside, 0");
    dync__ptx_line(p, "setp.lt.u32 %%signals, %%inside, %d", w->cluster);
    dync__cuda_tile_set(t, "u32", "%there", "add", "%%bars, %d", 8 * w->stages);
    if (w->cluster > 1) {
        dync__ptx_line(p, "min.u32 %%inside, %%inside, %d", w->cluster - 1);
        dync__ptx_line(p, "mapa.shared::cluster.u32 %%there, %%there, %%inside");
    }
    dync__cuda_tile_set(t, "u32", "%mine", "mad.lo", "%%half, %d, %%smem", DYNC__WG_BOX);
    dync__wg_descriptor(w, "%da0", "%mine", w->by_k[0]);
    dync__ptx_line(p, "add.u32 %%mine, %%smem, %d", DYNC__WG_BM * 128);
    dync__wg_descriptor(w, "%db0", "%mine", w->by_k[1]);
    dync__cuda_tile_regs(t, dync__cuda_tile_kind_of(w->g->kind)->acc, "%c", w->bn / 2);
    dync__wg_end_registers(w);
    dync__ptx_line(p, "mov.u32 %%parity, 0");
    dync__cuda_tile_label(t, "TILE");
    dync__ptx_line(p, "setp.ge.u32 %%last, %%tile, %lld",
                   (long long)(w->down * w->across * w->g->batches));
    dync__ptx_line(p, "@%%last bra ALL");
    dync__ptx_line(p, "mov.u32 %%kk, 0");
    dync__ptx_line(p, "setp.ne.u32 %%go_on, 0, 0");
    dync__cuda_tile_label(t, "MULTIPLY");
    dync__ptx_line(p, "mad.lo.u32 %%full, %%stage, 8, %%bars");
    dync__wg_wait(w, "%full", "%parity");
    dync__ptx_line(p, "mul.wide.u32 %%offset, %%stage, %d", w->stage_bytes >> 4);
    dync__ptx_line(p, "add.s64 %%da, %%da0, %%offset");
    dync__ptx_line(p, "add.s64 %%db, %%db0, %%offset");
    dync__wg_multiply(w);
    dync__cuda_tile_note(t, "one stage's products are under way; those of the one before are done");
    dync__ptx_line(p, "wgmma.wait_group.sync.aligned 1");
    dync__ptx_line(p, "@!%%go_on bra FIRST");
    dync__wg_release(w);
    dync__cuda_tile_label(t, "FIRST");
    dync__ptx_line(p, "setp.eq.u32 %%go_on, 0, 0");
    dync__ptx_line(p, "mov.u32 %%before, %%stage");
    dync__wg_next(w);
    dync__ptx_line(p, "add.u32 %%kk, %%kk, 1");
    dync__ptx_line(p, "setp.lt.u32 %%more, %%kk, %lld", (long long)iterations);
    dync__ptx_line(p, "@%%more bra MULTIPLY");
    dync__ptx_line(p, "wgmma.wait_group.sync.aligned 0");
    dync__wg_release(w);
    dync__wg_place(w);
    if (w->by_box)
        dync__wg_store_boxes(w);
    else
        dync__wg_store_rows(w);
    dync__ptx_line(p, "add.u32 %%tile, %%tile, %%clusters");
    dync__ptx_line(p, "bra TILE");
    dync__cuda_tile_label(t, "ALL");
    if (w->by_box) dync__ptx_line(p, "@%%leads cp.async.bulk.wait_group.read 0");
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void dync__wg_begin(dync__wg *w, int64_t clusters)
{
    dync__cuda_tile *t = w->t;
    dync__ptx *p = &t->p;
    static const char *const words[] = {"%stage", "%parity", "%tile", "%in",     "%rows", "%m0",
                                        "%n0",    "%batch",  "%nb",   "%kk",     "%kb",   "%full",
                                        "%empty", "%to",     "%tob",  "%before", "%rank"};
    static const char *const preds[] = {"%done",  "%wrap",    "%last",  "%more", "%idle",
                                        "%go_on", "%signals", "%leads", "%first"};
    for (int i = 0; i < DYNC__COUNT_OF(words); i++) dync__ptx_reg(p, "u32", words[i]);
    for (int i = 0; i < DYNC__COUNT_OF(preds); i++) dync__ptx_reg(p, "pred", preds[i]);
    for (int d = 0; d < w->g->n_batch; d++) dync__str_addf(&p->regs, "    .reg .u32 %%at%d;\n", d);
    for (int i = 0; i < 3; i++)
        dync__ptx_reg(p, "b64", i == 0 ? "%offset" : i == 1 ? "%da" : "%db");
    for (int i = 0; i < t->out.n_maps; i++) {
        char name[16];
        dync__format(name, sizeof name, "%%map%d", i);
        dync__ptx_reg(p, "b64", name);
        dync__ptx_line(p, "mov.b64 %s, m%d", name, i);
        dync__ptx_line(p, "cvta.param.u64 %s, %s", name, name);
    }
    dync__cuda_tile_set(t, "u32", "%bars", "add", "%%smem, %d", w->bars);
    dync__cuda_tile_set(t, "u32", "%group", "shr", "%%thr, 7");
    dync__ptx_line(p, "setp.eq.u32 %%first, %%thr, 0");
    for (int i = 0; i < 2 * w->stages; i++)
        dync__ptx_line(p, "@%%first mbarrier.init.shared::cta.b64 [%%bars+%d], %d", 8 * i,
                       i < w->stages ? 1 : 2 * w->cluster);
    dync__ptx_line(p, "@%%first fence.mbarrier_init.release.cluster");
    dync__ptx_line(p, "mov.u32 %%rank, %s", w->cluster > 1 ? "%cluster_ctarank" : "0");
    if (w->cluster > 1) {
        dync__ptx_line(p, "barrier.cluster.arrive.release.aligned");
        dync__ptx_line(p, "barrier.cluster.wait.acquire.aligned");
        dync__ptx_reg(p, "b16", "%everyone");
        dync__ptx_line(p, "mov.b16 %%everyone, %d", (1 << w->cluster) - 1);
    } else {
        dync__ptx_line(p, "bar.sync 0");
    }
    dync__ptx_line(p, "mov.u32 %%stage, 0");
    dync__ptx_line(p, "div.u32 %%tile, %%cta, %d", w->cluster);
    dync__cuda_tile_set(t, "u32", "%clusters", "mov", "%lld", (long long)clusters);
    dync__ptx_line(p, "setp.ne.u32 %%idle, %%group, 0");
    dync__ptx_line(p, "@%%idle bra CONSUME");
}

/* Tile and cluster: the fewest passes over the device, weighted with what a tile reaches. False:
 * too small a problem to fill a part of it. */
static bool dync__wg_choose(dync__wg *w)
{
    const dync__gm *g = w->g;
    int64_t units = dync__cuda_unit_of(g->device >> 8)->units,
            rows = (g->m + DYNC__WG_BM - 1) / DYNC__WG_BM;
    double best = 0;
    w->cluster = rows % 2 == 0 || rows > 8 ? 2 : 1;
    if (units < 2) w->cluster = 1;
    w->down = (rows + w->cluster - 1) / w->cluster;
    for (int bn = 256; bn >= 64; bn /= 2) {
        int64_t across = (g->n + bn - 1) / bn, places = units / w->cluster,
                tiles = w->down * across * g->batches;
        double cost = (double)((tiles + places - 1) / places) * bn *
                      (bn == 256   ? 1.0
                       : bn == 128 ? 1.2
                                   : 1.6);
        if (bn < 256 && cost >= best) continue;
        best = cost;
        w->bn = bn;
        w->across = across;
    }
    int64_t tiles = w->down * w->across * g->batches;
    return g->m > 64 && g->n > 32 && g->k >= w->depth && tiles < 1 << 30 &&
           tiles * w->cluster * 2 >= units;
}

DYNC__FN bool dync__gm_wgmma_suits(const dync__gm *g)
{
    dync__gm copy = *g;
    dync__wg w = {.g = &copy};
    if (!dync__cuda_takes(g->device, "sm_90a", 80) || g->kind < 0 || g->kind == DYNC__TILE_TF32)
        return false;
    w.depth = 128 / dync__dtype_info(g->dtype)->bytes;
    return dync__wg_choose(&w);
}

DYNC__FN bool dync__gm_wgmma(const dync__gm *from, dync__ptx_text *out)
{
    dync__gm *g = dync__arena_copy(from->arena, from, sizeof *from);
    dync__wg w = {.g = g};
    char name[80];
    if (!g || !dync__cuda_takes(g->device, "sm_90a", 80) || g->kind < 0 ||
        g->kind == DYNC__TILE_TF32 || g->side[0].gather || g->side[1].gather)
        return false;
    w.t = &g->t;
    w.bytes = dync__dtype_info(g->dtype)->bytes;
    w.depth = 128 / w.bytes;
    g->acc_bytes = 4;
    if (!dync__wg_choose(&w) ||
        !dync__cuda_tile_begin_kernel(w.t, g->arena, g->end, g->host, g->n, false))
        return false;
    dync__cuda_tile *t = w.t;
    bool ok = dync__wg_side(&w, 0) && dync__wg_side(&w, 1);
    w.by_box = ok && dync__wg_result(&w);
    if (ok) {
        int64_t tiles = w.down * w.across * g->batches,
                clusters = DYNC__MIN(
                    tiles, DYNC__MAX(dync__cuda_unit_of(g->device >> 8)->units / w.cluster, 1));
        t->out.n_maps = w.by_box ? 3 : 2;
        t->target = "sm_90a";
        t->p.n_checks = w.by_box ? 0 : t->p.n_checks;
        w.stages = w.bn == 256 ? 4 : w.bn == 128 ? 5 : 6;
        w.stage_bytes = (DYNC__WG_BM + w.bn) * 128;
        (void)dync__cuda_tile_shared(t, w.stages * w.stage_bytes, 1024);
        w.end_at =
            dync__cuda_tile_shared(t, w.by_box ? 4 * DYNC__WG_BOX : 128 * DYNC__WG_END_ROW, 1024);
        w.bars = dync__cuda_tile_shared(t, 16 * w.stages, 8);
        dync__wg_begin(&w, clusters);
        dync__wg_producer(&w);
        dync__cuda_tile_label(t, "CONSUME");
        dync__wg_consumer(&w);
        dync__cuda_tile_label(t, "DONE");
        /* nobody leaves while others send to it; the lanes that did not load wait for the one that
         * did */
        if (w.cluster > 1) {
            dync__ptx_line(&t->p, "bar.warp.sync 0xffffffff");
            dync__ptx_line(&t->p, "barrier.cluster.arrive.release.aligned");
            dync__ptx_line(&t->p, "barrier.cluster.wait.acquire.aligned");
        }
        /* with the number of threads this tells ptxas the registers that there are at the entry,
         * which setmaxnreg is compiled for */
        t->directives = w.cluster > 1
                            ? ".minnctapersm 1\n.explicitcluster\n.reqnctapercluster 2, 1, 1\n"
                            : ".minnctapersm 1\n";
        dync__format(name, sizeof name, "gemm_%s_wgmma_%dx%d", dync__dtype_info(g->dtype)->name,
                     DYNC__WG_BM * w.cluster, w.bn);
        dync__cuda_tile_entry(t, name, clusters * w.cluster, 1, 1, DYNC__WG_THREADS);
        ok = t->p.n_checks + t->out.n_maps <= DYNC__PTX_CHECKS && !t->p.failed &&
             !t->out.text.failed;
        t->out.n_checks = t->p.n_checks;
        memcpy(t->out.check, t->p.check, sizeof t->out.check);
        for (int i = 0; ok && i < t->out.n_maps; i++)
            t->out.check[t->out.n_checks++] =
                (dync__ptx_check){t->out.map[i].buf, 16, t->out.map[i].offset};
    }
    dync__str_free(&t->p.regs);
    dync__str_free(&t->p.body);
    *out = t->out;
    if (!ok) dync__str_free(&out->text);
    return ok;
}

/* ==== cuda/conv_direct.c =========================================================================== */
/* cuda/conv_direct.c: convolutions of one channel to a group (depthwise), which are no products.
 * After gemm_end.c, before gemm.c and conv.c.
 *
 * Forward: a thread computes as many neighbours of a row as are stored at once. For each row of the
 * window it reads every column that one of them needs once: 3 x 3, four neighbours: 18 loads
 * instead of 36, which neighbouring threads find in the first cache. Sums are f32 (f64), in the
 * order of the window; what follows is done on them. The data gradient of stride 1 is the same with
 * the window flipped. Data gradient of a longer stride: a thread computes a rectangle as high as
 * the stride, and as wide as the stride or a multiple, so that which elements of the window meet
 * which gradient is known when the text is made: 3 x 3 of stride 2 takes 4 loads for 4 results.
 * Weight gradient: a block has a channel, or some of its positions; a thread adds up for every
 * element of the window at once, four positions side by side at a time. Threads are joined by
 * shuffles and shared memory, blocks by a second launch, in a fixed order. */

DYNC__FN void dync__gmd_add(dync__gm *g, const char *to, const char *number, int64_t by)
{
    const char *wide = dync__ptx_temp(&g->t.p, "s64");
    dync__ptx_line(&g->t.p, "cvt.s64.s32 %s, %s", wide, number);
    dync__ptx_line(&g->t.p, "mad.lo.s64 %s, %s, %lld, %s", to, wide, (long long)by, to);
}

/* Addresses: %X of x at %image, its channel in the register named, %iy, %ix; %W of the weights of
 * %channel. */
static void dync__gmd_begin(dync__gm *g, const char *channel)
{
    const dync__gm_window *w = g->window_of;
    int64_t bytes = dync__dtype_info(g->dtype)->bytes;
    dync__cuda_tile_set(&g->t, "s64", "%X", "add", "%%b%d, %lld", g->side[1].buf,
                        (long long)(g->side[1].offset * bytes));
    dync__gmd_add(g, "%X", "%image", w->x[0] * bytes);
    dync__gmd_add(g, "%X", channel, w->x[1] * bytes);
    dync__gmd_add(g, "%X", "%iy", w->x[2] * bytes);
    dync__gmd_add(g, "%X", "%ix", w->x[3] * bytes);
    dync__cuda_tile_set(&g->t, "s64", "%W", "add", "%%b%d, %lld", g->side[0].buf,
                        (long long)(g->side[0].offset * bytes));
    dync__gmd_add(g, "%W", "%channel", w->w[0] * bytes);
}

/* Which results: %lin the first one's number, its row, column, channel and image; addresses of what
 * they see first. */
static void dync__gmd_place(dync__gm *g, int vec)
{
    const dync__gm_window *w = g->window_of;
    dync__cuda_tile *t = &g->t;
    dync__ptx_reg(&t->p, "pred", "%out");
    dync__cuda_tile_set(t, "u32", "%lin", "mad.lo", "%%cta, %d, %%thr", DYNC__GMD_THREADS);
    dync__ptx_line(&t->p, "mul.lo.u32 %%lin, %%lin, %d", vec);
    dync__ptx_line(&t->p, "setp.ge.u32 %%out, %%lin, %lld", (long long)(g->m * g->n));
    dync__ptx_line(&t->p, "@%%out ret");
    dync__cuda_tile_set(t, "u32", "%ox", "rem", "%%lin, %lld", (long long)g->n);
    dync__cuda_tile_set(t, "u32", "%rows", "div", "%%lin, %lld", (long long)g->n);
    dync__cuda_tile_set(t, "u32", "%oy", "rem", "%%rows, %lld", (long long)w->oh);
    dync__cuda_tile_set(t, "u32", "%planes", "div", "%%rows, %lld", (long long)w->oh);
    dync__cuda_tile_set(t, "u32", "%channel", "rem", "%%planes, %lld", (long long)w->o);
    dync__cuda_tile_set(t, "u32", "%image", "div", "%%planes, %lld", (long long)w->o);
    dync__cuda_tile_set(t, "u32", "%from", "div", "%%channel, %lld", (long long)w->per);
    dync__cuda_tile_set(t, "s32", "%iy", "mad.lo", "%%oy, %lld, %lld", (long long)w->s[0],
                        (long long)-w->p[0]);
    dync__cuda_tile_set(t, "s32", "%ix", "mad.lo", "%%ox, %lld, %lld", (long long)w->s[1],
                        (long long)-w->p[1]);
    dync__gmd_begin(g, "%from");
}

/* One row of the window: the columns that are seen, the weights, the multiplications. */
static void dync__gmd_row(dync__gm *g, int vec, int64_t ky, const bool *seen, int64_t columns)
{
    const dync__gm_window *w = g->window_of;
    dync__ptx *p = &g->t.p;
    const char *type = dync__ptx_type(g->compute),
               *zero = g->compute == DYNC_F64 ? "0d0000000000000000" : "0f00000000";
    int64_t bytes = dync__dtype_info(g->dtype)->bytes;
    char at[64], guard[40], name[24];
    dync__cuda_tile_note(&g->t, "row %lld of the window", (long long)ky);
    dync__ptx_line(p, "add.s32 %%row, %%iy, %lld", (long long)(ky * w->d[0]));
    dync__ptx_line(p, "setp.lt.u32 %%down, %%row, %lld", (long long)w->h);
    for (int64_t j = 0; j < columns; j++) {
        if (!seen[j]) continue;
        dync__ptx_line(p, "and.pred %%in, %%down, %%in%lld", (long long)j);
        dync__format(name, sizeof name, "%%x%lld_%lld", (long long)ky, (long long)j);
        dync__ptx_reg(p, type, name);
        dync__format(at, sizeof at, "%%X+%lld",
                     (long long)((ky * w->d[0] * w->x[2] + j * w->x[3]) * bytes));
        dync__format(guard, sizeof guard, "@%%in ");
        dync__cuda_tile_load(&g->t, g->dtype, name, at, guard);
        dync__ptx_line(p, "selp.%s %s, %s, %s, %%in", type, name, name, zero);
    }
    for (int64_t kx = 0; kx < w->kw; kx++) {
        dync__format(name, sizeof name, "%%w%lld_%lld", (long long)ky, (long long)kx);
        dync__ptx_reg(p, type, name);
        dync__format(at, sizeof at, "%%W+%lld", (long long)((ky * w->w[2] + kx * w->w[3]) * bytes));
        dync__cuda_tile_load(&g->t, g->dtype, name, at, "");
        for (int v = 0; v < vec; v++)
            dync__ptx_line(p, "fma.rn.%s %%acc%d, %%x%lld_%lld, %s, %%acc%d", type, v,
                           (long long)ky, (long long)(v * w->s[1] + kx * w->d[1]), name, v);
    }
}

static void dync__gmd_forward(dync__gm *g)
{
    const dync__gm_window *w = g->window_of;
    dync__cuda_tile *t = &g->t;
    bool seen[DYNC__GMD_COLUMNS] = {false};
    char value[8][24], name[24];
    int vec = t->p.shape.vec;
    int64_t columns = (vec - 1) * w->s[1] + (w->kw - 1) * w->d[1] + 1;
    dync__gmd_place(g, vec);
    dync__cuda_tile_regs(t, dync__ptx_type(g->compute), "%acc", vec);
    dync__ptx_reg(&t->p, "s32", "%row");
    dync__ptx_reg(&t->p, "pred", "%down");
    dync__ptx_reg(&t->p, "pred", "%in");
    for (int v = 0; v < vec; v++) {
        dync__format(value[v], sizeof value[v], "%%acc%d", v);
        dync__ptx_line(&t->p, "mov.b%d %%acc%d, 0", dync__dtype_info(g->compute)->bytes * 8, v);
        for (int64_t kx = 0; kx < w->kw; kx++) seen[v * w->s[1] + kx * w->d[1]] = true;
    }
    for (int64_t j = 0; j < columns; j++) {
        if (!seen[j]) continue;
        dync__format(name, sizeof name, "%%in%lld", (long long)j);
        dync__ptx_reg(&t->p, "pred", name);
        dync__ptx_line(&t->p, "add.s32 %%row, %%ix, %lld", (long long)j);
        dync__ptx_line(&t->p, "setp.lt.u32 %s, %%row, %lld", name, (long long)w->w_in);
    }
    for (int64_t ky = 0; ky < w->kh; ky++) dync__gmd_row(g, vec, ky, seen, columns);
    dync__cuda_tile_piece(t, "%lin", g->given, value);
    dync__format(name, sizeof name, "conv_%s", dync__dtype_info(g->dtype)->name);
    dync__cuda_tile_entry(t, name, (g->m * g->n / vec + DYNC__GMD_THREADS - 1) / DYNC__GMD_THREADS,
                          1, 1, DYNC__GMD_THREADS);
}

/* ---- data gradient of a stride --------------------------------------------------------------- */

typedef struct dync__gmd_back {
    const dync__gm_window *w;
    int wide; /* columns of a thread's rectangle */
    /* of the gradients that it sees: the first, counted from its own, and how many */
    int64_t low[2], n[2];
    bool loaded[64]; /* elements of the window */
} dync__gmd_back;

/* The gradient that element k of the window, in dim i, meets in row or column `at` of the
 * rectangle, counted from low; -1 none. */
static int64_t dync__gmd_meets(const dync__gmd_back *b, int i, int64_t at, int64_t k)
{
    int64_t place = at + b->w->p[i] - k * b->w->d[i];
    return place % b->w->s[i] ? -1 : place / b->w->s[i] - b->low[i];
}

/* Which rectangle, and where the first gradient and the channel's window lie. Returns the number of
 * threads. */
static int64_t dync__gmd_back_place(dync__gm *g, const dync__gmd_back *b)
{
    const dync__gm_window *w = b->w;
    dync__cuda_tile *t = &g->t;
    int64_t columns = (g->n + b->wide - 1) / b->wide, rows = (w->oh + w->s[0] - 1) / w->s[0],
            all = g->m / w->oh * rows * columns;
    dync__ptx_reg(&t->p, "pred", "%out");
    dync__cuda_tile_set(t, "u32", "%me", "mad.lo", "%%cta, %d, %%thr", DYNC__GMD_THREADS);
    dync__ptx_line(&t->p, "setp.ge.u32 %%out, %%me, %lld", (long long)all);
    dync__ptx_line(&t->p, "@%%out ret");
    dync__cuda_tile_set(t, "u32", "%j", "rem", "%%me, %lld", (long long)columns);
    dync__cuda_tile_set(t, "u32", "%rest", "div", "%%me, %lld", (long long)columns);
    dync__cuda_tile_set(t, "u32", "%i", "rem", "%%rest, %lld", (long long)rows);
    dync__cuda_tile_set(t, "u32", "%planes", "div", "%%rest, %lld", (long long)rows);
    dync__cuda_tile_set(t, "u32", "%channel", "rem", "%%planes, %lld", (long long)w->o);
    dync__cuda_tile_set(t, "u32", "%image", "div", "%%planes, %lld", (long long)w->o);
    dync__cuda_tile_set(t, "s32", "%ix", "mul.lo", "%%j, %lld", (long long)(b->wide / w->s[1]));
    dync__ptx_line(&t->p, "add.s32 %%ix, %%ix, %lld", (long long)b->low[1]);
    dync__cuda_tile_set(t, "s32", "%iy", "add", "%%i, %lld", (long long)b->low[0]);
    dync__gmd_begin(g, "%channel");
    return all;
}

/* acc += gradient (y, x) * the element of the window, which is loaded when it is first met */
static void dync__gmd_back_tap(dync__gm *g, dync__gmd_back *b, int64_t ky, int64_t kx, int acc,
                               int64_t y, int64_t x)
{
    const dync__gm_window *w = b->w;
    const char *type = dync__ptx_type(g->compute);
    char name[24], at[40];
    dync__format(name, sizeof name, "%%w%lld_%lld", (long long)ky, (long long)kx);
    if (!b->loaded[ky * w->kw + kx]) {
        dync__ptx_reg(&g->t.p, type, name);
        dync__format(
            at, sizeof at, "%%W+%lld",
            (long long)((ky * w->w[2] + kx * w->w[3]) * dync__dtype_info(g->dtype)->bytes));
        dync__cuda_tile_load(&g->t, g->dtype, name, at, "");
        b->loaded[ky * w->kw + kx] = true;
    }
    dync__ptx_line(&g->t.p, "fma.rn.%s %%acc%d, %%x%lld_%lld, %s, %%acc%d", type, acc, (long long)y,
                   (long long)x, name, acc);
}

/* Row y of the gradients: what of it is met is loaded, then multiplied. */
static void dync__gmd_back_row(dync__gm *g, dync__gmd_back *b, int64_t y)
{
    const dync__gm_window *w = b->w;
    dync__ptx *p = &g->t.p;
    const char *type = dync__ptx_type(g->compute),
               *zero = g->compute == DYNC_F64 ? "0d0000000000000000" : "0f00000000";
    int64_t bytes = dync__dtype_info(g->dtype)->bytes;
    bool loaded[DYNC__GMD_COLUMNS] = {false};
    char name[32], at[40];
    dync__cuda_tile_note(&g->t, "row %lld of the gradients", (long long)(y + b->low[0]));
    dync__ptx_line(p, "add.s32 %%row, %%iy, %lld", (long long)y);
    dync__ptx_line(p, "setp.lt.u32 %%down, %%row, %lld", (long long)w->h);
    for (int64_t r = 0; r < w->s[0]; r++)
        for (int64_t ky = 0; ky < w->kh; ky++)
            for (int64_t c = 0; c < b->wide && dync__gmd_meets(b, 0, r, ky) == y; c++)
                for (int64_t kx = 0; kx < w->kw; kx++) {
                    int64_t x = dync__gmd_meets(b, 1, c, kx);
                    if (x < 0) continue;
                    if (!loaded[x]) {
                        dync__format(name, sizeof name, "%%x%lld_%lld", (long long)y, (long long)x);
                        dync__ptx_reg(p, type, name);
                        dync__ptx_line(p, "and.pred %%in, %%down, %%in%lld", (long long)x);
                        dync__format(at, sizeof at, "%%X+%lld",
                                     (long long)((y * w->x[2] + x * w->x[3]) * bytes));
                        dync__cuda_tile_load(&g->t, g->dtype, name, at, "@%in ");
                        dync__ptx_line(p, "selp.%s %s, %s, %s, %%in", type, name, name, zero);
                        loaded[x] = true;
                    }
                    dync__gmd_back_tap(g, b, ky, kx, (int)(r * b->wide + c), y, x);
                }
}

static void dync__gmd_backward(dync__gm *g)
{
    const dync__gm_window *w = g->window_of;
    dync__cuda_tile *t = &g->t;
    dync__gmd_back b = {.w = w};
    int vec = t->p.shape.vec;
    char value[8][24], name[32];
    for (b.wide = vec; b.wide % w->s[1];) b.wide += vec;
    for (int i = 0; i < 2; i++) {
        int64_t last = i ? w->kw - 1 : w->kh - 1, lowest = w->p[i] - last * w->d[i],
                most = (i ? b.wide : w->s[0]) - 1 + w->p[i];
        b.low[i] = lowest >= 0 ? lowest / w->s[i] : -((w->s[i] - 1 - lowest) / w->s[i]);
        b.n[i] = most / w->s[i] - b.low[i] + 1;
    }
    int64_t threads = dync__gmd_back_place(g, &b);
    dync__cuda_tile_regs(t, dync__ptx_type(g->compute), "%acc", (int)w->s[0] * b.wide);
    dync__cuda_tile_regs(t, "pred", "%in", (int)b.n[1]);
    dync__ptx_reg(&t->p, "s32", "%row");
    dync__ptx_reg(&t->p, "pred", "%down");
    dync__ptx_reg(&t->p, "pred", "%in");
    for (int a = 0; a < w->s[0] * b.wide; a++)
        dync__ptx_line(&t->p, "mov.b%d %%acc%d, 0", dync__dtype_info(g->compute)->bytes * 8, a);
    for (int64_t x = 0; x < b.n[1]; x++) {
        dync__ptx_line(&t->p, "add.s32 %%row, %%ix, %lld", (long long)x);
        dync__ptx_line(&t->p, "setp.lt.u32 %%in%lld, %%row, %lld", (long long)x,
                       (long long)w->w_in);
    }
    for (int64_t y = 0; y < b.n[0]; y++) dync__gmd_back_row(g, &b, y);
    dync__cuda_tile_set(t, "u32", "%line", "mul.lo", "%%planes, %lld", (long long)w->oh);
    dync__ptx_line(&t->p, "mad.lo.u32 %%line, %%i, %lld, %%line", (long long)w->s[0]);
    dync__cuda_tile_set(t, "u32", "%at", "mul.lo", "%%j, %d", b.wide);
    for (int r = 0; r < w->s[0]; r++)
        for (int q = 0; q < b.wide / vec; q++) {
            dync__ptx_line(&t->p, "mad.lo.u32 %%row, %%i, %lld, %d", (long long)w->s[0], r);
            dync__ptx_line(&t->p, "setp.ge.u32 %%out, %%row, %lld", (long long)w->oh);
            dync__ptx_line(&t->p, "add.u32 %%row, %%at, %d", q * vec);
            dync__ptx_line(&t->p, "setp.ge.or.u32 %%out, %%row, %lld, %%out", (long long)g->n);
            dync__ptx_line(&t->p, "@%%out bra PAST%d_%d", r, q);
            dync__format(name, sizeof name, "%%lin%d_%d", r, q);
            dync__cuda_tile_set(t, "u32", name, "add", "%%line, %d", r);
            dync__ptx_line(&t->p, "mad.lo.u32 %s, %s, %lld, %%row", name, name, (long long)g->n);
            for (int v = 0; v < vec; v++)
                dync__format(value[v], sizeof value[v], "%%acc%d", r * b.wide + q * vec + v);
            dync__cuda_tile_piece(t, name, g->given, value);
            dync__cuda_tile_label(t, "PAST%d_%d", r, q);
        }
    dync__format(name, sizeof name, "conv_back_%s", dync__dtype_info(g->dtype)->name);
    dync__cuda_tile_entry(t, name, (threads + DYNC__GMD_THREADS - 1) / DYNC__GMD_THREADS, 1, 1,
                          DYNC__GMD_THREADS);
}

DYNC__FN void dync__gm_direct(dync__gm *g)
{
    if (g->window_of->back)
        dync__gmd_backward(g);
    else
        dync__gmd_forward(g);
}

/* ==== cuda/conv_direct_weight.c ==================================================================== */
/* cuda/conv_direct_weight.c: the weight gradient of a depthwise convolution on a GPU: a block a
 * channel and a part of the images. After conv_direct.c, before gemm.c. */

/* ---- weight gradient ------------------------------------------------------------------------- */

/* The thread's positions: %item, of %stop; acc += gradient * x for every element of the window. */
static void dync__gmd_weight_loop(dync__gm *g, int64_t groups, const int64_t *ys)
{
    const dync__gm_window *w = g->window_of;
    dync__cuda_tile *t = &g->t;
    dync__ptx *p = &t->p;
    const char *type = dync__ptx_type(g->compute),
               *zero = g->compute == DYNC_F64 ? "0d0000000000000000" : "0f00000000";
    int64_t bytes = dync__dtype_info(g->dtype)->bytes,
            columns = (DYNC__GMD_SIDE - 1) * w->s[1] + (w->kw - 1) * w->d[1] + 1;
    bool seen[DYNC__GMD_COLUMNS] = {false};
    char at[48], guard[24], name[24];
    static const char *const s32[] = {"%ox", "%oy", "%image", "%iy", "%ix", "%row"};
    for (int i = 0; i < DYNC__COUNT_OF(s32); i++) dync__ptx_reg(p, "s32", s32[i]);
    dync__ptx_reg(p, "s64", "%x");
    dync__ptx_reg(p, "s64", "%y");
    dync__ptx_reg(p, "pred", "%down");
    dync__ptx_reg(p, "pred", "%in");
    dync__cuda_tile_regs(t, type, "%g", DYNC__GMD_SIDE);
    dync__cuda_tile_regs(t, type, "%v", (int)columns);
    dync__cuda_tile_regs(t, "pred", "%in", (int)columns);
    dync__cuda_tile_regs(t, "pred", "%is", DYNC__GMD_SIDE);
    dync__cuda_tile_label(t, "NEXT");
    dync__ptx_line(p, "setp.ge.s32 %%out, %%item, %%stop");
    dync__ptx_line(p, "@%%out bra DONE");
    dync__ptx_line(p, "rem.s32 %%ox, %%item, %lld", (long long)groups);
    dync__ptx_line(p, "mul.lo.s32 %%ox, %%ox, %d", DYNC__GMD_SIDE);
    dync__ptx_line(p, "div.s32 %%row, %%item, %lld", (long long)groups);
    dync__ptx_line(p, "rem.s32 %%oy, %%row, %lld", (long long)w->oh);
    dync__ptx_line(p, "div.s32 %%image, %%row, %lld", (long long)w->oh);
    dync__ptx_line(p, "mad.lo.s32 %%iy, %%oy, %lld, %lld", (long long)w->s[0], (long long)-w->p[0]);
    dync__ptx_line(p, "mad.lo.s32 %%ix, %%ox, %lld, %lld", (long long)w->s[1], (long long)-w->p[1]);
    dync__ptx_line(p, "mov.b64 %%x, %%X");
    dync__ptx_line(p, "mov.b64 %%y, %%Y");
    dync__gmd_add(g, "%x", "%image", w->x[0] * bytes);
    dync__gmd_add(g, "%x", "%iy", w->x[2] * bytes);
    dync__gmd_add(g, "%x", "%ix", w->x[3] * bytes);
    dync__gmd_add(g, "%y", "%image", ys[0] * bytes);
    dync__gmd_add(g, "%y", "%oy", ys[2] * bytes);
    dync__gmd_add(g, "%y", "%ox", ys[3] * bytes);
    for (int v = 0; v < DYNC__GMD_SIDE; v++) {
        dync__ptx_line(p, "add.s32 %%row, %%ox, %d", v);
        dync__ptx_line(p, "setp.lt.s32 %%is%d, %%row, %lld", v, (long long)g->n);
        dync__format(name, sizeof name, "%%g%d", v);
        dync__format(at, sizeof at, "%%y+%lld", (long long)(v * ys[3] * bytes));
        dync__format(guard, sizeof guard, "@%%is%d ", v);
        dync__cuda_tile_load(t, g->dtype, name, at, guard);
        dync__ptx_line(p, "selp.%s %s, %s, %s, %%is%d", type, name, name, zero, v);
        for (int64_t kx = 0; kx < w->kw; kx++) seen[v * w->s[1] + kx * w->d[1]] = true;
    }
    for (int64_t j = 0; j < columns; j++) {
        if (!seen[j]) continue;
        dync__ptx_line(p, "add.s32 %%row, %%ix, %lld", (long long)j);
        dync__ptx_line(p, "setp.lt.u32 %%in%lld, %%row, %lld", (long long)j, (long long)w->w_in);
    }
    for (int64_t ky = 0; ky < w->kh; ky++) {
        dync__cuda_tile_note(t, "row %lld of the window", (long long)ky);
        dync__ptx_line(p, "add.s32 %%row, %%iy, %lld", (long long)(ky * w->d[0]));
        dync__ptx_line(p, "setp.lt.u32 %%down, %%row, %lld", (long long)w->h);
        for (int64_t j = 0; j < columns; j++) {
            if (!seen[j]) continue;
            dync__ptx_line(p, "and.pred %%in, %%down, %%in%lld", (long long)j);
            dync__format(name, sizeof name, "%%v%lld", (long long)j);
            dync__format(at, sizeof at, "%%x+%lld",
                         (long long)((ky * w->d[0] * w->x[2] + j * w->x[3]) * bytes));
            dync__cuda_tile_load(t, g->dtype, name, at, "@%in ");
            dync__ptx_line(p, "selp.%s %s, %s, %s, %%in", type, name, name, zero);
        }
        for (int64_t kx = 0; kx < w->kw; kx++)
            for (int v = 0; v < DYNC__GMD_SIDE; v++) {
                long long acc = (long long)(ky * w->kw + kx);
                dync__ptx_line(p, "fma.rn.%s %%acc%lld, %%v%lld, %%g%d, %%acc%lld", type, acc,
                               (long long)(v * w->s[1] + kx * w->d[1]), v, acc);
            }
    }
    dync__ptx_line(p, "add.s32 %%item, %%item, %d", DYNC__GMD_THREADS);
    dync__ptx_line(p, "bra NEXT");
    dync__cuda_tile_label(t, "DONE");
}

/* name, of all lanes of the warp added up, in each; the scratch registers it takes. */
static void dync__gmd_warp_regs(dync__gm *g)
{
    dync__ptx_reg(&g->t.p, dync__ptx_type(g->compute), "%sum");
    dync__ptx_reg(&g->t.p, dync__ptx_type(g->compute), "%other");
    dync__ptx_reg(&g->t.p, "b32", "%low");
    dync__ptx_reg(&g->t.p, "b32", "%high");
}
static void dync__gmd_warp_sum(dync__gm *g, const char *name)
{
    dync__ptx *p = &g->t.p;
    bool wide = g->compute == DYNC_F64;
    for (int distance = 16; distance > 0; distance /= 2) {
        dync__ptx_line(p, wide ? "mov.b64 {%%low, %%high}, %s" : "mov.b32 %%low, %s", name);
        dync__ptx_line(p, "shfl.sync.bfly.b32 %%low, %%low, %d, 31, 0xffffffff", distance);
        if (wide)
            dync__ptx_line(p, "shfl.sync.bfly.b32 %%high, %%high, %d, 31, 0xffffffff", distance);
        dync__ptx_line(p, wide ? "mov.b64 %%other, {%%low, %%high}" : "mov.b32 %%other, %%low");
        dync__ptx_line(p, "add.rn.%s %s, %s, %%other", dync__ptx_type(g->compute), name, name);
    }
}

/* acc0 .. of all threads added up: the sum of element q in thread q, %sum; the other threads
 * leave. */
static void dync__gmd_weight_join(dync__gm *g, int taps)
{
    dync__cuda_tile *t = &g->t;
    dync__ptx *p = &t->p;
    const char *type = dync__ptx_type(g->compute);
    int bytes = dync__dtype_info(g->compute)->bytes;
    char name[16];
    dync__gmd_warp_regs(g);
    dync__ptx_reg(p, "pred", "%lead");
    (void)dync__cuda_tile_shared(t, DYNC__GMD_WARPS * taps * bytes, 8);
    dync__cuda_tile_set(t, "u32", "%slot", "mad.lo", "%%warp, %d, %%smem", taps * bytes);
    dync__ptx_line(p, "setp.eq.u32 %%lead, %%lane, 0");
    for (int q = 0; q < taps; q++) {
        dync__format(name, sizeof name, "%%acc%d", q);
        dync__gmd_warp_sum(g, name);
        dync__ptx_line(p, "@%%lead st.shared.%s [%%slot+%d], %%acc%d", type, q * bytes, q);
    }
    dync__cuda_tile_barrier(t);
    dync__ptx_line(p, "setp.ge.u32 %%out, %%thr, %d", taps);
    dync__ptx_line(p, "@%%out ret");
    dync__ptx_line(p, "mad.lo.u32 %%slot, %%thr, %d, %%smem", bytes);
    dync__ptx_line(p, "ld.shared.%s %%sum, [%%slot]", type);
    for (int warp = 1; warp < DYNC__GMD_WARPS; warp++) {
        dync__ptx_line(p, "ld.shared.%s %%other, [%%slot+%d]", type, warp * taps * bytes);
        dync__ptx_line(p, "add.rn.%s %%sum, %%sum, %%other", type);
    }
}

/* The place of element `tap` (u32) of channel `channel` in the result: %to; %sum goes there. */
static void dync__gmd_weight_put(dync__gm *g, const char *tap, const char *channel)
{
    const dync__gm_window *w = g->window_of;
    dync__cuda_tile *t = &g->t;
    int64_t bytes = dync__dtype_info(g->dtype)->bytes;
    dync__cuda_tile_set(t, "u32", "%kx", "rem", "%s, %lld", tap, (long long)w->kw);
    dync__cuda_tile_set(t, "u32", "%ky", "div", "%s, %lld", tap, (long long)w->kw);
    dync__cuda_tile_set(t, "s64", "%to", "add", "%%b2, %lld",
                        (long long)(g->side[0].offset * bytes));
    dync__gmd_add(g, "%to", channel, w->w[0] * bytes);
    dync__gmd_add(g, "%to", "%ky", w->w[2] * bytes);
    dync__gmd_add(g, "%to", "%kx", w->w[3] * bytes);
    dync__cuda_tile_store(t, g->dtype, "%to", "%sum", "");
}

DYNC__FN bool dync__gm_direct_weight(dync__cuda_code *code, dync__gm *g, int64_t images,
                                     int64_t y_offset, const int64_t *ys, const int32_t *buf)
{
    const dync__gm_window *w = g->window_of;
    dync__cuda_tile *t = &g->t;
    dync__ptx *p = &t->p;
    int taps = (int)(w->kh * w->kw), bytes = dync__dtype_info(g->compute)->bytes;
    int64_t of = dync__dtype_info(g->dtype)->bytes,
            groups = (g->n + DYNC__GMD_SIDE - 1) / DYNC__GMD_SIDE, items = images * w->oh * groups;
    int64_t units = dync__cuda_unit_of(code->device >> 8)->units,
            most = (items + 4 * DYNC__GMD_THREADS - 1) / (4 * DYNC__GMD_THREADS);
    int64_t parts = DYNC__MAX(DYNC__MIN(DYNC__MIN((8 * units + w->o - 1) / w->o, most), 512), 1),
            chunk = (items + parts - 1) / parts;
    dync__cuda_tile_begin(t, 3);
    dync__ptx_reg(p, "pred", "%out");
    dync__cuda_tile_set(t, "u32", "%channel", "rem", "%%cta, %lld", (long long)w->o);
    dync__cuda_tile_set(t, "u32", "%part", "div", "%%cta, %lld", (long long)w->o);
    dync__cuda_tile_set(t, "u32", "%from", "div", "%%channel, %lld", (long long)w->per);
    dync__cuda_tile_set(t, "s32", "%item", "mul.lo", "%%part, %lld", (long long)chunk);
    dync__cuda_tile_set(t, "s32", "%stop", "add", "%%item, %lld", (long long)chunk);
    dync__ptx_line(p, "min.s32 %%stop, %%stop, %lld", (long long)items);
    dync__ptx_line(p, "add.s32 %%item, %%item, %%thr");
    dync__cuda_tile_set(t, "s64", "%X", "add", "%%b0, %lld", (long long)(g->side[1].offset * of));
    dync__gmd_add(g, "%X", "%from", w->x[1] * of);
    dync__cuda_tile_set(t, "s64", "%Y", "add", "%%b1, %lld", (long long)(y_offset * of));
    dync__gmd_add(g, "%Y", "%channel", ys[1] * of);
    dync__cuda_tile_regs(t, dync__ptx_type(g->compute), "%acc", taps);
    for (int q = 0; q < taps; q++) dync__ptx_line(p, "mov.b%d %%acc%d, 0", 8 * bytes, q);
    dync__gmd_weight_loop(g, groups, ys);
    dync__gmd_weight_join(g, taps);
    /* partial sums [channel, element][part] */
    if (parts > 1) {
        t->out.scratch_bytes = w->o * taps * parts * bytes;
        dync__cuda_tile_scratch(t);
        dync__ptx_line(p, "mad.lo.u32 %%channel, %%channel, %d, %%thr", taps);
        dync__ptx_line(p, "mad.lo.u32 %%channel, %%channel, %lld, %%part", (long long)parts);
        dync__ptx_line(p, "mad.wide.u32 %%x, %%channel, %d, %%scratch", bytes);
        dync__ptx_line(p, "st.global.%s [%%x], %%sum", dync__ptx_type(g->compute));
    } else {
        dync__gmd_weight_put(g, "%thr", "%channel");
    }
    dync__cuda_tile_entry(t, "conv_weight", w->o * parts, 1, 1, DYNC__GMD_THREADS);
    if (parts == 1) return dync__cuda_tile_end(t, code, buf);
    /* a warp an element: lanes take its parts in turn */
    dync__cuda_tile_next(t);
    dync__ptx_reg(p, "pred", "%out");
    dync__cuda_tile_set(t, "u32", "%me", "mad.lo", "%%cta, %d, %%warp", DYNC__GMD_WARPS);
    dync__ptx_line(p, "setp.ge.u32 %%out, %%me, %lld", (long long)(w->o * taps));
    dync__ptx_line(p, "@%%out ret");
    dync__gmd_warp_regs(g);
    dync__cuda_tile_scratch(t);
    dync__cuda_tile_set(t, "u32", "%place", "mad.lo", "%%me, %lld, %%lane", (long long)parts);
    dync__cuda_tile_wide(t, "%x", NULL);
    dync__ptx_line(p, "mad.wide.u32 %%x, %%place, %d, %%scratch", bytes);
    dync__ptx_line(p, "mov.b%d %%sum, 0", 8 * bytes);
    for (int64_t k = 0; k < parts; k += 32) {
        dync__ptx_line(p, "mov.b%d %%other, 0", 8 * bytes);
        dync__ptx_line(p, "setp.lt.u32 %%out, %%lane, %lld", (long long)(parts - k));
        dync__ptx_line(p, "@%%out ld.global.%s %%other, [%%x+%lld]", dync__ptx_type(g->compute),
                       (long long)(k * bytes));
        dync__ptx_line(p, "add.rn.%s %%sum, %%sum, %%other", dync__ptx_type(g->compute));
    }
    dync__gmd_warp_sum(g, "%sum");
    dync__ptx_line(p, "setp.ne.u32 %%out, %%lane, 0");
    dync__ptx_line(p, "@%%out ret");
    dync__cuda_tile_set(t, "u32", "%tap", "rem", "%%me, %d", taps);
    dync__cuda_tile_set(t, "u32", "%channel", "div", "%%me, %d", taps);
    dync__gmd_weight_put(g, "%tap", "%channel");
    dync__cuda_tile_entry(t, "conv_weight", (w->o * taps + DYNC__GMD_WARPS - 1) / DYNC__GMD_WARPS,
                          1, 1, DYNC__GMD_THREADS);
    return dync__cuda_tile_end(t, code, buf);
}

/* ==== cuda/gemm.c ================================================================================== */
/* cuda/gemm.c: matrix products of a plan on a GPU: the problem behind a kernel call, the choice of
 * tile and splits, the texts. After gemm_end.c, before launch.c. The plain form is a loop kernel
 * (loops.c): small products, one row or column that gemm_thin.c does not take, bool, and sizes
 * beyond 30 bits stay there.
 *
 * A choice costs, in clocks of a multiprocessor,
 *     wa ves * (START + tile.m * tile.n * depth of a split / (rate * efficiency)) + (splits > 1:
 *       JOIN + bytes of partial sums / BYTES)
 * where waves = ceil(tiles * splits * batches / multiprocessors). The least cost wins. Rates are
 * multiplications a clock of the slowest device (sm_80); efficiencies say what part of it a tile
 * reaches when its stages never run dry: by what its warps read from shared memory for each
 * multiplication (64 x 64 to a warp: 1/32 word; 32 x 32: 1/16). They are estimates until bench/gpu
 * has run. */

static const dync__gm_tile dync__gm_tiles[2][6] = {
    /* tensor cores: m, n, threads, stages, efficiency in percent: the warps' tiles */
    /* 64 x 64, 2 x 4: 144 KiB, where a block may have that much */
    {{128, 256, 256, 3, 92},
     {128, 128, 128, 3, 88}, /* 64 x 64, 2 x 2: 96 KiB */
     {128, 64, 128, 3, 70},  /* 64 x 32 */
     {64, 128, 128, 3, 70},  /* 32 x 64 */
     {64, 64, 128, 4, 52},   /* 32 x 32: 64 KiB */
     /* 64 x 32, 2 x 4: leaves registers for what is done to sides */
     {128, 128, 256, 3, 74}},
    /* CUDA cores: 8 x 8 to a thread, 4 x 4 of 8 bytes */
    {{128, 128, 256, 3, 85},
     {128, 64, 128, 3, 78},
     {64, 128, 128, 3, 78},
     {64, 64, 64, 3, 68},
     {64, 64, 256, 3, 60}}};

/* Compute capabilities 8.6, 8.9 and 12.x have less than the others. */
DYNC__FN int dync__gm_shared_most(const dync__gm *g)
{
    const dync__cuda_unit *u = dync__cuda_unit_of(g->device >> 8);
    int cc = u->major * 10 + u->minor;
    return 1024 * (cc == 80 || cc == 87 ? 163 : cc == 86 || cc == 89 || cc >= 120 ? 99 : 227);
}

static double dync__gm_rate(const dync__gm *g)
{
    if (g->kind >= 0)
        return g->kind == DYNC__TILE_TF32 ? 512 : g->kind >= DYNC__TILE_S8 ? 2048 : 1024;
    return g->compute == DYNC_F64 ? 32 : g->compute == DYNC_I64 ? 12 : 64;
}

static double dync__gm_cost(const dync__gm *g, const dync__gm_tile *t, int64_t splits,
                            int64_t chunk)
{
    int64_t units = dync__cuda_unit_of(g->device >> 8)->units,
            tiles = ((g->m + t->m - 1) / t->m) * ((g->n + t->n - 1) / t->n) * g->batches * splits;
    double waves = (double)((tiles + units - 1) / units), join = 0;
    if (splits > 1)
        join = DYNC__GM_JOIN + 2.0 * (double)(g->m * g->n * g->batches * splits) *
                                   dync__dtype_info(g->compute)->bytes / DYNC__GM_BYTES;
    return waves * (DYNC__GM_START +
                    (double)t->m * t->n * (double)chunk / (dync__gm_rate(g) * t->efficiency / 100) +
                    dync__gm_pre_cost(g, t, chunk)) +
           join;
}

DYNC__FN double dync__gm_choose(dync__gm *g)
{
    bool wide = g->kind < 0 && dync__dtype_info(g->compute)->bytes == 8;
    double best = -1;
    g->depth = g->kind >= 0 ? 128 / dync__cuda_tile_kind_of(g->kind)->bytes : 8;
    for (int i = 0; i < (g->kind < 0 ? 5 : 6); i++) {
        dync__gm_tile t = dync__gm_tiles[g->kind < 0][i];
        int held = dync__gm_pre_words(g, &t);
        if (g->kind < 0 && wide != (i == 4)) continue;
        if (held && i != 4 && held + t.m * t.n / t.threads > DYNC__GM_HELD) continue;
        /* two blocks of 128 x 128 a multiprocessor go before a third stage */
        if (g->kind >= 0) {
            if (dync__gm_shared_most(g) < 200 * 1024 && t.n < 256)
                t.stages = DYNC__MIN(t.stages, t.m + t.n > 128 ? 2 : 3);
            if (t.stages * (t.m + t.n) * 128 > dync__gm_shared_most(g)) continue;
        }
        for (int64_t splits = 1; splits <= DYNC__GM_SPLITS; splits++) {
            int64_t chunk = (g->k + splits - 1) / splits;
            chunk = (chunk + g->depth - 1) / g->depth * g->depth;
            if ((g->k + chunk - 1) / chunk != splits || (splits > 1 && chunk < 4 * g->depth))
                continue;
            double cost = dync__gm_cost(g, &t, splits, chunk);
            if (best >= 0 && cost >= best) continue;
            best = cost;
            g->tile = t;
            g->splits = splits;
            g->chunk = chunk;
        }
    }
    return best;
}

/* ---- the problem ----------------------------------------------------------------------------- */

/* Are steps of `stride` elements, and those from batch to batch, on boundaries of 16 bytes? */
static bool dync__gm_on_boundary(const dync__gm *g, const dync__gm_side *s, int64_t stride)
{
    int64_t bytes = dync__dtype_info(g->dtype)->bytes;
    if (stride * bytes % 16) return false;
    for (int d = 0; d < g->n_batch; d++)
        if (g->batch[d] > 1 && s->batch[d] * bytes % 16) return false;
    return true;
}

DYNC__FN void dync__gm_how(dync__gm *g, dync__gm_side *s, int64_t lines)
{
    if (g->k == 1 && !s->gather) s->step = 0;
    if (lines == 1 && !s->gather) s->line = 0;
    bool tensor = g->kind >= 0 || g->thin,
         plain = dync__dtype_info(g->dtype)->bytes == dync__dtype_info(g->compute)->bytes;
    bool along = (s->step == 1 || g->k == 1) && dync__gm_on_boundary(g, s, s->line);
    bool across = (s->line == 1 || lines == 1) && dync__gm_on_boundary(g, s, s->step);
    s->how = DYNC__GM_PIECES;
    if (s->gather && (s->pre || !g->scalar)) s->how = s->gather->how;
    if (s->pre && !s->gather) { /* any boundary will do */
        if (s->step == 1 && tensor)
            s->how = DYNC__GM_ALONG;
        else if (s->line == 1 && (g->kind >= 0 ? dync__dtype_info(g->dtype)->bytes == 2 : plain))
            s->how = DYNC__GM_ACROSS;
        else if (tensor && !g->thin)
            s->how = DYNC__GM_ALONG;
    }
    if (g->scalar || s->gather || s->pre) return;
    if (tensor && along)
        s->how = DYNC__GM_ALONG;
    else if (across && (g->kind >= 0 ? dync__dtype_info(g->dtype)->bytes == 2 : plain))
        s->how = DYNC__GM_ACROSS;
}

DYNC__FN void dync__gm_swap(dync__gm *g)
{
    dync__gm_side a = g->side[0];
    int64_t m = g->m;
    g->side[0] = g->side[1];
    g->side[1] = a;
    g->m = g->n;
    g->n = m;
    g->swapped = !g->swapped;
}

DYNC__FN bool dync__gm_make_thin(dync__gm *g)
{
    bool swap = g->n < g->m;
    if (g->scalar || g->window_of || g->side[0].gather || g->side[1].gather) return false;
    if (swap) dync__gm_swap(g);
    g->thin = true;
    for (int s = 0; s < 2; s++) dync__gm_how(g, &g->side[s], s ? g->n : g->m);
    if (dync__gm_thin_fits(g)) return true;
    if (swap) dync__gm_swap(g);
    return g->thin = false;
}

/* Batches over which the other side is the same, and whose rows go on from one to the next, are
 * more rows. */
static void dync__gm_fold(dync__gm *g)
{
    while (g->n_batch > 0) {
        int d = g->n_batch - 1;
        if (g->batch[d] > 1 && (g->side[1].batch[d] != 0 ||
                                (g->m > 1 && g->side[0].batch[d] != g->m * g->side[0].line)))
            return;
        if (g->m == 1) g->side[0].line = g->side[0].batch[d];
        g->m *= g->batch[d];
        g->batches /= g->batch[d];
        g->n_batch--;
    }
}

DYNC__FN bool dync__gm_open(dync__gm *g, dync__cuda_code *code, const dync__kcall *call)
{
    const dync__operand *y = &call->operand[call->n - 1];
    int rank = y->lay.ndim;
    memset(g, 0, sizeof *g);
    g->arena = &code->arena;
    g->device = code->device;
    g->dtype = y->dtype;
    g->compute = dync__dtype_info(y->dtype)->compute;
    if ((!dync__kcall_is(call, DYNC__K_matmul) && !dync__kcall_is(call, DYNC__K_addmm)) ||
        g->dtype == DYNC_BOOL || rank < 2)
        return false;
    g->m = y->lay.shape[rank - 2];
    g->n = y->lay.shape[rank - 1];
    g->k = call->operand[0].lay.shape[rank - 1];
    g->n_batch = rank - 2;
    g->batches = 1;
    for (int d = 0; d < rank - 2; d++) g->batches *= g->batch[d] = y->lay.shape[d];
    for (int s = 0; s < 2; s++) {
        const dync__layout *lay = &call->operand[s].lay;
        dync__gm_side *side = &g->side[s];
        *side = (dync__gm_side){.id = s,
                                .offset = lay->offset,
                                .line = lay->stride[rank - 2 + s],
                                .step = lay->stride[rank - 1 - s]};
        for (int d = 0; d < rank - 2; d++) side->batch[d] = lay->shape[d] == 1 ? 0 : lay->stride[d];
    }
    dync__gm_fold(g);
    double work = (double)g->m * (double)g->n * (double)g->k * (double)g->batches;
    g->kind = g->dtype == DYNC_BF16  ? DYNC__TILE_BF16
              : g->dtype == DYNC_F16 ? DYNC__TILE_F16
              : g->dtype == DYNC_I8  ? DYNC__TILE_S8
              : g->dtype == DYNC_U8  ? DYNC__TILE_U8
                                     : -1;
    bool thin = dync__gm_make_thin(g);
    if (g->swapped) dync__gm_swap(g);
    g->thin = false;
    return g->k > 0 && (thin || (g->m > 1 && g->n > 1)) && work > DYNC__GM_PLAIN &&
           g->m < 1 << 30 && g->n < 1 << 30 && g->k < 1 << 30 &&
           (double)g->batches * (double)(g->m / 64 + 1) * (double)(g->n / 64 + 1) *
                   DYNC__GM_SPLITS <
               2147483648.0;
}

/* ---- what is done to the results ------------------------------------------------------------- */

/* The sums as a value: loads of a buffer that is no memory, in the order of the results. */
DYNC__FN int dync__gm_sums(dync__gm *g, dync__lb *b, const int64_t *linear)
{
    g->given = dync__kernel_buf(b->k, 2 * DYNC__CUDA_TEMP, g->compute, DYNC__BUF_IN, -1, "sum");
    return dync__lb_load(b, g->given, dync__kernel_access(b->k, 0, linear));
}

DYNC__FN int dync__gm_biased(const dync__gm *g, dync__lb *b, const dync__operand *bias,
                             const int64_t *stride, int value)
{
    int v = dync__lb_load(b, dync__kernel_buf(b->k, 2, bias->dtype, DYNC__BUF_IN, -1, "bias"),
                          dync__kernel_access(b->k, bias->lay.offset, stride));
    return dync__lb_op(b, DYNC__P_add, value, dync__lb_cast(b, v, g->compute), -1);
}

/* + bias, whose place follows from the places in the result: each loop runs within a row, or over
 * whole rows. False: one does neither. */
static bool dync__gm_bias(const dync__gm *g, dync__lb *b, const dync__operand *bias,
                          const int64_t *linear, int *value)
{
    int64_t stride[DYNC__LOOP_MAX_DIMS] = {0};
    int rank = bias->lay.ndim;
    for (int d = 0; d < b->k->n_dims; d++) {
        if (b->k->extent[d] == 1) continue;
        if (linear[d] % g->n == 0)
            stride[d] = linear[d] / g->n * bias->lay.stride[rank - 2];
        else if (linear[d] * b->k->extent[d] <= g->n)
            stride[d] = linear[d] * bias->lay.stride[rank - 1];
        else
            return false;
    }
    *value = dync__gm_biased(g, b, bias, stride, *value);
    return true;
}

DYNC__FN void dync__gm_loops_of(dync__gm_loops *l, const dync__kernel *k)
{
    int64_t next = 1;
    l->n = k->n_dims;
    for (int d = l->n - 1; d >= 0; d--) {
        l->from[d] = d;
        l->extent[d] = k->extent[d];
        l->times[d] = 1;
        l->place[d] = l->sum[d] = next;
        next *= k->extent[d];
    }
}

DYNC__FN void dync__gm_cut(dync__gm_loops *l, int64_t at)
{
    for (int d = 0; d < l->n && l->n < DYNC__LOOP_MAX_DIMS; d++) {
        int64_t inner = at / l->place[d];
        if (l->place[d] >= at || at % l->place[d] || l->extent[d] <= inner || l->extent[d] % inner)
            continue;
        for (int e = l->n++; e > d; e--) {
            l->from[e] = l->from[e - 1];
            l->extent[e] = l->extent[e - 1];
            l->times[e] = l->times[e - 1];
            l->place[e] = l->sum[e] = l->place[e - 1];
        }
        l->extent[d] /= inner;
        l->extent[d + 1] = inner;
        l->times[d] *= inner;
        l->place[d] = l->sum[d] = l->place[d] * inner;
    }
}

DYNC__FN bool dync__gm_end_of(dync__gm *g, const dync__kcall *call, const dync__kernel *k,
                              bool keep)
{
    dync__gm_loops l;
    dync__gm_loops_of(&l, k);
    dync__gm_cut(&l, g->n);
    return dync__gm_end_over(g, call, k, keep, &l, NULL);
}

DYNC__FN bool dync__gm_end_over(dync__gm *g, const dync__kcall *call, const dync__kernel *k,
                                bool keep, const dync__gm_loops *l, const int64_t *bias)
{
    int64_t stride[DYNC__LOOP_MAX_DIMS] = {0};
    const dync__operand *c = &call->operand[call->n - 1];
    dync__kernel *e = dync__kernel_new(g->arena, call->row->name, 0, l->n, l->extent);
    int32_t *number = dync__arena_alloc(g->arena, (size_t)(k->inst.n + 1) * sizeof *number);
    if (!e || !number) return false;
    dync__lb b = {.k = e, .section = 1, .origin = call->row->name};
    for (int s = 0; s < 2; s++)
        g->side[s].buf = dync__kernel_buf(e, s, g->dtype, DYNC__BUF_IN, -1, s ? "b" : "a");
    int sum = dync__gm_sums(g, &b, l->sum);
    if (bias)
        sum = dync__gm_biased(g, &b, &call->operand[2], bias, sum);
    else if (call->n == 4 && !dync__gm_bias(g, &b, &call->operand[2], l->sum, &sum))
        return false;
    for (int d = 0; d < l->n; d++) stride[d] = l->place[d];
    if (keep)
        dync__lb_store(&b, dync__kernel_buf(e, call->n - 1, c->dtype, DYNC__BUF_OUT, -1, "c"),
                       dync__kernel_access(e, c->lay.offset, stride), sum);
    sum = dync__lb_wrap(&b, sum, c->dtype);
    for (int i = 0; i < k->inst.n; i++) {
        dync__inst in = k->inst.at[i];
        for (int a = 0; a < 3; a++)
            if (in.arg[a] >= 0) in.arg[a] = number[in.arg[a]];
        in.section = 1;
        in.origin = in.origin ? dync__arena_strdup(g->arena, in.origin) : NULL;
        if (in.access >= 0) {
            const dync__access *a = &k->access.at[in.access];
            for (int d = 0; d < l->n; d++) stride[d] = a->stride[l->from[d]] * l->times[d];
            in.access = dync__kernel_access(e, a->offset, stride);
        }
        if (in.buf >= 0 && k->buf.at[in.buf].id == c->slot) {
            number[i] = sum;
            continue;
        }
        if (in.buf >= 0) {
            const dync__buf *f = &k->buf.at[in.buf];
            in.buf = dync__kernel_buf(e, call->n + in.buf, f->dtype, f->mode, -1,
                                      f->name ? dync__arena_strdup(g->arena, f->name) : NULL);
        }
        number[i] = dync__lb_add(&b, &in);
    }
    g->end = e;
    return !e->failed;
}

DYNC__FN bool dync__gm_end_plain(dync__gm *g, const dync__kcall *call)
{
    const dync__operand *c = &call->operand[call->n - 1];
    int64_t linear[DYNC__LOOP_MAX_DIMS] = {0}, next = 1;
    dync__kernel *e = dync__kernel_new(g->arena, call->row->name, 0, c->lay.ndim, c->lay.shape);
    if (!e) return false;
    for (int d = c->lay.ndim - 1; d >= 0; d--) {
        linear[d] = next;
        next *= c->lay.shape[d];
    }
    dync__lb b = {.k = e, .section = 1, .origin = call->row->name};
    for (int s = 0; s < 2; s++)
        g->side[s].buf = dync__kernel_buf(e, s, g->dtype, DYNC__BUF_IN, -1, s ? "b" : "a");
    int sum = dync__gm_sums(g, &b, linear);
    if (call->n == 4 && !dync__gm_bias(g, &b, &call->operand[2], linear, &sum)) return false;
    dync__lb_store(&b, dync__kernel_buf(e, call->n - 1, c->dtype, DYNC__BUF_OUT, -1, "c"),
                   dync__kernel_access(e, c->lay.offset, c->lay.stride), sum);
    g->end = e;
    return !e->failed;
}

/* ==== cuda/gemm_call.c ============================================================================= */
/* cuda/gemm_call.c: the parts of a product on a GPU put together: what is packed first, which text
 * of which form, what goes along with it. After gemm.c, before conv.c. */

/* ---- parts ----------------------------------------------------------------------------------- */

/* A side that neither lies on boundaries nor is small: copied once, its dense dim rounded up to 16
 * bytes. */
static bool dync__gm_repack(dync__gm *g, dync__cuda_code *code, const dync__kcall *call, int s)
{
    dync__gm_side *side = &g->side[s];
    int64_t bytes = dync__dtype_info(g->dtype)->bytes, lines = s ? g->n : g->m,
            to[DYNC_MAX_DIMS + 2] = {0}, from[DYNC_MAX_DIMS + 2], extent[DYNC_MAX_DIMS + 2];
    bool by_line = side->step == 1 || side->line != 1 || bytes != 2;
    int64_t inner = by_line ? g->k : lines, outer = by_line ? lines : g->k,
            row = (inner * bytes + 15) / 16 * 16 / bytes, all = row * outer;
    int n = g->n_batch + 2;
    for (int d = g->n_batch - 1; d >= 0; d--) {
        extent[d] = side->batch[d] ? g->batch[d] : 1;
        from[d] = side->batch[d];
        to[d] = side->batch[d] ? all : 0;
        all *= extent[d];
    }
    extent[n - 2] = outer, from[n - 2] = by_line ? side->line : side->step, to[n - 2] = row;
    extent[n - 1] = inner, from[n - 1] = by_line ? side->step : side->line, to[n - 1] = 1;
    int temp = dync__cuda_add_temp(code, all * bytes);
    dync__kernel *k = temp < 0 ? NULL : dync__kernel_new(g->arena, "gemm_repack", 0, n, extent);
    if (!k) return false;
    dync__lb b = {.k = k, .section = 1, .origin = "gemm_repack"};
    int v = dync__lb_load(&b, dync__kernel_buf(k, side->id, g->dtype, DYNC__BUF_IN, -1, NULL),
                          dync__kernel_access(k, side->offset, from));
    dync__lb_store(&b, dync__kernel_buf(k, temp, g->dtype, DYNC__BUF_OUT, -1, NULL),
                   dync__kernel_access(k, 0, to), v);
    side->id = temp;
    side->offset = 0;
    side->line = by_line ? row : 1;
    side->step = by_line ? 1 : row;
    for (int d = 0; d < g->n_batch; d++) side->batch[d] = to[d];
    return s ? dync__cuda_add_pack(code, k, call, s, temp) : dync__cuda_add_loop(code, k);
}

DYNC__FN bool dync__gm_may_tf32(const dync__gm *g) { return g->dtype == DYNC_F32 && !g->window_of; }

/* The launches of what was chosen. */
static void dync__gm_write(dync__gm *g)
{
    dync__cuda_tile *t = &g->t;
    char name[80];
    if (g->splits > 1) {
        dync__cuda_tile_scratch(t);
        t->out.scratch_bytes = g->splits * g->batches * g->m * g->n *
                               dync__dtype_info(g->compute)->bytes;
    }
    if (g->window_of) {
        dync__gm_direct(g);
    } else {
        if (g->thin)
            dync__gm_thin(g);
        else if (g->kind >= 0)
            dync__gm_mma(g);
        else
            dync__gm_simt(g);
        int64_t tiles = ((g->m + g->tile.m - 1) / g->tile.m) * ((g->n + g->tile.n - 1) / g->tile.n);
        dync__format(name, sizeof name, "gemm_%s%s_%dx%d", g->thin ? "thin_" : "",
                     g->kind == DYNC__TILE_TF32 ? "tf32" : dync__dtype_info(g->dtype)->name,
                     g->tile.m, g->tile.n);
        dync__cuda_tile_entry(t, name, tiles * g->splits * g->batches, 1, 1, g->tile.threads);
    }
    if (g->splits > 1) dync__gm_join(g);
    t->out.n_checks = t->p.n_checks;
    memcpy(t->out.check, t->p.check, sizeof t->out.check);
}

/* How the sides come, tile and splits. */
DYNC__FN double dync__gm_plan(dync__gm *g, bool may_be_thin)
{
    bool thin = may_be_thin && dync__gm_make_thin(g);
    for (int s = 0; s < 2 && !g->window_of; s++) dync__gm_how(g, &g->side[s], s ? g->n : g->m);
    if (thin) dync__gm_thin_choose(g);
    return thin || g->window_of ? 0 : dync__gm_choose(g);
}

static void dync__gm_pre_checks(dync__gm *g, int s)
{
    const dync__ptx *p = &g->side[s].pre->p;
    for (int i = 0; i < p->n_checks; i++)
        if (g->t.out.n_checks < DYNC__PTX_CHECKS)
            g->t.out.check[g->t.out.n_checks++] = p->check[i];
        else
            g->t.p.failed = true;
}

DYNC__FN dync_status dync__gm_text(dync__gm *g, int form, dync__ptx_text *out)
{
    int64_t bytes = dync__dtype_info(g->dtype)->bytes;
    dync__cuda_tile *t = &g->t;
    int kind = g->kind;
    g->scalar = form == DYNC__CUDA_UNALIGNED;
    if (form == DYNC__CUDA_TF32) g->kind = DYNC__TILE_TF32;
    (void)dync__gm_plan(g, form != DYNC__CUDA_TF32);
    bool begun =
        dync__cuda_tile_begin_kernel(t, g->arena, g->end, g->host, g->n, g->scalar || g->thin);
    for (int s = 0; s < 2 && begun; s++) begun = !g->side[s].pre || dync__gm_pre_begin(g, s);
    if (begun) dync__gm_write(g);
    for (int s = 0; s < 2; s++)
        if (g->side[s].pre)
            dync__gm_pre_checks(g, s);
        else if (begun && g->side[s].how != DYNC__GM_PIECES && t->out.n_checks < DYNC__PTX_CHECKS)
            t->out.check[t->out.n_checks++] =
                (dync__ptx_check){g->side[s].buf, 16, g->side[s].offset * bytes};
        else if (g->side[s].how != DYNC__GM_PIECES)
            t->p.failed = true;
    if (g->swapped) dync__gm_swap(g); /* another form may not want it */
    g->thin = false;
    g->kind = kind;
    if (!begun) return DYNC_ERR_MEMORY;
    dync__str_free(&t->p.regs);
    dync__str_free(&t->p.body);
    *out = t->out;
    if (!t->p.failed && !out->text.failed) return DYNC_OK;
    dync__str_free(&out->text);
    return dync__fail_memory(0);
}

DYNC__FN dync_status dync__cuda_gemm(dync__cuda_code *code, const dync__kcall *call,
                                     const dync__cuda_end *end, bool *done)
{
    dync__gm *g = dync__arena_alloc(&code->arena, sizeof *g);
    *done = false;
    if (!g) return DYNC_ERR_MEMORY;
    if (!dync__gm_open(g, code, call)) return DYNC_OK;
    *done = true;
    int first = call->n + (end->k ? end->k->buf.n : 0);
    for (int s = 0; s < 2; s++) {
        if (end->pre[s] &&
            !dync__gm_pre_set(&g->side[s],
                              dync__gm_pre_open(g->arena, &call->operand[s], end->pre[s], first)))
            return dync__fail_memory(0);
        if (end->pre[s]) first += end->pre[s]->buf.n;
        dync__gm_how(g, &g->side[s], s ? g->n : g->m);
        if (!end->pre[s] && g->kind >= 0 && g->side[s].how == DYNC__GM_PIECES &&
            (s ? g->m : g->n) >= DYNC__GM_REPACK && !dync__gm_repack(g, code, call, s))
            return DYNC_ERR_MEMORY;
    }
    if (end->k ? !dync__gm_end_of(g, call, end->k, end->keep) : !dync__gm_end_plain(g, call))
        return dync__fail_memory(0);
    return dync__gm_add(code, g, call, end);
}

DYNC__FN dync_status dync__gm_add(dync__cuda_code *code, dync__gm *g, const dync__kcall *call,
                                  const dync__cuda_end *end)
{
    int32_t buf[64];
    for (int s = 0; s < 2; s++)
        if (g->side[s].pre && !dync__gm_pre_close(g, s)) return dync__fail_memory(0);
    g->host = dync__arena_alloc(&code->arena, (size_t)g->end->buf.n + 1);
    if (!g->host || g->end->buf.n > 64) return dync__fail_memory(0);
    for (int i = 0; i < g->end->buf.n; i++) {
        int32_t id = g->end->buf.at[i].id;
        buf[i] = i == g->given ? 0 : id < 2 ? g->side[id].id : id;
        g->host[i] = end->host && id >= call->n && id < DYNC__CUDA_TEMP && end->host[id - call->n];
    }
    if (!dync__cuda_add_gemm(code, g, g->end, g->host, buf)) return DYNC_ERR_MEMORY;
    dync__ptx_text variant;
    bool plain = !g->side[0].gather && !g->side[1].gather && !g->window_of && !g->side[0].pre &&
                 !g->side[1].pre;
    return !plain || !dync__gm_wgmma(g, &variant) || dync__cuda_add_variant(code, &variant)
               ? DYNC_OK
               : DYNC_ERR_MEMORY;
}

/* ==== cuda/conv.c ================================================================================== */
/* cuda/conv.c: convolutions and their gradients on a GPU. After gemm.c, before loops.c, whose loop
 * nests are the plain form: other dtypes, arrays of 2^31 elements and what is too small.
 *
 *   x [N, C, H, W]  w [O, C/g, KH, KW] y [N, O, OH, OW] a group is a batch of the product; rows x
 *                   columns, summed over:
 *   forward         w [O/g, taps of channels]        x [taps of channels, pixels of y]       -> y
 *   data gradient   w [C/g, taps of channels of y] gy [taps of channels, pixels of x] -> gx a
 *                   product for each remainder by the stride
 *   we ight gradient gy [O/g, pixels of y] x [pixels of y, taps of channels] -> gw the sum cut over
 *     blocks, joined in order
 * The side that slides is gathered (gemm_gather.c): no matrix of windows is made. f16 and bf16 come
 * 16 bytes at a time from arrays whose channels are neighbours: those that lie so are taken as they
 * are, others are transposed first (ptx_transpose.c), as are the weights; with few channels element
 * by element. A window of one element without padding and stride is a plain product of planes. One
 * channel to a group (depthwise) is no product (conv_direct.c), nor are few: loops.c unrolls the
 * window. Sources: Chetlur et al. 2014 (implicit products); Dumoulin and Visin 2016 (transposed
 * convolution). */

static const dync__cuda_end dync__cuv_no_end = {NULL, {NULL, NULL}, NULL, false};
static bool dync__cuv_small(const dync__operand *o)
{
    return (double)dync__layout_span(&o->lay) < 1073741824.0;
}

DYNC__FN bool dync__cuv_open(dync__cuv *v, dync__cuda_code *code, const dync__kcall *call)
{
    bool input = dync__kcall_is(call, DYNC__K_conv2d_grad_input),
         weight = dync__kcall_is(call, DYNC__K_conv2d_grad_weight);
    int at[3] = {0, 1, call->n - 1}; /* operands that x, w and y are */
    memset(v, 0, sizeof *v);
    v->code = code;
    v->call = call;
    v->out = call->n - 1;
    v->dtype = call->operand[v->out].dtype;
    v->f16 = v->dtype == DYNC_F16 || v->dtype == DYNC_BF16;
    v->end = &dync__cuv_no_end;
    if (input) at[0] = 2, at[2] = 0;
    if (weight) at[1] = 2, at[2] = 1;
    dync__cuv_array *array[3] = {&v->x, &v->w, &v->y};
    for (int i = 0; i < 3; i++) {
        const dync__operand *o = &call->operand[at[i]];
        if (!dync__cuv_small(o) || o->dtype != v->dtype) return false;
        array[i]->id = at[i];
        array[i]->offset = o->lay.offset;
        memcpy(array[i]->shape, o->lay.shape, sizeof array[i]->shape);
        memcpy(array[i]->stride, o->lay.stride, sizeof array[i]->stride);
    }
    for (int i = 0; i < 2; i++) {
        v->s[i] = call->attr.conv.stride[i];
        v->p[i] = call->attr.conv.pad[i];
        v->d[i] = call->attr.conv.dilation[i];
    }
    v->groups = call->attr.conv.groups;
    v->gc = v->w.shape[1];
    v->go = v->w.shape[0] / v->groups;
    int64_t plane = v->y.shape[2] * v->y.shape[3];
    bool simple = v->w.shape[2] * v->w.shape[3] == 1 && v->s[0] * v->s[1] == 1 &&
                  v->p[0] + v->p[1] == 0;
    v->by_image = simple && plane >= 64 && (!v->f16 || plane % 8 == 0);
    return v->f16 || v->dtype == DYNC_F32 || v->dtype == DYNC_F64;
}

/* ---- packing --------------------------------------------------------------------------------- */

DYNC__FN bool dync__cuv_lies_well(const dync__cuv *v, const dync__cuv_array *a, const int *order,
                                  int64_t *to, int64_t *all)
{
    int64_t bytes = dync__dtype_info(v->dtype)->bytes, next = 1;
    bool well = a->stride[order[3]] == 1 && a->offset * bytes % 16 == 0;
    for (int i = 3; i >= 0; i--) {
        to[order[i]] = next;
        next *= a->shape[order[i]];
        well &= i == 3 || a->shape[order[i]] == 1 || a->stride[order[i]] * bytes % 16 == 0;
    }
    *all = next;
    return well;
}

DYNC__FN bool dync__cuv_made_loops(const dync__cuv_array *a, const int64_t *to, dync__gm_loops *l)
{
    int64_t all = 1, made = 1;
    dync__gm_loops_of(l, a->pre->k);
    for (int i = 0; i < l->n; i++) made *= l->extent[i];
    for (int d = 0; d < 4; d++) {
        all *= a->shape[d];
        if (a->shape[d] == 1) continue;
        dync__gm_cut(l, a->stride[d]);
        dync__gm_cut(l, a->stride[d] * a->shape[d]);
    }
    for (int i = 0; i < l->n; i++) {
        int is = -1;
        for (int d = 0; d < 4; d++)
            if (a->shape[d] > 1 && l->place[i] % a->stride[d] == 0 &&
                l->place[i] * l->extent[i] <= a->stride[d] * a->shape[d])
                is = is < 0 || a->stride[d] > a->stride[is] ? d : is;
        if (is < 0 || l->place[i] >= a->stride[is] * a->shape[is]) return false;
        l->sum[i] = l->place[i] / a->stride[is] * to[is];
    }
    return all == made && a->offset == a->pre->offset;
}

/* What makes the array makes it as it is packed. */
static bool dync__cuv_pack_made(dync__cuv *v, dync__cuv_array *a, int temp, const int64_t *to)
{
    dync__gm_loops l;
    const dync__gm_pre *pre = a->pre;
    int64_t stride[DYNC__LOOP_MAX_DIMS] = {0};
    if (temp < 0 || !dync__cuv_made_loops(a, to, &l)) return dync__fail_memory(0), false;
    dync__kernel *k = dync__kernel_new(&v->code->arena, "conv_pack", 0, l.n, l.extent);
    if (!k) return false;
    for (int i = 0; i < pre->k->inst.n; i++) {
        dync__inst in = pre->k->inst.at[i];
        if (in.access >= 0) {
            const dync__access *from = &pre->k->access.at[in.access];
            bool store = i == pre->store;
            for (int d = 0; d < l.n; d++)
                stride[d] = store ? l.sum[d] : from->stride[l.from[d]] * l.times[d];
            in.access = dync__kernel_access(k, store ? 0 : from->offset, stride);
        }
        if (in.buf >= 0) {
            const dync__buf *b = &pre->k->buf.at[in.buf];
            in.buf = dync__kernel_buf(k, i == pre->store ? temp : pre->first + in.buf, b->dtype,
                                      i == pre->store ? DYNC__BUF_OUT : DYNC__BUF_IN, -1, b->name);
        }
        if (!dync__avec_push(&v->code->arena, &k->inst, in)) return false;
    }
    int part = v->code->part.n;
    if (!dync__cuda_add_loop(v->code, k)) return false;
    for (int i = 0; part < v->code->part.n && i < k->buf.n; i++) {
        int32_t id = k->buf.at[i].id;
        v->code->part.at[part].host[i] = id >= v->call->n && id < DYNC__CUDA_TEMP &&
                                         v->end->host[id - v->call->n];
    }
    return true;
}

DYNC__FN bool dync__cuv_pack(dync__cuv *v, dync__cuv_array *a, const int *order)
{
    int64_t to[4], stride[4], extent[4], all;
    if (dync__cuv_lies_well(v, a, order, to, &all)) return true;
    int temp = dync__cuda_add_temp(v->code, all * dync__dtype_info(v->dtype)->bytes);
    int32_t operand = a->id;
    int64_t offset = a->offset;
    if (a->pre && !dync__cuv_pack_made(v, a, temp, to)) return false;
    for (int i = 0; i < 4; i++) {
        extent[i] = a->shape[order[i]];
        stride[i] = a->stride[order[i]];
    }
    a->id = temp;
    a->offset = 0;
    memcpy(a->stride, to, sizeof to);
    if (a->pre) {
        a->pre = NULL;
        return true;
    }
    dync__kernel *k = temp < 0 ? NULL
                               : dync__kernel_new(&v->code->arena, "conv_pack", 0, 4, extent);
    if (!k) return dync__fail_memory(0), false;
    dync__lb b = {.k = k, .section = 1, .origin = v->call->row->name};
    int64_t dense[4] = {to[order[0]], to[order[1]], to[order[2]], to[order[3]]};
    int value = dync__lb_load(&b, dync__kernel_buf(k, operand, v->dtype, DYNC__BUF_IN, -1, NULL),
                              dync__kernel_access(k, offset, stride));
    dync__lb_store(&b, dync__kernel_buf(k, temp, v->dtype, DYNC__BUF_OUT, -1, NULL),
                   dync__kernel_access(k, 0, dense), value);
    return a == &v->w ? dync__cuda_add_pack(v->code, k, v->call, operand, temp)
                      : dync__cuda_add_loop(v->code, k);
}

/* ---- sides ----------------------------------------------------------------------------------- */

DYNC__FN void dync__cuv_digit(dync__gm_gather *g, int part, int64_t extent, int64_t by, int64_t y,
                              int64_t x)
{
    g->digit[part][g->n[part]++] = (dync__gm_digit){extent, by, y, x};
}

DYNC__FN void dync__cuv_window(dync__gm_gather *g, int part, bool last, dync__gm_digit channels,
                               dync__gm_digit down, dync__gm_digit right)
{
    if (!last) g->digit[part][g->n[part]++] = channels;
    g->digit[part][g->n[part]++] = down;
    g->digit[part][g->n[part]++] = right;
    if (last) g->digit[part][g->n[part]++] = channels;
}

/* Digits that walk memory evenly are one. */
static void dync__cuv_merge(dync__gm_gather *g)
{
    for (int part = 0; part < 2; part++) {
        int n = 0;
        dync__gm_digit *at = g->digit[part];
        for (int i = 0; i < g->n[part]; i++) {
            if (at[i].extent == 1 && g->n[part] > 1 && (n > 0 || i + 1 < g->n[part])) continue;
            dync__gm_digit *before = n > 0 ? &at[n - 1] : NULL;
            if (before && before->by == at[i].extent * at[i].by &&
                before->y == at[i].extent * at[i].y && before->x == at[i].extent * at[i].x)
                *before =
                    (dync__gm_digit){before->extent * at[i].extent, at[i].by, at[i].y, at[i].x};
            else
                at[n++] = at[i];
        }
        g->n[part] = n;
    }
}

DYNC__FN bool dync__cuv_side(dync__cuv *v, dync__gm *g, int s, const dync__cuv_array *a,
                             const dync__gm_gather *as, bool bounds, int64_t offset)
{
    dync__gm_side *side = &g->side[s];
    dync__gm_gather *own = dync__arena_copy(&v->code->arena, as, sizeof *own);
    if (!own) return false;
    side->id = a->id;
    side->offset = a->offset + offset;
    (void)dync__gm_pre_set(side, a->pre);
    if (!bounds) {
        own->h = own->w = 1;
        own->y = own->x = 0;
        for (int part = 0; part < 2; part++)
            for (int i = 0; i < own->n[part]; i++)
                own->digit[part][i].y = own->digit[part][i].x = 0;
    }
    dync__cuv_merge(own);
    if (!bounds && own->n[0] == 1 && own->n[1] == 1) {
        side->offset += own->first;
        side->line = own->digit[0][0].by;
        side->step = own->digit[1][0].by;
        return true;
    }
    int64_t per = 16 / dync__dtype_info(v->dtype)->bytes;
    own->how = DYNC__GM_PIECES;
    /* neighbours by 16 bytes: of a depth, or of a line; f32: for tf32 */
    for (int part = v->f16 ? 0 : 1; part < 2 && v->dtype != DYNC_F64; part++) {
        const dync__gm_digit *near = &own->digit[part][own->n[part] - 1];
        bool fits = near->by == 1 && near->y == 0 && near->x == 0 && near->extent % per == 0 &&
                    own->first % per == 0 && side->offset % per == 0;
        for (int q = 0; q < 2; q++)
            for (int i = 0; i < own->n[q]; i++)
                fits &= (q == part && i == own->n[q] - 1) || own->digit[q][i].extent == 1 ||
                        own->digit[q][i].by % per == 0;
        for (int d = 0; d < g->n_batch; d++) fits &= g->batch[d] == 1 || side->batch[d] % per == 0;
        if (fits) own->how = part ? DYNC__GM_ALONG : DYNC__GM_ACROSS;
    }
    side->gather = own;
    return true;
}

/* ==== cuda/conv_product.c ========================================================================== */
/* cuda/conv_product.c: convolutions as products of their sides. Before: conv.c. */

/* ---- the product ----------------------------------------------------------------------------- */

DYNC__FN dync__gm *dync__cuv_product(dync__cuv *v, int64_t m, int64_t n, int64_t k)
{
    dync__gm *g = dync__arena_alloc(&v->code->arena, sizeof *g);
    if (!g) return NULL;
    memset(g, 0, sizeof *g);
    g->arena = &v->code->arena;
    g->device = v->code->device;
    g->dtype = v->dtype;
    g->compute = dync__dtype_info(v->dtype)->compute;
    g->kind = v->dtype == DYNC_BF16 ? DYNC__TILE_BF16 : v->dtype == DYNC_F16 ? DYNC__TILE_F16 : -1;
    g->m = m;
    g->n = n;
    g->k = k;
    g->n_batch = 1;
    g->batches = g->batch[0] = v->groups;
    return g;
}

DYNC__FN dync_status dync__cuv_end(dync__cuv *v, dync__gm *g, int n, const int64_t *extent,
                                   const int64_t *stride, int64_t offset, const int64_t *bias)
{
    int64_t linear[8], next = 1;
    const dync__operand *out = &v->call->operand[v->out];
    dync__kernel *e = dync__kernel_new(g->arena, v->call->row->name, 0, n, extent);
    if (!e) return DYNC_ERR_MEMORY;
    for (int d = n - 1; d >= 0; d--) {
        linear[d] = next;
        next *= extent[d];
    }
    dync__lb b = {.k = e, .section = 1, .origin = v->call->row->name};
    for (int s = 0; s < 2; s++)
        g->side[s].buf = dync__kernel_buf(e, s, g->dtype, DYNC__BUF_IN, -1, s ? "b" : "a");
    int sum = dync__gm_sums(g, &b, linear);
    if (bias) sum = dync__gm_biased(g, &b, &v->call->operand[2], bias, sum);
    dync__lb_store(&b, dync__kernel_buf(e, v->out, out->dtype, DYNC__BUF_OUT, -1, NULL),
                   dync__kernel_access(e, offset, stride), sum);
    g->end = e;
    if (e->failed) return DYNC_ERR_MEMORY;
    return dync__gm_add(v->code, g, v->call, &(dync__cuda_end){.host = v->end->host});
}

DYNC__FN bool dync__cuv_end_of(dync__cuv *v, dync__gm *g)
{
    dync__gm_loops l, r;
    int64_t plane = v->y.shape[2] * v->y.shape[3], image = plane * v->y.shape[1],
            all = plane * v->y.shape[0], bias[DYNC__LOOP_MAX_DIMS] = {0};
    dync__gm_loops_of(&l, v->end->k);
    dync__gm_cut(&l, plane);
    dync__gm_cut(&l, image);
    r.n = 0;
    /* channels, images, pixels: 0 1 2; by image: images, channels, pixels */
    for (int part = 0; part < 3; part++)
        for (int d = 0; d < l.n; d++) {
            int64_t from = l.place[d], to = from * l.extent[d];
            int is = l.extent[d] == 1 ? 2 : from >= image ? 1 : from >= plane ? 0 : 2;
            if ((is == 0 && to > image) || (is == 2 && to > plane && l.extent[d] > 1)) return false;
            if ((v->by_image && is < 2 ? !is : is) != part) continue;
            r.from[r.n] = l.from[d];
            r.extent[r.n] = l.extent[d];
            r.times[r.n] = l.times[d];
            r.place[r.n] = from;
            r.sum[r.n] = v->by_image || is == 2 ? from
                         : is == 0              ? from / plane * all
                                                : from / image * plane;
            if (is == 0 && v->call->n == 4)
                bias[r.n] = from / plane * v->call->operand[2].lay.stride[0];
            r.n++;
        }
    return dync__gm_end_over(g, v->call, v->end->k, v->end->keep, &r,
                             v->call->n == 4 ? bias : NULL);
}

DYNC__FN dync_status dync__cuv_finish(dync__cuv *v, dync__gm *g)
{
    if (v->end->k)
        return dync__cuv_end_of(v, g) ? dync__gm_add(v->code, g, v->call, v->end)
                                      : dync__fail_memory(0);
    bool biased = v->call->n == 4;
    int64_t bs = biased ? v->call->operand[2].lay.stride[0] : 0, n = v->y.shape[0],
            oh = v->y.shape[2], ow = v->y.shape[3];
    const int64_t *ys = v->y.stride;
    if (v->by_image)
        return dync__cuv_end(v, g, 5, (int64_t[]){n, v->groups, v->go, oh, ow},
                             (int64_t[]){ys[0], v->go * ys[1], ys[1], ys[2], ys[3]}, v->y.offset,
                             biased ? (int64_t[]){0, v->go * bs, bs, 0, 0} : NULL);
    return dync__cuv_end(v, g, 5, (int64_t[]){v->groups, v->go, n, oh, ow},
                         (int64_t[]){v->go * ys[1], ys[1], ys[0], ys[2], ys[3]}, v->y.offset,
                         biased ? (int64_t[]){v->go * bs, bs, 0, 0, 0} : NULL);
}

DYNC__FN dync_status dync__cuv_direct(dync__cuv *v, bool input)
{
    const dync__cuv_array *from = input ? &v->y : &v->x, *to = input ? &v->x : &v->y;
    dync__gm *g = dync__cuv_product(v, to->shape[0] * to->shape[1] * to->shape[2], to->shape[3],
                                    v->w.shape[2] * v->w.shape[3]);
    dync__gm_window *w = dync__arena_alloc(&v->code->arena, sizeof *w);
    if (!g || !w) return DYNC_ERR_MEMORY;
    *w = (dync__gm_window){.kh = v->w.shape[2],
                           .kw = v->w.shape[3],
                           .h = from->shape[2],
                           .w_in = from->shape[3],
                           .o = to->shape[1],
                           .oh = to->shape[2],
                           .per = input ? 1 : v->go,
                           .back = input && v->s[0] * v->s[1] > 1};
    memcpy(w->x, from->stride, sizeof w->x);
    memcpy(w->w, v->w.stride, sizeof w->w);
    g->kind = -1;
    g->batches = g->splits = 1;
    g->n_batch = 0;
    g->side[0] = (dync__gm_side){.id = v->w.id, .offset = v->w.offset, .how = DYNC__GM_PIECES};
    g->side[1] = (dync__gm_side){.id = from->id, .offset = from->offset, .how = DYNC__GM_PIECES};
    for (int i = 0; i < 2; i++) {
        w->s[i] = v->s[i];
        w->d[i] = v->d[i];
        w->p[i] = v->p[i];
        if (!input || w->back) continue;
        int64_t most = v->w.shape[2 + i] - 1;
        w->p[i] = most * v->d[i] - v->p[i];
        g->side[0].offset += most * w->w[2 + i];
        w->w[2 + i] = -w->w[2 + i];
    }
    g->window_of = w;
    v->by_image = true;
    if (!input) return dync__cuv_finish(v, g);
    return dync__cuv_end(v, g, 4, to->shape, to->stride, to->offset, NULL);
}

DYNC__FN dync_status dync__cuv_direct_weight(dync__cuv *v)
{
    dync__gm *g = dync__cuv_product(v, v->w.shape[0], v->y.shape[3], 1);
    dync__gm_window *w = dync__arena_alloc(&v->code->arena, sizeof *w);
    const int32_t buf[3] = {v->x.id, v->y.id, v->w.id};
    if (!g || !w) return DYNC_ERR_MEMORY;
    *w = (dync__gm_window){.kh = v->w.shape[2],
                           .kw = v->w.shape[3],
                           .h = v->x.shape[2],
                           .w_in = v->x.shape[3],
                           .o = v->w.shape[0],
                           .oh = v->y.shape[2],
                           .per = v->go};
    memcpy(w->x, v->x.stride, sizeof w->x);
    memcpy(w->w, v->w.stride, sizeof w->w);
    memcpy(w->s, v->s, sizeof w->s);
    memcpy(w->p, v->p, sizeof w->p);
    memcpy(w->d, v->d, sizeof w->d);
    g->window_of = w;
    g->side[0].offset = v->w.offset;
    g->side[1].offset = v->x.offset;
    return dync__gm_direct_weight(v->code, g, v->x.shape[0], v->y.offset, v->y.stride, buf)
               ? DYNC_OK
               : DYNC_ERR_MEMORY;
}

DYNC__FN bool dync__cuv_is_direct(const dync__cuv *v, int kind)
{
    int64_t side = v->f16 ? 8 : v->dtype == DYNC_F32 ? 4 : 2, wide = side;
    if (v->gc != 1 || (kind == 3 && v->go > 8) ||
        v->w.shape[2] * v->w.shape[3] > DYNC__CUV_WINDOW ||
        7 * v->s[1] + v->w.shape[3] * v->d[1] >= DYNC__GMD_COLUMNS)
        return false;
    /* results of a thread: a rectangle by the stride (conv_direct.c) */
    while (kind == 2 && wide % v->s[1] && wide < 64) wide += side;
    return kind != 2 ||
           (v->go == 1 && (v->s[0] * v->s[1] == 1 || v->s[0] * wide <= DYNC__CUV_BACK));
}

/* ==== cuda/conv_forward.c ========================================================================== */
/* cuda/conv_forward.c: a convolution and its two gradients as products on a GPU, and what calls.c
 * asks. After conv.c, before loops.c. */

static const int dync__cuv_channels_last[4] = {0, 2, 3, 1};

static dync_status dync__cuv_forward(dync__cuv *v)
{
    const int64_t *xs = v->x.stride, *ws = v->w.stride;
    int64_t kh = v->w.shape[2], kw = v->w.shape[3], n = v->x.shape[0], oh = v->y.shape[2],
            ow = v->y.shape[3], plane = oh * ow;
    bool by_image = v->by_image, last = v->f16 && v->gc % 8 == 0 && !by_image;
    if (last && (!dync__cuv_pack(v, &v->x, dync__cuv_channels_last) ||
                 !dync__cuv_pack(v, &v->w, dync__cuv_channels_last)))
        return DYNC_ERR_MEMORY;
    dync__gm *g = dync__cuv_product(v, v->go, by_image ? plane : n * plane, v->gc * kh * kw);
    if (!g) return DYNC_ERR_MEMORY;
    g->side[0].batch[0] = v->go * ws[0];
    g->side[1].batch[0] = v->gc * xs[1];
    if (by_image) { /* batches: images, then groups */
        g->n_batch = 2;
        g->batches *= g->batch[0] = n;
        g->batch[1] = v->groups;
        for (int s = 0; s < 2; s++) g->side[s].batch[1] = g->side[s].batch[0];
        g->side[0].batch[0] = 0;
        g->side[1].batch[0] = xs[0];
    }
    dync__gm_gather a = {.how = DYNC__GM_PIECES}, b = a;
    dync__cuv_digit(&a, 0, v->go, ws[0], 0, 0);
    dync__cuv_window(&a, 1, last, (dync__gm_digit){v->gc, ws[1], 0, 0},
                     (dync__gm_digit){kh, ws[2], 0, 0}, (dync__gm_digit){kw, ws[3], 0, 0});
    if (!by_image) dync__cuv_digit(&b, 0, n, xs[0], 0, 0);
    dync__cuv_digit(&b, 0, oh, v->s[0] * xs[2], v->s[0], 0);
    dync__cuv_digit(&b, 0, ow, v->s[1] * xs[3], 0, v->s[1]);
    dync__cuv_window(&b, 1, last, (dync__gm_digit){v->gc, xs[1], 0, 0},
                     (dync__gm_digit){kh, v->d[0] * xs[2], v->d[0], 0},
                     (dync__gm_digit){kw, v->d[1] * xs[3], 0, v->d[1]});
    b.y = -v->p[0];
    b.x = -v->p[1];
    b.h = v->x.shape[2];
    b.w = v->x.shape[3];
    b.first = b.y * xs[2] + b.x * xs[3];
    if (!dync__cuv_side(v, g, 0, &v->w, &a, false, 0) ||
        !dync__cuv_side(v, g, 1, &v->x, &b, v->p[0] + v->p[1] > 0, 0))
        return DYNC_ERR_MEMORY;
    return dync__cuv_finish(v, g);
}

/* ---- data gradient --------------------------------------------------------------------------- */

/* Taps of places r modulo the stride: first, first + step, ...; row (column) at + place - back *
 * tap of gy. */
typedef struct dync__cuv_taps {
    int64_t n, first, step, at, back, places;
} dync__cuv_taps;
static dync__cuv_taps dync__cuv_taps_of(const dync__cuv *v, int axis, int64_t r)
{
    int64_t kernel = v->w.shape[2 + axis], s = v->s[axis], d = v->d[axis],
            size = v->x.shape[2 + axis];
    dync__cuv_taps t = {.first = -1, .step = 1, .places = r < size ? (size - r + s - 1) / s : 0};
    for (int64_t k = 0; k < kernel; k++) {
        if ((r + v->p[axis] - k * d) % s) continue;
        if (t.first < 0)
            t.first = k;
        else if (t.n == 1)
            t.step = k - t.first;
        t.n++;
    }
    if (t.n) t.at = (r + v->p[axis] - t.first * d) / s;
    t.back = t.step * d / s;
    return t;
}

static dync_status dync__cuv_zeros(dync__cuv *v, const int64_t *extent, const int64_t *stride,
                                   int64_t offset)
{
    dync__kernel *k = dync__kernel_new(&v->code->arena, "conv_zero", 0, 4, extent);
    dync__lb b = {.k = k, .section = 1, .origin = v->call->row->name};
    if (!k) return DYNC_ERR_MEMORY;
    dync__lb_store(&b, dync__kernel_buf(k, v->out, v->dtype, DYNC__BUF_OUT, -1, NULL),
                   dync__kernel_access(k, offset, stride),
                   dync__lb_f(&b, dync__dtype_info(v->dtype)->compute, 0));
    return dync__cuda_add_loop(v->code, k) ? DYNC_OK : DYNC_ERR_MEMORY;
}

static dync_status dync__cuv_phase(dync__cuv *v, int64_t ry, int64_t rx, bool last)
{
    const int64_t *xs = v->x.stride, *ws = v->w.stride, *ys = v->y.stride;
    dync__cuv_taps ty = dync__cuv_taps_of(v, 0, ry), tx = dync__cuv_taps_of(v, 1, rx);
    int64_t n = v->x.shape[0], offset = v->x.offset + ry * xs[2] + rx * xs[3],
            down = v->s[0] * xs[2], right = v->s[1] * xs[3];
    if (ty.places == 0 || tx.places == 0) return DYNC_OK;
    if (ty.n * tx.n == 0)
        return dync__cuv_zeros(v, (int64_t[]){n, v->x.shape[1], ty.places, tx.places},
                               (int64_t[]){xs[0], xs[1], down, right}, offset);
    dync__gm *g = dync__cuv_product(v, v->gc, n * ty.places * tx.places, v->go * ty.n * tx.n);
    if (!g) return DYNC_ERR_MEMORY;
    g->side[0].batch[0] = v->go * ws[0];
    g->side[1].batch[0] = v->go * ys[1];
    dync__gm_gather a = {.how = DYNC__GM_PIECES}, b = a;
    dync__cuv_digit(&a, 0, v->gc, ws[1], 0, 0);
    dync__cuv_window(&a, 1, last, (dync__gm_digit){v->go, ws[0], 0, 0},
                     (dync__gm_digit){ty.n, ty.step * ws[2], 0, 0},
                     (dync__gm_digit){tx.n, tx.step * ws[3], 0, 0});
    dync__cuv_digit(&b, 0, n, ys[0], 0, 0);
    dync__cuv_digit(&b, 0, ty.places, ys[2], 1, 0);
    dync__cuv_digit(&b, 0, tx.places, ys[3], 0, 1);
    dync__cuv_window(&b, 1, last, (dync__gm_digit){v->go, ys[1], 0, 0},
                     (dync__gm_digit){ty.n, -ty.back * ys[2], -ty.back, 0},
                     (dync__gm_digit){tx.n, -tx.back * ys[3], 0, -tx.back});
    b.y = ty.at;
    b.x = tx.at;
    b.h = v->y.shape[2];
    b.w = v->y.shape[3];
    b.first = b.y * ys[2] + b.x * ys[3];
    bool simple = ty.n * tx.n == 1 && ty.at == 0 && tx.at == 0 && ty.places <= b.h &&
                  tx.places <= b.w;
    if (!dync__cuv_side(v, g, 0, &v->w, &a, false, ty.first * ws[2] + tx.first * ws[3]) ||
        !dync__cuv_side(v, g, 1, &v->y, &b, !simple, 0))
        return DYNC_ERR_MEMORY;
    return dync__cuv_end(v, g, 5, (int64_t[]){v->groups, v->gc, n, ty.places, tx.places},
                         (int64_t[]){v->gc * xs[1], xs[1], xs[0], down, right}, offset, NULL);
}

static dync_status dync__cuv_input(dync__cuv *v)
{
    static const int by_output[4] = {1, 2, 3, 0};
    bool last = v->f16 && v->go % 8 == 0;
    if (last && (!dync__cuv_pack(v, &v->y, dync__cuv_channels_last) ||
                 !dync__cuv_pack(v, &v->w, by_output)))
        return DYNC_ERR_MEMORY;
    for (int64_t r = 0; r < v->s[0] * v->s[1]; r++)
        DYNC__TRY(dync__cuv_phase(v, r / v->s[1], r % v->s[1], last));
    return DYNC_OK;
}

/* ---- weight gradient ------------------------------------------------------------------------- */

static dync_status dync__cuv_weight(dync__cuv *v)
{
    bool last = v->f16 && v->gc % 8 == 0;
    if (last && (!dync__cuv_pack(v, &v->x, dync__cuv_channels_last) ||
                 (v->go % 8 == 0 && !dync__cuv_pack(v, &v->y, dync__cuv_channels_last))))
        return DYNC_ERR_MEMORY;
    const int64_t *xs = v->x.stride, *ws = v->w.stride, *ys = v->y.stride;
    int64_t kh = v->w.shape[2], kw = v->w.shape[3], n = v->x.shape[0], oh = v->y.shape[2],
            ow = v->y.shape[3];
    dync__gm *g = dync__cuv_product(v, v->go, v->gc * kh * kw, n * oh * ow);
    if (!g) return DYNC_ERR_MEMORY;
    g->side[0].batch[0] = v->go * ys[1];
    g->side[1].batch[0] = v->gc * xs[1];
    dync__gm_gather a = {.how = DYNC__GM_PIECES}, b = a;
    dync__cuv_digit(&a, 0, v->go, ys[1], 0, 0);
    dync__cuv_digit(&a, 1, n, ys[0], 0, 0);
    dync__cuv_digit(&a, 1, oh, ys[2], 0, 0);
    dync__cuv_digit(&a, 1, ow, ys[3], 0, 0);
    dync__cuv_window(&b, 0, last, (dync__gm_digit){v->gc, xs[1], 0, 0},
                     (dync__gm_digit){kh, v->d[0] * xs[2], v->d[0], 0},
                     (dync__gm_digit){kw, v->d[1] * xs[3], 0, v->d[1]});
    dync__cuv_digit(&b, 1, n, xs[0], 0, 0);
    dync__cuv_digit(&b, 1, oh, v->s[0] * xs[2], v->s[0], 0);
    dync__cuv_digit(&b, 1, ow, v->s[1] * xs[3], 0, v->s[1]);
    b.y = -v->p[0];
    b.x = -v->p[1];
    b.h = v->x.shape[2];
    b.w = v->x.shape[3];
    b.first = b.y * xs[2] + b.x * xs[3];
    if (!dync__cuv_side(v, g, 0, &v->y, &a, false, 0) ||
        !dync__cuv_side(v, g, 1, &v->x, &b, v->p[0] + v->p[1] > 0, 0))
        return DYNC_ERR_MEMORY;
    if (last)
        return dync__cuv_end(v, g, 5, (int64_t[]){v->groups, v->go, kh, kw, v->gc},
                             (int64_t[]){v->go * ws[0], ws[0], ws[2], ws[3], ws[1]}, v->w.offset,
                             NULL);
    return dync__cuv_end(v, g, 5, (int64_t[]){v->groups, v->go, v->gc, kh, kw},
                         (int64_t[]){v->go * ws[0], ws[0], ws[1], ws[2], ws[3]}, v->w.offset, NULL);
}

/* Worth a tile's trouble: several rows and columns, and work. */
static bool dync__cuv_is_product(int64_t m, int64_t n, int64_t k)
{
    return m >= 4 && n >= 8 && k >= 4 && (double)m * (double)n * (double)k > 4096 && m < 1 << 30 &&
           n < 1 << 30 && k < 1 << 30;
}

/* What the call is here: 0 nothing, 1 forward, 2 to the input, 3 to the weight; 4, 5, 6: the same,
 * directly. */
static int dync__cuv_kind(dync__cuv *v, dync__cuda_code *code, const dync__kcall *call)
{
    int kind = dync__kcall_is(call, DYNC__K_conv2d)               ? 1
               : dync__kcall_is(call, DYNC__K_conv2d_grad_input)  ? 2
               : dync__kcall_is(call, DYNC__K_conv2d_grad_weight) ? 3
                                                                  : 0;
    if (!kind || !dync__cuv_open(v, code, call)) return 0;
    if (dync__cuv_is_direct(v, kind)) {
        v->by_image = true;
        return kind + 3;
    }
    int64_t window = v->w.shape[2] * v->w.shape[3],
            pixels = v->x.shape[0] * v->y.shape[2] * v->y.shape[3],
            all = v->x.shape[0] * v->x.shape[2] * v->x.shape[3];
    /* loops.c unrolls the window */
    if (kind == 1 && v->go < DYNC__CUV_FEW && v->gc * window <= DYNC__CUV_WINDOW) return 0;
    if (kind == 2 && v->gc < DYNC__CUV_FEW && v->go * window <= DYNC__CUV_WINDOW) return 0;
    bool is = kind == 1   ? dync__cuv_is_product(v->go, pixels, v->gc * window)
              : kind == 3 ? dync__cuv_is_product(v->go, v->gc * window, pixels)
                          : dync__cuv_is_product(v->gc, all, v->go * window) &&
                                v->s[0] * v->s[1] <= DYNC__CUV_PHASES;
    return is ? kind : 0;
}

DYNC__FN bool dync__cuda_conv_takes(dync__cuda_code *code, const dync__kcall *call,
                                    const dync__kernel *end)
{
    dync__cuv v;
    dync__cuda_end e = {.k = end};
    int kind = dync__cuv_kind(&v, code, call);
    if (kind != 1 && kind != 4) return false;
    v.end = &e;
    dync__gm *g = dync__cuv_product(&v, v.go, v.y.shape[0] * v.y.shape[2] * v.y.shape[3], 1);
    return g && dync__cuv_end_of(&v, g);
}

/* Does the convolution rather make x or w itself? On the way into the packed array always; else it
 * is made again for every tap and tile. */
DYNC__FN bool dync__cuda_conv_takes_side(dync__cuda_code *code, const dync__kcall *call,
                                         const dync__kernel *k, int s)
{
    dync__cuv v;
    dync__gm_loops l;
    int64_t to[4], all;
    if (dync__cuv_kind(&v, code, call) != 1) return false;
    dync__cuv_array *a = s ? &v.w : &v.x;
    dync__gm_pre *pre = a->pre = dync__gm_pre_open(&code->arena, &call->operand[s], k, 0);
    if (!pre) return false;
    bool well = dync__cuv_lies_well(&v, a, dync__cuv_channels_last, to, &all);
    if (v.f16 && v.gc % 8 == 0 && !v.by_image && !well) return dync__cuv_made_loops(a, to, &l);
    int64_t pixels = v.y.shape[0] * v.y.shape[2] * v.y.shape[3], taps = v.w.shape[2] * v.w.shape[3];
    double times = s ? (double)(pixels + 127) / 128 : (double)(taps * ((v.go + 127) / 128)),
           units = dync__cuda_unit_of(code->device >> 8)->units;
    return dync__gm_pre_worth(pre, v.dtype, dync__gm_pre_clocks(pre, (double)all * times) / units,
                              0, (double)all);
}

DYNC__FN dync_status dync__cuda_conv(dync__cuda_code *code, const dync__kcall *call,
                                     const dync__cuda_end *end, bool *done)
{
    dync__cuv v;
    int kind = dync__cuv_kind(&v, code, call);
    *done = kind != 0;
    if (kind == 1 || kind == 4) v.end = end;
    int first = call->n + (end->k ? end->k->buf.n : 0);
    for (int i = 0; i < 2 && kind == 1; i++) {
        if (!end->pre[i]) continue;
        dync__cuv_array *a = i ? &v.w : &v.x;
        if (!(a->pre = dync__gm_pre_open(&code->arena, &call->operand[i], end->pre[i], first)))
            return dync__fail_memory(0);
        first += end->pre[i]->buf.n;
    }
    if (kind == 6) return dync__cuv_direct_weight(&v);
    if (kind > 3) return dync__cuv_direct(&v, kind == 5);
    return kind == 1   ? dync__cuv_forward(&v)
           : kind == 2 ? dync__cuv_input(&v)
           : kind == 3 ? dync__cuv_weight(&v)
                       : DYNC_OK;
}

/* ==== cuda/takes.c ================================================================================= */
/* cuda/takes.c: which loop kernels a product or a convolution does along with itself: to its
 * operands on their way, or to its result. After gemm_call.c and conv_forward.c, before calls.c. */

/* Is k better done to an operand on its way than by a launch before? Thin products read the long
 * side once, and the short one by every block. */
static bool dync__gm_takes_side(int device, const dync__kcall *call, const dync__kernel *k, int s)
{
    for (int i = 0; i < k->inst.n; i++) {
        int prim = k->inst.at[i].prim;
        if (prim == DYNC__P_storex || prim == DYNC__P_loadx || prim == DYNC__P_reduce ||
            prim == DYNC__P_random)
            return false;
    }
    dync__cuda_code code = {.device = device};
    dync__gm g, with;
    bool conv = dync__kcall_is(call, DYNC__K_conv2d),
         ok = (conv || dync__gm_open(&g, &code, call)) && k->buf.n < 20;
    dync__gm_pre *pre = ok && !conv ? dync__gm_pre_open(&code.arena, &call->operand[s], k, 0)
                                    : NULL;
    ok = conv ? ok && dync__cuda_conv_takes_side(&code, call, k, s) : pre != NULL;
    if (pre) {
        with = g;
        dync__gm_pre_set(&with.side[s], pre);
        double cost = dync__gm_plan(&with, true), apart = dync__gm_plan(&g, true),
               elements = (double)(s ? g.n : g.m) * (double)g.k;
        for (int d = 0; d < g.n_batch; d++) elements *= g.side[s].batch[d] ? (double)g.batch[d] : 1;
        if (with.thin != g.thin) ok = !g.thin;
        bool is_long = s == (with.swapped ? 0 : 1);
        if (with.thin)
            cost = is_long ? 0 : dync__gm_pre_cost(&with, &with.tile, with.chunk) / with.tile.n;
        else if (dync__gm_wgmma_suits(&g))
            apart = DYNC__GM_START +
                    (double)g.m * (double)g.n * (double)g.k * (double)g.batches /
                        ((double)dync__cuda_unit_of(device >> 8)->units * DYNC__GM_WGMMA);
        ok = ok && dync__gm_pre_worth(pre, g.dtype, cost, apart, elements);
    }
    dync__arena_free(&code.arena);
    return ok;
}

/* May the epilogue be done on the sums as they are? It is pointwise, in the order of the result. */
static bool dync__gm_takes_result(int device, const dync__kcall *call, const dync__kernel *k)
{
    dync__cuda_code code = {.device = device};
    dync__gm g;
    bool conv = dync__kcall_is(call, DYNC__K_conv2d);
    bool ok = !dync__ptx_has_reduce(k) && !k->uses_random && k->buf.n < 40 &&
              k->n_dims < DYNC__LOOP_MAX_DIMS && (conv || dync__gm_open(&g, &code, call));
    for (int i = 0; i < k->inst.n && ok; i++) ok = k->inst.at[i].section <= 2;
    for (int i = 0; i < k->buf.n && ok; i++)
        ok = k->buf.at[i].mode != (DYNC__BUF_IN | DYNC__BUF_OUT);
    ok = ok && (conv ? dync__cuda_conv_takes(&code, call, k) : dync__gm_end_of(&g, call, k, false));
    dync__arena_free(&code.arena);
    return ok;
}

DYNC__FN int dync__gm_takes(int device, const dync__kcall *call, const dync__kernel *k)
{
    int operand = -1, stores = 0, reads = 0;
    for (int i = 0; i < k->inst.n; i++) {
        if (k->inst.at[i].prim != DYNC__P_store) continue;
        stores++;
        for (int o = 0; o + 1 < call->n; o++)
            if (call->operand[o].slot == k->buf.at[k->inst.at[i].buf].id) reads++, operand = o;
    }
    if (reads == 0) return dync__gm_takes_result(device, call, k) ? 0 : -1;
    return stores == 1 && reads == 1 && operand < 2 && dync__gm_takes_side(device, call, k, operand)
               ? 1 + operand
               : -1;
}

/* ==== cuda/loops.h ================================================================================= */
/* cuda/loops.h: a loop kernel in the making. */
#ifndef DYNC__CUDA_LOOPS_H
#define DYNC__CUDA_LOOPS_H

enum { DYNC__CL_DIMS = DYNC__LOOP_MAX_DIMS };

typedef struct dync__cl { /* a loop kernel in the making */
    dync__lb b;
    dync__kernel *k;
    const dync__kcall *call;
    /* takes the builder's calls where there was no memory for one */
    dync__kernel none;
    int n; /* loops so far */
    int64_t extent[DYNC__CL_DIMS];
} dync__cl;

/* loops.c */
DYNC__FN int dync__cl_loop(dync__cl *c, int64_t extent);
DYNC__FN void dync__cl_begin(dync__cl *c, dync__cuda_code *code, int n_outer);
DYNC__FN void dync__cl_store(dync__cl *c, int operand, const int *pairs, int value);
DYNC__FN int dync__cl_op(dync__cl *c, int prim, int a, int b);
DYNC__FN int dync__cl_i(dync__cl *c, int64_t x);
DYNC__FN int dync__cl_select(dync__cl *c, int p, int a, int b);
DYNC__FN int dync__cl_form(dync__cl *c, int64_t offset, int loop1, int64_t by1, int loop2,
                           int64_t by2);
DYNC__FN int dync__cl_inside(dync__cl *c, int x, int64_t n);
DYNC__FN int dync__cl_picture(dync__cl *c, int operand, const int *pairs, int y, int x, int ok,
                              int type, int other);
DYNC__FN int dync__cl_working(int dtype);
DYNC__FN dync_status dync__cl_finish(dync__cl *c, dync__cuda_code *code);
DYNC__FN dync_status dync__cl_matmul(dync__cuda_code *code, const dync__kcall *call, bool bias);
DYNC__FN dync_status dync__cl_conv(dync__cuda_code *code, const dync__kcall *call);
DYNC__FN int dync__cl_source(dync__cl *c, int from, int64_t stride, int64_t n, int *ok);
DYNC__FN dync_status dync__cl_conv_input(dync__cuda_code *code, const dync__kcall *call);
DYNC__FN dync_status dync__cl_conv_weight(dync__cuda_code *code, const dync__kcall *call);
#endif

/* ==== cuda/loops.c ================================================================================= */
/* cuda/loops.c: kernel calls (kernel/kernel.h) as loop kernels, where a loop nest says it all:
 * matmul of any dtype, convolution and its gradients, pooling. Before calls.c, which has faster
 * texts for some and the rest.
 *
 * Every result element is gathered by one reduction, so nothing is written twice and the order of
 * additions is fixed. Places outside of a picture are read at its beginning and replaced by a
 * neutral value. */

DYNC__FN int dync__cl_loop(dync__cl *c, int64_t extent)
{
    c->extent[c->n] = extent;
    return c->n++;
}

DYNC__FN void dync__cl_begin(dync__cl *c, dync__cuda_code *code, int n_outer)
{
    c->k = dync__kernel_new(&code->arena, c->call->row->name, n_outer, c->n, c->extent);
    if (!c->k) {
        c->k = &c->none;
        c->k->arena = &code->arena;
        c->k->name = c->call->row->name;
        c->k->failed = true;
    }
    c->b.k = c->k;
    c->b.section = 1;
    c->b.origin = c->call->row->name;
}

/* An element: operand number, its strides for up to 8 loops given as pairs (loop, dim), -1 ends. */
static int dync__cl_access(dync__cl *c, const dync__operand *o, const int *pairs,
                           const int64_t *times)
{
    int64_t stride[DYNC__CL_DIMS] = {0};
    for (int i = 0; pairs[i] >= 0; i += 2)
        stride[pairs[i]] += o->lay.stride[pairs[i + 1]] * (times ? times[i / 2] : 1);
    return dync__kernel_access(c->k, o->lay.offset, stride);
}
static int dync__cl_buf(dync__cl *c, int operand, int mode)
{
    return dync__kernel_buf(c->k, operand, c->call->operand[operand].dtype, mode, -1, NULL);
}
static int dync__cl_load(dync__cl *c, int operand, const int *pairs, int type)
{
    return dync__lb_cast(&c->b,
                         dync__lb_load(&c->b, dync__cl_buf(c, operand, DYNC__BUF_IN),
                                       dync__cl_access(c, &c->call->operand[operand], pairs, NULL)),
                         type);
}
DYNC__FN void dync__cl_store(dync__cl *c, int operand, const int *pairs, int value)
{
    const dync__operand *o = &c->call->operand[operand];
    value = dync__lb_wrap(&c->b, dync__lb_cast(&c->b, value, dync__dtype_info(o->dtype)->compute),
                          o->dtype);
    dync__lb_store(&c->b, dync__cl_buf(c, operand, DYNC__BUF_OUT),
                   dync__cl_access(c, o, pairs, NULL), value);
}
DYNC__FN int dync__cl_op(dync__cl *c, int prim, int a, int b)
{
    return dync__lb_op(&c->b, prim, a, b, -1);
}
DYNC__FN int dync__cl_i(dync__cl *c, int64_t x) { return dync__lb_i(&c->b, DYNC_I64, x); }
DYNC__FN int dync__cl_select(dync__cl *c, int p, int a, int b)
{
    return dync__lb_op(&c->b, DYNC__P_select, p, a, b);
}

/* offset + sum of coefficient * loop, as I64 */
DYNC__FN int dync__cl_form(dync__cl *c, int64_t offset, int loop1, int64_t by1, int loop2,
                           int64_t by2)
{
    int64_t stride[DYNC__CL_DIMS] = {0};
    stride[loop1] += by1;
    stride[loop2] += by2;
    return dync__lb_index(&c->b, dync__kernel_access(c->k, offset, stride));
}

/* 0 <= x < n */
DYNC__FN int dync__cl_inside(dync__cl *c, int x, int64_t n)
{
    return dync__cl_op(c, DYNC__P_and_, dync__cl_op(c, DYNC__P_le, dync__cl_i(c, 0), x),
                       dync__cl_op(c, DYNC__P_lt, x, dync__cl_i(c, n)));
}

/* The element of `operand` at pairs and at places y, x of its last two dims, or `other` where `ok`
 * does not hold. */
DYNC__FN int dync__cl_picture(dync__cl *c, int operand, const int *pairs, int y, int x, int ok,
                              int type, int other)
{
    const dync__operand *o = &c->call->operand[operand];
    int n = o->lay.ndim;
    int at = dync__cl_op(c, DYNC__P_add,
                         dync__cl_op(c, DYNC__P_mul, y, dync__cl_i(c, o->lay.stride[n - 2])),
                         dync__cl_op(c, DYNC__P_mul, x, dync__cl_i(c, o->lay.stride[n - 1])));
    at = dync__cl_select(c, ok, at, dync__cl_i(c, 0));
    int value = dync__lb_loadx(&c->b, dync__cl_buf(c, operand, DYNC__BUF_IN),
                               dync__cl_access(c, o, pairs, NULL), at);
    return dync__cl_select(c, ok, dync__lb_cast(&c->b, value, type), other);
}

DYNC__FN int dync__cl_working(int dtype) { return dync__dtype_info(dtype)->compute; }

DYNC__FN dync_status dync__cl_finish(dync__cl *c, dync__cuda_code *code)
{
    return dync__cuda_add_loop(code, c->k) ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* ---- products -------------------------------------------------------------------------------- */

DYNC__FN dync_status dync__cl_matmul(dync__cuda_code *code, const dync__kcall *call, bool bias)
{
    dync__cl c = {.call = call};
    int out = bias ? 3 : 2, rank = call->operand[out].lay.ndim, a[2 * DYNC_MAX_DIMS + 1],
        b[2 * DYNC_MAX_DIMS + 1], y[2 * DYNC_MAX_DIMS + 1];
    int n_a = 0, n_b = 0, n_y = 0, type = dync__cl_working(call->operand[out].dtype);
    if (type == DYNC_BOOL) type = DYNC_I32;
    for (int d = 0; d < rank; d++) {
        int loop = dync__cl_loop(&c, call->operand[out].lay.shape[d]);
        if (d != rank - 1) a[n_a++] = loop, a[n_a++] = d;
        if (d != rank - 2) b[n_b++] = loop, b[n_b++] = d;
        y[n_y++] = loop, y[n_y++] = d;
    }
    int64_t depth = call->operand[0].lay.shape[rank - 1];
    /* nothing to add up: a product of empty rows */
    if (depth == 0) {
        y[n_y] = -1;
        dync__cl_begin(&c, code, 0);
        int nothing = dync__lb_cast(&c.b, dync__lb_i(&c.b, DYNC_I32, 0), type);
        dync__cl_store(&c, out, y, bias ? dync__cl_load(&c, 2, y, type) : nothing);
        return dync__cl_finish(&c, code);
    }
    int k = dync__cl_loop(&c, depth);
    a[n_a++] = k, a[n_a++] = rank - 1, b[n_b++] = k, b[n_b++] = rank - 2;
    a[n_a] = b[n_b] = y[n_y] = -1;
    dync__cl_begin(&c, code, rank);
    int sum = dync__lb_reduce(
        &c.b, DYNC__R_SUM,
        dync__cl_op(&c, DYNC__P_mul, dync__cl_load(&c, 0, a, type), dync__cl_load(&c, 1, b, type)));
    c.b.section = 2;
    if (bias) sum = dync__cl_op(&c, DYNC__P_add, sum, dync__cl_load(&c, 2, y, type));
    dync__cl_store(&c, out, y, sum);
    return dync__cl_finish(&c, code);
}

/* ---- convolution: x [N,C,H,W] w [O,C/g,KH,KW] y [N,O,OH,OW] ---------------------------------- */

/* Windows of few elements are unrolled: a thread a result, nothing is reduced, neighbours side by
 * side. Depthwise convolutions, mostly. */
static bool dync__cl_is_few(int64_t channels, const int64_t *w)
{
    return channels * w[2] * w[3] <= DYNC__CL_WINDOW;
}

/* sum + the element of picture 0 at y, x of channel number `channel` of the group, if ok, times
 * that of w; -1: nothing yet. */
static int dync__cl_tap(dync__cl *c, const dync__kcall *call, int sum, int64_t channel, int dim,
                        int64_t ky, int64_t kx, const int *at_x, const int *at_w, int y, int x,
                        int ok)
{
    dync__kcall_full here;
    int type = dync__cl_working(call->operand[0].dtype), zero = dync__lb_f(&c->b, type, 0);
    dync__layout *in = &here.call.operand[0].lay, *w = &here.call.operand[1].lay;
    dync__kcall_copy(&here.call, call);
    in->offset += channel * in->stride[1];
    w->offset += channel * w->stride[dim] + ky * w->stride[2] + kx * w->stride[3];
    c->call = &here.call;
    int v = dync__cl_op(c, DYNC__P_mul, dync__cl_picture(c, 0, at_x, y, x, ok, type, zero),
                        dync__cl_load(c, 1, at_w, type));
    c->call = call;
    return sum < 0 ? v : dync__cl_op(c, DYNC__P_add, sum, v);
}

DYNC__FN dync_status dync__cl_conv(dync__cuda_code *code, const dync__kcall *call)
{
    dync__cl c = {.call = call};
    const dync__attr_conv *a = &call->attr.conv;
    const int64_t *xs = call->operand[0].lay.shape, *ws = call->operand[1].lay.shape,
                  *ys = call->operand[call->n - 1].lay.shape;
    int type = dync__cl_working(call->operand[0].dtype), out = call->n - 1;
    bool few = dync__cl_is_few(ws[1], ws);
    int n = dync__cl_loop(&c, ys[0]), g = dync__cl_loop(&c, a->groups),
        o = dync__cl_loop(&c, ws[0] / a->groups), oy = dync__cl_loop(&c, ys[2]),
        ox = dync__cl_loop(&c, ys[3]);
    int i = few ? 0 : dync__cl_loop(&c, ws[1]), ky = few ? 0 : dync__cl_loop(&c, ws[2]),
        kx = few ? 0 : dync__cl_loop(&c, ws[3]), sum = -1;
    dync__cl_begin(&c, code, few ? 0 : 5);
    dync__operand x = call->operand[0], w = call->operand[1], y = call->operand[out],
                  bias = call->operand[2];
    int64_t xg = ws[1], wg = ws[0] / a->groups;
    /* channels as group and channel of it: a stride for the group */
    dync__kcall_full room;
    dync__kcall *grouped = &room.call;
    dync__kcall_copy(grouped, call);
    c.call = grouped;
    grouped->operand[0].lay.stride[4] = x.lay.stride[1] * xg;
    grouped->operand[1].lay.stride[4] = w.lay.stride[0] * wg;
    grouped->operand[out].lay.stride[4] = y.lay.stride[1] * wg;
    if (call->n == 4) grouped->operand[2].lay.stride[1] = bias.lay.stride[0] * wg;
    int at_x[] = {n, 0, g, 4, -1, 1, -1}, at_w[] = {g, 4, o, 0, -1, 1, ky, 2, kx, 3, -1},
        at_y[] = {n, 0, g, 4, o, 1, oy, 2, ox, 3, -1};
    for (int64_t tap = 0; few && tap < ws[1] * ws[2] * ws[3]; tap++) {
        int64_t down = tap / ws[3] % ws[2], right = tap % ws[3];
        int iy = dync__cl_form(&c, down * a->dilation[0] - a->pad[0], oy, a->stride[0], n, 0),
            ix = dync__cl_form(&c, right * a->dilation[1] - a->pad[1], ox, a->stride[1], n, 0);
        int ok = dync__cl_op(&c, DYNC__P_and_, dync__cl_inside(&c, iy, xs[2]),
                             dync__cl_inside(&c, ix, xs[3]));
        sum = dync__cl_tap(&c, grouped, sum, tap / (ws[2] * ws[3]), 1, down, right, at_x, at_w, iy,
                           ix, ok);
    }
    if (!few) {
        at_x[4] = at_w[4] = i;
        int iy = dync__cl_form(&c, -a->pad[0], oy, a->stride[0], ky, a->dilation[0]),
            ix = dync__cl_form(&c, -a->pad[1], ox, a->stride[1], kx, a->dilation[1]);
        int ok = dync__cl_op(&c, DYNC__P_and_, dync__cl_inside(&c, iy, xs[2]),
                             dync__cl_inside(&c, ix, xs[3]));
        int v = dync__cl_picture(&c, 0, at_x, iy, ix, ok, type, dync__lb_f(&c.b, type, 0));
        sum = dync__lb_reduce(&c.b, DYNC__R_SUM,
                              dync__cl_op(&c, DYNC__P_mul, v, dync__cl_load(&c, 1, at_w, type)));
        c.b.section = 2;
    }
    if (call->n == 4) {
        int at_b[] = {g, 1, o, 0, -1};
        sum = dync__cl_op(&c, DYNC__P_add, sum, dync__cl_load(&c, 2, at_b, type));
    }
    dync__cl_store(&c, out, at_y, sum);
    return dync__cl_finish(&c, code);
}

/* oy with oy * stride == y + pad - k * dilation, and whether there is one in [0, n). */
DYNC__FN int dync__cl_source(dync__cl *c, int from, int64_t stride, int64_t n, int *ok)
{
    if (stride == 1) {
        *ok = dync__cl_inside(c, from, n);
        return from;
    }
    int by = dync__cl_i(c, stride), whole = dync__cl_op(c, DYNC__P_div, from, by);
    int exact = dync__cl_op(c, DYNC__P_eq, dync__cl_op(c, DYNC__P_mul, whole, by), from);
    exact = dync__cl_op(c, DYNC__P_and_, exact, dync__cl_op(c, DYNC__P_le, dync__cl_i(c, 0), from));
    *ok = dync__cl_op(c, DYNC__P_and_, exact, dync__cl_inside(c, whole, n));
    return whole;
}

DYNC__FN dync_status dync__cl_conv_input(dync__cuda_code *code, const dync__kcall *call)
{
    dync__cl c = {.call = call};
    const dync__attr_conv *a = &call->attr.conv;
    const int64_t *ys = call->operand[0].lay.shape, *ws = call->operand[1].lay.shape,
                  *xs = call->operand[2].lay.shape;
    int type = dync__cl_working(call->operand[0].dtype), ok_y, ok_x;
    bool few = dync__cl_is_few(ws[0] / a->groups, ws);
    int n = dync__cl_loop(&c, xs[0]), g = dync__cl_loop(&c, a->groups),
        i = dync__cl_loop(&c, ws[1]), h = dync__cl_loop(&c, xs[2]), w = dync__cl_loop(&c, xs[3]),
        sum = -1;
    int o = few ? 0 : dync__cl_loop(&c, ws[0] / a->groups), ky = few ? 0 : dync__cl_loop(&c, ws[2]),
        kx = few ? 0 : dync__cl_loop(&c, ws[3]);
    dync__cl_begin(&c, code, few ? 0 : 5);
    dync__kcall_full room;
    dync__kcall *grouped = &room.call;
    dync__kcall_copy(grouped, call);
    c.call = grouped;
    grouped->operand[0].lay.stride[4] = call->operand[0].lay.stride[1] * (ws[0] / a->groups);
    grouped->operand[1].lay.stride[4] = call->operand[1].lay.stride[0] * (ws[0] / a->groups);
    grouped->operand[2].lay.stride[4] = call->operand[2].lay.stride[1] * ws[1];
    int at_y[] = {n, 0, g, 4, -1, 1, -1}, at_w[] = {g, 4, i, 1, -1, 0, ky, 2, kx, 3, -1},
        at_x[] = {n, 0, g, 4, i, 1, h, 2, w, 3, -1};
    for (int64_t tap = 0; few && tap < ws[0] / a->groups * ws[2] * ws[3]; tap++) {
        int64_t down = tap / ws[3] % ws[2], right = tap % ws[3];
        int oy = dync__cl_source(&c,
                                 dync__cl_form(&c, a->pad[0] - down * a->dilation[0], h, 1, n, 0),
                                 a->stride[0], ys[2], &ok_y);
        int ox = dync__cl_source(&c,
                                 dync__cl_form(&c, a->pad[1] - right * a->dilation[1], w, 1, n, 0),
                                 a->stride[1], ys[3], &ok_x);
        sum = dync__cl_tap(&c, grouped, sum, tap / (ws[2] * ws[3]), 0, down, right, at_y, at_w, oy,
                           ox, dync__cl_op(&c, DYNC__P_and_, ok_y, ok_x));
    }
    if (!few) {
        at_y[4] = at_w[4] = o;
        int oy = dync__cl_source(&c, dync__cl_form(&c, a->pad[0], h, 1, ky, -a->dilation[0]),
                                 a->stride[0], ys[2], &ok_y);
        int ox = dync__cl_source(&c, dync__cl_form(&c, a->pad[1], w, 1, kx, -a->dilation[1]),
                                 a->stride[1], ys[3], &ok_x);
        int v = dync__cl_picture(&c, 0, at_y, oy, ox, dync__cl_op(&c, DYNC__P_and_, ok_y, ok_x),
                                 type, dync__lb_f(&c.b, type, 0));
        sum = dync__lb_reduce(&c.b, DYNC__R_SUM,
                              dync__cl_op(&c, DYNC__P_mul, v, dync__cl_load(&c, 1, at_w, type)));
        c.b.section = 2;
    }
    dync__cl_store(&c, 2, at_x, sum);
    return dync__cl_finish(&c, code);
}

DYNC__FN dync_status dync__cl_conv_weight(dync__cuda_code *code, const dync__kcall *call)
{
    dync__cl c = {.call = call};
    const dync__attr_conv *a = &call->attr.conv;
    const int64_t *xs = call->operand[0].lay.shape, *ys = call->operand[1].lay.shape,
                  *ws = call->operand[2].lay.shape;
    int type = dync__cl_working(call->operand[0].dtype);
    int g = dync__cl_loop(&c, a->groups), o = dync__cl_loop(&c, ws[0] / a->groups),
        i = dync__cl_loop(&c, ws[1]), ky = dync__cl_loop(&c, ws[2]), kx = dync__cl_loop(&c, ws[3]),
        n = dync__cl_loop(&c, xs[0]), oy = dync__cl_loop(&c, ys[2]), ox = dync__cl_loop(&c, ys[3]);
    dync__cl_begin(&c, code, 5);
    dync__kcall_full room;
    dync__kcall *grouped = &room.call;
    dync__kcall_copy(grouped, call);
    c.call = grouped;
    grouped->operand[0].lay.stride[4] = call->operand[0].lay.stride[1] * ws[1];
    grouped->operand[1].lay.stride[4] = call->operand[1].lay.stride[1] * (ws[0] / a->groups);
    grouped->operand[2].lay.stride[4] = call->operand[2].lay.stride[0] * (ws[0] / a->groups);
    int iy = dync__cl_form(&c, -a->pad[0], oy, a->stride[0], ky, a->dilation[0]),
        ix = dync__cl_form(&c, -a->pad[1], ox, a->stride[1], kx, a->dilation[1]);
    int ok = dync__cl_op(&c, DYNC__P_and_, dync__cl_inside(&c, iy, xs[2]),
                         dync__cl_inside(&c, ix, xs[3]));
    int at_x[] = {n, 0, g, 4, i, 1, -1}, at_y[] = {n, 0, g, 4, o, 1, oy, 2, ox, 3, -1},
        at_w[] = {g, 4, o, 0, i, 1, ky, 2, kx, 3, -1};
    int v = dync__cl_picture(&c, 0, at_x, iy, ix, ok, type, dync__lb_f(&c.b, type, 0));
    int sum = dync__lb_reduce(&c.b, DYNC__R_SUM,
                              dync__cl_op(&c, DYNC__P_mul, v, dync__cl_load(&c, 1, at_y, type)));
    c.b.section = 2;
    dync__cl_store(&c, 2, at_w, sum);
    return dync__cl_finish(&c, code);
}

/* ==== cuda/loops_pool.c ============================================================================ */
/* cuda/loops_pool.c: pooling as loops, and the rows of operators that loops take. Before: loops.c.
 * */

/* ---- pooling: x [.., H, W] y [.., OH, OW] ---------------------------------------------------- */

/* Loops over the leading dims, then rows and columns of the result; pairs of leading loops for any
 * operand. */
static int dync__cl_planes(dync__cl *c, const dync__operand *out, int *pairs, int *y, int *x)
{
    int n = 0, rank = out->lay.ndim;
    for (int d = 0; d < rank - 2; d++)
        pairs[n++] = dync__cl_loop(c, out->lay.shape[d]), pairs[n++] = d;
    *y = dync__cl_loop(c, out->lay.shape[rank - 2]);
    *x = dync__cl_loop(c, out->lay.shape[rank - 1]);
    pairs[n] = -1;
    return n;
}

/* A window over the last two dims of `in`: loops, and the place that the inner ones point at. */
typedef struct dync__cl_pool {
    int pairs[2 * DYNC_MAX_DIMS + 5], n, oy, ox, iy, ix, ok, rank, type;
    int64_t h, w;
} dync__cl_pool;

static dync__cl_pool dync__cl_pool_begin(dync__cl *c, dync__cuda_code *code)
{
    const dync__attr_pool *a = &c->call->attr.pool;
    const dync__operand *in = &c->call->operand[0];
    dync__cl_pool p = {.rank = in->lay.ndim, .type = dync__cl_working(in->dtype)};
    p.n = dync__cl_planes(c, &c->call->operand[1], p.pairs, &p.oy, &p.ox);
    int n_outer = c->n, ky = dync__cl_loop(c, a->kernel[0]), kx = dync__cl_loop(c, a->kernel[1]);
    p.h = in->lay.shape[p.rank - 2];
    p.w = in->lay.shape[p.rank - 1];
    dync__cl_begin(c, code, n_outer);
    p.iy = dync__cl_form(c, -a->pad[0], p.oy, a->stride[0], ky, a->dilation[0]);
    p.ix = dync__cl_form(c, -a->pad[1], p.ox, a->stride[1], kx, a->dilation[1]);
    p.ok =
        dync__cl_op(c, DYNC__P_and_, dync__cl_inside(c, p.iy, p.h), dync__cl_inside(c, p.ix, p.w));
    return p;
}

/* From here on the pairs are those of the result. */
static void dync__cl_pool_result(dync__cl_pool *p)
{
    int more[] = {p->oy, p->rank - 2, p->ox, p->rank - 1, -1};
    memcpy(p->pairs + p->n, more, sizeof more);
}

/* The greatest, then the first place that holds it, or the last NaN. */
static dync_status dync__cl_max_pool(dync__cuda_code *code, const dync__kcall *call)
{
    dync__cl c = {.call = call};
    dync__cl_pool p = dync__cl_pool_begin(&c, code);
    int v = dync__cl_picture(&c, 0, p.pairs, p.iy, p.ix, p.ok, p.type,
                             dync__lb_f(&c.b, p.type, -HUGE_VAL));
    int top = dync__lb_reduce(&c.b, DYNC__R_MAX, v);
    c.b.section = 3;
    int place =
        dync__cl_op(&c, DYNC__P_add, dync__cl_op(&c, DYNC__P_mul, p.iy, dync__cl_i(&c, p.w)), p.ix);
    int found = dync__cl_op(&c, DYNC__P_and_, p.ok, dync__cl_op(&c, DYNC__P_eq, v, top)),
        nan = dync__cl_op(&c, DYNC__P_ne, v, v);
    int first = dync__lb_reduce(&c.b, DYNC__R_MIN,
                                dync__cl_select(&c, found, place, dync__cl_i(&c, p.h * p.w)));
    int last =
        dync__lb_reduce(&c.b, DYNC__R_MAX, dync__cl_select(&c, nan, place, dync__cl_i(&c, -1)));
    c.b.section = 4;
    int index =
        dync__cl_select(&c, dync__cl_op(&c, DYNC__P_le, dync__cl_i(&c, 0), last), last, first);
    index = dync__cl_select(&c, dync__cl_op(&c, DYNC__P_lt, index, dync__cl_i(&c, p.h * p.w)),
                            index, dync__cl_i(&c, 0));
    dync__cl_pool_result(&p);
    dync__cl_store(&c, 1, p.pairs, top);
    dync__cl_store(&c, 2, p.pairs, index);
    return dync__cl_finish(&c, code);
}

/* What the average over the window at oy, ox divides by; both I64. */
static int dync__cl_window(dync__cl *c, int oy, int ox, int64_t h, int64_t w)
{
    const dync__attr_pool *a = &c->call->attr.pool;
    int size[2];
    if (a->divisor) return dync__cl_i(c, a->divisor);
    for (int d = 0; d < 2; d++) {
        int64_t length = d ? w : h, kernel = a->kernel[d], pad = a->pad[d];
        int from = dync__cl_op(
            c, DYNC__P_sub, dync__cl_op(c, DYNC__P_mul, d ? ox : oy, dync__cl_i(c, a->stride[d])),
            dync__cl_i(c, pad));
        int to = dync__cl_op(c, DYNC__P_min,
                             dync__cl_op(c, DYNC__P_add, from, dync__cl_i(c, kernel)),
                             dync__cl_i(c, a->include_pad ? length + pad : length));
        if (!a->include_pad) from = dync__cl_op(c, DYNC__P_max, from, dync__cl_i(c, 0));
        size[d] = dync__cl_op(c, DYNC__P_sub, to, from);
    }
    return dync__cl_op(c, DYNC__P_mul, size[0], size[1]);
}

static dync_status dync__cl_avg_pool(dync__cuda_code *code, const dync__kcall *call)
{
    dync__cl c = {.call = call};
    dync__cl_pool p = dync__cl_pool_begin(&c, code);
    int zero = dync__lb_f(&c.b, p.type, 0);
    int sum = dync__lb_reduce(&c.b, DYNC__R_SUM,
                              dync__cl_picture(&c, 0, p.pairs, p.iy, p.ix, p.ok, p.type, zero)),
        any = dync__lb_reduce(&c.b, DYNC__R_ANY, p.ok);
    c.b.section = 2;
    int by = dync__lb_cast(&c.b,
                           dync__cl_window(&c, dync__cl_form(&c, 0, p.oy, 1, p.ox, 0),
                                           dync__cl_form(&c, 0, p.ox, 1, p.oy, 0), p.h, p.w),
                           p.type);
    dync__cl_pool_result(&p);
    dync__cl_store(&c, 1, p.pairs,
                   dync__cl_select(&c, any, dync__cl_op(&c, DYNC__P_div, sum, by),
                                   dync__lb_f(&c.b, p.type, 0)));
    return dync__cl_finish(&c, code);
}

static dync_status dync__cl_avg_pool_grad(dync__cuda_code *code, const dync__kcall *call)
{
    dync__cl c = {.call = call};
    const dync__attr_pool *a = &call->attr.pool;
    const dync__operand *gy = &call->operand[0], *gx = &call->operand[1];
    int pairs[2 * DYNC_MAX_DIMS + 5], y, x, ok_y, ok_x, rank = gx->lay.ndim,
                                                        type = dync__cl_working(gx->dtype),
                                                        n = dync__cl_planes(&c, gx, pairs, &y, &x);
    int n_outer = c.n, ky = dync__cl_loop(&c, a->kernel[0]), kx = dync__cl_loop(&c, a->kernel[1]);
    dync__cl_begin(&c, code, n_outer);
    int oy = dync__cl_source(&c, dync__cl_form(&c, a->pad[0], y, 1, ky, -1), a->stride[0],
                             gy->lay.shape[rank - 2], &ok_y);
    int ox = dync__cl_source(&c, dync__cl_form(&c, a->pad[1], x, 1, kx, -1), a->stride[1],
                             gy->lay.shape[rank - 1], &ok_x);
    int zero = dync__lb_f(&c.b, type, 0), ok = dync__cl_op(&c, DYNC__P_and_, ok_y, ok_x);
    int v = dync__cl_picture(&c, 0, pairs, oy, ox, ok, type, zero);
    int by = dync__lb_cast(
        &c.b, dync__cl_window(&c, oy, ox, gx->lay.shape[rank - 2], gx->lay.shape[rank - 1]), type);
    int sum = dync__lb_reduce(&c.b, DYNC__R_SUM,
                              dync__cl_select(&c, ok, dync__cl_op(&c, DYNC__P_div, v, by), zero));
    c.b.section = 2;
    pairs[n] = y, pairs[n + 1] = rank - 2, pairs[n + 2] = x, pairs[n + 3] = rank - 1,
    pairs[n + 4] = -1;
    dync__cl_store(&c, 1, pairs, sum);
    return dync__cl_finish(&c, code);
}

/* ---- rows ------------------------------------------------------------------------------------ */

DYNC__FN dync_status dync__cuda_call_loops(dync__cuda_code *code, const dync__kcall *call,
                                           bool *done)
{
    *done = true;
    for (int i = 0; i < call->n; i++) /* an empty result asks for nothing */
        for (int d = 0; call->operand[i].written && d < call->operand[i].lay.ndim; d++)
            if (call->operand[i].lay.shape[d] == 0) return DYNC_OK;
    if (dync__kcall_is(call, DYNC__K_matmul)) return dync__cl_matmul(code, call, false);
    if (dync__kcall_is(call, DYNC__K_addmm)) return dync__cl_matmul(code, call, true);
    if (dync__kcall_is(call, DYNC__K_conv2d)) return dync__cl_conv(code, call);
    if (dync__kcall_is(call, DYNC__K_conv2d_grad_input)) return dync__cl_conv_input(code, call);
    if (dync__kcall_is(call, DYNC__K_conv2d_grad_weight)) return dync__cl_conv_weight(code, call);
    if (dync__kcall_is(call, DYNC__K_max_pool2d)) return dync__cl_max_pool(code, call);
    if (dync__kcall_is(call, DYNC__K_avg_pool2d)) return dync__cl_avg_pool(code, call);
    if (dync__kcall_is(call, DYNC__K_avg_pool2d_grad)) return dync__cl_avg_pool_grad(code, call);
    *done = false;
    return DYNC_OK;
}

/* ==== cuda/attention_plain.c ======================================================================= */
/* cuda/attention_plain.c: attention and its gradients as loop kernels, scores in memory: heads
 * wider than 256, F64, and the form that the others are tested against. After loops.c, before
 * attention.c. The same numbers as kernel/attention.c: a query that sees nothing gives zeros. */

/* An operand and the buffer that it is in. */
typedef struct dync__fap_array {
    dync__operand o;
    int buf;
} dync__fap_array;
typedef struct dync__fap {
    dync__cuda_code *code;
    const dync__kcall *call;
    int n_batch, type;
    const dync__operand *q;
    dync__kernel *k;
    dync__lb b;
} dync__fap;

/* Loops: the batch, then two over the result and, where n is 3, one that is added up over. */
static bool dync__fap_begin(dync__fap *x, const char *name, int n_outer, int n, int64_t e0,
                            int64_t e1, int64_t e2)
{
    int64_t extent[DYNC__LOOP_MAX_DIMS], mine[3] = {e0, e1, e2};
    memcpy(extent, x->q->lay.shape, sizeof(int64_t) * (size_t)x->n_batch);
    memcpy(extent + x->n_batch, mine, sizeof mine);
    x->k = dync__kernel_new(&x->code->arena, name, x->n_batch + n_outer, x->n_batch + n, extent);
    x->b = (dync__lb){.k = x->k, .section = 1, .origin = "attention"};
    return x->k != NULL;
}

/* A matrix of the batch along two of the loops, or, loop1 -1, a column. */
static int dync__fap_access(dync__fap *x, const dync__operand *o, int loop0, int loop1)
{
    int64_t stride[DYNC__LOOP_MAX_DIMS] = {0};
    memcpy(stride, o->lay.stride, sizeof(int64_t) * (size_t)x->n_batch);
    stride[x->n_batch + loop0] = o->lay.stride[x->n_batch];
    if (loop1 >= 0) stride[x->n_batch + loop1] = o->lay.stride[x->n_batch + 1];
    return dync__kernel_access(x->k, o->lay.offset, stride);
}
static int dync__fap_load(dync__fap *x, const dync__fap_array *a, int loop0, int loop1)
{
    int v = dync__lb_load(&x->b, dync__kernel_buf(x->k, a->buf, a->o.dtype, DYNC__BUF_IN, -1, NULL),
                          dync__fap_access(x, &a->o, loop0, loop1));
    return a->o.dtype == DYNC_BOOL ? v : dync__lb_cast(&x->b, v, x->type);
}
static void dync__fap_store(dync__fap *x, const dync__fap_array *a, int loop0, int loop1, int value)
{
    value = dync__lb_cast(&x->b, value, dync__dtype_info(a->o.dtype)->compute);
    dync__lb_store(&x->b, dync__kernel_buf(x->k, a->buf, a->o.dtype, DYNC__BUF_OUT, -1, NULL),
                   dync__fap_access(x, &a->o, loop0, loop1), value);
}
static int dync__fap_op(dync__fap *x, int prim, int a, int b)
{
    return dync__lb_op(&x->b, prim, a, b, -1);
}

/* 0 where x is -inf */
static int dync__fap_finite(dync__fap *x, int v)
{
    int none = dync__fap_op(x, DYNC__P_eq, v, dync__lb_f(&x->b, x->type, -HUGE_VAL));
    return dync__lb_op(&x->b, DYNC__P_select, none, dync__lb_f(&x->b, x->type, 0), v);
}

static dync__fap_array dync__fap_operand(const dync__fap *x, int i)
{
    return (dync__fap_array){x->call->operand[i], i};
}
static bool dync__fap_temp(dync__fap *x, dync__fap_array *a, int n, int64_t e0, int64_t e1)
{
    int64_t shape[DYNC_MAX_DIMS], mine[2] = {e0, e1}, count = 1;
    memcpy(shape, x->q->lay.shape, sizeof(int64_t) * (size_t)x->n_batch);
    memcpy(shape + x->n_batch, mine, sizeof(int64_t) * (size_t)n);
    for (int d = 0; d < x->n_batch + n; d++) count *= shape[d];
    a->o.dtype = (uint8_t)x->type;
    a->buf = dync__cuda_add_temp(x->code, count * dync__dtype_info(x->type)->bytes);
    return a->buf >= 0 && dync__layout_contiguous(&a->o.lay, x->n_batch + n, shape) == DYNC_OK;
}

/* The score of loops 0 and 1, behind a sum over loop 2; to be used in section 2. */
static int dync__fap_score(dync__fap *x, const dync__fap_array *q, const dync__fap_array *k)
{
    const dync__kcall *call = x->call;
    const dync__attr_attention *a = &call->attr.attention;
    int s = dync__lb_reduce(
        &x->b, DYNC__R_SUM,
        dync__fap_op(x, DYNC__P_mul, dync__fap_load(x, q, 0, 2), dync__fap_load(x, k, 1, 2)));
    x->b.section = 2;
    s = dync__fap_op(x, DYNC__P_mul, s, dync__lb_f(&x->b, x->type, a->scale));
    int hidden = dync__lb_f(&x->b, x->type, -HUGE_VAL);
    if (a->mask >= 0) {
        dync__fap_array m = dync__fap_operand(x, a->mask);
        int seen = dync__fap_load(x, &m, 0, 1);
        s = m.o.dtype == DYNC_BOOL ? dync__lb_op(&x->b, DYNC__P_select, seen, s, hidden)
                                   : dync__fap_op(x, DYNC__P_add, s, seen);
    }
    if (!a->causal) return s;
    int64_t ahead[DYNC__LOOP_MAX_DIMS] = {0};
    ahead[x->n_batch] = 1;
    ahead[x->n_batch + 1] = -1;
    int seen = dync__fap_op(x, DYNC__P_le, dync__lb_i(&x->b, DYNC_I64, 0),
                            dync__lb_index(&x->b, dync__kernel_access(x->k, 0, ahead)));
    return dync__lb_op(&x->b, DYNC__P_select, seen, s, hidden);
}

/* out[loop 0, loop 1] = sum over loop 2 of a b, each along two of the loops; scaled by the
 * attention's scale where asked for. */
static bool dync__fap_product(dync__fap *x, const char *name, const dync__fap_array *out,
                              int64_t inner, const dync__fap_array *a, int a0, int a1,
                              const dync__fap_array *b, int b0, int b1)
{
    if (!dync__fap_begin(x, name, 2, 3, out->o.lay.shape[x->n_batch],
                         out->o.lay.shape[x->n_batch + 1], inner))
        return false;
    int sum = dync__lb_reduce(
        &x->b, DYNC__R_SUM,
        dync__fap_op(x, DYNC__P_mul, dync__fap_load(x, a, a0, a1), dync__fap_load(x, b, b0, b1)));
    x->b.section = 2;
    dync__fap_store(x, out, 0, 1, sum);
    return dync__cuda_add_loop(x->code, x->k);
}

static void dync__fap_open(dync__fap *x, dync__cuda_code *code, const dync__kcall *call, int first)
{
    memset(x, 0, sizeof *x);
    x->code = code;
    x->call = call;
    x->q = &call->operand[first];
    x->n_batch = x->q->lay.ndim - 2;
    x->type = dync__dtype_info(x->q->dtype)->compute;
}

DYNC__FN dync_status dync__fa_plain(dync__cuda_code *code, const dync__kcall *call)
{
    dync__fap x;
    dync__fap_open(&x, code, call, 0);
    dync__fap_array q = dync__fap_operand(&x, 0), k = dync__fap_operand(&x, 1),
                    v = dync__fap_operand(&x, 2), y = dync__fap_operand(&x, 3),
                    log = dync__fap_operand(&x, 4), s;
    int64_t L = q.o.lay.shape[x.n_batch], E = q.o.lay.shape[x.n_batch + 1],
            S = v.o.lay.shape[x.n_batch];
    if (!dync__fap_temp(&x, &s, 2, L, S) || !dync__fap_begin(&x, "attention_scores", 2, 3, L, S, E))
        return DYNC_ERR_MEMORY;
    dync__fap_store(&x, &s, 0, 1, dync__fap_score(&x, &q, &k));
    if (!dync__cuda_add_loop(code, x.k) || !dync__fap_begin(&x, "attention_softmax", 1, 2, L, S, 1))
        return DYNC_ERR_MEMORY;
    int score = dync__fap_load(&x, &s, 0, 1), top = dync__lb_reduce(&x.b, DYNC__R_MAX, score);
    x.b.section = 2;
    int from = dync__fap_finite(&x, top);
    x.b.section = 3;
    int e = dync__vm_exp(&x.b, dync__fap_op(&x, DYNC__P_sub, score, from)),
        sum = dync__lb_reduce(&x.b, DYNC__R_SUM, e);
    x.b.section = 4;
    int zero = dync__lb_f(&x.b, x.type, 0),
        over = dync__fap_op(&x, DYNC__P_div, dync__lb_f(&x.b, x.type, 1), sum);
    over = dync__lb_op(&x.b, DYNC__P_select, dync__fap_op(&x, DYNC__P_eq, sum, zero), zero, over);
    dync__fap_store(&x, &log, 0, -1, dync__fap_op(&x, DYNC__P_add, top, dync__vm_log(&x.b, sum)));
    x.b.section = 5;
    dync__fap_array w = s;
    if (!dync__fap_temp(&x, &w, 2, L, S)) return DYNC_ERR_MEMORY;
    dync__fap_store(&x, &w, 0, 1, dync__fap_op(&x, DYNC__P_mul, e, over));
    if (!dync__cuda_add_loop(code, x.k)) return DYNC_ERR_MEMORY;
    return dync__fap_product(&x, "attention_values", &y, S, &w, 0, 2, &v, 2, 1) ? DYNC_OK
                                                                                : DYNC_ERR_MEMORY;
}

DYNC__FN dync_status dync__fa_plain_grad(dync__cuda_code *code, const dync__kcall *call)
{
    dync__fap x;
    double scale = call->attr.attention.scale;
    dync__fap_open(&x, code, call, 1);
    dync__fap_array a[9], w, d, dot; /* gy, q, k, v, y, log, gq, gk, gv */
    for (int i = 0; i < 9; i++) a[i] = dync__fap_operand(&x, i);
    int64_t L = a[1].o.lay.shape[x.n_batch], E = a[1].o.lay.shape[x.n_batch + 1],
            S = a[3].o.lay.shape[x.n_batch], V = a[3].o.lay.shape[x.n_batch + 1];
    if (!dync__fap_temp(&x, &w, 2, L, S) || !dync__fap_temp(&x, &d, 2, L, S) ||
        !dync__fap_temp(&x, &dot, 1, L, 0))
        return DYNC_ERR_MEMORY;
    if (!dync__fap_begin(&x, "attention_weights", 2, 3, L, S, E)) return DYNC_ERR_MEMORY;
    int score = dync__fap_score(&x, &a[1], &a[2]),
        log = dync__fap_finite(&x, dync__fap_load(&x, &a[5], 0, -1));
    dync__fap_store(&x, &w, 0, 1, dync__vm_exp(&x.b, dync__fap_op(&x, DYNC__P_sub, score, log)));
    if (!dync__cuda_add_loop(code, x.k) || !dync__fap_begin(&x, "attention_dot", 1, 2, L, V, 1))
        return DYNC_ERR_MEMORY;
    int sum = dync__lb_reduce(&x.b, DYNC__R_SUM,
                              dync__fap_op(&x, DYNC__P_mul, dync__fap_load(&x, &a[0], 0, 1),
                                           dync__fap_load(&x, &a[4], 0, 1)));
    x.b.section = 2;
    dync__fap_store(&x, &dot, 0, -1, sum);
    if (!dync__cuda_add_loop(code, x.k) ||
        !dync__fap_begin(&x, "attention_score_grad", 2, 3, L, S, V))
        return DYNC_ERR_MEMORY;
    sum = dync__lb_reduce(&x.b, DYNC__R_SUM,
                          dync__fap_op(&x, DYNC__P_mul, dync__fap_load(&x, &a[0], 0, 2),
                                       dync__fap_load(&x, &a[3], 1, 2)));
    x.b.section = 2;
    int g = dync__fap_op(&x, DYNC__P_sub, sum, dync__fap_load(&x, &dot, 0, -1));
    int weight = dync__fap_op(&x, DYNC__P_mul, dync__fap_load(&x, &w, 0, 1),
                              dync__lb_f(&x.b, x.type, scale));
    dync__fap_store(&x, &d, 0, 1, dync__fap_op(&x, DYNC__P_mul, weight, g));
    bool ok = dync__cuda_add_loop(code, x.k) &&
              dync__fap_product(&x, "attention_gq", &a[6], S, &d, 0, 2, &a[2], 2, 1) &&
              dync__fap_product(&x, "attention_gk", &a[7], L, &d, 2, 0, &a[1], 2, 1) &&
              dync__fap_product(&x, "attention_gv", &a[8], L, &w, 2, 0, &a[0], 2, 1);
    return ok ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* ==== cuda/attention_tile.c ======================================================================== */
/* cuda/attention_tile.c: tiles in shared memory, accumulators and products of the attention
 * kernels, by mma.sync or by fma (attention.h). After tile.c, before attention.c.
 *
 * Fragments of mma.sync: the scores' accumulators have the layout of operand a with twice the
 * columns, so weights only change their format (FlashAttention-2: Dao 2023, arXiv:2307.08691). The
 * fma form keeps rows x cols of both operands of 4 steps in registers. */

/* A register's name: prefix, tile, suffix. */
DYNC__FN const char *dync__fa_name(char *to, const dync__fa_tile *x, const char *suffix)
{
    dync__format(to, 24, "%%%s_%s", x->name, suffix);
    return to;
}
DYNC__FN int64_t dync__fa_stride(const dync__fa *c, int width)
{
    return (int64_t)width * c->bytes + 16;
}
DYNC__FN int64_t dync__fa_row_bytes(const dync__fa *c, const dync__operand *o)
{
    return o->lay.stride[c->n_batch] * dync__dtype_info(o->dtype)->bytes;
}

/* Neighbouring columns that a thread of the fma form takes of a tile of that width. */
DYNC__FN int dync__fa_vec(int width)
{
    return width / DYNC__FA_SIDE % 4 == 0 ? 4 : width / DYNC__FA_SIDE % 2 == 0 ? 2 : 1;
}

/* ---- addresses ------------------------------------------------------------------------------- */

DYNC__FN void dync__fa_units(dync__fa *c)
{
    dync__ptx *p = &c->t.p;
    char name[24];
    dync__ptx_reg(p, "b32", "%rest");
    dync__ptx_line(p, "mov.b32 %%rest, %%unit");
    for (int d = c->n_batch - 1; d >= 0; d--) {
        dync__format(name, sizeof name, "%%u%d", d);
        dync__cuda_tile_set(&c->t, "u32", name, "rem", "%%rest, %lld",
                            (long long)c->q->lay.shape[d]);
        if (d) dync__ptx_line(p, "div.u32 %%rest, %%rest, %lld", (long long)c->q->lay.shape[d]);
    }
}

DYNC__FN void dync__fa_base(dync__fa *c, const char *name, const dync__operand *o, int buf)
{
    dync__ptx *p = &c->t.p;
    int64_t bytes = dync__dtype_info(o->dtype)->bytes;
    dync__cuda_tile_set(&c->t, "s64", name, "add", "%%b%d, %lld", buf,
                        (long long)(o->lay.offset * bytes));
    for (int d = 0; d < c->n_batch; d++) {
        if (o->lay.stride[d] == 0 || c->q->lay.shape[d] == 1) continue;
        const char *wide = dync__ptx_temp(p, "s64");
        dync__ptx_line(p, "cvt.s64.s32 %s, %%u%d", wide, d);
        dync__ptx_line(p, "mad.lo.s64 %s, %s, %lld, %s", name, wide,
                       (long long)(o->lay.stride[d] * bytes), name);
    }
}

/* How threads take a tile: each `unit` elements of a row at a time, `side` threads a row, `rows`
 * rows a pass. */
typedef struct dync__fa_walk {
    int unit, side, rows, across;
} dync__fa_walk;
static dync__fa_walk dync__fa_walk_of(const dync__fa *c, const dync__fa_tile *x)
{
    dync__fa_walk w = {.unit = c->vec ? 16 / c->bytes : 1};
    int per_row = x->width / w.unit;
    w.side = DYNC__MIN(per_row, c->threads);
    w.rows = c->threads / w.side;
    w.across = (per_row + w.side - 1) / w.side;
    return w;
}

DYNC__FN void dync__fa_tile_begin(dync__fa *c, dync__fa_tile *x, const char *row0)
{
    dync__ptx *p = &c->t.p;
    dync__fa_walk w = dync__fa_walk_of(c, x);
    char g[24], s[24], r[24], y[24], e[24];
    int64_t stride = dync__fa_stride(c, x->width), size = stride * x->rows,
            column = x->o->lay.stride[c->n_batch + 1] * c->bytes * w.unit;
    x->at = dync__cuda_tile_shared(&c->t, (int)(x->stage ? 2 * size : size), 128);
    if (x->stage) x->stage = (int)size;
    dync__cuda_tile_note(&c->t, "%s: tiles of %d rows of %lld", x->name, x->rows,
                         (long long)x->columns);
    dync__fa_base(c, dync__fa_name(g, x, "g"), x->o, x->buf);
    /* row of the pass */
    dync__cuda_tile_set(&c->t, "u32", dync__fa_name(y, x, "y"), "div", "%%thr, %d", w.side);
    /* unit of the row */
    dync__cuda_tile_set(&c->t, "u32", dync__fa_name(e, x, "e"), "rem", "%%thr, %d", w.side);
    dync__cuda_tile_set(&c->t, "s32", dync__fa_name(r, x, "r"), "add", "%s, %s", row0, y);
    const char *wide = dync__ptx_temp(p, "s64");
    dync__ptx_line(p, "cvt.s64.s32 %s, %s", wide, r);
    dync__ptx_line(p, "mad.lo.s64 %s, %s, %lld, %s", g, wide,
                   (long long)dync__fa_row_bytes(c, x->o), g);
    dync__ptx_line(p, "cvt.s64.s32 %s, %s", wide, e);
    dync__ptx_line(p, "mad.lo.s64 %s, %s, %lld, %s", g, wide, (long long)column, g);
    dync__cuda_tile_set(&c->t, "b32", dync__fa_name(s, x, "s"), "mov", "%%smem");
    dync__ptx_line(p, "add.s32 %s, %s, %d", s, s, x->at);
    dync__ptx_line(p, "mad.lo.s32 %s, %s, %lld, %s", s, y, (long long)stride, s);
    dync__ptx_line(p, "mad.lo.s32 %s, %s, %d, %s", s, e, w.unit * c->bytes, s);
    if (x->stage)
        dync__cuda_tile_set(&c->t, "b32", dync__fa_name(y, x, "f"), "mov", "%d", x->stage);
}

DYNC__FN void dync__fa_issue(dync__fa *c, const dync__fa_tile *x)
{
    dync__ptx *p = &c->t.p;
    dync__fa_walk w = dync__fa_walk_of(c, x);
    char g[24], s[24], r[24], y[24], e[24], guard[32];
    int64_t stride = dync__fa_stride(c, x->width), row_bytes = dync__fa_row_bytes(c, x->o),
            column = x->o->lay.stride[c->n_batch + 1] * c->bytes * w.unit;
    dync__fa_name(g, x, "g");
    dync__fa_name(s, x, "s");
    dync__fa_name(r, x, "r");
    dync__fa_name(y, x, "y");
    dync__fa_name(e, x, "e");
    bool idle = c->threads % w.side != 0;
    for (int row = 0; row < x->rows; row += w.rows)
        for (int n = 0; n < w.across; n++) {
            const char *is = dync__ptx_temp(p, "pred"),
                       *raw = dync__ptx_temp(p, c->vec || c->bytes == 4 ? "b32" : "b16");
            int there = DYNC__MIN(w.rows, x->rows - row),
                at = (int)(row * stride) + n * w.side * w.unit * c->bytes;
            int64_t from = row * row_bytes + n * w.side * column;
            dync__ptx_line(p, "setp.lt.s32 %s, %s, %lld", is, r, (long long)(x->limit - row));
            if (x->width != x->columns || w.across > 1)
                dync__ptx_line(
                    p, "setp.lt.and.s32 %s, %s, %lld, %s", is, e,
                    (long long)((x->columns - n * w.side * w.unit + w.unit - 1) / w.unit), is);
            guard[0] = 0;
            bool narrow = n == w.across - 1 && (x->width / w.unit) % w.side != 0;
            if (idle || there < w.rows || narrow) {
                const char *mine = dync__ptx_temp(p, "pred");
                dync__ptx_line(p, "setp.lt.s32 %s, %s, %d", mine, y, there);
                if (narrow)
                    dync__ptx_line(p, "setp.lt.and.s32 %s, %s, %d, %s", mine, e,
                                   x->width / w.unit - n * w.side, mine);
                dync__format(guard, sizeof guard, "@%s ", mine);
            }
            if (c->vec) {
                dync__ptx_line(p, "selp.b32 %s, 16, 0, %s", raw, is);
                dync__ptx_line(p, "%scp.async.cg.shared.global [%s+%d], [%s+%lld], 16, %s", guard,
                               s, at, g, (long long)from, raw);
            } else {
                const char *type = c->bytes == 4 ? "b32" : "b16";
                dync__ptx_line(p, "mov.%s %s, 0", type, raw);
                dync__ptx_line(p, "@%s ld.global.%s %s, [%s+%lld]", is, type, raw, g,
                               (long long)from);
                dync__ptx_line(p, "%sst.shared.%s [%s+%d], %s", guard, type, s, at, raw);
            }
        }
    dync__ptx_line(p, "add.s64 %s, %s, %lld", g, g, (long long)(x->rows * row_bytes));
    dync__ptx_line(p, "add.s32 %s, %s, %d", r, r, x->rows);
    if (!x->stage) return;
    dync__fa_name(y, x, "f");
    dync__ptx_line(p, "add.s32 %s, %s, %s", s, s, y);
    dync__ptx_line(p, "neg.s32 %s, %s", y, y);
}

DYNC__FN void dync__fa_reader(dync__fa *c, const dync__fa_tile *x, char how)
{
    dync__ptx *p = &c->t.p;
    char name[24], suffix[2] = {how, 0}, row[24], column[24];
    long long stride = (long long)dync__fa_stride(c, x->width);
    dync__cuda_tile_set(&c->t, "s32", dync__fa_name(name, x, suffix), "add", "%%smem, %d", x->at);
    dync__format(row, sizeof row, "%s", dync__ptx_temp(p, "b32"));
    dync__format(column, sizeof column, "%s", dync__ptx_temp(p, "b32"));
    if (!c->mma) {
        if (how == 'n')
            dync__ptx_line(p, "mad.lo.s32 %s, %%cn%d, %d, %s", name, dync__fa_vec(x->width),
                           c->bytes, name);
        else
            dync__ptx_line(p, "mad.lo.s32 %s, %s, %lld, %s", name, how == 'a' ? "%rb" : "%cb",
                           stride, name);
        return;
    }
    /* tf32: ldmatrix does not transpose words of 4 bytes; see dync__fa_weights */
    if (how == 'n' && c->bytes == 4) {
        dync__ptx_line(p, "and.b32 %s, %%lane, 3", row);
        dync__ptx_line(p, "shr.u32 %s, %%lane, 2", column);
        dync__ptx_line(p, "mad.lo.s32 %s, %s, %lld, %s", name, row, 2 * stride, name);
        dync__ptx_line(p, "mad.lo.s32 %s, %s, 4, %s", name, column, name);
        return;
    }
    /* two n8 tiles: rows 0-7 and 8-15, each with both halves of k */
    if (how == 'b') {
        dync__ptx_line(p, "and.b32 %s, %%lane, 7", row);
        dync__ptx_line(p, "shr.u32 %s, %%lane, 4", column);
        dync__ptx_line(p, "mad.lo.s32 %s, %s, 8, %s", row, column, row);
        dync__ptx_line(p, "bfe.u32 %s, %%lane, 3, 1", column);
    } else {
        dync__ptx_line(p, "and.b32 %s, %%lane, 15", row);
        if (how == 'a') dync__ptx_line(p, "mad.lo.s32 %s, %%warp, %d, %s", row, 16 * c->mt, row);
        dync__ptx_line(p, "shr.u32 %s, %%lane, 4", column);
    }
    dync__ptx_line(p, "mad.lo.s32 %s, %s, %lld, %s", name, row, stride, name);
    dync__ptx_line(p, "mad.lo.s32 %s, %s, 16, %s", name, column, name);
}

DYNC__FN void dync__fa_flip(dync__fa *c, const dync__fa_tile *x, const char *how)
{
    dync__ptx *p = &c->t.p;
    char name[24], by[24], suffix[2] = {0};
    if (!x->stage) return;
    /* the writer has just transposed, and transposes back as they go on */
    dync__fa_name(by, x, "f");
    for (; *how; how++) {
        suffix[0] = *how;
        dync__fa_name(name, x, suffix);
        dync__ptx_line(p, "add.s32 %s, %s, %s", name, name, by);
    }
}

/* ==== cuda/attention_product.c ===================================================================== */
/* cuda/attention_product.c: accumulators, products and results of tiles of attention. Before:
 * attention_tile.c. */

/* ---- accumulators ---------------------------------------------------------------------------- */

DYNC__FN dync__fa_frag dync__fa_frag_new(dync__fa *c, const char *name, int width, bool nn)
{
    dync__fa_frag f = {.name = name, .vec = 1};
    f.rows = c->mma ? 2 * c->mt : c->rows / (c->threads / DYNC__FA_SIDE);
    f.cols = width / (c->mma ? 4 : DYNC__FA_SIDE);
    if (!c->mma && nn) f.vec = dync__fa_vec(width);
    dync__cuda_tile_regs(&c->t, "f32", name, f.rows * f.cols);
    return f;
}

DYNC__FN const char *dync__fa_reg(dync__fa *c, const dync__fa_frag *f, int i, int j, char *name)
{
    dync__format(name, 24, "%s%d", f->name,
                 c->mma ? (i / 2 * (f->cols / 2) + j / 2) * 4 + (i & 1) * 2 + (j & 1)
                        : i * f->cols + j);
    return name;
}
DYNC__FN int dync__fa_row(const dync__fa *c, int i)
{
    return c->mma ? i / 2 * 16 + (i & 1) * 8 : i * (c->threads / DYNC__FA_SIDE);
}
DYNC__FN int dync__fa_col(const dync__fa *c, const dync__fa_frag *f, int j)
{
    return c->mma ? j / 2 * 8 + (j & 1) : j / f->vec * DYNC__FA_SIDE * f->vec + j % f->vec;
}

DYNC__FN void dync__fa_zero(dync__fa *c, const dync__fa_frag *f)
{
    for (int i = 0; i < f->rows * f->cols; i++)
        dync__ptx_line(&c->t.p, "mov.b32 %s%d, 0", f->name, i);
}

DYNC__FN void dync__fa_across(dync__fa *c, const char *op, const char *name, int n)
{
    dync__ptx *p = &c->t.p;
    for (int by = c->mma ? 2 : DYNC__FA_SIDE / 2; by; by /= 2)
        for (int i = 0; i < n; i++) {
            const char *other = dync__ptx_temp(p, "f32");
            dync__ptx_line(p, "shfl.sync.bfly.b32 %s, %s%d, %d, 31, 0xffffffff", other, name, i,
                           by);
            dync__ptx_line(p, "%s.f32 %s%d, %s%d, %s", op, name, i, name, i, other);
        }
}

/* ---- products -------------------------------------------------------------------------------- */

/* fma: acc += a b for `depth` steps in a loop, 4 at a time. a: [a_at + row, 16 bytes of k]; b: the
 * same (nt), or rows of it (nn). */
static void dync__fa_fma(dync__fa *c, const dync__fa_frag *f, const char *a, int64_t a_stride,
                         const char *b, int64_t b_stride, bool nn, int depth)
{
    dync__ptx *p = &c->t.p;
    char acc[24], label[24];
    int each = nn ? f->vec : 1;
    dync__format(label, sizeof label, "PRODUCT%d", p->n_labels++);
    const char *from_a = dync__ptx_temp(p, "b32"), *from_b = dync__ptx_temp(p, "b32"),
               *left = dync__ptx_temp(p, "b32"), *more = dync__ptx_temp(p, "pred");
    dync__ptx_line(p, "mov.b32 %s, %s", from_a, a);
    dync__ptx_line(p, "mov.b32 %s, %s", from_b, b);
    dync__ptx_line(p, "mov.b32 %s, %d", left, depth);
    dync__cuda_tile_label(&c->t, "%s", label);
    for (int i = 0; i < f->rows; i++)
        dync__ptx_line(p, "ld.shared.v4.f32 {%%fa%d, %%fa%d, %%fa%d, %%fa%d}, [%s+%lld]", 4 * i,
                       4 * i + 1, 4 * i + 2, 4 * i + 3, from_a,
                       (long long)(dync__fa_row(c, i) * a_stride));
    for (int j = 0; j < f->cols && !nn; j++)
        dync__ptx_line(p, "ld.shared.v4.f32 {%%fb%d, %%fb%d, %%fb%d, %%fb%d}, [%s+%lld]", 4 * j,
                       4 * j + 1, 4 * j + 2, 4 * j + 3, from_b,
                       (long long)(dync__fa_col(c, f, j) * b_stride));
    for (int k = 0; k < 4 && nn; k++)
        for (int j = 0; j < f->cols; j += each) {
            long long at = (long long)(k * b_stride + dync__fa_col(c, f, j) * c->bytes);
            if (each == 4)
                dync__ptx_line(p, "ld.shared.v4.f32 {%%fb%d, %%fb%d, %%fb%d, %%fb%d}, [%s+%lld]",
                               4 * j + k, 4 * j + 4 + k, 4 * j + 8 + k, 4 * j + 12 + k, from_b, at);
            else if (each == 2)
                dync__ptx_line(p, "ld.shared.v2.f32 {%%fb%d, %%fb%d}, [%s+%lld]", 4 * j + k,
                               4 * j + 4 + k, from_b, at);
            else
                dync__ptx_line(p, "ld.shared.f32 %%fb%d, [%s+%lld]", 4 * j + k, from_b, at);
        }
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < f->rows; i++)
            for (int j = 0; j < f->cols; j++) {
                dync__fa_reg(c, f, i, j, acc);
                dync__ptx_line(p, "fma.rn.f32 %s, %%fa%d, %%fb%d, %s", acc, 4 * i + k, 4 * j + k,
                               acc);
            }
    dync__ptx_line(p, "add.s32 %s, %s, 16", from_a, from_a);
    dync__ptx_line(p, "add.s32 %s, %s, %lld", from_b, from_b, (long long)(nn ? 4 * b_stride : 16));
    dync__ptx_line(p, "sub.s32 %s, %s, 4", left, left);
    dync__ptx_line(p, "setp.gt.s32 %s, %s, 0", more, left);
    dync__ptx_line(p, "@%s bra %s", more, label);
}

/* tf32 rounds what it takes. */
static void dync__fa_tf32(dync__fa *c, const char *reg, int n)
{
    for (int i = 0; i < n && c->bytes == 4; i++)
        dync__ptx_line(&c->t.p, "cvt.rna.tf32.f32 %s%d, %s%d", reg, i, reg, i);
}

DYNC__FN void dync__fa_nt(dync__fa *c, const dync__fa_frag *f, const dync__fa_tile *a,
                          const dync__fa_tile *b)
{
    char from_a[24], from_b[24];
    int64_t stride = dync__fa_stride(c, a->width);
    dync__fa_name(from_a, a, "a");
    dync__fa_name(from_b, b, "b");
    dync__cuda_tile_note(&c->t, "%s x %s", a->name, b->name);
    dync__fa_zero(c, f);
    if (!c->mma) {
        dync__fa_fma(c, f, from_a, stride, from_b, stride, false, a->width);
        return;
    }
    for (int k = 0; k < a->width * c->bytes / 32; k++) {
        for (int m = 0; m < c->mt; m++)
            dync__cuda_tile_ldmatrix(&c->t, false, "%ma", 4 * m, from_a,
                                     (int)(16 * m * stride) + 32 * k);
        dync__fa_tf32(c, "%ma", 4 * c->mt);
        for (int n = 0; n < b->rows / 8; n += 2) {
            dync__cuda_tile_ldmatrix(&c->t, false, "%mb", 0, from_b,
                                     (int)(8 * n * stride) + 32 * k);
            dync__fa_tf32(c, "%mb", 4);
            for (int m = 0; m < c->mt; m++)
                for (int h = 0; h < 2; h++)
                    dync__cuda_tile_mma(&c->t, c->kind, f->name, (m * (f->cols / 2) + n + h) * 4,
                                        "%ma", 4 * m, "%mb", 2 * h);
        }
    }
}

DYNC__FN void dync__fa_weights(dync__fa *c, const dync__fa_frag *f)
{
    dync__ptx *p = &c->t.p;
    char low[24], high[24];
    if (!c->mma) {
        dync__ptx_line(p, "bar.warp.sync 0xffffffff");
        for (int i = 0; i < f->rows; i++)
            for (int j = 0; j < f->cols; j++)
                dync__ptx_line(p, "st.shared.f32 [%%w_s+%lld], %s",
                               (long long)(dync__fa_row(c, i) * dync__fa_stride(c, c->cols) +
                                           dync__fa_col(c, f, j) * c->bytes),
                               dync__fa_reg(c, f, i, j, low));
        dync__ptx_line(p, "bar.warp.sync 0xffffffff");
        return;
    }
    /* tf32: lane % 4 has two neighbouring keys of eight, and wants keys lane % 4 and + 4 as an
     * operand: sums do not care, so that is what these are called, of weights as of values. */
    for (int m = 0; m < c->mt && c->bytes == 4; m++)
        for (int i = 0; i < 2 * f->cols; i++) {
            dync__fa_reg(c, f, 2 * m + (i & 1), i / 4 * 2 + (i >> 1 & 1), low);
            dync__ptx_line(p, "cvt.rna.tf32.f32 %%mw%d, %s", m * 2 * f->cols + i, low);
        }
    for (int m = 0; m < c->mt && c->bytes == 2; m++)
        for (int n = 0; n < f->cols / 2; n++)
            for (int h = 0; h < 2; h++) {
                dync__fa_reg(c, f, 2 * m + h, 2 * n, low);
                dync__fa_reg(c, f, 2 * m + h, 2 * n + 1, high);
                dync__ptx_line(p, "cvt.rn.%sx2.f32 %%mw%d, %s, %s",
                               dync__cuda_tile_kind_of(c->kind)->in,
                               (m * (f->cols / 4) + n / 2) * 4 + n % 2 * 2 + h, high, low);
            }
}

DYNC__FN void dync__fa_nn(dync__fa *c, const dync__fa_frag *f, const dync__fa_tile *b)
{
    char from[24];
    int64_t stride = dync__fa_stride(c, b->width);
    dync__fa_name(from, b, "n");
    dync__cuda_tile_note(&c->t, "weights x %s", b->name);
    if (!c->mma) {
        dync__fa_fma(c, f, "%w_a", dync__fa_stride(c, c->cols), from, stride, true, b->rows);
        return;
    }
    for (int k = 0; k < b->rows / 8 && c->bytes == 4; k++)
        for (int n = 0; n < b->width / 8; n++) {
            for (int h = 0; h < 2; h++)
                dync__ptx_line(&c->t.p, "ld.shared.b32 %%mb%d, [%s+%lld]", h, from,
                               (long long)((8 * k + h) * stride + 32 * n));
            dync__fa_tf32(c, "%mb", 2);
            for (int m = 0; m < c->mt; m++)
                dync__cuda_tile_mma(&c->t, c->kind, f->name, (m * (f->cols / 2) + n) * 4, "%mw",
                                    (m * (b->rows / 8) + k) * 4, "%mb", 0);
        }
    for (int k = 0; k < b->rows / 16 && c->bytes == 2; k++)
        for (int n = 0; n < b->width / 8; n += 2) {
            dync__cuda_tile_ldmatrix(&c->t, true, "%mb", 0, from, (int)(16 * k * stride) + 16 * n);
            for (int m = 0; m < c->mt; m++)
                for (int h = 0; h < 2; h++)
                    dync__cuda_tile_mma(&c->t, c->kind, f->name, (m * (f->cols / 2) + n + h) * 4,
                                        "%mw", (m * (b->rows / 16) + k) * 4, "%mb", 2 * h);
        }
}

/* ---- results --------------------------------------------------------------------------------- */

DYNC__FN void dync__fa_write(dync__fa *c, const dync__fa_frag *f, const dync__operand *o, int buf,
                             const char *times, bool by_row, int64_t limit)
{
    dync__ptx *p = &c->t.p;
    int64_t bytes = dync__dtype_info(o->dtype)->bytes, row = dync__fa_row_bytes(c, o),
            column = o->lay.stride[c->n_batch + 1] * bytes, width = o->lay.shape[c->n_batch + 1];
    int each = c->mma ? 2 : f->vec;
    char base[24], value[24], wide[24];
    bool together = c->vec && each > 1 && column == bytes && width % each == 0;
    dync__format(base, sizeof base, "%s_to", f->name);
    dync__fa_base(c, base, o, buf);
    dync__format(wide, sizeof wide, "%s", dync__ptx_temp(p, "s64"));
    dync__ptx_line(p, "cvt.s64.s32 %s, %%row", wide);
    dync__ptx_line(p, "mad.lo.s64 %s, %s, %lld, %s", base, wide, (long long)row, base);
    dync__ptx_line(p, "cvt.s64.s32 %s, %%cn%d", wide, f->vec);
    dync__ptx_line(p, "mad.lo.s64 %s, %s, %lld, %s", base, wide, (long long)column, base);
    for (int i = 0; i < f->rows; i++)
        for (int j = 0; j < f->cols; j += together ? each : 1) {
            const char *is = dync__ptx_temp(p, "pred"), *at = dync__ptx_temp(p, "s64");
            char list[4][24];
            dync__ptx_line(p, "setp.lt.s32 %s, %%row, %lld", is,
                           (long long)(limit - dync__fa_row(c, i)));
            dync__ptx_line(p, "setp.lt.and.s32 %s, %%cn%d, %lld, %s", is, f->vec,
                           (long long)(width - dync__fa_col(c, f, j)), is);
            dync__ptx_line(p, "add.s64 %s, %s, %lld", at, base,
                           (long long)(dync__fa_row(c, i) * row + dync__fa_col(c, f, j) * column));
            for (int e = 0; e < (together ? each : 1); e++) {
                dync__fa_reg(c, f, i, j + e, list[e]);
                if (by_row)
                    dync__ptx_line(p, "mul.rn.f32 %s, %s, %s%d", list[e], list[e], times, i);
                else if (times)
                    dync__ptx_line(p, "mul.rn.f32 %s, %s, %s", list[e], list[e], times);
            }
            dync__format(value, sizeof value, "@%s ", is);
            if (!together) {
                dync__cuda_tile_store(&c->t, o->dtype, at, list[0], value);
            } else if (c->mma && bytes == 2) {
                const char *pair = dync__ptx_temp(p, "b32");
                dync__ptx_line(p, "cvt.rn.%sx2.f32 %s, %s, %s",
                               dync__cuda_tile_kind_of(c->kind)->in, pair, list[1], list[0]);
                dync__ptx_line(p, "%sst.global.b32 [%s], %s", value, at, pair);
            } else if (each == 4) {
                dync__ptx_line(p, "%sst.global.v4.f32 [%s], {%s, %s, %s, %s}", value, at, list[0],
                               list[1], list[2], list[3]);
            } else {
                dync__ptx_line(p, "%sst.global.v2.f32 [%s], {%s, %s}", value, at, list[0], list[1]);
            }
        }
}

/* ==== cuda/attention.c ============================================================================= */
/* cuda/attention.c: softmax(q k^T scale + mask) v on a GPU in one pass over the keys, and its
 * gradients. After attention_tile.c, before calls.c.
 *
 *   forward    a block a tile of queries, over tiles of keys: the greatest score so far, the sum of
 *              exponentials below it and the weighted values, rescaled when a maximum of the warp
 *              moves. Keeps what the CPU's kernel keeps: the logarithm of the sum. Few queries and
 *              many keys (decoding): the keys are cut over blocks, and a second launch joins their
 *              sums in order. Heads that share keys and values (stride 0) are rows of one tile.
 *   backward   first {log of the sum, output . gradient} of each query as pairs in memory, then a
 *              kernel whose blocks hold tiles of keys and walk over queries (gk, gv), and one the
 *              other way round (gq): every element is added up by one thread, in a fixed order.
 *              Heads wider than 128 have a kernel for each of gk and gv, whose accumulators would
 *              not fit together.
 * Exponentials are powers of two: factors of log2 e are part of the scale. Tiles that the diagonal
 * hides are not visited; edges and masks are looked at only where there are any. Each text comes
 * for memory on 16-byte boundaries (cp.async) and for any. Sources: Milakov & Gimelshein 2018,
 * arXiv:1805.02867; Dao et al. 2022, arXiv:2205.14135; Dao 2023, arXiv:2307.08691. */

static void dync__fa_drop(dync__layout *lay, int d)
{
    for (lay->ndim--; d < lay->ndim; d++) {
        lay->shape[d] = lay->shape[d + 1];
        lay->stride[d] = lay->stride[d + 1];
    }
}

/* Batch dims over which keys and values are the same become rows, the last ones first: where few
 * rows are there, and memory goes on evenly. */
static void dync__fa_fold(dync__operand *o, const dync__kcall *call)
{
    for (int d = o[0].lay.ndim - 3; d >= 0; d--) {
        int64_t rows = o[0].lay.shape[d + 1], shared = o[0].lay.shape[d];
        if (call->attr.attention.causal || rows >= 64 || o[1].lay.stride[d] || o[2].lay.stride[d])
            return;
        for (int i = 0; i < call->n; i++)
            if (i != 1 && i != 2 && rows > 1 && shared > 1 &&
                o[i].lay.stride[d] != rows * o[i].lay.stride[d + 1])
                return;
        for (int i = 0; i < call->n; i++) {
            dync__layout *lay = &o[i].lay;
            if (i != 1 && i != 2) {
                lay->shape[d + 1] = rows * shared;
                if (rows == 1) lay->stride[d + 1] = lay->stride[d];
            }
            dync__fa_drop(lay, d);
        }
    }
}

DYNC__FN void dync__fa_open(dync__fa *c, const dync__kcall *call, bool grad, bool vec)
{
    memset(c, 0, sizeof *c);
    if (!grad) memcpy(c->own, call->operand, (size_t)call->n * sizeof *c->own);
    if (!grad) dync__fa_fold(c->own, call);
    c->op = grad ? call->operand : c->own;
    c->q = c->op + (grad ? 1 : 0);
    c->k = c->q + 1;
    c->v = c->q + 2;
    c->gy = grad ? c->op : NULL;
    const dync__attr_attention *a = &call->attr.attention;
    c->mask = a->mask >= 0 ? &c->op[a->mask] : NULL;
    c->causal = a->causal;
    c->scale = a->scale;
    c->vec = vec;
    c->dtype = c->q->dtype;
    c->mma = c->dtype != DYNC_F32;
    c->kind = c->dtype == DYNC_F16 ? DYNC__TILE_F16 : DYNC__TILE_BF16;
    c->bytes = c->mma ? 2 : 4;
    c->n_batch = c->q->lay.ndim - 2;
    c->L = c->q->lay.shape[c->n_batch];
    c->E = c->q->lay.shape[c->n_batch + 1];
    c->S = c->v->lay.shape[c->n_batch];
    c->V = c->v->lay.shape[c->n_batch + 1];
    c->units = c->splits = 1;
    for (int d = 0; d < c->n_batch; d++) c->units *= c->q->lay.shape[d];
}

DYNC__FN bool dync__fa_can(const dync__fa *c, int n)
{
    bool ok = (c->dtype == DYNC_F32 || c->dtype == DYNC_F16 || c->dtype == DYNC_BF16) &&
              c->E <= DYNC__FA_WIDEST && c->V <= DYNC__FA_WIDEST && c->L < 1 << 30 &&
              c->S < 1 << 30 && c->units < 1 << 24 &&
              c->units * (DYNC__MAX(c->L, c->S) / 16 + 1) < INT32_MAX;
    for (int i = 0; i < n && ok; i++)
        for (int d = c->n_batch; d < c->op[i].lay.ndim; d++)
            ok &= c->op[i].lay.stride[d] > -(1 << 20) && c->op[i].lay.stride[d] < 1 << 20;
    return ok;
}

DYNC__FN bool dync__fa_rows_fit(dync__fa *c, const dync__operand *const *o, int n)
{
    for (int i = 0; i < n; i++) {
        int64_t bytes = dync__dtype_info(o[i]->dtype)->bytes;
        bool ok = o[i]->lay.stride[c->n_batch + 1] == 1 &&
                  o[i]->lay.shape[c->n_batch + 1] * bytes % 16 == 0;
        for (int d = 0; d <= c->n_batch; d++) ok &= o[i]->lay.stride[d] * bytes % 16 == 0;
        if (!ok) return false;
        c->t.out.check[c->t.out.n_checks++] =
            (dync__ptx_check){(int)(o[i] - c->op), 16, o[i]->lay.offset * bytes};
    }
    return true;
}

DYNC__FN int dync__fa_padded(int64_t width) { return (int)(width + 15) / 16 * 16; }

/* ---- beginnings and ends --------------------------------------------------------------------- */

/* Which unit, which tile of rows; where in the tile the thread stands. */
DYNC__FN void dync__fa_place(dync__fa *c, int64_t limit, bool late_first)
{
    dync__ptx *p = &c->t.p;
    long long tiles = (long long)((limit + c->rows - 1) / c->rows);
    const char *place = c->splits > 1 ? "%place" : "%cta";
    if (c->splits > 1) {
        dync__cuda_tile_set(&c->t, "u32", "%split", "rem", "%%cta, %lld", (long long)c->splits);
        dync__cuda_tile_set(&c->t, "u32", place, "div", "%%cta, %lld", (long long)c->splits);
    }
    dync__cuda_tile_set(&c->t, "u32", "%unit", "div", "%s, %lld", place, tiles);
    dync__cuda_tile_set(&c->t, "u32", "%i0", "rem", "%s, %lld", place, tiles);
    if (late_first) dync__ptx_line(p, "sub.s32 %%i0, %lld, %%i0", tiles - 1);
    dync__ptx_line(p, "mul.lo.s32 %%i0, %%i0, %d", c->rows);
    dync__fa_units(c);
    if (c->mma) {
        dync__cuda_tile_set(&c->t, "u32", "%rb", "shr", "%%lane, 2");
        dync__ptx_line(p, "mad.lo.s32 %%rb, %%warp, %d, %%rb", 16 * c->mt);
        dync__cuda_tile_set(&c->t, "b32", "%cb", "and", "%%lane, 3");
        dync__ptx_line(p, "mul.lo.s32 %%cb, %%cb, 2");
        dync__cuda_tile_set(&c->t, "b32", "%cn1", "mov", "%%cb");
        dync__cuda_tile_regs(&c->t, "b32", "%ma", 4 * c->mt);
        dync__cuda_tile_regs(&c->t, "b32", "%mb", 4);
        dync__cuda_tile_regs(&c->t, "b32", "%mw", c->mt * c->cols * c->bytes / 8);
    } else {
        dync__cuda_tile_set(&c->t, "u32", "%rb", "shr", "%%thr, 4");
        dync__cuda_tile_set(&c->t, "b32", "%cb", "and", "%%thr, 15");
        dync__cuda_tile_set(&c->t, "b32", "%cn1", "mov", "%%cb");
        dync__cuda_tile_set(&c->t, "s32", "%cn2", "mul.lo", "%%cb, 2");
        dync__cuda_tile_set(&c->t, "s32", "%cn4", "mul.lo", "%%cb, 4");
        dync__cuda_tile_regs(&c->t, "f32", "%fa", 4 * c->rows * 16 / c->threads);
        dync__cuda_tile_regs(&c->t, "f32", "%fb", 4 * DYNC__FA_WIDEST / 16);
        int stride = c->cols * 4 + 16;
        c->weights = dync__cuda_tile_shared(&c->t, c->rows * stride, 16);
        dync__cuda_tile_set(&c->t, "s32", "%w_a", "mad.lo", "%%rb, %d, %%smem", stride);
        dync__ptx_line(p, "add.s32 %%w_a, %%w_a, %d", c->weights);
        dync__cuda_tile_set(&c->t, "s32", "%w_s", "mad.lo", "%%cb, 4, %%w_a");
    }
    dync__cuda_tile_set(&c->t, "s32", "%row", "add", "%%i0, %%rb");
    if (!c->mask) return;
    dync__fa_base(c, "%mask", c->mask, (int)(c->mask - c->op));
}

DYNC__FN bool dync__fa_finish(dync__fa *c, dync__cuda_code *code, int form, const int32_t *buf)
{
    if (form == DYNC__CUDA_ANY) return dync__cuda_tile_end(&c->t, code, buf);
    dync__str_free(&c->t.p.regs);
    dync__str_free(&c->t.p.body);
    if (!c->t.p.failed) return dync__cuda_add_form(code, form, &c->t.out);
    dync__str_free(&c->t.out.text);
    return dync__fail_memory(0), false;
}

DYNC__FN const char *dync__fa_number(char *to, double x)
{
    float f = (float)x;
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    dync__format(to, 24, "0f%08x", (unsigned)u);
    return to;
}

/* ---- scores ---------------------------------------------------------------------------------- */

DYNC__FN bool dync__fa_raw(const dync__fa *c)
{
    return c->scale > 0 && (!c->mask || c->mask->dtype == DYNC_BOOL);
}

/* The mask's operand over a tile of scores: -inf where bools hide, or scores times the scale plus
 * numbers. keys: rows are keys. */
static void dync__fa_mask_operand(dync__fa *c, const dync__fa_frag *s, bool keys)
{
    dync__ptx *p = &c->t.p;
    const dync__operand *m = c->mask;
    int64_t bytes = dync__dtype_info(m->dtype)->bytes,
            by_row = m->lay.stride[c->n_batch + keys] * bytes,
            by_column = m->lay.stride[c->n_batch + !keys] * bytes;
    char reg[24], number[24], guard[32], factor[24];
    dync__ptx_line(p, "cvt.s64.s32 %%wide, %%row");
    dync__ptx_line(p, "mad.lo.s64 %%here, %%wide, %lld, %%mask", (long long)by_row);
    dync__ptx_line(p, "cvt.s64.s32 %%wide, %%col");
    dync__ptx_line(p, "mad.lo.s64 %%here, %%wide, %lld, %%here", (long long)by_column);
    for (int i = 0; i < s->rows; i++)
        for (int j = 0; j < s->cols; j++) {
            const char *is = dync__ptx_temp(p, "pred"), *at = dync__ptx_temp(p, "s64");
            dync__fa_reg(c, s, i, j, reg);
            dync__ptx_line(p, "setp.lt.s32 %s, %%row, %lld", is,
                           (long long)((keys ? c->S : c->L) - dync__fa_row(c, i)));
            dync__ptx_line(p, "setp.lt.and.s32 %s, %%col, %lld, %s", is,
                           (long long)((keys ? c->L : c->S) - dync__fa_col(c, s, j)), is);
            dync__ptx_line(
                p, "add.s64 %s, %%here, %lld", at,
                (long long)(dync__fa_row(c, i) * by_row + dync__fa_col(c, s, j) * by_column));
            dync__format(guard, sizeof guard, "@%s ", is);
            if (m->dtype == DYNC_BOOL) {
                const char *seen = dync__ptx_temp(p, "b32");
                dync__ptx_line(p, "mov.b32 %s, 0", seen);
                dync__ptx_line(p, "%sld.global.u8 %s, [%s]", guard, seen, at);
                dync__ptx_line(p, "setp.ne.s32 %s, %s, 0", is, seen);
                dync__ptx_line(p, "selp.f32 %s, %s, 0fff800000, %s", reg, reg, is);
            } else {
                const char *add = dync__ptx_temp(p, "f32");
                dync__ptx_line(p, "mov.f32 %s, 0f00000000", add);
                if (dync__ptx_is_plain(m->dtype)) {
                    dync__cuda_tile_load(&c->t, m->dtype, add, at, guard);
                } else {
                    const char *half = dync__ptx_temp(p, dync__ptx_raw_type(m->dtype));
                    dync__ptx_line(p, "mov.b16 %s, 0", half);
                    dync__ptx_line(p, "%sld.global.b16 %s, [%s]", guard, half, at);
                    dync__ptx_widen(p, m->dtype, add, half);
                }
                dync__ptx_line(p, "mul.rn.f32 %s, %s, %s", add, add,
                               dync__fa_number(number, DYNC__FA_LOG2E));
                dync__ptx_line(p, "fma.rn.f32 %s, %s, %s, %s", reg, reg,
                               dync__fa_number(factor, c->scale * DYNC__FA_LOG2E), add);
            }
        }
}

/* All that hides scores of the tile at %i0, %j: the mask, keys past the last one (as columns), the
 * diagonal. Sets %col. */
DYNC__FN void dync__fa_mask(dync__fa *c, const dync__fa_frag *s, bool keys, const char *skip)
{
    dync__ptx *p = &c->t.p;
    char reg[24], number[24];
    bool tail = !keys && c->S % c->cols != 0;
    dync__ptx_line(p, "add.s32 %%col, %%j, %%cb");
    if (!dync__fa_raw(c) && !(c->mask && c->mask->dtype != DYNC_BOOL))
        for (int i = 0; i < s->rows * s->cols; i++)
            dync__ptx_line(p, "mul.rn.f32 %s%d, %s%d, %s", s->name, i, s->name, i,
                           dync__fa_number(number, c->scale * DYNC__FA_LOG2E));
    if (c->mask) dync__fa_mask_operand(c, s, keys);
    if (!tail && !c->causal) return;
    dync__ptx_line(p, "sub.s32 %%edge, %%%s, %%%s", keys ? "i0" : "j", keys ? "j" : "i0");
    dync__ptx_line(p, "setp.gt.s32 %%inside, %%edge, %d",
                   c->causal ? -(keys ? c->rows : c->cols) + 1 : 1 << 30);
    if (tail)
        dync__ptx_line(p, "setp.gt.or.s32 %%inside, %%j, %lld, %%inside",
                       (long long)(c->S - c->cols));
    dync__ptx_line(p, "not.pred %%inside, %%inside");
    dync__ptx_line(p, "@%%inside bra %s", skip);
    dync__ptx_line(p, "sub.s32 %%edge, %%%s, %%%s", keys ? "row" : "col", keys ? "col" : "row");
    for (int i = 0; i < s->rows; i++)
        for (int j = 0; j < s->cols; j++) {
            int row = dync__fa_row(c, i), column = dync__fa_col(c, s, j);
            const char *hidden = dync__ptx_temp(p, "pred");
            dync__fa_reg(c, s, i, j, reg);
            if (c->causal)
                dync__ptx_line(p, "setp.gt.s32 %s, %%edge, %d", hidden,
                               keys ? column - row : row - column);
            if (tail)
                dync__ptx_line(p, "setp.ge.%ss32 %s, %%col, %lld%s%s", c->causal ? "or." : "",
                               hidden, (long long)(c->S - column), c->causal ? ", " : "",
                               c->causal ? hidden : "");
            dync__ptx_line(p, "selp.f32 %s, 0fff800000, %s, %s", reg, reg, hidden);
        }
    dync__cuda_tile_label(&c->t, "%s", skip);
}

DYNC__FN void dync__fa_mask_regs(dync__fa *c)
{
    static const char *const names[][2] = {
        {"s32", "%j"},    {"s32", "%jn"},      {"s32", "%jend"},  {"s32", "%col"},
        {"s32", "%edge"}, {"pred", "%inside"}, {"pred", "%more"}, {"s64", "%wide"},
        {"s64", "%here"}, {"pred", "%moved"},  {"pred", "%none"}};
    for (int i = 0; i < DYNC__COUNT_OF(names); i++)
        dync__ptx_reg(&c->t.p, names[i][0], names[i][1]);
}

/* ---- forward --------------------------------------------------------------------------------- */

/* New maxima and exponentials of a tile of scores; %scale<i> is what sums and values so far have to
 * be multiplied by, %moved whether any has to be. */
DYNC__FN void dync__fa_exponentials(dync__fa *c, const dync__fa_frag *s)
{
    dync__ptx *p = &c->t.p;
    char reg[24], factor[24];
    dync__fa_number(factor, dync__fa_raw(c) ? c->scale * DYNC__FA_LOG2E : 1.0);
    for (int i = 0; i < s->rows; i++) {
        dync__ptx_line(p, "mov.f32 %%top%d, %s", i, dync__fa_reg(c, s, i, 0, reg));
        for (int j = 1; j < s->cols; j++)
            dync__ptx_line(p, "max.f32 %%top%d, %%top%d, %s", i, i, dync__fa_reg(c, s, i, j, reg));
    }
    dync__fa_across(c, "max", "%top", s->rows);
    for (int i = 0; i < s->rows; i++) {
        dync__ptx_line(p, "max.f32 %%top%d, %%top%d, %%m%d", i, i, i);
        dync__ptx_line(p, "setp.gt.%sf32 %%moved, %%top%d, %%m%d%s", i ? "or." : "", i, i,
                       i ? ", %moved" : "");
        dync__ptx_line(p, "mul.rn.f32 %%from%d, %%top%d, %s", i, i, factor);
        /* a row that has seen nothing yet */
        dync__ptx_line(p, "setp.eq.f32 %%none, %%top%d, 0fff800000", i);
        dync__ptx_line(p, "selp.f32 %%from%d, 0f00000000, %%from%d, %%none", i, i);
        dync__ptx_line(p, "mul.rn.f32 %%scale%d, %%m%d, %s", i, i, factor);
        dync__ptx_line(p, "sub.rn.f32 %%scale%d, %%scale%d, %%from%d", i, i, i);
        dync__ptx_line(p, "ex2.approx.ftz.f32 %%scale%d, %%scale%d", i, i);
        dync__ptx_line(p, "mul.rn.f32 %%sum%d, %%sum%d, %%scale%d", i, i, i);
        dync__ptx_line(p, "mov.f32 %%m%d, %%top%d", i, i);
        dync__ptx_line(p, "neg.f32 %%from%d, %%from%d", i, i);
        for (int j = 0; j < s->cols; j++) {
            dync__fa_reg(c, s, i, j, reg);
            dync__ptx_line(p, "fma.rn.f32 %s, %s, %s, %%from%d", reg, reg, factor, i);
            dync__ptx_line(p, "ex2.approx.ftz.f32 %s, %s", reg, reg);
            dync__ptx_line(p, "add.rn.f32 %%sum%d, %%sum%d, %s", i, i, reg);
        }
    }
}

/* Values so far, where a maximum of the warp moved. */
DYNC__FN void dync__fa_rescale(dync__fa *c, const dync__fa_frag *o)
{
    dync__ptx *p = &c->t.p;
    char reg[24];
    dync__ptx_line(p, "vote.sync.any.pred %%moved, %%moved, 0xffffffff");
    dync__ptx_line(p, "@!%%moved bra STILL");
    for (int i = 0; i < o->rows; i++)
        for (int j = 0; j < o->cols; j++) {
            dync__fa_reg(c, o, i, j, reg);
            dync__ptx_line(p, "mul.rn.f32 %s, %s, %%scale%d", reg, reg, i);
        }
    dync__cuda_tile_label(&c->t, "STILL");
}

/* Logarithms of the sums, outputs. */
DYNC__FN void dync__fa_outputs(dync__fa *c, const dync__fa_frag *o)
{
    dync__ptx *p = &c->t.p;
    const dync__operand *lse = &c->op[4];
    char factor[24], ln2[24];
    int64_t step = lse->lay.stride[c->n_batch] * 4;
    dync__fa_number(factor, dync__fa_raw(c) ? c->scale * DYNC__FA_LOG2E : 1.0);
    dync__fa_number(ln2, 1 / DYNC__FA_LOG2E);
    dync__fa_across(c, "add.rn", "%sum", o->rows);
    dync__fa_base(c, "%log", lse, 4);
    dync__ptx_line(p, "cvt.s64.s32 %%wide, %%row");
    dync__ptx_line(p, "mad.lo.s64 %%log, %%wide, %lld, %%log", (long long)step);
    for (int i = 0; i < o->rows; i++) {
        const char *is = dync__ptx_temp(p, "pred"), *at = dync__ptx_temp(p, "s64"),
                   *x = dync__ptx_temp(p, "f32");
        dync__ptx_line(p, "lg2.approx.f32 %s, %%sum%d", x, i);
        dync__ptx_line(p, "fma.rn.f32 %%m%d, %%m%d, %s, %s", i, i, factor, x);
        dync__ptx_line(p, "mul.rn.f32 %%m%d, %%m%d, %s", i, i, ln2);
        dync__ptx_line(p, "setp.lt.s32 %s, %%row, %lld", is,
                       (long long)(c->L - dync__fa_row(c, i)));
        dync__ptx_line(p, "setp.eq.and.s32 %s, %%cb, 0, %s", is, is);
        dync__ptx_line(p, "add.s64 %s, %%log, %lld", at, (long long)(dync__fa_row(c, i) * step));
        dync__ptx_line(p, "@%s st.global.f32 [%s], %%m%d", is, at, i);
        dync__ptx_line(p, "setp.eq.f32 %%none, %%sum%d, 0f00000000", i);
        dync__ptx_line(p, "div.rn.f32 %%sum%d, 0f3f800000, %%sum%d", i, i);
        dync__ptx_line(p, "selp.f32 %%sum%d, 0f00000000, %%sum%d, %%none", i, i);
    }
    dync__fa_write(c, o, &c->op[3], 3, "%sum", true, c->L);
}

/* Nothing seen so far. */
DYNC__FN void dync__fa_begin_rows(dync__fa *c, const dync__fa_frag *s, const dync__fa_frag *o)
{
    static const char *const stats[] = {"%m", "%sum", "%top", "%from", "%scale"};
    for (int i = 0; i < 5; i++) dync__cuda_tile_regs(&c->t, "f32", stats[i], s->rows);
    dync__fa_zero(c, o);
    for (int i = 0; i < s->rows; i++) {
        dync__ptx_line(&c->t.p, "mov.f32 %%m%d, 0fff800000", i);
        dync__ptx_line(&c->t.p, "mov.b32 %%sum%d, 0", i);
    }
}

/* %jend: keys from there on are hidden from all of the tile's queries, or not there. */
DYNC__FN void dync__fa_last_key(dync__fa *c)
{
    dync__ptx_line(&c->t.p, "mov.b32 %%jend, %lld", (long long)c->S);
    if (c->splits > 1) {
        dync__ptx_line(&c->t.p, "add.s32 %%jn, %%j, %lld", (long long)c->chunk);
        dync__ptx_line(&c->t.p, "min.s32 %%jend, %%jend, %%jn");
    }
    if (!c->causal) return;
    dync__ptx_line(&c->t.p, "add.s32 %%jn, %%i0, %d", c->rows);
    dync__ptx_line(&c->t.p, "min.s32 %%jend, %%jend, %%jn");
}

/* ==== cuda/attention_wgmma.c ======================================================================= */
/* cuda/attention_wgmma.c: attention forward for compute capability 9.0, f16 and bf16, heads up to
 * 128: wgmma on tiles that TMA brings. After attention.c, whose masks,
 * softmax and results it shares and which asks for it as the variant of a call.
 *
 * A block is three warpgroups: one thread of the first loads, the other two have 64 queries each
 * and go over tiles of 128 keys on their own, scores a tile ahead of values, so that exponentials
 * are taken beside products, the warpgroup's own and the other's. Keys and values lie in two stages
 * each, with a pair of mbarriers a stage: `full` (the bytes are there) and `empty` (both warpgroups
 * are done with it). Scores are accumulators, weights operand a in registers; values are read
 * across their rows.
 *
 *   shared memory   queries, stages of keys, stages of values: boxes of 64 columns (128 bytes,
 *                   128-byte swizzle) by all rows of the tile
 *   tails           TMA reads zeros outside; keys past the last one are masked as everywhere
 * Sources: PTX ISA 8.0 (wgmma, mbarrier, cp.async.bulk.tensor); Shah et al. 2024, FlashAttention-3,
 * arXiv:2407.08608. */

enum { DYNC__FW_ROWS = 128, DYNC__FW_KEYS = 128, DYNC__FW_STAGES = 2, DYNC__FW_THREADS = 384 };
/* mbarriers, from %bars on */
enum {
    DYNC__FW_Q,
    DYNC__FW_K_FULL = 8,
    DYNC__FW_K_EMPTY = 24,
    DYNC__FW_V_FULL = 40,
    DYNC__FW_V_EMPTY = 56,
    DYNC__FW_BARS = 72
};

/* A map of the operand's rows, in boxes of 64 columns. */
static bool dync__fw_map(dync__fa *c, int which, const dync__operand *o, int rows)
{
    dync__ptx_map *m = &c->t.out.map[which];
    const int64_t *shape = o->lay.shape, *stride = o->lay.stride;
    int n = c->n_batch;
    *m = (dync__ptx_map){.buf = (int)(o - c->op),
                         .type = c->dtype == DYNC_BF16 ? 9 : 6,
                         .rank = 2,
                         .swizzle = 3,
                         .offset = o->lay.offset * 2,
                         .size = {(uint64_t)shape[n + 1], (uint64_t)shape[n]},
                         .box = {64, (uint32_t)rows}};
    m->stride[0] = shape[n] > 1 ? (uint64_t)(stride[n] * 2) : 16;
    bool ok = stride[n + 1] == 1 && (shape[n] == 1 || (stride[n] > 0 && stride[n] % 8 == 0));
    for (int d = n - 1; d >= 0; d--) {
        if (c->q->lay.shape[d] == 1 || stride[d] == 0) continue;
        if (m->rank == 5 || stride[d] < 0 || stride[d] % 8) return false;
        m->stride[m->rank - 1] = (uint64_t)(stride[d] * 2);
        m->size[m->rank] = (uint64_t)c->q->lay.shape[d];
        m->box[m->rank++] = 1;
    }
    return ok;
}

static void dync__fw_wait(dync__fa *c, int bar, const char *stage, const char *parity)
{
    dync__ptx *p = &c->t.p;
    int label = p->n_labels++;
    const char *at = dync__ptx_temp(p, "u32"), *done = dync__ptx_temp(p, "pred");
    dync__ptx_line(p, "mad.lo.u32 %s, %s, 8, %%bars", at, stage);
    dync__cuda_tile_label(&c->t, "WAIT%d", label);
    dync__ptx_line(p, "mbarrier.try_wait.parity.shared::cta.b64 %s, [%s+%d], %s", done, at, bar,
                   parity);
    dync__ptx_line(p, "@!%s bra WAIT%d", done, label);
}

/* The boxes of a tile: rows from `row` on, to `to`; the barrier %full learns of them. */
static void dync__fw_load(dync__fa *c, int which, const dync__operand *o, int rows, const char *row,
                          const char *to)
{
    dync__ptx *p = &c->t.p;
    int boxes = (int)(o->lay.shape[c->n_batch + 1] + 63) / 64;
    char at[120];
    dync__ptx_line(p, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%%full], %d",
                   boxes * rows * 128);
    for (int i = 0; i < boxes; i++) {
        int n = dync__format(at, sizeof at, "{%%box%d, %s", i, row);
        for (int d = c->n_batch - 1; d >= 0; d--)
            if (c->q->lay.shape[d] > 1 && o->lay.stride[d])
                n += dync__format(at + n, sizeof at - (size_t)n, ", %%u%d", d);
        dync__format(at + n, sizeof at - (size_t)n, "}");
        dync__ptx_line(
            p,
            "cp.async.bulk.tensor.%dd.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
            "[%s+%d], [%%map%d, %s], [%%full]",
            c->t.out.map[which].rank, to, i * rows * 128, which, at);
    }
}

static void dync__fw_next(dync__fa *c, const char *stage, const char *parity)
{
    dync__ptx *p = &c->t.p;
    dync__ptx_line(p, "add.u32 %s, %s, 1", stage, stage);
    dync__ptx_line(p, "setp.eq.u32 %%wrap, %s, %d", stage, DYNC__FW_STAGES);
    dync__ptx_line(p, "@%%wrap mov.u32 %s, 0", stage);
    dync__ptx_line(p, "@%%wrap xor.b32 %s, %s, 1", parity, parity);
}

/* Keys, then values of each tile into the ring. */
static void dync__fw_producer(dync__fa *c, const int at[3], const int stage_bytes[3])
{
    dync__ptx *p = &c->t.p;
    dync__cuda_tile_note(&c->t, "the first warpgroup: one thread loads");
    dync__ptx_line(p, "setmaxnreg.dec.sync.aligned.u32 40");
    dync__ptx_line(p, "@!%%one bra DONE");
    dync__ptx_line(p, "mov.u32 %%full, %%bars");
    dync__ptx_line(p, "add.u32 %%to, %%smem, %d", at[0]);
    dync__fw_load(c, 0, c->q, DYNC__FW_ROWS, "%i0", "%to");
    dync__ptx_line(p, "mov.u32 %%parity, 1");
    dync__cuda_tile_label(&c->t, "LOAD");
    for (int i = 1; i < 3; i++) {
        dync__fw_wait(c, i == 1 ? DYNC__FW_K_EMPTY : DYNC__FW_V_EMPTY, "%stage", "%parity");
        dync__ptx_line(p, "mad.lo.u32 %%full, %%stage, 8, %%bars");
        dync__ptx_line(p, "add.u32 %%full, %%full, %d", i == 1 ? DYNC__FW_K_FULL : DYNC__FW_V_FULL);
        dync__ptx_line(p, "mad.lo.u32 %%to, %%stage, %d, %%smem", stage_bytes[i]);
        dync__ptx_line(p, "add.u32 %%to, %%to, %d", at[i]);
        dync__fw_load(c, i, i == 1 ? c->k : c->v, DYNC__FW_KEYS, "%j", "%to");
    }
    dync__fw_next(c, "%stage", "%parity");
    dync__ptx_line(p, "add.s32 %%j, %%j, %d", DYNC__FW_KEYS);
    dync__ptx_line(p, "setp.lt.s32 %%more, %%j, %%jend");
    dync__ptx_line(p, "@%%more bra LOAD");
    dync__ptx_line(p, "bra DONE");
}

/* A new descriptor: rows of 128 bytes with 128-byte swizzle, groups of eight 1024 bytes apart;
 * lead: from 64 columns to the next, 0 along rows. */
static void dync__fw_descriptor(dync__fa *c, const char *name, const char *base, int at, int lead)
{
    dync__ptx *p = &c->t.p;
    const char *low = dync__ptx_temp(p, "b32");
    dync__ptx_reg(p, "b64", name);
    dync__ptx_line(p, "add.s32 %s, %s, %d", low, base, at);
    dync__cuda_tile_descriptor(&c->t, name, low, lead ? lead : 16);
}

/* One wgmma of 16 k's into all registers of f. */
static void dync__fw_multiply(dync__fa *c, const dync__fa_frag *f, const char *a, bool add,
                              bool across)
{
    dync__ptx *p = &c->t.p;
    const char *in = dync__cuda_tile_kind_of(c->kind)->in;
    int n = f->cols * 4;
    dync__str_addf(&p->body, "    wgmma.mma_async.sync.aligned.m64n%dk16.f32.%s.%s {%s0", n, in, in,
                   f->name);
    for (int i = 1; i < n / 2; i++) dync__str_addf(&p->body, ", %s%d", f->name, i);
    dync__str_addf(&p->body, "}, %s, %%db, %s, 1, 1%s, %d;\n", a, add ? "%true" : "%false",
                   across ? "" : ", 0", across);
}

/* Both of a stage's readers have done with it. */
static void dync__fw_release(dync__fa *c, int bar, const char *stage)
{
    dync__ptx *p = &c->t.p;
    const char *at = dync__ptx_temp(p, "u32");
    dync__ptx_line(p, "mad.lo.u32 %s, %s, 8, %%bars", at, stage);
    dync__ptx_line(p, "@%%one mbarrier.arrive.shared::cta.b64 _, [%s+%d]", at, bar);
}

/* Begins scores = queries x keys of %stage. */
static void dync__fw_scores(dync__fa *c, const dync__fa_frag *s, int stage_bytes)
{
    dync__ptx *p = &c->t.p;
    dync__fw_wait(c, DYNC__FW_K_FULL, "%stage", "%parity");
    dync__ptx_line(p, "mul.wide.u32 %%dstage, %%stage, %d", stage_bytes >> 4);
    dync__ptx_line(p, "add.s64 %%dstage, %%dstage, %%dk");
    dync__ptx_line(p, "wgmma.fence.sync.aligned");
    for (int k = 0; k < (int)(c->E + 63) / 64 * 4; k++) {
        dync__ptx_line(p, "add.s64 %%da, %%dq, %d",
                       (k / 4 * DYNC__FW_ROWS * 128 + k % 4 * 32) >> 4);
        dync__ptx_line(p, "add.s64 %%db, %%dstage, %d",
                       (k / 4 * DYNC__FW_KEYS * 128 + k % 4 * 32) >> 4);
        dync__fw_multiply(c, s, "%da", k > 0, false);
    }
    dync__ptx_line(p, "wgmma.commit_group.sync.aligned");
}

/* Begins results += weights x values of %vstage. */
static void dync__fw_values(dync__fa *c, const dync__fa_frag *o, int stage_bytes)
{
    dync__ptx *p = &c->t.p;
    char a[80];
    dync__fw_wait(c, DYNC__FW_V_FULL, "%vstage", "%vparity");
    dync__ptx_line(p, "mul.wide.u32 %%dstage, %%vstage, %d", stage_bytes >> 4);
    dync__ptx_line(p, "add.s64 %%dstage, %%dstage, %%dv");
    dync__ptx_line(p, "wgmma.fence.sync.aligned");
    for (int k = 0; k < DYNC__FW_KEYS / 16; k++) {
        dync__ptx_line(p, "add.s64 %%db, %%dstage, %d", k * 16 * 128 >> 4);
        dync__format(a, sizeof a, "{%%mw%d, %%mw%d, %%mw%d, %%mw%d}", 4 * k, 4 * k + 1, 4 * k + 2,
                     4 * k + 3);
        dync__fw_multiply(c, o, a, true, true);
    }
    dync__ptx_line(p, "wgmma.commit_group.sync.aligned");
}

/* Scores are one tile ahead of values: their exponentials are taken while the values of the tile
 * before are multiplied. */
static void dync__fw_consumers(dync__fa *c, const int at[3], const int stage_bytes[3])
{
    dync__ptx *p = &c->t.p;
    dync__cuda_tile_note(&c->t, "the other two: 64 queries each");
    dync__cuda_tile_label(&c->t, "CONSUME");
    dync__ptx_line(p, "setmaxnreg.inc.sync.aligned.u32 232");
    dync__fa_frag s = dync__fa_frag_new(c, "%s", DYNC__FW_KEYS, false),
                  o = dync__fa_frag_new(c, "%o", (int)(c->V + 63) / 64 * 64, true);
    dync__fa_begin_rows(c, &s, &o);
    dync__ptx_line(p, "sub.u32 %%half, %%half, 1");
    dync__cuda_tile_set(&c->t, "b32", "%within", "and", "%%thr, 127");
    dync__ptx_line(p, "setp.eq.u32 %%one, %%within, 0");
    dync__cuda_tile_set(&c->t, "s32", "%mine", "mad.lo", "%%half, %d, %%smem", 64 * 128);
    dync__fw_descriptor(c, "%dq", "%mine", at[0], 0);
    dync__fw_descriptor(c, "%dk", "%smem", at[1], 0);
    dync__fw_descriptor(c, "%dv", "%smem", at[2], DYNC__FW_KEYS * 128);
    static const char *const wide[] = {"%da", "%db", "%dstage"};
    for (int i = 0; i < 3; i++) dync__ptx_reg(p, "b64", wide[i]);
    dync__ptx_line(p, "mov.u32 %%parity, 0");
    dync__cuda_tile_set(&c->t, "u32", "%vstage", "mov", "0");
    dync__cuda_tile_set(&c->t, "u32", "%vparity", "mov", "0");
    dync__fw_wait(c, DYNC__FW_Q, "%stage", "%parity");    /* stage 0 still */
    for (int iteration = 0; iteration < 2; iteration++) { /* the first tile, the others */
        if (iteration) dync__cuda_tile_label(&c->t, "KEYS");
        dync__fw_scores(c, &s, stage_bytes[1]);
        if (iteration) dync__fw_values(c, &o, stage_bytes[2]);
        dync__ptx_line(p, "wgmma.wait_group.sync.aligned %d", iteration);
        dync__fw_release(c, DYNC__FW_K_EMPTY, "%stage");
        dync__fa_mask(c, &s, false, iteration ? "SEEN" : "SEEN_FIRST");
        dync__fa_exponentials(c, &s);
        if (iteration) {
            dync__ptx_line(p, "wgmma.wait_group.sync.aligned 0");
            dync__fw_release(c, DYNC__FW_V_EMPTY, "%vstage");
            dync__fw_next(c, "%vstage", "%vparity");
            dync__fa_rescale(c, &o);
        }
        dync__fa_weights(c, &s);
        dync__fw_next(c, "%stage", "%parity");
        dync__ptx_line(p, "add.s32 %%j, %%j, %d", DYNC__FW_KEYS);
        dync__ptx_line(p, "setp.lt.s32 %%more, %%j, %%jend");
        dync__ptx_line(p, iteration ? "@%%more bra KEYS" : "@!%%more bra REST");
    }
    dync__cuda_tile_label(&c->t, "REST");
    dync__fw_values(c, &o, stage_bytes[2]);
    dync__ptx_line(p, "wgmma.wait_group.sync.aligned 0");
    dync__fa_outputs(c, &o);
}

/* The whole text, in c->t, for a call that c was opened with and c->t begun for; false: not for
 * this call or device. */
DYNC__FN bool dync__fa_wgmma(dync__fa *c, int device)
{
    dync__ptx *p = &c->t.p;
    static const char *const words[] = {"%stage", "%parity", "%full", "%to"};
    int boxes_e = (int)(c->E + 63) / 64, boxes_v = (int)(c->V + 63) / 64, at[3],
        bytes[3] = {DYNC__FW_ROWS * 128 * boxes_e, DYNC__FW_KEYS * 128 * boxes_e,
                    DYNC__FW_KEYS * 128 * boxes_v};
    char name[16];
    if (!c->mma || c->E > 128 || c->V > 128 || c->L <= 64 ||
        !dync__cuda_takes(device, "sm_90a", 80))
        return false;
    if (!dync__fw_map(c, 0, c->q, DYNC__FW_ROWS) || !dync__fw_map(c, 1, c->k, DYNC__FW_KEYS) ||
        !dync__fw_map(c, 2, c->v, DYNC__FW_KEYS))
        return false;
    c->t.target = "sm_90a";
    c->t.out.n_maps = 3;
    c->threads = DYNC__FW_THREADS;
    c->mt = 1;
    c->rows = DYNC__FW_ROWS;
    c->cols = DYNC__FW_KEYS;
    for (int i = 0; i < 3; i++)
        at[i] = dync__cuda_tile_shared(&c->t, i ? DYNC__FW_STAGES * bytes[i] : bytes[i], 1024);
    int bars = dync__cuda_tile_shared(&c->t, DYNC__FW_BARS, 8);
    dync__fa_place(c, c->L, c->causal);
    dync__fa_mask_regs(c);
    dync__ptx_line(p, "sub.s32 %%rb, %%rb, 64"); /* warps 4 to 11 have the rows */
    dync__ptx_line(p, "sub.s32 %%row, %%row, 64");
    for (int i = 0; i < DYNC__COUNT_OF(words); i++) dync__ptx_reg(p, "u32", words[i]);
    dync__ptx_reg(p, "pred", "%wrap");
    dync__ptx_reg(p, "pred", "%one");
    for (int i = 0; i < 3; i++) {
        dync__format(name, sizeof name, "%%map%d", i);
        dync__ptx_reg(p, "b64", name);
        dync__ptx_line(p, "mov.b64 %s, m%d", name, i);
        dync__ptx_line(p, "cvta.param.u64 %s, %s", name, name);
    }
    dync__cuda_tile_set(&c->t, "u32", "%box0", "mov", "0");
    dync__cuda_tile_set(&c->t, "u32", "%box1", "mov", "64");
    dync__cuda_tile_set(&c->t, "u32", "%bars", "add", "%%smem, %d", bars);
    dync__ptx_line(p, "setp.eq.u32 %%one, %%thr, 0");
    for (int i = 0; i < DYNC__FW_BARS / 8; i++) {
        bool empty = (8 * i >= DYNC__FW_K_EMPTY && 8 * i < DYNC__FW_V_FULL) ||
                     8 * i >= DYNC__FW_V_EMPTY;
        dync__ptx_line(p, "@%%one mbarrier.init.shared::cta.b64 [%%bars+%d], %d", 8 * i,
                       empty ? 2 : 1);
    }
    dync__ptx_line(p, "@%%one fence.mbarrier_init.release.cluster");
    dync__cuda_tile_barrier(&c->t);
    dync__ptx_line(p, "mov.u32 %%stage, 0");
    dync__ptx_line(p, "mov.b32 %%j, 0");
    dync__fa_last_key(c);
    dync__cuda_tile_set(&c->t, "u32", "%half", "shr", "%%thr, 7");
    dync__ptx_line(p, "setp.ne.u32 %%more, %%half, 0");
    dync__ptx_line(p, "@%%more bra CONSUME");
    dync__fw_producer(c, at, bytes);
    dync__fw_consumers(c, at, bytes);
    dync__cuda_tile_label(&c->t, "DONE");
    dync__cuda_tile_entry(&c->t, "attention_wgmma", c->units * ((c->L + c->rows - 1) / c->rows), 1,
                          1, c->threads);
    for (int i = 0; i < 3; i++)
        c->t.out.check[c->t.out.n_checks++] =
            (dync__ptx_check){c->t.out.map[i].buf, 16, c->t.out.map[i].offset};
    return true;
}

/* ==== cuda/attention_forward.c ===================================================================== */
/* cuda/attention_forward.c: the forward text of attention on a GPU and its call, keys cut over
 * blocks where queries are few. After attention.c and attention_wgmma.c, before
 * attention_backward.c. */

/* ---- keys cut over blocks
 * In the temporary: {greatest score times log2 e, sum of exponentials below it} of every split and
 * query, then the values weighted by these. */

static int64_t dync__fa_pairs_bytes(const dync__fa *c)
{
    return (c->splits * c->units * c->L * 8 + 15) / 16 * 16;
}
static int dync__fa_partial_buf(const dync__fa *c) { return c->t.n_buffers - 1; }

static void dync__fa_partials(dync__fa *c, const dync__fa_frag *o)
{
    dync__ptx *p = &c->t.p;
    char factor[24], temp[16];
    dync__operand part = {.dtype = DYNC_F32, .lay.ndim = c->n_batch + 2};
    int64_t next = 1;
    for (int d = c->n_batch + 1; d >= 0; d--) {
        part.lay.shape[d] = c->op[3].lay.shape[d];
        part.lay.stride[d] = next;
        next *= part.lay.shape[d];
    }
    dync__fa_number(factor, dync__fa_raw(c) ? c->scale * DYNC__FA_LOG2E : 1.0);
    dync__format(temp, sizeof temp, "%%b%d", dync__fa_partial_buf(c));
    dync__fa_across(c, "add.rn", "%sum", o->rows);
    dync__cuda_tile_set(&c->t, "u32", "%pair_at", "mad.lo", "%%split, %lld, %%unit",
                        (long long)c->units);
    dync__ptx_line(p, "mad.lo.u32 %%pair_at, %%pair_at, %lld, %%row", (long long)c->L);
    dync__ptx_line(p, "mad.wide.u32 %%here, %%pair_at, 8, %s", temp);
    for (int i = 0; i < o->rows; i++) {
        const char *is = dync__ptx_temp(p, "pred");
        dync__ptx_line(p, "mul.rn.f32 %%m%d, %%m%d, %s", i, i, factor);
        dync__ptx_line(p, "setp.lt.s32 %s, %%row, %lld", is,
                       (long long)(c->L - dync__fa_row(c, i)));
        dync__ptx_line(p, "setp.eq.and.s32 %s, %%cb, 0, %s", is, is);
        dync__ptx_line(p, "@%s st.global.v2.f32 [%%here+%d], {%%m%d, %%sum%d}", is,
                       dync__fa_row(c, i) * 8, i, i);
    }
    dync__ptx_line(p, "cvt.u64.u32 %%wide, %%split");
    dync__ptx_line(p, "mad.lo.s64 %s, %%wide, %lld, %s", temp,
                   (long long)(c->units * c->L * c->V * 4), temp);
    dync__ptx_line(p, "add.s64 %s, %s, %lld", temp, temp, (long long)dync__fa_pairs_bytes(c));
    dync__fa_write(c, o, &part, dync__fa_partial_buf(c), NULL, false, c->L);
}

/* The second launch: a block a query, a thread a column or two; splits in their order. */
static void dync__fa_join(dync__fa *c)
{
    enum { THREADS = 128 };
    dync__cuda_tile *t = &c->t;
    dync__ptx *p = &t->p;
    const dync__operand *y = &c->op[3], *lse = &c->op[4];
    int columns = (int)((c->V + THREADS - 1) / THREADS);
    int64_t all = c->units * c->L;
    char ln2[24], temp[16];
    dync__fa_number(ln2, 1 / DYNC__FA_LOG2E);
    dync__format(temp, sizeof temp, "%%b%d", dync__fa_partial_buf(c));
    dync__cuda_tile_next(t);
    dync__cuda_tile_set(t, "u32", "%unit", "div", "%%cta, %lld", (long long)c->L);
    dync__cuda_tile_set(t, "u32", "%row", "rem", "%%cta, %lld", (long long)c->L);
    dync__fa_units(c);
    static const char *const floats[] = {"%most", "%base", "%m", "%n", "%sum", "%x"};
    for (int i = 0; i < 6; i++) dync__ptx_reg(p, "f32", floats[i]);
    dync__cuda_tile_regs(t, "f32", "%o", 2);
    dync__cuda_tile_regs(t, "pred", "%is", 2);
    dync__cuda_tile_wide(t, "%pair", temp);
    dync__ptx_line(p, "mad.wide.u32 %%pair, %%cta, 8, %%pair");
    dync__cuda_tile_wide(t, "%pair0", "%pair");
    dync__cuda_tile_set(t, "u32", "%left", "mov", "%lld", (long long)c->splits);
    dync__ptx_reg(p, "pred", "%more");
    dync__ptx_line(p, "mov.f32 %%most, 0fff800000");
    dync__cuda_tile_label(t, "MOST");
    dync__ptx_line(p, "ld.global.f32 %%m, [%%pair]");
    dync__ptx_line(p, "max.f32 %%most, %%most, %%m");
    dync__ptx_line(p, "add.s64 %%pair, %%pair, %lld", (long long)(all * 8));
    dync__ptx_line(p, "sub.u32 %%left, %%left, 1");
    dync__ptx_line(p, "setp.gt.u32 %%more, %%left, 0");
    dync__ptx_line(p, "@%%more bra MOST");
    dync__ptx_line(p, "setp.eq.f32 %%more, %%most, 0fff800000"); /* nothing is seen */
    dync__ptx_line(p, "selp.f32 %%base, 0f00000000, %%most, %%more");
    dync__ptx_line(p, "mov.b32 %%sum, 0");
    dync__ptx_line(p, "mov.u32 %%left, %lld", (long long)c->splits);
    dync__cuda_tile_wide(t, "%wide", NULL);
    dync__ptx_line(p, "cvt.u64.u32 %%wide, %%cta");
    dync__cuda_tile_set(t, "s64", "%from", "mad.lo", "%%wide, %lld, %s", (long long)(c->V * 4),
                        temp);
    dync__ptx_line(p, "mad.wide.u32 %%from, %%thr, 4, %%from");
    dync__ptx_line(p, "add.s64 %%from, %%from, %lld", (long long)dync__fa_pairs_bytes(c));
    for (int i = 0; i < columns; i++) {
        dync__ptx_line(p, "mov.b32 %%o%d, 0", i);
        dync__ptx_line(p, "setp.lt.u32 %%is%d, %%thr, %lld", i, (long long)(c->V - i * THREADS));
    }
    dync__cuda_tile_label(t, "SPLIT");
    dync__ptx_line(p, "ld.global.v2.f32 {%%m, %%n}, [%%pair0]");
    dync__ptx_line(p, "sub.rn.f32 %%m, %%m, %%base");
    dync__ptx_line(p, "ex2.approx.ftz.f32 %%m, %%m");
    dync__ptx_line(p, "fma.rn.f32 %%sum, %%m, %%n, %%sum");
    for (int i = 0; i < columns; i++) {
        dync__ptx_line(p, "mov.b32 %%x, 0");
        dync__ptx_line(p, "@%%is%d ld.global.f32 %%x, [%%from+%d]", i, i * THREADS * 4);
        dync__ptx_line(p, "fma.rn.f32 %%o%d, %%m, %%x, %%o%d", i, i);
    }
    dync__ptx_line(p, "add.s64 %%pair0, %%pair0, %lld", (long long)(all * 8));
    dync__ptx_line(p, "add.s64 %%from, %%from, %lld", (long long)(all * c->V * 4));
    dync__ptx_line(p, "sub.u32 %%left, %%left, 1");
    dync__ptx_line(p, "setp.gt.u32 %%more, %%left, 0");
    dync__ptx_line(p, "@%%more bra SPLIT");
    dync__ptx_line(p, "lg2.approx.f32 %%x, %%sum");
    dync__ptx_line(p, "add.rn.f32 %%x, %%x, %%most");
    dync__ptx_line(p, "mul.rn.f32 %%x, %%x, %s", ln2);
    dync__ptx_line(p, "setp.eq.u32 %%more, %%thr, 0");
    dync__ptx_line(p, "cvt.u64.u32 %%wide, %%row");
    dync__fa_base(c, "%log", lse, 4);
    dync__ptx_line(p, "mad.lo.s64 %%log, %%wide, %lld, %%log",
                   (long long)(lse->lay.stride[c->n_batch] * 4));
    dync__ptx_line(p, "@%%more st.global.f32 [%%log], %%x");
    dync__ptx_line(p, "setp.eq.f32 %%more, %%sum, 0f00000000");
    dync__ptx_line(p, "div.rn.f32 %%sum, 0f3f800000, %%sum");
    dync__ptx_line(p, "selp.f32 %%sum, 0f00000000, %%sum, %%more");
    int64_t bytes = dync__dtype_info(y->dtype)->bytes,
            column = y->lay.stride[c->n_batch + 1] * bytes;
    dync__fa_base(c, "%to", y, 3);
    dync__ptx_line(p, "mad.lo.s64 %%to, %%wide, %lld, %%to",
                   (long long)(y->lay.stride[c->n_batch] * bytes));
    dync__ptx_line(p, "cvt.u64.u32 %%wide, %%thr");
    dync__ptx_line(p, "mad.lo.s64 %%to, %%wide, %lld, %%to", (long long)column);
    for (int i = 0; i < columns; i++) {
        char value[8], guard[16];
        dync__format(value, sizeof value, "%%o%d", i);
        dync__format(guard, sizeof guard, "@%%is%d ", i);
        dync__ptx_line(p, "mul.rn.f32 %s, %s, %%sum", value, value);
        if (i) dync__ptx_line(p, "add.s64 %%to, %%to, %lld", (long long)(THREADS * column));
        dync__cuda_tile_store(t, y->dtype, "%to", value, guard);
    }
    dync__cuda_tile_entry(t, "attention_join", all, 1, 1, THREADS);
}

/* Where queries do not fill the device and there are keys for it: two blocks a multiprocessor, four
 * tiles of keys to each. */
static void dync__fa_choose_splits(dync__fa *c, int units)
{
    int64_t blocks = c->units * ((c->L + c->rows - 1) / c->rows),
            splits =
                DYNC__MIN(DYNC__MIN((2 * units + blocks - 1) / blocks, c->S / (4 * c->cols)), 64);
    c->splits = 1;
    if (c->causal || 2 * blocks > units || splits < 2) return;
    c->chunk = ((c->S + splits - 1) / splits + 63) / 64 * 64;
    c->splits = (c->S + c->chunk - 1) / c->chunk;
}

static void dync__fa_forward_text(dync__fa *c)
{
    dync__ptx *p = &c->t.p;
    int wide_e = dync__fa_padded(c->E), wide_v = dync__fa_padded(c->V);
    dync__fa_tile q = {.name = "q",
                       .o = c->q,
                       .buf = 0,
                       .rows = c->rows,
                       .width = wide_e,
                       .limit = c->L,
                       .columns = c->E};
    dync__fa_tile k = {.name = "k",
                       .o = c->k,
                       .buf = 1,
                       .rows = c->cols,
                       .width = wide_e,
                       .limit = c->S,
                       .columns = c->E};
    dync__fa_tile v = {.name = "v",
                       .o = c->v,
                       .buf = 2,
                       .rows = c->cols,
                       .width = wide_v,
                       .limit = c->S,
                       .columns = c->V};
    dync__fa_place(c, c->L, c->causal);
    dync__fa_mask_regs(c);
    dync__fa_frag s = dync__fa_frag_new(c, "%s", c->cols, false),
                  o = dync__fa_frag_new(c, "%o", wide_v, true);
    dync__ptx_line(p, c->splits > 1 ? "mul.lo.s32 %%j, %%split, %lld" : "mov.b32 %%j, 0",
                   (long long)c->chunk);
    dync__fa_tile_begin(c, &q, "%i0");
    dync__fa_tile_begin(c, &k, "%j");
    dync__fa_tile_begin(c, &v, "%j");
    dync__fa_reader(c, &q, 'a');
    dync__fa_reader(c, &k, 'b');
    dync__fa_reader(c, &v, 'n');
    dync__fa_issue(c, &q);
    dync__fa_issue(c, &k);
    dync__cuda_tile_commit(&c->t);
    dync__fa_begin_rows(c, &s, &o);
    dync__fa_last_key(c);
    dync__cuda_tile_label(&c->t, "KEYS");
    dync__cuda_tile_wait(&c->t, 0);
    /* keys are there; all have done with the last values */
    dync__cuda_tile_barrier(&c->t);
    dync__fa_issue(c, &v);
    dync__cuda_tile_commit(&c->t);
    dync__fa_nt(c, &s, &q, &k);
    dync__cuda_tile_wait(&c->t, 0);
    /* values are there; all have done with the keys */
    dync__cuda_tile_barrier(&c->t);
    dync__ptx_line(p, "add.s32 %%jn, %%j, %d", c->cols);
    dync__ptx_line(p, "setp.lt.s32 %%more, %%jn, %%jend");
    dync__ptx_line(p, "not.pred %%none, %%more");
    dync__ptx_line(p, "@%%none bra LAST");
    dync__fa_issue(c, &k);
    dync__cuda_tile_label(&c->t, "LAST");
    dync__cuda_tile_commit(&c->t);
    dync__fa_mask(c, &s, false, "SEEN");
    dync__fa_exponentials(c, &s);
    dync__fa_rescale(c, &o);
    dync__fa_weights(c, &s);
    dync__fa_nn(c, &o, &v);
    dync__ptx_line(p, "mov.b32 %%j, %%jn");
    dync__ptx_line(p, "@%%more bra KEYS");
    if (c->splits > 1)
        dync__fa_partials(c, &o);
    else
        dync__fa_outputs(c, &o);
    dync__cuda_tile_entry(&c->t, c->splits > 1 ? "attention_split" : "attention",
                          c->units * ((c->L + c->rows - 1) / c->rows) * c->splits, 1, 1,
                          c->threads);
    if (c->splits > 1) dync__fa_join(c);
}

/* Tiles by width of the head; two tiles of rows to a warp where there are enough of them for every
 * multiprocessor. */
static void dync__fa_forward_shape(dync__fa *c, int units)
{
    int width = dync__fa_padded(DYNC__MAX(c->E, c->V));
    c->threads = 128;
    c->mt = c->L > 64 && width <= 128 && c->units * ((c->L + 127) / 128) >= units ? 2 : 1;
    c->rows = 64 * c->mt;
    c->cols = width > 128 || (width > 64 && c->mt == 2) ? 32 : 64;
    if (c->mma && c->bytes == 4)
        c->mt = 1, c->rows = 64, c->cols = width > 128 ? 16 : width > 64 ? 32 : 64;
    if (c->mma) return;
    c->rows = c->cols = c->L > 32 && width <= 128 ? 64 : 32;
}

DYNC__FN dync_status dync__fa_forward(dync__cuda_code *code, const dync__kcall *call)
{
    dync__fa c;
    int32_t buf[] = {0, 1, 2, 3, 4, 5, 6};
    int units = dync__cuda_unit_of(code->device >> 8)->units;
    dync__fa_open(&c, call, false, false);
    if (!dync__fa_can(&c, 3)) return dync__fa_plain(code, call);
    dync__fa_forward_shape(&c, units);
    dync__fa_choose_splits(&c, units);
    int64_t splits = c.splits, chunk = c.chunk;
    if (splits > 1 && (buf[call->n] = dync__cuda_add_temp(
                           code, dync__fa_pairs_bytes(&c) + splits * c.units * c.L * c.V * 4)) < 0)
        return dync__fail_memory(0);
    static const int forms[] = {DYNC__CUDA_ANY, DYNC__CUDA_VARIANT, DYNC__CUDA_TF32};
    for (int form = 0; form < (c.dtype == DYNC_F32 ? 3 : 2); form++) {
        bool vec = form > 0, tf32 = form == 2;
        dync__fa_open(&c, call, false, vec);
        if (tf32) c.mma = true, c.kind = DYNC__TILE_TF32;
        dync__cuda_tile_begin(&c.t, call->n + (splits > 1));
        const dync__operand *rows[] = {c.q, c.k, c.v, &c.op[3]};
        if (vec && !dync__fa_rows_fit(&c, rows, 4)) {
            dync__str_free(&c.t.p.regs);
            dync__str_free(&c.t.p.body);
            break;
        }
        c.splits = splits;
        c.chunk = chunk;
        if (!vec || tf32 || splits > 1 || !dync__fa_wgmma(&c, code->device)) {
            dync__fa_forward_shape(&c, units);
            dync__fa_forward_text(&c);
        }
        if (!dync__fa_finish(&c, code, forms[form], buf)) return DYNC_ERR_MEMORY;
    }
    return DYNC_OK;
}

/* ==== cuda/attention_backward.c ==================================================================== */
/* cuda/attention_backward.c: gradients of attention on a GPU, and the entry by which calls.c asks
 * for either. After attention_forward.c, before calls.c. */

/* ---- backward -------------------------------------------------------------------------------- */

/* Pairs {log of the sum times log2 e, or 0 where nothing was seen; output . gradient} of every
 * query, dense. */
static bool dync__fa_pairs(dync__cuda_code *code, const dync__fa *c, int32_t to)
{
    const dync__operand *gy = c->gy, *y = &c->op[4], *lse = &c->op[5];
    int64_t extent[DYNC__LOOP_MAX_DIMS], dense[DYNC__LOOP_MAX_DIMS] = {0},
                                         log[DYNC__LOOP_MAX_DIMS] = {0}, n = 2;
    int rank = c->n_batch + 2;
    memcpy(extent, gy->lay.shape, (size_t)rank * sizeof *extent);
    for (int d = c->n_batch; d >= 0; n *= extent[d--]) {
        dense[d] = n;
        log[d] = lse->lay.stride[d];
    }
    dync__kernel *k =
        dync__kernel_new(&code->arena, "attention_pairs", c->n_batch + 1, rank, extent);
    if (!k) return false;
    dync__lb b = {.k = k, .section = 1, .origin = "attention"};
    int g =
        dync__lb_cast(&b,
                      dync__lb_load(&b, dync__kernel_buf(k, 0, gy->dtype, DYNC__BUF_IN, -1, NULL),
                                    dync__kernel_access(k, gy->lay.offset, gy->lay.stride)),
                      DYNC_F32);
    int o =
        dync__lb_cast(&b,
                      dync__lb_load(&b, dync__kernel_buf(k, 4, y->dtype, DYNC__BUF_IN, -1, NULL),
                                    dync__kernel_access(k, y->lay.offset, y->lay.stride)),
                      DYNC_F32);
    int sum = dync__lb_reduce(&b, DYNC__R_SUM, dync__lb_op(&b, DYNC__P_mul, g, o, -1));
    b.section = 2;
    int x = dync__lb_load(&b, dync__kernel_buf(k, 5, DYNC_F32, DYNC__BUF_IN, -1, NULL),
                          dync__kernel_access(k, lse->lay.offset, log));
    int none = dync__lb_op(&b, DYNC__P_eq, x, dync__lb_f(&b, DYNC_F32, -HUGE_VAL), -1);
    x = dync__lb_op(&b, DYNC__P_select, none, dync__lb_f(&b, DYNC_F32, 0),
                    dync__lb_op(&b, DYNC__P_mul, x, dync__lb_f(&b, DYNC_F32, DYNC__FA_LOG2E), -1));
    int out = dync__kernel_buf(k, to, DYNC_F32, DYNC__BUF_OUT, -1, NULL);
    dync__lb_store(&b, out, dync__kernel_access(k, 0, dense), x);
    dync__lb_store(&b, out, dync__kernel_access(k, 1, dense), sum);
    return dync__cuda_add_loop(code, k);
}

/* The pairs of the tile's queries: registers of the rows, or asked for into shared memory. */
static void dync__fa_pairs_begin(dync__fa *c, bool keys, int buf, int at)
{
    dync__ptx *p = &c->t.p;
    dync__cuda_tile_wide(&c->t, "%pair", NULL);
    dync__ptx_line(p, "cvt.u64.u32 %%pair, %%unit");
    dync__ptx_line(p, "mad.lo.s64 %%pair, %%pair, %lld, %%b%d", (long long)(c->L * 8), buf);
    if (keys) {
        dync__cuda_tile_set(&c->t, "s32", "%pair_r", "add", "%%j, %%thr");
        dync__ptx_line(p, "mad.wide.s32 %%pair, %%pair_r, 8, %%pair");
        dync__cuda_tile_set(&c->t, "s32", "%pair_s", "mad.lo", "%%thr, 8, %%smem");
        dync__ptx_line(p, "add.s32 %%pair_s, %%pair_s, %d", at);
        dync__cuda_tile_set(&c->t, "s32", "%pair_b", "mad.lo", "%%cb, 8, %%smem");
        dync__ptx_line(p, "add.s32 %%pair_b, %%pair_b, %d", at);
        dync__cuda_tile_set(&c->t, "b32", "%pair_f", "mov", "%d", c->cols * 8);
        dync__ptx_reg(p, "pred", "%pair_go");
        dync__ptx_line(p, "setp.lt.s32 %%pair_go, %%thr, %d", c->cols);
        return;
    }
    dync__ptx_line(p, "mad.wide.s32 %%pair, %%row, 8, %%pair");
    for (int i = 0; i < (c->mma ? 2 * c->mt : c->rows * 16 / c->threads); i++) {
        const char *is = dync__ptx_temp(p, "pred");
        dync__ptx_line(p, "mov.b32 %%log%d, 0", i);
        dync__ptx_line(p, "mov.b32 %%dot%d, 0", i);
        dync__ptx_line(p, "setp.lt.s32 %s, %%row, %lld", is,
                       (long long)(c->L - dync__fa_row(c, i)));
        dync__ptx_line(p, "@%s ld.global.v2.f32 {%%log%d, %%dot%d}, [%%pair+%d]", is, i, i,
                       dync__fa_row(c, i) * 8);
    }
}

static void dync__fa_pairs_issue(dync__fa *c, bool twice)
{
    /* zeros for queries past the last one: their weights are 1, and what they weigh is 0 */
    dync__ptx *p = &c->t.p;
    const char *is = dync__ptx_temp(p, "pred"), *n = dync__ptx_temp(p, "b32");
    dync__ptx_line(p, "setp.lt.s32 %s, %%pair_r, %lld", is, (long long)c->L);
    dync__ptx_line(p, "selp.b32 %s, 8, 0, %s", n, is);
    dync__ptx_line(p, "@%%pair_go cp.async.ca.shared.global [%%pair_s], [%%pair], 8, %s", n);
    dync__ptx_line(p, "add.s64 %%pair, %%pair, %d", c->cols * 8);
    dync__ptx_line(p, "add.s32 %%pair_r, %%pair_r, %d", c->cols);
    if (!twice) return;
    dync__ptx_line(p, "add.s32 %%pair_s, %%pair_s, %%pair_f");
    dync__ptx_line(p, "neg.s32 %%pair_f, %%pair_f");
}

/* Asks for the next tiles of columns, if there are more. */
static void dync__fa_next(dync__fa *c, const dync__fa_tile *b1, const dync__fa_tile *b2, bool keys)
{
    dync__ptx *p = &c->t.p;
    dync__ptx_line(p, "not.pred %%none, %%more");
    dync__ptx_line(p, "@%%none bra LAST");
    dync__fa_issue(c, b1);
    dync__fa_issue(c, b2);
    if (keys) dync__fa_pairs_issue(c, b1->stage != 0);
    dync__cuda_tile_label(&c->t, "LAST");
    dync__cuda_tile_commit(&c->t);
}

/* s: scores, weights after. Where g is given: gradient of the weights, after that of the scores
 * over the scale. */
static void dync__fa_score_grad(dync__fa *c, const dync__fa_frag *s, const dync__fa_frag *g,
                                bool keys)
{
    dync__ptx *p = &c->t.p;
    char reg[24], grad[24], factor[24];
    dync__fa_number(factor, dync__fa_raw(c) ? c->scale * DYNC__FA_LOG2E : 1.0);
    for (int n = 0; n < s->rows * s->cols; n++) {
        int i = keys ? n % s->rows : n / s->cols, j = keys ? n / s->rows : n % s->cols,
            pair = keys ? 0 : i;
        dync__fa_reg(c, s, i, j, reg);
        if (keys && i == 0)
            dync__ptx_line(p, "ld.shared.v2.f32 {%%log0, %%dot0}, [%%pair_b+%d]",
                           dync__fa_col(c, s, j) * 8);
        const char *x = dync__ptx_temp(p, "f32");
        dync__ptx_line(p, "neg.f32 %s, %%log%d", x, pair);
        dync__ptx_line(p, "fma.rn.f32 %s, %s, %s, %s", reg, reg, factor, x);
        dync__ptx_line(p, "ex2.approx.ftz.f32 %s, %s", reg, reg);
        if (!g) continue;
        dync__fa_reg(c, g, i, j, grad);
        dync__ptx_line(p, "sub.rn.f32 %s, %s, %%dot%d", grad, grad, pair);
        dync__ptx_line(p, "mul.rn.f32 %s, %s, %s", grad, grad, reg);
    }
}

/* One of the kernels: outs says which gradients. Rows are keys but for gq. */
static void dync__fa_backward_text(dync__fa *c, int outs, int pair_buf, bool twice)
{
    dync__ptx *p = &c->t.p;
    bool keys = outs != DYNC__FA_GQ, scores = outs != DYNC__FA_GV;
    char scale[24];
    int wide_e = dync__fa_padded(c->E), wide_v = dync__fa_padded(c->V), stage = twice;
    int64_t n_rows = keys ? c->S : c->L;
    const dync__fa_tile of_q = {
        .name = "q", .o = c->q, .buf = 1, .width = wide_e, .limit = c->L, .columns = c->E};
    const dync__fa_tile of_k = {
        .name = "k", .o = c->k, .buf = 2, .width = wide_e, .limit = c->S, .columns = c->E};
    const dync__fa_tile of_v = {
        .name = "v", .o = c->v, .buf = 3, .width = wide_v, .limit = c->S, .columns = c->V};
    const dync__fa_tile of_g = {
        .name = "g", .o = c->gy, .buf = 0, .width = wide_v, .limit = c->L, .columns = c->V};
    dync__fa_tile a1 = keys ? of_k : of_q, a2 = keys ? of_v : of_g, b1 = keys ? of_q : of_k,
                  b2 = keys ? of_g : of_v;
    dync__fa_place(c, n_rows, c->causal && !keys);
    dync__fa_mask_regs(c);
    dync__fa_frag s = dync__fa_frag_new(c, "%s", c->cols, false), d = {0}, ge = {0}, gv = {0};
    if (scores) d = dync__fa_frag_new(c, "%d", c->cols, false);
    if (outs & (DYNC__FA_GQ | DYNC__FA_GK)) ge = dync__fa_frag_new(c, "%ge", wide_e, true);
    if (outs & DYNC__FA_GV) gv = dync__fa_frag_new(c, "%gv", wide_v, true);
    dync__cuda_tile_regs(&c->t, "f32", "%log", s.rows);
    dync__cuda_tile_regs(&c->t, "f32", "%dot", s.rows);
    a1.rows = a2.rows = c->rows;
    b1.rows = b2.rows = c->cols;
    b1.stage = b2.stage = stage;
    /* queries before the keys see nothing of them */
    if (keys && c->causal) {
        dync__ptx_line(p, "div.s32 %%j, %%i0, %d", c->cols);
        dync__ptx_line(p, "mul.lo.s32 %%j, %%j, %d", c->cols);
    } else {
        dync__ptx_line(p, "mov.b32 %%j, 0");
    }
    if (keys)
        dync__ptx_line(p, "mov.b32 %%jend, %lld", (long long)c->L);
    else
        dync__fa_last_key(c);
    dync__fa_tile_begin(c, &a1, "%i0");
    dync__fa_tile_begin(c, &b1, "%j");
    dync__fa_reader(c, &a1, 'a');
    dync__fa_reader(c, &b1, 'b');
    if (scores) dync__fa_tile_begin(c, &a2, "%i0");
    dync__fa_tile_begin(c, &b2, "%j");
    if (scores) {
        dync__fa_reader(c, &a2, 'a');
        dync__fa_reader(c, &b2, 'b');
        dync__fa_reader(c, &b1, 'n');
    }
    if (gv.cols) dync__fa_reader(c, &b2, 'n');
    dync__fa_pairs_begin(c, keys, pair_buf,
                         dync__cuda_tile_shared(&c->t, keys ? c->cols * 16 : 0, 16));
    dync__fa_issue(c, &a1);
    if (scores) dync__fa_issue(c, &a2);
    dync__fa_issue(c, &b1);
    dync__fa_issue(c, &b2);
    if (keys) dync__fa_pairs_issue(c, twice);
    dync__cuda_tile_commit(&c->t);
    if (ge.cols) dync__fa_zero(c, &ge);
    if (gv.cols) dync__fa_zero(c, &gv);
    dync__ptx_line(p, "setp.ge.s32 %%none, %%j, %%jend");
    dync__ptx_line(p, "@%%none bra DONE");
    dync__cuda_tile_label(&c->t, "STEP");
    dync__cuda_tile_wait(&c->t, 0);
    dync__cuda_tile_barrier(&c->t);
    dync__ptx_line(p, "add.s32 %%jn, %%j, %d", c->cols);
    dync__ptx_line(p, "setp.lt.s32 %%more, %%jn, %%jend");
    /* into the other copies at once, or when all have done with these */
    if (twice) dync__fa_next(c, &b1, &b2, keys);
    dync__fa_nt(c, &s, &a1, &b1);
    dync__fa_mask(c, &s, keys, "SEEN");
    if (scores) dync__fa_nt(c, &d, &a2, &b2);
    dync__fa_score_grad(c, &s, scores ? &d : NULL, keys);
    if (gv.cols) {
        dync__fa_weights(c, &s);
        dync__fa_nn(c, &gv, &b2);
    }
    if (ge.cols) {
        dync__fa_weights(c, &d);
        dync__fa_nn(c, &ge, &b1);
    }
    if (!twice) dync__cuda_tile_barrier(&c->t);
    if (!twice) dync__fa_next(c, &b1, &b2, keys);
    dync__fa_flip(c, &b1, scores ? "bn" : "b");
    dync__fa_flip(c, &b2, !scores ? "n" : gv.cols ? "bn" : "b");
    if (keys && twice) dync__ptx_line(p, "add.s32 %%pair_b, %%pair_b, %%pair_f");
    dync__ptx_line(p, "mov.b32 %%j, %%jn");
    dync__ptx_line(p, "@%%more bra STEP");
    dync__cuda_tile_label(&c->t, "DONE");
    dync__cuda_tile_wait(&c->t, 0);
    if (ge.cols)
        dync__fa_write(c, &ge, &c->op[keys ? 7 : 6], keys ? 7 : 6, dync__fa_number(scale, c->scale),
                       false, n_rows);
    if (gv.cols) dync__fa_write(c, &gv, &c->op[8], 8, NULL, false, n_rows);
    dync__cuda_tile_entry(&c->t,
                          keys ? ge.cols ? gv.cols ? "attention_gkv" : "attention_gk"
                                         : "attention_gv"
                               : "attention_gq",
                          c->units * ((n_rows + c->rows - 1) / c->rows), 1, 1, c->threads);
}

/* Bytes of shared memory of a kernel over such tiles. */
static int dync__fa_backward_bytes(const dync__fa *c, bool twice)
{
    int both = (dync__fa_padded(c->E) + dync__fa_padded(c->V)) * c->bytes + 32;
    return (c->rows + c->cols * (twice ? 2 : 1)) * both +
           (c->mma ? 0 : c->rows * (c->cols * 4 + 16)) + c->cols * 16 + 512;
}

/* The tallest tiles that fit; twice: the columns' tiles too lie there twice, so that the next ones
 * arrive meanwhile. */
static bool dync__fa_backward_shape(dync__fa *c)
{
    int width = dync__fa_padded(DYNC__MAX(c->E, c->V));
    c->mt = 1;
    c->threads = 128;
    if (c->mma) {
        c->rows = 64;
        c->cols = width <= 64 ? 64 : width <= 128 ? 32 : 16;
        return dync__fa_backward_bytes(c, true) <= DYNC__FA_SHARED;
    }
    for (c->rows = c->cols = DYNC__MAX(c->L, c->S) > 32 ? 64 : 32;
         dync__fa_backward_bytes(c, false) > DYNC__FA_SHARED;)
        c->rows = c->cols /= 2;
    if (c->rows == 64) c->threads = 256;
    return false;
}

static dync_status dync__fa_backward(dync__cuda_code *code, const dync__kcall *call)
{
    dync__fa c;
    int32_t buf[DYNC__KCALL_OPERANDS + 1];
    dync__fa_open(&c, call, true, false);
    if (!dync__fa_can(&c, 9)) return dync__fa_plain_grad(code, call);
    int n = call->n, n_kernels = c.mma && DYNC__MAX(c.E, c.V) > 128 ? 3 : 2;
    static const int outs[2][3] = {{DYNC__FA_GQ, DYNC__FA_GK | DYNC__FA_GV},
                                   {DYNC__FA_GQ, DYNC__FA_GK, DYNC__FA_GV}};
    for (int i = 0; i < n; i++) buf[i] = i;
    if ((buf[n] = dync__cuda_add_temp(code, c.units * c.L * 8)) < 0 ||
        !dync__fa_pairs(code, &c, buf[n]))
        return DYNC_ERR_MEMORY;
    for (int kernel = 0; kernel < n_kernels; kernel++)
        for (int vec = 0; vec < 2; vec++) {
            dync__fa_open(&c, call, true, vec);
            dync__cuda_tile_begin(&c.t, n + 1);
            const dync__operand *rows[] = {c.q, c.k, c.v, c.gy, &c.op[6], &c.op[7], &c.op[8]};
            if (vec && !dync__fa_rows_fit(&c, rows, 7)) {
                dync__str_free(&c.t.p.regs);
                dync__str_free(&c.t.p.body);
                break;
            }
            bool twice = dync__fa_backward_shape(&c);
            dync__fa_backward_text(&c, outs[n_kernels - 2][kernel], n, twice);
            if (!dync__fa_finish(&c, code, vec ? DYNC__CUDA_VARIANT : DYNC__CUDA_ANY, buf))
                return DYNC_ERR_MEMORY;
        }
    return DYNC_OK;
}

DYNC__FN dync_status dync__cuda_call_attention(dync__cuda_code *code, const dync__kcall *call,
                                               bool *done)
{
    *done = true;
    if (dync__kcall_is(call, DYNC__K_attention)) return dync__fa_forward(code, call);
    if (dync__kcall_is(call, DYNC__K_attention_grad)) return dync__fa_backward(code, call);
    *done = false;
    return DYNC_OK;
}

/* ==== cuda/recurrent.c ============================================================================= */
/* cuda/recurrent.c: a layer of RNN, LSTM or GRU in one direction, and back through it, on a GPU.
 * After attention.c, before calls.c; the kernel call is kernel/recurrent.c's, with the same things
 * kept for backward.
 *
 *   block   where the weights are small a block has some rows of the batch and goes through all
 *           steps by itself: states in shared memory, weights there too if they fit, else read from
 *           the cache
 *   step    else a launch a step: a block has some units of some rows; states go by way of memory,
 *           by the parity of the step
 * A thread has one unit of `rb` rows: its products with the state, its gates, its state; what all
 * threads need of a step (forward the states, backward the gates' gradients) meets in shared
 * memory. Weights are first brought into the order [k][unit][gate], a 16-byte load per k. Backward
 * a step begins with the product of the step before it in time; one more product ends the layer. */

/* ---- values: registers %v<n> ----------------------------------------------------------------- */

static int dync__ru_new(dync__ru *u)
{
    dync__str_addf(&u->t.p.regs, "    .reg .%s %%v%d;\n", u->ty, u->n);
    return u->n++;
}
static int dync__ru_op(dync__ru *u, const char *op, int a, int b)
{
    int v = dync__ru_new(u);
    if (b < 0)
        dync__ptx_line(&u->t.p, "%s.%s %%v%d, %%v%d", op, u->ty, v, a);
    else
        dync__ptx_line(&u->t.p, "%s.%s %%v%d, %%v%d, %%v%d", op, u->ty, v, a, b);
    return v;
}
static int dync__ru_add(dync__ru *u, int a, int b) { return dync__ru_op(u, "add.rn", a, b); }
static int dync__ru_sub(dync__ru *u, int a, int b) { return dync__ru_op(u, "sub.rn", a, b); }
static int dync__ru_mul(dync__ru *u, int a, int b) { return dync__ru_op(u, "mul.rn", a, b); }
static int dync__ru_fma(dync__ru *u, int a, int b, int c)
{
    int v = dync__ru_new(u);
    dync__ptx_line(&u->t.p, "fma.rn.%s %%v%d, %%v%d, %%v%d, %%v%d", u->ty, v, a, b, c);
    return v;
}
DYNC__FN int dync__ru_number(dync__ru *u, double x)
{
    dync__scalar s;
    int v = dync__ru_new(u);
    s.d = x;
    if (u->type == DYNC_F32) s.f = (float)x;
    dync__ptx_line(&u->t.p, "mov.%s %%v%d, %s", u->ty, v, dync__ptx_constant(&u->t.p, u->type, s));
    return v;
}
/* a < b ? x : y */
static int dync__ru_where(dync__ru *u, const char *how, int a, int b, int x, int y)
{
    const char *p = dync__ptx_temp(&u->t.p, "pred");
    int v = dync__ru_new(u);
    dync__ptx_line(&u->t.p, "setp.%s.%s %s, %%v%d, %%v%d", how, u->ty, p, a, b);
    dync__ptx_line(&u->t.p, "selp.%s %%v%d, %%v%d, %%v%d, %s", u->ty, v, x, y, p);
    return v;
}

/* 2^x. F64: x = n + r, a polynomial in r, n into the exponent; far beyond the ends of its range 0
 * and infinity come by themselves. */
static int dync__ru_exp2(dync__ru *u, int x)
{
    dync__ptx *p = &u->t.p;
    if (u->type == DYNC_F32) return dync__ru_op(u, "ex2.approx.ftz", x, -1);
    double term = 1;
    int most = dync__ru_number(u, 1000), least = dync__ru_number(u, -1000),
        y = dync__ru_where(u, "gt", x, most, most, x);
    y = dync__ru_where(u, "lt", y, least, least, y);
    int n = dync__ru_op(u, "cvt.rni.f64", y, -1), r = dync__ru_sub(u, y, n), sum = -1;
    double factor[14];
    for (int k = 0; k < 14; k++, term *= 0.69314718055994530942 / k) factor[k] = term;
    for (int k = 13; k >= 0; k--)
        sum = sum < 0 ? dync__ru_number(u, factor[k])
                      : dync__ru_fma(u, sum, r, dync__ru_number(u, factor[k]));
    const char *i = dync__ptx_temp(p, "s32"), *zero = dync__ptx_temp(p, "b32");
    int scale = dync__ru_new(u);
    dync__ptx_line(p, "cvt.rni.s32.f64 %s, %%v%d", i, n);
    dync__ptx_line(p, "add.s32 %s, %s, 1023", i, i);
    dync__ptx_line(p, "shl.b32 %s, %s, 20", i, i);
    dync__ptx_line(p, "mov.b32 %s, 0", zero);
    dync__ptx_line(p, "mov.b64 %%v%d, {%s, %s}", scale, zero, i);
    return dync__ru_where(u, "num", x, x, dync__ru_mul(u, sum, scale), x);
}

static int dync__ru_over(dync__ru *u, int a, int b) { return dync__ru_op(u, "div.rn", a, b); }

static int dync__ru_sigmoid(dync__ru *u, int x)
{
    int one = dync__ru_number(u, 1),
        e = dync__ru_exp2(u, dync__ru_mul(u, x, dync__ru_number(u, -1.4426950408889634074)));
    return dync__ru_over(u, one, dync__ru_add(u, one, e));
}

/* Near 0 a polynomial (Cephes, Moshier) or, in F64, a continued fraction, which keep the relative
 * error small; else 1 - 2 / (e^2|x| + 1). */
static int dync__ru_tanh(dync__ru *u, int x)
{
    static const double small[5] = {-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2,
                                    1.33314422036e-1, -3.33332819422e-1};
    int one = dync__ru_number(u, 1), two = dync__ru_number(u, 2),
        size = dync__ru_op(u, "abs", x, -1), square = dync__ru_mul(u, x, x), near;
    int e = dync__ru_exp2(u, dync__ru_mul(u, size, dync__ru_number(u, 2 * 1.4426950408889634074)));
    int far = dync__ru_sub(u, one, dync__ru_over(u, two, dync__ru_add(u, e, one)));
    far = dync__ru_where(u, "lt", x, dync__ru_number(u, 0), dync__ru_op(u, "neg", far, -1), far);
    if (u->type == DYNC_F32) {
        near = dync__ru_number(u, small[0]);
        for (int i = 1; i < 5; i++)
            near = dync__ru_fma(u, near, square, dync__ru_number(u, small[i]));
        near = dync__ru_fma(u, dync__ru_mul(u, near, square), x, x);
    } else {
        near = dync__ru_number(u, 19);
        for (int m = 17; m > 0; m -= 2)
            near = dync__ru_add(u, dync__ru_number(u, m), dync__ru_over(u, square, near));
        near = dync__ru_over(u, x, near);
    }
    return dync__ru_where(u, "lt", size, dync__ru_number(u, 0.625), near, far);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Address of row r, gate g of an operand [.., N, gates H] that lies at `base`. */
static const char *dync__ru_address(dync__ru *u, int role, const char *base, int r, int g)
{
    dync__ptx *p = &u->t.p;
    const dync__operand *o = u->at[role];
    int64_t bytes = dync__dtype_info(o->dtype)->bytes, row = o->lay.stride[o->lay.ndim - 2] * bytes,
            column = o->lay.stride[o->lay.ndim - 1] * bytes;
    const char *at = dync__ptx_temp(p, "s64");
    dync__ptx_line(p, "mad.lo.s64 %s, %%row%d, %lld, %s", at, r, (long long)row, base);
    dync__ptx_line(p, "mad.lo.s64 %s, %%unit, %lld, %s", at, (long long)column, at);
    if (g) dync__ptx_line(p, "add.s64 %s, %s, %lld", at, at, (long long)(g * u->H * column));
    return at;
}
DYNC__FN char *dync__ru_base(int role, char *name)
{
    dync__format(name, 16, "%%at%d", role);
    return name;
}
/* The value there; 0 for threads that have none. */
static int dync__ru_load(dync__ru *u, int dtype, const char *at, int r)
{
    dync__ptx *p = &u->t.p;
    char guard[16], name[16], address[40];
    int v = dync__ru_number(u, 0);
    dync__format(guard, sizeof guard, "@%%ok%d ", r);
    dync__format(name, sizeof name, "%%v%d", v);
    dync__format(address, sizeof address, "%s", at);
    if (dync__ptx_is_plain(dtype)) {
        dync__cuda_tile_load(&u->t, dtype, name, address, guard);
        return v;
    }
    const char *raw = dync__ptx_temp(p, dync__ptx_raw_type(dtype));
    dync__ptx_line(p, "mov.b16 %s, 0", raw);
    dync__ptx_line(p, "%sld.global.b16 %s, [%s]", guard, raw, address);
    dync__ptx_widen(p, dtype, name, raw);
    return v;
}
DYNC__FN int dync__ru_get(dync__ru *u, int role, int r, int g)
{
    char base[16];
    return dync__ru_load(u, u->at[role]->dtype,
                         dync__ru_address(u, role, dync__ru_base(role, base), r, g), r);
}
DYNC__FN void dync__ru_put(dync__ru *u, int role, int r, int g, int v)
{
    char base[16], guard[16], name[16], at[40];
    if (!u->at[role] || v < 0) return;
    dync__format(at, sizeof at, "%s", dync__ru_address(u, role, dync__ru_base(role, base), r, g));
    dync__format(guard, sizeof guard, "@%%ok%d ", r);
    dync__format(name, sizeof name, "%%v%d", v);
    dync__cuda_tile_store(&u->t, u->at[role]->dtype, at, name, guard);
}

/* n elements of the arithmetic's type, 16 bytes at a time where they are that many: prefix<first>
 * ... */
static void dync__ru_many(dync__ru *u, const char *space, const char *prefix, int first, int n,
                          const char *from, int64_t at)
{
    dync__ptx *p = &u->t.p;
    int each = 16 / u->bytes;
    for (int i = 0; i < n; i += n % each ? 1 : each) {
        long long place = (long long)(at + i * u->bytes);
        if (n % each)
            dync__ptx_line(p, "ld.%s.%s %s%d, [%s+%lld]", space, u->ty, prefix, first + i, from,
                           place);
        else if (each == 2)
            dync__ptx_line(p, "ld.%s.v2.f64 {%s%d, %s%d}, [%s+%lld]", space, prefix, first + i,
                           prefix, first + i + 1, from, place);
        else
            dync__ptx_line(p, "ld.%s.v4.f32 {%s%d, %s%d, %s%d, %s%d}, [%s+%lld]", space, prefix,
                           first + i, prefix, first + i + 1, prefix, first + i + 2, prefix,
                           first + i + 3, from, place);
    }
}

/* ---- the product ----------------------------------------------------------------------------- */

/* %acc<gate rb + r> += the weights of `k` states, from offset `first` on, times what is shared. */
static void dync__ru_product_part(dync__ru *u, int first, int k)
{
    dync__ptx *p = &u->t.p;
    int shared = u->grad ? u->pack : 1;
    for (int r = 0; r < u->rb; r++)
        dync__ru_many(u, "shared", "%s", r * 4 * u->pack, k * shared, "%hp",
                      (int64_t)(r * u->row + first * shared) * u->bytes);
    for (int i = 0; i < k; i++)
        dync__ru_many(u, u->near ? "shared" : "global", "%w", i * u->pack, u->pack, "%wp",
                      (first + i) * u->H * u->pack * u->bytes);
    for (int i = 0; i < k; i++)
        for (int g = 0; g < u->gates; g++)
            for (int r = 0; r < u->rb; r++)
                dync__ptx_line(p, "fma.rn.%s %%acc%d, %%w%d, %%s%d, %%acc%d", u->ty, g * u->rb + r,
                               i * u->pack + g, r * 4 * u->pack + i * shared + (u->grad ? g : 0),
                               g * u->rb + r);
}

DYNC__FN void dync__ru_product(dync__ru *u)
{
    dync__ptx *p = &u->t.p;
    char label[24];
    int shared = u->grad ? u->pack : 1;
    for (int i = 0; i < u->gates * u->rb; i++)
        dync__ptx_line(p, "mov.%s %%acc%d, %s", u->ty, i,
                       u->type == DYNC_F32 ? "0f00000000" : "0d0000000000000000");
    dync__format(label, sizeof label, "PRODUCT%d", p->n_labels++);
    dync__ptx_line(p, "mov.b%d %%wp, %%wfirst", u->near ? 32 : 64);
    dync__ptx_line(p, "add.s32 %%hp, %%hfirst, %%iteration");
    if (u->H >= 4) {
        dync__ptx_line(p, "mov.b32 %%left, %lld", (long long)(u->H / 4));
        dync__cuda_tile_label(&u->t, "%s", label);
        dync__ru_product_part(u, 0, 4);
        dync__ptx_line(p, "add.s%d %%wp, %%wp, %lld", u->near ? 32 : 64,
                       (long long)(4 * u->H * u->pack * u->bytes));
        dync__ptx_line(p, "add.s32 %%hp, %%hp, %d", 4 * shared * u->bytes);
        dync__ptx_line(p, "sub.s32 %%left, %%left, 1");
        dync__ptx_line(p, "setp.gt.s32 %%more, %%left, 0");
        dync__ptx_line(p, "@%%more bra %s", label);
    }
    for (int i = 0; i < u->H % 4; i++) dync__ru_product_part(u, i, 1);
}

/* %acc as values of gate g, row r; backward its sum over the gates. */
static int dync__ru_acc(dync__ru *u, int g, int r)
{
    int v = dync__ru_new(u);
    dync__ptx_line(&u->t.p, "mov.%s %%v%d, %%acc%d", u->ty, v, g * u->rb + r);
    return v;
}

/* ---- gates ----------------------------------------------------------------------------------- */

DYNC__FN int dync__ru_state(dync__ru *u, char what, int r)
{
    int v = dync__ru_new(u);
    dync__ptx_line(&u->t.p, "mov.%s %%v%d, %%%c%d", u->ty, v, what, r);
    return v;
}
DYNC__FN void dync__ru_set_state(dync__ru *u, char what, int r, int v)
{
    dync__ptx_line(&u->t.p, "mov.%s %%%c%d, %%v%d", u->ty, what, r, v);
}

DYNC__FN void dync__ru_cell(dync__ru *u, int r)
{
    int gate[4], mine[4], value, cell = -1;
    for (int i = 0; i < u->gates; i++) {
        gate[i] = dync__ru_get(u, DYNC__RNN_IN, r, i);
        mine[i] = dync__ru_acc(u, i, r);
        if (u->at[DYNC__RNN_BIAS]) {
            int bias = dync__ru_new(u);
            dync__ptx_line(&u->t.p, "mov.%s %%v%d, %%bias%d", u->ty, bias, i);
            mine[i] = dync__ru_add(u, mine[i], bias);
        }
        if (u->gates != 3 || i < 2) gate[i] = dync__ru_add(u, gate[i], mine[i]);
    }
    if (u->gates == 4) {
        for (int i = 0; i < 4; i++)
            gate[i] = i == 2 ? dync__ru_tanh(u, gate[i]) : dync__ru_sigmoid(u, gate[i]);
        cell =
            dync__ru_fma(u, gate[1], dync__ru_state(u, 'c', r), dync__ru_mul(u, gate[0], gate[2]));
        value = dync__ru_mul(u, gate[3], dync__ru_tanh(u, cell));
        dync__ru_set_state(u, 'c', r, cell);
    } else if (u->gates == 3) {
        gate[0] = dync__ru_sigmoid(u, gate[0]);
        gate[1] = dync__ru_sigmoid(u, gate[1]);
        gate[2] = dync__ru_tanh(u, dync__ru_fma(u, gate[0], mine[2], gate[2]));
        value =
            dync__ru_fma(u, gate[1], dync__ru_sub(u, dync__ru_state(u, 'h', r), gate[2]), gate[2]);
        cell = mine[2];
    } else {
        value = dync__ru_tanh(u, gate[0]);
    }
    dync__ru_set_state(u, 'h', r, value);
    dync__ru_put(u, DYNC__RNN_OUT, r, 0, value);
    dync__ru_put(u, DYNC__RNN_CELLS, r, 0, cell);
    for (int i = 0; i < u->gates; i++) dync__ru_put(u, DYNC__RNN_GATES, r, i, gate[i]);
}

/* a (1 - a) d, and (1 - a a) d */
static int dync__ru_sigmoid_grad(dync__ru *u, int a, int d)
{
    return dync__ru_mul(u, dync__ru_mul(u, a, dync__ru_sub(u, dync__ru_number(u, 1), a)), d);
}
static int dync__ru_tanh_grad(dync__ru *u, int a, int d)
{
    return dync__ru_mul(u, dync__ru_sub(u, dync__ru_number(u, 1), dync__ru_mul(u, a, a)), d);
}

/* The state before this step: c (LSTM) or h (GRU), at the start or of the step before. */
static int dync__ru_before(dync__ru *u, int r)
{
    dync__ptx *p = &u->t.p;
    int start = u->gates == 4 ? DYNC__RNN_C0 : DYNC__RNN_H0,
        states = u->gates == 4 ? DYNC__RNN_CELLS : DYNC__RNN_OUT;
    char base[16], first[40], other[40];
    const dync__operand *o = u->at[states];
    int64_t by = o->lay.stride[0] * dync__dtype_info(o->dtype)->bytes * (u->reverse ? 1 : -1);
    dync__format(first, sizeof first, "%s",
                 dync__ru_address(u, start, dync__ru_base(start, base), r, 0));
    dync__format(other, sizeof other, "%s",
                 dync__ru_address(u, states, dync__ru_base(states, base), r, 0));
    dync__ptx_line(p, "add.s64 %s, %s, %lld", other, other, (long long)by);
    dync__ptx_line(p, "selp.b64 %s, %s, %s, %%first", other, first, other);
    return dync__ru_load(u, o->dtype, other, r);
}

DYNC__FN void dync__ru_cell_grad(dync__ru *u, int r)
{
    int gate[4], g[4], d = dync__ru_state(u, 'h', r);
    if (u->at[DYNC__RNN_GOUT]) d = dync__ru_add(u, d, dync__ru_get(u, DYNC__RNN_GOUT, r, 0));
    for (int i = 0; i < u->gates && u->gates > 1; i++)
        gate[i] = dync__ru_get(u, DYNC__RNN_GATES, r, i);
    if (u->gates == 4) {
        int t = dync__ru_tanh(u, dync__ru_get(u, DYNC__RNN_CELLS, r, 0));
        int e = dync__ru_add(u, dync__ru_state(u, 'c', r),
                             dync__ru_tanh_grad(u, t, dync__ru_mul(u, d, gate[3])));
        g[0] = dync__ru_sigmoid_grad(u, gate[0], dync__ru_mul(u, e, gate[2]));
        g[1] = dync__ru_sigmoid_grad(u, gate[1], dync__ru_mul(u, e, dync__ru_before(u, r)));
        g[2] = dync__ru_tanh_grad(u, gate[2], dync__ru_mul(u, e, gate[0]));
        g[3] = dync__ru_sigmoid_grad(u, gate[3], dync__ru_mul(u, d, t));
        dync__ru_set_state(u, 'c', r, dync__ru_mul(u, e, gate[1]));
    } else if (u->gates == 3) {
        int last = dync__ru_before(u, r), one = dync__ru_number(u, 1);
        g[2] = dync__ru_tanh_grad(u, gate[2], dync__ru_mul(u, d, dync__ru_sub(u, one, gate[1])));
        g[1] =
            dync__ru_sigmoid_grad(u, gate[1], dync__ru_mul(u, d, dync__ru_sub(u, last, gate[2])));
        g[0] = dync__ru_sigmoid_grad(u, gate[0],
                                     dync__ru_mul(u, g[2], dync__ru_get(u, DYNC__RNN_CELLS, r, 0)));
        /* goes on to the step before */
        dync__ru_set_state(u, 'h', r, dync__ru_mul(u, d, gate[1]));
    } else {
        g[0] = dync__ru_tanh_grad(u, dync__ru_get(u, DYNC__RNN_OUT, r, 0), d);
    }
    for (int i = 0; i < u->gates; i++) {
        dync__ru_put(u, DYNC__RNN_IN, r, i, g[i]);
        int v = u->gates == 3 && i == 2 ? dync__ru_mul(u, g[2], gate[0]) : g[i];
        if (u->step)
            dync__ptx_line(&u->t.p, "@%%ok%d st.global.%s [%%share%d+%d], %%v%d", r, u->ty, r,
                           i * u->bytes, v);
        else
            dync__ptx_line(&u->t.p, "@%%mine st.shared.%s [%%share+%d], %%v%d", u->ty,
                           (r * u->row + i) * u->bytes, v);
    }
}

DYNC__FN void dync__ru_add_product(dync__ru *u, int r)
{
    int v = dync__ru_acc(u, 0, r);
    for (int g = 1; g < u->gates; g++) v = dync__ru_add(u, v, dync__ru_acc(u, g, r));
    if (u->gates == 3) v = dync__ru_add(u, v, dync__ru_state(u, 'h', r));
    dync__ru_set_state(u, 'h', r, v);
}

/* ==== cuda/recurrent_text.c ======================================================================== */
/* cuda/recurrent_text.c: the two kernels of recurrent layers: all steps in one launch of blocks
 * that hold their rows, or a launch a step. After recurrent.c, before recurrent_call.c. */

/* ---- the kernel ------------------------------------------------------------------------------ */

/* Registers, rows, unit; where the thread's states and weights are. */
static void dync__ru_begin(dync__ru *u)
{
    dync__ptx *p = &u->t.p;
    static const char *const names[][2] = {
        {"s64", "%time"},   {"s32", "%index"}, {"s32", "%left"}, {"pred", "%more"},
        {"pred", "%first"}, {"pred", "%skip"}, {"b32", "%hp"},   {"b32", "%iteration"},
        {"b32", "%share"},  {"pred", "%mine"}};
    int threads = u->units * u->groups;
    char name[24];
    for (int i = 0; i < DYNC__COUNT_OF(names); i++) dync__ptx_reg(p, names[i][0], names[i][1]);
    dync__cuda_tile_regs(&u->t, u->ty, "%acc", u->gates * u->rb);
    dync__cuda_tile_regs(&u->t, u->ty, "%w", 4 * u->pack);
    dync__cuda_tile_regs(&u->t, u->ty, "%s", 4 * u->pack * u->rb);
    dync__cuda_tile_regs(&u->t, u->ty, "%h", u->rb);
    dync__cuda_tile_regs(&u->t, u->ty, "%c", u->rb);
    dync__cuda_tile_set(&u->t, "b32", "%tu", "and", "%%thr, %d", u->units - 1);
    dync__cuda_tile_set(&u->t, "u32", "%group", "div", "%%thr, %d", u->units);
    if (u->step) {
        dync__cuda_tile_special(&u->t, "%slice", "%ctaid.y");
        dync__ptx_line(p, "mad.lo.s32 %%tu, %%slice, %d, %%tu", u->units);
    }
    dync__ptx_line(p, "setp.lt.s32 %%mine, %%tu, %lld", (long long)u->H);
    dync__cuda_tile_wide(&u->t, "%unit", NULL);
    dync__ptx_line(p, "cvt.s64.s32 %%unit, %%tu");
    for (int r = 0; r < u->rb; r++) {
        dync__format(name, sizeof name, "%%row%d", r);
        dync__cuda_tile_wide(&u->t, name, NULL);
        const char *n = dync__ptx_temp(p, "s32");
        dync__ptx_line(p, "mad.lo.s32 %s, %%cta, %d, %d", n, u->groups * u->rb, r);
        dync__ptx_line(p, "mad.lo.s32 %s, %%group, %d, %s", n, u->rb, n);
        dync__ptx_line(p, "cvt.s64.s32 %s, %s", name, n);
        dync__format(name, sizeof name, "%%ok%d", r);
        dync__ptx_reg(p, "pred", name);
        dync__ptx_line(p, "setp.lt.and.s32 %s, %s, %lld, %%mine", name, n, (long long)u->N);
    }
    int copy = u->groups * u->rb * u->row * u->bytes;
    u->state = dync__cuda_tile_shared(&u->t, u->step ? copy : 2 * copy, 16);
    if (u->near)
        u->weights = dync__cuda_tile_shared(&u->t, (int)(u->H * u->H * u->pack * u->bytes), 16);
    dync__cuda_tile_set(&u->t, "s32", "%hfirst", "mad.lo", "%%group, %d, %%smem",
                        u->rb * u->row * u->bytes);
    dync__ptx_line(p, "add.s32 %%hfirst, %%hfirst, %d", u->state);
    dync__cuda_tile_set(&u->t, "s32", "%own", "mad.lo", "%%tu, %d, %%hfirst",
                        (u->grad ? u->pack : 1) * u->bytes);
    /* behind: in the copy that is not being read */
    dync__ptx_line(p, "add.s32 %%own, %%own, %d", u->step ? 0 : copy);
    dync__ptx_line(p, "mov.b32 %%iteration, 0");
    const char *clamped = dync__ptx_temp(p, "s32");
    dync__ptx_line(p, "min.s32 %s, %%tu, %lld", clamped, (long long)(u->H - 1));
    if (u->near) {
        dync__ptx_reg(p, "b32", "%wp");
        dync__cuda_tile_set(&u->t, "s32", "%wfirst", "mad.lo", "%s, %d, %%smem", clamped,
                            u->pack * u->bytes);
        dync__ptx_line(p, "add.s32 %%wfirst, %%wfirst, %d", u->weights);
    } else {
        dync__cuda_tile_wide(&u->t, "%wp", NULL);
        dync__cuda_tile_wide(&u->t, "%wfirst", NULL);
        dync__ptx_line(p, "mad.wide.s32 %%wfirst, %s, %d, %%b%d", clamped, u->pack * u->bytes,
                       u->temp[0]);
    }
    for (int role = 0; role < DYNC__RNN_ROLES; role++) {
        const dync__operand *o = u->at[role];
        if (!o || o->lay.ndim == 1) continue;
        dync__ru_base(role, name);
        dync__cuda_tile_set(&u->t, "s64", name, "add", "%%b%d, %lld", (int)(o - u->call->operand),
                            (long long)(o->lay.offset * dync__dtype_info(o->dtype)->bytes));
    }
    if (u->at[DYNC__RNN_BIAS]) {
        const dync__operand *o = u->at[DYNC__RNN_BIAS];
        int64_t bytes = dync__dtype_info(o->dtype)->bytes;
        dync__cuda_tile_regs(&u->t, u->ty, "%bias", u->gates);
        for (int g = 0; g < u->gates; g++) {
            char value[16];
            dync__format(value, sizeof value, "%%bias%d", g);
            const char *at = dync__ptx_temp(p, "s64");
            dync__ptx_line(p, "mad.lo.s64 %s, %%unit, %lld, %%b%d", at,
                           (long long)(o->lay.stride[0] * bytes), (int)(o - u->call->operand));
            dync__ptx_line(p, "add.s64 %s, %s, %lld", at, at,
                           (long long)((o->lay.offset + g * u->H * o->lay.stride[0]) * bytes));
            dync__ptx_line(p, "mov.%s %s, %s", u->ty, value,
                           u->type == DYNC_F32 ? "0f00000000" : "0d0000000000000000");
            dync__cuda_tile_load(&u->t, o->dtype, value, at, "@%mine ");
        }
    }
    if (!u->near) return;
    int64_t bytes = u->H * u->H * u->pack * u->bytes;
    int each = bytes % 16 == 0 ? 16 : 4;
    dync__cuda_tile_note(&u->t, "weights");
    dync__ptx_line(p, "mov.b32 %%left, %%thr");
    dync__cuda_tile_set(&u->t, "s32", "%to", "mad.lo", "%%thr, %d, %%smem", each);
    dync__cuda_tile_wide(&u->t, "%from", NULL);
    dync__ptx_line(p, "mad.wide.s32 %%from, %%thr, %d, %%b%d", each, u->temp[0]);
    dync__cuda_tile_label(&u->t, "WEIGHTS");
    dync__ptx_line(p, "setp.lt.s32 %%more, %%left, %lld", (long long)(bytes / each));
    dync__ptx_line(p, "@%%more cp.async.ca.shared.global [%%to+%d], [%%from], %d", u->weights,
                   each);
    dync__ptx_line(p, "add.s32 %%left, %%left, %d", threads);
    dync__ptx_line(p, "add.s32 %%to, %%to, %d", threads * each);
    dync__ptx_line(p, "add.s64 %%from, %%from, %d", threads * each);
    dync__ptx_line(p, "@%%more bra WEIGHTS");
    dync__cuda_tile_commit(&u->t);
    dync__cuda_tile_wait(&u->t, 0);
}

/* %at<role> of the operands with a step, for step %index. */
static void dync__ru_at_step(dync__ru *u)
{
    dync__ptx *p = &u->t.p;
    char name[16];
    if (u->reverse) dync__ptx_line(p, "sub.s32 %%left, %lld, %%index", (long long)(u->L - 1));
    dync__ptx_line(p, "cvt.s64.s32 %%time, %s", u->reverse ? "%left" : "%index");
    dync__ptx_line(p, "setp.eq.s32 %%first, %%index, 0");
    for (int role = 0; role < DYNC__RNN_ROLES; role++) {
        const dync__operand *o = u->at[role];
        int64_t bytes = o ? dync__dtype_info(o->dtype)->bytes : 0;
        if (!o || o->lay.ndim != 3) continue;
        dync__ru_base(role, name);
        dync__ptx_line(p, "mad.lo.s64 %s, %%time, %lld, %%b%d", name,
                       (long long)(o->lay.stride[0] * bytes), (int)(o - u->call->operand));
        dync__ptx_line(p, "add.s64 %s, %s, %lld", name, name, (long long)(o->lay.offset * bytes));
    }
}

/* A state of row r from an operand [N, H], 0 where there is none; those of all rows to one. */
static void dync__ru_take(dync__ru *u, char what, int r, int role)
{
    dync__ru_set_state(
        u, what, r, role >= 0 && u->at[role] ? dync__ru_get(u, role, r, 0) : dync__ru_number(u, 0));
}
static void dync__ru_leave(dync__ru *u, char what, int role)
{
    for (int r = 0; r < u->rb; r++) dync__ru_put(u, role, r, 0, dync__ru_state(u, what, r));
}

DYNC__FN void dync__ru_block_text(dync__ru *u)
{
    dync__ptx *p = &u->t.p;
    int copy = u->groups * u->rb * u->row * u->bytes;
    dync__ru_begin(u);
    for (int r = 0; r < u->rb; r++) {
        dync__ru_take(u, 'h', r, u->grad ? -1 : DYNC__RNN_H0);
        dync__ru_take(u, 'c', r, u->grad ? DYNC__RNN_GC : DYNC__RNN_C0);
        if (!u->grad)
            dync__ptx_line(p, "@%%mine st.shared.%s [%%own+%d], %%h%d", u->ty,
                           r * u->row * u->bytes - copy, r);
    }
    dync__cuda_tile_barrier(&u->t);
    dync__ptx_line(p, "mov.b32 %%index, %lld", (long long)(u->grad ? u->L - 1 : 0));
    dync__cuda_tile_label(&u->t, "STEP");
    dync__ru_at_step(u);
    if (u->grad) {
        dync__ptx_line(p, "setp.eq.s32 %%skip, %%index, %lld", (long long)(u->L - 1));
        dync__ptx_line(p, "@%%skip bra NONE");
    }
    dync__ru_product(u);
    for (int r = 0; u->grad && r < u->rb; r++) dync__ru_add_product(u, r);
    if (u->grad) dync__cuda_tile_label(&u->t, "NONE");
    dync__ptx_line(p, "sub.s32 %%share, %%own, %%iteration");
    for (int r = 0; r < u->rb; r++) {
        if (u->grad)
            dync__ru_cell_grad(u, r);
        else
            dync__ru_cell(u, r);
        if (!u->grad)
            dync__ptx_line(p, "@%%mine st.shared.%s [%%share+%d], %%h%d", u->ty,
                           r * u->row * u->bytes, r);
    }
    dync__ptx_line(p, "sub.s32 %%iteration, %d, %%iteration", copy);
    dync__cuda_tile_barrier(&u->t);
    dync__ptx_line(p, "add.s32 %%index, %%index, %d", u->grad ? -1 : 1);
    if (u->grad)
        dync__ptx_line(p, "setp.ge.s32 %%more, %%index, 0");
    else
        dync__ptx_line(p, "setp.lt.s32 %%more, %%index, %lld", (long long)u->L);
    dync__ptx_line(p, "@%%more bra STEP");
    if (u->grad) dync__ru_product(u);
    for (int r = 0; u->grad && r < u->rb; r++) dync__ru_add_product(u, r);
    if (u->grad) dync__ru_leave(u, 'h', DYNC__RNN_GH0);
    dync__ru_leave(u, 'c', u->grad ? DYNC__RNN_GC0 : DYNC__RNN_CN);
    dync__cuda_tile_entry(&u->t, u->call->row->name,
                          (u->N + u->groups * u->rb - 1) / (u->groups * u->rb), 1, 1,
                          u->units * u->groups);
}

/* A state of the thread's rows between launches, [N, H] at the register `base`. */
static void dync__ru_keep(dync__ru *u, char what, const char *base, bool store)
{
    for (int r = 0; r < u->rb; r++) {
        const char *at = dync__ptx_temp(&u->t.p, "s64");
        dync__ptx_line(&u->t.p, "mad.lo.s64 %s, %%row%d, %lld, %%unit", at, r, (long long)u->H);
        dync__ptx_line(&u->t.p, "mad.lo.s64 %s, %s, %d, %s", at, at, u->bytes, base);
        if (store) {
            dync__ptx_line(&u->t.p, "@%%ok%d st.global.%s [%s], %%%c%d", r, u->ty, at, what, r);
        } else {
            dync__ptx_line(&u->t.p, "mov.b%d %%%c%d, 0", 8 * u->bytes, what, r);
            dync__ptx_line(&u->t.p, "@%%ok%d ld.global.%s %%%c%d, [%s]", r, u->ty, what, r, at);
        }
    }
}

/* What the step before left, [N, width] at %read, into shared memory. */
static void dync__ru_stage(dync__ru *u, int64_t width)
{
    dync__ptx *p = &u->t.p;
    int rows = u->groups * u->rb;
    static const char *const names[][2] = {
        {"u32", "%line"}, {"u32", "%place"}, {"s64", "%wide"}, {"s64", "%far"}};
    for (int i = 0; i < DYNC__COUNT_OF(names); i++) dync__ptx_reg(p, names[i][0], names[i][1]);
    dync__ptx_reg(p, u->ty, "%value");
    dync__ptx_line(p, "mov.b32 %%left, %%thr");
    dync__cuda_tile_label(&u->t, "STATES");
    dync__ptx_line(p, "div.u32 %%line, %%left, %lld", (long long)width);
    dync__ptx_line(p, "rem.u32 %%place, %%left, %lld", (long long)width);
    dync__ptx_line(p, "mad.lo.s32 %%hp, %%line, %d, %%smem", u->row * u->bytes);
    dync__ptx_line(p, "mad.lo.s32 %%hp, %%place, %d, %%hp", u->bytes);
    dync__ptx_line(p, "cvt.s64.s32 %%wide, %%place");
    dync__ptx_line(p, "mad.lo.s32 %%line, %%cta, %d, %%line", rows);
    dync__ptx_line(p, "cvt.s64.s32 %%far, %%line");
    dync__ptx_line(p, "mad.lo.s64 %%far, %%far, %lld, %%wide", (long long)width);
    dync__ptx_line(p, "mad.lo.s64 %%far, %%far, %d, %%read", u->bytes);
    dync__ptx_line(p, "setp.lt.s32 %%more, %%left, %lld", (long long)(rows * width));
    dync__ptx_line(p, "setp.lt.and.s32 %%skip, %%line, %lld, %%more", (long long)u->N);
    dync__ptx_line(p, "mov.%s %%value, %s", u->ty,
                   u->type == DYNC_F32 ? "0f00000000" : "0d0000000000000000");
    dync__ptx_line(p, "@%%skip ld.global.%s %%value, [%%far]", u->ty);
    dync__ptx_line(p, "@%%more st.shared.%s [%%hp+%d], %%value", u->ty, u->state);
    dync__ptx_line(p, "add.s32 %%left, %%left, %d", u->units * u->groups);
    dync__ptx_line(p, "@%%more bra STATES");
    dync__cuda_tile_barrier(&u->t);
}

DYNC__FN void dync__ru_step_text(dync__ru *u)
{
    dync__ptx *p = &u->t.p;
    int64_t width = u->grad ? u->H * u->pack : u->H;
    char name[24];
    dync__ru_begin(u);
    dync__cuda_tile_wide(&u->t, "%launch", NULL);
    dync__ptx_line(p, "ld.param.b64 %%launch, [p%d]", u->t.n_buffers + 1);
    dync__cuda_tile_wide(&u->t, "%odd", NULL);
    dync__ptx_line(p, "and.b64 %%odd, %%launch, 1");
    dync__cuda_tile_set(&u->t, "s64", "%read", "mad.lo", "%%odd, %lld, %%b%d",
                        (long long)(u->N * width * u->bytes), u->temp[1]);
    dync__ptx_line(p, "xor.b64 %%odd, %%odd, 1");
    dync__cuda_tile_set(&u->t, "s64", "%write", "mad.lo", "%%odd, %lld, %%b%d",
                        (long long)(u->N * width * u->bytes), u->temp[1]);
    dync__ptx_line(p, "cvt.s32.s64 %%index, %%launch");
    dync__cuda_tile_wide(&u->t, "%kept", NULL);
    dync__cuda_tile_wide(&u->t, "%cells", NULL);
    dync__ptx_line(p, "mov.b64 %%kept, %%b%d", u->temp[2]);
    dync__ptx_line(p, "mov.b64 %%cells, %%b%d", u->temp[3]);
    for (int r = 0; r < u->rb; r++) {
        dync__format(name, sizeof name, "%%share%d", r);
        dync__cuda_tile_wide(&u->t, name, NULL);
        dync__ptx_line(p, "mad.lo.s64 %s, %%row%d, %lld, %%unit", name, r, (long long)u->H);
        dync__ptx_line(p, "mad.lo.s64 %s, %s, %d, %%write", name, name,
                       (u->grad ? u->pack : 1) * u->bytes);
        dync__ru_take(u, 'h', r, -1);
        dync__ru_take(u, 'c', r, -1);
    }
    if (u->gates == 4) dync__ru_keep(u, 'c', "%cells", false);
    if (u->grad) {
        dync__ptx_line(p, "setp.eq.s32 %%first, %%index, 0");
        dync__ptx_line(p, "sub.s32 %%index, %lld, %%index", (long long)(u->L - 1));
        dync__ptx_line(p, "@%%first bra NONE");
    }
    dync__ru_stage(u, width);
    if (u->gates == 3) dync__ru_keep(u, 'h', u->grad ? "%kept" : "%read", false);
    dync__ru_product(u);
    for (int r = 0; u->grad && r < u->rb; r++) dync__ru_add_product(u, r);
    if (u->grad) {
        dync__cuda_tile_label(&u->t, "NONE");
        dync__ptx_line(p, "setp.lt.s32 %%skip, %%index, 0");
        dync__ptx_line(p, "@%%skip bra LAST");
    }
    dync__ru_at_step(u);
    for (int r = 0; r < u->rb; r++) {
        if (u->grad)
            dync__ru_cell_grad(u, r);
        else
            dync__ru_cell(u, r);
    }
    if (!u->grad)
        dync__ru_keep(u, 'h', "%write", true);
    else if (u->gates == 3)
        dync__ru_keep(u, 'h', "%kept", true);
    if (u->gates == 4) dync__ru_keep(u, 'c', "%cells", true);
    if (!u->grad) dync__ptx_line(p, "setp.ne.s32 %%skip, %%index, %lld", (long long)(u->L - 1));
    dync__ptx_line(p, u->grad ? "bra END" : "@%%skip bra END");
    dync__cuda_tile_label(&u->t, "LAST");
    if (u->grad) dync__ru_leave(u, 'h', DYNC__RNN_GH0);
    dync__ru_leave(u, 'c', u->grad ? DYNC__RNN_GC0 : DYNC__RNN_CN);
    dync__cuda_tile_label(&u->t, "END");
    u->t.steps = u->grad ? u->L + 1 : u->L;
    dync__cuda_tile_entry(&u->t, u->call->row->name,
                          (u->N + u->groups * u->rb - 1) / (u->groups * u->rb),
                          (u->H + u->units - 1) / u->units, 1, u->units * u->groups);
}

/* ==== cuda/recurrent_call.c ======================================================================== */
/* cuda/recurrent_call.c: the call of a recurrent layer on a GPU: its weights packed, its shape
 * chosen. After recurrent_text.c, before calls.c. */

/* ---- the call -------------------------------------------------------------------------------- */

/* A temporary = an operand [N, H], or zeros. */
static bool dync__ru_copy(dync__ru *u, dync__cuda_code *code, int role, int to)
{
    const dync__operand *o = u->at[role];
    int64_t extent[2] = {u->N, u->H}, dense[2] = {u->H, 1};
    dync__kernel *k = dync__kernel_new(&code->arena, "rnn_state", 0, 2, extent);
    if (!k) return false;
    dync__lb b = {.k = k, .section = 1, .origin = "rnn_layer"};
    int v = o ? dync__lb_load(&b,
                              dync__kernel_buf(k, (int)(o - u->call->operand), o->dtype,
                                               DYNC__BUF_IN, -1, NULL),
                              dync__kernel_access(k, o->lay.offset, o->lay.stride))
              : dync__lb_f(&b, u->type, 0);
    dync__lb_store(&b, dync__kernel_buf(k, to, u->type, DYNC__BUF_OUT, -1, NULL),
                   dync__kernel_access(k, 0, dense), dync__lb_cast(&b, v, u->type));
    return dync__cuda_add_loop(code, k);
}

/* The weights as [k][unit][gate]: forward k is a state, backward a unit whose gates' gradients go
 * to the state `unit`. */
static bool dync__ru_weights(dync__ru *u, dync__cuda_code *code, int to)
{
    const dync__operand *w = u->at[DYNC__RNN_W];
    int64_t extent[3] = {u->H, u->H, u->gates}, dense[3] = {u->H * u->pack, u->pack, 1};
    int64_t from[3] = {w->lay.stride[!u->grad], w->lay.stride[u->grad], w->lay.stride[0] * u->H};
    dync__kernel *k = dync__kernel_new(&code->arena, "rnn_weights", 0, 3, extent);
    if (!k) return false;
    dync__lb b = {.k = k, .section = 1, .origin = "rnn_layer"};
    int v = dync__lb_load(
        &b, dync__kernel_buf(k, (int)(w - u->call->operand), w->dtype, DYNC__BUF_IN, -1, NULL),
        dync__kernel_access(k, w->lay.offset, from));
    dync__lb_store(&b, dync__kernel_buf(k, to, u->type, DYNC__BUF_OUT, -1, NULL),
                   dync__kernel_access(k, 0, dense), dync__lb_cast(&b, v, u->type));
    return dync__cuda_add_loop(code, k);
}

/* Blocks: few enough rows each that every multiprocessor has one, if there are that many rows;
 * false: not even one row fits. */
static bool dync__ru_shape(dync__ru *u, int multiprocessors)
{
    enum { THREADS = 256, SHARED = 96 * 1024 };
    int64_t weights = u->H * u->H * u->pack * u->bytes, slices = 1, most;
    u->step = u->H > THREADS || weights > 256 * 1024;
    u->units = 8;
    while (u->units < (u->step ? 32 : u->H)) u->units *= 2;
    if (u->step) slices = (u->H + u->units - 1) / u->units;
    u->row = (int)((u->H * (u->grad ? u->pack : 1) + 3) / 4 * 4);
    most = SHARED / ((int64_t)u->row * u->bytes * (u->step ? 1 : 2));
    for (u->groups = 1; u->groups < THREADS / u->units && u->groups < u->N &&
                        (u->units * u->groups < 32 || slices * u->N > multiprocessors * u->groups);)
        u->groups *= 2;
    for (u->rb = 1; u->rb < 4 && slices * u->N > 2 * multiprocessors * u->groups * u->rb;)
        u->rb *= 2;
    while (u->groups * u->rb > most && u->rb > 1) u->rb /= 2;
    while (u->groups * u->rb > most && u->groups > 1) u->groups /= 2;
    while (u->units * u->groups < 32) u->units *= 2;
    u->near = !u->step && weights + 2 * (int64_t)u->groups * u->rb * u->row * u->bytes <= SHARED;
    return most >= 1;
}

DYNC__FN dync_status dync__cuda_call_recurrent(dync__cuda_code *code, const dync__kcall *call,
                                               bool *done)
{
    dync__ru u;
    int32_t buf[DYNC__KCALL_OPERANDS + 4];
    memset(&u, 0, sizeof u);
    u.grad = dync__kcall_is(call, DYNC__K_rnn_layer_grad);
    *done = false;
    if (!u.grad && !dync__kcall_is(call, DYNC__K_rnn_layer)) return DYNC_OK;
    u.call = call;
    const dync__attr_rnn *a = &call->attr.rnn;
    for (int i = 0; i < DYNC__RNN_ROLES; i++)
        u.at[i] = a->role[i] >= 0 ? &call->operand[a->role[i]] : NULL;
    const dync__layout *out = &u.at[DYNC__RNN_OUT]->lay;
    u.gates = (int)a->gates;
    u.pack = u.gates == 3 ? 4 : u.gates;
    u.reverse = a->reverse;
    u.type = dync__dtype_info(call->operand[0].dtype)->compute;
    u.bytes = dync__dtype_info(u.type)->bytes;
    u.ty = dync__ptx_type(u.type);
    u.L = out->shape[0];
    u.N = out->shape[1];
    u.H = out->shape[2];
    if (u.N > INT32_MAX / 2 || !dync__ru_shape(&u, dync__cuda_unit_of(code->device >> 8)->units))
        return DYNC_OK;
    *done = true;
    int64_t states = u.N * u.H * u.bytes,
            size[4] = {u.H * u.H * u.pack * u.bytes, states * 2 * (u.grad ? u.pack : 1), states,
                       states};
    int n = call->n, n_temps = u.step ? 4 : 1;
    for (int i = 0; i < n; i++) buf[i] = i;
    for (int i = 0; i < 4; i++) {
        u.temp[i] = n + DYNC__MIN(i, n_temps - 1);
        if (i < n_temps && (buf[n + i] = dync__cuda_add_temp(code, size[i])) < 0)
            return DYNC_ERR_MEMORY;
    }
    bool ok = dync__ru_weights(&u, code, buf[n]);
    if (u.step && !u.grad) ok = ok && dync__ru_copy(&u, code, DYNC__RNN_H0, buf[n + 1]);
    if (u.step && u.gates == 4)
        ok = ok && dync__ru_copy(&u, code, u.grad ? DYNC__RNN_GC : DYNC__RNN_C0, buf[n + 3]);
    if (!ok) return DYNC_ERR_MEMORY;
    dync__cuda_tile_begin(&u.t, n + n_temps);
    if (u.step)
        dync__ru_step_text(&u);
    else
        dync__ru_block_text(&u);
    return dync__cuda_tile_end(&u.t, code, buf) ? DYNC_OK : DYNC_ERR_MEMORY;
}

/* ==== cuda/sort.h ================================================================================== */
/* cuda/sort.h: a sorting kernel in the making. */
#ifndef DYNC__CUDA_SORT_H
#define DYNC__CUDA_SORT_H

enum { DYNC__SK_TILE_BYTES = 32 * 1024, DYNC__SK_THREADS = 512, DYNC__SK_PIECE = 8 };

typedef struct dync__sk {
    dync__cuda_tile t;
    const dync__operand *x, *values, *index;
    int dim, words, compute;
    bool descending;
    /* tile: items sorted at a time, a power of two; tiles of a line */
    int64_t lines, length, tile, tiles;
} dync__sk;

/* sort.c */
DYNC__FN void dync__sk_line(dync__sk *s, const char *name, const dync__operand *o, int buffer);
DYNC__FN void dync__sk_move(dync__sk *s, const char *guard, bool store, const char *space,
                            const char *name, const char *at);
DYNC__FN void dync__sk_item(dync__sk *s, const char *name);
DYNC__FN void dync__sk_before(dync__sk *s, const char *p, const char *a, const char *b);
DYNC__FN void dync__sk_result(dync__sk *s, const char *item, const char *to, const char *p);
DYNC__FN void dync__sk_scratch_at(dync__sk *s, const char *half, const char *place);
DYNC__FN void dync__sk_tiles(dync__sk *s);
#endif

/* ==== cuda/sort.c ================================================================================== */
/* cuda/sort.c: stable sorting along a dim on a GPU. After recurrent.c, before calls.c; keys and
 * order are kernel/sort.c's.
 *
 * An item is a key whose unsigned order is the dtype's, with the element's place below it: one
 * 64-bit word for keys of 32 bits, else two. No two items are equal, so any way to sort them is
 * stable. Lines up to a tile are sorted in shared memory, several to a block where they are short
 * (bitonic sort: Batcher 1968). Longer ones are sorted tile by tile and merged, runs of twice the
 * length each launch: a thread finds by bisection where its piece of the result begins in both runs
 * (merge path: Green, McColl, Bader 2012). Values are copied at the end. */

static long long dync__sk_step(const dync__sk *s, const dync__operand *o)
{
    return (long long)(o->lay.stride[s->dim] * dync__dtype_info(o->dtype)->bytes);
}

/* A new register: address of the line's beginning; %line: b64. */
DYNC__FN void dync__sk_line(dync__sk *s, const char *name, const dync__operand *o, int buffer)
{
    char base[16];
    dync__format(base, sizeof base, "%%b%d", buffer);
    dync__cuda_tile_wide(&s->t, name, base);
    dync__cuda_tile_address(&s->t, name, o, o->lay.shape, s->dim, "%line");
}

/* An item moves: registers name0 (and name1, the place) from or to [at + offset]. */
DYNC__FN void dync__sk_move(dync__sk *s, const char *guard, bool store, const char *space,
                            const char *name, const char *at)
{
    char list[64], one[32];
    if (s->words == 1)
        dync__format(list, sizeof list, "%s0", name);
    else
        dync__format(list, sizeof list, "{%s0, %s1}", name, name);
    if (store) {
        dync__ptx_line(&s->t.p, "%sst.%s%s.b64 [%s], %s", guard, space, s->words == 1 ? "" : ".v2",
                       at, list);
    } else {
        for (int w = 0; w < s->words; w++) {
            dync__format(one, sizeof one, "%s%d", name, w);
            dync__ptx_unloaded(&s->t.p, guard, "b64", one);
        }
        dync__ptx_line(&s->t.p, "%sld.%s%s.b64 %s, [%s]", guard, space, s->words == 1 ? "" : ".v2",
                       list, at);
    }
}
DYNC__FN void dync__sk_item(dync__sk *s, const char *name)
{
    dync__cuda_tile_regs(&s->t, "b64", name, s->words);
}

/* p = a before b */
DYNC__FN void dync__sk_before(dync__sk *s, const char *p, const char *a, const char *b)
{
    if (s->words == 2) {
        dync__ptx_line(&s->t.p, "setp.lt.u64 %s, %s1, %s1", p, a, b);
        dync__ptx_line(&s->t.p, "setp.eq.and.u64 %s, %s0, %s0, %s", p, a, b, p);
        dync__ptx_line(&s->t.p, "setp.lt.or.u64 %s, %s0, %s0, %s", p, a, b, p);
    } else {
        dync__ptx_line(&s->t.p, "setp.lt.u64 %s, %s0, %s0", p, a, b);
    }
}

/* %a0 (and %a1) = the item of the element at `at`, whose place is %place (u32), where `p` holds;
 * else one behind all others. */
static void dync__sk_make(dync__sk *s, const char *at, const char *p)
{
    dync__ptx *x = &s->t.p;
    bool wide = s->words == 2, real = s->compute == DYNC_F32 || s->compute == DYNC_F64;
    const char *ty = wide ? "64" : "32", *sign = wide ? "0x8000000000000000" : "0x80000000",
               *rest = wide ? "0x7fffffffffffffff" : "0x7fffffff";
    char guard[24];
    dync__format(guard, sizeof guard, "@%s ", p);
    if (s->x->dtype == DYNC_BOOL) {
        dync__ptx_unloaded(x, guard, "b32", "%key");
        dync__ptx_line(x, "%sld.global.u8 %%key, [%s]", guard, at);
    } else {
        dync__cuda_tile_load(&s->t, s->x->dtype, "%value", at, guard);
        dync__ptx_line(x, "mov.b%s %%key, %%value", ty);
    }
    /* below 0 the other way round; -0 is 0; NaN is the greatest */
    if (real) {
        dync__ptx_line(x, "setp.lt.s%s %%negative, %%key, 0", ty);
        dync__ptx_line(x, "and.b%s %%size, %%key, %s", ty, rest);
        dync__ptx_line(x, "setp.gt.u%s %%nan, %%size, %s", ty,
                       wide ? "0x7ff0000000000000" : "0x7f800000");
        dync__ptx_line(x, "add.s%s %%key, %%size, %s", ty, sign);
        dync__ptx_line(x, "neg.s%s %%size, %%size", ty);
        dync__ptx_line(x, "add.s%s %%size, %%size, %s", ty, sign);
        dync__ptx_line(x, "selp.b%s %%key, %%size, %%key, %%negative", ty);
        dync__ptx_line(x, "selp.b%s %%key, -1, %%key, %%nan", ty);
    } else {
        dync__ptx_line(x, "xor.b%s %%key, %%key, %s", ty, sign);
    }
    if (s->descending) dync__ptx_line(x, "not.b%s %%key, %%key", ty);
    if (wide) {
        dync__ptx_line(x, "selp.b64 %%a0, %%key, -1, %s", p);
        dync__ptx_line(x, "cvt.u64.u32 %%a1, %%place");
        return;
    }
    dync__ptx_line(x, "selp.b32 %%key, %%key, -1, %s", p);
    dync__ptx_line(x, "mov.b64 %%a0, {%%place, %%key}");
}

/* Where an item says, to place `to` (b64) of the line: value and place, where p holds. */
DYNC__FN void dync__sk_result(dync__sk *s, const char *item, const char *to, const char *p)
{
    dync__ptx *x = &s->t.p;
    int bytes = dync__dtype_info(s->x->dtype)->bytes;
    const char *from = dync__ptx_temp(x, "b64"), *at = dync__ptx_temp(x, "b64"),
               *value = dync__ptx_temp(x, bytes == 8   ? "b64"
                                          : bytes == 2 ? "b16"
                                                       : "b32");
    if (s->words == 2)
        dync__ptx_line(x, "mov.b64 %s, %s1", from, item);
    else
        dync__ptx_line(x, "and.b64 %s, %s0, 0xffffffff", from, item);
    dync__ptx_line(x, "mad.lo.s64 %s, %s, %lld, %%index", at, to, dync__sk_step(s, s->index));
    dync__ptx_line(x, "@%s st.global.b64 [%s], %s", p, at, from);
    dync__ptx_line(x, "mad.lo.s64 %s, %s, %lld, %%x", from, from, dync__sk_step(s, s->x));
    dync__ptx_line(x, "mad.lo.s64 %s, %s, %lld, %%values", at, to, dync__sk_step(s, s->values));
    const char *type = bytes == 8 ? "b64" : bytes == 4 ? "b32" : bytes == 2 ? "b16" : "u8";
    dync__ptx_unloaded(x, p, bytes == 8 ? "b64" : bytes == 2 ? "b16" : "b32", value);
    dync__ptx_line(x, "@%s ld.global.%s %s, [%s]", p, type, value, from);
    dync__ptx_line(x, "@%s st.global.%s [%s], %s", p, type, at, value);
}

/* %at (b64) = address of item `place` (b64) of the line in half `half` (b64 0 or 1) of the
 * scratch. */
DYNC__FN void dync__sk_scratch_at(dync__sk *s, const char *half, const char *place)
{
    dync__ptx *x = &s->t.p;
    dync__ptx_line(x, "mad.lo.s64 %%at, %%line, %lld, %s", (long long)s->length, place);
    if (half)
        dync__ptx_line(x, "mad.lo.s64 %%at, %s, %lld, %%at", half,
                       (long long)(s->lines * s->length));
    dync__ptx_line(x, "mad.lo.s64 %%at, %%at, %d, %%scratch", 8 * s->words);
}

static void dync__sk_tile_regs(dync__sk *s)
{
    dync__ptx *x = &s->t.p;
    static const char *const names[][2] = {
        {"u32", "%sub"},   {"u32", "%me"},   {"u32", "%place"},     {"s32", "%slot"},
        {"s32", "%other"}, {"s32", "%i"},    {"s32", "%j"},         {"s32", "%k"},
        {"s32", "%mask"},  {"b64", "%at"},   {"b64", "%wide"},      {"pred", "%in"},
        {"pred", "%more"}, {"pred", "%nan"}, {"pred", "%negative"}, {"pred", "%up"},
        {"pred", "%swap"}, {"b64", "%line"}, {"pred", "%there"},    {"u32", "%first"}};
    for (int i = 0; i < DYNC__COUNT_OF(names); i++) dync__ptx_reg(x, names[i][0], names[i][1]);
    dync__ptx_reg(x, s->words == 2 ? "b64" : "b32", "%key");
    dync__ptx_reg(x, s->words == 2 ? "b64" : "b32", "%size");
    if (s->x->dtype != DYNC_BOOL) dync__ptx_reg(x, dync__ptx_type(s->compute), "%value");
    dync__sk_item(s, "%a");
    dync__sk_item(s, "%c");
}

/* The tile's items from x into shared memory. */
static void dync__sk_tile_load(dync__sk *s, int item, int threads)
{
    dync__ptx *x = &s->t.p;
    dync__cuda_tile_note(&s->t, "items");
    dync__ptx_line(x, "mov.b32 %%i, %%me");
    dync__cuda_tile_label(&s->t, "LOAD");
    dync__ptx_line(x, "add.s32 %%place, %%i, %%first");
    dync__ptx_line(x, "setp.lt.u32 %%in, %%place, %lld", (long long)s->length);
    dync__ptx_line(x, "cvt.u64.u32 %%at, %%place");
    dync__ptx_line(x, "mad.lo.s64 %%at, %%at, %lld, %%x", dync__sk_step(s, s->x));
    dync__sk_make(s, "%at", "%in");
    dync__ptx_line(x, "mad.lo.s32 %%slot, %%i, %d, %%mine", item);
    dync__sk_move(s, "", true, "shared", "%a", "%slot");
    dync__ptx_line(x, "add.s32 %%i, %%i, %d", threads);
    dync__ptx_line(x, "setp.lt.s32 %%more, %%i, %lld", (long long)s->tile);
    dync__ptx_line(x, "@%%more bra LOAD");
}

/* The bitonic network over the tile. */
static void dync__sk_tile_sort(dync__sk *s, int item, int threads)
{
    dync__ptx *x = &s->t.p;
    dync__cuda_tile_note(&s->t, "runs of k, up and down in turn, from pairs j apart");
    dync__ptx_line(x, "mov.b32 %%k, 2");
    dync__cuda_tile_label(&s->t, "RUNS");
    dync__ptx_line(x, "shr.u32 %%j, %%k, 1");
    dync__cuda_tile_label(&s->t, "PAIRS");
    dync__cuda_tile_barrier(&s->t);
    dync__ptx_line(x, "sub.s32 %%mask, %%j, 1");
    dync__ptx_line(x, "mov.b32 %%i, %%me");
    dync__cuda_tile_label(&s->t, "EXCHANGE");
    dync__ptx_line(x, "and.b32 %%other, %%i, %%mask");
    dync__ptx_line(x, "mul.lo.s32 %%slot, %%i, 2");
    dync__ptx_line(x, "sub.s32 %%slot, %%slot, %%other");
    dync__ptx_line(x, "and.b32 %%other, %%slot, %%k");
    dync__ptx_line(x, "setp.eq.s32 %%up, %%other, 0");
    dync__ptx_line(x, "add.s32 %%other, %%slot, %%j");
    dync__ptx_line(x, "mad.lo.s32 %%slot, %%slot, %d, %%mine", item);
    dync__ptx_line(x, "mad.lo.s32 %%other, %%other, %d, %%mine", item);
    dync__sk_move(s, "", false, "shared", "%a", "%slot");
    dync__sk_move(s, "", false, "shared", "%c", "%other");
    dync__sk_before(s, "%swap", "%c", "%a");
    dync__ptx_line(x, "xor.pred %%swap, %%swap, %%up"); /* in their order: nothing to do */
    dync__ptx_line(x, "not.pred %%swap, %%swap");
    dync__sk_move(s, "@%swap ", true, "shared", "%c", "%slot");
    dync__sk_move(s, "@%swap ", true, "shared", "%a", "%other");
    dync__ptx_line(x, "add.s32 %%i, %%i, %d", threads);
    dync__ptx_line(x, "setp.lt.s32 %%more, %%i, %lld", (long long)(s->tile / 2));
    dync__ptx_line(x, "@%%more bra EXCHANGE");
    dync__ptx_line(x, "shr.u32 %%j, %%j, 1");
    dync__ptx_line(x, "setp.gt.s32 %%more, %%j, 0");
    dync__ptx_line(x, "@%%more bra PAIRS");
    dync__ptx_line(x, "shl.b32 %%k, %%k, 1");
    dync__ptx_line(x, "setp.le.s32 %%more, %%k, %lld", (long long)s->tile);
    dync__ptx_line(x, "@%%more bra RUNS");
    dync__cuda_tile_barrier(&s->t);
}

/* Sorted items to the scratch memory that runs are merged in, or, of one tile, to the results. */
static void dync__sk_tile_store(dync__sk *s, int item, int threads)
{
    dync__ptx *x = &s->t.p;
    if (s->tiles > 1) dync__cuda_tile_scratch(&s->t);
    dync__ptx_line(x, "mov.b32 %%i, %%me");
    dync__cuda_tile_label(&s->t, "STORE");
    dync__ptx_line(x, "mad.lo.s32 %%slot, %%i, %d, %%mine", item);
    dync__sk_move(s, "", false, "shared", "%a", "%slot");
    dync__ptx_line(x, "add.s32 %%place, %%i, %%first");
    dync__ptx_line(x, "setp.lt.and.u32 %%in, %%place, %lld, %%there", (long long)s->length);
    dync__ptx_line(x, "cvt.u64.u32 %%wide, %%place");
    if (s->tiles > 1) {
        dync__sk_scratch_at(s, NULL, "%wide");
        dync__sk_move(s, "@%in ", true, "global", "%a", "%at");
    } else {
        dync__sk_result(s, "%a", "%wide", "%in");
    }
    dync__ptx_line(x, "add.s32 %%i, %%i, %d", threads);
    dync__ptx_line(x, "setp.lt.s32 %%more, %%i, %lld", (long long)s->tile);
    dync__ptx_line(x, "@%%more bra STORE");
}

/* Sorts tiles in shared memory: a block has `several` lines, or a tile of one. Results: the sorted
 * lines, or items in the scratch. */
DYNC__FN void dync__sk_tiles(dync__sk *s)
{
    dync__ptx *x = &s->t.p;
    int item = 8 * s->words, threads = (int)DYNC__MIN(DYNC__MAX(s->tile / 2, 1), DYNC__SK_THREADS),
        several = s->tiles > 1 ? 1 : DYNC__MAX(128 / threads, 1);
    dync__sk_tile_regs(s);
    int at = dync__cuda_tile_shared(&s->t, (int)s->tile * item * several, 16);
    dync__ptx_line(x, "div.u32 %%sub, %%thr, %d", threads);
    dync__ptx_line(x, "rem.u32 %%me, %%thr, %d", threads);
    dync__ptx_line(x, "mov.b32 %%first, 0");
    if (s->tiles > 1) {
        dync__ptx_line(x, "rem.u32 %%first, %%cta, %lld", (long long)s->tiles);
        dync__ptx_line(x, "mul.lo.s32 %%first, %%first, %lld", (long long)s->tile);
        dync__ptx_line(x, "div.u32 %%i, %%cta, %lld", (long long)s->tiles);
        dync__ptx_line(x, "cvt.u64.u32 %%line, %%i");
    } else {
        dync__ptx_line(x, "cvt.u64.u32 %%line, %%sub");
        dync__ptx_line(x, "mad.wide.u32 %%line, %%cta, %d, %%line", several);
    }
    dync__ptx_line(x, "setp.lt.u64 %%there, %%line, %lld", (long long)s->lines);
    dync__ptx_line(x, "min.u64 %%line, %%line, %lld", (long long)(s->lines - 1));
    dync__sk_line(s, "%x", s->x, 0);
    if (s->tiles == 1) {
        dync__sk_line(s, "%values", s->values, 1);
        dync__sk_line(s, "%index", s->index, 2);
    }
    dync__cuda_tile_set(&s->t, "s32", "%mine", "mad.lo", "%%sub, %lld, %%smem",
                        (long long)(s->tile * item));
    dync__ptx_line(x, "add.s32 %%mine, %%mine, %d", at);
    dync__sk_tile_load(s, item, threads);
    if (s->tile > 1) dync__sk_tile_sort(s, item, threads);
    dync__sk_tile_store(s, item, threads);
    dync__cuda_tile_entry(&s->t, "sort",
                          s->tiles > 1 ? s->lines * s->tiles : (s->lines + several - 1) / several,
                          1, 1, threads * several);
}

/* A thread's place: %line and %d, the first of its `each` items. */

/* ==== cuda/sort_merge.c ============================================================================ */
/* cuda/sort_merge.c: sorted blocks merged, values gathered, and the calls. Before: sort.c. */

static void dync__sk_place(dync__sk *s, int each)
{
    dync__ptx *x = &s->t.p;
    long long per_line = (long long)((s->length + each - 1) / each);
    static const char *const names[] = {"%line", "%d", "%at"};
    for (int i = 0; i < 3; i++) dync__cuda_tile_wide(&s->t, names[i], NULL);
    dync__ptx_reg(x, "pred", "%in");
    dync__ptx_line(x, "cvt.u64.u32 %%d, %%thr");
    dync__ptx_line(x, "mad.wide.u32 %%d, %%cta, 256, %%d");
    dync__ptx_line(x, "div.u64 %%line, %%d, %lld", per_line);
    dync__ptx_line(x, "rem.u64 %%d, %%d, %lld", per_line);
    dync__ptx_line(x, "mul.lo.s64 %%d, %%d, %d", each);
    dync__ptx_line(x, "setp.ge.u64 %%in, %%line, %lld", (long long)s->lines);
    dync__ptx_line(x, "@%%in ret");
    dync__cuda_tile_scratch(&s->t);
}
static int64_t dync__sk_blocks(const dync__sk *s, int each)
{
    return (s->lines * ((s->length + each - 1) / each) + 255) / 256;
}

/* Merges pairs of runs; the number of the launch gives their length and which half of the scratch
 * they are in. */
static void dync__sk_merge(dync__sk *s, int passes)
{
    dync__ptx *x = &s->t.p;
    static const char *const names[] = {"%pass",     "%half", "%run",  "%left", "%middle",
                                        "%right",    "%low",  "%high", "%i",    "%j",
                                        "%diagonal", "%from", "%to",   "%base"};
    static const char *const preds[] = {"%more", "%mine", "%is"};
    for (int i = 0; i < DYNC__COUNT_OF(names); i++) dync__cuda_tile_wide(&s->t, names[i], NULL);
    for (int i = 0; i < DYNC__COUNT_OF(preds); i++) dync__ptx_reg(x, "pred", preds[i]);
    dync__ptx_reg(x, "b32", "%shift");
    dync__sk_item(s, "%a");
    dync__sk_item(s, "%c");
    dync__sk_place(s, DYNC__SK_PIECE);
    dync__ptx_line(x, "ld.param.b64 %%pass, [p%d]", s->t.n_buffers + 1);
    dync__ptx_line(x, "cvt.u32.u64 %%shift, %%pass");
    dync__ptx_line(x, "mov.b64 %%run, %lld", (long long)s->tile);
    dync__ptx_line(x, "shl.b64 %%run, %%run, %%shift");
    dync__ptx_line(x, "and.b64 %%half, %%pass, 1");
    dync__ptx_line(x, "mov.b64 %%base, 0");
    dync__sk_scratch_at(s, "%half", "%base");
    dync__ptx_line(x, "mov.b64 %%from, %%at");
    dync__ptx_line(x, "xor.b64 %%half, %%half, 1");
    dync__sk_scratch_at(s, "%half", "%d");
    dync__ptx_line(x, "mov.b64 %%to, %%at");
    dync__ptx_line(x, "neg.s64 %%left, %%run");
    dync__ptx_line(x, "shl.b64 %%left, %%left, 1");
    dync__ptx_line(x, "and.b64 %%left, %%left, %%d"); /* runs are powers of two */
    dync__ptx_line(x, "add.s64 %%middle, %%left, %%run");
    dync__ptx_line(x, "add.s64 %%right, %%middle, %%run");
    dync__ptx_line(x, "min.s64 %%middle, %%middle, %lld", (long long)s->length);
    dync__ptx_line(x, "min.s64 %%right, %%right, %lld", (long long)s->length);
    dync__ptx_line(x, "sub.s64 %%diagonal, %%d, %%left");
    dync__ptx_line(x, "sub.s64 %%low, %%right, %%middle");
    dync__ptx_line(x, "sub.s64 %%low, %%diagonal, %%low");
    dync__ptx_line(x, "max.s64 %%low, %%low, 0");
    dync__ptx_line(x, "sub.s64 %%high, %%middle, %%left");
    dync__ptx_line(x, "min.s64 %%high, %%high, %%diagonal");
    dync__cuda_tile_note(&s->t, "items of the first run before the diagonal");
    dync__cuda_tile_label(&s->t, "BISECT");
    dync__ptx_line(x, "setp.ge.s64 %%more, %%low, %%high");
    dync__ptx_line(x, "@%%more bra FOUND");
    dync__ptx_line(x, "add.s64 %%i, %%low, %%high");
    dync__ptx_line(x, "shr.s64 %%i, %%i, 1");
    dync__ptx_line(x, "sub.s64 %%j, %%diagonal, %%i");
    dync__ptx_line(x, "add.s64 %%j, %%j, %%middle");
    dync__ptx_line(x, "sub.s64 %%j, %%j, 1");
    dync__ptx_line(x, "add.s64 %%base, %%left, %%i");
    dync__ptx_line(x, "mad.lo.s64 %%at, %%base, %d, %%from", 8 * s->words);
    dync__sk_move(s, "", false, "global", "%a", "%at");
    dync__ptx_line(x, "mad.lo.s64 %%at, %%j, %d, %%from", 8 * s->words);
    dync__sk_move(s, "", false, "global", "%c", "%at");
    dync__sk_before(s, "%is", "%a", "%c");
    dync__ptx_line(x, "@%%is add.s64 %%low, %%i, 1");
    dync__ptx_line(x, "not.pred %%is, %%is");
    dync__ptx_line(x, "@%%is mov.b64 %%high, %%i");
    dync__ptx_line(x, "bra BISECT");
    dync__cuda_tile_label(&s->t, "FOUND");
    dync__ptx_line(x, "add.s64 %%i, %%left, %%low");
    dync__ptx_line(x, "sub.s64 %%j, %%diagonal, %%low");
    dync__ptx_line(x, "add.s64 %%j, %%j, %%middle");
    for (int n = 0; n < DYNC__SK_PIECE; n++) {
        dync__ptx_line(x, "add.s64 %%base, %%d, %d", n);
        dync__ptx_line(x, "setp.ge.s64 %%more, %%base, %lld", (long long)s->length);
        dync__ptx_line(x, "@%%more bra DONE");
        dync__ptx_line(x, "setp.lt.s64 %%mine, %%i, %%middle");
        dync__ptx_line(x, "setp.lt.s64 %%is, %%j, %%right");
        dync__ptx_line(x, "mad.lo.s64 %%at, %%i, %d, %%from", 8 * s->words);
        dync__sk_move(s, "@%mine ", false, "global", "%a", "%at");
        dync__ptx_line(x, "mad.lo.s64 %%at, %%j, %d, %%from", 8 * s->words);
        dync__sk_move(s, "@%is ", false, "global", "%c", "%at");
        dync__sk_before(s, "%more", "%a", "%c");
        dync__ptx_line(x, "not.pred %%is, %%is");
        dync__ptx_line(x, "or.pred %%more, %%more, %%is");
        dync__ptx_line(x, "and.pred %%mine, %%mine, %%more");
        dync__ptx_line(x, "add.s64 %%at, %%to, %d", n * 8 * s->words);
        dync__sk_move(s, "@%mine ", true, "global", "%a", "%at");
        dync__ptx_line(x, "@%%mine add.s64 %%i, %%i, 1");
        dync__ptx_line(x, "not.pred %%mine, %%mine");
        dync__sk_move(s, "@%mine ", true, "global", "%c", "%at");
        dync__ptx_line(x, "@%%mine add.s64 %%j, %%j, 1");
    }
    dync__cuda_tile_label(&s->t, "DONE");
    s->t.steps = passes;
    dync__cuda_tile_entry(&s->t, "sort", dync__sk_blocks(s, DYNC__SK_PIECE), 1, 1, 256);
    s->t.steps = 0;
}

static void dync__sk_gather(dync__sk *s, int passes)
{
    char half[8];
    dync__sk_item(s, "%a");
    dync__sk_place(s, 1);
    dync__format(half, sizeof half, "%d", passes & 1);
    dync__cuda_tile_wide(&s->t, "%half", half);
    dync__sk_scratch_at(s, "%half", "%d");
    dync__sk_move(s, "", false, "global", "%a", "%at");
    dync__sk_line(s, "%x", s->x, 0);
    dync__sk_line(s, "%values", s->values, 1);
    dync__sk_line(s, "%index", s->index, 2);
    dync__sk_result(s, "%a", "%d", "%true");
    dync__cuda_tile_entry(&s->t, "sort", dync__sk_blocks(s, 1), 1, 1, 256);
}

DYNC__FN dync_status dync__cuda_add_sort(dync__cuda_code *code, const dync__operand *x,
                                         const dync__operand *values, const dync__operand *places,
                                         int dim, bool descending, const int32_t *buf)
{
    int compute = dync__dtype_info(x->dtype)->compute;
    dync__sk s = {.x = x,
                  .values = values,
                  .index = places,
                  .dim = dim,
                  .descending = descending,
                  .compute = compute,
                  .words = compute == DYNC_F64 || compute == DYNC_I64 ? 2 : 1,
                  .length = x->lay.shape[dim],
                  .lines = 1};
    for (int d = 0; d < x->lay.ndim; d++)
        if (d != dim) s.lines *= x->lay.shape[d];
    if (s.lines * s.length == 0) return DYNC_OK;
    int64_t most = DYNC__SK_TILE_BYTES / (8 * s.words);
    for (s.tile = 1; s.tile < s.length && s.tile < most;) s.tile *= 2;
    s.tiles = (s.length + s.tile - 1) / s.tile;
    if (s.length > INT32_MAX || s.lines * s.tiles > INT32_MAX || dync__sk_blocks(&s, 1) > INT32_MAX)
        return dync__fail(DYNC_ERR_UNSUPPORTED,
                          "sort on a GPU: %lld lines of %lld elements are too many",
                          (long long)s.lines, (long long)s.length);
    int passes = 0;
    while ((int64_t)1 << passes < s.tiles) passes++;
    dync__cuda_tile_begin(&s.t, 3);
    dync__sk_tiles(&s);
    if (passes) {
        s.t.out.scratch_bytes = 2 * s.lines * s.length * 8 * s.words;
        dync__cuda_tile_next(&s.t);
        dync__sk_merge(&s, passes);
        dync__cuda_tile_next(&s.t);
        dync__sk_gather(&s, passes);
    }
    return dync__cuda_tile_end(&s.t, code, buf) ? DYNC_OK : DYNC_ERR_MEMORY;
}

DYNC__FN dync_status dync__cuda_call_sort(dync__cuda_code *code, const dync__kcall *call,
                                          bool *done)
{
    static const int32_t buf[] = {0, 1, 2};
    *done = dync__kcall_is(call, DYNC__K_sort);
    if (!*done) return DYNC_OK;
    return dync__cuda_add_sort(code, &call->operand[0], &call->operand[1], &call->operand[2],
                               (int)call->attr.sort.dim, call->attr.sort.descending, buf);
}

/* ==== cuda/scatter.c =============================================================================== */
/* cuda/scatter.c: writes and additions to places given by an index. After sort.c, before calls.c.
 *
 *   writes     the last one in the order of the index wins: one launch leaves at every place the
 *              greatest number of those that write there (an atomic maximum), the next writes what
 *              has this number
 *   integers   atomic additions: their sum is the same in any order
 *   floats     the index is sorted, so that additions to one place are a run. A thread adds up a
 *              chunk of the sorted items: runs that begin in it go to their place, what goes on
 *              from the chunk before is left in the scratch, and a second launch adds that. The
 *              order of additions follows from the index and the sizes alone
 *   few        a thread owns the elements of a line whose place is p modulo P, and walks the line's
 *              whole index: one launch
 * Half floats add up in f32, narrow integers in i32. Numbers that are no place are skipped. Texts
 * are made for one set of sizes. */

DYNC__FN int64_t dync__cuda_numel(const dync__operand *o, int skip)
{
    int64_t n = 1;
    for (int d = 0; d < o->lay.ndim; d++)
        if (d != skip) n *= o->lay.shape[d];
    return n;
}

DYNC__FN long long dync__sca_step(const dync__sca *s, const dync__operand *o)
{
    return (long long)(o->lay.stride[s->shared && o == s->index ? 0 : s->dim] *
                       dync__dtype_info(o->dtype)->bytes);
}
DYNC__FN bool dync__sca_is_float(const dync__sca *s)
{
    return s->compute == DYNC_F32 || s->compute == DYNC_F64;
}

DYNC__FN void dync__sca_thread(dync__sca *s, int64_t n)
{
    dync__ptx *p = &s->t.p;
    static const char *const b64[] = {"%n", "%line", "%pi", "%pf", "%pt", "%i", "%place", "%at"},
                             *const preds[] = {"%out", "%ok", "%more"};
    for (int i = 0; i < DYNC__COUNT_OF(b64); i++) dync__ptx_reg(p, "b64", b64[i]);
    for (int i = 0; i < DYNC__COUNT_OF(preds); i++) dync__ptx_reg(p, "pred", preds[i]);
    dync__ptx_line(p, "cvt.u64.u32 %%i, %%thr");
    dync__ptx_line(p, "mad.wide.u32 %%n, %%cta, %d, %%i", DYNC__SCA_BLOCK);
    dync__ptx_line(p, "setp.ge.s64 %%out, %%n, %lld", (long long)n);
    dync__ptx_line(p, "@%%out ret");
}
DYNC__FN void dync__sca_entry(dync__sca *s, const char *name, int64_t threads)
{
    dync__cuda_tile_entry(&s->t, name, (threads + DYNC__SCA_BLOCK - 1) / DYNC__SCA_BLOCK, 1, 1,
                          DYNC__SCA_BLOCK);
}

DYNC__FN void dync__sca_lines(dync__sca *s, int from)
{
    dync__ptx *p = &s->t.p;
    dync__ptx_line(p, "mov.b64 %%pf, %%b%d", from);
    dync__ptx_line(p, "mov.b64 %%pt, %%b%d", from + 1);
    dync__cuda_tile_address(&s->t, "%pf", s->from, s->walked, s->dim, "%line");
    dync__cuda_tile_address(&s->t, "%pt", s->to, s->walked, s->dim, "%line");
}
static void dync__sca_index(dync__sca *s)
{
    dync__ptx *p = &s->t.p;
    dync__ptx_line(p, "mov.b64 %%pi, %%b0");
    if (s->shared)
        dync__ptx_line(p, "add.s64 %%pi, %%pi, %lld", (long long)(s->index->lay.offset * 8));
    else
        dync__cuda_tile_address(&s->t, "%pi", s->index, s->walked, s->dim, "%line");
}

DYNC__FN void dync__sca_scale(dync__sca *s, const char *v)
{
    dync__scalar scale;
    scale.i = (int64_t)s->scale;
    if (!(s->scale < 1 || s->scale > 1)) return;
    if (s->compute == DYNC_F32)
        scale.f = (float)s->scale;
    else if (s->compute == DYNC_F64)
        scale.d = s->scale;
    dync__ptx_line(&s->t.p, "mul%s.%s %s, %s, %s", dync__sca_is_float(s) ? ".rn" : ".lo", s->type,
                   v, v, dync__ptx_constant(&s->t.p, s->compute, scale));
}

/* ---- few ------------------------------------------------------------------------------------- */

DYNC__FN bool dync__sca_few(dync__cuda_code *code, dync__sca *s, const char *name, int64_t units)
{
    dync__ptx *p = &s->t.p;
    int64_t parts = 1;
    while (parts < s->size && s->lines * parts < units * 1024 && parts < 4096) parts *= 2;
    dync__cuda_tile_begin(&s->t, 3);
    dync__sca_thread(s, s->lines * parts);
    dync__cuda_tile_wide(&s->t, "%part", NULL);
    dync__ptx_reg(p, "pred", "%mine");
    dync__ptx_reg(p, s->type, "%v");
    dync__ptx_reg(p, s->type, "%old");
    dync__ptx_line(p, "rem.u64 %%line, %%n, %lld", (long long)s->lines);
    dync__ptx_line(p, "div.u64 %%part, %%n, %lld", (long long)s->lines);
    dync__sca_index(s);
    dync__sca_lines(s, 1);
    dync__ptx_line(p, "mov.b64 %%i, 0");
    dync__cuda_tile_label(&s->t, "NEXT");
    dync__ptx_line(p, "ld.global.b64 %%place, [%%pi]");
    dync__ptx_line(p, "and.b64 %%at, %%place, %lld", (long long)(parts - 1));
    dync__ptx_line(p, "setp.eq.s64 %%mine, %%at, %%part");
    /* unsigned: not below 0 either */
    dync__ptx_line(p, "setp.lt.and.u64 %%ok, %%place, %lld, %%mine", (long long)s->size);
    dync__ptx_line(p, "not.pred %%mine, %%ok");
    dync__ptx_line(p, "@%%mine bra SKIP");
    dync__cuda_tile_load(&s->t, s->from->dtype, "%v", "%pf", "");
    dync__ptx_line(p, "mad.lo.s64 %%at, %%place, %lld, %%pt", dync__sca_step(s, s->to));
    if (s->add) {
        dync__sca_scale(s, "%v");
        dync__cuda_tile_load(&s->t, s->to->dtype, "%old", "%at", "");
        dync__ptx_line(p, "add%s.%s %%v, %%old, %%v", dync__sca_is_float(s) ? ".rn" : "", s->type);
    }
    dync__cuda_tile_store(&s->t, s->to->dtype, "%at", "%v", "");
    dync__cuda_tile_label(&s->t, "SKIP");
    dync__ptx_line(p, "add.s64 %%i, %%i, 1");
    dync__ptx_line(p, "add.s64 %%pi, %%pi, %lld", dync__sca_step(s, s->index));
    dync__ptx_line(p, "add.s64 %%pf, %%pf, %lld", dync__sca_step(s, s->from));
    dync__ptx_line(p, "setp.lt.s64 %%more, %%i, %lld", (long long)s->count);
    dync__ptx_line(p, "@%%more bra NEXT");
    dync__sca_entry(s, name, s->lines * parts);
    return dync__cuda_tile_end(&s->t, code, s->buf);
}

/* ---- atomics: a thread an item --------------------------------------------------------------- */

/* %pf: the thread's element; %pt: its place; %at: the word of the place in the scratch, where asked
 * for. Threads without a place leave. */
static void dync__sca_item(dync__sca *s, bool words)
{
    dync__ptx *p = &s->t.p;
    /* neighbours in memory for neighbouring threads */
    bool along = s->from->lay.stride[s->dim] == 1;
    dync__sca_thread(s, s->lines * s->count);
    dync__ptx_line(p, "%s.u64 %%i, %%n, %lld", along ? "rem" : "div",
                   (long long)(along ? s->count : s->lines));
    dync__ptx_line(p, "%s.u64 %%line, %%n, %lld", along ? "div" : "rem",
                   (long long)(along ? s->count : s->lines));
    dync__sca_index(s);
    dync__ptx_line(p, "mad.lo.s64 %%pi, %%i, %lld, %%pi", dync__sca_step(s, s->index));
    dync__ptx_line(p, "ld.global.b64 %%place, [%%pi]");
    dync__ptx_line(p, "setp.ge.u64 %%out, %%place, %lld", (long long)s->size);
    dync__ptx_line(p, "@%%out ret");
    dync__sca_lines(s, 1);
    dync__ptx_line(p, "mad.lo.s64 %%pf, %%i, %lld, %%pf", dync__sca_step(s, s->from));
    dync__ptx_line(p, "mad.lo.s64 %%pt, %%place, %lld, %%pt", dync__sca_step(s, s->to));
    dync__ptx_reg(p, s->type, "%v");
    if (!words) return;
    dync__cuda_tile_scratch(&s->t);
    dync__ptx_line(p, "mad.lo.s64 %%at, %%line, %lld, %%place", (long long)s->size);
    dync__ptx_line(p, "mad.lo.s64 %%at, %%at, 4, %%scratch");
    dync__ptx_reg(p, "u32", "%number");
    dync__ptx_line(p, "cvt.u32.u64 %%number, %%i");
    dync__ptx_line(p, "add.u32 %%number, %%number, 1");
}

DYNC__FN bool dync__sca_last_write(dync__cuda_code *code, dync__sca *s, const char *name)
{
    dync__ptx *p = &s->t.p;
    dync__cuda_tile_begin(&s->t, 3);
    s->t.out.scratch_bytes = s->lines * s->size * 4;
    dync__sca_thread(s, s->lines * s->size);
    dync__cuda_tile_scratch(&s->t);
    dync__ptx_line(p, "mad.lo.s64 %%at, %%n, 4, %%scratch");
    dync__ptx_line(p, "st.global.u32 [%%at], 0");
    dync__sca_entry(s, name, s->lines * s->size);
    dync__cuda_tile_next(&s->t);
    dync__sca_item(s, true);
    dync__ptx_line(p, "red.global.max.u32 [%%at], %%number");
    dync__sca_entry(s, name, s->lines * s->count);
    dync__cuda_tile_next(&s->t);
    dync__sca_item(s, true);
    dync__ptx_reg(p, "u32", "%last");
    dync__ptx_line(p, "ld.global.u32 %%last, [%%at]");
    dync__ptx_line(p, "setp.ne.u32 %%out, %%last, %%number");
    dync__ptx_line(p, "@%%out ret");
    dync__cuda_tile_load(&s->t, s->from->dtype, "%v", "%pf", "");
    dync__cuda_tile_store(&s->t, s->to->dtype, "%pt", "%v", "");
    dync__sca_entry(s, name, s->lines * s->count);
    return dync__cuda_tile_end(&s->t, code, s->buf);
}

DYNC__FN bool dync__sca_integers(dync__cuda_code *code, dync__sca *s, const char *name)
{
    dync__cuda_tile_begin(&s->t, 3);
    dync__sca_item(s, false);
    dync__cuda_tile_load(&s->t, s->from->dtype, "%v", "%pf", "");
    dync__sca_scale(s, "%v");
    dync__ptx_line(&s->t.p, "red.global.add.%s [%%pt], %%v",
                   s->to->dtype == DYNC_I64 ? "u64" : "u32");
    dync__sca_entry(s, name, s->lines * s->count);
    return dync__cuda_tile_end(&s->t, code, s->buf);
}

/* ==== cuda/scatter_runs.c ========================================================================== */
/* cuda/scatter_runs.c: sums of floats in order: runs of the sorted index, and the calls that
 * scatter on a GPU. After scatter.c, before calls.c. */

/* ---- floats: runs of the sorted index -------------------------------------------------------- */

/* The numbers as sort.c takes them: i32, `size` for those that are no place; dense, the dim
 * innermost. */
static bool dync__sca_keys(dync__cuda_code *code, const dync__sca *s, const dync__operand *key,
                           int32_t to)
{
    dync__kernel *k = dync__kernel_new(&code->arena, "places", 0, key->lay.ndim, key->lay.shape);
    dync__lb b = {.k = k, .section = 1, .origin = "scatter"};
    if (!k) return false;
    int v = dync__lb_load(&b, dync__kernel_buf(k, s->buf[0], DYNC_I64, DYNC__BUF_IN, -1, NULL),
                          dync__kernel_access(k, s->index->lay.offset, s->index->lay.stride));
    int size = dync__lb_i(&b, DYNC_I64, s->size),
        low = dync__lb_op(&b, DYNC__P_le, dync__lb_i(&b, DYNC_I64, 0), v, -1);
    v = dync__lb_op(
        &b, DYNC__P_select,
        dync__lb_op(&b, DYNC__P_and_, low, dync__lb_op(&b, DYNC__P_lt, v, size, -1), -1), v, size);
    dync__lb_store(&b, dync__kernel_buf(k, to, DYNC_I32, DYNC__BUF_OUT, -1, NULL),
                   dync__kernel_access(k, 0, key->lay.stride), dync__lb_cast(&b, v, DYNC_I32));
    return dync__cuda_add_loop(code, k);
}

/* Of a thread: %line, %c its chunk, %pk the chunk's first key, %pp its place before sorting, %pf,
 * %pt, %carry what the chunk leaves. */
static void dync__sca_chunk(dync__sca *s, int64_t chunk, int64_t threads)
{
    dync__ptx *p = &s->t.p;
    int bytes = dync__dtype_info(s->compute)->bytes;
    static const char *const b64[] = {"%c", "%pk", "%pp", "%carry"},
                             *const u32[] = {"%key", "%other"},
                             *const preds[] = {"%cont", "%own", "%put", "%is"};
    dync__sca_thread(s, threads);
    for (int i = 0; i < DYNC__COUNT_OF(b64); i++) dync__ptx_reg(p, "b64", b64[i]);
    for (int i = 0; i < DYNC__COUNT_OF(u32); i++) dync__ptx_reg(p, "u32", u32[i]);
    for (int i = 0; i < DYNC__COUNT_OF(preds); i++) dync__ptx_reg(p, "pred", preds[i]);
    dync__ptx_reg(p, s->type, "%acc");
    dync__ptx_reg(p, s->type, "%old");
    dync__cuda_tile_scratch(&s->t);
    dync__ptx_line(p, "rem.u64 %%line, %%n, %lld", (long long)s->lines);
    dync__ptx_line(p, "div.u64 %%c, %%n, %lld", (long long)s->lines);
    dync__ptx_line(p, "mad.lo.s64 %%carry, %%n, %d, %%scratch", bytes);
    dync__ptx_line(p, "mul.lo.s64 %%i, %%c, %lld", (long long)chunk);
    if (!s->shared) dync__ptx_line(p, "mad.lo.s64 %%i, %%line, %lld, %%i", (long long)s->count);
    dync__ptx_line(p, "mad.lo.s64 %%pk, %%i, 4, %%b0");
    dync__ptx_line(p, "mad.lo.s64 %%pp, %%i, 8, %%b1");
    dync__sca_lines(s, 2);
    dync__ptx_line(p, "mov.b%d %%acc, 0", bytes * 8);
    /* does the first run go on from the chunk before? */
    dync__ptx_line(p, "setp.gt.s64 %%cont, %%c, 0");
    dync__ptx_line(p, "ld.global.u32 %%key, [%%pk]");
    dync__ptx_line(p, "mov.b32 %%other, 0");
    dync__ptx_line(p, "@%%cont ld.global.u32 %%other, [%%pk+-4]");
    dync__ptx_line(p, "setp.eq.and.u32 %%cont, %%key, %%other, %%cont");
    dync__ptx_line(p, "not.pred %%own, %%cont");
}

/* The place of %key += %acc where %own holds and it is one. */
static void dync__sca_put(dync__sca *s)
{
    dync__ptx *p = &s->t.p;
    dync__ptx_line(p, "setp.lt.and.u32 %%put, %%key, %lld, %%own", (long long)s->size);
    dync__ptx_line(p, "cvt.u64.u32 %%place, %%key");
    dync__ptx_line(p, "mad.lo.s64 %%at, %%place, %lld, %%pt", dync__sca_step(s, s->to));
    dync__cuda_tile_load(&s->t, s->to->dtype, "%old", "%at", "@%put ");
    dync__ptx_line(p, "add.rn.%s %%old, %%old, %%acc", s->type);
    dync__cuda_tile_store(&s->t, s->to->dtype, "%at", "%old", "@%put ");
}

static void dync__sca_runs(dync__sca *s, int64_t chunk, int64_t chunks, const char *name)
{
    dync__cuda_tile *t = &s->t;
    dync__ptx *p = &t->p;
    char v[16], guard[16];
    int ahead = DYNC__SCA_AHEAD;
    dync__sca_chunk(s, chunk, s->lines * chunks);
    dync__cuda_tile_regs(t, "u32", "%k", ahead);
    dync__cuda_tile_regs(t, "b64", "%w", ahead);
    dync__cuda_tile_regs(t, "pred", "%in", ahead);
    dync__cuda_tile_regs(t, s->type, "%v", ahead);
    dync__cuda_tile_wide(t, "%left", NULL);
    dync__ptx_line(p, "mul.lo.s64 %%left, %%c, %lld", (long long)-chunk);
    dync__ptx_line(p, "add.s64 %%left, %%left, %lld", (long long)s->count);
    dync__ptx_line(p, "min.s64 %%left, %%left, %lld", (long long)chunk);
    dync__cuda_tile_label(t, "NEXT");
    for (int u = 0; u < ahead; u++) {
        dync__ptx_line(p, "setp.gt.s64 %%in%d, %%left, %d", u, u);
        dync__ptx_line(p, "mov.b32 %%k%d, 0", u);
        dync__ptx_line(p, "mov.b64 %%w%d, 0", u);
        dync__ptx_line(p, "@%%in%d ld.global.u32 %%k%d, [%%pk+%d]", u, u, 4 * u);
        dync__ptx_line(p, "@%%in%d ld.global.b64 %%w%d, [%%pp+%d]", u, u, 8 * u);
    }
    for (int u = 0; u < ahead; u++) {
        dync__format(v, sizeof v, "%%v%d", u);
        dync__format(guard, sizeof guard, "@%%in%d ", u);
        dync__ptx_line(p, "mad.lo.s64 %%at, %%w%d, %lld, %%pf", u, dync__sca_step(s, s->from));
        dync__cuda_tile_load(t, s->from->dtype, v, "%at", guard);
    }
    for (int u = 0; u < ahead; u++) {
        dync__format(v, sizeof v, "%%v%d", u);
        dync__ptx_line(p, "not.pred %%is, %%in%d", u);
        dync__ptx_line(p, "@%%is bra END");
        dync__ptx_line(p, "setp.eq.u32 %%is, %%k%d, %%key", u);
        dync__ptx_line(p, "@%%is bra SAME%d", u);
        dync__ptx_line(p, "@%%cont st.global.%s [%%carry], %%acc", s->type);
        dync__sca_put(s);
        dync__ptx_line(p, "mov.b32 %%key, %%k%d", u);
        dync__ptx_line(p, "mov.b%d %%acc, 0", dync__dtype_info(s->compute)->bytes * 8);
        dync__ptx_line(p, "setp.ne.u32 %%cont, 0, 0");
        dync__ptx_line(p, "not.pred %%own, %%cont");
        dync__cuda_tile_label(t, "SAME%d", u);
        dync__sca_scale(s, v);
        dync__ptx_line(p, "add.rn.%s %%acc, %%acc, %s", s->type, v);
    }
    dync__ptx_line(p, "add.s64 %%pk, %%pk, %d", 4 * ahead);
    dync__ptx_line(p, "add.s64 %%pp, %%pp, %d", 8 * ahead);
    dync__ptx_line(p, "sub.s64 %%left, %%left, %d", ahead);
    dync__ptx_line(p, "bra NEXT");
    dync__cuda_tile_label(t, "END");
    dync__ptx_line(p, "@%%cont st.global.%s [%%carry], %%acc", s->type);
    dync__sca_put(s);
    dync__sca_entry(s, name, s->lines * chunks);
}

/* What chunks left, by the thread of the chunk in which the run begins. */
static void dync__sca_carries(dync__sca *s, int64_t chunk, int64_t chunks, const char *name)
{
    dync__ptx *p = &s->t.p;
    dync__sca_chunk(s, chunk, s->lines * (chunks - 1));
    dync__ptx_reg(p, "u32", "%first");
    dync__ptx_line(p, "mov.b32 %%first, %%key");
    dync__ptx_line(p, "ld.global.u32 %%key, [%%pk+%lld]", (long long)(4 * (chunk - 1)));
    /* the whole chunk goes on */
    dync__ptx_line(p, "setp.eq.and.u32 %%out, %%first, %%key, %%cont");
    dync__ptx_line(p, "@%%out ret");
    dync__ptx_line(p, "setp.eq.u32 %%own, 0, 0");
    dync__ptx_line(p, "mov.b64 %%i, %%c");
    dync__cuda_tile_label(&s->t, "NEXT");
    dync__ptx_line(p, "add.s64 %%pk, %%pk, %lld", (long long)(4 * chunk));
    dync__ptx_line(p, "ld.global.u32 %%other, [%%pk]");
    dync__ptx_line(p, "setp.ne.u32 %%is, %%other, %%key");
    dync__ptx_line(p, "@%%is bra END");
    dync__ptx_line(p, "add.s64 %%carry, %%carry, %lld",
                   (long long)(s->lines * dync__dtype_info(s->compute)->bytes));
    dync__ptx_line(p, "ld.global.%s %%old, [%%carry]", s->type);
    dync__ptx_line(p, "add.rn.%s %%acc, %%acc, %%old", s->type);
    dync__ptx_line(p, "add.s64 %%i, %%i, 1");
    dync__ptx_line(p, "setp.lt.s64 %%more, %%i, %lld", (long long)(chunks - 1));
    dync__ptx_line(p, "@%%more bra NEXT");
    dync__cuda_tile_label(&s->t, "END");
    dync__ptx_line(p, "setp.gt.and.s64 %%own, %%i, %%c, %%own");
    dync__sca_put(s);
    dync__sca_entry(s, name, s->lines * (chunks - 1));
}

static bool dync__sca_floats(dync__cuda_code *code, dync__sca *s, const char *name)
{
    dync__operand key = *s->index, sorted, place;
    int dim = s->shared ? 0 : s->dim;
    int64_t step = s->count, items = (s->shared ? 1 : s->lines) * s->count, chunk = DYNC__SCA_CHUNK;
    key.dtype = DYNC_I32;
    key.lay.offset = 0;
    for (int d = key.lay.ndim - 1; d >= 0; d--) {
        key.lay.stride[d] = d == dim ? 1 : step;
        if (d != dim) step *= key.lay.shape[d];
    }
    sorted = place = key;
    place.dtype = DYNC_I64;
    int32_t buf[3] = {dync__cuda_add_temp(code, items * 4), dync__cuda_add_temp(code, items * 4),
                      dync__cuda_add_temp(code, items * 8)};
    if (buf[0] < 0 || buf[1] < 0 || buf[2] < 0 || !dync__sca_keys(code, s, &key, buf[0]))
        return false;
    if (dync__cuda_add_sort(code, &key, &sorted, &place, dim, false, buf) != DYNC_OK) return false;
    /* as long as the carries of one run are worth waiting for */
    while (16 * chunk * chunk < s->count) chunk *= 2;
    int64_t chunks = (s->count + chunk - 1) / chunk;
    int32_t used[4] = {buf[1], buf[2], s->buf[1], s->buf[2]};
    dync__cuda_tile_begin(&s->t, 4);
    s->t.out.scratch_bytes = s->lines * chunks * dync__dtype_info(s->compute)->bytes;
    dync__sca_runs(s, chunk, chunks, name);
    if (chunks > 1) {
        dync__cuda_tile_next(&s->t);
        dync__sca_carries(s, chunk, chunks, name);
    }
    return dync__cuda_tile_end(&s->t, code, used);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static bool dync__sca_new(dync__cuda_code *code, dync__sca *s, const char *name)
{
    int64_t units = dync__cuda_unit_of(code->device >> 8)->units,
            few = s->add ? DYNC__SCA_FEW : DYNC__SCA_FEW_SET;
    s->compute = dync__dtype_info(s->to->dtype)->compute;
    s->type = dync__ptx_type(s->compute);
    s->size = s->to->lay.shape[s->dim];
    s->lines = 1;
    for (int d = 0; d < s->to->lay.ndim; d++)
        if (d != s->dim) s->lines *= s->walked[d];
    if (s->lines * s->count == 0) return true;
    /* whose walks together fill the device */
    if (s->lines >= 1024 && s->add) few *= 8;
    bool atomic = s->add && (s->to->dtype == DYNC_I32 || s->to->dtype == DYNC_I64),
         real = dync__sca_is_float(s);
    if (atomic) return dync__sca_integers(code, s, name);
    if (s->count > few && !s->add && s->count < INT32_MAX)
        return dync__sca_last_write(code, s, name);
    if (s->count > few && real && s->size < INT32_MAX && s->lines * s->count < INT32_MAX)
        return dync__sca_floats(code, s, name);
    return dync__sca_few(code, s, name, units);
}

/* to = from, element by element; NULL from: zeros. */
static bool dync__sca_copy(dync__cuda_code *code, const dync__operand *from, int32_t from_buf,
                           const dync__operand *to, int32_t to_buf)
{
    dync__kernel *k =
        dync__kernel_new(&code->arena, from ? "copy" : "zero", 0, to->lay.ndim, to->lay.shape);
    dync__lb b = {.k = k, .section = 1, .origin = "scatter"};
    int type = dync__dtype_info(to->dtype)->compute;
    if (!k) return false;
    int v;
    if (from) {
        int32_t buf = dync__kernel_buf(k, from_buf, from->dtype, DYNC__BUF_IN, -1, NULL);
        v = dync__lb_load(&b, buf, dync__kernel_access(k, from->lay.offset, from->lay.stride));
    } else if (type == DYNC_F32 || type == DYNC_F64) {
        v = dync__lb_f(&b, type, 0);
    } else {
        v = dync__lb_i(&b, type, 0);
    }
    dync__lb_store(&b, dync__kernel_buf(k, to_buf, to->dtype, DYNC__BUF_OUT, -1, NULL),
                   dync__kernel_access(k, to->lay.offset, to->lay.stride),
                   dync__lb_wrap(&b, dync__lb_cast(&b, v, type), to->dtype));
    return dync__cuda_add_loop(code, k);
}

/* base, index, source, out: half floats by way of f32 where they are added up, narrow integers of
 * i32. */
static dync_status dync__sca_call(dync__cuda_code *code, const dync__kcall *call, bool add,
                                  bool slices)
{
    const dync__operand *base = &call->operand[0], *index = &call->operand[1],
                        *source = &call->operand[2], *out = &call->operand[3];
    dync__operand wide = *out;
    int32_t to = 3;
    int dim = (int)call->attr.scatter.dim, compute = dync__dtype_info(out->dtype)->compute;
    bool widen = add && compute != out->dtype && compute != DYNC_BOOL;
    if (dync__cuda_numel(out, -1) == 0) return DYNC_OK;
    if (widen) {
        wide.dtype = (uint8_t)compute;
        DYNC__TRY(dync__layout_contiguous(&wide.lay, out->lay.ndim, out->lay.shape));
        to = dync__cuda_add_temp(code, dync__cuda_numel(out, -1) * 4);
        if (to < 0) return DYNC_ERR_MEMORY;
    }
    bool in_place =
        base->slot == out->slot && base->lay.offset == out->lay.offset && !widen &&
        memcmp(base->lay.stride, out->lay.stride, (size_t)out->lay.ndim * sizeof(int64_t)) == 0;
    if (!in_place && !dync__sca_copy(code, base, 0, &wide, to)) return DYNC_ERR_MEMORY;
    dync__sca s = {.index = index,
                   .from = source,
                   .to = &wide,
                   .buf = {1, 2, to},
                   .dim = dim,
                   .add = add,
                   .shared = slices,
                   .walked = slices ? source->lay.shape : index->lay.shape,
                   .count = slices ? index->lay.shape[0] : index->lay.shape[dim],
                   .scale = slices ? call->attr.scatter.alpha : 1.0};
    if (!dync__sca_new(code, &s, call->row->name)) return DYNC_ERR_MEMORY;
    return widen && !dync__sca_copy(code, &wide, to, out, 3) ? DYNC_ERR_MEMORY : DYNC_OK;
}

/* gy, index, gx: planes are lines, H * W places each. */
static dync_status dync__sca_max_pool_grad(dync__cuda_code *code, const dync__kcall *call)
{
    const dync__operand *gy = &call->operand[0], *index = &call->operand[1],
                        *gx = &call->operand[2];
    int rank = gx->lay.ndim;
    int64_t area = gx->lay.shape[rank - 2] * gx->lay.shape[rank - 1],
            windows = gy->lay.shape[rank - 2] * gy->lay.shape[rank - 1];
    dync__operand dense[3] = {*gy, *index, *gx};
    int32_t buf[3];
    if (dync__cuda_numel(gx, -1) == 0) return DYNC_OK;
    dense[2].dtype = dync__dtype_info(gx->dtype)->compute;
    /* row major, so that a plane is one line */
    for (int i = 0; i < 3; i++) {
        const dync__operand *o = &call->operand[i];
        DYNC__TRY(dync__layout_contiguous(&dense[i].lay, rank, o->lay.shape));
        if ((buf[i] = dync__cuda_add_temp(code, DYNC__MAX(dync__cuda_numel(o, -1), 1) * 8)) < 0)
            return DYNC_ERR_MEMORY;
        if (!dync__sca_copy(code, i < 2 ? o : NULL, i, &dense[i], buf[i])) return DYNC_ERR_MEMORY;
    }
    dync__operand line[3];
    for (int i = 0; i < 3; i++) {
        int64_t shape[2] = {dync__cuda_numel(gx, -1) / area, i < 2 ? windows : area};
        line[i] = dense[i];
        DYNC__TRY(dync__layout_contiguous(&line[i].lay, 2, shape));
    }
    dync__sca s = {.index = &line[1],
                   .from = &line[0],
                   .to = &line[2],
                   .buf = {buf[1], buf[0], buf[2]},
                   .dim = 1,
                   .add = true,
                   .walked = line[1].lay.shape,
                   .count = windows,
                   .scale = 1.0};
    if (!dync__sca_new(code, &s, call->row->name)) return DYNC_ERR_MEMORY;
    return dync__sca_copy(code, &dense[2], buf[2], gx, 2) ? DYNC_OK : DYNC_ERR_MEMORY;
}

DYNC__FN dync_status dync__cuda_call_scatter(dync__cuda_code *code, const dync__kcall *call,
                                             bool *done)
{
    *done = true;
    if (dync__kcall_is(call, DYNC__K_scatter)) return dync__sca_call(code, call, false, false);
    if (dync__kcall_is(call, DYNC__K_scatter_add)) return dync__sca_call(code, call, true, false);
    if (dync__kcall_is(call, DYNC__K_index_add)) return dync__sca_call(code, call, true, true);
    if (dync__kcall_is(call, DYNC__K_max_pool2d_grad)) return dync__sca_max_pool_grad(code, call);
    *done = false;
    return DYNC_OK;
}

/* ==== cuda/calls.c ================================================================================= */
/* cuda/calls.c: running sums as PTX written out. After scatter.c, before launch.c.
 *
 * A block a line, four elements a thread: warps scan by shuffles, their totals meet in shared
 * memory, the rest of the line goes on from the carry. Few long lines are cut into chunks, a block
 * each, after a launch that adds up every chunk. Texts are made for one set of sizes. Sources:
 * Blelloch 1990 (scans). */

/* ---- cumsum: x, y ----------------------------------------------------------------- */

enum {
    DYNC__SCAN_BLOCK = 256,
    DYNC__SCAN_OWN = 4,
    DYNC__SCAN_TILE = DYNC__SCAN_BLOCK * DYNC__SCAN_OWN,
    DYNC__SCAN_MOST = 1024
};
typedef struct dync__scan {
    dync__cuda_tile t;
    const dync__operand *x, *y;
    int dim, compute;
    const char *type, *add; /* sums: f64, or s64 */
    int64_t lines, length, chunk, chunks;
} dync__scan;

/* other = acc of the thread `distance` below or across; %there tells whether there is one below */
static void dync__scan_shuffle(dync__scan *s, const char *other, const char *acc, const char *way,
                               int distance)
{
    dync__ptx *p = &s->t.p;
    const char *low = dync__ptx_temp(p, "b32"), *high = dync__ptx_temp(p, "b32"),
               *low2 = dync__ptx_temp(p, "b32"), *high2 = dync__ptx_temp(p, "b32");
    int clamp = way[0] == 'u' ? 0 : 31;
    dync__ptx_line(p, "mov.b64 {%s, %s}, %s", low, high, acc);
    dync__ptx_line(p, "shfl.sync.%s.b32 %s|%%there, %s, %d, %d, 0xffffffff", way, low2, low,
                   distance, clamp);
    dync__ptx_line(p, "shfl.sync.%s.b32 %s|%%there, %s, %d, %d, 0xffffffff", way, high2, high,
                   distance, clamp);
    dync__ptx_line(p, "mov.b64 %s, {%s, %s}", other, low2, high2);
}

/* Every thread's %sum added up, in every thread; `at`: where in shared memory. */
static void dync__scan_block_sum(dync__scan *s, int at)
{
    dync__ptx *p = &s->t.p;
    for (int distance = 16; distance > 0; distance /= 2) {
        dync__scan_shuffle(s, "%other", "%sum", "bfly", distance);
        dync__ptx_line(p, "%s %%sum, %%sum, %%other", s->add);
    }
    dync__ptx_line(p, "@%%last st.shared.b64 [%%slot+%d], %%sum", at);
    dync__cuda_tile_barrier(&s->t);
    dync__ptx_line(p, "mov.b64 %%sum, 0");
    for (int w = 0; w < DYNC__SCAN_BLOCK / 32; w++) {
        dync__ptx_line(p, "ld.shared.b64 %%other, [%%smem+%d]", at + 8 * w);
        dync__ptx_line(p, "%s %%sum, %%sum, %%other", s->add);
    }
}

/* Registers; the line's addresses; where the block's part of the line begins and ends. */
static void dync__scan_open(dync__scan *s)
{
    dync__cuda_tile *t = &s->t;
    dync__ptx *p = &t->p;
    static const char *const b64[] = {"%line", "%chunk", "%pos",  "%from", "%stop", "%px",
                                      "%py",   "%here",  "%part", "%x",    "%y"},
                             *const preds[] = {"%last", "%more", "%mine", "%there"};
    static const char *const sums[] = {"%sum", "%other", "%before", "%carry"};
    for (int i = 0; i < DYNC__COUNT_OF(b64); i++) dync__ptx_reg(p, "b64", b64[i]);
    for (int i = 0; i < DYNC__COUNT_OF(preds); i++) dync__ptx_reg(p, "pred", preds[i]);
    for (int i = 0; i < DYNC__COUNT_OF(sums); i++) dync__ptx_reg(p, s->type, sums[i]);
    dync__cuda_tile_regs(t, s->type, "%acc", DYNC__SCAN_OWN);
    dync__cuda_tile_regs(t, dync__ptx_type(s->compute), "%v", DYNC__SCAN_OWN);
    dync__cuda_tile_regs(t, "pred", "%in", DYNC__SCAN_OWN);
    dync__ptx_reg(p, "b32", "%slot");
    dync__cuda_tile_special(t, "%ctay", "%ctaid.y");
    if (s->chunks > 1) dync__cuda_tile_scratch(t);
    (void)dync__cuda_tile_shared(t, 2 * 8 * (DYNC__SCAN_BLOCK / 32), 8);
    dync__ptx_line(p, "cvt.u64.u32 %%line, %%cta");
    dync__ptx_line(p, "cvt.u64.u32 %%chunk, %%ctay");
    dync__ptx_line(p, "mov.b64 %%x, %%b0");
    dync__ptx_line(p, "mov.b64 %%y, %%b1");
    dync__cuda_tile_address(t, "%x", s->x, s->x->lay.shape, s->dim, "%line");
    dync__cuda_tile_address(t, "%y", s->y, s->y->lay.shape, s->dim, "%line");
    dync__ptx_line(p, "mul.lo.s64 %%pos, %%chunk, %lld", (long long)s->chunk);
    dync__ptx_line(p, "add.s64 %%stop, %%pos, %lld", (long long)s->chunk);
    dync__ptx_line(p, "min.s64 %%stop, %%stop, %lld", (long long)s->length);
    /* of the tile, the same in every thread */
    dync__ptx_line(p, "mov.b64 %%from, %%pos");
    dync__ptx_line(p, "cvt.u64.u32 %%here, %%thr");
    dync__ptx_line(p, "mad.lo.s64 %%pos, %%here, %d, %%pos", DYNC__SCAN_OWN);
    dync__ptx_line(p, "mad.lo.u32 %%slot, %%warp, 8, %%smem");
    dync__ptx_line(p, "setp.eq.u32 %%last, %%lane, 31");
    dync__ptx_line(p, "mov.b64 %%carry, 0");
    dync__ptx_line(p, "mov.b64 %%sum, 0");
}

/* %acc0 ..: the thread's elements of the tile, zeros past the end. */
static void dync__scan_load(dync__scan *s)
{
    dync__ptx *p = &s->t.p;
    char v[24], in[24];
    int64_t step = s->x->lay.stride[s->dim] * dync__dtype_info(s->x->dtype)->bytes;
    dync__ptx_line(p, "mad.lo.s64 %%px, %%pos, %lld, %%x", (long long)step);
    for (int k = 0; k < DYNC__SCAN_OWN; k++) {
        dync__format(v, sizeof v, "%%v%d", k);
        dync__format(in, sizeof in, "@%%in%d ", k);
        dync__ptx_line(p, "add.s64 %%here, %%pos, %d", k);
        dync__ptx_line(p, "setp.lt.s64 %%in%d, %%here, %%stop", k);
        dync__cuda_tile_load(&s->t, s->x->dtype, v, "%px", in);
        if (k + 1 < DYNC__SCAN_OWN) dync__ptx_line(p, "add.s64 %%px, %%px, %lld", (long long)step);
    }
    for (int k = 0; k < DYNC__SCAN_OWN; k++) {
        if (s->compute == DYNC_F32)
            dync__ptx_line(p, "cvt.f64.f32 %%acc%d, %%v%d", k, k);
        else if (s->compute == DYNC_I32)
            dync__ptx_line(p, "cvt.s64.s32 %%acc%d, %%v%d", k, k);
        else
            dync__ptx_line(p, "mov.b64 %%acc%d, %%v%d", k, k);
        dync__ptx_line(p, "selp.%s %%acc%d, %%acc%d, %s, %%in%d", s->type, k, k,
                       s->type[0] == 'f' ? "0d0000000000000000" : "0", k);
    }
}

static void dync__scan_next(dync__scan *s)
{
    dync__ptx *p = &s->t.p;
    dync__ptx_line(p, "add.s64 %%pos, %%pos, %d", DYNC__SCAN_TILE);
    dync__ptx_line(p, "add.s64 %%from, %%from, %d", DYNC__SCAN_TILE);
    dync__ptx_line(p, "setp.lt.s64 %%more, %%from, %%stop");
    dync__ptx_line(p, "@%%more bra TILE");
}

/* The sum of each chunk, into the scratch memory. */
static void dync__scan_sums(dync__scan *s)
{
    dync__ptx *p = &s->t.p;
    dync__scan_open(s);
    dync__cuda_tile_label(&s->t, "TILE");
    dync__scan_load(s);
    for (int k = 0; k < DYNC__SCAN_OWN; k++)
        dync__ptx_line(p, "%s %%sum, %%sum, %%acc%d", s->add, k);
    dync__scan_next(s);
    dync__scan_block_sum(s, 0);
    dync__ptx_line(p, "mad.lo.s64 %%part, %%line, %lld, %%chunk", (long long)s->chunks);
    dync__ptx_line(p, "mad.lo.s64 %%part, %%part, 8, %%scratch");
    dync__ptx_line(p, "setp.eq.u32 %%mine, %%thr, 0");
    dync__ptx_line(p, "@%%mine st.global.b64 [%%part], %%sum");
    dync__cuda_tile_entry(&s->t, "cumsum_sums", s->lines, s->chunks, 1, DYNC__SCAN_BLOCK);
    dync__cuda_tile_next(&s->t);
}

/* %carry: the sums of the chunks before this one, always added up in the same order. */
static void dync__scan_carry(dync__scan *s)
{
    dync__ptx *p = &s->t.p;
    dync__ptx_line(p, "mad.lo.s64 %%part, %%line, %lld, 0", (long long)s->chunks);
    dync__ptx_line(p, "mad.lo.s64 %%part, %%part, 8, %%scratch");
    dync__ptx_line(p, "cvt.u64.u32 %%here, %%thr");
    dync__ptx_line(p, "mad.lo.s64 %%part, %%here, 8, %%part");
    for (int64_t k = 0; k < s->chunks; k += DYNC__SCAN_BLOCK) {
        dync__ptx_line(p, "setp.lt.s64 %%mine, %%here, %%chunk");
        dync__ptx_line(p, "mov.b64 %%other, 0");
        dync__ptx_line(p, "@%%mine ld.global.b64 %%other, [%%part+%lld]", (long long)(8 * k));
        dync__ptx_line(p, "%s %%sum, %%sum, %%other", s->add);
        dync__ptx_line(p, "add.s64 %%here, %%here, %d", DYNC__SCAN_BLOCK);
    }
    dync__scan_block_sum(s, 8 * (DYNC__SCAN_BLOCK / 32));
    dync__ptx_line(p, "mov.b64 %%carry, %%sum");
}

static void dync__scan_lines(dync__scan *s)
{
    dync__ptx *p = &s->t.p;
    char v[24], in[24];
    int64_t step = s->y->lay.stride[s->dim] * dync__dtype_info(s->y->dtype)->bytes;
    dync__scan_open(s);
    if (s->chunks > 1) dync__scan_carry(s);
    dync__cuda_tile_label(&s->t, "TILE");
    dync__scan_load(s);
    for (int k = 1; k < DYNC__SCAN_OWN; k++)
        dync__ptx_line(p, "%s %%acc%d, %%acc%d, %%acc%d", s->add, k, k, k - 1);
    dync__ptx_line(p, "mov.b64 %%sum, %%acc%d", DYNC__SCAN_OWN - 1);
    for (int distance = 1; distance < 32; distance *= 2) {
        dync__scan_shuffle(s, "%other", "%sum", "up", distance);
        dync__ptx_line(p, "@%%there %s %%sum, %%sum, %%other", s->add);
    }
    dync__scan_shuffle(s, "%other", "%sum", "up", 1);
    dync__ptx_line(p, "selp.b64 %%before, %%other, 0, %%there");
    dync__ptx_line(p, "@%%last st.shared.b64 [%%slot], %%sum");
    dync__cuda_tile_barrier(&s->t);
    dync__ptx_line(p, "%s %%before, %%before, %%carry", s->add);
    /* totals of the warps before this one; of all: the next carry */
    for (int w = 0; w < DYNC__SCAN_BLOCK / 32; w++) {
        dync__ptx_line(p, "ld.shared.b64 %%other, [%%smem+%d]", 8 * w);
        dync__ptx_line(p, "setp.gt.u32 %%mine, %%warp, %d", w);
        dync__ptx_line(p, "@%%mine %s %%before, %%before, %%other", s->add);
        dync__ptx_line(p, "%s %%carry, %%carry, %%other", s->add);
    }
    dync__cuda_tile_barrier(&s->t);
    dync__ptx_line(p, "mad.lo.s64 %%py, %%pos, %lld, %%y", (long long)step);
    for (int k = 0; k < DYNC__SCAN_OWN; k++) {
        dync__format(v, sizeof v, "%%v%d", k);
        dync__format(in, sizeof in, "@%%in%d ", k);
        dync__ptx_line(p, "%s %%acc%d, %%acc%d, %%before", s->add, k, k);
        if (s->compute == DYNC_F32)
            dync__ptx_line(p, "cvt.rn.f32.f64 %%v%d, %%acc%d", k, k);
        else if (s->compute == DYNC_I32)
            dync__ptx_line(p, "cvt.u32.u64 %%v%d, %%acc%d", k, k);
        else
            dync__ptx_line(p, "mov.b64 %%v%d, %%acc%d", k, k);
        dync__cuda_tile_store(&s->t, s->y->dtype, "%py", v, in);
        if (k + 1 < DYNC__SCAN_OWN) dync__ptx_line(p, "add.s64 %%py, %%py, %lld", (long long)step);
    }
    dync__scan_next(s);
    dync__cuda_tile_entry(&s->t, "cumsum", s->lines, s->chunks, 1, DYNC__SCAN_BLOCK);
}

static dync_status dync__cw_cumsum(dync__cuda_code *code, const dync__kcall *call)
{
    dync__scan s;
    int64_t units = dync__cuda_unit_of(code->device >> 8)->units;
    int32_t buf[] = {0, 1};
    memset(&s, 0, sizeof s);
    s.x = &call->operand[0];
    s.y = &call->operand[1];
    s.dim = (int)call->attr.scan.dim;
    s.compute = dync__dtype_info(s.x->dtype)->compute;
    s.type = s.compute == DYNC_F32 || s.compute == DYNC_F64 ? "f64" : "s64";
    s.add = s.type[0] == 'f' ? "add.rn.f64" : "add.s64";
    s.lines = dync__cuda_numel(s.x, s.dim);
    s.chunk = s.length = s.x->lay.shape[s.dim];
    s.chunks = 1;
    if (s.lines * s.length == 0) return DYNC_OK;
    /* few long lines: a block would have to do too much alone */
    if (s.lines < 2 * units && s.length >= 4 * DYNC__SCAN_TILE) {
        int64_t n = DYNC__MIN(
            DYNC__MIN((6 * units + s.lines - 1) / s.lines, s.length / (2 * DYNC__SCAN_TILE)),
            DYNC__SCAN_MOST);
        s.chunk = ((s.length + n - 1) / n + DYNC__SCAN_TILE - 1) / DYNC__SCAN_TILE *
                  DYNC__SCAN_TILE;
        s.chunks = (s.length + s.chunk - 1) / s.chunk;
    }
    dync__cuda_tile_begin(&s.t, 2);
    if (s.chunks > 1) {
        s.t.out.scratch_bytes = s.lines * s.chunks * 8;
        dync__scan_sums(&s);
    }
    dync__scan_lines(&s);
    return dync__cuda_tile_end(&s.t, code, buf) ? DYNC_OK : DYNC_ERR_MEMORY;
}

DYNC__FN dync_status dync__cuda_call_text(dync__cuda_code *code, const dync__kcall *call,
                                          bool *done)
{
    *done = dync__kcall_is(call, DYNC__K_cumsum);
    return *done ? dync__cw_cumsum(code, call) : dync__cuda_call_scatter(code, call, done);
}

/* ==== cuda/memory.c ================================================================================ */
/* cuda/memory.c: device memory: a caching allocator in stream order, and copies. After device.c,
 * before launch.c.
 *
 * Sizes are rounded up to 512 bytes, large ones to 2 MiB. What is given back is kept with its
 * stream and serves the next request of that stream that it fits without much waste: work on one
 * stream runs in order, so nobody has to wait. Where the driver has no more, everything kept is
 * given back and asked for once again. While a graph is recorded nothing that it used is given to
 * others. */
DYNC__LEVEL_OVER
DYNC__HOT

typedef struct dync__cuda_block {
    struct dync__cuda_block *next;
    void *p;
    size_t n;
    int device;
    cudaStream_t stream;
} dync__cuda_block;
static struct {
    dync__mutex lock;
    dync__cuda_block *kept[DYNC__CUDA_DEVICES];
    dync__map live; /* address to block */
    dync_cuda_memory stats[DYNC__CUDA_DEVICES];
} dync__cuda_pool;

static size_t dync__cuda_rounded(size_t n)
{
    size_t unit = n > ((size_t)1 << 20) ? (size_t)2 << 20 : 512;
    return n > SIZE_MAX - unit ? n : (n + unit - 1) / unit * unit;
}

/* Called with the lock held, as are those below. The smallest kept block that is not a quarter too
 * large. */
static dync__cuda_block *dync__cuda_kept_find(int device, cudaStream_t stream, size_t n)
{
    dync__cuda_block **best = NULL;
    for (dync__cuda_block **b = &dync__cuda_pool.kept[device >> 8]; *b; b = &(*b)->next)
        if ((*b)->stream == stream && (*b)->n >= n && (*b)->n - n <= n / 4 &&
            (!best || (*b)->n < (*best)->n))
            best = b;
    if (!best) return NULL;
    dync__cuda_block *found = *best;
    *best = found->next;
    return found;
}

static void dync__cuda_kept_drop(int device)
{
    dync_cuda_memory *stats = &dync__cuda_pool.stats[device >> 8];
    if (dync__cuda_enter(device) != DYNC_OK) return;
    while (dync__cuda_pool.kept[device >> 8]) {
        dync__cuda_block *b = dync__cuda_pool.kept[device >> 8];
        dync__cuda_pool.kept[device >> 8] = b->next;
        (void)cudaFree(b->p);
        stats->reserved -= (int64_t)b->n;
        stats->blocks_freed++;
        dync__free(b, sizeof *b);
    }
}

static void dync__cuda_pool_end(void)
{
    dync__lock(&dync__cuda_pool.lock);
    for (int i = 0; i < DYNC__CUDA_DEVICES; i++)
        if (dync__cuda_pool.kept[i]) dync__cuda_kept_drop(DYNC_CUDA | i << 8);
    if (dync__cuda_pool.live.n == 0) dync__map_free(&dync__cuda_pool.live);
    dync__unlock(&dync__cuda_pool.lock);
}

static dync__cuda_block *dync__cuda_block_new(int device, cudaStream_t stream, size_t n)
{
    dync_cuda_memory *stats = &dync__cuda_pool.stats[device >> 8];
    dync__cuda_block *b = dync__calloc(sizeof *b);
    if (!b) return NULL;
    cudaError_t e = cudaMalloc(&b->p, n);
    if (e == DYNC__CU_OUT_OF_MEMORY) {
        (void)cudaGetLastError();
        dync__cuda_kept_drop(device);
        e = cudaMalloc(&b->p, n);
    }
    if (e != 0) {
        char what[160];
        dync__format(what, sizeof what,
                     "out of memory? Tried to allocate %zu bytes on cuda:%d, %lld are in use", n,
                     device >> 8, (long long)stats->allocated);
        (void)dync__cuda_check(e, what);
        dync__free(b, sizeof *b);
        return NULL;
    }
    b->n = n;
    b->device = device;
    b->stream = stream;
    stats->blocks_made++;
    stats->reserved += (int64_t)n;
    stats->reserved_peak = DYNC__MAX(stats->reserved_peak, stats->reserved);
    return b;
}

DYNC__FN void *dync__cuda_alloc(int device, size_t n)
{
    void *p = NULL;
    if (dync__cuda_known(device) != DYNC_OK || dync__cuda_enter(device) != DYNC_OK) return NULL;
    dync__at_shutdown(dync__cuda_pool_end);
    n = dync__cuda_rounded(DYNC__MAX(n, 1));
    cudaStream_t stream = dync__cuda_stream(device);
    dync__lock(&dync__cuda_pool.lock);
    dync_cuda_memory *stats = &dync__cuda_pool.stats[device >> 8];
    dync__cuda_block *b = dync__cuda_kept_find(device, stream, n);
    if (b)
        stats->reused++;
    else
        b = dync__cuda_block_new(device, stream, n);
    if (b &&
        !dync__map_put(&dync__cuda_pool.live, (uint64_t)(uintptr_t)b->p, (uint64_t)(uintptr_t)b)) {
        b->next = dync__cuda_pool.kept[device >> 8];
        dync__cuda_pool.kept[device >> 8] = b;
        b = NULL;
    }
    if (b) {
        p = b->p;
        stats->allocated += (int64_t)b->n;
        stats->allocated_peak = DYNC__MAX(stats->allocated_peak, stats->allocated);
    }
    dync__unlock(&dync__cuda_pool.lock);
    return p;
}

DYNC__FN void dync__cuda_free(int device, void *p, size_t n)
{
    uint64_t found = 0;
    dync__cuda_recording *r = dync__cuda_tls.recording;
    if (!p) return;
    if (device == DYNC_CPU) {
        (void)cudaFreeHost(p);
        return;
    }
    if (r) {
        dync__cuda_kept kept = {device, p, n};
        if (dync__vec_push(&r->kept, kept)) return;
        r->failed = true;
    }
    dync__lock(&dync__cuda_pool.lock);
    if (dync__map_get(&dync__cuda_pool.live, (uint64_t)(uintptr_t)p, &found)) {
        dync__cuda_block *b = (dync__cuda_block *)(uintptr_t)found;
        dync__map_remove(&dync__cuda_pool.live, (uint64_t)(uintptr_t)p);
        b->next = dync__cuda_pool.kept[device >> 8];
        dync__cuda_pool.kept[device >> 8] = b;
        dync__cuda_pool.stats[device >> 8].allocated -= (int64_t)b->n;
    }
    dync__unlock(&dync__cuda_pool.lock);
}

DYNC__FN dync_cuda_memory dync__cuda_stats(int index)
{
    dync_cuda_memory none;
    memset(&none, 0, sizeof none);
    if (index < 0 || index >= DYNC__CUDA_DEVICES) return none;
    dync__lock(&dync__cuda_pool.lock);
    none = dync__cuda_pool.stats[index];
    dync__unlock(&dync__cuda_pool.lock);
    return none;
}

DYNC__FN void dync__cuda_trim(int device)
{
    dync__lock(&dync__cuda_pool.lock);
    dync__cuda_kept_drop(device);
    dync__unlock(&dync__cuda_pool.lock);
}

/* Blocks of a stream that is gone serve the default one. */
DYNC__FN void dync__cuda_trim_stream(int device, cudaStream_t stream)
{
    dync__lock(&dync__cuda_pool.lock);
    for (dync__cuda_block *b = dync__cuda_pool.kept[device >> 8]; b; b = b->next)
        if (b->stream == stream) b->stream = NULL;
    dync__unlock(&dync__cuda_pool.lock);
}

DYNC__FN void *dync__cuda_alloc_pinned(size_t n)
{
    void *p = NULL;
    if (dync__cuda_known(DYNC_CUDA) != DYNC_OK) return NULL;
    return dync__cuda_check(cudaHostAlloc(&p, DYNC__MAX(n, 1), 1 /* portable */),
                            "cudaHostAlloc") == DYNC_OK
               ? p
               : NULL;
}

/* ---- copies ---------------------------------------------------------------------------------- */

DYNC__FN dync_status dync__cuda_copy_later(int to_device, void *dst, int from_device,
                                           const void *src, size_t n)
{
    int device = to_device == DYNC_CPU ? from_device : to_device;
    if (n == 0) return DYNC_OK; /* there may be no address */
    DYNC__TRY(dync__cuda_known(device));
    DYNC__TRY(dync__cuda_enter(device));
    if (to_device == DYNC_CPU || from_device == DYNC_CPU || to_device == from_device)
        return dync__cuda_check(
            cudaMemcpyAsync(dst, src, n, DYNC__CU_COPY_DEFAULT, dync__cuda_stream(device)),
            "cudaMemcpyAsync");
    /* Between devices: the source's work comes first, and it may not go on before the copy is
     * done. */
    DYNC__TRY(dync__cuda_enter(from_device));
    DYNC__TRY(dync__cuda_check(cudaStreamSynchronize(dync__cuda_stream(from_device)),
                               "cudaStreamSynchronize"));
    DYNC__TRY(dync__cuda_enter(to_device));
    DYNC__TRY(dync__cuda_check(cudaMemcpyPeerAsync(dst, to_device >> 8, src, from_device >> 8, n,
                                                   dync__cuda_stream(to_device)),
                               "cudaMemcpyPeerAsync"));
    return dync__cuda_check(cudaStreamSynchronize(dync__cuda_stream(to_device)),
                            "cudaMemcpyPeerAsync");
}

DYNC__FN dync_status dync__cuda_copy(int to_device, void *dst, int from_device, const void *src,
                                     size_t n)
{
    DYNC__TRY(dync__cuda_copy_later(to_device, dst, from_device, src, n));
    if (to_device != DYNC_CPU && from_device != DYNC_CPU) return DYNC_OK;
    int device = to_device == DYNC_CPU ? from_device : to_device;
    return dync__cuda_check(cudaStreamSynchronize(dync__cuda_stream(device)), "a kernel or copy "
                                                                              "on the device "
                                                                              "failed");
}

/* ==== cuda/image.c ================================================================================= */
/* cuda/image.c: compiled images of texts, kept in files where that is asked for
 * (DYNC_CUDA_CACHE=FOLDER, dync_cuda_cache). After device.c, before launch.c.
 *
 * The driver's linker makes the image of a text for the device in use; it goes into
 * FOLDER/<hash>.cubin with the text, the device's capability and the driver's version in front of
 * it, and a hash of the whole. A file where anything differs is not used, and written anew: first
 * beside its place, then moved there, so that other processes see all or nothing. What fails here
 * costs only time: the text itself is loaded then. */
DYNC__LEVEL_OVER
DYNC__COLD

enum { DYNC__IMAGE_PATH = 1024, DYNC__IMAGE_PTX = 1 /* CU_JIT_INPUT_PTX */ };
typedef struct dync__image_head {
    char magic[8];
    uint64_t device, driver, text_bytes, image_bytes, check;
} dync__image_head;
static struct {
    dync__mutex lock;
    bool asked;
    char folder[DYNC__IMAGE_PATH - 64];
} dync__images;

DYNC__FN dync_status dync__cuda_images_in(const char *folder)
{
    size_t n = folder ? strlen(folder) : 0;
    if (n >= sizeof dync__images.folder)
        return dync__fail(DYNC_ERR_VALUE, "a folder's name is at most %d bytes long",
                          (int)sizeof dync__images.folder - 1);
    if (n) DYNC__TRY(dync__folders_make(folder));
    dync__lock(&dync__images.lock);
    dync__images.asked = true;
    memcpy(dync__images.folder, folder ? folder : "", n + 1);
    dync__unlock(&dync__images.lock);
    return DYNC_OK;
}

/* The file of a text; false: none is kept. */
static bool dync__image_path(const dync__image_head *head, const char *text,
                             char path[DYNC__IMAGE_PATH])
{
    const char *folder = NULL;
    dync__error_guard guard;
    if (!dync__images.asked && (folder = dync__env("DYNC_CUDA_CACHE")) != NULL && *folder) {
        dync__error_guard_begin(&guard);
        if (dync__cuda_images_in(folder) != DYNC_OK)
            dync__log(DYNC__LOG_perf, "cuda: no images are kept: %s", dync_error_message());
        (void)dync__error_guard_end(&guard);
    }
    dync__lock(&dync__images.lock);
    dync__images.asked = true;
    bool is_on = dync__images.folder[0] != 0;
    uint64_t key[2] = {head->device, head->driver},
             hash = dync__hash_bytes(text, (size_t)head->text_bytes,
                                     dync__hash_bytes(key, sizeof key, 0));
    if (is_on)
        dync__format(path, DYNC__IMAGE_PATH, "%s/%016llx.cubin", dync__images.folder,
                     (unsigned long long)hash);
    dync__unlock(&dync__images.lock);
    return is_on;
}

static uint64_t dync__image_check(const dync__image_head *head, const char *text, const void *image)
{
    dync__image_head blank = *head;
    blank.check = 0;
    uint64_t hash =
        dync__hash_bytes(text, (size_t)head->text_bytes, dync__hash_bytes(&blank, sizeof blank, 0));
    return dync__hash_bytes(image, (size_t)head->image_bytes, hash);
}

static bool dync__image_read(const char *path, dync__image_head want, const char *text,
                             cudaLibrary_t *library)
{
    char *file = NULL;
    size_t n = 0;
    dync__image_head head;
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    bool ok = dync__file_read(path, &file, &n) == DYNC_OK && n >= sizeof head;
    if (ok) {
        memcpy(&head, file, sizeof head);
        want.image_bytes = head.image_bytes;
        want.check = head.check;
        ok = memcmp(&head, &want, sizeof head) == 0 && head.image_bytes > 0 &&
             n - sizeof head > head.text_bytes &&
             n - sizeof head - head.text_bytes == head.image_bytes &&
             memcmp(file + sizeof head, text, (size_t)head.text_bytes) == 0 &&
             head.check == dync__image_check(&head, text, file + sizeof head + head.text_bytes);
    }
    if (ok && cudaLibraryLoadData(library, file + sizeof head + head.text_bytes, NULL, NULL, 0,
                                  NULL, NULL, 0) != 0) {
        (void)cudaGetLastError();
        *library = NULL;
        ok = false;
    }
    if (file) dync__free(file, n + 1);
    (void)dync__error_guard_end(&guard);
    return ok;
}

static void dync__image_write(const char *path, const dync__image_head *head, const char *text,
                              const void *image)
{
    dync__str all = {0};
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    dync__str_addn(&all, (const char *)head, sizeof *head);
    dync__str_addn(&all, text, (size_t)head->text_bytes);
    dync__str_addn(&all, image, (size_t)head->image_bytes);
    if (all.failed || dync__file_write_own(path, dync__str_get(&all), all.n) != DYNC_OK)
        dync__log(DYNC__LOG_perf, "cuda: cannot keep an image in %s", path);
    dync__str_free(&all);
    (void)dync__error_guard_end(&guard);
}

/* The driver's linker, as far as it is used: all four functions or none. */
typedef struct dync__linker {
    int (*create)(unsigned n, int *options, void **values, void **state);
    int (*add)(void *state, int type, void *data, size_t bytes, const char *name, unsigned n,
               int *options, void **values);
    int (*complete)(void *state, void **image, size_t *bytes);
    int (*destroy)(void *state);
} dync__linker;
static bool dync__linker_of(dync__linker *l)
{
    dync__cuda_function f[] = {dync__cuda_driver_function("cuLinkCreate", 6050),
                               dync__cuda_driver_function("cuLinkAddData", 6050),
                               dync__cuda_driver_function("cuLinkComplete", 5050),
                               dync__cuda_driver_function("cuLinkDestroy", 5050)};
    if (!f[0] || !f[1] || !f[2] || !f[3]) return false;
    l->create = (int (*)(unsigned, int *, void **, void **))f[0];
    l->add = (int (*)(void *, int, void *, size_t, const char *, unsigned, int *, void **))f[1];
    l->complete = (int (*)(void *, void **, size_t *))f[2];
    l->destroy = (int (*)(void *))f[3];
    return true;
}

DYNC__FN bool dync__cuda_image_load(int index, const char *text, cudaLibrary_t *library)
{
    const dync__cuda_unit *u = dync__cuda_unit_of(index);
    dync__image_head head = {"dyncimg",
                             (uint64_t)(u->major * 10 + u->minor),
                             (uint64_t)dync__cuda_driver(),
                             strlen(text),
                             0,
                             0};
    char path[DYNC__IMAGE_PATH];
    dync__linker l;
    void *state = NULL, *image = NULL;
    size_t n = 0;
    if (!dync__image_path(&head, text, path)) return false;
    if (dync__image_read(path, head, text, library)) {
        (void)DYNC__ATOMIC_ADD(&dync__cuda_counters.images, 1);
        return true;
    }
    /* cudaFree: the device's context */
    if (cudaFree(NULL) != 0 || !dync__linker_of(&l) || l.create(0, NULL, NULL, &state) != 0)
        return false;
    bool ok = l.add(state, DYNC__IMAGE_PTX, (void *)(uintptr_t)text, (size_t)head.text_bytes + 1,
                    "dync", 0, NULL, NULL) == 0 &&
              l.complete(state, &image, &n) == 0 && n > 0;
    if (ok && cudaLibraryLoadData(library, image, NULL, NULL, 0, NULL, NULL, 0) != 0) {
        (void)cudaGetLastError();
        *library = NULL;
        ok = false;
    }
    if (ok) {
        head.image_bytes = n;
        head.check = dync__image_check(&head, text, image);
        dync__image_write(path, &head, text, image);
    }
    (void)l.destroy(state);
    return ok;
}

/* ==== cuda/launch.c ================================================================================ */
/* cuda/launch.c: code of plans on a GPU: texts are made, loaded once per process and launched.
 * After memory.c, calls.c; before graphs.c.
 *
 * A loop kernel has two forms: with vector accesses, and without for memory that does not lie on
 * 16-byte boundaries; the second is made when it is first needed. Equal texts share one loaded
 * module. Nothing here waits for the device. */
DYNC__LEVEL_OVER
DYNC__HOT

typedef struct dync__cuda_module {
    struct dync__cuda_module *next;
    uint64_t hash;
    char *text;
    cudaLibrary_t library;
    cudaKernel_t kernel[DYNC__PTX_LAUNCHES];
    /* of the devices that it is an image for; 0: a text, for all */
    int capability;
    /* where its kernels may have the shared memory that they ask for: bits */
    unsigned devices;
} dync__cuda_module;
static struct {
    dync__mutex lock;
    dync__cuda_module *first;
} dync__cuda_modules;

static void dync__cuda_modules_end(void)
{
    while (dync__cuda_modules.first) {
        dync__cuda_module *m = dync__cuda_modules.first;
        dync__cuda_modules.first = m->next;
        (void)cudaLibraryUnload(m->library);
        dync__strfree(m->text);
        dync__free(m, sizeof *m);
    }
}

/* ---- loading --------------------------------------------------------------------------------- */

static int dync__cuda_capability(int index)
{
    return dync__cuda_unit_of(index)->major * 10 + dync__cuda_unit_of(index)->minor;
}

/* Library and kernels; the driver compiles a text when its first kernel is asked for, or at
 * once. */
static cudaError_t dync__cuda_kernels(dync__cuda_module *m, const dync__ptx_text *t, int *options,
                                      void **values)
{
    cudaError_t e = (cudaError_t)0;
    if (!m->capability)
        e = cudaLibraryLoadData(&m->library, m->text, (void *)options, values, 2, NULL, NULL, 0);
    for (int i = 0; e == 0 && i < t->n_launches; i++)
        e = cudaLibraryGetKernel(&m->kernel[i], m->library, t->launch[i].entry);
    return e;
}

static dync_status dync__cuda_load(dync__cuda_module *m, const dync__ptx_text *t, int index)
{
    static const size_t log_bytes = 2048;
    char log[2048];
    int options[2] = {DYNC__CU_JIT_ERROR_LOG, DYNC__CU_JIT_ERROR_LOG_BYTES};
    void *values[2] = {log, (void *)(uintptr_t)log_bytes};
    log[0] = 0;
    if (dync__cuda_image_load(index, m->text, &m->library))
        m->capability = dync__cuda_capability(index);
    cudaError_t e = dync__cuda_kernels(m, t, options, values);
    if (e != 0) {
        char what[900];
        log[sizeof log - 1] = 0;
        dync__format(what, sizeof what, "the driver refused the kernel %s%s%.600s",
                     t->launch[0].entry, log[0] ? ": " : "", log);
        return dync__cuda_check(e, what);
    }
    (void)DYNC__ATOMIC_ADD(&dync__cuda_counters.loads, 1);
    return DYNC_OK;
}

/* On this thread's device; every device has its own limits. */
static dync_status dync__cuda_module_allow(dync__cuda_module *m, const dync__ptx_text *t, int index)
{
    if (m->devices >> index & 1) return DYNC_OK;
    for (int i = 0; i < t->n_launches; i++)
        if (t->launch[i].shared_bytes > 0)
            DYNC__TRY(dync__cuda_check(cudaFuncSetAttribute((const void *)m->kernel[i],
                                                            DYNC__CU_FUNC_SHARED,
                                                            t->launch[i].shared_bytes),
                                       "cudaFuncSetAttribute"));
    m->devices |= 1u << index;
    return DYNC_OK;
}

static dync__cuda_module *dync__cuda_module_of(const dync__ptx_text *t, int index)
{
    const char *text = dync__str_get(&t->text);
    uint64_t hash = dync__hash_bytes(text, t->text.n, 0);
    dync__at_shutdown(dync__cuda_modules_end);
    dync__lock(&dync__cuda_modules.lock);
    dync__cuda_module *m = dync__cuda_modules.first;
    while (m &&
           (m->hash != hash || (m->capability && m->capability != dync__cuda_capability(index)) ||
            strcmp(m->text, text) != 0))
        m = m->next;
    if (!m && (m = dync__calloc(sizeof *m)) != NULL) {
        m->hash = hash;
        m->text = dync__strdup(text);
        if (!m->text || dync__cuda_load(m, t, index) != DYNC_OK) {
            if (m->library) (void)cudaLibraryUnload(m->library);
            dync__strfree(m->text);
            dync__free(m, sizeof *m);
            m = NULL;
        } else {
            m->next = dync__cuda_modules.first;
            dync__cuda_modules.first = m;
        }
    }
    if (m && dync__cuda_module_allow(m, t, index) != DYNC_OK) m = NULL;
    dync__unlock(&dync__cuda_modules.lock);
    return m;
}

/* A form of a part, made and loaded. */
DYNC__FN const dync__cuda_form *dync__cuda_form_of(dync__cuda_code *c, dync__cuda_part *part,
                                                   int which)
{
    dync__cuda_form *f = &part->form[which];
    if (DYNC__ATOMIC_LOAD(&f->module)) return f;
    dync_status status = DYNC_OK;
    dync__lock(&c->lock);
    if (!f->made) {
        status = part->gemm ? dync__gm_text(part->gemm, which, &f->text)
                            : dync__ptx_kernel(part->kernel, part->host,
                                               dync__cuda_unit_of(c->device >> 8)->units,
                                               which == DYNC__CUDA_UNALIGNED, &f->text);
        f->made = status == DYNC_OK;
    }
    dync__cuda_module *m = f->module;
    if (f->made && !m) m = dync__cuda_module_of(&f->text, c->device >> 8);
    DYNC__ATOMIC_STORE(&f->module, m);
    dync__unlock(&c->lock);
    return m ? f : NULL;
}

/* ---- launching ------------------------------------------------------------------------------- */

static bool dync__cuda_fits(const dync__ptx_text *t, const uint64_t *word)
{
    for (int i = 0; i < t->n_checks; i++)
        if ((word[t->check[i].buf] + (uint64_t)t->check[i].offset) % (unsigned)t->check[i].align)
            return false;
    return true;
}

/* The code's buffers, temporaries and numbers as this part's parameters. */
static void dync__cuda_words_of(const dync__cuda_part *part, void *const *buffers,
                                void *const *temp, uint64_t *word)
{
    for (int i = 0; i < part->n; i++) {
        int32_t b = part->buf[i];
        void *p = b >= 0 ? buffers[b] : temp[-1 - b];
        word[i] = 0;
        if (!part->host[i])
            word[i] = (uint64_t)(uintptr_t)p;
        else if (p)
            memcpy(&word[i], p, dync__dtype_info(part->kernel->buf.at[i].dtype)->bytes);
    }
}

/* CUtensorMap: 128 bytes on a boundary of 64. */
typedef struct dync__cuda_map {
    _Alignas(64) uint64_t word[16];
} dync__cuda_map;
typedef int (*dync__cuda_encode)(void *map, int type, uint32_t rank, void *base,
                                 const uint64_t *size, const uint64_t *stride, const uint32_t *box,
                                 const uint32_t *step, int interleave, int swizzle, int promotion,
                                 int fill);
static dync_status dync__cuda_map_of(const dync__ptx_map *m, uint64_t base, dync__cuda_map *out)
{
    static dync__cuda_function encode;
    static const uint32_t step[5] = {1, 1, 1, 1, 1};
    dync__cuda_function f = DYNC__ATOMIC_LOAD(&encode);
    if (!f)
        DYNC__ATOMIC_STORE(&encode,
                           f = dync__cuda_driver_function("cuTensorMapEncodeTiled", 12000));
    int e = f ? ((dync__cuda_encode)f)(out, m->type, (uint32_t)m->rank,
                                       (void *)(uintptr_t)(base + (uint64_t)m->offset), m->size,
                                       m->stride, m->box, step, 0, m->swizzle, 2 /* of 128 bytes */,
                                       0)
              : -1;
    return e == 0 ? DYNC_OK
                  : dync__fail(DYNC_ERR_DEVICE, "CUDA error %d: cuTensorMapEncodeTiled", e);
}

/* Those of a form; one that was made for the same address last time is taken again. */
static dync_status dync__cuda_maps_of(dync__cuda_code *c, const dync__cuda_form *f,
                                      const uint64_t *word, dync__cuda_map *out)
{
    dync_status status = DYNC_OK;
    if (f->text.n_maps == 0) return DYNC_OK;
    dync__lock(&c->lock);
    for (int i = 0; i < f->text.n_maps && status == DYNC_OK; i++) {
        dync__cuda_kept_map *kept = &f->kept[i];
        uint64_t base = word[f->text.map[i].buf];
        if (base != kept->base || base == 0) {
            status = dync__cuda_map_of(&f->text.map[i], base, &out[i]);
            kept->base = status == DYNC_OK ? base : 0;
            memcpy(kept->word, out[i].word, sizeof kept->word);
        } else {
            memcpy(out[i].word, kept->word, sizeof kept->word);
        }
    }
    dync__unlock(&c->lock);
    return status;
}

static dync_status dync__cuda_launch(dync__cuda_code *c, const dync__cuda_form *f, int n_words,
                                     uint64_t *word)
{
    void *args[80];
    dync__cuda_map map[DYNC__PTX_MAPS];
    memset(map, 0, sizeof map);
    DYNC__TRY(dync__cuda_maps_of(c, f, word, map));
    for (int i = 0; i < n_words; i++) args[i] = &word[i];
    for (int i = 0; i < f->text.n_maps; i++) args[n_words + i] = &map[i];
    for (int i = 0; i < f->text.n_launches; i++) {
        const dync__ptx_launch *l = &f->text.launch[i];
        dim3 grid, block;
        grid.x = (unsigned)l->grid[0];
        grid.y = (unsigned)l->grid[1];
        grid.z = (unsigned)l->grid[2];
        block.x = (unsigned)l->block;
        block.y = block.z = 1;
        int64_t step = 0;
        if (l->steps) args[n_words + f->text.n_maps] = &step;
        for (; step < DYNC__MAX(l->steps, 1); step++) {
            cudaError_t e = cudaLaunchKernel((const void *)f->module->kernel[i], grid, block, args,
                                             (size_t)l->shared_bytes, dync__cuda_stream(c->device));
            if (e != 0) return dync__cuda_check(e, l->entry);
            (void)DYNC__ATOMIC_ADD(&dync__cuda_counters.launches, 1);
        }
    }
    return DYNC_OK;
}

static dync_status dync__cuda_run_part(dync__cuda_code *c, dync__cuda_part *part,
                                       void *const *buffers, void *const *temp, uint64_t seed,
                                       uint64_t offset)
{
    uint64_t word[72];
    void *scratch = NULL;
    int n = part->n;
    dync__cuda_recording *r = dync__cuda_tls.recording;
    dync__cuda_words_of(part, buffers, temp, word);
    const dync__cuda_form *f = &part->form[DYNC__CUDA_VARIANT];
    bool tf32 = DYNC__ATOMIC_LOAD(&dync__cuda_tf32) &&
                (part->gemm ? dync__gm_may_tf32(part->gemm) : part->form[DYNC__CUDA_TF32].made);
    if (tf32) f = dync__cuda_form_of(c, part, DYNC__CUDA_TF32);
    if (!f) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_MEMORY;
    if (!f->module || !dync__cuda_fits(&f->text, word)) {
        f = dync__cuda_form_of(c, part, DYNC__CUDA_ANY);
        if (f && part->kernel && !dync__cuda_fits(&f->text, word))
            f = dync__cuda_form_of(c, part, DYNC__CUDA_UNALIGNED);
    }
    if (!f) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_MEMORY;
    if (f->text.scratch_bytes &&
        !(scratch = dync__cuda_alloc(c->device, (size_t)f->text.scratch_bytes)))
        return DYNC_ERR_MEMORY;
    word[n++] = (uint64_t)(uintptr_t)scratch;
    if (f->text.random) {
        word[n++] = r ? (uint64_t)(uintptr_t)r->rng : 0;
        word[n++] = seed;
        word[n++] = r ? offset - r->rng_first : offset;
    }
    dync_status status = dync__cuda_launch(c, f, n, word);
    dync__cuda_free(c->device, scratch, (size_t)f->text.scratch_bytes);
    return status;
}

/* Operands to main memory, the CPU's kernel, results back. */
static dync_status dync__cuda_run_host(dync__cuda_code *c, const dync__kcall *call,
                                       void *const *buffers)
{
    void *data[DYNC__KCALL_OPERANDS] = {NULL};
    size_t bytes[DYNC__KCALL_OPERANDS] = {0};
    dync_status status = DYNC_OK;
    if (dync__cuda_tls.recording) {
        dync__cuda_tls.recording->left = true;
        return DYNC_OK;
    }
    for (int i = 0; i < call->n && status == DYNC_OK; i++) {
        bytes[i] = (size_t)dync__layout_span(&call->operand[i].lay) *
                   dync__dtype_info(call->operand[i].dtype)->bytes;
        if (bytes[i] && !(data[i] = dync__alloc_data(bytes[i])))
            status = DYNC_ERR_MEMORY;
        else if (bytes[i])
            status = dync__cuda_copy(DYNC_CPU, data[i], c->device, buffers[i], bytes[i]);
    }
    void *scratch = call->scratch_bytes ? dync__alloc_data(call->scratch_bytes) : NULL;
    if (call->scratch_bytes && !scratch) status = DYNC_ERR_MEMORY;
    if (status == DYNC_OK) status = call->row->run(call, data, scratch);
    for (int i = 0; i < call->n; i++) {
        if (status == DYNC_OK && call->operand[i].written && bytes[i])
            status = dync__cuda_copy(c->device, buffers[i], DYNC_CPU, data[i], bytes[i]);
        if (data[i]) dync__free_data(data[i], bytes[i]);
    }
    if (scratch) dync__free_data(scratch, call->scratch_bytes);
    (void)DYNC__ATOMIC_ADD(&dync__cuda_counters.host_steps, 1);
    return status;
}

/* What was packed in a run before, where nothing has changed since: *memory; else NULL. The second
 * run in a row with the same packs it for those that follow. What dync_data gave away or the user
 * lent may change unseen, and a recorded graph is played when it may have changed: never kept. */
static dync_status dync__cuda_packed_of(dync__cuda_code *c, dync__cuda_part *part,
                                        void *const *buffers, void **temp)
{
    dync__cuda_packed *k = part->packed;
    const dync__tensor *t = dync__tls.plan_tensors ? dync__tls.plan_tensors[k->input - 1] : NULL;
    void *from = buffers[k->operand];
    if (!t || dync__cuda_tls.recording ||
        (t->storage->flags & (DYNC__STORAGE_EXPOSED | DYNC__STORAGE_BORROWED)))
        return DYNC_OK;
    cudaStream_t stream = dync__cuda_stream(c->device);
    bool same = k->from == from && k->storage == t->storage->id &&
                k->version == t->storage->version && k->stream == stream;
    size_t bytes = (size_t)c->temp.at[k->temp];
    if (!same) {
        dync__cuda_free(c->device, k->memory, bytes);
        *k = (dync__cuda_packed){k->input,       k->operand,          k->temp, from,
                                 t->storage->id, t->storage->version, stream,  NULL};
    } else if (!k->memory) {
        if (!(temp[k->temp] = dync__cuda_alloc(c->device, bytes))) return DYNC_ERR_MEMORY;
        dync_status status = dync__cuda_run_part(c, part, buffers, temp, 0, 0);
        if (status == DYNC_OK)
            k->memory = temp[k->temp];
        else
            dync__cuda_free(c->device, temp[k->temp], bytes);
        temp[k->temp] = NULL;
        DYNC__TRY(status);
    }
    temp[k->temp] = k->memory;
    return DYNC_OK;
}

DYNC__FN dync_status dync__cuda_run(const void *code, void *const *buffers, uint64_t seed,
                                    uint64_t offset)
{
    dync__cuda_code *c = (dync__cuda_code *)(uintptr_t)code;
    void *temp[8] = {NULL};
    bool kept[8] = {false};
    dync_status status = dync__cuda_enter(c->device);
    if (c->packs) dync__lock(&c->packing);
    for (int i = 0; c->packs && i < c->part.n && status == DYNC_OK; i++)
        if (c->part.at[i].packed) status = dync__cuda_packed_of(c, &c->part.at[i], buffers, temp);
    for (int i = 0; i < c->temp.n && status == DYNC_OK; i++) {
        kept[i] = temp[i] != NULL;
        if (!temp[i] && !(temp[i] = dync__cuda_alloc(c->device, (size_t)c->temp.at[i])))
            status = DYNC_ERR_MEMORY;
    }
    for (int i = 0; i < c->part.n && status == DYNC_OK; i++) {
        dync__cuda_part *part = &c->part.at[i];
        if (part->packed && kept[part->packed->temp]) continue;
        status = part->call ? dync__cuda_run_host(c, part->call, buffers)
                            : dync__cuda_run_part(c, part, buffers, temp, seed, offset);
    }
    for (int i = 0; i < c->temp.n; i++)
        if (!kept[i]) dync__cuda_free(c->device, temp[i], (size_t)c->temp.at[i]);
    if (c->packs) dync__unlock(&c->packing);
    return status;
}

/* ==== cuda/make.c ================================================================================== */
/* cuda/make.c: code made for kernels and calls, in the variants that a device needs. Before:
 * launch.c. */

/* ---- making ---------------------------------------------------------------------------------- */

DYNC__FN void dync__cuda_code_free(void *code)
{
    dync__cuda_code *c = code;
    if (!c) return;
    for (int i = 0; i < c->part.n; i++) {
        for (int f = 0; f < DYNC__CUDA_FORMS; f++) dync__str_free(&c->part.at[i].form[f].text.text);
        dync__kcall *call = c->part.at[i].call;
        const dync__cuda_packed *packed = c->part.at[i].packed;
        if (packed) dync__cuda_free(c->device, packed->memory, (size_t)c->temp.at[packed->temp]);
        for (int k = 0; call && k < DYNC__KCALL_PIECES; k++) dync__code_free(call->piece[k]);
        if (call && call->drop) call->drop(call->state);
    }
    dync__arena_free(&c->arena);
    dync__free(c, sizeof *c);
}

DYNC__FN void dync__cuda_code_dump(dync__str *s, const void *code)
{
    const dync__cuda_code *c = code;
    for (int i = 0; i < c->part.n; i++)
        for (int f = 0; f < DYNC__CUDA_FORMS; f++)
            if (c->part.at[i].form[f].made)
                dync__str_add(s, dync__str_get(&c->part.at[i].form[f].text.text));
}

/* Is the variant there and loaded? One that the driver refuses is forgotten. */
static bool dync__cuda_variant_of(dync__cuda_code *c, dync__cuda_part *part)
{
    dync__cuda_form *f = &part->form[DYNC__CUDA_VARIANT];
    dync__error_guard guard;
    if (!f->made) return false;
    dync__error_guard_begin(&guard);
    bool ok = dync__cuda_form_of(c, part, DYNC__CUDA_VARIANT) != NULL;
    const dync__error_slot *error = dync__error_guard_end(&guard);
    if (!ok)
        dync__log(DYNC__LOG_perf, "cuda: a variant for this device is left out: %s",
                  error->message);
    return ok;
}

/* Texts are made at once, so that DYNC_LOG=code and errors come where the plan is made; what a
 * variant leaves over is loaded when it is met. */
DYNC__FN void *dync__cuda_code_finish(dync__cuda_code *c, bool ok)
{
    for (int i = 0; i < c->part.n && ok; i++)
        ok = c->part.at[i].call || dync__cuda_variant_of(c, &c->part.at[i]) ||
             dync__cuda_form_of(c, &c->part.at[i], DYNC__CUDA_ANY) != NULL;
    if (ok) return c;
    dync__cuda_code_free(c);
    return NULL;
}

DYNC__FN void *dync__cuda_kernel_new(int device, const dync__kernel *k, const bool *host)
{
    if (dync__cuda_known(device) != DYNC_OK) return NULL;
    dync__cuda_code *c = dync__calloc(sizeof *c);
    if (!c) return NULL;
    c->device = device;
    c->n_buffers = k->buf.n;
    dync__kernel *own = dync__cuda_kernel_copy(&c->arena, k);
    dync__cuda_part *part = own ? dync__cuda_part_new(c, k->buf.n) : NULL;
    if (part) {
        part->kernel = own;
        for (int i = 0; i < k->buf.n; i++) {
            part->buf[i] = i;
            part->host[i] = host[i];
        }
    }
    bool empty = false;
    /* row code of empty rows still runs */
    for (int d = 0; d < k->n_outer; d++) empty |= k->extent[d] == 0;
    if (part && empty) c->part.n = 0;
    return dync__cuda_code_finish(c, part != NULL);
}

static dync_status dync__cuda_add_host(dync__cuda_code *c, const dync__kcall *from)
{
    dync__kcall *call = dync__arena_copy(&c->arena, from, dync__kcall_bytes(from));
    dync__cuda_part *part = call ? dync__cuda_part_new(c, 0) : NULL;
    if (!part) return DYNC_ERR_MEMORY;
    part->call = call;
    dync__log(DYNC__LOG_perf, "cuda: %s has no kernel for GPUs and runs on the CPU",
              call->row->name);
    return call->row->prepare ? call->row->prepare(call) : DYNC_OK;
}

DYNC__FN void *dync__cuda_call_new(int device, const dync__kcall *call,
                                   const dync__kernel *const with[3], const bool *host, bool keep)
{
    if (dync__cuda_known(device) != DYNC_OK) return NULL;
    dync__cuda_code *c = dync__calloc(sizeof *c);
    if (!c) return NULL;
    bool done = false;
    c->device = device;
    c->n_buffers = call->n;
    dync__cuda_end end = {.host = host, .keep = keep};
    if (with) end.k = with[0], end.pre[0] = with[1], end.pre[1] = with[2];
    dync_status status = dync__cuda_gemm(c, call, &end, &done);
    if (status == DYNC_OK && !done) status = dync__cuda_conv(c, call, &end, &done);
    if (status == DYNC_OK && !done) status = dync__cuda_call_text(c, call, &done);
    if (status == DYNC_OK && !done) status = dync__cuda_call_attention(c, call, &done);
    if (status == DYNC_OK && !done) status = dync__cuda_call_recurrent(c, call, &done);
    if (status == DYNC_OK && !done) status = dync__cuda_call_sort(c, call, &done);
    if (status == DYNC_OK && !done) status = dync__cuda_call_loops(c, call, &done);
    if (status == DYNC_OK && !done) status = dync__cuda_add_host(c, call);
    return dync__cuda_code_finish(c, status == DYNC_OK);
}

/* ==== cuda/graphs.c ================================================================================ */
/* cuda/graphs.c: inner compilers whose plan runs as a recorded graph: the cudagraphs backend and
 * inductor's option of that name. After launch.c.
 *
 * The first call runs plainly (texts are loaded, memory is warm). The second records: inputs that
 * came from the same address twice are taken to stay there (parameters); the others are copied to
 * fixed places first. From then on a call compares addresses, copies what moves, draws random
 * numbers' first index, launches the graph and hands out copies of its results. An input at a new
 * address of the first kind makes it fixed-place and records again; sizes cannot change, as AOT has
 * an inner callable for each. Inputs in main memory: no graph, said once. Source:
 * torch/_inductor/cudagraph_trees.py and torch/_dynamo/backends/cudagraphs.py of PyTorch. */

typedef struct dync__cuda_graph {
    dync__inner inner;
    dync__mutex lock;
    int device, n_in, n_out, calls;
    void **address; /* of each input at the last call, or at the recording */
    bool *moves;    /* copied to a fixed place */
    dync__tensor **fixed, **result;
    cudaGraphExec_t exec;
    dync__cuda_recording kept; /* memory and random state of the recording */
    uint64_t rng_count;
    /* written by the graph: never copied, recorded again at another address */
    bool *stays;
    int n_stays;
    /* never recorded: something is in main memory, or recording failed */
    bool plain;
} dync__cuda_graph;

static void dync__cuda_graph_drop(dync__cuda_graph *g)
{
    if (g->exec) {
        (void)dync__cuda_enter(g->device);
        (void)cudaStreamSynchronize(g->kept.stream);
        (void)cudaGraphExecDestroy(g->exec);
    }
    g->exec = NULL;
    for (int i = 0; i < g->n_in && g->fixed; i++) {
        dync__unref(g->fixed[i]);
        g->fixed[i] = NULL;
    }
    for (int i = 0; i < g->n_out && g->result; i++) {
        dync__unref(g->result[i]);
        g->result[i] = NULL;
    }
    for (int i = 0; i < g->kept.kept.n; i++)
        dync__cuda_free(g->kept.kept.at[i].device, g->kept.kept.at[i].p, g->kept.kept.at[i].n);
    dync__vec_free(&g->kept.kept);
    if (g->kept.rng) dync__cuda_free(g->device, g->kept.rng, 16);
    g->kept.rng = NULL;
}

static void dync__cuda_graph_destroy(void *state)
{
    dync__cuda_graph *g = state;
    dync__cuda_graph_drop(g);
    if (g->kept.stream) (void)cudaStreamDestroy(g->kept.stream);
    if (g->inner.destroy) g->inner.destroy(g->inner.state);
    dync__free(g->address, (size_t)(g->n_in + 1) * sizeof *g->address);
    dync__free(g->moves, (size_t)g->n_in + 1);
    dync__free(g->stays, (size_t)g->n_stays + 1);
    dync__free(g->fixed, (size_t)(g->n_in + 1) * sizeof *g->fixed);
    dync__free(g->result, (size_t)(g->n_out + 1) * sizeof *g->result);
    dync__free(g, sizeof *g);
}

static dync_status dync__cuda_graph_narrow(void *state, const bool *used)
{
    dync__cuda_graph *g = state;
    dync__lock(&g->lock);
    dync__cuda_graph_drop(g);
    g->calls = 0;
    dync__unlock(&g->lock);
    return g->inner.narrow ? g->inner.narrow(g->inner.state, used) : DYNC_OK;
}

static dync_status dync__cuda_graph_room(dync__cuda_graph *g, int n_in, int n_out)
{
    if (g->address) return DYNC_OK;
    g->n_in = n_in;
    g->n_out = n_out;
    g->address = dync__calloc((size_t)(n_in + 1) * sizeof *g->address);
    g->moves = dync__calloc((size_t)n_in + 1);
    g->fixed = dync__calloc((size_t)(n_in + 1) * sizeof *g->fixed);
    g->result = dync__calloc((size_t)(n_out + 1) * sizeof *g->result);
    if (!g->address || !g->moves || !g->fixed || !g->result) return DYNC_ERR_MEMORY;
    return dync__cuda_check(cudaStreamCreateWithFlags(&g->kept.stream, DYNC__CU_NON_BLOCKING),
                            "cudaStreamCreateWithFlags");
}

static size_t dync__cuda_span_bytes(const dync__tensor *t)
{
    dync__layout lay = t->lay;
    lay.offset = 0;
    return (size_t)dync__layout_span(&lay) * dync__dtype_info(t->dtype)->bytes;
}

/* Inputs as the graph sees them: themselves, or their fixed places. Fresh references. */
static dync_status dync__cuda_graph_inputs(dync__cuda_graph *g, dync__tensor *const *in,
                                           dync__tensor **seen)
{
    for (int i = 0; i < g->n_in; i++) {
        if (!g->moves[i]) {
            dync__ref(seen[i] = in[i]);
            g->address[i] = dync__tensor_data(in[i]);
            continue;
        }
        dync__layout lay = in[i]->lay;
        lay.offset = 0;
        if (!(seen[i] = dync__tensor_empty(in[i]->dtype, in[i]->device, &lay)))
            return DYNC_ERR_MEMORY;
        dync__ref(g->fixed[i] = seen[i]);
    }
    return DYNC_OK;
}

static dync_status dync__cuda_graph_capture(dync__cuda_graph *g, dync__tensor *const *seen,
                                            cudaGraph_t *graph)
{
    dync__cuda_recording *r = &g->kept;
    cudaStream_t stream = r->stream;
    uint64_t first = dync__tls.rng_offset;
    r->device = g->device;
    r->failed = r->left = false;
    r->rng_first = first;
    if (!(r->rng = dync__cuda_alloc(g->device, 16))) return DYNC_ERR_MEMORY;
    DYNC__TRY(dync__cuda_check(cudaStreamBeginCapture(stream, DYNC__CU_CAPTURE_RELAXED),
                               "cudaStreamBeginCapture"));
    dync__cuda_tls.recording = r;
    dync_status status = g->inner.run(g->inner.state, g->n_in, seen, g->n_out, g->result);
    dync__cuda_tls.recording = NULL;
    g->rng_count = dync__tls.rng_offset - first;
    dync__tls.rng_offset = first; /* the replay draws them */
    cudaError_t e = cudaStreamEndCapture(stream, graph);
    if (status == DYNC_OK) status = dync__cuda_check(e, "cudaStreamEndCapture");
    return status == DYNC_OK && r->failed ? DYNC_ERR_MEMORY : status;
}

static dync_status dync__cuda_graph_make(dync__cuda_graph *g, dync__tensor *const *in)
{
    cudaGraph_t graph = NULL;
    size_t bytes = (size_t)(g->n_in + 1) * sizeof(dync__tensor *);
    dync__tensor **seen = dync__calloc(bytes);
    dync_status status = seen ? dync__cuda_graph_inputs(g, in, seen) : DYNC_ERR_MEMORY;
    if (status == DYNC_OK) status = dync__cuda_graph_capture(g, seen, &graph);
    if (status == DYNC_OK && g->kept.left) {
        g->plain = true;
        dync__log(DYNC__LOG_perf, "cudagraphs: a step runs on the CPU: run plainly");
    } else if (status == DYNC_OK)
        status = dync__cuda_check(cudaGraphInstantiateWithFlags(&g->exec, graph, 0),
                                  "cudaGraphInstantiate");
    if (graph) (void)cudaGraphDestroy(graph);
    for (int i = 0; seen && i < g->n_in; i++) dync__unref(seen[i]);
    dync__free(seen, bytes);
    if (status != DYNC_OK || g->plain)
        dync__cuda_graph_drop(g);
    else
        (void)DYNC__ATOMIC_ADD(&dync__cuda_counters.recordings, 1);
    return status;
}

/* A result: an alias of the caller's input where it is one of the seen input's, else a copy of what
 * the graph has written. */
static dync__tensor *dync__cuda_graph_result(dync__cuda_graph *g, int i, dync__tensor *const *in)
{
    const dync__tensor *t = g->result[i];
    for (int k = 0; k < g->n_in; k++) {
        const dync__tensor *seen = g->fixed[k] ? g->fixed[k] : NULL;
        if (seen && seen->storage == t->storage) {
            dync__layout lay = t->lay;
            lay.offset += in[k]->lay.offset;
            return dync__tensor_alias(in[k], t->dtype, &lay);
        }
        if (!seen && in[k]->storage->data == t->storage->data && t->storage->data)
            return dync__tensor_alias(in[k], t->dtype, &t->lay);
    }
    dync__storage *s = NULL;
    s = dync__storage_new(g->device, t->storage->size_bytes);
    if (s && dync__cuda_copy_later(g->device, s->data, g->device, t->storage->data,
                                   t->storage->size_bytes) != DYNC_OK) {
        dync__storage_unref(s);
        s = NULL;
    }
    return s ? dync__tensor_new(s, t->dtype, &t->lay) : NULL;
}

/* Results that share a storage share the copy too. */
static dync_status dync__cuda_graph_results(dync__cuda_graph *g, dync__tensor *const *in,
                                            dync__tensor **out)
{
    for (int i = 0; i < g->n_out; i++) {
        out[i] = NULL;
        if (!g->result[i]) continue;
        for (int j = 0; j < i && !out[i]; j++)
            if (g->result[j] && g->result[j]->storage == g->result[i]->storage && out[j])
                out[i] = dync__tensor_alias(out[j], g->result[i]->dtype, &g->result[i]->lay);
        if (!out[i] && !(out[i] = dync__cuda_graph_result(g, i, in))) return DYNC_ERR_MEMORY;
    }
    return DYNC_OK;
}

static dync_status dync__cuda_graph_replay(dync__cuda_graph *g, dync__tensor *const *in,
                                           dync__tensor **out)
{
    for (int i = 0; i < g->n_in; i++)
        if (g->moves[i] && in[i]->numel)
            DYNC__TRY(dync__cuda_copy_later(g->device, g->fixed[i]->storage->data, g->device,
                                            dync__tensor_data(in[i]),
                                            dync__cuda_span_bytes(in[i])));
    if (g->rng_count) {
        uint64_t state[2] = {dync__tls.rng_seed, dync__rng_take(g->rng_count)};
        DYNC__TRY(dync__cuda_copy_later(g->device, g->kept.rng, DYNC_CPU, state, sizeof state));
    }
    DYNC__TRY(dync__cuda_check(cudaGraphLaunch(g->exec, dync__cuda_stream(g->device)),
                               "cudaGraphLaunch"));
    (void)DYNC__ATOMIC_ADD(&dync__cuda_counters.replays, 1);
    return dync__cuda_graph_results(g, in, out);
}

/* Whether a graph can serve these inputs; notes what moves. *again: the recording has to go. */
static bool dync__cuda_graph_look(dync__cuda_graph *g, dync__tensor *const *in, bool *again)
{
    for (int i = 0; i < g->n_in; i++) {
        void *p = dync__tensor_data(in[i]);
        if (in[i]->device != g->device) return false;
        if (g->calls > 0 && !g->moves[i] && p != g->address[i]) {
            *again = true;
            g->moves[i] = i >= g->n_stays || !g->stays[i];
        }
        g->address[i] = p;
    }
    return true;
}

static dync_status dync__cuda_graph_run(void *state, int n_in, dync__tensor *const *in, int n_out,
                                        dync__tensor **out)
{
    dync__cuda_graph *g = state;
    bool again = false;
    dync__lock(&g->lock);
    dync_status status = dync__cuda_enter(g->device);
    if (status == DYNC_OK) status = dync__cuda_graph_room(g, n_in, n_out);
    if (status == DYNC_OK && !g->plain && !dync__cuda_graph_look(g, in, &again)) {
        g->plain = true;
        dync__log(DYNC__LOG_perf, "cudagraphs: an input is in main memory: run plainly");
    }
    if (again) dync__cuda_graph_drop(g);
    if (status != DYNC_OK || g->plain || g->calls == 0 || dync__cuda_tls.recording) {
        g->calls = 1;
        dync__unlock(&g->lock);
        return status != DYNC_OK ? status : g->inner.run(g->inner.state, n_in, in, n_out, out);
    }
    if (!g->exec) status = dync__cuda_graph_make(g, in);
    if (g->plain) {
        dync__unlock(&g->lock);
        return status != DYNC_OK ? status : g->inner.run(g->inner.state, n_in, in, n_out, out);
    }
    if (status == DYNC_OK) status = dync__cuda_graph_replay(g, in, out);
    dync__unlock(&g->lock);
    return status;
}

DYNC__FN dync_status dync__cuda_record(int device, const dync__graph *graph, dync__inner *inner)
{
    dync__cuda_graph *g = dync__calloc(sizeof *g);
    if (!g) return DYNC_ERR_MEMORY;
    g->n_stays = graph->n_inputs;
    if (!(g->stays = dync__calloc((size_t)g->n_stays + 1))) {
        dync__free(g, sizeof *g);
        return DYNC_ERR_MEMORY;
    }
    for (int i = 0; i < graph->over.n; i++)
        if (graph->over.at[i] >= 0 && graph->over.at[i] < g->n_stays)
            g->stays[graph->over.at[i]] = true;
    g->inner = *inner;
    g->device = device;
    memset(inner, 0, sizeof *inner);
    inner->run = dync__cuda_graph_run;
    inner->destroy = dync__cuda_graph_destroy;
    inner->narrow = dync__cuda_graph_narrow;
    inner->state = g;
    return DYNC_OK;
}

/* ==== cuda/public.c ================================================================================ */
/* cuda/public.c: the functions of dync_cuda.h and the driver of its row in the table of devices.
 * Last. */

static const dync__driver dync__cuda_device = {
    .known = dync__cuda_known,
    .alloc = dync__cuda_alloc,
    .free = dync__cuda_free,
    .copy = dync__cuda_copy,
    .read = dync__contiguous_copy,
    .kernel_new = dync__cuda_kernel_new,
    .call_new = dync__cuda_call_new,
    .call_takes = dync__gm_takes,
    .run = dync__cuda_run,
    .code_free = dync__cuda_code_free,
    .code_dump = dync__cuda_code_dump,
    .record = dync__cuda_record,
    .plans = &dync__plan_away,
};
#if !defined(DYNC__SPLIT)
static const dync__driver *dync__device_cuda = &dync__cuda_device;
#else
/* A program that links this file has the device. */
__attribute__((constructor)) static void dync__cuda_install(void)
{
    dync__device_cuda = &dync__cuda_device;
}
#endif

DYNC_API int dync_cuda_device_count(void) { return dync__cuda_count(); }
DYNC_API const char *dync_cuda_reason(void) { return dync__cuda_why(); }

static dync_status dync__cuda_device_of(int index, int *device)
{
    *device = DYNC_CUDA | index << 8;
    if (index < 0 || index >= DYNC__CUDA_DEVICES)
        return dync__fail(DYNC_ERR_VALUE, "expected a device from 0 to %d, got %d",
                          dync__cuda_count() - 1, index);
    DYNC__TRY(dync__cuda_known(*device));
    return dync__cuda_enter(*device);
}

DYNC_API dync_status dync_cuda_synchronize(int index)
{
    int device;
    DYNC__TRY(dync__cuda_device_of(index, &device));
    return dync__cuda_check(cudaDeviceSynchronize(), "a kernel or copy on the device failed");
}

DYNC_API bool dync_cuda_allow_tf32(bool allow)
{
    bool before = DYNC__ATOMIC_LOAD(&dync__cuda_tf32) != 0;
    DYNC__ATOMIC_STORE(&dync__cuda_tf32, allow);
    return before;
}

/* ---- memory ---------------------------------------------------------------------------------- */

DYNC_API dync_cuda_memory dync_cuda_memory_stats(int index) { return dync__cuda_stats(index); }
DYNC_API void dync_cuda_empty_cache(int index)
{
    int device;
    if (dync__cuda_device_of(index, &device) == DYNC_OK && dync_cuda_synchronize(index) == DYNC_OK)
        dync__cuda_trim(device);
}

static dync__tensor *dync__cuda_own(const dync_tensor *h)
{
    dync__tensor *t = dync__open(h);
    if (!t || (!(t->flags & DYNC__T_FAKE) && t->device != DYNC_META)) return t;
    dync__fail(DYNC_ERR_DATA_PTR, "expected a tensor with data, got one that has none");
    return NULL;
}

DYNC_API dync_tensor *dync_cuda_pin(dync_tensor *h)
{
    dync__tensor *t = dync__cuda_own(h), *dense = t ? dync__contiguous_copy(t) : NULL, *out = NULL;
    void *p = dense ? dync__cuda_alloc_pinned(dense->storage->size_bytes) : NULL;
    dync__storage *s = p ? dync__storage_borrow(DYNC_CPU, p, dense->storage->size_bytes) : NULL;
    if (s) {
        memcpy(p, dense->storage->data, dense->storage->size_bytes);
        s->flags = DYNC__STORAGE_PINNED;
        out = dync__tensor_new(s, t->dtype, &dense->lay);
    } else if (p) {
        dync__cuda_free(DYNC_CPU, p, 0);
    }
    dync__unref(dense);
    return dync__give(out);
}

DYNC_API dync_tensor *dync_cuda_to_async(dync_tensor *h, dync_device device)
{
    dync__tensor *t = dync__cuda_own(h), *out = NULL, *dense = NULL;
    if (!t || dync__device_known((int)device) != DYNC_OK) return NULL;
    if (device == DYNC_META || (t->device == DYNC_CPU && device == DYNC_CPU) ||
        !dync__layout_is_dense(&t->lay))
        return dync_to_device(h, device);
    dync__layout lay = t->lay;
    lay.offset = 0;
    size_t bytes = (size_t)t->numel * dync__dtype_info(t->dtype)->bytes;
    void *pinned = device == DYNC_CPU ? dync__cuda_alloc_pinned(bytes) : NULL;
    if (device == DYNC_CPU) {
        dync__storage *s = pinned ? dync__storage_borrow(DYNC_CPU, pinned, bytes) : NULL;
        if (s)
            s->flags = DYNC__STORAGE_PINNED;
        else if (pinned)
            dync__cuda_free(DYNC_CPU, pinned, 0);
        out = s ? dync__tensor_new(s, t->dtype, &lay) : NULL;
    } else {
        out = dync__tensor_empty(t->dtype, (int)device, &lay);
    }
    dync__unref(dense);
    if (out && bytes &&
        dync__cuda_copy_later((int)device, out->storage->data, t->device, dync__tensor_data(t),
                              bytes) != DYNC_OK) {
        dync__unref(out);
        out = NULL;
    }
    return dync__give(out);
}

DYNC_API void *dync_cuda_data(dync_tensor *h)
{
    dync__tensor *t = dync__cuda_own(h);
    if (!t) return NULL;
    if ((t->device & 255) != DYNC_CUDA)
        return dync__fail(DYNC_ERR_DEVICE, "expected a tensor on a CUDA device"), NULL;
    return dync__tensor_data(t);
}

/* ---- streams and events ---------------------------------------------------------------------- */

DYNC_API dync_cuda_stream *dync_cuda_stream_new(int index)
{
    int device;
    if (dync__cuda_device_of(index, &device) != DYNC_OK) return NULL;
    dync_cuda_stream *s = dync__calloc(sizeof *s);
    if (!s) return NULL;
    s->device = device;
    if (dync__cuda_check(cudaStreamCreateWithFlags(&s->stream, DYNC__CU_NON_BLOCKING),
                         "cudaStreamCreateWithFlags") == DYNC_OK)
        return s;
    dync__free(s, sizeof *s);
    return NULL;
}

/* Memory kept for the stream goes back: another stream may get the same handle. */
DYNC_API void dync_cuda_stream_free(dync_cuda_stream *s)
{
    if (!s) return;
    if (dync__cuda_tls.stream[s->device >> 8] == s) dync__cuda_tls.stream[s->device >> 8] = NULL;
    if (dync__cuda_enter(s->device) == DYNC_OK) {
        (void)cudaStreamSynchronize(s->stream);
        (void)cudaStreamDestroy(s->stream);
        dync__cuda_trim_stream(s->device, s->stream);
    }
    dync__free(s, sizeof *s);
}

DYNC_API dync_cuda_stream *dync_cuda_stream_use(dync_cuda_stream *s, int index)
{
    if (s) index = s->device >> 8;
    if (index < 0 || index >= DYNC__CUDA_DEVICES)
        return dync__fail(DYNC_ERR_VALUE, "there is no device %d", index), NULL;
    dync_cuda_stream *before = dync__cuda_tls.stream[index];
    dync__cuda_tls.stream[index] = s;
    return before;
}

static dync_status dync__cuda_given(const void *p, const char *what)
{
    return p ? DYNC_OK : dync__fail(DYNC_ERR_VALUE, "expected %s, got NULL", what);
}

DYNC_API dync_status dync_cuda_stream_synchronize(dync_cuda_stream *s)
{
    DYNC__TRY(dync__cuda_given(s, "a stream"));
    DYNC__TRY(dync__cuda_enter(s->device));
    return dync__cuda_check(cudaStreamSynchronize(s->stream), "a kernel or copy on the stream "
                                                              "failed");
}

DYNC_API dync_status dync_cuda_stream_wait(dync_cuda_stream *s, dync_cuda_event *e)
{
    DYNC__TRY(dync__cuda_given(s, "a stream"));
    DYNC__TRY(dync__cuda_given(e, "an event"));
    DYNC__TRY(dync__cuda_enter(s->device));
    return dync__cuda_check(cudaStreamWaitEvent(s->stream, e->event, 0), "cudaStreamWaitEvent");
}

DYNC_API void *dync_cuda_stream_handle(dync_cuda_stream *s) { return s ? (void *)s->stream : NULL; }

DYNC_API dync_cuda_event *dync_cuda_event_new(int index)
{
    int device;
    if (dync__cuda_device_of(index, &device) != DYNC_OK) return NULL;
    dync_cuda_event *e = dync__calloc(sizeof *e);
    if (!e) return NULL;
    e->device = device;
    if (dync__cuda_check(cudaEventCreateWithFlags(&e->event, 0), "cudaEventCreateWithFlags") ==
        DYNC_OK)
        return e;
    dync__free(e, sizeof *e);
    return NULL;
}

DYNC_API void dync_cuda_event_free(dync_cuda_event *e)
{
    if (!e) return;
    (void)cudaEventDestroy(e->event);
    dync__free(e, sizeof *e);
}

DYNC_API dync_status dync_cuda_event_record(dync_cuda_event *e)
{
    DYNC__TRY(dync__cuda_given(e, "an event"));
    DYNC__TRY(dync__cuda_enter(e->device));
    return dync__cuda_check(cudaEventRecord(e->event, dync__cuda_stream(e->device)),
                            "cudaEventRecord");
}

DYNC_API dync_status dync_cuda_event_synchronize(dync_cuda_event *e)
{
    DYNC__TRY(dync__cuda_given(e, "an event"));
    return dync__cuda_check(cudaEventSynchronize(e->event), "cudaEventSynchronize");
}

DYNC_API double dync_cuda_event_ms(dync_cuda_event *start, dync_cuda_event *end)
{
    float ms = 0;
    if (dync__cuda_given(start, "an event") != DYNC_OK ||
        dync__cuda_given(end, "an event") != DYNC_OK)
        return (double)NAN;
    return dync__cuda_check(cudaEventElapsedTime(&ms, start->event, end->event),
                            "cudaEventElapsedTime") == DYNC_OK
               ? (double)ms
               : (double)NAN;
}

DYNC_API dync_status dync_cuda_cache(const char *folder) { return dync__cuda_images_in(folder); }
DYNC_API dync_cuda_counters dync_cuda_get_counters(void) { return dync__cuda_counters; }
DYNC__LEVELS_END
#endif
