/* program/csource_conv_sums.c: what the sums of a block of an exported convolution add, for one row
 * of the window and one input channel. After csource_conv_choose.c, before csource_convs.c. */
#include "../dync.in.h"
#include "csource.h"
#include "csource_convs.h"
DYNC__COLD

DYNC__FN void dync__cconv_line(const dync__cconv_text *t, int depth)
{
    dync__str_addf(t->s, "%*s", 4 * depth, "");
}

/* Whether some row of places reads rows outside. */
DYNC__FN bool dync__cconv_clips(const dync__cconv_text *t)
{
    int64_t last = (t->y.lay.shape[2] - 1) * t->a->stride[0] - t->a->pad[0] +
                   (t->kh - 1) * t->a->dilation[0];
    return t->a->pad[0] > 0 || last >= t->x.lay.shape[2];
}

/* Pictures of one row have no p. */
DYNC__FN bool dync__cconv_has_rows(const dync__cconv_text *t)
{
    return dync__cconv_clips(t) || (t->x.lay.shape[2] > 1 && t->x.lay.stride[2]);
}

/* The first row of the window, p, and which of its rows exist. */
DYNC__FN void dync__cconv_rows(const dync__cconv_text *t, int depth)
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
DYNC__FN bool dync__cconv_column(const dync__cconv_text *t, int64_t v)
{
    bool any = false;
    for (int i = 0; i < t->block.places; i++) any = any || dync__cconv_element(t, i, v) >= 0;
    return any;
}

/* Element `at` of the row that a block reads. */
static void dync__cconv_read(const dync__cconv_text *t, int depth, int64_t at)
{
    dync__cconv_line(t, depth);
    dync__str_addf(t->s, "const %s e_%d = e[%lld];\n", dync__dtype_c_type(t->y.dtype), (int)at,
                   (long long)(at * t->x.lay.stride[3]));
}

/* Weight v of channel k of the block. */
static void dync__cconv_weight(const dync__cconv_text *t, int depth, int64_t v, int k)
{
    const int64_t *sw = t->w.lay.stride;
    dync__cconv_line(t, depth);
    if (t->lanes)
        dync__str_addf(t->s, "const #_v%d f%d_%d = *(const #_u%d *)(f + %lld + %d * #_n%d);\n",
                       t->lanes, (int)v, k, t->lanes, (long long)(v * sw[3]), k, t->lanes);
    else
        dync__str_addf(t->s, "const %s f%d_%d = f[%lld];\n", dync__dtype_c_type(t->y.dtype), (int)v,
                       k, (long long)(v * sw[3] + k * sw[0]));
}

static void dync__cconv_add(const dync__cconv_text *t, int depth, int64_t v, int k, int i)
{
    int64_t at = dync__cconv_element(t, i, v);
    if (at < 0) return;
    dync__cconv_line(t, depth);
    dync__str_addf(t->s, "s%d%d += e_%d * f%d_%d;\n", k, i, (int)at, (int)v, k);
}

/* What column v of the window adds. by_place: each element is read where it is added to all
 * channels, so that no more than one waits in a register beside the sums and the weights (GCC keeps
 * the order and else puts sums on the stack). */
static void dync__cconv_column_sums(const dync__cconv_text *t, int depth, int64_t v, bool by_place)
{
    const dync__cconv_block *b = &t->block;
    for (int k = 0; k < b->channels; k++) {
        dync__cconv_weight(t, depth, v, k);
        for (int i = 0; i < b->places && !by_place; i++) dync__cconv_add(t, depth, v, k, i);
    }
    for (int i = 0; i < b->places && by_place; i++) {
        int64_t at = dync__cconv_element(t, i, v);
        if (at >= 0) dync__cconv_read(t, depth, at);
        for (int k = 0; k < b->channels; k++) dync__cconv_add(t, depth, v, k, i);
    }
}

/* What the sums of one row of the window and one input channel add. */
DYNC__FN void dync__cconv_sums(const dync__cconv_text *t, int depth)
{
    bool has_u = t->kh > 1 || dync__cconv_clips(t);
    const char *c = t->w.lay.shape[1] > 1 ? "c" : NULL, *u = has_u ? "u" : NULL;
    const char *const of_x[] = {t->n, c, dync__cconv_has_rows(t) ? "p" : NULL, NULL},
                      *const of_w[] = {"o", c, u, NULL};
    const dync__cconv_block *b = &t->block;
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
    if (t->lanes && t->kw == 1) {
        dync__cconv_column_sums(t, depth, 0, true);
        return;
    }
    for (int64_t at = t->from; at < t->to; at++) {
        bool used = false;
        for (int i = 0; i < b->places; i++)
            for (int64_t v = 0; v < t->kw; v++) used = used || dync__cconv_element(t, i, v) == at;
        if (used) dync__cconv_read(t, depth, at);
    }
    for (int64_t v = 0; v < t->kw; v++)
        if (dync__cconv_column(t, v)) dync__cconv_column_sums(t, depth, v, false);
}
