/* kernel/matmul_open.c: how the operands of a product lie, found out from a call. Before:
 * matmul_integer.c. */
#include "../dync.in.h"
#include "gemm.h"
#include "operand.h"
#include "packed.h"
#include "matmul.h"
DYNC__BESIDE_JIT

/* Reads a call's operands at `data` into g and chooses how they are multiplied. Batches whose rows
 * follow one another at even steps, against one b, are merged into m; g owns nothing. */
DYNC__FN void dync__mm_open(dync__mm *g, const dync__kcall *call, void *const *data)
{
    const dync__operand *a = &call->operand[0], *b = &call->operand[1],
                        *c = &call->operand[call->n - 1];
    int rank = c->lay.ndim;
    memset(g, 0, sizeof *g);
    g->call = call;
    g->data = data;
    g->a = dync__operand_at(a, data[0]);
    g->b = dync__operand_at(b, data[1]);
    g->c = dync__operand_at(c, data[call->n - 1]);
    g->dtype = c->dtype;
    g->in_dtype = a->dtype;
    g->sums = a->dtype == DYNC_I8 && c->dtype == DYNC_I32;
    g->type = c->dtype == DYNC_F64                      ? DYNC__GT_F64
              : dync__dtype_info(c->dtype)->kind == 'f' ? DYNC__GT_F32
                                                        : -1;
    if (!DYNC__GEMM_BRIEF && c->dtype == DYNC_BF16 && dync__gt_can(DYNC__GT_BF16))
        g->type = DYNC__GT_BF16;
    if (!DYNC__GEMM_BRIEF && (c->dtype == DYNC_I8 || c->dtype == DYNC_U8 || g->sums) &&
        dync__gt_can(DYNC__GT_U8))
        g->type = DYNC__GT_U8;
    g->group = g->type == DYNC__GT_BF16 ? 2 : g->type == DYNC__GT_U8 ? 4 : 1;
    g->converted = !DYNC__GEMM_BRIEF && g->type >= 0 && c->dtype != DYNC_F32 &&
                   c->dtype != DYNC_F64;
    g->m = c->lay.shape[rank - 2];
    g->n = c->lay.shape[rank - 1];
    g->k = a->lay.shape[rank - 1];
    g->a_row = a->lay.stride[rank - 2];
    g->a_col = a->lay.stride[rank - 1];
    g->b_row = b->lay.stride[rank - 2];
    g->b_col = b->lay.stride[rank - 1];
    g->c_row = c->lay.stride[rank - 2];
    g->c_col = c->lay.stride[rank - 1];
    g->batches = 1;
    for (int d = 0; d < rank - 2; d++) {
        g->shape[d] = c->lay.shape[d];
        g->a_step[d] = a->lay.shape[d] == 1 ? 0 : a->lay.stride[d];
        g->b_step[d] = b->lay.shape[d] == 1 ? 0 : b->lay.stride[d];
        g->c_step[d] = c->lay.stride[d];
        g->batches *= g->shape[d];
    }
    g->n_batch = rank - 2;
    /* a batch of rows against one b is one taller matrix; a single row has no stride of its own */
    while (g->n_batch > 0) {
        int d = g->n_batch - 1;
        bool one = g->shape[d] == 1;
        if (g->m == 1) {
            g->a_row = g->a_step[d];
            g->c_row = g->c_step[d];
        }
        if (!one && (g->b_step[d] != 0 || g->a_step[d] != g->m * g->a_row ||
                     g->c_step[d] != g->m * g->c_row))
            break;
        g->m *= g->shape[d];
        g->batches = g->shape[d] ? g->batches / g->shape[d] : 0;
        g->n_batch = d;
    }
    bool f16 = g->converted && g->type != DYNC__GT_U8 && dync__gt_can(DYNC__GT_AS_F16);
    if (f16 && g->m <= DYNC__MM_FEW && g->m <= g->n && (g->b_row == 1 || g->b_col == 1))
        g->few = 1;
    else if (f16 && g->n <= DYNC__MM_FEW && (g->a_row == 1 || g->a_col == 1))
        g->few = 2;
}

/* In f32, dense in the order in which it lies; the new strides of rows and columns in step[2]. */
DYNC__FN void dync__mm_widen(float *to, const char *from, int dtype, int64_t rows, int64_t columns,
                             int64_t row, int64_t col, int64_t *step)
{
    bool transposed = row == 1 && col != 1;
    int64_t shape[2] = {transposed ? columns : rows, transposed ? rows : columns},
            dense[2] = {shape[1], 1}, stride[2] = {transposed ? col : row, transposed ? row : col};
    dync__copy_elements(2, shape, to, DYNC_F32, dense, from, dtype, stride);
    step[0] = dense[transposed];
    step[1] = dense[!transposed];
}
