/* aot/options.h: options of backends. After capture/capture.h, before aot.h. */
#ifndef DYNC__AOT_OPTIONS_H
#define DYNC__AOT_OPTIONS_H
#include "../capture/capture.h"

/* Options of backends: one row each. -1, which no value is: not given, so that the backend's or the
 * library's own holds. */
#define DYNC__OF_AOT 1u
#define DYNC__OF_INDUCTOR 2u
#define DYNC__OF_TVM 4u
#define DYNC__OF_MINIFIER 8u
#define DYNC__OF_ORT 16u
/*    name             kind   least most    step alone words              of, what for */
/* clang-format off */
#define DYNC__BACKEND_OPTIONS(X)                                                                                      \
    X(opt_level,       INT,   0,    3,       1,  0, NULL,                                                             \
      DYNC__OF_INDUCTOR | DYNC__OF_TVM | DYNC__OF_ORT,                                                                \
      "how much is optimised; inductor's 0: as no_fuse")                                                              \
    X(threads,         INT,   0,    1 << 20, 1,  0, NULL,               DYNC__OF_INDUCTOR | DYNC__OF_ORT,             \
      "at most; 0: all")                                                                                              \
    X(fast_math,       BOOL,  0,    1,       0,  0, NULL,               DYNC__OF_INDUCTOR, "functions to 3.5 ULP")    \
    X(no_fuse,         BOOL,  0,    1,       0,  0, NULL,               DYNC__OF_INDUCTOR, "each operator by itself") \
    X(autotune,        PATH,  0,    0,       0,  0, NULL,               DYNC__OF_INDUCTOR,                            \
      "kernels are timed; PATH remembers")                                                                            \
    X(winograd,        INT,   2,    4,       2,  4, NULL,               DYNC__OF_INDUCTOR,                            \
      "tiles of 3x3 convolutions")                                                                                    \
    X(cudagraphs,      BOOL,  0,    1,       0,  0, NULL,               DYNC__OF_INDUCTOR, "launches are recorded")   \
    X(partition,       WORD,  0,    0,       0,  0, DYNC__TEXT("min_cut, default"), DYNC__OF_AOT,                     \
      "what is saved for backward")                                                                                   \
    X(decompositions,  WORD,  0,    0,       0,  0, DYNC__TEXT("needed, all"), DYNC__OF_AOT, "operators written out")  \
    X(memory_budget,   FLOAT, 0,    1,       0,  0, NULL,               DYNC__OF_AOT,      "of activations")          \
    X(scheduler,       WORD,  0,    0,       0,  0, DYNC__TEXT("none"), DYNC__OF_TVM,      "TVM's tuner")             \
    X(providers,       TEXT,  0,    0,       0,  0, NULL,               DYNC__OF_ORT,      "CPU, CUDA, ... by +")     \
    X(compiler_name,   TEXT,  0,    0,       0,  0, NULL,               DYNC__OF_MINIFIER, "the backend that fails")
/* clang-format on */
typedef struct dync__options {
    /* as given, for the compilers of others and for repros; "" for none */
    const char *text;
    int opt_level, threads, fast_math, no_fuse, winograd, cudagraphs;
    int partition, decompositions, scheduler; /* which word */
    double memory_budget;
    dync__option_path autotune;
    char compiler_name[128], providers[128];
} dync__options;
#define DYNC__OPTIONS_DEFAULT \
    {.text = "",              \
     .opt_level = -1,         \
     .partition = -1,         \
     .decompositions = -1,    \
     .scheduler = -1,         \
     .memory_budget = -1}
/* with a text of its own; false: no memory */
DYNC__FN bool dync__options_copy(dync__options *, const dync__options *from);
DYNC__FN void dync__options_free(dync__options *);
#endif
