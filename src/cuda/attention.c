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

static const double dync__fa_log2e = 1.4426950408889634074;
enum {
    DYNC__FA_GQ = 1,
    DYNC__FA_GK = 2,
    DYNC__FA_GV = 4,
    DYNC__FA_SHARED = 99 * 1024,
    DYNC__FA_WIDEST = 256
};

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

/* first: place of q; grad: the gradient's operands. */
static void dync__fa_open(dync__fa *c, const dync__kcall *call, bool grad, bool vec)
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

/* Is it for these kernels? Rows of a tile must be reached by 32-bit offsets. */
static bool dync__fa_can(const dync__fa *c, int n)
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

/* Can rows of these operands be moved 16 bytes at a time, on the right boundary? Fills in what is
 * to be checked at the launch. */
static bool dync__fa_rows_fit(dync__fa *c, const dync__operand *const *o, int n)
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

static int dync__fa_padded(int64_t width) { return (int)(width + 15) / 16 * 16; }

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

/* form: DYNC__CUDA_ANY begins a part, others are of the same. */
static bool dync__fa_finish(dync__fa *c, dync__cuda_code *code, int form, const int32_t *buf)
{
    if (form == DYNC__CUDA_ANY) return dync__cuda_tile_end(&c->t, code, buf);
    dync__str_free(&c->t.p.regs);
    dync__str_free(&c->t.p.body);
    if (!c->t.p.failed) return dync__cuda_add_form(code, form, &c->t.out);
    dync__str_free(&c->t.out.text);
    return dync__fail_memory(0), false;
}

static const char *dync__fa_number(char *to, double x)
{
    float f = (float)x;
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    dync__format(to, 24, "0f%08x", (unsigned)u);
    return to;
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* Are scores kept as products, to be scaled on the way into the exponential? Else dync__fa_mask
 * scales them. */
static bool dync__fa_raw(const dync__fa *c)
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
                               dync__fa_number(number, dync__fa_log2e));
                dync__ptx_line(p, "fma.rn.f32 %s, %s, %s, %s", reg, reg,
                               dync__fa_number(factor, c->scale * dync__fa_log2e), add);
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
                           dync__fa_number(number, c->scale * dync__fa_log2e));
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
    dync__fa_number(factor, dync__fa_raw(c) ? c->scale * dync__fa_log2e : 1.0);
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
    dync__fa_number(factor, dync__fa_raw(c) ? c->scale * dync__fa_log2e : 1.0);
    dync__fa_number(ln2, 1 / dync__fa_log2e);
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

/* ---- keys cut over blocks
 * In the temporary: {greatest score times log2 e, sum of exponentials below it} of every split and
 * query, then the values weighted by these. */

static int64_t dync__fa_pairs_bytes(const dync__fa *c)
{
    return (c->splits * c->units * c->L * 8 + 15) / 16 * 16;
}
static int dync__fa_partial_buf(const dync__fa *c) { return c->t.n_buffers - 1; }

static void dync__fa_partials(dync__fa *c, const dync__fa_frag *o)
{
    dync__ptx *p = &c->t.p;
    char factor[24], temp[16];
    dync__operand part = {.dtype = DYNC_F32, .lay.ndim = c->n_batch + 2};
    int64_t next = 1;
    for (int d = c->n_batch + 1; d >= 0; d--) {
        part.lay.shape[d] = c->op[3].lay.shape[d];
        part.lay.stride[d] = next;
        next *= part.lay.shape[d];
    }
    dync__fa_number(factor, dync__fa_raw(c) ? c->scale * dync__fa_log2e : 1.0);
    dync__format(temp, sizeof temp, "%%b%d", dync__fa_partial_buf(c));
    dync__fa_across(c, "add.rn", "%sum", o->rows);
    dync__cuda_tile_set(&c->t, "u32", "%pair_at", "mad.lo", "%%split, %lld, %%unit",
                        (long long)c->units);
    dync__ptx_line(p, "mad.lo.u32 %%pair_at, %%pair_at, %lld, %%row", (long long)c->L);
    dync__ptx_line(p, "mad.wide.u32 %%here, %%pair_at, 8, %s", temp);
    for (int i = 0; i < o->rows; i++) {
        const char *is = dync__ptx_temp(p, "pred");
        dync__ptx_line(p, "mul.rn.f32 %%m%d, %%m%d, %s", i, i, factor);
        dync__ptx_line(p, "setp.lt.s32 %s, %%row, %lld", is,
                       (long long)(c->L - dync__fa_row(c, i)));
        dync__ptx_line(p, "setp.eq.and.s32 %s, %%cb, 0, %s", is, is);
        dync__ptx_line(p, "@%s st.global.v2.f32 [%%here+%d], {%%m%d, %%sum%d}", is,
                       dync__fa_row(c, i) * 8, i, i);
    }
    dync__ptx_line(p, "cvt.u64.u32 %%wide, %%split");
    dync__ptx_line(p, "mad.lo.s64 %s, %%wide, %lld, %s", temp,
                   (long long)(c->units * c->L * c->V * 4), temp);
    dync__ptx_line(p, "add.s64 %s, %s, %lld", temp, temp, (long long)dync__fa_pairs_bytes(c));
    dync__fa_write(c, o, &part, dync__fa_partial_buf(c), NULL, false, c->L);
}

/* The second launch: a block a query, a thread a column or two; splits in their order. */
static void dync__fa_join(dync__fa *c)
{
    enum { THREADS = 128 };
    dync__cuda_tile *t = &c->t;
    dync__ptx *p = &t->p;
    const dync__operand *y = &c->op[3], *lse = &c->op[4];
    int columns = (int)((c->V + THREADS - 1) / THREADS);
    int64_t all = c->units * c->L;
    char ln2[24], temp[16];
    dync__fa_number(ln2, 1 / dync__fa_log2e);
    dync__format(temp, sizeof temp, "%%b%d", dync__fa_partial_buf(c));
    dync__cuda_tile_next(t);
    dync__cuda_tile_set(t, "u32", "%unit", "div", "%%cta, %lld", (long long)c->L);
    dync__cuda_tile_set(t, "u32", "%row", "rem", "%%cta, %lld", (long long)c->L);
    dync__fa_units(c);
    static const char *const floats[] = {"%most", "%base", "%m", "%n", "%sum", "%x"};
    for (int i = 0; i < 6; i++) dync__ptx_reg(p, "f32", floats[i]);
    dync__cuda_tile_regs(t, "f32", "%o", 2);
    dync__cuda_tile_regs(t, "pred", "%is", 2);
    dync__cuda_tile_wide(t, "%pair", temp);
    dync__ptx_line(p, "mad.wide.u32 %%pair, %%cta, 8, %%pair");
    dync__cuda_tile_wide(t, "%pair0", "%pair");
    dync__cuda_tile_set(t, "u32", "%left", "mov", "%lld", (long long)c->splits);
    dync__ptx_reg(p, "pred", "%more");
    dync__ptx_line(p, "mov.f32 %%most, 0fff800000");
    dync__cuda_tile_label(t, "MOST");
    dync__ptx_line(p, "ld.global.f32 %%m, [%%pair]");
    dync__ptx_line(p, "max.f32 %%most, %%most, %%m");
    dync__ptx_line(p, "add.s64 %%pair, %%pair, %lld", (long long)(all * 8));
    dync__ptx_line(p, "sub.u32 %%left, %%left, 1");
    dync__ptx_line(p, "setp.gt.u32 %%more, %%left, 0");
    dync__ptx_line(p, "@%%more bra MOST");
    dync__ptx_line(p, "setp.eq.f32 %%more, %%most, 0fff800000"); /* nothing is seen */
    dync__ptx_line(p, "selp.f32 %%base, 0f00000000, %%most, %%more");
    dync__ptx_line(p, "mov.b32 %%sum, 0");
    dync__ptx_line(p, "mov.u32 %%left, %lld", (long long)c->splits);
    dync__cuda_tile_wide(t, "%wide", NULL);
    dync__ptx_line(p, "cvt.u64.u32 %%wide, %%cta");
    dync__cuda_tile_set(t, "s64", "%from", "mad.lo", "%%wide, %lld, %s", (long long)(c->V * 4),
                        temp);
    dync__ptx_line(p, "mad.wide.u32 %%from, %%thr, 4, %%from");
    dync__ptx_line(p, "add.s64 %%from, %%from, %lld", (long long)dync__fa_pairs_bytes(c));
    for (int i = 0; i < columns; i++) {
        dync__ptx_line(p, "mov.b32 %%o%d, 0", i);
        dync__ptx_line(p, "setp.lt.u32 %%is%d, %%thr, %lld", i, (long long)(c->V - i * THREADS));
    }
    dync__cuda_tile_label(t, "SPLIT");
    dync__ptx_line(p, "ld.global.v2.f32 {%%m, %%n}, [%%pair0]");
    dync__ptx_line(p, "sub.rn.f32 %%m, %%m, %%base");
    dync__ptx_line(p, "ex2.approx.ftz.f32 %%m, %%m");
    dync__ptx_line(p, "fma.rn.f32 %%sum, %%m, %%n, %%sum");
    for (int i = 0; i < columns; i++) {
        dync__ptx_line(p, "mov.b32 %%x, 0");
        dync__ptx_line(p, "@%%is%d ld.global.f32 %%x, [%%from+%d]", i, i * THREADS * 4);
        dync__ptx_line(p, "fma.rn.f32 %%o%d, %%m, %%x, %%o%d", i, i);
    }
    dync__ptx_line(p, "add.s64 %%pair0, %%pair0, %lld", (long long)(all * 8));
    dync__ptx_line(p, "add.s64 %%from, %%from, %lld", (long long)(all * c->V * 4));
    dync__ptx_line(p, "sub.u32 %%left, %%left, 1");
    dync__ptx_line(p, "setp.gt.u32 %%more, %%left, 0");
    dync__ptx_line(p, "@%%more bra SPLIT");
    dync__ptx_line(p, "lg2.approx.f32 %%x, %%sum");
    dync__ptx_line(p, "add.rn.f32 %%x, %%x, %%most");
    dync__ptx_line(p, "mul.rn.f32 %%x, %%x, %s", ln2);
    dync__ptx_line(p, "setp.eq.u32 %%more, %%thr, 0");
    dync__ptx_line(p, "cvt.u64.u32 %%wide, %%row");
    dync__fa_base(c, "%log", lse, 4);
    dync__ptx_line(p, "mad.lo.s64 %%log, %%wide, %lld, %%log",
                   (long long)(lse->lay.stride[c->n_batch] * 4));
    dync__ptx_line(p, "@%%more st.global.f32 [%%log], %%x");
    dync__ptx_line(p, "setp.eq.f32 %%more, %%sum, 0f00000000");
    dync__ptx_line(p, "div.rn.f32 %%sum, 0f3f800000, %%sum");
    dync__ptx_line(p, "selp.f32 %%sum, 0f00000000, %%sum, %%more");
    int64_t bytes = dync__dtype_info(y->dtype)->bytes,
            column = y->lay.stride[c->n_batch + 1] * bytes;
    dync__fa_base(c, "%to", y, 3);
    dync__ptx_line(p, "mad.lo.s64 %%to, %%wide, %lld, %%to",
                   (long long)(y->lay.stride[c->n_batch] * bytes));
    dync__ptx_line(p, "cvt.u64.u32 %%wide, %%thr");
    dync__ptx_line(p, "mad.lo.s64 %%to, %%wide, %lld, %%to", (long long)column);
    for (int i = 0; i < columns; i++) {
        char value[8], guard[16];
        dync__format(value, sizeof value, "%%o%d", i);
        dync__format(guard, sizeof guard, "@%%is%d ", i);
        dync__ptx_line(p, "mul.rn.f32 %s, %s, %%sum", value, value);
        if (i) dync__ptx_line(p, "add.s64 %%to, %%to, %lld", (long long)(THREADS * column));
        dync__cuda_tile_store(t, y->dtype, "%to", value, guard);
    }
    dync__cuda_tile_entry(t, "attention_join", all, 1, 1, THREADS);
}

/* Where queries do not fill the device and there are keys for it: two blocks a multiprocessor, four
 * tiles of keys to each. */
static void dync__fa_choose_splits(dync__fa *c, int units)
{
    int64_t blocks = c->units * ((c->L + c->rows - 1) / c->rows),
            splits =
                DYNC__MIN(DYNC__MIN((2 * units + blocks - 1) / blocks, c->S / (4 * c->cols)), 64);
    c->splits = 1;
    if (c->causal || 2 * blocks > units || splits < 2) return;
    c->chunk = ((c->S + splits - 1) / splits + 63) / 64 * 64;
    c->splits = (c->S + c->chunk - 1) / c->chunk;
}

static void dync__fa_forward_text(dync__fa *c)
{
    dync__ptx *p = &c->t.p;
    int wide_e = dync__fa_padded(c->E), wide_v = dync__fa_padded(c->V);
    dync__fa_tile q = {.name = "q",
                       .o = c->q,
                       .buf = 0,
                       .rows = c->rows,
                       .width = wide_e,
                       .limit = c->L,
                       .columns = c->E};
    dync__fa_tile k = {.name = "k",
                       .o = c->k,
                       .buf = 1,
                       .rows = c->cols,
                       .width = wide_e,
                       .limit = c->S,
                       .columns = c->E};
    dync__fa_tile v = {.name = "v",
                       .o = c->v,
                       .buf = 2,
                       .rows = c->cols,
                       .width = wide_v,
                       .limit = c->S,
                       .columns = c->V};
    dync__fa_place(c, c->L, c->causal);
    dync__fa_mask_regs(c);
    dync__fa_frag s = dync__fa_frag_new(c, "%s", c->cols, false),
                  o = dync__fa_frag_new(c, "%o", wide_v, true);
    dync__ptx_line(p, c->splits > 1 ? "mul.lo.s32 %%j, %%split, %lld" : "mov.b32 %%j, 0",
                   (long long)c->chunk);
    dync__fa_tile_begin(c, &q, "%i0");
    dync__fa_tile_begin(c, &k, "%j");
    dync__fa_tile_begin(c, &v, "%j");
    dync__fa_reader(c, &q, 'a');
    dync__fa_reader(c, &k, 'b');
    dync__fa_reader(c, &v, 'n');
    dync__fa_issue(c, &q);
    dync__fa_issue(c, &k);
    dync__cuda_tile_commit(&c->t);
    dync__fa_begin_rows(c, &s, &o);
    dync__fa_last_key(c);
    dync__cuda_tile_label(&c->t, "KEYS");
    dync__cuda_tile_wait(&c->t, 0);
    /* keys are there; all have done with the last values */
    dync__cuda_tile_barrier(&c->t);
    dync__fa_issue(c, &v);
    dync__cuda_tile_commit(&c->t);
    dync__fa_nt(c, &s, &q, &k);
    dync__cuda_tile_wait(&c->t, 0);
    /* values are there; all have done with the keys */
    dync__cuda_tile_barrier(&c->t);
    dync__ptx_line(p, "add.s32 %%jn, %%j, %d", c->cols);
    dync__ptx_line(p, "setp.lt.s32 %%more, %%jn, %%jend");
    dync__ptx_line(p, "not.pred %%none, %%more");
    dync__ptx_line(p, "@%%none bra LAST");
    dync__fa_issue(c, &k);
    dync__cuda_tile_label(&c->t, "LAST");
    dync__cuda_tile_commit(&c->t);
    dync__fa_mask(c, &s, false, "SEEN");
    dync__fa_exponentials(c, &s);
    dync__fa_rescale(c, &o);
    dync__fa_weights(c, &s);
    dync__fa_nn(c, &o, &v);
    dync__ptx_line(p, "mov.b32 %%j, %%jn");
    dync__ptx_line(p, "@%%more bra KEYS");
    if (c->splits > 1)
        dync__fa_partials(c, &o);
    else
        dync__fa_outputs(c, &o);
    dync__cuda_tile_entry(&c->t, c->splits > 1 ? "attention_split" : "attention",
                          c->units * ((c->L + c->rows - 1) / c->rows) * c->splits, 1, 1,
                          c->threads);
    if (c->splits > 1) dync__fa_join(c);
}

/* Tiles by width of the head; two tiles of rows to a warp where there are enough of them for every
 * multiprocessor. */
static void dync__fa_forward_shape(dync__fa *c, int units)
{
    int width = dync__fa_padded(DYNC__MAX(c->E, c->V));
    c->threads = 128;
    c->mt = c->L > 64 && width <= 128 && c->units * ((c->L + 127) / 128) >= units ? 2 : 1;
    c->rows = 64 * c->mt;
    c->cols = width > 128 || (width > 64 && c->mt == 2) ? 32 : 64;
    if (c->mma && c->bytes == 4)
        c->mt = 1, c->rows = 64, c->cols = width > 128 ? 16 : width > 64 ? 32 : 64;
    if (c->mma) return;
    c->rows = c->cols = c->L > 32 && width <= 128 ? 64 : 32;
}

static dync_status dync__fa_forward(dync__cuda_code *code, const dync__kcall *call)
{
    dync__fa c;
    int32_t buf[] = {0, 1, 2, 3, 4, 5, 6};
    int units = dync__cuda_unit_of(code->device >> 8)->units;
    dync__fa_open(&c, call, false, false);
    if (!dync__fa_can(&c, 3)) return dync__fa_plain(code, call);
    dync__fa_forward_shape(&c, units);
    dync__fa_choose_splits(&c, units);
    int64_t splits = c.splits, chunk = c.chunk;
    if (splits > 1 && (buf[call->n] = dync__cuda_add_temp(
                           code, dync__fa_pairs_bytes(&c) + splits * c.units * c.L * c.V * 4)) < 0)
        return dync__fail_memory(0);
    static const int forms[] = {DYNC__CUDA_ANY, DYNC__CUDA_VARIANT, DYNC__CUDA_TF32};
    for (int form = 0; form < (c.dtype == DYNC_F32 ? 3 : 2); form++) {
        bool vec = form > 0, tf32 = form == 2;
        dync__fa_open(&c, call, false, vec);
        if (tf32) c.mma = true, c.kind = DYNC__TILE_TF32;
        dync__cuda_tile_begin(&c.t, call->n + (splits > 1));
        const dync__operand *rows[] = {c.q, c.k, c.v, &c.op[3]};
        if (vec && !dync__fa_rows_fit(&c, rows, 4)) {
            dync__str_free(&c.t.p.regs);
            dync__str_free(&c.t.p.body);
            break;
        }
        c.splits = splits;
        c.chunk = chunk;
        if (!vec || tf32 || splits > 1 || !dync__fa_wgmma(&c, code->device)) {
            dync__fa_forward_shape(&c, units);
            dync__fa_forward_text(&c);
        }
        if (!dync__fa_finish(&c, code, forms[form], buf)) return DYNC_ERR_MEMORY;
    }
    return DYNC_OK;
}

/* ---- backward -------------------------------------------------------------------------------- */

/* Pairs {log of the sum times log2 e, or 0 where nothing was seen; output . gradient} of every
 * query, dense. */
static bool dync__fa_pairs(dync__cuda_code *code, const dync__fa *c, int32_t to)
{
    const dync__operand *gy = c->gy, *y = &c->op[4], *lse = &c->op[5];
    int64_t extent[DYNC__LOOP_MAX_DIMS], dense[DYNC__LOOP_MAX_DIMS] = {0},
                                         log[DYNC__LOOP_MAX_DIMS] = {0}, n = 2;
    int rank = c->n_batch + 2;
    memcpy(extent, gy->lay.shape, (size_t)rank * sizeof *extent);
    for (int d = c->n_batch; d >= 0; n *= extent[d--]) {
        dense[d] = n;
        log[d] = lse->lay.stride[d];
    }
    dync__kernel *k =
        dync__kernel_new(&code->arena, "attention_pairs", c->n_batch + 1, rank, extent);
    if (!k) return false;
    dync__lb b = {.k = k, .section = 1, .origin = "attention"};
    int g =
        dync__lb_cast(&b,
                      dync__lb_load(&b, dync__kernel_buf(k, 0, gy->dtype, DYNC__BUF_IN, -1, NULL),
                                    dync__kernel_access(k, gy->lay.offset, gy->lay.stride)),
                      DYNC_F32);
    int o =
        dync__lb_cast(&b,
                      dync__lb_load(&b, dync__kernel_buf(k, 4, y->dtype, DYNC__BUF_IN, -1, NULL),
                                    dync__kernel_access(k, y->lay.offset, y->lay.stride)),
                      DYNC_F32);
    int sum = dync__lb_reduce(&b, DYNC__R_SUM, dync__lb_op(&b, DYNC__P_mul, g, o, -1));
    b.section = 2;
    int x = dync__lb_load(&b, dync__kernel_buf(k, 5, DYNC_F32, DYNC__BUF_IN, -1, NULL),
                          dync__kernel_access(k, lse->lay.offset, log));
    int none = dync__lb_op(&b, DYNC__P_eq, x, dync__lb_f(&b, DYNC_F32, -HUGE_VAL), -1);
    x = dync__lb_op(&b, DYNC__P_select, none, dync__lb_f(&b, DYNC_F32, 0),
                    dync__lb_op(&b, DYNC__P_mul, x, dync__lb_f(&b, DYNC_F32, dync__fa_log2e), -1));
    int out = dync__kernel_buf(k, to, DYNC_F32, DYNC__BUF_OUT, -1, NULL);
    dync__lb_store(&b, out, dync__kernel_access(k, 0, dense), x);
    dync__lb_store(&b, out, dync__kernel_access(k, 1, dense), sum);
    return dync__cuda_add_loop(code, k);
}

/* The pairs of the tile's queries: registers of the rows, or asked for into shared memory. */
static void dync__fa_pairs_begin(dync__fa *c, bool keys, int buf, int at)
{
    dync__ptx *p = &c->t.p;
    dync__cuda_tile_wide(&c->t, "%pair", NULL);
    dync__ptx_line(p, "cvt.u64.u32 %%pair, %%unit");
    dync__ptx_line(p, "mad.lo.s64 %%pair, %%pair, %lld, %%b%d", (long long)(c->L * 8), buf);
    if (keys) {
        dync__cuda_tile_set(&c->t, "s32", "%pair_r", "add", "%%j, %%thr");
        dync__ptx_line(p, "mad.wide.s32 %%pair, %%pair_r, 8, %%pair");
        dync__cuda_tile_set(&c->t, "s32", "%pair_s", "mad.lo", "%%thr, 8, %%smem");
        dync__ptx_line(p, "add.s32 %%pair_s, %%pair_s, %d", at);
        dync__cuda_tile_set(&c->t, "s32", "%pair_b", "mad.lo", "%%cb, 8, %%smem");
        dync__ptx_line(p, "add.s32 %%pair_b, %%pair_b, %d", at);
        dync__cuda_tile_set(&c->t, "b32", "%pair_f", "mov", "%d", c->cols * 8);
        dync__ptx_reg(p, "pred", "%pair_go");
        dync__ptx_line(p, "setp.lt.s32 %%pair_go, %%thr, %d", c->cols);
        return;
    }
    dync__ptx_line(p, "mad.wide.s32 %%pair, %%row, 8, %%pair");
    for (int i = 0; i < (c->mma ? 2 * c->mt : c->rows * 16 / c->threads); i++) {
        const char *is = dync__ptx_temp(p, "pred");
        dync__ptx_line(p, "mov.b32 %%log%d, 0", i);
        dync__ptx_line(p, "mov.b32 %%dot%d, 0", i);
        dync__ptx_line(p, "setp.lt.s32 %s, %%row, %lld", is,
                       (long long)(c->L - dync__fa_row(c, i)));
        dync__ptx_line(p, "@%s ld.global.v2.f32 {%%log%d, %%dot%d}, [%%pair+%d]", is, i, i,
                       dync__fa_row(c, i) * 8);
    }
}

static void dync__fa_pairs_issue(dync__fa *c, bool twice)
{
    /* zeros for queries past the last one: their weights are 1, and what they weigh is 0 */
    dync__ptx *p = &c->t.p;
    const char *is = dync__ptx_temp(p, "pred"), *n = dync__ptx_temp(p, "b32");
    dync__ptx_line(p, "setp.lt.s32 %s, %%pair_r, %lld", is, (long long)c->L);
    dync__ptx_line(p, "selp.b32 %s, 8, 0, %s", n, is);
    dync__ptx_line(p, "@%%pair_go cp.async.ca.shared.global [%%pair_s], [%%pair], 8, %s", n);
    dync__ptx_line(p, "add.s64 %%pair, %%pair, %d", c->cols * 8);
    dync__ptx_line(p, "add.s32 %%pair_r, %%pair_r, %d", c->cols);
    if (!twice) return;
    dync__ptx_line(p, "add.s32 %%pair_s, %%pair_s, %%pair_f");
    dync__ptx_line(p, "neg.s32 %%pair_f, %%pair_f");
}

/* Asks for the next tiles of columns, if there are more. */
static void dync__fa_next(dync__fa *c, const dync__fa_tile *b1, const dync__fa_tile *b2, bool keys)
{
    dync__ptx *p = &c->t.p;
    dync__ptx_line(p, "not.pred %%none, %%more");
    dync__ptx_line(p, "@%%none bra LAST");
    dync__fa_issue(c, b1);
    dync__fa_issue(c, b2);
    if (keys) dync__fa_pairs_issue(c, b1->stage != 0);
    dync__cuda_tile_label(&c->t, "LAST");
    dync__cuda_tile_commit(&c->t);
}

/* s: scores, weights after. Where g is given: gradient of the weights, after that of the scores
 * over the scale. */
static void dync__fa_score_grad(dync__fa *c, const dync__fa_frag *s, const dync__fa_frag *g,
                                bool keys)
{
    dync__ptx *p = &c->t.p;
    char reg[24], grad[24], factor[24];
    dync__fa_number(factor, dync__fa_raw(c) ? c->scale * dync__fa_log2e : 1.0);
    for (int n = 0; n < s->rows * s->cols; n++) {
        int i = keys ? n % s->rows : n / s->cols, j = keys ? n / s->rows : n % s->cols,
            pair = keys ? 0 : i;
        dync__fa_reg(c, s, i, j, reg);
        if (keys && i == 0)
            dync__ptx_line(p, "ld.shared.v2.f32 {%%log0, %%dot0}, [%%pair_b+%d]",
                           dync__fa_col(c, s, j) * 8);
        const char *x = dync__ptx_temp(p, "f32");
        dync__ptx_line(p, "neg.f32 %s, %%log%d", x, pair);
        dync__ptx_line(p, "fma.rn.f32 %s, %s, %s, %s", reg, reg, factor, x);
        dync__ptx_line(p, "ex2.approx.ftz.f32 %s, %s", reg, reg);
        if (!g) continue;
        dync__fa_reg(c, g, i, j, grad);
        dync__ptx_line(p, "sub.rn.f32 %s, %s, %%dot%d", grad, grad, pair);
        dync__ptx_line(p, "mul.rn.f32 %s, %s, %s", grad, grad, reg);
    }
}

/* One of the kernels: outs says which gradients. Rows are keys but for gq. */
static void dync__fa_backward_text(dync__fa *c, int outs, int pair_buf, bool twice)
{
    dync__ptx *p = &c->t.p;
    bool keys = outs != DYNC__FA_GQ, scores = outs != DYNC__FA_GV;
    char scale[24];
    int wide_e = dync__fa_padded(c->E), wide_v = dync__fa_padded(c->V), stage = twice;
    int64_t n_rows = keys ? c->S : c->L;
    const dync__fa_tile of_q = {
        .name = "q", .o = c->q, .buf = 1, .width = wide_e, .limit = c->L, .columns = c->E};
    const dync__fa_tile of_k = {
        .name = "k", .o = c->k, .buf = 2, .width = wide_e, .limit = c->S, .columns = c->E};
    const dync__fa_tile of_v = {
        .name = "v", .o = c->v, .buf = 3, .width = wide_v, .limit = c->S, .columns = c->V};
    const dync__fa_tile of_g = {
        .name = "g", .o = c->gy, .buf = 0, .width = wide_v, .limit = c->L, .columns = c->V};
    dync__fa_tile a1 = keys ? of_k : of_q, a2 = keys ? of_v : of_g, b1 = keys ? of_q : of_k,
                  b2 = keys ? of_g : of_v;
    dync__fa_place(c, n_rows, c->causal && !keys);
    dync__fa_mask_regs(c);
    dync__fa_frag s = dync__fa_frag_new(c, "%s", c->cols, false), d = {0}, ge = {0}, gv = {0};
    if (scores) d = dync__fa_frag_new(c, "%d", c->cols, false);
    if (outs & (DYNC__FA_GQ | DYNC__FA_GK)) ge = dync__fa_frag_new(c, "%ge", wide_e, true);
    if (outs & DYNC__FA_GV) gv = dync__fa_frag_new(c, "%gv", wide_v, true);
    dync__cuda_tile_regs(&c->t, "f32", "%log", s.rows);
    dync__cuda_tile_regs(&c->t, "f32", "%dot", s.rows);
    a1.rows = a2.rows = c->rows;
    b1.rows = b2.rows = c->cols;
    b1.stage = b2.stage = stage;
    /* queries before the keys see nothing of them */
    if (keys && c->causal) {
        dync__ptx_line(p, "div.s32 %%j, %%i0, %d", c->cols);
        dync__ptx_line(p, "mul.lo.s32 %%j, %%j, %d", c->cols);
    } else {
        dync__ptx_line(p, "mov.b32 %%j, 0");
    }
    if (keys)
        dync__ptx_line(p, "mov.b32 %%jend, %lld", (long long)c->L);
    else
        dync__fa_last_key(c);
    dync__fa_tile_begin(c, &a1, "%i0");
    dync__fa_tile_begin(c, &b1, "%j");
    dync__fa_reader(c, &a1, 'a');
    dync__fa_reader(c, &b1, 'b');
    if (scores) dync__fa_tile_begin(c, &a2, "%i0");
    dync__fa_tile_begin(c, &b2, "%j");
    if (scores) {
        dync__fa_reader(c, &a2, 'a');
        dync__fa_reader(c, &b2, 'b');
        dync__fa_reader(c, &b1, 'n');
    }
    if (gv.cols) dync__fa_reader(c, &b2, 'n');
    dync__fa_pairs_begin(c, keys, pair_buf,
                         dync__cuda_tile_shared(&c->t, keys ? c->cols * 16 : 0, 16));
    dync__fa_issue(c, &a1);
    if (scores) dync__fa_issue(c, &a2);
    dync__fa_issue(c, &b1);
    dync__fa_issue(c, &b2);
    if (keys) dync__fa_pairs_issue(c, twice);
    dync__cuda_tile_commit(&c->t);
    if (ge.cols) dync__fa_zero(c, &ge);
    if (gv.cols) dync__fa_zero(c, &gv);
    dync__ptx_line(p, "setp.ge.s32 %%none, %%j, %%jend");
    dync__ptx_line(p, "@%%none bra DONE");
    dync__cuda_tile_label(&c->t, "STEP");
    dync__cuda_tile_wait(&c->t, 0);
    dync__cuda_tile_barrier(&c->t);
    dync__ptx_line(p, "add.s32 %%jn, %%j, %d", c->cols);
    dync__ptx_line(p, "setp.lt.s32 %%more, %%jn, %%jend");
    /* into the other copies at once, or when all have done with these */
    if (twice) dync__fa_next(c, &b1, &b2, keys);
    dync__fa_nt(c, &s, &a1, &b1);
    dync__fa_mask(c, &s, keys, "SEEN");
    if (scores) dync__fa_nt(c, &d, &a2, &b2);
    dync__fa_score_grad(c, &s, scores ? &d : NULL, keys);
    if (gv.cols) {
        dync__fa_weights(c, &s);
        dync__fa_nn(c, &gv, &b2);
    }
    if (ge.cols) {
        dync__fa_weights(c, &d);
        dync__fa_nn(c, &ge, &b1);
    }
    if (!twice) dync__cuda_tile_barrier(&c->t);
    if (!twice) dync__fa_next(c, &b1, &b2, keys);
    dync__fa_flip(c, &b1, scores ? "bn" : "b");
    dync__fa_flip(c, &b2, !scores ? "n" : gv.cols ? "bn" : "b");
    if (keys && twice) dync__ptx_line(p, "add.s32 %%pair_b, %%pair_b, %%pair_f");
    dync__ptx_line(p, "mov.b32 %%j, %%jn");
    dync__ptx_line(p, "@%%more bra STEP");
    dync__cuda_tile_label(&c->t, "DONE");
    dync__cuda_tile_wait(&c->t, 0);
    if (ge.cols)
        dync__fa_write(c, &ge, &c->op[keys ? 7 : 6], keys ? 7 : 6, dync__fa_number(scale, c->scale),
                       false, n_rows);
    if (gv.cols) dync__fa_write(c, &gv, &c->op[8], 8, NULL, false, n_rows);
    dync__cuda_tile_entry(&c->t,
                          keys ? ge.cols ? gv.cols ? "attention_gkv" : "attention_gk"
                                         : "attention_gv"
                               : "attention_gq",
                          c->units * ((n_rows + c->rows - 1) / c->rows), 1, 1, c->threads);
}

/* Bytes of shared memory of a kernel over such tiles. */
static int dync__fa_backward_bytes(const dync__fa *c, bool twice)
{
    int both = (dync__fa_padded(c->E) + dync__fa_padded(c->V)) * c->bytes + 32;
    return (c->rows + c->cols * (twice ? 2 : 1)) * both +
           (c->mma ? 0 : c->rows * (c->cols * 4 + 16)) + c->cols * 16 + 512;
}

/* The tallest tiles that fit; twice: the columns' tiles too lie there twice, so that the next ones
 * arrive meanwhile. */
static bool dync__fa_backward_shape(dync__fa *c)
{
    int width = dync__fa_padded(DYNC__MAX(c->E, c->V));
    c->mt = 1;
    c->threads = 128;
    if (c->mma) {
        c->rows = 64;
        c->cols = width <= 64 ? 64 : width <= 128 ? 32 : 16;
        return dync__fa_backward_bytes(c, true) <= DYNC__FA_SHARED;
    }
    for (c->rows = c->cols = DYNC__MAX(c->L, c->S) > 32 ? 64 : 32;
         dync__fa_backward_bytes(c, false) > DYNC__FA_SHARED;)
        c->rows = c->cols /= 2;
    if (c->rows == 64) c->threads = 256;
    return false;
}

static dync_status dync__fa_backward(dync__cuda_code *code, const dync__kcall *call)
{
    dync__fa c;
    int32_t buf[DYNC__KCALL_OPERANDS + 1];
    dync__fa_open(&c, call, true, false);
    if (!dync__fa_can(&c, 9)) return dync__fa_plain_grad(code, call);
    int n = call->n, n_kernels = c.mma && DYNC__MAX(c.E, c.V) > 128 ? 3 : 2;
    static const int outs[2][3] = {{DYNC__FA_GQ, DYNC__FA_GK | DYNC__FA_GV},
                                   {DYNC__FA_GQ, DYNC__FA_GK, DYNC__FA_GV}};
    for (int i = 0; i < n; i++) buf[i] = i;
    if ((buf[n] = dync__cuda_add_temp(code, c.units * c.L * 8)) < 0 ||
        !dync__fa_pairs(code, &c, buf[n]))
        return DYNC_ERR_MEMORY;
    for (int kernel = 0; kernel < n_kernels; kernel++)
        for (int vec = 0; vec < 2; vec++) {
            dync__fa_open(&c, call, true, vec);
            dync__cuda_tile_begin(&c.t, n + 1);
            const dync__operand *rows[] = {c.q, c.k, c.v, c.gy, &c.op[6], &c.op[7], &c.op[8]};
            if (vec && !dync__fa_rows_fit(&c, rows, 7)) {
                dync__str_free(&c.t.p.regs);
                dync__str_free(&c.t.p.body);
                break;
            }
            bool twice = dync__fa_backward_shape(&c);
            dync__fa_backward_text(&c, outs[n_kernels - 2][kernel], n, twice);
            if (!dync__fa_finish(&c, code, vec ? DYNC__CUDA_VARIANT : DYNC__CUDA_ANY, buf))
                return DYNC_ERR_MEMORY;
        }
    return DYNC_OK;
}

DYNC__FN dync_status dync__cuda_call_attention(dync__cuda_code *code, const dync__kcall *call,
                                               bool *done)
{
    *done = true;
    if (call->row == dync__kernel_row(DYNC__K_attention)) return dync__fa_forward(code, call);
    if (call->row == dync__kernel_row(DYNC__K_attention_grad)) return dync__fa_backward(code, call);
    *done = false;
    return DYNC_OK;
}
