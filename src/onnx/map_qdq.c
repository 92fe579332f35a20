/* onnx/map_qdq.c: products of what DequantizeLinear gives (QDQ models) are products of integers.
 * After map_bytes.c, before map_norm.c.
 *
 *   sum ((a - za) sa) ((b - zb) sb) = sa sb sum (a - za) (b - zb)
 *
 * where sa is one number and sb one, or one a column of the result: the scales move behind the
 * sum of integers, which is exact (dync__oi_byte_product). For matrices of weights that are large
 * enough. Convolutions, batches on both sides and small matrices stay products of floats: moving
 * their scales was measured, and was no faster. The pass `qdq`; without it the plain chain is what
 * it says. */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

/* What an input was before it was dequantized. */
typedef struct dync__oi_qdq {
    dync_tensor *x, *scale, *zero; /* zero NULL: 0; both of one number, or of rank 1 */
    int64_t axis;                  /* of x, along which those of rank 1 lie; -1: of one number */
} dync__oi_qdq;

static bool dync__oi_is_single(const dync_tensor *t) { return dync__oi_rank(t) == 0; }

/* A scale or zero point: one number as a scalar, more as they are. */
static dync_tensor *dync__oi_qdq_part(dync_tensor *t)
{
    return t && dync__oi_rank(t) == 1 && dync__oi_size(t, 0) == 1 ? dync_reshape(t, DYNC_SCALAR)
                                                                  : t;
}

/* Was input i of the call dequantized, from bytes to f32, in its own body? */
static bool dync__oi_qdq_of(const dync__onnx_call *c, int i, dync__oi_qdq *q)
{
    const dync__onnx_step *s = dync__onnx_maker(c, i);
    if (!s || !s->row || strcmp(s->row->name, "DequantizeLinear") != 0) return false;
    dync__onnx_call made = *c;
    made.step = s;
    made.node = s->node;
    made.row = s->row;
    made.version = s->version;
    dync_tensor *in[3] = {NULL};
    for (int k = 0; k < 3 && k < s->node->input.n; k++)
        in[k] = dync__onnx_value_at(c->frame, s->in[k]).t;
    if (!in[0] || !in[1] || dync__oi_type(in[1]) != DYNC_F32) return false;
    int64_t out = dync__oi_int(&made, "output_dtype");
    bool bytes = dync__oi_type(in[0]) == DYNC_I8 || dync__oi_type(in[0]) == DYNC_U8;
    if (!bytes || (out && out != DYNC__ONNX_FLOAT)) return false;
    q->x = in[0];
    q->scale = dync__oi_qdq_part(in[1]);
    q->zero = dync__oi_qdq_part(in[2]);
    if (!q->scale || (in[2] && !q->zero)) return false;
    int axis = -1, rank = dync__oi_rank(q->x);
    bool along = !dync__oi_is_single(q->scale) || (q->zero && !dync__oi_is_single(q->zero));
    if (along && !dync__oi_axis(&made, dync__oi_int(&made, "axis"), rank, &axis)) return false;
    q->axis = axis;
    return dync__oi_rank(q->scale) <= 1 && (!q->zero || dync__oi_rank(q->zero) <= 1);
}

/* Is it a matrix of weights, known and so large that bytes are the faster operands? */
static bool dync__oi_qdq_weights(const dync__oi_qdq *b)
{
    const dync__tensor *t = dync__peek(b->x);
    return t && dync__oi_rank(b->x) == 2 && !(t->flags & DYNC__T_FAKE) &&
           t->numel >= DYNC__QDQ_WEIGHTS;
}

/* Both inputs of a product; one scale of the first, one or one a place of `axis` of the second. */
static bool dync__oi_qdq_both(const dync__onnx_call *c, int axis, dync__oi_qdq *a, dync__oi_qdq *b)
{
    if (!dync__pass_on(DYNC__PASS_qdq) || c->n_in < 2 || !dync__oi_qdq_of(c, 0, a) ||
        !dync__oi_qdq_of(c, 1, b))
        return false;
    return a->axis < 0 && (b->axis < 0 || b->axis == axis) && dync__oi_qdq_weights(b);
}

/* a by b, b transposed where told; NULL + error */
static dync_tensor *dync__oi_qdq_product(const dync__onnx_call *c, const dync__oi_qdq *a,
                                         const dync__oi_qdq *b, bool transposed)
{
    dync__pass_log(DYNC__PASS_qdq, c->row->name, "by bytes");
    dync_tensor *y =
        dync__oi_byte_product(a->x, a->zero, transposed ? dync_t(b->x) : b->x, b->zero);
    dync_tensor *scale = y ? dync_mul(a->scale, b->scale) : NULL;
    return scale ? dync_mul(dync_to_dtype(y, DYNC_F32), scale) : NULL;
}

/* Each gives *y and true where the rule holds. */
DYNC__FN bool dync__oi_qdq_matmul(const dync__onnx_call *c, dync_tensor **y)
{
    dync__oi_qdq a, b;
    if (!dync__oi_qdq_both(c, 1, &a, &b) || dync__oi_rank(a.x) < 2) return false;
    *y = dync__oi_qdq_product(c, &a, &b, false);
    return true;
}

/* A B', without the rest of Gemm */
DYNC__FN bool dync__oi_qdq_gemm(const dync__onnx_call *c, bool transposed, dync_tensor **y)
{
    dync__oi_qdq a, b;
    if (!dync__oi_qdq_both(c, transposed ? 0 : 1, &a, &b) || dync__oi_rank(a.x) != 2 ||
        dync__oi_int(c, "transA"))
        return false;
    *y = dync__oi_qdq_product(c, &a, &b, transposed);
    return true;
}
