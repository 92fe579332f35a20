/* tools/dync.c: program files from the shell. cc -O2 -I. tools/dync.c -lm -pthread -o dync
 *
 *   dync info FILE                what goes in and comes out, operators, weights
 *   dync run FILE [INPUT...]      runs it; prints or saves what comes out
 *   dync explain FILE [INPUT...]  its graph as C; --html as a page with the graph drawn
 *   dync bench FILE [INPUT...]    time of the first call and of the calls after it
 *   dync quantize FILE INPUT... -o OUT  in 8-bit integers, calibrated with these inputs
 *   dync to-c|to-onnx|to-dync FILE [INPUT...] -o OUT
 *
 * FILE: .onnx, or what dync_program_save wrote. Status 0: done; 1: a file or a run failed, the
 * reason is on stderr; 2: the command line is wrong. `dync help COMMAND` says more. */
#define DYNC_IMPLEMENTATION
#include "dync.h"
#include "cli_bench.h"
#include "cli_inputs.h"
#include "cli_quantize.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *usage, *help;
} cli_help[] = {
    {"info", "dync info FILE",
     "Prints what goes in and comes out, how many weights there are, and how many operators of\n"
     "which kind.\n"},
    {"run", "dync run FILE [INPUT...] [-o OUT] [--seed N] [--threads N]",
     "An INPUT is a file of numbers (.npy; .npz, .safetensors, .pt: by the names of the inputs),\n"
     "NAME=FILE.npy, NAME=2x3 (random, of this shape), NAME=randn, NAME=zeros or NAME=ones.\n"
     "Files without a name are taken in order. Inputs that are not given are random where they\n"
     "are floats and 0 where they are not. -o saves what comes out (.npz, .safetensors; one\n"
     "result: .npy too), else it is printed.\n"},
    {"explain", "dync explain FILE [INPUT...] [--html PAGE.html]",
     "Inputs as of `dync run`. Prints what is compiled for them, as C. --html writes a page that\n"
     "needs nothing else, with the graph drawn.\n"},
    {"bench", "dync bench FILE [INPUT...] [--seconds S] [--threads N] [--seed N]",
     "Inputs as of `dync run`. Prints the time of the first call, which compiles, and the least,\n"
     "the median and the 90th percentile of the calls after it, and what they need of memory.\n"},
    {"quantize", "dync quantize FILE INPUT... -o OUT [--percentile P] [--scale shift|float]",
     "Writes a program that computes in 8-bit integers: OUT.dync, OUT.c or OUT.onnx. Inputs as of\n"
     "`dync run`, with many calls in each file: along the first dimension of the input, or along\n"
     "one before it. --percentile 99.99 leaves outliers out of the ranges. --scale float ends\n"
     "layers as ONNX does, shift (the default) as TFLite does. Prints what it costs.\n"},
    {"to-c", "dync to-c FILE [INPUT...] -o OUT.c",
     "Writes C99 without malloc and dync.h: OUT.c and OUT.h. Compile it with -DNAME_MAIN for a\n"
     "program that tests itself. Sizes that the file leaves open become those of the inputs,\n"
     "which are given as to `dync run`: x=1x3x224x224.\n"},
    {"to-onnx", "dync to-onnx FILE [INPUT...] -o OUT.onnx",
     "Writes an ONNX model. Inputs as of `dync to-c`.\n"},
    {"to-dync", "dync to-dync FILE [INPUT...] -o OUT.dync",
     "Writes what dync_program_load reads. Inputs as of `dync to-c`.\n"},
};
enum { CLI_COMMANDS = sizeof cli_help / sizeof *cli_help };

static int cli_usage(FILE *to, const char *command)
{
    for (int i = 0; command && i < CLI_COMMANDS; i++)
        if (strcmp(cli_help[i].name, command) == 0)
            return fprintf(to, "usage: %s\n\n%s", cli_help[i].usage, cli_help[i].help),
                   to == stdout ? CLI_DONE : CLI_USAGE;
    if (command) fprintf(stderr, "dync: no such command: %s\n", command);
    fprintf(to, "usage: dync COMMAND FILE ...   with a FILE of ONNX or of dync_program_save\n\n");
    for (int i = 0; i < CLI_COMMANDS; i++) fprintf(to, "  %s\n", cli_help[i].usage);
    fprintf(to, "\n  dync help COMMAND\n  dync --version\n");
    return to == stdout && !command ? CLI_DONE : CLI_USAGE;
}

static int cli_wrong(const char *command, const char *what, const char *word)
{
    fprintf(stderr, "dync: %s%s%s\n", what, word ? ": " : "", word ? word : "");
    return cli_usage(stderr, command);
}

/* ---- the command line ------------------------------------------------------------------------ */
static bool cli_number(const char *text, double least, double most, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && !*end && *out >= least && *out <= most;
}

/* An option with its value: 1; not an option: 0; a value that is missing or wrong: -1; no option
 * of this name: -2. */
static int cli_option(cli *c, const char *name, const char *value)
{
    static const char *const names[] = {"-o",        "--percentile", "--scale", "--html",
                                        "--seconds", "--threads",    "--seed"};
    bool known = false;
    double n = 0;
    if (name[0] != '-' || !name[1]) return 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        known = known || strcmp(name, names[i]) == 0;
    if (!known) return -2;
    if (!value) return -1;
    if (strcmp(name, "-o") == 0) return c->out = value, 1;
    if (strcmp(name, "--html") == 0) return c->html = value, 1;
    if (strcmp(name, "--scale") == 0) {
        c->float_scale = strcmp(value, "float") == 0;
        return c->float_scale || strcmp(value, "shift") == 0 ? 1 : -1;
    }
    if (strcmp(name, "--percentile") == 0)
        return cli_number(value, 50, 100, &c->percentile) ? 1 : -1;
    if (strcmp(name, "--seconds") == 0) return cli_number(value, 0, 1e6, &c->seconds) ? 1 : -1;
    if (strcmp(name, "--threads") == 0) {
        if (!cli_number(value, 1, 4096, &n)) return -1;
        return c->threads = (int)n, 1;
    }
    if (!cli_number(value, 0, 9e15, &n)) return -1;
    return c->seed = (uint64_t)n, 1;
}

static int cli_parse(cli *c, int argc, char **argv)
{
    c->command = argv[1];
    for (int i = 2; i < argc; i++) {
        int option = cli_option(c, argv[i], i + 1 < argc ? argv[i + 1] : NULL);
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return cli_usage(stdout, c->command), -1;
        if (option == -2) return cli_wrong(c->command, "there is no such option", argv[i]);
        if (option == -1)
            return cli_wrong(c->command,
                             i + 1 < argc ? "not a value of this option" : "a value is missing",
                             i + 1 < argc ? argv[i + 1] : argv[i]);
        if (option > 0)
            i++;
        else if (!c->file)
            c->file = argv[i];
        else if (c->ninputs == CLI_INPUTS)
            return cli_wrong(c->command, "too many inputs", NULL);
        else
            c->inputs[c->ninputs++] = argv[i];
    }
    if (!c->file) return cli_wrong(c->command, "no file is named", NULL);
    if (c->ninputs && strcmp(c->command, "info") == 0)
        return cli_wrong(c->command, "one file is enough", c->inputs[0]);
    return CLI_DONE;
}

/* ---- files ----------------------------------------------------------------------------------- */
static dync_program *cli_load(const char *path)
{
    return cli_ends(path, ".onnx") ? dync_program_load_onnx(path) : dync_program_load(path);
}

static dync_value cli_called(const dync_value *args, int n, void *program)
{
    return dync_program_run(program, n, args);
}

/* The program for inputs of the sizes given alone. NULL: what is wrong has been said. */
static dync_program *cli_fixed(const cli *c, dync_program *p)
{
    dync_value args[CLI_INPUTS];
    char names[2048] = "", stem[64];
    const char *file = strrchr(c->file, '/') ? strrchr(c->file, '/') + 1 : c->file;
    int n = cli_inputs(c, p, args);
    if (n < 0) return NULL;
    snprintf(stem, sizeof stem, "%.*s", (int)strcspn(file, "."), file);
    for (int i = 0; i < n; i++) {
        const char *name = dync_program_input(p, i).name;
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", name ? name : "x");
    }
    dync_program *fixed =
        dync_export_values(dync_bind_callee(dync_fnv(cli_called), stem, p, names), stem, n, args);
    if (!fixed) cli_failed(c->file, "cannot be taken for these sizes");
    return fixed;
}

static bool cli_is_open(dync_program *p)
{
    bool open = false;
    for (int i = 0; i < CLI_INPUTS; i++) {
        dync_port port = dync_program_input(p, i);
        if (!port.name && !port.type) break;
        for (int d = 0; d < port.shape.n; d++) open = open || port.shape.d[d] < 0;
    }
    return open;
}

static int cli_convert(const cli *c, dync_program *p)
{
    dync_status status;
    const char *end = strchr(c->command, '-') + 1; /* to-c */
    char wanted[16];
    snprintf(wanted, sizeof wanted, ".%s", end);
    if (!c->out) return cli_wrong(c->command, "where to? -o is missing", NULL);
    if (!cli_ends(c->out, wanted)) {
        fprintf(stderr, "dync: %s: the name of what %s writes ends in %s\n", c->out, c->command,
                wanted);
        return CLI_USAGE;
    }
    dync_program *fixed = c->ninputs ? cli_fixed(c, p) : NULL;
    if (c->ninputs && !fixed) return CLI_FAILED;
    if (fixed) p = fixed;
    if (strcmp(end, "c") == 0)
        status = dync_program_save_c(p, c->out);
    else if (strcmp(end, "onnx") == 0)
        status = dync_program_save_onnx(p, c->out);
    else
        status = dync_program_save(p, c->out);
    if (status != DYNC_OK) cli_failed(c->out, "cannot be written");
    if (status != DYNC_OK && strcmp(end, "c") == 0 && cli_is_open(p))
        fprintf(stderr, "dync: say which sizes are meant: dync to-c %s NAME=2x3 -o %s\n", c->file,
                c->out);
    dync_program_free(fixed);
    return status == DYNC_OK ? CLI_DONE : CLI_FAILED;
}

/* ---- run ------------------------------------------------------------------------------------- */
static int cli_count(dync_value v) { return v.kind == DYNC_KIND_LIST ? dync_len(v) : 1; }
static dync_tensor *cli_result(dync_value v, int i)
{
    return dync_as_tensor(v.kind == DYNC_KIND_LIST ? dync_at(v, i) : v);
}

static int cli_save(const cli *c, dync_program *p, dync_value got)
{
    int n = cli_count(got);
    if (cli_ends(c->out, ".npy") && n != 1)
        return cli_wrong("run", "several results: .npz or .safetensors", c->out);
    if (cli_ends(c->out, ".npy"))
        return dync_npy_save(cli_result(got, 0), c->out) == DYNC_OK
                   ? CLI_DONE
                   : cli_failed(c->out, "cannot be written");
    dync_tensors *all = dync_tensors_new();
    for (int i = 0; all && i < n; i++) {
        dync_port port = dync_program_output(p, i);
        char name[24];
        snprintf(name, sizeof name, "out%d", i);
        dync_tensors_put(all, port.name ? port.name : name, cli_result(got, i));
    }
    if (all && dync_error() == DYNC_OK) dync_tensors_save(all, c->out);
    dync_tensors_free(all);
    return dync_error() == DYNC_OK ? CLI_DONE : cli_failed(c->out, "cannot be written");
}

static int cli_run(const cli *c, dync_program *p)
{
    dync_value args[CLI_INPUTS];
    if (c->out && !cli_ends(c->out, ".npy") && !cli_ends(c->out, ".npz") &&
        !cli_ends(c->out, ".safetensors"))
        return cli_wrong("run", "results are saved as .npy, .npz or .safetensors", c->out);
    int n = cli_inputs(c, p, args);
    if (n < 0) return CLI_FAILED;
    dync_value got = dync_program_run(p, n, args);
    if (dync_error() != DYNC_OK) return cli_failed(c->file, "did not run");
    if (c->out) return cli_save(c, p, got);
    for (int i = 0; i < cli_count(got); i++) {
        dync_port port = dync_program_output(p, i);
        printf("%s%s", port.name ? port.name : "", port.name ? " = " : "");
        dync_print(cli_result(got, i));
    }
    return CLI_DONE;
}

/* ---- explain --------------------------------------------------------------------------------- */
static int cli_explain(const cli *c, dync_program *p)
{
    dync_value args[CLI_INPUTS];
    int n = cli_inputs(c, p, args);
    if (n < 0) return CLI_FAILED;
    dync_graph *g = dync_program_graph(p);
    if (!g) return cli_failed(c->file, "has no graph before it runs: each call makes its own");
    dync_explain_output o = dync_explain_values(DYNC_FN(g), "program", n, args);
    if (dync_error() != DYNC_OK) return cli_failed(c->file, "cannot be explained");
    if (c->html && dync_explain_html(&o, c->html) != DYNC_OK) return cli_failed(c->html, "no page");
    if (c->html) return CLI_DONE;
    char *text = dync_explain_str(&o);
    printf("%s\n", text ? text : "");
    for (int i = 0; i < o.graph_count; i++) printf("%s\n", o.graphs[i]);
    return CLI_DONE;
}

/* ---- info ------------------------------------------------------------------------------------ */
/* Operators by how often they occur, the most frequent first; each name is counted where it first
 * occurs. */
static void cli_operators(dync_graph *g)
{
    int n = dync_graph_len(g), most = 1 << 30, next = 0;
    for (; most > 0; most = next, next = 0)
        for (int i = 0; i < n; i++) {
            const char *name = dync_node_target(dync_graph_node(g, i));
            int count = 0, before = 0;
            if (strncmp(dync_node_op(dync_graph_node(g, i)), "call", 4) != 0) continue;
            for (int j = 0; j < n; j++) {
                dync_node *other = dync_graph_node(g, j);
                bool same = strncmp(dync_node_op(other), "call", 4) == 0 &&
                            strcmp(dync_node_target(other), name) == 0;
                count += same;
                before += same && j < i;
            }
            if (before) continue;
            if (count == most) printf("  %6d %s\n", count, name);
            if (count < most && count > next) next = count;
        }
}

static void cli_port(const char *what, dync_port port)
{
    printf("%s %s: %s", what, port.name, port.type);
    for (int i = 0; i < port.shape.n; i++) {
        printf(i ? ", " : "[");
        if (port.shape.d[i] < 0)
            printf("?");
        else
            printf("%" PRId64, port.shape.d[i]);
    }
    printf(port.shape.n > 0 ? "]\n" : port.shape.n ? "\n" : "[]\n");
}

static int cli_info(const cli *c, dync_program *p)
{
    dync_graph *g = dync_program_graph(p);
    dync_port port;
    int64_t weights = 0;
    int tensors = 0;
    for (int i = 0; (port = dync_program_input(p, i)).type; i++) cli_port("input", port);
    for (int i = 0; (port = dync_program_output(p, i)).type; i++) cli_port("output", port);
    for (int i = 0; g && i < dync_graph_len(g); i++) {
        dync_node *node = dync_graph_node(g, i);
        bool held = strcmp(dync_node_op(node), "get_attr") == 0;
        dync_tensor *t = held ? dync_node_value(node) : NULL;
        if (t) weights += dync_numel(t), tensors++;
    }
    if (!g) return printf("operators: known when it runs\n"), CLI_DONE;
    printf("weights: %" PRId64 " numbers in %d tensors\noperators:\n", weights, tensors);
    cli_operators(g);
    return dync_error() == DYNC_OK ? CLI_DONE : cli_failed(c->file, "not understood");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(const cli *, dync_program *);
    } commands[] = {{"info", cli_info},       {"run", cli_run},           {"explain", cli_explain},
                    {"bench", cli_bench},     {"quantize", cli_quantize}, {"to-c", cli_convert},
                    {"to-onnx", cli_convert}, {"to-dync", cli_convert},   {NULL, NULL}};
    cli c = {.seconds = 1, .seed = 0};
    const char *word = argc > 1 ? argv[1] : "";
    if (strcmp(word, "--version") == 0) return puts("dync " DYNC_VERSION), CLI_DONE;
    if (strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return cli_usage(stdout, argc > 2 ? argv[2] : NULL);
    if (argc < 2) return cli_usage(stderr, NULL);
    int i = 0;
    while (commands[i].name && strcmp(commands[i].name, word) != 0) i++;
    if (!commands[i].name) return cli_wrong(NULL, "no such command", word);
    int status = cli_parse(&c, argc, argv);
    if (status) return status < 0 ? CLI_DONE : status;

    dync_init((dync_init_options){.threads = c.threads});
    dync_on_error(cli_silent, NULL);
    dync_manual_seed(c.seed);
    dync_program *p = cli_load(c.file);
    status = p ? commands[i].run(&c, p) : cli_failed(c.file, "cannot be read");
    dync_program_free(p);
    dync_shutdown();
    return status;
}
