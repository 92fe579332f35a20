/* Checkpoints: a run stopped and resumed is the run that was not stopped, bit for bit. Groups of
 * parameters and the norm of gradients against arithmetic by hand. */
#include "dync.h"
#include "test.h"
#include <math.h>
#include <string.h>

static dync_module *net;
static dync_optim *optim;

static dync_tensor *step(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *loss = dync_mse_loss(dync_forward_call(net, x), y);
    dync_optim_zero_grad(optim);
    dync_backward(loss);
    dync_clip_grad_norm(net, 0.5);
    dync_optim_step(optim);
    return dync_detach(loss);
}

static void begin(int kind)
{
    net = dync_sequential(dync_nn_linear(6, 8, true), dync_nn_relu(), dync_nn_dropout(0.3),
                          dync_nn_linear(8, 2, true));
    dync_tensor *p[4];
    EXPECT_EQ_INT(dync_module_parameters(net, p, 4), 4);
    optim = dync_optim_new((dync_optim_kind)kind, 2, p,
                           (dync_optim_options){.lr = 0.05, .momentum = kind ? 0 : 0.9});
    EXPECT_OK(dync_optim_add_group(optim, 2, p + 2,
                                   (dync_optim_options){.lr = 0.01, .weight_decay = 0.1}));
}
static void end(dync_compiled *f)
{
    dync_compiled_free(f);
    dync_optim_free(optim);
    dync_module_free(net);
}

/* Steps [from, to) on random data; the last losses. */
static void steps(dync_compiled *f, int from, int to, double *losses)
{
    for (int i = from; i < to; i++) DYNC_SCOPE {
        dync_tensor *x = dync_randn(dync_shape(5, 6)), *y = dync_randn(dync_shape(5, 2));
        losses[i] = dync_item(f ? dync_call(f, x, y) : step(x, y));
        if (i % 4 == 3) dync_optim_set_lr(optim, 0.05 / (i + 1));
    }
}

TEST(a_run_goes_on)
{
    static const char path[] = "build/test_checkpoint.safetensors";
    for (int form = 0; form < 9; form++) {
        double whole[20] = {0}, parts[20] = {0}, best = 0;
        int64_t epoch = 0;
        dync_init((dync_init_options){.threads = 1, .seed = 21});
        for (int run = 0; run < 2; run++) {
            dync_manual_seed(5);
            begin(form % 3);
            dync_compiled *f = form < 3 ? NULL : dync_compile(step, .fullgraph = form >= 6);
            double *losses = run ? parts : whole;
            steps(f, 0, 9, losses);
            if (run) {
                int64_t nine = 9;
                double third = 1.0 / 3;
                EXPECT_OK(dync_checkpoint_save(path, {"net", .module = net},
                                               {"optim", .optim = optim}, {"epoch", .i = &nine},
                                               {"best", .f = &third}));
                /* another process, as it were: other weights, other numbers */
                if (form % 2) {
                    end(f);
                    dync_manual_seed(77);
                    begin(form % 3);
                    f = form < 3 ? NULL : dync_compile(step, .fullgraph = form >= 6);
                }
                steps(f, 9, 13, losses);
                int64_t misses = dync_get_counters().cache_misses;
                EXPECT_OK(dync_checkpoint_load(path, {"net", .module = net},
                                               {"optim", .optim = optim}, {"epoch", .i = &epoch},
                                               {"best", .f = &best}));
                EXPECT_EQ_INT(epoch, 9);
                EXPECT(best == 1.0 / 3);
                steps(f, 9, 20, losses);
                EXPECT_EQ_INT(dync_get_counters().cache_misses, misses);
            } else {
                steps(f, 9, 20, losses);
            }
            end(f);
        }
        EXPECT(memcmp(whole, parts, sizeof whole) == 0);
        EXPECT(whole[19] != whole[18]);
        EXPECT_STATUS(dync_error(), DYNC_OK);
        dync_shutdown();
    }
}

/* A failed load changes nothing. */
static void quiet(dync_status status, const char *message, void *user)
{
    (void)status, (void)message, (void)user;
}
TEST(files_that_do_not_fit)
{
    static const char path[] = "build/test_checkpoint2.safetensors";
    dync_init((dync_init_options){.threads = 1, .seed = 2});
    DYNC_SCOPE {
        dync_tensor *buffer = dync_randn(dync_shape(3, 4)), *turned = dync_transpose(buffer, 0, 1),
                    *before = dync_clone(buffer);
        double number = 4, other = 5;
        int64_t count = 6;
        EXPECT_OK(
            dync_checkpoint_save(path, {"buffer", .tensor = turned}, {"number", .f = &number}));
        number = 7;
        dync_zero_(buffer);
        EXPECT_OK(
            dync_checkpoint_load(path, {"buffer", .tensor = turned}, {"number", .f = &number}));
        EXPECT(number == 4 && dync_equal(buffer, before));
        dync_on_error(quiet, NULL);
        number = 7;
        EXPECT_STATUS(
            dync_checkpoint_load(path, {"buffer", .tensor = buffer}, {"number", .f = &number}),
            DYNC_ERR_SHAPE);
        dync_clear_error();
        EXPECT_STATUS(dync_checkpoint_load(path, {"number", .f = &number}), DYNC_ERR_VALUE);
        dync_clear_error();
        EXPECT_STATUS(dync_checkpoint_load(path, {"buffer", .tensor = turned},
                                           {"number", .f = &number}, {"other", .f = &other}),
                      DYNC_ERR_VALUE);
        dync_clear_error();
        EXPECT_STATUS(
            dync_checkpoint_load(path, {"buffer", .tensor = turned}, {"number", .i = &count}),
            DYNC_ERR_DTYPE);
        dync_clear_error();
        EXPECT_STATUS(dync_checkpoint_save(path, {"a.b", .f = &number}), DYNC_ERR_VALUE);
        dync_clear_error();
        EXPECT_STATUS(dync_checkpoint_save(path, {"a", .f = &number, .i = &count}), DYNC_ERR_VALUE);
        dync_clear_error();
        EXPECT_STATUS(dync_checkpoint_save(path, {"a", .f = &number}, {"a", .i = &count}),
                      DYNC_ERR_VALUE);
        dync_clear_error();
        EXPECT_STATUS(dync_checkpoint_save_items(NULL, 0, NULL), DYNC_ERR_VALUE);
        dync_clear_error();
        EXPECT_STATUS(dync_checkpoint_load("build/no_such_file", {"a", .f = &number}), DYNC_ERR_IO);
        dync_clear_error();
        dync_on_error(NULL, NULL);
        EXPECT(number == 7 && other == 5 && count == 6);
        EXPECT(dync_equal(buffer, before));
    }
    dync_shutdown();
}

/* ---- groups ---------------------------------------------------------------------------------- */
/* SGD by hand: p -= lr (g + decay p); the gradient of sum(3 p) is 3. */
TEST(options_by_group)
{
    dync_init((dync_init_options){.threads = 1});
    DYNC_SCOPE {
        dync_tensor *p[3];
        for (int i = 0; i < 3; i++) p[i] = dync_full(dync_shape(2), i + 1.0, .requires_grad = true);
        dync_optim *o = dync_optim_new(DYNC_OPTIM_SGD, 1, p,
                                       (dync_optim_options){.lr = 0.1, .weight_decay = 0.5});
        EXPECT_OK(dync_optim_add_group(o, 1, p + 1, (dync_optim_options){.lr = 0.01}));
        EXPECT_OK(dync_optim_add_group(o, 1, p + 2, (dync_optim_options){.weight_decay = -1}));
        for (int round = 0; round < 2; round++) {
            dync_optim_zero_grad(o);
            dync_tensor *all = dync_add(dync_add(p[0], p[1]), p[2]);
            EXPECT_OK(dync_backward(dync_sum(dync_mul(all, 3), DYNC_ALL, false)));
            EXPECT_OK(dync_optim_step(o));
            if (round == 0) {
                EXPECT_NEAR(dync_item(dync_select(p[0], 0, 0)), 1 - 0.1 * (3 + 0.5 * 1), 1e-6);
                EXPECT_NEAR(dync_item(dync_select(p[1], 0, 0)), 2 - 0.01 * (3 + 0.5 * 2), 1e-6);
                EXPECT_NEAR(dync_item(dync_select(p[2], 0, 1)), 3 - 0.1 * 3, 1e-6);
                EXPECT_OK(dync_optim_set_group_lr(o, 2, 1));
            }
        }
        EXPECT_NEAR(dync_item(dync_select(p[2], 0, 1)), 3 - 0.1 * 3 - 3, 1e-6);
        dync_on_error(quiet, NULL);
        EXPECT_STATUS(dync_optim_add_group(o, 1, p, (dync_optim_options){.lr = 1}), DYNC_ERR_VALUE);
        dync_clear_error();
        EXPECT_STATUS(dync_optim_add_group(o, 0, p, (dync_optim_options){.lr = 1}), DYNC_ERR_VALUE);
        dync_clear_error();
        EXPECT_STATUS(dync_optim_set_group_lr(o, 3, 1), DYNC_ERR_VALUE);
        dync_clear_error();
        dync_on_error(NULL, NULL);
        dync_optim_free(o);
    }
    dync_shutdown();
}

/* ---- the norm of gradients ------------------------------------------------------------------- */
static dync_tensor *clipped(dync_tensor *x)
{
    dync_backward(dync_sum(dync_forward_call(net, x), DYNC_ALL, false));
    return dync_clip_grad_norm(net, 2);
}
/* One row through a linear layer without bias: the gradient of each of the 4 rows of weights is x =
 * (3, 4), so the norm of all of them is 2 * 5. */
TEST(norms)
{
    dync_init((dync_init_options){.threads = 1});
    for (int form = 0; form < 3; form++) DYNC_SCOPE {
        net = dync_nn_linear(2, 4, false);
        dync_compiled *f = dync_compile(clipped, .fullgraph = form == 2);
        dync_tensor *x = dync_from(((float[]){3, 4}), dync_shape(1, 2)), *small = dync_mul(x, 0.01),
                    *w = dync_module_param(net, "weight");
        for (int round = 0; round < 3; round++) {
            dync_tensor *norm = form ? dync_call(f, x) : clipped(x);
            EXPECT_NEAR(dync_item(norm), 10, 1e-5);
            EXPECT_NEAR(dync_item(dync_select(dync_select(dync_grad(w), 0, 3), 0, 1)),
                        4 * 2 / (10 + 1e-6), 1e-6);
            dync_set_grad(w, NULL);
        }
        dync_tensor *norm = form ? dync_call(f, small) : clipped(small); /* within the limit */
        EXPECT_NEAR(dync_item(norm), 0.1, 1e-6);
        EXPECT_NEAR(dync_item(dync_select(dync_select(dync_grad(w), 0, 3), 0, 1)), 0.04, 1e-8);
        dync_set_grad(w, NULL);
        EXPECT_NEAR(dync_item(dync_clip_grad_norm(net, 1)), 0, 0);
        EXPECT_STATUS(dync_error(), DYNC_OK);
        dync_compiled_free(f);
        dync_module_free(net);
    }
    EXPECT(!dync_clip_grad_norm(NULL, 1));
    dync_clear_error();
    dync_shutdown();
}
TEST_MAIN
