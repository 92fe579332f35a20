/* tensor/scope.c: who owns what the user's calls return. After list.c.
 *
 * A thread has one stack of entries (tensors, lists, memory, deferred calls) and one of scope
 * marks. A mark says where its scope begins; entries below the first mark belong to the root scope,
 * which ends with the thread or dync_shutdown.
 *
 *   entry   t0  t1 | t2  l0 | t3         mark   {1, 2}  {2, 4}
 *           root     scope 1  scope 2
 *
 * Ending a scope releases its entries from the top; scopes left open inside end with it, and ending
 * one that is already gone does nothing: marks carry a serial number. What a release itself adds to
 * the stack is released by the same loop. */
#include "../dync.in.h"
#include "tensor.h"
DYNC__WARM

enum { DYNC__ENTRY_TENSOR, DYNC__ENTRY_LIST, DYNC__ENTRY_MEMORY, DYNC__ENTRY_DEFERRED };
enum { DYNC__SCOPE_HINT = 100000 };

/* size: of MEMORY */
typedef struct dync__entry {
    void *object;
    size_t size;
    int kind;
} dync__entry;
typedef struct dync__deferred {
    void (*fn)(void *);
    void *arg;
} dync__deferred;
typedef struct dync__scope_mark {
    uintptr_t serial;
    int start;
} dync__scope_mark;

typedef struct dync__scopes {
    DYNC__VEC(dync__entry) entry;
    DYNC__VEC(dync__scope_mark) mark;
    int start; /* of the innermost scope */
    uintptr_t serial;
    bool hinted;
} dync__scopes;

/* dync__scope_watch_fakes has set both. */
static void (*dync__scope_unwind_watched)(dync__scopes *, int start);
static void (*dync__scope_released)(dync__tensor *);

static void dync__scopes_thread_end(dync__thread *thread);

DYNC__RARE static DYNC__NOINLINE dync__scopes *dync__scopes_new(void)
{
    dync__thread_state_on_exit(dync__scopes_thread_end);
    dync__thread_arm();
    dync__tls.scopes = dync__calloc(sizeof *dync__tls.scopes);
    return dync__tls.scopes;
}

DYNC__OFTEN DYNC__INLINE dync__scopes *dync__scopes_get(void)
{
    dync__scopes *s = dync__tls.scopes;
    return DYNC__LIKELY(s != NULL) ? s : dync__scopes_new();
}

/* ---- entries --------------------------------------------------------------------------------- */

/* Once a thread: a loop without a scope holds all its tensors until the end. */
static DYNC__NOINLINE void dync__scope_hint(dync__scopes *s)
{
    if (s->hinted || s->mark.n > 1 || s->entry.n - s->start < DYNC__SCOPE_HINT) return;
    s->hinted = true;
    dync__warn(
        "the outermost scope holds %d tensors: put the body of the loop that makes them into "
        "DYNC_SCOPE { ... }",
        DYNC__SCOPE_HINT);
}

/* object is owned by the innermost scope from now on; false: no memory, and it is still the
 * caller's. */
DYNC__OFTEN DYNC__INLINE bool dync__scope_push(int kind, void *object, size_t size)
{
    dync__scopes *s = dync__scopes_get();
    if (DYNC__UNLIKELY(!s)) return false;
    if (DYNC__UNLIKELY(s->entry.n == s->entry.cap) && !dync__vec_reserve(&s->entry, s->entry.n + 1))
        return false;
    s->entry.at[s->entry.n++] = (dync__entry){object, size, kind};
    if (DYNC__UNLIKELY(s->entry.n - s->start == DYNC__SCOPE_HINT)) dync__scope_hint(s);
    return true;
}

static DYNC__NOINLINE void dync__entry_release(const dync__entry *e)
{
    dync__deferred call;
    switch (e->kind) {
    case DYNC__ENTRY_LIST: dync__list_unref(e->object); break;
    case DYNC__ENTRY_MEMORY: dync__free(e->object, e->size); break;
    default:
        call = *(dync__deferred *)e->object;
        dync__free(e->object, sizeof call);
        call.fn(call.arg);
    }
}

/* Releases from the top down to `start`, with all that is added meanwhile. */
DYNC__OFTEN static void dync__scope_unwind(dync__scopes *s, int start)
{
    while (s->entry.n > start) {
        dync__entry e = s->entry.at[--s->entry.n];
        if (DYNC__LIKELY(e.kind == DYNC__ENTRY_TENSOR))
            dync__unref(e.object);
        else
            dync__entry_release(&e);
    }
}

DYNC__RARE static void dync__scopes_thread_end(dync__thread *thread)
{
    dync__scopes *s = thread->scopes;
    if (!s) return;
    s->mark.n = 0;
    s->start = 0;
    dync__scope_unwind(s, 0);
    thread->scopes = NULL;
    dync__vec_free(&s->entry);
    dync__vec_free(&s->mark);
    dync__free(s, sizeof *s);
}

DYNC__RARE DYNC__FN void dync__scope_end_all(void) { dync__scopes_thread_end(&dync__tls); }
DYNC__FN int dync__scope_depth(void) { return dync__tls.scopes ? dync__tls.scopes->mark.n : 0; }

/* Takes a reference over and returns the handle of it, which the innermost scope owns. NULL in, or
 * no memory: NULL; the reference is gone in any case. */
DYNC__OFTEN DYNC__FN dync_tensor *dync__give(dync__tensor *owned)
{
    if (DYNC__UNLIKELY(!owned)) return NULL;
    if (DYNC__LIKELY(dync__scope_push(DYNC__ENTRY_TENSOR, owned, 0))) return dync__handle(owned);
    dync__unref(owned);
    return NULL;
}

/* Zeroed memory that lives as long as the innermost scope. */
DYNC__FN void *dync__scope_alloc(size_t n)
{
    void *p = dync__calloc(n);
    if (!p || dync__scope_push(DYNC__ENTRY_MEMORY, p, n)) return p;
    dync__free(p, n);
    return NULL;
}

/* fn(arg) is called when the innermost scope ends. false: no memory, it will not be called. */
DYNC__FN bool dync__scope_defer(void (*fn)(void *), void *arg)
{
    dync__deferred *d = dync__alloc(sizeof *d);
    if (!d) return false;
    *d = (dync__deferred){fn, arg};
    if (dync__scope_push(DYNC__ENTRY_DEFERRED, d, 0)) return true;
    dync__free(d, sizeof *d);
    return false;
}

/* n values, all NONE, of the innermost scope. NONE: no memory, or n < 0. */
DYNC__FN dync_value dync__list_new(int n)
{
    dync_value none = {DYNC_KIND_NONE, 0, {0}}, v = {DYNC_KIND_LIST, 0, {0}};
    dync__list *l = dync__list_make(n);
    if (!l) return none;
    v.as.l = dync__list_handle(l);
    if (v.as.l && dync__scope_push(DYNC__ENTRY_LIST, l, 0)) return v;
    dync__list_unref(l);
    return none;
}

/* ---- scopes ---------------------------------------------------------------------------------- */

/* {NULL, false} without memory: its end does nothing, and the outer scope owns what is made. */
DYNC__OFTEN DYNC_API dync_scope dync_scope_begin(void)
{
    dync__scopes *s = dync__scopes_get();
    if (DYNC__UNLIKELY(!s ||
                       (s->mark.n == s->mark.cap && !dync__vec_reserve(&s->mark, s->mark.n + 1))))
        return (dync_scope){NULL, false};
    s->start = s->entry.n;
    s->mark.at[s->mark.n++] = (dync__scope_mark){++s->serial, s->start};
    return (dync_scope){(void *)s->serial, true};
}

/* Place of the scope among the marks; -1: it has ended. */
DYNC__OFTEN static int dync__scope_find(const dync__scopes *s, const dync_scope *scope)
{
    int i = s ? s->mark.n - 1 : -1;
    while (i >= 0 && s->mark.at[i].serial != (uintptr_t)scope->mark) i--;
    return i;
}

typedef DYNC__VEC(dync__tensor *) dync__fakes;
DYNC__RARE static void dync__fakes_add(dync__fakes *to, dync__tensor *t)
{
    if (t && (t->flags & DYNC__T_FAKE)) (void)dync__vec_push(to, t);
}

DYNC__RARE static void dync__fakes_add_list(dync__fakes *to, const dync__list *l)
{
    for (int i = 0; l && i < l->n; i++) {
        if (l->items[i].kind == DYNC_KIND_TENSOR) dync__fakes_add(to, dync__peek(l->items[i].as.t));
        dync__fakes_add_list(to, dync__value_list(l->items[i]));
    }
}

/* A trace holds what it records, which must not outlive its scope for the program: as in plain
 * code, a handle that nothing else holds is stale. */
DYNC__RARE static DYNC__NOINLINE void dync__scope_unwind_traced(dync__scopes *s, int start)
{
    dync__fakes fakes = {0};
    for (int i = start; i < s->entry.n; i++) {
        const dync__entry *e = &s->entry.at[i];
        if (e->kind == DYNC__ENTRY_TENSOR) dync__fakes_add(&fakes, e->object);
        if (e->kind == DYNC__ENTRY_LIST) dync__fakes_add_list(&fakes, e->object);
    }
    dync__scope_unwind(s, start);
    void (*released)(dync__tensor *) = DYNC__ATOMIC_LOAD(&dync__scope_released);
    for (int i = 0; i < fakes.n; i++) /* a slot lasts, and a free one has no reference */
        if (DYNC__ATOMIC_PEEK(&fakes.at[i]->refs) == 1) released(fakes.at[i]);
    dync__vec_free(&fakes);
}

DYNC__FN void dync__scope_watch_fakes(void (*released)(dync__tensor *))
{
    DYNC__ATOMIC_STORE(&dync__scope_released, released);
    DYNC__ATOMIC_STORE(&dync__scope_unwind_watched, dync__scope_unwind_traced);
}

/* The mark stays while entries are released: what that adds belongs to the scope that ends. */
DYNC__OFTEN static void dync__scope_close(dync__scopes *s, int i)
{
    int start = s->mark.at[i].start;
    s->mark.n = i + 1;
    s->start = start;
    void (*watched)(dync__scopes *, int) =
        DYNC__UNLIKELY(dync__tls.compiling) ? DYNC__ATOMIC_LOAD(&dync__scope_unwind_watched) : NULL;
    if (watched)
        watched(s, start);
    else
        dync__scope_unwind(s, start);
    s->mark.n = i;
    s->start = i > 0 ? s->mark.at[i - 1].start : 0;
}

DYNC__OFTEN DYNC_API void dync_scope_end(dync_scope *scope)
{
    if (!scope || !scope->open) return;
    scope->open = false;
    dync__scopes *s = dync__tls.scopes;
    int i = dync__scope_find(s, scope);
    if (DYNC__LIKELY(i >= 0)) dync__scope_close(s, i);
}

/* Moves the topmost entry of the object in [start of scope i, top) below that start; entries
 * between move up by one, so all keep their order. Scopes inside i that begin above it move with
 * them. False: the object is not owned there. */
static bool dync__scope_hand_down(dync__scopes *s, int i, const void *object)
{
    int start = s->mark.at[i].start, at = s->entry.n - 1;
    while (at >= start && s->entry.at[at].object != object) at--;
    if (at < start) return false;
    dync__entry e = s->entry.at[at];
    memmove(&s->entry.at[start + 1], &s->entry.at[start], (size_t)(at - start) * sizeof e);
    s->entry.at[start] = e;
    for (int k = i; k < s->mark.n; k++) s->mark.at[k].start += s->mark.at[k].start <= at;
    s->start = s->mark.at[s->mark.n - 1].start;
    return true;
}

/* Texts are plain memory of a scope, or the user's own. */
DYNC__RARE static void dync__scope_keep_texts(dync__scopes *s, int i, const dync_value *v)
{
    if (v->kind == DYNC_KIND_STR && v->as.s) dync__scope_hand_down(s, i, v->as.s);
    const dync__list *l = dync__value_list(*v);
    for (int k = 0; l && k < l->n; k++) dync__scope_keep_texts(s, i, &l->items[k]);
}

/* Is the object an item of the list, at any depth? */
DYNC__RARE static bool dync__list_holds(const dync__list *l, const void *object)
{
    for (int i = 0; i < l->n; i++) {
        const dync_value *v = &l->items[i];
        if (v->kind == DYNC_KIND_TENSOR && dync__peek(v->as.t) == object) return true;
        const dync__list *inner = dync__value_list(*v);
        if (inner && (inner == object || dync__list_holds(inner, object))) return true;
    }
    return false;
}

/* What lives in the scope by a list of it alone gets an entry of its own outside. */
DYNC__RARE static void dync__scope_lift_item(dync__scopes *s, int i, void *object, bool is_list)
{
    for (int k = s->mark.at[i].start; k < s->entry.n; k++) {
        if (s->entry.at[k].kind != DYNC__ENTRY_LIST ||
            !dync__list_holds(s->entry.at[k].object, object))
            continue;
        if (!dync__scope_push(is_list ? DYNC__ENTRY_LIST : DYNC__ENTRY_TENSOR, object, 0)) return;
        if (is_list)
            dync__list_ref(object);
        else
            dync__ref(object);
        dync__scope_hand_down(s, i, object);
        return;
    }
}

/* Ends the scope, but *v (a tensor, list or text) goes to the scope around it. */
DYNC__FN void dync__scope_end_keep(dync_scope *scope, dync_value *v)
{
    dync__scopes *s = dync__tls.scopes;
    if (!scope || !scope->open) return;
    int i = dync__scope_find(s, scope);
    if (i >= 0 && v) {
        dync__tensor *t = v->kind == DYNC_KIND_TENSOR ? dync__peek(v->as.t) : NULL;
        if (t && DYNC__UNLIKELY(!dync__scope_hand_down(s, i, t)))
            dync__scope_lift_item(s, i, t, false);
        dync__list *l = dync__value_list(*v);
        if (l && !dync__scope_hand_down(s, i, l)) dync__scope_lift_item(s, i, l, true);
        if (v->kind == DYNC_KIND_STR || l) dync__scope_keep_texts(s, i, v);
    }
    dync_scope_end(scope);
}

DYNC__RARE DYNC_API dync_tensor *dync_escape(dync_tensor *handle)
{
    dync__scopes *s = dync__tls.scopes;
    dync__tensor *t = dync__open(handle);
    if (!t) return NULL;
    /* or it lives longer already */
    if (s && s->mark.n > 0 && !dync__scope_hand_down(s, s->mark.n - 1, t))
        dync__scope_lift_item(s, s->mark.n - 1, t, false);
    return handle;
}

/* A reference of the user's own, beyond all scopes, until dync_release. */
DYNC_API dync_tensor *(dync_retain)(dync_tensor * handle)
{
    dync__tensor *t = handle ? dync__open(handle) : NULL;
    if (!t) return NULL;
    dync__ref(t);
    (void)DYNC__ATOMIC_INC(&t->retains);
    return handle;
}

DYNC_API void(dync_release)(dync_tensor *handle)
{
    dync__tensor *t = handle ? dync__open(handle) : NULL;
    if (!t) return;
    int32_t n = DYNC__ATOMIC_PEEK(&t->retains);
    while (n > 0 && !DYNC__ATOMIC_CAS(&t->retains, &n, n - 1)) {}
    void (*released)(dync__tensor *) =
        DYNC__UNLIKELY(dync__tls.compiling) ? DYNC__ATOMIC_LOAD(&dync__scope_released) : NULL;
    bool last = released && (t->flags & DYNC__T_FAKE) && DYNC__ATOMIC_PEEK(&t->refs) == 2;
    if (n > 0)
        dync__unref(t);
    else
        dync__fail(DYNC_ERR_VALUE, "a tensor was released more often than retained: made by %s",
                   t->op ? t->op : "the user");
    if (last && n > 0) released(t);
}
