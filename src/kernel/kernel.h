/* kernel/kernel.h: what is not a loop nest. After codegen/, before runtime/. One row per kernel;
 * each has its portable form. */
#ifndef DYNC__KERNEL_H
#define DYNC__KERNEL_H
#include "../codegen/codegen.h"
#include "../codegen/after.h"
#include "attr.h"

/* An operand: a strided view of a plan slot. data pointers come at run time (base of the slot; the
 * layout's offset is applied by the kernel). */
typedef struct dync__operand {
    int32_t slot;
    uint8_t dtype;
    bool written;
    int16_t input; /* of the plan, that it is; + 1, 0: none. Known to prepare and run */
    dync__layout lay;
} dync__operand;
/* Operands of a kernel; operators with functions inside have more, all that these take from around
 * them. */
enum { DYNC__KCALL_OPERANDS = 32, DYNC__KCALL_MOST = 1 << 14, DYNC__KCALL_PIECES = 12 };
/* An epilogue as lists of after.h for the tiles of a product: flags as dync__gt_after gives them
 * (flags[1]: where something is added first), and its operands: buffers of the epilogue,
 * elements from the start and from row to row of the result, whether a row has but one. */
typedef struct dync__kfollow {
    int flags[2], n, buf[DYNC__AFTER_MORE];
    int64_t offset[DYNC__AFTER_MORE], row[DYNC__AFTER_MORE];
    bool same[DYNC__AFTER_MORE];
} dync__kfollow;
typedef struct dync__kcall {
    const struct dync__kcall_row *row;
    int n; /* operands, outputs last */
    dync__attr attr;
    size_t scratch_bytes; /* asked for by row->prepare */
    /* what a run takes from dync__alloc_data, all threads together; set by row->prepare */
    size_t run_bytes;
    const char *origin;
    /* of the user's graph that it is a part of, and its line: for messages; NULL: eager knows
     * both */
    const char *user_op;
    dync_loc at;
    /* loops that row->prepare had compiled; freed with the plan */
    dync__code *piece[DYNC__KCALL_PIECES];
    /* loops over the result, run as rows of it are done; their buffers stand behind the operands in
     * data */
    const dync__code *epilogue;
    int64_t epilogue_rows;              /* rows of the result, outermost in the loops */
    const struct dync__kfollow *follow; /* the same for tiles, where they can do it; or NULL */
    /* operand k lies in blocks of channels (conv_jit.h) where bit k is set: conv2d and pooling */
    uint16_t blocked;
    bool beside; /* it and the call of the next step may run at one time (runtime/beside.c) */
    /* conv2d: what is done to the result; its operands stand before the last one */
    const struct dync__cj_after *after;
    /* what prepare made for the runs; the plan gives it to drop */
    void *state;
    void (*drop)(void *state);
    /* n of them, and memory for as many or more: dync__kcall_room or _full, never sizeof */
    dync__operand operand[];
} dync__kcall;
/* One with room for as many operands as any call has but one of an operator with functions inside:
 * what is made by hand, on the stack too. */
typedef union dync__kcall_full {
    dync__kcall call;
    char room[offsetof(dync__kcall, operand) + DYNC__KCALL_OPERANDS * sizeof(dync__operand)];
} dync__kcall_full;
DYNC__INLINE size_t dync__kcall_room(int n) /* bytes of a call of n operands */
{
    return offsetof(dync__kcall, operand) + (size_t)n * sizeof(dync__operand);
}
DYNC__INLINE size_t dync__kcall_bytes(const dync__kcall *c) { return dync__kcall_room(c->n); }
/* `from` may be a copy without room for more operands than it has. */
DYNC__INLINE void dync__kcall_copy(dync__kcall *to, const dync__kcall *from)
{
    memcpy(to, from, dync__kcall_bytes(from));
}
/* An index that is none of 0 to size - 1: DYNC_ERR_INDEX. user_op: what it was part of, where that
 * is another operator; or NULL. */
DYNC__FN dync_status dync__fail_index(const char *user_op, int64_t index, int64_t size);
typedef struct dync__kcall_row {
    const char *name;
    dync_status (*prepare)(dync__kcall *); /* checks layouts, sets scratch_bytes; may be NULL */
    /* data[i]: base of operand i's slot */
    dync_status (*run)(const dync__kcall *, void *const *data, void *scratch);
    const dync__attr_field *attr; /* its attributes, for printing; NULL: not printed */
    int kind;                     /* DYNC__K_*: to ask by, as naming a row links its kernel */
    bool any_device;              /* run takes memory of any device */
    /* of symbolic sizes: what prepare would compile, for all by which the guards of the table in
     * force hold; prepare takes what is there. NULL: nothing, or it does so itself. */
    dync_status (*pieces)(dync__kcall *);
    /* there are functions inside, of the same symbols: prepare is told these (attr.opaque), and
     * what pieces made is the call's state until then */
    bool inside;
    /* it tells a size that steps behind it have: none moves across it */
    bool tells;
    /* multiplications of a run, which keeps to one thread: two may run side by side; NULL: it
     * shares its work among threads itself, or is too short */
    double (*alone)(const dync__kcall *);
    bool dense; /* on the CPU it copies what is not row major, which loops do faster (op/lower.c) */
} dync__kcall_row;
/* A row, an object of its own, which whoever lowers to it names: name, form of its attributes
 * (attr.h), whether there are pieces for symbolic sizes, whether it runs alone, whether it is
 * dense, operands. Every layout may be strided; dtypes f32, f64 and by way of f32 f16 and bf16;
 * integers where said. */
/* clang-format off */
#define DYNC__KERNELS(X) \
    X(matmul, none, , , ) /* a [B.., M, K], b [B.., K, N] (stride 0 broadcasts), c; integers too */ \
    X(addmm, none, , , ) /* a [M, K], b [K, N], bias ([M, N], by stride 0), c [M, N] = a@b + bias */ \
    X(conv2d, conv, , , dense) /* x [N,C,H,W], w [O,C/g,KH,KW], bias [O] or n == 3, y */ \
    X(conv2d_grad_input, conv, , , dense) /* gy, w, gx */ \
    X(conv2d_grad_weight, conv, , , dense) /* x, gy, gw */ \
    X(int_conv2d, conv, , , dense) /* as conv2d; x and w of I8, the others of I32 */ \
    X(max_pool2d, pool, , , dense) /* x, y, index i64 or n == 2 */ \
    X(max_pool2d_grad, none, , , dense) /* gy, index, gx */ \
    X(avg_pool2d, pool, , , dense) /* x, y */ \
    X(avg_pool2d_grad, pool, , , dense) /* gy, gx */ \
    X(cumsum, scan, , , ) /* x, y; any dtype; not on the CPU */ \
    X(sort, sort, , , dense) /* x, values, indices i64; equal elements stay in order */ \
    X(index_add, scatter, , , ) /* base, index i64, source, out: base, alpha * source's rows added */ \
    X(scatter_add, scatter, , , ) /* base, index i64, source, out */ \
    X(scatter, scatter, , , ) /* base, index i64, source, out; the last write in index order wins */ \
    X(pad, pad, , , ) /* x, the part of y where it goes, y: the border around it */ \
    X(fourier, fourier, , , ) /* x [rows, n (, 2)], y: dense; f32, f64 */ \
    X(check_index, index, , , ) /* index i64 or i32; an element outside of size is DYNC_ERR_INDEX */ \
    X(check_divisor, none, , , ) /* integers; a zero among them is ZeroDivisionError */ \
    X(attention, attention, pieces, , ) /* q [B.., L, E], k [B.., S, E], v [B.., S, V], y, log */ \
    /* of the sums [B.., L], mask [B.., L, S] maybe */ \
    X(attention_grad, attention, pieces, , ) /* gy, q, k, v, y, log, gq, gk, gv, mask maybe */ \
    X(rnn_layer, rnn, pieces, alone, ) /* operands by role */ \
    X(rnn_layer_grad, rnn, pieces, alone, )
/* clang-format on */
#define DYNC__X(name, form, pieces, alone, dense) DYNC__K_##name,
enum { DYNC__K_other, DYNC__KERNELS(DYNC__X) DYNC__N_KERNELS };
#undef DYNC__X
#define DYNC__X(name, form, pieces, alone, dense) \
    DYNC__DATA_DECL const dync__kcall_row dync__kcall_##name;
DYNC__KERNELS(DYNC__X)
#undef DYNC__X
DYNC__INLINE bool dync__kcall_is(const dync__kcall *c, int kind) { return c->row->kind == kind; }
/* The conv attribute winograd, given what is allowed (0, 2 or 4 places of a side of a tile): what
 * is fastest by estimate. */
DYNC__FN int dync__conv_winograd(const int64_t *x, const int64_t *w, const int64_t *y,
                                 int64_t groups, int most);
/* Rows of its result that the kernel tells the end of, for an epilogue; 0: it takes none. */
DYNC__FN int64_t dync__kcall_rows(const dync__kcall *);
/* The matmul that conv2d and others share: C[m,n] (+)= A[m,k] B[k,n], any strides, compute type f32
 * or f64. */
DYNC__FN void dync__gemm_f32(int64_t m, int64_t n, int64_t k, const float *a, int64_t a_row,
                             int64_t a_col, const float *b, int64_t b_row, int64_t b_col, float *c,
                             int64_t c_row, int64_t c_col, bool accumulate);
DYNC__FN void dync__gemm_f64(int64_t m, int64_t n, int64_t k, const double *a, int64_t a_row,
                             int64_t a_col, const double *b, int64_t b_row, int64_t b_col,
                             double *c, int64_t c_row, int64_t c_col, bool accumulate);
/* Pieces of it on dense rows of f32 (bytes 4) or f64 (8): c[0, n) += sum over p < k of a[p] b[p, 0
 * .. n), and out[i] = a . b[i], i < count. */
DYNC__FN void dync__gemm_add_rows(int bytes, int64_t n, int64_t k, const void *a, const void *b,
                                  int64_t b_row, void *c);
DYNC__FN void dync__gemm_products(int bytes, int64_t n, int64_t count, const void *a, const void *b,
                                  int64_t b_col, void *out);
#endif
