/* minify/hook.c: around a backend, with repro_after set: what it compiled is run at once on copies
 * of the inputs, and where that fails a program that shrinks the graph is left behind and named in
 * the error. After hook_aot.c; capture/segment.c and aot/runtime.c call it.
 *
 * A trial in a child process comes first, so that a crash or a hang becomes an error too. What is
 * left behind: hook_left.c; graphs after AOT: hook_aot.c. Source:
 * torch/_dynamo/repro/after_dynamo.py, WrapBackendDebug. */
#include "../dync.in.h"
#include "hook.h"
DYNC__COLD

DYNC__FN bool dync__hook_busy(bool busy)
{
    bool before = dync__hook.busy;
    dync__hook.busy = busy;
    return before;
}

/* ---- after dynamo ---------------------------------------------------------------------------- */

/* Runs the compiled code once, outside the tracer that is asking for it; results are dropped,
 * only failing counts. */
static dync_status dync__hook_run(dync__graph *g, dync_callable *code, int n,
                                  const dync_value *inputs)
{
    dync__run_items items = {0};
    dync__run_how how = {.forward_only = dync__repro_now()->forward_only != 0};
    dync__handler *stack = dync__handler_swap(NULL);
    dync_scope scope = dync_scope_begin();
    dync_status status = dync__run_once(g, code, n, inputs, how, &items);
    dync_scope_end(&scope);
    dync__handler_swap(stack);
    dync__vec_free(&items);
    return status;
}

/* A backend called with the example inputs of one captured graph:
 *
 *   level 3      write the launcher
 *   trial        in a child: a crash, a hang or (level 4) other values become an error here
 *   compile      here, into *out
 *   run          once on copies, forward and backward; an error is the compiler's error
 *
 * file, judge and verdict belong to this call; *out is given back where it fails. */
static dync_status dync__hook_after_dynamo(const dync__compiled *f, dync__graph *g,
                                           const dync_value *ex, int n, int level,
                                           dync_callable *out)
{
    dync__repro_file file = {.backend = f->backend.name ? f->backend.name : "inductor",
                             .options = f->opt.options,
                             .accuracy = level == 4,
                             .forward_only = dync__repro_now()->forward_only != 0,
                             .grad_off = dync__grad_is_off()};
    dync__str path = {0};
    dync__judge judge;
    dync__verdict verdict = {.kind = DYNC__PASSES};
    dync__graph *pristine = dync__graph_clone(g); /* a backend may change the graph */
    if (!pristine) return DYNC_ERR_MEMORY;
    bool written = level == 3 && dync__hook_launcher(&file, pristine, n, ex, &path);
    dync__hook_judge(&judge, &f->backend, f->opt.options, level);
    if (dync__hook_may_fork(level)) dync__judge_graph(&judge, pristine, n, ex, &verdict);
    dync_status status = dync__hook_verdict(&verdict, level, &file, pristine, n, ex,
                                            "Bad accuracy detected.", &path, written);
    if (status == DYNC_OK) {
        status = dync__judge_compile(&f->backend, f->opt.options, g, n, ex, out);
        bool compiled = status == DYNC_OK;
        if (compiled && level != 4) status = dync__hook_run(pristine, out, n, ex);
        if (status != DYNC_OK && level != 4)
            dync__hook_failed(&dync__tls.error, level, &file, pristine, n, ex, &path, written);
        if (compiled && status != DYNC_OK && out->destroy) out->destroy(out->state);
    }
    dync__graph_unref(pristine);
    dync__str_free(&path);
    return status;
}

/* ---- the two places -------------------------------------------------------------------------- */

/* In place of dync__graph_ask for every captured graph. A compiled function's own repro_after and
 * repro_level come before those of the process. */
static dync_status dync__hook_backend(const dync__compiled *f, dync__graph *g, const dync_value *ex,
                                      int n, dync_callable *out)
{
    const dync__repro_settings *now = dync__repro_now();
    int after = now->after, level = f->opt.repro_level ? f->opt.repro_level : now->level;
    /* dync_compile has checked it */
    if (f->opt.repro_after) (void)dync__repro_after_parse(f->opt.repro_after, &after);
    bool plain = dync__hook.busy || after == DYNC__AFTER_NONE ||
                 f->backend.compile == dync__backend_eager;
    if (!plain && after == DYNC__AFTER_DYNAMO) {
        bool busy = dync__hook_busy(true);
        dync_status status = dync__hook_after_dynamo(f, g, ex, n, level, out);
        dync__hook_busy(busy);
        return status;
    }
    dync__hook_state outer = dync__hook;
    if (!plain) {
        dync__hook.aot_level = level;
        dync__hook.backend = f->backend.name ? f->backend.name : "inductor";
        dync__hook.options = f->opt.options;
    }
    dync_status status = dync__graph_ask(&f->backend, g, ex, n, f->opt.options, out);
    dync__hook = outer;
    return status;
}

/* Before anything is compiled; the three hooks are atomics, read without a lock. */
DYNC__FN void dync__hook_install(void)
{
    DYNC__ATOMIC_STORE(&dync__backend_compile_hook, dync__hook_backend);
    DYNC__ATOMIC_STORE(&dync__aot_inner_hook, dync__hook_after_aot);
    DYNC__ATOMIC_STORE(&dync__aot_watched, dync__hook_watches);
}
