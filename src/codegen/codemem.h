/* codegen/codemem.h: memory that machine code runs from. Before jit.c. */
#ifndef DYNC__CODEMEM_H
#define DYNC__CODEMEM_H
#include "../base/base.h"

/* A block of code. Blocks of one chunk lie behind each other. */
typedef struct dync__codeblock {
    void *exec;
    struct dync__codechunk *chunk;
} dync__codeblock;
/* Where the bytes go (write), and where they will run; no executable memory: false (said once in
 * the log), never an error. Between begin and end other threads wait. */
DYNC__FN bool dync__codemem_begin(size_t bytes, uint8_t **write, dync__codeblock *);
/* false: may not be executed after all; the block is gone */
DYNC__FN bool dync__codemem_end(dync__codeblock *, size_t bytes);
DYNC__FN void dync__codemem_free(dync__codeblock *);
typedef enum { DYNC__CODEMEM_TWICE, DYNC__CODEMEM_PAGES, DYNC__CODEMEM_REFUSED } dync__codemem_way;
/* for tests: the first way to try, for chunks made from now on */
DYNC__FN void dync__codemem_force(int way);
typedef struct dync__codemem_stats {
    int64_t live_bytes, chunks, refused;
} dync__codemem_stats;
DYNC__FN dync__codemem_stats dync__codemem_read_stats(void);
#endif
