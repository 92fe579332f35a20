/* codegen/codegen.h: from a kernel of loop IR to something that runs. After loop/, before
 * kernel/. */
#ifndef DYNC__CODEGEN_H
#define DYNC__CODEGEN_H
#include "../loop/loop.h"
#include "../tensor/sym_list.h"

/* A runnable kernel. Immutable once made: running it is thread safe. interp.c (the tile
 * interpreter) makes it today; the JITs put themselves before it. */
typedef struct dync__code dync__code;
/* NULL + error; the kernel may die afterwards */
DYNC__FN dync__code *dync__code_new(const dync__kernel *);
/* Is it machine code with few vectors in registers? */
DYNC__FN bool dync__code_few_registers(void);
/* For a kernel of symbolic sizes (those of the table in force) its code for all sizes that the
 * table's guards hold for; it cannot run, but copies of it can (dync__code_lay). NULL: there is
 * none, which is no error; the log says why. */
DYNC__FN dync__code *dync__code_sized(const dync__kernel *);
/* Its sizes get their places. */
DYNC__FN void dync__code_map(dync__code *, const dync__sz_map *);
/* As a part of an image, whose copies run, once dync__code_settle has decided what is no
 * expression of sizes: by the code it is of, which outlives it, and the values of the places. NULL:
 * no memory, or it is interpreted. */
DYNC__FN dync__code *dync__code_lay(const dync__code *, dync__sz_image *);
DYNC__FN void dync__code_settle(dync__code *, dync__code *const *from, const int64_t *at);
/* Are both the same, machine code and numbers? For checks. */
DYNC__FN bool dync__code_same(const dync__code *, const dync__code *);
DYNC__FN bool dync__code_piece_same(const dync__code *, const dync__code *);
/* buffers[i] belongs to kernel->buf[i]. Splits itself over the pool when the work is worth it. */
DYNC__FN dync_status dync__code_run(const dync__code *, void *const *buffers, uint64_t rng_seed,
                                    uint64_t rng_offset);
/* Can the kernel run in pieces: part [begin, end) of `of` equal shares of its elements in order of
 * the loops? Then in any order, on any threads. */
DYNC__FN bool dync__code_has_parts(const dync__code *, int64_t of);
DYNC__FN dync_status dync__code_run_part(const dync__code *, void *const *buffers, int64_t begin,
                                         int64_t end, int64_t of);
/* Does it read by the n indices from an offset of buffer `index` on, all of them, rows of a table
 * of `size`? Then from now on a run is DYNC_ERR_INDEX, without words, where one is outside. */
DYNC__FN bool dync__code_looks(dync__code *, int index, int64_t offset, int64_t n, int64_t size);
DYNC__FN void dync__code_free(dync__code *);
/* of machine code. Kernels of one structure share theirs: what has been counted adds nothing. */
DYNC__FN int64_t dync__code_bytes(const dync__code *, dync__map *counted);
/* listing for DYNC_LOG=code */
DYNC__FN void dync__code_dump(dync__str *, const dync__code *);

/* What the tile interpreter has for instructions that few programs use is linked into a small
 * program by who builds them: random numbers; index; loadx, storex and index; reduce; scan; argmax
 * and argmin, besides reduce. */
DYNC__FN void dync__interp_draws(void);
DYNC__FN void dync__interp_indexes(void);
DYNC__FN void dync__interp_gathers(void);
DYNC__FN void dync__interp_reduces(void);
DYNC__FN void dync__interp_scans(void);
DYNC__FN void dync__interp_places(void);

/* csrc.c: the kernel as a C11 function over restrict pointers: `static void NAME(const float *a,
 * float *y) { ... }`. */
/* room: kept values lie in memory behind one more parameter, `unsigned char *a` (bytes, at most;
 * 0: there is none), and buffer i is given from its element base[i] on; bits of floats are read by
 * #_bits32, #_float32, #_bits64, #_float64, and rescale is #_rescale, the caller's. A buffer whose
 * one element is `known` has no parameter: its value stands in the text. NULL: kept values are
 * static. */
enum { DYNC__CSRC_BUFS = 64 };
typedef struct dync__csrc_room {
    int64_t bytes, base[DYNC__CSRC_BUFS];
    const void *known[DYNC__CSRC_BUFS];
    uint32_t loops; /* dync__element_csource: those whose indices it is given */
} dync__csrc_room;
DYNC__FN dync_status dync__kernel_csource(dync__str *, const dync__kernel *, const char *fn_name,
                                          dync__csrc_room *room_or_null);
/* A kernel without reductions that stores one value for each of its indices, as a function of one
 * element: `static inline float NAME(float x, int i0, const float *b1)` gives the value that is
 * stored; x is what is loaded from buffer `in`, then the indices of room->loops, then the buffers
 * that it reads beside. */
DYNC__FN dync_status dync__element_csource(dync__str *, const dync__kernel *, const char *fn_name,
                                           int in, dync__csrc_room *room);
/* static float %s_from_f16(uint16_t h) ..., %s_to_f16, the same of bf16: a format of one name */
DYNC__FN const char *dync__half_csource(bool out, bool bf16);
/* A size as a C expression; symbols of the table in force are named by their source. Terms of an
 * index: stride * var, offset; first: nothing stands before it. */
DYNC__FN void dync__size_csource(dync__str *, int64_t size);
DYNC__FN void dync__term_csource(dync__str *, int64_t stride, const char *var, bool *first);
DYNC__FN void dync__offset_csource(dync__str *, int64_t offset, bool first);
#endif
