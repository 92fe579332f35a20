/* Message passing over graphs of all sizes, a state space by two scans, a mixture of experts
 * with and without breaks. */
#include "users.h"

/* message passing (softmax over edges by scatters), mean pooling per graph; a selective scan; a
 * mixture of experts */
enum { D = 8 };
static T w1, a1, w2, wo;
static dync_value gnn(const dync_value *a, int n, void *u)
{
    (void)n, (void)u;
    T x = dync_as_tensor(a[0]), src = dync_as_tensor(a[1]), dst = dync_as_tensor(a[2]),
      batch = dync_as_tensor(a[3]);
    int64_t N = dync_dim(x, 0);
    T h = dync_linear(x, w1, NULL);
    T e = dync_leaky_relu(
        dync_matmul(
            dync_cat(dync_tuple(dync_index_select(h, 0, src), dync_index_select(h, 0, dst)), 1),
            a1),
        0.2);
    T ex = dync_exp(dync_sub(e, dync_max(dync_detach(e))));
    T z = dync_index_add(dync_zeros(S(N, 1)), 0, dst, ex);
    T al = dync_div(ex, dync_add(dync_index_select(z, 0, dst), 1e-9));
    T msg = dync_mul(al, dync_index_select(h, 0, src));
    h = dync_relu(dync_scatter_add(
        dync_mul(h, 0.5), 0, dync_expand(dync_unsqueeze(dst, 1), S(dync_dim(dst, 0), D)), msg));
    T deg = dync_index_add(dync_zeros(S(N)), 0, dst, dync_ones(S(dync_dim(dst, 0))));
    T agg = dync_index_add(dync_zeros_like(h), 0, dst, dync_index_select(h, 0, src));
    h = dync_linear(dync_div(agg, dync_unsqueeze(dync_clamp(deg, 1, DYNC_NONE), 1)), w2, NULL);
    T cnt = dync_index_add(dync_zeros(S(3, 1)), 0, batch, dync_ones(S(N, 1)));
    T pool =
        dync_div(dync_index_add(dync_zeros(S(3, D)), 0, batch, h), dync_clamp(cnt, 1, DYNC_NONE));
    return dync_tuple(dync_linear(pool, wo, NULL), al);
}
/* Mamba */
static T A, wB, wC, wdt, Dp;
static dync_value sstep(const dync_value *a, int n, void *u)
{
    (void)n, (void)u;
    T h = dync_as_tensor(a[0]), da = dync_as_tensor(dync_at(a[1], 0)),
      dbx = dync_as_tensor(dync_at(a[1], 1)), c = dync_as_tensor(dync_at(a[1], 2));
    h = dync_add(dync_mul(da, h), dbx);
    return dync_tuple(h, dync_sum(dync_mul(h, dync_unsqueeze(c, 1)), S(-1), false));
}
static dync_value comb(const dync_value *a, int n, void *u)
{
    (void)n, (void)u;
    T a1_ = dync_as_tensor(dync_at(a[0], 0)), b1 = dync_as_tensor(dync_at(a[0], 1)),
      a2 = dync_as_tensor(dync_at(a[1], 0)), b2 = dync_as_tensor(dync_at(a[1], 1));
    return dync_tuple(dync_mul(a1_, a2), dync_add(dync_mul(a2, b1), b2));
}
static dync_value pre(T x, T *c) /* [b, l, D] */
{
    T dt = dync_softplus(dync_linear(x, wdt, NULL)); /* b l D */
    T B = dync_linear(x, wB, NULL);
    *c = dync_linear(x, wC, NULL);                                            /* b l N */
    T da = dync_exp(dync_mul(dync_unsqueeze(dt, -1), dync_neg(dync_exp(A)))); /* b l D N */
    T dbx = dync_mul(dync_mul(dync_unsqueeze(dt, -1), dync_unsqueeze(B, 2)), dync_unsqueeze(x, -1));
    return dync_tuple(da, dbx);
}
static T mamba(T x)
{
    T c;
    dync_value p = pre(x, &c);
    T da = dync_transpose(dync_as_tensor(dync_at(p, 0)), 0, 1),
      dbx = dync_transpose(dync_as_tensor(dync_at(p, 1)), 0, 1);
    T h0 = dync_zeros(S(dync_dim(x, 0), D, 4));
    dync_value r =
        dync_scan((dync_function)sstep, h0, dync_tuple(da, dbx, dync_transpose(c, 0, 1)));
    return dync_add(dync_transpose(dync_as_tensor(dync_at(r, 1)), 0, 1), dync_mul(x, Dp));
}
static T mamba2(T x)
{
    T c;
    dync_value p = pre(x, &c), r = dync_associative_scan((dync_function)comb, p, 1);
    return dync_add(
        dync_sum(dync_mul(dync_as_tensor(dync_at(r, 1)), dync_unsqueeze(c, 2)), S(-1), false),
        dync_mul(x, Dp));
}
/* experts */
static T gate, ew1, ew2;
static T moe(T x) /* [t, D] */
{
    T p = dync_softmax(dync_linear(x, gate, NULL), -1);
    dync_value tk = dync_topk(p, 2, -1, true, true);
    T pw = dync_as_tensor(dync_at(tk, 0)), pi = dync_as_tensor(dync_at(tk, 1));
    pw = dync_div(pw, dync_sum(pw, S(-1), true));
    T out = dync_zeros_like(x);
    for (int e = 0; e < 4; e++) {
        T m = dync_eq(pi, e);
        T nz = dync_nonzero(m); /* [k, 2] */
        T tok = dync_select(nz, 1, 0), slot = dync_select(nz, 1, 1);
        T xe = dync_index_select(x, 0, tok);
        T y =
            dync_matmul(dync_gelu(dync_matmul(xe, dync_select(ew1, 0, e))), dync_select(ew2, 0, e));
        T wgt = dync_gather(dync_index_select(pw, 0, tok), 1, dync_unsqueeze(slot, 1));
        out = dync_index_add(out, 0, tok, dync_mul(y, wgt));
    }
    return out;
}
static dync_compiled *f, *m1, *m2, *e1, *e2;
static void make(void)
{
    w1 = P(S(D, 5), 1, .5), a1 = P(S(2 * D, 1), 2, .5), w2 = P(S(D, D), 3, .5),
    wo = P(S(2, D), 4, .5);
    A = P(S(D, 4), 5, .5), wB = P(S(4, D), 6, .5), wC = P(S(4, D), 7, .5), wdt = P(S(D, D), 8, .5),
    Dp = P(S(D), 9, 1);
    gate = P(S(4, D), 1.5, 1), ew1 = P(S(4, D, 12), 2.5, .4), ew2 = P(S(4, 12, D), 3.5, .4);
    f = dync_compile((dync_function)gnn, .fullgraph = true),
    m1 = dync_compile(mamba, .fullgraph = true), m2 = dync_compile(mamba2, .fullgraph = true),
    e1 = dync_compile(moe, .capture_dynamic_shapes = true, .fullgraph = true),
    e2 = dync_compile(moe);
}
static void grads(T l, int n, T *w)
{
    for (int i = 0; i < n; i++) dync_set_grad(w[i], NULL);
    T s = dync_sum(dync_sin(l), DYNC_ALL, false);
    dync_backward(s);
    for (int i = 0; i < n; i++) say(dync_grad(w[i]));
}
static void epoch(void)
{
    int ns[] = {10, 12, 12, 7, 30, 3}, es[] = {20, 30, 25, 7, 100, 2};
    for (int i = 0; i < 6; i++) DYNC_SCOPE {
        dync_value r = dync_call_value(f, det(S(ns[i], 5), i, 1), ids(S(es[i]), 7, i, ns[i]),
                                       ids(S(es[i]), 3, i + 1, ns[i]), ids(S(ns[i]), 1, i, 3));
        say(dync_as_tensor(dync_at(r, 0))), say(dync_as_tensor(dync_at(r, 1)));
        grads(dync_as_tensor(dync_at(r, 0)), 4, (T[]){w1, a1, w2, wo});
    }
    int bs[] = {2, 2, 3, 1, 4}, ls[] = {6, 9, 16, 5, 31};
    for (int i = 0; i < 5; i++) DYNC_SCOPE {
        T x = sines(S(bs[i], ls[i], D), i, 1, true);
        T y = dync_call(m1, x);
        say(y), grads(y, 6, (T[]){x, A, wB, wC, wdt, Dp});
        y = dync_call(m2, x);
        say(y), grads(y, 6, (T[]){x, A, wB, wC, wdt, Dp});
    }
    for (int i = 0; i < 5; i++) DYNC_SCOPE {
        T x = sines(S(ls[i] + 1, D), i, 1, true);
        T y = dync_call(e1, x);
        say(y), grads(y, 4, (T[]){x, gate, ew1, ew2});
        y = dync_call(e2, x);
        say(y), grads(y, 4, (T[]){x, gate, ew1, ew2});
    }
}

static void program(living *p) { lives_for_two_epochs(p, make, epoch); }
TEST(messages) { lives(program, -1, -1, 1e-4); }
TEST_MAIN
