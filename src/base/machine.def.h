/* base/machine.def.h: TABLE: the thresholds. How large, how dear, how long something must be before
 * another way of doing it is faster. None decides what is right: another value gives the same
 * results, but for the order of some sums.
 *
 * X(name, value, unit, "what it decides", "what measures it"): base.h makes the constant DYNC__name
 * of each row; `build/tools/dync-opt --thresholds` prints the table. What measures:
 *   peers WORDS   make bench-peers ARGS="--quick --modes=eager WORDS"
 *   bench WORD    build/bench/bench WORD         calls WORD   build/bench/calls WORD
 *   lengths WORD  build/bench/lengths WORD
 *   -             nothing yet: make a row of it first
 * Values are of one core of a server processor with AVX-512, 32 KiB and 1 MiB of caches of its own.
 * DYNC__SMALLER(a, b): a under DYNC_SMALL, else b. Capacities (of keys, of tables, of what a file
 * may hold) are no thresholds and stand where they are used. */
/* clang-format off */
#define DYNC__MACHINE(X) \
    /* ---- memory ---- */ \
    X(ARENA_FIRST, 4096, bytes, "the first chunk of an arena", "bench cold") \
    X(ARENA_MOST, 65536, bytes, "chunks of an arena double up to this", "bench cold") \
    X(MEM_FLUSH, 65536, bytes, "what a thread counts by itself before it adds to the shared count", "calls guarded") \
    X(MEM_LARGE, 4 * 1024 * 1024, bytes, "larger data lie in large pages", "memory") \
    X(MEM_PLACED, 32768, bytes, "larger data keep off each other's cache sets", "peers pointwise") \
    X(JOINED_BYTES, 4096, bytes, "up to here a tensor's storage and data are one block", "bench eager") \
    X(ROOM_PER_STEP, 1 << 20, bytes, "what a step of a plan that writes its inputs may ask for", "peers training") \
    /* ---- threads ---- */ \
    X(POOL_SPIN_NS, 200000, ns, "a worker watches so long for work before it sleeps", "peers --threads=2 models") \
    X(POOL_OFTEN_NS, 500000, ns, "loops so close together keep workers awake", "peers --threads=2 models") \
    X(POOL_NEAR_NS, 8000, ns, "shorter loops are never shared", "peers --threads=2 pointwise") \
    X(POOL_FAR_NS, 100000, ns, "longer loops wake workers that sleep", "peers --threads=2 pointwise") \
    X(POOL_PIECE_NS, 25000, ns, "of a piece of a shared loop, at least", "peers --threads=2 pointwise") \
    X(POOL_PIECES, 8, pieces, "of a shared loop for each thread at most", "peers --threads=2 pointwise") \
    X(POOL_PER_CPU, 2, threads, "for each processor at most, however many are asked for", "peers --threads=32 sgemm") \
    X(POOL_LEAST, 4, threads, "which may be had on any machine", "peers --threads=32 sgemm") \
    X(POOL_LATE, 2, loops, "missed in a row: a worker is moved to another CPU", "peers --threads=2 sgemm") \
    X(POOL_JOIN_ROUNDS, 1024, rounds, "waited for a worker: it is moved to another CPU", "peers --threads=2 sgemm") \
    X(POOL_TRIALS, 16, loops, "alone and as many shared that decide which is faster", "peers --threads=2 pointwise") \
    X(POOL_TRIAL_FIRST, 128, loops, "after which a new finding is tried again", "peers --threads=2 pointwise") \
    X(POOL_TRIAL_NEXT, 2048, loops, "after which one is that was often found", "peers --threads=2 pointwise") \
    X(POOL_TRIAL_GAIN, 9, tenths, "of the time alone: a shared loop takes less", "peers --threads=2 pointwise") \
    X(FAR_BYTES, 1 << 20, bytes, "of a loop, from which on memory counts in its time", "peers --threads=2 pointwise") \
    X(FAR_PER_NS, 50, bytes, "that one thread gets from there", "peers --threads=2 pointwise") \
    X(MACS_PER_NS, 40, products, "of one thread, in what threads are worth", "peers sgemm conv") \
    X(GEMM_VECTORS_PER_NS, 3, vectors, "the same, of a matrix product in vectors", "peers sgemm") \
    X(CONV_PARALLEL, 300000, products, "from here a convolution's images are shared out", "peers --threads=2 conv") \
    X(SORT_PARALLEL, 20000, elements, "from here the rows of a sort are shared out", "peers sorting") \
    X(SORT_FEW_SLICE, 32768, elements, "of a thread's part of a row whose first are wanted", "peers topk") \
    X(SORT_SLICE, 16384, elements, "of each thread, of few long rows", "peers --threads=2 sorting") \
    X(AGAIN_ADDITIONS, 4, additions, "of backward are worth a byte that forward saves", "peers training") \
    X(VARIANT_LEAST, 1024, elements, "of a gradient that repeats itself, for a backward of its own", "peers training") \
    X(VARIANT_LOST, 32768, elements, "written out, an operator of backward, until it is", "peers training") \
    X(CROSSED_COPY, 4096, elements, "of a transposed tangent: an operator copies it", "peers training") \
    X(PAD_BYTES_PER_NS, 8, bytes, "of a padded array, in what threads are worth", "peers --threads=2 moves") \
    X(SCATTER_PER_NS, 1, elements, "of one thread, in what threads are worth", "peers --threads=2 scatter") \
    /* ---- fusion ---- */ \
    X(COST_DIV, 4, additions, "of a division or a square root", "peers pointwise") \
    X(COST_REM, 6, additions, "of a remainder", "peers pointwise") \
    X(COST_ROWS, 3, additions, "of what holds an index in its range and makes an offset of it", "peers moves") \
    X(COST_RANDOM, 24, additions, "of a random number: ten rounds of Philox", "peers pointwise") \
    X(COST_LINE, 64, bytes, "a stride above it costs a cache line a step", "peers moves") \
    X(COST_PAGE, 4096, bytes, "a stride from here on costs a page a step", "peers moves") \
    X(COST_PAGE_STEP, 192, bytes, "what a step of a page costs, in bytes of cache line", "peers moves") \
    X(SIZED_PLANS, 32, plans, "of all sizes, each for the ranges that its guards leave, of one graph", "bench/sizes") \
    X(SIZED_CLASSES, 16, classes, "of sizes that one lowering of a symbolic graph serves", "calls capture") \
    X(SLICE_PARTS, 10, parts, "of a term, in a sum of slices that is made part by part", "peers training") \
    X(ROLL_NEAR, 16, places, "rolls so near are slices of an array with its borders around it", "peers moves") \
    X(ROLL_FEW, 3, rolls, "of a value, from which on they are that", "peers moves") \
    X(SLICE_WHOLE, 2, terms, "of such a sum that are no slices, at most", "peers training") \
    X(FUSE_WINDOW, 256, steps, "fusion looks at so many at a time", "calls capture") \
    X(FUSE_INSTS, 400, instructions, "no kernel grows beyond, unless max_fusion_size says so", "bench cold") \
    X(FUSE_STRAIGHT, 64, instructions, "no kernel that is mostly one chain is fused to more", "bench/sizes pointwise") \
    X(FUSE_STRAIGHT_FEW, 56, instructions, "the same where registers are few", "bench/sizes pointwise") \
    X(FUSE_FEW, 12, instructions, "what has no more joins any kernel", "bench/sizes pointwise") \
    X(FUSE_STAYS, 1 << 20, elements, "between such kernels, at most", "bench/sizes pointwise") \
    X(FUSE_SERIAL, 65536, elements, "longer rows, if few: a second pass is a kernel", "peers rows") \
    X(FUSE_SMALL, 4096, elements, "smaller kernels may store in any order", "peers moves") \
    X(PAD_SIDES, 4096, elements, "around what is put into more, sides are filled alone", "peers moves pad") \
    X(FUSE_PIECE, 32, elements, "shorter pieces of rows folded twice are put in order", "peers moves rows") \
    X(FUSE_PIECE_ACROSS, 64, elements, "the same up to here, of pieces read across", "peers moves rows") \
    X(FUSE_EMPTY, 6, ratio, "a so-manieth of the lanes empty: dear arithmetic is apart", "peers pointwise") \
    X(FUSE_FOLDED, 64, elements, "a fold: rows as short are folded apart from dear arithmetic", "peers rows") \
    X(FUSE_FOLDED_ROWS, 16, folds, "so many, if dear arithmetic is done once a row", "peers rows") \
    X(FUSE_SIDE_BY_SIDE, 16, rows, "so many beside each other are stored as vectors", "peers moves") \
    X(FUSE_FREE, 2, additions, "an expression so cheap is repeated even for a tiny array", "peers pointwise") \
    X(FUSE_CHEAP, 4, additions, "an expression so cheap is repeated by every reader", "peers pointwise") \
    X(FUSE_FAIR, 12, additions, "the same where readers compute it twice at most", "peers rows") \
    X(FUSE_BROADCAST, 8192, elements, "from here an expression of a few is worth repeating", "peers rows") \
    X(FUSE_BROADCAST_SHARE, 8, ratio, "few: a so-manieth of the elements that are made of them", "peers rows") \
    X(TABLE_MOST, 2048, instructions, "that a loop over no argument runs, to be computed beforehand", "bench cold") \
    X(KEPT_MOST, 4 << 20, bytes, "a plan keeps no more of what no argument reaches", "peers moves") \
    X(UNROLL_ROW, 15, elements, "shorter rows are written out: vectors are not full", "peers moves") \
    X(UNROLL_ROWS, 256, rows, "from so many rows on", "peers moves") \
    X(UNROLL_INSTS, 700, instructions, "but no longer than this", "bench cold") \
    X(UNROLL_ACCESSES, 48, accesses, "nor with more of these", "bench cold") \
    X(QDQ_WEIGHTS, 65536, elements, "dequantized matrices of so many are multiplied as bytes", "peers onnx") \
    X(EPILOGUE_NEAR, 8, steps, "how far after a kernel call its epilogue may stand", "peers linear") \
    X(TAIL_LEAST, 16, calls, "a part that is compiled once has at least so many", "peers training") \
    /* ---- machine code and the tile interpreter ---- */ \
    X(LP_LANES, 512, lanes, "of an interpreter's tile, fewer where many values are live", "DYNC_CPU=none bench") \
    X(INTERP_L1_BYTES, 24 * 1024, bytes, "what the tiles in use may take", "DYNC_CPU=none bench") \
    X(LP_KEEP_BYTES, 256 * 1024, bytes, "larger row buffers: fewer rows at a time", "DYNC_CPU=none bench softmax") \
    X(LP_CHEAP, 6, instructions, "more are kept in a row buffer rather than repeated", "peers rows") \
    X(LP_DEAR, 200, instructions, "the same where a row buffer would be huge", "peers rows") \
    X(COLD_WORTH, 24, steps, "so many are worth a test that skips them", "DYNC_CPU=none bench") \
    X(IRUN_STACK, DYNC__SMALLER(512, 2048), bytes, "scratch up to which no memory is asked for", "bench eager") \
    X(JIT_KEEP, 4 * 1024 * 1024, bytes, "kernels with larger row buffers stay interpreted", "peers rows") \
    X(JIT_LONG, 512 * 1024, bytes, "values are computed twice rather than kept in more", "peers rows") \
    X(JIT_NONTEMPORAL, 32 * 1024 * 1024, bytes, "arrays of more are stored by non-temporal stores", "bench a/(") \
    X(JIT_PICKED, 512, elements, "of a row, by indices that all rows share", "peers moves") \
    X(JIT_AHEAD, 8, rows, "of a large table, fetched before they are read", "peers moves") \
    X(JIT_STRIP, 1024, lanes, "of a piece of a shared loop, at least", "peers --threads=2 rows") \
    X(JIT_TALL_LANES, 2048, lanes, "columns summed at once where columns are many", "peers rows") \
    X(VERTICAL_ROWS, 4, rows, "fewer are not folded side by side in lanes", "peers rows") \
    X(VERTICAL_LANES, 4, tiles, "of lanes that rows side by side take: a few pages", "DYNC_CPU=none bench") \
    X(VERTICAL_KEPT, 32, rows, "fewer side by side in what may be kept: their values are made twice", "peers rows") \
    X(BLOCK_ROW, 96, elements, "shorter rows are done some at a time", "DYNC_CPU=none bench") \
    X(NARROW_INSTS, 24, instructions, "half empty vectors: a shorter kernel is interpreted", "peers rows") \
    X(NARROW_ROW, 256, elements, "where its rows are so long", "peers rows") \
    X(TRANSPOSED_ROWS, 16, rows, "from here strided rows are transposed, some at once", "peers moves") \
    X(TRANSPOSED_LEAST, 128, elements, "in rows from here", "peers moves") \
    X(TRANSPOSED_MOST, 8192, elements, "to here", "peers moves") \
    X(REPEAT_ROW, 32, elements, "shorter rows, of which loads have one for all, are one long row", "peers moves") \
    X(REPEAT_TIMES, 8, rows, "of so many", "peers moves") \
    X(REPEAT_FEW, 6, elements, "the same beyond what stays in a cache", "peers moves") \
    X(REPEAT_LANES, 2048, lanes, "of a tile at most", "peers moves") \
    X(REPEAT_LEAST, 1024, elements, "in kernels of so many", "peers moves") \
    X(SQUARE_LEAST, 8, elements, "shorter sides, or closer steps, are not cut into squares", "peers moves") \
    X(SQUARE_ROWS, 64, rows, "of a square of the interpreter", "DYNC_CPU=none bench") \
    X(SQUARE_INSTS, 24, instructions, "longer kernels transpose into tiles, not in registers", "peers moves") \
    X(SQUARE_STREAMS, 8, streams, "those with more of these, too", "peers moves") \
    X(SQUARE_LIVE, 8, registers, "those with more values alive, too", "peers moves") \
    X(BLOCK_SECTIONED, 8192, lanes, "kernels of parts with longer rows are not cut into blocks", "peers cat") \
    X(BLOCK_FLAT, 1024, bytes, "of shorter rows all of a block are one", "peers moves") \
    X(BLOCK_LANE_BYTES, 1024, bytes, "of a row of a transposed block", "peers moves") \
    X(BLOCK_LANES, 512, lanes, "of such a row at most", "peers moves") \
    X(BLOCK_BYTES, 16 * 1024, bytes, "of a transposed block with few lanes", "peers moves") \
    X(CROWDED_RUN, 256, bytes, "of a row at a time where rows lie in one set of the cache", "peers moves") \
    X(CROWDED_LANES, 128, lanes, "of a block then", "peers moves") \
    X(SIDE_LANES, 512, lanes, "of a copy by squares at least", "peers moves") \
    X(SIDE_ROWS, 128, rows, "of a copy by squares at least", "peers moves") \
    X(SECOND_CACHE, 1024 * 1024, bytes, "squares of more are prefetched", "peers moves") \
    X(SPLIT_ROWS, 64, rows, "fewer that are long: threads share a row", "peers --threads=2 rows") \
    X(SPLIT_ROW, 16384, elements, "long", "peers --threads=2 rows") \
    X(TALL_ROWS, 64, rows, "from here columns are summed by some rows at a time", "peers rows") \
    X(TALL_LANES, 512, lanes, "where there are so many columns", "peers rows") \
    X(TALL_ELEMENTS, 256 * 1024, elements, "and so much beyond the caches", "peers rows") \
    X(TALL_PLACES, 2048 * 1024, elements, "where argmax and argmin of columns are so, too", "peers rows") \
    X(STRIP_ROWS, 4, rows, "short ones go through each phase together", "lengths layer_norm") \
    X(STRIP_BYTES, 2048, bytes, "short", "lengths layer_norm") \
    X(STRIP_PHASES, 3, phases, "of so many", "peers rows") \
    X(STRIP_SLOTS, 4096, bytes, "where one row's slots have no more", "-") \
    X(JIT_TALL_ROWS, 16, rows, "of columns summed at a time", "peers rows") \
    X(JIT_PICKED_APART, 32, elements, "the same where every row has indices of its own", "peers moves") \
    X(JIT_PICKED_ROW, 1024, bytes, "longer rows by an index are left to the code: elements of 4 bytes", "peers moves") \
    X(JIT_SHARE, 32, rows, "that share their indices, at a time", "peers moves") \
    X(JIT_COPY, 1024, bytes, "longer rows are copied by memcpy", "peers moves") \
    X(JIT_TABLE, 1 << 18, bytes, "rows of a larger table are prefetched", "peers moves") \
    X(JIT_FAR, 1 << 22, bytes, "indices into a larger table are checked as its rows are prefetched", "peers moves") \
    X(JIT_LED, 32768, bytes, "of such rows prefetched at a time", "peers moves") \
    X(CODEMEM_CHUNK, 256 * 1024, bytes, "kernels share executable memory of this size", "bench cold") \
    X(GT_FEW, 12, rows, "up to here rows of a transpose are woven by byte shuffles", "peers moves") \
    X(GT_STAGED, 128, rows, "of a transpose by way of scratch memory, at once", "peers moves") \
    X(CT_UNROLL, 16, products, "written out in a convolution tile's sum", "peers conv") \
    X(CT_IDLE, 128, forms, "convolution tiles that nobody uses are kept up to this", "calls miss") \
    /* ---- kernel calls ---- */ \
    X(GEMM_ROWS, 14, rows, "of a tile", "peers sgemm") \
    X(GEMM_UNROLL, 4, steps, "of the sum behind each other in a tile's code", "peers sgemm") \
    X(GEMM_TOLD_C, 5, rows, "of a tile, from here c is prefetched before the sum", "peers sgemm") \
    X(GEMM_KC, 256, steps, "of the sum at a time", "peers sgemm") \
    X(GEMM_MC, 168, rows, "of a, packed at a time", "peers sgemm") \
    X(GEMM_NC, 2048, columns, "of b, packed at a time", "peers sgemm") \
    X(GEMM_NEAR, 1 << 20, bytes, "up to here b is read where it lies", "peers sgemm") \
    X(GEMM_NEAR_LOW, 640 * 1024, bytes, "the same where tiles are low, as registers are few", "peers sgemm") \
    X(GEMM_L1, 40 * 1024, bytes, "of cache lines of a tile's columns of it, with few registers", "peers sgemm") \
    X(GEMM_FEW, 84, rows, "and for so few rows of a", "peers sgemm") \
    X(GEMM_A_LIES, 128, steps, "up to here a is read where it lies", "peers sgemm") \
    X(GEMM_A_SET, 1024, bytes, "unless its rows lie a multiple of this apart: one set of the cache", "peers sgemm") \
    X(GEMM_A_FEW, 8, rows, "fewer of a are read where they lie in any case", "peers sgemm") \
    X(GEMM_DOTS_ROWS, 28, rows, "up to here, with both along the sum, it is inner products", "peers linear") \
    X(GEMM_DOTS_K, 32, steps, "of the sum for each of these rows", "peers linear") \
    X(GEMM_DOTS_FEW, 7, rows, "the same where registers hold less than 4 x 4 of them", "peers linear") \
    X(GEMM_DOTS_NEAR, 128 * 1024, bytes, "of b at a time for all rows of inner products", "peers linear") \
    X(GEMM_TRANSPOSED_ROWS, 32, rows, "up to here tiles of c's transpose read a b along the sum", "peers training") \
    X(GEMM_TRANSPOSED_KEPT, 16, rows, "up to here even where its panels could be kept", "peers linear") \
    X(GEMM_TRANSPOSED_B, 128 * 1024, bytes, "of b, at least", "peers linear") \
    X(GEMM_TRANSPOSED_ROW, 128, bytes, "of a column of c then, at most", "peers training") \
    X(GEMM_TRANSPOSED_N, 32, columns, "of c then, at least", "peers training") \
    X(GEMM_TRANSPOSED_SOME, 112, columns, "of c at a time then", "peers training") \
    X(GEMM_TRANSPOSED_CROWD, 6, columns, "of a tile where b's columns lie in one set of the cache", "peers training") \
    X(GEMM_DOTS_ONE, 16, steps, "of the sum of one row", "peers linear") \
    X(GEMM_LINES_ROWS, 8, rows, "up to here a large b is read row by row", "peers sgemm") \
    X(GEMM_LINES_ROW, 4096, bytes, "where its rows are so long", "peers sgemm") \
    X(GEMM_LINES_BYTES, 8 << 20, bytes, "and all of it so large", "peers sgemm") \
    X(GEMM_FEW_LINES, 8, rows, "of b at a time then", "peers sgemm") \
    X(GEMM_HOT, 16384, bytes, "of c that the epilogue is told of at once", "peers linear") \
    X(GEMM_TOLD_ROWS, 64, rows, "threads share rows from here, with their epilogues", "peers --threads=2 linear") \
    X(GEMM_RELAID, 128 * 1024, bytes, "of a b along the sum, made dense along its rows for short sums", "peers sgemm") \
    X(GEMM_SHARE, 512, rows, "or columns of a piece that packs the other operand", "peers --threads=2 sgemm") \
    X(GEMM_EVEN, 4, tiles, "a share, where there are fewer each has as many rows", "peers --threads=2 linear") \
    X(RNN_GATE, 32, products, "that a gate of a recurrent step is worth beside its sum", "peers LSTM") \
    X(BESIDE_STEPS, 24, steps, "of a plan that a call goes back at most, to be beside another", "peers LSTM") \
    X(GEMM_FIX, 1 << 19, products, "smaller products have their tiles looked up once", "peers linear") \
    X(GEMM_MANY, 8, products, "from here a batch is done by one call for each tile", "peers sgemm") \
    X(GEMM_MANY_OF, 1 << 15, products, "of numbers in each of them, at most", "peers sgemm") \
    X(GEMM_STACK, DYNC__SMALLER(512, 16384), bytes, "panels up to which no memory is asked for", "peers sgemm") \
    X(MM_FEW, 8, rows, "of bf16: so few are converted and b read as it is", "peers linear") \
    X(MM_ROWS, 12 * 14, rows, "of bf16, converted at a time", "peers linear") \
    X(MM_KEEP, 512, elements, "from here a b that stays the same is packed once", "peers linear") \
    X(CONV_COLUMNS_BYTES, DYNC__SMALLER(8 * 1024, 1024 * 1024), bytes, "of unfolded input at a time", "peers conv") \
    X(CONV_PLANE, 64, pixels, "from here a 1x1 convolution is a product where the planes lie", "peers conv") \
    X(CONV_PLANES, 3 << 19, elements, "of all planes, up to which it is", "peers conv") \
    X(CONV_WEIGHTS, 1 << 16, elements, "of weights, up to which it is", "peers conv") \
    X(CONV_HOT, 256 * 1024, bytes, "of the result that the epilogue is told of at once", "peers conv") \
    X(WINOGRAD_MOVE, 10, products, "what a transformed element costs", "peers conv") \
    X(WINOGRAD_CACHED, 1 << 18, elements, "transformed weights of more come from memory", "peers conv") \
    X(WINOGRAD_WEIGHT, 6, products, "what each of them costs then", "peers conv") \
    X(WINOGRAD_ROOM, 384 * 1024, bytes, "transformed tiles of one job", "peers conv") \
    X(WINOGRAD_TILES, 14, tiles, "of one job, at least", "peers conv") \
    X(CJ_BYTES_PER_NS, 25, bytes, "into and out of blocks, in what threads are worth", "peers --threads=2 conv") \
    X(CJ_L2, 512 * 1024, bytes, "of a job's input and result", "peers conv") \
    X(CJ_WEIGHTS, 1024 * 1024, bytes, "up to which a job is some rows rather than an image", "peers conv") \
    X(CJ_SUM, 192, pixels, "of a weight gradient's sum at a time", "peers training") \
    X(CJ_IMAGE_NS, 100000, ns, "from here each image of a weight gradient is shared", "peers --threads=2 training") \
    X(CJ_GROUP_NS, 20000, ns, "of a group of images, at least", "peers --threads=2 training") \
    X(CJ_GROUPS, 16, groups, "at most, and tiles that share an image", "peers --threads=2 training") \
    X(CJ_GROUP_SUMS, 1024 * 1024, bytes, "of all groups' sums", "peers --threads=2 training") \
    X(CJ_NEAR, 16 * 1024, bytes, "of the result that the epilogue is told of at once", "peers conv") \
    X(CJ_PATIENCE, 4, runs, "in which weights changed: they are no longer kept packed", "peers training") \
    X(ATT_QB, 128, queries, "of a block of attention", "peers block") \
    X(ATT_KB, 256, keys, "of a block of attention", "peers block") \
    X(SORT_DEAL, 256, elements, "from here a line is dealt by bytes, not merged", "peers sorting") \
    X(SORT_WIDE, 6144, elements, "and from here by 11 bits at a time, 3 * 2^11 counts", "peers sorting") \
    X(SORT_FEW, 4, ratio, "a so-manieth of a row or less is gathered, not sorted whole", "peers sorting") \
    X(SORT_LONG, 256, elements, "in rows from here on", "peers sorting") \
    X(SORT_ROOM, 64, elements, "gathered before they are joined, at least", "peers sorting") \
    X(FOURIER_LANES, 600000, bytes, "up to here a Fourier transform takes a row in each lane", "peers fft") \
    X(FOURIER_L2, 1024 * 1024, bytes, "a second cache from which on more may do so:", "peers fft") \
    X(FOURIER_LANES_L2, 5, ratio, "as much as so many of them", "peers fft") \
    X(FOURIER_NS, 1, ns, "of a transform for each number that comes of it", "peers fft") \
    X(POOL2D_PARALLEL, 100000, elements, "of all windows of a pool, from which threads are woken", "peers pool") \
    X(PAD_CALL, 512, bytes, "of a padded row from which memcpy copies it", "peers moves") \
    X(CHECK_INDEX_CODE, 4096, elements, "from here indices are checked by a kernel", "peers moves") \
    /* ---- autotune ---- */ \
    X(TUNE_NS, 1000000, ns, "that timing one form of a kernel may take", "-") \
    X(TUNE_BYTES, 64 * 1024 * 1024, bytes, "that a kernel which is timed may reach", "-")
/* clang-format on */
