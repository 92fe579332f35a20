/* minify/run.c: a graph, or what a backend made of it, run once on copies of its inputs, forward
 * and, where a result requires grad, backward. After settings.c, before accuracy.c and judge.c.
 *
 * Source: torch/_dynamo/debug_utils.py, run_fwd_maybe_bwd; torch/_dynamo/testing.py,
 * collect_results, reduce_to_scalar_loss: the loss is the mean over the results of each one's
 * mean. */
#include "../dync.in.h"
#include "minify.h"
DYNC__COLD

/* ---- copies of inputs ------------------------------------------------------------------------ */

/* A new storage with old's bytes; as_f64: its elements, of the given floating dtype, as doubles, so
 * it may have another size. Only the CPU converts. NULL: no memory. */
static dync__storage *dync__run_copy_storage(const dync__storage *old, int dtype, bool as_f64)
{
    size_t item = dync__dtype_info(dtype)->bytes, count = old->size_bytes / item;
    dync__storage *s =
        dync__storage_new(old->device, as_f64 ? count * sizeof(double) : old->size_bytes);
    if (!s || !s->data) return s;
    if (!as_f64) {
        if (dync__device_copy(old->device, s->data, old->device, old->data, old->size_bytes) ==
            DYNC_OK)
            return s;
        dync__storage_unref(s);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        double x = dync__load_f64((const char *)old->data + i * item, dtype);
        memcpy((char *)s->data + i * sizeof x, &x, sizeof x);
    }
    return s;
}

static bool dync__run_is_float(const dync__tensor *t)
{
    return dync__dtype_info(t->dtype)->kind == 'f';
}

/* The storage of the copy of an earlier input that lies on the same memory, or NULL: inputs that
 * alias each other must do so in the copies too, or writes in place would not be seen. It is
 * borrowed. */
static dync__storage *dync__run_shared_copy(int i, const dync_value *in, const dync_value *out,
                                            const dync__tensor *t)
{
    for (int j = 0; j < i; j++) {
        const dync__tensor *other = in[j].kind == DYNC_KIND_TENSOR ? dync__peek(in[j].as.t) : NULL;
        if (other && other->storage == t->storage && other->dtype == t->dtype)
            return dync__peek(out[j].as.t)->storage;
    }
    return NULL;
}

/* A copy of input i that is a leaf. Memory that cannot be read directly is cloned by operators.
 * NULL: no memory. */
static dync_tensor *dync__run_copy_tensor(int i, const dync_value *in, const dync_value *out,
                                          bool as_f64)
{
    dync__tensor *t = dync__open(in[i].as.t), *copy = NULL;
    if (!t) return NULL;
    bool wide = as_f64 && dync__run_is_float(t);
    /* no memory that can be read here */
    if ((!t->storage->data && t->storage->size_bytes) ||
        (wide && !dync__device_is(t->device, DYNC__DEV_HOST))) {
        dync__error_guard guard;
        dync__error_guard_begin(&guard);
        dync_tensor *h = dync_detach((dync_clone)(in[i].as.t));
        if (wide) h = dync_to_dtype(h, DYNC_F64);
        dync__error_guard_end(&guard);
        copy = h ? dync__peek(h) : NULL;
        if (copy) dync__ref(copy);
    } else {
        dync__storage *s = dync__run_shared_copy(i, in, out, t);
        if (s)
            dync__storage_ref(s);
        else
            s = dync__run_copy_storage(t->storage, t->dtype, wide);
        copy = s ? dync__tensor_new(s, wide ? DYNC_F64 : t->dtype, &t->lay) : NULL;
    }
    if (!copy) return NULL;
    if (dync__tensor_requires_grad(t) && dync__run_is_float(t))
        dync__tensor_set_requires_grad(copy, true);
    return dync__give(copy);
}

DYNC__FN dync_status dync__run_copy_inputs(int n, const dync_value *in, dync_value *out,
                                           bool as_f64)
{
    for (int i = 0; i < n; i++) {
        out[i] = in[i];
        if (in[i].kind != DYNC_KIND_TENSOR) continue;
        out[i].as.t = dync__run_copy_tensor(i, in, out, as_f64);
        if (!out[i].as.t) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_MEMORY;
    }
    return DYNC_OK;
}

/* ---- one run --------------------------------------------------------------------------------- */

/* Flattens lists in lists. false: no memory. */
static bool dync__run_add(dync__run_items *out, dync_value v, bool gradient)
{
    bool ok = true;
    const dync__list *l = dync__value_list(v);
    if (!l) return dync__vec_push(out, ((dync__run_item){v, gradient}));
    for (int i = 0; i < l->n && ok; i++) ok = dync__run_add(out, l->items[i], gradient);
    return ok;
}

/* loss = sum over the tensors of mean(t) / n_tensors. Results without elements or gradient are left
 * out of the sum but not of n_tensors, as upstream does it. No result that requires grad: nothing
 * is done. */
static dync_status dync__run_backward(const dync__run_items *results)
{
    dync_tensor *loss = NULL;
    int n_tensors = 0;
    for (int i = 0; i < results->n; i++) n_tensors += results->at[i].value.kind == DYNC_KIND_TENSOR;
    for (int i = 0; i < results->n; i++) {
        const dync_value *v = &results->at[i].value;
        const dync__tensor *t = v->kind == DYNC_KIND_TENSOR ? dync__peek(v->as.t) : NULL;
        if (!t || t->numel == 0 || !dync__tensor_requires_grad(t)) continue;
        dync_tensor *mean = (dync_mul)(dync_v_tensor((dync_mean)(v->as.t, DYNC_ALL, false)),
                                       dync_v_float(1.0 / n_tensors));
        loss = loss ? (dync_add)(dync_v_tensor(loss), dync_v_tensor(mean)) : mean;
    }
    return loss ? (dync_backward)(loss) : dync_error();
}

/* Behind the results: the gradient of each input tensor (NONE where there is none), then the
 * inputs, which the graph may have written to. */
static dync_status dync__run_collect(dync__run_items *out, int n, const dync_value *args)
{
    for (int i = 0; i < n; i++) {
        if (args[i].kind != DYNC_KIND_TENSOR) continue;
        const dync__tensor *t = dync__peek(args[i].as.t);
        dync_tensor *grad = t && dync__tensor_is_leaf(t) ? dync_grad(args[i].as.t) : NULL;
        if (!dync__run_add(out, grad ? dync_v_tensor(grad) : DYNC_NONE, true))
            return DYNC_ERR_MEMORY;
    }
    for (int i = 0; i < n; i++)
        if (!dync__run_add(out, args[i], false)) return DYNC_ERR_MEMORY;
    return DYNC_OK;
}

/* The run itself. An operator reports its errors in the thread's slot, so a run has failed where
 * the number of errors has grown. */
static dync_status dync__run_now(dync__graph *g, const dync_callable *code, int n,
                                 const dync_value *args, bool forward_only, dync__run_items *out)
{
    uint64_t errors = dync__error_count();
    dync_value r = code ? code->run(code->state, args, n) : dync__graph_run(g, args, n);
    if (dync__error_count() != errors && dync_error() != DYNC_OK) return dync_error();
    if (!dync__run_add(out, r, false)) return DYNC_ERR_MEMORY;
    if (!forward_only && !dync__grad_is_off()) {
        dync_status status = dync__run_backward(out);
        if (status != DYNC_OK) return status;
    }
    return dync__run_collect(out, n, args);
}

/* The random state and the gradient mode are set back after it, so that several runs see the
 * same. */
DYNC__FN dync_status dync__run_once(dync__graph *g, const dync_callable *code, int n,
                                    const dync_value *inputs, dync__run_how how,
                                    dync__run_items *out)
{
    uint64_t seed = dync__tls.rng_seed, offset = dync__tls.rng_offset;
    bool grad_off = dync__grad_is_off();
    size_t bytes = (size_t)(n + 1) * sizeof(dync_value);
    dync_value *args = dync__alloc(bytes);
    if (!args) return DYNC_ERR_MEMORY;
    if (how.as_given && n) memcpy(args, inputs, (size_t)n * sizeof *args);
    dync_status status = how.as_given ? DYNC_OK : dync__run_copy_inputs(n, inputs, args, false);
    if (status == DYNC_OK) status = dync__run_now(g, code, n, args, how.forward_only, out);
    dync__free(args, bytes);
    dync__tls.rng_seed = seed;
    dync__tls.rng_offset = offset;
    dync__grad_off(grad_off);
    return status;
}

DYNC__FN void dync__error_text(dync__str *s, const dync__error_slot *e)
{
    dync__str_addf(s, "%s: %s", e->status != DYNC_OK ? e->class_name : "RuntimeError", e->message);
}
