/* minify/hook_aot.c: repro_after=aot: a graph that AOT compiled is watched at its first run, when
 * there are real inputs. Source: torch/_dynamo/repro/after_aot.py, wrap_compiler_debug. After
 * hook_left.c, before hook.c. */
#include "../dync.in.h"
#include "hook.h"
DYNC__COLD

/* Level 4 (accuracy) always tries in a child; the others where isolation is set and the system
 * can fork. */
DYNC__FN bool dync__hook_may_fork(int level)
{
    return level == 4 || (dync__repro_now()->isolate && dync__child_possible());
}

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
        dync__error_slot *error = dync__error_guard_end(&guard);
        if (status != DYNC_OK)
            dync__hook_failed(error, a->level, &file, a->graph, n, values, &path, written);
        dync__error_raise(error);
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
DYNC__FN bool dync__hook_watches(void) { return !dync__hook.busy && dync__hook.aot_level; }

/* In place of inner->compile while aot_level is set. *out wraps the compiled graph and owns it.
 * g->over lists inputs whose memory results may take; the trial runs on them first, so that is
 * switched off. */
DYNC__FN dync_status dync__hook_after_aot(const dync__inner_compiler *inner, dync__graph *g,
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
