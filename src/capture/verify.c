/* capture/verify.c: dync_set_verify and DYNC_VERIFY. Every cached call runs both ways: the C
 * function on copies of the arguments, then the compiled code on the arguments themselves, from the
 * same random state; results, written arguments and written globals are compared. Where a call is
 * traced (the first one, and every call of a function with an opaque break) its segments are
 * compared instead, each with the interpretation of its graph, so that opaque code runs no more
 * often than it would. After intercept.c, before cache.c.
 *
 * The reference run leaves no trace: what it wrote into globals, module buffers, cells and .grad is
 * put back, its hooks are removed, grad mode and random state are as before. Tensors of other
 * devices are not compared. */
#include "../dync.in.h"
#include "trace.h"

static int32_t dync__verify_switch;
static DYNC__TLS bool dync__verify_running;

DYNC_API void dync_set_verify(bool on) { DYNC__ATOMIC_STORE(&dync__verify_switch, on ? 2 : 1); }

/* True inside the reference run: compiled functions called from there run as they are written. */
DYNC__FN bool dync__verify_inside(void) { return dync__verify_running; }
DYNC__FN bool dync__verify_on(void)
{
    return DYNC__UNLIKELY(dync__switch_on(&dync__verify_switch, "DYNC_VERIFY")) &&
           !dync__verify_running;
}

/* A global that the entry may write: its memory before and after the reference run. */
typedef struct dync__verify_global {
    dync__tensor *t;
    const char *source;
    char *before, *after;
} dync__verify_global;

/* What else a leaf from elsewhere has: its gradient, hooks and whether it wants one. */
typedef struct dync__verify_leaf {
    /* of: owned; gradients before and after the reference run: owned */
    dync__tensor *of, *before, *after;
    const char *source;
    int hooks;
    bool
        requires;
} dync__verify_leaf;
typedef struct dync__verify_cell {
    dync_cell *cell;
    dync_value before, after;
} dync__verify_cell;

struct dync__verify {
    dync_scope scope;
    const dync__compiled *f;
    const char *name; /* of what is compared, for the message */
    int n;
    int room;                            /* of the four arrays, one block */
    dync__tensor **real, **copy, **base; /* base: what copy is a view of, or NULL; owned */
    const char **source;
    DYNC__VEC(dync__verify_global) global;
    DYNC__VEC(dync__verify_leaf) leaf;
    DYNC__VEC(dync__verify_cell) cell; /* each once */
    dync_value expected;
    dync__error_slot error; /* of the reference run */
    uint64_t rng_seed, rng_offset;
    bool grad_off;
};

/* ---- copies ---------------------------------------------------------------------------------- */
static bool dync__verify_readable(const dync__tensor *t)
{
    return dync__device_is(t->device, DYNC__DEV_HOST) && (t->storage->data || t->numel == 0);
}

static dync__storage *dync__verify_storage(const dync__storage *from)
{
    dync__storage *s = dync__storage_new(from->device, from->size_bytes);
    if (s && from->data && from->size_bytes) memcpy(s->data, from->data, from->size_bytes);
    return s;
}

/* The number of an earlier input on the same storage whose copy a copy of input i can share it
 * with; -1. */
static int dync__verify_neighbour(const dync__verify *v, int i)
{
    for (int j = 0; j < i; j++)
        if (v->real[j]->storage == v->real[i]->storage &&
            (v->base[j] || dync__tensor_is_leaf(v->copy[j])))
            return j;
    return -1;
}

/* Does input i have a history, and lie where another input lies? */
static bool dync__verify_shares_history(dync__tensor *const *in, int n, int i)
{
    bool history = false, others = false;
    for (int k = 0; k < n; k++) {
        if (in[k]->storage != in[i]->storage) continue;
        others = others || in[k] != in[i];
        history = history || (dync__tensor_requires_grad(in[k]) && !dync__tensor_is_leaf(in[k]));
    }
    return history && others;
}

/* The memory of input i as the clone of a leaf, whole: inputs that lie there are views of it.
 * Owned. */
static dync__tensor *dync__verify_whole(const dync__tensor *x)
{
    dync__layout lay;
    int64_t items = (int64_t)(x->storage->size_bytes / dync__dtype_info(x->dtype)->bytes);
    dync__storage *storage = dync__layout_contiguous(&lay, 1, &items) == DYNC_OK
                                 ? dync__verify_storage(x->storage)
                                 : NULL;
    dync__tensor *leaf = storage ? dync__tensor_new(storage, x->dtype, &lay) : NULL, *clone;
    if (!leaf) return NULL;
    dync__tensor_set_requires_grad(leaf, true);
    clone = dync__open((dync_clone)(dync__give(leaf)));
    if (clone) dync__ref(clone);
    return clone;
}

static dync__tensor *dync__verify_view(dync__tensor *base, const dync__tensor *x)
{
    dync_dims shape = {.n = x->lay.ndim}, stride = {.n = x->lay.ndim};
    memcpy(shape.d, x->lay.shape, (size_t)shape.n * sizeof *shape.d);
    memcpy(stride.d, x->lay.stride, (size_t)stride.n * sizeof *stride.d);
    dync_tensor *h = (dync_as_strided)(dync__handle(base), shape, stride, x->lay.offset);
    dync__tensor *view = h ? dync__open(dync__tensor_requires_grad(x) ? h : dync_shallow_copy(h))
                           : NULL;
    if (view) dync__ref(view);
    return view;
}

/* Tensors on one storage stay so. A tensor that is no leaf becomes the clone of a leaf: it may be
 * written in place, as the original may; several on one storage become views of one clone. */
static dync__tensor *dync__verify_copy(dync__verify *v, dync__tensor *const *in, int n, int i)
{
    const dync__tensor *x = v->real[i];
    for (int j = 0; j < i; j++) {
        if (v->real[j] != x) continue;
        dync__ref(v->copy[j]);
        return v->copy[j];
    }
    int near = dync__verify_neighbour(v, i);
    bool leaf = dync__tensor_is_leaf(x) && dync__tensor_requires_grad(x);
    if (!leaf && dync__verify_shares_history(in, n, i)) {
        dync__tensor *base = near >= 0 ? v->base[near] ? v->base[near] : v->copy[near] : NULL;
        if (base) dync__ref(base);
        v->base[i] = base ? base : dync__verify_whole(x);
        return v->base[i] ? dync__verify_view(v->base[i], x) : NULL;
    }
    dync__storage *storage = near >= 0 && !v->base[near] ? v->copy[near]->storage : NULL;
    if (storage)
        dync__storage_ref(storage);
    else if (!(storage = dync__verify_storage(x->storage)))
        return NULL;
    dync__tensor *t = dync__tensor_new(storage, x->dtype, &x->lay);
    if (!t || !dync__tensor_requires_grad(x)) return t;
    dync__tensor_set_requires_grad(t, true);
    if (dync__tensor_is_leaf(x)) return t;
    dync__tensor *clone = dync__open((dync_clone)(dync__give(t)));
    if (clone) dync__ref(clone);
    return clone;
}

/* A leaf's gradient: the copy of the input that it is, or a copy of its own. */
static bool dync__verify_copy_grad(dync__verify *v, int i)
{
    const dync__tensor *grad = dync__tensor_grad(v->real[i]);
    if (!grad || !dync__verify_readable(grad) || !dync__tensor_is_leaf(v->copy[i]) ||
        dync__tensor_grad(v->copy[i]))
        return true;
    dync__tensor *g = NULL;
    for (int k = 0; k < v->n && !g; k++)
        if (v->real[k] == grad) g = v->copy[k];
    if (g) return dync__tensor_set_grad(v->copy[i], g) == DYNC_OK;
    dync__storage *same = dync__verify_storage(grad->storage);
    g = same ? dync__tensor_new(same, grad->dtype, &grad->lay) : NULL;
    bool good = g && dync__tensor_set_grad(v->copy[i], g) == DYNC_OK;
    dync__unref(g);
    return good;
}

static void dync__verify_free(dync__verify *v)
{
    for (int i = 0; i < v->n; i++) dync__unref(v->copy[i]);
    for (int i = 0; i < v->room - 1; i++) dync__unref(v->base[i]);
    for (int i = 0; i < v->global.n; i++) {
        size_t bytes = v->global.at[i].t->storage->size_bytes;
        dync__free(v->global.at[i].before, bytes);
        dync__free(v->global.at[i].after, bytes);
        dync__unref(v->global.at[i].t);
    }
    for (int i = 0; i < v->leaf.n; i++) {
        dync__unref(v->leaf.at[i].of);
        dync__unref(v->leaf.at[i].before);
        dync__unref(v->leaf.at[i].after);
    }
    dync__vec_free(&v->global);
    dync__vec_free(&v->leaf);
    dync__vec_free(&v->cell);
    dync__free(v->real, (size_t)v->room * 4 * sizeof *v->real);
    dync__free(v, sizeof *v);
}

/* The copies stand in a scope that stays open until the comparison. */
static dync__verify *dync__verify_new(const dync__compiled *f, const char *name, int n,
                                      dync__tensor *const *in)
{
    for (int i = 0; i < n; i++)
        if (!dync__verify_readable(in[i])) return NULL;
    dync__verify *v = dync__calloc(sizeof *v);
    if (!v) return NULL;
    v->room = n + 1;
    v->real = dync__calloc((size_t)v->room * 4 * sizeof *v->real);
    if (!v->real) {
        dync__free(v, sizeof *v);
        return NULL;
    }
    v->copy = v->real + v->room;
    v->base = v->copy + v->room;
    v->source = (const char **)(void *)(v->base + v->room);
    v->f = f;
    v->name = name;
    v->scope = dync_scope_begin();
    v->rng_seed = dync__tls.rng_seed;
    v->rng_offset = dync__tls.rng_offset;
    v->grad_off = dync__tls.grad_enabled_off;
    bool good = true;
    /* what has a history has one in the copy, whatever the mode now */
    dync__tls.grad_enabled_off = false;
    for (; v->n < n && good; v->n += good) {
        v->real[v->n] = in[v->n];
        v->copy[v->n] = dync__verify_copy(v, in, n, v->n);
        good = v->copy[v->n] != NULL;
    }
    for (int i = 0; i < v->n && good; i++) good = dync__verify_copy_grad(v, i);
    dync__tls.grad_enabled_off = v->grad_off;
    if (good) return v;
    dync_scope_end(&v->scope);
    dync__verify_free(v);
    return NULL;
}

static bool dync__verify_add_global(dync__verify *v, dync__tensor *t, const char *source)
{
    for (int i = 0; i < v->n; i++)
        if (v->real[i]->storage == t->storage) return true;
    for (int i = 0; i < v->global.n; i++)
        if (v->global.at[i].t->storage == t->storage) return true;
    size_t bytes = t->storage->size_bytes;
    if (!dync__verify_readable(t) || bytes == 0) return true;
    dync__verify_global g = {t, source, dync__alloc(bytes), dync__alloc(bytes)};
    if (g.before) memcpy(g.before, t->storage->data, bytes);
    if (g.before && g.after && dync__vec_push(&v->global, g)) {
        dync__ref(t);
        return true;
    }
    dync__free(g.before, bytes);
    dync__free(g.after, bytes);
    return false;
}

static bool dync__verify_add_leaf(dync__verify *v, dync__tensor *t, const char *source)
{
    if (!dync__tensor_is_leaf(t)) return true;
    dync__verify_leaf l = {t,
                           dync__tensor_grad(t),
                           NULL,
                           source,
                           (int)(dync__hooks_mark(t) >> 32),
                           (t->flags & DYNC__T_REQUIRES_GRAD) != 0};
    if (!dync__vec_push(&v->leaf, l)) return false;
    dync__ref(t);
    if (!l.before) return true;
    dync__ref(l.before);
    return dync__verify_add_global(v, l.before, source);
}

/* Cells are told before they are written. */
static DYNC__TLS dync__verify *dync__verify_now;
static bool dync__verify_cell_set(struct dync__cell *cell, dync_value value)
{
    dync__verify *v = dync__verify_now;
    (void)value;
    for (int i = 0; v && i < v->cell.n; i++)
        if (v->cell.at[i].cell == dync__cell_handle(cell)) return false;
    dync__verify_cell c = {dync__cell_handle(cell), cell->value, cell->value};
    if (v) (void)!dync__vec_push(&v->cell, c);
    return false;
}
DYNC__FN const dync__grad_intercept *dync__verify_intercept(void)
{
    static const dync__grad_intercept writes = {.cell_set = dync__verify_cell_set};
    return &writes;
}

static void dync__verify_restore_leaf(dync__verify_leaf *l)
{
    dync__tensor *now = dync__tensor_grad(l->of);
    if (now) dync__ref(now);
    l->after = now;
    (void)dync__tensor_set_grad(l->of, l->before);
    dync__hooks_truncate(l->of, l->hooks);
    dync__tensor_set_requires_grad(l->of, l->requires);
}

/* What the reference run wrote is kept aside and taken back. */
static void dync__verify_restore(dync__verify *v)
{
    for (int i = 0; i < v->leaf.n; i++) dync__verify_restore_leaf(&v->leaf.at[i]);
    for (int i = 0; i < v->cell.n; i++) {
        dync__cell *cell = dync__cell_peek(v->cell.at[i].cell);
        if (!cell) continue;
        v->cell.at[i].after = cell->value;
        cell->value = v->cell.at[i].before;
    }
    for (int i = 0; i < v->global.n; i++) {
        dync__storage *s = v->global.at[i].t->storage;
        memcpy(v->global.at[i].after, s->data, s->size_bytes);
        memcpy(s->data, v->global.at[i].before, s->size_bytes);
    }
    dync__tls.rng_seed = v->rng_seed;
    dync__tls.rng_offset = v->rng_offset;
    dync__tls.grad_enabled_off = v->grad_off;
}

/* ---- comparing ------------------------------------------------------------------------------- */
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

static bool dync__verify_near(const void *a, const void *b, int dtype, double tolerance)
{
    if (tolerance == 0) return dync__load_i64(a, dtype) == dync__load_i64(b, dtype);
    double x = dync__load_f64(a, dtype), y = dync__load_f64(b, dtype);
    if (x != x || y != y) return x != x && y != y;
    double gap = x > y ? x - y : y - x, size = y < 0 ? -y : y;
    return (x >= y && x <= y) || gap <= tolerance * (1 + size);
}

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
        dync__str_addf(s, "%.9g", dync__load_f64(p, dtype));
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
                   dync__dtype_info(got->dtype)->fx, tolerance, (long long)wrong,
                   (long long)got->numel);
    dync_status status = dync__verify_differs(v, what, dync__str_get(&s));
    dync__str_free(&s);
    return status;
}

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

static dync_status dync__verify_scalar(const dync__verify *v, const char *what, dync_value got,
                                       dync_value expected)
{
    bool same = got.kind == expected.kind;
    switch (expected.kind) {
    case DYNC_KIND_INT: same = same && got.as.i == expected.as.i; break;
    case DYNC_KIND_BOOL: same = same && got.as.b == expected.as.b; break;
    case DYNC_KIND_FLOAT:
        same = same && dync__verify_near(&got.as.f, &expected.as.f, DYNC_F64, 1e-9);
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
static dync_status dync__verify_compare(dync__verify *v, dync_value *got, bool narrowed)
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

static void dync__verify_close(dync__verify *v, dync_value *keep)
{
    dync_scope scope = v->scope;
    dync__verify_free(v);
    dync__scope_end_keep(&scope, keep);
}

/* ---- a cached call --------------------------------------------------------------------------- */
typedef struct dync__verify_walk {
    const dync__verify *v;
    int k;
} dync__verify_walk;

static dync_tensor *dync__verify_arg(void *user, dync_tensor *h)
{
    dync__verify_walk *w = user;
    (void)h;
    return dync__handle(w->v->copy[w->k++]);
}

static void dync__verify_reference(dync__verify *v, const dync__callargs *call)
{
    dync_value args[DYNC__MAX_LEAVES * 2];
    dync__verify_walk walk = {v, 0};
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    dync__verify_running = true;
    dync__verify_now = v;
    for (int i = 0; i < call->nargs; i++)
        args[i] = dync__value_map(call->args[i], dync__verify_arg, &walk);
    v->expected = dync__callee_invoke(&v->f->callee, call->nargs, args);
    dync__verify_running = false;
    dync__verify_now = NULL;
    v->error = dync__error_guard_end(&guard);
    dync__verify_restore(v);
}

/* Runs the C function on copies. NULL: nothing to compare (it is off, or the entry is traced). */
DYNC__FN dync__verify *dync__verify_begin(const dync__compiled *f, const dync__cache_entry *e,
                                          const dync__callargs *call)
{
    if (!dync__verify_on() || e->open || call->nargs > DYNC__MAX_LEAVES * 2) return NULL;
    dync__verify *v = dync__verify_new(f, f->name, call->n_tensors, call->tensor);
    if (!v) return NULL;
    bool ok = true;
    for (int i = 0; i < v->n; i++) v->source[i] = e->tensor[i].source;
    for (int i = 0; i < e->foreign.n && ok; i++) {
        const dync__foreign *g = &e->foreign.at[i];
        dync__tensor *t = g->owner ? NULL : dync__peek(g->address ? *g->address : g->handle);
        if (t)
            ok = dync__verify_add_global(v, t, g->guard.source) &&
                 dync__verify_add_leaf(v, t, g->guard.source);
    }
    if (ok) {
        dync__verify_reference(v, call);
        return v;
    }
    dync_value none = DYNC_NONE;
    dync__verify_close(v, &none);
    return NULL;
}

/* v is taken over. status and *result are those of the compiled call. */
DYNC__FN dync_status dync__verify_end(dync__verify *v, dync_status status, dync_value *result)
{
    if (status == DYNC_OK) status = dync__verify_compare(v, result, false);
    if (status != DYNC_OK) *result = DYNC_NONE;
    dync__verify_close(v, result);
    return status;
}

/* ---- a segment ------------------------------------------------------------------------------- */
static dync_value dync__verify_list(dync__tensor *const *t, int n)
{
    dync_value list = dync__list_new(n);
    for (int i = 0; list.kind == DYNC_KIND_LIST && i < n; i++)
        if (t[i])
            dync__list_set(list, i,
                           t[i]->flags & DYNC__T_NUMBER ? dync__number_value(t[i])
                                                        : dync_v_tensor(dync__handle(t[i])));
    return list;
}

/* Interprets the segment's graph on copies of its inputs. */
DYNC__FN dync__verify *dync__verify_segment_begin(const dync__compiled *f, const dync__segment *s,
                                                  dync__tensor *const *in)
{
    if (!dync__verify_on()) return NULL;
    dync__verify *v = dync__verify_new(f, f->name, s->n_in, in);
    if (!v) return NULL;
    dync__arena arena = {0};
    dync__arg *args = dync__arena_alloc(&arena, (size_t)(v->n + 1) * sizeof *args), out = {0};
    dync__error_guard guard;
    dync_value none = DYNC_NONE;
    if (!args) {
        dync__verify_close(v, &none);
        return NULL;
    }
    for (int i = 0; i < v->n; i++) {
        args[i] = in[i]->flags & DYNC__T_NUMBER ? dync__arg_value(dync__number_value(in[i]))
                                                : dync__arg_t(v->copy[i]);
        v->source[i] = s->graph->node.at[i]->source;
    }
    dync__error_guard_begin(&guard);
    dync__verify_running = true;
    if (dync__graph_eval(s->graph, args, v->n, &arena, &out) == DYNC_OK)
        v->expected = dync__arg_to_value(&out);
    dync__verify_running = false;
    v->error = dync__error_guard_end(&guard);
    dync__arena_free(&arena);
    dync__verify_restore(v);
    return v;
}

DYNC__FN dync_status dync__verify_segment_end(dync__verify *v, dync_status status,
                                              dync__tensor **out, int n_out)
{
    dync_value none = DYNC_NONE, got = status == DYNC_OK ? dync__verify_list(out, n_out) : none;
    if (status == DYNC_OK) status = dync__verify_compare(v, &got, true);
    for (int i = 0; status != DYNC_OK && i < n_out; i++) {
        dync__unref(out[i]);
        out[i] = NULL;
    }
    dync__verify_close(v, &none);
    return status;
}
