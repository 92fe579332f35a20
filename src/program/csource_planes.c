/* program/csource_planes.c: an exported convolution of one input channel for each result, in
 * vectors of places. After csource_convs.c, before csource_conv_forms.c.
 *
 *   for channels, strips of rows { z = the rows that the strip reads, padding as zeros
 *     for places of the strip, in vectors { s = {0}; s += w[u][v] * z at the place; t = s }
 *     y[...] = @_end(t[...] + b) }
 *
 * Rows of z are as wide as those of the result with what windows reach beyond, so places of all
 * rows of a strip are one loop; what it computes between the rows is left. A stride is a z for
 * each remainder of it. Constant, finite weights alone: a zero of the padding adds nothing then,
 * as sums begin with 0 and never become -0. */
#include "../dync.in.h"
#include "csource.h"
#include "csource_convs.h"
DYNC__COLD

enum { DYNC__PLANES_FLOATS = 4096, DYNC__PLANES_WINDOW = 49, DYNC__PLANES_COLUMNS = 4 };
enum { DYNC__PLANES_TOGETHER = 4 }; /* shorter loops are unrolled */

/* Along rows, along columns: how far windows reach beyond, in places; the strip. */
typedef struct dync__planes {
    const dync__cconv_text *t;
    int64_t reach[2], strip, height, width, n;
    int lanes;
} dync__planes;

static dync__planes dync__planes_of(const dync__cconv_text *t)
{
    dync__planes p = {.t = t};
    int64_t size[2] = {t->kh, t->kw}, phases = 1;
    for (int d = 0; d < 2; d++) {
        p.reach[d] = (size[d] - 1) * t->a->dilation[d] / t->a->stride[d];
        phases *= DYNC__MIN(size[d], t->a->stride[d]);
    }
    p.width = t->y.lay.shape[3] + p.reach[1];
    p.strip = DYNC__PLANES_FLOATS / phases / p.width - p.reach[0];
    p.strip = DYNC__MIN(DYNC__MAX(p.strip, 1), t->y.lay.shape[2]);
    p.height = p.strip + p.reach[0];
    p.n = (p.strip - 1) * p.width + t->y.lay.shape[3];
    p.lanes = dync__csource_lanes(p.n);
    return p;
}

DYNC__FN bool dync__cconv_planes_fit(const dync__cconv_text *t)
{
    if (t->w.lay.shape[1] != 1 || t->pool || !t->after->finite) return false;
    if (t->kh * t->kw > DYNC__PLANES_WINDOW || (t->kh == 1 && t->kw == 1)) return false;
    dync__planes p = dync__planes_of(t);
    return p.lanes > 0 && p.width <= DYNC__PLANES_FLOATS;
}

/* The remainders of dimension d that some element of a window has. */
static bool dync__planes_has_phase(const dync__planes *p, int d, int64_t phase)
{
    int64_t size = d ? p->t->kw : p->t->kh;
    bool has = false;
    for (int64_t u = 0; u < size; u++)
        has = has || u * p->t->a->dilation[d] % p->t->a->stride[d] == phase;
    return has;
}

/* Where the z of two remainders begins, among those that there are; -1, -1: their length. */
static int64_t dync__planes_at(const dync__planes *p, int64_t row, int64_t column)
{
    int64_t at = 0;
    for (int64_t i = 0; i < p->t->a->stride[0]; i++)
        for (int64_t j = 0; j < p->t->a->stride[1]; j++) {
            if (i == row && j == column) return at;
            if (dync__planes_has_phase(p, 0, i) && dync__planes_has_phase(p, 1, j))
                at += p->height * p->width;
        }
    return at;
}

/* The rows of one z, from the picture: elements outside stay zero. */
static void dync__planes_fill(const dync__planes *p, int depth, int64_t i, int64_t j)
{
    const dync__cconv_text *t = p->t;
    const int64_t *sx = t->x.lay.stride, step = t->a->stride[1];
    long long high = (long long)t->x.lay.shape[2], width = (long long)p->width;
    int64_t before = DYNC__MAX(t->a->pad[1] - j, 0), ends = t->x.lay.shape[3] + t->a->pad[1] - j;
    long long from = (before + step - 1) / step,
              to = DYNC__MIN(DYNC__MAX((ends + step - 1) / step, from), width);
    const char *const var[3] = {t->n, "p", "q"};
    const int64_t stride[3] = {sx[0], sx[2], step * sx[3]};
    dync__str *s = t->s;
    dync__str_addf(s, "%*sfor (int r = 0; r < %lld; r++) {\n", 4 * depth, "", (long long)p->height);
    depth++;
    dync__str_addf(s, "%*sconst int p = (r0 + r) * %lld + %lld;\n", 4 * depth, "",
                   (long long)t->a->stride[0], (long long)(i - t->a->pad[0]));
    dync__str_addf(s, "%*sfloat *row = z + %lld + %lld * r;\n", 4 * depth, "",
                   (long long)dync__planes_at(p, i, j), width);
    dync__str_addf(s, "%*sif (p >= 0 && p < %lld) {\n", 4 * depth, "", high);
    if (stride[2] == 1 && to - from >= DYNC__PLANES_TOGETHER)
        dync__str_add(s, DYNC__CSOURCE_TOGETHER);
    dync__str_addf(s, "%*sfor (int q = %lld; q < %lld; q++) row[q] = x[", 4 * depth + 4, "", from,
                   to);
    dync__csource_index(s, 3, stride, var, (j - t->a->pad[1]) * sx[3]);
    dync__str_addf(s, t->per_out > 1 ? " + o / %lld * " : " + o * ", (long long)t->per_out);
    dync__str_addf(s, "%lld];\n", (long long)sx[1]);
    dync__str_addf(s, "%*s} else {\n%*sfor (int q = 0; q < %lld; q++) row[q] = 0;\n", 4 * depth, "",
                   4 * depth + 4, "", width);
    dync__str_addf(s, "%*s}\n%*s}\n", 4 * depth, "", 4 * depth - 4, "");
}

/* Sums of `columns` vectors of places from j on. */
static void dync__planes_sums(const dync__planes *p, int depth, int columns)
{
    const dync__cconv_text *t = p->t;
    dync__str *s = t->s;
    dync__str_addf(s, "%*s#_v%d ", 4 * depth, "", p->lanes);
    for (int k = 0; k < columns; k++) dync__str_addf(s, "%ss%d = {0}", k ? ", " : "", k);
    dync__str_add(s, ";\n");
    for (int64_t u = 0; u < t->kh; u++)
        for (int64_t v = 0; v < t->kw; v++) {
            int64_t i = u * t->a->dilation[0], j = v * t->a->dilation[1];
            int64_t at = dync__planes_at(p, i % t->a->stride[0], j % t->a->stride[1]) +
                         i / t->a->stride[0] * p->width + j / t->a->stride[1];
            for (int k = 0; k < columns; k++)
                dync__str_addf(
                    s, "%*ss%d += f[%lld] * *(const #_u%d *)(z + j + %lld + %d * #_n%d);\n",
                    4 * depth, "", k, (long long)(u * t->w.lay.stride[2] + v * t->w.lay.stride[3]),
                    p->lanes, (long long)at, k, p->lanes);
        }
    for (int k = 0; k < columns; k++)
        dync__str_addf(s, "%*s*(#_u%d *)(t + j + %d * #_n%d) = s%d;\n", 4 * depth, "", p->lanes, k,
                       p->lanes, k);
}

/* Places of the strip: several vectors at a time, then single ones. */
static void dync__planes_places(const dync__planes *p, int depth)
{
    int columns = (int)DYNC__MIN(p->n / p->lanes, DYNC__PLANES_COLUMNS), lanes = p->lanes;
    long long n = (long long)p->n;
    dync__str *s = p->t->s;
    dync__str_addf(s, "%*sint j_ = 0;\n", 4 * depth, "");
    if (columns > 1) {
        dync__str_addf(s, "%*sfor (; j_ + %d * #_n%d <= %lld; j_ += %d * #_n%d) {\n", 4 * depth, "",
                       columns, lanes, n, columns, lanes);
        dync__str_addf(s, "%*sconst int j = j_;\n", 4 * depth + 4, "");
        dync__planes_sums(p, depth + 1, columns);
        dync__str_addf(s, "%*s}\n", 4 * depth, "");
    }
    dync__str_addf(s, "%*sfor (; j_ < %lld; j_ += #_n%d) {\n", 4 * depth, "", n, lanes);
    dync__str_addf(s, "%*sconst int j = j_ + #_n%d <= %lld ? j_ : %lld - #_n%d;\n", 4 * depth + 4,
                   "", lanes, n, n, lanes);
    dync__planes_sums(p, depth + 1, 1);
    dync__str_addf(s, "%*s}\n", 4 * depth, "");
}

/* The strip's sums into the result. */
static void dync__planes_store(const dync__planes *p, int depth)
{
    static const char *const in_strip[2] = {"r", "q"};
    const dync__cconv_text *t = p->t;
    const int64_t stride[2] = {p->width, 1};
    const char *const var[4] = {t->n, "o", "(r0 + r)", "q"};
    dync__str value = {0}, *s = t->s;
    dync__str_addf(s, "%*sfor (int r = 0; r < %lld; r++) {\n", 4 * depth, "", (long long)p->strip);
    if (t->y.lay.shape[3] >= DYNC__PLANES_TOGETHER) dync__str_add(s, DYNC__CSOURCE_TOGETHER);
    dync__str_addf(s, "%*sfor (int q = 0; q < %lld; q++) y[", 4 * depth + 4, "",
                   (long long)t->y.lay.shape[3]);
    dync__csource_index(s, 4, t->out->lay.stride, var, 0);
    dync__str_add(s, "] = ");
    dync__str_add(&value, "t[");
    dync__csource_index(&value, 2, stride, in_strip, 0);
    dync__str_addc(&value, ']');
    if (t->bias) dync__str_addf(&value, " + b[%lld * o]", (long long)t->bias->lay.stride[0]);
    dync__csource_after_value(s, t->after, &t->y.lay, var, dync__str_get(&value));
    dync__str_addf(s, ";\n%*s}\n", 4 * depth, "");
    s->failed = s->failed || value.failed;
    dync__str_free(&value);
}

DYNC__FN void dync__cconv_planes_body(const dync__cconv_text *t)
{
    dync__planes p = dync__planes_of(t);
    int64_t n = t->y.lay.shape[0], channels = t->y.lay.shape[1], rows = t->y.lay.shape[2];
    int depth = 1;
    dync__str_addf(t->s, "    float z[%lld] = {0}, t[%lld];\n",
                   (long long)dync__planes_at(&p, -1, -1), (long long)p.n);
    if (t->n) depth = dync__csource_blocks_for(t->s, depth, "n", 0, n, 1, n);
    depth = dync__csource_blocks_for(t->s, depth, "o", 0, channels, 1, channels);
    dync__str_addf(t->s, "%*sconst float *f = w + %lld * o;\n", 4 * depth, "",
                   (long long)t->w.lay.stride[0]);
    depth = dync__csource_blocks_for(t->s, depth, "r0", 0, (rows + p.strip - 1) / p.strip * p.strip,
                                     p.strip, rows);
    for (int64_t i = 0; i < t->a->stride[0]; i++)
        for (int64_t j = 0; j < t->a->stride[1]; j++)
            if (dync__planes_has_phase(&p, 0, i) && dync__planes_has_phase(&p, 1, j))
                dync__planes_fill(&p, depth, i, j);
    dync__planes_places(&p, depth);
    dync__planes_store(&p, depth);
    dync__csource_blocks_end(t->s, depth, 1);
}
