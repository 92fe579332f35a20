/* Learning from experience: a replay buffer written in place, a target that follows; clipped
 * policy gradients with advantages by a scan from behind. */
#include "users.h"

enum { N = 64, SD = 4, A = 3 };
static T bs, ba, br, bn, bd; /* buffer */
static dync_module *q, *tq;
static dync_optim *opt;
static dync_value store(const dync_value *a, int n, void *u)
{
    (void)n, (void)u;
    /* place comes as a tensor [1] of int64 */
    T at = dync_as_tensor(a[0]);
    dync_copy_(bs, dync_scatter(bs, 0, dync_expand(dync_unsqueeze(at, 1), S(1, SD)),
                                dync_as_tensor(a[1])));
    dync_scatter_(ba, 0, at, dync_as_tensor(a[2]));
    dync_scatter_(br, 0, at, dync_as_tensor(a[3]));
    dync_scatter_(bn, 0, dync_expand(dync_unsqueeze(at, 1), S(1, SD)), dync_as_tensor(a[4]));
    dync_scatter_(bd, 0, at, dync_as_tensor(a[5]));
    return DYNC_NONE;
}
static T learn(T idx)
{
    T s = dync_index_select(bs, 0, idx), a = dync_index_select(ba, 0, idx),
      r = dync_index_select(br, 0, idx), nx = dync_index_select(bn, 0, idx),
      d = dync_index_select(bd, 0, idx);
    T qv = dync_squeeze(dync_gather(dync_forward_call(q, s), 1, dync_unsqueeze(a, 1)), 1);
    T y;
    DYNC_NO_GRAD {
        T best = dync_argmax(dync_forward_call(q, nx), 1, true);
        T nv = dync_squeeze(dync_gather(dync_forward_call(tq, nx), 1, best), 1);
        y = dync_add(r, dync_mul(dync_mul(nv, 0.97), dync_sub(1, d)));
    }
    dync_optim_zero_grad(opt);
    T l = dync_huber_loss(qv, y, 1.0);
    dync_backward(l);
    (void)dync_clip_grad_norm(q, 5);
    dync_optim_step(opt);
    return dync_detach(l);
}
static void copy_target(double tau)
{
    T a[16], b[16];
    int n = dync_module_parameters(q, a, 16);
    dync_module_parameters(tq, b, 16);
    DYNC_NO_GRAD for (int i = 0; i < n; i++)
        dync_lerp_(b[i], a[i], tau);
}
static T soft(void)
{
    copy_target(0.05);
    return dync_ones(S(1));
}
static dync_compiled *cs, *cl, *csoft, *cact, *cppo, *cgae;
static T act(T s) { return dync_argmax(dync_forward_call(q, s), 1, false); }
/* PPO */
static dync_value back(const dync_value *a, int n, void *u)
{
    (void)n, (void)u;
    T c = dync_as_tensor(a[0]), d = dync_as_tensor(dync_at(a[1], 0)),
      nd = dync_as_tensor(dync_at(a[1], 1));
    T y = dync_add(d, dync_mul(dync_mul(c, nd), 0.9));
    return dync_tuple(y, y);
}
static T gae(T r, T v, T nd)
{
    T delta = dync_sub(dync_add(r, dync_mul(dync_mul(dync_slice(v, 0, 1, DYNC_END, 1), 0.97), nd)),
                       dync_slice(v, 0, 0, -1, 1));
    dync_value o = dync_scan_reverse((dync_function)back, dync_zeros(S(dync_dim(r, 1))),
                                     dync_tuple(delta, nd));
    return dync_as_tensor(dync_at(o, 1));
}
static T wp, wv;
static dync_value ppo(const dync_value *a, int n, void *u)
{
    (void)n, (void)u;
    T s = dync_as_tensor(a[0]), ac = dync_as_tensor(a[1]), old = dync_as_tensor(a[2]),
      adv = dync_as_tensor(a[3]), ret = dync_as_tensor(a[4]);
    adv = dync_div(dync_sub(adv, dync_mean(adv, DYNC_ALL, false)),
                   dync_add(dync_std(adv, DYNC_ALL, 1, false), 1e-8));
    T lp = dync_log_softmax(dync_linear(s, wp, NULL), -1);
    T la = dync_squeeze(dync_gather(lp, 1, dync_unsqueeze(ac, 1)), 1);
    T ratio = dync_exp(dync_sub(la, old));
    T obj = dync_minimum(dync_mul(ratio, adv), dync_mul(dync_clamp(ratio, 0.8, 1.2), adv));
    T ent =
        dync_neg(dync_mean(dync_sum(dync_mul(dync_exp(lp), lp), S(-1), false), DYNC_ALL, false));
    T vl = dync_mse_loss(dync_squeeze(dync_linear(s, wv, NULL), 1), ret);
    T l = dync_sub(dync_add(dync_neg(dync_mean(obj, DYNC_ALL, false)), dync_mul(vl, 0.5)),
                   dync_mul(ent, 0.01));
    T kl = dync_mean(dync_sub(old, la), DYNC_ALL, false);
    return dync_tuple(l, kl);
}
static void make(void)
{
    bs = dync_retain(dync_zeros(S(N, SD))), ba = dync_retain(dync_zeros(S(N), .dtype = DYNC_I64)),
    br = dync_retain(dync_zeros(S(N))), bn = dync_retain(dync_zeros(S(N, SD))),
    bd = dync_retain(dync_zeros(S(N)));
    q = dync_sequential(dync_nn_linear(SD, 16, true), dync_nn_relu(), dync_nn_linear(16, A, true)),
    tq = dync_sequential(dync_nn_linear(SD, 16, true), dync_nn_relu(), dync_nn_linear(16, A, true));
    set_weights(q, 1), set_weights(tq, 1);
    opt = dync_adam(q, .lr = 1e-2);
    cs = dync_compile((dync_function)store), cl = dync_compile(learn, .fullgraph = true),
    csoft = dync_compile(soft), cact = dync_compile(act);
    wp = P(S(A, SD), 3, .5), wv = P(S(1, SD), 4, .5), cppo = dync_compile((dync_function)ppo),
    cgae = dync_compile(gae);
}
static void epoch(void)
{
    T s = dync_retain(det(S(1, SD), 0, 1));
    for (int t = 0; t < 100; t++) DYNC_SCOPE {
        T a;
        DYNC_NO_GRAD a = dync_call(cact, s);
        T n = dync_add(
            dync_mul(s, 0.9),
            dync_mul(dync_sin(dync_add(dync_to_dtype(dync_unsqueeze(a, 1), DYNC_F32), t * 0.3)),
                     0.3));
        T r = dync_sum(n, S(1), false);
        DYNC_NO_GRAD(void) dync_call_value(cs, ids(S(1), 1, t % N, N), s, a, r, n,
                                           dync_full(S(1), t % 10 == 9));
        dync_release(s), s = dync_retain(n);
        if (t > 15) {
            T l = dync_call(cl, ids(S(t < 50 ? 8 : 12), 5, t, t < N ? t : N));
            if (t % 5 == 0) say(l);
            if (t % 20 == 0)
                copy_target(1);
            else
                dync_call0(csoft);
        }
    }
    say(bs), say(ba), say(br), say(bn), say(bd), say(dync_module_param(q, "0.weight")),
        say(dync_module_param(tq, "0.weight"));
    for (int i = 0; i < 6; i++) DYNC_SCOPE {
        int len = i < 2 ? 10 : 5 + i, en = i < 3 ? 4 : 3;
        T r = det(S(len, en), i, 1), v = det(S(len + 1, en), i + 3, 1),
          nd = dync_to_dtype(dync_gt(det(S(len, en), i + 5, 1), -0.8), DYNC_F32);
        T adv = dync_call(cgae, r, v, nd);
        say(adv);
        T st = det(S(len * en, SD), i, 1);
        dync_set_grad(wp, NULL), dync_set_grad(wv, NULL);
        dync_value o = dync_call_value(cppo, st, ids(S(len * en), 2, i, A), det(S(len * en), i, .5),
                                       dync_flatten(adv, 0, 1), dync_flatten(r, 0, 1));
        dync_backward(dync_as_tensor(dync_at(o, 0)));
        say(dync_as_tensor(dync_at(o, 0))), say(dync_as_tensor(dync_at(o, 1))), say(dync_grad(wp)),
            say(dync_grad(wv));
        DYNC_NO_GRAD {
            dync_sub_(wp, dync_mul(dync_grad(wp), .1));
            dync_sub_(wv, dync_mul(dync_grad(wv), .1));
        }
    }
}

static void program(living *p) { lives_for_two_epochs(p, make, epoch); }
TEST(experience) { lives(program, -1, -1, 1e-4); }
TEST_MAIN
