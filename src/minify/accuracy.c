/* minify/accuracy.c: are two runs of a graph the same? After run.c, before judge.c.
 *
 * Values are the same within tol = repro_tolerance (1e-3): |ref - res| <= tol + tol |res|, NaN
 * equal to NaN, dtypes equal. Where they are not, a run in float64 judges: RMSE(f64, res) <= m
 * RMSE(f64, ref) + tol / 10. m is 2, and 3 for bfloat16, fewer than 1000 elements, 1x1 images and
 * tol >= 0.02. A gradient that is missing counts as zeros. Source: torch/_dynamo/utils.py, same and
 * rmse; torch/_dynamo/debug_utils.py, same_two_models, cast_to_fp64. */
#include "../dync.in.h"
#include "minify.h"
DYNC__COLD

/* The elements of one value, row major; data NULL: zeros. */
typedef struct dync__accuracy_view {
    dync__tensor *dense;
    const char *data;
    int dtype;
    int64_t n;
} dync__accuracy_view;

/* Opens a value for reading element by element. A tensor is copied to row-major order, which *out
 * owns (dync__unref(out->dense)); NONE opens as all zeros, for a gradient that one of the two runs
 * does not have. false: neither a tensor nor NONE, or no memory: *out may still hold a copy to
 * drop. */
static bool dync__accuracy_open(const dync_value *v, dync__accuracy_view *out)
{
    const dync__tensor *t = v->kind == DYNC_KIND_TENSOR ? dync__peek(v->as.t) : NULL;
    memset(out, 0, sizeof *out);
    if (!t) return v->kind == DYNC_KIND_NONE;
    out->dense = dync__contiguous_copy(t);
    out->data = out->dense ? dync__tensor_data(out->dense) : NULL;
    out->dtype = t->dtype;
    out->n = t->numel;
    return out->dense && (out->data || t->numel == 0);
}

/* Element i in row-major order, as double whatever the dtype. Integers above 2^53 lose low bits. */
static double dync__accuracy_at(const dync__accuracy_view *v, int64_t i)
{
    return v->data ? dync__load_f64(v->data + i * dync__dtype_info(v->dtype)->bytes, v->dtype) : 0;
}

/* torch.allclose for one element, a the reference: equal, or within tol absolutely and tol
 * relatively to b. Not symmetric, as upstream's is not. size - size is 0 for a finite b alone: an
 * infinite tolerance must not let everything pass. */
static bool dync__accuracy_close(double a, double b, double tol)
{
    if (a != a || b != b) return a != a && b != b;
    double gap = a > b ? a - b : b - a, size = b < 0 ? -b : b;
    return (a >= b && a <= b) || (gap <= tol + tol * size && size - size == 0);
}

static bool dync__accuracy_allclose(const dync__accuracy_view *ref, const dync__accuracy_view *res,
                                    int64_t n, double tol)
{
    for (int64_t i = 0; i < n; i++)
        if (!dync__accuracy_close(dync__accuracy_at(ref, i), dync__accuracy_at(res, i), tol))
            return false;
    return true;
}

/* Root of the mean square error over n > 0 elements; NaN where one of them is NaN, which then
 * passes no comparison below. */
static double dync__accuracy_rmse(const dync__accuracy_view *a, const dync__accuracy_view *b,
                                  int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        double d = dync__accuracy_at(a, i) - dync__accuracy_at(b, i);
        sum += d * d;
    }
    return sqrt(sum / (double)n);
}

/* The cosine of the angle between the two as vectors; the floor of 1e-6 avoids 0 / 0 for zero
 * vectors. */
static double dync__accuracy_cosine(const dync__accuracy_view *a, const dync__accuracy_view *b,
                                    int64_t n)
{
    double ab = 0, aa = 0, bb = 0;
    for (int64_t i = 0; i < n; i++) {
        double x = dync__accuracy_at(a, i), y = dync__accuracy_at(b, i);
        ab += x * y;
        aa += x * x;
        bb += y * y;
    }
    double size = sqrt(aa * bb);
    return ab / (size > 1e-6 ? size : 1e-6);
}

/* The result need not be near the reference, only about as near to the float64 run as the reference
 * itself is. Example, tol 1e-3, 4096 elements: the reference is off by 2e-4, so the result may be
 * off by 2 * 2e-4 + 1e-4 = 5e-4. shape: of which the rule for 1x1 images asks; NULL: none. why is
 * written where false is returned. */
static bool dync__accuracy_by_f64(const dync__accuracy_view *ref, const dync__accuracy_view *res,
                                  const dync__accuracy_view *f64, const dync__tensor *shape,
                                  int64_t n, dync__str *why)
{
    double tol = dync__repro_now()->tolerance;
    double ref_error = dync__accuracy_rmse(f64, ref, n),
           res_error = dync__accuracy_rmse(f64, res, n);
    const dync__layout *lay = shape ? &shape->lay : NULL;
    bool image = lay && lay->ndim == 4 && lay->shape[2] == 1 && lay->shape[3] == 1;
    double m = res->dtype == DYNC_BF16 || n < 1000 || image || tol >= 2e-2 ? 3 : 2;
    if (res_error <= m * ref_error + tol / 10) return true;
    dync__str_addf(why, "RMSE (res-fp64): %.5f, (ref-fp64): %.5f", dync__float_shown(res_error),
                   dync__float_shown(ref_error));
    return false;
}

/* A side that is no tensor (a gradient that is missing) has any shape. */
static bool dync__accuracy_shapes(const dync_value *a, const dync_value *b)
{
    const dync__tensor *x = a->kind == DYNC_KIND_TENSOR ? dync__peek(a->as.t) : NULL;
    const dync__tensor *y = b->kind == DYNC_KIND_TENSOR ? dync__peek(b->as.t) : NULL;
    if (!x || !y) return true;
    bool same = x->lay.ndim == y->lay.ndim;
    for (int d = 0; same && d < x->lay.ndim; d++) same = x->lay.shape[d] == y->lay.shape[d];
    return same;
}

/* Two values of one shape, at least one of them a tensor; c is the float64 run's value, or NULL.
 * The order of the cases is upstream's: dtype, bool, allclose, cosine, float64, and last integers
 * and what has no float64 run, which ignore_non_fp forgives. */
static bool dync__accuracy_elements(const dync_value *a, const dync_value *b, const dync_value *c,
                                    dync__str *why)
{
    const dync__repro_settings *how = dync__repro_now();
    dync__accuracy_view ref, res, f64 = {0};
    bool open = dync__accuracy_open(a, &ref), same = false;
    if (!dync__accuracy_open(b, &res)) open = false;
    bool wide = c && dync__accuracy_open(c, &f64) && f64.data && f64.dtype == DYNC_F64;
    int64_t n = ref.dense ? ref.n : res.n;
    const dync__tensor *shape = ref.dense ? ref.dense : res.dense;
    if (!open) {
        /* no memory, or nothing that can be read: nothing is known against it */
        same = true;
    } else if (ref.dense && res.dense && ref.dtype != res.dtype) {
        dync__str_addf(why, "dtype mismatch %s, %s", dync__dtype_info(ref.dtype)->name,
                       dync__dtype_info(res.dtype)->name);
    } else if (ref.dtype == DYNC_BOOL && ref.dense) {
        same = how->ignore_non_fp || dync__accuracy_allclose(&ref, &res, n, how->tolerance);
        if (!same) dync__str_add(why, "uint8 tensor did not match");
    } else if (dync__accuracy_allclose(&ref, &res, n, how->tolerance)) {
        same = true;
    } else if (how->cosine) {
        same = dync__accuracy_cosine(&ref, &res, n) >= 0.99;
    } else if (wide && f64.n == n) {
        same = dync__accuracy_by_f64(&ref, &res, &f64, shape, n, why);
    } else {
        same = how->ignore_non_fp;
    }
    if (open && !same && !why->n)
        dync__str_addf(why, "allclose not within tol=%g", dync__float_shown(how->tolerance));
    dync__unref(ref.dense);
    dync__unref(res.dense);
    dync__unref(f64.dense);
    return same;
}

/* Numbers that a graph returns beside tensors. NONE equals NONE. ignore_non_fp passes all but
 * floats, even where the kinds differ. */
static bool dync__accuracy_number(const dync_value *a, const dync_value *b, dync__str *why)
{
    bool same = a->kind == b->kind;
    if (dync__repro_now()->ignore_non_fp && a->kind != DYNC_KIND_FLOAT) return true;
    switch (a->kind) {
    case DYNC_KIND_INT: same = same && a->as.i == b->as.i; break;
    case DYNC_KIND_BOOL: same = same && a->as.b == b->as.b; break;
    case DYNC_KIND_FLOAT:
        same = same && dync__accuracy_close(a->as.f, b->as.f, dync__repro_now()->tolerance);
        break;
    default: break;
    }
    if (!same) dync__str_add(why, "a number did not match");
    return same;
}

/* One pair of results. A tensor against none is a mismatch, but for gradients: a missing one counts
 * as zeros. */
static bool dync__accuracy_item(const dync__run_item *ref, const dync__run_item *res,
                                const dync__run_item *f64, dync__str *why)
{
    bool tensor = ref->value.kind == DYNC_KIND_TENSOR, other = res->value.kind == DYNC_KIND_TENSOR;
    bool absent = ref->gradient && (tensor || ref->value.kind == DYNC_KIND_NONE) &&
                  (other || res->value.kind == DYNC_KIND_NONE);
    if (!tensor && !other) return dync__accuracy_number(&ref->value, &res->value, why);
    if (tensor != other && !absent) {
        dync__str_add(why, "type mismatch");
        return false;
    }
    if (!dync__accuracy_shapes(&ref->value, &res->value)) {
        dync__str_add(why, "shape mismatch");
        return false;
    }
    return dync__accuracy_elements(&ref->value, &res->value, f64 ? &f64->value : NULL, why);
}

DYNC__FN bool dync__accuracy_same(const dync__run_items *ref, const dync__run_items *res,
                                  const dync__run_items *f64, dync__str *why)
{
    if (ref->n != res->n) {
        dync__str_addf(why, "%d results, expected %d", res->n, ref->n);
        return false;
    }
    if (f64 && f64->n != ref->n) f64 = NULL;
    for (int i = 0; i < ref->n; i++)
        if (!dync__accuracy_item(&ref->at[i], &res->at[i], f64 ? &f64->at[i] : NULL, why))
            return false;
    return true;
}

/* The run in float64. *have tells whether there is one: it is off by setting, or an operator may
 * not take float64, which is no failure of the check; only lack of memory is returned. */
static dync_status dync__accuracy_wide(dync__graph *g, int n, const dync_value *inputs,
                                       dync__run_how how, dync__run_items *out, bool *have)
{
    *have = false;
    if (DYNC__F64_NONE || !dync__repro_now()->use_fp64) return DYNC_OK;
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    size_t bytes = (size_t)(n + 1) * sizeof(dync_value);
    dync_value *wide = dync__alloc(bytes);
    dync__graph *h = wide ? dync__graph_to_f64(g) : NULL;
    dync_status status = h ? dync__run_copy_inputs(n, inputs, wide, true) : DYNC_ERR_MEMORY;
    if (status == DYNC_OK) status = dync__run_once(h, NULL, n, wide, how, out);
    dync__graph_unref(h);
    dync__free(wide, bytes);
    const dync__error_slot *error = dync__error_guard_end(&guard);
    *have = status == DYNC_OK;
    if (error->status != DYNC_ERR_MEMORY) return DYNC_OK;
    dync__error_raise(error);
    return DYNC_ERR_MEMORY;
}

/* Three runs from the same random state: the graph, the graph in float64, and the code. Only the
 * first must succeed; an error of the third goes into *why and sets *ran to false. */
DYNC__FN dync_status dync__accuracy_check(dync__graph *g, const dync_callable *code, int n,
                                          const dync_value *inputs, bool forward_only, bool *same,
                                          bool *ran, dync__str *why)
{
    dync__run_items ref = {0}, res = {0}, f64 = {0};
    dync__run_how how = {.forward_only = forward_only};
    bool have = false;
    *same = *ran = true;
    dync_status status = dync__run_once(g, NULL, n, inputs, how, &ref);
    if (status == DYNC_OK) status = dync__accuracy_wide(g, n, inputs, how, &f64, &have);
    if (status == DYNC_OK) {
        dync__error_guard guard;
        dync__error_guard_begin(&guard);
        *ran = dync__run_once(g, code, n, inputs, how, &res) == DYNC_OK;
        const dync__error_slot *error = dync__error_guard_end(&guard);
        if (!*ran) dync__error_text(why, error);
    }
    if (status == DYNC_OK && *ran) *same = dync__accuracy_same(&ref, &res, have ? &f64 : NULL, why);
    dync__vec_free(&ref);
    dync__vec_free(&res);
    dync__vec_free(&f64);
    return status;
}
