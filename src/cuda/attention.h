/* cuda/attention.h: what the kernels of attention (attention.c) are put together from
 * (attention_tile.c). After tile.h.
 *
 * A block has a tile of rows and walks over tiles of columns. Three products with two kinds of
 * operands make them all:
 *   nt   acc[row][column] += sum over the width of a[row] . b[column] scores: both tiles lie row by
 *        row in shared memory
 *   nn   acc[row][column] += sum over k of w[row][k] * b[k][column] w: what was made of the scores,
 *        in registers
 * in two arithmetics: `mma`, half floats by mma.sync m16n8k16 with f32 accumulators, a warp to 16
 * mt rows; else f32 by fma, 16 threads side by side along the columns, and w goes by way of shared
 * memory, which only the warp itself touches. Rows of tiles lie 16 bytes more than their width
 * apart: eight rows then begin in different banks, for ldmatrix and for 16-byte loads. A tile `x`
 * has the registers %x_g, %x_s (the thread's place in global and shared memory), %x_r (its row),
 * %x_a, %x_b, %x_n (readers). */
#ifndef DYNC__CUDA_ATTENTION_H
#define DYNC__CUDA_ATTENTION_H
#include "tile.h"

#define DYNC__FA_LOG2E 1.4426950408889634074
enum {
    DYNC__FA_GQ = 1,
    DYNC__FA_GK = 2,
    DYNC__FA_GV = 4,
    DYNC__FA_SHARED = 99 * 1024,
    DYNC__FA_WIDEST = 256
};

typedef struct dync__fa_tile {
    const char *name;
    const dync__operand *o;
    /* width: columns, filled up with zeros to a multiple of 16; at: in shared memory */
    int buf, rows, width, at;
    int stage;              /* bytes from one copy to the other; 0: there is one */
    int64_t limit, columns; /* rows and columns that exist */
} dync__fa_tile;

/* Accumulators: registers name0, name1, ... of a thread's rows x cols elements. vec: neighbours
 * among its columns (fma, nn). */
typedef struct dync__fa_frag {
    const char *name;
    int rows, cols, vec;
} dync__fa_frag;

typedef struct dync__fa {
    dync__cuda_tile t;
    const dync__operand *op, *q, *k, *v, *gy, *mask;
    bool mma, vec, causal; /* vec: rows are moved 16 bytes at a time */
    int n_batch, dtype, kind, bytes, threads, mt;
    int rows, cols; /* of the block's tile of rows, of a tile of columns */
    int weights;    /* w in shared memory; its rows are cols wide */
    int64_t L, S, E, V, units;
    /* blocks that share the keys of a tile of queries; keys of each; forward only */
    int64_t splits, chunk;
    double scale;
    /* of forward: heads that share keys and values are rows of one unit */
    dync__operand own[6];
} dync__fa;

/* %u0, %u1, ...: batch coordinates of %unit */
DYNC__FN void dync__fa_units(dync__fa *);
/* a new register: address of the unit's matrix */
DYNC__FN void dync__fa_base(dync__fa *, const char *name, const dync__operand *, int buf);
/* row0: b32, the first row to be taken */
DYNC__FN void dync__fa_tile_begin(dync__fa *, dync__fa_tile *, const char *row0);
/* asks for its rows and goes on to the next */
DYNC__FN void dync__fa_issue(dync__fa *, const dync__fa_tile *);
/* 'a', 'b', 'n' */
DYNC__FN void dync__fa_reader(dync__fa *, const dync__fa_tile *, char how);
/* its readers go to the other copy */
DYNC__FN void dync__fa_flip(dync__fa *, const dync__fa_tile *, const char *how);
DYNC__FN dync__fa_frag dync__fa_frag_new(dync__fa *, const char *name, int width, bool nn);
DYNC__FN void dync__fa_zero(dync__fa *, const dync__fa_frag *);
/* name[24] */
DYNC__FN const char *dync__fa_reg(dync__fa *, const dync__fa_frag *, int i, int j, char *name);
/* behind %rb, the thread's first row of the tile */
DYNC__FN int dync__fa_row(const dync__fa *, int i);
/* behind %cb (nt) or %cn (nn) */
DYNC__FN int dync__fa_col(const dync__fa *, const dync__fa_frag *, int j);
DYNC__FN void dync__fa_nt(dync__fa *, const dync__fa_frag *, const dync__fa_tile *a,
                          const dync__fa_tile *b);
/* scores as operand w of the products that follow */
DYNC__FN void dync__fa_weights(dync__fa *, const dync__fa_frag *);
DYNC__FN void dync__fa_nn(dync__fa *, const dync__fa_frag *, const dync__fa_tile *b);
/* Row by row over the threads that share it: max or sum of name<i>. */
DYNC__FN void dync__fa_across(dync__fa *, const char *op, const char *name, int n);
/* out = frag * times (a register prefix<i> of the row, or one constant); row0: the tile's first
 * row, of `limit`. */
DYNC__FN void dync__fa_write(dync__fa *, const dync__fa_frag *, const dync__operand *, int buf,
                             const char *times, bool by_row, int64_t limit);
/* ---- attention.c ----------------------------------------------------------------------------- */
/* first: place of q; grad: the gradient's operands. */
DYNC__FN void dync__fa_open(dync__fa *c, const dync__kcall *call, bool grad, bool vec);
/* Is it for these kernels? Rows of a tile must be reached by 32-bit offsets. */
DYNC__FN bool dync__fa_can(const dync__fa *c, int n);
/* Can rows of these operands be moved 16 bytes at a time, on the right boundary? Fills in what is
 * to be checked at the launch. */
DYNC__FN bool dync__fa_rows_fit(dync__fa *c, const dync__operand *const *o, int n);
DYNC__FN int dync__fa_padded(int64_t width);
/* form: DYNC__CUDA_ANY begins a part, others are of the same. */
DYNC__FN bool dync__fa_finish(dync__fa *c, dync__cuda_code *code, int form, const int32_t *buf);
DYNC__FN const char *dync__fa_number(char *to, double x);
/* Are scores kept as products, to be scaled on the way into the exponential? Else dync__fa_mask
 * scales them. */
DYNC__FN bool dync__fa_raw(const dync__fa *c);
/* %unit, %i0, %rb, %row, %cb, %cn1 ...; rows: `limit` in all */
DYNC__FN void dync__fa_place(dync__fa *, int64_t limit, bool late_first);
DYNC__FN void dync__fa_mask_regs(dync__fa *);
DYNC__FN void dync__fa_last_key(dync__fa *); /* %jend */
DYNC__FN void dync__fa_begin_rows(dync__fa *, const dync__fa_frag *scores,
                                  const dync__fa_frag *values);
DYNC__FN void dync__fa_mask(dync__fa *, const dync__fa_frag *, bool keys, const char *skip);
DYNC__FN void dync__fa_exponentials(dync__fa *, const dync__fa_frag *scores);
DYNC__FN void dync__fa_rescale(dync__fa *, const dync__fa_frag *values);
DYNC__FN void dync__fa_outputs(dync__fa *, const dync__fa_frag *values);
/* ---- attention_wgmma.c ----------------------------------------------------------------------- */
DYNC__FN bool dync__fa_wgmma(dync__fa *, int device);
/* Plain form in loop kernels: any head size, any dtype. */
DYNC__FN dync_status dync__fa_plain(dync__cuda_code *, const dync__kcall *);
DYNC__FN dync_status dync__fa_plain_grad(dync__cuda_code *, const dync__kcall *);
/* ---- attention_forward.c --------------------------------------------------------------------- */
DYNC__FN dync_status dync__fa_forward(dync__cuda_code *code, const dync__kcall *call);

enum { DYNC__FA_SIDE = 16 }; /* fma: threads side by side along the columns */

/* attention_tile.c */
DYNC__FN const char *dync__fa_name(char *to, const dync__fa_tile *x, const char *suffix);
DYNC__FN int64_t dync__fa_stride(const dync__fa *c, int width);
DYNC__FN int64_t dync__fa_row_bytes(const dync__fa *c, const dync__operand *o);
DYNC__FN int dync__fa_vec(int width);
#endif
