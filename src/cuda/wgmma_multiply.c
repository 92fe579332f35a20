/* cuda/wgmma_multiply.c: the warpgroups that multiply and store, and the whole text of a product by
 * wgmma. After wgmma.c, before conv_direct.c. */
#include "../dync.in.h"
#include "gemm.h"
#include "wgmma.h"
DYNC__COLD

/* ---- the two that multiply ------------------------------------------------------------------- */

/* Sums of this stage: four steps of 32 bytes of k. */
static void dync__wg_multiply(dync__wg *w)
{
    dync__ptx *p = &w->t->p;
    const dync__cuda_tile_kind *kind = dync__cuda_tile_kind_of(w->g->kind);
    bool whole = kind->bytes == 1;
    dync__ptx_line(p, "wgmma.fence.sync.aligned");
    for (int i = 0; i < 4; i++) {
        for (int s = 0; s < 2 && i; s++)
            dync__ptx_line(p, "add.s64 %%d%c, %%d%c, %d", 'a' + s, 'a' + s,
                           w->by_k[s] ? 32 >> 4 : kind->k * 128 >> 4);
        dync__str_addf(&p->body, "    wgmma.mma_async.sync.aligned.m64n%dk%d.%s.%s.%s {%%c0", w->bn,
                       kind->k, kind->acc, kind->in, kind->in);
        for (int c = 1; c < w->bn / 2; c++) dync__str_addf(&p->body, ", %%c%d", c);
        dync__str_addf(&p->body, "}, %%da, %%db, %s%s", i ? "%true" : "%go_on",
                       whole ? "" : ", 1, 1");
        if (kind->bytes == 2) dync__str_addf(&p->body, ", %d, %d", !w->by_k[0], !w->by_k[1]);
        dync__str_add(&p->body, ";\n");
    }
    dync__ptx_line(p, "wgmma.commit_group.sync.aligned");
}

/* %before, a stage, may be filled again, in every block of the cluster. */
static void dync__wg_release(dync__wg *w)
{
    dync__ptx *p = &w->t->p;
    dync__ptx_line(p, "mad.lo.u32 %%empty, %%before, 8, %%there");
    if (w->cluster > 1)
        dync__ptx_line(p, "@%%signals mbarrier.arrive.shared::cluster.b64 _, "
                          "[%%empty]");
    else
        dync__ptx_line(p, "@%%signals mbarrier.arrive.shared::cta.b64 _, [%%empty]");
}

/* The descriptor of what begins at `base` (b32): stride of 8 rows or 8 k's, of 64 lines where they
 * lie along the row; 128-byte swizzle. */
static void dync__wg_descriptor(dync__wg *w, const char *name, const char *base, bool by_k)
{
    dync__ptx *p = &w->t->p;
    dync__ptx_reg(p, "b64", name);
    dync__cuda_tile_descriptor(w->t, name, base, by_k ? 16 : DYNC__WG_BOX);
}

/* Two sums as two elements of the result in a word. */
static const char *dync__wg_pair(dync__wg *w, int c)
{
    dync__ptx *p = &w->t->p;
    const char *both = dync__ptx_temp(p, "b32");
    bool bf16 = w->t->out.map[2].type == 9;
    dync__ptx_line(p, "cvt.rn.%s.f32 %s, %%c%d, %%c%d", bf16 ? "bf16x2" : "f16x2", both, c + 1, c);
    return both;
}

/* 64 columns at a time: a box of shared memory free, the box written, stored. */
static void dync__wg_store_boxes(dync__wg *w)
{
    dync__cuda_tile *t = w->t;
    dync__ptx *p = &t->p;
    char at[120];
    dync__ptx_line(p, "mad.lo.u32 %%m0, %%half, 64, %%m0");
    for (int box = 0; box < w->bn / 64; box++) {
        int to = box % 2 * DYNC__WG_BOX;
        /* the box before may be under way, where it is the other one */
        dync__ptx_line(p, "@%%leads cp.async.bulk.wait_group.read %d", w->bn > 64);
        dync__ptx_line(p, "bar.sync %%meet, 128");
        for (int j = 0; j < 8; j++) {
            const char *address = dync__ptx_temp(p, "u32");
            dync__ptx_line(p, "xor.b32 %s, %%chunk, %d", address, j * 16);
            dync__ptx_line(p, "add.u32 %s, %s, %%put", address, address);
            for (int half = 0; half < 2; half++)
                dync__ptx_line(p, "st.shared.b32 [%s+%d], %s", address, to + half * 1024,
                               dync__wg_pair(w, box * 32 + j * 4 + half * 2));
        }
        dync__ptx_line(p, "fence.proxy.async.shared::cta");
        dync__ptx_line(p, "bar.sync %%meet, 128");
        dync__wg_coordinates(w, 2, "%n0", "%m0", at);
        dync__ptx_line(
            p,
            "@%%leads cp.async.bulk.tensor.%dd.global.shared::cta.tile.bulk_group [%%map2, %s], "
            "[%%boxes+%d]",
            t->out.map[2].rank, at, to);
        dync__ptx_line(p, "@%%leads cp.async.bulk.commit_group");
        dync__ptx_line(p, "add.u32 %%n0, %%n0, 64");
    }
}

/* 32 columns at a time: the 16 rows of a warp to shared memory, from there in groups of neighbours
 * to `end`. */
static void dync__wg_store_rows(dync__wg *w)
{
    dync__gm *g = w->g;
    dync__cuda_tile *t = w->t;
    dync__ptx *p = &t->p;
    int vec = p->shape.vec, groups = 32 / vec;
    char value[8][24], linear[24];
    dync__ptx_line(p, "mad.lo.u32 %%m0, %%warp16, 16, %%m0");
    for (int box = 0; box < w->bn / 32; box++) {
        dync__ptx_line(p, "setp.ge.u32 %%last, %%n0, %lld", (long long)g->n);
        dync__ptx_line(p, "@%%last bra STORED");
        dync__ptx_line(p, "bar.warp.sync 0xffffffff");
        for (int i = 0; i < 8; i++)
            dync__ptx_line(p, "st.shared.v2.b32 [%%put+%d], {%%c%d, %%c%d}",
                           i / 2 * 32 + i % 2 * 8 * DYNC__WG_END_ROW, box * 16 + i * 2,
                           box * 16 + i * 2 + 1);
        dync__ptx_line(p, "bar.warp.sync 0xffffffff");
        dync__ptx_line(p, "mov.u32 %%q, %%lane");
        dync__cuda_tile_label(t, "ROWS_%d", box);
        dync__ptx_line(p, "div.u32 %%row, %%q, %d", groups);
        dync__ptx_line(p, "rem.u32 %%col, %%q, %d", groups);
        dync__ptx_line(p, "mad.lo.u32 %%sums, %%row, %d, %%boxes", DYNC__WG_END_ROW);
        dync__ptx_line(p, "mad.lo.u32 %%sums, %%col, %d, %%sums", vec * 4);
        dync__ptx_line(p, "add.u32 %%row, %%row, %%m0");
        dync__ptx_line(p, "mad.lo.u32 %%col, %%col, %d, %%n0", vec);
        dync__ptx_line(p, "add.u32 %%q, %%q, 32");
        dync__ptx_line(p, "setp.lt.u32 %%more, %%q, %d", 16 * groups);
        dync__ptx_line(p, "setp.ge.u32 %%last, %%row, %lld", (long long)g->m);
        dync__ptx_line(p, "setp.ge.or.u32 %%last, %%col, %lld, %%last", (long long)g->n);
        dync__ptx_line(p, "@%%last bra OUT_%d", box);
        dync__gm_read_sums(g, "shared", "%sums", vec, value);
        dync__format(linear, sizeof linear, "%%lin%d", box);
        dync__gm_linear(g, linear, "%row", "%col");
        dync__cuda_tile_piece(t, linear, g->given, value);
        dync__cuda_tile_label(t, "OUT_%d", box);
        dync__ptx_line(p, "@%%more bra ROWS_%d", box);
        dync__ptx_line(p, "add.u32 %%n0, %%n0, 32");
    }
    dync__cuda_tile_label(t, "STORED");
}

/* Where a thread's sums go in shared memory: row lane / 4 of its warp, columns lane % 4 * 2 and the
 * next. */
static void dync__wg_end_registers(dync__wg *w)
{
    dync__cuda_tile *t = w->t;
    dync__ptx *p = &t->p;
    dync__cuda_tile_set(t, "b32", "%quad", "and", "%%lane, 3");
    dync__cuda_tile_set(t, "u32", "%line", "shr", "%%lane, 2");
    dync__cuda_tile_set(t, "u32", "%warp16", "sub", "%%warp, 4");
    dync__cuda_tile_set(t, "u32", "%boxes", "add", "%%smem, %d", w->end_at);
    dync__ptx_reg(p, "u32", "%put");
    if (w->by_box) {
        dync__ptx_line(p, "mad.lo.u32 %%boxes, %%half, %d, %%boxes", 2 * DYNC__WG_BOX);
        dync__cuda_tile_set(t, "b32", "%in4", "and", "%%warp, 3");
        dync__cuda_tile_set(t, "b32", "%chunk", "shl", "%%line, 4");
        dync__ptx_line(p, "mad.lo.u32 %%put, %%in4, %d, %%boxes", 16 * 128);
        dync__ptx_line(p, "mad.lo.u32 %%put, %%line, 128, %%put");
        dync__ptx_line(p, "mad.lo.u32 %%put, %%quad, 4, %%put");
        dync__cuda_tile_set(t, "u32", "%meet", "add", "%%half, 1");
        return;
    }
    static const char *const words[] = {"%q", "%row", "%col", "%sums"};
    for (int i = 0; i < 4; i++) dync__ptx_reg(p, "u32", words[i]);
    dync__ptx_line(p, "mad.lo.u32 %%boxes, %%warp16, %d, %%boxes", 16 * DYNC__WG_END_ROW);
    dync__ptx_line(p, "mad.lo.u32 %%put, %%line, %d, %%boxes", DYNC__WG_END_ROW);
    dync__ptx_line(p, "mad.lo.u32 %%put, %%quad, 8, %%put");
}

static void dync__wg_consumer(dync__wg *w)
{
    dync__cuda_tile *t = w->t;
    dync__ptx *p = &t->p;
    int64_t iterations = (w->g->k + w->depth - 1) / w->depth;
    dync__cuda_tile_note(t, "the other two: 64 rows each");
    dync__ptx_line(p, "setmaxnreg.inc.sync.aligned.u32 232");
    dync__cuda_tile_set(t, "u32", "%half", "sub", "%%group, 1");
    dync__cuda_tile_set(t, "b32", "%inside", "and", "%%thr, 127");
    dync__ptx_line(p, "setp.eq.u32 %%leads, %%inside, 0");
    dync__ptx_line(p, "setp.lt.u32 %%signals, %%inside, %d", w->cluster);
    dync__cuda_tile_set(t, "u32", "%there", "add", "%%bars, %d", 8 * w->stages);
    if (w->cluster > 1) {
        dync__ptx_line(p, "min.u32 %%inside, %%inside, %d", w->cluster - 1);
        dync__ptx_line(p, "mapa.shared::cluster.u32 %%there, %%there, %%inside");
    }
    dync__cuda_tile_set(t, "u32", "%mine", "mad.lo", "%%half, %d, %%smem", DYNC__WG_BOX);
    dync__wg_descriptor(w, "%da0", "%mine", w->by_k[0]);
    dync__ptx_line(p, "add.u32 %%mine, %%smem, %d", DYNC__WG_BM * 128);
    dync__wg_descriptor(w, "%db0", "%mine", w->by_k[1]);
    dync__cuda_tile_regs(t, dync__cuda_tile_kind_of(w->g->kind)->acc, "%c", w->bn / 2);
    dync__wg_end_registers(w);
    dync__ptx_line(p, "mov.u32 %%parity, 0");
    dync__cuda_tile_label(t, "TILE");
    dync__ptx_line(p, "setp.ge.u32 %%last, %%tile, %lld",
                   (long long)(w->down * w->across * w->g->batches));
    dync__ptx_line(p, "@%%last bra ALL");
    dync__ptx_line(p, "mov.u32 %%kk, 0");
    dync__ptx_line(p, "setp.ne.u32 %%go_on, 0, 0");
    dync__cuda_tile_label(t, "MULTIPLY");
    dync__ptx_line(p, "mad.lo.u32 %%full, %%stage, 8, %%bars");
    dync__wg_wait(w, "%full", "%parity");
    dync__ptx_line(p, "mul.wide.u32 %%offset, %%stage, %d", w->stage_bytes >> 4);
    dync__ptx_line(p, "add.s64 %%da, %%da0, %%offset");
    dync__ptx_line(p, "add.s64 %%db, %%db0, %%offset");
    dync__wg_multiply(w);
    dync__cuda_tile_note(t, "one stage's products are under way; those of the one before are done");
    dync__ptx_line(p, "wgmma.wait_group.sync.aligned 1");
    dync__ptx_line(p, "@!%%go_on bra FIRST");
    dync__wg_release(w);
    dync__cuda_tile_label(t, "FIRST");
    dync__ptx_line(p, "setp.eq.u32 %%go_on, 0, 0");
    dync__ptx_line(p, "mov.u32 %%before, %%stage");
    dync__wg_next(w);
    dync__ptx_line(p, "add.u32 %%kk, %%kk, 1");
    dync__ptx_line(p, "setp.lt.u32 %%more, %%kk, %lld", (long long)iterations);
    dync__ptx_line(p, "@%%more bra MULTIPLY");
    dync__ptx_line(p, "wgmma.wait_group.sync.aligned 0");
    dync__wg_release(w);
    dync__wg_place(w);
    if (w->by_box)
        dync__wg_store_boxes(w);
    else
        dync__wg_store_rows(w);
    dync__ptx_line(p, "add.u32 %%tile, %%tile, %%clusters");
    dync__ptx_line(p, "bra TILE");
    dync__cuda_tile_label(t, "ALL");
    if (w->by_box) dync__ptx_line(p, "@%%leads cp.async.bulk.wait_group.read 0");
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void dync__wg_begin(dync__wg *w, int64_t clusters)
{
    dync__cuda_tile *t = w->t;
    dync__ptx *p = &t->p;
    static const char *const words[] = {"%stage", "%parity", "%tile", "%in",     "%rows", "%m0",
                                        "%n0",    "%batch",  "%nb",   "%kk",     "%kb",   "%full",
                                        "%empty", "%to",     "%tob",  "%before", "%rank"};
    static const char *const preds[] = {"%done",  "%wrap",    "%last",  "%more", "%idle",
                                        "%go_on", "%signals", "%leads", "%first"};
    for (int i = 0; i < DYNC__COUNT_OF(words); i++) dync__ptx_reg(p, "u32", words[i]);
    for (int i = 0; i < DYNC__COUNT_OF(preds); i++) dync__ptx_reg(p, "pred", preds[i]);
    for (int d = 0; d < w->g->n_batch; d++) dync__str_addf(&p->regs, "    .reg .u32 %%at%d;\n", d);
    for (int i = 0; i < 3; i++)
        dync__ptx_reg(p, "b64", i == 0 ? "%offset" : i == 1 ? "%da" : "%db");
    for (int i = 0; i < t->out.n_maps; i++) {
        char name[16];
        dync__format(name, sizeof name, "%%map%d", i);
        dync__ptx_reg(p, "b64", name);
        dync__ptx_line(p, "mov.b64 %s, m%d", name, i);
        dync__ptx_line(p, "cvta.param.u64 %s, %s", name, name);
    }
    dync__cuda_tile_set(t, "u32", "%bars", "add", "%%smem, %d", w->bars);
    dync__cuda_tile_set(t, "u32", "%group", "shr", "%%thr, 7");
    dync__ptx_line(p, "setp.eq.u32 %%first, %%thr, 0");
    for (int i = 0; i < 2 * w->stages; i++)
        dync__ptx_line(p, "@%%first mbarrier.init.shared::cta.b64 [%%bars+%d], %d", 8 * i,
                       i < w->stages ? 1 : 2 * w->cluster);
    dync__ptx_line(p, "@%%first fence.mbarrier_init.release.cluster");
    dync__ptx_line(p, "mov.u32 %%rank, %s", w->cluster > 1 ? "%cluster_ctarank" : "0");
    if (w->cluster > 1) {
        dync__ptx_line(p, "barrier.cluster.arrive.release.aligned");
        dync__ptx_line(p, "barrier.cluster.wait.acquire.aligned");
        dync__ptx_reg(p, "b16", "%everyone");
        dync__ptx_line(p, "mov.b16 %%everyone, %d", (1 << w->cluster) - 1);
    } else {
        dync__ptx_line(p, "bar.sync 0");
    }
    dync__ptx_line(p, "mov.u32 %%stage, 0");
    dync__ptx_line(p, "div.u32 %%tile, %%cta, %d", w->cluster);
    dync__cuda_tile_set(t, "u32", "%clusters", "mov", "%lld", (long long)clusters);
    dync__ptx_line(p, "setp.ne.u32 %%idle, %%group, 0");
    dync__ptx_line(p, "@%%idle bra CONSUME");
}

/* Tile and cluster: the fewest passes over the device, weighted with what a tile reaches. False:
 * too small a problem to fill a part of it. */
static bool dync__wg_choose(dync__wg *w)
{
    const dync__gm *g = w->g;
    int64_t units = dync__cuda_unit_of(g->device >> 8)->units,
            rows = (g->m + DYNC__WG_BM - 1) / DYNC__WG_BM;
    double best = 0;
    w->cluster = rows % 2 == 0 || rows > 8 ? 2 : 1;
    if (units < 2) w->cluster = 1;
    w->down = (rows + w->cluster - 1) / w->cluster;
    for (int bn = 256; bn >= 64; bn /= 2) {
        int64_t across = (g->n + bn - 1) / bn, places = units / w->cluster,
                tiles = w->down * across * g->batches;
        double cost = (double)((tiles + places - 1) / places) * bn *
                      (bn == 256   ? 1.0
                       : bn == 128 ? 1.2
                                   : 1.6);
        if (bn < 256 && cost >= best) continue;
        best = cost;
        w->bn = bn;
        w->across = across;
    }
    int64_t tiles = w->down * w->across * g->batches;
    return g->m > 64 && g->n > 32 && g->k >= w->depth && tiles < 1 << 30 &&
           tiles * w->cluster * 2 >= units;
}

DYNC__FN bool dync__gm_wgmma_suits(const dync__gm *g)
{
    dync__gm copy = *g;
    dync__wg w = {.g = &copy};
    if (!dync__cuda_takes(g->device, "sm_90a", 80) || g->kind < 0 || g->kind == DYNC__TILE_TF32)
        return false;
    w.depth = 128 / dync__dtype_info(g->dtype)->bytes;
    return dync__wg_choose(&w);
}

DYNC__FN bool dync__gm_wgmma(const dync__gm *from, dync__ptx_text *out)
{
    dync__gm *g = dync__arena_copy(from->arena, from, sizeof *from);
    dync__wg w = {.g = g};
    char name[80];
    if (!g || !dync__cuda_takes(g->device, "sm_90a", 80) || g->kind < 0 ||
        g->kind == DYNC__TILE_TF32 || g->side[0].gather || g->side[1].gather)
        return false;
    w.t = &g->t;
    w.bytes = dync__dtype_info(g->dtype)->bytes;
    w.depth = 128 / w.bytes;
    g->acc_bytes = 4;
    if (!dync__wg_choose(&w) ||
        !dync__cuda_tile_begin_kernel(w.t, g->arena, g->end, g->host, g->n, false))
        return false;
    dync__cuda_tile *t = w.t;
    bool ok = dync__wg_side(&w, 0) && dync__wg_side(&w, 1);
    w.by_box = ok && dync__wg_result(&w);
    if (ok) {
        int64_t tiles = w.down * w.across * g->batches,
                clusters = DYNC__MIN(
                    tiles, DYNC__MAX(dync__cuda_unit_of(g->device >> 8)->units / w.cluster, 1));
        t->out.n_maps = w.by_box ? 3 : 2;
        t->target = "sm_90a";
        t->p.n_checks = w.by_box ? 0 : t->p.n_checks;
        w.stages = w.bn == 256 ? 4 : w.bn == 128 ? 5 : 6;
        w.stage_bytes = (DYNC__WG_BM + w.bn) * 128;
        (void)dync__cuda_tile_shared(t, w.stages * w.stage_bytes, 1024);
        w.end_at =
            dync__cuda_tile_shared(t, w.by_box ? 4 * DYNC__WG_BOX : 128 * DYNC__WG_END_ROW, 1024);
        w.bars = dync__cuda_tile_shared(t, 16 * w.stages, 8);
        dync__wg_begin(&w, clusters);
        dync__wg_producer(&w);
        dync__cuda_tile_label(t, "CONSUME");
        dync__wg_consumer(&w);
        dync__cuda_tile_label(t, "DONE");
        /* nobody leaves while others send to it; the lanes that did not load wait for the one that
         * did */
        if (w.cluster > 1) {
            dync__ptx_line(&t->p, "bar.warp.sync 0xffffffff");
            dync__ptx_line(&t->p, "barrier.cluster.arrive.release.aligned");
            dync__ptx_line(&t->p, "barrier.cluster.wait.acquire.aligned");
        }
        /* with the number of threads this tells ptxas the registers that there are at the entry,
         * which setmaxnreg is compiled for */
        t->directives = w.cluster > 1
                            ? ".minnctapersm 1\n.explicitcluster\n.reqnctapercluster 2, 1, 1\n"
                            : ".minnctapersm 1\n";
        dync__format(name, sizeof name, "gemm_%s_wgmma_%dx%d", dync__dtype_info(g->dtype)->name,
                     DYNC__WG_BM * w.cluster, w.bn);
        dync__cuda_tile_entry(t, name, clusters * w.cluster, 1, 1, DYNC__WG_THREADS);
        ok = t->p.n_checks + t->out.n_maps <= DYNC__PTX_CHECKS && !t->p.failed &&
             !t->out.text.failed;
        t->out.n_checks = t->p.n_checks;
        memcpy(t->out.check, t->p.check, sizeof t->out.check);
        for (int i = 0; ok && i < t->out.n_maps; i++)
            t->out.check[t->out.n_checks++] =
                (dync__ptx_check){t->out.map[i].buf, 16, t->out.map[i].offset};
    }
    dync__str_free(&t->p.regs);
    dync__str_free(&t->p.body);
    *out = t->out;
    if (!ok) dync__str_free(&out->text);
    return ok;
}
