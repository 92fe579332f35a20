/* program/csource_pairs.c: sums of bytes of an exported C file two products at a time, for chips
 * whose processor multiplies pairs of 16 bits and adds both (smlad of Cortex-M4 and its kin):
 * DYNC_SMLAD, chosen by the compiler's own macros; 2: the same in plain C. After csource_blocks.c,
 * whose plain form stands beside; csource_vectors.c and csource_conv_forms.c ask.
 *
 *   for k by 4 { a0 = four bytes at a + k; a0e, a0o: its even and its odd ones in 16 bits; b0 ..;
 *     s00 = smlad(a0e, b0e, s00); s00 = smlad(a0o, b0o, s00); ... }
 *
 * Products read both operands along k, so both lie so: x as it is, weights [n][k] as linear layers
 * have them. A convolution copies the windows of two places into rows of bytes first, which pays
 * where many channels read them. Sums of integers wrap: their order is free. */
#include "../dync.in.h"
#include "csource.h"
#include "csource_convs.h"
DYNC__COLD

/* registers; bytes of a window; channels that pay for its copy */
enum { DYNC__PAIRS_REGS = 14, DYNC__PAIRS_WINDOW = 2048, DYNC__PAIRS_CHANNELS = 8 };

/* ---- blocks ---------------------------------------------------------------------------------- */

/* A block of sums: rows a0, a1, .. and columns b0, b1, .. of k bytes each. */
typedef struct dync__pairs {
    dync__str *s;
    int rows, columns;
    int64_t k;
} dync__pairs;

/* Sums, halves of the rows, of one column, and what points at all of them stay in registers. */
static void dync__pairs_choose(dync__pairs *p, int64_t m, int64_t n)
{
    int64_t least = -1;
    for (int rows = 1; rows <= 2 && rows <= m; rows++)
        for (int columns = 1; columns <= 4 && columns <= n; columns++) {
            int sums = rows * columns;
            if (sums + 3 * rows + 2 + columns > DYNC__PAIRS_REGS) continue;
            int64_t blocks = (m + rows - 1) / rows * ((n + columns - 1) / columns);
            int64_t cost = blocks *
                           (p->k / 4 * (3 * rows + 3 * columns + 2 * sums + 3) + 8 * sums + 12);
            if (least >= 0 && cost >= least) continue;
            least = cost;
            p->rows = rows;
            p->columns = columns;
        }
}

static void dync__pairs_halves(const dync__pairs *p, int depth, char name, int i)
{
    dync__str_addf(p->s, "%*sconst uint32_t %c%dw = #_four(%c%d + k), ", 4 * depth, "", name, i,
                   name, i);
    dync__str_addf(p->s, "%c%de = #_even(%c%dw), %c%do = #_odd(%c%dw);\n", name, i, name, i, name,
                   i, name, i);
}

/* s00, ...: declared, and all that is added to them. a0, .., b0, ..: pointers that are there. */
static void dync__pairs_sums(const dync__pairs *p, int depth)
{
    dync__str *s = p->s;
    long long whole = (long long)(p->k / 4 * 4);
    dync__str_addf(s, "%*sint32_t ", 4 * depth, "");
    for (int i = 0; i < p->rows * p->columns; i++)
        dync__str_addf(s, "%ss%d%d = 0", i ? ", " : "", i / p->columns, i % p->columns);
    dync__str_addf(s, ";\n%*sfor (int k = 0; k < %lld; k += 4) {\n", 4 * depth, "", whole);
    for (int i = 0; i < p->rows; i++) dync__pairs_halves(p, depth + 1, 'a', i);
    for (int j = 0; j < p->columns; j++) {
        dync__pairs_halves(p, depth + 1, 'b', j);
        for (int half = 0; half < 2; half++)
            for (int i = 0; i < p->rows; i++)
                dync__str_addf(s, "%*ss%d%d = #_smlad(a%d%c, b%d%c, s%d%d);\n", 4 * depth + 4, "",
                               i, j, i, "eo"[half], j, "eo"[half], i, j);
    }
    dync__str_addf(s, "%*s}\n", 4 * depth, "");
    if (whole == p->k) return;
    dync__str_addf(s, "%*sfor (int k = %lld; k < %lld; k++) {\n", 4 * depth, "", whole,
                   (long long)p->k);
    for (int j = 0; j < p->columns; j++)
        for (int i = 0; i < p->rows; i++)
            dync__str_addf(s, "%*ss%d%d += a%d[k] * b%d[k];\n", 4 * depth + 4, "", i, j, i, j);
    dync__str_addf(s, "%*s}\n", 4 * depth, "");
}

/* ---- products -------------------------------------------------------------------------------- */

DYNC__FN bool dync__csource_pairs_fit(const dync__csource_product_of *p)
{
    return p->a->dtype == DYNC_I8 && p->b->dtype == DYNC_I8 && p->k >= 8 &&
           p->a->lay.stride[p->ndim - 1] == 1 && p->b->lay.stride[p->ndim - 2] == 1;
}

/* const int8_t *a0 = a + ..: where each row, or column, of the block begins. */
static void dync__pairs_pointers(const dync__csource_product_of *p, int depth, bool columns)
{
    int last = p->ndim - 1;
    const dync__operand *o = columns ? p->b : p->a;
    const char *var[DYNC_MAX_DIMS], name = columns ? 'b' : 'a';
    for (int d = 0; d < p->ndim; d++) var[d] = p->var[d];
    var[columns ? last - 1 : last] = NULL;
    for (int i = 0; i < (columns ? p->columns : p->rows); i++) {
        dync__str_addf(p->s, "%*sconst int8_t *%c%d = %c + ", 4 * depth, "", name, i, name);
        dync__csource_product_index(p, o, o->lay.stride[last - 1], o->lay.stride[last], var,
                                    columns ? 0 : i, columns ? i : 0);
        dync__str_add(p->s, ";\n");
    }
}

DYNC__FN void dync__csource_product_pairs(dync__csource_product_of *p)
{
    dync__pairs block = {.s = p->s, .k = p->k};
    dync__pairs_choose(&block, p->m, p->n);
    p->rows = block.rows;
    p->columns = block.columns;
    int opened = dync__csource_product_open(p), depth = opened;
    depth = dync__csource_blocks_for(p->s, depth, "i", 0, (p->m + p->rows - 1) / p->rows * p->rows,
                                     p->rows, p->m);
    depth = dync__csource_blocks_for(
        p->s, depth, "j", 0, (p->n + p->columns - 1) / p->columns * p->columns, p->columns, p->n);
    dync__pairs_pointers(p, depth, false);
    dync__pairs_pointers(p, depth, true);
    dync__pairs_sums(&block, depth);
    for (int i = 0; i < p->rows; i++)
        for (int j = 0; j < p->columns; j++) dync__csource_product_store(p, depth, i, j);
    dync__csource_blocks_end(p->s, depth, opened);
}

/* ---- convolutions ---------------------------------------------------------------------------- */

static int64_t dync__pairs_window(const dync__cconv_text *t)
{
    return t->w.lay.shape[1] * t->kh * t->kw;
}

DYNC__FN bool dync__cconv_pairs_fit(const dync__cconv_text *t)
{
    int64_t k = dync__pairs_window(t);
    return t->x.dtype == DYNC_I8 && t->w.dtype == DYNC_I8 && t->a->groups <= 1 && !t->pool &&
           k >= 8 && k <= DYNC__PAIRS_WINDOW && t->w.lay.shape[0] >= DYNC__PAIRS_CHANNELS &&
           dync__layout_is_contiguous(&t->w.lay);
}

/* Whether some place of dim 2 or 3 reads outside. */
static bool dync__pairs_clips(const dync__cconv_text *t, int d)
{
    int64_t window = d ? t->kw : t->kh;
    return t->a->pad[d] > 0 ||
           (t->y.lay.shape[2 + d] - 1) * t->a->stride[d] + (window - 1) * t->a->dilation[d] >=
               t->x.lay.shape[2 + d];
}

/* The window of place q + i of row r into g[i], a byte after the other. */
static void dync__pairs_copy(const dync__cconv_text *t, int depth, int wide)
{
    dync__str *s = t->s;
    const int64_t *sx = t->x.lay.stride;
    const char *const var[4] = {t->n, t->w.lay.shape[1] > 1 ? "c" : NULL, NULL, NULL};
    bool rows = dync__pairs_clips(t, 0), columns = dync__pairs_clips(t, 1);
    dync__str_addf(s, "%*sfor (int i = 0; i < %d; i++) {\n%*sint8_t *to = g[i];\n", 4 * depth, "",
                   wide, 4 * depth + 4, "");
    dync__str_addf(s, "%*sconst int p0 = r * %lld - %lld, q0 = (q + i) * %lld - %lld;\n",
                   4 * depth + 4, "", (long long)t->a->stride[0], (long long)t->a->pad[0],
                   (long long)t->a->stride[1], (long long)t->a->pad[1]);
    int inner = dync__csource_for(s, depth + 1, "c", t->w.lay.shape[1]);
    int window = dync__csource_for(s, inner, "u", t->kh);
    dync__str_addf(s, "%*s{\n%*sconst int p = p0", 4 * window, "", 4 * window + 4, "");
    bool first = false;
    dync__term_csource(s, t->a->dilation[0], t->kh > 1 ? "u" : NULL, &first);
    dync__str_addf(s, ";\n%*sconst int8_t *e = x + ", 4 * window + 4, "");
    dync__csource_index(s, 4, sx, var, 0);
    dync__str_addf(s, " + p * %lld + q0 * %lld;\n", (long long)sx[2], (long long)sx[3]);
    for (int64_t v = 0; v < t->kw; v++) {
        long long at = (long long)(v * t->a->dilation[1]);
        dync__str_addf(s, "%*s*to++ = ", 4 * window + 4, "");
        if (rows)
            dync__str_addf(s, "p < 0 || p >= %lld ? (int8_t)0 : ", (long long)t->x.lay.shape[2]);
        if (columns)
            dync__str_addf(s, "q0 + %lld < 0 || q0 + %lld >= %lld ? (int8_t)0 : ", at, at,
                           (long long)t->x.lay.shape[3]);
        dync__str_addf(s, "e[%lld];\n", at * (long long)sx[3]);
    }
    dync__str_addf(s, "%*s}\n%*s}\n", 4 * window, "", 4 * depth, "");
}

static void dync__pairs_place(const dync__cconv_text *t, int depth, int i, int j)
{
    char value[64], o[24], q[24];
    const char *const var[4] = {t->n, o, "r", q};
    dync__format(o, sizeof o, j ? "(o + %d)" : "o", j);
    dync__format(q, sizeof q, i ? "(q + %d)" : "q", i);
    if (t->bias)
        dync__format(value, sizeof value, "s%d%d + b[%lld * %s]", i, j,
                     (long long)t->bias->lay.stride[0], o);
    else
        dync__format(value, sizeof value, "s%d%d", i, j);
    dync__str_addf(t->s, "%*sy[", 4 * depth, "");
    dync__csource_index(t->s, 4, t->out->lay.stride, var, 0);
    dync__str_add(t->s, "] = ");
    dync__csource_after_value(t->s, t->after, &t->y.lay, var, value);
    dync__str_add(t->s, ";\n");
}

DYNC__FN void dync__cconv_pairs_body(const dync__cconv_text *t)
{
    dync__str *s = t->s;
    int64_t k = dync__pairs_window(t), channels = t->y.lay.shape[1], n = t->y.lay.shape[0];
    int wide = t->columns > 1 ? 2 : 1, depth = 1;
    dync__pairs block = {.s = s, .k = k};
    dync__pairs_choose(&block, wide, channels);
    block.rows = wide;
    dync__str_addf(s, "    int8_t g[%d][%lld]; /* windows */\n", wide, (long long)((k + 3) & ~3));
    if (t->n) depth = dync__csource_blocks_for(s, 1, "n", 0, n, 1, n);
    depth = dync__csource_blocks_for(s, depth, "r", 0, t->rows, 1, t->rows);
    depth = dync__csource_blocks_for(s, depth, "q", 0, (t->columns + wide - 1) / wide * wide, wide,
                                     t->columns);
    dync__pairs_copy(t, depth, wide);
    int inner = dync__csource_blocks_for(
        s, depth, "o", 0, (channels + block.columns - 1) / block.columns * block.columns,
        block.columns, channels);
    for (int i = 0; i < wide; i++)
        dync__str_addf(s, "%*sconst int8_t *a%d = g[%d];\n", 4 * inner, "", i, i);
    for (int j = 0; j < block.columns; j++)
        dync__str_addf(s, "%*sconst int8_t *b%d = w + %lld * o + %lld;\n", 4 * inner, "", j,
                       (long long)k, (long long)k * j);
    dync__pairs_sums(&block, inner);
    for (int i = 0; i < wide; i++)
        for (int j = 0; j < block.columns; j++) dync__pairs_place(t, inner, i, j);
    dync__csource_blocks_end(s, inner, 1);
}
