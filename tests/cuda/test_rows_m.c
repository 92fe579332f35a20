/* Rows M-04 to M-06 and M-11 to M-14: the minifier on a GPU; its programs link what this one does,
 * the emulator or the runtime. */
#define CUDA_ROWS
#if defined(TEST_CUDART)
#define PROGRAM_OBJECTS "\"$B\"/cuda/dync.o " TEST_CUDART
#else
#define PROGRAM_OBJECTS                                                            \
    "\"$B\"/cuda/dync.o \"$B\"/tests/cuda_emulator/cudart.o "                      \
    "\"$B\"/tests/cuda_emulator/ptx_parse.o \"$B\"/tests/cuda_emulator/ptx_run.o " \
    "\"$B\"/tests/cuda_emulator/ptx_arith.o \"$B\"/tests/cuda_emulator/ptx_async.o"
#endif
#include "../minify/test_rows_m.c"
