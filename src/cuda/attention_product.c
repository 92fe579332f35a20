/* cuda/attention_product.c: accumulators, products and results of tiles of attention. Before:
 * attention_tile.c. */
#include "../dync.in.h"
#include "attention.h"
DYNC__COLD

/* ---- accumulators ---------------------------------------------------------------------------- */

DYNC__FN dync__fa_frag dync__fa_frag_new(dync__fa *c, const char *name, int width, bool nn)
{
    dync__fa_frag f = {.name = name, .vec = 1};
    f.rows = c->mma ? 2 * c->mt : c->rows / (c->threads / DYNC__FA_SIDE);
    f.cols = width / (c->mma ? 4 : DYNC__FA_SIDE);
    if (!c->mma && nn) f.vec = dync__fa_vec(width);
    dync__cuda_tile_regs(&c->t, "f32", name, f.rows * f.cols);
    return f;
}

DYNC__FN const char *dync__fa_reg(dync__fa *c, const dync__fa_frag *f, int i, int j, char *name)
{
    dync__format(name, 24, "%s%d", f->name,
                 c->mma ? (i / 2 * (f->cols / 2) + j / 2) * 4 + (i & 1) * 2 + (j & 1)
                        : i * f->cols + j);
    return name;
}
DYNC__FN int dync__fa_row(const dync__fa *c, int i)
{
    return c->mma ? i / 2 * 16 + (i & 1) * 8 : i * (c->threads / DYNC__FA_SIDE);
}
DYNC__FN int dync__fa_col(const dync__fa *c, const dync__fa_frag *f, int j)
{
    return c->mma ? j / 2 * 8 + (j & 1) : j / f->vec * DYNC__FA_SIDE * f->vec + j % f->vec;
}

DYNC__FN void dync__fa_zero(dync__fa *c, const dync__fa_frag *f)
{
    for (int i = 0; i < f->rows * f->cols; i++)
        dync__ptx_line(&c->t.p, "mov.b32 %s%d, 0", f->name, i);
}

DYNC__FN void dync__fa_across(dync__fa *c, const char *op, const char *name, int n)
{
    dync__ptx *p = &c->t.p;
    for (int by = c->mma ? 2 : DYNC__FA_SIDE / 2; by; by /= 2)
        for (int i = 0; i < n; i++) {
            const char *other = dync__ptx_temp(p, "f32");
            dync__ptx_line(p, "shfl.sync.bfly.b32 %s, %s%d, %d, 31, 0xffffffff", other, name, i,
                           by);
            dync__ptx_line(p, "%s.f32 %s%d, %s%d, %s", op, name, i, name, i, other);
        }
}

/* ---- products -------------------------------------------------------------------------------- */

/* fma: acc += a b for `depth` steps in a loop, 4 at a time. a: [a_at + row, 16 bytes of k]; b: the
 * same (nt), or rows of it (nn). */
static void dync__fa_fma(dync__fa *c, const dync__fa_frag *f, const char *a, int64_t a_stride,
                         const char *b, int64_t b_stride, bool nn, int depth)
{
    dync__ptx *p = &c->t.p;
    char acc[24], label[24];
    int each = nn ? f->vec : 1;
    dync__format(label, sizeof label, "PRODUCT%d", p->n_labels++);
    const char *from_a = dync__ptx_temp(p, "b32"), *from_b = dync__ptx_temp(p, "b32"),
               *left = dync__ptx_temp(p, "b32"), *more = dync__ptx_temp(p, "pred");
    dync__ptx_line(p, "mov.b32 %s, %s", from_a, a);
    dync__ptx_line(p, "mov.b32 %s, %s", from_b, b);
    dync__ptx_line(p, "mov.b32 %s, %d", left, depth);
    dync__cuda_tile_label(&c->t, "%s", label);
    for (int i = 0; i < f->rows; i++)
        dync__ptx_line(p, "ld.shared.v4.f32 {%%fa%d, %%fa%d, %%fa%d, %%fa%d}, [%s+%lld]", 4 * i,
                       4 * i + 1, 4 * i + 2, 4 * i + 3, from_a,
                       (long long)(dync__fa_row(c, i) * a_stride));
    for (int j = 0; j < f->cols && !nn; j++)
        dync__ptx_line(p, "ld.shared.v4.f32 {%%fb%d, %%fb%d, %%fb%d, %%fb%d}, [%s+%lld]", 4 * j,
                       4 * j + 1, 4 * j + 2, 4 * j + 3, from_b,
                       (long long)(dync__fa_col(c, f, j) * b_stride));
    for (int k = 0; k < 4 && nn; k++)
        for (int j = 0; j < f->cols; j += each) {
            long long at = (long long)(k * b_stride + dync__fa_col(c, f, j) * c->bytes);
            if (each == 4)
                dync__ptx_line(p, "ld.shared.v4.f32 {%%fb%d, %%fb%d, %%fb%d, %%fb%d}, [%s+%lld]",
                               4 * j + k, 4 * j + 4 + k, 4 * j + 8 + k, 4 * j + 12 + k, from_b, at);
            else if (each == 2)
                dync__ptx_line(p, "ld.shared.v2.f32 {%%fb%d, %%fb%d}, [%s+%lld]", 4 * j + k,
                               4 * j + 4 + k, from_b, at);
            else
                dync__ptx_line(p, "ld.shared.f32 %%fb%d, [%s+%lld]", 4 * j + k, from_b, at);
        }
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < f->rows; i++)
            for (int j = 0; j < f->cols; j++) {
                dync__fa_reg(c, f, i, j, acc);
                dync__ptx_line(p, "fma.rn.f32 %s, %%fa%d, %%fb%d, %s", acc, 4 * i + k, 4 * j + k,
                               acc);
            }
    dync__ptx_line(p, "add.s32 %s, %s, 16", from_a, from_a);
    dync__ptx_line(p, "add.s32 %s, %s, %lld", from_b, from_b, (long long)(nn ? 4 * b_stride : 16));
    dync__ptx_line(p, "sub.s32 %s, %s, 4", left, left);
    dync__ptx_line(p, "setp.gt.s32 %s, %s, 0", more, left);
    dync__ptx_line(p, "@%s bra %s", more, label);
}

/* tf32 rounds what it takes. */
static void dync__fa_tf32(dync__fa *c, const char *reg, int n)
{
    for (int i = 0; i < n && c->bytes == 4; i++)
        dync__ptx_line(&c->t.p, "cvt.rna.tf32.f32 %s%d, %s%d", reg, i, reg, i);
}

DYNC__FN void dync__fa_nt(dync__fa *c, const dync__fa_frag *f, const dync__fa_tile *a,
                          const dync__fa_tile *b)
{
    char from_a[24], from_b[24];
    int64_t stride = dync__fa_stride(c, a->width);
    dync__fa_name(from_a, a, "a");
    dync__fa_name(from_b, b, "b");
    dync__cuda_tile_note(&c->t, "%s x %s", a->name, b->name);
    dync__fa_zero(c, f);
    if (!c->mma) {
        dync__fa_fma(c, f, from_a, stride, from_b, stride, false, a->width);
        return;
    }
    for (int k = 0; k < a->width * c->bytes / 32; k++) {
        for (int m = 0; m < c->mt; m++)
            dync__cuda_tile_ldmatrix(&c->t, false, "%ma", 4 * m, from_a,
                                     (int)(16 * m * stride) + 32 * k);
        dync__fa_tf32(c, "%ma", 4 * c->mt);
        for (int n = 0; n < b->rows / 8; n += 2) {
            dync__cuda_tile_ldmatrix(&c->t, false, "%mb", 0, from_b,
                                     (int)(8 * n * stride) + 32 * k);
            dync__fa_tf32(c, "%mb", 4);
            for (int m = 0; m < c->mt; m++)
                for (int h = 0; h < 2; h++)
                    dync__cuda_tile_mma(&c->t, c->kind, f->name, (m * (f->cols / 2) + n + h) * 4,
                                        "%ma", 4 * m, "%mb", 2 * h);
        }
    }
}

DYNC__FN void dync__fa_weights(dync__fa *c, const dync__fa_frag *f)
{
    dync__ptx *p = &c->t.p;
    char low[24], high[24];
    if (!c->mma) {
        dync__ptx_line(p, "bar.warp.sync 0xffffffff");
        for (int i = 0; i < f->rows; i++)
            for (int j = 0; j < f->cols; j++)
                dync__ptx_line(p, "st.shared.f32 [%%w_s+%lld], %s",
                               (long long)(dync__fa_row(c, i) * dync__fa_stride(c, c->cols) +
                                           dync__fa_col(c, f, j) * c->bytes),
                               dync__fa_reg(c, f, i, j, low));
        dync__ptx_line(p, "bar.warp.sync 0xffffffff");
        return;
    }
    /* tf32: lane % 4 has two neighbouring keys of eight, and wants keys lane % 4 and + 4 as an
     * operand: sums do not care, so that is what these are called, of weights as of values. */
    for (int m = 0; m < c->mt && c->bytes == 4; m++)
        for (int i = 0; i < 2 * f->cols; i++) {
            dync__fa_reg(c, f, 2 * m + (i & 1), i / 4 * 2 + (i >> 1 & 1), low);
            dync__ptx_line(p, "cvt.rna.tf32.f32 %%mw%d, %s", m * 2 * f->cols + i, low);
        }
    for (int m = 0; m < c->mt && c->bytes == 2; m++)
        for (int n = 0; n < f->cols / 2; n++)
            for (int h = 0; h < 2; h++) {
                dync__fa_reg(c, f, 2 * m + h, 2 * n, low);
                dync__fa_reg(c, f, 2 * m + h, 2 * n + 1, high);
                dync__ptx_line(p, "cvt.rn.%sx2.f32 %%mw%d, %s, %s",
                               dync__cuda_tile_kind_of(c->kind)->in,
                               (m * (f->cols / 4) + n / 2) * 4 + n % 2 * 2 + h, high, low);
            }
}

DYNC__FN void dync__fa_nn(dync__fa *c, const dync__fa_frag *f, const dync__fa_tile *b)
{
    char from[24];
    int64_t stride = dync__fa_stride(c, b->width);
    dync__fa_name(from, b, "n");
    dync__cuda_tile_note(&c->t, "weights x %s", b->name);
    if (!c->mma) {
        dync__fa_fma(c, f, "%w_a", dync__fa_stride(c, c->cols), from, stride, true, b->rows);
        return;
    }
    for (int k = 0; k < b->rows / 8 && c->bytes == 4; k++)
        for (int n = 0; n < b->width / 8; n++) {
            for (int h = 0; h < 2; h++)
                dync__ptx_line(&c->t.p, "ld.shared.b32 %%mb%d, [%s+%lld]", h, from,
                               (long long)((8 * k + h) * stride + 32 * n));
            dync__fa_tf32(c, "%mb", 2);
            for (int m = 0; m < c->mt; m++)
                dync__cuda_tile_mma(&c->t, c->kind, f->name, (m * (f->cols / 2) + n) * 4, "%mw",
                                    (m * (b->rows / 8) + k) * 4, "%mb", 0);
        }
    for (int k = 0; k < b->rows / 16 && c->bytes == 2; k++)
        for (int n = 0; n < b->width / 8; n += 2) {
            dync__cuda_tile_ldmatrix(&c->t, true, "%mb", 0, from, (int)(16 * k * stride) + 16 * n);
            for (int m = 0; m < c->mt; m++)
                for (int h = 0; h < 2; h++)
                    dync__cuda_tile_mma(&c->t, c->kind, f->name, (m * (f->cols / 2) + n + h) * 4,
                                        "%mw", (m * (b->rows / 16) + k) * 4, "%mb", 2 * h);
        }
}

/* ---- results --------------------------------------------------------------------------------- */

DYNC__FN void dync__fa_write(dync__fa *c, const dync__fa_frag *f, const dync__operand *o, int buf,
                             const char *times, bool by_row, int64_t limit)
{
    dync__ptx *p = &c->t.p;
    int64_t bytes = dync__dtype_info(o->dtype)->bytes, row = dync__fa_row_bytes(c, o),
            column = o->lay.stride[c->n_batch + 1] * bytes, width = o->lay.shape[c->n_batch + 1];
    int each = c->mma ? 2 : f->vec;
    char base[24], value[24], wide[24];
    bool together = c->vec && each > 1 && column == bytes && width % each == 0;
    dync__format(base, sizeof base, "%s_to", f->name);
    dync__fa_base(c, base, o, buf);
    dync__format(wide, sizeof wide, "%s", dync__ptx_temp(p, "s64"));
    dync__ptx_line(p, "cvt.s64.s32 %s, %%row", wide);
    dync__ptx_line(p, "mad.lo.s64 %s, %s, %lld, %s", base, wide, (long long)row, base);
    dync__ptx_line(p, "cvt.s64.s32 %s, %%cn%d", wide, f->vec);
    dync__ptx_line(p, "mad.lo.s64 %s, %s, %lld, %s", base, wide, (long long)column, base);
    for (int i = 0; i < f->rows; i++)
        for (int j = 0; j < f->cols; j += together ? each : 1) {
            const char *is = dync__ptx_temp(p, "pred"), *at = dync__ptx_temp(p, "s64");
            char list[4][24];
            dync__ptx_line(p, "setp.lt.s32 %s, %%row, %lld", is,
                           (long long)(limit - dync__fa_row(c, i)));
            dync__ptx_line(p, "setp.lt.and.s32 %s, %%cn%d, %lld, %s", is, f->vec,
                           (long long)(width - dync__fa_col(c, f, j)), is);
            dync__ptx_line(p, "add.s64 %s, %s, %lld", at, base,
                           (long long)(dync__fa_row(c, i) * row + dync__fa_col(c, f, j) * column));
            for (int e = 0; e < (together ? each : 1); e++) {
                dync__fa_reg(c, f, i, j + e, list[e]);
                if (by_row)
                    dync__ptx_line(p, "mul.rn.f32 %s, %s, %s%d", list[e], list[e], times, i);
                else if (times)
                    dync__ptx_line(p, "mul.rn.f32 %s, %s, %s", list[e], list[e], times);
            }
            dync__format(value, sizeof value, "@%s ", is);
            if (!together) {
                dync__cuda_tile_store(&c->t, o->dtype, at, list[0], value);
            } else if (c->mma && bytes == 2) {
                const char *pair = dync__ptx_temp(p, "b32");
                dync__ptx_line(p, "cvt.rn.%sx2.f32 %s, %s, %s",
                               dync__cuda_tile_kind_of(c->kind)->in, pair, list[1], list[0]);
                dync__ptx_line(p, "%sst.global.b32 [%s], %s", value, at, pair);
            } else if (each == 4) {
                dync__ptx_line(p, "%sst.global.v4.f32 [%s], {%s, %s, %s, %s}", value, at, list[0],
                               list[1], list[2], list[3]);
            } else {
                dync__ptx_line(p, "%sst.global.v2.f32 [%s], {%s, %s}", value, at, list[0], list[1]);
            }
        }
}
