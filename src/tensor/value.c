/* tensor/value.c: dync_value: making, lists, plain numbers out of it; and what a tensor tells about
 * itself.
 *
 * A value owns nothing: tensors in it are handles, strings and pointers the caller's. A list is the
 * exception (scope.c). */
#include "../dync.in.h"
#include "sym.h"
DYNC__WARM

DYNC_API dync_value dync_v_value(dync_value v) { return v; }

DYNC__OFTEN DYNC_API dync_value dync_v_tensor(dync_tensor *t)
{
    dync_value v = {DYNC_KIND_TENSOR, 0, {0}};
    v.as.t = t;
    return v;
}

DYNC_API dync_value dync_v_const_tensor(const dync_tensor *t)
{
    return dync_v_tensor((dync_tensor *)(uintptr_t)t);
}

DYNC_API dync_value dync_v_list(dync_list *l)
{
    dync_value v = {DYNC_KIND_LIST, 0, {0}};
    v.as.l = l;
    return v;
}

DYNC_API dync_value dync_v_module(dync_module *m)
{
    dync_value v = {DYNC_KIND_MODULE, 0, {0}};
    v.as.m = m;
    return v;
}

DYNC_API dync_value dync_v_bool(bool b)
{
    dync_value v = {DYNC_KIND_BOOL, 0, {0}};
    v.as.b = b;
    return v;
}

DYNC_API dync_value dync_v_int(int64_t i)
{
    dync_value v = {DYNC_KIND_INT, 0, {0}};
    v.as.i = i;
    return v;
}

DYNC_API dync_value dync_v_float(dync_real f)
{
    dync_value v = {DYNC_KIND_FLOAT, 0, {0}};
    v.as.f = f;
    return v;
}

DYNC_API dync_value dync_v_str(const char *s)
{
    dync_value v = {DYNC_KIND_STR, 0, {0}};
    v.as.s = s;
    return v;
}

DYNC_API dync_value dync_v_ptr(void *p)
{
    dync_value v = {DYNC_KIND_PTR, 0, {0}};
    v.as.p = p;
    return v;
}

DYNC_API dync_value dync_v_node(dync_node *n)
{
    dync_value v = {DYNC_KIND_NODE, 0, {0}};
    v.as.n = n;
    return v;
}

DYNC_API dync_value dync_v_graph(dync_graph *g)
{
    dync_value v = {DYNC_KIND_GRAPH, 0, {0}};
    v.as.g = g;
    return v;
}

/* ---- lists ----------------------------------------------------------------------------------- */

DYNC_API dync_value dync_tuple_of(int n, const dync_value *items)
{
    dync_value list = dync__list_new(n);
    if (list.kind != DYNC_KIND_LIST) return list;
    for (int i = 0; i < n && items; i++) dync__list_set(list, i, items[i]);
    return list;
}

/* ---- out of a value -------------------------------------------------------------------------- */

DYNC__FN const char *dync__kind_name(dync_kind kind)
{
    static const char names[][10] = {"none",      "a bool",   "an int", "a float",
                                     "a string",  "a tensor", "a list", "a module",
                                     "a pointer", "a symbol", "a node", "a graph"},
                      unknown[] = "an unknown kind";
    int i = (int)kind;
    return i >= 0 && i < DYNC__COUNT_OF(names) ? names[i] : unknown;
}

/* The error of all dync_as_..: `expected` with its article. */
static void dync__value_wrong(const char *expected, dync_value v)
{
    dync__fail(DYNC_ERR_VALUE, "expected %s, got %s", expected, dync__kind_name(v.kind));
}

/* The list that `who` was given; an error where the value is none. */
static const dync__list *dync__value_opened(dync_value v, const char *who)
{
    if (v.kind == DYNC_KIND_LIST && v.as.l) return dync__list_open(v.as.l, who);
    static const char own[] = "a list";
    dync__value_wrong(own, v);
    return NULL;
}

DYNC_API int dync_len(dync_value list)
{
    const dync__list *l = dync__value_opened(list, "dync_len");
    return l ? l->n : -1;
}

DYNC_API dync_value(dync_at)(dync_value list, int i)
{
    dync_value none = {DYNC_KIND_NONE, 0, {0}};
    const dync__list *l = dync__value_opened(list, "dync_at");
    if (!l) return none;
    if (i >= 0 && i < l->n) return l->items[i];
    dync__fail(DYNC_ERR_INDEX, "list index out of range: expected 0 to %d, got %d", l->n - 1, i);
    return none;
}

/* A NULL tensor is passed on without a word where an error is pending: it comes from the call that
 * failed. */
DYNC__OFTEN DYNC_API dync_tensor *(dync_as_tensor)(dync_value v)
{
    if (v.kind == DYNC_KIND_TENSOR) return dync__open(v.as.t) ? v.as.t : NULL;
    if (v.kind != DYNC_KIND_NONE || dync_error() == DYNC_OK) dync__value_wrong("a tensor", v);
    return NULL;
}

/* Symbols specialise: the tracer that made them guards on the number and tells it. */
DYNC__FN dync_value dync__value_plain(dync_value v)
{
    if (dync__value_is_sized(v))
        return v.source == DYNC__SYM_SIZE ? dync_v_int(dync__sz_number(v.as.i))
                                          : dync_v_float(dync__sf_number(v.as.f));
    if (v.kind != DYNC_KIND_SYM) return v;
    dync_value (*specialise)(dync_value) = DYNC__ATOMIC_LOAD(&dync__specialise_hook);
    return specialise ? specialise(v) : v;
}

/* Numbers convert into one another as in C; a float beyond int64 saturates, NaN gives 0. */
DYNC_API int64_t dync_as_int(dync_value v)
{
    int64_t i = 0;
    v = dync__value_plain(v);
    switch (v.kind) {
    case DYNC_KIND_INT: return v.as.i;
    case DYNC_KIND_BOOL: return v.as.b;
    case DYNC_KIND_FLOAT: dync__store_f64(&i, DYNC_I64, v.as.f); return i;
    default: dync__value_wrong("an int", v); return 0;
    }
}

DYNC_API dync_real dync_as_float(dync_value v)
{
    v = dync__value_plain(v);
    switch (v.kind) {
    case DYNC_KIND_FLOAT: return v.as.f;
    case DYNC_KIND_INT: return (double)v.as.i;
    case DYNC_KIND_BOOL: return v.as.b ? 1.0 : 0.0;
    default: dync__value_wrong("a float", v); return 0.0;
    }
}

DYNC_API bool dync_as_bool(dync_value v)
{
    uint8_t b = 0;
    v = dync__value_plain(v);
    switch (v.kind) {
    case DYNC_KIND_BOOL: return v.as.b;
    case DYNC_KIND_INT: return v.as.i != 0; /* C11's true is an int */
    case DYNC_KIND_FLOAT: dync__store_f64(&b, DYNC_BOOL, v.as.f); return b != 0;
    default: dync__value_wrong("a bool", v); return false;
    }
}

/* A size as it is, perhaps symbolic: only to be passed on. */
DYNC_API int64_t dync_as_dim(dync_value v)
{
    return dync__value_is_sized(v) && v.source == DYNC__SYM_SIZE ? v.as.i : dync_as_int(v);
}

DYNC_API dync_real dync_as_real(dync_value v)
{
    if (!dync__value_is_sized(v)) return dync_as_float(v);
    return v.source == DYNC__SYM_SIZE ? dync__sf_of(v.as.i) : v.as.f;
}

DYNC_API const char *dync_as_str(dync_value v)
{
    if (v.kind == DYNC_KIND_STR) return v.as.s;
    dync__value_wrong("a string", v);
    return NULL;
}

/* ---- what a tensor tells --------------------------------------------------------------------- */

/* The tensor behind a handle, or NULL. A tracer is told what is asked about its stand-ins, since
 * the answer decides what the function does next. */
static const dync__tensor *dync__tensor_ask(const dync_tensor *handle, int what, int dim)
{
    const dync__tensor *t = dync__open(handle);
    if (t && DYNC__UNLIKELY(t->flags & DYNC__T_FAKE) && dync__observe_hook)
        dync__observe_hook(t, what, dim);
    return t;
}

DYNC_API int dync_ndim(const dync_tensor *handle)
{
    const dync__tensor *t = dync__tensor_ask(handle, DYNC__OBSERVE_NDIM, 0);
    return t ? t->lay.ndim : -1;
}

/* The tensor and its dim, or NULL; a 0-dim tensor has no dims to ask for. */
static const dync__tensor *dync__tensor_ask_dim(const dync_tensor *handle, int what, int *dim)
{
    const dync__tensor *t = dync__open(handle);
    if (!t) return NULL;
    if (t->lay.ndim == 0)
        return dync__fail(DYNC_ERR_INDEX, "dimension out of range: a 0-dim tensor has none, got %d",
                          *dim),
               NULL;
    if (dync__dim_wrap(*dim, t->lay.ndim, dim) != DYNC_OK) return NULL;
    return dync__tensor_ask(handle, what, *dim);
}

DYNC_API int64_t(dync_size)(const dync_tensor *handle, int dim)
{
    const dync__tensor *t = dync__tensor_ask_dim(handle, DYNC__OBSERVE_SIZE, &dim);
    return t ? dync__sz_number(t->lay.shape[dim]) : -1;
}

/* Nobody observes: what a size is decides nothing yet. */
DYNC_API dync_value(dync_size_sym)(const dync_tensor *handle, int dim)
{
    const dync__tensor *t = dync__open(handle);
    dync_value none = {DYNC_KIND_NONE, 0, {0}};
    if (!t) return none;
    if (t->lay.ndim == 0) {
        dync__fail(DYNC_ERR_INDEX, "dimension out of range: a 0-dim tensor has none, got %d", dim);
        return none;
    }
    return dync__dim_wrap(dim, t->lay.ndim, &dim) == DYNC_OK
               ? dync__value_of_size(t->lay.shape[dim])
               : none;
}

DYNC_API int64_t(dync_stride)(const dync_tensor *handle, int dim)
{
    const dync__tensor *t = dync__tensor_ask_dim(handle, DYNC__OBSERVE_STRIDE, &dim);
    return t ? dync__sz_number(t->lay.stride[dim]) : -1;
}

DYNC_API int64_t dync_numel(const dync_tensor *handle)
{
    const dync__tensor *t = dync__tensor_ask(handle, DYNC__OBSERVE_NUMEL, 0);
    return t ? dync__sz_number(t->numel) : -1;
}

DYNC_API dync_dtype dync_type(const dync_tensor *handle)
{
    const dync__tensor *t = dync__tensor_ask(handle, DYNC__OBSERVE_DTYPE, 0);
    return t ? (dync_dtype)t->dtype : DYNC_F32;
}
