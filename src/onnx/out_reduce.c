/* onnx/out_reduce.c: factories, reductions and softmax as ONNX nodes. After out_formula.c. */
#include "../dync.in.h"
#if !defined(DYNC_NO_ONNX)
#include "out_rows.h"
DYNC__COLD

static const char *dync__ox_text(const dync__ox *w) { return dync__ox_row_of(w->node->op)->f; }

/* ---- the same value, casts ------------------------------------------------------------------- */

DYNC__FN dync__ox_name dync__ox_same(dync__ox *w)
{
    return dync__ox_cast(w, dync__ox_in(w, 0), dync__ox_of(w, 0)->dtype, w->node->info[0].dtype);
}

/* argument 1 in the form of argument 0 */
DYNC__FN dync__ox_name dync__ox_copy(dync__ox *w)
{
    const dync__info *out = &w->node->info[0];
    int type = dync__ox_expands(out->dtype);
    dync__ox_name x;
    if (dync__ox_has(w, 1))
        x = dync__ox_cast(w, dync__ox_in(w, 1), dync__ox_of(w, 1)->dtype, type);
    else
        x = dync__ox_number(w, dync__ox_arg(w, 1), type);
    return dync__ox_as_out(w, dync__ox_expand(w, x, out->lay.ndim, out->lay.shape), type, 0);
}

/* Bounds may be none, numbers or tensors. */
DYNC__FN dync__ox_name dync__ox_clamp(dync__ox *w)
{
    int dtype = w->node->info[0].dtype, type = dync__ox_wide(dtype);
    dync__ox_name x = dync__ox_cast(w, dync__ox_in(w, 0), dync__ox_of(w, 0)->dtype, type);
    dync__ox_name bound[3] = {x, "", ""};
    bool whole = true; /* Clip has bounds without dims */
    for (int i = 1; i < 3; i++) {
        if (dync__ox_arg(w, i)->kind == DYNC__A_NONE) continue;
        bound[i] = dync__ox_has(w, i)
                       ? dync__ox_cast(w, dync__ox_in(w, i), dync__ox_of(w, i)->dtype, type)
                       : dync__ox_number(w, dync__ox_arg(w, i), type);
        whole = whole && !dync__ox_has(w, i);
    }
    if (whole) return dync__ox_as_out(w, dync__ox_emit(w, "Clip", 3, bound), type, 0);
    for (int i = 1; i < 3; i++)
        if (*bound[i]) x = dync__ox_op2(w, i == 1 ? "Max" : "Min", bound[i], x);
    return dync__ox_as_out(w, x, type, 0);
}

/* Integers wrap around: products, not ONNX's power by way of floats, where the exponent is a
 * number. */
DYNC__FN dync__ox_name dync__ox_pow(dync__ox *w)
{
    int type = dync__ox_wide(w->node->info[0].dtype);
    const dync__arg *n = dync__ox_arg(w, 1);
    dync__ox_name x[2];
    for (int i = 0; i < 2; i++)
        x[i] = dync__ox_has(w, i)
                   ? dync__ox_cast(w, dync__ox_in(w, i), dync__ox_of(w, i)->dtype, type)
                   : dync__ox_number(w, dync__ox_arg(w, i), type);
    bool whole = (type == DYNC_I32 || type == DYNC_I64) && dync__arg_is_number(n) &&
                 dync__arg_number(n) > 0 && dync__arg_number(n) < 64;
    if (!whole) return dync__ox_as_out(w, dync__ox_op2(w, "Pow", x[0], x[1]), type, 0);
    dync__ox_name product = NULL, square = x[0];
    for (int left = (int)dync__arg_number(n); left; left >>= 1) {
        if (left & 1) product = product ? dync__ox_op2(w, "Mul", product, square) : square;
        if (left > 1) square = dync__ox_op2(w, "Mul", square, square);
    }
    return dync__ox_as_out(w, product, type, 0);
}

/* ---- factories ------------------------------------------------------------------------------- */

/* Is it no number, or a symbolic one? */
static bool dync__ox_is_open(const dync__arg *a)
{
    return !dync__arg_is_number(a) || (a->kind == DYNC__A_INT && dync__is_token(a->as.i)) ||
           (a->kind == DYNC__A_FLOAT && dync__is_sf(dync__sf_bits(a->as.f)));
}

/* One number everywhere: that of the row, or the argument before the dtype. */
DYNC__FN dync__ox_name dync__ox_fill(dync__ox *w)
{
    const dync__info *out = &w->node->info[0];
    int type = dync__ox_expands(out->dtype);
    bool given = w->node->op == DYNC__OP_full || w->node->op == DYNC__OP_full_like;
    const dync__arg *a = given ? dync__ox_arg(w, 1) : NULL;
    bool open = a && dync__ox_is_open(a);
    if (open || !out->lay.ndim) {
        dync__ox_name x = a ? dync__ox_number(w, a, type)
                            : dync__ox_scalar(w, type, dync__ox_text(w) ? 1 : 0);
        if (out->lay.ndim) x = dync__ox_expand(w, x, out->lay.ndim, out->lay.shape);
        return dync__ox_as_out(w, x, type, 0);
    }
    char *one = dync__arena_alloc(w->arena, 8);
    const int64_t shape = 1;
    if (!one) return w->status = DYNC_ERR_MEMORY, "";
    if (a && a->kind == DYNC__A_INT && dync__dtype_info(type)->kind != 'f')
        dync__store_i64(one, type, a->as.i);
    else
        dync__store_f64(one, type, a ? dync__arg_number(a) : dync__ox_text(w) ? 1 : 0);
    dync__onnx_tensor *value =
        dync__ox_tensor(w, type, 1, &shape, one, (size_t)dync__dtype_info(type)->bytes);
    dync__ox_name x =
        dync__ox_op1(w, "ConstantOfShape", dync__ox_shape(w, out->lay.ndim, out->lay.shape));
    dync__ox_set_tensor(w, "value", value);
    return dync__ox_as_out(w, x, type, 0);
}

/* Is argument i this number, no symbolic one? */
static bool dync__ox_is_number(const dync__ox *w, int i, int64_t value)
{
    const dync__arg *a = dync__ox_arg(w, i);
    return !dync__ox_is_open(a) && dync__arg_number(a) == (double)value;
}

DYNC__FN dync__ox_name dync__ox_arange(dync__ox *w)
{
    const dync__info *out = &w->node->info[0];
    int type = dync__dtype_info(out->dtype)->kind == 'f' ? DYNC_F64 : DYNC_I64;
    bool whole = type == DYNC_I64;
    for (int i = 0; i < 3; i++) whole = whole && dync__ox_arg(w, i)->kind == DYNC__A_INT;
    if (whole && !dync__ox_is_number(w, 0, 0)) {
        dync__ox_name in[3];
        for (int i = 0; i < 3; i++) in[i] = dync__ox_number(w, dync__ox_arg(w, i), type);
        return dync__ox_as_out(w, dync__ox_emit(w, "Range", 3, in), type, 0);
    }
    dync__ox_name x = dync__ox_cast(w, dync__ox_range(w, out->lay.shape[0]), DYNC_I64, type);
    if (!dync__ox_is_number(w, 2, 1))
        x = dync__ox_op2(w, "Mul", x, dync__ox_number(w, dync__ox_arg(w, 2), type));
    if (!dync__ox_is_number(w, 0, 0))
        x = dync__ox_op2(w, "Add", x, dync__ox_number(w, dync__ox_arg(w, 0), type));
    return dync__ox_as_out(w, x, type, 0);
}

DYNC__FN dync__ox_name dync__ox_eye(dync__ox *w)
{
    const int64_t *shape = w->node->info[0].lay.shape;
    dync__ox_name row = dync__ox_op2(w, "Unsqueeze", dync__ox_range(w, shape[0]),
                                     dync__ox_ints(w, 1, &(int64_t){1}));
    return dync__ox_as_out(w, dync__ox_op2(w, "Equal", row, dync__ox_range(w, shape[1])), DYNC_BOOL,
                           0);
}

/* ONNX's own random numbers: of the same distribution, not the same numbers. */
DYNC__FN dync__ox_name dync__ox_random(dync__ox *w)
{
    const dync__info *out = &w->node->info[0];
    bool uniform = strcmp(dync__ox_text(w), "RandomUniform") == 0;
    bool given = w->node->op == DYNC__OP_normal || w->node->op == DYNC__OP_uniform;
    double a = given ? dync__arg_number(dync__ox_arg(w, 1)) : 0,
           b = given ? dync__arg_number(dync__ox_arg(w, 2)) : 1;
    if (!w->random) return dync__ox_refuse(w, "its random numbers are dync's own");
    int type = dync__ox_wide(out->dtype);
    dync__ox_name like =
        dync__ox_expand(w, dync__ox_scalar(w, type, 0), out->lay.ndim, out->lay.shape);
    dync__ox_name x = dync__ox_op1(w, uniform ? "RandomUniformLike" : "RandomNormalLike", like);
    dync__ox_set_f(w, uniform ? "low" : "mean", a);
    dync__ox_set_f(w, uniform ? "high" : "scale", b);
    return dync__ox_as_out(w, x, type, 0);
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* The dims of argument 1: none are all. */
static int dync__ox_dims(const dync__ox *w, int64_t *dims)
{
    const dync__arg *a = dync__ox_arg(w, 1);
    int ndim = dync__ox_of(w, 0)->lay.ndim, n = 0;
    if (a->kind == DYNC__A_INT) dims[n++] = a->as.i;
    for (int i = 0; a->kind == DYNC__A_DIMS && i < a->n; i++) dims[n++] = a->as.dims[i];
    for (int i = 0; i < n; i++)
        if (dims[i] < 0) dims[i] += DYNC__MAX(ndim, 1);
    if (n == 0)
        for (; n < ndim; n++) dims[n] = n;
    return n;
}

static dync__ox_name dync__ox_reduced(dync__ox *w, const char *type, dync__ox_name x, bool keepdim)
{
    int64_t dims[DYNC_MAX_DIMS];
    int n = dync__ox_of(w, 0)->lay.ndim ? dync__ox_dims(w, dims) : 0;
    if (n == 0) { /* of one element; a shape of no dims would reduce nothing */
        x = dync__ox_reshape(w, x, 1, &(int64_t){1});
        dims[n++] = 0;
        keepdim = false;
    }
    x = dync__ox_op2(w, type, x, dync__ox_ints(w, n, dims));
    dync__ox_set_i(w, "keepdims", keepdim);
    return x;
}

static bool dync__ox_keepdim(const dync__ox *w, int i) { return dync__ox_arg(w, i)->as.i != 0; }

/* A mean of no elements is 0 / 0. */
static bool dync__ox_of_nothing(const dync__ox *w)
{
    const dync__layout *lay = &dync__ox_of(w, 0)->lay;
    int64_t dims[DYNC_MAX_DIMS];
    int n = lay->ndim ? dync__ox_dims(w, dims) : 0;
    for (int i = 0; i < n; i++)
        if (lay->shape[dims[i]] == 0) return true;
    return false;
}

/* In the type of the result where that is wider: sums of small integers are int64. */
DYNC__FN dync__ox_name dync__ox_reduce(dync__ox *w)
{
    int dtype = dync__ox_of(w, 0)->dtype, type = dync__ox_wide(w->node->info[0].dtype);
    const char *op = dync__ox_text(w);
    bool mean = strcmp(op, "ReduceMean") == 0 && dync__ox_of_nothing(w);
    dync__ox_name x = dync__ox_cast(w, dync__ox_in(w, 0), dtype, type);
    x = dync__ox_reduced(w, mean ? "ReduceSum" : op, x, dync__ox_keepdim(w, 2));
    if (mean) x = dync__ox_op2(w, "Div", x, dync__ox_scalar(w, type, 0));
    return dync__ox_as_out(w, x, type, 0);
}

/* How many are (not) zero, against zero: of no elements none is. */
DYNC__FN dync__ox_name dync__ox_any(dync__ox *w)
{
    bool all = dync__ox_text(w) != NULL;
    dync__ox_name x = dync__ox_cast(w, dync__ox_in(w, 0), dync__ox_of(w, 0)->dtype, DYNC_BOOL);
    if (all) x = dync__ox_op1(w, "Not", x);
    x = dync__ox_reduced(w, "ReduceSum", dync__ox_cast(w, x, DYNC_BOOL, DYNC_I64),
                         dync__ox_keepdim(w, 2));
    x = dync__ox_op2(w, all ? "Equal" : "Greater", x, dync__ox_int(w, 0));
    return dync__ox_as_out(w, x, DYNC_BOOL, 0);
}

/* Along one dim, or over all elements in a row. */
static dync__ox_name dync__ox_arg_along(dync__ox *w, const char *type, bool all, bool keepdim)
{
    const dync__layout *lay = &dync__ox_of(w, 0)->lay;
    dync__ox_name x = dync__ox_wide_in(w, 0);
    int axis = all || lay->ndim == 0 ? 0 : dync__ox_axis(w, 1, lay->ndim);
    if (all || lay->ndim == 0) x = dync__ox_reshape(w, x, 1, &(int64_t){-1});
    x = dync__ox_op1(w, type, x);
    dync__ox_set_i(w, "axis", axis);
    dync__ox_set_i(w, "keepdims", keepdim && !all && lay->ndim > 0);
    return x;
}

DYNC__FN dync__ox_name dync__ox_arg_reduce(dync__ox *w)
{
    const dync__layout *out = &w->node->info[0].lay;
    bool all = dync__ox_arg(w, 1)->kind != DYNC__A_INT ||
               (!dync__ox_keepdim(w, 2) && out->ndim == 0 && dync__ox_of(w, 0)->lay.ndim != 1);
    dync__ox_name x = dync__ox_arg_along(w, dync__ox_text(w), all, dync__ox_keepdim(w, 2));
    return all && out->ndim ? dync__ox_reshape(w, x, out->ndim, out->shape) : x;
}

DYNC__FN dync__ox_name dync__ox_max_dim(dync__ox *w)
{
    const char *type = dync__ox_text(w);
    bool max = strcmp(type, "ReduceMax") == 0, keep = dync__ox_keepdim(w, 2);
    int dtype = dync__ox_wide(dync__ox_of(w, 0)->dtype);
    dync__ox_name x = dync__ox_reduced(w, type, dync__ox_wide_in(w, 0), keep);
    dync__ox_give(w, 0, dync__ox_as_out(w, x, dtype, 0));
    dync__ox_give(w, 1, dync__ox_arg_along(w, max ? "ArgMax" : "ArgMin", false, keep));
    return NULL;
}

DYNC__FN dync__ox_name dync__ox_cumsum(dync__ox *w)
{
    int ndim = dync__ox_of(w, 0)->lay.ndim, type = dync__ox_wide(w->node->info[0].dtype);
    dync__ox_name x = dync__ox_cast(w, dync__ox_in(w, 0), dync__ox_of(w, 0)->dtype, type);
    if (ndim) x = dync__ox_op2(w, "CumSum", x, dync__ox_int(w, dync__ox_axis(w, 1, ndim)));
    return dync__ox_as_out(w, x, type, 0);
}

DYNC__FN dync__ox_name dync__ox_softmax(dync__ox *w)
{
    const dync__layout *lay = &dync__ox_of(w, 0)->lay;
    int type = dync__ox_wide(w->node->info[0].dtype);
    dync__ox_name x = dync__ox_cast(w, dync__ox_in(w, 0), dync__ox_of(w, 0)->dtype, type);
    if (lay->ndim == 0) x = dync__ox_reshape(w, x, 1, &(int64_t){1});
    x = dync__ox_op1(w, dync__ox_text(w), x);
    dync__ox_set_i(w, "axis", dync__ox_axis(w, 1, lay->ndim));
    if (lay->ndim == 0) x = dync__ox_reshape(w, x, 0, NULL);
    return dync__ox_as_out(w, x, type, 0);
}

/* Around the mean, over n - correction: float64's 0 / 0 where nothing is left. */
DYNC__FN dync__ox_name dync__ox_var(dync__ox *w)
{
    const dync__layout *lay = &dync__ox_of(w, 0)->lay;
    int64_t dims[DYNC_MAX_DIMS], correction = dync__ox_arg(w, 2)->as.i;
    int type = dync__ox_wide(dync__ox_of(w, 0)->dtype), n = lay->ndim ? dync__ox_dims(w, dims) : 0;
    dync__ox_name x = dync__ox_wide_in(w, 0), count = dync__ox_ints(w, 1, &(int64_t){1});
    dync__ox_name apart =
        dync__ox_op2(w, "Sub", x, dync__ox_reduced(w, "ReduceMean", x, lay->ndim));
    x = dync__ox_reduced(w, "ReduceSum", dync__ox_op2(w, "Mul", apart, apart),
                         dync__ox_keepdim(w, 3));
    for (int i = 0; i < n; i++)
        count = dync__ox_op2(w, "Mul", count, dync__ox_size_of(w, lay->shape[dims[i]]));
    count = dync__ox_op2(w, "Max", dync__ox_ints(w, 1, &(int64_t){0}),
                         dync__ox_op2(w, "Sub", count, dync__ox_ints(w, 1, &correction)));
    count = dync__ox_cast(w, dync__ox_reshape(w, count, 0, NULL), DYNC_I64, type);
    x = dync__ox_op2(w, "Div", x, count);
    if (dync__ox_text(w)) x = dync__ox_op1(w, "Sqrt", x);
    return dync__ox_as_out(w, x, type, 0);
}
#endif
