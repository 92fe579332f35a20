/* op/chain.c: chains of operator calls, and inference of composite operators by running their
 * decomposition over fakes. After eager.c, before decompose_*.c. */
#include "../dync.in.h"
#include "chain.h"
DYNC__COLD

/* Takes the reference; on failure lets it go and fails the chain. */
static void dync__chain_keep(dync__chain *c, dync__tensor *t)
{
    if (dync__vec_push(&c->made, t)) return;
    dync__unref(t);
    c->status = DYNC_ERR_MEMORY;
}

/* Runs an operator; its outputs live as long as the chain. Nothing happens after a failure.
 * out[0..nout) are borrowed from the chain, NULL after a failure; those who get a NULL pass it on:
 * dync__arg_t(NULL) is none, and the chain has failed anyway. */
DYNC__FN void(dync__chain_call)(dync__chain *c, const dync__row *op, int nargs, dync__arg *args,
                                dync__dt **out)
{
    int number = dync__op_use(op), nout = dync__op_info(number)->nout;
    for (int i = 0; i < nout; i++) out[i] = NULL;
    if (c->status != DYNC_OK) return;
    c->status = (dync__op_run)(number, nargs, args, out);
    for (int i = 0; i < nout; i++) {
        if (c->status == DYNC_OK)
            dync__chain_keep(c, out[i]);
        else
            dync__unref(out[i]);
    }
    if (c->status != DYNC_OK)
        for (int i = 0; i < nout; i++) out[i] = NULL;
}

/* Calls of operators with one result. The letters say what the arguments are: t a tensor, f a
 * float, i an int. */
DYNC__FN dync__dt *(dync__chain1)(dync__chain * c, const dync__row *op, dync__dt *a)
{
    dync__arg args[1] = {dync__arg_t(a)};
    dync__dt *out;
    (dync__chain_call)(c, op, 1, args, &out);
    return out;
}
DYNC__FN dync__dt *(dync__chain2)(dync__chain * c, const dync__row *op, dync__arg a, dync__arg b)
{
    dync__arg args[2] = {a, b};
    dync__dt *out;
    (dync__chain_call)(c, op, 2, args, &out);
    return out;
}
DYNC__FN dync__dt *(dync__chain3)(dync__chain * c, const dync__row *op, dync__arg a, dync__arg b,
                                  dync__arg d)
{
    dync__arg args[3] = {a, b, d};
    dync__dt *out;
    (dync__chain_call)(c, op, 3, args, &out);
    return out;
}
DYNC__FN dync__dt *(dync__chain_tt)(dync__chain * c, const dync__row *op, dync__dt *a, dync__dt *b)
{
    return (dync__chain2)(c, op, dync__arg_t(a), dync__arg_t(b));
}
DYNC__FN dync__dt *(dync__chain_tf)(dync__chain * c, const dync__row *op, dync__dt *a, double x)
{
    return (dync__chain2)(c, op, dync__arg_t(a), dync__arg_f(x));
}
DYNC__FN dync__dt *(dync__chain_ti)(dync__chain * c, const dync__row *op, dync__dt *a, int64_t i)
{
    return (dync__chain2)(c, op, dync__arg_t(a), dync__arg_i(i));
}
DYNC__FN dync__dt *(dync__chain_shape)(dync__chain * c, const dync__row *op, dync__dt *a, int n,
                                       const int64_t *shape)
{
    return (dync__chain2)(c, op, dync__arg_t(a), dync__arg_dims(n, shape));
}
/* sum, mean, amax ... over the dims given, or all */
DYNC__FN dync__dt *(dync__chain_reduce)(dync__chain * c, const dync__row *op, dync__dt *a, int n,
                                        const int64_t *dims, bool keepdim)
{
    return (dync__chain3)(c, op, dync__arg_t(a), dync__arg_dims(n, dims), dync__arg_b(keepdim));
}
/* a itself where it has the dtype already, or is NULL. */
DYNC__FN dync__dt *dync__chain_dtype(dync__chain *c, dync__dt *a, int dtype)
{
    return !a || a->dtype == dtype
               ? a
               : dync__chain2(c, DYNC__OP_to_dtype, dync__arg_t(a), dync__arg_dtype(dtype));
}

DYNC__FN dync__dt *dync__chain_wide(dync__chain *c, dync__dt *x)
{
    const dync__dtype_row *row = x ? dync__dtype_info(x->dtype) : NULL;
    return row && row->kind == 'f' && row->bytes == 2 ? dync__chain_dtype(c, x, DYNC_F32) : x;
}

/* Ends the chain: results (made by it, or arguments) go out with a reference each, everything else
 * is let go. A missing result without a status comes from a helper that gave up on NULL: the
 * thread's error, or memory, is what happened. The chain's memory is freed in every case: nothing
 * may be called on it afterwards. Returns the chain's status. */
DYNC__FN dync_status dync__chain_end_n(dync__chain *c, dync__opcall *call, int n,
                                       dync__dt *const *result)
{
    for (int i = 0; i < n && c->status == DYNC_OK; i++)
        if (!result[i]) c->status = dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_MEMORY;
    for (int i = 0; i < n && c->status == DYNC_OK; i++) {
        dync__ref(result[i]);
        call->out[i] = result[i];
    }
    if (c->status == DYNC_OK) call->nout = n;
    for (int i = 0; i < c->made.n; i++) dync__unref(c->made.at[i]);
    dync__vec_free(&c->made);
    return c->status;
}
DYNC__FN dync_status dync__chain_end(dync__chain *c, dync__opcall *call, dync__dt *result)
{
    return dync__chain_end_n(c, call, 1, &result);
}

DYNC__FN dync__dt *dync__dt_arg(const dync__opcall *call, int i)
{
    return i < call->nargs && call->args[i].kind == DYNC__A_TENSOR ? call->args[i].as.t : NULL;
}
/* Argument 0, which every composite here has. */
DYNC__FN dync_status dync__dt_self(const dync__opcall *call, dync__dt **out)
{
    return dync__infer_tensor(call, 0, out);
}

/* x[start:end] along dim, a view. */
DYNC__FN dync__dt *dync__chain_slice(dync__chain *c, dync__dt *x, int64_t dim, int64_t start,
                                     int64_t end)
{
    dync__arg args[5] = {dync__arg_t(x), dync__arg_i(dim), dync__arg_i(start), dync__arg_i(end),
                         dync__arg_i(1)};
    dync__dt *out;
    dync__chain_call(c, DYNC__OP_slice, 5, args, &out);
    return out;
}

DYNC__FN dync__dt *dync__chain_cat(dync__chain *c, int n, dync__arg *list, int64_t dim)
{
    dync__arg l = {.kind = DYNC__A_LIST, .n = n, .as = {.list = list}};
    return dync__chain2(c, DYNC__OP_cat, l, dync__arg_i(dim));
}

DYNC__FN dync__dt *dync__chain_range(dync__chain *c, int64_t n, int device)
{
    dync__arg args[5] = {dync__arg_i(0), dync__arg_i(n), dync__arg_i(1), dync__arg_dtype(DYNC_I64),
                         dync__arg_device(device)};
    dync__dt *out;
    dync__chain_call(c, DYNC__OP_arange, 5, args, &out);
    return out;
}

DYNC__FN dync__dt *dync__chain_mean(dync__chain *c, dync__dt *x)
{
    return dync__chain_reduce(c, DYNC__OP_mean, x, 0, NULL, false);
}

DYNC__FN dync__dt *dync__chain_one_minus(dync__chain *c, dync__dt *x)
{
    return dync__chain2(c, DYNC__OP_sub, dync__arg_i(1), dync__arg_t(x));
}

DYNC__FN dync__dt *dync__chain_where(dync__chain *c, dync__dt *condition, dync__arg yes,
                                     dync__arg no)
{
    return dync__chain3(c, DYNC__OP_where, dync__arg_t(condition), yes, no);
}

static const int64_t dync__chain_last[2][5] = {{0, 2, 3, 1}, {0, 2, 3, 4, 1}},
                     dync__chain_first[2][5] = {{0, 3, 1, 2}, {0, 4, 1, 2, 3}};

DYNC__FN dync__dt *dync__chain_lying(dync__chain *c, dync__dt *x, int *form)
{
    *form = x ? dync__layout_form(&x->lay) : 0;
    if (!x || *form != x->lay.ndim) *form = 0;
    return *form ? dync__chain_shape(c, DYNC__OP_permute, x, *form, dync__chain_last[*form - 4])
                 : x;
}

DYNC__FN int dync__chain_dim(int form, int dim)
{
    return !form || dim == 0 ? dim : dim == 1 ? form - 1 : dim - 1;
}

DYNC__FN dync__dt *dync__chain_standing(dync__chain *c, dync__dt *y, int form)
{
    return y && form ? dync__chain_shape(c, DYNC__OP_permute, y, form, dync__chain_first[form - 4])
                     : y;
}

DYNC__FN dync__dt *dync__chain_formed(dync__chain *c, dync__dt *y, const dync__dt *x)
{
    dync__info want;
    if (!y) return NULL;
    int n = y->lay.ndim, form = x ? dync__layout_form(&x->lay) : 0;
    bool same = !x || y->storage != x->storage;
    if (form != n) form = 0;
    dync__chain_fail(c, dync__infer_formed(&want, y->dtype, y->device, n, y->lay.shape, form));
    for (int d = 0; d < n && same; d++) same = y->lay.stride[d] == want.lay.stride[d];
    if (same) return y;
    if (!form) return dync__chain1(c, DYNC__OP__clone_contiguous, y);
    y = dync__chain_shape(c, DYNC__OP_permute, y, n, dync__chain_last[form - 4]);
    y = dync__chain1(c, DYNC__OP__clone_contiguous, y);
    return dync__chain_standing(c, y, form);
}

DYNC__FN void dync__chain_fail(dync__chain *c, dync_status status)
{
    if (c->status == DYNC_OK) c->status = status;
}

/* ---- inference by decomposition -------------------------------------------------------------- */

/* The handler under a decomposition that only infers: every operator it calls is answered by
 * fakes. */
static dync_status dync__composite_bottom(dync__handler *self, dync__opcall *call)
{
    (void)self;
    return dync__op_fake(call);
}

/* What a composite gives is what its decomposition gives: it runs with nothing above and inference
 * alone below, so that no element is computed, nothing is recorded, and the strides are those of
 * the real thing. Which storage an output lies on tells whether it aliases an argument; info.view
 * says whether it is a handle of its own. Gradients are off, as nothing here is kept. */
static dync_status dync__composite_run(const dync__opcall *call, dync__info *out)
{
    dync__handler bottom = {.call = dync__composite_bottom};
    dync__tensor *arg[DYNC__MAX_ARGS];
    dync__opcall run = *call;
    if (!dync__op_state_get()) return DYNC_ERR_MEMORY;
    dync__handler *top = dync__handler_swap(NULL), *old = dync__bottom_swap(&bottom);
    bool off = dync__grad_off(true);
    dync_status status = call->row->decompose(&run);
    dync__grad_off(off);
    dync__bottom_swap(old);
    dync__handler_swap(top);
    if (status != DYNC_OK) return status;
    int n = DYNC__MIN(dync__opcall_tensors(call, arg, DYNC__MAX_ARGS), DYNC__MAX_ARGS);
    for (int i = 0; i < run.nout; i++) {
        const dync__tensor *t = run.out[i];
        dync__info_of(&out[i], t, -1);
        for (int a = 0; a < n && out[i].alias < 0; a++)
            if (arg[a]->storage == t->storage) {
                out[i].alias = a;
                out[i].view = t != arg[a];
            }
        dync__unref(run.out[i]);
    }
    return DYNC_OK;
}

/* Symbolic sizes exist only while the thread has a table of them. */
static bool dync__composite_has_tokens(const dync__opcall *call)
{
    dync__tensor *arg[DYNC__MAX_ARGS];
    int n = dync__tls.syms
                ? DYNC__MIN(dync__opcall_tensors(call, arg, DYNC__MAX_ARGS), DYNC__MAX_ARGS)
                : 0;
    for (int i = 0; i < n; i++)
        if (dync__layout_has_tokens(&arg[i]->lay)) return true;
    return false;
}

/* Makes every symbolic size of the arguments the number it has now, with a guard that it stays
 * so. */
static void dync__composite_specialise(const dync__opcall *call)
{
    dync__tensor *arg[DYNC__MAX_ARGS];
    int n = DYNC__MIN(dync__opcall_tensors(call, arg, DYNC__MAX_ARGS), DYNC__MAX_ARGS);
    for (int i = 0; i < n; i++) {
        dync__layout_number(&arg[i]->lay);
        arg[i]->numel = dync__sz_number(arg[i]->numel);
    }
}

/* Most decompositions pass symbolic sizes on or compare them. One that computes with them as
 * numbers makes sizes that are none: then the sizes of its arguments are made numbers, which is
 * guarded, and it runs again. The first attempt runs with errors held back (dync__error_guard),
 * since its failure may only mean that; lack of memory is passed on at once. */
DYNC__FN dync_status dync__i_composite(const dync__opcall *call, dync__info *out)
{
    if (DYNC__LIKELY(!dync__composite_has_tokens(call))) return dync__composite_run(call, out);
    dync__error_guard guard;
    uint64_t errors = dync__error_count();
    dync__error_guard_begin(&guard);
    dync_status status = dync__composite_run(call, out);
    const dync__error_slot *inner = dync__error_guard_end(&guard);
    if (status == DYNC_OK || inner->status == DYNC_ERR_MEMORY) {
        if (status != DYNC_OK) dync__error_raise(inner);
        return status;
    }
    dync__tls.error_count = errors;
    dync__composite_specialise(call);
    return dync__composite_run(call, out);
}

/* ---- arguments of composites without an inference ------------------------------------------- */

DYNC__FN double dync__dn_number(const dync__opcall *call, int i)
{
    return dync__arg_number(&call->args[i]);
}

/* The dim that argument i names, of rank ndim. */
DYNC__FN dync_status dync__dn_dim(const dync__opcall *call, int i, int ndim, int *dim)
{
    return dync__dim_wrap(dync__infer_int_dim(&call->args[i]), ndim, dim);
}

DYNC__FN dync_status dync__dn_numbers(const dync__opcall *call, int i, int most, int64_t otherwise,
                                      int64_t *out)
{
    const dync__arg *a = &call->args[i];
    if (a->n != 0 && a->n != 1 && a->n != most)
        return dync__fail(DYNC_ERR_VALUE, "expected 1 or %d numbers, got %d", most, a->n);
    for (int k = 0; k < most; k++) {
        out[k] = a->n == 0 ? otherwise : dync__sz_number(a->as.dims[a->n == 1 ? 0 : k]);
        if (out[k] > INT_MAX || out[k] < INT_MIN)
            return dync__fail(DYNC_ERR_VALUE, "expected numbers of 32 bits, got %lld",
                              (long long)out[k]);
    }
    return DYNC_OK;
}

DYNC__FN dync_status dync__dn_rank(const dync__dt *x, int rank)
{
    if (x->lay.ndim == rank) return DYNC_OK;
    return dync__fail(DYNC_ERR_SHAPE, "expected a %dD tensor, got %dD", rank, x->lay.ndim);
}
