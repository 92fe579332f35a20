/* A recurrent encoder and decoder: padded batches, teacher forcing by a global, decoding that
 * ends when data say so. */
#include "users.h"

enum { V = 12, E = 6, H = 8 };
static T emb, wi, wh, b, dwi, dwh, db, wo, bo;
static int64_t forcing = 1;
static void cell(T x, T *h, T *c, T a, T u, T bb)
{
    T g = dync_add(dync_add(dync_linear(x, a, NULL), dync_linear(*h, u, NULL)), bb);
    dync_value p = dync_chunk(g, 4, -1);
    T i = dync_sigmoid(dync_as_tensor(dync_at(p, 0))),
      f = dync_sigmoid(dync_as_tensor(dync_at(p, 1))), z = dync_tanh(dync_as_tensor(dync_at(p, 2))),
      o = dync_sigmoid(dync_as_tensor(dync_at(p, 3)));
    *c = dync_add(dync_mul(f, *c), dync_mul(i, z));
    *h = dync_mul(o, dync_tanh(*c));
}
static T seq2seq(T src, T tgt)
{
    dync_guard_int("forcing", &forcing);
    int64_t bsz = dync_dim(src, 0);
    T h = dync_zeros(S(bsz, H)), c = dync_zeros(S(bsz, H));
    for (int t = 0; t < dync_size(src, 1); t++) {
        T id = dync_select(src, 1, t), oh = h, oc = c;
        cell(dync_embedding(emb, id), &h, &c, wi, wh, b);
        T m = dync_unsqueeze(dync_ne(id, 0), 1); /* padding 0 keeps the state */
        h = dync_where(m, h, oh), c = dync_where(m, c, oc);
    }
    T x = dync_select(tgt, 1, 0), loss = NULL;
    for (int t = 1; t < dync_size(tgt, 1); t++) {
        cell(dync_embedding(emb, x), &h, &c, dwi, dwh, db);
        T lg = dync_linear(h, wo, bo), l = dync_cross_entropy(lg, dync_select(tgt, 1, t));
        loss = loss ? dync_add(loss, l) : l;
        x = forcing ? dync_select(tgt, 1, t) : dync_argmax(lg, -1, false);
    }
    return loss;
}
static T greedy(T src)
{
    int64_t bsz = dync_dim(src, 0);
    T h = dync_zeros(S(bsz, H)), c = dync_zeros(S(bsz, H));
    dync_value v = dync_unbind(src, 1);
    for (int t = 0; t < dync_len(v); t++)
        cell(dync_embedding(emb, dync_as_tensor(dync_at(v, t))), &h, &c, wi, wh, b);
    T x = dync_full(S(bsz), 1, .dtype = DYNC_I64), out = x;
    for (int t = 0; t < 8; t++) {
        cell(dync_embedding(emb, x), &h, &c, dwi, dwh, db);
        x = dync_argmax(dync_linear(h, wo, bo), -1, false);
        out = dync_add(dync_mul(out, 3), x);
        if (dync_bool(dync_all(dync_eq(dync_remainder(x, 5), 2), DYNC_ALL, false))) break;
    }
    return out;
}
static dync_compiled *f, *g;
static T w[9];
static void make(void)
{
    w[0] = emb = P(S(V, E), 1, 1), w[1] = wi = P(S(4 * H, E), 2, .5),
    w[2] = wh = P(S(4 * H, H), 3, .5), w[3] = b = P(S(4 * H), 4, .5),
    w[4] = dwi = P(S(4 * H, E), 5, .5), w[5] = dwh = P(S(4 * H, H), 6, .5),
    w[6] = db = P(S(4 * H), 7, .5), w[7] = wo = P(S(V, H), 8, .8), w[8] = bo = P(S(V), 9, .3);
    f = dync_compile(seq2seq), g = dync_compile(greedy, .recompile_limit = 20);
}
static void one(int bsz, int s, int t, int k, bool force)
{
    forcing = force;
    T src = ids(S(bsz, s), 5, k, V), tgt = ids(S(bsz, t), 7, k + 1, V);
    for (int i = 0; i < 9; i++) dync_set_grad(w[i], NULL);
    T l = dync_call(f, src, tgt);
    say(l);
    dync_backward(l);
    for (int i = 0; i < 9; i++) say(dync_grad(w[i]));
    DYNC_NO_GRAD for (int i = 0; i < 9; i++)
        dync_sub_(w[i], dync_mul(dync_grad(w[i]), 0.1));
}
static void epoch(void)
{
    for (int i = 0; i < 10; i++) DYNC_SCOPE
        one(i % 3 == 2 ? 3 : 4, i < 6 ? 6 : 5, i < 8 ? 5 : 4, i, i % 2);
    DYNC_NO_GRAD for (int i = 0; i < 12; i++) DYNC_SCOPE
        say(dync_call(g, ids(S(1 + i % 3, 4), 5, i, V)));
}

static void program(living *p) { lives_for_two_epochs(p, make, epoch); }
TEST(translation) { lives(program, -1, -1, 1e-4); }
TEST_MAIN
