/* cuda/conv_direct_weight.c: the weight gradient of a depthwise convolution on a GPU: a block a
 * channel and a part of the images. After conv_direct.c, before gemm.c. */
#include "../dync.in.h"
#include "gemm.h"
DYNC__COLD

/* ---- weight gradient ------------------------------------------------------------------------- */

/* The thread's positions: %item, of %stop; acc += gradient * x for every element of the window. */
static void dync__gmd_weight_loop(dync__gm *g, int64_t groups, const int64_t *ys)
{
    const dync__gm_window *w = g->window_of;
    dync__cuda_tile *t = &g->t;
    dync__ptx *p = &t->p;
    const char *type = dync__ptx_type(g->compute),
               *zero = g->compute == DYNC_F64 ? "0d0000000000000000" : "0f00000000";
    int64_t bytes = dync__dtype_info(g->dtype)->bytes,
            columns = (DYNC__GMD_SIDE - 1) * w->s[1] + (w->kw - 1) * w->d[1] + 1;
    bool seen[DYNC__GMD_COLUMNS] = {false};
    char at[48], guard[24], name[24];
    static const char *const s32[] = {"%ox", "%oy", "%image", "%iy", "%ix", "%row"};
    for (int i = 0; i < DYNC__COUNT_OF(s32); i++) dync__ptx_reg(p, "s32", s32[i]);
    dync__ptx_reg(p, "s64", "%x");
    dync__ptx_reg(p, "s64", "%y");
    dync__ptx_reg(p, "pred", "%down");
    dync__ptx_reg(p, "pred", "%in");
    dync__cuda_tile_regs(t, type, "%g", DYNC__GMD_SIDE);
    dync__cuda_tile_regs(t, type, "%v", (int)columns);
    dync__cuda_tile_regs(t, "pred", "%in", (int)columns);
    dync__cuda_tile_regs(t, "pred", "%is", DYNC__GMD_SIDE);
    dync__cuda_tile_label(t, "NEXT");
    dync__ptx_line(p, "setp.ge.s32 %%out, %%item, %%stop");
    dync__ptx_line(p, "@%%out bra DONE");
    dync__ptx_line(p, "rem.s32 %%ox, %%item, %lld", (long long)groups);
    dync__ptx_line(p, "mul.lo.s32 %%ox, %%ox, %d", DYNC__GMD_SIDE);
    dync__ptx_line(p, "div.s32 %%row, %%item, %lld", (long long)groups);
    dync__ptx_line(p, "rem.s32 %%oy, %%row, %lld", (long long)w->oh);
    dync__ptx_line(p, "div.s32 %%image, %%row, %lld", (long long)w->oh);
    dync__ptx_line(p, "mad.lo.s32 %%iy, %%oy, %lld, %lld", (long long)w->s[0], (long long)-w->p[0]);
    dync__ptx_line(p, "mad.lo.s32 %%ix, %%ox, %lld, %lld", (long long)w->s[1], (long long)-w->p[1]);
    dync__ptx_line(p, "mov.b64 %%x, %%X");
    dync__ptx_line(p, "mov.b64 %%y, %%Y");
    dync__gmd_add(g, "%x", "%image", w->x[0] * bytes);
    dync__gmd_add(g, "%x", "%iy", w->x[2] * bytes);
    dync__gmd_add(g, "%x", "%ix", w->x[3] * bytes);
    dync__gmd_add(g, "%y", "%image", ys[0] * bytes);
    dync__gmd_add(g, "%y", "%oy", ys[2] * bytes);
    dync__gmd_add(g, "%y", "%ox", ys[3] * bytes);
    for (int v = 0; v < DYNC__GMD_SIDE; v++) {
        dync__ptx_line(p, "add.s32 %%row, %%ox, %d", v);
        dync__ptx_line(p, "setp.lt.s32 %%is%d, %%row, %lld", v, (long long)g->n);
        dync__format(name, sizeof name, "%%g%d", v);
        dync__format(at, sizeof at, "%%y+%lld", (long long)(v * ys[3] * bytes));
        dync__format(guard, sizeof guard, "@%%is%d ", v);
        dync__cuda_tile_load(t, g->dtype, name, at, guard);
        dync__ptx_line(p, "selp.%s %s, %s, %s, %%is%d", type, name, name, zero, v);
        for (int64_t kx = 0; kx < w->kw; kx++) seen[v * w->s[1] + kx * w->d[1]] = true;
    }
    for (int64_t j = 0; j < columns; j++) {
        if (!seen[j]) continue;
        dync__ptx_line(p, "add.s32 %%row, %%ix, %lld", (long long)j);
        dync__ptx_line(p, "setp.lt.u32 %%in%lld, %%row, %lld", (long long)j, (long long)w->w_in);
    }
    for (int64_t ky = 0; ky < w->kh; ky++) {
        dync__cuda_tile_note(t, "row %lld of the window", (long long)ky);
        dync__ptx_line(p, "add.s32 %%row, %%iy, %lld", (long long)(ky * w->d[0]));
        dync__ptx_line(p, "setp.lt.u32 %%down, %%row, %lld", (long long)w->h);
        for (int64_t j = 0; j < columns; j++) {
            if (!seen[j]) continue;
            dync__ptx_line(p, "and.pred %%in, %%down, %%in%lld", (long long)j);
            dync__format(name, sizeof name, "%%v%lld", (long long)j);
            dync__format(at, sizeof at, "%%x+%lld",
                         (long long)((ky * w->d[0] * w->x[2] + j * w->x[3]) * bytes));
            dync__cuda_tile_load(t, g->dtype, name, at, "@%in ");
            dync__ptx_line(p, "selp.%s %s, %s, %s, %%in", type, name, name, zero);
        }
        for (int64_t kx = 0; kx < w->kw; kx++)
            for (int v = 0; v < DYNC__GMD_SIDE; v++) {
                long long acc = (long long)(ky * w->kw + kx);
                dync__ptx_line(p, "fma.rn.%s %%acc%lld, %%v%lld, %%g%d, %%acc%lld", type, acc,
                               (long long)(v * w->s[1] + kx * w->d[1]), v, acc);
            }
    }
    dync__ptx_line(p, "add.s32 %%item, %%item, %d", DYNC__GMD_THREADS);
    dync__ptx_line(p, "bra NEXT");
    dync__cuda_tile_label(t, "DONE");
}

/* name, of all lanes of the warp added up, in each; the scratch registers it takes. */
static void dync__gmd_warp_regs(dync__gm *g)
{
    dync__ptx_reg(&g->t.p, dync__ptx_type(g->compute), "%sum");
    dync__ptx_reg(&g->t.p, dync__ptx_type(g->compute), "%other");
    dync__ptx_reg(&g->t.p, "b32", "%low");
    dync__ptx_reg(&g->t.p, "b32", "%high");
}
static void dync__gmd_warp_sum(dync__gm *g, const char *name)
{
    dync__ptx *p = &g->t.p;
    bool wide = g->compute == DYNC_F64;
    for (int distance = 16; distance > 0; distance /= 2) {
        dync__ptx_line(p, wide ? "mov.b64 {%%low, %%high}, %s" : "mov.b32 %%low, %s", name);
        dync__ptx_line(p, "shfl.sync.bfly.b32 %%low, %%low, %d, 31, 0xffffffff", distance);
        if (wide)
            dync__ptx_line(p, "shfl.sync.bfly.b32 %%high, %%high, %d, 31, 0xffffffff", distance);
        dync__ptx_line(p, wide ? "mov.b64 %%other, {%%low, %%high}" : "mov.b32 %%other, %%low");
        dync__ptx_line(p, "add.rn.%s %s, %s, %%other", dync__ptx_type(g->compute), name, name);
    }
}

/* acc0 .. of all threads added up: the sum of element q in thread q, %sum; the other threads
 * leave. */
static void dync__gmd_weight_join(dync__gm *g, int taps)
{
    dync__cuda_tile *t = &g->t;
    dync__ptx *p = &t->p;
    const char *type = dync__ptx_type(g->compute);
    int bytes = dync__dtype_info(g->compute)->bytes;
    char name[16];
    dync__gmd_warp_regs(g);
    dync__ptx_reg(p, "pred", "%lead");
    (void)dync__cuda_tile_shared(t, DYNC__GMD_WARPS * taps * bytes, 8);
    dync__cuda_tile_set(t, "u32", "%slot", "mad.lo", "%%warp, %d, %%smem", taps * bytes);
    dync__ptx_line(p, "setp.eq.u32 %%lead, %%lane, 0");
    for (int q = 0; q < taps; q++) {
        dync__format(name, sizeof name, "%%acc%d", q);
        dync__gmd_warp_sum(g, name);
        dync__ptx_line(p, "@%%lead st.shared.%s [%%slot+%d], %%acc%d", type, q * bytes, q);
    }
    dync__cuda_tile_barrier(t);
    dync__ptx_line(p, "setp.ge.u32 %%out, %%thr, %d", taps);
    dync__ptx_line(p, "@%%out ret");
    dync__ptx_line(p, "mad.lo.u32 %%slot, %%thr, %d, %%smem", bytes);
    dync__ptx_line(p, "ld.shared.%s %%sum, [%%slot]", type);
    for (int warp = 1; warp < DYNC__GMD_WARPS; warp++) {
        dync__ptx_line(p, "ld.shared.%s %%other, [%%slot+%d]", type, warp * taps * bytes);
        dync__ptx_line(p, "add.rn.%s %%sum, %%sum, %%other", type);
    }
}

/* The place of element `tap` (u32) of channel `channel` in the result: %to; %sum goes there. */
static void dync__gmd_weight_put(dync__gm *g, const char *tap, const char *channel)
{
    const dync__gm_window *w = g->window_of;
    dync__cuda_tile *t = &g->t;
    int64_t bytes = dync__dtype_info(g->dtype)->bytes;
    dync__cuda_tile_set(t, "u32", "%kx", "rem", "%s, %lld", tap, (long long)w->kw);
    dync__cuda_tile_set(t, "u32", "%ky", "div", "%s, %lld", tap, (long long)w->kw);
    dync__cuda_tile_set(t, "s64", "%to", "add", "%%b2, %lld",
                        (long long)(g->side[0].offset * bytes));
    dync__gmd_add(g, "%to", channel, w->w[0] * bytes);
    dync__gmd_add(g, "%to", "%ky", w->w[2] * bytes);
    dync__gmd_add(g, "%to", "%kx", w->w[3] * bytes);
    dync__cuda_tile_store(t, g->dtype, "%to", "%sum", "");
}

DYNC__FN bool dync__gm_direct_weight(dync__cuda_code *code, dync__gm *g, int64_t images,
                                     int64_t y_offset, const int64_t *ys, const int32_t *buf)
{
    const dync__gm_window *w = g->window_of;
    dync__cuda_tile *t = &g->t;
    dync__ptx *p = &t->p;
    int taps = (int)(w->kh * w->kw), bytes = dync__dtype_info(g->compute)->bytes;
    int64_t of = dync__dtype_info(g->dtype)->bytes,
            groups = (g->n + DYNC__GMD_SIDE - 1) / DYNC__GMD_SIDE, items = images * w->oh * groups;
    int64_t units = dync__cuda_unit_of(code->device >> 8)->units,
            most = (items + 4 * DYNC__GMD_THREADS - 1) / (4 * DYNC__GMD_THREADS);
    int64_t parts = DYNC__MAX(DYNC__MIN(DYNC__MIN((8 * units + w->o - 1) / w->o, most), 512), 1),
            chunk = (items + parts - 1) / parts;
    dync__cuda_tile_begin(t, 3);
    dync__ptx_reg(p, "pred", "%out");
    dync__cuda_tile_set(t, "u32", "%channel", "rem", "%%cta, %lld", (long long)w->o);
    dync__cuda_tile_set(t, "u32", "%part", "div", "%%cta, %lld", (long long)w->o);
    dync__cuda_tile_set(t, "u32", "%from", "div", "%%channel, %lld", (long long)w->per);
    dync__cuda_tile_set(t, "s32", "%item", "mul.lo", "%%part, %lld", (long long)chunk);
    dync__cuda_tile_set(t, "s32", "%stop", "add", "%%item, %lld", (long long)chunk);
    dync__ptx_line(p, "min.s32 %%stop, %%stop, %lld", (long long)items);
    dync__ptx_line(p, "add.s32 %%item, %%item, %%thr");
    dync__cuda_tile_set(t, "s64", "%X", "add", "%%b0, %lld", (long long)(g->side[1].offset * of));
    dync__gmd_add(g, "%X", "%from", w->x[1] * of);
    dync__cuda_tile_set(t, "s64", "%Y", "add", "%%b1, %lld", (long long)(y_offset * of));
    dync__gmd_add(g, "%Y", "%channel", ys[1] * of);
    dync__cuda_tile_regs(t, dync__ptx_type(g->compute), "%acc", taps);
    for (int q = 0; q < taps; q++) dync__ptx_line(p, "mov.b%d %%acc%d, 0", 8 * bytes, q);
    dync__gmd_weight_loop(g, groups, ys);
    dync__gmd_weight_join(g, taps);
    /* partial sums [channel, element][part] */
    if (parts > 1) {
        t->out.scratch_bytes = w->o * taps * parts * bytes;
        dync__cuda_tile_scratch(t);
        dync__ptx_line(p, "mad.lo.u32 %%channel, %%channel, %d, %%thr", taps);
        dync__ptx_line(p, "mad.lo.u32 %%channel, %%channel, %lld, %%part", (long long)parts);
        dync__ptx_line(p, "mad.wide.u32 %%x, %%channel, %d, %%scratch", bytes);
        dync__ptx_line(p, "st.global.%s [%%x], %%sum", dync__ptx_type(g->compute));
    } else {
        dync__gmd_weight_put(g, "%thr", "%channel");
    }
    dync__cuda_tile_entry(t, "conv_weight", w->o * parts, 1, 1, DYNC__GMD_THREADS);
    if (parts == 1) return dync__cuda_tile_end(t, code, buf);
    /* a warp an element: lanes take its parts in turn */
    dync__cuda_tile_next(t);
    dync__ptx_reg(p, "pred", "%out");
    dync__cuda_tile_set(t, "u32", "%me", "mad.lo", "%%cta, %d, %%warp", DYNC__GMD_WARPS);
    dync__ptx_line(p, "setp.ge.u32 %%out, %%me, %lld", (long long)(w->o * taps));
    dync__ptx_line(p, "@%%out ret");
    dync__gmd_warp_regs(g);
    dync__cuda_tile_scratch(t);
    dync__cuda_tile_set(t, "u32", "%place", "mad.lo", "%%me, %lld, %%lane", (long long)parts);
    dync__cuda_tile_wide(t, "%x", NULL);
    dync__ptx_line(p, "mad.wide.u32 %%x, %%place, %d, %%scratch", bytes);
    dync__ptx_line(p, "mov.b%d %%sum, 0", 8 * bytes);
    for (int64_t k = 0; k < parts; k += 32) {
        dync__ptx_line(p, "mov.b%d %%other, 0", 8 * bytes);
        dync__ptx_line(p, "setp.lt.u32 %%out, %%lane, %lld", (long long)(parts - k));
        dync__ptx_line(p, "@%%out ld.global.%s %%other, [%%x+%lld]", dync__ptx_type(g->compute),
                       (long long)(k * bytes));
        dync__ptx_line(p, "add.rn.%s %%sum, %%sum, %%other", dync__ptx_type(g->compute));
    }
    dync__gmd_warp_sum(g, "%sum");
    dync__ptx_line(p, "setp.ne.u32 %%out, %%lane, 0");
    dync__ptx_line(p, "@%%out ret");
    dync__cuda_tile_set(t, "u32", "%tap", "rem", "%%me, %d", taps);
    dync__cuda_tile_set(t, "u32", "%channel", "div", "%%me, %d", taps);
    dync__gmd_weight_put(g, "%tap", "%channel");
    dync__cuda_tile_entry(t, "conv_weight", (w->o * taps + DYNC__GMD_WARPS - 1) / DYNC__GMD_WARPS,
                          1, 1, DYNC__GMD_THREADS);
    return dync__cuda_tile_end(t, code, buf);
}
