/* program/csource_convs.c: convolutions of an exported C file: a few output channels of a few
 * places of a row at a time, whose sums stay in registers. After csource_conv_sums.c, before
 * csource_planes.c.
 *
 *   for n, channels, rows { rows of the window that lie inside: u0 to u1
 *     for places { s00 = 0, ...; for input channels, u { what the places read; s00 += ...; }
 *       y[...] = @_end(s00 + b[...], ...); ... } }
 *
 * Places at the edges, where columns of the window lie outside, are blocks with a text of their
 * own, without those columns. With pooling a block computes the rows of a window one after the
 * other and stores the maxima. Sums add in the order of the plain form (csource_kernels.c). */
#include "../dync.in.h"
#include "csource.h"
#include "csource_convs.h"
DYNC__COLD

/* ---- text ------------------------------------------------------------------------------------ */

/* Channel k of a block; in vectors: lane l of the vector. */
static void dync__cconv_channel(const dync__cconv_text *t, int k, char *text, size_t size)
{
    if (t->lanes)
        dync__format(text, size, "(o + %d * #_n%d + l)", k, t->lanes);
    else
        dync__format(text, size, k ? "(o + %d)" : "o", k);
}

/* What becomes of a sum: of place i of channel k. */
static void dync__cconv_value(const dync__cconv_text *t, int k, int i, const char *sum)
{
    char value[128], o[48], q[48];
    const char *var[4] = {t->n, o, "r", q};
    long long column = (long long)t->block.column[i];
    dync__cconv_channel(t, k, o, sizeof o);
    dync__format(q, sizeof q, column ? "(q + %lld)" : "q", column);
    if (t->lanes) sum = "t[l]";
    if (t->bias)
        dync__format(value, sizeof value, "%s + b[%lld * %s]", sum,
                     (long long)t->bias->lay.stride[0], o);
    else
        dync__format(value, sizeof value, "%s", sum);
    dync__csource_after_value(t->s, t->after, &t->y.lay, var, value);
}

/* The loops over input channels and rows of the window; none where all its columns lie outside. */
static void dync__cconv_rounds(const dync__cconv_text *t, int depth)
{
    bool any = false, clips = dync__cconv_clips(t);
    for (int64_t v = 0; v < t->kw; v++) any = any || dync__cconv_column(t, v);
    if (!any) {
        dync__str_addf(t->s, "%*s(void)x, (void)w%s;\n", 4 * depth, "", t->pool ? ", (void)q" : "");
        if (dync__cconv_has_rows(t)) dync__str_addf(t->s, "%*s(void)p;\n", 4 * depth, "");
        if (clips) dync__str_addf(t->s, "%*s(void)u0, (void)u1;\n", 4 * depth, "");
        return;
    }
    int inner = dync__csource_for(t->s, depth, "c", t->w.lay.shape[1]);
    dync__cconv_line(t, inner);
    if (clips)
        dync__str_add(t->s, "for (int u = u0; u < u1; u++) {\n");
    else if (t->kh > 1)
        dync__str_addf(t->s, "for (int u = 0; u < %lld; u++) {\n", (long long)t->kh);
    else
        dync__str_add(t->s, "{\n");
    dync__cconv_sums(t, inner + 1);
    dync__cconv_line(t, inner);
    dync__str_add(t->s, "}\n");
}

/* y[...] of window or place i of channel k, of these loops over rows and columns. */
static void dync__cconv_place(const dync__cconv_text *t, int k, int64_t column,
                              const char *const *rows)
{
    char o[48];
    const char *const var[4] = {t->n, o, rows[0], rows[1]};
    dync__cconv_channel(t, k, o, sizeof o);
    dync__str_add(t->s, "y[");
    dync__csource_index(t->s, 4, t->out->lay.stride, var, column * t->out->lay.stride[3]);
    dync__str_add(t->s, "] = ");
}

/* The lanes of a vector: t[l] in a loop that is left open. together: what follows is done to
 * neighbours in memory. */
static void dync__cconv_lanes(const dync__cconv_text *t, int depth, const char *vector,
                              bool together)
{
    dync__cconv_line(t, depth);
    dync__str_addf(t->s, "*(#_u%d *)t = %s;\n", t->lanes, vector);
    if (together) dync__str_add(t->s, DYNC__CSOURCE_TOGETHER);
    dync__str_addf(t->s, "%*sfor (int l = 0; l < #_n%d; l++) ", 4 * depth, "", t->lanes);
}

/* The greater of sum and maximum, and NaN where one is. */
static void dync__cconv_greater(const dync__cconv_text *t, int depth, const char *sum,
                                const char *m)
{
    dync__cconv_line(t, depth);
    if (t->lanes)
        dync__str_addf(t->s,
                       "{ const #_i%d g = (%s > %s) | (%s != %s); "
                       "%s = (#_v%d)((g & (#_i%d)%s) | (~g & (#_i%d)%s)); }\n",
                       t->lanes, sum, m, sum, sum, m, t->lanes, t->lanes, sum, t->lanes, m);
    else
        dync__str_addf(t->s, "if (%s > %s || %s != %s) %s = %s;\n", sum, m, sum, sum, m, sum);
}

/* Place i of channel k into the maximum of its window. */
static void dync__cconv_into_maximum(const dync__cconv_text *t, int depth, int k, int i,
                                     const char *sum)
{
    char z[16], m[16];
    dync__format(z, sizeof z, "z%d%d", k, i);
    dync__format(m, sizeof m, "m%d%d%s", k, i / t->block.wide, t->lanes && !t->late ? "[l]" : "");
    if (t->late) {
        dync__cconv_greater(t, depth, sum, m);
        return;
    }
    if (t->lanes)
        dync__cconv_lanes(t, depth, sum, true);
    else
        dync__cconv_line(t, depth);
    dync__str_addf(t->s, "%sconst %s %s = ", t->lanes ? "{ " : "", dync__dtype_c_type(t->y.dtype),
                   z);
    dync__cconv_value(t, k, i, sum);
    dync__str_addf(t->s, t->lanes ? "; " : ";\n%*s", 4 * depth, "");
    if (t->lanes)
        dync__str_addf(t->s, "%s = %s > %s || %s != %s ? %s : %s; }\n", m, z, m, z, z, z, m);
    else
        dync__str_addf(t->s, "if (%s > %s || %s != %s) %s = %s;\n", z, m, z, z, m, z);
}

/* A vector of channel k into the result: what is done to it in a loop of its own, which compilers
 * make one of vectors, then its lanes apart. */
static void dync__cconv_spread(const dync__cconv_text *t, int depth, int k, int i, int64_t column,
                               const char *vector, const char *const *rows)
{
    bool changes = t->bias || t->after->k;
    dync__cconv_lanes(t, depth, vector, changes);
    if (changes) {
        dync__str_add(t->s, "t[l] = ");
        dync__cconv_value(t, k, i, "t[l]");
        dync__str_addf(t->s, ";\n%*sfor (int l = 0; l < #_n%d; l++) ", 4 * depth, "", t->lanes);
    }
    dync__cconv_place(t, k, column, rows);
    int to = t->after->k && !t->pool ? t->after->k->buf.at[t->after->out].dtype : t->out->dtype;
    if (to != DYNC_F32) dync__str_addf(t->s, "(%s)", dync__dtype_c_type(to));
    dync__str_add(t->s, "t[l];\n");
}

/* Place i of channel k into the result, or into the maximum of its window. */
static void dync__cconv_store(const dync__cconv_text *t, int depth, int k, int i)
{
    static const char *const rows[2] = {"r", "q"};
    char sum[16];
    dync__format(sum, sizeof sum, "s%d%d", k, i);
    if (t->pool) {
        dync__cconv_into_maximum(t, depth, k, i, sum);
        return;
    }
    if (t->lanes) {
        dync__cconv_spread(t, depth, k, i, t->block.column[i], sum, rows);
        return;
    }
    dync__cconv_line(t, depth);
    dync__cconv_place(t, k, t->block.column[i], rows);
    dync__cconv_value(t, k, i, sum);
    dync__str_add(t->s, ";\n");
}

/* One row of places: sums, then what is done to them. */
static void dync__cconv_row(const dync__cconv_text *t, int depth)
{
    const dync__cconv_block *b = &t->block;
    dync__cconv_line(t, depth);
    if (t->lanes)
        dync__str_addf(t->s, "#_v%d ", t->lanes);
    else
        dync__str_addf(t->s, "%s ", dync__dtype_c_type(t->y.dtype));
    for (int i = 0; i < b->channels * b->places; i++)
        dync__str_addf(t->s, t->lanes ? "%ss%d%d = {0}" : "%ss%d%d = 0", i ? ", " : "",
                       i / b->places, i % b->places);
    dync__str_add(t->s, ";\n");
    if (t->lanes && !t->late) dync__str_addf(t->s, "%*sfloat t[#_n%d];\n", 4 * depth, "", t->lanes);
    dync__cconv_rounds(t, depth);
    for (int k = 0; k < b->channels; k++)
        for (int i = 0; i < b->places; i++) dync__cconv_store(t, depth, k, i);
}

/* Maxima of the windows of a block, -INFINITY to begin with. */
static void dync__cconv_maxima(const dync__cconv_text *t, int depth)
{
    const dync__cconv_block *b = &t->block;
    int n = b->channels * b->groups;
    bool lanes = t->lanes && !t->late;
    dync__str_addf(t->s, ";\n%*s", 4 * depth, "");
    if (t->lanes && t->late)
        dync__str_addf(t->s, "float t[#_n%d];\n%*sconst #_v%d none = {0};\n%*s#_v%d ", t->lanes,
                       4 * depth, "", t->lanes, 4 * depth, "", t->lanes);
    else
        dync__str_addf(t->s, "%s ", dync__dtype_c_type(t->y.dtype));
    for (int i = 0; i < n; i++) {
        dync__str_addf(t->s, "%sm%d%d", i ? ", " : "", i / b->groups, i % b->groups);
        if (lanes)
            dync__str_addf(t->s, "[#_n%d]", t->lanes);
        else if (t->lanes)
            dync__str_add(t->s, " = none - INFINITY");
        else
            dync__str_add(t->s, " = -INFINITY");
    }
    if (!lanes) return;
    dync__str_addf(t->s, ";\n%*sfor (int l = 0; l < #_n%d; l++) ", 4 * depth, "", t->lanes);
    for (int i = 0; i < n; i++) dync__str_addf(t->s, "m%d%d[l] = ", i / b->groups, i % b->groups);
    dync__str_add(t->s, "-INFINITY");
}

/* The maximum of window g of channel k into the result. */
static void dync__cconv_store_maximum(const dync__cconv_text *t, int depth, int k, int g)
{
    static const char *const rows[2] = {"i", "j"};
    char m[16];
    dync__format(m, sizeof m, "m%d%d%s", k, g, t->lanes && !t->late ? "[l]" : "");
    if (t->lanes && t->late) {
        dync__cconv_spread(t, depth, k, 0, g, m, rows);
        return;
    }
    dync__cconv_line(t, depth);
    if (t->lanes) dync__str_addf(t->s, "for (int l = 0; l < #_n%d; l++) ", t->lanes);
    dync__cconv_place(t, k, g, rows);
    if (t->late)
        dync__cconv_value(t, k, 0, m);
    else
        dync__str_add(t->s, m);
    dync__str_add(t->s, ";\n");
}

/* A block of places: with pooling its rows, then the maxima. */
static void dync__cconv_block_text(const dync__cconv_text *t, int depth)
{
    const dync__cconv_block *b = &t->block;
    if (!t->pool) {
        dync__cconv_row(t, depth);
        return;
    }
    dync__cconv_line(t, depth);
    dync__str_addf(t->s, "const int q = j * %lld", (long long)t->pool->stride[1]);
    dync__cconv_maxima(t, depth);
    dync__str_addf(t->s, ";\n%*sfor (int h = 0; h < %lld; h++) {\n%*sconst int r = i * %lld + h;\n",
                   4 * depth, "", (long long)t->pool->kernel[0], 4 * depth + 4, "",
                   (long long)t->pool->stride[0]);
    /* of a picture of one row or column nothing depends on the place */
    if (!dync__cconv_has_rows(t)) dync__str_addf(t->s, "%*s(void)r;\n", 4 * depth + 4, "");
    if (t->x.lay.shape[3] == 1) dync__str_addf(t->s, "%*s(void)q;\n", 4 * depth + 4, "");
    dync__cconv_rows(t, depth + 1);
    dync__cconv_row(t, depth + 1);
    dync__cconv_line(t, depth);
    dync__str_add(t->s, "}\n");
    for (int k = 0; k < b->channels; k++)
        for (int g = 0; g < b->groups; g++) dync__cconv_store_maximum(t, depth, k, g);
}

/* Which elements of the row that block number `at` reads exist: [from, to) of its span. */
static void dync__cconv_text_inside(dync__cconv_text *t, int64_t at)
{
    int64_t first = DYNC__MIN(at * t->block.groups, t->columns - t->block.groups),
            begin = first * (t->pool ? t->pool->stride[1] : 1) * t->a->stride[1] - t->a->pad[1];
    t->from = DYNC__MIN(DYNC__MAX(-begin, 0), t->block.span);
    t->to = DYNC__MAX(DYNC__MIN(t->x.lay.shape[3] - begin, t->block.span), t->from);
}

/* A row of what is stored: blocks that read alike are one loop. */
static void dync__cconv_blocks(dync__cconv_text *t, int depth)
{
    int64_t groups = t->block.groups, n = (t->columns + groups - 1) / groups;
    for (int64_t at = 0, end; at < n; at = end) {
        dync__cconv_text_inside(t, at);
        int64_t from = t->from, to = t->to;
        for (end = at + 1; end < n; end++) {
            dync__cconv_text_inside(t, end);
            if (t->from != from || t->to != to) break;
        }
        t->from = from;
        t->to = to;
        int inner = dync__csource_blocks_for(t->s, depth, t->pool ? "j" : "q", at * groups,
                                             end * groups, groups, t->columns);
        dync__cconv_block_text(t, inner);
        dync__csource_blocks_end(t->s, inner, depth);
    }
}

/* ---- the body -------------------------------------------------------------------------------- */

/* Blocks of channels; the last one begins earlier where they do not divide. */
static int dync__cconv_over_channels(const dync__cconv_text *t, int depth)
{
    long long channels = (long long)t->y.lay.shape[1];
    int wide = t->block.channels;
    if (!t->lanes) return dync__csource_blocks_for(t->s, depth, "o", 0, channels, wide, channels);
    dync__str_addf(t->s, "%*sfor (int o_ = 0; o_ < %lld; o_ += %d * #_n%d) {\n", 4 * depth, "",
                   channels, wide, t->lanes);
    dync__str_addf(t->s, "%*sconst int o = o_ + %d * #_n%d <= %lld ? o_ : %lld - %d * #_n%d;\n",
                   4 * depth + 4, "", wide, t->lanes, channels, channels, wide, t->lanes);
    return depth + 1;
}

DYNC__FN void dync__cconv_blocks_body(dync__cconv_text *t, int lanes)
{
    int depth = 1, inner;
    int64_t n = t->y.lay.shape[0];
    t->lanes = lanes;
    (lanes ? dync__cconv_choose_vectors : dync__cconv_choose)(t);
    if (t->n) depth = dync__csource_blocks_for(t->s, 1, "n", 0, n, 1, n);
    depth = dync__cconv_over_channels(t, depth);
    inner = dync__csource_blocks_for(t->s, depth, t->pool ? "i" : "r", 0, t->rows, 1, t->rows);
    if (!t->pool) dync__cconv_rows(t, inner);
    dync__cconv_blocks(t, inner);
    dync__csource_blocks_end(t->s, inner, 1);
}
