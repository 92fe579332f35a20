/* capture/miss.c: a call that no entry serves: why, whether there may be one more, and its first
 * trace. After compiled.c, before cache.c. */
#include "../dync.in.h"
#include "trace.h"
DYNC__WARM

#define DYNC__RECOMPILING \
    "Recompiling function %s in %s:%d\n    triggered by the following guard failure(s):\n    - %s"
/* Why a call was refused: by the entry asked last, and by that which came closest to serving it. */
typedef struct dync__miss {
    dync__str last, text;
    dync__guard_failure asked_last, closest;
} dync__miss;

DYNC__RARE static void dync__miss_free(dync__miss *m)
{
    dync__str_free(&m->last);
    dync__str_free(&m->text);
}

/* Entries are asked in the order of PyTorch: the one that served last, then the newest. */
static dync__cache_entry *dync__miss_next(const dync__compiled *f, dync__cache_entry *recent,
                                          dync__cache_entry *e)
{
    if (!e && recent) return recent;
    e = !e || e == recent ? DYNC__ATOMIC_LOAD(&f->entries) : e->next;
    return e && e == recent ? e->next : e;
}

/* Every entry is asked why it refused; the texts go to the callback and the log. */
DYNC__RARE static void dync__miss_reasons(dync__compiled *f, const dync__callargs *call,
                                          dync__miss *m)
{
    dync_loc at = dync__compiled_place(f);
    m->closest.kind = DYNC__MISS_first;
    dync__cache_entry *recent = DYNC__ATOMIC_LOAD(&f->last_hit), *e = NULL;
    while ((e = dync__miss_next(f, recent, e)) != NULL) {
        dync__str reason = {0};
        m->asked_last =
            (dync__guard_failure){DYNC__MISS_gone, "keep what it uses from outside alive"};
        if (DYNC__ATOMIC_LOAD(&e->dead))
            dync__str_add(&reason, "something it captured is gone");
        else
            m->asked_last = dync__guards_reason(f, e, call, &reason);
        dync__log(DYNC__LOG_recompiles, DYNC__RECOMPILING, f->name, at.file, at.line,
                  dync__str_get(&reason));
        if (f->opt.guard_fail) f->opt.guard_fail(dync__str_get(&reason), f->opt.guard_fail_user);
        if (m->asked_last.kind > m->closest.kind) {
            m->closest = m->asked_last;
            dync__str_free(&m->text);
            dync__str_add(&m->text, dync__str_get(&reason));
        }
        dync__str_free(&m->last);
        m->last = reason;
    }
}

/* Which function it is, what refused the last call, and what to do about that: the lines behind
 * upstream's first one. */
static void dync__limit_lines(const dync__compiled *f, const char *reason, const char *remedy,
                              dync__str *s)
{
    dync_loc at = dync__compiled_place(f);
    dync__str_addf(s, "   function: '%s' (%s:%d)\n   last reason: %s\n", f->name, at.file, at.line,
                   reason);
    dync__str_addf(s,
                   "To log all recompilation reasons, use DYNC_LOG=\"recompiles\".\nTo "
                   "compile it less often, %s; or raise .recompile_limit, which is %d.",
                   remedy, f->opt.recompile_limit);
}

/* By need: a small program that never asks why calls missed has neither the reasons nor what is
 * said of them. */
typedef struct dync__miss_calls {
    void (*reasons)(dync__compiled *, const dync__callargs *, dync__miss *);
    void (*limit)(const dync__compiled *, const char *reason, const char *remedy, dync__str *);
} dync__miss_calls;
static const dync__miss_calls dync__miss_tells = {dync__miss_reasons, dync__limit_lines};
static const dync__miss_calls *DYNC__BY_NEED dync__miss_told = DYNC__AT_FIRST(&dync__miss_tells);
DYNC__FN void dync__capture_use_reasons(void)
{
    DYNC__PUT(dync__miss_told, &dync__miss_tells);
    dync__pieces_pass();
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
    if (!told && dync__miss_told) dync__miss_told->limit(f, reason, remedy, &s);
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
    if (DYNC__QUICK_CALLS && !dync__callee_module(&f->callee)) dync__quick_make(e);
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
    if (dync__capture_log_now) dync__capture_log_now->entry(dync__capture_log_now, e);
}

/* A call that runs as it is written: what it uses is not freed meanwhile, and it may be left. miss:
 * the arguments of a miss, which are on the heap. */
typedef struct dync__eager_call {
    dync__wait wait;
    dync__compiled *f;
    const dync__callargs *miss;
} dync__eager_call;
static void dync__eager_unwind(dync__wait *w, const dync__wait *rest, bool quiet)
{
    dync__eager_call *c = (dync__eager_call *)(void *)w;
    (void)rest, (void)quiet;
    if (c->f->owner == &dync__tls && c->f->depth > 0) c->f->depth--;
    dync__free((void *)(uintptr_t)c->miss, sizeof *c->miss);
    dync__free(c, sizeof *c);
}

static dync_status dync__call_as_written(dync__compiled *f, const dync__callargs *miss, int nargs,
                                         const dync_value *args, dync_value *result)
{
    uint64_t errors = dync__error_count();
    (void)DYNC__ATOMIC_ADD(&f->history.eager, 1);
    dync__eager_call *c = dync__alloc(sizeof *c);
    if (!c) return dync__fail_memory(sizeof *c);
    DYNC__WAIT_BEGIN(&c->wait, dync__eager_unwind);
    c->wait.silent = true;
    c->f = f;
    c->miss = miss;
    *result = dync__callee_invoke(&f->callee, nargs, args);
    dync__wait_end(&c->wait);
    dync__free(c, sizeof *c);
    return dync__error_count() != errors ? dync_error() : DYNC_OK;
}

/* As it is written. */
DYNC__FN dync_status dync__call_eagerly(dync__compiled *f, int nargs, const dync_value *args,
                                        dync_value *result)
{
    return dync__call_as_written(f, NULL, nargs, args, result);
}

/* Does anybody want to know why the entries refused this call? Not once the limit has been told. */
DYNC__RARE static bool dync__miss_is_told(dync__compiled *f)
{
    return f->opt.guard_fail || f->opt.error_on_recompile || dync__log_on(DYNC__LOG_recompiles) ||
           !DYNC__ATOMIC_LOAD(&f->warned) ||
           DYNC__ATOMIC_PEEK(&f->n_entries) < f->opt.recompile_limit;
}

DYNC__MEETING(reasons)
/* A call that other entries refuse. *eager: it runs as it is written. An error: it does not run. */
DYNC__RARE static dync_status dync__miss_again(dync__compiled *f, const dync__callargs *call,
                                               dync__miss *m, bool *eager)
{
    m->closest.kind = DYNC__MISS_limit;
    DYNC__COUNTER_ADD(recompiles, 1);
    DYNC__MEET(reasons);
    if (dync__miss_told && dync__miss_is_told(f)) dync__miss_told->reasons(f, call, m);
    dync__history_miss(f, m->closest.kind);
    const char *last = dync__str_get(&m->last);
    dync_loc at = dync__compiled_place(f);
    if (f->opt.error_on_recompile)
        return dync__fail_class(DYNC_ERR_RECOMPILE_LIMIT, "RecompileError", DYNC__RECOMPILING,
                                f->name, at.file, at.line, last);
    if (dync__stance() == DYNC__STANCE_fail_on_recompile)
        return dync__stance_refuses(f, dync__str_get(&m->text));
    dync_status status = DYNC_OK;
    *eager = dync__stance() == DYNC__STANCE_eager_on_recompile ||
             dync__miss_over_limit(f, last,
                                   m->closest.kind == m->asked_last.kind ? m->closest.remedy
                                                                         : m->asked_last.remedy,
                                   &status);
    if (!*eager) dync__history_stretch(f, dync__str_get(&m->text), m->closest.remedy);
    return status;
}

/* The first call, or one after everything was forgotten. */
DYNC__RARE static dync_status dync__miss_first(dync__compiled *f, bool *eager)
{
    dync__history_miss(f, DYNC__MISS_first);
    *eager = dync__stance() == DYNC__STANCE_eager_on_recompile;
    return dync__stance() == DYNC__STANCE_fail_on_recompile
               ? dync__stance_refuses(f, "it was not compiled before")
               : DYNC_OK;
}

/* Its first trace, timed. */
DYNC__RARE static dync_status dync__miss_trace(dync__compiled *f, dync__cache_entry *e,
                                               const dync__callargs *call, dync_value *result)
{
    uint64_t start = dync__now_ns();
    const dync__lint_calls *lints = dync__lints();
    dync__lint *lint = !lints || DYNC__ATOMIC_LOAD(&f->entries) ? NULL : lints->begin(e);
    dync_status status = dync__trace_call(f, e, call, NULL, result);
    if (lint) lints->end(lint, f, e, call, status);
    (void)DYNC__ATOMIC_ADD(&f->history.trace_ns, dync__now_ns() - start);
    return status;
}

DYNC__RARE DYNC__FN dync_status dync__call_miss(dync__compiled *f, const dync__callargs *call,
                                                dync_value *result)
{
    dync__miss m = {.asked_last.remedy = ""};
    bool eager = false;
    if (f->callee.flags & DYNC__CALLEE_DISABLED)
        return dync__call_as_written(f, call, call->nargs, call->args, result);
    DYNC__COUNTER_ADD(cache_misses, 1);
    dync__compiled_bury(f);
    dync_status status = DYNC__ATOMIC_LOAD(&f->entries) ? dync__miss_again(f, call, &m, &eager)
                                                        : dync__miss_first(f, &eager);
    dync__cache_entry *e = status == DYNC_OK && !eager ? dync__calloc(sizeof *e) : NULL;
    if (e && m.last.n) e->why = dync__arena_strdup(&e->arena, dync__str_get(&m.last));
    dync__miss_free(&m);
    if (status != DYNC_OK) return status;
    if (eager) return dync__call_as_written(f, call, call->nargs, call->args, result);
    if (!e) return DYNC_ERR_MEMORY;
    status = dync__guards_make(e, f, call);
    if (status == DYNC_OK) status = dync__shapes_choose(f, e, call);
    DYNC__COUNTER_ADD(frames, 1);
    if (status == DYNC_OK) status = dync__miss_trace(f, e, call, result);
    if (status == DYNC_OK && !DYNC__ATOMIC_LOAD(&e->dead))
        dync__entry_insert(f, e);
    else
        dync__entry_free(e);
    return status;
}
