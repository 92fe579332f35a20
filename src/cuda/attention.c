/* cuda/attention.c: softmax(q k^T scale + mask) v on a GPU in one pass over the keys, and its
 * gradients. After attention_tile.c, before calls.c.
 *
 *   forward    a block a tile of queries, over tiles of keys: the greatest score so far, the sum of
 *              exponentials below it and the weighted values, rescaled when a maximum of the warp
 *              moves. Keeps what the CPU's kernel keeps: the logarithm of the sum. Few queries and
 *              many keys (decoding): the keys are cut over blocks, and a second launch joins their
 *              sums in order. Heads that share keys and values (stride 0) are rows of one tile.
 *   backward   first {log of the sum, output . gradient} of each query as pairs in memory, then a
 *              kernel whose blocks hold tiles of keys and walk over queries (gk, gv), and one the
 *              other way round (gq): every element is added up by one thread, in a fixed order.
 *              Heads wider than 128 have a kernel for each of gk and gv, whose accumulators would
 *              not fit together.
 * Exponentials are powers of two: factors of log2 e are part of the scale. Tiles that the diagonal
 * hides are not visited; edges and masks are looked at only where there are any. Each text comes
 * for memory on 16-byte boundaries (cp.async) and for any. Sources: Milakov & Gimelshein 2018,
 * arXiv:1805.02867; Dao et al. 2022, arXiv:2205.14135; Dao 2023, arXiv:2307.08691. */
#include "../dync.in.h"
#include "attention.h"
DYNC__COLD

static void dync__fa_drop(dync__layout *lay, int d)
{
    for (lay->ndim--; d < lay->ndim; d++) {
        lay->shape[d] = lay->shape[d + 1];
        lay->stride[d] = lay->stride[d + 1];
    }
}

/* Batch dims over which keys and values are the same become rows, the last ones first: where few
 * rows are there, and memory goes on evenly. */
static void dync__fa_fold(dync__operand *o, const dync__kcall *call)
{
    for (int d = o[0].lay.ndim - 3; d >= 0; d--) {
        int64_t rows = o[0].lay.shape[d + 1], shared = o[0].lay.shape[d];
        if (call->attr.attention.causal || rows >= 64 || o[1].lay.stride[d] || o[2].lay.stride[d])
            return;
        for (int i = 0; i < call->n; i++)
            if (i != 1 && i != 2 && rows > 1 && shared > 1 &&
                o[i].lay.stride[d] != rows * o[i].lay.stride[d + 1])
                return;
        for (int i = 0; i < call->n; i++) {
            dync__layout *lay = &o[i].lay;
            if (i != 1 && i != 2) {
                lay->shape[d + 1] = rows * shared;
                if (rows == 1) lay->stride[d + 1] = lay->stride[d];
            }
            dync__fa_drop(lay, d);
        }
    }
}

DYNC__FN void dync__fa_open(dync__fa *c, const dync__kcall *call, bool grad, bool vec)
{
    memset(c, 0, sizeof *c);
    if (!grad) memcpy(c->own, call->operand, (size_t)call->n * sizeof *c->own);
    if (!grad) dync__fa_fold(c->own, call);
    c->op = grad ? call->operand : c->own;
    c->q = c->op + (grad ? 1 : 0);
    c->k = c->q + 1;
    c->v = c->q + 2;
    c->gy = grad ? c->op : NULL;
    const dync__attr_attention *a = &call->attr.attention;
    c->mask = a->mask >= 0 ? &c->op[a->mask] : NULL;
    c->causal = a->causal;
    c->scale = a->scale;
    c->vec = vec;
    c->dtype = c->q->dtype;
    c->mma = c->dtype != DYNC_F32;
    c->kind = c->dtype == DYNC_F16 ? DYNC__TILE_F16 : DYNC__TILE_BF16;
    c->bytes = c->mma ? 2 : 4;
    c->n_batch = c->q->lay.ndim - 2;
    c->L = c->q->lay.shape[c->n_batch];
    c->E = c->q->lay.shape[c->n_batch + 1];
    c->S = c->v->lay.shape[c->n_batch];
    c->V = c->v->lay.shape[c->n_batch + 1];
    c->units = c->splits = 1;
    for (int d = 0; d < c->n_batch; d++) c->units *= c->q->lay.shape[d];
}

DYNC__FN bool dync__fa_can(const dync__fa *c, int n)
{
    bool ok = (c->dtype == DYNC_F32 || c->dtype == DYNC_F16 || c->dtype == DYNC_BF16) &&
              c->E <= DYNC__FA_WIDEST && c->V <= DYNC__FA_WIDEST && c->L < 1 << 30 &&
              c->S < 1 << 30 && c->units < 1 << 24 &&
              c->units * (DYNC__MAX(c->L, c->S) / 16 + 1) < INT32_MAX;
    for (int i = 0; i < n && ok; i++)
        for (int d = c->n_batch; d < c->op[i].lay.ndim; d++)
            ok &= c->op[i].lay.stride[d] > -(1 << 20) && c->op[i].lay.stride[d] < 1 << 20;
    return ok;
}

DYNC__FN bool dync__fa_rows_fit(dync__fa *c, const dync__operand *const *o, int n)
{
    for (int i = 0; i < n; i++) {
        int64_t bytes = dync__dtype_info(o[i]->dtype)->bytes;
        bool ok = o[i]->lay.stride[c->n_batch + 1] == 1 &&
                  o[i]->lay.shape[c->n_batch + 1] * bytes % 16 == 0;
        for (int d = 0; d <= c->n_batch; d++) ok &= o[i]->lay.stride[d] * bytes % 16 == 0;
        if (!ok) return false;
        c->t.out.check[c->t.out.n_checks++] =
            (dync__ptx_check){(int)(o[i] - c->op), 16, o[i]->lay.offset * bytes};
    }
    return true;
}

DYNC__FN int dync__fa_padded(int64_t width) { return (int)(width + 15) / 16 * 16; }

/* ---- beginnings and ends --------------------------------------------------------------------- */

/* Which unit, which tile of rows; where in the tile the thread stands. */
DYNC__FN void dync__fa_place(dync__fa *c, int64_t limit, bool late_first)
{
    dync__ptx *p = &c->t.p;
    long long tiles = (long long)((limit + c->rows - 1) / c->rows);
    const char *place = c->splits > 1 ? "%place" : "%cta";
    if (c->splits > 1) {
        dync__cuda_tile_set(&c->t, "u32", "%split", "rem", "%%cta, %lld", (long long)c->splits);
        dync__cuda_tile_set(&c->t, "u32", place, "div", "%%cta, %lld", (long long)c->splits);
    }
    dync__cuda_tile_set(&c->t, "u32", "%unit", "div", "%s, %lld", place, tiles);
    dync__cuda_tile_set(&c->t, "u32", "%i0", "rem", "%s, %lld", place, tiles);
    if (late_first) dync__ptx_line(p, "sub.s32 %%i0, %lld, %%i0", tiles - 1);
    dync__ptx_line(p, "mul.lo.s32 %%i0, %%i0, %d", c->rows);
    dync__fa_units(c);
    if (c->mma) {
        dync__cuda_tile_set(&c->t, "u32", "%rb", "shr", "%%lane, 2");
        dync__ptx_line(p, "mad.lo.s32 %%rb, %%warp, %d, %%rb", 16 * c->mt);
        dync__cuda_tile_set(&c->t, "b32", "%cb", "and", "%%lane, 3");
        dync__ptx_line(p, "mul.lo.s32 %%cb, %%cb, 2");
        dync__cuda_tile_set(&c->t, "b32", "%cn1", "mov", "%%cb");
        dync__cuda_tile_regs(&c->t, "b32", "%ma", 4 * c->mt);
        dync__cuda_tile_regs(&c->t, "b32", "%mb", 4);
        dync__cuda_tile_regs(&c->t, "b32", "%mw", c->mt * c->cols * c->bytes / 8);
    } else {
        dync__cuda_tile_set(&c->t, "u32", "%rb", "shr", "%%thr, 4");
        dync__cuda_tile_set(&c->t, "b32", "%cb", "and", "%%thr, 15");
        dync__cuda_tile_set(&c->t, "b32", "%cn1", "mov", "%%cb");
        dync__cuda_tile_set(&c->t, "s32", "%cn2", "mul.lo", "%%cb, 2");
        dync__cuda_tile_set(&c->t, "s32", "%cn4", "mul.lo", "%%cb, 4");
        dync__cuda_tile_regs(&c->t, "f32", "%fa", 4 * c->rows * 16 / c->threads);
        dync__cuda_tile_regs(&c->t, "f32", "%fb", 4 * DYNC__FA_WIDEST / 16);
        int stride = c->cols * 4 + 16;
        c->weights = dync__cuda_tile_shared(&c->t, c->rows * stride, 16);
        dync__cuda_tile_set(&c->t, "s32", "%w_a", "mad.lo", "%%rb, %d, %%smem", stride);
        dync__ptx_line(p, "add.s32 %%w_a, %%w_a, %d", c->weights);
        dync__cuda_tile_set(&c->t, "s32", "%w_s", "mad.lo", "%%cb, 4, %%w_a");
    }
    dync__cuda_tile_set(&c->t, "s32", "%row", "add", "%%i0, %%rb");
    if (!c->mask) return;
    dync__fa_base(c, "%mask", c->mask, (int)(c->mask - c->op));
}

DYNC__FN bool dync__fa_finish(dync__fa *c, dync__cuda_code *code, int form, const int32_t *buf)
{
    if (form == DYNC__CUDA_ANY) return dync__cuda_tile_end(&c->t, code, buf);
    dync__str_free(&c->t.p.regs);
    dync__str_free(&c->t.p.body);
    if (!c->t.p.failed) return dync__cuda_add_form(code, form, &c->t.out);
    dync__str_free(&c->t.out.text);
    return dync__fail_memory(0), false;
}

DYNC__FN const char *dync__fa_number(char *to, double x)
{
    float f = (float)x;
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    dync__format(to, 24, "0f%08x", (unsigned)u);
    return to;
}

/* ---- scores ---------------------------------------------------------------------------------- */

DYNC__FN bool dync__fa_raw(const dync__fa *c)
{
    return c->scale > 0 && (!c->mask || c->mask->dtype == DYNC_BOOL);
}

/* The mask's operand over a tile of scores: -inf where bools hide, or scores times the scale plus
 * numbers. keys: rows are keys. */
static void dync__fa_mask_operand(dync__fa *c, const dync__fa_frag *s, bool keys)
{
    dync__ptx *p = &c->t.p;
    const dync__operand *m = c->mask;
    int64_t bytes = dync__dtype_info(m->dtype)->bytes,
            by_row = m->lay.stride[c->n_batch + keys] * bytes,
            by_column = m->lay.stride[c->n_batch + !keys] * bytes;
    char reg[24], number[24], guard[32], factor[24];
    dync__ptx_line(p, "cvt.s64.s32 %%wide, %%row");
    dync__ptx_line(p, "mad.lo.s64 %%here, %%wide, %lld, %%mask", (long long)by_row);
    dync__ptx_line(p, "cvt.s64.s32 %%wide, %%col");
    dync__ptx_line(p, "mad.lo.s64 %%here, %%wide, %lld, %%here", (long long)by_column);
    for (int i = 0; i < s->rows; i++)
        for (int j = 0; j < s->cols; j++) {
            const char *is = dync__ptx_temp(p, "pred"), *at = dync__ptx_temp(p, "s64");
            dync__fa_reg(c, s, i, j, reg);
            dync__ptx_line(p, "setp.lt.s32 %s, %%row, %lld", is,
                           (long long)((keys ? c->S : c->L) - dync__fa_row(c, i)));
            dync__ptx_line(p, "setp.lt.and.s32 %s, %%col, %lld, %s", is,
                           (long long)((keys ? c->L : c->S) - dync__fa_col(c, s, j)), is);
            dync__ptx_line(
                p, "add.s64 %s, %%here, %lld", at,
                (long long)(dync__fa_row(c, i) * by_row + dync__fa_col(c, s, j) * by_column));
            dync__format(guard, sizeof guard, "@%s ", is);
            if (m->dtype == DYNC_BOOL) {
                const char *seen = dync__ptx_temp(p, "b32");
                dync__ptx_line(p, "mov.b32 %s, 0", seen);
                dync__ptx_line(p, "%sld.global.u8 %s, [%s]", guard, seen, at);
                dync__ptx_line(p, "setp.ne.s32 %s, %s, 0", is, seen);
                dync__ptx_line(p, "selp.f32 %s, %s, 0fff800000, %s", reg, reg, is);
            } else {
                const char *add = dync__ptx_temp(p, "f32");
                dync__ptx_line(p, "mov.f32 %s, 0f00000000", add);
                if (dync__ptx_is_plain(m->dtype)) {
                    dync__cuda_tile_load(&c->t, m->dtype, add, at, guard);
                } else {
                    const char *half = dync__ptx_temp(p, dync__ptx_raw_type(m->dtype));
                    dync__ptx_line(p, "mov.b16 %s, 0", half);
                    dync__ptx_line(p, "%sld.global.b16 %s, [%s]", guard, half, at);
                    dync__ptx_widen(p, m->dtype, add, half);
                }
                dync__ptx_line(p, "mul.rn.f32 %s, %s, %s", add, add,
                               dync__fa_number(number, DYNC__FA_LOG2E));
                dync__ptx_line(p, "fma.rn.f32 %s, %s, %s, %s", reg, reg,
                               dync__fa_number(factor, c->scale * DYNC__FA_LOG2E), add);
            }
        }
}

/* All that hides scores of the tile at %i0, %j: the mask, keys past the last one (as columns), the
 * diagonal. Sets %col. */
DYNC__FN void dync__fa_mask(dync__fa *c, const dync__fa_frag *s, bool keys, const char *skip)
{
    dync__ptx *p = &c->t.p;
    char reg[24], number[24];
    bool tail = !keys && c->S % c->cols != 0;
    dync__ptx_line(p, "add.s32 %%col, %%j, %%cb");
    if (!dync__fa_raw(c) && !(c->mask && c->mask->dtype != DYNC_BOOL))
        for (int i = 0; i < s->rows * s->cols; i++)
            dync__ptx_line(p, "mul.rn.f32 %s%d, %s%d, %s", s->name, i, s->name, i,
                           dync__fa_number(number, c->scale * DYNC__FA_LOG2E));
    if (c->mask) dync__fa_mask_operand(c, s, keys);
    if (!tail && !c->causal) return;
    dync__ptx_line(p, "sub.s32 %%edge, %%%s, %%%s", keys ? "i0" : "j", keys ? "j" : "i0");
    dync__ptx_line(p, "setp.gt.s32 %%inside, %%edge, %d",
                   c->causal ? -(keys ? c->rows : c->cols) + 1 : 1 << 30);
    if (tail)
        dync__ptx_line(p, "setp.gt.or.s32 %%inside, %%j, %lld, %%inside",
                       (long long)(c->S - c->cols));
    dync__ptx_line(p, "not.pred %%inside, %%inside");
    dync__ptx_line(p, "@%%inside bra %s", skip);
    dync__ptx_line(p, "sub.s32 %%edge, %%%s, %%%s", keys ? "row" : "col", keys ? "col" : "row");
    for (int i = 0; i < s->rows; i++)
        for (int j = 0; j < s->cols; j++) {
            int row = dync__fa_row(c, i), column = dync__fa_col(c, s, j);
            const char *hidden = dync__ptx_temp(p, "pred");
            dync__fa_reg(c, s, i, j, reg);
            if (c->causal)
                dync__ptx_line(p, "setp.gt.s32 %s, %%edge, %d", hidden,
                               keys ? column - row : row - column);
            if (tail)
                dync__ptx_line(p, "setp.ge.%ss32 %s, %%col, %lld%s%s", c->causal ? "or." : "",
                               hidden, (long long)(c->S - column), c->causal ? ", " : "",
                               c->causal ? hidden : "");
            dync__ptx_line(p, "selp.f32 %s, 0fff800000, %s, %s", reg, reg, hidden);
        }
    dync__cuda_tile_label(&c->t, "%s", skip);
}

DYNC__FN void dync__fa_mask_regs(dync__fa *c)
{
    static const char *const names[][2] = {
        {"s32", "%j"},    {"s32", "%jn"},      {"s32", "%jend"},  {"s32", "%col"},
        {"s32", "%edge"}, {"pred", "%inside"}, {"pred", "%more"}, {"s64", "%wide"},
        {"s64", "%here"}, {"pred", "%moved"},  {"pred", "%none"}};
    for (int i = 0; i < DYNC__COUNT_OF(names); i++)
        dync__ptx_reg(&c->t.p, names[i][0], names[i][1]);
}

/* ---- forward --------------------------------------------------------------------------------- */

/* New maxima and exponentials of a tile of scores; %scale<i> is what sums and values so far have to
 * be multiplied by, %moved whether any has to be. */
DYNC__FN void dync__fa_exponentials(dync__fa *c, const dync__fa_frag *s)
{
    dync__ptx *p = &c->t.p;
    char reg[24], factor[24];
    dync__fa_number(factor, dync__fa_raw(c) ? c->scale * DYNC__FA_LOG2E : 1.0);
    for (int i = 0; i < s->rows; i++) {
        dync__ptx_line(p, "mov.f32 %%top%d, %s", i, dync__fa_reg(c, s, i, 0, reg));
        for (int j = 1; j < s->cols; j++)
            dync__ptx_line(p, "max.f32 %%top%d, %%top%d, %s", i, i, dync__fa_reg(c, s, i, j, reg));
    }
    dync__fa_across(c, "max", "%top", s->rows);
    for (int i = 0; i < s->rows; i++) {
        dync__ptx_line(p, "max.f32 %%top%d, %%top%d, %%m%d", i, i, i);
        dync__ptx_line(p, "setp.gt.%sf32 %%moved, %%top%d, %%m%d%s", i ? "or." : "", i, i,
                       i ? ", %moved" : "");
        dync__ptx_line(p, "mul.rn.f32 %%from%d, %%top%d, %s", i, i, factor);
        /* a row that has seen nothing yet */
        dync__ptx_line(p, "setp.eq.f32 %%none, %%top%d, 0fff800000", i);
        dync__ptx_line(p, "selp.f32 %%from%d, 0f00000000, %%from%d, %%none", i, i);
        dync__ptx_line(p, "mul.rn.f32 %%scale%d, %%m%d, %s", i, i, factor);
        dync__ptx_line(p, "sub.rn.f32 %%scale%d, %%scale%d, %%from%d", i, i, i);
        dync__ptx_line(p, "ex2.approx.ftz.f32 %%scale%d, %%scale%d", i, i);
        dync__ptx_line(p, "mul.rn.f32 %%sum%d, %%sum%d, %%scale%d", i, i, i);
        dync__ptx_line(p, "mov.f32 %%m%d, %%top%d", i, i);
        dync__ptx_line(p, "neg.f32 %%from%d, %%from%d", i, i);
        for (int j = 0; j < s->cols; j++) {
            dync__fa_reg(c, s, i, j, reg);
            dync__ptx_line(p, "fma.rn.f32 %s, %s, %s, %%from%d", reg, reg, factor, i);
            dync__ptx_line(p, "ex2.approx.ftz.f32 %s, %s", reg, reg);
            dync__ptx_line(p, "add.rn.f32 %%sum%d, %%sum%d, %s", i, i, reg);
        }
    }
}

/* Values so far, where a maximum of the warp moved. */
DYNC__FN void dync__fa_rescale(dync__fa *c, const dync__fa_frag *o)
{
    dync__ptx *p = &c->t.p;
    char reg[24];
    dync__ptx_line(p, "vote.sync.any.pred %%moved, %%moved, 0xffffffff");
    dync__ptx_line(p, "@!%%moved bra STILL");
    for (int i = 0; i < o->rows; i++)
        for (int j = 0; j < o->cols; j++) {
            dync__fa_reg(c, o, i, j, reg);
            dync__ptx_line(p, "mul.rn.f32 %s, %s, %%scale%d", reg, reg, i);
        }
    dync__cuda_tile_label(&c->t, "STILL");
}

/* Logarithms of the sums, outputs. */
DYNC__FN void dync__fa_outputs(dync__fa *c, const dync__fa_frag *o)
{
    dync__ptx *p = &c->t.p;
    const dync__operand *lse = &c->op[4];
    char factor[24], ln2[24];
    int64_t step = lse->lay.stride[c->n_batch] * 4;
    dync__fa_number(factor, dync__fa_raw(c) ? c->scale * DYNC__FA_LOG2E : 1.0);
    dync__fa_number(ln2, 1 / DYNC__FA_LOG2E);
    dync__fa_across(c, "add.rn", "%sum", o->rows);
    dync__fa_base(c, "%log", lse, 4);
    dync__ptx_line(p, "cvt.s64.s32 %%wide, %%row");
    dync__ptx_line(p, "mad.lo.s64 %%log, %%wide, %lld, %%log", (long long)step);
    for (int i = 0; i < o->rows; i++) {
        const char *is = dync__ptx_temp(p, "pred"), *at = dync__ptx_temp(p, "s64"),
                   *x = dync__ptx_temp(p, "f32");
        dync__ptx_line(p, "lg2.approx.f32 %s, %%sum%d", x, i);
        dync__ptx_line(p, "fma.rn.f32 %%m%d, %%m%d, %s, %s", i, i, factor, x);
        dync__ptx_line(p, "mul.rn.f32 %%m%d, %%m%d, %s", i, i, ln2);
        dync__ptx_line(p, "setp.lt.s32 %s, %%row, %lld", is,
                       (long long)(c->L - dync__fa_row(c, i)));
        dync__ptx_line(p, "setp.eq.and.s32 %s, %%cb, 0, %s", is, is);
        dync__ptx_line(p, "add.s64 %s, %%log, %lld", at, (long long)(dync__fa_row(c, i) * step));
        dync__ptx_line(p, "@%s st.global.f32 [%s], %%m%d", is, at, i);
        dync__ptx_line(p, "setp.eq.f32 %%none, %%sum%d, 0f00000000", i);
        dync__ptx_line(p, "div.rn.f32 %%sum%d, 0f3f800000, %%sum%d", i, i);
        dync__ptx_line(p, "selp.f32 %%sum%d, 0f00000000, %%sum%d, %%none", i, i);
    }
    dync__fa_write(c, o, &c->op[3], 3, "%sum", true, c->L);
}

/* Nothing seen so far. */
DYNC__FN void dync__fa_begin_rows(dync__fa *c, const dync__fa_frag *s, const dync__fa_frag *o)
{
    static const char *const stats[] = {"%m", "%sum", "%top", "%from", "%scale"};
    for (int i = 0; i < 5; i++) dync__cuda_tile_regs(&c->t, "f32", stats[i], s->rows);
    dync__fa_zero(c, o);
    for (int i = 0; i < s->rows; i++) {
        dync__ptx_line(&c->t.p, "mov.f32 %%m%d, 0fff800000", i);
        dync__ptx_line(&c->t.p, "mov.b32 %%sum%d, 0", i);
    }
}

/* %jend: keys from there on are hidden from all of the tile's queries, or not there. */
DYNC__FN void dync__fa_last_key(dync__fa *c)
{
    dync__ptx_line(&c->t.p, "mov.b32 %%jend, %lld", (long long)c->S);
    if (c->splits > 1) {
        dync__ptx_line(&c->t.p, "add.s32 %%jn, %%j, %lld", (long long)c->chunk);
        dync__ptx_line(&c->t.p, "min.s32 %%jend, %%jend, %%jn");
    }
    if (!c->causal) return;
    dync__ptx_line(&c->t.p, "add.s32 %%jn, %%i0, %d", c->rows);
    dync__ptx_line(&c->t.p, "min.s32 %%jend, %%jend, %%jn");
}
