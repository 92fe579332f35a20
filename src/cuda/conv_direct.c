/* cuda/conv_direct.c: convolutions of one channel to a group (depthwise), which are no products.
 * After gemm_end.c, before gemm.c and conv.c.
 *
 * Forward: a thread computes as many neighbours of a row as are stored at once. For each row of the
 * window it reads every column that one of them needs once: 3 x 3, four neighbours: 18 loads
 * instead of 36, which neighbouring threads find in the first cache. Sums are f32 (f64), in the
 * order of the window; what follows is done on them. The data gradient of stride 1 is the same with
 * the window flipped. Data gradient of a longer stride: a thread computes a rectangle as high as
 * the stride, and as wide as the stride or a multiple, so that which elements of the window meet
 * which gradient is known when the text is made: 3 x 3 of stride 2 takes 4 loads for 4 results.
 * Weight gradient: a block has a channel, or some of its positions; a thread adds up for every
 * element of the window at once, four positions side by side at a time. Threads are joined by
 * shuffles and shared memory, blocks by a second launch, in a fixed order. */
#include "../dync.in.h"
#include "gemm.h"
DYNC__COLD

DYNC__FN void dync__gmd_add(dync__gm *g, const char *to, const char *number, int64_t by)
{
    const char *wide = dync__ptx_temp(&g->t.p, "s64");
    dync__ptx_line(&g->t.p, "cvt.s64.s32 %s, %s", wide, number);
    dync__ptx_line(&g->t.p, "mad.lo.s64 %s, %s, %lld, %s", to, wide, (long long)by, to);
}

/* Addresses: %X of x at %image, its channel in the register named, %iy, %ix; %W of the weights of
 * %channel. */
static void dync__gmd_begin(dync__gm *g, const char *channel)
{
    const dync__gm_window *w = g->window_of;
    int64_t bytes = dync__dtype_info(g->dtype)->bytes;
    dync__cuda_tile_set(&g->t, "s64", "%X", "add", "%%b%d, %lld", g->side[1].buf,
                        (long long)(g->side[1].offset * bytes));
    dync__gmd_add(g, "%X", "%image", w->x[0] * bytes);
    dync__gmd_add(g, "%X", channel, w->x[1] * bytes);
    dync__gmd_add(g, "%X", "%iy", w->x[2] * bytes);
    dync__gmd_add(g, "%X", "%ix", w->x[3] * bytes);
    dync__cuda_tile_set(&g->t, "s64", "%W", "add", "%%b%d, %lld", g->side[0].buf,
                        (long long)(g->side[0].offset * bytes));
    dync__gmd_add(g, "%W", "%channel", w->w[0] * bytes);
}

/* Which results: %lin the first one's number, its row, column, channel and image; addresses of what
 * they see first. */
static void dync__gmd_place(dync__gm *g, int vec)
{
    const dync__gm_window *w = g->window_of;
    dync__cuda_tile *t = &g->t;
    dync__ptx_reg(&t->p, "pred", "%out");
    dync__cuda_tile_set(t, "u32", "%lin", "mad.lo", "%%cta, %d, %%thr", DYNC__GMD_THREADS);
    dync__ptx_line(&t->p, "mul.lo.u32 %%lin, %%lin, %d", vec);
    dync__ptx_line(&t->p, "setp.ge.u32 %%out, %%lin, %lld", (long long)(g->m * g->n));
    dync__ptx_line(&t->p, "@%%out ret");
    dync__cuda_tile_set(t, "u32", "%ox", "rem", "%%lin, %lld", (long long)g->n);
    dync__cuda_tile_set(t, "u32", "%rows", "div", "%%lin, %lld", (long long)g->n);
    dync__cuda_tile_set(t, "u32", "%oy", "rem", "%%rows, %lld", (long long)w->oh);
    dync__cuda_tile_set(t, "u32", "%planes", "div", "%%rows, %lld", (long long)w->oh);
    dync__cuda_tile_set(t, "u32", "%channel", "rem", "%%planes, %lld", (long long)w->o);
    dync__cuda_tile_set(t, "u32", "%image", "div", "%%planes, %lld", (long long)w->o);
    dync__cuda_tile_set(t, "u32", "%from", "div", "%%channel, %lld", (long long)w->per);
    dync__cuda_tile_set(t, "s32", "%iy", "mad.lo", "%%oy, %lld, %lld", (long long)w->s[0],
                        (long long)-w->p[0]);
    dync__cuda_tile_set(t, "s32", "%ix", "mad.lo", "%%ox, %lld, %lld", (long long)w->s[1],
                        (long long)-w->p[1]);
    dync__gmd_begin(g, "%from");
}

/* One row of the window: the columns that are seen, the weights, the multiplications. */
static void dync__gmd_row(dync__gm *g, int vec, int64_t ky, const bool *seen, int64_t columns)
{
    const dync__gm_window *w = g->window_of;
    dync__ptx *p = &g->t.p;
    const char *type = dync__ptx_type(g->compute),
               *zero = g->compute == DYNC_F64 ? "0d0000000000000000" : "0f00000000";
    int64_t bytes = dync__dtype_info(g->dtype)->bytes;
    char at[64], guard[40], name[24];
    dync__cuda_tile_note(&g->t, "row %lld of the window", (long long)ky);
    dync__ptx_line(p, "add.s32 %%row, %%iy, %lld", (long long)(ky * w->d[0]));
    dync__ptx_line(p, "setp.lt.u32 %%down, %%row, %lld", (long long)w->h);
    for (int64_t j = 0; j < columns; j++) {
        if (!seen[j]) continue;
        dync__ptx_line(p, "and.pred %%in, %%down, %%in%lld", (long long)j);
        dync__format(name, sizeof name, "%%x%lld_%lld", (long long)ky, (long long)j);
        dync__ptx_reg(p, type, name);
        dync__format(at, sizeof at, "%%X+%lld",
                     (long long)((ky * w->d[0] * w->x[2] + j * w->x[3]) * bytes));
        dync__format(guard, sizeof guard, "@%%in ");
        dync__cuda_tile_load(&g->t, g->dtype, name, at, guard);
        dync__ptx_line(p, "selp.%s %s, %s, %s, %%in", type, name, name, zero);
    }
    for (int64_t kx = 0; kx < w->kw; kx++) {
        dync__format(name, sizeof name, "%%w%lld_%lld", (long long)ky, (long long)kx);
        dync__ptx_reg(p, type, name);
        dync__format(at, sizeof at, "%%W+%lld", (long long)((ky * w->w[2] + kx * w->w[3]) * bytes));
        dync__cuda_tile_load(&g->t, g->dtype, name, at, "");
        for (int v = 0; v < vec; v++)
            dync__ptx_line(p, "fma.rn.%s %%acc%d, %%x%lld_%lld, %s, %%acc%d", type, v,
                           (long long)ky, (long long)(v * w->s[1] + kx * w->d[1]), name, v);
    }
}

static void dync__gmd_forward(dync__gm *g)
{
    const dync__gm_window *w = g->window_of;
    dync__cuda_tile *t = &g->t;
    bool seen[DYNC__GMD_COLUMNS] = {false};
    char value[8][24], name[24];
    int vec = t->p.shape.vec;
    int64_t columns = (vec - 1) * w->s[1] + (w->kw - 1) * w->d[1] + 1;
    dync__gmd_place(g, vec);
    dync__cuda_tile_regs(t, dync__ptx_type(g->compute), "%acc", vec);
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
    dync__cuda_tile_piece(t, "%lin", g->given, value);
    dync__format(name, sizeof name, "conv_%s", dync__dtype_info(g->dtype)->name);
    dync__cuda_tile_entry(t, name, (g->m * g->n / vec + DYNC__GMD_THREADS - 1) / DYNC__GMD_THREADS,
                          1, 1, DYNC__GMD_THREADS);
}

/* ---- data gradient of a stride --------------------------------------------------------------- */

typedef struct dync__gmd_back {
    const dync__gm_window *w;
    int wide; /* columns of a thread's rectangle */
    /* of the gradients that it sees: the first, counted from its own, and how many */
    int64_t low[2], n[2];
    bool loaded[64]; /* elements of the window */
} dync__gmd_back;

/* The gradient that element k of the window, in dim i, meets in row or column `at` of the
 * rectangle, counted from low; -1 none. */
static int64_t dync__gmd_meets(const dync__gmd_back *b, int i, int64_t at, int64_t k)
{
    int64_t place = at + b->w->p[i] - k * b->w->d[i];
    return place % b->w->s[i] ? -1 : place / b->w->s[i] - b->low[i];
}

/* Which rectangle, and where the first gradient and the channel's window lie. Returns the number of
 * threads. */
static int64_t dync__gmd_back_place(dync__gm *g, const dync__gmd_back *b)
{
    const dync__gm_window *w = b->w;
    dync__cuda_tile *t = &g->t;
    int64_t columns = (g->n + b->wide - 1) / b->wide, rows = (w->oh + w->s[0] - 1) / w->s[0],
            all = g->m / w->oh * rows * columns;
    dync__ptx_reg(&t->p, "pred", "%out");
    dync__cuda_tile_set(t, "u32", "%me", "mad.lo", "%%cta, %d, %%thr", DYNC__GMD_THREADS);
    dync__ptx_line(&t->p, "setp.ge.u32 %%out, %%me, %lld", (long long)all);
    dync__ptx_line(&t->p, "@%%out ret");
    dync__cuda_tile_set(t, "u32", "%j", "rem", "%%me, %lld", (long long)columns);
    dync__cuda_tile_set(t, "u32", "%rest", "div", "%%me, %lld", (long long)columns);
    dync__cuda_tile_set(t, "u32", "%i", "rem", "%%rest, %lld", (long long)rows);
    dync__cuda_tile_set(t, "u32", "%planes", "div", "%%rest, %lld", (long long)rows);
    dync__cuda_tile_set(t, "u32", "%channel", "rem", "%%planes, %lld", (long long)w->o);
    dync__cuda_tile_set(t, "u32", "%image", "div", "%%planes, %lld", (long long)w->o);
    dync__cuda_tile_set(t, "s32", "%ix", "mul.lo", "%%j, %lld", (long long)(b->wide / w->s[1]));
    dync__ptx_line(&t->p, "add.s32 %%ix, %%ix, %lld", (long long)b->low[1]);
    dync__cuda_tile_set(t, "s32", "%iy", "add", "%%i, %lld", (long long)b->low[0]);
    dync__gmd_begin(g, "%channel");
    return all;
}

/* acc += gradient (y, x) * the element of the window, which is loaded when it is first met */
static void dync__gmd_back_tap(dync__gm *g, dync__gmd_back *b, int64_t ky, int64_t kx, int acc,
                               int64_t y, int64_t x)
{
    const dync__gm_window *w = b->w;
    const char *type = dync__ptx_type(g->compute);
    char name[24], at[40];
    dync__format(name, sizeof name, "%%w%lld_%lld", (long long)ky, (long long)kx);
    if (!b->loaded[ky * w->kw + kx]) {
        dync__ptx_reg(&g->t.p, type, name);
        dync__format(
            at, sizeof at, "%%W+%lld",
            (long long)((ky * w->w[2] + kx * w->w[3]) * dync__dtype_info(g->dtype)->bytes));
        dync__cuda_tile_load(&g->t, g->dtype, name, at, "");
        b->loaded[ky * w->kw + kx] = true;
    }
    dync__ptx_line(&g->t.p, "fma.rn.%s %%acc%d, %%x%lld_%lld, %s, %%acc%d", type, acc, (long long)y,
                   (long long)x, name, acc);
}

/* Row y of the gradients: what of it is met is loaded, then multiplied. */
static void dync__gmd_back_row(dync__gm *g, dync__gmd_back *b, int64_t y)
{
    const dync__gm_window *w = b->w;
    dync__ptx *p = &g->t.p;
    const char *type = dync__ptx_type(g->compute),
               *zero = g->compute == DYNC_F64 ? "0d0000000000000000" : "0f00000000";
    int64_t bytes = dync__dtype_info(g->dtype)->bytes;
    bool loaded[DYNC__GMD_COLUMNS] = {false};
    char name[32], at[40];
    dync__cuda_tile_note(&g->t, "row %lld of the gradients", (long long)(y + b->low[0]));
    dync__ptx_line(p, "add.s32 %%row, %%iy, %lld", (long long)y);
    dync__ptx_line(p, "setp.lt.u32 %%down, %%row, %lld", (long long)w->h);
    for (int64_t r = 0; r < w->s[0]; r++)
        for (int64_t ky = 0; ky < w->kh; ky++)
            for (int64_t c = 0; c < b->wide && dync__gmd_meets(b, 0, r, ky) == y; c++)
                for (int64_t kx = 0; kx < w->kw; kx++) {
                    int64_t x = dync__gmd_meets(b, 1, c, kx);
                    if (x < 0) continue;
                    if (!loaded[x]) {
                        dync__format(name, sizeof name, "%%x%lld_%lld", (long long)y, (long long)x);
                        dync__ptx_reg(p, type, name);
                        dync__ptx_line(p, "and.pred %%in, %%down, %%in%lld", (long long)x);
                        dync__format(at, sizeof at, "%%X+%lld",
                                     (long long)((y * w->x[2] + x * w->x[3]) * bytes));
                        dync__cuda_tile_load(&g->t, g->dtype, name, at, "@%in ");
                        dync__ptx_line(p, "selp.%s %s, %s, %s, %%in", type, name, name, zero);
                        loaded[x] = true;
                    }
                    dync__gmd_back_tap(g, b, ky, kx, (int)(r * b->wide + c), y, x);
                }
}

static void dync__gmd_backward(dync__gm *g)
{
    const dync__gm_window *w = g->window_of;
    dync__cuda_tile *t = &g->t;
    dync__gmd_back b = {.w = w};
    int vec = t->p.shape.vec;
    char value[8][24], name[32];
    for (b.wide = vec; b.wide % w->s[1];) b.wide += vec;
    for (int i = 0; i < 2; i++) {
        int64_t last = i ? w->kw - 1 : w->kh - 1, lowest = w->p[i] - last * w->d[i],
                most = (i ? b.wide : w->s[0]) - 1 + w->p[i];
        b.low[i] = lowest >= 0 ? lowest / w->s[i] : -((w->s[i] - 1 - lowest) / w->s[i]);
        b.n[i] = most / w->s[i] - b.low[i] + 1;
    }
    int64_t threads = dync__gmd_back_place(g, &b);
    dync__cuda_tile_regs(t, dync__ptx_type(g->compute), "%acc", (int)w->s[0] * b.wide);
    dync__cuda_tile_regs(t, "pred", "%in", (int)b.n[1]);
    dync__ptx_reg(&t->p, "s32", "%row");
    dync__ptx_reg(&t->p, "pred", "%down");
    dync__ptx_reg(&t->p, "pred", "%in");
    for (int a = 0; a < w->s[0] * b.wide; a++)
        dync__ptx_line(&t->p, "mov.b%d %%acc%d, 0", dync__dtype_info(g->compute)->bytes * 8, a);
    for (int64_t x = 0; x < b.n[1]; x++) {
        dync__ptx_line(&t->p, "add.s32 %%row, %%ix, %lld", (long long)x);
        dync__ptx_line(&t->p, "setp.lt.u32 %%in%lld, %%row, %lld", (long long)x,
                       (long long)w->w_in);
    }
    for (int64_t y = 0; y < b.n[0]; y++) dync__gmd_back_row(g, &b, y);
    dync__cuda_tile_set(t, "u32", "%line", "mul.lo", "%%planes, %lld", (long long)w->oh);
    dync__ptx_line(&t->p, "mad.lo.u32 %%line, %%i, %lld, %%line", (long long)w->s[0]);
    dync__cuda_tile_set(t, "u32", "%at", "mul.lo", "%%j, %d", b.wide);
    for (int r = 0; r < w->s[0]; r++)
        for (int q = 0; q < b.wide / vec; q++) {
            dync__ptx_line(&t->p, "mad.lo.u32 %%row, %%i, %lld, %d", (long long)w->s[0], r);
            dync__ptx_line(&t->p, "setp.ge.u32 %%out, %%row, %lld", (long long)w->oh);
            dync__ptx_line(&t->p, "add.u32 %%row, %%at, %d", q * vec);
            dync__ptx_line(&t->p, "setp.ge.or.u32 %%out, %%row, %lld, %%out", (long long)g->n);
            dync__ptx_line(&t->p, "@%%out bra PAST%d_%d", r, q);
            dync__format(name, sizeof name, "%%lin%d_%d", r, q);
            dync__cuda_tile_set(t, "u32", name, "add", "%%line, %d", r);
            dync__ptx_line(&t->p, "mad.lo.u32 %s, %s, %lld, %%row", name, name, (long long)g->n);
            for (int v = 0; v < vec; v++)
                dync__format(value[v], sizeof value[v], "%%acc%d", r * b.wide + q * vec + v);
            dync__cuda_tile_piece(t, name, g->given, value);
            dync__cuda_tile_label(t, "PAST%d_%d", r, q);
        }
    dync__format(name, sizeof name, "conv_back_%s", dync__dtype_info(g->dtype)->name);
    dync__cuda_tile_entry(t, name, (threads + DYNC__GMD_THREADS - 1) / DYNC__GMD_THREADS, 1, 1,
                          DYNC__GMD_THREADS);
}

DYNC__FN void dync__gm_direct(dync__gm *g)
{
    if (g->window_of->back)
        dync__gmd_backward(g);
    else
        dync__gmd_forward(g);
}
