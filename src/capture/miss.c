/* capture/miss.c: a call that no entry serves: why, whether there may be one more, and its first
 * trace. After compiled.c, before cache.c. */
#include "../dync.in.h"
#include "trace.h"

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

DYNC__RARE DYNC__FN dync_status dync__call_miss(dync__compiled *f, const dync__callargs *call,
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
