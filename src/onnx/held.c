/* onnx/held.c: the tensors that a model keeps: weights, constants, and what is computed of these
 * alone. After data.c.
 *
 * A walk meets the same tensors as the walk before, so that code which was compiled for them is
 * good again. Walks run in several threads. */
#include "../dync.in.h"
#include "onnx.h"
DYNC__COLD

/* calls that are kept; more are made at every walk */
enum { DYNC__ONNX_FOLDED_MOST = 4096 };

/* With l->lock held. Twice is once; a failure leaves it unheld. */
static dync_status dync__onnx_hold_locked(dync__onnx_loaded *l, dync__tensor *t)
{
    if (dync__map_get(&l->held, t->id, NULL)) return DYNC_OK;
    if (!dync__vec_reserve(&l->owned, l->owned.n + 1) || !dync__map_put(&l->held, t->id, 1) ||
        !dync__map_put(&l->held_storage, (uint64_t)(uintptr_t)t->storage, 1))
        return DYNC_ERR_MEMORY;
    dync__ref(t);
    l->owned.at[l->owned.n++] = t;
    return DYNC_OK;
}

DYNC__FN dync_status dync__onnx_hold(dync__onnx_loaded *l, dync__tensor *t)
{
    dync__lock(&l->lock);
    dync_status status = dync__onnx_hold_locked(l, t);
    dync__unlock(&l->lock);
    return status;
}

DYNC__FN bool dync__onnx_holds(dync__onnx_loaded *l, const dync__tensor *t)
{
    dync__lock(&l->lock);
    bool held = dync__map_get(&l->held, t->id, NULL);
    dync__unlock(&l->lock);
    return held;
}

DYNC__FN bool dync__onnx_holds_memory(dync__onnx_loaded *l, const dync__tensor *t)
{
    dync__lock(&l->lock);
    bool held = dync__map_get(&l->held_storage, (uint64_t)(uintptr_t)t->storage, NULL);
    dync__unlock(&l->lock);
    return held;
}

/* ---- calls of held tensors alone ------------------------------------------------------------- */

/* With l->lock held. recursion: lists. 0: an argument that is neither held nor a plain value. Held
 * tensors are hashed by id, which names their value: nobody writes them. */
static uint64_t dync__onnx_fold_hash(const dync__onnx_loaded *l, uint64_t h, int n,
                                     const dync__arg *a)
{
    for (int i = 0; i < n && h; i++) {
        h = dync__hash_mix(h, (uint64_t)a[i].kind);
        switch (a[i].kind) {
        case DYNC__A_NONE: break;
        case DYNC__A_TENSOR:
            h = dync__map_get(&l->held, a[i].as.t->id, NULL) ? dync__hash_mix(h, a[i].as.t->id) : 0;
            break;
        case DYNC__A_DIMS:
            h = dync__hash_mix(h,
                               dync__hash_bytes(a[i].as.dims, (size_t)a[i].n * sizeof(int64_t), 1));
            break;
        case DYNC__A_STR:
            h = dync__hash_mix(h, dync__hash_bytes(a[i].as.s, strlen(a[i].as.s), 2));
            break;
        case DYNC__A_LIST: h = dync__onnx_fold_hash(l, h, a[i].n, a[i].as.list); break;
        case DYNC__A_GRAPH:
        case DYNC__A_PTR:
        case DYNC__A_NODE: return 0;
        default: h = dync__hash_mix(h, (uint64_t)a[i].as.i);
        }
    }
    return h;
}

/* recursion: lists. Equal hashes may be of different calls: this decides. */
static bool dync__onnx_fold_same(int n, const dync__arg *a, const dync__arg *b)
{
    for (int i = 0; i < n; i++) {
        bool same = a[i].kind == b[i].kind && a[i].n == b[i].n;
        if (!same) return false;
        if (a[i].kind == DYNC__A_TENSOR)
            same = a[i].as.t == b[i].as.t;
        else if (a[i].kind == DYNC__A_DIMS)
            same = memcmp(a[i].as.dims, b[i].as.dims, (size_t)a[i].n * sizeof(int64_t)) == 0;
        else if (a[i].kind == DYNC__A_STR)
            same = strcmp(a[i].as.s, b[i].as.s) == 0;
        else if (a[i].kind == DYNC__A_LIST)
            same = dync__onnx_fold_same(a[i].n, a[i].as.list, b[i].as.list);
        else if (a[i].kind != DYNC__A_NONE)
            same = a[i].as.i == b[i].as.i;
        if (!same) return false;
    }
    return true;
}

/* recursion: lists. Arguments that outlive the call: in the arena of the model, whose lock is held;
 * the tensors are owned by the model already. NULL: no memory. */
static dync__arg *dync__onnx_fold_copy(dync__arena *arena, int n, const dync__arg *a)
{
    dync__arg *out = dync__arena_alloc(arena, ((size_t)n + 1) * sizeof *out);
    for (int i = 0; out && i < n; i++) {
        const void *kept = out;
        out[i] = a[i];
        if (a[i].kind == DYNC__A_DIMS)
            kept = out[i].as.dims =
                dync__arena_copy(arena, a[i].as.dims, ((size_t)a[i].n + 1) * sizeof(int64_t));
        else if (a[i].kind == DYNC__A_STR)
            kept = out[i].as.s = dync__arena_strdup(arena, a[i].as.s);
        else if (a[i].kind == DYNC__A_LIST)
            kept = out[i].as.list = dync__onnx_fold_copy(arena, a[i].n, a[i].as.list);
        if (!kept) return NULL;
    }
    return out;
}

/* What gives the same results each time and writes nothing. */
static bool dync__onnx_fold_can(const dync__opcall *c)
{
    return c->row->cls != DYNC__INPLACE && !(c->row->flags & (DYNC__OP_WRITES | DYNC__OP_RANDOM)) &&
           c->row->nout > 0;
}

DYNC__FN bool dync__onnx_folded_before(dync__onnx_loaded *l, dync__opcall *c)
{
    uint64_t at;
    bool found = false;
    if (!dync__onnx_fold_can(c)) return false;
    dync__lock(&l->lock);
    uint64_t h = dync__onnx_fold_hash(l, (uint64_t)c->op + 1, c->nargs, c->args);
    if (h && dync__map_get(&l->folded_at, h, &at)) {
        const dync__onnx_folded *f = &l->folded.at[at];
        found = f->op == c->op && f->nargs == c->nargs &&
                dync__onnx_fold_same(c->nargs, f->args, c->args);
        for (int i = 0; found && i < f->nout; i++) dync__ref(c->out[i] = f->out[i]);
        if (found) c->nout = f->nout;
    }
    dync__unlock(&l->lock);
    return found;
}

/* Without memory, or where there are too many, the next walk computes it again. */
DYNC__FN void dync__onnx_fold_keep(dync__onnx_loaded *l, const dync__opcall *c)
{
    if (!dync__onnx_fold_can(c)) return;
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    dync__lock(&l->lock);
    uint64_t h = dync__onnx_fold_hash(l, (uint64_t)c->op + 1, c->nargs, c->args);
    dync__onnx_folded f = {.op = c->op, .nargs = c->nargs, .nout = c->nout};
    if (h && !dync__map_get(&l->folded_at, h, NULL) && l->folded.n < DYNC__ONNX_FOLDED_MOST &&
        (f.args = dync__onnx_fold_copy(&l->arena, c->nargs, c->args)) != NULL) {
        dync_status status = DYNC_OK;
        for (int i = 0; i < c->nout && status == DYNC_OK; i++) {
            f.out[i] = c->out[i];
            status = f.out[i] ? dync__onnx_hold_locked(l, f.out[i]) : DYNC_ERR_UNSUPPORTED;
        }
        if (status == DYNC_OK && dync__vec_push(&l->folded, f))
            (void)dync__map_put(&l->folded_at, h, (uint64_t)(l->folded.n - 1));
    }
    dync__unlock(&l->lock);
    dync__error_guard_end(&guard);
}

/* ---- equal tensors --------------------------------------------------------------------------- */

enum { DYNC__ONNX_SAME_MOST = 64 }; /* elements */

static bool dync__onnx_contents_equal(const dync__tensor *a, const dync__tensor *b, size_t bytes)
{
    return a->dtype == b->dtype && a->lay.ndim == b->lay.ndim &&
           memcmp(a->lay.shape, b->lay.shape, (size_t)a->lay.ndim * sizeof(int64_t)) == 0 &&
           memcmp(dync__tensor_data(a), dync__tensor_data(b), bytes) == 0;
}

DYNC__FN dync__tensor *dync__onnx_held_same(dync__onnx_loaded *l, dync__tensor *t)
{
    if (t->numel == 0 || t->numel > DYNC__ONNX_SAME_MOST ||
        !dync__device_is(t->device, DYNC__DEV_HOST) || !dync__layout_is_contiguous(&t->lay))
        return t;
    size_t bytes = (size_t)t->numel * (size_t)dync__dtype_info(t->dtype)->bytes;
    uint64_t at, h = dync__hash_bytes(dync__tensor_data(t), bytes, (uint64_t)t->dtype + 3);
    dync__error_guard guard;
    dync__error_guard_begin(&guard); /* not kept is made again */
    dync__lock(&l->lock);
    if (dync__map_get(&l->same_at, h, &at)) {
        if (dync__onnx_contents_equal(l->owned.at[at], t, bytes)) t = l->owned.at[at];
    } else if (l->n_same < DYNC__ONNX_FOLDED_MOST && !dync__map_get(&l->held, t->id, NULL) &&
               dync__onnx_hold_locked(l, t) == DYNC_OK &&
               dync__map_put(&l->same_at, h, (uint64_t)(l->owned.n - 1))) {
        l->n_same++;
    }
    dync__unlock(&l->lock);
    dync__error_guard_end(&guard);
    return t;
}

DYNC__FN void dync__onnx_held_end(dync__onnx_loaded *l)
{
    for (int i = 0; i < l->owned.n; i++) dync__unref(l->owned.at[i]);
    dync__vec_free(&l->owned);
    dync__vec_free(&l->folded);
    dync__map_free(&l->held);
    dync__map_free(&l->held_storage);
    dync__map_free(&l->folded_at);
    dync__map_free(&l->same_at);
}
