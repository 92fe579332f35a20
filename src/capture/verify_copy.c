/* capture/verify_copy.c: the copies that the reference run of verify.c works on, and what it leaves
 * as it was: globals, module buffers, cells, .grad and hooks. After segment_run.c. Tensors of other
 * devices are not compared. */
#include "../dync.in.h"
#include "verify.h"
DYNC__COLD

static DYNC__TLS bool dync__verify_running;
static DYNC__TLS dync__verify *dync__verify_now; /* the reference run whose cells are told */

/* True inside the reference run: compiled functions called from there run as they are written. */
DYNC__FN bool dync__verify_inside(void) { return dync__verify_running; }

/* The reference begins or ends; now: what is told of the cells that it writes, or NULL. */
DYNC__FN void dync__verify_run(bool running, dync__verify *now)
{
    dync__verify_running = running;
    dync__verify_now = now;
}

/* ---- copies ---------------------------------------------------------------------------------- */
DYNC__FN bool dync__verify_readable(const dync__tensor *t)
{
    return dync__device_is(t->device, DYNC__DEV_HOST) && (t->storage->data || t->numel == 0);
}

/* The whole storage copied, not only what a tensor shows of it: offsets and strides stay valid.
 * NULL: no memory. */
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

/* Has it a history, and is it not all of its memory in order? A clone would lie otherwise. */
static bool dync__verify_is_part(const dync__tensor *x)
{
    size_t bytes = (size_t)x->numel * dync__dtype_info(x->dtype)->bytes;
    return dync__tensor_requires_grad(x) && !dync__tensor_is_leaf(x) &&
           (x->lay.offset || bytes != x->storage->size_bytes ||
            !dync__layout_is_contiguous(&x->lay));
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

/* A view of base with x's layout (owned); where x has no history the view has none either. */
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
    if (!leaf && (dync__verify_is_part(x) || dync__verify_shares_history(in, n, i))) {
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

DYNC__FN void dync__verify_free(dync__verify *v)
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
DYNC__FN dync__verify *dync__verify_new(const dync__compiled *f, const char *name, int n,
                                        dync__tensor *const *in)
{
    if (f->undone) return NULL;
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
    v->grad_off = dync__grad_is_off();
    bool good = true;
    /* what has a history has one in the copy, whatever the mode now */
    dync__grad_off(false);
    for (; v->n < n && good; v->n += good) {
        v->real[v->n] = in[v->n];
        v->copy[v->n] = dync__verify_copy(v, in, n, v->n);
        good = v->copy[v->n] != NULL;
    }
    for (int i = 0; i < v->n && good; i++) good = dync__verify_copy_grad(v, i);
    dync__grad_off(v->grad_off);
    if (good) return v;
    dync_scope_end(&v->scope);
    dync__verify_free(v);
    return NULL;
}

/* Keeps the bytes of a tensor that the reference may write. Inputs need it not: the reference
 * has copies of them. false: no memory. */
DYNC__FN bool dync__verify_add_global(dync__verify *v, dync__tensor *t, const char *source)
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

/* Keeps a leaf's gradient, the number of its hooks and requires_grad, which dync__verify_restore
 * puts back. */
DYNC__FN bool dync__verify_add_leaf(dync__verify *v, dync__tensor *t, const char *source)
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

/* ---- put back -------------------------------------------------------------------------------- */
/* Cells are told before they are written. */
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

/* What the reference run is watched by: writes of cells only. */
DYNC__FN const dync__grad_intercept *dync__verify_intercept(void)
{
    static const dync__grad_intercept writes = {.cell_set = dync__verify_cell_set};
    return &writes;
}

/* The gradient that the reference left is kept in `after` (a reference) for the comparison. */
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
DYNC__FN void dync__verify_restore(dync__verify *v)
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
    dync__grad_off(v->grad_off);
}
