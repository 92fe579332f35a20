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

/* Names the operator and the user's line for messages; dync__public_end puts back what was
 * there. */
DYNC__FN dync__public_frame dync__public_begin(const char *op, dync_loc at)
{
    dync__public_frame f = {dync__tls.op, dync__tls.at};
    dync__tls.op = op;
    dync__tls.at = at;
    return f;
}

DYNC__FN void dync__public_end(const dync__public_frame *f)
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

#define DYNC__X(name, normal)                                                                    \
    DYNC_API dync_tensor *dync_##name##_opt(dync_make options)                                   \
    {                                                                                            \
        if (normal) dync__expand_wide_draws();                                                   \
        return dync__public_make(DYNC__USED(DYNC__OP_##name), &options, dync_requires_grad__at); \
    }
DYNC__MAKERS_OF_SHAPE(DYNC__X)
#undef DYNC__X
#if defined(DYNC_SMALL)
DYNC_API void dync__draws_wide(void) { dync__expand_wide_draws(); }
#define DYNC__X(name, normal)                                                  \
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
DYNC_API dync_tensor *(dync_arange)(dync_real start, dync_real end, dync_real step)
{
    dync__arg args[5] = {dync__arg_f(start), dync__arg_f(end), dync__arg_f(step),
                         dync__arg_dtype(dync__tls.default_dtype), dync__arg_device(DYNC_CPU)};
    return dync__op_call(DYNC__OP_arange, 5, args, dync__tls.at);
}

/* Capture's interceptor while a function is traced, else that of the tracer at the bottom, else
 * NULL. */
DYNC__RARE DYNC__FN const dync__read_intercept *dync__public_reads(void)
{
    (void)dync__waits_left();
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

/* The C type of the data, where the compiler saw it, is what dtype says: of its kind and size; bits
 * may be anything of their size. */
DYNC__RARE static dync_status dync__public_elements(int elements, int dtype)
{
    const dync__dtype_row *is = dync__dtype_info(dtype);
    static const char own[] = "floats";
    int kind = elements & ~15, bytes = elements & 15;
    bool floats = is->kind == 'f', fits = true;
    if (kind == DYNC__OF_FLOATS) fits = floats;
    if (kind == DYNC__OF_INTEGERS) fits = !floats || is->bytes == 2; /* bits of f16 and bf16 */
    if (kind == DYNC__OF_BOOLS) fits = is->bytes == 1;
    if (!kind || (fits && bytes == (int)is->bytes)) return DYNC_OK;
    return dync__fail(DYNC_ERR_DTYPE,
                      "data: expected elements of .dtype = %s, got an array of %s of %d bits",
                      is->name,
                      kind == DYNC__OF_FLOATS  ? own
                      : kind == DYNC__OF_BOOLS ? "bools"
                                               : "integers",
                      8 * bytes);
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
    if (dync__public_elements(o->elements_, (int)o->dtype) != DYNC_OK) return NULL;
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

DYNC__MEETING(makes)
/* A tracer may take the data as an opaque break; where it declines, the tensor is made plainly. */
DYNC__RARE static dync_tensor *dync__public_taken(const char *op, const dync_make_from *o,
                                                  bool borrow, dync__leaf_maker leaf,
                                                  dync_tensor *(*from)(dync_make_from))
{
    dync_tensor *h;
    DYNC__MEET(makes);
    const dync__read_intercept *reads = dync__public_reads();
    if (reads && reads->from && reads->from(o, borrow, from, &h)) return h;
    return dync__public_from_named(op, o, borrow, leaf);
}
DYNC_API dync_tensor *dync_from_opt(dync_make_from options)
{
    return dync__public_taken("from", &options, false, dync_requires_grad__at, dync_from_opt);
}
DYNC_API dync_tensor *dync_wrap_opt(dync_make_from options)
{
    return dync__public_taken("wrap", &options, true, dync_requires_grad__at, dync_wrap_opt);
}
#if defined(DYNC_SMALL)
DYNC_API dync_tensor *dync__plain_full(dync_value value, dync_make options)
{
    return dync__public_full(value, &options, NULL);
}
DYNC_API dync_tensor *dync__plain_from(dync_make_from options)
{
    return dync__public_taken("from", &options, false, NULL, dync__plain_from);
}
DYNC_API dync_tensor *dync__plain_wrap(dync_make_from options)
{
    return dync__public_taken("wrap", &options, true, NULL, dync__plain_wrap);
}
#endif

DYNC__MEETING(constants)
/* A constant of the graph, where a tracer takes it as one. */
DYNC__RARE DYNC_API dync_tensor *dync_constant_opt(dync_make_from options)
{
    dync_tensor *h;
    DYNC__MEET(constants);
    const dync__read_intercept *reads = dync__public_reads();
    if (reads && reads->constant && reads->constant(&options, dync_from_opt, &h)) return h;
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
             (result = DYNC__GRAD_NONE ? h : dync_requires_grad_(h, true)) != NULL)
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
