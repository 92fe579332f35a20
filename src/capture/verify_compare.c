/* capture/verify_compare.c: are the results, the written arguments and the written globals of the
 * two runs the same? After verify_copy.c. */
#include "../dync.in.h"
#include "verify.h"
DYNC__COLD

/* |a - b| <= tolerance * (1 + |b|). Integers are exact. Order of sums and fused roundings differ
 * between eager and compiled; torch._dynamo.utils.same takes 1e-4. */
static double dync__verify_tolerance(int dtype)
{
    switch (dtype) {
    case DYNC_F64: return 1e-9;
    case DYNC_F32: return 1e-4;
    case DYNC_F16: return 1e-2;
    case DYNC_BF16: return 5e-2;
    default: return 0;
    }
}

/* One element of each run, of one dtype. NaN is near NaN alone, an infinity near itself. tolerance
 * 0: integers and bools, which are equal or not. */
static bool dync__verify_near(const void *a, const void *b, int dtype, double tolerance)
{
    if (tolerance == 0) return dync__load_i64(a, dtype) == dync__load_i64(b, dtype);
    double x = dync__load_f64(a, dtype), y = dync__load_f64(b, dtype);
    if (x != x || y != y) return x != x && y != y;
    double gap = x > y ? x - y : y - x, size = y < 0 ? -y : y;
    return (x >= y && x <= y) || gap <= tolerance * (1 + size);
}

/* DYNC_ERR_ACCURACY "incorrect results of backend NAME: FUNCTION: what text", without the operator
 * and the line that errors of this thread are told with. */
static dync_status dync__verify_differs(const dync__verify *v, const char *what, const char *text)
{
    const char *op = dync__tls.op;
    dync_loc at = dync__tls.at;
    dync__tls.op = NULL; /* the text begins the message */
    dync__tls.at = DYNC_NOWHERE;
    dync_status status = dync__fail_class(DYNC_ERR_ACCURACY, "RuntimeError",
                                          "incorrect results of backend %s: %s: %s%s",
                                          v->f->backend_name, v->name, what, text);
    dync__tls.op = op;
    dync__tls.at = at;
    return status;
}

static void dync__verify_number(dync__str *s, const void *p, int dtype)
{
    if (dync__dtype_info(dtype)->kind == 'f')
        dync__str_addf(s, "%.9g", dync__float_shown(dync__load_f64(p, dtype)));
    else
        dync__str_addf(s, "%lld", (long long)dync__load_i64(p, dtype));
}

/* got and expected have one dtype and shape; their memory is at got_data and expected_data. */
static dync_status dync__verify_elements(const dync__verify *v, const char *what,
                                         const dync__tensor *got, const char *got_data,
                                         const dync__tensor *expected, const char *expected_data)
{
    double tolerance = dync__verify_tolerance(got->dtype);
    size_t bytes = dync__dtype_info(got->dtype)->bytes;
    int64_t index[DYNC_MAX_DIMS] = {0}, first[DYNC_MAX_DIMS] = {0}, wrong = 0;
    const char *a = NULL, *b = NULL;
    for (int64_t i = 0; i < got->numel; i++) {
        int64_t x = 0, y = 0;
        for (int d = 0; d < got->lay.ndim; d++) {
            x += index[d] * got->lay.stride[d];
            y += index[d] * expected->lay.stride[d];
        }
        const char *p = got_data + x * (int64_t)bytes, *q = expected_data + y * (int64_t)bytes;
        if (!dync__verify_near(p, q, got->dtype, tolerance) && wrong++ == 0) {
            a = p, b = q;
            memcpy(first, index, sizeof first);
        }
        for (int d = got->lay.ndim - 1; d >= 0 && ++index[d] == got->lay.shape[d]; d--)
            index[d] = 0;
    }
    if (!wrong) return DYNC_OK;
    dync__str s = {0};
    dync__str_add(&s, " differs at ");
    dync__shape_text(&s, got->lay.ndim, first);
    dync__str_add(&s, ": ");
    dync__verify_number(&s, a, got->dtype);
    dync__str_add(&s, ", expected ");
    dync__verify_number(&s, b, got->dtype);
    dync__str_addf(&s, " (%s, tolerance %g; %lld of %lld elements differ)",
                   dync__dtype_info(got->dtype)->fx, dync__float_shown(tolerance), (long long)wrong,
                   (long long)got->numel);
    dync_status status = dync__verify_differs(v, what, dync__str_get(&s));
    dync__str_free(&s);
    return status;
}

/* Form, then elements. A tensor whose data the host cannot read is passed over. */
static dync_status dync__verify_tensor(const dync__verify *v, const char *what,
                                       const dync__tensor *got, const dync__tensor *expected)
{
    if (!dync__verify_readable(got) || !dync__verify_readable(expected)) return DYNC_OK;
    bool same = got->dtype == expected->dtype && got->lay.ndim == expected->lay.ndim;
    for (int d = 0; same && d < got->lay.ndim; d++)
        same = got->lay.shape[d] == expected->lay.shape[d];
    if (same)
        return dync__verify_elements(v, what, got, dync__tensor_data(got), expected,
                                     dync__tensor_data(expected));
    dync__str s = {0};
    dync__str_add(&s, " is ");
    dync__tensor_brief(&s, got);
    dync__str_add(&s, ", expected ");
    dync__tensor_brief(&s, expected);
    dync_status status = dync__verify_differs(v, what, dync__str_get(&s));
    dync__str_free(&s);
    return status;
}

/* Values that are no tensors and no lists: kinds, then numbers and texts; floats nearly, as
 * tensors of their dtype. */
static dync_status dync__verify_scalar(const dync__verify *v, const char *what, dync_value got,
                                       dync_value expected)
{
    bool same = got.kind == expected.kind;
    switch (expected.kind) {
    case DYNC_KIND_INT: same = same && got.as.i == expected.as.i; break;
    case DYNC_KIND_BOOL: same = same && got.as.b == expected.as.b; break;
    case DYNC_KIND_FLOAT:
        same = same && dync__verify_near(&got.as.f, &expected.as.f, DYNC__REAL,
                                         dync__verify_tolerance(DYNC__REAL));
        break;
    case DYNC_KIND_STR:
        same = same && got.as.s && expected.as.s && strcmp(got.as.s, expected.as.s) == 0;
        break;
    default: break;
    }
    return same ? DYNC_OK : dync__verify_differs(v, what, " is another value");
}

/* A value that narrowing dropped is NONE in got: nobody wants it. */
static dync_status dync__verify_value(const dync__verify *v, dync__str *path, dync_value got,
                                      dync_value expected, bool narrowed)
{
    if (narrowed && got.kind == DYNC_KIND_NONE) return DYNC_OK;
    if (got.kind == DYNC_KIND_TENSOR && expected.kind == DYNC_KIND_TENSOR) {
        const dync__tensor *a = dync__peek(got.as.t), *b = dync__peek(expected.as.t);
        return a && b ? dync__verify_tensor(v, dync__str_get(path), a, b) : DYNC_OK;
    }
    if (got.kind != DYNC_KIND_LIST || expected.kind != DYNC_KIND_LIST)
        return dync__verify_scalar(v, dync__str_get(path), got, expected);
    const dync__list *left = dync__value_list(got), *right = dync__value_list(expected);
    if (!left || !right || left->n != right->n)
        return dync__verify_differs(v, dync__str_get(path), " is a list of another length");
    size_t n = path->n;
    for (int i = 0; i < left->n; i++) {
        dync_value a = left->items[i], b = right->items[i];
        dync__str_addf(path, "[%d]", i);
        DYNC__TRY(dync__verify_value(v, path, a, b, narrowed));
        if (!path->failed) path->at[path->n = n] = 0;
    }
    return DYNC_OK;
}

static dync_status dync__verify_grad(const dync__verify *v, const char *source,
                                     const dync__tensor *got, const dync__tensor *expected)
{
    dync__str what = {0};
    dync__str_addf(&what, "%s.grad", source ? source : "an input");
    dync_status status = DYNC_OK;
    if (got && expected)
        status = dync__verify_tensor(v, dync__str_get(&what), got, expected);
    else if (got || expected)
        status =
            dync__verify_differs(v, dync__str_get(&what),
                                 got ? " was set, expected none" : " is none, expected a tensor");
    dync__str_free(&what);
    return status;
}

/* Gradients that arguments and leaves got, and numbers in cells. A leaf whose gradient the
 * reference run replaced (after) must have got one of the same values in the real run; where it
 * replaced none, the real run must not have put another one there. */
static dync_status dync__verify_effects(const dync__verify *v)
{
    for (int i = 0; i < v->n; i++)
        DYNC__TRY(dync__verify_grad(v, v->source[i], dync__tensor_grad(v->real[i]),
                                    dync__tensor_grad(v->copy[i])));
    for (int i = 0; i < v->leaf.n; i++) {
        const dync__verify_leaf *l = &v->leaf.at[i];
        const dync__tensor *now = dync__tensor_grad(l->of);
        if (l->after != l->before) DYNC__TRY(dync__verify_grad(v, l->source, now, l->after));
        /* the same tensor is compared as a global is */
        else if (now != l->before)
            DYNC__TRY(dync__verify_grad(v, l->source, now, NULL));
    }
    dync__str path = {0};
    dync_status status = DYNC_OK;
    for (int i = 0; i < v->cell.n && status == DYNC_OK; i++) {
        const dync__cell *cell = dync__cell_peek(v->cell.at[i].cell);
        if (!cell) continue;
        dync__str_addf(&path, "the cell %s", cell->name);
        status = dync__verify_scalar(v, dync__str_get(&path), cell->value, v->cell.at[i].after);
        dync__str_free(&path);
    }
    return status;
}

/* Arguments against the copies that the reference run was given, globals against what it left
 * there. */
static dync_status dync__verify_writes(const dync__verify *v)
{
    dync_status status = DYNC_OK;
    for (int i = 0; i < v->n && status == DYNC_OK; i++)
        status = dync__verify_tensor(v, v->source[i] ? v->source[i] : "an input", v->real[i],
                                     v->copy[i]);
    for (int i = 0; i < v->global.n && status == DYNC_OK; i++) {
        const dync__verify_global *g = &v->global.at[i];
        size_t offset = (size_t)g->t->lay.offset * dync__dtype_info(g->t->dtype)->bytes;
        status = dync__verify_elements(v, g->source, g->t, dync__tensor_data(g->t), g->t,
                                       g->after + offset);
    }
    return status;
}

/* Both ways have run; the result stays in the caller's scope. */
DYNC__FN dync_status dync__verify_compare(dync__verify *v, dync_value *got, bool narrowed)
{
    dync__str path = {0};
    dync_status status = DYNC_OK;
    if (v->error.status == DYNC_ERR_MEMORY) {
        dync__error_raise(&v->error);
        status = DYNC_ERR_MEMORY;
    } else if (v->error.status != DYNC_OK) {
        status = dync__verify_differs(v, "it runs, eager fails: ", v->error.message);
    } else {
        dync__str_add(&path, "the result");
        status = dync__verify_value(v, &path, *got, v->expected, narrowed);
    }
    dync__str_free(&path);
    if (status == DYNC_OK) status = dync__verify_writes(v);
    return status == DYNC_OK ? dync__verify_effects(v) : status;
}
