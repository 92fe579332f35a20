/* Simulation: heat, waves, cells that live, a fluid; filters by FFT, clusters, principal axes
 * and an equation by loops that data end. */
#include "users.h"

static T lap(T u)
{
    return dync_sub(dync_add(dync_add(dync_roll(u, S(1), S(0)), dync_roll(u, S(-1), S(0))),
                             dync_add(dync_roll(u, S(1), S(1)), dync_roll(u, S(-1), S(1)))),
                    dync_mul(u, 4));
}
static T heat(T u)
{
    for (int i = 0; i < 3; i++) u = dync_add(u, dync_mul(lap(u), 0.1));
    return u;
}
static T heat_(T u) /* in place on the inside by slices */
{
    T c = dync_slice(dync_slice(u, 0, 1, -1, 1), 1, 1, -1, 1);
    T n = dync_slice(dync_slice(u, 0, 0, -2, 1), 1, 1, -1, 1),
      s = dync_slice(dync_slice(u, 0, 2, DYNC_END, 1), 1, 1, -1, 1),
      w = dync_slice(dync_slice(u, 0, 1, -1, 1), 1, 0, -2, 1),
      e = dync_slice(dync_slice(u, 0, 1, -1, 1), 1, 2, DYNC_END, 1);
    dync_add_(c, dync_mul(dync_sub(dync_add(dync_add(n, s), dync_add(w, e)), dync_mul(c, 4)), 0.2));
    return dync_sum(u, DYNC_ALL, false);
}
static dync_value wave(const dync_value *a, int n, void *u_)
{
    (void)n, (void)u_;
    T u = dync_as_tensor(a[0]), v = dync_as_tensor(a[1]);
    v = dync_add(v, dync_mul(lap(u), 0.2));
    return dync_tuple(dync_add(u, dync_mul(v, 0.2)), v);
}
static T life(T g)
{
    T s = dync_zeros_like(g);
    for (int i = -1; i <= 1; i++)
        for (int j = -1; j <= 1; j++)
            if (i || j) s = dync_add(s, dync_roll(g, S(i, j), S(0, 1)));
    return dync_to_dtype(
        dync_logical_or(dync_eq(s, 3), dync_logical_and(dync_eq(s, 2), dync_eq(g, 1))), DYNC_I32);
}
static dync_value ns(const dync_value *a, int n, void *u_)
{
    (void)n, (void)u_;
    T u = dync_as_tensor(a[0]), v = dync_as_tensor(a[1]), p = dync_as_tensor(a[2]);
    double dt = 0.01, nu = 0.1;
    T ux = dync_mul(dync_sub(dync_roll(u, S(-1), S(1)), dync_roll(u, S(1), S(1))), .5),
      uy = dync_mul(dync_sub(dync_roll(u, S(-1), S(0)), dync_roll(u, S(1), S(0))), .5);
    T vx = dync_mul(dync_sub(dync_roll(v, S(-1), S(1)), dync_roll(v, S(1), S(1))), .5),
      vy = dync_mul(dync_sub(dync_roll(v, S(-1), S(0)), dync_roll(v, S(1), S(0))), .5);
    u = dync_add(
        u,
        dync_mul(dync_sub(dync_mul(lap(u), nu), dync_add(dync_mul(u, ux), dync_mul(v, uy))), dt));
    v = dync_add(
        v,
        dync_mul(dync_sub(dync_mul(lap(v), nu), dync_add(dync_mul(u, vx), dync_mul(v, vy))), dt));
    T div = dync_mul(dync_add(dync_sub(dync_roll(u, S(-1), S(1)), dync_roll(u, S(1), S(1))),
                              dync_sub(dync_roll(v, S(-1), S(0)), dync_roll(v, S(1), S(0)))),
                     .5);
    for (int k = 0; k < 5; k++) p = dync_mul(dync_sub(dync_add(lap(p), dync_mul(p, 4)), div), .25);
    u = dync_sub(u, dync_mul(dync_sub(dync_roll(p, S(-1), S(1)), dync_roll(p, S(1), S(1))), .5));
    v = dync_sub(v, dync_mul(dync_sub(dync_roll(p, S(-1), S(0)), dync_roll(p, S(1), S(0))), .5));
    return dync_tuple(u, v, p);
}
static T fftfilter(T x) /* low pass by rfft along the last dim; learnable gains elsewhere */
{
    T f = dync_fft_rfft(x, DYNC_NONE, -1);
    T k = dync_arange(0, (double)(dync_size(x, -1) / 2 + 1), 1);
    T g = dync_exp(dync_mul(dync_square(k), -0.02));
    return dync_fft_irfft(dync_mul(f, dync_unsqueeze(g, -1)), dync_v_int(dync_size(x, -1)), -1);
}
static dync_value kmeans(const dync_value *a, int n, void *u_)
{
    (void)n, (void)u_;
    T x = dync_as_tensor(a[0]), c = dync_as_tensor(a[1]);
    T d = dync_sum(dync_square(dync_sub(dync_unsqueeze(x, 1), dync_unsqueeze(c, 0))), S(2), false);
    T as = dync_argmin(d, 1, false);
    T oh = dync_to_dtype(dync_one_hot(as, dync_dim(c, 0)), DYNC_F32);
    T cnt = dync_sum(oh, S(0), false);
    T nc = dync_div(dync_matmul(dync_t(oh), x), dync_unsqueeze(dync_clamp(cnt, 1, DYNC_NONE), 1));
    nc = dync_where(dync_gt(dync_unsqueeze(cnt, 1), 0), nc, c);
    return dync_tuple(nc, dync_sum(dync_amin(d, S(1), false), DYNC_ALL, false));
}
static T pcond_v(const dync_value *a) { return dync_lt(dync_as_tensor(a[0]), 30); }
static dync_value pcond(const dync_value *a, int n, void *u)
{
    (void)n, (void)u;
    return DYNC_V(pcond_v(a));
}
static dync_value pbody(const dync_value *a, int n, void *u)
{
    (void)n;
    T i = dync_as_tensor(a[0]), v = dync_as_tensor(a[1]);
    v = dync_matmul((T)u, v);
    return dync_tuple(dync_add(i, 1), dync_div(v, dync_norm(v, 2, DYNC_ALL, false)));
}
static T pca(T x)
{
    T xc = dync_sub(x, dync_mean(x, S(0), true)),
      cov = dync_div(dync_matmul(dync_t(xc), xc), dync_sym_sub(dync_size_sym(x, 0), dync_v_int(1)));
    T out = NULL;
    for (int k = 0; k < 2; k++) {
        dync_value r = dync_while_loop(
            dync_bind((dync_function)pcond, cov, "i, v"),
            dync_bind((dync_function)pbody, cov, "i, v"),
            dync_tuple(dync_zeros(DYNC_SCALAR, .dtype = DYNC_I64), dync_ones(S(dync_dim(x, 1)))));
        T v = dync_as_tensor(dync_at(r, 1)), l = dync_dot(v, dync_mv(cov, v));
        cov = dync_sub(cov, dync_mul(dync_outer(v, v), l));
        out = out ? dync_stack(dync_tuple(out, dync_abs(v)), 0) : dync_abs(v);
    }
    return out;
}
/* neural ODE: adaptive Heun by while_loop; gradients with a limit */
static T wo1, wo2;
static T field(T y) { return dync_linear(dync_tanh(dync_linear(y, wo1, NULL)), wo2, NULL); }
static dync_value ocond(const dync_value *a, int n, void *u)
{
    (void)n, (void)u;
    return DYNC_V(dync_lt(dync_as_tensor(a[0]), 0.999));
}
static dync_value obody(const dync_value *a, int n, void *u)
{
    (void)n, (void)u;
    T t = dync_as_tensor(a[0]), y = dync_as_tensor(a[1]);
    T k1 = field(y), k2 = field(dync_add(y, dync_mul(k1, 0.1)));
    T yn = dync_add(y, dync_mul(dync_add(k1, k2), 0.05));
    return dync_tuple(dync_add(t, 0.1), yn);
}
static T node(T y)
{
    dync_guard_tensor("wo1", &wo1), dync_guard_tensor("wo2", &wo2);
    dync_value r = dync_while_loop_limit((dync_function)ocond, (dync_function)obody,
                                         dync_tuple(dync_zeros(DYNC_SCALAR), y), 16);
    return dync_sum(dync_square(dync_as_tensor(dync_at(r, 1))), DYNC_ALL, false);
}
static dync_compiled *h, *h2, *w, *l, *n, *ff, *km, *pc, *od;
static void make(void)
{
    h = dync_compile(heat), h2 = dync_compile(heat_), w = dync_compile((dync_function)wave),
    l = dync_compile(life), n = dync_compile((dync_function)ns), ff = dync_compile(fftfilter),
    km = dync_compile((dync_function)kmeans), pc = dync_compile(pca),
    od = dync_compile(node, .fullgraph = true);
}
static void epoch(void)
{
    int sz[] = {8, 8, 12, 17, 5, 3, 2};
    for (int i = 0; i < 7; i++) DYNC_SCOPE {
        int m = sz[i];
        T u = det(S(m, m + 1), i, 1), v = det(S(m, m + 1), i + 1, 1),
          p = det(S(m, m + 1), i + 2, .1);
        say(dync_call(h, u));
        if (m > 2) {
            T c = dync_clone(u);
            say(dync_call(h2, c)), say(c);
        }
        for (int k = 0; k < 4; k++) {
            dync_value r = dync_call_value(w, u, v);
            u = dync_as_tensor(dync_at(r, 0)), v = dync_as_tensor(dync_at(r, 1));
        }
        say(u);
        T g = dync_to_dtype(dync_gt(v, 0), DYNC_I32);
        for (int k = 0; k < 4; k++) g = dync_call(l, g);
        say(g);
        for (int k = 0; k < 3; k++) {
            dync_value r = dync_call_value(n, u, v, p);
            u = dync_as_tensor(dync_at(r, 0)), v = dync_as_tensor(dync_at(r, 1)),
            p = dync_as_tensor(dync_at(r, 2));
        }
        say(u), say(v), say(p);
        T x = sines(S(3, m * 2), i, 1, true), y = dync_call(ff, x);
        say(y), dync_backward(dync_sum(dync_square(y), DYNC_ALL, false)), say(dync_grad(x));
        T c = det(S(4, 3), 1, 1), pts = det(S(m * 5, 3), i, 2);
        for (int k = 0; k < 5; k++) {
            dync_value r = dync_call_value(km, pts, c);
            c = dync_as_tensor(dync_at(r, 0));
            say(dync_as_tensor(dync_at(r, 1)));
        }
        say(c);
        say(dync_call(pc,
                      dync_add(dync_mul(det(S(m * 5, 4), i, 1), dync_add(dync_arange(0, 4, 1), 1)),
                               det(S(m * 5, 1), i, .5))));
        wo1 = P(S(6, m), 1, .5), wo2 = P(S(m, 6), 2, .5);
        T y0 = sines(S(2, m), i, 1, true), ls = dync_call(od, y0);
        say(ls), dync_backward(ls), say(dync_grad(y0)), say(dync_grad(wo1)), say(dync_grad(wo2));
    }
}

static void program(living *p) { lives_for_two_epochs(p, make, epoch); }
TEST(simulation) { lives(program, -1, -1, 1e-4); }
TEST_MAIN
