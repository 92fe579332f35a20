/* capture/tree.c: runs a closed entry: its tree from the root, segment by segment, outcome by
 * outcome, with the results where the caller wants them (tree_into.c). Before cache.c. */
#include "../dync.in.h"
#include "tree.h"
DYNC__WARM

/* ---- a run ----------------------------------------------------------------------------------- */
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
/* By need: of dync_call_into. */
typedef bool (*dync__into_fn)(const dync__call_run_state *, const dync__segref *,
                              const dync__outval *, dync__tensor **target);
static dync__into_fn DYNC__BY_NEED dync__into_used = DYNC__AT_FIRST(dync__into_targets);
static dync_status (*DYNC__BY_NEED dync__into_run)(
    dync__segment *, int n_in, dync__tensor *const *in, dync__tensor **out,
    dync__tensor *const *into) = DYNC__AT_FIRST(dync__segment_run_into);
DYNC__FN void dync__tree_targets(void)
{
    DYNC__PUT(dync__into_used, dync__into_targets);
    DYNC__PUT(dync__into_run, dync__segment_run_into);
}

/* ---- what was dropped ------------------------------------------------------------------------ */
/* A segment computes what the ways known so far use. Another thread may find a way that uses more
 * while a call is between the two: what the call's segments have left out is computed then, before
 * anything is written that they read. */
DYNC__RARE static dync_status dync__run_fill(const dync__segref *ref, dync__call_run_state *r)
{
    dync__segment *s = ref->seg;
    dync__tensor *few_in[DYNC__FEW], *few_out[DYNC__FEW];
    bool dropped = false;
    for (int i = 0; i < s->n_out && s->narrowable; i++) dropped |= !r->env[ref->out_env[i]];
    if (!dropped) return DYNC_OK;
    dync__tensor **in = dync__room(few_in, DYNC__FEW, s->n_in, sizeof *in),
                 **out = dync__room(few_out, DYNC__FEW, s->n_out, sizeof *out);
    dync_status status = in && out ? DYNC_OK : DYNC_ERR_MEMORY;
    for (int i = 0; i < s->n_in && in; i++) in[i] = r->env[ref->in_env[i]];
    dync__grad_off(!s->grad_mode);
    if (status == DYNC_OK) status = dync__segment_run_plain(s, s->n_in, in, out);
    for (int i = 0; i < s->n_out && status == DYNC_OK; i++) {
        dync__tensor **to = &r->env[ref->out_env[i]];
        if (*to)
            dync__unref(out[i]);
        else
            *to = out[i];
    }
    dync__room_end(in, few_in, s->n_in, sizeof *in);
    dync__room_end(out, few_out, s->n_out, sizeof *out);
    return status;
}

/* Of the nodes on the way to n, and of the first segments of n. */
DYNC__RARE static dync_status dync__run_complete(dync__call_run_state *r, const dync__tnode *n,
                                                 int n_seg)
{
    for (int k = 0; k < r->n_path; k++)
        for (int i = 0; i < r->path[k].node->seg.n; i++)
            DYNC__TRY(dync__run_fill(&r->path[k].node->seg.at[i], r));
    for (int i = 0; i < n_seg; i++) DYNC__TRY(dync__run_fill(&n->seg.at[i], r));
    return DYNC_OK;
}

static bool dync__run_lacks_inputs(const dync__call_run_state *r, const dync__segref *ref)
{
    bool lacks = ref->seg->writes; /* on a known way all is there that writing could spoil */
    for (int i = 0; i < ref->seg->n_in; i++) lacks |= !r->env[ref->in_env[i]];
    return lacks;
}
static bool dync__run_lacks_effect(const dync__call_run_state *r, const dync__effect *e)
{
    return (e->env >= 0 && !r->env[e->env]) || (e->value >= 0 && !r->env[e->value]);
}
static bool dync__run_lacks_result(const dync__call_run_state *r, const dync__outval *o)
{
    bool lacks = o->kind == DYNC_KIND_TENSOR && !r->env[o->n];
    for (int i = 0; o->kind == DYNC_KIND_LIST && i < o->n; i++)
        lacks |= dync__run_lacks_result(r, &o->as.items[i]);
    return lacks;
}

/* ---- from node to node ----------------------------------------------------------------------- */
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
    dync__grad_off(!s->grad_mode);
    bool direct = last && s->n_out <= DYNC__FEW && dync__into_used &&
                  dync__into_used(r, ref, last, target);
    if (status == DYNC_OK)
        status = direct ? dync__into_run(s, s->n_in, in, out, target)
                        : dync__segment_run(s, s->n_in, in, out);
    for (int i = 0; i < s->n_out && status == DYNC_OK; i++) {
        dync__unref(r->env[ref->out_env[i]]);
        r->env[ref->out_env[i]] = out[i];
    }
    dync__room_end(in, few_in, s->n_in, sizeof *in);
    dync__room_end(out, few_out, s->n_out, sizeof *out);
    return status;
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

static dync_status dync__run_branch(const dync__tnode *n, dync__call_run_state *r,
                                    const dync__tnode **next)
{
    if (!r->env[n->branch_env]) DYNC__TRY(dync__run_complete(r, n, n->seg.n));
    dync__tensor *x = r->env[n->branch_env];
    if (!x) return dync__fail(DYNC_ERR_INTERNAL, "a branch of a compiled function lost its value");
    double v = (dync_item)(dync__handle(x));
    int64_t value = n->branch_bool ? v != 0 : dync__load_i64(&v, DYNC_F64);
    *next = dync__tnode_after(n, value);
    return dync__outcome_step(r, n, value);
}

/* By need: who compiles with breaks runs branches, and completes what the way there has dropped. */
typedef struct dync__tree_ways {
    dync_status (*complete)(dync__call_run_state *, const dync__tnode *, int n_seg);
    bool (*lacks)(const dync__call_run_state *, const dync__outval *);
    dync_status (*branch)(const dync__tnode *, dync__call_run_state *, const dync__tnode **next);
} dync__tree_ways;
static const dync__tree_ways dync__tree_ways_all = {dync__run_complete, dync__run_lacks_result,
                                                    dync__run_branch};
static const dync__tree_ways *DYNC__BY_NEED dync__tree_used = DYNC__AT_FIRST(&dync__tree_ways_all);

/* Segments in order, each effect after those that it follows. */
static dync_status dync__run_tnode(const dync__tnode *n, dync__call_run_state *r, bool returns)
{
    const dync__tree_ways *ways = dync__tree_used;
    int k = 0;
    bool direct = r->into && returns && !n->effect.n;
    for (int i = 0; i <= n->seg.n; i++) {
        int first = k;
        for (; DYNC__UNLIKELY(k < n->effect.n) && n->effect.at[k].after == i; k++)
            if (ways && dync__run_lacks_effect(r, &n->effect.at[k]))
                DYNC__TRY(ways->complete(r, n, i));
        if (k > first) DYNC__TRY(dync__effects_run(&n->effect.at[first], k - first, r->env));
        if (i == n->seg.n) break;
        if (ways && r->n_path && DYNC__UNLIKELY(dync__run_lacks_inputs(r, &n->seg.at[i])))
            DYNC__TRY(ways->complete(r, n, i));
        DYNC__TRY(
            dync__run_segment(&n->seg.at[i], r, direct && i == n->seg.n - 1 ? &n->result : NULL));
    }
    return DYNC_OK;
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
    const dync__tree_ways *ways = dync__tree_used;
    *unknown = false;
    for (;;) {
        DYNC__TRY(dync__run_reserve_env(r, DYNC__ATOMIC_LOAD(&e->n_env)));
        if (n->foreign.n) DYNC__TRY(dync__run_foreign(e, n, r));
        if (n->cell.n) DYNC__TRY(dync__cells_enter(e, n, r->env));
        bool last = DYNC__ATOMIC_LOAD(&n->kind) != DYNC__TN_BRANCH;
        DYNC__TRY(dync__run_tnode(n, r, last));
        if (last) break;
        const dync__tnode *next = NULL;
        if (!ways) return dync__unlinked("graph breaks");
        DYNC__TRY(ways->branch(n, r, &next));
        if (!next) {
            *unknown = true;
            return DYNC_OK;
        }
        n = next;
    }
    if (ways && r->n_path && ways->lacks(r, &n->result)) DYNC__TRY(ways->complete(r, n, n->seg.n));
    *result = n->result.kind == DYNC_KIND_TENSOR ? dync__result_take(e, r, n->result.n)
                                                 : dync__outval_build(&n->result, r->env);
    dync__grad_off(n->grad_mode_after >= 0 ? !n->grad_mode_after : !e->grad_mode);
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
    dync__grad_off(!e->grad_mode);
    dync__history_miss(f, DYNC__MISS_branches);
    if (dync__stance() == DYNC__STANCE_fail_on_recompile) {
        DYNC__ATOMIC_STORE(&e->extending, 0);
        return dync__stance_refuses(f, "a branch on data went another way");
    }
    DYNC__COUNTER_ADD(recompiles, 1);
    dync__path path = {.step = r->path, .n = r->n_path, .found = r->env, .n_found = r->n_env};
    uint64_t start = dync__now_ns();
    dync_status status = dync__trace_call(f, e, call, &path, result);
    (void)DYNC__ATOMIC_ADD(&f->history.trace_ns, dync__now_ns() - start);
    /* a half-grown tree is not kept */
    if (status != DYNC_OK) DYNC__ATOMIC_STORE(&e->dead, true);
    DYNC__ATOMIC_STORE(&e->extending, 0);
    return status;
}

/* An entry with an opaque break: traced again. */
static dync_status dync__call_open(dync__compiled *f, dync__cache_entry *e,
                                   const dync__callargs *call, dync_value *result)
{
    const dync__lint_calls *lints = dync__lints();
    dync__lint *lint = lints ? lints->resume(e) : NULL;
    dync_status status = dync__trace_call(f, e, call, NULL, result);
    if (lint) lints->resumed(lint);
    return status;
}

/* By need, as the ways above. */
typedef struct dync__tree_grows {
    dync_status (*extend)(dync__compiled *, dync__cache_entry *, const dync__callargs *,
                          dync__call_run_state *, dync_value *result);
    dync_status (*open)(dync__compiled *, dync__cache_entry *, const dync__callargs *,
                        dync_value *result);
} dync__tree_grows;
static const dync__tree_grows dync__tree_grows_all = {dync__call_extend, dync__call_open};
static const dync__tree_grows *DYNC__BY_NEED dync__tree_grown =
    DYNC__AT_FIRST(&dync__tree_grows_all);
DYNC__FN void dync__tree_branches(void)
{
    DYNC__PUT(dync__tree_used, &dync__tree_ways_all);
    DYNC__PUT(dync__tree_grown, &dync__tree_grows_all);
}

DYNC__FN dync_status dync__call_entry(dync__compiled *f, dync__cache_entry *e,
                                      const dync__callargs *call, const dync_value *into,
                                      dync_value *result)
{
    const dync__tree_grows *grows = dync__tree_grown;
    if (DYNC__ATOMIC_LOAD(&e->open))
        return grows ? grows->open(f, e, call, result) : dync__unlinked("graph breaks");
    if (DYNC__UNLIKELY(DYNC__ATOMIC_PEEK(&e->lint) != NULL)) dync__lints()->watch(f, e, call);
    dync__call_run_state r;
    bool unknown = false;
    dync_status status = dync__run_open(&r, e, call, into);
    if (status == DYNC_OK) status = dync__entry_run(e, e->root, &r, result, &unknown);
    if (grows && status == DYNC_OK && unknown) status = grows->extend(f, e, call, &r, result);
    if (status != DYNC_OK) dync__grad_off(!e->grad_mode);
    dync__run_close(&r, e->n_leaf_env);
    return status;
}
