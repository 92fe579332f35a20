/* codegen/convert.h: lines of f16 and bf16 from and to f32: by machine code where there is some,
 * else by the interpreter's loops. */
#ifndef DYNC__CONVERT_H
#define DYNC__CONVERT_H
#include "gemm_code.h"
#include "interp_tile.h"

/* How it is done, for a few lines in one call: codes live until dync_shutdown. */
typedef struct dync__convert {
    dync__tile tile;       /* of what is less than a vector */
    bool adds;             /* to += from */
    int from_bytes, lanes; /* of an element; of a vector, 0: tile does all */
    dync__gt_fn four, one; /* of so many vectors a row */
} dync__convert;
/* F16 or BF16 to F32, added to what is there */
DYNC__FN dync__convert dync__convert_adds(int from_dtype);
/* one of them F32, the other F16 or BF16 */
DYNC__FN dync__convert dync__convert_open(int to_dtype, int from_dtype);
/* n elements, each side dense and apart from the other */
DYNC__FN void dync__convert_run(const dync__convert *, void *to, const void *from, int64_t n);
#endif
