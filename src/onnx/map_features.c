/* onnx/map_features.c: operators of ai.onnx.ml that exporters of scikit-learn write: features as
 * numbers, scaled, chosen or compared, and linear models. After map_microsoft_cache.c, before
 * map_trees.c.
 *
 * Rows are what is told apart, columns are features. Where PROBIT is asked for or labels are texts,
 * no dtype of dync or formula of ONNX Runtime holds them: refused. */
#include "../dync.in.h"
#include "maps.h"
DYNC__COLD

/* x as [rows, features] of floats */
DYNC__FN dync_tensor *dync__oi_features(dync_tensor *x)
{
    int rank = dync__oi_rank(x);
    if (rank == 1) x = dync_unsqueeze(x, 0);
    return x && !dync__oi_is_float(x) ? dync_to_dtype(x, DYNC_F32) : x;
}

/* The attribute of floats as a row [n] of x's dtype, to be computed with x [.., n]. One number
 * stands for all. NULL + error */
static dync_tensor *dync__oi_row_of(const dync__onnx_call *c, const dync_tensor *x,
                                    const char *name, double none)
{
    const float *at;
    int64_t n = dync__oi_floats(c, name, &at);
    double *value = dync__scope_alloc((size_t)(n + 1) * sizeof *value);
    if (!value) return NULL;
    value[0] = none;
    for (int64_t i = 0; i < n; i++) value[i] = (double)at[i];
    int64_t wide = dync__oi_number(dync__oi_extent(x, -1));
    if (n > 1 && n != wide) {
        dync__oi_fail(c, DYNC_ERR_SHAPE, "%lld numbers in %s for %lld features", (long long)n, name,
                      (long long)wide);
        return NULL;
    }
    n = DYNC__MAX(n, 1);
    return dync__oi_tensor_f(dync__oi_type(x), 1, &n, value);
}

DYNC__FN dync_status dync__oi_choose(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *at = dync__oi_in(c, 1);
    if (dync__oi_rank(x) == 1) x = dync_unsqueeze(x, 0);
    at = at ? dync_reshape(at, dync_shape(-1)) : NULL;
    return dync__oi_gathered(c, x, at, dync__oi_rank(x) - 1);
}

DYNC__FN dync_status dync__oi_binarize(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *y = dync_gt(x, dync__oi_float(c, "threshold"));
    return dync__oi_out(c, 0, y ? dync_to_dtype(y, (dync_dtype)dync__oi_type(x)) : NULL);
}

DYNC__FN dync_status dync__oi_scale(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0);
    if (!dync__oi_is_float(x)) x = dync_to_dtype(x, DYNC_F32);
    dync_tensor *less = x ? dync__oi_row_of(c, x, "offset", 0) : NULL;
    dync_tensor *by = less ? dync__oi_row_of(c, x, "scale", 1) : NULL;
    dync_tensor *y = by ? dync_mul(dync_sub(x, less), by) : NULL;
    return dync__oi_out(c, 0, y ? dync_to_dtype(y, DYNC_F32) : NULL);
}

/* Each row by its largest element, the sum of its magnitudes, or its length; rows where that is 0
 * stay. */
DYNC__FN dync_status dync__oi_normalize(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *by;
    dync_dims last = dync_shape(-1);
    if (!dync__oi_is_float(x)) x = dync_to_dtype(x, DYNC_F32);
    if (dync__oi_is(c, "norm", "L1"))
        by = dync_sum(dync_abs(x), last, true);
    else if (dync__oi_is(c, "norm", "L2"))
        by = dync_sqrt(dync_sum(dync_mul(x, x), last, true));
    else
        by = dync_amax(x, last, true);
    by = by ? dync_where(dync_eq(by, 0), 1, by) : NULL;
    dync_tensor *y = by ? dync_div(x, by) : NULL;
    return dync__oi_out(c, 0, y ? dync_to_dtype(y, DYNC_F32) : NULL);
}

DYNC__FN dync_status dync__oi_impute(dync__onnx_call *c)
{
    dync_tensor *x = dync__oi_in(c, 0), *by, *gone;
    if (dync__oi_is_float(x)) {
        double old = dync__oi_float(c, "replaced_value_float");
        by = dync__oi_row_of(c, x, "imputed_value_floats", 0);
        gone = isnan(old) ? dync_isnan(x) : dync_eq(x, old);
    } else {
        const int64_t *at;
        int64_t n = dync__oi_ints(c, "imputed_value_int64s", &at);
        if (n < 1 || (n > 1 && n != dync__oi_number(dync__oi_extent(x, -1))))
            return dync__oi_fail(c, DYNC_ERR_SHAPE, "imputed_value_int64s");
        by = dync__oi_tensor_i(dync__oi_type(x), 1, &n, at);
        gone = dync_eq(x, dync__oi_int(c, "replaced_value_int64"));
    }
    return dync__oi_out(c, 0, by && gone ? dync_where(gone, by, x) : NULL);
}

DYNC__FN dync_status dync__oi_side_by_side(dync__onnx_call *c)
{
    dync_tensor **part = dync__scope_alloc(((size_t)c->n_in + 1) * sizeof(*part));
    if (!part) return DYNC_ERR_MEMORY;
    for (int i = 0; i < c->n_in; i++) {
        part[i] = dync__oi_in(c, i) ? dync__oi_features(dync__oi_in(c, i)) : NULL;
        part[i] = part[i] ? dync_to_dtype(part[i], DYNC_F32) : NULL;
        if (!part[i]) return dync_error() ? dync_error() : dync__oi_fail(c, DYNC_ERR_FORMAT, "n");
    }
    if (!c->n_in) return dync__oi_fail(c, DYNC_ERR_FORMAT, "no inputs");
    return dync__oi_out(c, 0, dync__oi_list(c->n_in, part, 1, false));
}

/* ---- tables of values ------------------------------------------------------------------------ */

/* Which of n known keys is each element of x: [.., n] of bool. NULL + error */
static dync_tensor *dync__oi_which(dync_tensor *x, dync_tensor *keys)
{
    x = dync_unsqueeze(x, -1);
    return x && keys ? dync_eq(x, keys) : NULL;
}

/* keys_ or values_ of ints or floats as a row; *n 0: they are texts, or not there */
static dync_tensor *dync__oi_table(const dync__onnx_call *c, const char *ints, const char *floats,
                                   int64_t *n)
{
    const int64_t *i;
    const float *f;
    *n = dync__oi_ints(c, ints, &i);
    if (*n) return dync__oi_tensor_i(DYNC_I64, 1, n, i);
    *n = dync__oi_floats(c, floats, &f);
    double *wide = dync__scope_alloc((size_t)(*n + 1) * sizeof *wide);
    for (int64_t k = 0; wide && k < *n; k++) wide[k] = (double)f[k];
    return *n && wide ? dync__oi_tensor_f(DYNC_F32, 1, n, wide) : NULL;
}

/* values[k] of the first key that an element is, or the default. */
DYNC__FN dync_status dync__oi_label(dync__onnx_call *c)
{
    int64_t n, m;
    dync_tensor *x = dync__oi_in(c, 0);
    dync_tensor *keys = dync__oi_table(c, "keys_int64s", "keys_floats", &n);
    dync_tensor *values = keys ? dync__oi_table(c, "values_int64s", "values_floats", &m) : NULL;
    if (dync_error()) return dync_error();
    if (!keys || !values) return dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "labels that are texts");
    if (n != m) return dync__oi_fail(c, DYNC_ERR_FORMAT, "%d keys", (int)n);
    bool floats = dync__oi_type(values) == DYNC_F32;
    dync_tensor *is = dync__oi_which(x, keys), *at = NULL;
    if (is) at = dync_argmax(dync_to_dtype(is, DYNC_I32), -1, false);
    dync_tensor *one = at ? dync_index_select(values, 0, dync_reshape(at, dync_shape(-1))) : NULL;
    one = one ? dync_reshape(one, dync__oi_sizes(x)) : NULL;
    dync_tensor *any = one ? dync_any(is, dync_shape(-1), false) : NULL;
    if (any)
        one = floats ? dync_where(any, one, dync__oi_float(c, "default_float"))
                     : dync_where(any, one, dync__oi_int(c, "default_int64"));
    return dync__oi_out(c, 0, any ? one : NULL);
}

DYNC__FN dync_status dync__oi_categories(dync__onnx_call *c)
{
    const int64_t *at;
    dync_tensor *x = dync__oi_in(c, 0);
    int64_t n = dync__oi_ints(c, "cats_int64s", &at);
    if (!n || !dync__oi_int(c, "zeros"))
        return dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "texts, or values that may not be there");
    dync_tensor *is = dync__oi_which(x, dync__oi_tensor_i(dync__oi_type(x), 1, &n, at));
    return dync__oi_out(c, 0, is ? dync_to_dtype(is, DYNC_F32) : NULL);
}

/* ---- linear models --------------------------------------------------------------------------- */

/* Scores [rows, n] after a post_transform. NULL + error */
DYNC__FN dync_tensor *dync__oi_post(const dync__onnx_call *c, int64_t kind, dync_tensor *s)
{
    if (kind == DYNC__OI_POST_LOGISTIC) return dync_sigmoid(s);
    if (kind == DYNC__OI_POST_SOFTMAX) return dync_softmax(s, -1);
    if (kind == DYNC__OI_POST_SOFTMAX_ZERO) {
        dync_tensor *most = dync_amax(s, dync_shape(-1), true);
        dync_tensor *zero = dync_le(dync_abs(s), 1e-7);
        dync_tensor *e =
            dync_where(zero, dync_mul(s, dync_exp(dync_neg(most))), dync_exp(dync_sub(s, most)));
        return e ? dync_div(e, dync_sum(e, dync_shape(-1), true)) : NULL;
    }
    if (kind == DYNC__OI_POST_NONE) return s;
    dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "post_transform PROBIT");
    return NULL;
}

DYNC__FN dync_tensor *dync__oi_scores(const dync__onnx_call *c, dync_tensor *s)
{
    static const char *const names[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"};
    int64_t kind = 0;
    while (kind < DYNC__OI_POST_PROBIT && !dync__oi_is(c, "post_transform", names[kind])) kind++;
    return dync__oi_post(c, kind, s);
}

/* Scores [rows, 1] of the second of two classes as those of both: the first one's is 1 - s, or -s.
 */
DYNC__FN dync_tensor *dync__oi_both(const dync__onnx_call *c, dync_tensor *s, bool from_one)
{
    dync_tensor *both[2] = {NULL, s};
    if (dync__oi_is(c, "post_transform", "LOGISTIC")) {
        both[0] = dync_sigmoid(dync_neg(s));
        both[1] = dync_sigmoid(s);
    } else {
        both[0] = from_one ? dync_sub(1, s) : dync_neg(s);
    }
    return both[0] && both[1] ? dync__oi_list(2, both, 1, false) : NULL;
}

/* Outputs label and scores of scores [rows, n] and of which class each row is. One score for two
 * classes is that of the second; from_one: the first one's is 1 - it, else -it. */
DYNC__FN dync_status dync__oi_classes(dync__onnx_call *c, dync_tensor *s, dync_tensor *which,
                                      const char *labels, bool from_one)
{
    const int64_t *at;
    int64_t n = dync__oi_ints(c, labels, &at), scores = dync__oi_number(dync__oi_extent(s, 1));
    if (!n) return dync__oi_fail(c, DYNC_ERR_UNSUPPORTED, "labels that are texts");
    bool two = scores == 1 && n == 2;
    if (!two && scores != n)
        return dync__oi_fail(c, DYNC_ERR_SHAPE, "%lld scores for %lld classes", (long long)scores,
                             (long long)n);
    dync_tensor *of = dync__oi_tensor_i(DYNC_I64, 1, &n, at);
    which = which ? dync_to_dtype(which, DYNC_I64) : NULL;
    dync_tensor *label = which && of ? dync_index_select(of, 0, which) : NULL;
    if (dync__oi_out(c, 0, label) != DYNC_OK) return dync_error();
    s = two ? dync__oi_both(c, s, from_one) : dync__oi_scores(c, s);
    return dync__oi_out(c, 1, s ? dync_to_dtype(s, DYNC_F32) : NULL);
}

/* x times the coefficients [n, features], and intercepts. NULL + error */
static dync_tensor *dync__oi_linear(const dync__onnx_call *c, int64_t n)
{
    const float *k, *b;
    dync_tensor *x = dync__oi_features(dync__oi_in(c, 0));
    int64_t wide = x ? dync__oi_number(dync__oi_extent(x, 1)) : 0;
    int n_k = dync__oi_floats(c, "coefficients", &k), n_b = dync__oi_floats(c, "intercepts", &b);
    if (!x || n < 1 || wide < 1 || n_k % n || n_k / n != wide || (n_b && n_b != n)) {
        if (x) dync__oi_fail(c, DYNC_ERR_SHAPE, "%d coefficients", n_k);
        return NULL;
    }
    double *at = dync__scope_alloc(((size_t)n_k + (size_t)n) * sizeof *at);
    if (!at) return NULL;
    for (int i = 0; i < n_k; i++) at[i] = (double)k[i];
    for (int i = 0; i < n_b; i++) at[n_k + i] = (double)b[i];
    dync_tensor *m = dync__oi_tensor_f(dync__oi_type(x), 2, (int64_t[]){n, wide}, at);
    dync_tensor *y = m ? dync_matmul(x, dync_transpose(m, 0, 1)) : NULL;
    return y && n_b ? dync_add(y, dync__oi_tensor_f(dync__oi_type(x), 1, &n, at + n_k)) : y;
}

DYNC__FN dync_status dync__oi_linear_regressor(dync__onnx_call *c)
{
    dync_tensor *y = dync__oi_linear(c, dync__oi_int(c, "targets"));
    y = y ? dync__oi_scores(c, y) : NULL;
    return dync__oi_out(c, 0, y ? dync_to_dtype(y, DYNC_F32) : NULL);
}

DYNC__FN dync_status dync__oi_linear_classifier(dync__onnx_call *c)
{
    const float *k;
    const int64_t *labels;
    dync_tensor *x = dync__oi_features(dync__oi_in(c, 0));
    int64_t n = dync__oi_ints(c, "classlabels_ints", &labels), coefficients;
    int64_t wide = x ? dync__oi_number(dync__oi_extent(x, 1)) : 0;
    coefficients = dync__oi_floats(c, "coefficients", &k);
    if (n == 2 && coefficients == wide) n = 1;
    dync_tensor *s = dync__oi_linear(c, n ? n : 1);
    dync_tensor *which = s && n == 1 ? dync_gt(dync_squeeze(s, 1), 0) : NULL;
    if (!s) return dync_error() ? dync_error() : DYNC_ERR_MEMORY;
    if (n != 1) which = dync_argmax(s, 1, false);
    return dync__oi_classes(c, s, which, "classlabels_ints", true);
}
