/* kernel/matmul_scratch.c: products of f16 and bf16, and of what lies badly, by way of scratch.
 * After matmul_integer.c. */
#include "../dync.in.h"
#include "gemm.h"
#include "operand.h"
#include "packed.h"
#include "matmul.h"
DYNC__BESIDE_JIT

/* ---- by way of scratch ----------------------------------------------------------------------- */

/* in words */
DYNC__FN int64_t dync__mm_k(const dync__mm *g) { return (g->k + g->group - 1) / g->group; }

/* Rows that are converted at a time: what they need beside b stays in the cache. */
static int64_t dync__mm_some(const dync__mm *g) { return DYNC__MIN(g->m, DYNC__MM_ROWS); }

/* b as it is multiplied: in `to`, or where it lies. */
DYNC__FN void dync__mm_b(const dync__mm *g, char *to, const char *b, dync__gemm *x)
{
    int64_t bytes = dync__dtype_info(g->in_dtype)->bytes;
    x->b = to;
    if (g->type == DYNC__GT_F32) {
        int64_t step[2];
        dync__mm_widen((float *)(void *)to, b, g->in_dtype, g->k, g->n, g->b_row, g->b_col, step);
        x->b_row = step[0];
        x->b_col = step[1];
    } else if (g->b_col == 1 && g->n > 1) {
        dync__mm_interleave(to, b, g->b_row, g->n, g->k, bytes, g->type);
        x->b_row = g->n;
        x->b_col = 1;
    } else {
        x->b_row = 1;
        x->b = dync__mm_words(to, b, g->n, g->b_col, g->k, g->b_row, bytes, false, &x->b_col);
    }
}

/* What lifting a by 128 has added to each column of c, negated: -128 times the sums of b along k,
 * as a product of one row of 128s. n words at `to`, behind which is room for k words. */
DYNC__RARE DYNC__FN void dync__mm_offset(const dync__mm *g, const dync__gemm *of, char *to)
{
    int64_t k = dync__mm_k(g);
    dync__gemm x = {.type = DYNC__GT_U8,
                    .m = 1,
                    .n = g->n,
                    .k = k,
                    .a = to + 4 * g->n,
                    .a_row = k,
                    .a_col = 1,
                    .b = of->b,
                    .b_row = of->b_row,
                    .b_col = of->b_col,
                    .packed = of->packed,
                    .c = to,
                    .c_row = g->n,
                    .c_col = 1};
    memset(to + 4 * g->n, 0x80, (size_t)(4 * k));
    dync__gemm_run(&x);
    for (int64_t j = 0; j < g->n; j++) {
        uint32_t word;
        memcpy(&word, to + 4 * j, sizeof word);
        word = 0u - word;
        memcpy(to + 4 * j, &word, sizeof word);
    }
}

/* Bytes of b's panels, where several runs of rows use them. */
static int64_t dync__mm_panel_bytes(const dync__mm *g)
{
    int64_t k = dync__mm_k(g), some = dync__mm_some(g);
    return g->m > some && dync__gemm_wants_packed(g->type, some, g->n, k, g->b_row, g->b_col)
               ? dync__gemm_packed_bytes(g->type, g->n, k)
               : 0;
}

/* Bytes. Few: a [m, k], c [m, n]. Else as dync__mm_converted divides them: panels, b [k, n], some
 * rows of a and of c, and for `sums` n offsets with k words of room; all in words of 4 bytes. */
DYNC__FN size_t dync__mm_scratch(const dync__mm *g)
{
    int64_t k = dync__mm_k(g), some = dync__mm_some(g);
    if (g->few) return (size_t)((g->few == 1 ? g->m : g->n) * g->k + g->m * g->n) * 4;
    return (size_t)(k * g->n + some * (k + g->n) + (g->sums ? g->n + k : 0)) * 4 +
           (size_t)dync__mm_panel_bytes(g);
}

/* Between bytes of c and dense 32-bit sums [rows, n]. in: c is widened to words; else the low byte
 * of each word is stored, which is how integers wrap. */
static void dync__mm_low_bytes(const dync__mm *g, bool in, char *words, char *c, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < g->n; j++) {
            char *word = words + 4 * (i * g->n + j), *byte = c + i * g->c_row + j * g->c_col;
            if (in)
                dync__store_i64(word, DYNC_I32, *(uint8_t *)byte);
            else
                memcpy(byte, word, 1);
        }
}

/* Few rows of a, or few columns of b, become gemm's `a` in f32 (columns: the transposed product);
 * the other matrix is read as f16 or bf16 where it lies. Where the machine multiplies pairs of bf16
 * and the other matrix is dense along k, nothing is converted and k counts pairs. */
DYNC__RARE DYNC__FN void dync__mm_few(dync__mm *g, int64_t index, const char *a, const char *b,
                                      char *c)
{
    bool rows = g->few == 1;
    int64_t m = rows ? g->m : g->n, n = rows ? g->n : g->m, row = rows ? g->a_row : g->b_col,
            col = rows ? g->a_col : g->b_row;
    int64_t shape[2] = {m, g->k}, dense[2] = {g->k, 1}, stride[2] = {row, col}, c_shape[2] = {m, n},
            c_dense[2] = {n, 1},
            c_stride[2] = {rows ? g->c_row : g->c_col, rows ? g->c_col : g->c_row};
    float *wa = g->scratch, *wc = wa + m * g->k;
    dync__gemm x = {.type = g->in_dtype == DYNC_F16 ? DYNC__GT_AS_F16 : DYNC__GT_AS_BF16,
                    .m = m,
                    .n = n,
                    .k = g->k,
                    .a = (char *)wa,
                    .a_row = g->k,
                    .a_col = 1,
                    .b = rows ? b : a,
                    .b_row = rows ? g->b_row : g->a_col,
                    .b_col = rows ? g->b_col : g->a_row,
                    .c = (char *)wc,
                    .c_row = n,
                    .c_col = 1};
    if (n == 1) x.b_col = x.b_row == 1 ? g->k : 1;
    bool pairs = g->type == DYNC__GT_BF16 && x.b_row == 1 && g->k % 2 == 0 && x.b_col % 2 == 0;
    if (pairs) x.type = g->type, x.k = x.a_row = g->k / 2, x.b_col /= 2;
    dync__copy_elements(2, shape, wa, pairs ? DYNC_BF16 : DYNC_F32, dense, rows ? a : b,
                        g->in_dtype, stride);
    if (g->accumulate) {
        dync__copy_elements(2, c_shape, wc, DYNC_F32, c_dense, c, g->dtype, c_stride);
        x.d = x.c;
        x.d_row = n;
    }
    dync__gemm_run(&x);
    dync__copy_elements(2, c_shape, c, g->dtype, c_stride, wc, DYNC_F32, c_dense);
    if (g->call->epilogue) dync__mm_done(&(dync__mm_rows){g, index * g->m}, 0, g->m);
    (void)DYNC__ATOMIC_ADD(&g->told, 1);
}

/* The plan's input that b is; NULL: none. */
DYNC__FN const dync__tensor *dync__mm_input(const dync__kcall *c)
{
    int input = c->operand[1].input;
    return input && dync__tls.plan_tensors ? dync__tls.plan_tensors[input - 1] : NULL;
}

/* Sums of floats are those of panels in every run of such a call, kept or not; but memory that the
 * user lent is never packed, and is borrowed for ever. */
DYNC__FN bool dync__mm_keeps(const dync__mm *g)
{
    const dync__mm_state *state = g->call->state;
    if (!state || !state->keeps || g->type == DYNC__GT_U8) return false;
    const dync__tensor *t = dync__mm_input(g->call);
    return !t || !(t->storage->flags & DYNC__STORAGE_BORROWED);
}

/* Product number `index` by way of scratch: b once, then some rows of a and c at a time, rounded to
 * c's dtype while they are in the cache. */
DYNC__RARE DYNC__FN void dync__mm_converted(dync__mm *g, int64_t index, const char *a,
                                            const char *b, char *c)
{
    int64_t bytes = dync__dtype_info(g->in_dtype)->bytes,
            c_bytes = dync__dtype_info(g->dtype)->bytes, k = dync__mm_k(g), some = dync__mm_some(g),
            panels = dync__mm_panel_bytes(g), rows;
    char *wb = (char *)g->scratch + panels, *wa = wb + 4 * k * g->n, *wc = wa + 4 * some * k,
         *offset = wc + 4 * some * g->n;
    dync__gemm bs = {.packed = g->packed};
    bool sums = g->sums, bytewise = g->type == DYNC__GT_U8 && !g->sums,
         in_place = sums && g->c_col == 1;
    if (!g->packed) dync__mm_b(g, wb, b, &bs);
    if (sums && g->packed)
        offset = (char *)(uintptr_t)g->packed + dync__gemm_packed_bytes(g->type, g->n, k);
    else if (sums)
        dync__mm_offset(g, &bs, offset);
    if (panels && !g->packed) {
        dync__gemm_pack_b(g->type, g->n, k, bs.b, bs.b_row, bs.b_col, g->scratch);
        bs.packed = (const char *)g->scratch;
    }
    for (int64_t row = 0; row < g->m;
         row += rows, c += rows * g->c_row * c_bytes, a += rows * g->a_row * bytes) {
        rows = DYNC__MIN(some, g->m - row);
        int64_t step[2] = {0, 1}, shape[2] = {rows, g->n}, dense[2] = {g->n, 1},
                stride[2] = {g->c_row, g->c_col};
        dync__gemm x = {.type = g->type,
                        .m = rows,
                        .n = g->n,
                        .k = k,
                        .b = bs.b,
                        .b_row = bs.b_row,
                        .b_col = bs.b_col,
                        .packed = bs.packed,
                        .panels = g->panels,
                        .c_col = 1};
        x.a = wa;
        if (g->type == DYNC__GT_F32)
            dync__mm_widen((float *)(void *)wa, a, g->in_dtype, rows, g->k, g->a_row, g->a_col,
                           step);
        else
            x.a = dync__mm_words(wa, a, rows, g->a_row, g->k, g->a_col, bytes, sums, &step[0]);
        x.a_row = step[0];
        x.a_col = step[1];
        x.c = in_place ? c : wc;
        x.c_row = in_place ? g->c_row : g->n;
        if (sums)
            x.d = offset;
        else if (g->accumulate) {
            if (bytewise)
                dync__mm_low_bytes(g, true, wc, c, rows);
            else
                dync__copy_elements(2, shape, wc, DYNC_F32, dense, c, g->dtype, stride);
            x.d = wc;
            x.d_row = g->n;
        }
        dync__gemm_run(&x);
        if (bytewise)
            dync__mm_low_bytes(g, false, wc, c, rows);
        else if (!in_place)
            dync__copy_elements(2, shape, c, g->dtype, stride, wc, sums ? DYNC_I32 : DYNC_F32,
                                dense);
        if (g->call->epilogue) dync__mm_done(&(dync__mm_rows){g, index * g->m}, row, row + rows);
    }
    (void)DYNC__ATOMIC_ADD(&g->told, 1);
}
