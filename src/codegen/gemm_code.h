/* codegen/gemm_code.h: the pieces of matrix products: tiles of C in registers, inner products,
 * packing. gen_gemm.c makes the code of each form, gemm_code.c keeps it; gemm_run.c
 * finds and calls it, or does the same in C where there is none (no JIT, DYNC_CPU=none, executable
 * memory refused). kernel/gemm.c cuts products into tiles; other kernels use the forms for their
 * own loops. */
#ifndef DYNC__GEMM_CODE_H
#define DYNC__GEMM_CODE_H
#include "after.h"
#include "asm.h"

/* What one step of k multiplies: one f32, one f64, a pair of bf16 (sums in f32), four u8 of A by
 * four i8 of B (sums in i32, wrapping), one f32 of A by an f16 or bf16 of B (AS: TILE, DOTS and
 * COPY). */
enum { DYNC__GT_F32, DYNC__GT_F64, DYNC__GT_BF16, DYNC__GT_U8, DYNC__GT_AS_F16, DYNC__GT_AS_BF16 };
/* TILE   c[rows, columns] = what follows of the sum over k of a[row, k] b[k, column]
 * DOTS   c[i, j] = (c +) row i of a . column j of b, both dense along k: `rows` rows of a,
 *        `columns` columns of b, at most 4 each
 * COPY   k rows, dense: c[k, column] = a[k, column]; of types AS, f16 or bf16 becomes f32, with
 *        ROUND f32 becomes f16 or bf16; ADD: c += it
 * SWAP, STAGE, WEAVE   gen_transpose.c, by transpose_run.c only
 * PAIR   two rows of 2-byte (BF16) or four of 1-byte elements (U8) to one of 4 bytes:
 *        c[p, column] = a[n p .. n p + n, column]
 * FOURIER   fourier_code.h */
enum {
    DYNC__GT_TILE,
    DYNC__GT_DOTS,
    DYNC__GT_COPY,
    DYNC__GT_PAIR,
    DYNC__GT_SWAP,
    DYNC__GT_STAGE,
    DYNC__GT_WEAVE,
    DYNC__GT_FOURIER
};
/* A_ROWS: a is dense along k, its rows a_step apart; else dense along the rows and its steps of
 * k a_step apart (packed, transposed). HALF: vectors of 32 bytes where those of the machine have
 * 64. TAIL is for the emitter: the last vector is a part, by mask and lanes. MANY (TILE, without
 * d): blocks are tiles of products behind each other. The number of a
 * list of after.h stands above AFTER. ADD: d (c itself in DOTS) is added at the end. BIAS: one
 * element of d to a whole row. */
enum {
    DYNC__GT_A_ROWS = 1,
    DYNC__GT_ROUND = 1,
    DYNC__GT_TAIL = 2,
    DYNC__GT_HALF = 4,
    DYNC__GT_MANY = 8,
    DYNC__GT_AFTER = 8,
    DYNC__GT_ADD = 1 << DYNC__GT_AFTER,
    DYNC__GT_BIAS = 2 << DYNC__GT_AFTER,
    DYNC__GT_LISTED = 3 << DYNC__GT_AFTER /* the first of those that dync__gt_after gives */
};

/* What sums in C begin with: a product and its addition are one instruction where there is one.
 * (GCC is told by a pragma around them.) */
#if defined(__clang__)
#define DYNC__GT_CONTRACT _Pragma("clang fp contract(fast)")
#else
#define DYNC__GT_CONTRACT
#endif

/* Steps in bytes. dync__gt_do changes a (MANY), b, c, d, more and blocks. */
typedef struct dync__gt_args {
    const void *a, *b, *d;
    void *c;
    int64_t k; /* steps of k */
    /* TILE: b's steps of k; DOTS: b's lines; COPY, PAIR: a's lines of k */
    int64_t a_step, b_step;
    /* rows; DOTS: d_step between columns of c; d_step 0: one row for all rows, a bias */
    int64_t c_step, d_step;
    /* at least 1. TILE: this many blocks of whole columns, bytes from one's b to the next's; DOTS:
     * of lines of b */
    int64_t blocks, b_next;
    /* TILE: operands of what follows, from number 1 on (d is 0), and from row to row */
    const void *more[DYNC__AFTER_MORE];
    int64_t more_step[DYNC__AFTER_MORE];
    int64_t a_next, c_next, more_next[DYNC__AFTER_MORE]; /* MANY: from block to block, as b_next */
    int64_t mask;      /* of the last vector, set by dync__gt_do: bits, or where masks have no */
    const void *lanes; /* registers the number of lanes, and words */
} dync__gt_args;
typedef void(DYNC__CODE *dync__gt_fn)(dync__gt_args *);

/* The form's code, with the mask set in the arguments; NULL: there is none. It is good until
 * dync__gt_epoch changes (dync_shutdown). */
DYNC__FN dync__gt_fn dync__gt_find(int kind, int type, int flags, int rows, int columns,
                                   dync__gt_args *);
DYNC__FN uint32_t dync__gt_epoch(void);
DYNC__FN void dync__gt_do(int kind, int type, int flags, int rows, int columns, dync__gt_args *);
/* What is to follow the sums of tiles of a type (f32 or f64), as flags; 0: it cannot, or not in
 * as few registers as tiles leave. Operand 0 is d. It is good for ever. */
DYNC__FN int dync__gt_after(int type, const dync__after *);
DYNC__FN dync__after dync__gt_after_list(int flags, int type);
/* the flags of a list, kept for ever; 0: there are too many */
DYNC__FN int dync__gt_list_flags(const dync__after *);
DYNC__FN bool dync__gt_adds(int flags); /* d, and nothing else */
/* The same, done to rows x columns of c as it lies (c, d, more), in C. */
DYNC__FN void dync__gt_follow(int flags, int type, int64_t rows, int64_t columns,
                              const dync__gt_args *);
/* the most rows of a TILE of so many columns for which there are registers; 0: of none */
DYNC__FN int dync__gt_most_rows(int type, int flags, int columns);
/* are there registers for it? */
DYNC__FN bool dync__gt_fits(int kind, int type, int flags, int rows, int columns);
/* one step of k, in C */
DYNC__FN double dync__gt_product(int type, const void *a, const void *b);
/* has the machine instructions for it? */
DYNC__FN bool dync__gt_can(int type);
/* columns of a vector */
DYNC__FN int dync__gt_lanes(int type, int flags);
/* of one step of k of one column */
DYNC__INLINE int64_t dync__gt_bytes(int type) { return type == DYNC__GT_F64 ? 8 : 4; }
DYNC__INLINE int64_t dync__gt_b_bytes(int type)
{
    return type >= DYNC__GT_AS_F16 ? 2 : dync__gt_bytes(type);
}
/* SWAP: the transpose c[k, line] = a[line, k] of elements of 1, 2, 4 or 8 bytes, `lines` rows of a;
 * in registers where both take at least 16 bytes. fetch: what follows in a's rows is wanted too,
 * and is prefetched. scratch: of DYNC__GT_SCRATCH bytes, or none, for steps that fall into few sets
 * of the cache (they crowd); not worth it for long rows in squares. */
DYNC__INLINE bool dync__gt_crowds(int64_t step, int bytes)
{
    return step % DYNC__MIN(1024 * bytes, 4096) == 0;
}
DYNC__FN void dync__gt_swap(void *to, int64_t to_step, const void *from, int64_t from_step,
                            int64_t lines, int64_t columns, int bytes, bool fetch, void *scratch);
/* are squares of whole cache lines transposed in registers? */
DYNC__FN bool dync__gt_squares(int bytes);
enum { DYNC__GT_SCRATCH = 64 + 256 * (DYNC__GT_STAGED + 16) };
/* gemm_code.c: the form's code, made if need be; NULL: there is none. Thread safe; lives until
 * dync_shutdown. */
DYNC__FN dync__gt_fn dync__gt_code(const dync__target *, int kind, int type, int flags, int rows,
                                   int vectors);
#if DYNC__JIT
/* gen_gemm.c: makes it. False: no memory, or (refused) no registers for what follows. */
DYNC__FN bool dync__gt_generate(const dync__target *, int kind, int type, int rows, int vectors,
                                int flags, dync__codeblock *, bool *refused);
#endif
#endif
