/* What the minifier writes: levels and settings, after AOT, what a repro keeps of its inputs, and
 * what goes wrong with files. */
#include "programs.h"

static dync_tensor *relu_of_sin(dync_tensor *x) { return dync_cos(dync_relu(dync_sin(x))); }

/* One compiled call; what it says on stderr goes to said.txt of the test's folder. */
static dync_status call_once(const char *backend, dync_compile_options options)
{
    options.backend = backend;
    options.args = "x";
    dync_compiled *f = dync_compile_opt(DYNC_FN(relu_of_sin), "relu_of_sin", options);
    (void)dync_call(f, dync_randn(dync_shape(3)));
    dync_compiled_free(f);
    return dync_error();
}

static void begin(const char *test)
{
    char path[1200];
    program_begin(test);
    EXPECT(chdir(program_dir) == 0);
    snprintf(path, sizeof path, "%s/debug", program_dir);
    EXPECT_OK(dync_config_set("debug_dir", path));
}
static bool there(const char *pattern)
{
    char command[600];
    snprintf(command, sizeof command, "ls %s", pattern);
    return program_shell(command) == 0;
}

/* ---- levels and settings --------------------------------------------------------------------- */
TEST(off_by_default)
{
    begin("off");
    EXPECT_STATUS(
        call_once("relu_compile_error_TESTING_ONLY", (dync_compile_options){.name = NULL}),
        DYNC_ERR_BACKEND);
    EXPECT_EQ_STR(dync_error_message(),
                  "backend='relu_compile_error_TESTING_ONLY' raised:\nReluCompileError: ");
    EXPECT(!there("debug"));
}
TEST(level_1_dumps_the_graph)
{
    begin("level1");
    EXPECT_STATUS(call_once("relu_compile_error_TESTING_ONLY",
                            (dync_compile_options){.repro_after = "dynamo", .repro_level = 1}),
                  DYNC_ERR_BACKEND);
    EXPECT(there("checkpoints/minified_5_nodes.c") && there("repro.c"));
    EXPECT(!there("debug/*/minifier/minifier_launcher.c"));
    if (!program_compile("repro.c", "repro")) return;
    EXPECT_EQ_INT(program_shell("./repro"), 1);
    EXPECT_HAS_STR(program_out, "ReluCompileError");
}
TEST(level_2_writes_a_launcher_on_failure)
{
    begin("level2");
    EXPECT_STATUS(call_once("eager", (dync_compile_options){.repro_after = "dynamo"}), DYNC_OK);
    EXPECT_STATUS(call_once("inductor", (dync_compile_options){.repro_after = "dynamo"}), DYNC_OK);
    EXPECT(!there("debug"));
    /* wrong, not failing */
    EXPECT_STATUS(call_once("relu_accuracy_error_TESTING_ONLY",
                            (dync_compile_options){.repro_after = "dynamo"}),
                  DYNC_OK);
    EXPECT(!there("debug"));
    EXPECT_STATUS(call_once("relu_runtime_error_TESTING_ONLY",
                            (dync_compile_options){.repro_after = "dynamo"}),
                  DYNC_ERR_BACKEND);
    EXPECT_HAS_STR(dync_error_message(), "raised:\nAssertionError: ReluRuntimeError");
    EXPECT(there("debug/run_*-pid_*/minifier/minifier_launcher.c"));
    EXPECT(there("-d debug/run_*-pid_*/minifier/checkpoints"));
}
TEST(level_3_always_writes_a_launcher)
{
    begin("level3");
    EXPECT_STATUS(
        call_once("inductor", (dync_compile_options){.repro_after = "dynamo", .repro_level = 3}),
        DYNC_OK);
    EXPECT(there("debug/run_*-pid_*/minifier/minifier_launcher.c"));
}
TEST(level_4_judges_accuracy)
{
    begin("level4");
    EXPECT_STATUS(
        call_once("inductor", (dync_compile_options){.repro_after = "dynamo", .repro_level = 4}),
        DYNC_OK);
    EXPECT(!there("debug"));
    EXPECT_STATUS(call_once("relu_accuracy_error_TESTING_ONLY",
                            (dync_compile_options){.repro_after = "dynamo", .repro_level = 4}),
                  DYNC_ERR_BACKEND);
    EXPECT_HAS_STR(
        dync_error_message(),
        "backend='relu_accuracy_error_TESTING_ONLY' raised:\nAccuracyError: Bad accuracy "
        "detected.\n");
    EXPECT(there("debug/run_*-pid_*/minifier/minifier_launcher.c"));
}
TEST(settings_from_the_environment)
{
    begin("environment");
    program_write(
        "user.c",
        "#include \"dync.h\"\n"
        "static dync_tensor *f(dync_tensor *x) { return dync_relu(x); }\n"
        "int main(void)\n{\n"
        "    dync_compiled *c = dync_compile(f, .backend = \"relu_accuracy_error_TESTING_ONLY\");\n"
        "    return dync_call(c, dync_randn(dync_shape(3))) == NULL;\n}\n");
    if (!program_compile("user.c", "user")) return;
    EXPECT_EQ_INT(program_shell("./user"), 0);
    EXPECT_EQ_INT(program_shell("DYNC_REPRO_AFTER=dynamo ./user"), 0);
    EXPECT_EQ_INT(
        program_shell("DYNC_REPRO_AFTER=dynamo DYNC_REPRO_LEVEL=4 DYNC_DEBUG_DIR=here ./user"), 1);
    EXPECT_HAS_STR(program_out, "AccuracyError: Bad accuracy detected.");
    EXPECT(there("here/run_*-pid_*/minifier/minifier_launcher.c"));
    EXPECT_EQ_INT(program_shell("TORCHDYNAMO_REPRO_AFTER=dynamo TORCHDYNAMO_REPRO_LEVEL=4 ./user"),
                  1);
    EXPECT(there("torch_compile_debug/run_*-pid_*/minifier/minifier_launcher.c"));
    EXPECT_EQ_INT(program_shell("DYNC_REPRO_AFTER=nonsense ./user"), 0);
    EXPECT_HAS_STR(program_out, "DYNC_REPRO_AFTER: expected none, dynamo or aot, got 'nonsense'");
}
TEST(settings_that_are_wrong)
{
    EXPECT_STATUS(dync_config_set("repro_after", "sometimes"), DYNC_ERR_VALUE);
    EXPECT_HAS_STR(dync_error_message(),
                   "repro_after: expected none, dynamo or aot, got 'sometimes'");
    dync_clear_error();
    EXPECT_STATUS(dync_config_set("repro_level", "5"), DYNC_ERR_VALUE);
    dync_clear_error();
    EXPECT_STATUS(dync_config_set("repro_tolerance", "-1"), DYNC_ERR_VALUE);
    dync_clear_error();
    EXPECT_STATUS(dync_config_set("repro_isolate", "maybe"), DYNC_ERR_VALUE);
    dync_clear_error();
    EXPECT(dync_compile(relu_of_sin, .repro_after = "never") == NULL &&
           dync_error() == DYNC_ERR_VALUE);
    dync_clear_error();
    EXPECT(dync_compile(relu_of_sin, .repro_level = 9) == NULL && dync_error() == DYNC_ERR_VALUE);
    dync_clear_error();
    EXPECT_OK(dync_config_set("repro_after", "aot"));
    EXPECT_OK(dync_config_set("repro_after", "none"));
    EXPECT_OK(dync_config_set("debug_dir_root", "x"));
}

/* ---- after AOT ------------------------------------------------------------------------------- */
/* An AOT backend whose compiler refuses cosines: there are some in the backward graph of a sine. */
static const char aot_source[] =
    "#include \"dync.h\"\n#include <string.h>\n"
    "static dync_value run(void *g, const dync_value *args, int n)\n{\n"
    "    for (int i = 0; i < dync_graph_len(g); i++)\n"
    "        if (dync_node_op(dync_graph_node(g, i))[0] == 'c' && "
    "strcmp(dync_node_target(dync_graph_node(g, i)), \"cos\") == 0)\n"
    "            return dync_compile_graph(\"eager\", NULL, NULL, 0, NULL), DYNC_NONE;\n"
    "    return dync_graph_run(g, args, n);\n}\n"
    "static dync_status compile(dync_graph *g, const dync_value *ex, int n, const char *options, "
    "dync_callable *out, void *user)\n{\n"
    "    (void)ex, (void)n, (void)options, (void)user;\n"
    "    memset(out, 0, sizeof *out);\n"
    "    out->run = run;\n"
    "    out->state = g;\n"
    "    return DYNC_OK;\n}\n"
    "void setup(void);\n"
    "void setup(void)\n{\n"
    "    static const dync_backend inner = {.name = \"no_cosine\", .compile = compile};\n"
    "    dync_backend b = dync_aot_autograd(&inner, NULL);\n"
    "    b.name = \"aot_no_cosine\";\n"
    "    dync_register_backend(&b);\n}\n";
TEST(after_aot_the_backward_graph_is_shrunk)
{
    begin("aot");
    program_write("backend.c", aot_source);
    program_write(
        "user.c",
        "#include \"dync.h\"\n"
        "void setup(void);\n"
        "static dync_tensor *f(dync_tensor *x) { return dync_tanh(dync_sin(dync_exp(x))); }\n"
        "int main(void)\n{\n"
        "    setup();\n"
        "    dync_config_set(\"repro_after\", \"aot\");\n"
        "    dync_compiled *c = dync_compile(f, .args = \"x\", .backend = \"aot_no_cosine\");\n"
        "    dync_tensor *y = dync_call(c, dync_randn(dync_shape(3), .requires_grad = true));\n"
        "    dync_status before = dync_error();\n"
        "    dync_backward(dync_sum(y, DYNC_ALL, false));\n"
        "    dync_compiled_free(c);\n"
        "    return before == DYNC_OK && dync_error() == DYNC_ERR_VALUE ? 3 : 1;\n}\n");
    if (!program_compile("user.c backend.c", "user")) return;
    /* the compiler's own error reaches the caller of backward */
    EXPECT_EQ_INT(program_shell("./user"), 3);
    EXPECT_HAS_STR(program_out, "dync_compile_graph: the graph is NULL");
    EXPECT_HAS_STR(program_out, "Minifier script written to");
    char launcher[1200], command[3000];
    REQUIRE(program_launcher(launcher, sizeof launcher));
    snprintf(command, sizeof command,
             "sed 's|.. register the backend here.*|extern void setup(void); setup();|' '%s' "
             ">launcher.c",
             launcher);
    EXPECT_EQ_INT(program_shell(command), 0);
    if (!program_compile("launcher.c backend.c", "launcher")) return;
    EXPECT_EQ_INT(program_shell("./launcher"), 0);
    EXPECT_EQ_INT(
        program_shell(
            "sed -i 's|.. register the backend here.*|extern void setup(void); setup();|' repro.c"),
        0);
    if (!program_compile("repro.c backend.c", "repro")) return;
    EXPECT_EQ_INT(program_shell("./repro"), 1);
    EXPECT_HAS_STR(program_out, "the graph is NULL");
    EXPECT_EQ_INT(program_shell("grep -c 'DYNC_LET(' repro.c; grep 'DYNC_LET(.*dync_cos(' repro.c"),
                  0);
    EXPECT_EQ_INT(program_out[0], '1');
}
TEST(after_aot_accuracy_of_inductor)
{
    begin("aot_accuracy");
    dync_tensor *x = dync_randn(dync_shape(3), .requires_grad = true);
    dync_compiled *f =
        dync_compile(relu_of_sin, .args = "x", .repro_after = "aot", .repro_level = 4);
    for (int i = 0; i < 2; i++) {
        dync_tensor *y = dync_call(f, x);
        EXPECT(dync_allclose(y, relu_of_sin(x), 1e-5, 1e-6));
        EXPECT_OK(dync_backward(dync_sum(y, DYNC_ALL, false)));
    }
    EXPECT(dync_grad(x) != NULL);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    EXPECT(!there("debug"));
    dync_compiled_free(f);
}

/* ---- inputs ---------------------------------------------------------------------------------- */
/* A backend that tells what it is given: the same lines from the test itself and from the repro. */
static const char probe_source[] =
    "#include \"dync.h\"\n#include <string.h>\n"
    "static dync_status compile(dync_graph *g, const dync_value *ex, int n, const char *options, "
    "dync_callable *out, void *user)\n{\n"
    "    (void)options, (void)user;\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        dync_tensor *t = dync_as_tensor(ex[i]);\n"
    "        printf(\"%s dtype %d grad %d leaf %d shape\", dync_node_name(dync_graph_node(g, "
    "i)), (int)dync_type(t), dync_requires_grad(t), dync_is_leaf(t));\n"
    "        for (int d = 0; d < dync_ndim(t); d++) printf(\" %lld:%lld\", (long "
    "long)dync_size(t, d), (long long)dync_stride(t, d));\n"
    "        if (i == 2) printf(\" %d bytes behind the one before\", (int)((char *)dync_data(t) "
    "- (char *)dync_data(dync_as_tensor(ex[1]))));\n"
    "        printf(\" %s\\n\", dync_str(dync_detach(t)));\n"
    "    }\n"
    "    fflush(stdout);\n"
    "    return dync_lookup_backend(\"eager\")->compile(g, ex, n, NULL, out, NULL);\n}\n"
    "__attribute__((constructor)) static void setup(void)\n{\n"
    "    static const dync_backend b = {.name = \"probe\", .compile = compile};\n"
    "    dync_register_backend(&b);\n}\n";

/* Every dtype, a transposed input, one with a step and an offset, two on one memory, a non-leaf, an
 * expanded one, one of 0 dimensions. */
static const char inputs_source[] =
    "#include \"dync.h\"\n#include <math.h>\n"
    "static dync_value f(const dync_value *a, int n, void *user)\n{\n"
    "    dync_tensor *s = dync_to_dtype(dync_sum(dync_as_tensor(a[0]), DYNC_ALL, false), "
    "DYNC_F32);\n"
    "    (void)user;\n"
    "    for (int i = 1; i < n; i++) s = dync_add(s, "
    "dync_sum(dync_to_dtype(dync_as_tensor(a[i]), DYNC_F32), DYNC_ALL, false));\n"
    "    return dync_v_tensor(s);\n}\n"
    "int main(int argc, char **argv)\n{\n"
    "    dync_tensor *base = dync_randn(dync_shape(6, 4)), *big = dync_randn(dync_shape(20, 20));\n"
    "    dync_tensor *odd = dync_from(((float[]){NAN, INFINITY, -0.0f, 1e-45f, 3.4e38f}), "
    "dync_shape(5));\n"
    "    dync_value a[] = {DYNC_V(dync_randn(dync_shape(3), .requires_grad = true)), "
    "DYNC_V(dync_transpose(base, 0, 1)),\n"
    "        DYNC_V(dync_slice(base, 0, 1, 6, 2)), DYNC_V(dync_add(dync_randn(dync_shape(2), "
    ".requires_grad = true), 1)), DYNC_V(big),\n"
    "        DYNC_V(dync_expand(dync_randn(dync_shape(3, 1)), dync_shape(3, 4))), "
    "DYNC_V(dync_full(DYNC_SCALAR, 2.5)), DYNC_V(odd),\n"
    "        DYNC_V(dync_randn(dync_shape(4), .dtype = DYNC_F64)), DYNC_V(dync_to_dtype(base, "
    "DYNC_F16)), DYNC_V(dync_to_dtype(base, DYNC_BF16)),\n"
    "        DYNC_V(dync_from(((int64_t[]){INT64_MIN, -1, INT64_MAX}), dync_shape(3), .dtype = "
    "DYNC_I64)),\n"
    "        DYNC_V(dync_from(((int8_t[]){-128, 127}), dync_shape(2), .dtype = DYNC_I8)), "
    "DYNC_V(dync_from(((int16_t[]){-5}), dync_shape(1), .dtype = DYNC_I16)),\n"
    "        DYNC_V(dync_from(((int32_t[]){-7, 9}), dync_shape(2), .dtype = DYNC_I32)), "
    "DYNC_V(dync_from(((uint8_t[]){0, 255}), dync_shape(2), .dtype = DYNC_U8)),\n"
    "        DYNC_V(dync_gt(base, 0)), DYNC_V(dync_zeros(dync_shape(0, 3))), "
    "DYNC_V(dync_to_dtype(big, DYNC_BF16))};\n"
    "    int n = (int)(sizeof a / sizeof a[0]);\n"
    "    dync_graph *g = dync_make_graph_values(dync_args(f, \"a, b, c, d, e, g, h, i, j, k, l, "
    "m, n, o, p, q, r, s, t\"), \"f\", n, a);\n"
    "    dync_callable c;\n"
    "    (void)argv;\n"
    "    if (argc > 1) return dync_compile_graph(\"probe\", g, a, n, &c);\n"
    "    return dync_repro_save(g, dync_tuple_of(n, a), \"probe\", false, \"repro.c\");\n}\n";
TEST(inputs_come_back_as_they_were)
{
    static char expected[sizeof program_out];
    begin("inputs");
    program_write("probe.c", probe_source);
    program_write("save.c", inputs_source);
    if (!program_compile("save.c probe.c", "save")) return;
    EXPECT_EQ_INT(program_shell("./save"), 0);
    EXPECT_EQ_INT(program_shell("./save show"), 0);
    snprintf(expected, sizeof expected, "%s", program_out);
    EXPECT_HAS_STR(expected, "leaf 0");
    EXPECT_HAS_STR(expected, " 16 bytes behind the one before");
    if (!program_compile("repro.c probe.c", "repro")) return;
    EXPECT_EQ_INT(program_shell("./repro"), 0);
    EXPECT_EQ_STR(program_out, expected);
    EXPECT_EQ_INT(program_shell("ls storages | wc -l"), 0);
    /* the two of 400 elements; the others stand in the program */
    EXPECT_EQ_STR(program_out, "2\n");
    EXPECT_EQ_INT(
        program_shell("grep -c dync_repro_storage repro.c; grep -c dync_repro_tensor repro.c"), 0);
    /* memory that two inputs share is written once */
    EXPECT_EQ_STR(program_out, "18\n19\n");
}

/* ---- files that are missing, broken, or cannot be written ------------------------------------ */
static bool save_big(void)
{
    dync_tensor *x = dync_randn(dync_shape(20, 20));
    EXPECT_OK(dync_repro_save(dync_make_graph(dync_args(relu_of_sin, "x"), x), DYNC_V(x),
                              "relu_compile_error_TESTING_ONLY", false, "repro.c"));
    return program_compile("repro.c", "repro");
}
TEST(data_missing_or_truncated)
{
    begin("data");
    if (!save_big()) return;
    EXPECT_EQ_INT(program_shell("./repro"), 1);
    EXPECT(strstr(program_out, "random data") == NULL);
    EXPECT_EQ_INT(
        program_shell("head -c 700 storages/*.npy >cut && mv cut storages/*.npy && ./repro"), 1);
    EXPECT_HAS_STR(program_out, "generating random data instead");
    EXPECT_HAS_STR(program_out, "ReluCompileError");
    EXPECT_EQ_INT(program_shell("echo nonsense >cut && mv cut storages/*.npy && ./repro"), 1);
    EXPECT_HAS_STR(program_out, "generating random data instead");
    EXPECT_EQ_INT(program_shell("rm -r storages && ./repro minify"), 0);
    EXPECT_HAS_STR(program_out, "Could not load ");
    EXPECT_HAS_STR(program_out, "Wrote minimal repro out to repro.c");
    EXPECT_EQ_INT(program_shell("./repro --no-save-dir"), 1);
    EXPECT_HAS_STR(program_out, "No save_dir specified, generating random data");
}
TEST(a_folder_that_cannot_be_written)
{
    begin("unwritable");
    program_write("file", "in the way");
    EXPECT_OK(dync_config_set("debug_dir", "file/debug"));
    EXPECT_STATUS(call_once("relu_compile_error_TESTING_ONLY",
                            (dync_compile_options){.repro_after = "dynamo"}),
                  DYNC_ERR_BACKEND);
    /* the error as it was */
    EXPECT_EQ_STR(dync_error_message(),
                  "backend='relu_compile_error_TESTING_ONLY' raised:\nReluCompileError: ");
    dync_clear_error();
    dync_tensor *x = dync_randn(dync_shape(3));
    EXPECT_STATUS(
        dync_repro_save(dync_make_graph(relu_of_sin, x), DYNC_V(x), NULL, false, "file/repro.c"),
        DYNC_ERR_IO);
    dync_clear_error();
    if (there("/dev/full")) {
        EXPECT_STATUS(
            dync_repro_save(dync_make_graph(relu_of_sin, x), DYNC_V(x), NULL, false, "/dev/full"),
            DYNC_ERR_IO);
        EXPECT_HAS_STR(dync_error_message(), "cannot write /dev/full: No space left on device");
        /* a device is not cleaned away */
        EXPECT(there("/dev/full"));
        dync_clear_error();
    }
    EXPECT_EQ_INT(program_shell("mkdir w && cd w && echo x >checkpoints"), 0);
    if (!save_big()) return;
    EXPECT_EQ_INT(program_shell("cd w && ../repro minify"), 1);
    EXPECT_HAS_STR(program_out, "Could not write the checkpoint: cannot make the folder");
    EXPECT_HAS_STR(program_out, "the minimal repro could not be written");
}
/* A limit on the size of files stands for a full disk: writing fails in the middle. */
TEST(a_full_disk)
{
    begin("full");
    program_write(
        "user.c",
        "#include \"dync.h\"\n"
        "static dync_tensor *f(dync_tensor *x) { return dync_relu(x); }\n"
        "int main(void)\n{\n"
        "    dync_compiled *c = dync_compile(f, .backend = \"relu_compile_error_TESTING_ONLY\", "
        ".repro_after = \"dynamo\");\n"
        "    return dync_call(c, dync_randn(dync_shape(300, 300))) == NULL;\n}\n");
    if (!program_compile("user.c", "user")) return;
    EXPECT_EQ_INT(program_shell("trap '' XFSZ; ulimit -f 100; ./user"), 1);
    EXPECT_HAS_STR(program_out, "Could not write to ");
    EXPECT_HAS_STR(program_out, "minifier_launcher.c: cannot write ");
    EXPECT_HAS_STR(program_out, "raised:\nReluCompileError: ");
    EXPECT(strstr(program_out, "Minifier script written to") == NULL);
    EXPECT_EQ_INT(program_shell("ls torch_compile_debug/*/minifier/checkpoints/storages | wc -l"),
                  0);
    /* nothing half written is left */
    EXPECT_EQ_STR(program_out, "0\n");
}

/* Sizes and numbers that stay symbolic: the repro has those of the failing call. */
TEST(symbolic_numbers)
{
    begin("symbolic");
    program_write(
        "user.c",
        "#include \"dync.h\"\n"
        "static dync_value f(const dync_value *a, int n, void *u) { return (void)n, (void)u, "
        "DYNC_V(dync_relu(dync_mul(dync_as_tensor(a[0]), a[1]))); }\n"
        "int main(void)\n{\n"
        "    dync_compiled *c = dync_compile(f, .args = \"x, k\", .symbolic = \"k\", .dynamic = "
        "DYNC_DYNAMIC_ON, .repro_after = \"dynamo\",\n"
        "                                    .backend = \"relu_compile_error_TESTING_ONLY\");\n"
        "    return dync_call(c, dync_randn(dync_shape(6, 4)), 3) == NULL;\n}\n");
    if (!program_compile("user.c", "user")) return;
    EXPECT_EQ_INT(program_shell("./user"), 1);
    char launcher[1200];
    REQUIRE(program_launcher(launcher, sizeof launcher));
    EXPECT_HAS_STR(program_read(launcher, program_out, sizeof program_out),
                   "dync_repro_number(reader, dync_v_int(3));");
    if (!program_compile_path(launcher, "launcher")) return;
    EXPECT_EQ_INT(program_shell("./launcher"), 0);
    EXPECT_HAS_STR(program_out, "to 3 nodes");
}

/* ---- commands -------------------------------------------------------------------------------- */
TEST(a_repro_of_something_that_works)
{
    begin("works");
    dync_tensor *x = dync_randn(dync_shape(3));
    EXPECT_OK(dync_repro_save(dync_make_graph(dync_args(relu_of_sin, "x"), x), DYNC_V(x), NULL,
                              false, "repro.c"));
    if (!program_compile("repro.c", "repro")) return;
    EXPECT_EQ_INT(program_shell("./repro"), 0);
    EXPECT_EQ_STR(program_out, "");
    EXPECT_EQ_INT(program_shell("./repro run --accuracy"), 0);
    EXPECT(program_shell("./repro minify") != 0);
    EXPECT_HAS_STR(program_out, "Input graph did not fail the tester");
    EXPECT(program_shell("./repro minify --accuracy") != 0);
    EXPECT_HAS_STR(program_out, "Input graph did not fail the tester");
    /* it raises: nothing is judged */
    EXPECT_EQ_INT(program_shell("./repro --backend relu_compile_error_TESTING_ONLY --accuracy"), 0);
    EXPECT_HAS_STR(program_out, "Skipping this graph");
    EXPECT_EQ_INT(program_shell("./repro --backend=relu_accuracy_error_TESTING_ONLY --accuracy"),
                  1);
    EXPECT_HAS_STR(program_out, "AccuracyError: Dynamo failed");
    EXPECT_EQ_INT(
        program_shell("./repro minify --no-isolate --backend relu_runtime_error_TESTING_ONLY"), 0);
    EXPECT_EQ_INT(program_shell("./repro --no-accuracy --only-fwd --autocast --isolate"), 0);
    EXPECT_EQ_INT(program_shell("./repro --backend nobody"), 1);
    EXPECT_HAS_STR(program_out, "InvalidBackend: Invalid backend: 'nobody'");
    EXPECT_EQ_INT(program_shell("./repro --nonsense"), 2);
    EXPECT_HAS_STR(program_out, "unrecognized arguments: --nonsense");
    EXPECT_EQ_INT(program_shell("./repro run minify"), 2);
    EXPECT_EQ_INT(program_shell("./repro --help"), 0);
    EXPECT_HAS_STR(program_out, "usage: ./repro [run | minify]");
}

/* Eager that differs from itself blames nobody. */
static const char unstable_source[] =
    "#include \"dync.h\"\n"
    "static dync_value impl(const dync_value *args, int n, void *user)\n{\n"
    "    static double x = 1;\n"
    "    (void)n, (void)user;\n"
    "    return DYNC_V(dync_add(dync_as_tensor(args[0]), x *= 10));\n}\n"
    "static dync_value meta(const dync_value *args, int n, void *user) { return (void)n, "
    "(void)user, DYNC_V(dync_mul(dync_as_tensor(args[0]), 1)); }\n"
    "static dync_value mod(const dync_value *args, int n, void *user) { return (void)user, "
    "dync_op_call_values(\"test::unstable\", n, args); }\n"
    "static void load_args(dync_repro_reader *r)\n{\n"
    "    int b = dync_repro_storage(r, 12, .hash = \"none\");\n"
    "    dync_repro_tensor(r, b, dync_shape(3), .is_leaf = true);\n}\n"
    "int main(int argc, char **argv)\n{\n"
    "    dync_op_register(\"test::unstable\", \"(Tensor x) -> Tensor\", impl, meta, NULL);\n"
    "    return dync_run_repro(argc, argv, (dync_repro){.mod = mod, .load_args = load_args, "
    ".names = \"x\", .accuracy = true, .backend = \"eager\"});\n}\n";
TEST(eager_itself_failed)
{
    begin("unstable");
    program_write("unstable.c", unstable_source);
    if (!program_compile("unstable.c", "unstable")) return;
    EXPECT_EQ_INT(program_shell("./unstable"), 1);
    EXPECT_HAS_STR(program_out, "AssertionError: Eager itself failed");
}

/* One file and dync.h: no object, no flags. */
TEST(a_repro_needs_only_dync_h)
{
    char command[2600];
    begin("alone");
    dync_tensor *x = dync_randn(dync_shape(3));
    EXPECT_OK(dync_repro_save(dync_make_graph(dync_args(relu_of_sin, "x"), x), DYNC_V(x),
                              "relu_runtime_error_TESTING_ONLY", false, "repro.c"));
    snprintf(command, sizeof command,
             "mkdir elsewhere && mv repro.c elsewhere && cd elsewhere && cp '%s/dync.h' . && %s "
             "repro.c -lm -pthread -o repro && ./repro",
             program_root, program_env("CC", "cc"));
    EXPECT_EQ_INT(program_shell(command), 1);
    EXPECT_HAS_STR(program_out, "AssertionError: ReluRuntimeError");
}

/* The numbers of seeded operators are those of the failing program. */
TEST(a_repro_repeats_random_numbers)
{
    begin("random");
    dync_manual_seed(77);
    dync_tensor *x = dync_randn(dync_shape(3));
    EXPECT_OK(dync_repro_save(dync_make_graph(dync_args(relu_of_sin, "x"), x), DYNC_V(x), NULL,
                              true, "repro.c"));
    EXPECT_HAS_STR(program_read("repro.c", program_out, sizeof program_out),
                   "dync_manual_seed(77);");
    EXPECT_HAS_STR(program_out, ".accuracy = true");
}
TEST_MAIN
