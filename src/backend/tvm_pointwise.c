/* backend/tvm_pointwise.c: pointwise operators as TVM's tensor expressions: a function each, that
 * builds it of topi's. After tvm_lib.c, before tvm_shapes.c.
 *
 * Values are float32 and float64; bool where conditions stand. NaN, zeros and infinities come out
 * as in dync: maximum, relu and amax are built so that NaN stays, which topi's own do not. An
 * operator without a row, or whose arguments a row does not take, is run by dync. */
#include "../dync.in.h"
#include "tvm.h"
DYNC__COLD

/* ---- arguments ------------------------------------------------------------------------------- */

/* Of a node argument: what it is, also where it is an item of several outputs. */
DYNC__FN const dync__info *dync__tvm_info(const dync__arg *a)
{
    const dync__node *n = a->as.node;
    return n->op == DYNC__NODE_GETITEM ? &n->args[0].as.node->info[n->args[1].as.i] : &n->info[0];
}
/* TVM's type node of a dtype. */
static dync__tvm_any dync__tvm_prim(dync__tvm_work *w, int dtype)
{
    return DYNC__TVM(w, "ir.PrimType", dync__tvm_dtype(dtype));
}
DYNC__FN dync__tvm_any dync__tvm_cast(dync__tvm_work *w, dync__tvm_any x, int from, int to)
{
    return from == to ? x : DYNC__TVM(w, "topi.cast", x, dync__tvm_prim(w, to));
}
DYNC__FN dync__tvm_any dync__tvm_value(dync__tvm_part *p, const dync__arg *a)
{
    const dync__node *n = a->as.node;
    if (n->op == DYNC__NODE_GETITEM) return p->value[n->args[0].as.node->index][n->args[1].as.i];
    return p->value[n->index][0];
}
/* A tensor or number as one of this dtype. */
DYNC__FN dync__tvm_any dync__tvm_arg(dync__tvm_part *p, const dync__node *n, int i, int dtype)
{
    const dync__arg *a = &n->args[i];
    if (a->kind == DYNC__A_NODE)
        return dync__tvm_cast(p->w, dync__tvm_value(p, a), dync__tvm_info(a)->dtype, dtype);
    return dync__tvm_number(p->w, dtype, dync__arg_number(a));
}
DYNC__FN int dync__tvm_out(const dync__node *n) { return n->info[0].dtype; }
/* A tensor of the form of `like`, every element x. */
DYNC__FN dync__tvm_any dync__tvm_full(dync__tvm_part *p, const dync__info *like, double x)
{
    dync__tvm_work *w = p->w;
    return DYNC__TVM(w, "topi.full", dync__tvm_shape(w, like->lay.ndim, like->lay.shape),
                     dync__tvm_prim(w, like->dtype), dync__tvm_number(w, like->dtype, x));
}
DYNC__FN dync__tvm_any dync__tvm_spread(dync__tvm_part *p, dync__tvm_any x, const dync__info *to)
{
    return DYNC__TVM(p->w, "topi.broadcast_to", x,
                     dync__tvm_shape(p->w, to->lay.ndim, to->lay.shape));
}
/* The argument in the shape of the result. */
static dync__tvm_any dync__tvm_wide(dync__tvm_part *p, const dync__node *n, int i, int dtype)
{
    if (n->args[i].kind != DYNC__A_NODE) {
        dync__info like = n->info[0];
        like.dtype = dtype;
        return dync__tvm_full(p, &like, dync__arg_number(&n->args[i]));
    }
    return dync__tvm_spread(p, dync__tvm_arg(p, n, i, dtype), &n->info[0]);
}

/* ---- short names ----------------------------------------------------------------------------- */

DYNC__FN dync__tvm_any dync__tvm_2(dync__tvm_part *p, const char *name, dync__tvm_any a,
                                   dync__tvm_any b)
{
    return DYNC__TVM(p->w, name, a, b);
}
DYNC__FN dync__tvm_any dync__tvm_mul(dync__tvm_part *p, dync__tvm_any a, dync__tvm_any b)
{
    return dync__tvm_2(p, "topi.multiply", a, b);
}
DYNC__FN dync__tvm_any dync__tvm_add(dync__tvm_part *p, dync__tvm_any a, dync__tvm_any b)
{
    return dync__tvm_2(p, "topi.add", a, b);
}
DYNC__FN dync__tvm_any dync__tvm_where(dync__tvm_part *p, dync__tvm_any c, dync__tvm_any a,
                                       dync__tvm_any b)
{
    return DYNC__TVM(p->w, "topi.where", c, a, b);
}
DYNC__FN dync__tvm_any dync__tvm_const(dync__tvm_part *p, const dync__node *n, double x)
{
    return dync__tvm_number(p->w, dync__tvm_out(n), x);
}

/* ---- pointwise ------------------------------------------------------------------------------- */

/* Functions of rows: n is the node, r its row. They return its value and have no other effect than
 * on p->w, whose failure is sticky. */
DYNC__FN dync__tvm_any dync__tvm_unary(dync__tvm_part *p, const dync__node *n,
                                       const dync__tvm_row *r)
{
    return DYNC__TVM(p->w, r->topi, dync__tvm_arg(p, n, 0, dync__tvm_out(n)));
}
DYNC__FN dync__tvm_any dync__tvm_binary(dync__tvm_part *p, const dync__node *n,
                                        const dync__tvm_row *r)
{
    int t = dync__tvm_out(n);
    /* two numbers are no tensor: one of them is spread */
    dync__tvm_any a = dync__tvm_arg(p, n, 0, t), b = dync__tvm_arg(p, n, 1, t);
    return dync__tvm_2(p, r->topi, a, b);
}
/* In the dtype of the operand that is a tensor. */
DYNC__FN dync__tvm_any dync__tvm_compare(dync__tvm_part *p, const dync__node *n,
                                         const dync__tvm_row *r)
{
    const dync__arg *a = &n->args[n->args[0].kind == DYNC__A_NODE ? 0 : 1];
    int t = dync__tvm_info(a)->dtype;
    return dync__tvm_2(p, r->topi, dync__tvm_arg(p, n, 0, t), dync__tvm_arg(p, n, 1, t));
}
DYNC__FN dync__tvm_any dync__tvm_logical(dync__tvm_part *p, const dync__node *n,
                                         const dync__tvm_row *r)
{
    dync__tvm_any a = dync__tvm_value(p, &n->args[0]);
    return n->nargs > 1 ? dync__tvm_2(p, r->topi, a, dync__tvm_value(p, &n->args[1]))
                        : DYNC__TVM(p->w, r->topi, a);
}
/* x < 0 ? 0 : x, for NaN is not less */
DYNC__FN dync__tvm_any dync__tvm_relu(dync__tvm_part *p, const dync__node *n,
                                      const dync__tvm_row *r)
{
    dync__tvm_any x = dync__tvm_arg(p, n, 0, dync__tvm_out(n));
    (void)r;
    return dync__tvm_where(p, dync__tvm_2(p, "topi.less", x, dync__tvm_const(p, n, 0)),
                           dync__tvm_full(p, &n->info[0], 0), x);
}
/* x < 0 ? slope * x : x; of abs, slope is -1 */
DYNC__FN dync__tvm_any dync__tvm_leaky(dync__tvm_part *p, const dync__node *n,
                                       const dync__tvm_row *r)
{
    dync__tvm_any x = dync__tvm_arg(p, n, 0, dync__tvm_out(n));
    double slope = n->nargs > 1 ? dync__arg_number(&n->args[1]) : -1;
    (void)r;
    return dync__tvm_where(p, dync__tvm_2(p, "topi.less", x, dync__tvm_const(p, n, 0)),
                           dync__tvm_mul(p, x, dync__tvm_const(p, n, slope)), x);
}
/* Is it a number? TVM takes x != x for false, and not (x <= y) for y < x; so the question stands
 * where its answer chooses. */
DYNC__FN dync__tvm_any dync__tvm_is_number(dync__tvm_part *p, dync__tvm_any x, int dtype)
{
    return dync__tvm_2(p, "topi.less_equal", x, dync__tvm_number(p->w, dtype, HUGE_VAL));
}
/* a < b or b is NaN ? b : a */
DYNC__FN dync__tvm_any dync__tvm_extreme(dync__tvm_part *p, const dync__node *n,
                                         const dync__tvm_row *r)
{
    int t = dync__tvm_out(n);
    dync__tvm_any a = dync__tvm_wide(p, n, 0, t), b = dync__tvm_wide(p, n, 1, t);
    a = dync__tvm_where(p, dync__tvm_is_number(p, b, t), a, b);
    return dync__tvm_where(p, dync__tvm_2(p, r->topi, a, b), b, a);
}
DYNC__FN dync__tvm_any dync__tvm_square(dync__tvm_part *p, const dync__node *n,
                                        const dync__tvm_row *r)
{
    dync__tvm_any x = dync__tvm_arg(p, n, 0, dync__tvm_out(n));
    (void)r;
    return dync__tvm_mul(p, x, x);
}
DYNC__FN dync__tvm_any dync__tvm_reciprocal(dync__tvm_part *p, const dync__node *n,
                                            const dync__tvm_row *r)
{
    (void)r;
    return dync__tvm_2(p, "topi.divide", dync__tvm_const(p, n, 1),
                       dync__tvm_arg(p, n, 0, dync__tvm_out(n)));
}
DYNC__FN dync__tvm_any dync__tvm_silu(dync__tvm_part *p, const dync__node *n,
                                      const dync__tvm_row *r)
{
    dync__tvm_any x = dync__tvm_arg(p, n, 0, dync__tvm_out(n));
    return dync__tvm_mul(p, x, DYNC__TVM(p->w, r->topi, x));
}
/* x / 2 * (1 + f(z)), z: x / sqrt 2, or sqrt(2 / pi) (x + 0.044715 x^3) */
DYNC__FN dync__tvm_any dync__tvm_gelu(dync__tvm_part *p, const dync__node *n,
                                      const dync__tvm_row *r)
{
    dync__tvm_any x = dync__tvm_arg(p, n, 0, dync__tvm_out(n)), z;
    if (n->op == DYNC__OP_gelu) {
        z = dync__tvm_mul(p, x, dync__tvm_const(p, n, 0.70710678118654752440));
    } else {
        dync__tvm_any cube = dync__tvm_mul(p, dync__tvm_mul(p, x, x), x);
        z = dync__tvm_add(p, x, dync__tvm_mul(p, cube, dync__tvm_const(p, n, 0.044715)));
        z = dync__tvm_mul(p, z, dync__tvm_const(p, n, 0.79788456080286535588));
    }
    z = dync__tvm_add(p, DYNC__TVM(p->w, r->topi, z), dync__tvm_const(p, n, 1));
    return dync__tvm_mul(p, dync__tvm_mul(p, x, dync__tvm_const(p, n, 0.5)), z);
}
DYNC__FN dync__tvm_any dync__tvm_select(dync__tvm_part *p, const dync__node *n,
                                        const dync__tvm_row *r)
{
    int t = dync__tvm_out(n);
    bool fill = n->op == DYNC__OP_masked_fill; /* (self, mask, value) */
    dync__tvm_any c = dync__tvm_spread(p, dync__tvm_value(p, &n->args[fill ? 1 : 0]), &n->info[0]);
    (void)r;
    return dync__tvm_where(p, c, dync__tvm_wide(p, n, fill ? 2 : 1, t),
                           dync__tvm_wide(p, n, fill ? 0 : 2, t));
}
/* grad * y * (1 - y), grad * (1 - y * y) */
DYNC__FN dync__tvm_any dync__tvm_slope(dync__tvm_part *p, const dync__node *n,
                                       const dync__tvm_row *r)
{
    int t = dync__tvm_out(n);
    dync__tvm_any g = dync__tvm_arg(p, n, 0, t), y = dync__tvm_arg(p, n, 1, t),
                  one = dync__tvm_const(p, n, 1);
    (void)r;
    if (n->op == DYNC__OP_tanh_backward)
        return dync__tvm_mul(p, g, dync__tvm_2(p, "topi.subtract", one, dync__tvm_mul(p, y, y)));
    return dync__tvm_mul(p, dync__tvm_mul(p, g, y), dync__tvm_2(p, "topi.subtract", one, y));
}
/* x <= threshold ? 0 : grad */
DYNC__FN dync__tvm_any dync__tvm_threshold(dync__tvm_part *p, const dync__node *n,
                                           const dync__tvm_row *r)
{
    int t = dync__tvm_out(n);
    dync__tvm_any c =
        dync__tvm_2(p, "topi.less_equal", dync__tvm_wide(p, n, 1, t), dync__tvm_arg(p, n, 2, t));
    (void)r;
    return dync__tvm_where(p, c, dync__tvm_full(p, &n->info[0], 0), dync__tvm_wide(p, n, 0, t));
}
DYNC__FN dync__tvm_any dync__tvm_as_it_is(dync__tvm_part *p, const dync__node *n,
                                          const dync__tvm_row *r)
{
    (void)r;
    return dync__tvm_cast(p->w, dync__tvm_value(p, &n->args[0]), dync__tvm_info(&n->args[0])->dtype,
                          dync__tvm_out(n));
}
DYNC__FN dync__tvm_any dync__tvm_fill(dync__tvm_part *p, const dync__node *n,
                                      const dync__tvm_row *r)
{
    bool one = n->op == DYNC__OP_ones || n->op == DYNC__OP_ones_like;
    (void)r;
    return dync__tvm_full(p, &n->info[0],
                          n->op == DYNC__OP_full ? dync__arg_number(&n->args[1]) : one);
}
