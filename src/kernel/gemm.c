/* kernel/gemm.c: C[m,n] = (D +) A[m,k] B[k,n] for f32 and f64, any strides. matmul.c and conv.c
 * stand on it; under it the forms of codegen/gemm_code.h.
 *
 *   dots    few rows, both operands dense along k: inner products
 *   lines   few rows, B dense and too large for the caches: eight of its rows at a time, in order
 *   direct  A and B where they lie, all of k at once
 *   blocks  as Goto and van de Geijn 2008: B in panels of NR columns, A in panels of its tile's
 *           rows, KC of k at a time
 *   turned  few rows, B dense along k: the sums of blocks, as tiles of C's transpose, whose rows
 *           are B's columns where they lie
 * The path is chosen from the whole product; threads then take ranges of rows or columns. An
 * element's sum runs over k in one order, so tiles, threads and packed operands do not change a bit
 * of it. Rows are shared out evenly among tiles: 64 is 4 x 13 + 12, not 4 x 14 + 8. */
#include "../dync.in.h"
#include "gemm_tiles.h"
#include "operand.h"
DYNC__BESIDE_JIT

/* Any strides, no memory: slow and right. (Sums of fours wrap at 32 bits; a double holds them.) */
DYNC__RARE static void dync__gemm_plain(const dync__gemm *g)
{
    int64_t bytes = dync__gt_bytes(g->type),
            d_col = g->d == g->c ? g->c_col
                    : g->bias    ? 0
                                 : 1,
            wide = dync__gt_b_bytes(g->type);
    int dtype = g->type == DYNC__GT_U8 ? DYNC_I32 : g->type == DYNC__GT_F64 ? DYNC_F64 : DYNC_F32;
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->n; j++) {
            char *c = g->c + (i * g->c_row + j * g->c_col) * bytes;
            double sum = g->d ? dync__load_f64(g->d + (i * g->d_row + j * d_col) * bytes, dtype)
                              : 0;
            for (int64_t p = 0; p < g->k; p++)
                sum += dync__gt_product(g->type, g->a + (i * g->a_row + p * g->a_col) * bytes,
                                        g->b + (p * g->b_row + j * g->b_col) * wide);
            if (g->type == DYNC__GT_U8)
                dync__store_i64(c, dtype, (int64_t)sum);
            else
                dync__store_f64(c, dtype, sum);
        }
    if (g->after.flags[0]) {
        dync__gt_args x = {.c = g->c, .c_step = g->c_row * bytes};
        dync__gemm_more(g, &x, 0, 0);
        dync__gt_follow(g->after.flags[0], g->type, g->m, g->n, &x);
    }
    if (g->done) g->done(g->user, 0, g->m);
}

/* Do registers hold 4 x 4 inner products, and tall tiles? */
static bool dync__gemm_tall(int type) { return dync__gt_fits(DYNC__GT_DOTS, type, 0, 4, 4); }

/* Bytes of b up to which tiles read it where it lies: each row of tiles passes it once, so that
 * where tiles are low it must leave room in the second cache. */
static int64_t dync__gemm_near(int type)
{
    return dync__gemm_tall(type) ? DYNC__GEMM_NEAR : DYNC__GEMM_NEAR_LOW;
}

/* Are so few rows, both operands dense along k, inner products in every run? With tall tiles'
 * registers they are faster than tiles up to GEMM_DOTS_ROWS. */
static bool dync__gemm_few_dots(int type, int64_t m, int64_t k)
{
    return m <= (dync__gemm_tall(type) ? DYNC__GEMM_DOTS_ROWS : DYNC__GEMM_DOTS_FEW) &&
           k >= (m == 1 ? DYNC__GEMM_DOTS_ONE : DYNC__GEMM_DOTS_K * m);
}

/* With few registers tiles have few rows, which do not make up for a b that comes from the second
 * cache: the lines of a tile's columns, two for each step where rows do not begin with one. */
static bool dync__gemm_b_near(const dync__gemm *g)
{
    int64_t bytes = dync__gt_bytes(g->type),
            lines = g->b_row * dync__gt_b_bytes(g->type) % 64 ? 2 : 1;
    return g->k * g->n * bytes <= dync__gemm_near(g->type) &&
           (g->k * lines * 64 <= DYNC__GEMM_L1 || dync__gemm_tall(g->type));
}

/* The first path that takes these strides and sizes; PLAIN takes all. f16 and bf16 against f32
 * (`as`) have no panels, so theirs are DOTS, LINES, DIRECT or PLAIN. */
DYNC__FN uint8_t dync__gemm_path(const dync__gemm *g)
{
    int64_t bytes = dync__gt_bytes(g->type);
    bool dense_a = g->a_col == 1 || g->a_row == 1, as = g->type >= DYNC__GT_AS_F16;
    if (g->type != DYNC__GT_U8 && g->b_row == 1 && g->a_col == 1 && !g->packed && g->b_col != 1 &&
        !g->panels && (!g->d || g->d == g->c) && (as || dync__gemm_few_dots(g->type, g->m, g->k)))
        return DYNC__GEMM_DOTS;
    if (g->c_col != 1 && g->n > 1) return DYNC__GEMM_PLAIN;
    if (g->b_col == 1 && dense_a && !g->packed && !g->panels) {
        if (g->m <= DYNC__GEMM_LINES_ROWS && g->n * bytes >= DYNC__GEMM_LINES_ROW &&
            g->k * g->n * bytes >= DYNC__GEMM_LINES_BYTES)
            return DYNC__GEMM_LINES;
        if (as || g->m <= DYNC__GEMM_FEW || dync__gemm_b_near(g)) return DYNC__GEMM_DIRECT;
    }
    if (!g->packed && g->b_row == 1 &&
        dync__gemm_transposes(g->type, g->m, g->n, DYNC__GEMM_TRANSPOSED_ROWS))
        return DYNC__GEMM_TRANSPOSED;
    return as ? DYNC__GEMM_PLAIN : DYNC__GEMM_BLOCKS;
}

DYNC__FN bool dync__gemm_wants_packed(int type, int64_t m, int64_t n, int64_t k, int64_t b_row,
                                      int64_t b_col)
{
    int64_t b_bytes = k * n * dync__gt_bytes(type);
    if (n <= 1) return false;
    if (b_col == 1) return m > DYNC__GEMM_FEW && b_bytes > dync__gemm_near(type);
    if (b_row != 1) return true;
    /* few rows are as fast where b lies */
    return m > 3 && !dync__gemm_few_dots(type, m, k) &&
           !(b_bytes >= DYNC__GEMM_TRANSPOSED_B &&
             dync__gemm_transposes(type, m, n, DYNC__GEMM_TRANSPOSED_KEPT));
}

/* Are panels of a packed b few and short enough for one call to do a tile's rows of all of them? */
static bool dync__gemm_short_panels(const dync__gemm *g)
{
    return g->packed && g->k <= DYNC__GEMM_A_LIES && dync__gemm_a_lies(g) &&
           dync__gemm_packed_bytes(g->type, g->n, g->k) <= DYNC__GEMM_RELAID;
}

/* Runs the product by g->path on this thread. Without memory for panels the result is the same, but
 * slower; no error is left. */
static void dync__gemm_follow(const dync__gemm *g)
{
    size_t bytes = (size_t)(DYNC__GEMM_ROWS * g->k * dync__gt_bytes(g->type));
    char *panel;
    switch (g->path) {
    case DYNC__GEMM_DOTS: dync__gemm_dots(g, NULL); return;
    case DYNC__GEMM_LINES:
        for (int64_t p = 0; p < g->k; p += DYNC__GEMM_FEW_LINES)
            dync__gemm_direct(g, p, DYNC__MIN(DYNC__GEMM_FEW_LINES, g->k - p), NULL, NULL);
        return;
    case DYNC__GEMM_DIRECT:
        panel = dync__gemm_a_lies(g) ? NULL : dync__alloc_data(bytes);
        if (!panel && !dync__gemm_a_lies(g)) dync_clear_error();
        dync__gemm_direct(g, 0, g->k, panel, NULL);
        if (panel) dync__free_data(panel, bytes);
        return;
    case DYNC__GEMM_TRANSPOSED:
        if (dync__gemm_transposed(g)) return;
        dync_clear_error(); /* nothing is lost but speed */
        break;
    case DYNC__GEMM_BLOCKS:
        if (dync__gemm_short_panels(g)) {
            dync__gemm_direct(g, 0, g->k, NULL, NULL);
            return;
        }
        if (dync__gemm_relaid(g) || dync__gemm_blocks(g)) return;
        dync_clear_error(); /* nothing is lost but speed */
    }
    dync__gemm_plain(g);
}

typedef struct dync__gemm_split {
    const dync__gemm *g;
    bool rows;
} dync__gemm_split;

/* `done` of a thread's share of rows: user is {whole, share}; tells the whole product's row
 * numbers. */
DYNC__RARE static void dync__gemm_told(void *user, int64_t begin, int64_t end)
{
    const dync__gemm *const *at = user;
    const dync__gemm *whole = at[0], *part = at[1];
    int64_t row = (part->c - whole->c) / (whole->c_row * dync__gt_bytes(whole->type));
    whole->done(whole->user, row + begin, row + end);
}

/* Rows or columns that shares are made of: whole tiles and panels; but few shares have as many rows
 * each, as tiles share them out evenly themselves. */
static int64_t dync__gemm_unit(const dync__gemm_split *s, int n_parts)
{
    if (!s->rows) return dync__gemm_panel(s->g->type);
    return s->g->m < DYNC__GEMM_ROWS * DYNC__GEMM_EVEN * n_parts ? 1 : DYNC__GEMM_ROWS;
}

/* A thread's share. One of columns finishes no row, so `done` is not called for it. */
static void dync__gemm_part(void *user, int part, int n_parts)
{
    const dync__gemm_split *s = user;
    dync__gemm g = *s->g;
    const dync__gemm *both[2] = {s->g, &g};
    int64_t unit = dync__gemm_unit(s, n_parts), all = s->rows ? g.m : g.n,
            units = (all + unit - 1) / unit, bytes = dync__gt_bytes(g.type);
    int64_t begin = DYNC__MIN(units * part / n_parts * unit, all),
            end = DYNC__MIN(units * (part + 1) / n_parts * unit, all);
    if (begin >= end) return;
    g.c += begin * (s->rows ? g.c_row : g.c_col) * bytes;
    if (s->rows) {
        g.a += begin * g.a_row * bytes;
        if (g.d) g.d += begin * g.d_row * bytes;
        for (int i = 0; i < DYNC__AFTER_MORE && g.after.more[i]; i++)
            g.after.more[i] += begin * g.after.row[i] * bytes;
        g.m = end - begin;
        if (g.done) g.done = dync__gemm_told, g.user = both;
    } else {
        if (g.b) g.b += begin * g.b_col * dync__gt_b_bytes(g.type); /* none where it is packed */
        g.packed_n = g.n;
        g.packed_first = begin;
        if (g.d) g.d += begin * (g.d == s->g->c ? g.c_col : g.bias ? 0 : 1) * bytes;
        for (int i = 0; i < DYNC__AFTER_MORE && g.after.more[i]; i++)
            g.after.more[i] += g.after.same[i] ? 0 : begin * bytes;
        g.n = end - begin;
        g.done = NULL;
    }
    dync__gemm_follow(&g);
}

/* Parts that threads may take: of whole tiles. Where each part packs an operand that all of them
 * read, parts are large. */
static int64_t dync__gemm_parts(const dync__gemm *g, bool rows)
{
    int64_t all = rows ? g->m : g->n, unit = rows ? DYNC__GEMM_ROWS : dync__gemm_panel(g->type);
    bool again = g->path >= DYNC__GEMM_BLOCKS
                     ? !rows || !g->packed
                     : g->path == DYNC__GEMM_DIRECT && !rows && !dync__gemm_a_lies(g);
    return all / (again ? DYNC__MAX(unit, DYNC__GEMM_SHARE) : unit);
}

DYNC__RARE static void dync__gemm_swap(int64_t *a, int64_t *b)
{
    int64_t t = *a;
    *a = *b;
    *b = t;
}

DYNC__FN void dync__gemm_transpose(dync__gemm *g)
{
    static const dync__gemm_after none = {{0, 0}, {NULL, NULL}, {0, 0}, {false, false}};
    const char *a = g->a;
    g->a = g->b;
    g->b = a;
    dync__gemm_swap(&g->m, &g->n);
    dync__gemm_swap(&g->a_row, &g->b_col);
    dync__gemm_swap(&g->a_col, &g->b_row);
    dync__gemm_swap(&g->c_row, &g->c_col);
    g->d_row = g->c_row;
    g->done = NULL;
    g->packed = NULL;
    g->after = none;
}

/* c where d is, or cleared. */
static void dync__gemm_start(dync__gemm *g)
{
    int64_t bytes = dync__gt_bytes(g->type);
    if (g->d == g->c) return;
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->n; j++) {
            char *c = g->c + (i * g->c_row + j * g->c_col) * bytes;
            if (g->d)
                memcpy(c, g->d + (i * g->d_row + (g->bias ? 0 : j)) * bytes, (size_t)bytes);
            else
                memset(c, 0, (size_t)bytes);
        }
    g->d = g->c;
    g->d_row = g->c_row;
    g->bias = false;
}

/* Columns of c apart: in dense memory first. False: there is none. */
DYNC__RARE static bool dync__gemm_aside(const dync__gemm *g)
{
    int64_t bytes = dync__gt_bytes(g->type), shape[2] = {g->m, g->n}, dense[2] = {g->n, 1},
            stride[2] = {g->c_row, g->c_col};
    int dtype = g->type == DYNC__GT_F64 ? DYNC_F64 : DYNC_F32;
    size_t total = (size_t)(g->m * g->n * bytes);
    dync__gemm h = *g;
    if (!(h.c = dync__alloc_data(total))) return dync_clear_error(), false;
    if (g->d == g->c) {
        dync__copy_elements(2, shape, h.c, dtype, dense, g->c, dtype, stride);
        h.d = h.c;
        h.d_row = g->n;
    }
    h.c_row = g->n;
    h.c_col = 1;
    h.done = NULL;
    dync__gemm_run(&h);
    dync__copy_elements(2, shape, g->c, dtype, stride, h.c, dtype, dense);
    dync__free_data(h.c, total);
    return true;
}

DYNC__FN bool dync__gemm_run(dync__gemm *g)
{
    static const dync__gemm_after none = {{0, 0}, {NULL, NULL}, {0, 0}, {false, false}};
    g->followed = false;
    if (g->m <= 0 || g->n <= 0) return false;
    if (DYNC__GEMM_BRIEF) {
        dync__gemm_brief(g, g->type == DYNC__GT_F64 ? DYNC_F64 : DYNC_F32);
        return g->done != NULL;
    }
    if (g->k <= 0) return dync__gemm_start(g), false;
    /* a column-major result is the row-major result of the transposed product; so is a single
     * column */
    if ((g->c_col != 1 && g->c_row == 1 && g->n > 1) ||
        (g->n == 1 && g->m > 1 && g->type <= DYNC__GT_F64)) {
        if (g->d && g->d != g->c) dync__gemm_start(g);
        dync__gemm_transpose(g);
    }
    /* sums along rows of b begin in c */
    if (g->d && g->m <= 3 && g->b_row == 1 && g->b_col != 1 && !g->packed) dync__gemm_start(g);
    double work = (double)g->m * (double)g->n * (double)g->k;
    g->path = dync__gemm_path(g);
    if (g->path <= DYNC__GEMM_DOTS || g->path == DYNC__GEMM_TRANSPOSED)
        g->after = none; /* no tiles of c */
    g->followed = g->after.flags[0] != 0;
    if (g->followed) g->done = NULL;
    if (g->path == DYNC__GEMM_PLAIN && dync__gemm_aside(g)) return false;
    dync__gemm_split split = {g, g->m >= g->n || (g->done && g->m >= DYNC__GEMM_TOLD_ROWS)};
    double ns = work / (DYNC__GEMM_VECTORS_PER_NS * dync__gt_lanes(g->type, 0));
    int threads = (split.rows ? g->m : g->n) > DYNC__GEMM_ROWS ? dync__pool_worth(ns) : 1;
    if (threads > 1) {
        int64_t parts = DYNC__MAX(threads, dync__gemm_parts(g, split.rows));
        dync__pool_run(dync__gemm_part, &split, dync__pool_pieces(threads, ns, parts));
        return g->done && split.rows;
    }
    dync__gemm_follow(g);
    return g->done != NULL;
}

#define DYNC__GEMM_OF(T, name, of)                                                                \
    DYNC__FN void name(int64_t m, int64_t n, int64_t k, const T *a, int64_t a_row, int64_t a_col, \
                       const T *b, int64_t b_row, int64_t b_col, T *c, int64_t c_row,             \
                       int64_t c_col, bool accumulate)                                            \
    {                                                                                             \
        dync__gemm_run(&(dync__gemm){.type = of,                                                  \
                                     .m = m,                                                      \
                                     .n = n,                                                      \
                                     .k = k,                                                      \
                                     .a = (const char *)a,                                        \
                                     .b = (const char *)b,                                        \
                                     .d = accumulate ? (const char *)c : NULL,                    \
                                     .c = (char *)c,                                              \
                                     .a_row = a_row,                                              \
                                     .a_col = a_col,                                              \
                                     .b_row = b_row,                                              \
                                     .b_col = b_col,                                              \
                                     .c_row = c_row,                                              \
                                     .c_col = c_col,                                              \
                                     .d_row = c_row});                                            \
    }
DYNC__GEMM_OF(float, dync__gemm_f32, DYNC__GT_F32)
DYNC__GEMM_OF(double, dync__gemm_f64, DYNC__GT_F64)

DYNC__FN void dync__gemm_add_rows(int bytes, int64_t n, int64_t k, const void *a, const void *b,
                                  int64_t b_row, void *c)
{
    dync__gemm g = {.type = bytes == 8 ? DYNC__GT_F64 : DYNC__GT_F32,
                    .m = 1,
                    .n = n,
                    .k = k,
                    .a = a,
                    .b = b,
                    .d = c,
                    .c = c,
                    .a_col = 1,
                    .b_row = b_row,
                    .b_col = 1,
                    .c_col = 1};
    if (DYNC__GEMM_BRIEF)
        dync__gemm_run(&g);
    else if (n > 0 && k > 0)
        dync__gemm_direct(&g, 0, k, NULL, NULL);
}

DYNC__FN void dync__gemm_products(int bytes, int64_t n, int64_t count, const void *a, const void *b,
                                  int64_t b_col, void *out)
{
    dync__gemm g = {.type = bytes == 8 ? DYNC__GT_F64 : DYNC__GT_F32,
                    .m = 1,
                    .n = count,
                    .k = n,
                    .a = a,
                    .b = b,
                    .c = out,
                    .a_col = 1,
                    .b_row = 1,
                    .b_col = b_col,
                    .c_col = 1};
    if (DYNC__GEMM_BRIEF)
        dync__gemm_run(&g);
    else
        dync__gemm_dots(&g, NULL);
}
