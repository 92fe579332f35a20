/* op/public.c: public functions that are no rows of the table: makers with options, reads,
 * splitting. After einsum.c.
 *
 * Makers call private rows, so tracers see them. Reads are offered to dync__read_intercept first
 * when a function is being traced or the tensor is fake; what it leaves runs on real data, and a
 * fake tensor without data is DYNC_ERR_DATA_PTR. */
#include "../dync.in.h"
#include "rows.h"
DYNC__COLD

/* ---- the operator named in messages ---------------------------------------------------------- */

/* What dync__tls named before the call, to be put back: public functions may call each other. */
typedef struct dync__public_frame {
    const char *op;
    dync_loc at;
} dync__public_frame;

/* Names the operator and the user's line for messages; dync__public_end puts back what was
 * there. */
static dync__public_frame dync__public_begin(const char *op, dync_loc at)
{
    dync__public_frame f = {dync__tls.op, dync__tls.at};
    dync__tls.op = op;
    dync__tls.at = at;
    return f;
}

static void dync__public_end(const dync__public_frame *f)
{
    dync__tls.op = f->op;
    dync__tls.at = f->at;
}

/* A macro fills at_ with the user's file and line; a plain call of the function leaves it zero, and
 * the thread's place stands. */
static dync_loc dync__public_at(const dync_loc *given)
{
    return given->file ? *given : dync__tls.at;
}

/* ---- makers ---------------------------------------------------------------------------------- */

/* Makes h a leaf: dync_requires_grad__at. NULL: none is asked for, and a small program that never
 * asks links no tape. */
typedef dync_tensor *(*dync__leaf_maker)(dync_tensor *h, bool on, dync_loc at);

/* What all makers do last: the name, and the leaf flag (autograd/ checks the dtype). Passes h on;
 * NULL where it is NULL, the name has no memory or the dtype cannot have gradients. The name is
 * interned: it lives until shutdown, and a marker says that the user gave it. */
static dync_tensor *dync__public_finish(dync_tensor *h, bool requires_grad, const char *name,
                                        dync_loc at, dync__leaf_maker leaf)
{
    dync__tensor *t = h ? dync__peek(h) : NULL;
    if (!t) return NULL;
    if (name) {
        if (!(t->name = dync__intern(name))) return NULL;
        t->flags |= DYNC__T_NAMED;
    }
    return requires_grad && leaf ? leaf(h, true, at) : h;
}

/* Makers of the options form that take sizes, dtype and device alone; op is the row's number. */
static dync_tensor *dync__public_make(int op, const dync_make *o, dync__leaf_maker leaf)
{
    dync__arg args[3] = {dync__arg_dims(o->shape.n, o->shape.d), dync__arg_dtype((int)o->dtype),
                         dync__arg_device((int)o->device)};
    dync_loc at = dync__public_at(&o->at_);
    return dync__public_finish((dync__op_call)(op, 3, args, at), o->requires_grad, o->name, at,
                               leaf);
}

#define DYNC__X(name)                                                                            \
    DYNC_API dync_tensor *dync_##name##_opt(dync_make options)                                   \
    {                                                                                            \
        return dync__public_make(DYNC__USED(DYNC__OP_##name), &options, dync_requires_grad__at); \
    }
DYNC__MAKERS_OF_SHAPE(DYNC__X)
#undef DYNC__X
#if defined(DYNC_SMALL)
#define DYNC__X(name)                                                          \
    DYNC_API dync_tensor *dync__plain_##name(dync_make options)                \
    {                                                                          \
        return dync__public_make(DYNC__USED(DYNC__OP_##name), &options, NULL); \
    }
DYNC__MAKERS_OF_SHAPE(DYNC__X)
#undef DYNC__X
#endif

static dync_tensor *dync__public_full(dync_value value, const dync_make *o, dync__leaf_maker leaf)
{
    dync__arg args[4] = {dync__arg_dims(o->shape.n, o->shape.d), dync__arg_value(value),
                         dync__arg_dtype((int)o->dtype), dync__arg_device((int)o->device)};
    dync_loc at = dync__public_at(&o->at_);
    return dync__public_finish(dync__op_call(DYNC__OP_full, 4, args, at), o->requires_grad, o->name,
                               at, leaf);
}
DYNC_API dync_tensor *dync_full_opt(dync_value value, dync_make options)
{
    return dync__public_full(value, &options, dync_requires_grad__at);
}

/* The form without options: default dtype, CPU. */
DYNC_API dync_tensor *(dync_arange)(double start, double end, double step)
{
    dync__arg args[5] = {dync__arg_f(start), dync__arg_f(end), dync__arg_f(step),
                         dync__arg_dtype(dync__tls.default_dtype), dync__arg_device(DYNC_CPU)};
    return dync__op_call(DYNC__OP_arange, 5, args, dync__tls.at);
}

/* Capture's interceptor while a function is traced, else that of the tracer at the bottom, else
 * NULL. */
DYNC__RARE static const dync__read_intercept *dync__public_reads(void)
{
    const dync__read_intercept *(*get)(void) = DYNC__ATOMIC_PEEK(&dync__read_intercept_get);
    const dync__read_intercept *reads = get ? get() : NULL;
    return reads ? reads : dync__bottom_reads();
}

/* With nobody tracing it is true and does nothing. */
DYNC__FN bool dync__opaque_begin(const char *reason, int n, dync_value *values, dync__opaque *out)
{
    const dync__read_intercept *reads = dync__public_reads();
    out->end = NULL;
    return !reads || !reads->opaque || reads->opaque(reason, n, values, out);
}

/* A tensor over data in memory, copied or borrowed. o->size_: bytes of the array that a macro saw
 * with sizeof, 0 where it is unknown; more than needed is fine. Borrowed memory stays the user's
 * and must outlive the tensor; it is of the CPU. NULL and an error on failure. */
DYNC__RARE static dync__tensor *dync__public_from(const dync_make_from *o, bool borrow)
{
    dync__layout lay;
    dync__storage *storage;
    if (!dync__dtype_valid((int)o->dtype))
        return dync__fail(DYNC_ERR_DTYPE, "unknown dtype %d", (int)o->dtype), NULL;
    if (dync__device_known((int)o->device) != DYNC_OK) return NULL;
    if (dync__layout_contiguous(&lay, o->shape.n, o->shape.d) != DYNC_OK) return NULL;
    if (!dync__device_is((int)o->device, DYNC__DEV_DATA))
        return dync__tensor_empty((int)o->dtype, (int)o->device, &lay);
    size_t bytes = (size_t)dync__lower_count(&lay) * dync__dtype_info((int)o->dtype)->bytes;
    if (!o->data && bytes)
        return dync__fail(DYNC_ERR_VALUE, "data: expected %zu bytes, got NULL", bytes), NULL;
    if (o->size_ && o->size_ < bytes)
        return dync__fail(
                   DYNC_ERR_VALUE,
                   "data: expected %zu bytes, %lld elements of %s, got an array of %zu bytes",
                   bytes, (long long)dync__lower_count(&lay), dync__dtype_info((int)o->dtype)->name,
                   o->size_),
               NULL;
    if (!dync__device_is((int)o->device, DYNC__DEV_HOST) && borrow)
        return dync__fail(DYNC_ERR_DEVICE,
                          "expected memory of the CPU to borrow: copy it with dync_from"),
               NULL;
    if (borrow) {
        union {
            const void *in;
            void *out;
        } data = {o->data};
        storage = dync__storage_borrow(DYNC_CPU, data.out, bytes);
    } else {
        storage = dync__storage_new((int)o->device, bytes);
        if (storage &&
            dync__device_copy((int)o->device, storage->data, DYNC_CPU, o->data, bytes) != DYNC_OK) {
            dync__storage_unref(storage);
            storage = NULL;
        }
    }
    return storage ? dync__tensor_new(storage, (int)o->dtype, &lay) : NULL;
}

/* The three makers over memory, for messages under their own names. */
DYNC__RARE static dync_tensor *dync__public_from_named(const char *op, const dync_make_from *o,
                                                       bool borrow, dync__leaf_maker leaf)
{
    dync__public_frame f = dync__public_begin(op, dync__public_at(&o->at_));
    dync_tensor *h = dync__public_finish(dync__give(dync__public_from(o, borrow)), o->requires_grad,
                                         o->name, dync__tls.at, leaf);
    dync__public_end(&f);
    return h;
}

/* A tracer may take the data as an opaque break; where it declines, the tensor is made plainly. */
DYNC__RARE static dync_tensor *dync__public_taken(const char *op, const dync_make_from *o,
                                                  bool borrow, dync__leaf_maker leaf)
{
    dync_tensor *h;
    const dync__read_intercept *reads = dync__public_reads();
    if (reads && reads->from && reads->from(o, borrow, &h)) return h;
    return dync__public_from_named(op, o, borrow, leaf);
}
DYNC_API dync_tensor *dync_from_opt(dync_make_from options)
{
    return dync__public_taken("from", &options, false, dync_requires_grad__at);
}
DYNC_API dync_tensor *dync_wrap_opt(dync_make_from options)
{
    return dync__public_taken("wrap", &options, true, dync_requires_grad__at);
}
#if defined(DYNC_SMALL)
DYNC_API dync_tensor *dync__plain_full(dync_value value, dync_make options)
{
    return dync__public_full(value, &options, NULL);
}
DYNC_API dync_tensor *dync__plain_from(dync_make_from options)
{
    return dync__public_taken("from", &options, false, NULL);
}
DYNC_API dync_tensor *dync__plain_wrap(dync_make_from options)
{
    return dync__public_taken("wrap", &options, true, NULL);
}
#endif

/* A constant of the graph, where a tracer takes it as one. */
DYNC__RARE DYNC_API dync_tensor *dync_constant_opt(dync_make_from options)
{
    dync_tensor *h;
    const dync__read_intercept *reads = dync__public_reads();
    if (reads && reads->constant && reads->constant(&options, &h)) return h;
    return dync__public_from_named("constant", &options, false, dync_requires_grad__at);
}

/* Turns a leaf into a parameter in place: the same handle comes back. */
DYNC_API dync_tensor *(dync_parameter)(dync_tensor * h)
{
    dync__public_frame f = dync__public_begin("parameter", dync__tls.at);
    dync__tensor *t = dync__open(h);
    dync_tensor *result = NULL;
    if (t && !dync_is_leaf(h))
        dync__fail(DYNC_ERR_AUTOGRAD, "expected a tensor without gradient history: detach it "
                                      "first");
    else if (t && dync__infer_floating(t) == DYNC_OK &&
             (result = dync_requires_grad_(h, true)) != NULL)
        t->flags |= DYNC__T_PARAMETER;
    dync__public_end(&f);
    return result;
}

/* A handle of its own on the same storage, without history. */
DYNC__RARE DYNC_API dync_tensor *dync_shallow_copy(dync_tensor *t)
{
    dync__arg arg = dync__arg_h(t);
    return dync__op_call(DYNC__OP_detach, 1, &arg, dync__tls.at);
}

DYNC_API dync_tensor *(dync_set_)(dync_tensor * self, dync_tensor *other)
{
    dync__arg args[2] = {dync__arg_h(self), dync__arg_h(other)};
    return dync__op_call(DYNC__OP_set_, 2, args, dync__tls.at);
}

/* Where nothing changes the tensor itself comes back, without an operator: so do tracers see
 * nothing. */
DYNC_API dync_tensor *(dync_to_dtype)(dync_tensor * h, dync_dtype dtype)
{
    const dync__tensor *t = h ? dync__peek(h) : NULL;
    dync__arg args[2] = {dync__arg_h(h), dync__arg_dtype((int)dtype)};
    return t && t->dtype == dtype ? h : dync__op_call(DYNC__OP_to_dtype, 2, args, dync__tls.at);
}

DYNC_API dync_tensor *(dync_to_device)(dync_tensor * h, dync_device device)
{
    const dync__tensor *t = h ? dync__peek(h) : NULL;
    dync__arg args[2] = {dync__arg_h(h), dync__arg_device((int)device)};
    return t && t->device == device ? h : dync__op_call(DYNC__OP_to_device, 2, args, dync__tls.at);
}

DYNC__RARE DYNC_API void dync_manual_seed(uint64_t seed)
{
    dync__arg arg = dync__arg_i((int64_t)seed);
    dync__op_call(DYNC__OP_manual_seed, 1, &arg, dync__tls.at);
}

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
    if (dync__tls.quiet)
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
        dync__fail_no_data();
        return NULL;
    }
    if (dync__device_is(t->device, DYNC__DEV_HOST)) return t;
    if (owned) return *owned = dync__contiguous_copy(t);
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
DYNC_API double(dync_item)(dync_tensor *h)
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
    bool result = false;
    const dync__read_intercept *reads = dync__public_offer(h);
    if (reads && reads->truth && reads->truth(h, &result)) return result;
    dync__public_frame f = dync__public_begin("bool", dync__tls.at);
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

DYNC__RARE DYNC_API char *(dync_str)(dync_tensor * h)
{
    char *result = NULL;
    dync__str s = {0};
    const dync__read_intercept *reads = dync__public_offer(h);
    if (reads && reads->str && reads->str(h, &result)) return result;
    if (dync__public_text("str", h, &s) && (result = dync__scope_alloc(s.n + 1)) != NULL)
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
    const dync__read_intercept *reads = dync__public_offer(h);
    if (reads && reads->print && reads->print(h)) return;
    if (dync__public_text("print", h, &s)) {
        dync__str_addc(&s, '\n');
        dync__out(dync__str_get(&s));
    }
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

DYNC_API bool(dync_equal)(dync_tensor *ha, dync_tensor *hb)
{
    bool result = false;
    const dync__read_intercept *reads = dync__public_offer(ha);
    if (!reads) reads = dync__public_offer(hb);
    if (reads && reads->equal && reads->equal(ha, hb, &result)) return result;
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
        return dync__fail(DYNC_ERR_VALUE, "expected rtol and atol >= 0, got %g and %g", rtol, atol),
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

DYNC_API bool(dync_allclose)(dync_tensor *ha, dync_tensor *hb, double rtol, double atol)
{
    bool result = false;
    const dync__read_intercept *reads = dync__public_offer(ha);
    if (!reads) reads = dync__public_offer(hb);
    if (reads && reads->allclose && reads->allclose(ha, hb, rtol, atol, &result)) return result;
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

/* ---- splitting: lists of views --------------------------------------------------------------- */

/* n pieces of one size, or of sizes; the last one of a symbolic dim goes up to its end, total.
 * select: places instead of slices. sizes, or NULL and then `size` for all. Each piece is an
 * operator call of its own, a view. NONE on failure; pieces made before it belong to the scope. */
static dync_value dync__public_pieces(dync_tensor *h, int dim, int n, int64_t size,
                                      const int64_t *sizes, bool select, int64_t total)
{
    dync_value none = {DYNC_KIND_NONE, 0, {0}}, list = dync__list_new(n);
    int64_t start = 0;
    if (list.kind != DYNC_KIND_LIST) return none;
    for (int i = 0; i < n; i++) {
        int64_t length = sizes ? sizes[i] : size;
        int64_t end = i == n - 1 && dync__is_token(total) ? total : dync__sz_add(start, length);
        dync__arg args[5] = {dync__arg_h(h), dync__arg_i(dim), dync__arg_i(start), dync__arg_i(end),
                             dync__arg_i(1)};
        dync_value item = {DYNC_KIND_TENSOR, 0, {0}};
        item.as.t =
            (dync__op_call)(select ? DYNC__USED(DYNC__OP_select) : DYNC__USED(DYNC__OP_slice),
                            select ? 3 : 5, args, dync__tls.at);
        if (!item.as.t) return none;
        dync__list_set(list, i, item);
        start = end;
    }
    return list;
}

/* Opens h for splitting along *dim, which is wrapped; the size of that dim, or -1 on failure. any:
 * a symbolic one stays. DYNC_ERR_SHAPE for 0-dim tensors and for more places than an int counts. */
static int64_t dync__public_splittable(dync_tensor *h, int *dim, bool any)
{
    const dync__tensor *t = dync__open(h);
    if (!t) return -1;
    if (t->lay.ndim == 0)
        return dync__fail(DYNC_ERR_SHAPE, "expects at least a 1-dimensional tensor"), -1;
    if (dync__dim_wrap(*dim, t->lay.ndim, dim) != DYNC_OK) return -1;
    /* how many pieces there are depends on it */
    int64_t size = any ? t->lay.shape[*dim] : dync__sz_number(t->lay.shape[*dim]);
    if (dync__sz_hint(size) > INT_MAX)
        return dync__fail(DYNC_ERR_SHAPE, "too many pieces: %lld", (long long)size), -1;
    return size;
}

/* How many pieces of size make up total: a guard where that is symbolic. The two comparisons are
 * asked for their guards alone: (n - 1) size < total <= n size is what makes the answer hold for
 * other sizes too. */
static int dync__public_count(int64_t total, int64_t size)
{
    int64_t n = (dync__sz_hint(total) - 1) / dync__sz_hint(size) + 1;
    if (dync__any_token(total, size))
        (void)(dync__sz_lt(dync__sz_mul(n - 1, size), total) &&
               dync__sz_lt(dync__sz_mul(n, size), total));
    return (int)n;
}

/* A dim of size 0 is one empty piece. */
DYNC_API dync_value(dync_split)(dync_tensor *t, int64_t size, int dim)
{
    dync__public_frame f = dync__public_begin("split", dync__tls.at);
    dync_value list = {DYNC_KIND_NONE, 0, {0}};
    int64_t total = dync__public_splittable(t, &dim, true);
    if (total >= 0 && (size < 0 || (size == 0 && total)))
        dync__fail(DYNC_ERR_VALUE, "expects split_size be positive, but got %lld", (long long)size);
    else if (total >= 0)
        list = dync__public_pieces(t, dim, total ? dync__public_count(total, size) : 1, size, NULL,
                                   false, total);
    dync__public_end(&f);
    return list;
}

DYNC_API dync_value(dync_split_sizes)(dync_tensor *t, dync_dims sizes, int dim)
{
    dync__public_frame f = dync__public_begin("split_sizes", dync__tls.at);
    dync_value list = {DYNC_KIND_NONE, 0, {0}};
    int64_t total = dync__public_splittable(t, &dim, false), sum = 0;
    bool ok = total >= 0 && sizes.n >= 0 && sizes.n <= DYNC_MAX_DIMS;
    for (int i = 0; ok && i < sizes.n; i++)
        ok = sizes.d[i] >= 0 && dync__add_ok(sum, sizes.d[i], &sum);
    if (total >= 0 && (!ok || sum != total))
        dync__fail(DYNC_ERR_VALUE,
                   "expects sizes >= 0 that sum exactly to %lld (input tensor's size at "
                   "dimension %d)",
                   (long long)total, dim);
    else if (ok)
        list = dync__public_pieces(t, dim, sizes.n, 0, sizes.d, false, total);
    dync__public_end(&f);
    return list;
}

/* Pieces of ceil(total / chunks), so there may be fewer than asked for, as in PyTorch; of an empty
 * dim as many empty ones as asked for. */
DYNC_API dync_value(dync_chunk)(dync_tensor *t, int chunks, int dim)
{
    dync__public_frame f = dync__public_begin("chunk", dync__tls.at);
    dync_value list = {DYNC_KIND_NONE, 0, {0}};
    int64_t total = dync__public_splittable(t, &dim, true);
    if (total >= 0 && chunks < 1)
        dync__fail(DYNC_ERR_VALUE, "expects `chunks` to be greater than 0, got: %d", chunks);
    else if (total >= 0) {
        int64_t size = dync__sz_size(dync__sz_div(dync__sz_add(total, chunks - 1), chunks));
        list = dync__public_pieces(t, dim, size ? dync__public_count(total, size) : chunks, size,
                                   NULL, false, total);
    }
    dync__public_end(&f);
    return list;
}

DYNC_API dync_value(dync_unbind)(dync_tensor *t, int dim)
{
    dync__public_frame f = dync__public_begin("unbind", dync__tls.at);
    dync_value list = {DYNC_KIND_NONE, 0, {0}};
    int64_t total = dync__public_splittable(t, &dim, false);
    if (total >= 0) list = dync__public_pieces(t, dim, (int)total, 1, NULL, true, total);
    dync__public_end(&f);
    return list;
}
