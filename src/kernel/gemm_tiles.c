/* kernel/gemm_tiles.c: rows of tiles of a matrix product, operands where they lie, and inner
 * products. Before: gemm_pack.c; after: gemm_blocks.c, gemm.c. */
#include "../dync.in.h"
#include "gemm_tiles.h"
DYNC__BESIDE_JIT

/* Many rows want two vectors of columns, few rows as many as there are registers. */
DYNC__FN dync__gemm_tile dync__gemm_tile_for(int type, int flags, int64_t m, int64_t n, int most)
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

/* Writes a tile of a fixed product down. One too many, or without machine code, makes f->n greater
 * than DYNC__GEMM_FIXED: the product cannot be fixed. */
static void dync__gemm_note(dync__gemm_fixed *f, dync__gt_fn fn, const dync__gt_args *x)
{
    if (fn && f->n < DYNC__GEMM_FIXED) {
        f->tile[f->n].fn = fn;
        f->tile[f->n++].x = *x;
    } else {
        f->n = DYNC__GEMM_FIXED + 1;
    }
}

/* Runs a tile or, for a fixed product, writes it down. */
static void dync__gemm_do(dync__gemm_tile *t, int rows, int columns, dync__gt_args *x)
{
    dync__gemm_fixed *f = t->fix;
    int odd = rows & 1;
    if (columns == t->columns && t->fn_rows[odd] != rows) {
        t->fn[odd] = dync__gt_find(DYNC__GT_TILE, t->type, t->flags, rows, columns, x);
        t->fn_rows[odd] = rows;
    }
    if (!f) {
        if (columns == t->columns && t->fn[odd])
            t->fn[odd](x);
        else
            dync__gt_do(DYNC__GT_TILE, t->type, t->flags, rows, columns, x);
        return;
    }
    dync__gt_fn fn = columns == t->columns
                         ? t->fn[odd]
                         : dync__gt_find(DYNC__GT_TILE, t->type, t->flags, rows, columns, x);
    dync__gemm_note(f, fn, x);
}

/* The operands of the tile `columns` columns on, of which b's are `b_on` bytes on. */
static void dync__gemm_on(const dync__gemm_tile *t, dync__gt_args *x, int64_t columns, int64_t b_on)
{
    int64_t bytes = columns * dync__gt_bytes(t->type);
    bool bias = t->flags >> DYNC__GT_AFTER == DYNC__GT_BIAS >> DYNC__GT_AFTER;
    x->b = (const char *)x->b + b_on;
    x->c = (char *)x->c + bytes;
    if (x->d && !bias) x->d = (const char *)x->d + bytes;
    for (int i = 0; i < DYNC__AFTER_MORE; i++)
        if (x->more[i] && !t->same[i]) x->more[i] = (const char *)x->more[i] + bytes;
}

/* n columns of `rows` rows: whole tiles by one call (MANY: one by one), then the rest. b_next: from
 * one tile's b to the next's. */
DYNC__FN void dync__gemm_row(dync__gemm_tile *t, int rows, int64_t n, const dync__gt_args *x,
                             int64_t b_next)
{
    int64_t blocks = n == t->columns ? 1 : n / t->columns, rest = n - blocks * t->columns,
            each = t->flags & DYNC__GT_MANY ? 1 : blocks;
    for (int64_t i = 0; i < blocks; i += each) {
        dync__gt_args y = *x;
        dync__gemm_on(t, &y, i * t->columns, i * b_next);
        y.blocks = each;
        y.b_next = b_next;
        dync__gemm_do(t, rows, t->columns, &y);
    }
    if (rest) {
        dync__gt_args y = *x;
        dync__gemm_on(t, &y, blocks * t->columns, blocks * b_next);
        y.blocks = 1;
        dync__gemm_do(t, rows, (int)rest, &y);
    }
}

/* Can tiles read a where it lies? Not many rows or steps of it whose distance puts them into the
 * same sets of the cache. */
DYNC__FN bool dync__gemm_a_lies(const dync__gemm *g)
{
    int64_t step = g->a_row == 1 ? g->a_col : g->a_row;
    return (g->a_row == 1 || g->a_col == 1) &&
           (g->m < DYNC__GEMM_A_FEW || g->k <= DYNC__GEMM_A_LIES ||
            step * dync__gt_bytes(g->type) % DYNC__GEMM_A_SET != 0);
}

/* What follows the sums of k steps from p on: d, or what c holds by then, is added, and after
 * the last step comes the rest. */
DYNC__FN int dync__gemm_follows(const dync__gemm *g, int64_t p, int64_t k)
{
    bool adds = p || g->d;
    if (p + k == g->k && g->after.flags[adds]) return g->after.flags[adds];
    return !adds ? 0 : g->bias && !p ? DYNC__GT_BIAS : DYNC__GT_ADD;
}

/* Its operands for the tile at a row and column of c. */
DYNC__FN void dync__gemm_more(const dync__gemm *g, dync__gt_args *x, int64_t row, int64_t column)
{
    int64_t bytes = dync__gt_bytes(g->type);
    for (int i = 0; i < DYNC__AFTER_MORE && g->after.more[i]; i++) {
        x->more_step[i] = g->after.row[i] * bytes;
        x->more[i] = g->after.more[i] + row * x->more_step[i] +
                     (g->after.same[i] ? 0 : column * bytes);
    }
}

/* Tiles of g's rows: of any columns, or as wide as panels of a packed b. */
static dync__gemm_tile dync__gemm_tile_of(const dync__gemm *g, int flags)
{
    dync__gemm_tile t;
    if (!g->packed) {
        t = dync__gemm_tile_for(g->type, flags, g->m, g->n, 8);
    } else {
        t = dync__gemm_tile_for(g->type, 0, DYNC__MIN(g->m, DYNC__GEMM_ROWS), 1 << 20, 2);
        t.flags = flags;
    }
    memcpy(t.same, g->after.same, sizeof t.same);
    return t;
}

/* b as it lies or, all steps of k at once, in panels; steps [p, p + k) of k. panel: room for a
 * tile's rows of a; NULL: they are read where they lie, too. g->done is told of rows when they fill
 * DYNC__GEMM_HOT bytes: the epilogue then finds them in the cache. */
DYNC__FN void dync__gemm_direct(const dync__gemm *g, int64_t p, int64_t k, char *panel,
                                dync__gemm_fixed *fix)
{
    int64_t bytes = dync__gt_bytes(g->type), wide = dync__gt_b_bytes(g->type),
            d_row = p ? g->c_row : g->d_row;
    bool rows = g->a_col == 1 && !panel;
    const char *d = p ? g->c : g->d;
    dync__gemm_tile t =
        dync__gemm_tile_of(g, (rows ? DYNC__GT_A_ROWS : 0) | dync__gemm_follows(g, p, k));
    int64_t parts = (g->m + t.rows - 1) / t.rows,
            next = t.columns * (g->packed ? g->k * bytes : wide);
    t.fix = fix;
    if (fix && fix->many) t.flags |= DYNC__GT_MANY;
    if (fix && parts > DYNC__GEMM_FIXED) { /* at least a tile each */
        fix->n = DYNC__GEMM_FIXED + 1;
        return;
    }
    dync__gt_args x = {.k = k,
                       .a_step = (rows ? g->a_row : g->a_col) * bytes,
                       .b_step = g->packed ? t.columns * bytes : g->b_row * wide,
                       .c_step = g->c_row * bytes,
                       .d_step = d_row * bytes};
    x.b = g->packed ? dync__gemm_panels_at(g, p, k) : g->b + p * x.b_step;
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
        dync__gemm_row(&t, (int)(end - row), g->n, &x, next);
        if (g->done && p + k == g->k &&
            (end == g->m || (end - told) * g->n * bytes >= DYNC__GEMM_HOT)) {
            g->done(g->user, told, end);
            told = end;
        }
    }
}

/* Inner products of rows [i, i + rows) of a with columns [j, end) of b, four at a time; an addend d
 * must be c itself. */
static void dync__gemm_dot_rows(const dync__gemm *g, int64_t i, int rows, int64_t j, int64_t end,
                                dync__gemm_fixed *fix)
{
    int flags = g->d ? DYNC__GT_ADD : 0;
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
        if (fix)
            dync__gemm_note(fix, dync__gt_find(DYNC__GT_DOTS, g->type, flags, rows, (int)lines, &x),
                            &x);
        else
            dync__gt_do(DYNC__GT_DOTS, g->type, flags, rows, (int)lines, &x);
        if (lines == 4) lines = (end - j) / 4 * 4;
    }
}

/* As many rows at once as the registers allow; a large b passes by once, some columns at a time for
 * all rows. */
DYNC__FN void dync__gemm_dots(const dync__gemm *g, dync__gemm_fixed *fix)
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
            dync__gemm_dot_rows(g, i, (int)(next - i), j, end, fix);
            if (g->done && end == g->n) g->done(g->user, i, next);
        }
    }
}
