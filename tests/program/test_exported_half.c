/* As C source, by the self-tests of the files, which compare with what this library computes:
 * training steps of recurrent layers; products, convolutions, pooling and recurrent layers of half
 * precision. */
#define TEST_AFTER_EACH dync_shutdown()
#include "dync.h"
#include "test.h"
#include "exported.h"

/* NAME_self_test of each file, compiled with these flags: how many values are wrong. */
static void check_files(int n, char (*name)[24])
{
    char flags[1024] = "-std=c99 -O1 -fsanitize=address,undefined -fno-sanitize-recover=all";
    FILE *f = open_file("main.c", "w");
    REQUIRE(f != NULL);
    fprintf(f, "#include <stdio.h>\n");
    for (int i = 0; i < n; i++) fprintf(f, "int %s_self_test(void);\n", name[i]);
    fprintf(f, "int main(void)\n{\n    int all = 0, bad;\n");
    for (int i = 0; i < n; i++) {
        size_t at = strlen(flags);
        at += (size_t)snprintf(flags + at, sizeof flags - at, " -D");
        for (const char *p = name[i]; *p; p++)
            flags[at++] = (char)(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
        snprintf(flags + at, sizeof flags - at, "_SELF_TEST");
        fprintf(f,
                "    bad = %s_self_test(), all += bad;\n"
                "    if (bad) printf(\"%s: %%d wrong\\n\", bad);\n",
                name[i], name[i]);
    }
    fprintf(f, "    return all != 0;\n}\n");
    fclose(f);
    if (EXPECT(compile_and_run(flags, "out.txt"))) close_folder();
}

/* ---- training -------------------------------------------------------------------------------- */

static dync_module *layer, *head;
static dync_optim *optim;

static dync_tensor *learn(dync_tensor *x, dync_tensor *label)
{
    dync_tensor *y = dync_as_tensor(dync_at(dync_module_call(layer, x), 0));
    dync_tensor *loss =
        dync_cross_entropy(dync_forward_call(head, dync_mean(y, dync_shape(0), false)), label);
    if (dync_backward(loss) != DYNC_OK || dync_optim_step(optim) != DYNC_OK) return NULL;
    dync_optim_zero_grad(optim);
    return loss;
}

static void save_step(const char *name, int cell, int layers, bool both)
{
    const int64_t labels[3] = {0, 2, 1};
    layer = (cell == 0 ? dync_nn_rnn : cell == 1 ? dync_nn_gru : dync_nn_lstm)(4, 5, layers, both);
    head = dync_nn_linear(both ? 10 : 5, 3, true);
    dync_module *all = dync_sequential(head);
    dync_tensor *params[32];
    int n = 0;
    for (int i = 0; i < 2; i++) {
        dync_tensor *mine[16];
        int have = dync_module_parameters(i ? head : layer, mine, 16);
        for (int k = 0; k < have; k++) params[n++] = mine[k];
    }
    optim = dync_optim_new(DYNC_OPTIM_ADAM, n, params, (dync_optim_options){.lr = 0.02});
    dync_callee callee = dync_args(learn, "x, label");
    callee.name = name;
    dync_value args[2] = {DYNC_V(dync_randn(dync_shape(6, 3, 4))),
                          DYNC_V(dync_from(labels, dync_shape(3), .dtype = DYNC_I64))};
    dync_program *p = dync_export_step_values(callee, name, 2, args);
    REQUIRE(save(p, name));
    dync_program_free(p);
    dync_optim_free(optim);
    dync_module_free(all);
    dync_module_free(layer);
}

TEST(steps_of_recurrent_layers)
{
    static char names[4][24] = {"rnn", "gru", "lstm", "gru_both"};
    dync_manual_seed(9);
    open_folder("recurrent_steps");
    for (int i = 0; i < 4; i++) save_step(names[i], i < 3 ? i : 1, 1 + (i == 2), i == 3);
    check_files(4, names);
}

/* ---- half precision -------------------------------------------------------------------------- */

static dync_tensor *weight[4];

static dync_tensor *products(dync_tensor *x)
{
    dync_tensor *y = dync_relu(dync_linear(x, weight[0], weight[1]));
    return dync_matmul(y, dync_t(weight[2]));
}
static dync_tensor *pictures(dync_tensor *x)
{
    dync_tensor *y =
        dync_conv2d(x, weight[3], NULL, dync_shape(1, 1), dync_shape(1, 1), dync_shape(1, 1), 1);
    y = dync_max_pool2d(y, dync_shape(2, 2), dync_shape(2, 2), dync_shape(0, 0), dync_shape(1, 1),
                        false);
    return dync_avg_pool2d(y, dync_shape(2, 2), dync_shape(2, 2), dync_shape(0, 0), false, true);
}
static dync_tensor *sequence(dync_tensor *x)
{
    return dync_as_tensor(dync_at(dync_module_call(layer, x), 0));
}

static dync_tensor *of(dync_dims shape, dync_dtype dtype)
{
    return dync_to_dtype(dync_randn(shape), dtype);
}

TEST(half_precision)
{
    static char names[6][24];
    static dync_tensor *(*const fns[3])(dync_tensor *) = {products, pictures, sequence};
    static const char *const stems[3] = {"products", "pictures", "sequence"};
    dync_manual_seed(10);
    open_folder("half");
    for (int i = 0; i < 6; i++) {
        dync_dtype type = i < 3 ? DYNC_F16 : DYNC_BF16;
        weight[0] = of(dync_shape(7, 5), type), weight[1] = of(dync_shape(7), type);
        weight[2] = of(dync_shape(3, 7), type), weight[3] = of(dync_shape(3, 2, 3, 3), type);
        layer = dync_nn_gru(5, 4, 1, false);
        EXPECT_OK(dync_module_to_dtype(layer, type));
        snprintf(names[i], sizeof names[i], "%s_%s", stems[i % 3], i < 3 ? "f16" : "bf16");
        dync_value x = DYNC_V(of(i % 3 == 1   ? dync_shape(1, 2, 8, 8)
                                 : i % 3 == 2 ? dync_shape(4, 2, 5)
                                              : dync_shape(4, 5),
                                 type));
        dync_program *p = dync_export_values(DYNC_FN(fns[i % 3]), names[i], 1, &x);
        REQUIRE(save(p, names[i]));
        dync_program_free(p);
        dync_module_free(layer);
    }
    check_files(6, names);
}

TEST_MAIN
