/* Diffusion: a U-Net with skips, group norm and an embedding of time; training steps and a loop
 * that samples, at several sizes of images. */
#include "users.h"

enum { C = 8 };
static T c1, c2, c3, c4, co, g1, gb1, g2, gb2, tw, tb;
static T net(T x, T t)
{
    T fr = dync_exp(dync_mul(dync_arange(0, C / 2, 1), -log(10000.) / (C / 2)));
    T an = dync_mul(dync_unsqueeze(dync_to_dtype(t, DYNC_F32), 1), dync_unsqueeze(fr, 0));
    T e = dync_linear(dync_silu(dync_cat(dync_tuple(dync_sin(an), dync_cos(an)), 1)), tw, tb);
    e = dync_unsqueeze(dync_unsqueeze(e, -1), -1);
    T d1 = dync_silu(
        dync_group_norm(dync_conv2d(x, c1, NULL, S(1, 1), S(1, 1), S(1, 1), 1), 2, g1, gb1, 1e-5));
    T d2 = dync_conv2d(d1, c2, NULL, S(2, 2), S(1, 1), S(1, 1), 1);
    d2 = dync_silu(dync_add(dync_group_norm(d2, 4, g2, gb2, 1e-5), e));
    T d3 = dync_silu(dync_conv2d(dync_max_pool2d(d2, S(2, 2), S(2, 2), S(0, 0), S(1, 1), false), c3,
                                 NULL, S(1, 1), S(1, 1), S(1, 1), 1));
    T u = dync_upsample_nearest2d(d3, S(dync_dim(d2, 2), dync_dim(d2, 3)));
    u = dync_silu(
        dync_conv2d(dync_cat(dync_tuple(u, d2), 1), c4, NULL, S(1, 1), S(1, 1), S(1, 1), 1));
    u = dync_upsample_bilinear2d(u, S(dync_dim(x, 2), dync_dim(x, 3)), false);
    return dync_conv2d(dync_cat(dync_tuple(u, d1), 1), co, NULL, S(1, 1), S(1, 1), S(1, 1), 1);
}
static T beta(T t) { return dync_add(dync_mul(dync_to_dtype(t, DYNC_F32), 0.002), 1e-3); }
static T loss(T x, T noise, T t)
{
    T a = dync_exp(dync_mul(dync_to_dtype(t, DYNC_F32), -0.05));
    a = dync_reshape(a, S(-1, 1, 1, 1));
    T xt = dync_add(dync_mul(dync_sqrt(a), x), dync_mul(dync_sqrt(dync_sub(1, a)), noise));
    return dync_mse_loss(net(xt, t), noise);
}
static T denoise(T x, T t, T z)
{
    T b = dync_reshape(beta(t), S(-1, 1, 1, 1));
    T e = net(x, t);
    T y = dync_mul(dync_rsqrt(dync_sub(1, b)), dync_sub(x, dync_mul(e, dync_mul(b, 0.5))));
    T go = dync_reshape(dync_to_dtype(dync_gt(t, 0), DYNC_F32), S(-1, 1, 1, 1));
    return dync_add(y, dync_mul(dync_mul(dync_sqrt(b), z), go));
}
static dync_compiled *f, *g;
static T w[11];
static void make(void)
{
    w[0] = c1 = P(S(C, 3, 3, 3), .1, .3), w[1] = c2 = P(S(C, C, 3, 3), .2, .2),
    w[2] = c3 = P(S(C, C, 3, 3), .3, .2), w[3] = c4 = P(S(C, 2 * C, 3, 3), .4, .2),
    w[4] = co = P(S(3, 2 * C, 3, 3), .5, .2);
    w[5] = g1 = P(S(C), .6, 1), w[6] = gb1 = P(S(C), .7, 1), w[7] = g2 = P(S(C), .8, 1),
    w[8] = gb2 = P(S(C), .9, 1), w[9] = tw = P(S(C, C), 1, .4), w[10] = tb = P(S(C), 1.1, .4);
    f = dync_compile(loss), g = dync_compile(denoise);
}
static void train(int b, int h, int ww, int k)
{
    T x = det(S(b, 3, h, ww), k, 1), n = det(S(b, 3, h, ww), k + 50, 1), t = ids(S(b), 7, k, 20);
    for (int i = 0; i < 11; i++) dync_set_grad(w[i], NULL);
    T l = dync_call(f, x, n, t);
    say(l);
    dync_backward(l);
    for (int i = 0; i < 11; i++) say(dync_grad(w[i]));
    DYNC_NO_GRAD for (int i = 0; i < 11; i++)
        dync_sub_(w[i], dync_mul(dync_grad(w[i]), 0.1));
}
static void sample(int b, int h)
{
    T x = dync_retain(det(S(b, 3, h, h), 5, 1));
    DYNC_NO_GRAD for (int i = 19; i >= 0; i--) DYNC_SCOPE {
        T y = dync_call(g, x, dync_full(S(b), i, .dtype = DYNC_I64), det(S(b, 3, h, h), i, 1));
        dync_release(x), x = dync_retain(y);
    }
    say(x), dync_release(x);
}
static void epoch(void)
{
    int b[] = {2, 3, 2, 1, 4}, h[] = {16, 16, 8, 12, 20};
    for (int i = 0; i < 5; i++) {
        DYNC_SCOPE train(b[i], h[i], h[i] + (i == 3) * 4, i);
        DYNC_SCOPE sample(b[4 - i], h[i]);
    }
}

static void program(living *p) { lives_for_two_epochs(p, make, epoch); }
TEST(diffusion) { lives(program, -1, -1, 1e-4); }
TEST_MAIN
