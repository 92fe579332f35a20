/* Programs that change mode: what a module, a parameter or the thread is in is guarded by value,
 * and switching back finds the compiled form of before, for ever. */
#include "dync.h"
#include "test.h"

static dync_module *net, *ema;
static dync_optim *optim;

static int64_t misses(void) { return dync_get_counters().cache_misses; }
static int64_t graphs(void) { return dync_get_counters().graphs; }

static dync_module *make_net(void)
{
    return dync_sequential(dync_nn_linear(6, 16, true), dync_nn_relu(), dync_nn_dropout(0.25),
                           dync_nn_layer_norm(16), dync_nn_linear(16, 2, true));
}
static dync_tensor *train_step(dync_tensor *x, dync_tensor *y)
{
    dync_tensor *loss = dync_mse_loss(dync_forward_call(net, x), y);
    dync_optim_zero_grad(optim);
    dync_backward(loss);
    dync_optim_step(optim);
    return dync_detach(loss);
}
static dync_tensor *validate(dync_tensor *x, dync_tensor *y)
{
    return dync_mse_loss(dync_forward_call(net, x), y);
}
static dync_value either(const dync_value *args, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(args[0]), *y = dync_as_tensor(args[1]);
    (void)n, (void)user;
    return dync_v_tensor(dync_as_bool(args[2]) ? train_step(x, y) : validate(x, y));
}

/* Epochs of training and validation, as one function with a flag or as two, with an average of the
 * weights and a stop: two graphs and no miss after the second epoch. The numbers are those of a
 * plain run. */
static void epochs(bool one_function, bool compiled, double *losses)
{
    dync_init((dync_init_options){.threads = 1, .seed = 7});
    net = make_net();
    ema = make_net();
    optim = dync_adam(net, .lr = 0.02);
    dync_compiled *both = dync_compile((dync_function)either, .fullgraph = true),
                  *train = dync_compile(train_step, .fullgraph = true),
                  *valid = dync_compile(validate, .fullgraph = true);
    dync_tensor *x = dync_randn(dync_shape(8, 6)), *y = dync_randn(dync_shape(8, 2)), *p[8], *q[8];
    int n = dync_module_parameters(net, p, 8), n_epochs = 20;
    dync_module_parameters(ema, q, 8);
    int64_t first_misses = 0, first_graphs = graphs();
    for (int epoch = 0; epoch < n_epochs; epoch++) DYNC_SCOPE {
        dync_module_train(net, true);
        for (int i = 0; i < 3; i++) DYNC_SCOPE {
            dync_tensor *loss = !compiled ? train_step(x, y)
                                : one_function
                                    ? dync_as_tensor(dync_call_value(both, x, y, DYNC_TRUE))
                                    : dync_call(train, x, y);
            losses[2 * epoch] = dync_item(loss);
        }
        DYNC_NO_GRAD for (int i = 0; i < n; i++)
            dync_lerp_(q[i], p[i], 0.1);
        dync_module_train(net, false);
        DYNC_NO_GRAD DYNC_SCOPE {
            dync_tensor *loss = !compiled ? validate(x, y)
                                : one_function
                                    ? dync_as_tensor(dync_call_value(both, x, y, DYNC_FALSE))
                                    : dync_call(valid, x, y);
            losses[2 * epoch + 1] = dync_item(loss);
        }
        if (epoch == 1) first_misses = misses();
    }
    if (compiled) {
        EXPECT_EQ_INT(graphs() - first_graphs, 2);
        EXPECT_EQ_INT(misses(), first_misses);
    }
    EXPECT_STATUS(dync_error(), DYNC_OK);
    dync_compiled_free(both);
    dync_compiled_free(train);
    dync_compiled_free(valid);
    dync_optim_free(optim);
    dync_module_free(net);
    dync_module_free(ema);
    dync_shutdown();
}
TEST(train_and_validate)
{
    double plain[40], got[40];
    epochs(false, false, plain);
    for (int style = 0; style < 2; style++) {
        epochs(style, true, got);
        for (int i = 0; i < 40; i++) EXPECT_NEAR(got[i], plain[i], 1e-5);
    }
}

/* ---- adversaries ----------------------------------------------------------------------------- */
static dync_module *critic, *maker;
static dync_optim *of_critic, *of_maker;

static void freeze(dync_module *m, bool frozen)
{
    dync_tensor *p[8];
    int n = dync_module_parameters(m, p, 8);
    for (int i = 0; i < n; i++) dync_requires_grad_(p[i], !frozen);
}
static dync_tensor *critic_step(dync_tensor *real, dync_tensor *noise)
{
    dync_tensor *fake = dync_detach(dync_forward_call(maker, noise)),
                *loss = dync_add(
                    dync_mean(dync_softplus(dync_neg(dync_forward_call(critic, real))), DYNC_ALL,
                              false),
                    dync_mean(dync_softplus(dync_forward_call(critic, fake)), DYNC_ALL, false));
    dync_optim_zero_grad(of_critic);
    dync_backward(loss);
    dync_optim_step(of_critic);
    return dync_detach(loss);
}
static dync_tensor *maker_step(dync_tensor *real, dync_tensor *noise)
{
    dync_tensor *score = dync_forward_call(critic, dync_forward_call(maker, noise)),
                *loss = dync_mean(dync_softplus(dync_neg(score)), DYNC_ALL, false);
    (void)real;
    dync_optim_zero_grad(of_maker);
    dync_backward(loss);
    dync_optim_step(of_maker);
    return dync_detach(loss);
}
static void adversaries(bool compiled, double *losses)
{
    dync_init((dync_init_options){.threads = 1, .seed = 11});
    maker = dync_sequential(dync_nn_linear(3, 8, true), dync_nn_tanh(), dync_nn_linear(8, 4, true));
    critic =
        dync_sequential(dync_nn_linear(4, 8, true), dync_nn_tanh(), dync_nn_linear(8, 1, true));
    of_critic = dync_sgd(critic, .lr = 0.1);
    of_maker = dync_sgd(maker, .lr = 0.1);
    dync_compiled *f = dync_compile(critic_step, .fullgraph = true),
                  *g = dync_compile(maker_step, .fullgraph = true);
    int64_t first_misses = 0, first_graphs = graphs();
    for (int i = 0; i < 16; i++) DYNC_SCOPE {
        dync_tensor *real = dync_randn(dync_shape(5, 4)), *noise = dync_randn(dync_shape(5, 3));
        freeze(maker, true);
        freeze(critic, false);
        losses[2 * i] = dync_item(compiled ? dync_call(f, real, noise) : critic_step(real, noise));
        freeze(critic, true);
        freeze(maker, false);
        losses[2 * i + 1] =
            dync_item(compiled ? dync_call(g, real, noise) : maker_step(real, noise));
        if (i == 1) first_misses = misses();
    }
    if (compiled) {
        EXPECT_EQ_INT(graphs() - first_graphs, 2);
        EXPECT_EQ_INT(misses(), first_misses);
    }
    EXPECT_STATUS(dync_error(), DYNC_OK);
    dync_compiled_free(f);
    dync_compiled_free(g);
    dync_optim_free(of_critic);
    dync_optim_free(of_maker);
    dync_module_free(critic);
    dync_module_free(maker);
    dync_shutdown();
}
TEST(alternating_freezing)
{
    double plain[32], got[32];
    adversaries(false, plain);
    adversaries(true, got);
    for (int i = 0; i < 32; i++) EXPECT_NEAR(got[i], plain[i], 1e-5);
}

/* ---- weights come and go --------------------------------------------------------------------- */
static dync_tensor *apply(dync_tensor *x) { return dync_forward_call(net, x); }

/* Weights with an adapter taken in and out, another dtype and back, a target's weights copied, a
 * file loaded: a form for each state, found again. */
TEST(states_come_back)
{
    dync_init((dync_init_options){.threads = 1, .seed = 3});
    DYNC_SCOPE {
        net = make_net();
        dync_module_train(net, false);
        dync_compiled *f = dync_compile(apply, .fullgraph = true, .dynamic = DYNC_DYNAMIC_OFF);
        dync_tensor *x = dync_randn(dync_shape(4, 6)), *plain = dync_module_param(net, "0.weight"),
                    *adapted = dync_add(dync_detach(plain), dync_full(dync_shape(16, 6), 0.5));
        dync_retain(plain);
        int64_t steady = 0;
        for (int round = 0; round < 6; round++) DYNC_SCOPE {
            for (int state = 0; state < 5; state++) DYNC_SCOPE {
                if (state == 1) dync_module_set_param(net, "0.weight", adapted);
                if (state == 2) dync_module_set_param(net, "0.weight", plain);
                if (state == 3) dync_module_to_dtype(net, DYNC_F64);
                if (state == 4) {
                    dync_module_to_dtype(net, DYNC_F32);
                    DYNC_NO_GRAD dync_mul_(dync_module_param(net, "4.weight"), 0.9);
                    EXPECT_OK(dync_module_save(net, "build/test_modes.safetensors"));
                    EXPECT_OK(dync_module_load(net, "build/test_modes.safetensors"));
                }
                dync_tensor *in = state == 3 ? dync_to_dtype(x, DYNC_F64) : x, *want = apply(in),
                            *got = dync_call(f, in);
                EXPECT(got && dync_type(got) == (state == 3 ? DYNC_F64 : DYNC_F32) &&
                       dync_allclose(got, want, 1e-5, 1e-5));
            }
            if (round == 0) EXPECT_EQ_INT(misses(), 3); /* plain, adapted, f64 */
            if (round == 1) steady = misses();
        }
        EXPECT_EQ_INT(misses(), steady);
        EXPECT_EQ_INT(steady, 3);
        EXPECT_STATUS(dync_error(), DYNC_OK);
        dync_release(plain);
        dync_compiled_free(f);
        dync_module_free(net);
    }
    dync_shutdown();
}

/* Grad mode, and whether an argument requires grad. */
static dync_tensor *by_mode(dync_tensor *x) { return dync_mul(dync_exp(x), 2); }
TEST(modes_of_the_thread)
{
    dync_init((dync_init_options){.threads = 1, .seed = 3});
    DYNC_SCOPE {
        dync_compiled *f = dync_compile(by_mode, .fullgraph = true);
        dync_tensor *x = dync_randn(dync_shape(3));
        for (int round = 0; round < 16; round++) DYNC_SCOPE {
            bool grad = round % 2, wants = round / 2 % 2;
            dync_requires_grad_(x, wants);
            dync_set_grad_enabled(grad);
            dync_tensor *want = by_mode(x), *got = dync_call(f, x);
            EXPECT(got && dync_allclose(got, want, 1e-6, 1e-6));
            EXPECT(got && dync_requires_grad(got) == (grad && wants));
            dync_set_grad_enabled(true);
        }
        EXPECT_EQ_INT(misses(), 4);
        EXPECT_STATUS(dync_error(), DYNC_OK);
        dync_compiled_free(f);
    }
    dync_shutdown();
}

/* Many states, more than are remembered: results stay right. */
TEST(more_states_than_are_remembered)
{
    dync_init((dync_init_options){.threads = 1, .seed = 3});
    DYNC_SCOPE {
        net = dync_nn_linear(4, 2, false);
        dync_compiled *f = dync_compile(apply, .recompile_limit = 3);
        dync_tensor *x = dync_randn(dync_shape(2, 4));
        for (int i = 0; i < 150; i++) DYNC_SCOPE {
            dync_module_set_param(net, "weight", dync_randn(dync_shape(2, 4)));
            dync_tensor *want = apply(x), *got = dync_call(f, x);
            EXPECT(got && dync_allclose(got, want, 1e-5, 1e-5));
        }
        dync_compiled_free(f);
        dync_module_free(net);
    }
    dync_shutdown();
}

/* ---- functions that switch the mode themselves ----------------------------------------------- */
static dync_module *inner;
static dync_value switches(const dync_value *args, int n, void *user)
{
    (void)n, (void)user;
    dync_module_train(net, dync_as_bool(args[1]));
    return DYNC_V(dync_forward_call(net, dync_as_tensor(args[0])));
}
/* Twice in a call, what is inside alone, behind a break. */
static dync_value switches_parts(const dync_value *args, int n, void *user)
{
    (void)n, (void)user;
    dync_module_train(net, true);
    dync_module_train(inner, dync_as_bool(args[1]));
    dync_tensor *y = dync_forward_call(net, dync_as_tensor(args[0]));
    dync_graph_break("here");
    dync_module_train(net, !dync_as_bool(args[1]));
    return DYNC_V(dync_add(y, dync_forward_call(net, y)));
}
/* Whatever mode was before, results and the mode left behind are those of a plain call, and after
 * each way in has been seen nothing is traced again. */
static void switched(dync_function fn, bool fullgraph)
{
    net = make_net(), inner = dync_sequential(dync_nn_linear(2, 6, true), dync_nn_dropout(0.5));
    dync_module_add(net, "inner", inner);
    dync_compiled *f = dync_compile(DYNC_FN(fn), .fullgraph = fullgraph);
    int64_t after_first = 0;
    for (int round = 0; round < 12; round++) DYNC_SCOPE {
        dync_tensor *x = dync_randn(dync_shape(5, 6));
        bool flag = round / 2 % 2, before = round % 3 == 0, left[2][2];
        dync_tensor *y[2];
        for (int compiled = 0; compiled < 2; compiled++) {
            dync_value in[2] = {DYNC_V(x), DYNC_V(flag)};
            dync_module_train(net, before);
            dync_manual_seed(round);
            dync_value r = compiled ? dync_call_values(f, 2, in) : fn(in, 2, NULL);
            y[compiled] = dync_as_tensor(r);
            left[compiled][0] = dync_module_is_training(net);
            left[compiled][1] = dync_module_is_training(inner);
        }
        EXPECT(dync_allclose(y[0], y[1], 1e-5, 1e-6));
        EXPECT(left[0][0] == left[1][0] && left[0][1] == left[1][1]);
        if (round == 7) after_first = misses();
    }
    EXPECT_EQ_INT(misses(), after_first);
    EXPECT_OK(dync_error());
    dync_compiled_free(f);
    dync_module_free(net);
}
TEST(a_function_that_switches_the_mode) { switched(switches, true); }
TEST(a_function_that_switches_parts_behind_a_break) { switched(switches_parts, false); }
TEST(a_program_keeps_the_mode_it_was_made_in)
{
    net = make_net();
    dync_tensor *x = dync_randn(dync_shape(5, 6));
    dync_value in[2] = {DYNC_V(x), DYNC_V(false)};
    dync_program *p = dync_export_values(DYNC_FN(switches), "switches", 2, in);
    REQUIRE(p != NULL);
    EXPECT(dync_allclose(dync_as_tensor(dync_program_run(p, 2, in)),
                         dync_as_tensor(switches(in, 2, NULL)), 1e-5, 1e-6));
    dync_program_free(p);
    dync_module_free(net);
}
TEST_MAIN
