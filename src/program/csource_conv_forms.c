/* program/csource_conv_forms.c: which form an exported convolution has in vectors of the user's
 * compiler, beside the plain one: channels (csource_convs.c), planes (csource_planes.c), or a
 * product (csource_vectors.c) of weights and places. After csource_planes.c, before
 * csource_steps.c. */
#include "../dync.in.h"
#include "csource.h"
#include "csource_convs.h"
DYNC__COLD

/* 1x1 windows over dense places: a picture of one row. False: it is none. */
static bool dync__cconv_flatten(dync__cconv_text *t)
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
    if (flat && dync__csource_after_fits(t->after, &t->y.lay)) return true;
    t->x.lay = before[0];
    t->y.lay = before[1];
    return false;
}

/* Rounds of a vector of 16, of what takes `n` in vectors, for each of them, in 1/1024. */
static int64_t dync__cconv_waste(int64_t n)
{
    int lanes = dync__csource_lanes(n);
    return lanes ? (n + lanes - 1) / lanes * 16384 / n : 1 << 20;
}

static dync__cconv_text dync__cconv_of(dync__str *s, const dync__kcall *call,
                                       const dync__csource_after *after, bool *flat)
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
    *flat = dync__cconv_flatten(&t);
    return t;
}

/* Whatever the order of the weights. */
static dync__cconv_form dync__cconv_form_of(const dync__cconv_text *t, bool flat)
{
    int64_t channels = t->y.lay.shape[1], places = t->y.lay.shape[3], k = t->w.lay.shape[1];
    bool floats = t->x.dtype == DYNC_F32 && t->w.dtype == DYNC_F32 && t->y.dtype == DYNC_F32;
    if (!floats) return DYNC__CCONV_PLAIN;
    if (dync__cconv_planes_fit(t)) return DYNC__CCONV_PLANES;
    if (t->a->groups > 1) return DYNC__CCONV_PLAIN;
    if (flat && t->x.lay.stride[3] == 1 && dync__csource_lanes(places) &&
        dync__cconv_waste(places) * (k + 4) <= dync__cconv_waste(channels) * (k + 28))
        return DYNC__CCONV_PRODUCT;
    return dync__csource_lanes(channels) ? DYNC__CCONV_CHANNELS : DYNC__CCONV_PLAIN;
}

DYNC__FN dync__cconv_form dync__csource_conv_form(const dync__kcall *call,
                                                  const dync__csource_after *after)
{
    bool flat;
    dync__cconv_text t = dync__cconv_of(NULL, call, after, &flat);
    return dync__cconv_form_of(&t, flat);
}

/* A matrix of the sizes [batch, rows, columns] over an operand's memory. */
static dync__operand dync__cconv_matrix(int dtype, int64_t rows, int64_t columns,
                                        const int64_t stride[3])
{
    dync__operand o = {.dtype = (uint8_t)dtype};
    o.lay.ndim = 4;
    o.lay.shape[0] = o.lay.shape[1] = 1;
    o.lay.shape[2] = rows;
    o.lay.shape[3] = columns;
    o.lay.stride[0] = stride[0];
    o.lay.stride[2] = stride[1];
    o.lay.stride[3] = stride[2];
    return o;
}

/* y [n][o][places] = w [o][c] x [n][c][places] + b [o] */
static void dync__cconv_product_body(const dync__cconv_text *t)
{
    int64_t n = t->y.lay.shape[0], channels = t->y.lay.shape[1], k = t->w.lay.shape[1],
            places = t->y.lay.shape[3];
    const int64_t sw[3] = {0, t->w.lay.stride[0], t->w.lay.stride[1]},
                  sx[3] = {t->x.lay.stride[0], t->x.lay.stride[1], t->x.lay.stride[3]},
                  sb[3] = {0, t->bias ? t->bias->lay.stride[0] : 0, 0};
    dync__operand a = dync__cconv_matrix(DYNC_F32, channels, k, sw),
                  b = dync__cconv_matrix(DYNC_F32, k, places, sx),
                  bias = dync__cconv_matrix(DYNC_F32, channels, places, sb), c = t->y;
    /* the result's dimensions are n, 1, o, place: the loops of what follows go by strides */
    c.lay.shape[1] = 1;
    c.lay.stride[1] = 0;
    c.lay.shape[2] = channels;
    c.lay.stride[2] = t->y.lay.stride[1];
    b.lay.shape[0] = n;
    dync__csource_product_of p = {.s = t->s, .after = t->after, .a = &a, .b = &b, .c = &c};
    p.bias = t->bias ? &bias : NULL;
    dync__csource_product_sizes(&p);
    dync__csource_product_vectors(&p);
}

/* Does what follows keep the order of values, and NaN? Maxima and minima with numbers do. */
static bool dync__cconv_keeps_order(const dync__csource_after *after)
{
    const dync__kernel *k = after->k;
    for (int i = 0; k && i < k->inst.n; i++) {
        const dync__inst *in = &k->inst.at[i], *of[2];
        if (in->prim == DYNC__P_const_ || in->prim == DYNC__P_store) continue;
        if (in->prim == DYNC__P_load && in->buf == after->in) continue;
        if (in->prim != DYNC__P_max && in->prim != DYNC__P_min) return false;
        for (int a = 0; a < 2; a++) of[a] = &k->inst.at[in->arg[a]];
        if (of[0]->prim != DYNC__P_const_ && of[1]->prim != DYNC__P_const_) return false;
    }
    return true;
}

DYNC__FN void dync__csource_conv(dync__str *s, const dync__kcall *call,
                                 const dync__csource_after *after)
{
    bool flat;
    dync__cconv_text t = dync__cconv_of(s, call, after, &flat);
    dync__cconv_form form = dync__cconv_form_of(&t, flat);
    t.late = t.pool && t.y.dtype == DYNC_F32 && after->finite_bias &&
             dync__cconv_keeps_order(after);
    const char *letters = t.bias ? "xwby" : "xwy";
    t.out = after->pool ? &after->pool->operand[1] : &t.y;
    t.rows = t.out->lay.shape[2];
    t.columns = t.out->lay.shape[3];
    if (form == DYNC__CCONV_CHANNELS && t.w.lay.stride[0] != 1) form = DYNC__CCONV_PLAIN;
    if (form != DYNC__CCONV_PLAIN) {
        bool product = form == DYNC__CCONV_PRODUCT;
        dync__str_add(s, "#if DYNC_VECTOR\n");
        dync__csource_blocks_head(s, call, after, !product ? letters : t.bias ? "badc" : "bac");
        if (product)
            dync__cconv_product_body(&t);
        else if (form == DYNC__CCONV_PLANES)
            dync__cconv_planes_body(&t);
        else
            dync__cconv_blocks_body(&t, dync__csource_lanes(t.y.lay.shape[1]));
        dync__str_add(s, "}\n#else\n");
    }
    bool pairs = form == DYNC__CCONV_PLAIN && dync__cconv_pairs_fit(&t);
    if (pairs) {
        dync__str_add(s, "#if DYNC_SMLAD\n");
        dync__csource_blocks_head(s, call, after, letters);
        dync__cconv_pairs_body(&t);
        dync__str_add(s, "}\n#else\n");
    }
    dync__csource_blocks_head(s, call, after, letters);
    dync__cconv_blocks_body(&t, 0);
    dync__str_add(s, form == DYNC__CCONV_PLAIN && !pairs ? "}\n" : "}\n#endif\n");
}

DYNC__FN dync_status dync__csource_blocks(dync__str *s, const dync__kcall *call,
                                          dync__csource_after *after)
{
    if (after->k) DYNC__TRY(dync__element_csource(s, after->k, "@_end", after->in, &after->room));
    bool conv = dync__kcall_is(call, DYNC__K_conv2d) || dync__kcall_is(call, DYNC__K_int_conv2d);
    (conv ? dync__csource_conv : dync__csource_product)(s, call, after);
    return s->failed ? DYNC_ERR_MEMORY : DYNC_OK;
}
