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
