/* codegen/jit.h: kernels as machine code: jit.c compiles, jit_run.c runs, some by way of jit_take.c
 * or jit_blocks.c. Before interp.c, which
 * asks for it. */
#ifndef DYNC__JIT_H
#define DYNC__JIT_H
#include "codemem.h"
#include "code.h"
#include "plan_loops.h"
#include "gen.h"
#if DYNC__JIT
/* of the argument block; elements of a row, by indices that all rows share */
enum { DYNC__JIT_WORDS = 320 };
/* Machine code of one structure. */
typedef struct dync__jit_form {
    struct dync__jit_form *next;
    uint64_t hash;
    uint8_t *key; /* NULL: of one kernel alone, not shared */
    size_t key_bytes, code_bytes;
    int32_t users, frame, unroll, strip, slots, slot_bytes; /* under the lock */
    dync__codeblock block;
} dync__jit_form;

/* One of a row of them (dync__jit_stream_at).
 * transposed: blocks of it are transposed into a tile (a load) or from one (a store), or the lanes
 * that all rows share, or that repeat themselves after `period` (else 0), are collected in one, and
 * the code sees the tile; lane: its own step then. tile: where in the scratch memory of a block. */
/* slot: among the slots */
typedef struct dync__jit_reduce {
    int32_t phase, slot;
    uint8_t kind, type;
} dync__jit_reduce;
typedef struct dync__jit_stream {
    int32_t buf;
    uint8_t transposed, bytes;
    bool nontemporal;
    int64_t at, lane, tile, period, step[];
} dync__jit_stream;
enum { DYNC__JIT_TRANSPOSE_LOAD = 1, DYNC__JIT_TRANSPOSE_STORE, DYNC__JIT_COLLECT };
/* A gather. each 0: what is read by an index is stored as it is, by a loop over bytes instead of
 * code, which does not wait for memory. Streams: index, table, result; size 0: there is no gather.
 * each > 0: the code reads rows of the table by indices that lie as its own rows do, `each` for one
 * row; where the table is large (far) it runs `some` rows at a time, and what the next ones will
 * read is prefetched. */
/* covers: so many indices, side by side; checks: one outside is an error */
typedef struct dync__jit_take {
    int32_t stream[3];
    bool checks, far;
    int64_t size, stride, covers, each, some;
} dync__jit_take;
/* A gather by rows, for jit_settle.c to make a take of. Streams as there; bytes: it is stored as it
 * is, and the kernel does nothing else; strides of the index and the table by loop, rows before
 * inner ones, in elements. */
typedef struct dync__jit_by_row {
    int32_t stream[3];
    bool bytes;
    int64_t rows, row_stride, index[2 * DYNC__GEN_DIMS], table[2 * DYNC__GEN_DIMS];
} dync__jit_by_row;
struct dync__jit {
    /* nontemporal: with non-temporal stores, where cache lines are whole; squares: transposes
     * squares of `side` in registers; NULL: none */
    dync__jit_form *form, *nontemporal, *squares;
    char *listing, *other; /* of form, of nontemporal or squares */
    size_t bytes;
    int32_t n_words, n_streams, n_row_dims, n_inner_dims, record;
    bool vertical, split;
    int32_t n_phases, n_reduces, slot_bytes;
    int64_t state_lanes, state_bytes; /* tall: of so many lanes; 0 */
    /* blocks: > 0: nothing is done but transposing stream copies - 1 into the other; 0: more */
    int8_t copies;
    /* tiles: where in the kept bytes they begin, after row buffers */
    int64_t rows, lanes, keep_bytes, tiles;
    /* A kernel in blocks: `rows` are of one loop, the others (n_over) stand around; a block is
     * about this many rows and lanes. */
    /* fetches: the kernel touches more than the second cache holds: what is not transposed is
     * prefetched; sectioned: a block has whole rows; collects: nothing is transposed; least, most:
     * bytes of an element among what is transposed; moved: of all streams at one index */
    bool blocks, fetches, sectioned, collects;
    int32_t n_over, least, most, moved;
    /* streams: step[0] of rows, step[1 + d] of over[d] */
    int64_t over[DYNC__GEN_DIMS], block_rows, block_lanes, side;
    size_t stream_bytes;      /* of one, with as many steps as there are loops to have one */
    char *stream;             /* dync__jit_stream_at */
    dync__jit_reduce *reduce; /* split ones' */
    dync__jit_take take;
    int64_t *words;
    dync__jit_by_row *gather; /* NULL: what they are is decided: take */
    int32_t n_gathers;
};
/* How many steps its streams have. */
DYNC__INLINE int dync__jit_steps(int n_row_dims, int n_over)
{
    int steps = DYNC__MAX(n_row_dims, 1 + n_over);
    return DYNC__MIN(steps, DYNC__GEN_DIMS);
}
DYNC__INLINE dync__jit_stream *dync__jit_stream_at(const dync__jit *jit, int s)
{
    return (dync__jit_stream *)(void *)(jit->stream + (size_t)s * jit->stream_bytes);
}
/* The tile of a transposed stream: rows 64-byte aligned, an odd number of cache lines apart, as
 * powers of two fall into one set of the cache. */
DYNC__INLINE int64_t dync__jit_tile_bytes(int64_t rows, int64_t lanes, int bytes)
{
    return rows * (((lanes * bytes + 63) & ~(int64_t)63) | 64);
}
/* jit_settle.c, once sizes are numbers: how large blocks are; whether a gather is a take. */
DYNC__FN void dync__jit_settle_blocks(dync__jit *);
DYNC__FN void dync__jit_settle_gather(dync__jit *, const dync__jit_by_row *);
/* jit_take.c: what jit->take says, over the argument block as the code would; false: an index lies
 * outside. */
DYNC__FN bool dync__jit_take_rows(const dync__jit *, int64_t *words);
/* jit_blocks.c: how many blocks so many rows have; blocks [begin, end) of those that rows [first,
 * first + n_rows) have. DYNC_ERR_MEMORY: none for tiles. */
DYNC__FN int64_t dync__jit_n_blocks(const dync__jit *, int64_t rows);
DYNC__FN dync_status dync__jit_blocks(const dync__jit *, void *const *buffers,
                                      const uint64_t rng[2], int64_t first, int64_t n_rows,
                                      int64_t begin, int64_t end);
/* jit_blocks.c: do the non-temporal streams begin, and go on, by whole cache lines? */
DYNC__FN bool dync__jit_whole_lines(const dync__jit *, const int64_t *record);
/* One segment of a split kernel: slots come from `in` and go to `out`. Of a tall one: inner indices
 * [from, from + n). */
typedef struct dync__jit_segment {
    int64_t number;
    char *in, *out, *keep;
    int64_t from, n;
} dync__jit_segment;
/* jit_piece.c: rows [row, row_end) of lanes [lane, lane_end); segment: NULL for all of them. Works
 * on a copy of the argument block, so threads may share jit. DYNC_ERR_INDEX: an index outside the
 * table; DYNC_ERR_MEMORY: none for row buffers. */
DYNC__FN dync_status dync__jit_piece(const dync__jit *, void *const *buffers, const uint64_t rng[2],
                                     int64_t row, int64_t row_end, int64_t lane, int64_t lane_end,
                                     const dync__jit_segment *);
#endif
/* The kernel of b (planned by the interpreter) as machine code; NULL where it stays interpreted:
 * the log says why. Never an error. */
DYNC__FN dync__jit *dync__jit_new(dync__loop_plan *, int level);
DYNC__FN dync_status dync__jit_run(const dync__code *, void *const *buffers, const uint64_t rng[2]);
/* For dync__code_map, _lay, _settle and _same. A copy shares the forms of what it is of and is not
 * freed; it has room for so many numbers. number[i]: what buffer n_bufs + i has as its one element,
 * of 8 bytes. */
DYNC__FN void dync__jit_map(dync__jit *, const dync__sz_map *);
DYNC__FN dync__jit *dync__jit_lay(const dync__jit *, int n_numbers, dync__sz_image *);
DYNC__FN bool dync__jit_settles(const dync__jit *); /* is there something to, beside numbers? */
DYNC__FN void dync__jit_settle(dync__jit *, int n_bufs, int n_numbers, const int64_t *number);
DYNC__FN bool dync__jit_same(const dync__jit *, const dync__jit *);
DYNC__FN bool dync__jit_is_single(const dync__jit *); /* one row, or one lane */
/* May copies share its code? Not where the log lists it. */
DYNC__FN bool dync__jit_is_shared(const dync__jit *);
DYNC__FN void dync__jit_free(dync__jit *);
DYNC__FN int64_t dync__jit_code_bytes(const dync__jit *, dync__map *counted);
DYNC__FN void dync__jit_dump(dync__str *, const dync__jit *);
typedef struct dync__jit_stats {
    int64_t kernels, shared, declined;
    const char *why;
} dync__jit_stats;
/* compiled, taken from the cache, left to the interpreter; why: the last of these, NULL: no memory
 */
DYNC__FN dync__jit_stats dync__jit_read_stats(void);
#endif
