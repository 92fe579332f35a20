/* Training steps as C source (dync_export_step, dync_program_save_c): what the C file learns is
 * what the library's compiled step learns, random numbers and all; state and written arguments. */
#define TEST_AFTER_EACH dync_shutdown()
#include "dync.h"
#include "test.h"
#include "tol.h"
#include "exported.h"

/* ---- networks that learn --------------------------------------------------------------------- */

static dync_module *net;
static dync_optim *optim;
enum { ROWS = 8, STEPS = 40 };

static dync_tensor *learn(dync_tensor *x, dync_tensor *label)
{
    dync_tensor *loss = dync_cross_entropy(dync_forward_call(net, x), label);
    if (dync_backward(loss) != DYNC_OK || dync_optim_step(optim) != DYNC_OK) return NULL;
    dync_optim_zero_grad(optim);
    return loss;
}
/* The other order: gradients stay until the next step. */
static dync_tensor *learn_late(dync_tensor *x, dync_tensor *label)
{
    dync_optim_zero_grad(optim);
    dync_tensor *loss = dync_cross_entropy(dync_forward_call(net, x), label);
    if (dync_backward(loss) != DYNC_OK || dync_optim_step(optim) != DYNC_OK) return NULL;
    return loss;
}

static void make_mlp(void)
{
    net = dync_sequential(dync_nn_linear(36, 16, true), dync_nn_tanh(), dync_nn_dropout(0.25),
                          dync_nn_linear(16, 3, true));
    optim = dync_sgd(net, .lr = 0.1, .momentum = 0.9);
}
static void make_cnn(void)
{
    net = dync_sequential(dync_nn_conv2d(1, 4, 3, 1, 1, true), dync_nn_relu(),
                          dync_nn_max_pool2d(2, 2, 0), dync_nn_flatten(),
                          dync_nn_linear(36, 3, true));
    optim = dync_adam(net, .lr = 0.04);
}
/* Two convolutions, of which one is in groups, so that gradients of inputs are asked for. */
static void make_deep(void)
{
    net = dync_sequential(dync_nn_conv2d(1, 4, 3, 2, 1, true), dync_nn_silu(),
                          dync_nn_conv2d(4, 2, 2, 1, 0, false), dync_nn_gelu(), dync_nn_flatten(),
                          dync_nn_layer_norm(8), dync_nn_linear(8, 3, true));
    optim = dync_adamw(net, .lr = 0.01);
}

/* Numbers that the C program makes again. */
static float datum(int step, int i)
{
    return (float)((step * 31 + i * 7 + i / 36 * 5) % 17 - 8) / 8;
}
static dync_tensor *pictures(int step, bool flat)
{
    float x[ROWS * 36];
    for (int i = 0; i < ROWS * 36; i++) x[i] = datum(step % 4, i);
    return flat ? dync_from(x, dync_shape(ROWS, 36)) : dync_from(x, dync_shape(ROWS, 1, 6, 6));
}
static dync_tensor *labels(int step)
{
    int64_t y[ROWS];
    for (int i = 0; i < ROWS; i++) y[i] = (step % 4 + i) % 3;
    return dync_from(y, dync_shape(ROWS), .dtype = DYNC_I64);
}

static void write_learning_main(void)
{
    FILE *f = open_file("main.c", "w");
    REQUIRE(f != NULL);
    fprintf(f,
            "#include <stdio.h>\n#include \"net_fn.h\"\nstatic float x[%d];\nint main(void)\n{\n"
            "    for (int step = 0; step < %d; step++) {\n        int64_t y[%d];\n"
            "        float loss[1];\n"
            "        for (int i = 0; i < %d; i++)\n"
            "            x[i] = (float)((step %% 4 * 31 + i * 7 + i / 36 * 5) %% 17 - 8) / 8;\n"
            "        for (int i = 0; i < %d; i++) y[i] = (step %% 4 + i) %% 3;\n"
            "        net_fn_step((void *)x, y, loss);\n"
            "        printf(\"%%a\\n\", (double)loss[0]);\n    }\n    return 0;\n}\n",
            ROWS * 36, STEPS, ROWS, ROWS * 36, ROWS);
    fclose(f);
}

/* What it learns is what the library learns. */
static void check_losses(const char *file, const double *want)
{
    FILE *f = open_file(file, "r");
    REQUIRE(f != NULL);
    for (int i = 0; i < STEPS; i++) {
        double got = -1;
        EXPECT(fscanf(f, "%lf", &got) == 1);
        EXPECT_NEAR(got, want[i], 2e-4 * (1 + want[i]));
    }
    fclose(f);
}
static void check_same(const char *a, const char *b)
{
    char command[512];
    snprintf(command, sizeof command, "cd %s && cmp %s %s", folder, a, b);
    EXPECT_EQ_INT(system(command), 0);
}

static void check_learning(void (*make)(void), dync_tensor *(*net_fn)(dync_tensor *, dync_tensor *),
                           bool flat, bool optimised)
{
    double want[STEPS], first = 0;
    dync_manual_seed(3);
    make();
    dync_manual_seed(20);
    dync_program *p = dync_export_step(dync_args(net_fn, "x, label"), pictures(0, flat), labels(0));
    REQUIRE(p != NULL);
    open_folder("steps");
    REQUIRE(save(p, "net_fn"));
    dync_compiled *f = dync_compile(net_fn, .args = "x, label", .fullgraph = true);
    for (int i = 0; i < STEPS; i++) DYNC_SCOPE {
        dync_tensor *loss = dync_call(f, pictures(i, flat), labels(i));
        REQUIRE(loss != NULL);
        want[i] = dync_item(loss);
        if (i < 4) first += want[i];
    }
    double last = 0;
    for (int i = STEPS - 4; i < STEPS; i++) last += want[i];
    if (!EXPECT(last < 0.8 * first)) printf("    %g to %g\n", first, last); /* it learns */
    write_learning_main();
    bool ok = EXPECT(compile_and_run("-std=c99 -O1 -fsanitize=address,undefined "
                                     "-fno-sanitize-recover=all",
                                     "checked.txt"));
    if (ok) check_losses("checked.txt", want);
    if (ok && optimised) {
        ok = EXPECT(compile_and_run("-std=c11 -O3", "fast.txt"));
        if (ok) check_same("checked.txt", "fast.txt");
    }
    if (ok) close_folder();
    dync_program_free(p);
    dync_compiled_free(f);
    dync_optim_free(optim);
    dync_module_free(net);
}

/* What the capture of a step writes is taken back: there is nothing to compare with the C
 * function's run. */
TEST(a_step_is_exported_while_calls_are_verified)
{
    const int64_t classes[ROWS] = {0, 1, 2, 0, 1, 2, 0, 1};
    make_mlp();
    dync_tensor *x = pictures(0, true),
                *label = dync_from(classes, dync_shape(ROWS), .dtype = DYNC_I64);
    dync_set_verify(true);
    dync_program *p = dync_export_step(dync_args(learn, "x, label"), x, label);
    dync_set_verify(false);
    EXPECT(p != NULL);
    EXPECT_EQ_INT(dync_error(), DYNC_OK);
    dync_program_free(p);
    dync_optim_free(optim);
    dync_module_free(net);
}

TEST(mlp_with_momentum_and_dropout) { check_learning(make_mlp, learn, true, true); }
TEST(cnn_with_adam) { check_learning(make_cnn, learn_late, false, false); }
TEST_LONG(cnn_with_adam_optimised) { check_learning(make_cnn, learn, false, true); }
TEST(convolutions_in_a_row) { check_learning(make_deep, learn, false, false); }

/* A schedule: the rate is a member of the state, by its name, as what the optimizer keeps is by
 * that of its parameter. */
TEST(a_rate_that_changes)
{
    double want[3];
    dync_manual_seed(4);
    net = dync_sequential(dync_nn_linear(36, 3, true));
    optim = dync_adam(net, .lr = 0.02);
    dync_program *p = dync_export_step(dync_args(learn, "x, label"), pictures(0, true), labels(0));
    open_folder("steps");
    REQUIRE(p && save(p, "learn"));
    for (int i = 0; i < 3; i++) {
        dync_value args[2] = {DYNC_V(pictures(0, true)), DYNC_V(labels(0))};
        EXPECT_OK(dync_optim_set_lr(optim, i == 1 ? 0.5 : 0.02));
        want[i] = dync_item(dync_as_tensor(dync_program_run(p, 2, args)));
    }
    FILE *f = open_file("main.c", "w");
    REQUIRE(f != NULL);
    fprintf(f,
            "#include \"learn.h\"\nint main(void)\n{\n    static float x[%d];\n"
            "    int64_t y[%d];\n    float loss[1];\n",
            ROWS * 36, ROWS);
    for (int i = 0; i < ROWS * 36; i++) fprintf(f, "    x[%d] = %af;\n", i, (double)datum(0, i));
    for (int i = 0; i < ROWS; i++) fprintf(f, "    y[%d] = %d;\n", i, i % 3);
    for (int i = 0; i < 3; i++)
        fprintf(f,
                "    learn_current.lr[0] = %g;\n    learn_step((void *)x, y, loss);\n"
                "    if (loss[0] - %a > 1e-4 || %a - loss[0] > 1e-4) return %d;\n",
                i == 1 ? 0.5 : 0.02, want[i], want[i], i + 1);
    fprintf(f, "    return learn_current.net_0_weight_exp_avg[0][0] == 0 || "
               "learn_current.net_0_bias_exp_avg_sq[0] == 0 || learn_current.steps[0] != 3;\n}\n");
    fclose(f);
    EXPECT(want[2] - want[1] > 1e-3 || want[1] - want[2] > 1e-3); /* the rate matters */
    if (EXPECT(compile_and_run("-std=c99 -O1", "out.txt"))) close_folder();
    dync_program_free(p);
    dync_optim_free(optim);
    dync_module_free(net);
}

/* ---- what a step is -------------------------------------------------------------------------- */

static dync_tensor *total, *scale;
static dync_tensor *gather(dync_tensor *x, dync_tensor *sum)
{
    dync_guard_tensor("total", &total); /* that is what it is called there */
    dync_add_(sum, dync_mul(x, scale));
    dync_add_(total, dync_sum(x, DYNC_ALL, false));
    return dync_mul(total, 2);
}

/* A written argument has no const; a written tensor from elsewhere is state, one that is only read
 * a constant. The export changes none of them, dync_program_run does. */
TEST(written_arguments_and_state)
{
    total = dync_zeros(DYNC_SCALAR);
    scale = dync_full(dync_shape(2), 3.0);
    dync_tensor *x = dync_ones(dync_shape(3, 2)), *sum = dync_zeros(dync_shape(3, 2));
    dync_program *p = dync_export_step(dync_args(gather, "x, sum"), x, sum);
    REQUIRE(p != NULL);
    EXPECT(dync_item(total) == 0 && dync_item(dync_sum(sum, DYNC_ALL, false)) == 0);
    open_folder("steps");
    REQUIRE(save(p, "gather"));
    for (int i = 1; i <= 2; i++) {
        dync_value args[] = {DYNC_V(x), DYNC_V(sum)};
        EXPECT_NEAR(dync_item(dync_as_tensor(dync_program_run(p, 2, args))), 12.0 * i, 0);
        EXPECT_NEAR(dync_item(total), 6.0 * i, 0);
        EXPECT_NEAR(dync_item(dync_sum(sum, DYNC_ALL, false)), 18.0 * i, 0);
    }
    FILE *f = open_file("main.c", "w");
    REQUIRE(f != NULL);
    fprintf(f, "#include \"gather.h\"\nint main(void)\n{\n"
               "    const float x[3][2] = {{1, 1}, {1, 1}, {1, 1}};\n"
               "    float sum[3][2] = {{0}}, out[1];\n    static gather_arena arena;\n"
               "    gather_state mine = gather_current;\n    gather_step(x, sum, out);\n"
               "    if (out[0] != 12 || sum[2][1] != 3 || gather_current.total[0] != 6) return 1;\n"
               "    mine.total[0] = 100;\n    gather_step_in(&arena, &mine, x, sum, out);\n"
               "    if (out[0] != 212 || sum[2][1] != 6 || mine.total[0] != 106) return 2;\n"
               "    return gather_current.total[0] != 6 || GATHER_WEIGHT_BYTES != 8;\n}\n");
    fclose(f);
    bool ok = EXPECT(compile_and_run("-std=c99 -O1 -DGATHER_SELF_TEST", "out.txt"));
    bool cxx = system("c++ --version > /dev/null 2>&1") == 0;
    if (cxx) ok = EXPECT(compile_and_run("-x c++ -O1", "out.txt")) && ok;
    if (!cxx) printf("    no C++ compiler here: not compiled as C++\n");
    if (ok) close_folder();
    dync_program_free(p);
}

static dync_tensor *noise(dync_tensor *x)
{
    return dync_add(dync_randn_like(x), dync_rand_like(x));
}
/* Numbers go on from call to call as the library's do, to the last bit but for log and cos. */
TEST(random_numbers)
{
    dync_tensor *x = dync_zeros(dync_shape(5));
    float want[3][5];
    dync_manual_seed(77);
    dync_program *p = dync_export_step(dync_args(noise, "x"), x);
    open_folder("steps");
    REQUIRE(p && save(p, "noise"));
    for (int i = 0; i < 3; i++) memcpy(want[i], dync_data(noise(x)), sizeof want[i]);
    FILE *f = open_file("main.c", "w");
    REQUIRE(f != NULL);
    fprintf(f, "#include <stdio.h>\n#include \"noise.h\"\nint main(void)\n{\n"
               "    const float x[5] = {0};\n    float y[5];\n"
               "    for (int i = 0; i < 3; i++) {\n        noise_step(x, y);\n"
               "        for (int k = 0; k < 5; k++) printf(\"%%a\\n\", (double)y[k]);\n    }\n"
               "    return 0;\n}\n");
    fclose(f);
    if (EXPECT(compile_and_run("-std=c99 -O1", "out.txt"))) {
        float got[15];
        f = open_file("out.txt", "r");
        for (int i = 0; i < 15; i++) EXPECT(fscanf(f, "%f", &got[i]) == 1);
        fclose(f);
        EXPECT_NEAR_F32(got, want[0], 15, 1e-6, 1e-6);
        close_folder();
    }
    dync_program_free(p);
}

/* A gradient that is there already would be added to; so says the export. */
TEST(held_gradients_are_refused)
{
    make_mlp();
    dync_backward(dync_cross_entropy(dync_forward_call(net, pictures(0, true)), labels(0)));
    EXPECT(dync_export_step(dync_args(learn, "x, y"), pictures(0, true), labels(0)) == NULL);
    EXPECT_EQ_INT(dync_error(), DYNC_ERR_VALUE);
    EXPECT_HAS_STR(dync_error_message(), "holds a gradient");
    dync_clear_error();
    dync_optim_zero_grad(optim);
    dync_program *p = dync_export_step(dync_args(learn, "x, y"), pictures(0, true), labels(0));
    EXPECT(p != NULL && dync_error() == DYNC_OK);
    dync_program_free(p);
    dync_optim_free(optim);
    dync_module_free(net);
}

TEST_MAIN
