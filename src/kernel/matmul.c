/* kernel/matmul.c: batched matrix products with broadcast batches and any strides. Before:
 * runtime/run.c; under it: gemm.c.
 *
 *   a [B.., M, K]  b [B.., K, N] c [B.., M, N]; addmm: bias [M, N] by strides is copied into c
 *                  first
 * f32 and f64 go to gemm where they lie. f16 and bf16 are converted into scratch some rows at a
 * time (a, b, c in f32) and rounded once; a few of them by a matrix of f16 or bf16 read it where it
 * lies; where the machine multiplies pairs of bf16 (fours of bytes) with sums in f32 (i32), they
 * only change places. i8 with sums in i32: bytes of a are moved up to u8, which the machine wants,
 * and 128 times b's sums along k are taken off again. Other integers, and these where there is no
 * machine code, are multiplied plainly and wrap. Many small products are shared among threads by
 * index. */
#include "../dync.in.h"
#include "gemm.h"
#include "operand.h"
#include "packed.h"
DYNC__BESIDE_JIT

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
    bool accumulate;    /* c holds an addend */
    const char *d;      /* f32 and f64: an addend, its columns dense */
    const char *packed; /* b's panels, kept from an earlier run; NULL: there are none */
    bool panels;        /* sums are made as with these, which other runs have */
    int64_t d_row;
    float *scratch;
    void *const *data;
    int32_t told; /* epilogues: products whose rows are all done */
    dync_status status;
} dync__mm;

/* Reads a call's operands at `data` into g and chooses how they are multiplied. Batches whose rows
 * follow one another at even steps, against one b, are merged into m; g owns nothing. */
static void dync__mm_open(dync__mm *g, const dync__kcall *call, void *const *data)
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
    if (c->dtype == DYNC_BF16 && dync__gt_can(DYNC__GT_BF16)) g->type = DYNC__GT_BF16;
    if ((c->dtype == DYNC_I8 || c->dtype == DYNC_U8 || g->sums) && dync__gt_can(DYNC__GT_U8))
        g->type = DYNC__GT_U8;
    g->group = g->type == DYNC__GT_BF16 ? 2 : g->type == DYNC__GT_U8 ? 4 : 1;
    g->converted = g->type >= 0 && c->dtype != DYNC_F32 && c->dtype != DYNC_F64;
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
static void dync__mm_widen(float *to, const char *from, int dtype, int64_t rows, int64_t columns,
                           int64_t row, int64_t col, int64_t *step)
{
    bool transposed = row == 1 && col != 1;
    int64_t shape[2] = {transposed ? columns : rows, transposed ? rows : columns},
            dense[2] = {shape[1], 1}, stride[2] = {transposed ? col : row, transposed ? row : col};
    dync__copy_elements(2, shape, to, DYNC_F32, dense, from, dtype, stride);
    step[0] = dense[transposed];
    step[1] = dense[!transposed];
}

/* ---- pairs of bf16, fours of bytes ----------------------------------------------------------- */

/* Signed bytes to unsigned ones, x + 128: the highest bit changes. */
DYNC__OFTEN static void dync__mm_lift(char *p, int64_t bytes)
{
    uint64_t word[2];
    for (; bytes >= 16; bytes -= 16, p += 16) {
        memcpy(word, p, 16);
        word[0] ^= UINT64_C(0x8080808080808080);
        word[1] ^= UINT64_C(0x8080808080808080);
        memcpy(p, word, 16);
    }
    for (; bytes > 0; bytes--) *p++ ^= (char)-128;
}

/* `lines` vectors along k (rows of a, or columns of b), `line` elements apart, their own elements
 * `step` apart, as dense words of 4 bytes, the last word filled up with zeros. Gives `from` itself
 * where they lie so, else the copy in `to`; *words: from one vector to the next, in words. lift:
 * bytes -128 .. 127 become 0 .. 255. */
static const char *dync__mm_words(char *to, const char *from, int64_t lines, int64_t line,
                                  int64_t k, int64_t step, int64_t bytes, bool lift, int64_t *words)
{
    int64_t group = 4 / bytes, all = (k + group - 1) / group * group;
    if (step == 1 && k % group == 0 && line % group == 0 && !lift) {
        *words = line / group;
        return from;
    }
    for (int64_t i = 0; i < lines; i++) {
        char *out = to + i * all * bytes;
        const char *in = from + i * line * bytes;
        if (step == 1) memcpy(out, in, (size_t)(k * bytes));
        for (int64_t p = 0; p < k && step != 1; p++)
            memcpy(out + p * bytes, in + p * step * bytes, (size_t)bytes);
        memset(out + k * bytes, 0, (size_t)((all - k) * bytes));
    }
    if (lift) dync__mm_lift(to, lines * all);
    *words = all / group;
    return to;
}

/* b [k, n] with dense rows as words [ceil(k / group), n]: word (p, j) holds elements b[group p ..,
 * j], zeros beyond k. The code takes whole groups, the loop at the end what is left of k. */
static void dync__mm_interleave(char *to, const char *b, int64_t row, int64_t n, int64_t k,
                                int64_t bytes, int type)
{
    int64_t group = 4 / bytes, whole = k / group, lanes = 4 * (int64_t)dync__gt_lanes(type, 0);
    for (int64_t j = 0, some; whole && j < n; j += some) {
        some = DYNC__MIN(lanes, n - j);
        dync__gt_args x = {.a = b + j * bytes,
                           .c = to + 4 * j,
                           .k = whole,
                           .a_step = row * bytes,
                           .c_step = 4 * n,
                           .blocks = 1};
        dync__gt_do(DYNC__GT_PAIR, type, 0, 1, (int)some, &x);
    }
    if (whole * group == k) return;
    memset(to + whole * 4 * n, 0, (size_t)(4 * n));
    for (int64_t p = whole * group; p < k; p++)
        for (int64_t j = 0; j < n; j++)
            memcpy(to + whole * 4 * n + 4 * j + p % group * bytes, b + (p * row + j) * bytes,
                   (size_t)bytes);
}

/* ---- integers -------------------------------------------------------------------------------- */

/* Unsigned arithmetic of the element's own width: the low bits of a product depend on low bits
 * alone. */
#define DYNC__MM_INTEGERS(T, name)                                                        \
    static void dync__mm_integers_##name(const dync__mm *g, const T *a, const T *b, T *c) \
    {                                                                                     \
        for (int64_t i = 0; i < g->m; i++, a += g->a_row, c += g->c_row) {                \
            for (int64_t j = 0; j < g->n && !g->accumulate; j++) c[j * g->c_col] = 0;     \
            for (int64_t p = 0; p < g->k; p++) {                                          \
                const T *line = b + p * g->b_row;                                         \
                uint64_t x = (uint64_t)a[p * g->a_col];                                   \
                for (int64_t j = 0; j < g->n; j++)                                        \
                    c[j * g->c_col] = (T)(c[j * g->c_col] + x * line[j * g->b_col]);      \
            }                                                                             \
        }                                                                                 \
    }
DYNC__MM_INTEGERS(uint64_t, 8)
DYNC__MM_INTEGERS(uint32_t, 4)
DYNC__MM_INTEGERS(uint16_t, 2)
DYNC__MM_INTEGERS(uint8_t, 1)

static void dync__mm_sums_add(uint32_t *c, const int8_t *b, int x, int64_t n)
{
    for (int64_t j = 0; j < n; j++) c[j] += (uint32_t)(x * b[j]);
}

static uint32_t dync__mm_sums_dot(const int8_t *a, const int8_t *b, int64_t n)
{
    uint32_t sum = 0;
    for (int64_t p = 0; p < n; p++) sum += (uint32_t)(a[p] * b[p]);
    return sum;
}

/* i8 with sums in i32, where the machine has nothing for it. */
static void dync__mm_sums(const dync__mm *g, const int8_t *a, const int8_t *b, uint32_t *c)
{
    bool lines = g->b_col == 1 && g->c_col == 1, dots = g->b_row == 1 && g->a_col == 1;
    for (int64_t i = 0; i < g->m; i++, a += g->a_row, c += g->c_row) {
        for (int64_t j = 0; j < g->n; j++)
            c[j * g->c_col] = dots && !lines ? dync__mm_sums_dot(a, b + j * g->b_col, g->k) : 0;
        for (int64_t p = 0; p < g->k && lines; p++)
            dync__mm_sums_add(c, b + p * g->b_row, a[p * g->a_col], g->n);
        for (int64_t p = 0; p < g->k && !lines && !dots; p++)
            for (int64_t j = 0; j < g->n; j++)
                c[j * g->c_col] += (uint32_t)(a[p * g->a_col] * b[p * g->b_row + j * g->b_col]);
    }
}

static void dync__mm_integers(const dync__mm *g, const void *a, const void *b, void *c)
{
    if (g->sums) {
        dync__mm_sums(g, a, b, c);
        return;
    }
    switch (dync__dtype_info(g->dtype)->bytes) {
    case 8: dync__mm_integers_8(g, a, b, c); break;
    case 4: dync__mm_integers_4(g, a, b, c); break;
    case 2: dync__mm_integers_2(g, a, b, c); break;
    default: dync__mm_integers_1(g, a, b, c);
    }
}

/* Rows of one product are final. */
typedef struct dync__mm_rows {
    dync__mm *g;
    int64_t first;
} dync__mm_rows;
static void dync__mm_done(void *user, int64_t begin, int64_t end)
{
    const dync__mm_rows *r = user;
    const dync__kcall *c = r->g->call;
    dync_status status = dync__code_run_part(c->epilogue, r->g->data + c->n, r->first + begin,
                                             r->first + end, c->epilogue_rows);
    if (status != DYNC_OK) DYNC__ATOMIC_STORE(&r->g->status, status);
}

/* ---- by way of scratch ----------------------------------------------------------------------- */

/* in words */
static int64_t dync__mm_k(const dync__mm *g) { return (g->k + g->group - 1) / g->group; }

/* Rows that are converted at a time: what they need beside b stays in the cache. */
static int64_t dync__mm_some(const dync__mm *g) { return DYNC__MIN(g->m, DYNC__MM_ROWS); }

/* b as it is multiplied: in `to`, or where it lies. */
static void dync__mm_b(const dync__mm *g, char *to, const char *b, dync__gemm *x)
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
DYNC__RARE static void dync__mm_offset(const dync__mm *g, const dync__gemm *of, char *to)
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
static size_t dync__mm_scratch(const dync__mm *g)
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
DYNC__RARE static void dync__mm_few(dync__mm *g, int64_t index, const char *a, const char *b,
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

/* Where b is an input of the plan that nobody wrote since the last run, its panels are kept.
 * Written or new: the second run in a row with the same one packs it. What dync_data gave away or
 * the user lent may change unseen and is never kept. */
typedef struct dync__mm_state {
    dync__gemm_fixed *fixed; /* a whole product, where it is small */
    bool keeps, single;      /* b is packed; one product */
    dync__mutex lock;
    dync__packed_source seen;
    dync__packed *kept;
} dync__mm_state;

/* The plan's input that b is; NULL: none. */
static const dync__tensor *dync__mm_input(const dync__kcall *c)
{
    return c->input[1] && dync__tls.plan_tensors ? dync__tls.plan_tensors[c->input[1] - 1] : NULL;
}

/* Sums of floats are those of panels in every run of such a call, kept or not; but memory that the
 * user lent is never packed, and is borrowed for ever. */
static bool dync__mm_keeps(const dync__mm *g)
{
    const dync__mm_state *state = g->call->state;
    if (!state || !state->keeps || g->type == DYNC__GT_U8) return false;
    const dync__tensor *t = dync__mm_input(g->call);
    return !t || !(t->storage->flags & DYNC__STORAGE_BORROWED);
}

/* Product number `index` by way of scratch: b once, then some rows of a and c at a time, rounded to
 * c's dtype while they are in the cache. */
DYNC__RARE static void dync__mm_converted(dync__mm *g, int64_t index, const char *a, const char *b,
                                          char *c)
{
    int64_t bytes = dync__dtype_info(g->in_dtype)->bytes,
            c_bytes = dync__dtype_info(g->dtype)->bytes, k = dync__mm_k(g), some = dync__mm_some(g),
            panels = dync__mm_panel_bytes(g), rows;
    char *wb = (char *)g->scratch + panels, *wa = wb + 4 * k * g->n, *wc = wa + 4 * some * k,
         *offset = wc + 4 * some * g->n;
    dync__gemm bs = {.packed = g->packed};
    bool bytewise = g->type == DYNC__GT_U8 && !g->sums, in_place = g->sums && g->c_col == 1;
    if (!g->packed) dync__mm_b(g, wb, b, &bs);
    if (g->sums && g->packed)
        offset = (char *)(uintptr_t)g->packed + dync__gemm_packed_bytes(g->type, g->n, k);
    else if (g->sums)
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
            x.a = dync__mm_words(wa, a, rows, g->a_row, g->k, g->a_col, bytes, g->sums, &step[0]);
        x.a_row = step[0];
        x.a_col = step[1];
        x.c = in_place ? c : wc;
        x.c_row = in_place ? g->c_row : g->n;
        if (g->sums)
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
            dync__copy_elements(2, shape, c, g->dtype, stride, wc, g->sums ? DYNC_I32 : DYNC_F32,
                                dense);
        if (g->call->epilogue) dync__mm_done(&(dync__mm_rows){g, index * g->m}, row, row + rows);
    }
    (void)DYNC__ATOMIC_ADD(&g->told, 1);
}

/* ---- b packed once --------------------------------------------------------------------------- */

/* Packs b, with `sums` its offsets behind the panels. NULL: no memory, the error is set. */
DYNC__RARE static dync__packed *dync__mm_panels_new(const dync__mm *g,
                                                    const dync__packed_source *source)
{
    int64_t k = dync__mm_k(g), panels = dync__gemm_packed_bytes(g->type, g->n, k);
    size_t words = g->converted ? (size_t)(4 * k * g->n) : 0;
    dync__packed *p = dync__packed_new(source, (size_t)(panels + (g->sums ? 4 * (g->n + k) : 0)));
    char *room = p && words ? dync__alloc_data(words) : NULL;
    dync__gemm x = {.b = g->b, .b_row = g->b_row, .b_col = g->b_col};
    if (!p || (words && !room)) {
        dync__packed_put(p);
        return NULL;
    }
    if (words) dync__mm_b(g, room, g->b, &x);
    dync__gemm_pack_b(g->type, g->n, k, x.b, x.b_row, x.b_col, p->at);
    x.packed = p->at;
    if (g->sums) dync__mm_offset(g, &x, p->at + panels);
    if (room) dync__free_data(room, words);
    return p;
}

/* All that packing goes by, but b. */
DYNC__RARE static void dync__mm_panels_key(const dync__mm *g, dync__str *key)
{
    const int64_t word[] = {'m',      dync__target_level(),
                            g->type,  g->in_dtype,
                            g->dtype, g->converted,
                            g->sums,  g->n,
                            g->k,     g->b_row,
                            g->b_col};
    dync__str_addn(key, (const char *)word, sizeof word);
}

/* Those that another call keeps; where there are none and b is what it was in the run before, made.
 * Under the call's lock. */
DYNC__RARE static dync__packed *dync__mm_panels_find(const dync__mm *g,
                                                     const dync__packed_source *source, bool again)
{
    dync__str key = {0};
    dync__mm_panels_key(g, &key);
    dync__packed *p = key.failed ? NULL : dync__packed_find(source, &key);
    if (!p && again && (p = dync__mm_panels_new(g, source))) dync__packed_keep(p, &key);
    if (key.failed || (again && !p)) dync_clear_error(); /* b is packed in every run */
    dync__str_free(&key);
    return p;
}

/* The panels of b with a use for the caller, or NULL. */
DYNC__RARE static dync__packed *dync__mm_panels_get(const dync__mm *g)
{
    const dync__kcall *c = g->call;
    const dync__tensor *t = dync__mm_input(c);
    dync__mm_state *state = c->state;
    if (!state || !state->keeps || !t ||
        (t->storage->flags & (DYNC__STORAGE_EXPOSED | DYNC__STORAGE_BORROWED)))
        return NULL;
    dync__packed_source now = {g->b, t->storage->id, 0, t->storage->version};
    dync__lock(&state->lock);
    dync__packed *p = state->kept && dync__packed_same(&state->kept->source, &now) ? state->kept
                                                                                   : NULL,
                 *old = NULL;
    bool again = !p && dync__packed_same(&state->seen, &now);
    if (p) {
        (void)DYNC__ATOMIC_INC(&p->users);
    } else if ((p = dync__mm_panels_find(g, &now, again))) {
        old = state->kept;
        state->kept = p;
    }
    state->seen = now;
    dync__unlock(&state->lock);
    dync__packed_forget(old);
    return p;
}

DYNC__RARE static void dync__mm_drop(void *state_)
{
    dync__mm_state *state = state_;
    if (!state) return;
    dync__packed_forget(state->kept);
    dync__gemm_fixed_free(state->fixed);
    dync__free(state, sizeof *state);
}

/* What follows, for rows from `first` on of all products; data: of the call, or NULL: not known
 * yet. */
static void dync__mm_follow(const dync__kcall *c, void *const *data, int64_t first,
                            dync__gemm_after *to)
{
    static const char some[1];
    const dync__kfollow *f = c->follow;
    int64_t bytes = dync__dtype_info(c->operand[c->n - 1].dtype)->bytes;
    for (int i = 0; f && i < 2; i++) to->flags[i] = f->flags[i];
    for (int i = 0; f && i < f->n; i++) {
        to->row[i] = f->row[i];
        to->same[i] = f->same[i];
        to->more[i] = data ? (const char *)data[c->n + f->buf[i]] +
                                 (f->offset[i] + first * f->row[i]) * bytes
                           : some;
    }
}

/* Product `index` in f32 or f64. Adds to g->told where the epilogue is done for all its rows; else
 * it is left to dync__mm_run. */
static void dync__mm_float(dync__mm *g, int64_t index, const char *a, const char *b, char *c)
{
    dync__mm_rows rows = {g, index * g->m};
    dync__gemm x = {.type = g->type,
                    .m = g->m,
                    .n = g->n,
                    .k = g->k,
                    .a = a,
                    .b = b,
                    .c = c,
                    .a_row = g->a_row,
                    .a_col = g->a_col,
                    .b_row = g->b_row,
                    .b_col = g->b_col,
                    .c_row = g->c_row,
                    .c_col = g->c_col,
                    .d = g->d,
                    .d_row = g->d_row,
                    .packed = g->packed,
                    .panels = g->panels};
    if (g->accumulate) x.d = c, x.d_row = g->c_row;
    if (g->call->epilogue) x.done = dync__mm_done, x.user = &rows;
    dync__mm_follow(g->call, g->data, index * g->m, &x.after);
    const dync__mm_state *state = g->call->state;
    bool fixed = state && state->fixed && !g->accumulate &&
                 dync__gemm_fixed_run(state->fixed, a, b, c, g->d, x.after.more);
    bool told = !fixed && dync__gemm_run(&x);
    if (told || (fixed ? x.after.flags[0] != 0 : x.followed))
        (void)DYNC__ATOMIC_ADD(&g->told, 1);
    else if (g->call->epilogue && g->batches > 1) {
        dync__mm_done(&rows, 0, g->m);
        (void)DYNC__ATOMIC_ADD(&g->told, 1);
    }
}

static void dync__mm_one(dync__mm *g, int64_t index)
{
    int64_t bytes = dync__dtype_info(g->in_dtype)->bytes,
            c_bytes = dync__dtype_info(g->dtype)->bytes;
    const char *a = g->a, *b = g->b;
    char *c = g->c;
    for (int64_t d = g->n_batch - 1, i = index; d >= 0; d--) {
        int64_t at = i % g->shape[d];
        i /= g->shape[d];
        a += at * g->a_step[d] * bytes;
        b += at * g->b_step[d] * bytes;
        c += at * g->c_step[d] * c_bytes;
    }
    if (g->few)
        dync__mm_few(g, index, a, b, c);
    else if (g->converted)
        dync__mm_converted(g, index, a, b, c);
    else if (g->type >= 0)
        dync__mm_float(g, index, a, b, c);
    else
        dync__mm_integers(g, a, b, c);
}

DYNC__RARE static void dync__mm_part(void *user, int part, int n_parts)
{
    dync__mm *g = user;
    for (int64_t i = g->batches * part / n_parts; i < g->batches * (part + 1) / n_parts; i++)
        dync__mm_one(g, i);
}

/* All products: shared among threads where there are enough of them, else gemm shares out the one
 * at hand. The epilogue runs over everything at the end unless every product has had it. */
static dync_status dync__mm_run(dync__mm *g)
{
    bool alone = g->call->scratch_bytes > 0; /* products share it */
    double ns = (double)g->batches * (double)g->m * (double)g->n * (double)g->k / DYNC__MACS_PER_NS;
    int threads = alone || g->batches < 4 ? 1 : dync__pool_worth(ns);
    dync__packed *panels = g->call->state ? dync__mm_panels_get(g) : NULL;
    if (panels) g->packed = panels->at;
    g->panels = dync__mm_keeps(g);
    if (threads > 1 && g->batches >= 2 * threads)
        dync__pool_run(dync__mm_part, g, dync__pool_pieces(threads, ns, g->batches));
    else
        dync__mm_part(g, 0, 1);
    dync__packed_put(panels);
    if (g->call->epilogue && g->told != g->batches)
        return dync__code_run(g->call->epilogue, g->data + g->call->n, 0, 0);
    return g->status;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* d of addmm as gemm takes it. */
DYNC__RARE static bool dync__mm_dense_bias(const dync__kcall *c)
{
    const dync__operand *bias = &c->operand[2], *y = &c->operand[3];
    return (y->dtype == DYNC_F32 || y->dtype == DYNC_F64) &&
           (bias->lay.stride[1] == 1 || y->lay.shape[1] == 1);
}

/* What can be known before the runs: the tiles of a small product (`fixed`), or that b's panels are
 * worth keeping. Where neither helps, c->state stays NULL. */
DYNC__RARE static dync_status dync__mm_ready(dync__kcall *c, const dync__mm *g)
{
    static char some[1];
    bool with_bias = c->n == 4;
    dync__gemm x = {.type = g->type,
                    .m = g->m,
                    .n = g->n,
                    .k = g->k,
                    .a_row = g->a_row,
                    .a_col = g->a_col,
                    .b_row = g->b_row,
                    .b_col = g->b_col,
                    .c_row = g->c_row,
                    .c_col = g->c_col,
                    .d = with_bias ? some : NULL,
                    .d_row = with_bias ? c->operand[2].lay.stride[0] : 0};
    bool keeps = c->input[1] && g->c_col == 1 && g->n_batch == 0 && !g->few &&
                 g->n * g->k >= DYNC__MM_KEEP &&
                 (g->converted
                      ? g->n > 1
                      : dync__gemm_wants_packed(g->type, g->m, g->n, g->k, g->b_row, g->b_col));
    if (g->batches == 0) return DYNC_OK;
    dync__mm_follow(c, NULL, 0, &x.after);
    dync__gemm_fixed *fixed =
        keeps || g->converted || (with_bias && !dync__mm_dense_bias(c)) ? NULL : dync__gemm_fix(&x);
    if (!fixed && !keeps) return DYNC_OK;
    dync__mm_state *state = dync__calloc(sizeof *state);
    if (!state) {
        dync__gemm_fixed_free(fixed);
        return DYNC_ERR_MEMORY;
    }
    state->fixed = fixed;
    state->keeps = keeps;
    state->single = g->n_batch == 0;
    c->state = state;
    c->drop = dync__mm_drop;
    return DYNC_OK;
}

DYNC__RARE static dync_status dync__mm_check(dync__kcall *c)
{
    const dync__operand *a = &c->operand[0], *b = &c->operand[1], *y = &c->operand[c->n - 1];
    int rank = y->lay.ndim;
    DYNC__TRY(dync__kcall_expect(c, rank >= 2 && a->lay.ndim == rank && b->lay.ndim == rank,
                                 "matrices of one rank"));
    DYNC__TRY(dync__kcall_expect(
        c,
        a->dtype == b->dtype &&
            (a->dtype == y->dtype || (a->dtype == DYNC_I8 && y->dtype == DYNC_I32 && c->n == 3)) &&
            y->dtype != DYNC_BOOL,
        "operands of one dtype, or I8 with a result of I32"));
    for (int d = 0; d < rank - 2; d++)
        DYNC__TRY(
            dync__kcall_expect(c,
                               (a->lay.shape[d] == y->lay.shape[d] || a->lay.shape[d] == 1) &&
                                   (b->lay.shape[d] == y->lay.shape[d] || b->lay.shape[d] == 1),
                               "batches that broadcast"));
    const int64_t *as = &a->lay.shape[rank - 2], *bs = &b->lay.shape[rank - 2],
                  *ys = &y->lay.shape[rank - 2];
    DYNC__TRY(dync__kcall_expect(c, as[0] == ys[0] && bs[1] == ys[1] && as[1] == bs[0],
                                 "a [M, K], b [K, N], c [M, N]"));
    static char nothing[1];
    void *const none[4] = {nothing, nothing, nothing, nothing};
    /* its sizes after merging; the data pointers do not count */
    dync__mm g;
    dync__mm_open(&g, c, none);
    if (g.type >= 0) DYNC__TRY(dync__mm_ready(c, &g));
    if (g.converted) c->scratch_bytes = dync__mm_scratch(&g);
    return DYNC_OK;
}

DYNC__RARE DYNC__FN dync_status dync__k_matmul_prepare(dync__kcall *c)
{
    DYNC__TRY(dync__kcall_expect(c, c->n == 3, "3 operands"));
    return dync__mm_check(c);
}

DYNC__RARE DYNC__FN dync_status dync__k_addmm_prepare(dync__kcall *c)
{
    DYNC__TRY(dync__kcall_expect(c, c->n == 4 && c->operand[3].lay.ndim == 2,
                                 "4 operands, the "
                                 "result a matrix"));
    const dync__operand *bias = &c->operand[2], *y = &c->operand[3];
    DYNC__TRY(dync__kcall_expect(c,
                                 bias->lay.ndim == 2 && bias->lay.shape[0] == y->lay.shape[0] &&
                                     bias->lay.shape[1] == y->lay.shape[1] &&
                                     bias->dtype == y->dtype,
                                 "a bias of the result's shape "
                                 "and dtype"));
    return dync__mm_check(c);
}

/* A small product as it was laid out beforehand. */
static bool dync__mm_fixed(const dync__kcall *c, void *const *data, dync_status *status)
{
    const dync__mm_state *state = c->state;
    const dync__operand *op = c->operand;
    int last = c->n - 1;
    dync__gemm_after after = {{0, 0}, {NULL, NULL}, {0, 0}, {false, false}};
    if (!state || !state->fixed || !state->single) return false;
    dync__mm_follow(c, data, 0, &after);
    if (!dync__gemm_fixed_run(state->fixed, dync__operand_at(&op[0], data[0]),
                              dync__operand_at(&op[1], data[1]),
                              dync__operand_at(&op[last], data[last]),
                              last == 3 ? dync__operand_at(&op[2], data[2]) : NULL, after.more))
        return false;
    *status = c->epilogue && !c->follow ? dync__code_run(c->epilogue, data + c->n, 0, 0) : DYNC_OK;
    return true;
}

DYNC__FN dync_status dync__k_matmul(const dync__kcall *c, void *const *data, void *scratch)
{
    dync__mm g;
    dync_status status;
    if (dync__mm_fixed(c, data, &status)) return status;
    dync__mm_open(&g, c, data);
    g.scratch = scratch;
    return dync__mm_run(&g);
}

DYNC__FN dync_status dync__k_addmm(const dync__kcall *c, void *const *data, void *scratch)
{
    const dync__operand *bias = &c->operand[2], *y = &c->operand[3];
    dync__mm g;
    dync_status status;
    if (dync__mm_fixed(c, data, &status)) return status;
    dync__mm_open(&g, c, data);
    g.scratch = scratch;
    if (dync__mm_dense_bias(c)) {
        g.d = dync__operand_at(bias, data[2]);
        g.d_row = bias->lay.stride[0];
    } else {
        g.accumulate = true;
        dync__copy_elements(2, y->lay.shape, g.c, y->dtype, y->lay.stride,
                            dync__operand_at(bias, data[2]), bias->dtype, bias->lay.stride);
    }
    return dync__mm_run(&g);
}
