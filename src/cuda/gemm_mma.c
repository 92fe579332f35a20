/* cuda/gemm_mma.c: products on tensor cores by mma.sync (sm_80 and later). After gemm_load.c
 * and gemm_end.c.
 *
 * Stages hold 128 bytes of depth of both sides as swizzled rows: lines with their depth along
 * (ALONG, PIECES), or rows of depth with the lines along, 128 bytes of them to a window (ACROSS),
 * which ldmatrix.trans transposes. Warps own a part of the tile each, two by two (2 x 4 in the
 * widest). A step is 32 bytes of depth: fragments of all lines of the warp are read, then every
 * pair is multiplied.
 *
 * In one stage a warp of 64 x 64 issues 4 x (4 + 4) ldmatrix.x4 and 4 x 32 mma (bf16), and a block
 * of 128 threads 16 cp.async a thread: 4 mma to an ldmatrix, 8 to a cp.async. 32 ldmatrix read 16
 * KiB a stage and warp, 128 cycles of the shared memory's 128 bytes; 128 mma take 1024 (sm_80)
 * cycles of the warp's tensor core: four warps together keep the one busy and the other half idle.
 * Bank conflicts: none (tests/cuda/white_tile.c counts them). Accumulators are f32; integers add up
 * modulo 2^32. */
#include "../dync.in.h"
#include "gemm.h"
DYNC__COLD

/* transposed: the side lies ACROSS */
typedef struct dync__gmm {
    int bytes, warp_m, warp_n, warps_n;
    bool transposed[2];
} dync__gmm;
static dync__gmm dync__gmm_of(const dync__gm *g)
{
    int warps = g->tile.threads / 32, warps_n = warps > 4 ? 4 : 2;
    return (dync__gmm){dync__cuda_tile_kind_of(g->kind)->bytes,
                       g->tile.m / (warps / warps_n),
                       g->tile.n / warps_n,
                       warps_n,
                       {g->side[0].how == DYNC__GM_ACROSS, g->side[1].how == DYNC__GM_ACROSS}};
}

static int dync__gmm_lines(const dync__gm *g, int s) { return s ? g->tile.n : g->tile.m; }

/* The windows through which a side is copied: one of all lines, or one for every 128 bytes of
 * lines. */
static void dync__gmm_windows(dync__gm *g, int s)
{
    const dync__gm_side *side = &g->side[s];
    int bytes = dync__cuda_tile_kind_of(g->kind)->bytes, lines = dync__gmm_lines(g, s),
        count = side->how == DYNC__GM_ACROSS ? lines * bytes / 128 : 1;
    int64_t all = s ? g->n : g->m;
    if (side->pre && !side->gather) {
        dync__gm_pre_rows_begin(g, s);
        return;
    }
    if (side->gather && side->how != DYNC__GM_PIECES) dync__gm_gather_begin(g, s, lines);
    for (int w = 0; w < count && !side->gather && side->how != DYNC__GM_PIECES; w++) {
        dync__cuda_tile_rows *r = &g->window[s][w];
        char *name = g->window_name[s][w];
        const char *base = s ? "%B" : "%A";
        dync__format(name, sizeof g->window_name[s][w], "%%%s%d", s ? "wb" : "wa", w);
        *r = (dync__cuda_tile_rows){.name = name, .threads = g->tile.threads};
        if (side->how == DYNC__GM_ALONG) {
            r->rows = lines;
            r->row_bytes = side->line * bytes;
            dync__cuda_tile_rows_begin(&g->t, r, base,
                                       all % lines ? s ? "%nleft" : "%mleft" : NULL);
            continue;
        }
        char left[24], from[24];
        dync__format(from, sizeof from, "%s_base", name);
        dync__format(left, sizeof left, "%s_left", name);
        r->rows = g->depth;
        r->row_bytes = side->step * bytes;
        r->rows_now = g->k % g->depth ? "%kleft" : NULL;
        dync__cuda_tile_set(&g->t, "s64", from, "add", "%s, %d", base, w * 128);
        dync__cuda_tile_rows_begin(&g->t, r, from, NULL);
        dync__cuda_tile_set(&g->t, "s32", left, "mul.lo", "%s, %d", s ? "%nleft" : "%mleft", bytes);
        dync__ptx_line(&g->t.p, "sub.s32 %s, %s, %d", left, left, w * 128);
    }
}

static void dync__gmm_load(dync__gm *g)
{
    int bytes = dync__cuda_tile_kind_of(g->kind)->bytes;
    for (int s = 0; s < 2; s++) {
        const dync__gm_side *side = &g->side[s];
        int lines = dync__gmm_lines(g, s),
            count = side->how == DYNC__GM_ACROSS ? lines * bytes / 128 : 1;
        int64_t all = s ? g->n : g->m;
        char left[40];
        dync__cuda_tile_note(&g->t, "%s: %d lines of %d", s ? "b" : "a", lines, g->depth);
        if (side->gather) {
            if (side->how == DYNC__GM_PIECES)
                dync__gm_gather_pieces(g, s, lines);
            else
                dync__gm_gather_copy(g, s, lines);
            continue;
        }
        if (side->pre) {
            dync__gm_pre_rows(g, s, lines);
            continue;
        }
        if (side->how == DYNC__GM_PIECES) {
            dync__gm_pieces(g, s, lines);
            dync__ptx_line(&g->t.p, "add.s64 %s, %s, %lld", s ? "%B" : "%A", s ? "%B" : "%A",
                           (long long)(g->depth * side->step * bytes));
            continue;
        }
        if (side->how == DYNC__GM_ALONG && g->k % g->depth) {
            dync__format(left, sizeof left, "%s", dync__ptx_temp(&g->t.p, "s32"));
            dync__ptx_line(&g->t.p, "mul.lo.s32 %s, %%kleft, %d", left, bytes);
        }
        for (int w = 0; w < count; w++) {
            bool along = side->how == DYNC__GM_ALONG;
            if (!along) dync__format(left, sizeof left, "%s_left", g->window_name[s][w]);
            dync__cuda_tile_rows_copy(&g->t, &g->window[s][w], "%to",
                                      g->side_at[s] + w * g->depth * 128,
                                      (along ? g->k % g->depth : all % lines) ? left : NULL);
            dync__cuda_tile_rows_move(&g->t, &g->window[s][w],
                                      along ? 128 : g->depth * side->step * bytes);
        }
    }
}

/* Where the lane's rows lie, four addresses a side: for the steps, or where the side is transposed
 * for pairs of chunks of the warp's lines. */
static void dync__gmm_lanes(dync__gm *g, int s)
{
    dync__gmm w = dync__gmm_of(g);
    dync__ptx *p = &g->t.p;
    int lines = s ? w.warp_n : w.warp_m,
        pairs = w.transposed[s] ? DYNC__MIN(lines * w.bytes / 32, 4) : 4;
    const char *name = s ? "%lb" : "%la", *warp = s ? "%wn" : "%wm",
               *first = dync__ptx_temp(p, "b32");
    dync__ptx_line(p, "mul.lo.u32 %s, %s, %d", first, warp,
                   w.transposed[s] ? lines * w.bytes : lines);
    if (!w.transposed[s]) {
        dync__cuda_tile_matrix(&g->t, name, pairs, s, first);
        return;
    }
    const char *chunks = dync__ptx_temp(p, "b32"), *window = dync__ptx_temp(p, "b32");
    char where[2][24];
    dync__format(where[0], sizeof where[0], "%s", chunks);
    dync__format(where[1], sizeof where[1], "%s", window);
    dync__ptx_line(p, "and.b32 %s, %s, 127", where[0], first);
    dync__ptx_line(p, "shr.u32 %s, %s, 7", where[1], first);
    dync__cuda_tile_matrix(&g->t, name, pairs, !s, NULL);
    for (int i = 0; i < pairs; i++) {
        dync__ptx_line(p, "xor.b32 %s%d, %s%d, %s", name, i, name, i, where[0]);
        dync__ptx_line(p, "mad.lo.u32 %s%d, %s, %d, %s%d", name, i, where[1], g->depth * 128, name,
                       i);
    }
}

/* Fragments of 16 lines each: {a0..a3}, or b of two n8 tiles. */
static void dync__gmm_fragments(dync__gm *g, int s, int step)
{
    dync__gmm w = dync__gmm_of(g);
    const char *reg = s ? "%fb" : "%fa";
    int lines = s ? w.warp_n : w.warp_m;
    char at[24];
    for (int i = 0; i < lines / 16; i++) {
        /* transposed: 16 lines are two chunks */
        dync__format(at, sizeof at, "%s%d", s ? "%hb" : "%ha", w.transposed[s] ? i % 4 : step);
        dync__cuda_tile_ldmatrix(
            &g->t, w.transposed[s], reg, 4 * i, at,
            g->side_at[s] + (w.transposed[s] ? i / 4 * g->depth * 128 + step * 2048 : i * 2048));
    }
    for (int i = 0; i < lines / 4 && g->kind == DYNC__TILE_TF32; i++)
        dync__ptx_line(&g->t.p, "cvt.rna.tf32.f32 %s%d, %s%d", reg, i, reg, i);
}

static void dync__gmm_compute(dync__gm *g)
{
    dync__gmm w = dync__gmm_of(g);
    for (int s = 0; s < 2; s++)
        for (int i = 0;
             i < (w.transposed[s] ? DYNC__MIN((s ? w.warp_n : w.warp_m) * w.bytes / 32, 4) : 4);
             i++)
            dync__ptx_line(&g->t.p, "add.u32 %%h%s%d, %%l%s%d, %%from", s ? "b" : "a", i,
                           s ? "b" : "a", i);
    for (int step = 0; step < 4; step++) {
        dync__cuda_tile_note(&g->t, "32 bytes of depth, %d of 4", step + 1);
        dync__gmm_fragments(g, 0, step);
        dync__gmm_fragments(g, 1, step);
        for (int i = 0; i < w.warp_m / 16; i++)
            for (int j = 0; j < w.warp_n / 8; j++)
                dync__cuda_tile_mma(&g->t, g->kind, "%acc", 4 * (i * (w.warp_n / 8) + j), "%fa",
                                    4 * i, "%fb", 2 * j);
    }
}

/* Accumulators to shared memory, rows of tile.n + 8 words: the lanes of half a warp write 16 pairs
 * of words in 32 banks. */
static void dync__gmm_put(dync__gm *g)
{
    dync__gmm w = dync__gmm_of(g);
    dync__cuda_tile *t = &g->t;
    int row_bytes = (g->tile.n + 8) * 4;
    const char *row = dync__ptx_temp(&t->p, "b32"), *column = dync__ptx_temp(&t->p, "b32");
    dync__cuda_tile_note(t, "accumulators to shared memory, and from there in order");
    dync__cuda_tile_wait(t, 0);
    dync__cuda_tile_barrier(t);
    dync__ptx_line(&t->p, "shr.u32 %s, %%lane, 2", row);
    dync__ptx_line(&t->p, "mad.lo.u32 %s, %%wm, %d, %s", row, w.warp_m, row);
    dync__ptx_line(&t->p, "and.b32 %s, %%lane, 3", column);
    dync__ptx_line(&t->p, "mul.lo.u32 %s, %s, 2", column, column);
    dync__ptx_line(&t->p, "mad.lo.u32 %s, %%wn, %d, %s", column, w.warp_n, column);
    dync__cuda_tile_set(t, "u32", "%put", "mad.lo", "%s, %d, %%smem", row, row_bytes);
    dync__ptx_line(&t->p, "mad.lo.u32 %%put, %s, 4, %%put", column);
    for (int i = 0; i < w.warp_m / 16; i++)
        for (int j = 0; j < w.warp_n / 8; j++)
            for (int half = 0; half < 2; half++) {
                int c = 4 * (i * (w.warp_n / 8) + j) + 2 * half;
                dync__ptx_line(&t->p, "st.shared.v2.b32 [%%put+%d], {%%acc%d, %%acc%d}",
                               (i * 16 + half * 8) * row_bytes + j * 32, c, c + 1);
            }
    if (g->tile.m * row_bytes > t->shared) t->shared = g->tile.m * row_bytes;
    dync__gm_flush(g, 0, g->tile.m, row_bytes);
}

DYNC__FN void dync__gm_mma(dync__gm *g)
{
    dync__gmm w = dync__gmm_of(g);
    dync__cuda_tile *t = &g->t;
    int n = w.warp_m * w.warp_n / 32;
    g->acc_bytes = 4;
    g->side_at[1] = g->tile.m * 128;
    g->stage_bytes = (g->tile.m + g->tile.n) * 128;
    dync__gm_place(g);
    dync__cuda_tile_set(t, "u32", "%wm", "shr", "%%warp, %d", w.warps_n == 4 ? 2 : 1);
    dync__cuda_tile_set(t, "b32", "%wn", "and", "%%warp, %d", w.warps_n - 1);
    for (int s = 0; s < 2; s++) {
        dync__gmm_windows(g, s);
        dync__gmm_lanes(g, s);
        dync__cuda_tile_regs(t, "b32", s ? "%hb" : "%ha", 4);
        dync__cuda_tile_regs(t, "b32", s ? "%fb" : "%fa", (s ? w.warp_n : w.warp_m) / 4);
    }
    dync__cuda_tile_regs(t, dync__cuda_tile_kind_of(g->kind)->acc, "%acc", n);
    for (int i = 0; i < n; i++) dync__ptx_line(&t->p, "mov.b32 %%acc%d, 0", i);
    dync__gm_pipeline(g, dync__gmm_load, dync__gmm_compute);
    dync__gmm_put(g);
}
