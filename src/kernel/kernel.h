/* kernel/kernel.h: what is not a loop nest. After codegen/, before runtime/. One row per kernel;
 * each has its portable form. */
#ifndef DYNC__KERNEL_H
#define DYNC__KERNEL_H
#include "../codegen/codegen.h"

/* An operand: a strided view of a plan slot. data pointers come at run time (base of the slot; the
 * layout's offset is applied by the kernel). */
typedef struct dync__operand {
    int32_t slot;
    uint8_t dtype;
    bool written;
    dync__layout lay;
} dync__operand;
enum { DYNC__KCALL_OPERANDS = 12, DYNC__KCALL_PIECES = 12 };
typedef struct dync__kcall {
    const struct dync__kcall_row *row;
    int n; /* operands, outputs last */
    dync__operand operand[DYNC__KCALL_OPERANDS];
    int64_t attr[24];
    double fattr[4];
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
    int16_t input[DYNC__KCALL_OPERANDS]; /* of the plan, that an operand is; + 1, 0: none */
    /* loops over the result, run as rows of it are done; their buffers stand behind the operands in
     * data */
    const dync__code *epilogue;
    int64_t epilogue_rows; /* rows of the result, outermost in the loops */
    /* operand k lies in blocks of channels (conv_jit.h) where bit k is set: conv2d and pooling */
    uint16_t blocked;
    /* conv2d: what is done to the result; its operands stand before the last one */
    const struct dync__cj_after *after;
    /* what prepare made for the runs; the plan gives it to drop */
    void *state;
    void (*drop)(void *state);
} dync__kcall;
/* An index that is none of 0 to size - 1: DYNC_ERR_INDEX. user_op: what it was part of, where that
 * is another operator; or NULL. */
DYNC__FN dync_status dync__fail_index(const char *user_op, int64_t index, int64_t size);
typedef struct dync__kcall_row {
    const char *name;
    dync_status (*prepare)(dync__kcall *); /* checks layouts, sets scratch_bytes; may be NULL */
    /* data[i]: base of operand i's slot */
    dync_status (*run)(const dync__kcall *, void *const *data, void *scratch);
    bool any_device; /* run takes memory of any device */
} dync__kcall_row;
/*   name                     operands and attributes (every layout may be strided; dtypes f32 f64
 *                            and by way of f32 f16 bf16; integers where said) */
/* clang-format off */
#define DYNC__KERNELS(X) \
    X(matmul)                /* a [B.., M, K], b [B.., K, N] (broadcast by stride 0), c [B.., M, N]; integers */ \
                             /* too */ \
    X(addmm)                 /* a [M, K], b [K, N], bias (expanded to [M, N] by stride 0), c [M, N] = a@b + bias */ \
    X(conv2d)                /* x [N,C,H,W], w [O,C/g,KH,KW], bias [O] or n == 3, y; attr: stride2 pad2 */ \
                             /* dilation2 groups winograd */ \
    X(conv2d_grad_input)     /* gy, w, gx; the same attr */ \
    X(conv2d_grad_weight)    /* x, gy, gw; the same attr */ \
    X(max_pool2d)            /* x, y, index i64; attr: kernel2 stride2 pad2 dilation2 ceil */ \
    X(max_pool2d_grad)       /* gy, index, gx */ \
    X(avg_pool2d)            /* x, y; attr: kernel2 stride2 pad2 ceil count_include_pad divisor */ \
    X(avg_pool2d_grad)       /* gy, gx; the same attr */ \
    X(cumsum)                /* x, y; attr: dim; any dtype; not on the CPU */ \
    X(sort)                  /* x, values, indices i64; attr: dim descending stable */ \
    X(index_add)             /* base, index i64, source, out; attr: dim; out = base with source rows added */ \
                             /* (fattr[0]: alpha) */ \
    X(scatter_add)           /* base, index i64, source, out; attr: dim */ \
    X(scatter)               /* base, index i64, source, out; attr: dim; last write in index order wins */ \
    X(check_index)           /* index i64 or i32; attr: size; an element outside of it is DYNC_ERR_INDEX */ \
    X(check_divisor)         /* integers; a zero among them is ZeroDivisionError */ \
    X(attention)             /* q [B.., L, E], k [B.., S, E], v [B.., S, V], y [B.., L, V], log of the sums */ \
                             /* [B.., L], mask [B.., L, S] maybe; */ \
                             /* attr: causal, fast, place of the mask or -1, bits of the scale */ \
    X(attention_grad)        /* gy, q, k, v, y, log of the sums, gq, gk, gv, mask maybe; the same attr */ \
    X(rnn_layer)             /* attr: gates, reverse + 2 fast, then the place of each DYNC__RNN_ role or -1 */ \
    X(rnn_layer_grad)        /* the same */
/* clang-format on */
/* What an operand of rnn_layer and its gradient is: the input's share of the gates [L, N, gates H]
 * (its gradient), the recurrent weight [gates H, H] and bias, states at the start [N, H], outputs
 * [L, N, H], the last c, what backward wants: c of every step (GRU: the state's share of n) and the
 * gates; incoming gradients of outputs and c, gradients of the states at the start. */
enum {
    DYNC__RNN_IN,
    DYNC__RNN_W,
    DYNC__RNN_BIAS,
    DYNC__RNN_H0,
    DYNC__RNN_C0,
    DYNC__RNN_OUT,
    DYNC__RNN_CN,
    DYNC__RNN_CELLS,
    DYNC__RNN_GATES,
    DYNC__RNN_GOUT,
    DYNC__RNN_GC,
    DYNC__RNN_GH0,
    DYNC__RNN_GC0,
    DYNC__RNN_ROLES
};
#define DYNC__X(name) DYNC__K_##name,
enum { DYNC__KERNELS(DYNC__X) DYNC__N_KERNELS };
#undef DYNC__X
DYNC__FN const dync__kcall_row *dync__kernel_row(int kernel);
/* conv2d's attribute winograd, given what is allowed (0, 2 or 4 places of a side of a tile): what
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
/* Pieces of it on dense lines of f32 (bytes 4) or f64 (8): c[0, n) += sum over p < k of a[p] b[p, 0
 * .. n), and out[i] = a . b[i], i < count. */
DYNC__FN void dync__gemm_add_lines(int bytes, int64_t n, int64_t k, const void *a, const void *b,
                                   int64_t b_row, void *c);
DYNC__FN void dync__gemm_products(int bytes, int64_t n, int64_t count, const void *a, const void *b,
                                  int64_t b_col, void *out);
#endif
