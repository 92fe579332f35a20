/* onnx/map_bytes.c: products and convolutions of quantized bytes, with sums in I32 modulo 2^32.
 * After map_conv.c, before map_quant.c.
 *
 * With a = a' + 128 for unsigned bytes (a' = a for signed ones) and za, zb moved alike,
 *
 *   sum (a - za) (b - zb) = sum a' b' - za' sum b' - zb' sum a' + k za' zb'
 *
 * so that the product itself is one of I8 (int_mm, int_conv2d) and the rest are sums of rows and
 * columns: those of weights are folded, and a zero point of weights that is known to be 0 costs
 * nothing. Batches of products on both sides are products of floats: whole numbers up to 255, whose
 * sums are exact in f32 up to DYNC__OI_EXACT of them, in f64 always. What is no byte is multiplied
 * plainly (dync__oi_int_product). */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

enum { DYNC__OI_EXACT = 258 }; /* * 255^2 < 2^24 */

/* A zero point of x as I32: a number, or along dim of x. */
static dync_tensor *dync__oi_zero_along(dync_tensor *x, dync_tensor *zero, int dim)
{
    int rank = dync__oi_rank(x);
    dync_dims one = {rank, {0}};
    zero = dync_to_dtype(zero, DYNC_I32);
    if (!zero || dync__oi_rank(zero) != 1) return zero;
    bool single = dync__oi_size(zero, 0) == 1;
    if (single) return dync_reshape(zero, DYNC_SCALAR);
    for (int i = 0; i < rank; i++) one.d[i] = i == (dim + rank) % rank ? -1 : 1;
    return dync_reshape(zero, one);
}

/* x - zero as I32; a zero point of one number, or by rows (dim) of x */
DYNC__FN dync_tensor *dync__oi_centred(dync_tensor *x, dync_tensor *zero, int dim)
{
    x = dync_to_dtype(x, DYNC_I32);
    if (!zero || !x) return x;
    zero = dync__oi_zero_along(x, zero, dim);
    return zero ? dync_sub(x, zero) : NULL;
}

/* [.., m, k] x [.., k, n] of I32, summed in I32 */
static dync_tensor *dync__oi_int_product(dync_tensor *a, dync_tensor *b)
{
    if (!a || !b) return NULL;
    a = dync_unsqueeze(a, -1);
    b = dync_unsqueeze(b, -3);
    dync_tensor *s = a && b ? dync_sum(dync_mul(a, b), dync_shape(-2), false) : NULL;
    return s ? dync_to_dtype(s, DYNC_I32) : NULL;
}

/* ---- signed bytes ---------------------------------------------------------------------------- */

/* What a byte is: x' of I8, and its zero point as I32, NULL: known to be 0. */
typedef struct dync__oi_bytes {
    dync_tensor *x, *zero;
} dync__oi_bytes;

DYNC__FN bool dync__oi_is_all(dync_tensor *t, int64_t n)
{
    const dync__tensor *x = dync__peek(t);
    if (!x || x->flags & DYNC__T_FAKE || x->numel > 1 << 16) return false;
    t = dync_contiguous(t);
    x = t ? dync__open(t) : NULL;
    const char *at = x ? dync__tensor_data(x) : NULL;
    bool all = at != NULL;
    bool real = x && dync__dtype_info(x->dtype)->kind == 'f';
    for (int64_t i = 0; i < (x ? x->numel : 0) && all; i++) {
        const char *e = at + i * dync__dtype_info(x->dtype)->bytes;
        all = real ? dync__load_f64(e, x->dtype) == (double)n : dync__load_i64(e, x->dtype) == n;
    }
    return all;
}

static bool dync__oi_is_byte(const dync_tensor *t)
{
    return dync__oi_type(t) == DYNC_I8 || dync__oi_type(t) == DYNC_U8;
}

/* false: recorded */
static bool dync__oi_signed(dync_tensor *x, dync_tensor *zero, int dim, dync__oi_bytes *out)
{
    int64_t lift = dync__oi_type(x) == DYNC_U8 ? 128 : 0;
    bool none = zero ? dync__oi_is_all(zero, lift) : lift == 0;
    out->x = lift ? dync_to_dtype(dync_sub(dync_to_dtype(x, DYNC_I32), lift), DYNC_I8) : x;
    out->zero = NULL;
    if (none || !out->x) return out->x != NULL;
    const int64_t one = 1;
    out->zero = zero ? dync__oi_zero_along(x, zero, dim)
                     : dync__oi_tensor_i(DYNC_I32, 0, &one, &(int64_t){0});
    if (lift && out->zero) out->zero = dync_sub(out->zero, lift);
    return out->zero != NULL;
}

/* sum of bytes over dims as I32 */
static dync_tensor *dync__oi_byte_sum(dync_tensor *x, dync_dims over, bool keep)
{
    x = dync_sum(x, over, keep);
    return x ? dync_to_dtype(x, DYNC_I32) : NULL;
}

/* y - zero * sum, where there is a zero point */
static dync_tensor *dync__oi_less(dync_tensor *y, dync_tensor *zero, dync_tensor *sum)
{
    return y && zero && sum ? dync_sub(y, dync_mul(zero, sum)) : NULL;
}

/* ---- products -------------------------------------------------------------------------------- */

/* a [.., m, k] by a matrix b [k, n] */
static dync_tensor *dync__oi_matrix_product(dync_tensor *a, dync_tensor *za, dync_tensor *b,
                                            dync_tensor *zb)
{
    dync__oi_bytes l, r;
    dync_dims d = dync__oi_sizes(a);
    if (!dync__oi_signed(a, za, -2, &l) || !dync__oi_signed(b, zb, -1, &r)) return NULL;
    int64_t k = dync__oi_size(b, 0);
    d.d[d.n - 1] = dync__oi_extent(b, 1);
    dync_tensor *y = dync_int_mm(d.n > 2 ? dync_flatten(l.x, 0, -2) : l.x, r.x);
    if (y && d.n > 2) y = dync_reshape(y, d);
    if (l.zero) y = dync__oi_less(y, l.zero, dync__oi_byte_sum(r.x, dync_shape(0), true));
    if (r.zero) y = dync__oi_less(y, r.zero, dync__oi_byte_sum(l.x, dync_shape(-1), true));
    if (l.zero && r.zero && y) y = dync_add(y, dync_mul(dync_mul(l.zero, r.zero), k));
    return y;
}

/* (a - za) [.., m, k] times (b - zb) [.., k, n] -> I32 */
DYNC__FN dync_tensor *dync__oi_byte_product(dync_tensor *a, dync_tensor *za, dync_tensor *b,
                                            dync_tensor *zb)
{
    int m = dync__oi_rank(a), n = dync__oi_rank(b);
    if (!a || !b) return NULL;
    bool bytes = dync__oi_is_byte(a) && dync__oi_is_byte(b);
    if (bytes && m >= 2 && n == 2) return dync__oi_matrix_product(a, za, b, zb);
    int64_t k = dync__oi_extent(a, -1);
    a = dync__oi_centred(a, za, -2);
    b = dync__oi_centred(b, zb, -1);
    if (!bytes || m < 2 || n < 2) return dync__oi_int_product(a, b);
    dync_dtype real = dync__is_token(k) || k > DYNC__OI_EXACT ? DYNC_F64 : DYNC_F32;
    a = a ? dync_to_dtype(a, real) : NULL;
    b = a && b ? dync_to_dtype(b, real) : NULL;
    dync_tensor *y = b ? dync_matmul(a, b) : NULL;
    return y ? dync_to_dtype(y, DYNC_I32) : NULL;
}

/* ---- convolutions ---------------------------------------------------------------------------- */

/* a zero point or bias by channel, [M] -> [M, 1..] beside y [N, M, ...] */
static dync_tensor *dync__oi_by_channel(dync_tensor *t, int rank)
{
    dync_dims d = {rank - 1, {-1}};
    for (int i = 1; i < d.n; i++) d.d[i] = 1;
    return t && dync__oi_rank(t) == 1 ? dync_reshape(t, d) : t;
}

/* ---- bytes that the writer moved ------------------------------------------------------------- */

/* The step that makes input i of a step, where it is one of the few before it in the same body and
 * of this operator; NULL: it is not. */
static const dync__onnx_step *dync__oi_maker(const dync__onnx_call *c, const dync__onnx_step *s,
                                             int i, const char *op)
{
    enum { BEFORE = 8 };
    const dync__onnx_step *first = c->frame->body->step;
    if (i >= s->node->input.n || s->in[i].up || s->in[i].at < 0) return NULL;
    for (int back = 1; back <= BEFORE && s - first >= back; back++) {
        const dync__onnx_step *m = s - back;
        if (m->node->output.n && m->out[0] == s->in[i].at)
            return m->row && !*m->row->domain && strcmp(m->row->name, op) == 0 ? m : NULL;
    }
    return NULL;
}

static dync_tensor *dync__oi_step_in(const dync__onnx_call *c, const dync__onnx_step *s, int i)
{
    dync__onnx_place p = i < s->node->input.n ? s->in[i] : (dync__onnx_place){0, -1};
    return p.up || p.at < 0 ? NULL : c->frame->value[p.at].t;
}

/* Input i of the call where that is a tensor of I8 moved up by 128 into U8, as the writer moves
 * what ONNX Runtime convolves in U8 alone: that tensor. NULL: it is none. */
static dync_tensor *dync__oi_unlifted(const dync__onnx_call *c, int i)
{
    const dync__onnx_step *narrow = dync__oi_maker(c, c->step, i, "Cast"),
                          *add = narrow ? dync__oi_maker(c, narrow, 0, "Add") : NULL,
                          *wide = add ? dync__oi_maker(c, add, 0, "Cast") : NULL;
    if (!wide || dync__oi_type(dync__oi_in(c, i)) != DYNC_U8) return NULL;
    dync_tensor *x = dync__oi_step_in(c, wide, 0), *sum = dync__oi_step_in(c, narrow, 0);
    dync_tensor *by = dync__oi_step_in(c, add, 1);
    bool moved = x && sum && dync__oi_type(x) == DYNC_I8 && dync__oi_type(sum) == DYNC_I32 &&
                 dync__oi_rank(by) == 0 && dync__oi_is_all(by, 128);
    return moved ? x : NULL;
}

/* sums of x under the windows, [N, M, ...]: for the zero points of a kernel like k */
static dync_tensor *dync__oi_window_sums(const dync__onnx_call *c, const dync__oi_bytes *x,
                                         dync_tensor *k)
{
    dync_dims d = dync__oi_shape(k);
    if (dync__oi_int(c, "group") <= 1) d.d[0] = 1; /* the same of every channel */
    return dync__oi_convolve(c, x->x, dync__oi_full(d, 1, DYNC_I8), NULL, x->zero);
}

/* Of one channel a group (depthwise), which have no fours: in floats, whose sums are exact. */
static dync_tensor *dync__oi_depthwise(const dync__onnx_call *c, dync_tensor *x, dync_tensor *zx,
                                       dync_tensor *k, dync_tensor *zk, dync_tensor *bias)
{
    int rank = dync__oi_rank(k);
    x = dync__oi_centred(x, zx, 0);
    k = dync__oi_centred(k, zk, 0);
    if (!x || !k) return NULL;
    dync_tensor *y =
        dync__oi_convolve(c, dync_to_dtype(x, DYNC_F32), dync_to_dtype(k, DYNC_F32), NULL, NULL);
    y = y ? dync_to_dtype(y, DYNC_I32) : NULL;
    return y && bias ? dync_add(y, dync__oi_by_channel(bias, rank)) : y;
}

/* x [N, C, ...], k [M, C / group, ...], zero points zx a number, zk a number or [M]; bias [M] of
 * I32 or NULL -> I32 [N, M, ...] */
DYNC__FN dync_tensor *dync__oi_byte_conv(const dync__onnx_call *c, dync_tensor *x, dync_tensor *zx,
                                         dync_tensor *k, dync_tensor *zk, dync_tensor *bias)
{
    dync__oi_bytes l, r;
    int rank = dync__oi_rank(k);
    dync_dims all = {rank - 1, {0}};
    if (!x || !k || rank < 3) return NULL;
    if (zk && dync__oi_rank(zk) == 1) /* by channel, whatever the rank of k */
        zk = dync__oi_size(zk, 0) == 1 ? dync_reshape(zk, DYNC_SCALAR) : zk;
    if (zx && dync__oi_rank(zx) == 1) zx = dync_reshape(zx, DYNC_SCALAR);
    int64_t terms = 1;
    for (int i = 1; i < rank; i++) all.d[i - 1] = i, terms *= dync__oi_size(k, i);
    dync_tensor *unlifted = dync__oi_is_all(zx, 128) ? dync__oi_unlifted(c, 0) : NULL;
    if (!unlifted && dync__oi_size(k, 1) == 1 && terms <= DYNC__OI_EXACT)
        return dync__oi_depthwise(c, x, zx, k, zk, bias);
    if (unlifted) x = unlifted, zx = NULL;
    if (!dync__oi_signed(x, zx, 0, &l) || !dync__oi_signed(k, zk, 0, &r)) return NULL;
    if (r.zero) r.zero = dync_flatten(r.zero, 0, -1);
    if (l.zero) { /* joins the bias */
        dync_tensor *sum = dync__oi_byte_sum(r.x, all, false);
        if (r.zero && sum) sum = dync_sub(sum, dync_mul(r.zero, terms));
        sum = sum ? dync_neg(dync_mul(sum, l.zero)) : NULL;
        bias = bias && sum ? dync_add(bias, sum) : sum;
        if (!bias) return NULL;
    }
    dync_tensor *y = dync__oi_convolve(c, l.x, r.x, bias, l.zero);
    if (!r.zero || !y) return y;
    return dync__oi_less(y, dync__oi_by_channel(r.zero, rank), dync__oi_window_sums(c, &l, k));
}
