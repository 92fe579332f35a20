/* capture/cache.c: a compiled function: its entries, the way of one call through them, and the
 * recompile limit. After intercept.c.
 *
 * Lookups take no lock: entries are published by a release store at the head of a list and freed
 * only when no call is in flight. The lock covers insertion only; no lock is held while user code
 * runs. */
#include "../dync.in.h"
#include "trace.h"

static struct {
    dync__mutex lock;
    dync__compiled *first;
    uint64_t ids;
} dync__all_compiled;

/* ---- life ------------------------------------------------------------------------------------ */
DYNC__RARE static void dync__entry_free(dync__cache_entry *e)
{
    if (!e) return;
    dync__scripts_free(e->scripts);
    dync__constants_free(e);
    dync__lint_free(e->lint);
    dync__shapes_free(e);
    dync__arena_free(&e->arena);
    dync__free(e, sizeof *e);
}

DYNC__RARE static void dync__entries_free(dync__cache_entry *e)
{
    while (e) {
        dync__cache_entry *next = e->next;
        dync__entry_free(e);
        e = next;
    }
}

DYNC__RARE static char *dync__compiled_text(const char *s) { return s ? dync__strdup(s) : NULL; }

DYNC__RARE DYNC__FN dync__compiled *dync__compiled_new(dync_callee callee, const char *name,
                                                       const dync_compile_options *opt,
                                                       const dync_backend *backend)
{
    dync__compiled *f = dync__calloc(sizeof *f);
    if (!f) return NULL;
    f->callee = callee;
    f->opt = *opt;
    f->backend = *backend;
    f->name = dync__compiled_text(opt->name     ? opt->name
                                  : callee.name ? callee.name
                                  : name        ? name
                                                : "fn");
    f->args = dync__compiled_text(opt->args ? opt->args : callee.args);
    f->options_text = dync__compiled_text(opt->options);
    f->symbolic = dync__compiled_text(opt->symbolic);
    f->backend_name = dync__compiled_text(backend->name ? backend->name : "custom");
    f->opt.options = f->options_text;
    f->backend.name = f->backend_name;
    f->callee.name = f->name;
    if (opt->user) f->callee.user = opt->user;
    f->owner = &dync__tls;
    dync__object_made(&f->object);
    if (!f->name || !f->backend_name || (opt->options && !f->options_text) ||
        (opt->symbolic && !f->symbolic) || ((opt->args || callee.args) && !f->args)) {
        dync__compiled_free(f);
        return NULL;
    }
    dync__lock(&dync__all_compiled.lock);
    f->id = ++dync__all_compiled.ids;
    f->next = dync__all_compiled.first;
    dync__all_compiled.first = f;
    dync__unlock(&dync__all_compiled.lock);
    return f;
}

/* Forgets every entry and segment of f. */
DYNC__RARE static void dync__compiled_forget(dync__compiled *f)
{
    dync__entries_free(f->entries);
    dync__entries_free(f->grave);
    f->entries = f->grave = f->last_hit = NULL;
    f->n_entries = 0;
    f->gave_up = f->warned = false;
    f->seen.n = 0;
    while (f->segments) {
        dync__segment *next = f->segments->next;
        dync__segment_free(f->segments);
        f->segments = next;
    }
}

DYNC__RARE DYNC__FN void dync__compiled_free(dync__compiled *f)
{
    if (!f) return;
    dync__object_end(&f->object);
    dync__lock(&dync__all_compiled.lock);
    for (dync__compiled **p = &dync__all_compiled.first; *p; p = &(*p)->next)
        if (*p == f) {
            *p = f->next;
            break;
        }
    dync__unlock(&dync__all_compiled.lock);
    dync__compiled_forget(f);
    dync__vec_free(&f->seen);
    dync__strfree(f->name);
    dync__strfree(f->args);
    dync__strfree(f->options_text);
    dync__strfree(f->symbolic);
    dync__strfree(f->backend_name);
    dync__free(f, sizeof *f);
}

DYNC__RARE DYNC_API void dync_compiled_free(dync_compiled *f)
{
    if (f) dync__compiled_free(dync__compiled_open(f, "dync_compiled_free"));
}

DYNC__RARE DYNC__FN void dync__compiled_free_all(void)
{
    while (dync__all_compiled.first) dync__compiled_free(dync__all_compiled.first);
}

DYNC__RARE DYNC_API void dync_reset(void)
{
    dync__lock(&dync__all_compiled.lock);
    for (dync__compiled *f = dync__all_compiled.first; f; f = f->next) dync__compiled_forget(f);
    dync__unlock(&dync__all_compiled.lock);
    dync__reset_backwards();
    dync__callbacks_clear();
}

/* A module is gone: no entry may look at it again, and what was made of the module itself has
 * nothing to run. */
DYNC__RARE DYNC__FN void dync__capture_forget_module(const dync__module *m)
{
    dync__lock(&dync__all_compiled.lock);
    for (dync__compiled *f = dync__all_compiled.first; f; f = f->next) {
        dync__lock(&f->lock); /* others may call it */
        for (dync__cache_entry *e = f->entries; e; e = e->next)
            for (int i = 0; i < dync__entry_count(&e->modules); i++)
                if (dync__entry_item(&e->modules, i)->module == m)
                    DYNC__ATOMIC_STORE(&e->dead, true);
        dync__unlock(&f->lock);
    }
    dync__unlock(&dync__all_compiled.lock);
}

/* Dead entries leave the list. They are freed at once where only the thread that made f ever called
 * it and this is its only call in flight; else with f. */
DYNC__RARE static void dync__compiled_bury(dync__compiled *f)
{
    dync__lock(&f->lock);
    for (dync__cache_entry **p = &f->entries; *p;) {
        dync__cache_entry *e = *p;
        if (!DYNC__ATOMIC_LOAD(&e->dead)) {
            p = &e->next;
            continue;
        }
        *p = e->next;
        if (f->last_hit == e) f->last_hit = NULL;
        DYNC__ATOMIC_STORE(&f->n_entries, f->n_entries - 1);
        e->next = f->grave;
        f->grave = e;
    }
    dync__cache_entry *grave = NULL;
    if (f->owner == &dync__tls && f->depth == 1 && !DYNC__ATOMIC_LOAD(&f->shared)) {
        grave = f->grave;
        f->grave = NULL;
    }
    dync__unlock(&f->lock);
    dync__entries_free(grave);
}

/* ---- running a closed entry ------------------------------------------------------------------ */
typedef struct dync__call_run_state {
    /* tensor or list of them that the caller wants the result in, or NULL */
    const dync_value *into;
    dync__tensor **env; /* places; owned references from n_leaf on */
    dync__path_step *path;
    int n_env, n_path, cap_path;
    dync__tensor *few_env[32];
    dync__path_step few_path[32];
} dync__call_run_state;

static void dync__run_close(dync__call_run_state *r, int n_leaf)
{
    for (int i = n_leaf; i < r->n_env; i++) dync__unref(r->env[i]);
    if (r->env != r->few_env) dync__free(r->env, (size_t)r->n_env * sizeof *r->env);
    if (r->path != r->few_path) dync__free(r->path, (size_t)r->cap_path * sizeof *r->path);
}

/* Room for every place of the entry: another thread may have grown its tree since the call
 * began. */
static dync_status dync__run_reserve_env(dync__call_run_state *r, int n)
{
    if (n <= r->n_env) return DYNC_OK;
    if (n <= DYNC__COUNT_OF(r->few_env)) {
        memset(r->env + r->n_env, 0, (size_t)(n - r->n_env) * sizeof *r->env);
        r->n_env = n;
        return DYNC_OK;
    }
    dync__tensor **env = dync__calloc((size_t)n * sizeof *env);
    if (!env) return DYNC_ERR_MEMORY;
    memcpy(env, r->env, (size_t)r->n_env * sizeof *env);
    if (r->env != r->few_env) dync__free(r->env, (size_t)r->n_env * sizeof *r->env);
    r->env = env;
    r->n_env = n;
    return DYNC_OK;
}

static dync_status dync__run_open(dync__call_run_state *r, const dync__cache_entry *e,
                                  const dync__callargs *call, const dync_value *into)
{
    r->into = into;
    r->env = r->few_env;
    r->path = r->few_path;
    r->cap_path = DYNC__COUNT_OF(r->few_path);
    r->n_path = r->n_env = 0;
    dync_status status = dync__run_reserve_env(r, DYNC__ATOMIC_LOAD(&e->n_env));
    /* borrowed: the caller holds them */
    for (int i = 0; i < call->n_tensors && status == DYNC_OK; i++)
        r->env[e->leaf_env[i]] = call->tensor[i];
    for (int k = 0; k < e->n_numbers && status == DYNC_OK; k++)
        if (!(r->env[e->n_leaf_env + k] = dync__number_tensor(call->args[e->number_arg[k]])))
            status = DYNC_ERR_MEMORY;
    return status;
}

static dync_status dync__outcome_step(dync__call_run_state *r, const dync__tnode *n,
                                      int64_t outcome)
{
    if (r->n_path == r->cap_path) {
        int cap = 2 * r->cap_path;
        dync__path_step *path = dync__alloc((size_t)cap * sizeof *path);
        if (!path) return DYNC_ERR_MEMORY;
        memcpy(path, r->path, (size_t)r->n_path * sizeof *path);
        if (r->path != r->few_path) dync__free(r->path, (size_t)r->cap_path * sizeof *r->path);
        r->path = path;
        r->cap_path = cap;
    }
    r->path[r->n_path].node = (dync__tnode *)(uintptr_t)n;
    r->path[r->n_path++].outcome = outcome;
    return DYNC_OK;
}

static dync_status dync__run_foreign(const dync__cache_entry *e, const dync__tnode *n,
                                     dync__call_run_state *r)
{
    for (int i = 0; i < n->foreign.n; i++) {
        const dync__foreign *f = dync__entry_item(&e->foreign, n->foreign.at[i].index);
        const dync__tensor *owner = f->owner ? r->env[n->foreign.at[i].owner_env] : NULL;
        dync__tensor *x = owner ? dync__tensor_grad(owner)
                                : dync__peek(f->address ? *f->address : f->handle);
        if (!x) return dync__fail(DYNC_ERR_VALUE, "%s is gone", f->guard.source);
        dync__unref(r->env[n->foreign.at[i].env]);
        dync__ref(r->env[n->foreign.at[i].env] = x);
    }
    return DYNC_OK;
}

/* ---- results where the caller wants them ----------------------------------------------------- */
/* The tensor that the caller wants place env in, if the call's last segment may write it: nothing
 * else of the call lies on its memory. */
static dync__tensor *dync__into_target(const dync__call_run_state *r, const dync_value *into,
                                       const dync__outval *result, int env)
{
    const dync__list *l = into->kind == DYNC_KIND_LIST ? dync__list_peek(into->as.l) : NULL;
    if (result->kind == DYNC_KIND_LIST && l && l->n == result->n) {
        dync__tensor *found = NULL;
        for (int i = 0; i < result->n && !found; i++)
            found = dync__into_target(r, &l->items[i], &result->as.items[i], env);
        return found;
    }
    dync__tensor *t = result->kind == DYNC_KIND_TENSOR && result->n == env &&
                              into->kind == DYNC_KIND_TENSOR
                          ? dync__peek(into->as.t)
                          : NULL;
    if (!t || t->grad || (t->flags & (DYNC__T_REQUIRES_GRAD | DYNC__T_FAKE))) return NULL;
    for (int i = 0; i < r->n_env; i++)
        if (r->env[i] && dync__memory_meets(t, r->env[i])) return NULL;
    return t;
}

DYNC__RARE static int dync__outval_uses(const dync__outval *o, int env)
{
    int n = o->kind == DYNC_KIND_TENSOR && o->n == env;
    for (int i = 0; o->kind == DYNC_KIND_LIST && i < o->n; i++)
        n += dync__outval_uses(&o->as.items[i], env);
    return n;
}

/* Targets of a segment's outputs; false: there are none. */
static bool dync__into_targets(const dync__call_run_state *r, const dync__segref *ref,
                               const dync__outval *result, dync__tensor **target)
{
    bool any = false;
    for (int i = 0; i < ref->seg->n_out; i++) {
        target[i] = dync__outval_uses(result, ref->out_env[i]) == 1
                        ? dync__into_target(r, r->into, result, ref->out_env[i])
                        : NULL;
        for (int k = 0; k < i && target[i]; k++)
            if (target[k] && dync__memory_meets(target[i], target[k])) target[i] = NULL;
        any |= target[i] != NULL;
    }
    return any;
}

/* last: what the call returns, where this is its last segment and r->into is wanted; else NULL. */
static dync_status dync__run_segment(const dync__segref *ref, dync__call_run_state *r,
                                     const dync__outval *last)
{
    dync__segment *s = ref->seg;
    dync__tensor *few_in[DYNC__FEW], *few_out[DYNC__FEW], *target[DYNC__FEW];
    dync__tensor **in = dync__room(few_in, DYNC__FEW, s->n_in, sizeof *in),
                 **out = dync__room(few_out, DYNC__FEW, s->n_out, sizeof *out);
    dync_status status = in && out ? DYNC_OK : DYNC_ERR_MEMORY;
    for (int i = 0; i < s->n_in && in; i++) in[i] = r->env[ref->in_env[i]];
    dync__tls.grad_enabled_off = !s->grad_mode;
    bool direct = last && s->n_out <= DYNC__FEW && dync__into_targets(r, ref, last, target);
    if (status == DYNC_OK)
        status = direct ? dync__segment_run_into(s, s->n_in, in, out, target)
                        : dync__segment_run(s, s->n_in, in, out);
    for (int i = 0; i < s->n_out && status == DYNC_OK; i++) {
        dync__unref(r->env[ref->out_env[i]]);
        r->env[ref->out_env[i]] = out[i];
    }
    dync__room_end(in, few_in, s->n_in, sizeof *in);
    dync__room_end(out, few_out, s->n_out, sizeof *out);
    return status;
}

/* Segments in order, each effect after those that it follows. */
static dync_status dync__run_tnode(const dync__tnode *n, dync__call_run_state *r, bool returns)
{
    int k = 0;
    bool direct = r->into && returns && !n->effect.n;
    for (int i = 0; i <= n->seg.n; i++) {
        for (; DYNC__UNLIKELY(k < n->effect.n) && n->effect.at[k].after == i; k++)
            DYNC__TRY(dync__effect_run(&n->effect.at[k], r->env));
        if (i < n->seg.n)
            DYNC__TRY(dync__run_segment(&n->seg.at[i], r,
                                        direct && i == n->seg.n - 1 ? &n->result : NULL));
    }
    return DYNC_OK;
}

/* What follows an outcome; NULL where it is not known, or a thread still traces it. */
static const dync__tnode *dync__tnode_after(const dync__tnode *n, int64_t outcome)
{
    int known = DYNC__ATOMIC_LOAD(&n->n_outcomes);
    for (int i = 0; i < known; i++)
        if (n->outcome[i].value == outcome &&
            DYNC__ATOMIC_LOAD(&n->outcome[i].next->kind) != DYNC__TN_OPEN)
            return n->outcome[i].next;
    return NULL;
}

static dync_status dync__run_branch(const dync__tnode *n, dync__call_run_state *r,
                                    const dync__tnode **next)
{
    dync__tensor *x = r->env[n->branch_env];
    if (!x) return dync__fail(DYNC_ERR_INTERNAL, "a branch of a compiled function lost its value");
    double v = (dync_item)(dync__handle(x));
    int64_t value = n->branch_bool ? v != 0 : (int64_t)v;
    *next = dync__tnode_after(n, value);
    return dync__outcome_step(r, n, value);
}

/* One tensor: what a segment made goes over to the caller. */
static dync_value dync__result_take(const dync__cache_entry *e, dync__call_run_state *r, int env)
{
    dync__tensor *x = r->env[env];
    if (env < e->n_leaf_env)
        dync__ref(x);
    else
        r->env[env] = NULL;
    return dync_v_tensor(dync__give(x));
}

/* From a node on. *unknown: the tree ends at an outcome it does not know; r holds the way there. */
static dync_status dync__entry_run(const dync__cache_entry *e, const dync__tnode *n,
                                   dync__call_run_state *r, dync_value *result, bool *unknown)
{
    *unknown = false;
    for (;;) {
        DYNC__TRY(dync__run_reserve_env(r, DYNC__ATOMIC_LOAD(&e->n_env)));
        if (n->foreign.n) DYNC__TRY(dync__run_foreign(e, n, r));
        if (n->cell.n) DYNC__TRY(dync__cells_enter(e, n, r->env));
        bool last = DYNC__ATOMIC_LOAD(&n->kind) != DYNC__TN_BRANCH;
        DYNC__TRY(dync__run_tnode(n, r, last));
        if (last) break;
        const dync__tnode *next = NULL;
        DYNC__TRY(dync__run_branch(n, r, &next));
        if (!next) {
            *unknown = true;
            return DYNC_OK;
        }
        n = next;
    }
    *result = n->result.kind == DYNC_KIND_TENSOR ? dync__result_take(e, r, n->result.n)
                                                 : dync__outval_build(&n->result, r->env);
    dync__tls.grad_enabled_off = n->grad_mode_after >= 0 ? !n->grad_mode_after : !e->grad_mode;
    return DYNC_OK;
}

/* The outcome that r ended at is traced, by one thread at a time; the others find it known when
 * their turn comes. */
static dync_status dync__call_extend(dync__compiled *f, dync__cache_entry *e,
                                     const dync__callargs *call, dync__call_run_state *r,
                                     dync_value *result)
{
    bool unknown = true;
    while (unknown) {
        int32_t idle = 0;
        while (!DYNC__ATOMIC_CAS(&e->extending, &idle, 1)) idle = 0;
        const dync__path_step *last = &r->path[r->n_path - 1];
        const dync__tnode *next = dync__tnode_after(last->node, last->outcome);
        if (!next) break;
        DYNC__ATOMIC_STORE(&e->extending, 0);
        DYNC__TRY(dync__entry_run(e, next, r, result, &unknown));
        if (!unknown) return DYNC_OK;
    }
    dync__tls.grad_enabled_off = !e->grad_mode;
    DYNC__COUNTER_ADD(recompiles, 1);
    dync__path path = {.step = r->path, .n = r->n_path, .found = r->env, .n_found = r->n_env};
    dync_status status = dync__trace_call(f, e, call, &path, result);
    /* a half-grown tree is not kept */
    if (status != DYNC_OK) DYNC__ATOMIC_STORE(&e->dead, true);
    DYNC__ATOMIC_STORE(&e->extending, 0);
    return status;
}

/* An entry with an opaque break: traced again. */
static dync_status dync__call_open(dync__compiled *f, dync__cache_entry *e,
                                   const dync__callargs *call, dync_value *result)
{
    dync__lint *lint = dync__lint_resume(e);
    dync_status status = dync__trace_call(f, e, call, NULL, result);
    dync__lint_resumed(lint);
    return status;
}

static dync_status dync__call_entry(dync__compiled *f, dync__cache_entry *e,
                                    const dync__callargs *call, const dync_value *into,
                                    dync_value *result)
{
    if (DYNC__ATOMIC_LOAD(&e->open)) return dync__call_open(f, e, call, result);
    dync__call_run_state r;
    bool unknown = false;
    dync_status status = dync__run_open(&r, e, call, into);
    if (status == DYNC_OK) status = dync__entry_run(e, e->root, &r, result, &unknown);
    if (status == DYNC_OK && unknown) status = dync__call_extend(f, e, call, &r, result);
    if (status != DYNC_OK) dync__tls.grad_enabled_off = !e->grad_mode;
    dync__run_close(&r, e->n_leaf_env);
    return status;
}

/* ---- a miss ---------------------------------------------------------------------------------- */
#define DYNC__RECOMPILING \
    "Recompiling function %s in %s:%d\n    triggered by the following guard failure(s):\n    - %s"
DYNC__RARE static const char *dync__compiled_file(const dync__compiled *f)
{
    const char *file = DYNC__ATOMIC_LOAD(&f->file);
    return file ? file : "?";
}
DYNC__RARE static int dync__compiled_line(const dync__compiled *f)
{
    return (int)DYNC__ATOMIC_LOAD(&f->line);
}

/* Every entry is asked why it refused; the texts go to the callback and the log. *last is the last
 * reason, *remedy what to do about it. */
DYNC__RARE static void dync__miss_reasons(dync__compiled *f, const dync__callargs *call,
                                          dync__str *last, const char **remedy)
{
    for (dync__cache_entry *e = DYNC__ATOMIC_LOAD(&f->entries); e; e = e->next) {
        dync__str reason = {0};
        *remedy = "keep what it uses from outside alive";
        if (DYNC__ATOMIC_LOAD(&e->dead))
            dync__str_add(&reason, "something it captured is gone");
        else
            *remedy = dync__guards_reason(f, e, call, &reason);
        dync__log(DYNC__LOG_recompiles, DYNC__RECOMPILING, f->name, dync__compiled_file(f),
                  dync__compiled_line(f), dync__str_get(&reason));
        if (f->opt.guard_fail) f->opt.guard_fail(dync__str_get(&reason), f->opt.guard_fail_user);
        dync__str_free(last);
        *last = reason;
    }
}

/* Which function it is, what refused the last call, and what to do about that: the lines behind
 * upstream's first one. */
static void dync__limit_lines(const dync__compiled *f, const char *reason, const char *remedy,
                              dync__str *s)
{
    dync__str_addf(s, "   function: '%s' (%s:%d)\n   last reason: %s\n", f->name,
                   dync__compiled_file(f), dync__compiled_line(f), reason);
    dync__str_addf(s,
                   "To log all recompilation reasons, use DYNC_LOG=\"recompiles\".\nTo "
                   "compile it less often, %s; or raise .recompile_limit, which is %d.",
                   remedy, f->opt.recompile_limit);
}

/* Over the limit: said once, loudly, with the guard that kept failing and the remedy; from then on
 * this call runs eagerly. */
DYNC__RARE static bool dync__miss_over_limit(dync__compiled *f, const char *reason,
                                             const char *remedy, dync_status *status)
{
    if (DYNC__ATOMIC_PEEK(&f->n_entries) < f->opt.recompile_limit) return false;
    *status = DYNC_OK;
    dync__str s = {0};
    bool told = !f->opt.fullgraph && DYNC__ATOMIC_LOAD(&f->warned);
    if (!told) dync__limit_lines(f, reason, remedy, &s);
    if (f->opt.fullgraph) {
        *status = dync__fail_class(DYNC_ERR_RECOMPILE_LIMIT, "Unsupported",
                                   "cache_size_limit reached\n%s", dync__str_get(&s));
    } else if (!told) {
        DYNC__ATOMIC_STORE(&f->warned, true);
        dync__warn("torch._dynamo hit config.cache_size_limit (%d)\n%s", f->opt.recompile_limit,
                   dync__str_get(&s));
    }
    dync__str_free(&s);
    return true;
}

DYNC__RARE static void dync__entry_insert(dync__compiled *f, dync__cache_entry *e)
{
    /* one that is freed takes its calls with it */
    if (!dync__callee_module(&f->callee)) dync__quick_make(e);
    dync__lock(&f->lock);
    e->next = f->entries;
    DYNC__ATOMIC_STORE(&f->entries, e);
    DYNC__ATOMIC_STORE(&f->last_hit, e);
    DYNC__ATOMIC_STORE(&f->n_entries, f->n_entries + 1);
    dync__unlock(&f->lock);
    if (dync__log_on(DYNC__LOG_guards)) {
        dync__str s = {0};
        dync__guards_print(e, &s);
        dync__log_text(DYNC__LOG_guards, f->name, dync__str_get(&s));
        dync__str_free(&s);
    }
    if (dync__capture_log_now) {
        dync__capture_log *log = dync__capture_log_now;
        dync__str s = {0};
        dync__guards_print(e, &s);
        const char *text = dync__arena_strdup(&log->arena, dync__str_get(&s));
        if (text) (void)!dync__vec_push(&log->guards, text);
        dync__str_free(&s);
    }
}

/* As it is written. */
static dync_status dync__call_eagerly(dync__compiled *f, const dync__callargs *call,
                                      dync_value *result)
{
    uint64_t errors = dync__error_count();
    *result = dync__callee_invoke(&f->callee, call->nargs, call->args);
    return dync__error_count() != errors ? dync_error() : DYNC_OK;
}

/* Does anybody want to know why the entries refused this call? Not once the limit has been told. */
DYNC__RARE static bool dync__miss_is_told(dync__compiled *f)
{
    return f->opt.guard_fail || f->opt.error_on_recompile || dync__log_on(DYNC__LOG_recompiles) ||
           !DYNC__ATOMIC_LOAD(&f->warned) ||
           DYNC__ATOMIC_PEEK(&f->n_entries) < f->opt.recompile_limit;
}

DYNC__RARE static dync_status dync__call_miss(dync__compiled *f, const dync__callargs *call,
                                              dync_value *result)
{
    dync__str reason = {0};
    dync_status status = DYNC_OK;
    if (f->callee.flags & DYNC__CALLEE_DISABLED) return dync__call_eagerly(f, call, result);
    DYNC__COUNTER_ADD(cache_misses, 1);
    dync__compiled_bury(f);
    if (DYNC__ATOMIC_LOAD(&f->entries)) {
        DYNC__COUNTER_ADD(recompiles, 1);
        const char *remedy = "";
        if (dync__miss_is_told(f)) dync__miss_reasons(f, call, &reason, &remedy);
        if (f->opt.error_on_recompile)
            status = dync__fail_class(DYNC_ERR_RECOMPILE_LIMIT, "RecompileError", DYNC__RECOMPILING,
                                      f->name, dync__compiled_file(f), dync__compiled_line(f),
                                      dync__str_get(&reason));
        bool over = status == DYNC_OK &&
                    dync__miss_over_limit(f, dync__str_get(&reason), remedy, &status);
        if (over || status != DYNC_OK) dync__str_free(&reason);
        if (status != DYNC_OK) return status;
        if (over) return dync__call_eagerly(f, call, result);
    }
    dync__cache_entry *e = dync__calloc(sizeof *e);
    if (e && reason.n) e->why = dync__arena_strdup(&e->arena, dync__str_get(&reason));
    dync__str_free(&reason);
    if (!e) return DYNC_ERR_MEMORY;
    status = dync__guards_make(e, f, call);
    if (status == DYNC_OK) status = dync__shapes_choose(f, e, call);
    DYNC__COUNTER_ADD(frames, 1);
    dync__lint *lint = status == DYNC_OK && !DYNC__ATOMIC_LOAD(&f->entries) ? dync__lint_begin(e)
                                                                            : NULL;
    if (status == DYNC_OK) status = dync__trace_call(f, e, call, NULL, result);
    if (lint) dync__lint_end(lint, f, e, call, status);
    if (status == DYNC_OK && !DYNC__ATOMIC_LOAD(&e->dead))
        dync__entry_insert(f, e);
    else
        dync__entry_free(e);
    return status;
}

/* ---- calls ----------------------------------------------------------------------------------- */
static dync__cache_entry *dync__entry_lookup(dync__compiled *f, const dync__callargs *call)
{
    dync__cache_entry *e = DYNC__ATOMIC_LOAD(&f->last_hit);
    if (e && !DYNC__ATOMIC_LOAD(&e->dead) && dync__guards_hold(e, call)) return e;
    for (dync__cache_entry *x = DYNC__ATOMIC_LOAD(&f->entries); x; x = x->next)
        if (x != e && !DYNC__ATOMIC_LOAD(&x->dead) && dync__guards_hold(x, call)) {
            DYNC__ATOMIC_STORE(&f->last_hit, x);
            return x;
        }
    return NULL;
}

/* A function of tensors takes as many tensors as it has parameters. */
static bool dync__call_fits(const dync__compiled *f, int nargs, const dync_value *args)
{
    if (dync__callee_arity(&f->callee) < 0) return true;
    if (nargs != dync__callee_arity(&f->callee)) return false;
    for (int i = 0; args && i < nargs; i++)
        if (args[i].kind != DYNC_KIND_TENSOR || !args[i].as.t) return false;
    return true;
}

/* Says what does not fit, with the caller's place. A NULL where an error is pending comes from the
 * call that failed: nothing more is said. */
DYNC__RARE static dync_value dync__call_misfit(const dync__compiled *f, int nargs,
                                               const dync_value *args)
{
    dync_loc saved = dync__tls.at;
    dync__tls.at = dync__tls.call_at;
    int arity = dync__callee_arity(&f->callee), i = 0;
    if (nargs != arity) {
        dync__fail(DYNC_ERR_VALUE, "%s takes %d argument%s, got %d", f->name, arity,
                   arity == 1 ? "" : "s", nargs);
    } else {
        while (args[i].kind == DYNC_KIND_TENSOR && args[i].as.t) i++;
        bool null = args[i].kind == DYNC_KIND_TENSOR;
        if (!null || dync_error() == DYNC_OK)
            dync__fail(DYNC_ERR_VALUE, "%s: argument %d: expected a tensor, got %s", f->name, i + 1,
                       null ? "NULL" : dync__kind_name(args[i].kind));
    }
    dync__tls.at = saved;
    return DYNC_NONE;
}

static dync_value dync__call_run(dync__compiled *f, int nargs, const dync_value *args,
                                 const dync_value *into)
{
    dync__callargs call;
    dync_value result = DYNC_NONE;
    if (!dync__callee_valid(&f->callee)) {
        dync__fail(DYNC_ERR_VALUE, "dync_call: %s was compiled from %s that has been freed",
                   f->name, dync__callee_text(&f->callee));
        return result;
    }
    if (!dync__call_fits(f, nargs, args)) return dync__call_misfit(f, nargs, args);
    uint64_t errors = dync__error_count();
    if (dync__callargs_flatten(&call, nargs, args) != DYNC_OK) return result;
    dync__cache_entry *e = dync__entry_lookup(f, &call);
    dync_status status;
    if (e) {
        dync__tls.cache_hits++;
        dync__verify *verify = DYNC__UNLIKELY(dync__verify_on()) ? dync__verify_begin(f, e, &call)
                                                                 : NULL;
        status = dync__call_entry(f, e, &call, verify ? NULL : into, &result);
        if (DYNC__UNLIKELY(verify != NULL)) status = dync__verify_end(verify, status, &result);
        if (DYNC__ATOMIC_LOAD(&e->dead)) dync__compiled_bury(f);
    } else {
        status = dync__call_miss(f, &call, &result);
    }
    if (status == DYNC_OK && dync__error_count() == errors) return result;
    return status == DYNC_OK && dync_error() == DYNC_OK ? result : DYNC_NONE;
}

static dync_value dync__call_plain(dync__compiled *f, int nargs, const dync_value *args,
                                   const dync_value *into)
{
    bool own = f->owner == &dync__tls;
    if (!own && !DYNC__ATOMIC_LOAD(&f->shared)) DYNC__ATOMIC_STORE(&f->shared, 1);
    if (own) f->depth++;
    dync_value r;
    const dync__cache_entry *e = DYNC__ATOMIC_LOAD(&f->last_hit);
    if (!e || !e->quick || DYNC__ATOMIC_LOAD(&e->dead) || dync__verify_on() ||
        !dync__quick_call(e, nargs, args, into, &r))
        r = dync__call_run(f, nargs, args, into);
    if (own) f->depth--;
    return r;
}

DYNC__RARE static dync_value dync__call_profiled(dync__compiled *f, int nargs,
                                                 const dync_value *args, const dync_value *into)
{
    uint64_t seq = dync__tls.seq;
    dync__profiled event = dync__profile_begin("Torch-Compiled Region: ", f->name, NULL);
    dync_value r = dync__call_plain(f, nargs, args, into);
    dync__profile_end(&event, dync__tls.seq != seq ? (int64_t)seq : -1, -1);
    return r;
}

DYNC__RARE static DYNC__NOINLINE dync_value dync__call_nothing(const dync_compiled *handle)
{
    dync_loc saved = dync__tls.at;
    dync__tls.at = dync__tls.call_at;
    (void)dync__compiled_open(handle, "dync_call");
    dync__tls.at = saved;
    return DYNC_NONE;
}

/* into: the caller's tensors; where one was written directly it stands in the result itself. */
static dync_value dync__call_values(dync_compiled *handle, int nargs, const dync_value *args,
                                    const dync_value *into)
{
    dync__compiled *f = dync__compiled_peek(handle);
    if (DYNC__UNLIKELY(!f)) return dync__call_nothing(handle);
    if (dync__tls.compiling || dync__tls.recording || dync__verify_inside())
        return dync_frame_values(dync_fnc(handle), f->name, nargs, args);
    return dync__profile_on() ? dync__call_profiled(f, nargs, args, into)
                              : dync__call_plain(f, nargs, args, into);
}

DYNC_API dync_value dync_call_values_at(dync_compiled *f, int nargs, const dync_value *args,
                                        dync_loc at)
{
    dync__tls.call_at = at;
    return dync__call_values(f, nargs, args, NULL);
}

DYNC_API dync_value dync_call_values(dync_compiled *f, int nargs, const dync_value *args)
{
    return dync_call_values_at(f, nargs, args, DYNC_NOWHERE);
}

DYNC_API dync_tensor *dync_call_tensor_at(dync_compiled *f, int nargs, const dync_value *args,
                                          dync_loc at)
{
    dync_value r = dync_call_values_at(f, nargs, args, at);
    if (DYNC__LIKELY(r.kind == DYNC_KIND_TENSOR)) return dync_as_tensor(r);
    dync_loc saved = dync__tls.at;
    dync__tls.at = at;
    const dync__compiled *c = dync__compiled_peek(f);
    if (dync_error() == DYNC_OK)
        dync__fail(DYNC_ERR_VALUE, "dync_call: expected %s to return a tensor, got %s%s",
                   c ? c->name : "the function", dync__kind_name(r.kind),
                   r.kind == DYNC_KIND_NONE ? "" : ": dync_call_value gives whatever it is");
    dync__tls.at = saved;
    return NULL;
}

typedef struct dync__into_pairs {
    int n;
    dync_tensor *to[DYNC__MAX_LEAVES];
    dync_value from[DYNC__MAX_LEAVES];
} dync__into_pairs;

static dync_status dync__into_pair(dync__into_pairs *p, dync_value out, dync_value r)
{
    if (out.kind == DYNC_KIND_TENSOR && r.kind == DYNC_KIND_TENSOR) {
        if (out.as.t == r.as.t) return DYNC_OK; /* written already */
        if (p->n == DYNC__MAX_LEAVES)
            return dync__fail(DYNC_ERR_VALUE, "dync_call_into: more than %d outputs",
                              DYNC__MAX_LEAVES);
        p->to[p->n] = out.as.t;
        p->from[p->n++] = r;
        return DYNC_OK;
    }
    const dync__list *to = dync__value_list(out), *from = dync__value_list(r);
    if (!to || !from || to->n != from->n)
        return dync__fail(DYNC_ERR_VALUE, "dync_call_into: the outputs do not have the form of "
                                          "the result");
    for (int i = 0; i < to->n; i++) DYNC__TRY(dync__into_pair(p, to->items[i], from->items[i]));
    return DYNC_OK;
}

DYNC__RARE static dync_status dync__into_shape_error(int i, const dync__tensor *to,
                                                     const dync__tensor *from)
{
    dync__str want = {0}, got = {0};
    dync__tensor_brief(&want, from);
    dync__tensor_brief(&got, to);
    dync_status status = dync__fail(DYNC_ERR_SHAPE,
                                    "dync_call_into: output %d: expected %s, got %s", i,
                                    dync__str_get(&want), dync__str_get(&got));
    dync__str_free(&want);
    dync__str_free(&got);
    return status;
}

/* The results that are not in place yet. One that lies on memory that its own copy or an earlier
 * one writes is read before. */
static dync_status dync__copy_into(dync_value out, dync_value r)
{
    dync__into_pairs p;
    p.n = 0;
    DYNC__TRY(dync__into_pair(&p, out, r));
    for (int i = 0; i < p.n; i++)
        for (int k = 0; k <= i; k++) {
            const dync__tensor *to = dync__open(p.to[k]), *from = dync__open(p.from[i].as.t);
            if (!to || !from) return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_VALUE;
            if (k == i && (to->lay.ndim != from->lay.ndim ||
                           !dync__sz_same(to->lay.ndim, to->lay.shape, from->lay.shape)))
                return dync__into_shape_error(i, to, from);
            if (dync__memory_meets(to, from))
                p.from[i] = dync_v_tensor((dync_clone)(p.from[i].as.t));
        }
    for (int i = 0; i < p.n; i++)
        if (!(dync_copy_)(p.to[i], p.from[i]))
            return dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_RUNTIME;
    return DYNC_OK;
}

DYNC_API dync_status(dync_call_into_values)(dync_compiled *f, dync_value out, int nargs,
                                            const dync_value *args)
{
    dync_scope scope = dync_scope_begin();
    dync__tls.call_at = dync__tls.at;
    dync_value r = dync__call_values(f, nargs, args, &out);
    dync_status status = r.kind == DYNC_KIND_NONE
                             ? (dync_error() != DYNC_OK ? dync_error() : DYNC_ERR_RUNTIME)
                             : dync__copy_into(out, r);
    dync_scope_end(&scope);
    return status;
}
