/* minify/repro.c: what a repro's main calls: the command line, by which its inputs are made again,
 * its function becomes a graph (repro_graph.c), and that is run (repro_run.c) or shrunk
 * (minifying.c). Before backends.c. Source: torch/_dynamo/repro/after_dynamo.py, run_repro;
 * torch/_dynamo/debug_utils.py, InputReader. */
#include "../dync.in.h"
#include "repro.h"
DYNC__COLD

/* ---- the command line ------------------------------------------------------------------------ */

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
    DYNC__NEEDS(DYNC_NO_MINIFY, "dync_run_repro", 1);
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
    const dync__error_slot *error = dync__error_guard_end(&guard);
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
    dync__error_text(&text, error);
    dync__minify_say("%s", dync__str_get(&text));
    dync__str_free(&text);
    return 1;
}
