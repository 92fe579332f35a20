/* cuda/gemm_simt.c: products on CUDA cores: f32, f64, integers of 16 bits and more. After
 * gemm_load.c and gemm_end.c.
 *
 * Stages hold eight rows of depth of either side, its lines along: [8][lines + 16 bytes]. Where
 * lines are neighbours in memory and on boundaries cp.async brings 16 bytes at a time; else an
 * element at a time, which transposes the side on its way: then eight lanes take eight neighbours
 * in depth (a sector of memory) of four lines, whose places are in 32 banks. Narrow integers are
 * widened in registers. A thread owns 8 x 8 results (4 x 4 of 8 bytes): two groups of four lines on
 * either side, half a tile apart, so that the 16-byte reads of a warp are of neighbours. Of each
 * row of depth it reads 4 times 16 bytes for 64 multiplications: of the 598 instructions of a stage
 * 512 are multiplications (sm_80). 128 x 128 by 256 threads: 120 to 128 registers and 34 KiB, two
 * blocks a multiprocessor. */
#include "../dync.in.h"
#include "gemm.h"
DYNC__COLD

enum { DYNC__GMS_DEPTH = 8 };
/* lines of a side that a thread has */
static int dync__gms_own(const dync__gm *g) { return g->acc_bytes == 8 ? 4 : 8; }
/* of them 16 bytes side by side */
static int dync__gms_group(const dync__gm *g) { return g->acc_bytes == 8 ? 2 : 4; }
static int dync__gms_lines(const dync__gm *g, int s) { return s ? g->tile.n : g->tile.m; }
static int dync__gms_row(const dync__gm *g, int s)
{
    return dync__gms_lines(g, s) * g->acc_bytes + 16;
}

/* The element of a stage that the thread begins with: %line (or chunk of 16 bytes) and %k of each
 * side, its place in a stage (%to), its address, to which %A and %B go on.
 *   wide     chunk i % chunks of rows i / chunks, ...
 *   single   dense depth: depth i % 8 of lines i / 8, i / 8 + threads / 8, ...; else line i % lines
 *            of depths i / lines, ... */
static void dync__gms_begin(dync__gm *g, int s)
{
    dync__cuda_tile *t = &g->t;
    dync__ptx *p = &t->p;
    const dync__gm_side *side = &g->side[s];
    bool is_wide = side->how == DYNC__GM_ACROSS, along = !is_wide && side->step == 1;
    int bytes = dync__gm_unit(g, s), lines = dync__gms_lines(g, s),
        by = along     ? 8
             : is_wide ? lines * g->acc_bytes / 16
                       : lines;
    const char *id = s ? "B" : "A", *wide = dync__ptx_temp(p, "b64");
    char line[16], k[16], to[16], base[8];
    dync__format(line, sizeof line, "%%line%s", id);
    dync__format(k, sizeof k, "%%k%s", id);
    dync__format(to, sizeof to, "%%to%s", id);
    dync__format(base, sizeof base, "%%%s", id);
    dync__cuda_tile_set(t, "u32", along ? k : line, "rem", "%%thr, %d", by);
    dync__cuda_tile_set(t, "u32", along ? line : k, "div", "%%thr, %d", by);
    if (is_wide) dync__ptx_line(p, "mul.lo.u32 %s, %s, %d", line, line, 16 / g->acc_bytes);
    dync__cuda_tile_set(t, "u32", to, "mul.lo", "%s, %d", k, dync__gms_row(g, s));
    dync__ptx_line(p, "mad.lo.u32 %s, %s, %d, %s", to, line, g->acc_bytes, to);
    dync__ptx_line(p, "cvt.u64.u32 %s, %s", wide, line);
    dync__ptx_line(p, "mad.lo.s64 %s, %s, %lld, %s", base, wide, (long long)(side->line * bytes),
                   base);
    dync__ptx_line(p, "cvt.u64.u32 %s, %s", wide, k);
    dync__ptx_line(p, "mad.lo.s64 %s, %s, %lld, %s", base, wide, (long long)(side->step * bytes),
                   base);
    if (side->pre) dync__gm_pre_index(g, s, s ? "%pat1" : "%pat0", base);
    if (side->pre || !is_wide || (s ? g->n : g->m) % lines == 0) return;
    /* bytes of the chunk that are of lines there are */
    char size[16];
    dync__format(size, sizeof size, "%%size%s", id);
    dync__cuda_tile_set(t, "s32", size, "sub", "%s, %s", s ? "%nleft" : "%mleft", line);
    dync__ptx_line(p, "mul.lo.s32 %s, %s, %d", size, size, g->acc_bytes);
    dync__ptx_line(p, "min.s32 %s, %s, 16", size, size);
    dync__ptx_line(p, "max.s32 %s, %s, 0", size, size);
}

static void dync__gms_load_wide(dync__gm *g, int s, const char *to)
{
    dync__ptx *p = &g->t.p;
    const char *id = s ? "B" : "A";
    int step = g->tile.threads / (dync__gms_lines(g, s) * g->acc_bytes / 16);
    int64_t row = g->side[s].step * g->acc_bytes;
    char size[16] = "", base[8];
    dync__format(base, sizeof base, "%%%s", id);
    if ((s ? g->n : g->m) % dync__gms_lines(g, s)) dync__format(size, sizeof size, "%%size%s", id);
    for (int i = 0; i < DYNC__GMS_DEPTH / step; i++) {
        char bytes[24];
        dync__format(bytes, sizeof bytes, "%s", size);
        if (g->k % DYNC__GMS_DEPTH) {
            const char *there = dync__ptx_temp(p, "pred"), *here = dync__ptx_temp(p, "s32");
            dync__format(bytes, sizeof bytes, "%s", dync__ptx_temp(p, "b32"));
            dync__ptx_line(p, "sub.s32 %s, %%kleft, %d", here, i * step);
            dync__ptx_line(p, "setp.lt.s32 %s, %%k%s, %s", there, id, here);
            dync__ptx_line(p, "selp.b32 %s, %s, 0, %s", bytes, size[0] ? size : "16", there);
        }
        dync__cuda_tile_cp(&g->t, 16, to, g->side_at[s] + i * step * dync__gms_row(g, s), base,
                           i * step * row, bytes[0] ? bytes : NULL);
    }
}

static void dync__gms_load_single(dync__gm *g, int s, const char *to)
{
    dync__ptx *p = &g->t.p;
    const dync__gm_side *side = &g->side[s];
    const char *id = s ? "B" : "A";
    int bytes = dync__dtype_info(g->dtype)->bytes, lines = dync__gms_lines(g, s),
        threads = g->tile.threads, row = dync__gms_row(g, s);
    bool along = side->step == 1, ends = g->k % DYNC__GMS_DEPTH != 0,
         ragged = (s ? g->n : g->m) % lines != 0;
    int line_step = along ? threads / 8 : 0, k_step = along ? 0 : threads / lines,
        count = lines * DYNC__GMS_DEPTH / threads;
    char base[8];
    dync__format(base, sizeof base, "%%%s", id);
    for (int i = 0; i < count; i++) {
        char there[24] = "%true", value[24];
        int to_at = g->side_at[s] + i * (line_step * g->acc_bytes + k_step * row);
        int64_t from_at = i * (line_step * side->line + k_step * side->step) * bytes;
        if (ends || ragged) dync__format(there, sizeof there, "%s", dync__ptx_temp(p, "pred"));
        if (ends) {
            const char *here = dync__ptx_temp(p, "s32");
            dync__ptx_line(p, "sub.s32 %s, %%kleft, %d", here, i * k_step);
            dync__ptx_line(p, "setp.lt.s32 %s, %%k%s, %s", there, id, here);
        }
        if (ragged) {
            const char *left = dync__ptx_temp(p, "s32");
            dync__ptx_line(p, "sub.s32 %s, %s, %d", left, s ? "%nleft" : "%mleft", i * line_step);
            dync__ptx_line(p, "setp.lt.and.s32 %s, %%line%s, %s, %s", there, id, left,
                           ends ? there : "%true");
        }
        dync__format(value, sizeof value, "%s", dync__ptx_temp(p, "b32"));
        if (bytes == g->acc_bytes) {
            if (ends || ragged) dync__ptx_line(p, "selp.b32 %s, %d, 0, %s", value, bytes, there);
            dync__cuda_tile_cp(&g->t, bytes, to, to_at, base, from_at,
                               ends || ragged ? value : NULL);
        } else {
            dync__ptx_line(p, "mov.b32 %s, 0", value);
            dync__ptx_line(p, "@%s ld.global.%s %s, [%s+%lld]", there,
                           dync__ptx_memory_type(g->dtype), value, base, (long long)from_at);
            dync__ptx_line(p, "st.shared.b32 [%s+%d], %s", to, to_at, value);
        }
    }
}

/* The same elements, with what is done to them: 16 bytes of neighbouring lines at a time, or one by
 * one. */
static void dync__gms_load_pre(dync__gm *g, int s, const char *to)
{
    dync__ptx *p = &g->t.p;
    const dync__gm_side *side = &g->side[s];
    bool wide = side->how == DYNC__GM_ACROSS, along = !wide && side->step == 1,
         ends = g->k % DYNC__GMS_DEPTH != 0,
         ragged = (s ? g->n : g->m) % dync__gms_lines(g, s) != 0;
    int lines = dync__gms_lines(g, s), row = dync__gms_row(g, s),
        per = wide ? 16 / g->acc_bytes : 1, threads = g->tile.threads;
    int line_step = along ? threads / 8 : 0, k_step = along ? 0 : threads * per / lines;
    const char *at = s ? "%pat1" : "%pat0", *line = s ? "%lineB" : "%lineA",
               *left = s ? "%nleft" : "%mleft";
    dync__gm_pre_transpose(g, s, per, to);
    for (int i = 0; i < lines * DYNC__GMS_DEPTH / (threads * per); i++) {
        char is[40] = "";
        if (ends) {
            const char *here = dync__ptx_temp(p, "s32");
            dync__format(is, sizeof is, "%s", dync__ptx_temp(p, "pred"));
            dync__ptx_line(p, "sub.s32 %s, %%kleft, %d", here, i * k_step);
            dync__ptx_line(p, "setp.lt.s32 %s, %s, %s", is, s ? "%kB" : "%kA", here);
        }
        dync__gm_pre_chunk(g, s, at, i * (line_step * side->line + k_step * side->step), 1,
                           g->side_at[s] + i * (line_step * g->acc_bytes + k_step * row),
                           is[0] ? is : NULL, line, i * line_step, ragged ? left : NULL);
    }
    dync__ptx_line(p, "add.%s %s, %s, %lld", side->pre->p.index, at, at,
                   (long long)(DYNC__GMS_DEPTH * side->step));
}

static void dync__gms_load(dync__gm *g)
{
    int bytes = dync__dtype_info(g->dtype)->bytes;
    for (int s = 0; s < 2; s++) {
        dync__cuda_tile_note(&g->t, "%s: %d lines of %d", s ? "b" : "a", dync__gms_lines(g, s),
                             (int)DYNC__GMS_DEPTH);
        if (g->side[s].gather) {
            dync__gm_gather_single(g, s, dync__gms_lines(g, s), dync__gms_row(g, s));
            continue;
        }
        char to[24];
        dync__format(to, sizeof to, "%s", dync__ptx_temp(&g->t.p, "b32"));
        dync__ptx_line(&g->t.p, "add.u32 %s, %%to, %s", to, s ? "%toB" : "%toA");
        if (g->side[s].pre) {
            dync__gms_load_pre(g, s, to);
            continue;
        }
        if (g->side[s].how == DYNC__GM_ACROSS)
            dync__gms_load_wide(g, s, to);
        else
            dync__gms_load_single(g, s, to);
        dync__ptx_line(&g->t.p, "add.s64 %s, %s, %lld", s ? "%B" : "%A", s ? "%B" : "%A",
                       (long long)(DYNC__GMS_DEPTH * g->side[s].step * bytes));
    }
}

/* v4.b32 or v2.b64 at once. */
static void dync__gms_read(dync__gm *g, const char *reg, int first, const char *address, int at)
{
    if (g->acc_bytes == 8)
        dync__ptx_line(&g->t.p, "ld.shared.v2.b64 {%s%d, %s%d}, [%s+%d]", reg, first, reg,
                       first + 1, address, at);
    else
        dync__ptx_line(&g->t.p, "ld.shared.v4.b32 {%s%d, %s%d, %s%d, %s%d}, [%s+%d]", reg, first,
                       reg, first + 1, reg, first + 2, reg, first + 3, address, at);
}

static void dync__gms_compute(dync__gm *g)
{
    dync__ptx *p = &g->t.p;
    int own = dync__gms_own(g), group = dync__gms_group(g);
    const char *type = dync__ptx_type(g->compute);
    dync__ptx_line(p, "add.u32 %%ra, %%la, %%from");
    dync__ptx_line(p, "add.u32 %%rb, %%lb, %%from");
    for (int k = 0; k < DYNC__GMS_DEPTH; k++) {
        for (int s = 0; s < 2; s++)
            for (int i = 0; i < own / group; i++)
                dync__gms_read(g, s ? "%fb" : "%fa", i * group, s ? "%rb" : "%ra",
                               g->side_at[s] + k * dync__gms_row(g, s) +
                                   i * dync__gms_lines(g, s) / (own / group) * g->acc_bytes);
        for (int i = 0; i < own; i++)
            for (int j = 0; j < own; j++)
                dync__ptx_line(p, "%s.%s %%acc%d, %%fa%d, %%fb%d, %%acc%d",
                               type[0] == 'f' ? "fma.rn" : "mad.lo", type, i * own + j, i, j,
                               i * own + j);
    }
}

/* Group by group of rows, each a part of the tile that is whole. */
static void dync__gms_put(dync__gm *g)
{
    dync__cuda_tile *t = &g->t;
    int own = dync__gms_own(g), group = dync__gms_group(g), parts = own / group,
        row = g->tile.n * g->acc_bytes + 16, rows = g->tile.m / parts;
    dync__cuda_tile_wait(t, 0);
    dync__cuda_tile_set(t, "u32", "%put", "mul.lo", "%%ty, %d", group * row);
    dync__ptx_line(&t->p, "add.u32 %%put, %%put, %%smem");
    dync__ptx_line(&t->p, "mad.lo.u32 %%put, %%tx, %d, %%put", group * g->acc_bytes);
    if (rows * row > t->shared) t->shared = rows * row;
    for (int part = 0; part < parts; part++) {
        dync__cuda_tile_note(t, "rows %d .. %d to shared memory, and from there in order",
                             part * rows, part * rows + rows - 1);
        dync__cuda_tile_barrier(t);
        for (int i = 0; i < group; i++)
            for (int j = 0; j < parts; j++) {
                int acc = (part * group + i) * own + j * group,
                    at = i * row + j * (g->tile.n / parts) * g->acc_bytes;
                if (g->acc_bytes == 8)
                    dync__ptx_line(&t->p, "st.shared.v2.b64 [%%put+%d], {%%acc%d, %%acc%d}", at,
                                   acc, acc + 1);
                else
                    dync__ptx_line(
                        &t->p, "st.shared.v4.b32 [%%put+%d], {%%acc%d, %%acc%d, %%acc%d, %%acc%d}",
                        at, acc, acc + 1, acc + 2, acc + 3);
            }
        dync__gm_flush(g, part * rows, rows, row);
    }
}

DYNC__FN void dync__gm_simt(dync__gm *g)
{
    dync__cuda_tile *t = &g->t;
    const char *type = dync__ptx_type(g->compute);
    g->acc_bytes = dync__dtype_info(g->compute)->bytes;
    /* else ptxas spills a little to get under 64 registers */
    if (g->acc_bytes == 8) t->directives = ".minnctapersm 2\n";
    int own = dync__gms_own(g), group = dync__gms_group(g);
    g->side_at[1] = DYNC__GMS_DEPTH * dync__gms_row(g, 0);
    g->stage_bytes = DYNC__GMS_DEPTH * (dync__gms_row(g, 0) + dync__gms_row(g, 1));
    dync__gm_place(g);
    for (int s = 0; s < 2; s++)
        if (g->side[s].gather)
            dync__gm_gather_single_begin(g, s, dync__gms_lines(g, s));
        else
            dync__gms_begin(g, s);
    dync__cuda_tile_set(t, "u32", "%tx", "rem", "%%thr, %d", g->tile.n / own);
    dync__cuda_tile_set(t, "u32", "%ty", "div", "%%thr, %d", g->tile.n / own);
    dync__cuda_tile_set(t, "u32", "%la", "mul.lo", "%%ty, %d", group * g->acc_bytes);
    dync__cuda_tile_set(t, "u32", "%lb", "mul.lo", "%%tx, %d", group * g->acc_bytes);
    dync__ptx_reg(&t->p, "u32", "%ra");
    dync__ptx_reg(&t->p, "u32", "%rb");
    dync__cuda_tile_regs(t, type, "%fa", own);
    dync__cuda_tile_regs(t, type, "%fb", own);
    dync__cuda_tile_regs(t, type, "%acc", own * own);
    for (int i = 0; i < own * own; i++)
        dync__ptx_line(&t->p, "mov.b%d %%acc%d, 0", g->acc_bytes * 8, i);
    dync__gm_pipeline(g, dync__gms_load, dync__gms_compute);
    dync__gms_put(g);
}
