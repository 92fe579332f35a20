/* Rows M of the conformance list: the minifier. Each in its three stages, three programs: the
 * user's, the launcher that it leaves behind, the repro that the launcher makes. */
#include "programs.h"

static const char user_program[] =
    "#include \"dync.h\"\n"
    "%s\n"
    "int main(void)\n"
    "{\n"
    "    dync_config_set(\"repro_after\", \"dynamo\");\n"
    "    dync_config_set(\"repro_level\", \"%d\");\n"
    "    dync_config_set(\"debug_dir\", \"debug\");\n"
    "    dync_compiled *f = dync_compile(inner, .args = \"%s\", .backend = \"%s\");\n"
    "    dync_tensor *y = %s;\n"
    "    dync_compiled_free(f);\n"
    "    dync_shutdown();\n"
    "    return y == NULL;\n"
    "}\n";

static char launcher_path[1200];

/* Stages 1 to 3 of test_minifier_common.py, _run_full_test. */
static void full_test(const char *row, const char *function, const char *args, const char *call,
                      const char *backend, const char *error)
{
    char source[6000], command[2600];
    int level = strcmp(error, "AccuracyError") == 0 ? 4 : 2;
    program_begin(row);
    snprintf(source, sizeof source, user_program, function, level, args, backend, call);
    program_write("user.c", source);
    if (!program_compile("user.c", "user")) return;
    /* 1: the error itself reaches the caller */
    EXPECT(program_shell("./user") != 0);
    EXPECT_HAS_STR(program_out, error);
    REQUIRE(program_launcher(launcher_path, sizeof launcher_path));
    snprintf(command, sizeof command, "%s/debug/run_", program_dir);
    EXPECT(strncmp(launcher_path, command, strlen(command)) == 0);
    EXPECT_HAS_STR(launcher_path, "-pid_");
    EXPECT_HAS_STR(launcher_path, "/minifier/minifier_launcher.c");
    if (!program_compile_path(launcher_path, "launcher")) return;
    EXPECT_EQ_INT(program_shell("./launcher minify"), 0); /* 2 */
    EXPECT(strstr(program_out, "Input graph did not fail the tester") == NULL);
    EXPECT_HAS_STR(program_out, "Wrote minimal repro out to repro.c");
    if (!program_compile("repro.c", "repro")) return;
    EXPECT(program_shell("./repro") != 0); /* 3 */
    EXPECT_HAS_STR(program_out, error);
}

static const char ten_ten[] = "static dync_tensor *inner(dync_tensor *x)\n{\n"
                              "    for (int i = 0; i < 10; i++) DYNC_SET(x, dync_sin(x));\n"
                              "    DYNC_SET(x, dync_relu(x));\n"
                              "    for (int i = 0; i < 10; i++) DYNC_SET(x, dync_cos(x));\n"
                              "    return x;\n}\n";
TEST__UNUSED static const char on_cpu[] = "dync_call(f, dync_randn(dync_shape(20, 20)))";
static const char on_cuda[] =
    "dync_call(f, dync_to_device(dync_randn(dync_shape(20, 20)), DYNC_CUDA))";

static void say_nothing(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}
static bool have_cuda(void)
{
    dync_on_error(say_nothing, NULL);
    bool have = dync_empty(dync_shape(1), .device = DYNC_CUDA) != NULL;
    dync_clear_error();
    dync_on_error(NULL, NULL);
    return have;
}
#define CUDA_ONLY                                                                         \
    do {                                                                                  \
        if (!have_cuda())                                                                 \
            SKIP("no CUDA device: this build of dync has none, or the machine lacks it"); \
    } while (0)

#if !defined(CUDA_ROWS)
TEST(M_01_after_dynamo_cpu_compile_error)
{
    full_test("m01", ten_ten, "x", on_cpu, "relu_compile_error_TESTING_ONLY", "ReluCompileError");
}
TEST(M_02_after_dynamo_cpu_runtime_error)
{
    full_test("m02", ten_ten, "x", on_cpu, "relu_runtime_error_TESTING_ONLY", "ReluRuntimeError");
}
TEST(M_03_after_dynamo_cpu_accuracy_error)
{
    full_test("m03", ten_ten, "x", on_cpu, "relu_accuracy_error_TESTING_ONLY", "AccuracyError");
}

#endif
static void on_device(const char *row, const char *backend, const char *error)
{
    static char text[1 << 16];
    full_test(row, ten_ten, "x", on_cuda, backend, error);
    EXPECT_HAS_STR(program_read(launcher_path, text, sizeof text), ".device = DYNC_CUDA_AT(0)");
}
TEST(M_04_after_dynamo_cuda_compile_error)
{
    CUDA_ONLY;
    on_device("m04", "relu_compile_error_TESTING_ONLY", "ReluCompileError");
}
TEST(M_05_after_dynamo_cuda_runtime_error)
{
    CUDA_ONLY;
    on_device("m05", "relu_runtime_error_TESTING_ONLY", "ReluRuntimeError");
}
TEST(M_06_after_dynamo_cuda_accuracy_error)
{
    CUDA_ONLY;
    on_device("m06", "relu_accuracy_error_TESTING_ONLY", "AccuracyError");
}

#if !defined(CUDA_ROWS)
TEST(M_07_after_dynamo_non_leaf_compile_error)
{
    full_test("m07", "static dync_tensor *inner(dync_tensor *x) { return dync_add(x, 1); }\n", "x",
              "dync_call(f, dync_add(dync_randn(dync_shape(20, 20), .requires_grad = true), 1))",
              "non_leaf_compile_error_TESTING_ONLY", "TestingOnlyCompileError");
    static char text[1 << 16];
    /* and not .is_leaf, whose default is false */
    EXPECT_HAS_STR(program_read(launcher_path, text, sizeof text), ".requires_grad = true);");
}

#endif
/* No relu, no error: and nothing of the minifier. */
static dync_tensor *ten_sin_ten_cos(dync_tensor *x)
{
    for (int i = 0; i < 10; i++) x = dync_sin(x);
    for (int i = 0; i < 10; i++) x = dync_cos(x);
    return x;
}
static void backend_passes(dync_device device, const char *backend)
{
    dync_compiled *f = dync_compile(ten_sin_ten_cos, .args = "x", .backend = backend);
    dync_tensor *x = dync_to_device(dync_randn(dync_shape(20, 20)), device);
    EXPECT(dync_allclose(dync_call(f, x), ten_sin_ten_cos(x), 0, 0));
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_compiled_free(f);
}
#if !defined(CUDA_ROWS)
TEST(M_08_after_dynamo_cpu_compile_backend_passes)
{
    backend_passes(DYNC_CPU, "relu_compile_error_TESTING_ONLY");
}
TEST(M_09_after_dynamo_cpu_runtime_backend_passes)
{
    backend_passes(DYNC_CPU, "relu_runtime_error_TESTING_ONLY");
}
TEST(M_10_after_dynamo_cpu_accuracy_backend_passes)
{
    backend_passes(DYNC_CPU, "relu_accuracy_error_TESTING_ONLY");
}
#endif
TEST(M_11_after_dynamo_cuda_compile_backend_passes)
{
    CUDA_ONLY;
    backend_passes(DYNC_CUDA, "relu_compile_error_TESTING_ONLY");
}
TEST(M_12_after_dynamo_cuda_runtime_backend_passes)
{
    CUDA_ONLY;
    backend_passes(DYNC_CUDA, "relu_runtime_error_TESTING_ONLY");
}
TEST(M_13_after_dynamo_cuda_accuracy_backend_passes)
{
    CUDA_ONLY;
    backend_passes(DYNC_CUDA, "relu_accuracy_error_TESTING_ONLY");
}

/* M-14. Upstream's text has nodes for whole modules and is skipped where those are inlined; here
 * they are, so a layer is its parameters, which are inputs, and one operator. */
static const char two_halves[] =
    "static dync_value forward(dync_module *self, const dync_value *args, int nargs)\n{\n"
    "    (void)nargs;\n"
    "    dync_tensor *x = dync_forward_call(dync_module_child(self, \"m_x\"), "
    "dync_as_tensor(args[0]));\n"
    "    x = dync_add(dync_add(x, dync_module_param(self, \"p_x\")), dync_module_buffer(self, "
    "\"b_x\"));\n"
    "    dync_tensor *y = dync_forward_call(dync_module_child(self, \"m_y\"), "
    "dync_as_tensor(args[1]));\n"
    "    y = dync_add(dync_add(y, dync_module_param(self, \"p_y\")), dync_module_buffer(self, "
    "\"b_y\"));\n"
    "    return dync_tuple(x, y);\n}\n"
    "static dync_module *mod;\n"
    "static void make(void)\n{\n"
    "    mod = dync_module_new_values(\"CpuCudaModule\", forward, \"x, y\", NULL);\n"
    "    dync_module *m_x = dync_nn_linear(20, 20, true);\n"
    "    dync_module_to_device(m_x, DEVICE);\n"
    "    dync_module_add(mod, \"m_x\", m_x);\n"
    "    dync_module_add(mod, \"m_y\", dync_nn_linear(20, 20, true));\n"
    "    dync_module_set_param(mod, \"p_x\", "
    "dync_parameter(dync_to_device(dync_randn(dync_shape(20, 20)), DEVICE)));\n"
    "    dync_module_set_param(mod, \"p_y\", dync_parameter(dync_randn(dync_shape(20, 20))));\n"
    "    dync_module_set_buffer(mod, \"b_x\", dync_to_device(dync_ones(dync_shape(20, 20)), "
    "DEVICE));\n"
    "    dync_module_set_buffer(mod, \"b_y\", dync_ones(dync_shape(20, 20)));\n}\n"
    "static dync_tensor *inner(dync_tensor *x1, dync_tensor *y1)\n{\n"
    "    DYNC_LET(x2, dync_to_device(dync_randn(dync_shape(20, 20)), DEVICE));\n"
    "    DYNC_LET(y2, dync_randn(dync_shape(20, 20)));\n"
    "    dync_value r = dync_module_call(mod, dync_add(x1, x2), dync_add(y1, y2));\n"
    "    DYNC_LET(x3, dync_as_tensor(dync_at(r, 0)));\n"
    "    DYNC_LET(y3, dync_as_tensor(dync_at(r, 1)));\n"
    "    return dync_relu(dync_add(dync_to_device(x3, DYNC_CPU), y3));\n}\n";
static const char two_halves_call[] =
    "(make(), dync_call(f, dync_to_device(dync_randn(dync_shape(20, 20)), DEVICE), "
    "dync_randn(dync_shape(20, 20))))";

/* The names of the module's inputs, in its order, and the values computed, in theirs: "name = what
 * is called", without arguments. */
static void nodes_of_launcher(char *inputs, char *nodes, size_t cap)
{
    const char *line = program_module_text(launcher_path);
    size_t n_in = 0, n = 0;
    inputs[0] = nodes[0] = 0;
    for (; line; line = strchr(line, '\n')) {
        while (*line == '\n' || *line == ' ') line++;
        const char *equals = strstr(line, " = "), *end = line + strcspn(line, "\n");
        if (strncmp(line, "return", 6) == 0)
            snprintf(nodes + n, cap - n, "%.*s", (int)(end - line), line);
        if (!equals || equals > end || n + 1 >= cap || n_in + 1 >= cap) continue;
        int name = (int)(equals - line), value = (int)strcspn(equals + 3, ";(\n");
        bool input = value > 3 && equals[3 + value - 1] == '_' &&
                     (equals[3] == 'L' || equals[3] == 'G');
        if (input)
            n_in += (size_t)snprintf(inputs + n_in, cap - n_in, "%.*s\n", name, line);
        else
            n += (size_t)snprintf(nodes + n, cap - n, "%.*s = %.*s\n", name, line, value,
                                  equals + 3);
    }
}
static void cpu_cuda_module(const char *row, const char *device, const char *first_nodes,
                            const char *last_nodes)
{
    static char source[6000], inputs[4000], nodes[4000], want[4000];
    snprintf(source, sizeof source, "#define DEVICE %s\n%s", device, two_halves);
    full_test(row, source, "x1, y1", two_halves_call, "relu_compile_error_TESTING_ONLY",
              "ReluCompileError");
    nodes_of_launcher(inputs, nodes, sizeof nodes);
    EXPECT_EQ_STR(inputs,
                  "l_x1_\nl_y1_\ng_mod_m_x_weight_\ng_mod_m_x_bias_\ng_mod_p_x_\ng_mod_b_x_\n"
                  "g_mod_m_y_weight_\ng_mod_m_y_bias_\ng_mod_p_y_\ng_mod_b_y_\n");
    snprintf(want, sizeof want,
             "%sadd = l_x1_ + x2\nadd_1 = l_y1_ + y2\nlinear = torch.nn.functional.linear\nadd_2 = "
             "linear + g_mod_p_x_\n"
             "x3 = add_2 + g_mod_b_x_\nlinear_1 = torch.nn.functional.linear\nadd_4 = linear_1 + "
             "g_mod_p_y_\ny3 = add_4 + g_mod_b_y_\n"
             "%srelu = torch.relu\nreturn (relu,)",
             first_nodes, last_nodes);
    EXPECT_EQ_STR(nodes, want);
}
#if defined(CUDA_ROWS)
TEST(M_14_cpu_cuda_module_after_dynamo)
{
    static char text[1 << 18];
    CUDA_ONLY;
    cpu_cuda_module("m14_cuda", "DYNC_CUDA",
                    "randn = torch.randn\nx2 = randn.to\ny2 = torch.randn\n",
                    "to_device_1 = x3.to\nadd_6 = to_device_1 + y3\n");
    program_read(launcher_path, text, sizeof text);
    /* in the order of the inputs: x's half, but for y1 */
    static const bool on_cuda_too[10] = {true, false, true, true, true, true};
    /* each tensor keeps its device */
    for (int i = 0; i < 10; i++) {
        char line[64];
        snprintf(line, sizeof line, "int buf%d = dync_repro_storage(", i);
        const char *at = strstr(text, line);
        REQUIRE(at != NULL);
        snprintf(program_out, sizeof program_out, "%.*s", (int)strcspn(at, "\n"), at);
        EXPECT((strstr(program_out, ".device = DYNC_CUDA_AT(0)") != NULL) == on_cuda_too[i]);
    }
}
#else
TEST(M_14_on_the_cpu)
{
    cpu_cuda_module("m14", "DYNC_CPU", "x2 = torch.randn\ny2 = torch.randn\n", "add_6 = x3 + y3\n");
}

static const char twenty_twenty[] = "static dync_tensor *inner(dync_tensor *x)\n{\n"
                                    "    for (int i = 0; i < 20; i++) DYNC_SET(x, dync_sin(x));\n"
                                    "    DYNC_SET(x, dync_relu(x));\n"
                                    "    for (int i = 0; i < 20; i++) DYNC_SET(x, dync_cos(x));\n"
                                    "    return x;\n}\n";
static const char relu_alone[] = "class Repro(torch.nn.Module):\n"
                                 "    def __init__(self):\n"
                                 "        super().__init__()\n"
                                 "    def forward(self, x_19):\n"
                                 "        x_20 = torch.relu(x_19);  x_19 = None\n"
                                 "        return (x_20,)";
TEST(M_15_if_graph_minified)
{
    char path[1300];
    full_test("m15", twenty_twenty, "x", on_cpu, "relu_compile_error_TESTING_ONLY",
              "ReluCompileError");
    snprintf(path, sizeof path, "%s/repro.c", program_dir);
    EXPECT_EQ_STR(program_module_text(path), relu_alone);
    /* minify is its default */
    program_shell("./launcher");
    EXPECT_HAS_STR(program_out, "Started off with 43 nodes");
    EXPECT_HAS_STR(program_out, "to 3 nodes");
    program_shell(
        "grep -c 'DYNC_LET(x_20, dync_relu(x_19));' repro.c && ls checkpoints/minified_3_nodes.c "
        "checkpoints/minified_43_nodes.c");
    EXPECT_EQ_INT(program_out[0], '1');
    EXPECT_HAS_STR(program_out, "checkpoints/minified_43_nodes.c");
}
#endif
TEST_MAIN
