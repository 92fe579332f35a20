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
#include "tile.h"

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
