/* minify/hook_left.c: what a failure under repro_after leaves behind: a checkpoint or a program
 * that shrinks the graph, named in the error. Writing may fail: that is said, and the backend's own
 * error goes on to the caller as it was. After write_place.c, before hook_aot.c and hook.c. */
#include "../dync.in.h"
#include "hook.h"
DYNC__COLD

DYNC__DATA DYNC__TLS dync__hook_state dync__hook;

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
    const dync__error_slot *error = dync__error_guard_end(&guard);
    dync__hook_could_not("checkpoints", error);
}

/* Levels 2 to 4: writes the program that shrinks the graph; path gets its place. false: it could
 * not be written. */
DYNC__FN bool dync__hook_launcher(const dync__repro_file *file, dync__graph *g, int n,
                                  const dync_value *inputs, dync__str *path)
{
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    dync_status status = dync__repro_launcher(file, g, n, inputs, path);
    const dync__error_slot *error = dync__error_guard_end(&guard);
    dync__hook_could_not(dync__str_get(path), error);
    return status == DYNC_OK;
}

/* Levels 1 and 2 write now; 3 has written before. */
DYNC__FN void dync__hook_failed(dync__error_slot *error, int level, const dync__repro_file *file,
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
DYNC__FN void dync__hook_judge(dync__judge *j, const dync_backend *b, const char *options,
                               int level)
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
DYNC__FN dync_status dync__hook_verdict(const dync__verdict *v, int level, dync__repro_file *file,
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
