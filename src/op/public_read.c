/* op/public_read.c: data of tensors read by C code, as numbers, text or whole, and comparisons of
 * whole tensors. After public.c. */
#include "../dync.in.h"
#include "rows.h"
DYNC__COLD

/* ---- reads ----------------------------------------------------------------------------------- */

/* The interceptor, where this read is to be offered to it. */
static const dync__read_intercept *dync__public_offer(const dync_tensor *a)
{
    const dync__tensor *t = a ? dync__peek(a) : NULL;
    return dync__tls.compiling || dync__tls.recording || (t && (t->flags & DYNC__T_FAKE))
               ? dync__public_reads()
               : NULL;
}

/* A trace holds back its errors, and whoever follows the NULL says nothing any more: so it is told
 * at once. */
DYNC__RARE DYNC__FN dync_status dync__fail_no_data(void)
{
    const dync_loc *at = &dync__tls.at;
    if (dync__tls.quiet && (dync__tls.compiling || dync__tls.recording))
        dync__warn(
            "dync_data gives NULL at %s:%d: tensors of a graph that is being made hold no elements",
            at->file ? at->file : "?", at->line);
    return dync__fail(DYNC_ERR_DATA_PTR,
                      "Cannot access data pointer of Tensor (e.g. FakeTensor, FunctionalTensor). "
                      "If you're using torch.compile/export/fx, it is "
                      "likely that we are erroneously tracing into a custom kernel. To fix this, "
                      "please wrap the custom kernel into an opaque "
                      "custom op.\ndync_data gives NULL here: while a graph is made its tensors "
                      "hold no elements. Compute with operators, or make what "
                      "reads elements an operator by dync_op_register with a meta function");
}

/* Opens a tensor whose data are to be read: one of another device as a copy in *owned, where that
 * is asked for. *owned, where the pointer is given, is the caller's to release; NULL where no copy
 * was needed. */
static dync__tensor *dync__public_readable(const dync_tensor *h, dync__tensor **owned)
{
    dync__tensor *t = dync__open(h);
    if (!t) return NULL;
    if ((t->flags & DYNC__T_FAKE) || !dync__device_is(t->device, DYNC__DEV_DATA)) {
        bool open = dync__tls.compiling || dync__tls.recording;
        (void)(!open && t->trace_id ? dync__fail_kept(t) : dync__fail_no_data());
        return NULL;
    }
    if (dync__device_is(t->device, DYNC__DEV_HOST)) return t;
    const dync__driver *driver = dync__device_driver(t->device);
    if (owned && driver && driver->read) return *owned = driver->read(t);
    dync__fail(DYNC_ERR_DEVICE, "expected a tensor in main memory: copy it with dync_to_device "
                                "first");
    return NULL;
}

/* The pointer is to the first element of the view, borrowed, and NULL for a tensor without
 * elements. The storage is marked: from now on the program may write behind the library's back. */
DYNC_API void *(dync_data)(dync_tensor * h)
{
    void *p = NULL;
    const dync__read_intercept *reads = dync__public_offer(h);
    if (reads && reads->data && reads->data(h, &p)) return p;
    dync__public_frame f = dync__public_begin("data", dync__tls.at);
    dync__tensor *t = dync__public_readable(h, NULL);
    p = t && t->numel ? dync__tensor_data(t) : NULL;
    if (p) t->storage->flags |= DYNC__STORAGE_EXPOSED;
    dync__public_end(&f);
    return p;
}

/* dync_item_at and dync_bool_at (capture/) have set the place. */
DYNC_API dync_real(dync_item)(dync_tensor *h)
{
    double x = (double)NAN;
    const dync__read_intercept *reads = dync__public_offer(h);
    if (reads && reads->item && reads->item(h, &x)) return x;
    dync__public_frame f = dync__public_begin("item", dync__tls.at);
    dync__tensor *owned = NULL, *t = dync__public_readable(h, &owned);
    if (t && t->numel == 1)
        x = dync__load_f64(dync__tensor_data(t), t->dtype);
    else if (t)
        dync__fail(DYNC_ERR_VALUE,
                   "a Tensor with %lld elements cannot be converted to Scalar: "
                   "select one, or read them through dync_data",
                   (long long)t->numel);
    dync__unref(owned);
    dync__public_end(&f);
    return x;
}

DYNC_API bool(dync_bool)(dync_tensor *h)
{
    static const char own[] = "bool";
    bool result = false;
    const dync__read_intercept *reads = dync__public_offer(h);
    if (reads && reads->truth && reads->truth(h, &result)) return result;
    dync__public_frame f = dync__public_begin(own, dync__tls.at);
    dync__tensor *owned = NULL, *t = dync__public_readable(h, &owned);
    if (t && t->numel == 1) {
        double x = dync__load_f64(dync__tensor_data(t), t->dtype);
        result = x < 0 || x > 0 || x != x;
    } else if (t) {
        dync__fail(DYNC_ERR_VALUE, "Boolean value of Tensor with %s is ambiguous",
                   t->numel ? "more than one value" : "no values");
    }
    dync__unref(owned);
    dync__public_end(&f);
    return result;
}

/* The text of t in s; false where it cannot be read. */
DYNC__RARE static bool dync__public_text(const char *op, const dync_tensor *h, dync__str *s)
{
    dync__public_frame f = dync__public_begin(op, dync__tls.at);
    const dync__tensor *t = dync__open(h);
    /* one of META shows its form */
    if (t && (t->flags & DYNC__T_FAKE)) t = dync__public_readable(h, NULL);
    if (t) dync__tensor_show(s, t);
    dync__public_end(&f);
    return t && !s->failed;
}

DYNC__MEETING(shows)
/* In traced code it is the text of the real tensor. */
DYNC__RARE static bool dync__public_shown(const char *op, bool print, dync_tensor *h, dync__str *s)
{
    dync__opaque real = {NULL, NULL};
    DYNC__MEET(shows);
    const dync__read_intercept *reads = dync__public_offer(h);
    if (reads && reads->shows && !reads->shows(print, &h, &real)) return false;
    bool shown = dync__public_text(op, h, s);
    if (shown && print) {
        dync__str_addc(s, '\n');
        dync__out(dync__str_get(s));
    }
    dync__opaque_end(&real);
    return shown;
}

DYNC__RARE DYNC_API char *(dync_str)(dync_tensor * h)
{
    char *result = NULL;
    dync__str s = {0};
    if (dync__public_shown("str", false, h, &s) && (result = dync__scope_alloc(s.n + 1)) != NULL)
        memcpy(result, dync__str_get(&s), s.n);
    dync__str_free(&s);
    return result;
}

DYNC__RARE DYNC_API char *dync_profile_table(void)
{
    dync__str s = {0};
    char *result = dync__profile_table(&s) == DYNC_OK ? dync__scope_alloc(s.n + 1) : NULL;
    if (result) memcpy(result, dync__str_get(&s), s.n);
    dync__str_free(&s);
    return result;
}

DYNC_API void(dync_print)(dync_tensor *h)
{
    dync__str s = {0};
    dync__public_shown("print", true, h, &s);
    dync__str_free(&s);
}

/* ---- comparisons of whole tensors ------------------------------------------------------------ */

/* Two dtypes may differ: integers compare exactly as int64, anything with a float as double. NaN is
 * equal to nothing. */
DYNC__RARE static bool dync__public_same_element(const void *a, int a_dtype, const void *b,
                                                 int b_dtype)
{
    if (dync__dtype_info(a_dtype)->kind != 'f' && dync__dtype_info(b_dtype)->kind != 'f')
        return dync__load_i64(a, a_dtype) == dync__load_i64(b, b_dtype);
    double x = dync__load_f64(a, a_dtype), y = dync__load_f64(b, b_dtype);
    return x >= y && x <= y;
}

/* x - y| <= atol + rtol |y|; equal infinities are close, other infinities and NaNs are not. */
DYNC__RARE static bool dync__public_is_close(const void *a, int a_dtype, const void *b, int b_dtype,
                                             double rtol, double atol)
{
    double x = dync__load_f64(a, a_dtype), y = dync__load_f64(b, b_dtype);
    if (x >= y && x <= y) return true;
    return fabs(y) <= DBL_MAX && fabs(x - y) <= atol + rtol * fabs(y);
}

/* Every pair of elements of two layouts of one shape; rtol < 0 asks for equality. la, lb: the
 * layouts to walk, which may be expanded forms of the tensors' own. at[] counts through the shape
 * like an odometer, the last dim fastest. */
DYNC__RARE static bool dync__public_all(const dync__tensor *a, const dync__layout *la,
                                        const dync__tensor *b, const dync__layout *lb, double rtol,
                                        double atol)
{
    const char *pa = a->storage->data, *pb = b->storage->data;
    int64_t width_a = dync__dtype_info(a->dtype)->bytes,
            width_b = dync__dtype_info(b->dtype)->bytes, n = dync__lower_count(la);
    int64_t at[DYNC_MAX_DIMS] = {0};
    for (int64_t i = 0; i < n; i++) {
        int64_t ia = la->offset, ib = lb->offset;
        for (int d = 0; d < la->ndim; d++) {
            ia += at[d] * la->stride[d];
            ib += at[d] * lb->stride[d];
        }
        bool same = rtol < 0 ? dync__public_same_element(pa + ia * width_a, a->dtype,
                                                         pb + ib * width_b, b->dtype)
                             : dync__public_is_close(pa + ia * width_a, a->dtype, pb + ib * width_b,
                                                     b->dtype, rtol, atol);
        if (!same) return false;
        for (int d = la->ndim - 1; d >= 0 && ++at[d] == la->shape[d]; d--) at[d] = 0;
    }
    return true;
}

static dync__comparing dync__public_compares(const char *op, const dync_tensor *a,
                                             const dync_tensor *b)
{
    const dync__read_intercept *reads = dync__public_offer(a);
    if (!reads) reads = dync__public_offer(b);
    return reads && reads->compares ? reads->compares(op, a, b) : DYNC__BY_DATA;
}

/* One truth of the graph, not a read of all elements; shapes that differ are unequal without one.
 */
DYNC__RARE static bool dync__traced_equal(const dync_tensor *a, const dync_tensor *b)
{
    dync__tensor *x = dync__open(a), *y = dync__open(b);
    if (!x || !y || x->lay.ndim != y->lay.ndim ||
        !dync__sz_same(x->lay.ndim, x->lay.shape, y->lay.shape))
        return false;
    return (dync_bool)(dync_all((dync_eq)(dync_v_const_tensor(a), dync_v_const_tensor(b)), DYNC_ALL,
                                false));
}

DYNC__RARE static bool dync__traced_allclose(const dync_tensor *a, const dync_tensor *b,
                                             double rtol, double atol)
{
    dync__tensor *x = dync__open(a), *y = dync__open(b);
    if (!x || !y) return false;
    dync_tensor *bound =
        (dync_add)(dync_v_tensor(
                       (dync_mul)(dync_v_tensor((dync_abs)(dync__handle(y))), dync_v_float(rtol))),
                   dync_v_float(atol));
    dync_tensor *gap = (dync_abs)((dync_sub)(dync_v_const_tensor(a), dync_v_const_tensor(b)));
    dync_tensor *close =
        (dync_logical_or)(dync_v_tensor((dync_le)(dync_v_tensor(gap), dync_v_tensor(bound))),
                          dync_v_tensor((dync_eq)(dync_v_const_tensor(a), dync_v_const_tensor(b))));
    return (dync_bool)(dync_all(close, DYNC_ALL, false));
}

DYNC_API bool(dync_equal)(dync_tensor *ha, dync_tensor *hb)
{
    bool result = false;
    dync__comparing how = dync__public_compares("equal", ha, hb);
    if (how != DYNC__BY_DATA) return how == DYNC__BY_OPERATORS && dync__traced_equal(ha, hb);
    dync__public_frame f = dync__public_begin("equal", dync__tls.at);
    dync__tensor *owned[2] = {NULL, NULL};
    dync__tensor *a = dync__public_readable(ha, &owned[0]),
                 *b = a ? dync__public_readable(hb, &owned[1]) : NULL;
    if (a && b && a->lay.ndim == b->lay.ndim &&
        memcmp(a->lay.shape, b->lay.shape, (size_t)a->lay.ndim * sizeof(int64_t)) == 0)
        result = dync__public_all(a, &a->lay, b, &b->lay, -1, 0);
    dync__unref(owned[0]);
    dync__unref(owned[1]);
    dync__public_end(&f);
    return result;
}

/* False and an error where tolerances are negative or dtypes differ; shapes broadcast. */
DYNC__RARE static bool dync__public_allclose(const dync__tensor *a, const dync__tensor *b,
                                             double rtol, double atol)
{
    dync__layout la, lb;
    int64_t shape[DYNC_MAX_DIMS];
    int n;
    if (!(rtol >= 0) || !(atol >= 0))
        return dync__fail(DYNC_ERR_VALUE, "expected rtol and atol >= 0, got %g and %g",
                          dync__float_shown(rtol), dync__float_shown(atol)),
               false;
    if (a->dtype != b->dtype)
        return dync__fail(DYNC_ERR_DTYPE, "%s did not match %s", dync__dtype_info(a->dtype)->guard,
                          dync__dtype_info(b->dtype)->guard),
               false;
    if (dync__broadcast(a->lay.ndim, a->lay.shape, b->lay.ndim, b->lay.shape, &n, shape) != DYNC_OK)
        return false;
    if (dync__layout_expand(&a->lay, n, shape, &la) != DYNC_OK ||
        dync__layout_expand(&b->lay, n, shape, &lb) != DYNC_OK)
        return false;
    return dync__public_all(a, &la, b, &lb, rtol, atol);
}

DYNC_API bool(dync_allclose)(dync_tensor *ha, dync_tensor *hb, dync_real rtol, dync_real atol)
{
    bool result = false;
    dync__comparing how = dync__public_compares("allclose", ha, hb);
    if (how != DYNC__BY_DATA)
        return how == DYNC__BY_OPERATORS && dync__traced_allclose(ha, hb, rtol, atol);
    dync__public_frame f = dync__public_begin("allclose", dync__tls.at);
    dync__tensor *owned[2] = {NULL, NULL};
    dync__tensor *a = dync__public_readable(ha, &owned[0]),
                 *b = a ? dync__public_readable(hb, &owned[1]) : NULL;
    if (a && b) result = dync__public_allclose(a, b, rtol, atol);
    dync__unref(owned[0]);
    dync__unref(owned[1]);
    dync__public_end(&f);
    return result;
}
