/* op/infer_nn.c: shapes, dtypes and argument errors of reductions, products, layers, losses and
 * movers. After infer.c.
 *
 * What is not said otherwise gives fresh row-major outputs, as PyTorch does for these. */
#include "../dync.in.h"
#include "rows.h"

static dync_status dync__infer_axis(const dync__opcall *call, int i, const dync__tensor *t,
                                    int *dim)
{
    return dync__dim_wrap(dync__infer_int_dim(&call->args[i]), t->lay.ndim, dim);
}

static bool dync__infer_same_shape(const dync__layout *a, const dync__layout *b)
{
    return a->ndim == b->ndim && dync__sz_same(a->ndim, a->shape, b->shape);
}

/* "a[2, 3] and b[4]: text" */
static dync_status dync__infer_pair_error(const char *text, const dync__layout *a,
                                          const dync__layout *b)
{
    dync__str s = {0};
    dync__shape_text(&s, a->ndim, a->shape);
    dync__str_add(&s, " and ");
    dync__shape_text(&s, b->ndim, b->shape);
    dync__fail(DYNC_ERR_SHAPE, "%s, got %s", text, dync__str_get(&s));
    dync__str_free(&s);
    return DYNC_ERR_SHAPE;
}

static dync_status dync__infer_rank(const dync__tensor *t, int rank, const char *what)
{
    if (t->lay.ndim == rank) return DYNC_OK;
    return dync__fail(DYNC_ERR_SHAPE, "%s must be a %dD tensor, but got %dD", what, rank,
                      t->lay.ndim);
}

/* Tensor i of a gradient is what the forward call gave, or the gradient of that: of the dtype and
 * the sizes of `like`. */
static dync_status dync__infer_as_given(const dync__opcall *call, int i, const dync__info *like)
{
    dync__tensor *t;
    DYNC__TRY(dync__infer_tensor(call, i, &t));
    if (t->dtype != like->dtype)
        return dync__fail(DYNC_ERR_DTYPE, "argument %d: expected dtype %s, got %s", i + 1,
                          dync__dtype_info(like->dtype)->name, dync__dtype_info(t->dtype)->name);
    if (dync__infer_same_shape(&t->lay, &like->lay)) return DYNC_OK;
    return dync__infer_pair_error("a gradient takes what the forward call gave", &t->lay,
                                  &like->lay);
}

/* ---- reductions ------------------------------------------------------------------------------ */

DYNC__FN dync_status dync__infer_dims(const dync__arg *dims, int ndim, bool *reduced)
{
    int64_t one = dims->kind == DYNC__A_INT ? dims->as.i : 0;
    int n = dims->kind == DYNC__A_INT ? 1 : dims->n;
    const int64_t *d = dims->kind == DYNC__A_INT ? &one : dims->as.dims;
    if (n < 0 || n > DYNC_MAX_DIMS)
        return dync__fail(DYNC_ERR_VALUE, "expected at most %d dims, got %d", DYNC_MAX_DIMS, n);
    for (int i = 0; i < DYNC_MAX_DIMS; i++) reduced[i] = n == 0 && i < ndim;
    for (int i = 0; i < n; i++) {
        dync__arg a = dync__arg_i(d[i]);
        int dim;
        DYNC__TRY(dync__dim_wrap(dync__infer_int_dim(&a), ndim, &dim));
        if (reduced[dim])
            return dync__fail(DYNC_ERR_VALUE, "dim %d appears multiple times in the list of dims",
                              dim);
        reduced[dim] = true;
    }
    return DYNC_OK;
}

static dync_status dync__infer_reduced(const dync__tensor *t, const bool *reduced, bool keepdim,
                                       int dtype, dync__info *out)
{
    int64_t shape[DYNC_MAX_DIMS];
    int n = 0;
    for (int i = 0; i < t->lay.ndim; i++) {
        if (!reduced[i])
            shape[n++] = t->lay.shape[i];
        else if (keepdim)
            shape[n++] = 1;
    }
    return dync__infer_fresh(out, dtype, t->device, n, shape);
}

/* Extremes of nothing do not exist. */
static dync_status dync__infer_not_empty(const dync__tensor *t, const bool *reduced)
{
    for (int i = 0; i < t->lay.ndim; i++)
        if (reduced[i] && t->lay.shape[i] == 0)
            return dync__fail(DYNC_ERR_INDEX, "Expected reduction dim %d to have non-zero size.",
                              i);
    return DYNC_OK;
}

static int dync__infer_reduce_dtype(const dync__opcall *call, const dync__tensor *t)
{
    bool floating = dync__dtype_info(t->dtype)->kind == 'f';
    if (call->row->flags & DYNC__OP_BOOL_OUT) return t->dtype == DYNC_U8 ? DYNC_U8 : DYNC_BOOL;
    if ((call->row->flags & DYNC__OP_KEEP_INT) && !floating) return DYNC_I64;
    if ((call->row->flags & DYNC__OP_FLOAT) && !floating) return dync__tls.default_dtype;
    return t->dtype;
}

DYNC__FN dync_status dync__i_reduce(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    bool reduced[DYNC_MAX_DIMS];
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    DYNC__TRY(dync__infer_dims(&call->args[1], t->lay.ndim, reduced));
    if (call->op == DYNC__OP_mean && dync__dtype_info(t->dtype)->kind != 'f')
        return dync__fail(
            DYNC_ERR_DTYPE,
            "could not infer output dtype. Input dtype must be either a floating point or "
            "complex dtype. "
            "Got: %s",
            dync__dtype_info(t->dtype)->guard);
    if (call->op == DYNC__OP_amax || call->op == DYNC__OP_amin)
        DYNC__TRY(dync__infer_not_empty(t, reduced));
    return dync__infer_reduced(t, reduced, call->args[2].as.i != 0,
                               dync__infer_reduce_dtype(call, t), out);
}

DYNC__FN dync_status dync__i_var(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    bool reduced[DYNC_MAX_DIMS];
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    if (dync__dtype_info(t->dtype)->kind != 'f')
        return dync__fail(DYNC_ERR_DTYPE, "std and var only support floating point and complex "
                                          "dtypes");
    DYNC__TRY(dync__infer_dims(&call->args[1], t->lay.ndim, reduced));
    return dync__infer_reduced(t, reduced, call->args[3].as.i != 0, t->dtype, out);
}

DYNC__FN dync_status dync__i_norm(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    bool reduced[DYNC_MAX_DIMS];
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    if (dync__dtype_info(t->dtype)->kind != 'f')
        return dync__fail(DYNC_ERR_DTYPE,
                          "Expected a floating point or complex tensor as input. "
                          "Got %s",
                          dync__dtype_info(t->dtype)->guard);
    if (!dync__arg_is_number(&call->args[1]))
        return dync__fail(DYNC_ERR_VALUE, "expected p to "
                                          "be a number");
    DYNC__TRY(dync__infer_dims(&call->args[2], t->lay.ndim, reduced));
    return dync__infer_reduced(t, reduced, call->args[3].as.i != 0, t->dtype, out);
}

DYNC__FN dync_status dync__i_arg_reduce(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    bool reduced[DYNC_MAX_DIMS];
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    if (t->dtype == DYNC_BOOL) return dync__fail(DYNC_ERR_DTYPE, "does not support bool input");
    DYNC__TRY(dync__infer_dims(&call->args[1], t->lay.ndim, reduced));
    DYNC__TRY(dync__infer_not_empty(t, reduced));
    return dync__infer_reduced(t, reduced, call->args[2].as.i != 0, DYNC_I64, out);
}

DYNC__FN dync_status dync__i_max_dim(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    bool reduced[DYNC_MAX_DIMS];
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    DYNC__TRY(dync__infer_dims(&call->args[1], t->lay.ndim, reduced));
    DYNC__TRY(dync__infer_not_empty(t, reduced));
    DYNC__TRY(dync__infer_reduced(t, reduced, call->args[2].as.i != 0, t->dtype, &out[0]));
    return dync__infer_reduced(t, reduced, call->args[2].as.i != 0, DYNC_I64, &out[1]);
}

DYNC__FN dync_status dync__i_cumsum(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    int dim;
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    DYNC__TRY(dync__infer_axis(call, 1, t, &dim));
    return dync__infer_fresh(out, dync__infer_reduce_dtype(call, t), t->device, t->lay.ndim,
                             t->lay.shape);
}

DYNC__FN dync_status dync__i_softmax(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    int dim;
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    DYNC__TRY(dync__infer_axis(call, 1, t, &dim));
    DYNC__TRY(dync__infer_floating(t));
    return dync__infer_fresh(out, t->dtype, t->device, t->lay.ndim, t->lay.shape);
}

/* ---- products -------------------------------------------------------------------------------- */

static dync_status dync__infer_two(const dync__opcall *call, dync__tensor **a, dync__tensor **b,
                                   int *device)
{
    DYNC__TRY(dync__infer_tensor(call, 0, a));
    DYNC__TRY(dync__infer_tensor(call, 1, b));
    DYNC__TRY(dync__infer_device(call, device));
    if ((*a)->dtype != (*b)->dtype)
        return dync__fail(DYNC_ERR_DTYPE,
                          "expected m1 and m2 to have the same dtype, but got: "
                          "%s != %s",
                          dync__dtype_info((*a)->dtype)->name, dync__dtype_info((*b)->dtype)->name);
    if ((*a)->dtype == DYNC_BOOL) return dync__fail(DYNC_ERR_DTYPE, "not implemented for 'Bool'");
    return DYNC_OK;
}

static dync_status dync__infer_inner(const dync__tensor *a, int64_t inner_a, const dync__tensor *b,
                                     int64_t inner_b)
{
    if (dync__sz_eq(inner_a, inner_b)) return DYNC_OK;
    dync__str s = {0};
    dync__tensor_brief(&s, a);
    dync__str_add(&s, " x ");
    dync__tensor_brief(&s, b);
    dync__fail(DYNC_ERR_SHAPE, "%s: inner sizes %lld and %lld differ", dync__str_get(&s),
               (long long)dync__sz_hint(inner_a), (long long)dync__sz_hint(inner_b));
    dync__str_free(&s);
    return DYNC_ERR_SHAPE;
}

DYNC__FN dync_status dync__i_mm(const dync__opcall *call, dync__info *out)
{
    dync__tensor *a, *b;
    int device;
    DYNC__TRY(dync__infer_two(call, &a, &b, &device));
    DYNC__TRY(dync__infer_rank(a, 2, "self"));
    DYNC__TRY(dync__infer_rank(b, 2, "mat2"));
    DYNC__TRY(dync__infer_inner(a, a->lay.shape[1], b, b->lay.shape[0]));
    int64_t shape[2] = {a->lay.shape[0], b->lay.shape[1]};
    return dync__infer_fresh(out, a->dtype, device, 2, shape);
}

DYNC__FN dync_status dync__i_int_mm(const dync__opcall *call, dync__info *out)
{
    DYNC__TRY(dync__i_mm(call, out));
    if (out->dtype != DYNC_I8)
        return dync__fail(DYNC_ERR_DTYPE, "expected self and mat2 of int8, got %s",
                          dync__dtype_info(out->dtype)->name);
    out->dtype = DYNC_I32;
    return DYNC_OK;
}

DYNC__FN dync_status dync__i_bmm(const dync__opcall *call, dync__info *out)
{
    dync__tensor *a, *b;
    int device;
    DYNC__TRY(dync__infer_two(call, &a, &b, &device));
    DYNC__TRY(dync__infer_rank(a, 3, "batch1"));
    DYNC__TRY(dync__infer_rank(b, 3, "batch2"));
    if (!dync__sz_eq(a->lay.shape[0], b->lay.shape[0]))
        return dync__infer_pair_error("expected equal batch sizes", &a->lay, &b->lay);
    DYNC__TRY(dync__infer_inner(a, a->lay.shape[2], b, b->lay.shape[1]));
    int64_t shape[3] = {a->lay.shape[0], a->lay.shape[1], b->lay.shape[2]};
    return dync__infer_fresh(out, a->dtype, device, 3, shape);
}

DYNC__FN dync_status dync__i_mv(const dync__opcall *call, dync__info *out)
{
    dync__tensor *a, *b;
    int device;
    DYNC__TRY(dync__infer_two(call, &a, &b, &device));
    DYNC__TRY(dync__infer_rank(a, 2, "self"));
    DYNC__TRY(dync__infer_rank(b, 1, "vec"));
    DYNC__TRY(dync__infer_inner(a, a->lay.shape[1], b, b->lay.shape[0]));
    return dync__infer_fresh(out, a->dtype, device, 1, a->lay.shape);
}

DYNC__FN dync_status dync__i_dot(const dync__opcall *call, dync__info *out)
{
    dync__tensor *a, *b;
    int device;
    DYNC__TRY(dync__infer_two(call, &a, &b, &device));
    DYNC__TRY(dync__infer_rank(a, 1, "self"));
    DYNC__TRY(dync__infer_rank(b, 1, "tensor"));
    DYNC__TRY(dync__infer_inner(a, a->lay.shape[0], b, b->lay.shape[0]));
    return dync__infer_fresh(out, a->dtype, device, 0, NULL);
}

DYNC__FN dync_status dync__i_outer(const dync__opcall *call, dync__info *out)
{
    dync__tensor *a, *b;
    int device;
    DYNC__TRY(dync__infer_tensor(call, 0, &a));
    DYNC__TRY(dync__infer_tensor(call, 1, &b));
    DYNC__TRY(dync__infer_device(call, &device));
    DYNC__TRY(dync__infer_rank(a, 1, "self"));
    DYNC__TRY(dync__infer_rank(b, 1, "vec2"));
    int64_t shape[2] = {a->lay.shape[0], b->lay.shape[0]};
    return dync__infer_fresh(out, dync__promote(a->dtype, b->dtype), device, 2, shape);
}

DYNC__FN dync_status dync__i_addmm(const dync__opcall *call, dync__info *out)
{
    dync__tensor *self, *a, *b;
    dync__layout expanded;
    DYNC__TRY(dync__infer_tensor(call, 0, &self));
    dync__arg pair[2] = {call->args[1], call->args[2]};
    dync__opcall mm = {.row = call->row, .op = call->op, .nargs = 2, .args = pair};
    DYNC__TRY(dync__i_mm(&mm, out));
    DYNC__TRY(dync__infer_two(&mm, &a, &b, &out->device));
    if (self->dtype != a->dtype)
        return dync__fail(DYNC_ERR_DTYPE,
                          "self and mat2 must have the same dtype, but got %s "
                          "and %s",
                          dync__dtype_info(self->dtype)->name, dync__dtype_info(a->dtype)->name);
    return dync__layout_expand(&self->lay, 2, out->lay.shape, &expanded);
}

DYNC__FN dync_status dync__i_matmul(const dync__opcall *call, dync__info *out)
{
    dync__tensor *a, *b;
    int device, n;
    int64_t shape[DYNC_MAX_DIMS];
    DYNC__TRY(dync__infer_two(call, &a, &b, &device));
    int na = a->lay.ndim, nb = b->lay.ndim;
    if (na == 0 || nb == 0)
        return dync__fail(DYNC_ERR_SHAPE,
                          "both arguments need to be at least 1D, but they are %dD and %dD", na,
                          nb);
    DYNC__TRY(dync__infer_inner(a, a->lay.shape[na - 1], b, b->lay.shape[nb == 1 ? 0 : nb - 2]));
    DYNC__TRY(dync__broadcast(DYNC__MAX(na - 2, 0), a->lay.shape, DYNC__MAX(nb - 2, 0),
                              b->lay.shape, &n, shape));
    if (na > 1) shape[n++] = a->lay.shape[na - 2];
    if (nb > 1) shape[n++] = b->lay.shape[nb - 1];
    return dync__infer_fresh(out, a->dtype, device, n, shape);
}

DYNC__FN dync_status dync__i_linear(const dync__opcall *call, dync__info *out)
{
    dync__tensor *x, *w, *bias;
    int device;
    int64_t shape[DYNC_MAX_DIMS];
    DYNC__TRY(dync__infer_two(call, &x, &w, &device));
    if (w->lay.ndim != 1) DYNC__TRY(dync__infer_rank(w, 2, "weight"));
    if (x->lay.ndim == 0) return dync__fail(DYNC_ERR_SHAPE, "input must have at least one dim");
    DYNC__TRY(
        dync__infer_inner(x, x->lay.shape[x->lay.ndim - 1], w, w->lay.shape[w->lay.ndim - 1]));
    int n = x->lay.ndim - (w->lay.ndim == 1);
    memcpy(shape, x->lay.shape, sizeof shape);
    if (w->lay.ndim == 2) shape[n - 1] = w->lay.shape[0];
    if (call->args[2].kind != DYNC__A_NONE) {
        DYNC__TRY(dync__infer_tensor(call, 2, &bias));
        if (bias->dtype != x->dtype)
            return dync__fail(DYNC_ERR_DTYPE, "expected bias of dtype %s, got %s",
                              dync__dtype_info(x->dtype)->name,
                              dync__dtype_info(bias->dtype)->name);
        bool fits = bias->lay.ndim <= (w->lay.ndim == 1 ? 0 : n);
        for (int d = 1; fits && d <= bias->lay.ndim; d++)
            fits = bias->lay.shape[bias->lay.ndim - d] == 1 ||
                   dync__sz_eq(bias->lay.shape[bias->lay.ndim - d], shape[n - d]);
        if (!fits)
            return dync__infer_pair_error(
                w->lay.ndim == 1 ? "expected a 0-dim bias for a weight of one dim"
                                 : "expected a bias with one element per row of weight",
                &bias->lay, &w->lay);
    }
    return dync__infer_fresh(out, x->dtype, device, n, shape);
}

/* ---- windows: convolution and pooling -------------------------------------------------------- */

/* Two numbers, one number twice, or `otherwise` where none is given. */
static dync_status dync__infer_dims2(const dync__arg *a, const char *what, const int64_t *otherwise,
                                     int64_t low, int64_t out[2])
{
    if (a->n == 0 && otherwise) {
        out[0] = otherwise[0];
        out[1] = otherwise[1];
        return DYNC_OK;
    }
    if (a->n != 1 && a->n != 2)
        return dync__fail(DYNC_ERR_VALUE, "expected one or two numbers for %s, got %d", what, a->n);
    out[0] = a->as.dims[0];
    out[1] = a->as.dims[a->n - 1];
    for (int i = 0; i < 2; i++)
        if (out[i] < low || out[i] > INT_MAX)
            return dync__fail(DYNC_ERR_VALUE, "%s must be at least %lld, got %lld", what,
                              (long long)low, (long long)out[i]);
    return DYNC_OK;
}

/* Places of a window along one dim; sizes are below 2^31 but for `size`, which is an allocated
 * one. */
static int64_t dync__infer_window_count(int64_t size, int64_t kernel, int64_t stride,
                                        int64_t padding, int64_t dilation, bool ceil_mode)
{
    if (dync__any_token(size, kernel)) {
        int64_t left = dync__sz_sub(dync__sz_add(size, 2 * padding - 1),
                                    dync__sz_mul(dilation, dync__sz_sub(kernel, 1)));
        /* rounding up looks at the last window: decided for this size alone */
        if (ceil_mode || dync__sz_lt(left, 0))
            return dync__infer_window_count(dync__sz_number(size), dync__sz_number(kernel), stride,
                                            padding, dilation, ceil_mode);
        return dync__sz_size(dync__sz_add(dync__sz_div(left, stride), 1));
    }
    int64_t reach;
    if (!dync__mul_ok(dilation, kernel - 1, &reach)) return 0;
    int64_t room = size + 2 * padding - reach - 1;
    if (room < 0) return ceil_mode && room > -stride ? 1 : 0;
    int64_t n = (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
    /* the last window must start inside */
    if (ceil_mode && (n - 1) * stride >= size + padding) n--;
    return n;
}

DYNC__FN dync_status dync__i_convolution(const dync__opcall *call, dync__info *out)
{
    dync__tensor *x, *w, *bias;
    int device;
    int64_t channels;
    int64_t stride[2], padding[2], dilation[2], groups = call->args[6].as.i, one[2] = {1, 1},
                                                zero[2] = {0, 0}, shape[4];
    DYNC__TRY(dync__infer_two(call, &x, &w, &device));
    DYNC__TRY(dync__infer_floating(x));
    DYNC__TRY(dync__infer_rank(w, 4, "weight"));
    DYNC__TRY(dync__infer_rank(x, 4, "input"));
    DYNC__TRY(dync__infer_dims2(&call->args[3], "stride", one, 1, stride));
    DYNC__TRY(dync__infer_dims2(&call->args[4], "padding", zero, 0, padding));
    DYNC__TRY(dync__infer_dims2(&call->args[5], "dilation", one, 1, dilation));
    if (groups >= 1 && w->lay.shape[0] == 0)
        return dync__fail(DYNC_ERR_SHAPE,
                          "Given groups=%lld, expected weight to be at least %lld at dimension 0, "
                          "but it has no output channels",
                          (long long)groups, (long long)groups);
    if (groups < 1 || !dync__sz_eq(dync__sz_mod(x->lay.shape[1], groups), 0) ||
        !dync__sz_eq(dync__sz_mod(w->lay.shape[0], groups), 0) ||
        !dync__sz_mul_ok(w->lay.shape[1], groups, &channels) ||
        !dync__sz_eq(channels, x->lay.shape[1]))
        return dync__infer_pair_error(
            "expected input [N, C, H, W] and weight [O, C/groups, KH, KW], groups dividing C and O",
            &x->lay, &w->lay);
    if (call->args[2].kind != DYNC__A_NONE) {
        DYNC__TRY(dync__infer_tensor(call, 2, &bias));
        if (bias->dtype != x->dtype)
            return dync__fail(DYNC_ERR_DTYPE, "expected bias of the "
                                              "dtype of input");
        if (bias->lay.ndim != 1 || !dync__sz_eq(bias->lay.shape[0], w->lay.shape[0]))
            return dync__infer_pair_error("expected a bias with one element per output channel",
                                          &bias->lay, &w->lay);
    }
    shape[0] = x->lay.shape[0];
    shape[1] = w->lay.shape[0];
    for (int i = 0; i < 2; i++) {
        if (w->lay.shape[2 + i] < 1)
            return dync__infer_pair_error("expected a kernel that is not empty", &x->lay, &w->lay);
        shape[2 + i] = dync__infer_window_count(x->lay.shape[2 + i], w->lay.shape[2 + i], stride[i],
                                                padding[i], dilation[i], false);
        if (shape[2 + i] < 1)
            return dync__infer_pair_error("Kernel size can't be greater than actual input size",
                                          &w->lay, &x->lay);
    }
    return dync__infer_fresh(out, x->dtype, device, 4, shape);
}

/* conv2d takes [C, H, W] as well. */
DYNC__FN dync_status dync__i_conv2d(const dync__opcall *call, dync__info *out)
{
    dync__tensor *x, lifted;
    dync__arg args[7];
    DYNC__TRY(dync__infer_tensor(call, 0, &x));
    if (x->lay.ndim != 3) return dync__i_convolution(call, out);
    lifted = *x;
    for (int i = 3; i > 0; i--) {
        lifted.lay.shape[i] = x->lay.shape[i - 1];
        lifted.lay.stride[i] = x->lay.stride[i - 1];
    }
    lifted.lay.shape[0] = 1;
    lifted.lay.ndim = 4;
    memcpy(args, call->args, sizeof args);
    args[0] = dync__arg_t(&lifted);
    dync__opcall c = *call;
    c.args = args;
    DYNC__TRY(dync__i_convolution(&c, out));
    return dync__infer_fresh(out, out->dtype, out->device, 3, out->lay.shape + 1);
}

DYNC__FN dync_status dync__i_convolution_backward(const dync__opcall *call, dync__info *out)
{
    dync__tensor *gy, *x, *w;
    int64_t none = 0;
    DYNC__TRY(dync__infer_tensor(call, 0, &gy));
    DYNC__TRY(dync__infer_tensor(call, 1, &x));
    DYNC__TRY(dync__infer_tensor(call, 2, &w));
    dync__info y;
    dync__arg args[7] = {call->args[1], call->args[2], dync__arg_none(), call->args[3],
                         call->args[4], call->args[5], call->args[6]};
    dync__opcall forward = {.row = call->row, .op = call->op, .nargs = 7, .args = args};
    DYNC__TRY(dync__i_convolution(&forward, &y));
    DYNC__TRY(dync__infer_as_given(call, 0, &y));
    bool mask[3] = {call->args[7].as.i != 0, call->args[8].as.i != 0, call->args[9].as.i != 0};
    DYNC__TRY(dync__infer_fresh(&out[0], gy->dtype, gy->device, mask[0] ? 4 : 1,
                                mask[0] ? x->lay.shape : &none));
    DYNC__TRY(dync__infer_fresh(&out[1], gy->dtype, gy->device, mask[1] ? 4 : 1,
                                mask[1] ? w->lay.shape : &none));
    return dync__infer_fresh(&out[2], gy->dtype, gy->device, 1, mask[2] ? &w->lay.shape[0] : &none);
}

/* The last two dims of x through the windows. */
static dync_status dync__infer_pooled(const dync__tensor *x, const int64_t *kernel,
                                      const int64_t *stride, const int64_t *padding,
                                      const int64_t *dilation, bool ceil_mode, dync__info *out)
{
    int64_t shape[4];
    int n = x->lay.ndim;
    if (n != 3 && n != 4) return dync__fail(DYNC_ERR_SHAPE, "expected 3D or 4D input, got %dD", n);
    memcpy(shape, x->lay.shape, (size_t)n * sizeof shape[0]);
    if (x->lay.shape[n - 3] == 0)
        return dync__fail(DYNC_ERR_SHAPE,
                          "expected 3D or 4D input whose batch alone may be empty, got 0 channels");
    for (int i = 0; i < 2; i++) {
        int d = n - 2 + i;
        if (padding[i] * 2 > kernel[i])
            return dync__fail(DYNC_ERR_VALUE,
                              "pad should be at most half of effective kernel size, got pad "
                              "%lld, kernel %lld",
                              (long long)padding[i], (long long)kernel[i]);
        shape[d] = dync__infer_window_count(x->lay.shape[d], kernel[i], stride[i], padding[i],
                                            dilation[i], ceil_mode);
        if (shape[d] < 1)
            return dync__fail(DYNC_ERR_SHAPE,
                              "Output size is too small: input size %lld, kernel "
                              "%lld",
                              (long long)x->lay.shape[d], (long long)kernel[i]);
    }
    return dync__infer_fresh(out, x->dtype, x->device, n, shape);
}

DYNC__FN dync_status dync__i_max_pool2d(const dync__opcall *call, dync__info *out)
{
    dync__tensor *x;
    int64_t kernel[2], stride[2], padding[2], dilation[2], one[2] = {1, 1}, zero[2] = {0, 0};
    DYNC__TRY(dync__infer_tensor(call, 0, &x));
    if (x->dtype == DYNC_BOOL || !dync__device_is(x->device, DYNC__DEV_INTEGERS))
        DYNC__TRY(dync__infer_floating(x));
    DYNC__TRY(dync__infer_dims2(&call->args[1], "kernel_size", NULL, 1, kernel));
    DYNC__TRY(dync__infer_dims2(&call->args[2], "stride", kernel, 1, stride));
    DYNC__TRY(dync__infer_dims2(&call->args[3], "padding", zero, 0, padding));
    DYNC__TRY(dync__infer_dims2(&call->args[4], "dilation", one, 1, dilation));
    DYNC__TRY(
        dync__infer_pooled(x, kernel, stride, padding, dilation, call->args[5].as.i != 0, out));
    if (call->row->nout == 2) {
        out[1] = out[0];
        out[1].dtype = DYNC_I64;
    }
    return DYNC_OK;
}

DYNC__FN dync_status dync__i_avg_pool2d(const dync__opcall *call, dync__info *out)
{
    dync__tensor *x;
    int64_t kernel[2], stride[2], padding[2], one[2] = {1, 1}, zero[2] = {0, 0};
    DYNC__TRY(dync__infer_tensor(call, 0, &x));
    if (x->dtype != DYNC_I64 || !dync__device_is(x->device, DYNC__DEV_INTEGERS))
        DYNC__TRY(dync__infer_floating(x));
    DYNC__TRY(dync__infer_dims2(&call->args[1], "kernel_size", NULL, 1, kernel));
    DYNC__TRY(dync__infer_dims2(&call->args[2], "stride", kernel, 1, stride));
    DYNC__TRY(dync__infer_dims2(&call->args[3], "padding", zero, 0, padding));
    return dync__infer_pooled(x, kernel, stride, padding, one, call->args[4].as.i != 0, out);
}

DYNC__FN dync_status dync__i_avg_pool2d_backward(const dync__opcall *call, dync__info *out)
{
    dync__tensor *x;
    dync__info y;
    dync__opcall forward = {.row = call->row, .op = call->op, .nargs = 6, .args = call->args + 1};
    DYNC__TRY(dync__i_avg_pool2d(&forward, &y));
    DYNC__TRY(dync__infer_tensor(call, 1, &x));
    DYNC__TRY(dync__infer_as_given(call, 0, &y));
    return dync__infer_fresh(out, x->dtype, x->device, x->lay.ndim, x->lay.shape);
}

/* The windows are not told: only how the planes lie. */
DYNC__FN dync_status dync__i_max_pool2d_backward(const dync__opcall *call, dync__info *out)
{
    dync__tensor *gy, *x;
    DYNC__TRY(dync__infer_tensor(call, 0, &gy));
    DYNC__TRY(dync__infer_tensor(call, 1, &x));
    dync__info index = {.dtype = DYNC_I64, .lay = gy->lay};
    DYNC__TRY(dync__infer_as_given(call, 2, &index));
    int n = x->lay.ndim;
    if (gy->dtype != x->dtype || x->dtype == DYNC_BOOL)
        return dync__fail(DYNC_ERR_DTYPE, "expected grad_output of the dtype of input, %s, got %s",
                          dync__dtype_info(x->dtype)->name, dync__dtype_info(gy->dtype)->name);
    if ((n != 3 && n != 4) || gy->lay.ndim != n ||
        !dync__sz_same(n - 2, gy->lay.shape, x->lay.shape))
        return dync__infer_pair_error("expected grad_output and input of as many planes", &gy->lay,
                                      &x->lay);
    return dync__infer_fresh(out, x->dtype, x->device, n, x->lay.shape);
}

DYNC__FN dync_status dync__i_adaptive_avg_pool2d(const dync__opcall *call, dync__info *out)
{
    dync__tensor *x;
    int64_t size[2], shape[4];
    DYNC__TRY(dync__infer_tensor(call, 0, &x));
    DYNC__TRY(dync__infer_floating(x));
    int n = x->lay.ndim;
    if (n != 3 && n != 4) return dync__fail(DYNC_ERR_SHAPE, "expected 3D or 4D input, got %dD", n);
    DYNC__TRY(dync__infer_dims2(&call->args[1], "output_size", NULL, 0, size));
    memcpy(shape, x->lay.shape, (size_t)n * sizeof shape[0]);
    for (int i = 0; i < 2; i++) {
        if (shape[n - 2 + i] == 0 || size[i] > INT16_MAX)
            return dync__fail(DYNC_ERR_SHAPE,
                              "expected input of non-zero size and an output "
                              "size of at most 32767, got %lld and %lld",
                              (long long)dync__sz_hint(shape[n - 2 + i]), (long long)size[i]);
        shape[n - 2 + i] = size[i];
    }
    return dync__infer_fresh(out, x->dtype, x->device, n, shape);
}

/* ---- normalisation and other layers ---------------------------------------------------------- */

static dync_status dync__infer_optional_vector(const dync__opcall *call, int i, const char *what,
                                               int64_t n)
{
    dync__tensor *t;
    if (call->args[i].kind == DYNC__A_NONE) return DYNC_OK;
    DYNC__TRY(dync__infer_tensor(call, i, &t));
    if (t->lay.ndim == 1 && dync__sz_eq(t->lay.shape[0], n)) return DYNC_OK;
    return dync__fail(DYNC_ERR_SHAPE, "%s should contain %lld elements not %lld", what,
                      (long long)dync__sz_hint(n), (long long)dync__sz_hint(t->numel));
}

DYNC__FN dync_status dync__i_native_batch_norm(const dync__opcall *call, dync__info *out)
{
    static const char *const names[] = {"weight", "bias", "running_mean", "running_var"};
    dync__tensor *x;
    int device;
    int64_t channels, none = 0;
    bool training = call->args[5].as.i != 0;
    DYNC__TRY(dync__infer_tensor(call, 0, &x));
    DYNC__TRY(dync__infer_floating(x));
    DYNC__TRY(dync__infer_device(call, &device));
    if (x->lay.ndim < 2)
        return dync__fail(DYNC_ERR_SHAPE, "expected input [N, C, ...], got %dD", x->lay.ndim);
    channels = x->lay.shape[1];
    for (int i = 0; i < 4; i++)
        DYNC__TRY(dync__infer_optional_vector(call, i + 1, names[i], channels));
    if (!training && (call->args[3].kind == DYNC__A_NONE || call->args[4].kind == DYNC__A_NONE))
        return dync__fail(DYNC_ERR_VALUE, "running_mean and running_var must be defined in "
                                          "evaluation mode");
    if (training && channels && x->numel && dync__sz_lt(x->numel, dync__sz_mul(2, channels)))
        return dync__fail(DYNC_ERR_SHAPE,
                          "Expected more than 1 value per channel when training, "
                          "got %lld",
                          (long long)(dync__sz_hint(x->numel) / dync__sz_hint(channels)));
    int stats = x->dtype == DYNC_F64 ? DYNC_F64 : DYNC_F32;
    out[0].dtype = x->dtype, out[0].device = device, out[0].alias = -1;
    /* as the decomposition makes it */
    DYNC__TRY(dync__infer_like(&out[0], x->lay.ndim, x->lay.shape, 1, &x));
    for (int i = 1; i < 3; i++)
        DYNC__TRY(dync__infer_fresh(&out[i], stats, device, 1, training ? &channels : &none));
    for (int i = 3; i < 5; i++) {
        const dync__arg *running = &call->args[i];
        bool given = running->kind == DYNC__A_TENSOR;
        DYNC__TRY(dync__infer_fresh(&out[i], given ? running->as.t->dtype : stats, device, 1,
                                    given ? &channels : &none));
    }
    return DYNC_OK;
}

DYNC__FN dync_status dync__i_batch_norm(const dync__opcall *call, dync__info *out)
{
    dync__info all[5];
    dync__tensor *x;
    DYNC__TRY(dync__infer_tensor(call, 0, &x));
    if (x->lay.ndim == 1 && x->lay.shape[0] == 0) { /* an empty batch without channels */
        for (int i = 1; i < 5; i++)
            DYNC__TRY(dync__infer_optional_vector(call, i, "a vector of batch_norm", 0));
        DYNC__TRY(dync__infer_floating(x));
        return dync__infer_fresh(out, x->dtype, x->device, 1, x->lay.shape);
    }
    DYNC__TRY(dync__i_native_batch_norm(call, all));
    *out = all[0];
    return DYNC_OK;
}

DYNC__FN dync_status dync__i_native_batch_norm_backward(const dync__opcall *call, dync__info *out)
{
    dync__tensor *g, *x;
    DYNC__TRY(dync__infer_tensor(call, 0, &g));
    DYNC__TRY(dync__infer_tensor(call, 1, &x));
    if (!dync__infer_same_shape(&g->lay, &x->lay) || x->lay.ndim < 2)
        return dync__infer_pair_error("expected grad_out and input of one shape [N, C, ...]",
                                      &g->lay, &x->lay);
    static const char *const names[] = {"weight", "running_mean", "running_var", "save_mean",
                                        "save_invstd"};
    DYNC__TRY(dync__infer_floating(g));
    DYNC__TRY(dync__infer_floating(x));
    /* the others may be empty */
    int first = call->args[7].as.i ? 5 : 3, used[3] = {2, first, first + 1};
    for (int i = 0; i < 3; i++)
        DYNC__TRY(dync__infer_optional_vector(call, used[i], names[used[i] - 2], x->lay.shape[1]));
    if (call->args[first].kind == DYNC__A_NONE || call->args[first + 1].kind == DYNC__A_NONE)
        return dync__fail(DYNC_ERR_VALUE, "expected %s and %s, got none", names[first - 2],
                          names[first - 1]);
    int wide = x->dtype == DYNC_F64 ? DYNC_F64 : DYNC_F32;
    int stats = call->args[2].kind == DYNC__A_TENSOR ? call->args[2].as.t->dtype : wide;
    DYNC__TRY(dync__infer_fresh(&out[0], x->dtype, x->device, x->lay.ndim, x->lay.shape));
    DYNC__TRY(dync__infer_fresh(&out[1], stats, x->device, 1, &x->lay.shape[1]));
    return dync__infer_fresh(&out[2], stats, x->device, 1, &x->lay.shape[1]);
}

DYNC__FN dync_status dync__i_native_layer_norm(const dync__opcall *call, dync__info *out)
{
    dync__tensor *x, *p;
    const dync__arg *shape = &call->args[1];
    int64_t stats[DYNC_MAX_DIMS];
    int device;
    DYNC__TRY(dync__infer_tensor(call, 0, &x));
    DYNC__TRY(dync__infer_floating(x));
    DYNC__TRY(dync__infer_device(call, &device));
    int lead = x->lay.ndim - shape->n;
    if (shape->n < 1 || lead < 0 || !dync__sz_same(shape->n, x->lay.shape + lead, shape->as.dims)) {
        dync__layout want = {.ndim = DYNC__MIN(DYNC__MAX(shape->n, 0), DYNC_MAX_DIMS)};
        memcpy(want.shape, shape->as.dims, (size_t)want.ndim * sizeof(int64_t));
        return dync__infer_pair_error("expected the trailing dims of input to be normalized_shape",
                                      &x->lay, &want);
    }
    for (int i = 2; i < 4; i++) {
        if (call->args[i].kind == DYNC__A_NONE) continue;
        DYNC__TRY(dync__infer_tensor(call, i, &p));
        if (p->lay.ndim != shape->n || !dync__sz_same(shape->n, p->lay.shape, shape->as.dims))
            return dync__infer_pair_error("expected weight and bias of the normalized shape",
                                          &p->lay, &x->lay);
    }
    for (int i = 0; i < x->lay.ndim; i++) stats[i] = i < lead ? x->lay.shape[i] : 1;
    int wide = x->dtype == DYNC_F64 ? DYNC_F64 : DYNC_F32;
    DYNC__TRY(dync__infer_fresh(&out[0], x->dtype, device, x->lay.ndim, x->lay.shape));
    DYNC__TRY(dync__infer_fresh(&out[1], wide, device, x->lay.ndim, stats));
    return dync__infer_fresh(&out[2], wide, device, x->lay.ndim, stats);
}

DYNC__FN dync_status dync__i_layer_norm(const dync__opcall *call, dync__info *out)
{
    dync__info all[3];
    DYNC__TRY(dync__i_native_layer_norm(call, all));
    *out = all[0];
    return DYNC_OK;
}

/* ---- attention ------------------------------------------------------------------------------- */

/* [B, H, L, E] as a transposed [B, L, H, E], where heads are joined again without a copy; other
 * ranks are row major. */
static dync_status dync__infer_heads(dync__info *out, const dync__tensor *q, int64_t L,
                                     int64_t width)
{
    int n = q->lay.ndim;
    int64_t shape[DYNC_MAX_DIMS];
    memcpy(shape, q->lay.shape, sizeof shape);
    shape[n - 2] = n == 4 ? shape[1] : L;
    if (n == 4) shape[1] = L;
    shape[n - 1] = width;
    DYNC__TRY(dync__infer_fresh(out, q->dtype, q->device, n, shape));
    for (int i = 0; n == 4 && i < 2; i++) {
        int64_t *x = i ? out->lay.stride : out->lay.shape, t = x[1];
        x[1] = x[2];
        x[2] = t;
    }
    return DYNC_OK;
}

/* query [.., L, E], key [.., S, E], value [.., S, V], mask that broadcasts to [.., L, S] */
DYNC__FN dync_status dync__i_flash_attention(const dync__opcall *call, dync__info *out)
{
    dync__tensor *q, *k, *v, *mask;
    DYNC__TRY(dync__infer_tensor(call, 0, &q));
    DYNC__TRY(dync__infer_tensor(call, 1, &k));
    DYNC__TRY(dync__infer_tensor(call, 2, &v));
    DYNC__TRY(dync__infer_floating(q));
    int n = q->lay.ndim, device;
    DYNC__TRY(dync__infer_device(call, &device));
    if (q->dtype != k->dtype || q->dtype != v->dtype)
        return dync__fail(DYNC_ERR_DTYPE, "expected query, key and value of one dtype");
    if (n < 2 || k->lay.ndim != n || v->lay.ndim != n ||
        !dync__sz_same(n - 2, q->lay.shape, k->lay.shape) ||
        !dync__sz_same(n - 2, q->lay.shape, v->lay.shape) ||
        !dync__sz_eq(q->lay.shape[n - 1], k->lay.shape[n - 1]) ||
        !dync__sz_eq(k->lay.shape[n - 2], v->lay.shape[n - 2]))
        return dync__infer_pair_error(
            "expected query [.., L, E], key [.., S, E] and value [.., S, V] with one batch",
            &q->lay, &k->lay);
    if (call->args[3].kind != DYNC__A_NONE) {
        dync__layout seen = q->lay, all;
        if (call->args[4].as.i)
            return dync__fail(DYNC_ERR_VALUE, "Explicit attn_mask should not "
                                              "be set when is_causal=True");
        seen.shape[n - 1] = k->lay.shape[n - 2];
        DYNC__TRY(dync__infer_tensor(call, 3, &mask));
        if (mask->dtype != DYNC_BOOL && mask->dtype != q->dtype)
            return dync__fail(DYNC_ERR_DTYPE, "expected a mask of bools or of query's "
                                              "dtype");
        DYNC__TRY(dync__layout_expand(&mask->lay, n, seen.shape, &all));
    }
    DYNC__TRY(dync__infer_heads(&out[0], q, q->lay.shape[n - 2], v->lay.shape[n - 1]));
    return dync__infer_fresh(&out[1], q->dtype == DYNC_F64 ? DYNC_F64 : DYNC_F32, q->device, n - 1,
                             q->lay.shape);
}

DYNC__FN dync_status dync__i_flash_attention_backward(const dync__opcall *call, dync__info *out)
{
    dync__info y[2];
    dync__arg args[6] = {call->args[1], call->args[2], call->args[3],
                         call->args[6], call->args[7], call->args[8]};
    dync__opcall forward = {.row = call->row, .op = call->op, .nargs = 6, .args = args};
    DYNC__TRY(dync__i_flash_attention(&forward, y));
    DYNC__TRY(dync__infer_as_given(call, 0, &y[0]));
    DYNC__TRY(dync__infer_as_given(call, 4, &y[0]));
    DYNC__TRY(dync__infer_as_given(call, 5, &y[1]));
    for (int i = 0; i < 3; i++) {
        const dync__tensor *t = args[i].as.t;
        DYNC__TRY(dync__infer_heads(&out[i], t, t->lay.shape[t->lay.ndim - 2],
                                    t->lay.shape[t->lay.ndim - 1]));
    }
    return DYNC_OK;
}

/* ---- recurrent layers ------------------------------------------------------------------------ */

/* input [L, N, gates H], weight_hh [gates H, H], bias_hh [gates H], h0 and c0 [N, H]; *shape [L, N,
 * H] */
static dync_status dync__infer_rnn(const dync__opcall *call, dync__tensor **x, int64_t *shape)
{
    dync__tensor *w, *t;
    DYNC__TRY(dync__infer_tensor(call, 0, x));
    DYNC__TRY(dync__infer_floating(*x));
    DYNC__TRY(dync__infer_tensor(call, 1, &w));
    int64_t gates = call->args[5].as.i;
    if (gates != 1 && gates != 3 && gates != 4)
        return dync__fail(DYNC_ERR_VALUE, "expected 1, 3 or 4 gates, got %lld", (long long)gates);
    if ((*x)->lay.ndim != 3 || w->lay.ndim != 2)
        return dync__infer_pair_error("expected input [L, N, G] and weight_hh [G, H]", &(*x)->lay,
                                      &w->lay);
    int64_t state[2] = {(*x)->lay.shape[1], w->lay.shape[1]}, width = dync__sz_mul(gates, state[1]),
            matrix[2] = {width, state[1]};
    if (!dync__sz_same(2, w->lay.shape, matrix) || !dync__sz_eq((*x)->lay.shape[2], width))
        return dync__infer_pair_error(
            "expected input [L, N, G] and weight_hh [G, H] with G = gates * H", &(*x)->lay,
            &w->lay);
    if (dync__sz_lt((*x)->lay.shape[0], 1))
        return dync__fail(DYNC_ERR_SHAPE, "expected sequence "
                                          "length to be "
                                          "larger than 0");
    for (int i = 1; i < 5; i++) {
        if (call->args[i].kind == DYNC__A_NONE && i != 3 && (i != 4 || gates != 4)) continue;
        DYNC__TRY(dync__infer_tensor(call, i, &t));
        bool same = i == 1 || (i == 2 ? t->lay.ndim == 1 && dync__sz_eq(t->lay.shape[0], width)
                                      : t->lay.ndim == 2 && dync__sz_same(2, t->lay.shape, state));
        if (!same)
            return dync__infer_pair_error(i == 2 ? "expected bias_hh [gates * H]"
                                                 : "expected h0 and c0 [N, H]",
                                          &t->lay, &(*x)->lay);
        if (t->dtype != (*x)->dtype)
            return dync__fail(DYNC_ERR_DTYPE, "expected input, weights "
                                              "and states of one dtype");
    }
    shape[0] = (*x)->lay.shape[0];
    memcpy(shape + 1, state, sizeof state);
    return DYNC_OK;
}

/* Output, the last c, c of every step (GRU: the state's share of n), gates; empty where there is
 * none. */
DYNC__FN dync_status dync__i_rnn_layer(const dync__opcall *call, dync__info *out)
{
    static const int64_t none = 0;
    dync__tensor *x;
    int64_t shape[3], gates = call->args[5].as.i;
    int device;
    DYNC__TRY(dync__infer_rnn(call, &x, shape));
    DYNC__TRY(dync__infer_device(call, &device));
    bool train = call->args[7].as.i && gates > 1;
    DYNC__TRY(dync__infer_fresh(&out[0], x->dtype, x->device, 3, shape));
    DYNC__TRY(dync__infer_fresh(&out[1], x->dtype, x->device, gates == 4 ? 2 : 1,
                                gates == 4 ? shape + 1 : &none));
    DYNC__TRY(
        dync__infer_fresh(&out[2], x->dtype, x->device, train ? 3 : 1, train ? shape : &none));
    return dync__infer_fresh(&out[3], x->dtype, x->device, train ? 3 : 1,
                             train ? x->lay.shape : &none);
}

/* The input is not there: what forward says of one of its sizes is what must have come. */
DYNC__FN dync_status dync__i_rnn_layer_backward(const dync__opcall *call, dync__info *out)
{
    static const uint8_t given[3] = {5, 6, 7}, of[3] = {0, 2, 3};
    dync__tensor *w, *y, x;
    dync__info f[4];
    DYNC__TRY(dync__infer_tensor(call, 2, &w));
    DYNC__TRY(dync__infer_tensor(call, 5, &y));
    if (w->lay.ndim != 2 || y->lay.ndim != 3)
        return dync__infer_pair_error("expected weight_hh [G, H] and output [L, N, H]", &w->lay,
                                      &y->lay);
    x = *y;
    x.lay.shape[2] = w->lay.shape[0];
    dync__arg args[8] = {dync__arg_t(&x), call->args[2], dync__arg_none(), call->args[3],
                         call->args[4],   call->args[8], call->args[9],    dync__arg_b(true)};
    dync__opcall forward = {.row = call->row, .op = call->op, .nargs = 8, .args = args};
    DYNC__TRY(dync__i_rnn_layer(&forward, f));
    for (int i = 0; i < 3; i++) DYNC__TRY(dync__infer_as_given(call, given[i], &f[of[i]]));
    if (call->args[0].kind != DYNC__A_NONE) DYNC__TRY(dync__infer_as_given(call, 0, &f[0]));
    if (call->args[1].kind != DYNC__A_NONE) DYNC__TRY(dync__infer_as_given(call, 1, &f[1]));
    const dync__layout *h = &call->args[3].as.t->lay;
    DYNC__TRY(dync__infer_fresh(&out[0], y->dtype, y->device, 3, x.lay.shape));
    DYNC__TRY(dync__infer_fresh(&out[1], y->dtype, y->device, 2, h->shape));
    return dync__infer_fresh(&out[2], y->dtype, y->device, f[1].lay.ndim, f[1].lay.shape);
}

/* Out of training the tensor itself comes back. */
DYNC__FN dync_status dync__i_dropout(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    double p = dync__arg_number(&call->args[1]);
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    if (!(p >= 0 && p <= 1))
        return dync__fail(DYNC_ERR_VALUE,
                          "dropout probability has to be between 0 and 1, but got %g", p);
    *out = (dync__info){.dtype = t->dtype, .device = t->device, .lay = t->lay, .alias = 0};
    if (call->args[2].as.i == 0 || !(p > 0)) return DYNC_OK;
    DYNC__TRY(dync__infer_floating(t));
    dync__opcall like = {.row = dync__op_info(DYNC__OP_zeros_like),
                         .op = DYNC__OP_zeros_like,
                         .nargs = 1,
                         .args = call->args};
    return dync__i_like(&like, out);
}

DYNC__FN dync_status dync__i_embedding(const dync__opcall *call, dync__info *out)
{
    dync__tensor *w, *idx;
    int64_t shape[DYNC_MAX_DIMS];
    int device;
    DYNC__TRY(dync__infer_tensor(call, 0, &w));
    DYNC__TRY(dync__infer_tensor(call, 1, &idx));
    DYNC__TRY(dync__infer_device(call, &device));
    DYNC__TRY(dync__infer_rank(w, 2, "weight"));
    DYNC__TRY(dync__infer_index(idx));
    if (idx->lay.ndim == DYNC_MAX_DIMS)
        return dync__fail(DYNC_ERR_SHAPE, "expected indices of at most %d dims", DYNC_MAX_DIMS - 1);
    memcpy(shape, idx->lay.shape, sizeof shape);
    shape[idx->lay.ndim] = w->lay.shape[1];
    return dync__infer_fresh(out, w->dtype, device, idx->lay.ndim + 1, shape);
}

DYNC__FN dync_status dync__i_embedding_dense_backward(const dync__opcall *call, dync__info *out)
{
    dync__tensor *g, *idx;
    DYNC__TRY(dync__infer_tensor(call, 0, &g));
    DYNC__TRY(dync__infer_tensor(call, 1, &idx));
    DYNC__TRY(dync__infer_index(idx));
    if (g->lay.ndim != idx->lay.ndim + 1 ||
        !dync__sz_same(idx->lay.ndim, g->lay.shape, idx->lay.shape))
        return dync__infer_pair_error("expected the sizes of indices and one more", &g->lay,
                                      &idx->lay);
    int64_t shape[2] = {call->args[2].as.i, g->lay.shape[g->lay.ndim - 1]};
    return dync__infer_fresh(out, g->dtype, g->device, 2, shape);
}

DYNC__FN dync_status dync__i_one_hot(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    int64_t shape[DYNC_MAX_DIMS];
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    DYNC__TRY(dync__infer_index(t));
    if (call->args[1].as.i < 1)
        return dync__fail(DYNC_ERR_VALUE, "expected num_classes >= 1, got %lld",
                          (long long)call->args[1].as.i);
    if (t->lay.ndim == DYNC_MAX_DIMS)
        return dync__fail(DYNC_ERR_SHAPE, "expected at most %d dims", DYNC_MAX_DIMS - 1);
    memcpy(shape, t->lay.shape, sizeof shape);
    shape[t->lay.ndim] = call->args[1].as.i;
    return dync__infer_fresh(out, DYNC_I64, t->device, t->lay.ndim + 1, shape);
}

/* ---- losses ---------------------------------------------------------------------------------- */

DYNC__FN dync_status dync__i_loss(const dync__opcall *call, dync__info *out)
{
    dync__tensor *x, *y;
    int device, n;
    int64_t shape[DYNC_MAX_DIMS];
    DYNC__TRY(dync__infer_tensor(call, 0, &x));
    DYNC__TRY(dync__infer_tensor(call, 1, &y));
    DYNC__TRY(dync__infer_device(call, &device));
    bool entropy = call->op == DYNC__OP_binary_cross_entropy ||
                   call->op == DYNC__OP_binary_cross_entropy_with_logits;
    if (entropy && !dync__infer_same_shape(&x->lay, &y->lay))
        return dync__infer_pair_error("target size must be the same as input size", &x->lay,
                                      &y->lay);
    DYNC__TRY(dync__broadcast(x->lay.ndim, x->lay.shape, y->lay.ndim, y->lay.shape, &n, shape));
    int dtype = dync__promote(x->dtype, y->dtype);
    if (dync__dtype_info(dtype)->kind != 'f') return dync__infer_floating(x);
    return dync__infer_fresh(out, dtype, device, 0, NULL);
}

DYNC__FN dync_status dync__i_nll_loss(const dync__opcall *call, dync__info *out)
{
    dync__tensor *x, *y;
    int device;
    DYNC__TRY(dync__infer_tensor(call, 0, &x));
    DYNC__TRY(dync__infer_tensor(call, 1, &y));
    DYNC__TRY(dync__infer_floating(x));
    DYNC__TRY(dync__infer_device(call, &device));
    /* of each class */
    bool shares = call->op == DYNC__OP_cross_entropy && x->lay.ndim == y->lay.ndim;
    if (y->dtype != (shares ? x->dtype : DYNC_I64) && (shares || y->dtype != DYNC_U8))
        return dync__fail(DYNC_ERR_DTYPE, "expected target of dtype %s, got %s",
                          dync__dtype_info(shares ? x->dtype : DYNC_I64)->name,
                          dync__dtype_info(y->dtype)->name);
    if (shares && x->lay.ndim >= 1 && dync__sz_same(x->lay.ndim, x->lay.shape, y->lay.shape))
        return dync__infer_fresh(out, x->dtype, device, 0, NULL);
    bool fits = x->lay.ndim >= 1 && y->lay.ndim == x->lay.ndim - 1;
    for (int i = 0; fits && i < y->lay.ndim; i++)
        fits = dync__sz_eq(y->lay.shape[i], x->lay.shape[i == 0 ? 0 : i + 1]);
    if (!fits)
        return dync__infer_pair_error("expected input [C] or [N, C, ...] and target without the "
                                      "class dim",
                                      &x->lay, &y->lay);
    return dync__infer_fresh(out, x->dtype, device, 0, NULL);
}

/* ---- movers ---------------------------------------------------------------------------------- */

DYNC__FN dync_status dync__i_cat(const dync__opcall *call, dync__info *out)
{
    const dync__arg *list = &call->args[0];
    const dync__tensor *first = NULL;
    dync__promoter p = {-1, -1, -1};
    int64_t shape[DYNC_MAX_DIMS], total = 0;
    int dim = 0;
    if (list->kind != DYNC__A_LIST || list->n < 1)
        return dync__fail(DYNC_ERR_VALUE, "expected a non-empty list of tensors");
    for (int i = 0; i < list->n; i++) {
        if (list->as.list[i].kind != DYNC__A_TENSOR)
            return dync__fail(DYNC_ERR_VALUE, "expected item %d of the list to be a tensor", i);
        const dync__tensor *t = list->as.list[i].as.t;
        dync__promoter_add(&p, t->dtype, t->lay.ndim ? 2 : 1);
        if (t->lay.ndim == 0)
            return dync__fail(DYNC_ERR_SHAPE,
                              "zero-dimensional tensor (at position %d) cannot "
                              "be concatenated",
                              i);
        /* the legacy empty tensor fits anything */
        if (t->lay.ndim == 1 && t->lay.shape[0] == 0) continue;
        if (!first) {
            first = t;
            DYNC__TRY(dync__infer_axis(call, 1, t, &dim));
            memcpy(shape, t->lay.shape, sizeof shape);
        }
        bool fits = t->lay.ndim == first->lay.ndim;
        for (int d = 0; fits && d < t->lay.ndim; d++)
            fits = d == dim || dync__sz_eq(t->lay.shape[d], shape[d]);
        if (!fits)
            return dync__infer_pair_error("Sizes of tensors must match except in the dim "
                                          "concatenated",
                                          &first->lay, &t->lay);
        if (dync__any_token(total, t->lay.shape[dim]))
            total = dync__sz_add(total, t->lay.shape[dim]);
        else if (!dync__add_ok(total, t->lay.shape[dim], &total))
            return dync__fail(DYNC_ERR_SHAPE, "the result is too large");
    }
    DYNC__TRY(dync__infer_device(call, &out->device));
    if (!first) {
        first = list->as.list[0].as.t;
        DYNC__TRY(dync__infer_axis(call, 1, first, &dim));
    }
    shape[dim] = total;
    return dync__infer_fresh(out, dync__promoter_result(&p), out->device, first->lay.ndim, shape);
}

DYNC__FN dync_status dync__i_stack(const dync__opcall *call, dync__info *out)
{
    const dync__arg *list = &call->args[0];
    int64_t shape[DYNC_MAX_DIMS];
    int dim, dtype = -1;
    if (list->kind != DYNC__A_LIST || list->n < 1)
        return dync__fail(DYNC_ERR_VALUE, "expected a non-empty list of tensors");
    const dync__tensor *first = list->as.list[0].as.t;
    for (int i = 0; i < list->n; i++) {
        if (list->as.list[i].kind != DYNC__A_TENSOR)
            return dync__fail(DYNC_ERR_VALUE, "expected item %d of the list to be a tensor", i);
        const dync__tensor *t = list->as.list[i].as.t;
        if (!dync__infer_same_shape(&first->lay, &t->lay))
            return dync__infer_pair_error("stack expects each tensor to be equal size", &first->lay,
                                          &t->lay);
        dtype = dtype < 0 ? t->dtype : dync__promote(dtype, t->dtype);
    }
    if (first->lay.ndim == DYNC_MAX_DIMS)
        return dync__fail(DYNC_ERR_SHAPE, "expected at most %d dims", DYNC_MAX_DIMS - 1);
    DYNC__TRY(dync__dim_wrap(dync__infer_int_dim(&call->args[1]), first->lay.ndim + 1, &dim));
    DYNC__TRY(dync__infer_device(call, &out->device));
    for (int i = 0, k = 0; i <= first->lay.ndim; i++)
        shape[i] = i == dim ? list->n : first->lay.shape[k++];
    return dync__infer_fresh(out, dtype, out->device, first->lay.ndim + 1, shape);
}

/* select_backward, slice_backward, diagonal_backward: the sizes are an argument; the gradient must
 * fit the view of them. */
DYNC__FN dync_status dync__i_view_backward(const dync__opcall *call, dync__info *out)
{
    dync__tensor *g;
    const dync__arg *a = call->args;
    dync__layout view;
    DYNC__TRY(dync__infer_tensor(call, 0, &g));
    DYNC__TRY(dync__infer_fresh(out, g->dtype, g->device, a[1].n, a[1].as.dims));
    if (call->op == DYNC__OP_select_backward)
        DYNC__TRY(dync__view_select(&out->lay, a[2].as.i, a[3].as.i, &view));
    else if (call->op == DYNC__OP_slice_backward)
        DYNC__TRY(dync__view_slice(&out->lay, a[2].as.i, a[3].as.i, a[4].as.i, a[5].as.i, &view));
    else
        DYNC__TRY(dync__view_diagonal(&out->lay, a[2].as.i, a[3].as.i, a[4].as.i, &view));
    return dync__infer_same_shape(&view, &g->lay)
               ? DYNC_OK
               : dync__infer_pair_error("expected a gradient of the view's shape", &g->lay, &view);
}

/* A dense tensor in the form of self, whatever self's offset; the part must stay inside. */
DYNC__FN dync_status dync__i_as_strided_scatter(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t, *src;
    dync__layout part;
    int64_t items = 1;
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    DYNC__TRY(dync__infer_tensor(call, 1, &src));
    for (int d = 0; d < t->lay.ndim; d++)
        items = t->numel
                    ? items + (dync__sz_hint(t->lay.shape[d]) - 1) * dync__sz_hint(t->lay.stride[d])
                    : 0;
    DYNC__TRY(
        dync__infer_strided(&call->args[2], &call->args[3], call->args[4].as.i, items, &part));
    if (!dync__infer_same_shape(&part, &src->lay))
        return dync__infer_pair_error("expected a source of the sizes given", &src->lay, &part);
    *out = (dync__info){.dtype = t->dtype, .device = t->device, .lay = t->lay, .alias = -1};
    out->lay.offset = 0;
    return DYNC_OK;
}

DYNC__FN dync_status dync__i_flip(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    bool flipped[DYNC_MAX_DIMS];
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    DYNC__TRY(dync__infer_dims(&call->args[1], t->lay.ndim, flipped));
    dync__opcall like = {.row = dync__op_info(DYNC__OP_zeros_like),
                         .op = DYNC__OP_zeros_like,
                         .nargs = 1,
                         .args = call->args};
    return dync__i_like(&like, out);
}

DYNC__FN dync_status dync__i_roll(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    const dync__arg *shifts = &call->args[1], *dims = &call->args[2];
    int dim;
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    if (shifts->n < 1 || shifts->n > DYNC_MAX_DIMS ||
        (dims->n != shifts->n && !(dims->n == 0 && shifts->n == 1)))
        return dync__fail(DYNC_ERR_VALUE, "shifts and dimensions must align. shifts: %d, dims: %d",
                          shifts->n, dims->n);
    if (dims->n && t->lay.ndim == 0)
        return dync__fail(DYNC_ERR_INDEX,
                          "Dimension specified as %lld but tensor has no dimensions",
                          (long long)dims->as.dims[0]);
    for (int i = 0; i < dims->n; i++) {
        dync__arg d = dync__arg_i(dims->as.dims[i]);
        DYNC__TRY(dync__dim_wrap(dync__infer_int_dim(&d), t->lay.ndim, &dim));
    }
    return dync__infer_fresh(out, t->dtype, t->device, t->lay.ndim, t->lay.shape);
}

DYNC__FN dync_status dync__i_repeat(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    const dync__arg *r = &call->args[1];
    int64_t shape[DYNC_MAX_DIMS];
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    if (r->n < t->lay.ndim || r->n > DYNC_MAX_DIMS)
        return dync__fail(DYNC_ERR_SHAPE,
                          "Number of dimensions of repeat dims (%d) can not be smaller than "
                          "number of "
                          "dimensions of tensor (%d)",
                          r->n, t->lay.ndim);
    for (int i = 0; i < r->n; i++) {
        int64_t size = i < r->n - t->lay.ndim ? 1 : t->lay.shape[i - (r->n - t->lay.ndim)];
        if (r->as.dims[i] < 0)
            return dync__fail(DYNC_ERR_VALUE,
                              "Trying to create tensor with negative dimension "
                              "%lld",
                              (long long)r->as.dims[i]);
        if (!dync__sz_mul_ok(size, r->as.dims[i], &shape[i]))
            return dync__fail(DYNC_ERR_SHAPE, "the result is too large");
    }
    return dync__infer_fresh(out, t->dtype, t->device, r->n, shape);
}

/* Sizes of index at most those of other, dim aside. A 0-dim tensor counts as one of a single
 * element. */
static dync_status dync__infer_index_fits(const dync__tensor *index, const dync__layout *other,
                                          int dim, const char *what)
{
    int n = DYNC__MAX(other->ndim, 1);
    bool fits = DYNC__MAX(index->lay.ndim, 1) == n || index->numel == 0;
    for (int d = 0; fits && index->numel && d < n; d++)
        fits = d == dim || !dync__sz_lt(other->ndim ? other->shape[d] : 1,
                                        index->lay.ndim ? index->lay.shape[d] : 1);
    return fits ? DYNC_OK : dync__infer_pair_error(what, &index->lay, other);
}

DYNC__FN dync_status dync__i_gather(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t, *index;
    int dim, device;
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    DYNC__TRY(dync__infer_tensor(call, 2, &index));
    DYNC__TRY(dync__infer_device(call, &device));
    DYNC__TRY(dync__infer_axis(call, 1, t, &dim));
    DYNC__TRY(dync__infer_index(index));
    DYNC__TRY(dync__infer_index_fits(index, &t->lay, dim,
                                     "expected index of the rank of self and not larger outside "
                                     "dim"));
    return dync__infer_fresh(out, t->dtype, device, index->lay.ndim, index->lay.shape);
}

DYNC__FN dync_status dync__i_take_along_dim(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t, *index;
    int dim, n;
    int64_t a[DYNC_MAX_DIMS], shape[DYNC_MAX_DIMS];
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    DYNC__TRY(dync__infer_tensor(call, 1, &index));
    DYNC__TRY(dync__infer_index(index));
    if (t->lay.ndim != index->lay.ndim)
        return dync__infer_pair_error("expected tensors of one rank", &t->lay, &index->lay);
    if (t->lay.ndim == 0)
        return dync__fail(DYNC_ERR_INDEX, "Dimension specified as %d but tensor has no dimensions",
                          (int)call->args[2].as.i);
    DYNC__TRY(dync__infer_axis(call, 2, t, &dim));
    memcpy(a, t->lay.shape, sizeof a);
    a[dim] = index->lay.shape[dim];
    DYNC__TRY(dync__broadcast(t->lay.ndim, a, index->lay.ndim, index->lay.shape, &n, shape));
    return dync__infer_fresh(out, t->dtype, t->device, n, shape);
}

DYNC__FN dync_status dync__i_scatter(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t, *index;
    int dim, device;
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    DYNC__TRY(dync__infer_tensor(call, 2, &index));
    DYNC__TRY(dync__infer_value(call, 3));
    if (dync__arg_is_number(&call->args[3])) DYNC__TRY(dync__infer_numbers(call, DYNC__OP_scatter));
    DYNC__TRY(dync__infer_device(call, &device));
    DYNC__TRY(dync__infer_axis(call, 1, t, &dim));
    DYNC__TRY(dync__infer_index(index));
    DYNC__TRY(dync__infer_index_fits(index, &t->lay, dim,
                                     "expected index of the rank of self and not larger outside "
                                     "dim"));
    if (call->args[3].kind == DYNC__A_TENSOR) {
        const dync__tensor *src = call->args[3].as.t;
        if (src->dtype != t->dtype)
            return dync__fail(DYNC_ERR_DTYPE, "Expected self.dtype to be equal to src.dtype");
        DYNC__TRY(dync__infer_index_fits(index, &src->lay, -1,
                                         "expected index not larger than "
                                         "src"));
    }
    return dync__infer_fresh(out, t->dtype, device, t->lay.ndim, t->lay.shape);
}

DYNC__FN dync_status dync__i_index_select(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t, *index;
    int dim, device;
    int64_t shape[DYNC_MAX_DIMS];
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    DYNC__TRY(dync__infer_tensor(call, 2, &index));
    DYNC__TRY(dync__infer_device(call, &device));
    DYNC__TRY(dync__infer_axis(call, 1, t, &dim));
    DYNC__TRY(dync__infer_index(index));
    if (index->lay.ndim > 1)
        return dync__fail(DYNC_ERR_INDEX, "Index is supposed to be a vector, got %dD",
                          index->lay.ndim);
    if (t->lay.ndim == 0 && !dync__sz_eq(index->numel, 1))
        return dync__fail(DYNC_ERR_INDEX,
                          "Index to scalar can have only 1 value, got %lld value(s)",
                          (long long)dync__sz_hint(index->numel));
    memcpy(shape, t->lay.shape, sizeof shape);
    if (t->lay.ndim) shape[dim] = index->numel;
    return dync__infer_fresh(out, t->dtype, device, t->lay.ndim, shape);
}

DYNC__FN dync_status dync__i_index_add(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t, *index, *src;
    int dim, device;
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    DYNC__TRY(dync__infer_tensor(call, 2, &index));
    DYNC__TRY(dync__infer_tensor(call, 3, &src));
    DYNC__TRY(dync__infer_device(call, &device));
    DYNC__TRY(dync__infer_axis(call, 1, t, &dim));
    DYNC__TRY(dync__infer_index(index));
    if (index->lay.ndim > 1)
        return dync__fail(DYNC_ERR_INDEX, "Index is supposed to be a vector, got %dD",
                          index->lay.ndim);
    if (t->dtype != src->dtype)
        return dync__fail(DYNC_ERR_DTYPE, "self and source must have the "
                                          "same scalar type");
    bool fits = src->lay.ndim == t->lay.ndim;
    for (int d = 0; fits && d < t->lay.ndim; d++)
        fits = dync__sz_eq(src->lay.shape[d], d == dim ? index->numel : t->lay.shape[d]);
    if (!fits)
        return dync__infer_pair_error(
            "expected source of self's shape with index's length along dim", &t->lay, &src->lay);
    return dync__infer_fresh(out, t->dtype, device, t->lay.ndim, t->lay.shape);
}

DYNC__FN dync_status dync__i_sort(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    int dim;
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    DYNC__TRY(dync__infer_axis(call, 1, t, &dim));
    dync__opcall like = {.row = dync__op_info(DYNC__OP_zeros_like),
                         .op = DYNC__OP_zeros_like,
                         .nargs = 1,
                         .args = call->args};
    DYNC__TRY(dync__i_like(&like, &out[0]));
    out[1] = out[0];
    out[1].dtype = DYNC_I64;
    return DYNC_OK;
}

DYNC__FN dync_status dync__i_argsort(const dync__opcall *call, dync__info *out)
{
    dync__info both[2];
    DYNC__TRY(dync__i_sort(call, both));
    *out = both[1];
    return DYNC_OK;
}

DYNC__FN dync_status dync__i_topk(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    int dim;
    int64_t shape[DYNC_MAX_DIMS], k = call->args[1].as.i;
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    DYNC__TRY(dync__dim_wrap(dync__infer_int_dim(&call->args[2]), t->lay.ndim, &dim));
    if (k < 0 || dync__sz_lt(t->lay.ndim ? t->lay.shape[dim] : 1, k))
        return dync__fail(DYNC_ERR_INDEX, "selected index k out of range: %lld", (long long)k);
    memcpy(shape, t->lay.shape, sizeof shape);
    if (t->lay.ndim) shape[dim] = k;
    DYNC__TRY(dync__infer_fresh(&out[0], t->dtype, t->device, t->lay.ndim, shape));
    return dync__infer_fresh(&out[1], DYNC_I64, t->device, t->lay.ndim, shape);
}

DYNC__FN dync_status dync__i_tril(const dync__opcall *call, dync__info *out)
{
    dync__tensor *t;
    DYNC__TRY(dync__infer_tensor(call, 0, &t));
    if (t->lay.ndim < 2)
        return dync__fail(DYNC_ERR_SHAPE, "input tensor must have at least 2 dimensions, got %d",
                          t->lay.ndim);
    return dync__infer_fresh(out, t->dtype, t->device, t->lay.ndim, t->lay.shape);
}
