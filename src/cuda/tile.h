/* cuda/tile.h: what kernels written out as PTX text share: the text itself, shared memory,
 * cp.async, swizzled rows, ldmatrix, mma.sync. After ptx.h and cuda.h; tile.c has the bodies.
 * gemm*.c, conv, attention and wgmma are built on it.
 *
 *   text        dync__cuda_tile t; dync__cuda_tile_begin(&t, 3) opens an entry with buffers 0..2:
 *               their addresses are in %b0..%b2 dync__ptx_reg / _line / _temp(&t.p, ...) registers
 *               and statements, as everywhere dync__cuda_tile_entry(&t, "name", gx, gy, gz,
 *               threads) closes it; dync__cuda_tile_next(&t) opens another that is launched after
 *               it dync__cuda_tile_end(&t, code, buf) adds the text to the code as its next part
 *               (frees it where it fails)
 *   registers   every entry has %true, %thr (threadIdx.x), %lane, %warp, %cta (blockIdx.x), %smem;
 *               %scratch after dync__cuda_tile_scratch
 *   memory      dync__cuda_tile_shared gives offsets into dynamic shared memory, which begins at
 *               %smem, on a boundary of 1024
 *   rows        tiles in shared memory are rows of 128 bytes, eight chunks of 16: chunk c of row r
 *               lies at r * 128 + (c ^ (r & 7)) * 16, so that the 8 rows that one phase of ldmatrix
 *               reads, and the 8 chunks that 8 lanes write, lie in 32 different banks
 *   fragments   mma.sync m16n8: lane holds rows lane / 4 and + 8 of a and of the accumulators,
 *               column lane / 4 of b; accumulator i of 4 stands at row lane / 4 + 8 (i / 2), column
 *               lane % 4 * 2 + i % 2 (dync__cuda_tile_acc_row, _col)
 * Names given to functions begin with '%'; addresses in shared memory are b32 registers, in global
 * memory b64. Sources: NVIDIA, PTX ISA 8.0, 9.7.8.24 (cp.async), 9.7.13.4 (mma, ldmatrix). */
#ifndef DYNC__CUDA_TILE_H
#define DYNC__CUDA_TILE_H
#include "cuda.h"

typedef struct dync__cuda_tile {
    dync__ptx p; /* statements and registers of the entry being written */
    /* what is done; scratch_bytes and checks are the maker's to set */
    dync__ptx_text out;
    int n_buffers, shared; /* bytes of dynamic shared memory so far */
    /* launches of the next entry, whose numbers are in the parameter behind the scratch; 0: one,
     * without */
    int64_t steps;
    /* lines of an entry before its body, such as those of a cluster; NULL: none */
    const char *directives;
    /* "sm_80" unless changed before the first dync__cuda_tile_entry */
    const char *target;
} dync__cuda_tile;

/* ---- text ------------------------------------------------------------------------------------ */
DYNC__FN void dync__cuda_tile_begin(dync__cuda_tile *, int n_buffers);
DYNC__FN void dync__cuda_tile_next(dync__cuda_tile *);
DYNC__FN void dync__cuda_tile_entry(dync__cuda_tile *, const char *name, int64_t gx, int64_t gy,
                                    int64_t gz, int threads);
/* buf[i]: operand, or temporary, of buffer i */
DYNC__FN bool dync__cuda_tile_end(dync__cuda_tile *, dync__cuda_code *, const int32_t *buf);
/* %scratch: out.scratch_bytes, shared by the launches */
DYNC__FN void dync__cuda_tile_scratch(dync__cuda_tile *);
/* offset from %smem */
DYNC__FN int dync__cuda_tile_shared(dync__cuda_tile *, int bytes, int align);
/* %acc -> %acc0 .. %acc<n-1> */
DYNC__FN void dync__cuda_tile_regs(dync__cuda_tile *, const char *type, const char *prefix, int n);
/* a new u32 register = %ctaid.y and the like */
DYNC__FN void dync__cuda_tile_special(dync__cuda_tile *, const char *name, const char *special);
DYNC__FN void dync__cuda_tile_set(dync__cuda_tile *, const char *type, const char *name,
                                  const char *op, const char *fmt, ...) DYNC__PRINTF(5, 6);
/* a new register of the type: "op.type name, operands"; op
                                          * has its dots ("mul.lo") */
DYNC__FN void dync__cuda_tile_label(dync__cuda_tile *, const char *fmt, ...) DYNC__PRINTF(2, 3);
/* a comment in the text */
DYNC__FN void dync__cuda_tile_note(dync__cuda_tile *, const char *fmt, ...) DYNC__PRINTF(2, 3);
/* a new b64 register; from: b64, or NULL */
DYNC__FN void dync__cuda_tile_wide(dync__cuda_tile *, const char *name, const char *from);
/* at += bytes * (offset + sum of stride * coordinate over the dims of o but `skip`); `linear` (b64)
 * counts over `walked`, sizes of those dims. */
DYNC__FN void dync__cuda_tile_address(dync__cuda_tile *, const char *at, const dync__operand *o,
                                      const int64_t *walked, int skip, const char *linear);
/* to (b64) = the descriptor of a matrix that begins at `base` (b32) in shared memory: rows of 128
 * bytes with 128-byte swizzle, groups of eight 1024 bytes apart; lead: bytes from 64 columns to the
 * next. */
DYNC__FN void dync__cuda_tile_descriptor(dync__cuda_tile *, const char *to, const char *base,
                                         int lead);
/* value, a register of the dtype's compute type, from or to [at] in global memory; guard: "" or
 * "@%p ". */
DYNC__FN void dync__cuda_tile_load(dync__cuda_tile *, int dtype, const char *value, const char *at,
                                   const char *guard);
DYNC__FN void dync__cuda_tile_store(dync__cuda_tile *, int dtype, const char *at, const char *value,
                                    const char *guard);

/* ---- a pointwise kernel inside of a text: what is done to results before they are stored ----- */
/* Opens a text with the buffers of k (host: those that are one element in main memory). Its
 * elements are asked for by their linear index over k's loops, in groups of p.shape.vec neighbours,
 * which divides `columns`; 1 where scalar. The boundaries that its accesses need: p.check. False:
 * no memory, recorded. The arena must last until dync__cuda_tile_end. */
DYNC__FN bool dync__cuda_tile_begin_kernel(dync__cuda_tile *, dync__arena *, const dync__kernel *k,
                                           const bool *host, int64_t columns, bool scalar);
/* The elements from `linear` (a register of type p.index) on; loads of buffer `given` are
 * value[lane] instead, registers of its compute type. */
DYNC__FN void dync__cuda_tile_piece(dync__cuda_tile *, const char *linear, int given,
                                    char value[][24]);

/* ---- cp.async -------------------------------------------------------------------------------- */
/* [to + to_at] in shared memory = `bytes` (4, 8, 16) of [from + from_at]; size: b32 register, bytes
 * of them to read, the rest is zeros; NULL: all. Visible to the thread after commit and wait(n) (at
 * most n younger groups under way), to others after a barrier behind that. */
DYNC__FN void dync__cuda_tile_cp(dync__cuda_tile *, int bytes, const char *to, int to_at,
                                 const char *from, int64_t from_at, const char *size);
DYNC__FN void dync__cuda_tile_commit(dync__cuda_tile *);
DYNC__FN void dync__cuda_tile_wait(dync__cuda_tile *, int n);
DYNC__FN void dync__cuda_tile_barrier(dync__cuda_tile *);

/* A window of `rows` rows of 128 bytes of global memory, copied by all threads of the block as
 * swizzled rows. Registers: name_g the thread's address, name_r its first row, name_s its place in
 * the tile, name_ok0.. which of its rows exist, name_n bytes of its chunk that exist. */
typedef struct dync__cuda_tile_rows {
    const char *name;
    int rows, threads;
    int64_t row_bytes;
    /* b32, signed: rows that exist, asked at every copy (they are a window's depth); NULL:
     * rows_left of _begin holds */
    const char *rows_now;
    bool ragged;
} dync__cuda_tile_rows;
/* base: b64, of row 0; rows_left: b32, rows that exist, or NULL for all. threads: 64 or more, a
 * power of two; rows * 8 a multiple of it. */
DYNC__FN void dync__cuda_tile_rows_begin(dync__cuda_tile *, dync__cuda_tile_rows *,
                                         const char *base, const char *rows_left);
/* To the tile at `to` (b32 register) + at; bytes_left: b32, signed, how many of the 128 exist, NULL
 * for all. Rows and bytes that do not are zeros. */
DYNC__FN void dync__cuda_tile_rows_copy(dync__cuda_tile *, const dync__cuda_tile_rows *,
                                        const char *to, int at, const char *bytes_left);
/* the window, in global memory */
DYNC__FN void dync__cuda_tile_rows_move(dync__cuda_tile *, const dync__cuda_tile_rows *,
                                        int64_t bytes);

/* ---- fragments ------------------------------------------------------------------------------- */
enum { DYNC__TILE_BF16, DYNC__TILE_F16, DYNC__TILE_TF32, DYNC__TILE_S8, DYNC__TILE_U8 };
/* bytes of an element, depth of one mma: 32 bytes */
typedef struct dync__cuda_tile_kind {
    const char *shape, *in, *acc;
    int bytes, k;
} dync__cuda_tile_kind;
DYNC__FN const dync__cuda_tile_kind *dync__cuda_tile_kind_of(int kind);
/* Where the lane's row for ldmatrix.x4 lies in a tile: name0 .. name<n-1> are the offsets for pairs
 * of chunks 0 .. n - 1 (32 bytes each), of the lane's row behind row0 (b32, a multiple of 8, or
 * NULL for 0). More rows down: + 128 bytes each, for multiples of 8.
 *   order 0   matrices in the order (row, chunk) (row + 8, chunk) (row, chunk + 1) (row + 8, chunk
 *             + 1): a with k along the row; b with .trans
 *   order 1   (row, chunk) (row, chunk + 1) (row + 8, chunk) (row + 8, chunk + 1): b with k along
 *             the row, two n8 tiles; a with .trans */
DYNC__FN void dync__cuda_tile_matrix(dync__cuda_tile *, const char *name, int n, int order,
                                     const char *row0);
/* {reg<first> .. reg<first+3>} = four 8 x 8 matrices of 16-bit elements whose rows are at [address
 * + at]. */
DYNC__FN void dync__cuda_tile_ldmatrix(dync__cuda_tile *, bool trans, const char *reg, int first,
                                       const char *address, int at);
/* {acc<c> ..+3} += {a<ia> ..+3} {b<ib>, b<ib+1>} */
DYNC__FN void dync__cuda_tile_mma(dync__cuda_tile *, int kind, const char *acc, int c,
                                  const char *a, int ia, const char *b, int ib);
DYNC__INLINE int dync__cuda_tile_swizzle(int row, int chunk)
{
    return row * 128 + (chunk ^ (row & 7)) * 16;
}
DYNC__INLINE int dync__cuda_tile_acc_row(int lane, int i) { return lane / 4 + 8 * (i / 2); }
DYNC__INLINE int dync__cuda_tile_acc_col(int lane, int i) { return lane % 4 * 2 + i % 2; }
#endif
