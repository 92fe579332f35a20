/* Two networks against each other, one frozen in turn; an autoencoder that draws. */
#include "users.h"

static dync_module *G, *D;
static dync_optim *og, *od;
static void freeze(dync_module *m, bool on)
{
    T p[64];
    int n = dync_module_parameters(m, p, 64);
    for (int i = 0; i < n; i++) dync_requires_grad_(p[i], !on);
}
static T bce(T lg, double y)
{
    return dync_binary_cross_entropy_with_logits(lg, dync_full_like(lg, y));
}
static T d_step(T x, T z)
{
    dync_optim_zero_grad(od);
    T fake;
    DYNC_NO_GRAD fake = dync_forward_call(G, z);
    T l = dync_add(bce(dync_forward_call(D, x), 0.9), bce(dync_forward_call(D, fake), 0));
    dync_backward(l);
    dync_optim_step(od);
    return dync_detach(l);
}
static T g_loss(T z) { return bce(dync_forward_call(D, dync_forward_call(G, z)), 1); }
static dync_compiled *f, *g;
/* VAE */
static T we, be, wm, wl, wd, wo, bo;
static dync_value vae(const dync_value *a, int n, void *u)
{
    (void)n, (void)u;
    T x = dync_as_tensor(a[0]), eps = dync_as_tensor(a[1]);
    T h = dync_relu(dync_conv2d(x, we, be, S(2, 2), S(1, 1), S(1, 1), 1));
    T hf = dync_flatten(h, 1, -1), mu = dync_linear(hf, wm, NULL),
      lv = dync_clamp(dync_linear(hf, wl, NULL), -3, 3);
    T z = dync_add(mu, dync_mul(dync_exp(dync_mul(lv, 0.5)), eps));
    T d = dync_reshape(dync_relu(dync_linear(z, wd, NULL)), S(-1, 4, 4, 4));
    T r = dync_sigmoid(dync_conv_transpose2d(d, wo, bo, S(2, 2), S(1, 1), S(0, 0), 1, S(1, 1)));
    T rec = dync_div(dync_sum(dync_square(dync_sub(r, x)), DYNC_ALL, false), dync_size_sym(x, 0));
    T kl = dync_mul(
        dync_mean(dync_sum(dync_sub(dync_sub(dync_add(lv, 1), dync_square(mu)), dync_exp(lv)), S(1),
                           false),
                  DYNC_ALL, false),
        -0.5);
    return dync_tuple(dync_add(rec, kl), rec, kl, r);
}
static dync_compiled *v;
static void make(void)
{
    G = dync_sequential(dync_nn_linear(4, 16, true), dync_nn_leaky_relu(.2),
                        dync_nn_linear(16, 8, true), dync_nn_tanh());
    D = dync_sequential(dync_nn_linear(8, 16, true), dync_nn_leaky_relu(.2),
                        dync_nn_linear(16, 1, true));
    set_weights(G, 1), set_weights(D, 2);
    og = dync_adam(G, .lr = 2e-2, .beta1 = .5), od = dync_adam(D, .lr = 1e-2, .beta1 = .5);
    f = dync_compile(d_step, .fullgraph = true), g = dync_compile(g_loss);
    we = P(S(4, 1, 3, 3), 1, .5), be = P(S(4), 2, .1), wm = P(S(3, 64), 3, .2),
    wl = P(S(3, 64), 4, .2), wd = P(S(64, 3), 5, .4), wo = P(S(4, 1, 4, 4), 6, .4),
    bo = P(S(1), 7, .1);
    v = dync_compile((dync_function)vae);
}
static void round_(int i, int b)
{
    T x = det(S(b, 8), i, 1), z = det(S(b, 4), i + 9, 1);
    say(dync_call(f, x, z));
    freeze(D, true);
    T l = dync_call(g, z);
    say(l);
    dync_optim_zero_grad(og), dync_backward(l), dync_optim_step(og);
    freeze(D, false);
}
static void epoch(void)
{
    for (int i = 0; i < 12; i++) DYNC_SCOPE
        round_(i, i < 6 ? 8 : 5 + i % 3);
    say(dync_module_param(G, "0.weight")), say(dync_module_param(D, "2.bias"));
    for (int i = 0; i < 6; i++) DYNC_SCOPE {
        int b = i < 3 ? 6 : i;
        dync_value r = dync_call_value(v, det(S(b, 1, 8, 8), i, 1), det(S(b, 3), i + 1, 1));
        for (int k = 0; k < 4; k++) say(dync_as_tensor(dync_at(r, k)));
        T w[] = {we, be, wm, wl, wd, wo, bo};
        for (int k = 0; k < 7; k++) dync_set_grad(w[k], NULL);
        dync_backward(dync_as_tensor(dync_at(r, 0)));
        for (int k = 0; k < 7; k++) say(dync_grad(w[k]));
        DYNC_NO_GRAD for (int k = 0; k < 7; k++)
            dync_sub_(w[k], dync_mul(dync_grad(w[k]), .01));
    }
}

static void program(living *p) { lives_for_two_epochs(p, make, epoch); }
TEST(generators) { lives(program, -1, -1, 1e-4); }
TEST_MAIN
