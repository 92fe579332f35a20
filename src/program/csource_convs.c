/* program/csource_convs.c: convolutions of an exported C file: a few output channels of a few
 * places of a row at a time, whose sums stay in registers. After csource_conv_choose.c, before
 * csource_steps.c.
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

static void dync__cconv_line(const dync__cconv_text *t, int depth)
{
    dync__str_addf(t->s, "%*s", 4 * depth, "");
}

/* Whether some row of places reads rows outside. */
static bool dync__cconv_clips(const dync__cconv_text *t)
{
    int64_t last = (t->y.lay.shape[2] - 1) * t->a->stride[0] - t->a->pad[0] +
                   (t->kh - 1) * t->a->dilation[0];
    return t->a->pad[0] > 0 || last >= t->x.lay.shape[2];
}

/* Pictures of one row have no p. */
static bool dync__cconv_has_rows(const dync__cconv_text *t)
{
    return dync__cconv_clips(t) || (t->x.lay.shape[2] > 1 && t->x.lay.stride[2]);
}

/* The first row of the window, p, and which of its rows exist. */
static void dync__cconv_rows(const dync__cconv_text *t, int depth)
{
    long long step = (long long)t->a->dilation[0], high = (long long)t->x.lay.shape[2];
    if (!dync__cconv_has_rows(t)) return;
    dync__cconv_line(t, depth);
    dync__str_add(t->s, "const int p = ");
    bool first = true;
    dync__term_csource(t->s, t->a->stride[0], "r", &first);
    dync__offset_csource(t->s, -t->a->pad[0], first);
    dync__str_add(t->s, ";\n");
    if (!dync__cconv_clips(t)) return;
    dync__cconv_line(t, depth);
    dync__str_addf(t->s, "const int u0 = p < 0 ? (%lld - p) / %lld : 0, u1 = p + %lld < %lld ? ",
                   step - 1, step, (long long)(t->kh - 1) * step, high);
    dync__str_addf(t->s, "%lld : (%lld - p) / %lld;\n", (long long)t->kh, high + step - 1, step);
}

/* The element of the row, of the block's span, that place i reads by column v of the window; -1: it
 * is outside. */
static int64_t dync__cconv_element(const dync__cconv_text *t, int i, int64_t v)
{
    int64_t at = t->block.column[i] * t->a->stride[1] + v * t->a->dilation[1];
    return at >= t->from && at < t->to ? at : -1;
}

/* Does any place read by it? */
static bool dync__cconv_column(const dync__cconv_text *t, int64_t v)
{
    bool any = false;
    for (int i = 0; i < t->block.places; i++) any = any || dync__cconv_element(t, i, v) >= 0;
    return any;
}

/* What the sums of one row of the window and one input channel add. */
static void dync__cconv_sums(const dync__cconv_text *t, int depth)
{
    bool has_u = t->kh > 1 || dync__cconv_clips(t);
    const char *c = t->w.lay.shape[1] > 1 ? "c" : NULL, *u = has_u ? "u" : NULL;
    const char *const of_x[] = {t->n, c, dync__cconv_has_rows(t) ? "p" : NULL, NULL},
                      *const of_w[] = {"o", c, u, NULL};
    const dync__cconv_block *b = &t->block;
    const char *type = dync__dtype_c_type(t->y.dtype);
    const int64_t *sx = t->x.lay.stride, *sw = t->w.lay.stride;
    dync__cconv_line(t, depth);
    dync__str_addf(t->s, "const %s *e = x + ", dync__dtype_c_type(t->x.dtype));
    dync__csource_index(t->s, 4, sx, of_x, -t->a->pad[1] * sx[3]);
    bool first = false;
    dync__term_csource(t->s, t->a->dilation[0] * sx[2], u, &first);
    dync__term_csource(t->s, t->a->stride[1] * sx[3], "q", &first);
    if (t->a->groups > 1) {
        dync__str_addf(t->s, t->per_out > 1 ? " + o / %lld * " : " + o * ", (long long)t->per_out);
        dync__str_addf(t->s, "%lld", (long long)(t->w.lay.shape[1] * sx[1]));
    }
    dync__str_add(t->s, ", *f = w + ");
    dync__csource_index(t->s, 4, sw, of_w, 0);
    dync__str_add(t->s, ";\n");
    for (int64_t at = t->from; at < t->to; at++) {
        bool used = false;
        for (int i = 0; i < b->places; i++)
            for (int64_t v = 0; v < t->kw; v++) used = used || dync__cconv_element(t, i, v) == at;
        if (!used) continue;
        dync__cconv_line(t, depth);
        dync__str_addf(t->s, "const %s e_%d = e[%lld];\n", type, (int)at, (long long)(at * sx[3]));
    }
    for (int64_t v = 0; v < t->kw; v++)
        for (int k = 0; k < b->channels && dync__cconv_column(t, v); k++) {
            dync__cconv_line(t, depth);
            if (t->lanes)
                dync__str_addf(t->s,
                               "const #_v%d f%d_%d = *(const #_u%d *)(f + %lld + %d * #_n%d);\n",
                               t->lanes, (int)v, k, t->lanes, (long long)(v * sw[3]), k, t->lanes);
            else
                dync__str_addf(t->s, "const %s f%d_%d = f[%lld];\n", type, (int)v, k,
                               (long long)(v * sw[3] + k * sw[0]));
            for (int i = 0; i < b->places; i++) {
                int64_t at = dync__cconv_element(t, i, v);
                if (at < 0) continue;
                dync__cconv_line(t, depth);
                dync__str_addf(t->s, "s%d%d += e_%d * f%d_%d;\n", k, i, (int)at, (int)v, k);
            }
        }
}

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
        dync__str_addf(t->s, "%*s(void)x, (void)w;\n", 4 * depth, "");
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

/* The lanes of a vector, one by one: t[l] in a loop that is left open. */
static void dync__cconv_lanes(const dync__cconv_text *t, int depth, const char *vector)
{
    dync__cconv_line(t, depth);
    dync__str_addf(t->s, "*(#_u%d *)t = %s;\n%*sfor (int l = 0; l < #_n%d; l++) ", t->lanes, vector,
                   4 * depth, "", t->lanes);
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
        dync__cconv_lanes(t, depth, sum);
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
    if (t->lanes)
        dync__cconv_lanes(t, depth, sum);
    else
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
        dync__str_addf(t->s, "float t[#_n%d];\n%*s#_v%d ", t->lanes, 4 * depth, "", t->lanes);
    else
        dync__str_addf(t->s, "%s ", dync__dtype_c_type(t->y.dtype));
    for (int i = 0; i < n; i++) {
        dync__str_addf(t->s, "%sm%d%d", i ? ", " : "", i / b->groups, i % b->groups);
        if (lanes)
            dync__str_addf(t->s, "[#_n%d]", t->lanes);
        else if (t->lanes)
            dync__str_addf(t->s, " = (#_v%d){0} - INFINITY", t->lanes);
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
        dync__cconv_lanes(t, depth, m);
    } else {
        dync__cconv_line(t, depth);
        if (t->lanes) dync__str_addf(t->s, "for (int l = 0; l < #_n%d; l++) ", t->lanes);
    }
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
