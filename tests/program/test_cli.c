/* tools/dync.c, as a shell runs it: what it prints, what it writes and how it ends, for program
 * files and for wrong ones. */
#include "dync.h"
#include "test.h"
#if defined(__unix__)
#include <sys/wait.h>
extern char *mkdtemp(char *);

static char folder[64], tool[1100], said[1 << 16];
static dync_module *net;
static dync_tensor *classes(dync_tensor *x) { return dync_softmax(dync_forward_call(net, x), -1); }
static dync_value rows(const dync_value *args, int nargs, void *user)
{
    (void)nargs, (void)user;
    dync_tensor *table = dync_as_tensor(args[0]);
    return dync_tuple(dync_embedding(table, dync_as_tensor(args[1])), dync_relu(table));
}

/* Status of `dync ARGUMENTS` in the folder; said: both its streams. */
static int cli(const char *arguments)
{
    char command[2600], path[128];
    snprintf(path, sizeof path, "%s/said", folder);
    snprintf(command, sizeof command, "cd %s && '%s' %s >said 2>&1", folder, tool, arguments);
    fflush(NULL);
    int status = system(command);
    FILE *f = fopen(path, "rb");
    said[f ? fread(said, 1, sizeof said - 1, f) : 0] = 0;
    if (f) fclose(f);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
static bool says(const char *text) { return strstr(said, text) != NULL; }

static const char *file(const char *name)
{
    static char path[4][128];
    static int next;
    snprintf(path[next = (next + 1) % 4], sizeof *path, "%s/%s", folder, name);
    return path[next];
}

/* net.dync, net.onnx: x [3, 4]; open.dync: x [2 to 32, 4]; rows.dync: table [3, 4], idx [2]. */
static dync_tensor *begin(void)
{
    char *slash;
    snprintf(tool, sizeof tool, "%.900s", test__state.program);
    for (int i = 0; i < 3; i++)
        if ((slash = strrchr(tool, '/'))) *slash = 0;
    strcat(tool, "/tools/dync");
    if (tool[0] != '/') {
        char whole[1000];
        if (getcwd(whole, sizeof whole)) snprintf(said, sizeof said, "%s/%s", whole, tool);
        snprintf(tool, sizeof tool, "%.1000s", said);
    }
    snprintf(folder, sizeof folder, "/tmp/dync_cli_XXXXXX");
    EXPECT(mkdtemp(folder) != NULL);
    dync_manual_seed(7);
    net = dync_sequential(dync_nn_linear(4, 8, true), dync_nn_relu(), dync_nn_linear(8, 2, true));
    dync_tensor *x = dync_randn(dync_shape(3, 4)), *open = dync_randn(dync_shape(3, 4));
    dync_tensor *idx = dync_zeros(dync_shape(2), .dtype = DYNC_I64);
    dync_mark_dynamic_range(open, 0, 2, 32);
    dync_program *fixed = dync_export(dync_args(classes, "x"), x);
    dync_program *sized = dync_export(dync_args(classes, "x"), open);
    dync_program *two = dync_export(dync_args(rows, "table, idx"), x, idx);
    EXPECT(fixed && dync_program_save(fixed, file("net.dync")) == DYNC_OK);
    EXPECT(fixed && dync_program_save_onnx(fixed, file("net.onnx")) == DYNC_OK);
    EXPECT(sized && dync_program_save(sized, file("open.dync")) == DYNC_OK);
    EXPECT(two && dync_program_save(two, file("rows.dync")) == DYNC_OK);
    EXPECT(dync_npy_save(x, file("x.npy")) == DYNC_OK);
    EXPECT(dync_npy_save(dync_to_dtype(x, DYNC_F64), file("x64.npy")) == DYNC_OK);
    dync_program_free(fixed), dync_program_free(sized), dync_program_free(two);
    return x;
}
static void end(void)
{
    char command[128];
    dync_module_free(net);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    EXPECT(system(command) == 0);
}

TEST(help_and_versions)
{
    begin();
    EXPECT(cli("help") == 0 && says("dync run FILE") && says("dync to-c FILE [INPUT...] -o OUT.c"));
    EXPECT(cli("help run") == 0 && says("NAME=2x3"));
    EXPECT(cli("info net.dync --help") == 0 && says("usage: dync info FILE"));
    EXPECT(cli("--version") == 0 && says("dync " DYNC_VERSION));
    EXPECT(cli("") == 2 && says("usage"));
    end();
}

/* What is wrong is said before the usage. */
TEST(options_that_are_wrong)
{
    begin();
    EXPECT(cli("help frob") == 2 && says("no such command: frob"));
    EXPECT(cli("run net.dync --sede 1") == 2 && says("there is no such option: --sede"));
    EXPECT(cli("bench net.dync --seconds") == 2 && says("a value is missing: --seconds"));
    EXPECT(cli("bench net.dync --threads 0") == 2 && says("not a value of this option: 0"));
    EXPECT(cli("to-c net.dync -o net.txt") == 2 && says("what to-c writes ends in .c"));
    EXPECT(cli("quantize net.dync -o net.txt") == 2 && says("net.txt: the name of what quantize"));
    EXPECT(cli("run net.dync -o y.txt") == 2 && says("saved as .npy, .npz or .safetensors: y.txt"));
    end();
}

TEST(info_tells_ports_weights_and_operators)
{
    begin();
    for (int onnx = 0; onnx < 2; onnx++) {
        EXPECT(cli(onnx ? "info net.onnx" : "info net.dync") == 0);
        EXPECT(says("input x: float32[3, 4]\n") && says("float32[3, 2]\n"));
        EXPECT(says("weights: 58 numbers in 4 tensors\n"));
        EXPECT(says("     2 linear\n") && says("     1 relu\n") && says("     1 softmax\n"));
    }
    EXPECT(cli("info open.dync") == 0 && says("input x: float32[?, 4]\n"));
    EXPECT(cli("info rows.dync") == 0 && says("input idx: int64[2]\n"));
    end();
}

/* What comes out of a file is what the function gives here. */
TEST(run_gives_what_the_function_gives)
{
    dync_tensor *x = begin(), *want = classes(x);
    static const char *const lines[] = {"run net.dync x.npy -o y.npy",
                                        "run net.onnx x.npy -o y.npy",
                                        "run net.dync x=x.npy -o y.npy",
                                        "run net.dync x=x64.npy -o y.npy",
                                        "run open.dync x.npy -o y.npy",

                                        "run net.dync in.npz -o y.npy",
                                        "run net.onnx in.safetensors -o y.npy",
                                        "run net.dync x.npy --threads 1 -o y.npy"};
    dync_tensors *in = dync_tensors_new();
    EXPECT(dync_tensors_put(in, "x", x) == DYNC_OK);
    EXPECT(dync_tensors_save(in, file("in.npz")) == DYNC_OK);
    EXPECT(dync_tensors_save(in, file("in.safetensors")) == DYNC_OK);
    dync_tensors_free(in);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        remove(file("y.npy"));
        if (!EXPECT(cli(lines[i]) == 0)) printf("dync %s: %s\n", lines[i], said);
        dync_tensor *got = dync_npy_load(file("y.npy"));
        EXPECT(got && dync_allclose(got, want, 1e-6, 1e-7));
    }
    EXPECT(cli("run net.dync x=x64.npy") == 0 && says("made float32") && says("tensor([["));
    end();
}

/* The file holds several calls; what is written computes nearly the same. */
TEST(quantize_writes_a_program_of_integers)
{
    dync_tensor *x = begin(), *want = classes(x);
    EXPECT(dync_npy_save(dync_cat(dync_tuple(x, dync_randn(dync_shape(27, 4))), 0),
                         file("many.npy")) == DYNC_OK);
    EXPECT(dync_npy_save(dync_randn(dync_shape(5, 3, 4)), file("apart.npy")) == DYNC_OK);
    EXPECT(cli("quantize net.dync many.npy -o q.dync") == 0);
    EXPECT(says("calibrated with 10 calls: 3 layers in integers, 0 in floats") && says("dB"));
    EXPECT(cli("info q.dync") == 0 && says("output softmax: float32[3, 2]")); /* as it was */
    EXPECT(cli("run q.dync x.npy -o y.npy") == 0);
    EXPECT(dync_allclose(dync_npy_load(file("y.npy")), want, 0, 0.05));
    EXPECT(cli("quantize net.onnx x=apart.npy --percentile 99.9 --scale float -o q.onnx") == 0);
    EXPECT(says("calibrated with 5 calls"));
    EXPECT(cli("run q.onnx x.npy -o y.npy") == 0 && cli("quantize net.dync many.npy -o q.c") == 0);
    EXPECT(dync_allclose(dync_npy_load(file("y.npy")), want, 0, 0.1));
    EXPECT(cli("quantize net.dync -o q.dync") == 2 && says("to calibrate with"));
    EXPECT(cli("quantize net.dync many.npy") == 2 && says("-o OUT.dync"));
    EXPECT(cli("quantize net.dync many.npy -o q.dync --percentile 10") == 2 &&
           says("--percentile"));
    EXPECT(cli("quantize net.dync x=5x5 -o q.dync") == 1 && says("do not fit"));
    EXPECT(cli("quantize open.dync x.npy -o q.dync") == 1);
    end();
}

TEST(run_several_inputs_and_results)
{
    dync_tensor *x = begin();
    EXPECT(cli("run rows.dync x.npy -o out.npz") == 0);
    dync_tensors *out = dync_tensors_load(file("out.npz"));
    EXPECT(out && dync_tensors_count(out) == 2);
    if (out) EXPECT(dync_equal(dync_tensors_get(out, "relu"), dync_relu(x)));
    if (out) {
        dync_tensor *first = dync_narrow(x, 0, 0, 1);
        EXPECT(
            dync_equal(dync_tensors_get(out, "embedding"), dync_expand(first, dync_shape(2, 4))));
    }
    dync_tensors_free(out);
    EXPECT(cli("run open.dync x=5x4 -o y.npy") == 0);
    EXPECT(dync_size(dync_npy_load(file("y.npy")), 0) == 5);
    EXPECT(cli("run net.dync --seed 3 -o a.npy") == 0 &&
           cli("run net.dync --seed 3 -o b.npy") == 0);
    EXPECT(dync_equal(dync_npy_load(file("a.npy")), dync_npy_load(file("b.npy"))));
    EXPECT(cli("run net.dync --seed 4 -o b.npy") == 0);
    EXPECT(!dync_equal(dync_npy_load(file("a.npy")), dync_npy_load(file("b.npy"))));
    end();
}

TEST(explain_and_bench)
{
    begin();
    EXPECT(cli("explain net.dync") == 0 && says("Graph Count: 1\n") && says("Op Count: 4\n"));
    EXPECT(says("dync_softmax("));
    EXPECT(cli("explain open.dync x=7x4 --html page.html") == 0);
    FILE *f = fopen(file("page.html"), "rb");
    EXPECT(f && fread(said, 1, sizeof said - 1, f) > 1000 && says("<svg"));
    if (f) fclose(f);
    EXPECT(cli("bench net.dync --seconds 0") == 0);
    EXPECT(says("first call ") && says("median ") && says("memory "));
    end();
}

TEST(conversions_mean_the_same)
{
    dync_tensor *x = begin(), *want = classes(x);
    EXPECT(cli("to-onnx net.dync -o a.onnx") == 0 && cli("to-dync a.onnx -o b.dync") == 0);
    EXPECT(cli("run b.dync x.npy -o y.npy") == 0);
    EXPECT(dync_allclose(dync_npy_load(file("y.npy")), want, 1e-6, 1e-7));
    EXPECT(cli("to-c net.onnx -o net.c") == 0);
    FILE *f = fopen(file("net.h"), "rb");
    EXPECT(f && fread(said, 1, sizeof said - 1, f) > 0 && says("net_run(const float x[3][4]"));
    if (f) fclose(f);
    end();
}

/* Of a file whose sizes are open, for the sizes of inputs that are named. */
TEST(conversions_for_given_sizes)
{
    dync_tensor *x = begin(), *want = classes(x);
    EXPECT(cli("to-c open.dync x=3x4 -o open.c") == 0);
    FILE *f = fopen(file("open.h"), "rb");
    memset(said, 0, sizeof said);
    EXPECT(f && fread(said, 1, sizeof said - 1, f) > 0 && says("open_run(const float x[3][4]"));
    if (f) fclose(f);
    EXPECT(cli("to-onnx open.dync x.npy -o a.onnx") == 0 && cli("info a.onnx") == 0);
    EXPECT(says("input x: float32[3, 4]\n"));
    EXPECT(cli("to-dync open.dync x=3x4 -o b.dync") == 0);
    EXPECT(cli("info b.dync") == 0 && says("input x: float32[3, 4]\n"));
    EXPECT(cli("run a.onnx x.npy -o y.npy") == 0);
    EXPECT(dync_allclose(dync_npy_load(file("y.npy")), want, 1e-6, 1e-7));
    EXPECT(cli("run b.dync x.npy -o z.npy") == 0);
    EXPECT(dync_allclose(dync_npy_load(file("z.npy")), want, 1e-6, 1e-7));
    end();
}

TEST(mistakes_are_named)
{
    static const struct {
        const char *line;
        int status;
        const char *says;
    } rows[] = {
        {"bogus net.dync", 2, "no such command: bogus"},
        {"run", 2, "no file is named"},
        {"run net.dync --threads", 2, "--threads"},
        {"run net.dync --threads 0", 2, "--threads"},
        {"run net.dync --what 3", 2, "--what"},
        {"info net.dync x.npy", 2, "one file is enough"},
        {"to-c net.dync", 2, "-o is missing"},
        {"to-c net.dync -o net.txt", 2, "net.txt"},
        {"run rows.dync x.npy -o y.npy", 2, "several results"},
        {"run none.dync", 1, "cannot read none.dync"},
        {"run x.npy", 1, "x.npy: program file"},
        {"run none.onnx", 1, "none.onnx"},
        {"to-c open.dync y=3x4 -o open.c", 1, "no input of this name"},
        {"to-c open.dync x=33x4 -o open.c", 1, "32"},
        {"to-c net.dync -o /none/net.c", 1, "/none/net.c"},
        {"run net.dync none.npy", 1, "none.npy"},
        {"run net.dync y=x.npy", 1, "no input of this name"},
        {"run net.dync x.npy x.npy", 1, "no input left"},
        {"run net.dync x=2x4", 1, "expected f32[3, 4]"},
        {"run open.dync", 1, "the shape of x is open"},
        {"run open.dync x=33x4", 1, "32"},
    };
    begin();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int status = cli(rows[i].line);
        if (!EXPECT(status == rows[i].status && says(rows[i].says)))
            printf("dync %s: %d, %s\n", rows[i].line, status, said);
    }
    end();
}
#endif
TEST_MAIN
