/* cuda/conv_direct.c: convolutions of one channel to a group (depthwise), which are no products. After gemm_end.c, before gemm.c and conv.c.
 *
 * A thread computes as many neighbours of a row as are stored at once. For each row of the window it reads every column that one of them needs
 * once: 3 x 3, four neighbours: 18 loads instead of 36, which neighbouring threads find in the first cache. Sums are f32 (f64), in the order of the
 * window; what follows is done on them. The data gradient of stride 1 is the same with the window turned. */
#include "../dync.in.h"
#include "gemm.h"

enum { DYNC__GMD_THREADS = 128 };

/* to += register * by (b32, signed), in 64 bits */
static void dync__gmd_add(dync__gm *g, const char *to, const char *number, int64_t by)
{
    const char *wide = dync__ptx_temp(&g->t.p, "s64");
    dync__ptx_line(&g->t.p, "cvt.s64.s32 %s, %s", wide, number);
    dync__ptx_line(&g->t.p, "mad.lo.s64 %s, %s, %lld, %s", to, wide, (long long)by, to);
}

/* Which results: %lin the first one's number, its row, column, channel and image; addresses of what they see first. */
static void dync__gmd_place(dync__gm *g, int vec)
{
    const dync__gm_window *w = g->window_of;
    dync__tile *t = &g->t;
    int64_t bytes = dync__dtype_info(g->dtype)->bytes;
    dync__ptx_reg(&t->p, "pred", "%out");
    dync__tile_set(t, "u32", "%lin", "mad.lo", "%%cta, %d, %%thr", DYNC__GMD_THREADS);
    dync__ptx_line(&t->p, "mul.lo.u32 %%lin, %%lin, %d", vec);
    dync__ptx_line(&t->p, "setp.ge.u32 %%out, %%lin, %lld", (long long)(g->m * g->n));
    dync__ptx_line(&t->p, "@%%out ret");
    dync__tile_set(t, "u32", "%ox", "rem", "%%lin, %lld", (long long)g->n);
    dync__tile_set(t, "u32", "%rows", "div", "%%lin, %lld", (long long)g->n);
    dync__tile_set(t, "u32", "%oy", "rem", "%%rows, %lld", (long long)w->oh);
    dync__tile_set(t, "u32", "%planes", "div", "%%rows, %lld", (long long)w->oh);
    dync__tile_set(t, "u32", "%channel", "rem", "%%planes, %lld", (long long)w->o);
    dync__tile_set(t, "u32", "%image", "div", "%%planes, %lld", (long long)w->o);
    dync__tile_set(t, "u32", "%from", "div", "%%channel, %lld", (long long)w->per);
    dync__tile_set(t, "s32", "%iy", "mad.lo", "%%oy, %lld, %lld", (long long)w->s[0], (long long)-w->p[0]);
    dync__tile_set(t, "s32", "%ix", "mad.lo", "%%ox, %lld, %lld", (long long)w->s[1], (long long)-w->p[1]);
    dync__tile_set(t, "s64", "%X", "add", "%%b%d, %lld", g->side[1].buf, (long long)(g->side[1].offset * bytes));
    dync__gmd_add(g, "%X", "%image", w->x[0] * bytes);
    dync__gmd_add(g, "%X", "%from", w->x[1] * bytes);
    dync__gmd_add(g, "%X", "%iy", w->x[2] * bytes);
    dync__gmd_add(g, "%X", "%ix", w->x[3] * bytes);
    dync__tile_set(t, "s64", "%W", "add", "%%b%d, %lld", g->side[0].buf, (long long)(g->side[0].offset * bytes));
    dync__gmd_add(g, "%W", "%channel", w->w[0] * bytes);
}

/* One row of the window: the columns that are seen, the weights, the multiplications. */
static void dync__gmd_row(dync__gm *g, int vec, int64_t ky, const bool *seen, int64_t columns)
{
    const dync__gm_window *w = g->window_of;
    dync__ptx *p = &g->t.p;
    const char *type = dync__ptx_type(g->compute), *zero = g->compute == DYNC_F64 ? "0d0000000000000000" : "0f00000000";
    int64_t bytes = dync__dtype_info(g->dtype)->bytes;
    char at[64], guard[40], name[24];
    dync__tile_note(&g->t, "row %lld of the window", (long long)ky);
    dync__ptx_line(p, "add.s32 %%row, %%iy, %lld", (long long)(ky * w->d[0]));
    dync__ptx_line(p, "setp.lt.u32 %%down, %%row, %lld", (long long)w->h);
    for (int64_t j = 0; j < columns; j++) {
        if (!seen[j]) continue;
        dync__ptx_line(p, "and.pred %%in, %%down, %%in%lld", (long long)j);
        dync__format(name, sizeof name, "%%x%lld_%lld", (long long)ky, (long long)j);
        dync__ptx_reg(p, type, name);
        dync__format(at, sizeof at, "%%X+%lld", (long long)((ky * w->d[0] * w->x[2] + j * w->x[3]) * bytes));
        dync__format(guard, sizeof guard, "@%%in ");
        dync__tile_load(&g->t, g->dtype, name, at, guard);
        dync__ptx_line(p, "selp.%s %s, %s, %s, %%in", type, name, name, zero);
    }
    for (int64_t kx = 0; kx < w->kw; kx++) {
        dync__format(name, sizeof name, "%%w%lld_%lld", (long long)ky, (long long)kx);
        dync__ptx_reg(p, type, name);
        dync__format(at, sizeof at, "%%W+%lld", (long long)((ky * w->w[2] + kx * w->w[3]) * bytes));
        dync__tile_load(&g->t, g->dtype, name, at, "");
        for (int v = 0; v < vec; v++)
            dync__ptx_line(p, "fma.rn.%s %%acc%d, %%x%lld_%lld, %s, %%acc%d", type, v, (long long)ky, (long long)(v * w->s[1] + kx * w->d[1]), name, v);
    }
}

DYNC__FN void dync__gm_direct(dync__gm *g)
{
    const dync__gm_window *w = g->window_of;
    dync__tile *t = &g->t;
    bool seen[DYNC__GMD_COLUMNS] = {false};
    char value[8][24], name[24];
    int vec = t->p.shape.vec;
    int64_t columns = (vec - 1) * w->s[1] + (w->kw - 1) * w->d[1] + 1;
    dync__gmd_place(g, vec);
    dync__tile_regs(t, dync__ptx_type(g->compute), "%acc", vec);
    dync__ptx_reg(&t->p, "s32", "%row");
    dync__ptx_reg(&t->p, "pred", "%down");
    dync__ptx_reg(&t->p, "pred", "%in");
    for (int v = 0; v < vec; v++) {
        dync__format(value[v], sizeof value[v], "%%acc%d", v);
        dync__ptx_line(&t->p, "mov.b%d %%acc%d, 0", dync__dtype_info(g->compute)->bytes * 8, v);
        for (int64_t kx = 0; kx < w->kw; kx++) seen[v * w->s[1] + kx * w->d[1]] = true;
    }
    for (int64_t j = 0; j < columns; j++) {
        if (!seen[j]) continue;
        dync__format(name, sizeof name, "%%in%lld", (long long)j);
        dync__ptx_reg(&t->p, "pred", name);
        dync__ptx_line(&t->p, "add.s32 %%row, %%ix, %lld", (long long)j);
        dync__ptx_line(&t->p, "setp.lt.u32 %s, %%row, %lld", name, (long long)w->w_in);
    }
    for (int64_t ky = 0; ky < w->kh; ky++) dync__gmd_row(g, vec, ky, seen, columns);
    dync__tile_piece(t, "%lin", g->given, value);
    dync__format(name, sizeof name, "conv_%s", dync__dtype_info(g->dtype)->name);
    dync__tile_entry(t, name, (g->m * g->n / vec + DYNC__GMD_THREADS - 1) / DYNC__GMD_THREADS, 1, 1, DYNC__GMD_THREADS);
}
