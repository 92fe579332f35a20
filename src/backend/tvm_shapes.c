/* backend/tvm_shapes.c: reductions, products, convolutions and views as TVM's tensor expressions.
 * After tvm_pointwise.c, before tvm_rows.c. */
#include "../dync.in.h"
#include "tvm.h"
DYNC__COLD

/* ---- reductions ------------------------------------------------------------------------------ */

typedef struct dync__tvm_axes {
    int n;
    int64_t dim[DYNC_MAX_DIMS], count; /* count: elements that become one */
} dync__tvm_axes;
/* No dims: all of them. */
static dync__tvm_axes dync__tvm_axes_of(const dync__node *n)
{
    const dync__layout *lay = &dync__tvm_info(&n->args[0])->lay;
    const dync__arg *d = &n->args[1];
    dync__tvm_axes a = {.count = 1};
    a.n = d->n ? d->n : lay->ndim;
    for (int i = 0; i < a.n; i++) {
        a.dim[i] = !d->n ? i : d->as.dims[i] < 0 ? d->as.dims[i] + lay->ndim : d->as.dims[i];
        a.count *= lay->shape[a.dim[i]];
    }
    return a;
}
static dync__tvm_any dync__tvm_fold(dync__tvm_part *p, const char *topi, dync__tvm_any x,
                                    const dync__tvm_axes *a, bool keep)
{
    return DYNC__TVM(p->w, topi, x, dync__tvm_ints(p->w, a->n, a->dim), dync__tvm_bool(keep));
}
/* keepdim, the last argument of every reduction. */
static bool dync__tvm_keeps(const dync__node *n) { return n->args[n->nargs - 1].as.b; }

DYNC__FN dync__tvm_any dync__tvm_reduce(dync__tvm_part *p, const dync__node *n,
                                        const dync__tvm_row *r)
{
    dync__tvm_axes a = dync__tvm_axes_of(n);
    dync__tvm_any x = dync__tvm_arg(p, n, 0, dync__tvm_out(n));
    x = dync__tvm_fold(p, r->topi, x, &a, dync__tvm_keeps(n));
    if (n->op != DYNC__OP_mean) return x;
    return dync__tvm_2(p, "topi.divide", x, dync__tvm_const(p, n, (double)a.count));
}
/* Where there is a NaN, the sum is one. */
DYNC__FN dync__tvm_any dync__tvm_largest(dync__tvm_part *p, const dync__node *n,
                                         const dync__tvm_row *r)
{
    dync__tvm_axes a = dync__tvm_axes_of(n);
    bool keep = dync__tvm_keeps(n);
    int t = dync__tvm_out(n);
    dync__tvm_any x = dync__tvm_arg(p, n, 0, t);
    const dync__info *in = dync__tvm_info(&n->args[0]);
    dync__tvm_any odd = dync__tvm_where(p, dync__tvm_is_number(p, x, t), dync__tvm_full(p, in, 0),
                                        dync__tvm_full(p, in, 1));
    dync__tvm_any c = dync__tvm_2(p, "topi.greater", dync__tvm_fold(p, "topi.sum", odd, &a, keep),
                                  dync__tvm_const(p, n, 0));
    return dync__tvm_where(p, c, dync__tvm_fold(p, "topi.sum", x, &a, keep),
                           dync__tvm_fold(p, r->topi, x, &a, keep));
}
/* The mean and x less it; and the mean of its squares. */
static dync__tvm_any dync__tvm_centred(dync__tvm_part *p, const dync__node *n, dync__tvm_any x,
                                       const dync__tvm_axes *a, dync__tvm_any *mean)
{
    *mean = dync__tvm_2(p, "topi.divide", dync__tvm_fold(p, "topi.sum", x, a, true),
                        dync__tvm_const(p, n, (double)a->count));
    return dync__tvm_2(p, "topi.subtract", x, *mean);
}
DYNC__FN dync__tvm_any dync__tvm_var(dync__tvm_part *p, const dync__node *n, const dync__tvm_row *r)
{
    dync__tvm_axes a = dync__tvm_axes_of(n);
    dync__tvm_any mean,
        d = dync__tvm_centred(p, n, dync__tvm_arg(p, n, 0, dync__tvm_out(n)), &a, &mean);
    double count = (double)(a.count - n->args[2].as.i);
    d = dync__tvm_fold(p, "topi.sum", dync__tvm_mul(p, d, d), &a, dync__tvm_keeps(n));
    d = dync__tvm_2(p, "topi.divide", d, dync__tvm_const(p, n, count));
    return r->topi ? DYNC__TVM(p->w, r->topi, d) : d;
}
DYNC__FN dync__tvm_any dync__tvm_softmax(dync__tvm_part *p, const dync__node *n,
                                         const dync__tvm_row *r)
{
    dync__tvm_any x = dync__tvm_arg(p, n, 0, dync__tvm_out(n));
    int64_t dim = n->args[1].as.i;
    int ndim = n->info[0].lay.ndim;
    if (n->op == DYNC__OP_log_softmax) return DYNC__TVM(p->w, r->topi, x);
    return DYNC__TVM(p->w, r->topi, x, dync__tvm_int(dim < 0 ? dim + ndim : dim));
}
/* (input, normalized_shape, weight, bias, eps): the result, means, 1 / deviations */
DYNC__FN dync__tvm_any dync__tvm_norm(dync__tvm_part *p, const dync__node *n,
                                      const dync__tvm_row *r)
{
    dync__tvm_axes a = {.n = n->args[1].n, .count = 1};
    const dync__layout *lay = &n->info[0].lay;
    int t = dync__tvm_out(n);
    dync__tvm_any mean;
    for (int i = 0; i < a.n; i++) {
        a.dim[i] = lay->ndim - a.n + i;
        a.count *= lay->shape[a.dim[i]];
    }
    dync__tvm_any d = dync__tvm_centred(p, n, dync__tvm_arg(p, n, 0, t), &a, &mean);
    dync__tvm_any v = dync__tvm_fold(p, "topi.sum", dync__tvm_mul(p, d, d), &a, true);
    v = dync__tvm_2(p, "topi.divide", v, dync__tvm_const(p, n, (double)a.count));
    v = dync__tvm_add(p, v, dync__tvm_const(p, n, dync__arg_number(&n->args[4])));
    v = DYNC__TVM(p->w, r->topi, v);
    p->value[n->index][1] = mean;
    p->value[n->index][2] = v;
    d = dync__tvm_mul(p, d, v);
    if (n->args[2].kind == DYNC__A_NODE) d = dync__tvm_mul(p, d, dync__tvm_arg(p, n, 2, t));
    return n->args[3].kind == DYNC__A_NODE ? dync__tvm_add(p, d, dync__tvm_arg(p, n, 3, t)) : d;
}

/* ---- products and convolutions --------------------------------------------------------------- */

/* form: see the column of tvm_rows.c. */
static dync__tvm_any dync__tvm_einsum(dync__tvm_part *p, const char *form, dync__tvm_any a,
                                      dync__tvm_any b)
{
    dync__tvm_any both[2] = {a, b};
    return DYNC__TVM(p->w, "topi.einsum", dync__tvm_text(form), dync__tvm_list(p->w, 2, both));
}
DYNC__FN dync__tvm_any dync__tvm_matmul(dync__tvm_part *p, const dync__node *n,
                                        const dync__tvm_row *r)
{
    int t = dync__tvm_out(n), at = n->op == DYNC__OP_addmm;
    dync__tvm_any a = dync__tvm_arg(p, n, at, t), b = dync__tvm_arg(p, n, at + 1, t);
    dync__tvm_any y = dync__tvm_einsum(p, r->topi, a, b);
    return at ? dync__tvm_add(p, y, dync__tvm_arg(p, n, 0, t)) : y;
}
static dync__tvm_any dync__tvm_reshape(dync__tvm_part *p, dync__tvm_any x, int ndim,
                                       const int64_t *shape)
{
    return DYNC__TVM(p->w, "topi.reshape", x, dync__tvm_shape(p->w, ndim, shape),
                     dync__tvm_bool(false));
}
/* (input, weight, bias, stride, padding, dilation, transposed, output_padding, groups): windows of
 * the padded input, multiplied with the weights of their group. */
DYNC__FN dync__tvm_any dync__tvm_conv(dync__tvm_part *p, const dync__node *n,
                                      const dync__tvm_row *r)
{
    const dync__layout *x = &dync__tvm_info(&n->args[0])->lay,
                       *k = &dync__tvm_info(&n->args[1])->lay, *y = &n->info[0].lay;
    int t = dync__tvm_out(n), dims = x->ndim - 2;
    int64_t groups = n->args[8].as.i, pad[DYNC_MAX_DIMS] = {0}, split[DYNC_MAX_DIMS + 4];
    dync__tvm_work *w = p->w;
    (void)r;
    for (int d = 0; d < dims; d++) pad[2 + d] = n->args[4].as.dims[d];
    dync__tvm_any in = DYNC__TVM(w, "topi.nn.pad", dync__tvm_arg(p, n, 0, t),
                                 dync__tvm_ints(w, x->ndim, pad), dync__tvm_ints(w, x->ndim, pad),
                                 dync__tvm_number(w, t, 0), dync__tvm_text("pad"),
                                 dync__tvm_text("constant"), dync__tvm_none());
    in = DYNC__TVM(w, "topi.sliding_window", in, dync__tvm_int(2),
                   dync__tvm_ints(w, dims, k->shape + 2),
                   dync__tvm_ints(w, dims, n->args[3].as.dims));
    /* [batch, channels, places.., window..] in groups */
    split[0] = x->shape[0], split[1] = groups, split[2] = x->shape[1] / groups;
    for (int d = 0; d < dims; d++)
        split[3 + d] = y->shape[2 + d], split[3 + dims + d] = k->shape[2 + d];
    in = dync__tvm_reshape(p, in, 3 + 2 * dims, split);
    split[0] = groups, split[1] = k->shape[0] / groups;
    memcpy(split + 2, k->shape + 1, (size_t)(1 + dims) * sizeof *split);
    dync__tvm_any weight = dync__tvm_reshape(p, dync__tvm_arg(p, n, 1, t), 3 + dims, split);
    dync__tvm_any out =
        dync__tvm_einsum(p, dims == 1 ? "bgcxi,goci->bgox" : "bgcxyij,gocij->bgoxy", in, weight);
    out = dync__tvm_reshape(p, out, y->ndim, y->shape);
    if (n->args[2].kind != DYNC__A_NODE) return out;
    int64_t bias[DYNC_MAX_DIMS] = {1, y->shape[1], 1, 1, 1, 1, 1, 1};
    return dync__tvm_add(p, out, dync__tvm_reshape(p, dync__tvm_arg(p, n, 2, t), y->ndim, bias));
}

/* ---- views ----------------------------------------------------------------------------------- */

DYNC__FN dync__tvm_any dync__tvm_view(dync__tvm_part *p, const dync__node *n,
                                      const dync__tvm_row *r)
{
    (void)r;
    return dync__tvm_reshape(p, dync__tvm_value(p, &n->args[0]), n->info[0].lay.ndim,
                             n->info[0].lay.shape);
}
DYNC__FN dync__tvm_any dync__tvm_expand(dync__tvm_part *p, const dync__node *n,
                                        const dync__tvm_row *r)
{
    (void)r;
    return dync__tvm_spread(p, dync__tvm_value(p, &n->args[0]), &n->info[0]);
}
DYNC__FN dync__tvm_any dync__tvm_permute(dync__tvm_part *p, const dync__node *n,
                                         const dync__tvm_row *r)
{
    int ndim = n->info[0].lay.ndim;
    int64_t order[DYNC_MAX_DIMS], a = 0, b = 1;
    for (int d = 0; d < ndim; d++) order[d] = d;
    if (n->op == DYNC__OP_transpose) a = n->args[1].as.i, b = n->args[2].as.i;
    a += a < 0 ? ndim : 0, b += b < 0 ? ndim : 0;
    if (n->op == DYNC__OP_permute)
        for (int d = 0; d < ndim; d++)
            order[d] = n->args[1].as.dims[d] + (n->args[1].as.dims[d] < 0 ? ndim : 0);
    else if (ndim > 1)
        order[a] = b, order[b] = a;
    return DYNC__TVM(p->w, r->topi, dync__tvm_value(p, &n->args[0]),
                     dync__tvm_ints(p->w, ndim, order));
}
/* slice(self, dim, start, end, step), select(self, dim, index) */
DYNC__FN dync__tvm_any dync__tvm_slice(dync__tvm_part *p, const dync__node *n,
                                       const dync__tvm_row *r)
{
    const dync__layout *x = &dync__tvm_info(&n->args[0])->lay, *y = &n->info[0].lay;
    bool one = n->op == DYNC__OP_select;
    int64_t dim = n->args[1].as.i, from = n->args[2].as.i, step = one ? 1 : n->args[4].as.i;
    dim += dim < 0 ? x->ndim : 0;
    from += from < 0 ? x->shape[dim] : 0;
    from = DYNC__MAX(from, 0);
    int64_t to = from + (one ? 0 : (y->shape[dim] - 1) * step) + 1;
    dync__tvm_any out = DYNC__TVM(p->w, r->topi, dync__tvm_value(p, &n->args[0]),
                                  dync__tvm_ints(p->w, 1, &from), dync__tvm_ints(p->w, 1, &to),
                                  dync__tvm_ints(p->w, 1, &step), dync__tvm_ints(p->w, 1, &dim),
                                  dync__tvm_text("end"), dync__tvm_bool(true));
    return one ? dync__tvm_reshape(p, out, y->ndim, y->shape) : out;
}
DYNC__FN dync__tvm_any dync__tvm_cat(dync__tvm_part *p, const dync__node *n, const dync__tvm_row *r)
{
    dync__tvm_any list[16];
    int64_t dim = n->args[1].as.i;
    for (int i = 0; i < n->args[0].n && i < 16; i++)
        list[i] = dync__tvm_value(p, &n->args[0].as.list[i]);
    return DYNC__TVM(p->w, r->topi, dync__tvm_list(p->w, n->args[0].n, list),
                     dync__tvm_int(dim < 0 ? dim + n->info[0].lay.ndim : dim));
}
