/* cuda/wgmma.c: matrix products for compute capability 9.0: wgmma on tiles that TMA brings. After
 * gemm_end.c, before gemm.c, which asks for it as the variant of a product; what it does not take
 * (strides that are no multiple of 16 bytes, 32-bit operands) stays with gemm_mma.c.
 *
 * A block is three warpgroups: one thread of the first loads, the other two multiply, 64 rows of
 * the tile each. They meet in a ring of stages, a pair of mbarriers each: `full` (the bytes of both
 * sides are there) and `empty` (all that read the stage are done with it). Blocks are persistent:
 * cluster c takes tiles c, c + clusters ..., in bands of eight rows of tiles; loading goes on while
 * results are stored. Two blocks of a cluster own tiles of the same columns: each loads half of b
 * and sends it to both.
 *
 *   shared memory   stages: a (128 lines) then b (bn lines), in rows of 128 bytes with 128-byte
 *                   swizzle. A side with k along the row is one box; one with lines along the row
 *                   (16-bit types: the descriptor's transposed form) is a box for each 64 lines
 *   results         alone in a row-major matrix: cast, to shared memory in swizzled rows of 128
 *                   bytes, stored by TMA, two boxes of 64 rows under way for each warpgroup. Else
 *                   32 columns at a time through shared memory into the loop kernel `end`, row by
 *                   row
 *   tails           TMA reads zeros outside of a matrix and does not write there; `end` is guarded
 * Sources: PTX ISA 8.0, 9.7.12.15 (mbarrier), 9.7.8.24 (cp.async.bulk.tensor), 9.7.14 (wgmma). */
#include "../dync.in.h"
#include "gemm.h"
#include "wgmma.h"
DYNC__COLD

/* ---- what TMA takes -------------------------------------------------------------------------- */

static bool dync__wg_dim(dync__ptx_map *m, int64_t size, int64_t stride_bytes, uint32_t box)
{
    if (m->rank == 5 ||
        (size > 1 && (stride_bytes <= 0 || stride_bytes % 16 || stride_bytes >= (int64_t)1 << 40)))
        return false;
    m->stride[m->rank - 1] = size > 1 ? (uint64_t)stride_bytes : 16;
    m->size[m->rank] = (uint64_t)size;
    m->box[m->rank++] = box;
    return true;
}

static bool dync__wg_batch(dync__wg *w, int which, dync__ptx_map *m, int d, int64_t stride_bytes)
{
    if (w->g->batch[d] == 1 || stride_bytes == 0) return true;
    w->batch_at[which][w->n_batch[which]] = d;
    return w->n_batch[which]++ < 3 && dync__wg_dim(m, w->g->batch[d], stride_bytes, 1);
}

DYNC__FN bool dync__wg_side(dync__wg *w, int s)
{
    /* CUtensorMapDataType by DYNC__TILE_ */
    static const int types[] = {9, 6, 7, 0, 0};
    const dync__gm *g = w->g;
    const dync__gm_side *side = &g->side[s];
    int64_t lines = s ? g->n : g->m;
    dync__ptx_map *m = &w->t->out.map[s];
    bool by_k = side->step == 1 && side->line * w->bytes % 16 == 0;
    if ((!by_k && (side->line != 1 || w->bytes != 2)) || side->offset * w->bytes % 16) return false;
    uint32_t across = (uint32_t)(!by_k ? w->depth / (s && w->bn / 64 < w->cluster ? w->cluster : 1)
                                 : s   ? w->bn / w->cluster
                                       : DYNC__WG_BM);
    w->by_k[s] = by_k;
    if (s) w->cut_k = !by_k && w->bn / 64 < w->cluster;
    *m = (dync__ptx_map){.buf = side->buf,
                         .type = types[g->kind],
                         .rank = 1,
                         .swizzle = 3,
                         .offset = side->offset * w->bytes,
                         .size = {(uint64_t)(by_k ? g->k : lines)},
                         .box = {(uint32_t)(128 / w->bytes)}};
    if (!dync__wg_dim(m, by_k ? lines : g->k, (by_k ? side->line : side->step) * w->bytes, across))
        return false;
    for (int d = g->n_batch - 1; d >= 0; d--)
        if (!dync__wg_batch(w, s, m, d, side->batch[d] * w->bytes)) return false;
    return true;
}

DYNC__FN bool dync__wg_result(dync__wg *w)
{
    const dync__gm *g = w->g;
    const dync__kernel *e = g->end;
    dync__ptx_map *m = &w->t->out.map[2];
    if (e->inst.n != 2 || e->inst.at[1].prim != DYNC__P_store || e->inst.at[0].buf != g->given ||
        g->compute != DYNC_F32)
        return false;
    const dync__buf *to = &e->buf.at[e->inst.at[1].buf];
    const dync__access *a = &e->access.at[e->inst.at[1].access];
    int d = e->n_dims - 1, batch = g->n_batch - 1;
    w->out_bytes = dync__dtype_info(to->dtype)->bytes;
    if (d < 1 || e->extent[d] != g->n || a->stride[d] != 1 ||
        (to->dtype != DYNC_BF16 && to->dtype != DYNC_F16))
        return false;
    int64_t rows = e->extent[--d], row = a->stride[d];
    /* batches that became rows have to follow each other */
    while (rows < g->m && d > 0) {
        if (rows > 1 && e->extent[d - 1] > 1 && a->stride[d - 1] != rows * row) return false;
        if (rows == 1) row = a->stride[d - 1];
        rows *= e->extent[--d];
    }
    *m = (dync__ptx_map){.buf = e->inst.at[1].buf,
                         .type = to->dtype == DYNC_BF16 ? 9 : 6,
                         .rank = 1,
                         .swizzle = 3,
                         .offset = a->offset * w->out_bytes,
                         .size = {(uint64_t)g->n},
                         .box = {(uint32_t)(128 / w->out_bytes)}};
    if (rows != g->m || m->offset % 16 || !dync__wg_dim(m, rows, row * w->out_bytes, 64))
        return false;
    for (; d > 0; d--, batch--)
        if (batch < 0 || e->extent[d - 1] != g->batch[batch] ||
            !dync__wg_batch(w, 2, m, batch, a->stride[d - 1] * w->out_bytes) ||
            (g->batch[batch] > 1 && a->stride[d - 1] == 0))
            return false;
    return batch < 0;
}

/* ---- pieces of text -------------------------------------------------------------------------- */

DYNC__FN void dync__wg_wait(dync__wg *w, const char *bar, const char *parity)
{
    int label = w->labels++;
    dync__cuda_tile_label(w->t, "WAIT_%d", label);
    dync__ptx_line(&w->t->p, "mbarrier.try_wait.parity.shared::cta.b64 %%done, [%s], %s", bar,
                   parity);
    dync__ptx_line(&w->t->p, "@!%%done bra WAIT_%d", label);
}

DYNC__FN void dync__wg_next(dync__wg *w)
{
    dync__ptx *p = &w->t->p;
    dync__ptx_line(p, "add.u32 %%stage, %%stage, 1");
    dync__ptx_line(p, "setp.eq.u32 %%wrap, %%stage, %d", w->stages);
    dync__ptx_line(p, "@%%wrap mov.u32 %%stage, 0");
    dync__ptx_line(p, "@%%wrap xor.b32 %%parity, %%parity, 1");
}

DYNC__FN void dync__wg_place(dync__wg *w)
{
    const dync__gm *g = w->g;
    dync__ptx *p = &w->t->p;
    dync__ptx_line(p, "rem.u32 %%in, %%tile, %lld", (long long)(w->down * w->across));
    dync__ptx_line(p, "div.u32 %%batch, %%tile, %lld", (long long)(w->down * w->across));
    dync__ptx_line(p, "div.u32 %%m0, %%in, %lld", (long long)(w->across * DYNC__WG_BAND));
    dync__ptx_line(p, "rem.u32 %%in, %%in, %lld", (long long)(w->across * DYNC__WG_BAND));
    dync__ptx_line(p, "mul.lo.u32 %%m0, %%m0, %d", DYNC__WG_BAND);
    dync__ptx_line(p, "sub.u32 %%rows, %lld, %%m0", (long long)w->down);
    dync__ptx_line(p, "min.u32 %%rows, %%rows, %d", DYNC__WG_BAND);
    dync__ptx_line(p, "div.u32 %%n0, %%in, %%rows");
    dync__ptx_line(p, "rem.u32 %%in, %%in, %%rows");
    dync__ptx_line(p, "add.u32 %%m0, %%m0, %%in");
    dync__ptx_line(p, "mad.lo.u32 %%m0, %%m0, %d, %%rank", w->cluster);
    dync__ptx_line(p, "mul.lo.u32 %%m0, %%m0, %d", DYNC__WG_BM);
    dync__ptx_line(p, "mul.lo.u32 %%n0, %%n0, %d", w->bn);
    if (g->batches == 1) return;
    dync__ptx_line(p, "mov.u32 %%in, %%batch");
    for (int d = g->n_batch - 1; d >= 0; d--) {
        dync__ptx_line(p, "rem.u32 %%at%d, %%in, %lld", d, (long long)g->batch[d]);
        dync__ptx_line(p, "div.u32 %%in, %%in, %lld", (long long)g->batch[d]);
    }
}

DYNC__FN void dync__wg_coordinates(const dync__wg *w, int which, const char *first,
                                   const char *second, char out[120])
{
    int n = dync__format(out, 120, "{%s, %s", first, second);
    for (int i = 0; i < w->n_batch[which]; i++)
        n += dync__format(out + n, 120 - (size_t)n, ", %%at%d", w->batch_at[which][i]);
    dync__format(out + n, 120 - (size_t)n, "}");
}

/* ---- the warpgroup that loads ---------------------------------------------------------------- */

static void dync__wg_load(dync__wg *w, int s)
{
    dync__ptx *p = &w->t->p;
    int boxes = w->by_k[s] || (s && w->cut_k) ? 1 : s ? w->bn / 64 / w->cluster : DYNC__WG_BM / 64;
    bool shared = s && w->cluster > 1;
    for (int i = 0; i < boxes; i++) {
        char at[120];
        const char *line = s ? "%nb" : "%m0", *k = s && w->cut_k ? "%kb" : "%kk";
        if (i) {
            line = dync__ptx_temp(p, "u32");
            dync__ptx_line(p, "add.u32 %s, %s, %d", line, s ? "%nb" : "%m0", 64 * i);
        }
        dync__wg_coordinates(w, s, w->by_k[s] ? k : line, w->by_k[s] ? line : k, at);
        dync__ptx_line(
            p,
            "cp.async.bulk.tensor.%dd.shared::cluster.global.tile.mbarrier::complete_tx::bytes%s "
            "[%s+%d], [%%map%d, %s], [%%full]%s",
            w->t->out.map[s].rank, shared ? ".multicast::cluster" : "", shared ? "%tob" : "%to",
            (s ? DYNC__WG_BM * 128 : 0) + i * DYNC__WG_BOX, s, at, shared ? ", %everyone" : "");
    }
}

DYNC__FN void dync__wg_producer(dync__wg *w)
{
    dync__cuda_tile *t = w->t;
    dync__ptx *p = &t->p;
    int64_t iterations = (w->g->k + w->depth - 1) / w->depth;
    dync__cuda_tile_note(t, "the first warpgroup: one thread loads");
    dync__ptx_line(p, "setmaxnreg.dec.sync.aligned.u32 40");
    dync__ptx_line(p, "setp.ne.u32 %%idle, %%thr, 0");
    dync__ptx_line(p, "@%%idle bra DONE");
    dync__ptx_line(p, "mov.u32 %%parity, 1");
    dync__cuda_tile_label(t, "LOAD_TILE");
    dync__ptx_line(p, "setp.ge.u32 %%last, %%tile, %lld",
                   (long long)(w->down * w->across * w->g->batches));
    dync__ptx_line(p, "@%%last bra DONE");
    dync__wg_place(w);
    dync__ptx_line(p, "mad.lo.u32 %%nb, %%rank, %d, %%n0", w->cut_k ? 0 : w->bn / w->cluster);
    dync__ptx_line(p, "mov.u32 %%kk, 0");
    dync__cuda_tile_label(t, "LOAD");
    dync__ptx_line(p, "mad.lo.u32 %%full, %%stage, 8, %%bars");
    dync__ptx_line(p, "add.u32 %%empty, %%full, %d", 8 * w->stages);
    dync__ptx_line(p, "mad.lo.u32 %%to, %%stage, %d, %%smem", w->stage_bytes);
    dync__wg_wait(w, "%empty", "%parity");
    dync__ptx_line(p, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%%full], %d", w->stage_bytes);
    if (w->cluster > 1)
        dync__ptx_line(p, "mad.lo.u32 %%tob, %%rank, %d, %%to", w->bn / w->cluster * 128);
    if (w->cut_k) dync__ptx_line(p, "mad.lo.u32 %%kb, %%rank, %d, %%kk", w->depth / w->cluster);
    dync__wg_load(w, 0);
    dync__wg_load(w, 1);
    dync__wg_next(w);
    dync__ptx_line(p, "add.u32 %%kk, %%kk, %d", w->depth);
    dync__ptx_line(p, "setp.lt.u32 %%more, %%kk, %lld", (long long)(iterations * w->depth));
    dync__ptx_line(p, "@%%more bra LOAD");
    dync__ptx_line(p, "add.u32 %%tile, %%tile, %%clusters");
    dync__ptx_line(p, "bra LOAD_TILE");
}
