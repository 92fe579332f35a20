/* cuda/gemm_gather.c: sides of a product that are gathered: the place of an element is a sum over
 * the digits of its line's number and of its depth's, and elements whose row or column lies outside
 * of the picture are zeros (implicit im2col). After gemm_load.c, before gemm_mma.c.
 *
 * What belongs to lines is computed once, before the loop over the depth; a stage adds what belongs
 * to its depths: three additions, two comparisons and the copy for each. 16 bytes at a time where
 * neighbours lie inside or outside together (channels last), as lines of depth or as depths of
 * lines; else element by element. Lines and depths that do not exist have a row far outside.
 * Source: Chetlur et al. 2014 (cuDNN: convolution as a product whose matrix is never made). */
#include "../dync.in.h"
#include "gemm.h"
DYNC__COLD

enum { DYNC__GMG_OUTSIDE = -0x40000000 };
/* s32 registers: elements, row, column */
typedef struct dync__gmg {
    char off[32], y[32], x[32];
} dync__gmg;

/* Registers of this name, or fresh ones. */
static dync__gmg dync__gmg_new(dync__gm *g, const char *name, int number)
{
    dync__gmg r;
    char *const part[3] = {r.off, r.y, r.x};
    for (int i = 0; i < 3; i++) {
        if (name)
            dync__format(part[i], sizeof r.off, "%s%d_%c", name, number, "oyx"[i]);
        else
            dync__format(part[i], sizeof r.off, "%s", dync__ptx_temp(&g->t.p, "s32"));
        if (name) dync__ptx_reg(&g->t.p, "s32", part[i]);
    }
    return r;
}

/* r = what the digits of `linear` (u32) give; part 0: of a line, 1: of a depth. Outside where not
 * in < left (b32 registers, signed). */
static dync__gmg dync__gmg_digits(dync__gm *g, int s, int part, const char *linear, const char *in,
                                  const char *left, const char *name, int number)
{
    const dync__gm_gather *v = g->side[s].gather;
    dync__ptx *p = &g->t.p;
    dync__gmg r = dync__gmg_new(g, name, number);
    char rest[32], here[32], next[32];
    dync__format(rest, sizeof rest, "%s", linear);
    dync__ptx_line(p, "mov.b32 %s, %d", r.off, part ? 0 : (int)v->first);
    dync__ptx_line(p, "mov.b32 %s, %d", r.y, part ? 0 : (int)v->y);
    dync__ptx_line(p, "mov.b32 %s, %d", r.x, part ? 0 : (int)v->x);
    for (int d = v->n[part] - 1; d >= 0; d--) {
        const dync__gm_digit *at = &v->digit[part][d];
        if (d > 0 && at->extent == 1) continue;
        dync__format(here, sizeof here, "%s", rest);
        if (d > 0) {
            dync__format(here, sizeof here, "%s", dync__ptx_temp(p, "u32"));
            dync__format(next, sizeof next, "%s", dync__ptx_temp(p, "u32"));
            dync__ptx_line(p, "div.u32 %s, %s, %lld", next, rest, (long long)at->extent);
            dync__ptx_line(p, "mad.lo.s32 %s, %s, %lld, %s", here, next, (long long)-at->extent,
                           rest);
            dync__format(rest, sizeof rest, "%s", next);
        }
        if (at->by)
            dync__ptx_line(p, "mad.lo.s32 %s, %s, %lld, %s", r.off, here, (long long)at->by, r.off);
        if (at->y)
            dync__ptx_line(p, "mad.lo.s32 %s, %s, %lld, %s", r.y, here, (long long)at->y, r.y);
        if (at->x)
            dync__ptx_line(p, "mad.lo.s32 %s, %s, %lld, %s", r.x, here, (long long)at->x, r.x);
    }
    const char *is = dync__ptx_temp(p, "pred");
    dync__ptx_line(p, "setp.lt.s32 %s, %s, %s", is, in, left);
    dync__ptx_line(p, "selp.b32 %s, %s, %d, %s", r.y, r.y, (int)DYNC__GMG_OUTSIDE, is);
    return r;
}

/* The digits of line first + (b32 register) of the tile, in registers named for the side. */
static void dync__gmg_line(dync__gm *g, int s, const char *line, int number)
{
    char all[32], in[32];
    dync__format(in, sizeof in, "%s", line);
    dync__format(all, sizeof all, "%s", dync__ptx_temp(&g->t.p, "u32"));
    dync__ptx_line(&g->t.p, "add.u32 %s, %s, %s", all, in, s ? "%n0" : "%m0");
    (void)dync__gmg_digits(g, s, 0, all, in, s ? "%nleft" : "%mleft", s ? "%gb" : "%ga", number);
}

/* Those of depth k (b32 register) of the stage that is being loaded. */
static dync__gmg dync__gmg_depth(dync__gm *g, int s, const char *k)
{
    char all[32], in[32];
    dync__format(in, sizeof in, "%s", k);
    dync__format(all, sizeof all, "%s", dync__ptx_temp(&g->t.p, "u32"));
    dync__ptx_line(&g->t.p, "add.u32 %s, %s, %%k0", all, in);
    dync__ptx_line(&g->t.p, "add.u32 %s, %s, %%klen", all, all);
    dync__ptx_line(&g->t.p, "sub.u32 %s, %s, %%kleft", all, all);
    return dync__gmg_digits(g, s, 1, all, in, "%kleft", NULL, 0);
}

/* The element at the digits of a line (number) and a depth: its address (b64), and whether it is
 * inside (predicate). */
static void dync__gmg_meet(dync__gm *g, int s, int number, const dync__gmg *depth, char *at,
                           char *inside)
{
    const dync__gm_gather *v = g->side[s].gather;
    dync__ptx *p = &g->t.p;
    const char *y = dync__ptx_temp(p, "s32"), *x = dync__ptx_temp(p, "s32"),
               *off = dync__ptx_temp(p, "s32"), *name = s ? "%gb" : "%ga";
    dync__format(at, 32, "%s", dync__ptx_temp(p, "b64"));
    dync__format(inside, 32, "%s", dync__ptx_temp(p, "pred"));
    dync__ptx_line(p, "add.s32 %s, %s%d_y, %s", y, name, number, depth->y);
    dync__ptx_line(p, "add.s32 %s, %s%d_x, %s", x, name, number, depth->x);
    dync__ptx_line(p, "add.s32 %s, %s%d_o, %s", off, name, number, depth->off);
    dync__ptx_line(p, "setp.lt.u32 %s, %s, %lld", inside, y, (long long)v->h);
    dync__ptx_line(p, "setp.lt.and.u32 %s, %s, %lld, %s", inside, x, (long long)v->w, inside);
    dync__ptx_line(p, "selp.b32 %s, %s, 0, %s", off, off, inside);
    dync__ptx_line(p, "mad.wide.s32 %s, %s, %d, %s", at, off, dync__gm_unit(g, s), s ? "%B" : "%A");
}

/* The place in what is done to the side, in the type of its index. */
static const char *dync__gmg_index(dync__gm *g, int s, const char *at)
{
    const char *index = g->side[s].pre->p.index, *to = dync__ptx_temp(&g->t.p, index);
    dync__ptx_line(&g->t.p, index[1] == '3' ? "cvt.u32.u64 %s, %s" : "mov.b64 %s, %s", to, at);
    return to;
}

static void dync__gmg_copy(dync__gm *g, int s, int bytes, const char *to, int to_at, const char *at,
                           const char *inside)
{
    char size[32];
    if (g->side[s].pre) {
        dync__format(size, sizeof size, "%s", dync__gmg_index(g, s, at));
        dync__gm_pre_chunk(g, s, size, 0, 1, to_at, inside, NULL, 0, NULL);
        return;
    }
    dync__format(size, sizeof size, "%s", dync__ptx_temp(&g->t.p, "b32"));
    dync__ptx_line(&g->t.p, "selp.b32 %s, %d, 0, %s", size, bytes, inside);
    dync__cuda_tile_cp(&g->t, bytes, to, to_at, at, 0, size);
}

/* ---- 16 bytes at a time, into swizzled rows of 128 ------------------------------------------- */

/* Thread i: chunk i % 8 of rows i / 8, i / 8 + threads / 8, ... Named: %gs_ where its first row's
 * chunk lies, %gc_ its chunk, %gr_ its row. */
static void dync__gmg_thread(dync__gm *g, int s)
{
    char name[3][8];
    for (int i = 0; i < 3; i++) {
        dync__format(name[i], sizeof name[i], "%%g%c_%d", "scr"[i], s);
        dync__ptx_reg(&g->t.p, "u32", name[i]);
    }
    dync__ptx_line(&g->t.p, "shr.u32 %s, %%thr, 3", name[2]);
    dync__ptx_line(&g->t.p, "and.b32 %s, %%thr, 7", name[1]);
    dync__ptx_line(&g->t.p, "xor.b32 %s, %s, %s", name[0], name[1], name[2]);
    dync__ptx_line(&g->t.p, "and.b32 %s, %s, 7", name[0], name[0]);
    dync__ptx_line(&g->t.p, "mad.lo.u32 %s, %s, 8, %s", name[0], name[2], name[0]);
    dync__ptx_line(&g->t.p, "shl.b32 %s, %s, 4", name[0], name[0]);
}

DYNC__FN void dync__gm_gather_begin(dync__gm *g, int s, int lines)
{
    int bytes = dync__dtype_info(g->dtype)->bytes, per = 16 / bytes;
    bool across = g->side[s].how == DYNC__GM_ACROSS;
    dync__cuda_tile_note(&g->t, "%s: digits of lines", s ? "b" : "a");
    dync__gmg_thread(g, s);
    for (int i = 0; i < (across ? lines * bytes / 128 : lines * 8 / g->tile.threads); i++) {
        char line[32];
        dync__format(line, sizeof line, "%s", dync__ptx_temp(&g->t.p, "u32"));
        if (across)
            dync__ptx_line(&g->t.p, "mad.lo.u32 %s, %%gc_%d, %d, %d", line, s, per, i * 8 * per);
        else
            dync__ptx_line(&g->t.p, "add.u32 %s, %%gr_%d, %d", line, s, i * g->tile.threads / 8);
        dync__gmg_line(g, s, line, i);
    }
}

DYNC__FN void dync__gm_gather_copy(dync__gm *g, int s, int lines)
{
    int bytes = dync__dtype_info(g->dtype)->bytes, per = 16 / bytes, step = g->tile.threads / 8;
    bool across = g->side[s].how == DYNC__GM_ACROSS;
    char to[32], k[32], at[32], inside[32];
    dync__format(to, sizeof to, "%s", dync__ptx_temp(&g->t.p, "b32"));
    dync__format(k, sizeof k, "%s", dync__ptx_temp(&g->t.p, "u32"));
    dync__ptx_line(&g->t.p, "add.u32 %s, %%to, %%gs_%d", to, s);
    if (g->side[s].pre) dync__gm_pre_transpose(g, s, per, to);
    dync__gmg depth;
    if (!across) {
        dync__ptx_line(&g->t.p, "mul.lo.u32 %s, %%gc_%d, %d", k, s, per);
        depth = dync__gmg_depth(g, s, k);
    }
    for (int j = 0; j < (across ? g->depth : lines) / step; j++) {
        if (across) {
            dync__ptx_line(&g->t.p, "add.u32 %s, %%gr_%d, %d", k, s, j * step);
            depth = dync__gmg_depth(g, s, k);
        }
        for (int w = 0; w < (across ? lines * bytes / 128 : 1); w++) {
            dync__gmg_meet(g, s, across ? w : j, &depth, at, inside);
            dync__gmg_copy(g, s, 16, to, g->side_at[s] + (w * g->depth + j * step) * 128, at,
                           inside);
        }
    }
}

/* ---- element by element ---------------------------------------------------------------------- */

/* Are neighbours in depth nearer in memory than neighbouring lines? */
static bool dync__gmg_is_along(const dync__gm *g, int s)
{
    const dync__gm_gather *v = g->side[s].gather;
    return v->digit[1][v->n[1] - 1].by == 1 && v->digit[0][v->n[0] - 1].by != 1;
}

/* Words of 4 bytes (two f16 values, or an f32 for tf32) into swizzled rows: neighbouring threads
 * take neighbouring lines, or depths. */
DYNC__FN void dync__gm_gather_pieces(dync__gm *g, int s, int lines)
{
    dync__ptx *p = &g->t.p;
    const char *id = s ? "B" : "A";
    char q[32], line[32], k[32], place[32], at[32], inside[32], half[2][32], more[32];
    int log_lines = 0;
    while (1 << log_lines < lines) log_lines++;
    dync__format(q, sizeof q, "%%at%s", id);
    dync__cuda_tile_set(&g->t, "u32", q, "mov", "%%thr");
    dync__cuda_tile_label(&g->t, "PIECES%s", id);
    dync__format(line, sizeof line, "%s", dync__ptx_temp(p, "u32"));
    dync__format(k, sizeof k, "%s", dync__ptx_temp(p, "u32"));
    dync__format(place, sizeof place, "%s", dync__ptx_temp(p, "u32"));
    bool along = dync__gmg_is_along(g, s);
    dync__ptx_line(p, "and.b32 %s, %s, %d", along ? k : line, q, along ? 31 : lines - 1);
    dync__ptx_line(p, "shr.u32 %s, %s, %d", along ? line : k, q, along ? 5 : log_lines);
    dync__ptx_line(p, "shr.u32 %s, %s, 2", place, k);
    dync__ptx_line(p, "xor.b32 %s, %s, %s", place, place, line);
    dync__ptx_line(p, "and.b32 %s, %s, 7", place, place);
    dync__ptx_line(p, "mad.lo.u32 %s, %s, 8, %s", place, line, place);
    const char *word = dync__ptx_temp(p, "u32");
    dync__ptx_line(p, "and.b32 %s, %s, 3", word, k);
    dync__ptx_line(p, "mad.lo.u32 %s, %s, 4, %s", place, place, word);
    dync__ptx_line(p, "mad.lo.u32 %s, %s, 4, %%to", place, place);
    bool whole = dync__dtype_info(g->dtype)->bytes == 4;
    if (!whole) dync__ptx_line(p, "shl.b32 %s, %s, 1", k, k);
    dync__gmg_line(g, s, line, 0);
    /* there and then: the loop has no place to keep what is loaded */
    bool pre = g->side[s].pre != NULL;
    if (pre) dync__gm_pre_transpose(g, s, 1, place);
    if (whole && !pre) {
        dync__gmg depth = dync__gmg_depth(g, s, k);
        dync__gmg_meet(g, s, 0, &depth, at, inside);
        dync__gmg_copy(g, s, 4, place, g->side_at[s], at, inside);
    }
    for (int e = 0; e < (whole ? 1 : 2) && pre; e++) {
        if (e) dync__ptx_line(p, "add.u32 %s, %s, 1", k, k);
        dync__gmg depth = dync__gmg_depth(g, s, k);
        dync__gmg_meet(g, s, 0, &depth, at, inside);
        dync__format(at, sizeof at, "%s", dync__gmg_index(g, s, at));
        dync__gm_pre_group(g, s, e, at, 0, inside);
    }
    for (int e = 0; e < 2 && !whole && !pre; e++) {
        dync__format(half[e], sizeof half[e], "%s", dync__ptx_temp(p, "b16"));
        if (e) dync__ptx_line(p, "add.u32 %s, %s, 1", k, k);
        dync__gmg depth = dync__gmg_depth(g, s, k);
        dync__gmg_meet(g, s, 0, &depth, at, inside);
        dync__ptx_line(p, "mov.b16 %s, 0", half[e]);
        dync__ptx_line(p, "@%s ld.global.b16 %s, [%s]", inside, half[e], at);
    }
    dync__format(more, sizeof more, "%s", dync__ptx_temp(p, "pred"));
    if (pre) {
        char value[2][40], made[2][40];
        for (int e = 0; e < (whole ? 1 : 2); e++) (void)dync__gm_pre_values(g, s, e, &value[e]);
        dync__gm_pre_pack(g, g->dtype, whole ? 1 : 2, value, made);
        dync__ptx_line(p, "st.shared.b32 [%s+%d], %s", place, g->side_at[s], made[0]);
    } else if (!whole) {
        const char *both = dync__ptx_temp(p, "b32");
        dync__ptx_line(p, "mov.b32 %s, {%s, %s}", both, half[0], half[1]);
        dync__ptx_line(p, "st.shared.b32 [%s+%d], %s", place, g->side_at[s], both);
    }
    dync__ptx_line(p, "add.u32 %s, %s, %d", q, q, g->tile.threads);
    dync__ptx_line(p, "setp.lt.u32 %s, %s, %d", more, q, lines * 32);
    dync__ptx_line(p, "@%s bra PIECES%s", more, id);
}

/* CUDA cores: depths as rows of lines, row_bytes apart. Along: thread i takes depth i % depth of
 * several lines; else line i % lines of several. */
DYNC__FN void dync__gm_gather_single_begin(dync__gm *g, int s, int lines)
{
    bool along = dync__gmg_is_along(g, s);
    int step = g->tile.threads / g->depth;
    char line[32];
    dync__cuda_tile_note(&g->t, "%s: digits of lines", s ? "b" : "a");
    dync__format(line, sizeof line, "%s", dync__ptx_temp(&g->t.p, "u32"));
    for (int i = 0; i < (along ? lines / step : 1); i++) {
        if (i)
            dync__ptx_line(&g->t.p, "add.u32 %s, %s, %d", line, line, step);
        else
            dync__ptx_line(&g->t.p, "%s.u32 %s, %%thr, %d", along ? "div" : "rem", line,
                           along ? g->depth : lines);
        dync__gmg_line(g, s, line, i);
    }
}

DYNC__FN void dync__gm_gather_single(dync__gm *g, int s, int lines, int row_bytes)
{
    dync__ptx *p = &g->t.p;
    bool along = dync__gmg_is_along(g, s);
    int step = g->tile.threads / (along ? g->depth : lines), bytes = g->acc_bytes;
    char line[32], k[32], to[32], at[32], inside[32];
    dync__format(line, sizeof line, "%s", dync__ptx_temp(p, "u32"));
    dync__format(k, sizeof k, "%s", dync__ptx_temp(p, "u32"));
    dync__format(to, sizeof to, "%s", dync__ptx_temp(p, "u32"));
    dync__ptx_line(p, "%s.u32 %s, %%thr, %d", along ? "div" : "rem", line,
                   along ? g->depth : lines);
    dync__ptx_line(p, "%s.u32 %s, %%thr, %d", along ? "rem" : "div", k, along ? g->depth : lines);
    dync__ptx_line(p, "mad.lo.u32 %s, %s, %d, %%to", to, k, row_bytes);
    dync__ptx_line(p, "mad.lo.u32 %s, %s, %d, %s", to, line, bytes, to);
    if (g->side[s].pre) dync__gm_pre_transpose(g, s, 1, to);
    dync__gmg depth;
    for (int i = 0; i < lines * g->depth / g->tile.threads; i++) {
        if (i && !along) dync__ptx_line(p, "add.u32 %s, %s, %d", k, k, step);
        if (i == 0 || !along) depth = dync__gmg_depth(g, s, k);
        dync__gmg_meet(g, s, along ? i : 0, &depth, at, inside);
        dync__gmg_copy(g, s, bytes, to, g->side_at[s] + i * step * (along ? bytes : row_bytes), at,
                       inside);
    }
}
