/* minify/hook.c: around a backend, with repro_after set: what it compiled is run at once on copies
 * of the inputs, and where that fails a program that shrinks the graph is left behind and named in
 * the error. After write.c; capture/segment.c and aot/runtime.c call it.
 *
 * A trial in a child process comes first, so that a crash or a hang becomes an error too. Writing
 * may fail: that is said, and the backend's own error goes on to the caller as it was. Source:
 * torch/_dynamo/repro/after_dynamo.py, WrapBackendDebug; torch/_dynamo/repro/after_aot.py,
 * wrap_compiler_debug. */
#include "../dync.in.h"
#include "minify.h"
DYNC__COLD

/* What this thread compiles now; busy: for the minifier itself. */
typedef struct dync__hook_state {
    bool busy;
    int aot_level; /* 0: graphs after AOT are left alone */
    const char *backend, *options;
} dync__hook_state;
static DYNC__TLS dync__hook_state dync__hook;

DYNC__FN bool dync__hook_busy(bool busy)
{
    bool before = dync__hook.busy;
    dync__hook.busy = busy;
    return before;
}

/* ---- what is left behind --------------------------------------------------------------------- */

/* Behind the text of an error; its end goes where there is no room. */
static void dync__hook_note(dync__error_slot *e, const char *path)
{
    dync__str note = {0};
    dync__str_addf(&note,
                   "\n\nMinifier script written to %s. Run this script to find the "
                   "smallest traced graph which reproduces this error.\n",
                   path);
    size_t room = sizeof e->message - 1, n = strlen(e->message);
    if (!note.failed && note.n < room) {
        if (n + note.n > room) n = room - note.n;
        memcpy(e->message + n, note.at, note.n + 1);
    }
    dync__str_free(&note);
}

/* The minifier's own failures are warnings: the backend's error is what the caller must see. */
static void dync__hook_could_not(const char *what, const dync__error_slot *error)
{
    if (error->status != DYNC_OK) dync__warn("Could not write to %s: %s", what, error->message);
}

/* Level 1: the graph is written at each failure, without a launcher that shrinks it. */
static void dync__hook_checkpoint(const dync__repro_file *file, dync__graph *g, int n,
                                  const dync_value *inputs)
{
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    dync__repro_checkpoint(file, g, n, inputs);
    dync__error_slot error = dync__error_guard_end(&guard);
    dync__hook_could_not("checkpoints", &error);
}

/* Levels 2 to 4: writes the program that shrinks the graph; path gets its place. false: it could
 * not be written. */
static bool dync__hook_launcher(const dync__repro_file *file, dync__graph *g, int n,
                                const dync_value *inputs, dync__str *path)
{
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    dync_status status = dync__repro_launcher(file, g, n, inputs, path);
    dync__error_slot error = dync__error_guard_end(&guard);
    dync__hook_could_not(dync__str_get(path), &error);
    return status == DYNC_OK;
}

/* Levels 1 and 2 write now; 3 has written before. */
static void dync__hook_failed(dync__error_slot *error, int level, const dync__repro_file *file,
                              dync__graph *g, int n, const dync_value *inputs, dync__str *path,
                              bool written)
{
    dync__warn("Compiled Fx GraphModule failed. Creating script to minify the error.");
    if (level == 1)
        dync__hook_checkpoint(file, g, n, inputs);
    else if (level != 3)
        written = dync__hook_launcher(file, g, n, inputs, path);
    if (written) dync__hook_note(error, dync__str_get(path));
}

/* A text of the minifier's own, without operator and place. */
static void dync__hook_error(dync__error_slot *e, dync_status status, const char *class_name,
                             const char *text)
{
    e->status = status;
    dync__format(e->class_name, sizeof e->class_name, "%s", class_name);
    dync__format(e->message, sizeof e->message, "%s", text);
}

/* A judge with the settings in force now. Timeouts are capped at 1e9 ms, so that they fit an
 * int. */
static void dync__hook_judge(dync__judge *j, const dync_backend *b, const char *options, int level)
{
    const dync__repro_settings *now = dync__repro_now();
    *j = (dync__judge){.backend = b,
                       .options = options,
                       .accuracy = level == 4,
                       .isolate = now->isolate != 0,
                       .skip_eager = true};
    j->forward_only = now->forward_only != 0;
    j->timeout_ms = (int)DYNC__MIN(now->timeout_s * 1000, 1e9);
}

/* Eager against itself: a graph that differs from itself cannot be judged. */
static bool dync__hook_eager_is_stable(dync__graph *g, int n, const dync_value *inputs,
                                       bool forward_only)
{
    bool same = true, ran = true;
    dync__str why = {0};
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    dync_scope scope = dync_scope_begin();
    dync_status status = dync__accuracy_check(g, NULL, n, inputs, forward_only, &same, &ran, &why);
    dync_scope_end(&scope);
    (void)dync__error_guard_end(&guard);
    if (status == DYNC_OK && !same) dync__warn("Eager itself failed: %s", dync__str_get(&why));
    dync__str_free(&why);
    return same;
}

/* What a trial said before anything ran here. DYNC_OK: go on. */
static dync_status dync__hook_verdict(const dync__verdict *v, int level, dync__repro_file *file,
                                      dync__graph *g, int n, const dync_value *inputs,
                                      const char *bad_accuracy, dync__str *path, bool written)
{
    dync__error_slot error;
    if (v->kind == DYNC__CRASHES || v->kind == DYNC__HANGS) {
        file->accuracy = false;
        dync__hook_error(&error, DYNC_ERR_RUNTIME, "RuntimeError", v->error.message);
        dync__hook_failed(&error, level == 4 ? 2 : level, file, g, n, inputs, path, written);
        dync__error_raise(&error);
        return DYNC_ERR_RUNTIME;
    }
    if (v->kind != DYNC__INACCURATE ||
        !dync__hook_eager_is_stable(g, n, inputs, file->forward_only))
        return DYNC_OK;
    dync__warn("Accuracy failed for the %s graph. Creating script to minify the error.",
               file->grad_off && dync__hook.aot_level ? "AOT Autograd" : "TorchDynamo produced");
    bool made = dync__hook_launcher(file, g, n, inputs, path);
    dync__hook_error(&error, DYNC_ERR_ACCURACY, "AccuracyError", bad_accuracy);
    if (made) dync__hook_note(&error, dync__str_get(path));
    dync__error_raise(&error);
    return DYNC_ERR_ACCURACY;
}

/* ---- after dynamo ---------------------------------------------------------------------------- */

/* Level 4 (accuracy) always tries in a child; the others where isolation is set and the system
 * can fork. */
static bool dync__hook_may_fork(int level)
{
    return level == 4 || (dync__repro_now()->isolate && dync__child_possible());
}

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

/* ---- after AOT ------------------------------------------------------------------------------- */

/* A compiled graph after AOT, wrapped: it is judged at its first runs, when there are real inputs.
 * graph: as it was before the inner compiler saw it, one reference. */
typedef struct dync__hook_aot {
    dync__inner inner;
    dync__graph *graph;
    int level, n_out;
    bool tried; /* a trial in a child went well */
    char *backend, *options;
} dync__hook_aot;

/* The inner callable with values, as a backend would give it. */
static dync_value dync__hook_aot_values(void *state, const dync_value *args, int n)
{
    const dync__hook_aot *a = state;
    size_t bytes = (size_t)(n + a->n_out + 1) * sizeof(dync__tensor *);
    dync__tensor **in = dync__calloc(bytes), **out = in ? in + n : NULL;
    dync_value list = DYNC_NONE;
    dync_status status = in ? DYNC_OK : DYNC_ERR_MEMORY;
    for (int i = 0; i < n && status == DYNC_OK; i++)
        if (!(in[i] = dync__open(args[i].as.t))) status = DYNC_ERR_VALUE;
    if (status == DYNC_OK) status = a->inner.run(a->inner.state, n, in, a->n_out, out);
    if (status == DYNC_OK) list = dync__list_new(a->n_out);
    for (int i = 0; i < a->n_out && in; i++) {
        dync_tensor *h = dync__give(out[i]);
        if (h && list.kind == DYNC_KIND_LIST) dync__list_set(list, i, dync_v_tensor(h));
    }
    dync__free(in, bytes);
    return list;
}

/* Compiles nothing: gives the judge the code that exists already. user: the dync__hook_aot. */
static dync_status dync__hook_aot_backend(dync_graph *g, const dync_value *ex, int n,
                                          const char *options, dync_callable *out, void *user)
{
    (void)g, (void)ex, (void)n, (void)options;
    memset(out, 0, sizeof *out);
    out->run = dync__hook_aot_values;
    out->state = user;
    return DYNC_OK;
}

/* Trial, dumps, and the run itself. values: the real inputs. */
static dync_status dync__hook_aot_checked(dync__hook_aot *a, int n, const dync_value *values,
                                          dync__tensor *const *in, int n_out, dync__tensor **out)
{
    dync__repro_file file = {.backend = a->backend,
                             .options = a->options,
                             .accuracy = a->level == 4,
                             .forward_only = true,
                             .grad_off = true};
    dync__str path = {0};
    dync__judge judge;
    dync__verdict verdict = {.kind = DYNC__PASSES};
    dync_backend backend = {.name = a->backend, .compile = dync__hook_aot_backend, .user = a};
    dync__hook_state outer = dync__hook;
    bool grad_off = dync__grad_is_off();
    dync__hook = (dync__hook_state){.busy = true, .aot_level = a->level};
    dync__grad_off(true);
    bool written = a->level == 3 && dync__hook_launcher(&file, a->graph, n, values, &path);
    dync__hook_judge(&judge, &backend, NULL, a->level);
    judge.forward_only = true;
    if (a->level == 4 || (!a->tried && dync__hook_may_fork(a->level)))
        dync__judge_graph(&judge, a->graph, n, values, &verdict);
    dync_status status = dync__hook_verdict(&verdict, a->level, &file, a->graph, n, values,
                                            "Bad accuracy detected", &path, written);
    a->tried = true;
    dync__grad_off(grad_off);
    if (status == DYNC_OK) {
        dync__error_guard guard;
        dync__error_guard_begin(&guard);
        status = a->inner.run(a->inner.state, n, in, n_out, out);
        dync__error_slot error = dync__error_guard_end(&guard);
        if (status != DYNC_OK)
            dync__hook_failed(&error, a->level, &file, a->graph, n, values, &path, written);
        dync__error_raise(&error);
    }
    dync__hook = outer;
    dync__str_free(&path);
    return status;
}

/* inner.run of the wrapped graph; out: n_out tensors, each a reference for the caller. Within the
 * minifier's own trials the inner code runs unwatched. */
static dync_status dync__hook_aot_run(void *state, int n_in, dync__tensor *const *in, int n_out,
                                      dync__tensor **out)
{
    dync__hook_aot *a = state;
    if (dync__hook.busy) return a->inner.run(a->inner.state, n_in, in, n_out, out);
    size_t bytes = (size_t)(n_in + 1) * sizeof(dync_value);
    dync_value *values = dync__alloc(bytes);
    if (!values) return DYNC_ERR_MEMORY;
    for (int i = 0; i < n_in; i++) values[i] = dync_v_tensor(dync__handle(in[i]));
    dync_status status = dync__hook_aot_checked(a, n_in, values, in, n_out, out);
    dync__free(values, bytes);
    return status;
}

static void dync__hook_aot_destroy(void *state)
{
    dync__hook_aot *a = state;
    if (a->inner.destroy) a->inner.destroy(a->inner.state);
    dync__graph_unref(a->graph);
    dync__strfree(a->backend);
    dync__strfree(a->options);
    dync__free(a, sizeof *a);
}

/* There are no real inputs while AOT compiles: ones of the right form. */
static dync_status dync__hook_aot_examples(const dync__graph *g, dync_value *out)
{
    for (int i = 0; i < g->n_inputs; i++) {
        const dync__info *info = &g->node.at[i]->info[0];
        dync__tensor *t = dync__tensor_empty(info->dtype, DYNC_CPU, &info->lay);
        if (!t) return DYNC_ERR_MEMORY;
        size_t item = dync__dtype_info(t->dtype)->bytes,
               count = t->storage->data ? t->storage->size_bytes / item : 0;
        bool floats = dync__dtype_info(t->dtype)->kind == 'f';
        for (size_t k = 0; k < count; k++)
            dync__store_f64((char *)t->storage->data + k * item, t->dtype,
                            floats ? dync__rng_normal(0, k) : 0);
        out[i] = dync_v_tensor(dync_to_device(dync__give(t), (dync_device)info->device));
    }
    return DYNC_OK;
}

/* The inner compiler failed: its error stays in the thread's slot and gets the place of the
 * program. */
static void dync__hook_aot_uncompiled(dync__graph *g, int level)
{
    dync__repro_file file = {.backend = dync__hook.backend,
                             .options = dync__hook.options,
                             .forward_only = true,
                             .grad_off = true};
    dync__str path = {0};
    size_t bytes = (size_t)(g->n_inputs + 1) * sizeof(dync_value);
    dync_value *values = dync__alloc(bytes);
    dync_scope scope = dync_scope_begin();
    /* symbolic sizes have no form yet */
    if (values && !g->symbol.n && dync__hook_aot_examples(g, values) == DYNC_OK)
        dync__hook_failed(&dync__tls.error, level >= 3 ? 2 : level, &file, g, g->n_inputs, values,
                          &path, false);
    dync_scope_end(&scope);
    dync__free(values, bytes);
    dync__str_free(&path);
}

/* aot/ asks it, to leave out what would keep the graph from being compiled alone. */
static bool dync__hook_watches(void) { return !dync__hook.busy && dync__hook.aot_level; }

/* In place of inner->compile while aot_level is set. *out wraps the compiled graph and owns it.
 * g->over lists inputs whose memory results may take; the trial runs on them first, so that is
 * switched off. */
static dync_status dync__hook_after_aot(const dync__inner_compiler *inner, dync__graph *g,
                                        bool is_backward, const dync__options *options,
                                        dync__inner *out)
{
    int level = dync__hook.busy ? 0 : dync__hook.aot_level;
    if (!level) return inner->compile(inner->user, g, is_backward, options, out);
    dync__hook_aot *a = dync__calloc(sizeof *a);
    dync__graph *pristine = a ? dync__graph_clone(g) : NULL;
    dync_status status = DYNC_ERR_MEMORY;
    g->over.n = 0; /* it runs twice on the same inputs */
    if (pristine && (a->backend = dync__strdup(dync__hook.backend)) &&
        (a->options = dync__strdup(options->text)))
        status = inner->compile(inner->user, g, is_backward, options, &a->inner);
    if (status != DYNC_OK) {
        if (pristine && a->options) dync__hook_aot_uncompiled(pristine, level);
        dync__graph_unref(pristine);
        if (a) dync__strfree(a->backend), dync__strfree(a->options);
        dync__free(a, sizeof *a);
        return status;
    }
    a->graph = pristine;
    a->level = level;
    a->n_out = DYNC__MAX(dync__graph_outputs(pristine), 0);
    memset(out, 0, sizeof *out);
    out->run = dync__hook_aot_run;
    out->destroy = dync__hook_aot_destroy;
    out->state = a;
    return DYNC_OK;
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
