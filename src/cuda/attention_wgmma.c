/* cuda/attention_wgmma.c: attention forward for compute capability 9.0, f16 and bf16, heads up to
 * 128: wgmma on tiles that TMA brings. After attention.c, whose masks,
 * softmax and results it shares and which asks for it as the variant of a call.
 *
 * A block is three warpgroups: one thread of the first loads, the other two have 64 queries each
 * and go over tiles of 128 keys on their own, scores a tile ahead of values, so that exponentials
 * are taken beside products, the warpgroup's own and the other's. Keys and values lie in two stages
 * each, with a pair of mbarriers a stage: `full` (the bytes are there) and `empty` (both warpgroups
 * are done with it). Scores are accumulators, weights operand a in registers; values are read
 * across their rows.
 *
 *   shared memory   queries, stages of keys, stages of values: boxes of 64 columns (128 bytes,
 *                   128-byte swizzle) by all rows of the tile
 *   tails           TMA reads zeros outside; keys past the last one are masked as everywhere
 * Sources: PTX ISA 8.0 (wgmma, mbarrier, cp.async.bulk.tensor); Shah et al. 2024, FlashAttention-3,
 * arXiv:2407.08608. */
#include "../dync.in.h"
#include "attention.h"
DYNC__COLD

enum { DYNC__FW_ROWS = 128, DYNC__FW_KEYS = 128, DYNC__FW_STAGES = 2, DYNC__FW_THREADS = 384 };
/* mbarriers, from %bars on */
enum {
    DYNC__FW_Q,
    DYNC__FW_K_FULL = 8,
    DYNC__FW_K_EMPTY = 24,
    DYNC__FW_V_FULL = 40,
    DYNC__FW_V_EMPTY = 56,
    DYNC__FW_BARS = 72
};

/* A map of the operand's rows, in boxes of 64 columns. */
static bool dync__fw_map(dync__fa *c, int which, const dync__operand *o, int rows)
{
    dync__ptx_map *m = &c->t.out.map[which];
    const int64_t *shape = o->lay.shape, *stride = o->lay.stride;
    int n = c->n_batch;
    *m = (dync__ptx_map){.buf = (int)(o - c->op),
                         .type = c->dtype == DYNC_BF16 ? 9 : 6,
                         .rank = 2,
                         .swizzle = 3,
                         .offset = o->lay.offset * 2,
                         .size = {(uint64_t)shape[n + 1], (uint64_t)shape[n]},
                         .box = {64, (uint32_t)rows}};
    m->stride[0] = shape[n] > 1 ? (uint64_t)(stride[n] * 2) : 16;
    bool ok = stride[n + 1] == 1 && (shape[n] == 1 || (stride[n] > 0 && stride[n] % 8 == 0));
    for (int d = n - 1; d >= 0; d--) {
        if (c->q->lay.shape[d] == 1 || stride[d] == 0) continue;
        if (m->rank == 5 || stride[d] < 0 || stride[d] % 8) return false;
        m->stride[m->rank - 1] = (uint64_t)(stride[d] * 2);
        m->size[m->rank] = (uint64_t)c->q->lay.shape[d];
        m->box[m->rank++] = 1;
    }
    return ok;
}

static void dync__fw_wait(dync__fa *c, int bar, const char *stage, const char *parity)
{
    dync__ptx *p = &c->t.p;
    int label = p->n_labels++;
    const char *at = dync__ptx_temp(p, "u32"), *done = dync__ptx_temp(p, "pred");
    dync__ptx_line(p, "mad.lo.u32 %s, %s, 8, %%bars", at, stage);
    dync__cuda_tile_label(&c->t, "WAIT%d", label);
    dync__ptx_line(p, "mbarrier.try_wait.parity.shared::cta.b64 %s, [%s+%d], %s", done, at, bar,
                   parity);
    dync__ptx_line(p, "@!%s bra WAIT%d", done, label);
}

/* The boxes of a tile: rows from `row` on, to `to`; the barrier %full learns of them. */
static void dync__fw_load(dync__fa *c, int which, const dync__operand *o, int rows, const char *row,
                          const char *to)
{
    dync__ptx *p = &c->t.p;
    int boxes = (int)(o->lay.shape[c->n_batch + 1] + 63) / 64;
    char at[120];
    dync__ptx_line(p, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%%full], %d",
                   boxes * rows * 128);
    for (int i = 0; i < boxes; i++) {
        int n = dync__format(at, sizeof at, "{%%box%d, %s", i, row);
        for (int d = c->n_batch - 1; d >= 0; d--)
            if (c->q->lay.shape[d] > 1 && o->lay.stride[d])
                n += dync__format(at + n, sizeof at - (size_t)n, ", %%u%d", d);
        dync__format(at + n, sizeof at - (size_t)n, "}");
        dync__ptx_line(
            p,
            "cp.async.bulk.tensor.%dd.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
            "[%s+%d], [%%map%d, %s], [%%full]",
            c->t.out.map[which].rank, to, i * rows * 128, which, at);
    }
}

static void dync__fw_next(dync__fa *c, const char *stage, const char *parity)
{
    dync__ptx *p = &c->t.p;
    dync__ptx_line(p, "add.u32 %s, %s, 1", stage, stage);
    dync__ptx_line(p, "setp.eq.u32 %%wrap, %s, %d", stage, DYNC__FW_STAGES);
    dync__ptx_line(p, "@%%wrap mov.u32 %s, 0", stage);
    dync__ptx_line(p, "@%%wrap xor.b32 %s, %s, 1", parity, parity);
}

/* Keys, then values of each tile into the ring. */
static void dync__fw_producer(dync__fa *c, const int at[3], const int stage_bytes[3])
{
    dync__ptx *p = &c->t.p;
    dync__cuda_tile_note(&c->t, "the first warpgroup: one thread loads");
    dync__ptx_line(p, "setmaxnreg.dec.sync.aligned.u32 40");
    dync__ptx_line(p, "@!%%one bra DONE");
    dync__ptx_line(p, "mov.u32 %%full, %%bars");
    dync__ptx_line(p, "add.u32 %%to, %%smem, %d", at[0]);
    dync__fw_load(c, 0, c->q, DYNC__FW_ROWS, "%i0", "%to");
    dync__ptx_line(p, "mov.u32 %%parity, 1");
    dync__cuda_tile_label(&c->t, "LOAD");
    for (int i = 1; i < 3; i++) {
        dync__fw_wait(c, i == 1 ? DYNC__FW_K_EMPTY : DYNC__FW_V_EMPTY, "%stage", "%parity");
        dync__ptx_line(p, "mad.lo.u32 %%full, %%stage, 8, %%bars");
        dync__ptx_line(p, "add.u32 %%full, %%full, %d", i == 1 ? DYNC__FW_K_FULL : DYNC__FW_V_FULL);
        dync__ptx_line(p, "mad.lo.u32 %%to, %%stage, %d, %%smem", stage_bytes[i]);
        dync__ptx_line(p, "add.u32 %%to, %%to, %d", at[i]);
        dync__fw_load(c, i, i == 1 ? c->k : c->v, DYNC__FW_KEYS, "%j", "%to");
    }
    dync__fw_next(c, "%stage", "%parity");
    dync__ptx_line(p, "add.s32 %%j, %%j, %d", DYNC__FW_KEYS);
    dync__ptx_line(p, "setp.lt.s32 %%more, %%j, %%jend");
    dync__ptx_line(p, "@%%more bra LOAD");
    dync__ptx_line(p, "bra DONE");
}

/* A new descriptor: rows of 128 bytes with 128-byte swizzle, groups of eight 1024 bytes apart;
 * lead: from 64 columns to the next, 0 along rows. */
static void dync__fw_descriptor(dync__fa *c, const char *name, const char *base, int at, int lead)
{
    dync__ptx *p = &c->t.p;
    const char *low = dync__ptx_temp(p, "b32");
    dync__ptx_reg(p, "b64", name);
    dync__ptx_line(p, "add.s32 %s, %s, %d", low, base, at);
    dync__cuda_tile_descriptor(&c->t, name, low, lead ? lead : 16);
}

/* One wgmma of 16 k's into all registers of f. */
static void dync__fw_multiply(dync__fa *c, const dync__fa_frag *f, const char *a, bool add,
                              bool across)
{
    dync__ptx *p = &c->t.p;
    const char *in = dync__cuda_tile_kind_of(c->kind)->in;
    int n = f->cols * 4;
    dync__str_addf(&p->body, "    wgmma.mma_async.sync.aligned.m64n%dk16.f32.%s.%s {%s0", n, in, in,
                   f->name);
    for (int i = 1; i < n / 2; i++) dync__str_addf(&p->body, ", %s%d", f->name, i);
    dync__str_addf(&p->body, "}, %s, %%db, %s, 1, 1%s, %d;\n", a, add ? "%true" : "%false",
                   across ? "" : ", 0", across);
}

/* Both of a stage's readers have done with it. */
static void dync__fw_release(dync__fa *c, int bar, const char *stage)
{
    dync__ptx *p = &c->t.p;
    const char *at = dync__ptx_temp(p, "u32");
    dync__ptx_line(p, "mad.lo.u32 %s, %s, 8, %%bars", at, stage);
    dync__ptx_line(p, "@%%one mbarrier.arrive.shared::cta.b64 _, [%s+%d]", at, bar);
}

/* Begins scores = queries x keys of %stage. */
static void dync__fw_scores(dync__fa *c, const dync__fa_frag *s, int stage_bytes)
{
    dync__ptx *p = &c->t.p;
    dync__fw_wait(c, DYNC__FW_K_FULL, "%stage", "%parity");
    dync__ptx_line(p, "mul.wide.u32 %%dstage, %%stage, %d", stage_bytes >> 4);
    dync__ptx_line(p, "add.s64 %%dstage, %%dstage, %%dk");
    dync__ptx_line(p, "wgmma.fence.sync.aligned");
    for (int k = 0; k < (int)(c->E + 63) / 64 * 4; k++) {
        dync__ptx_line(p, "add.s64 %%da, %%dq, %d",
                       (k / 4 * DYNC__FW_ROWS * 128 + k % 4 * 32) >> 4);
        dync__ptx_line(p, "add.s64 %%db, %%dstage, %d",
                       (k / 4 * DYNC__FW_KEYS * 128 + k % 4 * 32) >> 4);
        dync__fw_multiply(c, s, "%da", k > 0, false);
    }
    dync__ptx_line(p, "wgmma.commit_group.sync.aligned");
}

/* Begins results += weights x values of %vstage. */
static void dync__fw_values(dync__fa *c, const dync__fa_frag *o, int stage_bytes)
{
    dync__ptx *p = &c->t.p;
    char a[80];
    dync__fw_wait(c, DYNC__FW_V_FULL, "%vstage", "%vparity");
    dync__ptx_line(p, "mul.wide.u32 %%dstage, %%vstage, %d", stage_bytes >> 4);
    dync__ptx_line(p, "add.s64 %%dstage, %%dstage, %%dv");
    dync__ptx_line(p, "wgmma.fence.sync.aligned");
    for (int k = 0; k < DYNC__FW_KEYS / 16; k++) {
        dync__ptx_line(p, "add.s64 %%db, %%dstage, %d", k * 16 * 128 >> 4);
        dync__format(a, sizeof a, "{%%mw%d, %%mw%d, %%mw%d, %%mw%d}", 4 * k, 4 * k + 1, 4 * k + 2,
                     4 * k + 3);
        dync__fw_multiply(c, o, a, true, true);
    }
    dync__ptx_line(p, "wgmma.commit_group.sync.aligned");
}

/* Scores are one tile ahead of values: their exponentials are taken while the values of the tile
 * before are multiplied. */
static void dync__fw_consumers(dync__fa *c, const int at[3], const int stage_bytes[3])
{
    dync__ptx *p = &c->t.p;
    dync__cuda_tile_note(&c->t, "the other two: 64 queries each");
    dync__cuda_tile_label(&c->t, "CONSUME");
    dync__ptx_line(p, "setmaxnreg.inc.sync.aligned.u32 232");
    dync__fa_frag s = dync__fa_frag_new(c, "%s", DYNC__FW_KEYS, false),
                  o = dync__fa_frag_new(c, "%o", (int)(c->V + 63) / 64 * 64, true);
    dync__fa_begin_rows(c, &s, &o);
    dync__ptx_line(p, "sub.u32 %%half, %%half, 1");
    dync__cuda_tile_set(&c->t, "b32", "%within", "and", "%%thr, 127");
    dync__ptx_line(p, "setp.eq.u32 %%one, %%within, 0");
    dync__cuda_tile_set(&c->t, "s32", "%mine", "mad.lo", "%%half, %d, %%smem", 64 * 128);
    dync__fw_descriptor(c, "%dq", "%mine", at[0], 0);
    dync__fw_descriptor(c, "%dk", "%smem", at[1], 0);
    dync__fw_descriptor(c, "%dv", "%smem", at[2], DYNC__FW_KEYS * 128);
    static const char *const wide[] = {"%da", "%db", "%dstage"};
    for (int i = 0; i < 3; i++) dync__ptx_reg(p, "b64", wide[i]);
    dync__ptx_line(p, "mov.u32 %%parity, 0");
    dync__cuda_tile_set(&c->t, "u32", "%vstage", "mov", "0");
    dync__cuda_tile_set(&c->t, "u32", "%vparity", "mov", "0");
    dync__fw_wait(c, DYNC__FW_Q, "%stage", "%parity");    /* stage 0 still */
    for (int iteration = 0; iteration < 2; iteration++) { /* the first tile, the others */
        if (iteration) dync__cuda_tile_label(&c->t, "KEYS");
        dync__fw_scores(c, &s, stage_bytes[1]);
        if (iteration) dync__fw_values(c, &o, stage_bytes[2]);
        dync__ptx_line(p, "wgmma.wait_group.sync.aligned %d", iteration);
        dync__fw_release(c, DYNC__FW_K_EMPTY, "%stage");
        dync__fa_mask(c, &s, false, iteration ? "SEEN" : "SEEN_FIRST");
        dync__fa_exponentials(c, &s);
        if (iteration) {
            dync__ptx_line(p, "wgmma.wait_group.sync.aligned 0");
            dync__fw_release(c, DYNC__FW_V_EMPTY, "%vstage");
            dync__fw_next(c, "%vstage", "%vparity");
            dync__fa_rescale(c, &o);
        }
        dync__fa_weights(c, &s);
        dync__fw_next(c, "%stage", "%parity");
        dync__ptx_line(p, "add.s32 %%j, %%j, %d", DYNC__FW_KEYS);
        dync__ptx_line(p, "setp.lt.s32 %%more, %%j, %%jend");
        dync__ptx_line(p, iteration ? "@%%more bra KEYS" : "@!%%more bra REST");
    }
    dync__cuda_tile_label(&c->t, "REST");
    dync__fw_values(c, &o, stage_bytes[2]);
    dync__ptx_line(p, "wgmma.wait_group.sync.aligned 0");
    dync__fa_outputs(c, &o);
}

/* The whole text, in c->t, for a call that c was opened with and c->t begun for; false: not for
 * this call or device. */
DYNC__FN bool dync__fa_wgmma(dync__fa *c, int device)
{
    dync__ptx *p = &c->t.p;
    static const char *const words[] = {"%stage", "%parity", "%full", "%to"};
    int boxes_e = (int)(c->E + 63) / 64, boxes_v = (int)(c->V + 63) / 64, at[3],
        bytes[3] = {DYNC__FW_ROWS * 128 * boxes_e, DYNC__FW_KEYS * 128 * boxes_e,
                    DYNC__FW_KEYS * 128 * boxes_v};
    char name[16];
    if (!c->mma || c->E > 128 || c->V > 128 || c->L <= 64 ||
        !dync__cuda_takes(device, "sm_90a", 80))
        return false;
    if (!dync__fw_map(c, 0, c->q, DYNC__FW_ROWS) || !dync__fw_map(c, 1, c->k, DYNC__FW_KEYS) ||
        !dync__fw_map(c, 2, c->v, DYNC__FW_KEYS))
        return false;
    c->t.target = "sm_90a";
    c->t.out.n_maps = 3;
    c->threads = DYNC__FW_THREADS;
    c->mt = 1;
    c->rows = DYNC__FW_ROWS;
    c->cols = DYNC__FW_KEYS;
    for (int i = 0; i < 3; i++)
        at[i] = dync__cuda_tile_shared(&c->t, i ? DYNC__FW_STAGES * bytes[i] : bytes[i], 1024);
    int bars = dync__cuda_tile_shared(&c->t, DYNC__FW_BARS, 8);
    dync__fa_place(c, c->L, c->causal);
    dync__fa_mask_regs(c);
    dync__ptx_line(p, "sub.s32 %%rb, %%rb, 64"); /* warps 4 to 11 have the rows */
    dync__ptx_line(p, "sub.s32 %%row, %%row, 64");
    for (int i = 0; i < DYNC__COUNT_OF(words); i++) dync__ptx_reg(p, "u32", words[i]);
    dync__ptx_reg(p, "pred", "%wrap");
    dync__ptx_reg(p, "pred", "%one");
    for (int i = 0; i < 3; i++) {
        dync__format(name, sizeof name, "%%map%d", i);
        dync__ptx_reg(p, "b64", name);
        dync__ptx_line(p, "mov.b64 %s, m%d", name, i);
        dync__ptx_line(p, "cvta.param.u64 %s, %s", name, name);
    }
    dync__cuda_tile_set(&c->t, "u32", "%box0", "mov", "0");
    dync__cuda_tile_set(&c->t, "u32", "%box1", "mov", "64");
    dync__cuda_tile_set(&c->t, "u32", "%bars", "add", "%%smem, %d", bars);
    dync__ptx_line(p, "setp.eq.u32 %%one, %%thr, 0");
    for (int i = 0; i < DYNC__FW_BARS / 8; i++) {
        bool empty = (8 * i >= DYNC__FW_K_EMPTY && 8 * i < DYNC__FW_V_FULL) ||
                     8 * i >= DYNC__FW_V_EMPTY;
        dync__ptx_line(p, "@%%one mbarrier.init.shared::cta.b64 [%%bars+%d], %d", 8 * i,
                       empty ? 2 : 1);
    }
    dync__ptx_line(p, "@%%one fence.mbarrier_init.release.cluster");
    dync__cuda_tile_barrier(&c->t);
    dync__ptx_line(p, "mov.u32 %%stage, 0");
    dync__ptx_line(p, "mov.b32 %%j, 0");
    dync__fa_last_key(c);
    dync__cuda_tile_set(&c->t, "u32", "%half", "shr", "%%thr, 7");
    dync__ptx_line(p, "setp.ne.u32 %%more, %%half, 0");
    dync__ptx_line(p, "@%%more bra CONSUME");
    dync__fw_producer(c, at, bytes);
    dync__fw_consumers(c, at, bytes);
    dync__cuda_tile_label(&c->t, "DONE");
    dync__cuda_tile_entry(&c->t, "attention_wgmma", c->units * ((c->L + c->rows - 1) / c->rows), 1,
                          1, c->threads);
    for (int i = 0; i < 3; i++)
        c->t.out.check[c->t.out.n_checks++] =
            (dync__ptx_check){c->t.out.map[i].buf, 16, c->t.out.map[i].offset};
    return true;
}
