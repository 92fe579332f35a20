/* kernel/matmul.h: what the files of matrix products share. Private to matmul*.c. */
#ifndef DYNC__KERNEL_MATMUL_H
#define DYNC__KERNEL_MATMUL_H
#include "../dync.in.h"
#include "gemm.h"
#include "operand.h"
#include "packed.h"

/* A product as its call gives it, and what was decided for it. */
typedef struct dync__mm {
    const dync__kcall *call;
    const char *a, *b;
    char *c;
    /* of c, of a and b; dims of the batch after merging into rows */
    int dtype, in_dtype, n_batch;
    /* what it is multiplied as (DYNC__GT_, -1: integers, plainly); elements of a word */
    int type, group;
    bool converted, sums; /* by way of scratch; i8 with sums in i32 */
    /* f16 and bf16: 1: a has few rows, 2: b has few columns: only those are converted */
    int few;
    int64_t batches, m, n, k, shape[DYNC_MAX_DIMS], a_step[DYNC_MAX_DIMS], b_step[DYNC_MAX_DIMS],
        c_step[DYNC_MAX_DIMS];
    /* strides in elements, from row to row and from column to column */
    int64_t a_row, a_col, b_row, b_col, c_row, c_col;
    bool accumulate;      /* c holds an addend */
    const char *d;        /* f32 and f64: an addend, its columns dense */
    const char *packed;   /* b's panels, kept from an earlier run; NULL: there are none */
    bool panels;          /* sums are made as with these, which other runs have */
    int64_t d_row, d_col; /* d_col: of gemm_brief.c */
    float *scratch;
    void *const *data;
    int32_t told; /* epilogues: products whose rows are all done */
    dync_status status;
} dync__mm;

/* Rows of one product are final. */
typedef struct dync__mm_rows {
    dync__mm *g;
    int64_t first;
} dync__mm_rows;

/* Where b is an input of the plan that nobody wrote since the last run, its panels are kept.
 * Written or new: the second run with the same one packs it, be it of this call or of another one,
 * as sizes that never come again have (dync__packed_again). What dync_data gave away or
 * the user lent may change unseen and is never kept. */
typedef struct dync__mm_state {
    dync__gemm_fixed *fixed; /* a whole product, where it is small */
    bool keeps, single;      /* b is packed; one product */
    dync__mutex lock;
    dync__packed_source seen;
    dync__packed *kept;
} dync__mm_state;

/* ---- matmul_open.c --------------------------------------------------------------------------- */
DYNC__FN void dync__mm_open(dync__mm *g, const dync__kcall *call, void *const *data);
/* rows x columns of f16 or bf16 as f32, row major */
DYNC__FN void dync__mm_widen(float *to, const char *from, int dtype, int64_t rows, int64_t columns,
                             int64_t row, int64_t col, int64_t *step);

/* ---- matmul_integer.c ------------------------------------------------------------------------ */
/* The rows of an operand with its pairs (fours) side by side; *words: from row to row. */
DYNC__FN const char *dync__mm_words(char *to, const char *from, int64_t lines, int64_t line,
                                    int64_t k, int64_t step, int64_t bytes, bool lift,
                                    int64_t *words);
/* b's rows by pairs or fours, interleaved */
/* Signed bytes become unsigned ones, x + 128. */
DYNC__FN void dync__mm_lift(char *p, int64_t bytes);
DYNC__FN void dync__mm_interleave(char *to, const char *b, int64_t row, int64_t n, int64_t k,
                                  int64_t bytes, int type);
DYNC__FN void dync__mm_integers(const dync__mm *g, const void *a, const void *b, void *c);
/* tells epilogues that rows are final; user: dync__mm_rows */
DYNC__FN void dync__mm_done(void *user, int64_t begin, int64_t end);

/* ---- matmul_scratch.c ------------------------------------------------------------------------ */
DYNC__FN int64_t dync__mm_k(const dync__mm *g); /* in words */
DYNC__FN void dync__mm_b(const dync__mm *g, char *to, const char *b, dync__gemm *x);
DYNC__RARE DYNC__FN void dync__mm_offset(const dync__mm *g, const dync__gemm *of, char *to);
DYNC__FN size_t dync__mm_scratch(const dync__mm *g); /* bytes of a thread's */
DYNC__RARE DYNC__FN void dync__mm_few(dync__mm *g, int64_t index, const char *a, const char *b,
                                      char *c);
DYNC__FN const dync__tensor *dync__mm_input(const dync__kcall *c); /* b's, NULL: not an input */
DYNC__FN bool dync__mm_keeps(const dync__mm *g);                   /* are b's panels kept? */
DYNC__RARE DYNC__FN void dync__mm_converted(dync__mm *g, int64_t index, const char *a,
                                            const char *b, char *c);
#endif
