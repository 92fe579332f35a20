/* cuda/attention_tile.c: tiles in shared memory, accumulators and products of the attention
 * kernels, by mma.sync or by fma (attention.h). After tile.c, before attention.c.
 *
 * Fragments of mma.sync: the scores' accumulators have the layout of operand a with twice the
 * columns, so weights only change their format (FlashAttention-2: Dao 2023, arXiv:2307.08691). The
 * fma form keeps rows x cols of both operands of 4 steps in registers. */
#include "../dync.in.h"
#include "attention.h"
DYNC__COLD

/* A register's name: prefix, tile, suffix. */
DYNC__FN const char *dync__fa_name(char *to, const dync__fa_tile *x, const char *suffix)
{
    dync__format(to, 24, "%%%s_%s", x->name, suffix);
    return to;
}
DYNC__FN int64_t dync__fa_stride(const dync__fa *c, int width)
{
    return (int64_t)width * c->bytes + 16;
}
DYNC__FN int64_t dync__fa_row_bytes(const dync__fa *c, const dync__operand *o)
{
    return o->lay.stride[c->n_batch] * dync__dtype_info(o->dtype)->bytes;
}

/* Neighbouring columns that a thread of the fma form takes of a tile of that width. */
DYNC__FN int dync__fa_vec(int width)
{
    return width / DYNC__FA_SIDE % 4 == 0 ? 4 : width / DYNC__FA_SIDE % 2 == 0 ? 2 : 1;
}

/* ---- addresses ------------------------------------------------------------------------------- */

DYNC__FN void dync__fa_units(dync__fa *c)
{
    dync__ptx *p = &c->t.p;
    char name[24];
    dync__ptx_reg(p, "b32", "%rest");
    dync__ptx_line(p, "mov.b32 %%rest, %%unit");
    for (int d = c->n_batch - 1; d >= 0; d--) {
        dync__format(name, sizeof name, "%%u%d", d);
        dync__cuda_tile_set(&c->t, "u32", name, "rem", "%%rest, %lld",
                            (long long)c->q->lay.shape[d]);
        if (d) dync__ptx_line(p, "div.u32 %%rest, %%rest, %lld", (long long)c->q->lay.shape[d]);
    }
}

DYNC__FN void dync__fa_base(dync__fa *c, const char *name, const dync__operand *o, int buf)
{
    dync__ptx *p = &c->t.p;
    int64_t bytes = dync__dtype_info(o->dtype)->bytes;
    dync__cuda_tile_set(&c->t, "s64", name, "add", "%%b%d, %lld", buf,
                        (long long)(o->lay.offset * bytes));
    for (int d = 0; d < c->n_batch; d++) {
        if (o->lay.stride[d] == 0 || c->q->lay.shape[d] == 1) continue;
        const char *wide = dync__ptx_temp(p, "s64");
        dync__ptx_line(p, "cvt.s64.s32 %s, %%u%d", wide, d);
        dync__ptx_line(p, "mad.lo.s64 %s, %s, %lld, %s", name, wide,
                       (long long)(o->lay.stride[d] * bytes), name);
    }
}

/* How threads take a tile: each `unit` elements of a row at a time, `side` threads a row, `rows`
 * rows a pass. */
typedef struct dync__fa_walk {
    int unit, side, rows, across;
} dync__fa_walk;
static dync__fa_walk dync__fa_walk_of(const dync__fa *c, const dync__fa_tile *x)
{
    dync__fa_walk w = {.unit = c->vec ? 16 / c->bytes : 1};
    int per_row = x->width / w.unit;
    w.side = DYNC__MIN(per_row, c->threads);
    w.rows = c->threads / w.side;
    w.across = (per_row + w.side - 1) / w.side;
    return w;
}

DYNC__FN void dync__fa_tile_begin(dync__fa *c, dync__fa_tile *x, const char *row0)
{
    dync__ptx *p = &c->t.p;
    dync__fa_walk w = dync__fa_walk_of(c, x);
    char g[24], s[24], r[24], y[24], e[24];
    int64_t stride = dync__fa_stride(c, x->width), size = stride * x->rows,
            column = x->o->lay.stride[c->n_batch + 1] * c->bytes * w.unit;
    x->at = dync__cuda_tile_shared(&c->t, (int)(x->stage ? 2 * size : size), 128);
    if (x->stage) x->stage = (int)size;
    dync__cuda_tile_note(&c->t, "%s: tiles of %d rows of %lld", x->name, x->rows,
                         (long long)x->columns);
    dync__fa_base(c, dync__fa_name(g, x, "g"), x->o, x->buf);
    /* row of the pass */
    dync__cuda_tile_set(&c->t, "u32", dync__fa_name(y, x, "y"), "div", "%%thr, %d", w.side);
    /* unit of the row */
    dync__cuda_tile_set(&c->t, "u32", dync__fa_name(e, x, "e"), "rem", "%%thr, %d", w.side);
    dync__cuda_tile_set(&c->t, "s32", dync__fa_name(r, x, "r"), "add", "%s, %s", row0, y);
    const char *wide = dync__ptx_temp(p, "s64");
    dync__ptx_line(p, "cvt.s64.s32 %s, %s", wide, r);
    dync__ptx_line(p, "mad.lo.s64 %s, %s, %lld, %s", g, wide,
                   (long long)dync__fa_row_bytes(c, x->o), g);
    dync__ptx_line(p, "cvt.s64.s32 %s, %s", wide, e);
    dync__ptx_line(p, "mad.lo.s64 %s, %s, %lld, %s", g, wide, (long long)column, g);
    dync__cuda_tile_set(&c->t, "b32", dync__fa_name(s, x, "s"), "mov", "%%smem");
    dync__ptx_line(p, "add.s32 %s, %s, %d", s, s, x->at);
    dync__ptx_line(p, "mad.lo.s32 %s, %s, %lld, %s", s, y, (long long)stride, s);
    dync__ptx_line(p, "mad.lo.s32 %s, %s, %d, %s", s, e, w.unit * c->bytes, s);
    if (x->stage)
        dync__cuda_tile_set(&c->t, "b32", dync__fa_name(y, x, "f"), "mov", "%d", x->stage);
}

DYNC__FN void dync__fa_issue(dync__fa *c, const dync__fa_tile *x)
{
    dync__ptx *p = &c->t.p;
    dync__fa_walk w = dync__fa_walk_of(c, x);
    char g[24], s[24], r[24], y[24], e[24], guard[32];
    int64_t stride = dync__fa_stride(c, x->width), row_bytes = dync__fa_row_bytes(c, x->o),
            column = x->o->lay.stride[c->n_batch + 1] * c->bytes * w.unit;
    dync__fa_name(g, x, "g");
    dync__fa_name(s, x, "s");
    dync__fa_name(r, x, "r");
    dync__fa_name(y, x, "y");
    dync__fa_name(e, x, "e");
    bool idle = c->threads % w.side != 0;
    for (int row = 0; row < x->rows; row += w.rows)
        for (int n = 0; n < w.across; n++) {
            const char *is = dync__ptx_temp(p, "pred"),
                       *raw = dync__ptx_temp(p, c->vec || c->bytes == 4 ? "b32" : "b16");
            int there = DYNC__MIN(w.rows, x->rows - row),
                at = (int)(row * stride) + n * w.side * w.unit * c->bytes;
            int64_t from = row * row_bytes + n * w.side * column;
            dync__ptx_line(p, "setp.lt.s32 %s, %s, %lld", is, r, (long long)(x->limit - row));
            if (x->width != x->columns || w.across > 1)
                dync__ptx_line(
                    p, "setp.lt.and.s32 %s, %s, %lld, %s", is, e,
                    (long long)((x->columns - n * w.side * w.unit + w.unit - 1) / w.unit), is);
            guard[0] = 0;
            bool narrow = n == w.across - 1 && (x->width / w.unit) % w.side != 0;
            if (idle || there < w.rows || narrow) {
                const char *mine = dync__ptx_temp(p, "pred");
                dync__ptx_line(p, "setp.lt.s32 %s, %s, %d", mine, y, there);
                if (narrow)
                    dync__ptx_line(p, "setp.lt.and.s32 %s, %s, %d, %s", mine, e,
                                   x->width / w.unit - n * w.side, mine);
                dync__format(guard, sizeof guard, "@%s ", mine);
            }
            if (c->vec) {
                dync__ptx_line(p, "selp.b32 %s, 16, 0, %s", raw, is);
                dync__ptx_line(p, "%scp.async.cg.shared.global [%s+%d], [%s+%lld], 16, %s", guard,
                               s, at, g, (long long)from, raw);
            } else {
                const char *type = c->bytes == 4 ? "b32" : "b16";
                dync__ptx_line(p, "mov.%s %s, 0", type, raw);
                dync__ptx_line(p, "@%s ld.global.%s %s, [%s+%lld]", is, type, raw, g,
                               (long long)from);
                dync__ptx_line(p, "%sst.shared.%s [%s+%d], %s", guard, type, s, at, raw);
            }
        }
    dync__ptx_line(p, "add.s64 %s, %s, %lld", g, g, (long long)(x->rows * row_bytes));
    dync__ptx_line(p, "add.s32 %s, %s, %d", r, r, x->rows);
    if (!x->stage) return;
    dync__fa_name(y, x, "f");
    dync__ptx_line(p, "add.s32 %s, %s, %s", s, s, y);
    dync__ptx_line(p, "neg.s32 %s, %s", y, y);
}

DYNC__FN void dync__fa_reader(dync__fa *c, const dync__fa_tile *x, char how)
{
    dync__ptx *p = &c->t.p;
    char name[24], suffix[2] = {how, 0}, row[24], column[24];
    long long stride = (long long)dync__fa_stride(c, x->width);
    dync__cuda_tile_set(&c->t, "s32", dync__fa_name(name, x, suffix), "add", "%%smem, %d", x->at);
    dync__format(row, sizeof row, "%s", dync__ptx_temp(p, "b32"));
    dync__format(column, sizeof column, "%s", dync__ptx_temp(p, "b32"));
    if (!c->mma) {
        if (how == 'n')
            dync__ptx_line(p, "mad.lo.s32 %s, %%cn%d, %d, %s", name, dync__fa_vec(x->width),
                           c->bytes, name);
        else
            dync__ptx_line(p, "mad.lo.s32 %s, %s, %lld, %s", name, how == 'a' ? "%rb" : "%cb",
                           stride, name);
        return;
    }
    /* tf32: ldmatrix does not transpose words of 4 bytes; see dync__fa_weights */
    if (how == 'n' && c->bytes == 4) {
        dync__ptx_line(p, "and.b32 %s, %%lane, 3", row);
        dync__ptx_line(p, "shr.u32 %s, %%lane, 2", column);
        dync__ptx_line(p, "mad.lo.s32 %s, %s, %lld, %s", name, row, 2 * stride, name);
        dync__ptx_line(p, "mad.lo.s32 %s, %s, 4, %s", name, column, name);
        return;
    }
    /* two n8 tiles: rows 0-7 and 8-15, each with both halves of k */
    if (how == 'b') {
        dync__ptx_line(p, "and.b32 %s, %%lane, 7", row);
        dync__ptx_line(p, "shr.u32 %s, %%lane, 4", column);
        dync__ptx_line(p, "mad.lo.s32 %s, %s, 8, %s", row, column, row);
        dync__ptx_line(p, "bfe.u32 %s, %%lane, 3, 1", column);
    } else {
        dync__ptx_line(p, "and.b32 %s, %%lane, 15", row);
        if (how == 'a') dync__ptx_line(p, "mad.lo.s32 %s, %%warp, %d, %s", row, 16 * c->mt, row);
        dync__ptx_line(p, "shr.u32 %s, %%lane, 4", column);
    }
    dync__ptx_line(p, "mad.lo.s32 %s, %s, %lld, %s", name, row, stride, name);
    dync__ptx_line(p, "mad.lo.s32 %s, %s, 16, %s", name, column, name);
}

DYNC__FN void dync__fa_flip(dync__fa *c, const dync__fa_tile *x, const char *how)
{
    dync__ptx *p = &c->t.p;
    char name[24], by[24], suffix[2] = {0};
    if (!x->stage) return;
    /* the writer has just transposed, and transposes back as they go on */
    dync__fa_name(by, x, "f");
    for (; *how; how++) {
        suffix[0] = *how;
        dync__fa_name(name, x, suffix);
        dync__ptx_line(p, "add.s32 %s, %s, %s", name, name, by);
    }
}
