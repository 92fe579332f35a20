/* cuda/gemm_thin.c: products of few rows (up to 8, or few columns, the sides changed): every
 * element of the long side is read once, 16 bytes at a time, and nothing else matters. After
 * gemm_end.c, before gemm.c.
 *
 *   along    its depth is dense (weights of linear layers): a warp has COLUMNS columns, its lanes
 *            share the depth and add up by shuffles
 *   across   its columns are: a lane has the columns of 16 bytes, the warps of a block share the
 *            depth and add up in shared memory, in order
 * The depth is cut over blocks as well until the device is full. Half floats are widened in
 * registers, sums are f32 (f64). */
#include "../dync.in.h"
#include "gemm.h"
DYNC__COLD

enum { DYNC__GMT_ROWS = 8, DYNC__GMT_COLUMNS = 4, DYNC__GMT_WARPS = 8, DYNC__GMT_UNROLL = 4 };
static int dync__gmt_vec(const dync__gm *g) { return 16 / dync__dtype_info(g->dtype)->bytes; }
static int dync__gmt_columns(const dync__gm *g) { return g->m > 4 ? 2 : DYNC__GMT_COLUMNS; }

/* reg<first> .. = the elements of 16 bytes at [at + by], as values. */
static void dync__gmt_load(dync__gm *g, const char *reg, int first, const char *at, int64_t by,
                           const char *guard)
{
    dync__ptx *p = &g->t.p;
    char word[4][24];
    int n = g->dtype == DYNC_F64 ? 2 : 4;
    for (int w = 0; w < n; w++) {
        if (n * dync__dtype_info(g->dtype)->bytes == 16)
            dync__format(word[w], sizeof word[w], "%s%d", reg, first + w);
        else
            dync__format(word[w], sizeof word[w], "%s%dw%d", reg, first, w);
        dync__ptx_unloaded(p, guard, n == 2 ? "b64" : "b32", word[w]);
    }
    if (n == 2)
        dync__ptx_line(p, "%sld.global.v2.b64 {%s, %s}, [%s+%lld]", guard, word[0], word[1], at,
                       (long long)by);
    else
        dync__ptx_line(p, "%sld.global.v4.b32 {%s, %s, %s, %s}, [%s+%lld]", guard, word[0], word[1],
                       word[2], word[3], at, (long long)by);
}
/* Half floats come as words; they are widened where they are used, behind all loads. */
static void dync__gmt_widen(dync__gm *g, const char *reg, int first)
{
    dync__ptx *p = &g->t.p;
    for (int w = 0; w < 4 && dync__dtype_info(g->dtype)->bytes == 2; w++) {
        char word[24];
        dync__format(word, sizeof word, "%s%dw%d", reg, first, w);
        if (g->dtype == DYNC_BF16) {
            dync__ptx_line(p, "shl.b32 %s%d, %s, 16", reg, first + 2 * w, word);
            dync__ptx_line(p, "and.b32 %s%d, %s, 0xffff0000", reg, first + 2 * w + 1, word);
            continue;
        }
        const char *low = dync__ptx_temp(p, "b16"), *high = dync__ptx_temp(p, "b16");
        dync__ptx_line(p, "mov.b32 {%s, %s}, %s", low, high, word);
        dync__ptx_line(p, "cvt.f32.f16 %s%d, %s", reg, first + 2 * w, low);
        dync__ptx_line(p, "cvt.f32.f16 %s%d, %s", reg, first + 2 * w + 1, high);
    }
}
static void dync__gmt_regs(dync__gm *g, const char *reg, int vectors)
{
    char word[24];
    int vec = dync__gmt_vec(g);
    dync__cuda_tile_regs(&g->t, g->compute == DYNC_F64 ? "b64" : "b32", reg, vectors * vec);
    for (int v = 0; v < vectors && vec == 8; v++) {
        dync__format(word, sizeof word, "%s%dw", reg, v * vec);
        dync__cuda_tile_regs(&g->t, "b32", word, 4);
    }
}

/* The same of a side; by: in what its addresses count. With something to be done to it: elements
 * one by one where n is 1 (all where `is` says so), made values and rounded as memory would have
 * where the others are widened. number: of the load. */
static void dync__gmt_side(dync__gm *g, int s, int number, int n, const char *reg, int first,
                           const char *at, int64_t by, const char *is)
{
    char guard[24] = "", index[40];
    if (is) dync__format(guard, sizeof guard, "@%s ", is);
    if (!g->side[s].pre) {
        dync__gmt_load(g, reg, first, at, by, guard);
        return;
    }
    dync__ptx *p = &g->t.p;
    const dync__ptx *pre = &g->side[s].pre->p;
    int vec = pre->shape.vec;
    dync__format(index, sizeof index, "%s", dync__ptx_temp(p, pre->index));
    dync__ptx_line(p, pre->index[1] == '3' ? "cvt.u32.u64 %s, %s" : "mov.b64 %s, %s", index, at);
    for (int q = 0; q < n; q += vec)
        dync__gm_pre_group(g, s, (number * n + q) / vec, index, by + q, is);
}
static void dync__gmt_made(dync__gm *g, int s, int number, int n, const char *reg, int first)
{
    dync__ptx *p = &g->t.p;
    char value[8][40], word[8][40], name[24];
    if (!g->side[s].pre) {
        dync__gmt_widen(g, reg, first);
        return;
    }
    int vec = g->side[s].pre->p.shape.vec;
    for (int q = 0; q < n; q += vec)
        (void)dync__gm_pre_values(g, s, (number * n + q) / vec, &value[q]);
    if (n == 8) {
        dync__gm_pre_pack(g, g->dtype, n, value, word);
        for (int w = 0; w < 4; w++) {
            dync__format(name, sizeof name, "%s%dw%d", reg, first, w);
            dync__ptx_line(p, "mov.b32 %s, %s", name, word[w]);
        }
        dync__gmt_widen(g, reg, first);
        return;
    }
    for (int i = 0; i < n; i++) {
        if (g->dtype != g->compute) dync__gm_pre_round(g, value[i]);
        dync__ptx_line(p, "mov.%s %s%d, %s", dync__ptx_bits(g->compute), reg, first + i, value[i]);
    }
}

static void dync__gmt_sums(dync__gm *g, int n)
{
    dync__cuda_tile_regs(&g->t, dync__ptx_type(g->compute), "%acc", n);
    for (int i = 0; i < n; i++) dync__ptx_line(&g->t.p, "mov.b%d %%acc%d, 0", g->acc_bytes * 8, i);
}

/* acc += what the lane `distance` away has. */
static void dync__gmt_shuffle(dync__gm *g, int acc, int distance)
{
    dync__ptx *p = &g->t.p;
    const char *type = dync__ptx_type(g->compute), *other = dync__ptx_temp(p, type);
    if (g->acc_bytes == 4) {
        dync__ptx_line(p, "shfl.sync.bfly.b32 %s, %%acc%d, %d, 31, 0xffffffff", other, acc,
                       distance);
    } else {
        const char *low = dync__ptx_temp(p, "b32"), *high = dync__ptx_temp(p, "b32");
        dync__ptx_line(p, "mov.b64 {%s, %s}, %%acc%d", low, high, acc);
        dync__ptx_line(p, "shfl.sync.bfly.b32 %s, %s, %d, 31, 0xffffffff", low, low, distance);
        dync__ptx_line(p, "shfl.sync.bfly.b32 %s, %s, %d, 31, 0xffffffff", high, high, distance);
        dync__ptx_line(p, "mov.b64 %s, {%s, %s}", other, low, high);
    }
    dync__ptx_line(p, "add.rn.%s %%acc%d, %%acc%d, %s", type, acc, acc, other);
}

static void dync__gmt_along(dync__gm *g)
{
    dync__cuda_tile *t = &g->t;
    dync__ptx *p = &t->p;
    int vec = dync__gmt_vec(g), columns = dync__gmt_columns(g), m = (int)g->m,
        unit[2] = {dync__gm_unit(g, 0), dync__gm_unit(g, 1)};
    const char *type = dync__ptx_type(g->compute);
    dync__cuda_tile_note(t, "the warp's columns, the lane's part of the depth");
    dync__cuda_tile_set(t, "u32", "%col0", "mul.lo", "%%warp, %d", columns);
    dync__cuda_tile_set(t, "s32", "%mine", "mul.lo", "%%lane, %d", vec);
    dync__cuda_tile_wide(t, "%pa", NULL);
    dync__ptx_line(p, "mad.wide.s32 %%pa, %%mine, %d, %%A", unit[0]);
    /* columns past the end read the last one again */
    for (int c = 0; c < columns; c++) {
        char at[24];
        const char *col = dync__ptx_temp(p, "s32"), *last = dync__ptx_temp(p, "s32"),
                   *wide = dync__ptx_temp(p, "s64");
        dync__format(at, sizeof at, "%%pb%d", c);
        dync__ptx_line(p, "add.s32 %s, %%col0, %d", col, c);
        dync__ptx_line(p, "sub.s32 %s, %%nleft, 1", last);
        dync__ptx_line(p, "min.s32 %s, %s, %s", col, col, last);
        dync__ptx_line(p, "cvt.s64.s32 %s, %s", wide, col);
        dync__cuda_tile_set(t, "s64", at, "mad.lo", "%s, %lld, %%B", wide,
                            (long long)(g->side[1].line * unit[1]));
        dync__ptx_line(p, "mad.wide.s32 %s, %%mine, %d, %s", at, unit[1], at);
    }
    dync__gmt_sums(g, m * columns);
    dync__gmt_regs(g, "%va", m);
    dync__gmt_regs(g, "%vb", columns);
    dync__ptx_reg(p, "pred", "%past");
    dync__cuda_tile_label(t, "DEPTH");
    dync__ptx_line(p, "setp.ge.s32 %%past, %%mine, %%klen");
    dync__ptx_line(p, "@%%past bra SUMMED");
    for (int c = 0; c < columns; c++) {
        char at[24];
        dync__format(at, sizeof at, "%%pb%d", c);
        dync__gmt_side(g, 1, c, vec, "%vb", c * vec, at, 0, NULL);
    }
    for (int r = 0; r < m; r++)
        dync__gmt_side(g, 0, r, vec, "%va", r * vec, "%pa", r * g->side[0].line * unit[0], NULL);
    for (int c = 0; c < columns; c++) dync__gmt_made(g, 1, c, vec, "%vb", c * vec);
    for (int r = 0; r < m; r++) dync__gmt_made(g, 0, r, vec, "%va", r * vec);
    for (int v = 0; v < vec; v++)
        for (int r = 0; r < m; r++)
            for (int c = 0; c < columns; c++)
                dync__ptx_line(p, "fma.rn.%s %%acc%d, %%va%d, %%vb%d, %%acc%d", type,
                               r * columns + c, r * vec + v, c * vec + v, r * columns + c);
    dync__ptx_line(p, "add.s64 %%pa, %%pa, %d", 32 * vec * unit[0]);
    for (int c = 0; c < columns; c++)
        dync__ptx_line(p, "add.s64 %%pb%d, %%pb%d, %d", c, c, 32 * vec * unit[1]);
    dync__ptx_line(p, "add.s32 %%mine, %%mine, %d", 32 * vec);
    dync__ptx_line(p, "bra DEPTH");
    dync__cuda_tile_label(t, "SUMMED");
    for (int i = 0; i < m * columns; i++)
        for (int distance = 16; distance; distance /= 2) dync__gmt_shuffle(g, i, distance);
    dync__cuda_tile_note(t, "lane i stores sum i");
    char value[1][24] = {"%acc0"};
    dync__ptx_reg(p, "pred", "%is");
    for (int i = 1; i < m * columns; i++) {
        dync__ptx_line(p, "setp.eq.u32 %%is, %%lane, %d", i);
        dync__ptx_line(p, "selp.%s %%acc0, %%acc%d, %%acc0, %%is", type, i);
    }
    dync__cuda_tile_set(t, "u32", "%row", "div", "%%lane, %d", columns);
    dync__cuda_tile_set(t, "u32", "%col", "rem", "%%lane, %d", columns);
    dync__ptx_line(p, "add.u32 %%col, %%col, %%col0");
    dync__ptx_line(p, "setp.lt.s32 %%is, %%row, %d", m);
    dync__ptx_line(p, "setp.lt.and.s32 %%is, %%col, %%nleft, %%is");
    dync__ptx_line(p, "@!%%is ret");
    dync__ptx_line(p, "add.u32 %%col, %%col, %%n0");
    dync__gm_result(g, 0, "%row", "%col", 1, value);
}

/* A row of b at step u of the unrolled depth, if it is one: predicate %is<u>. */
static void dync__gmt_across_b(dync__gm *g, int u, int vec, int64_t b_step)
{
    dync__ptx *p = &g->t.p;
    const char *k = dync__ptx_temp(p, "s32");
    char is[16];
    dync__format(is, sizeof is, "%%is%d", u);
    dync__ptx_line(p, "add.s32 %s, %%mine, %d", k, u * DYNC__GMT_WARPS);
    dync__ptx_line(p, "setp.lt.s32 %%is%d, %s, %%klen", u, k);
    for (int w = 0; !g->side[1].pre && w < (vec == 8 ? 4 : vec); w++)
        dync__ptx_line(p, "mov.b%d %%vb%d%s%s, 0", g->acc_bytes * 8,
                       vec == 8 ? u * vec : u * vec + w, vec == 8 ? "w" : "",
                       vec == 8 ? w == 0   ? "0"
                                  : w == 1 ? "1"
                                  : w == 2 ? "2"
                                           : "3"
                                : "");
    dync__gmt_side(g, 1, u, vec, "%vb", u * vec, "%pb", u * DYNC__GMT_WARPS * b_step, is);
}

/* The same of all rows of a, one element each. */
static void dync__gmt_across_a(dync__gm *g, int u, int64_t a_step)
{
    dync__ptx *p = &g->t.p;
    int m = (int)g->m, unit = dync__gm_unit(g, 0);
    const char *type = dync__ptx_type(g->compute);
    for (int r = 0; r < m; r++) {
        char value[24], at[64], guard[16];
        int64_t by = u * DYNC__GMT_WARPS * a_step + r * g->side[0].line * unit;
        dync__format(value, sizeof value, "%%va%d", u * m + r);
        if (g->side[0].pre) {
            dync__format(guard, sizeof guard, "%%is%d", u);
            dync__gmt_side(g, 0, u * m + r, 1, "%va", u * m + r, "%pa", by, guard);
            continue;
        }
        dync__format(guard, sizeof guard, "@%%is%d ", u);
        dync__format(at, sizeof at, "%%pa+%lld", (long long)by);
        dync__ptx_line(p, "mov.b%d %s, 0", g->acc_bytes * 8, value);
        if (g->dtype == g->compute) {
            dync__ptx_line(p, "%sld.global.%s %s, [%s]", guard, type, value, at);
            continue;
        }
        char half[24];
        dync__format(half, sizeof half, "%s", dync__ptx_temp(p, "b16"));
        dync__ptx_line(p, "mov.b16 %s, 0", half);
        dync__ptx_line(p, "%sld.global.b16 %s, [%s]", guard, half, at);
        dync__ptx_widen(p, g->dtype, value, half);
    }
}

static void dync__gmt_across_fma(dync__gm *g, int vec)
{
    dync__ptx *p = &g->t.p;
    int m = (int)g->m;
    const char *type = dync__ptx_type(g->compute);
    for (int u = 0; u < DYNC__GMT_UNROLL; u++) {
        dync__gmt_made(g, 1, u, vec, "%vb", u * vec);
        for (int r = 0; r < m && g->side[0].pre; r++)
            dync__gmt_made(g, 0, u * m + r, 1, "%va", u * m + r);
        for (int r = 0; r < m; r++)
            for (int v = 0; v < vec; v++)
                dync__ptx_line(p, "fma.rn.%s %%acc%d, %%va%d, %%vb%d, %%acc%d", type, r * vec + v,
                               u * m + r, u * vec + v, r * vec + v);
    }
}

/* The warps' sums, joined in order by way of shared memory, to the results. */
static void dync__gmt_across_join(dync__gm *g, int vec)
{
    dync__cuda_tile *t = &g->t;
    dync__ptx *p = &t->p;
    int m = (int)g->m, columns = 32 * vec;
    const char *type = dync__ptx_type(g->compute);
    dync__cuda_tile_note(t, "sums of the warps to shared memory, [row][warp][column]");
    dync__cuda_tile_set(t, "u32", "%put", "mad.lo", "%%warp, %d, %%smem", columns * g->acc_bytes);
    dync__ptx_line(p, "mad.lo.u32 %%put, %%col0, %d, %%put", g->acc_bytes);
    for (int r = 0; r < m; r++)
        for (int v = 0; v < vec; v++)
            dync__ptx_line(p, "st.shared.%s [%%put+%d], %%acc%d", type,
                           (r * DYNC__GMT_WARPS * columns + v) * g->acc_bytes, r * vec + v);
    dync__cuda_tile_barrier(t);
    dync__cuda_tile_set(t, "u32", "%q", "mov", "%%thr");
    dync__ptx_reg(p, "pred", "%in");
    dync__cuda_tile_label(t, "RESULTS");
    dync__ptx_line(p, "setp.ge.u32 %%past, %%q, %d", m * columns);
    dync__ptx_line(p, "@%%past ret");
    dync__cuda_tile_set(t, "u32", "%row", "div", "%%q, %d", columns);
    dync__cuda_tile_set(t, "u32", "%col", "rem", "%%q, %d", columns);
    dync__ptx_line(p, "add.u32 %%q, %%q, %d", 32 * DYNC__GMT_WARPS);
    dync__ptx_line(p, "setp.ge.s32 %%in, %%col, %%nleft");
    dync__ptx_line(p, "@%%in bra RESULTS");
    dync__cuda_tile_set(t, "u32", "%get", "mad.lo", "%%row, %d, %%smem",
                        DYNC__GMT_WARPS * columns * g->acc_bytes);
    dync__ptx_line(p, "mad.lo.u32 %%get, %%col, %d, %%get", g->acc_bytes);
    dync__cuda_tile_regs(t, type, "%part", DYNC__GMT_WARPS);
    for (int w = 0; w < DYNC__GMT_WARPS; w++)
        dync__ptx_line(p, "ld.shared.%s %%part%d, [%%get+%d]", type, w, w * columns * g->acc_bytes);
    for (int w = 1; w < DYNC__GMT_WARPS; w++)
        dync__ptx_line(p, "add.rn.%s %%part0, %%part0, %%part%d", type, w);
    char value[1][24] = {"%part0"};
    dync__ptx_line(p, "add.u32 %%col, %%col, %%n0");
    dync__gm_result(g, 0, "%row", "%col", 1, value);
    dync__ptx_line(p, "bra RESULTS");
}

static void dync__gmt_across(dync__gm *g)
{
    dync__cuda_tile *t = &g->t;
    dync__ptx *p = &t->p;
    int vec = dync__gmt_vec(g), m = (int)g->m, unit[2] = {dync__gm_unit(g, 0), dync__gm_unit(g, 1)},
        columns = 32 * vec;
    const char *type = dync__ptx_type(g->compute);
    int64_t a_step = g->side[0].step * unit[0], b_step = g->side[1].step * unit[1];
    (void)dync__cuda_tile_shared(t, DYNC__GMT_WARPS * m * columns * g->acc_bytes, 16);
    dync__cuda_tile_note(t, "the lane's columns; the warp's part of the depth: every %dth",
                         (int)DYNC__GMT_WARPS);
    dync__cuda_tile_set(t, "s32", "%col0", "mul.lo", "%%lane, %d", vec);
    dync__cuda_tile_wide(t, "%wide", NULL);
    dync__ptx_line(p, "cvt.u64.u32 %%wide, %%warp");
    dync__cuda_tile_set(t, "s64", "%pa", "mad.lo", "%%wide, %lld, %%A", (long long)a_step);
    dync__cuda_tile_set(t, "s64", "%pb", "mad.lo", "%%wide, %lld, %%B", (long long)b_step);
    dync__ptx_line(p, "mad.wide.s32 %%pb, %%col0, %d, %%pb", unit[1]);
    dync__gmt_sums(g, m * vec);
    dync__gmt_regs(g, "%vb", DYNC__GMT_UNROLL);
    dync__cuda_tile_regs(t, type, "%va", m * DYNC__GMT_UNROLL);
    dync__ptx_reg(p, "pred", "%out");
    dync__ptx_reg(p, "pred", "%past");
    dync__cuda_tile_regs(t, "pred", "%is", DYNC__GMT_UNROLL);
    dync__cuda_tile_set(t, "s32", "%mine", "mov", "%%warp");
    dync__ptx_line(p, "setp.ge.s32 %%out, %%col0, %%nleft");
    dync__ptx_line(p, "@%%out bra SUMMED");
    dync__cuda_tile_label(t, "DEPTH");
    dync__ptx_line(p, "setp.ge.s32 %%past, %%mine, %%klen");
    dync__ptx_line(p, "@%%past bra SUMMED");
    for (int u = 0; u < DYNC__GMT_UNROLL; u++) dync__gmt_across_b(g, u, vec, b_step);
    for (int u = 0; u < DYNC__GMT_UNROLL; u++) dync__gmt_across_a(g, u, a_step);
    dync__gmt_across_fma(g, vec);
    dync__ptx_line(p, "add.s64 %%pa, %%pa, %lld",
                   (long long)(DYNC__GMT_UNROLL * DYNC__GMT_WARPS * a_step));
    dync__ptx_line(p, "add.s64 %%pb, %%pb, %lld",
                   (long long)(DYNC__GMT_UNROLL * DYNC__GMT_WARPS * b_step));
    dync__ptx_line(p, "add.s32 %%mine, %%mine, %d", DYNC__GMT_UNROLL * DYNC__GMT_WARPS);
    dync__ptx_line(p, "bra DEPTH");
    dync__cuda_tile_label(t, "SUMMED");
    dync__gmt_across_join(g, vec);
}

/* The long side is b. Its ends have to be where 16 bytes end, so that nothing past them is read. */
DYNC__FN bool dync__gm_thin_fits(const dync__gm *g)
{
    int vec = dync__gmt_vec(g);
    int64_t rest = g->side[1].how == DYNC__GM_ALONG ? g->k : g->n;
    if (g->m > DYNC__GMT_ROWS || g->n < 16 || g->k < 64 ||
        (g->compute != DYNC_F32 && g->compute != DYNC_F64) || rest % vec)
        return false;
    return g->side[1].how == DYNC__GM_ALONG ? g->side[0].how == DYNC__GM_ALONG
                                            : g->side[1].how == DYNC__GM_ACROSS;
}

DYNC__FN void dync__gm_thin_choose(dync__gm *g)
{
    int vec = dync__gmt_vec(g);
    bool along = g->side[1].how == DYNC__GM_ALONG;
    int64_t units = dync__cuda_unit_of(g->device >> 8)->units;
    g->depth = along ? 32 * vec : DYNC__GMT_WARPS * DYNC__GMT_UNROLL;
    g->tile = (dync__gm_tile){(int)g->m, along ? 4 * dync__gmt_columns(g) : 32 * vec,
                              along ? 128 : 32 * DYNC__GMT_WARPS, 1, 100};
    int64_t blocks = (g->n + g->tile.n - 1) / g->tile.n * g->batches,
            wanted = units * (along ? 8 : 3), steps = (g->k + g->depth - 1) / g->depth;
    int64_t splits =
        DYNC__MAX(DYNC__MIN(DYNC__MIN((wanted + blocks - 1) / blocks, steps / 4), 32), 1);
    g->chunk = (steps + splits - 1) / splits * g->depth;
    g->splits = (g->k + g->chunk - 1) / g->chunk;
}

DYNC__FN void dync__gm_thin(dync__gm *g)
{
    g->acc_bytes = dync__dtype_info(g->compute)->bytes;
    dync__gm_place(g);
    if (g->side[1].how == DYNC__GM_ALONG)
        dync__gmt_along(g);
    else
        dync__gmt_across(g);
}
