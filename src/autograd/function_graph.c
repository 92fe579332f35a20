/* autograd/function_graph.c: custom functions in graphs. Before: function.c. */
#include "../dync.in.h"
#include "node.h"
#include "grads.h"
#include "function.h"
DYNC__COLD

/* ---- custom functions in graphs -------------------------------------------------------------- */
/* What a node of a graph knows of a custom function: a number, the same for the same function over
 * the same kinds of arguments. */
typedef struct dync__traced_function {
    const dync_autograd_function *fn;
    /* n_out: 0 where it gives one tensor; of a list, the row of all floating outputs has the
     * node */
    int nargs, n_out;
    uint32_t tensors, packed; /* arguments that are tensors; outputs in the row */
} dync__traced_function;
static struct {
    dync__mutex lock;
    DYNC__VEC(dync__traced_function) list;
} dync__traced_functions;
static void dync__traced_functions_free(void) { dync__vec_free(&dync__traced_functions.list); }

/* Registered for the whole process, under a lock, until shutdown; -1: no memory. */
static int dync__traced_number(dync__traced_function f)
{
    dync__at_shutdown(dync__traced_functions_free);
    dync__lock(&dync__traced_functions.lock);
    int i = 0, n = dync__traced_functions.list.n;
    const dync__traced_function *at = dync__traced_functions.list.at;
    while (i < n && !(at[i].fn == f.fn && at[i].nargs == f.nargs && at[i].tensors == f.tensors &&
                      at[i].n_out == f.n_out && at[i].packed == f.packed))
        i++;
    if (i == n && !dync__vec_push(&dync__traced_functions.list, f)) i = -1;
    dync__unlock(&dync__traced_functions.lock);
    return i;
}

static dync_value dync__traced_list(int n, dync__tensor *const *t)
{
    dync_value list = dync__list_new(n);
    for (int i = 0; i < n && list.kind == DYNC_KIND_LIST; i++)
        dync__list_set(list, i, dync_v_tensor(dync__handle(t[i])));
    return list;
}

/* The node behind the forward: inputs, what is saved; of several outputs themselves too: backward
 * reads their shapes. */
static dync_tensor *dync__traced_node(dync__apply *a, dync_tensor *out, int n_out,
                                      const dync_value *outs, int number)
{
    dync__tensor *saved[2 * DYNC__APPLY_MAX];
    int n = a->ctx->saved.n;
    if (n > DYNC__APPLY_MAX)
        return dync__fail(DYNC_ERR_VALUE, "dync_apply: more than %d saved tensors",
                          DYNC__APPLY_MAX),
               NULL;
    for (int i = 0; i < n; i++) saved[i] = a->ctx->saved.at[i].raw;
    for (int i = 0; i < n_out; i++) saved[n++] = dync__open(outs[i].as.t);
    dync__arg args[4] = {dync__arg_h(out), dync__arg_value(dync__traced_list(a->ctx->n_in, a->in)),
                         dync__arg_value(dync__traced_list(n, saved)), dync__arg_i(number)};
    return dync__op_call(DYNC__OP_custom_gradient, 4, args, dync__tls.at);
}

/* Which outputs of a list go into the row: floating tensors of one dtype. 0: not such a list. */
static uint32_t dync__traced_packed(const dync_value *result)
{
    uint32_t packed = 0;
    int dtype = -1;
    const dync__list *l = dync__value_list(*result);
    if (!l || l->n > DYNC__APPLY_MAX) return 0;
    for (int i = 0; i < l->n; i++) {
        const dync_value *v = &l->items[i];
        const dync__tensor *t = v->kind == DYNC_KIND_TENSOR ? dync__open(v->as.t) : NULL;
        if (!t) return 0;
        if (!dync__is_float_dtype(t->dtype)) continue;
        if (dtype >= 0 && dtype != t->dtype) return 0;
        dtype = t->dtype;
        packed |= 1u << i;
    }
    return packed;
}

/* Part of a row that has the shape of t, from *at on. One that is alone is not made a row. */
static dync_tensor *dync__row_part(dync_tensor *row, const dync__tensor *t, int64_t *at)
{
    dync_dims shape = {.n = t->lay.ndim};
    int64_t end = 1;
    if (dync_ndim(row) != 1) return row;
    memcpy(shape.d, t->lay.shape, (size_t)shape.n * sizeof *shape.d);
    for (int d = 0; d < shape.n; d++) end = dync__sz_mul(end, shape.d[d]);
    end = dync__sz_add(*at, end);
    row = dync_reshape(dync_slice(row, 0, *at, end, 1), shape);
    *at = end;
    return row;
}

/* t's dims, slowest first, where its memory is dense; else as they are. */
static dync_dims dync__dims_in_memory(const dync__tensor *t)
{
    dync_dims order = {.n = t->lay.ndim};
    bool used[DYNC_MAX_DIMS] = {false}, more = dync__layout_is_dense(&t->lay);
    int64_t span = 1;
    int at = order.n;
    while (more) {
        more = false;
        for (int d = 0; d < order.n && !more; d++) {
            if (used[d] || t->lay.shape[d] == 1 || !dync__sz_eq(t->lay.stride[d], span)) continue;
            used[d] = more = true;
            order.d[--at] = d;
            span = dync__sz_mul(span, t->lay.shape[d]);
        }
    }
    for (int d = order.n - 1; d >= 0; d--)
        if (!used[d]) order.d[--at] = d;
    return order;
}

/* A row major value in the memory order that t has. */
static dync_tensor *dync__row_strides(dync_tensor *part, const dync__tensor *t)
{
    dync_dims order = dync__dims_in_memory(t), back = order;
    bool same = true;
    for (int d = 0; d < order.n; d++) {
        back.d[order.d[d]] = d;
        same = same && order.d[d] == d;
    }
    return same ? part : dync_permute(dync_contiguous(dync_permute(part, order)), back);
}

/* Several outputs go through one node as one row, and are cut out of it again. */
static void dync__traced_outputs(dync__apply *a, dync__traced_function f, dync_value *result)
{
    dync_value item[DYNC__APPLY_MAX], flat[DYNC__APPLY_MAX];
    int n = f.n_out ? f.n_out : 1, n_flat = 0, number = dync__traced_number(f);
    uint64_t errors = dync__error_count();
    int64_t at = 0;
    if (number < 0) return;
    if (!f.n_out) {
        dync_tensor *out = dync__traced_node(a, result->as.t, 0, NULL, number);
        *result = out ? dync_v_tensor(out) : DYNC_NONE;
        return;
    }
    for (int i = 0; i < n; i++) item[i] = (dync_at)(*result, i);
    for (int i = 0; i < n; i++)
        if (f.packed >> i & 1) flat[n_flat++] = item[i];
    for (int i = 0; i < n_flat && n_flat > 1; i++)
        flat[i] = dync_v_tensor(dync_reshape(flat[i].as.t, dync_shape(-1)));
    dync_tensor *row = n_flat == 1 ? flat[0].as.t : dync_cat(dync_tuple_of(n_flat, flat), 0);
    row = dync__traced_node(a, row, n, item, number);
    for (int i = 0; i < n && row; i++) {
        const dync__tensor *t = f.packed >> i & 1 ? dync__open(item[i].as.t) : NULL;
        if (t && n_flat == 1) item[i] = dync_v_tensor(row);
        if (t && n_flat > 1)
            item[i] = dync_v_tensor(dync__row_strides(dync__row_part(row, t, &at), t));
    }
    *result = row && dync__error_count() == errors ? dync_tuple_of(n, item) : DYNC_NONE;
}

/* As dync__apply_output: what forward gives back of its inputs, or twice, is another tensor on that
 * memory. */
static dync_value dync__traced_apart(const dync__apply *a, dync_value item, int n,
                                     const dync_value *before)
{
    const dync__tensor *t = item.kind == DYNC_KIND_TENSOR ? dync__peek(item.as.t) : NULL;
    bool shared = false;
    for (int i = 0; t && i < a->ctx->n_in; i++) shared = shared || a->in[i] == t;
    for (int i = 0; t && i < n; i++)
        shared = shared || (before[i].kind == DYNC_KIND_TENSOR && before[i].as.t == item.as.t);
    return shared ? dync_v_tensor(dync_detach(item.as.t)) : item;
}
static void dync__traced_plain(const dync__apply *a, dync_value *result)
{
    dync_value item[DYNC__APPLY_MAX], given[DYNC__APPLY_MAX];
    int n = result->kind == DYNC_KIND_LIST ? dync_len(*result) : 1;
    bool same = true;
    if (n > DYNC__APPLY_MAX) return;
    for (int i = 0; i < n; i++) {
        given[i] = result->kind == DYNC_KIND_LIST ? (dync_at)(*result, i) : *result;
        item[i] = dync__traced_apart(a, given[i], i, given);
        same = same && (item[i].kind != DYNC_KIND_TENSOR || item[i].as.t == given[i].as.t);
    }
    if (!same) *result = result->kind == DYNC_KIND_LIST ? dync_tuple_of(n, item) : item[0];
}

/* The context lives while forward is traced; its node in the graph, custom_gradient, has what
 * backward needs as arguments and makes a new context from them each time (dync__traced_backward).
 */
DYNC__FN bool dync__apply_traced(const dync_autograd_function *fn, int nargs,
                                 const dync_value *args, dync_value *result)
{
    dync__apply a = {.ctx = dync__ctx_new(fn, nargs)};
    bool wanted = false, grad = dync_is_grad_enabled(), one = true;
    dync__traced_function f = {.fn = fn, .nargs = nargs};
    uint64_t errors = dync__error_count();
    *result = DYNC_NONE;
    if (a.ctx && nargs <= DYNC__APPLY_MAX && dync__apply_inputs(&a, args, &wanted) == DYNC_OK) {
        for (int i = 0; i < nargs; i++) f.tensors |= a.ctx->input[i] >= 0 ? 1u << i : 0;
        if (grad) dync_set_grad_enabled(false);
        *result = fn->forward(dync__autograd_ctx_handle(a.ctx), args, nargs);
        if (grad) dync_set_grad_enabled(true);
        if ((f.packed = dync__traced_packed(result)) != 0) f.n_out = dync_len(*result);
        one = result->kind == DYNC_KIND_TENSOR || f.packed || dync__error_count() != errors;
        if (wanted && grad && one && dync__error_count() == errors)
            dync__traced_outputs(&a, f, result);
        else if (!(wanted && grad) && dync__error_count() == errors)
            dync__traced_plain(&a, result);
    }
    if (a.ctx) dync__ctx_destroy(a.ctx);
    return one || !(wanted && grad);
}

/* ---- may it be traced? ----------------------------------------------------------------------- */
/* Functions that were tried, by their two sides. */
typedef struct dync__tried_function {
    dync_autograd_function fn;
    int nargs;
    bool traceable;
} dync__tried_function;
static struct {
    dync__mutex lock;
    DYNC__VEC(dync__tried_function) list;
} dync__tried_functions;
static void dync__tried_functions_free(void) { dync__vec_free(&dync__tried_functions.list); }

/* 1, 0; -1: not tried so far. */
static int dync__tried_before(const dync_autograd_function *fn, int nargs)
{
    int known = -1;
    dync__lock(&dync__tried_functions.lock);
    for (int i = 0; i < dync__tried_functions.list.n && known < 0; i++) {
        const dync__tried_function *t = &dync__tried_functions.list.at[i];
        if (t->fn.forward == fn->forward && t->fn.backward == fn->backward && t->nargs == nargs)
            known = t->traceable;
    }
    dync__unlock(&dync__tried_functions.lock);
    return known;
}

static dync_value dync__try_argument(dync_value v)
{
    const dync__tensor *t = v.kind == DYNC_KIND_TENSOR ? dync__open(v.as.t) : NULL;
    if (!t) return v;
    dync_make make = {.dtype = t->dtype, .device = DYNC_META};
    make.requires_grad =
        dync__is_float_dtype(t->dtype); /* later calls may want what this does not */
    make.shape.n = t->lay.ndim;
    memcpy(make.shape.d, t->lay.shape, (size_t)make.shape.n * sizeof *make.shape.d);
    return dync_v_tensor(DYNC__MAKER(empty)(make));
}

/* Both sides on tensors without data: whoever looks at values, or mixes in others, records an
 * error. */
static bool dync__try_both_sides(const dync_autograd_function *fn, int nargs,
                                 const dync_value *args)
{
    dync_value meta[DYNC__APPLY_MAX], wanted[DYNC__APPLY_MAX], out[DYNC__APPLY_MAX],
        seed[DYNC__APPLY_MAX];
    int n_wanted = 0, n_out = 0;
    for (int i = 0; i < nargs; i++) {
        meta[i] = dync__try_argument(args[i]);
        if (meta[i].kind == DYNC_KIND_TENSOR && meta[i].as.t && dync_requires_grad(meta[i].as.t))
            wanted[n_wanted++] = meta[i];
    }
    dync_value r = dync__apply_run(fn, nargs, meta);
    int n = r.kind == DYNC_KIND_LIST ? dync_len(r) : 1;
    if (n > DYNC__APPLY_MAX || (r.kind == DYNC_KIND_LIST && !dync__traced_packed(&r))) return false;
    for (int i = 0; i < n; i++) {
        dync_value v = r.kind == DYNC_KIND_LIST ? (dync_at)(r, i) : r;
        if (v.kind != DYNC_KIND_TENSOR) return false;
        if (!dync_requires_grad(v.as.t)) continue;
        seed[n_out] = dync_v_tensor(dync_ones_like(v.as.t));
        out[n_out++] = v;
    }
    if (n_wanted && n_out)
        (void)(dync_gradients)(dync_tuple_of(n_out, out), dync_tuple_of(n_wanted, wanted),
                               dync_tuple_of(n_out, seed),
                               (dync_grad_options){.allow_unused = true});
    return dync_error() == DYNC_OK;
}

/* A function that cannot is run as it is, between two graphs. Called outside of the trace. */
DYNC__FN bool dync__apply_traceable(const dync_autograd_function *fn, int nargs,
                                    const dync_value *args)
{
    int known = dync__tried_before(fn, nargs);
    for (int i = 0; i < nargs; i++)
        if (args[i].kind == DYNC_KIND_LIST || args[i].kind == DYNC_KIND_MODULE) return false;
    if (known >= 0 || nargs > DYNC__APPLY_MAX) return known > 0;
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    dync_scope scope = dync_scope_begin();
    bool grad = dync_is_grad_enabled();
    dync_set_grad_enabled(true);
    dync__tried_function t = {*fn, nargs, dync__try_both_sides(fn, nargs, args)};
    dync_set_grad_enabled(grad);
    dync_scope_end(&scope);
    (void)dync__error_guard_end(&guard);
    dync__at_shutdown(dync__tried_functions_free);
    dync__lock(&dync__tried_functions.lock);
    bool kept = dync__vec_push(&dync__tried_functions.list, t);
    dync__unlock(&dync__tried_functions.lock);
    return kept && t.traceable;
}

/* Arguments of custom_gradient: output or row, inputs, saved tensors (then, of a row, the outputs
 * themselves, for their shapes), number. Outputs that are not in the row get zeros. */
static dync_status dync__traced_backward(dync__grad *g, dync__autograd_ctx *ctx,
                                         const dync__traced_function *f)
{
    int saved = dync__grad_index(g, 2), in = dync__grad_index(g, 1),
        n_saved = g->call->args[2].n - f->n_out;
    dync_value grads[DYNC__APPLY_MAX];
    int64_t at = 0;
    for (int k = 0; k < n_saved; k++) {
        dync__ctx_saved s = {.output = -1, .raw = dync__open(dync__grad_arg(g, saved + k))};
        if (!s.raw || !dync__vec_push(&ctx->saved, s)) return dync__pending_or(DYNC_ERR_MEMORY);
        dync__ref(s.raw);
    }
    uint64_t errors = dync__error_count();
    grads[0] = dync_v_tensor(g->grad_out[0]);
    for (int i = 0; i < f->n_out; i++) {
        dync_tensor *like = dync__grad_arg(g, saved + n_saved + i);
        const dync__tensor *t = like ? dync__open(like) : NULL;
        if (t)
            grads[i] = dync_v_tensor(f->packed >> i & 1 ? dync__row_part(g->grad_out[0], t, &at)
                                                        : dync_zeros_like(like));
    }
    if (dync__error_count() != errors) return dync__pending_or(DYNC_ERR_RUNTIME);
    dync_value result =
        ctx->fn->backward(dync__autograd_ctx_handle(ctx), grads, DYNC__MAX(f->n_out, 1));
    if (dync__error_count() != errors) return dync__pending_or(DYNC_ERR_RUNTIME);
    int n = result.kind == DYNC_KIND_LIST ? dync_len(result) : 1;
    if (n != ctx->nargs)
        return dync__fail(
            DYNC_ERR_AUTOGRAD,
            "function %s returned an incorrect number of gradients (expected %d, got %d)",
            ctx->cls.name, ctx->nargs, n);
    for (int i = 0; i < n; i++) {
        dync_value item = result.kind == DYNC_KIND_LIST ? (dync_at)(result, i) : result;
        if (!(f->tensors >> i & 1)) continue;
        if (item.kind == DYNC_KIND_TENSOR)
            DYNC__TRY(dync__grad_set(g, in, item.as.t));
        else if (item.kind != DYNC_KIND_NONE)
            return dync__fail(DYNC_ERR_VALUE, "function %s: gradient %d is not a tensor",
                              ctx->cls.name, i);
        in++;
    }
    return DYNC_OK;
}

DYNC__FN dync_status dync__g_custom_gradient(dync__grad *g)
{
    dync__traced_function f = {.fn = NULL};
    int64_t i = g->call->args[3].as.i;
    dync__lock(&dync__traced_functions.lock);
    if (i >= 0 && i < dync__traced_functions.list.n) f = dync__traced_functions.list.at[i];
    dync__unlock(&dync__traced_functions.lock);
    if (!f.fn)
        return dync__fail(DYNC_ERR_VALUE, "custom_gradient: the function belongs to "
                                          "another program");
    dync__autograd_ctx *ctx = dync__ctx_new(f.fn, f.nargs);
    if (!ctx) return DYNC_ERR_MEMORY;
    dync_status status = dync__traced_backward(g, ctx, &f);
    dync__ctx_destroy(ctx);
    return status;
}
