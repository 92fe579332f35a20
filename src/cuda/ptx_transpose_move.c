/* cuda/ptx_transpose_move.c: the text of a transposed kernel: units from global to shared memory
 * and back, positions, the loop. After ptx_transpose.c. */
#include "../dync.in.h"
#include "ptx.h"
DYNC__COLD

/* ---- in and out ------------------------------------------------------------------------------ */

/* One lane's part of a square, unit number `unit`: R rows of the last loop by w elements along
 * `across`. */
typedef struct dync__ptx_transpose_unit {
    int n, rows, words;
    char in[4][40], place[24], at[4][40];
} dync__ptx_transpose_unit;

/* Names w<transposed>_<unit>_<row>_<word> of what is moved. */
static void dync__ptx_transpose_word(const dync__ptx_transposed *t, const dync__ptx *p, int unit,
                                     int row, int word, char *name)
{
    dync__format(name, 40, "%%w%d_%d_%d_%d", (int)(t - p->transposed), unit, row, word);
}

/* Place, addresses and guards of a unit. */
static void dync__ptx_transpose_unit_of(dync__ptx *p, const dync__ptx_transposed *t, int unit,
                                        dync__ptx_transpose_unit *u)
{
    const dync__ptx_shape *s = &p->shape;
    const dync__kernel *k = p->k;
    const dync__access *a = &k->access.at[t->access];
    int bytes = dync__ptx_transpose_bytes(p, t), last = k->n_dims - 1;
    int across = DYNC__MIN(8, s->side / t->width), more = DYNC__MAX(1, s->side / (8 * t->width));
    char m[24], l[24], x[24], im[40], base[40];
    u->rows = bytes < 4 ? 4 / bytes : 1;
    u->words = DYNC__MAX(1, t->width * bytes / 4);
    dync__format(m, sizeof m, "%s", dync__ptx_temp(p, "u32"));
    dync__format(l, sizeof l, "%s", dync__ptx_temp(p, "u32"));
    dync__format(x, sizeof x, "%s", dync__ptx_temp(p, "u32"));
    dync__format(u->place, sizeof u->place, "%s", dync__ptx_temp(p, "u32"));
    /* number = a + across * (b + 4 * (c + more * d)): m = (a + 8 c) w, l = (b + 4 d) R */
    dync__ptx_line(p, "add.u32 %s, %%thr, %d", x, unit * s->block);
    dync__ptx_line(p, "and.b32 %s, %s, %d", m, x, across - 1);
    dync__ptx_line(p, "div.u32 %s, %s, %d", x, x, across);
    dync__ptx_line(p, "and.b32 %s, %s, 3", l, x);
    dync__ptx_line(p, "shr.u32 %s, %s, 2", x, x);
    if (more > 1) {
        dync__ptx_line(p, "and.b32 %s, %s, %d", u->place, x, more - 1);
        dync__ptx_line(p, "mad.lo.u32 %s, %s, 8, %s", m, u->place, m);
        dync__ptx_line(p, "div.u32 %s, %s, %d", x, x, more);
    }
    dync__ptx_line(p, "mad.lo.u32 %s, %s, 4, %s", l, x, l);
    dync__ptx_line(p, "mul.lo.u32 %s, %s, %d", m, m, t->width);
    dync__ptx_line(p, "mul.lo.u32 %s, %s, %d", l, l, u->rows);
    dync__ptx_transpose_swizzle(p, t, x, m);
    dync__ptx_line(p, "shl.b32 %s, %s, 4", x, x);
    dync__ptx_line(p, "mul.lo.u32 %s, %s, %d", u->place, l, bytes);
    dync__ptx_line(p, "xor.b32 %s, %s, %s", u->place, u->place, x);
    dync__ptx_line(p, "mad.lo.u32 %s, %s, %d, %s", u->place, m, s->side * bytes, u->place);
    dync__ptx_line(p, "add.u32 %s, %s, %%smem", u->place, u->place);
    dync__format(base, sizeof base, "%s", dync__ptx_temp(p, "s64"));
    dync__format(im, sizeof im, "%s", dync__ptx_temp(p, "s64"));
    dync__ptx_line(p, "mad.wide.u32 %s, %s, %d, %%base%d", base, m, bytes,
                   (int)(t - p->transposed));
    dync__ptx_line(p, "cvt.u64.u32 %s, %s", im, l);
    dync__ptx_line(p, "mad.lo.s64 %s, %s, %lld, %s", base, im, (long long)(a->stride[last] * bytes),
                   base);
    for (int r = 0; r < u->rows; r++) {
        u->in[r][0] = 0;
        dync__format(u->at[r], sizeof u->at[r], "%s+%lld", base,
                     (long long)(r * a->stride[last] * bytes));
        if (!s->guarded) continue;
        const char *ok = dync__ptx_temp(p, "pred"), *ok_m = dync__ptx_temp(p, "pred"),
                   *il = dync__ptx_temp(p, "u32");
        dync__ptx_line(p, "setp.lt.u32 %s, %s, %%mleft", ok_m, m);
        dync__ptx_line(p, "add.u32 %s, %s, %d", il, l, r);
        dync__ptx_line(p, "setp.lt.and.u32 %s, %s, %%lleft, %s", ok, il, ok_m);
        dync__format(u->in[r], sizeof u->in[r], "@%s ", ok);
    }
}

static int dync__ptx_transpose_units(const dync__ptx *p, const dync__ptx_transposed *t)
{
    int bytes = dync__ptx_transpose_bytes(p, t), rows = bytes < 4 ? 4 / bytes : 1;
    return p->shape.side / t->width * (p->shape.side / rows);
}

/* Rows to or from global memory. */
static void dync__ptx_transpose_global(dync__ptx *p, const dync__ptx_transposed *t, int unit,
                                       const dync__ptx_transpose_unit *u)
{
    int whole = t->width * dync__ptx_transpose_bytes(p, t);
    const char *type = whole == 1 ? "u8" : whole == 2 ? "b16" : "b32";
    for (int r = 0; r < u->rows; r++) {
        char list[200], name[40];
        int n = 0;
        for (int w = 0; w < u->words; w++) {
            dync__ptx_transpose_word(t, p, unit, r, w, name);
            if (!t->out) dync__ptx_reg(p, whole == 2 ? "b16" : "b32", name);
            if (!t->out) dync__ptx_unloaded(p, u->in[r], whole == 2 ? "b16" : "b32", name);
            n += dync__format(list + n, sizeof list - (size_t)n, "%s%s", w ? ", " : "", name);
        }
        const char *vec = u->words == 1   ? ""
                          : u->words == 2 ? "v2."
                                          : "v4.",
                   *open = u->words > 1 ? "{" : "", *close = u->words > 1 ? "}" : "";
        if (t->out)
            dync__ptx_line(p, "%sst.global.%s%s [%s], %s%s%s", u->in[r], vec, type, u->at[r], open,
                           list, close);
        else
            dync__ptx_line(p, "%sld.global.%s%s %s%s%s, [%s]", u->in[r], vec, type, open, list,
                           close, u->at[r]);
    }
}

/* R words: R x R elements transposed, in the registers name. */
static void dync__ptx_transpose_words(dync__ptx *p, int rows, char name[4][40])
{
    static const char *const select[2][2] = {{"0x5410", "0x7632"}, {"0x5140", "0x7362"}};
    char t[4][40];
    if (rows == 1) return;
    for (int i = 0; i < rows; i++) dync__format(t[i], sizeof t[i], "%s", dync__ptx_temp(p, "b32"));
    for (int i = 0; i < rows; i++)
        dync__ptx_line(p, "prmt.b32 %s, %s, %s, %s", t[i], name[i / 2 * 2], name[i / 2 * 2 + 1],
                       select[rows == 4][i % 2]);
    if (rows == 4) {
        char pairs[4][40];
        for (int i = 0; i < 4; i++) {
            dync__format(pairs[i], sizeof pairs[i], "%s", dync__ptx_temp(p, "b32"));
            dync__ptx_line(p, "prmt.b32 %s, %s, %s, %s", pairs[i], t[i / 2], t[i / 2 + 2],
                           select[0][i % 2]);
        }
        memcpy(t, pairs, sizeof t);
    }
    for (int i = 0; i < rows; i++) dync__format(name[i], 40, "%s", t[i]);
}

/* Words to or from shared memory, element by element of the w. */
static void dync__ptx_transpose_shared(dync__ptx *p, const dync__ptx_transposed *t, int unit,
                                       const dync__ptx_transpose_unit *u)
{
    int bytes = dync__ptx_transpose_bytes(p, t), row = p->shape.side * bytes,
        per = t->width == 1 ? 1 : u->rows;
    char word[4][40], name[40];
    for (int e = 0; e < t->width; e += per) {
        /* rows e .. e + per of the square, R elements of the last loop each */
        for (int r = 0; r < per && t->out; r++) {
            dync__format(word[r], sizeof word[r], "%s", dync__ptx_temp(p, "b32"));
            if (bytes == 8) {
                char high[40];
                dync__ptx_transpose_word(t, p, unit, 0, 2 * e, word[0]);
                dync__ptx_transpose_word(t, p, unit, 0, 2 * e + 1, high);
                dync__ptx_reg(p, "b32", word[0]);
                dync__ptx_reg(p, "b32", high);
                dync__ptx_line(p, "ld.shared.v2.b32 {%s, %s}, [%s+%d]", word[0], high, u->place,
                               t->at + e * row);
            } else {
                dync__ptx_line(p, "ld.shared.b32 %s, [%s+%d]", word[r], u->place,
                               t->at + (e + r) * row);
            }
        }
        if (t->out && bytes == 8) continue;
        if (t->out && t->width == 1) { /* one element of R rows */
            for (int r = 0; r < u->rows; r++) {
                dync__ptx_transpose_word(t, p, unit, r, 0, name);
                dync__ptx_reg(p, bytes == 2 ? "b16" : "b32", name);
                if (bytes == 1)
                    dync__ptx_line(p, "shr.u32 %s, %s, %d", name, word[0], 8 * r);
                else if (bytes == 4)
                    dync__ptx_line(p, "mov.b32 %s, %s", name, word[0]);
            }
            if (bytes == 2) {
                dync__ptx_transpose_word(t, p, unit, 0, 0, word[1]);
                dync__ptx_transpose_word(t, p, unit, 1, 0, word[2]);
                dync__ptx_line(p, "mov.b32 {%s, %s}, %s", word[1], word[2], word[0]);
            }
            continue;
        }
        if (t->out) {
            dync__ptx_transpose_words(p, per, word);
            for (int r = 0; r < per; r++) {
                dync__ptx_transpose_word(t, p, unit, r, e / per, name);
                dync__ptx_reg(p, "b32", name);
                dync__ptx_line(p, "mov.b32 %s, %s", name, word[r]);
            }
            continue;
        }
        for (int r = 0; r < u->rows; r++)
            dync__ptx_transpose_word(t, p, unit, r, bytes == 8 ? 2 * e : e / per, word[r]);
        if (bytes == 8) {
            dync__ptx_transpose_word(t, p, unit, 0, 2 * e + 1, name);
            dync__ptx_line(p, "st.shared.v2.b32 [%s+%d], {%s, %s}", u->place, t->at + e * row,
                           word[0], name);
            continue;
        }
        if (t->width > 1)
            dync__ptx_transpose_words(p, per, word);
        else if (bytes < 4) { /* one element of R rows: a word */
            char whole[40];
            dync__format(whole, sizeof whole, "%s", dync__ptx_temp(p, "b32"));
            if (bytes == 2)
                dync__ptx_line(p, "mov.b32 %s, {%s, %s}", whole, word[0], word[1]);
            else {
                const char *high = dync__ptx_temp(p, "b32");
                dync__ptx_line(p, "prmt.b32 %s, %s, %s, 0x0040", whole, word[0], word[1]);
                dync__ptx_line(p, "prmt.b32 %s, %s, %s, 0x0040", high, word[2], word[3]);
                dync__ptx_line(p, "prmt.b32 %s, %s, %s, 0x5410", whole, whole, high);
            }
            dync__format(word[0], sizeof word[0], "%s", whole);
        }
        for (int r = 0; r < per; r++)
            dync__ptx_line(p, "st.shared.b32 [%s+%d], %s", u->place, t->at + (e + r) * row,
                           word[r]);
    }
}

/* All that is transposed and read (out: written), by all threads of the block. Reads are all under
 * way before the first is waited for. */
static void dync__ptx_transpose_move(dync__ptx *p, bool out)
{
    for (int i = 0; i < p->n_transposed; i++) {
        const dync__ptx_transposed *t = &p->transposed[i];
        int n = dync__ptx_transpose_units(p, t), units = DYNC__MAX(n / p->shape.block, 1);
        dync__ptx_transpose_unit one,
            *u = out ? &one : dync__arena_alloc(p->arena, (size_t)units * sizeof *u);
        if (t->out != out) continue;
        if (!u) {
            p->failed = true;
            return;
        }
        dync__str_addf(&p->body, "    // transposed: %s %%b%d, %d at a time\n", out ? "to" : "from",
                       t->buf, t->width);
        if (n < p->shape.block) { /* fewer than threads */
            dync__ptx_line(p, "setp.ge.u32 %%skip, %%thr, %d", n);
            dync__ptx_line(p, "@%%skip bra SKIP%d", i);
        }
        for (int k = 0; k < units; k++) {
            dync__ptx_transpose_unit_of(p, t, k, out ? u : &u[k]);
            if (out) dync__ptx_transpose_shared(p, t, k, u);
            dync__ptx_transpose_global(p, t, k, out ? u : &u[k]);
        }
        for (int k = 0; k < units && !out; k++) dync__ptx_transpose_shared(p, t, k, &u[k]);
        if (n < p->shape.block) dync__str_addf(&p->body, "SKIP%d:\n", i);
    }
}

/* ---- the kernel ------------------------------------------------------------------------------ */

/* to = a + b of u32, in the type of indices. */
static void dync__ptx_transpose_index(dync__ptx *p, const char *to, const char *a, const char *b)
{
    dync__ptx_reg(p, p->index, to);
    if (p->shape.wide)
        dync__ptx_line(p, "mad.wide.u32 %s, %s, 1, %s", to, b, a);
    else
        dync__ptx_line(p, "add.u32 %s, %s, %s", to, a, b);
}

/* Which square: the corner of the two loops in %cl and %cm, the other loops in %c<d>. */
static void dync__ptx_transpose_corner(dync__ptx *p)
{
    const dync__ptx_shape *s = &p->shape;
    const dync__kernel *k = p->k;
    int last = k->n_dims - 1;
    static const char *const left[] = {"%lleft", "%mleft"}, *const corner[] = {"%cl", "%cm"};
    dync__ptx_reg(p, "u32", "%rest");
    dync__ptx_line(p, "mov.u32 %%rest, %%cta");
    /* the last loop, across, then the others from inside */
    for (int i = 0; i <= last; i++) {
        int d = i == 0                      ? last
                : i == 1                    ? s->across
                : last + 1 - i <= s->across ? last - i
                                            : last + 1 - i;
        bool square = i < 2;
        int64_t n = square ? (k->extent[d] + s->side - 1) / s->side : k->extent[d];
        char name[24];
        const char *part = dync__ptx_temp(p, "u32");
        dync__ptx_line(p, "rem.u32 %s, %%rest, %lld", part, (long long)n);
        dync__ptx_line(p, "div.u32 %%rest, %%rest, %lld", (long long)n);
        if (square)
            dync__format(name, sizeof name, "%s", corner[i]);
        else
            dync__format(name, sizeof name, "%%c%d", d);
        dync__ptx_reg(p, p->index, name);
        dync__ptx_line(p, s->wide ? "cvt.u64.u32 %s, %s" : "mov.u32 %s, %s", name, part);
        if (!square) continue;
        dync__ptx_line(p, "mul.lo.%s %s, %s, %d", p->index, name, name, s->side);
        dync__ptx_reg(p, "u32", left[i]);
        const char *whole = dync__ptx_temp(p, p->index);
        dync__ptx_line(p, "sub.%s %s, %lld, %s", p->index, whole, (long long)k->extent[d], name);
        dync__ptx_line(p, "min.%s %s, %s, %d", p->index, whole, whole, s->side);
        dync__ptx_line(p, s->wide ? "cvt.u32.u64 %s, %s" : "mov.u32 %s, %s", left[i], whole);
    }
}

/* Addresses of the corner in what is transposed. */
static void dync__ptx_transpose_bases(dync__ptx *p)
{
    const dync__kernel *k = p->k;
    int last = k->n_dims - 1;
    for (int i = 0; i < p->n_transposed; i++) {
        const dync__ptx_transposed *t = &p->transposed[i];
        const dync__access *a = &k->access.at[t->access];
        int64_t bytes = dync__ptx_transpose_bytes(p, t);
        char name[24], base[24];
        dync__format(base, sizeof base, "%%base%d", i);
        dync__ptx_reg(p, "b64", base);
        dync__ptx_line(p, "add.s64 %s, %%b%d, %lld", base, t->buf, (long long)(a->offset * bytes));
        for (int d = 0; d <= last; d++) {
            if (a->stride[d] == 0 || k->extent[d] <= 1) continue;
            if (d == last || d == p->shape.across)
                dync__format(name, sizeof name, "%s", d == last ? "%cl" : "%cm");
            else
                dync__format(name, sizeof name, "%%c%d", d);
            dync__ptx_add_scaled(p, base, name, a->stride[d] * bytes);
        }
    }
}

/* The positions of the groups of this iteration: %l and %m<group> in the square, %i<loop>_<group>b1
 * of the loops, %in<group>b1. */
static void dync__ptx_transpose_positions(dync__ptx *p)
{
    const dync__ptx_shape *s = &p->shape;
    const dync__kernel *k = p->k;
    int last = k->n_dims - 1, rows = s->block / (s->side / s->vec);
    char m[24], name[40], c[24];
    for (int g = 0; g < p->groups; g++) {
        dync__format(m, sizeof m, "%%m%d", g);
        dync__ptx_reg(p, "u32", m);
        dync__ptx_line(p, "add.u32 %s, %%mrow, %d", m, g * rows);
        for (int d = 0; d <= last; d++) {
            dync__format(name, sizeof name, "%%i%d_%db1", d, g);
            dync__format(c, sizeof c, "%%c%d", d);
            if (d == last)
                dync__ptx_transpose_index(p, name, "%cl", "%l");
            else if (d == s->across)
                dync__ptx_transpose_index(p, name, "%cm", m);
            else {
                dync__ptx_reg(p, p->index, name);
                dync__ptx_line(p, "mov.%s %s, %s", p->index, name, c);
            }
        }
        if (!s->guarded) continue;
        dync__format(name, sizeof name, "%%in%db1", g);
        dync__ptx_reg(p, "pred", name);
        dync__ptx_line(p, "setp.lt.u32 %s, %%l, %%lleft", name);
        dync__ptx_line(p, "setp.lt.and.u32 %s, %s, %%mleft, %s", name, m, name);
    }
}

DYNC__FN void dync__ptx_transpose(dync__ptx *p)
{
    const dync__ptx_shape *s = &p->shape;
    int lanes = s->side / s->vec, rows = s->block / lanes;
    bool out = false;
    static const char *const names[] = {"%l", "%mrow", "%smem"};
    for (int i = 0; i < 3; i++) dync__ptx_reg(p, "u32", names[i]);
    dync__ptx_reg(p, "pred", "%skip");
    p->shared_bytes = p->transposed_bytes;
    p->vec = s->vec;
    p->groups = s->groups;
    p->block = 1;
    dync__ptx_line(p, "mov.u32 %%smem, smem");
    dync__ptx_transpose_corner(p);
    dync__ptx_transpose_bases(p);
    dync__ptx_transpose_move(p, false);
    dync__ptx_line(p, "and.b32 %%l, %%thr, %d", lanes - 1);
    dync__ptx_line(p, "mul.lo.u32 %%l, %%l, %d", s->vec);
    dync__ptx_line(p, "div.u32 %%mrow, %%thr, %d", lanes);
    for (int i = 0; i < p->n_transposed; i++) out |= p->transposed[i].out;
    for (int i = 0, barrier = 0; i < p->n_transposed && !barrier; i++)
        if (!p->transposed[i].out) dync__ptx_line(p, "bar.sync 0"), barrier = 1;
    if (s->iterations > 1) dync__str_add(&p->body, "NEXT:\n");
    dync__ptx_transpose_positions(p);
    for (int section = 0; section <= 2 * p->n_phases; section++) dync__ptx_section(p, section);
    if (s->iterations > 1) {
        dync__ptx_line(p, "add.u32 %%mrow, %%mrow, %d", rows * s->groups);
        dync__ptx_line(p, "setp.lt.u32 %%skip, %%mrow, %d", s->side);
        dync__ptx_line(p, "@%%skip bra NEXT");
    }
    if (!out) return;
    dync__ptx_line(p, "bar.sync 0");
    dync__ptx_transpose_move(p, true);
}
