/* cuda/gemm_pre_text.c: the text of what stands before a product, its chunks in shared memory and
 * rows for tensor cores. Before: gemm_pre.c. */
#include "../dync.in.h"
#include "gemm.h"
DYNC__COLD

/* ---- text ------------------------------------------------------------------------------------ */

static int64_t dync__gmp_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Neighbours that begin at multiples of a number, and are as many: that number. */
static int64_t dync__gmp_run(const dync__gm *g, int s)
{
    const dync__gm_side *side = &g->side[s];
    bool across = side->how == DYNC__GM_ACROSS;
    if (side->gather)
        return side->how == DYNC__GM_PIECES || g->kind < 0 ? 1
                                                           : 16 / dync__dtype_info(g->dtype)->bytes;
    if (side->how == DYNC__GM_PIECES || (across ? side->line : side->step) != 1 ||
        (g->thin && s == 0 && g->side[1].how == DYNC__GM_ACROSS))
        return 1;
    int64_t lines = s ? g->n : g->m, run = dync__gmp_divisor(across ? lines : g->k, side->offset);
    if ((across ? g->k : lines) > 1) run = dync__gmp_divisor(run, across ? side->step : side->line);
    for (int d = 0; d < g->n_batch; d++)
        if (g->batch[d] > 1) run = dync__gmp_divisor(run, side->batch[d]);
    return run;
}

DYNC__FN bool dync__gm_pre_begin(dync__gm *g, int s)
{
    dync__gm_pre *pre = g->side[s].pre;
    int64_t run = dync__gmp_run(g, s);
    int per = 16 / (g->kind >= 0 || g->thin ? dync__dtype_info(g->dtype)->bytes
                                            : dync__dtype_info(g->compute)->bytes),
        most = 1;
    /* as many neighbours as a chunk has, at most */
    while (most < per && run % (2 * most) == 0) most *= 2;
    memset(&pre->p, 0, sizeof pre->p);
    pre->p.most = most;
    pre->k->buf.at = g->end->buf.at; /* the same buffers */
    pre->k->buf.n = g->end->buf.n;
    if (!dync__ptx_piece_begin(&pre->p, g->arena, pre->k, g->host, most, g->scalar || most == 1))
        return dync__fail_memory(0), false;
    pre->p.taken = pre->store + 1;
    return true;
}

/* The text goes on with the registers of the other kernel. */
static dync__ptx *dync__gmp_to(dync__ptx *to, dync__ptx *from)
{
    to->body = from->body;
    to->regs = from->regs;
    to->n_temps = from->n_temps;
    to->n_labels = from->n_labels;
    to->block = from->block;
    to->failed |= from->failed;
    return to;
}

DYNC__FN void dync__gm_pre_index(dync__gm *g, int s, const char *name, const char *from)
{
    const char *index = g->side[s].pre->p.index;
    dync__ptx_reg(&g->t.p, index, name);
    dync__ptx_line(&g->t.p, index[1] == '3' ? "cvt.u32.u64 %s, %s" : "mov.b64 %s, %s", name, from);
}

DYNC__FN void dync__gm_pre_group(dync__gm *g, int s, int number, const char *at, int64_t by,
                                 const char *is)
{
    dync__gm_pre *pre = g->side[s].pre;
    dync__ptx *p = &g->t.p;
    char linear[40];
    if (number >= DYNC__GM_PRE_GROUPS) {
        p->failed = true;
        return;
    }
    dync__format(linear, sizeof linear, "%s", dync__ptx_temp(p, pre->p.index));
    dync__ptx_line(p, "add.%s %s, %s, %lld", pre->p.index, linear, at, (long long)by);
    if (is) dync__ptx_line(p, "selp.%s %s, %s, %%first%d, %s", pre->p.index, linear, linear, s, is);
    dync__format(pre->is[number], sizeof pre->is[number], "%s", is ? is : "");
    pre->block[number] = dync__ptx_piece_load(dync__gmp_to(&pre->p, p), linear);
    (void)dync__gmp_to(p, &pre->p);
}

DYNC__FN int dync__gm_pre_values(dync__gm *g, int s, int number, char value[][40])
{
    dync__gm_pre *pre = g->side[s].pre;
    dync__ptx *p = dync__gmp_to(&pre->p, &g->t.p);
    const char *bits = dync__ptx_bits(pre->k->inst.at[pre->k->inst.at[pre->store].arg[0]].type);
    dync__ptx_piece_value(p, pre->block[number], value);
    for (int v = 0; v < p->vec && pre->is[number][0]; v++) {
        const char *kept = dync__ptx_temp(p, bits);
        dync__ptx_line(p, "selp.%s %s, %s, 0, %s", bits, kept, value[v], pre->is[number]);
        dync__format(value[v], sizeof value[v], "%s", kept);
    }
    (void)dync__gmp_to(&g->t.p, p);
    return p->vec;
}

/* Values of 32 bits as words of memory: elements of `dtype`, n of them. */
DYNC__FN void dync__gm_pre_pack(dync__gm *g, int dtype, int n, char value[][40], char word[][40])
{
    dync__ptx *p = &g->t.p;
    int bytes = dync__dtype_info(dtype)->bytes, per = DYNC__MAX(4 / bytes, 1);
    for (int i = 0; i < n; i += per) {
        char *to = word[i / per];
        if (per == 1) {
            dync__format(to, 40, "%s", value[i]);
            continue;
        }
        dync__format(to, 40, "%s", dync__ptx_temp(p, "b32"));
        if (per == 2) {
            dync__ptx_line(p, "cvt.rn.%s.f32 %s, %s, %s", dtype == DYNC_F16 ? "f16x2" : "bf16x2",
                           to, value[i + 1], value[i]);
            continue;
        }
        dync__ptx_line(p, "and.b32 %s, %s, 255", to, value[i]);
        for (int e = 1; e < 4; e++)
            dync__ptx_line(p, "bfi.b32 %s, %s, %s, %d, 8", to, value[i + e], to, 8 * e);
    }
}

/* ---- chunks into shared memory --------------------------------------------------------------- */

/* An iteration's loads begin: chunks of n elements, stored from register `to` on. */
DYNC__FN void dync__gm_pre_transpose(dync__gm *g, int s, int n, const char *to)
{
    dync__gm_pre *pre = g->side[s].pre;
    pre->chunks = 0;
    pre->per = n;
    dync__format(pre->to, sizeof pre->to, "%s", to);
}

/* n elements from `at` (a register of the piece's index) + by on, `near` apart, to `place` behind
 * `to`. is: a predicate, there is such a row; NULL: yes. left: register, how many elements there
 * are from inner + inner_by on; NULL: enough. */
DYNC__FN void dync__gm_pre_chunk(dync__gm *g, int s, const char *at, int64_t by, int64_t near,
                                 int place, const char *is, const char *inner, int inner_by,
                                 const char *left)
{
    dync__gm_pre *pre = g->side[s].pre;
    dync__ptx *p = &g->t.p;
    char there[40] = "", row[40], from[40];
    int vec = pre->p.shape.vec;
    dync__format(row, sizeof row, "%s", is ? is : "");
    dync__format(from, sizeof from, "%s", at);
    if (pre->chunks >= DYNC__GM_PRE_CHUNKS) {
        p->failed = true;
        return;
    }
    for (int q = 0; q < pre->per; q += vec) {
        dync__format(there, sizeof there, "%s", row);
        if (left) {
            const char *here = dync__ptx_temp(p, "s32");
            dync__format(there, sizeof there, "%s", dync__ptx_temp(p, "pred"));
            dync__ptx_line(p, "sub.s32 %s, %s, %d", here, left, inner_by + q);
            if (row[0])
                dync__ptx_line(p, "setp.lt.and.s32 %s, %s, %s, %s", there, inner, here, row);
            else
                dync__ptx_line(p, "setp.lt.s32 %s, %s, %s", there, inner, here);
        }
        dync__gm_pre_group(g, s, (pre->chunks * pre->per + q) / vec, from, by + q * near,
                           there[0] ? there : NULL);
    }
    pre->place[pre->chunks++] = place;
}

/* What the iteration's chunks are, to where they belong. */
DYNC__FN void dync__gm_pre_finish(dync__gm *g)
{
    char value[16][40], word[16][40], list[200];
    int dtype = g->kind >= 0 ? g->dtype : g->compute;
    for (int s = 0; s < 2; s++) {
        dync__gm_pre *pre = g->side[s].pre;
        if (!pre) continue;
        dync__cuda_tile_note(&g->t, "%s: what was loaded, made and stored", s ? "b" : "a");
        for (int c = 0; c < pre->chunks; c++) {
            for (int q = 0; q < pre->per; q += pre->p.shape.vec)
                (void)dync__gm_pre_values(g, s, (c * pre->per + q) / pre->p.shape.vec, &value[q]);
            /* f16 values on CUDA cores: as they would have been in memory */
            if (g->kind < 0 && g->dtype != g->compute)
                for (int q = 0; q < pre->per; q++) dync__gm_pre_round(g, value[q]);
            int bytes = dync__dtype_info(dtype)->bytes,
                n = DYNC__MAX(pre->per * DYNC__MIN(bytes, 4) / 4, 1);
            dync__gm_pre_pack(g, dtype, pre->per, value, word);
            int at = dync__format(list, sizeof list, "%s%s", n > 1 ? "{" : "", word[0]);
            for (int w = 1; w < n; w++)
                at += dync__format(list + at, sizeof list - (size_t)at, ", %s", word[w]);
            dync__ptx_line(&g->t.p, "st.shared.%sb%d [%s+%d], %s%s",
                           n == 4   ? "v4."
                           : n == 2 ? "v2."
                                    : "",
                           bytes == 8 ? 64 : 32, pre->to, pre->place[c], list, n > 1 ? "}" : "");
        }
    }
}

/* value: rounded to the side's half dtype, in f32. */
DYNC__FN void dync__gm_pre_round(dync__gm *g, char value[40])
{
    dync__ptx *p = &g->t.p;
    const char *half = dync__ptx_temp(p, "b16"), *wide = dync__ptx_temp(p, "f32");
    char to[40];
    dync__format(to, sizeof to, "%s", wide);
    dync__ptx_narrow(p, g->dtype, half, value);
    dync__ptx_widen(p, g->dtype, to, half);
    dync__format(value, 40, "%s", to);
}

/* ---- tensor cores: 16 bytes to a thread, rows of 128 ----------------------------------------- */

DYNC__FN void dync__gm_pre_rows_begin(dync__gm *g, int s)
{
    const dync__gm_side *side = &g->side[s];
    dync__cuda_tile *t = &g->t;
    dync__ptx *p = &t->p;
    bool across = side->how == DYNC__GM_ACROSS;
    int per = 16 / dync__dtype_info(g->dtype)->bytes;
    char row[16], column[16], place[16], at[16];
    dync__format(row, sizeof row, "%%prow%d", s);
    dync__format(column, sizeof column, "%%pcol%d", s);
    dync__format(place, sizeof place, "%%pput%d", s);
    dync__format(at, sizeof at, "%%pat%d", s);
    dync__cuda_tile_set(t, "s32", row, "shr", "%%thr, 3");
    dync__cuda_tile_set(t, "b32", column, "and", "%%thr, 7");
    dync__cuda_tile_set(t, "b32", place, "xor", "%s, %s", row, column);
    dync__ptx_line(p, "and.b32 %s, %s, 7", place, place);
    dync__ptx_line(p, "mad.lo.u32 %s, %s, 8, %s", place, row, place);
    dync__ptx_line(p, "shl.b32 %s, %s, 4", place, place);
    dync__ptx_line(p, "mul.lo.u32 %s, %s, %d", column, column, per);
    const char *sum = dync__ptx_temp(p, "b64"), *wide = dync__ptx_temp(p, "b64");
    dync__ptx_line(p, "cvt.u64.u32 %s, %s", wide, row);
    dync__ptx_line(p, "mad.lo.s64 %s, %s, %lld, %s", sum, wide,
                   (long long)(across ? side->step : side->line), s ? "%B" : "%A");
    dync__ptx_line(p, "cvt.u64.u32 %s, %s", wide, column);
    dync__ptx_line(p, "mad.lo.s64 %s, %s, %lld, %s", sum, wide,
                   (long long)(across ? side->line : side->step), sum);
    dync__gm_pre_index(g, s, at, sum);
}

DYNC__FN void dync__gm_pre_rows(dync__gm *g, int s, int lines)
{
    const dync__gm_side *side = &g->side[s];
    dync__ptx *p = &g->t.p;
    bool across = side->how == DYNC__GM_ACROSS, ragged = (s ? g->n : g->m) % lines != 0,
         ends = g->k % g->depth != 0;
    int bytes = dync__dtype_info(g->dtype)->bytes, by_row = g->tile.threads / 8,
        rows = across ? g->depth : lines, window = 128 / bytes;
    const char *left = s ? "%nleft" : "%mleft",
               *rows_left = across   ? ends ? "%kleft" : NULL
                            : ragged ? left
                                     : NULL,
               *columns_left = across ? ragged ? left : NULL
                               : ends ? "%kleft"
                                      : NULL;
    int64_t row_step = across ? side->step : side->line, near = across ? side->line : side->step;
    char at[16], column[16], is[40] = "", to[40];
    dync__format(at, sizeof at, "%%pat%d", s);
    dync__format(column, sizeof column, "%%pcol%d", s);
    dync__format(to, sizeof to, "%s", dync__ptx_temp(p, "b32"));
    dync__ptx_line(p, "add.u32 %s, %%to, %%pput%d", to, s);
    dync__gm_pre_transpose(g, s, 16 / bytes, to);
    for (int r = 0; r < rows; r += by_row) {
        if (rows_left) {
            const char *here = dync__ptx_temp(p, "s32");
            dync__format(is, sizeof is, "%s", dync__ptx_temp(p, "pred"));
            dync__ptx_line(p, "sub.s32 %s, %s, %d", here, rows_left, r);
            dync__ptx_line(p, "setp.lt.s32 %s, %%prow%d, %s", is, s, here);
        }
        for (int w = 0; w < (across ? lines / window : 1); w++)
            dync__gm_pre_chunk(g, s, at, r * row_step + w * window * near, near,
                               g->side_at[s] + (w * g->depth + r) * 128, is[0] ? is : NULL, column,
                               w * window, columns_left);
    }
    dync__ptx_line(p, "add.%s %s, %s, %lld", side->pre->p.index, at, at,
                   (long long)(g->depth * side->step));
}
