/* minify/repro.c: what a repro's main calls: its inputs are made again, its function becomes a
 * graph, which is run or shrunk. Also the backends that shrink whatever they are given, and the
 * predicates of dync_minify. After hook.c, before compile/. Source:
 * torch/_dynamo/repro/after_dynamo.py, run_repro; torch/_dynamo/debug_utils.py, InputReader. */
#include "../dync.in.h"
#include "minify.h"
DYNC__COLD

/* ---- the command line ------------------------------------------------------------------------ */

/* What the program states, overridden by its command line. */
typedef struct dync__repro_options {
    dync_repro repro;
    bool isolate, help;
} dync__repro_options;

static void dync__repro_usage(const char *program)
{
    dync__minify_say("usage: %s [run | minify] [--accuracy | --no-accuracy] [--save-dir DIR | "
                     "--no-save-dir] [--isolate | --no-isolate]\n"
                     "       [--autocast] [--backend NAME] [--only-fwd]\n"
                     "  run      runs the graph in eager mode and through the backend; exit "
                     "status 1 where they differ or the backend fails\n"
                     "  minify   shrinks the graph; every step goes to checkpoints/, the "
                     "smallest to repro.c",
                     program ? program : "repro");
}

/* --name VALUE and --name=VALUE */
static bool dync__repro_flag_value(const char *name, int argc, char **argv, int *i,
                                   const char **out)
{
    size_t n = strlen(name);
    if (strncmp(argv[*i], name, n) != 0) return false;
    if (argv[*i][n] == '=') {
        *out = argv[*i] + n + 1;
        return true;
    }
    if (argv[*i][n] || *i + 1 >= argc) return false;
    *out = argv[++*i];
    return true;
}

/* The flags are argparse's of upstream's repro. false: an unknown one, after which usage was
 * printed (exit status 2). */
static bool dync__repro_arguments(dync__repro_options *o, int argc, char **argv)
{
    const struct {
        const char *name;
        bool *field, value;
    } flags[] = {
        {"--accuracy", &o->repro.accuracy, true},
        {"--no-accuracy", &o->repro.accuracy, false},
        {"--isolate", &o->isolate, true},
        {"--no-isolate", &o->isolate, false},
        {"--autocast", &o->repro.autocast, true},
        {"--only-fwd", &o->repro.only_fwd, true},
        {"--help", &o->help, true},
        {"-h", &o->help, true},
    };
    bool commanded = false;
    for (int i = 1; i < argc; i++) {
        bool known = false;
        for (int k = 0; k < DYNC__COUNT_OF(flags); k++)
            if (strcmp(argv[i], flags[k].name) == 0) known = true, *flags[k].field = flags[k].value;
        if (known || dync__repro_flag_value("--backend", argc, argv, &i, &o->repro.backend) ||
            dync__repro_flag_value("--save-dir", argc, argv, &i, &o->repro.save_dir))
            continue;
        if (strcmp(argv[i], "--no-save-dir") == 0) {
            o->repro.save_dir = NULL;
        } else if (!commanded && (strcmp(argv[i], "run") == 0 || strcmp(argv[i], "minify") == 0)) {
            o->repro.command = argv[i];
            commanded = true;
        } else {
            dync__repro_usage(argc > 0 ? argv[0] : NULL);
            dync__minify_say("%s: error: unrecognized arguments: %s",
                             argc > 0 && argv[0] ? argv[0] : "repro", argv[i]);
            return false;
        }
    }
    return true;
}

/* ---- the graph ------------------------------------------------------------------------------- */

/* One call of dync_run_repro. reader holds the inputs, which the scope of that call owns; graph is
 * the function over them, one reference. */
typedef struct dync__repro_case {
    const dync__repro_options *o;
    const dync_backend *backend;
    dync__repro_reader reader;
    dync__graph *graph;
} dync__repro_case;

/* Runs load_args, again where it has run: a run on the inputs themselves may have written into
 * them. What was read before is given back first. */
static dync_status dync__repro_load(dync__repro_case *c)
{
    for (int i = 0; i < c->reader.storage.n; i++)
        dync__storage_unref(c->reader.storage.at[i].storage);
    dync__vec_free(&c->reader.storage);
    dync__vec_free(&c->reader.value);
    dync__object_end(&c->reader.object);
    memset(&c->reader, 0, sizeof c->reader);
    c->reader.save_dir = c->o->repro.save_dir;
    uint64_t seed = dync__tls.rng_seed, offset = dync__tls.rng_offset;
    c->o->repro.load_args(dync__repro_reader_handle(&c->reader));
    /* random data in place of a file change nothing else */
    dync__tls.rng_seed = seed;
    dync__tls.rng_offset = offset;
    if (!c->reader.failed) return DYNC_OK;
    return dync_error() != DYNC_OK ? dync_error() : dync__fail(DYNC_ERR_MEMORY, "load_args failed");
}

/* The function runs over tensors that it meets, not that it is given: so there may be any number of
 * them. */
static dync_value dync__repro_call(const dync_value *args, int nargs, void *user)
{
    const dync__repro_case *c = user;
    (void)args, (void)nargs;
    return c->o->repro.mod(c->reader.value.at, c->reader.value.n, NULL);
}

/* The name of the ith input: the ith of the list in names ("x, y"), or "input", which the graph
 * makes unique. */
static void dync__repro_name(const char *names, int i, char *out, size_t cap)
{
    while (names && i-- > 0) names = (names = strchr(names, ',')) ? names + 1 : NULL;
    if (names) names += strspn(names, " ");
    if (names && *names)
        dync__format(out, cap, "%.*s", (int)strcspn(names, ", "), names);
    else
        dync__format(out, cap, "input");
}

/* Input i, with the form of its tensor, or as a number that the graph keeps in place. NULL: no
 * memory. */
static dync__node *dync__repro_placeholder(dync__graph *g, const dync__repro_case *c, int i)
{
    char name[128];
    const dync_value *v = &c->reader.value.at[i];
    const dync__tensor *t = v->kind == DYNC_KIND_TENSOR ? dync__peek(v->as.t) : NULL;
    dync__info info = {.alias = -1};
    if (t) {
        info.dtype = t->dtype;
        info.device = t->device;
        info.lay = t->lay;
    }
    dync__repro_name(c->o->repro.names, i, name, sizeof name);
    dync__node *n = dync__graph_placeholder(g, name, NULL, t ? &info : NULL);
    if (n && t) n->requires_grad[0] = dync__tensor_requires_grad(t);
    if (n && !t)
        n->scalar = v->kind == DYNC_KIND_FLOAT  ? dync__arg_f(v->as.f)
                    : v->kind == DYNC_KIND_BOOL ? dync__arg_b(v->as.b)
                                                : dync__arg_i(v->as.i);
    return n;
}

/* Tensors met while tracing are attributes: those that load_args made become the inputs. */
static dync__node *dync__repro_node(dync__rewrite *r, dync__node *old)
{
    const dync__repro_case *c = r->user;
    dync__node *input = NULL;
    for (int k = 0; k < c->reader.value.n && old->kind == DYNC__N_GET_ATTR; k++)
        if (c->reader.value.at[k].kind == DYNC_KIND_TENSOR &&
            dync__peek(c->reader.value.at[k].as.t) == old->value)
            input = r->to->node.at[k];
    return input ? input : dync__rewrite_copy(r, old);
}

/* The traced graph has no inputs, since the function reads c->reader; inputs are put in front, and
 * whatever reads one of their tensors reads the input. c->graph: one reference, NULL on failure. */
static dync_status dync__repro_rebuild(dync__repro_case *c, dync__graph *traced)
{
    dync__rewrite r;
    dync_status status = dync__rewrite_begin(&r, traced, "GraphModule");
    r.user = c;
    for (int i = 0; i < c->reader.value.n && status == DYNC_OK; i++)
        if (!dync__repro_placeholder(r.to, c, i)) status = DYNC_ERR_MEMORY;
    for (int i = 0; i < traced->node.n && status == DYNC_OK; i++)
        status = dync__rewrite_put(&r, traced->node.at[i], dync__repro_node);
    return dync__rewrite_end(&r, status, &c->graph);
}

/* Makes c->graph out of the C function that the program carries. */
static dync_status dync__repro_trace(dync__repro_case *c)
{
    dync_callee callee = dync_bind_callee(dync_fnv(dync__repro_call), "Repro", c, NULL);
    dync_scope scope = dync_scope_begin();
    dync__graph *traced = dync__graph_peek(dync_make_graph_values(callee, "Repro", 0, NULL));
    if (traced) (void)dync__repro_rebuild(c, traced);
    dync_scope_end(&scope);
    if (c->graph) return DYNC_OK;
    return dync_error() != DYNC_OK
               ? dync_error()
               : dync__fail(DYNC_ERR_INTERNAL, "the graph of "
                                               "the repro could not be made again");
}

/* ---- run ------------------------------------------------------------------------------------- */

static dync_status dync__repro_raise(dync_status status, const char *class_name, const char *text)
{
    return dync__fail_class(status, class_name, "%s", text);
}

/* As a compiled function would tell it. */
static dync_status dync__repro_compile(dync__repro_case *c, dync__graph *g, dync_callable *code)
{
    dync__error_guard guard;
    dync__str text = {0};
    dync__error_guard_begin(&guard);
    dync_status status = dync__judge_compile(c->backend, c->o->repro.options, g, c->reader.value.n,
                                             c->reader.value.at, code);
    dync__error_slot inner = dync__error_guard_end(&guard);
    if (status == DYNC_OK) return DYNC_OK;
    dync__str_addf(&text, "backend='%s' raised:\n", c->o->repro.backend);
    dync__error_text(&text, &inner);
    status = dync__fail(DYNC_ERR_BACKEND, "%s", dync__str_get(&text));
    dync__str_free(&text);
    return status;
}

static bool dync__repro_forward_only(const dync__repro_case *c)
{
    return c->o->repro.only_fwd || dync__repro_now()->forward_only;
}

/* Compares eager with the compiled code. A graph that does not compile, or raises, is passed with a
 * warning: another failure than the one that the program is about. compiled: of
 * dync__repro_compile. */
static dync_status dync__repro_run_accuracy(dync__repro_case *c, const dync_callable *code,
                                            dync_status compiled)
{
    bool same = true, ran = compiled == DYNC_OK;
    dync__str why = {0};
    dync_status status = DYNC_OK;
    if (ran)
        status = dync__accuracy_check(c->graph, code, c->reader.value.n, c->reader.value.at,
                                      dync__repro_forward_only(c), &same, &ran, &why);
    if (status == DYNC_OK && !ran)
        dync__warn("While minifying the program in accuracy minification mode, ran into a "
                   "runtime exception which is likely an unrelated "
                   "issue. Skipping this graph. %s",
                   compiled == DYNC_OK ? dync__str_get(&why) : dync_error_message());
    if (status == DYNC_OK && ran && !same) {
        dync__warn("Accuracy failed: %s", dync__str_get(&why));
        status = dync__repro_raise(DYNC_ERR_ACCURACY, "AccuracyError", "Dynamo failed");
    }
    dync__str_free(&why);
    return status;
}

/* Runs the graph in eager mode first, since nothing can be said of a backend on a graph that fails
 * without it. With accuracy it is compared with itself. Without, it runs on the inputs themselves,
 * which are then read again. */
static dync_status dync__repro_eager(dync__repro_case *c)
{
    bool same = true, ran = true;
    dync__str why = {0};
    dync__run_items items = {0};
    dync__run_how how = {.forward_only = dync__repro_forward_only(c), .as_given = true};
    dync_status status;
    if (!c->o->repro.accuracy) {
        status = dync__run_once(c->graph, NULL, c->reader.value.n, c->reader.value.at, how, &items);
        dync__vec_free(&items);
        return status == DYNC_OK ? dync__repro_load(c) : status;
    }
    status = dync__accuracy_check(c->graph, NULL, c->reader.value.n, c->reader.value.at,
                                  dync__repro_forward_only(c), &same, &ran, &why);
    if (status == DYNC_OK && (!same || !ran))
        status = dync__repro_raise(DYNC_ERR_RUNTIME, "AssertionError", "Eager itself failed");
    dync__str_free(&why);
    return status;
}

/* The command "run". DYNC_OK: eager and the backend agree or, without accuracy, both run. */
static dync_status dync__repro_run(dync__repro_case *c)
{
    dync_callable code = {0};
    dync__run_items items = {0};
    dync__run_how how = {.forward_only = dync__repro_forward_only(c), .as_given = true};
    dync_status status = dync__repro_eager(c);
    if (status != DYNC_OK) return status;
    dync__graph *g = dync__graph_clone(c->graph);
    if (!g) return DYNC_ERR_MEMORY;
    dync_status compiled;
    if (c->o->repro.accuracy) { /* an error is not what is judged here */
        dync__error_guard guard;
        dync__error_guard_begin(&guard);
        compiled = dync__repro_compile(c, g, &code);
        (void)dync__error_guard_end(&guard);
        status = dync__repro_run_accuracy(c, &code, compiled);
    } else {
        status = compiled = dync__repro_compile(c, g, &code);
        if (status == DYNC_OK)
            status =
                dync__run_once(c->graph, &code, c->reader.value.n, c->reader.value.at, how, &items);
    }
    dync__vec_free(&items);
    if (compiled == DYNC_OK && code.destroy) code.destroy(code.state);
    dync__graph_unref(g);
    return status;
}

/* ---- minify ---------------------------------------------------------------------------------- */

/* dync__shrink's predicate: the graph fails in the way that the whole did. */
static bool dync__minifying_fails(void *user, dync__graph *g, int n, const dync_value *inputs)
{
    const dync__minifying *m = user;
    dync__verdict now;
    dync__judge_graph(&m->judge, g, n, inputs, &now);
    return dync__judge_similar(&m->first, &now);
}

/* dync__shrink's "improved": each smaller graph goes to disk at once, so that a run which is
 * interrupted leaves its best. Not being able to write is told at the end. */
static void dync__minifying_dump(void *user, dync__graph *g, int n, const dync_value *inputs)
{
    dync__minifying *m = user;
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    dync_status status = dync__repro_checkpoint(&m->file, g, n, inputs);
    dync__error_slot error = dync__error_guard_end(&guard);
    m->could_not = status != DYNC_OK;
    if (m->could_not) dync__warn("Could not write the checkpoint: %s", error.message);
}

/* Sets m->first, the verdict on the whole graph, then shrinks. g is not changed. Fails where the
 * graph does not fail, or the result could not be written. */
DYNC__FN dync_status dync__minifying_run(dync__minifying *m, dync__graph *g, int n,
                                         const dync_value *inputs)
{
    dync__judge whole = m->judge;
    whole.skip_eager = true;
    dync__judge_graph(&whole, g, n, inputs, &m->first);
    if (m->first.kind == DYNC__RAISES || m->first.kind == DYNC__CRASHES ||
        m->first.kind == DYNC__HANGS)
        dync__warn("Compiled Fx GraphModule failed. Creating script to minify the error.");
    else if (m->first.kind == DYNC__INACCURATE)
        dync__warn("Accuracy failed for the TorchDynamo "
                   "produced graph");
    else
        return dync__repro_raise(DYNC_ERR_VALUE, "RuntimeError",
                                 "Input graph did not fail the tester");
    dync__shrink how = {
        .fails = dync__minifying_fails, .improved = dync__minifying_dump, .user = m};
    dync__graph *smallest = dync__graph_clone(g);
    dync_value left;
    int queries = 0;
    if (!smallest) return DYNC_ERR_MEMORY;
    dync_status status = dync__shrink_graph(&how, &smallest, n, inputs, &left, &queries);
    dync__graph_unref(smallest);
    if (status == DYNC_OK && m->could_not)
        return dync__fail(DYNC_ERR_IO, "the minimal repro "
                                       "could not be written");
    if (status == DYNC_OK) dync__minify_say("Wrote minimal repro out to repro.c");
    return status;
}

/* Fills m from the arguments and the settings of the process. b and options must outlive m. */
DYNC__FN void dync__minifying_begin(dync__minifying *m, const dync_backend *b, const char *options,
                                    bool accuracy, bool isolate, bool only_fwd)
{
    const dync__repro_settings *now = dync__repro_now();
    memset(m, 0, sizeof *m);
    m->judge = (dync__judge){.backend = b,
                             .options = options,
                             .accuracy = accuracy,
                             .isolate = isolate && now->isolate,
                             .forward_only = only_fwd || now->forward_only};
    m->judge.timeout_ms = (int)DYNC__MIN(now->timeout_s * 1000, 1e9);
    m->file = (dync__repro_file){.backend = b->name ? b->name : "inductor",
                                 .options = options,
                                 .accuracy = accuracy,
                                 .forward_only = only_fwd,
                                 .grad_off = dync__grad_is_off()};
}

/* ---- main ------------------------------------------------------------------------------------ */

/* Load, trace, and the command. What it makes is in *c, for the caller to free whatever is
 * returned. */
static dync_status dync__repro_do(dync__repro_case *c)
{
    const dync_repro *r = &c->o->repro;
    if (!r->mod || !r->load_args)
        return dync__fail(DYNC_ERR_VALUE, "dync_run_repro: mod or "
                                          "load_args is NULL");
    if (!(c->backend = dync_lookup_backend(r->backend ? r->backend : "inductor")))
        return DYNC_ERR_VALUE;
    if (r->autocast)
        dync__warn("--autocast changes nothing: dync computes in the dtypes that "
                   "the graph names");
    DYNC__TRY(dync__repro_load(c));
    DYNC__TRY(dync__repro_trace(c));
    if (strcmp(r->command, "run") == 0) return dync__repro_run(c);
    dync__minifying m;
    dync__minifying_begin(&m, c->backend, r->options, r->accuracy, c->o->isolate, r->only_fwd);
    return dync__minifying_run(&m, c->graph, c->reader.value.n, c->reader.value.at);
}

/* The exit status of the program: 0, 1 for a failure (its text is on stderr), 2 for unknown
 * arguments. The minifier's hooks are off meanwhile, and the thread's random state, gradient mode
 * and recorded error are as before. */
DYNC_API int dync_run_repro(int argc, char **argv, dync_repro repro)
{
    dync__repro_options o = {.repro = repro, .isolate = true};
    dync__repro_case c = {.o = &o};
    if (!o.repro.command) o.repro.command = "run";
    if (!o.repro.backend) o.repro.backend = "inductor";
    if (!argv) argc = 0;
    if (!dync__repro_arguments(&o, argc, argv)) return 2;
    if (o.help) {
        dync__repro_usage(argc > 0 ? argv[0] : NULL);
        return 0;
    }
    bool busy = dync__hook_busy(true), grad_off = dync__grad_is_off();
    dync__grad_off(repro.no_grad);
    dync__error_guard guard;
    dync__error_guard_begin(&guard);
    dync_scope scope = dync_scope_begin();
    dync_status status = dync__repro_do(&c);
    dync__error_slot error = dync__error_guard_end(&guard);
    dync__graph_unref(c.graph);
    for (int i = 0; i < c.reader.storage.n; i++)
        dync__storage_unref(c.reader.storage.at[i].storage);
    dync__vec_free(&c.reader.storage);
    dync__vec_free(&c.reader.value);
    dync__object_end(&c.reader.object);
    dync_scope_end(&scope);
    dync__grad_off(grad_off);
    dync__hook_busy(busy);
    if (status == DYNC_OK) return 0;
    dync__str text = {0};
    dync__error_text(&text, &error);
    dync__minify_say("%s", dync__str_get(&text));
    dync__str_free(&text);
    return 1;
}
