/* minify/write.c: a graph and its inputs as one C program that needs only dync.h. After
 * write_args.c and write_fx.c, before write_place.c.
 *
 * The parts stand in upstream's order (torch/_dynamo/repro/after_dynamo.py,
 * generate_dynamo_fx_repro_string): include, configuration, the module as torch.fx prints it (a
 * comment) and as C, load_args, main. Attributes of the graph that are not printed as constants
 * become further inputs. */
#include "../dync.in.h"
#include "write.h"
DYNC__COLD

/* configure() sets what the failure may depend on: threads, seed and the settings that are not the
 * default. Custom operators and backends cannot be written; a comment stands where the reader must
 * register them. */
static void dync__write_head(dync__writer *w)
{
    bool custom = false;
    for (int i = 0; i < w->graph->node.n; i++)
        custom = custom ||
                 (dync__node_is_call(w->graph->node.at[i]) && w->graph->node.at[i]->op == -1);
    dync__str_add(&w->text,
                  "/* A repro written by dync's minifier. It needs dync.h and nothing else:  cc "
                  "-O2 FILE.c -lm -pthread\n"
                  " *   ./a.out run      runs the graph with the backend: exit status 1 where it "
                  "fails\n"
                  " *   ./a.out minify   shrinks it: the result is repro.c in the working "
                  "directory\n"
                  " * --accuracy, --no-accuracy, --backend NAME, --only-fwd, --save-dir DIR, "
                  "--no-isolate: see dync_run_repro. */\n"
                  "#define DYNC_IMPLEMENTATION\n#include \"dync.h\"\n\n"
                  "static void configure(void)\n{\n");
    dync__str_addf(&w->text,
                   "    dync_config_set(\"threads\", \"%d\");\n    dync_manual_seed(%llu);\n",
                   dync__pool_threads(), (unsigned long long)dync__tls.rng_seed);
    dync__repro_print(&w->text, false);
    if (custom)
        dync__str_add(&w->text, "    /* register the graph's own operators here: "
                                "dync_op_register(...) */\n");
    const char *backend = w->file->backend;
    if (!dync__backend_is_builtin(backend))
        dync__str_addf(&w->text,
                       "    /* register the backend here: dync_register_backend(%s%s) */\n",
                       backend && dync__is_name(backend, strlen(backend)) ? "&" : "...",
                       backend && dync__is_name(backend, strlen(backend)) ? backend : "");
    dync__str_add(&w->text, "}\n\n");
}

/* The graph as torch.fx prints it, for the reader, then as the C function Repro, whose arguments
 * are the values of load_args. */
static void dync__write_module(dync__writer *w)
{
    dync__write_fx(w);
    dync__graph_print_c_inside(&w->text, w->graph, "Repro");
    dync__str_add(&w->text, "static dync_value Repro(const dync_value *dync_args, int "
                            "dync_nargs, void *dync_user)\n{\n"
                            "    (void)dync_args, (void)dync_nargs, (void)dync_user;\n");
    dync__graph_print_c_body(&w->text, w->graph, "Repro", "dync_args");
    dync__str_add(&w->text, "}\n\n");
}

/* `.field = "text"`; nothing where there is no text. */
static void dync__write_text_field(dync__writer *w, const char *field, const char *text)
{
    if (!text || !*text) return;
    dync__str_addf(&w->text, ",\n        .%s = ", field);
    dync__str_quote_c(&w->text, text);
}

static void dync__write_main(dync__writer *w)
{
    dync__str names = {0};
    for (int i = 0; i < w->graph->node.n; i++) {
        const dync__node *n = w->graph->node.at[i];
        if (n->kind == DYNC__N_PLACEHOLDER || dync__write_is_attr(n))
            dync__str_addf(&names, names.n ? ", %s" : "%s", n->name);
    }
    dync__str_add(&w->text, "int main(int argc, char **argv)\n{\n    configure();\n    return "
                            "dync_run_repro(argc, argv, (dync_repro){\n"
                            "        .mod = Repro, .load_args = load_args, .load_args_version = 0");
    dync__str_addf(&w->text, ", .accuracy = %s", w->file->accuracy ? "true" : "false");
    if (w->file->forward_only) dync__str_add(&w->text, ", .only_fwd = true");
    if (w->file->grad_off) dync__str_add(&w->text, ", .no_grad = true");
    dync__write_text_field(w, "names", dync__str_get(&names));
    dync__write_text_field(w, "command", w->file->command);
    dync__write_text_field(w, "save_dir", w->file->save_dir);
    dync__write_text_field(w, "backend", w->file->backend);
    dync__write_text_field(w, "options", w->file->options);
    dync__str_add(&w->text, "});\n}\n");
    dync__str_free(&names);
}

/* <math.h> for numbers that are not finite, which are rare. */
static void dync__write_math(dync__str *s)
{
    static const char include[] = "#define DYNC_IMPLEMENTATION\n";
    dync__str whole = {0};
    const char *text = dync__str_get(s), *at = strstr(text, include);
    if (!at || (!strstr(text, "NAN") && !strstr(text, "INFINITY") && !strstr(text, "HUGE_VAL")))
        return;
    dync__str_addn(&whole, text, (size_t)(at - text));
    dync__str_addf(&whole, "#include <math.h>\n%s", at);
    whole.failed = whole.failed || s->failed;
    dync__str_free(s);
    *s = whole;
}

static dync_status dync__write_program(dync__writer *w)
{
    dync__graph_renumber(w->graph);
    dync__write_head(w);
    dync__write_module(w);
    dync__write_load_args(w);
    dync__write_main(w);
    dync__write_math(&w->text);
    return w->text.failed ? DYNC_ERR_MEMORY : w->status;
}

/* inputs: n values, one for each input of g. A failure leaves no file, but perhaps files of
 * storages. */
DYNC__FN dync_status dync__repro_write(const dync__repro_file *file, dync__graph *g, int n,
                                       const dync_value *inputs, const char *path)
{
    dync__writer w = {.file = file, .graph = g, .input = inputs};
    if (n != g->n_inputs)
        return dync__fail(DYNC_ERR_VALUE, "repro: the graph has %d inputs, got %d values",
                          g->n_inputs, n);
    dync_scope scope = dync_scope_begin();
    dync_status status = dync__write_program(&w);
    if (status == DYNC_OK) status = dync__file_write_own(path, dync__str_get(&w.text), w.text.n);
    dync_scope_end(&scope);
    dync__vec_free(&w.storage);
    dync__str_free(&w.text);
    return status;
}
