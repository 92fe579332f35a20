/* tools/ir/ir.h: what tests and dync-opt do with loop IR and the library does not: run it index by
 * index, read its text.
 *
 * Linked into the split build beside the library's own files (the Makefile's libdync.a). */
#ifndef DYNC_TOOLS_IR_H
#define DYNC_TOOLS_IR_H
#include "../../src/dync.in.h"
#include "../../src/loop/loop.h"

/* The oracle: runs k index by index. buffers[i] belongs to k->buf[i]. Sums are compensated. Indices
 * of loadx and storex are checked where the size is known (DYNC_ERR_INDEX). */
DYNC__FN dync_status dync__kernel_eval(const dync__kernel *k, void *const *buffers,
                                       uint64_t rng_seed, uint64_t rng_offset);
/* NULL + DYNC_ERR_FORMAT with the line; print(parse(t)) == t */
DYNC__FN dync__kernel *dync__kernel_parse(dync__arena *, const char *text);
#endif
