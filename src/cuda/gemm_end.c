/* cuda/gemm_end.c: from sums to results: the loop kernel `end` on each group of neighbours in a
 * row, or partial sums and the launch that joins them. Before gemm_mma.c and gemm_simt.c,
 * whose sums they are. */
#include "../dync.in.h"
#include "gemm.h"
DYNC__COLD

DYNC__FN void dync__gm_read_sums(dync__gm *g, const char *space, const char *address, int n,
                                 char value[][24])
{
    dync__ptx *p = &g->t.p;
    const char *type = dync__ptx_type(g->compute);
    int per = 16 / g->acc_bytes;
    for (int i = 0; i < n; i++)
        dync__format(value[i], sizeof value[i], "%s", dync__ptx_temp(p, type));
    for (int i = 0; i < n; i += per) {
        int count = DYNC__MIN(n - i, per);
        char list[120];
        int at = dync__format(list, sizeof list, "%s%s", count > 1 ? "{" : "", value[i]);
        for (int k = 1; k < count; k++)
            at += dync__format(list + at, sizeof list - (size_t)at, ", %s", value[i + k]);
        dync__ptx_line(p, "ld.%s%s.b%d %s%s, [%s+%d]", space,
                       count == 4   ? ".v4"
                       : count == 2 ? ".v2"
                                    : "",
                       g->acc_bytes * 8, list, count > 1 ? "}" : "", address, i * g->acc_bytes);
    }
}

/* Neighbours that partial sums are moved in. */
static int dync__gm_partial_vec(const dync__gm *g)
{
    int vec = 16 / g->acc_bytes;
    while (g->n % vec) vec /= 2;
    return vec;
}

DYNC__FN void dync__gm_linear(dync__gm *g, const char *name, const char *first, const char *second)
{
    dync__ptx *p = &g->t.p;
    const char *row = g->swapped ? second : first, *column = g->swapped ? first : second;
    int64_t m = g->swapped ? g->n : g->m, n = g->swapped ? g->m : g->n;
    dync__ptx_reg(p, p->index, name);
    if (p->index[1] == '3') {
        dync__ptx_line(p, "mad.lo.u32 %s, %%batch, %lld, %s", name, (long long)m, row);
        dync__ptx_line(p, "mad.lo.u32 %s, %s, %lld, %s", name, name, (long long)n, column);
        return;
    }
    const char *wide = dync__ptx_temp(p, "u64");
    dync__ptx_line(p, "cvt.u64.u32 %s, %s", wide, row);
    dync__ptx_line(p, "cvt.u64.u32 %s, %%batch", name);
    dync__ptx_line(p, "mad.lo.u64 %s, %s, %lld, %s", name, name, (long long)m, wide);
    dync__ptx_line(p, "cvt.u64.u32 %s, %s", wide, column);
    dync__ptx_line(p, "mad.lo.u64 %s, %s, %lld, %s", name, name, (long long)n, wide);
}

static void dync__gm_wide_index(dync__gm *g, const char *to, const char *linear)
{
    dync__ptx_reg(&g->t.p, "b64", to);
    dync__ptx_line(&g->t.p, g->t.p.index[1] == '3' ? "cvt.u64.u32 %s, %s" : "mov.b64 %s, %s", to,
                   linear);
}

DYNC__FN void dync__gm_result(dync__gm *g, int number, const char *row, const char *column, int n,
                              char value[][24])
{
    dync__ptx *p = &g->t.p;
    char lin[24], at[24], list[120];
    dync__format(lin, sizeof lin, "%%lin_%d", number);
    dync__format(at, sizeof at, "%%at_%d", number);
    dync__gm_linear(g, lin, row, column);
    if (g->splits == 1) {
        dync__cuda_tile_piece(&g->t, lin, g->given, value);
        return;
    }
    int length = dync__format(list, sizeof list, "%s", value[0]);
    const char *part = dync__ptx_temp(p, "b64");
    for (int i = 1; i < n; i++)
        length += dync__format(list + length, sizeof list - (size_t)length, ", %s", value[i]);
    dync__gm_wide_index(g, at, lin);
    dync__ptx_line(p, "cvt.u64.u32 %s, %%split", part);
    dync__ptx_line(p, "mad.lo.s64 %s, %s, %lld, %s", at, part,
                   (long long)(g->batches * g->m * g->n), at);
    dync__ptx_line(p, "mad.lo.s64 %s, %s, %d, %%scratch", at, at, g->acc_bytes);
    dync__ptx_line(p, "st.global%s.b%d [%s], %s%s%s",
                   n == 4   ? ".v4"
                   : n == 2 ? ".v2"
                            : "",
                   g->acc_bytes * 8, at, n > 1 ? "{" : "", list, n > 1 ? "}" : "");
}

DYNC__FN void dync__gm_flush(dync__gm *g, int from, int rows, int row_bytes)
{
    dync__cuda_tile *t = &g->t;
    dync__ptx *p = &t->p;
    int vec = g->splits > 1 ? dync__gm_partial_vec(g) : p->shape.vec, groups = g->tile.n / vec;
    char name[6][24], value[8][24];
    static const char *const names[] = {"q", "row", "col", "sum", "more", "in"};
    for (int i = 0; i < 6; i++) dync__format(name[i], sizeof name[i], "%%%s_%d", names[i], from);
    const char *q = name[0], *row = name[1], *col = name[2], *sum = name[3], *more = name[4],
               *in = name[5];
    dync__cuda_tile_barrier(t);
    dync__cuda_tile_set(t, "u32", q, "mov", "%%thr");
    dync__ptx_reg(p, "pred", more);
    dync__ptx_reg(p, "pred", in);
    dync__cuda_tile_label(t, "ROWS_%d", from);
    dync__cuda_tile_set(t, "u32", row, "div", "%s, %d", q, groups);
    dync__cuda_tile_set(t, "u32", col, "rem", "%s, %d", q, groups);
    dync__cuda_tile_set(t, "u32", sum, "mad.lo", "%s, %d, %%smem", row, row_bytes);
    dync__ptx_line(p, "mad.lo.u32 %s, %s, %d, %s", sum, col, vec * g->acc_bytes, sum);
    dync__ptx_line(p, "add.u32 %s, %s, %d", row, row, from);
    dync__ptx_line(p, "mul.lo.u32 %s, %s, %d", col, col, vec);
    dync__ptx_line(p, "add.u32 %s, %s, %d", q, q, g->tile.threads);
    dync__ptx_line(p, "setp.lt.u32 %s, %s, %d", more, q, rows * groups);
    if (rows * groups % g->tile.threads) { /* the last iteration is not for all */
        dync__ptx_line(p, "setp.lt.s32 %s, %s, %d", in, row, from + rows);
        dync__ptx_line(p, "setp.lt.and.s32 %s, %s, %%mleft, %s", in, row, in);
    } else {
        dync__ptx_line(p, "setp.lt.s32 %s, %s, %%mleft", in, row);
    }
    dync__ptx_line(p, "setp.lt.and.s32 %s, %s, %%nleft, %s", in, col, in);
    dync__ptx_line(p, "@!%s bra OUT_%d", in, from);
    dync__gm_read_sums(g, "shared", sum, vec, value);
    dync__ptx_line(p, "add.u32 %s, %s, %%m0", row, row);
    dync__ptx_line(p, "add.u32 %s, %s, %%n0", col, col);
    dync__gm_result(g, from, row, col, vec, value);
    dync__cuda_tile_label(t, "OUT_%d", from);
    dync__ptx_line(p, "@%s bra ROWS_%d", more, from);
}

/* Sums of all splits in their order, then `end`; a thread a group of neighbours. */
DYNC__FN void dync__gm_join(dync__gm *g)
{
    enum { THREADS = 128 };
    dync__cuda_tile *t = &g->t;
    dync__ptx *p = &t->p;
    int vec = p->shape.vec;
    int64_t all = g->batches * g->m * g->n, groups = all / vec;
    char value[8][24], part[8][24];
    const char *add = dync__ptx_type(g->compute)[0] == 'f' ? "add.rn" : "add";
    dync__cuda_tile_next(t);
    dync__cuda_tile_scratch(t);
    dync__ptx_reg(p, "pred", "%in");
    dync__ptx_reg(p, p->index, "%lin");
    if (p->index[1] == '3') {
        dync__ptx_line(p, "mad.lo.u32 %%lin, %%cta, %d, %%thr", THREADS);
    } else {
        dync__ptx_line(p, "cvt.u64.u32 %%lin, %%thr");
        dync__ptx_line(p, "mad.wide.u32 %%lin, %%cta, %d, %%lin", THREADS);
    }
    dync__ptx_line(p, "setp.ge.%s %%in, %%lin, %lld", p->index, (long long)groups);
    dync__ptx_line(p, "@%%in ret");
    dync__ptx_line(p, "mul.lo.%s %%lin, %%lin, %d", p->index, vec);
    dync__gm_wide_index(g, "%at", "%lin");
    dync__ptx_line(p, "mad.lo.s64 %%at, %%at, %d, %%scratch", g->acc_bytes);
    dync__gm_read_sums(g, "global", "%at", vec, value);
    dync__ptx_reg(p, "u32", "%left");
    dync__ptx_reg(p, "pred", "%more");
    dync__ptx_line(p, "mov.u32 %%left, %lld", (long long)g->splits - 1);
    dync__cuda_tile_label(t, "NEXT");
    dync__ptx_line(p, "add.s64 %%at, %%at, %lld", (long long)(all * g->acc_bytes));
    dync__gm_read_sums(g, "global", "%at", vec, part);
    for (int i = 0; i < vec; i++)
        dync__ptx_line(p, "%s.%s %s, %s, %s", add, dync__ptx_type(g->compute), value[i], value[i],
                       part[i]);
    dync__ptx_line(p, "sub.u32 %%left, %%left, 1");
    dync__ptx_line(p, "setp.gt.u32 %%more, %%left, 0");
    dync__ptx_line(p, "@%%more bra NEXT");
    dync__cuda_tile_piece(t, "%lin", g->given, value);
    dync__cuda_tile_entry(t, "gemm_join", (groups + THREADS - 1) / THREADS, 1, 1, THREADS);
}
