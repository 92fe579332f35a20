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
#include "gemm.h"
#include "operand.h"
DYNC__BESIDE_JIT

/* ---- tiles ----------------------------------------------------------------------------------- */

/* What the tiles of one product have in common: columns of a whole one, most rows. fix: tiles are
 * written down there instead of run. */
typedef struct dync__gemm_tile {
    int type, flags, lanes, columns, rows;
    dync__gemm_fixed *fix;
    bool same[DYNC__AFTER_MORE]; /* as dync__gemm_after has it */
} dync__gemm_tile;
enum { DYNC__GEMM_FIXED = 16 };
struct dync__gemm_fixed {
    uint32_t epoch;
    int n; /* more than there is room for: none */
    int type;
    /* packs > 0: b's columns are dense; these `lines` columns of `packs` elements, `line` apart,
     * are transposed into dense rows first */
    int64_t packs, lines, line;
    /* a, b, c, d as distances from dync__gemm_origin */
    struct {
        dync__gt_fn fn;
        dync__gt_args x;
    } tile[DYNC__GEMM_FIXED];
};
static char dync__gemm_origin[1];

/* Many rows want two vectors of columns, few rows as many as there are registers. */
static dync__gemm_tile dync__gemm_tile_for(int type, int flags, int64_t m, int64_t n, int most)
{
    dync__gemm_tile t = {.type = type, .flags = flags};
    if (n * dync__gt_bytes(type) <= 32) t.flags |= DYNC__GT_HALF;
    t.lanes = dync__gt_lanes(type, t.flags);
    int vectors = (int)DYNC__MIN(most, (n + t.lanes - 1) / t.lanes);
    t.rows = (int)DYNC__MIN(m, DYNC__GEMM_ROWS);
    int rows = dync__gt_most_rows(type, t.flags, vectors * t.lanes);
    while (vectors > 2 && rows < t.rows)
        rows = dync__gt_most_rows(type, t.flags, --vectors * t.lanes);
    t.rows = DYNC__MIN(t.rows, rows);
    t.columns = vectors * t.lanes;
    return t;
}

/* Runs a tile or, for a fixed product, writes it down. A tile too many, or one without machine
 * code, makes f->n greater than DYNC__GEMM_FIXED: the product cannot be fixed. */
static void dync__gemm_do(const dync__gemm_tile *t, int rows, int columns, dync__gt_args *x)
{
    dync__gemm_fixed *f = t->fix;
    if (!f) {
        dync__gt_do(DYNC__GT_TILE, t->type, t->flags, rows, columns, x);
        return;
    }
    dync__gt_fn fn = f->n < DYNC__GEMM_FIXED
                         ? dync__gt_find(DYNC__GT_TILE, t->type, t->flags, rows, columns, x)
                         : NULL;
    if (fn) {
        f->tile[f->n].fn = fn;
        f->tile[f->n].x = *x;
    }
    f->n += fn ? 1 : DYNC__GEMM_FIXED + 1;
}

/* n columns of `rows` rows: whole tiles by one call, then the rest. b_next: from one tile's b to
 * the next's. */
static void dync__gemm_row(const dync__gemm_tile *t, int rows, int64_t n, const dync__gt_args *x,
                           int64_t b_next)
{
    int64_t blocks = n / t->columns, rest = n % t->columns,
            done = blocks * t->columns * dync__gt_bytes(t->type);
    dync__gt_args y = *x;
    bool bias = t->flags >> DYNC__GT_AFTER == DYNC__GT_BIAS >> DYNC__GT_AFTER;
    if (blocks) {
        y.blocks = blocks;
        y.b_next = b_next;
        dync__gemm_do(t, rows, t->columns, &y);
    }
    if (rest) {
        y.b = (const char *)x->b + blocks * b_next;
        y.c = (char *)x->c + done;
        if (x->d && !bias) y.d = (const char *)x->d + done;
        for (int i = 0; i < DYNC__AFTER_MORE; i++)
            if (x->more[i] && !t->same[i]) y.more[i] = (const char *)x->more[i] + done;
        y.blocks = 1;
        dync__gemm_do(t, rows, (int)rest, &y);
    }
}

/* Can tiles read a where it lies? Not many rows or steps of it whose distance puts them into the
 * same sets of the cache. */
static bool dync__gemm_a_lies(const dync__gemm *g)
{
    int64_t step = g->a_row == 1 ? g->a_col : g->a_row;
    return (g->a_row == 1 || g->a_col == 1) &&
           (g->m < DYNC__GEMM_A_FEW || g->k <= DYNC__GEMM_A_LIES ||
            step * dync__gt_bytes(g->type) % DYNC__GEMM_A_SET != 0);
}

/* What follows the sums of k steps from p on: d, or what c holds by then, is added, and after
 * the last step comes the rest. */
static int dync__gemm_follows(const dync__gemm *g, int64_t p, int64_t k)
{
    bool adds = p || g->d;
    if (p + k == g->k && g->after.flags[adds]) return g->after.flags[adds];
    return !adds ? 0 : g->bias && !p ? DYNC__GT_BIAS : DYNC__GT_ADD;
}

/* Its operands for the tile at a row and column of c. */
static void dync__gemm_more(const dync__gemm *g, dync__gt_args *x, int64_t row, int64_t column)
{
    int64_t bytes = dync__gt_bytes(g->type);
    for (int i = 0; i < DYNC__AFTER_MORE && g->after.more[i]; i++) {
        x->more_step[i] = g->after.row[i] * bytes;
        x->more[i] = g->after.more[i] + row * x->more_step[i] +
                     (g->after.same[i] ? 0 : column * bytes);
    }
}

/* b as it lies, steps [p, p + k) of k. panel: room for a tile's rows of a; NULL: they are read
 * where they lie, too. g->done is told of rows when they fill DYNC__GEMM_HOT bytes: the epilogue
 * then finds them in the cache. */
static void dync__gemm_direct(const dync__gemm *g, int64_t p, int64_t k, char *panel,
                              dync__gemm_fixed *fix)
{
    int64_t bytes = dync__gt_bytes(g->type), wide = dync__gt_b_bytes(g->type),
            d_row = p ? g->c_row : g->d_row;
    bool rows = g->a_col == 1 && !panel;
    const char *d = p ? g->c : g->d;
    dync__gemm_tile t = dync__gemm_tile_for(
        g->type, (rows ? DYNC__GT_A_ROWS : 0) | dync__gemm_follows(g, p, k), g->m, g->n, 8);
    int64_t parts = (g->m + t.rows - 1) / t.rows;
    t.fix = fix;
    memcpy(t.same, g->after.same, sizeof t.same);
    dync__gt_args x = {.k = k,
                       .a_step = (rows ? g->a_row : g->a_col) * bytes,
                       .b_step = g->b_row * wide,
                       .c_step = g->c_row * bytes,
                       .d_step = d_row * bytes};
    x.b = g->b + p * x.b_step;
    for (int64_t i = 0, row = 0, end, told = 0; i < parts; i++, row = end) {
        end = dync__gemm_share(g->m, parts, i + 1);
        x.a = g->a + (row * g->a_row + p * g->a_col) * bytes;
        if (panel) {
            x.a_step = (end - row) * bytes;
            dync__gemm_pack_rows(g->type, panel, x.a_step, x.a, end - row, g->a_row * bytes, k,
                                 g->a_col * bytes);
            x.a = panel;
        }
        x.c = g->c + row * x.c_step;
        x.d = d ? d + row * x.d_step : NULL;
        dync__gemm_more(g, &x, row, 0);
        dync__gemm_row(&t, (int)(end - row), g->n, &x, t.columns * wide);
        if (g->done && p + k == g->k &&
            (end == g->m || (end - told) * g->n * bytes >= DYNC__GEMM_HOT)) {
            g->done(g->user, told, end);
            told = end;
        }
    }
}

/* Inner products of rows [i, i + rows) of a with columns [j, end) of b, four at a time; an addend d
 * must be c itself. */
static void dync__gemm_dot_rows(const dync__gemm *g, int64_t i, int rows, int64_t j, int64_t end)
{
    int64_t bytes = dync__gt_bytes(g->type);
    for (int64_t lines; j < end; j += lines) {
        dync__gt_args x = {.k = g->k,
                           .a_step = g->a_row * bytes,
                           .b_step = g->b_col * dync__gt_b_bytes(g->type),
                           .c_step = g->c_row * bytes,
                           .d_step = g->c_col * bytes};
        x.a = g->a + i * x.a_step;
        x.b = g->b + j * x.b_step;
        x.c = g->c + i * x.c_step + j * x.d_step;
        lines = DYNC__MIN(4, end - j);
        x.blocks = lines == 4 ? (end - j) / 4 : 1;
        dync__gt_do(DYNC__GT_DOTS, g->type, g->d ? DYNC__GT_ADD : 0, rows, (int)lines, &x);
        if (lines == 4) lines = (end - j) / 4 * 4;
    }
}

/* As many rows at once as the registers allow; a large b passes by once, some columns at a time for
 * all rows. */
static void dync__gemm_dots(const dync__gemm *g)
{
    int most = 4;
    while (!dync__gt_fits(DYNC__GT_DOTS, g->type, g->d ? DYNC__GT_ADD : 0, most, 4)) most--;
    int64_t line = g->k * dync__gt_b_bytes(g->type), parts = (g->m + most - 1) / most,
            some = parts == 1 || line * g->n <= DYNC__GEMM_DOTS_NEAR
                       ? g->n
                       : DYNC__MAX(DYNC__GEMM_DOTS_NEAR / line / 4, 1) * 4;
    for (int64_t j = 0; j < g->n; j += some) {
        int64_t end = DYNC__MIN(j + some, g->n);
        for (int64_t part = 0, i = 0, next; part < parts; part++, i = next) {
            next = dync__gemm_share(g->m, parts, part + 1);
            dync__gemm_dot_rows(g, i, (int)(next - i), j, end);
            if (g->done && end == g->n) g->done(g->user, i, next);
        }
    }
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* A block of a: rows [row, row + rows) in `parts` panels, steps [p, p + k); of b: columns [col, col
 * + columns), packed at b. a NULL: where it lies. */
typedef struct dync__gemm_block {
    int64_t row, rows, parts, col, columns, p, k;
    char *a;
    const char *b;
} dync__gemm_block;

DYNC__RARE static void dync__gemm_block_pack(const dync__gemm *g, const dync__gemm_block *s)
{
    int64_t bytes = dync__gt_bytes(g->type);
    for (int64_t i = 0, from = 0, end; s->a && i < s->parts; i++, from = end) {
        end = dync__gemm_share(s->rows, s->parts, i + 1);
        dync__gemm_pack_rows(g->type, s->a + from * s->k * bytes, (end - from) * bytes,
                             g->a + ((s->row + from) * g->a_row + s->p * g->a_col) * bytes,
                             end - from, g->a_row * bytes, s->k, g->a_col * bytes);
    }
}

/* For each panel of b, which stays in L1, all tiles of rows. */
static void dync__gemm_block_run(const dync__gemm *g, const dync__gemm_block *s)
{
    int64_t bytes = dync__gt_bytes(g->type), nr = dync__gemm_panel(g->type);
    const char *d = s->p ? g->c : g->d;
    bool in_rows = !s->a && g->a_col == 1;
    dync__gemm_tile t = {.type = g->type,
                         .flags = dync__gemm_follows(g, s->p, s->k) |
                                  (in_rows ? DYNC__GT_A_ROWS : 0),
                         .columns = (int)nr};
    dync__gt_args x = {.k = s->k,
                       .b_step = nr * bytes,
                       .c_step = g->c_row * bytes,
                       .d_step = (s->p ? g->c_row : g->d_row) * bytes};
    bool bias = g->bias && !s->p;
    memcpy(t.same, g->after.same, sizeof t.same);
    for (int64_t j = 0; j < s->columns; j += nr) {
        x.b = s->b + j * s->k * bytes;
        for (int64_t i = 0, from = 0, end; i < s->parts; i++, from = end) {
            end = dync__gemm_share(s->rows, s->parts, i + 1);
            x.a = s->a ? s->a + from * s->k * bytes
                       : g->a + ((s->row + from) * g->a_row + s->p * g->a_col) * bytes;
            x.a_step = s->a ? (end - from) * bytes : (in_rows ? g->a_row : g->a_col) * bytes;
            x.c = g->c + (s->row + from) * x.c_step + (s->col + j) * bytes;
            x.d = d ? d + (s->row + from) * x.d_step + (bias ? 0 : (s->col + j) * bytes) : NULL;
            dync__gemm_more(g, &x, s->row + from, s->col + j);
            dync__gemm_row(&t, (int)(end - from), DYNC__MIN(nr, s->columns - j), &x, 0);
        }
    }
}

/* False: no memory for panels. */
DYNC__RARE static bool dync__gemm_blocks(const dync__gemm *g)
{
    _Alignas(64) char stack[DYNC__GEMM_STACK];
    int64_t bytes = dync__gt_bytes(g->type),
            most = dync__gemm_tile_for(g->type, 0, DYNC__GEMM_ROWS, 1 << 20, 2).rows;
    int64_t blocks = (g->m + DYNC__GEMM_MC - 1) / DYNC__GEMM_MC,
            kc = DYNC__MIN(g->k, DYNC__GEMM_KC);
    bool in_place = dync__gemm_a_lies(g) && g->m <= DYNC__GEMM_FEW;
    int64_t a_bytes = in_place ? 0 : ((g->m + blocks - 1) / blocks * kc * bytes + 63) / 64 * 64;
    size_t total =
        (size_t)(a_bytes + (g->packed ? 0
                                      : dync__gemm_packed_bytes(
                                            g->type, DYNC__MIN(g->n, DYNC__GEMM_NC), kc)));
    char *memory = total <= sizeof stack ? stack : dync__alloc_data(total);
    if (!memory) return false;
    dync__gemm_block s = {.a = in_place ? NULL : memory};
    for (s.col = 0; s.col < g->n; s.col += s.columns) {
        s.columns = DYNC__MIN(DYNC__GEMM_NC, g->n - s.col);
        for (s.p = 0; s.p < g->k; s.p += s.k) {
            s.k = DYNC__MIN(DYNC__GEMM_KC, g->k - s.p);
            s.b = g->packed ? g->packed + dync__gemm_packed_bytes(g->type, g->n, s.p) +
                                  s.col * s.k * bytes
                            : memory + a_bytes;
            if (!g->packed)
                dync__gemm_pack_panels(g->type, memory + a_bytes,
                                       g->b + (s.p * g->b_row + s.col * g->b_col) * bytes,
                                       s.columns, s.k, g->b_row, g->b_col);
            s.row = 0;
            for (int64_t i = 0; i < blocks; i++, s.row += s.rows) {
                s.rows = dync__gemm_share(g->m, blocks, i + 1) - s.row;
                s.parts = (s.rows + most - 1) / most;
                dync__gemm_block_pack(g, &s);
                dync__gemm_block_run(g, &s);
                if (g->done && s.p + s.k == g->k && s.col + s.columns == g->n)
                    g->done(g->user, s.row, s.row + s.rows);
            }
        }
    }
    if (memory != stack) dync__free_data(memory, total);
    return true;
}

/* ---- choosing -------------------------------------------------------------------------------- */

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

/* Are so few rows, both operands dense along k, inner products in every run? Where registers hold
 * 4 x 4 of them they are faster than tiles up to GEMM_DOTS_ROWS. */
static bool dync__gemm_few_dots(int type, int64_t m, int64_t k)
{
    bool wide = dync__gt_fits(DYNC__GT_DOTS, type, 0, 4, 4);
    return m <= (wide ? DYNC__GEMM_DOTS_ROWS : DYNC__GEMM_DOTS_FEW) &&
           k >= (m == 1 ? DYNC__GEMM_DOTS_ONE : DYNC__GEMM_DOTS_K * m);
}

/* The first path that takes these strides and sizes; PLAIN takes all. f16 and bf16 against f32
 * (`as`) have no panels, so theirs are DOTS, LINES, DIRECT or PLAIN. */
static uint8_t dync__gemm_path(const dync__gemm *g)
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
        if (as || g->m <= DYNC__GEMM_FEW || g->k * g->n * bytes <= DYNC__GEMM_NEAR)
            return DYNC__GEMM_DIRECT;
    }
    if (!g->packed && g->b_row == 1 &&
        dync__gemm_turns(g->type, g->m, g->n, DYNC__GEMM_TURNED_ROWS))
        return DYNC__GEMM_TURNED;
    return as ? DYNC__GEMM_PLAIN : DYNC__GEMM_BLOCKS;
}

DYNC__FN bool dync__gemm_wants_packed(int type, int64_t m, int64_t n, int64_t k, int64_t b_row,
                                      int64_t b_col)
{
    int64_t b_bytes = k * n * dync__gt_bytes(type);
    if (n <= 1) return false;
    if (b_col == 1) return m > DYNC__GEMM_FEW && b_bytes > DYNC__GEMM_NEAR;
    if (b_row != 1) return true;
    /* few rows are as fast where b lies */
    return m > 3 && !dync__gemm_few_dots(type, m, k) &&
           !(b_bytes >= DYNC__GEMM_TURNED_B &&
             dync__gemm_turns(type, m, n, DYNC__GEMM_TURNED_KEPT));
}

/* Runs the product by g->path on this thread. Without memory for panels the result is the same, but
 * slower; no error is left. */
static void dync__gemm_follow(const dync__gemm *g)
{
    size_t bytes = (size_t)(DYNC__GEMM_ROWS * g->k * dync__gt_bytes(g->type));
    char *panel;
    switch (g->path) {
    case DYNC__GEMM_DOTS: dync__gemm_dots(g); return;
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
    case DYNC__GEMM_TURNED:
        if (dync__gemm_turned(g)) return;
        dync_clear_error(); /* nothing is lost but speed */
        break;
    case DYNC__GEMM_BLOCKS:
        if (dync__gemm_blocks(g)) return;
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

/* A thread's share: rows in multiples of DYNC__GEMM_ROWS, or columns in whole panels. A share of
 * columns finishes no row, so `done` is not called for it. */
static void dync__gemm_part(void *user, int part, int n_parts)
{
    const dync__gemm_split *s = user;
    dync__gemm g = *s->g;
    const dync__gemm *both[2] = {s->g, &g};
    int64_t unit = s->rows ? DYNC__GEMM_ROWS : dync__gemm_panel(g.type), all = s->rows ? g.m : g.n,
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
        g.b += begin * g.b_col * dync__gt_b_bytes(g.type);
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
    if (g->k <= 0) return dync__gemm_start(g), false;
    /* a column-major result is the row-major result of the transposed product; so is a single
     * column */
    if ((g->c_col != 1 && g->c_row == 1 && g->n > 1) ||
        (g->n == 1 && g->m > 1 && g->type <= DYNC__GT_F64)) {
        const char *a = g->a;
        if (g->d && g->d != g->c) dync__gemm_start(g);
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
    /* sums along rows of b begin in c */
    if (g->d && g->m <= 3 && g->b_row == 1 && g->b_col != 1 && !g->packed) dync__gemm_start(g);
    double work = (double)g->m * (double)g->n * (double)g->k;
    dync__gemm_split split = {g, g->m >= g->n || g->packed ||
                                     (g->done && g->m >= DYNC__GEMM_TOLD_ROWS)};
    g->path = dync__gemm_path(g);
    if (g->path <= DYNC__GEMM_DOTS || g->path == DYNC__GEMM_TURNED)
        g->after = none; /* no tiles of c */
    g->followed = g->after.flags[0] != 0;
    if (g->followed) g->done = NULL;
    if (g->path == DYNC__GEMM_PLAIN && dync__gemm_aside(g)) return false;
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

DYNC__RARE DYNC__FN dync__gemm_fixed *dync__gemm_fix(const dync__gemm *given)
{
    dync__gemm g = *given;
    bool add = g.d != NULL, packs = g.b_row == 1 && g.b_col != 1 &&
                                    g.k * g.n * dync__gt_bytes(g.type) <= DYNC__GEMM_STACK &&
                                    dync__gemm_path(&g) >= DYNC__GEMM_BLOCKS;
    int64_t line = g.b_col;
    if (packs) g.b_row = g.n, g.b_col = 1;
    if (g.m <= 0 || g.n <= 0 || g.k <= 0 || (g.n == 1 && g.m > 1) ||
        g.m * g.n * g.k > DYNC__GEMM_FIX || g.c_col != 1)
        return NULL;
    if (!dync__gt_can(g.type) || dync__gemm_path(&g) != DYNC__GEMM_DIRECT || !dync__gemm_a_lies(&g))
        return NULL;
    dync__gemm_fixed *f = dync__calloc(sizeof *f);
    if (!f) return dync_clear_error(), NULL;
    *f = (dync__gemm_fixed){.epoch = dync__gt_epoch(),
                            .type = g.type,
                            .packs = packs ? g.k : 0,
                            .lines = g.n,
                            .line = line};
    g.a = g.b = g.c = dync__gemm_origin;
    g.d = add ? dync__gemm_origin : NULL;
    for (int i = 0; i < DYNC__AFTER_MORE && g.after.more[i]; i++)
        g.after.more[i] = dync__gemm_origin;
    g.done = NULL;
    dync__gemm_direct(&g, 0, g.k, NULL, f);
    if (f->n <= DYNC__GEMM_FIXED) return f;
    dync__gemm_fixed_free(f);
    return NULL;
}

DYNC__FN bool dync__gemm_fixed_run(const dync__gemm_fixed *f, const char *a, const char *b, char *c,
                                   const char *d, const char *const *more)
{
    _Alignas(64) char stack[DYNC__GEMM_STACK];
    if (f->epoch != dync__gt_epoch()) return false;
    if (f->packs) {
        int64_t bytes = dync__gt_bytes(f->type);
        dync__gemm_pack_rows(f->type, stack, f->lines * bytes, b, f->lines, f->line * bytes,
                             f->packs, bytes);
        b = stack;
    }
    for (int i = 0; i < f->n; i++) {
        dync__gt_args x = f->tile[i].x;
        x.a = a + ((const char *)x.a - dync__gemm_origin);
        x.b = b + ((const char *)x.b - dync__gemm_origin);
        x.c = c + ((char *)x.c - dync__gemm_origin);
        if (x.d) x.d = d + ((const char *)x.d - dync__gemm_origin);
        for (int n = 0; n < DYNC__AFTER_MORE && x.more[n]; n++)
            x.more[n] = more[n] + ((const char *)x.more[n] - dync__gemm_origin);
        f->tile[i].fn(&x);
    }
    return true;
}

DYNC__RARE DYNC__FN void dync__gemm_fixed_free(dync__gemm_fixed *f)
{
    if (f) dync__free(f, sizeof *f);
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
    if (n > 0 && k > 0) dync__gemm_direct(&g, 0, k, NULL, NULL);
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
    dync__gemm_dots(&g);
}
