/* cuda/ptx_transpose.c: pointwise kernels whose accesses disagree on which loop has neighbours in
 * memory. Before ptx_mem.c.
 *
 * The last loop is the one along which the kernel computes ("along"); another, `across`, has the
 * neighbours of the accesses that are transposed. A block does one square of side x side indices of
 * the two. What is transposed and read comes in by vectors along `across` and goes into shared
 * memory as rows along the last loop; the kernel is then computed as any flat one, with loads and
 * stores of what is transposed in shared memory; what is transposed and written leaves the same way
 * back. Elements stay in their storage dtype, so nothing is rounded twice.
 *
 *   place      chunk c (16 bytes) of row m lies at chunk c ^ (m / w & 7) of the row: w elements are
 *              one access of global memory. 8 lanes side by side along `across` and 4 along the
 *              last loop, which a warp moves at once, then meet in no bank; nor do 8 lanes that
 *              compute
 *   words      narrow elements go to shared memory in words of 4 bytes: a lane takes R = 4 / bytes
 *              rows of the last loop and transposes the words (R x R elements) in registers
 * The plain form is the flat kernel without all this: kernels of another shape, and where the loops
 * are short. Sources: Ruetsch and Micikevicius 2009 (tiles in shared memory); Micikevicius, XOR
 * swizzles as in CUTLASS. */
#include "../dync.in.h"
#include "ptx.h"
DYNC__COLD

enum { DYNC__PTX_TRANSPOSE_LEAST = 16, DYNC__PTX_TRANSPOSE_BYTES = 32768 };

static bool dync__ptx_transpose_is(const dync__kernel *k, const dync__access *a, int across)
{
    int64_t by = a->stride[k->n_dims - 1];
    return a->stride[across] == 1 && (by > 1 || by < -1);
}

static bool dync__ptx_transpose_moves(const dync__ptx *p, int i)
{
    const dync__inst *in = &p->k->inst.at[i];
    return p->needed[i] && (in->prim == DYNC__P_load || in->prim == DYNC__P_store) &&
           !p->host[in->buf];
}

/* What is read and written has one access: a square is read whole before it is written. */
static bool dync__ptx_transpose_is_safe(const dync__ptx *p)
{
    const dync__kernel *k = p->k;
    for (int i = 0; i < k->inst.n; i++)
        for (int j = 0; j < i; j++) {
            const dync__inst *a = &k->inst.at[i], *b = &k->inst.at[j];
            if (!p->needed[i] || !p->needed[j] || a->buf < 0 || a->buf != b->buf ||
                k->buf.at[a->buf].mode != (DYNC__BUF_IN | DYNC__BUF_OUT))
                continue;
            if (a->access != b->access || a->prim == DYNC__P_loadx || a->prim == DYNC__P_storex)
                return false;
        }
    return true;
}

/* Elements of one access of global memory along `across`. */
static int dync__ptx_transpose_width(dync__ptx *p, const dync__inst *in, int across, bool scalar)
{
    const dync__kernel *k = p->k;
    const dync__access *a = &k->access.at[in->access];
    int bytes = dync__dtype_info(k->buf.at[in->buf].dtype)->bytes;
    for (int w = scalar ? 1 : 16 / bytes; w > 1 && w * bytes >= 4; w /= 2) {
        bool fits = k->extent[across] % w == 0;
        for (int d = 0; d < k->n_dims; d++)
            fits &= d == across || k->extent[d] <= 1 || a->stride[d] * bytes % (w * bytes) == 0;
        if (!fits || p->n_checks == DYNC__PTX_CHECKS) continue;
        p->check[p->n_checks++] = (dync__ptx_check){in->buf, w * bytes, a->offset * bytes};
        return w;
    }
    return 1;
}

static int dync__ptx_transpose_bytes(const dync__ptx *p, const dync__ptx_transposed *t)
{
    return dync__dtype_info(p->k->buf.at[t->buf].dtype)->bytes;
}

/* Decides whether the flat kernel runs in squares, and how. */
DYNC__FN void dync__ptx_plan_transpose(dync__ptx *p, int units, bool scalar)
{
    const dync__kernel *k = p->k;
    dync__ptx_shape *s = &p->shape;
    int last = k->n_dims - 1, best = 0, narrow = 8, total = 0;
    int64_t side = 64, blocks = 1;
    p->n_transposed = s->side = 0;
    if (last < 1 || k->extent[last] < DYNC__PTX_TRANSPOSE_LEAST || !dync__ptx_transpose_is_safe(p))
        return;
    for (int d = 0; d < last; d++) {
        int n = 0;
        for (int i = 0; i < k->inst.n; i++)
            n += k->extent[d] >= DYNC__PTX_TRANSPOSE_LEAST && dync__ptx_transpose_moves(p, i) &&
                 dync__ptx_transpose_is(k, &k->access.at[k->inst.at[i].access], d);
        if (n > best) best = n, s->across = d;
    }
    if (best == 0 || best > DYNC__PTX_TRANSPOSED) return;
    int checks = p->n_checks;
    for (int i = 0; i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i];
        if (!dync__ptx_transpose_moves(p, i)) continue;
        const dync__access *a = &k->access.at[in->access];
        bool transposed = dync__ptx_transpose_is(k, a, s->across), out = in->prim == DYNC__P_store;
        int bytes = dync__dtype_info(k->buf.at[in->buf].dtype)->bytes;
        if (transposed || a->stride[last] == 1) narrow = DYNC__MIN(narrow, bytes);
        if (!transposed || dync__ptx_transposed_of(p, in) >= 0) continue;
        dync__ptx_transposed *t = &p->transposed[p->n_transposed++];
        *t = (dync__ptx_transposed){.buf = in->buf,
                                    .access = in->access,
                                    .out = out,
                                    .width = dync__ptx_transpose_width(p, in, s->across, scalar)};
        total += bytes;
    }
    side = narrow == 1 ? 128 : narrow == 8 ? 32 : 64;
    while (side > 16 && side * side * total > DYNC__PTX_TRANSPOSE_BYTES) side /= 2;
    while (side > 32 && (side / 2 >= k->extent[last] || side / 2 >= k->extent[s->across]))
        side /= 2;
    for (; side >= 16; side /= 2) {
        blocks = (s->inner + k->extent[last] * k->extent[s->across] - 1) /
                 (k->extent[last] * k->extent[s->across]);
        blocks *= (k->extent[last] + side - 1) / side * ((k->extent[s->across] + side - 1) / side);
        if (blocks >= 2 * units || side * narrow <= 128) break;
    }
    if (blocks > INT32_MAX) {
        p->n_transposed = 0;
        p->n_checks = checks;
        return;
    }
    s->side = (int)side;
    s->blocks = blocks;
    int lanes = (int)side / s->vec; /* threads along the last loop */
    s->block = (int)DYNC__MIN(DYNC__PTX_BLOCK, side * lanes);
    s->iterations = side * lanes / s->block;
    s->groups = (int)DYNC__MIN(s->groups, s->iterations);
    s->iterations /= s->groups;
    s->guarded = k->extent[last] % side != 0 || k->extent[s->across] % side != 0;
    for (int i = 0; i < p->n_transposed; i++) {
        p->transposed[i].at = p->transposed_bytes;
        p->transposed_bytes += (int)side * (int)side *
                               dync__ptx_transpose_bytes(p, &p->transposed[i]);
    }
}

DYNC__FN int dync__ptx_transposed_of(const dync__ptx *p, const dync__inst *in)
{
    for (int i = 0; i < p->n_transposed; i++)
        if (p->transposed[i].buf == in->buf && p->transposed[i].access == in->access &&
            p->transposed[i].out == (in->prim == DYNC__P_store))
            return i;
    return -1;
}

/* Chunks of a row that change places: a power of two less one. */
static int dync__ptx_transpose_mask(const dync__ptx *p, const dync__ptx_transposed *t)
{
    return DYNC__MIN(8, p->shape.side * dync__ptx_transpose_bytes(p, t) / 16) - 1;
}

/* to = the exclusive or of row `m` (b32 registers all). */
static void dync__ptx_transpose_swizzle(dync__ptx *p, const dync__ptx_transposed *t, const char *to,
                                        const char *m)
{
    dync__ptx_line(p, "div.u32 %s, %s, %d", to, m, t->width);
    dync__ptx_line(p, "and.b32 %s, %s, %d", to, to, dync__ptx_transpose_mask(p, t));
}

/* Where elements of `group` from number `element` of it on lie in shared memory, for the thread
 * that computes them. */
DYNC__FN void dync__ptx_transposed_place(dync__ptx *p, int transposed, int group, int element,
                                         char *out, size_t cap)
{
    const dync__ptx_transposed *t = &p->transposed[transposed];
    int bytes = dync__ptx_transpose_bytes(p, t), of = element * bytes;
    char m[24], to[24], x[24];
    dync__format(m, sizeof m, "%%m%d", group);
    dync__format(to, sizeof to, "%s", dync__ptx_temp(p, "u32"));
    dync__format(x, sizeof x, "%s", dync__ptx_temp(p, "u32"));
    dync__ptx_transpose_swizzle(p, t, x, m);
    dync__ptx_line(p, "mad.lo.u32 %s, %%l, %d, %d", to, bytes, of / 16 * 16);
    dync__ptx_line(p, "shl.b32 %s, %s, 4", x, x);
    dync__ptx_line(p, "xor.b32 %s, %s, %s", to, to, x);
    dync__ptx_line(p, "mad.lo.u32 %s, %s, %d, %s", to, m, p->shape.side * bytes, to);
    dync__ptx_line(p, "add.u32 %s, %s, %%smem", to, to);
    dync__format(out, cap, "%s+%d", to, t->at + of % 16);
}

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
