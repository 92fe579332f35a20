/* capture/lint_trace.c: the traces of lint that compare (lint.c): the second, at the compile, and
 * those at the second, tenth and hundredth call. After call.c. */
#include "../dync.in.h"
#include "lint.h"
DYNC__COLD

/* Has a size of an argument up to a the symbol of dim i of a, which was another one? */
static bool dync__lint_merges_with(const dync__cache_entry *was, const dync__cache_entry *now,
                                   int a, int i)
{
    int64_t old = was->leaf[a].shape[i], size = now->leaf[a].shape[i];
    for (int b = 0; b <= a; b++)
        for (int d = 0; d < now->leaf[b].ndim; d++)
            if (now->dynamic[b] >> d & 1 && now->leaf[b].shape[d] == size &&
                was->leaf[b].shape[d] != old)
                return true;
    return false;
}

/* Are sizes that were different ones equal in this call? They have one symbol then, and what is
 * made of it is told otherwise. */
static bool dync__lint_merges(const dync__cache_entry *was, const dync__cache_entry *now)
{
    for (int a = 0; now->dynamic && now->leaf && was->leaf && a < now->n_tensors; a++)
        for (int i = 0; i < now->leaf[a].ndim; i++)
            if (now->dynamic[a] >> i & 1 && dync__lint_merges_with(was, now, a, i)) return true;
    return false;
}

static DYNC__NOINLINE void dync__lint_retrace(dync__lint *l, dync__compiled *f,
                                              const dync__cache_entry *of,
                                              dync__cache_entry *scratch,
                                              const dync__callargs *call)
{
    dync__tracer *t = dync__alloc(sizeof *t);
    if (!t) return;
    memset(&t->life, 0, sizeof t->life);
    DYNC__WAIT_BEGIN(&t->life.wait, dync__trace_unwind);
    t->life.scope = dync_scope_begin();
    l->entry = scratch;
    l->second = true;
    l->over = false;
    l->at = 0;
    dync__map_free(&l->made);
    bool ok = dync__tracer_open(t, f, scratch, call, NULL) == DYNC_OK;
    if (ok) l->over = dync__lint_merges(of, scratch);
    if (l->taped) dync__taped_open(t);
    dync_value *args = dync__arena_alloc(&t->scratch, (size_t)(call->nargs + 1) * sizeof *args);
    if (ok && args && dync__trace_arguments(t, args) == DYNC_OK) {
        dync_value r = dync__frame_body(t, &f->callee, f->name, call->nargs, args);
        dync__wait_over(&t->life.wait);
        if (!t->stopped) dync__lint_result(t, &r);
        if (l->at < l->row.n && !l->failed && !l->over)
            dync__lint_tell_row(l, &l->row.at[l->at], NULL);
    }
    dync__tracer_close(t);
    dync_scope_end(&t->life.scope);
    dync__wait_end(&t->life.wait);
    dync__free(t, sizeof *t);
}

/* Traces for this call once more, runs nothing, compares with the tape. Leaves grad mode, random
 * state, errors as they were. */
static void dync__lint_again(dync__lint *l, dync__compiled *f, const dync__cache_entry *e,
                             const dync__callargs *call)
{
    dync__error_guard guard;
    bool grad_off = dync__grad_is_off();
    uint64_t seed = dync__tls.rng_seed, offset = dync__tls.rng_offset;
    dync__error_guard_begin(&guard);
    dync__cache_entry *scratch = dync__calloc(sizeof *scratch);
    if (scratch) {
        dync__lint *outer = dync__lint_swap(l);
        dync__grad_off(!e->grad_mode);
        scratch->dynamic = e->dynamic; /* the same sizes are symbolic */
        if (dync__guards_make(scratch, f, call) == DYNC_OK)
            dync__lint_retrace(l, f, e, scratch, call);
        dync__constants_free(scratch);
        dync__shapes_free(scratch);
        dync__arena_free(&scratch->arena);
        dync__free(scratch, sizeof *scratch);
        dync__lint_swap(outer);
    }
    dync__error_guard_end(&guard);
    dync__grad_off(grad_off);
    dync__tls.rng_seed = seed;
    dync__tls.rng_offset = offset;
}

/* status: of the first trace. Takes l over: the tape stays with the entry for later calls. */
static void dync__lint_end(dync__lint *l, dync__compiled *f, dync__cache_entry *e,
                           const dync__callargs *call, dync_status status)
{
    bool again = status == DYNC_OK && !l->failed && !e->effects;
    dync__lint_swap(l->outer);
    if (again && e->open) { /* the next call compares */
        l->second = true;
        l->over = false;
        dync__map_free(&l->made);
        e->lint = l;
        return;
    }
    if (again) dync__lint_again(l, f, e, call);
    if (!again || l->told || l->failed) {
        dync__lint_free(l);
        return;
    }
    l->calls = 1;
    e->quick = NULL; /* every call is counted */
    e->lint = l;
}

/* Before a call that the entry serves: what has changed since it was traced? One thread looks. */
static void dync__lint_watch(dync__compiled *f, dync__cache_entry *e, const dync__callargs *call)
{
    dync__lint *l = e->lint;
    int32_t n = DYNC__ATOMIC_INC(&l->calls), idle = 0;
    if ((n != 2 && n != 10 && n != 100) || !DYNC__ATOMIC_CAS(&e->lint_busy, &idle, 1)) return;
    if (!l->told && !l->failed) dync__lint_again(l, f, e, call);
    DYNC__ATOMIC_STORE(&e->lint_busy, 0);
}

/* ---- the switch ------------------------------------------------------------------------------ */
static int32_t dync__lint_switch;
static dync__lint *dync__lint_begin_if_on(const dync__cache_entry *e)
{
    return dync__switch_on(&dync__lint_switch, "DYNC_LINT") ? dync__lint_begin(e) : NULL;
}
static void dync__lint_abandon(void) { (void)dync__lint_swap(NULL); }
static const dync__lint_calls dync__lint_all = {
    dync__lint_begin_if_on, dync__lint_end,    dync__lint_resume,  dync__lint_resumed,
    dync__lint_watch,       dync__lint_free,   dync__lint_abandon, dync__lint_op,
    dync__lint_constant,    dync__lint_branch, dync__lint_answers, dync__lint_salt,
    dync__lint_restart,     dync__lint_result, dync__lint_stops};
#if defined(DYNC_NO_ENV)
DYNC__DATA const dync__lint_calls *dync__lint_used = NULL;
#else
DYNC__DATA const dync__lint_calls *dync__lint_used = &dync__lint_all;
#endif

DYNC_API void dync_set_lint(bool on)
{
    DYNC__ATOMIC_STORE(&dync__lint_used, &dync__lint_all);
    DYNC__ATOMIC_STORE(&dync__lint_switch, on ? 2 : 1);
}
