/* program/csource_convs.c: convolutions of an exported C file: a few output channels of a few
 * places of a row at a time, whose sums stay in registers. After csource_blocks.c, before
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
DYNC__COLD

enum {
    DYNC__CCONV_SUMS = 16,
    DYNC__CCONV_REGS = 28,
    DYNC__CCONV_TEXT = 24,
    DYNC__CCONV_PLACES = 8
};

/* A block: `channels` output channels, `groups` windows of a pooling (without one: places), each
 * of `wide` places of a row. */
typedef struct dync__cconv_block {
    int channels, groups, wide, places;
    int64_t column[DYNC__CCONV_PLACES]; /* of each place, from the block's first on */
    int64_t span;                       /* elements of a row that it may read */
} dync__cconv_block;

typedef struct dync__cconv_text {
    dync__str *s;
    const dync__csource_after *after;
    dync__operand x, w, y; /* y: the convolution's own result, whether it is stored or not */
    const dync__operand *out;
    const dync__operand *bias; /* or NULL */
    const char *n;             /* the picture; NULL: there is one */
    const dync__attr_conv *a;
    const dync__attr_pool *pool;
    int64_t kh, kw, rows, columns; /* of the window; of what is stored */
    int64_t per_out;               /* output channels of a group */
    dync__cconv_block block;
    int64_t from, to; /* elements of the row that exist, of the block's span */
} dync__cconv_text;

/* ---- the block ------------------------------------------------------------------------------- */

static void dync__cconv_block_make(const dync__cconv_text *t, int channels, int groups,
                                   dync__cconv_block *b)
{
    *b = (dync__cconv_block){.channels = channels, .groups = groups, .wide = 1};
    if (t->pool) b->wide = (int)t->pool->kernel[1];
    b->places = groups * b->wide;
    for (int i = 0; i < b->places && i < DYNC__CCONV_PLACES; i++)
        b->column[i] = t->pool ? i / b->wide * t->pool->stride[1] + i % b->wide : i;
    if (b->places <= DYNC__CCONV_PLACES)
        b->span = b->column[b->places - 1] * t->a->stride[1] + (t->kw - 1) * t->a->dilation[1] + 1;
}

/* Instructions for a row of what is stored. */
static int64_t dync__cconv_cost(const dync__cconv_text *t, const dync__cconv_block *b)
{
    int64_t blocks = (t->columns + b->groups - 1) / b->groups, sums = b->channels * b->places;
    int64_t loads = DYNC__MIN(b->span, b->places * t->kw) + b->channels * t->kw;
    int64_t rounds = t->w.lay.shape[1] * t->kh * (t->pool ? t->pool->kernel[0] : 1);
    return (t->y.lay.shape[1] / b->channels) * blocks *
           (rounds * (loads + sums * t->kw + 6) + sums * 5 + 15);
}

static void dync__cconv_choose(dync__cconv_text *t)
{
    int64_t least = -1;
    for (int channels = 1; channels <= 4; channels *= 2)
        for (int groups = 1; groups <= 5 && groups <= t->columns; groups++) {
            dync__cconv_block b;
            dync__cconv_block_make(t, channels, groups, &b);
            if (t->per_out % channels || b.places > DYNC__CCONV_PLACES) continue;
            int64_t sums = channels * b.places, regs = sums + b.span + channels;
            bool fits = sums <= DYNC__CCONV_SUMS && regs <= DYNC__CCONV_REGS &&
                        sums * t->kw <= DYNC__CCONV_TEXT;
            int64_t cost = dync__cconv_cost(t, &b);
            if (least >= 0 && (!fits || cost >= least)) continue;
            least = cost;
            t->block = b;
        }
}

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
    const char *type = dync__csource_type(t->y.dtype);
    const int64_t *sx = t->x.lay.stride, *sw = t->w.lay.stride;
    dync__cconv_line(t, depth);
    dync__str_addf(t->s, "const %s *e = x + ", dync__csource_type(t->x.dtype));
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
        dync__str_addf(t->s, "const %s e%d = e[%lld];\n", type, (int)at, (long long)(at * sx[3]));
    }
    for (int64_t v = 0; v < t->kw; v++)
        for (int k = 0; k < b->channels && dync__cconv_column(t, v); k++) {
            dync__cconv_line(t, depth);
            dync__str_addf(t->s, "const %s f%d_%d = f[%lld];\n", type, (int)v, k,
                           (long long)(v * sw[3] + k * sw[0]));
            for (int i = 0; i < b->places; i++) {
                int64_t at = dync__cconv_element(t, i, v);
                if (at < 0) continue;
                dync__cconv_line(t, depth);
                dync__str_addf(t->s, "s%d%d += e%d * f%d_%d;\n", k, i, (int)at, (int)v, k);
            }
        }
}

/* The value of place i of channel k. */
static void dync__cconv_value(const dync__cconv_text *t, int k, int i)
{
    char value[96], o[32], q[48];
    const char *var[4] = {t->n, o, "r", q};
    long long column = (long long)t->block.column[i];
    dync__format(o, sizeof o, k ? "(o + %d)" : "o", k);
    dync__format(q, sizeof q, column ? "(q + %lld)" : "q", column);
    if (t->bias)
        dync__format(value, sizeof value, "s%d%d + b[%lld * %s]", k, i,
                     (long long)t->bias->lay.stride[0], o);
    else
        dync__format(value, sizeof value, "s%d%d", k, i);
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

/* One row of places: sums, then what is done to them. */
static void dync__cconv_row(const dync__cconv_text *t, int depth)
{
    const dync__cconv_block *b = &t->block;
    const char *type = dync__csource_type(t->y.dtype);
    dync__cconv_line(t, depth);
    dync__str_addf(t->s, "%s ", type);
    for (int i = 0; i < b->channels * b->places; i++)
        dync__str_addf(t->s, "%ss%d%d = 0", i ? ", " : "", i / b->places, i % b->places);
    dync__str_add(t->s, ";\n");
    dync__cconv_rounds(t, depth);
    for (int k = 0; k < b->channels; k++)
        for (int i = 0; i < b->places; i++) {
            dync__cconv_line(t, depth);
            if (t->pool) {
                dync__str_addf(t->s, "const %s z%d%d = ", type, k, i);
                dync__cconv_value(t, k, i);
                int g = i / b->wide;
                dync__str_addf(t->s, ";\n%*sif (z%d%d > m%d%d || z%d%d != z%d%d) m%d%d = z%d%d;\n",
                               4 * depth, "", k, i, k, g, k, i, k, i, k, g, k, i);
                continue;
            }
            const char *const var[4] = {t->n, "o", "r", "q"};
            const int64_t *stride = t->out->lay.stride;
            dync__str_add(t->s, "y[");
            dync__csource_index(t->s, 4, stride, var, k * stride[1] + b->column[i] * stride[3]);
            dync__str_add(t->s, "] = ");
            dync__cconv_value(t, k, i);
            dync__str_add(t->s, ";\n");
        }
}

/* A block of places: with pooling its rows, then the maxima. */
static void dync__cconv_block_text(const dync__cconv_text *t, int depth)
{
    const char *const var[4] = {t->n, "o", "i", "j"};
    const dync__cconv_block *b = &t->block;
    if (!t->pool) {
        dync__cconv_row(t, depth);
        return;
    }
    dync__cconv_line(t, depth);
    dync__str_addf(t->s, "const int q = j * %lld;\n%*s%s ", (long long)t->pool->stride[1],
                   4 * depth, "", dync__csource_type(t->y.dtype));
    for (int i = 0; i < b->channels * b->groups; i++)
        dync__str_addf(t->s, "%sm%d%d = -INFINITY", i ? ", " : "", i / b->groups, i % b->groups);
    dync__str_addf(t->s, ";\n%*sfor (int h = 0; h < %lld; h++) {\n%*sconst int r = i * %lld + h;\n",
                   4 * depth, "", (long long)t->pool->kernel[0], 4 * depth + 4, "",
                   (long long)t->pool->stride[0]);
    dync__cconv_rows(t, depth + 1);
    dync__cconv_row(t, depth + 1);
    dync__cconv_line(t, depth);
    dync__str_add(t->s, "}\n");
    for (int k = 0; k < b->channels; k++)
        for (int g = 0; g < b->groups; g++) {
            const int64_t *stride = t->out->lay.stride;
            dync__cconv_line(t, depth);
            dync__str_add(t->s, "y[");
            dync__csource_index(t->s, 4, stride, var, k * stride[1] + g * stride[3]);
            dync__str_addf(t->s, "] = m%d%d;\n", k, g);
        }
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

/* ---- all of it ------------------------------------------------------------------------------- */

/* 1x1 windows over dense places: a picture of one row. */
static void dync__cconv_flatten(dync__cconv_text *t)
{
    dync__operand *all[2] = {&t->x, &t->y};
    dync__layout before[2] = {t->x.lay, t->y.lay};
    bool flat = t->kh == 1 && t->kw == 1 && !t->pool;
    for (int d = 0; d < 2; d++)
        flat = flat && t->a->stride[d] == 1 && t->a->pad[d] == 0 && t->a->dilation[d] >= 1;
    for (int i = 0; i < 2; i++) {
        dync__layout *lay = &all[i]->lay;
        flat = flat && (lay->shape[2] == 1 || lay->stride[2] == lay->shape[3] * lay->stride[3]);
        lay->shape[3] *= lay->shape[2];
        lay->shape[2] = 1;
    }
    if (flat && dync__csource_after_fits(t->after, &t->y.lay)) return;
    t->x.lay = before[0];
    t->y.lay = before[1];
}

DYNC__FN dync__cconv_form dync__csource_conv_form(const dync__kcall *call,
                                                  const dync__csource_after *after)
{
    (void)call, (void)after;
    return DYNC__CCONV_PLAIN;
}

DYNC__FN void dync__csource_conv(dync__str *s, const dync__kcall *call,
                                 const dync__csource_after *after)
{
    const dync__kcall *pool = after->pool;
    dync__cconv_text t = {.s = s, .after = after, .a = &call->attr.conv};
    t.x = call->operand[0];
    t.w = call->operand[1];
    t.y = call->operand[call->n - 1];
    t.bias = call->n == 4 ? &call->operand[2] : NULL;
    t.n = t.y.lay.shape[0] > 1 ? "n" : NULL;
    t.pool = pool ? &pool->attr.pool : NULL;
    t.kh = t.w.lay.shape[2];
    t.kw = t.w.lay.shape[3];
    t.per_out = t.w.lay.shape[0] / DYNC__MAX(t.a->groups, 1);
    dync__cconv_flatten(&t);
    t.out = pool ? &pool->operand[1] : &t.y;
    t.rows = t.out->lay.shape[2];
    t.columns = t.out->lay.shape[3];
    dync__cconv_choose(&t);
    dync__csource_blocks_head(s, call, after, t.bias ? "xwby" : "xwy");
    int depth = 1, inner;
    if (t.n) depth = dync__csource_blocks_for(s, 1, "n", 0, t.y.lay.shape[0], 1, t.y.lay.shape[0]);
    depth = dync__csource_blocks_for(s, depth, "o", 0, t.y.lay.shape[1], t.block.channels,
                                     t.y.lay.shape[1]);
    inner = dync__csource_blocks_for(s, depth, pool ? "i" : "r", 0, t.rows, 1, t.rows);
    if (!pool) dync__cconv_rows(&t, inner);
    dync__cconv_blocks(&t, inner);
    dync__csource_blocks_end(s, inner, 1);
    dync__str_add(s, "}\n");
}

DYNC__FN dync_status dync__csource_blocks(dync__str *s, const dync__kcall *call,
                                          dync__csource_after *after)
{
    if (after->k) DYNC__TRY(dync__element_csource(s, after->k, "@_end", after->in, &after->room));
    bool conv = dync__kcall_is(call, DYNC__K_conv2d) || dync__kcall_is(call, DYNC__K_int_conv2d);
    (conv ? dync__csource_conv : dync__csource_product)(s, call, after);
    return s->failed ? DYNC_ERR_MEMORY : DYNC_OK;
}
