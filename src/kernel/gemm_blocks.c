/* kernel/gemm_blocks.c: matrix products whose operands are packed first. Before: gemm_tiles.c;
 * after: gemm.c. */
#include "../dync.in.h"
#include "gemm_tiles.h"
DYNC__BESIDE_JIT

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
    int32_t ends[DYNC__GEMM_MC];
    for (int64_t i = 0; i < s->parts; i++)
        ends[i] = (int32_t)dync__gemm_share(s->rows, s->parts, i + 1);
    memcpy(t.same, g->after.same, sizeof t.same);
    for (int64_t j = 0; j < s->columns; j += nr) {
        x.b = s->b + j * s->k * bytes;
        for (int64_t i = 0, from = 0, end; i < s->parts; i++, from = end) {
            end = ends[i];
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
DYNC__RARE DYNC__FN bool dync__gemm_blocks(const dync__gemm *g)
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
            s.b = g->packed ? dync__gemm_panels_at(g, s.p, s.k) + s.col * s.k * bytes
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

/* A small b that is dense along k, for short sums: made dense along its rows once, then read as it
 * lies, so that one call does a row of tiles. One block of k: the bits of blocks. False: it is not
 * such a product, or no memory. */
DYNC__FN bool dync__gemm_relaid(const dync__gemm *g)
{
    int64_t bytes = dync__gt_bytes(g->type), lanes = dync__gt_lanes(g->type, 0),
            row = (g->n + lanes - 1) / lanes * lanes;
    if (row * bytes % DYNC__GEMM_A_SET == 0) row += lanes;
    size_t total = (size_t)(g->k * row * bytes);
    if (g->packed || g->b_row != 1 || g->b_col == 1 || g->k > DYNC__GEMM_A_LIES ||
        g->n > DYNC__GEMM_NC || total > DYNC__GEMM_RELAID || !dync__gemm_a_lies(g))
        return false;
    dync__gemm h = *g;
    char *b = dync__alloc_data(total);
    if (!b) return dync_clear_error(), false;
    dync__gemm_pack_rows(g->type, b, row * bytes, g->b, g->n, g->b_col * bytes, g->k, bytes);
    h.b = b;
    h.b_row = row;
    h.b_col = 1;
    dync__gemm_direct(&h, 0, g->k, NULL, NULL);
    dync__free_data(b, total);
    return true;
}
