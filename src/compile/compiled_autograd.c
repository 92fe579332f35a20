/* compile/compiled_autograd.c: a whole backward captured at run time and compiled. After
 * ca_visit.c, ca_body.c and ca_list.c, which are its parts.
 *
 * While it is on in a thread, a backward is not walked but looked up. What the walk depends on is
 * told by the nodes (autograd/visit.c): words that must be the same, sizes, and saved tensors.
 * Saved tensors, seeds and gradients that leaves have already become one list of inputs. A backward
 * of a form not met before gets an ordinary compiled function of that list: its body walks the
 * nodes with the list's tensors put in the place of the saved ones, so that capture records the
 * operators of rules, AOT backward graphs and hook bodies. Gradients leave the graph as outputs and
 * are given to the leaves after every run.
 *
 * Gradients that are differentiated again (create_graph): what nodes saved enters the list with the
 * history that the walk would give it, and the function is called with grad mode on, so that AOT
 * autograd compiles it with a backward of its own, whose node stands behind the gradients.
 *
 * Sizes: a size in a node that an input has as well is bound to it: it is whatever that input's is,
 * and symbolic where capture makes that symbolic. Sizes that no input has are bound to one more
 * input, a tensor without elements of its own that only has them. Another call finds the entry if
 * every bound size agrees with its input and every other one is the same. */
#include "../dync.in.h"
#include "ca.h"
DYNC__COLD

/* Process-wide, a list with the newest first. Entries are found under the lock and stay until
 * dync_reset or shutdown, so they may be used outside of it. */
static struct {
    dync__mutex lock;
    dync__ca_entry *first;
    int n;
    bool warned;
} dync__ca_cache;

/* ---- the cache ------------------------------------------------------------------------------- */

/* Words are compared one by one, never by hash alone; sizes by where each comes from in this
 * call. */
static bool dync__ca_matches(const dync__ca *c, const dync__ca_entry *e, uint64_t hash,
                             const dync_backend *b)
{
    if (e->hash != hash || e->n_words != c->word.n || e->n_sizes != c->size.n ||
        e->backend.compile != b->compile || e->backend.user != b->user)
        return false;
    if (memcmp(e->word, c->word.at, (size_t)c->word.n * sizeof *e->word) != 0) return false;
    for (int i = 0; i < c->size.n; i++) {
        const dync__ca_source *s = &e->source[i];
        int64_t size = s->input < 0             ? s->size
                       : s->input == c->input.n ? c->size.at[e->carried[s->dim]]
                                                : c->input.at[s->input]->lay.shape[s->dim];
        if (c->size.at[i] != size) return false;
    }
    return true;
}

/* Size `at` of the entry's first call: the first input dim with that very number, else a dim of the
 * carrier, else (0, 1, or a full carrier) the number itself. Another call in which it no longer
 * agrees finds no match, and so gets an entry of its own. */
static dync__ca_source dync__ca_bind(const dync__ca *c, dync__ca_entry *e, int at)
{
    int64_t size = c->size.at[at];
    int k = 0;
    for (int i = 0; i < c->input.n && size > 1; i++)
        for (int d = 0; d < c->input.at[i]->lay.ndim; d++)
            if (c->input.at[i]->lay.shape[d] == size) return (dync__ca_source){i, d, size};
    while (k < e->n_carried && c->size.at[e->carried[k]] != size) k++;
    if (size < 2 || k == DYNC_MAX_DIMS) return (dync__ca_source){-1, 0, size};
    if (k == e->n_carried) e->carried[e->n_carried++] = at;
    return (dync__ca_source){c->input.n, k, size};
}

/* Makes the carrier of this call: strides of 0 over one element. */
static dync_status dync__ca_carry(dync__ca *c)
{
    const dync__ca_entry *e = c->entry;
    dync__layout one = {.ndim = 0}, lay = {.ndim = e->n_carried};
    if (!e->n_carried) return DYNC_OK;
    for (int d = 0; d < lay.ndim; d++) lay.shape[d] = c->size.at[e->carried[d]];
    dync__tensor *t = dync__tensor_empty(DYNC_F32, DYNC_CPU, &one);
    c->carrier = t ? dync__tensor_alias(t, DYNC_F32, &lay) : NULL;
    dync__unref(t);
    return c->carrier && dync__vec_push(&c->input, c->carrier) ? DYNC_OK : DYNC_ERR_MEMORY;
}

static void dync__ca_entry_free(dync__ca_entry *e)
{
    if (!e) return;
    dync__compiled_free(e->f);
    dync__free(e->word, (size_t)e->n_words * sizeof *e->word);
    dync__free(e->source, (size_t)e->n_sizes * sizeof *e->source + 1);
    dync__vec_free(&e->result);
    dync__free(e, sizeof *e);
}

static void dync__ca_cache_free(void)
{
    while (dync__ca_cache.first) {
        dync__ca_entry *e = dync__ca_cache.first;
        dync__ca_cache.first = e->next;
        dync__ca_entry_free(e);
    }
    dync__ca_cache.n = 0;
    dync__ca_cache.warned = false;
}

DYNC__DATA void (*dync__reset_backwards)(void) = dync__ca_cache_free;

/* Its function is dynamic from the start, where there are open sizes: those of backwards change as
 * those of forwards do. */
static dync__ca_entry *dync__ca_entry_new(const dync__ca *c, uint64_t hash, const dync_backend *b)
{
    dync__ca_entry *e = dync__calloc(sizeof *e);
    if (!e) return NULL;
    e->hash = hash;
    e->backend = *b;
    e->n_words = c->word.n;
    e->n_sizes = c->size.n;
    e->word = dync__alloc((size_t)e->n_words * sizeof *e->word);
    e->source = dync__alloc((size_t)e->n_sizes * sizeof *e->source + 1);
    dync_backend wrap = {.name = b->name, .compile = dync__ca_compile, .user = e};
    dync_compile_options opt = {.name = "compiled_autograd",
                                .args = "inputs",
                                .fullgraph = true,
                                .double_backward = c->walk->create_graph,
                                .recompile_limit = DYNC__CA_RECOMPILES,
                                .backend_object = &wrap,
                                .dynamic = DYNC__SYM_NONE ? DYNC_DYNAMIC_OFF : DYNC_DYNAMIC_ON};
    dync_callee callee = dync_fnv(dync__ca_body);
    callee.user = e;
    if (e->word && e->source)
        e->f = dync__compiled_peek(dync_compile_opt(callee, "compiled_autograd", opt));
    if (!e->f) {
        dync__ca_entry_free(e);
        return NULL;
    }
    memcpy(e->word, c->word.at, (size_t)e->n_words * sizeof *e->word);
    for (int i = 0; i < e->n_sizes; i++) e->source[i] = dync__ca_bind(c, e, i);
    return e;
}

/* NULL without an error: there are too many. */
static dync__ca_entry *dync__ca_find(dync__ca *c, const dync_backend *b)
{
    uint64_t hash = dync__hash_bytes(c->word.at, (size_t)c->word.n * sizeof *c->word.at,
                                     (uint64_t)(uintptr_t)b->compile);
    dync__lock(&dync__ca_cache.lock);
    dync__ca_entry *e = dync__ca_cache.first;
    while (e && !dync__ca_matches(c, e, hash, b)) e = e->next;
    bool full = e ? DYNC__ATOMIC_PEEK(&e->f->n_entries) >= DYNC__CA_RECOMPILES
                  : dync__ca_cache.n >= DYNC__CA_ENTRIES;
    bool warn = full && !dync__ca_cache.warned;
    if (warn) dync__ca_cache.warned = true;
    dync__unlock(&dync__ca_cache.lock);
    if (warn)
        dync__warn("compiled autograd met more than %d different backward graphs: further "
                   "ones run operator by operator. Hooks that get a new "
                   "user pointer in every step make a new graph in every step.",
                   (int)DYNC__CA_ENTRIES);
    if (e || full) return full ? NULL : e;
    e = dync__ca_entry_new(c, hash, b);
    if (!e) return NULL;
    /* after what frees compiled functions: so it runs before that */
    dync__at_shutdown(dync__ca_cache_free);
    dync__lock(&dync__ca_cache.lock);
    e->next = dync__ca_cache.first;
    dync__ca_cache.first = e;
    dync__ca_cache.n++;
    dync__unlock(&dync__ca_cache.lock);
    return e;
}

/* ---- after a run ----------------------------------------------------------------------------- */

/* A gradient for keeps: nothing else may lie on its memory, or adding to it would show there. *out
 * is a reference: t itself, or a copy. */
static dync_status dync__ca_own(const dync__ca *c, dync__tensor *const *given, int n,
                                dync__tensor *t, dync__tensor **out)
{
    bool shared = (t->storage->flags & DYNC__STORAGE_BORROWED) != 0;
    for (int i = 0; i < c->input.n && !shared; i++) shared = c->input.at[i]->storage == t->storage;
    for (int i = 0; i < n && !shared; i++) shared = given[i]->storage == t->storage;
    dync__arg arg = dync__arg_t(t);
    if (shared) return dync__op_run(DYNC__OP_clone, 1, &arg, out);
    dync__ref(*out = t);
    return DYNC_OK;
}

/* Where one result goes, by its kind; t is borrowed. */
static dync_status dync__ca_give(dync__ca *c, const dync__ca_result *r, dync__tensor *t)
{
    dync__gnode *node = c->nodes.at.at[r->node];
    dync__tensor *leaf = r->kind == DYNC__CA_SET ? dync__gnode_leaf(node) : NULL;
    if (r->kind == DYNC__CA_CAPTURE) {
        dync__ref(c->walk->captured[r->index] = t);
        return DYNC_OK;
    }
    /* a hook or another thread gave it one meanwhile */
    if (leaf && dync__tensor_grad(leaf)) {
        dync__ref(t);
        return dync__accumulate_into(leaf, t);
    }
    if (r->kind == DYNC__CA_SUM) return dync__tensor_set_grad(dync__gnode_leaf(node), t);
    if (!leaf && r->index < dync__gnode_hooks(node)->n)
        leaf = dync__peek(dync__gnode_hooks(node)->at[r->index].retain);
    return leaf ? dync__tensor_set_grad(leaf, t) : DYNC_OK;
}

/* list: what the function gave, one tensor for each result that is not ADDED, in that order. Then
 * the nodes let go of what they saved, unless the graph is retained. */
static dync_status dync__ca_finish(dync__ca *c, dync_value list)
{
    const dync__ca_entry *e = c->entry;
    int n = 0, n_out = 0;
    for (int i = 0; i < e->result.n; i++) n_out += e->result.at[i].kind != DYNC__CA_ADDED;
    if (list.kind != DYNC_KIND_LIST || dync_len(list) != n_out)
        return dync__fail(DYNC_ERR_INTERNAL, "compiled autograd: another number of "
                                             "gradients");
    dync__tensor **given = dync__scope_alloc((size_t)(n_out + 1) * sizeof *given);
    dync_status status = given ? DYNC_OK : DYNC_ERR_MEMORY;
    for (int i = 0; i < e->result.n && status == DYNC_OK; i++) {
        const dync__ca_result *r = &e->result.at[i];
        if (r->kind != DYNC__CA_ADDED) {
            dync__tensor *t = dync__open(dync_at(list, n).as.t), *own = NULL;
            status = t ? dync__ca_own(c, given, n, t, &own) : DYNC_ERR_INTERNAL;
            if (status == DYNC_OK) status = dync__ca_give(c, r, own);
            dync__unref(own);
            /* whoever it was given to, or the list, keeps it alive */
            given[n++] = own ? own : t;
        }
        if (status == DYNC_OK &&
            (r->kind == DYNC__CA_SET || r->kind == DYNC__CA_ADDED || r->kind == DYNC__CA_SUM))
            status = dync__hooks_accumulated(c->nodes.at.at[r->node]);
    }
    for (int i = 0; i < c->nodes.at.n && status == DYNC_OK && !c->walk->retain_graph; i++)
        dync__gnode_release(c->nodes.at.at[i]);
    return status;
}

static void dync__ca_leave(const dync__ca *c)
{
    dync__grad_off(c->grad_off);
    dync__tls.compiled_autograd = true;
    dync__ca_tls.now = c->outer;
}

/* Compiled autograd is off meanwhile, and gradients too: what the function does is no part of a
 * history. */
static dync_status dync__ca_run(dync__ca *c)
{
    uint64_t errors = dync__error_count();
    dync_scope scope = dync_scope_begin();
    dync_value list = dync__list_new(c->input.n);
    c->grad_off = dync__grad_is_off();
    for (int i = 0; list.kind == DYNC_KIND_LIST && i < c->input.n; i++)
        dync__list_set(list, i, dync_v_tensor(dync__handle(c->input.at[i])));
    dync_status status = list.kind == DYNC_KIND_LIST ? DYNC_OK : DYNC_ERR_MEMORY;
    c->outer = dync__ca_tls.now;
    dync__ca_tls.now = c;
    /* a backward inside a hook is walked */
    dync__tls.compiled_autograd = false;
    dync__grad_off(!c->walk->create_graph);
    dync_value r = status == DYNC_OK
                       ? dync_call_values(dync__compiled_handle(c->entry->f), 1, &list)
                       : DYNC_NONE;
    if (dync__error_count() != errors && dync_error() != DYNC_OK) status = dync_error();
    if (status == DYNC_OK) status = dync__ca_finish(c, r);
    dync__ca_leave(c);
    dync_scope_end(&scope);
    return status;
}

/* A hook was left while the function of c ran or was captured. */
DYNC__RARE static void dync__ca_unwind(dync__wait *wait, const dync__wait *rest, bool quiet)
{
    dync__ca *c = (dync__ca *)(void *)((char *)wait - offsetof(dync__ca, wait));
    (void)rest, (void)quiet;
    dync__ca_put_back(c);
    dync__ca_leave(c);
    for (int i = 0; i < c->out.n; i++) dync__unref(c->out.at[i]);
    c->out.n = 0;
    dync__walk_drop(&c->own_walk);
    dync__ca_free(c);
    dync__free(c, sizeof *c);
}

/* False: walked as if it were off: something in it cannot be captured, or there is nothing to walk.
 * True: *status is the outcome, and captured gradients are set. On failure those are let go. */
DYNC__NOINLINE static bool dync__ca_intercept(const dync__walk *w, dync_status *status)
{
    if (dync__tls.compiling || dync__tls.recording || dync__tls.handler || !dync__ca_tls.depth)
        return false;
    dync__ca *c = dync__calloc(sizeof *c);
    bool handled = false;
    if (!c) return *status = DYNC_ERR_MEMORY, true;
    c->own_walk = *w;
    c->walk = w;
    for (int i = 0; i < w->n_captures; i++) w->captured[i] = NULL;
    *status = dync__ca_collect(c);
    if (*status != DYNC_OK) {
        handled = true;
    } else if (c->visitor.opaque || c->input.n > DYNC__MAX_LEAVES) {
        dync__log(DYNC__LOG_aot, "compiled autograd: this backward is walked: %s",
                  c->visitor.opaque ? "a node in it cannot be captured" : "too many saved tensors");
    } else if ((c->entry = dync__ca_find(c, &dync__ca_tls.backend[dync__ca_tls.depth - 1])) !=
               NULL) {
        handled = true;
        *status = dync__ca_carry(c);
        DYNC__WAIT_BEGIN(&c->wait, dync__ca_unwind);
        c->wait.silent = true;
        if (*status == DYNC_OK) *status = dync__ca_run(c);
        dync__wait_end(&c->wait);
    } else if (dync_error() != DYNC_OK) {
        handled = true;
        *status = dync_error();
    }
    for (int i = 0; i < w->n_captures && handled && *status != DYNC_OK; i++) {
        dync__unref(w->captured[i]);
        w->captured[i] = NULL;
    }
    dync__ca_free(c);
    dync__free(c, sizeof *c);
    return handled;
}

/* ---- on and off ------------------------------------------------------------------------------ */

/* Of this thread; nests. */
DYNC_API bool dync_compiled_autograd_begin(const char *backend)
{
    DYNC__NEEDS(DYNC_NO_AUTOGRAD, "dync_compiled_autograd_begin", false);
    const dync_backend *b = backend ? dync_lookup_backend(backend) : dync__backend_default();
    if (!b) return false;
    if (dync__ca_tls.depth == DYNC__CA_DEPTH)
        return dync__fail(DYNC_ERR_VALUE, "dync_compiled_autograd_begin: nested deeper than %d",
                          (int)DYNC__CA_DEPTH),
               false;
    dync__inductor_use_all();
    dync__aot_use_inline();
    DYNC__ATOMIC_STORE(&dync__walk_intercept, dync__ca_intercept);
    dync__ca_tls.backend[dync__ca_tls.depth++] = *b;
    dync__tls.compiled_autograd = true;
    return true;
}

DYNC_API void dync_compiled_autograd_end(void)
{
    if (dync__ca_tls.depth) dync__ca_tls.depth--;
    dync__tls.compiled_autograd = dync__ca_tls.depth > 0;
}
