/* Gradients of gradients: Newton's method, a step inside a step, a penalty on gradients;
 * functions with gradients of their own, hooks inside. */
#include "users.h"

static T w1, w2;
static T mlp(T x, T a, T b) { return dync_matmul(dync_tanh(dync_matmul(x, a)), b); }
static T rosen(T x)
{
    T a = dync_slice(x, 0, 0, -1, 1), b = dync_slice(x, 0, 1, DYNC_END, 1);
    return dync_sum(dync_add(dync_mul(dync_square(dync_sub(b, dync_square(a))), 100),
                             dync_square(dync_sub(1, a))),
                    DYNC_ALL, false);
}
#define IT(v, i) dync_as_tensor(dync_at(v, i))
static void newton(dync_compiled *f)
{
    T x = dync_retain(dync_requires_grad_(dync_mul(dync_ones(S(3)), 0.8), true));
    for (int it = 0; it < 6; it++) DYNC_SCOPE {
        T y = f ? dync_call(f, x) : rosen(x);
        T g = IT(dync_gradients(DYNC_V(y), DYNC_V(x), DYNC_NONE,
                                ((dync_grad_options){.create_graph = true})),
                 0);
        T rows[3];
        for (int i = 0; i < 3; i++)
            rows[i] = IT(dync_gradients(DYNC_V(dync_select(g, 0, i)), DYNC_V(x), DYNC_NONE,
                                        ((dync_grad_options){.retain_graph = true})),
                         0);
        T Hm = dync_stack(dync_tuple(rows[0], rows[1], rows[2]), 0);
        /* solve by 60 steps of conjugate-free Gauss elimination in C */
        float h[9], b[3];
        memcpy(h, dync_data(dync_contiguous(Hm)), sizeof h),
            memcpy(b, dync_data(dync_detach(g)), sizeof b);
        for (int i = 0; i < 3; i++)
            for (int j = i + 1; j < 3; j++) {
                float m = h[j * 3 + i] / h[i * 3 + i];
                for (int k = i; k < 3; k++) h[j * 3 + k] -= m * h[i * 3 + k];
                b[j] -= m * b[i];
            }
        for (int i = 2; i >= 0; i--) {
            for (int k = i + 1; k < 3; k++) b[i] -= h[i * 3 + k] * b[k];
            b[i] /= h[i * 3 + i];
        }
        DYNC_NO_GRAD dync_sub_(x, dync_from(b, S(3)));
        say(x), note(user, dync_item(dync_detach(y)));
    }
    dync_release(x);
}
static T maml(T xs, T ys, T xq, T yq) /* one function: inner step with create_graph, outer loss */
{
    T l = dync_mse_loss(mlp(xs, w1, w2), ys);
    dync_value g = dync_gradients(DYNC_V(l), dync_tuple(w1, w2), DYNC_NONE,
                                  ((dync_grad_options){.create_graph = true}));
    T a = dync_sub(w1, dync_mul(IT(g, 0), 0.1)), b = dync_sub(w2, dync_mul(IT(g, 1), 0.1));
    return dync_mse_loss(mlp(xq, a, b), yq);
}
static T maml_step(T xs, T ys, T xq, T yq)
{
    dync_set_grad(w1, NULL), dync_set_grad(w2, NULL);
    T l = maml(xs, ys, xq, yq);
    dync_backward(l);
    DYNC_NO_GRAD {
        dync_sub_(w1, dync_mul(dync_grad(w1), 0.05));
        dync_sub_(w2, dync_mul(dync_grad(w2), 0.05));
    }
    return dync_detach(l);
}
static T penalty(T x) /* WGAN-GP */
{
    T xi = dync_requires_grad_(dync_detach(dync_mul(x, 0.9)), true);
    T y = dync_sum(mlp(xi, w1, w2), DYNC_ALL, false);
    T g = IT(dync_gradients(DYNC_V(y), DYNC_V(xi), DYNC_NONE,
                            ((dync_grad_options){.create_graph = true})),
             0);
    T n = dync_norm(g, 2, S(1), false);
    return dync_mean(dync_square(dync_sub(n, 1)), DYNC_ALL, false);
}
static T penalty_step(T x)
{
    dync_set_grad(w1, NULL), dync_set_grad(w2, NULL);
    T l = penalty(x);
    dync_backward(l);
    return dync_detach(l);
}
/* checkpointing: forward without saving, recomputed in backward */
static dync_value ck_f(dync_autograd_ctx *c, const dync_value *a, int n)
{
    for (int i = 0; i < n; i++) dync_save_for_backward(c, dync_as_tensor(a[i]));
    T y;
    DYNC_NO_GRAD y = mlp(dync_as_tensor(a[0]), dync_as_tensor(a[1]), dync_as_tensor(a[2]));
    return DYNC_V(y);
}
static dync_value ck_b(dync_autograd_ctx *c, const dync_value *g, int n)
{
    (void)n;
    T x[3];
    for (int i = 0; i < 3; i++) x[i] = dync_requires_grad_(dync_detach(dync_saved(c, i)), true);
    bool old = dync_grad_mode_push(true);
    T y = mlp(x[0], x[1], x[2]);
    dync_value r =
        dync_gradients(DYNC_V(y), dync_tuple(x[0], x[1], x[2]), g[0], (dync_grad_options){0});
    dync_grad_mode_pop(old);
    return r;
}
static const dync_autograd_function ck = {"Checkpoint", ck_f, ck_b};
static T checkpointed(T x)
{
    T h = dync_as_tensor(dync_apply(&ck, x, w1, w2));
    return dync_sum(dync_square(dync_as_tensor(dync_apply(&ck, h, w1, w2))), DYNC_ALL, false);
}
/* straight-through rounding */
static dync_value st_f(dync_autograd_ctx *c, const dync_value *a, int n)
{
    (void)c, (void)n;
    return DYNC_V(
        dync_mul(dync_clamp(dync_round(dync_div(dync_as_tensor(a[0]), 0.05)), -8, 7), 0.05));
}
static dync_value st_b(dync_autograd_ctx *c, const dync_value *g, int n)
{
    (void)c, (void)n;
    return g[0];
}
static const dync_autograd_function st = {"Round", st_f, st_b};
static T qat(T x)
{
    return dync_mean(
        dync_square(dync_matmul(dync_relu(dync_matmul(x, dync_as_tensor(dync_apply(&st, w1)))),
                                dync_as_tensor(dync_apply(&st, w2)))),
        DYNC_ALL, false);
}
static int hooks_run;
static T hook(T g, void *u)
{
    (void)u;
    hooks_run++;
    return dync_clamp(dync_mul(g, 2), -1, 1);
}
static T hooked(T x)
{
    T h = dync_matmul(x, w1);
    dync_register_hook(h, hook, NULL);
    return dync_sum(dync_sin(dync_matmul(h, w2)), DYNC_ALL, false);
}
static void gr(T l)
{
    dync_set_grad(w1, NULL), dync_set_grad(w2, NULL);
    dync_backward(l);
    say(dync_grad(w1)), say(dync_grad(w2));
}
static dync_compiled *cm, *cp, *cc, *cq, *ck_, *cr;
static void make(void)
{
    hooks_run = 0;
    w1 = P(S(4, 4), 1, .6), w2 = P(S(4, 4), 2, .6);
    cm = dync_compile(maml_step, .fullgraph = true),
    cp = dync_compile(penalty_step, .fullgraph = true), cc = dync_compile(checkpointed),
    cq = dync_compile(qat), ck_ = dync_compile(hooked),
    cr = dync_compile(rosen, .double_backward = true);
}
static void epoch(void)
{
    newton(cr);
    for (int i = 0; i < 5; i++) DYNC_SCOPE {
        int b = i < 3 ? 5 : 3 + i;
        say(dync_call(cm, det(S(b, 4), i, 1), det(S(b, 4), i + 1, 1), det(S(b + 1, 4), i + 2, 1),
                      det(S(b + 1, 4), i + 3, 1)));
    }
    say(w1), say(w2);
    for (int i = 0; i < 4; i++) DYNC_SCOPE {
        say(dync_call(cp, det(S(3 + i, 4), i, 1)));
        say(dync_grad(w1)), say(dync_grad(w2));
    }
    for (int i = 0; i < 4; i++) DYNC_SCOPE {
        T x = det(S(4 + i, 4), i, 1), l = dync_call(cc, x);
        say(l), gr(l);
        l = dync_call(cq, x), say(l), gr(l);
        l = dync_call(ck_, x), say(l), gr(l);
    }
    note(user, hooks_run);
}

static void program(living *p) { lives_for_two_epochs(p, make, epoch); }
TEST(second_order) { lives(program, -1, -1, 1e-4); }
TEST_MAIN
