/* dync_set_lint at later calls: C variables that change after the first compile are named with
 * their line at the second, tenth or hundredth call; programs that keep still are never named. */
#include "dync.h"
#include "test.h"
#include <stdio.h>

static int64_t lints(void) { return dync_get_counters().lint_warnings; }

static double scale;
static int layers, lines[4];
static float table[3];
static dync_tensor *weight, *weights[2];

static dync_tensor *reads_global(dync_tensor *x)
{
    lines[0] = __LINE__ + 1;
    return dync_mul(x, scale);
}
static dync_tensor *counts_layers(dync_tensor *x)
{
    lines[1] = __LINE__ + 1;
    for (int i = 0; i < layers; i++) x = dync_sin(x);
    return dync_add(x, 1);
}
static dync_tensor *reads_array(dync_tensor *x)
{
    lines[2] = __LINE__ + 1;
    return dync_add(x, dync_constant(table, dync_shape(3)));
}
static dync_tensor *reads_tensor(dync_tensor *x)
{
    lines[3] = __LINE__ + 1;
    return dync_mul(x, weight);
}

typedef dync_tensor *(*fn1)(dync_tensor *);
static const fn1 fns[] = {reads_global, counts_layers, reads_array, reads_tensor};

static void keep_still(void)
{
    scale = 2, layers = 2, weight = weights[0];
    for (int i = 0; i < 3; i++) table[i] = (float)i;
}
static void change(int what)
{
    if (what == 0) scale = 3;
    if (what == 1) layers = 3;
    if (what == 2) table[1] = 7;
    if (what == 3) {
        weight = weights[1];
    }
}

/* The call of fn what, of 120, at which lint speaks, its variable being changed before call `at`;
 * 0: never. text: what it says. */
static int told(int what, int at, char text[2048])
{
    int call = 0;
    FILE *file = freopen("build/test_lint_later.txt", "w", stderr);
    if (!EXPECT(file != NULL)) return -1;
    keep_still();
    dync_compiled *f = dync_compile(fns[what], .args = "x");
    int64_t before = lints();
    for (int i = 1; i <= 120; i++) DYNC_SCOPE {
        if (i == at) change(what);
        EXPECT(dync_call(f, dync_randn(dync_shape(3))) != NULL);
        if (!call && lints() != before) call = i;
    }
    EXPECT_EQ_INT(lints() - before, call != 0); /* once */
    dync_compiled_free(f);
    fflush(stderr);
    file = fopen("build/test_lint_later.txt", "r");
    if (!EXPECT(file != NULL)) return -1;
    size_t n = fread(text, 1, 2047, file);
    text[n] = 0;
    fclose(file);
    return call;
}

TEST(later_calls_are_compared)
{
    static const int changes[][2] = {{2, 2},    {3, 10},  {10, 10}, {11, 100},
                                     {60, 100}, {101, 0}, {0, 0}};
    static const char *const says[] = {"constant 2", "add became sin",
                                       "the elements of a dync_constant changed",
                                       "tensor 1 of mul changed"};
    char text[2048], place[64];
    dync_init((dync_init_options){.threads = 1, .seed = 4});
    dync_set_lint(true);
    for (int i = 0; i < 2; i++) weights[i] = dync_retain(dync_randn(dync_shape(3)));
    for (int what = 0; what < 4; what++)
        for (int i = 0; i < (int)(sizeof changes / sizeof changes[0]); i++) {
            EXPECT_EQ_INT(told(what, changes[i][0], text), changes[i][1]);
            if (!changes[i][1]) continue;
            EXPECT_HAS_STR(text, says[what]);
            snprintf(place, sizeof place, "test_lint.c:%d", lines[what]);
            EXPECT_HAS_STR(text, place);
        }
    for (int i = 0; i < 2; i++) dync_release(weights[i]);
    dync_set_lint(false);
    EXPECT_STATUS(dync_error(), DYNC_OK);
    dync_shutdown();
}

/* ---- what must not be named ------------------------------------------------------------------ */
static dync_module *net;
static dync_optim *optim;
static dync_tensor *step(dync_tensor *x)
{
    dync_tensor *loss = dync_mean(dync_forward_call(net, x), DYNC_ALL, false);
    dync_optim_zero_grad(optim);
    dync_backward(loss);
    dync_optim_step(optim);
    return dync_detach(loss);
}
static dync_tensor *only_the_step(dync_tensor *x)
{
    dync_optim_step(optim);
    return dync_mul(x, 2);
}
static dync_tensor *decides(dync_tensor *x)
{
    dync_tensor *noise = dync_rand(dync_shape(3));
    if (dync_bool(dync_gt(dync_sum(x, DYNC_ALL, false), 0))) return dync_add(x, noise);
    return dync_sub(dync_mul(x, 2), noise);
}
static dync_tensor *writes(dync_tensor *x)
{
    dync_add_(x, 1);
    return dync_sum(x, DYNC_ALL, false);
}
static dync_tensor *any_length(dync_tensor *x)
{
    return dync_sum(dync_mul(x, dync_arange(0, (double)dync_size(x, 0), 1)), DYNC_ALL, false);
}
static dync_tensor *forward(dync_tensor *x) { return dync_forward_call(net, x); }
static dync_tensor *square(dync_tensor *x) /* that its sizes differ is no guard */
{
    return dync_reshape(dync_mul(x, 2), dync_shape(-1, dync_dim(x, 1)));
}

TEST(programs_that_keep_still)
{
    static const fn1 still[] = {step, only_the_step, decides, writes, any_length, forward};
    dync_init((dync_init_options){.threads = 1, .seed = 4});
    dync_set_lint(true);
    net =
        dync_sequential(dync_nn_linear(3, 4, true), dync_nn_dropout(0.5), dync_nn_batch_norm2d(4));
    dync_module_free(net);
    net = dync_sequential(dync_nn_linear(3, 4, true), dync_nn_dropout(0.5), dync_nn_relu());
    optim = dync_adam(net, .lr = 0.01);
    for (int i = 0; i < 12; i++) DYNC_SCOPE {
        int64_t before = lints();
        dync_compiled *f = dync_compile(still[i / 2], .fullgraph = i % 2 && i / 2 != 2);
        for (int call = 0; call < 120; call++) DYNC_SCOPE {
            if (i / 2 == 1) { /* other gradients in every call */
                dync_optim_zero_grad(optim);
                dync_backward(dync_sum(dync_forward_call(net, dync_randn(dync_shape(2, 3))),
                                       DYNC_ALL, false));
            }
            int64_t n = i / 2 == 4 && call > 5 ? 3 + call % 4 : 3;
            dync_module_train(net, call < 60);
            dync_tensor *x = dync_randn(dync_shape(n)), *y = dync_call(f, x);
            EXPECT(y != NULL);
        }
        if (!EXPECT_EQ_INT(lints(), before)) printf("  program %d\n", i);
        dync_compiled_free(f);
    }
    for (int n = 0; n < 3; n++) DYNC_SCOPE {
        static const int64_t lengths[][2] = {{3, 4}, {4, 4}, {7, 7}};
        int64_t before = lints();
        dync_compiled *f = dync_compile(square, .dynamic = DYNC_DYNAMIC_ON);
        for (int call = 0; call < 120; call++) DYNC_SCOPE {
            const int64_t *size = lengths[call == 1 || call == 9 ? n : 0];
            EXPECT(dync_call(f, dync_ones(dync_shape(size[0], size[1]))) != NULL);
        }
        EXPECT_EQ_INT(lints(), before);
        dync_compiled_free(f);
    }
    EXPECT_STATUS(dync_error(), DYNC_OK);
    dync_optim_free(optim);
    dync_module_free(net);
    dync_set_lint(false);
    dync_shutdown();
}
TEST_MAIN
