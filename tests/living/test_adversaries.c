/* Two networks that train one another (frozen in turn, with normalisation by batches, samples drawn
 * in the other mode), and weights that follow others slowly (EMA): a graph for each kind of step,
 * for ever. */
#include "living.h"

enum { EPOCHS = 8, STEPS = 3 };
static dync_tensor *call(living *p, dync_compiled *f, dync_function plain, dync_tensor *a,
                         dync_value b)
{
    dync_value args[2] = {DYNC_V(a), b};
    return dync_as_tensor(p->compiled ? dync_call_values(f, 2, args) : plain(args, 2, NULL));
}
static dync_tensor *mean(dync_tensor *x) { return dync_mean(x, DYNC_ALL, false); }
static dync_tensor *stepped(dync_optim *o, dync_tensor *loss)
{
    dync_optim_zero_grad(o);
    dync_backward(loss);
    dync_optim_step(o);
    return dync_detach(loss);
}
static void note_weights(living *p, dync_module *m)
{
    dync_tensor *w[32];
    int n = dync_module_parameters(m, w, 32);
    for (int i = 0; i < n; i++) note_tensor(p, w[i]);
}

/* ---- adversaries ----------------------------------------------------------------------------- */
static dync_module *critic, *maker;
static dync_optim *of_critic, *of_maker;
static void freeze(dync_module *m, bool frozen)
{
    dync_tensor *w[32];
    int n = dync_module_parameters(m, w, 32);
    for (int i = 0; i < n; i++) dync_requires_grad_(w[i], !frozen);
}
static dync_value critic_step(const dync_value *a, int n, void *user)
{
    dync_tensor *fake = dync_detach(dync_forward_call(maker, dync_as_tensor(a[1]))),
                *real = dync_forward_call(critic, dync_as_tensor(a[0]));
    (void)n, (void)user;
    return dync_v_tensor(
        stepped(of_critic, dync_add(mean(dync_softplus(dync_neg(real))),
                                    mean(dync_softplus(dync_forward_call(critic, fake))))));
}
static dync_value maker_step(const dync_value *a, int n, void *user)
{
    dync_tensor *score = dync_forward_call(critic, dync_forward_call(maker, dync_as_tensor(a[1])));
    (void)n, (void)user;
    return dync_v_tensor(stepped(of_maker, mean(dync_softplus(dync_neg(score)))));
}
static dync_value sample(const dync_value *a, int n, void *user)
{
    (void)n, (void)user;
    return dync_v_tensor(dync_forward_call(maker, dync_as_tensor(a[0])));
}
static void adversaries(living *p)
{
    maker = dync_sequential(dync_nn_conv2d(3, 8, 3, 1, 1, false), dync_nn_batch_norm2d(8),
                            dync_nn_relu(), dync_nn_conv2d(8, 2, 3, 1, 1, true), dync_nn_tanh());
    critic = dync_sequential(dync_nn_conv2d(2, 4, 3, 2, 1, true), dync_nn_batch_norm2d(4),
                             dync_nn_leaky_relu(0.2), dync_nn_flatten(),
                             dync_nn_linear(16, 1, true));
    of_critic = dync_adam(critic, .lr = 0.002);
    of_maker = dync_sgd(maker, .lr = 0.05, .momentum = 0.5);
    dync_compiled *f = dync_compile((dync_function)critic_step, .fullgraph = true),
                  *g = dync_compile((dync_function)maker_step, .fullgraph = true),
                  *h = dync_compile((dync_function)sample, .fullgraph = true);
    for (int epoch = 0; epoch < EPOCHS; epoch++) DYNC_SCOPE {
        dync_tensor *noise = NULL;
        dync_module_train(maker, true);
        for (int i = 0; i < STEPS; i++) DYNC_SCOPE {
            dync_tensor *real = dync_randn(dync_shape(6, 2, 4, 4));
            noise = dync_escape(dync_randn(dync_shape(6, 3, 4, 4)));
            freeze(maker, true), freeze(critic, false);
            note(p, dync_item(call(p, f, critic_step, real, DYNC_V(noise))));
            freeze(critic, true), freeze(maker, false);
            note(p, dync_item(call(p, g, maker_step, real, DYNC_V(noise))));
        }
        dync_module_train(maker, false);
        DYNC_NO_GRAD {
            note_tensor(p, call(p, h, sample, noise, DYNC_V(0)));
        }
        if (epoch == 1) settled(p);
    }
    note_weights(p, maker), note_weights(p, critic);
    note_tensor(p, dync_module_buffer(critic, "1.running_mean"));
    dync_compiled_free(f), dync_compiled_free(g), dync_compiled_free(h);
    dync_optim_free(of_critic), dync_optim_free(of_maker);
    dync_module_free(critic), dync_module_free(maker);
}
TEST(adversaries_frozen_in_turn) { lives(adversaries, 3, 3, 1e-4); }

/* ---- weights that follow --------------------------------------------------------------------- */
static dync_module *net, *slow;
static dync_optim *optim;
static dync_module *make_net(void)
{
    return dync_sequential(dync_nn_linear(5, 12, true), dync_nn_layer_norm(12), dync_nn_gelu(),
                           dync_nn_dropout(0.2), dync_nn_linear(12, 3, true));
}
/* In the step itself, by a share that grows with the steps and is a tensor. */
static dync_value step(const dync_value *a, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(a[0]), *share = dync_as_tensor(a[1]), *w[8], *to[8];
    int k = dync_module_parameters(net, w, 8);
    dync_tensor *loss =
        stepped(optim, dync_mse_loss(dync_forward_call(net, x), dync_slice(x, 1, 0, 3, 1)));
    dync_module_parameters(slow, to, 8);
    DYNC_NO_GRAD for (int i = 0; i < k; i++)
        dync_copy_(to[i], dync_add(to[i], dync_mul(dync_sub(w[i], to[i]), share)));
    (void)n, (void)user;
    return dync_v_tensor(loss);
}
static dync_value judged(const dync_value *a, int n, void *user)
{
    dync_tensor *x = dync_as_tensor(a[0]);
    (void)n, (void)user;
    return dync_v_tensor(dync_mse_loss(dync_forward_call(slow, x), dync_slice(x, 1, 0, 3, 1)));
}
static dync_value step_or_judge(const dync_value *a, int n, void *user)
{
    bool training = a[1].kind == DYNC_KIND_TENSOR;
    return training ? step(a, n, user) : judged(a, n, user);
}
static void following(living *p, bool one_function)
{
    net = make_net(), slow = make_net();
    optim = dync_adamw(net, .lr = 0.01);
    dync_compiled *f = dync_compile((dync_function)(one_function ? step_or_judge : step),
                                    .fullgraph = true),
                  *g = dync_compile((dync_function)judged, .fullgraph = true);
    int t = 0;
    for (int epoch = 0; epoch < EPOCHS; epoch++) DYNC_SCOPE {
        dync_module_train(net, true), dync_module_train(slow, true);
        for (int i = 0; i < STEPS; i++, t++) DYNC_SCOPE {
            dync_tensor *share = dync_full(DYNC_SCALAR, 1.0 - (1.0 + t) / (10.0 + t));
            note(p, dync_item(call(p, f, step, dync_randn(dync_shape(9, 5)), DYNC_V(share))));
        }
        dync_module_train(slow, false);
        DYNC_NO_GRAD {
            note(p, dync_item(call(p, one_function ? f : g, judged, dync_randn(dync_shape(9, 5)),
                                   DYNC_NONE)));
        }
        if (epoch == 1) settled(p);
    }
    note_weights(p, net), note_weights(p, slow);
    dync_compiled_free(f), dync_compiled_free(g);
    dync_optim_free(optim);
    dync_module_free(net), dync_module_free(slow);
}
static void two_functions(living *p) { following(p, false); }
static void one_function(living *p) { following(p, true); }
TEST(weights_that_follow) { lives(two_functions, 2, 2, 1e-4); }
TEST(weights_that_follow_by_one_function) { lives(one_function, 2, 2, 1e-4); }
TEST_MAIN
