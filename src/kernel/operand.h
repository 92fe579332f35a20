/* kernel/operand.h: what the kernels share: operands as dense row-major arrays of a working dtype,
 * and the rows' functions. */
#ifndef DYNC__OPERAND_H
#define DYNC__OPERAND_H
#include "kernel.h"

/* An operand opened for work: data is the caller's memory where that is row major and of the
 * working dtype already, else a copy. */
typedef struct dync__dense {
    void *data, *copy;
    size_t bytes;
    int dtype;
} dync__dense;
DYNC__FN int64_t dync__operand_numel(const dync__operand *);
DYNC__FN void *dync__operand_at(const dync__operand *, void *slot); /* element 0 */
/* F32 for F16 and BF16, else itself */
DYNC__FN int dync__operand_working(int dtype);
/* of it as a dense array, in elements */
DYNC__FN void dync__dense_strides(const dync__operand *, int64_t *stride);
DYNC__FN dync_status dync__dense_in(const dync__operand *, void *slot, int dtype, dync__dense *out);
/* contents undefined */
DYNC__FN dync_status dync__dense_out(const dync__operand *, void *slot, int dtype,
                                     dync__dense *out);
/* after dense_out: writes the copy back; frees */
DYNC__FN void dync__dense_finish(const dync__operand *, void *slot, dync__dense *);
/* frees without writing; NULL data allowed */
DYNC__FN void dync__dense_drop(dync__dense *);
/* The first n operands, f16 and bf16 as f32: `ins` are read, the rest written. end: writes copies
 * back where status is DYNC_OK, frees; returns it. */
DYNC__FN dync_status dync__dense_all(const dync__kcall *, int n, int ins, void *const *data,
                                     dync__dense *);
DYNC__FN dync_status dync__dense_end(const dync__kcall *, int n, int ins, void *const *data,
                                     dync__dense *, dync_status status);
/* Elements from one layout into another of the same shape; f16 and bf16 by way of f32, the other
 * dtypes must be equal. */
DYNC__FN void dync__copy_elements(int ndim, const int64_t *shape, void *to, int to_dtype,
                                  const int64_t *to_stride, const void *from, int from_dtype,
                                  const int64_t *from_stride);
/* Checks for prepare: DYNC_ERR_INTERNAL that names the kernel. */
DYNC__FN dync_status dync__kcall_expect(const dync__kcall *, bool ok, const char *what);

/* A loop nest inside a kernel: its buffers are numbered as they are named, dync__code_run takes
 * their addresses in that order. */
typedef struct dync__piece {
    dync__arena arena;
    dync__lb b;
} dync__piece;
DYNC__FN bool dync__piece_begin(dync__piece *, const char *name, int n_outer, int64_t rows,
                                int64_t lanes);
DYNC__FN int dync__piece_buf(dync__piece *, int dtype, int mode);
DYNC__FN int dync__piece_load(dync__piece *, int buf, int64_t offset, int64_t row, int64_t lane);
DYNC__FN void dync__piece_store(dync__piece *, int buf, int64_t offset, int64_t row, int64_t lane,
                                int value);
/* compiles; frees what begin took. Of symbolic sizes: code_sized, *out NULL where there is none. */
DYNC__FN dync_status dync__piece_end(dync__piece *, dync__code **out);
/* The gates of one step of an rnn_layer over [n, hidden] (recurrent.c: the order of their buffers)
 * as loops, for who writes them otherwise; the caller frees the piece's arena. False: no memory. */
DYNC__FN bool dync__rnn_gates(const dync__kcall *, int64_t n, int64_t hidden, dync__piece *out);
/* dync__gemm_f32 or dync__gemm_f64 */
DYNC__FN void dync__gemm_of(int dtype, int64_t m, int64_t n, int64_t k, const void *a,
                            int64_t a_row, int64_t a_col, const void *b, int64_t b_row,
                            int64_t b_col, void *c, int64_t c_row, int64_t c_col, bool accumulate);

/* A few elements of 4 or 8 bytes; where they are that few, a call of memcpy costs more than they
 * do. */
DYNC__INLINE void dync__copy_line(void *to_, const void *from_, size_t bytes)
{
    char *to = to_;
    const char *from = from_;
    if (bytes >= 64) {
        memcpy(to, from, bytes);
        return;
    }
    for (; bytes >= 16; bytes -= 16, to += 16, from += 16) memcpy(to, from, 16);
    for (; bytes >= 4; bytes -= 4, to += 4, from += 4) memcpy(to, from, 4);
}

#define DYNC__X(name, form, pieces, alone, dense)                 \
    DYNC__FN dync_status dync__k_##name##_prepare(dync__kcall *); \
    DYNC__FN dync_status dync__k_##name(const dync__kcall *, void *const *data, void *scratch);
DYNC__KERNELS(DYNC__X)
#undef DYNC__X
DYNC__FN dync_status dync__k_attention_pieces(dync__kcall *);
DYNC__FN dync_status dync__k_attention_grad_pieces(dync__kcall *);
DYNC__FN dync_status dync__k_rnn_layer_pieces(dync__kcall *);
#if !defined(DYNC_SMALL)
DYNC__FN double dync__k_rnn_layer_alone(const dync__kcall *);
DYNC__FN double dync__k_rnn_layer_grad_alone(const dync__kcall *);
#endif
DYNC__FN dync_status dync__k_rnn_layer_grad_pieces(dync__kcall *);
#endif
