/* An encoder of texts: padding masks whose lengths change, segments, a masked mean, a loss that
 * leaves labels out. */
#include "users.h"

enum { D = 32, H = 4, V = 40 };
static T we, pe, se, wq, wk, wv, wo, w1, b1, w2, b2, ln1, lb1, ln2, lb2, cls, clsb;
static T enc(T id, T len)
{
    T n = dync_arange(0, 64, 1);
    T pos = dync_slice(pe, 0, 0, dync_dim(id, 1), 1);
    T x = dync_add(dync_add(dync_embedding(we, id), pos),
                   dync_embedding(se, dync_to_dtype(dync_gt(id, 20), DYNC_I64)));
    T place = dync_slice(n, 0, 0, dync_dim(id, 1), 1);
    T keep = dync_lt(dync_unsqueeze(place, 0), dync_unsqueeze(len, 1)); /* [b, t] */
    T m = dync_unsqueeze(dync_unsqueeze(keep, 1), 1);
    T q = dync_transpose(dync_unflatten(dync_linear(x, wq, NULL), -1, S(H, D / H)), 1, 2),
      k = dync_transpose(dync_unflatten(dync_linear(x, wk, NULL), -1, S(H, D / H)), 1, 2),
      v = dync_transpose(dync_unflatten(dync_linear(x, wv, NULL), -1, S(H, D / H)), 1, 2);
    T o = dync_scaled_dot_product_attention(q, k, v, m, 0, false, DYNC_NONE);
    o = dync_linear(dync_flatten(dync_transpose(o, 1, 2), 2, -1), wo, NULL);
    x = dync_layer_norm(dync_add(x, o), S(D), ln1, lb1, 1e-12);
    x = dync_layer_norm(dync_add(x, dync_linear(dync_gelu(dync_linear(x, w1, b1)), w2, b2)), S(D),
                        ln2, lb2, 1e-12);
    return dync_mul(x, dync_to_dtype(dync_unsqueeze(keep, -1), DYNC_F32));
}
static dync_value losses(const dync_value *a, int na, void *u)
{
    (void)u, (void)na;
    T id = dync_as_tensor(a[0]), len = dync_as_tensor(a[1]), label = dync_as_tensor(a[2]),
      y = dync_as_tensor(a[3]);
    T x = enc(id, len);
    T mean = dync_div(dync_sum(x, S(1), false), dync_unsqueeze(len, 1));
    T l1 = dync_cross_entropy(dync_linear(mean, cls, clsb), y);
    T lg = dync_linear(x, we, NULL);
    T l2 = dync_cross_entropy(dync_transpose(lg, 1, 2), label);
    return dync_tuple(dync_add(l1, dync_mul(l2, 0.5)), mean);
}
static dync_compiled *f;
static void make(void)
{
    we = P(S(V, D), .1, 1), pe = P(S(64, D), .2, .5), se = P(S(2, D), .3, .5),
    wq = P(S(D, D), .4, .3), wk = P(S(D, D), .5, .3), wv = P(S(D, D), .6, .3),
    wo = P(S(D, D), .7, .3);
    w1 = P(S(2 * D, D), .8, .3), b1 = P(S(2 * D), .9, .3), w2 = P(S(D, 2 * D), 1, .3),
    b2 = P(S(D), 1.1, .3), ln1 = P(S(D), 1.2, 1), lb1 = P(S(D), 1.3, 1), ln2 = P(S(D), 1.4, 1),
    lb2 = P(S(D), 1.5, 1), cls = P(S(3, D), 1.6, 1), clsb = P(S(3), 1.7, 1);
    f = dync_compile((dync_function)losses, .args = "id, len, label, y");
}
static void one(int b, int t, int k, bool back)
{
    T id = ids(S(b, t), 11, k, V), len = dync_to_dtype(dync_add(ids(S(b), 3, k, t), 1), DYNC_F32);
    T label = dync_where(dync_eq(dync_remainder(id, 3), 0), id, -100);
    T y = ids(S(b), 1, k, 3);
    dync_value r = dync_call_value(f, id, len, label, y);
    if (dync_error()) return;
    T l = dync_as_tensor(dync_at(r, 0));
    say(l), say(dync_as_tensor(dync_at(r, 1)));
    if (back) {
        T all[] = {we, pe, se, wq, wo, w1, b2, ln1, lb2, cls};
        for (int i = 0; i < 10; i++) dync_set_grad(all[i], NULL);
        dync_backward(l);
        for (int i = 0; i < 10; i++) say(dync_grad(all[i]));
    }
}
static void epoch(void)
{
    int t[] = {10, 13, 7, 7, 20, 33, 2, 1, 64, 3}, b[] = {4, 4, 4, 2, 3, 1, 2, 1, 2, 5};
    for (int i = 0; i < 10; i++) DYNC_SCOPE
        one(b[i], t[i], i, i % 2 == 0);
    DYNC_NO_GRAD for (int i = 0; i < 10; i++) DYNC_SCOPE
        one(b[i], t[9 - i], i, false);
}

static void program(living *p) { lives_for_two_epochs(p, make, epoch); }
TEST(encoder) { lives(program, -1, -1, 1e-4); }
TEST_MAIN
