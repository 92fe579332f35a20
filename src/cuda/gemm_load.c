/* cuda/gemm_load.c: where a block of a matrix product works, its tiles on the way into shared
 * memory, the ring of stages. After tile.c. */
#include "../dync.in.h"
#include "gemm.h"
DYNC__COLD

static const char *const dync__gm_base[2] = {"%A", "%B"};

/* to = from / by, rest = from % by, by a constant. */
static void dync__gm_divide(dync__gm *g, const char *to, const char *rest, const char *from,
                            int64_t by)
{
    dync__cuda_tile_set(&g->t, "u32", to, "div", "%s, %lld", from, (long long)by);
    dync__cuda_tile_set(&g->t, "u32", rest, "rem", "%s, %lld", from, (long long)by);
}

/* Blocks are numbered tile by tile, then splits, then batches. Tiles go in bands of eight rows of
 * tiles, column by column: blocks that run at the same time share what they read of both sides in
 * the second cache. */
DYNC__FN void dync__gm_place(dync__gm *g)
{
    enum { BAND = 8 };
    dync__cuda_tile *t = &g->t;
    int64_t across = (g->n + g->tile.n - 1) / g->tile.n, down = (g->m + g->tile.m - 1) / g->tile.m;
    dync__cuda_tile_note(t, "tile, split and batch of the block");
    dync__gm_divide(g, "%above", "%tile", "%cta", across * down);
    dync__gm_divide(g, "%batch", "%split", "%above", g->splits);
    dync__gm_divide(g, "%band", "%inband", "%tile", across * BAND);
    dync__cuda_tile_set(t, "u32", "%bandrow", "mul.lo", "%%band, %d", BAND);
    dync__cuda_tile_set(t, "u32", "%bandrows", "sub", "%lld, %%bandrow", (long long)down);
    dync__ptx_line(&t->p, "min.u32 %%bandrows, %%bandrows, %d", BAND);
    dync__cuda_tile_set(t, "u32", "%n0", "div", "%%inband, %%bandrows");
    dync__cuda_tile_set(t, "u32", "%m0", "rem", "%%inband, %%bandrows");
    dync__ptx_line(&t->p, "add.u32 %%m0, %%m0, %%bandrow");
    dync__ptx_line(&t->p, "mul.lo.u32 %%m0, %%m0, %d", g->tile.m);
    dync__ptx_line(&t->p, "mul.lo.u32 %%n0, %%n0, %d", g->tile.n);
    dync__cuda_tile_set(t, "u32", "%k0", "mul.lo", "%%split, %lld", (long long)g->chunk);
    dync__cuda_tile_set(t, "s32", "%klen", "sub", "%lld, %%k0", (long long)g->k);
    dync__ptx_line(&t->p, "min.s32 %%klen, %%klen, %lld", (long long)g->chunk);
    for (int s = 0; s < 2; s++) {
        const dync__gm_side *side = &g->side[s];
        const char *base = dync__gm_base[s], *wide = dync__ptx_temp(&t->p, "b64");
        char rest[24] = "%batch";
        int64_t bytes = dync__gm_unit(g, s);
        if (side->pre)
            dync__cuda_tile_set(t, "s64", base, "mov", "%lld", (long long)side->offset);
        else
            dync__cuda_tile_set(t, "s64", base, "add", "%%b%d, %lld", side->buf,
                                (long long)(side->offset * bytes));
        dync__ptx_line(&t->p, "cvt.u64.u32 %s, %s", wide, s ? "%n0" : "%m0");
        dync__ptx_line(&t->p, "mad.lo.s64 %s, %s, %lld, %s", base, wide,
                       (long long)(side->line * bytes), base);
        dync__ptx_line(&t->p, "cvt.u64.u32 %s, %%k0", wide);
        dync__ptx_line(&t->p, "mad.lo.s64 %s, %s, %lld, %s", base, wide,
                       (long long)(side->step * bytes), base);
        for (int d = g->n_batch - 1; d >= 0; d--) {
            char next[24], here[24];
            dync__format(next, sizeof next, "%%%s%d", s ? "bb" : "ab", d);
            dync__format(here, sizeof here, "%%%s%d", s ? "bi" : "ai", d);
            dync__gm_divide(g, next, here, rest, g->batch[d]);
            if (side->batch[d]) {
                dync__ptx_line(&t->p, "cvt.u64.u32 %s, %s", wide, here);
                dync__ptx_line(&t->p, "mad.lo.s64 %s, %s, %lld, %s", base, wide,
                               (long long)(side->batch[d] * bytes), base);
            }
            dync__format(rest, sizeof rest, "%s", next);
        }
        if (side->pre) dync__gm_pre_index(g, s, s ? "%first1" : "%first0", base);
    }
    dync__cuda_tile_set(t, "s32", "%mleft", "sub", "%lld, %%m0", (long long)g->m);
    dync__cuda_tile_set(t, "s32", "%nleft", "sub", "%lld, %%n0", (long long)g->n);
}

static void dync__gm_next_stage(dync__gm *g, const char *stage)
{
    const char *over = dync__ptx_temp(&g->t.p, "pred");
    int end = g->tile.stages * g->stage_bytes;
    dync__ptx_line(&g->t.p, "add.u32 %s, %s, %d", stage, stage, g->stage_bytes);
    dync__cuda_tile_set(&g->t, "u32", strcmp(stage, "%from") ? "%tofirst" : "%fromfirst", "sub",
                        "%s, %d", stage, end);
    dync__ptx_line(&g->t.p, "setp.ge.u32 %s, %s, %%stages", over, stage);
    dync__ptx_line(&g->t.p, "@%s mov.u32 %s, %s", over, stage,
                   strcmp(stage, "%from") ? "%tofirst" : "%fromfirst");
}

/* One stage is computed on while the others are filled. A stage is filled again one barrier after
 * everyone has read it. Sides with something to be done to them are loaded into registers before
 * the computation, and stored behind it: everyone else meets them a barrier later at the
 * earliest. */
DYNC__FN void dync__gm_pipeline(dync__gm *g, void (*load)(dync__gm *), void (*compute)(dync__gm *))
{
    dync__cuda_tile *t = &g->t;
    int ahead = g->tile.stages - 1;
    bool pre = g->side[0].pre || g->side[1].pre;
    (void)dync__cuda_tile_shared(t, g->tile.stages * g->stage_bytes, 1024);
    dync__cuda_tile_set(t, "u32", "%stages", "add", "%%smem, %d", g->tile.stages * g->stage_bytes);
    dync__cuda_tile_set(t, "u32", "%from", "mov", "%%smem");
    dync__cuda_tile_set(t, "u32", "%to", "mov", "%%smem");
    dync__cuda_tile_set(t, "s32", "%kleft", "mov", "%%klen");
    dync__cuda_tile_set(t, "s32", "%todo", "mov", "%%klen");
    dync__ptx_reg(&t->p, "pred", "%none");
    dync__ptx_reg(&t->p, "pred", "%again");
    /* The same few lines fill the stages at the start and go on in the loop: until `ahead` stages
     * are under way nothing is computed. */
    dync__cuda_tile_set(t, "s32", "%iteration", "mov", "%d", -ahead);
    dync__cuda_tile_label(t, "STAGE");
    dync__cuda_tile_wait(t, ahead - 1);
    dync__cuda_tile_barrier(t);
    dync__ptx_line(&t->p, "setp.le.s32 %%none, %%kleft, 0");
    dync__ptx_line(&t->p, "@%%none bra LOADED");
    load(g);
    if (!pre) {
        dync__ptx_line(&t->p, "sub.s32 %%kleft, %%kleft, %d", g->depth);
        dync__gm_next_stage(g, "%to");
    }
    dync__cuda_tile_label(t, "LOADED");
    dync__cuda_tile_commit(t);
    dync__ptx_line(&t->p, "add.s32 %%iteration, %%iteration, 1");
    dync__ptx_line(&t->p, "setp.le.s32 %%again, %%iteration, 0");
    dync__ptx_line(&t->p, pre ? "@%%again bra MAKE" : "@%%again bra STAGE");
    compute(g);
    dync__gm_next_stage(g, "%from");
    dync__ptx_line(&t->p, "sub.s32 %%todo, %%todo, %d", g->depth);
    dync__ptx_line(&t->p, "setp.gt.s32 %%again, %%todo, 0");
    if (pre) {
        dync__cuda_tile_label(t, "MAKE");
        dync__ptx_line(&t->p, "@%%none bra MADE");
        dync__gm_pre_finish(g);
        dync__ptx_line(&t->p, "sub.s32 %%kleft, %%kleft, %d", g->depth);
        dync__gm_next_stage(g, "%to");
        dync__cuda_tile_label(t, "MADE");
    }
    dync__ptx_line(&t->p, "@%%again bra STAGE");
}

/* Words of 32 bits: 4 / bytes neighbours in depth. Threads take neighbouring words where the depth
 * is dense, else neighbouring lines. Loads of several words go before their stores. */
DYNC__FN void dync__gm_pieces(dync__gm *g, int s, int lines)
{
    enum { WORDS = 4 };
    dync__cuda_tile *t = &g->t;
    dync__ptx *p = &t->p;
    const dync__gm_side *side = &g->side[s];
    const char *id = s ? "B" : "A", *left = s ? "%nleft" : "%mleft";
    int bytes = dync__dtype_info(g->dtype)->bytes, per = 4 / bytes, log_lines = 0;
    char name[40], word[WORDS][24], place[WORDS][24], half[4][24];
    while (1 << log_lines < lines) log_lines++;
    dync__format(name, sizeof name, "%%at%s", id);
    dync__cuda_tile_set(t, "u32", name, "mov", "%%thr");
    dync__cuda_tile_label(t, "PIECES%s", id);
    for (int w = 0; w < WORDS; w++) {
        char q[24], line[24], k[24], at[24];
        dync__format(q, sizeof q, "%s", dync__ptx_temp(p, "u32"));
        dync__format(line, sizeof line, "%s", dync__ptx_temp(p, "u32"));
        dync__format(k, sizeof k, "%s", dync__ptx_temp(p, "u32"));
        dync__format(at, sizeof at, "%s", dync__ptx_temp(p, "b64"));
        dync__format(word[w], sizeof word[w], "%s", dync__ptx_temp(p, "b32"));
        dync__format(place[w], sizeof place[w], "%s", dync__ptx_temp(p, "b32"));
        dync__ptx_line(p, "add.u32 %s, %s, %d", q, name, w * g->tile.threads);
        if (side->step == 1) {
            dync__ptx_line(p, "shr.u32 %s, %s, 5", line, q);
            dync__ptx_line(p, "and.b32 %s, %s, 31", k, q);
        } else {
            dync__ptx_line(p, "and.b32 %s, %s, %d", line, q, lines - 1);
            dync__ptx_line(p, "shr.u32 %s, %s, %d", k, q, log_lines);
        }
        const char *x = dync__ptx_temp(p, "b32"), *in_line = dync__ptx_temp(p, "pred"),
                   *wide = dync__ptx_temp(p, "b64");
        dync__ptx_line(p, "shr.u32 %s, %s, 2", x, k);
        dync__ptx_line(p, "xor.b32 %s, %s, %s", x, x, line);
        dync__ptx_line(p, "and.b32 %s, %s, 7", x, x);
        dync__ptx_line(p, "mad.lo.u32 %s, %s, 128, %%to", place[w], line);
        dync__ptx_line(p, "mad.lo.u32 %s, %s, 16, %s", place[w], x, place[w]);
        dync__ptx_line(p, "and.b32 %s, %s, 3", x, k);
        dync__ptx_line(p, "mad.lo.u32 %s, %s, 4, %s", place[w], x, place[w]);
        dync__ptx_line(p, "setp.lt.s32 %s, %s, %s", in_line, line, left);
        dync__ptx_line(p, "mul.lo.u32 %s, %s, %d", k, k, per);
        dync__ptx_line(p, "cvt.u64.u32 %s, %s", wide, line);
        dync__ptx_line(p, "mad.lo.s64 %s, %s, %lld, %s", at, wide, (long long)(side->line * bytes),
                       dync__gm_base[s]);
        dync__ptx_line(p, "cvt.u64.u32 %s, %s", wide, k);
        dync__ptx_line(p, "mad.lo.s64 %s, %s, %lld, %s", at, wide, (long long)(side->step * bytes),
                       at);
        /* 4 bytes are what cp.async takes, from anywhere */
        if (per == 1) {
            const char *there = dync__ptx_temp(p, "pred");
            dync__ptx_line(p, "setp.lt.and.s32 %s, %s, %%kleft, %s", there, k, in_line);
            dync__ptx_line(p, "selp.b32 %s, 4, 0, %s", word[w], there);
            dync__cuda_tile_cp(t, 4, place[w], g->side_at[s], at, 0, word[w]);
            continue;
        }
        for (int e = 0; e < per; e++) {
            const char *there = dync__ptx_temp(p, "pred"), *here = dync__ptx_temp(p, "s32");
            dync__format(half[e], sizeof half[e], "%s",
                         dync__ptx_temp(p, per == 2 ? "b16" : "b32"));
            dync__ptx_line(p, "sub.s32 %s, %%kleft, %d", here, e);
            dync__ptx_line(p, "setp.lt.and.s32 %s, %s, %s, %s", there, k, here, in_line);
            dync__ptx_line(p, "mov.b%d %s, 0", per == 2 ? 16 : 32, half[e]);
            dync__ptx_line(p, "@%s ld.global.%s %s, [%s+%lld]", there, per == 2 ? "b16" : "u8",
                           half[e], at, (long long)(e * side->step * bytes));
        }
        if (per == 2) dync__ptx_line(p, "mov.b32 %s, {%s, %s}", word[w], half[0], half[1]);
        for (int e = 0; e < 4 && per == 4; e++)
            if (e)
                dync__ptx_line(p, "bfi.b32 %s, %s, %s, %d, 8", word[w], half[e], word[w], 8 * e);
            else
                dync__ptx_line(p, "mov.b32 %s, %s", word[w], half[e]);
    }
    for (int w = 0; w < WORDS && per > 1; w++)
        dync__ptx_line(p, "st.shared.b32 [%s+%d], %s", place[w], g->side_at[s], word[w]);
    const char *more = dync__ptx_temp(p, "pred");
    dync__ptx_line(p, "add.u32 %s, %s, %d", name, name, WORDS * g->tile.threads);
    dync__ptx_line(p, "setp.lt.u32 %s, %s, %d", more, name, lines * 32);
    dync__ptx_line(p, "@%s bra PIECES%s", more, id);
}
